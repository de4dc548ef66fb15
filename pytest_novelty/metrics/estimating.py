"""From per-instance values to an :class:`Estimate`, by the rule of the metric's kind (STATISTICS.md 2).

Those that need a bootstrap come back :class:`~pytest_novelty.metrics.deferred.Pending`. All intervals are of the view's level.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pytest_novelty.metrics.deferred import Computed, Pending
from pytest_novelty.metrics.intervals import share_interval, signed_interval, unit_interval, wilson
from pytest_novelty.metrics.resampling import BoolArray, FloatArray, Interval, Statistic, evaluate, unit_rows
from pytest_novelty.metrics.view import Estimate, View

SMALLEST_EXCESS = -0.5
"""The least excess flip of one instance: two votes each, one for each label, on both sides."""


def share(view: View, events: BoolArray, among: BoolArray, note: str = "", *, by_wilson: bool = False) -> Estimate:
    """The share of ``events`` among the instances ``among``; exact (Clopper-Pearson). ``by_wilson``: if they are independent."""
    kept = events[among]
    if not len(kept):
        return Estimate.undefined(note or "no instance to count")
    clusters = view.clusters_of(among)
    if by_wilson and clusters is None:
        interval = wilson(float(kept.mean()), len(kept), view.level)
    else:
        interval = share_interval(kept, clusters, view.level)
    estimate = _estimate(float(kept.mean()), interval, len(kept), note, float(kept.std()))
    return replace(estimate, values=np.where(among, events.astype(np.float64), np.nan))


def mean_in_unit(view: View, values: FloatArray, note: str = "") -> Computed:
    """The mean of values in [0, 1], nan where an instance has none."""
    known = np.isfinite(values)
    if not known.any():
        return Estimate.undefined(note or "no instance to count")
    stat = _mean_statistic(view, values, known)
    n = int(known.sum())

    def finish(core: Interval | None) -> Estimate:
        interval = unit_interval(
            stat, cap=4 * n, resampler=pending.resampler, level=view.level, bootstrap=core, values=values[known]
        )
        estimate = _estimate(float(values[known].mean()), interval, n, note, float(values[known].std()))
        return replace(estimate, values=values)

    pending = _pending(view, stat, finish)
    return pending


def signed_mean(
    view: View,
    values: FloatArray,
    note: str = "",
    *,
    minimum: float = -1.0,
    maximum: float = 1.0,
    clip_at_zero: bool = False,
    few_large: bool = False,
    by_seen: bool = False,
) -> Computed:
    """The mean of signed values in [minimum, maximum], nan where an instance has none."""
    known = np.isfinite(values)
    if not known.any():
        return Estimate.undefined(note or "no instance to count")
    stat = _mean_statistic(view, values, known)

    def finish(core: Interval | None) -> Estimate:
        interval = signed_interval(
            stat,
            values[known],
            minimum=minimum,
            maximum=maximum,
            clip_at_zero=clip_at_zero,
            few_large=few_large,
            by_seen=by_seen,
            resampler=pending.resampler,
            level=view.level,
            bootstrap=core,
        )
        mean, sd = float(values[known].mean()), float(values[known].std())
        return replace(_estimate(mean, interval, int(known.sum()), note, sd), values=values)

    pending = _pending(view, stat, finish)
    return pending


def excess_mean(view: View, values: FloatArray, note: str = "") -> Computed:
    """The mean excess of instances, which is a square in expectation: its interval is clipped at 0, its value is not."""
    return signed_mean(view, values, note, minimum=SMALLEST_EXCESS, clip_at_zero=True, few_large=True)


def ratio_in_unit(
    view: View,
    rows: FloatArray,
    estimate: Callable[[FloatArray], FloatArray],
    among: BoolArray,
    denominators: int,
    note: str = "",
    *,
    is_share: bool = False,
) -> Computed:
    """A metric in [0, 1] of summed counts, such as an F1. ``is_share``: of the instances in its denominator, each of which counts
    once, so that its interval is never narrower than for so many that are independent.
    """
    kept = rows[among]
    if not len(kept):
        return Estimate.undefined(note or "no instance to count")
    stat = Statistic(kept, estimate, view.clusters_of(among))
    value = float(evaluate(stat, kept.sum(axis=0)))
    if not np.isfinite(value):
        return Estimate.undefined(note or "0 of 0", len(kept))

    def finish(core: Interval | None) -> Estimate:
        interval = unit_interval(
            stat,
            denominators=denominators,
            cap=denominators if is_share else 4 * len(kept),
            resampler=pending.resampler,
            level=view.level,
            bootstrap=core,
        )
        return _estimate(value, interval, len(kept), note, None)

    pending = _pending(view, stat, finish)
    return pending


def root(square: Estimate) -> Estimate:
    """The root of an estimate that is a square in expectation: below 0 it is noise, and its root is 0."""
    value, low, high = (None if x is None else math.sqrt(max(0.0, x)) for x in (square.value, square.low, square.high))
    method = f"root of {square.method}" if square.method else ""
    return replace(square, value=value, low=low, high=high, method=method)


def quantity(value: float | None, n: int, note: str = "") -> Estimate:
    """Something counted, not estimated: its interval is itself."""
    return Estimate(value, value, value, n, "exact" if value is not None else "", note)


def _pending(view: View, stat: Statistic, finish: Callable[[Interval | None], Estimate]) -> Pending:
    return Pending(stat, view.resampler(len(unit_rows(stat))), view.level, finish)


def _mean_statistic(view: View, values: FloatArray, known: BoolArray) -> Statistic:
    kept = values[known]
    rows = np.column_stack([kept, np.ones(len(kept))])
    return Statistic(rows, _ratio, view.clusters_of(known))


def _ratio(sums: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[..., 0] / sums[..., 1])


def _estimate(value: float, interval: Interval | None, n: int, note: str, sd: float | None) -> Estimate:
    if interval is None:
        return Estimate(value, None, None, n, "", note or "too few instances for an interval", sd)
    return Estimate(value, interval.low, interval.high, n, interval.method, note, sd)
