"""Estimates whose bootstrap is still to come, so that those of a whole suite are taken from one matrix product.

A metric function decorated with :func:`deferrable` may return a :class:`Pending`. Called, it settles that at once; its ``later``
hands it out, and :func:`settle` solves as many as there are together.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import update_wrapper
from typing import Generic, ParamSpec, TypeAlias

from pytest_novelty.metrics.resampling import Interval, Resampler, Statistic, bca_all
from pytest_novelty.metrics.view import Estimate


@dataclass(frozen=True)
class Pending:
    """``finish`` makes the estimate from the BCa interval (None where undefined) of ``stat`` at ``level``."""

    stat: Statistic
    resampler: Resampler
    level: float
    finish: Callable[[Interval | None], Estimate]


Computed: TypeAlias = Estimate | Pending

P = ParamSpec("P")


def then(computed: Computed, change: Callable[[Estimate], Estimate]) -> Computed:
    """Change an estimate when it is there."""
    if isinstance(computed, Estimate):
        return change(computed)
    return replace(computed, finish=lambda core: change(computed.finish(core)))


def settle(items: Sequence[Computed]) -> list[Estimate]:
    """Every estimate, in order; the bootstraps over the same units share their resamples and are taken together."""
    waiting: dict[int, list[int]] = {}
    for place, item in enumerate(items):
        if isinstance(item, Pending):
            waiting.setdefault(id(item.resampler), []).append(place)
    cores: dict[int, Interval | None] = {}
    for places in waiting.values():
        pending = [item for place in places if isinstance(item := items[place], Pending)]
        found = bca_all([item.stat for item in pending], pending[0].resampler, [item.level for item in pending])
        cores.update(zip(places, found, strict=True))
    return [item if isinstance(item, Estimate) else item.finish(cores[place]) for place, item in enumerate(items)]


class Deferrable(Generic[P]):
    """A metric function in two forms: settled when called, ``later`` with its bootstrap still to come."""

    def __init__(self, function: Callable[P, Computed]) -> None:
        self.later = function
        update_wrapper(self, function)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> Estimate:
        return settle([self.later(*args, **kwargs)])[0]


def deferrable(function: Callable[P, Computed]) -> Deferrable[P]:
    return Deferrable(function)
