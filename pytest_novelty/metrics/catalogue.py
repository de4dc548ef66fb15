"""The names of the metrics, which protocols have them, and what kind of quantity each is.

A :class:`Metric` is computed from one view: a judge on a suite under a variant. A :class:`PairMetric` compares two: a variant
with the reference, or two judges. A :class:`FamilyMetric` sums up a pair metric over all variants of a run.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from pytest_novelty.errors import UnknownNameError
from pytest_novelty.model import Suite

if TYPE_CHECKING:
    from pytest_novelty.metrics.deferred import Computed
    from pytest_novelty.metrics.pairing import Pair
    from pytest_novelty.metrics.view import Estimate, View

SHARE: Final = "share"
"""A share of instances: the n that can decide a gate on it is known beforehand."""
UNIT: Final = "unit"
SIGNED: Final = "signed"
ROOT: Final = "root"
"""The root of a signed mean: a difference of probabilities."""
SCORE: Final = "score"
"""In the unit of the judge's own scores."""
QUANTITY: Final = "quantity"
"""Counted, not estimated: a gate on it is always decided."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of the catalogue. ``function`` is ``module:name`` below this package, imported when first computed;
    ``module:name:metric`` is given the metric's name, too.

    ``better``: ``high`` or ``low``, or ``""`` where neither is. ``title``: what the terminal calls it. ``votes``: valid votes of
    a request that it takes. ``both_orders``: it takes pairs shown in both orders. ``is_mean``: a mean of values of single
    instances, so that it can be averaged over variants. ``is_excess``: what is beyond noise, a square in expectation.
    """

    name: str
    title: str
    kind: str
    protocols: tuple[str, ...]
    better: str
    function: str
    labelled: bool = False
    votes: int = 1
    both_orders: bool = False
    is_mean: bool = True
    is_excess: bool = False

    def load(self) -> Any:
        """The function that computes it."""
        return _load(self.function)


def _load(function: str) -> Any:
    module, name, *metric = function.split(":")
    found = getattr(import_module(f"pytest_novelty.metrics.{module}"), name)
    return partial(found, name=metric[0]) if metric else found


@dataclass(frozen=True, slots=True)
class Metric(Entry):
    """A metric of one view. ``cited`` and ``cited_title``: its function and its title for protocols whose positive verdicts cite
    evidence, where these are others: what the cascade begins with is per vote, as all of its steps are.
    """

    cited: str = ""
    cited_title: str = ""

    def title_for(self, protocol: str) -> str:
        """What the terminal calls it."""
        return self.cited_title if self.cited_title and protocol in _CITED else self.title

    def is_per_vote(self, protocol: str) -> bool:
        """It comes from the counts of the cascade: averaged over votes and orders, without a majority."""
        return self._function_for(protocol).startswith("grounded:")

    def _function_for(self, protocol: str) -> str:
        return self.cited if self.cited and protocol in _CITED else self.function

    def compute(self, view: View) -> Estimate:
        """The estimate for one view."""
        estimate: Estimate = _load(self._function_for(view.suite.protocol))(view)
        return estimate

    def later(self, view: View) -> Computed:
        """The same with its bootstrap still to come."""
        function = _load(self._function_for(view.suite.protocol))
        computed: Computed = getattr(function, "later", function)(view)
        return computed


@dataclass(frozen=True, slots=True)
class PairMetric(Entry):
    """A metric of two views of the same instances."""

    def compute(self, pair: Pair) -> Estimate:
        """The estimate for one pair."""
        estimate: Estimate = self.load()(pair)
        return estimate

    def later(self, pair: Pair) -> Computed:
        """The same with its bootstrap still to come."""
        function = self.load()
        computed: Computed = getattr(function, "later", function)(pair)
        return computed


@dataclass(frozen=True, slots=True)
class FamilyMetric(Entry):
    """``over`` (max or mean) of the pair metric ``of``, over the variants of a run. ``function`` is empty."""

    of: str = ""
    over: str = "max"


_VOTED: Final = ("pointwise", "pairwise", "similarity", "entailment")
"""Two labels to vote for."""
_LABELLED: Final = ("pointwise", "similarity", "entailment")
"""The same two labels for every instance."""
_ALL: Final = (*_VOTED, "grouping")
_POINT: Final = ("pointwise",)
_PAIR: Final = ("pairwise",)
_AUDITED: Final = ("similarity", "entailment")
_SIMILAR: Final = ("similarity",)
_CITED: Final = ("similarity", "grouping")
_GROUPED: Final = ("grouping",)
_ORDERED: Final = ("pairwise", "similarity", "grouping")

