"""The hooks of an active run. Each hands over to the session at once."""

from __future__ import annotations

import json
import time
from collections.abc import Generator, Hashable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_novelty._pytest.arguments import MODULE
from pytest_novelty._pytest.attached import ATTRIBUTE, LETTER, MISSED, STOPPED, attach
from pytest_novelty._pytest.cases import plain
from pytest_novelty._pytest.crashes import Crashes
from pytest_novelty._pytest.gate_reports import emit_gates
from pytest_novelty._pytest.ids import VIRTUAL, case_ids
from pytest_novelty._pytest.marks import suites_of
from pytest_novelty._pytest.missing import what_is_missing
from pytest_novelty._pytest.session import NoveltySession, group_cases
from pytest_novelty._pytest.signals import undisturbed
from pytest_novelty.engine import BUDGET_IS_REACHED
from pytest_novelty.errors import NoveltyError
from pytest_novelty.printing import name_some
from pytest_novelty.tally import Made
from pytest_novelty.textless import undecided_without_audits, undecided_without_text

_PROGRESS_EVERY_S: Final = 20.0


class SuitesModule(pytest.Module):
    """The shipped module under its virtual name, with its one test whatever ``python_functions`` says."""

    def funcnamefilter(self, name: str) -> bool:
        return name == "test_novelty"

    def _getobj(self) -> Any:
        from pytest_novelty.conformance import test_suites

        return test_suites


