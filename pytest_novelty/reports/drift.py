"""What a comparison with recorded verdicts says to a person: a sentence, and the verdicts that differ, before and after."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from pytest_novelty.deciding import FAIL, INCONCLUSIVE, PASS
from pytest_novelty.reports.tables import DECISIONS, Justify, new_table, styled
from pytest_novelty.reports.text import clean, plural

if TYPE_CHECKING:
    from pytest_novelty.results import Report

_LISTED: Final = 15


def drift_lines(report: Report, colour: bool) -> Iterator[Any]:
    """Of every comparison of the run; what differs in its label comes first."""
    for drift in report.drifts:
        word, style = DECISIONS[drift.decision]
        yield ""
        yield styled(f"{drift.judge} on {drift.suite}, compared with {drift.against}: {word}", style or "bold")
        for part in drift.sentence.split("; "):
            yield styled(f"  {clean(part)}")
        if drift.differing:
            columns: list[tuple[str, Justify]] = [("  instance", "left"), ("before", "left"), ("after", "left")]
            table = new_table("", columns, colour)
            table.title, table.columns[0].overflow = None, "fold"
            listed = sorted(drift.differing, key=lambda item: not item.label_differs)
            for item in listed[:_LISTED]:
                table.add_row(*(styled(clean(cell, 60)) for cell in (f"  {item.instance}", item.before, item.after)))
            yield table
            if len(listed) > _LISTED:
                yield styled(f"  ... and {plural(len(listed) - _LISTED, 'verdict')} more", "dim")
        if drift.is_golden and (drift.decision in (FAIL, INCONCLUSIVE) or _is_stale(drift)):
            yield styled("  what is right now is recorded with --snapshot-update, and reviewed as any change", "dim")


def _is_stale(drift: Any) -> bool:
    return drift.decision == PASS and bool(drift.changes or drift.unrecorded)
