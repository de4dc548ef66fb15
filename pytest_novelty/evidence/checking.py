"""Is a judge's evidence in the text that it was shown, and if not, where does it come from?

source = Source("Cranes by Jig", shown_text)
finding = check_span("We fold paper cranes with a jig.", source, others=[Source("Boats by Jig", other_text)])
finding.status                       # "verbatim", "near-verbatim", "hallucinated" or "missing"
finding.failure                      # "", or one of FAILURES
finding.located(source.text)         # what the source says in its own words
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Final

from pytest_novelty.evidence.aligned import ABSENT, NEAR, VERBATIM, Haystack, Located
from pytest_novelty.evidence.folding import fold
from pytest_novelty.evidence.quoting import locate
from pytest_novelty.evidence.splitting import has_many_parts
from pytest_novelty.evidence.wording import FUNCTION, REPLACED
from pytest_novelty.sections import Section, may_be_heading, only_references, split_sections
from pytest_novelty.verdicts import LONGEST_SPAN

HALLUCINATED: Final = "hallucinated"
MISSING: Final = "missing"
STATUSES: Final = (VERBATIM, NEAR, HALLUCINATED, MISSING)

OTHER_PAPER: Final = "other_paper"
REFERENCE_LIST: Final = "reference_list"
TITLE_ONLY: Final = "title_only"
SCHEMA_ECHO: Final = "schema_echo"
NOWHERE: Final = "nowhere"
EMPTY: Final = "empty"
TOO_LITTLE: Final = "too_little"
TOO_LONG: Final = "too_long"
TOO_MANY_PARTS: Final = "too_many_parts"
FAILURES: Final = (
    NOWHERE, SCHEMA_ECHO, OTHER_PAPER, REFERENCE_LIST, TITLE_ONLY, EMPTY, TOO_LITTLE, TOO_LONG, TOO_MANY_PARTS,
)  # fmt: skip
"""Where evidence comes from that is not in the text. The first, in this order, of its pieces' failures names the span. The last
four are of spans that are no evidence whatever they are taken from: their status is "missing".
"""

_CONTENT: Final = 4
"""Letters of a word with a content."""
_FEWEST: Final = {0: 6, 1: 3, 2: 2}
"""How many words a span must have to be evidence, by how many of them (two or more) have a content."""

_LIST_HEADINGS: Final = ("reference", "bibliography", "literature", "workscited", "furtherreading")
_LONGEST_HEADING: Final = 110
_HEAD: Final = 2_000
_NEARER: Final = 1 / 3
"""What a piece may have wrong in another paper, as a share of what it has wrong in the paper that it is cited from, to be the
other's: that one's words with a slip of the pen.
"""

_PLACEHOLDERS: Final = frozenset(
    {"na", "none", "null", "nil", "noevidence", "notapplicable", "noevidencefound", "notfound", "notavailable", "empty"}
)
_ECHOES: Final = frozenset(
    {
        "string",
        "str",
        "text",
        "span",
        "verbatimspan",
        "verbatimquote",
        "evidence",
        "evidencea",
        "evidenceb",
        "quote",
        "reason",
    }
)
_EMPTY_WORDS: Final = FUNCTION | frozenset(
    "same some very each most more other only what when where while about both these they them your ours".split()  # noqa: SIM905 - words read better in a line
)
_WORD: Final = re.compile(r"[\u3040-\u9fff\uac00-\ud7a3]|[^\W_\u3040-\u9fff\uac00-\ud7a3]+")
"""Where words are written without spaces, a letter counts as one."""
_BRACKETED: Final = re.compile(r"\s*(?:<[^<>]+>|\{\{?[^{}]+\}\}?)\s*")

_SENTENCE_END: Final = re.compile(r"[)\]\"\u201d\u2019]{0,2}(?:[.!?](?!\w)[\"\u201d\u2019)]{0,2}|[\u3002\uff01\uff1f])")
_LINE_END: Final = re.compile(r"\r\n|\r|\n")


class Source:
    """A paper as a judge was shown it.

    title: its title.
    text: what was shown of it, and nothing else; places in findings are indices of this string.
    references: a list of references that was *not* shown, for naming what was copied from it. One within ``text`` is found: the
        judge saw it, but it is no evidence.
    """

    def __init__(self, title: str, text: str, references: str = "") -> None:
        self.title = title
        self.text = text
        self._references = references

    @classmethod
    def of_paper(cls, title: str, shown: str, full_text: str) -> Source:
        """A source whose list of references is looked up in the paper's full text."""
        return cls(title, shown, "\n\n".join(section.text for section in only_references(split_sections(full_text))))

    @cached_property
    def body(self) -> Haystack:
        """The text without its title and lists of references, which are blanked, so that places hold."""
        places = _places_of(self._listed, self.text) if self._listed else []
        if self._title_line:
            places.append(self._title_line)
        return Haystack(_blanked(self.text, places)) if places else self._whole

    @cached_property
    def heading(self) -> Haystack:
        """The title."""
        return Haystack(self.title)

    @cached_property
    def references(self) -> Haystack:
        """All lists of references, shown or not."""
        return Haystack("\n\n".join([*(listed.text for listed in self._listed), self._references]))

    @cached_property
    def _whole(self) -> Haystack:
        return Haystack(self.text)

    @cached_property
    def _listed(self) -> list[Section]:
        if not self._may_list():
            return []
        return [section for section in only_references(self._sections) if section.text]

    @cached_property
    def _sections(self) -> list[Section]:
        return split_sections(self.text)

    def heads(self, start: int, end: int) -> bool:
        """The slice lies within the heading of a section."""
        line = _line_around(self.text, start, start)
        if not start < end <= line[1] or line[1] - line[0] > _LONGEST_HEADING:
            return False
        if not may_be_heading(self.text[slice(*line)].rstrip("\r\n")):  # so of nearly all, and much faster
            return False
        return any(begin <= start and end <= stop for begin, stop in self._headings)

    @cached_property
    def prose(self) -> Haystack:
        """The body without the headings of its sections."""
        return Haystack(_blanked(self.body.text, self._headings))

    @cached_property
    def _headings(self) -> list[tuple[int, int]]:
        starts = _line_starts(self.text)
        return [(starts[one.lines[0] - 1], starts[one.lines[0]]) for one in self._sections if one.title]

    def _may_list(self) -> bool:
        """A short line has one of the words with which lists of references are headed: much faster than finding all sections."""
        folded = self._whole.folded
        for word in _LIST_HEADINGS:
            at = folded.letters.find(word)
            while at >= 0:
                start, end = _line_around(self.text, *folded.slice_of(at, at + len(word)))
                if end - start <= _LONGEST_HEADING and sum(map(str.isalnum, self.text[start:end])) <= len(word) + 24:
                    return True
                at = folded.letters.find(word, at + 1)
        return False

    @cached_property
    def _title_line(self) -> tuple[int, int] | None:
        """Where the title stands as a line of its own at the head of the text."""
        folded, title = self._whole.folded, fold(self.title).letters if self.title else ""
        at = folded.letters.find(title, 0, _HEAD) if title else -1
        if at < 0:
            return None
        found = folded.slice_of(at, at + len(title))
        start, end = _line_around(self.text, *found)
        beside = self.text[start : found[0]] + self.text[found[1] : end]
        return None if any(map(str.isalnum, beside)) else found


