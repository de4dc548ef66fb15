"""An OpenAI-compatible HTTP server for tests, on loopback, which misbehaves on demand and keeps a journal.

    with serving(latency_s=0.2, rates={"429 retry_after=0.1": 0.1, "500": 0.05, "disconnect": 0.05}) as server:
        ...  # point a client at server.base_url
        assert all(item.complete for item in server.requests())

``settings.Settings`` says what it can be told, ``behaviours.BEHAVIOURS`` is the table of what it can do to a request.
By hand: ``python -m tests.serving --port 8000``.
"""

from .behaviours import BEHAVIOURS, write_behaviour
from .control import Exchange, Server, read_journal, serving
from .settings import Settings
from .verdicts import gold_of

__all__ = [
    "BEHAVIOURS",
    "Exchange",
    "Server",
    "Settings",
    "gold_of",
    "read_journal",
    "serving",
    "write_behaviour",
]
