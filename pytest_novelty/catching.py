"""A net below what is measured: verdicts are paid for, and one metric that crashes must not take the report with it."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from pytest_novelty.printing import printable

T = TypeVar("T")

_MAX_ERROR = 300


class Crash(NamedTuple):
    """What could not be computed: a fault of this package (or of numbers that nobody foresaw), never of a user."""

    what: str
    error: str
    traceback: str

    @property
    def said(self) -> str:
        return f"{self.what} could not be computed: {self.error}"


class Net:
    """Catches what crashes and keeps it to be told. One that does not hold lets everything through: a caller in a program is
    better served by the exception.
    """

    def __init__(self, *, holds: bool = False) -> None:
        self.holds = holds
        self.crashes: list[Crash] = []

    def catch(self, what: str, make: Callable[[], T], instead: Callable[[str], T]) -> T:
        """What ``make`` returns; if it crashes what ``instead`` makes of the error's words. Interrupts and exits pass."""
        try:
            return make()
        except Exception as error:
            if not self.holds:
                raise
            self.crashes.append(Crash(what, _in_words(error), traceback.format_exc()))
            return instead(self.crashes[-1].error)

    def lines(self, *, tracebacks: bool) -> list[str]:
        """An error for each crash; how its traceback is had is said once."""
        said = [f"ERROR: {crash.said}" + (f"\n{crash.traceback}" if tracebacks else "") for crash in self.crashes]
        if said and not tracebacks:
            said.append("what crashed is a fault of pytest-novelty; -vv shows tracebacks, and asks nothing again")
        return said


def _in_words(error: Exception) -> str:
    """Kind, message, and the line that raised it."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{last.filename.replace(chr(92), '/').rpartition('/')[2]}, line {last.lineno}"
    text = printable(f"{type(error).__name__}: {error}")
    text = " ".join("".join(char if char.isprintable() else " " for char in text).split())
    return f"{text[:_MAX_ERROR]} ({place})"
