"""Scores under two wordings: shifts, ranks and the top, against brute force and by hand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import combinations
from math import sqrt
from typing import Any

import numpy as np
import pytest

from pytest_novelty.judges.base import Traits
from pytest_novelty.metrics import score_pairs
from pytest_novelty.metrics.catalogue import PAIRED
from pytest_novelty.metrics.intervals import clopper_pearson, wilson
from pytest_novelty.metrics.pairing import SAME_CALLS, Pair
from pytest_novelty.metrics.resampling import Resampler
from pytest_novelty.metrics.score_pairs import rank_flip, score_rms_shift, score_shift, topk_churn
from pytest_novelty.metrics.view import View

TEN = Traits(score_range=(0.0, 10.0))
SCORES = [name for name, metric in PAIRED.items() if metric.protocols == ("pointwise",)]


@pytest.fixture
def scored(make_view: Callable[..., View]) -> Callable[..., View]:
    def build(scores: Sequence[Sequence[float]], traits: Traits = TEN, **options: Any) -> View:
        ballots = ["." * max(1, len(row)) if row else "-" for row in scores]
        return make_view(ballots, protocol="pointwise", scores=scores, traits=traits, **options)

    return build


Scored = Callable[..., View]


def test_shift_of_the_mean(scored: Scored) -> None:
    estimate = score_shift(Pair(scored([[3, 5], [8, 8], [1, 2]]), scored([[2, 4], [6, 6], [1, 2]])))
    assert (estimate.value, estimate.n) == (pytest.approx(1.0), 3)
    assert estimate.low is not None
    assert estimate.high is not None
    assert -10 <= estimate.low <= 1 <= estimate.high <= 10


def test_lower_is_more_novel_for_some(scored: Scored) -> None:
    """Turned so that more is more novel."""
    down = Traits(score_range=(0.0, 10.0), higher_is="not novel")
    assert score_shift(Pair(scored([[3]] * 3, down), scored([[5]] * 3, down))).value == 2


def test_scatter_is_less_what_the_votes_scatter(scored: Scored) -> None:
    """(4 - 7)^2 less (2/2 + 8/2)... : variances 2 and 8 of two votes each, halved by the mean."""
    estimate = score_rms_shift(Pair(scored([[3, 5]]), scored([[5, 9]])))
    assert estimate.value == pytest.approx(sqrt(9 - (2 / 2 + 8 / 2)))
    assert score_rms_shift(Pair(scored([[3, 5]]), scored([[2, 6]]))).value == 0.0


def test_scatter_needs_two_scores(scored: Scored) -> None:
    estimate = score_rms_shift(Pair(scored([[3], [4]]), scored([[3, 3], [4, 4]])))
    assert (estimate.value, estimate.note) == (None, "needs two scores of an idea on both sides")


def test_the_square_has_no_bias(scored: Scored) -> None:
    rng = np.random.default_rng(1)
    base = rng.uniform(3, 7, 1500)
    one, other = (scored(rng.normal(base[:, None] + shift, 1.0, (1500, 3)).tolist()) for shift in (0.5, 0.0))
    assert score_rms_shift(Pair(one, other)).value == pytest.approx(0.5, abs=0.08)
    again = scored(rng.normal(base[:, None], 1.0, (1500, 3)).tolist())
    estimate = score_rms_shift(Pair(again, other))
    assert estimate.low == 0.0


@pytest.mark.parametrize(
    ("traits", "span"),
    [(TEN, 10.0), (Traits(score_range=(-1.0, 3.0)), 4.0), (Traits(), 2.5)],
    ids=["ten", "four", "none"],
)
@pytest.mark.parametrize("sign", [1, -1])
def test_one_idea_that_moves_bounds_the_shift_by_the_scale(
    traits: Traits, span: float, sign: int, scored: Scored
) -> None:
    """39 of 40 stay: what a few ideas might do is bounded by the width of the scale, declared or else used."""
    at, moved = [[1.0, 1.0]] * 40, [[1.0, 1.0]] * 39 + [[3.5 if traits.score_range is None else 2.0] * 2]
    sides = (scored(moved, traits), scored(at, traits))
    estimate = score_shift(Pair(*sides[::sign]))
    none, one = clopper_pearson(0, 40), clopper_pearson(1, 40)
    assert none is not None
    assert one is not None
    ends = (-none.high * span, one.high * span)
    assert (estimate.low, estimate.high) == pytest.approx(ends if sign > 0 else (-ends[1], -ends[0]))
    rms = score_rms_shift(Pair(*sides))
    assert (rms.low, rms.high) == pytest.approx((0.0, sqrt(one.high * span**2)))


def test_few_ideas_that_move_far_among_noise_bound_the_rms_shift(scored: Scored) -> None:
    """Of 40 ideas with noise, one goes from 1 to 9: at most what one of 40 may be, each moved over the whole scale."""
    rng = np.random.default_rng(7)
    one, other = (rng.uniform(4, 6, (40, 3)).tolist() for _ in range(2))
    one[0], other[0] = [9.0] * 3, [1.0] * 3
    pair = Pair(scored(one), scored(other))
    square = np.array(
        [
            (np.mean(a) - np.mean(b)) ** 2 - (np.var(a, ddof=1) + np.var(b, ddof=1)) / 3
            for a, b in zip(one, other, strict=True)
        ]
    )
    share = clopper_pearson(1, 40)
    assert share is not None
    others = float(square[1:].mean())
    assert score_rms_shift(pair).high == pytest.approx(sqrt(others + share.high * (100 - others)))


def test_what_scatters_less_than_its_votes_is_below_nothing_by_half_the_square_of_the_scale(scored: Scored) -> None:
    """The lower end is clipped at 0; unclipped it shows in the mean over variants, whose interval is of the same bounds."""
    wild = [[5.0, 5.0]] * 39 + [[0.0, 10.0]]
    estimate = score_rms_shift(Pair(scored(wild), scored([[5.0, 5.0]] * 40)))
    share = clopper_pearson(0, 40)
    assert share is not None
    assert (estimate.low, estimate.high) == pytest.approx((0.0, sqrt(share.high * 100)))


# --- ranks --------------------------------------------------------------------------------------------------


def test_ranks_by_brute_force(scored: Scored) -> None:
    rng = np.random.default_rng(3)
    one, other = (rng.integers(0, 6, (30, 1)).astype(float) for _ in range(2))
    against = ranked = 0
    for i, j in combinations(range(30), 2):
        product = (one[i, 0] - one[j, 0]) * (other[i, 0] - other[j, 0])
        against, ranked = against + (product < 0), ranked + (product != 0)
    estimate = rank_flip(Pair(scored(one.tolist()), scored(other.tolist())))
    assert estimate.value == pytest.approx(against / ranked)
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low < estimate.value < estimate.high


@pytest.mark.parametrize(("turned", "value"), [(False, 0.0), (True, 1.0)])
def test_the_ends(turned: bool, value: float, scored: Scored) -> None:
    rows = [[float(k)] for k in range(40)]
    pair = Pair(scored(rows[::-1] if turned else rows, None or Traits()), scored(rows, Traits()))
    assert rank_flip(pair).value == value
    churn = topk_churn(pair)
    assert (churn.value, churn.n) == (value, 40)
    assert churn.note.startswith("top 4 of 40; chance 0.90")


def test_nothing_is_ranked(scored: Scored) -> None:
    assert (
        rank_flip(Pair(scored([[5]] * 4), scored([[k] for k in range(4)]))).note
        == "no two ideas are ranked by both sides"
    )


# --- the top ------------------------------------------------------------------------------------------------


def test_churn_by_hand(scored: Scored) -> None:
    """Twenty ideas, a top of two: one of the two is replaced."""
    other = [[float(k)] for k in range(20)]
    one = [*other[:17], [19.5], [18.0], [19.0]]
    assert topk_churn(Pair(scored(one, Traits()), scored(other, Traits()))).value == 0.5


def test_ties_at_the_cut_count_by_chance(scored: Scored) -> None:
    """Two places for four equal ideas, on both sides: an idea is in each top with chance 1/2, in both with 1/4; 2 - 4/4 stay."""
    rows = [[9.0]] * 4 + [[float(k)] for k in range(16)]
    rows[4:] = [[1.0]] * 16
    assert topk_churn(Pair(scored(rows), scored(rows))).value == pytest.approx(1 - (4 / 4) / 2)


def test_chance_is_what_shuffled_scores_give(scored: Scored) -> None:
    rng = np.random.default_rng(5)
    values = [
        topk_churn(Pair(scored(rng.random((40, 1)).tolist()), scored(rng.random((40, 1)).tolist()))).value
        for _ in range(60)
    ]
    assert float(np.mean([v for v in values if v is not None])) == pytest.approx(1 - 4 / 40, abs=0.05)


def test_its_own_noise_is_a_floor(scored: Scored) -> None:
    rng = np.random.default_rng(7)
    base = rng.uniform(2, 8, (60, 1))
    one, other = (scored(np.clip(rng.normal(base, 1.5, (60, 3)), 0, 10).tolist()) for _ in range(2))
    estimate = topk_churn(Pair(one, other))
    noise = float(estimate.note.rpartition("its own noise ")[2])
    assert estimate.value is not None
    assert 0.05 < noise < 0.7
    assert estimate.value == pytest.approx(noise, abs=0.35)
    steady = scored([[k / 10] * 3 for k in range(60)])
    assert topk_churn(Pair(steady, steady)).note.endswith("its own noise 0.00")
    assert "noise" not in topk_churn(Pair(steady, steady, SAME_CALLS)).note


# --- all of them --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCORES)
def test_without_scores(name: str, make_view: Callable[..., View], scored: Scored) -> None:
    says = make_view(["xxx", "yyy"], protocol="pointwise")
    assert PAIRED[name].compute(Pair(says, says)).note == "the judge gives no scores"
    apart = Pair(scored([[1, 2], []]), scored([[], [1, 2]]))
    assert PAIRED[name].compute(apart).note == "no idea has a score on both sides"
    assert PAIRED[name].compute(Pair(scored([[1]]), make_view([None], protocol="pointwise"))).value is None


@pytest.mark.parametrize("name", SCORES)
def test_missing_scores_are_counted(name: str, scored: Scored) -> None:
    rng = np.random.default_rng(2)
    rows = rng.uniform(0, 10, (12, 2)).tolist()
    estimate = PAIRED[name].compute(Pair(scored([*rows, []]), scored([*rows, [1.0, 2.0]])))
    assert estimate.n == 12
    assert "1 ideas without a score on both sides left out" in estimate.note


@pytest.mark.parametrize("name", SCORES)
def test_clusters_widen_and_one_has_no_interval(name: str, scored: Scored) -> None:
    rng = np.random.default_rng(2)
    base = np.repeat(rng.uniform(0, 8, (10, 1)), 4, axis=0)
    shift = np.repeat(rng.uniform(0, 2, (10, 1)), 4, axis=0)
    sides = [(base + shift).repeat(2, axis=1).tolist(), base.repeat(2, axis=1).tolist()]
    groups = "".join(c * 4 for c in "abcdefghij")

    def estimate(clusters: str) -> Any:
        made = [scored(side, clusters=clusters, resamplers={10: Resampler(10), 40: Resampler(40)}) for side in sides]
        return PAIRED[name].compute(Pair(*made))

    alone, together, single = estimate(""), estimate(groups), estimate("a" * 40)
    assert alone.value == pytest.approx(together.value)
    assert together.high - together.low > alone.high - alone.low
    assert (single.value, single.low) == (pytest.approx(alone.value), None)


def test_too_many_ideas_have_a_value_and_no_interval(scored: Scored, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pytest_novelty.metrics.score_pairs._MAX_IDEAS", 5)
    rows = [[float(k)] for k in range(6)]
    estimate = rank_flip(Pair(scored(rows), scored(rows)))
    assert (estimate.value, estimate.low) == (0.0, None)


def test_the_interval_of_the_top_rests_on_the_ideas_in_it(scored: Scored) -> None:
    """One of the best four of forty is replaced: at least Wilson's interval of 1 of 4, whatever the bootstrap of 40 says."""
    other = [[float(k)] for k in range(40)]
    one = [*other[:36], [9.0], *other[37:]]
    traits = Traits(score_range=(0.0, 40.0))
    estimate = topk_churn(Pair(scored(one, traits), scored(other, traits)))
    share = wilson(0.25, 4)
    assert share is not None
    assert estimate.value == 0.25
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low <= share.low + 1e-9
    assert estimate.high >= share.high - 1e-9


