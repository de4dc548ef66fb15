"""Judges that look things up: did they find the idea itself, did they look beyond the date, do two votes find the same?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from pytest_novelty.metrics.deferred import Computed, deferrable
from pytest_novelty.metrics.estimating import mean_in_unit, quantity, share
from pytest_novelty.metrics.view import Estimate, View

NO_TRACE_NOTE = "no answer lists what was retrieved"


def leak_rate(view: View) -> Estimate:
    """Share of instances with a trace in which the idea itself was among what a vote retrieved."""
    return _share_of(view, [result.trace.leaked for result in view.results], NO_TRACE_NOTE)


def late_rate(view: View) -> Estimate:
    """Share of dated instances with dated results in which a vote retrieved something from after ``as_of``."""
    return _share_of(
        view, [result.trace.late for result in view.results], "no answer lists dated results for a dated instance"
    )


def _share_of(view: View, events: Sequence[bool | None], undefined: str) -> Estimate:
    known = np.array([event is not None for event in events], dtype=bool)
    if not known.any():
        return Estimate.undefined(undefined)
    left_out = int((~known).sum())
    note = f"{left_out} instances without a trace left out" if left_out else ""
    return share(view, np.array([bool(event) for event in events], dtype=bool), known, note)


@deferrable
def retrieval_overlap(view: View) -> Computed:
    """Mean Jaccard similarity of what two votes of an instance retrieved."""
    values = [np.nan if result.trace.overlap is None else result.trace.overlap for result in view.results]
    return mean_in_unit(view, np.array(values, dtype=np.float64), "" if np.isfinite(values).any() else NO_TRACE_NOTE)


def sum_usd(costs: Iterable[float]) -> float:
    """The same however processes divide what is added up: floats tell more digits than any price has."""
    return round(math.fsum(costs), 12)


def cost_usd(view: View) -> Estimate:
    """What the calls made in this run cost. Calls whose cost is unknown make it undefined, never 0."""
    unpriced = sum(result.usage.unpriced for result in view.results)
    made = sum(result.usage.made for result in view.results)
    known = sum_usd(result.usage.cost_usd for result in view.results)
    if unpriced:
        note = f"the cost of {unpriced} of {made} calls is unknown" + (
            f"; the others cost ${known:.4f}" if known else ""
        )
        return Estimate.undefined(note, len(view))
    return quantity(known, len(view), f"{made} calls made in this run")
