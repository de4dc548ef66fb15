"""NovGauge's rules as published: their vectors, and each point at which our own metrics say something else."""

from __future__ import annotations

import pytest

from pytest_novelty.metrics.cascade import (
    MISSING,
    SUPPORTED,
    VERIFIED,
    Verdict,
    count_verdicts,
    measure_cascade,
    measure_macro,
)
from pytest_novelty.metrics.partitions import Answer, Group, PaperSet, count_pairs
from pytest_novelty.metrics.sampled import Items, Rate
from pytest_novelty.published import (
    HALLUCINATION,
    Flow,
    Groups,
    PairRecord,
    PositiveRecord,
    flow_of_groups,
    hallucination_rate,
    hallucination_rate_of_dimension,
    hallucination_rate_of_groups,
    hallucination_rate_of_samples,
    mean_flow,
    mismatch_rate,
    mismatch_rate_of_samples,
    score_flow,
    score_flow_samples,
    score_grouping,
    score_grouping_samples,
    score_groups,
    score_pair_samples,
    score_pairs,
    spread,
)


def ours(predicted: Groups | None, gold: Groups, papers: int = 5) -> dict[str, Rate]:
    groups = None if predicted is None else tuple(Group(tuple(members)) for members in predicted)
    cascade = count_pairs([Answer("s", 0, groups)], {"s": PaperSet(papers, gold)})
    return measure_macro(Items(1, resamples=100), cascade)


# --- stage 1 ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("predicted", "gold", "expected"),
    [
        ([[1, 2, 3]], [[1, 2]], (1, 2, 0, 0.3333, 1, 0.5)),
        ([[1, 2], [3, 4]], [[1, 2, 3, 4]], (2, 0, 4, 1, 0.3333, 0.5)),
        ([], [], (0, 0, 0, 0, 0, 0)),
        ([[1, 2]], [], (0, 1, 0, 0, 0, 0)),
    ],
)
def test_the_vectors_of_grouping(predicted: Groups, gold: Groups, expected: tuple[float, ...]) -> None:
    assert score_groups(predicted, gold) == expected


def test_both_empty_is_0_here_and_1_in_ours() -> None:
    assert score_groups([], [[3]]).f1 == 0
    assert ours([], [[3]])["f1"].value == 1
    assert score_grouping([([], []), ([[1, 2]], [[1, 2]])]).macro_f1 == 0.5


def test_failed_answers_are_left_out_here_and_misses_in_ours() -> None:
    found = score_grouping([(None, [[1, 2]]), ([[1, 2]], [[1, 2]])])
    assert found.macro_f1 == found.micro_f1 == 1
    assert ours(None, [[1, 2]])["f1"].value == 0


def test_scores_are_rounded_before_they_are_averaged() -> None:
    found = score_grouping([([[1, 2, 3]], [[1, 2]])] * 3)
    assert found.macro_precision == 0.3333
    assert ours([[1, 2, 3]], [[1, 2]])["precision"].value == pytest.approx(1 / 3, abs=1e-9)


def test_macro_is_over_sets_and_micro_over_pairs() -> None:
    records: list[tuple[Groups | None, Groups]] = [([[1, 2, 3, 4]], [[1, 2, 3, 4]]), ([[1, 2]], [[3, 4]])]
    found = score_grouping(records)
    assert (found.macro_f1, found.micro_f1) == (0.5, round(12 / 14, 4))
    several = score_grouping_samples([records, records[:1]])
    assert several["macro_f1"].per_sample == (0.5, 1)
    assert several["macro_f1"].std == pytest.approx(0.5 / 2**0.5)


def test_one_sample_of_pairs() -> None:
    records = [
        PairRecord(1, (1,)),
        PairRecord(1, (0,)),
        PairRecord(0, (1,)),
        PairRecord(0, (0,)),
        PairRecord(1, (None,)),
    ]
    assert score_pairs(records) == (0.5, 0.5, 0.5, 0.5)


def test_undefined_is_none_in_one_sample_but_for_f1() -> None:
    assert score_pairs([PairRecord(0, (0,))]) == (1, None, None, 0)
    assert score_pairs([]) == (None, None, None, 0)


def test_a_record_without_label_is_in_the_denominator_of_accuracy() -> None:
    assert score_pairs([PairRecord(1, (1,)), PairRecord(None, (1,))]) == (0.5, 1, 1, 1)
    golds = {"a": True, "b": None}
    cascade = count_verdicts([Verdict(item, 0, True, (VERIFIED,) * 2, SUPPORTED) for item in golds], golds)
    assert measure_cascade(Items(2, resamples=100), cascade, ["accuracy"])["accuracy"].value == 1


