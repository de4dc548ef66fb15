"""Whatever a judge writes: parsing never raises, never invents, and does not mind what stands around the object."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_novelty.digests import canonical_json
from pytest_novelty.model import TRUNCATED, Failure
from pytest_novelty.parsing import Parsed, parse_text

PIECES = (
    *("{", "}", "[", "]", '"', "\\", ":", ",", "```json\n", "```", "NaN", "\x00", "\ud800", "\ufeff", "I'm sorry, but I cannot"),
    *("<think>", "</think>", "<Analysis>", "</ANALYSIS>", "<reasoning>", '{"novel": true}', '{"novel": "false"}'),
    *('{"a": {"novel": true}}', '{"novel": true, "novel": false}', '{"type": "object", "properties": {"novel": {}}}'),
)  # fmt: skip
hostile_texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=14).map("".join)
prose = st.text(st.characters(exclude_characters="{}<"), max_size=40)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
objects = st.builds(
    lambda extra, novel, ascii_only: json.dumps({**extra, "novel": novel}, ensure_ascii=ascii_only),
    st.dictionaries(st.text(max_size=5), json_values, max_size=3),
    st.booleans() | st.none() | st.text(max_size=5),
    st.booleans(),
)


def objects_in(text: str) -> set[str]:
    """Every JSON object that begins somewhere in ``text``, as canonical JSON."""
    decoder, found = json.JSONDecoder(strict=False), set()
    for start in (index for index, character in enumerate(text) if character == "{"):
        try:
            found.add(canonical_json(decoder.raw_decode(text, start)[0]))
        except (ValueError, RecursionError):
            continue
    return found


@given(hostile_texts)
def test_a_returned_object_is_literally_in_the_text(text: str) -> None:
    result = parse_text(text, "novel")
    if isinstance(result, Parsed):
        assert "novel" in result.value
        assert canonical_json(result.value) in objects_in(text)
    else:
        assert isinstance(result, Failure)
        assert result.kind
        assert result.message


@given(st.binary(max_size=60) | hostile_texts.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_bytes_are_their_utf8_text_or_a_failure(data: bytes) -> None:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        assert isinstance(failure := parse_text(data, "novel"), Failure)
        assert failure.kind == "not UTF-8"
    else:
        assert parse_text(data, "novel") == parse_text(text, "novel")


@given(objects, prose, prose)
def test_prose_around_the_object_changes_nothing(text: str, before: str, after: str) -> None:
    alone = parse_text(text, "novel")
    assert isinstance(alone, Parsed)
    assert parse_text(f"{before}{text}{after}", "novel") == alone
    assert parse_text(f"{before}\n```json\n{text}\n```\n{after}", "novel") == alone


@given(hostile_texts, prose | objects, st.sampled_from(["think", "Reasoning", "SCRATCHPAD"]))
def test_a_closed_reasoning_block_before_changes_nothing(text: str, thought: str, tag: str) -> None:
    assert parse_text(f"<{tag}>{thought}</{tag}>{text}", "novel") == parse_text(text, "novel")


@given(prose | objects, prose | objects, st.sampled_from(["think", "ANALYSIS", "thought"]))
def test_an_unclosed_reasoning_block_is_a_truncated_answer(before: str, inside: str, tag: str) -> None:
    result: Any = parse_text(f"{before}<{tag}>{inside}", "novel")
    assert (result.status, result.kind) == (TRUNCATED, "truncated reasoning")


@given(st.lists(objects, min_size=2, max_size=4))
def test_the_last_object_counts_and_contradictions_are_noted(texts: list[str]) -> None:
    values = [json.loads(text) for text in texts]
    result = parse_text("\n".join(texts), "novel")
    assert isinstance(result, Parsed)
    assert result.value == values[-1]
    assert result.contradicted == any(value["novel"] != values[-1]["novel"] for value in values)
