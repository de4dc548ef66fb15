"""How much of an idea a variant shows, and what is said where an idea has not as much."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty import evaluate
from pytest_novelty.errors import SuiteError
from pytest_novelty.granularity import ABSTRACT, FULL, WITH_INTRODUCTION, is_cut, lacks, show_text
from pytest_novelty.model import Idea
from pytest_novelty.plan import make_plan
from pytest_novelty.reports.announcement import announce
from pytest_novelty.settings import Settings
from pytest_novelty.suites import load_suite

WHOLE = "# Kelp\n\n## Abstract\n\nIn short.\n\n## 1 Introduction\n\nIt is wet.\n\n## 2 Method\n\nWe dry it.\n\n## References\n\n1. Smith."


def idea(full_text: str = WHOLE, text: str = "We burn kelp.") -> Idea:
    return Idea("k", "Kelp", text, full_text=full_text)


def test_what_is_shown() -> None:
    assert show_text(idea(), ABSTRACT) == "We burn kelp."
    assert show_text(idea(), WITH_INTRODUCTION) == "We burn kelp.\n\n# Introduction\n\nIt is wet."
    full = "We burn kelp.\n\n# Kelp\n\n## 1 Introduction\n\nIt is wet.\n\n## 2 Method\n\nWe dry it."
    assert show_text(idea(), FULL) == full


def test_what_an_idea_lacks() -> None:
    assert [lacks(idea(), granularity) for granularity in (ABSTRACT, WITH_INTRODUCTION, FULL)] == ["", "", ""]
    assert [lacks(idea(""), granularity) for granularity in (ABSTRACT, FULL)] == ["", "full_text"]
    assert lacks(idea("# Method\n\nWe dry it."), WITH_INTRODUCTION) == "section Introduction in its full_text"
    assert lacks(idea("# Method\n\nWe dry it."), FULL) == ""
    for nothing in (
        "# Kelp\n\n## Abstract\n\nIn short.",
        "Abstract\nIn short.\n\nIt is wet.",
        "# References\n\n1. Smith.",
    ):
        assert lacks(idea(nothing), FULL) == "text behind the abstract in its full_text"
    for headings in ("# Abstract/## 1 Introduction", "## Abstract/### 1. Introduction", "Abstract/1 Introduction"):
        abstract, introduction = headings.split("/")
        whole = idea(f"{abstract}\nIn short.\n{introduction}\nIt is wet.")
        assert [lacks(whole, granularity) for granularity in (WITH_INTRODUCTION, FULL)] == ["", ""]
        assert show_text(whole, FULL).endswith("Introduction\n\nIt is wet.")
        assert "In short." not in show_text(whole, FULL)


@pytest.mark.parametrize(("granularity", "tokens"), [(WITH_INTRODUCTION, 4_000), (FULL, 16_000)])
def test_long_texts_are_cut_at_a_word(granularity: str, tokens: int) -> None:
    long = idea("# Introduction\n\n" + "kelp " * (tokens + 1))
    shown = show_text(long, granularity)
    assert is_cut(long, granularity)
    assert 4 * tokens - 5 < len(shown) <= 4 * tokens
    assert shown.endswith(" kelp")
    short = idea("# Introduction\n\n" + "kelp " * (tokens // 2))
    assert not is_cut(short, granularity)
    assert not is_cut(long, ABSTRACT)


def test_the_abstract_is_never_cut() -> None:
    long = idea(text="kelp " * 50_000)
    assert show_text(long, ABSTRACT) == long.text


def suite_in(folder: Path, variants: str, defaults: str = "{}", **more: Any) -> Path:
    rows = [
        {
            "id": f"i{n}",
            "idea": {"text": f"Idea {n}.", "full_text": f"# Introduction\n\nWet {n}.\n\n# Method\n\nDry {n}.", **more},
        }
        for n in range(3)
    ]
    (folder / "rows.jsonl").write_text("".join(json.dumps({**row, "gold": "novel"}) + "\n" for row in rows))
    (folder / "suite.yaml").write_text(
        "format: novelty-suite/1\nname: kelp\nversion: '1'\nprotocol: pointwise\nlabel_kind: experts\n"
        f"defaults: {defaults}\nvariants: {variants}\ninstances: rows.jsonl\n"
    )
    return folder


def test_judges_are_shown_it(tmp_path: Path) -> None:
    seen: dict[str, set[str]] = {}

    def judge(request: Any) -> str:
        seen.setdefault(request.variant, set()).add(request.idea.text)
        return {"novel": True}

    variants = "{intro: {granularity: abstract+introduction}, full: {granularity: full}}"
    report = evaluate(judge, suite_in(tmp_path, variants), variants=["all"])
    assert seen["reference"] == {f"Idea {n}." for n in range(3)}
    assert seen["intro"] == {f"Idea {n}.\n\n# Introduction\n\nWet {n}." for n in range(3)}
    assert seen["full"] == {f"Idea {n}.\n\n# Introduction\n\nWet {n}.\n\n# Method\n\nDry {n}." for n in range(3)}
    assert [item.changed for item in report.variants] == [("granularity",), ("granularity",)]


def test_an_idea_without_full_text(tmp_path: Path) -> None:
    path = suite_in(tmp_path, "{full: {granularity: full}}")
    rows = (path / "rows.jsonl").read_text().splitlines()
    lacking = json.loads(rows[1])
    del lacking["idea"]["full_text"]
    (path / "rows.jsonl").write_text("\n".join([rows[0], json.dumps(lacking), rows[2]]))
    with pytest.raises(
        SuiteError, match=r"instance 'i1': the idea 'i1' has no full_text, which the variant 'full' shows$"
    ):
        evaluate(lambda request: {"novel": True}, path, variants=["full"])
    report = evaluate(lambda request: {"novel": True}, path, variants=["all"])
    assert report.plan.skipped == {("judge", "kelp", "full"): "cannot be shown it (the instance 'i1' has no full_text)"}
    suite_in(tmp_path, "{}", "{granularity: full}")
    (path / "rows.jsonl").write_text("\n".join([rows[0], json.dumps(lacking), rows[2]]))
    with pytest.raises(SuiteError, match="no full_text, which the variant 'reference' shows"):
        load_suite(path)


@pytest.mark.parametrize(
    ("variants", "defaults", "line"),
    [
        ("{v: {format: plan, granularity: full}}", "{}", 7),
        ("{}", "{format: plan, granularity: full}", 6),
    ],
)
def test_granularity_is_of_the_text(tmp_path: Path, variants: str, defaults: str, line: int) -> None:
    path = suite_in(tmp_path, variants, defaults, renderings={"plan": "p"})
    with pytest.raises(
        SuiteError, match=rf"suite.yaml:{line}: granularity 'full' is of the text, and the format is 'plan'"
    ):
        load_suite(path)


def test_an_unknown_granularity(tmp_path: Path) -> None:
    with pytest.raises(SuiteError, match="'paper'.*abstract\\+introduction"):
        load_suite(suite_in(tmp_path, "{v: {granularity: paper}}"))


def test_cuts_are_announced(tmp_path: Path) -> None:
    path = suite_in(tmp_path, "{full: {granularity: full}}", full_text="# Method\n\n" + "kelp " * 20_000)
    plan = make_plan(Settings(("j",), tmp_path, variants=("full",)), {"j": lambda request: ""}, {}, with_suites=False)
    plan.add_suite(str(path))
    told = [line for line in announce(plan, {}, {}) if "tokens" in line]
    assert told == [
        "novelty: full of kelp shows 3 ideas only up to 16,000 tokens (a token counts as 4 characters, whatever tokenizer is installed), as granularity full has it"
    ]


def test_an_introduction_that_is_given_apart() -> None:
    paper = Idea("i", "Kelp", "We burn kelp.", introduction="It burns.")
    assert show_text(paper, WITH_INTRODUCTION) == "We burn kelp.\n\n# Introduction\n\nIt burns."
    assert [lacks(paper, granularity) for granularity in (WITH_INTRODUCTION, FULL)] == ["", "full_text"]
    both = replace(paper, full_text=WHOLE)
    assert "It burns." in show_text(both, WITH_INTRODUCTION)
    assert "It is wet." in show_text(both, FULL)


def test_abstracts_of_papers_are_cut_too() -> None:
    long = idea(text="kelp " * 1_000)
    assert is_cut(long, ABSTRACT, is_paper=True)
    assert len(show_text(long, ABSTRACT, is_paper=True)) <= 4_000
    assert not is_cut(idea(), ABSTRACT, is_paper=True)


def test_what_papers_lack_is_an_error(tmp_path: Path) -> None:
    paper = {"title": "Kelp", "abstract": "We burn kelp."}
    row = {"id": "s", "papers": [{"id": "a", **paper}, {"id": "b", **paper}], "dimension": "task", "gold": True}
    folder = tmp_path / "papers"
    folder.mkdir()
    (folder / "instances.jsonl").write_text(json.dumps(row))
    (folder / "suite.yaml").write_text(
        "format: novelty-suite/1\nname: papers\nversion: '1'\nprotocol: similarity\nlabel_kind: construction\n"
        "defaults: {granularity: full}\ninstances: instances.jsonl\n"
    )
    with pytest.raises(SuiteError, match="the paper 'a' has no full_text, which the variant 'reference' shows"):
        load_suite(folder)
