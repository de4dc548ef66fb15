"""Exact tests of paired differences: the sides swapped within instances or clusters (STATISTICS.md 2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from pytest_novelty.metrics.resampling import FloatArray, IntArray, Statistic, evaluate, unit_rows

_TOLERANCE = 1e-12
_MAX_STEPS = 2 * 10**8  # additions of the exact distribution: about 0.2 s
_FLIPS = 20_000
_MAX_SCALE = 120  # averages over up to 5 votes (and 6, 8, 10, 12) become integers


def swap_test(differences: npt.ArrayLike, clusters: npt.ArrayLike | None = None, seed: int = 0) -> float:
    """Two-sided p of "the sides are exchangeable" for per-instance differences, shape (instances,).

    Exact by convolution where the differences are multiples of 1, 1/2 ... or 1/120 (0/1 correctness: exact
    McNemar), else all sign flips up to 14 units, else 20,000 seeded ones with the +1 correction. With
    `clusters` whole clusters are swapped. No difference at all: 1.0.
    """
    values = np.asarray(differences, dtype=np.float64).reshape(-1)
    labels = None if clusters is None else np.asarray(clusters)
    units = unit_rows(Statistic(values[:, None], lambda sums: sums[..., 0], labels))[:, 0]
    units = units[np.abs(units) > _TOLERANCE]
    if not len(units):
        return 1.0
    whole = _as_integers(units)
    if whole is not None:
        sizes = np.abs(whole)
        sizes //= np.gcd.reduce(sizes)
        if len(sizes) * int(sizes.sum()) <= _MAX_STEPS:
            distribution = _half_distribution(sizes)
            total = len(distribution) - 1
            observed = abs(int((np.sign(whole) * sizes).sum()))
            extreme = np.abs(2 * np.arange(total + 1) - total) >= observed
            return min(1.0, float(distribution[extreme].sum()))
    return _sampled_p(units[:, None], lambda flipped: np.abs(flipped[:, 0]), abs(float(units.sum())), seed)


def swap_test_rows(
    first: Statistic,
    second: Statistic,
    estimate: Callable[[FloatArray], FloatArray] | None = None,
    seed: int = 0,
) -> float:
    """Two-sided swap test of a difference of any two equal metrics (macro-F1 ...) of the same instances.

    Every assignment is enumerated up to 14 changed units, else 20,000 are drawn. An assignment with an
    undefined difference counts as extreme, so that p is never too small.
    """
    function = first.estimate if estimate is None else estimate
    left, right = unit_rows(first), unit_rows(second)
    change = right - left
    moved = np.abs(change).max(axis=1, initial=0.0) > _TOLERANCE
    if not moved.any():
        return 1.0
    middle, half = (left + right).sum(axis=0) / 2, change[moved] / 2
    stat = Statistic(left, function)

    def size(shift: FloatArray) -> FloatArray:
        return np.abs(np.nan_to_num(evaluate(stat, middle + shift) - evaluate(stat, middle - shift), nan=np.inf))

    observed = float(size(half.sum(axis=0)[None])[0])
    return 1.0 if np.isinf(observed) else _sampled_p(half, size, observed, seed)


def _sampled_p(units: FloatArray, size: Callable[[FloatArray], FloatArray], observed: float, seed: int) -> float:
    """Share of sign flips of (units, q) rows that are as extreme; of all 2^units where those are fewer."""
    count = len(units)
    exact = 2**count <= _FLIPS
    flips = 2**count if exact else _FLIPS
    rng = np.random.default_rng(seed)
    step = max(1, 2**21 // count)
    hits = 0
    for start in range(0, flips, step):
        rows = min(step, flips - start)
        if exact:
            bits = (np.arange(start, start + rows)[:, None] >> np.arange(count)) & 1
        else:
            bits = rng.integers(0, 2, size=(rows, count), dtype=np.int8)
        hits += int((size((2.0 * bits - 1.0) @ units) >= observed - _TOLERANCE).sum())
    return hits / flips if exact else (hits + 1) / (flips + 1)


def _as_integers(values: FloatArray) -> IntArray | None:
    if float(np.abs(values).max()) > 1e12:
        return None
    for scale in range(1, _MAX_SCALE + 1):
        scaled = values * scale
        whole = np.rint(scaled)
        if np.abs(scaled - whole).max() <= 1e-9:
            return whole.astype(np.int64)
    return None


def _half_distribution(sizes: IntArray) -> FloatArray:
    """Distribution of the sum of size x fair coin, on 0..sum(sizes): one binomial for each distinct size."""
    distribution = np.ones(1)
    for size, count in zip(*np.unique(sizes, return_counts=True), strict=True):
        k = np.arange(count + 1)
        log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, count + 1)))])
        coin = np.exp(log_factorial[count] - log_factorial[k] - log_factorial[count - k] - count * np.log(2))
        wider = np.zeros(len(distribution) + int(size) * int(count))
        if len(distribution) == 1:
            wider[:: int(size)] = coin
        else:
            for heads in np.flatnonzero(coin > 1e-300):
                start = int(heads) * int(size)
                wider[start : start + len(distribution)] += coin[heads] * distribution
        distribution = wider
    return np.asarray(distribution / distribution.sum())


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's adjusted p values in the given order; None (not tested) stays None and does not count."""
    tested = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    running = 0.0
    for rank, (p, place) in enumerate(tested):
        running = max(running, min(1.0, (len(tested) - rank) * p))
        adjusted[place] = running
    return adjusted
