"""A run's budget: a call's cost is reserved before it is sent and settled by what it really cost.

Reserving, not checking afterwards, is what keeps ``--novelty-budget 5.00`` from becoming 5.40 when 40 calls are in flight. Under
xdist all workers reserve in one row of the store. Where a judge's cost is unknown, its first five calls measure it, one after the
other: each but the very first reserves the mean of those before it.

Who is refused waits in a line, and nobody reserves past who stands before them, so that a dear judge is not starved by a cheap
one; and once somebody's next call can no longer be paid for, the budget is reached for all: verdicts of one judge that no other
can match pair with nothing.
"""

from __future__ import annotations

import math
import os
import sqlite3
import threading
import time
from collections import defaultdict
from dataclasses import dataclass
from typing import Final, Protocol
from uuid import uuid4

from pytest_novelty.processes import is_alive
from pytest_novelty.store import SqliteStore

MEASURED_CALLS: Final = 5

_SLACK: Final = 1e-9
_ANY: Final = ""
"""What a process holds for calls that measure no judge."""
_NOTHING: Final = -1.0
"""A budget in which not even a call fits that costs nothing."""
_IS_NEXT: Final = "coalesce((SELECT who FROM line WHERE line.run = ledger.run ORDER BY rowid LIMIT 1), ?) = ?"
_MAY_MEASURE: Final = (
    f"spent + reserved < budget AND spent + reserved + coalesce(usd / nullif(told, 0), 0) <= budget + ? AND {_IS_NEXT}"
)
_CREATE: Final = (
    "CREATE TABLE IF NOT EXISTS held (run TEXT, pid INTEGER, measures TEXT, reserved REAL, "
    "PRIMARY KEY (run, pid, measures))"
)
"""What each process has set aside: for calls of a known cost, and for the call that measures a judge's. Of one that is gone
nobody else would free it."""
_HOLD: Final = (
    "INSERT INTO held VALUES (?, ?, ?, ?) ON CONFLICT (run, pid, measures) "
    "DO UPDATE SET reserved = reserved + excluded.reserved"
)
_RESERVE: Final = "UPDATE ledger SET reserved = reserved + ? WHERE run = ?"
_SPEND: Final = "UPDATE ledger SET spent = spent + ? WHERE run = ?"
_SEE_MEASURED: Final = "SELECT begun, ended, told, usd FROM measured WHERE run = ? AND judge = ?"
_EVERY_S: Final = 1.0
_NOT_BEGUN: Final = "UPDATE measured SET begun = begun - 1 WHERE run = ? AND judge = ?"


@dataclass(slots=True)
class Measured:
    """What is known of a judge's cost: calls begun and ended to measure it, how many told their cost, the sum."""

    begun: int = 0
    ended: int = 0
    told: int = 0
    usd: float = 0.0

    @property
    def mean_usd(self) -> float | None:
        """The cost of a call as far as it is known: the mean of those that told theirs; None before the first."""
        return self.usd / self.told if self.told else None

    @property
    def over(self) -> bool:
        """Enough calls ended to project the cost of the rest."""
        return self.ended >= MEASURED_CALLS

    @property
    def untold(self) -> bool:
        """Enough calls ended and none told its cost."""
        return self.over and not self.told


def name_in_line(judge: str) -> str:
    """A name for somebody who may have to wait, of this process and of nobody else."""
    return f"{judge} {uuid4().hex} {os.getpid()}"


class Ledger(Protocol):
    """Who may spend what."""

    def reserve(self, cost_usd: float, who: str = "") -> bool:
        """Set ``cost_usd`` aside if it still fits and nobody stands in line before ``who``; else ``who`` stands in line.

        Nobody has no name, and stands in no line.
        """

    def leave(self, who: str) -> None:
        """``who`` waits no more."""

    def end(self) -> None:
        """From now on nothing fits."""

    def settle(self, reserved_usd: float, cost_usd: float) -> None:
        """A call ended: what was set aside is freed, what it cost is spent."""

    def begin_measuring(self, judge: str, who: str = "") -> bool:
        """Whether a call may be sent to measure this judge's cost: none is out, and one more at the mean so far fits.

        That mean is set aside until the call ends. Who is refused for want of money stands in line, as for any other call.
        """

    def end_measuring(self, judge: str, cost_usd: float | None, *, counts: bool = True) -> None:
        """A measuring call ended: what was set aside is freed. One that failed in transport does not count: another is sent."""

    def measured(self, judge: str) -> Measured: ...

    def spent_usd(self) -> float: ...

    def fits_later(self, cost_usd: float) -> bool:
        """Whether ``cost_usd`` would fit if all that is set aside came back."""


