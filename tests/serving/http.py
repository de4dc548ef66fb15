"""A small HTTP/1.1 server on asyncio: keep-alive, chunked bodies both ways, and replies that go wrong on purpose.

Why not a framework: the server must break its own protocol on demand (stop in the middle of a body, never answer, reset
the connection), say whether all it had to say was handed over, and cost next to nothing.
"""

from __future__ import annotations

import asyncio
import itertools
import socket
import struct
import sys
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus

NOTHING = -1
"""For ``Reply.stop_after``: not even the head is sent."""

_MAX_REQUEST = 32 * 1024 * 1024
_LINGER_NONE = struct.pack("ii", 1, 0)
_connections = itertools.count()


@dataclass(frozen=True, slots=True)
class Request:
    """A received request. Header names are in lower case; ``connection`` tells which requests shared one."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    connection: int

    @property
    def keep_alive(self) -> bool:
        return self.headers.get("connection", "").lower() != "close"


@dataclass(frozen=True, slots=True)
class Reply:
    """What to send, and how it goes wrong.

    ``pieces`` make up the body; ``pause_s`` passes before each but the first. With ``stop_after`` the reply ends after so
    many pieces (NOTHING: before the head), and ``then`` says how: ``"close"``, ``"reset"`` or ``"hang"`` (until the client
    goes away).
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    pieces: Sequence[bytes] = ()
    chunked: bool = False
    pause_s: float = 0.0
    stop_after: int | None = None
    then: str = "close"

    @property
    def body(self) -> bytes:
        return b"".join(self.pieces)

    def head(self) -> bytes:
        try:
            phrase = HTTPStatus(self.status).phrase
        except ValueError:
            phrase = "Unknown"
        size = "Transfer-Encoding: chunked" if self.chunked else f"Content-Length: {sum(map(len, self.pieces))}"
        fields = (f"{name}: {value}" for name, value in self.headers.items())
        return "\r\n".join((f"HTTP/1.1 {self.status} {phrase}", size, *fields, "\r\n")).encode("latin-1")

    def frame(self, piece: bytes) -> bytes:
        return b"%x\r\n%b\r\n" % (len(piece), piece) if self.chunked else piece

    @property
    def end(self) -> bytes:
        return b"0\r\n\r\n" if self.chunked else b""


Send = Callable[[Reply], Awaitable[bool]]
"""Sends a reply; True if it was whole and all of it was handed to the network while the client was there."""

Handler = Callable[[Request, Send], Awaitable[None]]


class Connection(asyncio.Protocol):
    """One client connection. Its requests are handled one after the other, as HTTP/1.1 wants it."""

    def __init__(self, handler: Handler) -> None:
        self._handler = handler
        self._number = next(_connections)
        self._buffer = b""
        self._busy: asyncio.Task[None] | None = None
        self._lost = False
        self._moved = asyncio.Event()
        self._transport: asyncio.Transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=0)  # so that resume_writing means: all was handed over

    def connection_lost(self, error: Exception | None) -> None:
        self._lost = True
        self._moved.set()

    def resume_writing(self) -> None:
        self._moved.set()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if self._busy is None:
            self._begin()

    def _begin(self) -> None:
        try:
            request = self._take()
        except ValueError as error:
            message = f"{error}\n".encode()
            self._transport.write(Reply(400, {"Connection": "close"}, [message]).head() + message)
            self._transport.close()
            return
        if request is not None:
            self._busy = asyncio.get_running_loop().create_task(self._handle(request))

    async def _handle(self, request: Request) -> None:
        try:
            await self._handler(request, self._send)
        except Exception:
            traceback.print_exc(file=sys.stderr)
            self._transport.abort()
        self._busy = None
        if not request.keep_alive:
            self._transport.close()
        elif not self._transport.is_closing() and self._buffer:
            self._begin()

    def _take(self) -> Request | None:
        """The next request of the buffer, once it is complete. Raises ValueError for what is not HTTP."""
        head, separator, rest = self._buffer.partition(b"\r\n\r\n")
        if len(self._buffer) > _MAX_REQUEST:
            raise ValueError("the request is too large")
        if not separator:
            return None
        first, *lines = head.decode("latin-1").split("\r\n")
        method, path, _ = first.split(" ")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if headers.get("transfer-encoding", "").lower() == "chunked":
            found = _unchunk(rest)
            if found is None:
                return None
            body, self._buffer = found
        else:
            length = int(headers.get("content-length", "0"))
            if len(rest) < length:
                return None
            body, self._buffer = rest[:length], rest[length:]
        return Request(method, path, headers, body, self._number)

    async def _send(self, reply: Reply) -> bool:
        sent = len(reply.pieces) if reply.stop_after is None else reply.stop_after
        if sent != NOTHING:
            pieces = [reply.frame(piece) for piece in reply.pieces[:sent]]
            pieces += [reply.end] if reply.stop_after is None and reply.chunked else []
            if reply.pause_s == 0:
                await self._write(reply.head() + b"".join(pieces))
            else:
                await self._write(reply.head() + b"".join(pieces[:1]))
                for piece in pieces[1:]:
                    await self._pause(reply.pause_s)
                    await self._write(piece)
        if reply.stop_after is not None:
            await self._stop(reply.then)
            return False
        return not self._lost

    async def _write(self, data: bytes) -> None:
        if self._lost or self._transport.is_closing():
            self._lost = True
            return
        self._transport.write(data)
        while self._transport.get_write_buffer_size() and not self._lost:
            await self._wait()

    async def _wait(self) -> None:
        self._moved.clear()
        await self._moved.wait()

    async def _pause(self, seconds: float) -> None:
        """Sleep, but no longer than the client stays."""
        if not self._lost:
            self._moved.clear()
            try:
                await asyncio.wait_for(self._moved.wait(), seconds)
            except TimeoutError:
                return

    async def _stop(self, how: str) -> None:
        if how == "hang":
            while not self._lost:
                await self._wait()
        elif how == "reset":  # without lingering, closing a socket sends RST instead of FIN
            sock = self._transport.get_extra_info("socket")
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NONE)
            self._transport.abort()
        else:
            self._transport.close()


def _unchunk(data: bytes) -> tuple[bytes, bytes] | None:
    """(body, what follows it) of a chunked body; None while it is incomplete."""
    body = b""
    while True:
        line, separator, data = data.partition(b"\r\n")
        if not separator:
            return None
        size = int(line.partition(b";")[0], 16)
        if len(data) < size + 2:
            return None
        body, data = body + data[:size], data[size + 2 :]
        if size == 0:
            return body, data
