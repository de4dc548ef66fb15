"""The published check as plainly as it can be written: for every span the text's set of 4-grams is built anew."""

from __future__ import annotations

import re

LIGATURES = {
    "\ufb00": "ff",
    "\ufb01": "fi",
    "\ufb02": "fl",
    "\ufb03": "ffi",
    "\ufb04": "ffl",
    "\ufb05": "st",
    "\ufb06": "st",
}
TYPOGRAPHY = {"\u2013": "-", "\u2014": "-", "\u2018": "'", "\u2019": "'", "\u201c": '"', "\u201d": '"', "\u00ad": ""}
CLASSES = ("verbatim", "artifact", "paraphrase", "hallucination")


def normalise(text: str) -> str:
    for sign, plain in (LIGATURES | TYPOGRAPHY).items():
        text = text.replace(sign, plain)
    return " ".join(re.sub(r"-\s+", " ", text).lower().split())


def mend(text: str) -> str:
    text = re.sub(r"!\[.*?\]\(.*?\)", "", text, flags=re.DOTALL)
    text = re.sub(r"\*\(.*?\)\*", "", text, flags=re.DOTALL)
    return re.sub(r"(?<=[A-Za-z])\d+", "", text)


def squeeze(text: str) -> str:
    return re.sub(r"\s", "", text)


def split(span: str) -> list[str]:
    pieces = re.split(r"(?<=[.!?])\s+(?=[A-Z\"'(\[\u201c\u2018])", span.strip())
    pieces = [re.sub(r"\s*(?:\.{3}|\u2026).*$", "", piece, flags=re.DOTALL).strip() for piece in pieces]
    return [piece for piece in pieces if len(piece) >= 20] or [span.strip()]


def grams(text: str) -> list[str]:
    return [text[place : place + 4] for place in range(len(text) - 3)]


def recall(piece: str, text: str) -> float:
    return share(piece, set(grams(squeeze(normalise(mend(text))))))


def share(piece: str, known: set[str]) -> float:
    own = grams(squeeze(normalise(piece)))
    return sum(gram in known for gram in own) / len(own) if own else 0.0


def classify(span: str, text: str) -> str:
    spaced, mended = normalise(text), normalise(mend(text))
    dense = squeeze(mended)
    known = set(grams(dense))
    worst = "verbatim"
    for piece in split(span) if span.strip() else []:
        normal = normalise(piece)
        if not normal or normal in spaced:
            found = "verbatim"
        elif normal in mended or (len(normal) >= 20 and squeeze(normal) in dense):
            found = "artifact"
        else:
            found = "paraphrase" if share(piece, known) >= 0.75 else "hallucination"
        worst = max(worst, found, key=CLASSES.index)
    return worst
