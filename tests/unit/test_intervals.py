"""The rules per kind of metric: closed forms, published values, clusters, and planted coverage."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pytest_novelty.metrics.intervals import (
    Interval,
    Resampler,
    Statistic,
    bca,
    bca_all,
    clopper_pearson,
    paired_share_interval,
    share_interval,
    signed_interval,
    tango,
    unit_interval,
    wilson,
)

Z = stats.norm.ppf(0.975)


def bounds(interval: Interval | None) -> tuple[float, float]:
    assert interval is not None
    assert interval.low <= interval.high
    return interval.low, interval.high


def width(interval: Interval | None) -> float:
    low, high = bounds(interval)
    return high - low


def mean(values: np.ndarray, clusters: np.ndarray | None = None) -> Statistic:
    rows = np.column_stack([values, np.ones(len(values))])
    return Statistic(rows, lambda sums: sums[..., 0] / sums[..., 1], clusters)


def macro_f1(sums: np.ndarray) -> np.ndarray:
    tp, fp, fn, tn = (sums[..., j] for j in range(4))
    return (2 * tp / (2 * tp + fp + fn) + 2 * tn / (2 * tn + fp + fn)) / 2


# --- closed forms and published values ---


@pytest.mark.parametrize(("events", "n"), [(0, 1), (1, 1), (0, 40), (3, 40), (20, 40), (40, 40), (87, 100)])
def test_clopper_pearson_and_wilson_agree_with_scipy(events: int, n: int) -> None:
    test = stats.binomtest(events, n)
    for ours, method in ((clopper_pearson(events, n), "exact"), (wilson(events / n, n), "wilson")):
        theirs = test.proportion_ci(0.95, method)
        assert bounds(ours) == pytest.approx((theirs.low, theirs.high), abs=1e-10)


def test_clopper_pearson_without_events_is_closed() -> None:
    assert bounds(clopper_pearson(0, 36)) == pytest.approx((0.0, 1 - 0.025 ** (1 / 36)))
    assert bounds(clopper_pearson(36.5, 36.5)) == pytest.approx((0.025 ** (1 / 36.5), 1.0))


def test_published_validation_of_novgauge_is_reproduced() -> None:
    low, high = bounds(wilson(0.87, 100))
    assert (round(100 * low, 1), round(100 * high, 1)) == (79.0, 92.2)


def test_nothing_gives_no_interval() -> None:
    none = np.zeros(0, dtype=bool)
    assert clopper_pearson(0, 0) is None
    assert wilson(math.nan, 10) is None
    assert wilson(0.5, 0) is None
    assert tango(0, 0, 0) is None
    assert share_interval(none) is None
    assert paired_share_interval(none, none) is None
    assert unit_interval(mean(np.zeros(0))) is None
    assert signed_interval(mean(np.zeros(0)), np.zeros(0)) is None
    undefined = Statistic(np.zeros((5, 2)), lambda sums: sums[..., 0] / sums[..., 1])
    assert unit_interval(undefined) is None
    assert unit_interval(mean(np.ones(5)), denominators=0) is None
    assert signed_interval(undefined, np.full(5, np.nan)) is None


def test_one_cluster_gives_no_interval() -> None:
    one, events = np.zeros(6, dtype=int), np.array([1, 0, 1, 1, 0, 0], dtype=bool)
    assert share_interval(events, one) is None
    assert paired_share_interval(events, ~events, one) is None
    assert unit_interval(mean(events.astype(float), one)) is None
    assert signed_interval(mean(events.astype(float), one), events.astype(float)) is None


def test_tango_reproduces_a_published_example() -> None:
    # Airway hyper-responsiveness, 1 against 7 of 21 pairs: Fagerland, Lydersen and Laake 2014, table V.
    assert bounds(tango(1, 7, 21)) == pytest.approx((-0.517, -0.026), abs=5e-4)


def test_tango_closed_forms() -> None:
    square = Z**2
    assert bounds(tango(0, 0, 40)) == pytest.approx((-square / (40 + square), square / (40 + square)))
    low, high = bounds(tango(40, 0, 40))
    assert (low, high) == pytest.approx(((40 - square) / (40 + square), 1.0))


def likelihood_score(b: float, c: float, n: float, difference: float) -> float:
    """Score statistic with the nuisance share found by a search for the greatest likelihood."""
    low, high = max(0.0, -difference), (1 - difference) / 2
    for _ in range(6):
        grid = np.linspace(low, high, 401)
        rest = np.maximum(1 - 2 * grid - difference, 1e-300)
        with np.errstate(divide="ignore", invalid="ignore"):
            loglik = (n - b - c) * np.log(rest)
            loglik += b * np.log(np.maximum(grid + difference, 1e-300)) if b else 0
            loglik += c * np.log(np.maximum(grid, 1e-300)) if c else 0
        best = int(np.argmax(loglik))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, 400)]
    nuisance = (low + high) / 2
    return (b - c - n * difference) / math.sqrt(n * (2 * nuisance + difference * (1 - difference)))


@pytest.mark.parametrize(("b", "c", "n"), [(1, 7, 21), (12, 2, 50), (3, 3, 40), (5, 0, 40), (2.4, 0.8, 31.5)])
def test_tango_inverts_the_score_test(b: float, c: float, n: float) -> None:
    low, high = bounds(tango(b, c, n))
    assert likelihood_score(b, c, n, low) == pytest.approx(Z, abs=1e-3)
    assert likelihood_score(b, c, n, high) == pytest.approx(-Z, abs=1e-3)


@given(st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.integers(0, n), st.just(n))))
@settings(max_examples=60, deadline=None)
def test_tango_is_antisymmetric_and_contains_the_estimate(counts: tuple[int, int, int]) -> None:
    b, c, n = counts
    if b + c > n:
        b, c = n - b, n - c
    low, high = bounds(tango(b, c, n))
    assert -1 <= low <= (b - c) / n + 1e-12
    assert (b - c) / n - 1e-12 <= high <= 1
    assert bounds(tango(c, b, n)) == pytest.approx((-high, -low), abs=1e-9)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@settings(max_examples=100, deadline=None)
def test_share_intervals_contain_the_estimate_and_grow_with_events(counts: tuple[int, int]) -> None:
    events, n = counts
    for method in (lambda k: clopper_pearson(k, n), lambda k: wilson(k / n, n)):
        low, high = bounds(method(events))
        assert 0 <= low <= events / n <= high <= 1
        if events < n:
            more = bounds(method(events + 1))
            assert more[0] >= low
            assert more[1] >= high
    assert width(clopper_pearson(events, n)) >= width(wilson(events / n, n)) - 0.02


# --- shares with clusters ---


def test_a_share_is_clopper_pearson_of_its_count() -> None:
    events = np.array([True] * 5 + [False] * 35)
    assert bounds(share_interval(events)) == bounds(clopper_pearson(5, 40))


def test_duplicated_instances_are_worth_one_per_cluster() -> None:
    single = np.random.default_rng(1).random(60) < 0.3
    events, clusters = np.repeat(single, 5), np.repeat(np.arange(60), 5)
    t = stats.t.ppf(0.975, 59)
    n_eff = 59 * (Z / t) ** 2  # 60 means, one degree of freedom spent
    assert bounds(share_interval(events, clusters)) == pytest.approx(
        bounds(clopper_pearson(single.mean() * n_eff, n_eff))
    )
    assert width(share_interval(single)) < width(share_interval(events, clusters))
    assert width(share_interval(events, clusters)) < 1.1 * width(share_interval(single))
    assert width(share_interval(events)) < 0.6 * width(share_interval(events, clusters))


def test_clusters_without_effect_do_not_narrow() -> None:
    events = np.tile([True, False], 50)  # every cluster has the same share: SE 0
    clusters = np.repeat(np.arange(25), 4)
    n_eff = 100 * (Z / stats.t.ppf(0.975, 24)) ** 2
    assert bounds(share_interval(events, clusters)) == pytest.approx(bounds(clopper_pearson(n_eff / 2, n_eff)))


def test_labels_of_clusters_may_be_text_and_order_does_not_matter() -> None:
    rng = np.random.default_rng(2)
    events, names = rng.random(50) < 0.4, np.array([f"topic {k}" for k in rng.integers(0, 12, 50)])
    order = rng.permutation(50)
    assert bounds(share_interval(events, names)) == pytest.approx(bounds(share_interval(events[order], names[order])))


def test_paired_share_counts_one_sided_changes() -> None:
    first = np.array([True] * 9 + [False] * 31)
    second = np.array([True] * 4 + [False] * 34 + [True] * 2)
    assert bounds(paired_share_interval(first, second)) == bounds(tango(5, 2, 40))
    index = np.arange(40)
    clustered = bounds(paired_share_interval(first, second, index))
    n_eff = 39 * (Z / stats.t.ppf(0.975, 39)) ** 2
    assert clustered == pytest.approx(bounds(tango(5 * n_eff / 40, 2 * n_eff / 40, n_eff)))


def test_duplicated_pairs_are_worth_one_per_cluster() -> None:
    rng = np.random.default_rng(3)
    first, second = rng.random(80) < 0.5, rng.random(80) < 0.4
    clusters = np.repeat(np.arange(80), 4)
    wide = width(paired_share_interval(np.repeat(first, 4), np.repeat(second, 4), clusters))
    assert width(paired_share_interval(first, second)) < wide < 1.1 * width(paired_share_interval(first, second))


def test_equal_sides_have_an_interval_around_zero() -> None:
    same = np.array([True] * 100 + [False] * 54)
    low, high = bounds(paired_share_interval(same, same))
    assert (low, high) == pytest.approx((-(Z**2) / (154 + Z**2), Z**2 / (154 + Z**2)))


# --- metrics in [0, 1] ---


def test_unit_interval_is_the_wider_side() -> None:
    values = np.random.default_rng(4).beta(8, 1, 60)
    stat, resampler = mean(values), Resampler(60)
    core = bca_all([stat], resampler)[0]
    low, high = bounds(unit_interval(stat, cap=240, resampler=resampler))
    se = values.std(ddof=1) / math.sqrt(60)
    score = bounds(wilson(values.mean(), min(240.0, values.mean() * (1 - values.mean()) / se**2)))
    assert core is not None
    assert (low, high) == pytest.approx((min(core.low, score[0]), max(core.high, score[1])))


@pytest.mark.parametrize(("value", "expected"), [(0.0, 30), (1.0, 30), (0.5, 30)])
def test_without_variation_the_denominators_are_the_effective_size(value: float, expected: int) -> None:
    interval = unit_interval(mean(np.full(40, value)), denominators=30, cap=160)
    assert bounds(interval) == pytest.approx(bounds(wilson(value, expected)))
    assert interval is not None
    assert interval.method == "BCa (no variation)/Wilson"


def test_the_cap_limits_the_effective_size() -> None:
    values = 0.5 + np.tile([0.01, -0.01], 20)
    assert bounds(unit_interval(mean(values), cap=160)) == pytest.approx(bounds(wilson(0.5, 160)))
    assert bounds(unit_interval(mean(values))) == pytest.approx(bounds(wilson(0.5, 40)))


def test_unit_interval_of_duplicates_is_about_that_of_one_per_cluster() -> None:
    values = np.random.default_rng(5).beta(2, 2, 50)
    single = unit_interval(mean(values), cap=200)
    repeated = np.repeat(values, 4)
    clustered = unit_interval(mean(repeated, np.repeat(np.arange(50), 4)), cap=800)
    assert width(single) == pytest.approx(width(clustered), rel=0.1)
    assert width(unit_interval(mean(repeated), cap=800)) < 0.6 * width(clustered)


def test_a_result_of_bca_all_can_be_handed_in() -> None:
    stats_ = [mean(np.random.default_rng(k).random(30)) for k in range(3)]
    resampler = Resampler(30)
    for stat, core in zip(stats_, bca_all(stats_, resampler), strict=True):
        assert bounds(unit_interval(stat, resampler=resampler, bootstrap=core)) == pytest.approx(
            bounds(unit_interval(stat, resampler=resampler))
        )


# --- signed metrics ---


def test_few_off_the_mode_widen_by_exact_bounds() -> None:
    values = np.zeros(40)
    values[:2], values[2] = 1.0, -1.0
    low, high = bounds(signed_interval(mean(values), values))
    assert high == pytest.approx(bounds(clopper_pearson(2, 40))[1])
    assert low == pytest.approx(-bounds(clopper_pearson(1, 40))[1])


def test_many_off_the_mode_leave_bca() -> None:
    values = np.random.default_rng(6).normal(0, 0.2, 40)
    interval = signed_interval(mean(values), values)
    assert interval is not None
    assert interval.method == "BCa"


def test_a_constant_bias_of_one_cannot_exceed_it() -> None:
    low, high = bounds(signed_interval(mean(np.ones(40)), np.ones(40)))
    assert high == 1.0
    assert low == pytest.approx(1 - 2 * bounds(clopper_pearson(0, 40))[1])


def test_signed_intervals_turn_round_with_the_sign() -> None:
    values = np.zeros(12)
    values[:6] = 0.5  # two modal values
    low, high = bounds(signed_interval(mean(values), values))
    assert bounds(signed_interval(mean(-values), -values)) == pytest.approx((-high, -low), abs=0.02)


def test_clipping_touches_the_interval_only() -> None:
    values = np.full(30, -0.2)
    assert bounds(signed_interval(mean(values), values, minimum=-0.5, clip_at_zero=True))[0] == 0.0
    assert bounds(signed_interval(mean(values), values, minimum=-0.5))[0] < -0.2


def test_off_mode_is_counted_in_clusters() -> None:
    values, clusters = np.zeros(60), np.repeat(np.arange(20), 3)
    values[:12] = 1.0  # 12 instances but only 4 clusters
    high = bounds(signed_interval(mean(values, clusters), values))[1]
    assert high >= bounds(clopper_pearson(4, 20))[1]


def test_undefined_instances_are_left_out_of_the_mode() -> None:
    values = np.array([0.0] * 60 + [1.0] * 3 + [np.nan] * 30)
    known = np.isfinite(values)
    rows = np.column_stack([np.where(known, values, 0), known])
    stat = Statistic(rows, lambda sums: sums[..., 0] / sums[..., 1])
    assert bounds(signed_interval(stat, values))[1] == pytest.approx(bounds(clopper_pearson(3, 63))[1])


# --- planted coverage (STATISTICS.md 2 and 6; the full grid: tests/calibration/coverage.py) ---

RUNS = 1_000


def coverage(intervals: list[Interval | None], truth: float) -> float:
    hits = [i is not None and i.low - 1e-9 <= truth <= i.high + 1e-9 for i in intervals]
    return sum(hits) / len(hits)


@pytest.mark.parametrize("n", [17, 40, 48, 154])
@pytest.mark.parametrize("threshold", [0.01, 0.02, 0.05, 0.1, 0.5, 0.8, 0.95])
def test_share_gates_err_in_at_most_one_of_forty(n: int, threshold: float) -> None:
    """Exact: at a true share on the threshold, `<=` and `>=` each fail and pass falsely in at most 2.5 %."""
    events = np.arange(n + 1)
    mass = stats.binom.pmf(events, n, threshold)
    intervals = [bounds(clopper_pearson(int(k), n)) for k in events]
    above = sum(m for m, (low, _) in zip(mass, intervals, strict=True) if low > threshold)
    below = sum(m for m, (_, high) in zip(mass, intervals, strict=True) if high < threshold)
    assert above <= 0.025
    assert below <= 0.025


def test_coverage_of_a_rare_rate() -> None:
    rng, resampler = np.random.default_rng(7), Resampler(40, 2_000)
    stats_ = [mean((rng.random(40) < 0.01).astype(float)) for _ in range(RUNS)]
    cores = bca_all(stats_, resampler)
    assert coverage(cores, 0.01) < 0.5  # the rule is needed
    ours = [unit_interval(s, cap=160, bootstrap=c) for s, c in zip(stats_, cores, strict=True)]
    assert coverage(ours, 0.01) >= 0.93
    assert coverage([share_interval(s.rows[:, 0] > 0) for s in stats_], 0.01) >= 0.93


def test_coverage_of_a_high_macro_f1() -> None:
    rng, resampler = np.random.default_rng(8), Resampler(40, 2_000)
    stats_ = []
    for _ in range(RUNS):
        gold = rng.random(40) < 0.5
        said = gold ^ (rng.random(40) < 0.05)
        table = np.column_stack([gold & said, ~gold & said, gold & ~said, ~gold & ~said])
        stats_.append(Statistic(table.astype(float), macro_f1))
    cores = bca_all(stats_, resampler)
    assert coverage(cores, 0.95) < 0.9
    ours = [unit_interval(s, cap=160, bootstrap=c) for s, c in zip(stats_, cores, strict=True)]
    assert coverage(ours, 0.95) >= 0.93


def test_coverage_of_a_bias_from_few_instances() -> None:
    rng, resampler = np.random.default_rng(9), Resampler(40, 2_000)
    values = (rng.random((RUNS, 40)) < 0.02).astype(float)
    stats_ = [mean(row) for row in values]
    cores = bca_all(stats_, resampler)
    assert coverage(cores, 0.02) < 0.7
    ours = [signed_interval(s, v, bootstrap=c) for s, v, c in zip(stats_, values, cores, strict=True)]
    assert coverage(ours, 0.02) >= 0.93


def test_coverage_of_shares_in_correlated_clusters() -> None:
    rng = np.random.default_rng(10)
    clusters = np.repeat(np.arange(40), 5)
    means = rng.beta(0.3 * 7 / 3, 0.7 * 7 / 3, size=(RUNS, 40))  # intra-cluster correlation .3
    events = rng.random((RUNS, 200)) < means[:, clusters]
    assert coverage([share_interval(row) for row in events], 0.3) < 0.9
    assert coverage([share_interval(row, clusters) for row in events], 0.3) >= 0.93


def test_coverage_of_a_paired_difference() -> None:
    n, gain, loss = 40, 0.1, 0.03
    hits = mass = 0.0
    for b in range(16):
        for c in range(12):
            weight = stats.multinomial.pmf([b, c, n - b - c], n, [gain, loss, 1 - gain - loss])
            low, high = bounds(tango(b, c, n))
            hits += weight * (low <= gain - loss <= high)
            mass += weight
    assert mass > 0.999
    assert hits >= 0.93


def test_few_large_values_among_noise_bound_an_excess() -> None:
    """One turned instance of 40 among noise: at most what one of 40 turned ones would allow, not what a bootstrap of one does."""
    values = np.concatenate([[1.0], np.tile([-1 / 9, 1 / 9, 0.0], 13)])
    stat = Statistic(np.column_stack([values, np.ones(40)]), lambda sums: sums[..., 0] / sums[..., 1])
    plain = signed_interval(stat, values, minimum=-0.5, clip_at_zero=True)
    bounded = signed_interval(stat, values, minimum=-0.5, clip_at_zero=True, few_large=True)
    upper, mean = clopper_pearson(1, 40), values[1:].mean()
    assert plain is not None
    assert bounded is not None
    assert upper is not None
    assert bounded.low == plain.low
    assert bounded.high == pytest.approx(mean + upper.high * (1 - mean))
    assert bounded.high > plain.high
    assert bounded.method == "BCa, widened"
    values[:5] = 1.0
    many = Statistic(np.column_stack([values, np.ones(40)]), lambda sums: sums[..., 0] / sums[..., 1])
    assert signed_interval(many, values, minimum=-0.5, few_large=True) == signed_interval(many, values, minimum=-0.5)


# --- few clusters -------------------------------------------------------------------------------------------


def test_over_clusters_students_t_and_whole_clusters_at_the_far_end() -> None:
    """Cluster means .1, .2, .3 and .9: t with three degrees of freedom below; above, one of four is large, so that at most what
    one of four may be is: of the way from the mean of the others to that of the large one.
    """
    values = np.array([0.0, 0.2, 0.1, 0.3, 0.2, 0.4, 0.8, 1.0])
    clusters = np.repeat(np.arange(4), 2)
    interval = signed_interval(mean(values, clusters), values)
    means = np.array([0.1, 0.2, 0.3, 0.9])
    half = stats.t.ppf(0.975, 3) * means.std(ddof=1) / 2
    one, none = clopper_pearson(1, 4), clopper_pearson(0, 4)
    assert one is not None
    assert none is not None
    low, high = bounds(interval)
    assert high == pytest.approx(max(means.mean() + half, 0.2 + one.high * 0.7))
    assert low == pytest.approx(min(means.mean() - half, means.mean() - none.high * (1 + means.mean())))
    assert interval is not None
    assert interval.method == "BCa/t over 4 units"


@pytest.mark.parametrize("size", [1, 6])
@pytest.mark.parametrize("count", [2, 3, 5, 8])
def test_where_nothing_varies_whole_clusters_may_be_unseen(count: int, size: int) -> None:
    values, clusters = np.full(count * size, 0.25), np.repeat(np.arange(count), size)
    unseen = clopper_pearson(0, count)
    assert unseen is not None
    stat = mean(values, clusters if size > 1 else None)
    expected = (0.25 - unseen.high * 1.25, 0.25 + unseen.high * 0.75)
    assert bounds(signed_interval(stat, values)) == pytest.approx(expected)
    of_excess = signed_interval(stat, values, minimum=-0.5, clip_at_zero=True, few_large=True)
    assert bounds(of_excess) == pytest.approx((max(0.0, 0.25 - unseen.high * 0.75), expected[1]))
    assert bounds(share_interval(values > 0.5, clusters)) == pytest.approx((0.0, unseen.high))
    assert bounds(share_interval(values < 0.5, clusters)) == pytest.approx((1 - unseen.high, 1.0))


@pytest.mark.parametrize("large", [4, 5])
def test_five_large_clusters_are_not_few(large: int) -> None:
    values = np.array([0.9] * large + [0.0] * (39 - large))
    clusters, resampler = np.arange(39), Resampler(39)
    stat = mean(values, clusters)
    high = bounds(signed_interval(stat, values, resampler=resampler))[1]
    share, core = clopper_pearson(large, 39), bca(stat, resampler)
    assert share is not None
    t = values.mean() + stats.t.ppf(0.975, 38) * values.std(ddof=1) / np.sqrt(39)
    others = 0.9 * share.high if large < 5 else 0.0
    assert high == pytest.approx(max(bounds(core)[1], t, others))
    assert (high == pytest.approx(others)) == (large < 5)


@pytest.mark.parametrize("off", [3, 12])
@pytest.mark.parametrize("few_large", [True, False])
def test_forty_clusters_count_as_instances_do(off: int, few_large: bool) -> None:
    """By their means: what is rare is looked for beside a mode, and where there is none, not at all; t is the least."""
    means = np.array([0.4] * off + [0.0] * (40 - off))
    values, clusters = np.repeat(means, 3), np.repeat(np.arange(40), 3)
    over_clusters = signed_interval(mean(values, clusters), values, few_large=few_large, resampler=Resampler(40))
    as_instances = signed_interval(mean(means), means, few_large=few_large, resampler=Resampler(40))
    half = stats.t.ppf(0.975, 39) * means.std(ddof=1) / np.sqrt(40)
    low, high = bounds(as_instances)
    assert bounds(over_clusters) == pytest.approx((min(low, means.mean() - half), max(high, means.mean() + half)))


def test_a_wide_scale_does_not_widen_what_few_clusters_were_seen_to_do() -> None:
    """Eight clusters whose instances move by .1 to .8 on a scale of -25 to 25: unseen ones are supposed to move by .8 at most."""
    values, clusters = np.linspace(0.1, 0.8, 16), np.repeat(np.arange(8), 2)
    stat, none = mean(values, clusters), clopper_pearson(0, 8)
    assert none is not None
    narrow = signed_interval(stat, values, minimum=-25, maximum=25, by_seen=True)
    wide = signed_interval(stat, values, minimum=-25, maximum=25)
    assert narrow == signed_interval(stat, values, minimum=-0.8, maximum=0.8)
    assert bounds(narrow)[0] == pytest.approx(0.45 - none.high * (0.45 + 0.8))
    assert bounds(wide) == pytest.approx((0.45 - none.high * 25.45, 0.45 + none.high * 24.55))


@pytest.mark.parametrize(("off", "widened"), [(9, True), (10, False)])
def test_ten_off_the_mode_are_not_few(off: int, widened: bool) -> None:
    values = np.array([0.3] * off + [0.0] * (60 - off))
    resampler = Resampler(60)
    interval, core = signed_interval(mean(values), values, resampler=resampler), bca(mean(values), resampler)
    assert interval is not None
    assert interval.method == ("BCa, widened" if widened else "BCa")
    assert (interval == core) != widened


def test_one_instance_is_a_unit_of_its_own() -> None:
    values = np.array([0.5])
    assert bounds(signed_interval(mean(values), values)) == pytest.approx((0.5 - 0.975 * 1.5, 0.5 + 0.975 * 0.5))


@pytest.mark.parametrize("count", [3, 5, 8, 12])
@pytest.mark.parametrize("turned", [0.0, 0.1, 0.3])
def test_coverage_of_a_bias_over_few_clusters(count: int, turned: float) -> None:
    """Noisy instances in clusters, of which a share follows the position altogether: covered, and not by the whole range."""
    rng, resampler = np.random.default_rng([11, count]), Resampler(count, 200)
    clusters = np.repeat(np.arange(count), 20)
    firm = (rng.random((300, count)) < turned)[:, clusters]
    noise = rng.integers(-1, 2, size=firm.shape) / 3
    values = np.where(firm, 1.0, noise)
    found = [signed_interval(mean(row, clusters), row, resampler=resampler) for row in values]
    assert coverage(found, turned) >= 0.93
    widths = [width(interval) for interval in found]
    assert np.mean(widths) < {3: 1.8, 5: 1.3, 8: 0.95, 12: 0.75}[count]


def test_few_clusters_that_stand_out_widen_a_share() -> None:
    """One of eight clusters has a few events: as many clusters of at least a half as one would see none of."""
    clusters = np.repeat(np.arange(8), 20)
    events = np.arange(160) < 3
    none = clopper_pearson(0, 8)
    assert none is not None
    others = 3 / 160
    interval = share_interval(events, clusters)
    assert bounds(interval)[1] == pytest.approx(others + none.high * (0.5 - others))
    rng = np.random.default_rng(12)
    means = rng.beta(0.05 * 7 / 3, 0.95 * 7 / 3, size=(RUNS, 8))[:, clusters]
    drawn = rng.random((RUNS, 160)) < means
    assert coverage([share_interval(row, clusters) for row in drawn], 0.05) >= 0.93


def test_few_clusters_that_stand_out_widen_a_mean() -> None:
    """One of forty clusters stands out a little: at most what one of forty may be; and the mirror image."""
    values = np.repeat([0.6] + [0.1, 0.05] * 10 + [0.0] * 19, 5)
    clusters = np.repeat(np.arange(40), 5)
    for turned in (values, 1 - values):
        rows = np.column_stack([turned, np.ones(200)])
        stat = Statistic(rows, lambda sums: sums[..., 0] / sums[..., 1], clusters.astype(np.int64))
        plain, widened = unit_interval(stat, cap=800), unit_interval(stat, cap=800, values=turned)
        upper = clopper_pearson(1, 40)
        assert plain is not None
        assert widened is not None
        assert upper is not None
        bound = widened.high if turned is values else 1 - widened.low
        others = float(values[5:].mean())
        assert bound == pytest.approx(others + upper.high * (0.6 - others))
        assert widened.high - widened.low > plain.high - plain.low
        alone = Statistic(rows, stat.estimate)
        assert unit_interval(alone, cap=800, values=turned) == unit_interval(alone, cap=800)
