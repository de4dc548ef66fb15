"""The server itself: what comes in is recorded, held against the settings, answered as planned, and recorded again."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
import threading
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .behaviours import Chosen, parse_behaviour
from .completions import Ask, fail, reply_json
from .http import Connection, Reply, Request, Send
from .settings import Settings
from .verdicts import decide

CHAT = "/v1/chat/completions"
MODELS = "/v1/models"
CONTROL = "/control/"


class Journal:
    """An append-only JSONL file: one line when a request came in, one when it was answered.

    Each line is one unbuffered write, so that it can be read at any time and outlives whoever is killed.
    """

    def __init__(self, path: Path) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._count = 0

    def received(self, request: Request) -> str:
        self._count += 1
        number = f"{os.getpid()}-{self._count}"
        self._write(
            event="received",
            id=number,
            connection=request.connection,
            method=request.method,
            path=request.path,
            headers=dict(request.headers),
            body=request.body.decode("utf-8", "backslashreplace"),
        )
        return number

    def answered(self, number: str, behaviour: str, reply: Reply, complete: bool, violation: bool) -> None:
        self._write(
            event="answered",
            id=number,
            behaviour=behaviour,
            status=reply.status,
            headers=dict(reply.headers),
            body=reply.body.decode("utf-8", "backslashreplace"),
            complete=complete,
            violation=violation,
        )

    def _write(self, **entry: Any) -> None:
        line = json.dumps({**entry, "wall": time.time(), "monotonic": time.monotonic()})
        os.write(self._file, line.encode() + b"\n")


class Course:
    """How far the plans of some settings have run."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.chats = 0  # those that got past the rate limit
        self._scripted = 0
        self._tries: Counter[str] = Counter()
        self._uses: Counter[str] = Counter()
        self._admitted: deque[float] = deque()

    def admit(self) -> float:
        """0 if the rate limit lets a request through now, else the seconds until it will."""
        limit, now = self.settings.requests_per_minute, time.monotonic()
        while self._admitted and self._admitted[0] <= now - self.settings.minute_s:
            self._admitted.popleft()
        if limit is not None and len(self._admitted) >= limit:
            return self._admitted[-limit] + self.settings.minute_s - now
        self._admitted.append(now)
        return 0.0

    def choose(self, prompt: str, content: str) -> tuple[Chosen, float]:
        """What happens to the next request, and after how many seconds. ``content`` tells requests apart."""
        attempt = self._tries[content]
        self._tries[content] += 1
        chance = random.Random(f"{self.settings.seed} {attempt} {content}")
        latency = self.settings.latency_s
        seconds = chance.uniform(*latency) if isinstance(latency, Sequence) else latency
        chosen = parse_behaviour(self._planned(prompt, attempt, chance.random()))
        return chosen, chosen.options.get("latency_s", seconds)

    def _planned(self, prompt: str, attempt: int, drawn: float) -> str:
        for text, plan in self.settings.when.items():
            if text not in prompt:
                continue
            if isinstance(plan, str):
                return plan
            self._uses[text] += 1
            if self._uses[text] <= len(plan):
                return plan[self._uses[text] - 1]
        self._scripted += 1
        if self._scripted <= len(self.settings.script):
            return self.settings.script[self._scripted - 1]
        if attempt < len(self.settings.each):
            return self.settings.each[attempt]
        for behaviour, rate in self.settings.rates.items():
            drawn -= rate
            if drawn < 0:
                return behaviour
        return "ok"


