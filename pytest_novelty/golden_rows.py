"""The votes on an instance as a field of a line of a golden file, written and read back."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from pytest_novelty.labels_as_text import PARTITION, WITHOUT_NAME, Contradiction, read_partition, write_partition
from pytest_novelty.masking import shorten
from pytest_novelty.protocols import Protocol, has_two_labels

NO_VOTES: Final = "-"

_TALLY: Final = re.compile(r"(?:(ab|ba) )?(\d{1,9}(?::\d{1,9}){1,4})\Z")
_ITEM: Final = re.compile(rf"(ab|ba) (\d{{1,9}})(?: (abstained|failed|{PARTITION}))?(, |\Z)")
_COUNTS: Final = 5
_NAMELESS: Final = {"abstained": -2, "failed": -1}
"""What votes may be that are for no partition, with their places among the counts."""
_TWO: Final = "label, votes for the first label : the second : ties : abstentions : failures"
_MANY: Final = "partition, in each order the votes for it, for others, abstained and failed ones"


class Counted(NamedTuple):
    """``tallies``: (order, (votes for each name, ties, abstentions, failures)); ``names``: the labels that are counted, sorted,
    where the protocol does not say which there are.
    """

    tallies: tuple[tuple[str | None, tuple[int, ...]], ...]
    names: tuple[str, ...] = ()


def heading(protocol: Protocol) -> str:
    """What the fields of a line are."""
    return f"# instance, {_TWO if has_two_labels(protocol.name) else _MANY}, digest of what was shown"


def write_votes(label: str | None, counted: Counted, protocol: Protocol) -> str:
    if has_two_labels(protocol.name):
        return ", ".join(_tally(order, counts) for order, counts in counted.tallies) or NO_VOTES
    return ", ".join(_items(label, counted)) or NO_VOTES


def read_votes(text: str, label: str | None, protocol: Protocol) -> Counted:
    """What :func:`write_votes` wrote. Raises ValueError (Contradiction for what no run writes)."""
    if text == NO_VOTES:
        return Counted(())
    if has_two_labels(protocol.name):
        return Counted(tuple(_read_tally(part) for part in text.split(", ")))
    return _read_items(text, label)


# --- two labels ---------------------------------------------------------------------------------------------


def _tally(order: str | None, counts: tuple[int, ...]) -> str:
    kept = list(counts)
    while len(kept) > 2 and kept[-1] == 0:
        kept.pop()
    text = ":".join(map(str, kept))
    return text if order is None else f"{order} {text}"


def _read_tally(text: str) -> tuple[str | None, tuple[int, ...]]:
    found = _TALLY.match(text)
    if found is None:
        raise ValueError(text)
    counts = [int(count) for count in found[2].split(":")]
    return found[1], tuple(counts + [0] * (_COUNTS - len(counts)))


# --- many: partitions of papers -----------------------------------------------------------------------------


def _items(label: str | None, counted: Counted) -> list[str]:
    """``ab 2, ab 1 {a b}``: votes for the label of the line first, then the most votes, then those that name nothing."""
    found = []
    for order, counts in counted.tallies:
        own = zip(counted.names, counts, strict=False)
        ranked = sorted(own, key=lambda item: (item[0] != label, -item[1], item[0]))
        kinds = [("" if name == label else f" {write_partition(name)}", count) for name, count in ranked]
        kinds += [(f" {kind}", counts[place]) for kind, place in _NAMELESS.items()]
        found += [f"{order} {count}{kind}" for kind, count in kinds if count]
    return found


def _read_items(text: str, label: str | None) -> Counted:
    orders: dict[str, dict[str, int]] = {}
    at, more = 0, True
    while more:
        found = _ITEM.match(text, at)
        if found is None:
            raise ValueError(text)
        at, more = found.end(), bool(found[4])
        order, count, kind = found[1], int(found[2]), _kind(found[3], label)
        if order in orders and order != next(reversed(orders)):
            raise Contradiction("an order is there twice")
        counts = orders.setdefault(order, {})
        if kind in counts or not count:
            times = "twice" if count else "0 times"
            raise Contradiction(f"votes are counted {times}: {shorten(found[0].removesuffix(', '), 60)}")
        counts[kind] = count
    names = tuple(sorted({kind for counts in orders.values() for kind in counts} - set(_NAMELESS)))
    return Counted(
        tuple(
            (o, (*(counts.get(n, 0) for n in names), 0, *(counts.get(k, 0) for k in _NAMELESS)))
            for o, counts in orders.items()
        ),
        names,
    )


def _kind(text: str | None, label: str | None) -> str:
    """What votes are for: a label, or nothing. Raises Contradiction."""
    if text in _NAMELESS:
        return str(text)
    if text is None:
        if label is None or label in WITHOUT_NAME:
            raise Contradiction("votes are counted for no partition")
        return label
    named = read_partition(text)
    if named == label:
        raise Contradiction(f"{shorten(text, 60)} is the partition of the line, and is named again beside votes")
    return named
