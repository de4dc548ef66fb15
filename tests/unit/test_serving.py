"""The tests' own server: every behaviour at least once, and what it refuses, over raw connections."""

from __future__ import annotations

import email.utils
import http.client
import json
import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.serving import BEHAVIOURS, Server, serving
from tests.serving.raw import Answer, ask, chat, forget, last, send


@pytest.fixture(scope="module")
def shared() -> Iterator[Server]:
    with serving() as server:
        yield server


@pytest.fixture
def server(shared: Server) -> Server:
    """The module's server, told to forget what it was told before."""
    forget(shared)
    return shared


# Every behaviour. The tables are complete: a behaviour that no case names fails the last test of this part.

CONTENTS: dict[str, tuple[str, Any]] = {
    "ok": ("stop", lambda text: isinstance(json.loads(text)["novel"], bool)),
    "content text='any \"text\"'": ("stop", lambda text: text == 'any "text"'),
    "fenced": ("stop", lambda text: "```json\n{" in text),
    "think": ("stop", lambda text: text.startswith("<think>") and "</think>\n\n{" in text),
    "reasoning": ("stop", lambda text: isinstance(json.loads(text)["novel"], bool)),
    "prose": ("stop", lambda text: "{" not in text and "merit" in text),
    "refusal": ("stop", lambda text: text is None),
    "refusal-prose": ("stop", lambda text: text.startswith("I'm sorry")),
    "length": ("length", lambda text: text.startswith('{"reasoning') and "}" not in text),
    "length-reasoning": ("length", lambda text: text == ""),
    "length-think": ("length", lambda text: text.startswith("<think>") and "</think>" not in text),
    "empty-content": ("stop", lambda text: text == ""),
    "null-content": ("stop", lambda text: text is None),
    "tool-call": ("tool_calls", lambda text: text is None),
    "schema-echo": ("stop", lambda text: json.loads(text)["novel"] == {"type": "boolean"}),
    "wrong-type": ("stop", lambda text: json.loads(text)["novel"] == "false"),
    "contradiction": ("stop", lambda text: '"novel": true' in text and '"novel": false' in text),
    "finish-content-filter": ("content_filter", lambda text: text == '{"reasoning"'),
    "no-usage": ("stop", lambda text: isinstance(json.loads(text)["novel"], bool)),
    "surrogate": ("stop", lambda text: json.loads(text)["reasoning"] == "a half \ud83d character"),
    "dribble pieces=4 pause_s=0.01": ("stop", lambda text: isinstance(json.loads(text)["novel"], bool)),
}

ERRORS: dict[str, tuple[int, str | None, str | None, str | None, str]] = {
    "400 message=Odd. param=n": (400, "invalid_request_error", None, "n", "Odd."),
    "400-parameter": (400, "invalid_request_error", "unsupported_value", "temperature", "Unsupported value: 'temperature'"),
    "400-parameter param=max_tokens": (400, "invalid_request_error", "unsupported_parameter", "max_tokens", "Use 'max_completion_tokens'"),
    "400-parameter param=response_format": (400, "invalid_request_error", None, "response_format", "Invalid parameter: 'response_format' of type 'json_schema'"),
    "400-schema": (400, "invalid_request_error", None, "response_format", "Invalid schema for response_format 'verdict'"),
    "400-context": (400, "invalid_request_error", "context_length_exceeded", "messages", "maximum context length is 8192"),
    "400-content-filter": (400, None, "content_filter", "prompt", "content management policy"),
    "401": (401, "invalid_request_error", "invalid_api_key", None, "sk-************-end."),
    "401 echo=true": (401, "invalid_request_error", "invalid_api_key", None, "sk-a-long-key-end."),
    "403": (403, "invalid_request_error", "model_not_found", None, "does not have access to model `gpt-test`"),
    "404-model": (404, "invalid_request_error", "model_not_found", None, "The model `gpt-test` does not exist"),
    "429": (429, "requests", "rate_limit_exceeded", None, "Rate limit reached for gpt-test"),
    "429-quota": (429, "insufficient_quota", "insufficient_quota", None, "You exceeded your current quota"),
    "500": (500, "server_error", None, None, "The server had an error"),
    "503": (503, "server_error", None, None, "overloaded"),
    "error-in-200": (200, None, 502, None, "Provider returned error"),  # type: ignore[dict-item]
}  # fmt: skip

