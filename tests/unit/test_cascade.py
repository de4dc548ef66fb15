"""The grounding cascade: which cell a positive verdict falls into, and what the cells are worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from pytest_novelty.metrics.cascade import (
    FAILED,
    FORMULAS,
    MISSING,
    NO_REASON,
    SUPPORTED,
    TRUE,
    UNCHECKED,
    UNSUPPORTED,
    VERIFIED,
    WATERFALL,
    Cascade,
    Cell,
    Verdict,
    cell_of,
    count_verdicts,
    measure_cascade,
    measure_strata,
)
from pytest_novelty.metrics.intervals import clopper_pearson
from pytest_novelty.metrics.sampled import Items, Rate

FOUND = (VERIFIED, VERIFIED)


def items_of(cascade: Cascade, clusters: np.ndarray | None = None) -> Items:
    return Items(len(cascade.items), clusters, resamples=500)


def measured(cascade: Cascade) -> dict[str, Rate]:
    return measure_cascade(items_of(cascade), cascade)


def values(cascade: Cascade) -> dict[str, float | None]:
    return {name: rate.value for name, rate in measured(cascade).items()}


def of_counts(fn: int = 0, tn: int = 0, fp: int = 0, **cells: int) -> Cascade:
    """One sample with so many items of each kind; the cells are true positives, false ones are verified."""
    answers: list[tuple[bool | None, bool | None, tuple[str, ...], str]] = []
    made = {
        "verified": (FOUND, SUPPORTED),
        "hallucinated": ((VERIFIED, FAILED), UNCHECKED),
        "missing": ((MISSING, VERIFIED), UNCHECKED),
        "mismatched": (FOUND, UNSUPPORTED),
        "unaudited": (FOUND, UNCHECKED),
        "unlocated": ((VERIFIED, UNCHECKED), UNCHECKED),
    }
    for name, count in cells.items():
        answers += [(True, True, *made[name])] * count
    answers += [(True, False, FOUND, SUPPORTED)] * fp
    answers += [(False, True, (), UNCHECKED)] * fn + [(False, False, (), UNCHECKED)] * tn
    golds = {f"i{place}": answer[1] for place, answer in enumerate(answers)}
    return count_verdicts((Verdict(f"i{p}", 0, a[0], a[2], a[3]) for p, a in enumerate(answers)), golds)


# --- cells ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("evidence", "audit", "cell"),
    [
        (FOUND, SUPPORTED, Cell.VERIFIED),
        (FOUND, UNSUPPORTED, Cell.MISMATCHED),
        (FOUND, UNCHECKED, Cell.UNAUDITED),
        (FOUND, NO_REASON, Cell.UNREASONED),
        ((VERIFIED, MISSING), NO_REASON, Cell.MISSING),
        ((VERIFIED, FAILED), NO_REASON, Cell.HALLUCINATED),
        ((VERIFIED, FAILED), SUPPORTED, Cell.HALLUCINATED),
        ((FAILED, MISSING), SUPPORTED, Cell.HALLUCINATED),
        ((VERIFIED, MISSING), SUPPORTED, Cell.MISSING),
        ((MISSING, UNCHECKED), SUPPORTED, Cell.MISSING),
        ((), SUPPORTED, Cell.MISSING),
        ((VERIFIED, UNCHECKED), SUPPORTED, Cell.UNLOCATED),
        ((UNCHECKED, UNCHECKED), UNSUPPORTED, Cell.UNLOCATED),
        ((VERIFIED,) * 9 + (FAILED,), SUPPORTED, Cell.HALLUCINATED),
    ],
)
def test_the_worst_span_decides_then_the_audit(evidence: tuple[str, ...], audit: str, cell: Cell) -> None:
    assert cell_of(evidence, audit) == cell


def test_an_unknown_word_is_no_status() -> None:
    with pytest.raises(ValueError, match="a span is one of .*, not 'verbatim'"):
        cell_of(("verbatim", VERIFIED))
    with pytest.raises(ValueError, match="an audit is one of .*, not 'true'"):
        cell_of(FOUND, "true")


def test_a_verdict_is_counted_once_and_belongs_to_an_item() -> None:
    with pytest.raises(ValueError, match="two verdicts on 'a' in sample 1"):
        count_verdicts([Verdict("a", 1, True), Verdict("a", 1, False)], {"a": True})
    with pytest.raises(ValueError, match="a verdict on 'b', which is none of the items"):
        count_verdicts([Verdict("b", 0, True)], {"a": True})
    with pytest.raises(ValueError, match="samples are numbered from 0; 'a' has a sample -1"):
        count_verdicts([Verdict("a", -1, True)], {"a": True})


# --- planted judges ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Paper:
    title: str
    shown: str
    references: str


A = Paper("Folding by jig", "A jig holds each crease. It folds a crane in one minute.", "[1] Kites without wind.")
B = Paper("Boats by jig", "Boats are folded on a jig. The jig is sprung.", "[1] Folding by hand, faster.")

PLANTED = {
    "perfect": (("A jig holds each crease.", "Boats are folded on a jig."), "a jig holds boats", Cell.VERIFIED),
    "fabricates": (("A jig holds each crease.", "A robot folds boats."), "a jig holds boats", Cell.HALLUCINATED),
    "goes beyond": (("A jig holds each crease.", "The jig is sprung."), "a jig learns creases", Cell.MISMATCHED),
    "copies the span of A for B": (("A jig holds each crease.",) * 2, "a jig holds", Cell.HALLUCINATED),
    "cites the reference list": ((A.references, "The jig is sprung."), "the jig is sprung", Cell.HALLUCINATED),
    "cites the title": ((A.title, "The jig is sprung."), "the jig is sprung", Cell.HALLUCINATED),
    "gives one span": (("A jig holds each crease.", ""), "a jig holds", Cell.MISSING),
}


def judged(spans: tuple[str, str], reason: str) -> tuple[tuple[str, ...], str]:
    """What a plain check of the spans, each in its own paper as shown, and a plain auditor say."""
    evidence = tuple(
        MISSING if not span else VERIFIED if span in paper.shown else FAILED
        for span, paper in zip(spans, (A, B), strict=True)
    )
    words = " ".join(spans).lower().replace(".", "").split()
    return evidence, SUPPORTED if set(reason.split()) <= set(words) else UNSUPPORTED


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_judge_lands_in_its_cell(name: str) -> None:
    spans, reason, cell = PLANTED[name]
    evidence, audit = judged(spans, reason)
    golds = {f"p{place}": place % 3 != 0 for place in range(12)}
    verdicts = [Verdict(item, s, gold, evidence if gold else (), audit) for item, gold in golds.items() for s in (0, 1)]
    cascade = count_verdicts(verdicts, golds)
    assert cascade.counts[..., TRUE + cell].sum() == 16
    assert cascade.counts.sum() == 24
    found = values(cascade)
    assert found["f1"] == 1
    assert found["verified_f1"] == (cell == Cell.VERIFIED)
    assert found["hallucination_rate"] == (cell == Cell.HALLUCINATED)
    assert found["missing_evidence_rate"] == (cell == Cell.MISSING)
    lost = cell in (Cell.HALLUCINATED, Cell.MISSING)
    assert found["mismatch_rate"] == (None if lost else cell == Cell.MISMATCHED)
    assert [found[step] for step in WATERFALL] == [1, not lost, cell == Cell.VERIFIED]
    assert found["hallucination_rate_false"] is None


# --- values -----------------------------------------------------------------------------------------------------


def test_the_formulas_on_one_table() -> None:
    """NovGauge's first two vectors of verified F1: 3 verified, 1 hallucinated, 2 mismatched, 2 false, 4 missed."""
    found = values(of_counts(verified=3, hallucinated=1, mismatched=2, fp=2, fn=4, tn=6))
    assert found["precision"] == pytest.approx(6 / 8)
    assert found["recall"] == found["positive_accuracy"] == pytest.approx(6 / 10)
    assert found["f1"] == pytest.approx(12 / 18)
    assert found["grounded_f1"] == pytest.approx(10 / 18)
    assert found["verified_precision"] == pytest.approx(0.375)
    assert found["verified_recall"] == pytest.approx(0.3)
    assert found["verified_f1"] == pytest.approx(1 / 3)
    assert found["retained_share"] == found["verified_rate"] == pytest.approx(3 / 6)
    assert found["hallucination_rate"] == pytest.approx(1 / 6)
    assert found["mismatch_rate"] == pytest.approx(2 / 5)
    assert found["negative_accuracy"] == pytest.approx(6 / 8)
    assert found["accuracy"] == pytest.approx(12 / 18)
    assert found["verified_rate_false"] == 1
    assert found["verified_rate_all"] == pytest.approx(5 / 8)


