"""What a view's cascade tells and leaves out: failures, audits, strata; and what its mildest cells count for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pytest_novelty.judges.base import Traits
from pytest_novelty.metrics.cascade import (
    FORMULAS,
    MACRO,
    NO_REASON,
    UNSUPPORTED,
    VERIFIED,
    WATERFALL,
    Cell,
    Verdict,
    count_verdicts,
    measure_cascade,
)
from pytest_novelty.metrics.catalogue import CATALOGUE
from pytest_novelty.metrics.grounded import NOT_AUDITED, RATES, ground, rate_of, sampled_of
from pytest_novelty.metrics.partitions import Answer, Group, PaperSet, count_pairs
from pytest_novelty.metrics.sampled import F1, MEAN, Counted, Items, Sampled, measure
from pytest_novelty.metrics.view import View
from pytest_novelty.model import SCHEMA_VIOLATION, Axes, Ground, Idea, Instance, Outcome, Suite, Variant, Vote
from pytest_novelty.outcomes import CaseResult
from pytest_novelty.verdicts import NOT_SIMILAR, SIMILAR

FOUND = (VERIFIED, VERIFIED)


def view_of(
    *votes: Vote, strata: list[dict[str, str]] | None = None, cluster: str | None = None, failures: str = "wrong"
) -> View:
    """One vote an instance; the papers of the first half are similar."""
    papers = (Idea("a", "A", "Text."), Idea("b", "B", "Text."))
    instances = [
        Instance(
            f"i{place:02}",
            papers,
            SIMILAR if place < (len(votes) + 1) // 2 else NOT_SIMILAR,
            dimension="method",
            strata=strata[place] if strata else {},
        )
        for place in range(len(votes))
    ]
    variants = {"reference": Variant("reference", Axes("similarity/reference", votes=1))}
    suite = Suite(
        "made", "1", "similarity", "construction", tuple(instances), variants, "0" * 32, Path("made/suite.yaml")
    )
    results = [
        CaseResult("j", "made", "reference", one.id, Outcome(vote.label, "", (vote,), one.gold))
        for one, vote in zip(instances, votes, strict=True)
    ]
    return View(results, replace(suite, cluster=cluster), Traits(), failures=failures)


def similar(supported: bool | None = True) -> Vote:
    held = Ground(("a", "b"), ("verbatim", "verbatim"), ("", ""), True, supported)
    return Vote("ab", 0, label=SIMILAR, grounds=(held,))


OTHER = Vote("ab", 0, label=NOT_SIMILAR)


def test_failures_are_dropped_where_the_view_says_so() -> None:
    votes = similar(), Vote("ab", 0, SCHEMA_VIOLATION), OTHER, OTHER
    kept, dropped = view_of(*votes), view_of(*votes, failures="drop")
    assert rate_of(kept, "positive_accuracy").value == 0.5
    assert rate_of(dropped, "positive_accuracy").value == 1
    assert rate_of(kept, "verified_f1").value == pytest.approx(2 / 3)
    assert rate_of(dropped, "verified_f1").value == 1
    assert ground(dropped).rates["verified_recall"].value == 1


def test_without_an_auditor_nothing_is_told_that_needs_one() -> None:
    found = ground(view_of(similar(None), OTHER))
    needed = {
        "mismatch_rate",
        "verified_precision",
        "verified_recall",
        "verified_f1",
        "verified_rate",
        "retained_share",
    }
    audited = ground(view_of(similar(), OTHER))
    assert audited.rates.keys() - found.rates.keys() == needed | {
        "mismatch_rate_false",
        "mismatch_rate_all",
        "verified_rate_all",
    }
    for name in sorted(needed):
        assert rate_of(view_of(similar(None), OTHER), name).note == NOT_AUDITED
        assert sampled_of(view_of(similar(None), OTHER), name) == NOT_AUDITED
        assert sampled_of(view_of(similar(), OTHER), name) != NOT_AUDITED


def test_strata_tell_a_few_groups_apart_and_are_no_clusters() -> None:
    names = ["twelve", "thirteen", "one", "two"]
    strata = [{"twelve": str(k % 12), "thirteen": str(k % 13), "one": "x", "two": str(k % 2)} for k in range(26)]
    assert names == list(strata[0])
    votes = [similar()] * 26
    assert set(ground(view_of(*votes, strata=strata)).strata) == {"dimension", "twelve", "two"}
    assert set(ground(view_of(*votes, strata=strata, cluster="two")).strata) == {"dimension", "twelve"}


def test_a_positive_without_a_reason_is_grounded_and_not_checked_against_it() -> None:
    verdicts = [
        Verdict("a", 0, True, FOUND, "supported"),
        Verdict("b", 0, True, FOUND, UNSUPPORTED),
        Verdict("c", 0, True, FOUND, NO_REASON),
        Verdict("d", 0, True, FOUND),
    ]
    cascade = count_verdicts(verdicts, dict.fromkeys("abcd", True))
    found = measure_cascade(Items(4, resamples=200), cascade)
    mismatch = found["mismatch_rate"]
    assert (mismatch.value, mismatch.lower, mismatch.upper) == pytest.approx((1 / 2, 1 / 3, 2 / 3))
    assert found["grounded_f1"].value == 1
    assert found["missing_reason_rate"].value == pytest.approx(1 / 4)
    verified = found["verified_f1"]
    assert (verified.value, verified.upper) == pytest.approx((2 / 8, 4 / 8))


def test_cells_are_ranked_from_best_to_worst() -> None:
    """A pair of papers in two groups is in the worse one's cell."""
    groups = (Group((0, 1), FOUND, UNSUPPORTED), Group((0, 1), FOUND, NO_REASON))
    for order in (groups, groups[::-1]):
        counted = count_pairs([Answer("s", 0, order)], {"s": PaperSet(3, [[0, 1]])})
        assert counted.counts[0, 0, Cell.UNREASONED] == 1
        assert counted.counts[0, 0, Cell.MISMATCHED] == 0


