"""A case's calls on their way through the engine."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_novelty.calls import Call
from pytest_novelty.model import Record


@dataclass
class Ticket:
    """The calls of one case on their way. ``records`` are in the order of ``calls``, None while missing;
    ``reused`` are the indices of those that the store had."""

    calls: Sequence[Call]
    records: list[Record | None] = field(default_factory=list)
    reused: set[int] = field(default_factory=set)
    missing: list[Call] = field(default_factory=list)
    pending: int = 0
    stopped: bool = False
    event: threading.Event | None = None

    def __post_init__(self) -> None:
        self.records = [None] * len(self.calls)

    @property
    def is_complete(self) -> bool:
        """All its records are there."""
        return self.pending == 0 and all(record is not None for record in self.records)

    def count_down(self) -> None:
        """One call less to wait for; the engine holds its lock."""
        self.pending -= 1
        if self.pending == 0 and self.event is not None:
            self.event.set()
