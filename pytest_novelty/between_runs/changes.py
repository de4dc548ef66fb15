"""What changed from one report to another: metrics, verdicts, ranks, gates, cost; and which of it is a regression."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from pytest_novelty.between_runs.audited import compare_auditors, tell_textless
from pytest_novelty.between_runs.gate_changes import GateChange, count_changed, gate_changes, gate_notes
from pytest_novelty.between_runs.matching import match_reports
from pytest_novelty.between_runs.reading import Key, SavedReport
from pytest_novelty.metrics.own_noise import own_flip_rate
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.permutation import holm
from pytest_novelty.metrics.regression import MetricChange, Turned, metric_changes, turned_verdicts
from pytest_novelty.model import REFERENCE

MAIN: Final = {
    "pairwise": ("strict_accuracy",),
    "pointwise": ("accuracy", "auroc"),
    "similarity": ("accuracy",),
    "entailment": ("accuracy",),
    "grouping": ("accuracy",),
}
"""By which judges are ranked and variants compared: the first that is defined."""


@dataclass(frozen=True)
class RunChange:
    """A judge on a suite under a variant, now against then, on the ``n`` instances that both runs judged.

    ``before``: the judge's name then. ``sizes``: how many instances the two runs judged (then, now). ``own_noise``: where votes
    or scores moved, the share of verdicts that the judge's own noise would turn; None where it is unknown or nothing moved.
    ``audited``: how the auditors differ; empty where they do not. ``textless``: what none of them could be asked about.
    """

    judge: str
    before: str
    suite: str
    variant: str
    n: int
    sizes: tuple[int, int]
    metrics: tuple[MetricChange, ...]
    turned: Turned
    own_noise: float | None = None
    audited: str = ""
    textless: str = ""

    @property
    def by_noise(self) -> float | None:
        """The share of verdicts that noise alone would turn; None if that is unknown. The null flip rate pools the votes of both
        runs, so votes that moved look like noise: there each run has to stand for itself.
        """
        return self.own_noise if self.turned.starred else self.turned.null_flip_rate.value

    @property
    def place(self) -> str:
        return f"{self.judge} on {self.suite}" + ("" if self.variant == REFERENCE else f", variant {self.variant}")


@dataclass(frozen=True)
class Rank:
    """A judge's place among those of both reports, by ``metric``; judges that are equal share the better place."""

    suite: str
    metric: str
    judge: str
    old: int
    new: int


@dataclass(frozen=True)
class Cell:
    """One variant of one judge: ``value`` of the main metric, and its ``change`` from the reference (None for that itself)."""

    value: float | None
    change: float | None = None
    starred: bool = False


@dataclass(frozen=True)
class VariantTable:
    """Judges in columns (then and now each), variants in rows. ``cells``: by variant, then by (judge, "then" or "now")."""

    suite: str
    metric: str
    judges: tuple[str, ...]
    cells: Mapping[str, Mapping[tuple[str, str], Cell]]


@dataclass(frozen=True)
class RunComparison:
    """``old`` and ``new`` name the reports; ``calls`` are theirs; ``costs``: (judge, USD then, USD now), None
    where the cost of a call is unknown.
    """

    old: str
    new: str
    changes: tuple[RunChange, ...]
    ranks: tuple[Rank, ...]
    gates: tuple[GateChange, ...]
    tables: tuple[VariantTable, ...]
    calls: tuple[Mapping[str, Any], Mapping[str, Any]]
    costs: tuple[tuple[str, float | None, float | None], ...]
    notes: tuple[str, ...]

    @property
    def regressions(self) -> list[str]:
        """What got worse, by more than chance or beyond a gate: a clause a judge, suite and variant, and a gate."""
        found = [
            _listed(change, [metric.metric for metric in change.metrics if metric.worse]) for change in self.changes
        ]
        return [*filter(None, found), *(gate.clause for gate in self.gates if gate.worse)]

    @property
    def improvements(self) -> list[str]:
        found = [
            _listed(change, [metric.metric for metric in change.metrics if metric.better]) for change in self.changes
        ]
        return [*filter(None, found)]

    @property
    def headline(self) -> str:
        """What a person has to know, in some sentences."""
        moved = [change.place for change in self.changes if change.turned.starred]
        parts = [f"Worse than {self.old}: {'; '.join(self.regressions)}." if self.regressions else ""]
        if self.improvements:
            parts.append(f"Better{'' if self.regressions else f' than {self.old}'}: {'; '.join(self.improvements)}.")
        if not (self.regressions or self.improvements):
            parts.append(f"No metric differs from {self.old} by more than chance.")
        if moved:
            parts.append(f"Votes or scores moved beyond noise: {'; '.join(moved)}.")
        return " ".join(filter(None, [*parts, count_changed(self.gates)]))


