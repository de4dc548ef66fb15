"""What an ellipsis or a full stop of a quotation may stand for, and how much work a span with many of them makes."""

from __future__ import annotations

from collections import Counter

import pytest

from pytest_novelty.evidence import (
    HALLUCINATED,
    MISSING,
    NOWHERE,
    TOO_MANY_PARTS,
    VERBATIM,
    Haystack,
    Source,
    check_span,
)
from pytest_novelty.evidence.joining import find_fault
from pytest_novelty.evidence.splitting import MOST_PARTS
from pytest_novelty.evidence.wording import LEFT_OUT, NEGATION, ORDER


@pytest.mark.parametrize(
    ("before", "gap", "behind", "fault"),
    [
        ("Our model uses", " neither depth sensors nor ", "markers.", NEGATION),
        ("The treatment", " failed, despite early promise, to ", "improve survival.", NEGATION),
        ("The drug, which is cheap", ", did not in trials ", "reduce mortality.", NEGATION),
        ("The drug", " doesn\u2019t, as some say, ", "reduce mortality.", NEGATION),
        ("The jig, a tool", ", cannot fold cloth, ", "that is wet.", NEGATION),
        ("Jigs keep creases", ", though not of cloth, ", "while folders lose them.", ""),  # a clause for itself
        ("Jigs keep creases", " and need no ruler, ", "while folders lose them.", ""),
        ("Jigs keep creases", ", but no others; ", "folders lose them.", ""),
        ("Jigs", " of brass and tin ", "keep creases.", ""),
        ("Jigs keep creases", " within a millimetre. ", "Folders lose them.", ""),
        ("It is", " not the case that jigs fold. ", "Folders lose creases.", NEGATION),
        ("Jigs keep creases", ", but not of cloth. ", "Folders lose them.", ""),
        ("The jig", " tears paper. The folder keeps ", "every crease.", LEFT_OUT),
        ("The jig keeps creases", ", we say. The folder may ", "generalise to cloth.", LEFT_OUT),
        ("The jig", " tears paper, we say. The folder is new, ", "and keeps every crease.", LEFT_OUT),
        ("We use a jig", " that tears paper. The folder is new, ", "and keeps every crease.", ""),
        ("We use a jig", " that tears paper. The folder is not new ", "and keeps every crease.", NEGATION),
        ("We use a jig", " of 12 N. ", "The folder is new.", ""),  # a unit is no initial
        ("We use a jig", " of A. ", "Smith.", ""),
        ("We use", " no jig of A. ", "Smith.", NEGATION),  # no sentence ends there
        ("The jig", " tears paper\n\n", "The folder is new.", ""),
        ("The jig", " tears paper.3 ", "The folder is new.", ""),
        ("The jig", " tears paper. [4] ", "The folder is new.", ""),
    ],
)
def test_what_an_ellipsis_may_stand_for(before: str, gap: str, behind: str, fault: str) -> None:
    assert find_fault(before + gap + behind, len(before), len(before) + len(gap)) == fault


def test_short_parts_are_joined_by_the_same_rule() -> None:
    text = Source("", "The drug of ours did not in any of the three cohorts reduce mortality among the old.")
    assert check_span("The drug of ours ... reduce mortality", text).reason == NEGATION
    assert check_span("the drug of ours ... reduce mortality among the old", text).reason == NEGATION
    assert check_span("of ours ... did not in any of the three cohorts reduce mortality", text).found


@pytest.mark.parametrize("denied", ["not", "cannot", "never"])
def test_a_quotation_does_not_begin_behind_a_word_that_denies_it(denied: str) -> None:
    text = Source("", f"The approach {denied} handle wet paper. Folders are slow on most days.")
    assert check_span("handle wet paper. Folders are slow on most days.", text).reason == NEGATION


def test_of_many_parts_nothing_is_looked_for() -> None:
    text = Source("", "Jigs of brass keep every crease. " + " ".join(f"fold {number} is kept." for number in range(40)))
    parts = [f"fold {number} is kept." for number in range(0, 40, 2)]
    assert check_span(" ... ".join(parts[:MOST_PARTS]), text).found
    finding = check_span(" ... ".join(parts[: MOST_PARTS + 1]), text)
    assert (finding.status, finding.failure, finding.score) == (MISSING, TOO_MANY_PARTS, None)


