"""Whatever a suite calls its instances, ideas and papers, a golden file says it on one line and is read as it was written."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_novelty.golden import Entry, Golden, read_text, write_text
from pytest_novelty.labels_as_text import Contradiction, read_partition, write_partition
from pytest_novelty.model import ABSTAINED, INCOMPLETE, INVALID, TIE
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.protocols.grouping import name_partition
from pytest_novelty.tallies import check_label

_ANY = st.text(min_size=1).filter(str.strip)  # lone surrogates, too
_HEADS = st.fixed_dictionaries(
    {"judge": _ANY, "version": _ANY, "served": st.lists(_ANY, max_size=2), "votes": st.integers(70, 100)},
    optional={"params": st.dictionaries(_ANY, st.none() | st.booleans() | _ANY, max_size=2)},
)
_SCORES = st.lists(st.floats(-100, 100).map(lambda value: float(f"{value:.6g}")), max_size=4).map(tuple)
_PARTITIONS = st.lists(_ANY, max_size=7, unique=True).flatmap(
    lambda papers: st.tuples(*[st.integers(0, 2)] * len(papers)).map(
        lambda places: name_partition([p for p, at in zip(papers, places, strict=True) if at == k] for k in range(3))
    )
)


@st.composite
def verdicts(draw: st.DrawFn, name: str) -> dict[str, Any]:
    """Of one instance: label, tallies, scores and names, the label as the votes have it."""
    protocol = PROTOCOLS[name]
    names = () if name != "grouping" else tuple(sorted(draw(st.sets(_PARTITIONS, max_size=4))))
    width = 5 if name != "grouping" else len(names) + 3
    tallies = []
    for order in draw(st.lists(st.sampled_from(protocol.orders("both")), unique=True)):
        counts = draw(st.tuples(*[st.integers(0, 9)] * width))
        if name == "grouping":  # no judge declares that one is tied
            counts = (*counts[:-3], 0, *counts[-2:])
        tallies.append((order, counts))
    scores = draw(_SCORES) if protocol.score_key else ()
    if not scores and protocol.score_key and tallies and not any(tallies[0][1]):
        scores = (1.0,)
    if not protocol.score_key:
        tallies = [item for item in tallies if any(item[1])]
    names = tuple(n for place, n in enumerate(names) if any(counts[place] for _, counts in tallies))
    if name == "grouping":
        every = [place for place in range(width) if place >= width - 3 or any(c[place] for _, c in tallies)]
        tallies = [(order, tuple(counts[place] for place in every)) for order, counts in tallies]
    for label in (draw(_ANY), TIE, ABSTAINED, INCOMPLETE, INVALID, *(protocol.labels or ()), *names, None):
        with contextlib.suppress(Contradiction, ValueError):
            check_label(label, tallies, scores, protocol, names)
            return {"label": label, "tallies": tuple(tallies), "scores": scores, "names": names}
    raise AssertionError((name, tallies, scores, names))


_FILES = st.sampled_from(sorted(PROTOCOLS)).flatmap(
    lambda name: st.tuples(
        st.just(name), st.dictionaries(_ANY, st.tuples(verdicts(name), st.integers(0, 1)), max_size=5)
    )
)


@given(_FILES, st.lists(_HEADS, min_size=2, max_size=2), st.frozensets(_ANY, max_size=3))
def test_what_is_written_is_read(
    file: tuple[str, dict[str, Any]], heads: list[dict[str, Any]], left_out: frozenset[str]
) -> None:
    protocol, rows = file
    entries = {name: Entry(shown="0a1b2c3d", head=heads[head], **verdict) for name, (verdict, head) in rows.items()}
    golden = Golden("made", protocol, "1.0 beta", "0" * 32, 7, entries, left_out - set(entries))
    text = write_text(golden)
    assert read_text(text, Path("made.txt"), PROTOCOLS[protocol]) == golden
    assert text.isascii()
    assert len([line for line in text.split("\n") if line and not line.startswith("#")]) == len(rows)


@given(_PARTITIONS)
def test_a_partition_is_read_as_it_was_written(label: str) -> None:
    assert read_partition(write_partition(label)) == label
