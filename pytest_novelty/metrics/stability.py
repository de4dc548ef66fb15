"""Same question, same answer? Noise between votes, and the pull of the order shown (STATISTICS.md 1)."""

from __future__ import annotations

import numpy as np

from pytest_novelty.metrics.deferred import Computed, deferrable
from pytest_novelty.metrics.estimating import excess_mean, mean_in_unit, share, signed_mean
from pytest_novelty.metrics.resampling import FloatArray, IntArray
from pytest_novelty.metrics.view import Estimate, View
from pytest_novelty.protocols import PROTOCOLS, has_two_labels


def disagreement(counts: IntArray) -> FloatArray:
    """R per (instance, order): the chance that two votes of one request differ; nan with fewer than two votes.

    ``counts``: (..., labels) valid votes. Unbiased: 1 - sum n_y (n_y - 1) / (m (m - 1)).
    """
    votes = counts.sum(axis=-1)
    pairs = (counts * (counts - 1)).sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(votes >= 2, 1.0 - pairs / (votes * (votes - 1.0)), np.nan)


def excess(one: IntArray, other: IntArray) -> FloatArray:
    """How much more two requests' votes differ than each request's own: (p_v - p_r)^2 in expectation, per instance.

    nan where either side has fewer than two votes.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        agreement = (one * other).sum(axis=-1) / (one.sum(axis=-1) * other.sum(axis=-1))
    return np.asarray(1.0 - agreement - (disagreement(one) + disagreement(other)) / 2.0)


def mean_over_orders(values: FloatArray) -> FloatArray:
    """Average an (instances, orders) array over the orders that have a value; nan if none has."""
    known = np.isfinite(values)
    count = known.sum(axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(count > 0, np.where(known, values, 0.0).sum(axis=1) / count, np.nan)


def _two_orders(view: View) -> str:
    """Why position metrics do not apply; empty if they do."""
    if len(PROTOCOLS[view.suite.protocol].orders("both")) < 2:
        return "one idea has no order"
    return "" if len(view.orders) == 2 else "only one order was asked"


@deferrable
def retest_flip_rate(view: View) -> Computed:
    """The chance that two votes of one request differ; two groupings do if they are not the same groups."""
    values = mean_over_orders(disagreement(view.label_counts))
    left_out = int((~np.isfinite(values)).sum())
    note = f"{left_out} instances with fewer than two valid votes left out" if left_out and left_out < len(view) else ""
    return mean_in_unit(view, values, note or ("needs two valid votes of a request" if left_out else ""))


@deferrable
def decided_flip_rate(view: View) -> Computed:
    """The same of the votes for one of the two labels alone: half of a coin's differ, however often it declares a tie."""
    values = mean_over_orders(disagreement(view.counts[:, :, :2]))
    return mean_in_unit(view, values, "needs two votes for a label")


@deferrable
def position_bias(view: View) -> Computed:
    """P(first shown chosen) - P(second shown chosen) over decided votes; orders weigh equally within an instance."""
    if why := _two_orders(view):
        return Estimate.undefined(why)
    decided = view.counts[:, :, :2].sum(axis=-1) > 0
    return signed_mean(view, lean_to_first(view), _both_orders_note(view, decided))


def lean_to_first(view: View) -> FloatArray:
    """(n,) the position bias of each pair, in [-1, 1]; nan without a decided vote in both orders."""
    decided = view.counts[:, :, 0] + view.counts[:, :, 1]
    with np.errstate(divide="ignore", invalid="ignore"):
        lead = (view.counts[:, :, 0] - view.counts[:, :, 1]) / decided
    return np.asarray((lead * _first_shown_sign(view)).mean(axis=1), dtype=np.float64)


def order_inconsistency(view: View) -> Estimate:
    """The majorities of AB and BA name different ideas, or one of them is split; both split is consistent. Of groupings: some two
    papers are together in the one and not in the other.
    """
    if why := _two_orders(view):
        return Estimate.undefined(why)
    if not has_two_labels(view.suite.protocol):
        from pytest_novelty.metrics.grounded import turned_by_order

        turned = turned_by_order(view)
        known = np.isfinite(turned)
        return share(view, turned > 0, known, "" if known.any() else "no set has valid votes in both orders")
    votes = view.counts.sum(axis=-1) > 0
    majority = np.sign(view.counts[:, :, 0] - view.counts[:, :, 1])
    return share(view, majority[:, 0] != majority[:, 1], votes.all(axis=1), _both_orders_note(view, votes))


@deferrable
def excess_order_flip(view: View) -> Computed:
    """How much the order moves a vote beyond the judge's own noise: the mean squared effect of the position."""
    if why := _two_orders(view):
        return Estimate.undefined(why)
    values = pull_of_order(view)
    if not np.isfinite(values).any():
        return Estimate.undefined("needs two valid votes in each order")
    note = _both_orders_note(view, view.label_counts.sum(axis=-1) >= 2)
    return excess_mean(view, values, note)


def pull_of_order(view: View) -> FloatArray:
    """(n,) the excess of each instance's votes in the one order over those in the other; nan without two votes in both."""
    return excess(view.label_counts[:, 0], view.label_counts[:, 1])


def _first_shown_sign(view: View) -> IntArray:
    """(orders,) +1 where the first label is the first shown, -1 where it is the second."""
    return np.array([1 if order == "ab" else -1 for order in view.orders])


def _both_orders_note(view: View, has_votes: np.ndarray) -> str:
    missing = int((~has_votes.all(axis=1)).sum())
    return f"{missing} instances without valid votes in both orders left out" if missing else ""
