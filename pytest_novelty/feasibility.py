"""Which gates a suite cannot decide, told before anything is asked (STATISTICS.md 3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from pytest_novelty.deciding import holds
from pytest_novelty.gates import Gate
from pytest_novelty.metrics.catalogue import QUANTITY, ROOT, SCORE, SHARE, SIGNED, UNIT
from pytest_novelty.model import Instance, Suite
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.protocols.grouping import groups_of

if TYPE_CHECKING:
    from pytest_novelty.metrics.planning import Direction

LEVEL = 0.95

_OF_POSITIVES: Final = frozenset(
    {
        *("hallucination_rate", "missing_evidence_rate", "missing_reason_rate", "ungrounded_rate", "mismatch_rate"),
        *("verified_rate", "unchecked_rate", "recall", "verified_recall", "pair_recall", "positive_accuracy"),
    }
)
"""Metrics whose denominators are gold positives, or those of them that a judge finds: no outcome has more. Those of an F1 or a
precision grow with wrong positives."""
_OF_NEGATIVES: Final = frozenset(
    {
        *("hallucination_rate_false", "missing_evidence_rate_false"),
        *("missing_reason_rate_false", "mismatch_rate_false"),
        "negative_accuracy",
    }
)


class Size(NamedTuple):
    """What an interval has to rest on at most. ``holding``: of the ``clusters`` (None without) those that hold one of the ``n``;
    ``what``: which instances count, if not all. ``kind``: of the interval, if it is not that of the metric's kind.
    """

    n: int
    clusters: int | None = None
    holding: int | None = None
    what: str = ""
    kind: str = ""


def size_of(gate: Gate, suite: Suite, instances: Iterable[Instance]) -> Size:
    """Of the instances those of the gate's stratum, and of these those that its metric's denominator can count."""
    place = gate.stratum
    kept = [item for item in instances if place is None or item.strata.get(place[0]) == place[1]]
    counted, what = _countable(gate, suite, kept)
    if suite.cluster is None:  # the agreement of an auditor with independent labels has Wilson's interval
        is_validation = suite.protocol == "entailment" and gate.metric == "accuracy"
        return Size(len(counted), what=what, kind=UNIT if is_validation else "")
    clusters, holding = ({item.strata[suite.cluster] for item in among} for among in (kept, counted))
    return Size(len(counted), len(clusters), len(holding), what)


def _countable(gate: Gate, suite: Suite, kept: list[Instance]) -> tuple[list[Instance], str]:
    labels = PROTOCOLS[suite.protocol].labels
    if gate.metric in _OF_POSITIVES and suite.protocol == "grouping":
        return [
            one for one in kept if any(len(group) > 1 for group in groups_of(one.gold or "[]"))
        ], "with a gold group"
    if labels is not None and gate.metric in _OF_POSITIVES | _OF_NEGATIVES:
        label = labels[gate.metric in _OF_NEGATIVES]
        return [one for one in kept if one.gold == label], f"whose gold label is {label.replace('_', ' ')}"
    return kept, ""


def cannot_measure(gate: Gate, votes: int, both_orders: bool) -> str | None:
    """Why so many votes a request, or only one order, leave the gate's metric undefined; None if they do not."""
    entry = gate.entry
    if votes < entry.votes:
        return f"{gate.text}: {entry.name} needs {entry.votes} votes of a request, and {votes} is asked"
    if entry.both_orders and not both_orders:
        return f"{gate.text}: {entry.name} needs pairs shown in both orders, and one is asked"
    return None


def cannot_pass(
    gate: Gate,
    n: int,
    clusters: int | None,
    holding: int | None = None,
    what: str = "",
    kind: str = "",
    *,
    by_point: bool = False,
    level: float = LEVEL,
) -> str | None:
    """Why no outcome of a run could pass the gate; None if one could, or if that cannot be told beforehand. The first of them as
    in a :class:`Size`; by default every cluster holds some.
    """
    kind = kind or gate.kind
    if kind in (QUANTITY, SCORE) or gate.point or by_point or gate.metric == "reliability":
        return None
    if kind in (SIGNED, ROOT) and not (gate.absolute or gate.upper):
        return None
    if holding is None:
        holding = clusters
    units = " ".join(filter(None, [f"{n} instances", what, "" if holding is None else f"in {holding} clusters"]))
    if _could_pass(gate, kind, n if holding is None else min(n, holding), clusters, level):
        return None
    best = "without a single event" if gate.upper else "with every instance right"
    needed = _needed_to_pass(gate, kind, clusters, level)
    such = f" {'of' if clusters is None else 'with one of'} these" if what and needed.startswith("it takes") else ""
    return f"{gate.text}: {units} cannot pass it even {best}; {needed}{such}"


def _could_pass(gate: Gate, kind: str, n: int, clusters: int | None, level: float) -> bool:
    """Whether the interval of the most favourable outcome lies on the right side."""
    from pytest_novelty.metrics.intervals import few_cluster_factor, wilson
    from pytest_novelty.metrics.planning import can_pass_share

    direction: Direction = "<=" if gate.upper else ">="
    if kind in (SIGNED, ROOT):  # its widened interval counts clusters as they are; a root is decided as its square
        threshold = gate.threshold**2 if kind == ROOT else gate.threshold
        return can_pass_share(direction, threshold, n if clusters is None else clusters, level=level)
    if kind == SHARE:
        return can_pass_share(direction, gate.threshold, n, clusters, level)
    if n < 1 or (clusters is not None and clusters < 2):
        return False
    size = n if clusters is None else min(n, clusters) * few_cluster_factor(clusters, level)
    best = wilson(0.0 if gate.upper else 1.0, size, level)
    return best is not None and holds(gate, best.high if gate.upper else best.low)


def _needed_to_pass(gate: Gate, kind: str, clusters: int | None, level: float) -> str:
    """How many instances (clusters) the most favourable outcome would need: doubled until it passes, then halved back."""
    high = 2
    while not _could_pass(gate, kind, high, None if clusters is None else high, level):
        high *= 2
        if high > 10**6:
            return "no number of instances can; use @point"
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        passes = _could_pass(gate, kind, middle, None if clusters is None else middle, level)
        low, high = (low, middle) if passes else (middle, high)
    return f"it takes {high}" if clusters is None else f"it takes {high} clusters"
