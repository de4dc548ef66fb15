"""A model as a judge, against a provider of the tests' own: what is sent, what is tried again, what stops, what it costs."""

from __future__ import annotations

import asyncio
import builtins
import gzip
import itertools
import json
import sys
import threading
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest

from pytest_novelty.answers import Reading, read_answer
from pytest_novelty.errors import JudgeError, JudgeStopped
from pytest_novelty.judges.base import bind_judge, share_rates
from pytest_novelty.judges.llm import stopping
from pytest_novelty.judges.llm.chat import Chat, strict_schema
from pytest_novelty.judges.llm.clients import CONNECT_S, MOST_BYTES, OwnClients
from pytest_novelty.judges.llm.faults import UNREACHABLE, CallFault, read_body, read_fault
from pytest_novelty.judges.llm.files import LlmSettings, load_judge_file, settings_of_name
from pytest_novelty.judges.llm.judge import LlmJudge
from pytest_novelty.judges.llm.prices import Price, Tokens, find_price
from pytest_novelty.judges.llm.providers import _import_patiently, open_provider
from pytest_novelty.judges.llm.replies import read_reply
from pytest_novelty.judges.registry import resolve_judges
from pytest_novelty.judges.routes import Route
from pytest_novelty.masking import is_like_a_key, make_mask
from pytest_novelty.model import Request, ShownIdea, Verdict
from pytest_novelty.protocols import PROTOCOLS

SCHEMA = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "winner": {"enum": ["A", "B"]}},
    "required": ["winner"],
}
REQUEST = Request(
    "pairwise",
    "opaque",
    (ShownIdea("one", "text"), ShownIdea("two", "text")),
    None,
    "reference",
    "ab",
    0,
    seed=2**32 - 1,
    _messages=(("user", "Which?" * 100),),
    _schema=SCHEMA,
)
SETTINGS = LlmSettings("openai", "m", "model", retries=5, price=Price.per_million(1.0, 2.0, 0.1))
GOOD = '{"reasoning": "r", "winner": "A"}'


def body(content: Any = GOOD, finish: str = "stop", **message: Any) -> dict[str, Any]:
    return {
        "model": "served",
        "choices": [{"finish_reason": finish, "message": {"content": content, **message}}],
        "usage": {
            "prompt_tokens": 100,
            "completion_tokens": 10,
            "prompt_tokens_details": {"cached_tokens": 40},
            "completion_tokens_details": {"reasoning_tokens": 7},
        },
    }


