"""Both ledgers follow one rule: what is reserved counts as spent, so no number of calls in flight exceeds the budget."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Barrier, Thread
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_novelty.budget import MEASURED_CALLS, Ledger, Measured, MemoryLedger, SharedLedger, name_in_line
from pytest_novelty.judges.base import Expected
from pytest_novelty.lanes import Item, Lane, give_back, settle
from pytest_novelty.model import OK
from pytest_novelty.store import SqliteStore

MakeLedger = Callable[[float], Ledger]


@pytest.fixture(params=["memory", "shared"])
def make_ledger(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeLedger]:
    store = SqliteStore(tmp_path / "s")
    yield MemoryLedger if request.param == "memory" else lambda budget: SharedLedger(store, "run", budget)
    store.close()


def test_what_is_reserved_counts_until_it_is_settled(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(1.0)
    assert ledger.reserve(0.75)
    assert not ledger.reserve(0.5)
    assert ledger.spent_usd() == 0.0
    ledger.settle(0.75, 0.25)
    assert ledger.spent_usd() == 0.25
    assert ledger.reserve(0.75)  # exactly what is left
    assert not ledger.reserve(0.01)


def test_a_call_that_cost_more_than_reserved_is_counted_in_full(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(1.0)
    assert ledger.reserve(0.5)
    ledger.settle(0.5, 0.9)
    assert ledger.spent_usd() == pytest.approx(0.9)
    assert not ledger.reserve(0.2)


def test_who_waits_is_not_overtaken(make_ledger: MakeLedger) -> None:
    """What the cheap one gives back is not what it may take again and again while the dear one waits."""
    ledger = make_ledger(1.0)
    assert ledger.reserve(0.5, "cheap")
    assert ledger.reserve(0.375, "cheap")
    assert not ledger.reserve(0.75, "dear")
    ledger.settle(0.375, 0.125)
    assert not ledger.reserve(0.125, "cheap")  # it would fit
    assert not ledger.reserve(0.75, "dear")
    ledger.settle(0.5, 0.125)
    assert not ledger.reserve(0.125, "cheap")
    assert ledger.reserve(0.75, "dear")
    assert not ledger.reserve(0.75, "dear")
    assert not ledger.reserve(0.25, "dear")  # the cheap one is first now
    ledger.settle(0.75, 0.25)
    assert ledger.reserve(0.125, "cheap")
    assert ledger.reserve(0.25, "dear")


def test_who_leaves_the_line_holds_up_nobody(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(1.0)
    assert not ledger.reserve(2.0, "dear")
    assert not ledger.reserve(0.5, "cheap")
    ledger.leave("dear")
    assert ledger.reserve(0.5, "cheap")
    ledger.leave("nobody")


def test_a_budget_that_was_ended_is_reached_for_all(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(1.0)
    assert ledger.reserve(0.5, "a")
    ledger.end()
    assert not ledger.reserve(0.0, "a")
    assert not ledger.begin_measuring("j")
    assert not ledger.fits_later(0.0)
    ledger.settle(0.5, 0.25)
    assert ledger.spent_usd() == 0.25


@pytest.mark.parametrize("budget", [0.0, 1.0])
def test_free_calls_always_fit(budget: float, make_ledger: MakeLedger) -> None:
    ledger = make_ledger(budget)
    assert all(ledger.reserve(0.0) for _ in range(10))
    assert not ledger.reserve(budget + 0.01)


def test_tenths_fit_as_often_as_they_should(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(1.0)
    assert [ledger.reserve(0.1) for _ in range(11)] == [True] * 10 + [False]


def test_five_calls_measure_an_unknown_cost(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(1.0)
    assert ledger.measured("j") == Measured()
    for cost in (None, 0.1, None, 0.3, 0.2):
        assert ledger.begin_measuring("j")
        assert not ledger.begin_measuring("j")  # one is out
        assert not ledger.measured("j").over
        ledger.end_measuring("j", cost)
    assert ledger.measured("j").over
    assert not ledger.begin_measuring("j")
    assert ledger.begin_measuring("another")
    found = ledger.measured("j")
    assert (found.begun, found.ended, found.told, found.untold) == (5, 5, 3, False)
    assert found.mean_usd == pytest.approx(0.2)
    assert ledger.spent_usd() == pytest.approx(0.6)


def test_a_cost_that_nobody_tells_stays_unknown(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(1.0)
    for _ in range(MEASURED_CALLS):
        assert ledger.begin_measuring("j")
        ledger.end_measuring("j", None)
    assert ledger.measured("j").untold
    assert ledger.measured("j").mean_usd is None  # never 0


@pytest.mark.parametrize("budget", [0.0, 0.5])
def test_nothing_is_measured_when_nothing_is_left(budget: float, make_ledger: MakeLedger) -> None:
    ledger = make_ledger(budget)
    assert budget == 0.0 or ledger.reserve(budget)
    assert not ledger.begin_measuring("j")


@pytest.mark.parametrize("cost", [0.01, 0.1])
def test_eight_threads_never_exceed_the_budget(cost: float, make_ledger: MakeLedger) -> None:
    ledger, barrier, sent = make_ledger(1.0), Barrier(8), []

    def spend() -> None:
        barrier.wait()
        for _ in range(40):
            if ledger.reserve(cost):
                sent.append(cost)
                ledger.settle(cost, cost)

    threads = [Thread(target=spend) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(sent) == round(1.0 / cost)
    assert ledger.spent_usd() == pytest.approx(1.0)


def test_eight_threads_measure_one_call_at_a_time(make_ledger: MakeLedger) -> None:
    ledger, barrier, begun = make_ledger(1.0), Barrier(8), []

    def measure() -> None:
        barrier.wait()
        begun.extend(ledger.begin_measuring("j") for _ in range(3))

    threads = [Thread(target=measure) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(begun) == 1  # the others wait for what it tells


def test_a_failed_call_measures_nothing(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(1.0)
    for _ in range(2 * MEASURED_CALLS):
        assert ledger.begin_measuring("j")
        ledger.end_measuring("j", None, counts=False)
    assert ledger.measured("j") == Measured()


def test_measuring_keeps_within_the_budget(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(0.5)
    assert ledger.begin_measuring("j")
    ledger.end_measuring("j", 0.3)
    assert not ledger.begin_measuring("j")  # another at 0.3 would be 0.6


def test_measuring_calls_set_the_mean_aside(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(1.0)
    for judge in ("one", "other"):
        assert ledger.begin_measuring(judge, judge)
        ledger.end_measuring(judge, 0.3)
    assert ledger.begin_measuring("one", "one")
    assert not ledger.begin_measuring("other", "other")  # with the one that is out it would be 1.2
    assert not ledger.reserve(0.2)
    ledger.end_measuring("one", None, counts=False)  # what it had set aside is free
    assert ledger.begin_measuring("other", "other")
    ledger.end_measuring("other", 0.1)
    assert ledger.spent_usd() == pytest.approx(0.7)
    assert not ledger.reserve(0.31)
    assert ledger.reserve(0.3)


def test_measuring_calls_wait_in_line(make_ledger: MakeLedger) -> None:
    ledger = make_ledger(1.0)
    assert ledger.begin_measuring("j", "measures")
    assert not ledger.begin_measuring("j", "its second")  # one is out: that is no want of money
    assert ledger.reserve(0.25, "knows")
    ledger.end_measuring("j", 0.25)
    assert ledger.reserve(0.5, "knows")
    assert not ledger.reserve(0.5, "dear")
    ledger.settle(0.5, 0.0)
    assert not ledger.begin_measuring("j", "measures")  # it would fit, but the dear one waits
    assert ledger.reserve(0.5, "dear")
    assert not ledger.reserve(0.0, "knows")  # the one that measures is first now
    ledger.settle(0.5, 0.0)
    assert ledger.begin_measuring("j", "measures")
    assert ledger.reserve(0.0, "knows")


def test_workers_share_a_run_and_runs_are_apart(tmp_path: Path) -> None:
    stores = [SqliteStore(tmp_path / "s") for _ in range(2)]
    one, other = (SharedLedger(store, "run", 1.0) for store in stores)
    assert one.reserve(0.75)
    assert not other.reserve(0.5)
    assert SharedLedger(stores[1], "another run", 1.0).reserve(0.5)
    for store in stores:
        store.close()


steps = st.lists(
    st.tuples(
        st.sampled_from(["reserve", "settle", "begin", "end"]), st.integers(0, 8), st.sampled_from(["", "a", "b"])
    ),
    min_size=1,
    max_size=12,
)


@settings(deadline=None)
@given(script=steps)
def test_both_ledgers_behave_alike(
    script: list[tuple[str, int, str]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    store = SqliteStore(tmp_path_factory.mktemp("ledger") / "s")
    ledgers = (MemoryLedger(2.0), SharedLedger(store, "run", 2.0))
    for action, eighths, who in script:
        cost = eighths / 8  # sums of eighths are exact
        said = []
        for ledger in ledgers:
            if action == "reserve":
                said.append(ledger.reserve(cost, who))
            elif action == "settle":
                said.append(ledger.reserve(cost, who) and ledger.settle(cost, cost / 2))
            elif action == "begin":
                said.append(ledger.begin_measuring("j", who))
            elif ledger.measured("j").begun > ledger.measured("j").ended:
                said.append(ledger.end_measuring("j", cost if eighths else None))
        assert said[:1] == said[1:]
        assert ledgers[0].measured("j") == ledgers[1].measured("j")
        assert ledgers[0].spent_usd() == pytest.approx(ledgers[1].spent_usd())
        for count in range(17):
            assert ledgers[0].fits_later(0.125 * count) == ledgers[1].fits_later(0.125 * count)
    store.close()


def test_a_call_dearer_than_the_most_it_could_cost_raises_what_is_set_aside_for_the_others(
    make_ledger: MakeLedger,
) -> None:
    """A server that ignores the limit of tokens is met by all calls that are out, not by the next ones alone."""
    most_usd = [1.0]
    judge = SimpleNamespace(
        name="j", function=None, is_async=True, expect=lambda request: Expected(0, 0, None, most_usd[0], 0.0)
    )
    lane, ledger = Lane(judge, 4), make_ledger(10.0)  # type: ignore[arg-type]
    items = [Item(number, SimpleNamespace(request=None)) for number in range(3)]  # type: ignore[arg-type]
    for item in items:
        assert ledger.reserve(1.0)
        lane.note_out(item, 1.0)
    most_usd[0] = 4.0
    settle(ledger, lane, items[0], SimpleNamespace(cost_usd=3.0, status=OK))  # type: ignore[arg-type]
    assert [item.reserved_usd for item in items[1:]] == [4.0, 4.0]
    assert not ledger.reserve(0.01)  # 3 spent, 8 set aside
    give_back(ledger, lane, items[1])
    settle(ledger, lane, items[2], SimpleNamespace(cost_usd=4.0, status=OK))  # type: ignore[arg-type]
    assert ledger.spent_usd() == 7.0
    assert ledger.reserve(3.0)


@pytest.fixture
def dead() -> int:
    """The number of a process that has ended."""
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def of_process(store: SqliteStore, pid: int, monkeypatch: pytest.MonkeyPatch) -> SharedLedger:
    """A ledger of the run's in another process."""
    monkeypatch.setattr("pytest_novelty.budget.os.getpid", lambda: pid)
    monkeypatch.setattr("pytest_novelty.budget._EVERY_S", 0.0)
    return SharedLedger(store, "run", 1.0)


