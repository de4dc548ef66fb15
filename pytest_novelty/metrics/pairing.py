"""Two sides that judged the same instances: a variant and the reference, or two judges; what two-view metrics are made of."""

from __future__ import annotations

import copy
from functools import cached_property

import numpy as np

from pytest_novelty.metrics.resampling import BoolArray, FloatArray
from pytest_novelty.metrics.stability import excess, mean_over_orders
from pytest_novelty.metrics.view import View
from pytest_novelty.protocols import has_two_labels

SAME_CALLS = "same calls"


class Pair:
    """``one`` against ``other``, on the instances that both have; rows of the two are the same instance.

    Parameters
    ----------
    one, other: the variant (or the judge) and what it is compared with.
    same_calls: why both rest on the same answers, such as "same calls"; what they say beyond noise is then undefined.
        Empty where they do not.
    """

    def __init__(self, one: View, other: View, same_calls: str = "") -> None:
        common = {result.instance for result in one.results} & {result.instance for result in other.results}
        self.one, self.other = one.restricted(common), other.restricted(common)
        self.same_calls = same_calls

    def __len__(self) -> int:
        return len(self.one)

    def only(self, stratum: str, value: str) -> Pair:
        """The instances of one stratum."""
        return Pair(self.one.only(stratum, value), self.other.only(stratum, value), self.same_calls)

    def at_level(self, level: float) -> Pair:
        """The same votes with intervals of another level; what was computed of them is kept."""
        pair = copy.copy(self)
        pair.one, pair.other = self.one.at_level(level), self.other.at_level(level)
        return pair

    @property
    def unlabelled_sides(self) -> bool:
        """One of the two has scores and no labels."""
        return self.one.scores_only or self.other.scores_only

    @property
    def one_scale(self) -> bool:
        """Both sides declare the same scale of scores, without which those cannot be set against each other."""
        one, other = self.one.traits, self.other.traits
        scale = (one.score_range, one.higher_is)
        return one.score_range is not None and scale == (other.score_range, other.higher_is)

    @cached_property
    def flipped(self) -> BoolArray:
        """(n,) the two outcomes have different labels; invalid and incomplete are labels of their own."""
        return np.asarray(self.one.label_codes != self.other.label_codes)

    @cached_property
    def reversed(self) -> BoolArray:
        """(n,) both outcomes are decided, and differ."""
        decided = (self.one.label_codes < 2) & (self.other.label_codes < 2)
        return np.asarray(decided & self.flipped & (self.one.label_codes >= 0) & (self.other.label_codes >= 0))

    @property
    def why_no_votes(self) -> str:
        """Why votes cannot be set against each other within each order; empty if they can."""
        if self.same_calls:
            return self.same_calls
        if not len(self):
            return "no instance was judged by both"
        if not has_two_labels(self.one.suite.protocol):
            return "votes name partitions, and there are too many of them to set shares against each other"
        if self.one.orders != self.other.orders:
            return "the two were asked in different orders"
        return ""

    @cached_property
    def silenced(self) -> FloatArray:
        """(n,) of the orders in which the other side has two valid votes, the share in which this one has not: what it would say
        there, nobody knows. nan where the other side has none.
        """
        other, one = (view.counts.sum(axis=-1) >= 2 for view in (self.other, self.one))
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.asarray((other & ~one).sum(axis=1) / other.sum(axis=1), dtype=np.float64)

    @cached_property
    def lost(self) -> FloatArray:
        """(n,) the share of an instance's planned votes that are valid on the other side, less that on this one."""
        shares = [_valid_share(view) for view in (self.other, self.one)]
        return np.asarray(shares[0] - shares[1], dtype=np.float64)

    @property
    def lost_share(self) -> float:
        """The mean of ``lost``; below 0 where this side has more valid votes."""
        known = np.isfinite(self.lost)
        return float(self.lost[known].mean()) if known.any() else 0.0

    @cached_property
    def excess(self) -> FloatArray:
        """(n,) excess flip of each instance, averaged over its orders; nan without two valid votes of a request on both
        sides. Only where ``why_no_votes`` is empty.
        """
        return mean_over_orders(excess(self.one.counts, self.other.counts))


def _valid_share(view: View) -> FloatArray:
    """(n,) valid votes, and scores where there are no labels, of those that were asked for."""
    asked = np.array([len(result.outcome.votes) for result in view.results])
    valid = np.array([sum(vote.label is not None for vote in result.outcome.votes) for result in view.results])
    scored = np.array([len(row) for row in view.vote_scores])
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.maximum(valid, scored) / asked, dtype=np.float64)
