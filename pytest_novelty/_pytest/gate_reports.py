"""Gates as test reports: they show as FAILED lines, in JUnit, in ``-rA`` and in the exit status, like any test."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

import pytest

from pytest_novelty._pytest.ids import gate_id
from pytest_novelty._pytest.session import NoveltySession
from pytest_novelty.deciding import FAIL, INCONCLUSIVE, PASS, GateResult

if TYPE_CHECKING:
    from pytest_novelty.drifting import Drift

_When = Literal["setup", "call", "teardown"]
_Outcome = Literal["passed", "failed", "skipped"]
_PHASES: Final[tuple[_When, ...]] = ("setup", "call", "teardown")


def message_of(result: GateResult | Drift) -> str:
    if isinstance(result, GateResult):
        return result.message
    return f"compared with {result.against}: {result.sentence}"


def emit_gates(session: NoveltySession) -> None:
    """One synthetic setup, call and teardown report a gate."""
    report = session.report
    if report is None:
        return
    hook = session.config.hook
    policy = session.plan.settings.inconclusive
    decided: list[tuple[str, GateResult | Drift]] = list(zip(session.gate_ids(report), report.gates, strict=True))
    decided += [
        (gate_id(drift.suite, drift.judge, "golden" if drift.is_golden else "probe"), drift) for drift in report.drifts
    ]
    for nodeid, result in decided:
        path, _, name = nodeid.partition("::")
        location = (path, None, name)
        outcome = _outcome(result, policy)
        hook.pytest_runtest_logstart(nodeid=nodeid, location=location)
        for when in _PHASES:
            hook.pytest_runtest_logreport(report=_phase(nodeid, location, when, outcome, message_of(result)))
        hook.pytest_runtest_logfinish(nodeid=nodeid, location=location)


def _outcome(result: GateResult | Drift, policy: str) -> _Outcome:
    if result.decision == PASS:
        return "passed"
    if result.decision == FAIL or (result.decision == INCONCLUSIVE and policy == "fail"):
        return "failed"
    return "skipped"


def _phase(
    nodeid: str, location: tuple[str, int | None, str], when: _When, outcome: _Outcome, message: str
) -> pytest.TestReport:
    longrepr: str | tuple[str, int, str] | None = None
    if when != "call":
        outcome = "passed"
    elif outcome == "skipped":
        longrepr = (location[0], 0, f"Skipped: {message}")
    elif outcome == "failed":
        longrepr = message
    return pytest.TestReport(
        nodeid=nodeid,
        location=location,
        keywords={},
        outcome=outcome,
        longrepr=longrepr,
        when=when,
        duration=0.0,
    )
