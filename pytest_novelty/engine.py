"""Keeps calls in flight. Judge calls wait, they do not compute, so what matters is that many wait at once.

::

    submit() -> lanes (one per judge: a queue and a limit) -> worker threads (sync) or the loop (async)
             -> records -> writer thread: one transaction for all that is ready -> tickets -> wait()

Three rules: a ticket is complete only when its records are committed; a judge that raises, hangs or returns nonsense costs its
own call and nothing else; what is not needed to continue happens outside the lock.
"""

from __future__ import annotations

import asyncio
import contextvars
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import Final

from pytest_novelty.async_runner import AsyncRunner
from pytest_novelty.budget import Ledger
from pytest_novelty.calls import Call
from pytest_novelty.errors import BudgetReached, NoveltyError, RunError
from pytest_novelty.judges.base import Judge
from pytest_novelty.lanes import Item, Lane, give_back, may_come_back, measuring_is_over, settle
from pytest_novelty.model import Record
from pytest_novelty.recording import Recorder
from pytest_novelty.store import NOT_REUSED, VerdictStore
from pytest_novelty.sync_runner import SyncRunner
from pytest_novelty.tally import Made
from pytest_novelty.tickets import Ticket

BUDGET_IS_REACHED: Final = "the budget is reached"
_CHUNK: Final = 64
_AHEAD_INSTANT: Final = 2048
_FIRST: Final = 10**12
"""What calls that come first are ahead of the others by, in the order of submission."""
_TICK_S: Final = 0.05


