"""Requests: nothing that gives the label away reaches a judge, and a key says exactly what can change an answer."""

from __future__ import annotations

import copy
import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import FrozenInstanceError, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty.calls import Call, CallPlanner, Case, changed_parts
from pytest_novelty.digests import derive_seed, seed_source
from pytest_novelty.judges.base import Judge, Traits
from pytest_novelty.model import Axes, Conclusion, Idea, Instance, Request, Suite, Variant, Work
from pytest_novelty.prompts import Prompt, load_prompt, resolve_prompt

PROTOCOLS = ("pointwise", "pairwise")
MARK = "GIVEAWAY"
NUMBER = 918273645

# Fields that a judge may know of, or that hold what the other parametrizations cover.
SHOWN = {
    Idea: {"title", "text", "renderings", "related_work"},
    Instance: {"ideas", "as_of", "dimension", "conclusion"},
    Suite: {"protocol", "instances", "variants"},
}
HIDDEN = [
    (kind, field.name) for kind, shown in SHOWN.items() for field in dataclasses.fields(kind) if field.name not in shown
]


def plant(value: Any) -> Any:
    """A value of the same shape that carries the marker everywhere."""
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return NUMBER
    if isinstance(value, Mapping):
        return {MARK: MARK}
    if isinstance(value, tuple):
        return ({"rater": MARK, "value": MARK},)
    return Path(MARK) if isinstance(value, Path) else MARK


def seen_by_judges(calls: list[Call]) -> str:
    requests = [call.request for call in calls]
    parts = [json.dumps([request.messages, request.schema, request.params]) for request in requests]
    return "\n".join([*map(repr, requests), *(repr(request.related_work) for request in requests), *parts])


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(("kind", "name"), HIDDEN, ids=[f"{kind.__name__}.{name}" for kind, name in HIDDEN])
def test_a_field_that_may_give_the_label_away_is_not_shown(
    kind: type, name: str, protocol: str, make_suite: Any, make_case: Any, plan_calls: Any
) -> None:
    suite: Suite = make_suite(protocol)
    instance = replace(suite.instances[0], line=1)
    numbered = [replace(idea, year=1) for idea in instance.ideas]
    if kind is Idea:
        numbered = [replace(idea, **{name: plant(getattr(idea, name))}) for idea in numbered]
    instance = replace(instance, ideas=tuple(numbered))
    if kind is Instance:
        instance = replace(instance, **{name: plant(getattr(instance, name))})
    suite = replace(suite, instances=(instance,))
    if kind is Suite:
        suite = replace(suite, **{name: plant(getattr(suite, name))})
    assert MARK in repr(suite) or str(NUMBER) in repr(suite)
    for axes in ({}, {"related_work": True, "params": {"k": 1}, "effort": "low"}):
        seen = seen_by_judges(plan_calls(make_case(suite, **axes)))
        assert instance.ideas[0].text in seen
        assert MARK not in seen
        assert str(NUMBER) not in seen


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    ("axes", "idea"),
    [
        ({}, {"renderings": {"plan": MARK}}),
        ({"format": "plan"}, {"text": MARK, "renderings": {"plan": "The plan.", "rewrite": MARK}}),
        ({"related_work": False}, {"related_work": (Work(MARK, MARK, NUMBER),)}),
        ({"related_work": 0}, {"related_work": (Work(MARK, MARK, NUMBER),)}),
        ({"related_work": 1}, {"related_work": (Work("W", "w"), Work(MARK, MARK, NUMBER))}),
    ],
)
def test_only_what_the_variant_shows_is_shown(
    axes: dict[str, Any], idea: dict[str, Any], protocol: str, make_suite: Any, make_case: Any, plan_calls: Any
) -> None:
    suite: Suite = make_suite(protocol)
    first = suite.instances[0]
    suite = make_suite(protocol, replace(first, ideas=tuple(replace(one, **idea) for one in first.ideas)))
    seen = seen_by_judges(plan_calls(make_case(suite, **axes)))
    assert suite.instances[0].ideas[0].title in seen
    assert MARK not in seen
    assert str(NUMBER) not in seen


