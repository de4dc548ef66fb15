"""Results of cases -> metrics, gates, comparisons: one Report, the same from pytest, from xdist and from ``evaluate()``."""

from __future__ import annotations

import datetime as dt
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pytest_novelty.auditing import cites
from pytest_novelty.cascades import Grounded, Published, ground_suite
from pytest_novelty.catching import Crash, Net
from pytest_novelty.claiming import Claim, find_claims
from pytest_novelty.comparing import compare_judges
from pytest_novelty.deciding import GateResult
from pytest_novelty.derivation import derive_results, not_taken, same_calls
from pytest_novelty.drifting import Drift
from pytest_novelty.enforcing import decide_gates, price_of
from pytest_novelty.errors import SettingsError, UnknownNameError
from pytest_novelty.findings import (
    Views,
    find_degenerate,
    find_few_clusters,
    find_kin,
    find_lacking_audits,
    find_looked_up,
    find_no_reference,
    find_of_calls,
    find_old,
    find_shared_ideas,
    find_unanswered,
)
from pytest_novelty.gates import MAX
from pytest_novelty.headline import make_headline
from pytest_novelty.measuring import MetricRow, VariantResult, measure
from pytest_novelty.metrics.auditors import Auditors
from pytest_novelty.metrics.catalogue import FamilyMetric, PairMetric, get_metric
from pytest_novelty.metrics.comparison import Comparison
from pytest_novelty.metrics.resampling import Resampler
from pytest_novelty.metrics.retrieval import sum_usd
from pytest_novelty.metrics.view import Estimate, View, label_by_cross_validation
from pytest_novelty.model import REFERENCE
from pytest_novelty.outcomes import CaseResult
from pytest_novelty.plan import Plan, SuitePlan
from pytest_novelty.tally import Made, sum_told
from pytest_novelty.textless import find_textless, undecided_without_text

if TYPE_CHECKING:
    from pytest_novelty.between_runs.changes import RunComparison


