"""Groups of papers: their pairs against the gold pairs, macro and pooled, and the order in which papers are shown."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from pytest_novelty.metrics.cascade import (
    FAILED,
    FN,
    LOST_POSITIVES,
    SUPPORTED,
    TN,
    TRUE,
    UNSUPPORTED,
    VERIFIED,
    Cascade,
    Cell,
    measure_cascade,
    measure_macro,
)
from pytest_novelty.metrics.partitions import (
    Answer,
    Group,
    PaperSet,
    adjusted_rand,
    count_pairs,
    measure_rand,
    order_inconsistency,
    pairs_of,
    together_votes,
)
from pytest_novelty.metrics.sampled import Items, Rate


def group(*members: int, evidence: str = VERIFIED, audit: str = SUPPORTED) -> Group:
    return Group(members, (evidence,) * len(members), audit)


def judged(
    predicted: list[list[int]] | None, gold: list[list[int]], papers: int = 5
) -> tuple[Cascade, dict[str, PaperSet]]:
    sets = {"s": PaperSet(papers, gold)}
    groups = None if predicted is None else tuple(group(*members) for members in predicted)
    return count_pairs([Answer("s", 0, groups)], sets), sets


def pooled(cascade: Cascade) -> dict[str, Rate]:
    return measure_cascade(Items(len(cascade.items), resamples=200), cascade)


def macro(cascade: Cascade) -> dict[str, Rate]:
    return measure_macro(Items(len(cascade.items), resamples=200), cascade)


def rand(cascade: Cascade, sets: dict[str, PaperSet]) -> Rate:
    return measure_rand(Items(len(cascade.items), resamples=200), cascade, sets)


# --- pairs ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("predicted", "gold", "precision", "recall", "f1"),
    [
        ([[0, 1, 2]], [[0, 1]], 1 / 3, 1, 0.5),
        ([[0, 1], [2, 3]], [[0, 1, 2, 3]], 1, 1 / 3, 0.5),
        ([[0, 1]], [[0, 1]], 1, 1, 1),
        ([[0, 1]], [], 0, None, 0),
        ([], [[0, 1]], None, 0, 0),
        ([], [], None, None, 1),
        ([], [[3]], None, None, 1),
        (None, [], None, None, 0),
        (None, [[0, 1]], None, 0, 0),
    ],
)
def test_one_set(
    predicted: list[list[int]] | None, gold: list[list[int]], precision: float | None, recall: float | None, f1: float
) -> None:
    """Empty gold and empty prediction score 1, an invalid answer 0; 0 of 0 is undefined."""
    cascade, _ = judged(predicted, gold)
    found = macro(cascade)
    assert (found["precision"].value, found["recall"].value, found["f1"].value) == pytest.approx(
        (precision, recall, f1)
    )
    assert found["verified_f1"].value == pytest.approx(f1)
    assert cascade.counts.sum() == 10


def test_macro_is_a_mean_over_sets_and_pooled_one_over_pairs() -> None:
    sets = {"large": PaperSet(4, [[0, 1, 2, 3]]), "small": PaperSet(3, [[0, 1]]), "empty": PaperSet(3, [])}
    answers = [Answer("large", 0, (group(0, 1, 2, 3),)), Answer("small", 0, (group(1, 2),)), Answer("empty", 0, ())]
    cascade = count_pairs(answers, sets)
    assert pooled(cascade)["f1"].value == pytest.approx(2 * 6 / (2 * 6 + 1 + 1))
    found = macro(cascade)
    assert found["f1"].value == pytest.approx((1 + 0 + 1) / 3)
    assert found["precision"].value == pytest.approx((1 + 0) / 2)
    assert found["precision"].of == found["recall"].of == (2,)
    assert found["f1"].of == (3,)


def test_like_is_subtracted_from_like() -> None:
    """Verified F1 macro and pooled, beside raw F1 macro and pooled: a hallucinated group loses all of its pairs."""
    sets = {"a": PaperSet(6, [[0, 1, 2], [3, 4]]), "b": PaperSet(3, [])}
    groups = (group(0, 1, 2, evidence=FAILED), group(3, 4))
    cascade = count_pairs([Answer("a", 0, groups), Answer("b", 0, ())], sets)
    assert cascade.counts[0, 0, TRUE + Cell.HALLUCINATED] == 3
    assert (pooled(cascade)["f1"].value, pooled(cascade)["verified_f1"].value) == pytest.approx((1, 2 / 8))
    assert (macro(cascade)["f1"].value, macro(cascade)["verified_f1"].value) == pytest.approx((1, (2 / 8 + 1) / 2))
    assert macro(cascade)["retained_share"].value == pytest.approx((2 / 8 + 1) / 2)


def test_one_bad_span_spoils_a_group_and_an_overlap_takes_the_worse() -> None:
    sets = {"a": PaperSet(4, [[0, 1, 2]])}
    spoiled = Group((2, 0, 1), (VERIFIED, FAILED, VERIFIED), SUPPORTED)
    cascade = count_pairs([Answer("a", 0, (spoiled,))], sets)
    assert cascade.counts[0, 0, TRUE + Cell.HALLUCINATED] == 3
    overlap = (group(0, 1), group(1, 0, 2, audit=UNSUPPORTED))
    cascade = count_pairs([Answer("a", 0, overlap)], sets)
    assert cascade.counts[0, 0, TRUE + Cell.MISMATCHED] == 3
    assert cascade.counts[0, 0, TRUE + Cell.VERIFIED] == 0
    assert cascade.counts.sum() == 6


def test_sets_without_gold_and_answers_that_are_none() -> None:
    sets = {"a": PaperSet(3, None), "b": PaperSet(3, [[0, 1]])}
    cascade = count_pairs([Answer("a", 0, (group(0, 1, evidence=FAILED),)), Answer("b", 0, None)], sets)
    assert cascade.counts[1, 0, LOST_POSITIVES] == 1
    assert cascade.counts[..., [FN, TN]].sum() == 0
    assert pooled(cascade)["hallucination_rate_all"].value == 1
    assert macro(cascade)["f1"].of == (1,)
    assert rand(cascade, sets).of == (1,)
    assert macro(cascade.without_failures())["f1"].value is None


@pytest.mark.parametrize(
    ("members", "message"),
    [
        ((1,), "a group has two different papers or more"),
        ((1, 1), "a group has two different papers or more"),
        ((1, 5), "papers are 0 to 4, not"),
        ((-1, 2), "papers are 0 to 4, not"),
    ],
)
def test_groups_that_are_none(members: tuple[int, ...], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        count_pairs([Answer("s", 0, (group(*members),))], {"s": PaperSet(5, [])})


def test_gold_outside_of_its_set_is_an_error() -> None:
    with pytest.raises(ValueError, match="a gold group has paper 5 of 5"):
        judged([], [[1, 5]])


# --- the adjusted Rand index ------------------------------------------------------------------------------------


def naive_rand(one: list[list[int]], other: list[list[int]], papers: int) -> float:
    """Hubert and Arabie's formula from the contingency table."""
    full = [
        [*map(list, groups), *([k] for k in range(papers) if not any(k in g for g in groups))]
        for groups in (one, other)
    ]
    table = np.array([[len(set(a) & set(b)) for b in full[1]] for a in full[0]])

    def choose(counts: np.ndarray) -> float:
        return float((counts * (counts - 1) / 2).sum())

    seen, rows, columns = choose(table), choose(table.sum(axis=1)), choose(table.sum(axis=0))
    expected = rows * columns / (papers * (papers - 1) / 2)
    return (seen - expected) / ((rows + columns) / 2 - expected)