def test_the_published_retained_share() -> None:
    """NovGauge, section 5.1: a cell with F1 89.2 and verified F1 22.9 retains 25.7 %."""
    found = values(of_counts(verified=229, mismatched=663, fp=100, fn=116))
    assert found["f1"] == pytest.approx(0.892)
    assert found["verified_f1"] == pytest.approx(0.229)
    assert found["retained_share"] == pytest.approx(0.257, abs=5e-4)


def test_what_was_not_checked_gives_bounds() -> None:
    found = measured(
        of_counts(verified=3, hallucinated=1, missing=1, mismatched=2, unaudited=1, unlocated=2, fp=2, fn=4)
    )
    verified = found["verified_f1"]
    assert (verified.value, verified.lower, verified.upper) == pytest.approx((6 / 26, 6 / 26, 12 / 26))
    assert "between 0.231 and 0.462 over what was not checked" in verified.estimate.note
    grounded = found["grounded_f1"]
    assert (grounded.value, grounded.upper) == pytest.approx((12 / 26, 16 / 26))
    mismatch = found["mismatch_rate"]
    assert (mismatch.value, mismatch.lower, mismatch.upper) == pytest.approx((2 / 5, 2 / 8, 5 / 8))
    hallucination = found["hallucination_rate"]
    assert (hallucination.value, hallucination.upper) == pytest.approx((1 / 10, 3 / 10))
    assert found["ungrounded_rate"].value == pytest.approx(2 / 10)
    assert found["missing_evidence_rate"].upper == found["missing_evidence_rate"].value == pytest.approx(1 / 10)
    assert found["unchecked_rate"].value == pytest.approx(3 / 10)


