"""What judges really write, and what must cost linear time."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pytest_novelty.model import REFUSED, SCHEMA_VIOLATION, TRUNCATED, UNPARSED, Failure
from pytest_novelty.parsing import Parsed, parse_text

YES = {"novel": True}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"novel": true}', YES),
        (b'{"novel": true}', YES),
        ('\ufeff  {"novel": true}\r\n', YES),
        ('Sure! Here it is:\n```json\n{"novel": true}\n```\nHope that helps.', YES),
        ('{"novel": "false"}', {"novel": "false"}),  # no verdict, and the protocol says so; never truthy here
        (
            '{"novel": 1, "confidence": 0, "id": 1}',
            {"novel": 1, "confidence": 0, "id": 1},
        ),  # only the named key is read
        ('{"novel": null}', {"novel": None}),
        ('{"novel": true, "why": {"novel": false}}', {"novel": True, "why": {"novel": False}}),
        ('{"novel": true, "reason": "it\'s {not} \\"old\\""}', {"novel": True, "reason": 'it\'s {not} "old"'}),
        ('{"novel": true, "reason": "two\nlines"}', {"novel": True, "reason": "two\nlines"}),
        ('{"novel": true, "reason": "<think>"}', {"novel": True, "reason": "<think>"}),
        ('{"novel": true, "reason": "</think>"}', {"novel": True, "reason": "</think>"}),
        ('{"novel": true, "reason": "\\ud800\\u0000"}', {"novel": True, "reason": "\ud800\x00"}),
        ('<think>{"novel": false}</think>{"novel": true}', YES),
        ('<THINK>a <think> b </think> {"novel": false}</Think>{"novel": true}', YES),
        ('first I thought {"novel": false}</think>\n{"novel": true}', YES),  # the template opened the block
        ('{"type": "object", "properties": {"novel": {"type": "boolean"}}}\n{"novel": true}', YES),
        ('{"other": 1} {"novel": true}', YES),
        ('{"novel": true} {"other": 1}', YES),
        ('the set {x : x > 0}, \\frac{a}{b}: {"novel": true}', YES),
        ('{ a lone brace, then {"novel": true}', YES),
        ("{'novel': false} or rather {\"novel\": true}", YES),  # Python's repr is not JSON and is not repaired
        ('{"novel": false, "novel": false} {"novel": true}', YES),
        ('[{"novel": true}]', YES),
    ],
)
def test_finds_the_object(text: str | bytes, value: object) -> None:
    result = parse_text(text, "novel")
    assert isinstance(result, Parsed), result
    assert result.value == value
    assert not result.contradicted


@pytest.mark.parametrize(
    ("text", "contradicted"),
    [
        ('{"novel": false} {"novel": true}', True),
        ('{"novel": 1} {"novel": true}', True),
        ('{"novel": true, "reason": "a"} {"novel": true, "reason": "b"}', False),
        ('<think>{"novel": false}</think>{"novel": true}', False),
    ],
)
def test_the_last_object_counts_and_disagreement_is_flagged(text: str, contradicted: bool) -> None:
    result = parse_text(text, "novel")
    assert isinstance(result, Parsed)
    assert result.value["novel"] is True
    assert result.contradicted is contradicted


@pytest.mark.parametrize(
    ("text", "status", "kind"),
    [
        ("", UNPARSED, "empty"),
        (" \n\t ", UNPARSED, "empty"),
        (b"", UNPARSED, "empty"),
        ("<think>long thoughts</think>\n", UNPARSED, "empty"),
        (b'{"novel": \xff}', UNPARSED, "not UTF-8"),
        ("It is notably novel.", UNPARSED, "not JSON"),
        ("true", UNPARSED, "not JSON"),
        ('"novel"', UNPARSED, "not JSON"),
        ("{'novel': True}", UNPARSED, "not JSON"),
        ("{novel: true}", UNPARSED, "not JSON"),
        ('{"novel": NaN}', UNPARSED, "not JSON"),
        ('{"novel": true, "score": Infinity}', UNPARSED, "not JSON"),
        ('{"novel": true, "novel": false}', UNPARSED, "not JSON"),
        ('{"novel": true,}', UNPARSED, "not JSON"),
        ('{"novel": true, "n": ' + "1" * 5000 + "}", UNPARSED, "not JSON"),
        ('{bad: {"novel": true}}', UNPARSED, "not JSON"),  # an object inside a broken one is not the verdict
        ("I'm sorry, but I can't help with that.", REFUSED, "refusal"),
        ("I\u2019m sorry, I cannot assess this.", REFUSED, "refusal"),
        ("As an AI language model, I do not judge.", REFUSED, "refusal"),
        ("I apologize, but I can't assist with this request.", REFUSED, "refusal"),
        ("I\u2019m unable to help with that.", REFUSED, "refusal"),
        ("<think>hm</think>I'm sorry, but I can't help with that.", REFUSED, "refusal"),
        ('{"result": {"novel": true}}', SCHEMA_VIOLATION, "missing key"),
        ("{}", SCHEMA_VIOLATION, "missing key"),
        ('{"Novel": true}', SCHEMA_VIOLATION, "missing key"),
        ('<tool_call>{"name": "answer", "arguments": {"novel": true}}</tool_call>', SCHEMA_VIOLATION, "missing key"),
        ('{"name": "answer", "arguments": "{\\"novel\\": true}"}', SCHEMA_VIOLATION, "missing key"),
        ('{"type": "object", "properties": {"novel": {"type": "boolean"}}}', UNPARSED, "schema echo"),
        ('{"novel": {"type": "boolean"}}', UNPARSED, "schema echo"),
        ('{"novel": true, "reason": "it', TRUNCATED, "truncated answer"),
        ('{"novel": tr', TRUNCATED, "truncated answer"),
        ('{"a": {"novel": true}', TRUNCATED, "truncated answer"),
        ('<think>so {"novel": true}', TRUNCATED, "truncated reasoning"),
        ('{"novel": true}<think>or not', TRUNCATED, "truncated reasoning"),
        ('<think><think>x</think>{"novel": true}', TRUNCATED, "truncated reasoning"),
    ],
)
def test_says_why_there_is_no_verdict(text: str | bytes, status: str, kind: str) -> None:
    result = parse_text(text, "novel")
    assert isinstance(result, Failure), result
    assert (result.status, result.kind) == (status, kind)


@pytest.mark.parametrize("groups", [1, 200, 201, 5000])
def test_formulas_before_the_verdict_do_not_hide_it(groups: int) -> None:
    text = r"\mathbf{x}_{i} " * (groups // 2) + "{k}" * (groups % 2) + '{"novel": true}'
    assert parse_text(text, "novel") == Parsed(YES)


@pytest.mark.parametrize("depth", [100, 100_000])
@pytest.mark.parametrize(("opening", "closing"), [('{"a":', "}"), ("[", "]")])
def test_any_depth_is_a_result(opening: str, closing: str, depth: int) -> None:
    text = '{"novel": true, "x": ' + opening * depth + "1" + closing * depth + "}"
    assert isinstance(parse_text(text, "novel"), Parsed if depth == 100 else Failure)


ESCAPED_QUOTES = "(chr(92) + chr(34)) * 100_000"
HOSTILE = {
    "open braces": "'{' * 200_000",
    "empty objects": "'{}' * 100_000",
    "nested braces": "'{' * 100_000 + '}' * 100_000",
    "closing braces": "'}' * 200_000",
    "braces with quotes": "'{\"a' * 100_000",
    "an unclosed string of escaped quotes": f"'{{\"' + {ESCAPED_QUOTES}",
    "an unclosed value of escaped quotes": f'\'{{"a": "\' + {ESCAPED_QUOTES}',
    "nested objects": "'{\"a\":' * 100_000",
    "opening tags": "'<think>' * 50_000",
    "closing tags": "'</think>' * 50_000",
    "empty reasoning": "'<think></think>' * 50_000",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_text_costs_linear_time(name: str) -> None:
    """In a process of its own: what is linear takes milliseconds, what is quadratic would hang this one for minutes."""
    parse = f"from pytest_novelty.parsing import parse_text; print(type(parse_text({HOSTILE[name]}, 'novel')).__name__)"
    command = [sys.executable, "-c", f"import sys; sys.path[:0] = {sys.path!r}; {parse}"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=True)
    assert done.stdout.strip() == "Failure"