def _blanked(text: str, places: Sequence[tuple[int, int]]) -> str:
    kept, reached = [], 0
    for start, end in sorted(places):
        kept += [text[reached:start], " " * (end - max(start, reached))]
        reached = max(reached, end)
    return "".join([*kept, text[reached:]])


def _line_starts(text: str) -> list[int]:
    return [0, *(found.end() for found in _LINE_END.finditer(text)), len(text)]


def _places_of(sections: Sequence[Section], text: str) -> list[tuple[int, int]]:
    """The slices of a text, with whatever line ends, in which the texts of its sections stand."""
    starts = _line_starts(text)
    places = []
    for section in sections:
        begin, end = section.lines
        held = text[starts[begin] : starts[end]]
        start = starts[begin] + len(held) - len(held.lstrip())
        places.append((start, start + len(held.strip())))
    return places


def _line_around(text: str, start: int, end: int) -> tuple[int, int]:
    after, before = text.find("\n", end), text.rfind("\n", 0, start) + 1
    after = len(text) if after < 0 else after
    other = text.find("\r", end, after)
    return max(before, text.rfind("\r", before, start) + 1), after if other < 0 else other


@dataclass(frozen=True, slots=True)
class Piece:
    """A sentence of a span, or what stands between ellipses.

    status: "verbatim" (word for word; white space, hyphenation, punctuation, capitals, typography and left-out citations aside),
        "near-verbatim" or "hallucinated".
    score: share of letters that are right, in [0, 1].
    start, end: where it is in the source's text; of a hallucinated piece the most similar place, 0:0 if nothing is similar.
    reason: what turned a similar sentence round ("negation", "number", "opposite", "name", "sign", "limit",
        "order"), or what was "added",
        "left out" or "replaced"; empty if nothing similar was found.
    failure: where it comes from instead, empty unless hallucinated.
    """

    text: str
    status: str
    score: float
    start: int
    end: int
    reason: str = ""
    failure: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """What became of a span: the worst status of its pieces, the lowest score, and why it failed."""

    status: str
    score: float | None
    failure: str = ""
    reason: str = ""
    other: int | None = None
    """Of "other_paper": which of the others, by index."""
    pieces: tuple[Piece, ...] = field(default=())

    @property
    def found(self) -> bool:
        return self.status in (VERBATIM, NEAR)

    def located(self, text: str) -> str:
        """The source's own words for the span, with the mark that ends a sentence; those of several pieces joined by an ellipsis.
        Empty unless found.
        """
        return " ... ".join(_words_of(piece, text) for piece in self.pieces if piece.end) if self.found else ""


