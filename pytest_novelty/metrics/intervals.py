"""Confidence intervals, one rule per kind of metric (STATISTICS.md 2).

Every function returns None where the estimate is undefined (no instances, a nan), and where whole clusters
are resampled but there is only one. Callers sort instances by id before they call.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from pytest_novelty.metrics.distributions import beta_quantile, normal_quantile, t_quantile
from pytest_novelty.metrics.resampling import (
    TOLERANCE,
    BoolArray,
    FloatArray,
    IntArray,
    Interval,
    Resampler,
    Statistic,
    bca,
    bca_all,
    cluster_index,
    evaluate,
    jackknife_se,
    unit_rows,
)

__all__ = [
    "Interval",
    "Resampler",
    "Statistic",
    "bca",
    "bca_all",
    "clopper_pearson",
    "few_cluster_factor",
    "paired_share_interval",
    "share_interval",
    "signed_interval",
    "tango",
    "unit_interval",
    "wider_side",
    "wilson",
]

_FEW_LARGE = 5  # instances or clusters above half of the maximum below which few are said to stand out
_FEW_CLUSTERS = 40  # below which some that nobody saw may be of another kind than all that were seen
_FEW = 10  # instances off the modal value, or in all, below which a bootstrap of a signed metric is not trusted


def _z(level: float) -> float:
    return normal_quantile(0.5 + level / 2)


def clopper_pearson(events: float, n: float, level: float = 0.95) -> Interval | None:
    """Clopper and Pearson (1934) interval of a share; events and n may be effective, non-integer sizes."""
    if not n > 0:
        return None
    tail = (1 - level) / 2
    low = beta_quantile(events, n - events + 1, tail) if events > 0 else 0.0
    high = beta_quantile(events + 1, n - events, 1 - tail) if n - events > TOLERANCE else 1.0
    return Interval(low, high, "Clopper-Pearson")


def wilson(theta: float, n_eff: float, level: float = 0.95) -> Interval | None:
    """Wilson (1927) score interval of a value in [0, 1] estimated from n_eff (effective) observations."""
    if not (n_eff > 0 and 0 <= theta <= 1):
        return None
    square = _z(level) ** 2 / n_eff
    centre = theta + square / 2
    half = math.sqrt(square * theta * (1 - theta) + square * square / 4)
    low, high = (centre - half) / (1 + square), (centre + half) / (1 + square)
    return Interval(max(0.0, min(low, theta)), min(1.0, max(high, theta)), "Wilson")


def tango(b: float, c: float, n: float, level: float = 0.95) -> Interval | None:
    """Tango (1998) score interval of the paired difference (b - c) / n; b only first right, c only second.

    Statistics in Medicine 17, 891-908: the differences not rejected by the score test, by bisection.
    """
    if not n > 0:
        return None
    estimate, z = (b - c) / n, _z(level)
    low = _crossing(lambda d: _tango_score(b, c, n, d) >= z, -1.0, estimate)
    high = _crossing(lambda d: _tango_score(b, c, n, d) > -z, estimate, 1.0)
    return Interval(low, high, "Tango")


def _tango_score(b: float, c: float, n: float, difference: float) -> float:
    """Score statistic of a true `difference`, with the constrained estimate of the second share."""
    linear = (2 * n - b + c) * difference - b - c
    root = math.sqrt(max(0.0, linear * linear + 8 * n * c * difference * (1 - difference)))
    second = (root - linear) / (4 * n)
    variance = n * (2 * second + difference * (1 - difference))
    excess = b - c - n * difference
    if variance <= 1e-12 * n:  # only at -1, 1 and, without any change, 0
        return math.copysign(math.inf, excess) if abs(excess) > TOLERANCE else 0.0
    return excess / math.sqrt(variance)


def _crossing(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Where a condition that holds at the low end stops to hold, to the precision of a float."""
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if holds(middle) else (low, middle)
    return (low + high) / 2


def few_cluster_factor(clusters: int, level: float) -> float:
    """(z / t)^2 with C - 1 degrees of freedom: what few clusters cost in effective size."""
    return (_z(level) / t_quantile(clusters - 1, 0.5 + level / 2)) ** 2