class App:
    def __init__(self, settings: Settings, journal: Journal) -> None:
        self._course = Course(settings)
        self._journal = journal

    async def __call__(self, request: Request, send: Send) -> None:
        if request.path.startswith(CONTROL):
            await send(self._control(request))
            return
        number = self._journal.received(request)
        behaviour, violation = "", False
        if request.path == CHAT and request.method == "POST":
            chosen, ask, seconds, violation = self._chat(request, number)
            behaviour, reply = chosen.written, chosen(ask)
            if seconds:
                await asyncio.sleep(seconds)
        else:
            reply = self._other(request)
        reply = replace(reply, headers={"x-request-id": f"req-{number}", **reply.headers})
        complete = await send(reply)
        self._journal.answered(number, behaviour, reply, complete, violation)

    def _control(self, request: Request) -> Reply:
        if request.method == "PUT":
            changes = json.loads(request.body)
            try:
                self._course = Course(replace(self._course.settings, **changes))
            except (TypeError, ValueError) as error:
                return reply_json({"error": str(error)}, 400)
        return reply_json({"settings": self._course.settings.as_json(), "cpu_s": time.process_time()})

    def _other(self, request: Request) -> Reply:
        settings = self._course.settings
        if settings.key is not None and _authorization(request) != f"Bearer {settings.key}":
            return parse_behaviour("401")(_ask(request, "", {}, settings, 0))
        if (request.method, request.path) == ("GET", MODELS):
            models = [
                {"id": name, "object": "model", "created": 0, "owned_by": "tests"} for name in settings.models or ()
            ]
            return reply_json({"object": "list", "data": models})
        return fail(404, f"Invalid URL ({request.method} {request.path})", "invalid_request_error")

    def _chat(self, request: Request, number: str) -> tuple[Chosen, Ask, float, bool]:
        """(behaviour, what it sees, seconds before it, whether the request broke the rate limit)."""
        course, settings = self._course, self._course.settings
        try:
            body = json.loads(request.body)
            prompt = "\n\n".join(_text(message["content"]) for message in body["messages"])
        except (ValueError, TypeError, KeyError) as error:
            refused = parse_behaviour("400 message='We could not parse the JSON body of your request.'")
            print(f"an unreadable request: {error!r}", file=sys.stderr)
            return refused, _ask(request, number, {}, settings, 0), 0.0, False
        ask = _ask(request, number, body, settings, course.chats, prompt)
        if refusal := _refuse(ask, settings):
            return parse_behaviour(refusal), ask, 0.0, False
        if wait := course.admit():
            return parse_behaviour(f"429 retry_after={wait:.3f}"), ask, 0.0, True
        course.chats += 1
        chosen, seconds = course.choose(prompt, f"{body.get('seed')} {prompt}")
        return chosen, ask, seconds, False


def _ask(
    request: Request, number: str, body: Mapping[str, Any], settings: Settings, chats: int, prompt: str = ""
) -> Ask:
    schema = ((body.get("response_format") or {}).get("json_schema") or {}).get("schema") or {}
    answer = decide(settings.verdict, prompt, schema=schema, seed=(settings.seed, body.get("seed", number)))
    served = settings.served
    if served is None:
        model = str(body.get("model"))
    elif isinstance(served, str):
        model = served
    else:
        model = [name for name, first in served.items() if first <= chats][-1]
    return Ask(number, body, _authorization(request), prompt, answer, model, settings.usage)


def _refuse(ask: Ask, settings: Settings) -> str:
    """The behaviour of a server that cannot serve this request; empty if it can."""
    body = ask.body
    if settings.key is not None and ask.authorization != f"Bearer {settings.key}":
        return "401"
    if settings.models is not None and body.get("model") not in settings.models:
        return "404-model"
    for name in settings.unsupported:
        if body.get(name) is not None and not (name == "temperature" and body[name] == 1):
            return f"400-parameter param={name}"
    return _refuse_schema(body) if settings.strict_schema else ""


def _refuse_schema(body: Mapping[str, Any]) -> str:
    wanted = (body.get("response_format") or {}).get("json_schema") or {}
    schema = wanted.get("schema") or {}
    if not wanted.get("strict"):
        return ""
    if schema.get("additionalProperties") is not False:
        return "400-schema"
    if missing := [name for name in schema.get("properties", {}) if name not in schema.get("required", [])]:
        detail = (
            "'required' is required to be supplied and to be an array including every key in properties. "
            f"Missing '{missing[0]}'."
        )
        return f'400-schema "detail={detail}"'
    return ""


def _authorization(request: Request) -> str:
    return request.headers.get("authorization", "")


def _text(content: Any) -> str:
    """Content is a text, or a list of parts of which those of text count."""
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


async def run(settings: Settings, journal: Path, port: int, *, child: bool = False) -> None:
    """Serve until the process ends; as a ``child``, until standard input does, which is when the parent is gone."""
    app = App(settings, Journal(journal))
    server = await asyncio.get_running_loop().create_server(lambda: Connection(app), "127.0.0.1", port, backlog=1024)
    bound = server.sockets[0].getsockname()[1]
    print(json.dumps({"url": f"http://127.0.0.1:{bound}/v1", "port": bound, "journal": str(journal)}), flush=True)
    if child:
        threading.Thread(target=_outlive_nobody, daemon=True).start()
    await server.serve_forever()


def _outlive_nobody() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os._exit(0)
