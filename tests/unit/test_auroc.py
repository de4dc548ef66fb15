"""AUROC with ties half, and its interval."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pytest_novelty.metrics.auroc import _left_out, _resampled, auroc, auroc_interval
from pytest_novelty.metrics.intervals import wilson
from pytest_novelty.metrics.resampling import Resampler


def by_pairs(scores: np.ndarray, positive: np.ndarray, weights: np.ndarray | None = None) -> float:
    weights = np.ones(len(scores)) if weights is None else weights
    difference = scores[positive][:, None] - scores[~positive][None]
    both = weights[positive][:, None] * weights[~positive][None]
    return float((((difference > 0) + (difference == 0) / 2) * both).sum() / both.sum())


@given(st.lists(st.tuples(st.integers(0, 4), st.booleans()), max_size=30))
def test_auroc_counts_pairs_and_is_undefined_without_both_classes(data: list[tuple[int, bool]]) -> None:
    scores, positive = np.array([s for s, _ in data]), np.array([p for _, p in data], dtype=bool)
    if positive.all() or not positive.any():
        assert math.isnan(auroc(scores, positive))
        assert auroc_interval(scores, positive) is None
    else:
        assert auroc(scores, positive) == pytest.approx(by_pairs(scores, positive))
        assert auroc(-scores, positive) == pytest.approx(1 - auroc(scores, positive))


def test_auroc_is_mann_whitney() -> None:
    rng = np.random.default_rng(0)
    scores, positive = rng.integers(0, 9, 80), rng.random(80) < 0.4
    u = stats.mannwhitneyu(scores[positive], scores[~positive]).statistic
    assert auroc(scores, positive) == pytest.approx(u / (positive.sum() * (~positive).sum()))


@pytest.mark.parametrize("levels", [3, 10_000])
@pytest.mark.parametrize("clustered", [False, True])
def test_resamples_and_jackknife_equal_the_definition(levels: int, clustered: bool) -> None:
    rng = np.random.default_rng(1)
    scores, positive = rng.integers(0, levels, 40).astype(float), rng.random(40) < 0.5
    index = np.repeat(np.arange(10), 4) if clustered else np.arange(40)
    units = int(index.max()) + 1
    resampler = Resampler(units, 50)
    counts = resampler.sums(np.eye(units))[:, index]
    expected = [by_pairs(scores, positive, row) for row in counts]
    assert _resampled(scores, positive, index, resampler) == pytest.approx(expected)
    left_out = [by_pairs(scores, positive, (index != unit).astype(float)) for unit in range(units)]
    assert _left_out(scores, positive, index, units, not clustered) == pytest.approx(left_out)


@given(st.integers(0, 10_000), st.integers(4, 30), st.integers(1, 6))
@settings(max_examples=30, deadline=None)
def test_the_interval_contains_the_estimate(seed: int, n: int, levels: int) -> None:
    rng = np.random.default_rng(seed)
    scores, positive = rng.integers(0, levels, n), np.arange(n) % 2 == 0
    interval = auroc_interval(scores, positive, resampler=Resampler(n, 300))
    assert interval is not None
    assert 0 <= interval.low <= auroc(scores, positive) <= interval.high <= 1


def test_perfect_separation_is_judged_by_the_smaller_class() -> None:
    positive = np.arange(50) >= 45
    interval, expected = auroc_interval(np.arange(50), positive), wilson(1.0, 5)
    assert interval is not None
    assert expected is not None
    assert interval.high == 1.0
    assert interval.low == pytest.approx(expected.low)


def test_duplicates_in_clusters_add_nothing() -> None:
    rng = np.random.default_rng(3)
    positive = np.arange(60) % 2 == 0
    scores = rng.normal(positive, 1)
    one = auroc_interval(scores, positive)
    many = auroc_interval(np.repeat(scores, 4), np.repeat(positive, 4), np.repeat(np.arange(60), 4))
    naive = auroc_interval(np.repeat(scores, 4), np.repeat(positive, 4))
    assert one is not None
    assert many is not None
    assert naive is not None
    assert many.high - many.low == pytest.approx(one.high - one.low, rel=0.1)
    assert naive.high - naive.low < 0.6 * (many.high - many.low)
    assert auroc_interval(scores, positive, np.zeros(60, dtype=int)) is None


def test_very_many_instances_use_the_jackknife() -> None:
    rng = np.random.default_rng(4)
    positive = rng.random(21_000) < 0.5
    interval = auroc_interval(rng.normal(positive, 1), positive)
    assert interval is not None
    assert interval.method.startswith("normal, jackknife")


def test_coverage_near_one() -> None:
    rng, resampler = np.random.default_rng(5), Resampler(40, 1_000)
    shift = math.sqrt(2) * stats.norm.ppf(0.95)
    hits = 0
    for _ in range(600):
        positive = rng.random(40) < 0.5
        interval = auroc_interval(rng.normal(shift * positive, 1), positive, resampler=resampler)
        hits += interval is not None and interval.low <= 0.95 <= interval.high
    assert hits / 600 >= 0.93
