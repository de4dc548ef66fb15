"""The votes of one judge on one suite under one variant, as arrays; what every metric is computed from."""

from __future__ import annotations

import copy
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from pytest_novelty.digests import digest
from pytest_novelty.judges.base import Traits
from pytest_novelty.metrics.resampling import BoolArray, FloatArray, IntArray, Resampler
from pytest_novelty.model import (
    ABSTAINED,
    CORRECT,
    INCOMPLETE,
    INVALID,
    NOT_NOVEL,
    NOVEL,
    OK,
    TIE,
    Instance,
    Json,
    Suite,
)
from pytest_novelty.outcomes import CaseResult
from pytest_novelty.protocols import PROTOCOLS, has_two_labels
from pytest_novelty.protocols.base import result_of

FAILURES = (INVALID, INCOMPLETE)
_OTHER_LABELS = (TIE, INCOMPLETE, ABSTAINED, INVALID)
LABEL_NAMES = {
    name: (*(protocol.labels or ("first", "second")), *_OTHER_LABELS)
    for name, protocol in PROTOCOLS.items()
    if has_two_labels(name)
}
"""What an outcome may be, by protocol; the first and second idea are those of the suite, however shown."""


@dataclass(frozen=True)
class Estimate:
    """A metric's value with its 95 % interval; all None where it is undefined, and ``note`` says why.

    ``n``: the instances it rests on. ``sd``: standard deviation of the per-instance values, where the metric is a mean (of
    their squares' mean, where it is the root of one). ``is_open``: a side of the interval stands for what could not be
    estimated, and more instances would not close it. ``bounds``: what the value would be if everything that was not checked
    turned out the one way or the other; None where all was. ``values``: what the metric is the mean (or the root of the mean)
    of, (instances of the view,), nan where an instance has none; None where it is no mean. ``unaudited``: how many
    statements wait for an auditor; ``textless``: those of them whose text was not kept, so that none can be asked.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    method: str = ""
    note: str = ""
    sd: float | None = None
    values: FloatArray | None = field(default=None, repr=False, compare=False)
    is_open: bool = False
    bounds: tuple[float, float] | None = None
    unaudited: int = 0
    textless: int = 0

    @classmethod
    def undefined(cls, note: str, n: int = 0) -> Estimate:
        return cls(None, None, None, n, "", note)

    def to_dict(self) -> dict[str, Json]:
        """As every section of a report has it."""
        return {name: getattr(self, name) for name in ("value", "low", "high", "n", "method", "note")}


class View:
    """Results of the same (judge, suite, variant), sorted by instance id.

    Parameters
    ----------
    results: one per instance, in any order.
    suite, traits: what was judged and what the judge declares.
    failures: ``wrong``, ``drop`` or ``tie``: what an outcome without a valid label counts as.
    cross_fitted: labels come from scores by thresholds chosen on other folds.
    resamplers: shared cache, so that all metrics of a suite see the same resamples.
    level: of the intervals; above .95 where a run looks several times, or for the largest of several variants.
    threshold: the mean score from which an outcome is novel, if not the judge's own.
    """

    def __init__(
        self,
        results: Sequence[CaseResult],
        suite: Suite,
        traits: Traits,
        *,
        failures: str = "wrong",
        seed: int = 0,
        cross_fitted: bool = False,
        resamplers: dict[int, Resampler] | None = None,
        level: float = 0.95,
        threshold: float | None = None,
    ) -> None:
        self.suite = suite
        self.traits = traits
        self.failures = failures
        self.seed = seed
        self.cross_fitted = cross_fitted
        self.level = level
        self.threshold = traits.threshold if threshold is None else threshold
        self._resamplers = {} if resamplers is None else resamplers
        self.memo: dict[str, Any] = {}
        """What metrics keep of it; shared with the same votes at another level."""
        self.results = tuple(sorted(results, key=lambda result: result.instance))
        by_id = {instance.id: instance for instance in suite.instances}
        self.instances: tuple[Instance, ...] = tuple(by_id[result.instance] for result in self.results)

    def __len__(self) -> int:
        return len(self.results)

    def only(self, stratum: str, value: str) -> View:
        """The instances of one stratum."""
        return self.restricted(
            {instance.id for instance in self.instances if instance.strata.get(stratum) == value},
        )

    def restricted(self, ids: Collection[str]) -> View:
        """The instances with these ids; the view itself where that is all of them."""
        kept = [result for result in self.results if result.instance in ids]
        if len(kept) == len(self):
            return self
        return View(
            kept,
            self.suite,
            self.traits,
            failures=self.failures,
            seed=self.seed,
            cross_fitted=self.cross_fitted,
            resamplers=self._resamplers,
            level=self.level,
            threshold=self.threshold,
        )

    def at_level(self, level: float) -> View:
        """The same votes with intervals of another level; what was computed of them is kept."""
        other = copy.copy(self)
        other.level = level
        return other

    def resampler(self, units: int) -> Resampler:
        if units not in self._resamplers:
            self._resamplers[units] = Resampler(units, seed=self.seed)
        return self._resamplers[units]

    # --- outcomes -------------------------------------------------------------------------------------------

    @cached_property
    def outcome_results(self) -> np.ndarray:
        """(n,) text: correct, wrong, tie, abstained, incomplete, invalid, unlabelled."""
        return np.array([result.outcome.result for result in self.results], dtype="U12")

    @cached_property
    def outcome_labels(self) -> list[str | None]:
        return [result.outcome.label for result in self.results]

    @cached_property
    def label_codes(self) -> IntArray:
        """(n,) the place of each outcome's label in LABEL_NAMES of its protocol; -1 where the judge only scores. Where
        labels are not two, the same code for the same label, above all of these.
        """
        protocol = PROTOCOLS[self.suite.protocol]
        if not has_two_labels(protocol.name):
            return np.array([_open_code(label) for label in self.outcome_labels], dtype=np.int64)
        codes = []
        for result, instance in zip(self.results, self.instances, strict=True):
            names = (*protocol.gold_labels([idea.id for idea in instance.ideas]), *_OTHER_LABELS)
            codes.append(-1 if result.outcome.label is None else names.index(result.outcome.label))
        return np.array(codes, dtype=np.int64)

    @cached_property
    def failed(self) -> BoolArray:
        """(n,) the outcome is invalid or incomplete."""
        return np.array([label in FAILURES for label in self.outcome_labels], dtype=bool)

    @cached_property
    def labelled(self) -> BoolArray:
        """(n,) instances that count for accuracy: they have a gold label, and are not dropped failures."""
        gold = np.array([instance.gold is not None for instance in self.instances], dtype=bool)
        return gold & ~self.failed if self.failures == "drop" else gold

    @cached_property
    def correct(self) -> BoolArray:
        return np.asarray(self.outcome_results == CORRECT)

    @cached_property
    def tied(self) -> BoolArray:
        """(n,) the outcome is a tie."""
        return np.array([label == TIE for label in self.outcome_labels], dtype=bool)

    @cached_property
    def earns_half(self) -> BoolArray:
        """(n,) what soft accuracy counts half: ties, and failures under the policy ``tie``."""
        return self.tied | self.failed if self.failures == "tie" else self.tied

    @cached_property
    def cluster_or_own(self) -> IntArray:
        """(n,) the cluster of each instance; its own number where the suite has no clusters."""
        return np.arange(len(self)) if self.clusters is None else self.clusters

    @cached_property
    def scores_only(self) -> bool:
        """The judge gave scores and not one label, and nothing turned its scores into labels."""
        if PROTOCOLS[self.suite.protocol].score_key is None:
            return False
        from_scores = any(label in (NOVEL, NOT_NOVEL) for label in self.outcome_labels)
        return bool(np.isfinite(self.mean_scores).any()) and not self.counts.any() and not from_scores

    # --- votes ----------------------------------------------------------------------------------------------

    @cached_property
    def orders(self) -> tuple[str | None, ...]:
        return tuple(dict.fromkeys(vote.order for result in self.results for vote in result.outcome.votes))

    @property
    def counts(self) -> IntArray:
        """(n, orders, 3): valid votes for the first label, for the second, declared ties.

        The labels are novel / not novel, or the instance's two ideas in the suite's own order (so in order ``ab`` the first
        label is also the first shown).
        """
        return self.tallies[:, :, :3]

    @cached_property
    def tallies(self) -> IntArray:
        """(n, orders, 5): the ``counts``, then abstentions and failed calls. A score alone is in none of them, nor is a vote for
        one of many labels.
        """
        tallies = np.zeros((len(self), max(1, len(self.orders)), 5), dtype=np.int64)
        protocol = PROTOCOLS[self.suite.protocol]
        two = has_two_labels(protocol.name)
        place = {order: index for index, order in enumerate(self.orders)}
        for row, (result, instance) in enumerate(zip(self.results, self.instances, strict=True)):
            columns = {
                label: index for index, label in enumerate(protocol.gold_labels([idea.id for idea in instance.ideas]))
            }
            columns[TIE] = 2
            for vote in result.outcome.votes:
                if vote.label is not None:
                    if two:
                        tallies[row, place[vote.order], columns[vote.label]] += 1
                elif vote.abstained or vote.status != OK:
                    tallies[row, place[vote.order], 3 if vote.abstained else 4] += 1
        return tallies

    @cached_property
    def label_counts(self) -> IntArray:
        """(n, orders, labels): valid votes for each label that some vote of the instance has. Of protocols with two labels these
        are the ``counts``; elsewhere (groupings) a column means another label in every instance.
        """
        if has_two_labels(self.suite.protocol):
            return self.counts
        place = {order: index for index, order in enumerate(self.orders)}
        columns: list[dict[str, int]] = []
        for result in self.results:
            labels = (vote.label for vote in result.outcome.votes if vote.label is not None)
            columns.append({label: column for column, label in enumerate(dict.fromkeys(labels))})
        counts = np.zeros((len(self), max(1, len(place)), max(map(len, columns), default=0)), dtype=np.int64)
        for row, result in enumerate(self.results):
            for vote in result.outcome.votes:
                if vote.label is not None:
                    counts[row, place[vote.order], columns[row][vote.label]] += 1
        return counts

    @cached_property
    def any_failed_vote(self) -> BoolArray:
        return np.array([any(vote.status != OK for vote in r.outcome.votes) for r in self.results], dtype=bool)

    @cached_property
    def vote_scores(self) -> list[list[float]]:
        return [[vote.score for vote in r.outcome.votes if vote.score is not None] for r in self.results]

    @cached_property
    def mean_scores(self) -> FloatArray:
        """(n,) mean score, higher is more novel whatever the judge's own direction; nan without a score."""
        sign = 1.0 if self.traits.higher_is == "novel" else -1.0
        return np.array(
            [np.nan if r.outcome.score is None else sign * r.outcome.score for r in self.results], dtype=np.float64
        )

    # --- clusters -------------------------------------------------------------------------------------------

    @cached_property
    def clusters(self) -> IntArray | None:
        """(n,) index of the cluster of each instance; None if the suite has none."""
        if self.suite.cluster is None:
            return None
        names = [instance.strata[self.suite.cluster] for instance in self.instances]
        return np.unique(names, return_inverse=True)[1].astype(np.int64)

    def clusters_of(self, mask: BoolArray) -> IntArray | None:
        return None if self.clusters is None else self.clusters[mask]

    @property
    def unlabelled(self) -> bool:
        return bool(len(self)) and all(instance.gold is None for instance in self.instances)

    @property
    def may_have_looked_up(self) -> bool:
        """A retrieving judge on dated instances that neither honours the date nor shows what it found."""
        if not self.traits.retrieves or self.traits.honours_as_of:
            return False
        dated = any(instance.as_of is not None for instance in self.instances)
        return dated and all(result.trace.leaked is None for result in self.results)


