"""Turns: how calls of many threads and processes keep a rate together.

One number an account, the moment from which the next call may be sent; who takes a turn moves it on by a step. Calls so come
evenly spaced and no window of a minute holds more than the rate, whoever sends them. In the store the number is a row that every
worker of every run on this host moves by one atomic statement.

A turn is taken when it is due and never ahead: a run that is killed leaves nothing behind that holds up the next.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

_TAKE: Final = (
    "INSERT INTO pace (judge, next) VALUES (?, ? + ?) ON CONFLICT (judge) DO UPDATE "
    "SET next = CASE WHEN next BETWEEN ? AND ? THEN next ELSE ? END + ? WHERE next <= ? OR next > ?"
)
_NEXT: Final = "SELECT next FROM pace WHERE judge = ?"
_LATE_S: Final = 0.1
"""Who is no later than this for a turn does not delay the next: a rate is not slowed by the time that waking up takes."""
_FARTHEST_S: Final = 61.0
"""A turn that is farther away than this and than a step was not taken by anybody: a clock was set back."""


class MemoryPace:
    """The turns of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0.0

    def take_turn(self, step_s: float) -> float:
        with self._lock:
            now = time.time()
            if now < self._next <= now + max(_FARTHEST_S, step_s):
                return self._next - now
            self._next = (self._next if now - _LATE_S <= self._next <= now else now) + step_s
            return 0.0


class SharedPace:
    """The turns of all processes on one store. ``update`` runs a writing statement and gives the number of rows it changed,
    ``row`` reads one."""

    def __init__(
        self,
        update: Callable[[str, Sequence[Any]], int],
        row: Callable[[str, Sequence[Any]], tuple[Any, ...] | None],
        name: str,
    ) -> None:
        self._update = update
        self._row = row
        self._name = name

    def take_turn(self, step_s: float) -> float:
        now = time.time()
        farthest = now + max(_FARTHEST_S, step_s)
        values = (self._name, now, step_s, now - _LATE_S, now, now, step_s, now, farthest)
        if self._update(_TAKE, values):
            return 0.0
        found = self._row(_NEXT, (self._name,))
        return max(0.001, found[0] - now) if found else 0.001
