"""Ours against base: differences by hand, tests at their level, and what is said of all variants."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import permutations
from math import hypot
from typing import Any

import numpy as np
import pytest

from pytest_novelty.claiming import find_claims
from pytest_novelty.judges.base import Traits
from pytest_novelty.metrics.claims import MEAN_SCORE, NOVEL_SHARE, WON, differences
from pytest_novelty.metrics.intervals import wilson
from pytest_novelty.metrics.view import View
from pytest_novelty.model import Axes, Contrast, Suite, Variant
from pytest_novelty.plan import SuitePlan

CONTRAST = Contrast("system", "ours", "base")
ViewOf = Callable[..., View]


def with_systems(view: View, systems: list[str]) -> View:
    """Instances whose ideas are of the systems given (pairs: one letter an idea, o b or -), and no two the same."""
    names = {"o": "ours", "b": "base", "-": None}
    made = [
        replace(
            instance,
            ideas=tuple(
                replace(idea, system=names[c], text=f"{idea.id} of {instance.id}")
                for idea, c in zip(instance.ideas, word, strict=True)
            ),
        )
        for instance, word in zip(view.instances, systems, strict=True)
    ]
    suite = replace(view.suite, instances=tuple(made), contrast=CONTRAST)
    return View(view.results, suite, view.traits, level=view.level)


def test_pairs_won_less_lost_ties_half(make_view: ViewOf) -> None:
    ballots = ["xx xx"] * 3 + ["yy yy"] + ["xx yy"] * 2 + ["-- --"] + ["xx xx"] * 2
    view = with_systems(make_view(ballots, gold=None), ["ob"] * 4 + ["ob", "bo"] + ["ob"] + ["oo", "o-"])
    (found,) = differences(view, CONTRAST)
    assert found.measure == WON
    assert (found.estimate.value, found.estimate.n) == (pytest.approx((3 - 1) / 7), 7)
    assert found.estimate.note == "1 without a verdict, counted as ties"
    assert found.p == pytest.approx(10 / 16)  # 3 : 1 of four decided pairs, two-sided


def test_ours_may_stand_second(make_view: ViewOf) -> None:
    view = with_systems(make_view(["yy yy"] * 5), ["bo"] * 5)
    (found,) = differences(view, CONTRAST)
    assert (found.estimate.value, found.p) == (1.0, pytest.approx(2 / 32))


def test_clusters_are_swapped_whole(make_view: ViewOf) -> None:
    view = with_systems(make_view(["xx xx"] * 6, clusters="aabbcc"), ["ob"] * 6)
    (found,) = differences(view, CONTRAST)
    assert found.p == pytest.approx(2 / 8)


def test_shares_of_ideas_called_novel(make_view: ViewOf) -> None:
    ballots = ["xx"] * 12 + ["yy"] * 4 + ["xx"] * 3 + ["yy"] * 12 + ["xy", "--"]
    systems = ["o"] * 16 + ["b"] * 15 + ["b", "b"]
    (found,) = differences(with_systems(make_view(ballots, protocol="pointwise", gold=None), systems), CONTRAST)
    assert found.measure == NOVEL_SHARE
    assert found.estimate.value == pytest.approx(12 / 16 - 3.5 / 16)
    assert found.estimate.note == "16 of ours, 16 of base; 1 without one left out"
    assert found.estimate.low is not None
    assert found.estimate.high is not None
    assert 0.1 < found.estimate.low < found.estimate.value < found.estimate.high < 0.85
    assert found.p is not None
    assert found.p < 0.02


@pytest.mark.parametrize("sign", [1, -1])
def test_a_difference_of_all_and_none_has_newcombes_interval(sign: int, make_view: ViewOf) -> None:
    """8 of 8 less 0 of 12: nothing varies for a bootstrap; the ends follow from the two Wilson intervals."""
    systems = ["o"] * 8 + ["b"] * 12 if sign > 0 else ["b"] * 8 + ["o"] * 12
    view = with_systems(make_view(["xx"] * 8 + ["yy"] * 12, protocol="pointwise", gold=None), systems)
    (found,) = differences(view, CONTRAST)
    every, none = wilson(1.0, 8), wilson(0.0, 12)
    assert every is not None
    assert none is not None
    near = 1 - hypot(1 - every.low, none.high)
    assert found.estimate.value == sign
    assert (found.estimate.low, found.estimate.high) == pytest.approx((near, 1.0) if sign > 0 else (-1.0, -near))


def test_no_p_of_shuffled_names_is_smaller_than_the_shuffles_allow(make_view: ViewOf) -> None:
    view = with_systems(make_view(["xx"] * 20 + ["yy"] * 20, protocol="pointwise", gold=None), ["o"] * 20 + ["b"] * 20)
    (found,) = differences(view, CONTRAST)
    assert found.p == 1 / 5_000


def test_equal_shares_have_an_interval_nonetheless(make_view: ViewOf) -> None:
    view = with_systems(make_view(["xx"] * 20, protocol="pointwise"), ["o", "b"] * 10)
    (found,) = differences(view, CONTRAST)
    assert (found.estimate.value, found.p) == (0.0, 1.0)
    assert found.estimate.low is not None
    assert found.estimate.low < -0.2


def test_mean_scores(make_view: ViewOf) -> None:
    scores = [[8.0], [7.0], [3.0], [2.0], [9.0], [1.0]]
    view = make_view(["."] * 6, protocol="pointwise", scores=scores, traits=Traits(score_range=(0, 10)))
    (found,) = differences(with_systems(view, ["o", "o", "b", "b", "o", "b"]), CONTRAST)
    assert found.measure == MEAN_SCORE
    assert found.estimate.value == pytest.approx(6.0)
    # two of the twenty ways to name three of six are as extreme
    assert found.p == pytest.approx(2 / 20, abs=0.02)


def test_clusters_with_both_systems_are_shuffled_inside(make_view: ViewOf) -> None:
    """Four areas of an idea of each: 2^4 namings, two as extreme; without clusters 70 namings of eight."""
    ballots, systems, clusters = ["xx", "yy"] * 4, ["o", "b"] * 4, "aabbccdd"
    inside = differences(with_systems(make_view(ballots, protocol="pointwise", clusters=clusters), systems), CONTRAST)[
        0
    ]
    assert inside.p == pytest.approx(2 / 16, abs=0.02)
    apart = differences(with_systems(make_view(ballots, protocol="pointwise"), systems), CONTRAST)[0]
    assert apart.p == pytest.approx(2 / 70, abs=0.01)
    whole = with_systems(
        make_view(["xx"] * 4 + ["yy"] * 4, protocol="pointwise", clusters="aabbccdd"), ["o"] * 4 + ["b"] * 4
    )
    assert differences(whole, CONTRAST)[0].p == pytest.approx(2 / 6, abs=0.03)  # which two of four clusters are ours


def test_no_such_ideas(make_view: ViewOf) -> None:
    assert differences(with_systems(make_view(["xx xx"]), ["oo"]), CONTRAST) == []
    assert differences(with_systems(make_view(["xx"], protocol="pointwise"), ["o"]), CONTRAST) == []


@pytest.mark.parametrize("protocol", ["pairwise", "pointwise"])
def test_no_difference_is_starred_in_five_percent(protocol: str, make_view: ViewOf) -> None:
    rng = np.random.default_rng(4)
    hits = 0
    for _ in range(60):
        if protocol == "pairwise":
            ballots, systems = [f"{c} {c}" for c in rng.choice(["x", "y"], 30)], ["ob"] * 30
        else:
            ballots, systems = list(rng.choice(["x", "y"], 40)), ["o", "b"] * 20
        p = differences(with_systems(make_view(ballots, protocol=protocol), systems), CONTRAST)[0].p
        hits += p is not None and p <= 0.05
    assert hits / 60 <= 0.05 + 0.07


# --- over variants ------------------------------------------------------------------------------------------


def claims_of(make_view: ViewOf, make_suite: Callable[..., Suite], ballots: dict[str, list[str]]) -> list[Any]:
    systems = ["ob"] * 20
    views = {(name, "judge"): with_systems(make_view(rows, variant=name), systems) for name, rows in ballots.items()}
    suite = next(iter(views.values())).suite
    variants = tuple(Variant(name, Axes(prompt=name), () if name == "reference" else ("prompt",)) for name in ballots)
    return find_claims(SuitePlan(suite, variants, suite.instances, ()), views, ["judge", "absent"])


def test_what_is_said_of_all_variants(make_view: ViewOf, make_suite: Callable[..., Suite]) -> None:
    (claim,) = claims_of(
        make_view,
        make_suite,
        {
            "reference": ["xx xx"] * 18 + ["yy yy"] * 2,
            "P1": ["xx xx"] * 17 + ["yy yy"] * 3,
            "P2": ["xx xx"] * 11 + ["yy yy"] * 9,
            "P3": ["xx xx"] * 9 + ["yy yy"] * 11,
        },
    )
    assert (claim.signs, claim.stars, claim.least_favourable) == (3, 2, "P3")
    assert [held.variant for held in claim.held] == ["reference", "P1", "P2", "P3"]
    assert claim.sentence.startswith("ours less base, pairs won: +80 points [")
    assert "; least favourable P3: -10 points [" in claim.sentence
    assert claim.sentence.endswith("; ours ahead in 3 of 4 variants, with a star in 2")
    assert claim.held[0].p is not None
    assert claim.held[0].p_holm is not None
    assert claim.held[0].p_holm == pytest.approx(4 * claim.held[0].p)


def test_a_star_against_the_claim_does_not_hold_it_up(make_view: ViewOf, make_suite: Callable[..., Suite]) -> None:
    turned = {"reference": ["xx xx"] * 18 + ["yy yy"] * 2, "P4": ["xx xx"] * 2 + ["yy yy"] * 18}
    (claim,) = claims_of(make_view, make_suite, turned)
    assert (claim.signs, claim.stars, claim.against) == (1, 1, 1)
    assert claim.sentence.endswith("; ours ahead in 1 of 2 variants, with a star in 1; base ahead with a star in 1")


def test_pairs_that_share_ideas_count_their_ideas(make_view: ViewOf) -> None:
    """Five ideas of ours and four of base in 20 pairs, all won; what an idea's id is does not matter."""
    view = with_systems(make_view(["xx xx"] * 20), ["ob"] * 20)
    texts = [(f"ours {k % 5}", f"base {k % 4}") for k in range(20)]
    made = tuple(
        replace(item, ideas=tuple(replace(idea, text=text) for idea, text in zip(item.ideas, pair, strict=True)))
        for item, pair in zip(view.instances, texts, strict=True)
    )
    shared = View(view.results, replace(view.suite, instances=made), view.traits)
    (found,) = differences(shared, CONTRAST)
    assert (found.estimate.value, found.estimate.high, found.estimate.n) == (1.0, 1.0, 20)
    assert found.estimate.note == "over 5 ideas of ours and 4 of base"
    assert found.p == pytest.approx(0.139, abs=1e-3)  # t of 2 with 3 degrees of freedom
    (alone,) = differences(view, CONTRAST)
    assert alone.p == pytest.approx(2 / 2**20)
    assert alone.estimate.low is not None
    assert found.estimate.low is not None
    assert found.estimate.low < alone.estimate.low


