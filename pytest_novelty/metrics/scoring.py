"""Judges that score: how reliable the mean score is, and whether the scale is used at all."""

from __future__ import annotations

from collections import Counter

import numpy as np

from pytest_novelty.metrics.deferred import Computed, Pending, deferrable
from pytest_novelty.metrics.estimating import quantity
from pytest_novelty.metrics.resampling import FloatArray, Interval, Statistic, evaluate, unit_rows
from pytest_novelty.metrics.view import Estimate, View

NO_SCORES_NOTE = "the judge gives no scores"


@deferrable
def reliability(view: View) -> Computed:
    """ICC(1, k) of the mean score: (MSB - MSW) / MSB. The note says how many votes would reach 0.8."""
    scores = view.vote_scores
    votes = max((len(row) for row in scores), default=0)
    if votes == 0:
        return Estimate.undefined(NO_SCORES_NOTE)
    if votes < 2:
        return Estimate.undefined("needs two votes of a request")
    kept = np.array([len(row) == votes for row in scores], dtype=bool)
    values = np.array([row for row in scores if len(row) == votes], dtype=np.float64)
    if len(values) < 3:
        return Estimate.undefined("needs three instances with all their scores", len(values))
    if 2 * len(values) < len(scores):  # what the others would show, nobody knows
        return Estimate.undefined(f"only {len(values)} of {len(scores)} instances have all their scores", len(values))
    means = values.mean(axis=1)
    within = np.square(values - means[:, None]).sum(axis=1)
    centred = means - means.mean()  # large means would lose digits in the sum of squares
    rows = np.column_stack([np.ones(len(values)), centred, centred**2, within])

    def icc(sums: FloatArray) -> FloatArray:
        n, total, squares, inside = (sums[..., k] for k in range(4))
        with np.errstate(divide="ignore", invalid="ignore"):
            between = votes * (squares - total**2 / n) / (n - 1)
            return np.where(between > 1e-12, 1.0 - inside / (n * (votes - 1)) / between, np.nan)

    stat = Statistic(rows, icc, view.clusters_of(kept))
    value = float(evaluate(stat, rows.sum(axis=0)))
    if not np.isfinite(value):
        return Estimate.undefined("all instances have the same score", len(values))
    left_out = len(scores) - len(values)
    note = _votes_to_reach(value, votes) + (f"; {left_out} without all their scores left out" if left_out else "")

    def finish(core: Interval | None) -> Estimate:
        if core is None:
            return Estimate(value, None, None, len(values), "", note)
        return Estimate(value, core.low, min(1.0, core.high), len(values), core.method, note)

    return Pending(stat, view.resampler(len(unit_rows(stat))), view.level, finish)


def _votes_to_reach(value: float, votes: int, target: float = 0.8) -> str:
    """Spearman-Brown: the k at which the mean of k votes would have the target reliability."""
    if value >= target:
        return f"the mean of {votes} votes"
    if value <= 0:
        return f"the mean of {votes} votes; no number of votes would reach {target:g}"
    single = value / (votes - (votes - 1) * value)
    needed = int(np.ceil(target * (1 - single) / (single * (1 - target))))
    return f"the mean of {votes} votes; {needed} would reach {target:g}"


def score_levels(view: View) -> Estimate:
    """How many different scores the judge gave; the note has the most frequent one's share."""
    counts = Counter(score for row in view.vote_scores for score in row)
    if not counts:
        return Estimate.undefined(NO_SCORES_NOTE)
    (mode, times), total = counts.most_common(1)[0], counts.total()
    share = f"{times / total:.0%}" if times / total >= 0.005 else "<1%"
    return quantity(float(len(counts)), len(view), f"{mode:g} is {share} of {total} scores")
