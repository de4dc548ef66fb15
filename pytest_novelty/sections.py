"""The sections of a paper's or proposal's full text: where they begin, which is the introduction, what are the references.

Texts come from Markdown, from plain text and from scans. A heading is a line of its own: with ``#`` in front (or in
``\\section{}`` or ``<h1>``), or numbered, or one of the names that papers use, also in bold or with letters spaced as a scan
leaves them ("1 I NTRODUCTION"). Where a text has headings with ``#``, no other line is one, unless they name no part of a
paper's body: a title, or an abstract, may be all that is marked. A list of references is found in any case.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_novelty.section_names import ABSTRACTS, APPENDED, NAMES, REFERENCES

_MARKDOWN: Final = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_MARKED: Final = re.compile(
    r"\s*(?:\\((?:sub){0,2})section\*?\{([^{}]+)\}|<h([1-6])(?:\s[^<>]*)?>([^<>]+)</h\3>)\s*", re.IGNORECASE
)
_FENCE: Final = re.compile(r" {0,3}(```+|~~~+)")
_NUMBER: Final = re.compile(r"(?:section\s+)?(\d{1,2}(?:\.\d{1,2})*|[ivx]{1,5}(?=[.)]))[.):]?\s+(?=\S)", re.IGNORECASE)
_APPENDIX: Final = re.compile(r"(appendix|appendices|supplementary)\b", re.IGNORECASE)
_LETTERED: Final = re.compile(r"[A-Z](?:\.\d{1,2})*[.):]?\s+(?=\S)")
"""What an appendix's heading begins with if it does not say so."""

_YEAR: Final = re.compile(r"\b(?:18|19|20)\d\d[a-z]?\b")
_INITIAL_AND_NAME: Final = re.compile(r"[A-Z]\.\s*[\w\u2019'-]+[.,]")
_ENTRY: Final = re.compile(
    r"\[\w+\]|\d{1,3}[.)]|[-*\u2022]\s|[A-Z]\.\s*[A-Z]|[A-Z][\w\u2019'-]{2,},?\s(?:[A-Z]\.?[ -]?){1,3}(?:[,.:;(]|and\b|$)"
)
"""How an entry of a list of references begins: with a mark, with initials, or with a name and initials."""

_NAMES_IN_FULL: Final = re.compile(r"[A-Z][\w\u2019'-]+(?:,? [A-Z][\w\u2019'-]*\.?)+(?:,|\.| and\b| et al)")
_PAGE: Final = re.compile(r"\d{1,4}")
_LONGEST: Final = 100
"""Characters of a heading; a longer line is a sentence."""

_PLAIN: Final = re.compile(r"[\w\s.,:&()'\u2019/-]+")
_INTRODUCTIONS: Final = re.compile(r"[ivx]{0,3}(general)?introduction((and|to)\w+)?")
_BODY: Final = NAMES - REFERENCES - ABSTRACTS - APPENDED
_UNMISTAKABLE: Final = (REFERENCES - {"reference", "literature"}) | {
    "abstract",
    "introduction",
    "introductionandmotivation",
}
"""Names that are headings wherever they are a line; the others may also be a cell of a table."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the text up to the next one. ``level`` counts from 1; ``title`` and ``level`` 0 of what stands before the
    first heading are empty. ``lines``: the slice of the lines of the whole in which ``text`` stands.
    """

    level: int
    title: str
    text: str
    lines: tuple[int, int]

    @property
    def name(self) -> str:
        """The title without its number, in small letters alone: "2. Related Work" and "R ELATED W ORK" are "relatedwork"."""
        return _name(self.title)

    @property
    def numbered(self) -> bool:
        """The title has a number."""
        return _NUMBER.match(self.title) is not None

    @property
    def known(self) -> bool:
        """The title has one of the names that papers use."""
        return self.name in NAMES or self.is_introduction

    @property
    def is_introduction(self) -> bool:
        """The title is an introduction's."""
        return bool(self.title) and _INTRODUCTIONS.fullmatch(self.name) is not None

    @property
    def whole(self) -> str:
        """Heading and text."""
        return "\n\n".join(part for part in (f"{'#' * min(self.level, 6)} {self.title}".strip(), self.text) if part)


