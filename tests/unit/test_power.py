"""The effect that would have been seen is seen with about the power that is said."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pytest_novelty.metrics.exchange import null_of_excess
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.power import detectable_shift, shift_seen
from pytest_novelty.metrics.resampling import FloatArray, IntArray
from pytest_novelty.metrics.stability import disagreement, excess, mean_over_orders
from pytest_novelty.metrics.variants import null_of
from pytest_novelty.metrics.view import View

RUNS = 120


def votes(rng: np.random.Generator, p: FloatArray, size: int) -> IntArray:
    first = rng.binomial(size, p)
    return np.stack([first, size - first, 0 * first], axis=-1)


def seen(one: IntArray, other: IntArray, alpha: float) -> bool:
    null = null_of_excess(one, other)
    assert null is not None
    return null.tail(float(mean_over_orders(excess(one, other)).mean())) <= alpha


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 5])
@pytest.mark.parametrize(("n", "size", "orders"), [(40, 3, 2), (120, 3, 2), (154, 3, 1)])
@pytest.mark.parametrize("noise", [0.0, 0.05, 0.2, 0.5])
def test_power(noise: float, n: int, size: int, orders: int, alpha: float) -> None:
    """Turned instances, and an even shift: both are seen in at least 60 %, and the weaker of the two in at most 96 %."""
    rng = np.random.default_rng([int(100 * noise), n, orders])
    p = np.full((n, orders), 1 - noise)
    one, other = votes(rng, p, size), votes(rng, p, size)
    null = null_of_excess(one, other)
    assert null is not None
    retest = float(np.mean([disagreement(one), disagreement(other)]))
    shift = shift_seen(null, n, size, size, orders, retest, alpha)
    assert shift is not None
    rates = []
    opinion = (1 - 2 * noise) ** 2
    if opinion > shift**2:
        turn = shift**2 / opinion
        turned = [np.where(rng.random((n, 1)) < turn, 1 - p, p) for _ in range(RUNS)]
        rates.append(np.mean([seen(votes(rng, q, size), votes(rng, p, size), alpha) for q in turned]))
    rates.append(np.mean([seen(votes(rng, p - shift, size), votes(rng, p, size), alpha) for _ in range(RUNS)]))
    assert min(rates) >= 0.6, rates
    assert noise == 0.5 or min(rates) <= 0.96, rates  # no instance of a coin can turn: the figure is cautious there


def test_a_sure_judge_by_hand() -> None:
    """120 sure pairs, level .05: one turned pair is seen ((2/20)^2), and at a share f one turns in 1 - (1 - f)^120 = 80 %."""
    sure = np.tile(np.array([3, 0, 0]), (120, 2, 1))
    null = null_of_excess(sure, sure)
    assert null is not None
    shift = shift_seen(null, 120, 3, 3, 2, 0.0, 0.05)
    assert shift is not None
    assert 1 - (1 - shift**2) ** 120 == pytest.approx(0.8, abs=1e-6)


def test_more_instances_see_more() -> None:
    found = []
    for n in (20, 60, 200):
        rng = np.random.default_rng(3)
        one, other = (votes(rng, np.full((n, 2), 0.8), 3) for _ in range(2))
        null = null_of_excess(one, other)
        assert null is not None
        found.append(shift_seen(null, n, 3, 3, 2, 0.32, 0.05))
    assert found == sorted(found, key=lambda x: -(x or 0))


def test_so_few_see_nothing() -> None:
    sure = np.tile(np.array([2, 0, 0]), (2, 1, 1))
    null = null_of_excess(sure, sure)
    assert null is not None
    assert shift_seen(null, 2, 2, 2, 1, 0.0, 0.01) is None


def test_of_a_pair(make_view: Callable[..., View]) -> None:
    view = make_view(["xxx xxx"] * 60, clusters="".join(c * 3 for c in "abcdefghijklmnopqrst"))
    pair = Pair(view, view)
    null = null_of(pair)
    assert null is not None
    clustered = detectable_shift(pair, null, 0.05)
    plain = shift_seen(null, 60, 3, 3, 2, 0.0, 0.05)
    assert clustered is not None
    assert plain is not None
    assert clustered > plain  # what turns may turn by whole clusters
    single = make_view(["x x"] * 60)
    assert detectable_shift(Pair(single, single), null, 0.05) is None