class ActiveHooks:
    """Registered as a plugin when ``--novelty-judge`` is given."""

    def __init__(self, config: pytest.Config) -> None:
        self.session = NoveltySession(config, self._tick)
        self.config = config
        config.add_cleanup(self.session.collecting.restore)
        self._running: Any = None
        self._adjusted: tuple[int | None, int] = (None, 0)
        """pytest's count of what is to be reported as last set here, and the suites that were known then."""
        self._counted = 0
        self._deselected = False
        self._nodes = 0
        self._incomplete = False
        self._crashes = Crashes()
        self._last_line = time.monotonic()
        self._interrupted = False

    # --- start and collection -------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_sessionstart(self, session: pytest.Session) -> Generator[None, None, None]:
        self.session.start()
        yield

    def pytest_report_header(self) -> list[str]:
        from pytest_novelty._pytest.output import header_lines

        return header_lines(self.session)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> None:
        if not _distributes(self.config):
            self.session.replace_arguments()

    def pytest_pycollect_makemodule(self, module_path: Path, parent: pytest.Collector) -> pytest.Module | None:
        if module_path != MODULE:
            return None
        module: pytest.Module = SuitesModule.from_parent(parent, path=module_path, nodeid=VIRTUAL)
        return module

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        try:
            suites = suites_of(metafunc)
            if suites is False:
                return
            cases = self.session.cases_for(None if suites is True else suites)
        except NoveltyError as error:
            raise pytest.Collector.CollectError(f"pytest-novelty: {error}") from None
        numbers, ids = self.session.register(cases)
        metafunc.parametrize("novelty_case", numbers, ids=ids, indirect=True)

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        _share_location(session.items)
        self.session.expect(session.items)

    # --- running --------------------------------------------------------------------------------------------

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        if self.session.plan.settings.dry_run:
            from pytest_novelty._pytest.dry_run import show_dry_run

            yield from _without_tests(session)
            show_dry_run(self.session)
            return True
        try:
            result = yield
        except (session.Interrupted, session.Failed) as stop:  # -x, --maxfail, and what xdist makes of them
            self._conclude(session, f"stopped: {stop}")
            raise
        except pytest.exit.Exception:
            if self.session.stopped:
                self._conclude(session, "stopped: the judge cannot go on")
            raise
        except RuntimeError as stop:  # xdist, when no worker is left
            if self._crashes.died:
                self._conclude(session, f"stopped: {stop}")
            raise
        except KeyboardInterrupt as stop:
            self._interrupted = type(stop) is KeyboardInterrupt  # xdist stops for -x with a subclass of its own
            self._conclude(session, "interrupted" if self._interrupted else f"stopped: {stop}")
            raise
        if not session.config.option.collectonly:
            self._conclude(session, "")
        return result

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        self.session.expect_next(item, nextitem)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        attach(item, report, self.session.stopped)
        if self.session.is_worker and self.session.stopped:
            item.session.shouldstop = self.session.stopped  # or it would first work off all that it was given
        return report

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if self.session.is_worker:
            return
        self._crashes.note_heard(report)
        if report.skipped and isinstance(report.longrepr, tuple):
            self.session.unpaid += BUDGET_IS_REACHED in report.longrepr[2]
        if (stopped := getattr(report, STOPPED, "")) and not self.session.stopped:
            self.session.stopped = stopped
            pytest.exit(f"pytest-novelty: {stopped}", returncode=pytest.ExitCode.USAGE_ERROR)
        if missed := getattr(report, MISSED, ""):
            self.session.missed.append((bool(report.skipped), *json.loads(missed)))
        text = getattr(report, ATTRIBUTE, None)
        if isinstance(text, str) and report.when == "call":
            setattr(report, LETTER, self.session.receive(text))
        self._count_gates(report)

    def _count_gates(self, report: pytest.TestReport) -> None:
        """Gates are reported at the end: count them in, or the progress figure would pass 100 %."""
        if self._running is None:
            self._running = self.config.pluginmanager.get_plugin("session")
        running, suites = self._running, len(self.session.plan.suites)
        if running is None or (running.testscollected, suites) == self._adjusted:
            return
        if running.testscollected != self._adjusted[0]:  # set, or set again, by pytest or xdist
            self._counted = 0
        gates = self.session.gate_count()
        running.testscollected += gates - self._counted
        self._counted, self._adjusted = gates, (running.testscollected, suites)

    def pytest_report_teststatus(self, report: pytest.TestReport) -> tuple[str, str, str] | None:
        letter = getattr(report, LETTER, None)
        if report.when != "call" or letter not in _SHOWN:
            return None
        short, word = _SHOWN[letter]
        if report.passed:
            return "passed", short, word
        return ("failed", short, word) if report.failed and letter == "i" else None

    # --- end ------------------------------------------------------------------------------------------------

    def _conclude(self, session: pytest.Session, unenforced: str) -> None:
        if self.session.is_worker:
            return
        self.session.close(0.0 if self._interrupted else _FINISH_STOPPED_S if self.session.stopped else 5.0)
        unenforced = unenforced or self._crashes.reason
        self.session.notes += self._crashes.notes()
        self.session.made = self._crashes.count_made(self.session.plan, self.session.made)
        if not self.session.received:
            is_lacking = self.session.unpaid or self.session.unrecorded or self._crashes.died
            if is_lacking or self.session.plan.nobody_judges:  # nothing was found out, so nothing passed
                self._incomplete = True
                self.session.conclude(unenforced)
                self.session.write_reports()
            else:
                self.session.notes += what_is_missing(self.session, 0, cut_short=bool(unenforced))
            return
        report = self.session.conclude(unenforced or ("deselected" if self._deselected else ""))
        generation, unpaid = self.session.generation, self.session.unpaid
        if not self.session.goldens.conclude(report, generation, write=not self._interrupted, unpaid=unpaid):
            self._incomplete = True
        if not self.session.write_reports():
            self._incomplete = True  # a report that CI waits for is missing
        undecided = undecided_without_text(report.gates, report.outcomes)
        if self.session.plan.settings.missing != "warn" and undecided:
            self._incomplete = True
        if deaf := undecided_without_audits(report):
            self._incomplete = True
            gates = name_some(list(dict.fromkeys(result.gate.text for result in deaf)))
            told = f"ERROR: undecided, since no auditor gave a verdict on any reason: {gates}"
            self.session.written.append(
                f"{told}. Run again once it answers; --novelty-refresh also asks again what it has answered"
            )
        if self.session.nothing_was_read:
            self._incomplete = True
        if not self._interrupted:
            emit_gates(self.session)

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        self._deselected = self._deselected or bool(items)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        self._crashes.note_collected(ids)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        self._crashes.note_down(error)
        made, notes = getattr(node, "workeroutput", {}).get(ATTRIBUTE, ((), []))
        self.session.notes += notes
        self.session.made = self.session.made.plus(Made(*made))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if not self.session.is_worker:
            self.session.close()
        else:
            with undisturbed():
                self.session.close(_FINISH_WORKER_S)
            told = (tuple(self.session.made), list(map(plain, self.session.notes)))
            worker: Any = self.config  # xdist gives a worker's config this attribute, which pytest's type lacks
            worker.workeroutput[ATTRIBUTE] = told
        if self._incomplete and session.exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        from pytest_novelty._pytest.output import write_summary

        write_summary(self.session, terminalreporter)

    @pytest.hookimpl(wrapper=True)
    def pytest_unconfigure(self) -> Generator[None, None, None]:
        self.session.close()
        yield
        self.session.collecting.freeze()  # pytest has collected, and soon does so again: what is left now is no garbage

    def _tick(self) -> None:
        """A line now and then while a long case is waited for."""
        from pytest_novelty._pytest.output import progress_line

        reporter = self.config.pluginmanager.get_plugin("terminalreporter")
        if reporter is not None and time.monotonic() - self._last_line > _PROGRESS_EVERY_S:
            self._last_line = time.monotonic()
            reporter.ensure_newline()
            reporter.write_line(progress_line(self.session))

    # --- xdist ----------------------------------------------------------------------------------------------

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        specs = len(node.nodemanager.specs)
        given = self.config.pluginmanager.get_plugin("dsession")
        self._nodes += 1
        node.workerinput[ATTRIBUTE] = {
            "run": self.session.run_id,
            "workers": specs,
            "slot": self._nodes - 1 if self._nodes <= specs else None,
            "slices": self._slices() and given is not None,
            "only_suites": self.session.only_suites,
        }

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> Any:
        if not self._slices():
            return None
        from pytest_novelty._pytest.distribution import SliceScheduling

        return SliceScheduling(config, log, self._groups)

    def _slices(self) -> bool:
        """Our scheduler serves: only suites run, --dist load, and nothing is to be saved by stopping early (-x)."""
        is_load = self.config.getoption("dist", "no") == "load"
        return self.session.only_suites and is_load and not self.config.getoption("maxfail", 0)

    def _groups(self, collection: Sequence[str]) -> list[Hashable]:
        """The instance of every collected id; ids are made from the plan, which workers and controller share."""
        cases = list(self.session.plan.cases())
        known = dict(zip(case_ids(cases), group_cases(cases), strict=True))
        return [known.get(nodeid.partition("[")[2].removesuffix("]"), nodeid) for nodeid in collection]


