"""Runs cases: feeds the engine ahead of the case that is asked for, and turns what comes back into results."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from pytest_novelty.as_published import release_by_words
from pytest_novelty.auditing import audit_by_words, cites, count_textless, find_invented
from pytest_novelty.budget import Ledger
from pytest_novelty.calls import Call, CallPlanner, Case
from pytest_novelty.engine import Engine
from pytest_novelty.errors import MissingVerdictError, NoveltyError, RunError
from pytest_novelty.generations import past_store
from pytest_novelty.hearing import Hearing, Label, Shared
from pytest_novelty.judges.base import Judge
from pytest_novelty.misses import explain_missing
from pytest_novelty.model import OK, Record
from pytest_novelty.outcomes import CaseResult, case_result, with_audits, with_textless
from pytest_novelty.plan import Plan
from pytest_novelty.store import VerdictStore
from pytest_novelty.tally import Made
from pytest_novelty.tickets import Ticket

_BATCH: Final = 256
"""Calls that are queued together: one look into the store for all of them."""


class Runner:
    """One per process. ``expect`` says what will be asked for, ``result`` asks.

    Parameters
    ----------
    workers: processes that share the run's concurrency.
    loop, stuck_hint: handed to the engine.
    shared: what the processes agree on of the audits, if there are several.
    generation: of a probe: ask past the store, and keep the answers under this name.
    """

    def __init__(
        self,
        plan: Plan,
        store: VerdictStore,
        *,
        ledger: Ledger | None = None,
        workers: int = 1,
        loop: asyncio.AbstractEventLoop | None = None,
        stuck_hint: str = "",
        generation: str = "",
        shared: Shared | None = None,
    ) -> None:
        settings = plan.settings
        self._plan = plan
        self._store = store
        self._generation = generation
        self._planner = CallPlanner(plan.prompts, settings.seed)
        self._engine = Engine(
            list({judge.name: judge for judge in (*plan.judges, *plan.all_auditors)}.values()),
            store,
            concurrency=max(1, settings.concurrency // workers),
            ledger=ledger,
            offline=settings.offline,
            refresh=settings.refresh,
            loop=loop,
            stuck_hint=stuck_hint,
        )
        self._pid = os.getpid()
        self._expected: list[Case] = []
        self._next = 0
        self._tickets: dict[Label, Ticket | NoveltyError] = {}
        self._hearing = Hearing(self._engine, self._planner, store, settings, shared)
        self._begun: set[str] = set()
        self._means_usd: dict[str, float | None] = {}
        self._cancelled = False
        self.last_failures: list[Record] = []
        """The records without a valid verdict of the case that was asked for last."""
        self.last_missing: MissingVerdictError | None = None
        """What to tell of audits of that case that are not recorded."""

    def expect(self, cases: Iterable[Case]) -> None:
        """The cases in the order in which they will be asked for. Nothing is sent before the first is."""
        self._expected = list(cases)
        self._next = 0

    def result(self, case: Case, tick: Callable[[], None] | None = None) -> CaseResult:
        """The result of one case, when its last call is committed.

        Audits that could not be had leave their statements unchecked (``CaseResult.audits``, ``last_missing``).
        Raises MissingVerdictError (offline), BudgetReached, PromptError, JudgeError, StoreError.
        """
        if os.getpid() != self._pid:
            raise RunError("the process was forked after judging began", hint="Run without a plugin that forks tests")
        label = case.label
        self.last_missing = None
        if label not in self._tickets:
            self._skip_to(case)
        if label not in self._tickets:
            self._submit([case])
        self._feed()
        ticket = self._tickets.pop(label)
        if isinstance(ticket, NoveltyError):
            raise ticket
        self._engine.wait(ticket, tick=lambda: self._tick(tick))
        if ticket.missing:
            raise self._missing(ticket.missing)
        records = [record for record in ticket.records if record is not None]
        fresh = [
            record for index, record in enumerate(ticket.records) if record is not None and index not in ticket.reused
        ]
        self.last_failures = [record for record in records if record.status != OK]
        threshold = self._plan.settings.fixed_threshold
        if not cites(case.suite.protocol):
            return case_result(case, records, fresh, threshold)
        panel = self._plan.panels.get(case.judge.name)
        if panel is None:
            audited = release_by_words(ticket.calls, records, audit_by_words(ticket.calls, records))
            result = case_result(case, records, fresh, threshold, audited)
            result = result._replace(invented=find_invented(ticket.calls, records))
            return with_textless(result, count_textless(records))
        self._hearing.queue(label, ticket, panel)
        self._audit_ahead()
        heard = self._hearing.hear(case, records, lambda: self._tick(tick))
        self.last_missing = heard.missing
        result = case_result(case, records, fresh, threshold, heard.grounds)
        result = result._replace(invented=find_invented(ticket.calls, records))
        return with_textless(with_audits(result, heard.audits, heard.fresh, heard.reused), count_textless(records))

    def _audit_ahead(self) -> None:
        """The same of cases that were asked ahead, so that auditors do not wait for the cases to be asked for one by one."""
        panels = self._plan.panels
        for label, ticket in self._tickets.items():
            if isinstance(ticket, Ticket) and ticket.is_complete:
                case = ticket.calls[0].case
                if case.judge.name in panels and cites(case.suite.protocol):
                    self._hearing.queue(label, ticket, panels[case.judge.name])

    def cancel(self) -> None:
        """Make the thread that waits give up."""
        self._cancelled = True

    @property
    def budget_reached(self) -> bool:
        return self._engine.budget_reached

    @property
    def made(self) -> Made:
        """Calls that ended in this process."""
        return self._engine.made

    def close(self, finish_s: float = 5.0) -> list[str]:
        """Let calls in flight end for so long, commit what is finished, leave the judges. Returns problems met on the way."""
        return self._engine.close(finish_s)

    def _tick(self, tick: Callable[[], None] | None) -> None:
        if self._cancelled:
            raise RunError("the run was cancelled")
        if tick is not None:
            tick()

    def _skip_to(self, case: Case) -> None:
        """Look ahead from ``case`` if it is where the expectation stands or later; cases passed over are not asked."""
        for index in range(self._next, len(self._expected)):
            if self._expected[index].label == case.label:
                self._next = index + 1
                return

    def _feed(self) -> None:
        """Keep enough calls queued behind the present case, in few batches."""
        room = self._engine.room
        queued = room > 0 and self._next < len(self._expected)
        while room > 0 and self._next < len(self._expected) and not self._engine.budget_reached:
            batch: list[Case] = []
            wanted = min(room, _BATCH)
            while wanted > 0 and self._next < len(self._expected):
                case = self._expected[self._next]
                self._next += 1
                if case.label not in self._tickets:
                    batch.append(case)
                    wanted -= case.planned_calls
            self._submit(batch)
            room = room - _BATCH
        ticket = self._tickets.get(self._expected[self._next - 1].label) if queued else None
        if isinstance(ticket, Ticket):
            self._engine.let_finish(ticket)

    def _submit(self, cases: Sequence[Case]) -> None:
        planned: list[tuple[Case, list[Call]]] = []
        for case in cases:
            try:
                planned.append((case, self._planner.plan(case)))
            except NoveltyError as error:  # it belongs to that case, not to the one that is waited for
                self._tickets[case.label] = error
        batches = [calls for _, calls in planned]
        if self._generation:
            batches = past_store(batches, self._store, self._generation, self._begun)
        for (case, _), ticket in zip(planned, self._engine.submit(batches), strict=True):
            self._tickets[case.label] = ticket

    def _missing(self, calls: Sequence[Call]) -> MissingVerdictError:
        judge = calls[0].case.judge
        stored = self._store.at_slot(judge.name, calls[0].case.suite.name, calls[0].case.instance.id)
        return explain_missing(calls, stored, lambda: self._mean_usd(judge))

    def _mean_usd(self, judge: Judge) -> float | None:
        """Asked of the store once a run: offline nothing is added to it."""
        if judge.name not in self._means_usd:
            self._means_usd[judge.name] = self._store.means(judge.name, judge.version)[0]
        return self._means_usd[judge.name]
