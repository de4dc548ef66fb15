"""A text reduced to what a quotation must agree in: letters, digits and mathematical signs, each with its place in the text.

Both sides of a comparison are folded alike, so that what a conversion from PDF, a Markdown renderer or a language model does to
a sentence without changing it leaves nothing behind: ligatures, typographic quotes and dashes, accents composed or not, letters
of mathematical alphabets, LaTeX spellings, soft hyphens, white space within words, and a hyphen at a line break whether it is
kept, dropped or a space. Numbers keep their boundaries: "3.5", "3 5" and "35" stay different, as do "-5" and "5".

Marks that copyists leave out without changing a sentence (citations, numbers of footnotes and pages, "(see Figure 2)") are set
aside. They are kept with their places: a quotation may lack one that the text has, and may not have another.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, Final

from pytest_novelty.evidence.marks import DATED, find_marks, footnote_at

if TYPE_CHECKING:
    import numpy as np

    Integers = np.ndarray[Any, np.dtype[Any]]
    Codes = Integers
    Counts = np.ndarray[Any, np.dtype[np.uint8]]

_DASHES: Final = frozenset("\u207b\u208b\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d")
_HIDDEN: Final = frozenset("\u00ad\u200b\u200c\u200d\u2060\ufeff")
_ALIKE: Final = {
    "\u00d7": "x",
    "\u2715": "x",
    "\u2a7d": "\u2264",
    "\u2a7e": "\u2265",
    "\u2266": "\u2264",
    "\u2267": "\u2265",
    "\u2218": "\u00b0",
}
_OVERLAY: Final = "\u0338"
"""What turns "=" into "\u2260": of the combining marks the one that negates."""

_TICKED: Final = frozenset("\u2611\u2612\u2705\u2713\u2714\u2717\u2718\u274c")
"""What a table says yes and no with."""
_UNKEPT: Final = frozenset("|~^\u2217\u2212\u22c5")
_HYPHEN: Final = ord("-")
_BLOCK: Final = 64
_WITHIN_NUMBERS: Final = frozenset("^_{}$*\\`'") | _HIDDEN
_THOUSANDS: Final = frozenset({",", "\u2009", "\u202f", "\\,", "{,}"})

_GREEK: Final = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa mu nu xi pi rho sigma tau upsilon phi chi psi omega"
)
_LETTERS: Final = {name: unicodedata.lookup(f"GREEK SMALL LETTER {name}") for name in _GREEK.split()}
_SYMBOLS: Final = _LETTERS | {name.capitalize(): sign for name, sign in _LETTERS.items()} | {
    "lambda": "\u03bb", "Lambda": "\u03bb", "varepsilon": "\u03b5", "vartheta": "\u03b8", "varphi": "\u03c6", "ell": "l",
    "leq": "\u2264", "le": "\u2264", "leqslant": "\u2264", "geq": "\u2265", "ge": "\u2265", "geqslant": "\u2265", "neq": "\u2260",
    "ne": "\u2260", "pm": "\u00b1", "times": "x", "in": "\u2208", "notin": "\u2209", "sum": "\u2211", "prod": "\u220f",
    "int": "\u222b", "infty": "\u221e", "partial": "\u2202", "nabla": "\u2207", "to": "\u2192", "rightarrow": "\u2192",
    "approx": "\u2248", "forall": "\u2200", "exists": "\u2203", "sqrt": "\u221a", "cup": "\u222a", "cap": "\u2229",
    "subset": "\u2282", "supset": "\u2283", "subseteq": "\u2286", "supseteq": "\u2287", "wedge": "\u2227", "land": "\u2227",
    "vee": "\u2228", "lor": "\u2228", "neg": "\u00ac", "lnot": "\u00ac", "ll": "\u226a", "gg": "\u226b", "not": _OVERLAY,
    "circ": "\u00b0",
}  # fmt: skip
"""LaTeX commands; small letters for capitals, because case is folded."""

_FORMATS: Final = frozenset(
    """mathcal mathbf mathrm mathbb mathit mathsf boldsymbol bm text textbf textit textrm texttt emph left right big Big bigl bigr
    displaystyle operatorname quad qquad cdot ldots dots cdots""".split()  # noqa: SIM905 - a list of words
)

_GROUP: Final = re.compile(r"\d{3}\D?")
_DIGIT: Final = re.compile(r"\d")
_COMMAND: Final = re.compile(r"\\([A-Za-z]+)")
_MARKUP: Final = (
    ("!", re.compile(r"!\[[^\]\n]{0,200}\]\([^()\s]{0,500}\)")),
    ("]", re.compile(r"\]\([^()\s]{0,500}\)")),
    (">", re.compile(r"\n>+(?=\s)")),
    ("<", re.compile(r"</?(?:i|b|em|strong|span|p|u|sub|sup)\b[^<>\n]{0,100}>")),
    ("<", re.compile(r"<br\s*/?>")),
    ("&", re.compile(r"&(?:nbsp|thinsp|shy|#160|#173);")),
)
"""What is laid over a text and not part of it, each with a sign that stands in it (one sign is found much faster than two)."""

_RAISED: Final = "\u2070\u00b9\u00b2\u00b3\u2074\u2075\u2076\u2077\u2078\u2079"
_EXPONENT: Final = re.compile(rf"(?<=\d)[{_RAISED}]")
_FIRST_RAISED: Final = 0xFDD0
"""Codes that no text has, for digits that are raised behind another: "10\u2076" must not become "106"."""
_OF_HEAT: Final = re.compile(r"(?:\u00b0|\\circ)[\s{}$]*(?:\\(?:mathrm|text)\{)?[CF]\b")
"""Degrees of heat, whose sign may be lost: the letter tells."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A citation or the like that was set aside: where it stands in the text, and its words and numbers."""

    start: int
    content: str


