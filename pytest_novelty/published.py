"""NovGauge's scores by the rules of its release (profile as-published), flaws included: to meet published numbers only.

Each docstring says where our own metrics (``metrics.cascade``, ``metrics.partitions``, ``metrics.agreement``) differ. What runs
through all of it: what is undefined is mostly 0 here and takes part in means, failed samples vanish so that later ones move up,
and the spread given is that of samples; ours leave undefined what is, count failures as misses, and bootstrap over items.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev
from typing import Final, NamedTuple

HALLUCINATION: Final = "hallucination"
"""The worst of the release's classes of a span; the others (verbatim, artifact, paraphrase) pass."""

DECIMALS: Final = 4

Groups = Sequence[Sequence[int]]
Pair = frozenset[int]


class Spread(NamedTuple):
    """Mean and sample standard deviation (n - 1) over samples; the deviation of a single one is 0 (ours: undefined)."""

    mean: float
    std: float
    per_sample: tuple[float, ...]


def spread(values: Iterable[float]) -> Spread:
    """Of one value per sample. Without any the mean is 0, as the release has it (ours: undefined)."""
    known = tuple(values)
    return Spread(fmean(known) if known else 0.0, stdev(known) if len(known) > 1 else 0.0, known)


# --- stage 1: correctness ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PairRecord:
    """One (pair, dimension). ``label``: 1, 0 or, where nobody labelled it, None. ``samples``: 1, 0 or, where it failed, None."""

    label: int | None
    samples: tuple[int | None, ...]

    @property
    def survivors(self) -> tuple[int, ...]:
        """The release drops failed samples, so that later ones take their place (ours: a slot keeps its sample)."""
        return tuple(sample for sample in self.samples if sample is not None)

    def at(self, sample: int) -> int | None:
        """The prediction of a sample; the first one again where there are too few (ours: not asked, or a miss)."""
        kept = self.survivors
        return kept[sample] if sample < len(kept) else (kept[0] if kept else None)


class PairScores(NamedTuple):
    """Accuracy, precision, recall and F1 of one sample; precision and recall None where undefined."""

    accuracy: float | None
    precision: float | None
    recall: float | None
    f1: float


def score_pairs(records: Sequence[PairRecord], sample: int = 0) -> PairScores:
    """One sample. A record without prediction is dropped; one without label stays in accuracy's denominator; F1 of 0 of 0 is 0.

    Ours: a failed answer is a miss, an instance without gold counts nowhere, and an undefined F1 stays undefined.
    """
    found = [(record.label, record.at(sample)) for record in records]
    said = [(label, prediction) for label, prediction in found if prediction is not None]
    tp, tn = said.count((1, 1)), said.count((0, 0))
    fp, fn = said.count((0, 1)), said.count((1, 0))
    return PairScores(
        _ratio(tp + tn, len(said)), _ratio(tp, tp + fp), _ratio(tp, tp + fn), _ratio(2 * tp, 2 * tp + fp + fn) or 0.0
    )


def score_pair_samples(records: Sequence[PairRecord], samples: int) -> dict[str, Spread]:
    """Every score of each sample, with 0 for undefined, then mean and deviation. No vote, in ours neither."""
    scores = [score_pairs(records, sample) for sample in range(samples)]
    return {name: spread(getattr(score, name) or 0.0 for score in scores) for name in PairScores._fields}


class GroupScores(NamedTuple):
    """Of one (set, dimension): pairs of papers, and scores rounded to four decimals (ours: rounded when printed)."""

    tp: int
    fp: int
    fn: int
    precision: float
    recall: float
    f1: float


def pairs_of(groups: Groups) -> set[Pair]:
    """The unordered pairs within groups."""
    return {frozenset((a, b)) for group in groups for a in group for b in group if a != b}


def score_groups(predicted: Groups, gold: Groups) -> GroupScores:
    """Pairs by set operations; every score with an empty denominator is 0, also where gold and prediction are both empty.

    Ours: both empty is an F1 of 1, and precision or recall of 0 of 0 is undefined.
    """
    said, true = pairs_of(predicted), pairs_of(gold)
    tp, fp, fn = len(said & true), len(said - true), len(true - said)
    return GroupScores(tp, fp, fn, *_rounded(tp, fp, fn))


def _rounded(tp: int, fp: int, fn: int) -> tuple[float, float, float]:
    precision, recall = _ratio(tp, tp + fp) or 0.0, _ratio(tp, tp + fn) or 0.0
    f1 = _ratio(2 * precision * recall, precision + recall) or 0.0
    return round(precision, DECIMALS), round(recall, DECIMALS), round(f1, DECIMALS)


class GroupingScores(NamedTuple):
    """Macro: plain means over the records that have scores. Micro: of summed pairs."""

    macro_precision: float
    macro_recall: float
    macro_f1: float
    micro_precision: float
    micro_recall: float
    micro_f1: float


def score_grouping(records: Iterable[tuple[Groups | None, Groups]]) -> GroupingScores:
    """Predicted (None: no valid answer) and gold groups of one sample. A record without valid answer is left out.

    Ours: it is a miss for all of its gold pairs, in raw and in verified F1 alike.
    """
    scores = [score_groups(predicted, gold) for predicted, gold in records if predicted is not None]
    macro = [spread(score[k] for score in scores).mean for k in (3, 4, 5)]
    micro = _rounded(sum(s.tp for s in scores), sum(s.fp for s in scores), sum(s.fn for s in scores))
    return GroupingScores(macro[0], macro[1], macro[2], *micro)


def score_grouping_samples(samples: Sequence[Sequence[tuple[Groups | None, Groups]]]) -> dict[str, Spread]:
    """The scores of each sample, then mean and deviation."""
    scores = [score_grouping(records) for records in samples]
    return {name: spread(getattr(score, name) for score in scores) for name in GroupingScores._fields}


