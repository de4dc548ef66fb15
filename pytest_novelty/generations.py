"""A question that is asked anew has its answer kept beside the first one: a store holds generations of the same verdict.

Runs read the first generation only, so that what they report stays what it was; a probe writes a later one. A key of a later
generation is the first one's with a mark and the generation's name behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_novelty.calls import Call
from pytest_novelty.model import LATER, Record
from pytest_novelty.store import NOT_REUSED, VerdictStore

_NAME_LENGTH: Final = 12


def name_generation(run_id: str) -> str:
    """The name of the generation that a run's probe writes."""
    return run_id[:_NAME_LENGTH]


def later_key(key: str, generation: str) -> str:
    return f"{key}{LATER}{generation}"


def is_answered(record: Record | None) -> bool:
    """The call was answered, if only with what cannot be read; one that failed in transport has no answer to compare."""
    return record is not None and record.status not in NOT_REUSED


def past_store(
    batches: Sequence[Sequence[Call]], store: VerdictStore, generation: str, begun: set[str]
) -> list[list[Call]]:
    """The calls of several cases under keys of a later generation, which the store lacks. A case of which the store has no answer
    is asked as in any run: there is nothing to compare it with yet. One of which it has some is asked whole: what is missing
    would be today's, among answers of the first generation.

    ``begun``: keys that this run has asked as the first generation, which its own answers do not make a later one; extended.
    """
    held = store.get([call.key for calls in batches for call in calls])
    known = {key for key, record in held.items() if is_answered(record)} - begun
    found: list[list[Call]] = []
    for calls in batches:
        if any(call.key in known for call in calls):
            found.append([call._replace(key=later_key(call.key, generation)) for call in calls])
        else:
            found.append(list(calls))
            begun.update(call.key for call in calls)
    return found
