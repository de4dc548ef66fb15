"""Sync judges, in daemon threads of our own.

Daemon threads because a hung judge must not keep the process alive: a call that outlives its timeout is given up, its thread
is abandoned and replaced.
"""

from __future__ import annotations

import contextvars
import inspect
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any

from pytest_novelty.lanes import Finish, Item, Lane, Overdue
from pytest_novelty.model import Record
from pytest_novelty.recording import Recorder


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
        self.abandoned = 0
        """Threads that were given up with their call; they run on until it returns or the process ends."""

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
                self.abandoned += 1
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
