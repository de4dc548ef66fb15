"""``--novelty-probe``: a fixed sample asked past the store and compared with what it had; ``--novelty-max-age``."""

from __future__ import annotations

import sqlite3
from typing import Any

import pytest

from pytest_novelty.cli import main

from .making import Lab, Ran

_JUDGE = """
    import random
    def judge(request):
        log(request)
        told = (HERE / "state").read_text().split()
        said = right(request) if "turned" not in told else {"novel": not right(request)["novel"]}
        same = (request.ideas[0].title.split()[0], request.variant, str(request.order), str(request.sample))
        if "failing" in told and same[3] == "1" and same[0] in ("i003", "i004"):
            raise OSError("gone")
        times = sum(tuple(line.split("\t")[1:]) == same for line in (HERE / "calls.log").read_text().splitlines())
        if random.Random(f"{same} {times}").random() < 0.1:
            said = {"novel": not said["novel"]}
        return {"answer": json.dumps(said), "model": told[0], "cost_usd": 0.001}
    judge.version = "1"
    def pytest_novelty_judges():
        return {"judge": judge}
"""


@pytest.fixture(autouse=True)
def _judge(lab: Lab) -> None:
    lab.judges(_JUDGE)
    lab.suite(n=40, votes=3, gates=["accuracy>=0.99"])
    state(lab, "m-01")


def state(lab: Lab, text: str) -> None:
    (lab.path / "state").write_text(text)


def asked(ran: Ran) -> set[str]:
    return {call[1] for call in ran.calls}


def drift(ran: Ran) -> dict[str, Any]:
    (found,) = ran.report["drift"]
    only: dict[str, Any] = found
    return only


def keys(lab: Lab) -> list[str]:
    with sqlite3.connect(lab.path / ".novelty" / "verdicts.sqlite") as connection:
        found = [key for (key,) in connection.execute("SELECT key FROM records")]
    connection.close()
    return found


def test_a_probe_asks_the_same_sample_past_the_store_and_keeps_it(lab: Lab, dist: str) -> None:
    lab.judge()
    first = lab.judge("judge", "small", "--novelty-probe=10", dist=dist)
    second = lab.judge("judge", "small", "--novelty-probe=20", dist=dist)
    assert (first.ret, second.ret) == (0, 0), first.said
    assert (len(first.calls), len(second.calls)) == (30, 60)
    assert asked(first) < asked(second)
    assert drift(first)["n"] == 10
    assert drift(first)["against"].startswith("the store (20")
    assert drift(first)["decision"] == drift(second)["decision"] == "pass"
    assert not first.report["gates"]
    assert first.counts() == {"passed": 11}
    assert len(keys(lab)) == 120 + 30 + 60
    assert len({key.partition("~")[2] for key in keys(lab)}) == 3
    after = lab.judge()
    assert not after.calls  # a run reads the first generation
    assert "120 verdicts of" in after.plain


def test_a_silent_update_is_noticed(lab: Lab, dist: str) -> None:
    lab.judge()
    state(lab, "m-02 turned")
    ran = lab.judge("judge", "small", "--novelty-probe=30", dist=dist)
    assert ran.ret == 1
    assert "FAILED novelty-suites/small::gate[judge-probe]" in ran.out
    assert (drift(ran)["verdict"], [change["kind"] for change in drift(ran)["changes"]]) == (
        "drifted",
        ["another model served"],
    )
    assert "drifted beyond its noise: vote shift" in ran.plain
    assert "another model answered, under the same name: m-01 -> m-02" in ran.plain
    ran.assert_clean()
    state(lab, "m-01")
    assert lab.judge("judge", "small", "--novelty-probe=30").ret == 0  # still compared with the first generation


def test_the_first_probe_is_the_first_generation(lab: Lab) -> None:
    first = lab.judge("judge", "small", "--novelty-probe=10")
    assert first.ret == 0
    assert not first.report["drift"]
    assert "10 of 10 instances of small had no stored verdicts of judge: this probe's are the first" in first.plain
    assert not any("~" in key for key in keys(lab))
    second = lab.judge("judge", "small", "--novelty-probe=10")
    assert drift(second)["n"] == 10