def test_what_a_dead_process_set_aside_is_spent_and_holds_up_nobody(
    dead: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A killed worker's calls may have been paid for: the budget holds, and is reached at some time."""
    store = SqliteStore(tmp_path / "s")
    gone = of_process(store, dead, monkeypatch)
    assert gone.reserve(0.6)
    assert not gone.reserve(0.6, name_in_line("j"))
    own = of_process(store, os.getppid(), monkeypatch)
    assert own.reserve(0.3, name_in_line("j"))  # past the dead one's place in line
    assert not own.reserve(0.2)
    assert own.spent_usd() == pytest.approx(0.6)
    assert not own.fits_later(0.5)
    own.settle(0.3, 0.1)
    assert own.reserve(0.3)
    store.close()


def test_the_turns_of_a_dead_process_to_measure_are_another_s(
    dead: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SqliteStore(tmp_path / "s")
    gone = of_process(store, dead, monkeypatch)
    assert gone.begin_measuring("j")
    assert gone.begin_measuring("auditor")
    own = of_process(store, os.getppid(), monkeypatch)
    for judge in ("j", "auditor"):
        assert own.begin_measuring(judge) or own.begin_measuring(judge)  # a look frees it, the next asks
        own.end_measuring(judge, 0.1)
        assert own.measured(judge) == Measured(1, 1, 1, 0.1)
    store.close()


class MortalStore(SqliteStore):
    """The store of a process that is killed when it has kept so many transactions more."""

    left = 1_000

    def transaction(self) -> Any:
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        return super().transaction()


@pytest.mark.parametrize("kept", range(4))
@pytest.mark.parametrize("ends", [False, True])
def test_wherever_a_process_dies_another_goes_on_measuring(
    kept: int, ends: bool, dead: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A call that measures, begun or ended by half, would hold up all others for ever."""
    store = MortalStore(tmp_path / "s")
    gone = of_process(store, dead, monkeypatch)
    gone.end_measuring("j", 0.1 if gone.begin_measuring("j") else None)
    if ends:
        assert gone.begin_measuring("j")
    store.left = kept
    with contextlib.suppress(KeyboardInterrupt):
        if ends:
            gone.end_measuring("j", 0.2)
        else:
            gone.begin_measuring("j", name_in_line("j"))
    store.left = 1_000
    own = of_process(store, os.getppid(), monkeypatch)
    assert any(own.begin_measuring("j", "own") for _ in range(3))
    state = own.measured("j")
    assert state.begun == state.ended + 1
    assert own.spent_usd() in (
        pytest.approx(0.1),
        pytest.approx(0.2),
        pytest.approx(0.3),
    )  # with what was out, or without
    own.end_measuring("j", 0.1)
    assert own.reserve(1.0 - own.spent_usd())  # nothing is still set aside
    store.close()


def test_what_a_living_process_set_aside_stays_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = SqliteStore(tmp_path / "s")
    assert of_process(store, os.getppid(), monkeypatch).reserve(0.6)
    own = of_process(store, 1, monkeypatch)
    assert not own.reserve(0.6)
    assert own.spent_usd() == 0.0
    store.close()
