"""How calls are carried out: sync judges in our own daemon threads, async judges in one event loop.

Daemon threads because a hung judge must not keep the process alive; one loop because clients and locks belong to a loop. A call
that outlives its timeout is given up: its thread is abandoned and replaced; a loop that a judge blocks is replaced as well.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import Any, Final, Protocol

from pytest_novelty.calls import Call
from pytest_novelty.errors import JudgeError, NoveltyError
from pytest_novelty.judges.base import Judge
from pytest_novelty.model import Record
from pytest_novelty.recording import Recorder

_INSTANT_S: Final = 0.0005
_GRACE_S: Final = 1.0
"""An async call gets this long to end after its cancellation before its slot is taken back."""
_BLOCKED_S: Final = 0.5
"""A loop that has not come round for so long, with calls overdue, is blocked by one of them."""


@dataclass(slots=True)
class Item:
    """A call in a queue: its place in the order of submission, and what the budget set aside for it."""

    number: int
    call: Call
    reserved_usd: float | None = None
    measures: bool = False


@dataclass
class Lane:
    """One judge's queue and limit, and what is known of its pace."""

    judge: Judge
    limit: int
    queue: deque[Item] = field(default_factory=deque)
    in_flight: int = 0
    mean_s: float | None = None
    entering: bool = False
    entered: bool = False
    denied: bool = False
    exhausted: bool = False
    broken: NoveltyError | None = None
    function: Callable[[Any], Any] = field(init=False)
    is_async: bool = field(init=False)

    def __post_init__(self) -> None:
        self.function = self.judge.function
        self.is_async = self.judge.is_async

    @property
    def ready(self) -> bool:
        return bool(
            self.queue
            and self.in_flight < (1 if self.instant else self.limit)
            and not self.denied
            and self.broken is None
            and not (self.entering and not self.entered)
        )

    @property
    def instant(self) -> bool:
        """A sync judge that computes and does not wait: one thread with long chunks serves it best (one GIL)."""
        return not self.is_async and self.mean_s is not None and self.mean_s < _INSTANT_S

    def note_latency(self, seconds: float) -> None:
        self.mean_s = seconds if self.mean_s is None else 0.8 * self.mean_s + 0.2 * seconds


class Finish(Protocol):
    """What a runner calls when a chunk ended; the result is the calling worker's next chunk."""

    def __call__(
        self, lane: Lane, items: list[Item], records: list[Record], seconds: float, worker: object = None
    ) -> tuple[Lane, list[Item]] | None: ...


@dataclass
class Overdue:
    """A chunk that is taken back: what was done, what is stuck, what was not begun."""

    lane: Lane
    done: list[tuple[Item, Record]]
    stuck: list[Item]
    rest: list[Item]


class _Worker:
    """A daemon thread that carries out chunks. ``begun`` is when its present call began, None between calls."""

    def __init__(self) -> None:
        self.inbox: SimpleQueue[tuple[Lane, list[Item]] | None] = SimpleQueue()
        self.lane: Lane | None = None
        self.chunk: list[Item] = []
        self.records: list[Record] = []
        self.begun: float | None = None
        self.abandoned = False


