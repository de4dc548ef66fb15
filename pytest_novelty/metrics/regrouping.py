"""Were the papers of a set put together otherwise? Two sides' partitions set against each other, pair of papers by pair.

That two votes on a set differ is a matter of degree: of a noisy judge hardly two are the same partition. So the excess flip of
STATISTICS.md 1 is taken with a distance in the place of "the votes differ": the share of the pairs of papers that one vote puts
together and the other apart. Its expectation is the mean over pairs of the squared difference of the probability that a vote puts
them together: 0 where nothing moved, whatever the noise; the root of it is a vote shift. Partitions are exchanged whole, within
their set and order, and sets are the unit.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from pytest_novelty.metrics.causes import Causes, silenced_p
from pytest_novelty.metrics.deferred import Computed, deferrable, then
from pytest_novelty.metrics.estimating import excess_mean, root
from pytest_novelty.metrics.exchange import Request, excess_of_takes, null_of_requests
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.resampling import FloatArray, IntArray
from pytest_novelty.metrics.view import Estimate
from pytest_novelty.model import Instance, Vote
from pytest_novelty.protocols.grouping import groups_of

TOO_FEW_VOTES_NOTE = "needs two valid votes of a request on both sides"


class _Moved(NamedTuple):
    """``excess``: (n,) of each set, averaged over its orders; nan without two valid votes of a request on both sides."""

    excess: FloatArray
    requests: list[Request]


def find_regrouping(pair: Pair) -> Causes:
    """The exchange test of the partitions, and the swap test of the valid votes, as ``find_causes`` has them for two labels."""
    moved = _moved(pair)
    known = np.isfinite(moved.excess)
    null = null_of_requests(moved.requests, int(known.sum()), pair.one.seed)
    if null is None:
        return Causes(silenced=silenced_p(pair))
    return Causes(null.tail(float(moved.excess[known].mean())), null.method, null=null, silenced=silenced_p(pair))


@deferrable
def pairs_shift(pair: Pair) -> Computed:
    """By how much the probability that a vote puts two papers together moves (root mean square over pairs, orders and sets)."""
    values = _moved(pair).excess
    left_out = int((~np.isfinite(values)).sum())
    if left_out == len(values):
        return Estimate.undefined(TOO_FEW_VOTES_NOTE)
    note = f"; {left_out} instances with fewer than two valid votes of a request left out" if left_out else ""
    return then(excess_mean(pair.one, values, f"over pairs of papers{note}"), root)


@lru_cache(maxsize=1)  # the size of a move and its test are asked for one after the other
def _moved(pair: Pair) -> _Moved:
    excess = np.full(len(pair), np.nan)
    requests: list[Request] = []
    for row, instance in enumerate(pair.one.instances):
        votes = [view.results[row].outcome.votes for view in (pair.one, pair.other)]
        found = list(_requests(instance, *votes))
        own = [Request(distances, first, len(found)) for distances, first in found]
        if own:
            observed = [
                excess_of_takes(each.distances, np.arange(len(each.distances))[None] < each.first) for each in own
            ]
            excess[row] = float(np.mean(observed))
        requests += own
    return _Moved(excess, requests)


def _requests(instance: Instance, one: tuple[Vote, ...], other: tuple[Vote, ...]) -> Iterator[tuple[FloatArray, int]]:
    """Of each order with two valid votes on both sides: how far the votes are apart, those of ``one`` first, and how many are."""
    ids = [idea.id for idea in instance.ideas]
    for order in dict.fromkeys(vote.order for vote in (*one, *other)):
        sides = [[v.label for v in votes if v.order == order and v.label is not None] for votes in (one, other)]
        if min(map(len, sides)) >= 2:
            together = np.array([_together(label, ids) for side in sides for label in side], dtype=np.float64)
            yield np.abs(together[:, None] - together[None]).mean(axis=-1), len(sides[0])


@cache
def _pairs(papers: int) -> tuple[IntArray, IntArray]:
    first, second = np.triu_indices(papers, 1)
    return first, second


def _together(label: str, ids: list[str]) -> FloatArray:
    """(pairs,) 1 where the partition has both papers of a pair in one group, else 0."""
    group = {member: number for number, members in enumerate(groups_of(label), 1) for member in members}
    places = np.array([group.get(name, -place) for place, name in enumerate(ids)])
    first, second = _pairs(len(ids))
    return np.asarray(places[first] == places[second], dtype=np.float64)
