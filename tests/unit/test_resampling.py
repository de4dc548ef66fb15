"""The resampler and BCa: distribution, determinism, agreement with scipy, degenerate data."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pytest_novelty.metrics import resampling
from pytest_novelty.metrics.resampling import (
    Interval,
    Resampler,
    Statistic,
    bca,
    bca_all,
    bca_interval,
    cluster_index,
    normal_interval,
)


def total(values: np.ndarray, clusters: np.ndarray | None = None) -> Statistic:
    count = len(values)
    return Statistic(np.asarray(values, dtype=float)[:, None], lambda sums: sums[..., 0] / count, clusters)


def bounds(interval: Interval | None) -> tuple[float, float]:
    assert interval is not None
    return interval.low, interval.high


def test_every_resample_has_n_units_and_every_unit_the_same_chance() -> None:
    resampler = Resampler(7, 20_000, seed=3)
    counts = resampler.sums(np.eye(7))
    assert counts.shape == (20_000, 7)
    assert (counts.sum(axis=1) == 7).all()
    assert counts.mean(axis=0) == pytest.approx(np.ones(7), abs=0.03)
    assert counts.var(axis=0) == pytest.approx(np.full(7, 6 / 7), abs=0.04)
    assert np.corrcoef(counts[:, 0], counts[:, 1])[0, 1] == pytest.approx(-1 / 6, abs=0.03)


def test_equal_seeds_give_equal_draws_in_any_order_of_use() -> None:
    rows = np.random.default_rng(0).random((50, 2))
    first, second = Resampler(50, 3_000, seed=1), Resampler(50, 3_000, seed=1)
    second.sums(rows[:, :1])
    assert (first.sums(rows) == second.sums(rows)).all()
    assert first.sums(rows)[:, 1] == pytest.approx(first.sums(rows[:, 1:])[:, 0], abs=1e-12)
    assert (first.sums(rows) != Resampler(50, 3_000, seed=0).sums(rows)).any()


def test_draws_do_not_depend_on_whether_counts_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = np.random.default_rng(0).random((400, 2))
    kept = Resampler(400, 8_000).sums(rows)
    monkeypatch.setattr(resampling, "_CACHE_BYTES", 0)
    assert Resampler(400, 8_000).sums(rows) == pytest.approx(kept, abs=1e-9)


def test_few_distinct_rows_are_drawn_as_multinomials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resampling, "_CACHE_BYTES", 0)
    rows = np.tile([[1.0, 0.0], [0.0, 2.0], [0.0, 0.0], [0.0, 0.0]], (250, 1))
    sums = Resampler(1_000, 4_000).sums(rows)
    assert sums.mean(axis=0) == pytest.approx([250, 500], rel=0.01)
    assert sums.std(axis=0) == pytest.approx([np.sqrt(187.5), 2 * np.sqrt(187.5)], rel=0.05)
    shuffled = rows[np.random.default_rng(0).permutation(1_000)]
    assert (Resampler(1_000, 4_000).sums(shuffled) == sums).all()


def test_integer_sums_are_exact() -> None:
    rows = np.random.default_rng(0).integers(-50, 50, size=(300, 3)).astype(float)
    sums = Resampler(300, 500).sums(rows)
    assert (sums == np.rint(sums)).all()


def test_wrong_sizes_are_refused() -> None:
    with pytest.raises(ValueError, match="at least one unit"):
        Resampler(0)
    with pytest.raises(ValueError, match="expected 5 rows"):
        Resampler(5).sums(np.zeros((4, 1)))


def bca_error(values: np.ndarray, size: int) -> float:
    """Four Monte Carlo standard errors of a 2.5 % bound of a mean, about."""
    return 4 * values.std() / np.sqrt(len(values)) * np.sqrt(0.025 * 0.975 / size) / stats.norm.pdf(1.96)


@pytest.mark.parametrize("n", [25, 154])
def test_bca_agrees_with_scipy(n: int) -> None:
    values = np.random.default_rng(n).gamma(2.0, size=n)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=40_000, batch=2_000, rng=1).confidence_interval
    ours = bounds(bca(total(values), Resampler(n, 40_000)))
    assert ours == pytest.approx((theirs.low, theirs.high), abs=2 * bca_error(values, 40_000))


def test_bca_of_a_ratio_agrees_with_scipy() -> None:
    rng = np.random.default_rng(5)
    rows = np.column_stack([rng.gamma(2.0, size=80), rng.gamma(3.0, size=80)])
    theirs = stats.bootstrap(
        (rows[:, 0], rows[:, 1]),
        lambda x, y, axis=-1: x.sum(axis=axis) / y.sum(axis=axis),
        paired=True,
        vectorized=True,
        n_resamples=40_000,
        batch=2_000,
        rng=1,
        confidence_level=0.9,
    )
    ours = bounds(bca(Statistic(rows, lambda s: s[..., 0] / s[..., 1]), Resampler(80, 40_000), 0.9))
    low, high = theirs.confidence_interval
    assert ours == pytest.approx((low, high), abs=0.04 * (high - low))


@pytest.mark.parametrize(("fixed", "low"), [(2, 0.0), (3, 1 / 154), (4, 1 / 154)])
def test_one_sided_fixes(fixed: int, low: float) -> None:
    """A published bootstrap, of 154 instances. The 0.0 recorded there for three fixes is rounding: the difference
    of two float means breaks ties. Given the exact differences scipy agrees with us."""
    change = np.zeros(154)
    change[:fixed] = 1
    ours = bounds(bca(total(change), Resampler(154, 100_000, seed=42)))
    theirs = stats.bootstrap((change,), np.mean, n_resamples=20_000, batch=2_000, rng=42).confidence_interval
    assert ours[0] == pytest.approx(low, abs=1e-12)
    assert ours == pytest.approx((theirs.low, theirs.high), abs=1e-12)


def test_identical_predictions_give_a_point_not_nan() -> None:
    assert bca(total(np.zeros(154)), Resampler(154)) == Interval(0.0, 0.0, "BCa (no variation)")


def test_averaged_thirds_tie() -> None:
    values = np.tile([1 / 3, 2 / 3, 1.0, 0.0], 20)
    exact = bca(total(np.rint(values * 3)), Resampler(80, 4_000))
    assert bounds(bca(total(values), Resampler(80, 4_000))) == pytest.approx(
        [bound / 3 for bound in bounds(exact)], abs=1e-12
    )


def test_undefined_resamples_are_dropped_and_told() -> None:
    rows = np.zeros((10, 2))
    rows[:, 0], rows[:2, 1] = np.arange(10), 1.0
    interval = bca(Statistic(rows, lambda sums: sums[..., 0] / sums[..., 1]), Resampler(10, 2_000))
    assert interval is not None
    assert np.isfinite([interval.low, interval.high]).all()
    share = int(interval.method.split()[1]) / 2_000
    assert interval.method.endswith("of 2000 resamples undefined")
    assert share == pytest.approx(0.8**10, abs=0.03)


def test_an_undefined_estimate_gives_none_beside_defined_ones() -> None:
    undefined = Statistic(np.zeros((6, 2)), lambda sums: sums[..., 0] / sums[..., 1])
    result = bca_all([undefined, total(np.arange(6.0)), undefined], Resampler(6, 500))
    assert result[0] is None
    assert result[2] is None
    assert result[1] == bca(total(np.arange(6.0)), Resampler(6, 500))
    assert bca_all([], Resampler(6)) == []
    assert bca(Statistic(np.zeros((0, 2)), lambda sums: sums[..., 0]), Resampler(1)) is None


def test_many_statistics_at_once_equal_one_at_a_time() -> None:
    rng = np.random.default_rng(0)
    table = rng.random((30, 12))
    several = [total(rng.normal(size=30)) for _ in range(40)]
    several += [Statistic(table, lambda sums, j=j: sums[..., j]) for j in range(12)]
    several += [total(rng.normal(size=90), np.repeat(np.arange(30), 3))]
    resampler = Resampler(30, 2_000)
    for ours, stat in zip(bca_all(several, resampler), several, strict=True):
        assert bounds(ours) == pytest.approx(bounds(bca(stat, resampler)), abs=1e-9)


def test_whole_clusters_are_resampled() -> None:
    values = np.random.default_rng(1).normal(size=40)
    clustered = bca(total(np.repeat(values, 3), np.repeat(np.arange(40), 3)), Resampler(40))
    assert bounds(clustered) == pytest.approx(bounds(bca(total(values), Resampler(40))), abs=1e-9)


def test_cluster_index_follows_sorted_labels() -> None:
    index, count = cluster_index(["b", "a", "b", "c"])
    assert index.tolist() == [1, 0, 1, 2]
    assert count == 3


def test_very_many_units_fall_back_to_the_normal_interval() -> None:
    values = np.random.default_rng(2).normal(size=20_001)
    interval = bca(total(values), Resampler(20_001))
    assert interval is not None
    assert interval.method == "normal, jackknife over 20001 units"
    half = 1.959964 * values.std(ddof=1) / np.sqrt(20_001)
    assert bounds(interval) == pytest.approx((values.mean() - half, values.mean() + half), rel=1e-3)
    few = bca(total((values > 1).astype(float)), Resampler(20_001, 2_000))
    assert few is not None
    assert few.method == "BCa"


def test_degenerate_inputs_of_the_formulas() -> None:
    nothing = np.full(3, np.nan)
    assert bca_interval(1.0, nothing, nothing) is None
    assert bounds(normal_interval(1.0, nothing)) == (1.0, 1.0)
    outside = bca_interval(5.0, np.linspace(0, 1, 100), np.array([0.0, 0.0, 10.0]))
    assert outside is not None
    assert 0 <= outside.low <= outside.high <= 1


@given(st.lists(st.integers(-3, 3), min_size=2, max_size=30))
@settings(max_examples=60, deadline=None)
def test_bca_is_finite_ordered_and_moves_with_the_data(values: list[int]) -> None:
    data, resampler = np.array(values, dtype=float), Resampler(len(values), 500)
    low, high = bounds(bca(total(data), resampler))
    assert min(values) - 1e-9 <= low <= high <= max(values) + 1e-9
    assert bounds(bca(total(data + 2), resampler)) == pytest.approx((low + 2, high + 2), abs=1e-9)


@pytest.mark.parametrize("scale", [1, 2, 3, 6, 18, 36, 7])
def test_fractions_are_summed_exactly(scale: int) -> None:
    """Columns that a scale makes whole are summed as whole numbers, others as they are; both agree with the counts."""
    rng = np.random.default_rng(scale)
    rows = np.column_stack([rng.integers(-5, 6, 40) / scale, rng.random(40), np.ones(40)])
    resampler = Resampler(40, 500)
    sums = resampler.sums(rows)
    found = np.empty((500, 3))

    def add(start: int, counts: np.ndarray) -> None:
        found[start : start + len(counts)] = counts.astype(float) @ rows

    resampler.for_each_block(add)
    assert sums == pytest.approx(found, abs=1e-9)


def test_equal_columns_are_summed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[int] = []
    before = Resampler.sums
    monkeypatch.setattr(Resampler, "sums", lambda self, rows: (seen.append(rows.shape[1]), before(self, rows))[1])
    rng = np.random.default_rng(0)
    several = [
        Statistic(np.column_stack([rng.random(30), np.ones(30)]), lambda sums: sums[..., 0] / sums[..., 1])
        for _ in range(5)
    ]
    found = bca_all(several, Resampler(30), [0.95] * 4 + [0.99])
    assert seen == [6]
    alone = bca(several[4], Resampler(30), 0.99)
    assert bounds(found[4]) == pytest.approx(bounds(alone), abs=1e-12)
    assert bounds(found[0]) == pytest.approx(bounds(bca(several[0], Resampler(30))), abs=1e-12)