class FakeProvider:
    """Gives the scripted bodies or raises the scripted faults, the last one for ever; keeps what was sent."""

    def __init__(self, *script: Any, settings: LlmSettings = SETTINGS) -> None:
        self.dialect = Chat(settings)
        self.address = "http://127.0.0.1:1/v1"
        self.script = itertools.chain(script, itertools.repeat(script[-1]))
        self.sent: list[dict[str, Any]] = []

    async def complete(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        self.sent.append(dict(fields))
        step = next(self.script)
        step = step(fields) if callable(step) else step
        if isinstance(step, Exception):
            raise step
        value: Mapping[str, Any] = step
        return value

    async def close(self) -> None: ...


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Backoff without waiting: the seconds that would have been waited."""
    waited: list[float] = []

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    monkeypatch.setattr(stopping.asyncio, "sleep", sleep)
    return waited


def ask(*script: Any, settings: LlmSettings = SETTINGS, request: Request = REQUEST, calls: int = 1) -> Any:
    """(the judge, its provider, the answers of so many calls one after the other)."""
    made = LlmJudge(settings)
    provider = FakeProvider(*script, settings=settings)
    made._provider = provider

    async def all_of_them() -> list[dict[str, Any]]:
        return [await made(replace(request, instance_id=f"i{number}")) for number in range(calls)]

    return made, provider, asyncio.run(all_of_them())


def read(answer: Mapping[str, Any], judge: LlmJudge | None = None) -> Reading:
    return read_answer(answer, PROTOCOLS["pairwise"], judge or LlmJudge(SETTINGS), SCHEMA, tells_its_call=True)


# --- what is sent -------------------------------------------------------------------------------------------


def test_a_request_asks_for_the_schema_with_the_votes_own_seed(waits: list[float]) -> None:
    settings = replace(SETTINGS, temperature=0.0, effort="low", parameters={"top_p": 0.5})
    _, provider, (answer,) = ask(body(), settings=settings)
    (sent,) = provider.sent
    assert sent == {
        "model": "m", "messages": REQUEST.messages, "max_completion_tokens": 4096, "temperature": 0.0,
        "reasoning_effort": "low", "top_p": 0.5, "seed": (2**32 - 1) % 2**31,
        "response_format": {"type": "json_schema", "json_schema": {
            "name": "verdict", "strict": True, "schema": strict_schema(SCHEMA)}},
    }  # fmt: skip
    assert strict_schema(SCHEMA)["required"] == ["reasoning", "winner"]
    assert strict_schema(SCHEMA)["additionalProperties"] is False
    assert answer["settings"] == "schema, temperature=0.0, reasoning_effort=low, seed"
    assert waits == []


def test_a_variants_axes_win_over_the_judge_file(waits: list[float]) -> None:
    settings = replace(SETTINGS, temperature=0.0, effort="low")
    _, provider, _ = ask(body(), settings=settings, request=replace(REQUEST, temperature=1.0, effort="high"))
    assert (provider.sent[0]["temperature"], provider.sent[0]["reasoning_effort"]) == (1.0, "high")


@pytest.mark.parametrize(
    ("change", "present"),
    [
        ({"seed": False}, {"seed": None}),
        ({"seed": 7}, {"seed": (2**32 - 1 + 7) % 2**31}),
        ({"structured": "prompt"}, {"response_format": None}),
        ({"api_base": "http://127.0.0.1:1/v1"}, {"max_tokens": 4096, "max_completion_tokens": None}),
        ({"provider": "litellm"}, {"max_tokens": 4096}),
    ],
)
def test_what_the_judge_file_says_is_sent(change: dict[str, Any], present: dict[str, Any], waits: list[float]) -> None:
    _, provider, _ = ask(body(), settings=replace(SETTINGS, **change))
    assert {name: provider.sent[0].get(name) for name in present} == present


# --- parameters that a server refuses -----------------------------------------------------------------------


def refuses(name: str, message: str) -> Callable[[Mapping[str, Any]], Any]:
    return lambda fields: CallFault("request", message, status=400) if name in fields else body()


@pytest.mark.parametrize(
    ("name", "message", "told"),
    [
        ("temperature", "Unsupported value: 'temperature' does not support 0 with this model.", "temperature=0.0 (refused)"),
        ("reasoning_effort", "m does not support parameters: ['reasoning_effort']", "reasoning_effort=low (refused)"),
        ("seed", "Unrecognized request argument supplied: seed", "seed (refused)"),
        ("response_format", "Invalid parameter: json_schema is not supported", "prompt, response_format (refused)"),
        ("max_completion_tokens", "Unsupported parameter: 'max_completion_tokens'. Use 'max_tokens' instead.", "schema"),
    ],
)  # fmt: skip
def test_a_refused_parameter_is_not_sent_again_and_told(name: str, message: str, told: str, waits: list[float]) -> None:
    settings = replace(SETTINGS, temperature=0.0, effort="low")
    _, provider, answers = ask(refuses(name, message), settings=settings, calls=3)
    assert [name in sent for sent in provider.sent] == [True, False, False, False]
    limits = {"max_tokens", "max_completion_tokens"}
    wanted = {"temperature", "reasoning_effort", "seed", "response_format"} - {name}
    assert all(wanted <= sent.keys() and limits & sent.keys() for sent in provider.sent)
    assert told in answers[0]["settings"]
    assert [answer["retries"] for answer in answers] == [1, 0, 0]
    assert ("max_tokens" in provider.sent[1]) == (name == "max_completion_tokens")
    assert waits == []


@pytest.mark.parametrize(
    ("message", "tries"),
    [
        ("Prompt rejected: 'Sampling temperature in seed banks' is not allowed", 3),
        ("This model's maximum context length is 8192; reduce the prompt or max_tokens", 2),
        ("The undertemperature is too low", 1),
    ],
)
def test_a_refusal_that_only_speaks_of_a_parameter_changes_no_other_request(
    message: str, tries: int, waits: list[float]
) -> None:
    settings = replace(SETTINGS, temperature=0.0, api_base="http://127.0.0.1:1/v1")
    refusal = CallFault("request", message, status=400)
    _, provider, answers = ask(*[refusal] * tries, body(), settings=settings, calls=2)
    assert answers[0]["failed"]["kind"] == "request refused"
    assert answers[0]["retries"] == tries - 1
    assert {"temperature", "seed", "max_tokens", "response_format"} <= provider.sent[-1].keys()
    assert "refused" not in answers[1]["settings"]


def test_the_servers_own_name_of_the_parameter_counts_before_its_words(waits: list[float]) -> None:
    fault = CallFault("request", "temperature and seed do not go together", status=400, param="seed")
    _, provider, (answer,) = ask(fault, body(), settings=replace(SETTINGS, temperature=0.0))
    assert "temperature" in provider.sent[1]
    assert "seed" not in provider.sent[1]
    assert answer["settings"] == "schema, temperature=0.0, seed (refused)"


def test_every_setting_that_can_change_an_answer_is_in_the_version() -> None:
    others: dict[str, Any] = {
        "provider": "litellm", "model": "other", "api_base": "http://127.0.0.1:9/v1", "temperature": 0.5, "effort": "low",
        "max_tokens": 7, "seed": 3, "parameters": {"top_p": 0.5}, "structured": "prompt", "answer_retries": 0,
    }  # fmt: skip
    beside: dict[str, Any] = {
        "name": "other", "folder": Path("elsewhere"), "api_key_env": "OTHER", "headers": {"X": "Y"}, "prompts": {"pairwise": "p"},
        "timeout_s": 1.0, "retries": 0, "concurrency": 1, "requests_per_minute": 1.0, "tokens_per_minute": 1.0,
        "price": None, "may_tie": True, "may_abstain": True, "family": "other", "auditors": (Route("*", "lexical", "", Path()),),
    }  # fmt: skip
    assert {*others, *beside} == {item.name for item in fields(LlmSettings)}
    versions = [replace(SETTINGS, **{name: value}).version for name, value in others.items()]
    assert len({SETTINGS.version, *versions}) == 1 + len(others)
    assert {replace(SETTINGS, **{name: value}).version for name, value in beside.items()} == {SETTINGS.version}


def test_the_time_between_two_calls_follows_from_both_rates() -> None:
    """61 s a minute, so that what is late on its way does not make a window of 60 s too full."""
    by_requests = LlmJudge(replace(SETTINGS, requests_per_minute=30.0))
    by_tokens = LlmJudge(replace(SETTINGS, tokens_per_minute=20_000.0, max_tokens=4096))
    assert by_requests.expect(REQUEST).step_s == pytest.approx(61 / 30)
    tokens = by_tokens.expect(REQUEST).tokens_in + 4096
    assert by_tokens.expect(REQUEST).step_s == pytest.approx(61 * tokens / 20_000)
    both = LlmJudge(replace(SETTINGS, requests_per_minute=1.0, tokens_per_minute=20_000.0))
    assert both.expect(REQUEST).step_s == pytest.approx(61)
    assert LlmJudge(SETTINGS).expect(REQUEST).step_s == 0


OPENAI, LITELLM, OWN = {"model": "m"}, {"provider": "litellm", "model": "openai/m"}, "http://127.0.0.1:1/v1"


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (OPENAI, LITELLM, True),
        (OPENAI, {"provider": "litellm", "model": "gpt-m"}, True),
        (OPENAI, {"model": "another"}, True),
        (OPENAI, {"api_base": "https://API.openai.com/v1/", "api_key_env": "OPENAI_API_KEY"}, True),
        (
            {"api_base": OWN, "api_key_env": "KEY_A"},
            {**LITELLM, "api_base": f"{OWN}/", "api_key_env": "SAME_AS_A"},
            True,
        ),
        ({"api_base": OWN}, {**LITELLM, "api_base": OWN}, True),
        (OPENAI, {"api_base": OWN}, False),
        ({"api_key_env": "KEY_A"}, {"api_key_env": "KEY_B"}, False),
        (LITELLM, {"provider": "litellm", "model": "groq/m"}, False),
    ],
)
def test_an_account_is_an_address_and_a_key(
    one: dict[str, Any], other: dict[str, Any], is_same: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("OPENAI_BASE_URL", "OPENAI_API_BASE"):
        monkeypatch.delenv(name, raising=False)
    for name, key in {"OPENAI_API_KEY": "sk-0", "KEY_A": "sk-a", "SAME_AS_A": "sk-a", "KEY_B": "sk-b"}.items():
        monkeypatch.setenv(name, key)
    first, second = (LlmJudge(replace(SETTINGS, **change)).account for change in (one, other))
    assert (first == second) == is_same


def test_a_judge_without_rates_keeps_those_of_its_account(monkeypatch: pytest.MonkeyPatch) -> None:
    given = {"slow": {"requests_per_minute": 30.0}, "fast": {"requests_per_minute": 60.0, "tokens_per_minute": 1e5}}
    judges = {
        name: bind_judge(name, LlmJudge(replace(SETTINGS, name=name, api_base=base, **rates)))
        for name, base, rates in [
            ("slow", OWN, given["slow"]), ("fast", OWN, given["fast"]), ("none", OWN, {}), ("else", None, {}),
        ]
    }  # fmt: skip
    shared = {judge.name: judge for judge in share_rates([*judges.values(), bind_judge("chance", lambda request: "A")])}
    steps = {name: shared[name].expect(REQUEST).step_s for name in judges}  # type: ignore[union-attr]
    tokens = judges["none"].expect(REQUEST).tokens_in + SETTINGS.max_tokens  # type: ignore[union-attr]
    by_tokens = 61 * tokens / 1e5
    assert by_tokens > 61 / 30
    assert steps == pytest.approx({"slow": by_tokens, "fast": by_tokens, "none": by_tokens, "else": 0.0})
    assert shared["none"].traits.timeout_s > 86_400 > shared["else"].traits.timeout_s  # it waits for turns
    alone = share_rates([judges["none"]])[0].expect(REQUEST)
    assert alone is not None
    assert alone.step_s == 0


def test_a_call_takes_its_turn_before_every_attempt(waits: list[float]) -> None:
    taken: list[float] = []

    class Turns:
        def take_turn(self, step_s: float) -> float:
            taken.append(step_s)
            return 0.0

    made = LlmJudge(replace(SETTINGS, requests_per_minute=30.0))
    made._provider = FakeProvider(FAULTS["server"], body())
    made.keep_pace(Turns())
    asyncio.run(made(REQUEST))
    assert taken == [pytest.approx(61 / 30)] * 2


def test_what_was_seen_to_be_more_than_the_limit_bounds_the_next_calls(waits: list[float]) -> None:
    settings = replace(SETTINGS, max_tokens=10, answer_retries=0, tokens_per_minute=1e6)
    before = LlmJudge(settings).expect(REQUEST)
    made, _, (kept,) = ask(body(), settings=settings)
    assert made.expect(REQUEST) == before
    assert "exceeded" not in kept["settings"]
    more = {**body(), "usage": {"prompt_tokens": 100_000, "completion_tokens": 900}}
    made, _, (answer,) = ask(more, settings=settings)
    after = made.expect(REQUEST)
    assert answer["settings"].endswith(", max_tokens=10 (exceeded)")
    assert after.tokens_out == 900
    assert after.step_s - before.step_s == pytest.approx(61 * 890 / 1e6)
    assert 0.9 * after.bound_usd <= answer["cost_usd"] <= after.bound_usd
    short = replace(REQUEST, _messages=(("user", "Which?"),))
    assert before.bound_usd < made.expect(short).bound_usd < after.bound_usd


def test_a_subclass_of_ours_keeps_its_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mine(LlmJudge):
        pass

    monkeypatch.setenv("GATEWAY", "short")
    judge = bind_judge("mine", Mine(replace(SETTINGS, headers={"X-Gate": "GATEWAY"})))
    assert judge.secrets == ["short"]
    assert make_mask({}, judge.secrets)("a short secret") == "a [masked] secret"


def test_a_server_of_ones_own_has_no_price_of_openais(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    own = LlmJudge(LlmSettings("openai", "gpt-4o", "gpt-4o", api_base="http://127.0.0.1:1/v1"))
    assert own.expect(REQUEST).price is None
    assert own.price_basis.startswith("unknown")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    assert LlmJudge(LlmSettings("openai", "gpt-4o", "gpt-4o")).price_basis.startswith("unknown")


def test_a_judge_file_that_insists_on_the_schema_gets_no_other(waits: list[float]) -> None:
    settings = replace(SETTINGS, structured="schema")
    _, provider, (answer,) = ask(refuses("response_format", "no response_format here"), settings=settings)
    assert len(provider.sent) == 1
    assert answer["failed"]["kind"] == "request refused"


# --- what is tried again ------------------------------------------------------------------------------------

FAULTS = {
    "rate": CallFault("rate", "slow down", status=429),
    "server": CallFault("server", "oops", status=500),
    "connection": CallFault("connection", "refused"),
    "timeout": CallFault("timeout", "late"),
    "malformed": CallFault("malformed", "<html>"),
}


@pytest.mark.parametrize("kind", FAULTS)
def test_faults_of_transport_are_tried_again(kind: str, waits: list[float]) -> None:
    _, provider, (answer,) = ask(FAULTS[kind], FAULTS[kind], body())
    assert len(provider.sent) == 3
    assert answer["retries"] == 2
    assert "failed" not in answer
    first, second = waits
    assert 0.375 <= first <= 0.625
    assert 0.75 <= second <= 1.25


def test_the_wait_is_at_least_what_the_server_asks_for(waits: list[float]) -> None:
    ask(CallFault("rate", "slow", retry_after_s=7.0), CallFault("rate", "slow", retry_after_s=120.0), body())
    assert 7.0 <= waits[0] <= 7.7
    assert 120 <= waits[1] <= 132


def test_waits_double_up_to_the_longest_and_no_two_judges_wait_alike(waits: list[float]) -> None:
    for _ in range(8):
        with pytest.raises(JudgeStopped):  # the breaker: nine calls in a row came to nothing
            ask(FAULTS["server"], settings=replace(SETTINGS, retries=8), calls=9)
    rounds = [waits[k : k + 8] for k in range(0, len(waits), 8)]
    for number in range(8):
        nominal = min(30.0, 0.5 * 2**number)
        column = [row[number] for row in rounds]
        assert all(0.75 * nominal <= wait <= 1.25 * nominal for wait in column)
        assert len(set(column)) == len(column)


@pytest.mark.parametrize(
    ("seconds", "told"), [("121", "2 minutes"), ("7200", "2 hours"), ("31536000", "365 days"), ("130.5", "2 minutes")]
)
def test_a_server_that_is_closed_for_long_stops_the_run(seconds: str, told: str, waits: list[float]) -> None:
    fault = read_fault(StatusError(429, {"message": "Daily limit."}, headers={"retry-after": seconds}))
    assert fault.kind == "closed"
    with pytest.raises(JudgeStopped, match=f"Daily limit; the server asks to wait {told}"):
        ask(fault)
    assert sum(waits) < 2
    assert read_fault(StatusError(429, headers={"retry-after": "120"})).kind == "rate"
    assert read_fault(StatusError(400, headers={"retry-after": "999"})).kind == "request"


def test_what_never_passes_is_given_up_as_a_failure_in_transport(waits: list[float]) -> None:
    _, provider, (answer,) = ask(FAULTS["server"])
    assert len(provider.sent) == 6
    assert answer["failed"] == {"status": "error", "kind": "server error", "message": "oops (status 500)"}
    assert read(answer).verdict.status == "error"  # type: ignore[union-attr]
    _, _, (late,) = ask(FAULTS["timeout"])
    assert late["failed"]["status"] == "timeout"


@pytest.mark.parametrize(
    ("kind", "cost"), [("timeout", None), ("malformed", None), ("server", 0.0), ("rate", 0.0), ("connection", 0.0)]
)
def test_what_a_call_without_an_answer_costs(kind: str, cost: float | None, waits: list[float]) -> None:
    """A response that came too late or garbled may be billed; the server that declined does not."""
    settings = replace(SETTINGS, retries=2)
    _, _, (answer,) = ask(FAULTS[kind], settings=settings)
    assert answer["cost_usd"] == cost
    _, _, (free,) = ask(FAULTS[kind], settings=replace(settings, price=Price.per_million(0, 0)))
    assert free["cost_usd"] == 0


@pytest.mark.parametrize(
    "content", ["no JSON at all", "", '{"winner": "C"}', '{"winner": {"enum": ["A", "B"]}}', '{"winner": 1}']
)
def test_an_answer_that_cannot_be_read_is_asked_for_once_more(content: str, waits: list[float]) -> None:
    judge, provider, (answer,) = ask(body(content), body())
    assert len(provider.sent) == 2
    assert provider.sent[0]["seed"] != provider.sent[1]["seed"]
    assert isinstance(read(answer, judge).verdict, Verdict)
    assert answer["retries"] == 1
    assert answer["usage"]["prompt_tokens"] == 200  # both were paid for
    assert answer["cost_usd"] == pytest.approx(2 * (60e-6 + 4e-6 + 20e-6))
    _, provider, _ = ask(body(content), settings=replace(SETTINGS, answer_retries=0))
    assert len(provider.sent) == 1
    _, provider, _ = ask(body(content), settings=replace(SETTINGS, answer_retries=3))
    assert len(provider.sent) == 4


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        (body("I'm sorry, but I can't help with that."), "refusal"),
        (body(None, refusal="no"), "refusal"),
        (body("", "content_filter"), "content filter"),
        (CallFault("filter", "declined", status=400), "content filter"),
    ],
)
def test_a_refusal_is_an_answer(given: Any, kind: str, waits: list[float]) -> None:
    judge, provider, (answer,) = ask(given)
    assert len(provider.sent) == 1
    verdict = read(answer, judge).verdict
    assert (verdict.status, verdict.kind) == ("refused", kind)  # type: ignore[union-attr]


# --- kinds of failure ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "status", "kind"),
    [
        (body("The first idea is better."), "unparsed", "not JSON"),
        (body('{"winner": {"enum": ["A", "B"]}}'), "unparsed", "schema echo"),
        (body("", "length", reasoning_content="Let me think"), "truncated", "truncated reasoning"),
        (body("", "length"), "truncated", "truncated answer"),
        (body("Both are quite", "length"), "truncated", "truncated answer"),
        (body('{"reasoning": "both', "length"), "truncated", "truncated answer"),
        (body("<think>hm"), "truncated", "truncated reasoning"),
        (body(""), "unparsed", "empty"),
        (body(None, tool_calls=[{"id": "1"}]), "unparsed", "tool call"),
        (body('{"winner": true}'), "schema violation", "wrong type"),
    ],
)
def test_every_kind_of_failure_has_its_name(given: Any, status: str, kind: str, waits: list[float]) -> None:
    judge, _, (answer,) = ask(given)
    verdict = read(answer, judge).verdict
    assert (verdict.status, verdict.kind) == (status, kind)  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "content",
    [
        "```json\n" + GOOD + "\n```",
        "<think>A or B? {not json}</think>" + GOOD,
        '{"winner": "B"} no, rather ' + GOOD,
        [{"type": "text", "text": GOOD}],
    ],
)
def test_answers_with_something_around_them_are_read(content: Any, waits: list[float]) -> None:
    judge, _, (answer,) = ask(body(content))
    verdict = read(answer, judge).verdict
    assert isinstance(verdict, Verdict)
    assert verdict.label == "A"


def test_reasoning_is_kept_apart_from_the_answer(waits: list[float]) -> None:
    _, _, (answer,) = ask(body(GOOD, reasoning_content="Let me think: B?"))
    assert answer["answer"] == GOOD
    assert answer["reasoning"] == "Let me think: B?"
    reading = read(answer)
    assert reading.extras.tokens_reasoning == 7
    assert reading.extras.tokens_cached == 40
    assert reading.extras.model == "served"


@pytest.mark.parametrize("content", [b"<html>", b"", b"[1]", b"{", b"\xff\xfe", b'"text"'])
def test_a_body_that_is_no_object_is_a_fault_of_transport(content: bytes) -> None:
    with pytest.raises(CallFault) as caught:
        read_body(content)
    assert caught.value.kind == "malformed"
    assert caught.value.is_worth_another


@pytest.mark.parametrize(
    "value", [{}, {"choices": []}, {"choices": None}, {"error": {"message": "x"}}, {"choices": [1]}]
)
def test_a_body_without_choices_is_a_fault_of_transport(value: dict[str, Any]) -> None:
    with pytest.raises(CallFault) as caught:
        read_reply(value)
    assert caught.value.kind == "malformed"


@pytest.mark.parametrize(
    ("told", "kind", "status"),
    [
        ({"code": 401, "message": "No auth credentials found"}, "auth", 401),
        ({"code": "401", "message": "no"}, "auth", 401),
        ({"code": "invalid_api_key", "message": "no"}, "auth", 401),
        ({"code": 401, "status": "UNAUTHENTICATED"}, "auth", 401),
        ({"code": 402, "message": "Insufficient credits"}, "quota", 402),
        ({"code": "insufficient_quota", "message": "no"}, "quota", None),
        ({"code": 403, "message": "Your input was flagged"}, "filter", 403),
        ({"code": 404, "message": "No endpoints found"}, "model", 404),
        ({"code": 408, "message": "late"}, "timeout", 408),
        ({"code": 429, "message": "slow down"}, "rate", 429),
        ({"type": "rate_limit_error", "message": "slow down"}, "rate", 429),
        ({"code": 502, "message": "Provider returned error"}, "server", 502),
        ({"type": "overloaded_error", "message": "busy"}, "server", 529),
        ({"code": 400, "message": "prompt too long"}, "request", 400),
        ({"code": "content_filter", "message": "no"}, "filter", None),
        ({"code": 12, "message": "x"}, "malformed", None),
        ({"code": None, "message": "x"}, "malformed", None),
        ("just a text", "malformed", None),
    ],
)
@pytest.mark.parametrize("where", ["body", "choice"])
def test_an_error_in_a_good_response_is_told_by_its_code(told: Any, kind: str, status: int | None, where: str) -> None:
    value = {"error": told} if where == "body" else {"choices": [{"error": told, "message": {"content": "Half"}}]}
    if where == "choice" and kind == "malformed":
        kind = "server"  # of an answer it is known that it failed
    with pytest.raises(CallFault) as caught:
        read_reply(value)
    assert (caught.value.kind, caught.value.status) == (kind, status)
    message = told if isinstance(told, str) else told.get("message", "")
    assert message in caught.value.message


@pytest.mark.parametrize(
    "choice",
    [
        {"error": "upstream provider failed", "finish_reason": "error", "message": {"content": ""}},
        {"error": ["odd"], "message": {"content": GOOD}},
        {"finish_reason": "error", "message": {"content": GOOD[:10]}},
        {"finish_reason": "error"},
    ],
)
def test_an_answer_that_failed_at_the_server_is_tried_again_and_is_none(
    choice: dict[str, Any], waits: list[float]
) -> None:
    failed = {**body(), "choices": [choice]}
    _, provider, (answer,) = ask(failed, failed, body())
    assert len(provider.sent) == 3
    assert (answer["answer"], answer["retries"], len(waits)) == (GOOD, 2, 2)
    _, provider, (answer,) = ask(failed, settings=replace(SETTINGS, retries=1))
    assert len(provider.sent) == 2
    assert (answer["failed"]["status"], answer["failed"]["kind"]) == ("error", "server error")
    assert isinstance(choice.get("error"), str) == ("upstream provider failed" in answer["failed"]["message"])


def test_a_price_that_cannot_be_is_no_reason_to_lose_a_verdict(waits: list[float]) -> None:
    for most in (1e30, 1e307, float("inf")):
        settings = replace(SETTINGS, price=Price.per_million(most, most))
        judge, _, (answer,) = ask(body(), settings=settings)
        assert answer["cost_usd"] is None
        reading = read(answer, judge)
        assert isinstance(reading.verdict, Verdict)
        assert reading.extras.cost_usd is None


def test_no_usage_is_unknown_and_not_zero() -> None:
    for usage in (
        None,
        {},
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": "9"},
        {"prompt_tokens": -1},
    ):
        assert read_reply({**body(), "usage": usage}).tokens == Tokens()


def test_bytes_that_are_not_utf_8_do_not_lose_the_answer() -> None:
    raw = json.dumps(body()).encode().replace(b'\\"r\\"', b'\\"\xff\\"')
    assert '"winner": "A"' in read_reply(read_body(raw)).text


# --- what stops the run -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["auth", "model", "quota"])
def test_a_fatal_fault_stops_after_three_in_a_row(kind: str, waits: list[float]) -> None:
    provider = FakeProvider(CallFault(kind, "no such thing as 12345", status=401))
    judge = LlmJudge(SETTINGS)
    judge._provider = provider
    with pytest.raises(JudgeStopped, match="'model' cannot go on: no such thing"):
        asyncio.run(judge(REQUEST))
    assert len(provider.sent) == 3
    assert sum(waits) <= 2


def test_a_message_with_an_id_of_its_own_hides_no_wrong_key(waits: list[float]) -> None:
    numbers = itertools.count()

    def refused(fields: Mapping[str, Any]) -> CallFault:
        return CallFault("auth", f"invalid key (request req_{next(numbers)}xYz)", status=401)

    with pytest.raises(JudgeStopped):
        ask(refused)


def test_an_answer_is_kept_when_asking_again_fails(waits: list[float]) -> None:
    _, _, (answer,) = ask(body("prose"), FAULTS["server"])
    assert answer["answer"] == "prose"
    assert "failed" not in answer
    assert answer["retries"] == 6


def test_a_token_limit_that_is_too_large_is_never_left_out(waits: list[float]) -> None:
    too_large = CallFault("request", "'max_tokens' or 'max_completion_tokens' is too large: 4096", status=400)
    _, provider, (answer,) = ask(too_large)
    assert answer["failed"]["kind"] == "request refused"
    assert all("max_tokens" in sent or "max_completion_tokens" in sent for sent in provider.sent)


def test_one_instance_that_the_server_cannot_take_stops_nothing(waits: list[float]) -> None:
    """Its three votes fail alike; that says nothing of the others."""
    settings = replace(SETTINGS, retries=0)
    made = LlmJudge(settings)
    made._provider = FakeProvider(FAULTS["server"])

    async def votes() -> list[Any]:
        return [await made(REQUEST) for _ in range(8)]

    assert [answer["failed"]["kind"] for answer in asyncio.run(votes())] == ["server error"] * 8


def test_faults_of_transport_stop_the_run_however_they_alternate(waits: list[float]) -> None:
    script = [
        CallFault(kind, "no", status=status) for kind, status in (("server", 500), ("rate", 429), ("server", 503))
    ]
    made = LlmJudge(replace(SETTINGS, retries=0))
    made._provider = FakeProvider(body(), *script * 3)

    async def calls() -> None:
        for number in range(10):
            await made(replace(REQUEST, instance_id=f"i{number}"))

    with pytest.raises(JudgeStopped):
        asyncio.run(calls())


def test_an_unreadable_answer_that_is_paid_for_is_kept_when_the_judge_stops(waits: list[float]) -> None:
    auth = CallFault("auth", "no", status=401)
    _, _, (answer,) = ask(body("prose"), auth)
    assert answer["answer"] == "prose"
    assert answer["cost_usd"] > 0


def test_calls_that_wait_end_with_the_judge() -> None:
    """A turn in an hour, or a long backoff, holds nobody up once a key is known to be wrong."""

    class Late:
        def __init__(self) -> None:
            self.turns = iter([0.0] * 3)

        def take_turn(self, step_s: float) -> float:
            return next(self.turns, 3_600.0)

    made = LlmJudge(replace(SETTINGS, requests_per_minute=1.0))
    made._provider = FakeProvider(CallFault("auth", "no", status=401))
    made.keep_pace(Late())

    async def calls() -> list[Any]:
        found = [made(replace(REQUEST, instance_id=f"i{number}")) for number in range(4)]
        return await asyncio.gather(*found, return_exceptions=True)

    began = time.perf_counter()
    assert [type(found) for found in asyncio.run(calls())] == [JudgeStopped] * 4
    assert time.perf_counter() - began < 10


def test_one_fatal_fault_of_a_gateway_stops_nothing(waits: list[float]) -> None:
    auth = CallFault("auth", "busy", status=401)
    _, provider, answers = ask(auth, auth, body(), auth, body(), calls=2)
    assert [answer["answer"] for answer in answers] == [GOOD, GOOD]
    assert len(provider.sent) == 5


def test_a_server_that_is_down_stops_within_seconds(waits: list[float]) -> None:
    with pytest.raises(JudgeStopped, match="that the server runs"):
        ask(FAULTS["connection"])
    assert sum(waits) <= 5


def test_a_server_that_is_out_of_reach_is_tried_twice(waits: list[float]) -> None:
    """Each attempt takes all the time that there is for a connection."""
    provider = FakeProvider(CallFault("connection", "no connection", code=UNREACHABLE))
    judge = LlmJudge(SETTINGS)
    judge._provider = provider
    with pytest.raises(JudgeStopped, match="no connection"):
        asyncio.run(judge(REQUEST))
    assert len(provider.sent) == 2
    assert len(provider.sent) * CONNECT_S + sum(waits) < 6


def test_clients_of_litellm_are_bounded_only_while_a_judge_is_open() -> None:
    class Cache:
        def __init__(self) -> None:
            self.kept: dict[str, Any] = {}

        def set_cache(self, key: str, value: Any, **options: Any) -> None:
            self.kept[key] = value

    users = Cache()
    litellm = SimpleNamespace(in_memory_llm_clients_cache=users)
    handler = SimpleNamespace(client=httpx.AsyncClient(follow_redirects=True), follow_redirects=True)
    own = OwnClients()

    async def use() -> httpx.Request:
        own.open(litellm)
        own.open(litellm)
        litellm.in_memory_llm_clients_cache.set_cache("k", handler, ttl=1)
        await own.close(litellm)
        assert litellm.in_memory_llm_clients_cache is not users
        await own.close(litellm)
        request = httpx.Request("POST", "http://127.0.0.1", extensions={"timeout": {"connect": 120.0, "read": 120.0}})
        for hook in handler.client.event_hooks["request"]:
            await hook(request)
        return request

    request = asyncio.run(use())
    assert litellm.in_memory_llm_clients_cache is users
    assert users.kept == {}
    assert (handler.follow_redirects, handler.client.follow_redirects) == (False, False)
    assert request.extensions["timeout"] == {"connect": CONNECT_S, "read": 120.0}


@pytest.mark.filterwarnings("ignore")  # of litellm, while it is imported
@pytest.mark.parametrize("provider", ["openai", "litellm"])
@pytest.mark.parametrize("status", [200, 500])
def test_a_body_without_end_is_not_read_to_its_end(status: int, provider: str) -> None:
    """Some kilobytes that unpack to far more than any answer has."""
    pytest.importorskip(provider)
    packed = gzip.compress(b" " * (2 * MOST_BYTES))

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(status)
            for name, value in (("Content-Encoding", "gzip"), ("Content-Type", "application/json")):
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(packed)))
            self.end_headers()
            self.wfile.write(packed)

        def log_message(self, *args: Any) -> None: ...

    server = HTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}/v1"
    model = "openai/m" if provider == "litellm" else "m"

    async def complete() -> None:
        asked = open_provider(replace(SETTINGS, provider=provider, model=model, api_base=address))
        try:
            await asked.complete({"model": model, "messages": [{"role": "user", "content": "Which?"}]})
        finally:
            await asked.close()

    try:
        with pytest.raises(CallFault, match="the server's response has more than 16 MB") as caught:
            asyncio.run(complete())
    finally:
        server.shutdown()
        server.server_close()
    assert caught.value.kind == "malformed"


@pytest.mark.parametrize(
    "name", ["", "callbacks", "input_callback", "success_callback", "failure_callback", "another_list"]
)
def test_what_is_handed_to_callbacks_is_redacted_where_there_are_some(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Cache:
        def set_cache(self, key: str, value: Any) -> None: ...

    lists: dict[str, list[object]] = {"callbacks": [], "success_callback": []}
    if name:
        lists[name] = [print]
    litellm = SimpleNamespace(
        in_memory_llm_clients_cache=Cache(), turn_off_message_logging=None, acompletion=print, **lists
    )
    monkeypatch.setitem(sys.modules, "litellm", litellm)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-sound")
    asyncio.run(open_provider(replace(SETTINGS, provider="litellm")).close())
    assert litellm.turn_off_message_logging is (name not in ("", "another_list"))


@pytest.mark.parametrize("value", ["sk-planted\n", "sk-\nplanted", " sk-planted", "sk-plant\u00e9d", "sk-\tplanted"])
@pytest.mark.parametrize(
    ("variable", "change"),
    [
        ("OPENAI_API_KEY", {}),
        ("OPENAI_ORG_ID", {"api_base": "http://127.0.0.1:1/v1"}),
        ("MY_KEY", {"api_key_env": "MY_KEY"}),
        ("MY_GATE", {"headers": {"X-Gate": "MY_GATE"}}),
        ("OPENAI_API_KEY", {"provider": "litellm"}),
        ("GROQ_API_KEY", {"provider": "litellm", "model": "groq/m"}),
        ("MY_KEY", {"provider": "litellm", "model": "groq/m", "api_key_env": "MY_KEY"}),
    ],
)
def test_a_key_that_no_header_can_carry_is_said_before_anything_is_asked(
    variable: str, change: dict[str, Any], value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-sound")
    monkeypatch.setenv(variable, value)
    with pytest.raises(JudgeError, match=f"the environment variable {variable} cannot be sent") as caught:
        open_provider(replace(SETTINGS, **change))
    assert "planted" not in str(caught.value)
    assert value.strip() not in str(caught.value)


def test_a_warning_that_pytest_makes_an_error_stops_no_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "import builtins, warnings\nbuiltins.tries = getattr(builtins, 'tries', 0) + 1\n"
    source += "if builtins.tries < 3:\n    warnings.warn('of no interest')\n"
    (tmp_path / "noisy_library.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(builtins, "tries", 0, raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert _import_patiently("noisy_library").__name__ == "noisy_library"
    assert builtins.tries == 3  # type: ignore[attr-defined]
    with pytest.raises(ImportError):
        _import_patiently("no_such_library")


def test_a_server_that_answered_before_is_given_more_patience(waits: list[float]) -> None:
    _, provider, answers = ask(body(), *[FAULTS["connection"]] * 5, body(), calls=2)
    assert len(provider.sent) == 7
    assert answers[1]["retries"] == 5


def test_calls_that_all_fail_alike_stop_the_run(waits: list[float]) -> None:
    with pytest.raises(JudgeStopped):
        ask(FAULTS["server"], calls=3)
    with pytest.raises(JudgeStopped):
        ask(CallFault("request", "prompt of 1234 tokens is too long", status=400), calls=3)
    with pytest.raises(JudgeStopped):
        ask(body(), FAULTS["server"], calls=6)
    different = [CallFault("request", f"{word}", status=400) for word in ("one", "two", "three", "four")]
    _, _, answers = ask(*different, calls=4)
    assert [answer["failed"]["kind"] for answer in answers] == ["request refused"] * 4


def test_refused_contents_do_not_stop_the_run(waits: list[float]) -> None:
    _, _, answers = ask(CallFault("filter", "declined", status=400), calls=20)
    assert {answer["failed"]["status"] for answer in answers} == {"refused"}


# --- the errors of client libraries -------------------------------------------------------------------------


class StatusError(Exception):
    def __init__(self, status: int | None, body: Any = None, headers: Mapping[str, str] | None = None) -> None:
        super().__init__("a message")
        self.status_code = status
        self.body = body
        self.response = type("Response", (), {"headers": headers or {}})()


class APITimeoutError(Exception): ...


class APIConnectionError(Exception): ...


class ContentPolicyViolationError(StatusError): ...


def led_to(shown: Exception, *hidden: BaseException) -> Exception:
    """An error whose causes are ``hidden``, the nearest first."""
    error: BaseException = shown
    for cause in hidden:
        error.__cause__ = cause
        error = cause
    return shown


def test_what_never_got_there_is_told_from_what_was_turned_away() -> None:
    """And both name the address that was asked, without what may be a secret in it."""
    request = httpx.Request("POST", "http://me:secret@127.0.0.1:9/v1/chat?key=secret")
    lost = read_fault(led_to(APITimeoutError(), httpx.ConnectTimeout("", request=request), TimeoutError()))
    closed = led_to(StatusError(500), httpx.ConnectTimeout("", request=request), ConnectionRefusedError(111, "refused"))
    turned_away = read_fault(closed)
    assert (lost.kind, lost.code, turned_away.kind, turned_away.code) == ("connection", UNREACHABLE, "connection", "")
    assert lost.message == "no connection: nothing came back in time, asking http://127.0.0.1:9/v1/chat"
    assert turned_away.message == "no connection: refused, asking http://127.0.0.1:9/v1/chat"


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (StatusError(401), "auth"),
        (StatusError(403), "auth"),
        (StatusError(404), "model"),
        (StatusError(408), "timeout"),
        (StatusError(409), "server"),
        (StatusError(429), "rate"),
        (StatusError(429, {"error": {"code": "insufficient_quota", "message": "no"}}), "quota"),
        (StatusError(429, {"code": "insufficient_quota", "message": "no"}), "quota"),
        (StatusError(402), "quota"),
        (StatusError(400), "request"),
        (StatusError(422), "request"),
        (StatusError(400, {"code": "content_filter", "message": "no"}), "filter"),
        (ContentPolicyViolationError(400), "filter"),
        (StatusError(403, {"message": "Your input was flagged"}), "filter"),
        (StatusError(307), "redirect"),
        (led_to(StatusError(500), StatusError(307)), "redirect"),
        (led_to(StatusError(500), httpx.ConnectError("no")), "connection"),
        (led_to(APITimeoutError(), httpx.ConnectTimeout("late")), "connection"),
        (StatusError(500, {"message": "Invalid response object Traceback (most recent call last): x"}), "malformed"),
        (StatusError(500), "server"),
        (StatusError(503), "server"),
        (StatusError(529), "server"),
        (APITimeoutError(), "timeout"),
        (APIConnectionError(), "connection"),
        (OSError("socket"), "connection"),
    ],
)
def test_errors_are_told_apart(error: Exception, kind: str) -> None:
    assert read_fault(error).kind == kind


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Wed, 21 Oct 99999 07:28:00 GMT"}, None),
        ({"retry-after": "-5"}, None),
        ({"retry-after": "nan"}, None),
    ],
)
def test_retry_after(headers: dict[str, str], seconds: float | None) -> None:
    assert read_fault(StatusError(429, headers=headers)).retry_after_s == seconds


# --- prices -------------------------------------------------------------------------------------------------


def test_cached_tokens_have_their_own_price() -> None:
    price = Price.per_million(1.0, 2.0, 0.1)
    assert price.cost_usd(Tokens(1000, 100, 400, 50)) == pytest.approx(600e-6 + 40e-6 + 200e-6)
    assert price.cost_usd(Tokens(1000, None)) is None
    assert Price.per_million(0, 0).cost_usd(Tokens()) == 0.0
    assert Price.per_million(1.0, 2.0).cost_usd(Tokens(1000, 0, 400)) == pytest.approx(1e-3)


def listed(cost: float | None, provider: str | None = "openai", **more: Any) -> dict[str, Any]:
    entry = {} if cost is None else {"input_cost_per_token": cost, "output_cost_per_token": cost}
    return {**entry, "litellm_provider": provider, **more}


TABLE = {
    "gpt-4": listed(1.0),
    "gpt-4o": listed(2.0, cache_read_input_token_cost=0.5),
    "gpt-4o-mini": listed(3.0),
    "gpt-4o-mini-audio": listed(None),
    "gpt-instruct": listed(3.5, "text-completion-openai"),
    "openai/gpt-4o": listed(4.0),
    "openai/special": listed(5.0),
    "openrouter/openai/gpt-4": listed(6.0, "openrouter"),
    "openrouter/openai/gpt-4o:free": listed(0.0, "openrouter"),
    "openrouter/openai": listed(6.5, "openrouter"),
    "claude": listed(7.0, "anthropic"),
    "gemini-2": listed(8.0, "vertex_ai-language-models"),
    "gemini/gemini-2": listed(9.0, "gemini"),
    "whose": listed(10.0, None),
    "image": {"mode": "image_generation"},
    "placeholder": listed(0.0),
    "spoilt": "no entry",
    "acme/zed": listed(11.0, "acme"),
    "zed": listed(12.0, "acme"),
    "claude-latest": {"alias_of": "claude"},
    "lost": {"alias_of": "nowhere"},
}


@pytest.mark.parametrize("order", [list, lambda items: list(reversed(items))])
@pytest.mark.parametrize(
    ("model", "cost", "basis"),
    [
        ("gpt-4", 1.0, "gpt-4"),
        ("gpt-4o", 2.0, "gpt-4o"),
        ("gpt-4o-mini-2024-07-18", 3.0, "by its prefix gpt-4o-mini"),
        ("gpt-4-turbo", 1.0, "by its prefix gpt-4"),
        ("gpt-4o@2024", 2.0, "by its prefix gpt-4o"),
        ("gpt-4.5", None, "gpt-4.5 is not in"),
        ("gpt-5", None, "gpt-5 is not in"),
        ("gpt-", None, "not in"),
        ("mine", None, "not in"),
        ("openai/gpt-4o", 4.0, "openai/gpt-4o"),  # exact, before the name without its provider
        ("openai/gpt-4", 1.0, "gpt-4"),
        ("openai/gpt-4o-2024", 4.0, "by its prefix openai/gpt-4o"),
        ("openai/gpt-4o-mini", 3.0, "gpt-4o-mini"),  # exact without its provider, before a prefix with it
        ("openai/gpt-4o-mini-2024", 3.0, "by its prefix gpt-4o-mini"),  # the longer of two prefixes
        ("openai/gpt-4o-mini-audio-2024", None, "no price for gpt-4o-mini-audio"),
        ("openai/gpt-instruct", 3.5, "gpt-instruct"),
        ("openai/special", 5.0, "openai/special"),
        ("openai/claude", None, "not in"),
        ("openrouter/openai/gpt-4", 6.0, "openrouter/openai/gpt-4"),
        ("openrouter/openai/gpt-4-0613", 6.0, "by its prefix openrouter/openai/gpt-4"),
        ("openrouter/openai/gpt-4o", None, "not in"),  # not openai/gpt-4o: another shop has prices of its own
        ("openrouter/openai/special", None, "not in"),
        ("openrouter/openai/gpt-4o:free", None, "no price for openrouter/openai/gpt-4o:free"),
        ("ollama/gpt-4", None, "not in"),
        ("anthropic/claude-2026", 7.0, "by its prefix claude"),
        ("vertex_ai/gemini-2", 8.0, "gemini-2"),
        ("gemini/gemini-2", 9.0, "gemini/gemini-2"),
        ("any/whose", None, "not in"),
        ("whose", 10.0, "whose"),
        ("image", None, "no price for image"),
        ("placeholder", None, "no price for placeholder"),
        ("spoilt", None, "no price for spoilt"),
        ("x/spoilt", None, "not in"),
        ("acme/zed", 11.0, "acme/zed"),
        ("claude-latest", 7.0, "claude-latest"),
        ("anthropic/claude-latest", 7.0, "claude-latest"),
        ("lost", None, "no price for lost"),
        ("/gpt-4", None, "not in"),
        ("openai/", None, "not in"),
    ],
)
def test_a_price_is_found_by_the_exact_name_else_by_the_longest_prefix(
    model: str, cost: float | None, basis: str, order: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_novelty.judges.llm.prices._table", lambda: dict(order(TABLE.items())))
    price, told = find_price(model)
    assert (None if price is None else price.input) == cost
    if cost is None:
        assert told.startswith("unknown: ")
        assert basis in told
        assert told.endswith("give price in a judge file")
    else:
        assert told == f"litellm's table, {basis}"


def test_cached_tokens_cost_what_the_table_says_and_without_a_table_nothing_is_known(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pytest_novelty.judges.llm.prices._table", lambda: TABLE)
    assert find_price("gpt-4o")[0] == Price(2.0, 2.0, 0.5)
    assert find_price("gpt-4")[0] == Price(1.0, 1.0, 1.0)
    monkeypatch.setattr("pytest_novelty.judges.llm.prices._table", dict)
    assert find_price("gpt-4o") == (None, "unknown: give price in a judge file, or install litellm for its table")


def test_an_unknown_price_is_none_and_never_zero(waits: list[float]) -> None:
    settings = replace(SETTINGS, price=None, model="nobody-knows")
    judge, _, (answer,) = ask(body(), settings=settings)
    assert answer["cost_usd"] is None
    assert judge.cost_usd_per_call is None
    assert judge.expect(REQUEST).bound_usd is None


def test_what_is_set_aside_covers_what_a_call_costs(waits: list[float]) -> None:
    judge, _, (answer,) = ask(body())
    expected = judge.expect(REQUEST)
    assert expected.tokens_in == 600 // 4
    assert expected.bound_usd >= answer["cost_usd"]
    size = 600 + len(json.dumps(SCHEMA))
    assert expected.bound_usd == pytest.approx(2 * ((size // 2.5 + 64) * 1e-6 + 4096 * 2e-6))
    dense = replace(REQUEST, _messages=(("user", "\u65b0" * 1000),))
    assert judge.expect(dense).bound_usd > judge.expect(replace(REQUEST, _messages=(("user", "n" * 1000),))).bound_usd


# --- judge files --------------------------------------------------------------------------------------------


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "judge.yaml"
    path.write_text(text)
    return path


def test_a_judge_file(tmp_path: Path) -> None:
    (tmp_path / "my.yaml").touch()
    path = write(
        tmp_path,
        "format: novelty-judge/1\nmodel: litellm:anthropic/claude\nname: mine\nprompts: {pairwise: my.yaml}\n"
        "price: {input: 1, output: 2}\nrequests_per_minute: 60\nmay_tie: true\ntimeout_s: 5\n",
    )
    settings = load_judge_file(path)
    assert (settings.provider, settings.model, settings.name) == ("litellm", "anthropic/claude", "mine")
    assert settings.price == Price.per_million(1, 2)
    judge = bind_judge("mine", LlmJudge(settings))
    assert judge.traits.may_tie
    assert judge.prompts == {"pairwise": str(tmp_path / "my.yaml")}


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("model: gpt-5\n", "litellm:PROVIDER/MODEL, such as openai:gpt-5"),
        ("model: anthropic:claude\n", "must begin with openai: or litellm:.*such as litellm:anthropic/claude"),
        ("model: Mistral/large\n", "such as litellm:mistral/large"),
        ("model: openai/gpt-5\n", "such as openai:gpt-5"),
        ("model: 'litellm:'\n", "litellm: names no model"),
        ("model: 5\n", "must be a text"),
        ("model: openai:m\nmodell: x\n", "modell"),
        ("model: openai:m\nheaders: {X-Key: '12345 67'}\n", "must name an environment variable"),
        ("model: openai:m\nprompts: {pairwize: x}\n", "pairwise"),
        ("model: openai:m\ntimeout_s: 0\n", "timeout_s"),
        ("model: openai:m\nprice: {input: 1}\n", "output"),
        ("model: openai:m\napi_base: localhost\n", "api_base"),
        ("model: openai:m\napi_base: https://me:pw@host/v1\n", "api_base"),
        ("model: openai:m\napi_key_env: sk-live-1234\n", "api_key_env"),
        ("model: openai:m\nparameters: {api_key: mine}\n", "no parameter of a request"),
        ("model: openai:m\nparameters: {temperature: 1}\n", "no parameter of a request"),
        ("model: openai:m\napi_base: 'http://[::1'\n", "no address of a server: its host or its port is none"),
        ("model: openai:m\napi_base: http://host:99999/v1\n", "its host or its port is none"),
        ("model: openai:m\napi_base: http://host:port/v1\n", "its host or its port is none"),
        ("model: openai:m\napi_base: http://host:0/v1\n", "its port is 0"),
        ("model: openai:m\napi_base: http://1.2.3.999/v1\n", "its host or its port is none"),
        ("model: openai:m\napi_base: http:///v1\n", "it names no host"),
        ("model: openai:m\napi_base: http://a..b/v1\n", "it names no host"),
        ("model: openai:m\napi_base: http://host/v 1\n", "a blank or a control character"),
        ("model: openai:m\nrequests_per_minute: 1e-300\n", "requests_per_minute: .*more than an hour.*Write 0.0167 or"),
        ("model: openai:m\ntokens_per_minute: 1e-5\n", "tokens_per_minute: .*more than an hour.*Write 68.3 or more"),
        ("model: openai:m\nheaders: {'X Key': MY_KEY}\n", "'X Key' is no name of a header"),
        ("model: openai:m\nheaders: {'X-Key:': MY_KEY}\n", "'X-Key:' is no name of a header"),
        ("model: openai:m\nheaders: {content-Length: MY_KEY}\n", "'content-Length' is set by whoever sends"),
        ("model: openai:m\nheaders: {Host: MY_KEY}\n", "'Host' is set by whoever sends"),
        ("model: openai:m\nprice: {input: 1e308, output: 1}\n", "price.input: .*greater than the maximum of 1000000"),
    ],
)
def test_a_judge_file_that_is_wrong(tmp_path: Path, line: str, told: str) -> None:
    with pytest.raises(JudgeError, match=told) as caught:
        load_judge_file(write(tmp_path, f"format: novelty-judge/1\n{line}"))
    assert caught.value.path is not None
    assert caught.value.line is not None


@pytest.mark.parametrize(
    "line",
    [
        *[
            f"api_base: {address}"
            for address in ("http://[::1]:8000/v1", "https://my_host-1.example.org./v1", "http://10.0.0.1")
        ],
        *["requests_per_minute: 0.02", "tokens_per_minute: 70", "max_tokens: 10\ntokens_per_minute: 1"],
        *["headers: {X-Key: MY_KEY, x_other.1: MY_KEY}", "price: {input: 1000000, output: 0}"],
    ],
)
def test_a_judge_file_at_the_edge_of_what_is_right(tmp_path: Path, line: str) -> None:
    assert load_judge_file(write(tmp_path, f"format: novelty-judge/1\nmodel: openai:m\n{line}\n")).model == "m"


def test_a_wrong_address_of_the_environment_is_said_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-sound")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://[::1")
    with pytest.raises(JudgeError, match="no address of a server: its host or its port is none.*OPENAI_BASE_URL"):
        open_provider(replace(SETTINGS, api_base=None))


def test_whatever_a_client_library_says_when_it_is_opened_is_one_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(settings: LlmSettings) -> Any:
        raise TypeError("an unexpected argument")

    monkeypatch.setattr("pytest_novelty.judges.llm.judge.open_provider", fails)
    with pytest.raises(JudgeError, match="cannot be asked: TypeError: an unexpected argument"):
        asyncio.run(LlmJudge(SETTINGS).__aenter__())


KEYS = [
    *["sk-live-1234", "sk_live_1234", "Bearer sk-live-1234", "gsk_abcdefghij0123456789", "hf_abcdefghij0123456789"],
    *["AKIAIOSFODNN7EXAMPLE", "0123456789abcdef0123456789abcdef", "aB3defGhijklMnop1234qrsTuvwX"],
    "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc-DEF_1",
]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize(
    "line",
    [
        *["model: {}", "model: 'openai:{}'", "model: openai:m\nname: {}", "model: openai:m\napi_key_env: {}"],
        *[
            "model: openai:m\neffort: {}",
            "model: openai:m\nparameters: {{a: {{b: [{}]}}}}",
            "model: openai:m\n? {}\n: 1",
        ],
        *["model: openai:m\nheaders: {{Authorization: {}}}", "model: openai:m\nprompts: {{pairwise: {}}}"],
    ],
)
def test_a_key_in_a_judge_file_is_found_and_not_repeated(line: str, key: str, tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match="looks like a key.*environment") as caught:
        load_judge_file(write(tmp_path, f"format: novelty-judge/1\n{line.format(key)}\n"))
    assert key not in str(caught.value)
    assert not caught.value.more
    assert caught.value.line == (2 if line.startswith(("model: {}", "model: 'o")) else 3)


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("prefix", ["", "openai:", "litellm:"])
def test_a_key_in_the_place_of_a_judges_name_is_not_repeated(prefix: str, key: str, tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match="looks like a key") as caught:
        resolve_judges([prefix + key], {}, tmp_path)
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        *["gpt-5.4", "skywork-13b", "hf-internal-testing/tiny-random-gpt2", "ft:gpt-4o-mini:acme:novelty:9aBcDeFg1"],
        *[
            "anthropic/claude-sonnet-4-5-20250929",
            "meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8",
            "MY_KEY_1",
            "xai/grok-4",
        ],
        *[
            "NovelIdeasOfEverybodyWithoutNumber",
            "bedrock/arn:aws:bedrock:us-east-1:123456789012:inference-profile/abcDEF123",
        ],
    ],
)
def test_names_of_models_are_no_keys(name: str) -> None:
    assert not is_like_a_key(name)


def test_a_value_that_the_environment_holds_as_a_key_is_masked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", "open-sesame-open")
    for line in ("model: open-sesame-open", "model: openai:m\neffort: open-sesame-open"):
        with pytest.raises(JudgeError) as caught:
            load_judge_file(write(tmp_path, f"format: novelty-judge/1\n{line}\n"))
        assert "sesame" not in str(caught.value)
        assert "[masked]" in str(caught.value)


def test_the_version_is_of_what_can_change_an_answer() -> None:
    base = settings_of_name("openai:m")
    for change in ({"temperature": 1.0}, {"model": "n"}, {"max_tokens": 5}, {"seed": False}, {"parameters": {"a": 1}}):
        assert replace(base, **change).version != base.version
    for change in ({"name": "x"}, {"timeout_s": 5.0}, {"concurrency": 3}, {"retries": 1}, {"price": Price(1, 1, 1)}):
        assert replace(base, **change).version == base.version
    with pytest.raises(JudgeError, match="names no model"):
        settings_of_name("openai:")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"api_base": "http://a/v1"}, {"api_base": "http://a/v1/"}),
        ({"temperature": 0}, {"temperature": 0.0}),
        ({"parameters": {"a": [1, {"b": 2}]}}, {"parameters": {"a": [1.0, {"b": 2.0}]}}),
    ],
)
def test_two_spellings_of_one_setting_are_one_version(one: dict[str, Any], other: dict[str, Any]) -> None:
    base = settings_of_name("openai:m")
    assert replace(base, **one).version == replace(base, **other).version != base.version


def test_the_base_url_of_the_environment_has_one_spelling(monkeypatch: pytest.MonkeyPatch) -> None:
    named = settings_of_name("openai:m")
    for url in ("http://a/v1", "http://a/v1/", " http://a/v1// "):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        assert named.base_url == "http://a/v1"
        assert named.version == replace(named, api_base="http://a/v1").version
    for url in ("", "/", " "):
        monkeypatch.setenv("OPENAI_BASE_URL", url)
        assert named.base_url is None
