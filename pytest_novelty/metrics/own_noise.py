"""How many verdicts would change if the very same question were asked twice, whatever the variant does.

The null flip rate pools both sides' votes: right where the variant moved nothing, wrong where it did, since votes that it turned
look like noise. Here each side stands for itself. The vote probabilities of its instances (one an order) are estimated as a
mixture over a grid, by maximum likelihood (Laird 1978, JASA 73, 805-811); two fresh runs are then drawn from the mixture, in
thought. In simulation (tests/unit/test_own_noise.py), with 120 instances, it is within five points of the truth for coins, sure
judges and mixtures alike. Only votes for one of the two labels count.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import product

import numpy as np

from pytest_novelty.metrics.exchange import outcome_codes
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.resampling import FloatArray, IntArray
from pytest_novelty.metrics.view import View

_GRID = np.array([0.0, 0.03, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 1.0])
_ROUNDS = 300
_MAX_RUNS = 50_000
"""Outcomes of one run that are enumerated: (votes + 1) ^ orders."""


def own_flip_rate(pair: Pair) -> float | None:
    """Expected share of verdicts that differ between two runs of one side, the mean of both sides; None where it is unknown."""
    found = [flips_of_two_runs(side) for side in (pair.one, pair.other)]
    known = [value for value in found if value is not None]
    return float(np.mean(known)) if len(known) == 2 else None


def flips_of_two_runs(view: View) -> float | None:
    """The same of one view; None without votes for a label in every order of some instance."""
    votes = view.counts[:, :, :2]
    votes = votes[(votes.sum(axis=-1) > 0).all(axis=1)]
    size = int(view.tallies.sum(axis=-1).max(initial=0))
    if not len(votes) or (size + 1) ** votes.shape[1] > _MAX_RUNS:
        return None
    tallies, counts = np.unique(votes.reshape(len(votes), -1), axis=0, return_counts=True)
    weights = _mixture(tallies.reshape(-1, *votes.shape[1:]), counts / counts.sum())
    return round(float(weights @ _flip_chances(size, votes.shape[1])), 6)


def _mixture(tallies: IntArray, shares: FloatArray) -> FloatArray:
    """(support,) weights of the grid points (of all orders crossed) that make the (kinds, orders, 2) tallies likeliest."""
    likelihood = np.ones((len(tallies), 1))
    for order in range(tallies.shape[1]):
        first, second = tallies[:, order, 0, None], tallies[:, order, 1, None]
        own = _GRID**first * (1 - _GRID) ** second
        likelihood = (likelihood[:, :, None] * own[:, None, :]).reshape(len(tallies), -1)
    weights = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(_ROUNDS):
        joint = likelihood * weights
        weights = shares @ (joint / joint.sum(axis=1, keepdims=True))
    return weights


@lru_cache(maxsize=32)
def _flip_chances(size: int, orders: int) -> FloatArray:
    """(support,) the chance that two runs of ``size`` votes an order differ in their outcome."""
    runs = np.array(list(product(range(size + 1), repeat=orders)))
    none = np.zeros_like(runs)
    codes = outcome_codes(np.stack([runs, size - runs, none, none, none], axis=-1))
    law = np.array([[math.comb(size, k) * p**k * (1 - p) ** (size - k) for k in range(size + 1)] for p in _GRID])
    chances = []
    for point in product(range(len(_GRID)), repeat=orders):
        of_run = np.ones(1)
        for place in point:
            of_run = np.outer(of_run, law[place]).ravel()
        labels = np.bincount(codes, weights=of_run, minlength=3)
        chances.append(1.0 - float(np.square(labels).sum()))
    return np.array(chances)
