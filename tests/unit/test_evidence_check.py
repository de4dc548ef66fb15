"""The check of one span: how it is found, why it is not, and what its failure is called."""

from __future__ import annotations

import pytest

from pytest_novelty.evidence import (
    EMPTY,
    HALLUCINATED,
    MISSING,
    NEAR,
    NOWHERE,
    OTHER_PAPER,
    REFERENCE_LIST,
    SCHEMA_ECHO,
    TITLE_ONLY,
    TOO_LITTLE,
    TOO_LONG,
    VERBATIM,
    Haystack,
    Source,
    check_span,
)
from pytest_novelty.verdicts import LONGEST_SPAN

TITLE = "Cranes by Jig"
TEXT = f"""# {TITLE}

## Abstract

We fold paper cranes with a spring-
loaded jig. The jig keeps every crease within one millimetre3, even on thick stock [12]. It is not
possible to fold wet paper, and thin paper was unable to hold the crease in 240 trials of the Alpha jig.

## Method

Tension falls from 12 N to 3.5 N over 80 ms. Stiff paper needs more tension than soft paper.

## References

A. Smith. Kites of the northern hemisphere and their makers. Journal of Kites 4, 2017.
"""
OTHER = "We fold paper boats with a magnet and a thread. Stiff paper needs more tension than soft paper."
INSTRUCTIONS = Haystack("evidence_a: a verbatim span of one to three sentences from paper A. Answer in JSON.")


def source() -> Source:
    return Source(TITLE, TEXT)


def check(span: str | None) -> tuple[str, str]:
    others = [Source("Kites", "Kites need wind."), Source("Boats", OTHER)]
    found = check_span(span, source(), others=others, instructions=INSTRUCTIONS)
    return found.status, found.failure


@pytest.mark.parametrize(
    ("span", "failure"),
    [
        ("We fold paper boats with a magnet and a thread.", OTHER_PAPER),
        ("Kites of the northern hemisphere and their makers", REFERENCE_LIST),
        ("A. Smith. Kites of the northern hemisphere and their makers.", REFERENCE_LIST),
        (TITLE, TITLE_ONLY),
        (f"# {TITLE}.", TITLE_ONLY),
        ("a verbatim span of one to three sentences from paper A", SCHEMA_ECHO),
        ("<evidence from paper A>", SCHEMA_ECHO),
        ("{{evidence_a}}", SCHEMA_ECHO),
        ("string", SCHEMA_ECHO),
        ("Robots that fold are trained with reinforcement learning.", NOWHERE),
        ("The jig keeps no crease within one millimetre, even on thick stock.", NOWHERE),
        # Of several failures the one that is hardest to excuse.
        ("Robots that fold are trained with rewards. We fold paper boats with a magnet and a thread.", NOWHERE),
    ],
)
def test_failures_have_names(span: str, failure: str) -> None:
    assert check(span) == (HALLUCINATED, failure)


@pytest.mark.parametrize(
    "span", [None, "", "  \n", "...", "[...]", "?!" * 60, "N/A", "none", "No evidence.", "\u201c\u201d"]
)
def test_missing_evidence_is_a_failure_of_its_own(span: str | None) -> None:
    assert check(span) == (MISSING, EMPTY)


def test_the_other_paper_is_named_by_its_index() -> None:
    others = [Source("Kites", "Kites need wind."), Source("Boats", OTHER)]
    finding = check_span("We fold paper boats with a magnet and a thread.", source(), others=others)
    assert finding.other == 1
    assert check_span("Kites need strong wind on most days.", source(), others=others).other is None


def test_what_both_papers_say_is_found() -> None:
    assert check("Stiff paper needs more tension than soft paper.") == (VERBATIM, "")


def test_a_title_beside_a_sentence_is_no_failure() -> None:
    assert check(f"{TITLE}. Stiff paper needs more tension than soft paper.") == (VERBATIM, "")


def test_a_title_that_the_text_uses_is_found_there() -> None:
    assert check_span("cranes by jig", Source(TITLE, f"{TITLE}\n\nFolding cranes by jig is fast.")).status == VERBATIM


SECTIONS = "# 1 Introduction\n\nWe fold.\n\n## 2 Related Work\n\nOf old.\n\n## Experimental Setup\n\nA jig is set."


