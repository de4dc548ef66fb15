"""What a run may cost: never more than the budget, paired data when it is reached, estimates before."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest

from pytest_novelty import NoveltyError, evaluate

from .making import Lab

_JUDGES = """
    def cent(request):
        log(request, "cent")
        return right(request)
    cent.cost_usd_per_call = 0.01

    async def slow_cent(request):
        log(request, "slow-cent")
        await asyncio.sleep(0.005)
        return right(request)
    slow_cent.cost_usd_per_call = 0.01

    def telling(request):
        log(request, "telling")
        return {**right(request), "cost_usd": 0.02}

    async def slow_telling(request):
        log(request, "slow-telling")
        await asyncio.sleep(0.005)
        return {**right(request), "cost_usd": 0.02, "usage": {"prompt_tokens": 100, "completion_tokens": 7}}

    def silent(request):
        log(request, "silent")
        return right(request)

    def free(request):
        log(request, "free")
        return right(request)
    free.cost_usd_per_call = 0.0

    def pytest_novelty_judges():
        return {"cent": cent, "slow-cent": slow_cent, "telling": telling, "slow-telling": slow_telling,
                "silent": silent, "free": free}
"""


@pytest.fixture
def ready(lab: Lab) -> Lab:
    lab.judges(_JUDGES)
    lab.suite(n=20, gates=["accuracy@point>=0.9", "cost_usd<=0.5"])
    return lab


@pytest.mark.parametrize("judge", ["cent", "slow-cent"])
def test_a_known_cost(ready: Lab, judge: str, dist: str) -> None:
    ran = ready.judge(judge, "small", "--novelty-budget=0.255", "-rs", dist=dist)
    assert ran.ret == 0, ran.said
    assert len(ran.calls) == 25
    done = len(ran.outcomes())
    assert 10 <= done <= 12
    assert set(ran.outcomes().values()) == {"correct"}
    assert ran.report["calls"]["cost_usd"] <= 0.255
    assert ran.decisions()["accuracy@point>=0.9"] == "not enforced"
    assert f"not enforced: {done} of 20 instances ran" in ran.plain
    assert "the budget is reached: the next call would exceed it" in ran.plain
    assert "budget $0.26" in ran.plain or "budget $0.25" in ran.plain


def test_a_later_run_continues(ready: Lab, dist: str) -> None:
    counts = []
    for _ in range(2 if dist else 3):
        ran = ready.judge("cent", "small", "--novelty-budget=0.20", dist=dist)
        assert ran.ret == 0
        counts.append(len(ran.calls))
    assert counts == ([20, 20] if dist else [20, 20, 0])
    assert len(ran.outcomes()) == 20
    assert ran.decisions() == {"accuracy@point>=0.9": "pass", "cost_usd<=0.5": "pass"}


def test_an_unknown_cost_is_measured(ready: Lab, dist: str) -> None:
    for judge in ("telling", "slow-telling") if not dist else ("slow-telling",):
        ran = ready.judge(judge, "small", "--novelty-budget=0.30", "-rs", dist=dist)
        assert ran.ret == 0, ran.said
        assert len(ran.calls) == 15  # five to measure, ten that fit
        assert 0 < ran.report["calls"]["cost_usd"] <= 0.30
    ran = ready.judge("slow-telling", "small", "--novelty-budget=10", dist=dist)
    assert len(ran.calls) == 25
    assert ran.report["calls"]["cost_usd"] == pytest.approx(0.50)
    assert (ran.report["calls"]["tokens_in"], ran.report["calls"]["tokens_out"]) == (2500, 175)
    assert len(ran.outcomes()) == 20


def test_tokens_that_nobody_tells_are_not_shown_as_none(lab: Lab, dist: str) -> None:
    lab.judges("""
        def judge(request):
            return {**right(request), "usage": {"prompt_tokens": 100}}
        def pytest_novelty_judges():
            return {"judge": judge}
    """)
    lab.suite(n=5)
    ran = lab.judge("judge", "small", dist=dist)
    calls = ran.report["calls"]
    assert (calls["tokens_in"], calls["tokens_out"]) == (100 * calls["made"], None)
    assert f"{calls['tokens_in']:,} tokens in and an unknown number out" in ran.plain
    again = lab.judge("judge", "small", dist=dist)
    assert (again.report["calls"]["made"], again.report["calls"]["tokens_out"]) == (0, 0)


def test_a_cost_that_nobody_tells(ready: Lab, dist: str) -> None:
    ran = ready.judge("silent", "small", "--novelty-budget=1", dist=dist)
    assert ran.ret == 1
    assert len(ran.calls) == 5
    assert "the answers of judge 'silent' do not say what they cost" in ran.plain
    assert "Declare cost_usd_per_call on the judge, or return cost_usd with each answer" in ran.plain
    workers = 2 if dist else 1
    assert (
        1
        <= " ".join(ran.plain.partition("short test summary")[0].split()).count("do not say what they cost")
        <= workers
    )
    assert "not judged, for the same reason as test_novelty[" in ran.plain
    assert "Traceback" not in ran.said
    assert "INTERNALERROR" not in ran.said


def test_a_free_judge_needs_no_budget(ready: Lab, dist: str) -> None:
    ran = ready.judge("free", "small", "--novelty-budget=0", dist=dist)
    assert (ran.ret, len(ran.calls)) == (0, 40)
    assert ran.report["calls"]["cost_usd"] == 0.0


def test_no_money_at_all(ready: Lab, dist: str) -> None:
    for judge in ("cent", "telling"):
        ran = ready.judge(judge, "small", "--novelty-budget=0", dist=dist if judge == "telling" else "")
        assert (ran.ret, ran.calls) == (1, [])  # nothing was found out, so nothing passed
        assert ran.counts() == {"skipped": 20}
        assert "the budget of $0 is less than one call sets aside, so nothing was asked" in ran.plain


def test_never_exceeded_with_many_in_flight(lab: Lab, dist: str) -> None:
    """Costs vary; what a call may cost is reserved before it is sent."""
    lab.judges("""
        async def judge(request):
            log(request)
            await asyncio.sleep(0.01)
            return {**right(request), "cost_usd": 0.01}
        judge.cost_usd_per_call = 0.02  # at most
        def pytest_novelty_judges():
            return {"judge": judge}
    """)
    lab.suite(n=60)
    ran = lab.judge("judge", "small", "--novelty-budget=0.5", "--novelty-concurrency=16", dist=dist)
    assert ran.ret == 0
    store = sqlite3.connect(lab.path / ".novelty" / "verdicts.sqlite")
    try:
        ((spent,),) = store.execute("SELECT sum(cost_usd) FROM records").fetchall()
    finally:
        store.close()
    assert spent == pytest.approx(0.01 * len(ran.calls))
    assert 0.4 <= spent <= 0.5 + 1e-9


def test_two_judges_leave_paired_data(ready: Lab, dist: str) -> None:
    ran = ready.judge("cent slow-cent", "small", "--novelty-budget=0.30", "--novelty-concurrency=4", dist=dist)
    assert ran.ret == 0
    one, two = (set(ran.outcomes(judge)) for judge in ("cent", "slow-cent"))
    assert len(one & two) >= 5
    assert len(one ^ two) <= (4 if dist else 2)
    assert len(ran.calls) == 30
    (comparison,) = ran.report["comparisons"]
    assert comparison["n"] == len(one & two)


@pytest.mark.parametrize(("budget", "calls"), [(1, 3), (3, 10)])
def test_two_judges_whose_cost_is_measured_stay_within_the_budget(lab: Lab, budget: int, calls: int, dist: str) -> None:
    lab.judges("""
        async def one(request):
            log(request, "one")
            await asyncio.sleep(0.02)
            return {**right(request), "cost_usd": 0.3}

        async def other(request):
            log(request, "other")
            await asyncio.sleep(0.02)
            return {**right(request), "cost_usd": 0.3}

        def pytest_novelty_judges():
            return {"one": one, "other": other}
    """)
    lab.suite(n=20)
    ran = lab.judge("one other", "small", f"--novelty-budget={budget}", dist=dist)
    assert len(ran.calls) == calls
    told = ran.report["calls"]
    assert (told["made"], told["known_usd"]) == (calls, pytest.approx(0.3 * calls))
    assert told["unfinished"] > 0
    assert f"Calls: {calls} made ({told['unfinished']} of them for cases that did not end)" in ran.plain


def test_a_dear_judge_is_not_starved_by_a_cheap_one(lab: Lab, dist: str) -> None:
    """The dear one sets much aside and costs little: it is the cheap one's calls that give money back all the time."""
    lab.judges("""
        async def dear(request):
            log(request, "dear")
            await asyncio.sleep(0.02)
            return {**right(request), "cost_usd": 0.02}
        dear.cost_usd_per_call = 0.2  # at most

        async def cheap(request):
            log(request, "cheap")
            await asyncio.sleep(0.005)
            return {**right(request), "cost_usd": 0.01}
        cheap.cost_usd_per_call = 0.02  # at most

        def pytest_novelty_judges():
            return {"dear": dear, "cheap": cheap}
    """)
    lab.suite(n=100)
    ran = lab.judge("dear cheap", "small", "--novelty-budget=1", "--novelty-concurrency=16", dist=dist)
    assert ran.ret == 0, ran.said
    dear, cheap = (set(ran.outcomes(judge)) for judge in ("dear", "cheap"))
    assert len(dear & cheap) >= 8
    assert len(dear ^ cheap) <= 8  # calls in flight when it was reached
    assert ran.report["calls"]["cost_usd"] <= 1