class Engine:
    """Runs calls of several judges, at most ``concurrency`` at once. One per process; not to be used after a fork.

    Parameters
    ----------
    judges: every judge whose calls may be submitted.
    store: where answers are looked up and kept.
    concurrency: calls in flight at once, over all judges.
    ledger: the run's budget, or None.
    offline: never call a judge; what the store lacks is listed in ``Ticket.missing``.
    refresh: ask again although the store has an answer.
    loop: run async judges in this loop (of ``aevaluate``'s caller) instead of one of our own.
    stuck_hint: added to the message of a call that timed out.
    """

    def __init__(
        self,
        judges: Sequence[Judge],
        store: VerdictStore,
        *,
        concurrency: int = 16,
        ledger: Ledger | None = None,
        offline: bool = False,
        refresh: bool = False,
        loop: asyncio.AbstractEventLoop | None = None,
        stuck_hint: str = "",
    ) -> None:
        self._store = store
        self._concurrency = concurrency
        self._ledger = ledger
        self._offline = offline
        self._refresh = refresh
        self._recorder = Recorder(stuck_hint, [secret for judge in judges for secret in judge.secrets])
        self._lock = threading.Lock()
        self._lanes = {
            judge.name: Lane(judge, min(concurrency, judge.traits.max_concurrency or concurrency)) for judge in judges
        }
        for judge in judges:
            judge.keep_pace(store.pace)
        if ledger is not None:
            for lane in self._lanes.values():  # what earlier calls cost is known, and need not be measured again
                lane.stored_cost_usd = store.means(lane.judge.name, lane.judge.version)[0]
        self._in_flight = 0
        self._numbers = itertools.count()
        self._waiting: dict[str, list[tuple[Ticket, int]]] = {}
        self._failed: NoveltyError | None = None
        self.made = Made()
        """Calls that ended in this process."""
        self._closed = threading.Event()
        self._done = threading.Event()
        self._written: deque[tuple[list[Item], list[Record]]] = deque()
        self._wake_writer = threading.Event()
        context = contextvars.copy_context()
        self._async = AsyncRunner(self._recorder, self._finish, self._pump, self._break, context, loop)
        self._sync = SyncRunner(self._recorder, self._finish, self._adopt, context)
        self._threads = [
            threading.Thread(target=self._write, name="novelty-writer", daemon=True),
            threading.Thread(target=self._watch, name="novelty-watch", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    # --- submitting and waiting -----------------------------------------------------------------------------

    def submit(self, batches: Sequence[Sequence[Call]], *, first: bool = False) -> list[Ticket]:
        """Queue the calls of several cases; answers that the store has are taken from it (one query for all).

        ``first``: before all calls that are queued already and not so.
        """
        keys = [call.key for calls in batches for call in calls]
        stored = {} if self._refresh else self._store.get(keys)
        tickets = [Ticket(calls) for calls in batches]
        wanted: list[tuple[Ticket, int]] = []
        for ticket in tickets:
            for index, call in enumerate(ticket.calls):
                record = stored.get(call.key)
                if record is not None and record.status not in NOT_REUSED:
                    ticket.records[index] = self._recorder.reread(call, record)
                    ticket.reused.add(index)
                elif self._offline:
                    ticket.missing.append(call)
                else:
                    wanted.append((ticket, index))
        with self._lock:
            for ticket, index in wanted:
                call = ticket.calls[index]
                lane = self._lanes[call.case.judge.name]
                if lane.exhausted:
                    ticket.stopped = True
                    continue
                ticket.pending += 1
                if call.key in self._waiting:
                    self._waiting[call.key].append((ticket, index))
                else:
                    self._waiting[call.key] = [(ticket, index)]
                    lane.add(Item(next(self._numbers) - (_FIRST if first else 0), call))
        self._pump()
        return tickets

    def wait(self, ticket: Ticket, *, tick: Callable[[], None] | None = None) -> None:
        """Wait until a ticket's records are committed, calling ``tick`` about once a second.

        Raises BudgetReached if its calls were not sent, JudgeError if the judge could not be entered, StoreError if its
        records could not be kept.
        """
        while True:
            with self._lock:
                if self._failed is not None:
                    raise self._failed
                if ticket.pending == 0:
                    break
                lane = self._lanes[ticket.calls[0].case.judge.name]
                if lane.broken is not None:
                    raise lane.broken
                if ticket.event is None:
                    ticket.event = threading.Event()
                ticket.event.clear()  # set with calls pending: somebody had to look whether a judge is broken
            if not ticket.event.wait(1.0) and tick is not None:
                tick()
        if ticket.stopped:
            raise BudgetReached(f"{BUDGET_IS_REACHED}: the next call would exceed it")

    def let_finish(self, ticket: Ticket, seconds: float = 0.25) -> None:
        """Stand aside for a moment while instant judges work off what is queued up to ``ticket``.

        They compute, so overlapping them with the caller gains nothing, and the two would fight over the interpreter's lock at
        every system call (a quarter of the run's time, measured).
        """
        with self._lock:
            if ticket.pending == 0 or not self._all_instant():
                return
            if ticket.event is None:
                ticket.event = threading.Event()
            event = ticket.event
        event.wait(seconds)

    def _all_instant(self) -> bool:
        return all(lane.instant for lane in self._lanes.values())

    @property
    def room(self) -> int:
        """How many more calls are worth queueing: instant judges are drained in long runs, others only just kept busy.

        0 while more than half of that is queued, so that calls are queued in batches.
        """
        wanted = _AHEAD_INSTANT if self._all_instant() else max(4 * self._concurrency, 64)
        free = wanted - len(self._waiting)
        return free if 2 * free >= wanted else 0

    @property
    def budget_reached(self) -> bool:
        return any(lane.exhausted for lane in self._lanes.values())

    # --- dispatch -------------------------------------------------------------------------------------------

    def _pump(self, worker: object = None) -> tuple[Lane, list[Item]] | None:
        """Start what may start. A sync worker that asks gets its next chunk as the result instead of a new thread."""
        mine: tuple[Lane, list[Item]] | None = None
        started: list[tuple[Lane, list[Item]]] = []
        to_enter: list[Lane] = []
        with self._lock:
            if self._closed.is_set() or self._failed is not None:
                return None
            while self._in_flight < self._concurrency and (lane := self._next_lane()) is not None:
                if lane.judge.manager is not None and not lane.entered:
                    lane.entering = True
                    to_enter.append(lane)
                    continue
                chunk = self._take(lane)
                if not chunk:
                    continue
                lane.in_flight += 1
                self._in_flight += 1
                if worker is not None and mine is None and not lane.is_async:
                    mine = (lane, chunk)
                else:
                    started.append((lane, chunk))
        for lane in to_enter:
            self._async.enter(lane)
        for lane, chunk in started:
            try:
                (self._async if lane.is_async else self._sync).start(lane, chunk)
            except RuntimeError as error:  # no thread can be started, no loop runs
                with self._lock:
                    self._failed = self._failed or RunError(
                        f"calls cannot be started: {error}", hint="Lower --novelty-concurrency"
                    )
                    self._wake_all()
        return mine

    def _next_lane(self) -> Lane | None:
        """The lane whose next call is the earliest submitted, among those that may start one."""
        ready = [lane for lane in self._lanes.values() if lane.ready]
        return min(ready, key=lambda lane: lane.queue[0].number, default=None)

    def _take(self, lane: Lane) -> list[Item]:
        """The next chunk of a lane: one call, or many if its calls take no time. Empty if the budget says not now."""
        if self._ledger is not None and lane.judge.traits.cost_usd_per_call != 0.0:
            return self._take_paid(lane, self._ledger)
        size = _CHUNK if lane.instant else 1
        return [lane.queue.popleft() for _ in range(min(size, len(lane.queue)))]

    def _take_paid(self, lane: Lane, ledger: Ledger) -> list[Item]:
        expected = lane.judge.expect(lane.queue[0].call.request)
        if expected is not None and expected.bound_usd is not None:
            return self._take_reserved(lane, ledger, expected.bound_usd, is_known=True)
        cost = lane.judge.traits.cost_usd_per_call
        if cost is None:
            cost = lane.stored_cost_usd
        if cost is None:
            measured = ledger.measured(lane.judge.name)
            if measured.untold:
                ledger.leave(lane.in_line_as)
                lane.broken = RunError(
                    f"a budget was given, but the answers of judge {lane.judge.name!r} do not say what they cost",
                    hint="Declare cost_usd_per_call on the judge, or return cost_usd with each answer",
                )
                return []
            cost = measured.mean_usd if measured.over else None
        cost = None if cost is None else lane.price_usd(cost)
        return self._take_reserved(lane, ledger, cost, is_known=cost is not None or measuring_is_over(ledger, lane))

    def _take_reserved(self, lane: Lane, ledger: Ledger, cost: float | None, *, is_known: bool) -> list[Item]:
        name, who = lane.judge.name, lane.in_line_as
        granted = ledger.begin_measuring(name, who) if cost is None else ledger.reserve(cost, who)
        if granted:
            lane.denied_since = None
            item = lane.queue.popleft()
            lane.note_out(item, cost)
            return [item]
        lane.denied = True  # until a call ends or the watch looks again
        if lane.in_flight == 0 and is_known and not may_come_back(ledger, lane, cost):
            lane.exhausted = True
            ledger.leave(lane.in_line_as)
            ledger.end()  # for the other judges, too: what they would be asked alone pairs with nothing
            self._stop(lane)
        return []

    def _stop(self, lane: Lane) -> None:
        """The budget is reached: give back what is queued."""
        for item in lane.queue:
            for ticket, _ in self._waiting.pop(item.call.key, ()):
                ticket.stopped = True
                ticket.count_down()
        lane.queue.clear()

    def _break(self, lane: Lane, error: NoveltyError) -> None:
        """A judge says that no call of its could succeed: who waits for one is told so at once."""
        with self._lock:
            lane.broken = lane.broken or error
            if self._ledger is not None:
                self._ledger.leave(lane.in_line_as)
            self._wake_all()

    def _adopt(self, lane: Lane, item: Item, answer: object) -> None:
        """A sync judge returned an awaitable: from here on it is a call in flight of its own."""
        with self._lock:
            lane.in_flight += 1
            self._in_flight += 1
        self._async.adopt(lane, item, answer)

    def _finish(
        self, lane: Lane, items: list[Item], records: list[Record], seconds: float, worker: object = None
    ) -> tuple[Lane, list[Item]] | None:
        """Calls of one chunk ended. Returns a worker's next chunk."""
        if self._ledger is not None and not self._done.is_set():
            for item, record in zip(items, records, strict=True):
                settle(self._ledger, lane, item, record)
        self._written.append((items, records))
        with self._lock:
            self.made = self.made.plus(Made.of(records))
            self._in_flight -= 1
            lane.in_flight -= 1
            for each in self._lanes.values():  # what one gives back, another may wait for
                each.denied = False
            if items:
                lane.note_latency(seconds / len(items))
        self._wake_writer.set()
        return self._pump(worker)

    # --- the writer and the watch ---------------------------------------------------------------------------

    def _write(self) -> None:
        while True:
            self._wake_writer.wait()
            self._wake_writer.clear()
            batch: list[tuple[Item, Record]] = []
            while self._written:
                items, records = self._written.popleft()
                batch.extend(zip(items, records, strict=True))
            if batch:
                self._keep(batch)
            if self._done.is_set() and not self._written:
                return

    def _keep(self, batch: list[tuple[Item, Record]]) -> None:
        try:
            self._store.put([record for _, record in batch])
        except Exception as error:  # the writer must not die with tickets waiting
            failed = error if isinstance(error, NoveltyError) else RunError(f"records could not be kept: {error!r}")
            with self._lock:
                self._failed = self._failed or failed
                self._wake_all()
            return
        with self._lock:
            for item, record in batch:
                for ticket, index in self._waiting.pop(item.call.key, ()):
                    ticket.records[index] = record
                    ticket.count_down()

    def _wake_all(self) -> None:
        for waiting in self._waiting.values():
            for ticket, _ in waiting:
                if ticket.event is not None:
                    ticket.event.set()

    def _watch(self) -> None:
        while not self._closed.wait(_TICK_S):
            for overdue in (*self._sync.overdue(), *self._async.overdue()):
                lane, stuck = overdue.lane, overdue.stuck
                for item in overdue.rest:
                    give_back(self._ledger, lane, item)
                with self._lock:
                    lane.queue.extendleft(reversed(overdue.rest))
                items = [item for item, _ in overdue.done] + stuck
                records = [record for _, record in overdue.done]
                records += [self._recorder.timed_out(item.call) for item in stuck]
                self._finish(lane, items, records, lane.judge.traits.timeout_s if stuck else 0.0)
            if self._ledger is not None and any(lane.denied for lane in self._lanes.values()):
                with self._lock:
                    for lane in self._lanes.values():
                        lane.denied = False
                self._pump()

    def close(self, finish_s: float = 0.0, timeout_s: float = 10.0) -> list[str]:
        """Stop: nothing new starts, what ends within ``finish_s`` and what has ended is committed, judges are left.

        Returns problems met on the way.
        """
        with self._lock:
            self._closed.set()
        deadline = time.monotonic() + finish_s
        while self._in_flight > 0 and time.monotonic() < deadline:
            time.sleep(0.01)
        self._sync.stop()
        problems = self._async.stop(timeout_s)
        if self._sync.abandoned:
            problems.append(
                f"{self._sync.abandoned} calls that timed out could not be ended: their threads were abandoned"
            )
        if self._ledger is not None:
            for lane in self._lanes.values():
                self._ledger.leave(lane.in_line_as)
        self._done.set()
        self._wake_writer.set()
        self._threads[0].join(timeout_s)
        return problems
