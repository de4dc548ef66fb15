"""Ids of cases and gates: ``[a-z0-9._-]``, unique, bounded, the same in every process, under one fixed virtual file name."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Final

from pytest_novelty.calls import Case
from pytest_novelty.digests import digest

VIRTUAL: Final = "novelty-suites"
"""Stands for the shipped test module wherever that is installed: no id shows a folder of the user."""

_MAX_PART: Final = 60


def case_ids(cases: Iterable[Case]) -> list[str]:
    """One id a case: suite, instance, judge, variant."""
    ids: list[str] = []
    seen: set[str] = set()
    for case in cases:
        parts = (case.suite.name, case.instance.id, case.judge.name, case.variant.name)
        text = "-".join(map(slug, parts))
        if text in seen:
            text = f"{text}-{digest(chr(31).join(parts), 4)}"
        seen.add(text)
        ids.append(text)
    return ids


@lru_cache(maxsize=65536)
def slug(text: str) -> str:
    """``text`` in the alphabet; with a digest appended where that loses something."""
    plain = re.sub(r"[^a-z0-9._-]+", "-", text.lower())[:_MAX_PART]
    return plain if plain == text else f"{plain.strip('-')}-{digest(text, 3)}".lstrip("-")


def gate_id(suite: str, judge: str, gate_slug: str) -> str:
    """The node id of a gate."""
    return f"{VIRTUAL}/{slug(suite)}::gate[{slug(judge)}-{gate_slug}]"


def virtual_part(arg: str) -> str | None:
    """The argument from the virtual name on; None if it names something else.

    pytest shows node ids relative to the folder it was started in, so a pasted id may have ``../`` or a path before it.
    """
    path, separator, rest = arg.partition("::")
    parts = path.replace("\\", "/").split("/")
    for length in (1, 2):
        if len(parts) >= length and parts[-length] == VIRTUAL and not Path(path).exists():
            return "/".join(parts[-length:]) + separator + rest
    return None
