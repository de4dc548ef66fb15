"""Prompt templates: load, check, render. Idea text is data: it is substituted once and never read as a template."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from typing import Protocol as Interface

from pytest_novelty.data import data_folder
from pytest_novelty.digests import digest
from pytest_novelty.errors import Problems, PromptError, UnknownNameError
from pytest_novelty.model import Conclusion, Json, ShownIdea, Work
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.protocols.base import Powers, Protocol
from pytest_novelty.strict_yaml import Document, read_yaml
from pytest_novelty.validation import compile_check, explain, explain_all, invalid_schema, load_schema
from pytest_novelty.verdicts import DIMENSIONS, SIMILAR

if TYPE_CHECKING:
    import jinja2

_DELIMITER: Final = re.compile(r"</?(?:idea|related_work|paper|span|reason)", re.IGNORECASE)


class Asked(Powers, Interface):
    """What a template may know of the judge that it is rendered for (``judges.base.Traits`` has these)."""

    @property
    def higher_is(self) -> str: ...


@dataclass(frozen=True)
class Prompt:
    """A versioned template. ``digest`` covers the whole file; ``sources`` are (role, template text)."""

    name: str
    version: str
    protocol: Protocol
    output: Mapping[str, Json]
    digest: str
    path: Path
    lineage: str = ""
    sources: tuple[tuple[str, str], ...] = ()
    _templates: tuple[tuple[str, jinja2.Template], ...] = field(default=(), repr=False)

    def schema(self, powers: Powers) -> dict[str, Json]:
        """The declared schema, with what this judge may say in the verdict's place (a tie, null).

        A score that the template does not require is asked of judges that declare a ``score_range``, and of no others.
        """
        properties = dict(self.output["properties"])
        required = list(self.output["required"])
        for key, verdict in self.protocol.answer_schema(powers)["properties"].items():
            if key in (self.protocol.key, self.protocol.score_key) and key in properties:
                told = {name: value for name, value in properties[key].items() if name in ("title", "description")}
                properties[key] = {**told, **verdict}
        score = self.protocol.score_key
        if score in properties and score not in required:
            if powers.score_range is None:
                del properties[score]
            else:
                required.append(score)
        return {**self.output, "properties": properties, "required": required}

    def render(
        self,
        ideas: Sequence[ShownIdea],
        as_of: str | None,
        powers: Asked,
        *,
        instance: str = "",
        dimension: str = "",
        conclusion: Conclusion | None = None,
    ) -> tuple[tuple[str, str], ...]:
        """(role, content) messages. Raises PromptError, with template and instance, if a variable is missing or the dimension is
        none: a template has words for each and would be silent, or say something else.
        """
        import jinja2

        context: dict[str, object] = {
            "ideas": tuple(ideas),
            "as_of": as_of,
            "may_tie": powers.may_tie,
            "may_abstain": powers.may_abstain,
            "score_range": powers.score_range and tuple(f"{bound:g}" for bound in powers.score_range),
            "higher_is": powers.higher_is,
            "mark": _unused_mark(ideas, conclusion),
        }
        if len(ideas) == 1:
            context["idea"] = ideas[0]
        if self.protocol.dimensions:
            if dimension not in DIMENSIONS:
                problem = f"cannot be rendered: a dimension is one of {', '.join(DIMENSIONS)}, not {dimension!r}"
                raise PromptError(problem, path=self.path, instance=instance or None)
            context |= {"dimension": dimension, "papers": context["ideas"]}
        if conclusion is not None:
            context |= {"verdict": conclusion.verdict, "evidence": conclusion.evidence, "reason": conclusion.reason}
        try:
            return tuple((role, template.render(context)) for role, template in self._templates)
        except jinja2.TemplateError as error:
            raise PromptError(
                f"cannot be rendered: {error}", path=self.path, instance=instance or None, hint=_VARIABLES
            ) from None
        except Exception as error:  # a template is a user's program: whatever it raises is about the template
            raise PromptError(
                f"cannot be rendered: {type(error).__name__}: {error}", path=self.path, instance=instance or None
            ) from None


_VARIABLES: Final = (
    "A template may use ideas (title, text, related_work), idea (pointwise), papers and dimension (where papers are compared), "
    "verdict, evidence and reason (entailment), as_of, may_tie, may_abstain, score_range, higher_is and mark"
)


def _unused_mark(ideas: Sequence[ShownIdea], conclusion: Conclusion | None) -> str:
    """A suffix for the template's delimiters, empty unless a text that is shown contains something like one.

    It depends on the texts but not on their order, so both orders of a pair get the same delimiters.
    """
    texts = [text for idea in ideas for text in (idea.title, idea.text, *_work_texts(idea.related_work))]
    texts += [] if conclusion is None else [*conclusion.evidence, conclusion.reason]
    if not any(_DELIMITER.search(text) for text in texts):
        return ""
    whole = "\x1f".join(sorted(texts))
    for attempt in range(1000):
        mark = "-" + digest(f"{attempt}{whole}", 4)
        if mark not in whole:
            return mark
    raise AssertionError("unreachable: 1000 digests of a text cannot all be in it")


def _work_texts(works: Sequence[Work]) -> list[str]:
    return [text for work in works for text in (work.title, work.text)]


@cache
def embedded_prompts() -> Mapping[str, Path]:
    """The templates that ship, by name (``protocol/name``)."""
    root = data_folder("prompts")
    found = {str(path.relative_to(root).with_suffix("").as_posix()): path for path in root.glob("*/*.yaml")}
    return dict(sorted(found.items()))


def resolve_prompt(name: str, base: Path, protocol: str | None = None) -> Prompt:
    """The template called ``name``, or the file at that path relative to ``base``."""
    known = embedded_prompts()
    path = known.get(name) or base / name
    if not path.is_file():
        raise UnknownNameError("prompt", name, known, also=f"No file {path} either")
    prompt = load_prompt(path)
    if protocol is not None and prompt.protocol.name != protocol:
        raise PromptError(f"is a {prompt.protocol.name} prompt, used for a {protocol} suite", path=path)
    return prompt


def load_prompt(path: Path) -> Prompt:
    """Load and check one template. Raises PromptError with file and line."""
    document = read_yaml(path, PromptError)
    value: Any = document.value
    if not isinstance(value, dict):  # any file of the machine may have been named, and is not repeated
        raise PromptError("is no prompt: it has no keys and values", path=path, line=document.line_of(()), hint=_FORMAT)
    schema = load_schema("prompt")
    problems = Problems()
    if not compile_check(schema)(value):
        for sentence, place in explain_all(value, schema):
            no_format = isinstance(value, dict) and "format" not in value and not place
            hint = _FORMAT if no_format else None
            problems.add(PromptError(sentence, path=path, line=document.line_of(place), hint=hint))
    problems.raise_any()
    protocol = PROTOCOLS.get(value["protocol"])
    if protocol is None:
        error = UnknownNameError("protocol", value["protocol"], PROTOCOLS)
        problems.add(PromptError(error.message, path=path, line=document.line_of(("protocol",)), hint=error.hint))
    elif problem := _output_problem(value["output"], protocol):
        problems.add(PromptError(problem, path=path, line=document.line_of(("output",))))
    templates = []
    for index, message in enumerate(value["messages"]):
        with problems.noted():
            template = _compile(message["content"], document, ("messages", index, "content"))
            templates.append((message["role"], template))
    problems.raise_any()
    assert protocol is not None
    return Prompt(
        name=value["name"],
        version=value["version"],
        protocol=protocol,
        output=value["output"],
        digest=hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest(),
        path=path,
        lineage=value.get("lineage", ""),
        sources=tuple((message["role"], message["content"].strip("\n")) for message in value["messages"]),
        _templates=tuple(templates),
    )


_FORMAT: Final = "A prompt begins with format: novelty-prompt/1"


def _output_problem(output: Mapping[str, Any], protocol: Protocol) -> str | None:
    keys = [key for key in (protocol.key, protocol.score_key) if key]
    if not {key for key in keys if isinstance(output["properties"].get(key), dict)} & set(output["required"]):
        wanted = " or ".join(map(repr, keys))
        return f"output must describe and require {wanted}, the key of a {protocol.name} verdict"
    problem = invalid_schema(output)
    return None if problem is None else f"output is no JSON Schema: {problem}"


def _compile(source: str, document: Document, place: tuple[str | int, ...]) -> jinja2.Template:
    import jinja2
    from jinja2.sandbox import SandboxedEnvironment

    environment = SandboxedEnvironment(
        undefined=jinja2.StrictUndefined, trim_blocks=True, lstrip_blocks=True, autoescape=False
    )
    try:
        return environment.from_string(source.strip("\n"))
    except jinja2.TemplateSyntaxError as error:
        line = document.line_within(place, error.lineno or 1)
        raise PromptError(f"template syntax: {error.message}", path=document.path, line=line) from None


def check_prompt(prompt: Prompt) -> None:
    """Render with sample ideas, with and without everything optional; every text must arrive as it is.

    Raises PromptError: an undefined variable, a filter that changes the text, an idea that is not shown.
    """
    for dimension in DIMENSIONS if prompt.protocol.dimensions else ("",):
        for rich in (True, False):
            _check_rendering(prompt, dimension, rich)


def _check_rendering(prompt: Prompt, dimension: str, rich: bool) -> None:
    count = prompt.protocol.ideas_per_instance
    works = (Work("{{ title }} of a work", "text of <a> work", 1999),) if rich else ()
    ideas = [ShownIdea(f"title {i}", f"{{{{ text }}}} & <b>{i}</b> \"'", works) for i in range(count)]
    spans = tuple(f"{{{{ span }}}} & <b>{i}</b>" for i in range(2))
    conclusion = None if count else Conclusion(SIMILAR, spans, "{{ reason }} & <b>why</b>")
    powers = _SamplePowers(may_tie=rich, may_abstain=rich, score_range=(0.0, 10.0) if rich else None)
    messages = prompt.render(ideas, "2020-12-31" if rich else None, powers, dimension=dimension, conclusion=conclusion)
    whole = "\n".join(content for _, content in messages)
    texts = [idea.text for idea in ideas] if conclusion is None else [*spans, conclusion.reason]
    if not all(text in whole for text in texts):
        shown = "the text of every idea" if conclusion is None else "every span and the reason"
        raise PromptError(f"does not show {shown} as it is", path=prompt.path, hint=_VARIABLES)
    if explain({}, prompt.schema(powers)) is None:
        raise PromptError("output accepts an empty object", path=prompt.path)


@dataclass(frozen=True, slots=True)
class _SamplePowers:
    may_tie: bool = False
    may_abstain: bool = False
    score_range: tuple[float, float] | None = None
    higher_is: str = "novel"