@dataclass(frozen=True, slots=True)
class Calls:
    """What the run's calls took. Percentiles in seconds; ``cost_usd`` None where the cost of a call is unknown.

    ``made``, ``cost_usd``, ``unpriced`` and ``known_usd`` count all calls, ``unfinished`` those of them whose cases did not end;
    everything else is of cases that ended. Tokens in and out sum the calls that told theirs; None if none did.
    """

    planned: int = 0
    reused: int = 0
    made: int = 0
    retried: int = 0
    failed: int = 0
    tokens_in: int | None = 0
    tokens_out: int | None = 0
    cost_usd: float | None = 0.0
    unpriced: int = 0
    latency_s: Mapping[str, float] = field(default_factory=dict)
    tokens_cached: int = 0
    tokens_reasoning: int = 0
    known_usd: float = 0.0
    """What the calls of known cost took."""
    unfinished: int = 0
    audits: int = 0
    """Of those made and reused."""
    audits_failed: int = 0


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
    baselines: Mapping[str, float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    variants: list[VariantResult] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    against: RunComparison | None = None
    """What changed since an earlier report, if the run was given one."""
    drifts: list[Drift] = field(default_factory=list)
    """Comparisons with recorded verdicts, each a gate like any other."""
    grounding: list[Grounded] = field(default_factory=list)
    """The cascade of each judge and variant, on suites whose answers cite evidence."""
    published: list[Published] = field(default_factory=list)
    """Of suites that are scored as published, the release's figures beside ours."""
    auditors: list[Auditors] = field(default_factory=list)
    """On suites of reasons: judges against the labels, and among each other."""
    crashes: list[Crash] = field(default_factory=list)
    """What could not be computed, if the report was made all the same."""

    @property
    def headline(self) -> str:
        """What the judges are worth, in some sentences: of what the report holds now, comparisons among it."""
        return make_headline(self)

    def metric(
        self,
        name: str,
        *,
        variant: str | None = None,
        stratum: str | None = None,
        judge: str | None = None,
        suite: str | None = None,
        reference: str | None = None,
    ) -> Estimate:
        """One estimate.

        Parameters
        ----------
        name: as in the catalogue, for example ``strict_accuracy``, ``vote_shift``, ``max_flip_rate``.
        variant: its name, or ``max``, ``min`` or ``mean`` over all. Default: the reference; of a metric that compares
            variants with the reference the largest.
        reference: for metrics that compare: the judge that ``judge`` was compared with (``--novelty-reference``), instead of
            the reference variant.

        Raises
        ------
        UnknownNameError: there is none. SettingsError: several fit, and ``judge`` or ``suite`` must be given to choose.
        """
        entry = get_metric(name)
        if isinstance(entry, FamilyMetric):
            variant = f"[{entry.over}]"
        elif variant in ("max", "min", "mean"):
            variant = f"[{variant}]"
        elif variant is None:
            variant = MAX if isinstance(entry, PairMetric) and reference is None else REFERENCE
        found = [
            row
            for row in self.metrics
            if (row.metric, row.variant, row.stratum) == (name, variant, stratum)
            and judge in (None, row.judge)
            and suite in (None, row.suite)
            and (row.reference is None or row.reference.judge == (reference or row.judge))
        ]
        if len(found) == 1:
            return found[0].estimate
        if found:
            places = ", ".join(f"judge={row.judge!r}, suite={row.suite!r}" for row in found)
            raise SettingsError(f"{len(found)} estimates of {_called(name, variant)} fit", hint=f"Choose one: {places}")
        known = {
            _called(row.metric, row.variant) for row in self.metrics if row.metric == name or row.variant == variant
        }
        raise UnknownNameError("estimate", _called(name, variant), known)

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
    plan: Plan,
    results: Iterable[CaseResult],
    *,
    unenforced: str = "",
    notes: Sequence[str] = (),
    made: Made | None = None,
    net: Net | None = None,
) -> Report:
    """Compute everything from the results of the cases that ran.

    ``unenforced``: why gates do not count although they are computed (``-k``, ``-x``); empty if they do. Gates of a suite of
    which not all planned cases ran are never enforced. ``made``: all calls of the run, if cases of some did not end.
    ``net``: catches what crashes, which is then missing and told in ``crashes``; without one an exception passes.
    """
    net = net or Net()
    judged = sorted({result.label: result for result in results}.values(), key=lambda result: result.label)
    derived = [
        result
        for planned in plan.suites.values()
        for result in derive_results(plan, planned, (item for item in judged if item.suite == planned.suite.name))
    ]
    outcomes, views = _make_views(plan, [*judged, *derived])
    report = Report(
        plan,
        [],
        [],
        [],
        outcomes,
        _count_calls(plan, judged, made or Made()),
        [],
        _baselines(plan, views),
        [*plan.left_out, *notes],
    )
    for planned in plan.suites.values():
        of_suite = {key[1:]: view for key, view in views.items() if key[0] == planned.suite.name}
        _add_suite(report, planned, of_suite, unenforced, net)
    report.findings = net.catch("what is to be found beside the metrics", lambda: _find(report, judged, views), _none)
    report.crashes = net.crashes
    return report


def _none(_: str) -> list[Any]:
    return []


def _find(report: Report, judged: Sequence[CaseResult], views: Views) -> list[str]:
    plan = report.plan
    return [
        *find_unanswered(views),
        *find_degenerate(views),
        *find_looked_up(views),
        *find_of_calls(judged),
        *find_lacking_audits(plan, judged),
        *find_textless(plan.settings, judged, undecided_without_text(report.gates, report.outcomes)),
        *find_kin(plan, judged),
        *find_old(judged, plan.settings.max_age_days, dt.datetime.now(dt.UTC)),
        *find_few_clusters(views),
        *find_shared_ideas(views),
        *find_no_reference(plan, views),
    ]


