"""Whatever a suite calls its instances and ideas, a golden file says it on one line and is read as it was written."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from pytest_novelty.golden import Entry, Golden, read_text, write_text

_NAMES = st.text(st.characters(blacklist_categories=["Cs"]), min_size=1).filter(str.strip)
_ANY = st.text(min_size=1).filter(str.strip)  # lone surrogates, too
_COUNTS = st.tuples(*[st.integers(0, 9)] * 5)
_TALLIES = st.one_of(
    st.just(()), st.tuples(st.tuples(st.none(), _COUNTS)), st.tuples(*[st.tuples(st.just(o), _COUNTS) for o in ("ab", "ba")])
)  # fmt: skip
_HEADS = st.fixed_dictionaries(
    {"judge": _ANY, "version": _ANY, "served": st.lists(_ANY, max_size=2), "votes": st.integers(1, 5)},
    optional={"params": st.dictionaries(_ANY, st.none() | st.booleans() | _ANY, max_size=2)},
)
_SCORES = st.lists(st.floats(-100, 100).map(lambda value: float(f"{value:.6g}")), max_size=4).map(tuple)


@given(
    st.dictionaries(_ANY, st.tuples(st.none() | _ANY, _TALLIES, _SCORES, st.integers(0, 1)), max_size=5),
    st.lists(_HEADS, min_size=2, max_size=2),
)
def test_what_is_written_is_read(rows: dict[str, tuple], heads: list[dict]) -> None:  # type: ignore[type-arg]
    entries = {
        name: Entry(label, tallies, scores, "0a1b2c3d", heads[head])
        for name, (label, tallies, scores, head) in rows.items()
    }
    golden = Golden("made", "1.0 beta", "0" * 32, 7, entries)
    text = write_text(golden)
    assert read_text(text, Path("made.txt")) == golden
    assert text.isascii()
    assert len([line for line in text.split("\n") if line and not line.startswith("#")]) == len(rows)
