"""Tables in few columns: what of a table has room in a width, and how its cells are broken for that.

Cells are broken as little as will do: between a value and its interval; then at any blank; then within long names. What has no
room even so is left out, a whole column at a time, for whoever prints the table to name.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

Spare: TypeAlias = tuple[tuple[int, str], ...]
"""Columns that are no great loss: their places, and what they are called."""

_WHOLE: Final = re.compile(r"\[[^\]]*\]\S*|[<>]= \S+|\S+ %\S*|\S+")
"""An interval, what a gate asks for, a percentage, a word."""
_WORD: Final = re.compile(r"\S+")
_SYLLABLE: Final = re.compile(r"[^_/:@.-]*[_/:@.-]+|[^_/:@.-]+")
_LONG, _LONGEST = 12, 16
"""Cells of a screen up to which a word stays whole, and a part of one."""
_BETWEEN_PARTS, _WITHIN_WORDS = 0, 3
"""The first and the last level of breaking."""


@dataclass(frozen=True)
class Fitted:
    """``kept``: places of the columns; ``columns``: their cells, lines broken, the heading first; ``left_out``: names of the
    others."""

    kept: tuple[int, ...]
    columns: tuple[tuple[str, ...], ...]
    left_out: tuple[str, ...]


def fit(columns: Sequence[Sequence[str]], width: int, *, gap: int, spare: Spare = ()) -> Fitted:
    """Columns of texts, the heading first, that fit ``width`` with ``gap`` between any two.

    ``spare`` is left out in its order, before an interval is broken; the others are only when nothing else helps, from the right,
    those without a heading last, for they say what comes of a row. The first column names the rows, and stays.
    """
    others = [place for place in range(len(columns) - 1, 0, -1) if place not in dict(spare)]
    others.sort(key=lambda place: not columns[place][0])
    going = [*spare, *((place, columns[place][0] or "a column without a heading") for place in others)]
    kept = list(range(len(columns)))
    left_out: list[tuple[int, str]] = []
    while True:
        room = width - gap * (len(kept) - 1)
        level = _BETWEEN_PARTS if len(left_out) < len(spare) else _WITHIN_WORDS
        broken = _broken([columns[place] for place in kept], room, level)
        if sum(map(_width_of, broken)) <= room or len(left_out) == len(going):
            named = tuple(name for _, name in sorted(left_out))
            return Fitted(tuple(kept), tuple(map(tuple, broken)), named)
        left_out.append(going[len(left_out)])
        kept.remove(left_out[-1][0])


def is_whole(columns: Sequence[Sequence[str]], width: int, *, gap: int) -> bool:
    """Whether they fit with no cell broken."""
    return sum(map(_width_of, columns)) + gap * (len(columns) - 1) <= width


def _broken(columns: Sequence[Sequence[str]], room: int, most: int) -> list[list[str]]:
    """The cells with line breaks: of all columns the one that gives most is made narrower, until they fit or none gives."""
    found = [list(column) for column in columns]
    for level in range(most + 1):
        least = [
            max((_size(unit) for cell in column for _, unit in _units(cell, level)), default=0) for column in columns
        ]
        while sum(widths := [_width_of(column) for column in found]) > room:
            slack, _, place = max(
                (have - need, have, place) for place, (have, need) in enumerate(zip(widths, least, strict=True))
            )
            if slack <= 0:
                break
            found[place] = [_wrap(cell, widths[place] - 1, level) for cell in columns[place]]
    return found


def _wrap(text: str, limit: int, level: int) -> str:
    lines: list[str] = []
    for between, unit in _units(text, level):
        if lines and _size(lines[-1] + between + unit) <= limit:
            lines[-1] += between + unit
        else:
            lines.append(unit)
    return "\n".join(lines)


def _units(text: str, level: int) -> list[tuple[str, str]]:
    """What stays on one line, each behind what parts it from the one before."""
    words = (_WORD if level else _WHOLE).findall(text)
    if level < 2:
        return [(" ", word) for word in words]
    found = []
    for word in words:
        pieces = _SYLLABLE.findall(word) if _size(word) > _LONG else [word]
        if level > 2:
            pieces = [part for piece in pieces for part in _chopped(piece)]
        found += [("" if number else " ", piece) for number, piece in enumerate(pieces)]
    return found


def _chopped(word: str) -> list[str]:
    """Parts of at most so many cells: a sentence in Chinese is a single word here."""
    parts = [""]
    for char in word:
        if parts[-1] and _size(parts[-1] + char) > _LONGEST:
            parts.append("")
        parts[-1] += char
    return parts


def _width_of(column: Sequence[str]) -> int:
    return max((_size(line) for cell in column for line in cell.splitlines()), default=0)


def _size(text: str) -> int:
    """Cells of a screen."""
    from rich.cells import cell_len

    return cell_len(text)
