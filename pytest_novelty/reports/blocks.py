"""Tables and paragraphs that do not know yet where they are shown: on a terminal or in Markdown."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass

from pytest_novelty.reports.tables import Justify, new_table, styled


@dataclass(frozen=True)
class Block:
    """A titled table with notes below it. Without headings it is the notes alone; without notes the table."""

    title: str
    headings: tuple[tuple[str, Justify], ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()


def render_blocks(blocks: Iterable[Block], *, width: int = 100, colour: bool = False) -> str:
    """Blocks as a terminal shows them."""
    from rich.console import Console

    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
        legacy_windows=False,
    )
    for number, block in enumerate(blocks):
        if number:
            console.print()
        if block.title:
            console.print(styled(block.title, "bold"))
        if block.headings:
            table = new_table("", list(block.headings), colour)
            for row in block.rows:
                table.add_row(*map(styled, row))
            console.print(table)
        for note in block.notes:
            console.print(styled(f"  {note}"))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())
