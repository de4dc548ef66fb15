"""Stability under pytest: variants against the reference, gates over them, judges against each other, claims, looks."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from .making import Lab, Ran

_WORDINGS = {"P3": {"prompt": "pairwise/p3"}, "P5": {"prompt": "pairwise/p5"}}


def _renderings(row: dict[str, Any]) -> None:
    for idea in row["ideas"]:
        idea["renderings"] = {"plan": f"Purpose and mechanism of: {idea['text']}"}


@pytest.fixture
def ready(lab: Lab) -> Lab:
    lab.planted()
    lab.suite(
        "pairs",
        n=60,
        protocol="pairwise",
        votes=3,
        variants={**_WORDINGS, "plan": {"format": "plan"}},
        change=_renderings,
    )
    gold = json.loads((lab.path / "gold.json").read_text())
    plans = {f"Purpose and mechanism of: {text}": novel for text, novel in gold.items()}
    (lab.path / "gold.json").write_text(json.dumps({**gold, **plans}))
    return lab


def _valid(ran: Ran) -> dict[str, Any]:
    schema = json.loads((files("pytest_novelty") / "schemas" / "report.json").read_text())
    jsonschema.Draft202012Validator(schema).validate(ran.report)
    return ran.report


def _variants(ran: Ran, judge: str | None = None) -> dict[str, dict[str, Any]]:
    return {item["variant"]: item for item in ran.report["variants"] if judge in (None, item["judge"])}


def _row(ran: Ran, name: str, variant: str) -> dict[str, Any]:
    (row,) = [r for r in ran.report["metrics"] if (r["metric"], r["variant"], r["stratum"]) == (name, variant, None)]
    found: dict[str, Any] = row
    return found


# --- variants -----------------------------------------------------------------------------------------------


def test_two_wordings(ready: Lab, dist: str) -> None:
    """The whole way: a judge that two prompts move or do not, its numbers with intervals, the words, the gate, the exit status."""
    ran = ready.judge(
        "planted:moved_by_wording", "pairs", "--novelty-variant=P3", "--novelty-variant=P5", "--novelty-gate=vote_shift[P5]<=0.45",
        "--novelty-gate=flip_rate[P3]<=0.1", "-rf", dist=dist,
    )  # fmt: skip
    assert ran.ret == 1
    ran.assert_clean()
    report = _valid(ran)
    moved, still = _variants(ran)["P3"], _variants(ran)["P5"]
    assert (moved["cause"], still["cause"]) == ("variant", "nothing found")
    assert moved["attribution"].startswith("the wording moves it (vote shift ")
    assert moved["moved"]["p_holm"] < 1e-6
    assert still["attribution"].startswith("no effect found in n = 60; an effect above ")
    for name in ("flip_rate", "null_flip_rate", "reversal_rate", "vote_shift", "excess_flip"):
        row = _row(ran, name, "P3")
        assert row["reference"] == {"judge": "moved_by_wording", "variant": "reference"}
        assert row["low"] < row["value"] < row["high"], name
    assert _row(ran, "vote_shift", "[max]")["value"] == _row(ran, "vote_shift", "P3")["value"]
    assert sum(sum(row.values()) for row in moved["transitions"].values()) == 60
    starred = {change["metric"] for change in moved["changes"] if change["starred"]}
    assert "strict_accuracy" in starred
    assert not [change for change in still["changes"] if change["starred"]]
    assert ran.decisions() == {"vote_shift[P5]<=0.45": "pass", "flip_rate[P3]<=0.1": "fail"}
    assert "FAILED novelty-suites/pairs::gate[moved_by_wording-flip_rate-p3-le-0.1]" in ran.out
    assert "moved_by_wording on pairs, variants" in ran.plain
    assert "P3 (prompt): the wording moves it (vote shift " in ran.plain
    assert "rewording (P3) moves its votes by " in report["headline"]


def test_a_rendering(ready: Lab, dist: str) -> None:
    ran = ready.judge("planted:moved_by_rendering", "pairs", "--novelty-variant=plan", dist=dist)
    assert ran.ret == 1  # by the gate that a run with variants has
    assert ran.decisions() == {"vote_shift[max]<=0.25": "fail"}
    assert "novelty: stability is gated by vote_shift[max]<=0.25, as neither pairs nor an option gates it" in ran.plain
    item = _variants(ran)["plan"]
    assert item["attribution"].startswith("the rendering moves it (vote shift ")
    assert item["attribution"].endswith(", 0 % would flip by its own noise)")
    steady = ready.judge("planted:oracle", "pairs", "--novelty-variant=plan", dist=dist)
    assert (steady.ret, steady.decisions()) == (0, {"vote_shift[max]<=0.25": "pass"})
    assert _variants(steady)["plan"]["cause"] == "nothing found"


@pytest.mark.parametrize(
    ("judge", "cause"),
    [
        ("coin", "coin"),
        ("first", "order"),
        ("first_under_a_variant", "order and variant"),
        ("inverted", "variant"),
        ("anti_oracle", "nothing found"),
    ],
)
def test_causes(ready: Lab, judge: str, cause: str) -> None:
    ran = ready.judge(f"planted:{judge}", "pairs", "--novelty-variant=P5", "--novelty-gate=vote_shift@point<=1")
    assert _variants(ran)["P5"]["cause"] == cause, _variants(ran)["P5"]["attribution"]


def test_scores_that_drift(lab: Lab, dist: str) -> None:
    lab.planted()
    lab.suite("ideas", n=40, votes=3, variants={"low": {"effort": "low"}})
    ran = lab.judge(
        "planted:drifts", "ideas", "--novelty-variant=low", "--novelty-gate=abs(score_shift[low])<=0.5", dist=dist
    )
    assert (ran.ret, ran.decisions()) == (1, {"abs(score_shift[low])<=0.5": "fail"})
    assert _row(ran, "score_shift", "low")["value"] == pytest.approx(1.0, abs=0.2)
    assert _variants(ran)["low"]["attribution"].startswith("the effort moves its scores (mean score +")
    for name in ("score_rms_shift", "rank_flip", "topk_churn"):
        assert _row(ran, name, "low")["value"] is not None
    assert "scores move" in ran.plain


def test_lexical_is_deterministic(ready: Lab) -> None:
    """Flips across renderings are real; prompts are not for it, and count for nothing."""
    options = [
        "--novelty-variant=all",
        "--novelty-sample=60",
        "--novelty-gate=vote_shift@point<=1",
        "--novelty-gate=flip_rate[P1]<=1",
    ]
    ran = ready.judge("lexical", "landmarks-pairwise", *options)
    skipped = {item["variant"] for item in ran.report["run"]["skipped"]}
    assert {"P1", "P3", "P4", "P5"} <= skipped
    assert "plan" in _variants(ran)
    assert not skipped & set(_variants(ran))
    assert _row(ran, "retest_flip_rate", "plan")["value"] == 0.0
    flips = _row(ran, "flip_rate", "plan")["value"]
    assert flips > 0
    assert _row(ran, "excess_flip", "plan")["value"] > 0
    assert ran.gate("flip_rate[P1]<=1")["decision"] == "not enforced"
    assert "P5-published, related: skipped, lexical has a prompt of its own; they count for nothing" in ran.plain
    over = ran.gate("vote_shift@point<=1")
    assert "without P1" in over["message"]
    assert "(has a prompt of its own)" in over["message"]


# --- what must not look like stability ----------------------------------------------------------------------


@pytest.mark.parametrize(("judge", "lost"), [("silent_under_a_variant", 0.5), ("fails_under_a_variant", 0.5)])
def test_a_variant_that_takes_verdicts_away_is_no_steady_one(ready: Lab, judge: str, lost: float) -> None:
    ran = ready.judge(
        f"planted:{judge}",
        "pairs",
        "--novelty-variant=P5",
        "--novelty-failures=wrong",
        "--novelty-gate=invalid_rate<=1",
    )
    item = _variants(_as_valid(ran))["P5"]
    assert item["cause"] == "votes lost"
    assert item["votes_lost"] == pytest.approx(lost, abs=0.15)
    assert item["votes_lost_p_holm"] < 1e-6
    assert "% of the votes away" in item["attribution"]
    assert "rewording (P5) takes " in ran.report["headline"]
    assert "is seen to move" not in ran.report["headline"]
    assert ran.decisions()["vote_shift[max]<=0.25"] != "pass"


def _as_valid(ran: Ran) -> Ran:
    _valid(ran)
    return ran


@pytest.mark.parametrize("options", [["-k", "not -P3-"], ["--novelty-sample=20..60", "-k", "not -P3-"]])
def test_a_variant_that_did_not_run_is_not_passed_over(ready: Lab, options: list[str]) -> None:
    ran = ready.judge(
        "planted:moved_by_wording",
        "pairs",
        "--novelty-variant=P3",
        "--novelty-variant=P5",
        "--novelty-gate=vote_shift[max]<=0.45",
        *options,
    )
    assert "P3" not in _variants(ran)
    assert ran.gate("vote_shift[max]<=0.45")["decision"] == "not enforced"
    assert "P3 did not run" in ran.gate("vote_shift[max]<=0.45")["message"]


def test_a_variant_that_a_cassette_lacks_is_not_passed_over(ready: Lab) -> None:
    options = ["--novelty-variant=P3", "--novelty-variant=P5", "--novelty-gate=vote_shift[max]<=0.45"]
    ready.judge("planted:moved_by_wording", "pairs", *options)
    with sqlite3.connect(ready.path / ".novelty" / "verdicts.sqlite") as connection:
        connection.execute("DELETE FROM records WHERE variant = 'P3'")
    ran = ready.judge("planted:moved_by_wording", "pairs", *options, "--novelty-offline", "--novelty-missing=warn")
    assert ran.gate("vote_shift[max]<=0.45")["decision"] == "not enforced"


def test_the_references_own_calls_pass_no_gate_over_variants(lab: Lab) -> None:
    lab.planted()
    lab.suite(
        "pairs", n=60, protocol="pairwise", votes=3, variants={"P3": _WORDINGS["P3"], "single-vote": {"votes": 1}}
    )
    ran = lab.judge("lexical", "pairs", "--novelty-variant=all", "--novelty-gate=flip_rate[max]<=0.25")
    assert {item["variant"] for item in ran.report["run"]["skipped"]} == {"P3"}
    assert ran.gate("flip_rate[max]<=0.25")["decision"] == "not enforced"
    assert "without P3" in ran.gate("flip_rate[max]<=0.25")["message"]


@pytest.mark.parametrize("judge", ["drifts_with_labels", "drifts_over_its_threshold"])
def test_scores_that_drift_are_seen_whatever_the_labels_do(lab: Lab, judge: str) -> None:
    lab.planted()
    lab.suite("ideas", n=60, votes=3, variants={"low": {"effort": "low"}})
    ran = lab.judge(f"planted:{judge}", "ideas", "--novelty-variant=low")
    item = _variants(ran)["low"]
    assert item["cause"] == "variant"
    assert item["attribution"].startswith("the effort moves its scores (mean score +3 [")
    assert "another effort (low) moves its " in ran.report["headline"]


def test_ties_make_no_coin(ready: Lab) -> None:
    ran = ready.judge("planted:ties_and_views", "pairs", "--novelty-variant=P5", "--novelty-gate=vote_shift@point<=1")
    assert _variants(ran)["P5"]["cause"] == "nothing found"


def test_scores_beyond_reason_are_invalid_answers(lab: Lab) -> None:
    lab.planted()
    lab.suite("ideas", n=20, votes=2, variants={"low": {"effort": "low"}})
    ran = lab.judge("planted:scores_beyond_reason", "ideas", "--novelty-variant=low")
    assert "INTERNALERROR" not in ran.out
    assert ran.report["calls"]["failed"] == ran.report["calls"]["made"] == 80


def test_nothing_judged_is_no_success(lab: Lab) -> None:
    """README: exit status 1 if nothing could be judged."""
    lab.planted()
    lab.suite("ideas", n=5)
    ran = lab.judge("planted:pairs_only", "ideas")
    assert ran.ret == 1
    assert "Nothing was judged: pairs_only does not judge pointwise." in ran.plain


def test_more_votes_are_calls_of_their_own(ready: Lab) -> None:
    """Nothing else changed, so what such a variant shows is the judge's own noise."""
    ready.suite("more", n=40, protocol="pairwise", votes=2, variants={"five": {"votes": 5}})
    ran = ready.judge("planted:coin", "more", "--novelty-variant=five", "--novelty-gate=vote_shift@point<=1")
    item = _variants(ran)["five"]
    assert item["cause"] == "coin"
    assert _row(ran, "null_flip_rate", "five")["value"] > 0.3


