"""Everything the server can do to a request, by name: one table, one short function each (``answers``, ``failures``).

A behaviour is written as its name and its options: ``"429"``, ``"429 retry_after=1.5"``, ``"dribble pieces=20 pause_s=0.5"``.
Every one also takes ``latency_s``, which goes before the server's own latency.
"""

from __future__ import annotations

import inspect
import json
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from . import answers, failures
from .completions import Ask
from .http import Reply

Function = Callable[..., Reply]

BEHAVIOURS: Mapping[str, Function] = {
    "ok": answers.ok,
    "content": answers.content,
    "fenced": answers.fenced,
    "think": answers.think,
    "reasoning": answers.reasoning,
    "prose": answers.prose,
    "refusal": answers.refusal,
    "refusal-prose": answers.refusal_prose,
    "length": answers.length,
    "length-reasoning": answers.length_reasoning,
    "length-think": answers.length_think,
    "empty-content": answers.empty_content,
    "null-content": answers.null_content,
    "tool-call": answers.tool_call,
    "schema-echo": answers.schema_echo,
    "wrong-type": answers.wrong_type,
    "contradiction": answers.contradiction,
    "finish-content-filter": answers.finish_content_filter,
    "no-choices": answers.no_choices,
    "no-usage": answers.no_usage,
    "surrogate": answers.surrogate,
    "malformed-json": failures.malformed_json,
    "html": failures.html,
    "empty-body": failures.empty_body,
    "non-utf8-body": failures.non_utf8_body,
    "non-utf8-content": failures.non_utf8_content,
    "error-in-200": failures.error_in_200,
    "400": failures.bad_request,
    "400-parameter": failures.unsupported_parameter,
    "400-schema": failures.invalid_schema,
    "400-context": failures.context_exceeded,
    "400-content-filter": failures.filtered_prompt,
    "401": failures.wrong_key,
    "403": failures.forbidden,
    "404-model": failures.unknown_model,
    "429": failures.too_many_requests,
    "429-quota": failures.no_quota,
    "500": failures.server_error,
    "502": failures.bad_gateway,
    "503": failures.overloaded,
    "529": failures.overloaded_529,
    "disconnect": failures.disconnect,
    "disconnect-body": failures.disconnect_body,
    "hang": failures.hang,
    "hang-body": failures.hang_body,
    "dribble": failures.dribble,
}


@dataclass(frozen=True, slots=True)
class Chosen:
    """A behaviour with its options, as it was written."""

    written: str
    name: str
    options: Mapping[str, Any]

    def __call__(self, ask: Ask) -> Reply:
        return BEHAVIOURS[self.name](
            ask, **{name: value for name, value in self.options.items() if name != "latency_s"}
        )


@lru_cache(maxsize=4096)
def parse_behaviour(written: str) -> Chosen:
    """Read ``"name option=value ..."``. Values are JSON, or else texts. Raises ValueError with what is known."""
    name, *parts = shlex.split(written)
    if name not in BEHAVIOURS:
        raise ValueError(f"no behaviour is called {name!r}; known: {', '.join(sorted(BEHAVIOURS))}")
    options = {key: _value(value) for key, _, value in (part.partition("=") for part in parts)}
    parameters = list(inspect.signature(BEHAVIOURS[name]).parameters.values())[1:]
    known = [*(parameter.name for parameter in parameters), "latency_s"]
    if unknown := options.keys() - set(known):
        raise ValueError(f"{name!r} has no option {min(unknown)!r}; known: {', '.join(known)}")
    if missing := [item.name for item in parameters if item.default is item.empty and item.name not in options]:
        raise ValueError(f"{name!r} needs the option {missing[0]!r}")
    return Chosen(written, name, options)


def write_behaviour(name: str, **options: Any) -> str:
    """The inverse of :func:`parse_behaviour`, for options whose values need quotes."""
    return " ".join([name, *(shlex.quote(f"{key}={json.dumps(value)}") for key, value in options.items())])


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
