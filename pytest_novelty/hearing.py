"""Asks auditors about the statements of cases whose calls have ended, and hears what they say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from pytest_novelty.as_published import Statements, add_release, plan_release, read_statements
from pytest_novelty.auditing import hear, opinion_in, plan_audits
from pytest_novelty.audits import SHORT_KEY, Audits, Elsewhere, count_audits
from pytest_novelty.calls import Call, CallPlanner, Case
from pytest_novelty.engine import Engine
from pytest_novelty.errors import BudgetReached, MissingVerdictError
from pytest_novelty.judges.base import Judge
from pytest_novelty.misses import cost_of_audits, explain_missing_audits
from pytest_novelty.model import OK, Ground, Record
from pytest_novelty.settings import Settings
from pytest_novelty.store import VerdictStore
from pytest_novelty.tickets import Ticket

Label = tuple[str, str, str, str]


class Heard(NamedTuple):
    """``grounds`` of records by place, with what the auditor says; ``fresh`` and ``reused``: audits that this case accounts for.
    ``missing``: what to tell of audits that are not recorded.
    """

    grounds: dict[int, tuple[Ground, ...]]
    fresh: list[Record]
    reused: int
    audits: Audits
    missing: MissingVerdictError | None


class Shared(Protocol):
    """What processes agree on."""

    def take(self, keys: Sequence[str]) -> set[str]:
        """Those of the audits that are this process's to ask and to count."""

    def inherit(self, keys: Sequence[str]) -> set[str]:
        """Those of the audits whose process is gone, and that are this process's from now on."""


class _Queued(NamedTuple):
    """Cases by the place of the vote and the group in its answer, and a ticket of each auditor by the case's name; a call in the
    place of a ticket is an audit that another process makes.

    ``statements``, ``released``: the same by the rules of a release, where the suite is scored as published; put to the first
    auditor alone.
    """

    planned: dict[int, list[Case | None]]
    tickets: list[dict[str, Ticket | Call]]
    statements: Statements
    released: dict[int, list[Case | None]]


