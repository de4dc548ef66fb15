"""Whatever stands in a table, and however narrow the terminal: nothing is lost that is not named."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from pytest_novelty.reports.fitting import fit

_CELL = st.text(st.sampled_from("ab_-.:/ []%0\u6298"), max_size=30)


@given(
    table=st.integers(1, 5).flatmap(
        lambda n: st.lists(st.lists(_CELL, min_size=3, max_size=3), min_size=n, max_size=n)
    ),
    width=st.integers(1, 140),
    gap=st.integers(1, 3),
    spare=st.booleans(),
)
def test_every_letter_is_there_or_its_column_is_named(
    table: list[list[str]], width: int, gap: int, spare: bool
) -> None:
    named = ((len(table) - 1, "the last"),) if spare and len(table) > 1 else ()
    found = fit(table, width, gap=gap, spare=named)
    assert len(found.kept) + len(found.left_out) == len(table)
    assert found.kept[0] == 0
    for place, cells in zip(found.kept, found.columns, strict=True):
        assert ["".join(cell.split()) for cell in cells] == ["".join(cell.split()) for cell in table[place]]
    widths = [max(cell_len(line) for cell in cells for line in [*cell.split("\n"), ""]) for cells in found.columns]
    if len(found.kept) > 1:
        assert sum(widths) + gap * (len(widths) - 1) <= width
    else:
        assert widths[0] <= max(width, 17)
