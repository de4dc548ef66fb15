"""What a provider's dialect must say: how a request is put to its server, and how a response is read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from pytest_novelty.judges.llm.faults import CallFault
from pytest_novelty.judges.llm.replies import Reply
from pytest_novelty.model import Request


class Dialect(Protocol):
    """Of one judge. ``fields`` are what one attempt sends; only the dialect knows what is in them.

    Remembers the parameters that the server refused.
    """

    def fields(self, request: Request, number: int) -> dict[str, Any]:
        """What the ``number``-th asking (from 0) of a request would send if the server took everything."""

    def to_send(self, fields: Mapping[str, Any], on_trial: Sequence[str] = ()) -> dict[str, Any]:
        """The fields less what the server refused, and less the parameters left out ``on_trial``."""

    def without(self, fault: CallFault, sent: Mapping[str, Any], on_trial: Sequence[str] = ()) -> str:
        """The parameter that a fault names as not taken, of those that were sent; empty if it names none."""

    def leave_out(self, name: str) -> None:
        """From now on: a request without the parameter was answered."""

    def told(self, asked: Mapping[str, Any], sent: Mapping[str, Any]) -> str:
        """How the model was asked, for the record: structured output or not, what was asked for and not taken."""

    def read(self, body: Mapping[str, Any]) -> Reply:
        """Read a response's body. Raises CallFault if it is no answer at all."""
