"""By how much a metric of one view changes from the reference to a variant, and whether by more than chance (STATISTICS.md 2).

A star is a Holm-adjusted p <= .05 of the exact swap test, never an interval that leaves out 0: at no difference that would
fire in up to 10 % of cases.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

import numpy as np

from pytest_novelty.metrics.auroc import auroc, swap_values
from pytest_novelty.metrics.catalogue import CATALOGUE, SHARE, SIGNED
from pytest_novelty.metrics.classification import F1S, confusion
from pytest_novelty.metrics.deferred import Computed, Pending, settle
from pytest_novelty.metrics.estimating import signed_mean
from pytest_novelty.metrics.grounded import sampled_of
from pytest_novelty.metrics.intervals import paired_share_interval
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.permutation import holm, swap_test, swap_test_rows
from pytest_novelty.metrics.resampling import FloatArray, Interval, Statistic, evaluate, unit_rows
from pytest_novelty.metrics.sampled import Counted, Sampled, pair_rows
from pytest_novelty.metrics.view import Estimate
from pytest_novelty.model import NOVEL

GROUNDED: Final = ("hallucination_rate", "missing_evidence_rate", "mismatch_rate", "verified_f1")
"""Of judges that cite evidence: it may change while every verdict stays."""

CHANGES: Final = {
    "pairwise": ("strict_accuracy", "soft_accuracy", "tie_rate", "invalid_rate", "retest_flip_rate", "position_bias"),
    "pointwise": ("accuracy", "macro_f1", "auroc", "tie_rate", "invalid_rate", "retest_flip_rate"),
    "similarity": ("accuracy", "macro_f1", "f1", "tie_rate", "invalid_rate", "retest_flip_rate", *GROUNDED),
    "entailment": ("accuracy", "macro_f1", "f1", "tie_rate", "invalid_rate", "retest_flip_rate"),
    "grouping": ("accuracy", "tie_rate", "invalid_rate", *GROUNDED),
}
"""The metrics whose change is reported, by protocol."""

STAR: Final = 0.05
_FEW: Final = 10
"""Changed outcomes below which a bootstrap of a difference of F1s says nothing: the counts and the test do."""


@dataclass(frozen=True)
class Change:
    """``metric`` under the variant less under the reference. ``p``: swap test, None where the two share calls or it is
    undefined; ``p_holm``: adjusted over the variants of a judge on a suite.
    """

    metric: str
    estimate: Estimate
    p: float | None = None
    p_holm: float | None = None

    @property
    def starred(self) -> bool:
        return self.p_holm is not None and self.p_holm <= STAR


class PendingChange(NamedTuple):
    """A change whose bootstrap may still be to come, with its test."""

    metric: str
    computed: Computed
    p: float | None


def changes(
    pair: Pair, one: Mapping[str, Estimate] | None = None, other: Mapping[str, Estimate] | None = None
) -> list[Change]:
    """The change of every reported metric, not yet adjusted. ``one``, ``other``: estimates of the two sides, if at hand."""
    return settle_changes([changes_later(pair, one, other)])[0]


def changes_later(
    pair: Pair, one: Mapping[str, Estimate] | None = None, other: Mapping[str, Estimate] | None = None
) -> list[PendingChange]:
    """The same with the bootstraps still to come, for :func:`settle_changes`."""
    found = []
    for name in CHANGES[pair.one.suite.protocol]:
        computed, p = difference(name, pair, one or {}, other or {})
        found.append(PendingChange(name, computed, None if pair.same_calls else p))
    return found


def settle_changes(later: Sequence[Sequence[PendingChange]]) -> list[list[Change]]:
    """Those of several pairs, taken together."""
    estimates = iter(settle([item.computed for pending in later for item in pending]))
    return [[Change(item.metric, next(estimates), item.p) for item in pending] for pending in later]


def difference(
    name: str, pair: Pair, known_one: Mapping[str, Estimate], known_other: Mapping[str, Estimate]
) -> tuple[Computed, float | None]:
    """The paired difference of one metric that is a mean over instances, an F1 or ``auroc``, and the p of its swap test.

    ``known_one``, ``known_other``: estimates of the two sides, if at hand.
    """
    if not len(pair):
        return Estimate.undefined("no instance was judged by both"), None
    metric = CATALOGUE[name]
    if metric.is_per_vote(pair.one.suite.protocol):
        return _difference_of_rates(name, pair)
    one = known_one.get(name) or metric.compute(pair.one)
    other = known_other.get(name) or metric.compute(pair.other)
    for side, estimate in (("the variant", one), ("the reference", other)):
        if estimate.value is None:
            return Estimate.undefined(f"undefined for {side}: {estimate.note}"), None
    if name in F1S:
        return _difference_of_f1s(pair, F1S[name])
    if name == "auroc":
        return _difference_of_aurocs(pair)
    assert one.values is not None, name
    assert other.values is not None, name
    differences = one.values - other.values
    known = np.isfinite(differences)
    if not known.any():
        return Estimate.undefined("no instance has a value on both sides"), None
    p = swap_test(differences[known], pair.one.clusters_of(known), pair.one.seed)
    note = _counts(differences[known])
    if metric.kind == SHARE:
        return _paired_shares(pair, one.values == 1.0, other.values == 1.0, known, note), p
    reach = 2.0 if metric.kind == SIGNED else 1.0
    return signed_mean(pair.one, differences, note, minimum=-reach, maximum=reach), p


def _counts(differences: FloatArray) -> str:
    more, less = int((differences > 1e-9).sum()), int((differences < -1e-9).sum())
    return f"more in {more}, less in {less}" if more or less else f"no difference in {len(differences)}"


def _paired_shares(pair: Pair, one: np.ndarray, other: np.ndarray, known: np.ndarray, note: str) -> Estimate:
    a, b = one[known], other[known]
    interval = paired_share_interval(a, b, pair.one.clusters_of(known), pair.one.level)
    differences = a.astype(np.float64) - b
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    return Estimate(float(differences.mean()), low, high, len(a), "Tango", note, float(differences.std()))


def _difference_of_f1s(pair: Pair, f1: Callable[[FloatArray], FloatArray]) -> tuple[Computed, float | None]:
    kept = pair.one.labelled & pair.other.labelled
    one, other = confusion(pair.one)[kept], confusion(pair.other)[kept]
    clusters = pair.one.clusters_of(kept)
    width = one.shape[1]

    def gain(sums: FloatArray) -> FloatArray:
        return f1(sums[..., :width]) - f1(sums[..., width:])

    stat = Statistic(np.hstack([one, other]), gain, clusters)
    value = float(evaluate(stat, stat.rows.sum(axis=0)))
    if not np.isfinite(value):
        return Estimate.undefined("no instance of the label on either side"), None
    p = swap_test_rows(Statistic(one, f1, clusters), Statistic(other, f1, clusters), seed=pair.one.seed)
    changed = int((one != other).any(axis=1).sum())
    note = f"{changed} outcomes changed" if changed else f"no difference in {len(one)}"
    if changed < _FEW:
        return Estimate(value, None, None, len(one), "", note), p

    def finish(core: Interval | None) -> Estimate:
        low, high, method = (None, None, "") if core is None else (core.low, core.high, core.method)
        return Estimate(value, low, high, len(one), method, note)

    return Pending(stat, pair.one.resampler(len(unit_rows(stat))), pair.one.level, finish), p


def _difference_of_rates(name: str, pair: Pair) -> tuple[Computed, float | None]:
    """Of ratios that are averaged over votes. Where positives are unchecked on a side, the test is passed only if it is whatever
    they would turn out to be, and no interval is given.
    """
    one, other = sampled_of(pair.one, name), sampled_of(pair.other, name)
    for side, made in (("the variant", one), ("the reference", other)):
        if isinstance(made, str):
            return Estimate.undefined(f"undefined for {side}: {made}"), None
    assert isinstance(one, Sampled)
    assert isinstance(other, Sampled)
    for side, made in (("the variant", one), ("the reference", other)):
        if not made.value.of.any():
            return Estimate.undefined(f"undefined for {side}: 0 of 0"), None
    stat, p, changed = _test_of_rates(pair, one.value, other.value)
    value = float(evaluate(stat, stat.rows.sum(axis=0)))
    if not np.isfinite(value):
        return Estimate.undefined("0 of 0 on a side"), None
    n = len(stat.rows)
    note = f"{changed} instances changed" if changed else f"no difference in {n}"
    extremes = [
        _test_of_rates(pair, mine or one.value, theirs or other.value)
        for mine, theirs in ((one.lower, other.upper), (one.upper, other.lower))
    ]
    gains = [float(evaluate(found, found.rows.sum(axis=0))) for found, _, _ in extremes]
    if max(abs(gain - value) for gain in gains) > 1e-12:
        same = gains[0] * gains[1] > 0
        note = f"between {min(gains):+.3f} and {max(gains):+.3f} over what was not checked"
        p = max(p, *(found[1] for found in extremes)) if same else 1.0
        return Estimate(value, None, None, n, "", note, bounds=(min(gains), max(gains))), p
    if changed < _FEW:
        return Estimate(value, None, None, n, "", note), p

    def finish(core: Interval | None) -> Estimate:
        if core is None or core.low == core.high:  # every resample has the same: that is no certainty
            return _by_sides(value, CATALOGUE[name].compute(pair.one), CATALOGUE[name].compute(pair.other), n, note)
        return Estimate(value, core.low, core.high, n, core.method, note)

    return Pending(stat, pair.one.resampler(len(unit_rows(stat))), pair.one.level, finish), p


def _by_sides(value: float, one: Estimate, other: Estimate, n: int, note: str) -> Estimate:
    """A difference with the interval that those of its sides come to (Zou and Donner 2008), as if they were independent."""
    ends = (one.value, one.low, one.high, other.value, other.low, other.high)
    if any(end is None for end in ends):
        return Estimate(value, None, None, n, "", note)
    at, low, high, then, then_low, then_high = (float(end) for end in ends if end is not None)
    below, above = math.hypot(at - low, then_high - then), math.hypot(high - at, then - then_low)
    reach = 1.5 if min(low, then_low) < 0 else 1.0  # an adjusted Rand index is -.5 or more
    return Estimate(value, max(-reach, value - below), min(reach, value + above), n, "Zou-Donner", note)


def _test_of_rates(pair: Pair, one: Counted, other: Counted) -> tuple[Statistic, float, int]:
    """The difference as a function of summed rows (both sides of an instance weigh the same), its p, and how many rows differ."""
    left, right, average = pair_rows(one, other)
    clusters = pair.one.clusters_of(np.ones(len(left), dtype=bool))
    width = left.shape[1]

    def gain(sums: FloatArray) -> FloatArray:
        return average(sums[..., :width]) - average(sums[..., width:])

    p = swap_test_rows(Statistic(left, average, clusters), Statistic(right, average, clusters), seed=pair.one.seed)
    return Statistic(np.hstack([left, right]), gain, clusters), p, int((left != right).any(axis=1).sum())


def _difference_of_aurocs(pair: Pair) -> tuple[Estimate, float | None]:
    """No interval: the difference of two areas is no function of summed counts. The swap test decides."""
    gold = np.array([instance.gold is not None for instance in pair.one.instances], dtype=bool)
    kept = gold & np.isfinite(pair.one.mean_scores) & np.isfinite(pair.other.mean_scores)
    positive = np.array([instance.gold == NOVEL for instance in pair.one.instances], dtype=bool)[kept]
    if not positive.any() or positive.all():
        return Estimate.undefined("needs instances of both labels"), None
    one, other = pair.one.mean_scores[kept], pair.other.mean_scores[kept]
    p = swap_test(swap_values(one, other, positive), pair.one.clusters_of(kept), pair.one.seed)
    return Estimate(auroc(one, positive) - auroc(other, positive), None, None, len(one), "", "no interval"), p


def adjusted(found: Sequence[Sequence[Change]]) -> list[tuple[Change, ...]]:
    """Holm over the pairs (the variants of a judge, or its rivals), each metric for itself."""
    result: list[list[Change]] = [[] for _ in found]
    for same_metric in zip(*found, strict=True):
        ps = holm([change.p for change in same_metric])
        for own, change, p in zip(result, same_metric, ps, strict=True):
            own.append(replace(change, p_holm=p))
    return [tuple(items) for items in result]
