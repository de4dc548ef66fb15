"""Where a text says what a piece of a quotation says: word for word, nearly so, or nowhere.

A piece that is not in the text letter for letter is looked for through its 5-grams: those that the text has vote for the window
in which the piece would lie, and only the best windows are aligned. There it must agree in order and nearly in full, and
`wording` must find no difference that matters.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import islice, pairwise, takewhile
from typing import TYPE_CHECKING, Any, Final

from pytest_novelty.evidence.folding import Folded, Mark, fold, is_dated
from pytest_novelty.evidence.joining import find_fault, find_seam_fault
from pytest_novelty.evidence.numerals import begins_number, is_number, spelled_numbers
from pytest_novelty.evidence.windows import find_windows, hash_grams
from pytest_novelty.evidence.wording import (
    ADDED,
    BOUND_BEFORE,
    BOUND_BEHIND,
    LEFT_OUT,
    NEGATION,
    NUMBER,
    REPLACED,
    Difference,
    cuts_word,
    disagreement,
    is_same_number,
)
from pytest_novelty.evidence.words import find_word_starts, is_within_word, splits_negation, words_of

if TYPE_CHECKING:
    from pytest_novelty.evidence.windows import Hashes

    Pairs = list[tuple[int, int]]

VERBATIM: Final = "verbatim"
NEAR: Final = "near-verbatim"
ABSENT: Final = "absent"

NEAR_SCORE: Final = 0.85
"""The share of a piece's letters that must be right, 1 - edit distance / letters."""

SHORT: Final = 20
"""Characters; a shorter piece must be found word for word: of a few words every one counts."""

_LONGEST: Final = 5_000
"""Letters; no sentence has more, and the time and memory of an alignment grow with the square."""

_ANCHOR: Final = 5
_OCCURRENCES: Final = 50
_LONGEST_REST: Final = 24
_MARGIN_OF_MARKS: Final = 3
_LIKE: Final = 0.3
_LEAST: Final = 0.5
_HYPHENS: Final = frozenset("-\u2010\u00ad'\u2019")


@dataclass(frozen=True, slots=True)
class Located:
    """What became of a piece.

    score: the share of its letters that are right, in [0, 1].
    start, end, first, last: where it is, as a slice of the text and one of its letters. Of an absent piece the most similar
        place, or 0:0 if nothing is similar.
    reason: why the similar place does not count, a word of `wording`.
    """

    kind: str
    score: float
    start: int = 0
    end: int = 0
    first: int = 0
    last: int = 0
    reason: str = ""


_NOWHERE: Final = Located(ABSENT, 0.0)


