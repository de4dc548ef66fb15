"""What travels on call-phase reports, from the process that judged to the one that reports."""

from __future__ import annotations

from typing import Final

import pytest

ATTRIBUTE: Final = "novelty"
"""The attribute that travels on call-phase reports: a JSON text."""
STOPPED: Final = "novelty_stopped"
"""The one that travels instead when no further call of a judge could succeed: the reason."""
MISSED: Final = "novelty_missed"
"""The one of a case whose verdicts are not recorded: what recording them takes, as JSON."""
LETTER: Final = "novelty_letter"
"""What an outcome is, in one letter, as the terminal shows it; set where reports are shown, and never travels."""
WIRE: Final = pytest.StashKey[str]()
UNRECORDED: Final = pytest.StashKey[str]()


def attach(item: pytest.Item, report: pytest.TestReport, stopped: str) -> None:
    """Put the result, or what stops the run, on the call-phase report."""
    if report.when == "call":
        if (text := item.stash.get(WIRE, None)) is not None:
            setattr(report, ATTRIBUTE, text)
        elif stopped:
            setattr(report, STOPPED, stopped)
        elif (missed := item.stash.get(UNRECORDED, None)) is not None:
            setattr(report, MISSED, missed)
