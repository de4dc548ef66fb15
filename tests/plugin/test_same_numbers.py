"""One run, four ways - pytest, pytest -n 2, evaluate(), aevaluate() - and one result."""

from __future__ import annotations

import asyncio
import json
from importlib.resources import files
from typing import Any

import jsonschema
import pytest

import pytest_novelty
from pytest_novelty import aevaluate, evaluate

from .making import Lab

_PARTS = ("headline", "metrics", "gates", "outcomes", "comparisons", "baselines", "findings")


def _same(report: dict[str, Any]) -> dict[str, Any]:
    """What may not depend on how the run was made: all but versions of judges, timings and the way there."""
    calls = {
        name: report["calls"][name]
        for name in ("planned", "made", "reused", "failed", "tokens_in", "cost_usd", "unpriced")
    }
    return {**{part: report[part] for part in _PARTS}, "calls": calls}


def _check_plain(report: dict[str, Any]) -> None:
    """Plain JSON that says what it is and fits its schema."""
    text = json.dumps(report, allow_nan=False)
    assert json.loads(text) == report
    assert report["format"] == "novelty-report/1"
    schema = files("pytest_novelty") / "schemas" / "report.json"
    if schema.is_file():
        jsonschema.Draft202012Validator(json.loads(schema.read_text())).validate(report)


_RUNS = [
    # judges, suite, more options (pytest and evaluate)
    pytest.param(
        "lexical chance", "landmarks-pairwise", {"sample": 30, "variants": ["no-related"]}, id="shipped-pairwise"
    ),
    pytest.param("lexical chance", "landmarks-pointwise", {"sample": 30, "seed": 3}, id="shipped-pointwise"),
    pytest.param(
        "planted:noisy planted:coin planted:async_oracle planted:fails_every_third",
        "pairs",
        {"gates": ["strict_accuracy>=0.6", "retest_flip_rate<=0.2", "tie_rate@area:bio<=0.5"]},
        id="random-pairwise",
    ),
    pytest.param(
        "planted:good_scores planted:leaks planted:tells_its_cost planted:abstains planted:prose",
        "small",
        {
            "gates": ["auroc>=0.7", "reliability>=0.5", "macro_f1>=0.6", "leak_rate<=0.1", "cost_usd<=1"],
            "votes": 3,
            "failures": "drop",
        },
        id="all-sorts-pointwise",
    ),
]


@pytest.mark.parametrize(("judges", "suite", "more"), _RUNS)
def test_same_numbers(lab: Lab, monkeypatch: pytest.MonkeyPatch, judges: str, suite: str, more: dict[str, Any]) -> None:
    lab.planted()
    lab.suite(n=20)
    lab.suite("pairs", n=20, protocol="pairwise", cluster="group")
    options: list[str] = []
    for name, value in more.items():
        flag = f"--novelty-{name.removesuffix('s') if isinstance(value, list) else name}"
        options += [f"{flag}={one}" for one in (value if isinstance(value, list) else [value])]
    monkeypatch.syspath_prepend(lab.path)
    alone = lab.judge(judges, suite, *options, "--novelty-store=alone.sqlite")
    workers = lab.judge(judges, suite, *options, "--novelty-store=workers.sqlite", dist="-n2")
    assert alone.ret == workers.ret
    assert alone.ret in (0, 1)
    report = evaluate(judges.split(), suite, **more)
    again = asyncio.run(aevaluate(judges.split(), suite, **more))
    _check_plain(alone.report)
    _check_plain(workers.report)
    _check_plain(report.to_dict())
    expected = _same(alone.report)
    assert _same(workers.report) == expected
    assert _same(json.loads(json.dumps(report.to_dict()))) == expected
    assert _same(json.loads(json.dumps(again.to_dict()))) == expected
    for part in ("suites", "skipped", "seed", "profile"):
        assert alone.report["run"][part] == workers.report["run"][part] == report.to_dict()["run"][part]
    assert len(expected["outcomes"]) == len(judges.split()) * (30 if "sample" in more else 20) * (
        2 if "variants" in more else 1
    )


