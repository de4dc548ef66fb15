"""Judges against each other: a row a pair, then what the tests say in words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from pytest_novelty.metrics.view import Estimate
from pytest_novelty.model import REFERENCE
from pytest_novelty.printing import clean, plural
from pytest_novelty.reports.tables import Justify, fitted_table, styled
from pytest_novelty.reports.text import list_transitions

if TYPE_CHECKING:
    from pytest_novelty.metrics.comparison import Comparison
    from pytest_novelty.model import Suite
    from pytest_novelty.results import Report

Column = tuple[str, Justify, Callable[["Comparison"], str]]

_SPOKEN: Final = 12
"""Comparisons that get a sentence each; of more of them those under the reference do, if these are so few."""


def comparison_lines(report: Report, width: int, colour: bool) -> Iterator[Any]:
    """A table a suite of all pairs of judges, and a sentence for each unless they are too many."""
    for planned in report.plan.suites.values():
        found = [item for item in report.comparisons if item.suite == planned.suite.name]
        if found:
            yield ""
            yield from _of_suite(planned.suite, found, width, colour)


def _of_suite(suite: Suite, found: list[Comparison], width: int, colour: bool) -> Iterator[Any]:
    columns: list[Column] = [
        ("right, difference", "left", lambda item: _points(item.accuracy_difference, item.starred, signed=True)),
        ("p (Holm)", "right", lambda item: "" if item.p_holm is None else f"{item.p_holm:.3g}"),
        ("verdicts differ", "left", lambda item: _points(item.flip_rate)),
        ("vote shift", "left", lambda item: _points(item.vote_shift, item.shift_starred and not item.by_scores)),
        ("ranks turned", "left", lambda item: _points(item.rank_flip)),
        ("verified F1, difference", "left", _verified),
    ]
    shown = [column for column in columns if any(column[2](item) for item in found)]
    yield fitted_table(
        f"Judges compared on {suite.name} (points, 95 % interval; * Holm-adjusted p <= .05)",
        [("judges", "left"), *((title, justify) for title, justify, _ in shown), ("n", "right")],
        [[_judges(item), *(cell(item) for _, _, cell in shown), str(item.n)] for item in found],
        width=width,
        colour=colour,
    )
    places = ", first and second as the suite has them" if suite.protocol == "pairwise" else ""
    spoken = found if len(found) <= _SPOKEN else [item for item in found if item.variant == REFERENCE]
    spoken = spoken if len(spoken) <= _SPOKEN else []
    for item in spoken:
        advice = f"; {item.advice}" if item.advice else ""
        yield styled(f"  {_judges(item)}: {clean(item.sentence + advice, 500)}.")
        if item.shift_starred and (turned := list_transitions(item.transitions)):
            yield styled(f"    verdicts of {item.second}, and of {item.first} instead{places}: {turned}", "dim")
    if others := len(found) - len(spoken):
        yield styled(f"  ({plural(others, 'sentence')} more, with what would decide, in --novelty-report)", "dim")


def _judges(item: Comparison) -> str:
    return f"{item.first} - {item.second}" + ("" if item.variant == REFERENCE else f" [{item.variant}]")


def _verified(item: Comparison) -> str:
    change = item.verified
    return "" if change is None else _points(change.estimate, change.starred, signed=True)


def _points(estimate: Estimate, star: bool = False, *, signed: bool = False) -> str:
    if estimate.value is None:
        return ""
    form = "{:+.0f}" if signed else "{:.0f}"
    text = form.format(100 * estimate.value)
    if estimate.low is not None and estimate.high is not None:
        text += f" [{form.format(100 * estimate.low)}, {form.format(100 * estimate.high)}]"
    return text + ("*" if star else "")
