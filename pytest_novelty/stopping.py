"""When a run in planned looks may stop: after each look the gates are decided; a suite that has none open asks no more."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from pytest_novelty.calls import Case
from pytest_novelty.deciding import FAIL, NOT_ENFORCED, PASS
from pytest_novelty.looks import SampleRange
from pytest_novelty.outcomes import CaseResult
from pytest_novelty.plan import Plan
from pytest_novelty.printing import plural
from pytest_novelty.results import make_report

Segment = tuple[str, int]
"""(suite, look): cases that may be asked ahead of each other."""


class Stopping:
    """Follows a run case by case.

    ``enter`` is called before each case; it says why the case is not to be asked, or nothing. Where cases come out of their
    order, or some are left out, a look is never complete and nothing is stopped.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._stopped: dict[str, int] = {}
        self._looked: dict[str, int] = {}
        self._segment: Segment | None = None

    @property
    def is_active(self) -> bool:
        return isinstance(self._plan.settings.sample, SampleRange)

    def enter(
        self,
        case: Case,
        results: Callable[[], Sequence[CaseResult]],
        expect: Callable[[Segment], object],
    ) -> str:
        """Why ``case`` is left out; empty if it is to be asked. ``expect`` is told of each segment before its first case."""
        suite = case.suite.name
        look = self._plan.suites[suite].look_of(case.instance.id)
        if look > 1 and suite not in self._stopped and self._looked.get(suite, 0) < look - 1:
            self._looked[suite] = look - 1
            if self._decided(suite, look - 1, results()):
                self._stopped[suite] = look - 1
        if suite in self._stopped and look > self._stopped[suite]:
            return self._reason(suite)
        if self._segment != (suite, look):
            self._segment = (suite, look)
            expect(self._segment)
        return ""

    def _decided(self, suite: str, look: int, results: Sequence[CaseResult]) -> bool:
        """All cases up to the look are in, and every gate that can be decided is."""
        plan = self._plan.at_look(suite, look)
        planned = plan.suites[suite]
        wanted = {case.label for case in plan.cases_of(planned)}
        mine = [result for result in results if result.label in wanted]
        if len({result.label for result in mine}) < len(wanted):
            return False
        gates = [gate for gate in make_report(plan.only(suite), mine).gates if gate.decision != NOT_ENFORCED]
        open_ = [gate for gate in gates if gate.decision not in (PASS, FAIL) and gate.value is not None]
        return bool(gates) and not open_

    def _reason(self, suite: str) -> str:
        planned, look = self._plan.suites[suite], self._stopped[suite]
        size = f"look {look} of {len(planned.looks)} ({planned.looks[look - 1]} instances)"
        return f"all gates of {suite} that can be are decided at {size}"

    def finish(self) -> list[str]:
        """Cut every suite's plan to the look that it stopped at (else the last); what is to be said of it."""
        if not self.is_active:
            return []
        notes = []
        for suite, planned in list(self._plan.suites.items()):
            look = self._stopped.get(suite) or len(planned.looks)
            self._plan.suites[suite] = self._plan.at_look(suite, look).suites[suite]
            if suite in self._stopped:
                notes.append(f"{self._reason(suite)}; no more were asked")
            elif planned.gates:
                planned_looks = plural(len(planned.looks), "look")
                notes.append(
                    f"{suite}: {planned_looks} planned, up to {planned.looks[-1]} instances; none ended the run early"
                )
            else:
                notes.append(f"{suite} has no gate to decide: all {planned.looks[-1]} instances were to be asked")
            if len(planned.looks) > 1:
                notes.append(
                    f"{suite}: {100 * planned.level:.1f} % intervals, which hold at 95 % over {len(planned.looks)} looks; "
                    "stars and p values are of this look alone"
                )
        return notes


def segments(plan: Plan, cases: Iterable[Case]) -> dict[Segment, list[Case]]:
    """The cases of every (suite, look)."""
    found: dict[Segment, list[Case]] = {}
    for case in cases:
        look = plan.suites[case.suite.name].look_of(case.instance.id)
        found.setdefault((case.suite.name, look), []).append(case)
    return found
