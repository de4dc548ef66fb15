"""A judge's lane: its queue and limit, the calls in it, and what a runner of calls owes the engine."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from pytest_novelty.budget import Ledger, name_in_line
from pytest_novelty.calls import Call
from pytest_novelty.errors import NoveltyError
from pytest_novelty.judges.base import Judge
from pytest_novelty.model import OK, Record

_INSTANT_S: Final = 0.0005
_SILENCE_S: Final = 150.0
_LEAST_USD: Final = 1e-6


@dataclass(slots=True)
class Item:
    """A call in a queue: its place in the order of submission, and what the budget set aside for it."""

    number: int
    call: Call
    reserved_usd: float | None = None
    measures: bool = False


@dataclass
class Lane:
    """One judge's queue and limit, and what is known of its pace."""

    judge: Judge
    limit: int
    queue: deque[Item] = field(default_factory=deque)
    in_flight: int = 0
    mean_s: float | None = None
    stored_cost_usd: float | None = None
    recent_usd: deque[float] = field(default_factory=lambda: deque(maxlen=5))
    entering: bool = False
    entered: bool = False
    denied: bool = False
    denied_since: float | None = None
    exhausted: bool = False
    broken: NoveltyError | None = None
    out: dict[int, Item] = field(default_factory=dict)
    """Calls that are out and for which money is set aside, by their numbers."""
    out_lock: threading.Lock = field(default_factory=threading.Lock)
    in_line_as: str = ""
    """Its name, told apart from the same judge's in other workers, in the line of those who wait for money."""
    function: Callable[[Any], Any] = field(init=False)
    is_async: bool = field(init=False)

    def __post_init__(self) -> None:
        self.in_line_as = name_in_line(self.judge.name)
        self.function = self.judge.function
        self.is_async = self.judge.is_async

    def add(self, item: Item) -> None:
        """Queue a call behind all that are before it in the order of submission."""
        place = len(self.queue)
        while place and self.queue[place - 1].number > item.number:
            place -= 1
        self.queue.insert(place, item)

    @property
    def ready(self) -> bool:
        return bool(
            self.queue
            and self.in_flight < (1 if self.instant else self.limit)
            and not self.denied
            and self.broken is None
            and not (self.entering and not self.entered)
        )

    @property
    def instant(self) -> bool:
        """A free sync judge that computes and does not wait: one thread with long chunks serves it best (one GIL).

        Not a paid one: its calls go singly, so that each is kept as soon as it has ended.
        """
        is_free = self.judge.traits.cost_usd_per_call == 0.0
        return is_free and not self.is_async and self.mean_s is not None and self.mean_s < _INSTANT_S

    def price_usd(self, base: float) -> float:
        """What to set aside for a call: the price as it was known, or the latest calls' if those cost more."""
        return max(base, sum(self.recent_usd) / len(self.recent_usd)) if self.recent_usd else base

    def note_out(self, item: Item, cost: float | None) -> None:
        """``cost`` is set aside for this call, or it measures what its judge costs."""
        item.reserved_usd = cost
        item.measures = cost is None
        self.out[item.number] = item

    def note_latency(self, seconds: float) -> None:
        self.mean_s = seconds if self.mean_s is None else 0.8 * self.mean_s + 0.2 * seconds


class Finish(Protocol):
    """What a runner calls when a chunk ended; the result is the calling worker's next chunk."""

    def __call__(
        self, lane: Lane, items: list[Item], records: list[Record], seconds: float, worker: object = None
    ) -> tuple[Lane, list[Item]] | None: ...


@dataclass
class Overdue:
    """A chunk that is taken back: what was done, what is stuck, what was not begun."""

    lane: Lane
    done: list[tuple[Item, Record]]
    stuck: list[Item]
    rest: list[Item]


def settle(ledger: Ledger, lane: Lane, item: Item, record: Record) -> None:
    """Tell the ledger what a call cost, and what those that are still out may cost after what it has shown."""
    if record.cost_usd is not None:
        lane.recent_usd.append(record.cost_usd)
    with lane.out_lock:
        lane.out.pop(item.number, None)
        if item.measures:
            ledger.end_measuring(lane.judge.name, record.cost_usd, counts=record.status == OK)
        elif item.reserved_usd is not None:
            cost = item.reserved_usd if record.cost_usd is None else record.cost_usd
            ledger.settle(item.reserved_usd, cost)
            if cost > item.reserved_usd:
                _set_more_aside(ledger, lane)


def _set_more_aside(ledger: Ledger, lane: Lane) -> None:
    """A call cost more than the most it could: so may the others, whatever was set aside for them when they were sent."""
    for item in list(lane.out.values()):
        expected = lane.judge.expect(item.call.request)
        bound = None if expected is None else expected.bound_usd
        if bound is not None and item.reserved_usd is not None and bound > item.reserved_usd:
            ledger.settle(item.reserved_usd - bound, 0.0)
            item.reserved_usd = bound


def give_back(ledger: Ledger | None, lane: Lane, item: Item) -> None:
    """A call came to nothing and will be sent again: what was set aside for it is free."""
    if ledger is None:
        return
    with lane.out_lock:
        lane.out.pop(item.number, None)
        if item.measures:
            ledger.end_measuring(lane.judge.name, None, counts=False)
        elif item.reserved_usd is not None:
            ledger.settle(item.reserved_usd, 0.0)


def may_come_back(ledger: Ledger, lane: Lane, cost: float | None) -> bool:
    """Others have set aside what is missing, and a call of theirs may still cost less; not if they are silent."""
    lane.denied_since = lane.denied_since or time.monotonic()
    is_silent = time.monotonic() - lane.denied_since > min(lane.judge.traits.timeout_s, _SILENCE_S)
    least = max(ledger.measured(lane.judge.name).mean_usd or 0.0, _LEAST_USD) if cost is None else cost
    return not is_silent and ledger.fits_later(least)


def measuring_is_over(ledger: Ledger, lane: Lane) -> bool:
    """No call of another worker is out to measure the cost: there is nothing left to wait for."""
    measured = ledger.measured(lane.judge.name)
    return measured.begun == measured.ended