# --- stage 2: evidence ------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PositiveRecord:
    """A positive prediction. ``classes``: the release's class of each paper's span, None where it is empty; ``known``: its papers
    were found."""

    classes: tuple[str | None, ...]
    known: bool = True

    @property
    def is_hallucinated(self) -> bool:
        """The worst span decides. An empty one passes (ours: missing evidence, a failure of its own)."""
        return self.known and HALLUCINATION in self.classes


def hallucination_rate(records: Sequence[PositiveRecord]) -> float:
    """Of true, or of false positives of all dimensions: among those of known papers with a span on either side; 0 of 0 is 0.

    Ours: among all of them, missing evidence among the rest, and 0 of 0 is undefined.
    """
    spoken = sum(record.known and any(kind is not None for kind in record.classes) for record in records)
    return _ratio(sum(record.is_hallucinated for record in records), spoken) or 0.0


def hallucination_rate_of_dimension(records: Sequence[PositiveRecord]) -> float:
    """The same in the table by dimension, which divides by all records (ours: one denominator everywhere)."""
    return _ratio(sum(record.is_hallucinated for record in records), len(records)) or 0.0


def hallucination_rate_of_samples(samples: Sequence[Sequence[PositiveRecord]]) -> Spread:
    """Of several samples; one without any positive is skipped, one without any span is a 0."""
    return spread(hallucination_rate(records) for records in samples if records)


def hallucination_rate_of_groups(groups: Sequence[PositiveRecord]) -> float:
    """Among all predicted groups of known sets, right or wrong together (ours: apart)."""
    known = [group for group in groups if group.known]
    return _ratio(sum(group.is_hallucinated for group in known), len(known)) or 0.0


# --- stage 3: mismatch ------------------------------------------------------------------------------------------


def mismatch_rate(supported: Iterable[bool | None]) -> float | None:
    """Unsupported among those that the auditor judged; None where it judged none.

    What has no reason, no evidence (groups) or no valid audit is None and left out; ours do so too, and add the bounds over it.
    """
    judged = [one for one in supported if one is not None]
    return _ratio(judged.count(False), len(judged))


def mismatch_rate_of_samples(samples: Iterable[Iterable[bool | None]], *, grouping: bool = False) -> Spread:
    """Of the true, or of the false positives of each sample. One without any is a 0, of groups it is skipped (ours: skipped)."""
    rates = [mismatch_rate(supported) for supported in samples]
    return spread(rate or 0.0 for rate in rates if rate is not None or not grouping)


# --- stage 4: verified F1 ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Flow:
    """Where true positives end, and what else is in the F1 of one sample."""

    verified: int
    hallucinated: int
    mismatched: int
    unchecked: int  # no audit: takes part in TP as if unfaithful (ours: the value and an upper bound)
    fp: int
    fn: int

    @property
    def tp(self) -> int:
        return self.verified + self.hallucinated + self.mismatched + self.unchecked


class VerifiedScores(NamedTuple):
    """Rounded to four decimals; 0 where undefined."""

    precision: float
    recall: float
    f1: float


def score_flow(flow: Flow) -> VerifiedScores:
    """Verified precision, recall, and their harmonic mean, 2 TPv / (2 TP + FP + FN).

    Ours is the same but for rounding, the 0 where it is undefined, the upper bound over what is unchecked, and missing evidence,
    which the release counts as evidence that passed.
    """
    precision = _ratio(flow.verified, flow.tp + flow.fp) or 0.0
    recall = _ratio(flow.verified, flow.tp + flow.fn) or 0.0
    f1 = _ratio(2 * precision * recall, precision + recall) or 0.0
    return VerifiedScores(round(precision, DECIMALS), round(recall, DECIMALS), round(f1, DECIMALS))


def score_flow_samples(flows: Sequence[Flow]) -> dict[str, Spread]:
    """Of each sample of one dimension, then mean and deviation."""
    scores = [score_flow(flow) for flow in flows]
    return {name: spread(getattr(score, name) for score in scores) for name in VerifiedScores._fields}


def mean_flow(flows: Sequence[Flow]) -> dict[str, float]:
    """The mean over samples of each part's share in TP, 0 where TP is 0 (ours: undefined there)."""
    parts: Mapping[str, Callable[[Flow], int]] = {
        "verified": lambda flow: flow.verified,
        "hallucinated": lambda flow: flow.hallucinated,
        "mismatched": lambda flow: flow.mismatched,
        "unchecked": lambda flow: flow.unchecked,
    }
    return {name: spread(_ratio(part(flow), flow.tp) or 0.0 for flow in flows).mean for name, part in parts.items()}


STATUSES: Final = ("verified", "hallucinated", "mismatched", "unchecked")


def flow_of_groups(records: Iterable[tuple[Sequence[tuple[Sequence[int], str]] | None, Groups]]) -> Flow:
    """Predicted groups with a status of ``STATUSES`` each (None: no valid answer), and gold groups, summed over sets.

    A pair in two groups of different status counts twice (ours: once, the worse). A failed answer misses all its gold pairs here,
    though stage 1 leaves it out; and raw F1 is a mean over sets where this is one of sums (ours: both, both ways).
    """
    tp, fp, fn = dict.fromkeys(STATUSES, 0), 0, 0
    for predicted, gold in records:
        true = pairs_of(gold)
        said = pairs_of([members for members, _ in predicted or ()])
        for status in STATUSES:
            tp[status] += len(pairs_of([members for members, own in predicted or () if own == status]) & true)
        fp += len(said - true)
        fn += len(true - said)
    return Flow(**tp, fp=fp, fn=fn)


def _ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