class Haystack:
    """A text to be searched again and again. Folding and index are made once, the index when it is first needed."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.folded = fold(text)

    @cached_property
    def _hashes(self) -> Hashes:
        return hash_grams(self.folded.letters)

    def find_exact(self, piece: Folded, *, begin: int = 0, end: int | None = None, last: bool = False) -> Located:
        """The first (or last) place at which letters ``begin:end`` say the same. Short pieces must be whole words."""
        letters, quoted = self.folded.letters, piece.letters
        reason = ""
        stop = len(letters) if end is None else end
        for _ in range(_OCCURRENCES if quoted else 0):
            at = letters.rfind(quoted, begin, stop) if last else letters.find(quoted, begin, stop)
            if at < 0:
                break
            reason = self._differs_at(piece, at)
            if not reason:
                return self._located(VERBATIM, 1.0, at, at + len(quoted))
            begin, stop = (begin, at + len(quoted) - 1) if last else (at + 1, stop)
        return replace(_NOWHERE, reason=reason)

    def find_near(self, piece: Folded, *, begin: int = 0) -> Located:
        """The first place from ``begin`` on at which the text says nearly the same; if there is none, the most similar one."""
        if len(piece.letters) > _LONGEST:
            return _NOWHERE
        best = _NOWHERE
        found = []
        for low, high in find_windows(piece.letters, self._hashes, begin):
            located = self._align(piece, low, high)
            if located.kind == NEAR:
                found.append(located)
            elif located.score >= best.score:
                best = located
        return min(found, key=lambda one: (one.first, -one.score)) if found else best

    def has_word(self, word: str) -> bool:
        """The text has it as a word of its own, in small letters; one that is often part of others may be overlooked."""
        at = -1
        for _ in range(_OCCURRENCES):
            at = self.folded.letters.find(word, at + 1)
            if at < 0:
                return False
            if self._is_word(at, at + len(word)):
                return True
        return False

    def find_fault(self, first: int, last: int) -> str:
        """The reason for which no ellipsis may stand for letters ``first:last``, or empty."""
        if not 0 < first < last < len(self.folded.letters):
            return ""
        return find_fault(self.text, self.folded.place(first - 1) + 1, self.folded.place(last))

    def find_seam_fault(self, before: Located, behind: Located) -> str:
        """The reason for which the one may not follow upon the other as sentences of a quotation do, or empty."""
        return find_seam_fault(self.text, before.end, behind.start)

    def _located(self, kind: str, score: float, first: int, last: int, reason: str = "") -> Located:
        start, end = self.folded.slice_of(first, last)
        return Located(kind, score, start, end, first, last, reason)

    def _differs_at(self, piece: Folded, at: int) -> str:
        end = at + len(piece.letters)
        head, tail = self._rest_of_word(at, -1), self._rest_of_word(end, 1)
        if (head or tail) and len(piece.raw.strip()) < SHORT:
            return ADDED
        if reason := cuts_word(head, piece.letters, tail) or self._cuts(at, end) or self._misquotes(piece, at, end):
            return reason
        return NEGATION if splits_negation(piece, 0, self.folded, at, len(piece.letters)) else ""

    def _cuts(self, first: int, last: int) -> str:
        """Letters ``first:last`` begin or end within a word: "men" of "women", "supervised" of "self-supervised"."""
        return LEFT_OUT if is_within_word(self.folded, first) or is_within_word(self.folded, last) else ""

    def _misquotes(self, piece: Folded, first: int, last: int) -> str:
        """What is wrong around the letters ``first:last`` in which the piece was found."""
        letters = self.folded.letters
        before = [word for word in BOUND_BEFORE if letters.endswith(word, 0, first)]
        behind = [word for word in BOUND_BEHIND if letters.startswith(word, last)]
        if any(self._is_word(first - len(word), first) for word in before) and self._is_spaced(first):
            return NEGATION
        if any(self._is_word(last, last + len(word)) for word in behind) and self._is_spaced(last):
            return NEGATION
        return self._foreign_mark(piece, first, last)

    def _is_word(self, first: int, last: int) -> bool:
        return not self._rest_of_word(first, -1) and not self._rest_of_word(last, 1)

    def _is_spaced(self, at: int) -> bool:
        """Nothing but white space lies before a letter."""
        return self.text[self.folded.place(at - 1) + 1 : self.folded.place(at)].isspace()

    def _rest_of_word(self, at: int, step: int) -> str:
        """The letters of the word around ``at`` that lie before (step -1) or behind it. A hyphen joins, also at a line's end."""
        letters, raw = self.folded.letters, self.folded.raw
        if not 0 < at < len(letters) or self._is_apart(at, step):
            return ""
        end = at
        while 0 < end < len(letters) and abs(end - at) < _LONGEST_REST:
            before, behind = self.folded.place(end - 1), self.folded.place(end)
            if " " in letters[end - 1 : end + 1] or (
                behind - before > 1 and raw[before + 1 : behind].rstrip() not in _HYPHENS
            ):
                break
            end += step
        return letters[min(at, end) : max(at, end)]

    def _is_apart(self, at: int, step: int) -> bool:
        """A quick look at the characters beside a letter: white space parts it from the next, unless there is a hyphen before."""
        if step > 0:
            place = self.folded.place(at - 1) + 1
            return self.text[place : place + 1].isspace()
        place = self.folded.place(at)
        before = self.text[max(place - 8, 0) : place]
        return before[-1:].isspace() and before.rstrip()[-1:].isalnum()

    def _word_before(self, at: int, starts: list[int]) -> str:
        """The word that ends before a letter at which a word begins."""
        place = bisect_left(starts, at)
        return self.folded.letters[starts[place - 1] : at].strip() if place else ""

    def _word_behind(self, at: int, starts: list[int]) -> str:
        """The word that begins at a letter."""
        place = bisect_left(starts, at) + 1
        return self.folded.letters[at : starts[place]].strip() if place < len(starts) else ""

    def _foreign_mark(self, piece: Folded, first: int, last: int) -> str:
        """A citation in the piece that the text does not have there: numbers cannot be told from what is in brackets."""
        if not piece.marks:
            return ""
        start = self.folded.place(first - 1) if first else 0
        end = self.folded.place(last) if last < len(self.folded.letters) else len(self.text)
        marks = self.folded.marks
        begin = bisect_left(marks, start, key=lambda mark: mark.start)
        here = iter(takewhile(lambda mark: mark.start < end, islice(marks, begin, None)))
        return (
            ""
            if all(any(self._is_same_mark(piece, mark, one, first) for one in here) for mark in piece.marks)
            else NUMBER
        )

    def _is_same_mark(self, piece: Folded, mark: Mark, one: Mark, first: int) -> bool:
        """The same citation; or a number for a name and a year at the same place, of which nobody can tell."""
        if mark.content == one.content:
            return True
        away = piece.letters_before(mark.start) - (self.folded.letters_before(one.start) - first)
        return is_dated(mark) != is_dated(one) and abs(away) <= _MARGIN_OF_MARKS

    def _align(self, piece: Folded, low: int, high: int) -> Located:
        from rapidfuzz.distance import LCSseq

        quoted, letters = piece.letters, self.folded.letters
        size = len(quoted)
        blocks = [block for block in LCSseq.opcodes(quoted, letters[low:high]) if block.tag == "equal"]
        right = sum(block.src_end - block.src_start for block in blocks)
        chain = _chain([block for block in blocks if block.src_end - block.src_start >= _ANCHOR])
        enough = right >= NEAR_SCORE * size or (right > _LEAST * size and right >= _least_right(piece))
        if not chain or not enough:
            return replace(_NOWHERE, score=right / size)
        first = max(low + chain[0].dest_start - chain[0].src_start, 0)
        last = min(low + chain[-1].dest_end + size - chain[-1].src_end, len(letters))
        return self._compare(piece, first, last)

    def _compare(self, piece: Folded, first: int, last: int) -> Located:
        """The piece against letters ``first:last`` and what adjoins them, word by word."""
        from rapidfuzz.distance import Levenshtein

        quoted, letters = piece.letters, self.folded.letters
        size = len(quoted)
        margin = 24
        around = max(first - margin, 0)
        starts = find_word_starts(self.folded, around, min(last + margin, len(letters)))
        own = find_word_starts(piece, 0, size)
        blocks = [block for block in Levenshtein.opcodes(quoted, letters[first:last]) if block.tag == "equal"]
        cuts = _common_starts(blocks, own, starts, first)
        if not cuts:
            return replace(_NOWHERE, reason=REPLACED)
        if cuts[0][0]:
            begins = [start for start in starts if start <= cuts[0][1]]
            cuts.insert(
                0, (0, _nearest(quoted[: cuts[0][0]], [(letters[one : cuts[0][1]], one) for one in begins], cuts[0][1]))
            )
        if cuts[-1][0] < size:
            ends = [start for start in starts if start >= cuts[-1][1]]
            cuts.append(
                (
                    size,
                    _nearest(quoted[cuts[-1][0] :], [(letters[cuts[-1][1] : one], one) for one in ends], cuts[-1][1]),
                )
            )
        cost, differences = 0, []
        for i, i_end, j, j_end in _differing(cuts, quoted, letters):
            words = words_of(piece, [at for at in own if i <= at <= i_end])
            difference = Difference(
                tuple(word.lower() for word in words[:1]) + words[1:] if i == 0 else words,
                words_of(self.folded, [at for at in starts if j <= at <= j_end]),
                i == 0 or i_end == size,
                is_number(self._word_before(j, starts)),
                begins_number(self._word_behind(j_end, starts)),
                self._word_before(j, starts).endswith(("ed", "en")),
            )
            if not is_same_number(difference):
                cost += Levenshtein.distance(quoted[i:i_end], letters[j:j_end])
                differences.append(difference)
        score = max(1 - cost / size, 0.0)
        begin, end = cuts[0][1], cuts[-1][1]
        if begin >= end:
            return replace(_NOWHERE, score=score, reason=REPLACED)
        cut = cuts_word(self._rest_of_word(begin, -1), quoted, self._rest_of_word(end, 1)) or self._cuts(begin, end)
        cut = cut or _cuts_edge(quoted, own, letters, [at for at in starts if begin <= at <= end])
        reason = disagreement(differences, len(own) - 1) or cut or self._misquotes(piece, begin, end)
        if not reason and any(
            splits_negation(
                piece, block.src_start, self.folded, first + block.dest_start, block.src_end - block.src_start
            )
            for block in blocks
        ):
            reason = NEGATION
        return self._located(NEAR if score >= NEAR_SCORE and not reason else ABSENT, score, begin, end, reason)


