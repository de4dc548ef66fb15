"""Spans that are not in what was shown, a few of them in full: what a person looks at before believing that they are not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from pytest_novelty.model import REFERENCE
from pytest_novelty.printing import clean, plural
from pytest_novelty.reports.blocks import Block
from pytest_novelty.reports.grounding import MEANT
from pytest_novelty.reports.tables import Justify

if TYPE_CHECKING:
    from pytest_novelty.results import Report

TITLE: Final = "Evidence that is not in what was shown"
_SHOWN: Final = 5
_MAX_QUOTATION: Final = 100
_HEADINGS: Final[tuple[tuple[str, Justify], ...]] = (
    ("instance", "left"),
    ("paper", "left"),
    ("why", "left"),
    ("quotation", "left"),
)


def invented_blocks(report: Report, suite: str | None = None, judge: str | None = None) -> Iterator[Block]:
    """The first instances of each judge and suite, of one of both or of all; those of the reference before those of variants."""
    for key in dict.fromkeys((item.judge, item.suite) for item in report.grounding):
        if judge not in (None, key[0]) or suite not in (None, key[1]):
            continue
        rows: dict[str, tuple[str, ...]] = {}
        own = [result for result in report.outcomes if (result.judge, result.suite) == key]
        for result in sorted(own, key=lambda result: (result.variant != REFERENCE, result.variant, result.instance)):
            if (found := result.invented) is None or result.instance in rows:
                continue
            place = result.instance if result.variant == REFERENCE else f"{result.instance} [{result.variant}]"
            why = MEANT.get(found.failure, found.failure)
            quotation = f'"{clean(found.quotation, _MAX_QUOTATION)}"'
            rows[result.instance] = (clean(place, 60), clean(found.paper, 40), why, quotation)
        if rows:
            more = len(rows) - _SHOWN
            notes = (f"the first of each instance; {plural(more, 'instance')} more",) if more > 0 else ()
            title = f"{TITLE}: {key[0]} on {clean(key[1], 100)}"
            yield Block(title, _HEADINGS, tuple(rows.values())[:_SHOWN], notes)
