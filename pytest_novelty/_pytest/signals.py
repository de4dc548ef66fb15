"""What a process does about signals while it must not be disturbed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def undisturbed() -> Iterator[None]:
    """Do not let an interrupt end what takes a known time, like keeping the answers that are on their way.

    xdist interrupts a worker that is still there five seconds after its controller ended, and one that closes just then would
    lose what was paid for. Only in the main thread: interrupts reach no other.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
