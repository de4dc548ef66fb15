"""Our xdist scheduler: each worker gets one contiguous slice of the cases at once, so that it can look ahead over it.

No public API tells a worker its queue; a slice that both sides compute alike does. Items of a crashed worker fall back to
xdist's own distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

import pytest
from xdist.scheduler import LoadScheduling

from pytest_novelty._pytest.attached import ATTRIBUTE
from pytest_novelty._pytest.slices import cut


class SliceScheduling(LoadScheduling):  # type: ignore[misc, unused-ignore]
    """Hands every worker its slice and lets it finish; what a crash leaves over is distributed as by ``--dist load``."""

    def __init__(self, config: pytest.Config, log: Any, groups: Callable[[Sequence[str]], list[Hashable]]) -> None:
        super().__init__(config, log)
        self._groups = groups

    def schedule(self) -> None:
        known: list[str] | None = self.collection  # type: ignore[has-type, unused-ignore]
        if known is not None or not self._check_nodes_have_same_collection():
            super().schedule()
            return
        collection: list[str] = next(iter(self.node2collection.values()))
        self.collection = collection
        self.maxschedchunk = self.config.getoption("maxschedchunk") or len(collection)
        slices = cut(self._groups(collection), self.numnodes)
        for node in self.nodes:
            slot = node.workerinput[ATTRIBUTE]["slot"]
            own = list(slices[slot])
            if own:
                self.node2pending[node].extend(own)
                node.send_runtest_some(own)
            node.shutdown()  # a worker runs its last item only when it knows that it is the last
