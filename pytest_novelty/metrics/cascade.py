"""Grounding: of the positive verdicts that are right, how many for the right reason? The cascade of NovGauge (STATISTICS.md 4).

A positive verdict (two papers are similar; papers form a group) falls into one :class:`Cell`: its evidence fails, is missing, or
is found and the auditor holds its reason supported or not; or there is no reason, or a check was not made. ``TP = verified +
hallucinated + missing + without a reason + mismatched + unchecked``. The cells stand apart for true and false positives, and for
those of instances without gold. Everything here is a ratio of sums of these counts; 0 of 0 is undefined, never 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

import numpy as np

from pytest_novelty.metrics.resampling import BoolArray, FloatArray
from pytest_novelty.metrics.sampled import F1, MEAN, RATE, SHARE, Among, Counted, Rate, Sampled, Units, measure
from pytest_novelty.metrics.strata import parts_of

VERIFIED: Final = "verified"
FAILED: Final = "failed"
MISSING: Final = "missing"
UNCHECKED: Final = "unchecked"
EVIDENCE: Final = (VERIFIED, UNCHECKED, MISSING, FAILED)
"""What a span may be: found in what was shown, not looked for, not given, not found."""

SUPPORTED: Final = "supported"
UNSUPPORTED: Final = "unsupported"
NO_REASON: Final = "no reason"
AUDITS: Final = (SUPPORTED, UNSUPPORTED, UNCHECKED, NO_REASON)
"""What an auditor may say of a reason, if there is one to ask about."""


class Cell(IntEnum):
    """Where a positive verdict ends, from best to worst; of two that claim a pair of papers the worse one counts."""

    VERIFIED = 0
    UNAUDITED = 1  # the evidence is found, nobody checked the reason
    UNLOCATED = 2  # nobody looked for the evidence
    MISMATCHED = 3  # the evidence is found and does not support the reason
    UNREASONED = 4  # the evidence is found, and no reason is given: there is nothing to check
    MISSING = 5  # a span is missing
    HALLUCINATED = 6  # a span is not in the text that was shown


COLUMNS: Final = (
    *(f"tp_{cell.name.lower()}" for cell in Cell),
    *(f"fp_{cell.name.lower()}" for cell in Cell),
    *(f"unlabelled_{cell.name.lower()}" for cell in Cell),
    "fn",
    "tn",
    "lost_positives",  # gold positives whose answer is none: misses
    "lost_negatives",  # gold negatives whose answer is none: not right either
)
"""The last axis of ``Cascade.counts``."""

TRUE, FALSE, UNLABELLED = 0, len(Cell), 2 * len(Cell)
FN, TN, LOST_POSITIVES, LOST_NEGATIVES = range(3 * len(Cell), len(COLUMNS))

_AUDITED: Final = {
    SUPPORTED: Cell.VERIFIED,
    UNSUPPORTED: Cell.MISMATCHED,
    UNCHECKED: Cell.UNAUDITED,
    NO_REASON: Cell.UNREASONED,
}


@dataclass(frozen=True, slots=True)
class Verdict:
    """One sample of one item. ``positive``: None where there is no valid verdict. ``evidence``: one of ``EVIDENCE`` per paper;
    ``audit``: one of ``AUDITS``; both of positive verdicts only."""

    item: str
    sample: int
    positive: bool | None
    evidence: tuple[str, ...] = ()
    audit: str = UNCHECKED


@dataclass(frozen=True, eq=False)
class Cascade:
    """Counts of one (judge, suite, variant).

    ``items``: their ids, in the order of the rows. ``counts``: (items, samples, ``COLUMNS``), of verdicts or of pairs of papers.
    ``asked``: (items, samples), whether there was an answer at all, valid or not; what was not asked counts nowhere.
    ``failed``: (items, samples), asked and without a valid verdict.
    """

    items: tuple[str, ...]
    counts: FloatArray
    asked: BoolArray
    failed: BoolArray

    def only(self, mask: BoolArray) -> Cascade:
        """Some of the items; ``mask``: (items,)."""
        names = tuple(name for name, kept in zip(self.items, mask, strict=True) if kept)
        return Cascade(names, self.counts[mask], self.asked[mask], self.failed[mask])

    def without_failures(self) -> Cascade:
        """As if invalid answers had not been asked for (``failures=drop``); else they are misses."""
        counts = self.counts.copy()
        counts[..., [LOST_POSITIVES, LOST_NEGATIVES]] = 0
        return replace(self, counts=counts, asked=self.asked & ~self.failed, failed=np.zeros_like(self.failed))


def cell_of(evidence: Iterable[str], audit: str = UNCHECKED) -> Cell:
    """The cell of a positive verdict: its worst span decides and, if all are found, the audit.

    No span at all is missing evidence. Raises ValueError for a word that is none of ``EVIDENCE`` and ``AUDITS``.
    """
    spans = list(evidence) or [MISSING]
    if unknown := [word for word in spans if word not in EVIDENCE]:
        raise ValueError(f"a span is one of {', '.join(EVIDENCE)}, not {unknown[0]!r}")
    if audit not in AUDITS:
        raise ValueError(f"an audit is one of {', '.join(AUDITS)}, not {audit!r}")
    worst = max(spans, key=EVIDENCE.index)
    if worst != VERIFIED:
        return {FAILED: Cell.HALLUCINATED, MISSING: Cell.MISSING, UNCHECKED: Cell.UNLOCATED}[worst]
    return _AUDITED[audit]


def count_verdicts(verdicts: Iterable[Verdict], golds: Mapping[str, bool | None]) -> Cascade:
    """Count verdicts on pairs of papers; the rows are the items of ``golds``, in its order.

    Raises ValueError for an item without gold entry (None: unlabelled), and for a second verdict of the same item and sample.
    """
    verdicts = list(verdicts)
    places = {item: row for row, item in enumerate(golds)}
    cascade = empty(tuple(golds), 1 + max((verdict.sample for verdict in verdicts), default=0))
    for verdict in verdicts:
        row = claim(cascade, places, verdict.item, verdict.sample)
        cascade.failed[row, verdict.sample] = verdict.positive is None
        column = _column_of(verdict, golds[verdict.item])
        if column is not None:
            cascade.counts[row, verdict.sample, column] = 1
    return cascade


def empty(items: tuple[str, ...], samples: int) -> Cascade:
    """Nothing asked yet."""
    shape = len(items), samples
    return Cascade(items, np.zeros((*shape, len(COLUMNS))), np.zeros(shape, dtype=bool), np.zeros(shape, dtype=bool))


def claim(cascade: Cascade, places: Mapping[str, int], item: str, sample: int) -> int:
    """The row of an item whose sample now counts as asked; ValueError where it is unknown, asked already or below 0."""
    if item not in places:
        raise ValueError(f"a verdict on {item!r}, which is none of the items")
    if sample < 0:
        raise ValueError(f"samples are numbered from 0; {item!r} has a sample {sample}")
    if cascade.asked[places[item], sample]:
        raise ValueError(f"two verdicts on {item!r} in sample {sample}")
    cascade.asked[places[item], sample] = True
    return places[item]


def _column_of(verdict: Verdict, gold: bool | None) -> int | None:
    if verdict.positive:
        start = UNLABELLED if gold is None else TRUE if gold else FALSE
        return start + cell_of(verdict.evidence, verdict.audit)
    if gold is None:
        return None
    if verdict.positive is None:
        return LOST_POSITIVES if gold else LOST_NEGATIVES
    return FN if gold else TN


# --- the metrics, as weights of the columns ---------------------------------------------------------------------


def _weights(*parts: tuple[Sequence[int], float]) -> FloatArray:
    weights = np.zeros(len(COLUMNS))
    for columns, weight in parts:
        weights[list(columns)] += weight
    return weights


def _cells(start: int, *cells: Cell) -> list[int]:
    return [start + cell for cell in cells or tuple(Cell)]


_UNCHECKED: Final = (Cell.UNAUDITED, Cell.UNLOCATED)
OPEN: Final = [start + cell for start in (TRUE, FALSE, UNLABELLED) for cell in _UNCHECKED]
"""Columns of positive verdicts of which a check is missing."""
_GROUNDED: Final = (Cell.VERIFIED, Cell.MISMATCHED, Cell.UNAUDITED, Cell.UNREASONED)
_MISSED: Final = (FN, LOST_POSITIVES)


@dataclass(frozen=True, eq=False)
class Formula:
    """A metric as weights of ``COLUMNS``: numerator over denominator, and the same for its bounds over unchecked positives."""

    events: FloatArray
    of: FloatArray
    kind: str = RATE
    lower: tuple[FloatArray, FloatArray] | None = None
    upper: tuple[FloatArray, FloatArray] | None = None
    over: str = ""  # the metric whose average this one's is divided by

    @property
    def needs_evidence(self) -> bool:
        """It depends on where positive verdicts end."""
        return any(self._tells_apart(Cell.VERIFIED, cell) for cell in Cell)

    @property
    def needs_audit(self) -> bool:
        """It depends on what an auditor says."""
        return self._tells_apart(Cell.VERIFIED, Cell.MISMATCHED)

    @property
    def hears_auditor(self) -> bool:
        """It depends on what an auditor says, or on whether one does."""
        return self.needs_audit or self._tells_apart(Cell.VERIFIED, Cell.UNAUDITED)

    @property
    def counts_lost(self) -> bool:
        """Items whose answer is none are in its denominator, or in that of what it is divided by."""
        return bool(self.over) or bool(self.of[[LOST_POSITIVES, LOST_NEGATIVES]].any())

    def _tells_apart(self, one: Cell, other: Cell) -> bool:
        starts = np.array([TRUE, FALSE, UNLABELLED])
        return any((weights[starts + one] != weights[starts + other]).any() for weights in (self.events, self.of))


def _scores(prefix: str, cells: tuple[Cell, ...], upper: tuple[Cell, ...] | None = None) -> dict[str, Formula]:
    """Precision, recall and F1 that count as hits the true positives of some cells only."""
    true, false = _cells(TRUE), _cells(FALSE)
    denominators = {
        "precision": _weights((true, 1), (false, 1)),
        "recall": _weights((true, 1), (_MISSED, 1)),
        "f1": _weights((true, 2), (false, 1), (_MISSED, 1)),
    }
    found = {}
    for name, of in denominators.items():
        hit = 2.0 if name == "f1" else 1.0
        most = None if upper is None else (_weights((_cells(TRUE, *upper), hit)), of)
        # Which items are gold positives is no outcome: where an item counts once, recall is a share of items.
        kind = {"f1": F1, "recall": SHARE}.get(name, RATE)
        found[prefix + name] = Formula(_weights((_cells(TRUE, *cells), hit)), of, kind, upper=most)
    return found


def _rates(suffix: str, starts: tuple[int, ...]) -> dict[str, Formula]:
    """Where positives end, among those that the starts tell."""

    def among(*cells: Cell) -> FloatArray:
        return _weights(*((_cells(start, *cells), 1.0) for start in starts))

    every, reached = among(), among(Cell.VERIFIED, Cell.MISMATCHED, *_UNCHECKED)
    lost, unsure = among(Cell.HALLUCINATED), among(Cell.UNLOCATED)
    ungrounded = lost + among(Cell.MISSING)
    mismatched = among(Cell.MISMATCHED)
    return {
        f"hallucination_rate{suffix}": Formula(lost, every, upper=(lost + unsure, every)),
        f"missing_evidence_rate{suffix}": Formula(among(Cell.MISSING), every),
        f"missing_reason_rate{suffix}": Formula(among(Cell.UNREASONED), every),
        f"ungrounded_rate{suffix}": Formula(ungrounded, every, upper=(ungrounded + unsure, every)),
        f"mismatch_rate{suffix}": Formula(
            mismatched,
            among(Cell.VERIFIED, Cell.MISMATCHED),
            lower=(mismatched, reached),
            upper=(mismatched + among(*_UNCHECKED), reached),
        ),
        f"verified_rate{suffix}": Formula(
            among(Cell.VERIFIED), every, upper=(among(Cell.VERIFIED, *_UNCHECKED), every)
        ),
        f"unchecked_rate{suffix}": Formula(among(*_UNCHECKED), every),
    }


_LABELLED: Final = _weights((_cells(TRUE), 1), (_cells(FALSE), 1), ((FN, TN, LOST_POSITIVES, LOST_NEGATIVES), 1))
_SCORES: Final[dict[str, Formula]] = {
    **_scores("", tuple(Cell)),
    **_scores("grounded_", _GROUNDED, (*_GROUNDED, Cell.UNLOCATED)),
    **_scores("verified_", (Cell.VERIFIED,), (Cell.VERIFIED, *_UNCHECKED)),
}

FORMULAS: Final[dict[str, Formula]] = {
    **_SCORES,
    "retained_share": replace(_SCORES["verified_f1"], kind=RATE, over="f1"),
    "accuracy": Formula(_weights((_cells(TRUE), 1), ((TN,), 1)), _LABELLED, SHARE),
    "positive_accuracy": Formula(_weights((_cells(TRUE), 1)), _weights((_cells(TRUE), 1), (_MISSED, 1)), SHARE),
    "negative_accuracy": Formula(_weights(((TN,), 1)), _weights((_cells(FALSE), 1), ((TN, LOST_NEGATIVES), 1)), SHARE),
    **_rates("", (TRUE,)),
    **_rates("_false", (FALSE,)),
    **_rates("_all", (TRUE, FALSE, UNLABELLED)),
}
"""Every metric. Without suffix a rate is over true positives, with ``_false`` over false ones, with ``_all`` over all, also those
without gold. ``grounded_``: after hallucinated and missing evidence, ``verified_``: after mismatches too. ``retained_share``: the
average verified F1 over the average F1."""

WATERFALL: Final = ("f1", "grounded_f1", "verified_f1")
"""Raw F1, after hallucination (and missing evidence), after mismatch."""

MACRO: Final = (*_SCORES, "retained_share")
"""What has a mean over items: of sets of papers, whose items are many pairs each."""


def measure_cascade(units: Units, cascade: Cascade, names: Iterable[str] = FORMULAS) -> dict[str, Rate]:
    """Each metric from the counts of all items together, in each sample; the mean over the samples. ``units``: the same items in
    the same order.
    """
    return measure(units, {name: sampled(cascade, name, _note(cascade, name)) for name in names})


def sampled(cascade: Cascade, name: str, note: str = "") -> Sampled:
    """What a metric of all items together is made of."""
    formula = FORMULAS[name]
    over = None
    if formula.over:
        other = FORMULAS[formula.over]
        over = Counted(cascade.counts @ other.events, cascade.counts @ other.of)
    lower, upper = (
        None if bound is None else Counted(cascade.counts @ bound[0], cascade.counts @ bound[1], over)
        for bound in (formula.lower, formula.upper)
    )
    value = Counted(cascade.counts @ formula.events, cascade.counts @ formula.of, over)
    return Sampled(value, formula.kind, lower, upper, note)


def measure_macro(units: Units, cascade: Cascade, names: Iterable[str] = MACRO) -> dict[str, Rate]:
    """Each metric of each item in each sample, then plain means over items and over samples.

    An F1 of an item without gold pairs is 1 where nothing is predicted and 0 where the answer is invalid; precision and recall of
    0 of 0 are left out, and ``of`` counts the items that are in.
    """
    return measure(units, {name: sampled_by_item(cascade, name, _note(cascade, name)) for name in names})


def sampled_by_item(cascade: Cascade, name: str, note: str = "") -> Sampled:
    """What a metric of each item for itself is made of."""
    formula = FORMULAS[name]
    over = None
    if formula.over:
        other = FORMULAS[formula.over]
        over = _per_item(cascade, other.events, other.of, is_f1=True)
    is_f1 = formula.kind == F1 or bool(formula.over)
    value = _per_item(cascade, formula.events, formula.of, is_f1=is_f1, over=over)
    upper = None if formula.upper is None else _per_item(cascade, *formula.upper, is_f1=is_f1, over=over)
    return Sampled(value, RATE if formula.over else MEAN, None, upper, note)


def _per_item(
    cascade: Cascade, events: FloatArray, of: FloatArray, *, is_f1: bool, over: Counted | None = None
) -> Counted:
    numerator, denominator = cascade.counts @ events, cascade.counts @ of
    known = denominator > 0
    values = np.divide(numerator, denominator, out=np.zeros_like(numerator), where=known)
    if is_f1:
        without_gold = cascade.asked & ~known & has_gold(cascade)
        values[without_gold & ~cascade.failed] = 1.0
        known = known | without_gold
    return Counted(values, known.astype(np.float64), over)


def has_gold(cascade: Cascade) -> BoolArray:
    """(items, samples) whether anything counts as right or wrong there: an unlabelled item has none of it."""
    return np.asarray(cascade.counts @ _LABELLED > 0)


def measure_strata(
    units: Units,
    cascade: Cascade,
    strata: Sequence[str | None],
    names: Iterable[str] = FORMULAS,
    how: Callable[[Units, Cascade, Iterable[str]], dict[str, Rate]] = measure_cascade,
) -> dict[str, dict[str, Rate]]:
    """The same for the items of each value of a stratum, (items,); None is in no stratum. ``how``: pooled, or as a mean over
    items (``measure_macro``).
    """
    names = list(names)
    return {value: how(Among(units, mask), cascade.only(mask), names) for value, mask in parts_of(strata)}


def _note(cascade: Cascade, name: str) -> str:
    """What is not in a metric's counts, or counts as a miss; empty if nothing."""
    left_out, failed = int((~cascade.asked).sum()), int(cascade.failed.sum())
    parts = [f"{left_out} of {cascade.asked.size} samples without an answer left out"] if left_out else []
    if failed and FORMULAS[name].counts_lost:
        parts.append(f"{failed} invalid answers are misses")
    return ", ".join(parts)