def test_what_is_shown_is_shown(make_suite: Any, make_instance: Any, make_case: Any, plan_calls: Any) -> None:
    idea = Idea("x", "The title", "The text", renderings={"plan": "The plan"}, related_work=(Work("W", "w", 1999),) * 2)
    suite = make_suite("pointwise", make_instance(ideas=(idea,), as_of="2020-12-31"))
    request = plan_calls(make_case(suite, format="plan", related_work=True, params={"k": [1]}, temperature=0.5))[
        0
    ].request
    assert (request.idea.title, request.idea.text, request.as_of) == ("The title", "The plan", "2020-12-31")
    assert request.related_work == (Work("W", "w", 1999),)
    assert (request.params, request.temperature, request.order) == ({"k": [1]}, 0.5, None)
    assert "The plan" in request.messages[-1]["content"]
    assert "2020-12-31" in request.messages[-1]["content"]


def test_a_judge_with_its_own_prompt_gets_no_messages(make_suite: Any, make_case: Any, plan_calls: Any) -> None:
    judge = Judge("own", lambda request: "", Traits(uses_prompt=False))
    (call, *_) = plan_calls(make_case(make_suite(), judge), prompts={})
    assert call.request.messages == []
    assert call.request.schema["properties"]["novel"] == {"type": "boolean"}


def test_an_instance_has_one_opaque_id_in_every_call(make_suite: Any, make_case: Any, plan_calls: Any) -> None:
    suite = make_suite("pairwise")
    ids = {
        call.request.instance_id for axes in ({}, {"effort": "low"}) for call in plan_calls(make_case(suite, **axes))
    }
    assert len(ids) == 1
    other = plan_calls(make_case(replace(suite, name="other")))[0].request.instance_id
    assert other not in ids


# --- seeds ----------------------------------------------------------------------------------------------------


def test_seeds_differ_between_votes_orders_variants_instances_and_runs(
    make_suite: Any, make_instance: Any, make_case: Any, plan_calls: Any
) -> None:
    suites = [make_suite("pairwise", make_instance("pairwise", name)) for name in ("i1", "i2")]
    cases = [make_case(suite, votes=5) for suite in suites]
    cases += [replace(case, variant=replace(case.variant, name="P4")) for case in cases]
    seeds = [call.request.seed for seed in (0, 1) for case in cases for call in plan_calls(case, seed=seed)]
    assert len(set(seeds)) == len(seeds) == 2 * 4 * 2 * 5


def test_seeds_do_not_depend_on_the_process_or_the_judge(make_suite: Any, make_case: Any, plan_calls: Any) -> None:
    assert derive_seed(seed_source("sample", 0, "a"), 0) == 3849212908  # on every machine, in every version
    one, two = (Judge(name, lambda request: "", Traits("1")) for name in ("one", "two"))
    suite = make_suite("pairwise")
    first, second = ([call.request.seed for call in plan_calls(make_case(suite, judge))] for judge in (one, two))
    assert first == second


def test_fewer_votes_are_the_first_of_more(make_suite: Any, make_case: Any, plan_calls: Any) -> None:
    suite = make_suite("pairwise")
    few, many = ({call.key for call in plan_calls(make_case(suite, votes=votes))} for votes in (1, 4))
    assert few < many


# --- keys -----------------------------------------------------------------------------------------------------


def base_case(suite: Suite) -> Case:
    return Case(Judge("j", lambda request: "", Traits("1")), suite, suite.variants["reference"], suite.instances[0])


def with_axes(**changes: Any) -> Callable[[Case], Case]:
    return lambda case: replace(case, variant=replace(case.variant, axes=replace(case.variant.axes, **changes)))


def with_instance(**changes: Any) -> Callable[[Case], Case]:
    return lambda case: replace(case, instance=replace(case.instance, **changes))


def with_idea(**changes: Any) -> Callable[[Case], Case]:
    return lambda case: replace(
        case,
        instance=replace(case.instance, ideas=(replace(case.instance.ideas[0], **changes), *case.instance.ideas[1:])),
    )


def with_suite(**changes: Any) -> Callable[[Case], Case]:
    return lambda case: replace(case, suite=replace(case.suite, **changes))


def keys(case: Case, plan_calls: Any, **options: Any) -> list[str]:
    return [call.key for call in plan_calls(case, **options)]


