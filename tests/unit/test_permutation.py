"""Swap tests and Holm's adjustment."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pytest_novelty.metrics.permutation import holm, swap_test, swap_test_rows
from pytest_novelty.metrics.resampling import Statistic


def by_enumeration(differences: list[float]) -> float:
    observed = abs(sum(differences))
    flips = [abs(sum(s * d for s, d in zip(signs, differences, strict=True))) for signs in
             product((-1, 1), repeat=len(differences))]  # fmt: skip
    return sum(value >= observed - 1e-9 for value in flips) / len(flips)


@pytest.mark.parametrize(("b", "c"), [(0, 1), (4, 0), (7, 1), (5, 5), (30, 12), (2_000, 1_900)])
def test_of_correctness_it_is_exact_mcnemar(b: int, c: int) -> None:
    differences = [1] * b + [-1] * c + [0] * 50
    assert swap_test(differences) == pytest.approx(stats.binomtest(b, b + c).pvalue, rel=1e-9)


@given(st.lists(st.integers(-4, 4), max_size=10))
@settings(max_examples=60, deadline=None)
def test_it_equals_enumeration(differences: list[int]) -> None:
    assert swap_test(differences) == pytest.approx(by_enumeration([float(d) for d in differences]), abs=1e-12)


def test_averaged_thirds_are_exact_and_tie() -> None:
    differences = [1 / 3, 2 / 3, -1 / 3, 1.0, -2 / 3, 1 / 6] * 4
    assert swap_test(differences) == pytest.approx(swap_test(np.rint(np.array(differences) * 6)), abs=1e-12)


def test_no_difference_is_one() -> None:
    assert swap_test([0, 0, 0]) == 1.0
    assert swap_test([]) == 1.0
    assert swap_test([1e-17, -1e-17]) == 1.0


def test_whole_clusters_are_swapped() -> None:
    differences, clusters = [1] * 12 + [-1] * 2, ["a"] * 6 + ["b"] * 6 + ["c"] * 2
    assert swap_test(differences, clusters) == pytest.approx(by_enumeration([6.0, 6.0, -2.0]))
    assert swap_test(differences) < 0.05


def test_other_numbers_are_sampled_with_a_seed() -> None:
    values = np.random.default_rng(0).normal(0.4, 1, 40)
    p = swap_test(values)
    assert p == swap_test(values) == swap_test(values, seed=0)
    reference = stats.permutation_test((values,), np.mean, permutation_type="samples", n_resamples=20_000, rng=1)
    assert p == pytest.approx(reference.pvalue, abs=0.006)
    assert swap_test(np.abs(values) + 1) == pytest.approx(1 / 20_001)
    few = [0.1234567, 0.7654321, -0.333111, 0.91, 0.57]
    assert swap_test(few) == pytest.approx(by_enumeration(few))


def test_wide_support_is_sampled_not_convolved() -> None:
    values = np.random.default_rng(0).integers(-(10**9), 10**9, 50)
    assert 0 < swap_test(values) <= 1


def accuracy_rows(right: np.ndarray) -> np.ndarray:
    return np.column_stack([right, np.ones(len(right))]).astype(float)


def test_any_metric_can_be_swapped() -> None:
    rng = np.random.default_rng(1)
    first, second = rng.random(60) < 0.8, rng.random(60) < 0.6
    left, right = (Statistic(accuracy_rows(x), lambda s: s[..., 0] / s[..., 1]) for x in (first, second))
    exact = swap_test(first.astype(int) - second)
    assert swap_test_rows(left, right) == pytest.approx(exact, abs=0.02)
    assert swap_test_rows(left, left) == 1.0
    eight = np.arange(60) < 8
    few = Statistic(accuracy_rows(first ^ eight), left.estimate)
    assert swap_test_rows(left, few) == pytest.approx(swap_test(first.astype(int) - (first ^ eight)), abs=1e-12)


def test_an_undefined_metric_is_never_significant() -> None:
    rows = accuracy_rows(np.array([1, 0, 1]))
    undefined = Statistic(rows * 0, lambda s: s[..., 0] / s[..., 1])
    assert swap_test_rows(Statistic(rows, undefined.estimate), undefined) == 1.0


def test_the_swap_test_keeps_its_level() -> None:
    rng = np.random.default_rng(2)
    ps = [swap_test(rng.integers(0, 2, 40) - rng.integers(0, 2, 40)) for _ in range(2_000)]
    assert np.mean(np.array(ps) <= 0.05) <= 0.05


def test_holm() -> None:
    assert holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert holm([None, 0.03, None, 0.5]) == [None, pytest.approx(0.06), None, 0.5]
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_keeps_the_order_and_lies_between_raw_and_bonferroni(ps: list[float]) -> None:
    adjusted = holm(ps)
    for p, q in zip(ps, adjusted, strict=True):
        assert q is not None
        assert p <= q <= min(1.0, len(ps) * p) + 1e-15
    order = np.argsort(ps, kind="stable")
    assert sorted(q for q in adjusted if q is not None) == [adjusted[k] for k in order]