def _words_of(piece: Piece, text: str) -> str:
    ended = _SENTENCE_END.match(text, piece.end)
    return text[piece.start : ended.end() if ended else piece.end]


def check_span(
    span: str | None, source: Source, *, others: Sequence[Source] = (), instructions: Haystack | None = None
) -> Finding:
    """Look for a span in the text that was shown, with the aligned matcher.

    others: the other papers of the request, to name what was copied from one of them.
    instructions: the prompt's own words and the descriptions in its answer schema, *without* the papers, to name an echo.
    """
    text = span or ""
    if len(text) > LONGEST_SPAN:  # before anything that takes time
        return Finding(MISSING, None, TOO_LONG)
    if has_many_parts(text) and source.body.find_exact(fold(text)).kind == ABSENT:  # as it stands a text may have more
        return Finding(MISSING, None, TOO_MANY_PARTS)
    pieces = [_of_another(_piece(words, located, source), others) for words, located in locate(text, source.body)]
    if not pieces or _plain(text) in _PLACEHOLDERS:
        return Finding(MISSING, None, EMPTY)
    if any(piece.status == HALLUCINATED for piece in pieces):
        return _name(text, pieces, source, others, instructions)
    return _found(pieces)


def _found(pieces: list[Piece]) -> Finding:
    """All pieces are in the text. A title among them, which has no place there, is no part of what is cited."""
    if _says_little(" ".join(piece.text for piece in pieces if piece.end)):
        return Finding(MISSING, None, TOO_LITTLE)
    worst = NEAR if any(piece.status == NEAR for piece in pieces) else VERBATIM
    return Finding(worst, min(piece.score for piece in pieces), pieces=tuple(pieces))


