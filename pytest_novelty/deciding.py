"""What becomes of a gate: pass, fail or honestly inconclusive, and what would decide it (STATISTICS.md 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from pytest_novelty.gates import Gate
from pytest_novelty.metrics.catalogue import ROOT, SHARE

if TYPE_CHECKING:
    from pytest_novelty.metrics.planning import Direction
    from pytest_novelty.metrics.view import Estimate

PASS: Final = "pass"
FAIL: Final = "fail"
INCONCLUSIVE: Final = "inconclusive"
NOT_ENFORCED: Final = "not enforced"

_TOLERANCE: Final = 1e-12
_ENOUGH_TO_SAY_CLOSE: Final = 30
"""Below, a wide interval says that the sample is small, not that the value is near the threshold."""


class Price(NamedTuple):
    """What one more instance costs a judge. ``usd`` None: nobody knows. ``basis``: declared, measured."""

    usd: float | None
    basis: str = ""


@dataclass(frozen=True, slots=True)
class GateResult:
    """A gate's decision for one judge, with the estimate it rests on and a sentence that says why."""

    judge: str
    suite: str
    gate: Gate
    decision: str
    message: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0


def decide(gate: Gate, estimate: Estimate, *, by_point: bool = False) -> str:
    """pass: the interval lies wholly on the right side (equality is inside); fail: wholly outside; else inconclusive."""
    if estimate.value is None:
        return INCONCLUSIVE
    low, high = estimate.low, estimate.high
    if gate.point or by_point:
        low = high = estimate.value
    if low is None or high is None:
        return INCONCLUSIVE
    if gate.absolute:
        # never the interval of |x|: that would be biased away from 0
        nearest = 0.0 if low <= 0 <= high else min(abs(low), abs(high))
        low, high = nearest, max(abs(low), abs(high))
    if holds(gate, high if gate.upper else low):
        return PASS
    return INCONCLUSIVE if holds(gate, low if gate.upper else high) else FAIL


def holds(gate: Gate, value: float) -> bool:
    if gate.op == "<=":
        return value <= gate.threshold + _TOLERANCE
    if gate.op == ">=":
        return value >= gate.threshold - _TOLERANCE
    return value < gate.threshold - _TOLERANCE if gate.op == "<" else value > gate.threshold + _TOLERANCE


def judge_gate(
    gate: Gate, estimate: Estimate, judge: str, suite: str, *, by_point: bool = False, price: Price | None = None
) -> GateResult:
    """Decide and explain. ``price`` of an instance: told where more of them would decide."""
    decision = decide(gate, estimate, by_point=by_point)
    message = _explain(gate, estimate, decision, by_point=by_point, price=price)
    return GateResult(judge, suite, gate, decision, message, estimate.value, estimate.low, estimate.high, estimate.n)


def _explain(gate: Gate, estimate: Estimate, decision: str, *, by_point: bool, price: Price | None) -> str:
    if estimate.value is None:
        return f"{gate.text}: {gate.metric} is undefined: {estimate.note}"
    shown = f"{gate.metric} is {_number(estimate.value)}"
    if estimate.low is not None and estimate.high is not None and estimate.low != estimate.high:
        shown += f" [{_number(estimate.low)}, {_number(estimate.high)}]"
    shown += f", n = {estimate.n}"
    text = f"{gate.text}: {shown}"
    if estimate.note:
        text += f" ({estimate.note})"
    if decision == INCONCLUSIVE:
        text += f"; {more_needed(gate, estimate, price)}"
    elif by_point or gate.point:
        text += "; decided by the value alone"
    return text


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) < 100 else f"{value:.6g}"


def more_needed(gate: Gate, estimate: Estimate, price: Price | None = None) -> str:
    """How many instances would decide, if the truth is what was estimated (80 % power, times the design effect), and what the
    further ones would cost.
    """
    if estimate.value is None or estimate.low is None or estimate.high is None or not estimate.n:
        return "there is no interval to decide by"
    needed = _planned(gate, estimate)
    if needed is None or (needed > 10 * estimate.n and estimate.n >= _ENOUGH_TO_SAY_CLOSE):
        return "too close to call"
    total = max(needed, estimate.n + 1)
    text = f"about {total} instances would decide"
    if price is None:
        return text
    further = total - estimate.n
    return f"{text} ({further} more, {_cost(price, further)})"


def _planned(gate: Gate, estimate: Estimate) -> int | None:
    """The n of the formula for the kind of quantity, but never fewer than the best outcome would need."""
    from pytest_novelty.metrics.planning import planned_n_mean, planned_n_share, smallest_deciding_n

    assert estimate.value is not None
    assert estimate.low is not None
    assert estimate.high is not None
    value = abs(estimate.value) if gate.absolute else estimate.value
    threshold = gate.threshold
    direction: Direction = "<=" if gate.upper else ">="
    needed: int | None
    least: int | None = None
    if gate.kind == SHARE and 0 <= threshold <= 1:
        effect = _design_effect(estimate)
        needed = planned_n_share(value, threshold, design_effect=effect)
        least = smallest_deciding_n(threshold, direction)
        least = None if least is None else math.ceil(effect * least)
    elif gate.kind == ROOT and estimate.sd is not None:  # decided as the square that it is the root of
        needed = planned_n_mean(estimate.sd, value**2, threshold**2)
        least = smallest_deciding_n(threshold**2) if gate.upper else None
    elif estimate.sd is not None:
        needed = planned_n_mean(estimate.sd, value, threshold)
    else:  # an F1, a reliability: take the standard deviation from the interval's width
        sd = (estimate.high - estimate.low) / 3.92 * math.sqrt(estimate.n)
        needed = planned_n_mean(sd, value, threshold)
    return needed if needed is None or least is None else max(needed, least)


def _cost(price: Price, instances: int) -> str:
    if price.usd is None:
        return "cost unknown"
    if price.usd == 0:
        return "free"
    total = price.usd * instances
    shown = f"${total:.4f}" if total < 0.1 else f"${total:.2f}"
    return f"about {shown}, {price.basis}" if price.basis else f"about {shown}"


def _design_effect(estimate: Estimate) -> float:
    """How much wider than for independent instances the interval is, squared."""
    from pytest_novelty.metrics.intervals import clopper_pearson

    if estimate.value is None or estimate.low is None or estimate.high is None:
        return 1.0
    simple = clopper_pearson(estimate.value * estimate.n, estimate.n)
    width = 0.0 if simple is None else simple.high - simple.low
    return max(1.0, ((estimate.high - estimate.low) / width) ** 2) if width else 1.0
