"""The labelled spans, and what both matchers make of them in documents of three lengths."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from pytest_novelty.evidence import PublishedText, Source, check_span
from pytest_novelty.evidence.published import HALLUCINATION
from tests.evidence.prose import filler_and_strangers, lengthen

LENGTHS = {"abstract": 0, "16,000": 16_000, "100,000": 100_000}
"""Characters; 0 is the text as it is."""

STRANGER = "sentence of another paper"
STRANGERS = 25
"""Per text, drawn evenly from the half of the prose that no document is filled with."""


@dataclass(frozen=True)
class Labelled:
    """A span and whether the text says it."""

    document: int
    kind: str
    said: bool
    span: str


@dataclass(frozen=True)
class Judged:
    """What the matchers said of a span in a document of one length."""

    labelled: Labelled
    length: str
    aligned: bool
    published: bool


@cache
def documents() -> tuple[dict[str, str], ...]:
    """Title, area and text of each document."""
    return tuple({key: one[key] for key in ("title", "area", "text")} for one in _read())


@cache
def labelled_spans() -> tuple[Labelled, ...]:
    """The spans written by hand."""
    return tuple(
        Labelled(number, kind, said, span) for number, one in enumerate(_read()) for kind, said, span in one["spans"]
    )


def stranger_spans() -> Iterator[Labelled]:
    """Sentences of other texts, those of the same area first."""
    for number, one in enumerate(documents()):
        strangers = filler_and_strangers(one["area"])[1]
        for span in strangers[:: max(1, len(strangers) // STRANGERS)][:STRANGERS]:
            yield Labelled(number, STRANGER, False, span)


@cache
def judge_all(length: str) -> tuple[Judged, ...]:
    """Every span in its document, lengthened."""
    judged = []
    texts = [lengthen(one["text"], filler_and_strangers(one["area"])[0], LENGTHS[length]) for one in documents()]
    sources = [Source(one["title"], text) for one, text in zip(documents(), texts, strict=True)]
    published = [PublishedText(text) for text in texts]
    for one in [*labelled_spans(), *stranger_spans()]:
        found = check_span(one.span, sources[one.document]).found
        judged.append(Judged(one, length, found, published[one.document].classify(one.span) != HALLUCINATION))
    return tuple(judged)


def _read() -> list[dict]:  # type: ignore[type-arg]
    return yaml.safe_load((Path(__file__).parent / "labelled.yaml").read_text(encoding="utf-8"))  # type: ignore[no-any-return]
