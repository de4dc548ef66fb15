"""Tables and styled lines for a terminal; rich is imported when the first is made."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, TypeAlias

from pytest_novelty.deciding import FAIL, INCONCLUSIVE, NOT_ENFORCED, PASS, GateResult
from pytest_novelty.reports.fitting import Spare, fit, is_whole

Justify: TypeAlias = Literal["left", "right"]
IN_REPORT: Final = "--novelty-report out.json"
"""Where all of a run is found."""

DECISIONS: Final = {
    PASS: ("passes", "green"),
    FAIL: ("FAILS", "bold red"),
    INCONCLUSIVE: ("undecided", "yellow"),
    NOT_ENFORCED: ("not enforced", "dim"),
}


def styled(text: str, style: str = "") -> Any:
    """A text that no markup is read into."""
    from rich.text import Text

    return Text(text, style=style)


def new_table(title: str, columns: list[tuple[str, Justify]], colour: bool) -> Any:
    """An empty table; ``columns`` are (heading, justification)."""
    from rich import box
    from rich.table import Table

    table = Table(
        title=styled(title, "bold") if title else None,
        title_justify="left",
        box=box.SIMPLE_HEAD if colour else None,
        pad_edge=False,
        padding=(0, 2, 0, 0),
    )
    for name, justify in columns:
        table.add_column(styled(name), justify=justify)
    return table


def fitted_table(
    title: str,
    columns: Sequence[tuple[str, Justify]],
    rows: Iterable[Sequence[Any]],
    *,
    width: int,
    colour: bool,
    spare: Spare = (),
    hidden: Sequence[str] = (),
    elsewhere: str = IN_REPORT,
) -> Any:
    """A table that fits ``width``; below it which columns are left out, if any, and where they are to be found.

    ``rows`` of texts, plain or styled. ``hidden``: columns that the caller left out. ``elsewhere``: where there is all of it.
    """
    from rich.console import Group

    cells = [[cell if hasattr(cell, "plain") else styled(cell) for cell in row] for row in rows]
    texts = [[name, *(row[place].plain for row in cells)] for place, (name, _) in enumerate(columns)]
    framed = colour and is_whole(texts, width - 2, gap=3)  # as new_table draws it; without a frame there is more room
    fitted = fit(texts, width, gap=3 if framed else 2, spare=spare)
    headings = [(fitted.columns[k][0], columns[place][1]) for k, place in enumerate(fitted.kept)]
    table = new_table(title, headings, framed)
    for number, row in enumerate(cells, 1):
        table.add_row(*(styled(fitted.columns[k][number], row[place].style) for k, place in enumerate(fitted.kept)))
    if not (names := [*hidden, *fitted.left_out]):
        return table
    return Group(table, left_out(names, width, elsewhere))


def left_out(names: Sequence[str], width: int, elsewhere: str = IN_REPORT) -> Any:
    """A line that names what a table of this width does not show."""
    return styled(f"  (left out at {width} columns: {', '.join(names)}; see {elsewhere})", "dim")


def gate_cells(gate: GateResult | None) -> tuple[Any, Any]:
    """What a gate asks for and what became of it."""
    if gate is None:
        return "", ""
    word, style = DECISIONS[gate.decision]
    wanted = f"{'|x| ' if gate.gate.absolute else ''}{gate.gate.op} {gate.gate.threshold:g}"
    return styled(wanted), styled(word, style)
