"""The effect that would have been seen is seen with about the power that is said."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from pytest_novelty.metrics.exchange import null_of_excess
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.permutation import swap_test
from pytest_novelty.metrics.power import Seen, detectable_drift, detectable_shift, shift_seen, what_is_seen
from pytest_novelty.metrics.resampling import FloatArray, IntArray
from pytest_novelty.metrics.stability import disagreement, excess, mean_over_orders
from pytest_novelty.metrics.variants import null_of
from pytest_novelty.metrics.view import View
from tests.calibration.drawn import view_of_scores

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


def scores_pair(shift: FloatArray, clusters: IntArray | None = None) -> Pair:
    """Two judges whose scores of single ideas differ by ``shift``."""
    middle = np.full((len(shift), 1), 5.0)
    return Pair(view_of_scores(middle + shift[:, None], clusters=clusters), view_of_scores(middle, clusters=clusters))


@pytest.mark.parametrize("alpha", [0.05, 0.05 / 8])
@pytest.mark.parametrize(("n", "kind"), [(20, "normal"), (40, "few"), (120, "normal"), (120, "few"), (120, "clusters")])
def test_a_drift_is_seen_with_the_power_that_is_said(n: int, kind: str, alpha: float) -> None:
    """Of all ideas alike, on top of scatter: normal, of one idea in five, or of whole clusters of six."""
    rng = np.random.default_rng([n, *kind.encode()])
    clusters = np.repeat(np.arange(n // 6), 6) if kind == "clusters" else None

    def noise() -> FloatArray:
        own = rng.normal(0, 1, n)
        if clusters is not None:
            return own + rng.normal(0, 1, n // 6)[clusters]
        return own * (rng.random(n) < 0.2) * 3 if kind == "few" else own

    seen_in = []
    for _ in range(RUNS):
        drift = what_is_seen(scores_pair(noise(), clusters), None, 2 * alpha).drift
        assert drift is not None
        seen_in.append(swap_test(noise() + drift, clusters) <= alpha)
    assert 0.66 <= np.mean(seen_in) <= 0.96, np.mean(seen_in)


def test_how_drifts_share_a_level_and_when_there_is_none_to_see() -> None:
    shift = np.linspace(-1, 1, 40)
    pair = scores_pair(shift)
    assert what_is_seen(pair, None, 0.05) == Seen(None, detectable_drift(pair, 0.025))  # drift and scatter share it
    assert what_is_seen(pair, None, 0.05, scores=False) == Seen()
    assert detectable_drift(scores_pair(shift[:6]), 0.05 / 2) is None  # 2^-5 is more
    assert detectable_drift(scores_pair(np.zeros(40)), 0.05) == 0.0  # nothing scatters
    by_hand = [0.0]
    error = float(np.std(shift, ddof=1)) / math.sqrt(40)
    for _ in range(60):
        by_hand.append(1.959964 * math.hypot(error, by_hand[-1] / math.sqrt(40)) + 0.841621 * error)
    assert detectable_drift(pair, 0.05) == pytest.approx(by_hand[-1], rel=1e-5)
