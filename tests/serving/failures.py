"""What goes wrong around a model: bodies that are no completion, errors, and the network."""

from __future__ import annotations

import email.utils
import json
import time
from dataclasses import replace

from .completions import Ask, complete, fail, fail_html, reply_json
from .http import NOTHING, Reply

_JSON = {"Content-Type": "application/json"}
_FILTERED = (
    "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. "
    "Please modify your prompt and retry."
)

# Bodies that are no completion.


def malformed_json(ask: Ask) -> Reply:
    whole = complete(replace(ask, body={}), ask.text)
    return replace(whole, pieces=[whole.body[: len(whole.body) // 2]])


def html(ask: Ask) -> Reply:
    """A login page or a captive portal, with status 200."""
    return fail_html(200, "Please sign in")


def empty_body(ask: Ask) -> Reply:
    return Reply(200, _JSON)


def non_utf8_body(ask: Ask) -> Reply:
    return Reply(200, _JSON, [b"\xff\xfe\x00\x9c" * 16])


def non_utf8_content(ask: Ask) -> Reply:
    """A completion like any other but for one byte in the middle of the content."""
    whole = complete(ask, json.dumps({**ask.answer, "reasoning": "caf~"}))
    return replace(whole, pieces=[piece.replace(b"caf~", b"caf\xe9") for piece in whole.pieces])


def error_in_200(ask: Ask, code: int | str | None = 502, message: str = "Provider returned error") -> Reply:
    """Routers in front of several providers report failures of these like this."""
    return fail(200, message, None, code=code)


# Errors.


def bad_request(ask: Ask, message: str = "Invalid request.", param: str | None = None) -> Reply:
    return fail(400, message, "invalid_request_error", None, param)


def unsupported_parameter(ask: Ask, param: str = "temperature") -> Reply:
    """A parameter that this model does not take. What is sent for it is in the message where the API says so."""
    if param == "temperature":
        value = ask.body.get("temperature", 0)
        message = f"Unsupported value: 'temperature' does not support {value} with this model. Only the default (1) value is supported."
        return fail(400, message, "invalid_request_error", "unsupported_value", param)
    if param == "response_format":
        kind = (ask.body.get("response_format") or {}).get("type", "json_schema")
        message = f"Invalid parameter: 'response_format' of type '{kind}' is not supported with this model."
        return fail(400, message, "invalid_request_error", None, param)
    message = f"Unsupported parameter: '{param}' is not supported with this model."
    message += " Use 'max_completion_tokens' instead." if param == "max_tokens" else ""
    return fail(400, message, "invalid_request_error", "unsupported_parameter", param)


def invalid_schema(
    ask: Ask, detail: str = "'additionalProperties' is required to be supplied and to be false."
) -> Reply:
    name = ((ask.body.get("response_format") or {}).get("json_schema") or {}).get("name", "verdict")
    message = f"Invalid schema for response_format '{name}': In context=(), {detail}"
    return fail(400, message, "invalid_request_error", None, "response_format")


def context_exceeded(ask: Ask, limit: int = 8192) -> Reply:
    message = f"This model's maximum context length is {limit} tokens. Please reduce the length of the messages."
    return fail(400, message, "invalid_request_error", "context_length_exceeded", "messages")


def filtered_prompt(ask: Ask) -> Reply:
    result = {"violence": {"filtered": True, "severity": "medium"}, "hate": {"filtered": False, "severity": "safe"}}
    inner = {"code": "ResponsibleAIPolicyViolation", "content_filter_result": result}
    return fail(400, _FILTERED, None, "content_filter", "prompt", status=400, innererror=inner)


def wrong_key(ask: Ask, echo: bool = False) -> Reply:
    """``echo``: the message repeats the key in full, which servers should not do and some do."""
    key = ask.authorization.removeprefix("Bearer ")
    shown = key if echo else f"{key[:3]}{'*' * 12}{key[-4:] if len(key) > 12 else ''}"
    return fail(401, f"Incorrect API key provided: {shown}.", "invalid_request_error", "invalid_api_key")


def forbidden(ask: Ask) -> Reply:
    message = f"Project does not have access to model `{ask.body.get('model')}`"
    return fail(403, message, "invalid_request_error", "model_not_found")


def unknown_model(ask: Ask) -> Reply:
    message = f"The model `{ask.body.get('model')}` does not exist or you do not have access to it."
    return fail(404, message, "invalid_request_error", "model_not_found")


def _wait_headers(
    retry_after: object = None, retry_after_ms: object = None, date_in_s: float | None = None
) -> dict[str, str]:
    headers = {}
    if retry_after is not None:
        headers["Retry-After"] = str(retry_after)
    if date_in_s is not None:
        headers["Retry-After"] = email.utils.formatdate(time.time() + date_in_s, usegmt=True)
    if retry_after_ms is not None:
        headers["retry-after-ms"] = str(retry_after_ms)
    return headers


def too_many_requests(
    ask: Ask, retry_after: object = None, retry_after_ms: object = None, date_in_s: float | None = None
) -> Reply:
    """Too many requests. ``retry_after`` may be any text (seconds, fractions, nonsense); ``date_in_s`` makes it a date."""
    headers = _wait_headers(retry_after, retry_after_ms, date_in_s)
    message = f"Rate limit reached for {ask.model} on requests per min (RPM). Please try again later."
    return fail(429, message, "requests", "rate_limit_exceeded", headers=headers)


def no_quota(ask: Ask) -> Reply:
    message = "You exceeded your current quota, please check your plan and billing details."
    return fail(429, message, "insufficient_quota", "insufficient_quota")


def server_error(ask: Ask) -> Reply:
    return fail(500, "The server had an error while processing your request. Sorry about that!", "server_error")


def bad_gateway(ask: Ask) -> Reply:
    return fail_html(502, "502 Bad Gateway")


def overloaded(ask: Ask, retry_after: object = None) -> Reply:
    message = "The engine is currently overloaded, please try again later"
    return fail(503, message, "server_error", headers=_wait_headers(retry_after))


def overloaded_529(ask: Ask) -> Reply:
    return reply_json({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, 529)


# The network.


def disconnect(ask: Ask, reset: bool = False) -> Reply:
    """Gone before a word was said."""
    return Reply(stop_after=NOTHING, then="reset" if reset else "close")


def disconnect_body(ask: Ask, reset: bool = False) -> Reply:
    """Gone in the middle of a good answer."""
    whole = _cut(complete(ask, ask.text), 2)
    return replace(whole, stop_after=len(whole.pieces) // 2, then="reset" if reset else "close")


def hang(ask: Ask) -> Reply:
    """Never an answer, until the client goes away."""
    return Reply(stop_after=NOTHING, then="hang")


def hang_body(ask: Ask) -> Reply:
    """Half of a good answer, and then nothing."""
    whole = _cut(complete(ask, ask.text), 2)
    return replace(whole, stop_after=len(whole.pieces) // 2, then="hang")


def dribble(ask: Ask, pieces: int = 10, pause_s: float = 0.1) -> Reply:
    """A good answer in small pieces: there is always something to read, and it takes (pieces - 1) x pause_s."""
    return replace(_cut(complete(ask, ask.text), pieces), pause_s=pause_s)


def _cut(reply: Reply, pieces: int) -> Reply:
    """The same body in (about) so many pieces."""
    size = -(-len(reply.body) // pieces)
    body = reply.body
    return replace(reply, pieces=[body[start : start + size] for start in range(0, len(body), size)])