class MemoryLedger:
    """The ledger of a run in one process."""

    def __init__(self, budget_usd: float) -> None:
        self._budget = budget_usd
        self._lock = threading.Lock()
        self._spent = self._reserved = 0.0
        self._measured: defaultdict[str, Measured] = defaultdict(Measured)
        self._line: dict[str, None] = {}

    def reserve(self, cost_usd: float, who: str = "") -> bool:
        with self._lock:
            return self._set_aside(cost_usd, who)

    def _set_aside(self, cost_usd: float, who: str) -> bool:
        is_next = next(iter(self._line), who) == who
        fits = is_next and self._spent + self._reserved + cost_usd <= self._budget + _SLACK
        if fits:
            self._reserved += cost_usd
            self._line.pop(who, None)
        elif who:
            self._line.setdefault(who)
        return fits

    def leave(self, who: str) -> None:
        with self._lock:
            self._line.pop(who, None)

    def end(self) -> None:
        with self._lock:
            self._budget = _NOTHING

    def settle(self, reserved_usd: float, cost_usd: float) -> None:
        with self._lock:
            self._reserved -= reserved_usd
            self._spent += cost_usd

    def begin_measuring(self, judge: str, who: str = "") -> bool:
        with self._lock:
            state = self._measured[judge]
            if state.begun >= MEASURED_CALLS or state.begun != state.ended:
                return False
            mean = state.mean_usd or 0.0
            is_left = self._spent + self._reserved < self._budget
            if not self._set_aside(mean if is_left else math.inf, who):
                return False
            state.begun += 1
            return True

    def end_measuring(self, judge: str, cost_usd: float | None, *, counts: bool = True) -> None:
        with self._lock:
            state = self._measured[judge]
            self._reserved -= state.mean_usd or 0.0  # as when it began: only one is out
            if not counts and cost_usd is None:
                state.begun -= 1
                return
            state.ended += 1
            state.told += cost_usd is not None
            state.usd += cost_usd or 0.0
            self._spent += cost_usd or 0.0

    def measured(self, judge: str) -> Measured:
        with self._lock:
            state = self._measured[judge]
            return Measured(state.begun, state.ended, state.told, state.usd)

    def spent_usd(self) -> float:
        with self._lock:
            return self._spent

    def fits_later(self, cost_usd: float) -> bool:
        return self.spent_usd() + cost_usd <= self._budget + _SLACK


