"""The JSON report: it fits its schema, and says what the objects say."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_novelty.audits import Audits
from pytest_novelty.errors import SettingsError
from pytest_novelty.evaluation import evaluate
from pytest_novelty.judges.base import bind_judge
from pytest_novelty.judges.llm.files import LlmSettings
from pytest_novelty.judges.llm.judge import LlmJudge
from pytest_novelty.metrics.view import Estimate
from pytest_novelty.model import NOT_NOVEL, NOVEL, Suite
from pytest_novelty.outcomes import Usage
from pytest_novelty.reports.as_dict import report_to_dict, write_json
from pytest_novelty.results import Calls, Report, make_report
from pytest_novelty.settings import Settings
from pytest_novelty.tally import Made
from pytest_novelty.validation import load_schema

ESTIMATE = ("value", "low", "high", "n", "method", "note")
GATES = ["accuracy>=0.99", "abs(tie_rate)@point<=0.5", "tie_rate@area:cs<=0.9", "auroc>=0.5", "tie_rate<=0.01"]


def judge_of(wrong: int, **traits: Any) -> Callable[[Any], Any]:
    """Wrong on the first ideas."""

    def judge(request: Any) -> Any:
        place = int(request.idea.title)
        novel = (place % 2 == 0) != (place < wrong)
        usage = {"prompt_tokens": 7, "completion_tokens": 2}
        return {
            "novel": novel,
            "score": 8.5 if novel else 1.25,
            "reason": f"as {place}",
            "usage": usage,
            "cost_usd": 0.25,
        }

    for name, value in {"version": "1", "uses_prompt": False, **traits}.items():
        setattr(judge, name, value)
    return judge


@pytest.fixture
def report(make_suite: Callable[..., Suite], make_instance: Callable[..., Any]) -> Report:
    """Two judges on twelve ideas; the judge ``quiet`` does not judge them."""
    idea = make_instance().ideas[0]
    made = [
        make_instance(
            name=f"i{k:02}", ideas=(replace(idea, title=str(k)),), gold=(NOVEL, NOT_NOVEL)[k % 2],
            strata={"area": ("cs", "bio")[k % 3 > 0]},
        )
        for k in range(12)
    ]  # fmt: skip
    suite = make_suite("pointwise", *made, gates=GATES)
    judges = {
        "careful": judge_of(1), "other": judge_of(3), "quiet": judge_of(0, protocols=("pairwise",)),
    }  # fmt: skip
    return evaluate(judges, suite, votes=2, seed=5)


def estimate_of(item: dict[str, Any]) -> tuple[Any, ...]:
    return tuple(item[name] for name in ESTIMATE)


def values_of(estimate: Estimate) -> tuple[Any, ...]:
    return tuple(getattr(estimate, name) for name in ESTIMATE)


@pytest.fixture
def written(report: Report, tmp_path: Path) -> dict[str, Any]:
    """As another program reads it."""
    write_json(report, tmp_path / "report.json")
    found: dict[str, Any] = json.loads((tmp_path / "report.json").read_text(encoding="ascii"))
    return found


def test_it_fits_its_schema(written: dict[str, Any], report: Report) -> None:
    jsonschema.Draft202012Validator.check_schema(load_schema("report"))
    jsonschema.Draft202012Validator(load_schema("report")).validate(written)
    assert written == report_to_dict(report) == report.to_dict()


def test_the_schema_lets_nothing_be_left_out(written: dict[str, Any]) -> None:
    validator = jsonschema.Draft202012Validator(load_schema("report"))
    places = [
        written,
        written["run"],
        written["calls"],
        *(written["run"][name][0] for name in ("judges", "suites", "skipped")),
    ]
    places += [written[name][0] for name in ("metrics", "comparisons", "gates", "outcomes")]
    places += [written["comparisons"][0]["vote_shift"], written["outcomes"][0]["tallies"]["-"]]
    for place in places:
        for name in list(place):
            kept = place.pop(name)
            assert not validator.is_valid(written), name
            place[name] = kept
        place["more"] = 1
        assert not validator.is_valid(written)
        del place["more"]
    assert validator.is_valid(written)


def test_every_metric_is_the_objects(written: dict[str, Any], report: Report) -> None:
    assert len(written["metrics"]) == len(report.metrics) > 30
    for item, row in zip(written["metrics"], report.metrics, strict=True):
        assert estimate_of(item) == values_of(row.estimate)
        for name in ("judge", "suite", "protocol", "variant", "stratum", "metric"):
            assert item[name] == getattr(row, name)
    assert {item["stratum"] for item in written["metrics"]} == {None, "area:cs"}
    (accuracy,) = [m for m in written["metrics"] if (m["judge"], m["metric"]) == ("other", "accuracy")]
    assert (accuracy["value"], accuracy["n"]) == (9 / 12, 12)


def test_every_gate_is_the_objects(written: dict[str, Any], report: Report) -> None:
    assert [gate["name"] for gate in written["gates"]] == GATES * 2
    for item, result in zip(written["gates"], report.gates, strict=True):
        for name in ("judge", "suite", "decision", "value", "low", "high", "n", "message"):
            assert item[name] == getattr(result, name)
        for name in ("metric", "variant", "op", "threshold", "absolute", "point"):
            assert item[name] == getattr(result.gate, name)
    decisions = ["inconclusive", "pass", "pass", "pass", "inconclusive"]
    assert [gate["decision"] for gate in written["gates"][:5]] == decisions
    assert [gate["threshold"] for gate in written["gates"][:5]] == [0.99, 0.5, 0.9, 0.5, 0.01]
    assert [gate["absolute"] for gate in written["gates"][:5]] == [False, True, False, False, False]
    assert [gate["point"] for gate in written["gates"][:5]] == [False, True, False, False, False]
    assert [gate["stratum"] for gate in written["gates"][:5]] == [None, None, "area:cs", None, None]


def test_every_comparison_is_the_objects(written: dict[str, Any], report: Report) -> None:
    (item,), (comparison,) = written["comparisons"], report.comparisons
    for name in ("first", "second", "suite", "variant", "n", "p", "p_holm", "needed", "sentence", "advice"):
        assert item[name] == getattr(comparison, name)
    assert item["transitions"] == comparison.transitions
    assert sum(sum(row.values()) for row in item["transitions"].values()) == 12
    for name in ("accuracy_difference", "flip_rate", "vote_shift", "rank_flip"):
        assert estimate_of(item[name]) == values_of(getattr(comparison, name))
    # 2/12 more right, two against none: p = 1/2; 7.849 x (2/12 - 1/36) / (1/36) = 39.2
    assert (item["first"], item["second"], item["p"], item["needed"]) == ("careful", "other", 0.5, 40)


def test_every_outcome_is_the_objects(written: dict[str, Any], report: Report) -> None:
    assert len(written["outcomes"]) == len(report.outcomes) == 24
    for item, result in zip(written["outcomes"], report.outcomes, strict=True):
        assert (item["judge"], item["suite"], item["variant"], item["instance"]) == result.label
        for name in ("label", "result", "correct", "score", "reason"):
            assert item[name] == getattr(result.outcome, name)
        assert item["tallies"] == result.outcome.tallies()
    assert written["outcomes"][0] == {
        "judge": "careful", "suite": "made", "variant": "reference", "instance": "i00", "label": NOT_NOVEL, "result": "wrong",
        "correct": False, "score": 1.25, "tallies": {"-": {"votes": {NOT_NOVEL: 2}, "failed": {}}}, "scores": [1.25, 1.25],
        "trace": None, "reason": "as 0", "grounds": None, "invented": None,
    }  # fmt: skip


def test_calls_are_counted(written: dict[str, Any], report: Report) -> None:
    calls = written["calls"]
    assert calls == {item.name: getattr(report.calls, item.name) for item in fields(Calls)}
    assert (calls["planned"], calls["made"], calls["reused"], calls["failed"]) == (48, 48, 0, 0)
    assert (calls["tokens_in"], calls["tokens_out"], calls["cost_usd"], calls["unpriced"]) == (336, 96, 12, 0)
    assert calls["latency_s"].keys() == {"p50", "p90", "p99", "max"}


@pytest.mark.parametrize(("unpriced", "cost_usd"), [(0, 6.0), (1, None)])
def test_what_cases_took_is_summed(unpriced: int, cost_usd: float | None, report: Report) -> None:
    usage = Usage(2, 3, 4, 0.25, unpriced, 5, 6, (100, 300), (), 1, 2)
    audits = Audits(4, 3, {"timeout": 2})
    results = [
        result._replace(usage=usage, kinds={"timeout": 7, "echo": 1}, audits=audits) for result in report.outcomes
    ]
    assert report_to_dict(make_report(report.plan, results))["calls"] == {
        "planned": 48, "made": 48, "reused": 72, "retried": 96, "failed": 192, "tokens_in": 120, "tokens_out": 144,
        "cost_usd": cost_usd, "unpriced": 24 * unpriced, "latency_s": {"p50": 0.2, "p90": 0.3, "p99": 0.3, "max": 0.3}, "tokens_cached": 24,
        "tokens_reasoning": 48, "known_usd": 6.0, "unfinished": 0,
        "audits": 72, "audits_failed": 48,
    }  # fmt: skip


def test_how_a_model_is_asked_is_masked(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENANT_TOKEN", "tenant-abcdef-12345")
    settings = LlmSettings("openai", "m-5", name="careful", parameters={"user": "tenant-abcdef-12345", "n_best": 2})
    judges = tuple(bind_judge("careful", LlmJudge(settings)) if j.name == "careful" else j for j in report.plan.judges)
    report.plan.judges = judges
    asked = report_to_dict(report)["run"]["judges"][0]["asked"]
    assert asked["parameters"] == {"user": "[masked]", "n_best": 2}


def test_calls_of_cases_that_did_not_end_are_the_runs(report: Report) -> None:
    usage = Usage(2, 0, 0, 0.25, 0, 5, None, (100, 300), (), 1, 0)
    results = [result._replace(usage=usage) for result in report.outcomes]
    calls = make_report(report.plan, results, made=Made(50, 7.5, 0)).calls
    assert (calls.made, calls.unfinished, calls.cost_usd, calls.known_usd) == (50, 2, 7.5, 7.5)
    calls = make_report(report.plan, results, made=Made(50, 6.0, 2)).calls
    assert (calls.unpriced, calls.cost_usd, calls.known_usd) == (2, None, 6.0)
    calls = make_report(report.plan, results, made=Made(40, 5.0, 0)).calls  # a worker that crashed told nothing
    assert (calls.made, calls.unfinished, calls.cost_usd) == (48, 0, 6.0)
    assert (calls.tokens_in, calls.tokens_out) == (120, None)


def test_the_run_is_described(written: dict[str, Any], report: Report) -> None:
    run = written["run"]
    assert run["judges"] == [
        {
            "name": name,
            "version": "1",
            "version_is_digest": False,
            "asked": None,
            "traits": {
                "higher_is": "novel",
                "threshold": None,
                "score_range": None,
                "may_tie": False,
                "may_abstain": False,
                "retrieves": False,
                "honours_as_of": False,
            },
        }
        for name in ("careful", "other", "quiet")
    ]
    assert run["suites"] == [
        {
            "name": "made", "version": "1", "digest": "0" * 32, "protocol": "pointwise", "label_kind": "construction", "profile": "default",
            "cluster": None, "variants": ["reference"], "instances": 12, "planned": 12, "looks": [], "look": None, "level": 0.95,
            "blocklist": {},
        }
    ]  # fmt: skip
    assert run["skipped"] == [
        {"judge": "quiet", "suite": "made", "variant": None, "reason": "does not judge pointwise"}
    ]
    assert run["seed"] == 5
    assert (run["settings"]["votes"], run["settings"]["decide"], run["settings"]["sample"]) == (2, "interval", None)
    assert (written["format"], written["headline"]) == ("novelty-report/1", report.headline)
    assert (written["findings"], written["notes"], written["baselines"]) == (report.findings, report.notes, {})


@pytest.mark.parametrize(
    "name",
    sorted(
        {item.name for item in fields(Settings)}
        - {"judges", "suites", "base", "ini", "seed", "reports", "dry_run", "store", "baseline"}
    ),
)
def test_every_setting_that_bears_on_the_result_is_told(name: str, written: dict[str, Any], report: Report) -> None:
    value = getattr(report.plan.settings, name)
    assert written["run"]["settings"][name] == (list(value) if isinstance(value, tuple) else value)


def test_a_sample_and_a_decision_by_point_are_told(report: Report) -> None:
    planned = report.plan.suites["made"]
    report.plan.suites["made"] = replace(planned, instances=planned.instances[:5])
    report.plan.settings = replace(report.plan.settings, decide="point")
    found = report_to_dict(report)
    assert (found["run"]["suites"][0]["instances"], found["run"]["suites"][0]["planned"]) == (12, 5)
    assert {gate["point"] for gate in found["gates"]} == {True}


# --- the file -----------------------------------------------------------------------------------------------


def test_folders_are_made_and_nothing_is_left_beside_it(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "deep" / "er" / "report.json"
    write_json(report, path)
    assert [item.name for item in path.parent.iterdir()] == ["report.json"]
    umask = os.umask(0o022)
    os.umask(umask)
    assert path.stat().st_mode & 0o777 == 0o666 & ~umask
    assert path.read_bytes().isascii()
    assert path.read_text().endswith("}\n")


@pytest.mark.parametrize("call", ["replace", "chmod"])
def test_a_failed_write_leaves_the_old_report(
    call: str, report: Report, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "report.json"
    path.write_text("old")

    def fails(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, call, fails)
    with pytest.raises(SettingsError, match="report.json: cannot be written: No space left on device"):
        write_json(report, path)
    assert [item.name for item in tmp_path.iterdir()] == ["report.json"]
    assert path.read_text() == "old"


def test_a_path_that_cannot_be(report: Report, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match="cannot be written"):
        write_json(report, tmp_path / "file" / "report.json")
    (tmp_path / "folder").mkdir()
    with pytest.raises(SettingsError, match="cannot be written: Is a directory"):
        write_json(report, tmp_path / "folder")
    assert sorted(item.name for item in tmp_path.iterdir()) == ["file", "folder"]
