"""Cases and the calls they need: content as shown, rendered messages, seeds, and the key under which an answer is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from pytest_novelty.digests import canonical_json, derive_seed, digest, opaque_id, seed_source
from pytest_novelty.judges.base import Judge
from pytest_novelty.model import Axes, Idea, Instance, Json, Request, ShownIdea, Suite, Variant
from pytest_novelty.prompts import Prompt
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.protocols.base import Protocol

_KEY_FORMAT: Final = "3"
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


class CallPlanner:
    """Makes the calls of cases. ``prompts`` holds the loaded template of every prompt axis that a judge needs."""

    def __init__(self, prompts: Mapping[str, Prompt], seed: int = 0) -> None:
        self._prompts = prompts
        self._seed = seed
        self._schemas: dict[tuple[str, str], tuple[dict[str, Json], str]] = {}

    def plan(self, case: Case) -> list[Call]:
        """The calls of one case: its orders x its votes, in that order. Raises PromptError."""
        return [call for order in case.orders for call in self._plan_order(case, order)]

    def _plan_order(self, case: Case, order: str | None) -> list[Call]:
        axes, instance, judge = case.variant.axes, case.instance, case.judge
        positions = case.protocol.shown(order)
        ideas = tuple(show_idea(instance.ideas[position], axes) for position in positions)
        messages: tuple[tuple[str, str], ...] = ()
        rendered = "-"
        prompt: Prompt | None = None
        if judge.traits.uses_prompt:
            prompt = self._prompts[axes.prompt]
            messages = prompt.render(ideas, instance.as_of, judge.traits, instance=instance.id)
            rendered = digest(canonical_json(messages), 8)
        schema, schema_digest = self._schema(case, prompt)
        opaque = opaque_id(case.suite.name, instance.id)
        asked = {
            "judge": digest(f"{judge.name}\x1f{judge.version}", 4),
            "content": _content_digest(case.suite.protocol, ideas, instance.as_of),
            "schema": schema_digest,
            "settings": digest(canonical_json([dict(axes.params), axes.effort, axes.temperature]), 4),
        }
        common = " ".join(f"{name}={value}" for name, value in asked.items())
        base = f"{_KEY_FORMAT} {common} {rendered} {opaque} {order}"
        # The template explains a miss, it does not cause one: the key has the messages it renders to.
        parts = f"{common} prompt={prompt.digest if prompt else '-'}"
        shown_ids = tuple(instance.ideas[position].id for position in positions)
        calls = []
        source = seed_source(self._seed, case.suite.name, instance.id, case.variant.name, order)
        for sample in range(axes.votes):
            seed = derive_seed(source, sample)
            request = Request(
                case.suite.protocol,
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
                schema,
                axes.params,
            )
            key = digest(f"{base} {sample} {seed}", 16)
            calls.append(Call(case, request, order, sample, seed, shown_ids, key, f"{parts} seed={seed}", schema))
        return calls

    def _schema(self, case: Case, prompt: Prompt | None) -> tuple[dict[str, Json], str]:
        """The answer's schema and its digest, made once per judge and prompt."""
        slot = (case.judge.name, prompt.digest if prompt else case.suite.protocol)
        if slot not in self._schemas:
            powers = case.judge.traits
            schema = prompt.schema(powers) if prompt else case.protocol.answer_schema(powers)
            self._schemas[slot] = (schema, digest(canonical_json(schema), 4))
        return self._schemas[slot]


def show_idea(idea: Idea, axes: Axes) -> ShownIdea:
    """What the variant shows of an idea. Nothing else of it ever reaches a judge."""
    text = idea.text if axes.format == "text" else idea.renderings[axes.format]
    limit = axes.related_work
    works = idea.related_work if limit is True else () if limit is False else idea.related_work[:limit]
    return ShownIdea(idea.title, text, works)


def _content_digest(protocol: str, ideas: Sequence[ShownIdea], as_of: str | None) -> str:
    content = [
        protocol,
        as_of,
        [[idea.title, idea.text, [[work.title, work.text, work.year] for work in idea.related_work]] for idea in ideas],
    ]
    return digest(canonical_json(content), 8)


def changed_parts(wanted: str, recorded: str) -> tuple[str, ...]:
    """The names of the key parts in which two ``parts`` texts differ."""
    old = dict(part.split("=", 1) for part in recorded.split() if "=" in part)
    new = dict(part.split("=", 1) for part in wanted.split() if "=" in part)
    return tuple(name for name in new if old.get(name) != new[name])
