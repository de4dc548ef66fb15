"""What a report has of suites whose answers cite evidence or are audits: cascades, a release's figures, agreement of auditors."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import TypeVar

from pytest_novelty.auditing import AUDITED_BY, cites
from pytest_novelty.catching import Net
from pytest_novelty.metrics.as_published import AsPublished, score_as_published
from pytest_novelty.metrics.auditors import Auditors, compare_auditors, compare_panels
from pytest_novelty.metrics.grounded import Grounding, ground
from pytest_novelty.metrics.view import View
from pytest_novelty.model import REFERENCE
from pytest_novelty.plan import Plan, SuitePlan
from pytest_novelty.profiles import AS_PUBLISHED

T = TypeVar("T")


@dataclass(frozen=True)
class Grounded:
    """What became of the evidence of a judge on a suite under a variant; ``auditors``: who was asked about its reasons, first the
    one whose word counts.
    """

    judge: str
    suite: str
    variant: str
    auditors: tuple[str, ...]
    found: Grounding

    @property
    def auditor(self) -> str:
        return self.auditors[0]


@dataclass(frozen=True)
class Published:
    """What a benchmark's release would report of a judge on a suite under a variant; ``auditor``: as of :class:`Grounded`."""

    judge: str
    suite: str
    variant: str
    auditor: str
    found: AsPublished


@dataclass
class GroundedSuite:
    """Of one suite; each empty where its protocol has none of it. The reference comes before variants, judges by name."""

    cascades: list[Grounded] = field(default_factory=list)
    published: list[Published] = field(default_factory=list)
    auditors: list[Auditors] = field(default_factory=list)


def ground_suite(plan: Plan, planned: SuitePlan, views: Mapping[tuple[str, str], View], net: Net) -> GroundedSuite:
    """``views``: by variant and judge. What crashes is left out, and ``net`` has it."""
    found = GroundedSuite()
    suite, name = planned.suite, planned.suite.name
    agreement = f"how far auditors agree on {name}"
    if suite.protocol == AUDITED_BY:
        for variant in sorted({variant for variant, _ in views}, key=_reference_first):
            own = {judge.name: views[variant, judge.name] for judge in plan.judges if (variant, judge.name) in views}
            found.auditors += net.catch(agreement, partial(_one, partial(compare_auditors, name, variant, own)), _none)
    if not cites(suite.protocol):
        return found
    for variant, judge, view in _in_order(views):
        place = f"{judge} on {name}" + ("" if variant == REFERENCE else f", variant {variant}")
        auditors = plan.auditors_of(judge)
        cascades: list[Grounding] = net.catch(f"the grounding of {place}", partial(_one, partial(ground, view)), _none)
        found.cascades += [Grounded(judge, name, variant, auditors, cascade) for cascade in cascades]
        if suite.profile == AS_PUBLISHED:
            score = partial(_one, partial(score_as_published, view))
            scored: list[AsPublished] = net.catch(f"the release's figures of {place}", score, _none)
            found.published += [Published(judge, name, variant, auditors[0], figures) for figures in scored]
    panels = {judge: [auditor.name for auditor in panel] for judge, panel in plan.panels.items()}
    found.auditors += net.catch(agreement, partial(compare_panels, name, views, panels), _none)
    return found


def _in_order(views: Mapping[tuple[str, str], View]) -> Iterator[tuple[str, str, View]]:
    for variant, judge in sorted(views, key=lambda key: (*_reference_first(key[0]), key[1])):
        yield variant, judge, views[variant, judge]


def _reference_first(variant: str) -> tuple[bool, str]:
    return variant != REFERENCE, variant


def _one(make: Callable[[], T]) -> list[T]:
    return [make()]


def _none(_: str) -> list[T]:
    return []
