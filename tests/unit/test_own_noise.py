"""Two runs of the same side in thought, against two runs in fact."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from pytest_novelty.metrics.exchange import outcome_codes
from pytest_novelty.metrics.own_noise import flips_of_two_runs, own_flip_rate
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.resampling import FloatArray, IntArray
from pytest_novelty.metrics.view import View

N = 120
KINDS: dict[str, Callable[[np.random.Generator], FloatArray]] = {
    "coin": lambda rng: np.full(N, 0.5),
    "sure": lambda rng: np.ones(N),
    ".9 or .1": lambda rng: np.where(rng.random(N) < 0.5, 0.9, 0.1),
    ".8": lambda rng: np.full(N, 0.8),
    "uniform": lambda rng: rng.random(N),
    "few coins": lambda rng: np.where(rng.random(N) < 0.1, 0.5, 1.0),
}


def run(rng: np.random.Generator, p: FloatArray, votes: int) -> IntArray:
    first = rng.binomial(votes, p)
    return np.stack([first, votes - first, 0 * first, 0 * first, 0 * first], axis=-1)


def ballots(tallies: IntArray) -> list[str]:
    return [" ".join("x" * order[0] + "y" * order[1] for order in rows) for rows in tallies]


@pytest.mark.parametrize(("votes", "orders"), [(3, 2), (5, 1)])
@pytest.mark.parametrize("kind", KINDS)
def test_it_is_near_the_truth(kind: str, votes: int, orders: int, make_view: Callable[..., View]) -> None:
    rng = np.random.default_rng(8)
    found, truth = [], []
    for _ in range(8):
        p = np.repeat(KINDS[kind](rng)[:, None], orders, axis=1)
        view = make_view(ballots(run(rng, p, votes)), protocol="pairwise" if orders == 2 else "pointwise")
        found.append(flips_of_two_runs(view))
        codes = [outcome_codes(run(rng, p, votes)) for _ in range(40)]
        truth.append(np.mean([first != second for first, second in zip(codes[::2], codes[1::2], strict=True)]))
    assert None not in found
    assert float(np.mean(found)) == pytest.approx(float(np.mean(truth)), abs=0.045)  # type: ignore[arg-type]


def test_a_judge_that_follows_the_position(make_view: Callable[..., View]) -> None:
    assert flips_of_two_runs(make_view(["xxx yyy"] * 20)) == 0.0


def test_both_sides_count(make_view: Callable[..., View]) -> None:
    sure = make_view(["xxx xxx"] * 20)
    rng = np.random.default_rng(1)
    coin = make_view(ballots(run(rng, np.full((20, 2), 0.5), 3)))
    both = own_flip_rate(Pair(sure, coin))
    alone = flips_of_two_runs(coin)
    assert both is not None
    assert alone is not None
    assert both == pytest.approx(alone / 2)


def test_without_votes(make_view: Callable[..., View]) -> None:
    failed = make_view(["--- ---"])
    assert flips_of_two_runs(failed) is None
    assert own_flip_rate(Pair(failed, make_view(["xxx xxx"]))) is None


def test_with_many_votes_it_is_not_enumerated(make_view: Callable[..., View]) -> None:
    assert flips_of_two_runs(make_view(["x" * 300 + " " + "x" * 300])) is None
