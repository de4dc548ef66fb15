"""The Markdown report: what decides is in sight, the rest is folded, it fits a comment, and no text breaks out of its place."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty import evaluate
from pytest_novelty.between_runs.comparing import compare_reports
from pytest_novelty.between_runs.reading import read_report
from pytest_novelty.cli import main
from pytest_novelty.drifting import Differing, Drift
from pytest_novelty.model import Axes, Suite, Variant
from pytest_novelty.reports.files import write_report
from pytest_novelty.reports.markdown import LIMIT, comparison_to_markdown, escape, report_to_markdown
from pytest_novelty.results import Report

GATES = ("strict_accuracy>=0.80", "tie_rate<=0.99", "abs(position_bias)<=0.2")


def judge_of(letter: str) -> Any:
    """Right on every pair in the order ab (``A``), in ba, or with ``R`` in both."""

    def judge(request: Any) -> dict[str, Any]:
        first = request.ideas[0].title == "First title"
        return {"winner": ("A" if first else "B") if letter == "R" else letter, "cost_usd": 0.5}

    judge.version = letter  # type: ignore[attr-defined]
    judge.uses_prompt = False  # type: ignore[attr-defined]
    return judge


@pytest.fixture
def suite(make_suite: Callable[..., Suite], make_instance: Callable[..., Any]) -> Suite:
    made = [make_instance("pairwise", f"i{k:02}") for k in range(40)]
    reference = Variant("reference", Axes(prompt="pairwise/reference"))
    warm = Variant("warm", Axes(prompt="pairwise/reference", temperature=1.0), ("temperature",))
    return make_suite("pairwise", *made, gates=GATES, variants={"reference": reference, "warm": warm})


@pytest.fixture
def report(suite: Suite) -> Report:
    return evaluate({"always-a": judge_of("A"), "right": judge_of("R")}, suite, votes=1, variants=["warm"])


def in_sight(text: str) -> str:
    """What a reader sees before unfolding anything."""
    return re.sub(r"<details>.*?</details>", "", text, flags=re.DOTALL)


def test_headline_and_gates_are_in_sight_and_the_rest_is_folded(report: Report) -> None:
    text = report_to_markdown(report)
    seen = in_sight(text)
    assert text.startswith("### Novelty judges\n\nalways-a A is right on 0 % ")
    counts = [sum(gate.decision == decision for gate in report.gates) for decision in ("fail", "inconclusive")]
    assert f"**Gates:** {counts[0]} FAILS, {counts[1]} undecided, " in seen
    lines = [line for line in seen.splitlines() if line.startswith("| ")]
    assert lines[0].split("|")[1:8] == ["  ", " gate ", " judge ", " suite ", " value ", " n ", "  "]
    decisions = [line.split("|")[1].strip() for line in lines[2:]]
    assert decisions == sorted(decisions, key=["FAILS", "undecided", "not enforced", "passes"].index)
    assert len(decisions) == len(report.gates)
    assert "| FAILS | strict_accuracy&gt;=0.80 | always-a | made | 0 % " in seen
    assert "soft_accuracy" not in seen
    for summary in ("All metrics", "Variants", "Judges compared"):
        assert f"<details><summary>{summary}</summary>" in text
    assert "| soft_accuracy | right, ties count half | 50 % |" in text
    assert "warm (temperature): " in text
    assert "- always-a - right: " in text
    assert "cost \\$160.00" in seen
    assert "What changed" not in text
    assert text.count("<details>") == text.count("</details>")


def test_many_gates_are_folded_but_those_that_fail(report: Report) -> None:
    failing = [gate for gate in report.gates if gate.decision == "fail"]
    report.gates = [gate for gate in report.gates for _ in range(20)]
    seen = in_sight(report_to_markdown(report))
    rows = [line for line in seen.splitlines() if line.startswith("| ")][2:]
    assert len(rows) == 20 * len(failing) > 0
    assert {row.split("|")[1].strip() for row in rows} == {"FAILS"}
    assert "<summary>The other gates</summary>" in report_to_markdown(report)


def test_what_changed_is_in_sight_and_what_did_not_is_folded(suite: Suite) -> None:
    old = evaluate({"mine": judge_of("R"), "still": judge_of("R")}, suite, votes=1)
    new = evaluate({"mine": judge_of("A"), "still": judge_of("R")}, suite, votes=1)
    found = compare_reports(read_report(old.to_dict(), "main*.json"), read_report(new.to_dict(), "now"))
    new.against = found
    for text in (report_to_markdown(new), comparison_to_markdown(found)):
        seen = in_sight(text)
        assert "#### What changed since main\\*.json\n" in seen
        assert "Worse than main\\*.json: mine on made: strict_accuracy" in seen
        assert "- mine: another version (R then, A now)\n\n" in seen
        assert "**mine on made: 40 instances in both" in seen
        assert "| strict_accuracy | 100 % | 0 % | -100 \\[-100, " in seen
        assert "still on made" not in seen
        assert "**still on made: 40 instances in both" in text
        assert "Cost: \\$80.00 for 160 calls then" in seen


def test_comparisons_with_recorded_verdicts(report: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sentence = "drifted beyond its noise: vote shift 29 points; another model answered"
    differing = (Differing("i1", "x 2:0", "x 1:1", False), Differing("i2", "x 2:0", "y 0:2", True))
    report.drifts = [Drift("right", "made", "golden/a.txt", "drifted", "fail", sentence, n=40, differing=differing)]
    text = report_to_markdown(report)
    assert "**right on made, compared with golden/a.txt: FAILS**" in in_sight(text)
    assert "- drifted beyond its noise: vote shift 29 points\n- another model answered\n" in in_sight(text)
    assert text.index("| i2 | x 2:0 | y 0:2 |") < text.index("| i1 | x 2:0 | x 1:1 |")
    assert f"| FAILS | compared with golden/a.txt | right | made | 2 verdicts differ | 40 | {sentence} |" in in_sight(
        text
    )
    gates = [gate.decision for gate in report.gates]
    assert f"**Gates:** {gates.count('fail') + 1} FAILS, " in text
    report.gates = []
    write_report(report, tmp_path / "out.json")
    assert main(["annotate", str(tmp_path / "out.json")]) == 0
    assert capsys.readouterr().out == f"::error title=right on made%3A compared with golden/a.txt::{sentence}\n"


def test_it_fits_a_comment(report: Report, suite: Suite) -> None:
    report.findings = ["x" * 400 for _ in range(100)]
    assert "1 section too long" not in report_to_markdown(report)
    report.findings = ["x" * 400 for _ in range(1000)]
    text = report_to_markdown(report)
    assert len(text) < LIMIT
    assert text.endswith("1 section too long for a comment: see the report in JSON.\n")
    assert "Calls: 320 made" in text
    assert text.count("<details>") == text.count("</details>")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a | b", "a \\| b"),
        ("<img src=x> & </details>", "&lt;img src=x&gt; &amp; &lt;/details&gt;"),
        ("@team", "@\u200bteam"),
        ("[a](http://b)", "\\[a\\](http:\u200b//b)"),
        ("strict_accuracy _x_ *y* `z` ~~w~~", "strict_accuracy \\_x\\_ \\*y\\* \\`z\\` \\~\\~w\\~\\~"),
        ("# head", "\\# head"),
        ("1. one", "1\\. one"),
        ("- 5", "\\- 5"),
        ("-5 and +5 [1, 2]", "-5 and +5 \\[1, 2\\]"),
        ("a\\|b", "a\\\\\\|b"),
        ("see www.example.org", "see www\u200b.example.org"),
        ("$x$ and $5", r"\$x\$ and \$5"),
        ("#1, o/r#12, C# 7", "#\u200b1, o/r#\u200b12, C# 7"),
        ("GH-12, gh-3, GH-x", "GH-\u200b12, gh-\u200b3, GH-x"),
        (":smile: 12:30:45 a: b", ":\u200bsmile: 12:\u200b30:45 a: b"),
        ("1) x", r"1\) x"),
        ("12. x", r"12\. x"),
    ],
)
def test_text_stays_text(text: str, shown: str) -> None:
    assert escape(text) == shown


def test_a_name_cannot_break_out(report: Report, suite: Suite) -> None:
    evil = replace(suite, name="a|b</details>\n# x @me")
    text = report_to_markdown(evaluate({"right": judge_of("R")}, evil, votes=1))
    assert "</details>\n#" not in text.replace("\n</details>\n", "")
    assert "@me" not in text
    for line in text.splitlines():
        if line.startswith("|"):
            assert len(re.findall(r"(?<!\\)\|", line)) in (6, 8)


def test_the_suffix_chooses_the_format(report: Report, tmp_path: Path) -> None:
    report.notes = ["caf\u00e9 \ud800"]
    write_report(report, tmp_path / "out.md")
    write_report(report, tmp_path / "out.json")
    assert (tmp_path / "out.md").read_text(encoding="utf-8") == report_to_markdown(report)
    assert "caf\u00e9" in (tmp_path / "out.md").read_text(encoding="utf-8")
    assert (tmp_path / "out.json").read_text().startswith("{")
