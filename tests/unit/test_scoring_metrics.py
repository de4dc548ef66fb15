"""How reliable a mean score is: worked examples, an analysis of variance by scipy, and what has no reliability."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats

from pytest_novelty.judges.base import Traits
from pytest_novelty.metrics.scoring import NO_SCORES_NOTE, reliability, score_levels
from pytest_novelty.metrics.view import View
from pytest_novelty.model import ERROR, OK, Vote
from pytest_novelty.outcomes import CaseResult, make_outcome

ViewOf = Callable[[Sequence[Sequence[float | None]]], View]

SHROUT_FLEISS = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
"""Shrout and Fleiss (1979), Psychological Bulletin 86, table 2: six targets, four judges; ICC(1,1) = .17, ICC(1,4) = .44."""


@pytest.fixture
def scored(make_suite: Callable[..., Any], make_instance: Callable[..., Any]) -> ViewOf:
    def build(scores: Sequence[Sequence[float | None]]) -> View:
        """The scores of each idea's votes; None: that call failed."""
        suite = make_suite("pointwise", *[make_instance(name=f"i{k:03}") for k in range(len(scores))])
        results = []
        for instance, row in zip(suite.instances, scores, strict=True):
            votes = [Vote(None, k, ERROR if score is None else OK, score=score) for k, score in enumerate(row)]
            outcome = make_outcome(suite, instance, votes, (None,), Traits())
            results.append(CaseResult("judge", suite.name, "reference", instance.id, outcome))
        return View(results, suite, Traits())

    return build


def test_the_example_of_shrout_and_fleiss(scored: ViewOf) -> None:
    """Between 11.24, within 6.26: ICC(1,4) = .443, one vote .166, so .8 takes .8 (1 - .166) / (.2 x .166) = 20.1 votes."""
    estimate = reliability(scored(SHROUT_FLEISS))
    assert (round(estimate.value or 0, 2), estimate.n) == (0.44, 6)
    assert estimate.value == pytest.approx(1 - 6.263889 / 11.241667, abs=1e-6)
    assert estimate.note == "the mean of 4 votes; 21 would reach 0.8"
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low < estimate.value < estimate.high <= 1


@pytest.mark.parametrize(("instances", "votes"), [(5, 2), (30, 3), (12, 7)])
@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_it_is_one_less_the_inverse_of_the_f_of_an_analysis_of_variance(
    instances: int, votes: int, offset: float, scored: ViewOf
) -> None:
    rng = np.random.default_rng(instances)
    scores = rng.normal(size=(instances, 1)) * 2 + rng.normal(size=(instances, votes))
    f = stats.f_oneway(*scores).statistic
    assert reliability(scored((scores + offset).tolist())).value == pytest.approx(1 - 1 / f, abs=1e-6)


def test_the_interval_is_that_of_a_bootstrap_of_instances(scored: ViewOf) -> None:
    """scipy's BCa with the two-pass formulas; means far from 0, so that the centring shows."""
    rng = np.random.default_rng(1)
    scores = 40 + rng.normal(size=(50, 1)) * 1.5 + rng.normal(size=(50, 3))

    def icc(*columns: np.ndarray, axis: int = -1) -> np.ndarray:
        rows = np.stack(columns, axis=-1)
        means = rows.mean(axis=-1)
        within = np.square(rows - means[..., None]).sum(axis=-1).mean(axis=axis) / 2
        return 1 - within / (3 * means.var(axis=axis, ddof=1))

    expected = stats.bootstrap(tuple(scores.T), icc, paired=True, n_resamples=9999, rng=0).confidence_interval
    estimate = reliability(scored(scores.tolist()))
    assert (estimate.low, estimate.high) == (
        pytest.approx(expected.low, abs=0.02),
        pytest.approx(expected.high, abs=0.02),
    )


def test_clusters_are_of_the_instances_that_count(make_suite: Callable[..., Any], scored: ViewOf) -> None:
    view = scored([[9.0, None], [0.0, 2.0], [2.0, 4.0], [4.0, 6.0], [6.0, 9.0]])
    made = [
        replace(instance, strata={"group": letter}) for instance, letter in zip(view.instances, "zaabb", strict=True)
    ]
    estimate = reliability(View(view.results, make_suite("pointwise", *made, cluster="group"), Traits()))
    assert (estimate.n, estimate.value) == (4, reliability(view).value)


