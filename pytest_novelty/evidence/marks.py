"""What stands in a text and copyists leave out: citations, numbers of footnotes, references to figures."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from pytest_novelty.evidence.wording import is_negation

_WORD: Final = re.compile(r"[^\W\d_]+(?:['\u2019]t\b)?")
_YEAR: Final = r"(?:19|20)\d\d[a-z]?"
_NUMBERS: Final = r"\s*\d{1,3}(?:\s*[,;\u2010-\u2015-]\s*\d{1,3})*\s*"
DATED: Final = re.compile(rf"\b{_YEAR}\b")
_FLOATS: Final = r"(?:Fig|Figure|Tab|Table|Sec|Section|Eq|Equation|Appendix|Algorithm|Alg|App)(?:s|es)?\b\.?"
_MARKS: Final = (
    ("[", re.compile(rf"\[{_NUMBERS}\]")),
    ("[", re.compile(rf"\[[A-Z][^()\[\]]{{1,300}}?\b{_YEAR}(?:\s*[,;][^()\[\]]{{0,200}})?\]")),
    ("^", re.compile(r"\[\^\w{1,12}\]")),
    (
        "(",
        re.compile(
            rf"\((?:(?:see|e\.g\.,?|cf\.|also)\s+)*(?:[A-Z][^()\[\]]{{1,300}}?\b)?{_YEAR}(?:\s*[,;][^()\[\]]{{0,300}})?\)"
        ),
    ),
    ("(", re.compile(rf"\((?:(?:see|cf\.|also)\s+)*{_FLOATS}[^()]{{0,40}}\)", re.IGNORECASE)),
    ("\\", re.compile(r"~?\\cite[a-z]*\*?(?:\[[^\]\n]{0,60}\])*\{[^{}]{0,300}\}")),
    ("<", re.compile(r"(?<!\d)<sup[^<>\n]{0,60}>[\s\d,;*\u2020\u2021\[\]-]{1,20}</sup>")),
    ("\n", re.compile(r"\n[ \t]*\d{1,4}[ \t]*\n(?=[ \t]*\S)")),
    (
        "^",
        re.compile(
            r"\^(?:(?<=[a-z]{3}.)|(?<=[a-z]{3}\$.)|(?<=[a-z][.,;:)].))\{?\d{1,2}(?:,\s?\d{1,2})*\}?\$?(?=[\s.,;:)]|$)"
        ),
    ),
)
"""What copyists leave out."""

_NAMED: Final = re.compile(
    r"(?:(?<!mag)(?<!pla)(?<!cabi)(?<!inter)(?<!extra)(?<!intra)(?<!sub)(?<!bon)(?<!son)(?<!hor)(?<!gar)net|yolov|llama|vicuna"
    r"|mistral|gemma|qwen|deepseek|claude|gemini|falcon|whisper|dino|dinov|cifar|cuda)$"
)
"""Words behind which a digit is part of a name, and no footnote's number."""
_OF_CITATIONS: Final = frozenset(
    """and et al eg ie cf see also in of the for as by at on an to from or with und der den des del della di da dos du de la le el
    van von ten ter zu zur bin ibn ed eds trans vol pp ch chap chapter chapters press prep forthcoming preprint unpublished
    submitted personal communication communications inter alia among others references therein reviewed review reviews survey
    surveys overview cited left right top bottom upper lower middle panel panels row rows column columns line lines fig figs
    figure figures tab tabs table tables sec secs section sections eq eqs equation equations appendix appendices algorithm
    algorithms alg algs app supp supplementary supplement ii iii iv vi vii viii ix""".split()  # noqa: SIM905 - a list of words
)
"""Words without a capital that stand in citations; others make a clause of what is in brackets."""
_EXCEPTING: Final = frozenset(
    {"only", "but", "except", "excepting", "excluding", "excluded", "apart", "unlike", "besides"}
)

_FOOTNOTE: Final = re.compile(r"[\d\u00b9\u00b2\u00b3\u2070\u2074-\u2079]{1,2}(?=[\s,.;:)\]]|$)(?![.,]\d)")
_BEFORE_FOOTNOTE: Final = re.compile(r"(?:(?<![^\W_])[a-z]{4,}|[a-z]{2}[)\"\u201d]?[.,;:][\"\u201d)]?)$")


def find_marks(raw: str) -> Iterator[re.Match[str]]:
    """All but the numbers of footnotes, kind by kind."""
    for sign, pattern in _MARKS:
        if sign in raw:
            for found in pattern.finditer(raw):
                if sign not in "([" or _is_citation(found[0]):
                    yield found


def footnote_at(raw: str, place: int) -> re.Match[str] | None:
    """The number of a footnote that begins there, behind a word or a sentence; None if it is none."""
    before = raw[max(place - 30, 0) : place]
    if not _BEFORE_FOOTNOTE.search(before) or (raw[place].isascii() and _NAMED.search(before)):
        return None
    return _FOOTNOTE.match(raw, place)


def _is_citation(bracket: str) -> bool:
    """It has no negation, no exception and no words of a clause: "(Only GPT-4 did not, in 2023)" is text."""
    words = _WORD.findall(bracket)
    return not any(
        (word.islower() and len(word) > 1 and word not in _OF_CITATIONS)
        or word.lower() in _EXCEPTING
        or is_negation(word)
        for word in words
    )
