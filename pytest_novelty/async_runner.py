"""Async judges, and judges that are context managers, in one event loop.

One loop because clients and locks belong to a loop. A call that outlives its timeout is cancelled; one that ignores that is given
up; a loop that a judge blocks is replaced, and its other calls are sent again.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from dataclasses import dataclass
from typing import Any, Final

from pytest_novelty.errors import JudgeError, JudgeStopped, NoveltyError
from pytest_novelty.lanes import Finish, Item, Lane, Overdue
from pytest_novelty.recording import Recorder

_GRACE_S: Final = 1.0
"""A call gets this long to end after its cancellation before its slot is taken back."""
_BLOCKED_S: Final = 0.5
"""A loop that has not come round for so long, with calls overdue, is blocked by one of them."""


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
        stop: Callable[[Lane, NoveltyError], None],
        context: contextvars.Context,
        loop: asyncio.AbstractEventLoop | None,
    ) -> None:
        self._recorder = recorder
        self._finish = finish
        self._pump = pump
        self._stop_lane = stop
        self._context = context
        self._foreign = loop is not None
        self._loop = loop
        self._lock = threading.Lock()
        self._flights: set[_Flight] = set()
        self._stacks: list[AsyncExitStack] = []
        self._heard = time.perf_counter()

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None or (self._loop.is_closed() and not self._foreign):
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
        except asyncio.CancelledError as error:
            if flight.over:
                return  # given up by stop() or overdue(), which have said what becomes of the call
            record = self._recorder.failed(call, error, time.perf_counter() - began)
        except TimeoutError as error:
            late = limit.expired()
            record = (
                self._recorder.timed_out(call)
                if late
                else self._recorder.failed(call, error, time.perf_counter() - began)
            )
        except JudgeStopped as stopped:  # the call came to no answer: nothing is recorded
            record = None
            self._stop_lane(lane, masked(stopped, self._recorder.mask))
        except BaseException as error:  # a judge may even call sys.exit(), which would end the loop
            record = self._recorder.failed(call, error, time.perf_counter() - began)
        with self._lock:
            if flight.over:
                return
            flight.over = True
            self._flights.discard(flight)
        if record is None:
            self._finish(lane, [], [], 0.0)
        else:
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
        except NoveltyError as error:
            self._stop_lane(lane, JudgeStopped(self._recorder.mask(error.message), hint=error.hint))
        except BaseException as error:
            reason = self._recorder.mask(f"{type(error).__name__}: {error}")
            lane.broken = JudgeError(f"the judge {lane.judge.name!r} could not be entered: {reason}")
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
        ends = {flight: flight.began + flight.lane.judge.traits.timeout_s + _GRACE_S for flight in flights}
        late = [flight for flight, end in ends.items() if now > end]
        ended = loop.is_closed() or not loop.is_running()  # a judge stopped it: nobody will answer these calls
        if ended and now - self._heard > _BLOCKED_S:
            late = flights
        blocked = not self._foreign and now - self._heard > _BLOCKED_S and bool(late)
        if not self._foreign and not ended:
            with contextlib.suppress(RuntimeError):  # it may end at this very moment
                loop.call_soon_threadsafe(self._hear)
        if not (
            blocked or ended or self._foreign
        ):  # who is late in a loop that has not been heard since may be innocent
            late = [flight for flight in late if self._heard >= ends[flight]]
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


def masked(error: JudgeStopped, mask: Callable[[str], str]) -> JudgeStopped:
    return JudgeStopped(mask(error.message), hint=None if error.hint is None else mask(error.hint))


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
