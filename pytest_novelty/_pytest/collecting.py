"""What costs a run time and need not: the garbage collector, which has little to find and much to walk through, and imports."""

from __future__ import annotations

import atexit
import gc
from functools import cache
from importlib import import_module
from typing import Final

_THRESHOLD: Final = (50_000, 20, 20)


class Collecting:
    """Collect less often while cases run: tens of thousands of items, instances and records live to the end.

    Measured on 10,000 cases: a fifth of the run's processor time. Until it is restored, a cycle that was made during collection
    and dropped while cases ran is not found, so what its finalizer raises is not reported.
    """

    def __init__(self) -> None:
        self._before: tuple[int, int, int] | None = None

    def relax(self) -> None:
        """From here on collect rarely."""
        if self._before is None:
            self._before = gc.get_threshold()
            gc.set_threshold(*_THRESHOLD)
            atexit.unregister(gc.freeze)  # one entry however many runs a process makes
            atexit.register(gc.freeze)  # the interpreter's last collection would walk through all there is, for nothing

    def freeze(self) -> None:
        """What was made so far (suites, cases, pytest's items) is no garbage and need not be walked through."""
        gc.freeze()

    def restore(self) -> None:
        if self._before is not None:
            gc.set_threshold(*self._before)
            gc.unfreeze()
            self._before = None


@cache
def load_report_modules() -> None:
    """Import what the report needs (numpy, rich) while a server's answers are on their way, and not after the last of them.

    In the main thread, since imports in two threads can meet half-made modules.
    """
    for name in ("rich.console", "rich.table", "pytest_novelty.results", "pytest_novelty.reports.terminal"):
        import_module(name)