class Hearing:
    """Of one process; ``shared``: with others, each of which asks about what it is the first to meet.

    An audit that cannot be had (it failed, is not recorded, is beyond the budget) takes no verdict with it:
    the statement stays unchecked. To drop such a case would leave those without a positive verdict.
    """

    def __init__(
        self,
        engine: Engine,
        planner: CallPlanner,
        store: VerdictStore,
        settings: Settings,
        shared: Shared | None = None,
    ) -> None:
        self._engine = engine
        self._settings = settings
        self._shared = shared
        self._planner = planner
        self._store = store
        self._queued: dict[Label, _Queued] = {}
        self._asked: dict[str, Ticket] = {}
        """Audits by key; those that ended with a verdict are in the store, and what failed is not asked again in this run."""
        self._counted: set[str] = set()
        """Keys of audits: several cases may wait for one call, which was made once."""
        self._lacking: set[str] = set()

    def queue(self, label: Label, ticket: Ticket, panel: Sequence[Judge]) -> None:
        """Ask each auditor of the panel about the statements of a case whose calls have ended; the word of the first counts."""
        if label in self._queued:
            return
        records = [record for record in ticket.records if record is not None]
        planned = plan_audits(panel[0], ticket.calls, records)
        statements = read_statements(ticket.calls, records)
        released = plan_release(panel[0], ticket.calls, statements)
        own, also = (_by_name(rows) for rows in (planned, released))
        queued: list[dict[str, Ticket | Call]] = []
        for auditor in panel:
            cases = own if queued else {**also, **own}
            calls = {name: self._planner.plan(replace(case, judge=auditor)) for name, case in cases.items()}
            new = {each[0].key: each for each in calls.values() if each[0].key not in self._asked}
            for key in self._of_others(list(new)):
                del new[key]
            self._asked.update(zip(new, self._engine.submit(list(new.values()), first=True), strict=True))
            queued.append({name: self._asked.get(each[0].key, each[0]) for name, each in calls.items()})
        self._queued[label] = _Queued(planned, queued, statements, released)

    def _of_others(self, keys: Sequence[str]) -> set[str]:
        """Those that another process asks. Offline nobody asks: each looks for itself, and one of them counts."""
        if self._shared is None:
            return set()
        others = set(keys) - self._shared.take(keys)
        if not self._settings.offline:
            return others
        self._counted |= others
        self._lacking |= others
        return set()

    def _take_over(self, tickets: Sequence[dict[str, Ticket | Call]]) -> None:
        """Ask about what a process was to ask that is gone."""
        left = {each.key: each for own in tickets for each in own.values() if isinstance(each, Call)}
        if self._shared is None or not left:
            return
        new = [left[key] for key in sorted(self._shared.inherit(list(left))) if key not in self._asked]
        self._asked.update(
            zip((call.key for call in new), self._engine.submit([[call] for call in new], first=True), strict=True)
        )
        for own in tickets:
            own.update({name: self._asked.get(each.key, each) for name, each in own.items() if isinstance(each, Call)})

    def hear(self, case: Case, records: Sequence[Record], tick: Callable[[], None]) -> Heard:
        """What the auditors say, once all have ended."""
        planned, tickets, statements, released = self._queued.pop(case.label)
        self._take_over(tickets)
        said: list[dict[str, Record | None]] = []
        fresh: list[Record] = []
        reused: list[Record] = []
        missing: list[Call] = []
        unheard: set[str] = set()
        unpaid = 0
        elsewhere: list[Elsewhere] = []
        told: dict[str, bool | None] = {}
        names = list(_by_name(planned))
        for place, of_auditor in enumerate(tickets):
            said.append({})
            for name, ticket in of_auditor.items():
                if isinstance(ticket, Call):
                    said[-1][name] = None
                    statement = names.index(name) if name in names else None
                    places = [_places_of(name, rows) for rows in (planned, released)]
                    elsewhere.append((ticket.key[:SHORT_KEY], place, statement, places[0], places[1]))
                    continue
                try:
                    self._engine.wait(ticket, tick=tick)
                except BudgetReached:
                    unpaid += 1
                missing += ticket.missing
                if place == 0:  # the word of the first counts
                    unheard |= {call.key for call in ticket.missing}
                record = said[-1][name] = ticket.records[0]
                if record is None:  # nobody was asked, and none will be
                    if self._shared is not None:
                        told.setdefault(ticket.calls[0].key[:SHORT_KEY], None)
                    continue
                if record.key not in self._counted:
                    self._counted.add(record.key)
                    (reused if 0 in ticket.reused else fresh).append(record)
                    if self._shared is not None:
                        told[record.key[:SHORT_KEY]] = opinion_in(record)
                if record.status == OK and not self._settings.refresh:  # it would be asked anew
                    self._asked.pop(record.key, None)
        first = said[0] if said else {}
        grounds = {
            place: hear(records[place], [None if audit is None else first[audit.instance.id] for audit in row])
            for place, row in planned.items()
        }

        def say(place: int, number: int) -> bool | None:
            audit = released[place][number]
            return None if audit is None else opinion_in(first[audit.instance.id])

        grounds = add_release(grounds, statements, say)
        opinions = tuple(tuple(opinion_in(each[name]) for each in said) for name in names) if len(said) > 1 else ()
        audits = count_audits(len(first), [*fresh, *reused], unpaid)._replace(
            opinions=opinions, told=told, elsewhere=tuple(elsewhere)
        )
        if not missing:
            return Heard(grounds, fresh, len(reused), audits, None)
        new = {call.key: call for call in missing if call.key not in self._lacking}
        self._lacking.update(new)
        cost, is_bound = cost_of_audits(list(new.values()), self._store)
        audits = audits._replace(
            missing=len(new), missing_usd=cost, is_bound=is_bound, unheard=len(unheard & new.keys())
        )
        return Heard(grounds, fresh, len(reused), audits, explain_missing_audits(case, missing, unheard, self._store))


def _places_of(name: str, planned: Mapping[int, Sequence[Case | None]]) -> tuple[tuple[int, int], ...]:
    """Where a case makes a statement: places of votes and of groups in their answers."""
    return tuple(
        (vote, group)
        for vote, row in planned.items()
        for group, case in enumerate(row)
        if case is not None and case.instance.id == name
    )


def _by_name(rows: Mapping[int, Sequence[Case | None]]) -> dict[str, Case]:
    return {case.instance.id: case for row in rows.values() for case in row if case is not None}
