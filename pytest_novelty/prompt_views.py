"""Prompts for a person to read: the list, one of them, and what differs between two. Lines of text with a style each."""

from __future__ import annotations

import difflib
import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from pytest_novelty.model import Conclusion, ShownIdea, Work
from pytest_novelty.prompts import Prompt, embedded_prompts, load_prompt
from pytest_novelty.verdicts import SIMILAR

PLAIN: Final = ""
HEAD: Final = "bold"
OLD: Final = "red"
NEW: Final = "green"
PLACE: Final = "cyan"

_WIDTH: Final = 100
_DATE: Final = "2020-12-31"
_IDEAS: Final = (
    ShownIdea(
        "Ferries That Sail on Kelp",
        "Ferries burn gas that is made on board from kelp, which is harvested along the route.",
        (Work("Digesters at Sea", "Makes gas from kelp on a moored barge.", 2018), Work("Kelp as Feed", "", 2011)),
    ),
    ShownIdea(
        "Ferries on Electric Cables",
        "Ferries draw power from a cable on the sea bed, which they lift and lower as they pass.",
        (Work("Trolley Barges", "Feeds canal barges from overhead wires.", 1996),),
    ),
    ShownIdea(
        "Tolls for Waves",
        "Harbours charge each ship for the waves that it makes, measured by buoys at the entrance.",
        (Work("Wash Limits", "Caps the speed of boats near banks.", 2003),),
    ),
)
"""The example that prompts are rendered on: small, and nobody's research."""
_CONCLUSION: Final = Conclusion(
    SIMILAR,
    (_IDEAS[0].text, _IDEAS[1].text),
    "Both ships take up along their way what drives them.",
)


class Line(NamedTuple):
    """A line to print, and the style it has on a terminal."""

    text: str
    style: str = PLAIN


@dataclass(frozen=True, slots=True)
class _Powers:
    may_tie: bool = False
    may_abstain: bool = False
    score_range: tuple[float, float] | None = None
    higher_is: str = "novel"


def list_prompts() -> Iterator[Line]:
    """Every prompt that ships, with the first sentence of its lineage."""
    names = embedded_prompts()
    width = max(map(len, names))
    for name, path in names.items():
        prompt = load_prompt(path)
        yield from _hanging(f"{name:{width}}  ", re.split(r"(?<=[.?!])\s", prompt.lineage)[0])


def show_prompt(prompt: Prompt, *, rendered: bool = False) -> Iterator[Line]:
    """Lineage, what the prompt shows and asks for, and its messages: the template, or what the example makes of it."""
    yield Line(f"{prompt.name} {prompt.version}, {prompt.path}", HEAD)
    yield from _lineage(prompt)
    yield Line("")
    traits = read_traits(prompt)
    width = max(map(len, traits))
    yield from (Line(f"  {name:{width}}  {value}") for name, value in traits.items())
    for role, content in render_example(prompt) if rendered else prompt.sources:
        yield Line("")
        yield Line(f"[{role}]", HEAD)
        yield from map(Line, content.split("\n"))


def diff_prompts(first: Prompt, second: Prompt, *, rendered: bool = False) -> Iterator[Line]:
    """The lineage of both, in which respects they differ, and the differing lines: of the templates and, if asked for, of the
    messages that the example gives.
    """
    for sign, style, prompt in (("---", OLD, first), ("+++", NEW, second)):
        yield Line(f"{sign} {prompt.name} {prompt.version}, {prompt.path}", style)
        yield from _lineage(prompt)
    yield Line("")
    yield from _respects(first, second)
    yield from _unified("Template", first.sources, second.sources)
    if rendered:
        yield from _unified("Messages on an example", render_example(first), render_example(second))


