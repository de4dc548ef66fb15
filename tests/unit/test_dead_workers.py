"""Workers that died: who counts as one, and what of the store is of this run."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from pytest_novelty._pytest.crashes import Crashes
from pytest_novelty.budget import MemoryLedger
from pytest_novelty.judges.base import bind_judge
from pytest_novelty.lanes import Item, Lane, settle
from pytest_novelty.model import OK
from pytest_novelty.store import SqliteStore
from pytest_novelty.tally import Made
from tests.unit.test_keeping import BASE

LATER = (dt.datetime.now(dt.UTC) + dt.timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


def plan_of(store: Path) -> Any:
    judge, auditor = SimpleNamespace(name="judge"), SimpleNamespace(name="auditor")
    return SimpleNamespace(judges=[judge], all_auditors=[auditor], settings=SimpleNamespace(store=store))


def test_what_the_store_has_of_this_run_and_its_judges(tmp_path: Path) -> None:
    now = BASE._replace(created=LATER, cost_usd=0.5)
    store = SqliteStore(tmp_path / "s.sqlite")
    store.put(
        [
            now,
            now._replace(key="k2", judge="auditor", cost_usd=None),
            now._replace(key="k3", judge="another"),
            BASE._replace(key="k4", created="2020-01-01T00:00:00Z", cost_usd=9.0),
        ]
    )
    store.close()
    crashes, plan = Crashes(), plan_of(tmp_path / "s.sqlite")
    told = Made(1, 0.5, 0)
    assert crashes.count_made(plan, told) == told  # nobody died
    crashes.note_down("crashed")
    assert crashes.count_made(plan, told) == Made(2, 0.5, 1)
    more = Made(3, 1.5, 0)
    assert crashes.count_made(plan, more) == more  # calls that failed are not all in a store


def test_a_worker_that_ends_or_is_interrupted_has_not_died() -> None:
    crashes = Crashes()
    crashes.note_collected(["novelty-suites::test_novelty[a]"])
    for error in (None, "", "keyboard-interrupt"):
        crashes.note_down(error)
    assert (crashes.died, crashes.lost, crashes.reason, list(crashes.notes())) == (0, 0, "", [])
    crashes.note_down("Not properly terminated")
    assert (crashes.died, crashes.lost, crashes.reason) == (1, 1, "stopped: a worker died")


def test_a_call_of_unknown_cost_spends_what_was_set_aside_for_it() -> None:
    ledger, lane = MemoryLedger(1.0), Lane(bind_judge("j", lambda request: None), 1)
    item = Item(0, None)  # type: ignore[arg-type]
    assert ledger.reserve(0.4)
    lane.note_out(item, 0.4)
    settle(ledger, lane, item, SimpleNamespace(cost_usd=None, status=OK))  # type: ignore[arg-type]
    assert ledger.spent_usd() == 0.4


def test_the_latest_calls_raise_the_price_and_do_not_lower_it() -> None:
    lane = Lane(bind_judge("j", lambda request: None), 1)
    assert lane.price_usd(0.2) == 0.2
    lane.recent_usd.extend([0.1, 0.1])
    assert lane.price_usd(0.2) == 0.2
    lane.recent_usd.extend([0.6, 0.8])
    assert lane.price_usd(0.2) == 0.4