class Folded:
    """``letters`` of a text ``raw``, and where each of them stands in it.

    counts: how many letters each character of ``raw`` became, mostly 0 or 1.
    marks: what was set aside, in the order of the text.
    """

    def __init__(self, raw: str, letters: str, counts: Counts, marks: tuple[Mark, ...]) -> None:
        self.raw = raw
        self.letters = letters
        self.marks = marks
        self._counts = counts
        self._blocks: dict[int, list[int]] = {}

    def place(self, index: int) -> int:
        """The index in ``raw`` of a letter."""
        block = bisect_right(self._before, index) - 1
        return block * _BLOCK + bisect_right(self._reached(block), index - self._before[block])

    def _reached(self, block: int) -> list[int]:
        """How many letters each place in a block of characters ends. Places are asked for in the neighbourhood of the last."""
        if block not in self._blocks:
            self._blocks[block] = self._counts[block * _BLOCK : (block + 1) * _BLOCK].cumsum(dtype=int).tolist()
        return self._blocks[block]

    def places(self, first: int, last: int) -> Integers:
        """The indices in ``raw`` of letters ``first:last``, ascending; equal where one character became several letters."""
        import numpy as np

        if first >= last:
            return np.zeros(0, dtype=np.int64)
        start, end = self.slice_of(first, last)
        counts = self._counts[start:end]
        places = np.arange(start, end).repeat(counts)
        if len(places) > last - first:  # the slice begins or ends among the letters of one character
            skipped = first - self.letters_before(start)
            places = places[skipped : skipped + last - first]
        return places

    def slice_of(self, first: int, last: int) -> tuple[int, int]:
        """The slice of ``raw`` from which letters ``first:last`` come, ``first < last``."""
        return self.place(first), self.place(last - 1) + 1

    def letters_before(self, place: int) -> int:
        """How many letters stand before a place."""
        block = place // _BLOCK
        return self._before[block] + int(self._counts[block * _BLOCK : place].sum())

    @cached_property
    def _before(self) -> list[int]:
        """How many letters stand before each block of characters; a place for each letter would take longer than all else."""
        import numpy as np

        sums = np.add.reduceat(self._counts, np.arange(0, len(self._counts), _BLOCK), dtype=np.int64)
        return [0, *np.cumsum(sums)[:-1].tolist()]


