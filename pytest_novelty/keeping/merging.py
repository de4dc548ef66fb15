"""Stores of several machines made one. Nothing that was answered is overwritten: where two answers differ, both stay where
they are and the difference is told.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Final

from pytest_novelty.cassette import SUFFIX, TEXTS, read_cassette
from pytest_novelty.errors import SettingsError
from pytest_novelty.exports import is_framed
from pytest_novelty.keeping.inventory import open_existing
from pytest_novelty.model import Record
from pytest_novelty.store import NOT_REUSED, SqliteStore, as_held, insert, select

_CHUNK: Final = 1000
_ELSEWHERE: Final = "Name another file"
_VERDICT: Final = ("status", "label", "score", "abstained", "model")
"""What two answers to one request may differ in. When they came, how long they took and what they cost is no difference."""
KEPT_CONFLICTS: Final = 1000
"""Beyond this conflicts are counted, and not kept."""


@dataclass(frozen=True)
class Conflict:
    """Two answers to one request: ``ours`` stays in the store, ``theirs`` in the source. ``differs`` names the fields."""

    ours: Record
    theirs: Record
    differs: tuple[str, ...]

    def __str__(self) -> str:
        ours, theirs = self.ours, self.theirs
        order = f", order {ours.order}" if ours.order else ""
        parts = [
            f"{name} {getattr(ours, name)!r} here, {getattr(theirs, name)!r} there"
            for name in self.differs
            if name != "raw"
        ]
        what = "; ".join(parts) or "the same verdict in other words"
        return f"{ours.judge} on {ours.suite} {ours.instance}, {ours.variant}{order}, vote {ours.sample + 1}: {what}"


@dataclass
class Merged:
    """What became of the records of one source.

    Attributes
    ----------
    added: they were not there.
    filled: answers in the place of calls that had failed (a run would have asked these again, and replaced them as well).
    completed: the same records, which the store had without their texts (export --no-text).
    same: they were there, field by field, or the source has them without their texts.
    repeated: asked on both sides, with the same answer; that of the store is kept.
    failed: failed calls where the store has a record already.
    conflicts: two different answers, at most KEPT_CONFLICTS of them; ``conflicting`` is how many there are.
    is_counted: the source says how many records it has; an export of an earlier version does not.
    """

    source: Path
    added: int = 0
    filled: int = 0
    completed: int = 0
    same: int = 0
    repeated: int = 0
    failed: int = 0
    conflicting: int = 0
    conflicts: list[Conflict] = field(default_factory=list)
    is_counted: bool = True


def merge_stores(target: Path, sources: Iterable[Path]) -> Iterator[Merged]:
    """Add to ``target`` what it lacks of each source (a store, or an export in ``.jsonl``), one transaction a source.

    The target is made if it is not there. Raises SettingsError for a source that is not there or is the target itself, and
    StoreError for a file that cannot be read; nothing of that source is then kept.
    """
    sources = list(sources)
    for source in sources:
        if not source.is_file():
            raise SettingsError("there is no such store or export", path=source)
        if target.exists() and source.samefile(target):
            raise SettingsError("is the store to add to, and one of those to add", path=source)
    with _made_for(target) as store:
        for source in sources:
            yield _merge(store, source)


@contextmanager
def _made_for(target: Path) -> Iterator[SqliteStore]:
    """The store at ``target``. One that was made for this, and that an error left empty, is taken away with its folders."""
    missing = [folder for folder in (target, *target.parents) if not folder.exists()]
    try:
        with closing(SqliteStore(target, check=True, elsewhere=_ELSEWHERE)) as store:
            try:
                yield store
            except BaseException:
                if store.row("SELECT 1 FROM records LIMIT 1") is not None:
                    missing = []
                raise
    except BaseException:
        if missing:
            for name in (target.name, f"{target.name}-wal", f"{target.name}-shm"):
                target.with_name(name).unlink(missing_ok=True)
        for folder in missing[1:]:
            with suppress(OSError):  # something else is there by now
                folder.rmdir()
        raise


def _merge(store: SqliteStore, source: Path) -> Merged:
    merged = Merged(source, is_counted=source.suffix != SUFFIX or is_framed(source))
    records = _records_of(source)
    with store.writing() as connection:
        while chunk := list(islice(records, _CHUNK)):
            held = select(connection, [record.key for record in chunk])
            fresh: dict[str, Record] = {}
            for record in chunk:
                if _is_new(held.get(record.key), record, merged):
                    held[record.key] = fresh[record.key] = record  # an export may name a key twice
            insert(connection, fresh.values())
    return merged


def _records_of(source: Path) -> Iterator[Record]:
    if source.suffix == SUFFIX:
        yield from (as_held(record) for _, record in read_cassette(source))
        return
    with closing(open_existing(source, _ELSEWHERE)) as store:
        yield from store.records()


def _is_new(ours: Record | None, theirs: Record, merged: Merged) -> bool:
    """Whether a record is to be kept; counts what it is."""
    if ours is None:
        merged.added += 1
        return True
    if theirs in (ours, ours._replace(**TEXTS)):
        merged.same += 1
    elif ours == theirs._replace(**TEXTS):
        merged.completed += 1
        return True
    elif theirs.status in NOT_REUSED:
        merged.failed += 1
    elif ours.status in NOT_REUSED:
        merged.filled += 1
        return True
    elif differs := differences_of(ours, theirs):
        merged.conflicting += 1
        if len(merged.conflicts) < KEPT_CONFLICTS:
            merged.conflicts.append(Conflict(ours, theirs, differs))
    else:
        merged.repeated += 1
    return False


def differences_of(ours: Record, theirs: Record) -> tuple[str, ...]:
    """The fields in which two answers to one request differ. A text that was left out of an export differs from none."""
    differs = [name for name in _VERDICT if getattr(ours, name) != getattr(theirs, name)]
    if ours.raw and theirs.raw and ours.raw != theirs.raw:
        differs.append("raw")
    return tuple(differs)


def show_merged(merged: Merged, limit: int = 20) -> Iterator[str]:
    """Lines for a person: what was added, then the conflicts."""
    from pytest_novelty.printing import clean, plural

    told = [f"{plural(merged.added, 'record')} added"]
    told += [f"{merged.filled:,} in the place of failed calls"] if merged.filled else []
    told += [f"the texts of {merged.completed:,}, which had been left out"] if merged.completed else []
    there = merged.same + merged.repeated + merged.failed
    if there:
        was = "was" if merged.repeated == 1 else "were"
        asked_twice = f" ({merged.repeated:,} {was} asked twice, with the same answer)" if merged.repeated else ""
        told.append(f"{there:,} there already{asked_twice}")
    if merged.conflicting:
        told.append(f"{plural(merged.conflicting, 'conflict')}: another answer is there, and is kept")
    yield f"{merged.source}: {', '.join(told)}"
    if not merged.is_counted:
        yield "  it does not count its records, as exports do: whether all of them are there cannot be told"
    for conflict in merged.conflicts[:limit]:
        yield f"  {clean(str(conflict), 300)}"
    if merged.conflicting > limit:
        yield f"  ... and {merged.conflicting - limit:,} more"
