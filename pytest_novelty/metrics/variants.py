"""What changes when a variant (or another judge) takes the reference's place: flips, beyond noise or not (STATISTICS.md 1).

Every function takes a :class:`~pytest_novelty.metrics.pairing.Pair`. Rates are shares of instances in [0, 1]; a vote shift is a
difference of probabilities in [0, 1]; what cannot be told is undefined, with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from pytest_novelty.metrics.deferred import Computed, deferrable, then
from pytest_novelty.metrics.estimating import excess_mean, mean_in_unit, root, share
from pytest_novelty.metrics.exchange import Null, noise_flips, noise_flips_of_scores, null_of_excess
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.resampling import FloatArray
from pytest_novelty.metrics.view import LABEL_NAMES, Estimate
from pytest_novelty.protocols import has_two_labels

NO_LABELS_NOTE = "needs a label from both sides"
NO_VOTES_NOTE = "one side has no vote for a label"
SCORES_NOTE = "it votes with scores: score_rms_shift says how far they move"
TOO_FEW_VOTES_NOTE = "needs two valid votes of a request on both sides"


def flip_rate(pair: Pair) -> Estimate:
    """Share of instances whose outcome has another label; invalid and incomplete are labels of their own."""
    if pair.unlabelled_sides:
        return Estimate.undefined(NO_LABELS_NOTE)
    return share(pair.one, pair.flipped, np.ones(len(pair), dtype=bool))


def reversal_rate(pair: Pair) -> Estimate:
    """Share of all instances whose outcome goes from one decided label to the other."""
    if pair.unlabelled_sides:
        return Estimate.undefined(NO_LABELS_NOTE)
    return share(pair.one, pair.reversed, np.ones(len(pair), dtype=bool))


@deferrable
def null_flip_rate(pair: Pair) -> Computed:
    """The flip rate that the judge's own noise would show if the variant did nothing: over all re-splits of the votes."""
    if pair.unlabelled_sides:
        return Estimate.undefined(NO_LABELS_NOTE)
    if why := pair.why_no_votes:
        return Estimate.undefined(why)
    return mean_in_unit(pair.one, *_noise_flips(pair))


def _noise_flips(pair: Pair) -> tuple[FloatArray, str]:
    """The chance of each instance, or nan and why there is none."""
    one, other = pair.one, pair.other
    none = np.full(len(pair), np.nan)
    by_scores = [bool(view.vote_scores and any(view.vote_scores)) and not view.counts.any() for view in (one, other)]
    if not any(by_scores):
        return noise_flips(one.tallies, other.tallies, one.seed), ""
    if one.cross_fitted or other.cross_fitted:
        return none, "labels come from thresholds chosen by cross-validation"
    if not all(by_scores) or one.threshold is None or one.threshold != other.threshold:
        return none, "the two are labelled in different ways"
    sign = 1.0 if one.traits.higher_is == "novel" else -1.0
    first, second = ([[sign * score for score in row] for row in view.vote_scores] for view in (one, other))
    return noise_flips_of_scores(first, second, sign * one.threshold, one.seed), ""


@deferrable
def excess_flip(pair: Pair) -> Computed:
    """How much more the two sides' votes differ than each side's own, within each order: the mean squared shift of a vote's
    probability. 0 in expectation where the variant does nothing, whatever the noise.
    """
    if why := pair.why_no_votes:
        return Estimate.undefined(why)
    known = np.isfinite(pair.excess)
    if not known.any():
        if pair.one.counts.any() or not any(pair.one.vote_scores):
            return Estimate.undefined(TOO_FEW_VOTES_NOTE if pair.one.counts.any() else NO_VOTES_NOTE)
        return Estimate.undefined(SCORES_NOTE)
    left_out = int((~known).sum())
    note = f"{left_out} instances with fewer than two valid votes of a request left out" if left_out else ""
    computed = excess_mean(pair.one, pair.excess, note)
    asked = np.isfinite(pair.silenced)
    silenced = float(pair.silenced[asked].mean()) if asked.any() else 0.0
    return then(computed, lambda found: _with_silenced(found, silenced)) if silenced else computed


def _with_silenced(estimate: Estimate, silenced: float) -> Estimate:
    """What only the variant leaves without votes may have been shifted by anything: the upper bound counts that share so."""
    if estimate.high is None:
        return estimate
    high = estimate.high * (1 - silenced) + silenced
    note = f"{silenced:.0%} of the requests lose their votes, and count as anything"
    return replace(estimate, high=high, note="; ".join(filter(None, [estimate.note, note])), is_open=True)


@deferrable
def vote_shift(pair: Pair) -> Computed:
    """The root of the excess flip: by how much the variant moves a vote's probability (root mean square)."""
    return then(excess_flip.later(pair), root)


def null_of(pair: Pair) -> Null | None:
    """The exchange distribution of the pair's excess flip; None where the excess is undefined."""
    return None if pair.why_no_votes else null_of_excess(pair.one.counts, pair.other.counts, pair.one.seed)


def transitions(pair: Pair) -> Mapping[str, Mapping[str, int]]:
    """Outcomes of the reference (outer) that became outcomes of the variant (inner): counts of instances.

    The labels are novel / tie / not novel, or first / tie / second (idea of the suite, however shown), with incomplete,
    abstained and invalid where they occur. Empty where a side has no labels, and where labels are too many for a table.
    """
    if pair.unlabelled_sides or not has_two_labels(pair.one.suite.protocol):
        return {}
    names = LABEL_NAMES[pair.one.suite.protocol]
    order = (names[0], names[2], names[1], *names[3:])
    present = {names[code] for view in (pair.one, pair.other) for code in view.label_codes if code >= 0}
    kept = [name for name in order if name in present or name in order[:3]]
    table = {before: dict.fromkeys(kept, 0) for before in kept}
    for before, after in zip(pair.other.label_codes, pair.one.label_codes, strict=True):
        if before >= 0 and after >= 0:
            table[names[before]][names[after]] += 1
    return table
