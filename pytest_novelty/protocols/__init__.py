"""The protocols this version can judge with, by name."""

from __future__ import annotations

from typing import Final

from pytest_novelty.errors import UnknownNameError
from pytest_novelty.protocols.base import Protocol
from pytest_novelty.protocols.pairwise import Pairwise
from pytest_novelty.protocols.pointwise import Pointwise

PROTOCOLS: Final[dict[str, Protocol]] = {"pointwise": Pointwise(), "pairwise": Pairwise()}


def get_protocol(name: str) -> Protocol:
    try:
        return PROTOCOLS[name]
    except KeyError:
        raise UnknownNameError("protocol", name, PROTOCOLS) from None


__all__ = ["PROTOCOLS", "Protocol", "get_protocol"]
