"""What a store holds: records, sizes and ages, by judge, version, suite and the model that served."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, Final, NamedTuple

from pytest_novelty.errors import SettingsError, StoreError
from pytest_novelty.model import LATER, OK
from pytest_novelty.printing import name_some
from pytest_novelty.store import NOT_REUSED, SqliteStore


class Holding(NamedTuple):
    """The records of one judge version on one suite that one model served.

    ``failed`` calls brought no answer and are asked again by the next run that needs them; ``unread`` answers could not be
    read; ``later`` are of later generations, which probes keep and no run reads. ``cost_usd`` sums the calls whose cost is known,
    ``unpriced`` counts the others. ``first`` and ``last`` are ISO times, empty where no record tells its own.
    """

    judge: str
    version: str
    suite: str
    model: str
    records: int
    failed: int
    unread: int
    later: int
    cost_usd: float
    unpriced: int
    first: str
    last: str


class Generation(NamedTuple):
    """Later answers of one judge to questions that were answered before: what one probe asked past the store."""

    name: str
    judge: str
    records: int
    first: str
    last: str


class Inventory(NamedTuple):
    """``holdings`` by judge, suite and age (the oldest first); ``generations``, the later ones, by age; ``size_bytes`` with the
    write-ahead log beside the file.
    """

    path: Path
    size_bytes: int
    holdings: tuple[Holding, ...]
    generations: tuple[Generation, ...]

    @property
    def records(self) -> int:
        return sum(holding.records for holding in self.holdings)

    @property
    def origins(self) -> dict[str, int]:
        """By judge: in how many ways (version, served model) its answers came about. More than one: not all are its own now."""
        found: dict[str, set[tuple[str, str]]] = {}
        for holding in self.holdings:
            found.setdefault(holding.judge, set()).add((holding.version, holding.model))
        return {judge: len(ways) for judge, ways in sorted(found.items())}

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for other programs."""
        return {
            "store": str(self.path),
            "size_bytes": self.size_bytes,
            "records": self.records,
            "holdings": [holding._asdict() for holding in self.holdings],
            "generations": [generation._asdict() for generation in self.generations],
        }


_QUERY: Final = f"""
SELECT judge, judge_version, suite, ifnull(model, ''), count(*), sum(status IN ({",".join("?" * len(NOT_REUSED))})),
       sum(status NOT IN (?, {",".join("?" * len(NOT_REUSED))})), sum(instr(key, ?) > 0), total(cost_usd), sum(cost_usd IS NULL),
       ifnull(min(nullif(created, '')), ''), ifnull(max(nullif(created, '')), '')
FROM records GROUP BY 1, 2, 3, 4 ORDER BY judge, suite, 11, judge_version, 4
"""

_GENERATIONS: Final = """
SELECT substr(key, instr(key, ?) + 1) AS name, judge, count(*), ifnull(min(nullif(created, '')), ''), ifnull(max(created), '')
FROM records WHERE instr(key, ?) > 0 GROUP BY 1, 2 ORDER BY 4, 1, 2
"""


def take_inventory(path: Path) -> Inventory:
    """Count what a store holds. Raises SettingsError if there is none, StoreError if it cannot be read."""
    with closing(open_existing(path)) as store:
        holdings = store.rows(_QUERY, [*NOT_REUSED, OK, *NOT_REUSED, LATER])
        generations = store.rows(_GENERATIONS, [LATER, LATER])
    return Inventory(
        path, size_of(path), tuple(map(Holding._make, holdings)), tuple(map(Generation._make, generations))
    )


BY_OPTION: Final = "Name another file with --store"
"""What the commands below ``store`` call what runs call ``--novelty-store``."""


def open_existing(path: Path, elsewhere: str = BY_OPTION) -> SqliteStore:
    """A store that is there: nothing is made in its place. Raises SettingsError, StoreError."""
    if not path.is_file():
        raise SettingsError("there is no store", path=path, hint="Name one with --store")
    return SqliteStore(path, check=True, elsewhere=elsewhere)


def check_judge(store: SqliteStore, judge: str | None) -> None:
    """Raise SettingsError, with the judges that are there, if a judge was named of which a store has no record."""
    if judge is None or store.row("SELECT 1 FROM records WHERE judge = ? LIMIT 1", [judge]) is not None:
        return
    there = [name for (name,) in store.rows("SELECT DISTINCT judge FROM records ORDER BY 1", [])]
    raise SettingsError(
        f"has no record of the judge {judge!r}",
        path=store.path,
        hint=f"It has records of: {name_some(there)}" if there else "It is empty",
    )


def size_of(path: Path) -> int:
    """Bytes of the file and of the write-ahead log that a run may have beside it."""
    log = path.with_name(f"{path.name}-wal")
    return path.stat().st_size + (log.stat().st_size if log.exists() else 0)


def shrink(store: SqliteStore) -> bool:
    """Give the space of removed records back. False if another run holds the file; what was removed stays removed."""
    try:
        with closing(sqlite3.connect(store.path, timeout=1.0, isolation_level=None)) as connection:
            connection.execute("VACUUM")
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            return False
        raise StoreError(f"cannot be made smaller: {error}", path=store.path) from None
    return True


def show_inventory(found: Inventory) -> Iterator[str]:
    """Lines for a person."""
    from pytest_novelty.printing import clean, plural, show_usd

    yield f"{found.path}: {plural(found.records, 'record')}, {show_bytes(found.size_bytes)}"
    if not found.holdings:
        return
    rows = [("judge", "version", "suite", "served by", "records", "failed", "unread", "later", "first", "last", "cost")]
    for held in found.holdings:
        known = show_usd(held.cost_usd)
        unknown = plural(held.unpriced, "call") + " of unknown cost"
        cost = known if not held.unpriced else unknown if held.unpriced == held.records else f"{known} and {unknown}"
        rows.append(
            (
                clean(held.judge, 40), clean(held.version, 12), clean(held.suite, 40), clean(held.model, 40) or "-",
                f"{held.records:,}", f"{held.failed:,}", f"{held.unread:,}", f"{held.later:,}",
                held.first[:10] or "-", held.last[:10] or "-", cost,
            )
        )  # fmt: skip
    yield from aligned(rows, right=(4, 5, 6, 7))
    for judge, count in found.origins.items():
        if count > 1:
            yield f"{clean(judge, 40)}: {count} versions and served models; a run reads its own version, whatever model served it"
    for made in found.generations:
        when = f", {made.first[:10]}" if made.first else ""
        yield f"{clean(made.judge, 40)}: later generation {clean(made.name, 40)}, {plural(made.records, 'record')}{when}"


def aligned(rows: Sequence[Sequence[str]], right: tuple[int, ...] = ()) -> Iterator[str]:
    """Rows as columns, two blanks apart; the columns ``right`` are set to the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = [
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        yield "  ".join(cells).rstrip()


def show_bytes(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 100_000 else f"{size / 1e3:.1f} kB"
