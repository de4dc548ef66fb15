"""Right or wrong: accuracies, F1s, ties, abstentions, answers that are none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Final

import numpy as np

from pytest_novelty.metrics import threshold
from pytest_novelty.metrics.auroc import auroc, auroc_interval
from pytest_novelty.metrics.deferred import Computed, deferrable, then
from pytest_novelty.metrics.estimating import mean_in_unit, ratio_in_unit, share
from pytest_novelty.metrics.resampling import FloatArray
from pytest_novelty.metrics.view import Estimate, View
from pytest_novelty.model import ABSTAINED, NOVEL, OK, TIE
from pytest_novelty.protocols import PROTOCOLS

UNLABELLED_NOTE = "the suite has no gold labels"
LOOKED_UP_NOTE = (
    "not evaluable: the judge may have looked up the answer (it retrieves, does not honour as_of, and shows no trace)"
)
SCORES_ONLY_NOTE = "the judge gives scores and no threshold (declare one, or --novelty-threshold)"


def _no_labels(view: View) -> str:
    """Why metrics that need gold and labels are undefined; empty if they are not."""
    if view.unlabelled:
        return UNLABELLED_NOTE
    if view.may_have_looked_up:
        return LOOKED_UP_NOTE
    return SCORES_ONLY_NOTE if view.scores_only else ""


def support(view: View) -> str:
    """How many of the labelled outcomes are no plain label; empty if all are."""
    kept = Counter(str(result) for result in view.outcome_results[view.labelled])
    parts = [f"{kept[name]} {name}" for name in (TIE, ABSTAINED, "incomplete", "invalid") if kept[name]]
    return ", ".join(parts)


def accuracy(view: View) -> Estimate:
    """Share of labelled instances whose outcome is the gold label; ties, incomplete and invalid earn nothing."""
    if why := _no_labels(view):
        return Estimate.undefined(why)
    is_auditor = view.suite.protocol == "entailment"  # has its validation's interval, as published (STATISTICS.md 2)
    found = share(view, view.correct, view.labelled, support(view), by_wilson=is_auditor)
    return _refitted(view, found, threshold.accuracy)


@deferrable
def soft_accuracy(view: View) -> Computed:
    """Like accuracy, a tie earns a half."""
    if why := _no_labels(view):
        return Estimate.undefined(why)
    values = np.where(view.correct, 1.0, np.where(view.earns_half, 0.5, 0.0))
    return mean_in_unit(view, np.where(view.labelled, values, np.nan), support(view))


def confusion(view: View) -> FloatArray:
    """(n, 6): tp, fp, fn of the protocol's first label (such as novel), then of its second. A tie or a failure misses its gold
    class and accuses no other.
    """
    labels = PROTOCOLS[view.suite.protocol].labels
    assert labels is not None, view.suite.protocol
    rows = np.zeros((len(view), 6))
    for index, (label, instance) in enumerate(zip(view.outcome_labels, view.instances, strict=True)):
        for offset, positive in zip((0, 3), labels, strict=True):
            is_gold, is_said = instance.gold == positive, label == positive
            rows[index, offset] = is_gold and is_said
            rows[index, offset + 1] = is_said and not is_gold
            rows[index, offset + 2] = is_gold and not is_said
    return rows


def _f1(sums: FloatArray, offset: int) -> FloatArray:
    hits, extra, missed = (sums[..., offset + k] for k in range(3))
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(2 * hits / (2 * hits + extra + missed))


def mean_of_f1s(sums: FloatArray) -> FloatArray:
    """Macro-F1 of summed ``confusion`` rows."""
    return np.asarray((_f1(sums, 0) + _f1(sums, 3)) / 2)


def _precision(sums: FloatArray) -> FloatArray:
    return _part(sums[..., 0], sums[..., 1])


def _recall(sums: FloatArray) -> FloatArray:
    return _part(sums[..., 0], sums[..., 2])


def _part(hits: FloatArray, others: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(hits / (hits + others))


F1S: Final[dict[str, Callable[[FloatArray], FloatArray]]] = {
    "macro_f1": mean_of_f1s,
    "f1_novel": lambda sums: _f1(sums, 0),
    "f1_not_novel": lambda sums: _f1(sums, 3),
    "f1": lambda sums: _f1(sums, 0),
    "precision": _precision,
    "recall": _recall,
}
"""Each F1, and what F1s are made of, as a function of summed ``confusion`` rows."""


def _f1_of(view: View, offset: int) -> Computed:
    if why := _no_labels(view):
        return Estimate.undefined(why)
    rows = confusion(view)
    involved = int((rows[view.labelled, offset : offset + 3].sum(axis=1) > 0).sum())
    estimate = ratio_in_unit(view, rows, lambda sums: _f1(sums, offset), view.labelled, max(1, involved), support(view))
    metric = threshold.f1 if offset == 0 else threshold.f1_of_other
    return then(estimate, lambda settled: _refitted(view, settled, metric))


@deferrable
def f1_novel(view: View) -> Computed:
    return _f1_of(view, 0)


@deferrable
def f1_not_novel(view: View) -> Computed:
    return _f1_of(view, 3)


@deferrable
def f1(view: View) -> Computed:
    """F1 of the protocol's first label."""
    return _f1_of(view, 0)


@deferrable
def precision(view: View) -> Computed:
    """Of the instances that were given the protocol's first label, the share whose gold label it is."""
    return _part_of(view, _precision, (0, 1))


@deferrable
def recall(view: View) -> Computed:
    """Of the instances whose gold label is the protocol's first, the share that were given it: the accuracy on positives."""
    return _part_of(view, _recall, (0, 2))