def _make_views(plan: Plan, results: Sequence[CaseResult]) -> tuple[list[CaseResult], dict[tuple[str, str, str], View]]:
    """(outcomes, views by (suite, variant, judge)) of the results, labelled by cross-validation where that is asked for."""
    grouped: dict[tuple[str, str, str], list[CaseResult]] = {}
    for result in results:
        grouped.setdefault((result.suite, result.variant, result.judge), []).append(result)
    settings = plan.settings
    outcomes: list[CaseResult] = []
    views: dict[tuple[str, str, str], View] = {}
    resamplers: dict[str, dict[int, Resampler]] = {}
    for (suite, variant, judge), members in grouped.items():
        traits = next(item.traits for item in plan.judges if item.name == judge)
        if settings.threshold == "cv":
            members = label_by_cross_validation(members, plan.suites[suite].suite, traits, settings.seed)
        views[suite, variant, judge] = View(
            members,
            plan.suites[suite].suite,
            traits,
            failures=settings.failures,
            seed=settings.seed,
            cross_fitted=settings.threshold == "cv",
            resamplers=resamplers.setdefault(suite, {}),
            threshold=settings.fixed_threshold,
            level=plan.suites[suite].level,
        )
        outcomes += members
    return sorted(outcomes, key=lambda result: result.label), views


def _add_suite(
    report: Report, planned: SuitePlan, views: Mapping[tuple[str, str], View], unenforced: str, net: Net
) -> None:
    """Everything of one suite: estimates, gates, comparisons of judges."""
    plan = report.plan
    judges = {judge.name: judge for judge in plan.judges}
    variants = {variant.name: variant for variant in planned.variants}
    measured = measure(
        planned,
        views,
        lambda judge, variant: (
            not_taken(variants[variant], views[variant, judge].results)
            or same_calls(plan, planned, judges[judge], variants[variant])
        ),
        plan.settings.reference,
        net,
    )
    name = planned.suite.name
    report.metrics += measured.rows
    report.variants += measured.variants
    report.claims += net.catch(f"the claim of {name}", lambda: find_claims(planned, views, list(judges)), _none)
    grounded = ground_suite(plan, planned, views, net)
    report.grounding += grounded.cascades
    report.published += grounded.published
    report.auditors += grounded.auditors
    rows = measured.rows
    make_gates = partial(decide_gates, plan, planned, views, rows, unenforced)
    report.gates += net.catch(f"gates on {name}", make_gates, _none)
    ran = [judge for judge in judges if any(judge == other for _, other in views)]
    prices = {judge: price_of(plan, planned, judge, views) for judge in ran}
    against = plan.settings.reference
    auditors = {judge: plan.auditors_of(judge)[0] for judge in ran} if cites(planned.suite.protocol) else None
    compare = partial(compare_judges, ran, list(variants), views, rows, prices, against, auditors)
    report.comparisons += net.catch(f"the comparison of judges on {name}", compare, _none)


def _called(name: str, variant: str) -> str:
    return f"{name}{variant}" if variant.startswith("[") else f"{name}[{variant}]"


def _count_calls(plan: Plan, outcomes: Sequence[CaseResult], run: Made) -> Calls:
    uses = [result.usage for result in outcomes]
    latencies = np.array([ms for use in uses for ms in use.latencies_ms], dtype=np.float64) / 1000.0
    percentiles: dict[str, float] = {}
    if len(latencies):
        for name, value in zip(("p50", "p90", "p99", "max"), np.percentile(latencies, [50, 90, 99, 100]), strict=True):
            percentiles[name] = float(value)
    unpriced = sum(use.unpriced for use in uses)
    known = sum_usd(use.cost_usd for use in uses)
    made = sum(use.made for use in uses)
    unfinished = max(0, run.calls - made)
    if unfinished:  # asked ahead of cases that then did not run, or stopped in the middle of one: paid for all the same
        made, unpriced, known = run.calls, max(unpriced, run.unpriced), max(known, sum_usd([run.known_usd]))
    return Calls(
        planned=sum(case.planned_calls for case in plan.cases()),
        reused=sum(use.reused for use in uses),
        made=made,
        retried=sum(use.retries for use in uses),
        failed=sum(sum(result.kinds.values()) for result in outcomes),
        tokens_in=sum_told((use.made, use.tokens_in) for use in uses),
        tokens_out=sum_told((use.made, use.tokens_out) for use in uses),
        cost_usd=None if unpriced else known,
        unpriced=unpriced,
        latency_s=percentiles,
        tokens_cached=sum(use.tokens_cached for use in uses),
        tokens_reasoning=sum(use.tokens_reasoning for use in uses),
        known_usd=known,
        unfinished=unfinished,
        audits=sum(result.audits.calls for result in outcomes),
        audits_failed=sum(sum(result.audits.failed.values()) for result in outcomes),
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
