"""The cascade of a view: each vote's positive statements in the cell where its evidence and the auditor put them.

Every vote counts: the k votes of each order are the samples over which metrics are averaged. No majority is taken.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np

from pytest_novelty.audits import for_want_of_text
from pytest_novelty.evidence.aligned import NEAR, VERBATIM
from pytest_novelty.evidence.checking import HALLUCINATED, MISSING
from pytest_novelty.metrics import cascade, partitions
from pytest_novelty.metrics.agreement import validate
from pytest_novelty.metrics.auditors import opinion_of, opinions_of
from pytest_novelty.metrics.cascade import FORMULAS, Cascade, Formula, measure_cascade, measure_macro, measure_strata
from pytest_novelty.metrics.classification import LOOKED_UP_NOTE, UNLABELLED_NOTE
from pytest_novelty.metrics.resampling import TOLERANCE, FloatArray
from pytest_novelty.metrics.sampled import MEAN, Rate, Sampled
from pytest_novelty.metrics.strata import DIMENSION, strata_of
from pytest_novelty.metrics.view import Estimate, View
from pytest_novelty.model import Ground, Vote
from pytest_novelty.protocols.grouping import groups_of
from pytest_novelty.verdicts import SIMILAR

NO_EVIDENCE: Final = "nothing is told of the evidence of its positive verdicts"
NOT_AUDITED: Final = "the auditor gave no verdict on any reason"

OF_VERDICTS: Final = ("precision", "recall", "f1")
"""What the cascade begins with. Of groupings it is about pairs of papers, and the name says so."""
RATES: Final = (
    *OF_VERDICTS,
    "positive_accuracy",
    "negative_accuracy",
    "hallucination_rate",
    "missing_evidence_rate",
    "missing_reason_rate",
    "ungrounded_rate",
    "grounded_f1",
    "mismatch_rate",
    "unchecked_rate",
    "verified_rate",
    "verified_precision",
    "verified_recall",
    "verified_f1",
    "retained_share",
    "hallucination_rate_false",
    "missing_evidence_rate_false",
    "missing_reason_rate_false",
    "mismatch_rate_false",
    "hallucination_rate_all",
    "missing_evidence_rate_all",
    "missing_reason_rate_all",
    "ungrounded_rate_all",
    "mismatch_rate_all",
    "verified_rate_all",
    "unchecked_rate_all",
)
"""What a report tells, in its order. What each needs to be known is told by its formula."""


@dataclass(frozen=True)
class Grounding:
    """What became of the evidence of a view. ``rates``: by name, of all items together; ``macro``: of groupings, means over sets,
    and ``macro_by_dimension`` their F1s of each dimension. ``failures``: spans by why they fail; ``audited``: an auditor was
    asked; ``strata``: by stratum and value, F1s, accuracies and rates. ``labelled``: there is gold, so that there are F1s.
    ``unaudited``, ``textless``: statements, counted in every vote, without an auditor's word, and those of them without a text.
    """

    rates: Mapping[str, Rate]
    macro: Mapping[str, Rate]
    failures: Mapping[str, int]
    audited: bool
    strata: Mapping[str, Mapping[str, Mapping[str, Rate]]]
    macro_by_dimension: Mapping[str, Mapping[str, Rate]] = field(default_factory=dict)
    labelled: bool = True
    unaudited: int = 0
    textless: int = 0

    @property
    def is_of_pairs(self) -> bool:
        """It counts pairs of papers, and not verdicts."""
        return bool(self.macro)


def cascade_of(view: View) -> Cascade:
    """Counts of verdicts, or of pairs of papers; rows are the view's items."""
    if view.suite.protocol == "grouping":
        return partitions.count_pairs(_answers(view), sets_of(view))
    golds = {instance.id: None if instance.gold is None else instance.gold == SIMILAR for instance in view.instances}
    return cascade.count_verdicts(_verdicts(view), golds)


def ground(view: View) -> Grounding:
    """Everything that a report tells of a view's evidence."""
    rates = _rates(view)
    counts = counts_of(view)
    settled, strata = is_settled(view), strata_of(view.suite, view.instances)
    told = [name for name in cascade.MACRO if settled or not needs_audit(name)]
    macro, by_dimension = {}, {}
    if view.suite.protocol == "grouping":
        macro = measure_macro(view, counts, told)
        steps = [name for name in cascade.WATERFALL if name in told]
        by_dimension = measure_strata(view, counts, strata[DIMENSION], steps, measure_macro)
    failures: dict[str, int] = {}
    for found in _grounds(view):
        for failure in found.failures:
            if failure:
                failures[failure] = failures.get(failure, 0) + 1
    return Grounding(
        {name: rate for name, rate in rates.items() if settled or not needs_audit(name)},
        macro,
        dict(sorted(failures.items(), key=lambda pair: (-pair[1], pair[0]))),
        _is_audited(view),
        {name: measure_strata(view, counts, values, _in_strata(view, settled)) for name, values in strata.items()},
        by_dimension,
        not view.unlabelled,
        *_unheard(view),
    )