def test_answers_of_today_are_not_mixed_into_the_first_generation(lab: Lab, dist: str) -> None:
    state(lab, "m-01 failing")
    assert lab.judge().ret == 1
    state(lab, "m-02 turned")
    first = keys(lab)
    ran = lab.judge("judge", "small", "--novelty-probe=40", dist=dist)
    assert len(ran.calls) == 120  # every vote of every instance is asked
    assert sorted(key for key in keys(lab) if "~" not in key) == sorted(first)
    assert (drift(ran)["n"], drift(ran)["verdict"]) == (40, "drifted")
    assert {row["before"].count(":") for row in drift(ran)["differing"]} == {1}  # no vote that failed
    assert "no stored verdicts" not in ran.plain
    assert (
        "2 votes of judge on 2 instances of small not compared: the call failed, or was not made, when it was recorded or now"
        in ran.plain
    )
    assert ran.report["calls"]["reused"] == 0


def test_calls_that_fail_in_a_probe_are_left_out_and_named(lab: Lab) -> None:
    lab.suite(n=10, votes=2)
    lab.judge()
    state(lab, "m-01 failing")
    ran = lab.judge("judge", "small", "--novelty-probe=10")
    assert drift(ran)["n"] == 10
    assert "2 votes of judge on 2 instances of small not compared" in ran.plain
    lab.suite(n=10, votes=1)
    edit = (lab.path / "conftest.py").read_text().replace('same[3] == "1"', 'same[3] == "0"')
    (lab.path / "conftest.py").write_text(edit)
    one = lab.judge("judge", "small", "--novelty-probe=10")
    assert drift(one)["n"] == 8
    assert "no vote of 2 of these was answered both times: left out" in one.plain


def test_a_case_of_two_tests_is_asked_once_and_not_compared_with_itself(lab: Lab) -> None:
    mark = '@pytest.mark.novelty(suite="small")'
    lab.test_file(
        f"import pytest\n{mark}\ndef test_a(novelty_case): novelty_case.outcome()\n"
        f"{mark}\ndef test_b(novelty_case): novelty_case.outcome()\n"
    )
    ran = lab.pytest("test_own.py", "--novelty-judge=judge", "--novelty-probe=5", "--novelty-report=report.json")
    assert len(ran.calls) == 15, ran.said
    assert not ran.report["drift"]
    assert "5 of 5 instances of small had no stored verdicts of judge" in ran.plain


def test_golden_verdicts_are_what_a_probe_is_compared_with(lab: Lab) -> None:
    lab.judge("judge", "small", "-p", "syrupy", "--snapshot-update")
    lab.path.joinpath(".novelty", "verdicts.sqlite").unlink()  # a fresh checkout has no store
    same = lab.judge("judge", "small", "--novelty-probe=30")
    assert (same.ret, drift(same)["against"], drift(same)["n"]) == (0, "golden/small.judge.txt", 30)
    state(lab, "m-01 turned")
    drifted = lab.judge("judge", "small", "--novelty-probe=30")
    assert drifted.ret == 1
    assert "nothing changed that shows here, so the judge itself did" in drifted.plain
    assert len(drifted.calls) == 90


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--novelty-sample=5",), "--novelty-probe does not go with --novelty-sample: a probe is a sample of its own"),
        (("--novelty-offline",), "--novelty-probe does not go with --novelty-offline: a probe asks the judge"),
        (("--novelty-refresh",), "--novelty-probe does not go with --novelty-refresh: a probe keeps what is recorded"),
        (("-p", "syrupy", "--snapshot-update"), "--novelty-probe does not go with --snapshot-update: a probe compares"),
    ],
)
def test_what_a_probe_does_not_go_with(lab: Lab, options: tuple[str, ...], words: str) -> None:
    ran = lab.judge("judge", "small", "--novelty-probe=5", *options)
    assert ran.ret == 4
    assert words in ran.plain
    assert not ran.calls


