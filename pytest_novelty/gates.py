"""Gates: a metric, a threshold, and a decision that is pass, fail or honestly inconclusive (STATISTICS.md 3)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from pytest_novelty.errors import GateSyntaxError, NoveltyError, SuiteError, UnknownNameError
from pytest_novelty.metrics.catalogue import CATALOGUE, QUANTITY, SHARE, SIGNED, UNIT, get_metric
from pytest_novelty.model import REFERENCE, Suite

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
_RANGES: Final = {SHARE: (0.0, 1.0), UNIT: (0.0, 1.0), SIGNED: (-1.0, 1.0)}
_GATE: Final = re.compile(
    r"\s*(?P<abs>abs\s*\(\s*)?(?P<metric>[A-Za-z_][A-Za-z0-9_]*)\s*(?:\[(?P<inner>[^\]]*[^\]\s][^\]]*)\]\s*)?(?P<close>\)\s*)?"
    r"(?:\[(?P<outer>[^\]]*[^\]\s][^\]]*)\]\s*)?(?P<at>(?:@[^@<>=]+)*)(?P<op><=|>=|<|>)\s*(?P<threshold>\S+)\s*\Z"
)
_GRAMMAR: Final = (
    "A gate reads metric[variant]@stratum:value <= number, for example strict_accuracy>=0.80, abs(position_bias)<=0.10 or "
    "invalid_rate@point<=0"
)


@dataclass(frozen=True, slots=True)
class Gate:
    """``absolute``: on the absolute value. ``stratum``: (name, value). ``point``: decided by the value alone."""

    text: str
    metric: str
    op: str
    threshold: float
    variant: str = REFERENCE
    absolute: bool = False
    stratum: tuple[str, str] | None = None
    point: bool = False

    @property
    def slug(self) -> str:
        """The gate in the alphabet of ids."""
        words = {"<=": "le", ">=": "ge", "<": "lt", ">": "gt"}
        parts = ["abs" if self.absolute else "", self.metric, "" if self.variant == REFERENCE else self.variant]
        parts += [".".join(self.stratum) if self.stratum else "", "point" if self.point else ""]
        parts += [words[self.op], f"{self.threshold:g}"]
        return re.sub(r"[^a-z0-9._-]+", "-", "-".join(part for part in parts if part).lower())

    @property
    def upper(self) -> bool:
        """The metric must stay below the threshold."""
        return self.op in ("<=", "<")


def parse_gate(text: str) -> Gate:
    """Read a gate expression. Raises GateSyntaxError, or UnknownNameError for a metric that does not exist."""
    match = _GATE.match(text)
    if match is None or bool(match["abs"]) != bool(match["close"]) or (match["inner"] and match["outer"]):
        raise GateSyntaxError(f"cannot read the gate {text!r}", hint=_GRAMMAR)
    get_metric(match["metric"])
    try:
        threshold = math.nan if "_" in match["threshold"] else float(match["threshold"])
    except ValueError:
        threshold = math.nan
    if not math.isfinite(threshold):
        raise GateSyntaxError(
            f"the threshold {match['threshold']!r} of the gate {text!r} is not a number", hint=_GRAMMAR
        )
    low, high = _RANGES.get(CATALOGUE[match["metric"]].kind, (-math.inf, math.inf))
    low = max(low, 0.0) if match["abs"] else low
    if not low <= threshold <= high:
        raise GateSyntaxError(
            f"the gate {text!r} can never be decided: {match['metric']} runs from {low:g} to {high:g}",
            hint="Write a share as 0.80, not as 80",
        )
    variant = (match["inner"] or match["outer"] or REFERENCE).strip()
    stratum: tuple[str, str] | None = None
    point = False
    for part in match["at"].split("@")[1:]:
        name, separator, value = part.strip().partition(":")
        if name == "point" and not separator:
            point = True
        elif name.strip() and value.strip() and stratum is None:
            stratum = (name.strip(), value.strip())
        else:
            raise GateSyntaxError(f"cannot read @{part.strip()} in the gate {text!r}", hint=_GRAMMAR)
    return Gate(text.strip(), match["metric"], match["op"], threshold, variant, bool(match["abs"]), stratum, point)


def check_gate_names(gate: Gate, suite: Suite) -> None:
    """The suite has what the gate names. Raises UnknownNameError or SuiteError."""
    metric = CATALOGUE[gate.metric]
    if suite.protocol not in metric.protocols:
        known = [name for name, item in CATALOGUE.items() if suite.protocol in item.protocols]
        raise UnknownNameError(f"{suite.protocol} metric", gate.metric, known)
    if metric.labelled and not suite.labelled:
        raise SuiteError(f"the gate {gate.text!r} needs gold labels, and the suite {suite.name} has none")
    if gate.variant not in suite.variants:
        raise UnknownNameError(f"variant in the gate {gate.text!r}", gate.variant, suite.variants)
    if gate.stratum is not None:
        name, value = gate.stratum
        values = {instance.strata[name] for instance in suite.instances if name in instance.strata}
        if not values:
            names = {key for instance in suite.instances for key in instance.strata}
            raise UnknownNameError(f"stratum in the gate {gate.text!r}", name, names)
        if value not in values:
            raise UnknownNameError(f"value of the stratum {name!r} in the gate {gate.text!r}", value, values)


def gates_for(suite: Suite, extra: Sequence[Gate]) -> tuple[Gate, ...]:
    """The suite's own gates and those of the options that it can have; an option's gate replaces the suite's on the
    same quantity.
    """
    added = [gate for gate in extra if _fits(gate, suite)]
    replaced = {_quantity(gate) for gate in added}
    own = [gate for gate in map(parse_gate, suite.gates) if _quantity(gate) not in replaced]
    return tuple(dict.fromkeys((*own, *added)))


def _fits(gate: Gate, suite: Suite) -> bool:
    try:
        check_gate_names(gate, suite)
    except NoveltyError:
        return False
    return True


def check_option_gates(gates: Sequence[Gate], suites: Sequence[Suite]) -> None:
    """Every gate of the options fits at least one suite. Raises the reason why it fits none."""
    for gate in gates:
        problem: NoveltyError | None = None
        for suite in suites:
            try:
                check_gate_names(gate, suite)
                break
            except NoveltyError as error:
                problem = problem or error
        else:
            if problem is not None:
                raise problem


def _quantity(gate: Gate) -> tuple[object, ...]:
    return (gate.metric, gate.variant, gate.absolute, gate.stratum, gate.upper)


# --- deciding -----------------------------------------------------------------------------------------------


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
    if _holds(gate, high if gate.upper else low):
        return PASS
    return INCONCLUSIVE if _holds(gate, low if gate.upper else high) else FAIL


def _holds(gate: Gate, value: float) -> bool:
    if gate.op == "<=":
        return value <= gate.threshold + _TOLERANCE
    if gate.op == ">=":
        return value >= gate.threshold - _TOLERANCE
    return value < gate.threshold - _TOLERANCE if gate.op == "<" else value > gate.threshold + _TOLERANCE


def judge_gate(gate: Gate, estimate: Estimate, judge: str, suite: str, *, by_point: bool = False) -> GateResult:
    """Decide and explain."""
    decision = decide(gate, estimate, by_point=by_point)
    message = _explain(gate, estimate, decision, by_point=by_point)
    return GateResult(judge, suite, gate, decision, message, estimate.value, estimate.low, estimate.high, estimate.n)


def _explain(gate: Gate, estimate: Estimate, decision: str, *, by_point: bool) -> str:
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
        text += f"; {more_needed(gate, estimate)}"
    elif by_point or gate.point:
        text += "; decided by the value alone"
    return text


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".") if abs(value) < 100 else f"{value:.6g}"


def more_needed(gate: Gate, estimate: Estimate) -> str:
    """How many instances would decide, if the truth is what was estimated (80 % power, times the design effect)."""
    from pytest_novelty.metrics.planning import planned_n_mean, planned_n_share

    value = estimate.value
    if value is None or estimate.low is None or estimate.high is None or not estimate.n:
        return "there is no interval to decide by"
    value = abs(value) if gate.absolute else value
    kind = CATALOGUE[gate.metric].kind
    needed: int | None
    if kind == SHARE and 0 <= gate.threshold <= 1:
        needed = planned_n_share(value, gate.threshold, design_effect=_design_effect(estimate))
    elif estimate.sd is not None:
        needed = planned_n_mean(estimate.sd, value, gate.threshold)
    else:  # an F1, a reliability: take the standard deviation from the interval's width
        sd = (estimate.high - estimate.low) / 3.92 * math.sqrt(estimate.n)
        needed = planned_n_mean(sd, value, gate.threshold)
    if needed is None or (needed > 10 * estimate.n and estimate.n >= _ENOUGH_TO_SAY_CLOSE):
        return "too close to call"
    return f"about {max(needed, estimate.n + 1)} instances would decide"


def _design_effect(estimate: Estimate) -> float:
    """How much wider than for independent instances the interval is, squared."""
    from pytest_novelty.metrics.intervals import clopper_pearson

    if estimate.value is None or estimate.low is None or estimate.high is None:
        return 1.0
    simple = clopper_pearson(estimate.value * estimate.n, estimate.n)
    width = 0.0 if simple is None else simple.high - simple.low
    return max(1.0, ((estimate.high - estimate.low) / width) ** 2) if width else 1.0


def cannot_pass(gate: Gate, n: int, clusters: int | None, *, by_point: bool = False) -> str | None:
    """Why no outcome of ``n`` instances could pass the gate; None if one could, or if that cannot be told beforehand."""
    kind = CATALOGUE[gate.metric].kind
    if kind == QUANTITY or gate.point or by_point or gate.metric == "reliability":
        return None
    if kind == SIGNED and not (gate.absolute or gate.upper):
        return None
    units = f"{n} instances" if clusters is None else f"{n} instances in {clusters} clusters"
    if _could_pass(gate, kind, n, clusters):
        return None
    best = "without a single event" if gate.upper else "with every instance right"
    return f"{gate.text}: {units} cannot pass it even {best}; {_needed_to_pass(gate, kind, clusters)}"


def _could_pass(gate: Gate, kind: str, n: int, clusters: int | None) -> bool:
    """Whether the interval of the most favourable outcome lies on the right side."""
    from pytest_novelty.metrics.intervals import few_cluster_factor, wilson
    from pytest_novelty.metrics.planning import can_pass_share

    direction: Direction = "<=" if gate.upper else ">="
    if kind == SIGNED:  # its widened interval counts clusters as they are
        return can_pass_share(direction, gate.threshold, n if clusters is None else clusters)
    if kind == SHARE:
        return can_pass_share(direction, gate.threshold, n, clusters)
    if clusters is not None and clusters < 2:
        return False
    size = n if clusters is None else min(n, clusters) * few_cluster_factor(clusters, 0.95)
    best = wilson(0.0 if gate.upper else 1.0, size)
    return best is not None and _holds(gate, best.high if gate.upper else best.low)


def _needed_to_pass(gate: Gate, kind: str, clusters: int | None) -> str:
    """How many instances (clusters) the most favourable outcome would need: doubled until it passes, then halved back."""
    high = 2
    while not _could_pass(gate, kind, high, None if clusters is None else high):
        high *= 2
        if high > 10**6:
            return "no number of instances can; use @point"
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        passes = _could_pass(gate, kind, middle, None if clusters is None else middle)
        low, high = (low, middle) if passes else (middle, high)
    return f"it takes {high}" if clusters is None else f"it takes {high} clusters"
