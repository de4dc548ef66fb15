"""Auditors against each other and against people: published figures, closed forms, and what is undefined."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from pytest_novelty import evaluate
from pytest_novelty.feasibility import cannot_pass, size_of
from pytest_novelty.gates import parse_gate
from pytest_novelty.metrics.agreement import agree, cohen_kappa, fleiss_kappa, validate
from pytest_novelty.metrics.intervals import wilson
from pytest_novelty.metrics.sampled import Items
from pytest_novelty.model import Request, Suite
from pytest_novelty.suites import embedded_suites, load_suite
from tests.scripts import load_calibration


def repeated(*parts: tuple[bool | None, int]) -> list[bool | None]:
    return [value for value, count in parts for _ in range(count)]


PUBLISHED = (
    repeated((True, 48), (False, 52)),
    repeated((True, 46), (False, 2), (False, 41), (True, 11)),
)
"""NovGauge, appendix K.1: 48 *supported* (46 right), 52 *unsupported* (41 right)."""


def test_the_published_validation() -> None:
    """NovGauge, appendix K.1: agreement 87.0 % [79.0, 92.2], kappa 0.74; for *unsupported* 78.8, 95.3, 86.3 %."""
    found = validate(Items(100), *PUBLISHED)
    assert found.agreement.value == pytest.approx(0.87)
    assert found.agreement.low == pytest.approx(0.790, abs=5e-4)
    assert found.agreement.high == pytest.approx(0.922, abs=5e-4)
    assert found.agreement.method == "Wilson"
    assert found.kappa.value == pytest.approx(0.74, abs=5e-3)
    assert found.precision.value == pytest.approx(0.788, abs=5e-4)
    assert found.recall.value == pytest.approx(0.953, abs=5e-4)
    assert found.f1.value == pytest.approx(0.863, abs=5e-4)
    assert (found.precision.n, found.recall.n, found.f1.n) == (52, 43, 54)
    assert found.table == {
        ("supported", "supported"): 46,
        ("supported", "unsupported"): 2,
        ("unsupported", "unsupported"): 41,
        ("unsupported", "supported"): 11,
    }
    for estimate in (found.kappa, found.precision, found.recall, found.f1):
        assert estimate.value is not None
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.low < estimate.value < estimate.high


def test_what_is_left_open_is_left_out_and_said() -> None:
    auditor = [*PUBLISHED[0], None, True, None]
    people = [*PUBLISHED[1], True, None, None]
    found = validate(Items(103, resamples=500), auditor, people)
    same = validate(Items(100, resamples=500), *PUBLISHED)
    assert found.agreement.value == same.agreement.value
    assert found.agreement.n == found.kappa.n == 100
    assert found.f1.value == same.f1.value
    assert found.table == same.table
    for estimate in (found.agreement, found.kappa, found.f1):
        assert estimate.note == "3 of 103 items without an opinion of each left out"


def test_an_auditor_that_says_yes_to_everything() -> None:
    """It agrees as often as people say yes, which kappa sees through; its precision for *unsupported* is of 0."""
    found = validate(Items(10, resamples=500), [True] * 10, repeated((True, 8), (False, 2)))
    assert found.agreement.value == 0.8
    assert found.kappa.value == 0
    assert found.precision.value is None
    assert found.precision.note == "0 of 0"
    assert found.recall.value == found.f1.value == 0


def test_kappa_is_undefined_where_the_same_is_said_of_everything() -> None:
    found = validate(Items(10, resamples=500), [True] * 10, [True] * 10)
    assert found.agreement.value == 1
    assert found.kappa.value is None
    assert found.kappa.note == "undefined: the same is said of everything"
    assert found.kappa.n == 10
    several = agree(Items(10, resamples=500), {"a": [True] * 10, "b": [True] * 10, "c": [True] * 10})
    assert several.fleiss.value is None
    assert several.all_agree.value == 1


def test_resamples_without_a_kappa_are_counted() -> None:
    """Of 12 items one is disputed: many resamples have no *unsupported* at all."""
    found = validate(Items(12, resamples=500), repeated((True, 11), (False, 1)), repeated((True, 11), (False, 1)))
    assert found.kappa.value == 1
    assert "of 500 resamples undefined" in found.kappa.method


def test_no_opinions_at_all() -> None:
    found = validate(Items(2), [None, True], [True, None])
    for estimate in (found.agreement, found.kappa, found.precision, found.f1):
        assert estimate.value is None
        assert estimate.note.startswith("2 of 2 items without an opinion of each left out")


def test_opinions_and_items_are_as_many() -> None:
    with pytest.raises(ValueError, match="the human labels: expected opinions on 3 items, got 2"):
        validate(Items(3), [True] * 3, [True] * 2)
    with pytest.raises(ValueError, match="agreement needs two auditors or more, not 1"):
        agree(Items(1), {"a": [True]})


# --- several ----------------------------------------------------------------------------------------------------

SEVERAL: dict[str, list[bool | None]] = {
    "a": repeated((True, 30), (False, 20), (True, 10)),
    "b": repeated((True, 25), (False, 25), (True, 10)),
    "c": repeated((False, 10), (True, 20), (False, 20), (None, 10)),
}


def test_several_auditors_by_pair_and_all() -> None:
    found = agree(Items(60, resamples=500), SEVERAL)
    assert list(found.agreement) == list(found.kappa) == [("a", "b"), ("a", "c"), ("b", "c")]
    assert found.agreement["a", "b"].value == pytest.approx(55 / 60)
    assert found.agreement["a", "c"].value == pytest.approx(40 / 50)
    assert found.agreement["a", "c"].note == "10 of 60 items without an opinion of each left out"
    assert found.all_agree.value == pytest.approx(35 / 50)
    seen, chance = 55 / 60, (40 * 35 + 20 * 25) / 3600
    assert found.kappa["a", "b"].value == pytest.approx((seen - chance) / (1 - chance))
    for estimate in (*found.kappa.values(), found.fleiss):
        assert estimate.value is not None
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.low < estimate.value < estimate.high


def test_the_interval_of_agreement_over_clusters_is_of_the_effective_size() -> None:
    one = repeated((True, 40), (False, 20))
    other = repeated((True, 30), (False, 30))
    clusters = np.repeat(np.arange(12), 5)
    alone = agree(Items(60, resamples=500), {"a": one, "b": other}).all_agree
    whole = agree(Items(60, clusters, resamples=500), {"a": one, "b": other}).all_agree
    expected = wilson(50 / 60, 60)
    assert expected is not None
    assert (alone.low, alone.high) == (expected.low, expected.high)
    assert whole.value == alone.value
    assert whole.low is not None
    assert whole.low < expected.low - 0.1


def test_fleiss_by_hand() -> None:
    """Fleiss 1971, the worked example of ten subjects, fourteen raters and five categories: 0.210."""
    table = np.array(
        [
            [0, 0, 0, 0, 14],
            [0, 2, 6, 4, 2],
            [0, 0, 3, 5, 6],
            [0, 3, 9, 2, 0],
            [2, 2, 8, 1, 1],
            [7, 7, 0, 0, 0],
            [3, 2, 6, 3, 0],
            [2, 5, 3, 2, 2],
            [6, 5, 2, 1, 0],
            [0, 2, 2, 3, 7],
        ]
    )
    assert fleiss_kappa(table) == pytest.approx(0.210, abs=5e-4)


def test_fleiss_is_undefined_or_refused() -> None:
    assert np.isnan(fleiss_kappa(np.array([[3, 0], [3, 0]])))
    with pytest.raises(ValueError, match="the same number of raters, two or more"):
        fleiss_kappa(np.array([[3, 0], [1, 1]]))
    with pytest.raises(ValueError, match="the same number of raters, two or more"):
        fleiss_kappa(np.array([[1, 0], [0, 1]]))


def test_fleiss_of_two_is_scotts_pi() -> None:
    """Its chance is of the labels of both together, which is what tells it from Cohen's."""
    a, b = repeated((True, 50), (False, 10)), repeated((True, 30), (False, 30))
    found = agree(Items(60, resamples=500), {"a": a, "b": b})
    chance = (80 / 120) ** 2 + (40 / 120) ** 2
    assert found.fleiss.value == pytest.approx((40 / 60 - chance) / (1 - chance))
    cohen = found.kappa["a", "b"].value
    assert cohen is not None
    assert found.fleiss.value is not None
    assert cohen > found.fleiss.value + 0.01


