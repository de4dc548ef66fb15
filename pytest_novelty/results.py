"""Results of cases -> metrics, gates, comparisons: one Report, the same from pytest, from xdist and from ``evaluate()``."""

from __future__ import annotations

import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from pytest_novelty.errors import SettingsError, UnknownNameError
from pytest_novelty.findings import find_degenerate, find_looked_up, find_of_calls, find_unanswered
from pytest_novelty.gates import NOT_ENFORCED, GateResult, judge_gate
from pytest_novelty.headline import make_headline
from pytest_novelty.metrics.catalogue import CATALOGUE, get_metric, metrics_for
from pytest_novelty.metrics.comparison import Comparison, compare_all
from pytest_novelty.metrics.resampling import Resampler
from pytest_novelty.metrics.view import Estimate, View, label_by_cross_validation
from pytest_novelty.model import REFERENCE
from pytest_novelty.outcomes import CaseResult
from pytest_novelty.plan import Plan, SuitePlan


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One estimate of the report."""

    judge: str
    suite: str
    protocol: str
    variant: str
    metric: str
    estimate: Estimate
    stratum: str | None = None


@dataclass(frozen=True, slots=True)
class Calls:
    """What the run's calls took. Percentiles in seconds; ``cost_usd`` None where the cost of a call is unknown."""

    planned: int = 0
    reused: int = 0
    made: int = 0
    retried: int = 0
    failed: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost_usd: float | None = 0.0
    unpriced: int = 0
    latency_s: Mapping[str, float] = field(default_factory=dict)
    tokens_cached: int = 0
    tokens_reasoning: int = 0


