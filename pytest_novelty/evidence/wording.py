"""Whether a quotation that differs from its source says the same: negations, numbers, opposites, names, order, additions.

Edit distance cannot tell a slip of the pen from "not". So the words that differ are looked at, and the few kinds of difference
that turn a sentence round are refused, however small they are.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Final

from pytest_novelty.evidence.numerals import are_other_units, begins_number, joined, numbers_in, without_numbers
from pytest_novelty.evidence.opposites import PREFIXES, are_opposite, differ_by_affix
from pytest_novelty.evidence.turning import are_exchanged, are_roles_exchanged

NEGATION: Final = "negation"
NUMBER: Final = "number"
OPPOSITE: Final = "opposite"
NAME: Final = "name"
SIGN: Final = "sign"
LIMIT: Final = "limit"
ORDER: Final = "order"
ADDED: Final = "added"
LEFT_OUT: Final = "left out"
REPLACED: Final = "replaced"


@dataclass(frozen=True, slots=True)
class Difference:
    """Words of the quotation and the words of the source in their place; either may be none. Capitals are the original's, but the
    first word of a sentence has none: elsewhere they are names. ``edge``: it begins or ends the quotation;
    ``counted``: a number stands before it, so that its first word is what is counted; ``measured``: one stands behind it;
    ``done``: a participle or a past tense does before it.
    """

    quoted: tuple[str, ...]
    source: tuple[str, ...]
    edge: bool = False
    counted: bool = False
    measured: bool = False
    done: bool = False


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_NEGATIONS: Final = _words(
    """not no never none neither nor without cannot hardly barely scarcely seldom rarely nothing nobody nowhere unable non
    fail fails failed failing failure lack lacks lacked lacking despite unless except dont doesnt didnt isnt arent wasnt werent
    cant wont wouldnt couldnt shouldnt hasnt havent hadnt mustnt neednt"""
)
BOUND_BEFORE: Final = ("not", "no", "never", "without", "cannot", "neither")
BOUND_BEHIND: Final = ("not", "never")
"""Words that a clause must not be torn from: a quotation does not begin behind one or end before one."""

_FIXED: Final = {
    word: words.split()[0]
    for words in (
        "only merely solely just exclusively", "least", "most", "all every each", "some", "few", "nearly almost virtually",
        "approximately roughly about around", "may might", "can cannot cant", "could couldnt", "must mustnt", "should shouldnt",
        "shall", "will wont",
        "would wouldnt", "perhaps maybe possibly", "probably likely", "usually typically generally", "often",
        "sometimes", "mostly largely mainly primarily chiefly",
        "partly partially", "presumably apparently seemingly", "always invariably",
    )
    for word in words.split()
}  # fmt: skip
"""Words on which hangs how much a sentence claims: none of them may differ. Those of a line stand for each other."""

_COMPARED: Final = {"more": "more", "less": "less", "fewer": "less"}
"""Words that compare: a quotation may not lack one or add one."""

_ABOUT: Final = frozenset(("about", "around"))
_DENYING_PAIRS: Final = frozenset((("far", "from"), ("anything", "but"), ("rather", "than"), ("instead", "of")))
_REAL: Final = _words(
    """same ever very well wild wall wilt jest lease mist cloud sever hall bath boot time moist post host lost cost mode move core
    wore bore mere lore sore loss lens mess bless newer fever sewer abort abound"""
)
"""Words that are a letter away from one of these, and no slip of the pen."""

FUNCTION: Final = _words(
    """a an the of in on at to by for from as with and or but that which who this these those it its their our we they is are was
    were be been being has have had do does did can could will would may might must should also then thus so such there here than
    into over via per"""
)
_SUFFIXES: Final = _words("less nt not")
_RANGE_BEFORE: Final = re.compile(r"\d-$")
_RANGE_BEHIND: Final = re.compile(r"-\d")
_SIGNS: Final = frozenset("<>=+%\u00b1\u2264\u2265\u2260\u2248\u00ac\u0338\u2208\u2209\u00f7")
_SPELLED: Final = {
    "\u2208": "in",
    "\u2211": "sum",
    "\u220f": "prod",
    "\u222b": "int",
    "\u2192": "to",
    "\u221e": "infinity",
}
_LONGEST_ADDITION: Final = 9
_LONGEST_OMISSION: Final = 24
_WORDS_A_SLIP: Final = 10
_LONG_NAME: Final = 7
_SAME_NAME: Final = 0.8
_NOISE: Final = 0.6
"""The likeness of two groups of letters above which one is the other with errors in it."""


def disagreement(differences: Sequence[Difference], words: int) -> str:
    """The first reason for which a quotation of so many words does not say what its source says; empty if there is none."""
    differences = [spelled for one in differences if _differs(spelled := _spell_alike(one))]
    for difference in differences:
        if reason := _turned(difference):
            return reason
    if are_roles_exchanged([(_lower(one.quoted), _lower(one.source)) for one in differences]):
        return OPPOSITE
    if _moved(differences):
        return ORDER
    other = 0
    for difference in differences:
        if not _is_noise(difference):
            if reason := _beyond_slips(difference):
                return reason
            other += len(_content(difference))
    return REPLACED if other > max(1, words // _WORDS_A_SLIP) else ""


def cuts_word(head: str, quoted: str, tail: str) -> str:
    """The reason for which a quotation that begins or ends within a word of its source does not count, or empty. ``head`` and
    ``tail`` are the letters of these words that ``quoted`` lacks ("un" of "unable", ".5" of "3.5").
    """
    if head in PREFIXES or tail in _SUFFIXES:
        return NEGATION
    if quoted[0].isdigit() and head and (head[-1] in "0123456789.,:/^" or head == "-" or _RANGE_BEFORE.search(head)):
        return NUMBER
    if (
        quoted[-1].isdigit()
        and tail
        and (tail[0] in "0123456789.,:/%^\u00b0" or tail[0].isalpha() or _RANGE_BEHIND.match(tail))
    ):
        return NUMBER
    return NUMBER if tail[:1].isdigit() else ""  # "GPT" of "GPT-4", which is another's name


def is_same_number(difference: Difference) -> bool:
    """The two differ in how a number is written ("8" and "eight", "5%" and "5 percent") and in nothing else."""
    quoted, source = _lower(difference.quoted), _lower(difference.source)
    return _count_alike(quoted, source) or _count_alike(joined(quoted), joined(source))


def _count_alike(quoted: Sequence[str], source: Sequence[str]) -> bool:
    numbers = numbers_in(quoted)
    return bool(numbers) and numbers == numbers_in(source) and without_numbers(quoted) == without_numbers(source)


def is_negation(word: str) -> bool:
    """It denies, or says that something fails, lacks or is left out."""
    return word.lower().replace("'", "").replace("\u2019", "") in _NEGATIONS


def _turned(difference: Difference) -> str:
    quoted, source = _lower(difference.quoted), _lower(difference.source)
    if _negations(quoted) != _negations(source):
        return NEGATION
    if numbers_in(quoted) != numbers_in(source) and numbers_in(joined(quoted)) != numbers_in(joined(source)):
        return NUMBER
    if difference.done and not difference.measured and {(*quoted,), (*source,)} == {("by",), ()}:
        return OPPOSITE
    if are_other_units(quoted, source):
        return NUMBER
    if difference.counted and quoted and source and not _is_same_unit(quoted[0], source[0]):
        return NUMBER
    if _signs(quoted) != _signs(source):
        return SIGN
    pairs = [(one, other) for one in quoted for other in source if one != other]
    if _limits(_limiting(quoted, difference), _limiting(source, difference), _FIXED):
        return LIMIT
    if _symbols(quoted) != _symbols(source) and not _is_broken(difference):
        return SIGN
    if any(differ_by_affix(one, other) for one, other in pairs):
        return NEGATION
    if any(are_opposite(one, other) for one, other in pairs):
        return OPPOSITE
    if not _is_replaced(difference) and _limits(quoted, source, _COMPARED):
        return LIMIT
    if are_exchanged(quoted, source):
        return OPPOSITE
    if source and any(_is_name(word) and not _is_named(word, source) for word in difference.quoted):
        return NAME
    return ""


def _spell_alike(difference: Difference) -> Difference:
    """With a word for a mathematical sign where the other side has the word: "w in R" and "w \u2208 R"."""
    quoted, source = difference.quoted, difference.source
    if _SPELLED.keys().isdisjoint(quoted) and _SPELLED.keys().isdisjoint(source):
        return difference
    for sign, word in _SPELLED.items():
        if sign in quoted and word in source:
            quoted = tuple(word if one == sign else one for one in quoted)
        elif sign in source and word in quoted:
            source = tuple(word if one == sign else one for one in source)
    return replace(difference, quoted=quoted, source=source)


def _differs(difference: Difference) -> bool:
    return _lower(difference.quoted) != _lower(difference.source)


def _limiting(words: Sequence[str], difference: Difference) -> list[str]:
    """Without an "about" that is before no number."""
    following = [*words[1:], "1" if difference.measured else ""]
    pairs = zip(words, following, strict=False)
    return [word for word, behind in pairs if word not in _ABOUT or begins_number(behind)]


def _limits(quoted: Sequence[str], source: Sequence[str], table: Mapping[str, str]) -> bool:
    """A word on which hangs how much is claimed is on one side only, and is not mistyped on the other."""
    one, other = _fixed(quoted, table), _fixed(source, table)
    if one == other:
        return False
    return not (_are_mistyped(one - other, quoted, source, table) and _are_mistyped(other - one, source, quoted, table))


def _are_mistyped(missing: Counter[str], words: Sequence[str], there: Sequence[str], table: Mapping[str, str]) -> bool:
    """For each of the words that are missing there, something stands there that is no word."""
    from rapidfuzz.distance import OSA

    slips = [word for word in there if len(word) >= 4 and word not in table and word not in _REAL]
    own = [word for word in words if len(word) >= 4 and table.get(word) in missing]
    return not missing or (
        len(own) >= missing.total() and all(any(OSA.distance(word, slip) == 1 for slip in slips) for word in own)
    )


def _fixed(words: Sequence[str], table: Mapping[str, str]) -> Counter[str]:
    fixed = Counter([table[word] for word in words if word in table])
    if "up" in words:
        fixed["up to"] = sum(pair == ("up", "to") for pair in pairwise(words))
    return +fixed


def _symbols(words: Sequence[str]) -> Counter[str]:
    """Letters that stand alone: variables."""
    alone = [word for word in words if len(word) == 1 and word.isalpha() and word != "a" and word < "\u0400"]
    if len(alone) < 2:
        return Counter(alone)
    abbreviated = [letter for pair in pairwise(words) if pair in (("i", "e"), ("e", "g")) for letter in pair]
    return Counter(alone) - Counter(abbreviated)


def _is_broken(difference: Difference) -> bool:
    """Letters stand alone on one side only, where a word of the other is broken."""
    one, other = (_symbols(_lower(words)) for words in (difference.quoted, difference.source))
    return not (one and other) and _is_noise(difference)


def _is_noise(difference: Difference) -> bool:
    from rapidfuzz.distance import Levenshtein

    one, other = ("".join(_lower(words)) for words in (difference.quoted, difference.source))
    return bool(one and other) and Levenshtein.normalized_similarity(one, other) >= _NOISE


def _beyond_slips(difference: Difference) -> str:
    quoted, source = difference.quoted, difference.source
    letters, there = len("".join(quoted)), len("".join(source))
    content = _content(difference)
    if not source:
        if any(map(_is_name, quoted)):
            return NAME
        small = len(quoted) == 1 and letters <= _LONGEST_ADDITION and not difference.edge
        return "" if small or (not content and len(quoted) <= 3) else ADDED
    if there - letters > _LONGEST_OMISSION or len(source) - len(quoted) > 3:
        return LEFT_OUT
    if len(content) > 1 or (content and (difference.edge or len(quoted) > len(source))):
        return REPLACED
    return ""


def _content(difference: Difference) -> list[str]:
    """Words of the quotation that are not in the source's and carry a meaning."""
    source = _lower(difference.source)
    return [word for word in _lower(difference.quoted) if word not in FUNCTION and word not in source]


