"""The figures of a benchmark's release beside ours: a table of its own, so that nobody takes the ones for the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from pytest_novelty.headline import percent
from pytest_novelty.metrics.as_published import REASONS, RULES, VERIFIED, Figure
from pytest_novelty.model import REFERENCE
from pytest_novelty.printing import clean
from pytest_novelty.profiles import AS_PUBLISHED
from pytest_novelty.reports.blocks import Block
from pytest_novelty.reports.tables import Justify

if TYPE_CHECKING:
    from pytest_novelty.cascades import Published
    from pytest_novelty.results import Report

_HEADINGS: Final[tuple[tuple[str, Justify], ...]] = (
    ("as published", "left"),
    ("of", "left"),
    ("%", "right"),
    ("sd", "right"),
    ("per sample", "left"),
    ("ours %", "right"),
    ("differs in", "left"),
)
_SPARE: Final = ((4, "per sample"), (3, "sd"))
_MOST_SAMPLES: Final = 3
"""That a row has room for."""


def published_blocks(report: Report, suite: str | None = None, judge: str | None = None) -> Iterator[Block]:
    """A table for each judge and variant of suites that are scored as published, of one suite and judge or of all."""
    for item in report.published:
        if suite in (None, item.suite) and judge in (None, item.judge):
            place = "" if item.variant == REFERENCE else f", variant {item.variant}"
            title = f"By the release's rules, not ours (profile {AS_PUBLISHED}): {item.judge} on {clean(item.suite, 100)}{place}"
            rows = tuple(map(_row, item.found.figures))
            yield Block(title, _HEADINGS, rows, tuple(_notes(item)), _SPARE)


def _row(figure: Figure) -> tuple[str, ...]:
    several = 1 < len(figure.per_sample) <= _MOST_SAMPLES
    return (
        figure.name,
        figure.dimension or "all",
        _share(figure.value),
        "" if figure.sd is None else f"{100 * figure.sd:.1f}",
        " ".join(map(_short, figure.per_sample)) if several else "",
        _share(figure.ours),
        figure.differs,
    )


def _share(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f}"


def _short(value: float | None) -> str:
    return "-" if value is None else percent(value)


def _notes(item: Published) -> Iterator[str]:
    words = {word for figure in item.found.figures for word in figure.differs.split(", ")}
    yield from (f"{word}: {rule}" for word, rule in RULES.items() if word in words)
    yield from item.found.notes
    if any(figure.stage in (REASONS, VERIFIED) for figure in item.found.figures):
        yield f"auditor: {item.auditor}"
    yield "the release has no intervals, and nothing is gated on its figures"


def published_to_dict(item: Published) -> dict[str, Any]:
    """As a report in JSON has it."""
    return {
        "judge": item.judge,
        "suite": item.suite,
        "variant": item.variant,
        "profile": AS_PUBLISHED,
        "auditor": item.auditor,
        "samples": item.found.samples,
        "order": item.found.order,
        "figures": [
            {**asdict(figure), "per_sample": list(figure.per_sample), "metric": figure.metric or None}
            for figure in item.found.figures
        ],
        "notes": list(item.found.notes),
    }
