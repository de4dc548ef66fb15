"""Runs that end early, or judge nothing: what was made is said, and nothing passes that was not found out."""

from __future__ import annotations

import re
import subprocess
import sys

from .making import Lab

_JUDGES = """
    def dear(request):
        log(request)
        return {**right(request), "cost_usd": 1.0}
    dear.cost_usd_per_call = 1.0

    def raises_first(request):
        log(request)
        time.sleep(0.02)
        if request.ideas[0].title.startswith("i000"):
            raise RuntimeError("no")
        return {**right(request), "cost_usd": 0.01}

    def prose(request):
        return "I would rather talk about the weather, which is fine today."

    def pytest_novelty_judges():
        return {"dear": dear, "raises-first": raises_first, "prose": prose}
"""


def test_options_without_a_judge_are_not_silently_ignored(lab: Lab) -> None:
    lab.test_file("def test_plain():\n    pass\n")
    ran = lab.pytest("--novelty-suite=landmarks-pairwise")
    assert ran.ret == 4
    assert "--novelty options do nothing without --novelty-judge" in ran.said


def test_offline_without_a_single_record_is_no_success(lab: Lab, dist: str) -> None:
    lab.judges(_JUDGES)
    lab.suite(n=6, gates=["accuracy>=0.1"])
    ran = lab.judge("dear", "small", "--novelty-offline", "--novelty-missing=warn", dist=dist)
    assert ran.ret == 1
    assert "6 cases were not judged: offline, and their verdicts are not recorded" in ran.plain
    assert ran.report["headline"] == "Nothing was judged."


def test_calls_made_ahead_of_a_stop_are_said(lab: Lab, dist: str) -> None:
    lab.judges(_JUDGES)
    lab.suite(n=60)
    ran = lab.judge("raises-first", "small", "-x", dist=dist)
    assert ran.ret == 1 or dist
    said = re.search(
        r"([\d,]+) calls were made, \$\d\.\d+ in all as far as known: \d+ of them for cases that did not end", ran.plain
    )
    calls = ran.report["calls"]
    assert calls["made"] == len(ran.calls)
    assert bool(said) == (calls["unfinished"] > 0)
    if said:
        assert int(said[1]) == calls["made"]
        assert f"made ({calls['unfinished']:,} of them for cases that did not end)" in ran.plain
    assert len(ran.calls) < 120  # of 120: -x saves what it can, also under -n


def test_a_gate_on_a_variant_runs_the_variant(lab: Lab) -> None:
    lab.judges(_JUDGES)
    lab.suite(n=6, variants={"low": {"effort": "low"}})
    ran = lab.judge("dear", "small", "--novelty-gate=accuracy[low]@point>=0.5")
    assert ran.decisions() == {"accuracy[low]@point>=0.5": "pass"}


def test_a_share_is_not_a_percentage(lab: Lab) -> None:
    lab.judges(_JUDGES)
    lab.suite(n=6)
    ran = lab.judge("dear", "small", "--novelty-gate=accuracy>=80")
    assert ran.ret == 4
    assert "accuracy runs from 0 to 1" in ran.said
    assert "0.80, not as 80" in ran.said


def test_a_judge_that_never_answers_is_a_finding(lab: Lab) -> None:
    lab.judges(_JUDGES)
    lab.suite(n=6, gates=["invalid_rate<=0.5"])
    ran = lab.judge("prose", "small")
    assert "prose on small gave hardly a valid verdict: 12 of 12 answers failed as 'not JSON'" in ran.report["findings"]


def test_an_export_whose_reader_stops_ends(lab: Lab) -> None:
    lab.judges(_JUDGES)
    lab.suite(n=60)
    lab.judge("dear", "small")
    command = f"'{sys.executable}' -m pytest_novelty.cli export | head -n 2"
    script = "import sys; from pytest_novelty.cli import main; sys.exit(main(['export']))"
    command = f"'{sys.executable}' -c \"{script}\" | head -n 2"
    done = subprocess.run(
        ["bash", "-c", command], cwd=lab.path, capture_output=True, text=True, timeout=60, check=False
    )
    assert len(done.stdout.splitlines()) == 2
    assert "Traceback" not in done.stderr
