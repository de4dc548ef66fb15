"""The limits of the evidence check: what lies just within each is found, what lies just beyond is not."""

from __future__ import annotations

from itertools import cycle
from random import Random

import pytest

from pytest_novelty.evidence import (
    HALLUCINATED,
    NEAR,
    NOWHERE,
    OTHER_PAPER,
    REFERENCE_LIST,
    TITLE_ONLY,
    VERBATIM,
    Haystack,
    Source,
    check_span,
)
from pytest_novelty.evidence.aligned import ABSENT
from pytest_novelty.evidence.folding import fold
from pytest_novelty.evidence.wording import LEFT_OUT, REPLACED, Difference, disagreement

PROSE = (
    "the folding of large paper sheets along curved creases demands steady pressure from both hands while another person keeps "
    "every corner aligned with marks that were drawn beforehand upon the wooden table under bright yellow lamps"
)


def slipped(text: str, *runs: int) -> str:
    """With the last letter of each run wrong, runs of these lengths after each other."""
    lengths = cycle(runs)
    left, out = next(lengths), []
    for letter in text:
        left -= letter != " "
        out.append("x" if not left else letter)
        left = left or next(lengths)
    return "".join(out)


AROUND = Source("", f"Kites need wind on most days of the year. {PROSE}. Boats need water and a thread of cotton.")


def test_a_near_span_may_have_every_seventh_letter_wrong_and_not_every_sixth() -> None:
    seventh, sixth = (check_span(slipped(PROSE, run), AROUND) for run in (7, 6))
    assert (seventh.status, sixth.status) == (NEAR, HALLUCINATED)
    assert seventh.score == pytest.approx(1 - 1 / 7, abs=0.01)
    assert sixth.score is not None
    assert 0.80 < sixth.score < 0.85


@pytest.mark.parametrize("runs", [(7, 7, 6), (5, 9), (6, 8)])
def test_a_window_is_found_by_the_few_grams_that_are_right(runs: tuple[int, ...]) -> None:
    """A fifth to a quarter of the 5-grams; there are no fewer where enough letters are right."""
    assert check_span(slipped(PROSE, *runs), AROUND).status == NEAR


def test_what_is_longer_than_a_sentence_is_not_aligned() -> None:
    draw = Random(0)
    words = ["".join(draw.choices("abcdefghijklmnoprstuvw", k=10)) for _ in range(600)]
    haystack = Haystack(" ".join(words))
    wrong = [*words[:100], f"{words[100][:5]}q{words[100][6:]}", *words[101:]]
    assert haystack.find_near(fold(" ".join(wrong[:500]))).kind == NEAR
    assert haystack.find_near(fold(" ".join(wrong[:501]))).kind == ABSENT


