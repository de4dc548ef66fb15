"""``--novelty-baseline``: read before anything is asked, compared when the report is there; on the controller only."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_novelty.errors import NoveltyError

if TYPE_CHECKING:
    from pytest_novelty.between_runs.against import Baseline
    from pytest_novelty.plan import Plan
    from pytest_novelty.results import Report


class Against:
    """Holds the earlier report, if the run was given one."""

    def __init__(self) -> None:
        self._baseline: Baseline | None = None

    def open(self, plan: Plan) -> None:
        """Raises SettingsError if there is a baseline that cannot be read, or with which the run could not be compared."""
        if plan.settings.baseline is not None:
            from pytest_novelty.between_runs.against import Baseline

            self._baseline = Baseline(plan.settings.baseline, plan.settings.base)
            self._baseline.check(plan)

    def add_to(self, report: Report) -> list[str]:
        """Give the report what changed. What is to be said if that cannot be: suites that marks name are known late."""
        if self._baseline is not None:
            try:
                report.against = self._baseline.compare(report)
            except NoveltyError as error:
                return [f"ERROR: {error}"]
        return []
