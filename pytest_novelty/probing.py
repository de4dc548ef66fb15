"""``--novelty-probe``: what the store had of the instances that were asked anew, to be compared as golden verdicts are."""

from __future__ import annotations

from typing import NamedTuple

from pytest_novelty.calls import CallPlanner, Case
from pytest_novelty.generations import later_key
from pytest_novelty.golden import Golden, make_golden
from pytest_novelty.judges.base import Judge
from pytest_novelty.model import Record
from pytest_novelty.outcomes import case_result
from pytest_novelty.plan import Plan, SuitePlan
from pytest_novelty.recording import Recorder
from pytest_novelty.store import VerdictStore


class Stored(NamedTuple):
    """Verdicts of the first generation, of the instances that the run's probe asked anew. ``first``, ``last``: when they were
    recorded; ``new``: how many instances had none, so that the probe's are their first.
    """

    golden: Golden
    first: str
    last: str
    new: int


def stored_verdicts(plan: Plan, planned: SuitePlan, judge: Judge, store: VerdictStore, generation: str) -> Stored:
    """Read both generations of the planned instances. Raises StoreError."""
    planner = CallPlanner(plan.prompts, plan.settings.seed)
    cases = [Case(judge, planned.suite, planned.reference, instance) for instance in planned.instances]
    calls = [planner.plan(case) for case in cases]
    keys = [call.key for row in calls for call in row]
    before = store.get(keys)
    after = store.get([later_key(key, generation) for key in keys])
    recorder = Recorder(secrets=judge.secrets)
    results, dates, new = [], [], 0
    for case, row in zip(cases, calls, strict=True):
        if all(later_key(call.key, generation) in after for call in row):
            records: list[Record] = [recorder.reread(call, before[call.key]) for call in row]
            results.append(case_result(case, records, [], plan.settings.fixed_threshold))
            dates += [record.created for record in records if record.created]
        else:
            new += any(call.key in before for call in row)
    golden = make_golden(plan, planned, judge, results)
    return Stored(golden, min(dates, default=""), max(dates, default=""), new)
