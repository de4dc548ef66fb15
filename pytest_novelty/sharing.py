"""Workers share the audits of a run: each statement is asked about by one of them, and the others are told by the controller."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

from pytest_novelty.audits import SHORT_KEY, Places
from pytest_novelty.model import Ground, Vote
from pytest_novelty.outcomes import CaseResult
from pytest_novelty.plan import Plan
from pytest_novelty.processes import is_alive
from pytest_novelty.store import SqliteStore, VerdictStore

_CREATE: Final = (
    "CREATE TABLE IF NOT EXISTS audited (run TEXT, key TEXT, pid INTEGER, since REAL, PRIMARY KEY (run, key))"
)
_TAKE: Final = "INSERT OR IGNORE INTO audited (run, key, pid, since) VALUES (?, ?, ?, ?)"
_INHERIT: Final = "UPDATE audited SET pid = ? WHERE run = ? AND key = ? AND pid = ?"
_IN_LIMIT: Final = 500
_KEPT_S: Final = 7 * 86_400.0
"""Of runs that ended, longer than any run takes."""


class SharedAudits:
    """Which process asks about a statement: the first to say so, as long as it lives. In the store, as all that workers share."""

    def __init__(self, store: SqliteStore, run: str) -> None:
        self._store, self._run = store, run
        store.update(_CREATE)
        store.update("DELETE FROM audited WHERE since < ?", (time.time() - _KEPT_S,))

    def take(self, keys: Sequence[str]) -> set[str]:
        """Those of the audits that are this process's to ask and to count."""
        if not keys:
            return set()
        own = os.getpid()
        with self._store.writing() as connection:
            connection.executemany(_TAKE, [(self._run, key, own, time.time()) for key in keys])
        return {key for key, pid in self._claims(keys) if pid == own or self._inherits(key, pid, own)}

    def inherit(self, keys: Sequence[str]) -> set[str]:
        """Those of the audits whose process is gone, and that are this process's from now on."""
        own = os.getpid()
        return {key for key, pid in self._claims(keys) if pid != own and self._inherits(key, pid, own)}

    def _claims(self, keys: Sequence[str]) -> Iterator[tuple[str, int]]:
        for start in range(0, len(keys), _IN_LIMIT):
            part = keys[start : start + _IN_LIMIT]
            query = f"SELECT key, pid FROM audited WHERE run = ? AND key IN ({','.join('?' * len(part))})"
            yield from self._store.rows(query, (self._run, *part))

    def _inherits(self, key: str, pid: int, own: int) -> bool:
        return not is_alive(pid) and bool(self._store.update(_INHERIT, (own, self._run, key, pid)))


def share_audits(plan: Plan, store: VerdictStore, run: str, workers: int) -> SharedAudits | None:
    """None where there is nothing to share: one process, no audits, or a cassette, to which nobody can write."""
    if workers > 1 and plan.panels and isinstance(store, SqliteStore):
        return SharedAudits(store, run)
    return None


def tell_audits(results: Iterable[CaseResult]) -> list[CaseResult]:
    """The results of all workers, with what one of them was told of statements that another one's cases make as well. What a
    worker asked that did not end its case stays unchecked, and is counted with the first case that waits for it.
    """
    held = list(results)
    said: dict[str, bool | None] = {}
    for result in held:
        for key, opinion in result.audits.told.items():
            said[key] = said.get(key) if opinion is None else opinion
    lost: set[str] = set()
    return [_told(result, said, lost) if result.audits.elsewhere else result for result in held]


def _told(result: CaseResult, said: dict[str, bool | None], lost: set[str]) -> CaseResult:
    own = {key[:SHORT_KEY] for key, *_ in result.audits.elsewhere} - said.keys() - lost
    lost |= own
    votes = list(result.outcome.votes)
    opinions = [list(row) for row in result.audits.opinions]
    for key, auditor, statement, places, released in result.audits.elsewhere:
        opinion = said.get(key[:SHORT_KEY])
        if opinions and statement is not None:
            opinions[statement][auditor] = opinion
        if auditor == 0:
            _each(votes, places, partial(_by_ours, opinion))
            _each(votes, released, partial(_by_release, opinion))
    audits = result.audits._replace(opinions=tuple(map(tuple, opinions)), lost=len(own))
    return result._replace(outcome=result.outcome._replace(votes=tuple(votes)), audits=audits)


def _by_ours(word: bool | None, ground: Ground) -> Ground:
    return ground._replace(supported=word)


def _by_release(word: bool | None, ground: Ground) -> Ground:
    released = ground.released
    return ground if released is None else ground._replace(released=released._replace(supported=word))


def _each(votes: list[Vote], places: Places, change: Callable[[Ground], Ground]) -> None:
    for vote, group in places:
        grounds = list(votes[vote].grounds)
        grounds[group] = change(grounds[group])
        votes[vote] = votes[vote]._replace(grounds=tuple(grounds))
