"""A question that is asked anew has its answer kept beside the first one: a store holds generations of the same verdict.

Runs read the first generation only, so that what they report stays what it was; a probe writes a later one. A key of a later
generation is the first one's with a mark and the generation's name behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_novelty.calls import Call
from pytest_novelty.model import LATER
from pytest_novelty.store import NOT_REUSED, VerdictStore

_NAME_LENGTH: Final = 12


def name_generation(run_id: str) -> str:
    """The name of the generation that a run's probe writes."""
    return run_id[:_NAME_LENGTH]


def later_key(key: str, generation: str) -> str:
    return f"{key}{LATER}{generation}"


def past_store(batches: Sequence[Sequence[Call]], store: VerdictStore, generation: str) -> list[list[Call]]:
    """The calls of several cases under keys of a later generation, which the store lacks. A case of which the store lacks a
    verdict of the first generation is asked as in any run: there is nothing to compare it with yet.
    """
    held = store.get([call.key for calls in batches for call in calls])
    known = {key for key, record in held.items() if record.status not in NOT_REUSED}
    return [
        [call._replace(key=later_key(call.key, generation)) for call in calls]
        if all(call.key in known for call in calls)
        else list(calls)
        for calls in batches
    ]
