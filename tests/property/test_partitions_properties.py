"""What holds for every grouping: nothing depends on the order of papers, groups or members."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_novelty.metrics.cascade import AUDITS, EVIDENCE, FN, TRUE, Cascade, Cell
from pytest_novelty.metrics.partitions import (
    Answer,
    Group,
    PaperSet,
    adjusted_rand,
    count_pairs,
    order_inconsistency,
    pairs_of,
    together_votes,
)

Labels = list[int]


@st.composite
def cases(draw: st.DrawFn) -> tuple[int, Labels, Labels, list[tuple[str, str]], list[int]]:
    """Papers, predicted and gold group of each (0: none), status of each predicted group, a permutation of the papers."""
    papers = draw(st.integers(3, 10))
    labels = st.lists(st.integers(0, 4), min_size=papers, max_size=papers)
    statuses = st.lists(st.tuples(st.sampled_from(EVIDENCE), st.sampled_from(AUDITS)), min_size=5, max_size=5)
    return papers, draw(labels), draw(labels), draw(statuses), draw(st.permutations(range(papers)))


def members_of(labels: Labels) -> list[list[int]]:
    found = [[place for place, label in enumerate(labels) if label == name] for name in range(1, 5)]
    return [group for group in found if len(group) > 1]


def counted(papers: int, said: Labels, gold: Labels, statuses: list[tuple[str, str]]) -> Cascade:
    groups = tuple(
        Group(tuple(members), (statuses[said[members[0]]][0],) * len(members), statuses[said[members[0]]][1])
        for members in members_of(said)
    )
    sets = {"s": PaperSet(papers, members_of(gold))}
    return count_pairs([Answer("s", 0, groups)], sets)


@given(cases())
def test_permuted_papers_have_the_same_counts(
    case: tuple[int, Labels, Labels, list[tuple[str, str]], list[int]],
) -> None:
    papers, said, gold, statuses, order = case
    one = counted(papers, said, gold, statuses)
    other = counted(papers, [said[k] for k in order], [gold[k] for k in order], statuses)
    assert (one.counts == other.counts).all()


@given(cases())
def test_counts_agree_with_sets_of_pairs(case: tuple[int, Labels, Labels, list[tuple[str, str]], list[int]]) -> None:
    papers, said, gold, statuses, _ = case
    counts = counted(papers, said, gold, statuses).counts[0, 0]
    predicted, true = pairs_of(members_of(said)), pairs_of(members_of(gold))
    assert counts[TRUE : TRUE + len(Cell)].sum() == len(predicted & true)
    assert counts[FN] == len(true - predicted)
    assert counts.sum() == papers * (papers - 1) / 2


@given(cases())
def test_the_index_is_symmetric_at_most_1_and_1_for_equals(
    case: tuple[int, Labels, Labels, list[tuple[str, str]], list[int]],
) -> None:
    papers, said, gold, _, _ = case
    one, other = pairs_of(members_of(said)), pairs_of(members_of(gold))

    def index(a: set[tuple[int, int]], b: set[tuple[int, int]]) -> float:
        return float(adjusted_rand(*(np.float64(n) for n in (len(a & b), len(a), len(b), papers))))

    assert index(one, other) == pytest.approx(index(other, one))
    assert -0.5 - 1e-9 <= index(one, other) <= 1 + 1e-9
    assert index(one, one) == 1
    assert (index(one, other) > 1 - 1e-9) == (one == other)


@given(cases())
def test_votes_do_not_see_how_groups_are_listed(
    case: tuple[int, Labels, Labels, list[tuple[str, str]], list[int]],
) -> None:
    papers, said, _, _, _ = case
    groups = members_of(said)
    listed = [group[::-1] for group in groups[::-1]]
    assert order_inconsistency([together_votes([groups], papers), together_votes([listed], papers)]) == 0
