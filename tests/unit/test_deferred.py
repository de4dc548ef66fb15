"""Estimates that wait for their bootstrap are the same, alone or together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from pytest_novelty.metrics.catalogue import CATALOGUE, PAIRED, Metric, PairMetric
from pytest_novelty.metrics.deferred import Pending, deferrable, settle, then
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.resampling import Interval, Resampler, Statistic
from pytest_novelty.metrics.view import Estimate, View


@pytest.fixture
def views(make_view: Callable[..., View]) -> tuple[View, View]:
    rng = np.random.default_rng(3)
    resamplers = {60: Resampler(60, 500)}
    return tuple(  # type: ignore[return-value]
        make_view(
            [" ".join("".join(row) for row in rng.choice(["x", "y"], (2, 3))) for _ in range(60)], resamplers=resamplers
        )
        for _ in range(2)
    )


def test_together_they_are_what_they_are_alone(views: tuple[View, View]) -> None:
    one, other = views
    pair = Pair(one, other)
    metrics: list[Metric | PairMetric] = [
        m for m in (*CATALOGUE.values(), *PAIRED.values()) if "pairwise" in m.protocols
    ]
    later = [m.later(pair) if isinstance(m, PairMetric) else m.later(one) for m in metrics]
    alone = [m.compute(pair) if isinstance(m, PairMetric) else m.compute(one) for m in metrics]
    assert sum(isinstance(item, Pending) for item in later) >= 6
    assert settle(later) == alone


def test_levels_differ(views: tuple[View, View]) -> None:
    view = views[0]
    usual, strict = settle([CATALOGUE["retest_flip_rate"].later(side) for side in (view, view.at_level(0.999))])
    assert usual.low is not None
    assert strict.low is not None
    assert strict.low < usual.low
    assert CATALOGUE["tie_rate"].compute(view.at_level(0.5)) != CATALOGUE["tie_rate"].compute(view)
    assert view.level == 0.95


def test_a_change_waits_with_the_estimate() -> None:
    def doubled(estimate: Estimate) -> Estimate:
        return replace(estimate, value=2 * (estimate.value or 0))

    def finish(core: Interval | None) -> Estimate:
        return Estimate(1.0, None if core is None else core.low)

    pending = Pending(Statistic(np.ones((4, 1)), lambda sums: sums[..., 0]), Resampler(4, 10), 0.95, finish)
    assert settle([then(then(pending, doubled), doubled), then(Estimate(1.0), doubled), pending]) == [
        Estimate(4.0, 4.0),
        Estimate(2.0),
        Estimate(1.0, 4.0),
    ]
    assert settle([]) == []


def test_a_deferrable_function_keeps_its_name() -> None:
    @deferrable
    def metric(x: float) -> Estimate:
        """What it is."""
        return Estimate(x)

    assert (metric(2.0), metric.later(2.0)) == (Estimate(2.0), Estimate(2.0))
    assert (metric.__name__, metric.__doc__) == ("metric", "What it is.")
