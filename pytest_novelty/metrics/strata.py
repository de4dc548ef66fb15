"""Parts of the items: those of each dimension, and of each value of a stratum that a suite declares (source, year, ...)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, TypeAlias, TypeVar

import numpy as np

from pytest_novelty.metrics.resampling import BoolArray
from pytest_novelty.metrics.sampled import Among, Units
from pytest_novelty.model import Instance, Suite

T = TypeVar("T")

Strata: TypeAlias = Mapping[str, Sequence[str | None]]
"""By name the value of each item, (items,); None is in no stratum."""

DIMENSION: Final = "dimension"
_MOST_VALUES: Final = 12
"""Of a stratum, for something to be told of each."""


def strata_of(suite: Suite, instances: Sequence[Instance]) -> dict[str, list[str | None]]:
    """The dimension, and those strata of the suite that tell a few groups apart; of items by their instances."""
    found: dict[str, list[str | None]] = {DIMENSION: [instance.dimension or None for instance in instances]}
    for name in sorted({name for instance in instances for name in instance.strata}):
        values = [instance.strata.get(name) for instance in instances]
        if name != suite.cluster and 2 <= len(set(values)) <= _MOST_VALUES:
            found[name] = values
    return found


def parts_of(values: Sequence[str | None]) -> Iterator[tuple[str, BoolArray]]:
    """Each value in turn, and the items that have it, (items,)."""
    texts = np.array(["" if value is None else str(value) for value in values])
    known = np.array([value is not None for value in values], dtype=bool)
    for value in sorted(set(texts[known].tolist())):
        yield value, known & (texts == value)


def measure_within(
    units: Units, strata: Strata, measure: Callable[[Units, Sequence[int]], T]
) -> dict[str, dict[str, T]]:
    """By stratum and value, what ``measure`` says of the items there: the units and their places among all."""
    return {
        name: {value: measure(Among(units, mask), np.flatnonzero(mask).tolist()) for value, mask in parts_of(values)}
        for name, values in strata.items()
    }
