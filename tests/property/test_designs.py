"""Designs of pairs: no idea meets itself, no pair twice, every beginning balanced, the same from whatever order of ideas."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import combinations, islice, pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_novelty.designs import complete_pairs, crossed_pairs, place_first, random_pairs, shuffled, triads

seeds = st.integers(0, 2**32 - 1)


@st.composite
def groups_of(draw: st.DrawFn, lowest: int = 2, highest: int = 12, most: int = 4) -> list[list[str]]:
    sizes = draw(st.lists(st.integers(lowest, highest), min_size=1, max_size=most))
    return [[f"g{group}i{number}" for number in range(size)] for group, size in enumerate(sizes)]


def mixed(groups: Sequence[Sequence[str]], seed: int) -> list[list[str]]:
    """The same groups with their ideas in another order."""
    chance = random.Random(seed)
    return [chance.sample(list(group), len(group)) for group in groups]


def spread(counts: Iterable[int]) -> int:
    found = list(counts)
    return max(found) - min(found)


@given(groups_of(), seeds)
def test_all_pairs_come_once_and_stay_within_groups(groups: list[list[str]], seed: int) -> None:
    expected = {frozenset(pair) for group in groups for pair in combinations(group, 2)}
    for make in (complete_pairs, random_pairs):
        pairs = list(make(groups, seed))
        assert len(pairs) == len(expected)
        assert {frozenset(pair) for pair in pairs} == expected


@given(groups_of(highest=17), seeds)
def test_every_beginning_of_random_pairs_is_balanced(groups: list[list[str]], seed: int) -> None:
    count = Counter({name: 0 for group in groups for name in group})
    for pair in random_pairs(groups, seed):
        count.update(pair)
        for group in groups:
            assert spread(count[name] for name in group) <= 1


@given(st.integers(2, 40), st.integers(1, 6), seeds)
def test_groups_of_one_size_are_balanced_among_each_other(size: int, number: int, seed: int) -> None:
    groups = [[f"g{group}i{place}" for place in range(size)] for group in range(number)]
    count = Counter({name: 0 for group in groups for name in group})
    for pair in islice(random_pairs(groups, seed), 200):
        count.update(pair)
        assert spread(count.values()) <= 2


@given(groups_of(), groups_of(1), seeds)
def test_crossed_pairs(ours: list[list[str]], base: list[list[str]], seed: int) -> None:
    sides = [(one, [f"b{name}" for name in two]) for one, two in zip(ours, base, strict=False)]
    pairs = list(crossed_pairs(sides, seed))
    assert set(pairs) == {(x, y) for one, two in sides for x in one for y in two}
    assert len(pairs) == len(set(pairs))
    count = Counter({name: 0 for side in sides for group in side for name in group})
    for pair in pairs:
        count.update(pair)
        for side in sides:
            assert all(spread(count[name] for name in group) <= 1 for group in side)


@given(groups_of(3, 16), seeds)
@settings(max_examples=40, deadline=None)
def test_triads_are_closed_share_no_pair_and_are_balanced(groups: list[list[str]], seed: int) -> None:
    group_of = {name: number for number, group in enumerate(groups) for name in group}
    used: set[frozenset[str]] = set()
    count = dict.fromkeys(group_of, 0)
    for triad in triads(groups, seed):
        assert len(set(triad)) == 3
        assert len({group_of[name] for name in triad}) == 1
        edges = {frozenset(pair) for pair in combinations(triad, 2)}
        assert not edges & used
        used |= edges
        for name in triad:
            count[name] += 1
        for group in groups:
            assert spread(count[name] for name in group) <= 3
    for group in groups:  # until no triple with three unused pairs is left
        for triple in combinations(group, 3):
            assert {frozenset(pair) for pair in combinations(triple, 2)} & used


@given(st.integers(3, 60), seeds)
@settings(max_examples=40, deadline=None)
def test_many_triads_are_found(size: int, seed: int) -> None:
    """Of at most as many as there can be: all but two among few ideas, two thirds among many."""
    most = size * ((size - 1) // 2) // 3 - (size % 6 == 5)
    found = len(list(triads([[f"i{number}" for number in range(size)]], seed)))
    assert (most - 2 if size <= 12 else 2 * most / 3) <= found <= most


@given(groups_of(3), seeds, seeds)
@settings(max_examples=25, deadline=None)
def test_the_order_of_the_ideas_does_not_matter_and_the_seed_does(
    groups: list[list[str]], seed: int, other: int
) -> None:
    for make in (complete_pairs, random_pairs, triads):
        assert list(make(groups, seed)) == list(make(mixed(groups, other), seed))
    names = [name for group in groups for name in group]
    assert shuffled(names, seed) == shuffled(reversed(names), seed)
    if len(names) > 9 and seed != other:
        assert shuffled(names, seed) != shuffled(names, other)


@given(groups_of(3), seeds, st.integers(0, 60))
@settings(max_examples=25, deadline=None)
def test_larger_samples_hold_the_smaller(groups: list[list[str]], seed: int, size: int) -> None:
    for make in (random_pairs, triads):
        whole = list(make(groups, seed))
        for few, more in pairwise((size, size + 7)):
            assert list(islice(make(groups, seed), more))[:few] == whole[:few]


@given(groups_of(), seeds)
def test_neither_place_is_an_ideas_own(groups: list[list[str]], seed: int) -> None:
    pairs = list(islice(random_pairs(groups, seed), 60))
    placed = list(place_first(pairs, seed))
    assert [frozenset(pair) for pair in placed] == [frozenset(pair) for pair in pairs]
    assert placed == list(place_first([pair[::-1] for pair in pairs], seed))
    lead: Counter[str] = Counter()
    for first, second in placed:
        lead[first] += 1
        lead[second] -= 1
    assert max(map(abs, lead.values()), default=0) <= 3