@pytest.mark.parametrize(
    "span", ["Related Work", "## 2 Related Work", "2 Related Work", "Experimental Setup", "experimental setup."]
)
@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_a_heading_is_no_evidence(span: str, end: str) -> None:
    text = SECTIONS.replace("\n", end)
    beside = Source("Boats", text)
    finding = check_span(span, Source(TITLE, text), others=[beside])
    assert (finding.status, finding.failure) == (HALLUCINATED, TITLE_ONLY)
    plain = Source(TITLE, text.replace("#", "").replace(f"{end} ", end).strip())
    assert check_span(span, plain).failure == TITLE_ONLY


def test_a_heading_beside_a_sentence_is_no_failure_and_its_words_may_be_of_a_sentence() -> None:
    paper = Source(TITLE, f"{SECTIONS} The related work has its experimental setup in the north.")
    assert check_span("Related Work ... A jig is set", paper).found
    assert check_span("Experimental Setup\n\nA jig is set.", paper).found
    finding = check_span("Experimental setup", paper)
    assert finding.status == VERBATIM
    assert finding.located(paper.text) == "experimental setup"


def test_references_that_were_not_shown_come_from_the_full_text() -> None:
    shown = "We fold paper cranes."
    span = "Kites of the northern hemisphere and their makers"
    assert check_span(span, Source(TITLE, shown)).failure == NOWHERE
    assert check_span(span, Source.of_paper(TITLE, shown, TEXT)).failure == REFERENCE_LIST


def test_a_section_on_a_reference_model_is_no_list() -> None:
    text = "# 3 Reference Model\n\nThe reference paper weighs 80 grams per square metre.\n\n# 4 Results\n\nIt folds."
    assert check_span("The reference paper weighs 80 grams per square metre.", Source("T", text)).found


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize(
    "heading", ["## References", "## 7 R EFERENCES", "References\n----------", "References\n", "**Bibliography**\n"]
)
def test_a_list_is_none_whatever_its_lines_end_with_and_no_place_moves(heading: str, end: str) -> None:
    listed = "A. Smith. Kites of the northern\nhemisphere and their makers. 2017.\n\nB. Jones. On wind. 2018."
    text = f"{TITLE}\n\nIt folds.\n\n{heading}\n\n{listed}\n\n# Appendix\n\nThe brass jig\nweighs 80 grams.\n"
    text = text.replace("\n", end)
    paper = Source(TITLE, text)
    assert check_span("Kites of the northern hemisphere and their makers", paper).failure == REFERENCE_LIST
    assert check_span(TITLE, paper).failure == TITLE_ONLY
    finding = check_span("The brass jig weighs 80 grams.", paper)
    assert finding.located(text) == f"The brass jig{end}weighs 80 grams."


def test_what_a_short_list_says_too_may_stand_in_the_text() -> None:
    line = "Kites of the north need wind"
    text = f"{line}. It folds.\n\n# References\n\n{line}\n\n# Appendix\n\n{line}, he said."
    finding = check_span(line, Source("T", text))
    assert (finding.status, finding.located(text), finding.pieces[0].start) == (VERBATIM, f"{line}.", 0)
    only = text.replace(f"{line}. ", "").replace(f"{line}, he said.", "None.")
    assert check_span(line, Source("T", only)).failure == REFERENCE_LIST


@pytest.mark.parametrize(
    "heading",
    [
        "## References",
        "## 7 R EFERENCES",
        "References\n",
        "**Bibliography**\n",
        "## Works Cited",
        "References & Notes",
        "Selected References",
        "## Cited Literature",
        "Further Reading",
        "\\section*{References}",
        '<h2 id="references">References</h2>',
    ],
)
def test_lists_within_the_text_are_no_evidence(heading: str) -> None:
    text = f"It folds.\n\n{heading}\n\nA. Smith. Kites of the northern hemisphere and their makers. 2017."
    assert check_span("Kites of the northern hemisphere and their makers", Source("T", text)).failure == REFERENCE_LIST