_GROUNDED: Final = (
    ("hallucination_rate", "evidence not in what was shown", UNIT, _CITED, "low"),
    ("missing_evidence_rate", "evidence missing", UNIT, _CITED, "low"),
    ("missing_reason_rate", "reason missing", UNIT, _CITED, "low"),
    ("ungrounded_rate", "evidence missing or not shown", UNIT, _CITED, "low"),
    ("mismatch_rate", "reason beyond the evidence", UNIT, _CITED, "low"),
    ("verified_rate", "evidence there, reason follows", UNIT, _CITED, "high"),
    ("unchecked_rate", "reason not checked", UNIT, _CITED, ""),
    ("grounded_f1", "F1 after hallucination", UNIT, _CITED, "high"),
    ("verified_f1", "F1 after mismatch", UNIT, _CITED, "high"),
    ("verified_precision", "positives right and verified", UNIT, _CITED, "high"),
    ("verified_recall", "positives found and verified", UNIT, _CITED, "high"),
    ("retained_share", "F1 that is left in the end", UNIT, _CITED, "high"),
    ("hallucination_rate_false", "wrong positives: not shown", UNIT, _CITED, "low"),
    ("missing_evidence_rate_false", "wrong positives: none cited", UNIT, _CITED, "low"),
    ("missing_reason_rate_false", "wrong positives: no reason", UNIT, _CITED, "low"),
    ("mismatch_rate_false", "wrong positives: beyond it", UNIT, _CITED, "low"),
    ("hallucination_rate_all", "all positives: not shown", UNIT, _CITED, "low"),
    ("missing_evidence_rate_all", "all positives: none cited", UNIT, _CITED, "low"),
    ("missing_reason_rate_all", "all positives: no reason", UNIT, _CITED, "low"),
    ("ungrounded_rate_all", "all positives: without support", UNIT, _CITED, "low"),
    ("mismatch_rate_all", "all positives: beyond it", UNIT, _CITED, "low"),
    ("verified_rate_all", "all positives: verified", UNIT, _CITED, "high"),
    ("unchecked_rate_all", "all positives: not checked", UNIT, _CITED, ""),
    ("positive_accuracy", "right votes, similar papers", UNIT, _SIMILAR, "high"),
    ("negative_accuracy", "right votes, other papers", UNIT, _SIMILAR, "high"),
    ("pair_f1", "F1 of pairs, per vote", UNIT, _GROUPED, "high"),
    ("pair_precision", "pairs: right, per vote", UNIT, _GROUPED, "high"),
    ("pair_recall", "pairs found, per vote", UNIT, _GROUPED, "high"),
    ("adjusted_rand", "adjusted Rand index", SIGNED, _GROUPED, "high"),
    ("kappa", "agrees with gold beyond chance", SIGNED, ("entailment",), "high"),
)
"""The grounding cascade, groups as pairs of papers, and how good an auditor is. What is of all positives needs no gold labels."""
_OWN: Final = ("adjusted_rand", "kappa")
"""Of these, what has a function of its own and is no rate of the cascade."""

