"""If the variant did nothing: both sides' votes of a request pooled and split anew, in every way there is (STATISTICS.md 1).

The splits are hypergeometric. They give the distribution of the excess flip under "nothing moved any vote" (the exchange test)
and the flip rate that a judge's own noise would show (the null flip rate). Votes are exchanged within a request, so that
neither needs to know of clusters: under that hypothesis the votes of a request are alike whatever instances share.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations, product
from typing import NamedTuple

import numpy as np

from pytest_novelty.metrics.resampling import BoolArray, FloatArray, IntArray
from pytest_novelty.metrics.stability import excess

DRAWS = 20_000
FEWEST_DRAWS = 2_000
_MOST_DRAWN = 10**7
"""Of the kinds of requests together: about a second."""
SCORE_DRAWS = 9_999
LEAST = 1e-12
"""No p is said to be smaller: the Fourier transforms are exact to about that."""
_MAX_LATTICE = 2**20
"""Points of the exact distribution: a Fourier transform of so many takes some 10 ms, and there are dozens of them."""
_MAX_SPLITS = 200_000
_TOLERANCE = 1e-9

Tally = tuple[int, ...]


@lru_cache(maxsize=65_536)
def splits(pooled: Tally, size: int) -> tuple[IntArray, FloatArray]:
    """All ways to draw ``size`` votes from a pooled tally: (ways, labels) tallies drawn and their probabilities."""
    ranges = [range(min(count, size) + 1) for count in pooled[:-1]]
    drawn = [
        (*head, size - sum(head)) for head in product(*ranges) if 0 <= size - sum(head) <= (pooled[-1] if pooled else 0)
    ]
    total = math.comb(sum(pooled), size)
    weights = [math.prod(math.comb(c, d) for c, d in zip(pooled, way, strict=True)) / total for way in drawn]
    return np.array(drawn, dtype=np.int64).reshape(len(drawn), len(pooled)), np.array(weights)


# --- the excess flip if nothing moved the votes -------------------------------------------------------------


@dataclass(frozen=True)
class Null:
    """The distribution of the mean excess over ``n`` instances. ``exact``: enumerated; else seeded re-splits."""

    n: int
    values: FloatArray  # sorted
    chances: FloatArray
    exact: bool

    @property
    def sd(self) -> float:
        mean = float(self.values @ self.chances)
        return math.sqrt(max(0.0, float(np.square(self.values - mean) @ self.chances)))

    def tail(self, observed: float) -> float:
        """Chance of at least so large an excess; with draws at least 1 / (draws + 1)."""
        chance = float(self.chances[self.values >= observed - _TOLERANCE].sum())
        if not self.exact:
            return (chance * len(self.values) + 1) / (len(self.values) + 1)
        return min(1.0, max(round(chance, 12), LEAST))  # rounded, or 1/100 might miss a level of 1/100

    def critical(self, alpha: float) -> float:
        """The smallest excess whose tail is at most ``alpha``; just above the largest value if none is."""
        tails = np.cumsum(self.chances[::-1])[::-1]
        enough = np.flatnonzero(tails <= alpha + 1e-12)
        step = float(np.diff(self.values).min(initial=1.0)) if len(self.values) > 1 else 1.0 / max(1, self.n)
        return float(self.values[enough[0]]) if len(enough) else float(self.values[-1]) + step

    @property
    def method(self) -> str:
        return "exact" if self.exact else f"{len(self.values):,} re-splits, p to {1 / (len(self.values) + 1):.0e}"


def null_of_excess(one: IntArray, other: IntArray, seed: int = 0) -> Null | None:
    """The null distribution of the mean excess of two (instances, orders, labels) arrays of valid votes.

    Exact by convolution on a lattice (votes are whole, so that every excess is a multiple of one fraction); where the lattice
    would be too fine, seeded draws. None if no instance has two valid votes of a request on both sides.
    """
    groups, n = _groups(one, other)
    if not n:
        return None
    exact = _convolved(groups, n)
    return exact if exact is not None else _drawn(groups, n, seed)


_Group = tuple[Tally, int, int, int]
"""(pooled tally, votes of the first side, of the second, orders of the instance that count)."""


def _groups(one: IntArray, other: IntArray) -> tuple[Counter[_Group], int]:
    left, right = one.sum(axis=-1), other.sum(axis=-1)
    known = (left >= 2) & (right >= 2)
    orders = known.sum(axis=1)
    pooled = -np.sort(-(one + other), axis=-1)  # which label is which does not matter to the excess
    groups: Counter[_Group] = Counter()
    for row, order in zip(*np.nonzero(known), strict=True):
        tally = tuple(int(count) for count in pooled[row, order])
        groups[tally, int(left[row, order]), int(right[row, order]), int(orders[row])] += 1
    return groups, int((orders > 0).sum())


@lru_cache(maxsize=65_536)
def _excess_of_splits(pooled: Tally, size: int, rest: int) -> tuple[FloatArray, FloatArray]:
    """The excess of every re-split, and its probability."""
    drawn, chances = splits(pooled, size)
    return excess(drawn, np.array(pooled) - drawn), chances


def _convolved(groups: Counter[_Group], n: int) -> Null | None:
    fine = math.lcm(*(math.lcm(a * (a - 1), b * (b - 1), a * b) * orders for _, a, b, orders in groups))
    whole: list[tuple[IntArray, FloatArray, int]] = []
    start, length, step = 0, 1, 0
    for (pooled, size, rest, orders), count in groups.items():
        values, chances = _excess_of_splits(pooled, size, rest)
        places = np.rint(values * (fine // orders)).astype(np.int64)
        start += int(places.min()) * count
        places -= places.min()
        step = math.gcd(step, int(np.gcd.reduce(places)))
        if places.max() > 0:
            whole.append((places, chances, count))
    step = step or 1
    length += sum(int(places.max()) // step * count for places, _, count in whole)
    size = 1 << (length - 1).bit_length()
    if size > _MAX_LATTICE:
        return None
    spectrum = np.ones(size // 2 + 1, dtype=np.complex128)
    for places, chances, count in whole:
        spectrum *= np.fft.rfft(np.bincount(places // step, weights=chances, minlength=size)) ** count
    law = np.clip(np.fft.irfft(spectrum, size)[:length], 0.0, None) if size > 1 else np.ones(1)
    return Null(n, (start + step * np.arange(length)) / (fine * n), law / law.sum(), True)


def _drawn(groups: Counter[_Group], n: int, seed: int) -> Null:
    rng = np.random.default_rng([seed, n])
    total = np.zeros(DRAWS)
    for (pooled, size, rest, orders), count in groups.items():
        values, chances = _excess_of_splits(pooled, size, rest)
        total += rng.multinomial(count, chances / chances.sum(), size=DRAWS) @ values / orders
    return Null(n, np.sort(total) / n, np.full(DRAWS, 1 / DRAWS), False)


class Request(NamedTuple):
    """Votes that are further apart or less. ``distances``: (votes, votes) in [0, 1], the ``first`` ones of the one side;
    ``orders``: how many of the instance count.
    """

    distances: FloatArray
    first: int
    orders: int


def null_of_requests(requests: Sequence[Request], n: int, seed: int = 0) -> Null | None:
    """The null distribution of the mean excess over ``n`` instances, from seeded re-splits of whole votes; None without any.

    Of thousands of requests there are fewer re-splits: their mean is the nearer to normal.
    """
    if not requests:
        return None
    laws: Counter[tuple[float, ...]] = Counter()
    for distances, first, orders in requests:
        if distances.any():  # else no re-split differs from another
            values = excess_of_takes(distances, _takes(len(distances), first, seed)) / orders
            laws[tuple(np.sort(np.round(values, 12)).tolist())] += 1
    if not laws:
        return Null(n, np.zeros(1), np.ones(1), True)
    rng = np.random.default_rng([seed, n])
    draws = max(FEWEST_DRAWS, min(DRAWS, _MOST_DRAWN // len(laws)))
    total = np.zeros(draws)
    for law, count in sorted(laws.items()):
        values, ways = np.unique(law, return_counts=True)
        total += rng.multinomial(count, ways / ways.sum(), size=draws) @ values
    return Null(n, np.sort(total) / n, np.full(draws, 1 / draws), False)


def excess_of_takes(distances: FloatArray, takes: BoolArray) -> FloatArray:
    """(ways,) by how much votes of different sides are further apart than those of one. ``takes``: (ways, votes) which are the
    first side's, at least two of them and not all but one. With distances of 0 and 1 it is :func:`~.stability.excess`.
    """
    first = takes.astype(np.float64)
    rest = 1.0 - first
    sizes, others = first.sum(axis=1), rest.sum(axis=1)
    across = np.einsum("wi,ij,wj->w", first, distances, rest) / (sizes * others)
    own = np.einsum("wi,ij,wj->w", first, distances, first) / (sizes * (sizes - 1))
    theirs = np.einsum("wi,ij,wj->w", rest, distances, rest) / (others * (others - 1))
    return np.asarray(across - (own + theirs) / 2)


# --- flips by noise alone -----------------------------------------------------------------------------------


def noise_flips(one: IntArray, other: IntArray, seed: int = 0) -> FloatArray:
    """(instances,) the chance that two outcomes differ if both sides' votes were split anew.

    ``one``, ``other``: (instances, orders, 5) tallies of votes for the first label and the second, declared ties, abstentions
    and failed calls: a re-split may be incomplete or invalid as the votes were.
    """
    pooled, sizes = one + other, one.sum(axis=-1)
    rows = [
        (tuple(tuple(map(int, tally)) for tally in tallies), tuple(map(int, size)))
        for tallies, size in zip(pooled, sizes, strict=True)
    ]
    return np.array([_flip_chance(tallies, size, seed) for tallies, size in rows], dtype=np.float64)


@lru_cache(maxsize=65_536)
def _flip_chance(pooled: tuple[Tally, ...], sizes: tuple[int, ...], seed: int) -> float:
    ways = math.prod(min(count, size) + 1 for tally, size in zip(pooled, sizes, strict=True) for count in tally[:-1])
    if ways <= _MAX_SPLITS:
        drawn, chances = _crossed(pooled, sizes)
    else:
        rng = np.random.default_rng([seed, *sizes])
        drawn = np.stack(
            [rng.multivariate_hypergeometric(t, s, size=DRAWS) for t, s in zip(pooled, sizes, strict=True)], axis=1
        )
        chances = np.full(DRAWS, 1 / DRAWS)
    rest = np.array(pooled)[None] - drawn
    return float(chances[outcome_codes(drawn) != outcome_codes(rest)].sum())


def _crossed(pooled: tuple[Tally, ...], sizes: tuple[int, ...]) -> tuple[IntArray, FloatArray]:
    """The re-splits of all orders together: (ways, orders, labels) and their probabilities."""
    ways = [splits(tally, size) for tally, size in zip(pooled, sizes, strict=True)]
    places = np.indices([len(drawn) for drawn, _ in ways]).reshape(len(ways), -1)
    drawn = np.stack([way[place] for (way, _), place in zip(ways, places, strict=True)], axis=1)
    return drawn, np.prod([chances[place] for (_, chances), place in zip(ways, places, strict=True)], axis=0)


def outcome_codes(tallies: IntArray) -> IntArray:
    """(rows,) the outcome of (rows, orders, 5) tallies, as a place in LABEL_NAMES: what the protocols' ``aggregate`` says of
    the same votes, for all rows at once.
    """
    votes = tallies[..., :3].sum(axis=-1)
    lead = tallies[..., 0] - tallies[..., 1]
    others = np.where(votes > 0, votes.prod(axis=-1, keepdims=True) // np.maximum(votes, 1), 0)
    sign = np.sign((lead * others).sum(axis=-1))
    codes = np.where(sign > 0, 0, np.where(sign < 0, 1, 2))
    codes = np.where((votes == 0).any(axis=-1), 3, codes)
    empty = (votes == 0).all(axis=-1)
    abstained, failed = tallies[..., 3].sum(axis=-1), tallies[..., 4].sum(axis=-1)
    return np.where(empty, np.where((abstained > 0) & (failed == 0), 4, 5), codes)


def noise_flips_of_scores(one: list[list[float]], other: list[list[float]], threshold: float, seed: int) -> FloatArray:
    """The same where labels come from mean scores: every re-split of the pooled scores (at most ``_ENOUGH``, seeded)."""
    found = []
    for left, right in zip(one, other, strict=True):
        if not left or not right:  # no valid vote on a side: no re-split can give it one
            found.append(float(bool(left) != bool(right)))
            continue
        pooled = np.array([*left, *right])
        takes = _takes(len(pooled), len(left), seed)
        sums = takes @ pooled
        first, second = sums / len(left), (pooled.sum() - sums) / len(right)
        reaches = (first >= threshold - _TOLERANCE) != (second >= threshold - _TOLERANCE)
        found.append(float(reaches.mean()))
    return np.array(found, dtype=np.float64)


_ENOUGH = 2_000


@lru_cache(maxsize=256)
def _takes(total: int, size: int, seed: int) -> BoolArray:
    """(ways, total) which of the pooled votes the first side gets."""
    if math.comb(total, size) <= _ENOUGH:
        takes = np.zeros((math.comb(total, size), total), dtype=bool)
        for row, chosen in enumerate(combinations(range(total), size)):
            takes[row, list(chosen)] = True
        return takes
    rng = np.random.default_rng([seed, total, size])
    return np.asarray(rng.random((_ENOUGH, total)).argsort(axis=1).argsort(axis=1) < size)


def score_exchange_p(one: list[list[float]], other: list[list[float]], seed: int = 0) -> float | None:
    """p of "nothing moved any score": the mean squared difference of mean scores against seeded re-splits of the pooled scores.

    None if no instance has two scores on a side and one on the other. Its least value is 1 / (SCORE_DRAWS + 1).
    """
    rng = np.random.default_rng([seed, len(one), 3])
    observed, drawn = 0.0, np.zeros(SCORE_DRAWS)
    tested = False
    for left, right in zip(one, other, strict=True):
        if len(left) + len(right) < 3 or not left or not right:
            continue
        tested = True
        pooled = np.array([*left, *right])
        takes = _takes(len(pooled), len(left), seed)
        sums = takes @ pooled
        squares = np.square(sums / len(left) - (pooled.sum() - sums) / len(right))
        observed += float(np.square(np.mean(left) - np.mean(right)))
        drawn += squares[rng.integers(len(squares), size=SCORE_DRAWS)]
    scale = max(observed, float(drawn.max(initial=0.0)), 1e-300)
    return float((drawn >= observed - 1e-9 * scale).sum() + 1) / (SCORE_DRAWS + 1) if tested else None
