"""``--novelty-probe``: both answers to what was asked anew, the stored and the later, to be compared as golden verdicts are."""

from __future__ import annotations

from collections.abc import Container
from typing import NamedTuple

from pytest_novelty.calls import CallPlanner, Case
from pytest_novelty.generations import is_answered, later_key
from pytest_novelty.golden import Golden, make_golden
from pytest_novelty.judges.base import Judge
from pytest_novelty.outcomes import CaseResult, case_result
from pytest_novelty.plan import Plan, SuitePlan
from pytest_novelty.recording import Recorder
from pytest_novelty.store import VerdictStore


class Probed(NamedTuple):
    """What the store had of the instances that a probe asked anew, and what the probe heard: of each instance the votes that were
    answered both times. ``first``, ``last``: when the earlier ones were recorded.

    ``new``: instances that had no answer, so that the probe's are their first; ``unpaired``: votes without a counterpart, on
    ``touched`` instances, of which ``apart`` have no vote that was answered both times. ``results``: both sides, with evidence.
    """

    before: Golden
    after: Golden
    first: str
    last: str
    new: int
    unpaired: int
    touched: int
    apart: int
    results: tuple[list[CaseResult], list[CaseResult]]


def read_probed(
    plan: Plan, planned: SuitePlan, judge: Judge, store: VerdictStore, generation: str, judged: Container[str]
) -> Probed:
    """Read both generations of the instances that the run ``judged``. Raises StoreError."""
    planner = CallPlanner(plan.prompts, plan.settings.seed)
    cases = [
        Case(judge, planned.suite, planned.reference, instance)
        for instance in planned.instances
        if instance.id in judged
    ]
    rows = [planner.plan(case) for case in cases]
    first = store.get([call.key for row in rows for call in row])
    later = store.get([later_key(call.key, generation) for row in rows for call in row])
    recorder = Recorder(secrets=judge.secrets)
    before: list[CaseResult] = []
    after: list[CaseResult] = []
    dates: list[str] = []
    new = unpaired = touched = apart = 0
    for case, row in zip(cases, rows, strict=True):
        said = [(call, first.get(call.key), later.get(later_key(call.key, generation))) for call in row]
        if all(now is None for *_, now in said):
            new += 1
            continue
        pairs = [
            (recorder.reread(call, then), recorder.reread(call, now))
            for call, then, now in said
            if then is not None and now is not None and is_answered(then) and is_answered(now)
        ]
        unpaired += len(row) - len(pairs)
        touched += len(pairs) < len(row)
        apart += not pairs
        if pairs:
            for results, records in zip((before, after), zip(*pairs, strict=True), strict=True):
                results.append(case_result(case, records, [], plan.settings.fixed_threshold))
            dates += [then.created for then, _ in pairs if then.created]
    sides = (make_golden(plan, planned, judge, before), make_golden(plan, planned, judge, after))
    return Probed(
        *sides, min(dates, default=""), max(dates, default=""), new, unpaired, touched, apart, (before, after)
    )
