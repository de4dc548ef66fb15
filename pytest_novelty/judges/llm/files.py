"""Judge files, and the settings of a model that is named on the command line."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

from pytest_novelty.digests import digest_of
from pytest_novelty.errors import JudgeError, UnknownNameError
from pytest_novelty.judges.llm.prices import Price
from pytest_novelty.masking import is_named_like_a_secret
from pytest_novelty.model import Json
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.strict_yaml import Document, read_yaml
from pytest_novelty.validation import explain, load_schema

PREFIXES: Final = ("openai:", "litellm:")


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """How a model is asked. ``schemas/judge.json`` says what each field means; ``folder`` is where prompt paths start."""

    provider: str
    model: str
    name: str
    folder: Path = Path()
    api_base: str | None = None
    api_key_env: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    temperature: float | None = None
    effort: str | None = None
    max_tokens: int = 4096
    seed: bool | int = True
    parameters: Mapping[str, Json] = field(default_factory=dict)
    structured: str = "auto"
    prompts: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 120.0
    retries: int = 5
    answer_retries: int = 1
    concurrency: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    price: Price | None = None
    may_tie: bool = False
    may_abstain: bool = False

    @property
    def base_url(self) -> str | None:
        """The server, where it is not the provider's own: the judge file's, else for ``openai:`` that of OPENAI_BASE_URL."""
        return self.api_base or (os.environ.get("OPENAI_BASE_URL") or None if self.provider == "openai" else None)

    @property
    def asked(self) -> dict[str, Json]:
        """What can change an answer: the model and how it is asked, not how fast or at what price."""
        found: dict[str, Json] = {
            item.name: getattr(self, item.name) for item in fields(self) if item.name not in _NOT_ASKED
        }
        return {**found, "parameters": dict(self.parameters), "api_base": self.base_url}

    @property
    def version(self) -> str:
        """A digest of what is asked."""
        return digest_of([self.asked], 6)


_NOT_ASKED: Final = frozenset(
    {"name", "folder", "api_key_env", "headers", "prompts", "timeout_s", "retries", "concurrency", "requests_per_minute",
     "tokens_per_minute", "price", "may_tie", "may_abstain"}
)  # fmt: skip
"""Settings that change no answer, or whose effect (prompts, ties, abstentions) is in the request itself."""


_RESERVED: Final = frozenset(
    {"model", "messages", "n", "stream", "timeout", "api_base", "base_url", "max_tokens", "max_completion_tokens",
     "temperature", "reasoning_effort", "seed", "response_format", "extra_body", "num_retries", "max_retries"}
)  # fmt: skip


def is_judge_file(spec: str) -> bool:
    return spec.endswith((".yaml", ".yml"))


def settings_of_name(spec: str) -> LlmSettings:
    """The settings of ``openai:MODEL`` or ``litellm:PROVIDER/MODEL``. Raises JudgeError if no model is named."""
    provider, _, model = spec.partition(":")
    if not model.strip():
        raise JudgeError(f"{spec!r} names no model", hint=f"Write {provider}:MODEL")
    return LlmSettings(provider, model.strip(), name=model.strip())


def load_judge_file(path: Path) -> LlmSettings:
    """Read and check a judge file. Raises JudgeError with file and line."""
    document = read_yaml(path, JudgeError)
    value: Any = document.value
    if (found := explain(value, load_schema("judge"))) is not None:
        sentence, place = found
        if place[:1] == ("api_key_env",):  # perhaps the key itself: it is not repeated
            sentence = "api_key_env must be the name of an environment variable"
        if place[:1] == ("api_base",):  # may hold one, too
            sentence = "api_base must be an address like http://127.0.0.1:8000/v1, without user, password or query"
        raise JudgeError(sentence, path=path, line=document.line_of(place), hint=_hint(value, place))
    for name in value.get("prompts", ()):
        if name not in PROTOCOLS:
            error = UnknownNameError("protocol", name, PROTOCOLS)
            line = document.line_of(("prompts", name))
            raise JudgeError(error.message, path=path, line=line, hint=error.hint)
    _refuse_secrets(value, document)
    given = {key: item for key, item in value.items() if key not in ("format", "model", "price")}
    for name in ("max_tokens", "seed", "retries", "answer_retries", "concurrency"):
        if isinstance(given.get(name), float):  # 4.0 is an integer to JSON Schema
            given[name] = int(given[name])
    provider, _, model = value["model"].partition(":")
    prices = value.get("price")
    price = None if prices is None else Price.per_million(prices["input"], prices["output"], prices.get("cached_input"))
    return LlmSettings(
        provider, model.strip(), **{"name": model.strip(), **given}, folder=path.resolve().parent, price=price
    )


def _hint(value: Any, place: tuple[str | int, ...]) -> str | None:
    if place[:1] == ("model",) and isinstance(value, dict) and isinstance(value.get("model"), str):
        return f"Say how it is reached: openai:{value['model']} or litellm:{value['model']}"
    return None


def _refuse_secrets(value: Mapping[str, Any], document: Document) -> None:
    """Parameters that a field of the file is for, or that are keys; and headers that are values and no variables' names."""
    for name in value.get("parameters", {}):
        if name in _RESERVED or "header" in name.lower() or is_named_like_a_secret(name):
            raise JudgeError(
                f"{name!r} is no parameter of a request",
                path=document.path,
                line=document.line_of(("parameters", name)),
                hint="What the judge file has a field for is set there; keys are in the environment",
            )
    for name, variable in value.get("headers", {}).items():
        if not re.fullmatch(r"[A-Z_][A-Z0-9_]{0,59}", variable):
            raise JudgeError(
                f"the header {name!r} must name an environment variable",
                path=document.path,
                line=document.line_of(("headers", name)),
                hint="Keys stay out of files: put the value into the environment and write the variable's name here",
            )
