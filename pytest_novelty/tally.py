"""Sums over calls: how many were made, what is known of their cost and tokens, and what is not."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pytest_novelty.model import Record


class Made(NamedTuple):
    """Calls that ended in a run, whether their cases did or not: how many, the cost of those that told it, how many did not."""

    calls: int = 0
    known_usd: float = 0.0
    unpriced: int = 0

    def plus(self, other: Made) -> Made:
        return Made(self.calls + other.calls, self.known_usd + other.known_usd, self.unpriced + other.unpriced)

    @classmethod
    def of(cls, records: Sequence[Record]) -> Made:
        costs = [record.cost_usd for record in records if record.cost_usd is not None]
        return cls(len(records), sum(costs), len(records) - len(costs))


def sum_told(counts: Iterable[tuple[int, int | None]]) -> int | None:
    """The sum over (calls made, their tokens); None if calls were made and none told its tokens."""
    asked = [tokens for made, tokens in counts if made]
    told = [tokens for tokens in asked if tokens is not None]
    return sum(told) if told or not asked else None


def part_of(tokens: int | None, whole: int | None) -> int:
    """Tokens that are a part of others cannot be more than these, whatever a server says."""
    return min(tokens or 0, whole or 0)
