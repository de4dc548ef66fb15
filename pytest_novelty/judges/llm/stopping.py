"""When failures that repeat stop the run: 900 cases must not fail one by one on one wrong key."""

from __future__ import annotations

import asyncio
import re
from typing import Final

from pytest_novelty.errors import JudgeStopped
from pytest_novelty.judges.llm.faults import UNREACHABLE, CallFault

_FATAL_IN_A_ROW: Final = 3
"""A gateway may refuse a right key once; three times in a row it means it."""
_ATTEMPTS_AT_A_SILENT_SERVER: Final = 4
_ATTEMPTS_AT_AN_UNREACHABLE_SERVER: Final = 2
_GIVEN_UP_BEFORE_A_SUCCESS: Final = 3
_GIVEN_UP_IN_A_ROW: Final = 5


class Breaker:
    """Counts a judge's failures in a row. Lives in the loop of the calls, so it needs no lock."""

    def __init__(self, judge: str) -> None:
        self._judge = judge
        self._has_answered = False
        self._signature = ""
        self._fatal = 0
        self._given_up: set[str] = set()
        """Instances: one that a server cannot take says nothing of the others."""
        self._stopped: JudgeStopped | None = None
        self._has_stopped = asyncio.Event()

    def succeeded(self) -> None:
        self._has_answered = True
        self._signature, self._fatal = "", 0
        self._given_up.clear()

    def failed(self, fault: CallFault, *, of: str, attempt: int, last: bool) -> None:
        """An attempt failed, the ``attempt``-th (from 1) of a call on the instance ``of``, perhaps its last.

        Raises JudgeStopped.
        """
        # Messages carry the ids of requests, so that two of the same are never equal; a rejected request's message is its kind.
        # Faults of transport are one kind: a server that says 500, 502 and 503 in turns is as broken as one that says 500.
        signature = (
            "transport"
            if fault.is_worth_another and not fault.is_fatal
            else f"{fault.kind} {fault.status} {fault.code}"
        )
        if fault.kind == "request":
            signature += re.sub(r"\S*[0-9_]\S*", "#", fault.message)
        if fault.is_fatal:  # other faults in between do not make a wrong key right
            self._fatal += 1
        if signature != self._signature:
            self._signature = signature
            self._given_up.clear()
        if last:
            self._given_up.add(of)
        enough = _ATTEMPTS_AT_AN_UNREACHABLE_SERVER if fault.code == UNREACHABLE else _ATTEMPTS_AT_A_SILENT_SERVER
        is_down = fault.kind == "connection" and not self._has_answered and attempt >= enough
        limit = _GIVEN_UP_IN_A_ROW if self._has_answered else _GIVEN_UP_BEFORE_A_SUCCESS
        if is_down or self._fatal >= _FATAL_IN_A_ROW or len(self._given_up) >= limit:
            self._stopped = JudgeStopped(
                f"the judge {self._judge!r} cannot go on: {fault.message}",
                hint=f"{fault.advice} What was answered before is stored".strip(),
            )
            self._has_stopped.set()
            raise self._stopped

    async def pause(self, seconds: float) -> None:
        """Wait, but not for a judge that has been stopped meanwhile. Raises JudgeStopped."""
        waiting = {asyncio.ensure_future(asyncio.sleep(seconds)), asyncio.ensure_future(self._has_stopped.wait())}
        try:
            await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for each in waiting:
                each.cancel()
        self.check()

    def check(self) -> None:
        """Raises JudgeStopped if the judge has been stopped."""
        if self._stopped is not None:
            raise JudgeStopped(self._stopped.message, hint=self._stopped.hint)
