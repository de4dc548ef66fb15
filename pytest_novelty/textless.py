"""Statements whose texts were left out of a cassette (export --no-text): what cannot be checked for want of them, what to do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Set
from typing import TYPE_CHECKING, Final, TypeAlias

from pytest_novelty.cassette import SUFFIX
from pytest_novelty.deciding import INCONCLUSIVE, GateResult
from pytest_novelty.gates import Gate
from pytest_novelty.outcomes import CaseResult
from pytest_novelty.printing import name_some, plural
from pytest_novelty.settings import Settings

if TYPE_CHECKING:
    from pytest_novelty.results import Report

Counts: TypeAlias = Mapping[tuple[str, str], int]
"""Statements without a text, counted in every vote, by judge and suite."""

_WARN: Final = "--novelty-missing=warn"


def find_textless(settings: Settings, outcomes: Iterable[CaseResult], undecided: Iterable[GateResult]) -> list[str]:
    """One finding for all judges and suites, with the gates that are undecided for it; none where all texts are there."""
    counts: Counter[tuple[str, str]] = Counter()
    for result in outcomes:
        counts[result.judge, result.suite] += result.audits.textless
    counts = +counts
    if not counts:
        return []
    open_ = list(dict.fromkeys(result.gate.text for result in undecided))
    fails = bool(open_) and settings.missing != "warn"
    gates = ""
    if open_:
        are = "is" if len(open_) == 1 else "are"
        gates = f" {name_some(open_)} {are} undecided for want of texts{', for which pytest fails' * fails}."
    return [
        f"{_cannot_be_audited(counts, settings)}, with bounds over it (whether the evidence is there is recorded, and counts)."
        f"{gates} {_remedy(settings)}{f', or say {_WARN}' * fails}"
    ]


def foretell_textless(settings: Settings, counts: Counts, gates: Iterable[Gate]) -> str:
    """The same before a run, of what is stored; ``gates``: of the suites that are named in ``counts``. Empty where none lacks."""
    if not any(counts.values()):
        return ""
    named = list(dict.fromkeys(gate.text for gate in gates if _rests_on_reasons(gate)))
    told = f"{_cannot_be_audited(counts, settings)}."
    if not named:
        return f"{told} {_remedy(settings)}"
    rest = "rests" if len(named) == 1 else "rest"
    fails = "; pytest fails where that leaves one undecided" if settings.missing != "warn" else ""
    return f"{told} {name_some(named)} {rest} on it{fails}. {_remedy(settings)}{f', or say {_WARN}' * bool(fails)}"


def undecided_without_text(gates: Iterable[GateResult], outcomes: Iterable[CaseResult]) -> list[GateResult]:
    """Gates that rest on what an auditor would say of statements without a text, and are undecided."""
    lacking = {(result.judge, result.suite, result.variant) for result in outcomes if result.audits.textless}
    return _undecided(gates, lacking)


def undecided_without_audits(report: Report) -> list[GateResult]:
    """The same where statements waited for an auditor, and none was heard on any: it is down, or answers nothing of use."""
    deaf = {
        (item.judge, item.suite, item.variant)
        for item in report.grounding
        if item.found.unaudited > item.found.textless and not sum(item.found.rates["mismatch_rate_all"].of)
    }
    return _undecided(report.gates, deaf)


def _undecided(gates: Iterable[GateResult], lacking: Set[tuple[str, str, str]]) -> list[GateResult]:
    """Those of places (judge, suite, variant) in which reasons are not audited."""
    places = {place[:2] for place in lacking}
    return [
        result
        for result in gates
        if result.decision == INCONCLUSIVE
        and (
            (result.judge, result.suite) in places
            if result.gate.over
            else (result.judge, result.suite, result.gate.variant) in lacking
        )
        and _rests_on_reasons(result.gate)
    ]


def _rests_on_reasons(gate: Gate) -> bool:
    from pytest_novelty.metrics.grounded import hears_auditor  # numpy

    return hears_auditor(gate.metric)


def _cannot_be_audited(counts: Counts, settings: Settings) -> str:
    first, *others = [(count, f"of {judge} on {suite}") for (judge, suite), count in sorted(counts.items()) if count]
    places = ", ".join(
        [f"{plural(first[0], 'statement')} {first[1]}", *(f"{count:,} {place}" for count, place in others)]
    )
    return (
        f"{places} cannot be audited, as {_source(settings)} has no texts of them (export --no-text): whether reasons follow "
        "from their evidence is unchecked"
    )


def _source(settings: Settings) -> str:
    """As a reader of the report would call it: without its folders."""
    return f"the cassette {settings.store.name}" if settings.store.suffix == SUFFIX else "the store"


def _remedy(settings: Settings) -> str:
    if settings.store.suffix == SUFFIX:
        return "Export again without --no-text"
    return "Take a store or an export that has them" + (
        "" if settings.offline else ", or ask anew with --novelty-refresh"
    )
