"""The frame of an export: a first line that says what it is, a last one that counts its records, so that a cut file is told.

Exports of earlier versions have neither; they are read as they are. Files that were put one after another are read, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from pytest_novelty.digests import canonical_json
from pytest_novelty.errors import NoveltyError
from pytest_novelty.jsonl import read_jsonl
from pytest_novelty.model import Json

FORMAT: Final = "novelty-records/1"
FRAME: Final = 2
"""Lines of an export that are no records."""
_AGAIN: Final = "Export it again; of a file that was edited take out the first and the last line"


def framed(lines: Iterable[str]) -> Iterator[str]:
    """The lines of records with the first and the last line of an export."""
    yield f"{canonical_json({'format': FORMAT})}\n"
    count = 0
    for count, line in enumerate(lines, 1):  # noqa: B007 - counted for the last line
        yield line
    yield f"{canonical_json({'records': count})}\n"


def read_rows(path: Path, kind: type[NoveltyError]) -> Iterator[tuple[int, Json]]:
    """(line number, value) of every line that is to be a record. Raises ``kind`` for a file that has fewer or more of them than
    its last line says, or no last line after a first one.
    """
    count = number = 0
    is_open = False
    for number, row in read_jsonl(path, kind):
        if not isinstance(row, dict) or len(row) != 1 or row.keys() not in ({"format"}, {"records"}):
            count += 1
            yield number, row
        elif "records" in row:
            if row["records"] != count:
                told = f"its last line tells {row['records']} records, and {count} are there"
                raise kind(f"was cut or edited: {told}", path=path, line=number, hint=_AGAIN)
            count, is_open = 0, False
        elif row["format"] != FORMAT:
            raise kind(f"has the format {row['format']!r}, and this version reads {FORMAT!r}", path=path, line=number)
        elif is_open:
            break
        else:
            count, is_open = 0, True
    if is_open:
        told = f"after {count} records the line is missing that counts them"
        raise kind(f"was cut: {told}", path=path, line=number, hint=_AGAIN)


def is_framed(path: Path) -> bool:
    """Whether the file begins as exports do; one of an earlier version does not say whether it is whole."""
    with path.open("rb") as file:
        return file.readline(200).strip() == canonical_json({"format": FORMAT}).encode()