def test_variants_are_not_probed(lab: Lab) -> None:
    lab.suite(n=10, variants={"Q": {"params": {"top": 1}}})
    ran = lab.judge("judge", "small", "--novelty-probe=5", "--novelty-variant=all", "--novelty-gate=vote_shift[Q]<=0.1")
    assert ran.ret == 0, ran.said
    assert {call[2] for call in ran.calls} == {"reference"}


def test_a_probe_has_a_price_beforehand_and_keeps_a_budget(lab: Lab) -> None:
    lab.judge()
    dry = lab.judge("judge", "small", "--novelty-probe=10", "--novelty-dry-run")
    assert "30 calls, all asked past the store" in dry.plain
    assert "$0.03" in dry.plain
    within = lab.judge("judge", "small", "--novelty-probe=10", "--novelty-budget=0.0151")
    assert 0 < len(within.calls) <= 15
    assert drift(within)["n"] <= 5


def test_a_probe_says_what_its_budget_left_out(lab: Lab, dist: str) -> None:
    lab.judge()
    ran = lab.judge("judge", "small", "--novelty-probe=20", "--novelty-budget=0.0301", dist=dist)
    left_out = 20 - drift(ran)["n"]
    assert 10 <= left_out < 20
    assert (
        f"{left_out} of the 20 instances of small that judge is probed with were not judged because the budget was reached, "
        "and are not compared" in ran.plain
    )
    assert "a budget is of one run, and the next probe asks all anew" in ran.plain
    assert "no stored verdicts" not in ran.plain
    some = lab.judge("judge", "small", "--novelty-probe=20", "-k", "i001 or i002 or i003 or i004 or i005")
    assert "were not judged in this run, and are not compared" in some.plain


def test_a_replay_reads_what_a_run_reads(lab: Lab) -> None:
    first = lab.judge()
    state(lab, "m-01 turned")
    lab.judge("judge", "small", "--novelty-probe=30")
    assert (
        main(
            ["export", "--store", str(lab.path / ".novelty" / "verdicts.sqlite"), "--out", str(lab.path / "all.jsonl")]
        )
        == 0
    )
    again = lab.judge("replay:all.jsonl")
    assert again.outcomes() == first.outcomes()


# --- age ----------------------------------------------------------------------------------------------------


def age(lab: Lab, count: int, created: str) -> None:
    with sqlite3.connect(lab.path / ".novelty" / "verdicts.sqlite") as connection:
        connection.execute(
            "UPDATE records SET created = ? WHERE instance IN (SELECT DISTINCT instance FROM records LIMIT ?)",
            (created, count),
        )
    connection.close()


def test_old_verdicts_are_a_finding(lab: Lab, dist: str) -> None:
    lab.suite(n=6)
    lab.judge()
    age(lab, 2, "2020-02-03T04:05:06Z")
    fresh = lab.judge(dist=dist)
    assert not any("days ago" in finding for finding in fresh.report["findings"])
    old = lab.judge("judge", "small", "--novelty-max-age=30", dist=dist)
    assert [finding for finding in old.report["findings"] if "days ago" in finding] == [
        "2 outcomes of judge on small rest on verdicts of more than 30 days ago (the oldest of 2020-02-03): --novelty-probe=30 "
        "tells whether the judge is still the same, --novelty-refresh asks all anew"
    ]
    assert old.ret == fresh.ret
    anew = lab.judge("judge", "small", "--novelty-max-age=30", "--novelty-refresh", dist=dist)
    assert not any("days ago" in finding for finding in anew.report["findings"])


@pytest.mark.parametrize("value", ["soon", "-1", "nan", "inf", "1e99"])
def test_an_age_is_a_number_of_days(lab: Lab, value: str) -> None:
    ran = lab.judge("judge", "small", f"--novelty-max-age={value}")
    assert ran.ret == 4
    assert f"--novelty-max-age is '{value}'. Give a number of days, such as 30" in ran.plain