def effective_share(values: FloatArray, clusters: npt.ArrayLike | None, level: float) -> float | None:
    """Effective n of a mean of per-instance values, its variance from clusters; None with one cluster.

    Where all values are equal a cluster counts once: no event in C clusters has a chance of at most (1 - rate)^C, however alike
    the instances of a cluster are. (Counting every instance, 20 clusters of 5 with equal outcomes inside and a rate of
    .05 are covered in 64 %, and a gate at .05 passes falsely in 36 %; with this, 99.6 %.)
    """
    n = len(values)
    if clusters is None:
        return float(n)
    index, count = cluster_index(clusters)
    if count < 2:
        return None
    residual = np.bincount(index, weights=values - values.mean(), minlength=count)
    between = count / (count - 1) * float(np.square(residual).sum()) / n**2
    simple = float(values.var()) / n
    if simple <= TOLERANCE**2:  # nothing varies: equal outcomes inside clusters cannot be told from independent ones
        return float(count)
    ratio = simple / between if between > TOLERANCE**2 else 1.0
    return n * min(1.0, ratio) * few_cluster_factor(count, level)


def share_interval(events: BoolArray, clusters: npt.ArrayLike | None = None, level: float = 0.95) -> Interval | None:
    """Clopper-Pearson interval of the share of true `events`, (instances,); clusters: of the effective n, widened where few
    stand out (8 clusters of 20, a rate of .05, correlation .3: covered in 90 % without, in 98 % with it).
    """
    values = np.asarray(events, dtype=np.float64)
    if not len(values):
        return None
    n_eff = effective_share(values, clusters, level)
    found = None if n_eff is None else clopper_pearson(float(values.mean()) * n_eff, n_eff, level)
    return found if found is None or clusters is None else _with_few_clusters(found, values, clusters, level)


def paired_share_interval(
    first: BoolArray, second: BoolArray, clusters: npt.ArrayLike | None = None, level: float = 0.95
) -> Interval | None:
    """Tango's interval of share(first) - share(second); clusters: counts over the design effect."""
    ahead, behind = np.asarray(first, dtype=bool), np.asarray(second, dtype=bool)
    n = len(ahead)
    if not n:
        return None
    n_eff = effective_share(ahead.astype(np.float64) - behind, clusters, level)
    if n_eff is None:
        return None
    b, c = int((ahead & ~behind).sum()), int((behind & ~ahead).sum())
    return tango(b * n_eff / n, c * n_eff / n, n_eff, level)


def unit_interval(
    stat: Statistic,
    *,
    denominators: int | None = None,
    cap: float | None = None,
    resampler: Resampler | None = None,
    level: float = 0.95,
    bootstrap: Interval | None = None,
    values: FloatArray | None = None,
) -> Interval | None:
    """The wider side of BCa and Wilson for a metric in [0, 1] that is no share of instances.

    `denominators`: instances with a non-empty denominator (default: all); `cap`: the largest effective n
    (default `denominators`; F1s and means pass 4 n); `bootstrap`: the result of `bca_all`, when at hand.
    `values`: what the metric is the mean of, (instances,), if it is a mean: with few clusters that stand out the
    interval is widened by an exact bound on their share (40 clusters of 5, a rate of .02, correlation .3: covered
    in 86 % without, in 98 % with it).
    """
    rows = unit_rows(stat)
    denominators = len(stat.rows) if denominators is None else denominators
    if not len(rows) or denominators < 1:
        return None
    theta = float(evaluate(stat, rows.sum(axis=0)))
    if not math.isfinite(theta) or (stat.clusters is not None and len(rows) < 2):
        return None
    left_out = evaluate(stat, rows.sum(axis=0) - rows)
    core = bootstrap or bca(stat, resampler or Resampler(len(rows)), level)
    clusters = None if stat.clusters is None else len(rows)
    found = wider_side(core, theta, left_out, float(denominators), cap, clusters, level)
    if found is None or values is None or stat.clusters is None:
        return found
    return _with_few_clusters(found, values, stat.clusters, level)


