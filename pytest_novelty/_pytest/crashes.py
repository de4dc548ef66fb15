"""Workers that died: what they leave unjudged, and what they had paid for, which nobody else tells."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Final

import pytest

from pytest_novelty._pytest.ids import VIRTUAL
from pytest_novelty._pytest.missing import not_judged
from pytest_novelty.cassette import open_store
from pytest_novelty.errors import NoveltyError
from pytest_novelty.printing import plural
from pytest_novelty.store import SqliteStore
from pytest_novelty.tally import Made

if TYPE_CHECKING:
    from pytest_novelty.plan import Plan

_INTERRUPTED: Final = "keyboard-interrupt"
_MADE: Final = (
    "SELECT count(*), coalesce(sum(cost_usd), 0), count(*) - count(cost_usd) FROM records "
    "WHERE created >= ? AND judge IN ({})"
)


class Crashes:
    """On the controller: what was to be judged, what was heard of, and how many workers died."""

    def __init__(self) -> None:
        self._began = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        self._cases: frozenset[str] = frozenset()
        self._heard: set[str] = set()
        self.died = 0

    def note_collected(self, ids: Sequence[str]) -> None:
        self._cases = frozenset(name for name in ids if name.startswith(VIRTUAL))

    def note_heard(self, report: pytest.TestReport) -> None:
        """A case ended, or did not begin for a reason that is told. What xdist tells of one in a dead worker is neither."""
        if report.when == "call" or (report.when == "setup" and not report.passed):
            self._heard.add(report.nodeid)

    def note_down(self, error: object) -> None:
        self.died += bool(error) and error != _INTERRUPTED

    @property
    def lost(self) -> int:
        """Cases of whose end nothing was heard."""
        return len(self._cases - self._heard) if self.died else 0

    @property
    def reason(self) -> str:
        """Why no gate can be enforced; empty if nothing is lost."""
        return "stopped: a worker died" if self.lost else ""

    def notes(self) -> Iterable[str]:
        if self.died:
            died = f"{plural(self.died, 'worker')} died"
            paid = (
                "calls and cost are what the store has of this run, also where another worker then read it from there; "
                f"what was on its way to {'it' if self.died == 1 else 'them'} may have been charged too, and is in no sum"
            )
            yield f"{died}{f': {not_judged(self.lost)}' if self.lost else ''}; {paid}"

    def count_made(self, plan: Plan, told: Made) -> Made:
        """The calls of the run: what workers told that ended well, or what the store has since it began, if that is more."""
        if not self.died:
            return told
        names = [judge.name for judge in (*plan.judges, *plan.all_auditors)]
        try:
            store = open_store(plan.settings.store, offline=False)
        except NoveltyError:  # it is said where the store is needed
            return told
        try:
            if not isinstance(store, SqliteStore):
                return told
            found = store.row(_MADE.format(",".join("?" * len(names))), (self._began, *names))
        finally:
            store.close()
        made = Made(*found) if found else told
        return made if made.calls > told.calls else told
