"""A cassette: exported records from which a run is repeated without a judge, a key or a network."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from pytest_novelty.errors import SettingsError, StoreError
from pytest_novelty.exports import read_rows
from pytest_novelty.grounding import read_grounds
from pytest_novelty.jsonl import parse_json
from pytest_novelty.model import OK, Document, Record
from pytest_novelty.protocols.base import LARGEST
from pytest_novelty.store import MemoryStore, SqliteStore, VerdictStore, record_to_dict
from pytest_novelty.validation import explain, load_schema, shipped_check

SUFFIX: Final = ".jsonl"
TEXTS: Final[dict[str, Any]] = {"raw": "", "message": "", "reason": "", "retrieved": None}
"""What ``export --no-text`` leaves of the fields of a record that hold texts."""


def open_store(path: Path, *, offline: bool, check: bool = False) -> VerdictStore:
    """The store at a path: a cassette if it ends in ``.jsonl``, which is only read from, else a SQLite file.

    Raises SettingsError for a cassette in a run that would write to it, StoreError for a file that cannot be used.
    """
    if path.suffix != SUFFIX:
        return SqliteStore(path, check=check)
    if not offline:
        raise SettingsError(
            f"--novelty-store names a cassette, {path}, which is only read from",
            hint="Add --novelty-offline, or name a .sqlite file for a run that asks the judge",
        )
    return load_cassette(path)


def load_cassette(path: Path) -> MemoryStore:
    """Read the records of an export. Raises StoreError with file and line; two answers under one key are an error."""
    records: dict[str, Record] = {}
    for line, record in read_cassette(path):
        if records.setdefault(record.key, record) != record:
            raise StoreError(f"has two answers under the key {record.key}", path=path, line=line, hint=_EXPORT)
    return MemoryStore(records.values())


def read_cassette(path: Path) -> Iterator[tuple[int, Record]]:
    """(line number, record) of every line of an export. Raises StoreError with file and line."""
    if not path.is_file():
        raise StoreError("there is no such cassette", path=path, hint="pytest-novelty export --out writes one")
    fits = shipped_check("record")
    for line, row in read_rows(path, StoreError):
        if not fits(row):
            sentence, _ = explain(row, load_schema("record")) or ("is not a record", ())
            raise StoreError(sentence, path=path, line=line)
        if not row.get("key"):
            raise StoreError("the record has no key, so no request can find it", path=path, line=line, hint=_EXPORT)
        if row.get("raw"):
            _check_raw(row["raw"], path, line)
        if problem := _out_of_range(row) or _no_verdict(row) or _no_grounds(row) or _no_time(row):
            raise StoreError(problem, path=path, line=line, hint=_EXPORT)
        yield line, record_from_dict(row)


_WHOLE: Final = ("tokens_in", "tokens_out", "tokens_cached", "tokens_reasoning", "retries", "sample", "seed")
_MOST_WHOLE: Final = 2**63 - 1
"""What SQLite can hold."""


def _out_of_range(row: dict[str, Any]) -> str | None:
    """The number of a record that no export can have."""
    for name in (*_WHOLE, "cost_usd", "latency_s"):
        number = row.get(name) or 0
        if number < 0 and name != "seed":
            return f"{name} is below 0"
        if not abs(number) <= (_MOST_WHOLE if name in _WHOLE else LARGEST):
            return f"{name} is too large for a number"
    return None if abs(row.get("score") or 0) <= LARGEST else "score is too large for a number"


def _no_verdict(row: dict[str, Any]) -> str | None:
    """Where the answer was left out, what was read of it is all that there is."""
    if row["raw"]:
        return None
    has_one = row.get("label") is not None or row.get("score") is not None or bool(row.get("abstained"))
    if row["status"] == OK and not has_one:
        return "the record has the status ok, and no answer, label, score or abstention"
    return f"the record has the status {row['status']!r} and a verdict" if row["status"] != OK and has_one else None


def _no_grounds(row: dict[str, Any]) -> str | None:
    try:
        read_grounds(row.get("grounds") or "")
    except ValueError as error:
        return f"grounds do not tell what became of evidence: {error}"
    return None


def _check_raw(raw: str, path: Path, line: int) -> None:
    try:
        parse_json(raw)
    except (ValueError, RecursionError):
        raise StoreError("raw is not the JSON text of an answer", path=path, line=line, hint=_EXPORT) from None


def _no_time(row: dict[str, Any]) -> str | None:
    """Ages are told by it."""
    created = row.get("created") or "2000-01-01T00:00:00Z"
    try:
        dt.datetime.strptime(created, _CREATED)  # noqa: DTZ007 - UTC by its Z
    except ValueError:
        return f"created is {created[:30]!r}, which is no time such as 2026-03-01T12:00:00Z"
    return None


_CREATED: Final = "%Y-%m-%dT%H:%M:%SZ"
_EXPORT: Final = "Write the cassette with pytest-novelty export"


def record_from_dict(row: dict[str, Any]) -> Record:
    """What :func:`~pytest_novelty.store.record_to_dict` wrote."""
    documents = row.get("retrieved")
    values = {name: row[name] for name in Record._fields if name in row}
    values["retrieved"] = None if documents is None else tuple(Document(**item) for item in documents)
    return Record(**{"seed": 0, "kind": "", "key": "", **values})


def without_texts(record: Record) -> dict[str, Any]:
    """A record for files that leave the house: digests, labels, scores and usage, and nothing that a judge said or read."""
    return {**record_to_dict(record), **TEXTS}