def test_a_text_with_many_ellipses_may_be_quoted() -> None:
    listed = ", ".join(f"jig {number}, ..., jig {number + 5}" for number in range(20))
    assert check_span(f"We fold with {listed}.", Source("", f"We fold with {listed}. It is done.")).status == VERBATIM


class Counting(Haystack):
    """A text that counts how often something is compared with a place in it."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.looks = Counter[str]()

    def _differs_at(self, *args: object) -> str:
        self.looks["letter by letter"] += 1
        return super()._differs_at(*args)  # type: ignore[arg-type]

    def _align(self, *args: object) -> object:  # type: ignore[override]
        self.looks["aligned"] += 1
        return super()._align(*args)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "span",
    [
        "a... " * 390,
        "of the... " * 12,
        " ... ".join(["the", "of", "a", "to"] * 3),
        "1 ... the of ... in - e\u0301 ... a ... [3] (2019) ... 3.5 ... is ... of ... a th ... the o",
        "of the. " * 240,
        "the of to a is. the of to is a. " * 60,
        "the of to a is " * 130,
        "a. " * 660,
    ],
)
@pytest.mark.parametrize("text", ["the of to a is 1 ", "a. ", "th-\ne o-\nf a-\n", "1 ", "ab "])
def test_hostile_spans_make_little_work(span: str, text: str) -> None:
    """The worst that a search by chance for slow spans came upon, in texts that say the same over and over."""
    source = Source("", (text * 20_000)[:60_000])
    haystack = Counting(source.text)
    source.__dict__["body"] = haystack
    assert check_span(span, source).failure in (NOWHERE, TOO_MANY_PARTS, "")
    assert haystack.looks["letter by letter"] <= 5_000
    assert haystack.looks["aligned"] <= 1_000


TRIAL = (
    "Patients on drug A survived longer. Patients on drug B died within weeks of the trial. We do not recommend surgery. We "
    "recommend rest. Our approach fails on long inputs; the baseline succeeds on long inputs. Safe in mice, the drug is cheap."
)


@pytest.mark.parametrize(
    ("span", "reason"),
    [
        ("We do not recommend. Rest.", LEFT_OUT),
        ("We recommend. Surgery.", ORDER),
        ("Patients on drug A survived! Within weeks of the trial.", LEFT_OUT),
        ("Patients on drug A survived longer. Within weeks of the trial.", LEFT_OUT),
        ("Our approach. Succeeds on long inputs.", NEGATION),
        ("The baseline succeeds on long inputs. Fails on long inputs.", ORDER),
        ("Our approach. We recommend rest.", NEGATION),
    ],
)
def test_a_full_stop_of_its_own_joins_no_more_than_an_ellipsis(span: str, reason: str) -> None:
    finding = check_span(span, Source("T", TRIAL))
    assert (finding.status, finding.reason) == (HALLUCINATED, reason)


@pytest.mark.parametrize(
    "span",
    [
        "We recommend rest. Patients on drug A survived longer.",
        "We do not recommend surgery. Patients on drug B died within weeks of the trial.",
        "Patients on drug A survived longer. We recommend rest.",
        "The baseline succeeds on long inputs. Safe in mice, the drug is cheap.",
        "Safe in mice, the drug is cheap. Patients on drug A survived longer.",
        "Patients on drug A survived longer. We recommend rest. Patients on drug B died within weeks of the trial.",
    ],
)
def test_whole_sentences_may_be_quoted_in_any_order(span: str) -> None:
    assert check_span(span, Source("T", TRIAL)).status == VERBATIM


def test_of_two_places_the_one_behind_the_sentence_before_counts() -> None:
    text = "We say that folding is slow. It folds. Folding is slow."
    assert check_span("It folds. Folding is slow!", Source("T", text)).status == VERBATIM
    moved = "Folders say that folding is slow. Jigs keep creases in paper. He knows. Folding is slow."
    assert check_span("Jigs keep creases in paper. Folding is slow.", Source("T", moved)).status == VERBATIM


@pytest.mark.parametrize(("rest", "fault"), [(" and is new", LEFT_OUT), ("", "")])
def test_of_a_long_gap_its_ends_are_looked_at(rest: str, fault: str) -> None:
    text = f"The jig keeps creases{rest}. " + "Folders fold. " * 5_000 + "A machine tears cloth."
    begin = text.index("tears" if fault else "A machine")
    assert find_fault(text, len("The jig keeps creases"), begin) == fault
