"""What a comparison with recorded verdicts says to a person: a sentence, and the verdicts that differ, before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pytest_novelty.changes import SERVED
from pytest_novelty.deciding import FAIL, INCONCLUSIVE, PASS
from pytest_novelty.drifting import DRIFTED, UNTOLD
from pytest_novelty.evidence_drift import evidence_to_dict
from pytest_novelty.printing import clean, plural
from pytest_novelty.reports.tables import DECISIONS, new_table, styled

if TYPE_CHECKING:
    from pytest_novelty.drifting import Differing, Drift
    from pytest_novelty.model import Json
    from pytest_novelty.results import Report

_LISTED: Final = 15
_LONGEST: Final = 200
"""Characters of a verdict: of two partitions of ten papers the end may be what differs."""


def drift_lines(report: Report, width: int, colour: bool) -> Iterator[Any]:
    """Of every comparison of the run; what differs in its label comes first."""
    for drift in report.drifts:
        word, style = DECISIONS[drift.decision]
        yield ""
        yield styled(f"{drift.judge} on {drift.suite}, compared with {drift.against}: {word}", style or "bold")
        for part in drift.parts:
            yield _indented(clean(part))
        if drift.differing:
            listed = sorted(drift.differing, key=lambda item: not item.label_differs)
            rows = [table_row(item) for item in listed[:_LISTED]]
            yield _table(rows, width, colour)
            if len(listed) > _LISTED:
                yield _indented(f"... and {plural(len(listed) - _LISTED, 'verdict')} more", style="dim")
        if advice := how_to_accept(drift):
            yield _indented(advice, style="dim")


def table_row(item: Differing) -> tuple[str, str, str]:
    """The instance, before, after."""
    return clean(item.instance, 60), clean(item.before, _LONGEST), clean(item.after, _LONGEST)


def _indented(text: str, by: int = 2, style: str = "") -> Any:
    """Where the text takes several lines, all of them."""
    from rich.padding import Padding

    return Padding(styled(text, style), (0, 0, 0, by), expand=False)


def _table(rows: list[tuple[str, str, str]], width: int, colour: bool) -> Any:
    """A row an instance; where ids and verdicts are too long for that, each has a line of its own: none is broken."""
    from rich.console import Group
    from rich.padding import Padding

    headings = ("instance", "before", "after")
    needed = sum(max(map(len, column)) for column in zip(headings, *rows, strict=True))
    if needed + 2 * len(headings) <= width:
        table = new_table("", [(name, "left") for name in headings], colour)
        for row in rows:
            table.add_row(*map(styled, row))
        return Padding(table, (0, 0, 0, 2), expand=False)
    lines = [
        _indented(text, by)
        for name, before, after in rows
        for text, by in ((name, 2), (f"before {before}", 4), (f"after  {after}", 4))
    ]
    return Group(*lines)


def how_to_accept(drift: Drift) -> str:
    """What records what the judge says now, where that differs from what is recorded."""
    if drift.recorded or not (drift.decision in (FAIL, INCONCLUSIVE) or _is_stale(drift)):
        return ""
    if not drift.is_golden:
        return "if that is right, ask all anew for the store: --novelty-refresh, without --novelty-probe"
    heard = drift.verdict in (DRIFTED, UNTOLD) or any(kind == SERVED for kind, _ in drift.changes)
    options = "--snapshot-update"
    if drift.probed:  # a run without refresh reads the answers before the probe's, which may be the recorded ones
        options = f"{'--novelty-refresh ' if heard else ''}{options}, without --novelty-probe"
    return f"if that is right, record it with {options}, and have the file reviewed as any change"


def _is_stale(drift: Drift) -> bool:
    return drift.decision == PASS and bool(drift.changes or drift.unrecorded)


def drift_to_dict(drift: Drift) -> Mapping[str, Json]:
    """As it stands in the report."""
    return {
        "judge": drift.judge,
        "suite": drift.suite,
        "against": drift.against,
        "verdict": drift.verdict,
        "decision": drift.decision,
        "sentence": drift.sentence,
        "changes": [{"kind": kind, "sentence": sentence} for kind, sentence in drift.changes],
        "n": drift.n,
        "exact": drift.exact,
        "flip_rate": drift.flip_rate.to_dict(),
        "vote_shift": drift.vote_shift.to_dict(),
        "p": drift.p,
        "p_holm": drift.p_holm,
        "differing": [
            {"instance": item.instance, "before": item.before, "after": item.after, "label_differs": item.label_differs}
            for item in drift.differing
        ],
        "added": list(drift.added),
        "reworded": list(drift.reworded),
        "removed": list(drift.removed),
        "unrecorded": list(drift.unrecorded),
        "relabelled": list(drift.relabelled),
        "reused": drift.reused,
        "votes": drift.votes,
        "evidence": evidence_to_dict(drift.evidence),
    }
