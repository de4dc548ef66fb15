"""The tests that say what moves a verdict: the variant, the order, both together, or the judge's own noise (STATISTICS.md 1).

All are of one pair: a variant against the reference of one judge on one suite. Adjusting over the variants of a run is the
caller's; so are the words.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pytest_novelty.metrics.exchange import Null, null_of_excess, score_exchange_p
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.permutation import holm, swap_test
from pytest_novelty.metrics.stability import lean_to_first, pull_of_order
from pytest_novelty.metrics.variants import null_of
from pytest_novelty.metrics.view import View


@dataclass(frozen=True)
class Causes:
    """p values of one pair, None where there is no test.

    moved: the least of two Holm-adjusted p: exchange test of the votes, and drift or scatter of the scores where both sides have
        some. ``by_scores``: it is the scores'. ``method`` says how it was made.
    silenced: swap test of the shares of valid votes: the variant takes votes away, or brings them.
    together: the order's pull is another under the variant: swap tests of position bias and of excess order flip, Holm.
    null: the exchange distribution, for what would have been seen.
    """

    moved: float | None = None
    method: str = ""
    together: float | None = None
    null: Null | None = None
    by_scores: bool = False
    silenced: float | None = None


def find_causes(pair: Pair) -> Causes:
    """Run the tests of a variant against the reference."""
    if pair.same_calls or not len(pair):
        return Causes()
    found = find_move(pair)
    together = None if found.moved is None else _together(pair)
    return replace(found, together=together, silenced=silenced_p(pair))


def find_move(pair: Pair, *, scores: bool = True) -> Causes:
    """Only ``moved``, with ``method``, ``by_scores`` and ``null``. ``scores``: both sides score on one scale."""
    if pair.same_calls or not len(pair):
        return Causes()
    null = null_of(pair)
    votes = None if null is None else null.tail(float(pair.excess[np.isfinite(pair.excess)].mean()))
    by_votes, by_scores = holm([votes, _scores_moved(pair) if scores else None])
    if by_scores is not None and (by_votes is None or by_scores < by_votes):
        return Causes(by_scores, "re-splits and swaps of the scores", null=null, by_scores=True)
    return Causes() if by_votes is None or null is None else Causes(by_votes, null.method, null=null)


def silenced_p(pair: Pair) -> float | None:
    """Swap test of the shares of valid votes; None where nothing was asked."""
    known = np.isfinite(pair.lost)
    if not known.any():
        return None
    return swap_test(pair.lost[known], pair.one.clusters_of(known), pair.one.seed)


def order_p(view: View) -> float | None:
    """Exchange test of the order shown: the votes of AB and BA pooled and split anew. None without both orders."""
    if len(view.orders) != 2:
        return None
    null = null_of_excess(view.counts[:, :1], view.counts[:, 1:], view.seed)
    if null is None:
        return None
    values = pull_of_order(view)
    return null.tail(float(values[np.isfinite(values)].mean()))


def _scores_moved(pair: Pair) -> float | None:
    """The least of two Holm-adjusted p: the scores drift (swap test of the mean shift), or scatter (re-splits of the votes)."""
    scatter = score_exchange_p(pair.one.vote_scores, pair.other.vote_scores, pair.one.seed)
    if scatter is None:
        return None
    shift = pair.one.mean_scores - pair.other.mean_scores
    known = np.isfinite(shift)
    drift = swap_test(shift[known], pair.one.clusters_of(known), pair.one.seed)
    return min(p for p in holm([scatter, drift]) if p is not None)


def _together(pair: Pair) -> float | None:
    """The least of two Holm-adjusted p: the lean to the first shown changes, or the order's squared pull does."""
    if len(pair.one.orders) != 2 or len(pair.other.orders) != 2:
        return None
    found: list[float | None] = []
    leans = (lean_to_first,) if pair.one.suite.protocol == "pairwise" else ()
    for values in (*leans, pull_of_order):
        differences = values(pair.one) - values(pair.other)
        known = np.isfinite(differences)
        if known.any():
            found.append(swap_test(differences[known], pair.one.clusters_of(known), pair.one.seed))
    return min((p for p in holm(found) if p is not None), default=None)
