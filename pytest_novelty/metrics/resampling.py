"""The bootstrap: resampling of instances or whole clusters, and BCa intervals (STATISTICS.md 2).

Resampled are instances, never votes. A statistic is a function of column sums, so one matrix of counts
serves every judge, variant and metric of a suite: the same random numbers, drawn once from a seed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from pytest_novelty.metrics.distributions import normal_cdf, normal_quantile

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
BoolArray = npt.NDArray[np.bool_]
CountArray = npt.NDArray[np.uint8]

TOLERANCE = 1e-9  # averaged thirds make equal totals differ by 1e-17
_BLOCK_CELLS = 2**18  # counts drawn at once: 2 MB as whole numbers, so that they stay in the second-level cache
_VISIT_CELLS = (
    2**21
)  # kept counts visited at once: with few, the threads of a matrix product mostly wait for each other
_CACHE_BYTES = 2**26  # a count is one byte: 100,000 resamples of 308 instances are 31 MB
MAX_UNITS = 20_000  # beyond, and with many distinct rows, the normal interval is as good and costs nothing
_MAX_DISTINCT = 256
_SUM_CELLS = 2**24  # sums held at once by bca_all: 128 MB


@dataclass(frozen=True, slots=True)
class Interval:
    """A two-sided interval and the short name of the method that made it."""

    low: float
    high: float
    method: str


@dataclass(frozen=True, slots=True)
class Statistic:
    """A metric as a function of summed sufficient statistics.

    A denominator is a column too (ones for a mean): a jackknife leaves instances out of it as well.
    """

    rows: FloatArray  # (instances, q), one row an instance
    estimate: Callable[[FloatArray], FloatArray]  # (..., q) sums -> (...,) values; nan where undefined
    clusters: IntArray | None = None  # (instances,) cluster index; None: every instance its own unit


class Resampler:
    """Draws with replacement of `n_units` units; equal arguments give equal draws, in any order of use.

    Counts are kept (a byte each) where they fit 64 MB; else rows of few distinct values are drawn as
    multinomials, and others block by block, anew at every call.
    """

    def __init__(self, n_units: int, resamples: int = 10_000, seed: int = 0) -> None:
        if n_units < 1 or resamples < 1:
            raise ValueError(f"a resampler needs at least one unit and one resample, not {n_units} and {resamples}")
        self.n_units, self.resamples, self.seed = n_units, resamples, seed
        self._block = max(1, _BLOCK_CELLS // n_units)
        self._cached = n_units * resamples <= _CACHE_BYTES
        self._counts: CountArray | None = None

    def sums(self, rows: FloatArray) -> FloatArray:
        """Column sums of every resample: (n_units, q) -> (resamples, q), each column contiguous."""
        rows = np.asarray(rows, dtype=np.float64)
        if rows.ndim != 2 or len(rows) != self.n_units:
            raise ValueError(f"expected {self.n_units} rows of a matrix, got an array of shape {rows.shape}")
        if not self._cached and (few := _few_distinct(rows)) is not None:
            return self._multinomial_sums(*few)
        # float32 is three times as fast, and exact as long as every sum is a small integer (or one over a common scale).
        whole, scales = _as_whole(rows, 2**24 / self.n_units)
        small = np.ascontiguousarray(whole.T, dtype=np.float32)
        is_whole = scales > 0
        large = np.ascontiguousarray(rows[:, ~is_whole].T)
        out = np.empty((rows.shape[1], self.resamples))

        def add(start: int, counts: CountArray) -> None:
            stop = start + len(counts)
            if len(small):
                sums = small @ counts.astype(np.float32).T
                out[is_whole, start:stop] = sums / scales[is_whole, None] if (scales > 1).any() else sums
            if len(large):
                out[~is_whole, start:stop] = large @ counts.astype(np.float64).T

        self.for_each_block(add)
        return out.T

    def for_each_block(self, visit: Callable[[int, CountArray], None]) -> None:
        """Call `visit(first_resample, counts)` with blocks of counts, (at most m, n_units).

        Kept counts are drawn by two threads and visited by one (a matrix product has its own threads);
        others are visited where they are drawn, by two threads, so that two blocks are in memory at once.
        """
        if not self._cached:
            self._draw_all(visit)
            return
        if self._counts is None:
            kept = np.empty((self.resamples, self.n_units), dtype=np.uint8)

            def keep(start: int, counts: CountArray) -> None:
                kept[start : start + len(counts)] = counts

            self._draw_all(keep)
            self._counts = kept
        step = max(1, _VISIT_CELLS // self.n_units)
        for start in range(0, self.resamples, step):
            visit(start, self._counts[start : start + step])

    def _draw_all(self, visit: Callable[[int, CountArray], None]) -> None:
        """Draw every block, each from its own seed, so that the draws do not depend on the threads."""
        starts = range(0, self.resamples, self._block)
        workers = 2 if len(starts) >= 8 else 1
        dtype = np.uint16 if self.n_units <= 2**16 else np.uint32

        def work(first: int) -> None:
            offsets = np.arange(0, self._block * self.n_units, self.n_units)[:, None]
            cells = np.empty((self._block, self.n_units), dtype=np.int64)  # scratch: page faults cost more than draws
            for start in starts[first::workers]:
                size = min(self._block, self.resamples - start)
                rng = self._generator(start // self._block)
                drawn = rng.integers(0, self.n_units, size=(size, self.n_units), dtype=dtype)
                np.add(drawn, offsets[:size], out=cells[:size])
                counts = np.bincount(cells[:size].ravel(), minlength=size * self.n_units)
                # One unit 256 times among n draws with mean 1: a chance below 1e-500.
                visit(start, counts.astype(np.uint8).reshape(size, self.n_units))

        if workers == 1:
            work(0)
        else:
            with ThreadPoolExecutor(workers) as pool:
                list(pool.map(work, range(workers)))

    def _multinomial_sums(self, distinct: FloatArray, counts: IntArray) -> FloatArray:
        out = np.empty((distinct.shape[1], self.resamples))
        step = max(1, 2**21 // len(counts))
        for block, start in enumerate(range(0, self.resamples, step)):
            size = min(step, self.resamples - start)
            draws = self._generator(block).multinomial(self.n_units, counts / self.n_units, size=size)
            out[:, start : start + size] = (draws @ distinct).T
        return out.T

    def _generator(self, block: int) -> np.random.Generator:
        return np.random.Generator(np.random.SFC64(np.random.SeedSequence(self.seed, spawn_key=(block,))))


_SCALES = (1, 2, 3, 4, 5, 6, 8, 9, 10, 12, 18, 20, 24, 36, 40, 60, 72, 120, 180, 360)
"""Means of up to six votes, of both orders, are multiples of one over one of these."""


def _as_whole(rows: FloatArray, limit: float) -> tuple[FloatArray, FloatArray]:
    """The columns that a scale makes whole numbers below ``limit``, so scaled, and every column's scale (0: none)."""
    scales = np.zeros(rows.shape[1])
    scaled = rows.copy()
    for scale in _SCALES:
        left = np.flatnonzero(scales == 0)
        if not len(left):
            break
        tried = rows[:, left] * scale
        nearest = np.rint(tried)
        fits = (np.abs(tried - nearest) <= 1e-9).all(axis=0) & (np.abs(nearest).max(axis=0, initial=0.0) < limit)
        scales[left[fits]] = scale
        scaled[:, left[fits]] = nearest[:, fits]
    return scaled[:, scales > 0], scales


