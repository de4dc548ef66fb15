"""What the lexical baseline is worth on the instances of a run: computed, not remembered, because suites change."""

from __future__ import annotations

from dataclasses import replace

from pytest_novelty.calls import CallPlanner, Case
from pytest_novelty.judges.base import bind_judge
from pytest_novelty.judges.lexical import Lexical
from pytest_novelty.model import CORRECT, REFERENCE, Verdict, Vote
from pytest_novelty.outcomes import make_outcome
from pytest_novelty.plan import SuitePlan

_MAX_INSTANCES = 2000
"""Beyond this the baseline would cost seconds for a figure nobody asked for."""


def lexical_accuracy(planned: SuitePlan, instances: set[str]) -> float | None:
    """Share of the instances that ``lexical`` gets right; None if it abstains on all, or they are too many.

    One vote an order: the judge is deterministic. Nothing is stored.
    """
    if len(instances) > _MAX_INSTANCES:
        return None
    reference = next(variant for variant in planned.variants if variant.name == REFERENCE)
    variant = replace(reference, axes=replace(reference.axes, votes=1, params={}))
    lexical = Lexical()
    judge = bind_judge("lexical", lexical)
    planner = CallPlanner({})
    right = decided = 0
    for instance in planned.instances:
        if instance.id not in instances:
            continue
        case = Case(judge, planned.suite, variant, instance)
        votes = []
        for call in planner.plan(case):
            verdict = case.protocol.read(lexical(call.request), judge.traits, len(call.shown_ids))
            assert isinstance(verdict, Verdict), verdict  # it is ours, and always answers
            label = case.protocol.label_of(verdict, call.shown_ids)
            votes.append(Vote(call.request.order, 0, label=label, abstained=label is None))
        outcome = make_outcome(planned.suite, instance, votes, case.orders, judge.traits)
        right += outcome.result == CORRECT
        decided += any(vote.valid for vote in votes)
    return right / len(instances) if decided else None
