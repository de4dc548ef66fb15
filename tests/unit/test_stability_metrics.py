"""Noise and the pull of the order, on tallies small enough to count by hand, and in closed form for a coin."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import comb, sqrt
from typing import Any

import numpy as np
import pytest

from pytest_novelty.judges.base import Traits
from pytest_novelty.metrics.classification import accuracy, soft_accuracy, tie_rate
from pytest_novelty.metrics.estimating import SMALLEST_EXCESS
from pytest_novelty.metrics.stability import (
    disagreement,
    excess,
    excess_order_flip,
    mean_over_orders,
    order_inconsistency,
    position_bias,
    retest_flip_rate,
)
from pytest_novelty.metrics.view import Estimate, View
from pytest_novelty.model import ERROR, NOT_NOVEL, NOVEL, OK, TIE, Vote
from pytest_novelty.outcomes import CaseResult, make_outcome

LABELS = {"x": "x", "y": "y", "t": TIE, "1": NOVEL, "0": NOT_NOVEL}
ViewOf = Callable[..., View]


@pytest.fixture
def view_of(make_suite: Callable[..., Any], make_instance: Callable[..., Any]) -> ViewOf:
    def build(*ballots: str, orders: tuple[str | None, ...] = ("ab", "ba"), protocol: str = "pairwise") -> View:
        """One instance a ballot; one word an order: x y ideas, 1 0 novel or not, t a tie, ? an abstention, - a failure."""
        instances = [make_instance(protocol, f"i{place:02}") for place in range(len(ballots))]
        suite = make_suite(protocol, *instances)
        results = []
        for instance, ballot in zip(instances, ballots, strict=True):
            votes = [
                Vote(order, k, ERROR if letter == "-" else OK, "", LABELS.get(letter), None, letter == "?")
                for order, letters in zip(orders, ballot.split(), strict=True)
                for k, letter in enumerate(letters)
            ]
            outcome = make_outcome(suite, instance, votes, orders, Traits())
            results.append(CaseResult("judge", suite.name, "reference", instance.id, outcome))
        return View(results, suite, Traits())

    return build


def shown(estimate: Estimate) -> tuple[float | None, int, str]:
    return estimate.value, estimate.n, estimate.note


# --- votes of one request -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "value"),
    [
        ((3, 0, 0), 0.0),
        ((2, 1, 0), 2 / 3),
        ((0, 1, 2), 2 / 3),
        ((1, 1, 1), 1.0),
        ((2, 2, 0), 2 / 3),
        ((3, 1, 0), 1 / 2),
        ((1, 0, 0), np.nan),
        ((0, 0, 0), np.nan),
    ],
)
def test_disagreement_of_two_votes_drawn_without_replacement(counts: tuple[int, ...], value: float) -> None:
    assert disagreement(np.array([counts])) == pytest.approx([value], nan_ok=True)


@pytest.mark.parametrize(
    ("ballot", "value"),
    [
        ("xxx xxx", 0),
        ("xxx yyy", 0),  # the order is another request
        ("xxy xxx", 1 / 3),
        ("xxy xyy", 2 / 3),
        ("xxt xxx", 1 / 3),  # a declared tie is a vote
        ("xx- xyy", 1 / 3),
        ("x-- xyy", 2 / 3),  # an order with one vote says nothing
        ("x?? xyy", 2 / 3),
        ("xy x?", 1),
    ],
)
def test_retest_flip(ballot: str, value: float, view_of: ViewOf) -> None:
    assert shown(retest_flip_rate(view_of(ballot))) == (pytest.approx(value), 1, "")


@pytest.mark.parametrize(("ballots", "value"), [(["110"], 2 / 3), (["111", "10-", "11?"], 1 / 3)])
def test_retest_flip_of_one_idea(ballots: list[str], value: float, view_of: ViewOf) -> None:
    assert retest_flip_rate(view_of(*ballots, orders=(None,), protocol="pointwise")).value == pytest.approx(value)


def test_retest_flip_with_one_order(view_of: ViewOf) -> None:
    assert retest_flip_rate(view_of("xxy", "yyy", orders=("ab",))).value == pytest.approx(1 / 3)


def test_retest_flip_says_how_many_instances_it_leaves_out(view_of: ViewOf) -> None:
    left_out = "2 instances with fewer than two valid votes left out"
    assert shown(retest_flip_rate(view_of("x-- y--", "xxy xyy", "--- ---"))) == (pytest.approx(2 / 3), 1, left_out)


def test_one_vote_an_order_has_no_retest_and_no_excess(view_of: ViewOf) -> None:
    view = view_of("x y", "y y")
    assert shown(retest_flip_rate(view)) == (None, 0, "needs two valid votes of a request")
    assert shown(excess_order_flip(view)) == (None, 0, "needs two valid votes in each order")
    assert order_inconsistency(view).value == 0.5
    assert position_bias(view).value == 0.5


# --- excess -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "value"),
    [
        ((3, 0), (3, 0), 0),
        ((3, 0), (0, 3), 1),
        ((2, 1), (2, 1), 4 / 9 - 2 / 3),
        ((3, 0), (2, 1), 1 / 3 - 1 / 3),
        ((3, 0), (1, 2), 2 / 3 - 1 / 3),
        ((1, 1), (1, 1), 1 / 2 - 1),
        ((4, 0), (1, 1), 1 / 2 - 1 / 2),
        ((2, 0, 0), (0, 1, 2), 1 - 1 / 3),
        ((1, 0), (3, 0), np.nan),
        ((3, 0), (0, 0), np.nan),
    ],
)
def test_excess_is_what_differs_beyond_each_sides_own_noise(
    one: tuple[int, ...], other: tuple[int, ...], value: float
) -> None:
    assert excess(np.array([one]), np.array([other])) == pytest.approx([value], nan_ok=True)
    assert excess(np.array([other]), np.array([one])) == pytest.approx([value], nan_ok=True)


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.5), (0.8, 0.8), (0.9, 0.2), (1.0, 0.0), (0.6, 0.5)])
@pytest.mark.parametrize(("k", "m"), [(2, 2), (3, 3), (5, 2)])
def test_excess_is_the_squared_change_of_the_probability_in_expectation(p: float, q: float, k: int, m: int) -> None:
    expected = sum(
        comb(k, a) * p**a * (1 - p) ** (k - a) * comb(m, b) * q**b * (1 - q) ** (m - b)
        * excess(np.array([[a, k - a]]), np.array([[b, m - b]]))[0]
        for a in range(k + 1)
        for b in range(m + 1)
    )  # fmt: skip
    assert expected == pytest.approx((p - q) ** 2)


def test_the_smallest_excess_is_the_smallest() -> None:
    tallies = [tally for tally in product(range(6), repeat=3) if sum(tally) >= 2]
    pairs = np.array(list(product(tallies, tallies)))
    assert excess(pairs[:, 0], pairs[:, 1]).min() == pytest.approx(SMALLEST_EXCESS)


def test_the_mean_over_orders_is_of_those_that_have_a_value() -> None:
    values = np.array([[0.2, 0.4], [0.2, np.nan], [np.nan, np.nan]])
    assert mean_over_orders(values) == pytest.approx([0.3, 0.2, np.nan], nan_ok=True)


@pytest.mark.parametrize(
    ("ballot", "value"),
    [("xxx xxx", 0), ("xxx yyy", 1), ("yyy xxx", 1), ("xxy xxy", -2 / 9), ("xxx xyy", 1 / 3), ("xx- ttt", 1)],
)
def test_excess_order_flip(ballot: str, value: float, view_of: ViewOf) -> None:
    assert shown(excess_order_flip(view_of(ballot))) == (pytest.approx(value), 1, "")


def test_the_interval_of_an_excess_is_clipped_at_zero_and_the_estimate_is_not(view_of: ViewOf) -> None:
    estimate = excess_order_flip(view_of(*["xxy xxy"] * 12))
    assert (estimate.value, estimate.low) == (pytest.approx(-2 / 9), 0.0)
    assert estimate.high is not None
    assert estimate.high >= 0


def test_excess_order_flip_needs_two_votes_in_both_orders(view_of: ViewOf) -> None:
    note = "1 instances without valid votes in both orders left out"
    assert shown(excess_order_flip(view_of("xxx yyy", "x-- xxx"))) == (1.0, 1, note)


# --- position -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ballot", "value"),
    [
        ("xxx yyy", 1),  # always the first shown
        ("yyy xxx", -1),
        ("xxx xxx", 0),
        ("xxy yyy", 2 / 3),
        ("xyy xyy", 0),
        ("x-- yyx", 2 / 3),  # orders weigh equally: pooled votes would give 1/2
        ("xtt yyx", 2 / 3),  # a declared tie is not decided
        ("x?? yyx", 2 / 3),
    ],
)
def test_position_bias(ballot: str, value: float, view_of: ViewOf) -> None:
    assert shown(position_bias(view_of(ballot))) == (pytest.approx(value), 1, "")


def test_position_bias_knows_the_orders_by_name(view_of: ViewOf) -> None:
    assert position_bias(view_of("yyy xxx", orders=("ba", "ab"))).value == 1


@pytest.mark.parametrize("ballot", ["ttt yyy", "xxx ---", "??? ???"])
def test_position_bias_needs_decided_votes_in_both_orders(ballot: str, view_of: ViewOf) -> None:
    note = "1 instances without valid votes in both orders left out"
    assert shown(position_bias(view_of(ballot))) == (None, 0, note)
    assert shown(position_bias(view_of(ballot, "yyy xxx"))) == (-1.0, 1, note)


@pytest.mark.parametrize(
    ("ballot", "turns"),
    [
        ("xxx xxx", 0),
        ("xxx yyy", 1),
        ("yyy xxx", 1),
        ("xxy yyx", 1),
        ("xxy xyx", 0),
        ("xxx yyt", 1),
        ("xxx ttt", 1),
        ("ttt ttt", 0),
        ("xy- yx-", 0),  # both split
        ("xy- xxx", 1),  # one split
        ("xxt xtt", 0),
    ],
)
def test_order_inconsistency(ballot: str, turns: int, view_of: ViewOf) -> None:
    assert shown(order_inconsistency(view_of(ballot))) == (turns, 1, "")


def test_order_inconsistency_leaves_out_instances_without_votes_in_an_order(view_of: ViewOf) -> None:
    note = "2 instances without valid votes in both orders left out"
    view = view_of("xxx yyy", "--- xxx", "yyy ???", "xxx xxx")
    assert shown(order_inconsistency(view)) == (0.5, 2, note)


def test_opposite_biases_hide_from_position_bias_and_not_from_excess(view_of: ViewOf) -> None:
    view = view_of("xxx yyy", "yyy xxx")
    assert (position_bias(view).value, excess_order_flip(view).value) == (0, 1)


@pytest.mark.parametrize("metric", [position_bias, order_inconsistency, excess_order_flip])
def test_position_does_not_apply_to_one_order_or_one_idea(metric: Callable[[View], Estimate], view_of: ViewOf) -> None:
    assert shown(metric(view_of("xxx", orders=("ab",)))) == (None, 0, "only one order was asked")
    assert metric(view_of("111", orders=(None,), protocol="pointwise")).note == "one idea has no order"


# --- the coin, in closed form (REFERENCE_VALUES.md, STATISTICS.md 6) ----------------------------------------


def patterns(k: int) -> list[str]:
    """Every pattern of k votes in each of two orders: each is as likely as any other for a coin."""
    return [f"{''.join(votes[:k])} {''.join(votes[k:])}" for votes in product("xy", repeat=2 * k)]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_ties_of_a_coin(k: int, view_of: ViewOf) -> None:
    assert tie_rate(view_of(*patterns(k))).value == pytest.approx(comb(2 * k, k) / 4**k)


@pytest.mark.parametrize(
    ("metric", "value"),
    [
        (tie_rate, 20 / 64),
        (accuracy, 22 / 64),
        (soft_accuracy, 1 / 2),
        (retest_flip_rate, 1 / 2),
        (order_inconsistency, 1 / 2),
        (excess_order_flip, 0),
        (position_bias, 0),
    ],
)
def test_a_coin_with_three_votes_an_order(metric: Callable[[View], Estimate], value: float, view_of: ViewOf) -> None:
    estimate = metric(view_of(*patterns(3)))
    assert (estimate.value, estimate.n) == (pytest.approx(value, abs=1e-12), 64)


def test_the_spread_of_a_coins_position_bias(view_of: ViewOf) -> None:
    assert position_bias(view_of(*patterns(3))).sd == pytest.approx(sqrt(1 / 6))
