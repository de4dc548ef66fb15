"""A raw client for the server, and the requests that its tests send: nothing between them and the wire."""

from __future__ import annotations

import http.client
import json
import time
from typing import Any

from .control import Exchange, Server
from .settings import Settings

PAIR = "Which is newer?\n<idea_A>\nTitle: {}\n\nText.\n</idea_A>\n<idea_B>\nTitle: {}\n\nText.\n</idea_B>\nAnswer."
SINGLE = "Is it new?\n<idea-1f>\nTitle: {}\n\nText.\n</idea-1f>\nAnswer."


def forget(server: Server) -> None:
    """Back to the defaults."""
    server.change(**vars(Settings()))


def chat(prompt: str = SINGLE.format("One"), **more: Any) -> dict[str, Any]:
    return {"model": "gpt-test", "messages": [{"role": "user", "content": prompt}], **more}


class Answer:
    """A response, read to its end or to where it broke off."""

    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.broken = False
        try:
            self.raw = response.read()
        except http.client.IncompleteRead as error:
            self.raw, self.broken = error.partial, True

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    @property
    def error(self) -> Any:
        return self.json["error"]

    @property
    def choice(self) -> Any:
        return self.json["choices"][0]

    @property
    def content(self) -> Any:
        return self.choice["message"]["content"]

    @property
    def events(self) -> list[Any]:
        """The events of a stream, without the last: [DONE]."""
        *events, last = [line.removeprefix("data: ") for line in self.raw.decode().split("\n\n") if line]
        assert last == "[DONE]"
        return [json.loads(event) for event in events]

    def streamed(self, name: str) -> str:
        return "".join(
            choice["delta"].get(name) or "" for event in self.events for choice in event["choices"]
        )  # fmt: skip


def send(
    server: Server,
    body: object = None,
    *,
    path: str = "/v1/chat/completions",
    headers: dict[str, str] | None = None,
    timeout: float = 10.0,
) -> Answer:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=timeout)
    try:
        data = json.dumps(chat() if body is None else body)
        if path == "/v1/models":
            connection.request("GET", path, headers=headers or {})
        else:
            connection.request("POST", path, data, headers or {})
        return Answer(connection.getresponse())
    finally:
        connection.close()


def ask(server: Server, behaviour: str, body: object = None) -> Answer:
    """Send one request that meets ``behaviour``."""
    server.change(script=[behaviour])
    return send(server, body)


def last(server: Server) -> Exchange:
    """The last exchange, once it is over."""
    deadline = time.monotonic() + 5
    while (found := server.requests(path=None)[-1]).answered is None:
        assert time.monotonic() < deadline
        time.sleep(0.005)
    return found
