"""Small changes that turn a sentence round are refused, each by its kind, and what only spells it otherwise is found."""

from __future__ import annotations

import pytest

from pytest_novelty.evidence import HALLUCINATED, VERBATIM, Source, check_span


def refuse(source: str, span: str, reason: str) -> None:
    finding = check_span(span, Source("T", source))
    assert (finding.status, finding.reason) == (HALLUCINATED, reason)
    assert check_span(source, Source("T", source)).status == VERBATIM


def accept(source: str, span: str) -> None:
    assert check_span(span, Source("T", source)).found


QUANTITIES = [
    ("thousands", "millions"), ("hundreds", "dozens"), ("hundreds", "thousands"), ("dozens", "billions"),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), QUANTITIES)
def test_quantities_are_not_exchanged(one: str, other: str) -> None:
    for here, there in ((one, other), (other, one)):
        refuse(
            f"The jig folds {here} of paper sheets on a day.",
            f"The jig folds {there} of paper sheets on a day.",
            "number",
        )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("doubles", "triples"), ("doubled", "halved"), ("doubling", "tripling"), ("quadruples", "triples"), ("halves", "doubles"),
        ("is twofold", "is threefold"), ("is threefold", "is tenfold"), ("is fivefold", "is fourfold"),
        ("is the sixth", "is the seventh"), ("is the ninth", "is the tenth"), ("is the twentieth", "is the twelfth"),
        ("is the hundredth", "is the eleventh"), ("is binary", "is ternary"), ("is single", "is double"), ("is double", "is triple"),
        ("lasts a few weeks", "lasts a few years"), ("lasts several days", "lasts several hours"),
        ("lasts twelve short minutes", "lasts twelve short seconds"), ("is paid by the month", "is paid by the day"),
        ("gains minus 0.5", "gains 0.5"), ("gains plus 0.5", "gains minus 0.5"), ("gains minus 0.5", "gains plus 0.5"),
        ("holds 10^6", "holds 106"), ("holds 10\u00b2", "holds 102"), ("holds 2^{10}", "holds 210"), ("holds 2^10", "holds 2^11"),
        ("holds $2^{10}$", "holds 210"), ("holds 10<sup>6</sup>", "holds 106"), ("holds 10<sup>6</sup>", "holds 10"),
        ("holds 106", "holds 10^6"), ("holds 10**6", "holds 106"), ("holds 3*5", "holds 35"), ("runs llama3 and resnet50", "runs llama and resnet"), ("runs yolov5", "runs yolov"),
        ("runs yolov5", "runs yolov8"), ("turns by 5\u00b0", "turns by 5"), ("runs resnet50", "runs resnet"),
    ],
)  # fmt: skip
def test_numbers_of_all_kinds_must_be_right(one: str, other: str) -> None:
    refuse(f"The large jig {one} in our paper for cranes.", f"The large jig {other} in our paper for cranes.", "number")


