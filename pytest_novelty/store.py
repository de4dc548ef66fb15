"""One SQLite file of records. Every finished call is committed before its case ends; nothing finished is paid for twice.

Two runs or eight workers may share the file. Facts this rests on: a deferred BEGIN that reads first fails in most commits at
eight writers, so every write is one BEGIN IMMEDIATE without a read; simultaneous first opens fail now and then, so opening
retries; WAL with synchronous=NORMAL survives kill -9 of the process.
"""

from __future__ import annotations

import json
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, Protocol

from pytest_novelty.digests import canonical_json
from pytest_novelty.errors import StoreError
from pytest_novelty.judges.base import Pace
from pytest_novelty.model import ERROR, LATER, OK, TIMEOUT, Document, Record
from pytest_novelty.pace import MemoryPace, SharedPace

_FORMAT: Final = 3
_APPLICATION_ID: Final = 0x6E76_6C74  # "nvlt"
_TIMEOUT_S: Final = 30.0
_CHECK_UP_TO_BYTES: Final = 64_000_000
_IN_LIMIT: Final = 500
ELSEWHERE: Final = "Name another file with --novelty-store"

_COLUMNS: Final = Record._fields
_TYPES: Final = {"sample": "INTEGER", "seed": "INTEGER", "score": "REAL", "abstained": "INTEGER", "tokens_in": "INTEGER",
                 "tokens_out": "INTEGER", "cost_usd": "REAL", "latency_s": "REAL", "retries": "INTEGER",
         "tokens_cached": "INTEGER", "tokens_reasoning": "INTEGER"}  # fmt: skip
_CREATE: Final = (
    "CREATE TABLE IF NOT EXISTS records ("
    + ", ".join(f'"{name}" {_TYPES.get(name, "TEXT")}{" PRIMARY KEY" if name == "key" else ""}' for name in _COLUMNS)
    + ")"
)
_ADDED: Final = {1: ("tokens_cached", "tokens_reasoning", "settings", "grounds"), 2: ("grounds",)}
"""Columns that a store of an earlier format lacks. They stand at the end, where SQLite adds them."""
_PACE: Final = "CREATE TABLE IF NOT EXISTS pace (judge TEXT PRIMARY KEY, next REAL)"
_SLOT_INDEX: Final = "CREATE INDEX IF NOT EXISTS slots ON records (suite, instance, judge)"
_LEDGER: Final = "CREATE TABLE IF NOT EXISTS ledger (run TEXT PRIMARY KEY, budget REAL, spent REAL, reserved REAL)"
_LINE: Final = "CREATE TABLE IF NOT EXISTS line (run TEXT, who TEXT, PRIMARY KEY (run, who))"
_MEASURED: Final = (
    "CREATE TABLE IF NOT EXISTS measured (run TEXT, judge TEXT, begun INTEGER, ended INTEGER, told INTEGER, usd REAL, "
    "PRIMARY KEY (run, judge))"
)
_TEXTS: Final = attrgetter("message", "reason", "instance", "suite", "variant", "judge_version", "kind", "settings")
_QUOTED: Final = ", ".join(f'"{name}"' for name in _COLUMNS)
_INSERT: Final = f"INSERT OR REPLACE INTO records ({_QUOTED}) VALUES ({', '.join('?' * len(_COLUMNS))})"


NOT_REUSED: Final = (ERROR, TIMEOUT)
"""A call that failed in transport is asked again by the next run; an answer that cannot be read was still an answer."""


class VerdictStore(Protocol):
    """Where records are kept: in a file, or for a run that keeps nothing in memory."""

    def get(self, keys: Sequence[str]) -> dict[str, Record]:
        """The records that exist, by key."""

    def put(self, records: Sequence[Record]) -> None:
        """Keep records; committed on return. A key that exists is replaced."""

    def at_slot(self, judge: str, suite: str, instance: str) -> list[Record]:
        """All records of one judge for one instance, whatever their key."""

    def means(self, judge: str, version: str) -> tuple[float | None, float | None, int]:
        """(mean cost in USD, mean seconds, calls) of a judge's priced and valid calls; None where there are none."""

    def count(self, suite: str, judge: str, version: str) -> int:
        """Reusable records of one judge version on one suite."""

    def count_older(self, suite: str, judge: str, version: str) -> int:
        """Records of other versions of a judge on one suite."""

    def mean_tokens_out(self, judge: str, version: str) -> float | None:
        """Of a judge's calls that told their tokens; None if there are none."""

    def pace(self, name: str) -> Pace:
        """The turns under this name of everybody who uses this store."""

    def close(self) -> None: ...


