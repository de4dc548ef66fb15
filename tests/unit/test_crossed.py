"""Pairs that share ideas: the variance by hand, and intervals and tests by simulation where the ideas are drawn anew."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice

import numpy as np
import pytest
from scipy import stats

from pytest_novelty.designs import crossed_pairs
from pytest_novelty.metrics.crossed import crossed_mean, shares_ideas
from pytest_novelty.metrics.permutation import swap_test
from pytest_novelty.metrics.resampling import FloatArray, IntArray

RUNS = 1_500


def test_the_variance_of_four_pairs_by_hand() -> None:
    """Two ideas a side, residuals 1/2 1/2 1/2 -3/2: by rows (1, -1), by columns (1, -1), single 3, over 16 and times 2, 2, 4/3."""
    values, ours, base = np.array([1.0, 1, 1, -1]), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    variance = max(2 * 2 / 16 + 2 * 2 / 16 - 4 / 3 * 3 / 16, 2 * 2 / 16, 4 / 3 * 3 / 16)
    interval, p = crossed_mean(values, ours, base)
    assert interval is not None
    assert (interval.low, interval.high) == (-1, 1)  # one degree of freedom
    n_eff = 0.75 * 0.25 / (variance / 4)
    assert p == pytest.approx(2 * stats.t.sf(0.5 * math.sqrt(n_eff), 1))


def test_the_interval_is_the_wider_of_t_and_wilson() -> None:
    rng = np.random.default_rng(3)
    ours, base = np.repeat(np.arange(30), 30), np.tile(np.arange(30), 30)
    values = np.sign(rng.normal(size=900) + 0.3)
    interval, _ = crossed_mean(values, ours, base)
    assert interval is not None
    mean, rest = values.mean(), values - values.mean()
    ways = [30 / 29 * sum(rest[side == k].sum() ** 2 for k in range(30)) / 900**2 for side in (ours, base)]
    single = 900 / 899 * (rest**2).sum() / 900**2
    half = stats.t.ppf(0.975, 29) * math.sqrt(max(sum(ways) - single, *ways, single))
    assert interval.low <= mean - half + 1e-12
    assert interval.high >= mean + half - 1e-12
    assert interval.high - interval.low <= 2.2 * half


@pytest.mark.parametrize(("ideas", "pairs"), [(5, 20), (8, 32), (8, 64), (10, 60)])
def test_to_win_all_pairs_is_no_weaker_evidence_than_to_lose_one(ideas: int, pairs: int) -> None:
    """Whichever is lost; and for base as for ours."""
    rng = np.random.default_rng(ideas)
    chosen = rng.permutation(ideas * ideas)[:pairs]
    ours, base = chosen // ideas, chosen % ideas
    all_won, p = crossed_mean(np.ones(pairs), ours, base)
    assert all_won is not None
    assert all_won.high == 1.0
    for lost in range(pairs):
        values = np.ones(pairs)
        values[lost] = -1.0
        interval, other = crossed_mean(values, ours, base)
        assert interval is not None
        assert other is not None
        assert p is not None
        assert all_won.low >= interval.low - 1e-9
        assert p <= other + 1e-9
    none_won, same = crossed_mean(-np.ones(pairs), ours, base)
    assert none_won is not None
    assert (none_won.low, none_won.high, same) == pytest.approx((-1.0, -all_won.low, p))


def test_two_pairs_won_prove_nothing() -> None:
    interval, p = crossed_mean(np.ones(4), np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1]))
    assert interval is not None
    assert interval.low < 0
    assert p is not None
    assert p > 0.1


def test_one_idea_says_nothing_of_others() -> None:
    assert crossed_mean(np.ones(4), np.zeros(4, dtype=int), np.arange(4)) == (None, None)


def test_which_pairs_share_ideas() -> None:
    assert not shares_ideas(np.arange(3), np.arange(3, 6))
    assert shares_ideas(np.array([0, 0]), np.array([1, 2]))
    assert shares_ideas(np.array([0, 1]), np.array([2, 2]))


# --- by simulation ------------------------------------------------------------------------------------------


def pairs_of(ours: int, base: int, count: int) -> tuple[IntArray, IntArray]:
    names = [f"o{k}" for k in range(ours)], [f"b{k}" for k in range(base)]
    made = [sorted(pair, reverse=True) for pair in islice(crossed_pairs([names], 1), count)]
    return np.array([int(one[1:]) for one, _ in made]), np.array([int(two[1:]) for _, two in made])


def taste(gap: float, noise: float) -> tuple[Callable[..., FloatArray], float]:
    """A judge with a firm view of every idea, and noise beside it; the true difference when ideas are drawn anew."""

    def draw(rng: np.random.Generator, ours: IntArray, base: IntArray) -> FloatArray:
        good, bad = rng.normal(gap, 1, ours.max() + 1), rng.normal(0, 1, base.max() + 1)
        return np.sign(good[ours] - bad[base] + rng.normal(0, math.sqrt(2) * noise, len(ours)))

    return draw, 2 * float(stats.norm.cdf(gap / math.sqrt(2 + 2 * noise**2))) - 1


@pytest.mark.parametrize(("gap", "noise"), [(0, 0), (0, 1), (0.8, 0), (0.8, 1), (2.5, 0), (2.5, 1)])
@pytest.mark.parametrize(("ours", "base", "count"), [(24, 24, 576), (24, 24, 60), (8, 8, 64), (12, 30, 60)])
def test_intervals_cover_and_the_test_keeps_its_level(
    ours: int, base: int, count: int, gap: float, noise: float
) -> None:
    one, two = pairs_of(ours, base, count)
    draw, truth = taste(gap, noise)
    rng = np.random.default_rng([ours, count, int(10 * gap), int(noise)])
    covered = stars = 0
    for _ in range(RUNS):
        interval, p = crossed_mean(draw(rng, one, two), one, two)
        assert interval is not None
        assert p is not None
        covered += interval.low - 1e-9 <= truth <= interval.high + 1e-9
        stars += p <= 0.05
    assert covered / RUNS >= 0.93 - 2 * math.sqrt(0.93 * 0.07 / RUNS)
    if gap == 0:
        assert stars / RUNS <= 0.05 + 2 * math.sqrt(0.05 * 0.95 / RUNS)


def test_pairs_taken_as_independent_find_what_is_not_there() -> None:
    """Why all this is needed: the swap test of pairs, in a world without a difference."""
    one, two = pairs_of(24, 24, 576)
    draw, _ = taste(0, 0)
    rng = np.random.default_rng(0)
    assert np.mean([swap_test(draw(rng, one, two)) <= 0.05 for _ in range(100)]) > 0.4
