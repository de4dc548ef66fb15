"""Headings of Markdown, plain text and scans; introductions, references and what stands behind them."""

from __future__ import annotations

import pytest

from pytest_novelty.sections import (
    find_introduction,
    join_sections,
    split_sections,
    without_abstract,
    without_references,
)

BODY = "Kelp burns badly when it is wet."


def text_of(*lines: str) -> str:
    return "\n\n".join(lines)


@pytest.mark.parametrize(
    "heading",
    [
        "# Introduction",
        "## Introduction",
        "## 1 Introduction",
        "### 1. Introduction ###",
        "## **1. Introduction**",
        "# I. INTRODUCTION",
        "# 1 I NTRODUCTION",
        "# I N T R O D U C T I O N",
        "# Introduction and Motivation",
        "# Section 1: Introduction",
        "Introduction",
        "INTRODUCTION",
        "1 Introduction",
        "1. INTRODUCTION",
        "1 I NTRODUCTION",
        "**1 Introduction**",
        "I. Introduction",
        "1) Introduction",
    ],
)
def test_an_introduction_is_found(heading: str) -> None:
    sign = "#" * (len(heading) - len(heading.lstrip("#")))
    method = f"{sign} 2 Method".strip()
    text = text_of("Kelp at Sea", heading, BODY, "It dries slowly.", method, "We dry it.")
    assert find_introduction(split_sections(text)) == f"{BODY}\n\nIt dries slowly."


@pytest.mark.parametrize(
    "line",
    [
        "Introduction.",
        "This is an introduction",
        "An introduction to kelp",
        "1 introduction of kelp took place in 1890.",
        "# Introductory remarks",
        "# Reintroduction of kelp",
        "``` # Introduction ```",
    ],
)
def test_what_is_no_introduction(line: str) -> None:
    assert find_introduction(split_sections(text_of("Kelp", line, BODY))) == ""


def test_an_introduction_has_its_subsections() -> None:
    for text in (
        text_of("# 1 Introduction", BODY, "# 1.1 A kelp problem", "It is wet.", "# 2 Method", "We dry it."),
        text_of("## Introduction", BODY, "### A kelp problem", "It is wet.", "## Method", "We dry it."),
        text_of("1 Introduction", BODY, "1.1 A kelp problem", "It is wet.", "2 Method", "We dry it."),
    ):
        found = find_introduction(split_sections(text))
        assert found.startswith(f"{BODY}\n\n#")
        assert found.endswith("A kelp problem\n\nIt is wet.")


def test_only_marked_lines_are_headings_where_a_text_marks_them() -> None:
    sections = split_sections(text_of("# Kelp", "Introduction", BODY, "# Method", "We dry it."))
    assert [section.title for section in sections] == ["Kelp", "Method"]


def test_code_is_no_heading() -> None:
    sections = split_sections("# Kelp\n\n```\n# a comment\n```\n\n# Method\n\nWe dry it.")
    assert [section.title for section in sections] == ["Kelp", "Method"]


def test_list_items_and_sentences_are_no_headings() -> None:
    text = "We do three things:\n1. Dry the kelp\n2. Burn the kelp\n\n1. Wet kelp is weighed first, as\nit loses mass.\n\n3 Results\n\nIt burns."
    assert [section.title for section in split_sections(text)] == ["", "3 Results"]


@pytest.mark.parametrize(
    "heading",
    ["# References", "## REFERENCES", "# 7 References", "# R EFERENCES", "# Bibliography", "# Literature Cited", "References",
     "8. References", "**References**", "REFERENCES AND NOTES"],
)  # fmt: skip
@pytest.mark.parametrize("appendix", ["Appendix", "A Proofs", "Appendix B: More kelp", ""])
def test_references_go_and_appendices_stay(heading: str, appendix: str) -> None:
    marked = heading.startswith("#")
    method = "# 2 Method" if marked else "2 Method"
    behind = [f"{'### ' if marked else ''}{appendix}", "All kelp is wet."] if appendix else []
    items = ["1. Smith J, Kelp and Fire", "Jones K, Wet Fuel", "[3] Reference models of kelp"]
    text = text_of(method, "We dry it.", heading, *items, *behind)
    shown = join_sections(without_references(split_sections(text)))
    assert "We dry it." in shown
    assert not any(item in shown for item in items)
    assert ("All kelp is wet." in shown) == bool(appendix)


@pytest.mark.parametrize(
    "heading", ["# Reference model", "# Reference Models of Kelp", "2 Reference model", "# Cross-references in kelp"]
)
def test_a_heading_that_begins_with_the_word_reference(heading: str) -> None:
    text = text_of(heading, "A kelp that is like most kelp.")
    assert "like most kelp" in join_sections(without_references(split_sections(text)))


def test_the_abstract_goes() -> None:
    text = text_of("# Kelp", "By A. Alga.", "## Abstract", "We burn it.", "## 1 Introduction", BODY)
    assert join_sections(without_abstract(split_sections(text))) == text_of(
        "# Kelp", "By A. Alga.", "## 1 Introduction", BODY
    )


def test_a_text_without_headings_is_one_section() -> None:
    (section,) = split_sections(f"\n{BODY}\r\nIt dries.\n")
    assert (section.level, section.title, section.text) == (0, "", f"{BODY}\nIt dries.")
    assert split_sections(" \n") == []
