"""A judge's raw text -> the JSON object that carries its verdict, or the kind of failure.

The rules, in order: reasoning blocks do not count (an unclosed one means the answer was cut off); the verdict is the last
complete top-level JSON object that has the named key; what is not strict JSON is never repaired or guessed at. Whether the
object is a valid verdict is the protocol's business (``protocols/``), whether it fits the prompt's declared schema that of
``validation.py``.
"""

from __future__ import annotations

import contextlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pytest_novelty.model import REFUSED, SCHEMA_VIOLATION, TRUNCATED, UNPARSED, Failure, Json

_TAGS = r"think|thinking|thought|reasoning|reflection|scratchpad|analysis"
_MARK = re.compile(rf"\{{|<(?P<close>/)?(?P<tag>{_TAGS})>", re.IGNORECASE)
_BRACE_OR_STRING = re.compile(r'"(?:[^"\\]++|\\.?)*+(?:"|\Z)|[{}]', re.DOTALL)
_BEGINS_A_KEY = re.compile(r'\s*"')
_REFUSAL = re.compile(
    r"^\W*(?:(?:i(?:'|\u2019)?m|i am) (?:sorry|unable to|not able to)|sorry,|(?:i|my) apologi[sz]e|my apologies"
    r"|i (?:cannot|can(?:'|\u2019)t|won(?:'|\u2019)t|must decline)"
    r"|as an ai\b|unfortunately,? i (?:cannot|can(?:'|\u2019)t|am))",
    re.IGNORECASE,
)
_MAX_ATTEMPTS = 200
"""Searches to the end of the text, so that a hostile answer costs linear time."""

_EMPTY = Failure(UNPARSED, "empty", "the answer is empty")
_CUT_REASONING = Failure(TRUNCATED, "truncated reasoning", "the answer ends inside its reasoning block")
_CUT_OBJECT = Failure(TRUNCATED, "truncated answer", "the answer ends inside its JSON object")


@dataclass(frozen=True, slots=True)
class Parsed:
    """The object that carries the verdict; ``contradicted``: earlier objects of the same answer said otherwise."""

    value: dict[str, Json]
    contradicted: bool = False


class _NotJson(ValueError):
    pass


def _pairs(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) != len(pairs):
        raise _NotJson("a key occurs twice")
    return value


def _constant(name: str) -> Json:
    raise _NotJson(f"{name} is not JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_pairs, parse_constant=_constant, strict=False)


def parse_text(text: str | bytes, key: str) -> Parsed | Failure:
    """Find the verdict object in ``text``. Never raises and never returns an object that is not in the text."""
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError as error:
            return Failure(UNPARSED, "not UTF-8", f"byte {error.start} of the answer is not UTF-8")
    if not text.strip():
        return _EMPTY
    objects: list[dict[str, Json]] = []
    cut: Failure | None = None
    for item in _scan(text):
        if item is None:  # a closing tag without an opening one: all before it was reasoning
            objects.clear()
        elif isinstance(item, Failure):
            cut = item
        else:
            objects.append(item)
    carriers = [found for found in objects if key in found]
    if carriers and cut is not _CUT_REASONING:
        last = carriers[-1]
        if _is_echo(last, key):
            return _echo(key)
        return Parsed(last, any(not _same(found[key], last[key]) for found in carriers[:-1]))
    if cut is not None:
        return cut
    return _explain(text, objects, key)


def _scan(text: str) -> Iterator[dict[str, Json] | Failure | None]:
    """Top-level objects outside reasoning blocks; None for a lone closing tag; a Failure if the text was cut off."""
    position, attempts = 0, 0
    closings: dict[int, int | None] = {}
    while (mark := _MARK.search(text, position)) is not None:
        start = mark.start()
        if mark["tag"]:
            if mark["close"]:
                position = mark.end()
                yield None
                continue
            end = _end_of_block(text, mark.end(), mark["tag"])
            if end is None:
                yield _CUT_REASONING
                return
            position = end
            continue
        if start not in closings:
            closings |= _closings(text, start)
            attempts += closings[start] is None
            if attempts > _MAX_ATTEMPTS:
                return
        closing = closings[start]
        if closing is None:
            if _BEGINS_A_KEY.match(text, start + 1):  # it began like JSON: what follows is inside it
                yield _CUT_OBJECT
                return
            position = start + 1
            continue
        position = closing + 1
        with contextlib.suppress(ValueError, RecursionError):
            yield _DECODER.decode(text[start:position])


def _end_of_block(text: str, position: int, tag: str) -> int | None:
    depth = 1
    for found in re.compile(rf"<(/)?{tag}>", re.IGNORECASE).finditer(text, position):
        depth += -1 if found[1] else 1
        if depth == 0:
            return found.end()
    return None


def _closings(text: str, start: int) -> dict[int, int | None]:
    """The brace that closes the one at ``start`` (None: none does), and the same for the braces passed on the way."""
    closings: dict[int, int | None] = {}
    opened: list[int] = []
    for found in _BRACE_OR_STRING.finditer(text, start):
        if found[0] == "{":
            closings[found.start()] = None
            opened.append(found.start())
        elif found[0] == "}":
            closings[opened.pop()] = found.start()
            if not opened:
                break
    return closings


def _same(one: Json, other: Json) -> bool:
    """Equality as JSON: ``1`` and ``true`` are not the same."""
    return type(one) is type(other) and bool(one == other)


def _is_echo(value: Mapping[str, Json], key: str) -> bool:
    """The answer is a JSON Schema, or has schema fragments where values belong."""
    if isinstance(value.get("properties"), dict) and "type" in value:
        return True
    field = value.get(key)
    return isinstance(field, dict) and bool({"type", "enum", "description"} & set(field))


def _echo(key: str) -> Failure:
    return Failure(UNPARSED, "schema echo", f"the answer repeats the prompt's schema instead of a value for {key!r}")


def _explain(text: str, objects: list[dict[str, Json]], key: str) -> Failure:
    if any(_is_echo(found, key) for found in objects):
        return _echo(key)
    if objects:
        has = ", ".join(sorted(map(str, objects[-1]))[:8]) or "no key at all"
        return Failure(
            SCHEMA_VIOLATION, "missing key", f"no JSON object in the answer has the key {key!r}; the last has {has}"
        )
    ends = [mark.end() for mark in _MARK.finditer(text) if mark["close"]]
    answer = text[ends[-1] :] if ends else text
    if not answer.strip():
        return _EMPTY
    if _REFUSAL.match(answer):
        return Failure(REFUSED, "refusal", "the judge declined to answer")
    return Failure(UNPARSED, "not JSON", "the answer has no complete JSON object")
