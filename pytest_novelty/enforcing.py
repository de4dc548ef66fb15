"""The gates of a run: which estimate each rests on, and whether it may be held against the judge."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pytest_novelty.deciding import NOT_ENFORCED, GateResult, Price, Reach, judge_gate
from pytest_novelty.derivation import not_taken
from pytest_novelty.gates import DEFAULT_STABILITY_GATE, Gate
from pytest_novelty.measuring import Key, MetricRow, row_of
from pytest_novelty.metrics.catalogue import PairMetric
from pytest_novelty.metrics.variants import SCORES_NOTE, TOO_FEW_VOTES_NOTE
from pytest_novelty.metrics.view import View
from pytest_novelty.model import REFERENCE, Instance
from pytest_novelty.plan import Plan, SuitePlan


def decide_gates(
    plan: Plan, planned: SuitePlan, views: Mapping[Key, View], rows: Sequence[MetricRow], unenforced: str
) -> list[GateResult]:
    """The gates of every judge that ran on the suite. None at all if no case of the suite ran."""
    found = []
    for judge in plan.judges:
        if not any(name == judge.name for _, name in views):
            continue
        price = price_of(plan, planned, judge.name, views)
        for gate in planned.gates:
            row = row_of(gate, judge.name, rows)
            if row is None:
                why = _why_not_run(plan, planned, gate, judge.name)
                found.append(GateResult(judge.name, planned.suite.name, gate, NOT_ENFORCED, f"{gate.text}: {why}"))
                continue
            result = judge_gate(
                gate,
                row.estimate,
                judge.name,
                planned.suite.name,
                by_point=plan.settings.by_point,
                price=price,
                reach=_reach(plan, planned, gate, views, judge.name),
            )
            ran = min(len(views[key]) for key in _needed(gate, judge.name, views))
            if gate.over and (absent := _absent(plan, planned, judge.name, views)):
                why = f"not enforced: {', '.join(absent)} did not run" + (f" ({unenforced})" if unenforced else "")
                result = replace(result, decision=NOT_ENFORCED, message=f"{why}; {result.message}")
            elif why := _not_taken(planned, gate, views, judge.name):
                result = replace(result, decision=NOT_ENFORCED, message=f"not enforced: {why}; {result.message}")
            elif (
                gate.text == DEFAULT_STABILITY_GATE
                and result.value is None
                and row.estimate.note in (TOO_FEW_VOTES_NOTE, SCORES_NOTE)
            ):
                result = replace(result, decision=NOT_ENFORCED, message=f"not enforced: {result.message}")
            elif ran < len(planned.instances):
                why = f"not enforced: {ran} of {len(planned.instances)} instances ran"
                why = f"{why} ({unenforced})" if unenforced else why
                result = replace(result, decision=NOT_ENFORCED, message=f"{why}; {result.message}")
            elif gate.over and (left_out := _skipped(plan, planned, judge.name)):
                result = replace(result, message=f"{result.message}; {left_out}", left_out=left_out)
            found.append(result)
    return found


def _reach(plan: Plan, planned: SuitePlan, gate: Gate, views: Mapping[Key, View], judge: str) -> Reach:
    """Of a stratum only its own instances count."""

    def size(instances: Iterable[Instance]) -> int:
        place = gate.stratum
        return sum(place is None or item.strata.get(place[0]) == place[1] for item in instances)

    # Of clusters it is their number that counts, and no formula for instances says how many it takes.
    clustered = planned.suite.cluster is not None
    impossible = (planned.problem(gate, by_point=plan.settings.by_point) or "") if clustered else ""
    ran = min(size(views[key].instances) for key in _needed(gate, judge, views))
    return Reach(planned.level, size(planned.suite.instances), ran, impossible)


def _not_taken(planned: SuitePlan, gate: Gate, views: Mapping[Key, View], judge: str) -> str:
    """Why the variant that a gate names was no variant."""
    found = [variant for variant in planned.variants if variant.name == gate.variant and variant.changed]
    return not_taken(found[0], views[gate.variant, judge].results) if found and (gate.variant, judge) in views else ""


def _absent(plan: Plan, planned: SuitePlan, judge: str, views: Mapping[Key, View]) -> list[str]:
    """The variants that the judge was to be asked under and was not: deselected, or not recorded."""
    wanted = [variant.name for asked, variant in plan.pairs(planned) if asked.name == judge]
    return [name for name in wanted if (name, judge) not in views]


def _needed(gate: Gate, judge: str, views: Mapping[Key, View]) -> list[Key]:
    """The views that a gate rests on."""
    own = [key for key in views if key[1] == judge]
    if gate.over:
        return own
    names = {gate.variant, REFERENCE} if isinstance(gate.entry, PairMetric) else {gate.variant}
    return [key for key in own if key[0] in names]


def _why_not_run(plan: Plan, planned: SuitePlan, gate: Gate, judge: str) -> str:
    skipped = _skipped(plan, planned, judge)
    if gate.over:
        return skipped or "no variant was run: add --novelty-variant=all"
    if reason := plan.skipped.get((judge, planned.suite.name, gate.variant)):
        return f"the variant {gate.variant} is skipped: {judge} {reason}"
    if gate.variant not in {variant.name for variant in planned.variants}:
        return f"the variant {gate.variant} was not run"
    return "no instance of it ran"


def _skipped(plan: Plan, planned: SuitePlan, judge: str) -> str:
    """The variants that a judge was not asked under, with the reasons: they count for nothing."""
    reasons: dict[str, list[str]] = {}
    for (name, suite, variant), reason in sorted(plan.skipped.items()):
        if (name, suite) == (judge, planned.suite.name) and variant:
            reasons.setdefault(reason, []).append(variant)
    return "; ".join(f"without {', '.join(names)} ({reason})" for reason, names in reasons.items())


def price_of(plan: Plan, planned: SuitePlan, judge: str, views: Mapping[Key, View]) -> Price:
    """What one more instance costs the judge, over the variants that it is run with: declared, else measured in this run, or
    in those that the store has the calls of.
    """
    bound = next(item for item in plan.judges if item.name == judge)
    results = [result for (_, name), view in views.items() if name == judge for result in view.results]
    instances = max(len(view) for (_, name), view in views.items() if name == judge)
    calls = sum(result.usage.made + result.usage.reused for result in results) / instances
    if bound.traits.cost_usd_per_call is not None:
        return Price(bound.traits.cost_usd_per_call * calls, "as declared")
    uses = [result.usage for result in results]
    made, reused = sum(use.made for use in uses), sum(use.reused for use in uses)
    if not made + reused or any(use.unpriced or use.reused_unpriced for use in uses):
        return Price(None)
    cost = sum(use.cost_usd + use.reused_usd for use in uses)
    return Price(cost / (made + reused) * calls, "as measured" if made else "as recorded")
