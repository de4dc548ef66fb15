"""Cases and the calls they need: content as shown, rendered messages, seeds, and the key under which an answer is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from pytest_novelty.digests import canonical_json, derive_seed, digest, opaque_id, seed_source
from pytest_novelty.granularity import show_text
from pytest_novelty.instances import asked_of
from pytest_novelty.judges.base import Judge
from pytest_novelty.model import Axes, Idea, Instance, Json, Request, ShownIdea, Suite, Variant
from pytest_novelty.prompts import Prompt
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.protocols.base import Protocol

_KEY_FORMAT: Final = "4"
"""Part of every key: a change in how requests are made must not find answers to other requests."""


@dataclass(frozen=True, slots=True)
class Case:
    """One test case: a judge on an instance of a suite, under a variant."""

    judge: Judge
    suite: Suite
    variant: Variant
    instance: Instance

    @property
    def protocol(self) -> Protocol:
        return PROTOCOLS[self.suite.protocol]

    @property
    def orders(self) -> tuple[str | None, ...]:
        return self.protocol.orders(self.variant.axes.orders)

    @property
    def planned_calls(self) -> int:
        return len(self.orders) * self.variant.axes.votes

    @property
    def label(self) -> tuple[str, str, str, str]:
        """(judge, suite, variant, instance): what tells two cases of a run apart."""
        return (self.judge.name, self.suite.name, self.variant.name, self.instance.id)


class Call(NamedTuple):
    """One vote to be had. What is recorded of it does not come from the request, which the judge holds.

    ``parts`` names a short digest for each part of the key, so that a miss can be explained.
    """

    case: Case
    request: Request
    order: str | None
    sample: int
    seed: int
    shown_ids: tuple[str, ...]
    key: str
    parts: str
    schema: Mapping[str, Json] | None

    @property
    def place(self) -> str:
        order = "" if self.order is None else f", order {self.order}"
        return f"{self.case.suite.name} {self.case.instance.id}{order}, vote {self.sample + 1}"


class _Common(NamedTuple):
    """What all calls of a judge under a variant of a suite share."""

    variant: Variant
    prompt: Prompt | None
    schema: dict[str, Json]
    parts: str
    """The parts of the key that do not depend on the instance."""
    told: str
    """What is behind those parts, in words: not part of the key."""


class CallPlanner:
    """Makes the calls of cases. ``prompts`` holds the loaded template of every prompt axis that a judge needs."""

    def __init__(self, prompts: Mapping[str, Prompt], seed: int = 0) -> None:
        self._prompts = prompts
        self._seed = seed
        self._known: dict[tuple[str, str, str], _Common] = {}

    def plan(self, case: Case) -> list[Call]:
        """The calls of one case: its orders x its votes, in that order. Raises PromptError."""
        common = self._common(case)
        opaque = opaque_id(case.suite.name, case.instance.id)
        return [call for order in case.orders for call in self._plan_order(case, order, common, opaque)]

    def _common(self, case: Case) -> _Common:
        slot = (case.judge.name, case.suite.name, case.variant.name)
        known = self._known.get(slot)
        if known is None or known.variant is not case.variant:
            known = self._known[slot] = self._make_common(case)
        return known

    def _make_common(self, case: Case) -> _Common:
        judge, axes = case.judge, case.variant.axes
        prompt = self._prompts[judge.prompt_of(case.suite.protocol, case.variant)] if judge.traits.uses_prompt else None
        schema = prompt.schema(judge.traits) if prompt else case.protocol.answer_schema(judge.traits)
        parts = {
            "judge": digest(f"{judge.name}\x1f{judge.version}", 4),
            "schema": digest(canonical_json(schema), 4),
            "settings": digest(canonical_json([dict(axes.params), axes.effort, axes.temperature]), 4),
        }
        axes_told = {"params": dict(axes.params) or None, "effort": axes.effort, "temperature": axes.temperature}
        told = {"judge": judge.asked, "settings": axes_told}
        return _Common(
            case.variant, prompt, schema, " ".join(f"{name}={value}" for name, value in parts.items()), _tell(told)
        )

    def _plan_order(self, case: Case, order: str | None, common: _Common, opaque: str) -> list[Call]:
        axes, instance, protocol = case.variant.axes, case.instance, case.suite.protocol
        shape = case.protocol
        shown = [instance.ideas[position] for position in shape.shown(order, len(instance.ideas))]
        ideas = tuple([show_idea(idea, axes, is_paper=shape.dimensions) for idea in shown])
        messages: tuple[tuple[str, str], ...] = ()
        rendered = template = "-"
        if common.prompt is not None:
            messages = common.prompt.render(
                ideas,
                instance.as_of,
                case.judge.traits,
                instance=instance.id,
                dimension=instance.dimension,
                conclusion=instance.conclusion,
            )
            rendered, template = digest(canonical_json(messages), 8), common.prompt.digest
        asked = f"{common.parts} content={_content_digest(protocol, ideas, instance)}"
        # The template explains a miss, it does not cause one: the key has the messages it renders to.
        parts = f"{asked} prompt={template}{common.told}"
        shown_ids = tuple([idea.id for idea in shown])
        calls = []
        source = seed_source(self._seed, case.suite.name, instance.id, case.variant.name, order)
        key = digest(
            f"{_KEY_FORMAT} {asked} {rendered} {opaque} {source!r}", 16
        )  # the source has the order and gives the seeds
        for sample in range(axes.votes):
            seed = derive_seed(source, sample)
            request = Request(
                protocol,
                opaque,
                ideas,
                instance.as_of,
                case.variant.name,
                order,
                sample,
                seed,
                axes.effort,
                axes.temperature,
                messages,
                common.schema,
                axes.params,
                instance.dimension,
                instance.conclusion,
            )
            calls.append(
                Call(
                    case,
                    request,
                    order,
                    sample,
                    seed,
                    shown_ids,
                    f"{key}-{sample}",
                    f"{parts} seed={seed}",
                    common.schema,
                )
            )
        return calls


def show_idea(idea: Idea, axes: Axes, *, is_paper: bool = False) -> ShownIdea:
    """What the variant shows of an idea. Nothing else of it ever reaches a judge."""
    text = (
        show_text(idea, axes.granularity, is_paper=is_paper) if axes.format == "text" else idea.renderings[axes.format]
    )
    limit = axes.related_work
    works = idea.related_work if limit is True else () if limit is False else idea.related_work[:limit]
    return ShownIdea(idea.title, text, works)


def _content_digest(protocol: str, ideas: Sequence[ShownIdea], instance: Instance) -> str:
    content = [
        protocol,
        instance.as_of,
        [[idea.title, idea.text, [[work.title, work.text, work.year] for work in idea.related_work]] for idea in ideas],
        *asked_of(instance.dimension, instance.conclusion),
    ]
    return digest(canonical_json(content), 8)


TOLD: Final = ("judge", "settings")
"""The parts of which ``parts`` also tells what they are digests of."""


def _tell(told: Mapping[str, Mapping[str, Json] | None]) -> str:
    """`` told={...}``, one word: JSON without what is null, its spaces as escapes."""
    found = {
        part: {name: value for name, value in values.items() if value is not None}
        for part, values in told.items()
        if values is not None
    }
    return " told=" + canonical_json(found).replace(" ", "\\u0020")


def shown_digest(protocol: str, instance: Instance, axes: Axes) -> str:
    """Of what a judge is shown of an instance, and of the names of its ideas, which are labels."""
    shown = _content_digest(
        protocol, [show_idea(idea, axes, is_paper=bool(instance.dimension)) for idea in instance.ideas], instance
    )
    return digest(canonical_json([shown, [idea.id for idea in instance.ideas]]), 4)


def changed_parts(wanted: str, recorded: str) -> tuple[str, ...]:
    """The names of the key parts in which two ``parts`` texts differ."""
    old = dict(part.split("=", 1) for part in recorded.split() if "=" in part)
    new = dict(part.split("=", 1) for part in wanted.split() if "=" in part)
    return tuple(name for name in new if name != "told" and old.get(name) != new[name])
