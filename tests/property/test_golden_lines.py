"""Whatever a suite calls its instances and ideas, a golden file says it on one line and is read as it was written."""

from __future__ import annotations

import contextlib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pytest_novelty.golden import Entry, Golden, read_text, write_text
from pytest_novelty.model import ABSTAINED, INCOMPLETE, INVALID, NOT_NOVEL, NOVEL, TIE
from pytest_novelty.tallies import Contradiction, Tallies, check_label

_LABELS = (TIE, ABSTAINED, INCOMPLETE, INVALID, NOVEL, NOT_NOVEL, None)
_NAMES = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1).filter(str.strip)
_ANY = st.text(min_size=1).filter(str.strip)  # lone surrogates, too
_COUNTS = st.tuples(*[st.integers(0, 9)] * 5)
_TALLIES = st.one_of(
    st.just(()),
    st.tuples(st.tuples(st.none(), _COUNTS)),
    st.tuples(*[st.tuples(st.just(o), _COUNTS.filter(any)) for o in ("ab", "ba")]),
)  # fmt: skip
_HEADS = st.fixed_dictionaries(
    {"judge": _ANY, "version": _ANY, "served": st.lists(_ANY, max_size=2), "votes": st.integers(45, 100)},
    optional={"params": st.dictionaries(_ANY, st.none() | st.booleans() | _ANY, max_size=2)},
)
_SCORES = st.lists(st.floats(-100, 100).map(lambda value: float(f"{value:.6g}")), max_size=4).map(tuple)


def fitting(label: str | None, tallies: Tallies, scores: tuple[float, ...]) -> str | None:
    """The label if the votes can have it, else one that they can have."""
    for other in (label, *_LABELS):
        with contextlib.suppress(Contradiction):
            check_label(other, tallies, scores)
            return other
    return "x"  # of two ideas the first or the second: named as the suite does


@given(
    st.dictionaries(_ANY, st.tuples(st.none() | _ANY, _TALLIES, _SCORES, st.integers(0, 1)), max_size=5),
    st.lists(_HEADS, min_size=2, max_size=2),
    st.frozensets(_ANY, max_size=3),
)
def test_what_is_written_is_read(rows: dict[str, tuple], heads: list[dict], left_out: frozenset[str]) -> None:  # type: ignore[type-arg]
    entries = {}
    for name, (label, tallies, numbers, head) in rows.items():
        scores = numbers or ((1.0,) if tallies and not any(tallies[0][1]) else ())
        entries[name] = Entry(fitting(label, tallies, scores), tallies, scores, "0a1b2c3d", heads[head])
    golden = Golden("made", "1.0 beta", "0" * 32, 7, entries, left_out - set(entries))
    text = write_text(golden)
    assert read_text(text, Path("made.txt")) == golden
    assert text.isascii()
    assert len([line for line in text.split("\n") if line and not line.startswith("#")]) == len(rows)