def _with_few_clusters(found: Interval, values: FloatArray, clusters: npt.ArrayLike, level: float) -> Interval:
    """The interval of a mean in [0, 1], widened for clusters that stand out, or might."""
    means = _means_of(values, cluster_index(clusters)[0])
    low, high = 1 - _standing_out(1 - means, 1.0, 0.5, level), _standing_out(means, 1.0, 0.5, level)
    if low >= found.low and high <= found.high:
        return found
    return Interval(max(0.0, min(found.low, low)), min(1.0, max(found.high, high)), f"{found.method}, widened")


def _means_of(values: FloatArray, index: IntArray) -> FloatArray:
    return np.asarray(np.bincount(index, weights=values) / np.bincount(index))


def _standing_out(means: FloatArray, maximum: float, unseen: float, level: float) -> float:
    """The upper end that units above half of the maximum call for, while they are fewer than five (else -inf): the mean of the
    others, and so much of the way from there to the mean of the large ones (`unseen` if there is none) as the exact upper
    bound on the share of large ones.
    """
    large = means > maximum / 2
    upper = clopper_pearson(float(large.sum()), len(means), level)
    if large.sum() >= _FEW_LARGE or upper is None or large.all():
        return -math.inf
    others, size = float(means[~large].mean()), float(means[large].mean()) if large.any() else unseen
    return others + upper.high * (size - others)


def wider_side(
    core: Interval | None,
    theta: float,
    left_out: FloatArray,
    denominators: float,
    cap: float | None,
    clusters: int | None,
    level: float,
) -> Interval | None:
    """Both sides' wider bound of `core` and of Wilson with n_eff from the jackknife (STATISTICS.md 2)."""
    theta = min(1.0, max(0.0, theta))
    se = jackknife_se(left_out)
    n_eff = denominators if clusters is None else min(denominators, clusters)
    if se > TOLERANCE and TOLERANCE < theta < 1 - TOLERANCE:
        n_eff = min(denominators if cap is None else cap, theta * (1 - theta) / se**2)
    if clusters is not None:
        n_eff *= few_cluster_factor(clusters, level)
    score = wilson(theta, n_eff, level)
    if score is None or core is None:
        return score
    return Interval(max(0.0, min(core.low, score.low)), min(1.0, max(core.high, score.high)), f"{core.method}/Wilson")


def signed_interval(
    stat: Statistic,
    values: FloatArray,
    *,
    minimum: float = -1.0,
    maximum: float = 1.0,
    clip_at_zero: bool = False,
    few_large: bool = False,
    by_seen: bool = False,
    resampler: Resampler | None = None,
    level: float = 0.95,
    bootstrap: Interval | None = None,
) -> Interval | None:
    """BCa for a signed metric; widened where fewer than 10 instances are off the modal value. Over clusters, and over fewer than
    10 instances, at least as wide as Student's t; over fewer than 40 clusters, and over as few instances, widened for units of
    another kind that are too rare to be among these. (From 40 clusters on their means count as instances do: 66 clusters of
    three noisy instances would be twice as wide, and a share of .03 that follows the position is covered in 95 % without.)

    `values`: the metric of each instance, (instances,), nan where undefined; `minimum` and `maximum`: the
    bounds of one. `clip_at_zero` clips the interval of an excess, never the estimate. `few_large` widens it upwards where
    fewer than 5 instances are above half of the maximum, however noisy the others: few turned ones are
    more than a bootstrap of them can bear (n = 40 of Beta(.3, .3) votes, 3 % turned: BCa covers 84 % and a gate
    there passes falsely in 13 %; with this, 97 and 0). `by_seen`: unseen units are no farther off than the farthest instance
    that was seen: a scale of scores may be far wider than what they are moved by. Over instances, too, the interval is then at
    least as wide as Student's t (where 5 % of 40 ideas are turned upside down BCa covers 92.4 %).
    """
    rows = unit_rows(stat)
    theta = float(evaluate(stat, rows.sum(axis=0))) if len(rows) else math.nan
    if not math.isfinite(theta) or (stat.clusters is not None and len(rows) < 2):
        return None
    core = bootstrap or bca(stat, resampler or Resampler(len(rows)), level)
    if core is None:
        return None
    low, high, method = min(core.low, theta), max(core.high, theta), core.method
    values = np.asarray(values, dtype=np.float64)
    known = np.isfinite(values)
    units, clustered = values[known], stat.clusters is not None
    is_few = len(rows) < (_FEW_CLUSTERS if clustered else _FEW)
    if clustered or is_few or by_seen:
        index = np.arange(len(values)) if stat.clusters is None else cluster_index(stat.clusters)[0]
        units = _means_of(values[known], index[known])
        half = _half_width(stat, rows, level)
        low, high = min(low, max(minimum, theta - half)), max(high, min(maximum, theta + half))
        method = f"{core.method}/t over {len(rows)} units"
    if is_few:
        reach = float(np.abs(values[known]).max()) if by_seen else math.inf
        least, most = _with_unseen(units, max(minimum, -reach), min(maximum, reach), level)
        low, high = min(low, max(minimum, least)), max(high, min(maximum, most))
    else:
        for mode in _modes(units):
            least, most = _off_mode(units, mode, minimum, maximum, level, inward=clip_at_zero)
            low, high, method = min(low, least), max(high, most), f"{method}, widened"
        if few_large and (bound := _few_large(units, maximum, level)) > high:
            high, method = bound, f"{method}, widened"
    if clip_at_zero:
        low, high = max(0.0, low), max(0.0, high)
    return Interval(low, high, method)