def _listed(change: RunChange, metrics: list[str]) -> str:
    return f"{change.place}: {', '.join(metrics)}" if metrics else ""


def compare_reports(old: SavedReport, new: SavedReport) -> RunComparison:
    """Compare two reports. Raises SettingsError, with all that differs, where they are not alike enough."""
    matched = match_reports(old, new)
    names = dict(matched.judges)
    changes: list[RunChange] = []
    pairs: list[Pair] = []
    for (suite, variant, judge), view in sorted(new.views.items(), key=_place):
        before = (suite, variant, names.get(judge, ""))
        if suite not in matched.suites or before not in old.views:
            continue
        pair = Pair(view, old.views[before])
        if not len(pair):
            continue
        sizes = (len(old.views[before]), len(view))
        otherwise = compare_auditors(old, new, before, (suite, variant, judge))
        known = (old.estimates.get(before, {}), new.estimates.get((suite, variant, judge), {}))
        given = known if sizes == (len(pair), len(pair)) else ()
        metrics = tuple(metric_changes(pair, *given, audited_otherwise=otherwise))
        changes.append(
            RunChange(
                judge,
                before[2],
                suite,
                variant,
                len(pair),
                sizes,
                metrics,
                turned_verdicts(pair),
                audited=otherwise,
                textless=tell_textless(old, new, before, (suite, variant, judge)),
            )
        )
        pairs.append(pair)
    found = [
        replace(change, own_noise=own_flip_rate(pair) if change.turned.starred else None)
        for change, pair in zip(_adjusted(changes), pairs, strict=True)
    ]
    otherwise_audited = {(change.judge, change.suite) for change in found if change.audited}
    gates = gate_changes(old, new, matched.suites, matched.judges, otherwise_audited)
    return RunComparison(
        old.source,
        new.source,
        tuple(found),
        tuple(_ranks(old, new, matched.suites, matched.judges)),
        tuple(gates),
        tuple(_variant_tables(old, new, matched.suites, matched.judges)),
        (old.calls, new.calls),
        tuple((name, _cost(old, before), _cost(new, name)) for name, before in matched.judges),
        (
            *matched.notes,
            *_audited_otherwise(found),
            *gate_notes(gates, len(matched.judges)),
            *_uncompared(new, changes, matched.suites, names),
        ),
    )


def _place(item: tuple[Key, object]) -> tuple[str, str, bool, str]:
    suite, variant, judge = item[0]
    return suite, judge, variant != REFERENCE, variant


def _cost(report: SavedReport, judge: str) -> float | None:
    """Over suites and variants; None if any is unknown."""
    found = [own["cost_usd"].value for key, own in report.estimates.items() if key[2] == judge and "cost_usd" in own]
    return None if None in found else sum(value for value in found if value is not None)


