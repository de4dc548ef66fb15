"""By how much a metric changes, and whether by more than chance: on counts that a hand can make."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from math import comb
from typing import Any

import numpy as np
import pytest

from pytest_novelty.judges.base import Traits
from pytest_novelty.metrics.auroc import auroc, swap_values
from pytest_novelty.metrics.catalogue import CATALOGUE
from pytest_novelty.metrics.differences import CHANGES, Change, adjusted, changes
from pytest_novelty.metrics.intervals import clopper_pearson, tango
from pytest_novelty.metrics.pairing import SAME_CALLS, Pair
from pytest_novelty.metrics.permutation import swap_test
from pytest_novelty.metrics.view import Estimate, View

ViewOf = Callable[..., View]
RIGHT, WRONG, TIED = "xxx xxx", "yyy yyy", "xxx yyy"


def of(pair: Pair) -> dict[str, Change]:
    return {change.metric: change for change in changes(pair)}


def mcnemar(b: int, c: int) -> float:
    return min(1.0, 2 * sum(comb(b + c, k) for k in range(min(b, c) + 1)) / 2 ** (b + c))


def test_every_metric_is_in_the_catalogue() -> None:
    for protocol, names in CHANGES.items():
        assert all(protocol in CATALOGUE[name].protocols for name in names)


@pytest.mark.parametrize(("gained", "lost"), [(1, 8), (0, 4), (3, 3), (6, 0)])
def test_accuracy_changes_by_the_discordant_pairs(gained: int, lost: int, make_view: ViewOf) -> None:
    one = [RIGHT] * gained + [WRONG] * lost + [RIGHT] * 20
    other = [WRONG] * gained + [RIGHT] * lost + [RIGHT] * 20
    change = of(Pair(make_view(one), make_view(other)))["strict_accuracy"]
    n = gained + lost + 20
    interval = tango(gained, lost, n)
    assert interval is not None
    assert change.estimate.value == pytest.approx((gained - lost) / n)
    assert (change.estimate.low, change.estimate.high, change.estimate.n) == (interval.low, interval.high, n)
    assert change.p == pytest.approx(mcnemar(gained, lost))
    assert change.estimate.note == f"more in {gained}, less in {lost}"


def test_no_difference_at_all_is_said(make_view: ViewOf) -> None:
    """PITFALLS 71: never a nan."""
    for name, change in of(Pair(make_view([RIGHT, TIED] * 6), make_view([RIGHT, TIED] * 6))).items():
        assert (change.estimate.value, change.p) == (0, 1.0), name
        assert change.estimate.note == "no difference in 12"


def test_the_same_calls_are_not_tested(make_view: ViewOf) -> None:
    for change in changes(Pair(make_view([RIGHT] * 5 + [WRONG]), make_view([RIGHT] * 6), SAME_CALLS)):
        assert change.p is None
        assert not change.starred


def test_undefined_on_a_side(make_view: ViewOf) -> None:
    found = of(Pair(make_view(["x x", "y y"]), make_view([RIGHT, RIGHT])))
    assert found["retest_flip_rate"].estimate.note.startswith("undefined for the variant: needs two valid votes")
    unlabelled = of(Pair(make_view([RIGHT], gold=None), make_view([RIGHT], gold=None)))
    assert unlabelled["strict_accuracy"].estimate.value is None
    assert unlabelled["strict_accuracy"].p is None


def test_position_bias_changes_sign(make_view: ViewOf) -> None:
    """From always the second shown to always the first: 2, the whole range."""
    change = of(Pair(make_view([TIED] * 12), make_view(["yyy xxx"] * 12)))["position_bias"]
    assert change.estimate.value == 2.0
    assert change.p == pytest.approx(2 / 2**12)
    assert change.estimate.low is not None
    assert change.estimate.low > 0.9


@pytest.mark.parametrize(("metric", "ballot", "reach"), [("position_bias", TIED, 2.0), ("soft_accuracy", WRONG, 1.0)])
def test_one_instance_that_changes_bounds_the_change_by_what_one_can(
    metric: str, ballot: str, reach: float, make_view: ViewOf
) -> None:
    """39 of 40 stay: the ends are the exact bounds on the shares of others, times the range of one difference."""
    pair = Pair(make_view([RIGHT] * 39 + [ballot]), make_view([RIGHT] * 40))
    estimate = of(pair)[metric].estimate
    none, one = clopper_pearson(0, 40), clopper_pearson(1, 40)
    assert none is not None
    assert one is not None
    up, down = (one, none) if metric == "position_bias" else (none, one)
    assert (estimate.low, estimate.high) == pytest.approx((-down.high * reach, up.high * reach))


def test_whole_clusters_are_swapped(make_view: ViewOf) -> None:
    one, other = [WRONG] * 12, [RIGHT] * 12
    alone = of(Pair(make_view(one), make_view(other)))["strict_accuracy"]
    together = of(Pair(make_view(one, clusters="aaabbbcccddd"), make_view(other, clusters="aaabbbcccddd")))[
        "strict_accuracy"
    ]
    assert (alone.p, together.p) == (pytest.approx(2 / 2**12), pytest.approx(2 / 2**4))


# --- F1 and AUROC -------------------------------------------------------------------------------------------


def ideas(make_view: ViewOf, said: str, gold: str, **options: Any) -> View:
    return make_view([c * 3 for c in said], protocol="pointwise", gold=list(gold), **options)


def test_few_changed_outcomes_have_counts_and_a_test(make_view: ViewOf) -> None:
    gold = "xy" * 10
    change = of(Pair(ideas(make_view, "xy" * 8 + "yxyx", gold), ideas(make_view, gold, gold)))["macro_f1"]
    assert change.estimate.value == pytest.approx(0.8 - 1)
    assert (change.estimate.low, change.estimate.high, change.estimate.note) == (None, None, "4 outcomes changed")
    # all 16 assignments of four changed outcomes: as extreme are only the two that put them on one side
    assert change.p == pytest.approx(2 / 16)


@pytest.mark.parametrize(("changed", "has_one"), [(9, False), (10, True)])
def test_ten_changed_outcomes_are_not_few(changed: int, has_one: bool, make_view: ViewOf) -> None:
    gold = "x" * 20 + "y" * 20
    said = "y" * changed + "x" * (20 - changed) + "y" * 20
    change = of(Pair(ideas(make_view, said, gold), ideas(make_view, gold, gold)))["macro_f1"]
    assert change.estimate.note == f"{changed} outcomes changed"
    assert (change.estimate.low is not None) == has_one


def test_many_changed_outcomes_have_an_interval(make_view: ViewOf) -> None:
    gold = "xy" * 30
    change = of(Pair(ideas(make_view, "xy" * 20 + "yx" * 10, gold), ideas(make_view, gold, gold)))["macro_f1"]
    assert change.estimate.value == pytest.approx(2 / 3 - 1)
    assert change.estimate.low is not None
    assert change.estimate.high is not None
    assert -0.5 < change.estimate.low < change.estimate.value < change.estimate.high < -0.15
    assert change.p is not None
    assert change.p < 0.001


def test_swapping_scores_moves_the_area_linearly() -> None:
    """Every way to swap the two scores of nine ideas, against the areas themselves."""
    rng = np.random.default_rng(0)
    one, other = (rng.integers(0, 6, 9).astype(float) for _ in range(2))
    positive = np.array([True, False] * 4 + [True])
    values = swap_values(one, other, positive)
    scale = 4 * positive.sum() * (~positive).sum()
    for bits in product([False, True], repeat=9):
        swapped = np.array(bits)
        first, second = np.where(swapped, other, one), np.where(swapped, one, other)
        assert np.where(swapped, -values, values).sum() / scale == pytest.approx(
            auroc(first, positive) - auroc(second, positive)
        )


def test_the_area_of_scores_that_turn_round(make_view: ViewOf) -> None:
    gold = "xy" * 8
    up = [[8.0 - 5 * (c == "y") + k / 10] * 3 for k, c in enumerate(gold)]
    down = [[11 - x for x in row] for row in up]
    views = [
        make_view(["..."] * 16, protocol="pointwise", gold=list(gold), scores=s, traits=Traits()) for s in (down, up)
    ]
    change = of(Pair(views[0], views[1]))["auroc"]
    assert change.estimate.value == -1
    assert change.p is not None
    assert change.p == pytest.approx(2 / 2**8)  # the novel ones decide: against them the others' two scores balance
    assert of(Pair(views[0], views[1]))["accuracy"].estimate.value is None


# --- several variants ---------------------------------------------------------------------------------------


def test_holm_is_over_the_variants_each_metric_for_itself() -> None:
    nothing = Estimate(0.0)
    found = adjusted(
        [
            [Change("a", nothing, 0.01), Change("b", nothing, None)],
            [Change("a", nothing, 0.04), Change("b", nothing, 0.04)],
            [Change("a", nothing, None), Change("b", nothing, 0.5)],
        ]
    )
    assert [change.p_holm for change in found[0]] == [0.02, None]
    assert [change.p_holm for change in found[1]] == [0.04, 0.08]
    assert [change.p_holm for change in found[2]] == [None, 0.5]
    assert [change.starred for change in found[1]] == [True, False]
    assert adjusted([]) == []


def test_a_star_at_no_difference_is_rare(make_view: ViewOf) -> None:
    """Two runs of a coin, 150 times: the swap test stars accuracy in at most 5 % (a BCa star does up to 10 %)."""
    rng = np.random.default_rng(6)
    stars = 0
    for _ in range(150):
        one, other = (
            make_view([" ".join("".join(row) for row in rng.choice(["x", "y"], (2, 3))) for _ in range(24)])
            for _ in range(2)
        )
        p = swap_test(one.correct.astype(int) - other.correct.astype(int))
        stars += p <= 0.05
    assert stars / 150 <= 0.05 + 0.03