ODD_BODIES: dict[str, tuple[int, bytes | None]] = {
    "malformed-json": (200, b'{"id": "chatcmpl-'),
    "html": (200, b"<html>\r\n<head><title>Please sign in"),
    "empty-body": (200, None),
    "non-utf8-body": (200, b"\xff\xfe\x00\x9c"),
    "non-utf8-content": (200, b'{"id": "chatcmpl-'),
    "no-choices": (200, b'{"id": "chatcmpl-'),
    "502": (502, b"<html>\r\n<head><title>502 Bad Gateway"),
    "529": (529, b'{"type": "error", "error": {"type": "overloaded_error"'),
}

NETWORK = ("disconnect", "disconnect reset=true", "disconnect-body", "disconnect-body reset=true", "hang", "hang-body")


@pytest.mark.parametrize("behaviour", CONTENTS)
def test_a_completion_has_the_content(server: Server, behaviour: str) -> None:
    finish, fits = CONTENTS[behaviour]
    answer = ask(server, behaviour)
    assert answer.status == 200
    assert answer.json["object"] == "chat.completion"
    assert answer.choice["finish_reason"] == finish
    assert fits(answer.content)
    seen = last(server)
    assert (seen.behaviour, seen.status, seen.complete, seen.paid) == (behaviour, 200, True, True)
    assert seen.reply_text == answer.raw.decode()


@pytest.mark.parametrize("behaviour", [name for name in CONTENTS if name != "no-usage"])
def test_a_stream_carries_the_same_message(server: Server, behaviour: str) -> None:
    whole = ask(server, behaviour)
    stream = ask(server, behaviour, chat(stream=True, stream_options={"include_usage": True}))
    assert stream.headers["Content-Type"] == "text/event-stream"
    message = whole.choice["message"]
    for name in ("content", "reasoning_content", "refusal"):
        assert stream.streamed(name) == (message.get(name) or "")
    *events, end, usage = stream.events
    assert end["choices"][0]["finish_reason"] == whole.choice["finish_reason"]
    assert usage["usage"] == whole.json["usage"]
    calls = [call for event in events for call in event["choices"][0]["delta"].get("tool_calls", ())]
    assert [call["function"] for call in calls] == [call["function"] for call in message.get("tool_calls", ())]


def test_what_goes_beside_the_content(server: Server) -> None:
    assert ask(server, "refusal").choice["message"]["refusal"].startswith("I'm sorry")
    assert ask(server, "length-reasoning").choice["message"]["reasoning_content"].startswith("On the one hand")
    (call,) = ask(server, "tool-call").choice["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"])["novel"] in (True, False)
    thought = ask(server, "reasoning tokens=80")
    assert len(thought.choice["message"]["reasoning_content"]) == 320
    assert thought.json["usage"]["completion_tokens_details"]["reasoning_tokens"] == 80
    assert "usage" not in ask(server, "no-usage").json


@pytest.mark.parametrize("behaviour", ERRORS)
def test_an_error_has_the_body_of_the_api(server: Server, behaviour: str) -> None:
    status, kind, code, param, message = ERRORS[behaviour]
    server.change(script=[behaviour])
    answer = send(server, headers={"Authorization": "Bearer sk-a-long-key-end"})
    assert answer.status == status
    assert (answer.error["type"], answer.error["code"], answer.error["param"]) == (kind, code, param)
    assert message in answer.error["message"]
    assert not last(server).paid


@pytest.mark.parametrize("behaviour", ODD_BODIES)
def test_a_body_that_is_no_completion(server: Server, behaviour: str) -> None:
    status, begins = ODD_BODIES[behaviour]
    answer = ask(server, behaviour)
    assert (answer.status, answer.broken) == (status, False)
    assert answer.raw.startswith(begins) if begins else answer.raw == b""
    if behaviour == "malformed-json":
        with pytest.raises(ValueError, match="Unterminated|delimiter|value"):
            json.loads(answer.raw)
    if behaviour == "non-utf8-content":
        assert b"caf\xe9" in answer.raw
    if behaviour == "no-choices":
        assert answer.json["choices"] == []
    assert last(server).complete


@pytest.mark.parametrize("behaviour", NETWORK)
def test_the_network_fails(server: Server, behaviour: str) -> None:
    server.change(script=[behaviour])
    broken: tuple[type[Exception], ...] = (http.client.RemoteDisconnected, ConnectionResetError)
    if behaviour.startswith("hang"):
        with pytest.raises(TimeoutError):
            send(server, timeout=0.2)
    elif behaviour == "disconnect-body":
        answer = send(server)
        assert (answer.status, answer.broken) == (200, True)
        assert answer.raw.startswith(b'{"id": "chatcmpl-')
    else:
        with pytest.raises(broken):
            send(server)
    seen = last(server)
    assert (seen.behaviour, seen.complete, seen.paid) == (behaviour, False, False)


