"""Normal, beta and t quantiles of single numbers.

scipy.special has them, but importing it takes 0.25 s of processor time, more than everything else that a small run does; a
test compares these with scipy's over the whole range that the intervals use.
"""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist
from typing import Final

_NORMAL: Final = NormalDist()
_TINY: Final = 1e-300
_MAX_TERMS: Final = 100_000


def normal_cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2.0))


def normal_quantile(p: float) -> float:
    """z with P(Z <= z) = p; infinite at 0 and 1."""
    if 0.0 < p < 1.0:
        return _NORMAL.inv_cdf(p)
    return math.inf if p >= 1.0 else -math.inf


def beta_cdf(a: float, b: float, x: float) -> float:
    """Regularized incomplete beta function I_x(a, b), for a, b > 0."""
    if x <= 0.0:
        return 0.0
    if x >= 1.0:
        return 1.0
    if x > (a + 1.0) / (a + b + 2.0):  # the fraction converges fast below the mean
        return 1.0 - beta_cdf(b, a, 1.0 - x)
    log_front = a * math.log(x) + b * math.log1p(-x) - _log_beta(a, b)
    return math.exp(log_front) * _fraction(a, b, x) / a


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _fraction(a: float, b: float, x: float) -> float:
    """The continued fraction of the incomplete beta function (DLMF 8.17.22), by Lentz's method."""
    c, d = 1.0, 1.0 - (a + b) * x / (a + 1.0)
    d = 1.0 / (d if abs(d) > _TINY else _TINY)
    value = d
    for m in range(1, _MAX_TERMS):
        even = m * (b - m) * x / ((a + 2 * m - 1.0) * (a + 2 * m))
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1.0))
        for term in (even, odd):
            d = 1.0 + term * d
            c = 1.0 + term / c
            d = 1.0 / (d if abs(d) > _TINY else _TINY)
            c = c if abs(c) > _TINY else _TINY
            value *= c * d
        if abs(c * d - 1.0) < 1e-16:
            break
    return value


@lru_cache(maxsize=4096)  # the strata of a cascade ask for the same counts again and again
def beta_quantile(a: float, b: float, p: float) -> float:
    """x with I_x(a, b) = p: Newton's steps, kept inside a bracket that halves where a step would leave it."""
    if p <= 0.0:
        return 0.0
    if p >= 1.0:
        return 1.0
    low, high = 0.0, 1.0
    x = a / (a + b)
    log_beta = _log_beta(a, b)
    for _ in range(200):
        error = beta_cdf(a, b, x) - p
        low, high = (x, high) if error < 0.0 else (low, x)
        log_density = (a - 1.0) * math.log(x) + (b - 1.0) * math.log1p(-x) - log_beta
        step = error / math.exp(log_density) if log_density > -600.0 else math.inf
        following = x - step
        if not low < following < high:
            following = (low + high) / 2.0
        if abs(following - x) <= 1e-15 * x:
            return following
        x = following
    return x


@lru_cache(maxsize=1024)
def t_quantile(degrees: float, p: float) -> float:
    """t with P(T <= t) = p for Student's distribution; p above one half."""
    x = beta_quantile(degrees / 2.0, 0.5, 2.0 * (1.0 - p))
    return math.sqrt(degrees * (1.0 - x) / x) if x > 0.0 else math.inf