def test_the_interval_reaches_over_both_bounds() -> None:
    """Low of the lower bound's, high of the upper bound's: as of the same table with everything settled each way."""
    open_ended = measured(of_counts(verified=20, mismatched=10, unaudited=10, fn=10, tn=30))
    worse = measured(of_counts(verified=20, mismatched=20, fn=10, tn=30))
    better = measured(of_counts(verified=30, mismatched=10, fn=10, tn=30))
    for name in ("verified_f1", "verified_recall", "verified_rate"):
        assert open_ended[name].estimate.low == pytest.approx(worse[name].estimate.low, abs=0.02)
        assert open_ended[name].estimate.high == pytest.approx(better[name].estimate.high, abs=0.02)
    assert open_ended["mismatch_rate"].estimate.low == pytest.approx(better["mismatch_rate"].estimate.low, abs=0.02)
    assert open_ended["mismatch_rate"].estimate.high == pytest.approx(worse["mismatch_rate"].estimate.high, abs=0.02)


def test_nothing_checked_is_undefined_between_0_and_1() -> None:
    rate = measured(of_counts(unaudited=4))["mismatch_rate"]
    assert rate.value is None
    assert (rate.lower, rate.upper) == (0, 1)
    assert rate.estimate.note == "0 of 0; between 0.000 and 1.000 over what was not checked"


def test_a_rate_without_positives_is_undefined_and_says_so() -> None:
    """Never 0: a judge that says no to everything has not shown that it does not hallucinate."""
    found = measured(of_counts(fn=4, tn=4))
    for name in ("hallucination_rate", "mismatch_rate", "missing_evidence_rate", "precision", "retained_share"):
        assert found[name].value is None
        assert found[name].per_sample == (None,)
        assert found[name].estimate.note == "0 of 0"
    assert found["f1"].value == found["recall"].value == 0
    assert measured(of_counts(tn=4))["f1"].value is None
    assert found["recall"].of == (4,)


def test_shares_of_items_have_exact_intervals() -> None:
    found = measured(of_counts(verified=17, fn=3, tn=36, fp=4))
    for name, events, n in (("positive_accuracy", 17, 20), ("recall", 17, 20), ("negative_accuracy", 36, 40)):
        expected = clopper_pearson(events, n)
        assert expected is not None
        assert (found[name].estimate.low, found[name].estimate.high) == pytest.approx((expected.low, expected.high))
        assert found[name].estimate.n == n


# --- samples ----------------------------------------------------------------------------------------------------