@pytest.fixture(params=PROTOCOLS)
def case(request: pytest.FixtureRequest, make_suite: Any, make_instance: Any) -> Case:
    protocol = request.param
    ideas = tuple(
        replace(idea, renderings={"plan": "p"}, related_work=(Work("W", "w", 1999), Work("V", "v")))
        for idea in make_instance(protocol).ideas
    )
    suite = make_suite(protocol, make_instance(protocol, ideas=ideas, as_of="2020-12-31"))
    return with_axes(related_work=1)(base_case(suite))


CHANGES_THE_ANSWER = {
    "judge name": lambda case: replace(case, judge=replace(case.judge, name="k")),
    "judge version": lambda case: replace(case, judge=replace(case.judge, traits=Traits("2"))),
    "params": with_axes(params={"k": 1}),
    "effort": with_axes(effort="low"),
    "temperature": with_axes(temperature=0.0),
    "format": with_axes(format="plan"),
    "related work off": with_axes(related_work=False),
    "more related work": with_axes(related_work=2),
    "title": with_idea(title="Another"),
    "text": with_idea(text="Another."),
    "a related work's year": with_idea(related_work=(Work("W", "w", 1998),)),
    "a related work's text": with_idea(related_work=(Work("W", "x", 1999),)),
    "as_of": with_instance(as_of="2020-12-30"),
    "no as_of": with_instance(as_of=None),
    "instance": with_instance(id="i2"),
    "suite": with_suite(name="other"),
}
DOES_NOT = {
    "gold": with_instance(gold="not novel"),
    "strata": with_instance(strata={"year": "2017"}),
    "labels": with_instance(labels=({"rater": "r", "value": 1},)),
    "metadata": with_instance(metadata={"rating": 7}),
    "line": with_instance(line=7),
    **{field: with_idea(**{field: "z"}) for field in ("id", "area", "source", "generator", "system")},
    "year": with_idea(year=2001),
    "an unshown rendering": with_idea(renderings={"plan": "another"}),
    "an unshown related work": with_idea(related_work=(Work("W", "w", 1999), Work("U", "u"))),
    **{
        field: with_suite(**{field: "z"})
        for field in ("version", "title", "licence", "provenance", "digest", "cluster")
    },
    "gates": with_suite(gates=("accuracy>=0.9",)),
    "path": with_suite(path=Path("elsewhere")),
}


@pytest.mark.parametrize("uses_prompt", [True, False])
@pytest.mark.parametrize("name", CHANGES_THE_ANSWER)
def test_keys_change_with_what_can_change_an_answer(name: str, uses_prompt: bool, case: Case, plan_calls: Any) -> None:
    """Also for a judge with a prompt of its own, which sees the content alone."""
    if not uses_prompt:
        case = replace(case, judge=replace(case.judge, traits=Traits("1", uses_prompt=False)))
    changed = CHANGES_THE_ANSWER[name](case)
    assert changed != case
    assert not set(keys(changed, plan_calls)) & set(keys(case, plan_calls))


@pytest.mark.parametrize("name", DOES_NOT)
def test_keys_do_not_change_with_anything_else(name: str, case: Case, plan_calls: Any) -> None:
    changed = DOES_NOT[name](case)
    assert changed != case
    assert keys(changed, plan_calls) == keys(case, plan_calls)


def test_keys_of_a_case_differ_and_are_the_same_in_every_run(case: Case, plan_calls: Any) -> None:
    found = keys(case, plan_calls)
    assert len(set(found)) == len(found) == 3 * len(case.orders)
    assert keys(case, plan_calls) == found
    assert not set(keys(case, plan_calls, seed=1)) & set(found)


@pytest.mark.parametrize("changed", ["messages", "output"])
def test_keys_change_with_the_prompt(changed: str, tmp_path: Path, case: Case, plan_calls: Any) -> None:
    """The output schema too: a judge with structured output sends it to the model."""
    shipped = resolve_prompt(case.variant.axes.prompt, Path())
    text = shipped.path.read_text(encoding="utf-8")
    edits = {
        "messages": ("You assess", "You judge"),
        "output": ("reasoning: {type: string}", "reasoning: {type: string, maxLength: 9}"),
    }
    path = tmp_path / "prompt.yaml"
    path.write_text(text.replace(*edits[changed]), encoding="utf-8")
    edited = load_prompt(path)
    assert edited.schema(Traits()) != shipped.schema(Traits()) or changed == "messages"
    planned = keys(case, plan_calls, prompts={case.variant.axes.prompt: edited})
    assert not set(planned) & set(keys(case, plan_calls))


