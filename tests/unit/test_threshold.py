"""Thresholds chosen on other instances: the right one, without a look at the fold it is for, and with honest intervals."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from pytest_novelty.judges.base import Traits
from pytest_novelty.metrics import classification
from pytest_novelty.metrics.threshold import (
    accuracy,
    best_threshold,
    cross_fitted,
    f1,
    f1_of_other,
    fold_of,
    macro_f1,
    widen,
)
from pytest_novelty.metrics.view import Estimate, View, label_by_cross_validation
from pytest_novelty.model import NOT_NOVEL, NOVEL, Vote
from pytest_novelty.outcomes import CaseResult, make_outcome


def of(letters: str) -> np.ndarray:
    return np.array([letter == "1" for letter in letters], dtype=bool)


# --- the best threshold -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scores", "gold", "threshold"),
    [
        ([4, 3, 2, 1], "1100", 2.5),
        ([1, 2, 3, 4], "0011", 2.5),
        ([9, 4, 1], "110", 2.5),  # the middle of the gap
        ([3, 3, 1], "100", 2),  # equal scores are not divided
        ([1, 2], "11", 1),  # all novel: from the lowest score
        ([1, 2], "00", 3),  # none novel: above the highest
        ([5, 5], "10", 6),  # all novel and none novel are as good (2/3): then none
        ([8, 6, 4, 2], "1010", 7),  # F1s 2/3 and 4/5; below the 4 they are 4/5 and 2/3: the higher cut
    ],
)
def test_best_threshold(scores: list[float], gold: str, threshold: float) -> None:
    assert best_threshold(np.array(scores, dtype=float), of(gold), np.ones(len(scores))) == threshold


def test_weights_are_repeats() -> None:
    scores, gold, weights = np.array([4.0, 3.0, 2.0, 1.0]), of("1010"), np.array([1.0, 5.0, 0.0, 2.0])
    repeated = np.repeat(np.arange(4), weights.astype(int))
    assert best_threshold(scores, gold, weights) == 3.5
    assert (scores[repeated] >= 3.5).tolist() == gold[repeated].tolist()


@pytest.mark.parametrize("seed", range(20))
def test_no_other_threshold_is_better(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, size=15).astype(float)
    gold, weights = rng.random(15) < 0.5, rng.integers(0, 3, size=15)
    repeated = np.repeat(np.arange(15), weights)

    def reached(threshold: float) -> float:
        return float(np.nansum([m(scores[repeated] >= threshold, gold[repeated]) for m in (f1, f1_of_other)]))

    best = max(reached(threshold) for threshold in np.arange(-0.5, 7))
    assert reached(best_threshold(scores, gold, weights.astype(float))) == pytest.approx(best)


# --- folds --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("clusters", "folds"), [(2, 2), (3, 3), (5, 5), (48, 5)])
def test_folds_keep_clusters_whole_and_are_of_about_one_size(clusters: int, folds: int) -> None:
    index = np.repeat(np.arange(clusters), 3)
    found = fold_of(index, seed=1)
    assert all(len(set(found[index == cluster])) == 1 for cluster in range(clusters))
    sizes = np.bincount(found) // 3
    assert len(sizes) == folds
    assert sizes.max() - sizes.min() <= 1


def test_folds_depend_on_the_seed_alone() -> None:
    index = np.arange(30)
    assert (fold_of(index, 1) == fold_of(index, 1)).all()
    assert (fold_of(index, 1) != fold_of(index, 2)).any()


def test_no_label_of_a_fold_bears_on_what_is_said_of_it() -> None:
    """Whatever the labels of fold 0, and however extreme, its instances are labelled by what the others say."""
    scores = np.array([6.0, 4.0, 1.0, 9.0, 7.0, 3.0, 2.0, 8.0, 6.5, 2.5])
    folds = np.array([0, 0, 0, 1, 1, 1, 1, 2, 2, 2])
    others = of("1100110")  # with 5, 3, 2 at the threshold of folds 1 and 2 together: 4.75
    said = {
        tuple(cross_fitted(scores, np.concatenate([of("".join(own)), others]), folds)[:3])
        for own in product("01", repeat=3)
    }
    assert said == {(True, False, False)}


def test_every_label_of_the_other_folds_may_bear_on_it() -> None:
    scores, folds = np.array([5.0, 4.0, 6.0, 1.0]), np.array([0, 1, 1, 1])
    assert cross_fitted(scores, of("1110"), folds)[0]  # threshold 2.5
    assert not cross_fitted(scores, of("1000"), folds)[0]  # above 6


def test_all_other_folds_bear_on_it_together() -> None:
    """Fold 1 alone has the threshold 2.25, fold 2 alone 9.5, both together 2.25 again."""
    scores, folds = np.array([3.0, 4.0, 3.5, 1.0, 10.0, 9.0]), np.array([0, 1, 1, 1, 2, 2])
    for order in ([0, 1, 2], [0, 2, 1]):
        assert cross_fitted(scores, of("011010"), np.array(order)[folds])[0]


def test_the_threshold_itself_is_novel() -> None:
    assert cross_fitted(np.array([1.0, 1.0, 2.0]), of("111"), np.array([0, 1, 1])).tolist() == [True, True, True]


def test_a_fold_whose_others_have_no_weight_is_not_novel() -> None:
    weights = np.array([1.0, 1.0, 0.0, 0.0])
    said = cross_fitted(np.array([9.0, 8.0, 7.0, 1.0]), of("1011"), of("0011").astype(int), weights)
    assert said.tolist() == [False, False, False, False]


def test_labels_that_are_noise_are_met_at_chance() -> None:
    """No optimism: choosing and measuring on the same instances would give about .6 here."""
    rng = np.random.default_rng(0)
    fitted, naive = [], []
    for seed in range(400):
        scores, gold = rng.random(40), rng.permutation(np.arange(40) % 2 == 0)
        fitted.append(accuracy(cross_fitted(scores, gold, fold_of(np.arange(40), seed)), gold))
        naive.append(accuracy(scores >= best_threshold(scores, gold, np.ones(40)), gold))
    assert np.mean(naive) > 0.57
    assert 0.44 < np.mean(fitted) < 0.51


# --- metrics and intervals ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "gold", "values"),
    [
        ("11001", "11100", (0.6, 2 / 3, 1 / 2, 7 / 12)),
        ("1111", "1100", (0.5, 2 / 3, 0, 1 / 3)),
        ("11", "11", (1, 1, np.nan, np.nan)),
        ("", "", (np.nan, np.nan, np.nan, np.nan)),
    ],
)
def test_metrics_of_plain_labels(said: str, gold: str, values: tuple[float, ...]) -> None:
    found = [metric(of(said), of(gold)) for metric in (accuracy, f1, f1_of_other, macro_f1)]
    assert found == pytest.approx(list(values), nan_ok=True)


NOISE = np.random.default_rng(4)
SCORES, GOLD = NOISE.random(40), NOISE.random(40) < 0.5


def test_choosing_the_threshold_widens_the_interval() -> None:
    narrow = Estimate(0.5, 0.49, 0.51, 40, "Clopper-Pearson", "1 tie")
    wide = widen(narrow, accuracy, SCORES, GOLD, np.arange(40), 0)
    assert wide.low is not None
    assert wide.high is not None
    assert 0.1 < wide.low < 0.4
    assert 0.6 < wide.high < 0.85
    assert (wide.value, wide.n) == (0.5, 40)
    assert wide.method == "Clopper-Pearson, thresholds chosen inside 400 resamples"
    assert wide.note == "1 tie, threshold by cross-validation"
    assert (
        widen(Estimate(0.5, 0.4, 0.6), accuracy, SCORES, GOLD, np.arange(40), 0).note == "threshold by cross-validation"
    )


def test_it_never_narrows_an_interval() -> None:
    whole = widen(Estimate(0.5, 0.0, 1.0, 40, "m"), accuracy, SCORES, GOLD, np.arange(40), 0)
    assert (whole.low, whole.high) == (0.0, 1.0)


@pytest.mark.parametrize("low", [None, 0.4])
def test_without_an_interval_there_is_nothing_to_widen(low: float | None) -> None:
    estimate = Estimate(0.5, low, None, 40)
    assert widen(estimate, accuracy, SCORES, GOLD, np.arange(40), 0) is estimate


def test_whole_clusters_are_resampled() -> None:
    """Four clusters of ten equal instances say less than forty instances."""
    narrow = Estimate(0.5, 0.49, 0.51, 40, "m")
    scores, gold, clusters = np.repeat([1.0, 2.0, 3.0, 4.0], 10), np.repeat(of("0101"), 10), np.repeat(np.arange(4), 10)
    alone, together = (widen(narrow, accuracy, scores, gold, index, 0) for index in (np.arange(40), clusters))
    assert together.low is not None
    assert alone.low is not None
    assert together.low < alone.low - 0.1


# --- in a view ----------------------------------------------------------------------------------------------


@pytest.fixture
def results_of(make_suite: Callable[..., Any], make_instance: Callable[..., Any]) -> Callable[..., Any]:
    def build(scores: list[float], gold: str, traits: Traits) -> tuple[list[CaseResult], Any]:
        labels = {"1": NOVEL, "0": NOT_NOVEL}
        made = [make_instance(name=f"i{k:03}", gold=labels.get(letter)) for k, letter in enumerate(gold)]
        suite = make_suite("pointwise", *made)
        outcomes = [
            make_outcome(suite, i, [Vote(None, 0, score=s)], (None,), traits) for i, s in zip(made, scores, strict=True)
        ]
        rows = [CaseResult("j", suite.name, "reference", i.id, o) for i, o in zip(made, outcomes, strict=True)]
        return rows, suite

    return build


@pytest.mark.parametrize(("higher_is", "sign"), [(NOVEL, 1), (NOT_NOVEL, -1)])
def test_scores_become_labels_on_other_folds(higher_is: str, sign: int, results_of: Callable[..., Any]) -> None:
    traits = Traits(higher_is=higher_is)
    gold = "10" * 15 + ".."
    scores = [sign * (10.0 if letter == "1" else 0.0) + k / 100 for k, letter in enumerate(gold)]
    rows, suite = results_of(scores, gold, traits)
    labelled = label_by_cross_validation(rows, suite, traits, seed=0)
    assert [row.outcome.result for row in labelled] == ["correct"] * 30 + ["unlabelled"] * 2
    assert [row.outcome.label for row in labelled[-2:]] == [None, None]
    view = View(labelled, suite, traits, cross_fitted=True)
    estimate = classification.accuracy(view)
    assert (estimate.value, estimate.n, estimate.note) == (1, 30, "threshold by cross-validation")
    assert classification.accuracy(View(labelled, suite, traits)).note == ""


@pytest.mark.parametrize(
    ("metric", "plain"),
    [
        (classification.accuracy, accuracy),
        (classification.f1_novel, f1),
        (classification.f1_not_novel, f1_of_other),
        (classification.macro_f1, macro_f1),
    ],
)
def test_each_metric_is_widened_by_itself(
    metric: Callable[[View], Estimate], plain: Callable[..., float], results_of: Callable[..., Any]
) -> None:
    """On scores that tell little, labels that are unequal, and two instances without one."""
    rng = np.random.default_rng(2)
    gold = "1" * 8 + "0" * 22
    scores = rng.normal(size=32) + np.array([letter == "1" for letter in gold + ".."])
    rows, suite = results_of(scores.tolist(), gold + "..", Traits())
    labelled = label_by_cross_validation(rows, suite, Traits(), seed=3)
    as_they_are = metric(View(labelled, suite, Traits(), seed=3))
    widened = widen(as_they_are, plain, scores[:30], of(gold), np.arange(30), 3)
    assert metric(View(labelled, suite, Traits(), seed=3, cross_fitted=True)) == widened != as_they_are


def test_labels_that_a_judge_gave_are_kept(results_of: Callable[..., Any]) -> None:
    traits = Traits(threshold=100.0)
    rows, suite = results_of([9.0, 1.0, 8.0, 2.0], "1010", traits)
    assert [r.outcome.label for r in label_by_cross_validation(rows, suite, traits, seed=0)] == [NOT_NOVEL] * 4