def _part_of(view: View, of_sums: Callable[[FloatArray], FloatArray], columns: tuple[int, int]) -> Computed:
    if why := _no_labels(view):
        return Estimate.undefined(why)
    rows = confusion(view)
    among = view.labelled & (rows[:, list(columns)].sum(axis=1) > 0)
    return ratio_in_unit(
        view, rows, of_sums, among, max(1, int(among.sum())), support(view) if among.any() else "0 of 0", is_share=True
    )


@deferrable
def macro_f1(view: View) -> Computed:
    """The mean of the two class F1s."""
    if why := _no_labels(view):
        return Estimate.undefined(why)
    rows = confusion(view)
    estimate = ratio_in_unit(
        view,
        rows,
        mean_of_f1s,
        view.labelled,
        max(1, int(view.labelled.sum())),
        support(view),
    )
    return then(estimate, lambda settled: _refitted(view, settled, threshold.macro_f1))


def _refitted(view: View, estimate: Estimate, metric: threshold.Metric) -> Estimate:
    """Where labels come from cross-validated thresholds, let the interval know that they were chosen."""
    usable = view.labelled & np.isfinite(view.mean_scores)
    if not view.cross_fitted or not usable.any() or not _from_scores(view):
        return estimate
    gold = np.array([instance.gold == NOVEL for instance in view.instances], dtype=bool)[usable]
    return threshold.widen(
        estimate, metric, view.mean_scores[usable], gold, view.cluster_or_own[usable], view.seed, view.level
    )


def _from_scores(view: View) -> bool:
    """No vote names a label: the outcomes' labels come from the scores."""
    return not view.counts.any()


def auroc_of_scores(view: View) -> Estimate:
    """Chance that a novel idea outscores one that is not; ties half."""
    if view.unlabelled:
        return Estimate.undefined(UNLABELLED_NOTE)
    if view.may_have_looked_up:
        return Estimate.undefined(LOOKED_UP_NOTE)
    gold = np.array([instance.gold is not None for instance in view.instances], dtype=bool)
    kept = gold & np.isfinite(view.mean_scores)
    if not kept.any():
        return Estimate.undefined("the judge gives no scores")
    positive = np.array([instance.gold == NOVEL for instance in view.instances], dtype=bool)[kept]
    scores = view.mean_scores[kept]
    value = auroc(scores, positive)
    if not np.isfinite(value):
        return Estimate.undefined("needs instances of both labels", int(kept.sum()))
    left_out = int(gold.sum() - kept.sum())
    note = f"{left_out} without a score left out" if left_out else ""
    clusters = view.clusters_of(kept)
    units = len(scores) if clusters is None else len(np.unique(clusters))
    interval = auroc_interval(scores, positive, clusters, resampler=view.resampler(units), level=view.level)
    if interval is None:
        return Estimate(value, None, None, int(kept.sum()), "", note)
    return Estimate(value, interval.low, interval.high, int(kept.sum()), interval.method, note)


def tie_rate(view: View) -> Estimate:
    """Share of instances whose outcome is a tie; the note tells the kinds apart."""
    if view.scores_only:
        return Estimate.undefined(SCORES_ONLY_NOTE)
    tied = view.tied
    kinds = Counter(kind for kind, is_tie in zip(tie_kinds(view), tied, strict=True) if is_tie)
    note = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    return share(view, tied, np.ones(len(view), dtype=bool), note)


def declared_tie_rate(view: View) -> Estimate:
    """Share of instances that tie because most votes say so."""
    if not view.traits.may_tie:
        return Estimate.undefined("the judge does not declare ties")
    tied = view.tied
    declared = np.array([kind == "declared" for kind in tie_kinds(view)], dtype=bool)
    return share(view, tied & declared, np.ones(len(view), dtype=bool))


def tie_kinds(view: View) -> list[str]:
    """What kind of tie each instance would be: declared (most votes), position (k:0 against 0:k), else split."""
    kinds = []
    for counts in view.counts:
        votes = counts.sum()
        if votes and 2 * counts[:, 2].sum() > votes:
            kinds.append("declared")
        elif len(counts) == 2 and counts[:, :2].sum() and _opposed(counts):
            kinds.append("position")
        else:
            kinds.append("split")
    return kinds


def _opposed(counts: FloatArray) -> bool:
    """Each order is unanimous, and they name different ideas: the judge follows the position."""
    (a, b, t), (c, d, u) = counts
    return bool(not t and not u and ((a and not b and d and not c) or (b and not a and c and not d)))


def abstention_rate(view: View) -> Estimate:
    """Share of instances whose outcome is an abstention: every vote abstained."""
    if not view.traits.may_abstain:
        return Estimate.undefined("the judge does not declare abstention")
    votes = [vote for result in view.results for vote in result.outcome.votes]
    note = f"{sum(vote.abstained for vote in votes)} of {len(votes)} votes" if any(v.abstained for v in votes) else ""
    abstained = np.array([label == ABSTAINED for label in view.outcome_labels], dtype=bool)
    return share(view, abstained, np.ones(len(view), dtype=bool), note)


def invalid_rate(view: View) -> Estimate:
    """Share of instances with at least one call that gave no valid verdict; the note counts calls by kind."""
    kinds: Counter[str] = Counter()
    for result in view.results:
        kinds.update(result.kinds)
    calls = sum(len(result.outcome.votes) for result in view.results)
    failed = sum(vote.status != OK for result in view.results for vote in result.outcome.votes)
    listed = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    note = f"{failed} of {calls} calls: {listed}" if failed else ""
    return share(view, view.any_failed_vote, np.ones(len(view), dtype=bool), note)
