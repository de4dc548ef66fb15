"""Small changes that turn a sentence round are refused, each by its kind, and what only spells it otherwise is found."""

from __future__ import annotations

import pytest

from pytest_novelty.evidence import HALLUCINATED, VERBATIM, Source, check_span


def refuse(source: str, span: str, reason: str) -> None:
    finding = check_span(span, Source("T", source))
    assert (finding.status, finding.reason) == (HALLUCINATED, reason)
    assert check_span(source, Source("T", source)).status == VERBATIM


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
        ("holds 106", "holds 10^6"), ("runs llama3 and resnet50", "runs llama and resnet"), ("runs yolov5", "runs yolov"),
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
        ("doubles", "doubles"), ("holds 10^6", "holds 10\u2076"), ("holds 10\u00b9\u00b2", "holds 10^{12}"), ("holds 10^6", "holds $10^{6}$"),
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
    source = Source("T", f"The large jig {one} in our paper for cranes.")
    assert check_span(f"The large jig {other} in our paper for cranes.", source).found