def test_cohen_of_more_labels_and_many_tables() -> None:
    """Cohen 1960: the table of proportions with kappa .492 (rows and columns in percent)."""
    table = np.array([[44, 5, 1], [7, 20, 3], [9, 5, 6]], dtype=np.float64).ravel()
    assert cohen_kappa(np.stack([table, table * 2])) == pytest.approx([0.492, 0.492], abs=5e-4)


@pytest.mark.parametrize("n", [2, 80])
def test_agreement_without_exception_is_no_certainty(n: int) -> None:
    """No resample varies; Wilson's interval of the agreement does, at the chance of a half."""
    said = [k % 2 == 0 for k in range(n)]
    found = agree(Items(n, resamples=200), {"a": said, "b": said, "c": said})
    score = wilson(1.0, n)
    assert score is not None
    for kappa in (*found.kappa.values(), found.fleiss):
        assert (kappa.value, kappa.high) == (1.0, 1.0)
        assert kappa.low == pytest.approx(2 * score.low - 1)


def test_one_who_always_says_the_same_may_agree_beyond_chance_elsewhere() -> None:
    """Kappa is 0 in every resample, too; the agreement of 60 % may be 49 or 70 %."""
    said = validate(Items(80, resamples=200), [False] * 80, [k % 5 < 2 for k in range(80)]).kappa
    score = wilson(0.6, 80)
    assert score is not None
    assert said.value == 0
    assert (said.low, said.high) == pytest.approx(((score.low - 0.6) / 0.4, (score.high - 0.6) / 0.4))