def _respects(first: Prompt, second: Prompt) -> Iterator[Line]:
    """What differs by name, so that a variant that changes more than its words is not taken for one that does not."""
    old, new = read_traits(first), read_traits(second)
    differing = [name for name in old if old[name] != new[name]]
    if not differing and first.sources == second.sources:
        yield Line("They ask the same in the same words.", HEAD)
        return
    if differing:
        width = max(map(len, differing))
        columns = max(len(old[name]) for name in differing)
        yield Line("More than the words differs:", HEAD)
        yield from (Line(f"  {name:{width}}  {old[name]:{columns}}  ->  {new[name]}") for name in differing)
    else:
        yield Line("Only the words differ.", HEAD)
    same = [f"{name} {value}" for name, value in old.items() if name not in differing]
    if same:
        yield from _hanging("  the same: ", f"{'; '.join(same)}")


def read_traits(prompt: Prompt) -> dict[str, str]:
    """What a prompt shows, offers and asks for, found by rendering it with and without. Raises PromptError."""
    plain = _render(prompt)
    full = _render(prompt, _Powers(), works=True, as_of=_DATE)
    declared: Mapping[str, object] = prompt.output["properties"]
    required = prompt.output["required"]

    def offered(powers: _Powers) -> str:
        return "offered" if _render(prompt, powers) != plain else "not offered"

    return {
        "protocol": prompt.protocol.name,
        "messages": ", ".join(role for role, _ in prompt.sources),
        "output": ", ".join(f"{name}{'' if name in required else ' (optional)'}" for name in declared),
        "earlier works": "shown" if _IDEAS[0].related_work[0].title in full else "not shown",
        "date": "shown" if _DATE in full else "not shown",
        "tie": offered(_Powers(may_tie=True)),
        "abstention": offered(_Powers(may_abstain=True)),
        "score": offered(_Powers(score_range=(0.0, 10.0))),
    }


def render_example(prompt: Prompt) -> tuple[tuple[str, str], ...]:
    """The messages about the example, with its earlier works and a date, for a judge that may neither tie nor abstain."""
    return prompt.render(
        _IDEAS[: prompt.protocol.ideas_per_instance], _DATE, _Powers(), instance="example", **_asked(prompt)
    )


def _asked(prompt: Prompt) -> dict[str, Any]:
    """What the example asks beside its ideas: of one dimension, and of a reason where reasons are audited."""
    if not prompt.protocol.dimensions:
        return {}
    return {"dimension": "method", "conclusion": None if prompt.protocol.ideas_per_instance else _CONCLUSION}


def _render(prompt: Prompt, powers: _Powers = _Powers(), *, works: bool = False, as_of: str | None = None) -> str:
    ideas = _IDEAS[: prompt.protocol.ideas_per_instance]
    shown = ideas if works else tuple(replace(idea, related_work=()) for idea in ideas)
    return "\n".join(
        content for _, content in prompt.render(shown, as_of, powers, instance="example", **_asked(prompt))
    )


def _lineage(prompt: Prompt) -> Iterator[Line]:
    yield from _hanging("    ", prompt.lineage or "The file says nothing of its lineage.")


def _hanging(head: str, text: str) -> Iterator[Line]:
    """Wrapped text with its first line behind ``head`` and the others below it."""
    lines = textwrap.wrap(text, max(_WIDTH - len(head), 40), break_long_words=False, break_on_hyphens=False)
    for number, line in enumerate(lines or [""]):
        yield Line(f"{' ' * len(head) if number else head}{line}")


def _unified(title: str, old: tuple[tuple[str, str], ...], new: tuple[tuple[str, str], ...]) -> Iterator[Line]:
    """A unified diff of whole conversations, with the roles as lines, so that a message more or less shows."""
    yield Line("")
    before, after = _as_lines(old), _as_lines(new)
    lines = list(difflib.unified_diff(before, after, n=1, lineterm=""))[2:]
    yield Line(f"{title}:" if lines else f"{title}: no difference", HEAD)
    styles = {"-": OLD, "+": NEW, "@": PLACE}
    yield from (Line(line, styles.get(line[0], PLAIN)) for line in lines)


def _as_lines(messages: tuple[tuple[str, str], ...]) -> list[str]:
    return [line for role, content in messages for line in (f"[{role}]", *content.split("\n"))]