@pytest.mark.parametrize(
    ("name", "part"), [("judge version", "judge"), ("text", "content"), ("effort", "settings"), ("as_of", "content")]
)
def test_a_miss_names_the_part_that_changed(name: str, part: str, case: Case, plan_calls: Any) -> None:
    before, after = (plan_calls(one)[0].parts for one in (case, CHANGES_THE_ANSWER[name](case)))
    assert part in changed_parts(after, before)
    assert changed_parts(before, before) == ()


# --- a request is safe to hand out ----------------------------------------------------------------------------


def test_changing_what_a_request_gives_harms_nobody(case: Case, plan_calls: Any) -> None:
    params = {"nested": {"list": [1]}}
    calls = plan_calls(with_axes(params=params)(case))
    request = calls[0].request
    before = copy.deepcopy((request.messages, request.schema, request.params))
    request.messages[0]["content"] = "changed"
    request.messages.clear()
    request.schema["properties"].clear()
    request.params["nested"]["list"].append(2)
    assert (request.messages, request.schema, request.params) == before
    assert (calls[1].request.messages, calls[1].request.schema, calls[1].request.params) == before
    assert calls[0].schema == before[1]
    assert params == {"nested": {"list": [1]}}


def test_a_request_is_frozen(case: Case, plan_calls: Any) -> None:
    request = plan_calls(case)[0].request
    for name in ("seed", "ideas", "_messages"):
        with pytest.raises(FrozenInstanceError):
            setattr(request, name, None)
    with pytest.raises(FrozenInstanceError):
        request.ideas[0].text = "changed"


def test_the_single_idea_of_a_pair_is_an_error_that_says_what_to_use(
    make_suite: Any, make_case: Any, plan_calls: Any
) -> None:
    with pytest.raises(AttributeError, match=r"use request\.ideas"):
        plan_calls(make_case(make_suite("pairwise")))[0].request.idea  # noqa: B018


def test_planner_keeps_schemas_of_judges_apart(make_suite: Any, make_case: Any) -> None:
    prompts: dict[str, Prompt] = {"pointwise/reference": resolve_prompt("pointwise/reference", Path())}
    planner, suite = CallPlanner(prompts), make_suite()
    judges = [Judge(f"j{flag}", lambda request: "", Traits("1", may_abstain=flag)) for flag in (False, True)]
    types = [planner.plan(make_case(suite, judge))[0].request.schema["properties"]["novel"]["type"] for judge in judges]
    assert types == ["boolean", ["boolean", "null"]]


def test_axes_and_variants_are_all_covered_by_the_keys() -> None:
    """A new axis must be put into the key, or named here as one that changes no answer."""
    in_key = {"prompt", "related_work", "format", "params", "effort", "temperature", "granularity"}
    no_answer_of_its_own = {"votes", "orders"}
    assert {field.name for field in dataclasses.fields(Axes)} == in_key | no_answer_of_its_own
    assert {field.name for field in dataclasses.fields(Variant)} == {"name", "axes", "changed"}


# --- what is to be audited --------------------------------------------------------------------------------------


def asked_about(*spans: str) -> Request:
    conclusion = Conclusion("similar", spans, "Both do.") if spans else None
    return Request("entailment", "i", (), None, "reference", None, 0, 0, dimension="task", conclusion=conclusion)


def test_an_auditor_sees_every_span() -> None:
    assert asked_about("one", "two", "three").evidence == ("one", "two", "three")
    two = asked_about("one", "two")
    assert (two.evidence, two.evidence_a, two.evidence_b) == (("one", "two"), "one", "two")
    none = asked_about()
    assert (none.evidence, none.evidence_a, none.evidence_b) == ((), "", "")


@pytest.mark.parametrize("name", ["evidence_a", "evidence_b"])
def test_two_spans_of_a_group_are_not_taken_for_all(name: str) -> None:
    with pytest.raises(AttributeError, match=r"this reason is about 3 papers: read request\.evidence"):
        getattr(asked_about("one", "two", "three"), name)