def _is_replaced(difference: Difference) -> bool:
    """Word for word by words with a content, none of which compares."""
    content = _content(difference)
    return len(difference.quoted) == len(difference.source) and bool(content) and _COMPARED.keys().isdisjoint(content)


def _moved(differences: Sequence[Difference]) -> bool:
    """A word that the quotation lacks in one place and has in another."""
    added, left_out = Counter[str](), Counter[str]()
    for difference in differences:
        quoted, source = Counter(_lower(difference.quoted)), Counter(_lower(difference.source))
        if quoted == source and len(quoted) > 1:
            return True
        added += quoted - source
        left_out += source - quoted
    return any(word not in FUNCTION and len(word) > 2 for word in added & left_out)


def _lower(words: Sequence[str]) -> list[str]:
    return [word.lower() for word in words]


def _negations(words: Sequence[str]) -> int:
    return sum(word in _NEGATIONS for word in words) + sum(pair in _DENYING_PAIRS for pair in pairwise(words))


def _signs(words: Sequence[str]) -> list[str]:
    return [letter for word in words for letter in word if letter not in "%\u00b0" and _is_sign(letter)]


def _is_sign(letter: str) -> bool:
    """Folding keeps no other: of what lies beyond ASCII all that is mathematical, a currency, or a tick."""
    return letter in _SIGNS or (letter > "\x7f" and unicodedata.category(letter) in ("Sm", "Sc", "So"))


def _is_name(word: str) -> bool:
    return any(letter.isupper() for letter in word)


def _is_same_unit(one: str, other: str) -> bool:
    from rapidfuzz.distance import OSA

    return one in FUNCTION or other in FUNCTION or OSA.normalized_similarity(one, other) >= _SAME_NAME


def _is_named(name: str, source: Sequence[str]) -> bool:
    """The source has it; of a long one that is no acronym a typing error is taken for what it is."""
    from rapidfuzz.distance import OSA

    word = name.lower()
    if word in source or word == "".join(source):
        return True
    plain = len(word) >= _LONG_NAME and name[1:].islower()
    return plain and any(OSA.normalized_similarity(word, other) >= _SAME_NAME for other in source)
