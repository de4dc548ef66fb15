"""Does a judge cite as it did? Beside the verdicts of a probe: labels may stay while spans become fabricated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_novelty.auditing import cites
from pytest_novelty.judges.base import Judge
from pytest_novelty.metrics.deferred import settle
from pytest_novelty.metrics.differences import difference
from pytest_novelty.metrics.grounded import rate_of
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.view import Estimate, View
from pytest_novelty.model import Json
from pytest_novelty.outcomes import CaseResult
from pytest_novelty.plan import Plan, SuitePlan

RATES: Final = {"hallucination_rate_all": "not in what was shown", "missing_evidence_rate_all": "missing"}
"""Of all positive votes, right or wrong: what happens to evidence needs no labels, and nobody who judges reasons."""

LABELS_ALONE: Final = "labels alone: evidence is not compared (--novelty-baseline compares it)"


@dataclass(frozen=True)
class Moved:
    """A rate before and after, and their paired ``difference`` over instances. ``p``: swap test; ``p_holm``: adjusted over all
    that a run compares with recorded verdicts.
    """

    metric: str
    before: float | None
    after: float | None
    difference: Estimate
    p: float | None
    p_holm: float | None = None

    @property
    def is_higher(self) -> bool:
        return (self.difference.value or 0.0) > 0

    def is_beyond(self, alpha: float) -> bool:
        return self.p_holm is not None and self.p_holm <= alpha


@dataclass(frozen=True)
class EvidenceDrift:
    """``moved``: each rate; empty where evidence was not compared, since only labels are recorded. ``is_exact``: of a judge that
    repeats itself; ``is_worse``: decided, a rate is higher now by more than chance.
    """

    moved: tuple[Moved, ...] = ()
    is_exact: bool = False
    is_worse: bool = False

    @property
    def ps(self) -> list[float | None]:
        return [None if self.is_exact else item.p for item in self.moved]

    def decide(self, adjusted: Sequence[float | None], alpha: float) -> EvidenceDrift:
        """With the tests adjusted; of an exact judge any rise counts."""
        moved = tuple(replace(item, p_holm=p) for item, p in zip(self.moved, adjusted, strict=True))
        worse = any(item.is_higher and (self.is_exact or item.is_beyond(alpha)) for item in moved)
        return replace(self, moved=moved, is_worse=worse)

    def parts(self, alpha: float) -> Iterator[str]:
        """What is said of it where it was compared; a rate that is 0 on both sides says nothing, and one of nothing is no 0."""
        told = [item for item in self.moved if item.before != 0 or item.after != 0]
        for item in told:
            if item.before is None or item.after is None:
                yield f"evidence {RATES[item.metric]}: not compared ({item.difference.note})"
                continue
            said = f"evidence {RATES[item.metric]} in {item.before:.0%} of positive votes before, {item.after:.0%} now"
            p = "" if item.p_holm is None else f" (p {'< 1e-4' if item.p_holm < 1e-4 else f'{item.p_holm:.2g}'})"
            if item.difference.value and (self.is_exact or item.is_beyond(alpha)):
                how = "worse" if item.is_higher else "better"
                yield f"{how}: {said}{p}" if self.is_exact else f"{how} beyond its noise: {said}{p}"
            else:
                yield f"{said}, within its noise{p}" if item.difference.value else said
        if self.moved and not told:
            yield "evidence: none is invented or missing, before or now"


def compare_evidence(
    plan: Plan, planned: SuitePlan, judge: Judge, before: Sequence[CaseResult], after: Sequence[CaseResult]
) -> EvidenceDrift | None:
    """Results of the same instances at two times, not yet decided; None of a protocol whose answers cite nothing."""
    if not cites(planned.suite.protocol):
        return None
    if not before:
        return EvidenceDrift()
    views = [
        View(results, planned.suite, judge.traits, failures=plan.settings.failures, seed=plan.settings.seed)
        for results in (after, before)
    ]
    pair = Pair(views[0], views[1])
    later = [difference(name, pair, {}, {}) for name in RATES]
    settled = settle([computed for computed, _ in later])
    moved = tuple(
        Moved(name, rate_of(views[1], name).value, rate_of(views[0], name).value, estimate, p)
        for name, estimate, (_, p) in zip(RATES, settled, later, strict=True)
    )
    return EvidenceDrift(moved, judge.traits.deterministic)


def no_evidence(planned: SuitePlan) -> EvidenceDrift | None:
    """Where recordings have labels alone; None of a protocol whose answers cite nothing."""
    return EvidenceDrift() if cites(planned.suite.protocol) else None


def evidence_to_dict(found: EvidenceDrift | None) -> Mapping[str, Json] | None:
    """As it stands in the report."""
    if found is None:
        return None
    moved: list[Json] = [
        {
            "metric": item.metric,
            "before": item.before,
            "after": item.after,
            "difference": dict(item.difference.to_dict()),
            "p": item.p,
            "p_holm": item.p_holm,
        }
        for item in found.moved
    ]
    return {"compared": bool(found.moved), "worse": found.is_worse, "rates": moved}
