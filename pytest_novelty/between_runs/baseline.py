"""The report of an earlier run beside a run that has yet to begin: refused before anything is asked, compared at its end."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from pytest_novelty.between_runs.changes import RunComparison, compare_reports
from pytest_novelty.between_runs.matching import check_alike, match_judges
from pytest_novelty.between_runs.reading import SavedSuite, load_report, read_report
from pytest_novelty.instances import instance_digest
from pytest_novelty.model import Suite
from pytest_novelty.plan import Plan
from pytest_novelty.reports.as_dict import report_to_dict
from pytest_novelty.results import Report

_THIS: Final = "this run"


class Baseline:
    """An earlier report; ``base`` is the folder of the run. Raises SettingsError if it cannot be read."""

    def __init__(self, path: Path, base: Path) -> None:
        # A report goes into pull requests: it names the file as a reader of the repository would.
        name = path.relative_to(base).as_posix() if path.is_relative_to(base) else path.name
        self._old = load_report(path, name)

    def check(self, plan: Plan) -> None:
        """Raise SettingsError, with what differs, if the run that is planned could not be compared with it."""
        match_judges(self._old, _THIS, [judge.name for judge in plan.judges])
        if plan.suites:  # else tests name theirs by marks, which are read later
            suites = {name: _saved(planned.suite) for name, planned in plan.suites.items()}
            check_alike(self._old, _THIS, plan.settings.failures, suites)

    def compare(self, report: Report) -> RunComparison:
        """What changed. Raises SettingsError where the two are not alike enough."""
        return compare_reports(self._old, read_report(report_to_dict(report), _THIS, own=True))


def _saved(suite: Suite) -> SavedSuite:
    digests = {
        instance.id: instance_digest(instance, suite.cluster and instance.strata[suite.cluster])
        for instance in suite.instances
    }
    return SavedSuite(suite.name, suite.version, suite.digest, suite.protocol, digests, suite)
