"""NovGauge's evidence check: its published vectors, and the ways in which it errs."""

from __future__ import annotations

import random

import pytest

from pytest_novelty.evidence import PublishedText
from pytest_novelty.evidence.published import ARTIFACT, HALLUCINATION, PARAPHRASE, VERBATIM, split_pieces
from tests.evidence import naive
from tests.evidence.labels import documents, labelled_spans
from tests.evidence.prose import all_sentences

TEXT = (
    "We fold paper cranes with a spring-\nloaded jig. The jig keeps every crease within one millimetre3, even on thick stock. "
    "State-of-the-\nart folders need two people."
)
VECTORS = [
    ("We fold paper cranes with a spring loaded jig.", VERBATIM),
    ("We fold paper cranes with a springloaded jig.", ARTIFACT),
    ("We fold paper cranes with a spring-loaded jig.", PARAPHRASE),
    ("The jig keeps every crease within one millimetre, even on thick stock.", ARTIFACT),
    ("The jig keeps no crease within one millimetre, even on thick stock.", PARAPHRASE),
    ("Kites need wind.", HALLUCINATION),
    ("Kites need wind. The jig keeps every crease within one millimetre3, even on thick stock.", VERBATIM),
    ("Origami robots were trained with reinforcement learning.", HALLUCINATION),
    ("", VERBATIM),
]


@pytest.mark.parametrize(("span", "expected"), VECTORS)
def test_the_published_vectors(span: str, expected: str) -> None:
    assert PublishedText(TEXT).classify(span) == expected
    assert naive.classify(span, TEXT) == expected


def test_the_published_recall_of_a_negated_copy() -> None:
    assert PublishedText(TEXT).recall(VECTORS[4][0]) == pytest.approx(0.906, abs=0.0005)


def test_the_title_counts_as_text() -> None:
    assert PublishedText(TEXT, "Cranes by Jig and Ruler").classify("Cranes by Jig and Ruler") == VERBATIM
    assert PublishedText(TEXT).classify("Cranes by Jig and Ruler") == HALLUCINATION


def test_pieces_are_split_before_capitals_and_cut_at_ellipses() -> None:
    assert split_pieces('Kites need wind. "We fold. We fold paper cranes...and kites') == ["We fold paper cranes"]
    assert split_pieces("Kites need wind... Yes.") == ["Kites need wind... Yes."]
    assert split_pieces(" \n") == []


def test_long_texts_with_many_4_grams_and_few() -> None:
    """Where hashes collide the text itself decides; a text of other letters than ASCII is none the slower for being exact."""
    rng = random.Random(0)
    sentences = all_sentences()
    plain = " ".join(rng.choices(sentences, k=700))
    for text in (
        plain,
        plain.replace("e", "\u00e9").replace("or", "\U0001d458"),
        plain.replace("t", "\u4e2d") + "".join(map(chr, range(0x4E00, 0x4F00))),
    ):
        known = PublishedText(text)
        for span in [
            *rng.choices(sentences, k=4),
            "Zebras quizzed jukebox owners about vexing waltz rhythms.",
            text[5_000:5_300],
        ]:
            assert known.classify(span) == naive.classify(span, text)
            assert known.recall(span) == naive.recall(span, text)


def test_every_labelled_span_gets_the_naive_verdict() -> None:
    known = [PublishedText(one["text"]) for one in documents()]
    for one in labelled_spans():
        assert known[one.document].classify(one.span) == naive.classify(one.span, documents()[one.document]["text"])
