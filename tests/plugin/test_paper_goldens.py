"""Golden verdicts, probes and baselines on suites of papers: as on ideas, whatever the labels are."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty.data import data_folder
from pytest_novelty.suites import embedded_suites

from .making import Lab, Ran

_JUDGE = """
    import random
    def log_paper(request):
        with open(HERE / "calls.log", "a", encoding="utf-8") as out:
            out.write("\\t".join(map(str, ("judge", request.instance_id, request.variant, request.order, request.sample))) + "\\n")
    def judge(request):
        log_paper(request)
        told = (HERE / "state").read_text().split()
        asked = (request.instance_id, request.order, request.sample)
        own = "\\t".join(map(str, (request.instance_id, request.variant, request.order, request.sample)))
        times = (HERE / "calls.log").read_text().count(own + "\\n")  # of this vote alone: others are asked at the same time
        yes = int(request.instance_id[:4], 16) % 2 == 0
        if "turned" in told:
            yes = not yes
        if "noisy" in told and random.Random(f"{asked} {times}").random() < 0.1:
            yes = not yes
        if request.protocol == "similarity":
            return {"is_similar": yes, "evidence_a": "x", "evidence_b": "y", "reason": "z"}
        if request.protocol == "entailment":
            return {"supported": yes}
        last = len(request.papers)
        members = [1, last] if yes else [2, 3] if request.order == "ab" else [last - 2, last - 1]
        return {"groups": [{"paper_indices": members, "evidence": {}, "reason": "z"}]}
    judge.version, judge.uses_prompt = "1", False
    def pytest_novelty_judges():
        return {"judge": judge}
