"""The fast part of tests/calibration/grounding.py: the intervals of the cascade cover, with checks skipped and in clusters, too."""

from __future__ import annotations

from math import sqrt

import numpy as np
import pytest

from pytest_novelty.metrics.cascade import FORMULAS
from tests.scripts import load_calibration

GROUNDING = load_calibration("grounding")
RUNS = 150
SLACK = 2 * sqrt(0.93 * 0.07 / RUNS)


@pytest.mark.parametrize(
    "world",
    [
        GROUNDING.World(60),
        GROUNDING.World(60, samples=1, failing=0.05, supported=0.9),
        GROUNDING.World(60, unchecked=0.2),
        GROUNDING.World(100, per_cluster=4),
    ],
    ids=lambda world: world.name,
)
def test_intervals_cover(world: object) -> None:
    for name, found in GROUNDING.simulate(world, RUNS, resamples=200).items():
        assert found.coverage >= 0.93 - SLACK, name
        assert found.undefined == 0, name


def test_clusters_that_are_overlooked_are_not_covered() -> None:
    """The same draws with every item its own unit: so the test above can fail."""
    world = GROUNDING.World(100, per_cluster=10)
    blind = GROUNDING.simulate(world, RUNS, resamples=300, blind=True)
    assert min(found.coverage for found in blind.values()) < 0.8


def test_the_truth_is_what_many_items_give() -> None:
    world = GROUNDING.World(200_000, samples=1)
    cascade = world.draw(np.random.default_rng(0), world.items)
    sums = cascade.counts.sum(axis=(0, 1))
    for name, truth in world.truths().items():
        formula = FORMULAS[name]
        value = (sums @ formula.events) / (sums @ formula.of)
        if formula.over:
            value /= (sums @ FORMULAS[formula.over].events) / (sums @ FORMULAS[formula.over].of)
        assert value == pytest.approx(truth, abs=0.01), name