def test_one_wording(make_view: ViewOf, make_suite: Callable[..., Suite]) -> None:
    (claim,) = claims_of(make_view, make_suite, {"reference": ["xx xx"] * 20})
    assert claim.sentence.endswith("* ; one wording only".replace("* ;", "*;") + ", so nothing is known of others")


def test_without_a_reference_or_a_contrast(make_view: ViewOf, make_suite: Callable[..., Suite]) -> None:
    assert claims_of(make_view, make_suite, {"P1": ["xx xx"] * 20}) == []
    view = make_view(["xx xx"])
    planned = SuitePlan(view.suite, (Variant("reference", Axes(prompt="r")),), view.instances, ())
    assert find_claims(planned, {("reference", "judge"): view}, ["judge"]) == []


def test_permutations_are_what_shuffling_approaches() -> None:
    """The figure of the score test above, counted."""
    scores = np.array([8, 7, 3, 2, 9, 1.0])
    named = np.array([True, True, False, False, True, False])
    observed = abs(scores[named].mean() - scores[~named].mean())
    extreme = [
        abs(scores[list(p)][named].mean() - scores[list(p)][~named].mean()) >= observed - 1e-9
        for p in permutations(range(6))
    ]
    assert np.mean(extreme) == pytest.approx(2 / 20)
