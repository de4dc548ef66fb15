"""Two runs whose reasons were not audited alike: what depends on that is no change of the judge."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_novelty import evaluate
from pytest_novelty.between_runs.changes import RunComparison, compare_reports
from pytest_novelty.between_runs.reading import load_report
from pytest_novelty.cli import main
from pytest_novelty.errors import SettingsError
from pytest_novelty.headline import percent
from pytest_novelty.metrics.grounded import RATES, hears_auditor
from pytest_novelty.model import Suite
from pytest_novelty.reports.between_runs import comparison_blocks, comparison_to_dict
from pytest_novelty.reports.blocks import render_blocks
from pytest_novelty.reports.markdown import comparison_to_markdown
from pytest_novelty.validation import load_schema
from tests.unit.test_auditing import auditor, make_suite, planted

GATE = "verified_f1@point>=0.5"


def of_sixty() -> Suite:
    suite = make_suite("similarity")
    six = suite.instances
    many = tuple(replace(six[number % 6], id=f"i{number:02d}") for number in range(60))
    return replace(suite, instances=many)


def says(word: bool, version: str = "1") -> dict[str, Any]:
    return {("yes" if word else "no"): auditor(lambda request: {"supported": word}, version=version, family="other")}


def write(path: Path, report: Any) -> Path:
    path.write_text(json.dumps(report.to_dict()))
    return path


def judged(folder: Path, name: str, auditors: dict[str, Any], **options: Any) -> Path:
    judge = planted("perfect")
    judge.version = "1"  # type: ignore[attr-defined]
    return write(folder / f"{name}.json", evaluate(judge, of_sixty(), auditor=auditors, gates=[GATE], **options))


def compare(old: Path, new: Path) -> tuple[RunComparison, str]:
    found = compare_reports(load_report(old), load_report(new))
    return found, " ".join(render_blocks(comparison_blocks(found), width=200, colour=False).split())


def test_what_an_auditor_decides() -> None:
    found = {name for name in RATES if hears_auditor(name)}
    assert {"mismatch_rate", "verified_rate", "verified_f1", "unchecked_rate", "retained_share"} <= found
    assert not found & {"f1", "grounded_f1", "hallucination_rate", "missing_evidence_rate", "positive_accuracy"}


def test_another_auditor_is_no_regression(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    then, now = judged(tmp_path, "then", says(True)), judged(tmp_path, "now", says(False))
    found, text = compare(then, now)
    assert found.regressions == found.improvements == []
    (change,) = found.changes
    heard = {metric.metric: metric for metric in change.metrics if hears_auditor(metric.metric)}
    assert (heard["verified_f1"].old.value, heard["verified_f1"].new.value) == (pytest.approx(2 / 3), 0)
    assert all((metric.difference.value, metric.p, metric.starred) == (None, None, False) for metric in heard.values())
    why = "the auditor changed (yes then, no now)"
    (note,) = [note for note in found.notes if "audit" in note]
    assert note.endswith(f" on made: {why}; what depends on it is not compared")
    assert f"no change is given: {why}" in text
    assert "WORSE" not in text
    (gate,) = found.gates
    assert (gate.old, gate.new, gate.audited_otherwise, gate.worse) == ("pass", "fail", True, False)
    against = load_schema("report")["properties"]["against"]
    jsonschema.validate(
        json.loads(json.dumps(comparison_to_dict(found))), {**against, "$defs": load_schema("report")["$defs"]}
    )
    assert main(["compare", "--fail-on-regression", str(then), str(now)]) == 0
    capsys.readouterr()


def test_the_same_auditor_is_compared(tmp_path: Path) -> None:
    then, now = judged(tmp_path, "then", says(True)), judged(tmp_path, "now", says(True))
    found, text = compare(then, now)
    assert "the auditor" not in text
    assert {m.metric: m.difference.value for m in found.changes[0].metrics}["verified_f1"] == 0


def test_another_version_of_the_auditor_is_another_one(tmp_path: Path) -> None:
    told = {"yes": auditor(lambda request: {"supported": False}, version="2", family="other")}
    found, _ = compare(judged(tmp_path, "then", says(True)), judged(tmp_path, "now", told))
    assert found.regressions == []
    assert any("the auditor yes changed (version 1 then, 2 now)" in note for note in found.notes)


def without_texts(folder: Path, auditors: dict[str, Any], keep: Sequence[str] = ()) -> tuple[Path, Path]:
    """A run, and one from a store that has lost the texts of its answers, but for those of some instances."""
    store = folder / "store.sqlite"
    whole = judged(folder, "whole", says(True), store=store)
    marks = ", ".join("?" * len(keep))
    with closing(sqlite3.connect(store)) as connection:
        update = f"UPDATE records SET raw = '', reason = '' WHERE suite = 'made' AND instance NOT IN ({marks})"
        assert connection.execute(update, keep).rowcount
        connection.commit()
    return whole, judged(folder, "part", auditors, store=store, offline=True)


@pytest.mark.parametrize("word", [True, False], ids=["same auditor", "another auditor"])
@pytest.mark.parametrize("lacks", ["then", "now"])
def test_texts_that_are_missing_are_named(tmp_path: Path, lacks: str, word: bool) -> None:
    """As after ``export --no-text``: what was found of the evidence is there, and no reason to audit, whoever is to be asked."""
    whole, part = without_texts(tmp_path, says(word))
    found, text = compare(part, whole) if lacks == "then" else compare(whole, part)
    assert found.regressions == found.improvements == []
    why = (
        f"no reason could be audited {lacks}: the texts of the answers are not in what that run read (export --no-text)"
    )
    assert list(found.notes) == [f"judge on made: {why}; what depends on it is not compared"]
    assert f"no change is given: {why}" in text
    assert "the auditor" not in text


@pytest.mark.parametrize("lacks", ["then", "now"])
def test_texts_that_are_missing_in_part_are_named(tmp_path: Path, lacks: str) -> None:
    whole, part = without_texts(tmp_path, says(True), keep=["i00", "i02"])
    count = json.loads(part.read_text())["grounding"][0]["textless"]
    assert count == 116  # of 60 in both orders, without two
    found, _ = compare(part, whole) if lacks == "then" else compare(whole, part)
    assert found.regressions == found.improvements == []
    told = f"{count} statements {lacks} could not be audited, for want of texts (export --no-text)"
    assert list(found.notes) == [f"judge on made: {told}; what depends on them is told as a range"]
    (change,) = found.changes
    assert {metric.metric: metric.difference.bounds for metric in change.metrics}["verified_f1"] is not None


def test_a_report_of_an_earlier_version_does_not_tell_of_texts(tmp_path: Path) -> None:
    whole, part = without_texts(tmp_path, says(True))
    told = json.loads(part.read_text())
    del told["grounding"][0]["textless"]
    part.write_text(json.dumps(told))
    found, _ = compare(whole, part)
    assert any("no reason was audited now, and all that wait for it are unchecked" in note for note in found.notes)


def test_a_vote_without_a_verdict_is_told_from_a_negative_one(tmp_path: Path) -> None:
    answers = iter([True, None, False] * 60)

    def judge(request: Any) -> Any:
        word = next(answers)
        return "I cannot tell." if word is None else {**planted("perfect")(request), "is_similar": word}

    judge.uses_prompt, judge.version, judge.max_concurrency = False, "1", 1  # type: ignore[attr-defined]
    report = evaluate(judge, of_sixty(), votes=3, orders="ab", concurrency=1).to_dict()
    jsonschema.validate(json.loads(json.dumps(report)), load_schema("report"))
    told = [row["grounds"] for row in report["outcomes"]]
    assert all([type(vote) for vote in row] == [list, type(None), list] for row in told)
    assert all(bool(row[0]) and row[2] == [] for row in told)
    path = tmp_path / "report.json"
    path.write_text(json.dumps(report))
    (view,) = load_report(path).views.values()
    assert {tuple(vote.label for vote in result.outcome.votes) for result in view.results} == {
        ("similar", None, "not similar")
    }
    for row in told:  # as earlier versions wrote it
        row[1] = []
    path.write_text(json.dumps(report))
    (view,) = load_report(path).views.values()
    assert {result.outcome.votes[0].label for result in view.results} == {"similar"}
    told[0][:] = [told[0][0], None, None]
    path.write_text(json.dumps(report))
    with pytest.raises(SettingsError, match="no verdict of a vote"):
        load_report(path)


def only_some(count: int) -> dict[str, Any]:
    """Audits of so many statements, and of no other; the auditor is the same."""
    seen: dict[Any, None] = {}

    def say(request: Any) -> Any:
        seen.setdefault(request.evidence)
        return {"supported": True} if list(seen).index(request.evidence) < count else "I cannot tell."

    return {"yes": auditor(say, version="1", family="other")}


@pytest.mark.parametrize("count", [1, 0])
def test_what_was_not_checked_has_bounds_in_every_view(tmp_path: Path, count: int) -> None:
    """As the run has them; and nobody knows by how much it changed."""
    whole, part = judged(tmp_path, "whole", says(True)), judged(tmp_path, "part", only_some(count), concurrency=1)
    told = json.loads(part.read_text())
    rates = told["grounding"][0]["rates"]
    least, most = rates["verified_f1"]["lower"], rates["verified_f1"]["upper"]
    assert (rates["mismatch_rate"]["value"] is None) == (count == 0)
    assert least < most == pytest.approx(2 / 3)
    for old, new, sign in ((whole, part, 1), (part, whole, -1)):
        found, text = compare(old, new)
        (change,) = found.changes
        metrics = {metric.metric: metric for metric in change.metrics}
        verified, mismatch = metrics["verified_f1"], metrics["mismatch_rate"]
        sides = (verified.new, verified.old)[::sign]
        assert sides[0].bounds == pytest.approx((least, most))
        assert sides[1].bounds is None
        ends = sorted([sign * (least - most), 0.0])
        assert verified.difference.bounds == (pytest.approx(ends) if count else None)
        assert (found.regressions, found.improvements) == ([], [])
        range_ = f"{percent(least)} to 67 %"
        shown = ("67 %", range_) if sign == 1 else (range_, "67 %")
        moved = f"{100 * ends[0]:+.0f} to {100 * ends[1]:+.0f}" if count else "undefined"
        row = " ".join(("verified_f1", *shown, moved))
        assert row in text, text
        assert escape_free(comparison_to_markdown(found)).count("| verified_f1 | " + " | ".join(shown)) == 1
        (item,) = comparison_to_dict(found)["changes"]
        rows = {entry["metric"]: entry for entry in item["metrics"]}
        assert rows["verified_f1"]["difference"]["value"] is None
        assert rows["verified_f1"]["difference_bounds"] == verified.difference.bounds
        names = ("now_bounds", "then_bounds")[::sign]
        assert [rows["verified_f1"][name] for name in names] == [sides[0].bounds, None]
        if count:
            assert (mismatch.new, mismatch.old)[::sign][0].bounds is not None
        else:
            undefined = ("0 %", "undefined")[::sign]
            assert " ".join(("mismatch_rate", *undefined, "undefined")) in text, text
        against = load_schema("report")["properties"]["against"]
        jsonschema.validate(
            json.loads(json.dumps(comparison_to_dict(found))), {**against, "$defs": load_schema("report")["$defs"]}
        )


def escape_free(text: str) -> str:
    return text.replace("\\", "")
