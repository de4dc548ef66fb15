"""The mean over pairs that share ideas: an idea that wins once tends to win again, on either side of its pairs.

Two-way clustering (Cameron, Gelbach & Miller 2011, Journal of Business & Economic Statistics 29, 238-249): the variance by the
ideas of one side, plus that by the ideas of the other, less that of independent pairs, and never less than any of the three. The
interval is the wider of the t interval and Wilson's with the effective number of pairs that follows from this variance; both with
the t quantile of the smaller side. Simulated (STATISTICS.md 2): taking 576 pairs of 24 x 24 ideas for independent, a test at 5 %
finds a difference where there is none in over half of all runs.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np

from pytest_novelty.metrics.distributions import beta_cdf, t_quantile
from pytest_novelty.metrics.intervals import few_cluster_factor, wilson
from pytest_novelty.metrics.resampling import FloatArray, IntArray, Interval

_NOTHING = 1e-15


def shares_ideas(first: IntArray, second: IntArray) -> bool:
    """Whether any idea is in more than one of the pairs; ``first``, ``second``: (pairs,) numbers of their ideas."""
    return any(len(np.unique(side)) < len(side) for side in (first, second))


def crossed_mean(
    values: FloatArray, first: IntArray, second: IntArray, level: float = 0.95
) -> tuple[Interval | None, float | None]:
    """The interval of a mean of values in [-1, 1] over ideas of both sides, and the two-sided p of a mean of 0.

    ``values``: (pairs,); ``first`` and ``second``: (pairs,) numbers of the ideas of either side. (None, None) where one side has
    a single idea, which says nothing of others.
    """
    sides = [np.unique(side, return_inverse=True)[1] for side in (first, second)]
    counts = [int(side.max()) + 1 for side in sides]
    if min(counts) < 2:
        return None, None
    interval, p = _of_mean(values, sides, counts, level)
    for turned in _one_lost(values, sides):
        other, other_p = _of_mean(turned, sides, counts, level)
        p = min(p, other_p)
        low, high = (other.low, interval.high) if values[0] > 0 else (interval.low, other.high)
        interval = Interval(max(interval.low, low), min(interval.high, high), interval.method)
    return interval, p


def _one_lost(values: FloatArray, sides: Sequence[IntArray]) -> Iterator[FloatArray]:
    """Where one side wins every pair: the same with one of them lost.

    Nothing varies then, and so nothing tells how much a pair counts; but to win all of them is no weaker evidence than to win all
    but any one. The pair whose ideas are in the most others adds the least variance.
    """
    if len(values) < 2 or abs(float(values.sum())) < len(values):
        return
    held = sum(np.bincount(side)[side] for side in sides)
    turned = values.copy()
    turned[int(np.argmax(held))] *= -1.0
    yield turned


def _of_mean(
    values: FloatArray, sides: Sequence[IntArray], counts: Sequence[int], level: float
) -> tuple[Interval, float]:
    n, mean, fewest = len(values), float(values.mean()), min(counts)
    residuals = values - mean
    ways = [
        count / (count - 1) * float(np.square(np.bincount(side, residuals, count)).sum()) / n**2
        for side, count in zip(sides, counts, strict=True)
    ]
    single = n / (n - 1) * float(np.square(residuals).sum()) / n**2
    variance = max(sum(ways) - single, *ways, single)
    share = (1 + mean) / 2
    # Where every pair has the same winner nothing varies: as many pairs are then counted as could be had without sharing an idea.
    n_eff = fewest if variance <= _NOTHING else min(float(n), share * (1 - share) / (variance / 4))
    score = wilson(share, n_eff * few_cluster_factor(fewest, level), level)
    assert score is not None
    half = t_quantile(fewest - 1, 0.5 + level / 2) * math.sqrt(max(0.0, variance))
    low, high = min(2 * score.low - 1, mean - half), max(2 * score.high - 1, mean + half)
    interval = Interval(max(-1.0, low), min(1.0, high), "t/Wilson over ideas")
    return interval, _two_sided(abs(mean) * math.sqrt(n_eff), fewest - 1)


def _two_sided(t: float, freedom: int) -> float:
    """P(|T| >= t) of Student's t."""
    return beta_cdf(freedom / 2, 0.5, freedom / (freedom + t * t))
