"""Aggregation has the symmetries that make a verdict a verdict about the ideas and not about their place."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

from pytest_novelty.model import ABSTAINED, INCOMPLETE, INVALID, NOT_NOVEL, NOVEL, TIE, UNPARSED, Vote
from pytest_novelty.protocols import PROTOCOLS

PAIRWISE, POINTWISE = PROTOCOLS["pairwise"], PROTOCOLS["pointwise"]
BOTH = ("ab", "ba")
FAILED, SILENT = "failed", "silent"
EXCHANGE = {"x": "y", "y": "x"}

said = st.lists(st.sampled_from(["x", "y", "x", "y", TIE, FAILED, SILENT]), max_size=5)


def make_vote(order: str | None, sample: int, label: str) -> Vote:
    if label == FAILED:
        return Vote(order, sample, UNPARSED)
    return Vote(order, sample, abstained=True) if label == SILENT else Vote(order, sample, label=label)


def make_votes(order: str | None, labels: Sequence[str]) -> list[Vote]:
    return [make_vote(order, sample, label) for sample, label in enumerate(labels)]


def decide(forward: Sequence[str], backward: Sequence[str], ids: Sequence[str] = ("x", "y")) -> str | None:
    return PAIRWISE.aggregate([*make_votes("ab", forward), *make_votes("ba", backward)], ids, BOTH)


def exchanged(labels: Sequence[str]) -> list[str]:
    return [EXCHANGE.get(label, label) for label in labels]


@given(said, said)
def test_exchanging_the_ideas_exchanges_the_outcome(forward: list[str], backward: list[str]) -> None:
    outcome = decide(forward, backward)
    assert decide(exchanged(forward), exchanged(backward)) == EXCHANGE.get(str(outcome), outcome)


@given(said, said)
def test_the_order_of_ids_and_the_names_of_orders_do_not_matter(forward: list[str], backward: list[str]) -> None:
    assert decide(forward, backward) == decide(forward, backward, ("y", "x")) == decide(backward, forward)


@given(said, said, st.randoms(use_true_random=False))
def test_the_sequence_of_votes_does_not_matter(forward: list[str], backward: list[str], random: object) -> None:
    votes = [*make_votes("ab", forward), *make_votes("ba", backward)]
    before = PAIRWISE.aggregate(votes, ("x", "y"), BOTH)
    random.shuffle(votes)  # type: ignore[attr-defined]
    assert PAIRWISE.aggregate(votes, ("x", "y"), BOTH) == before


@given(said, said, st.integers(2, 5))
def test_both_orders_weigh_the_same(forward: list[str], backward: list[str], times: int) -> None:
    assert decide(forward * times, backward) == decide(forward, backward) == decide(forward, backward * times)


@given(said, said)
def test_the_outcome_is_the_sign_of_the_mean_of_the_order_means(forward: list[str], backward: list[str]) -> None:
    valid = [[label for label in labels if label not in (FAILED, SILENT)] for labels in (forward, backward)]
    if all(valid):
        lead = sum(Fraction(labels.count("x") - labels.count("y"), len(labels)) for labels in valid)
        expected = "x" if lead > 0 else "y" if lead < 0 else TIE
    elif any(valid):
        expected = INCOMPLETE
    else:
        every = [*forward, *backward]
        expected = ABSTAINED if every and set(every) == {SILENT} else INVALID
    assert decide(forward, backward) == expected


@given(st.lists(st.booleans(), min_size=1, max_size=6), st.lists(st.booleans(), min_size=1, max_size=6))
def test_always_the_first_shown_never_wins_whatever_failed(forward: list[bool], backward: list[bool]) -> None:
    outcome = decide(
        ["x" if works else FAILED for works in forward],  # "ab" shows x first
        ["y" if works else FAILED for works in backward],  # "ba" shows y first
    )
    assert outcome == (TIE if any(forward) and any(backward) else INCOMPLETE if any(forward + backward) else INVALID)


@given(said)
def test_a_single_order_decides_alone(forward: list[str]) -> None:
    one = PAIRWISE.aggregate(make_votes("ab", forward), ("x", "y"), ("ab",))
    lead = forward.count("x") - forward.count("y")
    if set(forward) & {"x", "y", TIE}:
        assert one == ("x" if lead > 0 else "y" if lead < 0 else TIE)
    else:
        assert one in (ABSTAINED, INVALID)


@given(st.lists(st.sampled_from([NOVEL, NOT_NOVEL, FAILED, SILENT]), max_size=7), st.randoms(use_true_random=False))
def test_pointwise_is_the_majority_of_the_valid_votes(labels: list[str], random: object) -> None:
    lead = labels.count(NOVEL) - labels.count(NOT_NOVEL)
    if NOVEL in labels or NOT_NOVEL in labels:
        expected = NOVEL if lead > 0 else NOT_NOVEL if lead < 0 else TIE
    else:
        expected = ABSTAINED if labels and set(labels) == {SILENT} else INVALID
    votes = make_votes(None, labels)
    random.shuffle(votes)  # type: ignore[attr-defined]
    assert POINTWISE.aggregate(votes, ("x",), (None,)) == expected
