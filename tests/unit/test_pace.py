"""Turns come evenly spaced, whoever takes them; no minute has more than the rate; a run that was killed holds up nobody."""

from __future__ import annotations

import asyncio
import itertools
import random
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty import pace as paces
from pytest_novelty.judges.base import Pace
from pytest_novelty.judges.llm.files import LlmSettings
from pytest_novelty.judges.llm.judge import LlmJudge
from pytest_novelty.pace import MemoryPace
from pytest_novelty.store import SqliteStore

MakePaces = Callable[[int], list[Pace]]


class Clock:
    """Time that passes only when it is told to."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(paces, "time", made)
    return made


@pytest.fixture(params=["memory", "shared"])
def make_paces(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakePaces]:
    """So many processes' turns of one account."""
    stores: list[SqliteStore] = []
    one = MemoryPace()

    def make(count: int) -> list[Pace]:
        if request.param == "memory":
            return [one] * count
        stores.extend(SqliteStore(tmp_path / "verdicts.sqlite") for _ in range(count))
        return [store.pace("account") for store in stores[-count:]]

    yield make
    for store in stores:
        store.close()


def send(turns: list[Pace], clock: Clock, step: float, count: int, late_s: float = 0.0) -> list[float]:
    """When so many calls are sent by processes that all have more to send and wake up late, in random order."""
    order = random.Random(7)
    sent: list[float] = []
    while len(sent) < count:
        waits = []
        for one in order.sample(turns, len(turns)):
            if (wait := one.take_turn(step)) == 0:
                sent.append(clock.now)
            else:
                waits.append(wait)
        if waits:
            clock.now += min(waits) + order.uniform(0, late_s)
    return sent


def most_in(sent: list[float], window_s: float) -> int:
    return max(sum(start <= time < start + window_s for time in sent) for start in sent)


@pytest.mark.parametrize(("rate", "late_s"), [(30, 0.0), (60, 0.0), (60, 0.05), (600, 0.02)])
def test_no_minute_has_more_calls_than_the_rate_and_few_have_less(
    rate: int, late_s: float, make_paces: MakePaces, clock: Clock
) -> None:
    settings = LlmSettings("openai", "m", "m", requests_per_minute=rate)
    step = LlmJudge(settings)._step_s(0)
    sent = send(make_paces(4), clock, step, 3 * rate, late_s)
    assert most_in(sent, 60.0) <= rate
    assert sent[-1] - sent[0] <= 3 * 61.0 * 1.01


def test_a_call_that_is_a_little_late_delays_no_other_but_no_burst_follows_a_rest(
    make_paces: MakePaces, clock: Clock
) -> None:
    (turns,) = make_paces(1)
    assert turns.take_turn(1.0) == 0
    clock.now += 1.05
    assert turns.take_turn(1.0) == 0
    assert turns.take_turn(1.0) == pytest.approx(0.95, abs=1e-3)
    clock.now += 1_000
    assert turns.take_turn(1.0) == 0
    assert turns.take_turn(1.0) == pytest.approx(1.0, abs=1e-3)


def test_turns_are_taken_by_one_of_many_threads(make_paces: MakePaces, clock: Clock) -> None:
    turns = make_paces(4)
    barrier = threading.Barrier(4)
    found: list[float] = []

    def take(one: Pace) -> None:
        barrier.wait()
        found.extend(one.take_turn(10.0) for _ in range(20))

    threads = [threading.Thread(target=take, args=(one,)) for one in turns]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.count(0.0) == 1
    assert len(found) == 80


def test_a_process_that_was_killed_holds_up_nobody_for_longer_than_its_last_turn(
    make_paces: MakePaces, clock: Clock
) -> None:
    """Sixty-four calls wait in it; none has taken a turn that was not due."""
    killed, following = make_paces(2)
    waits = [killed.take_turn(10.0) for _ in range(64)]
    assert waits.count(0.0) == 1
    wait = following.take_turn(10.0)
    assert 0 < wait <= 10.0
    clock.now += wait
    assert following.take_turn(10.0) == 0


def test_a_clock_that_was_set_back_stops_nobody(make_paces: MakePaces, clock: Clock) -> None:
    (turns,) = make_paces(1)
    assert turns.take_turn(1.0) == 0
    clock.now -= 86_400
    assert turns.take_turn(1.0) == 0
    assert 0 < turns.take_turn(1.0) <= 1.0


def test_calls_of_a_judge_take_their_turns_in_their_order() -> None:
    """And only one of them asks for a turn at a time."""
    asked: list[int] = []
    taken = itertools.count()

    class Turns:
        def take_turn(self, step_s: float) -> float:
            asked.append(threading.active_count())
            return 0.001 if len(asked) % 3 else 0.0

    made = LlmJudge(replace(LlmSettings("openai", "m", "m"), requests_per_minute=60.0))
    made.keep_pace(Turns())
    order: list[tuple[int, int]] = []

    async def call(number: int) -> None:
        await made._wait_for_turn(1.0)
        order.append((number, next(taken)))

    async def calls() -> Any:
        await asyncio.gather(*(call(number) for number in range(10)))

    asyncio.run(calls())
    assert order == [(number, number) for number in range(10)]
    assert len(asked) == 30
