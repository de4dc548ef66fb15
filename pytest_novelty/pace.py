"""Turns: how calls of many threads and processes keep a rate together.

One number a name (that of an account), the moment from which the next call may be sent; who takes a turn moves it on by a step.
Calls so come evenly spaced and no window of a minute holds more than the rate, whoever sends them. In the store the number is a
row that every worker of every run on this host moves by one atomic statement.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

_TAKE: Final = (
    "INSERT INTO pace (judge, next) VALUES (?, ? + ?) "
    "ON CONFLICT (judge) DO UPDATE SET next = max(min(next, ?), ?) + ? RETURNING next - ?"
)


_MOST_AHEAD: Final = 4096
"""Turns that can be taken ahead of their time: as many as calls can be in flight. What a slower run that was killed had taken
holds up a faster one no longer than that; two judges of one account should therefore be given the same rate.
"""


class MemoryPace:
    """The turns of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._next = 0.0

    def take_turn(self, step_s: float) -> float:
        with self._lock:
            turn = max(self._next, time.time())
            self._next = turn + step_s
            return turn


class SharedPace:
    """The turns of all processes on one store. ``returning`` runs a writing statement and gives the row it returns."""

    def __init__(self, returning: Callable[[str, Sequence[Any]], tuple[Any, ...]], name: str) -> None:
        self._returning = returning
        self._name = name

    def take_turn(self, step_s: float) -> float:
        now = time.time()
        latest = now + _MOST_AHEAD * step_s
        (turn,) = self._returning(_TAKE, (self._name, now, step_s, latest, now, step_s, step_s))
        return float(turn)
