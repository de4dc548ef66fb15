"""Words and numbers for people: estimates, instances, plurals, and texts that cannot harm a terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pytest_novelty.headline import percent
from pytest_novelty.labels_as_text import write_partition
from pytest_novelty.metrics.catalogue import METRICS, QUANTITY, ROOT, SCORE, SIGNED
from pytest_novelty.metrics.view import Estimate
from pytest_novelty.model import Idea, Instance
from pytest_novelty.printing import clean, plural, show_usd
from pytest_novelty.protocols import PROTOCOLS, has_two_labels

if TYPE_CHECKING:
    from pytest_novelty.deciding import GateResult
    from pytest_novelty.results import Calls


def show_value(metric: str, value: float | None) -> str:
    """Shares as percentages, signed metrics with their sign, quantities as they are."""
    if value is None:
        return "undefined"
    kind = METRICS[metric].kind
    if metric == "cost_usd":
        return show_usd(value)
    if kind == QUANTITY:
        return f"{value:g}"
    if kind == SCORE:
        return f"{value:.2g}"
    if kind == ROOT:
        return f"{100 * value:.0f} points"
    if kind == SIGNED:
        return f"{value:+.2f}" if abs(value) >= 0.005 else "0.00"
    if metric in ("auroc", "reliability", "macro_f1", "f1_novel", "f1_not_novel"):
        return f"{value:.2f}"
    return f"{percent(value)} %"


def show_estimate(metric: str, estimate: Estimate) -> str:
    """The value; where something was not checked, the bounds that it leaves."""
    if estimate.bounds is None:
        return show_value(metric, estimate.value)
    low, high = (show_value(metric, bound) for bound in estimate.bounds)
    return f"{low.removesuffix(' %')} to {high}"


def show_interval(metric: str, estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None or estimate.low == estimate.high:
        return ""
    low, high = (
        show_value(metric, bound).removesuffix(" %").removesuffix(" points") for bound in (estimate.low, estimate.high)
    )
    return f"[{low}, {high}]"


def show_gate(result: GateResult) -> str:
    """What a gate rests on: the value with its interval."""
    estimate = Estimate(result.value, result.low, result.high, result.n, bounds=result.bounds)
    metric = result.gate.metric
    return f"{show_estimate(metric, estimate)} {show_interval(metric, estimate)}".strip()


def made_calls(calls: Calls) -> str:
    """Calls that were made; those that no verdict in the report rests on are paid for as well."""
    unfinished = f" ({calls.unfinished:,} of them for cases that did not end)" if calls.unfinished else ""
    return f"{calls.made:,} made{unfinished}"


def failed_calls(calls: Calls) -> str:
    """Calls without a valid verdict; audits apart, whose failures leave statements unchecked and no case without a verdict."""
    audits = f", {calls.audits_failed:,} of {plural(calls.audits, 'audit')} without one" if calls.audits_failed else ""
    return f"{calls.failed:,} without a valid verdict{audits}"


def name_label(protocol: str, instance: Instance, label: str | None) -> str:
    """A label as a person would say it: ideas of a pair by their titles, a partition of papers as ``{a b} {c d}``."""
    if label is not None and not has_two_labels(protocol):
        # what votes are counted as may name nothing: a tie, an error
        known = PROTOCOLS[protocol].has_label(label, [idea.id for idea in instance.ideas])
        return write_partition(label) if known else label
    for idea in instance.ideas:
        if len(instance.ideas) > 1 and idea.id == label:
            return f'"{short_title(idea)}"'
    return label or "no label"


def short_title(idea: Idea, limit: int = 60) -> str:
    return clean(idea.title or idea.text, limit)


def list_transitions(table: Mapping[str, Mapping[str, int]]) -> str:
    """The transitions that occur, the most frequent first; empty if nothing turned."""
    moves = [
        (count, f"{count} {before} to {after}")
        for before, row in table.items()
        for after, count in row.items()
        if before != after and count
    ]
    return ", ".join(text for _, text in sorted(moves, key=lambda pair: -pair[0]))
