"""The sections of a paper's or proposal's full text: where they begin, which is the introduction, what are the references.

Texts come from Markdown, from plain text and from scans. A heading is a line of its own: with ``#`` in front, or numbered, or one
of the names that papers use, also in bold or with letters spaced as a scan leaves them ("1 I NTRODUCTION"). Where a text has
headings with ``#``, no other line is one.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MARKDOWN: Final = re.compile(r" {0,3}(#{1,6})[ \t]+(.*?)[ \t]*#*[ \t]*")
_FENCE: Final = re.compile(r" {0,3}(```+|~~~+)")
_NUMBER: Final = re.compile(r"(?:section\s+)?(\d{1,2}(?:\.\d{1,2})*|[ivx]{1,5}(?=[.)]))[.):]?\s+(?=\S)", re.IGNORECASE)
_APPENDIX: Final = re.compile(r"(appendix|appendices|supplementary)\b|[a-z][.)]?\s+\S", re.IGNORECASE)
_LONGEST: Final = 100
"""Characters of a heading; a longer line is a sentence."""

_PLAIN: Final = re.compile(r"[\w\s.,:&()'\u2019/-]+")
_INTRODUCTIONS: Final = re.compile(r"[ivx]{0,3}(general)?introduction((and|to)\w+)?")
_REFERENCES: Final = _words(
    "references reference bibliography literature literaturecited referencescited workscited referencelist listofreferences "
    "referencesandnotes notesandreferences"
)
_ABSTRACTS: Final = frozenset({"abstract", "summary"})
_NAMES: Final = (
    _REFERENCES
    | _ABSTRACTS
    | _words(
        "introduction introductionandmotivation background motivation preliminaries relatedwork relatedworks priorwork "
        "method methods methodology approach ourapproach materialsandmethods model experiments experimentalsetup evaluation "
        "results resultsanddiscussion discussion analysis limitations conclusion conclusions conclusionandfuturework "
        "discussionandconclusion futurework acknowledgments acknowledgements acknowledgment acknowledgement "
        "ethicsstatement appendix appendices"
    )
)
"""What an unnumbered line must say to be a heading, in letters alone."""


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the text up to the next one. ``level`` counts from 1; ``title`` and ``level`` 0 of what stands before the
    first heading are empty.
    """

    level: int
    title: str
    text: str

    @property
    def name(self) -> str:
        """The title without its number, in small letters alone: "2. Related Work" and "R ELATED W ORK" are "relatedwork"."""
        return _letters(_NUMBER.sub("", self.title, count=1) if _NUMBER.match(self.title) else self.title)

    @property
    def whole(self) -> str:
        """Heading and text."""
        return "\n\n".join(part for part in (f"{'#' * min(self.level, 6)} {self.title}".strip(), self.text) if part)


def split_sections(text: str) -> list[Section]:
    """The sections of a text, in order; one without a title first, if anything stands before the first heading."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    found = list(_markdown_headings(lines)) or list(_plain_headings(lines))
    ends = [*(number for number, _, _ in found), len(lines)]
    before = "\n".join(lines[: ends[0]]).strip()
    sections = [Section(0, "", before)] if before else []
    for (number, level, title), end in zip(found, ends[1:], strict=True):
        sections.append(Section(level, title, "\n".join(lines[number + 1 : end]).strip()))
    return sections


def find_introduction(sections: Sequence[Section]) -> str:
    """The text of the introduction with its subsections, headings of these included; empty if there is none."""
    place = next((n for n, item in enumerate(sections) if item.title and _INTRODUCTIONS.fullmatch(item.name)), None)
    if place is None:
        return ""
    own = sections[place]
    below = sections[place + 1 : _end(sections, place)]
    return "\n\n".join(part for part in (own.text, *(item.whole for item in below)) if part)


def without_references(sections: Sequence[Section]) -> list[Section]:
    """All but the lists of references, each with what stands below it; appendices behind a list stay."""
    return _part(sections, _REFERENCES)[0]


def only_references(sections: Sequence[Section]) -> list[Section]:
    """What `without_references` leaves out."""
    return _part(sections, _REFERENCES)[1]


def without_abstract(sections: Sequence[Section]) -> list[Section]:
    """All but the abstract."""
    return _part(sections, _ABSTRACTS)[0]


def join_sections(sections: Sequence[Section]) -> str:
    """One text of the sections, their headings as Markdown."""
    return "\n\n".join(section.whole for section in sections)


def _part(sections: Sequence[Section], names: frozenset[str]) -> tuple[list[Section], list[Section]]:
    """Those under other titles than these, and those under these."""
    kept: list[Section] = []
    taken: list[Section] = []
    place = 0
    while place < len(sections):
        if sections[place].title and sections[place].name in names:
            # Conversions put an appendix at any depth behind the list of references; it is not part of the list.
            end = _end(sections, place, before_appendices=True)
            taken += sections[place:end]
            place = end
        else:
            kept.append(sections[place])
            place += 1
    return kept, taken


def _end(sections: Sequence[Section], place: int, *, before_appendices: bool = False) -> int:
    """The place of the first section that is not below the one at ``place``."""
    level = sections[place].level
    for later in range(place + 1, len(sections)):
        if sections[later].level <= level or (before_appendices and _is_appendix(sections[later].title)):
            return later
    return len(sections)


def _is_appendix(title: str) -> bool:
    return _APPENDIX.match(title) is not None


def _markdown_headings(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    fence = ""
    for number, line in enumerate(lines):
        if opened := _FENCE.match(line):
            mark = opened[1]
            if not fence:
                fence = mark
            elif mark.startswith(fence):
                fence = ""
        elif not fence and (found := _MARKDOWN.fullmatch(line)) and (title := found[2].strip("*_ ")):
            numbered = _NUMBER.match(title)  # conversions give "1" and "1.1" the same depth
            yield number, len(found[1]) + (numbered[1].count(".") if numbered else 0), title


def _plain_headings(lines: Sequence[str]) -> Iterator[tuple[int, int, str]]:
    """Lines that begin a paragraph and are numbered titles or known names; the level is the depth of the number."""
    listing = False  # in a list of references, where numbered lines are its items
    for number, line in enumerate(lines):
        title = line.strip().strip("*_").strip()
        if (
            not _PLAIN.fullmatch(title)
            or len(title) > _LONGEST
            or title[-1] in ".,;?!"
            or (number and lines[number - 1].strip())
        ):
            continue
        numbered = _NUMBER.match(title)
        rest = title[numbered.end() :] if numbered else title
        alone = number + 1 == len(lines) or not lines[number + 1].strip()
        known = _letters(rest) in _NAMES
        if known or (alone and (_is_appendix(title) if listing else numbered and rest[0].isupper())):
            listing = _letters(rest) in _REFERENCES
            yield number, (numbered[1].count(".") if numbered else 0) + 1, title


def _letters(text: str) -> str:
    return re.sub(r"[^a-z]", "", unicodedata.normalize("NFKC", text).casefold())
