"""Variants without calls of their own: some of the reference's votes, or the very same requests."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty.data import data_folder
from pytest_novelty.derivation import FEWER_VOTES, SAME_REQUESTS
from pytest_novelty.evaluation import evaluate
from pytest_novelty.model import Suite, Variant
from pytest_novelty.results import Report


class Judge:
    """Says first what is right, then what is not; counts its calls."""

    version, cost_usd_per_call = "1", 0.5

    def __init__(self, uses_prompt: bool = True) -> None:
        self.uses_prompt, self.calls = uses_prompt, 0

    def __call__(self, request: Any) -> Any:
        self.calls += 1
        if request.sample == 2:
            return "no verdict"
        right = request.ideas[0].title.startswith("First") == (request.sample == 0)
        return {"winner": "A" if right else "B"}


@pytest.fixture
def suite(make_suite: Callable[..., Suite], make_instance: Callable[..., Any]) -> Callable[..., Suite]:
    def build(**variants: dict[str, Any]) -> Suite:
        plain = make_suite("pairwise", *[make_instance("pairwise", f"i{k}") for k in range(4)])
        reference = plain.variants["reference"]
        made = {name: Variant(name, replace(reference.axes, **axes), tuple(axes)) for name, axes in variants.items()}
        return replace(plain, variants={"reference": reference, **made})

    return build


def run(suite: Suite, judge: Judge, **options: Any) -> Report:
    return evaluate({"judge": judge}, suite, variants=["all"], **options)


def test_fewer_votes_are_the_first_of_each_order(suite: Callable[..., Suite]) -> None:
    judge = Judge()
    report = run(suite(single={"votes": 1}), judge)
    assert judge.calls == report.calls.made == 4 * 6
    assert report.calls.cost_usd == 12.0
    assert report.calls.failed == 4 * 2
    derived = [result for result in report.outcomes if result.variant == "single"]
    assert [len(result.outcome.votes) for result in derived] == [2] * 4
    assert {result.outcome.result for result in derived} == {"correct"}
    assert {result.usage.made for result in derived} == {0}
    assert report.metric("strict_accuracy", variant="single").value == 1.0
    assert report.metric("invalid_rate", variant="single").value == 0.0
    assert report.metric("tie_rate").value == 1.0


def test_what_they_say_beyond_noise_is_undefined(suite: Callable[..., Suite]) -> None:
    report = run(suite(single={"votes": 1}), Judge())
    assert report.metric("flip_rate", variant="single").value == 1.0
    for name in ("vote_shift", "excess_flip", "null_flip_rate"):
        assert report.metric(name, variant="single").note == FEWER_VOTES
    (item,) = report.variants
    assert (item.cause, item.moved_p) == ("same calls", None)
    assert item.sentence == "same calls: some of the reference's votes; 100 % of verdicts change"
    assert all(change.p is None for change in item.changes)
    assert report.gates == []  # nothing that a default gate on stability could rest on


def test_failures_of_the_votes_that_are_left(suite: Callable[..., Suite]) -> None:
    report = run(suite(two={"votes": 2}), Judge(), votes=None)
    assert report.metric("invalid_rate", variant="two").note == ""
    assert report.metric("invalid_rate").value == 1.0


def test_more_votes_are_asked_for(suite: Callable[..., Suite]) -> None:
    judge = Judge()
    run(suite(many={"votes": 5}), judge)
    assert judge.calls == 4 * 6 + 4 * 10


def test_other_prompts_with_the_same_words_are_the_same_requests(suite: Callable[..., Suite], tmp_path: Path) -> None:
    """A variant of another effort differs; one whose prompt is a copy does not."""
    copy = tmp_path / "copy.yaml"
    copy.write_text((data_folder("prompts") / "pairwise" / "reference.yaml").read_text())
    others = {"low": {"effort": "low"}, "warm": {"temperature": 1.0}, "more": {"params": {"depth": 2}}}
    report = run(suite(same={"prompt": str(copy)}, **others), Judge())
    notes = {item.variant: item.cause for item in report.variants}
    assert "same calls" not in {notes[name] for name in others}
    assert notes["same"] == "same calls"
    assert report.metric("vote_shift", variant="same").note == SAME_REQUESTS
