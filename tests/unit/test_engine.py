"""The engine under judges that misbehave: each costs its own call and nothing else, and what is finished is kept and counted."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty import evaluate
from pytest_novelty.judges.base import bind_judge
from pytest_novelty.lanes import Item, Lane
from pytest_novelty.model import ERROR, OK, TIMEOUT, Suite
from pytest_novelty.store import MemoryStore, SqliteStore
from tests.unit.test_auditing import make_suite as make_papers

MakeSuite = Callable[..., Suite]


@pytest.fixture
def suite(make_suite: MakeSuite, make_instance: Callable[..., Any]) -> Suite:
    made = [make_instance("pointwise", f"i{k:02}", gold=("novel", "not novel")[k % 2]) for k in range(12)]
    return make_suite("pointwise", *made)


def declares(judge: Any, **traits: Any) -> Any:
    for name, value in {"version": "1", "uses_prompt": False, **traits}.items():
        setattr(judge, name, value)
    return judge


def statuses(report: Any) -> dict[str, int]:
    counts: dict[str, int] = {}
    for result in report.outcomes:
        for vote in result.outcome.votes:
            counts[vote.status] = counts.get(vote.status, 0) + 1
    return counts


def test_what_is_recorded_does_not_come_from_the_request_the_judge_holds(suite: Suite) -> None:
    def judge(request: Any) -> dict[str, bool]:
        for name, value in (("order", "zz"), ("sample", [1]), ("seed", None), ("protocol", "x")):
            object.__setattr__(request, name, value)
        return {"novel": True}

    report = evaluate({"j": declares(judge)}, suite)
    assert statuses(report) == {OK: 36}
    assert {(vote.order, vote.sample) for r in report.outcomes for vote in r.outcome.votes} == {
        (None, 0),
        (None, 1),
        (None, 2),
    }


@pytest.mark.parametrize("error", [asyncio.CancelledError, SystemExit, KeyboardInterrupt, GeneratorExit, MemoryError])
def test_whatever_an_async_judge_raises_is_its_own_calls_error(error: type[BaseException], suite: Suite) -> None:
    calls = iter(range(1000))

    async def judge(request: Any) -> dict[str, bool]:
        if next(calls) == 4:
            raise error
        return {"novel": True}

    began = time.perf_counter()
    assert statuses(evaluate({"j": declares(judge)}, suite)) == {OK: 35, ERROR: 1}
    assert time.perf_counter() - began < 20  # not its timeout of 120 s


def test_what_was_set_aside_for_a_call_that_is_sent_again_is_free(suite: Suite) -> None:
    """Both are measured; the second blocks the loop that they share, so the first's call is sent once more."""
    waiting, blocked = threading.Event(), threading.Event()

    async def patient(request: Any) -> dict[str, Any]:
        waiting.set()
        while not blocked.is_set():
            await asyncio.sleep(0.01)
        return {"novel": True, "cost_usd": 0.01}

    async def blocking(request: Any) -> dict[str, Any]:
        if not blocked.is_set():
            await asyncio.to_thread(waiting.wait)
            threading.Timer(1.0, blocked.set).start()
            time.sleep(3.0)
        return {"novel": True, "cost_usd": 0.01}

    judges = {"a": declares(patient, timeout_s=30.0), "b": declares(blocking, timeout_s=0.2)}
    report = evaluate(judges, suite, votes=1, budget_usd=1.0)
    assert statuses(report) == {OK: 23, TIMEOUT: 1}


def test_a_judge_that_stops_the_loop_ends_no_other_run(suite: Suite) -> None:
    calls = iter(range(1000))

    async def judge(request: Any) -> dict[str, bool]:
        if next(calls) == 4:
            asyncio.get_running_loop().stop()
        await asyncio.sleep(0)
        return {"novel": True}

    found = statuses(evaluate({"j": declares(judge, max_concurrency=1)}, suite))
    assert found.get(OK, 0) >= 34
    assert found.get(TIMEOUT, 0) <= 2


def test_a_thread_that_cannot_be_started_is_said(suite: Suite, monkeypatch: pytest.MonkeyPatch) -> None:
    start = threading.Thread.start

    def fails(thread: threading.Thread) -> None:
        if thread.name == "novelty-judge":
            raise RuntimeError("can't start new thread")
        start(thread)

    monkeypatch.setattr(threading.Thread, "start", fails)
    with pytest.raises(Exception, match="a call cannot be started|calls cannot be started"):
        evaluate({"j": declares(lambda request: {"novel": True})}, suite)


def test_two_judges_of_one_class_with_other_settings_are_two_judges(suite: Suite, tmp_path: Path) -> None:
    class Constant:
        uses_prompt = False

        def __init__(self, novel: bool) -> None:
            self.novel = novel

        def __call__(self, request: Any) -> dict[str, bool]:
            return {"novel": self.novel}

    def closure(novel: bool) -> Any:
        judge = lambda request: {"novel": novel}  # noqa: E731
        judge.uses_prompt = False  # type: ignore[attr-defined]
        return judge

    for make in (Constant, closure):
        store = tmp_path / f"{make.__name__}.sqlite"
        shares = [evaluate({"j": make(novel)}, suite, store=store).metric("f1_novel").value for novel in (True, False)]
        assert shares == [pytest.approx(2 / 3), 0.0]


def test_failures_are_of_the_same_kind_when_read_from_the_store(suite: Suite, tmp_path: Path) -> None:
    bad = [b'\xff{"novel": true}', object(), "x" * 4_100_000, {"novel": "yes"}]

    def judge(request: Any) -> Any:
        return bad[request.seed % len(bad)]

    store = tmp_path / "s.sqlite"
    first, second = (
        sorted(
            (r.instance, sorted(r.kinds.items())) for r in evaluate({"j": declares(judge)}, suite, store=store).outcomes
        )
        for _ in range(2)
    )
    assert first == second