def _few_distinct(rows: FloatArray) -> tuple[FloatArray, IntArray] | None:
    """The distinct rows and how often each occurs, where drawing multinomials over them is cheaper."""
    distinct, counts = np.unique(rows, axis=0, return_counts=True)
    if len(distinct) > min(_MAX_DISTINCT, len(rows) // 16):
        return None
    return distinct, counts.astype(np.int64)


def cluster_index(clusters: npt.ArrayLike) -> tuple[IntArray, int]:
    """Any cluster labels as indices 0..C-1 in the labels' sorted order, and C."""
    labels, index = np.unique(np.asarray(clusters), return_inverse=True)
    return index.astype(np.int64), len(labels)


def unit_rows(stat: Statistic) -> FloatArray:
    """The rows of the resampled units, (units, q): the instances, or sums over each cluster."""
    rows = np.asarray(stat.rows, dtype=np.float64)
    if stat.clusters is None:
        return rows
    index, count = cluster_index(stat.clusters)
    summed = np.zeros((count, rows.shape[1]))
    np.add.at(summed, index, rows)
    return summed


def evaluate(stat: Statistic, sums: FloatArray) -> FloatArray:
    """The statistic of sums, nan where undefined, without a warning about 0/0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(stat.estimate(sums), dtype=np.float64)


def jackknife_se(values: FloatArray) -> float:
    """Standard error from leave-one-unit-out values; undefined ones are left out."""
    values = values[np.isfinite(values)]
    n = len(values)
    return float(np.sqrt((n - 1) / n * np.square(values - values.mean()).sum())) if n > 1 else 0.0


def bca(stat: Statistic, resampler: Resampler, level: float = 0.95) -> Interval | None:
    """Bias-corrected accelerated bootstrap (Efron 1987), ties counted half; None where undefined.

    Undefined resamples are dropped and their number is told in `method`; a statistic that does not vary
    gives its own value twice. Beyond 20,000 units of many distinct rows: the normal interval.
    """
    return bca_all([stat], resampler, level)[0]


def bca_all(
    stats: Sequence[Statistic], resampler: Resampler, level: float | Sequence[float] = 0.95
) -> list[Interval | None]:
    """`bca` of many statistics of the same units, in order; sums of many are taken by one matrix product.

    Statistics that share one `rows` array (the F1s of one confusion table) share its sums. `level`: one for all, or
    one each.
    """
    levels = [level] * len(stats) if isinstance(level, float) else list(level)
    result: list[Interval | None] = []
    block: list[tuple[Statistic, float]] = []
    columns = 0
    for stat, own in zip(stats, levels, strict=True):
        width = stat.rows.shape[1]
        if block and columns + width > max(8, _SUM_CELLS // resampler.resamples):
            result += _bca_block(block, resampler)
            block, columns = [], 0
        columns += 0 if any(stat.rows is known.rows for known, _ in block) else width
        block.append((stat, own))
    return result + _bca_block(block, resampler)


def _bca_block(stats: list[tuple[Statistic, float]], resampler: Resampler) -> list[Interval | None]:
    tables: dict[tuple[int, int], tuple[FloatArray, list[int]]] = {}  # of one rows array and its clusters
    columns: dict[bytes, int] = {}  # each distinct one is summed once: every mean has its column of ones
    distinct: list[FloatArray] = []
    for stat, _ in stats:
        if len(stat.rows) and (id(stat.rows), id(stat.clusters)) not in tables:
            rows = unit_rows(stat)
            places = []
            for column in rows.T:
                place = columns.setdefault(column.tobytes(), len(distinct))
                if place == len(distinct):
                    distinct.append(column)
                places.append(place)
            tables[id(stat.rows), id(stat.clusters)] = rows, places
    if not tables:
        return [None] * len(stats)
    matrix = np.column_stack(distinct)
    costly = len(matrix) > MAX_UNITS and _few_distinct(matrix) is None
    sums = None if costly else resampler.sums(matrix)
    result: list[Interval | None] = []
    for stat, level in stats:
        rows, own = tables.get((id(stat.rows), id(stat.clusters)), (np.empty((0, 0)), []))
        total = rows.sum(axis=0)
        estimate = float(evaluate(stat, total)) if len(rows) else float("nan")
        if not np.isfinite(estimate):
            result.append(None)
        elif sums is None:
            result.append(normal_interval(estimate, evaluate(stat, total - rows), level))
        else:
            values = evaluate(stat, sums.T[own].T)
            result.append(bca_interval(estimate, values, evaluate(stat, total - rows), level))
    return result


def normal_interval(estimate: float, left_out: FloatArray, level: float = 0.95) -> Interval:
    """Estimate +- z standard errors of the jackknife."""
    half = normal_quantile(0.5 + level / 2) * jackknife_se(left_out)
    return Interval(estimate - half, estimate + half, f"normal, jackknife over {len(left_out)} units")


def bca_interval(estimate: float, values: FloatArray, left_out: FloatArray, level: float = 0.95) -> Interval | None:
    """BCa from resampled and leave-one-out values; Efron and Tibshirani 1993, equations 14.9-14.15."""
    drawn = len(values)
    if not np.isfinite(values.sum()):
        values = values[np.isfinite(values)]
    if not len(values):
        return None
    note = f", {drawn - len(values)} of {drawn} resamples undefined" if len(values) < drawn else ""
    if max(values.max() - estimate, estimate - values.min()) <= TOLERANCE:
        return Interval(estimate, estimate, "BCa (no variation)" + note)
    below = np.count_nonzero(values < estimate - TOLERANCE)
    equal = np.count_nonzero(values <= estimate + TOLERANCE) - below
    rank = (below + equal / 2) / len(values)
    edge = 0.5 / len(values)
    bias = normal_quantile(min(max(rank, edge), 1 - edge))
    acceleration = _acceleration(left_out)
    z = normal_quantile(0.5 + level / 2)
    low, high = _quantiles(values, [_adjusted(bias, acceleration, side) for side in (-z, z)])
    return Interval(low, high, "BCa" + note)


def _acceleration(left_out: FloatArray) -> float:
    left_out = left_out[np.isfinite(left_out)]
    if not len(left_out):
        return 0.0
    deviation = left_out.mean() - left_out
    spread = float(np.square(deviation).sum())
    if spread <= TOLERANCE**2:
        return 0.0
    return float((deviation**3).sum() / (6 * spread**1.5))


def _adjusted(bias: float, acceleration: float, z: float) -> float:
    shifted = bias + z
    scale = 1 - acceleration * shifted
    if scale <= 0:  # the transformation has its pole here: the end of the distribution
        return 1.0 if shifted > 0 else 0.0
    return normal_cdf(bias + shifted / scale)


def _quantiles(values: FloatArray, probabilities: list[float]) -> list[float]:
    """Linear interpolation as numpy.quantile does, by selection: several times faster."""
    last = len(values) - 1
    positions = [min(max(p, 0.0), 1.0) * last for p in probabilities]
    lower = [int(position) for position in positions]
    part = np.partition(values, sorted({*lower, *(min(k + 1, last) for k in lower)}))
    return [
        float(part[k] + (position - k) * (part[min(k + 1, last)] - part[k]))
        for position, k in zip(positions, lower, strict=True)
    ]
