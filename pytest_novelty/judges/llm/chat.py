"""Chat completions, the dialect both providers speak: what a request asks with, and what its server did not take of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pytest_novelty.judges.llm.files import LlmSettings
from pytest_novelty.judges.llm.providers import CallFault
from pytest_novelty.model import Request

_MAX_SEED: Final = 2**31
_ADAPTABLE: Final = (
    "response_format",
    "temperature",
    "reasoning_effort",
    "seed",
    "max_completion_tokens",
    "max_tokens",
)
_TOLD: Final = ("temperature", "reasoning_effort", "seed")
_TOKEN_LIMITS: Final = {"max_tokens": "max_completion_tokens", "max_completion_tokens": "max_tokens"}
"""One thing under two names: the newer models take only the second, most other servers only the first."""


class Chat:
    """The requests of one judge. Remembers the parameters that its server refused; they are not sent again."""

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        self._refused: set[str] = set()

    def fields(self, request: Request, number: int) -> dict[str, Any]:
        """What the ``number``-th askings (from 0) of a request ask for, whether or not the server takes it."""
        settings = self._settings
        limit = "max_tokens" if settings.api_base or settings.provider == "litellm" else "max_completion_tokens"
        fields: dict[str, Any] = {
            **settings.parameters,
            "model": settings.model,
            "messages": request.messages,
            limit: settings.max_tokens,
        }
        temperature = settings.temperature if request.temperature is None else request.temperature
        effort = request.effort or settings.effort
        if temperature is not None:
            fields["temperature"] = temperature
        if effort is not None:
            fields["reasoning_effort"] = effort
        if settings.seed is not False:
            seed = request.seed if settings.seed is True else settings.seed
            fields["seed"] = (seed + number) % _MAX_SEED  # an answer that could not be read would come again
        if settings.structured != "prompt":
            fields["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "verdict", "strict": True, "schema": strict_schema(request.schema)},
            }
        return fields

    def without_refused(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        """The fields that are sent."""
        if not self._refused:
            return dict(fields)
        sent = {name: value for name, value in fields.items() if name not in self._refused}
        for name, other in _TOKEN_LIMITS.items():
            if name in fields and name in self._refused and other not in self._refused:
                sent[other] = fields[name]
        return sent

    def adapt(self, fault: CallFault, sent: Mapping[str, Any]) -> bool:
        """Whether the server refused a parameter that was sent; it is left out from now on."""
        message = fault.message.lower()
        if self._settings.structured == "auto" and any(word in message for word in ("json_schema", "response format")):
            message += " response_format"
        for name in _ADAPTABLE:
            if name == "response_format" and self._settings.structured == "schema":
                continue
            if name in _TOKEN_LIMITS and _TOKEN_LIMITS[name] in self._refused:
                continue  # the other name was refused before: the limit itself is what the server does not like
            if name in sent and name in message:
                self._refused.add(name)
                return True
        return False


def settings_told(asked: Mapping[str, Any], sent: Mapping[str, Any]) -> str:
    """How the model was asked: structured output or not, and what was asked for but not taken."""
    told = ["schema" if "response_format" in sent else "prompt"]
    if "response_format" in asked and "response_format" not in sent:
        told.append("response_format (refused)")
    for name in _TOLD:
        if name in asked:
            told.append(f"{name}={asked[name]}" if name != "seed" else "seed")
            if name not in sent:
                told[-1] += " (refused)"
    return ", ".join(told)


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The answer's schema as strict structured output wants it: every key required, no other allowed."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return dict(schema)
    return {**schema, "required": list(properties), "additionalProperties": False}