@pytest.mark.parametrize(("between", "status"), [(270, VERBATIM), (310, HALLUCINATED)])
def test_short_parts_are_within_300_letters_of_what_they_belong_to(between: int, status: str) -> None:
    filler = ("abcdefghi " * 100)[: between + between // 9]
    before = Source("", f"Brass jigs of old {filler} keep every crease within one millimetre of the mark.")
    assert (
        check_span("Brass jigs of old ... keep every crease within one millimetre of the mark.", before).status
        == status
    )
    behind = Source("", f"Brass jigs keep every crease within one millimetre {filler} even on wet stock.")
    assert (
        check_span("Brass jigs keep every crease within one millimetre ... even on wet stock", behind).status == status
    )
    both = Source("", f"Brass jigs of old {filler} even on wet stock.")
    assert check_span("Brass jigs of old ... even on wet stock", both).status == status


@pytest.mark.parametrize(("letters", "failure"), [(1_900, TITLE_ONLY), (2_100, "")])
def test_a_title_is_looked_for_at_the_head_of_a_text(letters: int, failure: str) -> None:
    title = "Machines That Fold Paper Cranes"
    front = "abcdefghi\n" * (letters // 9)
    assert check_span(title, Source(title, f"{front}\n{title}\n\nIt folds.")).failure == failure


LISTED = "Kites of the northern hemisphere and their makers"
BORROWED = "We fold paper boats with a magnet and a thread"


def test_of_two_failures_the_other_paper_is_told() -> None:
    paper = Source("T", f"It folds.\n\n# References\n\nA. Smith. {LISTED}. 2017.")
    other = Source("U", f"{BORROWED}. {LISTED}.")
    assert check_span(f"{BORROWED}. {LISTED}.", paper, others=[Source("U", f"{BORROWED}.")]).failure == OTHER_PAPER
    assert check_span(f"{LISTED}. {BORROWED}.", paper, others=[Source("U", f"{BORROWED}.")]).failure == OTHER_PAPER
    assert check_span(LISTED, paper, others=[other]).failure == OTHER_PAPER  # what is in both
    assert check_span(LISTED, paper).failure == REFERENCE_LIST


@pytest.mark.parametrize(
    ("own", "other", "span"),
    [
        (
            "We study training deep convolutional networks on many images of the natural world that were taken by hand.",
            "We study training deep recurrent networks on many images of the natural world that were taken by hand.",
            "We study training deep recurrent networks on many images of the natural world that were taken by hand.",
        ),
        (
            "We study training deep convolutional networks on many images of the natural world that were taken by hand in the long summer of last year.",
            "We study training deep recurrent networks on many images of the natural world that were taken by hand in the long summer of last year.",
            "We study training deep recurrent netwroks on many images of the natural world that were taken by hand in the long summer of last year.",
        ),
    ],
)
def test_what_is_much_nearer_to_the_other_paper_is_from_there(own: str, other: str, span: str) -> None:
    paper, beside = Source("T", f"{own} It folds."), Source("U", f"{other} It flies.")
    strangers = [Source("V", f"{own} It floats."), beside]
    finding = check_span(span, paper, others=strangers)
    assert (finding.status, finding.failure, finding.other) == (HALLUCINATED, OTHER_PAPER, 1)
    assert check_span(span, beside, others=[paper]).found
    both = check_span(f"It folds. {span}", Source("T", f"It folds. {own}"), others=[beside])
    assert (both.status, both.failure) == (HALLUCINATED, OTHER_PAPER)


def test_a_slip_of_the_pen_is_no_sign_of_the_other_paper() -> None:
    own, other = (f"We fold {one} cranes of thick paper with a jig of brass" for one in ("small", "smart"))
    finding = check_span(own.replace("thick", "thcik"), Source("T", own), others=[Source("U", other)])
    assert finding.status == NEAR
    same = check_span(own.replace("thick", "thcik"), Source("T", own), others=[Source("U", own)])
    assert same.status == NEAR


def test_the_score_of_a_span_is_that_of_its_worst_piece() -> None:
    paper = Source("T", f"{PROSE.capitalize()}. It folds.")
    finding = check_span(f"{PROSE.capitalize()}. Robots were taught to fly kites by night.", paper)
    assert (finding.status, finding.failure) == (HALLUCINATED, NOWHERE)
    assert [piece.status for piece in finding.pieces] == [VERBATIM, HALLUCINATED]
    assert finding.score == finding.pieces[1].score
    assert finding.pieces[1].score < finding.pieces[0].score == 1


@pytest.mark.parametrize(
    ("replaced", "words", "reason"), [(1, 9, ""), (2, 19, REPLACED), (2, 20, ""), (3, 29, REPLACED), (3, 30, "")]
)
def test_one_word_in_ten_may_be_another(replaced: int, words: int, reason: str) -> None:
    others = [Difference((one,), (two,)) for one, two in (("table", "bench"), ("thread", "cotton"), ("lamp", "torch"))]
    assert disagreement(others[:replaced], words) == reason


@pytest.mark.parametrize(
    ("left_out", "reason"), [("abcdefgh ijklmnop qrstuvwx", ""), ("abcdefgh ijklmnop qrstuvwxy", LEFT_OUT)]
)
def test_twenty_four_letters_may_be_left_out(left_out: str, reason: str) -> None:
    assert disagreement([Difference((), tuple(left_out.split()))], 30) == reason


@pytest.mark.parametrize(
    ("source", "span", "reason"),
    [
        ("Each unit costs 1,000 in the shops near us.", "Each unit costs \u20ac1,000 in the shops near us.", "sign"),
        ("Each unit costs \u20ac1,000 in the shops near us.", "Each unit costs $1,000 in the shops near us.", "sign"),
        (
            "It folds cloth \u2713 and keeps creases \u2717 in tests.",
            "It folds cloth \u2717 and keeps creases \u2713 in tests.",
            "sign",
        ),
        (
            "The claim p \u2227 q holds for every sheet here.",
            "The claim p \u2228 q holds for every sheet here.",
            "sign",
        ),
        ("The claim \u2200 p holds for every sheet here.", "The claim \u2203 p holds for every sheet here.", "sign"),
        ("The load x \u226a y holds for every sheet here.", "The load x \u226b y holds for every sheet here.", "sign"),
        (r"The load x \ll y holds for every sheet here.", r"The load x \gg y holds for every sheet here.", "sign"),
        (r"The load x \in Y holds for every sheet here.", r"The load x \not\in Y holds for every sheet here.", "sign"),
        ("The planner runs on top of GPT-4. It folds.", "The planner runs on top of GPT.", "number"),
        ("The planner runs on top of GPT4. It folds.", "The planner runs on top of GPT.", "number"),
        ("The planner runs on top of GPT-4-turbo. It folds.", "The planner runs on top of GPT-4.", "number"),
        ("We were not able to find any such jig in town.", "We were notable to find any such jig in town.", "negation"),
        ("We were notable to find any such jig in town.", "We were not able to find any such jig in town.", "negation"),
        ("The jig is now here to be found in our town.", "The jig is nowhere to be found in our town.", "negation"),
        (
            "The jig is now here to be found in our big town.",
            "The jig is nowhere to be found in our own town.",
            "negation",
        ),
    ],
)
def test_signs_identifiers_and_split_negations_must_be_right(source: str, span: str, reason: str) -> None:
    finding = check_span(span, Source("T", source))
    assert (finding.status, finding.reason) == (HALLUCINATED, reason)
    assert check_span(source, Source("T", source)).status == VERBATIM


@pytest.mark.parametrize(
    ("source", "span"),
    [
        ("The load x \u226a y holds for every sheet here.", r"The load $x \ll y$ holds for every sheet here."),
        ("The planner runs on top of GPT-4 models.", "The planner runs on top of GPT-4"),
        ("The jig is nowhere to be found in our town.", "The jig is no where to be found in our town."),
        ("We cannot find the jig anywhere in our town.", "We can not find the jig anywhere in our town."),
        ("An annotation tool for our town is shown here.", "An an not ation tool for our town is shown here."),
    ],
)
def test_the_same_in_another_spelling_is_found(source: str, span: str) -> None:
    assert check_span(span, Source("T", source)).found


@pytest.mark.parametrize(
    ("source", "span"),
    [
        ("Female folders are quicker than all the others.", "Male folders are quicker than all the others."),
        ("Women and children fold faster than the machine.", "Men and children fold faster than the machine."),
        ("Women and children fold faster than the machine.", "Men and children fold fastr than the machine."),
        ("Self-supervised training needs no labels at all.", "Supervised training needs no labels at all."),
        ("Self-\nsupervised training needs no labels at all.", "Supervised training needs no labels at all."),
        ("Self-supervised training needs no labels at all.", "Supervised trainig needs no labels at all."),
        ("Subquadratic time is enough for every sheet.", "Quadratic time is enough for every sheet."),
        ("All of the rooms that we fold in are smoke-free.", "All of the rooms that we fold in are smoke."),
        ("All of the rooms that we fold in are smoke\u2011free.", "All of the rooms that we fold in are smoke."),
        ("We compare all folding plans by sentence-BERT.", "We compare all folding plans by sentence."),
        ("We compare all folding plans by sentenceBERT.", "We compare all folding plans by sentence."),
        ("The jig keeps every crease of thick craftpaper.", "The jig keeps every crease of thick craft"),
        ("The jig keeps every crease of thick papers here.", "The jig keeps every crease of thick pap"),
        ("The na\u00efvet\u00e9 of the folders was a surprise.", "The nai\u0308vet"),
    ],
)
def test_a_quotation_begins_and_ends_at_words(source: str, span: str) -> None:
    text = f"# On folding\n\n{source} It is done. We like it."
    finding = check_span(span, Source("T", text))
    assert (finding.status, finding.failure) == (HALLUCINATED, NOWHERE)
    assert finding.reason
    assert check_span(source, Source("T", text)).status == VERBATIM


@pytest.mark.parametrize(
    ("source", "span"),
    [
        ("AbstractWe fold cranes of paper with a jig.", "We fold cranes of paper with a jig."),
        ("It has few errors.3We fold cranes of paper.", "We fold cranes of paper."),
        ("We fold cranes of paper with a jigThe jig is slow.", "We fold cranes of paper with a jig"),
        ("We like short- and long-term plans for jigs.", "and long-term plans for jigs"),
        ("We like the creases of the jig\u2019s paper.", "We like the creases of the jig"),
        ("We fold cranes of pa-\nper with a jig.", "We fold cranes of paper"),
        ("We fold \u2018large\u2019 cranes of paper with it.", "cranes of paper with it"),
        ("We fold cranes of paper--with a jig, of course.", "We fold cranes of paper"),
        ("We fold cranes of pa per with a jig.", "We fold cranes of paper with a jig."),
        ("We fold cranes/boats of paper with a jig.", "boats of paper with a jig"),
    ],
)
def test_where_words_are_parted_or_glued_by_a_conversion_a_quotation_may_begin_and_end(source: str, span: str) -> None:
    assert check_span(span, Source("T", f"{source} It is done.")).found


@pytest.mark.parametrize(
    "clause",
    [
        "(Only GPT-4 did not, in 2023)",
        "(Table 3 shows that it loses on boats)",
        "(Except on the largest corpus collected in 2019)",
    ],
)
def test_a_clause_in_brackets_is_no_citation_that_may_be_left_out_or_put_in(clause: str) -> None:
    kept, plain = (
        f"All models fold the sheets {clause} in the time given.",
        "All models fold the sheets in the time given.",
    )
    assert check_span(plain, Source("T", kept)).failure == NOWHERE
    assert check_span(kept, Source("T", plain)).failure == NOWHERE
    assert check_span(kept, Source("T", kept)).status == VERBATIM
    assert check_span(plain, Source("T", kept.replace(clause, "(Smith and van Dam, 2019)"))).status == VERBATIM
