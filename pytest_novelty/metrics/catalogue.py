"""The names of the metrics, which protocols have them, and what kind of quantity each is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Final

from pytest_novelty.errors import UnknownNameError
from pytest_novelty.model import Suite

if TYPE_CHECKING:
    from pytest_novelty.metrics.view import Estimate, View

SHARE: Final = "share"
"""A share of instances: the n that can decide a gate on it is known beforehand."""
UNIT: Final = "unit"
SIGNED: Final = "signed"
QUANTITY: Final = "quantity"
"""Counted, not estimated: a gate on it is always decided."""


@dataclass(frozen=True, slots=True)
class Metric:
    """One entry of the catalogue. ``function`` is ``module:name`` below this package, imported when first computed.

    ``better``: ``high`` or ``low``, or ``""`` where neither is. ``title``: what the terminal calls it.
    """

    name: str
    title: str
    kind: str
    protocols: tuple[str, ...]
    better: str
    function: str
    labelled: bool = False

    def compute(self, view: View) -> Estimate:
        """The estimate for one view."""
        module, name = self.function.split(":")
        function: Callable[[View], Estimate] = getattr(import_module(f"pytest_novelty.metrics.{module}"), name)
        return function(view)


_BOTH: Final = ("pointwise", "pairwise")
_POINT: Final = ("pointwise",)
_PAIR: Final = ("pairwise",)

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
        Metric("accuracy", "right", SHARE, _POINT, "high", "classification:accuracy", labelled=True),
        Metric("macro_f1", "mean F1 of both labels", UNIT, _POINT, "high", "classification:macro_f1", labelled=True),
        Metric("f1_novel", "F1 of novel", UNIT, _POINT, "high", "classification:f1_novel", labelled=True),
        Metric("f1_not_novel", "F1 of not novel", UNIT, _POINT, "high", "classification:f1_not_novel", labelled=True),
        Metric(
            "auroc",
            "novel scored above not novel",
            UNIT,
            _POINT,
            "high",
            "classification:auroc_of_scores",
            labelled=True,
        ),
        Metric("tie_rate", "ties", SHARE, _BOTH, "low", "classification:tie_rate"),
        Metric("declared_tie_rate", "ties declared by the judge", SHARE, _PAIR, "", "classification:declared_tie_rate"),
        Metric("abstention_rate", "abstentions", SHARE, _BOTH, "low", "classification:abstention_rate"),
        Metric("invalid_rate", "invalid answers", SHARE, _BOTH, "low", "classification:invalid_rate"),
        Metric("retest_flip_rate", "same question, other vote", UNIT, _BOTH, "low", "stability:retest_flip_rate"),
        Metric("position_bias", "leans to first (+), second (-)", SIGNED, _PAIR, "", "stability:position_bias"),
        Metric(
            "order_inconsistency", "verdict turns with the order", SHARE, _PAIR, "low", "stability:order_inconsistency"
        ),
        Metric("excess_order_flip", "pull of order beyond noise", SIGNED, _PAIR, "low", "stability:excess_order_flip"),
        Metric("reliability", "reliability of the mean score", UNIT, _POINT, "high", "scoring:reliability"),
        Metric("score_levels", "levels of score used", QUANTITY, _POINT, "", "scoring:score_levels"),
        Metric("leak_rate", "found the idea itself", SHARE, _BOTH, "low", "retrieval:leak_rate"),
        Metric("late_rate", "looked beyond the date", SHARE, _BOTH, "low", "retrieval:late_rate"),
        Metric("retrieval_overlap", "same things retrieved", UNIT, _BOTH, "high", "retrieval:retrieval_overlap"),
        Metric("cost_usd", "cost", QUANTITY, _BOTH, "low", "retrieval:cost_usd"),
    )
}


def get_metric(name: str) -> Metric:
    try:
        return CATALOGUE[name]
    except KeyError:
        raise UnknownNameError("metric", name, CATALOGUE) from None


def metrics_for(suite: Suite) -> list[Metric]:
    """The metrics of a suite's protocol, in the order of the catalogue."""
    return [metric for metric in CATALOGUE.values() if suite.protocol in metric.protocols]
