"""What a comparison that found nothing would have found: the vote shift and the drift of scores seen with 80 % power.

For the vote shift there are two approximations, and the larger of the two is said, so that "an effect above this would have been
seen" holds for both kinds of effect. *Concentrated*: the votes of a share f of the instances (whole clusters, where there are
some) turn round, a shift of sqrt(f); how many turn is binomial, and each raises the null distribution by the variance of a wholly
mixed tally. *Spread*: every vote's probability moves by the shift, for votes as noisy as the judge's are on average; means and
variances of the excess are enumerated, its sum taken as normal. In simulation (tests/unit/test_power.py) the power at the figure
is 65 to 99 %, 81 % on average. A drift is the same for every idea, on top of what scatters; its mean is taken as normal.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np

from pytest_novelty.metrics.distributions import normal_cdf, normal_quantile
from pytest_novelty.metrics.exchange import Null, splits
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.resampling import FloatArray, Statistic, unit_rows
from pytest_novelty.metrics.stability import disagreement, excess

POWER: Final = 0.8


@dataclass(frozen=True)
class Seen:
    """What would have been seen: a vote shift (a probability), a drift of the mean score in the judge's units; None if none."""

    shift: float | None = None
    drift: float | None = None


def what_is_seen(pair: Pair, null: Null | None, alpha: float, *, scores: bool = True) -> Seen:
    """By the tests of :func:`~pytest_novelty.metrics.causes.find_move`, which share ``alpha`` by Holm: votes and scores,
    and of the scores drift and scatter. ``scores``: both sides score on one scale.
    """
    scored = scores and bool(np.isfinite(pair.one.mean_scores - pair.other.mean_scores).any())
    own = alpha / 2 if scored and null is not None else alpha
    return Seen(
        None if null is None else detectable_shift(pair, null, own),
        detectable_drift(pair, own / 2) if scored else None,
    )


def detectable_shift(pair: Pair, null: Null, alpha: float) -> float | None:
    """The vote shift (a probability) that an exchange test at level ``alpha`` sees with 80 % power; None if none is."""
    units = null.n if pair.one.clusters is None else len(np.unique(pair.one.clusters[np.isfinite(pair.excess)]))
    sizes = [side.counts.sum(axis=-1) for side in (pair.one, pair.other)]
    known = (sizes[0] >= 2) & (sizes[1] >= 2)
    if not known.any():
        return None
    votes = [int(np.median(size[known])) for size in sizes]
    noise = np.concatenate([disagreement(side.counts).reshape(-1) for side in (pair.one, pair.other)])
    retest = float(noise[np.isfinite(noise)].mean())
    return shift_seen(null, units, votes[0], votes[1], pair.one.counts.shape[1], retest, alpha)


def detectable_drift(pair: Pair, alpha: float) -> float | None:
    """The drift of the mean score, in the judge's units, that a swap test at level ``alpha`` sees with 80 % power; None if
    none is.
    """
    shift = pair.one.mean_scores - pair.other.mean_scores
    known = np.isfinite(shift)
    if not known.any():
        return None
    centred = shift[known] - shift[known].mean()
    totals = unit_rows(Statistic(centred[:, None], lambda sums: sums[..., 0], pair.one.clusters_of(known)))[:, 0]
    units, n = len(totals), len(centred)
    if 2.0 ** (1 - units) > alpha:  # all of them on one side are no evidence yet
        return None
    error = math.sqrt(float(np.square(totals).sum()) * units / (units - 1)) / n
    at_level, at_power = normal_quantile(1 - alpha / 2), normal_quantile(POWER)
    drift = (at_level + at_power) * error
    for _ in range(50):  # the test's own spread is about 0, so it holds the drift as well
        drift = at_level * math.hypot(error, drift / math.sqrt(units)) + at_power * error
    return drift if math.isfinite(drift) and at_level**2 < units else None


