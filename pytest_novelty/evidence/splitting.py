"""A quotation in the pieces that must each be found: parts between ellipses, and the sentences of a part."""

from __future__ import annotations

import re
from typing import Final

_ELLIPSIS: Final = re.compile(r"[\[(<]?\s?(?:\u2026|\.\s?\.\s?\.(?:\s?\.)*)\s?[\])>]?")
_END: Final = re.compile(r"(?<![.!?])[.!?]++[\"'\u201d\u2019)\]]*\s+(?=\S)|[\u3002\uff01\uff1f]+")
_ABBREVIATION: Final = re.compile(
    r"(?:\b(?:al|e\.g|i\.e|cf|vs|etc|ca|approx|resp|incl|viz|figs?|eqs?|secs?|tabs?|nos?|vols?|pp|chap|refs?|dr|mr|ms|prof|st)|\b[^\W\d_])$",
    re.IGNORECASE,
)

_FEW: Final = 20
"""Characters."""
_LONGEST_ABBREVIATION: Final = 12

MOST_PARTS: Final = 12
"""Parts that ellipses may join. Words can be picked from anywhere, and each has to be looked for behind the one before it."""


def split_parts(span: str) -> list[str]:
    """What stands between ellipses, in order; parts without a letter or digit are left out."""
    return [part.strip() for part in _ELLIPSIS.split(span) if any(map(str.isalnum, part))]


def split_sentences(text: str) -> list[str]:
    """The sentences of a text. A dot behind an abbreviation or an initial ends none, nor does one behind a few words if a
    small letter or a digit follows. Texts without such ends stay whole.
    """
    sentences, start = [], 0
    for found in _END.finditer(text):
        following = text[found.end() : found.end() + 1]
        if found[0][0] == "." and ends_abbreviation(text, found.start(), start):
            continue
        if found.end() - start < _FEW and (following.islower() or following.isdigit()):
            continue
        sentences.append(text[start : found.end()].strip())
        start = found.end()
    sentences.append(text[start:].strip())
    return [sentence for sentence in sentences if any(map(str.isalnum, sentence))]


def ends_abbreviation(text: str, dot: int, start: int = 0) -> bool:
    """The dot at a place belongs to an abbreviation or an initial, which do not begin before ``start``."""
    return _ABBREVIATION.search(text, max(start, dot - _LONGEST_ABBREVIATION), dot) is not None