@pytest.mark.parametrize(
    ("judge", "gate", "decision"),
    [("planted:ranks_by_title", "cyclic_triads<=0.25", "pass"), ("chance", "cyclic_triads<=0.01", "fail")],
)
def test_triads_show_whether_verdicts_are_transitive(lab: Lab, judge: str, gate: str, decision: str) -> None:
    """The whole way: ideas, closed triads of them, a judge that ranks ideas and a coin."""
    lab.planted()
    ideas = [json.dumps({"title": f"{k:02}", "text": f"Idea {k}."}) + "\n" for k in range(60)]
    (lab.path / "ideas.jsonl").write_text("".join(ideas))
    cli = ["suite", "new", "--from", "ideas.jsonl", "--design", "triads", "--sample", "90", "--out", "triads"]
    subprocess.run(
        [Path(sys.executable).with_name("pytest-novelty"), *cli], cwd=lab.path, check=True, capture_output=True
    )
    ran = lab.judge(judge, "triads", f"--novelty-gate={gate}", "--novelty-votes=1", "--novelty-orders=ab")
    row = _row(ran, "cyclic_triads", "reference")
    assert row["n"] == 30
    assert (row["value"] == 0) == (decision == "pass")
    assert ran.gate(gate)["decision"] == decision


# --- judges -------------------------------------------------------------------------------------------------