@pytest.mark.parametrize("as_error", [False, True])
def test_secrets_reach_neither_store_nor_message(
    as_error: bool, suite: Suite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = 'se"cret\\value-1234'
    monkeypatch.setenv("MY_API_KEY", secret)

    def judge(request: Any) -> Any:
        if as_error:
            raise RuntimeError(f"refused for {secret}")
        import json

        return json.dumps({"novel": True, "reason": secret})

    path = tmp_path / "s.sqlite"
    report = evaluate({"j": declares(judge)}, suite, store=path)
    store = SqliteStore(path)
    kept = "".join(map(repr, store.records()))
    store.close()
    for text in (kept, str(report.to_dict())):
        assert "cret" not in text or "value-1234" not in text


@pytest.mark.parametrize(("price", "most"), [(None, 13.0), (0.01, 13.0)], ids=["measured", "declared"])
def test_the_budget_follows_prices_that_rise(price: float | None, most: float, suite: Suite) -> None:
    """Early calls cost a cent, later ones two dollars: at most the call in flight is sent at the old price."""
    calls = iter(range(1000))
    judge = declares(lambda request: {"novel": True, "cost_usd": 0.01 if next(calls) < 8 else 2.0}, max_concurrency=1)
    if price is not None:
        judge.cost_usd_per_call = price
    spent = MemoryStore()
    evaluate({"j": judge}, suite, budget_usd=10.0, store=spent)
    assert sum(record.cost_usd or 0.0 for record in spent._records.values()) <= most


def test_known_prices_are_not_measured_again(suite: Suite, tmp_path: Path) -> None:
    """The first run learns that a call costs $0.50; the second reserves that from its first call on."""
    judge = declares(lambda request: {"novel": True, "cost_usd": 0.5})
    path = tmp_path / "s.sqlite"
    kept = []
    for budget in (3.0, 0.4, 3.0):
        evaluate({"j": judge}, suite, budget_usd=budget, store=path)
        store = SqliteStore(path)
        kept.append(len(list(store.records())))
        store.close()
    assert kept == [6, 6, 12]


def test_errors_at_the_start_do_not_hide_the_price(suite: Suite) -> None:
    calls = iter(range(1000))

    def judge(request: Any) -> Any:
        if next(calls) < 5:
            raise ConnectionError("not yet")
        return {"novel": True, "cost_usd": 0.001}

    report = evaluate({"j": declares(judge, max_concurrency=1)}, suite, budget_usd=1.0)
    assert statuses(report) == {OK: 31, ERROR: 5}


def test_a_reader_of_records_may_stop_half_way(tmp_path: Path, suite: Suite) -> None:
    path = tmp_path / "s.sqlite"
    evaluate({"j": declares(lambda request: {"novel": True})}, suite, store=path)
    store = SqliteStore(path)
    reading = store.records()
    next(reading)
    assert store.get(["none"]) == {}
    store.close()  # did not wait for the reader


def test_one_answer_without_a_verdict_does_not_make_labels_of_scores(suite: Suite) -> None:
    def judge(request: Any) -> Any:
        return "prose" if request.seed % 7 == 0 else {"score": float(request.seed % 5)}

    report = evaluate({"j": declares(judge)}, suite)
    assert report.metric("accuracy").value is None
    assert "no threshold" in report.metric("accuracy").note
    assert evaluate({"j": declares(judge)}, suite, threshold="cv").metric("accuracy").value is not None
    both = evaluate({"j": declares(judge), "k": declares(lambda request: {"score": 1.0})}, suite)
    assert both.comparisons[0].flip_rate.value is None


@pytest.mark.parametrize("score", [1e101, -1e200, 1e308])
def test_a_score_beyond_all_scales_is_no_verdict(score: float, suite: Suite) -> None:
    report = evaluate({"j": declares(lambda request: {"score": score})}, suite)
    assert statuses(report) == {"schema violation": 36}
    report.to_dict()


def test_what_comes_first_does_not_wait_for_what_was_queued_before() -> None:
    """Audits: a case ends with its own, and not after all calls of all cases."""
    asked: list[str] = []

    def judge(request: Any) -> dict[str, Any]:
        asked.append(request.protocol)
        time.sleep(0.005)
        if request.protocol == "entailment":
            return {"supported": True, "critique": ""}
        spans = [paper.text for paper in request.papers]
        return {"is_similar": True, "evidence_a": spans[0], "evidence_b": spans[1], "reason": f"Both do {len(asked)}."}

    def auditor(request: Any) -> dict[str, Any]:
        return judge(request)

    for function in (judge, auditor):
        declares(function, cost_usd_per_call=0.01, protocols=("similarity", "entailment"), max_concurrency=1)
    evaluate({"judge": judge}, make_papers("similarity"), auditor={"auditor": auditor}, concurrency=1)
    judged = [place for place, protocol in enumerate(asked) if protocol == "similarity"]
    audited = [place for place, protocol in enumerate(asked) if protocol == "entailment"]
    assert len(audited) >= 12
    assert audited[0] < judged[len(judged) // 2]


def test_a_queue_is_in_the_order_of_submission() -> None:
    lane = Lane(bind_judge("j", lambda request: None), 1)
    for number in (0, 1, -9, 2, -8):
        lane.add(Item(number, None))  # type: ignore[arg-type]
    assert [item.number for item in lane.queue] == [-9, -8, 0, 1, 2]
