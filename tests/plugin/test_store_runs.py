"""What is kept between runs: reuse, replay from the store, and runs that are cut off."""

from __future__ import annotations

import json
import random
import signal
import sqlite3
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty.calls import CallPlanner, Case
from pytest_novelty.engine import Engine
from pytest_novelty.errors import StoreError
from pytest_novelty.evaluation import evaluate
from pytest_novelty.judges.base import bind_judge
from pytest_novelty.prompts import resolve_prompt
from pytest_novelty.store import MemoryStore
from pytest_novelty.suites import load_suite

from .making import Lab, write_suite

_JUDGE = """
    def judge(request):
        log(request)
        return right(request)
    def pytest_novelty_judges():
        return {"judge": judge}
"""

_SLOW_JUDGE = """
    async def judge(request):
        log(request)
        await asyncio.sleep(0.03)
        return right(request)
    def pytest_novelty_judges():
        return {"judge": judge}
"""


def _stored(lab: Lab) -> list[tuple[str, str]]:
    """(instance, sample) of every record."""
    with sqlite3.connect(lab.path / ".novelty" / "verdicts.sqlite") as connection:
        rows = connection.execute("SELECT instance, sample FROM records").fetchall()
    connection.close()
    return [(instance, str(sample)) for instance, sample in rows]


# --- reuse --------------------------------------------------------------------------------------------------


def test_a_second_run_asks_nothing(lab: Lab, dist: str) -> None:
    lab.judges(_JUDGE)
    lab.suite(gates=["accuracy>=0.2"])
    first = lab.judge(dist=dist)
    second = lab.judge(dist="" if dist else "-n2")  # what one kind of run stored the other finds
    assert (len(first.calls), len(second.calls)) == (12, 0)
    assert "12 calls; stored on it: none of this judge" in first.out
    assert "12 calls; stored on it: 12 verdicts of this judge, whatever the settings" in second.out
    assert "Calls: 0 made, 12 reused" in second.plain
    assert (second.report["calls"]["made"], second.report["calls"]["reused"]) == (0, 12)
    for part in ("gates", "outcomes"):
        assert first.report[part] == second.report[part]


def test_only_what_changed_is_asked_again(lab: Lab) -> None:
    lab.judges("""
        def judge(request):
            log(request)
            return right(request)
        judge.version = (HERE / "version").read_text()

        def own_prompt(request):
            log(request, "own")
            return right(request)
        own_prompt.version, own_prompt.uses_prompt = "1", False

        def pytest_novelty_judges():
            return {"judge": judge, "own": own_prompt}
    """)
    (lab.path / "version").write_text("1")
    prompt = """
        {"format": "novelty-prompt/1", "name": "mine", "version": "1", "protocol": "pointwise",
         "messages": [{"role": "user", "content": "Novel? {{ idea.text }}"}],
         "output": {"type": "object", "properties": {"novel": {"type": "boolean"}}, "required": ["novel"]}}
    """
    path = lab.suite(n=4, votes=1, variants={"Q": {"params": {"top": 1}}})
    (path / "mine.yaml").write_text(prompt)
    lab.suite(n=4, votes=1, variants={"Q": {"params": {"top": 1}}}, defaults={"votes": 1, "prompt": "mine.yaml"})

    def ask(*options: str) -> list[tuple[str, str]]:
        ran = lab.judge("judge own", "small", *options, apart=True)
        assert ran.ret == 0, ran.said
        return sorted((judge, instance) for judge, instance, *_ in ran.calls)

    names = [f"i00{k}" for k in range(4)]
    everything = [(judge, name) for judge in ("judge", "own") for name in names]
    assert ask() == everything
    assert ask() == []
    (lab.path / "version").write_text("2")
    assert ask() == [("judge", name) for name in names]
    (path / "mine.yaml").write_text(prompt.replace("Novel?", "Is it novel?"))
    assert ask() == [("judge", name) for name in names]
    instances = path / "instances.jsonl"
    instances.write_text(instances.read_text().replace("Thought 2", "Afterthought 2"))
    assert ask() == [("judge", "i002"), ("own", "i002")]
    instances.write_text(
        instances.read_text().replace('"area": "cs"', '"area": "computing"')
    )  # no judge sees a stratum
    assert ask() == []
    assert ask("--novelty-votes=2") == everything
    assert ask("--novelty-variant=Q") == everything
    assert ask("--novelty-seed=7") == everything
    (lab.path / "version").write_text("1")
    (path / "mine.yaml").write_text(prompt)
    assert ask() == [("judge", "i002")]  # the answers of version 1 are still there