class SharedLedger:
    """The ledger of one run in the store, shared by its workers. Every change is atomic.

    A worker that is killed leaves calls whose answers nobody has seen, and that may have been paid for: what was set aside for
    them counts as spent, so that a budget holds. Its place in line, and its turn to measure, are free.
    """

    def __init__(self, store: SqliteStore, run: str, budget_usd: float) -> None:
        self._store = store
        self._run = run
        self._in_line: set[str] = set()
        self._looked = time.monotonic()
        store.update(_CREATE)
        store.update(
            "INSERT OR IGNORE INTO ledger (run, budget, spent, reserved) VALUES (?, ?, 0, 0)", (run, budget_usd)
        )

    def reserve(self, cost_usd: float, who: str = "") -> bool:
        if self._set_aside(cost_usd, who) or (self._free_the_dead() and self._set_aside(cost_usd, who)):
            self.leave(who)
            return True
        self._stand_in_line(who)
        return False

    def _set_aside(self, cost_usd: float, who: str) -> bool:
        reserve = (
            "UPDATE ledger SET reserved = reserved + ? WHERE run = ? AND spent + reserved + ? <= budget + ? "
            f"AND {_IS_NEXT}"
        )
        with self._store.writing() as connection:
            fits = connection.execute(reserve, (cost_usd, self._run, cost_usd, _SLACK, who, who)).rowcount == 1
            if fits:
                connection.execute(_HOLD, (self._run, os.getpid(), _ANY, cost_usd))
        return fits

    def _free_the_dead(self) -> bool:
        """Whether a process of the run was gone since the last look, which is some time ago: money and turns may be free now."""
        if time.monotonic() - self._looked < _EVERY_S:
            return False
        self._looked = time.monotonic()
        holders = {pid for (pid,) in self._store.rows("SELECT pid FROM held WHERE run = ?", (self._run,))}
        waiting = [who for (who,) in self._store.rows("SELECT who FROM line WHERE run = ?", (self._run,))]
        told = {who: int(pid) for who in waiting if (pid := who.rpartition(" ")[2]).isdecimal()}
        dead = {pid for pid in holders | set(told.values()) if not is_alive(pid)}
        for pid in dead:
            with self._store.writing() as connection:
                self._free(connection, pid, [who for who, its in told.items() if its == pid])
        return bool(dead)

    def _free(self, connection: sqlite3.Connection, pid: int, in_line: list[str]) -> None:
        query = "SELECT reserved, measures FROM held WHERE run = ? AND pid = ?"
        for reserved, measures in connection.execute(query, (self._run, pid)).fetchall():
            connection.execute(_RESERVE, (-reserved, self._run))
            connection.execute(_SPEND, (reserved, self._run))
            if measures:
                connection.execute(_NOT_BEGUN, (self._run, measures))
        connection.execute("DELETE FROM held WHERE run = ? AND pid = ?", (self._run, pid))
        connection.executemany("DELETE FROM line WHERE run = ? AND who = ?", [(self._run, who) for who in in_line])

    def _stand_in_line(self, who: str) -> None:
        if who and who not in self._in_line:
            self._in_line.add(who)
            self._store.update("INSERT OR IGNORE INTO line (run, who) VALUES (?, ?)", (self._run, who))

    def leave(self, who: str) -> None:
        if who in self._in_line:
            self._in_line.discard(who)
            self._store.update("DELETE FROM line WHERE run = ? AND who = ?", (self._run, who))

    def end(self) -> None:
        self._store.update("UPDATE ledger SET budget = ? WHERE run = ?", (_NOTHING, self._run))

    def settle(self, reserved_usd: float, cost_usd: float) -> None:
        with self._store.writing() as connection:
            connection.execute(_RESERVE, (-reserved_usd, self._run))
            connection.execute(_SPEND, (cost_usd, self._run))
            connection.execute(_HOLD, (self._run, os.getpid(), _ANY, -reserved_usd))

    def begin_measuring(self, judge: str, who: str = "") -> bool:
        if self._begin(judge, who) or (self._free_the_dead() and self._begin(judge, who)):
            self.leave(who)
            return True
        state = self.measured(judge)
        if state.begun < MEASURED_CALLS and state.begun == state.ended:
            self._stand_in_line(who)
        return False

    def _begin(self, judge: str, who: str) -> bool:
        """In one transaction: of a process that is killed half-way through several, nobody could tell what it had begun."""
        begin = (
            "UPDATE measured SET begun = begun + 1 WHERE run = ? AND judge = ? AND begun < ? AND begun = ended "
            f"AND (SELECT {_MAY_MEASURE} FROM ledger WHERE ledger.run = measured.run)"
        )
        with self._store.writing() as connection:
            connection.execute("INSERT OR IGNORE INTO measured VALUES (?, ?, 0, 0, 0, 0)", (self._run, judge))
            values = (self._run, judge, MEASURED_CALLS, _SLACK, who, who)
            begins = connection.execute(begin, values).rowcount == 1
            if begins:
                mean = Measured(*connection.execute(_SEE_MEASURED, (self._run, judge)).fetchone()).mean_usd or 0.0
                connection.execute(_RESERVE, (mean, self._run))
                connection.execute(_HOLD, (self._run, os.getpid(), judge, mean))
        return begins

    def end_measuring(self, judge: str, cost_usd: float | None, *, counts: bool = True) -> None:
        with self._store.writing() as connection:
            self._spend(connection, judge, cost_usd or 0.0)
            if not counts and cost_usd is None:
                connection.execute(_NOT_BEGUN, (self._run, judge))
                return
            connection.execute(
                "UPDATE measured SET ended = ended + 1, told = told + ?, usd = usd + ? WHERE run = ? AND judge = ?",
                (int(cost_usd is not None), cost_usd or 0.0, self._run, judge),
            )

    def _spend(self, connection: sqlite3.Connection, judge: str, cost_usd: float) -> None:
        """What this process had set aside to measure a judge is free, and what that cost is spent."""
        mine = (self._run, os.getpid(), judge)
        query = "SELECT reserved FROM held WHERE run = ? AND pid = ? AND measures = ?"
        for (reserved,) in connection.execute(query, mine).fetchall():
            connection.execute(_RESERVE, (-reserved, self._run))
        connection.execute("DELETE FROM held WHERE run = ? AND pid = ? AND measures = ?", mine)
        connection.execute(_SPEND, (cost_usd, self._run))

    def measured(self, judge: str) -> Measured:
        row = self._store.row(_SEE_MEASURED, (self._run, judge))
        return Measured(*row) if row else Measured()

    def spent_usd(self) -> float:
        row = self._store.row("SELECT spent FROM ledger WHERE run = ?", (self._run,))
        return float(row[0]) if row else 0.0

    def fits_later(self, cost_usd: float) -> bool:
        query = "SELECT spent + ? <= budget + ? FROM ledger WHERE run = ?"
        row = self._store.row(query, (cost_usd, _SLACK, self._run))
        return bool(row and row[0])