def _cuts_edge(quoted: str, own: list[int], letters: str, starts: list[int]) -> str:
    """The first word is the end of the text's first word there, or the last word the beginning of its last."""
    first, there = quoted[: own[1]], letters[starts[0] : starts[1]]
    last, last_there = quoted[own[-2] :], letters[starts[-2] : starts[-1]]
    cut = (first != there and there.endswith(first)) or (last != last_there and last_there.startswith(last))
    return LEFT_OUT if cut else ""


def _least_right(piece: Folded) -> float:
    """How many letters of a piece must be right before it is compared: numbers in words may all be in digits."""
    return NEAR_SCORE * (len(piece.letters) - spelled_numbers(piece.raw))


def _common_starts(blocks: Any, own: list[int], starts: list[int], shift: int) -> Pairs:
    """Pairs of a word's start in the piece and one in the text that the alignment puts together."""
    there = set(starts)
    pairs: set[tuple[int, int]] = set()
    for block in blocks:
        move = block.dest_start + shift - block.src_start
        within = own[bisect_left(own, block.src_start) :]
        pairs.update((at, at + move) for at in within if at <= block.src_end and at + move in there)
    return sorted(pairs)


def _differing(cuts: Pairs, quoted: str, letters: str) -> Iterator[tuple[int, int, int, int]]:
    """The stretches between cuts that differ, those that adjoin as one."""
    begin: tuple[int, int] | None = None
    for (i, j), (i_end, j_end) in pairwise(cuts):
        if quoted[i:i_end] != letters[j:j_end]:
            begin = begin or (i, j)
        elif begin:
            yield begin[0], i, begin[1], j
            begin = None
    if begin:
        yield begin[0], cuts[-1][0], begin[1], cuts[-1][1]


def _chain(anchors: list[Any]) -> list[Any]:
    """The longest anchor and those around it, up to a jump that is larger than what lies beyond it: a word that the text has
    twice is anchored at either place.
    """
    if not anchors:
        return []
    sizes = [anchor.src_end - anchor.src_start for anchor in anchors]
    shifts = [anchor.dest_start - anchor.src_start for anchor in anchors]
    first = last = sizes.index(max(sizes))
    while first and abs(shifts[first - 1] - shifts[first]) <= sum(sizes[:first]):
        first -= 1
    while last + 1 < len(anchors) and abs(shifts[last + 1] - shifts[last]) <= sum(sizes[last + 1 :]):
        last += 1
    return anchors[first : last + 1]


def _nearest(quoted: str, candidates: list[tuple[str, int]], none: int) -> int:
    """Of the words that adjoin, those that the rest of a piece stands for; ``none`` if they are all unlike it."""
    from rapidfuzz.distance import Levenshtein

    best = max((Levenshtein.normalized_similarity(quoted, text), place) for text, place in candidates)
    return best[1] if best[0] >= _LIKE else none
