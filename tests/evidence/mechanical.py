"""Slips and alterations made at random in sentences of a long document: many more than can be written by hand, and made without a look
at the rules of a matcher. Some alterations happen to change nothing (a "not" beside a "not"); these few count against a matcher.
"""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator

from tests.evidence.prose import filler_and_strangers, sentences_of

LETTERS = "abcdefghijklmnopqrstuvwxyz"
SMALL = ("the", "a", "an", "of", "in", "to")
AUXILIARY = re.compile(r"\b(?:is|are|will|can|has|have|was|were|may|should|must|would)\b")

Change = Callable[[str, random.Random], str | None]


def mistype(sentence: str, rng: random.Random) -> str:
    """One small letter in seventy becomes another."""
    return "".join(rng.choice(LETTERS) if one in LETTERS and rng.random() < 1 / 70 else one for one in sentence)


def break_words(sentence: str, rng: random.Random) -> str:
    """A space after one letter in twenty-five."""
    return "".join(one + " " if one.isalpha() and rng.random() < 1 / 25 else one for one in sentence)


def drop_small_word(sentence: str, rng: random.Random) -> str | None:
    words = sentence.split()
    places = [place for place, word in enumerate(words) if word in SMALL and place]
    if not places:
        return None
    del words[rng.choice(places)]
    return " ".join(words)


def negate(sentence: str, rng: random.Random) -> str | None:
    found = list(AUXILIARY.finditer(sentence))
    if not found:
        return None
    end = rng.choice(found).end()
    return f"{sentence[:end]} not{sentence[end:]}"


def change_number(sentence: str, rng: random.Random) -> str | None:
    found = list(re.finditer(r"\d+", sentence))
    if not found:
        return None
    number = rng.choice(found)
    return f"{sentence[: number.start()]}{int(number[0]) + rng.randint(1, 9)}{sentence[number.end() :]}"


def shuffle(sentence: str, rng: random.Random) -> str:
    words = sentence.split()
    rng.shuffle(words)
    return " ".join(words)


def swap_words(sentence: str, rng: random.Random) -> str | None:
    words = sentence.split()
    places = [place for place, word in enumerate(words) if len(word) > 4 and word.isalpha()]
    if len(places) < 2:
        return None
    one, other = rng.sample(places, 2)
    words[one], words[other] = words[other], words[one]
    return " ".join(words) if words[one] != words[other] else None


def glue(sentence: str, rng: random.Random) -> str:
    """The first half of the sentence and the second of another one of the document."""
    words, other = sentence.split(), rng.choice(sentences()).split()
    return " ".join(words[: len(words) // 2] + other[len(other) // 2 :])


def drop_middle(sentence: str, rng: random.Random) -> str:
    words = sentence.split()
    middle = len(words) // 2
    return " ".join(words[: middle - 2] + words[middle + 3 :])


def append_sentence(sentence: str, rng: random.Random) -> str:
    return f"{sentence} It is new."


def append_clause(sentence: str, rng: random.Random) -> str:
    return f"{sentence.rstrip('.')} and it works better than all others."


def _replace(sentence: str, rng: random.Random, words: list[str]) -> str | None:
    old = sentence.split()
    places = [place for place in range(1, len(old) - 2) if old[place].isalpha() and len(old[place]) > 4]
    if not places:
        return None
    place = rng.choice(places)
    return " ".join(old[:place] + words + old[place + len(words) :])


def replace_two_words(sentence: str, rng: random.Random) -> str | None:
    return _replace(sentence, rng, ["purple", "elephants"])


def replace_word(sentence: str, rng: random.Random) -> str | None:
    return _replace(sentence, rng, ["elephant"])


CHANGES: dict[str, tuple[bool, Change]] = {
    "letters mistyped": (True, mistype),
    "words broken": (True, break_words),
    "small word left out": (True, drop_small_word),
    "one word replaced": (True, replace_word),
    "not put in": (False, negate),
    "number changed": (False, change_number),
    "words shuffled": (False, shuffle),
    "two words swapped": (False, swap_words),
    "halves of two sentences": (False, glue),
    "five words left out": (False, drop_middle),
    "short sentence beside": (False, append_sentence),
    "clause behind": (False, append_clause),
    "two words replaced": (False, replace_two_words),
}
"""Whether the text still says it, and how the change is made. One word replaced is a slip by definition: it is found as near-verbatim,
and whoever reads on reads the source's own words.
"""


def sentences() -> list[str]:
    """The sentences that are changed: those of the prose that documents are filled with."""
    return sentences_of(filler_and_strangers("machine learning")[0])


def changed(limit: int, seed: int = 0) -> Iterator[tuple[str, bool, str]]:
    """Kind, whether the text says it, and the changed sentence: up to ``limit`` of each kind."""
    rng = random.Random(seed)
    chosen = rng.sample(sentences(), limit)
    for kind, (said, change) in CHANGES.items():
        for sentence in chosen:
            result = change(sentence, rng)
            if result is not None and result != sentence:
                yield kind, said, result
