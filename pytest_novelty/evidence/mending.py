"""What a quotation may have that its source has not, and says nothing: the mark of a list before it, a digit read for a letter,
a share spelled out at its end.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from pytest_novelty.evidence.numerals import number_in

if TYPE_CHECKING:
    from pytest_novelty.evidence.aligned import Haystack

_LIST_MARK: Final = re.compile(
    r"\s*(?:\((?:[ivx]{1,4}|[a-z]|\d{1,2})\)|(?:[ivx]{1,4}|[a-z]|\d{1,2})[.)])\s+(?=[^\W\d])"
)
_MISREAD: Final = re.compile(
    r"(?<![^\W_])(?=[^\W\d_]*[01][^\W\d_]*(?![^\W_]))(?=[^\s]{4})[a-zA-Z]*[01][a-zA-Z]*(?![^\W_])"
)
"""A word of four letters or more, one of them read as a digit."""
_READINGS: Final = {"0": "o", "1": "li"}
_MOST: Final = 3
_SHARE: Final = re.compile(r"(?<![^\W_])([^\W_]++)\s++per\s?cent(?=\W*+$)", re.IGNORECASE)


def mend(span: str, haystack: Haystack) -> str:
    """The quotation without these. A digit is read as a letter only where the text has the word."""
    marked = _LIST_MARK.match(span)
    span = span[marked.end() :] if marked else span
    if "0" in span or "1" in span:
        for misread in [*_MISREAD.finditer(span)][:_MOST]:
            span = span.replace(misread[0], _read(misread[0], haystack))
    share = _SHARE.search(span)
    if share and (number := number_in(share[1])):
        span = f"{span[: share.start()]}{number} %{span[share.end() :]}"  # too little of it is like what the text has
    return span


def _read(word: str, haystack: Haystack) -> str:
    place = next(place for place, letter in enumerate(word) if letter in _READINGS)
    for letter in _READINGS[word[place]]:
        read = word[:place] + letter + word[place + 1 :]
        if haystack.has_word(read.lower()) and word.lower() not in haystack.text.lower():
            return read
    return word
