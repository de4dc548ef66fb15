"""Two judges on the same instances: paired, so that the instances' difficulty cancels out (STATISTICS.md 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from pytest_novelty.metrics import variants
from pytest_novelty.metrics.differences import STAR
from pytest_novelty.metrics.intervals import paired_share_interval
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.permutation import holm, swap_test
from pytest_novelty.metrics.view import Estimate, View


@dataclass(frozen=True)
class Comparison:
    """``first`` against ``second`` on the ``n`` instances that both judged.

    accuracy_difference: share right of first minus second (None without gold labels), with Tango's interval.
    p, p_holm: exact swap test of that difference, and adjusted over the pairs of judges on this suite and variant.
    flip_rate: share of instances with different outcome labels.
    vote_shift: root of the excess flip between the two judges' votes: how far their vote probabilities lie apart (RMS).
    shift_p, shift_p_holm: exchange test of that shift, and adjusted likewise.
    needed: about how many instances would decide the difference (80 % power); None if decided or hopeless.
    """

    first: str
    second: str
    suite: str
    variant: str
    n: int
    accuracy_difference: Estimate
    flip_rate: Estimate
    vote_shift: Estimate
    p: float | None = None
    p_holm: float | None = None
    needed: int | None = None
    shift_p: float | None = None
    shift_p_holm: float | None = None

    @property
    def starred(self) -> bool:
        return self.p_holm is not None and self.p_holm <= STAR

    @property
    def shift_starred(self) -> bool:
        return self.shift_p_holm is not None and self.shift_p_holm <= STAR


def compare_all(views: Sequence[tuple[str, View]], variant: str, against: str | None = None) -> list[Comparison]:
    """Every pair of judges of one suite and variant, Holm-adjusted together; with ``against`` each other judge and that one."""
    sides = combinations(views, 2) if against is None else _with(views, against)
    found = [_compare(first, one, second, other, variant) for (first, one), (second, other) in sides]
    adjusted = zip(found, holm([item.p for item in found]), holm([item.shift_p for item in found]), strict=True)
    return [replace(item, p_holm=p, shift_p_holm=shift_p) for item, p, shift_p in adjusted]


def _with(views: Sequence[tuple[str, View]], against: str) -> Iterable[tuple[tuple[str, View], tuple[str, View]]]:
    reference = next(((name, view) for name, view in views if name == against), None)
    return [] if reference is None else [((name, view), reference) for name, view in views if name != against]


def _compare(first: str, one: View, second: str, other: View, variant: str) -> Comparison:
    pair = Pair(one, other)
    if not len(pair):
        nothing = Estimate.undefined("no instance was judged by both")
        return Comparison(first, second, one.suite.name, variant, 0, nothing, nothing, nothing)
    one, other = pair.one, pair.other
    difference, p, needed = _accuracy_difference(one, other)
    flip = variants.flip_rate(pair)
    if pair.unlabelled_sides:
        flip = Estimate.undefined("needs a label from both judges")
    shift = variants.vote_shift(pair)
    null = variants.null_of(pair)
    shift_p = None if null is None else null.tail(float(pair.excess[np.isfinite(pair.excess)].mean()))
    return Comparison(
        first, second, one.suite.name, variant, len(pair), difference, flip, shift, p, needed=needed, shift_p=shift_p
    )


def _accuracy_difference(one: View, other: View) -> tuple[Estimate, float | None, int | None]:
    if one.unlabelled or one.scores_only or other.scores_only or one.may_have_looked_up or other.may_have_looked_up:
        return Estimate.undefined("needs gold labels and a label from both judges"), None, None
    kept = one.labelled & other.labelled
    a, b = one.correct[kept], other.correct[kept]
    if not len(a):
        return Estimate.undefined("no labelled instance"), None, None
    clusters = one.clusters_of(kept)
    differences = a.astype(np.int64) - b.astype(np.int64)
    value = float(differences.mean())
    interval = paired_share_interval(a, b, clusters, one.level)
    p = swap_test(differences, clusters)
    note = f"only {one_sided(a, b)} right" if (a != b).any() else f"no difference in {len(a)}"
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    estimate = Estimate(value, low, high, len(a), "Tango", note, float(differences.std()))
    return estimate, p, _needed(differences) if p > 0.05 else None


def one_sided(a: np.ndarray, b: np.ndarray) -> str:
    return f"first {int((a & ~b).sum())}, only second {int((b & ~a).sum())}"


def _needed(differences: np.ndarray) -> int | None:
    from pytest_novelty.metrics.planning import planned_n_mean

    value = float(differences.mean())
    needed = planned_n_mean(float(differences.std()), value, 0.0) if value else None
    return needed if needed is not None and needed <= 10 * len(differences) else None
