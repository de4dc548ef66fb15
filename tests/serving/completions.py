"""Bodies of an OpenAI-compatible chat API: completions (at once or as a stream) and errors.

Shapes and wordings are those of the OpenAI API reference and of errors that its users report.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .http import Reply
from .verdicts import VERDICT_KEYS

JSON_TYPE = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Ask:
    """A chat request as the stand-in model sees it. ``answer`` is the good verdict, ``model`` the served model."""

    id: str
    body: Mapping[str, Any]
    authorization: str
    prompt: str
    answer: Mapping[str, Any]
    model: str
    usage: Mapping[str, int]

    @property
    def text(self) -> str:
        """The good answer as the model writes it."""
        return json.dumps(self.answer)

    @property
    def key(self) -> str:
        """The key that carries the verdict."""
        return next(key for key in VERDICT_KEYS if key in self.answer)

    @property
    def other(self) -> dict[str, Any]:
        """The opposite verdict."""
        value = self.answer[self.key]
        if isinstance(value, list):  # groups: none
            return {**self.answer, self.key: []}
        return {**self.answer, self.key: {"A": "B", "B": "A"}[value] if isinstance(value, str) else not value}


def complete(ask: Ask, content: str | None, finish: str = "stop", **message: Any) -> Reply:
    """A completion with ``content``; ``message`` adds to the assistant's message (refusal, tool_calls, ...)."""
    reasoning = message.get("reasoning_content") or ""
    usage = _usage(ask, len(content or "") // 4 + 1, len(reasoning) // 4)
    whole = {"role": "assistant", "content": content, **message}
    if ask.body.get("stream"):
        events = [*_events(ask, whole, finish, usage), "[DONE]"]
        pieces = [f"data: {event}\n\n".encode() for event in events]
        return Reply(200, {"Content-Type": "text/event-stream"}, pieces, chunked=True)
    choice = {"index": 0, "message": whole, "finish_reason": finish, "logprobs": None}
    return reply_json({**_frame(ask, "chat.completion"), "choices": [choice], "usage": usage})


def reply_json(value: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Reply:
    return Reply(status, {**JSON_TYPE, **(headers or {})}, [json.dumps(value).encode()])


def fail(
    status: int,
    message: str,
    kind: str | None,
    /,
    code: str | int | None = None,
    param: str | None = None,
    headers: Mapping[str, str] | None = None,
    **more: Any,
) -> Reply:
    """An error as the OpenAI API words it."""
    error = {"message": message, "type": kind, "param": param, "code": code, **more}
    return reply_json({"error": error}, status, headers)


def fail_html(status: int, title: str) -> Reply:
    """What a proxy in front of an API says."""
    page = f"<html>\r\n<head><title>{title}</title></head>\r\n<body><center><h1>{title}</h1></center></body>\r\n</html>\r\n"
    return Reply(status, {"Content-Type": "text/html"}, [page.encode()])


def count_tokens(text: str) -> int:
    """Four characters to a token: what matters is that the counts are there, add up and repeat."""
    return len(text) // 4 + 1


def _usage(ask: Ask, content: int, reasoning: int) -> dict[str, Any]:
    prompt = ask.usage.get("prompt_tokens", count_tokens(ask.prompt))
    reasoning = ask.usage.get("reasoning_tokens", reasoning)
    completion = ask.usage.get("completion_tokens", content + reasoning)
    return {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": ask.usage.get("cached_tokens", 0), "audio_tokens": 0},
        "completion_tokens_details": {"reasoning_tokens": reasoning, "audio_tokens": 0},
    }


def _frame(ask: Ask, kind: str) -> dict[str, Any]:
    return {
        "id": f"chatcmpl-{ask.id}",
        "object": kind,
        "created": int(time.time()),
        "model": ask.model,
        "system_fingerprint": "fp_tests",
    }


def _events(ask: Ask, message: Mapping[str, Any], finish: str, usage: Mapping[str, Any]) -> Iterator[str]:
    frame = _frame(ask, "chat.completion.chunk")

    def event(delta: Mapping[str, Any], reason: str | None = None) -> str:
        return json.dumps({**frame, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]})

    yield event({"role": "assistant", "content": ""})
    for name in ("reasoning_content", "content", "refusal"):
        text = message.get(name) or ""
        yield from (event({name: text[start : start + 24]}) for start in range(0, len(text), 24))
    for index, call in enumerate(message.get("tool_calls") or ()):
        yield event({"tool_calls": [{"index": index, **call}]})
    yield event({}, finish)
    if (ask.body.get("stream_options") or {}).get("include_usage"):
        yield json.dumps({**frame, "choices": [], "usage": usage})