def test_the_order_of_calls_does_not_matter(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    lab.planted()
    lab.suite("pairs", n=12, protocol="pairwise")
    monkeypatch.syspath_prepend(lab.path)
    reports = [evaluate(["planted:coin", "chance"], "pairs", concurrency=width).to_dict() for width in (1, 3, 64)]
    assert _same(reports[0]) == _same(reports[1]) == _same(reports[2])
    other = evaluate(["planted:coin", "chance"], "pairs", seed=1).to_dict()
    assert other["outcomes"] != reports[0]["outcomes"]


def test_the_public_names() -> None:
    assert callable(pytest_novelty.evaluate)
    assert pytest_novelty.__all__ == sorted(pytest_novelty.__all__)
    for name in pytest_novelty.__all__:
        assert getattr(pytest_novelty, name) is not None
    namespace: dict[str, Any] = {}
    for _ in range(2):  # the first import must not leave a module in the function's place
        exec("from pytest_novelty import aevaluate, evaluate, load_suite", namespace)
        assert callable(namespace["evaluate"])
        assert callable(namespace["load_suite"])


def test_aevaluate_runs_in_the_callers_loop(lab: Lab) -> None:
    """A judge that holds a lock of the loop works; cancelling ends the run."""
    lab.suite(n=6)
    loops = set()

    async def run() -> None:
        lock = asyncio.Lock()

        async def judge(request: Any) -> dict[str, Any]:
            async with lock:
                loops.add(asyncio.get_running_loop())
                await asyncio.sleep(0.001)
            return {"novel": True}

        report = await aevaluate(judge, lab.path / "small")
        assert report.metric("accuracy").value == 0.5
        assert loops == {asyncio.get_running_loop()}

        async def stuck(request: Any) -> dict[str, Any]:
            await asyncio.sleep(30)
            return {"novel": True}

        task = asyncio.create_task(aevaluate(stuck, lab.path / "small"))
        await asyncio.sleep(0.2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())


def test_evaluate_within_a_loop_names_aevaluate(lab: Lab) -> None:
    lab.suite(n=2, votes=1)

    async def run() -> str:
        loop = asyncio.get_running_loop()

        async def judge(request: Any) -> Any:
            """Needs the notebook's own loop, which waits for evaluate()."""
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop))
            return {"novel": True}

        judge.timeout_s = 0.3  # type: ignore[attr-defined]
        return str(evaluate(judge, lab.path / "small").to_dict()["outcomes"])

    assert "aevaluate" in asyncio.run(run())


def test_evaluate_in_a_users_own_test(lab: Lab, dist: str) -> None:
    lab.suite(n=6)
    lab.test_file("""
        import pytest_novelty

        def test_my_judge():
            report = pytest_novelty.evaluate(lambda request: {"novel": True}, "small", gates=["accuracy@point>=0.4"])
            assert report.passed
            assert report.metric("accuracy").value == 0.5
            assert "judge" in report.headline
    """)
    ran = lab.pytest(dist=dist)
    assert (ran.ret, ran.counts()) == (0, {"passed": 1})
    assert not (lab.path / ".novelty").exists()


def test_wrong_arguments_of_evaluate(lab: Lab) -> None:
    lab.suite(n=2)
    path = lab.path / "small"
    for wrong, said in (
        ({"votes": 0}, "votes"),
        ({"orders": "ba"}, "orders"),
        ({"decide": "coin"}, "decide"),
        ({"gates": ["nope<=1"]}, "nope"),
        ({"variants": ["X"]}, "X"),
        ({"seed": -1}, "seed"),
        ({"budget_usd": -1}, "budget_usd"),
        ({"sample": 0}, "sample"),
    ):
        with pytest.raises(pytest_novelty.NoveltyError, match=said):
            evaluate("chance", path, **wrong)
    with pytest.raises(pytest_novelty.NoveltyError, match="no judge"):
        evaluate([], path)
    with pytest.raises(pytest_novelty.NoveltyError, match="no suite"):
        evaluate("chance", [])