def shift_seen(
    null: Null, units: int, votes: int, others: int, orders: int, retest: float, alpha: float
) -> float | None:
    """The same from plain numbers: ``votes`` and ``others`` a request on either side, ``units`` independent instances, the
    mean chance ``retest`` that two votes of a request differ.
    """
    concentrated = _Concentrated(null, units, votes, others, orders, alpha)
    first = _least(lambda shift: concentrated.power(shift * shift), 1.0)
    certainty = 0.5 + math.sqrt(max(0.0, 0.25 - min(retest, 0.5) / 2))
    second = _least(lambda shift: _spread_power(certainty, shift, units, votes, others, orders, alpha), certainty)
    return None if first is None else max(first, second or 0.0)


def _least(power: Callable[[float], float], largest: float) -> float | None:
    """The smallest shift with enough power, by bisection; None if the largest has not enough."""
    if power(largest) < POWER:
        return None
    low, high = 0.0, largest
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= POWER else (middle, high)
    return high


class _Concentrated:
    """The power for a share of turned units; what does not depend on the share is worked out once."""

    def __init__(self, null: Null, units: int, votes: int, others: int, orders: int, alpha: float) -> None:
        self._turned = np.arange(units + 1)
        self._units = units
        size = self._turned / units
        noise = null.critical(alpha) if null.sd > 0 else 0.0
        mixed = _null_variance(votes, others, votes) / orders
        critical = np.sqrt(max(0.0, noise) ** 2 + normal_quantile(1 - alpha) ** 2 * size * mixed / units)
        if null.sd > 0:
            self._seen = np.array([normal_cdf(x) for x in (size - critical) / null.sd])
        else:
            self._seen = (size >= critical - 1e-12).astype(np.float64)
        extreme = (2 if votes == others else 1) / math.comb(votes + others, votes)
        fewest = math.ceil(math.log(alpha) / (orders * math.log(extreme)) - 1e-9)
        self._seen[: max(1, fewest)] = 0.0  # so few turned instances never reach the level
        self._ways = np.array(
            [math.lgamma(units + 1) - math.lgamma(k + 1) - math.lgamma(units - k + 1) for k in self._turned]
        )

    def power(self, share: float) -> float:
        if share >= 1.0 or share <= 0.0:
            return float(self._seen[-1 if share >= 1.0 else 0])
        logs = self._ways + self._turned * math.log(share) + (self._units - self._turned) * math.log1p(-share)
        return float(np.exp(logs) @ self._seen)


def _spread_power(p: float, shift: float, units: int, votes: int, others: int, orders: int, alpha: float) -> float:
    """Power where every vote has probability ``p`` on one side and ``p - shift`` on the other."""
    law = np.outer(_binomial(votes, p - shift), _binomial(others, p))
    values, null_variances = _excess_table(votes, others)
    mean = float((law * values).sum())
    variance = float((law * np.square(values - mean)).sum()) / (units * orders)
    null_sd = math.sqrt(float((law * null_variances).sum()) / (units * orders))
    distance = mean - normal_quantile(1 - alpha) * null_sd
    return normal_cdf(distance / math.sqrt(variance)) if variance > 0 else float(distance > 0)


@lru_cache(maxsize=64)
def _excess_table(votes: int, others: int) -> tuple[FloatArray, FloatArray]:
    """For a and b votes for one label on the two sides: the excess, and its variance over re-splits of the pooled votes."""
    a, b = np.meshgrid(np.arange(votes + 1), np.arange(others + 1), indexing="ij")
    values = excess(np.stack([a, votes - a], axis=-1), np.stack([b, others - b], axis=-1))
    variances = np.array(
        [[_null_variance(votes, others, i + j) for j in range(others + 1)] for i in range(votes + 1)], dtype=np.float64
    )
    return values, variances


@lru_cache(maxsize=4096)
def _null_variance(votes: int, others: int, ahead: int) -> float:
    """Variance over re-splits of the excess of a request of whose pooled votes ``ahead`` are for one label."""
    pooled = (ahead, votes + others - ahead)
    drawn, chances = splits(pooled, votes)
    values = excess(drawn, np.array(pooled) - drawn)
    return float(chances @ np.square(values - chances @ values))


def _binomial(n: int, p: float) -> FloatArray:
    p = min(1.0, max(0.0, p))
    return np.array([math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)])
