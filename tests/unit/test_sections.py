"""Headings of Markdown, plain text and scans; introductions, references and what stands behind them."""

from __future__ import annotations

import pytest

from pytest_novelty.sections import (
    find_introduction,
    has_text_behind_abstract,
    join_sections,
    only_references,
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


@pytest.mark.parametrize(
    "headings",
    [
        ("# Abstract", "## 1 Introduction", "## 2 Method"),
        ("## Abstract", "### 1. Introduction", "### 2. Kelp"),
        ("# Abstract", "## Introduction", "### Kelp"),
        ("# Abstract", "## Kelp at sea", "## Drying it"),
        ("# Abstract", "## Background", "## Method"),
        ("# Abstract", "1 Introduction", "2 Kelp at sea"),
        ("Abstract", "1 Introduction", "2 Kelp at sea"),
        ("ABSTRACT", "I. Introduction", "II. Kelp at sea"),
        ("Abstract", "Introduction", "Method"),
        ("Abstract", "1. Kelp at sea", "1.1. Drying"),
    ],
)
@pytest.mark.parametrize("gap", ["\n", "\n\n"])
def test_the_abstract_ends_at_the_next_heading(headings: tuple[str, str, str], gap: str) -> None:
    abstract, first, second = headings
    text = gap.join(["Kelp", abstract, "In short.", first, BODY, second, "We dry it."])
    left = without_abstract(split_sections(text))
    assert "In short." not in join_sections(left)
    assert [section.text for section in left] == ["Kelp", BODY, "We dry it."]


def test_a_structured_abstract_goes_whole() -> None:
    parts = ("# Kelp", "## Abstract", "### Background", "It is.", "### Results", "It burns.", "## 1 Introduction", BODY)
    assert join_sections(without_abstract(split_sections(text_of(*parts)))) == text_of("# Kelp", *parts[-2:])


def test_only_a_title_is_marked() -> None:
    text = text_of(
        "# My great paper", "1 Introduction", BODY, "1.1 Kelp at sea", "Wet.", "References", "[1] Smith, Leak. 2020.",
        "A Proofs", "All kelp is wet.", "2. Dry the kelp",
    )  # fmt: skip
    sections = split_sections(text)
    assert [section.title for section in sections] == [
        "My great paper", "1 Introduction", "1.1 Kelp at sea", "References", "A Proofs", "2. Dry the kelp",
    ]  # fmt: skip
    assert find_introduction(sections) == text_of(BODY, "### 1.1 Kelp at sea", "Wet.")
    assert "Leak" not in join_sections(without_references(sections))


def test_only_a_title_and_the_references_are_marked() -> None:
    text = text_of(
        "# Kelp", "## Abstract", "In short.", "1 Introduction", BODY, "## References", "1. Smith J Wet Kelp", "2. Leak"
    )
    assert join_sections(without_references(without_abstract(split_sections(text)))) == text_of(
        "# Kelp", "### 1 Introduction", BODY
    )


@pytest.mark.parametrize("references", ["References", "**References**", "REFERENCES"])
def test_only_the_references_are_not_marked(references: str) -> None:
    text = text_of(
        "# Kelp", "## Introduction", BODY, "1. Dry it", references, "[1] Smith, Leak. 2020.", "### Checklist", "Yes."
    )
    shown = join_sections(without_references(split_sections(text)))
    assert shown == text_of("# Kelp", "## Introduction", BODY, "1. Dry it", "### Checklist", "Yes.")


def test_items_of_a_list_below_unknown_headings_are_no_headings() -> None:
    text = text_of("# Kelp", "1. Dry the kelp", "2. Burn the kelp", "# Plan", "```", "Introduction", "```")
    assert [section.title for section in split_sections(text)] == ["Kelp", "Plan"]


ENTRIES = [
    ("A. Smith. A paper 2020", "B. Jones, Wet kelp. 2021."),
    ("A. Smith. A paper", "B. Jones. Wet kelp"),
    ("A. Smith, A paper", "B. Jones, Wet kelp"),
    ("A Smith, B Jones", "Wet kelp 2020"),
    ("A. Smith and B. Jones. A paper", "C. Doe. Wet kelp"),
    ("A Smith A Paper on Kelp 2020", "Karl Jones and Bo Li. Wet kelp. 2021."),
    ("A Survey of Kelp", "[2] Jones. Wet kelp."),
    ("A Survey of Kelp", "Jones, K. Wet kelp."),
    ("A Survey of Kelp",),
    ("Supplementary feeding of kelp 2019", "B. Jones. Wet kelp"),
    ("1. Smith J A Paper", "2. Jones K Wet Kelp"),
]


@pytest.mark.parametrize("entries", ENTRIES)
@pytest.mark.parametrize("gap", ["\n", "\n\n"])
@pytest.mark.parametrize("behind", ["", "A Proofs", "A. More on kelp", "Appendix", "Appendix A: Proofs"])
@pytest.mark.parametrize("title", ["Kelp", "# Kelp"])
def test_entries_are_no_appendices(entries: tuple[str, ...], gap: str, behind: str, title: str) -> None:
    appendix = text_of("", behind, "All kelp is wet.") if behind else ""
    behind_entries = "" if entries[-1].endswith(".") or gap == "\n\n" else "."
    text = gap.join([title, "1 Introduction", BODY, "REFERENCES", *entries]) + behind_entries + appendix
    shown = join_sections(without_references(split_sections(text)))
    assert BODY in shown
    assert not any(entry in shown for entry in entries)
    assert ("All kelp is wet." in shown) == bool(behind)


def test_an_appendix_that_begins_with_a_heading() -> None:
    text = text_of(
        "1 Method", "We dry it.", "References", "[1] Smith, Leak. 2020.", "A Proofs", "A.1 Wet kelp", "Leaves are wet."
    )
    shown = join_sections(without_references(split_sections(text)))
    assert shown == text_of("# 1 Method", "We dry it.", "# A Proofs", "A.1 Wet kelp", "Leaves are wet.")


def test_marked_appendices_and_entries() -> None:
    text = text_of(
        "# Method", "Dry it.", "# References", "## A. Smith. Leak", "Kelp.", "## B Leak 2020", "Kelp.", "## A Proofs, lemmas", "Wet.",
        "## B Leak, too", "Wet."
    )  # fmt: skip
    assert [section.title for section in without_references(split_sections(text))] == [
        "Method",
        "A Proofs, lemmas",
        "B Leak, too",
    ]
    text = text_of(
        "# Method", "Dry it.", "# References", "Leak.", "## Acknowledgments", "Thanks.", "## Limitations", "Wet."
    )
    assert [section.text for section in without_references(split_sections(text))] == ["Dry it.", "Thanks.", "Wet."]


def test_headings_in_paragraphs() -> None:
    text = (
        "Kelp\nAbstract\nIn short.\n1 Introduction\nKelp is wet.\nWe do three things.\n1. Dry the kelp\n2. Burn the kelp\n"
        "It is known (see\nMethod\nof kelp).\n1.1 A kelp problem\nIt is wet.\n2 Method\nAs in kelp,\n3 Kelp\nare dried.\n"
        "3 Results\nModel\nKelp\n0.9\n12\n4 Conclusion\nIt burns.\nReferences\n1. Smith J Wet Kelp.\nAppendix\nAll of it."
    )
    assert [section.title for section in split_sections(text)] == [
        "", "Abstract", "1 Introduction", "1.1 A kelp problem", "2 Method", "3 Results", "Model", "4 Conclusion",
        "References", "Appendix",
    ]  # fmt: skip
    shown = join_sections(without_references(without_abstract(split_sections(text))))
    assert not any(gone in shown for gone in ("Smith", "In short"))
    assert "All of it." in shown


def test_a_table_of_contents_is_no_introduction() -> None:
    for gap in ("\n", "\n\n"):
        contents = gap.join(["Contents", "1 Introduction", "2 Method", "3 Results", "References"])
        text = text_of(contents, "Abstract", "In short.", "1 Introduction", BODY, "2 Method", "We dry it.")
        assert find_introduction(split_sections(text)) == BODY
        assert "We dry it." in join_sections(without_references(split_sections(text)))


def test_what_is_behind_an_abstract() -> None:
    for text in (
        "", "# Kelp\n\nBy A. Alga.\n\n## Abstract\n\nIn short.", "Abstract\nIn short.\nAnd long.", "# Kelp\n\n# Method",
        "# Abstract\n\nIn short.\n\n## References\n\n1. Smith.",
    ):  # fmt: skip
        assert not has_text_behind_abstract(split_sections(text)), text
    for text in (
        BODY, "# Kelp\n\nIt is wet.", "# Abstract\n\nIn short.\n\n## Kelp\n\nWet.", "# Kelp\n\nWet.\n\n# Summary\n\nDry it.",
        "# Method\n\nWet.\n\n# Abstract\n\nIn short.",
    ):  # fmt: skip
        assert has_text_behind_abstract(split_sections(text)), text


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_sections_tell_which_lines_they_are(end: str) -> None:
    lines = [
        "",
        "Front matter",
        "of two lines.",
        "",
        "# Method",
        "",
        "We fold.",
        "# Empty",
        "# References",
        "[1] Kites.",
    ]
    sections = split_sections(end.join(lines))
    assert [section.title for section in sections] == ["", "Method", "Empty", "References"]
    assert all("\n".join(lines[slice(*section.lines)]).strip() == section.text for section in sections)
    assert [section.lines for section in sections] == [(0, 4), (5, 7), (8, 8), (9, 10)]


@pytest.mark.parametrize(
    "heading",
    [
        "References & Notes",
        "# References & Notes",
        "## Selected References",
        "Selected References",
        "Cited Literature",
        "## Literature Cited",
        "Further Reading",
        "## 9 Further Reading",
        "\\section*{References}",
        "\\section{References}",
        "<h2>References</h2>",
        '<h2 id="references">References</h2>',
    ],
)
@pytest.mark.parametrize("method", ["# 2 Method", "2 Method"])
def test_lists_of_references_by_other_names(heading: str, method: str) -> None:
    sections = split_sections(text_of("Kelp at Sea", method, BODY, heading, "A. Smith. Kelp of the north. 2017."))
    assert [one.text for one in only_references(sections)] == ["A. Smith. Kelp of the north. 2017."]
    assert "A. Smith" not in join_sections(without_references(sections))
    assert BODY in join_sections(without_references(sections))


@pytest.mark.parametrize(
    "heading", ["# Reference model", "Reference Model", "\\section{Reference model}", "<h2>Reference model</h2>"]
)
def test_a_reference_model_is_no_list(heading: str) -> None:
    assert not only_references(split_sections(text_of("# 2 Method", BODY, heading, "It is wet.")))


def test_sections_of_latex_and_html_have_levels() -> None:
    for text in (
        text_of(
            "\\section{Introduction}", BODY, "\\subsection{A problem}", "It is wet.", "\\section{Method}", "We dry it."
        ),
        text_of(
            "<h2>Introduction</h2>", BODY, '<h3 class="x">A problem</h3>', "It is wet.", "<h2>Method</h2>", "We dry it."
        ),
    ):
        found = find_introduction(split_sections(text))
        assert BODY in found
        assert "It is wet." in found
        assert "We dry it." not in found


def test_a_byte_order_mark_hides_no_heading() -> None:
    text = text_of("\ufeff# Introduction", BODY, "# Method", "We dry it.")
    assert find_introduction(split_sections(text)) == BODY
