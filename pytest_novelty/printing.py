"""Lines for a person: what no encoding has must not end a command half-way; numbers agree with their nouns; lists end."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

_NAMED: Final = 5


def printable(text: str) -> str:
    """A text that any terminal, file or channel in UTF-8 takes: lone surrogates become escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


def print_lines(lines: Iterable[str]) -> None:
    for line in lines:
        print(printable(line))


def plural(count: int, noun: str, many: str = "") -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {many or f'{noun}s'}"


def name_some(names: Sequence[str], between: str = ", ") -> str:
    """The first five names; that there are more is shown."""
    return between.join([*names[:_NAMED], "..."] if len(names) > _NAMED else names)