def _in_strata(view: View, settled: bool) -> list[str]:
    """What is told of each value of a stratum: the F1s of the cascade, what is lost between them (of right and of wrong
    positives), how many of both sides are right; without gold, what is of all positives.
    """
    if view.unlabelled:
        names = [name for name in RATES if name.endswith("_all")]
    else:
        scores = ("f1", "positive_accuracy", "negative_accuracy", "grounded_f1", "verified_f1")
        names = [*scores, *(f"{name}{suffix}" for suffix in ("", "_false") for name in _LOST)]
    return [name for name in names if settled or not needs_audit(name)]


_LOST: Final = ("hallucination_rate", "missing_evidence_rate", "missing_reason_rate", "mismatch_rate")


def needs_audit(name: str) -> bool:
    """The metric says nothing where no reason was judged."""
    formula = _formula_of(name)
    return formula is not None and formula.needs_audit


def hears_auditor(name: str) -> bool:
    """The metric is another with another auditor, or with none."""
    formula = _formula_of(name)
    return formula is not None and formula.hears_auditor


def has_unheard(view: View) -> bool:
    """There are statements that an auditor could be asked about, and nobody said a word of any."""
    return all(found.supported is None for found in _grounds(view)) and bool(_unaudited(view))


def _needs_evidence(name: str) -> bool:
    formula = _formula_of(name)
    return formula is not None and formula.needs_evidence


def _formula_of(name: str) -> Formula | None:
    """None for the adjusted Rand index, which is no ratio of counts."""
    return FORMULAS.get(name.removeprefix("pair_"))


def rate_of(view: View, name: str) -> Estimate:
    """One rate as a metric of the catalogue."""
    why = _why_undefined(view, name)
    if why:
        return Estimate.undefined(why)
    rate = _rates(view)[name]
    if rate.lower is None or rate.upper is None or rate.upper - rate.lower <= TOLERANCE:
        return rate.estimate
    unaudited, textless = _unheard(view)
    why = for_want_of_text(unaudited, textless)
    note = ", ".join(filter(None, (rate.estimate.note, why)))
    return replace(rate.estimate, note=note, unaudited=unaudited, textless=textless)


def sampled_of(view: View, name: str) -> Sampled | str:
    """What a metric of the catalogue is made of, (instances of the view, votes); or why it is undefined."""
    if why := _why_undefined(view, name):
        return why
    counts = counts_of(view)
    if name == "adjusted_rand":
        return Sampled(partitions.count_rand(counts, sets_of(view)), MEAN)
    return cascade.sampled(counts, name.removeprefix("pair_"))


def _why_undefined(view: View, name: str) -> str:
    """Why a metric of the catalogue cannot be told of a view; empty if it can."""
    if view.unlabelled and not name.endswith("_all"):
        return UNLABELLED_NOTE
    if name in OF_VERDICTS and view.may_have_looked_up:
        return LOOKED_UP_NOTE
    if _needs_evidence(name) and not _is_told(view):
        return NO_EVIDENCE
    return NOT_AUDITED if needs_audit(name) and not is_settled(view) else ""


def _is_told(view: View) -> bool:
    """What became of evidence is known of some positive verdict, if there is any: a report may leave it out."""
    return any(True for _ in _grounds(view)) or not counts_of(view).counts[..., cascade.OPEN].any()


def adjusted_rand(view: View) -> Estimate:
    """The adjusted Rand index of a set's partition, averaged over sets and votes."""
    if view.unlabelled:
        return Estimate.undefined(UNLABELLED_NOTE)
    return partitions.measure_rand(view, counts_of(view), sets_of(view)).estimate


def kappa(view: View) -> Estimate:
    """Cohen's kappa of an auditor's outcomes and the gold labels; those without a label of the two are left out."""
    if view.unlabelled:
        return Estimate.undefined(UNLABELLED_NOTE)
    return validate(view, opinions_of(view), [opinion_of(instance.gold) for instance in view.instances]).kappa


def turned_by_order(view: View) -> FloatArray:
    """(n,) 1 where the order in which the papers were shown changes which of them are together, 0 where not; nan without votes in
    both.
    """
    found = []
    for result, instance in zip(view.results, view.instances, strict=True):
        places = {idea.id: place for place, idea in enumerate(instance.ideas)}
        orders = []
        for order in view.orders:
            said = [
                None if vote.label is None else [[places[m] for m in group] for group in groups_of(vote.label)]
                for vote in result.outcome.votes
                if vote.order == order
            ]
            orders.append(partitions.together_votes(said, len(instance.ideas)))
        found.append(partitions.order_inconsistency(orders))
    return np.array(found, dtype=np.float64)


