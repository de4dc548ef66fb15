"""JSON lines read strictly: file and line of whatever is wrong, no line of unbounded length, no double keys, no NaN."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pytest_novelty.errors import NoveltyError, Problems
from pytest_novelty.model import Json

MAX_LINE_BYTES: Final = 8_000_000
"""A paper's full text is about 0.1 MB; a longer line is a mistake or an attack."""


def read_jsonl(path: Path, kind: type[NoveltyError], problems: Problems | None = None) -> Iterator[tuple[int, Json]]:
    """(line number, value) of every line that is not blank. Raises ``kind`` for a line that is too long or not JSON; given
    ``problems``, a line that is not JSON is noted there and left out.
    """
    try:
        opened = path.open("rb")
    except OSError as error:
        raise kind(f"cannot be read: {error.strerror}", path=path) from None
    with opened as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise kind(f"is longer than {MAX_LINE_BYTES / 1e6:g} MB", path=path, line=number)
            if not line.strip():
                continue
            try:
                value = _read_line(line, path, number, kind)
            except NoveltyError as error:
                if problems is None:
                    raise
                problems.add(error)
            else:
                yield number, value


def _read_line(line: bytes, path: Path, number: int, kind: type[NoveltyError]) -> Json:
    try:
        return parse_json(line.decode("utf-8-sig" if number == 1 else "utf-8"))
    except UnicodeDecodeError:
        raise kind("is not UTF-8", path=path, line=number, hint="Save the file as UTF-8") from None
    except RecursionError:
        raise kind("is nested too deeply", path=path, line=number) from None
    except ValueError as error:
        raise kind(f"is not JSON: {error}", path=path, line=number, hint="One JSON object a line") from None


def parse_json(text: str) -> Json:
    """A JSON text without double keys and with finite numbers only.

    Raises ValueError (NotFinite for a number), RecursionError.
    """
    try:
        return json.loads(text, object_pairs_hook=_unique_keys, parse_constant=_no_constant, parse_float=_finite)
    except NotFinite as error:
        raise NotFinite(f"{_place_of(json.loads(text))}{error}") from None


class NotFinite(ValueError):
    """``NaN``, ``Infinity``, or a number that is too large: no number that a file of this package's may have."""


def _place_of(value: Json) -> str:
    """Where the first number is that is not finite, as ``metrics[0].value: ``; empty for the value itself."""
    left: list[tuple[str, Json]] = [("", value)]
    while left:
        place, item = left.pop()
        if isinstance(item, dict):
            left += [(f"{place}.{name}" if place else str(name), each) for name, each in reversed(item.items())]
        elif isinstance(item, list):
            left += [(f"{place}[{index}]", each) for index, each in reversed(list(enumerate(item)))]
        elif isinstance(item, float) and not math.isfinite(item):
            return f"{place}: " if place else ""
    return ""


def _unique_keys(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} occurs twice")
    return value


def _no_constant(name: str) -> Json:
    raise NotFinite(f"{name} is not a number of JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotFinite(f"{text[:30]} is too large for a number")
    return number


def file_digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).digest()