def test_clusters_that_agree_count_once() -> None:
    said = [k % 2 == 0 for k in range(80)]
    alone, clustered = (
        agree(Items(80, clusters, resamples=200), {"a": said, "b": said}).kappa["a", "b"]
        for clusters in (None, np.arange(80) // 8)
    )
    score = wilson(1.0, 10)
    assert score is not None
    assert clustered.low == pytest.approx(2 * score.low - 1)
    assert clustered.low < alone.low


CALIBRATION = load_calibration("agreement")


@pytest.mark.parametrize(("items", "share", "raters"), [(20, 0.5, 2), (80, 0.5, 2), (80, 0.9, 2), (20, 0.5, 3)])
@pytest.mark.parametrize("kappa", [0.0, 0.4, 0.9, 1.0])
def test_intervals_of_kappa_cover(items: int, share: float, raters: int, kappa: float) -> None:
    """The fast part of tests/calibration/agreement.py. The bootstrap alone would have no width at a kappa of 1."""
    world = CALIBRATION.World(items, kappa, share, raters)
    found = CALIBRATION.simulate(world, 120, resamples=200)
    assert found.coverage >= 0.93 - 2 * (0.93 * 0.07 / 120) ** 0.5
    assert found.width > 0.02


def auditor(request: Request) -> dict[str, object]:
    """Says *unsupported* to nearly everything."""
    return {"supported": len(request.reason) % 9 == 0}


auditor.uses_prompt = False  # type: ignore[attr-defined]


@pytest.mark.parametrize("cluster", ["spans", None])
def test_one_figure_has_one_interval(cluster: str | None) -> None:
    """The table of auditors and that of metrics say the same of the same answers, with clusters and without."""
    suite = replace(load_suite(embedded_suites()["landmarks-entailment"]), cluster=cluster)
    report = evaluate({"one": auditor}, suite, votes=1)
    found = report.auditors[0].validations["one"]
    names = {"agreement": "accuracy", "precision": "precision", "recall": "recall", "f1": "f1", "kappa": "kappa"}
    for name, metric in names.items():
        told, estimate = getattr(found, name), report.metric(metric)
        assert (told.value, told.low, told.high, told.method) == (
            pytest.approx(estimate.value), pytest.approx(estimate.low), pytest.approx(estimate.high), estimate.method
        ), name  # fmt: skip
    assert (found.agreement.method == "Wilson") == (cluster is None)


def test_a_share_of_what_is_rejected_is_no_more_certain_for_balanced_clusters() -> None:
    """Each pair of spans has a reason of either kind, so that whoever rejects all is right in half, whatever is resampled: that
    is the suite's doing, and no news of the auditor.
    """
    pairs = np.arange(80) // 2
    found = validate(Items(80, pairs, resamples=200), [False] * 80, [k % 2 == 0 for k in range(80)])
    independent = wilson(0.5, 80)
    assert independent is not None
    assert found.precision.low <= independent.low
    assert found.precision.high >= independent.high


def test_the_agreement_of_an_auditor_needs_what_wilson_does(make_suite: Callable[..., Suite]) -> None:
    """Its interval over independent labels is Wilson's, so that 16 right ones pass where a share would need 17."""
    suite = make_suite("entailment")
    gate = parse_gate("accuracy>=0.80")
    assert cannot_pass(gate, *size_of(gate, suite, ())._replace(n=16)) is None
    assert cannot_pass(gate, *size_of(gate, suite, ())._replace(n=15)) is not None
    assert cannot_pass(gate, 16, None) is not None
