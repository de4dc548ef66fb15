"""What travels on call-phase reports, from the process that judged to the one that reports."""

from __future__ import annotations

from typing import Final

import pytest

ATTRIBUTE: Final = "novelty"
"""The attribute that travels on call-phase reports: a JSON text."""
STOPPED: Final = "novelty_stopped"
"""The one that travels instead when no further call of a judge could succeed: the reason."""
WIRE: Final = pytest.StashKey[str]()


def attach(item: pytest.Item, report: pytest.TestReport, stopped: str) -> None:
    """Put the result, or what stops the run, on the call-phase report."""
    if report.when == "call":
        if (text := item.stash.get(WIRE, None)) is not None:
            setattr(report, ATTRIBUTE, text)
        elif stopped:
            setattr(report, STOPPED, stopped)