def test_samples_are_averaged_not_voted_on() -> None:
    """Right in 2 of 3, 1 of 3 and 0 of 3 items: a vote would give something else."""
    golds = {"a": True, "b": True, "c": True}
    said = {"a": (1, 1, 0), "b": (1, 0, 0), "c": (0, 0, 0)}
    verdicts = [
        Verdict(item, s, bool(yes), FOUND, SUPPORTED) for item, votes in said.items() for s, yes in enumerate(votes)
    ]
    cascade = count_verdicts(verdicts, golds)
    rate = measured(cascade)["recall"]
    assert rate.per_sample == pytest.approx((2 / 3, 1 / 3, 0))
    assert rate.value == pytest.approx(1 / 3)
    assert rate.sd == pytest.approx(1 / 3)
    assert rate.events == (2, 1, 0)
    assert rate.of == (3, 3, 3)
    mean_f1 = measured(cascade)["f1"]
    assert mean_f1.value == pytest.approx((0.8 + 0.5 + 0) / 3)


def test_a_sample_in_which_a_rate_is_undefined_is_no_zero() -> None:
    golds = {"a": True, "b": True}
    verdicts = [Verdict("a", 0, True, (FAILED, FAILED)), Verdict("b", 0, True, FOUND, SUPPORTED)]
    verdicts += [Verdict("a", 1, False), Verdict("b", 1, False)]
    rate = measured(count_verdicts(verdicts, golds))["hallucination_rate"]
    assert rate.value == 0.5
    assert rate.per_sample == (0.5, None)
    assert rate.sd is None
    assert rate.estimate.note == "0 of 0 in 1 of 2 samples, left out"


def test_retained_share_is_the_ratio_of_the_averages() -> None:
    golds = {"a": True, "b": True, "c": False}
    verdicts = [
        Verdict("a", 0, True, FOUND, SUPPORTED),
        Verdict("b", 0, False),
        Verdict("c", 0, True, FOUND, SUPPORTED),
    ]
    verdicts += [
        Verdict("a", 1, True, FOUND, UNSUPPORTED),
        Verdict("b", 1, True, FOUND, SUPPORTED),
        Verdict("c", 1, False),
    ]
    found = measured(count_verdicts(verdicts, golds))
    assert found["f1"].per_sample == pytest.approx((2 / 4, 1))
    assert found["verified_f1"].per_sample == pytest.approx((2 / 4, 1 / 2))
    assert found["retained_share"].per_sample == pytest.approx((1, 1 / 2))
    assert found["retained_share"].value == pytest.approx(0.5 / 0.75)


def test_failures_are_misses_unless_dropped() -> None:
    golds = {"a": True, "b": True, "c": False, "d": False}
    verdicts = [
        Verdict("a", 0, True, FOUND, SUPPORTED),
        Verdict("b", 0, None),
        Verdict("c", 0, False),
        Verdict("d", 0, None),
    ]
    cascade = count_verdicts(verdicts, golds)
    found = measured(cascade)
    assert found["f1"].value == pytest.approx(2 / 3)
    assert found["recall"].value == found["negative_accuracy"].value == found["accuracy"].value == 0.5
    assert found["f1"].estimate.note == "2 invalid answers are misses"
    dropped = measured(cascade.without_failures())
    assert dropped["f1"].value == dropped["negative_accuracy"].value == 1
    assert dropped["accuracy"].of == (2,)
    assert dropped["f1"].estimate.note == "2 of 4 samples without an answer left out"


def test_items_without_gold_count_for_rates_over_all_positives_only() -> None:
    golds = {"a": None, "b": None, "c": None, "d": True}
    verdicts = [
        Verdict("a", 0, True, (FAILED, VERIFIED)),
        Verdict("b", 0, False),
        Verdict("c", 0, None),
        Verdict("d", 0, True, FOUND, SUPPORTED),
    ]
    found = values(count_verdicts(verdicts, golds))
    assert found["hallucination_rate_all"] == 0.5
    assert found["hallucination_rate"] == 0
    assert found["accuracy"] == 1


# --- strata, clusters, order ------------------------------------------------------------------------------------


def mixed(n: int = 60, samples: int = 2, seed: int = 0) -> Cascade:
    rng = np.random.default_rng(seed)
    golds = {f"i{k:02}": bool(rng.random() < 0.6) for k in range(n)}
    statuses = np.array([VERIFIED, FAILED, MISSING])
    return count_verdicts(
        [
            Verdict(
                item,
                s,
                bool(rng.random() < (0.8 if gold else 0.3)),
                tuple(map(str, rng.choice(statuses, 2, p=[0.8, 0.15, 0.05]))),
                SUPPORTED if rng.random() < 0.6 else UNSUPPORTED,
            )
            for item, gold in golds.items()
            for s in range(samples)
        ],
        golds,
    )


