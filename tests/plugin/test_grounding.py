"""The cascade under pytest: the same alone and with workers, an auditor by name, and what a wrong one is told."""

from __future__ import annotations

from typing import Any

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
