"""The simulated cells of the grid: what is drawn, what the truth is, and the metric of the catalogue that must cover it.

*same*: every vote of every instance has the same probability; *beta*: Beta(.3, .3) over instances; *few*: a few bad instances, the
rest sure. Everything is computed by the functions that a user's run calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist

import numpy as np
from drawn import VOTES, as_interval, intervals, view_of_scores, view_of_votes

from pytest_novelty.metrics.catalogue import CATALOGUE, PAIRED
from pytest_novelty.metrics.claims import differences
from pytest_novelty.metrics.differences import difference
from pytest_novelty.metrics.families import over_variants
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.resampling import FloatArray, IntArray, Interval, Resampler
from pytest_novelty.metrics.view import View
from pytest_novelty.model import Contrast

Rng = np.random.Generator
Pairs = list[tuple[Interval | None, Interval | None]]
Draw = Callable[[Rng, int], FloatArray]
OURS = Contrast("system", "ours", "base")


@dataclass(frozen=True)
class Cell:
    """One line of the table; ``run`` gives an interval and plain BCa for each of ``runs`` data sets. ``units``: what is resampled."""

    name: str
    n: int
    truth: float
    run: Callable[[Rng, int, Resampler], Pairs]
    error_limit: float = 0.06
    clusters: int | None = None

    @property
    def units(self) -> int:
        return self.n if self.clusters is None else self.clusters


def mixture(rng: Rng, runs: int, n: int, kind: str, size: float) -> FloatArray:
    """Vote probabilities of (runs, n) instances: all `size`, Beta(.3, .3), or `size` of them coins, else sure."""
    if kind == "same":
        return np.full((runs, n), size)
    if kind == "beta":
        return rng.beta(0.3, 0.3, size=(runs, n))
    return np.where(rng.random((runs, n)) < size, 0.5, 1.0)


def tallies(rng: Rng, p: FloatArray, votes: int = VOTES) -> IntArray:
    """(..., 5) votes of one run for the first label, the second, and none of the others."""
    first = rng.binomial(votes, p)
    none = np.zeros_like(first)
    return np.stack([first, votes - first, none, none, none], axis=-1)


def both(p: FloatArray) -> FloatArray:
    """(..., orders) the same chance in both orders."""
    return np.repeat(p[..., None], 2, axis=-1)


def of_view(name: str, votes: IntArray, resampler: Resampler, clusters: IntArray | None = None) -> Pairs:
    """A metric of the catalogue for every (n, orders, 5) data set."""
    return intervals([CATALOGUE[name].later(view_of_votes(row, resampler, clusters=clusters)) for row in votes])


def of_pair(name: str, one: IntArray, other: IntArray, resampler: Resampler, clusters: IntArray | None = None) -> Pairs:
    """A metric of a variant against the reference."""
    views = [[view_of_votes(row, resampler, clusters=clusters) for row in side] for side in (one, other)]
    return intervals([PAIRED[name].later(Pair(*sides)) for sides in zip(*views, strict=True)])


def of_change(
    name: str, one: IntArray, other: IntArray, resampler: Resampler, clusters: IntArray | None = None
) -> Pairs:
    """The change of a metric from the reference to a variant."""
    views = [[view_of_votes(row, resampler, clusters=clusters) for row in side] for side in (one, other)]
    return intervals([difference(name, Pair(*sides), {}, {})[0] for sides in zip(*views, strict=True)])


# --- one view -----------------------------------------------------------------------------------------------


def macro_f1_cell(n: int, error: float, prevalence: float) -> Cell:
    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        gold = rng.random((runs, n)) < prevalence
        said = (gold ^ (rng.random((runs, n)) < error)).astype(float)
        views = [
            view_of_votes(row, resampler, gold=own)
            for row, own in zip(tallies(rng, said[..., None], 1), gold, strict=True)
        ]
        return intervals([CATALOGUE["macro_f1"].later(view) for view in views])

    q, e = prevalence, error
    tp, fp, fn, tn = q * (1 - e), (1 - q) * e, q * e, (1 - q) * (1 - e)
    truth = (2 * tp / (2 * tp + fp + fn) + 2 * tn / (2 * tn + fp + fn)) / 2
    return Cell(f"macro-F1, {q:.0%} positive", n, truth, run)


def soft_of(p: float) -> float:
    """Soft accuracy where every vote is right with chance p: a lead of the votes of both orders, ties half."""
    total = 2 * VOTES
    law = [math.comb(total, k) * p**k * (1 - p) ** (total - k) for k in range(total + 1)]
    return sum(law[VOTES + 1 :]) + law[VOTES] / 2


def soft_cell(n: int, kind: str, size: float) -> Cell:
    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        return of_view("soft_accuracy", tallies(rng, both(mixture(rng, runs, n, kind, size))), resampler)

    return Cell(f"soft accuracy, {kind}", n, {"same": soft_of(size), "beta": 0.5, "few": 1 - size / 2}[kind], run)


def retest_cell(n: int, kind: str, truth: float) -> Cell:
    size = {"same": (1 - math.sqrt(1 - 2 * truth)) / 2, "beta": 0.0, "few": 2 * truth}[kind]

    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        return of_view("retest_flip_rate", tallies(rng, both(mixture(rng, runs, n, kind, size))), resampler)

    return Cell(f"retest, {kind}", n, truth, run)


def bias_cell(n: int, kind: str, bias: float) -> Cell:
    """`same`: coins; `beta`: instances with a view of their own; both pick the first idea with chance `bias`.
    `few`: a share `bias` of the instances always picks the first idea, the rest one idea in both orders."""

    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        pull = (rng.random((runs, n)) < bias).astype(float) if kind == "few" else np.full((runs, n), bias)
        p = np.ones((runs, n)) if kind == "few" else mixture(rng, runs, n, kind, 0.5)
        return of_view("position_bias", tallies(rng, following(p, pull)), resampler)

    return Cell(f"position bias, {kind}", n, bias, run)


def following(p: FloatArray, pull: FloatArray) -> FloatArray:
    """(..., 2) chances of the first label in both orders, of which a share `pull` follows the position."""
    return np.stack([pull + (1 - pull) * p, (1 - pull) * p], axis=-1)


def auroc_cell(n: int, area: float) -> Cell:
    shift = math.sqrt(2) * NormalDist().inv_cdf(area)

    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        found: Pairs = []
        for _ in range(runs):
            positive = rng.random(n) < 0.5
            view = view_of_scores(5 + rng.normal(shift * positive, 1)[:, None], resampler, gold=positive)
            found.append((as_interval(CATALOGUE["auroc"].compute(view)), None))
        return found

    return Cell("AUROC, half positive", n, area, run)


# --- a variant against the reference ------------------------------------------------------------------------


def excess_cell(n: int, kind: str, excess: float, metric: str = "excess_flip") -> Cell:
    """`same`: coins moved by sqrt(excess); `beta`: a share of instances turns round; `few`: one of sure ones does."""

    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        reference = np.ones((runs, n)) if kind == "few" else mixture(rng, runs, n, kind, 0.5)
        if kind == "same":
            moved = np.clip(reference + math.sqrt(excess), 0, 1)
        else:  # turning one of beta moves its votes by (1 - 2 p)^2, on average 4 Var(p) = 5/8
            share = excess / (0.625 if kind == "beta" else 1.0)
            moved = np.where(rng.random((runs, n)) < share, 1 - reference, reference)
        return of_pair(metric, *(tallies(rng, both(p)) for p in (moved, reference)), resampler)

    return Cell(f"excess flip, {kind}", n, excess, run)


def null_flip_cell(n: int, kind: str, size: float) -> Cell:
    """Two runs of the same judge. The truth: how often two outcomes differ, by enumeration."""

    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        p = both(mixture(rng, runs, n, kind, size))
        return of_pair("null_flip_rate", tallies(rng, p), tallies(rng, p), resampler)

    return Cell(f"null flip rate, {kind}", n, null_flips(kind, size), run)


@cache
def null_flips(kind: str, size: float) -> float:
    chances = mixture(np.random.default_rng(1), 1, 300_000 if kind == "beta" else 1, kind, size)[0]
    if kind == "few":
        return size * flips_at(np.array([0.5]))
    return flips_at(chances)


def flips_at(p: FloatArray) -> float:
    """How often two outcomes of six votes each differ, averaged over the chances `p`."""
    total = 2 * VOTES
    law = np.stack([math.comb(total, k) * p**k * (1 - p) ** (total - k) for k in range(total + 1)])
    shares = np.stack([law[:VOTES].sum(axis=0), law[VOTES], law[VOTES + 1 :].sum(axis=0)])
    return float(1 - np.square(shares).sum(axis=0).mean())


def bias_change_cell(n: int, change: float, kind: str = "") -> Cell:
    """Coins, of which the variant leans to the first shown in `change` of the votes; `few`: a sure judge, in `change` of the
    instances the variant follows the position. A difference of two signed means."""

    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        p = np.ones((runs, n)) if kind else np.full((runs, n), 0.5)
        pull = (rng.random((runs, n)) < change).astype(float) if kind else np.full((runs, n), change)
        one, other = (tallies(rng, following(p, own)) for own in (pull, np.zeros_like(pull)))
        return of_change("position_bias", one, other, resampler)

    return Cell(f"change of position bias{kind and ', few'}", n, change, run)


def mean_flip_cell(n: int, count: int, share: float) -> Cell:
    """[mean] of the flip rate over variants of a sure judge, each of which turns the same `share` of the instances."""

    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        return _means("flip_rate", rng, runs, n, count, share, resampler)

    return Cell(f"[mean] of the flip rate of {count}", n, share, run)


def mean_shift_cell(n: int, count: int, share: float) -> Cell:
    """[mean] of the vote shift: the root of the mean excess."""

    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        return _means("vote_shift", rng, runs, n, count, share, resampler)

    return Cell(f"[mean] of the vote shift of {count}", n, math.sqrt(share), run)


def _means(name: str, rng: Rng, runs: int, n: int, count: int, share: float, resampler: Resampler) -> Pairs:
    found: Pairs = []
    for _ in range(runs):
        reference = view_of_votes(tallies(rng, both(np.ones(n))), resampler)
        hard = rng.beta(share, 1 - share, size=n) if share else np.zeros(n)  # what turns one variant turns others
        members = {
            f"v{k}": Pair(view_of_votes(tallies(rng, both(1.0 - (rng.random(n) < hard))), resampler), reference)
            for k in range(count)
        }
        found.append((as_interval(over_variants(PAIRED[name], members, "mean")), None))
    return found


# --- scores -------------------------------------------------------------------------------------------------


def scores_of(rng: Rng, n: int, drift: float, scatter: float, turned: float = 0.0) -> tuple[FloatArray, FloatArray]:
    """Scores of 0 to 10 under the variant and the reference, of noise 1: ideas of 3 to 7, moved by `drift` and by a normal of `scatter`
    each; a share `turned` of them upside down."""
    base = rng.uniform(3, 7, n)
    moved = base + drift + rng.normal(0, scatter, n) if scatter else base + drift
    moved = np.where(rng.random(n) < turned, 10 - base, moved)
    return tuple(rng.normal(mean[:, None], 1.0, (n, VOTES)) for mean in (moved, base))  # type: ignore[return-value]


def score_cell(name: str, n: int, truth: float, drift: float, scatter: float, turned: float, label: str) -> Cell:
    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        found: Pairs = []
        for _ in range(runs):
            pair = Pair(*(view_of_scores(side, resampler) for side in scores_of(rng, n, drift, scatter, turned)))
            found += intervals([PAIRED[name].later(pair)])
        return found

    return Cell(label, n, truth, run)


@cache
def ranks_of(name: str, n: int, scatter: float, turned: float) -> float:
    """The truth of a statistic of all ideas at once. Scores do not tie: of ranks it is the chance that two ideas are ranked
    differently, of the top the mean over 2,000 data sets of this size."""
    rng, many = np.random.default_rng(2), 2_000
    one, other = (side.mean(axis=1) for side in scores_of(rng, many * n, 0.0, scatter, turned))
    if name == "rank_flip":
        half = many * n // 2
        return float(((one[:half] - one[half:]) * (other[:half] - other[half:]) < 0).mean())
    size = max(1, -(-n // 10))
    tops = [np.argsort(-side.reshape(many, n), axis=1)[:, :size] for side in (one, other)]
    kept = (tops[0][:, :, None] == tops[1][:, None]).sum()
    return float(1 - kept / (many * size))


def score_cells(n: int) -> Iterator[Cell]:
    for drift, scatter in ((0.0, 0.0), (0.5, 0.0), (0.5, 1.0)):
        yield score_cell("score_shift", n, drift, drift, scatter, 0.0, f"score shift, scatter {scatter:g}")
    # of those turned the mean is 10 - base: no shift on average, and a mean square of 4 Var(U(3, 7)) = 16/3
    yield score_cell("score_shift", n, 0.0, 0.0, 0.0, 0.05, "score shift, few turned")
    for drift, scatter in ((0.0, 0.0), (0.5, 0.0), (0.3, 1.0)):
        truth = math.sqrt(drift**2 + scatter**2)
        yield score_cell("score_rms_shift", n, truth, drift, scatter, 0.0, f"RMS score shift, scatter {scatter:g}")
    yield score_cell("score_rms_shift", n, math.sqrt(0.05 * 16 / 3), 0.0, 0.0, 0.05, "RMS score shift, few turned")


def rank_cells(n: int) -> Iterator[Cell]:
    for name, title in (("rank_flip", "rank flip"), ("topk_churn", "top churn")):
        for scatter, turned in ((0.0, 0.0), (1.0, 0.0), (0.0, 0.2)):
            truth = ranks_of(name, n, scatter, turned)
            label = f"{title}, scatter {scatter:g}, turned {turned:g}"
            yield score_cell(name, n, truth, 0.0, scatter, turned, label)


# --- claims -------------------------------------------------------------------------------------------------


def claim_pairs_cell(n: int, lead: float, kind: str) -> Cell:
    """Pairs of one idea of ours and one of base. The truth: what ours win less what they lose."""
    size = {"same": lead, "few": lead, "beta": 0.0}[kind]

    def draw(rng: Rng, runs: int) -> FloatArray:
        p = mixture(rng, runs, n, kind, size)
        return np.where(rng.random((runs, n)) < 0.5, p, 1 - p) if kind == "beta" else p

    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        views = [view_of_votes(row, resampler) for row in tallies(rng, both(draw(rng, runs)))]
        return [(as_interval(differences(view, OURS)[0].estimate), None) for view in views]

    truth = {"same": 2 * soft_of(size) - 1, "few": 1 - size, "beta": 0.0}[kind]
    return Cell(f"claim, pairs won, {kind}", n, truth, run)


def claim_ideas_cell(n: int, measure: str, ours: float, base: float) -> Cell:
    """Single ideas, half of them of ours: novel with these chances, or scored around them."""

    def view(rng: Rng, resampler: Resampler) -> View:
        means = np.where(np.arange(n) % 2 == 0, ours, base)
        if measure == "novel share":
            return view_of_votes(tallies(rng, (rng.random(n) < means).astype(float)[:, None]), resampler)
        return view_of_scores(rng.normal(rng.normal(means, 1.5)[:, None], 1.0, (n, VOTES)), resampler)

    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        found: Pairs = []
        for _ in range(runs):
            (difference,) = differences(view(rng, resampler), OURS)
            assert difference.measure == measure
            found.append((as_interval(difference.estimate), None))
        return found

    return Cell(f"claim, {measure}, {ours:g} and {base:g}", n, ours - base, run)


def claim_cells(n: int) -> Iterator[Cell]:
    for kind, lead in (("same", 0.5), ("same", 0.7), ("few", 0.1), ("beta", 0.0)):
        yield claim_pairs_cell(n, lead, kind)
    for ours, base in ((0.5, 0.5), (0.95, 0.9), (0.7, 0.4)):
        yield claim_ideas_cell(n, "novel share", ours, base)
    for ours, base in ((5.0, 5.0), (6.0, 5.0)):
        yield claim_ideas_cell(n, "mean score", ours, base)


# --- clusters -----------------------------------------------------------------------------------------------


def cluster_means(rng: Rng, runs: int, count: int, rate: float, icc: float) -> FloatArray:
    """(runs, clusters) Beta means: intra-cluster correlation `icc` (1: all alike)."""
    if icc == 0 or rate in (0, 1):
        return np.full((runs, count), rate)
    if icc == 1:
        return (rng.random((runs, count)) < rate).astype(float)
    strength = (1 - icc) / icc
    return rng.beta(rate * strength, (1 - rate) * strength, size=(runs, count))


def cluster_cell(kind: str, count: int, size: int, rate: float, icc: float) -> Cell:
    """Clusters of equal size. `share` and `mean`: right answers, ties half; `paired`: accuracy less that of another such run;
    `bias`: of noisy votes, a share follows the position; `excess`: of noisy instances a share turns."""
    index = np.repeat(np.arange(count), size)

    def draw(rng: Rng, runs: int) -> FloatArray:
        means = cluster_means(rng, runs, count, rate, icc)
        return means[:, index]

    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        p = draw(rng, runs)
        n = count * size
        if kind == "mean":
            return of_view("soft_accuracy", tallies(rng, both(p)), resampler, index)
        if kind == "bias":
            return of_view("position_bias", tallies(rng, following(np.full((runs, n), 0.5), p)), resampler, index)
        drawn = (rng.random((runs, n)) < p).astype(float)
        if kind == "share":
            return of_view("accuracy", tallies(rng, drawn[..., None]), resampler, index)
        if kind == "paired":
            other = (rng.random((runs, n)) < draw(rng, runs)).astype(float)
            return of_change("accuracy", *(tallies(rng, one[..., None]) for one in (drawn, other)), resampler, index)
        reference = rng.beta(0.3, 0.3, size=(runs, n))
        moved = np.where(drawn > 0, 1 - reference, reference)
        return of_pair("excess_flip", *(tallies(rng, both(one)) for one in (moved, reference)), resampler, index)

    truth = {"paired": 0.0, "excess": 0.625 * rate, "mean": _soft_in_clusters(rate, icc)}.get(kind, rate)
    name = f"{kind}, {count} clusters of {size}, icc {icc:g}, rate {rate:g}"
    return Cell(name, count * size, truth, run, clusters=count)


@cache
def _soft_in_clusters(rate: float, icc: float) -> float:
    means = cluster_means(np.random.default_rng(3), 1, 50_000, rate, icc)[0]
    return float(np.mean([soft_of(p) for p in np.unique(means)])) if icc == 0 else _soft_mean(means)


def _soft_mean(means: FloatArray) -> float:
    total = 2 * VOTES
    law = [math.comb(total, k) * means**k * (1 - means) ** (total - k) for k in range(total + 1)]
    return float((np.sum(law[VOTES + 1 :], axis=0) + law[VOTES] / 2).mean())


def score_shift_in_clusters_cell(count: int, size: int, drift: float, spread: float) -> Cell:
    """Scores of 0 to 10 that drift, each cluster by a normal of its own more."""
    index = np.repeat(np.arange(count), size)

    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        found: Pairs = []
        for _ in range(runs):
            base = rng.uniform(3, 7, count * size)
            moved = base + drift + rng.normal(0, spread, count)[index]
            sides = (rng.normal(means[:, None], 1.0, (len(index), VOTES)) for means in (moved, base))
            pair = Pair(*(view_of_scores(side, resampler, clusters=index) for side in sides))
            found += intervals([PAIRED["score_shift"].later(pair)])
        return found

    return Cell(f"score shift, {count} clusters of {size}, spread {spread:g}", count * size, drift, run, clusters=count)


# --- the grid -----------------------------------------------------------------------------------------------


def base_cells(sizes: tuple[int, ...]) -> Iterator[Cell]:
    for n in sizes:
        for error in (0.36, 0.2, 0.1, 0.05, 0.02, 0.01):
            yield macro_f1_cell(n, error, 0.5)
        for error in (0.2, 0.05):
            yield macro_f1_cell(n, error, 0.3)
        for kind, size in (("same", 0.5), ("same", 0.8), ("same", 0.95), ("same", 0.99), ("beta", 0.5),
                           ("few", 0.04), ("few", 0.2)):  # fmt: skip
            yield soft_cell(n, kind, size)
        for kind, truth in (("same", 0.01), ("same", 0.05), ("same", 0.2), ("same", 0.5), ("beta", 0.1875),
                            ("few", 0.01), ("few", 0.05), ("few", 0.2)):  # fmt: skip
            yield retest_cell(n, kind, truth)
        for kind in ("same", "beta", "few"):
            for bias in (0.0, 0.02, 0.1, 0.3, 0.7, 0.95):
                yield bias_cell(n, kind, bias)
        for kind, excess in (("same", 0.0), ("same", 0.01), ("same", 0.05), ("same", 0.25), ("beta", 0.0),
                             ("beta", 0.02), ("beta", 0.05), ("beta", 0.25), ("few", 0.0), ("few", 0.02), ("few", 0.05), ("few", 0.25)):  # fmt: skip
            yield excess_cell(n, kind, excess)
        for area in (0.5, 0.75, 0.9, 0.97, 0.99):
            yield auroc_cell(n, area)


def two_view_cells(sizes: tuple[int, ...]) -> Iterator[Cell]:
    for n in sizes:
        for kind, size in (("same", 0.5), ("same", 0.8), ("same", 0.95), ("beta", 0.5), ("few", 0.04), ("few", 0.2)):
            yield null_flip_cell(n, kind, size)
        for change in (0.0, 0.05, 0.1):
            yield bias_change_cell(n, change)
            yield bias_change_cell(n, change, "few")
        for count in (2, 5) if n <= 154 else ():
            for share in (0.02, 0.1, 0.3):
                yield mean_flip_cell(n, count, share)
                yield mean_shift_cell(n, count, share)


def score_and_claim_cells(sizes: tuple[int, ...]) -> Iterator[Cell]:
    for n in sizes:
        yield from score_cells(n)
        if n <= 154:  # the top of 308 ideas takes too long
            yield from rank_cells(n)
        yield from claim_cells(n)


def cluster_cells() -> Iterator[Cell]:
    for count, size in ((3, 4), (3, 20), (5, 20), (8, 20), (10, 4), (20, 5), (40, 5), (66, 3)):
        for icc in (0.0, 0.3, 1.0):
            for kind in ("share", "paired", "mean"):
                for rate in (0.05, 0.5):
                    yield cluster_cell(kind, count, size, rate, icc)
            for kind, rates in (("bias", (0.0, 0.1, 0.3)), ("excess", (0.0, 0.05, 0.3))):
                for rate in rates if icc else rates[:1]:
                    yield cluster_cell(kind, count, size, rate, icc)
        for spread in (0.0, 1.0):
            yield score_shift_in_clusters_cell(count, size, 0.3, spread)


def all_cells(sizes: tuple[int, ...]) -> Iterator[Cell]:
    """Every simulated cell whose units are instances."""
    yield from base_cells(sizes)
    yield from two_view_cells(sizes)
    yield from score_and_claim_cells(sizes)