def test_strata_are_restrictions() -> None:
    cascade = mixed()
    dimension = [("task", "problem", "method")[k % 3] for k in range(60)]
    by_dimension = measure_strata(items_of(cascade), cascade, dimension)
    assert list(by_dimension) == ["method", "problem", "task"]
    chosen = np.array([name == "task" for name in dimension])
    assert by_dimension["task"]["verified_f1"] == measured(cascade.only(chosen))["verified_f1"]


def test_an_item_in_no_stratum_is_in_none() -> None:
    cascade = of_counts(verified=4)
    found = measure_strata(items_of(cascade), cascade, ["2020", None, None, "2021"], ["recall"])
    assert {value: rates["recall"].of for value, rates in found.items()} == {"2020": (1,), "2021": (1,)}


def test_equal_items_in_clusters_widen_the_interval() -> None:
    """Ten clusters of six copies know no more than ten items."""
    one = mixed(10, 3, seed=3)
    copied = Cascade(
        tuple(f"{item}-{k}" for item in one.items for k in range(6)),
        *(np.repeat(array, 6, axis=0) for array in (one.counts, one.asked, one.failed)),
    )
    clusters = np.repeat(np.arange(10), 6)
    alone = measure_cascade(items_of(copied), copied, ["verified_f1", "hallucination_rate", "recall"])
    whole = measure_cascade(items_of(copied, clusters), copied, ["verified_f1", "hallucination_rate", "recall"])
    for name, rate in whole.items():
        assert rate.value == pytest.approx(alone[name].value)
        assert rate.estimate.high - rate.estimate.low > 1.4 * (alone[name].estimate.high - alone[name].estimate.low)


def test_clusters_hold_within_strata_and_for_exact_shares() -> None:
    """Two strata of six clusters of five equal items: each is as wide as of its six clusters alone."""
    kinds = ["verified", "verified", "fn", "verified", "fn", "verified"] * 2
    golds = {f"i{k:02}": True for k in range(60)}
    verdicts = [Verdict(item, 0, kinds[k // 5] == "verified", FOUND, SUPPORTED) for k, item in enumerate(golds)]
    cascade = count_verdicts(verdicts, golds)
    clusters = np.repeat(np.arange(12), 5)
    strata = ["x" if k < 30 else "y" for k in range(60)]
    whole = measure_strata(items_of(cascade, clusters), cascade, strata, ["recall", "f1"])["y"]
    half = cascade.only(np.array([value == "y" for value in strata]))
    expected = measure_cascade(items_of(half, clusters[:30]), half, ["recall", "f1"])
    blind = measure_cascade(items_of(half), half, ["recall", "f1"])
    for name in ("recall", "f1"):
        assert whole[name].estimate.low == pytest.approx(expected[name].estimate.low)
        assert whole[name].estimate.low < blind[name].estimate.low - 0.1


def test_the_order_of_verdicts_does_not_matter() -> None:
    golds = {"a": True, "b": False}
    verdicts = [Verdict("a", 0, True, FOUND, SUPPORTED), Verdict("b", 0, True, FOUND), Verdict("a", 1, False)]
    one, other = count_verdicts(verdicts, golds), count_verdicts(verdicts[::-1], golds)
    assert (one.counts == other.counts).all()
    assert "1 of 4 samples without an answer left out" in measured(one)["f1"].estimate.note


def test_true_positives_are_the_sum_of_their_cells() -> None:
    cascade = mixed()
    found = values(cascade)
    counts = cascade.counts.sum(axis=0)
    mismatched = (counts[:, TRUE + Cell.MISMATCHED] / counts[:, TRUE : TRUE + len(Cell)].sum(axis=1)).mean()
    parts = [found[f"{name}_rate"] for name in ("hallucination", "missing_evidence", "verified", "unchecked")]
    assert sum(part for part in parts if part is not None) + mismatched == pytest.approx(1)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("f1", True),
        ("recall", True),
        ("verified_f1", True),
        ("retained_share", True),
        ("negative_accuracy", True),
        ("precision", False),
        ("hallucination_rate", False),
        ("mismatch_rate_all", False),
    ],
)
def test_invalid_answers_are_misses_where_they_are_in_the_denominator(name: str, counts: bool) -> None:
    """Of right positives none is invalid; to say so of their rates would be to say that they rest on more than they do."""
    assert FORMULAS[name].counts_lost == counts
