"""What the stand-in model says: good answers, odd ones, and those that are no verdict."""

from __future__ import annotations

import json
from dataclasses import replace

from .completions import Ask, complete, reply_json
from .http import Reply

_REFUSAL = "I'm sorry, but I can't help with assessing this idea."
_BOOLEAN = {"type": "boolean"}
_SCHEMA_ECHO = {
    "reasoning": {"type": "string"},
    "winner": {"enum": ["A", "B"]},
    "groups": {"type": "array"},
    **dict.fromkeys(("novel", "is_similar", "supported"), _BOOLEAN),
}
_WRONG_TYPE = {"winner": 1, "groups": "none", **dict.fromkeys(("novel", "is_similar", "supported"), "false")}


def ok(ask: Ask) -> Reply:
    return complete(ask, ask.text)


def content(ask: Ask, text: str, finish: str = "stop") -> Reply:
    """Any text of the test's own."""
    return complete(ask, text, finish)


def fenced(ask: Ask) -> Reply:
    return complete(ask, f"Here is my assessment.\n\n```json\n{json.dumps(ask.answer, indent=2)}\n```\n")


def think(ask: Ask) -> Reply:
    """Reasoning in the text, with a draft of the opposite verdict in it."""
    return complete(ask, f"<think>\nFirst thought: {json.dumps(ask.other)}. No.\n</think>\n\n{ask.text}")


def reasoning(ask: Ask, tokens: int = 64) -> Reply:
    """Reasoning in a field of its own, and counted in the usage."""
    return complete(ask, ask.text, reasoning_content=f"I weigh it. {json.dumps(ask.other)}? ".ljust(tokens * 4, "."))


# No verdict, or an odd one.


def prose(ask: Ask) -> Reply:
    return complete(ask, "Both ideas have merit. On balance the first one seems a little more original to me.")


def refusal(ask: Ask) -> Reply:
    """The field that the API has for it."""
    return complete(ask, None, refusal=_REFUSAL)


def refusal_prose(ask: Ask) -> Reply:
    return complete(ask, _REFUSAL)


def length(ask: Ask) -> Reply:
    """Cut off inside the JSON object."""
    return complete(ask, ask.text[: len(ask.text) // 2], "length")


def length_reasoning(ask: Ask) -> Reply:
    """The whole token budget went into reasoning."""
    return complete(ask, "", "length", reasoning_content="On the one hand, " * 40)


def length_think(ask: Ask) -> Reply:
    """Cut off inside a reasoning block, which holds a draft verdict."""
    return complete(ask, f"<think>\nA draft: {ask.text}. But on the other hand", "length")


def empty_content(ask: Ask) -> Reply:
    return complete(ask, "")


def null_content(ask: Ask) -> Reply:
    return complete(ask, None)


def tool_call(ask: Ask) -> Reply:
    function = {"name": "submit_verdict", "arguments": ask.text}
    return complete(ask, None, "tool_calls", tool_calls=[{"id": "call_1", "type": "function", "function": function}])


def schema_echo(ask: Ask) -> Reply:
    """The prompt's own schema where values belong."""
    return complete(ask, json.dumps({name: _SCHEMA_ECHO[name] for name in ("reasoning", ask.key)}))


def wrong_type(ask: Ask) -> Reply:
    return complete(ask, json.dumps({**ask.answer, ask.key: _WRONG_TYPE[ask.key]}))


def contradiction(ask: Ask) -> Reply:
    """Several objects that disagree; the last one is the good answer."""
    return complete(ask, f"{json.dumps(ask.other)}\n\nOn reflection:\n\n{ask.text}")


def finish_content_filter(ask: Ask) -> Reply:
    """The filter stepped in while the answer was written."""
    return complete(ask, ask.text[:12], "content_filter")


def no_choices(ask: Ask) -> Reply:
    reply = json.loads(complete(replace(ask, body={}), "").body)
    return reply_json({**reply, "choices": []})


def no_usage(ask: Ask) -> Reply:
    """A good answer that does not say what it took."""
    reply = json.loads(complete(replace(ask, body={}), ask.text).body)
    del reply["usage"]
    return reply_json(reply)


def surrogate(ask: Ask) -> Reply:
    """Half a character: JSON allows to write it, UTF-8 has no bytes for it."""
    return complete(ask, json.dumps({**ask.answer, "reasoning": "a half \ud83d character"}, ensure_ascii=False))
