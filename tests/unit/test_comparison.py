"""Two judges on the same instances: differences, tests and distances from counts that a hand can make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import comb, sqrt
from typing import Any

import numpy as np
import pytest

from pytest_novelty.judges.base import Traits
from pytest_novelty.metrics.comparison import Comparison, compare_all
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.variants import vote_shift
from pytest_novelty.metrics.view import View
from pytest_novelty.model import ERROR, OK, TIE, Vote
from pytest_novelty.outcomes import CaseResult, make_outcome

ViewOf = Callable[..., View]
RIGHT, WRONG, TIED, FAILED = "xx xx", "yy yy", "xx yy", "-- --"


@pytest.fixture
def view_of(make_suite: Callable[..., Any], make_instance: Callable[..., Any]) -> ViewOf:
    def build(
        ballots: Sequence[str | None],
        clusters: str = "",
        orders: Sequence[str] = ("ab", "ba"),
        gold: str | None = "x",
        traits: Traits = Traits(),  # noqa: B008
        **options: Any,
    ) -> View:
        """Pairs in which x is the novel idea, one word an order (t a tie, - a failure); None: not judged. One cluster letter each."""
        letters = clusters or "." * len(ballots)
        made = [
            make_instance("pairwise", f"i{k:04}", gold=gold, as_of="2016", strata={"group": letter})
            for k, letter in enumerate(letters)
        ]
        suite = make_suite("pairwise", *made, cluster="group" if clusters else None)
        results = []
        for instance, ballot in zip(made, ballots, strict=True):
            if ballot is None:
                continue
            votes = [
                Vote(order, k, ERROR if letter == "-" else OK, "", {"t": TIE, "-": None}.get(letter, letter))
                for order, word in zip(orders, ballot.split(), strict=True)
                for k, letter in enumerate(word)
            ]
            outcome = make_outcome(suite, instance, votes, orders, traits)
            results.append(CaseResult("judge", suite.name, "reference", instance.id, outcome))
        return View(results, suite, traits, **options)

    return build


def compare(one: View, other: View) -> Comparison:
    (only,) = compare_all({"reference": [("one", one), ("other", other)]})
    return only


def tallied(view_of: ViewOf, both: int, first: int, second: int, neither: int, clusters: str = "") -> Comparison:
    """Both judges right on ``both`` pairs, only the first on ``first`` ..."""
    one = [*[RIGHT] * both, *[RIGHT] * first, *[WRONG] * second, *[WRONG] * neither]
    other = [*[RIGHT] * both, *[WRONG] * first, *[RIGHT] * second, *[WRONG] * neither]
    return compare(view_of(one, clusters), view_of(other, clusters))


def mcnemar(b: int, c: int) -> float:
    """Exact: twice the binomial tail of b + c fair coins."""
    return min(1.0, 2 * sum(comb(b + c, k) for k in range(min(b, c) + 1)) / 2 ** (b + c))


def bounds_of_tango(b: int, c: int, n: int) -> list[float]:
    """Roots of (b - c - n d)^2 = z^2 n (2 q + d (1 - d)), q the constrained share, on a fine grid (Tango 1998)."""
    d = np.linspace(-1, 1, 200_001)[1:-1]
    linear = (2 * n - b + c) * d - b - c
    q = (np.sqrt(linear**2 + 8 * n * c * d * (1 - d)) - linear) / (4 * n)
    kept = d[(b - c - n * d) ** 2 <= 1.959964**2 * n * (2 * q + d * (1 - d))]
    return [float(kept.min()), float(kept.max())]


# --- accuracy -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("both", "first", "second", "neither", "p"),
    [
        (10, 6, 0, 4, 2 / 64),
        (10, 0, 6, 4, 2 / 64),
        (10, 5, 1, 4, 2 * (1 + 6) / 64),
        (3, 3, 3, 3, 1),
        (0, 8, 2, 0, 2 * (1 + 10 + 45) / 1024),
    ],
)
def test_difference_of_accuracies(both: int, first: int, second: int, neither: int, p: float, view_of: ViewOf) -> None:
    found = tallied(view_of, both, first, second, neither)
    n = both + first + second + neither
    difference = found.accuracy_difference
    assert (difference.value, difference.n, found.n) == (pytest.approx((first - second) / n), n, n)
    assert [difference.low, difference.high] == pytest.approx(bounds_of_tango(first, second, n), abs=2e-5)
    assert (found.p, mcnemar(first, second)) == (pytest.approx(p), pytest.approx(p))
    assert difference.note == f"only first {first}, only second {second} right"
    assert found.flip_rate.value == pytest.approx((first + second) / n)
    assert found.starred == (p <= 0.05)


def test_no_difference_at_all(view_of: ViewOf) -> None:
    found = tallied(view_of, 7, 0, 0, 5)
    assert (found.accuracy_difference.value, found.p, found.p_holm, found.needed) == (0, 1, 1, None)
    assert found.accuracy_difference.note == "no difference in 12"
    assert found.flip_rate.value == 0
    assert not found.starred


def test_ties_and_failures_are_not_right_and_are_labels_of_their_own(view_of: ViewOf) -> None:
    found = compare(view_of([RIGHT, TIED, FAILED, TIED]), view_of([TIED, FAILED, FAILED, WRONG]))
    assert (found.accuracy_difference.value, found.flip_rate.value) == (1 / 4, 3 / 4)


@pytest.mark.parametrize(("failures", "value", "n"), [("wrong", 1 / 3, 3), ("tie", 1 / 3, 3), ("drop", 0, 1)])
def test_a_dropped_failure_of_either_drops_the_pair(failures: str, value: float, n: int, view_of: ViewOf) -> None:
    one = view_of([RIGHT, RIGHT, FAILED], failures=failures)
    other = view_of([RIGHT, FAILED, WRONG], failures=failures)
    difference = compare(one, other).accuracy_difference
    assert (difference.value, difference.n) == (pytest.approx(value), n)


def test_a_changed_share_needs_as_many_changed_verdicts(view_of: ViewOf) -> None:
    """Old Ideas, section 5: 52.6 points on 154 pairs are at least 81 flips."""
    found = tallied(view_of, 20, 90, 9, 35)
    assert round(100 * (found.accuracy_difference.value or 0), 1) == 52.6
    assert (found.flip_rate.value or 0) * 154 >= 81


# --- how many more ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("both", "first", "second", "neither", "needed"),
    [
        # difference 3/20 = .15, variance 5/20 - .0225: 7.849 x .2275 / .0225 = 79.4
        (10, 4, 1, 5, 80),
        # difference 1/40, variance 5/40 - 1/1600: 7.849 x .124375 x 1600 = 1562, more than ten times 40
        (30, 3, 2, 5, None),
        (10, 13, 9, 8, None),  # 7.849 x (22/40 - 1/100) x 100 = 424
        (10, 6, 0, 4, None),  # decided
        (10, 3, 3, 4, None),  # nothing to decide
    ],
)
def test_needed(both: int, first: int, second: int, neither: int, needed: int | None, view_of: ViewOf) -> None:
    assert tallied(view_of, both, first, second, neither).needed == needed


# --- several judges -----------------------------------------------------------------------------------------


def test_three_judges_are_adjusted_together(view_of: ViewOf) -> None:
    """a-b: 8 to 0, p = 1/128; a-c: 6 to 0, p = 1/32; b-c: 0 to 2, p = 1/2. Holm: x 3, x 2, x 1."""
    views = [
        ("a", view_of([RIGHT] * 10)),
        ("b", view_of([WRONG] * 8 + [RIGHT] * 2)),
        ("c", view_of([WRONG] * 6 + [RIGHT] * 4)),
    ]
    found = compare_all({"P4": views})
    assert [(item.first, item.second) for item in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [item.p for item in found] == pytest.approx([1 / 128, 1 / 32, 1 / 2])
    assert [item.p_holm for item in found] == pytest.approx([3 / 128, 2 / 32, 1 / 2])
    assert [item.starred for item in found] == [True, False, False]
    assert {(item.suite, item.variant) for item in found} == {("made", "P4")}


def test_one_judge_has_nobody_to_be_compared_with(view_of: ViewOf) -> None:
    assert compare_all({"reference": [("a", view_of([RIGHT]))]}) == []


# --- votes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "square"),
    [
        ("xxx xxx", "xxx xxx", 0),
        ("xxx xxx", "yyy yyy", 1),
        ("xxx xxx", "yyy xxx", 1 / 2),  # the mean over orders
        ("xxx yyy", "yyy xxx", 1),  # both tie, and no vote is the same
        ("xxx xxx", "xyy xxx", 1 / 6),  # 2/3 differ, less half of 2/3
        ("xxy xxx", "xxy xxx", -1 / 9),  # (4/9 - 2/3) / 2: no more than noise
        ("xxx x--", "yyy yyy", 1),  # an order with one vote says nothing
        ("xxt xxx", "ttt xxx", (2 / 3 - 1 / 3) / 2),
    ],
)
def test_vote_shift_is_the_root_of_the_excess_flip(one: str, other: str, square: float, view_of: ViewOf) -> None:
    estimate = vote_shift(Pair(view_of([one]), view_of([other])))
    assert estimate.value == pytest.approx(sqrt(max(0.0, square)))
    assert estimate.method.startswith("root of ")


def test_vote_shift_of_a_set_is_a_root_mean_square(view_of: ViewOf) -> None:
    one = view_of(["xxx xxx", "xxx xxx", "xxy xxx", "xxx ---"])
    other = view_of(["yyy yyy", "xyy xxx", "xxy xxx", "--- yyy"])
    estimate = vote_shift(Pair(one, other))
    assert (estimate.value, estimate.n) == (pytest.approx(sqrt((1 + 1 / 6 - 1 / 9) / 3)), 3)
    assert estimate.low is not None
    assert estimate.high is not None
    assert 0 <= estimate.low < estimate.value < estimate.high <= 1


@pytest.mark.parametrize("p", [0.5, 0.8])
def test_equal_probabilities_do_not_shift_votes(p: float, view_of: ViewOf) -> None:
    """The square is unbiased: over many instances it is about 0, where the votes of two coins differ in half of all pairs."""
    rng = np.random.default_rng(7)
    one, other = (
        view_of([" ".join("".join(rng.choice(["x", "y"], 3, p=[p, 1 - p])) for _ in range(2)) for _ in range(1500)])
        for _ in range(2)
    )
    estimate = vote_shift(Pair(one, other))
    assert estimate.value == pytest.approx(0, abs=0.16)
    assert estimate.low == 0


def test_two_runs_of_a_coin_differ_as_often_as_they_must(view_of: ViewOf) -> None:
    """STATISTICS.md 6: .6660, by all 32 x 32 pairs of outcomes in their proportions (10 ties, 11 each way)."""
    ballots = ["xxx yyy"] * 10 + ["xxx xxx"] * 11 + ["yyy yyy"] * 11
    found = compare(view_of([b for b in ballots for _ in range(32)]), view_of(ballots * 32))
    assert found.flip_rate.value == pytest.approx(0.6660, abs=5e-5)


# --- what is compared ---------------------------------------------------------------------------------------


def test_only_what_both_judged_counts(view_of: ViewOf) -> None:
    one = view_of([RIGHT, RIGHT, RIGHT, None, WRONG])
    other = view_of([WRONG, None, RIGHT, RIGHT, WRONG])
    found = compare(one, other)
    assert (found.n, found.accuracy_difference.n, found.flip_rate.n, found.vote_shift.n) == (3, 3, 3, 3)
    assert found.accuracy_difference.value == pytest.approx(1 / 3)
    assert found.vote_shift.value == pytest.approx(sqrt(1 / 3))


def test_nothing_in_common(view_of: ViewOf) -> None:
    found = compare(view_of([RIGHT, None]), view_of([None, RIGHT]))
    assert (found.n, found.p, found.p_holm, found.needed) == (0, None, None, None)
    for estimate in (found.accuracy_difference, found.flip_rate, found.vote_shift):
        assert (estimate.value, estimate.note) == (None, "no instance was judged by both")


@pytest.mark.parametrize(
    "options", [{"gold": None}, {"traits": Traits(retrieves=True)}], ids=["no gold", "may have looked it up"]
)
def test_no_accuracy_to_compare(options: dict[str, Any], view_of: ViewOf) -> None:
    for one, other in ((options, {"gold": options.get("gold", "x")}), ({"gold": options.get("gold", "x")}, options)):
        found = compare(view_of([RIGHT, WRONG], **one), view_of([WRONG, WRONG], **other))
        assert (found.accuracy_difference.value, found.p, found.needed) == (None, None, None)
        assert found.accuracy_difference.note == "needs gold labels and a label from both judges"
        assert found.flip_rate.value == 1 / 2


def test_a_judge_that_only_scores_has_no_accuracy_to_compare(make_suite: Any, make_instance: Any) -> None:
    instance = make_instance()
    suite = make_suite("pointwise", instance)
    votes = ([Vote(None, 0, label="novel")], [Vote(None, 0, score=3.0)])
    says, scores = (
        View(
            [CaseResult("j", "made", "reference", "i1", make_outcome(suite, instance, v, (None,), Traits()))],
            suite,
            Traits(),
        )
        for v in votes
    )
    for one, other in ((says, scores), (scores, says)):
        found = compare(one, other)
        assert found.accuracy_difference.note == "needs gold labels and a label from both judges"
        assert (found.flip_rate.value, found.flip_rate.note) == (None, "needs a label from both judges")
    assert (compare(says, says).accuracy_difference.value, compare(says, says).flip_rate.value) == (0, 0)


def test_votes_of_different_orders_are_not_compared(view_of: ViewOf) -> None:
    found = compare(view_of(["xx", "xx"], orders=("ab",)), view_of([RIGHT, WRONG]))
    assert (found.vote_shift.value, found.vote_shift.note) == (None, "the two were asked in different orders")
    assert found.flip_rate.value == 1 / 2


def test_one_vote_an_order_has_no_shift(view_of: ViewOf) -> None:
    found = vote_shift(Pair(view_of(["x x"]), view_of(["yyy yyy"])))
    assert (found.value, found.note) == (None, "needs two valid votes of a request on both sides")


# --- clusters -----------------------------------------------------------------------------------------------


def test_whole_clusters_are_swapped(view_of: ViewOf) -> None:
    """Twelve discordant pairs, all for the first: 2 / 2^12 if they were independent, 2 / 2^4 as four clusters of three."""
    alone = tallied(view_of, 0, 12, 0, 0)
    together = tallied(view_of, 0, 12, 0, 0, clusters="aaabbbcccddd")
    assert (alone.p, together.p) == (pytest.approx(2 / 4096), pytest.approx(2 / 16))
    assert alone.accuracy_difference.low is not None
    assert together.accuracy_difference.low is not None
    assert together.accuracy_difference.low < alone.accuracy_difference.low


def test_one_cluster_has_no_interval(view_of: ViewOf) -> None:
    difference = tallied(view_of, 2, 2, 0, 2, clusters="aaaaaa").accuracy_difference
    assert (difference.value, difference.low, difference.high) == (pytest.approx(1 / 3), None, None)
