"""Tables in few columns: cells are broken before anything is left out, and what is left out is named."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty import evaluate
from pytest_novelty.model import Axes, Conclusion, Instance, Request, Suite, Variant
from pytest_novelty.reports.blocks import Block, render_blocks
from pytest_novelty.reports.fitting import fit
from pytest_novelty.reports.terminal import render
from pytest_novelty.verdicts import SIMILAR, SUPPORTED, UNSUPPORTED
from tests.unit.test_auditing import make_suite, planted

AUDITORS = (("auditor", "lexical"), ("kappa", "0.18 [-0.05, 0.38]"))


@pytest.mark.parametrize(
    ("width", "cell"),
    [
        (27, "0.18 [-0.05, 0.38]"),  # 7 + 2 + 18
        (26, "0.18\n[-0.05, 0.38]"),  # 7 + 2 + 13
        (22, "0.18\n[-0.05, 0.38]"),
        (21, "0.18 [-0.05,\n0.38]"),  # 7 + 2 + 12
        (20, "0.18\n[-0.05,\n0.38]"),  # 7 + 2 + 7
        (16, "0.18\n[-0.05,\n0.38]"),
        (15, None),
    ],
)
def test_a_cell_is_broken_as_little_as_will_do(width: int, cell: str | None) -> None:
    found = fit(AUDITORS, width, gap=2)
    if cell is None:
        assert (found.kept, found.left_out) == ((0,), ("kappa",))
    else:
        assert (found.kept, found.left_out) == ((0, 1), ())
        assert found.columns == (AUDITORS[0], ("kappa", cell))


@pytest.mark.parametrize(
    ("text", "width", "broken"),
    [
        ("100 % <= 0.15", 8, "100 %\n<= 0.15"),
        ("missing_evidence_rate", 20, "missing_evidence_\nrate"),
        ("azure/prod-judge-eu", 12, "azure/prod-\njudge-eu"),
        ("short_name", 6, "short_name"),
        ("\u6298\u7eb8" * 12, 20, "\n".join(["\u6298\u7eb8" * 4] * 3)),  # 8 cells of two columns each a line
    ],
)
def test_names_are_broken_last(text: str, width: int, broken: str) -> None:
    assert fit([[text]], width, gap=2).columns == ((broken,),)


def test_what_is_spare_goes_before_an_interval_is_broken() -> None:
    columns = [["step", "raw"], ["F1", "59 % [52, 67]"], ["", "#" * 12], ["sd", "0.0"], ["", "passes"]]
    spare = ((2, "bars"),)
    assert fit(columns, 46, gap=2, spare=spare).left_out == ()  # 4 + 13 + 12 + 3 + 6 + 4 * 2
    assert fit(columns, 41, gap=2, spare=spare).columns[1] == ("F1", "59 %\n[52, 67]")  # five fewer
    assert fit(columns, 40, gap=2, spare=spare).left_out == ("bars",)
    assert fit(columns, 32, gap=2, spare=spare).columns[1] == ("F1", "59 % [52, 67]")  # 4 + 13 + 3 + 6 + 3 * 2
    assert fit(columns, 21, gap=2, spare=spare).left_out == ("bars", "sd")  # 4 + 4 + 6 + 2 * 2 = 18, with "sd" 23
    assert fit(columns, 17, gap=2, spare=spare).left_out == ("F1", "bars", "sd")  # what comes of a row goes last
    assert fit(columns, 5, gap=2, spare=spare).left_out == ("F1", "bars", "sd", "a column without a heading")


@pytest.mark.parametrize("colour", [False, True])
def test_what_is_left_out_is_named_with_where_it_is(colour: bool) -> None:
    headings = tuple((f"judge-number-{number} then", "right") for number in range(6))
    block = Block("Many", (("variant", "left"), *headings), (("reference", *["+12* (80)"] * 6),), ("a note",))  # type: ignore[arg-type]
    text = plain(render_blocks([block], width=48, colour=colour))
    told = "(left out at 48 columns: judge-number-4 then, judge-number-5 then; see --novelty-report out.json) a note"
    assert " ".join(text.split()).endswith(told)
    assert "left out" not in render_blocks([block], width=200, colour=colour)
    told = " ".join(render_blocks([block], width=48, elsewhere="--markdown out.md").split())
    assert "see --markdown out.md)" in told


# --- what a run prints -----------------------------------------------------------------------------------------


def plain(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def reasons() -> Suite:
    instances = tuple(
        Instance(
            f"e{number}",
            (),
            UNSUPPORTED if number % 2 else SUPPORTED,
            dimension="task",
            conclusion=Conclusion(SIMILAR, ("Line.", "Line."), f"Reason {number}."),
        )
        for number in range(12)
    )
    variants = {"reference": Variant("reference", Axes("entailment/reference", votes=1))}
    return Suite("reasons", "1", "entailment", "experts", instances, variants, "0" * 32, Path("r/suite.yaml"))


def doubts(count: int) -> Callable[[Request], dict[str, Any]]:
    def judge(request: Request) -> dict[str, Any]:
        return {"supported": int(request.reason.split()[1].strip(".")) >= count}

    judge.uses_prompt = False  # type: ignore[attr-defined]
    return judge


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("width", [60, 80])
def test_no_cell_of_auditors_is_cut(width: int, colour: bool) -> None:
    names = ("gpt-4.1-mini-2025-04-14", "azure-prod-judge-eu-west-1")
    text = plain(render(evaluate({names[0]: doubts(5), names[1]: doubts(8)}, reasons()), width=width, colour=colour))
    assert "\u2026" not in text
    assert max(map(len, text.splitlines())) <= width
    rows = text.partition("against its labels")[2].split("precision, recall and F1 are")[0]
    assert [heading in rows for heading in ("auditor", "agrees", "kappa", "precision", "recall", "F1")] == [True] * 6
    first = "".join(re.findall(r"^ ?([a-z0-9][\w.-]*)", rows.partition("auditor")[2], re.MULTILINE))
    assert [name in first for name in names] == [True, True]


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("protocol", ["similarity", "grouping"])
@pytest.mark.parametrize("width", [60, 80, 100])
def test_metrics_and_the_waterfall_are_whole(width: int, protocol: str, colour: bool) -> None:
    text = plain(render(evaluate({"planted": planted("beyond")}, make_suite(protocol)), width=width, colour=colour))
    assert "\u2026" not in text
    assert max(map(len, text.splitlines())) <= width
    assert text.count("missing_evidence_") == text.count("missing_reason_") == 1
    waterfall = text.partition("Grounding of planted")[2].partition("right positives")[0]
    if width > 60:
        assert re.search("^ *F1 per vote +sd over votes *$", waterfall, re.MULTILINE)
    assert [waterfall.count(step) for step in ("raw ", "after hallucination ", "after mismatch ")] == [1, 1, 1]
    meant = "  (left out at {} columns: what metrics mean; see"
    assert text.count(meant.format(width)) == (width < 100)


def test_variants_name_the_metrics_that_a_wide_terminal_shows() -> None:
    suite = make_suite("similarity")
    more = Variant("more", Axes("similarity/reference", votes=2))
    suite = replace(suite, variants={**suite.variants, "more": more})
    report = evaluate({"planted": planted("beyond")}, suite, variants=["more"])
    narrow, wide = (" ".join(render(report, width=width).split()) for width in (80, 140))
    assert "(left out at 80 columns: F1, null flips, beyond, verified; see --novelty-report out.json)" in narrow
    assert "left out at" not in wide
    for heading in ("F1", "null flips", "beyond", "verified"):
        assert heading in wide.partition("on made, variants")[2]
