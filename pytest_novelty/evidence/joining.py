"""Whether parts of a quotation may follow each other: what an ellipsis or a full stop of the quotation's own stands for must not
turn the sentence round, and half a sentence must not be joined to half of another.
"""

from __future__ import annotations

import re
from typing import Final

from pytest_novelty.evidence.splitting import ends_abbreviation
from pytest_novelty.evidence.wording import LEFT_OUT, LIMIT, NEGATION, ORDER, is_negation

_END: Final = re.compile(
    r"(?<![.!?])[.!?]++[\"'\u201d\u2019)\]]*(?:\d{1,2}|\s?\[[\d,;\s\u2013-]{1,20}\])?(?:\s+|$)"
    r"|[\u3002\uff01\uff1f]|\n\s*\n|\n\s*#"
)
"""Where a sentence ends, perhaps with a footnote or a citation behind its dot, or a paragraph."""
_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_UNIT: Final = re.compile(r"\d\s?[^\W\d_]{1,2}$")
_LONGEST_WORD: Final = 60
_HALF: Final = 1_000
"""Characters at either end of a gap that are looked at; of a longer one what lies between is full of sentences."""
_NEAR: Final = 80
_STOP: Final = re.compile(r"[,;:()\u2013\u2014]|\s-\s|--")
_HARD_STOP: Final = re.compile(r"[;:]")

_OPENING: Final = frozenset(
    """while whereas but although though because since so yet and or which who whose where when whenever if unless until after
    before that as than""".split()  # noqa: SIM905 - a list of words
)
"""Words that begin a clause or another member of a list."""
_APART: Final = _OPENING - frozenset("or which who whose that as than".split())  # noqa: SIM905
"""Those that, behind a comma, begin a clause to which no negation before it reaches."""

_LIMITS: Final = re.compile(
    r"\b(?:only|solely|exclusively|may|might|perhaps|possibly|probably|presumably|apparently|at (?:most|least|best)|up to"
    r"|(?:[A-Za-z]{2,}er|more|less|worse)\s+than)\b"
)
"""What limits or compares, and must not be left out of a clause that is quoted."""
_OTHER_SUBJECT: Final = re.compile(
    r"(?:,\s*(?:and|but|while|whereas|or|yet|so|although|though)|;(?:\s*(?:and|but|while|whereas))?)\s+"
    r"(?=(?:the|an?|this|that|these|those|its|our|their|his|her|my|each|every|we|it|they|he|she|i)\b|(?-i:[A-Z]))"
    r"[^,;:.!?()]*$",
    re.I,
)
"""Another subject at the end of what is left out, behind a stop and a conjunction."""
_VERB: Final = re.compile(
    r"\b(?!this\b|thus\b|perhaps\b|towards\b|always\b|besides\b|across\b)(?:(?:is|are|was|were|has|have|had|do|does|did|can|could|will|would|may|might|must|should|shall|found|made|gave|took|kept"
    r"|showed|led|grew|rose|fell|lost|won|ran|held)\b|[a-z]{2,}(?:[^s\W]s|ed)\b)"
)
"""A word that is mostly a verb, with which a clause goes on behind its subject."""


def find_fault(text: str, start: int, end: int) -> str:
    """The reason for which no ellipsis may stand for ``text[start:end]``, or empty. What is before and behind it is quoted.

    Within a sentence no word of denying or failing may be left out, unless with a whole clause. Two sentences may be joined where
    the second begins, or where clauses of both meet.
    """
    if end - start > 3 * _HALF:
        head = text[max(start - _NEAR, 0) : start + _HALF] + "\n\n"
        return find_fault(head + text[end - _HALF : end + _NEAR], min(start, _NEAR), len(head) + _HALF)
    gap = text[start:end]
    ends = [found for found in _END.finditer(gap) if not _is_abbreviated(text, start + found.start())]
    begins, reaches = _opens(gap), _is_apart(gap, text, end)
    if not ends:
        if _denies(gap) and not (begins and reaches):
            return NEGATION
        return _find_lost(gap, begins, text, start, end)
    if _denies(gap[: ends[0].start()]) and not begins:
        return NEGATION
    if _LIMITS.search(gap, 0, ends[0].start()) and not begins:
        return LIMIT
    rest = gap[ends[-1].end() :]
    if not _WORD.search(rest):
        return ""
    if _denies(rest) and not reaches:
        return NEGATION
    return "" if begins and _resumes(rest, text, end) else LEFT_OUT