def test_refresh(lab: Lab, dist: str) -> None:
    lab.judges("""
        def judge(request):
            log(request)
            answer = right(request)
            return {"novel": answer["novel"] != (HERE / "turned").exists()}
        judge.version = "1"
        def pytest_novelty_judges():
            return {"judge": judge}
    """)
    lab.suite(n=4)
    assert set(lab.judge(dist=dist).outcomes().values()) == {"correct"}
    (lab.path / "turned").touch()
    assert set(lab.judge().outcomes().values()) == {"correct"}
    ran = lab.judge("judge", "small", "--novelty-refresh", dist=dist)
    assert len(ran.calls) == 8
    assert set(ran.outcomes().values()) == {"wrong"}
    ran = lab.judge()
    assert (len(ran.calls), set(ran.outcomes().values())) == (0, {"wrong"})
    assert len(_stored(lab)) == 8


def test_failed_calls_are_asked_again_and_unreadable_answers_are_not(lab: Lab, dist: str) -> None:
    lab.judges("""
        def judge(request):
            log(request)
            if request.ideas[0].title.startswith("i001"):
                return "prose"
            if request.ideas[0].title.startswith("i002") and not (HERE / "up").exists():
                raise ConnectionError("down")
            return right(request)
        judge.version = "1"
        def pytest_novelty_judges():
            return {"judge": judge}
    """)
    lab.suite(n=4)
    assert lab.judge(dist=dist).ret == 1
    (lab.path / "up").touch()
    ran = lab.judge(dist=dist)
    assert {call[1] for call in ran.calls} == {"i002"}
    assert ran.outcomes() == {"i000": "correct", "i001": "invalid", "i002": "correct", "i003": "correct"}


# --- offline ------------------------------------------------------------------------------------------------


def test_offline(lab: Lab, dist: str) -> None:
    lab.judges("""
        def judge(request):
            log(request)
            return right(request)
        judge.version = (HERE / "version").read_text() if (HERE / "version").exists() else "1"
        judge.cost_usd_per_call = 0.25
        def pytest_novelty_judges():
            return {"judge": judge}
    """)
    lab.suite(n=4, gates=["accuracy@point>=0.9"])
    complete = lab.judge(dist=dist)
    ran = lab.judge("judge", "small", "--novelty-offline", dist=dist)
    assert (ran.ret, ran.calls) == (0, [])
    assert ran.report["outcomes"] == complete.report["outcomes"]
    assert "offline" in ran.out
    (lab.path / "version").write_text("2")
    instances = lab.path / "small" / "instances.jsonl"
    instances.write_text(instances.read_text().replace("Thought 2", "Afterthought 2"))
    ran = lab.judge("judge", "small", "--novelty-offline", dist=dist)
    assert (ran.ret, ran.calls, ran.counts()) == (1, [], {"failed": 4})
    assert (
        "offline, and 2 of 2 verdicts of judge are not recorded: since they were recorded, the judge (version 1 to 2) changed"
        in ran.plain
    )
    assert "since they were recorded, the judge (version 1 to 2) and the content changed" in ran.plain
    assert (
        "novelty: 4 cases were not judged: offline, and their verdicts are not recorded; recording all of them takes 8 calls at "
        "about $2.00" in ran.plain
    )
    assert "During handling of the above exception" not in ran.said
    assert "Recording takes 2 calls at about $0.5000: run without --novelty-offline" in ran.plain
    (lab.path / "version").write_text("1")
    ran = lab.judge("judge", "small", "--novelty-offline", "--novelty-missing=warn", "-rs", dist=dist)
    assert (ran.ret, ran.calls) == (0, [])
    assert set(ran.outcomes()) == {"i000", "i001", "i003"}
    assert ran.decisions() == {"accuracy@point>=0.9": "not enforced"}
    assert any(
        "1 case was not judged: offline, and its verdicts are not recorded" in note for note in ran.report["notes"]
    )
    assert "the content changed" in ran.plain
    ran = lab.judge("judge", "small", "--novelty-offline", "--novelty-store=other.sqlite")
    assert ran.ret == 1
    assert "nothing is recorded for this judge on this instance" in ran.plain


