"""The protocols this version can judge with, by name."""

from __future__ import annotations

from typing import Final

from pytest_novelty.errors import UnknownNameError
from pytest_novelty.protocols.base import Protocol
from pytest_novelty.protocols.entailment import Entailment
from pytest_novelty.protocols.grouping import Grouping
from pytest_novelty.protocols.pairwise import Pairwise
from pytest_novelty.protocols.pointwise import Pointwise
from pytest_novelty.protocols.similarity import Similarity

PROTOCOLS: Final[dict[str, Protocol]] = {
    protocol.name: protocol for protocol in (Pointwise(), Pairwise(), Similarity(), Grouping(), Entailment())
}


def get_protocol(name: str) -> Protocol:
    try:
        return PROTOCOLS[name]
    except KeyError:
        raise UnknownNameError("protocol", name, PROTOCOLS) from None


def has_two_labels(name: str) -> bool:
    """Each instance of the protocol has two labels that its votes are for; a grouping has as many as there are partitions."""
    return bool(PROTOCOLS[name].gold_labels(("first", "second")))


def thing_of(name: str) -> str:
    """What a protocol shows."""
    return "paper" if PROTOCOLS[name].dimensions else "idea"


__all__ = ["PROTOCOLS", "Protocol", "get_protocol", "has_two_labels", "thing_of"]
