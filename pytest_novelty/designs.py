"""Which ideas to compare: pairs and triads of ids, balanced, seeded, and the same whatever order the ids come in.

Every design is a sequence of which any beginning is balanced, so a larger sample has the smaller one in it. Ideas are paired
within their group only.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from math import lcm
from typing import Final, TypeVar

from pytest_novelty.digests import derive_seed, seed_source

RANDOM: Final = "random"
TRIADS: Final = "triads"
COMPLETE: Final = "complete"
DESIGNS: Final = (RANDOM, TRIADS, COMPLETE)

_FEW: Final = 12
_ATTEMPTS: Final = 24

Pair = tuple[str, str]
Triad = tuple[str, str, str]
_Block = TypeVar("_Block", Pair, Triad)


def shuffled(ids: Iterable[str], seed: int, use: str = "idea") -> list[str]:
    """A permutation that depends on the ids and the seed, not on the order in which they are given."""
    return sorted(ids, key=lambda name: (derive_seed(seed_source(use, seed, name), 0), name))


def complete_pairs(groups: Sequence[Sequence[str]], seed: int) -> Iterator[Pair]:
    """All pairs within groups."""
    return (pair for group in groups for pair in combinations(shuffled(group, seed), 2))


def random_pairs(groups: Sequence[Sequence[str]], seed: int) -> Iterator[Pair]:
    """All pairs within groups, in an order of which every beginning has each idea of a group k or k + 1 times, and the
    groups as evenly as their sizes allow.
    """
    return _take_turns([(len(group), _balanced(shuffled(group, seed))) for group in groups])


def crossed_pairs(groups: Sequence[tuple[Sequence[str], Sequence[str]]], seed: int) -> Iterator[Pair]:
    """All pairs of one idea of the first side and one of the second, in an order balanced on both sides."""
    return _take_turns(
        [(len(ours) + len(base), _crossed(shuffled(ours, seed), shuffled(base, seed))) for ours, base in groups]
    )


def triads(groups: Sequence[Sequence[str]], seed: int) -> Iterator[Triad]:
    """Triples of which no two have a pair in common, those ideas first that are in the fewest; until none is left to find.

    They are found greedily, so there may be a few fewer than there could be.
    """
    return _take_turns(
        [(len(g), _pack_few(g, seed) if len(g) <= _FEW else _pack(shuffled(g, seed))) for g in map(list, groups)]
    )


def place_first(pairs: Iterable[Pair], seed: int) -> Iterator[Pair]:
    """Each pair with that idea first that has so far been first less often (else by the seed)."""
    lead: Counter[str] = Counter()
    for one, two in pairs:
        ahead = lead[one] - lead[two]
        if ahead == 0:
            ahead = 1 if derive_seed(seed_source("first", seed, *sorted((one, two))), 0) % 2 == (one < two) else -1
        first, second = (two, one) if ahead > 0 else (one, two)
        lead[first] += 1
        lead[second] -= 1
        yield first, second


def _take_turns(groups: Sequence[tuple[int, Iterator[_Block]]]) -> Iterator[_Block]:
    """From that group next whose ideas have had the fewest turns on average."""
    heap = [(0.0, number) for number in range(len(groups))]
    taken = [0] * len(groups)
    while heap:
        _, number = heapq.heappop(heap)
        size, blocks = groups[number]
        block = next(blocks, None)
        if block is not None:
            yield block
            taken[number] += len(block)
            heapq.heappush(heap, (taken[number] / size, number))


def _balanced(ids: Sequence[str]) -> Iterator[Pair]:
    """All pairs of a group. An even number of ideas: perfect matchings one after the other, by the circle method. An odd one:
    Hamiltonian cycles (Walecki's), of each first every other edge, then the rest.
    """
    if len(ids) % 2 == 0:
        *circle, centre = ids
        n = len(circle)
        for turn in range(n):
            yield centre, circle[turn]
            for step in range(1, len(ids) // 2):
                yield circle[(turn + step) % n], circle[(turn - step) % n]
        return
    centre, *circle = ids
    n = len(circle)
    for turn in range(n // 2):
        zigzag = [0, *(sign * step for step in range(1, n // 2) for sign in (1, -1)), n // 2]
        cycle = [centre, *(circle[(turn + offset) % n] for offset in zigzag)]
        edges = list(zip(cycle, [*cycle[1:], centre], strict=True))
        # The idea that every other edge leaves out comes next, or it would fall two behind.
        yield from (*edges[0:-1:2], edges[-2], *edges[1:-2:2], edges[-1])


def _crossed(ours: Sequence[str], base: Sequence[str]) -> Iterator[Pair]:
    """Both sides go round and round; when they would meet as before, the second side moves on by one."""
    round_trip = lcm(len(ours), len(base))
    for step in range(len(ours) * len(base)):
        yield ours[step % len(ours)], base[(step + step // round_trip) % len(base)]


def _pack_few(ids: Sequence[str], seed: int) -> Iterator[Triad]:
    """The largest of several packings in random order, then ordered for balance. Among few ideas, triads that are balanced
    from the beginning leave room for hardly any others.
    """
    triples = list(combinations(sorted(ids), 3))
    best: list[Triad] = []
    for attempt in range(_ATTEMPTS):
        found: list[Triad] = []
        used: set[Pair] = set()
        for triple in sorted(triples, key=lambda triple: derive_seed(seed_source("triad", seed, *triple), attempt)):
            pairs = set(combinations(triple, 2))
            if not pairs & used:
                used |= pairs
                found.append(triple)
        best = max(best, found, key=len)
        if len(best) == _most_triads(len(ids)):
            break
    count = dict.fromkeys(ids, 0)
    while best:
        triad = min(best, key=lambda names: (sum(count[name] for name in names), max(count[name] for name in names)))
        best.remove(triad)
        for name in triad:
            count[name] += 1
        yield triad


def _most_triads(n: int) -> int:
    """How many triples of n things there can be of which no two share a pair (Schoenheim's bound, which is attained)."""
    return n * ((n - 1) // 2) // 3 - (n % 6 == 5)


def _pack(ids: Sequence[str]) -> Iterator[Triad]:
    rank = {name: number for number, name in enumerate(ids)}
    count = dict.fromkeys(ids, 0)
    used: set[frozenset[str]] = set()
    open_ = list(ids)
    while open_:
        open_.sort(key=lambda name: (count[name], rank[name]))
        first = open_[0]
        found = _complete(first, open_[1:], used)
        if found is None:  # pairs are only ever used up, so it will be in no other triad
            open_.remove(first)
            continue
        for pair in combinations(found, 2):
            used.add(frozenset(pair))
        for name in found:
            count[name] += 1
        yield found


def _complete(first: str, others: Sequence[str], used: set[frozenset[str]]) -> Triad | None:
    partners = [name for name in others if frozenset((first, name)) not in used]
    for number, second in enumerate(partners):
        for third in partners[number + 1 :]:
            if frozenset((second, third)) not in used:
                return first, second, third
    return None