def test_an_exponent_is_not_cut_off() -> None:
    for power in ("10^6", "10\u2076", "10^{6}"):
        refuse(f"The large jig has folded paper {power} times.", "The large jig has folded paper 10", "number")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("doubles", "doubles"), ("holds 10^6", "holds 10\u2076"), ("holds 10**6", "holds 10^6"), ("holds 3*5", "holds 3 \u00d7 5"), ("holds **3** 5", "holds 3 5"), ("holds 10\u00b9\u00b2", "holds 10^{12}"), ("holds 10^6", "holds $10^{6}$"),
        ("holds 10<sup>6</sup>", "holds 10^6"), ("gains minus 0.5", "gains -0.5"), ("gains \u22120.5", "gains minus 0.5"),
        ("holds 10\u207b\u00b3", "holds 10^{-3}"), ("turns by 90\u00b0", "turns by $90^\\circ$"), ("turns by 90\u00b0", "turns by 90 degrees"),
        ("is at 5 \u00b0C", "is at 5 C"), ("is at 5\u00b0C", "is at $5^{\\circ}$C"), ("is the sixth", "is the 6th"),
        ("is twofold", "is 2-fold"), ("is two-fold", "is twofold"), ("keeps the mark\u00b2", "keeps the mark"), ("keeps the mark2", "keeps the mark"),
        ("keeps the mark<sup>3</sup>", "keeps the mark"), ("was used in 2017<sup>[3]</sup>", "was used in 2017"),
        ("runs llama3 and resnet50", "runs Llama3 and ResNet50"), ("is well-\nlit", "is well-lit"),
        ("has a colour", "has a color"), ("lasts several weeks", "lasts several week s"), ("runs in a magnet3", "runs in a magnet"),
        ("lasts a second", "lasts a sec-\nond"),
    ],
)  # fmt: skip
def test_numbers_in_another_spelling_are_found(one: str, other: str) -> None:
    accept(f"The large jig {one} in our paper for cranes.", f"The large jig {other} in our paper for cranes.")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The jig outperforms the press", "The jig is outperformed by the press"),
        ("The jig beats the press", "The jig is beaten by the press"),
        ("The jig dominates the press", "The jig is dominated by the press"),
        ("The jig exceeds the press", "The jig was exceeded by the press"),
        ("The jig surpassed the press", "The jig was surpassed by the press"),
        ("The jig trained the press", "The jig trained by the press"),
        ("The jig trained the press", "The jig was trained by the press"),
        ("The jig has trained the press", "The jig has been trained by the press"),
        ("The jig is outperforming the press", "The jig is outperformed by the press"),
        ("The jig folds under the load", "The jig folds over the load"),
        ("The jig folds within the limits", "The jig folds beyond the limits"),
        ("The jig folds until the evening", "The jig folds since the evening"),
        ("The jig folds before the evening", "The jig folds after the evening"),
        ("The jig folds above the surface", "The jig folds below the surface"),
        ("The jig folds cranes and boats", "The jig folds cranes or boats"),
        ("The jig folds if the press is warm", "The jig folds and the press is warm"),
        ("The jig folds because the press is warm", "The jig folds although the press is warm"),
        ("The jig goes from the press", "The jig goes to the press"),
        ("It is moved from the jig to the press", "It is moved to the jig from the press"),
        ("The jig is far from good", "The jig is good"),
    ],
)  # fmt: skip
def test_a_sentence_is_not_turned_round(one: str, other: str) -> None:
    """Nor the other way: what is quoted may be either."""
    for source, span in ((one, other), (other, one)):
        finding = check_span(
            f"{span} on our large wooden table in the hall.",
            Source("T", f"{source} on our large wooden table in the hall."),
        )
        assert finding.status == HALLUCINATED
        assert finding.reason in ("opposite", "negation", "order")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("is less costly", "is costly"), ("makes more errors", "makes errors"), ("has fewer defects", "has defects"),
        ("is mainly used", "is used"), ("is presumably worn", "is worn"), ("is apparently worn", "is worn"),
        ("holds about 40 sheets", "holds 40 sheets"), ("holds roughly 40 sheets", "holds 40 sheets"), ("holds around forty sheets", "holds forty sheets"),
        ("holds 40 sheets", "always holds 40 sheets"), ("is warm", "is always warm"),
    ],
)  # fmt: skip
def test_comparatives_and_hedges_are_neither_dropped_nor_added(one: str, other: str) -> None:
    refuse(
        f"The large jig {one} in our paper for cranes and boats of cloth in the hall.",
        f"The large jig {other} in our paper for cranes and boats of cloth in the hall.",
        "limit",
    )
    refuse(
        f"The large jig {other} in our paper for cranes and boats of cloth in the hall.",
        f"The large jig {one} in our paper for cranes and boats of cloth in the hall.",
        "limit",
    )


