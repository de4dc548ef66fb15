"""Variants that would ask a judge nothing new are skipped, each with its reason."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pytest_novelty.applicability import Content, ignored_axes, look_at_content, reason_to_skip
from pytest_novelty.errors import JudgeError
from pytest_novelty.judges.base import Judge, bind_judge
from pytest_novelty.model import Axes, Suite, Variant, Work

REFERENCE = Variant("reference", Axes("p", related_work=True))
OTHERS: dict[str, Any] = {
    "prompt": "q", "votes": 5, "orders": "ab", "related_work": False, "format": "plan", "params": {"a": 1}, "effort": "low",
    "temperature": 0.5, "granularity": "full",
}  # fmt: skip


def judge(**traits: Any) -> Judge:
    def answer(request: Any) -> str:
        return ""

    for name, value in traits.items():
        setattr(answer, name, value)
    return bind_judge("j", answer)


def variant(*changed: str) -> Variant:
    return Variant("v", replace(REFERENCE.axes, **{axis: OTHERS[axis] for axis in changed}), changed)


OWN_PROMPT = "has a prompt of its own"
SAME = "would be shown the same as in the reference"


@pytest.mark.parametrize(
    ("traits", "changed", "content", "reason"),
    [
        *(({}, (axis,), Content(), "") for axis in OTHERS),
        ({}, (), Content(), "would be asked nothing else than in the reference"),
        ({"uses_prompt": False}, ("prompt",), Content(), OWN_PROMPT),
        ({"uses_prompt": False}, ("prompt", "votes", "orders"), Content(), OWN_PROMPT),
        ({"uses_prompt": False}, ("prompt", "related_work"), Content(), ""),
        ({"uses_prompt": False}, ("related_work",), Content(), ""),
        ({"uses_prompt": False}, ("votes",), Content(), ""),
        ({}, ("related_work",), Content(same=True), SAME),
        ({}, ("format",), Content(same=True), SAME),
        ({}, ("granularity",), Content(same=True), SAME),
        ({}, ("related_work", "format"), Content(same=True), SAME),
        ({}, ("related_work", "prompt"), Content(same=True), ""),
        ({"uses_prompt": False}, ("prompt", "related_work"), Content(same=True), f"{OWN_PROMPT} and {SAME}"),
        ({}, ("format",), Content("the instance 'a' has no rendering 'plan'"), "cannot be shown it (the instance 'a' has no rendering 'plan')"),
        ({"ignores": "effort"}, ("effort",), Content(), "ignores effort"),
        ({"ignores": ("effort", "temperature")}, ("effort", "temperature"), Content(), "ignores effort and ignores temperature"),
        ({"ignores": ["effort"]}, ("effort", "temperature"), Content(), ""),
        ({"ignores": {"params"}}, ("params",), Content(), "ignores params"),
    ],
)  # fmt: skip
def test_reasons(traits: dict[str, Any], changed: tuple[str, ...], content: Content, reason: str) -> None:
    assert reason_to_skip(judge(**traits), variant(*changed), content, "pairwise") == reason


def test_a_prompt_that_a_judge_is_asked_with_anyway() -> None:
    """A judge file may put a prompt in the reference's place."""

    class Model(Judge):
        @property
        def prompts(self) -> dict[str, str]:
            return {"pairwise": "q"}

    plain = judge()
    model = Model("j", plain.function, plain.traits)
    told = "is asked with that prompt in the reference, too"
    assert reason_to_skip(model, variant("prompt"), Content(), "pairwise") == told
    assert reason_to_skip(model, variant("prompt"), Content(), "pointwise") == ""
    assert reason_to_skip(model, variant("effort"), Content(), "pairwise") == ""


@pytest.mark.parametrize("declared", ["votes", ("effort", "prompt"), 3, [["effort"]], {"effort": True}, [3]])
def test_what_a_judge_may_not_ignore(declared: Any) -> None:
    with pytest.raises(JudgeError, match="declares ignores = .*Name some of effort, temperature, params"):
        ignored_axes(judge(ignores=declared))


@pytest.fixture
def suite(make_suite: Callable[..., Suite], make_instance: Callable[..., Any]) -> Suite:
    """Two instances; the ideas of the second have one earlier work and a plan that says what the text says."""
    plain, rich = make_instance("pairwise", "i1"), make_instance("pairwise", "i2")
    ideas = tuple(replace(idea, related_work=(Work("W", ""),), renderings={"plan": idea.text}) for idea in rich.ideas)
    return make_suite("pairwise", plain, replace(rich, ideas=ideas))


def look(suite: Suite, *changed: str, of: int = 2, **axes: Any) -> Content:
    shown = Variant("v", replace(REFERENCE.axes, **axes), changed)
    return look_at_content(suite, suite.instances[:of], shown, REFERENCE)


def test_content_that_is_the_same(suite: Suite) -> None:
    assert look(suite, "related_work", related_work=False) == Content()
    assert look(suite, "related_work", related_work=False, of=1) == Content(same=True)  # of a run's sample
    assert look(suite, "related_work", related_work=1) == Content(same=True)
    assert look(suite, "prompt", prompt="q") == Content()
    assert look(suite) == Content()


def test_content_that_cannot_be_shown(suite: Suite) -> None:
    assert look(suite, "format", format="plan") == Content("the instance 'i1' has no rendering 'plan'")
    rich = replace(suite, instances=suite.instances[1:])
    assert look(rich, "format", format="plan") == Content(same=True)