def test_a_reference_judge(ready: Lab, dist: str) -> None:
    judges = "planted:oracle planted:first planted:inverted"
    ran = ready.judge(
        judges,
        "pairs",
        "--novelty-reference=oracle",
        "--novelty-variant=P5",
        "--novelty-gate=vote_shift@point<=1",
        dist=dist,
    )
    _valid(ran)
    pairs = {(item["first"], item["second"]) for item in ran.report["comparisons"]}
    assert pairs == {("first", "oracle"), ("inverted", "oracle")}
    rows = [
        row
        for row in ran.report["metrics"]
        if row["reference"] and row["reference"]["judge"] == "oracle" != row["judge"]
    ]
    values = {(row["judge"], row["variant"]): row["value"] for row in rows if row["metric"] == "flip_rate"}
    assert values[("first", "reference")] == values[("first", "P5")] == 1.0
    assert values[("inverted", "reference")] == 0.0
    assert 0 < values[("inverted", "P5")] < 0.4
    wrong = ready.judge("planted:oracle", "pairs", "--novelty-reference=oracel", dist=dist)
    assert wrong.ret == 4
    assert "unknown reference judge 'oracel'. Did you mean 'oracle'?" in wrong.plain


# --- claims -------------------------------------------------------------------------------------------------


def test_a_claim(lab: Lab, dist: str) -> None:
    def of_systems(row: dict[str, Any]) -> None:
        for number, idea in enumerate(row["ideas"]):
            idea["system"] = ("ours", "base")[(number + int(row["id"][1:]) // 3) % 2]

    lab.planted()
    lab.suite(
        "pairs", n=40, protocol="pairwise", votes=3, variants=_WORDINGS, change=of_systems, contrast="system=ours/base"
    )
    ran = lab.judge(
        "planted:first_under_a_variant",
        "pairs",
        "--novelty-variant=all",
        "--novelty-gate=vote_shift@point<=1",
        dist=dist,
    )
    _valid(ran)
    (claim,) = ran.report["claims"]
    assert claim["contrast"] == {"field": "system", "ours": "ours", "base": "base"}
    assert [item["variant"] for item in claim["variants"]] == ["reference", "P3", "P5"]
    assert abs(claim["variants"][0]["value"]) < 1
    assert claim["variants"][1]["value"] == 0.0  # whoever follows the position ties
    assert "system ours less base, pairs won" in ran.plain
    assert claim["sentence"].split("; ")[-1] in ran.plain


# --- looks --------------------------------------------------------------------------------------------------


def test_looks(ready: Lab) -> None:
    ran = ready.judge("planted:oracle", "pairs", "--novelty-sample=20..60", "--novelty-gate=tie_rate<=0.25")
    assert ran.ret == 0
    ran.assert_clean()
    report = _valid(ran)
    assert ran.counts() == {"passed": 20 + 1, "skipped": 40}
    assert "all gates of pairs that can be are decided at look 1 of 5 (20 instances)" in ran.plain
    assert (report["run"]["suites"][0]["looks"], report["run"]["suites"][0]["look"]) == ([20, 30, 40, 50, 60], 1)
    assert report["calls"]["made"] == 20 * 6
    assert report["run"]["settings"]["sample"] == "20..60"
    assert "20, 30, 40, 50, 60 instances in 5 looks, until all gates are decided" in ran.plain
    again = ready.judge("planted:oracle", "pairs", "--novelty-sample=20..60", "--novelty-gate=tie_rate<=0.12")
    assert again.report["calls"]["reused"] == 20 * 6
    assert again.counts() == {"passed": 40 + 1, "skipped": 20}


def test_looks_are_estimated_at_most(ready: Lab) -> None:
    ran = ready.judge("planted:oracle", "pairs", "--novelty-sample=20..60", "--novelty-dry-run")
    assert "in all: at most 360 calls to make" in ran.plain


def test_looks_take_one_process(ready: Lab) -> None:
    ran = ready.judge("planted:oracle", "pairs", "--novelty-sample=20..60", dist="-n2")
    assert ran.ret == 4
    ran.assert_clean()
    assert "--novelty-sample 20..60 looks at the results on the way, which takes one process. Leave out -n" in ran.plain
    for wrong, said in (("60..20", "which does not grow"), ("60..", "a range such as 60..300")):
        ran = ready.judge("planted:oracle", "pairs", f"--novelty-sample={wrong}")
        assert ran.ret == 4
        assert said in ran.plain


def test_cases_left_out_stop_no_look(ready: Lab) -> None:
    ran = ready.judge(
        "planted:oracle", "pairs", "--novelty-sample=20..60", "--novelty-gate=tie_rate<=0.25", "-k", "i00 or i01"
    )
    assert set(ran.decisions().values()) == {"not enforced"}
    assert "not enforced: 20 of 60 instances ran" in ran.gate("tie_rate<=0.25")["message"]
    assert ran.counts()["passed"] == 20