# --- a store that cannot be used ----------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["text", "torn", "foreign", "newer"])
def test_a_store_that_is_none(lab: Lab, kind: str, dist: str) -> None:
    lab.judges(_JUDGE)
    lab.suite(n=30)
    store = lab.path / "kept.sqlite"
    if kind == "text":
        store.write_text("these are my notes, not a data base\n" * 100)
    elif kind == "foreign":
        with sqlite3.connect(store) as connection:
            connection.execute("CREATE TABLE mine (x)")
        connection.close()
    else:
        assert lab.judge("judge", "small", "--novelty-store=kept.sqlite").ret == 0
        if kind == "newer":
            with sqlite3.connect(store) as connection:
                connection.execute("PRAGMA user_version=99")
            connection.close()
        else:
            content = bytearray(store.read_bytes())
            content[4096:12288] = b"\x55" * 8192
            store.write_bytes(bytes(content))
    before = store.read_bytes()
    lab.forget_calls()
    ran = lab.judge("judge", "small", "--novelty-store=kept.sqlite", dist=dist)
    assert (ran.ret, lab.calls_made()) == (4, 0)
    ran.assert_clean()
    assert str(store) in ran.said
    assert store.read_bytes() == before
    assert [path.name for path in lab.path.glob("kept.sqlite*")] == ["kept.sqlite"]


def test_a_store_that_cannot_be_written(lab: Lab, dist: str) -> None:
    lab.judges(_JUDGE)
    lab.suite()
    (lab.path / "file").write_text("")
    ran = lab.judge("judge", "small", "--novelty-store=file/kept.sqlite", dist=dist)
    assert (ran.ret, ran.calls) == (4, [])
    ran.assert_clean()
    assert "--novelty-store" in ran.said


def test_a_store_that_breaks_in_the_middle(tmp_path: Path) -> None:
    """Nobody waits for ever for records that could not be kept."""
    suite = write_suite(tmp_path, n=4)

    class Full(MemoryStore):
        def put(self, records: Any) -> None:
            raise StoreError("cannot be written: disk full", path=tmp_path / "x.sqlite")

    with pytest.raises(StoreError, match="disk full"):
        evaluate(lambda request: {"novel": True}, suite, store=Full())


# --- cut off ------------------------------------------------------------------------------------------------


def test_ctrl_c(lab: Lab, dist: str) -> None:
    lab.judges(_SLOW_JUDGE)
    lab.suite(n=400, votes=1, gates=["accuracy@point>=0.99"])
    process = lab.start("--novelty-concurrency=4", *dist.split())
    lab.wait_for_calls(25, process)
    ran = lab.signal(process, signal.SIGINT)
    assert ran.ret == 2, ran.out
    assert "KeyboardInterrupt" in ran.out
    assert "INTERNALERROR" not in ran.out
    assert "judge on small" in ran.out  # metrics
    assert "gate[" not in ran.out  # no gates
    assert "FAILED" not in ran.out
    assert ran.seconds < 15
    stored = _stored(lab)
    assert len(stored) == len(set(stored)) >= 15
    lab.forget_calls()
    ran = lab.judge(dist=dist)
    assert ran.ret == 0
    asked = {(instance, sample) for _, instance, _, _, sample in ran.calls}
    assert not asked & set(stored)
    assert len(asked) == len(ran.calls) == 400 - len(stored)