def test_failed_samples_vanish_and_the_first_stands_in_for_the_last() -> None:
    record = PairRecord(1, (None, 0, 1))
    assert [record.at(sample) for sample in range(3)] == [0, 1, 0]
    assert PairRecord(1, (None, None)).at(0) is None
    several = score_pair_samples([record], 3)
    assert several["f1"].per_sample == (0, 1, 0)
    assert several["precision"].per_sample == (0, 1, 0)


def test_one_value_has_a_deviation_of_0() -> None:
    assert spread([0.4]) == (0.4, 0, (0.4,))
    assert spread([]) == (0, 0, ())
    assert spread([0.2, 0.4, 0.6]).std == pytest.approx(0.2)


# --- stage 2 ----------------------------------------------------------------------------------------------------

FINE = PositiveRecord(("verbatim", "paraphrase"))
FALSE = PositiveRecord(("verbatim", HALLUCINATION))
EMPTY = PositiveRecord((None, None))
HALF = PositiveRecord((None, "artifact"))


def test_empty_evidence_passes_here_and_is_missing_in_ours() -> None:
    assert not EMPTY.is_hallucinated
    assert not HALF.is_hallucinated
    assert hallucination_rate([FINE, FALSE, HALF, EMPTY]) == pytest.approx(1 / 3)
    golds = {"a": True}
    cascade = count_verdicts([Verdict("a", 0, True, (MISSING, VERIFIED), SUPPORTED)], golds)
    found = measure_cascade(Items(1, resamples=100), cascade, ["missing_evidence_rate", "verified_f1"])
    assert (found["missing_evidence_rate"].value, found["verified_f1"].value) == (1, 0)


def test_two_denominators_of_hallucination() -> None:
    records = [FINE, FALSE, EMPTY, PositiveRecord((HALLUCINATION,) * 2, known=False)]
    assert hallucination_rate(records) == 1 / 2
    assert hallucination_rate_of_dimension(records) == 1 / 4
    assert hallucination_rate_of_groups(records) == 1 / 3
    assert hallucination_rate([EMPTY]) == hallucination_rate([]) == 0


def test_samples_without_positives_are_skipped() -> None:
    assert hallucination_rate_of_samples([[FALSE], [], [FINE]]).per_sample == (1, 0)


# --- stage 3 ----------------------------------------------------------------------------------------------------


def test_the_rate_of_mismatch_leaves_out_what_was_not_judged() -> None:
    assert mismatch_rate([True, False, None, False]) == pytest.approx(2 / 3)
    assert mismatch_rate([None]) is None


def test_a_sample_without_audits_is_0_for_pairs_and_skipped_for_groups() -> None:
    samples = [[False, True], [None]]
    assert mismatch_rate_of_samples(samples).mean == 0.25
    assert mismatch_rate_of_samples(samples, grouping=True).mean == 0.5


# --- stage 4 ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((3, 1, 2, 0, 2, 4), (0.375, 0.3, 0.3333)),
        ((3, 1, 2, 1, 2, 4), (0.3333, 0.2727, 0.3)),
        ((0, 2, 1, 0, 0, 1), (0, 0, 0)),
    ],
)
def test_the_vectors_of_verified_f1(counts: tuple[int, ...], expected: tuple[float, ...]) -> None:
    assert score_flow(Flow(*counts)) == expected


def test_flows_of_samples() -> None:
    flows = [Flow(3, 1, 2, 0, 2, 4), Flow(0, 0, 0, 0, 1, 1)]
    found = score_flow_samples(flows)
    assert found["f1"].per_sample == (0.3333, 0)
    assert mean_flow(flows) == pytest.approx(
        {"verified": 1 / 4, "hallucinated": 1 / 12, "mismatched": 1 / 6, "unchecked": 0}
    )


def test_groups_become_pairs_summed_over_sets() -> None:
    records = [
        ([((1, 2, 3), "verified"), ((4, 5), "hallucinated"), ((6, 7), "mismatched")], [[1, 2, 3], [4, 5]]),
        (None, [[1, 2, 3]]),
        ([], []),
    ]
    assert flow_of_groups(records) == Flow(3, 1, 0, 0, fp=1, fn=3)


def test_a_pair_of_two_statuses_counts_twice_here_and_once_in_ours() -> None:
    predicted = [((1, 2), "verified"), ((1, 2, 3), "hallucinated")]
    assert flow_of_groups([(predicted, [[1, 2]])]) == Flow(1, 1, 0, 0, fp=2, fn=0)
    groups = (Group((0, 1), (VERIFIED,) * 2, SUPPORTED), Group((0, 1, 2), ("failed",) * 3))
    cascade = count_pairs([Answer("s", 0, groups)], {"s": PaperSet(3, [[0, 1]])})
    found = measure_cascade(Items(1, resamples=100), cascade, ["hallucination_rate"])["hallucination_rate"]
    assert (found.events, found.of) == ((1,), (1,))
