"""Judges against each other on a suite: what the tests say of them, in words, and what it would cost to decide."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from pytest_novelty.attribution import would_be_seen
from pytest_novelty.deciding import Price, show_cost
from pytest_novelty.headline import percent, signed_points
from pytest_novelty.measuring import Key, MetricRow, Side
from pytest_novelty.metrics.catalogue import METRICS, QUANTITY
from pytest_novelty.metrics.comparison import Comparison, compare_all, compare_verified
from pytest_novelty.metrics.differences import Change
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.view import Estimate, View


def compare_judges(
    judges: Sequence[str],
    variants: Sequence[str],
    views: Mapping[Key, View],
    rows: Sequence[MetricRow],
    prices: Mapping[str, Price],
    against: str | None,
    auditors: Mapping[str, str] | None = None,
) -> list[Comparison]:
    """Every pair of judges (with ``against``: each other judge and that one) under every variant, in the order given.
    ``auditors``: of answers that cite evidence, whose word counts for each judge.
    """
    sides = {
        variant: [(name, views[variant, name]) for name in judges if (variant, name) in views] for variant in variants
    }
    compared = []
    found_all = compare_all(sides, against)
    if auditors is not None:
        found_all = _with_verified(found_all, views, auditors)
    for item in found_all:
        found = item if against is None else replace(item, rank_flip=_rank_flip(item, rows))
        compared.append(replace(found, sentence=describe(found), advice=_advice(found, prices)))
    return compared


def _with_verified(
    compared: Sequence[Comparison], views: Mapping[Key, View], auditors: Mapping[str, str]
) -> list[Comparison]:
    sides = [
        (
            Pair(views[item.variant, item.first], views[item.variant, item.second]),
            [auditors[name] for name in (item.first, item.second)],
        )
        for item in compared
    ]
    return [replace(item, verified=change) for item, change in zip(compared, compare_verified(sides), strict=True)]


def _rank_flip(item: Comparison, rows: Sequence[MetricRow]) -> Estimate:
    """As the rows have it, which took it together with the other metrics that compare."""
    wanted = (item.first, item.variant, "rank_flip", None, Side(item.second, item.variant))
    found = (row for row in rows if (row.judge, row.variant, row.metric, row.stratum, row.reference) == wanted)
    return next((row.estimate for row in found), item.rank_flip)


def describe(item: Comparison) -> str:
    """How ``first`` differs from ``second``: whether beyond noise, who is right more often, and what else changes."""
    if not item.n:
        return "no instance was judged by both"
    parts = [_votes(item), _accuracy(item), _ranks(item), _verified(item)]
    others = [
        change for change in item.changes if change.starred and change.metric not in ("strict_accuracy", "accuracy")
    ]
    if others:
        parts.append("it also differs in " + ", ".join(map(_change, others)))
    return "; ".join(part for part in parts if part)


def _votes(item: Comparison) -> str:
    p = item.shift_p_holm
    if p is None:
        return f"how far they lie apart cannot be told ({item.untested or 'no votes to compare'})"
    if item.shift_starred:
        own = "" if item.noise is None else f", {percent(item.noise)} % would differ by their own noise"
        if item.by_scores:
            return f"its scores differ from {item.second}'s beyond noise{own}"
        return f"its votes differ from {item.second}'s beyond noise (vote shift {_points(item.vote_shift)}{own})"
    told = "scores" if item.by_scores else "votes"
    return f"no difference between their {told} found in n = {item.n}; {would_be_seen(item.seen, 'a shift')}"


def _accuracy(item: Comparison) -> str:
    estimate = item.accuracy_difference
    if estimate.value is None:
        return ""
    if item.starred:
        more = "more" if estimate.value > 0 else "less"
        return f"it is right {more} often ({_points(estimate, signed=True)})"
    apart = estimate.low is not None and estimate.high is not None and not estimate.low <= 0 <= estimate.high
    but = ", by itself apart, not among all the comparisons" if apart and item.p_holm != item.p else ""
    return f"which of the two is right more often is open ({_points(estimate, signed=True)}{but})"


def _ranks(item: Comparison) -> str:
    estimate = item.rank_flip
    if estimate.value is None:
        return ""
    interval = "" if estimate.low is None or estimate.high is None else _interval(estimate, 100, "{:.0f}")
    return f"it ranks {percent(estimate.value)} %{interval} of the pairs of ideas otherwise"


def _verified(item: Comparison) -> str:
    """Of what is left of F1 once evidence and reasons are checked."""
    if item.verified is None:
        return ""
    estimate = item.verified.estimate
    if estimate.value is None:
        return f"verified F1 is not compared ({estimate.note})"
    if item.verified.starred:
        return f"its verified F1 is {'higher' if estimate.value > 0 else 'lower'} ({_points(estimate, signed=True)})"
    return f"whose verified F1 is higher is open ({_points(estimate, signed=True)})"


def _change(change: Change) -> str:
    entry = METRICS[change.metric]
    if entry.kind == QUANTITY:
        value = "" if change.estimate.value is None else f"{change.estimate.value:+.3g}"
        return f"{change.metric} ({value})"
    return f"{change.metric} ({_points(change.estimate, signed=True)})"


def _points(estimate: Estimate, *, signed: bool = False) -> str:
    if estimate.value is None:
        return "undefined"
    form = "{:+.0f}" if signed else "{:.0f}"
    if estimate.bounds is not None:
        return signed_points(estimate)
    text = f"{form.format(100 * estimate.value)} points"
    return text if estimate.low is None or estimate.high is None else text + _interval(estimate, 100, form)


def _interval(estimate: Estimate, factor: float, form: str) -> str:
    assert estimate.low is not None
    assert estimate.high is not None
    return f" [{form.format(factor * estimate.low)}, {form.format(factor * estimate.high)}]"


def _advice(item: Comparison, prices: Mapping[str, Price]) -> str:
    if item.needed is None:
        return ""
    further = max(1, math.ceil(item.needed) - item.n)
    own = [prices[name] for name in (item.first, item.second)]
    known = [price.usd for price in own if price.usd is not None]
    basis = " and ".join(dict.fromkeys(price.basis for price in own if price.basis))
    total = Price(sum(known) if len(known) == len(own) else None, basis)
    return f"about {item.n + further} instances would decide ({further} more, {show_cost(total, further)})"
