"""Ratios of counts, taken per sample, averaged over the samples, and bootstrapped over items (STATISTICS.md 2 and 4).

A sample is one run over all items. A metric of several samples is no majority vote: it is computed in each and averaged, and the
standard deviation between them tells the judge's own noise. What another set of items would give is the interval's
business: items, or whole clusters, are resampled with all their samples.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final, Protocol

import numpy as np

from pytest_novelty.metrics.deferred import Computed, Pending, settle
from pytest_novelty.metrics.intervals import share_interval, signed_interval, unit_interval
from pytest_novelty.metrics.resampling import (
    TOLERANCE,
    BoolArray,
    FloatArray,
    IntArray,
    Interval,
    Resampler,
    Statistic,
    evaluate,
    unit_rows,
)
from pytest_novelty.metrics.view import Estimate

SHARE: Final = "share"
RATE: Final = "rate"
F1: Final = "f1"
MEAN: Final = "mean"
"""Kinds of metrics, by their interval: a share of items (exact where an item counts once), a rate (its effective size is at most
the items in its denominator), an F1 of summed counts, a mean of values that items have (at most four times the items)."""


class Units(Protocol):
    """What is resampled. A :class:`~pytest_novelty.metrics.view.View` is one; its items are sorted by id."""

    level: float

    def __len__(self) -> int: ...

    def clusters_of(self, mask: BoolArray) -> IntArray | None: ...

    def resampler(self, units: int) -> Resampler: ...


@dataclass
class Items:
    """Plain items: how many, and the cluster of each, (n,), if whole clusters are resampled."""

    n: int
    clusters: IntArray | None = None
    level: float = 0.95
    seed: int = 0
    resamples: int = 10_000
    resamplers: dict[int, Resampler] = field(default_factory=dict, repr=False)

    def __len__(self) -> int:
        return self.n

    def clusters_of(self, mask: BoolArray) -> IntArray | None:
        return None if self.clusters is None else self.clusters[mask]

    def resampler(self, units: int) -> Resampler:
        if units not in self.resamplers:
            self.resamplers[units] = Resampler(units, self.resamples, self.seed)
        return self.resamplers[units]


class Among:
    """Some of the items; ``mask``: (n,) which."""

    def __init__(self, units: Units, mask: BoolArray) -> None:
        self.level, self._units, self._mask = units.level, units, mask

    def __len__(self) -> int:
        return int(self._mask.sum())

    def clusters_of(self, mask: BoolArray) -> IntArray | None:
        kept = self._mask.copy()
        kept[self._mask] = mask
        return self._units.clusters_of(kept)

    def resampler(self, units: int) -> Resampler:
        return self._units.resampler(units)


@dataclass(frozen=True, eq=False)
class Counted:
    """Numerators and denominators of a ratio, (items, samples) each; 0 over 0 where an item has no part in it.

    ``over``: a ratio whose average the average of this one is divided by.
    """

    events: FloatArray
    of: FloatArray
    over: Counted | None = None


@dataclass(frozen=True, eq=False)
class Sampled:
    """What a metric is made of. ``lower`` and ``upper``: what it would be if everything unchecked turned out the one way or the
    other; left out where that is the value itself."""

    value: Counted
    kind: str = RATE
    lower: Counted | None = None
    upper: Counted | None = None
    note: str = ""
    minimum: float = 0.0  # the least value of an item's, where kind is "mean"; below 0 the metric is a signed one


@dataclass(frozen=True)
class Rate:
    """A metric over samples.

    ``estimate``: the mean over the samples in which it is defined; its interval reaches from the low end of the lower bound's to
    the high end of the upper bound's. ``lower``, ``upper``: the bounds over what was not checked, equal to the value where all
    was. ``per_sample``: None where 0 of 0. ``sd``: the standard deviation (n - 1) over samples; None with fewer than two.
    ``events``, ``of``: numerators and denominators of each sample.
    """

    estimate: Estimate
    lower: float | None
    upper: float | None
    per_sample: tuple[float | None, ...]
    sd: float | None
    events: tuple[float, ...]
    of: tuple[float, ...]

    @property
    def value(self) -> float | None:
        return self.estimate.value


def measure(units: Units, metrics: Mapping[str, Sampled]) -> dict[str, Rate]:
    """Every metric with its interval, all bootstraps taken together."""
    jobs: list[Computed] = []
    for metric in metrics.values():
        jobs.extend(_compute(units, part, metric) for part in _parts(metric))
    settled = iter(settle(jobs))
    return {name: _rate(metric, [next(settled) for _ in _parts(metric)]) for name, metric in metrics.items()}


def _parts(metric: Sampled) -> list[Counted]:
    return [part for part in (metric.value, metric.lower, metric.upper) if part is not None]


def _compute(units: Units, part: Counted, metric: Sampled) -> Computed:
    items = len(part.of)
    if items != len(units):
        raise ValueError(f"expected counts of {len(units)} items, got an array of shape {part.of.shape}")
    involved = np.asarray((part.of > 0).any(axis=1))
    n = int(involved.sum())
    plain = part.of.max(initial=0) <= 1
    if metric.kind == SHARE and plain and part.of.shape[1] == 1:
        return _share(units, part, metric.note)
    is_mean = metric.kind in (SHARE, MEAN) and plain
    among = involved if is_mean else np.ones(items, dtype=bool)
    rows, shape = _rows(part)
    stat = Statistic(rows[among], lambda sums: _average(sums, shape), units.clusters_of(among))
    value = float(evaluate(stat, stat.rows.sum(axis=0))) if n else math.nan
    if not math.isfinite(value):
        return Estimate.undefined("; ".join(filter(None, (metric.note, "0 of 0"))))
    resampler = units.resampler(len(unit_rows(stat)))
    holding = units.clusters_of(involved)
    # Where nothing varies a cluster counts once, and only if it has a part in the denominator.
    least = n if holding is None or 0 < value < 1 else min(n, len(np.unique(holding)))

    values = part.events[among].sum(axis=1) / part.of[among].sum(axis=1) if is_mean else None

    def finish(core: Interval | None) -> Estimate:
        if metric.minimum < 0 and values is not None:
            interval = signed_interval(
                stat, values, minimum=metric.minimum, resampler=resampler, level=units.level, bootstrap=core
            )
        else:
            interval = unit_interval(
                stat,
                denominators=least,
                cap=4 * len(stat.rows) if is_mean or metric.kind in (F1, MEAN) else None,
                resampler=resampler,
                level=units.level,
                bootstrap=core,
                values=values,
            )
        return _estimate(value, interval, n, metric.note)

    return Pending(stat, resampler, units.level, finish)


def _share(units: Units, part: Counted, note: str) -> Estimate:
    """Of items that count once, in one sample: exact (Clopper-Pearson)."""
    counted = part.of[:, 0] > 0
    events = part.events[counted, 0] > 0
    if not len(events):
        return Estimate.undefined(note or "0 of 0")
    interval = share_interval(events, units.clusters_of(counted), units.level)
    return _estimate(float(events.mean()), interval, len(events), note)


def _estimate(value: float, interval: Interval | None, n: int, note: str) -> Estimate:
    if interval is None:
        return Estimate(value, None, None, n, "", note or "too few instances for an interval")
    return Estimate(value, interval.low, interval.high, n, interval.method, note)


def average(part: Counted) -> float | None:
    """The ratio of each sample, averaged over the samples that have one, without an interval; None where none has."""
    known = [value for value in _per_sample(part) if value is not None]
    return sum(known) / len(known) if known else None


def pair_rows(one: Counted, other: Counted) -> tuple[FloatArray, FloatArray, Callable[[FloatArray], FloatArray]]:
    """Rows of two ratios of the same items, as wide as each other, and the average over samples of summed rows of either: what a
    difference of the two is made of. A sample that one of them lacks is 0 over 0 there, and left out.
    """
    samples = max(one.of.shape[1], other.of.shape[1])
    (left, shape), (right, _) = (_rows(_padded(part, samples)) for part in (one, other))
    return left, right, lambda sums: _average(sums, shape)


def _padded(part: Counted, samples: int) -> Counted:
    more = ((0, 0), (0, samples - part.of.shape[1]))
    over = None if part.over is None else _padded(part.over, samples)
    return Counted(np.pad(part.events, more), np.pad(part.of, more), over)


def _rows(part: Counted) -> tuple[FloatArray, tuple[int, int]]:
    """Rows of (samples x numerator and denominator), and their shape; with ``over``, those of the other behind."""
    ratios = [part.events, part.of] + ([] if part.over is None else [part.over.events, part.over.of])
    cells = np.stack(ratios, axis=-1)
    items, samples, columns = cells.shape
    return cells.reshape(items, samples * columns), (samples, columns)


def _average(sums: FloatArray, shape: tuple[int, int]) -> FloatArray:
    """The ratio of each sample, averaged over samples; nan where it is defined in none."""
    cells = sums.reshape(*sums.shape[:-1], *shape)
    found = _mean_of_known(cells[..., 0] / cells[..., 1])
    if shape[-1] == 2:
        return found
    return np.asarray(found / _mean_of_known(cells[..., 2] / cells[..., 3]))


def _mean_of_known(values: FloatArray) -> FloatArray:
    """Over the last axis, without nan; nan where there is nothing else."""
    known = np.isfinite(values)
    return np.asarray(np.where(known, values, 0.0).sum(axis=-1) / known.sum(axis=-1))


def _rate(metric: Sampled, settled: Sequence[Estimate]) -> Rate:
    own, others = settled[0], iter(settled[1:])
    lower = own if metric.lower is None else next(others)
    upper = own if metric.upper is None else next(others)
    per_sample = _per_sample(metric.value)
    known = [value for value in per_sample if value is not None]
    notes = [own.note] if own.note else []
    if known and len(known) < len(per_sample):
        notes.append(f"0 of 0 in {len(per_sample) - len(known)} of {len(per_sample)} samples, left out")
    if lower.value is not None and upper.value is not None and upper.value - lower.value > 1e-12:
        notes.append(f"between {lower.value:.3f} and {upper.value:.3f} over what was not checked")
        own = own if own.value is None else replace(own, bounds=(lower.value, upper.value))
    estimate = replace(own, note="; ".join(notes))
    if own.value is not None:
        estimate = replace(estimate, low=lower.low, high=upper.high)
    return Rate(
        estimate,
        lower.value,
        upper.value,
        tuple(per_sample),
        _spread(known) if len(known) > 1 else None,
        tuple(metric.value.events.sum(axis=0).tolist()),
        tuple(metric.value.of.sum(axis=0).tolist()),
    )


def _spread(values: Sequence[float]) -> float:
    """Standard deviation (n - 1); of equal values 0, not what their mean's last digit leaves."""
    return 0.0 if max(values) - min(values) <= TOLERANCE else float(np.std(values, ddof=1))


def _per_sample(part: Counted) -> list[float | None]:
    """The value of each sample; None where 0 of 0."""
    rows, shape = _rows(part)
    cells = rows.sum(axis=0).reshape(shape)
    with np.errstate(divide="ignore", invalid="ignore"):
        found = cells[:, 0] / cells[:, 1]
        if part.over is not None:
            found = found / (cells[:, 2] / cells[:, 3])
    return [float(value) if math.isfinite(value) else None for value in found]