class SyncRunner:
    """Carries out the calls of sync judges, each chunk in one thread."""

    def __init__(
        self, recorder: Recorder, finish: Finish, adopt: Callable[..., None], context: contextvars.Context
    ) -> None:
        self._recorder = recorder
        self._finish = finish
        self._adopt = adopt
        self._context = context
        self._lock = threading.Lock()
        self._idle: list[_Worker] = []
        self._busy: set[_Worker] = set()
        self._stopped = False

    def start(self, lane: Lane, chunk: list[Item]) -> None:
        with self._lock:
            if self._idle:
                worker = self._idle.pop()
            else:
                worker = _Worker()
                context = self._context.copy()
                threading.Thread(
                    target=context.run, args=(self._work, worker), name="novelty-judge", daemon=True
                ).start()
            self._busy.add(worker)
        worker.inbox.put((lane, chunk))

    def _work(self, worker: _Worker) -> None:
        while (task := worker.inbox.get()) is not None:
            while task is not None:
                lane, chunk = task
                seconds = self._run_chunk(worker, lane, chunk)
                with self._lock:
                    if worker.abandoned:
                        return
                    worker.chunk, records = [], worker.records
                items = [item for item, record in zip(chunk, records, strict=True) if record is not None]
                task = self._finish(lane, items, [record for record in records if record is not None], seconds, worker)
            with self._lock:
                if self._stopped:
                    return
                self._busy.discard(worker)
                self._idle.append(worker)

    def _run_chunk(self, worker: _Worker, lane: Lane, chunk: list[Item]) -> float:
        records: list[Any] = []
        worker.lane, worker.records, worker.chunk = lane, records, chunk
        function, recorder = lane.function, self._recorder
        began = now = time.perf_counter()
        for item in chunk:
            if worker.abandoned:
                break
            worker.begun = began_call = now
            try:
                answer = function(item.call.request)
            except BaseException as error:  # a judge may even call sys.exit()
                now = time.perf_counter()
                records.append(recorder.failed(item.call, error, now - began_call))
                continue
            now = time.perf_counter()
            if inspect.isawaitable(answer):
                self._adopt(lane, item, answer)
                records.append(None)  # the loop finishes this one
            else:
                records.append(recorder.answered(item.call, answer, now - began_call))
        worker.begun = None
        return now - began

    def overdue(self) -> list[Overdue]:
        """Take back the chunks whose present call outlived its timeout; their threads are abandoned."""
        found = []
        now = time.perf_counter()
        with self._lock:
            for worker in list(self._busy):
                begun, lane = worker.begun, worker.lane
                if begun is None or lane is None or now - begun <= lane.judge.traits.timeout_s:
                    continue
                chunk, records = worker.chunk, list(worker.records)
                if worker.begun != begun or len(records) >= len(chunk):
                    continue  # it moved on while we looked
                worker.abandoned = True
                self._busy.discard(worker)
                done = [(item, record) for item, record in zip(chunk, records, strict=False) if record is not None]
                found.append(Overdue(lane, done, [chunk[len(records)]], chunk[len(records) + 1 :]))
        return found

    def stop(self) -> None:
        with self._lock:
            self._stopped = True
            for worker in self._idle:
                worker.inbox.put(None)
            self._idle.clear()


@dataclass(eq=False)
class _Flight:
    """An async call in flight."""

    lane: Lane
    item: Item
    began: float
    task: asyncio.Task[None] | None = None
    over: bool = False


