"""Offline without a record: the cause in words, down to the setting, and what recording takes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pytest_novelty._pytest.missing import Missed, not_judged, what_is_unrecorded
from pytest_novelty.calls import Call
from pytest_novelty.judges.base import bind_judge
from pytest_novelty.judges.llm.files import LlmSettings
from pytest_novelty.judges.llm.judge import LlmJudge
from pytest_novelty.judges.llm.prices import Price
from pytest_novelty.misses import explain_missing
from pytest_novelty.model import Record
from pytest_novelty.recording import Recorder

SETTINGS = LlmSettings("openai", "m", "model", api_base="http://a/v1", price=Price.per_million(1.0, 2.0))
Plan = Callable[..., list[Call]]


@pytest.fixture
def plan(make_suite: Any, make_case: Any, plan_calls: Any) -> Plan:
    def calls(judge: object, protocol: str = "pairwise", **axes: Any) -> list[Call]:
        bound = bind_judge("model", LlmJudge(judge) if isinstance(judge, LlmSettings) else judge)
        found: list[Call] = plan_calls(make_case(make_suite(protocol), bound, **axes))
        return found

    return calls


def recorded(call: Call, **changes: Any) -> Record:
    answer = {"answer": '{"winner": "A"}', "cost_usd": 0.25}
    return Recorder().answered(call, answer, 1.0)._replace(**changes)


def model(**changes: Any) -> LlmSettings:
    return replace(SETTINGS, **changes)


@pytest.mark.parametrize(
    ("before", "now", "told"),
    [
        (model(), model(temperature=1), "temperature: none to 1"),
        (model(temperature=0), model(temperature=0.5), "temperature: 0 to 0.5"),
        (
            model(),
            model(api_base="http://b/v1"),
            "api_base (of the judge file, else OPENAI_BASE_URL): http://a/v1 to http://b/v1",
        ),
        (model(), model(model="n", max_tokens=9), "max_tokens: 4096 to 9; model: m to n"),
        (model(), model(parameters={"stop": "a b=c"}), 'parameters: {} to {"stop": "a b=c"}'),
        (model(effort="low"), model(seed=False), "effort: low to none; seed: true to false"),
    ],
)
def test_a_miss_says_which_setting_changed_from_what_to_what(
    before: LlmSettings, now: LlmSettings, told: str, plan: Plan
) -> None:
    calls = plan(now, votes=1)
    error = explain_missing(calls, [recorded(call) for call in plan(before, votes=1)])
    assert f"2 of 2 verdicts of model are not recorded: since they were recorded, the judge ({told}) changed" in str(
        error
    )
    assert calls[0].parts.count(" ") == len(calls[0].parts.split()) - 1 == 6  # told is one word


def test_the_address_of_the_environment_counts_and_shows_no_password(
    plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://me:open-sesame@a/v1?key=hidden")
    old = [recorded(call) for call in plan(model(api_base=None))]
    monkeypatch.setenv("OPENAI_BASE_URL", "http://b/v1")
    text = str(explain_missing(plan(model(api_base=None)), old))
    assert "OPENAI_BASE_URL): http://a/v1 to http://b/v1) changed" in text
    assert "sesame" not in f"{old}{text}"


def test_settings_are_kept_and_shown_without_secrets(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "sesame-0123456789")
    monkeypatch.setenv("EXTRA", "tiny")
    secret = {"parameters": {"a": "sesame-0123456789", "b": "tiny"}, "headers": {"X": "EXTRA"}}
    judge = bind_judge("model", LlmJudge(model(**secret)))
    calls = plan(judge.function)
    records = [Recorder(secrets=judge.secrets).answered(call, "", 1.0) for call in calls]
    text = str(explain_missing(plan(model(**secret, temperature=1)), records))
    assert "(temperature: none to 1)" in text  # a masked value that is the same did not change
    changed = str(explain_missing(plan(model(**{**secret, "parameters": {}})), records))
    assert 'parameters: {"a": "[masked]", "b": "[masked]"} to {}' in changed
    assert "sesame" not in f"{records}{text}{changed}"


def test_what_a_record_does_not_say_is_not_guessed(plan: Plan) -> None:
    now = plan(model(temperature=1))
    bare = [recorded(call)._replace(parts=call.parts.partition(" told=")[0]) for call in plan(model())]
    assert "does not say how the model was asked" in str(explain_missing(now, bare))
    spoilt = [record._replace(parts=f"{record.parts} told={{") for record in bare]
    assert "does not say how the model was asked" in str(explain_missing(now, spoilt))
    other = [recorded(call)._replace(judge_version="0", parts=call.parts.replace("judge=", "judge=0")) for call in now]
    assert "the same settings, which this version of pytest-novelty tells apart otherwise" in str(
        explain_missing(now, other)
    )


@pytest.mark.parametrize(
    ("axes", "told"),
    [
        ({"temperature": 0.5}, "the settings (temperature: none to 0.5) changed"),
        (
            {"effort": "low", "params": {"top": 3}},
            'the settings (effort: none to low; params: none to {"top": 3}) changed',
        ),
    ],
)
def test_the_settings_of_a_variant_are_told_for_any_judge(axes: dict[str, Any], told: str, plan: Plan) -> None:
    def judge(request: Any) -> str:
        return ""

    old = [recorded(call) for call in plan(judge)]
    assert told in str(explain_missing(plan(judge, **axes), old))


def test_a_judge_that_is_no_model_is_told_by_its_versions(plan: Plan) -> None:
    def judge(request: Any) -> str:
        return ""

    judge.version = "1"  # type: ignore[attr-defined]
    old = [recorded(call) for call in plan(judge)]
    judge.version = "2"  # type: ignore[attr-defined]
    assert "the judge (version 1 to 2) changed" in str(explain_missing(plan(judge), old))
    assert "nothing is recorded for this judge" in str(explain_missing(plan(judge), []))
    assert "other votes of this instance are recorded, these are not" in str(explain_missing(plan(judge)[:2], old[4:]))
    assert "other votes of this instance are recorded, this one is not" in str(
        explain_missing(plan(judge)[:1], old[4:])
    )


def test_what_is_told_is_no_part_of_the_key(plan: Plan) -> None:
    """Stores of before it was told are found."""
    (call,) = plan(model(), "pointwise", votes=1)
    assert call.key == "aae3e7e249ad582d9cce2184fdc4aab5-0"


@pytest.mark.parametrize(
    ("protocol", "votes", "count", "said"),
    [
        ("pairwise", 3, 6, "6 of 6 verdicts of model are not recorded"),
        ("pairwise", 3, 1, "1 of 6 verdicts of model is not recorded"),
        ("pointwise", 1, 1, "the verdict of model is not recorded"),
    ],
)
def test_one_and_many_verdicts(protocol: str, votes: int, count: int, said: str, plan: Plan) -> None:
    calls = plan(model(), protocol, votes=votes)[:count]
    error = explain_missing(calls, [recorded(calls[0])])
    assert f"offline, and {said}: " in str(error)
    assert (error.calls, error.cost_usd, error.is_bound) == (count, 0.25 * count, False)
    bound = explain_missing(calls, [])
    assert bound.is_bound
    assert f"at no more than ${bound.cost_usd:.4f}" in str(bound)
    typical = explain_missing(
        calls, [], lambda: 0.5
    )  # what other instances cost is nearer than the most that a call can
    assert (typical.cost_usd, typical.is_bound) == (0.5 * count, False)
    assert explain_missing(calls, [recorded(calls[0])], lambda: 0.5).cost_usd == 0.25 * count
    unknown = explain_missing(plan(model(price=None, model="nobody")), [])
    assert (unknown.cost_usd, unknown.is_bound) == (None, False)
    assert "at an unknown cost" in str(unknown)


@pytest.mark.parametrize(
    ("missed", "said"),
    [
        ([], None),
        ([(True, 1, 0.5, False)], "1 case was not judged: offline, and its verdicts are not recorded; recording all of them takes "
                                  "1 call at about $0.50; -rs tells what changed of each"),
        ([(True, 6, 0.5, False), (False, 2, 0.25, True)], "2 cases were not judged: offline, and their verdicts are not recorded; "
                                                          "recording all of them takes 8 calls at no more than about $0.75; -rs tells what changed of each"),
        ([(True, 6, 0.5, False), (True, 2, None, False)], "8 calls at about $0.50, and an unknown amount for the others; -rs tells what changed of each"),
        ([(True, 2, None, False)], "2 calls at an unknown cost; -rs tells what changed of each"),
        ([(False, 2, None, False)], "2 calls at an unknown cost"),
    ],
)  # fmt: skip
def test_recording_all_that_is_missing_has_one_price(missed: list[Missed], said: str | None) -> None:
    notes = list(what_is_unrecorded(missed, audited=False))
    assert notes == [] if said is None else notes[0].endswith(said)
    told = list(what_is_unrecorded(missed, audited=True))
    assert [("what audits them not counted" in note) for note in told] == [True] * len(notes)
    assert (not_judged(1), not_judged(2)) == ("1 case was not judged", "2 cases were not judged")
