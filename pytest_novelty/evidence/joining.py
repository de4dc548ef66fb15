"""Whether an ellipsis may stand for the words that it stands for: it must not swallow what turns the sentence round, and must not
join half a sentence to half of another.
"""

from __future__ import annotations

import re
from typing import Final

from pytest_novelty.evidence.splitting import ends_abbreviation
from pytest_novelty.evidence.wording import LEFT_OUT, NEGATION, is_negation

_END: Final = re.compile(
    r"(?<![.!?])[.!?]++[\"'\u201d\u2019)\]]*(?:\d{1,2}|\s?\[[\d,;\s\u2013-]{1,20}\])?(?:\s+|$)"
    r"|[\u3002\uff01\uff1f]|\n\s*\n|\n\s*#"
)
"""Where a sentence ends, perhaps with a footnote or a citation behind its dot, or a paragraph."""
_WORD: Final = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)?")
_UNIT: Final = re.compile(r"\d\s?[^\W\d_]{1,2}$")
_LONGEST_WORD: Final = 60
_STOP: Final = re.compile(r"[,;:()\u2013\u2014]|\s-\s|--")
_HARD_STOP: Final = re.compile(r"[;:]")

_OPENING: Final = frozenset(
    """while whereas but although though because since so yet and or which who whose where when whenever if unless until after
    before that as than""".split()  # noqa: SIM905 - a list of words
)
"""Words that begin a clause or another member of a list."""
_APART: Final = _OPENING - frozenset("or which who whose that as than".split())  # noqa: SIM905
"""Those that, behind a comma, begin a clause to which no negation before it reaches."""


def find_fault(text: str, start: int, end: int) -> str:
    """The reason for which no ellipsis may stand for ``text[start:end]``, or empty. What is before and behind it is quoted.

    Within a sentence no word of denying or failing may be left out, unless with a whole clause. Two sentences may be joined where
    the second begins, or where clauses of both meet.
    """
    gap = text[start:end]
    ends = [found for found in _END.finditer(gap) if not _is_abbreviated(text, start + found.start())]
    begins, reaches = _opens(gap), _is_apart(gap, text, end)
    if not ends:
        return NEGATION if _denies(gap) and not (begins and reaches) else ""
    if _denies(gap[: ends[0].start()]) and not begins:
        return NEGATION
    rest = gap[ends[-1].end() :]
    if not _WORD.search(rest):
        return ""
    if _denies(rest) and not reaches:
        return NEGATION
    return "" if begins and _resumes(rest, text, end) else LEFT_OUT


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
