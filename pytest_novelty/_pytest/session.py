"""A run under pytest: the plan, the runner, the results, and what each hook does with them.

The controller (or the only process) resolves everything once, collects results from reports, decides gates and prints. Workers
resolve the same plan and judge. Nothing here knows a formula.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NoReturn

import pytest

from pytest_novelty._pytest.against import Against
from pytest_novelty._pytest.arguments import read_arguments, real_argument, replace_arguments
from pytest_novelty._pytest.attached import ATTRIBUTE, UNRECORDED, WIRE
from pytest_novelty._pytest.cases import SaidOnce, letter_of, plain
from pytest_novelty._pytest.collecting import Collecting, load_report_modules
from pytest_novelty._pytest.goldens import Goldens
from pytest_novelty._pytest.ids import case_ids, gate_id
from pytest_novelty._pytest.looking import Looking, refuse_workers
from pytest_novelty._pytest.missing import Missed, what_is_missing, what_is_unaudited
from pytest_novelty._pytest.options import read_settings
from pytest_novelty._pytest.registration import conftests_read, merge_gates, merge_names
from pytest_novelty._pytest.slices import cut
from pytest_novelty.budget import Ledger, SharedLedger
from pytest_novelty.calls import Case
from pytest_novelty.cassette import open_store
from pytest_novelty.catching import Net
from pytest_novelty.digests import canonical_json
from pytest_novelty.errors import (
    BudgetReached,
    JudgeStopped,
    MissingVerdictError,
    NoveltyError,
    SettingsError,
    StoreError,
    told_by_system,
)
from pytest_novelty.garbage import not_collecting
from pytest_novelty.generations import name_generation
from pytest_novelty.looks import SampleRange
from pytest_novelty.model import OK, Outcome, Record
from pytest_novelty.outcomes import CaseResult
from pytest_novelty.plan import Plan, make_plan
from pytest_novelty.runner import Runner
from pytest_novelty.sharing import share_audits, tell_audits
from pytest_novelty.store import SqliteStore, VerdictStore
from pytest_novelty.tally import Made
from pytest_novelty.wire import from_wire, to_wire

if TYPE_CHECKING:
    from pytest_novelty.results import Report

_HEAD: Final = '{"is":"'


class NoveltySession:
    """What an active run knows. Made in ``pytest_configure``; ``start`` resolves names.

    ``tick`` is called about once a second while a case is waited for.
    """

    def __init__(self, config: pytest.Config, tick: Callable[[], None]) -> None:
        self.config = config
        self._tick = tick
        worker: dict[str, Any] | None = getattr(config, "workerinput", None)
        self.is_worker = worker is not None
        told = (worker or {}).get(ATTRIBUTE) or {}
        self.run_id: str = told.get("run") or uuid.uuid4().hex
        self.workers: int = told.get("workers", 1)
        self.slot: int | None = told.get("slot")
        self.slices: bool = told.get("slices", False)
        self.only_suites: bool = told.get("only_suites", False)
        self.cases: list[Case] = []
        self.references: dict[str, list[Any]] = {}
        self.received: list[str] = []
        self.report: Report | None = None
        self.notes: list[str] = []
        self.written: list[str] = []
        """What was said of the report files."""
        self.collecting = Collecting()
        self.made = Made()
        """Calls that ended in this process, or in the workers that have ended, and what is known of their cost."""
        self.unpaid = 0
        """Cases that were skipped because the budget was reached."""
        self.stopped = ""
        """Why no further call of a judge could succeed; a worker tells the controller, which ends the run."""
        self.missed: list[Missed] = []
        """Of every case whose verdicts are not recorded: whether it was skipped, and what recording them takes."""
        self.selected: list[Case] = []
        """The cases of the items that were selected."""
        self.plan: Plan
        self._of_options: list[str] = []
        self._chosen: list[str] | None = None
        self._store: VerdictStore | None = None
        self._runner: Runner | None = None
        self._ahead: Sequence[Case] = ()
        self._sliced_ahead = False
        self._looking = Looking(self.results)
        self._against = Against()
        self.goldens = Goldens(config)
        self._known_references: set[str] = set()
        self._said_once = SaidOnce()

    # --- start ----------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Resolve options, judges and suites; create the store. Raises pytest.UsageError with the reason."""
        self.collecting.relax()
        try:
            self._start()
        except NoveltyError as error:
            raise pytest.UsageError(f"pytest-novelty: {error}") from None
        except OSError as error:
            if error.filename is None:  # not about a path that somebody named
                raise
            raise pytest.UsageError(f"pytest-novelty: {told_by_system(error)}") from None

    def _start(self) -> None:
        config = self.config
        if getattr(config.option, "dist", "no") == "each":
            raise SettingsError("--dist each would judge every instance once per worker", hint="Use --dist load")
        extra = merge_gates(config.hook.pytest_novelty_gates())
        settings = read_settings(config, extra)
        given, named = read_arguments(config)
        self.only_suites = self.only_suites or not given
        judges = merge_names("judge", config.hook.pytest_novelty_judges())
        suites = merge_names("suite", config.hook.pytest_novelty_suites())
        for name, path in suites.items():
            if not isinstance(path, (str, Path)):
                raise SettingsError(f"pytest_novelty_suites gives {path!r} for {name!r}", hint="Give a path")
            suites[name] = settings.base / path
        self.plan = make_plan(
            settings,
            judges,
            suites,
            with_suites=self.only_suites or named,
            also=f"conftests read: {conftests_read(config)}",
        )
        if named:  # what a pasted gate names is checked here, where an error is one
            for arg in config.args:
                real_argument(arg, self.plan)
        self._of_options = list(self.plan.suites)
        refuse_workers(settings, config)
        if not self.is_worker and not settings.dry_run:
            self._against.open(self.plan)
            open_store(settings.store, offline=settings.offline, check=True).close()
            self.goldens.start(self.plan, judges)

    @property
    def generation(self) -> str:
        """The name under which a probe keeps its answers; empty in any other run."""
        return name_generation(self.run_id) if self.plan.settings.probe else ""

    @property
    def strict(self) -> bool:
        return self.plan.settings.strict

    # --- collection -----------------------------------------------------------------------------------------

    def replace_arguments(self) -> None:
        """Put the shipped module in the place of the virtual file, or of everything if no path was given."""
        replace_arguments(self.config, self.plan, only_suites=self.only_suites)

    def cases_for(self, suites: Iterable[tuple[str, Sequence[str] | None]] | None) -> list[Case]:
        """The cases of a test: of the suites that its marks name, else of all suites of the options."""
        if suites is None:
            if self._chosen is None:  # the suites of the options: no mark adds to them
                self._chosen = self._of_options or [
                    self._add(name, None).suite.name for name in self.plan.settings.suites
                ]
            if not self._chosen:
                raise SettingsError("the test names no suite", hint='Give one: @pytest.mark.novelty(suite="...")')
            return [case for name in self._chosen for case in self._cases(self.plan.suites[name], None)]
        found: list[Case] = []
        for name, variants in suites:
            found += self._cases(self._add(name, variants), variants)
        return found

    def _cases(self, planned: Any, variants: Sequence[str] | None) -> list[Case]:
        """Of the variants that are named here (or by the options), not of those that another test's mark added."""
        wanted = self.plan.option_variants if variants is None else variants
        everything = "all" in wanted
        names = {"reference", *wanted}
        return [case for case in self.plan.cases_of(planned) if everything or case.variant.name in names]

    def _add(self, name: str, variants: Sequence[str] | None) -> Any:
        planned = self.plan.add_suite(name, variants)
        reference = self.references.setdefault(planned.suite.name, [name, []])
        reference[1] = sorted({*reference[1], *(variants or ())})
        return planned

    def register(self, cases: Sequence[Case]) -> tuple[range, list[str]]:
        """Numbers (the parameters of a test) and ids of cases."""
        first = len(self.cases)
        self.cases.extend(cases)
        return range(first, len(self.cases)), case_ids(cases)

    def case_of(self, item: pytest.Item) -> Case | None:
        callspec = getattr(item, "callspec", None)
        number = None if callspec is None else callspec.params.get("novelty_case")
        return self.cases[number] if isinstance(number, int) and number < len(self.cases) else None

    def expect(self, items: Sequence[pytest.Item]) -> None:
        """Look ahead over the items that will run here: all, or this worker's slice of them."""
        self.collecting.freeze()
        cases = [case for item in items if not _is_skipped(item) and (case := self.case_of(item)) is not None]
        self.selected = cases
        if self.slices and self.slot is not None and len(cases) == len(items):
            own = cut(group_cases(cases), self.workers)[self.slot]
            cases, self._sliced_ahead = [cases[index] for index in own], True
        elif self.is_worker:
            return
        self._ahead = cases

    def expect_next(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        """Under xdist without our scheduler a worker knows the item and the next one, no more."""
        if not self.is_worker or self._sliced_ahead:
            return
        pair = [each for each in (item, nextitem) if each is not None and not _is_skipped(each)]
        self._get_runner().expect([case for each in pair if (case := self.case_of(each)) is not None])

    # --- judging --------------------------------------------------------------------------------------------

    def _get_runner(self) -> Runner:
        if self._runner is None:
            settings = self.plan.settings
            self._store = open_store(settings.store, offline=settings.offline)
            ledger: Ledger | None = None
            if settings.budget_usd is not None and isinstance(self._store, SqliteStore):
                ledger = SharedLedger(self._store, self.run_id, settings.budget_usd)
            shared = share_audits(self.plan, self._store, self.run_id, self.workers)
            self._runner = Runner(
                self.plan, self._store, ledger=ledger, workers=self.workers, generation=self.generation, shared=shared
            )
            self._runner.expect(self._ahead)
        return self._runner

    def judge_case(self, case: Case, item: pytest.Item) -> tuple[Outcome, list[Record]]:
        """The outcome and the records without a verdict; errors become a failed or skipped test without a traceback."""
        __tracebackhide__ = True
        if isinstance(self.plan.settings.sample, SampleRange) and (
            reason := self._looking.enter(case, self.plan, self._ahead, self._get_runner())
        ):
            pytest.skip(plain(reason))
        problem: NoveltyError | None = None
        try:
            runner = self._get_runner()
            result = runner.result(case, self._tick)
        except NoveltyError as error:
            problem = error
        if problem is not None:  # outside the handler, or pytest would show both exceptions
            self._give_up(problem, item)
        if case.judge.waits and not self.is_worker:
            load_report_modules()
        item.stash[WIRE] = self._to_text(result, case)
        if getattr(self.config.option, "xmlpath", None):
            item.user_properties.append(("novelty_result", result.outcome.result))
            item.user_properties.append(("novelty_label", plain(str(result.outcome.label))))
        if runner.last_missing is not None and self.plan.settings.missing != "warn":
            pytest.fail(plain(str(runner.last_missing)), pytrace=False)  # the verdict is kept: it is on the report
        return result.outcome, runner.last_failures

    def _give_up(self, problem: NoveltyError, item: pytest.Item) -> NoReturn:
        __tracebackhide__ = True
        if isinstance(problem, MissingVerdictError):
            item.stash[UNRECORDED] = canonical_json([problem.calls, problem.cost_usd, problem.is_bound])
        is_missing = isinstance(problem, MissingVerdictError) and self.plan.settings.missing == "warn"
        if is_missing or isinstance(problem, BudgetReached):
            pytest.skip(plain(str(problem)))
        if isinstance(problem, JudgeStopped):
            self.stopped = plain(str(problem))
            if not self.is_worker:
                pytest.exit(f"pytest-novelty: {self.stopped}", returncode=pytest.ExitCode.USAGE_ERROR)
        if isinstance(problem, StoreError) and not self.is_worker:  # xdist takes a worker's exit for a crash
            pytest.exit(f"pytest-novelty: {problem}", returncode=pytest.ExitCode.INTERNAL_ERROR)
        pytest.fail(self._said_once.tell(problem, item.name), pytrace=False)

    def _to_text(self, result: CaseResult, case: Case) -> str:
        """The wire form behind a fixed head, whose letter is read without parsing the rest."""
        text = to_wire(result, case.suite, case.instance)
        reference = ""
        if self.is_worker and case.suite.name in self.references:
            reference = f'"ref":{canonical_json(self.references[case.suite.name])},'
        return f'{_HEAD}{letter_of(result.outcome)}",{reference}{text[1:]}'

    def gates_invalid_rate(self, case: Case) -> bool:
        planned = self.plan.suites.get(case.suite.name)
        return planned is not None and any(gate.metric == "invalid_rate" for gate in planned.gates)

    # --- results, on the controller -------------------------------------------------------------------------

    def receive(self, text: str) -> str:
        """Keep what a call-phase report brought, as text (objects would cost memory and garbage collection); its letter."""
        self.received.append(text)
        if text.startswith('"ref":', len(_HEAD) + 3):
            self._learn(json.loads(text))
        return text[len(_HEAD)]

    def results(self) -> list[CaseResult]:
        """What was received, one result a case, the last one if a case ran twice."""
        found = map(self._read, json.loads(f"[{','.join(self.received)}]"))
        kept: dict[Any, CaseResult] = {}
        for result in found:
            before = kept.get(result.label)
            kept[result.label] = result if before is None else result._replace(usage=before.usage.joined(result.usage))
        return tell_audits(kept.values())

    def _learn(self, value: dict[str, Any]) -> None:
        reference = canonical_json(value["ref"])
        if reference not in self._known_references:  # a suite that a mark named in a worker
            self._known_references.add(reference)
            self.plan.add_suite(value["ref"][0], value["ref"][1] or None)

    def _read(self, value: dict[str, Any]) -> CaseResult:
        _, suite, _, instance = value["id"]
        planned = self.plan.suites[suite]
        return from_wire(value, planned.suite, planned.by_id[instance])

    def gate_count(self) -> int:
        """Gates that will be reported, as far as is known now."""
        return sum(
            len(planned.gates) * len({judge.name for judge, _ in self.plan.pairs(planned)})
            for planned in self.plan.suites.values()
        ) + self.goldens.count(self.plan)

    @property
    def unrecorded(self) -> int:
        """Cases that were skipped because, offline, their verdicts are not recorded."""
        return sum(missed[0] for missed in self.missed)

    @property
    def nothing_was_read(self) -> bool:
        """Cases ran, and none of their answers is a verdict."""
        return self.report is not None and not any(
            vote.status == OK for result in self.report.outcomes for vote in result.outcome.votes
        )

    def conclude(self, unenforced: str) -> Report:
        """Compute the report from what arrived."""
        with not_collecting():
            from pytest_novelty.results import make_report  # numpy: workers never need it

            results = self.results()
            made = sum(result.usage.made for result in results)
            self.notes += what_is_missing(self, made, cut_short=bool(unenforced))
            self.notes += [*what_is_unaudited(results), *self._looking.finish()]
            if self.unpaid or any(result.audits.unpaid for result in results):
                unenforced = unenforced or "the budget is reached"
            net, plan, notes = Net(holds=True), self.plan, self.notes  # what was judged is paid for
            self.report = make_report(plan, results, unenforced=unenforced, notes=notes, made=self.made, net=net)
            self.written += net.lines(tracebacks=self.config.get_verbosity() > 1)
            self.written += self._against.add_to(self.report)
        return self.report

    def write_reports(self) -> bool:
        """Write the report files, and keep in ``written`` what is to be said of them. False if one could not be written."""
        from pytest_novelty.reports.files import write_report

        complete = not self.written
        for path in self.plan.settings.reports if self.report is not None else ():
            assert self.report is not None
            try:
                write_report(self.report, path)
                self.written.append(f"report written: {path}")
            except NoveltyError as error:
                self.written.append(f"ERROR: {error}")
                complete = False
        return complete

    def gate_ids(self, report: Report) -> list[str]:
        """One node id a gate result, unique."""
        ids: list[str] = []
        for result in report.gates:
            text = gate_id(result.suite, result.judge, result.gate.slug)
            ids.append(text if text not in ids else f"{text[:-1]}-{len(ids)}]")
        return ids

    def close(self, finish_s: float = 5.0) -> None:
        """Let calls in flight end for so long (they are paid for), keep what ended, leave the judges."""
        if self._runner is not None:
            self.notes += self._runner.close(finish_s)
            self.made = self._runner.made
            self._runner = None
        if self._store is not None:
            self._store.close()
            self._store = None


def group_cases(cases: Sequence[Case]) -> list[Hashable]:
    return [(case.suite.name, case.instance.id) for case in cases]


def _is_skipped(item: pytest.Item) -> bool:
    """Marked so that it may not run: nothing is asked ahead for it."""
    return any(mark.name in ("skip", "skipif", "xfail") for mark in item.iter_markers())
