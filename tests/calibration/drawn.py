"""Views of simulated votes, so that the catalogue's own metrics can be run thousands of times.

A view is made of arrays instead of calls: what it would have counted from its results is handed to it. Its suite, ideas, labels and
everything that is computed from them are the product's.
"""

from __future__ import annotations

import copy
import sys
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # runs from a checkout, without installation

from pytest_novelty.judges.base import Traits
from pytest_novelty.metrics.deferred import Computed, Pending
from pytest_novelty.metrics.exchange import outcome_codes
from pytest_novelty.metrics.resampling import BoolArray, FloatArray, IntArray, Interval, Resampler, bca_all
from pytest_novelty.metrics.view import LABEL_NAMES, Estimate, View
from pytest_novelty.model import NOT_NOVEL, NOVEL, Axes, Idea, Instance, Suite, Variant, Vote
from pytest_novelty.outcomes import CaseResult, make_outcome

VOTES = 3  # per order, as the k = 3 x 2 of the papers
TEN = Traits(score_range=(0.0, 10.0))
_NONE = -1


@cache
def _template(protocol: str, n: int, scores: bool, clustered: bool) -> View:
    """A view of n instances, the gold of each its first label; sides ``ours`` and ``base`` (of single ideas in turn)."""
    names = ("x", "y") if protocol == "pairwise" else (NOVEL, NOT_NOVEL)
    orders: tuple[str | None, ...] = ("ab", "ba") if protocol == "pairwise" else (None,)
    instances = []
    for k in range(n):
        ideas = (Idea("x", f"a{k}", f"a{k}", system="ours"), Idea("y", f"b{k}", f"b{k}", system="base"))
        shown = ideas if protocol == "pairwise" else (ideas[k % 2],)
        instances.append(Instance(f"i{k:04}", shown, names[0], strata={"group": f"{k:04}"}))
    variants = {"reference": Variant("reference", Axes(prompt="reference", votes=VOTES))}
    cluster = "group" if clustered else None
    suite = Suite(
        "drawn", "1", protocol, "construction", tuple(instances), variants, "0", Path("drawn"), cluster=cluster
    )
    votes = [
        Vote(order, k, score=5.0) if scores else Vote(order, k, label=names[0])
        for order in orders
        for k in range(VOTES)
    ]
    traits = TEN if scores else Traits()
    results = [
        CaseResult("judge", "drawn", "reference", instance.id, make_outcome(suite, instance, votes, orders, traits))
        for instance in instances
    ]
    return View(results, suite, traits)


def _view(template: View, resampler: Resampler | None, **known: object) -> View:
    view = copy.copy(template)
    view.__dict__.update(known)
    view._resamplers = {} if resampler is None else {resampler.n_units: resampler}
    return view


def view_of_votes(
    tallies: IntArray,
    resampler: Resampler | None = None,
    *,
    gold: BoolArray | None = None,
    clusters: IntArray | None = None,
) -> View:
    """A judge with labels. ``tallies``: (n, orders, 5) as ``View.tallies``, two orders of pairs or one of ideas. ``gold``: (n,) the
    gold label is the first (all, by default).
    """
    protocol = "pairwise" if tallies.shape[1] == 2 else "pointwise"
    template = _template(protocol, len(tallies), False, clusters is not None)
    names = ("x", "y", *LABEL_NAMES["pairwise"][2:]) if protocol == "pairwise" else LABEL_NAMES["pointwise"]
    codes = outcome_codes(tallies)
    first = np.ones(len(tallies), dtype=bool) if gold is None else gold
    correct = codes == np.where(first, 0, 1)
    known: dict[str, object] = {
        "tallies": tallies,
        "label_codes": codes,
        "outcome_labels": [names[code] for code in codes],
        "outcome_results": np.where(correct, "correct", np.where(codes < 2, "wrong", np.array(names)[codes])),
        "any_failed_vote": tallies[:, :, 4].any(axis=1),
        "vote_scores": [[] for _ in codes],
        "mean_scores": np.full(len(codes), np.nan),
        "clusters": clusters,
    }
    if gold is not None:
        pairs = zip(template.instances, gold, strict=True)
        known["instances"] = tuple(one if is_first else replace(one, gold=names[1]) for one, is_first in pairs)
    return _view(template, resampler, **known)


def view_of_scores(
    scores: FloatArray, resampler: Resampler | None = None, *, gold: BoolArray | None = None, clusters: IntArray | None = None
) -> View:  # fmt: skip
    """A judge that scores single ideas from 0 to 10. ``scores``: (n, votes)."""
    template = _template("pointwise", len(scores), True, clusters is not None)
    known: dict[str, object] = {
        "tallies": np.zeros((len(scores), 1, 5), dtype=np.int64),
        "label_codes": np.full(len(scores), _NONE),
        "outcome_labels": [None] * len(scores),
        "vote_scores": scores.tolist(),
        "mean_scores": scores.mean(axis=1),
        "clusters": clusters,
    }
    if gold is not None:
        pairs = zip(template.instances, gold, strict=True)
        known["instances"] = tuple(one if is_first else replace(one, gold=NOT_NOVEL) for one, is_first in pairs)
    return _view(template, resampler, **known)


def as_interval(estimate: Estimate) -> Interval | None:
    if estimate.low is None or estimate.high is None:
        return None
    return Interval(estimate.low, estimate.high, estimate.method)


def intervals(computed: list[Computed]) -> list[tuple[Interval | None, Interval | None]]:
    """The interval of every estimate, and what plain BCa says of the same statistic (None where there was none to take)."""
    waiting = [item for item in computed if isinstance(item, Pending)]
    cores = iter(bca_all([item.stat for item in waiting], waiting[0].resampler) if waiting else [])
    found = []
    for item in computed:
        core = next(cores) if isinstance(item, Pending) else None
        found.append((as_interval(item.finish(core) if isinstance(item, Pending) else item), core))
    return found