def test_a_paid_and_a_free_judge(ready: Lab, dist: str) -> None:
    ran = ready.judge("cent free", "small", "--novelty-budget=0.10", dist=dist)
    assert ran.ret == 0
    assert len(ran.outcomes("free")) == 20
    assert len(ran.outcomes("cent")) in (4, 5)


def test_stored_verdicts_cost_nothing(ready: Lab, dist: str) -> None:
    assert len(ready.judge("cent", "small", dist=dist).calls) == 40
    ran = ready.judge("cent", "small", "--novelty-budget=0", dist=dist)
    assert (ran.ret, ran.calls, len(ran.outcomes())) == (0, [], 20)
    assert ran.report["calls"]["cost_usd"] == 0


def test_the_budget_in_python(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.planted()
    monkeypatch.syspath_prepend(lab.path)
    path = lab.suite(n=20, gates=["accuracy@point>=0.5"])
    report = evaluate("planted:costs_a_cent", path, budget_usd=0.20)
    assert len(report.outcomes) in (9, 10)
    assert report.calls.cost_usd is not None
    assert 0 < report.calls.cost_usd <= 0.2
    assert [gate.decision for gate in report.gates] == ["not enforced"]
    assert any("the budget is reached: 1" in note for note in report.notes)
    assert evaluate("planted:tells_its_cost", path, budget_usd=0.2).calls.made in (8, 9, 10)
    with pytest.raises(NoveltyError, match="do not say what they cost"):
        evaluate("planted:oracle", path, budget_usd=1)


# --- dry run ------------------------------------------------------------------------------------------------


def test_dry_run(ready: Lab, dist: str) -> None:
    ran = ready.judge("cent", "small", "--novelty-dry-run", dist=dist)
    assert (ran.ret, ran.calls, ran.report) == (0, [], {})
    assert "cent on small: 40 calls, 0 stored, 40 to make, about " in ran.plain
    assert "$0.40 (as the judge declares)" in ran.plain
    assert "in all: 40 calls to make, $0.40, time unknown until a call was timed" in ran.plain
    assert not (ready.path / ".novelty").exists()
    assert len(ready.judge("cent slow-telling", "small", "--novelty-sample=5").calls) == 20
    ran = ready.judge("cent slow-telling silent free", "small", "--novelty-dry-run", "--novelty-budget=0.1", dist=dist)
    assert (ran.ret, ran.calls) == (0, [])
    assert "cent on small: 40 calls, 10 stored, 30 to make" in ran.plain
    assert "$0.60 (the mean of 10 stored calls)" in ran.plain
    assert "silent on small: 40 calls, 0 stored, 40 to make" in ran.plain
    assert "an unknown amount (the judge declares no cost; the first five calls would measure it)" in ran.plain
    assert "in all: 140 calls to make, $0.90 and an unknown amount" in ran.plain
    assert "the budget of $0.10 is too small" in ran.plain
    assert "gate[" not in ran.out


def test_dry_run_needs_no_word_about_money(ready: Lab) -> None:
    ran = ready.pytest("--novelty-judge=cent", "--novelty-dry-run")
    assert (ran.ret, ran.calls) == (0, [])
    assert "landmarks-pairwise" in ran.plain
    assert "no outcome can pass a gate" not in ran.plain


def test_dry_run_says_what_cannot_be_decided(ready: Lab) -> None:
    ran = ready.judge("cent", "small", "--novelty-dry-run", "--novelty-gate=tie_rate<=0.05")
    assert "no outcome can pass a gate: small: tie_rate<=0.05" in ran.plain


def test_dry_run_with_marks(ready: Lab, dist: str) -> None:
    ready.test_file("""
        import pytest

        @pytest.mark.novelty("small")
        def test_it(novelty_case):
            novelty_case.outcome()

        def test_plain():
            raise AssertionError("a dry run runs nothing")
    """)
    ran = ready.judge("cent", "", "test_own.py", "--novelty-dry-run", dist=dist)
    assert (ran.ret, ran.calls) == (0, [])
    assert "cent on small: 40 calls, 0 stored, 40 to make" in ran.plain


def test_dry_run_of_a_selection(ready: Lab) -> None:
    ran = ready.judge("cent", "small", "--novelty-dry-run", "-k", "i001 or i002")
    assert "cent on small: 4 calls, 0 stored, 4 to make" in ran.plain


MORTAL = """
    import os, signal

    def judge(request):
        log(request, "judge")
        if os.environ.get("PYTEST_XDIST_WORKER") and len(list(HERE.glob("died*"))) < {deaths} and request.ideas[0].title > "{after}":
            (HERE / f"died{{os.getpid()}}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return right(request)

    judge.cost_usd_per_call, judge.version, judge.uses_prompt, judge.max_concurrency = 0.01, "1", False, 2

    def pytest_novelty_judges():
        return {{"judge": judge}}
"""


def spent_in_store(lab: Lab) -> tuple[int, float]:
    with contextlib.closing(sqlite3.connect(lab.path / ".novelty" / "verdicts.sqlite")) as store:
        count, usd = store.execute("SELECT count(*), sum(cost_usd) FROM records").fetchone()
    return count, usd or 0.0


def test_a_budget_ends_a_run_also_when_workers_died(lab: Lab) -> None:
    """What they had set aside comes back to nobody, and holds up nobody."""
    lab.suite(n=30, votes=1)
    lab.judges(MORTAL.format(deaths=2, after=""))
    ran = lab.judge("judge", "small", "--novelty-budget=0.12", dist="-n2", apart=True)
    assert ran.ret == 1, ran.said
    assert "the budget of $0.12 is reached" in ran.plain, ran.said
    assert 0 < spent_in_store(lab)[0] <= 12


PAYS_AHEAD = """
    import os, signal, time

    asked = []

    def judge(request):
        log(request, "judge")
        asked.append(1)
        if os.environ.get("PYTEST_XDIST_WORKER") == "gw0":
            if len(asked) == 1:
                time.sleep(60)  # its first case does not end, and so none after it does
            if len(asked) == 8:
                time.sleep(1)  # by now the others are kept
                os.kill(os.getpid(), signal.SIGKILL)
        return right(request)

    judge.cost_usd_per_call, judge.version, judge.uses_prompt, judge.max_concurrency = 0.01, "1", False, 2

    def pytest_novelty_judges():
        return {"judge": judge}
"""


def test_what_a_dead_worker_paid_for_is_counted(lab: Lab) -> None:
    """Calls that ended in a worker which then died before it could tell of one of them."""
    lab.suite(n=60, votes=1)
    lab.judges(PAYS_AHEAD)
    ran = lab.judge("judge", "small", dist="-n2", apart=True)
    assert ran.ret == 1
    count, usd = spent_in_store(lab)
    assert len(ran.report["outcomes"]) == count == 59  # xdist gives the case up in which its worker died
    assert ran.report["calls"]["made"] == count
    assert ran.report["calls"]["cost_usd"] == pytest.approx(usd)
    assert ran.report["calls"]["reused"] >= 6  # paid for by the one, read by another
    (note,) = [text for text in ran.report["notes"] if "died: " in text]
    assert note.startswith("1 worker died: 1 case was not judged; calls and cost are what the store has of this run")
    assert "what was on its way to it may have been charged too, and is in no sum" in note


@pytest.mark.parametrize("deaths", [1, 2])
def test_what_dead_workers_leave_is_told_and_no_gate_enforced(deaths: int, lab: Lab) -> None:
    lab.suite(n=30, votes=1)
    lab.judges(MORTAL.format(deaths=deaths, after="i004"))
    options = ("--max-worker-restart=0", "--novelty-gate=accuracy>=0.5")
    ran = lab.judge("judge", "small", *options, dist="-n2", apart=True)
    assert ran.ret not in (0, 4), ran.said
    judged = len(ran.report["outcomes"])
    assert judged < 30
    (note,) = [text for text in ran.report["notes"] if "died: " in text]
    left = "1 case was" if judged == 29 else f"{30 - judged} cases were"
    assert note.startswith(f"{deaths} worker{'s' if deaths > 1 else ''} died: {left} not judged")
    assert set(ran.decisions().values()) <= {"inconclusive", "not enforced"}
    assert ran.report["calls"]["made"] == spent_in_store(lab)[0]