_FINISH_STOPPED_S: Final = 30.0
"""How long answers that are on their way (and paid for) are waited for when a judge cannot go on; its other calls end at once."""
_FINISH_WORKER_S: Final = 4.0
"""The same in a worker, whatever ends it: xdist kills it ten seconds after the controller ended, and interrupts it after five."""
_SHOWN: Final = {"w": ("w", "WRONG"), "t": ("t", "TIE"), "i": ("i", "INVALID"), "a": ("a", "ABSTAINED")}


def _share_location(items: Sequence[pytest.Item]) -> None:
    """All cases of the shipped module stand in one place: finding it once a case took a fiftieth of a long run."""
    place: tuple[str, int | None] | None = None
    for item in items:
        if isinstance(item.parent, SuitesModule):
            if place is None:
                place = item.location[:2]
            item.location = (*place, item.name)


def _distributes(config: pytest.Config) -> bool:
    """This is the controller of a distributed run, which collects nothing itself."""
    return not hasattr(config, "workerinput") and config.pluginmanager.get_plugin("dsession") is not None


def _without_tests(session: pytest.Session) -> Generator[None, object, object]:
    """Let the loop come round without running anything."""
    session.config.option.collectonly, before = True, session.config.option.collectonly
    try:
        return (yield)
    finally:
        session.config.option.collectonly = before
