"""Variants that need no calls: fewer votes, or one order of two, of the reference's; and those that change nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from pytest_novelty.audits import Audits
from pytest_novelty.calls import CallPlanner, Case
from pytest_novelty.errors import NoveltyError
from pytest_novelty.judges.base import Judge
from pytest_novelty.model import OK, REFERENCE, Request, Variant
from pytest_novelty.outcomes import CaseResult, make_outcome
from pytest_novelty.plan import Plan, SuitePlan

FEWER_VOTES = "same calls: some of the reference's votes"
NOT_TAKEN: Final = "same calls: the server does not take"
SAME_REQUESTS = "same calls: the variant shows the judge the very same requests"


def derive_results(plan: Plan, planned: SuitePlan, results: Iterable[CaseResult]) -> list[CaseResult]:
    """The results of the suite's derived variants, from those of the reference: the first votes of their orders.

    A variant that has results of its own is not derived again. What the calls took is counted once, with the reference.
    """
    own = list(results)
    present = {(result.judge, result.variant) for result in own}
    found = []
    for variant in planned.derived:
        for judge in plan.judges:
            if (judge.name, variant.name) in present:
                continue
            found += [
                _derive(plan, planned, judge, variant, result)
                for result in own
                if (result.judge, result.variant) == (judge.name, REFERENCE)
            ]
    return found


def _derive(plan: Plan, planned: SuitePlan, judge: Judge, variant: Variant, result: CaseResult) -> CaseResult:
    instance = planned.by_id[result.instance]
    asked = Case(judge, planned.suite, variant, instance).orders
    votes = tuple(vote for vote in result.outcome.votes if vote.sample < variant.axes.votes and vote.order in asked)
    orders = tuple(dict.fromkeys(vote.order for vote in votes))
    outcome = make_outcome(planned.suite, instance, votes, orders, judge.traits, plan.settings.fixed_threshold)
    kinds: dict[str, int] = {}
    for vote in votes:
        if vote.status != OK:
            kinds[vote.status] = kinds.get(vote.status, 0) + 1  # the finer kind does not travel with a vote
    open_ = sum(ground.has_reason and ground.supported is None for vote in votes for ground in vote.grounds)
    audits = Audits(result.audits.wanted, textless=min(result.audits.textless, open_))
    return CaseResult(judge.name, planned.suite.name, variant.name, instance.id, outcome, kinds=kinds, audits=audits)


def same_calls(plan: Plan, planned: SuitePlan, judge: Judge, variant: Variant) -> str:
    """Why the variant's answers say nothing that the reference's do not; empty if they do.

    Requests are compared as the judge sees them, seeds apart, until one differs.
    """
    if variant in planned.derived:
        return FEWER_VOTES
    if "votes" in variant.changed:
        return ""  # more votes are calls of its own: where nothing else changes, the judge's own noise is measured
    planner = CallPlanner(plan.prompts, plan.settings.seed)
    try:
        for instance in planned.instances:
            shown = [
                [_shown(call.request) for call in planner.plan(Case(judge, planned.suite, _once(each), instance))]
                for each in (planned.reference, variant)
            ]
            if shown[0] != shown[1]:
                return ""
    except NoveltyError:  # a prompt that does not render: its cases have said so
        return ""
    return SAME_REQUESTS


_TOLD_AS: Final = {"temperature": "temperature", "effort": "reasoning_effort"}


def not_taken(variant: Variant, results: Iterable[CaseResult]) -> str:
    """Why a variant asked nothing new though it was asked: the server refused all that it changes. Empty if it did not."""
    names = [_TOLD_AS.get(axis, "") for axis in variant.changed]
    told = {text for result in results for text in result.usage.settings}
    refused = [{part.partition("=")[0] for part in text.split(", ") if part.endswith(" (refused)")} for text in told]
    if not names or not refused or not all(set(names) <= each for each in refused):
        return ""
    return f"{NOT_TAKEN} {' or '.join(names)}"


def _once(variant: Variant) -> Variant:
    return replace(variant, axes=replace(variant.axes, votes=1))


def _shown(request: Request) -> tuple[object, ...]:
    return (
        request.order,
        request.ideas,
        request.as_of,
        request.messages,
        request.schema,
        request.params,
        request.effort,
        request.temperature,
    )