def _says_little(span: str) -> bool:
    """So few words that many texts have them, whatever they are about."""
    words = [word.casefold() for word in _WORD.findall(span)]
    with_content = islice(filter(_has_content, words), max(_FEWEST))
    return len(words) < _FEWEST[sum(1 for _ in with_content)]


def _has_content(word: str) -> bool:
    letters = sum(map(str.isalpha, word))
    return word not in _EMPTY_WORDS and letters >= (_CONTENT if word.isascii() else 1)


def _piece(words: str, located: Located, source: Source) -> Piece:
    if located.kind != ABSENT and source.heads(located.start, located.end):
        elsewhere = locate(words, source.prose)
        if len(elsewhere) != 1 or elsewhere[0][1].kind == ABSENT:
            return Piece(words, HALLUCINATED, located.score, located.start, located.end, failure=TITLE_ONLY)
        located = elsewhere[0][1]
    status = HALLUCINATED if located.kind == ABSENT else located.kind
    return Piece(words, status, located.score, located.start, located.end, located.reason)


def _of_another(piece: Piece, others: Sequence[Source]) -> Piece:
    """What is only nearly in the text, and is word for word or much nearer in another paper, was taken from that one: two papers
    that say something alike differ in the words that count.
    """
    if piece.status != NEAR or not others:
        return piece
    wrong = 1 - max(_likeness(one.body, piece.text) for one in others)
    taken = wrong <= _NEARER * (1 - piece.score)
    return replace(piece, status=HALLUCINATED, reason=REPLACED) if taken else piece


def _name(
    span: str, pieces: list[Piece], source: Source, others: Sequence[Source], instructions: Haystack | None
) -> Finding:
    other: int | None = None
    named: list[Piece] = []
    for piece in pieces:
        if piece.status != HALLUCINATED or piece.failure:
            named.append(piece)
            continue
        likeness = [_likeness(one.body, piece.text) for one in others]
        place = likeness.index(max(likeness)) if any(likeness) else None
        other = place if other is None else other
        if place is not None:
            failure = OTHER_PAPER
        elif _holds(source.references, piece.text):
            failure = REFERENCE_LIST
        elif _holds(source.heading, piece.text):
            failure = TITLE_ONLY
        elif _is_echo(span, piece.text, instructions):
            failure = SCHEMA_ECHO
        else:
            failure = NOWHERE
        named.append(replace(piece, failure=failure))
    if any(piece.status != HALLUCINATED for piece in named):
        # A title beside a sentence of the text takes nothing from that sentence; alone it is no evidence.
        named = [_as_heading(piece) if piece.failure == TITLE_ONLY else piece for piece in named]
    failing = [piece for piece in named if piece.failure]
    if not failing:
        return _found(named)
    worst_piece = min(failing, key=lambda piece: FAILURES.index(piece.failure))
    score = min(piece.score for piece in named)
    other = other if worst_piece.failure == OTHER_PAPER else None
    return Finding(HALLUCINATED, score, worst_piece.failure, worst_piece.reason, other, tuple(named))


def _as_heading(piece: Piece) -> Piece:
    return replace(piece, status=VERBATIM, score=1.0, start=0, end=0, reason="", failure="")


def _holds(haystack: Haystack, words: str) -> bool:
    return _likeness(haystack, words) > 0


def _likeness(haystack: Haystack, words: str) -> float:
    """The lowest score of the pieces, 0 if one of them is absent."""
    if not haystack.folded.letters:  # mostly so: no list of references, no title
        return 0.0
    found = locate(words, haystack)
    return min((0.0 if located.kind == ABSENT else located.score for _, located in found), default=0.0)


def _is_echo(span: str, words: str, instructions: Haystack | None) -> bool:
    if _BRACKETED.fullmatch(span) or _plain(words) in _ECHOES:
        return True
    return instructions is not None and _holds(instructions, words)


def _plain(text: str) -> str:
    """Letters and digits of a text that is short enough to stand for nothing; of others the text."""
    return "".join(letter for letter in text.casefold() if letter.isalnum()) if len(text) < 40 else text