"""
"""Says one thing of half of the instances, and another of the rest."""
UPDATE = ("-p", "syrupy", "--snapshot-update")
RUNS = (
    ("landmarks-similarity", ""),
    ("landmarks-entailment", ""),
    ("landmarks-grouping", ""),
    ("landmarks-grouping", "-n2"),
)
"""With workers only the one that sends labels of its own between processes."""


@pytest.fixture(autouse=True)
def _judge(lab: Lab) -> None:
    lab.judges(_JUDGE)
    state(lab, "noisy")


def state(lab: Lab, text: str) -> None:
    (lab.path / "state").write_text(text)


def drift(ran: Ran) -> dict[str, Any]:
    (found,) = ran.report["drift"]
    only: dict[str, Any] = found
    return only


def judged(ran: Ran) -> tuple[str, str]:
    """By the golden verdicts alone: the judge is a bad one, and may fail gates of its suite."""
    return drift(ran)["decision"], drift(ran)["verdict"]


def file_of(lab: Lab, suite: str) -> Path:
    return lab.path / "golden" / f"{suite}.judge.txt"


@pytest.mark.parametrize(("suite", "dist"), RUNS)
def test_record_compare_and_drift(lab: Lab, suite: str, dist: str) -> None:
    sample = ("judge", suite, "--novelty-sample=30")
    first = lab.judge(*sample, *UPDATE, dist=dist)
    assert f"golden verdicts written: golden/{suite}.judge.txt (30 added)" in first.plain
    again = lab.judge(*sample)
    assert judged(again) == ("pass", "the same"), again.said
    anew = lab.judge(*sample, "--novelty-refresh")
    assert judged(anew) == ("pass", "different, within its noise"), anew.said
    state(lab, "noisy turned")
    turned = lab.judge(*sample, "--novelty-refresh", dist=dist)
    turned.assert_clean()
    assert (turned.ret, *judged(turned)) == (1, "fail", "drifted")
    assert "drifted beyond its noise: vote shift" in turned.plain
    assert drift(turned)["vote_shift"]["value"] > 0.3
    part = lab.judge("judge", suite, "--novelty-sample=10", *UPDATE)
    assert (drift(part)["decision"], drift(part)["n"]) == ("pass", 10)
    assert f"golden/{suite}.judge.txt (10 changed)" in part.plain
    lines = [line for line in file_of(lab, suite).read_text().splitlines() if not line.startswith("#")]
    assert len(lines) == 30


@pytest.mark.parametrize(("suite", "dist"), RUNS)
def test_a_probe(lab: Lab, suite: str, dist: str) -> None:
    lab.judge("judge", suite, "--novelty-sample=30")
    quiet = lab.judge("judge", suite, "--novelty-probe=30")
    assert (quiet.ret, drift(quiet)["decision"]) == (0, "pass"), quiet.said
    assert drift(quiet)["against"].startswith("the store (20")
    state(lab, "noisy turned")
    turned = lab.judge("judge", suite, "--novelty-probe=30", dist=dist)
    turned.assert_clean()
    assert (turned.ret, drift(turned)["verdict"], drift(turned)["n"]) == (1, "drifted", 30), turned.said
    assert "if that is right, ask all anew for the store: --novelty-refresh, without --novelty-probe" in turned.plain


@pytest.mark.parametrize(
    ("suite", "before", "after", "words"),
    [
        (
            "landmarks-similarity",
            "\tsimilar\t",
            "\tnot similar\t",
            "the label is not similar, and the votes say similar",
        ),
        ("landmarks-similarity", "\tsimilar\t", "\tnovel\t", "the label is novel, and the votes say similar"),
        (
            "landmarks-entailment",
            "\tsupported\t",
            "\tunsupported\t",
            "the label is unsupported, and the votes say supported",
        ),
        ("landmarks-entailment", "\tsupported\t", "\tnovel\t", "the label is novel, and the votes say supported"),
        (
            "landmarks-entailment",
            "\tsupported\t0:3",
            "\tsupported\tab 0:3",
            "these are no votes of the protocol entailment",
        ),
        ("landmarks-grouping", "{", '{"!nobody" ', "with papers that the instance has not"),
        (
            "landmarks-grouping",
            "ab 3, ba 3",
            "ab 1, ab 2 all apart, ba 1, ba 2 all apart",
            "and the votes say all apart",
        ),
    ],
)
def test_what_no_run_writes_costs_no_call(lab: Lab, suite: str, before: str, after: str, words: str) -> None:
    state(lab, "steady")
    options = ("judge", suite, "--novelty-sample=4")
    lab.judge(*options, *UPDATE)
    text = file_of(lab, suite).read_text()
    head, _, rows = text.partition("digest of what was shown\n")
    assert before in rows
    file_of(lab, suite).write_text(f"{head}digest of what was shown\n{rows.replace(before, after, 1)}")
    lab.forget_calls()
    ran = lab.judge(*options, "--novelty-refresh")
    assert ran.ret == 4, ran.said
    assert words in " ".join(ran.plain.split())
    assert f"golden/{suite}.judge.txt:" in ran.plain
    assert not lab.logged()
    ran.assert_clean()


def test_a_baseline_of_groupings(lab: Lab) -> None:
    options = ("judge", "landmarks-grouping", "--novelty-sample=30")
    (lab.path / "then.json").write_text(json.dumps(lab.judge(*options).report))
    state(lab, "noisy turned")
    ran = lab.judge(*options, "--novelty-refresh", "--novelty-baseline=then.json")
    ran.assert_clean()
    (change,) = ran.report["against"]["changes"]
    assert change["vote_shift_p_holm"] < 0.01
    assert change["vote_shift"]["value"] > 0.3


def test_every_embedded_suite_is_compared_with_what_the_baseline_said(lab: Lab) -> None:
    shutil.copytree(data_folder("golden"), lab.path / "golden")
    ran = lab.judge("lexical", "", "--novelty-sample=3")
    assert ran.ret == 0, ran.said
    assert {item["suite"]: item["verdict"] for item in ran.report["drift"]} == dict.fromkeys(
        embedded_suites(), "the same"
    )


_CITES = """
    import random
    def judge(request):
        told = (HERE / "state").read_text().split()
        spans = [paper.text.split(". ")[0] + "." for paper in request.papers]
        if "invents" in told or ("sometimes" in told and random.Random(f"{told} {request}").random() < 0.1):
            spans = ["Unicorns gallop over purple meadows at noon." for _ in spans]
        if request.protocol == "similarity":
            return {"is_similar": True, "evidence_a": spans[0], "evidence_b": spans[1], "reason": "z"}
        evidence = {str(place + 1): span for place, span in enumerate(spans)}
        members = [place + 1 for place, _ in enumerate(spans)]
        return {"groups": [{"paper_indices": members, "evidence": evidence, "reason": "z"}]}
    judge.version, judge.uses_prompt = "1", False
    def pytest_novelty_judges():
        return {"judge": judge}
