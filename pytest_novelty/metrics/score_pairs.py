"""What changes in the scores when a variant (or another judge) takes the reference's place (STATISTICS.md 1).

Scores are in the judge's own unit, turned so that more is more novel. ``rank_flip`` and ``topk_churn`` are shares in [0, 1]
that rest on all ideas at once; their intervals resample ideas (or clusters), and their bootstrap has its own arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from pytest_novelty.metrics.deferred import Computed, deferrable, then
from pytest_novelty.metrics.estimating import root, signed_mean
from pytest_novelty.metrics.intervals import wider_side
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.resampling import (
    BoolArray,
    CountArray,
    FloatArray,
    IntArray,
    Interval,
    bca_interval,
    cluster_index,
)
from pytest_novelty.metrics.scoring import NO_SCORES_NOTE
from pytest_novelty.metrics.view import Estimate, View

_MAX_IDEAS = 1_000
"""Above, resampling the matrix of all pairs of ideas takes many seconds: the value stands without an interval."""
_SPLIT_HALVES = 200
_TOP_SHARE = 10
"""The top tenth of the ideas is what a person would look at."""

Weighted = Callable[[FloatArray], FloatArray]
"""(resamples, ideas) weights -> (resamples,) values."""


@deferrable
def score_shift(pair: Pair) -> Computed:
    """Mean of the variant's mean score minus the reference's."""
    if why := _no_scores(pair):
        return Estimate.undefined(why)
    span = score_span(pair)
    difference = pair.one.mean_scores - pair.other.mean_scores
    shift = signed_mean(pair.one, difference, _left_out(pair), minimum=-span, maximum=span, by_seen=True)
    return then(shift, lambda found: _open_for(found, _lost_share(pair), -span, span))


@deferrable
def score_rms_shift(pair: Pair) -> Computed:
    """Root mean square of the shift of an idea's score, less what its votes' own spread would show."""
    if why := _no_scores(pair) or pair.same_calls:
        return Estimate.undefined(why)
    noise = _variance_of_mean(pair.one) + _variance_of_mean(pair.other)
    square = (pair.one.mean_scores - pair.other.mean_scores) ** 2 - noise
    if not np.isfinite(square).any():
        return Estimate.undefined("needs two scores of an idea on both sides")
    span = score_span(pair) ** 2
    return then(
        signed_mean(
            pair.one, square, _left_out(pair), minimum=-span / 2, maximum=span, clip_at_zero=True, few_large=True
        ),
        root,
    )


def rank_flip(pair: Pair) -> Estimate:
    """Share of the pairs of ideas that both sides rank which they rank differently; pairs tied on a side do not count."""
    if why := _no_scores(pair):
        return Estimate.undefined(why)
    kept = _scored(pair)
    one, other = pair.one.mean_scores[kept], pair.other.mean_scores[kept]
    signs = [np.sign(np.round(s[:, None] - s[None], 9)).astype(np.float32) for s in (one, other)]
    product = signs[0] * signs[1]
    against, ranked = (product < 0).astype(np.float32), (product != 0).astype(np.float32)
    if not ranked.any():
        return Estimate.undefined("no two ideas are ranked by both sides", int(kept.sum()))

    def share(weights: FloatArray) -> FloatArray:
        weights = weights.astype(np.float32)
        sums = [np.einsum("ij,ij->i", weights @ matrix, weights, dtype=np.float64) for matrix in (against, ranked)]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray(sums[0] / sums[1])

    found = _over_ideas(pair, kept, share, _left_out(pair))
    lost = 1 - (1 - _lost_share(pair)) ** 2  # a pair is lost with either idea
    return _open_for(found, lost, 0.0, 1.0)


def topk_churn(pair: Pair) -> Estimate:
    """Share of the top tenth that is replaced; where scores tie at the cut, its expectation over all ways to cut.

    The note has what chance would replace (1 - K/N), and what the judge's own noise would: the pooled votes split in halves.
    """
    if why := _no_scores(pair):
        return Estimate.undefined(why)
    kept = _scored(pair)
    one, other = pair.one.mean_scores[kept], pair.other.mean_scores[kept]
    size = max(1, -(-len(one) // _TOP_SHARE))
    churn = _churn(one, other, size)
    parts = [f"top {size} of {len(one)}; chance {1 - size / len(one):.2f}"]
    if not pair.same_calls:
        floor = _noise_churn(pair, kept, size)
        parts.append(f"its own noise {floor:.2f}" if floor is not None else "")
    note = "; ".join(part for part in (*parts, _left_out(pair)) if part)
    return _open_for(_over_ideas(pair, kept, churn, note, size), _lost_share(pair), 0.0, 1.0)


def _churn(one: FloatArray, other: FloatArray, size: int) -> Weighted:
    def churn(weights: FloatArray) -> FloatArray:
        both = _chance_in_top(weights, one, size) * _chance_in_top(weights, other, size)
        return np.asarray(1.0 - (weights * both).sum(axis=1) / size)

    return churn


def _chance_in_top(weights: FloatArray, scores: FloatArray, size: int) -> FloatArray:
    """(resamples, ideas) the chance that a copy of the idea is among the ``size`` best; equal scores share what is left."""
    _, starts, place = np.unique(np.sort(np.round(-scores, 9)), return_index=True, return_inverse=True)
    order = np.argsort(np.round(-scores, 9), kind="stable")
    held = np.add.reduceat(weights[:, order], starts, axis=1)
    before = np.cumsum(held, axis=1) - held
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = np.clip(np.where(held > 0, (size - before) / held, 0.0), 0.0, 1.0)
    found = np.empty_like(weights)
    found[:, order] = chance[:, place]
    return found


def _noise_churn(pair: Pair, kept: BoolArray, size: int) -> float | None:
    """The churn between two halves of each idea's pooled votes, as many on each side as there were."""
    rows = [
        (first, second)
        for first, second, keep in zip(pair.one.vote_scores, pair.other.vote_scores, kept, strict=True)
        if keep
    ]
    width = max(len(first) + len(second) for first, second in rows)
    if all(len(first) + len(second) < 3 for first, second in rows):
        return None
    pooled = np.zeros((len(rows), width))
    there = np.zeros((len(rows), width), dtype=bool)
    for row, (first, second) in enumerate(rows):
        pooled[row, : len(first) + len(second)] = [*first, *second]
        there[row, : len(first) + len(second)] = True
    left = np.array([len(first) for first, _ in rows])[:, None]
    total = pooled.sum(axis=1)
    rng = np.random.default_rng([pair.one.seed, len(rows), width])
    sign = 1.0 if pair.one.traits.higher_is == "novel" else -1.0
    drawn = np.where(there, rng.random((_SPLIT_HALVES, *there.shape)), 2.0)
    rank = drawn.argsort(axis=-1).argsort(axis=-1)
    first = np.where(rank < left, pooled, 0.0).sum(axis=-1)  # (splits, ideas)
    count = left[:, 0]
    rest = there.sum(axis=1) - count
    kept_in = _among_best(sign * first / count, size) * _among_best(sign * (total - first) / rest, size)
    return float(1.0 - kept_in.sum(axis=1).mean() / size)


