"""The largest, smallest and mean over variants, and that the interval of the largest fails no more than it may."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np
import pytest

from pytest_novelty.judges.base import Traits
from pytest_novelty.metrics.catalogue import CATALOGUE, PAIRED
from pytest_novelty.metrics.families import compute_all, extreme, over_variants
from pytest_novelty.metrics.intervals import clopper_pearson
from pytest_novelty.metrics.pairing import SAME_CALLS, Pair
from pytest_novelty.metrics.view import Estimate, View

RIGHT, WRONG = "xxx xxx", "yyy yyy"
ViewOf = Callable[..., View]


def pairs(make_view: ViewOf, *flips: int, n: int = 40) -> dict[str, Pair]:
    """So many of ``n`` verdicts turned under each variant."""
    reference = make_view([RIGHT] * n)
    return {f"P{k}": Pair(make_view([WRONG] * m + [RIGHT] * (n - m)), reference) for k, m in enumerate(flips, 1)}


def test_the_largest(make_view: ViewOf) -> None:
    """Lower bound of the largest at level 1 - .05/3, upper bound at 95 %."""
    estimate = over_variants(PAIRED["flip_rate"], pairs(make_view, 2, 8, 4), "max")
    strict, usual = clopper_pearson(8, 40, 1 - 0.05 / 3), clopper_pearson(8, 40)
    assert strict is not None
    assert usual is not None
    assert (estimate.value, estimate.n, estimate.note) == (0.2, 40, "most under P2")
    assert (estimate.low, estimate.high) == (pytest.approx(strict.low), pytest.approx(usual.high))
    assert estimate.low < usual.low
    assert estimate.method == "Clopper-Pearson, max of 3"


def test_bounds_may_come_from_different_variants() -> None:
    usual = {"a": Estimate(0.5, 0.1, 0.9, 10), "b": Estimate(0.4, 0.35, 0.45, 100)}
    strict = {"a": Estimate(0.5, 0.05, 0.95, 10), "b": Estimate(0.4, 0.33, 0.47, 100)}
    largest = extreme(usual, strict, "max")
    assert (largest.value, largest.low, largest.high) == (0.5, 0.33, 0.9)
    smallest = extreme(usual, strict, "min")
    assert (smallest.value, smallest.low, smallest.high, smallest.note) == (0.4, 0.1, 0.47, "least under b")
    open_ended = extreme({"a": Estimate(0.5, None, None, 1)}, {"a": Estimate(0.5, None, None, 1)}, "max")
    assert (open_ended.value, open_ended.low) == (0.5, None)


def test_one_variant_is_itself(make_view: ViewOf) -> None:
    members = pairs(make_view, 5)
    (alone,) = compute_all(PAIRED["vote_shift"], list(members.values()))
    largest = over_variants(PAIRED["vote_shift"], members, "max")
    assert (largest.value, largest.low, largest.high, largest.method) == (
        alone.value,
        alone.low,
        alone.high,
        alone.method,
    )


def test_the_smallest_of_a_metric_of_one_view(make_view: ViewOf) -> None:
    views = {"reference": make_view([RIGHT] * 40), "P4": make_view([WRONG] * 20 + [RIGHT] * 20)}
    estimate = over_variants(CATALOGUE["strict_accuracy"], views, "min")
    assert (estimate.value, estimate.note) == (0.5, "least under P4")


def test_the_mean_is_over_instances_first(make_view: ViewOf) -> None:
    estimate = over_variants(PAIRED["flip_rate"], pairs(make_view, 2, 8, 5), "mean")
    assert (estimate.value, estimate.n, estimate.note) == (pytest.approx(15 / 120), 40, "over 3 variants")
    # per instance the share of variants that turn it: 2 are turned by all, 3 by two, 3 by one
    assert estimate.sd == pytest.approx(np.std([1] * 2 + [2 / 3] * 3 + [1 / 3] * 3 + [0] * 32))
    shift = over_variants(PAIRED["vote_shift"], pairs(make_view, 2, 8, 5), "mean")
    assert shift.value == pytest.approx(sqrt(15 / 120))
    assert shift.method.startswith("root of ")


def test_the_mean_is_of_what_all_variants_judged(make_view: ViewOf) -> None:
    reference = make_view([RIGHT] * 4)
    members = {
        "P1": Pair(make_view([WRONG, RIGHT, RIGHT, None]), reference),
        "P2": Pair(make_view([None, WRONG, RIGHT, RIGHT]), reference),
    }
    estimate = over_variants(PAIRED["flip_rate"], members, "mean")
    assert (estimate.value, estimate.n) == (0.25, 2)


def test_the_mean_of_what_is_no_mean(make_view: ViewOf) -> None:
    views = {name: make_view(["xxx", "yyy"], protocol="pointwise", gold=["x", "y"]) for name in ("reference", "P1")}
    assert over_variants(CATALOGUE["macro_f1"], views, "mean").note == "macro_f1 is no mean over instances"


@pytest.mark.parametrize("over", ["max", "mean"])
def test_what_is_undefined_is_left_out_and_named(over: str, make_view: ViewOf) -> None:
    members = pairs(make_view, 4, 8)
    members["votes"] = Pair(members["P1"].one, members["P1"].other, SAME_CALLS)
    estimate = over_variants(PAIRED["vote_shift"], members, over)
    assert estimate.value is not None
    assert estimate.note.endswith("undefined under votes")
    only = over_variants(PAIRED["vote_shift"], {"votes": members["votes"]}, over)
    assert (only.value, only.note) == (None, "same calls")
    assert over_variants(PAIRED["vote_shift"], {}, over).note == "no variant was run"


def test_a_metric_takes_its_own_kind_of_view(make_view: ViewOf) -> None:
    with pytest.raises(TypeError, match="flip_rate cannot be computed from a View"):
        compute_all(PAIRED["flip_rate"], [make_view([RIGHT])])


def test_the_largest_of_twelve_fails_falsely_no_more_than_it_may(make_view: ViewOf) -> None:
    """STATISTICS.md 1: uncorrected, the largest of 12 variants at the threshold lies wholly above it in up to 35 %."""
    rng = np.random.default_rng(9)
    truth, n, runs = 0.2, 154, 400
    corrected = plain = 0
    for _ in range(runs):
        counts = rng.binomial(n, truth, 12)
        found = [clopper_pearson(int(c), n) for c in counts]
        strict = [clopper_pearson(int(c), n, 1 - 0.05 / 12) for c in counts]
        plain += any(i is not None and i.low > truth for i in found)
        corrected += any(i is not None and i.low > truth for i in strict)
    assert plain / runs > 0.15
    assert corrected / runs <= 0.025 + 0.015


@pytest.mark.parametrize("over", ["max", "min"])
def test_a_variant_without_votes_leaves_the_interval_open(over: str, make_view: ViewOf) -> None:
    """It may not pass for want of valid answers; it may still fail."""
    members = pairs(make_view, 4, 30)
    members["P3"] = Pair(make_view(["--- ---"] * 40), members["P1"].other)
    estimate = over_variants(PAIRED["vote_shift"], members, over)
    assert estimate.note.endswith("undefined under P3")
    if over == "max":
        assert estimate.high == 1.0
        assert estimate.low is not None
        assert estimate.low > 0.5
    else:
        assert estimate.low == 0.0
    assert PAIRED["vote_shift"].compute(members["P3"]).note == "one side has no vote for a label"
    flips = over_variants(PAIRED["flip_rate"], members, "max")
    assert (flips.value, flips.note) == (1.0, "most under P3")  # invalid is a label of its own


@pytest.mark.parametrize("over", ["max", "min", "mean"])
@pytest.mark.parametrize("name", [name for name, metric in PAIRED.items() if metric.is_mean])
def test_an_interval_over_variants_contains_its_value(name: str, over: str, make_view: ViewOf) -> None:
    """Scores of a judge that fell by 2.5 points, and labels of one that moved a little: nothing is cut to [0, 1]."""
    if PAIRED[name].protocols == ("pointwise",):
        traits = Traits(score_range=(0.0, 10.0))
        rng = np.random.default_rng(1)

        def view(shift: float) -> View:
            scores = [list(row) for row in 5 + shift + rng.random((30, 3))]
            return make_view(["..."] * 30, protocol="pointwise", scores=scores, traits=traits)

        reference = view(0.0)
        members = {f"P{k}": Pair(view(-2.5), reference) for k in range(3)}
    else:
        members = pairs(make_view, 2, 8, 5)
    estimate = over_variants(PAIRED[name], members, over)
    assert estimate.value is not None
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low - 1e-12 <= estimate.value <= estimate.high + 1e-12
    if name == "score_shift":
        assert estimate.value == pytest.approx(-2.5, abs=0.3)
        assert estimate.low > -3.5


def test_a_mean_is_open_for_a_variant_that_nobody_knows_of(make_view: ViewOf) -> None:
    """One of three variants gave no vote: its share of the mean may be anything."""
    members = pairs(make_view, 2, 2)
    known = over_variants(PAIRED["vote_shift"], members, "mean")
    members["dead"] = Pair(make_view(["--- ---"] * 40), members["P1"].other)
    estimate = over_variants(PAIRED["vote_shift"], members, "mean")
    assert estimate.value == known.value
    assert known.high is not None
    assert known.low is not None
    assert (estimate.low, estimate.high) == (pytest.approx(2 * known.low / 3), pytest.approx((2 * known.high + 1) / 3))
    assert estimate.is_open
    assert "undefined under dead" in estimate.note
