"""What a run says of answers whose texts were left out of a store (export --no-text): once, with the cause and what to do."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty import evaluate
from pytest_novelty.audits import Audits
from pytest_novelty.deciding import INCONCLUSIVE, GateResult
from pytest_novelty.gates import parse_gate
from pytest_novelty.model import Axes, Outcome, Suite, Variant
from pytest_novelty.outcomes import CaseResult
from pytest_novelty.reports.blocks import render_blocks
from pytest_novelty.reports.grounding import grounding_blocks
from pytest_novelty.reports.markdown import report_to_markdown
from pytest_novelty.reports.terminal import render
from pytest_novelty.results import Report
from pytest_novelty.settings import Settings
from pytest_novelty.textless import foretell_textless, undecided_without_text
from tests.unit.test_auditing import auditor, make_suite, planted

GATES = ["verified_f1@point>=0.5", "mismatch_rate@point<=0.1"]
STATEMENTS = 12
"""Of a judge that says similar to all six instances, in both orders; half of them are right."""


def bound(name: str = "perfect") -> Callable[..., Any]:
    judge = planted(name)
    judge.version, judge.cost_usd_per_call = "1", 0.0  # type: ignore[attr-defined]
    return judge


def judged(path: Path, suite: Suite | None = None, *, keep: str = "", **options: Any) -> Report:
    """Offline, from a store that has lost the texts of ``made``, but for those of the instance ``keep``."""
    given: dict[str, Any] = {"judge": bound(), **options}
    gates = given.pop("gates", GATES)
    judges, wanted = given.pop("judge"), suite or make_suite("similarity")
    evaluate(judges, wanted, store=path, **given)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE records SET raw = '', reason = '' WHERE suite = 'made' AND instance <> ?", (keep,))
        connection.commit()
    return evaluate(judges, wanted, store=path, gates=gates, offline=True, **given)


def flat(text: str) -> str:
    return " ".join(text.split())


def test_the_cause_is_said_once_with_what_to_do(tmp_path: Path) -> None:
    report = judged(tmp_path / "s.sqlite")
    (found,) = [text for text in report.findings if "text" in text]
    assert found == (
        f"{STATEMENTS} statements of judge on made cannot be audited, as the store has no texts of them (export --no-text): whether reasons "
        "follow from their evidence is unchecked, with bounds over it (whether the evidence is there is recorded, and counts). "
        "verified_f1@point>=0.5, mismatch_rate@point<=0.1 are undecided for want of texts, for which pytest fails. Take a store "
        "or an export that has them, or say --novelty-missing=warn"
    )
    shown = flat(render(report, width=200))
    assert shown.count("cannot be audited") == 1
    step = "Next: judge from a store or an export with texts, without which verified_f1@point>=0.5, mismatch_rate@point<=0.1 "
    assert f"{step}cannot be decided (see the finding)." in shown
    assert "run again" not in shown + report_to_markdown(report)


def test_each_gate_names_the_cause(tmp_path: Path) -> None:
    report = judged(tmp_path / "s.sqlite")
    gates = {gate.gate.metric: gate for gate in report.gates}
    for metric in ("verified_f1", "mismatch_rate"):
        assert gates[metric].decision == INCONCLUSIVE
        assert "over what was not checked, for want of texts" in gates[metric].message
        assert (
            gates[metric].advice
            == f"{STATEMENTS} statements of its votes not audited, for want of texts (export --no-text)"
        )
    assert report_to_markdown(report).count(gates["verified_f1"].advice) == 2
    assert "over what was not checked, for want of texts" in flat(render(report, width=200))


def test_a_gate_tells_all_that_its_value_could_be(tmp_path: Path) -> None:
    """And not the worst of it as if that had been measured."""
    report = judged(tmp_path / "s.sqlite")
    (gate,) = [gate for gate in report.gates if gate.gate.metric == "verified_f1"]
    assert (gate.value, gate.bounds) == (0, (0, pytest.approx(2 / 3)))
    assert "verified_f1 is 0 to 0.667 [0, 0.909], n = 6" in gate.message
    assert "| 0 to 67 % \\[0, 91\\] | 6 |" in report_to_markdown(report)
    data = report.to_dict()
    (row,) = [row for row in data["gates"] if row["metric"] == "verified_f1"]
    assert row["bounds"] == [0, pytest.approx(2 / 3)]
    assert {row["metric"]: row["bounds"] for row in data["metrics"]}["verified_f1"] == row["bounds"]
    assert {row["metric"]: row["bounds"] for row in data["metrics"]}["f1"] is None


def test_headline_and_cascade_name_the_cause(tmp_path: Path) -> None:
    report = judged(tmp_path / "s.sqlite")
    assert f"{STATEMENTS // 2} of {STATEMENTS // 2} reasons unchecked, for want of texts;" in report.headline
    shown = flat(render_blocks(grounding_blocks(report), width=200))
    assert "unchecked for want of texts: 100 % of right positives" in shown
    assert "auditor: nobody can be asked about reasons whose texts were left out of the cassette" in shown
    assert "weak baseline" not in shown
    assert report.to_dict()["grounding"][0]["textless"] == STATEMENTS
    bare = make_suite("similarity")
    unlabelled = tuple(replace(instance, gold=None) for instance in bare.instances)
    report = judged(tmp_path / "u.sqlite", replace(bare, label_kind="none", instances=unlabelled), gates=[])
    shown = flat(render_blocks(grounding_blocks(report), width=200))
    assert "unchecked votes may make; they are unchecked for want of texts" in shown


def test_what_an_auditor_does_not_answer_is_told_apart(tmp_path: Path) -> None:
    """Of those that have a text it helps to run again; of the others it does not."""
    mute = {"mute": auditor(lambda request: "I cannot tell.", version="1", family="other")}
    report = judged(tmp_path / "s.sqlite", keep="i0", auditor=mute)
    (gate,) = [gate for gate in report.gates if gate.gate.metric == "verified_f1"]
    assert gate.advice == (
        "12 statements of its votes not audited, 10 of them for want of texts (export --no-text); run again to repeat audits "
        "that failed (--novelty-refresh: also where an answer was no verdict)"
    )
    assert "reasons unchecked, in part for want of texts" in report.headline
    assert [text.partition(" ")[0] for text in report.findings if "export --no-text" in text] == ["10"]


def test_where_some_texts_are_there_the_auditor_is_told(tmp_path: Path) -> None:
    report = judged(tmp_path / "s.sqlite", keep="i0")
    shown = flat(render_blocks(grounding_blocks(report), width=200))
    assert "auditor: lexical" in shown
    assert "nobody can be asked" not in shown


def test_all_judges_are_in_one_finding(tmp_path: Path) -> None:
    report = judged(tmp_path / "s.sqlite", judge={"one": bound(), "two": bound()})
    (found,) = [text for text in report.findings if "export --no-text" in text]
    assert found.startswith("12 statements of one on made, 12 of two on made cannot be audited")
    assert found.count("verified_f1@point>=0.5") == 1


def test_a_variant_of_fewer_votes_lacks_them_too(tmp_path: Path) -> None:
    prompt = "similarity/reference"
    variants = {
        "reference": Variant("reference", Axes(prompt, votes=2)),
        "single": Variant("single", Axes(prompt, votes=1), ("votes",)),
    }
    suite = replace(make_suite("similarity"), variants=variants)
    report = judged(tmp_path / "s.sqlite", suite, variants=["single"])
    assert {item.variant: item.found.textless for item in report.grounding} == {"reference": 24, "single": 12}
    (found,) = [text for text in report.findings if "export --no-text" in text]
    assert found.startswith("24 statements of ")  # each once


def test_nothing_is_said_where_all_texts_are_there(tmp_path: Path) -> None:
    report = evaluate(bound(), make_suite("similarity"), gates=GATES)
    assert "for want of text" not in render(report, width=200) + report_to_markdown(report)
    assert report.to_dict()["grounding"][0]["textless"] == 0


def test_a_gate_waits_only_for_texts_of_its_own_variant() -> None:
    gates = [
        GateResult("judge", "made", parse_gate(text), INCONCLUSIVE, "")
        for text in ("verified_f1>=0.5", "verified_f1[plain]>=0.5", "verified_f1[min]>=0.5", "f1[plain]>=0.5")
    ]
    lacking = CaseResult(
        "judge", "made", "plain", "i0", Outcome(None, "wrong", (), None, None), audits=Audits(textless=1)
    )
    assert [gate.gate.text for gate in undecided_without_text(gates, [lacking])] == [
        "verified_f1[plain]>=0.5",
        "verified_f1[min]>=0.5",
    ]
    assert undecided_without_text(gates, [lacking._replace(judge="other")]) == []
    assert undecided_without_text(gates, [lacking._replace(audits=Audits())]) == []


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"store": Path("there/bare.jsonl"), "offline": True}, "as the cassette bare.jsonl has no texts of them"),
        ({"store": Path("there/bare.jsonl"), "offline": True}, "Export again without --no-text, or say --novelty-m"),
        ({"store": Path("kept.sqlite")}, "or an export that has them, or ask anew with --novelty-refresh, or say"),
        ({"missing": "warn"}, "follow from their evidence is unchecked. verified_f1>=0.5 rests on it. Take"),
        ({}, "verified_f1>=0.5 rests on it; pytest fails where that leaves one undecided. "),
    ],
)
def test_it_is_foretold(settings: dict[str, Any], said: str) -> None:
    made = Settings(("judge",), Path(), **settings)
    gates = [parse_gate("f1>=0.5"), parse_gate("verified_f1>=0.5")]
    told = foretell_textless(made, {("judge", "made"): 3, ("judge", "whole"): 0}, gates)
    assert told.startswith("3 statements of judge on made cannot be audited")
    assert said in told
    assert "rest" not in foretell_textless(made, {("judge", "made"): 3}, gates[:1])
    assert foretell_textless(made, {("judge", "whole"): 0}, gates) == ""
