"""The sentence follows from the facts, and says no more."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_novelty.attribution import (
    CAUSES,
    COIN,
    NOTHING,
    ORDER,
    SAME,
    SILENCED,
    TOGETHER,
    UNKNOWN,
    VARIANT,
    Facts,
    attribute,
    name_change,
    points_with_interval,
    tell_evidence,
)
from pytest_novelty.metrics.differences import Change
from pytest_novelty.metrics.power import Seen
from pytest_novelty.metrics.view import Estimate

SINGLE = {
    "retest_flip_rate": Estimate(0.1, 0.05, 0.2, 120),
    "position_bias": Estimate(0.05, -0.05, 0.15, 120),
    "excess_order_flip": Estimate(0.01, 0.0, 0.03, 120),
}
COMPARED = {
    "vote_shift": Estimate(0.31, 0.24, 0.39, 120),
    "flip_rate": Estimate(0.25, 0.18, 0.33, 120),
    "score_shift": Estimate(-0.8, -1.0, -0.6, 120),
    "score_rms_shift": Estimate(1.2, 1.0, 1.4, 120),
}
QUIET = Facts(("prompt",), 120, SINGLE, SINGLE, COMPARED, moved_p=0.6, seen=Seen(0.14))
MOVED = replace(QUIET, moved_p=0.001, noise=0.12)


def test_the_wording_moves_it() -> None:
    assert attribute(MOVED) == (
        VARIANT,
        "the wording moves it (vote shift 31 points [24, 39], 12 % would flip by its own noise)",
    )
    assert attribute(replace(MOVED, noise=None))[1] == "the wording moves it (vote shift 31 points [24, 39])"
    assert attribute(replace(MOVED, moved_p=0.05))[0] == VARIANT
    assert attribute(replace(MOVED, moved_p=0.0501))[0] == NOTHING


@pytest.mark.parametrize(
    ("changed", "subject", "verb"),
    [
        (("format",), "the rendering", "moves"),
        (("related_work",), "the related work", "moves"),
        (("effort",), "the effort", "moves"),
        (("params",), "the parameters", "move"),
        (("temperature",), "the temperature", "moves"),
        (("prompt", "effort"), "the wording and the effort", "move"),
        ((), "the variant", "moves"),
    ],
)
def test_axes_decide_the_noun(changed: tuple[str, ...], subject: str, verb: str) -> None:
    sentence = attribute(replace(MOVED, changed=changed))[1]
    assert sentence.startswith(f"{subject} {verb} it")
    assert name_change(changed) == (subject, verb == "move")
    assert ("(2 axes changed at once)" in sentence) == (len(changed) == 2)


def test_it_moves_it_and_follows_the_position_anyway() -> None:
    cause, sentence = attribute(replace(MOVED, order_p=(0.001, 0.02)))
    assert cause == VARIANT
    assert sentence.endswith("; it also follows the position")


def test_together() -> None:
    after = {**SINGLE, "position_bias": Estimate(0.6, 0.5, 0.7, 120)}
    assert attribute(replace(MOVED, variant=after, together_p=0.01)) == (
        TOGETHER,
        "order and wording together: the lean to the idea shown first goes from +5 to +60 points, vote shift 31 points [24, 39], "
        "12 % would flip by its own noise",
    )
    without = {name: estimate for name, estimate in SINGLE.items() if name != "position_bias"}
    assert "lean" not in attribute(replace(MOVED, variant=without, together_p=0.01))[1]


def test_together_with_two_axes() -> None:
    said = attribute(replace(MOVED, changed=("prompt", "format"), together_p=0.01))[1]
    assert said.startswith("order together with the wording and the rendering (2 axes changed at once): ")


def test_together_without_a_lean() -> None:
    """Votes that turn with the order, one way or the other, have no lean; what changes is said."""
    reference = {**MOVED.reference, "excess_order_flip": Estimate(0.49, 0.4, 0.6, 120)}
    variant = {
        **MOVED.variant,
        "position_bias": MOVED.reference["position_bias"],
        "excess_order_flip": Estimate(-0.01, 0, 0.1, 120),
    }
    said = attribute(replace(MOVED, reference=reference, variant=variant, together_p=0.01))[1]
    assert "what the order does to a vote goes from 70 to 0 points" in said


def test_it_follows_the_position() -> None:
    single = {**SINGLE, "excess_order_flip": Estimate(0.36, 0.3, 0.5, 120)}
    cause, sentence = attribute(replace(QUIET, reference=single, order_p=(0.01, 0.03)))
    assert cause == ORDER
    assert sentence == (
        "it follows the position (60 points beyond noise); no effect found in n = 120; an effect above 14 points would have been seen 4 times in 5"
    )
    for order_p in ((0.01, 0.2), (0.2, 0.01), (None, 0.01), (None, None)):
        assert attribute(replace(QUIET, reference=single, order_p=order_p))[0] == NOTHING


@pytest.mark.parametrize(
    ("low", "high", "is_coin"), [(0.45, 0.55, True), (0.34, 0.5, True), (0.3, 0.6, False), (0.4, 0.49, False)]
)
def test_it_is_a_coin(low: float, high: float, is_coin: bool) -> None:
    decided = Estimate(0.5, low, high, 120)
    facts = replace(QUIET, decided=(decided, decided))
    cause, sentence = attribute(facts)
    assert (cause == COIN) == is_coin
    assert sentence.startswith("it is a coin (asked again it changes 50 % of its votes); ") == is_coin
    sure = Estimate(0.1, 0.05, 0.2, 120)
    assert attribute(replace(facts, decided=(decided, sure)))[0] == NOTHING  # a coin under one wording only
    assert attribute(replace(facts, decided=(decided, None)))[0] == NOTHING


def test_a_variant_that_takes_votes_away() -> None:
    """Whatever the votes that are left say: "no effect" would be false."""
    taken = replace(QUIET, lost=(0.47, 0.001))
    assert attribute(taken) == (
        SILENCED,
        "the wording takes 47 % of the votes away; 25 % of verdicts change; among the rest no effect found in n = 120; an effect "
        "above 14 points would have been seen 4 times in 5",
    )
    assert attribute(replace(taken, moved_p=None))[0] == SILENCED
    assert attribute(replace(QUIET, lost=(0.02, 0.3)))[0] == NOTHING
    cause, sentence = attribute(replace(taken, moved_p=0.001))
    assert (cause, sentence.endswith("; the wording takes 47 % of the votes away; 25 % of verdicts change")) == (
        VARIANT,
        True,
    )
    assert attribute(replace(QUIET, lost=(-0.2, 0.001)))[1].startswith("the wording brings 20 % more valid votes")


def test_n_is_of_the_instances_compared() -> None:
    compared = {**QUIET.compared, "excess_flip": Estimate(0.0, 0.0, 0.05, 64)}
    assert attribute(replace(QUIET, compared=compared))[1].startswith("no effect found in n = 64;")


def test_no_effect_found() -> None:
    assert attribute(QUIET) == (
        NOTHING,
        "no effect found in n = 120; an effect above 14 points would have been seen 4 times in 5",
    )
    assert attribute(replace(QUIET, seen=Seen(0.01)))[1].endswith(
        "an effect above 1 point would have been seen 4 times in 5"
    )
    assert attribute(replace(QUIET, seen=Seen())) == (
        NOTHING,
        "no effect found in n = 120; so few would not have shown any",
    )
    by_scores = replace(QUIET, seen=Seen(drift=0.256), by_scores=True)
    assert attribute(by_scores)[1] == (
        "no effect found in n = 120; a drift of the mean score above 0.26 would have been seen 4 times in 5"
    )
    assert attribute(replace(QUIET, seen=Seen(0.14, 0.256)))[1] == (
        "no effect found in n = 120; an effect above 14 points or a drift of the mean score above 0.26 would have been seen "
        "4 times in 5"
    )


def test_the_same_calls() -> None:
    assert attribute(replace(QUIET, same_calls="same calls: some of the reference's votes", moved_p=None)) == (
        SAME,
        "same calls: some of the reference's votes; 25 % of verdicts change",
    )


def test_what_cannot_be_told() -> None:
    compared = {**COMPARED, "vote_shift": Estimate.undefined("needs two valid votes of a request on both sides")}
    assert attribute(replace(QUIET, compared=compared, moved_p=None)) == (
        UNKNOWN,
        "cannot be told from noise: needs two valid votes of a request on both sides; 25 % of verdicts change",
    )
    assert attribute(replace(QUIET, compared={}, moved_p=None))[1] == "cannot be told from noise: no votes to compare"


def test_scores() -> None:
    assert attribute(replace(MOVED, by_scores=True)) == (
        VARIANT,
        "the wording moves its scores (mean score -0.8 [-1, -0.6], 1.2 RMS beyond noise)",
    )
    assert "unknown" in attribute(replace(MOVED, by_scores=True, compared={}))[1]


def test_causes_are_the_schemas() -> None:
    from pytest_novelty.validation import load_schema

    schema = load_schema("report")["properties"]["variants"]["items"]["properties"]["cause"]["enum"]
    assert tuple(schema) == CAUSES


def test_a_change_over_what_was_not_checked_is_a_range() -> None:
    known, open_ = Estimate(0.5, 0.3, 0.7, 24), Estimate(0.5, None, None, 24, bounds=(0.25, 0.75))
    told = [tell_evidence([Change("verified_f1", each, 0.001, 0.001)]) for each in (known, open_)]
    assert told[0] == "the evidence changes: verified_f1 +50 points [+30, +70]"
    assert told[1] == "the evidence changes: verified_f1 +25 to +75 points"


def test_an_undefined_share_is_not_0_points() -> None:
    told = [
        points_with_interval(each) for each in (Estimate.undefined("no votes"), Estimate(0.0), Estimate(0.1, 0.0, 0.2))
    ]
    assert told == ["unknown", "0 points", "10 points [0, 20]"]
