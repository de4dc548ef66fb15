"""Sentences of the embedded suites, which were written for this project: long documents are made of them."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from pytest_novelty.evidence.splitting import split_sentences

SUITES = Path(__file__).resolve().parents[2] / "suites"


@cache
def texts_by_area() -> dict[str, list[str]]:
    """The texts of ideas and of earlier works, each once, by the area of the idea."""
    found: dict[str, list[str]] = {}
    seen = set()
    for suite in ("landmarks-pairwise", "landmarks-pointwise"):
        for line in (SUITES / suite / "instances.jsonl").read_text(encoding="utf-8").splitlines():
            instance = json.loads(line)
            for idea in instance.get("ideas") or [instance["idea"]]:
                for work in [idea, *idea.get("related_work", ()), *instance.get("related_work", ())]:
                    if work["text"] not in seen:
                        seen.add(work["text"])
                        found.setdefault(idea["area"], []).append(work["text"])
    return found


@cache
def all_sentences() -> tuple[str, ...]:
    """Every sentence of 40 to 300 characters, in the order of the files."""
    return tuple(
        sentence
        for texts in texts_by_area().values()
        for text in texts
        for sentence in split_sentences(text)
        if 40 <= len(sentence) <= 300
    )


@cache
def filler_and_strangers(area: str) -> tuple[list[str], list[str]]:
    """Two halves without a text in common, each with the texts of the area first: what long documents are filled with, and the
    sentences that stand in none of them.
    """
    ordered = [
        text for one, texts in sorted(texts_by_area().items(), key=lambda item: item[0] != area) for text in texts
    ]
    return ordered[::2], sentences_of(ordered[1::2])


def sentences_of(texts: list[str]) -> list[str]:
    """Their sentences of 60 to 300 characters."""
    return [one for text in texts for one in split_sentences(text) if 60 <= len(one) <= 300]


def lengthen(text: str, filler: list[str], length: int) -> str:
    """The text amid others, of about ``length`` characters; as it is if it is that long."""
    before: list[str] = []
    behind: list[str] = []
    size = len(text)
    for number, one in enumerate(filler):
        if size >= length:
            break
        (behind if number % 2 else before).append(one)
        size += len(one) + 2
    return "\n\n".join([*before, text, *behind])
