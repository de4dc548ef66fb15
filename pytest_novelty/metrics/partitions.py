"""Grouping: which of a set's papers belong together, as pairs of papers (STATISTICS.md 4).

A predicted group is verified, hallucinated or mismatched as a whole and then becomes its pairs, which are compared with the gold
pairs. Papers are named by their place in the set as the *suite* has it, whatever order they were shown in: so nothing here can
depend on that order, and a judge whose answer does shows in :func:`order_inconsistency`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, TypeAlias

import numpy as np

from pytest_novelty.metrics.cascade import (
    FALSE,
    FN,
    LOST_NEGATIVES,
    LOST_POSITIVES,
    TN,
    TRUE,
    UNCHECKED,
    UNLABELLED,
    Cascade,
    Cell,
    cell_of,
    claim,
    empty,
)
from pytest_novelty.metrics.resampling import BoolArray, FloatArray, IntArray
from pytest_novelty.metrics.sampled import MEAN, Counted, Rate, Sampled, Units, measure

Groups: TypeAlias = Sequence[Sequence[int]]
"""Members by place, 0-based. A paper in no group is alone."""

_APART: Final = -1
_LEAST_RAND: Final = -0.5
"""Of the adjusted Rand index: two pairs against the other two of four papers."""


@dataclass(frozen=True, slots=True)
class Group:
    """A predicted group. ``evidence``: a word of ``cascade.EVIDENCE`` per member; ``audit``: one of ``cascade.AUDITS``."""

    members: tuple[int, ...]
    evidence: tuple[str, ...] = ()
    audit: str = UNCHECKED


@dataclass(frozen=True, slots=True)
class Answer:
    """One sample of one set of papers; ``groups``: None where there is no valid answer, empty where no papers belong together."""

    item: str
    sample: int
    groups: tuple[Group, ...] | None


@dataclass(frozen=True, slots=True)
class PaperSet:
    """How many papers a set has, and its gold groups (None: unlabelled; one of a single paper is legal and makes no pair)."""

    papers: int
    gold: Groups | None


def pairs_of(groups: Groups) -> set[tuple[int, int]]:
    """The unordered pairs within groups, the smaller place first."""
    return {(a, b) for group in groups for a in group for b in group if a < b}


def adjusted_rand(both: FloatArray, predicted: FloatArray, gold: FloatArray, papers: FloatArray) -> FloatArray:
    """Hubert and Arabie's (1985) index from numbers of pairs; 1 is the same partition, 0 what chance gives.

    ``both``: pairs together in both partitions; ``predicted``, ``gold``: in the one; ``papers``: in the set. Two partitions that
    leave nothing to chance (all alone, or all together, in both) are equal: 1.
    """
    every = papers * (papers - 1) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        expected = predicted * gold / every
        room = (predicted + gold) / 2 - expected
        return np.where(np.abs(room) > 1e-12, (both - expected) / room, 1.0)


# --- counting ---------------------------------------------------------------------------------------------------


def count_pairs(answers: Iterable[Answer], sets: Mapping[str, PaperSet]) -> Cascade:
    """Pairs of papers, each in the cell of its group; the rows are the items of ``sets``, in its order.

    A pair in two groups (a hand-made file) is in the worse one's cell, once. An invalid answer loses every gold pair. Raises
    ValueError for an unknown item, a second answer to the same item and sample, a group of fewer than two papers, a paper twice
    in a group or outside of its set.
    """
    answers = list(answers)
    cascade, rows = _empty_of(answers, sets)
    cells = _cell_matrices(answers, sets)
    gold, real = _gold_matrices(sets)
    labelled = np.array([one.gold is not None for one in sets.values()], dtype=bool)[rows, None, None]
    gold, real, samples = gold[rows], real[rows], np.array([answer.sample for answer in answers], dtype=np.int64)
    failed = np.array([answer.groups is None for answer in answers], dtype=bool)
    valid = ~failed[:, None, None]

    def put(column: int, pairs: BoolArray) -> None:
        cascade.counts[rows, samples, column] = pairs.sum(axis=(1, 2))

    for cell in Cell:
        put(TRUE + cell, (cells == cell) & gold)
        put(FALSE + cell, (cells == cell) & labelled & ~gold)
        put(UNLABELLED + cell, (cells == cell) & ~labelled)
    apart = (cells == _APART) & real & labelled
    put(FN, apart & gold & valid)
    put(TN, apart & ~gold & valid)
    put(LOST_POSITIVES, apart & gold & ~valid)
    put(LOST_NEGATIVES, apart & ~gold & ~valid)
    return cascade


def _empty_of(answers: Sequence[Answer], sets: Mapping[str, PaperSet]) -> tuple[Cascade, IntArray]:
    """Nothing counted yet, all answers marked as asked, and the row of each."""
    cascade = empty(tuple(sets), 1 + max((answer.sample for answer in answers), default=0))
    places = {item: row for row, item in enumerate(sets)}
    rows = [claim(cascade, places, answer.item, answer.sample) for answer in answers]
    for row, answer in zip(rows, answers, strict=True):
        cascade.failed[row, answer.sample] = answer.groups is None
    return cascade, np.array(rows, dtype=np.int64)


@cache
def _pairs_within(size: int) -> tuple[IntArray, IntArray]:
    first, second = np.triu_indices(size, 1)
    return first, second


def _cell_matrices(answers: Sequence[Answer], sets: Mapping[str, PaperSet]) -> IntArray:
    """(answers, papers, papers) the cell of each pair, above the diagonal; -1 where its papers are apart."""
    size = max((one.papers for one in sets.values()), default=0)
    cells = np.full((len(answers), size, size), _APART, dtype=np.int64)
    places: list[tuple[int, Group]] = []
    for place, answer in enumerate(answers):
        for group in answer.groups or ():
            _check(group, answer.item, sets[answer.item].papers)
            places.append((place, group))
    if places:
        which = np.concatenate([np.full(len(_pairs_within(len(g.members))[0]), p) for p, g in places])
        members = [np.sort(np.array(group.members, dtype=np.int64)) for _, group in places]
        first, second = (np.concatenate([m[_pairs_within(len(m))[side]] for m in members]) for side in (0, 1))
        found = np.concatenate(
            [np.full(len(_pairs_within(len(g.members))[0]), cell_of(g.evidence, g.audit)) for _, g in places]
        )
        np.maximum.at(cells, (which, first, second), found)
    return cells


def _gold_matrices(sets: Mapping[str, PaperSet]) -> tuple[BoolArray, BoolArray]:
    """(sets, papers, papers), above the diagonal: the gold pairs, and all there are."""
    size = max((one.papers for one in sets.values()), default=0)
    gold, real = np.zeros((2, len(sets), size, size), dtype=bool)
    for row, (item, one) in enumerate(sets.items()):
        first, second = _pairs_within(one.papers)
        real[row, first, second] = True
        for a, b in pairs_of(one.gold or ()):
            if not 0 <= a < b < one.papers:
                raise ValueError(f"{item!r}: a gold group has paper {b if b >= one.papers else a} of {one.papers}")
            gold[row, a, b] = True
    return gold, real


def _check(group: Group, item: str, papers: int) -> None:
    if len(group.members) < 2 or len(set(group.members)) < len(group.members):
        raise ValueError(f"{item!r}: a group has two different papers or more, not {list(group.members)}")
    if not all(0 <= member < papers for member in group.members):
        raise ValueError(f"{item!r}: papers are 0 to {papers - 1}, not {list(group.members)}")


def measure_rand(units: Units, cascade: Cascade, sets: Mapping[str, PaperSet]) -> Rate:
    """The adjusted Rand index of each labelled set, averaged; an invalid answer earns 0. ``cascade``: of ``count_pairs``."""
    counted = count_rand(cascade, sets)
    found = measure(units, {"adjusted_rand": Sampled(counted, MEAN, minimum=_LEAST_RAND)})
    return found["adjusted_rand"]


def count_rand(cascade: Cascade, sets: Mapping[str, PaperSet]) -> Counted:
    """The index of each set in each sample, over 1 where the set has one."""
    counts = cascade.counts
    both = counts[..., TRUE : TRUE + len(Cell)].sum(axis=-1)
    predicted = both + counts[..., FALSE : FALSE + len(Cell)].sum(axis=-1)
    gold = both + counts[..., FN] + counts[..., LOST_POSITIVES]
    papers = np.array([sets[item].papers for item in cascade.items], dtype=np.float64)[:, None]
    labelled = np.array([sets[item].gold is not None for item in cascade.items], dtype=bool)[:, None]
    known = cascade.asked & labelled
    values = np.where(known & ~cascade.failed, adjusted_rand(both, predicted, gold, papers), 0.0)
    return Counted(values, known.astype(np.float64))


# --- the order in which papers are shown ------------------------------------------------------------------------


def together_votes(answers: Sequence[Groups | None], papers: int) -> IntArray:
    """(pairs, 2): how many valid answers put a pair together, and how many apart; None is no valid answer."""
    votes = np.zeros((papers * (papers - 1) // 2, 2), dtype=np.int64)
    place = {(int(a), int(b)): row for row, (a, b) in enumerate(zip(*_pairs_within(papers), strict=True))}
    for groups in answers:
        if groups is not None:
            together = np.zeros(len(votes), dtype=bool)
            together[[place[pair] for pair in pairs_of(groups)]] = True
            votes[:, 0] += together
            votes[:, 1] += ~together
    return votes


def order_inconsistency(orders: Sequence[IntArray]) -> float:
    """1.0 if two orders of the same papers give different partitions, 0.0 if all give the same; nan without votes in two.

    ``orders``: the ``together_votes`` of each. A pair's papers are together, apart or split in an order, by majority: as for two
    ideas, one that is split in one order and not in the other is inconsistent. Its mean over instances is a share of them.
    """
    known = [votes for votes in orders if votes.sum()]
    if len(known) < 2:
        return float("nan")
    majorities = np.array([np.sign(votes[:, 0] - votes[:, 1]) for votes in known])
    return float((majorities != majorities[0]).any())
