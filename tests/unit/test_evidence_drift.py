"""What is said of evidence at two times where there is none to speak of."""

from __future__ import annotations

import pytest

from pytest_novelty.evidence_drift import EvidenceDrift, Moved
from pytest_novelty.metrics.view import Estimate


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (0.0, 0.0, "evidence: none is invented or missing, before or now"),
        (0.0, None, "evidence missing: not compared (0 of 0)"),
        (None, 0.0, "evidence missing: not compared (0 of 0)"),
        (None, None, "evidence missing: not compared (0 of 0)"),
        (0.5, 0.5, "evidence missing in 50% of positive votes before, 50% now"),
    ],
)
def test_a_rate_of_nothing_is_no_rate_of_none(before: float | None, after: float | None, said: str) -> None:
    difference = Estimate.undefined("0 of 0") if None in (before, after) else Estimate(0.0)
    drift = EvidenceDrift((Moved("missing_evidence_rate_all", before, after, difference, None),))
    assert list(drift.parts(0.05)) == [said]
