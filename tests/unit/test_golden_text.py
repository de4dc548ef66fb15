"""Golden files as text: what a partial recording keeps, and what is said of a file that cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty.errors import GoldenError
from pytest_novelty.golden import Entry, Golden, Head, merge, read_text, result_from, write_text
from pytest_novelty.model import ABSTAINED, OK, TIE

OLD: Head = {"judge": "judge", "version": "1", "votes": 3}
NEW: Head = {"judge": "judge", "version": "2", "votes": 3}


def entry(label: str = "x", head: Head = OLD, **changes: Any) -> Entry:
    made = Entry(label, (("ab", (3, 0, 0, 0, 0)), ("ba", (1, 0, 1, 1, 0))), (), "0a1b2c3d", head)
    return made._replace(**changes)


def golden(**entries: Entry) -> Golden:
    return Golden("made", "1", "0" * 32, 2, entries)


def test_the_text_is_made_for_review() -> None:
    text = write_text(golden(i2=entry("y", NEW), i1=entry(scores=(0.5, 7.0))))
    assert text.splitlines() == [
        "# novelty-golden/1: written by --snapshot-update",
        "# suite: made 1 " + "0" * 32 + " of 2 instances",
        '#1 judge: "judge"',
        '#1 version: "1"',
        "#1 votes: 3",
        '#2 judge: "judge"',
        '#2 version: "2"',
        "#2 votes: 3",
        "# instance, label, votes for the first label : the second : ties : abstentions : failures, digest of what was shown",
        "i1\tx\tab 3:0, ba 1:0:1:1\t0a1b2c3d\tscores 0.5 7",
        "i2\ty\tab 3:0, ba 1:0:1:1\t0a1b2c3d\t#2",
    ]


def test_a_partial_recording_keeps_the_rest_and_under_what_it_was_recorded(
    make_suite: Callable[..., Any], make_instance: Callable[..., Any]
) -> None:
    suite = make_suite("pairwise", *(make_instance("pairwise", name) for name in ("i1", "i2")))
    old = golden(i1=entry(), i2=entry(), gone=entry())
    part = merge(old, golden(i2=entry("y", NEW)), suite)
    assert {name: item.head["version"] for name, item in part.entries.items()} == {"i1": "1", "i2": "2", "gone": "1"}
    whole = merge(old, golden(i1=entry(head=NEW), i2=entry("y", NEW)), suite)
    assert sorted(whole.entries) == ["i1", "i2"]
    assert read_text(write_text(part), Path()) == part


def test_votes_come_back_as_they_were_counted(
    make_suite: Callable[..., Any], make_instance: Callable[..., Any]
) -> None:
    instance = make_instance("pairwise")
    result = result_from(entry(), "judge", make_suite("pairwise", instance), instance)
    assert [(v.order, v.label, v.status, v.abstained) for v in result.outcome.votes] == [
        *[("ab", "x", OK, False)] * 3, ("ba", "x", OK, False), ("ba", TIE, OK, False), ("ba", None, OK, True),
    ]  # fmt: skip
    assert result.outcome.label == "x"
    lone = make_instance()
    scored = result_from(
        Entry(ABSTAINED, ((None, (1, 1, 0, 1, 1)),), (7.0, 3.0), "", OLD), "judge", make_suite("pointwise", lone), lone
    )
    assert [vote.score for vote in scored.outcome.votes] == [7.0, 3.0, None, None]
    assert scored.outcome.score == 5.0


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        (lambda text: "", 1, "is no file of golden verdicts"),
        (lambda text: text.replace("golden/1", "golden/2"), 1, "is no file of golden verdicts"),
        (lambda text: text.replace(" of 2 ", " "), 2, "does not say of which suite it is"),
        (lambda text: text.replace("ab 3:0", "ab three"), 7, "cannot be read"),
        (lambda text: text.replace("\t0a1b2c3d", ""), 7, "cannot be read"),
        (lambda text: text.replace('"1"', '"1'), 4, "cannot be read"),
        (lambda text: text + "<<<<<<< HEAD\n", 8, "Two versions were merged: take either"),
        (lambda text: text + text.splitlines()[-1] + "\n", 8, "has the instance 'i1' twice"),
        (lambda text: text.replace("0a1b2c3d", "0a1b2c3d\t#3"), 7, "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_named(change: Callable[[str], str], line: int, words: str) -> None:
    text = write_text(golden(i1=entry()))
    with pytest.raises(GoldenError) as caught:
        read_text(change(text), Path("golden/made.judge.txt"))
    assert (caught.value.line, words in str(caught.value)) == (line, True), str(caught.value)


def test_line_ends_of_another_system_are_no_change() -> None:
    text = write_text(golden(i1=entry()))
    assert read_text(text.replace("\n", "\r\n"), Path()) == golden(i1=entry())
    assert replace(golden(), digest="1").judge == ""
    assert golden(i1=entry()).judge == "judge"
