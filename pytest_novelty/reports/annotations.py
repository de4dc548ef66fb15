"""The gates of a report as annotations of a GitHub workflow: lines that its runner shows at the run and the pull request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from pytest_novelty.deciding import FAIL, INCONCLUSIVE, NOT_ENFORCED

_LEVELS: Final = {FAIL: "error", INCONCLUSIVE: "warning", NOT_ENFORCED: "notice"}
_MOST: Final = 10
"""Of each level: GitHub shows no more of a step."""


def annotation_lines(gates: Iterable[Mapping[str, Any]]) -> Iterator[str]:
    """One line a gate that did not pass, those that fail first. ``gates``: the section of a report."""
    told = list(gates)
    for decision, level in _LEVELS.items():
        own = [gate for gate in told if gate["decision"] == decision]
        for gate in own[: _MOST if len(own) <= _MOST else _MOST - 1]:
            title = f"{gate['judge']} on {gate['suite']}: {gate['name']}"
            yield f"::{level} title={_property(title)}::{_data(gate['message'])}"
        if len(own) > _MOST:
            yield f"::{level} title={_property(f'{len(own) - _MOST + 1} more gates')}::see the report"


def _data(text: str) -> str:
    """Escaped as the runner's toolkit does (actions/toolkit, command.ts)."""
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