def _half_width(stat: Statistic, rows: FloatArray, level: float) -> float:
    """By Student's t with one degree of freedom less than there are units; 0 for a single one."""
    if len(rows) < 2:
        return 0.0
    return t_quantile(len(rows) - 1, 0.5 + level / 2) * jackknife_se(evaluate(stat, rows.sum(axis=0) - rows))


def _with_unseen(means: FloatArray, minimum: float, maximum: float, level: float) -> tuple[float, float]:
    """Ends that few units call for, from their means: what units at the far end would make of it that are too rare to be among
    these.

    Counting as off a modal value every cluster with a single instance off it, as for instances, makes 8 clusters of 20 noisy
    instances reach over the whole range; t alone covers 15 % where one cluster in fifty is turned.
    """
    return -_standing_out(-means, -minimum, -minimum, level), _standing_out(means, maximum, maximum, level)


def _few_large(values: FloatArray, maximum: float, level: float) -> float:
    """Mean of the others + (upper bound of the share of large ones) x (maximum - that mean); -inf where they are not few."""
    large = values > maximum / 2
    upper = clopper_pearson(float(large.sum()), len(values), level)
    if large.sum() >= _FEW_LARGE or upper is None or large.all():
        return -math.inf
    others = float(values[~large].mean())
    return others + upper.high * (maximum - others)


def _modes(values: FloatArray) -> list[float]:
    """Every modal value that fewer than 10 instances are off."""
    distinct, counts = np.unique(np.round(values, 9), return_counts=True)
    most = int(counts.max(initial=0))
    return [float(mode) for mode in distinct[counts == most]] if len(values) - most < _FEW else []


def _off_mode(
    values: FloatArray, mode: float, minimum: float, maximum: float, level: float, *, inward: bool
) -> tuple[float, float]:
    """Ends that few instances off a mode call for: exact bounds on the shares above and below it, taken as far off as can be.

    `inward`: those on one side also pull the other end inwards, by the least share of them that there can be, no farther off than
    the nearest. Without it, an excess of a judge without noise that turns 8 of 20 verdicts would reach down to 0.
    """
    above, below = values[values > mode + TOLERANCE], values[values < mode - TOLERANCE]
    up, down = (clopper_pearson(len(side), len(values), level) for side in (above, below))
    assert up is not None
    assert down is not None
    rise = up.low * (float(above.min()) - mode) if inward and len(above) else 0.0
    fall = down.low * (mode - float(below.max())) if inward and len(below) else 0.0
    return mode + rise - down.high * (mode - minimum), mode + up.high * (maximum - mode) - fall
