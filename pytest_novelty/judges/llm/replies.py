"""The body of a response -> what the model said, or why it said nothing that can be used."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from pytest_novelty.judges.llm.faults import CallFault, fault_told
from pytest_novelty.judges.llm.prices import Tokens
from pytest_novelty.model import REFUSED, TRUNCATED, UNPARSED, Failure


class Reply(NamedTuple):
    """``text`` is the answer, ``reasoning`` what the server returned beside it; ``failure`` says why the text is no answer.

    ``is_cut``: the model reached its token limit, so that an unreadable text was cut off and not malformed.
    """

    text: str
    failure: Failure | None = None
    is_cut: bool = False
    reasoning: str = ""
    model: str | None = None
    tokens: Tokens = Tokens()


def read_reply(body: Mapping[str, Any]) -> Reply:
    """Read a chat completion's body. Raises CallFault if it is none: an error that it tells, or a fault of transport."""
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    if not isinstance(choice, Mapping):
        without = f"the server's response has no choices: {sorted(map(str, body))[:8]}"
        raise fault_told(body["error"], without) if body.get("error") else CallFault("malformed", without)
    if isinstance(choice.get("error"), Mapping):  # the answer broke off
        raise fault_told(choice["error"], "the server says that its answer failed")
    message = choice.get("message")
    message = message if isinstance(message, Mapping) else {}
    text = _text(message.get("content"))
    finish = choice.get("finish_reason")
    reasoning = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    model = body.get("model")
    return Reply(
        text,
        _failure(message, text, finish, reasoning),
        finish == "length",
        reasoning,
        model if isinstance(model, str) and model else None,
        _tokens(body.get("usage")),
    )


def _failure(message: Mapping[str, Any], text: str, finish: object, reasoning: str) -> Failure | None:
    refusal = _text(message.get("refusal"))
    if finish == "content_filter":
        return Failure(REFUSED, "content filter", "the provider's content filter stopped the answer")
    if refusal and not text.strip():
        return Failure(REFUSED, "refusal", f"the model declined: {refusal}")
    if text.strip():
        return None
    if message.get("tool_calls") or message.get("function_call"):
        return Failure(UNPARSED, "tool call", "the model called a tool instead of answering")
    if finish == "length":
        kind = "truncated reasoning" if reasoning else "truncated answer"
        return Failure(TRUNCATED, kind, "the token limit was reached before the answer began; raise max_tokens")
    return Failure(UNPARSED, "empty", "the answer is empty")


def _text(value: object) -> str:
    """Content is a text, or a list of parts of which some are text."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        parts = [part.get("text") for part in value if isinstance(part, Mapping)]
        return "".join(part for part in parts if isinstance(part, str))
    return ""


def _tokens(usage: object) -> Tokens:
    if not isinstance(usage, Mapping):
        return Tokens()
    if not _count(usage, "prompt_tokens") and not _count(usage, "completion_tokens"):
        return Tokens()  # what litellm makes of a response that tells none: no call takes no token
    return Tokens(
        _count(usage, "prompt_tokens"),
        _count(usage, "completion_tokens"),
        _count(usage.get("prompt_tokens_details"), "cached_tokens"),
        _count(usage.get("completion_tokens_details"), "reasoning_tokens"),
    )


def _count(source: object, name: str) -> int | None:
    value = source.get(name) if isinstance(source, Mapping) else None
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**53 else None
