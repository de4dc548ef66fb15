"""How good the judges of an ``entailment`` suite are as auditors: against its labels, and among each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from pytest_novelty.metrics.agreement import AuditorAgreement, Opinions, Validation, agree, validate
from pytest_novelty.metrics.sampled import Items, Units
from pytest_novelty.metrics.strata import Strata, measure_within, strata_of
from pytest_novelty.metrics.view import View
from pytest_novelty.verdicts import SUPPORTED, UNSUPPORTED


@dataclass(frozen=True)
class Auditors:
    """``validations``: by judge, against the suite's labels, if it has any. ``agreement``: of several judges on the instances
    that all of them judged, or of several auditors on the statements of a suite of papers; None of one.
    """

    suite: str
    variant: str
    validations: Mapping[str, Validation] = field(default_factory=dict)
    agreement: AuditorAgreement | None = None


def compare_auditors(suite: str, variant: str, views: Mapping[str, View]) -> Auditors:
    """Of one variant; ``views`` by judge. What counts is each outcome's label; a tie or a failure is no opinion."""
    validations = {judge: _validate(view) for judge, view in views.items() if not view.unlabelled}
    common = set.intersection(*({result.instance for result in view.results} for view in views.values()))
    if len(views) < 2 or not common:
        return Auditors(suite, variant, validations)
    shared = {judge: view.restricted(common) for judge, view in views.items()}
    units = next(iter(shared.values()))
    opinions = {name: opinions_of(view) for name, view in shared.items()}
    return Auditors(suite, variant, validations, _agree(units, strata_of(units.suite, units.instances), opinions))


def compare_panels(
    suite: str, views: Mapping[tuple[str, str], View], panels: Mapping[str, Sequence[str]]
) -> list[Auditors]:
    """Of suites whose answers are audited by several: their agreement over statements, those of an instance as a cluster.
    ``views`` by variant and judge; ``panels``: names of auditors by judge.
    """
    found = []
    groups: dict[tuple[str, tuple[str, ...]], list[View]] = {}
    for (variant, judge), view in sorted(views.items()):
        if len(panel := tuple(panels.get(judge, ()))) > 1:
            groups.setdefault((variant, panel), []).append(view)
    for (variant, panel), held in groups.items():
        rows = [(r.instance, said) for view in held for r in view.results for said in r.audits.opinions]
        if not rows:
            continue
        places = {name: place for place, name in enumerate(sorted({name for name, _ in rows}))}
        units = Items(len(rows), np.array([places[name] for name, _ in rows]), held[0].level)
        by_id = {instance.id: instance for view in held for instance in view.instances}
        strata = strata_of(held[0].suite, [by_id[name] for name, _ in rows])
        opinions = {name: [said[place] for _, said in rows] for place, name in enumerate(panel)}
        found.append(Auditors(suite, variant, {}, _agree(units, strata, opinions)))
    return found


def _validate(view: View) -> Validation:
    """With the same of each stratum."""
    said, true = opinions_of(view), [opinion_of(instance.gold) for instance in view.instances]

    def within(units: Units, places: Sequence[int]) -> Validation:
        return validate(units, [said[place] for place in places], [true[place] for place in places])

    strata = strata_of(view.suite, view.instances)
    return replace(validate(view, said, true), strata=measure_within(view, strata, within))


def _agree(units: Units, strata: Strata, opinions: Mapping[str, Opinions]) -> AuditorAgreement:
    """With the same of each stratum."""

    def within(part: Units, places: Sequence[int]) -> AuditorAgreement:
        return agree(part, {name: [said[place] for place in places] for name, said in opinions.items()})

    return replace(agree(units, opinions), strata=measure_within(units, strata, within))


def opinions_of(view: View) -> Opinions:
    """Whether each outcome says *supported*; None where it says nothing."""
    return [opinion_of(label) for label in view.outcome_labels]


def opinion_of(label: str | None) -> bool | None:
    """Of a label of the protocol."""
    return {SUPPORTED: True, UNSUPPORTED: False}.get(label or "")