def _among_best(scores: FloatArray, size: int) -> FloatArray:
    """(rows, ideas) the chance of each to be among the ``size`` best of its row; equal scores share what is left."""
    rounded = np.round(scores, 9)
    last = -np.partition(-rounded, size - 1, axis=1)[:, size - 1 : size]
    above, level = rounded > last, rounded == last
    left = size - above.sum(axis=1, keepdims=True)
    return np.asarray(above + level * left / level.sum(axis=1, keepdims=True))


# --- ideas that lose their score ----------------------------------------------------------------------------


def _lost_share(pair: Pair) -> float:
    """Of the ideas with a score on the other side, the share without one on this: what it would be, nobody knows."""
    had = np.isfinite(pair.other.mean_scores)
    return float((had & ~np.isfinite(pair.one.mean_scores)).sum() / had.sum())


def _open_for(found: Estimate, lost: float, least: float, most: float) -> Estimate:
    """The interval where a share ``lost`` of what it rests on could be anything from ``least`` to ``most``."""
    if not lost or found.low is None or found.high is None:
        return found
    low, high = found.low * (1 - lost) + least * lost, found.high * (1 - lost) + most * lost
    return replace(found, low=min(found.low, low), high=max(found.high, high), is_open=True)


# --- statistics of all ideas at once ------------------------------------------------------------------------


