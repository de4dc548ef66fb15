"""What a judge may return: read without an exception, and read the same again from what is stored."""

from __future__ import annotations

import json
from types import MappingProxyType
from typing import Any

import pytest

from pytest_novelty.answers import (
    CONTRADICTION,
    NOT_UTF8,
    ODDITIES,
    join_oddities,
    read_answer,
    read_raw,
    split_oddities,
)
from pytest_novelty.judges.base import Traits
from pytest_novelty.model import NOT_NOVEL, NOVEL, SCHEMA_VIOLATION, TRUNCATED, UNPARSED, Document, Failure, Verdict
from pytest_novelty.protocols import PROTOCOLS

POINTWISE, PAIRWISE = PROTOCOLS["pointwise"], PROTOCOLS["pairwise"]
DECLARED = {
    "type": "object",
    "properties": {"reasoning": {"type": "string"}, "novel": {"type": "boolean"}},
    "required": ["reasoning", "novel"],
}


class Response:
    """What an SDK returns: no JSON value, and its repr shows the text."""

    def __repr__(self) -> str:
        return 'Response({"novel": true})'


class Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError("no")


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("answer", "label", "score"),
    [
        ('{"novel": true}', NOVEL, None),
        (b'{"novel": false}', NOT_NOVEL, None),
        ({"novel": True, "score": 2}, NOVEL, 2.0),
        (MappingProxyType({"novel": False}), NOT_NOVEL, None),
        (Verdict(NOVEL), NOVEL, None),
        (Verdict(NOT_NOVEL, 0.25), NOT_NOVEL, 0.25),
        (Verdict(score=0.5), None, 0.5),
        ({"answer": 'So: {"novel": true}', "cost_usd": 0.01}, NOVEL, None),
        ({"novel": True, "retrieved": ({"id": "a"},)}, NOVEL, None),
        ('\ud800 {"novel": true, "reason": "\ud800"}', NOVEL, None),
    ],
)
def test_verdicts(answer: Any, label: str | None, score: float | None) -> None:
    reading = read_answer(answer, POINTWISE, Traits(), None)
    assert isinstance(reading.verdict, Verdict), reading.verdict
    assert (reading.verdict.label, reading.verdict.score) == (label, score)
    assert reading.raw.isascii()
    assert read_raw(reading.raw, POINTWISE, Traits(), None).verdict == reading.verdict


FAILURES = {
    "None": None,
    "a number": 1,
    "a list": [{"novel": True}],
    "a set": {'{"novel": true}'},
    "an SDK object": Response(),
    "an unprintable object": Unprintable(),
    "an object inside": {"novel": True, "x": Response()},
    "NaN": {"novel": True, "score": float("nan")},
    "bytes that are not UTF-8": b'\xff{"novel": true}',
    "a huge integer": {"score": 10**5000},
    "deeply nested": nested(100_000),
    "mixed keys": {"novel": True, 1: 2},
    "empty": "",
    "the string false": {"novel": "false"},
    "of the other protocol": {"winner": "A"},
    "a verdict of the other protocol": Verdict("A"),
    "an empty verdict": Verdict(),
    "a verdict with a list": Verdict(label=["novel"]),  # type: ignore[arg-type]
    "retrieved no list": {"novel": True, "retrieved": "a, b"},
    "retrieved numbers": {"novel": True, "retrieved": [1]},
    "a negative cost": {"novel": True, "cost_usd": -1},
    "a too long text": "x" * 4_000_001 + '{"novel": true}',
    "too long bytes": b"x" * 4_000_001 + b'{"novel": true}',
}


@pytest.mark.parametrize("name", FAILURES)
def test_failures_stay_failures_when_read_again(name: str) -> None:
    """A stored answer is read again in the next run: what failed must not then become a verdict."""
    reading = read_answer(FAILURES[name], POINTWISE, Traits(), None)
    assert isinstance(reading.verdict, Failure), reading.verdict
    assert reading.verdict.status in (UNPARSED, SCHEMA_VIOLATION)
    assert len(reading.raw) < 5000
    json.loads(reading.raw)
    assert isinstance(read_raw(reading.raw, POINTWISE, Traits(), None).verdict, Failure)


@pytest.mark.parametrize(
    ("verdict", "powers", "label"),
    [
        (Verdict("A"), Traits(), "A"),
        (Verdict("tie"), Traits(may_tie=True), "tie"),
        (Verdict(abstained=True), Traits(may_abstain=True), None),
    ],
)
def test_pairwise_verdict_objects(verdict: Verdict, powers: Traits, label: str | None) -> None:
    read = read_answer(verdict, PAIRWISE, powers, None).verdict
    assert isinstance(read, Verdict), read
    assert (read.label, read.abstained) == (label, verdict.abstained)
    if powers != Traits():
        assert isinstance(read_answer(verdict, PAIRWISE, Traits(), None).verdict, Failure)


def test_a_text_is_held_against_the_declared_schema_and_a_dict_is_not() -> None:
    text = '{"novel": true}'
    failure = read_answer(text, POINTWISE, Traits(), DECLARED).verdict
    assert isinstance(failure, Failure)
    assert (failure.status, failure.kind) == (SCHEMA_VIOLATION, "schema")
    assert "'reasoning' is missing" in failure.message
    assert isinstance(read_answer(json.loads(text), POINTWISE, Traits(), DECLARED).verdict, Verdict)


