"""A user's claim about two systems, held under every variant: ``contrast: system=ours/base`` of a suite."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from pytest_novelty.measuring import Key
from pytest_novelty.metrics.claims import MEAN_SCORE, Difference, differences, least_favourable
from pytest_novelty.metrics.differences import STAR
from pytest_novelty.metrics.permutation import holm
from pytest_novelty.metrics.view import Estimate, View
from pytest_novelty.model import REFERENCE, Contrast
from pytest_novelty.plan import SuitePlan


@dataclass(frozen=True)
class Held:
    """The difference under one variant. ``p_holm``: adjusted over the variants (the reference among them)."""

    variant: str
    estimate: Estimate
    p: float | None
    p_holm: float | None

    @property
    def starred(self) -> bool:
        return self.p_holm is not None and self.p_holm <= STAR

    @property
    def favours_ours(self) -> bool:
        return self.estimate.value is not None and self.estimate.value > 0


@dataclass(frozen=True)
class Claim:
    """Ours less base, by one judge and one measure, under the reference and every variant that ran."""

    judge: str
    suite: str
    contrast: Contrast
    measure: str
    held: tuple[Held, ...]
    least_favourable: str
    sentence: str
    silent: tuple[str, ...] = ()
    """Variants that were asked and gave no verdict to tell the difference by."""

    @property
    def signs(self) -> int:
        """Variants under which ours are ahead, as claimed."""
        return sum(item.favours_ours for item in self.held)

    @property
    def stars(self) -> int:
        """Variants under which they are so beyond chance."""
        return sum(item.favours_ours and item.starred for item in self.held)

    @property
    def against(self) -> int:
        """Variants under which base is ahead beyond chance."""
        return sum(not item.favours_ours and item.starred for item in self.held)


def find_claims(planned: SuitePlan, views: Mapping[Key, View], judges: Sequence[str]) -> list[Claim]:
    """The suite's claim by every judge that ran under the reference; none if the suite makes none."""
    contrast = planned.suite.contrast
    if contrast is None:
        return []
    found = []
    for judge in judges:
        if (REFERENCE, judge) not in views or not any(variant.name == REFERENCE for variant in planned.variants):
            continue
        asked = [variant.name for variant in planned.variants if variant not in planned.derived]  # no call holds twice
        names = [REFERENCE, *(name for name in asked if name != REFERENCE and (name, judge) in views)]
        of_measure: dict[str, list[tuple[str, Difference]]] = {}
        for name in names:
            for difference in differences(views[name, judge], contrast):
                of_measure.setdefault(difference.measure, []).append((name, difference))
        for measure, rows in of_measure.items():
            if rows[0][0] == REFERENCE:
                told = {name for name, _ in rows}
                silent = tuple(name for name in names if name not in told)
                found.append(_claim(judge, planned.suite.name, contrast, measure, rows, silent))
    return found


def _claim(
    judge: str,
    suite: str,
    contrast: Contrast,
    measure: str,
    rows: list[tuple[str, Difference]],
    silent: tuple[str, ...],
) -> Claim:
    adjusted = holm([difference.p for _, difference in rows])
    held = tuple(
        Held(name, difference.estimate, difference.p, p) for (name, difference), p in zip(rows, adjusted, strict=True)
    )
    claim = Claim(judge, suite, contrast, measure, held, least_favourable(rows), "", silent)
    return replace(claim, sentence=_sentence(claim))


def _sentence(claim: Claim) -> str:
    first, worst = claim.held[0], next(item for item in claim.held if item.variant == claim.least_favourable)
    text = f"{claim.contrast.ours} less {claim.contrast.base}, {claim.measure}: {show_difference(claim.measure, first)}"
    if first.estimate.is_open:
        text += f" ({first.estimate.note})"
    silent = f"; no verdict under {', '.join(claim.silent)}" if claim.silent else ""
    if len(claim.held) == 1:
        return f"{text}{silent or '; one wording only, so nothing is known of others'}"
    of = len(claim.held)
    text += f"; least favourable {worst.variant}: {show_difference(claim.measure, worst)}" if worst is not first else ""
    text += f"; {claim.contrast.ours} ahead in {claim.signs} of {of} variants, with a star in {claim.stars}"
    text += f"; {claim.contrast.base} ahead with a star in {claim.against}" if claim.against else ""
    return text + silent


def show_difference(measure: str, item: Held) -> str:
    """The difference with its interval and star, in points or in the unit of the scores."""
    estimate, star = item.estimate, "*" if item.starred else ""
    if estimate.value is None:
        return "undefined"
    scale, form, unit = (1.0, "{:+.2g}", "") if measure == MEAN_SCORE else (100.0, "{:+.0f}", " points")
    text = form.format(scale * estimate.value) + unit
    if estimate.low is None or estimate.high is None:
        return text + star
    return f"{text} [{form.format(scale * estimate.low)}, {form.format(scale * estimate.high)}]{star}"