def _over_ideas(pair: Pair, kept: BoolArray, statistic: Weighted, note: str, most: int | None = None) -> Estimate:
    """The wider side of BCa and Wilson (the rule of metrics in [0, 1]) for a function of the ideas' weights. ``most``: ideas that
    it counts, if not all: Wilson's interval then rests on no more. (A resample has copies, which stay in the top
    together: of the best 4 of 40 the jackknife and the bootstrap alone cover 78 to 88 %.)
    """
    n = int(kept.sum())
    value = float(statistic(np.ones((1, n)))[0])
    clusters = pair.one.clusters_of(kept)
    index, units = (np.arange(n), n) if clusters is None else cluster_index(clusters)
    if n > _MAX_IDEAS or units < 2:
        return Estimate(value, None, None, n, "", note or "too few or too many ideas for an interval")
    left_out = statistic((np.arange(units)[:, None] != index[None]).astype(np.float64))
    core = _bootstrap(pair.one, value, statistic, index, units, left_out)
    size = float(n if most is None else most)
    interval = wider_side(core, value, left_out, size, None, None if clusters is None else units, pair.one.level)
    if interval is None:
        return Estimate(value, None, None, n, "", note)
    return Estimate(value, interval.low, interval.high, n, interval.method, note)


def _bootstrap(
    view: View, value: float, statistic: Weighted, index: IntArray, units: int, left_out: FloatArray
) -> Interval | None:
    resampler = view.resampler(units)
    values = np.empty(resampler.resamples)

    def visit(start: int, counts: CountArray) -> None:
        values[start : start + len(counts)] = statistic(counts[:, index].astype(np.float64))

    resampler.for_each_block(visit)
    return bca_interval(value, values, left_out, view.level)


# --- scores -------------------------------------------------------------------------------------------------


def _no_scores(pair: Pair) -> str:
    """Why there is nothing to compare; empty if there is."""
    if not len(pair):
        return "no instance was judged by both"
    if not (np.isfinite(pair.one.mean_scores).any() and np.isfinite(pair.other.mean_scores).any()):
        return NO_SCORES_NOTE
    return "" if _scored(pair).any() else "no idea has a score on both sides"


def _scored(pair: Pair) -> BoolArray:
    return np.asarray(np.isfinite(pair.one.mean_scores) & np.isfinite(pair.other.mean_scores))


def _left_out(pair: Pair) -> str:
    missing = int((~_scored(pair)).sum())
    return f"{missing} ideas without a score on both sides left out" if missing else ""


def score_span(pair: Pair) -> float:
    """The width of the scale: as declared, else as used."""
    if pair.one.traits.score_range is not None and pair.one.traits.score_range == pair.other.traits.score_range:
        low, high = pair.one.traits.score_range
        return high - low
    used = [score for view in (pair.one, pair.other) for row in view.vote_scores for score in row]
    return max(used) - min(used)


def _variance_of_mean(view: View) -> FloatArray:
    """(n,) unbiased variance of each idea's mean score, from its own votes; nan with fewer than two."""
    return np.array(
        [np.var(row, ddof=1) / len(row) if len(row) > 1 else np.nan for row in view.vote_scores], dtype=np.float64
    )
