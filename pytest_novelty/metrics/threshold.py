"""``--novelty-threshold cv``: labels for a judge that only scores, by a threshold chosen on other instances.

Folds are made of whole clusters. The threshold of a fold maximises macro-F1 on the other folds. The choice itself varies from
sample to sample, so intervals are the hull of two: that of the labels as they are, and a percentile bootstrap that chooses the
thresholds anew inside each resample.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Final

import numpy as np

from pytest_novelty.metrics.resampling import BoolArray, FloatArray, IntArray
from pytest_novelty.metrics.view import Estimate

FOLDS: Final = 5
_RESAMPLES: Final = 400
_MAX_CELLS: Final = 4_000_000
"""Resamples x instances, at most: beyond, fewer resamples are drawn (never fewer than 50)."""

Metric = Callable[[BoolArray, BoolArray], float]
"""(said novel, gold novel) -> value."""


def fold_of(clusters: IntArray, seed: int) -> IntArray:
    """(n,) the fold of each instance; a cluster is never divided."""
    names, index = np.unique(clusters, return_inverse=True)
    order = np.random.default_rng([seed, len(names)]).permutation(len(names))
    return np.asarray(order[index] % min(FOLDS, max(2, len(names))), dtype=np.int64)


def best_threshold(scores: FloatArray, gold: BoolArray, weights: FloatArray) -> float:
    """The score from which "novel" maximises macro-F1; the middle of the best gap. Higher scores mean more novel."""
    order = np.argsort(-scores, kind="stable")
    values, w, positive = scores[order], weights[order], gold[order]
    hits, extra = np.cumsum(w * positive), np.cumsum(w * ~positive)
    positives, negatives = hits[-1], extra[-1]
    cut = np.flatnonzero(np.diff(values, append=-np.inf) < 0)  # the last of each run of equal scores
    tp, fp = np.concatenate([[0.0], hits[cut]]), np.concatenate([[0.0], extra[cut]])
    fn, tn = positives - tp, negatives - fp
    with np.errstate(divide="ignore", invalid="ignore"):
        novel = np.nan_to_num(2 * tp / (2 * tp + fp + fn))
        other = np.nan_to_num(2 * tn / (2 * tn + fn + fp))
    best = int(np.argmax(novel + other))
    if best == 0:
        return float(values[0]) + 1.0
    last = cut[best - 1]
    return float(values[last]) if last + 1 == len(values) else float(values[last] + values[last + 1]) / 2


def cross_fitted(scores: FloatArray, gold: BoolArray, folds: IntArray, weights: FloatArray | None = None) -> BoolArray:
    """(n,) said novel, each instance by a threshold chosen on the other folds."""
    w = np.ones(len(scores)) if weights is None else weights
    said = np.zeros(len(scores), dtype=bool)
    for fold in np.unique(folds):
        inside = folds == fold
        if (w[~inside] > 0).any():
            said[inside] = scores[inside] >= best_threshold(scores[~inside], gold[~inside], w[~inside])
    return said


def widen(
    estimate: Estimate,
    metric: Metric,
    scores: FloatArray,
    gold: BoolArray,
    clusters: IntArray,
    seed: int,
    level: float = 0.95,
) -> Estimate:
    """The hull of the estimate's interval and of a bootstrap that chooses thresholds inside each resample."""
    if estimate.low is None or estimate.high is None:
        return estimate
    folds = fold_of(clusters, seed)
    _, index = np.unique(clusters, return_inverse=True)
    units = int(index.max()) + 1
    resamples = int(np.clip(_MAX_CELLS // max(1, len(scores)), 50, _RESAMPLES))
    generator = np.random.default_rng([seed, units, 7])
    values = []
    for _ in range(resamples):
        weights = np.bincount(generator.integers(units, size=units), minlength=units)[index].astype(np.float64)
        said = cross_fitted(scores, gold, folds, weights)
        repeated = np.repeat(np.arange(len(scores)), weights.astype(np.int64))
        values.append(metric(said[repeated], gold[repeated]))
    known = np.array(values)[np.isfinite(values)]
    if not len(known):
        return estimate
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    note = f"{estimate.note}, threshold by cross-validation".removeprefix(", ")
    return replace(
        estimate,
        low=min(estimate.low, float(low)),
        high=max(estimate.high, float(high)),
        method=f"{estimate.method}, thresholds chosen inside {resamples} resamples",
        note=note,
    )


def accuracy(said: BoolArray, gold: BoolArray) -> float:
    return float((said == gold).mean()) if len(gold) else float("nan")


def f1(said: BoolArray, gold: BoolArray) -> float:
    hits, involved = int((said & gold).sum()), int(said.sum() + gold.sum())
    return 2 * hits / involved if involved else float("nan")


def f1_of_other(said: BoolArray, gold: BoolArray) -> float:
    return f1(~said, ~gold)


def macro_f1(said: BoolArray, gold: BoolArray) -> float:
    return (f1(said, gold) + f1_of_other(said, gold)) / 2
