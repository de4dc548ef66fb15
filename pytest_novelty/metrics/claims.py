"""Is what one system made more novel than what another made, by this judge: the difference, its interval and its test.

Pairs: the share of pairs that ours win less the share that base wins, ties half, in [-1, 1]; a pair without a verdict counts as a
tie. Single ideas: the difference of the shares called novel, and of the mean scores; ideas without a verdict are left out.
Intervals are over ideas, or whole clusters of them (STATISTICS.md 2); the judge's noise is inside. Pairs that share no idea are
independent; where they do, both their ideas count (``crossed.py``).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pytest_novelty.metrics.crossed import crossed_mean, shares_ideas
from pytest_novelty.metrics.deferred import settle
from pytest_novelty.metrics.estimating import signed_mean
from pytest_novelty.metrics.intervals import effective_share, wilson
from pytest_novelty.metrics.permutation import swap_test
from pytest_novelty.metrics.resampling import BoolArray, FloatArray, IntArray, Statistic, bca, evaluate, unit_rows
from pytest_novelty.metrics.view import Estimate, View
from pytest_novelty.model import Contrast

WON, NOVEL_SHARE, MEAN_SCORE = "pairs won", "novel share", "mean score"

_SHUFFLES = 4_999


@dataclass(frozen=True)
class Difference:
    """Ours less base under one variant, by one measure. ``p``: exact or seeded permutation test of no difference."""

    measure: str
    estimate: Estimate
    p: float | None = None


def differences(view: View, contrast: Contrast) -> list[Difference]:
    """The differences that a view can tell; none if the contrast does not occur in it."""
    if view.suite.protocol == "pairwise":
        return _pairs_won(view, contrast)
    sides = np.array([_side(contrast.is_ours(instance.ideas[0])) for instance in view.instances])
    labels = np.where(
        view.label_codes == 0, 1.0, np.where(view.label_codes == 1, 0.0, np.where(view.tied, 0.5, np.nan))
    )
    found = [
        _between_groups(view, values, sides, measure)
        for measure, values in ((NOVEL_SHARE, labels), (MEAN_SCORE, view.mean_scores))
    ]
    return [difference for difference in found if difference is not None]


def _side(is_ours: bool | None) -> float:
    return 0.0 if is_ours is None else 1.0 if is_ours else -1.0


def _pairs_won(view: View, contrast: Contrast) -> list[Difference]:
    values = np.full(len(view), np.nan)
    numbers: dict[tuple[str, str], int] = {}  # by what an idea says: ids may mean another idea in another instance
    ideas = np.zeros((len(view), 2), dtype=np.int64)
    undecided = 0
    for row, (instance, code) in enumerate(zip(view.instances, view.label_codes, strict=True)):
        sides = [_side(contrast.is_ours(idea)) for idea in instance.ideas]
        if sorted(sides) == [-1.0, 1.0]:
            values[row] = sides[code] if code in (0, 1) else 0.0
            undecided += code > 2
            for idea, side in zip(instance.ideas, sides, strict=True):
                ideas[row, int(side < 0)] = numbers.setdefault((idea.title, idea.text), len(numbers))
    known = np.isfinite(values)
    if not known.any():
        return []
    note = f"{undecided} without a verdict, counted as ties" if undecided else ""
    clusters = view.clusters_of(known)
    ours, base = ideas[known].T
    if not shares_ideas(ours, base) or _are_inside(clusters, ours, base):
        (estimate,) = settle([signed_mean(view, values, note)])
        return [Difference(WON, estimate, swap_test(values[known], clusters, view.seed))]
    interval, p = crossed_mean(values[known], ours, base, view.level)
    counts = f"{len(np.unique(ours))} ideas of ours and {len(np.unique(base))} of base"
    note = "; ".join(filter(None, [f"over {counts}", note]))
    value, n = float(values[known].mean()), int(known.sum())
    if interval is None:
        return [Difference(WON, Estimate(value, None, None, n, "", note), None)]
    return [Difference(WON, Estimate(value, interval.low, interval.high, n, interval.method, note), p)]


def _are_inside(clusters: IntArray | None, *sides: IntArray) -> bool:
    """Whether all pairs of an idea are in one cluster."""
    if clusters is None:
        return False
    owner: dict[int, int] = {}
    return all(owner.setdefault(int(i), int(c)) == c for side in sides for i, c in zip(side, clusters, strict=True))


def _between_groups(view: View, values: FloatArray, sides: FloatArray, measure: str) -> Difference | None:
    """Means of two groups of ideas; None if nothing of either is known.

    What an idea without a verdict is, nobody knows: the interval holds, and the difference is beyond chance, whatever they are.
    """
    found = _of_groups(view, values, sides, measure)
    missing = (sides != 0) & ~np.isfinite(values)
    if found is None or not missing.any():
        return found
    least, most = _bounds(view, values, measure)
    every = [found]
    for ours, base in ((least, most), (most, least)):
        filled = _of_groups(view, np.where(missing, np.where(sides > 0, ours, base), values), sides, measure)
        assert filled is not None
        every.append(filled)
    lows = [item.estimate.low for item in every if item.estimate.low is not None]
    highs = [item.estimate.high for item in every if item.estimate.high is not None]
    estimate = replace(
        found.estimate,
        low=min(lows) if len(lows) == len(every) else None,
        high=max(highs) if len(highs) == len(every) else None,
        note=f"{found.estimate.note}, and counted as anything in the interval",
        is_open=True,
    )
    ps = [item.p for item in every if item.p is not None]
    signs = {np.sign(item.estimate.value or 0.0) for item in every}
    p = None if len(ps) < len(every) else max(ps) if len(signs) == 1 else 1.0
    return Difference(measure, estimate, p)


def _bounds(view: View, values: FloatArray, measure: str) -> tuple[float, float]:
    """The least and the most that a value can be; of scores without a declared scale the least and the most seen."""
    if measure == NOVEL_SHARE:
        return 0.0, 1.0
    scale = view.traits.score_range
    if scale is None:
        return float(np.nanmin(values)), float(np.nanmax(values))
    return (scale[0], scale[1]) if view.traits.higher_is == "novel" else (-scale[1], -scale[0])


def _of_groups(view: View, values: FloatArray, sides: FloatArray, measure: str) -> Difference | None:
    """The same of those whose value is known."""
    concerned = sides != 0
    known = concerned & np.isfinite(values)
    ours, base = known & (sides > 0), known & (sides < 0)
    if not ours.any() or not base.any():
        return None
    left_out = int(concerned.sum() - known.sum())
    note = f"{int(ours.sum())} of ours, {int(base.sum())} of base"
    note += f"; {left_out} without one left out" if left_out else ""
    clusters = view.clusters_of(known)
    kept, is_ours = values[known], ours[known]
    rows = np.column_stack([kept * is_ours, is_ours, kept * ~is_ours, ~is_ours]).astype(np.float64)
    stat = Statistic(rows, _gap, clusters)
    value = float(evaluate(stat, rows.sum(axis=0)))
    p = _shuffled_p(kept, is_ours, clusters, view.seed)
    if clusters is not None and len(np.unique(clusters)) < 2:
        return Difference(measure, Estimate(value, None, None, len(kept), "", note), p)
    core = bca(stat, view.resampler(len(unit_rows(stat))), view.level)
    low, high, method = (math.inf, -math.inf, "") if core is None else (core.low, core.high, core.method)
    if measure == NOVEL_SHARE:
        hull = _newcombe(kept, is_ours, clusters, view.level)
        if hull is not None:
            low, high, method = min(low, hull[0]), max(high, hull[1]), f"{method}/Newcombe".removeprefix("/")
    if not math.isfinite(low):
        return Difference(measure, Estimate(value, None, None, len(kept), "", note), p)
    return Difference(measure, Estimate(value, min(low, value), max(high, value), len(kept), method, note), p)


def _gap(sums: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(sums[..., 0] / sums[..., 1] - sums[..., 2] / sums[..., 3])


def _newcombe(
    values: FloatArray, is_ours: BoolArray, clusters: IntArray | None, level: float
) -> tuple[float, float] | None:
    """Newcombe (1998), Statistics in Medicine 17, 873-890, method 10: from the two Wilson intervals, with effective sizes."""
    sides = []
    for group in (is_ours, ~is_ours):
        own = None if clusters is None else clusters[group]
        share, size = float(values[group].mean()), effective_share(values[group], own, level)
        interval = None if size is None else wilson(share, size, level)
        if interval is None:
            return None
        sides.append((share, interval.low, interval.high))
    (p, low_p, high_p), (q, low_q, high_q) = sides
    return p - q - math.hypot(p - low_p, high_q - q), p - q + math.hypot(high_p - p, q - low_q)


def _shuffled_p(values: FloatArray, is_ours: BoolArray, clusters: IntArray | None, seed: int) -> float:
    """Two-sided permutation test of the systems' names: among all ideas; within clusters where these hold both systems, else
    of whole clusters. Seeded; its least value is 1 / 5000.
    """
    if clusters is not None and not _mixed(is_ours, clusters).any():
        return _shuffled_clusters(values, is_ours, clusters, seed)
    rng = np.random.default_rng([seed, len(values)])
    group = np.zeros(len(values), dtype=np.int64) if clusters is None else clusters
    order = np.argsort(group, kind="stable")
    named, observed = is_ours[order], _distance(values, is_ours)
    weights = named / named.sum() - ~named / (~named).sum()  # a difference of means as one sum
    hits = 0
    for rows in _batches(len(values)):
        drawn = rng.random((rows, len(values)))
        # Draws lie in [0, 1): with the number of its group added, a value stays inside its group.
        shuffled = values[np.argsort(drawn + group, axis=1)]
        hits += int((np.abs(shuffled @ weights) >= observed - 1e-12).sum())
    return (hits + 1) / (_SHUFFLES + 1)


def _batches(width: int) -> Iterator[int]:
    """How many shuffles to draw at once: at most some 16 MB of numbers."""
    step = max(1, 2**21 // width)
    for start in range(0, _SHUFFLES, step):
        yield min(step, _SHUFFLES - start)


def _mixed(is_ours: BoolArray, clusters: IntArray) -> BoolArray:
    """Which clusters hold ideas of both systems."""
    held = np.bincount(clusters, weights=is_ours)
    return np.asarray((held > 0) & (held < np.bincount(clusters)))


def _shuffled_clusters(values: FloatArray, is_ours: BoolArray, clusters: IntArray, seed: int) -> float:
    names, index = np.unique(clusters, return_inverse=True)
    owner = np.array([bool(is_ours[index == k].any()) for k in range(len(names))])
    rng = np.random.default_rng([seed, len(names)])
    observed = _distance(values, is_ours)
    hits = sum(_distance(values, rng.permutation(owner)[index]) >= observed - 1e-12 for _ in range(_SHUFFLES))
    return (int(hits) + 1) / (_SHUFFLES + 1)


def _distance(values: FloatArray, is_ours: BoolArray) -> float:
    return abs(float(values[is_ours].mean() - values[~is_ours].mean()))


def least_favourable(found: Sequence[tuple[str, Difference]]) -> str:
    """The variant under which ours do worst."""
    known = [(item.estimate.value, name) for name, item in found if item.estimate.value is not None]
    return min(known)[1] if known else ""
