"""What a variant changes, on votes that a hand can count; and published figures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb, sqrt
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_novelty.judges.base import Traits
from pytest_novelty.metrics.catalogue import PAIRED
from pytest_novelty.metrics.classification import accuracy, soft_accuracy, tie_rate
from pytest_novelty.metrics.intervals import clopper_pearson
from pytest_novelty.metrics.pairing import SAME_CALLS, Pair
from pytest_novelty.metrics.stability import excess_order_flip, order_inconsistency, pull_of_order
from pytest_novelty.metrics.variants import (
    excess_flip,
    flip_rate,
    null_flip_rate,
    null_of,
    reversal_rate,
    transitions,
    vote_shift,
)
from pytest_novelty.metrics.view import View

ViewOf = Callable[..., View]
RIGHT, WRONG, TIED, FAILED, HALF = "xxx xxx", "yyy yyy", "xxx yyy", "--- ---", "xxx ---"


@pytest.fixture
def pair_of(make_view: ViewOf) -> Callable[..., Pair]:
    def build(one: Sequence[str | None], other: Sequence[str | None], same_calls: str = "", **options: Any) -> Pair:
        return Pair(make_view(one, variant="P4", **options), make_view(other, **options), same_calls)

    return build


PairOf = Callable[..., Pair]

# --- flips --------------------------------------------------------------------------------------------------


def test_every_pair_of_outcomes(pair_of: PairOf) -> None:
    """All labels against all: a flip wherever they differ, a reversal only from one idea to the other."""
    labels = [RIGHT, WRONG, TIED, HALF, "aaa aaa", FAILED]
    one, other = zip(*[(a, b) for a in labels for b in labels], strict=True)
    pair = pair_of(one, other)
    assert flip_rate(pair).value == 30 / 36
    assert reversal_rate(pair).value == 2 / 36
    table = transitions(pair)
    assert list(table) == ["first", "tie", "second", "incomplete", "abstained", "invalid"]
    assert all(set(row.values()) == {1} for row in table.values())


def test_flips_have_exact_intervals(pair_of: PairOf) -> None:
    pair = pair_of([WRONG] * 4 + [RIGHT] * 36, [RIGHT] * 40)
    estimate, exact = flip_rate(pair), clopper_pearson(4, 40)
    assert exact is not None
    assert (estimate.value, estimate.low, estimate.high, estimate.n) == (0.1, exact.low, exact.high, 40)


def test_transitions_go_from_the_reference_to_the_variant(pair_of: PairOf) -> None:
    pair = pair_of([WRONG, WRONG, TIED, RIGHT], [RIGHT, TIED, RIGHT, RIGHT])
    assert transitions(pair) == {
        "first": {"first": 1, "tie": 1, "second": 1},
        "tie": {"first": 0, "tie": 0, "second": 1},
        "second": {"first": 0, "tie": 0, "second": 0},
    }
    ideas = pair_of(["xxx", "yyy"], ["xxx", "xxy"], protocol="pointwise")
    assert transitions(ideas)["novel"] == {"novel": 1, "tie": 0, "not novel": 1}


def test_only_what_both_judged(pair_of: PairOf) -> None:
    pair = pair_of([RIGHT, None, WRONG], [RIGHT, RIGHT, RIGHT])
    assert (len(pair), flip_rate(pair).value, flip_rate(pair).n) == (2, 0.5, 2)
    assert flip_rate(pair_of([RIGHT, None], [None, RIGHT])).value is None


def test_flips_of_a_stratum(pair_of: PairOf) -> None:
    pair = pair_of([WRONG, RIGHT, RIGHT], [RIGHT] * 3, area="aab")
    assert (flip_rate(pair.only("area", "a")).value, flip_rate(pair.only("area", "b")).value) == (0.5, 0.0)


def test_clusters_widen(pair_of: PairOf) -> None:
    one, other = [WRONG] * 6 + [RIGHT] * 34, [RIGHT] * 40
    alone, together = (
        flip_rate(pair_of(one, other)),
        flip_rate(pair_of(one, other, clusters="".join(c * 4 for c in "abcdefghij"))),
    )
    assert alone.high is not None
    assert together.high is not None
    assert together.high > alone.high


# --- beyond noise -------------------------------------------------------------------------------------------


def test_a_turned_instance_in_four(pair_of: PairOf) -> None:
    pair = pair_of([WRONG, RIGHT, RIGHT, RIGHT], [RIGHT] * 4)
    assert (excess_flip(pair).value, vote_shift(pair).value) == (0.25, 0.5)
    # the turned one pools to 3:3 in each order: outcomes of re-splits differ unless both tie
    by_hand = 1 - sum(
        (comb(3, i) * comb(3, 3 - i) / 20) * (comb(3, j) * comb(3, 3 - j) / 20)
        for i in range(4)
        for j in range(4)
        if i + j == 3
    )
    assert null_flip_rate(pair).value == pytest.approx(by_hand / 4)


@settings(deadline=None)
@given(st.lists(st.tuples(*[st.integers(0, 3)] * 4), min_size=1, max_size=12))
def test_the_order_of_sides_does_not_matter(make_view: ViewOf, tallies: list[tuple[int, int, int, int]]) -> None:
    def ballots(places: tuple[int, int]) -> list[str]:
        return [" ".join("x" * row[k] + "y" * (3 - row[k]) for k in places) for row in tallies]

    one, other = make_view(ballots((0, 1))), make_view(ballots((2, 3)))
    for metric in (flip_rate, reversal_rate, excess_flip, vote_shift, null_flip_rate):
        there, back = metric(Pair(one, other)), metric(Pair(other, one))
        assert there.value == pytest.approx(back.value)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(st.text("xyt-", min_size=2, max_size=3), st.text("xyt-", min_size=2, max_size=3)),
        min_size=1,
        max_size=8,
    ),
    st.data(),
)
def test_accuracy_moves_no_more_than_verdicts(
    make_view: ViewOf, ballots: list[tuple[str, str]], data: st.DataObject
) -> None:
    """STATISTICS.md 1: |accuracy(v) - accuracy(r)| <= flip rate on the same labelled instances, strict and soft."""
    other = [data.draw(st.permutations(pair)) for pair in ballots]
    golds = [data.draw(st.sampled_from("xy")) for _ in ballots]
    one, reference = (make_view([" ".join(pair) for pair in side], gold=golds) for side in (ballots, other))
    bound = flip_rate(Pair(one, reference)).value
    assert bound is not None
    for metric in (accuracy, soft_accuracy):
        first, second = metric(one).value, metric(reference).value
        assert first is not None
        assert second is not None
        assert abs(first - second) <= bound + 1e-12


@pytest.mark.parametrize("name", sorted(set(PAIRED) - {"flip_rate", "reversal_rate"}))
def test_what_the_same_calls_cannot_say(name: str, pair_of: PairOf) -> None:
    pair = pair_of([WRONG, RIGHT], [RIGHT, RIGHT], SAME_CALLS)
    estimate = PAIRED[name].compute(pair)
    assert estimate.value is None
    if PAIRED[name].protocols == ("pointwise", "pairwise"):
        assert estimate.note == "same calls"
    assert null_of(pair) is None
    assert flip_rate(pair).value == 0.5


@pytest.mark.parametrize(
    ("one", "other", "note"),
    [
        (["x x"], [RIGHT], "needs two valid votes of a request on both sides"),
        (["x-- x--"], [RIGHT], "needs two valid votes of a request on both sides"),
    ],
)
def test_one_vote_has_no_shift(one: list[str], other: list[str], note: str, pair_of: PairOf) -> None:
    pair = pair_of(one, other)
    for metric in (excess_flip, vote_shift):
        assert (metric(pair).value, metric(pair).note) == (None, note)


def test_different_orders(make_view: ViewOf) -> None:
    pair = Pair(make_view(["xxx", "yyy"], orders=("ab",)), make_view([RIGHT, RIGHT]))
    assert flip_rate(pair).value == 0.5
    for metric in (excess_flip, vote_shift, null_flip_rate):
        assert metric(pair).note == "the two were asked in different orders"


def test_instances_left_out_are_counted(pair_of: PairOf) -> None:
    estimate = vote_shift(pair_of([WRONG, FAILED, RIGHT], [RIGHT] * 3))
    assert (estimate.value, estimate.n) == (sqrt(0.5), 2)
    assert estimate.note == (
        "1 instances with fewer than two valid votes of a request left out; 33% of the requests lose their votes, and count as anything"
    )
    assert estimate.is_open


def test_lost_votes_raise_the_upper_bound_and_only_where_the_reference_has_some(pair_of: PairOf) -> None:
    """Of 40 pairs 20 have no vote under the variant: the square may be up to half and half of what the others bound."""
    whole = vote_shift(pair_of([RIGHT] * 20, [RIGHT] * 20))
    half = vote_shift(pair_of([RIGHT] * 20 + [FAILED] * 20, [RIGHT] * 40))
    assert whole.high is not None
    assert half.high is not None
    assert (half.value, half.n) == (0.0, 20)
    assert half.high**2 == pytest.approx((20 * whole.high**2 + 20) / 40)
    both = vote_shift(pair_of([RIGHT] * 20 + [FAILED] * 20, [RIGHT] * 20 + [FAILED] * 20))
    assert both.high == pytest.approx(whole.high)
    assert not both.is_open


def test_the_share_of_lost_votes(pair_of: PairOf) -> None:
    pair = pair_of([RIGHT, FAILED, RIGHT, RIGHT], [RIGHT] * 4)
    assert pair.lost.tolist() == [0, 1, 0, 0]
    assert pair.lost_share == 0.25
    assert pair.silenced.tolist() == [0, 1, 0, 0]


# --- scores that make labels --------------------------------------------------------------------------------


def test_labels_from_scores_flip(make_view: ViewOf) -> None:
    traits = Traits(threshold=5.0)
    one = make_view(["...", "..."], protocol="pointwise", scores=[[8, 8, 8], [1, 1, 9]], traits=traits)
    other = make_view(["...", "..."], protocol="pointwise", scores=[[2, 2, 2], [1, 1, 2]], traits=traits)
    pair = Pair(one, other)
    assert flip_rate(pair).value == 0.5
    # 8 8 8 2 2 2: 8 in two votes or more makes a side novel, so that sides always differ; 1 1 9 1 1 2: none reaches 5
    assert null_flip_rate(pair).value == 0.5
    assert vote_shift(pair).note == "needs two valid votes of a request on both sides"


def test_scores_without_labels(make_view: ViewOf) -> None:
    view = make_view(["...", "..."], protocol="pointwise", scores=[[8, 8, 8], [1, 1, 9]])
    for metric in (flip_rate, reversal_rate, null_flip_rate):
        assert metric(Pair(view, view)).note == "needs a label from both sides"
    assert transitions(Pair(view, view)) == {}


def test_labels_made_in_different_ways(make_view: ViewOf) -> None:
    says = make_view(["xxx"], protocol="pointwise")
    scores = make_view(["..."], protocol="pointwise", scores=[[8, 8, 8]], traits=Traits(threshold=5.0))
    assert null_flip_rate(Pair(says, scores)).note == "the two are labelled in different ways"
    fitted = make_view(
        ["..."], protocol="pointwise", scores=[[8, 8, 8]], traits=Traits(threshold=5.0), cross_fitted=True
    )
    assert null_flip_rate(Pair(fitted, fitted)).note == "labels come from thresholds chosen by cross-validation"


# --- published figures --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ties", "percent"),
    [(19, 12.3), (7, 4.5), (1, 0.6), (10, 6.5), (5, 3.2), (54, 35.1), (28, 18.2), (4, 2.6), (8, 5.2), (11, 7.1)],
)
def test_tie_rates(ties: int, percent: float, make_view: ViewOf) -> None:
    """Old Ideas, table 6, reference rows: counts of 154 pairs."""
    view = make_view([TIED] * ties + [RIGHT] * (154 - ties))
    assert round(100 * (tie_rate(view).value or 0), 1) == percent
    inconsistency = order_inconsistency(view).value
    assert inconsistency is not None
    assert inconsistency >= ties / 154  # odd votes, all valid: every tie is one of the orders


def test_the_flip_bound(pair_of: PairOf) -> None:
    """Old Ideas, section 5: 52.6 points of strict accuracy between two wordings of 154 pairs are at least 81 changed verdicts."""
    pair = pair_of([WRONG] * 81 + [RIGHT] * 73, [RIGHT] * 154)
    assert round(100 * ((accuracy(pair.other).value or 0) - (accuracy(pair.one).value or 0)), 1) == 52.6
    assert (flip_rate(pair).value or 0) * 154 == pytest.approx(81)


def test_two_runs_of_a_coin(make_view: ViewOf) -> None:
    """STATISTICS.md 6: rerun flip .6660, reversal .2363, and the null flip rate says the same; no excess."""
    rng = np.random.default_rng(2)
    one, other = (
        make_view([" ".join("".join(rng.choice(["x", "y"], 3)) for _ in range(2)) for _ in range(3000)])
        for _ in range(2)
    )
    pair = Pair(one, other)
    for metric, value in ((flip_rate, 0.6660), (reversal_rate, 0.2363), (null_flip_rate, 0.6660), (excess_flip, 0.0)):
        assert metric(pair).value == pytest.approx(value, abs=0.025)


@pytest.mark.parametrize("turned", [0, 1, 4, 5])
def test_few_turned_instances_among_noise_bound_the_shift(turned: int, pair_of: PairOf) -> None:
    """The upper end is at least that of so many instances turned among so many, the others as they are; from five on BCa stands."""
    noisy = [(word, other) for word in ("xxx xxx", "xxy xxy", "xyy xxx") for other in ("xxx xxy", "xxy xxx", "xxx xyy")]
    rows = (noisy * 5)[: 40 - turned] + [(WRONG, RIGHT)] * turned
    pair = pair_of([one for one, _ in rows], [other for _, other in rows])
    large = pair.excess > 0.5
    assert int(large.sum()) == turned
    estimate, share = excess_flip(pair), clopper_pearson(turned, 40)
    assert share is not None
    others = float(pair.excess[~large].mean())
    bound = others + share.high * (1 - others)
    assert estimate.high is not None
    if turned < 5:
        assert estimate.high == pytest.approx(bound)
        assert estimate.method.endswith("widened")
    else:
        assert estimate.high < bound
    shift = vote_shift(pair)
    assert shift.high == pytest.approx(sqrt(estimate.high))


def test_the_pull_of_the_order_has_the_same_bound(make_view: ViewOf) -> None:
    noisy = ["xxx xxy", "xxy xxx", "xyy xxy", "xxy xyy"]
    view = make_view([*noisy * 9, "xxx xxx", "xxx xxx", TIED, TIED])
    estimate, share = excess_order_flip(view), clopper_pearson(2, 40)
    values = pull_of_order(view)
    assert share is not None
    others = float(values[values <= 0.5].mean())
    assert estimate.high == pytest.approx(others + share.high * (1 - others))
