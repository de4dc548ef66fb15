"""Gates as they are written: a metric, a variant or all of them, a stratum, a threshold (STATISTICS.md 3)."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pytest_novelty.errors import GateSyntaxError, NoveltyError, SuiteError, UnknownNameError
from pytest_novelty.metrics.catalogue import (
    METRICS,
    ROOT,
    SHARE,
    SIGNED,
    UNIT,
    Entry,
    FamilyMetric,
    PairMetric,
    get_metric,
)
from pytest_novelty.model import REFERENCE, Suite
from pytest_novelty.profiles import gate_instead

MAX, MIN, MEAN = "[max]", "[min]", "[mean]"
OVER: Final = (MAX, MIN, MEAN)
"""What a gate's ``variant`` is where it rests on all variants of a run; no variant can be called so."""

DEFAULT_STABILITY_GATE: Final = "vote_shift[max]<=0.25"
"""For a run with variants on a suite that gates no stability: no variant moves a vote's probability by more than 25 points (root
mean square). A judge that nothing moves can show that on 58 instances or clusters; the embedded suites have 66.
"""

_RANGES: Final = {SHARE: (0.0, 1.0), UNIT: (0.0, 1.0), ROOT: (0.0, 1.0), SIGNED: (-1.0, 1.0)}
_GATE: Final = re.compile(
    r"\s*(?P<abs>abs\s*\(\s*)?(?P<metric>[A-Za-z_][A-Za-z0-9_]*)\s*(?:\[(?P<inner>[^\]]*[^\]\s][^\]]*)\]\s*)?(?P<close>\)\s*)?"
    r"(?:\[(?P<outer>[^\]]*[^\]\s][^\]]*)\]\s*)?(?P<at>(?:@[^@<>=]+)*)(?P<op><=|>=|<|>)\s*(?P<threshold>\S+)\s*\Z"
)
_GRAMMAR: Final = (
    "A gate reads metric[variant]@stratum:value <= number, for example strict_accuracy>=0.80, abs(position_bias)<=0.10, "
    "vote_shift[max]<=0.20 or invalid_rate@point<=0"
)


@dataclass(frozen=True, slots=True)
class Gate:
    """``variant``: its name, or one of ``OVER``. ``absolute``: on the absolute value. ``stratum``: (name, value). ``point``:
    decided by the value alone.
    """

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
        parts = [
            "abs" if self.absolute else "",
            self.metric,
            "" if self.variant == REFERENCE else self.variant.strip("[]"),
        ]
        parts += [".".join(self.stratum) if self.stratum else "", "point" if self.point else ""]
        parts += [words[self.op], f"{self.threshold:g}"]
        return re.sub(r"[^a-z0-9._-]+", "-", "-".join(part for part in parts if part).lower())

    @property
    def over(self) -> str:
        """``max``, ``min`` or ``mean`` where the gate rests on all variants; else empty."""
        return self.variant.strip("[]") if self.variant in OVER else ""

    @property
    def entry(self) -> Entry:
        """The metric that is computed: of a family the one that it sums up."""
        entry = get_metric(self.metric)
        return METRICS[entry.of] if isinstance(entry, FamilyMetric) else entry

    @property
    def kind(self) -> str:
        """The kind of the quantity: the mean over variants of shares is no share."""
        return UNIT if self.over == "mean" and self.entry.kind == SHARE else self.entry.kind

    @property
    def upper(self) -> bool:
        """The metric must stay below the threshold."""
        return self.op in ("<=", "<")


def parse_gate(text: str) -> Gate:
    """Read a gate expression. Raises GateSyntaxError, or UnknownNameError for a metric that does not exist."""
    match = _GATE.match(text)
    if match is None or bool(match["abs"]) != bool(match["close"]) or (match["inner"] and match["outer"]):
        raise GateSyntaxError(f"cannot read the gate {text!r}", hint=_GRAMMAR)
    refuse_published(match["metric"], text)
    metric = get_metric(match["metric"])
    try:
        threshold = math.nan if "_" in match["threshold"] else float(match["threshold"])
    except ValueError:
        threshold = math.nan
    if not math.isfinite(threshold):
        raise GateSyntaxError(
            f"the threshold {match['threshold']!r} of the gate {text!r} is not a number", hint=_GRAMMAR
        )
    low, high = _RANGES.get(metric.kind, (-math.inf, math.inf))
    low = max(low, 0.0) if match["abs"] else low
    if not low <= threshold <= high:
        raise GateSyntaxError(
            f"the gate {text!r} can never be decided: {match['metric']} runs from {low:g} to {high:g}",
            hint="Write a share as 0.80, not as 80",
        )
    variant = _read_variant(metric, (match["inner"] or match["outer"] or "").strip(), bool(match["abs"]), text)
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


