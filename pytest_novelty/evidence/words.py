"""The words of a folded text: where they begin among its letters, and how they are written."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from pytest_novelty.evidence.folding import Folded

_WITHIN_WORD: Final = re.compile(r"['\u2019\u00ad\u200b\u200c\u200d\u2060]+|[-\u2010\u00ad]\s+")
"""What parts letters of one word: an apostrophe, what is not seen, and a hyphen at the end of a line."""


def find_word_starts(folded: Folded, first: int, last: int) -> list[int]:
    """Where words begin among letters ``first:last``, and ``last``."""
    places, letters, raw = folded.places(first, last), folded.letters, folded.raw
    starts = {first, last}
    gaps = (places[1:] - places[:-1] > 1).nonzero()[0]
    for gap, before, behind in zip(gaps.tolist(), places[gaps].tolist(), places[gaps + 1].tolist(), strict=True):
        at = first + gap + 1
        parted = raw[before + 1 : behind] == " " or not _WITHIN_WORD.fullmatch(raw, before + 1, behind)
        if parted and not (letters[at - 1].isdecimal() and letters[at].isdecimal()):  # what parts numbers is a letter
            starts.add(at)
    if not letters.isascii():
        starts.update(at for at in range(first, last) if "\u3040" <= letters[at] <= "\u9fff")  # written without spaces
    at = letters.find(" ", first, last)
    while at >= 0:
        starts.add(at + 1)
        at = letters.find(" ", at + 1, last)
    return sorted(starts)


def words_of(folded: Folded, starts: list[int]) -> tuple[str, ...]:
    """The words between consecutive starts, with the capitals that the text has."""
    if len(starts) < 2:
        return ()
    first, raw = starts[0], folded.raw
    places = folded.places(first, starts[-1]).tolist()
    letters = [
        letter.upper() if raw[place].isupper() else letter
        for letter, place in zip(folded.letters[first : starts[-1]], places, strict=True)
    ]
    return tuple("".join(letters[start - first : end - first]).strip() for start, end in pairwise(starts))
