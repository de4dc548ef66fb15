"""What a gate on a share can decide with n instances, and how many would decide it (STATISTICS.md 3)."""

from __future__ import annotations

import math
from typing import Literal

import numpy as np

from pytest_novelty.metrics.distributions import normal_quantile
from pytest_novelty.metrics.intervals import clopper_pearson

Direction = Literal["<=", ">="]


def smallest_deciding_n(threshold: float, direction: Direction = "<=", level: float = 0.95) -> int | None:
    """Instances from which a share gate can pass: with no event (`<=`) or only events (`>=`); None: never."""
    room = threshold if direction == "<=" else 1 - threshold
    if room <= 0:
        return None
    if room >= 1:
        return 1
    # The rounding keeps 1 - .8 from asking for one instance more than .2.
    return max(1, math.ceil(round(math.log((1 - level) / 2) / math.log1p(-room), 9)))


def smallest_deciding_rate(threshold: float, direction: Direction = "<=", level: float = 0.95) -> int | None:
    """The same of a rate or a mean, whose interval is Wilson's there: instances with a part in its denominator (right positives,
    of a rate of these); None: never.
    """
    room = threshold if direction == "<=" else 1 - threshold
    if room <= 0:
        return None
    return max(1, math.ceil(round(two_sided_z(level) ** 2 * (1 - room) / room, 9)))


def can_pass_share(
    direction: Direction, threshold: float, n: int, clusters_count: int | None = None, level: float = 0.95
) -> bool:
    """Whether the interval of the most favourable outcome of n instances passes (equality is inside)."""
    if n < 1 or (clusters_count is not None and clusters_count < 2):
        return False
    n_eff = n if clusters_count is None else min(n, clusters_count)  # where nothing varies, a cluster counts once
    interval = clopper_pearson(0.0 if direction == "<=" else n_eff, n_eff, level)
    if interval is None:
        return False
    return interval.high <= threshold + 1e-12 if direction == "<=" else interval.low >= threshold - 1e-12


def planned_n_share(
    p: float, t: float, power: float = 0.8, design_effect: float = 1.0, level: float = 0.95
) -> int | None:
    """Instances that decide a share of about `p` against `t` with this power; None where p = t."""
    if p == t:
        return None
    spread = two_sided_z(level) * math.sqrt(t * (1 - t)) + normal_quantile(power) * math.sqrt(p * (1 - p))
    return max(1, math.ceil(round(design_effect * (spread / (p - t)) ** 2, 9)))


def planned_n_mean(
    sd: float, theta: float, t: float, power: float = 0.8, design_effect: float = 1.0, level: float = 0.95
) -> int | None:
    """The same for a mean of per-instance values with standard deviation `sd`: 7.85 sd^2 / (theta - t)^2 at 95 %."""
    if theta == t or not np.isfinite(sd):
        return None
    factor = (two_sided_z(level) + normal_quantile(power)) ** 2
    return max(1, math.ceil(round(design_effect * factor * (sd / (theta - t)) ** 2, 9)))


def two_sided_z(level: float) -> float:
    return normal_quantile(0.5 + level / 2)