def refuse_published(metric: str, text: str) -> None:
    """Raise GateSyntaxError for the name of a figure that only a benchmark's release has."""
    if metric not in METRICS and (ours := gate_instead(metric)) is not None:
        raise GateSyntaxError(
            f"the gate {text!r} rests on {metric}, a figure of the release (profile as-published), which has no interval",
            hint=f"Gate ours: {ours}",
        )


def _read_variant(metric: Entry, given: str, absolute: bool, text: str) -> str:
    """The variant that a gate rests on. A metric that compares variants with the reference rests on all where none is named."""
    over = f"[{given}]" if f"[{given}]" in OVER else ""
    if isinstance(metric, FamilyMetric):
        if given:
            raise GateSyntaxError(
                f"{metric.name} is over all variants, and the gate {text!r} names {given!r}",
                hint=f"Write {metric.name}, or {metric.of}[{given}]",
            )
        return f"[{metric.over}]"
    if over and absolute:
        raise GateSyntaxError(
            f"the gate {text!r} cannot take the {given} of an absolute value", hint="Gate each variant for itself"
        )
    if over == MEAN and not metric.is_mean:
        raise GateSyntaxError(
            f"the gate {text!r}: {metric.name} is no mean over instances, and has no [mean] over variants",
            hint="Take [max] or [min], or gate each variant for itself",
        )
    if isinstance(metric, PairMetric) and given == REFERENCE:
        raise GateSyntaxError(
            f"the gate {text!r}: {metric.name} compares a variant with the reference",
            hint="Name a variant, or write [max]",
        )
    if isinstance(metric, PairMetric) and not given and absolute:
        raise GateSyntaxError(
            f"the gate {text!r} would take the largest of an absolute value",
            hint="Name a variant, and gate each for itself",
        )
    if isinstance(metric, PairMetric) and not given:
        return MAX if text.count("<") else MIN
    return over or given or REFERENCE


def check_gate_names(gate: Gate, suite: Suite) -> None:
    """The suite has what the gate names. Raises UnknownNameError or SuiteError."""
    metric = METRICS[gate.metric]
    if suite.protocol not in metric.protocols:
        known = [name for name, item in METRICS.items() if suite.protocol in item.protocols]
        raise UnknownNameError(f"{suite.protocol} metric", gate.metric, known)
    if metric.labelled and not suite.labelled:
        without = METRICS.get(f"{gate.metric}_all")
        raise SuiteError(
            f"the gate {gate.text!r} needs gold labels, and the suite {suite.name} has none",
            hint=None if without is None else f"{without.name} does not: it is of all positive verdicts",
        )
    by = f"the gate {gate.text!r} of {suite.name}"
    if gate.over:
        if len(suite.variants) < 2:
            raise SuiteError(f"the gate {gate.text!r} rests on variants, and the suite {suite.name} has none")
    elif gate.variant not in suite.variants:
        raise UnknownNameError("variant", gate.variant, suite.variants, by=by)
    if gate.stratum is not None:
        name, value = gate.stratum
        values = {instance.strata[name] for instance in suite.instances if name in instance.strata}
        if not values:
            names = {key for instance in suite.instances for key in instance.strata}
            raise UnknownNameError("stratum", name, names, by=by)
        if value not in values:
            raise UnknownNameError(f"value of the stratum {name!r},", value, values, by=by)


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


def gates_stability(gate: Gate) -> bool:
    """The gate holds a judge to giving the same verdict under a variant."""
    return isinstance(gate.entry, PairMetric)


def _quantity(gate: Gate) -> tuple[object, ...]:
    return (gate.entry.name, gate.variant, gate.absolute, gate.stratum, gate.upper)