@pytest.mark.parametrize(("ideas", "top"), [(4, 1), (10, 1), (11, 2), (20, 2), (21, 3)])
def test_the_top_tenth_is_rounded_up(ideas: int, top: int, scored: Scored) -> None:
    view = scored([[k / 3] for k in range(ideas)])
    assert topk_churn(Pair(view, view, SAME_CALLS)).note.startswith(f"top {top} of {ideas}; chance ")


def test_a_judge_without_noise_replaces_nothing_by_noise_however_many_votes_an_idea_has(scored: Scored) -> None:
    one = scored([[float(k)] * (1 if k == 8 else 3) for k in range(10)])
    other = scored([[float(k)] * (2 if k == 8 else 3) for k in range(10)])
    assert "its own noise 0.00" in topk_churn(Pair(one, other)).note


@pytest.mark.parametrize(("ideas", "has_one"), [(12, True), (13, False)])
def test_so_many_ideas_have_no_interval_of_ranks(
    ideas: int, has_one: bool, scored: Scored, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score_pairs, "_MAX_IDEAS", 12)
    rng = np.random.default_rng(5)
    one, other = (scored(rng.uniform(0, 10, (ideas, 1)).tolist()) for _ in range(2))
    assert (rank_flip(Pair(one, other)).low is not None) == has_one
