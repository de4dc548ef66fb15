"""The cascade under pytest: the same alone and with workers, an auditor by name, and what a wrong one is told."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from .making import Lab


def _cascade(report: dict[str, Any]) -> dict[str, Any]:
    (item,) = report["grounding"]
    return {name: (rate["value"], rate["low"], rate["high"]) for name, rate in item["rates"].items()}


def test_the_cascade_of_the_baseline(lab: Lab, dist: str) -> None:
    ran = lab.judge("lexical", "landmarks-grouping", "--novelty-sample=12", dist=dist)
    assert ran.ret == 0
    ran.assert_clean()
    assert "Grounding of lexical on landmarks-grouping, in pairs of papers" in ran.plain
    assert "after mismatch" in ran.plain
    (item,) = ran.report["grounding"]
    assert (item["auditor"], item["weak_auditor"]) == ("lexical", True)
    assert item["rates"]["hallucination_rate"]["value"] == 0  # it quotes what it was shown
    assert ran.metric("pair_f1")["value"] == item["rates"]["f1"]["value"]


def test_numbers_are_the_same_with_workers(lab: Lab) -> None:
    options = ("lexical", "landmarks-similarity", "--novelty-sample=30", "--novelty-auditor=chance")
    alone = lab.judge(*options)
    assert "novelty auditor: chance, free, audits lexical" in alone.out
    together = lab.judge(*options, "--novelty-refresh", dist="-n2")
    assert alone.ret == together.ret == 0
    assert 0 < _cascade(alone.report)["mismatch_rate"][0] < 1
    assert _cascade(together.report) == _cascade(alone.report)
    assert together.report["outcomes"] == alone.report["outcomes"]


def test_a_judge_is_not_audited_by_its_own_family(lab: Lab, dist: str) -> None:
    ran = lab.judge("chance", "landmarks-similarity", "--novelty-auditor=chance", dist=dist)
    assert ran.ret == 4
    ran.assert_clean()
    assert "the judge 'chance' would be audited by its own family" in ran.plain
    told = lab.judge(
        "chance",
        "landmarks-similarity",
        "--novelty-auditor=chance",
        "--novelty-own-family",
        "--novelty-sample=4",
        dist=dist,
    )
    assert told.ret == 0
    assert told.report["grounding"][0]["auditor"] == "chance"


def test_an_unknown_auditor(lab: Lab, dist: str) -> None:
    ran = lab.judge("lexical", "landmarks-similarity", "--novelty-auditor=chanse", dist=dist)
    assert ran.ret == 4
    ran.assert_clean()
    assert "unknown judge 'chanse'. Did you mean 'chance'?" in ran.plain


def test_an_answer_that_breaks_a_rule_is_counted(lab: Lab) -> None:
    lab.judges(
        """
        def judge(request):
            return {"is_similar": True, "evidence_a": "", "evidence_b": None, "reason": "Oh. It is. So."}

        def pytest_novelty_judges():
            return {"judge": judge}
        """
    )
    ran = lab.judge("judge", "landmarks-similarity", "--novelty-sample=10")
    assert ran.ret == 0
    assert "judge: 60 answers cited no evidence for a paper of a positive verdict (missing span)" in ran.plain
    assert "judge: 60 answers gave a reason of more than two sentences (long reason)" in ran.plain
    assert ran.metric("missing_evidence_rate")["value"] == 1


def test_reports_of_papers_are_compared(lab: Lab) -> None:
    """A judge that begins to make up evidence is a regression, and the run's own report is written."""
    lab.judges(
        """
        def sentence(paper):
            return paper.text.split(". ")[0] + "."

        def judge(request):
            if request.protocol == "entailment":
                return {"supported": True}
            spans = [sentence(paper) for paper in request.papers]
            if (HERE / "invents").exists():
                spans[0] = "Unicorns gallop over purple meadows at noon."
            return {"is_similar": True, "evidence_a": spans[0], "evidence_b": spans[1], "reason": "Both do."}

        judge.uses_prompt = False

        def pytest_novelty_judges():
            return {"judge": judge}
        """
    )
    options = (
        "judge",
        "landmarks-similarity",
        "--novelty-sample=60",
        "--novelty-auditor=judge",
        "--novelty-own-family",
    )
    (lab.path / "then.json").write_text(json.dumps(lab.judge(*options).report))
    (lab.path / "invents").touch()
    ran = lab.judge(*options, "--novelty-refresh", "--novelty-baseline=then.json")
    ran.assert_clean()
    (change,) = ran.report["against"]["changes"]
    (found,) = (row for row in change["metrics"] if row["metric"] == "hallucination_rate")
    assert (found["then"], found["now"], found["worse"]) == (0, 1, True)
    assert found["difference"]["low"] is not None, found
    assert "verified_f1" in ran.report["against"]["regressions"][0]