def is_dated(mark: Mark) -> bool:
    """A citation by name and year, or by year; others are by number."""
    return DATED.search(mark.content) is not None


def fold(raw: str) -> Folded:
    """Fold a text of any length, in a time that is in proportion to it."""
    import numpy as np

    # A command may stand for a sign beyond ASCII.
    codes = encode(raw).astype(np.uint32) if "\\" in raw else encode(raw).copy()
    marks = tuple(sorted(_set_aside(raw, codes), key=lambda mark: mark.start))
    expanded: dict[str, str] = {}
    if codes.dtype == np.uint8:
        folded = _ascii_table().take(codes)
    else:
        _mark_exponents(raw, codes)
        folded = _ascii_table().astype(np.uint32).take(np.minimum(codes, 128))
        expanded = _replace_foreign(codes, folded)
    numbered = codes.dtype != np.uint8 or _DIGIT.search(raw) is not None
    if numbered:
        _keep_minus_signs(codes, folded)
    counts = (folded != 0).view(np.uint8)
    if numbered:
        _part_numbers(raw, folded, counts)
    letters = _decode_kept(folded)
    for sign, text in expanded.items():
        letters = letters.replace(sign, text)
        counts[folded == ord(sign)] = len(text)
    return Folded(raw, letters, counts, marks)


def _mark_exponents(raw: str, codes: Codes) -> None:
    """Give a raised digit behind a plain one a code of its own."""
    for found in _EXPONENT.finditer(raw):
        if raw[found.start() - 1] not in _RAISED and codes[found.start()]:
            codes[found.start()] = _FIRST_RAISED + _RAISED.index(found[0])


def encode(text: str) -> Codes:
    """The code points of a text: single bytes if it is ASCII, else integers of 32 bits."""
    import numpy as np

    if text.isascii():
        return np.frombuffer(text.encode("ascii"), np.uint8)
    # An answer may hold a lone surrogate; it is no letter and must not stop the check.
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), "<u4")


def _decode_kept(folded: Codes) -> str:
    if folded.dtype.itemsize == 1:
        return folded.tobytes().translate(None, b"\0").decode("ascii")
    kept: bytes = folded[folded != 0].tobytes()
    return kept.decode("utf-32-le", "surrogatepass")


@cache
def _ascii_table() -> Codes:
    import numpy as np

    letters = [chr(code).lower() for code in range(128)]
    return np.array([ord(one) if one.isalnum() or one in "<>=+%" else 0 for one in letters] + [0], dtype=np.uint8)


@cache
def _fold_letter(code: int) -> str:
    """What a character beyond ASCII folds to: mostly one letter, of ligatures several, of punctuation none."""
    letter = chr(code)
    if letter in _DASHES:
        return "-"
    if letter in _ALIKE:
        return _ALIKE[letter]
    if _FIRST_RAISED <= code < _FIRST_RAISED + 10:
        return f"^{code - _FIRST_RAISED}"
    if letter in "\u2103\u2109":
        return "c" if letter == "\u2103" else "f"
    flat = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", letter).casefold())
    return "".join("/" if part == "\u2044" else part for part in flat if _is_kept(part))


def _is_kept(letter: str) -> bool:
    if letter in ("\u2044", _OVERLAY) or letter.isalnum():
        return True
    if "\u0300" <= letter <= "\u036f" or letter in _UNKEPT:
        return False  # accents get lost on the way through a PDF
    category = unicodedata.category(letter)
    return (
        category[0] == "M" or letter == "\u00b0" or category in ("Sm", "Sc") or letter in "%\u2030" or letter in _TICKED
    )