@pytest.mark.parametrize(
    ("one", "other", "papers"),
    [
        ([[0, 1, 2]], [[0, 1]], 5),
        ([[0, 1], [2, 3]], [[0, 2], [1, 3]], 4),
        ([[0, 1], [2, 3, 4]], [[0, 1, 2], [3, 4]], 7),
    ],
)
def test_the_adjusted_rand_index(one: list[list[int]], other: list[list[int]], papers: int) -> None:
    cascade, sets = judged(one, other, papers)
    assert rand(cascade, sets).value == pytest.approx(naive_rand(one, other, papers))


def test_an_index_below_zero_keeps_its_sign_and_an_interval_around_it() -> None:
    sets = {f"s{k}": PaperSet(4, [[0, 2], [1, 3]]) for k in range(12)}
    cascade = count_pairs([Answer(item, 0, (group(0, 1), group(2, 3))) for item in sets], sets)
    found = rand(cascade, sets).estimate
    assert found.value == pytest.approx(-0.5)
    assert found.low is not None
    assert found.high is not None
    assert -0.5 <= found.low <= -0.5 + 1e-9 <= found.high


@pytest.mark.parametrize("groups", [[], [[0, 1, 2, 3, 4]]])
def test_equal_partitions_without_room_for_chance_are_equal(groups: list[list[int]]) -> None:
    cascade, sets = judged(groups, groups)
    assert rand(cascade, sets).value == 1
    assert adjusted_rand(*map(np.array, (0.0, 0.0, 1.0, 5.0))) == 0


def test_an_invalid_answer_earns_no_index() -> None:
    cascade, sets = judged(None, [])
    assert rand(cascade, sets).value == 0


# --- orders -----------------------------------------------------------------------------------------------------


def test_votes_of_pairs() -> None:
    votes = together_votes([[[0, 1]], [[1, 0, 2]], [], None], 3)
    assert votes.tolist() == [[2, 1], [1, 2], [1, 2]]
    assert pairs_of([[2, 0], [1]]) == {(0, 2)}


def test_a_judge_that_ignores_order_is_consistent_and_one_that_follows_it_is_not() -> None:
    """One groups papers 0 and 3 wherever they stand, the other the first two shown."""
    shown = [[0, 1, 2, 3], [3, 2, 1, 0]]
    steady = [together_votes([[[0, 3]]] * 2, 4) for _ in shown]
    following = [together_votes([[order[:2]]] * 2, 4) for order in shown]
    assert order_inconsistency(steady) == 0
    assert order_inconsistency(following) == 1


def test_order_needs_votes_in_two_orders() -> None:
    one, none = together_votes([[[0, 1]]], 3), together_votes([None], 3)
    assert np.isnan(order_inconsistency([one, none]))
    assert np.isnan(order_inconsistency([one]))
    assert order_inconsistency([one, one]) == 0


def test_noise_alone_turns_nearly_all_with_the_order() -> None:
    """A coin for every pair, in two orders."""
    rng = np.random.default_rng(0)
    pairs = list(combinations(range(4), 2))

    def votes() -> np.ndarray:
        heads = rng.integers(0, 2, size=(3, len(pairs)))
        return np.column_stack([heads.sum(axis=0), (1 - heads).sum(axis=0)])

    runs = [[votes(), votes()] for _ in range(400)]
    assert np.mean([order_inconsistency(run) for run in runs]) > 0.9
