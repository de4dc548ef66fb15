"""What is said of evidence at two times where there is none to speak of, or it was not all checked."""

from __future__ import annotations

import pytest

from pytest_novelty.evidence_drift import EvidenceDrift, Moved
from pytest_novelty.metrics.grounded import NO_EVIDENCE
from pytest_novelty.metrics.view import Estimate

NOTHING, UNTOLD = Estimate.undefined("0 of 0"), Estimate.undefined(NO_EVIDENCE)
NONE, HALF = Estimate(0.0), Estimate(0.5)
OPEN = Estimate(0.0, bounds=(0.0, 0.75))


def drift_of(before: Estimate, after: Estimate, difference: Estimate, *, exact: bool = False) -> EvidenceDrift:
    rates = ("hallucination_rate_all", "missing_evidence_rate_all")
    found = EvidenceDrift(tuple(Moved(name, before, after, difference, None) for name in rates), exact)
    return found.decide([None, None], 0.05)


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (NONE, NONE, "evidence: none is invented or missing, before or now"),
        (NONE, NOTHING, "evidence: not compared, no positive vote now"),
        (HALF, NOTHING, "evidence: not compared, no positive vote now"),
        (NOTHING, NONE, "evidence: not compared, no positive vote before"),
        (NOTHING, NOTHING, "evidence: not compared, no positive vote before or now"),
        (UNTOLD, NONE, f"evidence: not compared, {NO_EVIDENCE} before"),
        (UNTOLD, NOTHING, f"evidence: not compared, {NO_EVIDENCE} before, no positive vote now"),
    ],
)
def test_a_rate_of_nothing_is_no_rate_of_none(before: Estimate, after: Estimate, said: str) -> None:
    difference = Estimate(0.0) if NONE is before is after else Estimate.undefined("undefined for the variant: 0 of 0")
    assert list(drift_of(before, after, difference).parts(0.05)) == [said]


def test_a_rate_that_stays_is_told() -> None:
    told = list(drift_of(HALF, HALF, Estimate(0.0)).parts(0.05))
    assert told[1] == "evidence missing in 50% of positive votes before, 50% now"


@pytest.mark.parametrize(
    ("before", "after", "difference", "said", "worse"),
    [
        (OPEN, HALF, Estimate(0.5, bounds=(-0.25, 0.5)), "0% to 75% of positive votes before, 50% now, undecided over what", 0),
        (NONE, OPEN, Estimate(0.0, bounds=(0.0, 0.75)), "in 0% of positive votes before, 0% to 75% now, undecided over what", 0),
        (OPEN, Estimate(0.9), Estimate(0.9, bounds=(0.15, 0.9)), "0% to 75% of positive votes before, 90% now", 1),
        (NONE, HALF, Estimate(0.5), "worse: evidence not in what was shown in 0% of positive votes before, 50% now", 1),
    ],
)  # fmt: skip
def test_what_was_not_checked_is_no_change(
    before: Estimate, after: Estimate, difference: Estimate, said: str, worse: int
) -> None:
    """A judge that repeats itself is worse by any rise, if there is one whatever was not checked."""
    found = drift_of(before, after, difference, exact=True)
    assert found.is_worse == bool(worse)
    assert said in next(iter(found.parts(0.05)))