def sets_of(view: View) -> dict[str, partitions.PaperSet]:
    """The sets of papers of a view of groupings, gold groups by place."""
    found = {}
    for instance in view.instances:
        places = {idea.id: place for place, idea in enumerate(instance.ideas)}
        gold = None if instance.gold is None else [[places[m] for m in group] for group in groups_of(instance.gold)]
        found[instance.id] = partitions.PaperSet(len(instance.ideas), gold)
    return found


# --- votes as the cascade wants them ----------------------------------------------------------------------------


def _grounds(view: View) -> Iterable[Ground]:
    return (found for result in view.results for vote in result.outcome.votes for found in vote.grounds)


def _is_audited(view: View) -> bool:
    """An auditor was asked, also where it gave no verdict: what that leaves open has bounds."""
    wanted = any(result.audits.wanted for result in view.results)
    return wanted or any(found.supported is not None for found in _grounds(view))


def _unaudited(view: View) -> int:
    """Statements, counted in every vote, that an auditor could be asked about and that have no verdict of one."""
    return sum(
        found.supported is None and found.has_reason and set(_words(found)) <= {cascade.VERIFIED}
        for found in _grounds(view)
    )


def _unheard(view: View) -> tuple[int, int]:
    """(statements without an auditor's word, those of them that have no text to ask about)."""
    unaudited = _unaudited(view)
    return unaudited, min(unaudited, sum(result.audits.textless for result in view.results))


def is_settled(view: View) -> bool:
    """An auditor was asked; or no positive verdict came so far that a reason was there to judge: then nothing is open, either."""
    key = "settled"
    if key not in view.memo:
        is_open = bool(counts_of(view).counts[..., cascade.OPEN].any())
        view.memo[key] = _is_audited(view) or not is_open
    return bool(view.memo[key])


def counts_of(view: View) -> Cascade:
    """Counts of the view's verdicts, or of pairs of papers, under its policy for failures."""
    if "cascade" not in view.memo:
        counts = cascade_of(view)
        view.memo["cascade"] = counts.without_failures() if view.failures == "drop" else counts
    found: Cascade = view.memo["cascade"]
    return found


def _rates(view: View) -> Mapping[str, Rate]:
    key = f"rates {view.level}"
    if key not in view.memo:
        view.memo[key] = measure_cascade(view, counts_of(view), RATES)
    found: Mapping[str, Rate] = view.memo[key]
    return found


def _verdicts(view: View) -> Iterable[cascade.Verdict]:
    for result in view.results:
        for sample, vote in enumerate(result.outcome.votes):
            positive = None if vote.label is None else vote.label == SIMILAR
            if positive and vote.grounds:
                found = vote.grounds[0]
                yield cascade.Verdict(result.instance, sample, True, _words(found), _audit(found))
            else:
                yield cascade.Verdict(result.instance, sample, positive, (cascade.UNCHECKED,) if positive else ())


def _answers(view: View) -> Iterable[partitions.Answer]:
    for result, instance in zip(view.results, view.instances, strict=True):
        places = {idea.id: place for place, idea in enumerate(instance.ideas)}
        for sample, vote in enumerate(result.outcome.votes):
            groups = None if vote.label is None else _groups(vote, places)
            yield partitions.Answer(result.instance, sample, groups)


def _groups(vote: Vote, places: Mapping[str, int]) -> tuple[partitions.Group, ...]:
    """A vote's groups with what became of their evidence; nothing is known of it where a record came without."""
    known = {found.members: found for found in vote.grounds}
    groups = []
    for members in groups_of(vote.label or "[]"):
        held = tuple(sorted(members, key=places.__getitem__))
        found = known.get(held)
        evidence = (cascade.UNCHECKED,) if found is None else _words(found)
        audit = cascade.UNCHECKED if found is None else _audit(found)
        groups.append(partitions.Group(tuple(places[member] for member in held), evidence, audit))
    return tuple(groups)


_WORDS: Final = {
    VERBATIM: cascade.VERIFIED,
    NEAR: cascade.VERIFIED,
    HALLUCINATED: cascade.FAILED,
    MISSING: cascade.MISSING,
}


def _words(found: Ground) -> tuple[str, ...]:
    return tuple(_WORDS[status] for status in found.found)


def _audit(found: Ground) -> str:
    if not found.has_reason:
        return cascade.NO_REASON
    return {True: cascade.SUPPORTED, False: cascade.UNSUPPORTED, None: cascade.UNCHECKED}[found.supported]
