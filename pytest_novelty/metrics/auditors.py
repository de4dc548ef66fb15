"""How good the judges of an ``entailment`` suite are as auditors: against its labels, and among each other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_novelty.metrics.agreement import AuditorAgreement, Opinions, Validation, agree, validate
from pytest_novelty.metrics.view import View
from pytest_novelty.verdicts import SUPPORTED, UNSUPPORTED


@dataclass(frozen=True)
class Auditors:
    """``validations``: by judge, against the suite's labels, if it has any. ``agreement``: of several judges on the instances
    that all of them judged; None of one.
    """

    suite: str
    variant: str
    validations: Mapping[str, Validation] = field(default_factory=dict)
    agreement: AuditorAgreement | None = None


def compare_auditors(suite: str, variant: str, views: Mapping[str, View]) -> Auditors:
    """Of one variant; ``views`` by judge. What counts is each outcome's label; a tie or a failure is no opinion."""
    validations = {
        judge: validate(view, opinions_of(view), [opinion_of(instance.gold) for instance in view.instances])
        for judge, view in views.items()
        if not view.unlabelled
    }
    common = set.intersection(*({result.instance for result in view.results} for view in views.values()))
    if len(views) < 2 or not common:
        return Auditors(suite, variant, validations)
    shared = {judge: view.restricted(common) for judge, view in views.items()}
    units = next(iter(shared.values()))
    return Auditors(
        suite, variant, validations, agree(units, {name: opinions_of(view) for name, view in shared.items()})
    )


def opinions_of(view: View) -> Opinions:
    """Whether each outcome says *supported*; None where it says nothing."""
    return [opinion_of(label) for label in view.outcome_labels]


def opinion_of(label: str | None) -> bool | None:
    """Of a label of the protocol."""
    return {SUPPORTED: True, UNSUPPORTED: False}.get(label or "")
