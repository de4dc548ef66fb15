"""What no run needs any more, found and taken out of a store: failed calls, old versions, old answers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from pytest_novelty.keeping.inventory import check_judge, open_existing, shrink, size_of
from pytest_novelty.model import LATER
from pytest_novelty.store import NOT_REUSED

_FAILED: Final = f"status IN ({','.join('?' * len(NOT_REUSED))})"


@dataclass(frozen=True)
class Wanted:
    """What to take out beside failed calls. ``keep_versions``: all but the so many newest versions of each judge, newest by
    their last answer. ``older_than_days``: answers from before. ``later``: all later generations. ``judge``: nothing of other
    judges.
    """

    keep_versions: int | None = None
    older_than_days: int | None = None
    later: bool = False
    judge: str | None = None


@dataclass(frozen=True)
class Disposal:
    """What would go, or went: counts of records, and what their calls cost.

    ``old_versions`` and ``old_answers`` may count the same record, and so may ``failed`` and the others; ``records`` counts each
    once. ``later``: answers of later generations that are to go, or go with their first, which they were to be compared with.
    ``unpriced``: calls of unknown cost among them. ``size_bytes``: of the file, before. ``freed_bytes``: None where nothing was
    removed yet; 0 where another run held the file.
    """

    failed: int
    old_versions: int
    old_answers: int
    later: int
    records: int
    cost_usd: float
    unpriced: int
    size_bytes: int
    freed_bytes: int | None = None


def dispose(path: Path, wanted: Wanted, *, now: dt.datetime, remove: bool) -> Disposal:
    """Count what ``wanted`` and failed calls come to; with ``remove`` take it out. Raises SettingsError (there is no store, or
    no record of the judge), StoreError.

    A record that does not tell its time is of unknown age, and not old.
    """
    with closing(open_existing(path)) as store:
        check_judge(store, wanted.judge)
        before = size_of(path)
        own, own_values = ("1", []) if wanted.judge is None else ("judge = ?", [wanted.judge])
        failed, failed_values = f"({_FAILED} AND {own})", [*NOT_REUSED, *own_values]
        versions, version_values = _old_versions(wanted, own, own_values)
        answers, answer_values = _old_answers(wanted, own, own_values, now)
        chosen, chosen_values = f"({versions} OR {answers})", [*version_values, *answer_values]
        first = f"SELECT key FROM records WHERE instr(key, ?) = 0 AND {chosen}"
        follows = f"substr(key, 1, instr(key, ?) - 1) IN ({first})"
        all_of_them, all_values = (own, own_values) if wanted.later else ("0", [])
        later = f"(NOT {chosen} AND instr(key, ?) > 0 AND ({all_of_them} OR {follows}))"
        later_values = [*chosen_values, LATER, *all_values, LATER, LATER, *chosen_values]
        unwanted = f"{failed} OR {chosen} OR {later}"
        values: list[Any] = [*failed_values, *chosen_values, *later_values]
        query = (
            f"SELECT total({failed}), total({versions}), total({answers}), total({later}), count(*), total(cost_usd), "
            "total(cost_usd IS NULL) "
            f"FROM records WHERE {unwanted}"
        )
        row = store.row(query, [*values, *values])
        assert row is not None
        failures, of_versions, too_old, followers, records = (int(count) for count in row[:5])
        counted = Disposal(failures, of_versions, too_old, followers, records, row[5], int(row[6]), before)
        if not remove:
            return counted
        # Counted again by the statement that removes: a run may have written in between.
        # All are found before any is removed: a later answer is found by its first.
        chosen_rows = f"SELECT rowid FROM records WHERE {unwanted}"
        removed = store.update(f"DELETE FROM records WHERE rowid IN ({chosen_rows})", values) if records else 0
        shrunk = bool(removed) and shrink(store)
    freed = max(0, before - size_of(path)) if shrunk else 0
    return replace(counted, records=removed, freed_bytes=freed)


def _old_versions(wanted: Wanted, own: str, values: Sequence[Any]) -> tuple[str, list[Any]]:
    """An expression that holds for records of versions beyond the newest."""
    if wanted.keep_versions is None:
        return "0", []
    ranked = (
        "SELECT judge AS j, judge_version AS v, row_number() OVER "
        "(PARTITION BY judge ORDER BY max(created) DESC, judge_version DESC) AS place FROM records GROUP BY 1, 2"
    )
    old = f"(judge, judge_version) IN (SELECT j, v FROM ({ranked}) WHERE place > ?)"
    return f"({old} AND {own})", [wanted.keep_versions, *values]


def _old_answers(wanted: Wanted, own: str, values: Sequence[Any], now: dt.datetime) -> tuple[str, list[Any]]:
    if wanted.older_than_days is None:
        return "0", []
    limit = now - dt.timedelta(days=wanted.older_than_days)
    return f"(created != '' AND created < ? AND {own})", [limit.strftime("%Y-%m-%dT%H:%M:%SZ"), *values]


def show_disposal(path: Path, found: Disposal) -> list[str]:
    """Lines for a person: what it comes to, and how to have it done."""
    from pytest_novelty.keeping.inventory import show_bytes
    from pytest_novelty.printing import plural, show_usd

    if not found.records:
        return [f"{path}: nothing to remove in {show_bytes(found.size_bytes)}"]
    parts = [
        f"{found.failed:,} failed" if found.failed else "",
        f"{found.old_versions:,} of older versions" if found.old_versions else "",
        f"{found.old_answers:,} too old" if found.old_answers else "",
        f"{plural(found.later, 'later answer')} to the same questions" if found.later else "",
    ]
    unknown = f" and {plural(found.unpriced, 'call')} of unknown cost" if found.unpriced else ""
    what = f"{plural(found.records, 'record')} ({', '.join(filter(None, parts))}); they cost {show_usd(found.cost_usd)}{unknown}"
    if found.freed_bytes is None:
        return [f"{path}: would remove {what}", "Nothing is removed yet: add --yes to remove it for good"]
    if not found.freed_bytes:
        return [f"{path}: removed {what}", "The file is as large as before: another run may hold it"]
    return [f"{path}: removed {what}", f"{show_bytes(found.freed_bytes)} of {show_bytes(found.size_bytes)} freed"]
