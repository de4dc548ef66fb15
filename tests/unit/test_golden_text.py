"""Golden files as text: what a partial recording keeps, and what is said of a file that cannot be read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty.errors import GoldenError
from pytest_novelty.golden import Entry, Golden, Head, merge, read_text, result_from, write_text
from pytest_novelty.labels_as_text import Contradiction
from pytest_novelty.model import ABSTAINED, INVALID, NOT_NOVEL, NOVEL, OK, TIE
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.tallies import check_label

PAIRWISE = PROTOCOLS["pairwise"]
OLD: Head = {"judge": "judge", "version": "1", "votes": 3}
NEW: Head = {"judge": "judge", "version": "2", "votes": 3}


def entry(label: str = "x", head: Head = OLD, **changes: Any) -> Entry:
    made = Entry(label, (("ab", (3, 0, 0, 0, 0)), ("ba", (1, 0, 1, 1, 0))), (), "0a1b2c3d", head)
    return made._replace(**changes)


def golden(**entries: Entry) -> Golden:
    return Golden("made", "pairwise", "1", "0" * 32, 2, entries)


def changed(old: str, new: str, words: str, line: int = 7) -> tuple[Callable[[str], str], int, str]:
    def change(text: str) -> str:
        assert old in text
        return text.replace(old, new)

    return change, line, words


def test_the_text_is_made_for_review() -> None:
    text = write_text(golden(i2=entry("y", NEW), i1=entry(scores=(0.5, 7.0))))
    assert text.splitlines() == [
        "# novelty-golden/1: written by --snapshot-update",
        "# suite: made 1 " + "0" * 32 + " of 2 instances, 2 lines",
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
    part = merge(old, golden(i2=entry("y", NEW)), suite, old)
    assert {name: item.head["version"] for name, item in part.entries.items()} == {"i1": "1", "i2": "2", "gone": "1"}
    whole = merge(old, golden(i1=entry(head=NEW), i2=entry("y", NEW)), suite, old)
    assert sorted(whole.entries) == ["i1", "i2"]
    assert read_text(write_text(part), Path(), PAIRWISE) == part


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
        changed("#1 votes: 3", "#1 served: 7", "cannot be: served is 7", line=5),
        changed("#1 votes: 3", "#1 votes: 3000000", "cannot be: votes is 3000000", line=5),
        changed('judge: "judge"', "judge: 7", "cannot be: judge is 7", line=3),
        changed("ab 3:0", "ab 3000000:0", "cannot be: 3000000 votes are counted, and 3 were asked for"),
        changed("ab 3:0", "ab 0:0", "cannot be: no vote is counted"),
        changed("ba 1:0:1:1", "ab 1:0:1:1", "cannot be: an order is there twice"),
        changed("ab 3:0", "zz 3:0", "cannot be read"),
        changed("0a1b2c3d", "0a1b2c3d\tscores 1", "cannot be: it has scores, and the protocol pairwise knows none"),
        changed("0a1b2c3d", "0a1b2c3d\tscores nan", "cannot be: the score nan is no number that a judge can give"),
        changed(
            "0a1b2c3d", "0a1b2c3d\tscores 1 -1e300", "cannot be: the score -1e+300 is no number that a judge can give"
        ),
        changed("0a1b2c3d", "0a1b2c3d\tscores 2e20", "cannot be: the score 2e+20 is no number that a judge can give"),
        changed("\tx\t", "\ttie\t", "cannot be: the label is tie, and the votes have a winner"),
        changed("\tx\t", "\tnull\t", "cannot be: the label is null, and the votes have a winner"),
        changed("ab 3:0, ba 1:0:1:1", "ab 3:0, ba 0:3", "cannot be: the label is x, and the votes say tie"),
        changed(
            "ab 3:0, ba 1:0:1:1", "ab 3:0, ba 0:0:0:1:2", "cannot be: the label is x, and the votes say incomplete"
        ),
        changed(
            "ab 3:0, ba 1:0:1:1", "ab 0:0:0:3, ba 0:0:0:3", "cannot be: the label is x, and the votes say abstained"
        ),
        changed("ab 3:0, ba 1:0:1:1", "3:0", "cannot be: these are no votes of the protocol pairwise"),
        changed("ab 3:0, ba 1:0:1:1", "-", "cannot be: the label is x, and the votes say invalid"),
        changed("0a1b2c3d", "0a1b2c3d\tscores 1 2 3 4 5 6 7", "cannot be: 7 scores of 3 votes"),
        (
            lambda text: "".join(text.splitlines(True)[:-1]),
            2,
            "has 0 lines of instances and says that it has 1: it was cut",
        ),
    ],
)
def test_what_cannot_be_read_is_named(change: Callable[[str], str], line: int, words: str) -> None:
    text = write_text(golden(i1=entry()))
    with pytest.raises(GoldenError) as caught:
        read_text(change(text), Path("golden/made.judge.txt"), PAIRWISE)
    assert (caught.value.line, words in str(caught.value)) == (line, True), str(caught.value)


def test_line_ends_of_another_system_are_no_change() -> None:
    text = write_text(golden(i1=entry()))
    assert read_text(text.replace("\n", "\r\n"), Path(), PAIRWISE) == golden(i1=entry())
    assert replace(golden(), digest="1").judge == ""
    assert golden(i1=entry()).judge == "judge"


def test_an_update_of_a_part_leaves_the_suite_as_it_was_recorded(
    make_suite: Callable[..., Any], make_instance: Callable[..., Any]
) -> None:
    grown = make_suite("pairwise", *(make_instance("pairwise", name) for name in ("i1", "i2", "i3")))
    part = replace(golden(i1=entry(head=NEW)), digest="1" * 32, size=3, left_out=frozenset({"i2", "i3"}))
    old = golden(i1=entry(), i2=entry())
    merged = merge(old, part, grown, old)
    assert (merged.digest, merged.size, merged.left_out) == ("0" * 32, 2, frozenset())  # i3 is new still
    rest = replace(golden(i3=entry()), digest="1" * 32, size=3, left_out=frozenset({"i1", "i2"}))
    assert (merge(merged, rest, grown, merged).digest, sorted(merge(merged, rest, grown, merged).entries)) == (
        "1" * 32,
        ["i1", "i2", "i3"],
    )
    first = merge(None, part, grown, None)
    assert first.left_out == {"i2", "i3"}
    assert read_text(write_text(first), Path(), PAIRWISE) == first
    assert "# left out: i2\n# left out: i3\n" in write_text(first)
    assert merge(first, rest, grown, first).left_out == {"i2"}
    with_gone = replace(first, left_out=first.left_out | {"gone"})  # left out, and then removed from the suite
    assert merge(with_gone, rest, grown, with_gone).left_out == {"i2"}


def test_what_another_run_recorded_meanwhile_is_kept(
    make_suite: Callable[..., Any], make_instance: Callable[..., Any]
) -> None:
    suite = make_suite("pairwise", *(make_instance("pairwise", name) for name in ("i1", "i2")))
    began, now = golden(i1=entry(), gone=entry()), golden(i1=entry(), gone=entry(), other=entry())
    whole = golden(i1=entry(head=NEW), i2=entry("y", NEW))
    assert sorted(merge(now, whole, suite, began).entries) == ["i1", "i2", "other"]
    assert sorted(merge(began, whole, suite, began).entries) == ["i1", "i2"]
    assert sorted(merge(now, golden(i2=entry()), suite, began).entries) == ["gone", "i1", "i2", "other"]


@pytest.mark.parametrize(
    ("label", "tallies", "scores", "said"),
    [
        (NOVEL, (0, 0, 0, 0, 0), 3, ""),
        (None, (0, 0, 0, 0, 0), 3, ""),
        (NOT_NOVEL, (0, 0, 0, 1, 0), 1, ""),
        (ABSTAINED, (0, 0, 0, 1, 0), 1, ""),
        (ABSTAINED, (0, 0, 0, 1, 0), 2, "not novel or novel or null"),
        (INVALID, (0, 0, 0, 1, 1), 1, ""),
        (ABSTAINED, (0, 0, 0, 1, 1), 1, "invalid or not novel or novel or null"),
        (TIE, (0, 0, 0, 0, 0), 3, "not novel or novel or null"),
        (NOT_NOVEL, (2, 1, 0, 0, 0), 3, "novel"),
        (TIE, (1, 1, 0, 0, 0), 2, ""),
    ],
)
def test_a_label_follows_from_its_votes(label: str | None, tallies: tuple[int, ...], scores: int, said: str) -> None:
    votes = [(None, tallies)]
    if not said:
        check_label(label, votes, [1.0] * scores, PROTOCOLS["pointwise"])
        return
    with pytest.raises(Contradiction, match=f"the votes say {said}"):
        check_label(label, votes, [1.0] * scores, PROTOCOLS["pointwise"])
