"""Contiguous slices of the cases, one a worker, cut where an instance ends: judges of one instance stay together."""

from __future__ import annotations

from collections.abc import Hashable, Sequence


def cut(groups: Sequence[Hashable], slots: int) -> list[range]:
    """``slots`` ranges that cover ``groups`` in order, of nearly equal length, no run of equal groups divided."""
    starts = [index for index in range(len(groups)) if index == 0 or groups[index] != groups[index - 1]]
    bounds = [0]
    for slot in range(1, slots):
        wanted = len(groups) * slot / slots
        bounds.append(min((*starts, len(groups)), key=lambda start: (abs(start - wanted), start)))
    bounds = sorted((*bounds, len(groups)))
    return [range(bounds[slot], bounds[slot + 1]) for slot in range(slots)]