def test_never_is_not_added() -> None:
    refuse(
        "The large jig is warm in our paper for cranes and boats.",
        "The large jig is never warm in our paper for cranes and boats.",
        "negation",
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("holds about 40 sheets", "holds roughly 40 sheets"), ("holds about 40 sheets", "holds around 40 sheets"), ("is told about the paper", "is told of the paper"),
        ("is outperformed by it", "is out performed by it"), ("is used by hand", "was used by hand"), ("is mainly used", "is mainly usd"),
        ("is mainly used", "is ma inly used"), ("folds and folds", "folds an d folds"), ("has fewer defects", "has less defects"),
        ("has more defects", "has mor e defects"), ("is made over it", "is made on it"), ("goes from here", "goes fr om here"),
        ("folds and bends it", "folds, bends it"), ("is folded by hand", "is folded with hand"), ("improves it by 5 grams", "improves it 5 grams"),
    ],
)  # fmt: skip
def test_small_words_may_still_be_wrong(one: str, other: str) -> None:
    accept(
        f"The large jig {one} in our paper for cranes and boats.",
        f"The large jig {other} in our paper for cranes and boats.",
    )


@pytest.mark.parametrize(
    ("source", "span"),
    [
        (
            "The jig tears fewer than ten sheets of paper in an hour.",
            "The jig tears ... ten sheets of paper in an hour.",
        ),
        (
            "The jig of brass costs less than the big press in town.",
            "The jig of brass costs ... the big press in town.",
        ),
        (
            "The jig of brass is slower than the press and keeps creases.",
            "The jig of brass is ... the press and keeps creases.",
        ),
        (
            "The jig folds paper only if the table is dry and warm.",
            "The jig folds paper ... the table is dry and warm.",
        ),
        ("The jig of brass may in some years tear the thin paper.", "The jig of brass ... tear the thin paper."),
        ("The jig of brass might in some years tear the thin paper.", "The jig of brass ... tear the thin paper."),
        (
            "The jig of brass can at most twice a day fold the thin paper.",
            "The jig of brass can ... fold the thin paper.",
        ),
        (
            "The jig of brass, which is new, may in some years tear the thin paper.",
            "The jig of brass, which is new, ... tear the thin paper.",
        ),
    ],
)
def test_an_ellipsis_swallows_no_limit(source: str, span: str) -> None:
    refuse(source, span, "limit")


@pytest.mark.parametrize("word", ["unless", "except", "without"])
def test_an_ellipsis_swallows_no_exception(word: str) -> None:
    refuse(
        f"The jig folds paper {word} all the cloth of our town.",
        "The jig folds paper ... the cloth of our town.",
        "negation",
    )


@pytest.mark.parametrize(
    ("source", "span"),
    [
        ("The drug A reduces the fever, and the drug B raises it.", "The drug A ... raises it."),
        ("The drug A reduces the fever, and the drug B raises it.", "The drug A reduces the fever ... raises it."),
        ("The drug A reduces the fever; the drug B raises it.", "The drug A ... raises it."),
        ("The old jig reduces tears, whereas our large press raises them.", "The old jig ... raises them."),
        ("The old jig reduces tears, but Press2 increased them.", "The old jig ... increased them."),
        ("The old jig reduces tears, while this large press is bad for them.", "The old jig ... is bad for them."),
        ("The old jig reduces tears, and we found more of them.", "The old jig ... found more of them."),
    ],
)  # fmt: skip
def test_an_ellipsis_swallows_no_subject(source: str, span: str) -> None:
    refuse(source, span, "left out")


@pytest.mark.parametrize(
    ("source", "span"),
    [
        ("The jig folds paper, cloth, and the tin with a magnet.", "The jig folds paper ... with a magnet."),
        ("The jig, the press, and the table were bought in our town.", "The jig, the press ... were bought in our town."),
        ("The jig, which may tear, folds paper of all kinds.", "The jig ... folds paper of all kinds."),
        ("The jig of brass (only in May) folds paper of all kinds.", "The jig of brass ... folds paper of all kinds."),
        ("The jig folds paper, and it may tear; the press keeps creases.", "The jig folds paper ... the press keeps creases."),
        ("The jig folds paper, and bends it, and keeps the creases.", "The jig folds paper ... and keeps the creases."),
        ("The jig folds paper, and then in May keeps the creases.", "The jig folds paper ... keeps the creases."),
        ("We fold larger cranes of paper in the old town.", "We fold ... cranes of paper in the old town."),
    ],
)  # fmt: skip
def test_an_ellipsis_may_stand_for_the_rest(source: str, span: str) -> None:
    accept(source, span)