def _replace_foreign(codes: Codes, folded: Codes) -> dict[str, str]:
    """Fold what is beyond ASCII, in place. Characters that become several letters are left, and returned with these."""
    import numpy as np

    foreign = np.flatnonzero(codes > 127)
    met, which = np.unique(codes[foreign], return_inverse=True)
    texts = [_fold_letter(code) for code in met.tolist()]
    folded[foreign] = np.array(
        [ord(text) if len(text) == 1 else code if text else 0 for code, text in zip(met.tolist(), texts, strict=True)],
        dtype=np.uint32,
    )[which]
    dashes = foreign[folded[foreign] == _HYPHEN]
    codes[dashes] = _HYPHEN
    folded[dashes] = 0
    return {chr(code): text for code, text in zip(met.tolist(), texts, strict=True) if len(text) > 1}


def _keep_minus_signs(codes: Codes, folded: Codes) -> None:
    """A hyphen right before a digit and not behind a letter or digit is a sign: "-5" and not "COVID-19" or "2017-2019"."""
    import numpy as np

    hyphens = np.flatnonzero(codes[:-1] == _HYPHEN)
    hyphens = hyphens[_are_digits(folded[hyphens + 1])]
    before = np.where(hyphens > 0, folded[hyphens - 1], 0)
    folded[hyphens[before == 0]] = _HYPHEN


def _part_numbers(raw: str, folded: Codes, counts: Counts) -> None:
    """Put what parts two numbers back between them, in place of the first character that lies there."""
    import numpy as np

    digits = np.flatnonzero(_are_digits(folded))
    behind = np.flatnonzero(np.diff(digits) > 1)
    written = counts.tobytes()
    for first, second in zip((digits[behind] + 1).tolist(), digits[behind + 1].tolist(), strict=True):
        if 1 not in written[first:second] and (sign := _separator(raw[first:second], raw[second : second + 4])):
            folded[first] = ord(sign)
            counts[first] = 1


def _are_digits(codes: Codes) -> Integers:
    return (codes >= 48) & (codes <= 57)


def _separator(between: str, following: str) -> str:
    if between in _THOUSANDS and _GROUP.fullmatch(following):
        return ""
    if between in (".", ",", ":", "/"):
        return between
    if "^" in between or between.startswith("<sup") or between == "**":
        return "^"
    if between in ("*", " * "):
        return "x"
    if any(letter == "-" or letter in _DASHES for letter in between):
        return "-"
    return "" if all(letter in _WITHIN_NUMBERS for letter in between) else " "


def _set_aside(raw: str, codes: Codes) -> Iterator[Mark]:
    """Blank markup, commands and marks in ``codes``; yield the marks, kind by kind."""
    if "\\" in raw:
        for found in _COMMAND.finditer(raw):
            if (symbol := _SYMBOLS.get(found[1])) or found[1] in _FORMATS:
                codes[found.start() : found.end()] = 0
                codes[found.start()] = ord(symbol) if symbol else 0
    if "\u00b0" in raw or "\\circ" in raw:
        for found in _OF_HEAT.finditer(raw):
            codes[found.start() : found.end() - 1] = 0
    for sign, pattern in _MARKUP:
        if sign in raw:
            for found in pattern.finditer(raw):
                codes[found.start() : found.end()] = 0
    for found in find_marks(raw):
        yield _blank(codes, found)
    for place in _digits_behind_words(codes) if _DIGIT.search(raw) or not raw.isascii() else ():
        if number := footnote_at(raw, place):
            yield _blank(codes, number)


def _blank(codes: Codes, found: re.Match[str]) -> Mark:
    codes[found.start() : found.end()] = 0
    return Mark(found.start(), " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", found[0]).casefold())))


def _digits_behind_words(codes: Codes) -> list[int]:
    """Where a digit follows upon a small letter or a punctuation mark, as the number of a footnote does."""
    import numpy as np

    digit = _are_digits(codes)
    if codes.dtype != np.uint8:
        digit |= ((codes >= 0xB2) & (codes <= 0xB9)) | ((codes >= 0x2070) & (codes <= 0x2079))
    places = np.flatnonzero(digit[1:])
    before = codes[places]
    likely = (before >= 97) & (before <= 122)
    for sign in b',.:;)"':
        likely |= before == sign
    return (places[likely | (before.astype(np.uint32) == 0x201D)] + 1).tolist()  # type: ignore[no-any-return]