def test_ctrl_c_before_the_first_case_ends(lab: Lab) -> None:
    """What was asked ahead of it is told, and kept."""
    lab.judges(
        """
        def judge(request):
            log(request)
            time.sleep(60 if request.ideas[0].title.startswith("i000") else 0.01)
            return right(request)

        judge.version, judge.uses_prompt, judge.cost_usd_per_call = "1", False, 0.01

        def pytest_novelty_judges():
            return {"judge": judge}
        """
    )
    lab.suite(n=30, votes=1)
    process = lab.start("--novelty-concurrency=4")
    lab.wait_for_calls(30, process)
    time.sleep(0.5)
    ran = lab.signal(process, signal.SIGINT)
    assert ran.ret == 2, ran.out
    assert (
        "novelty: 29 calls were made, $0.2900 in all as far as known: 29 of them for cases that did not end" in ran.out
    )
    assert len(_stored(lab)) == 29


def test_kill_9_and_resume(lab: Lab, dist: str) -> None:
    lab.judges(_SLOW_JUDGE)
    lab.suite(n=100, votes=1)
    in_flight = 4
    for calls in (8, 30):
        process = lab.start(f"--novelty-concurrency={in_flight}", *dist.split())
        lab.wait_for_calls(calls, process)
        time.sleep(random.random() * 0.1)
        lab.signal(process, signal.SIGKILL)
        begun = {(instance, sample) for _, instance, _, _, sample in lab.logged()}
        stored = set(_stored(lab))
        assert stored <= begun
        # in flight when killed: asked and unanswered, or answered and on the way to the disk
        assert len(begun - stored) <= 2 * in_flight
    stored_before = set(_stored(lab))
    lab.forget_calls()
    ran = lab.judge("judge", "small", dist=dist)
    assert (ran.ret, len(ran.outcomes())) == (0, 100)
    asked = [(instance, sample) for _, instance, _, _, sample in ran.calls]
    assert not set(asked) & stored_before
    assert len(asked) == 100 - len(stored_before)


def test_a_worker_crashes(lab: Lab) -> None:
    lab.judges("""
        def judge(request):
            log(request)
            if request.ideas[0].title.startswith("i005") and not (HERE / "crashed").exists():
                (HERE / "crashed").touch()
                time.sleep(0.2)
                os._exit(7)
            return right(request)
        def pytest_novelty_judges():
            return {"judge": judge}
    """)
    lab.suite(n=30, votes=1, gates=["accuracy@point>=0.99"])
    ran = lab.judge("judge", "small", "--novelty-concurrency=4", dist="-n2", apart=True)
    assert ran.ret == 1
    assert "crashed while running" in ran.out
    assert "INTERNALERROR" not in ran.said
    assert len(ran.outcomes()) == 29
    assert set(ran.outcomes().values()) == {"correct"}
    assert ran.decisions() == {"accuracy@point>=0.99": "not enforced"}
    assert "not enforced: 29 of 30 instances ran" in ran.gate("accuracy@point>=0.99")["message"]
    assert max(ran.progress()) <= 100
    ran = lab.judge("judge", "small", dist="-n2")
    assert ran.ret == 0
    assert len(ran.calls) <= 4


def test_closing_does_not_wait(tmp_path: Path) -> None:
    """Whatever is in flight or on the way to the store when a run ends early, the end comes soon."""
    suite = load_suite(write_suite(tmp_path, n=100, votes=1))
    judge = bind_judge("judge", lambda request: time.sleep(0.001) or {"novel": True})
    planner = CallPlanner({"pointwise/reference": resolve_prompt("pointwise/reference", tmp_path)})
    calls = [planner.plan(Case(judge, suite, suite.variants["reference"], instance)) for instance in suite.instances]
    longest = 0.0
    for count in range(8):
        engine = Engine([judge], MemoryStore(), concurrency=4)
        tickets = engine.submit(calls)
        engine.wait(tickets[count])
        began = time.monotonic()
        engine.close()
        longest = max(longest, time.monotonic() - began)
    assert longest < 5


