"""What is said of two judges: each clause follows from its test, and the cost from both judges' prices."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty import evaluate
from pytest_novelty.comparing import describe
from pytest_novelty.metrics.comparison import Comparison
from pytest_novelty.metrics.differences import Change
from pytest_novelty.metrics.power import Seen
from pytest_novelty.metrics.view import Estimate
from pytest_novelty.model import Axes, Suite, Variant
from pytest_novelty.reports.terminal import render
from pytest_novelty.results import Report

NOTHING = Estimate.undefined("")
BASE = Comparison(
    "new", "old", "s", "reference", 120, Estimate(0.04, -0.02, 0.1, 120), Estimate(0.2, 0.1, 0.3, 120), Estimate(0.31, 0.24, 0.39, 120),
    p=0.4, p_holm=0.8, shift_p=0.2, shift_p_holm=0.4, seen=Seen(0.14),
)  # fmt: skip


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "no difference between their votes found in n = 120; a shift above 14 points would have been seen 4 times in 5"),
        ({"seen": Seen()}, "no difference between their votes found in n = 120; so few would not have shown any"),
        ({"shift_p_holm": 0.05, "noise": 0.12}, "its votes differ from old's beyond noise (vote shift 31 points [24, 39], 12 % would differ by their own noise)"),
        ({"shift_p_holm": 0.01, "by_scores": True}, "its scores differ from old's beyond noise"),
        ({"shift_p": None, "shift_p_holm": None, "untested": "why"}, "how far they lie apart cannot be told (why)"),
        ({}, "which of the two is right more often is open (+4 points [-2, +10])"),
        ({"accuracy_difference": Estimate(0.04, 0.01, 0.1, 120)}, "is open (+4 points [+1, +10], by itself apart, not among all the comparisons)"),
        ({"p_holm": 0.05}, "it is right more often (+4 points [-2, +10])"),
        ({"p_holm": 0.01, "accuracy_difference": Estimate(-0.04, -0.1, -0.02, 120)}, "it is right less often (-4 points [-10, -2])"),
        ({"rank_flip": Estimate(0.3, 0.2, 0.4, 120)}, "it ranks 30 % [20, 40] of the pairs of ideas otherwise"),
        ({"changes": (Change("tie_rate", Estimate(0.1, 0.05, 0.15, 120), 0.01, 0.02),)}, "it also differs in tie_rate (+10 points [+5, +15])"),
    ],
)  # fmt: skip
def test_clauses(changed: dict[str, Any], said: str) -> None:
    assert said in describe(replace(BASE, **changed))


def test_what_is_not_said() -> None:
    silent = replace(
        BASE, accuracy_difference=NOTHING, changes=(Change("tie_rate", Estimate(0.1, 0, 0.2, 120), 0.5, 0.9),)
    )
    assert (
        describe(silent)
        == "no difference between their votes found in n = 120; a shift above 14 points would have been seen 4 times in 5"
    )
    twice = replace(BASE, p_holm=0.01, changes=(Change("strict_accuracy", BASE.accuracy_difference, 0.01, 0.01),))
    assert "differs in" not in describe(twice)  # it is said already
    assert (
        describe(Comparison("a", "b", "s", "reference", 0, NOTHING, NOTHING, NOTHING))
        == "no instance was judged by both"
    )


# --- whole runs -----------------------------------------------------------------------------------------------


def judge_of(share: float, cost: float | None = 0.01, *, first: float = 0.0) -> Callable[[Any], dict[str, Any]]:
    """Prefers the idea with the smaller title in ``share`` of the instances, the same ones for all; or the first shown."""

    def judge(request: Any) -> dict[str, Any]:
        rng = random.Random(request.instance_id)
        titles = [idea.title for idea in request.ideas]
        wanted = min(titles) if rng.random() < share else max(titles)
        return {"winner": "A" if rng.random() < first else "AB"[titles.index(wanted)]}

    judge.version, judge.cost_usd_per_call = "1", cost  # type: ignore[attr-defined]
    return judge


@pytest.fixture
def suite(make_suite: Callable[..., Suite], make_instance: Callable[..., Any], tmp_path: Path) -> Suite:
    return make_suite("pairwise", *[make_instance("pairwise", f"i{k:02}", gold="x") for k in range(40)])


def run(suite: Suite, **options: Any) -> Report:
    judges = {
        "good": judge_of(0.95),
        "near": judge_of(0.9, 0.03),
        "bad": judge_of(0.1),
        "lean": judge_of(0.95, first=1.0),
    }
    return evaluate(judges, suite, votes=2, **options)


def test_against_a_reference_judge(suite: Suite) -> None:
    found = {item.first: item for item in run(suite, reference="good").comparisons}
    assert set(found) == {"near", "bad", "lean"}
    assert "its votes differ from good's beyond noise" in found["bad"].sentence
    assert "it is right less often" in found["bad"].sentence
    assert "position_bias (+100 points" in found["lean"].sentence
    assert {change.metric for change in found["lean"].changes if change.starred} >= {"tie_rate", "position_bias"}
    assert found["bad"].transitions["first"]["second"] == round(40 * found["bad"].flip_rate.value)  # type: ignore[operator]
    assert found["lean"].transitions["first"]["tie"] > 30


def test_holm_is_over_the_judges(suite: Suite) -> None:
    """Of three judges against one, the least p counts three times; of their changes as often as there are changes."""
    found = run(suite, reference="good").comparisons
    least = min(found, key=lambda item: item.shift_p or 0.0)
    assert least.shift_p_holm == pytest.approx(min(1.0, 3 * (least.shift_p or 0.0)))
    tested = [change for item in found for change in item.changes if change.p is not None]
    assert len(tested) > 10
    least_p, least_holm = (min(getattr(change, name) for change in tested) for name in ("p", "p_holm"))
    assert least_holm == pytest.approx(len(tested) * least_p)


def test_holm_is_over_the_variants_too(make_suite: Callable[..., Suite], make_instance: Callable[..., Any]) -> None:
    """Two judges under three wordings are three comparisons."""
    axes = {name: Axes(prompt="pairwise/reference", params={"p": name}) for name in ("a", "b")}
    variants = {name: Variant(name, each, ("params",)) for name, each in axes.items()}
    made = make_suite("pairwise", *[make_instance("pairwise", f"i{k:02}", gold="x") for k in range(40)])
    made = replace(made, variants={"reference": Variant("reference", Axes(prompt="pairwise/reference")), **variants})
    found = evaluate({"good": judge_of(0.95), "bad": judge_of(0.7)}, made, votes=2, variants=["all"]).comparisons
    assert len(found) == 3
    least = min(found, key=lambda item: item.shift_p or 1.0)
    assert least.shift_p_holm == pytest.approx(min(1.0, 3 * (least.shift_p or 1.0)))


def test_what_deciding_costs_is_of_both_judges(suite: Suite) -> None:
    """4 calls an instance, for 1 and 3 cents."""
    item = next(item for item in run(suite, reference="good").comparisons if item.first == "near")
    assert item.needed is not None
    further = item.needed - 40
    assert (
        item.advice
        == f"about {item.needed} instances would decide ({further} more, about ${0.16 * further:.2f}, as declared)"
    )


def test_all_pairs_without_a_reference(suite: Suite) -> None:
    found = run(suite).comparisons
    assert len(found) == 6
    assert all(item.sentence and not item.changes and item.rank_flip.value is None for item in found)


def test_what_a_person_reads(suite: Suite) -> None:
    text = " ".join(render(run(suite, reference="good"), width=200).split())
    assert "Judges compared on made (points, 95 % interval" in text
    assert "bad - good: its votes differ from good's beyond noise" in text
    assert "verdicts of good, and of bad instead, first and second as the suite has them:" in text
    assert "ranks turned" not in text


def test_judges_that_score(make_suite: Callable[..., Suite], make_instance: Callable[..., Any]) -> None:
    """On one scale scores are tested; on two only ranks are compared."""

    def scoring(factor: float, top: float) -> Callable[[Any], dict[str, float]]:
        def judge(request: Any) -> dict[str, float]:
            rng = random.Random(request.instance_id)
            return {"score": factor * (rng.random() + rng.random() / 100)}

        judge.version, judge.score_range, judge.cost_usd_per_call = "1", (0.0, top), 0.0  # type: ignore[attr-defined]
        return judge

    suite = make_suite("pointwise", *[make_instance("pointwise", f"i{k:02}", gold="novel") for k in range(30)])
    judges = {"plain": scoring(4, 10), "high": scoring(8, 10), "wide": scoring(40, 100)}
    report = evaluate(judges, suite, votes=2, reference="plain")
    found = {item.first: item for item in report.comparisons}
    assert found["high"].by_scores
    assert "its scores differ from plain's beyond noise" in found["high"].sentence
    assert found["wide"].shift_p is None
    assert "cannot be told (their scores are on two scales)" in found["wide"].sentence
    assert found["wide"].rank_flip.value == 0
    text = " ".join(render(report, width=200).split())
    assert "ranks turned" in text
    assert "verdicts differ" not in text


def test_a_reference_judge_that_cannot_judge_a_suite(suite: Suite) -> None:
    def pointwise(request: Any) -> dict[str, bool]:
        return {"novel": True}

    pointwise.version, pointwise.protocols = "1", ("pointwise",)  # type: ignore[attr-defined]
    report = evaluate({"good": judge_of(0.9), "bad": judge_of(0.1), "base": pointwise}, suite, reference="base")
    assert report.comparisons == []
    assert "nothing on made is compared with the reference judge base: it does not judge pairwise" in report.findings
