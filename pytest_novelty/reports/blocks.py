"""Tables and paragraphs that do not know yet where they are shown: on a terminal or in Markdown."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass

from pytest_novelty.reports.fitting import Spare
from pytest_novelty.reports.tables import IN_REPORT, Justify, fitted_table, styled


@dataclass(frozen=True)
class Block:
    """A titled table with notes below it. Without headings it is the notes alone; without notes the table.

    ``spare``: columns that are no great loss on a narrow terminal.
    """

    title: str
    headings: tuple[tuple[str, Justify], ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    notes: tuple[str, ...] = ()
    spare: Spare = ()


def render_blocks(
    blocks: Iterable[Block], *, width: int = 100, colour: bool = False, elsewhere: str = IN_REPORT
) -> str:
    """Blocks as a terminal shows them. ``elsewhere``: where the columns are that a narrow one has no room for."""
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
            console.print(
                fitted_table(
                    "",
                    block.headings,
                    block.rows,
                    width=width,
                    colour=colour,
                    spare=block.spare,
                    elsewhere=elsewhere,
                )
            )
        for note in block.notes:
            console.print(styled(f"  {note}"))
    return "\n".join(line.rstrip() for line in stream.getvalue().splitlines())