@pytest.mark.parametrize(
    ("span", "reason"),
    [
        ("The jig keeps no crease within one millimetre, even on thick stock.", "negation"),
        ("It is possible to fold wet paper, and thin paper was unable to hold the crease", "negation"),
        ("thin paper was able to hold the crease in 240 trials", "negation"),
        ("able to hold the crease in 240 trials", "negation"),
        ("possible to fold wet paper", "negation"),
        ("It is ... possible to fold wet paper", "negation"),
        ("unable to hold the crease in 204 trials of the Alpha jig", "number"),
        ("Tension falls from 12 N to 3 N over 80 ms.", "number"),
        ("Tension falls from 12 N to 3", "number"),
        ("Tension falls from 12 N to 3.5 N over 80 s.", "number"),
        ("unable to hold the crease in 240 hours of the Alpha jig", "number"),
        ("5 N over 80 ms. Stiff paper needs more tension than soft paper.", "number"),
        ("Tension falls from 12 N to -3.5 N over 80 ms.", "number"),
        ("The jig keeps every crease within one millimetre, even on thick stock [13].", "number"),
        ("Stiff paper needs less tension than soft paper.", "opposite"),
        ("Soft paper needs more tension than stiff paper.", "order"),
        ("unable to hold the crease in 240 trials of the Gamma jig", "name"),
        ("The jig keeps every crease and it flew within one millimetre, even on thick stock.", "added"),
        ("The jig keeps every cut in the tail within one millimetre, even on thick stock.", "replaced"),
        (
            "It is not possible, and thin paper was unable to hold the crease in 240 trials of the Alpha jig.",
            "left out",
        ),
    ],
)
def test_reasons(span: str, reason: str) -> None:
    finding = check_span(span, source())
    assert finding.status == HALLUCINATED
    assert finding.reason == reason


def test_a_near_span_has_a_score_and_the_sources_words() -> None:
    finding = check_span("The jig keeps each crease within one milimetre, even on thick stock.", source())
    assert finding.status == NEAR
    assert finding.score is not None
    assert 0.85 <= finding.score < 1
    assert finding.located(TEXT) == "The jig keeps every crease within one millimetre3, even on thick stock"


def test_verbatim_spans_are_located_whatever_folding_did() -> None:
    finding = check_span("spring-loaded jig", source())
    assert (finding.status, finding.score) == (VERBATIM, 1.0)
    assert finding.located(TEXT) == "spring-\nloaded jig."


@pytest.mark.parametrize(
    ("span", "located"),
    [
        ("The jig folds thick paper", "The jig folds thick paper.\u201d"),
        ("what of thin paper", "what of thin paper?"),
        ("it keeps creases of 0", ""),
        ("it keeps creases", "it keeps creases"),
    ],
)
def test_what_is_located_ends_as_its_sentence_does(span: str, located: str) -> None:
    text = "We say: \u201cThe jig folds thick paper.\u201d But what of thin paper? There it keeps creases of 0.8 mm."
    assert check_span(span, Source("T", text)).located(text) == located


@pytest.mark.parametrize("lists", [2_000, 20_000])
def test_many_lists_of_references_are_blanked_in_one_go(lists: int) -> None:
    text = "# References\nA. Tanaka. Folding. 2010.\n" * lists
    assert check_span("We fold paper cranes with a jig", Source("T", text)).failure == NOWHERE


def test_the_parts_of_an_ellipsis_are_located_one_by_one() -> None:
    finding = check_span("We fold paper cranes ... Stiff paper needs more tension", source())
    assert finding.located(TEXT) == "We fold paper cranes ... Stiff paper needs more tension"
    assert check_span("Stiff paper needs more tension ... We fold paper cranes with", source()).failure == NOWHERE


@pytest.mark.parametrize(
    "span",
    ["We fold ... with a spring-loaded jig.", "We fold paper cranes with a ... jig.", "... fold paper cranes ..."],
)
def test_short_parts_near_by(span: str) -> None:
    assert check_span(span, source()).found


@pytest.mark.parametrize(
    "span",
    [
        "We ... wet ... tension",
        "The jig ... is fast. We fold paper cranes with",
        "We fold paper cranes with a spring-loaded jig ... zebra",
    ],
)
def test_words_picked_from_anywhere(span: str) -> None:
    assert check_span(span, source()).failure == NOWHERE


def test_short_pieces_must_be_whole_words() -> None:
    assert check_span("thick stock", source()).found
    assert not check_span("hick stock", source()).found
    assert not check_span("thik stock", source()).found