def _adjusted(changes: list[RunChange]) -> list[RunChange]:
    """Holm over every metric of every judge, suite and variant, and over their exchange tests.

    A metric that differs in no instance could not have been significant whatever its sign: it is no test and costs no power.
    """
    metrics = [metric for change in changes for metric in change.metrics]
    adjusted = iter(holm([metric.p if metric.moves else None for metric in metrics]))
    shifts = iter(holm([change.turned.p for change in changes]))
    return [
        replace(
            change,
            metrics=tuple(replace(metric, p_holm=next(adjusted)) for metric in change.metrics),
            turned=replace(change.turned, p_holm=next(shifts)),
        )
        for change in changes
    ]


def _uncompared(
    new: SavedReport, changes: list[RunChange], suites: tuple[str, ...], names: Mapping[str, str]
) -> Iterator[str]:
    """What is in the new report only, of judges and suites that are in both."""
    done = {(change.suite, change.variant, change.judge) for change in changes}
    left = sorted(key for key in new.views if key[0] in suites and key[2] in names and key not in done)
    for suite, variant, judge in left:
        yield f"nothing to compare {judge} on {suite}, variant {variant}, with"


def _audited_otherwise(changes: Iterable[RunChange]) -> Iterator[str]:
    """A line for each judge and suite; of texts that lack in part, which leave ranges, for each variant."""
    changes = list(changes)
    for place, why in dict.fromkeys((f"{change.judge} on {change.suite}", change.audited) for change in changes):
        if why:
            yield f"{place}: {why}; what depends on it is not compared"
    for change in changes:
        if change.textless and not change.audited:
            yield f"{change.place}: {change.textless}; what depends on them is told as a range"


def _main_metric(report: SavedReport, suite: str, judge: str) -> str:
    own = report.estimates.get((suite, REFERENCE, judge), {})
    for name in MAIN[report.suites[suite].protocol]:
        if name in own and own[name].value is not None:
            return name
    return ""


def _ranks(
    old: SavedReport, new: SavedReport, suites: tuple[str, ...], judges: tuple[tuple[str, str], ...]
) -> Iterator[Rank]:
    for suite in suites:
        metrics = {
            _main_metric(report, suite, name[place]) for name in judges for place, report in ((0, new), (1, old))
        }
        if len(judges) < 2 or len(metrics) != 1 or not (metric := metrics.pop()):
            continue
        values = [
            {name[0]: report.estimates[suite, REFERENCE, name[place]][metric].value or 0.0 for name in judges}
            for place, report in ((1, old), (0, new))
        ]
        for name in sorted(values[1], key=lambda judge: (-values[1][judge], judge)):
            places = [1 + sum(value > of_all[name] for value in of_all.values()) for of_all in values]
            yield Rank(suite, metric, name, *places)


def _variant_tables(
    old: SavedReport, new: SavedReport, suites: tuple[str, ...], judges: tuple[tuple[str, str], ...]
) -> Iterator[VariantTable]:
    for suite in suites:
        metric = next(filter(None, (_main_metric(new, suite, name) for name, _ in judges)), "")
        cells: dict[str, dict[tuple[str, str], Cell]] = {}
        for name, before in judges:
            for report, own, when in ((old, before, "then"), (new, name, "now")):
                for variant, cell in _cells(report, suite, own, metric):
                    cells.setdefault(variant, {})[name, when] = cell
        if metric and len(cells) > 1:
            rows = {variant: cells[variant] for variant in sorted(cells, key=lambda name: (name != REFERENCE, name))}
            yield VariantTable(suite, metric, tuple(name for name, _ in judges), rows)


def _cells(report: SavedReport, suite: str, judge: str, metric: str) -> Iterator[tuple[str, Cell]]:
    for key, estimates in report.estimates.items():
        if (key[0], key[2]) != (suite, judge) or metric not in estimates or key[1].startswith("["):
            continue
        change, starred = _change_of(report, key, metric)
        yield key[1], Cell(estimates[metric].value, change, starred)


def _change_of(report: SavedReport, key: Key, metric: str) -> tuple[float | None, bool]:
    return report.changes.get(key, {}).get(metric, (None, False))
