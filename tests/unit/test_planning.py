"""What a share gate can decide, and the n that would."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_novelty.metrics.intervals import clopper_pearson
from pytest_novelty.metrics.planning import (
    can_pass_share,
    planned_n_mean,
    planned_n_share,
    smallest_deciding_n,
)


@pytest.mark.parametrize(("threshold", "n"), [(0.10, 36), (0.05, 72), (0.02, 183), (0.2, 17)])
def test_the_smallest_n_as_specified(threshold: float, n: int) -> None:
    assert smallest_deciding_n(threshold) == n
    assert smallest_deciding_n(1 - threshold, ">=") == n


def test_impossible_and_trivial_thresholds() -> None:
    assert smallest_deciding_n(0.0) is None
    assert smallest_deciding_n(1.0, ">=") is None
    assert smallest_deciding_n(1.0) == 1
    assert not can_pass_share("<=", 0.0, 10_000)
    assert can_pass_share("<=", 1.0, 1)
    assert not can_pass_share("<=", 0.5, 0)


@given(st.floats(0.01, 0.9))
def test_can_pass_agrees_with_the_smallest_n(threshold: float) -> None:
    n = smallest_deciding_n(threshold)
    assert n is not None
    assert can_pass_share("<=", threshold, n)
    assert n == 1 or not can_pass_share("<=", threshold, n - 1)
    assert can_pass_share(">=", 1 - threshold, n)


def test_clusters_cost_size() -> None:
    assert can_pass_share("<=", 0.10, 36)
    assert not can_pass_share("<=", 0.10, 36, clusters_count=12)
    assert not can_pass_share("<=", 0.10, 500, clusters_count=12)
    assert can_pass_share("<=", 0.10, 80, clusters_count=40)
    assert can_pass_share("<=", 0.10, 80, clusters_count=36)  # as many as instances: an equal cluster counts once
    assert not can_pass_share("<=", 0.10, 80, clusters_count=35)
    assert not can_pass_share("<=", 0.5, 1_000, clusters_count=1)


def test_at_48_a_flip_rate_of_ten_percent_passes_only_without_a_flip() -> None:
    none, one = clopper_pearson(0, 48), clopper_pearson(1, 48)
    assert none is not None
    assert one is not None
    assert none.high <= 0.10 < one.high


def test_planned_sizes() -> None:
    expected = (1.959964 * (0.1 * 0.9) ** 0.5 + 0.841621 * (0.05 * 0.95) ** 0.5) ** 2 / 0.05**2
    assert planned_n_share(0.05, 0.10) == -(-expected // 1)
    assert planned_n_share(0.10, 0.10) is None
    assert planned_n_share(0.05, 0.10, design_effect=2.0) == pytest.approx(2 * expected, abs=1)
    assert planned_n_mean(0.4, 0.05, 0.15) == pytest.approx(7.849 * 16, abs=1)
    assert planned_n_mean(0.4, 0.1, 0.1) is None
    assert planned_n_mean(float("nan"), 0.2, 0.1) is None


def test_a_bound_on_the_threshold_passes() -> None:
    none, every = clopper_pearson(0, 36), clopper_pearson(17, 17)
    assert none is not None
    assert every is not None
    assert can_pass_share("<=", none.high, 36)
    assert can_pass_share(">=", every.low, 17)
    assert not can_pass_share("<=", none.high - 1e-6, 36)
