"""Lines for a person: what no encoding has must not end a command half-way; numbers agree with their nouns; lists end.

What a run says before its first call is made with these: `reports.text`, which knows estimates, needs numpy.
"""

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


def clean(text: str, limit: int = 10_000) -> str:
    """One line without control characters (a judge's reason may hold escape sequences) and without lone surrogates."""
    text = " ".join("".join(char if char.isprintable() else " " for char in printable(text)).split())
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def plural(count: int, noun: str, many: str = "") -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {many or f'{noun}s'}"


def name_some(names: Sequence[str], between: str = ", ") -> str:
    """The first five names; that there are more is shown."""
    return between.join([*names[:_NAMED], "..."] if len(names) > _NAMED else names)


def show_usd(value: float | None) -> str:
    if value is None:
        return "an unknown amount"
    return "$0" if value == 0 else f"${value:.4f}" if value < 0.1 else f"${value:.2f}"
