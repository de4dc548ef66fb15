"""Rows of the table that says who audits whom, as an option, an ini file or a judge file has them."""

from __future__ import annotations

import re
from collections.abc import Container
from pathlib import Path
from typing import Final, NamedTuple

from pytest_novelty.errors import SettingsError

OPTION: Final = "--novelty-auditor"
EVERY: Final = ""
"""The auditor is for every judge, beside those that a row names for its family."""
OTHERS: Final = "*"
"""For the judges of whose family no row is."""
ITSELF: Final = "\0"
"""For the judge in whose file it stands."""

_HAS_PLACE: Final = re.compile(r"[/\\:]")
"""No family has one; a judge may before its first ``=``: ``replay:a=b.jsonl``, ``runs/a=b.yaml``."""


class Route(NamedTuple):
    """``family``: of the judges that it is for, or one of the marks above; ``auditor``: a judge as ``--novelty-judge`` takes it,
    relative to ``base``; ``source``: the option, ini key or file that says so, with the line of a file.
    """

    family: str
    auditor: str
    source: str
    base: Path
    path: Path | None = None
    line: int | None = None

    @property
    def text(self) -> str:
        """As it is written in an option."""
        return self.auditor if self.family in (EVERY, ITSELF) else f"{self.family}={self.auditor}"


def read_route(text: str, source: str, base: Path, registered: Container[str] = ()) -> Route:
    """``FAMILY=JUDGE``, ``*=JUDGE`` or a judge for all. Judges may have ``=`` in what names them: a registered name, a file that
    exists and whatever has a slash or a colon before it is a judge. Raises SettingsError for a row without one of its sides, and
    for an empty one.
    """
    text = text.strip()
    if not text:
        raise SettingsError(f"{source} is empty", hint="Name a judge, or leave it out")
    family, sign, auditor = (part.strip() for part in text.partition("="))
    if not sign or text in registered or _HAS_PLACE.search(family) or (base / text).is_file():
        return Route(EVERY, text, source, base)
    if not family or not auditor:
        lacking = "names no family" if not family else "names no auditor"
        raise SettingsError(
            f"{source} has {text!r}, which {lacking}",
            hint="Write FAMILY=JUDGE, *=JUDGE for all others, or JUDGE for all",
        )
    return Route(family.casefold(), auditor, source, base)