AUDITED = """
    def judge(request):
        spans = [paper.text.split(". ")[1] + "." for paper in request.papers]
        similar = {{spans[0][0], spans[1][0]}} != {{"W"}}
        return {{"is_similar": similar, "evidence_a": spans[0], "evidence_b": spans[1], "reason": request.instance_id}}

    def auditor(request):
        return {{"supported": True}}

    judge.version = auditor.version = "1"
    judge.family, auditor.family = "one", "other"
    judge.cost_usd_per_call, auditor.cost_usd_per_call = 0.0, 0.05

    def pytest_novelty_judges():
        return {{"judge": judge, "auditor": auditor}}
"""
"""Says that some of the papers are similar, each time for another reason."""


def test_a_missing_audit_takes_no_verdict_with_it(lab: Lab, dist: str) -> None:
    lab.judges(AUDITED.format())
    args = ("landmarks-similarity", "--novelty-sample=12", "--novelty-store=kept.sqlite")
    ran = lab.judge("judge", *args)
    assert ran.ret == 0
    verdicts = ran.report["calls"]["made"]
    args = (*args, "--novelty-auditor=auditor", "--novelty-offline")
    none = lab.judge("judge", args[0], "--novelty-sample=1", "--novelty-store=none.sqlite", *args[3:])
    assert "takes 6 calls at about $0" in none.plain
    assert ", what audits them not counted" in none.plain
    ran = lab.judge("judge", *args, "--novelty-missing=warn", dist=dist)
    assert ran.ret == 0
    assert len(ran.report["outcomes"]) == 12
    audits = re.search(
        r"(\d+) audits are not recorded: .* recording them takes \1 calls at about \$([\d.]+)", ran.plain
    )
    assert audits
    assert float(audits[2]) == pytest.approx(0.05 * int(audits[1]))
    assert ran.report["calls"]["reused"] == verdicts
    assert ran.report["grounding"][0]["rates"]["verified_f1"]["lower"] == 0
    ran = lab.judge("judge", *args, dist=dist)
    assert ran.ret == 1
    assert len(ran.report["outcomes"]) == 12
    assert "of judge by auditor are not recorded: its verdict stands" in ran.plain


def test_the_dry_run_counts_audits(lab: Lab) -> None:
    """At most one of each answer that is to come, exactly those of what is stored."""
    lab.judges(AUDITED.format())
    args = ("landmarks-similarity", "--novelty-sample=12", "--novelty-store=kept.sqlite")
    audited = (*args, "--novelty-auditor=auditor")
    told = lab.judge("judge", *audited, "--novelty-dry-run").plain
    assert "at most 72 audits of verdicts to come" in told
    assert "at most 72 to make, at most $3.60 (as the judge declares)" in told
    assert "in all: at most 144 calls to make, $3.60" in told
    told = lab.judge("judge", *audited, "--novelty-dry-run", "--novelty-budget=1").plain
    assert "the budget of $1.00 may be too small" in told
    lab.judge("judge", *args)
    told = lab.judge("judge", *audited, "--novelty-dry-run").plain
    found = re.search(
        r"auditor auditing judge on landmarks-similarity: (\d+) audits of stored verdicts, 0 stored", told
    )
    assert found
    count = int(found[1])
    assert 0 < count < 72
    assert f"in all: {count} calls to make, ${0.05 * count:.2f}" in told
    ran = lab.judge("judge", *audited)
    assert (ran.report["calls"]["made"], ran.report["calls"]["audits"]) == (count, count)
    assert ran.report["calls"]["cost_usd"] == pytest.approx(0.05 * count)
    told = lab.judge("judge", *audited, "--novelty-dry-run").plain
    assert f"{count} audits of stored verdicts, {count} stored, 0 to make, $0" in told
