"""Does a judge cite as it did? Beside the verdicts of a probe: labels may stay while spans become fabricated."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from pytest_novelty.auditing import cites
from pytest_novelty.judges.base import Judge
from pytest_novelty.metrics.deferred import settle
from pytest_novelty.metrics.differences import difference
from pytest_novelty.metrics.grounded import NO_EVIDENCE, rate_of
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
    """A rate before and after, each with its bounds over evidence that was not checked, and their paired ``difference`` over
    instances. ``p``: swap test; ``p_holm``: adjusted over all that a run compares with recorded verdicts.
    """

    metric: str
    before: Estimate
    after: Estimate
    difference: Estimate
    p: float | None
    p_holm: float | None = None

    @property
    def direction(self) -> int:
        """1: higher now, -1: lower; 0 where it is neither, undefined on a side, or either by what was not checked."""
        ends = self.difference.bounds or (self.difference.value or 0.0,)
        return 1 if min(ends) > 0 else -1 if max(ends) < 0 else 0

    @property
    def is_higher(self) -> bool:
        return self.direction > 0

    @property
    def lacks(self) -> str:
        """Why it is not compared, where it is undefined before or now."""
        sides = [(side, when) for side, when in ((self.before, "before"), (self.after, "now")) if side.value is None]
        why: dict[str, list[str]] = {}
        for side, when in sides:
            why.setdefault(side.note if side.note == NO_EVIDENCE else "no positive vote", []).append(when)
        return ", ".join(f"{reason} {' or '.join(times)}" for reason, times in why.items())

    @property
    def is_nothing(self) -> bool:
        """It is 0 on both sides, and nothing is open: that says nothing."""
        return all(side.value == 0 and side.bounds is None for side in (self.before, self.after))

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
        for why in dict.fromkeys(item.lacks for item in self.moved if item.lacks):
            yield f"evidence: not compared, {why}"
        for item in self.moved:
            if item.lacks or item.is_nothing:
                continue
            said = f"evidence {RATES[item.metric]} in {_share(item.before)} of positive votes before, {_share(item.after)} now"
            p = "" if item.p_holm is None else f" (p {'< 1e-4' if item.p_holm < 1e-4 else f'{item.p_holm:.2g}'})"
            if item.direction and (self.is_exact or item.is_beyond(alpha)):
                how = "worse" if item.is_higher else "better"
                yield f"{how}: {said}{p}" if self.is_exact else f"{how} beyond its noise: {said}{p}"
            else:
                open_ = ", undecided over what was not checked" if item.difference.bounds and not item.direction else ""
                moved = f", within its noise{p}" if item.difference.value else ""
                yield f"{said}{open_ or moved}"
        if self.moved and all(item.is_nothing for item in self.moved):
            yield "evidence: none is invented or missing, before or now"


def _share(rate: Estimate) -> str:
    return " to ".join(f"{end:.0%}" for end in rate.bounds or (rate.value or 0.0,))


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
        Moved(name, rate_of(views[1], name), rate_of(views[0], name), estimate, p)
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
            "before": item.before.value,
            "before_bounds": None if item.before.bounds is None else list(item.before.bounds),
            "after": item.after.value,
            "after_bounds": None if item.after.bounds is None else list(item.after.bounds),
            "difference": dict(item.difference.to_dict()),
            "p": item.p,
            "p_holm": item.p_holm,
        }
        for item in found.moved
    ]
    return {"compared": bool(found.moved), "worse": found.is_worse, "rates": moved}
