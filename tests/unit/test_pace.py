"""Turns come evenly spaced, whoever takes them, and a run that was killed holds up nobody."""

from __future__ import annotations

import itertools
import threading
import time
from pathlib import Path

import pytest

from pytest_novelty.pace import MemoryPace
from pytest_novelty.store import SqliteStore


@pytest.mark.parametrize("shared", [False, True])
def test_turns_are_a_step_apart(shared: bool, tmp_path: Path) -> None:
    stores = [SqliteStore(tmp_path / "verdicts.sqlite") for _ in range(3)] if shared else []
    paces = [store.pace("judge") for store in stores] or [MemoryPace()] * 3
    turns: list[float] = []

    def take(number: int) -> None:
        turns.extend(paces[number].take_turn(0.25) for _ in range(20))

    threads = [threading.Thread(target=take, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    turns.sort()
    assert len(turns) == 60
    assert all(later - earlier >= 0.2499 for earlier, later in itertools.pairwise(turns))
    for store in stores:
        store.close()


def test_the_rate_is_kept_however_many_calls_wait(tmp_path: Path) -> None:
    """Four hundred turns at one a second are spread over 400 s, also where they are taken at once."""
    store = SqliteStore(tmp_path / "verdicts.sqlite")
    for pace in (store.pace("judge"), MemoryPace()):
        turns = [pace.take_turn(1.0) for _ in range(400)]
        assert all(later - earlier >= 0.9999 for earlier, later in itertools.pairwise(turns))
    store.close()


def test_turns_that_nobody_took_hold_up_a_faster_run_only_for_a_moment(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "verdicts.sqlite")
    for _ in range(20):
        store.pace("judge").take_turn(10.0)
    assert store.pace("judge").take_turn(0.01) - time.time() <= 4096 * 0.01
    store.close()