def find_seam_fault(text: str, end: int, start: int) -> str:
    """The reason for which a sentence that is quoted up to ``end`` may not be followed by one from ``start`` on, or empty.

    What follows in the text is joined as an ellipsis would; what is quoted in another order must begin as a sentence does.
    """
    if end <= start:
        return find_fault(text, end, start)
    rest = text[end : _sentence_end(text, end)]
    if _denies(rest) and not _opens(rest):
        return NEGATION
    return "" if _begins_sentence(text, start) else ORDER


def _sentence_end(text: str, place: int) -> int:
    ends = (found.start() for found in _END.finditer(text, place) if not _is_abbreviated(text, found.start()))
    return next(ends, len(text))


def _begins_sentence(text: str, place: int) -> bool:
    """No word stands between a place and the end of the sentence before it, or the beginning of the text or of a line."""
    before = text[max(place - _LONGEST_WORD, 0) : place]
    words = [*_WORD.finditer(before)]
    between = before[words[-1].end() :] if words else before
    return not words or "\n" in between or any(sign in between for sign in ".!?:\u3002\uff01\uff1f")


def _find_lost(gap: str, begins: bool, text: str, start: int, end: int) -> str:
    """The reason for which a gap within a sentence hides a limit of what is quoted, or who it is about."""
    closed = _parts(_last_word(gap)[1]) or _next_word(text, end) in _OPENING
    if _LIMITS.search(gap) and not (begins and closed):
        return LIMIT
    other = None if closed else _OTHER_SUBJECT.search(gap)
    if not other or not _VERB.match(_next_word(text, end)):
        return ""
    clause = re.split(r"[.!?]\s", text[max(start - _NEAR, 0) : start + other.start()])[-1]
    return LEFT_OUT if _VERB.search(clause) else ""  # without a verb it is a list of subjects


def _denies(words: str) -> bool:
    return any(is_negation(found[0]) for found in _WORD.finditer(words))


def _opens(gap: str) -> bool:
    """The gap begins a clause: behind a stop, or with a word that opens one."""
    first = _WORD.search(gap)
    return first is None or _parts(gap[: first.start()]) or first[0].lower() in _OPENING


def _resumes(gap: str, text: str, end: int) -> bool:
    """What follows the gap begins a clause or another member of a list."""
    last, rest = _last_word(gap)
    return _parts(rest) or last in _OPENING or _next_word(text, end) in _OPENING


def _is_apart(gap: str, text: str, end: int) -> bool:
    """What follows the gap is a clause that no negation in the gap reaches."""
    behind = _last_word(gap)[1]
    return bool(_HARD_STOP.search(behind)) or (_parts(behind) and _next_word(text, end) in _APART)


def _parts(between: str) -> bool:
    return bool(_STOP.search(between) or re.search(r"[.!?]", between))


def _last_word(gap: str) -> tuple[str, str]:
    """The last word of a gap, and what is behind it."""
    near = gap[-_LONGEST_WORD:]
    found = [*_WORD.finditer(near)]
    return (found[-1][0].lower(), near[found[-1].end() :]) if found else ("", near)


def _next_word(text: str, at: int) -> str:
    found = _WORD.search(text, at)
    return found[0].lower() if found else ""


def _is_abbreviated(text: str, dot: int) -> bool:
    return text[dot] == "." and ends_abbreviation(text, dot) and not _UNIT.search(text, max(dot - 8, 0), dot)
