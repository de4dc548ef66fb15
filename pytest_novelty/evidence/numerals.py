"""Numbers in words and digits: what stands for the same number, and what is a number of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

_CARDINALS: Final = {
    word: str(value)
    for value, word in enumerate(
        """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
        eighteen nineteen twenty""".split()  # noqa: SIM905 - in the order of their values
    )
} | {
    "thirty": "30", "forty": "40", "fifty": "50", "sixty": "60", "seventy": "70", "eighty": "80", "ninety": "90",
    "hundred": "100", "thousand": "1000", "million": "10^6", "billion": "10^9", "trillion": "10^12", "dozen": "12",
}  # fmt: skip
_ORDINALS: Final = {
    word: f"{value}th"
    for value, word in enumerate(
        """fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth fifteenth sixteenth
        seventeenth eighteenth nineteenth twentieth""".split(),  # noqa: SIM905 - in the order of their values
        start=4,
    )
} | {"first": "1st", "second": "2nd", "third": "3rd", "thirtieth": "30th", "hundredth": "100th", "thousandth": "1000th"}
_SCALES: Final = {
    f"{word}s": f"{_CARDINALS[word]}s" for word in ("dozen", "hundred", "thousand", "million", "billion", "trillion")
}
_COUNTED: Final = _CARDINALS | _ORDINALS | _SCALES | {
    "half": "1/2", "quarter": "1/4", "once": "1x", "twice": "2x", "thrice": "3x", "single": "1x", "double": "2x", "triple": "3x",
    "percent": "%", "cent": "%", "tenfold": "10x", "twofold": "2x",
}  # fmt: skip
"""Numbers with what is counted behind them."""
_NUMERALS: Final = (
    _COUNTED
    | {f"{word}fold": f"{value}x" for word, value in _CARDINALS.items()}
    | {
        form: value
        for value, forms in (
            ("1/2", "halve halves halved halving"),
            ("2x", "doubles doubled doubling"),
            ("3x", "triples tripled tripling treble trebles trebled"),
            ("4x", "quadruple quadruples quadrupled quadrupling"),
            ("-", "minus"),
            ("\u00b0", "degrees"),
        )
        for form in forms.split()
    }
)
_TOKEN: Final = re.compile(r"(\d(?:[\d.,:/^ ]*\d)?)([%\u00b0]?)([^\W\d_]*)")
"""A number, a sign for percent or degrees, and the letters that are written to it: of "10k" and "5th" they are part of it."""
_APART: Final = re.compile(r"(?<=\d) (?=[^\W\d_])")
_TIMES: Final = {
    form: unit
    for unit in "millisecond microsecond nanosecond minute hour day week fortnight month year decade century".split()  # noqa: SIM905
    for form in (unit, f"{unit}s", {"day": "daily"}.get(unit, f"{unit}ly"))
} | {"seconds": "second", "centuries": "century", "annual": "year", "annually": "year"}
_ARITIES: Final = frozenset({"unary", "binary", "ternary", "quaternary"})


def are_other_units(quoted: Sequence[str], source: Sequence[str]) -> bool:
    """Units of time stand in place of others, or a word such as "binary" of another such."""
    one, other = ({_TIMES[word] for word in words if word in _TIMES} for words in (quoted, source))
    if one and other and one != other:
        return True
    return any(word in _ARITIES and there in _ARITIES and word != there for word in quoted for there in source)


def numbers_in(words: Sequence[str]) -> list[str]:
    """The numbers among words in small letters, each as digits."""
    return [number for word in words for number in _numbers_of(word)]


def _numbers_of(word: str) -> Iterator[str]:
    if word in _NUMERALS or word in ("%", "\u00b0"):
        yield _NUMERALS.get(word, word)
        return
    for found in _TOKEN.finditer(word):
        number, percent, letters = found.groups()
        if found.start() and word[found.start() - 1] == "-" and not word[: found.start() - 1]:
            yield "-"
        yield number + ("x" if letters == "fold" else letters)
        if percent:
            yield percent


def joined(words: Sequence[str]) -> list[str]:
    """With units joined to their numbers: "12 kg" and "12kg" are the same."""
    return _APART.sub("", " ".join(words)).split()


def without_numbers(words: Sequence[str]) -> list[str]:
    """The words that are no numbers."""
    plain = " ".join(words).replace("per cent", "%").split()
    return [
        word
        for word in plain
        if word not in _NUMERALS and word not in ("%", "\u00b0") and not _TOKEN.fullmatch(word.lstrip("-"))
    ]


def spelled_numbers(text: str) -> int:
    """How many letters of a text are those of numbers in words, which its source may have in digits."""
    return sum(len(word) for word in re.findall(r"[a-z]+", text.lower()) if word in _NUMERALS)


def number_in(word: str) -> str:
    """The digits of a word that is a number, else nothing."""
    return word if word.isdecimal() else _COUNTED.get(word.lower(), "")


def is_number(word: str) -> bool:
    """The word is a number or ends in one, in digits or letters: what follows is counted."""
    return word.lower() in _COUNTED or word[-1:].isdecimal()


def begins_number(word: str) -> bool:
    """The word is a number or begins with one."""
    return word[:1].isdecimal() or word.lower() in _COUNTED