# --- strange texts, many writers ----------------------------------------------------------------------------


def test_lone_surrogates(lab: Lab, dist: str) -> None:
    lab.judges("""
        def judge(request):
            log(request)
            number = request.idea.title.split()[0]
            novel = right(request)["novel"]
            if number == "i000":
                found = [{"title": "\\udfff"}]
                return {"novel": novel, "reason": "half a pair: \\ud83d", "model": "m\\udc00", "retrieved": found}
            if number == "i001":
                return '{"reasoning": "\\ud83d", "novel": ' + json.dumps(novel) + "}"
            if number == "i002":
                return json.dumps({"reasoning": "\\udc80", "novel": novel})
            if number == "i003":
                raise ValueError("\\udcff")
            if number == "i004":
                return "\\ud83d only"
            return {"novel": novel, "reason": request.idea.text[-1]}
        def pytest_novelty_judges():
            return {"judge": judge}
    """)

    def change(row: dict[str, Any]) -> None:
        row["idea"]["text"] += " \ud83d" if row["id"] == "i005" else ""

    lab.suite(change=change, votes=1)
    for _ in range(2):  # asked, then from the store
        ran = lab.judge("judge", "small", "-rA", "--junit-xml=junit.xml", dist=dist, apart=True)
        assert ran.ret == 1
        assert ran.outcomes() == {
            **dict.fromkeys(("i000", "i001", "i002", "i005"), "correct"),
            "i003": "invalid",
            "i004": "invalid",
        }
        assert "INTERNALERROR" not in ran.said
        assert "Traceback" not in ran.said
        reasons = {row["instance"]: row["reason"] for row in ran.report["outcomes"]}
        assert reasons["i000"].startswith("half a pair: ")
        assert reasons["i005"] == "\ud83d"
    assert len(_stored(lab)) == 6


@pytest.mark.parametrize("place", ["id", "title", "area", "idea id"])
def test_lone_surrogates_in_other_places(lab: Lab, place: str, dist: str) -> None:
    lab.judges(_JUDGE)

    def change(row: dict[str, Any]) -> None:
        if row["id"] == "i001":
            idea = row["ideas"][0]
            target = {"id": row, "title": idea, "area": row["strata"], "idea id": idea}[place]
            target[place.split()[-1]] = "i001 \udcaa"
            if place == "idea id":
                row["gold"] = idea["id"]

    lab.suite(n=4, protocol="pairwise", votes=1, change=change)
    ran = lab.judge("judge", "small", "-v", "--junit-xml=junit.xml", dist=dist, apart=True)
    assert "INTERNALERROR" not in ran.said
    assert "Traceback" not in ran.said
    if ran.ret == 4:  # refused, with its place
        assert "instances.jsonl:2" in ran.said
    else:
        assert ran.ret == 0
        assert set(ran.outcomes().values()) == {"correct"}
        assert len(ran.outcomes()) == 4


def test_eight_workers_on_one_store(lab: Lab) -> None:
    lab.judges(_JUDGE)
    lab.suite(n=64, votes=3)
    ran = lab.judge("judge", "small", "--novelty-concurrency=32", dist="-n8")
    assert ran.ret == 0, ran.said
    assert len(ran.calls) == len(set(ran.calls)) == 192
    assert len(_stored(lab)) == 192
    assert set(ran.outcomes().values()) == {"correct"}


def test_two_runs_at_once_on_one_store(lab: Lab) -> None:
    lab.judges(_SLOW_JUDGE)
    lab.suite(n=20, votes=2)
    runs = [lab.start(f"--novelty-report=r{k}.json") for k in range(2)]
    for run in runs:
        try:
            out = run.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            run.kill()
            raise
        assert run.returncode == 0, out
    one, two = (json.loads((lab.path / f"r{k}.json").read_text()) for k in range(2))
    assert one["outcomes"] == two["outcomes"]
    assert len(_stored(lab)) == 40
