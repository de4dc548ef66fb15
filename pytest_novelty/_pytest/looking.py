"""``--novelty-sample 60..300`` under pytest: cases that no gate needs any more are skipped, with the reason."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_novelty.errors import SettingsError
from pytest_novelty.looks import SampleRange

if TYPE_CHECKING:
    from pytest_novelty.calls import Case
    from pytest_novelty.outcomes import CaseResult
    from pytest_novelty.plan import Plan
    from pytest_novelty.runner import Runner
    from pytest_novelty.settings import Settings
    from pytest_novelty.stopping import Stopping


def refuse_workers(settings: Settings, config: pytest.Config) -> None:
    """A worker does not know what the others found, so that nobody could say when to stop. Raises SettingsError."""
    if isinstance(settings.sample, SampleRange) and getattr(config.option, "dist", "no") != "no":
        raise SettingsError(
            f"--novelty-sample {settings.sample} looks at the results on the way, which takes one process",
            hint="Leave out -n (calls overlap without it, see --novelty-concurrency), or give one number of instances",
        )


class Looking:
    """Follows the cases of a run whose sample grows; does nothing in any other."""

    def __init__(self, results: Callable[[], Sequence[CaseResult]]) -> None:
        self._results = results
        self._stopping: Stopping | None = None
        self._segments: dict[tuple[str, int], list[Case]] = {}

    def enter(self, case: Case, plan: Plan, ahead: Sequence[Case], runner: Runner) -> str:
        """Why the case is not to be asked; empty if it is. The runner looks ahead to the end of the look, no further."""
        if self._stopping is None:
            from pytest_novelty.stopping import Stopping, segments  # numpy: only a run that looks needs it so early

            self._stopping, self._segments = Stopping(plan), segments(plan, ahead)
        return self._stopping.enter(case, self._results, lambda part: runner.expect(self._segments.get(part, ())))

    def finish(self) -> list[str]:
        """What is to be said at the end; the plan is cut to the looks that were had."""
        return [] if self._stopping is None else self._stopping.finish()