@dataclass
class Report:
    """The result of a run. ``gates`` decide; ``metrics`` explain; ``outcomes`` are what they rest on."""

    plan: Plan
    metrics: list[MetricRow]
    gates: list[GateResult]
    comparisons: list[Comparison]
    outcomes: list[CaseResult]
    calls: Calls
    findings: list[str]
    headline: str
    baselines: Mapping[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def metric(
        self,
        name: str,
        *,
        variant: str = REFERENCE,
        stratum: str | None = None,
        judge: str | None = None,
        suite: str | None = None,
    ) -> Estimate:
        """One estimate. Raises UnknownNameError if there is none, or if ``judge`` or ``suite`` must be given to choose."""
        get_metric(name)
        found = [
            row
            for row in self.metrics
            if (row.metric, row.variant, row.stratum) == (name, variant, stratum)
            and judge in (None, row.judge)
            and suite in (None, row.suite)
        ]
        if len(found) == 1:
            return found[0].estimate
        if found:
            places = ", ".join(f"judge={row.judge!r}, suite={row.suite!r}" for row in found)
            raise SettingsError(f"{len(found)} estimates of {name}[{variant}] fit", hint=f"Choose one: {places}")
        known = {f"{row.metric}[{row.variant}]" for row in self.metrics if row.metric == name or row.variant == variant}
        raise UnknownNameError("estimate", f"{name}[{variant}]", known)

    @property
    def passed(self) -> bool:
        """No gate failed."""
        return not any(gate.decision == "fail" for gate in self.gates)

    def to_dict(self) -> dict[str, Any]:
        """The report in the format ``novelty-report/1``."""
        from pytest_novelty.reports.as_dict import report_to_dict

        return report_to_dict(self)

    def __repr__(self) -> str:
        return f"<Report: {self.headline}>"


def make_report(
    plan: Plan, results: Iterable[CaseResult], *, unenforced: str = "", notes: Sequence[str] = ()
) -> Report:
    """Compute everything from the results of the cases that ran.

    ``unenforced``: why gates do not count although they are computed (``-k``, ``-x``); empty if they do. Gates of a suite of
    which not all planned cases ran are never enforced.
    """
    outcomes = sorted({result.label: result for result in results}.values(), key=lambda result: result.label)
    relabelled: list[CaseResult] = []
    grouped: dict[tuple[str, str, str], list[CaseResult]] = {}
    for result in outcomes:
        grouped.setdefault((result.suite, result.variant, result.judge), []).append(result)
    views: dict[tuple[str, str, str], View] = {}
    resamplers: dict[str, dict[int, Resampler]] = {}
    for (suite, variant_name, judge_name), members in grouped.items():
        traits = next(item.traits for item in plan.judges if item.name == judge_name)
        if plan.settings.threshold == "cv":
            members = label_by_cross_validation(members, plan.suites[suite].suite, traits, plan.settings.seed)
        views[suite, variant_name, judge_name] = View(
            members,
            plan.suites[suite].suite,
            traits,
            failures=plan.settings.failures,
            seed=plan.settings.seed,
            cross_fitted=plan.settings.threshold == "cv",
            resamplers=resamplers.setdefault(suite, {}),
        )
        relabelled += members
    outcomes = sorted(relabelled, key=lambda result: result.label)
    rows: list[MetricRow] = []
    gates: list[GateResult] = []
    comparisons: list[Comparison] = []
    for planned in plan.suites.values():
        of_suite = {key[1:]: view for key, view in views.items() if key[0] == planned.suite.name}
        computed = _metric_rows(planned, of_suite)
        rows += computed
        gates += _decide_gates(plan, planned, of_suite, computed, unenforced)
        for variant in planned.variants:
            pairs = [
                (judge.name, of_suite[variant.name, judge.name])
                for judge in plan.judges
                if (variant.name, judge.name) in of_suite
            ]
            comparisons += compare_all(pairs, variant.name)
    calls = _count_calls(plan, outcomes)
    findings = [*find_unanswered(views), *find_degenerate(views), *find_looked_up(views), *find_of_calls(outcomes)]
    baselines = _baselines(plan, views)
    report = Report(plan, rows, gates, comparisons, outcomes, calls, findings, "", baselines, list(notes))
    report.headline = make_headline(report)
    return report


def _metric_rows(planned: SuitePlan, views: Mapping[tuple[str, str], View]) -> list[MetricRow]:
    suite = planned.suite
    rows = []
    for (variant, judge), view in sorted(views.items()):
        for metric in metrics_for(suite):
            estimate = metric.compute(view)
            rows.append(MetricRow(judge, suite.name, suite.protocol, variant, metric.name, estimate))
        for gate in planned.gates:
            if gate.stratum is not None and gate.variant == variant:
                estimate = CATALOGUE[gate.metric].compute(view.only(*gate.stratum))
                rows.append(
                    MetricRow(judge, suite.name, suite.protocol, variant, gate.metric, estimate, ":".join(gate.stratum))
                )
    return rows


def _decide_gates(
    plan: Plan,
    planned: SuitePlan,
    views: Mapping[tuple[str, str], View],
    rows: Sequence[MetricRow],
    unenforced: str,
) -> list[GateResult]:
    """The gates of every judge that ran on the suite. None at all if no case of the suite ran."""
    found = []
    index = {(row.judge, row.variant, row.metric, row.stratum): row.estimate for row in rows}
    run_variants = {(judge.name, variant.name) for judge, variant in plan.pairs(planned)}
    for judge in plan.judges:
        if not any(name == judge.name for _, name in views):
            continue
        for gate in planned.gates:
            stratum = ":".join(gate.stratum) if gate.stratum else None
            estimate = index.get((judge.name, gate.variant, gate.metric, stratum))
            if estimate is None:
                why = (
                    f"the variant {gate.variant} was not run"
                    if (judge.name, gate.variant) not in run_variants
                    else "no instance of it ran"
                )
                found.append(GateResult(judge.name, planned.suite.name, gate, NOT_ENFORCED, f"{gate.text}: {why}"))
                continue
            result = judge_gate(gate, estimate, judge.name, planned.suite.name, by_point=plan.settings.by_point)
            ran = len(views[gate.variant, judge.name])
            if ran < len(planned.instances):
                why = f"not enforced: {ran} of {len(planned.instances)} instances ran"
                why = f"{why} ({unenforced})" if unenforced else why
                result = GateResult(
                    result.judge, result.suite, gate, NOT_ENFORCED, f"{why}; {result.message}",
                    result.value, result.low, result.high, result.n,
                )  # fmt: skip
            found.append(result)
    return found


def _count_calls(plan: Plan, outcomes: Sequence[CaseResult]) -> Calls:
    uses = [result.usage for result in outcomes]
    latencies = np.array([ms for use in uses for ms in use.latencies_ms], dtype=np.float64) / 1000.0
    percentiles: dict[str, float] = {}
    if len(latencies):
        for name, value in zip(("p50", "p90", "p99", "max"), np.percentile(latencies, [50, 90, 99, 100]), strict=True):
            percentiles[name] = float(value)
    unpriced = sum(use.unpriced for use in uses)
    known = sum(use.cost_usd for use in uses)
    return Calls(
        planned=sum(case.planned_calls for case in plan.cases()),
        reused=sum(use.reused for use in uses),
        made=sum(use.made for use in uses),
        retried=sum(use.retries for use in uses),
        failed=sum(sum(result.kinds.values()) for result in outcomes),
        tokens_in=sum(use.tokens_in for use in uses),
        tokens_out=sum(use.tokens_out for use in uses),
        cost_usd=None if unpriced else known,
        unpriced=unpriced,
        latency_s=percentiles,
        tokens_cached=sum(use.tokens_cached for use in uses),
        tokens_reasoning=sum(use.tokens_reasoning for use in uses),
    )


def _baselines(plan: Plan, views: Mapping[tuple[str, str, str], View]) -> dict[str, float]:
    """What ``lexical`` would have on the instances that ran, by suite: what a judge has to beat."""
    from pytest_novelty.baseline import lexical_accuracy

    found = {}
    for (suite, variant, judge), view in views.items():
        if variant == REFERENCE and judge != "lexical" and suite not in found and not view.unlabelled:
            accuracy = lexical_accuracy(plan.suites[suite], {result.instance for result in view.results})
            if accuracy is not None:
                found[suite] = accuracy
    return found


def versions() -> dict[str, str]:
    """The versions that a result may depend on."""
    from importlib.metadata import version

    names = ("pytest-novelty", "numpy", "scipy", "pytest")
    return {"python": platform.python_version(), **{name: version(name) for name in names}}