def split_sections(text: str) -> list[Section]:
    """The sections of a text, in order; one without a title first, if anything stands before the first heading."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found = _headings(lines)
    ends = [*(number for number, _, _ in found), len(lines)]
    sections = [
        Section(level, title, "\n".join(lines[number + 1 : end]).strip(), (number + 1, end))
        for (number, level, title), end in zip([(-1, 0, ""), *found], ends, strict=True)
    ]
    return sections if sections[0].text else sections[1:]


def find_introduction(sections: Sequence[Section]) -> str:
    """The text of the introduction with its subsections, headings of these included; empty if there is none."""
    for place, own in enumerate(sections):
        if own.is_introduction:
            below = sections[place + 1 : _end(sections, place)]
            if found := "\n\n".join(part for part in (own.text, *(item.whole for item in below)) if part):
                return found
    return ""


def without_references(sections: Sequence[Section]) -> list[Section]:
    """All but the lists of references, each with what stands below it; appendices behind a list stay."""
    return _part(sections, REFERENCES)[0]


def only_references(sections: Sequence[Section]) -> list[Section]:
    """What `without_references` leaves out."""
    return _part(sections, REFERENCES)[1]


def without_abstract(sections: Sequence[Section]) -> list[Section]:
    """All but the abstract, which ends at the next heading of whatever level; only the parts that a structured one has before
    the introduction belong to it.
    """
    return _part(sections, ABSTRACTS)[0]


def has_text_behind_abstract(sections: Sequence[Section]) -> bool:
    """Something is left without the abstract and the references, and it is more than a title and authors."""
    left = without_references(without_abstract(sections))
    place = next((n for n, item in enumerate(sections) if item.name == "abstract"), 0)
    front = {id(item) for item in sections[:place] if not item.known and not item.numbered}
    return any(item.text and id(item) not in front for item in left)


def join_sections(sections: Sequence[Section]) -> str:
    """One text of the sections, their headings as Markdown."""
    return "\n\n".join(section.whole for section in sections)


def _part(sections: Sequence[Section], names: frozenset[str]) -> tuple[list[Section], list[Section]]:
    """Those under other titles than these, and those under these."""
    find_end = _end_of_abstract if names is ABSTRACTS else _end_of_references
    kept: list[Section] = []
    taken: list[Section] = []
    end = 0
    for place, section in enumerate(sections):
        if place >= end and section.title and section.name in names:
            end = find_end(sections, place)
        (taken if place < end else kept).append(section)
    return kept, taken


def _end(sections: Sequence[Section], place: int) -> int:
    """The place of the first section that is not below the one at ``place``."""
    behind = range(place + 1, len(sections))
    return next((later for later in behind if sections[later].level <= sections[place].level), len(sections))


def _end_of_abstract(sections: Sequence[Section], place: int) -> int:
    """Conversions put a whole paper below its abstract; "Methods" below it is a part of it if the introduction comes later."""
    end = _end(sections, place)
    structured = end < len(sections) and (sections[end].is_introduction or _number(sections[end].title) == (1,))
    if structured and not any(item.numbered or item.is_introduction for item in sections[place + 1 : end]):
        return end
    return min(place + 1, len(sections))


def _end_of_references(sections: Sequence[Section], place: int) -> int:
    """Conversions put an appendix, and other parts, at any depth behind the list of references; they are not part of the list."""
    end = _end(sections, place)
    return next(
        (
            later
            for later in range(place + 1, end)
            if _is_appendix(sections[later].title) or (sections[later].known and sections[later].name not in REFERENCES)
        ),
        end,
    )


def _is_appendix(title: str) -> bool:
    if _APPENDIX.match(title):
        return True
    return bool(_LETTERED.match(title)) and not _YEAR.search(title) and not _INITIAL_AND_NAME.match(title)


def _is_plain_appendix(title: str) -> bool:
    """So even where nothing marks it as a heading, among the entries of a list of references."""
    if _APPENDIX.match(title):
        return not _YEAR.search(title) and not re.search(r",\s+[A-Z]", title)
    if not (lettered := _LETTERED.match(title)) or _YEAR.search(title):
        return False
    rest = title[lettered.end() :]
    return (rest[0].isupper() or rest[0].isdigit()) and not re.search(r"[.,](?:\s|$)|\bet al\b", rest)


def _is_before_prose(lines: Sequence[str], number: int) -> bool:
    """What comes next is sentences, or a heading below this one, and no entry of a list of references."""
    start = next((n for n in range(number + 1, len(lines)) if lines[n].strip()), None)
    if start is None:
        return False
    paragraph: list[str] = []
    for line in lines[start : start + 6]:
        if not line.strip():
            break
        paragraph.append(line.strip())
    text = " ".join(paragraph)
    if re.match(r"[A-Z]\.1\b", text):
        return True  # the first heading below an appendix's
    is_entry = _ENTRY.match(text) or (_NAMES_IN_FULL.match(text) and _YEAR.search(text))
    return not is_entry and (text[-1] in ".:;!?)" or len(text) > _LONGEST)


def _headings(lines: Sequence[str]) -> list[tuple[int, int, str]]:
    """Line, level and title of each heading."""
    marked = list(_markdown_headings(lines))
    if not marked:
        return list(_plain_headings(lines, {}))
    outside = dict(_outside_code(lines))
    plain = list(
        _plain_headings(
            [outside.get(number, "```") for number in range(len(lines))], {number: title for number, _, title in marked}
        )
    )
    names = {_name(title) for _, _, title in marked}
    if not any(name in _BODY or _INTRODUCTIONS.fullmatch(name) for name in names):
        if not any(_name(title) in NAMES for _, _, title in plain):
            return marked  # a list's items, not headings
    elif names & REFERENCES:
        return marked
    else:
        first = next((number for number, _, title in plain if _name(title) in REFERENCES & _UNMISTAKABLE), len(lines))
        last = next((number for number, _, _ in marked if number > first), len(lines))
        plain = [item for item in plain if first <= item[0] < last]
    deepest = max(level for _, level, _ in marked)
    return sorted([*marked, *((number, level + deepest, title) for number, level, title in plain)])


def may_be_heading(line: str) -> bool:
    """What can be said of a line without the others. Where it is False, no text has it as a heading."""
    if _MARKDOWN.fullmatch(line) or _MARKED.fullmatch(line):
        return True
    title = line.strip().strip("*_").strip()
    if not _PLAIN.fullmatch(title) or len(title) > _LONGEST or title[-1] in ".,;?!":
        return False
    return _NUMBER.match(title) is not None or _name(title) in NAMES or _is_plain_appendix(title)


def _outside_code(lines: Sequence[str]) -> Iterator[tuple[int, str]]:
    fence = ""
    for number, line in enumerate(lines):
        if opened := _FENCE.match(line):
            if not fence:
                fence = opened[1]
            elif opened[1].startswith(fence):
                fence = ""
        elif not fence:
            yield number, line


def _markdown_headings(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    for number, line in _outside_code(lines):
        if (found := _MARKDOWN.fullmatch(line)) and (title := found[2].strip("*_ ")):
            numbered = _NUMBER.match(title)  # conversions give "1" and "1.1" the same depth
            yield number, len(found[1]) + (numbered[1].count(".") if numbered else 0), title
        elif ("\\" in line or "<" in line) and (found := _MARKED.fullmatch(line)):
            depth = int(found[3]) if found[3] else 1 + len(found[1]) // 3
            yield number, depth, (found[2] or found[4]).strip()


def _plain_headings(lines: Sequence[str], marked: Mapping[int, str]) -> Iterator[tuple[int, int, str]]:
    """Lines that are numbered titles or known names and begin a paragraph, or can be no part of one; the level is the depth of
    the number. ``marked`` are the titles that are marked as such, which are not among what is found.
    """
    found: list[tuple[int, int, str]] = []
    crowded: set[int] = set()
    latest = ""  # the last heading, and the last with a number
    latest_numbered = ""
    listing = False  # in a list of references, where numbered lines are its items
    for number, line in enumerate(lines):
        if number in marked:
            title = marked[number]
        else:
            title = line.strip().strip("*_").strip()
            if not _PLAIN.fullmatch(title) or len(title) > _LONGEST or title[-1] in ".,;?!":
                continue
            numbered = _NUMBER.match(title)
            known = _name(title) in NAMES
            alone = number + 1 == len(lines) or not lines[number + 1].strip()
            if number and lines[number - 1].strip() and number - 1 not in marked:
                is_heading = False
            elif listing:
                is_heading = known or (
                    alone
                    and _is_plain_appendix(title)
                    and (_APPENDIX.match(title) is not None or _is_before_prose(lines, number))
                )
            else:
                is_heading = known or (alone and numbered is not None and title[numbered.end()].isupper())
            if not is_heading:
                behind_heading = bool(found) and found[-1][0] == number - 1
                started = behind_heading or number - 1 in marked or _ends(lines[number - 1] if number else "")
                below = lines[number + 1].strip() if number + 1 < len(lines) else ""
                above = "" if behind_heading or not number else lines[number - 1].strip()
                if listing:
                    is_heading = started and title[0].isupper() and (known or _is_named_appendix(title))
                elif known:
                    is_heading = _stands_out(title, latest_numbered, started=started)
                elif numbered and title[numbered.end()].isupper():
                    # A list's items have other numbers or other signs behind them, or stand together.
                    is_heading = (
                        started
                        and (bool(latest_numbered) or _name(latest) in ABSTRACTS)
                        and _follows(title, latest_numbered)
                        and not _NUMBER.match(above)
                        and (not _NUMBER.match(below) or _follows(below, title))
                        and bool(below)
                    )
                if is_heading:
                    crowded.add(number)
            if not is_heading:
                continue
            found.append((number, (numbered[1].count(".") if numbered else 0) + 1, title))
        latest = title
        listing = _name(title) in REFERENCES
        if _NUMBER.match(title):
            latest_numbered = title
        elif _name(title) in ABSTRACTS:
            latest_numbered = ""
    places = {number for number, _, _ in found}
    for item in found:
        near = [item[0] + step in places for step in (-2, -1, 1, 2)]
        contents = (near[0] and near[1]) or (near[1] and near[2]) or (near[2] and near[3])  # a table of contents
        if not (item[0] in crowded and contents):
            yield item


def _stands_out(title: str, latest_numbered: str, *, started: bool) -> bool:
    """A known name on a line of its own within a paragraph is a heading, not a word of a sentence or a table of contents."""
    numbered = _NUMBER.match(title)
    rest = title[numbered.end() :] if numbered else title
    if not rest[0].isupper() or any(sign.isdigit() for sign in rest):
        return False
    return started or _letters(rest) in _UNMISTAKABLE or (numbered is not None and _follows(title, latest_numbered))


def _is_named_appendix(title: str) -> bool:
    return _APPENDIX.match(title) is not None and _is_plain_appendix(title)


def _ends(line: str) -> bool:
    """Nothing of a sentence is left open behind this line."""
    text = line.strip()
    return not text or text[-1] in '.!?)]"\u201d' or _PAGE.fullmatch(text) is not None


def _follows(title: str, before: str) -> bool:
    """The title's number is the one behind the other's, or its first below; any first one is, if the other has none."""
    own, other = _number(title), _number(before)
    if not other:
        return own == (1,)
    if _sign(title) != _sign(before) and len(own) == len(other):
        return False
    return own == (*other, 1) or any(own == (*other[:depth], other[depth] + 1) for depth in range(len(other)))


def _number(title: str) -> tuple[int, ...]:
    """1.2 as 1, 2; empty without a number."""
    numbered = _NUMBER.match(title)
    if not numbered:
        return ()
    if numbered[1][0].isdigit():
        return tuple(int(part) for part in numbered[1].split("."))
    values = [{"i": 1, "v": 5, "x": 10}[letter] for letter in numbered[1].casefold()]
    return (sum(-own if own < behind else own for own, behind in zip(values, [*values[1:], 0], strict=True)),)


def _sign(title: str) -> str:
    """What is between the number and the title."""
    numbered = _NUMBER.match(title)
    return title[numbered.end(1) : numbered.end()].strip() if numbered else ""


def _name(title: str) -> str:
    numbered = _NUMBER.match(title)
    return _letters(title[numbered.end() :] if numbered else title)


def _letters(text: str) -> str:
    return re.sub(r"[^a-z]", "", unicodedata.normalize("NFKC", text).casefold())
