"""Chat completions, the dialect that both our providers speak: what a request asks with, and what its server did not take."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pytest_novelty.judges.llm.faults import CallFault
from pytest_novelty.judges.llm.files import LlmSettings
from pytest_novelty.judges.llm.replies import Reply, read_reply
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
    """The requests of one judge. Remembers the parameters that its server refused; they are not sent again.

    Only a request that is answered without a parameter shows that this was the matter: a refusal that merely speaks of
    temperatures must not change how all others are asked.
    """

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        self._refused: set[str] = set()

    def fields(self, request: Request, number: int) -> dict[str, Any]:
        """The fields of a chat completion for the ``number``-th asking (from 0) of a request, taken by the server or not."""
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
            # Every vote has a seed of its own, or a second vote would only repeat the first; so has every asking.
            base = 0 if settings.seed is True else settings.seed
            fields["seed"] = (base + request.seed + number) % _MAX_SEED
        if settings.structured != "prompt":
            fields["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "verdict", "strict": True, "schema": strict_schema(request.schema)},
            }
        return fields

    def to_send(self, fields: Mapping[str, Any], on_trial: Sequence[str] = ()) -> dict[str, Any]:
        """The fields less those that the server refused, and less those left out ``on_trial``."""
        left_out = {*self._refused, *on_trial}
        if not left_out:
            return dict(fields)
        sent = {name: value for name, value in fields.items() if name not in left_out}
        for name, other in _TOKEN_LIMITS.items():
            if name in fields and name in left_out and other not in left_out:
                sent[other] = fields[name]
        return sent

    def without(self, fault: CallFault, sent: Mapping[str, Any], on_trial: Sequence[str] = ()) -> str:
        """The parameter that a fault names as not taken, of those that were sent; empty if it names none.

        By the ``param`` of OpenAI's errors, else by a name that stands in the message as a word of its own.
        """
        message = fault.message
        if re.search("json_schema|response format", message, re.IGNORECASE):
            message += " response_format"
        for name in _ADAPTABLE:
            if name == "response_format" and self._settings.structured == "schema":
                continue
            if name in _TOKEN_LIMITS and _TOKEN_LIMITS[name] in {*self._refused, *on_trial}:
                continue  # the other name was refused before: the limit itself is what the server does not like
            if name in sent and (
                fault.param == name or (not fault.param and re.search(rf"(?<![\w-]){name}(?![\w-])", message))
            ):
                return name
        return ""

    def leave_out(self, name: str) -> None:
        """From now on: a request without the parameter was answered."""
        self._refused.add(name)

    def told(self, asked: Mapping[str, Any], sent: Mapping[str, Any]) -> str:
        """How the model was asked: structured output or not, and what was asked for but not taken."""
        told = ["schema" if "response_format" in sent else "prompt"]
        if "response_format" in asked and "response_format" not in sent:
            told.append("response_format (refused)")
        for name in _TOLD:
            if name in asked:
                told.append(f"{name}={asked[name]}" if name != "seed" else "seed")
                if name not in sent:
                    told[-1] += " (refused)"
        for name, other in _TOKEN_LIMITS.items():
            if name in asked and name not in sent:
                told.append(f"{other} for {name}" if other in sent else f"{name} (refused)")
        return ", ".join(told)

    def read(self, body: Mapping[str, Any]) -> Reply:
        return read_reply(body)


def strict_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The answer's schema as strict structured output wants it: every key required, no other allowed."""
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return dict(schema)
    return {**schema, "required": list(properties), "additionalProperties": False}