class MemoryStore:
    """Keeps records as long as the process lives."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        self._records = {record.key: record for record in records}
        self._paces: dict[str, Pace] = {}

    def get(self, keys: Sequence[str]) -> dict[str, Record]:
        return {key: self._records[key] for key in keys if key in self._records}

    def put(self, records: Sequence[Record]) -> None:
        self._records.update((record.key, record) for record in records)

    def at_slot(self, judge: str, suite: str, instance: str) -> list[Record]:
        return [r for r in self._records.values() if (r.judge, r.suite, r.instance) == (judge, suite, instance)]

    def means(self, judge: str, version: str) -> tuple[float | None, float | None, int]:
        own = [r for r in self._records.values() if (r.judge, r.judge_version, r.status) == (judge, version, OK)]
        costs = [record.cost_usd for record in own if record.cost_usd is not None]
        seconds = sum(record.latency_s for record in own) / len(own) if own else None
        return sum(costs) / len(costs) if costs else None, seconds, len(costs)

    def count(self, suite: str, judge: str, version: str) -> int:
        kept = [r for r in self._records.values() if r.status not in NOT_REUSED and LATER not in r.key]
        slots = [(r.suite, r.judge, r.judge_version) for r in kept]
        return slots.count((suite, judge, version))

    def count_older(self, suite: str, judge: str, version: str) -> int:
        own = [r for r in self._records.values() if (r.suite, r.judge) == (suite, judge)]
        return sum(record.judge_version != version for record in own)

    def mean_tokens_out(self, judge: str, version: str) -> float | None:
        own = [r.tokens_out for r in self._records.values() if (r.judge, r.judge_version) == (judge, version)]
        told = [count for count in own if count is not None]
        return sum(told) / len(told) if told else None

    def pace(self, name: str) -> Pace:
        return self._paces.setdefault(name, MemoryPace())

    def close(self) -> None:
        pass


class SqliteStore:
    """The store file. Raises StoreError if the file is no store, is damaged, or cannot be written; ``elsewhere``: its hint where
    only another file helps.
    """

    def __init__(self, path: Path, *, check: bool = False, elsewhere: str = ELSEWHERE) -> None:
        self.path = path
        self._elsewhere = elsewhere
        self._lock = threading.Lock()
        self._connection = self._open(check)
        self._read_lock = threading.Lock()
        # A second connection: in WAL mode a reader does not wait for the writer of its own process.
        self._reader = sqlite3.connect(path, timeout=_TIMEOUT_S, isolation_level=None, check_same_thread=False)
        self._slots_indexed = False

    def _open(self, check: bool) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(
                f"cannot create its folder: {error.strerror}", path=self.path, hint=self._elsewhere
            ) from None
        deadline = time.monotonic() + _TIMEOUT_S
        while True:
            try:
                return self._prepare(check)
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) and "busy" not in str(error):
                    raise StoreError(f"cannot be opened: {error}", path=self.path, hint=self._elsewhere) from None
                if time.monotonic() > deadline:
                    raise StoreError(
                        f"stayed locked for {_TIMEOUT_S:g} s", path=self.path, hint="Is another run stuck?"
                    ) from None
                time.sleep(0.05)
            except sqlite3.DatabaseError as error:
                raise StoreError(f"is not a verdict store or is damaged: {error}", path=self.path, hint=_KEEP) from None

    def _prepare(self, check: bool) -> sqlite3.Connection:
        is_new = not self.path.exists() or self.path.stat().st_size == 0
        connection = sqlite3.connect(self.path, timeout=_TIMEOUT_S, isolation_level=None, check_same_thread=False)
        try:
            if not is_new:
                connection.execute("BEGIN")  # one snapshot: another run may be creating the file between two reads
                application = connection.execute("PRAGMA application_id").fetchone()[0]
                version = connection.execute("PRAGMA user_version").fetchone()[0]
                tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
                if application != _APPLICATION_ID and tables:
                    raise StoreError("is a database of another program", path=self.path, hint=self._elsewhere)
                if application == _APPLICATION_ID and version not in (_FORMAT, *_ADDED):
                    raise StoreError(
                        f"has store format {version}, this version reads {_FORMAT}",
                        path=self.path,
                        hint=self._elsewhere,
                    )
                held = [row[1] for row in connection.execute("PRAGMA table_info(records)")]
                connection.execute("COMMIT")
                missing = _ADDED.get(version, ())
                if held and held != [name for name in _COLUMNS if name not in missing]:
                    raise StoreError("has other columns than this version writes", path=self.path, hint=self._elsewhere)
                if check and self.path.stat().st_size <= _CHECK_UP_TO_BYTES:
                    found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
                    if found != "ok":
                        raise StoreError(f"is damaged: {found}", path=self.path, hint=_KEEP)
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA wal_autocheckpoint=4000")
            connection.execute("BEGIN IMMEDIATE")
            for statement in (_CREATE, _LEDGER, _LINE, _MEASURED, _PACE):
                connection.execute(statement)
            _add_columns(connection)
            connection.execute(f"PRAGMA application_id={_APPLICATION_ID}")
            connection.execute(f"PRAGMA user_version={_FORMAT}")
            connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection

    def get(self, keys: Sequence[str]) -> dict[str, Record]:
        with self._read_lock:
            try:
                return select(self._reader, keys)
            except sqlite3.DatabaseError as error:
                raise StoreError(f"cannot be read: {error}", path=self.path, hint=_KEEP) from None

    def _read(self, query: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        try:
            return self._reader.execute(query, values).fetchall()
        except sqlite3.DatabaseError as error:
            raise StoreError(f"cannot be read: {error}", path=self.path, hint=_KEEP) from None

    def put(self, records: Sequence[Record]) -> None:
        with self._lock, self.transaction() as connection:
            insert(connection, records)

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """One transaction for several statements: all of it is kept, or nothing if the body raises."""
        with self._lock, self.transaction() as connection:
            yield connection

    def transaction(self) -> _Transaction:
        """BEGIN IMMEDIATE ... COMMIT, or ROLLBACK if the body raises. The caller holds the lock."""
        return _Transaction(self._connection, self.path)

    def update(self, statement: str, values: Sequence[Any] = ()) -> int:
        """Run one writing statement in its own transaction; the number of rows it changed."""
        with self._lock, self.transaction() as connection:
            return connection.execute(statement, values).rowcount

    def pace(self, name: str) -> Pace:
        return SharedPace(self.update, self.row, name)

    def row(self, query: str, values: Sequence[Any] = ()) -> tuple[Any, ...] | None:
        rows = self.rows(query, values)
        return rows[0] if rows else None

    def rows(self, query: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._read_lock:
            return self._read(query, values)

    def at_slot(self, judge: str, suite: str, instance: str) -> list[Record]:
        if not self._slots_indexed:  # only explaining a miss needs it, so runs do not pay for keeping it
            self.update(_SLOT_INDEX)
            self._slots_indexed = True
        query = f"SELECT {_QUOTED} FROM records WHERE suite = ? AND instance = ? AND judge = ?"
        with self._read_lock:
            return [_from_row(row) for row in self._read(query, [_plain(name) for name in (suite, instance, judge)])]

    def means(self, judge: str, version: str) -> tuple[float | None, float | None, int]:
        query = (
            "SELECT avg(cost_usd), avg(latency_s), count(cost_usd) FROM records "
            "WHERE judge = ? AND judge_version = ? AND status = ?"
        )
        cost, seconds, count = self.row(query, (judge, version, OK)) or (None, None, 0)
        return cost, seconds, count

    def mean_tokens_out(self, judge: str, version: str) -> float | None:
        query = "SELECT avg(tokens_out) FROM records WHERE judge = ? AND judge_version = ?"
        row = self.row(query, (judge, version))
        return None if row is None else row[0]

    def count(self, suite: str, judge: str, version: str) -> int:
        query = (
            "SELECT count(*) FROM records WHERE suite = ? AND judge = ? AND judge_version = ? AND status NOT IN (?, ?) "
            "AND instr(key, ?) = 0"
        )
        row = self.row(query, (suite, judge, version, *NOT_REUSED, LATER))
        return int(row[0]) if row else 0

    def count_older(self, suite: str, judge: str, version: str) -> int:
        query = "SELECT count(*) FROM records WHERE suite = ? AND judge = ? AND judge_version != ?"
        row = self.row(query, (suite, judge, version))
        return int(row[0]) if row else 0

    def records(self) -> Iterator[Record]:
        """All records, sorted so that two exports of equal content are equal files."""
        query = f'SELECT {_QUOTED} FROM records ORDER BY suite, instance, judge, judge_version, variant, "order", sample, key'
        # A connection of its own: a reader who stops half-way must not keep the store's lock.
        own = sqlite3.connect(self.path, timeout=_TIMEOUT_S, isolation_level=None)
        try:
            cursor = own.execute(query)
            while rows := cursor.fetchmany(1000):
                yield from map(_from_row, rows)
        except sqlite3.DatabaseError as error:
            raise StoreError(f"cannot be read: {error}", path=self.path, hint=_KEEP) from None
        finally:
            own.close()

    def close(self) -> None:
        with self._lock, self._read_lock:
            self._reader.close()
            self._connection.close()


_KEEP: Final = "It is left as it is: move it away to begin a new one, or restore a copy"


def select(connection: sqlite3.Connection, keys: Sequence[str]) -> dict[str, Record]:
    """The records that exist, by key."""
    found: dict[str, Record] = {}
    for start in range(0, len(keys), _IN_LIMIT):
        part = keys[start : start + _IN_LIMIT]
        query = f"SELECT {_QUOTED} FROM records WHERE key IN ({','.join('?' * len(part))})"
        for row in connection.execute(query, part):
            record = _from_row(row)
            found[record.key] = record
    return found


def as_held(record: Record) -> Record:
    """A record from elsewhere as a store gives it back."""
    texts = [value for value in record if isinstance(value, str)]
    return record if "".join(texts).isascii() else _from_row(tuple(map(_plain, record)))


def insert(connection: sqlite3.Connection, records: Iterable[Record]) -> None:
    """Add records; one that exists under its key is replaced."""
    connection.executemany(_INSERT, map(_to_row, records))


def _add_columns(connection: sqlite3.Connection) -> None:
    """Bring a table of an earlier format to this one; within the transaction that sets the format."""
    held = {row[1] for row in connection.execute("PRAGMA table_info(records)")}
    for name in _COLUMNS:
        if name not in held:
            connection.execute(f'ALTER TABLE records ADD COLUMN "{name}" {_TYPES.get(name, "TEXT")}')


class _Transaction:
    def __init__(self, connection: sqlite3.Connection, path: Path) -> None:
        self._connection = connection
        self._path = path

    def __enter__(self) -> sqlite3.Connection:
        try:
            self._connection.execute("BEGIN IMMEDIATE")
        except sqlite3.Error as error:
            raise StoreError(f"cannot be written: {error}", path=self._path, hint=_KEEP) from None
        return self._connection

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        try:
            self._connection.execute("COMMIT" if kind is None else "ROLLBACK")
        except sqlite3.Error as failed:
            raise StoreError(f"cannot be written: {failed}", path=self._path, hint=_KEEP) from None
        if isinstance(error, sqlite3.Error):
            raise StoreError(f"cannot be written: {error}", path=self._path, hint=_KEEP) from None


def _to_row(record: Record) -> Sequence[Any]:
    """What SQLite can hold. Nearly every record can be passed as it is; ``raw`` is ASCII JSON already."""
    if record.retrieved is None and "".join(_TEXTS(record)).isascii() and f"{record.model}{record.label}".isascii():
        return record
    return tuple(map(_plain, record))


def _plain(value: Any) -> Any:
    """Lone surrogates become escapes, documents become JSON."""
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode("utf-8")
    if isinstance(value, tuple):
        return canonical_json([asdict(document) for document in value])
    return value


def _from_row(row: tuple[Any, ...]) -> Record:
    values = list(row)
    if values[_RETRIEVED] is not None:
        values[_RETRIEVED] = tuple(Document(**item) for item in json.loads(values[_RETRIEVED]))
    values[_ABSTAINED] = bool(values[_ABSTAINED])
    values[_SETTINGS] = values[_SETTINGS] or ""
    values[_GROUNDS] = values[_GROUNDS] or ""
    return Record._make(values)


_ABSTAINED, _RETRIEVED, _SETTINGS, _GROUNDS = map(_COLUMNS.index, ("abstained", "retrieved", "settings", "grounds"))


def record_to_dict(record: Record) -> dict[str, Any]:
    """A record as one line of an export."""
    row = record._asdict()
    if record.retrieved is not None:
        row["retrieved"] = [asdict(document) for document in record.retrieved]
    return row
