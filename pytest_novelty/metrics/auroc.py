"""Area under the ROC curve, ties counted half, and its interval (STATISTICS.md 1 and 2)."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from pytest_novelty.metrics.intervals import wider_side
from pytest_novelty.metrics.resampling import (
    MAX_UNITS,
    BoolArray,
    CountArray,
    FloatArray,
    IntArray,
    Interval,
    Resampler,
    bca_interval,
    cluster_index,
    normal_interval,
)


def auroc(scores: npt.ArrayLike, positive: BoolArray) -> float:
    """Chance that a positive instance outscores a negative one, ties half; nan without one of either."""
    values, labels = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool)
    pairs = float(labels.sum()) * float((~labels).sum())
    return float(_placements(values, labels)[labels].sum()) / pairs if pairs else math.nan


def swap_values(one: FloatArray, other: FloatArray, positive: BoolArray) -> IntArray:
    """(instances,) whole numbers whose sum, with a minus sign for every instance whose two scores are swapped, is the
    difference of the two areas, times 4 x positives x negatives: it is linear in the signs, so that a sign-flip test is exact.
    """
    found = np.zeros(len(one), dtype=np.int64)
    for own, sign in ((positive, 1), (~positive, -1)):
        wins = {
            (a, b): _doubled_wins(sign * mine[own], sign * theirs[~own])
            for a, mine in enumerate((one, other))
            for b, theirs in enumerate((one, other))
        }
        found[own] = wins[0, 0] - wins[1, 1] + wins[0, 1] - wins[1, 0]
    return found


def _doubled_wins(mine: FloatArray, theirs: FloatArray) -> IntArray:
    """For each of ``mine`` twice the number of ``theirs`` below it, ties once."""
    ordered = np.sort(theirs)
    return np.asarray(np.searchsorted(ordered, mine, "left") + np.searchsorted(ordered, mine, "right"), dtype=np.int64)


def auroc_interval(
    scores: npt.ArrayLike,
    positive: BoolArray,
    clusters: npt.ArrayLike | None = None,
    *,
    cap: float | None = None,
    resampler: Resampler | None = None,
    level: float = 0.95,
) -> Interval | None:
    """The wider side of BCa and of Wilson with n_eff from the jackknife, at most `cap` (default: instances).

    Where the classes are wholly separated n_eff is the size of the smaller class, not n: two positives
    above 300 negatives say little about a third. `scores` and `positive`: (instances,).
    """
    values, labels = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool)
    theta = auroc(values, labels)
    if not math.isfinite(theta):
        return None
    index, units = (np.arange(len(values)), len(values)) if clusters is None else cluster_index(clusters)
    if clusters is not None and units < 2:
        return None
    left_out = _left_out(values, labels, index, units, clusters is None)
    if units > MAX_UNITS:
        core: Interval | None = normal_interval(theta, left_out, level)
    else:
        resampler = resampler or Resampler(units)
        core = bca_interval(theta, _resampled(values, labels, index, resampler), left_out, level)
    smaller = float(min(labels.sum(), (~labels).sum()))
    return wider_side(
        core,
        theta,
        left_out,
        smaller,
        float(len(values)) if cap is None else cap,
        units if clusters is not None else None,
        level,
    )


def _placements(values: FloatArray, labels: BoolArray) -> FloatArray:
    """For each instance the members of the other class it is on the right side of, ties half."""
    result = np.empty(len(values))
    for own, sign in ((labels, 1.0), (~labels, -1.0)):
        other = np.sort(sign * values[~own])
        mine = sign * values[own]
        result[own] = (np.searchsorted(other, mine, "left") + np.searchsorted(other, mine, "right")) / 2
    return result


def _left_out(values: FloatArray, labels: BoolArray, index: IntArray, units: int, single: bool) -> FloatArray:
    """AUROC without each unit: the sum over pairs less the unit's pairs, those inside it counted once."""
    placements = _placements(values, labels)
    lost = np.bincount(index, weights=placements, minlength=units)
    if not single:
        order = np.argsort(index, kind="stable")
        for unit, members in enumerate(np.split(order, np.cumsum(np.bincount(index, minlength=units))[:-1])):
            mine = labels[members]
            if mine.any() and not mine.all():
                lost[unit] -= _placements(values[members], mine)[mine].sum()
    positives = labels.sum() - np.bincount(index, weights=labels, minlength=units)
    negatives = (~labels).sum() - np.bincount(index, weights=~labels, minlength=units)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray((placements[labels].sum() - lost) / (positives * negatives), dtype=np.float64)


def _resampled(values: FloatArray, labels: BoolArray, index: IntArray, resampler: Resampler) -> FloatArray:
    """AUROC of every resample, O(n) each: running weights of the sorted negatives, read at each positive."""
    negatives = np.flatnonzero(~labels)
    negatives = negatives[np.argsort(values[negatives], kind="stable")]
    positives = np.flatnonzero(labels)
    positives = positives[np.argsort(values[positives], kind="stable")]  # reads in order are reads in cache
    below = np.searchsorted(values[negatives], values[positives], "left")
    up_to = np.searchsorted(values[negatives], values[positives], "right")
    negative_units, positive_units = index[negatives], index[positives]
    tied = bool((below != up_to).any())
    result = np.empty(resampler.resamples)

    def visit(start: int, counts: CountArray) -> None:
        running = np.zeros((len(counts), len(negatives) + 1), dtype=np.float32)
        np.cumsum(counts[:, negative_units], axis=1, dtype=np.float32, out=running[:, 1:])  # exact below 2^24
        weights = counts[:, positive_units].astype(np.float32)
        wins = np.einsum("ij,ij->i", weights, running[:, below], dtype=np.float64)
        if tied:
            wins = (wins + np.einsum("ij,ij->i", weights, running[:, up_to], dtype=np.float64)) / 2
        with np.errstate(divide="ignore", invalid="ignore"):
            pairs = weights.sum(axis=1, dtype=np.float64) * running[:, -1]
            result[start : start + len(counts)] = wins / pairs

    resampler.for_each_block(visit)
    return result
