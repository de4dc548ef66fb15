"""How much of an idea's or paper's text a judge is shown: its abstract, the introduction too, or the full text without its
references.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from pytest_novelty.model import Idea
from pytest_novelty.sections import (
    find_introduction,
    has_text_behind_abstract,
    join_sections,
    split_sections,
    without_abstract,
    without_references,
)

ABSTRACT: Final = "abstract"
WITH_INTRODUCTION: Final = "abstract+introduction"
FULL: Final = "full"

GRANULARITIES: Final = (ABSTRACT, WITH_INTRODUCTION, FULL)
"""From little to much; the first is an idea's ``text`` as the suite has it, whole."""

CAPS: Final = {ABSTRACT: 1_000, WITH_INTRODUCTION: 4_000, FULL: 16_000}
"""Tokens after which a text is cut; the first is of papers alone."""

CHARACTERS_PER_TOKEN: Final = 4
"""The approximation by which tokens are counted. A tokenizer would be nearer for one model and another for the next, and what
is shown must not depend on what is installed: it is part of every stored verdict's key.
"""


TOKENIZER: Final = f"a token counts as {CHARACTERS_PER_TOKEN} characters, whatever tokenizer is installed"
"""As people and reports are told."""


def lacks(idea: Idea, granularity: str) -> str:
    """What an idea would need to be shown so, as what it lacks; empty if it lacks nothing."""
    if granularity == ABSTRACT:
        return ""
    if granularity == WITH_INTRODUCTION and idea.introduction:
        return ""
    if not idea.full_text:
        return "introduction and no full_text" if granularity == WITH_INTRODUCTION else "full_text"
    if granularity == WITH_INTRODUCTION and not _shown_behind(idea.full_text, granularity):
        return "section Introduction in its full_text"
    if granularity == FULL and not _shown_behind(idea.full_text, granularity):
        return "text behind the abstract in its full_text"
    return ""


def show_text(idea: Idea, granularity: str, *, is_paper: bool = False) -> str:
    """The idea's ``text`` and what the granularity adds, cut at a word behind the cap. The idea must lack nothing."""
    whole = _whole(idea, granularity)
    cap = _cap(granularity, is_paper)
    if cap is None or len(whole) <= cap:
        return whole
    cut = whole[:cap]
    return cut if whole[cap].isspace() else cut[: max(cut.rfind(" "), cut.rfind("\n"), 0)].rstrip() or cut


def is_cut(idea: Idea, granularity: str, *, is_paper: bool = False) -> bool:
    """The idea has more than the cap lets through."""
    cap = _cap(granularity, is_paper)
    return cap is not None and len(_whole(idea, granularity)) > cap


def _cap(granularity: str, is_paper: bool) -> int | None:
    """Characters. An idea is what its suite says of it, however long; an abstract is one of several texts in a prompt."""
    return None if granularity == ABSTRACT and not is_paper else CAPS[granularity] * CHARACTERS_PER_TOKEN


def _whole(idea: Idea, granularity: str) -> str:
    if granularity == ABSTRACT:
        return idea.text
    if granularity == WITH_INTRODUCTION and idea.introduction:
        return f"{idea.text}\n\n{_introduced(idea.introduction)}"
    return f"{idea.text}\n\n{_shown_behind(idea.full_text, granularity)}"


@lru_cache(maxsize=4096)  # every vote, order and variant of an instance asks again
def _shown_behind(full_text: str, granularity: str) -> str:
    sections = split_sections(full_text)
    if granularity == WITH_INTRODUCTION:
        introduction = find_introduction(sections)
        return _introduced(introduction) if introduction else ""
    return join_sections(without_references(without_abstract(sections))) if has_text_behind_abstract(sections) else ""


def _introduced(introduction: str) -> str:
    return f"# Introduction\n\n{introduction}"
