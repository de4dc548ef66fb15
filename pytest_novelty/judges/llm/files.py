"""Judge files, and the settings of a model that is named on the command line."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pytest_novelty.digests import digest_of
from pytest_novelty.errors import JudgeError, UnknownNameError
from pytest_novelty.judges.llm.prices import Price
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
    def version(self) -> str:
        """A digest of what can change an answer: the model and how it is asked, not how fast or at what price."""
        asked = [
            self.provider,
            self.model,
            self.api_base or (os.environ.get("OPENAI_BASE_URL") if self.provider == "openai" else None),
            self.temperature,
            self.effort,
            self.max_tokens,
            self.seed,
            dict(self.parameters),
            self.structured,
            self.answer_retries,
        ]
        return digest_of(asked, 6)


_RESERVED: Final = frozenset(
    {"model", "messages", "n", "stream", "timeout", "api_base", "base_url", "max_tokens", "max_completion_tokens",
     "temperature", "reasoning_effort", "seed", "response_format", "extra_body"}
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
        raise JudgeError(sentence, path=path, line=document.line_of(place), hint=_hint(value, place))
    for name in value.get("prompts", ()):
        if name not in PROTOCOLS:
            error = UnknownNameError("protocol", name, PROTOCOLS)
            line = document.line_of(("prompts", name))
            raise JudgeError(error.message, path=path, line=line, hint=error.hint)
    _refuse_secrets(value, document)
    given = {key: item for key, item in value.items() if key not in ("format", "model", "price")}
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
    """A header's value is read from the environment: one that looks like a value was written into the file."""
    for name in value.get("parameters", {}):
        if name in _RESERVED or "key" in name or "header" in name:
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