def test_every_behaviour_is_tried() -> None:
    tried = [name.split()[0] for name in (*CONTENTS, *ERRORS, *ODD_BODIES, *NETWORK)]
    assert set(tried) == set(BEHAVIOURS)


def test_a_slow_body_always_has_something_to_read(server: Server) -> None:
    """A timeout between bytes does not see it, a timeout of the whole call does."""
    server.change(script=["dribble pieces=5 pause_s=0.05"])
    began = time.monotonic()
    assert send(server, timeout=0.15).status == 200
    assert time.monotonic() - began > 0.19


def test_a_client_that_gives_up_is_noticed(server: Server) -> None:
    server.change(script=["dribble pieces=100 pause_s=1", "ok latency_s=0.3"])
    for _ in range(2):
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            data = json.dumps(chat()).encode()
            client.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(data), data))
            time.sleep(0.05)
        assert last(server).complete is False


# Retry-After.


@pytest.mark.parametrize(
    ("behaviour", "headers"),
    [
        ("429", {}),
        ("429 retry_after=2", {"Retry-After": "2"}),
        ("429 retry_after=0.25", {"Retry-After": "0.25"}),
        ("429 retry_after=soon", {"Retry-After": "soon"}),
        ("429 retry_after_ms=150", {"retry-after-ms": "150"}),
        ("503 retry_after=1", {"Retry-After": "1"}),
    ],
)
def test_retry_after(server: Server, behaviour: str, headers: dict[str, str]) -> None:
    answer = ask(server, behaviour)
    assert {name: value for name, value in answer.headers.items() if name.lower().startswith("retry-after")} == headers


def test_retry_after_may_be_a_date(server: Server) -> None:
    answer = ask(server, "429 date_in_s=30")
    wait = email.utils.parsedate_to_datetime(answer.headers["Retry-After"]).timestamp() - time.time()
    assert 27 < wait <= 31


# What a real server would refuse.


def test_a_key_may_be_required(server: Server) -> None:
    server.change(key="sk-right")
    for path in ("/v1/chat/completions", "/v1/models"):
        assert send(server, path=path).status == 401
        assert send(server, path=path, headers={"Authorization": "Bearer sk-wrong"}).status == 401
        assert send(server, path=path, headers={"Authorization": "Bearer sk-right"}).status == 200
    assert server.requests()[-1].authorization == "Bearer sk-right"


def test_models_may_be_listed_and_then_no_other_exists(server: Server) -> None:
    assert send(server, path="/v1/models").json["data"] == []
    server.change(models=["one", "two"])
    assert [model["id"] for model in send(server, path="/v1/models").json["data"]] == ["one", "two"]
    assert send(server).status == 404
    assert send(server, {**chat(), "model": "two"}).json["model"] == "two"


@pytest.mark.parametrize(
    ("name", "refused", "taken"),
    [
        ("temperature", 0, 1),
        ("seed", 7, None),
        ("max_tokens", 5, None),
        ("reasoning_effort", "low", None),
        ("response_format", {"type": "json_object"}, None),
    ],
)
def test_a_parameter_may_be_unsupported(server: Server, name: str, refused: object, taken: object) -> None:
    server.change(unsupported=[name])
    answer = send(server, {**chat(), name: refused})
    assert (answer.status, answer.error["param"]) == (400, name)
    assert send(server, {**chat(), name: taken}).status == 200
    assert send(server).status == 200


def test_strict_schemas(server: Server) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"a": {}, "b": {}}, "required": ["b"]}

    def wanted() -> Answer:
        inner = {"name": "verdict", "strict": True, "schema": schema}
        return send(server, chat(response_format={"type": "json_schema", "json_schema": inner}))

    assert wanted().status == 200
    server.change(strict_schema=True)
    assert "'additionalProperties' is required" in wanted().error["message"]
    schema["additionalProperties"] = False
    assert "Missing 'a'" in wanted().error["message"]
    schema["required"] = ["a", "b"]
    assert wanted().status == 200


def test_requests_a_minute(server: Server) -> None:
    server.change(requests_per_minute=3, minute_s=0.5)
    answers = [send(server) for _ in range(5)]
    assert [answer.status for answer in answers] == [200, 200, 200, 429, 429]
    assert len(server.violations()) == 2
    wait = float(answers[-1].headers["Retry-After"])
    assert 0 < wait <= 0.5
    time.sleep(wait + 0.01)
    assert send(server).status == 200


def test_what_is_no_chat_request(server: Server) -> None:
    assert send(server, path="/v1/embeddings").status == 404
    assert send(server, ["not", "a", "request"]).status == 400
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(b"nonsense\r\n\r\n")
        assert client.recv(100).startswith(b"HTTP/1.1 400 ")
