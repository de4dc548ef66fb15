"""Which gates a suite cannot decide, told before anything is asked (STATISTICS.md 3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_novelty.deciding import holds
from pytest_novelty.gates import Gate
from pytest_novelty.metrics.catalogue import QUANTITY, ROOT, SCORE, SHARE, SIGNED

if TYPE_CHECKING:
    from pytest_novelty.metrics.planning import Direction

LEVEL = 0.95


def cannot_measure(gate: Gate, votes: int, both_orders: bool) -> str | None:
    """Why so many votes a request, or only one order, leave the gate's metric undefined; None if they do not."""
    entry = gate.entry
    if votes < entry.votes:
        return f"{gate.text}: {entry.name} needs {entry.votes} votes of a request, and {votes} is asked"
    if entry.both_orders and not both_orders:
        return f"{gate.text}: {entry.name} needs pairs shown in both orders, and one is asked"
    return None


def cannot_pass(
    gate: Gate, n: int, clusters: int | None, *, by_point: bool = False, level: float = LEVEL
) -> str | None:
    """Why no outcome of ``n`` instances could pass the gate; None if one could, or if that cannot be told beforehand."""
    kind = gate.kind
    if kind in (QUANTITY, SCORE) or gate.point or by_point or gate.metric == "reliability":
        return None
    if kind in (SIGNED, ROOT) and not (gate.absolute or gate.upper):
        return None
    units = f"{n} instances" if clusters is None else f"{n} instances in {clusters} clusters"
    if _could_pass(gate, kind, n, clusters, level):
        return None
    best = "without a single event" if gate.upper else "with every instance right"
    return f"{gate.text}: {units} cannot pass it even {best}; {_needed_to_pass(gate, kind, clusters, level)}"


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