class AsyncRunner:
    """Carries out the calls of async judges, enters judges that are context managers, adopts awaitables of sync judges."""

    def __init__(
        self,
        recorder: Recorder,
        finish: Finish,
        pump: Callable[[], object],
        context: contextvars.Context,
        loop: asyncio.AbstractEventLoop | None,
    ) -> None:
        self._recorder = recorder
        self._finish = finish
        self._pump = pump
        self._context = context
        self._foreign = loop is not None
        self._loop = loop
        self._lock = threading.Lock()
        self._flights: set[_Flight] = set()
        self._stacks: list[AsyncExitStack] = []
        self._heard = time.perf_counter()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._heard = time.perf_counter()
                threading.Thread(target=_run_loop, args=(self._loop,), name="novelty-loop", daemon=True).start()
            return self._loop

    def start(self, lane: Lane, chunk: list[Item]) -> None:
        for item in chunk:
            self._start(lane, item, None)

    def adopt(self, lane: Lane, item: Item, answer: Any) -> None:
        """Await what a sync judge returned, as a call in flight of its own."""
        self._start(lane, item, answer)

    def _start(self, lane: Lane, item: Item, answer: Any) -> None:
        loop = self._running_loop()
        flight = _Flight(lane, item, time.perf_counter())
        with self._lock:  # at once, so that the watch sees it also where the loop never comes to it
            self._flights.add(flight)
        loop.call_soon_threadsafe(self._launch, loop, flight, answer)

    def _launch(self, loop: asyncio.AbstractEventLoop, flight: _Flight, answer: Any) -> None:
        flight.task = loop.create_task(self._fly(flight, answer), context=self._context.copy())

    async def _fly(self, flight: _Flight, answer: Any) -> None:
        lane, call = flight.lane, flight.item.call
        began = time.perf_counter()
        try:
            async with asyncio.timeout(lane.judge.traits.timeout_s) as limit:
                result = await (lane.function(call.request) if answer is None else answer)
            record = self._recorder.answered(call, result, time.perf_counter() - began)
        except asyncio.CancelledError:
            return  # given up by stop() or overdue(), which have said what becomes of the call
        except TimeoutError as error:
            late = limit.expired()
            record = (
                self._recorder.timed_out(call)
                if late
                else self._recorder.failed(call, error, time.perf_counter() - began)
            )
        except BaseException as error:  # a judge may even call sys.exit(), which would end the loop
            record = self._recorder.failed(call, error, time.perf_counter() - began)
        with self._lock:
            if flight.over:
                return
            flight.over = True
            self._flights.discard(flight)
        self._finish(lane, [flight.item], [record], time.perf_counter() - began)

    # --- context managers -----------------------------------------------------------------------------------

    def enter(self, lane: Lane) -> None:
        loop = self._running_loop()
        loop.call_soon_threadsafe(lambda: loop.create_task(self._enter(lane), context=self._context.copy()))

    async def _enter(self, lane: Lane) -> None:
        stack = AsyncExitStack()
        manager: Any = lane.judge.manager
        try:
            async with asyncio.timeout(lane.judge.traits.timeout_s):
                if isinstance(manager, AbstractAsyncContextManager):
                    value = await stack.enter_async_context(manager)
                else:
                    value = stack.enter_context(manager)
        except BaseException as error:
            lane.broken = JudgeError(
                f"the judge {lane.judge.name!r} could not be entered: {type(error).__name__}: {error}"
            )
        else:
            if callable(value):
                lane.function = value
            with self._lock:
                self._stacks.append(stack)
            lane.entered = True
        self._pump()

    # --- giving up ------------------------------------------------------------------------------------------

    def overdue(self) -> list[Overdue]:
        """Take back calls that ignore their cancellation, and all calls of a loop that a judge blocks."""
        now = time.perf_counter()
        with self._lock:
            loop, flights = self._loop, list(self._flights)
        if loop is None or not flights:
            self._heard = now
            return []
        late = [flight for flight in flights if now - flight.began > flight.lane.judge.traits.timeout_s + _GRACE_S]
        blocked = not self._foreign and now - self._heard > _BLOCKED_S and bool(late)
        if not self._foreign and not loop.is_closed():
            loop.call_soon_threadsafe(self._hear)
        if not late:
            return []
        taken = flights if blocked else late
        guilty = [flight for flight in late if not blocked or flight.task is asyncio.current_task(loop)] or late
        if blocked:
            with self._lock:
                self._loop = None
            for flight in taken:
                flight.lane.entering = flight.lane.entered = False
        found = []
        with self._lock:
            for flight in taken:
                if flight.over:
                    continue
                flight.over = True
                self._flights.discard(flight)
                is_guilty = flight in guilty
                found.append(
                    Overdue(flight.lane, [], [flight.item] if is_guilty else [], [] if is_guilty else [flight.item])
                )
        return found

    def _hear(self) -> None:
        self._heard = time.perf_counter()

    def stop(self, timeout_s: float) -> list[str]:
        """Cancel what is in flight, leave the judges that were entered. Returns problems as sentences."""
        with self._lock:
            loop, flights, stacks = self._loop, list(self._flights), self._stacks
            for flight in flights:
                flight.over = True
            self._flights.clear()
        if loop is None or loop.is_closed():
            return []
        for flight in flights:
            if flight.task is not None:
                loop.call_soon_threadsafe(flight.task.cancel)
        problems: list[str] = []
        if stacks:
            left = asyncio.run_coroutine_threadsafe(_leave(stacks), loop)
            try:
                problems = left.result(timeout_s)
            except TimeoutError:
                problems = [f"a judge could not be left within {timeout_s:g} s"]
        if not self._foreign:
            loop.call_soon_threadsafe(loop.stop)
        return problems


def _run_loop(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
        pending = asyncio.all_tasks(loop)
        for task in pending:
            task.cancel()
        if pending:
            loop.run_until_complete(asyncio.wait(pending, timeout=1.0))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


async def _leave(stacks: Iterable[AsyncExitStack]) -> list[str]:
    problems = []
    for stack in stacks:
        try:
            await stack.aclose()
        except Exception as error:
            problems.append(f"leaving a judge raised {type(error).__name__}: {error}")
    return problems
