"""The tests' end: start the server as a process of its own, look at what it saw, change what it does, stop it."""

from __future__ import annotations

import contextlib
import http.client
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .app import CHAT, CONTROL
from .settings import Settings

_PACKAGE = __package__ or ""
_ROOT = Path(__file__).parents[_PACKAGE.count(".") + 1]


@dataclass(frozen=True, slots=True)
class Exchange:
    """A request that the server received and, unless it is still in flight, what it answered.

    ``complete``: the whole reply was handed over while the client was there; None while in flight (or for good, if the
    server was killed). ``received`` and ``answered`` are readings of the system's monotonic clock, ``wall`` of the time of
    day. ``behaviour`` is as it was written in the settings; ``violation``: it exceeded the rate limit.
    """

    id: str
    connection: int
    method: str
    path: str
    headers: Mapping[str, str]
    text: str
    received: float
    wall: float
    behaviour: str = ""
    status: int | None = None
    reply_headers: Mapping[str, str] | None = None
    reply_text: str = ""
    answered: float | None = None
    complete: bool | None = None
    violation: bool = False

    @property
    def body(self) -> Any:
        """The request's JSON."""
        return json.loads(self.text)

    @property
    def prompt(self) -> str:
        """The contents of the request's messages."""
        return "\n\n".join(message["content"] for message in self.body["messages"])

    @property
    def authorization(self) -> str:
        return self.headers.get("authorization", "")

    @property
    def paid(self) -> bool:
        """Whether this was a completion (of whatever content) that went out whole: what a provider charges for."""
        return self.complete is True and self.status == 200 and '"chat.completion' in self.reply_text


class Server:
    """A running server. ``base_url`` is what OpenAI clients want: ``http://127.0.0.1:<port>/v1``."""

    def __init__(self, process: subprocess.Popen[str], journal: Path, port: int) -> None:
        self.process = process
        self.journal = journal
        self.port = port
        self.base_url = f"http://127.0.0.1:{port}/v1"

    def requests(self, path: str | None = CHAT) -> list[Exchange]:
        """Everything received so far, in order; of one path, or with None of all.

        What a client has read is in it as answered: the server writes its journal before it turns to the next request.
        """
        self._settle()
        return [item for item in read_journal(self.journal) if path in (None, item.path)]

    def violations(self) -> list[Exchange]:
        return [item for item in self.requests() if item.violation]

    def peak(self) -> int:
        """The most chat requests that were in flight at once."""
        chats = self.requests()
        events = [(item.received, 1) for item in chats]
        events += [(item.answered, -1) for item in chats if item.answered is not None]
        now = most = 0
        for _, step in sorted(events):
            now += step
            most = max(most, now)
        return most

    def wait_for(self, count: int, *, answered: bool = False, timeout_s: float = 30.0) -> list[Exchange]:
        """Until so many chat requests were received (or answered)."""
        deadline = time.monotonic() + timeout_s
        while True:
            chats = [item for item in read_journal(self.journal) if item.path == CHAT]
            found = [item for item in chats if not answered or item.answered is not None]
            if len(found) >= count:
                return found
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(found)} of {count} requests after {timeout_s} s")
            time.sleep(0.005)

    def change(self, **settings: Any) -> None:
        """Change settings while it runs; plans (``script``, ``each``, ...) and the rate limit's window begin anew."""
        self._control("PUT", settings)

    def cpu_s(self) -> float:
        """The seconds of CPU that the server has used."""
        return float(self._control("GET")["cpu_s"])

    def stop(self) -> None:
        """End it: from now on connections are refused. The journal stays readable."""
        self._settle()
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def _settle(self) -> None:
        """Until what clients have read is in the journal as answered."""
        with contextlib.suppress(OSError):  # it may be stopped
            self._control("GET")

    def _end(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.wait(10)
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    def _control(self, method: str, value: object = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)
        with contextlib.closing(connection):
            connection.request(method, f"{CONTROL}settings", None if value is None else json.dumps(value))
            answer = connection.getresponse()
            said = json.loads(answer.read())
        if answer.status != 200:
            raise ValueError(said["error"])
        return said


@contextlib.contextmanager
def serving(*, port: int = 0, journal: Path | None = None, **settings: Any) -> Iterator[Server]:
    """Run a server as a child process. ``settings`` are those of :class:`Settings`; port 0 takes a free one.

    ``journal`` (default: a temporary file) may be that of an earlier server, whose requests then count too. The server ends
    with this process, however this process ends.
    """
    checked = Settings(**settings).as_json()
    with tempfile.TemporaryDirectory() as folder:
        path = journal or Path(folder) / "journal.jsonl"
        command = [sys.executable, "-m", _PACKAGE, "--child", "--port", str(port), "--journal", str(path)]
        process = subprocess.Popen(
            command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
        )
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(checked) + "\n")
        process.stdin.flush()
        line = process.stdout.readline()
        if not line:
            raise RuntimeError(f"the server did not start: exit status {process.wait(10)}")
        server = Server(process, path, json.loads(line)["port"])
        try:
            yield server
        finally:
            if process.poll() is None:
                server.stop()


def read_journal(path: Path) -> list[Exchange]:
    """The exchanges of a journal. A last line that is still being written does not count yet."""
    found: dict[str, dict[str, Any]] = {}
    for line in path.read_bytes().split(b"\n")[:-1]:
        entry = json.loads(line)
        if entry["event"] == "received":
            found[entry["id"]] = {
                **{name: entry[name] for name in ("id", "connection", "method", "path", "headers", "wall")},
                "text": entry["body"],
                "received": entry["monotonic"],
            }
        else:
            found[entry["id"]] |= {
                **{name: entry[name] for name in ("behaviour", "status", "complete", "violation")},
                "reply_headers": entry["headers"],
                "reply_text": entry["body"],
                "answered": entry["monotonic"],
            }
    return [Exchange(**values) for values in found.values()]
