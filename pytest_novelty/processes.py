"""Whether another process of this host is still there: what it had taken on is otherwise somebody else's."""

from __future__ import annotations

import os
from pathlib import Path


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody's
        return True
    return not _is_ended(pid)


def _is_ended(pid: int) -> bool:
    """It died, and the controller has yet to take note: until then its number is kept (told where there is ``/proc``)."""
    try:
        told = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return False
    return told.rpartition(")")[2].split()[:1] == ["Z"]