def _open_code(label: str | None) -> int:
    if label is None:
        return -1
    if label in _OTHER_LABELS:
        return 2 + _OTHER_LABELS.index(label)
    return len(_OTHER_LABELS) + 2 + int(digest(label, 6), 16)


def label_by_cross_validation(
    results: Sequence[CaseResult], suite: Suite, traits: Traits, seed: int
) -> list[CaseResult]:
    """Give outcomes that have a score and no label one, by a threshold chosen on the other folds. Needs gold labels."""
    from pytest_novelty.metrics.threshold import cross_fitted, fold_of

    view = View(results, suite, traits, seed=seed)
    usable = np.isfinite(view.mean_scores) & np.array([i.gold is not None for i in view.instances], dtype=bool)
    if not view.scores_only or not usable.any():
        return list(results)
    gold = np.array([instance.gold == NOVEL for instance in view.instances], dtype=bool)
    clusters = view.cluster_or_own
    said = np.zeros(len(view), dtype=bool)
    said[usable] = cross_fitted(view.mean_scores[usable], gold[usable], fold_of(clusters[usable], seed))
    labelled = []
    for result, novel, use in zip(view.results, said, usable, strict=True):
        use = use and result.outcome.label is None
        label = (NOVEL if novel else NOT_NOVEL) if use else result.outcome.label
        outcome = result.outcome._replace(label=label, result=result_of(label, result.outcome.gold))
        labelled.append(result._replace(outcome=outcome))
    return labelled
