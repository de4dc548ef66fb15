"""Which variants a judge can take: what would ask it nothing new is skipped with a reason, because the same answers again
would look like a stable judge.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pytest_novelty.calls import show_idea
from pytest_novelty.errors import JudgeError
from pytest_novelty.granularity import is_cut
from pytest_novelty.judges.base import Judge
from pytest_novelty.model import Instance, Suite, Variant
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.variants import find_lacking

_KNOBS: Final = ("effort", "temperature", "params")
"""The axes that reach a judge as settings, which it may not have."""
_CONTENT: Final = frozenset({"related_work", "format", "granularity"})
_COUNTS: Final = frozenset({"votes", "orders"})
"""Axes that change how often a judge is asked, not what."""


@dataclass(frozen=True, slots=True)
class Content:
    """What a suite's instances make of a variant, whatever the judge. ``lacks``: why it cannot be shown; ``same``: every
    idea is shown as the reference shows it. ``cut``: how many ideas are longer than the variant's granularity lets through.
    """

    lacks: str = ""
    same: bool = False
    cut: int = 0


def look_at_content(suite: Suite, instances: Sequence[Instance], variant: Variant, reference: Variant) -> Content:
    """``instances`` are those of the run, of which ``suite`` may have more."""
    if found := find_lacking(suite, variant):
        return Content(f"the instance {found.instance.id!r} has no {found.what}")
    ideas = {id(idea): idea for instance in instances for idea in instance.ideas}.values()
    is_paper = PROTOCOLS[suite.protocol].dimensions
    cut = len({idea.id for idea in ideas if is_cut(idea, variant.axes.granularity, is_paper=is_paper)})
    if not _CONTENT & set(variant.changed):
        return Content(cut=cut)
    same = all(
        show_idea(idea, variant.axes, is_paper=is_paper) == show_idea(idea, reference.axes, is_paper=is_paper)
        for idea in ideas
    )
    return Content(same=same, cut=cut)


def ignored_axes(judge: Judge) -> frozenset[str]:
    """The axes that a judge declares to have no knob for, in its optional attribute ``ignores``. Raises JudgeError."""
    declared = getattr(judge.function, "ignores", ())
    names = (declared,) if isinstance(declared, str) else declared
    if not isinstance(names, (tuple, list, set, frozenset)) or any(name not in _KNOBS for name in names):
        raise JudgeError(
            f"the judge {judge.name!r} declares ignores = {declared!r:.80}", hint=f"Name some of {', '.join(_KNOBS)}"
        )
    return frozenset(names)


def reason_to_skip(judge: Judge, variant: Variant, content: Content, protocol: str) -> str:
    """Why a judge is not asked under a variant, as what is said of the judge; empty if it is asked."""
    if not variant.changed:
        return "would be asked nothing else than in the reference"
    if content.lacks:
        return f"cannot be shown it ({content.lacks})"
    idle: dict[str, str] = {}
    if not judge.traits.uses_prompt:
        idle["prompt"] = "has a prompt of its own"
    elif judge.prompts.get(protocol) == variant.axes.prompt:
        idle["prompt"] = "is asked with that prompt in the reference, too"
    if content.same:
        idle |= dict.fromkeys(sorted(_CONTENT), "would be shown the same as in the reference")
    idle |= {axis: f"ignores {axis}" for axis in sorted(ignored_axes(judge))}
    reasons = dict.fromkeys(idle[axis] for axis in variant.changed if axis in idle)
    left = set(variant.changed) - set(idle)
    return " and ".join(reasons) if reasons and left <= _COUNTS else ""