def test_evidence_behind_the_text_that_was_shown_is_not_found() -> None:
    assert check_span("Tension falls from 12 N to 3.5 N over 80 ms.", Source(TITLE, TEXT[:200])).failure == NOWHERE


def test_the_best_of_several_places_counts() -> None:
    text = "The jig folds 12 cranes an hour. " * 3 + "The jig folds 21 cranes an hour on thick stock."
    finding = check_span("The jig folds 21 cranes an hour.", Source("T", text))
    assert finding.status == VERBATIM
    assert finding.pieces[0].start == text.index("The jig folds 21")
    near = check_span("The jig folds 21 crames an hour.", Source("T", text))
    assert near.located(text) == "The jig folds 21 cranes an hour"


def test_a_negation_in_front_of_the_first_place_does_not_hide_the_second() -> None:
    text = "It is not possible to fold wet paper by hand. With the jig it is possible to fold wet paper by hand."
    finding = check_span("possible to fold wet paper by hand", Source("T", text))
    assert finding.found
    assert finding.pieces[0].start > 50


@pytest.mark.parametrize("text", ["", " ", "\u4e2d", "x"])
def test_texts_with_nothing_in_them(text: str) -> None:
    assert check_span("Kites need wind on most days of the year.", Source("", text)).failure == NOWHERE


def test_texts_without_spaces() -> None:
    text = "\u6211\u4eec\u7528\u5939\u5177\u6298\u53e0\u7eb8\u9e64\u3002\u5939\u5177\u4f7f\u6bcf\u4e2a\u6298\u75d5\u4fdd\u6301\u5728\u4e00\u6beb\u7c73\u4ee5\u5185\uff0c\u5373\u4f7f\u5728\u539a\u7eb8\u4e0a\u4e5f\u662f\u5982\u6b64\u3002"
    assert (
        check_span(
            "\u5939\u5177\u4f7f\u6bcf\u4e2a\u6298\u75d5\u4fdd\u6301\u5728\u4e00\u6beb\u7c73\u4ee5\u5185",
            Source("", text),
        ).status
        == VERBATIM
    )
    assert not check_span(
        "\u98ce\u7b5d\u9700\u8981\u98ce\uff0c\u800c\u8239\u9700\u8981\u6c34\u548c\u4e00\u6839\u7ebf", Source("", text)
    ).found


class Untouched(Source):
    """A source in which nothing may be looked for."""

    @property
    def body(self) -> Haystack:  # type: ignore[override]
        raise AssertionError("something was looked for")


def test_what_is_too_long_for_a_quotation_is_not_even_looked_for() -> None:
    text = " ".join(f"Sentence {number} is about folding" for number in range(3_000))
    assert check_span(text[:LONGEST_SPAN], Source("", text)).status == VERBATIM
    for span in (text[: LONGEST_SPAN + 1], "x" * 2_000_000, "fold ... " * 3_000):
        finding = check_span(span, Untouched("", text))
        assert (finding.status, finding.failure) == (MISSING, TOO_LONG)


@pytest.mark.parametrize("span", ["a", "We", "of", "is", "8", "on a", "paper", "We fold", "... paper ..."])
def test_a_word_or_two_is_no_evidence(span: str) -> None:
    text = "We fold 8 cranes of paper on a table. It is done."
    finding = check_span(span, Source("", text))
    assert (finding.status, finding.failure) == (MISSING, TOO_LITTLE)


def test_a_word_beside_the_title_is_no_evidence() -> None:
    paper = Source("Cranes by Jig and Other Machines", "We fold cranes of paper on a table.")
    assert check_span("Cranes by Jig and Other Machines. We fold cranes of paper", paper).found
    finding = check_span("Cranes by Jig and Other Machines ... fold", paper)
    assert not finding.found


@pytest.mark.parametrize("span", ["8 cranes of paper", "paper table", "fold 8 cranes"])
def test_a_few_words_with_a_content_are(span: str) -> None:
    assert check_span(span, Source("", "We fold 8 cranes of paper. A paper table is set.")).found


def test_lone_surrogates_stop_nothing() -> None:
    assert check_span("We fold\ud800 paper cranes", source()).found
    assert check_span("We fold paper cranes", Source("", TEXT.replace("paper", "pa\udfffper"))).found
