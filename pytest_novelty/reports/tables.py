"""Tables and styled lines for a terminal; rich is imported when the first is made."""

from __future__ import annotations

from typing import Any, Final, Literal, TypeAlias

from pytest_novelty.deciding import FAIL, INCONCLUSIVE, NOT_ENFORCED, PASS, GateResult

Justify: TypeAlias = Literal["left", "right"]

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
        table.add_column(name, justify=justify)
    return table


def gate_cells(gate: GateResult | None) -> tuple[Any, Any]:
    """What a gate asks for and what became of it."""
    if gate is None:
        return "", ""
    word, style = DECISIONS[gate.decision]
    wanted = f"{'|x| ' if gate.gate.absolute else ''}{gate.gate.op} {gate.gate.threshold:g}"
    return styled(wanted), styled(word, style)
