"""The evidence check as NovGauge's release does it, for comparison and for its published numbers (profile as-published).

A piece of a span counts as found if three quarters of its character 4-grams occur anywhere in the whole paper, in any order. On a
long paper nearly every 4-gram of the language occurs, so that half of the sentences of unrelated papers pass; negations and
changed numbers pass at any length. That is why it is not the default.

Rules (the release's code, where it differs from the paper's appendix): a hyphen and white space become a space; pieces of fewer
than 20 characters are ignored beside longer ones; an empty span passes; the title counts as text; digits behind letters, image
tags and captions are taken out of the paper's side only ("mended" below).
"""

from __future__ import annotations

import re
from functools import cached_property
from typing import Final

from pytest_novelty.evidence.grams import NarrowText, WideText, is_narrow

VERBATIM: Final = "verbatim"
ARTIFACT: Final = "artifact"
PARAPHRASE: Final = "paraphrase"
HALLUCINATION: Final = "hallucination"
CLASSES: Final = (VERBATIM, ARTIFACT, PARAPHRASE, HALLUCINATION)
"""From best to worst; the worst piece decides about a span."""

RECALL: Final = 0.75
SHORT: Final = 20

_FOLDS: Final = (
    ("\ufb00", "ff"), ("\ufb01", "fi"), ("\ufb02", "fl"), ("\ufb03", "ffi"), ("\ufb04", "ffl"), ("\ufb05", "st"),
    ("\ufb06", "st"), ("\u2013", "-"), ("\u2014", "-"), ("\u2018", "'"),
    ("\u2019", "'"), ("\u201c", '"'),
    ("\u201d", '"'), ("\u00ad", ""),
)  # fmt: skip
_WRAP: Final = re.compile(r"-\s+")
_END: Final = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"'(\[\u201c\u2018])")
_TRAIL: Final = re.compile(r"(?:\.{3}|\u2026).*$", re.DOTALL)
_IMAGE: Final = re.compile(r"!\[.*?\]\(.*?\)", re.DOTALL)
_CAPTION: Final = re.compile(r"\*\(.*?\)\*", re.DOTALL)
_GLUED: Final = re.compile(r"(?<=[A-Za-z])\d+")
_FOLDED_TO_ASCII: Final = "\ufb00\ufb01\ufb02\ufb03\ufb04\ufb05\ufb06\u212a\u00ad"
"""Folding puts ASCII letters or nothing in their place: a digit behind them is glued to a letter only then, and must stay."""


class PublishedText:
    """A paper's text (its title in front, where it has one) with its 4-grams, made once and when they are needed."""

    def __init__(self, text: str, title: str = "") -> None:
        self.raw = f"{title}\n{text}" if title else text

    def classify(self, span: str) -> str:
        """One of `CLASSES`: the worst of the span's pieces. An empty span is verbatim."""
        return max((self.classify_piece(piece) for piece in split_pieces(span)), key=CLASSES.index, default=VERBATIM)

    def classify_piece(self, piece: str) -> str:
        """The class of one piece, by itself."""
        normal = normalise(piece)
        dense = squeeze(normal)
        if not dense:
            return VERBATIM
        if self._dense.holds(normal):
            return VERBATIM
        if self._dense.holds_mended(dense) and (len(normal) >= SHORT or normal in normalise(mend(self.raw))):
            return ARTIFACT
        return PARAPHRASE if self._dense.recalls(dense, RECALL) else HALLUCINATION

    def recall(self, piece: str) -> float:
        """The share of a piece's 4-grams, each as often as it occurs, that occur in the mended text; 0 of a piece without any."""
        dense = squeeze(normalise(piece))
        return self._dense.count(dense) / (len(dense) - 3) if len(dense) > 3 else 0.0

    @cached_property
    def _dense(self) -> NarrowText | WideText:
        folded = _fold(self.raw)
        if not is_narrow(folded):
            return WideText(normalise(self.raw), squeeze(normalise(mend(self.raw))))
        odd = _is_marked_up(self.raw) or (not self.raw.isascii() and any(sign in self.raw for sign in _FOLDED_TO_ASCII))
        return NarrowText(folded, _fold(mend(self.raw)) if odd else None)


def normalise(text: str) -> str:
    """Ligatures, dashes and quotes as ASCII; hyphen and white space as one space; white space collapsed; small letters."""
    return " ".join(_fold(text).split())


def squeeze(text: str) -> str:
    """The text without white space."""
    return "".join(text.split())


def mend(text: str) -> str:
    """The text without image tags, captions and digits glued behind letters: the release does this to the paper's side only."""
    return _GLUED.sub("", _CAPTION.sub("", _IMAGE.sub("", text)))


def split_pieces(span: str) -> list[str]:
    """Sentences by the release's rule, cut at an ellipsis; those under 20 characters only if there is no longer one."""
    if not span.strip():
        return []
    pieces = [_TRAIL.sub("", piece).strip() for piece in _END.split(span.strip())]
    return [piece for piece in pieces if len(piece) >= SHORT] or [span.strip()]


def _is_marked_up(text: str) -> bool:
    return ("!" in text and "![" in text) or (
        "*" in text and "*(" in text
    )  # a single sign is found much faster than two


def _fold(text: str) -> str:
    if text.isascii():
        return _WRAP.sub(" ", text).lower()
    for sign, plain in _FOLDS:
        text = text.replace(sign, plain)
    return _WRAP.sub(" ", text).lower()