"""
ALONE = "labels alone: evidence is not compared (--novelty-baseline compares it)"


@pytest.mark.parametrize("suite", ["landmarks-similarity", "landmarks-grouping"])
def test_a_probe_sees_evidence_that_becomes_fabricated(lab: Lab, suite: str, dist: str) -> None:
    lab.judges(_CITES)
    state(lab, "sometimes 1")
    lab.judge("judge", suite, "--novelty-sample=20")
    state(lab, "sometimes 2")
    quiet = lab.judge("judge", suite, "--novelty-probe=20", dist=dist)
    assert drift(quiet)["decision"] == "pass", quiet.said
    assert "of positive votes before" in quiet.plain
    assert "within its noise" in " ".join(quiet.plain.split())
    state(lab, "invents")
    worse = lab.judge("judge", suite, "--novelty-probe=20", "--novelty-report=out.md", dist=dist)
    worse.assert_clean()
    found = drift(worse)
    assert (worse.ret, found["verdict"], found["decision"], found["differing"]) == (1, "drifted", "fail", [])
    assert (found["evidence"]["compared"], found["evidence"]["worse"]) == (True, True)
    rate = found["evidence"]["rates"][0]
    assert (rate["metric"], rate["after"]) == ("hallucination_rate_all", 1)
    assert rate["before"] < 0.3
    assert rate["p_holm"] < 0.01
    assert found["sentence"].startswith("worse beyond its noise: evidence not in what was shown in ")
    assert "worse beyond its noise: evidence not in what was shown" in (lab.path / "out.md").read_text()
    assert "worse beyond its noise: evidence not in what was shown" in " ".join(worse.plain.split())


def test_golden_verdicts_say_that_they_are_labels_alone(lab: Lab) -> None:
    lab.judges(_CITES)
    state(lab, "quiet")
    sample = ("judge", "landmarks-similarity", "--novelty-sample=20")
    lab.judge(*sample, *UPDATE)
    state(lab, "invents")
    same = lab.judge(*sample, "--novelty-refresh", "--novelty-report=out.md")
    assert judged(same) == ("pass", "the same")
    assert drift(same)["evidence"] == {"compared": False, "worse": False, "rates": []}
    assert ALONE in " ".join(same.plain.split())
    assert ALONE in (lab.path / "out.md").read_text()
    shutil.rmtree(lab.path / ".novelty")
    state(lab, "quiet")
    lab.judge(*sample)
    state(lab, "invents")
    probed = lab.judge("judge", "landmarks-similarity", "--novelty-probe=20")
    assert (probed.ret, *judged(probed)) == (1, "fail", "drifted")
    assert drift(probed)["evidence"]["worse"] is True


def test_evidence_is_nothing_to_verdicts_that_cite_none(lab: Lab) -> None:
    lab.judge("judge", "landmarks-entailment", "--novelty-sample=10", *UPDATE)
    again = lab.judge("judge", "landmarks-entailment", "--novelty-sample=10")
    assert drift(again)["evidence"] is None
    assert "evidence is not compared" not in again.plain
