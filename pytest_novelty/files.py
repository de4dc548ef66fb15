"""Files written in one step: a reader, and a run that comes after one that was killed, finds the old file or the new one."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from pytest_novelty.errors import NoveltyError, SettingsError

_SUFFIX: Final = ".writing"
_LEFT_FOR_S: Final = 3600.0


def write_atomically(
    path: Path, text: str | Iterable[str], encoding: str = "ascii", kind: type[NoveltyError] = SettingsError
) -> int:
    """Write a text, or its parts, with ``\\n`` as line ends; the number of parts. It is on the disk before it takes the old
    file's place. What a killed writer of this file left beside it more than an hour ago is taken away.

    Raises ``kind`` if it cannot be written; the old file then stays, and nothing beside it.
    """
    count = 0
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _sweep(path)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=_SUFFIX)
        try:
            with open(handle, "w", encoding=encoding, newline="\n") as file:  # noqa: PTH123 - the handle is open already
                for part in [text] if isinstance(text, str) else text:
                    file.write(part)
                    count += 1
                file.flush()
                os.fsync(file.fileno())
            umask = os.umask(0)
            os.umask(umask)
            Path(name).chmod(0o666 & ~umask)
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise kind(f"cannot be written: {error.strerror}", path=path) from None
    return count


def _sweep(path: Path) -> None:
    """Leftovers of runs that were killed, not of one that writes now; no other file has such a name."""
    for left in path.parent.iterdir():
        if left.name.startswith(f".{path.name}.") and left.name.endswith(_SUFFIX):
            with suppress(FileNotFoundError):
                if time.time() - left.stat().st_mtime > _LEFT_FOR_S:
                    left.unlink()
