"""What changed between two runs on the same instances: every metric, paired, and the verdicts (STATISTICS.md 1 and 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from pytest_novelty.metrics import variants
from pytest_novelty.metrics.catalogue import CATALOGUE, Metric, metrics_for
from pytest_novelty.metrics.causes import find_move
from pytest_novelty.metrics.deferred import Computed, settle
from pytest_novelty.metrics.differences import CHANGES, STAR, difference
from pytest_novelty.metrics.grounded import hears_auditor
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.regrouping import find_regrouping, pairs_shift
from pytest_novelty.metrics.score_pairs import score_shift
from pytest_novelty.metrics.view import Estimate, View
from pytest_novelty.protocols import has_two_labels

_NOT_PAIRED = ("cost_usd", "score_levels", "cyclic_triads", "reliability", "kappa")
"""Counted, or no mean over instances: their values stand side by side, without a difference."""


@dataclass(frozen=True)
class MetricChange:
    """``metric`` then and now, and their paired ``difference`` (now less then), on the instances of both runs.

    ``p``: exact swap test; None where there is no paired difference. ``moves``: something differs in some instance.
    ``p_holm``: adjusted over everything that a comparison tests.
    """

    metric: str
    old: Estimate
    new: Estimate
    difference: Estimate
    p: float | None = None
    moves: bool = False
    p_holm: float | None = None

    @property
    def starred(self) -> bool:
        return self.p_holm is not None and self.p_holm <= STAR

    @property
    def worse(self) -> bool:
        """It changed in the bad direction, by more than chance."""
        return self.starred and self._direction < 0

    @property
    def better(self) -> bool:
        return self.starred and self._direction > 0

    @property
    def _direction(self) -> int:
        wanted = {"high": 1, "low": -1}.get(CATALOGUE[self.metric].better, 0)
        return wanted * int(np.sign(self.difference.value or 0.0))


@dataclass(frozen=True)
class Turned:
    """How the verdicts of two runs differ: as ``flip_rate``, ``null_flip_rate`` and ``vote_shift`` of now against then;
    of groupings the shift is of pairs of papers (``pairs_shift``).

    ``score_shift``: of judges that score. ``p``: exchange test of the votes or (``by_scores``) the test of the scores;
    ``p_holm``: adjusted over the judges, suites and variants of a comparison.
    ``transitions``: outcomes then (outer) that became outcomes now (inner).
    """

    flip_rate: Estimate
    null_flip_rate: Estimate
    vote_shift: Estimate
    score_shift: Estimate
    transitions: Mapping[str, Mapping[str, int]]
    by_scores: bool = False
    p: float | None = None
    p_holm: float | None = None

    @property
    def starred(self) -> bool:
        return self.p_holm is not None and self.p_holm <= STAR


def metric_changes(
    pair: Pair,
    old: Mapping[str, Estimate] | None = None,
    new: Mapping[str, Estimate] | None = None,
    *,
    audited_otherwise: str = "",
) -> list[MetricChange]:
    """The change of every metric that is defined on either side, not yet adjusted; ``pair.one`` is now, ``pair.other`` then.

    ``old``, ``new``: the estimates that the runs reported, if both rest on the instances of the pair. ``audited_otherwise``: how
    the auditors of the two differ, if they do; what hears them is then no figure of the judge, and has no difference.
    """
    metrics = [metric for metric in metrics_for(pair.one.suite) if metric.name != "cost_usd"]
    then, now = _estimates(metrics, pair.other, old), _estimates(metrics, pair.one, new)
    kept = [metric for metric in metrics if then[metric.name].value is not None or now[metric.name].value is not None]
    later = [_paired(metric, pair, audited_otherwise) for metric in kept]
    settled = settle([computed for computed, _ in later])
    return [
        MetricChange(
            metric.name,
            then[metric.name],
            now[metric.name],
            estimate,
            p,
            p is not None and _moves(metric, pair, estimate),
        )
        for metric, (_, p), estimate in zip(kept, later, settled, strict=True)
    ]


def _estimates(metrics: Sequence[Metric], view: View, known: Mapping[str, Estimate] | None) -> dict[str, Estimate]:
    if known is not None:
        return {metric.name: known.get(metric.name, Estimate.undefined("not measured")) for metric in metrics}
    computed = settle([metric.later(view) for metric in metrics])
    return {metric.name: estimate for metric, estimate in zip(metrics, computed, strict=True)}


def _moves(metric: Metric, pair: Pair, difference: Estimate) -> bool:
    """Something differs in some instance."""
    if metric.name == "auroc":
        return not np.array_equal(pair.one.mean_scores, pair.other.mean_scores, equal_nan=True)
    return not difference.note.startswith("no difference")


def _paired(metric: Metric, pair: Pair, audited_otherwise: str) -> tuple[Computed, float | None]:
    if audited_otherwise and hears_auditor(metric.name):
        return Estimate.undefined(audited_otherwise), None
    if metric.name in _NOT_PAIRED and metric.name not in CHANGES[pair.one.suite.protocol]:
        return Estimate.undefined("no mean over instances, so no paired difference"), None
    return difference(metric.name, pair, {}, {})


def turned_verdicts(pair: Pair) -> Turned:
    """What became of the verdicts, not yet adjusted."""
    two = has_two_labels(pair.one.suite.protocol)
    flips, nulls, shift, scores = settle(
        [
            variants.flip_rate(pair),
            variants.null_flip_rate.later(pair),
            variants.vote_shift.later(pair) if two else pairs_shift.later(pair),
            score_shift.later(pair),
        ]
    )
    move = find_move(pair, scores=pair.one_scale or _undeclared(pair)) if two else find_regrouping(pair)
    return Turned(flips, nulls, shift, scores, variants.transitions(pair), move.by_scores, move.moved)


def _undeclared(pair: Pair) -> bool:
    """A judge that declares no scale is compared with itself on the one it uses."""
    return pair.one.traits.score_range is None and pair.other.traits.score_range is None