@pytest.mark.parametrize("kind", [MEAN, F1])
def test_an_interval_is_that_of_four_times_the_items_at_most(kind: str) -> None:
    """Values that hardly differ tell less of other items than they seem to, and more than as many coins."""
    n = 50
    events = np.where(np.arange(n) % 2, 0.901, 0.899)[:, None]
    counted = Counted(events, np.ones((n, 1)))
    found = measure(Items(n, resamples=500), {"m": Sampled(counted, kind)})["m"].estimate
    assert found.low is not None
    assert found.high is not None
    half = 1.96 * (0.9 * 0.1 / (4 * n)) ** 0.5
    assert 0.8 * half < 0.9 - found.low < 1.4 * half
    assert 0.6 * half < found.high - 0.9 < 1.2 * half


def test_a_metric_of_the_cascade_is_in_all_places() -> None:
    """The catalogue names it, a formula tells what it is and needs, and a report has it."""
    rates = {
        function.rpartition(":")[2]
        for metric in CATALOGUE.values()
        for function in (metric.function, metric.cited)
        if function.startswith("grounded:rate_of:")
    }
    assert rates <= set(RATES) <= set(FORMULAS)
    assert len(rates) > 20
    assert set(MACRO) <= set(FORMULAS)
    assert set(WATERFALL) <= set(RATES)
    grounded = {name for name in RATES if FORMULAS[name].needs_evidence}
    assert set(RATES) - grounded == {"precision", "recall", "f1", "positive_accuracy", "negative_accuracy"}
    audited = {name for name in RATES if FORMULAS[name].needs_audit}
    assert audited == {
        *("mismatch_rate", "mismatch_rate_false", "mismatch_rate_all", "verified_rate", "verified_rate_all"),
        *("verified_precision", "verified_recall", "verified_f1", "retained_share"),
    }
