"""The words of a folded text: where they begin among its letters, and how they are written."""

from __future__ import annotations

import re
import unicodedata
from itertools import pairwise
from typing import Final

from pytest_novelty.evidence.folding import Folded
from pytest_novelty.evidence.wording import FUNCTION

_WITHIN_WORD: Final = re.compile(r"['\u2019\u00ad\u200b\u200c\u200d\u2060]+|[-\u2010\u00ad]\s+")
"""What parts letters of one word: an apostrophe, what is not seen, and a hyphen at the end of a line."""

_UNSEEN: Final = re.compile(r"[*_`\u00ad\u200b\u200c\u200d\u2060\ufeff]+")
_HYPHEN: Final = re.compile(r"[-\u2010\u2011](?:[^\S\n\r]*[\n\r]\s*)?")
"""A hyphen between two letters, or at the end of a line. One before a space is of "short- and long-term"."""
_SPACELESS: Final = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u9fff\uac00-\ud7a3]")
_FIRST_WORD: Final = re.compile(r"[^\W\d_]+")
_LAST_WORD: Final = re.compile(r"[^\W\d_]+$")
_GLUED_HEADINGS: Final = frozenset({"abstract", "introduction", "summary", "keywords", "background", "conclusion"})
_LONGEST: Final = 40

_DENYING: Final = re.compile(
    r"(?<![^\W_])(?:not|nothing|nowhere|nobody|(no|non|none|nor|never|neither|cannot))(?![^\W_])", re.I
)
"""Words that deny. The group has those of which a letter or two more make another word too often ("no vel" of a broken line)."""


def splits_negation(one: Folded, first: int, other: Folded, second: int, count: int) -> bool:
    """Of the same ``count`` letters at two places, a word that denies at the one is part of a word, or parted, at the other: "not
    able" and "notable", "nowhere" and "now here".
    """
    letters = one.letters[first : first + count]
    if not ("not" in letters or "nowhere" in letters or "nobody" in letters):  # so of most, and much faster
        return False
    here, there = _denying(one, first, count), _denying(other, second, count)
    return _is_alone(here, there, other, second) or _is_alone(there, here, one, first)


def _denying(folded: Folded, first: int, count: int) -> list[tuple[int, int, bool]]:
    """Where words that deny stand, counted from a letter on, and whether they are seldom part of others."""
    start, end = folded.slice_of(first, first + count)
    return [
        (folded.letters_before(found.start()) - first, folded.letters_before(found.end()) - first, not found[1])
        for found in _DENYING.finditer(folded.raw, start, end)
    ]


def _is_alone(
    words: list[tuple[int, int, bool]], others: list[tuple[int, int, bool]], other: Folded, second: int
) -> bool:
    for first, last, is_sure in words:
        met = any(start < last and first < end for start, end, _ in others)
        if is_sure and not met and _begins_word(other, second + first):
            return True
    return False


def _begins_word(folded: Folded, letter: int) -> bool:
    place = folded.place(letter)
    return not folded.raw[max(place - 1, 0) : place].isalnum()


def is_within_word(folded: Folded, at: int) -> bool:
    """A letter and the one before it are of one word of the text, of which a hyphen may join the parts.

    Not so where a conversion has glued two words together ("AbstractWe fold", "errors.3We fold"), in scripts without spaces, and
    before an "'s".
    """
    if not 0 < at < len(folded.letters) or not (folded.letters[at - 1].isalnum() and folded.letters[at].isalnum()):
        return False
    raw, before, behind = folded.raw, folded.place(at - 1), folded.place(at)
    between = _UNSEEN.sub("", raw[before + 1 : behind])
    between = "".join(letter for letter in between if not unicodedata.combining(letter))
    if between in ("'", "\u2019"):
        return not re.match(r"s(?![^\W_])", raw[behind : behind + 2], re.IGNORECASE)
    if _HYPHEN.fullmatch(between):
        return True
    return not between and not _SPACELESS.match(raw[before]) and not _is_glued(raw, before + 1)


def _is_glued(raw: str, place: int) -> bool:
    """A capital begins a word behind a small letter, and one of the two words stands at the end of a sentence or a heading."""
    if not raw[place].isupper():
        return False
    if raw[place - 1].isdigit():
        return (
            raw[place + 1 : place + 2].islower() and re.search(r"(?<![^\W\d_])[.!?]?\d+$", raw[:place][-6:]) is not None
        )
    first, last = _FIRST_WORD.match(raw, place), _LAST_WORD.search(raw[max(place - _LONGEST, 0) : place])
    if not raw[place - 1].islower() or first is None or last is None:
        return False
    return first[0].lower() in FUNCTION or last[0].lower() in _GLUED_HEADINGS


def find_word_starts(folded: Folded, first: int, last: int) -> list[int]:
    """Where words begin among letters ``first:last``, and ``last``."""
    places, letters, raw = folded.places(first, last), folded.letters, folded.raw
    starts = {first, last}
    gaps = (places[1:] - places[:-1] > 1).nonzero()[0]
    for gap, before, behind in zip(gaps.tolist(), places[gaps].tolist(), places[gaps + 1].tolist(), strict=True):
        at = first + gap + 1
        parted = raw[before + 1 : behind] == " " or not _WITHIN_WORD.fullmatch(raw, before + 1, behind)
        before_at, here = letters[at - 1], letters[at]
        if (
            parted and before_at != "^" and not (before_at.isdecimal() and here.isdecimal())
        ):  # what parts numbers is a letter
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