@pytest.mark.parametrize(
    ("scores", "value", "note"),
    [
        ([[1, 1], [2, 2], [4, 4]], 1, ""),
        ([[0, 2], [4, 6], [8, 10]], 15 / 16, ""),  # between 2 x 16, within 2
        # between 2 x 4, within 2; one vote 3/5, so .8 x .4 / (.6 x .2) = 2.7 votes
        ([[0, 2], [2, 4], [4, 6]], 3 / 4, "; 3 would reach 0.8"),
        ([[0, 2], [1, 3], [2, 4]], 0, "; no number of votes would reach 0.8"),  # between 2 x 1, within 2
        ([[0, 4], [1, 4], [0, 4]], 1 - 41 / 2 / 3 * 6, "; no number of votes would reach 0.8"),  # 2 x 1/12; 41/6
    ],
)
def test_by_hand(scores: list[list[float]], value: float, note: str, scored: ViewOf) -> None:
    estimate = reliability(scored(scores))
    assert estimate.value == pytest.approx(value, abs=1e-12)
    assert estimate.note == f"the mean of 2 votes{note}"


def test_the_votes_that_would_reach_it_do(scored: ViewOf) -> None:
    """Spearman-Brown by simulation: one vote 1/3, so two have 1/2 and eight have 0.8."""
    rng = np.random.default_rng(0)
    true, noise = rng.normal(size=(800, 1)), rng.normal(size=(800, 8)) * np.sqrt(2)
    estimate = reliability(scored((true + noise)[:, :2].tolist()))
    assert estimate.value == pytest.approx(0.5, abs=0.06)
    assert int(estimate.note.split()[-4]) in range(6, 12)
    assert reliability(scored((true + noise).tolist())).value == pytest.approx(0.8, abs=0.03)


def test_instances_with_a_failed_vote_are_left_out(scored: ViewOf) -> None:
    whole = [[0.0, 2.0], [2.0, 4.0], [4.0, 6.0]]
    estimate = reliability(scored([[9.0, None], *whole, [None, None]]))
    assert (estimate.value, estimate.n) == (pytest.approx(3 / 4), 3)


@pytest.mark.parametrize(
    ("scores", "note", "n"),
    [
        ([[None, None]] * 5, NO_SCORES_NOTE, 0),
        ([[1.0], [2.0], [3.0]], "needs two votes of a request", 0),
        ([[1.0, 2.0], [2.0, 3.0], [None, 1.0]], "needs three instances with all their scores", 2),
        ([[7.0, 7.0]] * 5, "all instances have the same score", 5),
        ([[6.0, 8.0]] * 5, "all instances have the same score", 5),
    ],
)
def test_no_reliability(scores: list[list[float | None]], note: str, n: int, scored: ViewOf) -> None:
    estimate = reliability(scored(scores))
    assert (estimate.value, estimate.low, estimate.note, estimate.n) == (None, None, note, n)


@pytest.mark.parametrize(
    ("scores", "levels", "note"),
    [
        ([[7.0, 7.0], [7.0, None]], 1, "7 is 100% of 3 scores"),
        ([[1.0, 2.5], [2.5, 3.0]], 3, "2.5 is 50% of 4 scores"),
        ([[1.0, 2.0], [2.0, 3.0], [2.0, 4.0], [5.0, 5.0]], 5, "2 is 38% of 8 scores"),
    ],
)
def test_levels_and_the_share_of_the_most_frequent(
    scores: list[list[float | None]], levels: int, note: str, scored: ViewOf
) -> None:
    estimate = score_levels(scored(scores))
    assert (estimate.value, estimate.low, estimate.high) == (levels, levels, levels)
    assert (estimate.note, estimate.n, estimate.method) == (note, len(scores), "exact")


def test_no_levels_without_scores(scored: ViewOf) -> None:
    assert (score_levels(scored([[None]])).value, score_levels(scored([[None]])).note) == (None, NO_SCORES_NOTE)


def test_ideas_without_all_their_scores_are_named_and_half_of_them_are_too_many(scored: ViewOf) -> None:
    known = [list(row) for row in SHROUT_FLEISS]
    lost: list[list[float | None]] = [[9, None, 5, 8]]
    estimate = reliability(scored([*known, *lost * 2]))
    assert (round(estimate.value or 0, 2), estimate.n) == (0.44, 6)
    assert estimate.note == "the mean of 4 votes; 21 would reach 0.8; 2 without all their scores left out"
    assert reliability(scored([*known, *lost * 6])).value is not None
    few = reliability(scored([*known, *lost * 7]))
    assert (few.value, few.note) == (None, "only 6 of 13 instances have all their scores")
