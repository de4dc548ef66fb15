"""What becomes of a gate: pass, fail or honestly inconclusive, and what would decide it (STATISTICS.md 3)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from pytest_novelty.gates import Gate
from pytest_novelty.metrics.catalogue import ROOT, SHARE, UNIT
from pytest_novelty.printing import plural

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
    """A gate's decision for one judge, with the estimate it rests on and a sentence that says why.

    ``bounds``: where something was not checked, what the value could be; ``value`` then takes it all for bad. ``advice``: what
    would decide it, where it is undecided. ``left_out``: variants that it does not rest on, with the reasons.
    """

    judge: str
    suite: str
    gate: Gate
    decision: str
    message: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int = 0
    advice: str = ""
    left_out: str = ""
    bounds: tuple[float, float] | None = None


class Reach(NamedTuple):
    """What a run could do at most: the level of its intervals, the instances that the suite has and that ran, and, of a suite in
    clusters, why no outcome of the run could pass the gate (empty if one could).
    """

    level: float = 0.95
    available: int | None = None
    ran: int | None = None
    impossible: str = ""


def decide(gate: Gate, estimate: Estimate, *, by_point: bool = False) -> str:
    """pass: the interval lies wholly on the right side (equality is inside); fail: wholly outside; else inconclusive.

    ``by_point``: the value alone, or all that it could be where some of it rests on what is not checked.
    """
    if estimate.value is None:
        return INCONCLUSIVE
    low, high = estimate.low, estimate.high
    if gate.point or by_point:
        low, high = estimate.bounds or (estimate.value, estimate.value)  # the value takes all that is unchecked for bad
    if low is None and high is None:
        return INCONCLUSIVE
    low, high = -math.inf if low is None else low, math.inf if high is None else high  # a side that is open
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
    gate: Gate,
    estimate: Estimate,
    judge: str,
    suite: str,
    *,
    by_point: bool = False,
    price: Price | None = None,
    reach: Reach = Reach(),  # noqa: B008 - immutable
) -> GateResult:
    """Decide and explain. ``price`` of an instance: told where more of them would decide."""
    decision = decide(gate, estimate, by_point=by_point)
    advice = ""
    if decision == INCONCLUSIVE and (estimate.value is not None or estimate.unaudited):
        impossible = "" if estimate.unaudited or estimate.bounds else reach.impossible.removeprefix(f"{gate.text}: ")
        advice = impossible or more_needed(gate, estimate, price, reach)
    message = _explain(gate, estimate, advice, by_point=by_point)
    found = (estimate.value, estimate.low, estimate.high, estimate.n)
    return GateResult(judge, suite, gate, decision, message, *found, advice, bounds=estimate.bounds)


def _explain(gate: Gate, estimate: Estimate, advice: str, *, by_point: bool) -> str:
    if estimate.value is None:
        return f"{gate.text}: {gate.metric} is undefined: {estimate.note}"
    shown = f"{gate.metric} is {' to '.join(map(_number, estimate.bounds or (estimate.value,)))}"
    if estimate.low is not None and estimate.high is not None and estimate.low != estimate.high:
        shown += f" [{_number(estimate.low)}, {_number(estimate.high)}]"
    shown += f", n = {estimate.n}"
    text = f"{gate.text}: {shown}"
    if estimate.note:
        text += f" ({estimate.note})"
    if advice:
        text += f"; {advice}"
    elif by_point or gate.point:
        text += f"; decided by {'the value' if estimate.bounds is None else 'its bounds'} alone"
    return text


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) < 100 else f"{value:.6g}"


def more_needed(
    gate: Gate,
    estimate: Estimate,
    price: Price | None = None,
    reach: Reach = Reach(),  # noqa: B008 - immutable
) -> str:
    """How many instances would decide, if the truth is what was estimated (80 % power, times the design effect), and what the
    further ones would cost.
    """
    if estimate.bounds is not None or estimate.unaudited:  # it would stay open however many instances came to it
        return _waiting(estimate) if estimate.unaudited else "what is not checked would have to be checked"
    if estimate.value is None or estimate.low is None or estimate.high is None or not estimate.n:
        return "there is no interval to decide by"
    if estimate.is_open:
        return "no number of instances would decide, for want of votes"
    needed = _planned(gate, estimate, reach.level)
    if needed is None or (needed > 10 * estimate.n and estimate.n >= _ENOUGH_TO_SAY_CLOSE):
        return "too close to call"
    ran = max(estimate.n, reach.ran or 0)
    total = max(math.ceil(needed * ran / estimate.n), ran + 1)  # as many of the further ones will be of use
    text = f"about {total} instances would decide"
    limit = f"; the suite has {reach.available}" if reach.available is not None and total > reach.available else ""
    if price is None:
        return text + limit
    further = total - ran
    return f"{text} ({further} more, {show_cost(price, further)}){limit}"


_AGAIN: Final = "run again to repeat audits that failed (--novelty-refresh: also where an answer was no verdict)"


def _waiting(estimate: Estimate) -> str:
    """What is not audited, and whether asking again helps: of what was left out of a cassette nobody can be asked."""
    told = f"{plural(estimate.unaudited, 'statement')} of its votes not audited"
    if not estimate.textless:
        return f"{told}; {_AGAIN}"
    if estimate.textless == estimate.unaudited:
        return f"{told}, for want of texts (export --no-text)"
    lacking = f"{estimate.textless:,} of them for want of texts (export --no-text)"
    return f"{told}, {lacking}; {_AGAIN}"


def _planned(gate: Gate, estimate: Estimate, level: float) -> int | None:
    """The n of the formula for the kind of quantity, but never fewer than the best outcome would need."""
    from pytest_novelty.metrics.planning import (
        planned_n_mean,
        planned_n_share,
        smallest_deciding_n,
        smallest_deciding_rate,
        two_sided_z,
    )

    assert estimate.value is not None
    assert estimate.low is not None
    assert estimate.high is not None
    value = abs(estimate.value) if gate.absolute else estimate.value
    threshold = gate.threshold
    direction: Direction = "<=" if gate.upper else ">="
    needed: int | None
    least: int | None = None
    if gate.kind == SHARE and 0 <= threshold <= 1:
        effect = _design_effect(gate, estimate, level)
        needed = planned_n_share(value, threshold, design_effect=effect, level=level)
        least = smallest_deciding_n(threshold, direction, level)
        least = None if least is None else math.ceil(effect * least)
    elif gate.kind == ROOT and estimate.sd is not None:  # decided as the square that it is the root of
        needed = planned_n_mean(estimate.sd, value**2, threshold**2, level=level)
        least = smallest_deciding_n(threshold**2, level=level) if gate.upper else None
    elif estimate.sd is not None:
        needed = planned_n_mean(estimate.sd, value, threshold, level=level)
        least = _until_narrow(gate, estimate, value)
    elif gate.kind == UNIT and value == (0.0 if gate.upper else 1.0):  # its interval is Wilson's, of n alone
        needed = smallest_deciding_rate(threshold, direction, level)
    else:  # an F1, a reliability: take the standard deviation from the interval's width
        sd = (estimate.high - estimate.low) / (2 * two_sided_z(level)) * math.sqrt(estimate.n)
        needed = planned_n_mean(sd, value, threshold, level=level)
    if gate.kind == UNIT and gate.metric != "reliability":
        least = max(least or 1, smallest_deciding_rate(threshold, direction, level) or 1)
    return needed if needed is None or least is None else max(needed, least)


def _until_narrow(gate: Gate, estimate: Estimate, value: float) -> int | None:
    """Where exact bounds on what is not among the instances widen the interval: they shrink as 1 / n."""
    assert estimate.low is not None
    assert estimate.high is not None
    if "widened" not in estimate.method or gate.absolute:
        return None
    room = gate.threshold - value if gate.upper else value - gate.threshold
    reach = estimate.high - value if gate.upper else value - estimate.low
    return math.ceil(estimate.n * reach / room) if room > 0 else None


def show_cost(price: Price, instances: int) -> str:
    """What so many instances more cost, and how that is known."""
    if price.usd is None:
        return "cost unknown"
    if price.usd == 0:
        return "free"
    total = price.usd * instances
    shown = f"${total:.4f}" if total < 0.1 else f"${total:.2f}"
    return f"about {shown}, {price.basis}" if price.basis else f"about {shown}"


def _design_effect(gate: Gate, estimate: Estimate, level: float) -> float:
    """How much wider than for independent instances the interval is, squared: on the side that is at ``level`` (of the largest
    of several variants the upper, of the smallest the lower; the other side also pays for their number).
    """
    from pytest_novelty.metrics.intervals import clopper_pearson

    if estimate.value is None or estimate.low is None or estimate.high is None:
        return 1.0
    simple = clopper_pearson(estimate.value * estimate.n, estimate.n, level)
    if simple is None:
        return 1.0
    if gate.over == "max":
        own, plain = estimate.high - estimate.value, simple.high - estimate.value
    elif gate.over == "min":
        own, plain = estimate.value - estimate.low, estimate.value - simple.low
    else:
        own, plain = estimate.high - estimate.low, simple.high - simple.low
    return max(1.0, (own / plain) ** 2) if plain > 0 else 1.0