@pytest.mark.parametrize("wrap", [str, str.encode, lambda text: {"answer": text}])
@pytest.mark.parametrize(
    ("text", "oddity"),
    [
        ('{"novel": true} {"novel": false}', CONTRADICTION),
        ('{"novel": false} {"novel": false}', ""),
        ('{"novel": false, "reasoning": "na\N{REPLACEMENT CHARACTER}ve"}', NOT_UTF8),
        ('{"novel": false, "reasoning": "na\N{LATIN SMALL LETTER I WITH DIAERESIS}ve"}', ""),
    ],
)
def test_an_oddity_of_an_answer_that_was_read(wrap: Any, text: str, oddity: str) -> None:
    reading = read_answer(wrap(text), POINTWISE, Traits(), None)
    assert reading.verdict == Verdict(NOT_NOVEL, reason=reading.verdict.reason)  # type: ignore[union-attr]
    assert reading.extras.oddities == ((oddity,) if oddity else ())


def test_a_served_model_is_named_without_control_characters() -> None:
    assert read_answer({"novel": True, "model": "m\x1b[2J\n1"}, POINTWISE, Traits(), None).extras.model == "m?[2J?1"


def test_extras() -> None:
    answer = {
        "novel": True,
        "retrieved": ["2609.1", {"id": 7, "title": "T", "date": 2016}, {"id": None, "title": "U", "more": 1}],
        "usage": {"input_tokens": 10, "completion_tokens": 5},
        "cost_usd": 0,
        "model": "m-1",
    }
    extras = read_answer(answer, POINTWISE, Traits(), None).extras
    assert extras.retrieved == (Document("2609.1"), Document("7", "T", "2016"), Document("", "U"))
    assert (extras.tokens_in, extras.tokens_out, extras.cost_usd, extras.model) == (10, 5, 0.0, "m-1")


CALLED = {"retries": 3, "latency_s": 9.0, "settings": "temperature=0 (refused)"}


@pytest.mark.parametrize(
    "wrap", [lambda told: {"novel": True, **told}, lambda told: {"answer": '{"novel": true}', **told}]
)
def test_only_judges_that_ship_tell_how_a_call_was_made(wrap: Any) -> None:
    for reread in (False, True):
        found = []
        for tells_its_call in (False, True):
            reading = read_answer(wrap(CALLED), POINTWISE, Traits(), None, tells_its_call=tells_its_call)
            if reread:
                reading = read_raw(reading.raw, POINTWISE, Traits(), None, tells_its_call=tells_its_call)
            assert isinstance(reading.verdict, Verdict)
            found.append((reading.extras.retries, reading.extras.latency_s, reading.extras.settings))
        assert found == [(0, None, ""), tuple(CALLED.values())]
    cut = {"answer": "On the one hand", "is_cut": True}
    for tells_its_call, status in ((False, UNPARSED), (True, TRUNCATED)):
        failure = read_answer(cut, POINTWISE, Traits(), None, tells_its_call=tells_its_call).verdict
        assert isinstance(failure, Failure)
        assert failure.status == status


def test_names_that_a_judge_gives_are_short_and_printable() -> None:
    reading = read_answer(
        {"failed": {"status": "refused", "kind": "k\n" * 500}, "model": "m" * 500}, POINTWISE, Traits(), None
    )
    assert isinstance(reading.verdict, Failure)
    assert reading.verdict.kind == "k?" * 100
    assert reading.extras.model == "m" * 200


@pytest.mark.parametrize("count", [-1, True, "5", 1.5, None, 2**63])
def test_token_counts_that_are_none_are_unknown(count: Any) -> None:
    """2**63 is a count that no store can hold."""
    extras = read_answer({"novel": True, "usage": {"prompt_tokens": count}}, POINTWISE, Traits(), None).extras
    assert extras.tokens_in is None


def test_no_trace_is_not_an_empty_trace() -> None:
    for value, expected in (([], ()), (None, None)):
        assert read_answer({"novel": True, "retrieved": value}, POINTWISE, Traits(), None).extras.retrieved == expected


def test_a_stored_answer_is_read_by_the_present_declarations() -> None:
    raw = read_answer({"winner": "tie"}, PAIRWISE, Traits(), None).raw
    assert isinstance(read_raw(raw, PAIRWISE, Traits(), None).verdict, Failure)
    assert read_raw(raw, PAIRWISE, Traits(may_tie=True), None).verdict == Verdict("tie")


def test_every_rule_that_an_answer_breaks_is_counted() -> None:
    """Not the first alone; and a record tells them all."""
    text = '{"is_similar": false} {"is_similar": true, "evidence_a": "", "evidence_b": "One span.", "reason": "One. Two. Three."}'
    oddities = read_answer(text, PROTOCOLS["similarity"], Traits(), None, shown=2).extras.oddities
    assert oddities == (CONTRADICTION, "missing span", "long reason")
    assert split_oddities(join_oddities([*oddities, "long reason"])) == list(oddities)
    assert split_oddities("") == []
    assert not any(", " in oddity for oddity in ODDITIES)