CATALOGUE: Final[dict[str, Metric]] = {
    metric.name: metric
    for metric in (
        Metric("strict_accuracy", "right", SHARE, _PAIR, "high", "classification:accuracy", labelled=True),
        Metric(
            "soft_accuracy",
            "right, ties count half",
            UNIT,
            _PAIR,
            "high",
            "classification:soft_accuracy",
            labelled=True,
        ),
        Metric(
            "accuracy",
            "right",
            SHARE,
            (*_LABELLED, "grouping"),
            "high",
            "classification:accuracy",
            labelled=True,
            cited_title="right, by majority",
        ),
        Metric(
            "macro_f1",
            "mean F1 of both labels",
            UNIT,
            _LABELLED,
            "high",
            "classification:macro_f1",
            labelled=True,
            is_mean=False,
            cited_title="mean F1 of both, by majority",
        ),
        Metric(
            "f1_novel", "F1 of novel", UNIT, _POINT, "high", "classification:f1_novel", labelled=True, is_mean=False
        ),
        Metric(
            "f1_not_novel",
            "F1 of not novel",
            UNIT,
            _POINT,
            "high",
            "classification:f1_not_novel",
            labelled=True,
            is_mean=False,
        ),
        Metric(
            "f1",
            "F1 of unsupported",
            UNIT,
            _AUDITED,
            "high",
            "classification:f1",
            labelled=True,
            is_mean=False,
            cited="grounded:rate_of:f1",
            cited_title="F1 per vote",
        ),
        Metric(
            "precision",
            "said unsupported: right",
            UNIT,
            _AUDITED,
            "high",
            "classification:precision",
            labelled=True,
            is_mean=False,
            cited="grounded:rate_of:precision",
            cited_title="positive votes: right",
        ),
        Metric(
            "recall",
            "unsupported ones found",
            UNIT,
            _AUDITED,
            "high",
            "classification:recall",
            labelled=True,
            is_mean=False,
            cited="grounded:rate_of:recall",
            cited_title="positives found, per vote",
        ),
        *(
            Metric(
                name,
                title,
                kind,
                protocols,
                better,
                f"grounded:{name}" if name in _OWN else f"grounded:rate_of:{name.removeprefix('pair_')}",
                labelled=not name.endswith("_all"),
                is_mean=False,
            )
            for name, title, kind, protocols, better in _GROUNDED
        ),
        Metric(
            "auroc",
            "novel scored above not novel",
            UNIT,
            _POINT,
            "high",
            "classification:auroc_of_scores",
            labelled=True,
            is_mean=False,
        ),
        Metric("tie_rate", "ties", SHARE, _ALL, "low", "classification:tie_rate"),
        Metric("declared_tie_rate", "ties declared by the judge", SHARE, _PAIR, "", "classification:declared_tie_rate"),
        Metric("abstention_rate", "abstentions", SHARE, _ALL, "low", "classification:abstention_rate"),
        Metric("invalid_rate", "invalid answers", SHARE, _ALL, "low", "classification:invalid_rate"),
        Metric(
            "retest_flip_rate", "same question, other vote", UNIT, _ALL, "low", "stability:retest_flip_rate", votes=2
        ),
        Metric(
            "position_bias",
            "leans to first (+), second (-)",
            SIGNED,
            _PAIR,
            "",
            "stability:position_bias",
            both_orders=True,
        ),
        Metric(
            "order_inconsistency",
            "verdict turns with the order",
            SHARE,
            _ORDERED,
            "low",
            "stability:order_inconsistency",
            both_orders=True,
        ),
        Metric(
            "excess_order_flip",
            "pull of order beyond noise",
            SIGNED,
            _ORDERED,
            "low",
            "stability:excess_order_flip",
            votes=2,
            both_orders=True,
            is_excess=True,
        ),
        Metric(
            "cyclic_triads",
            "three ideas, each beats one",
            SHARE,
            _PAIR,
            "low",
            "transitivity:cyclic_triads",
            is_mean=False,
        ),
        Metric(
            "reliability",
            "reliability of the mean score",
            UNIT,
            _POINT,
            "high",
            "scoring:reliability",
            votes=2,
            is_mean=False,
        ),
        Metric("score_levels", "levels of score used", QUANTITY, _POINT, "", "scoring:score_levels", is_mean=False),
        Metric("leak_rate", "found the idea itself", SHARE, _ALL, "low", "retrieval:leak_rate"),
        Metric("late_rate", "looked beyond the date", SHARE, _ALL, "low", "retrieval:late_rate"),
        Metric("retrieval_overlap", "same things retrieved", UNIT, _ALL, "high", "retrieval:retrieval_overlap"),
        Metric("cost_usd", "cost", QUANTITY, _ALL, "low", "retrieval:cost_usd", is_mean=False),
    )
}


PAIRED: Final[dict[str, PairMetric]] = {
    metric.name: metric
    for metric in (
        PairMetric("flip_rate", "verdicts that change", SHARE, _ALL, "low", "variants:flip_rate"),
        PairMetric("null_flip_rate", "would change by noise", UNIT, _VOTED, "low", "variants:null_flip_rate"),
        PairMetric("reversal_rate", "verdicts turned round", SHARE, _VOTED, "low", "variants:reversal_rate"),
        PairMetric(
            "excess_flip", "vote shift, squared", SIGNED, _VOTED, "low", "variants:excess_flip", votes=2, is_excess=True
        ),
        PairMetric("vote_shift", "moves votes, beyond noise", ROOT, _VOTED, "low", "variants:vote_shift", votes=2),
        PairMetric("score_shift", "moves scores", SCORE, _POINT, "", "score_pairs:score_shift"),
        PairMetric(
            "score_rms_shift",
            "moves scores, beyond noise",
            SCORE,
            _POINT,
            "low",
            "score_pairs:score_rms_shift",
            votes=2,
            is_mean=False,
        ),
        PairMetric("rank_flip", "ranks turned round", UNIT, _POINT, "low", "score_pairs:rank_flip", is_mean=False),
        PairMetric("topk_churn", "top tenth replaced", UNIT, _POINT, "low", "score_pairs:topk_churn", is_mean=False),
    )
}

FAMILIES: Final[dict[str, FamilyMetric]] = {
    metric.name: metric
    for metric in (
        FamilyMetric("max_flip_rate", "most that change", SHARE, _ALL, "low", "", of="flip_rate", over="max"),
        FamilyMetric("mean_flip_rate", "change on average", UNIT, _ALL, "low", "", of="flip_rate", over="mean"),
    )
}

METRICS: Final[dict[str, Entry]] = {**CATALOGUE, **PAIRED, **FAMILIES}
"""Every name that a gate or a report may use."""


def get_metric(name: str) -> Entry:
    try:
        return METRICS[name]
    except KeyError:
        raise UnknownNameError("metric", name, METRICS) from None


def metrics_for(suite: Suite) -> list[Metric]:
    """The metrics of a suite's protocol, in the order of the catalogue."""
    return [metric for metric in CATALOGUE.values() if suite.protocol in metric.protocols]


def pair_metrics_for(suite: Suite) -> list[PairMetric]:
    """Those that compare two views, in the order of the catalogue."""
    return [metric for metric in PAIRED.values() if suite.protocol in metric.protocols]
