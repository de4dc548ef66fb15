"""The header: what it says of this run is of this run, and what it says of the store is said to be."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_novelty._pytest.output import _workers
from pytest_novelty.looks import SampleRange
from pytest_novelty.plan import Plan, make_plan
from pytest_novelty.reports.announcement import announce, calls_in_flight
from pytest_novelty.settings import Settings


def plan_of(tmp_path: Path, *limits: int | None, **settings: Any) -> Plan:
    judges = {}
    for number, limit in enumerate(limits):
        judges[f"j{number}"] = judge = lambda request: ""
        judge.version, judge.max_concurrency = "1", limit  # type: ignore[attr-defined]
    named = Settings(
        base=tmp_path, store=tmp_path / "s", judges=tuple(judges), suites=("landmarks-pairwise",), **settings
    )
    return make_plan(named, judges, {}, with_suites=True)


@pytest.mark.parametrize(
    ("limits", "concurrency", "workers", "flight"),
    [
        ([None], 16, 1, 16),
        ([4], 16, 1, 4),
        ([4, 3], 16, 1, 7),
        ([4, None], 16, 1, 16),
        ([20], 16, 1, 16),
        ([None], 16, 4, 16),
        ([None], 16, 5, 15),
        ([None], 2, 4, 4),
        ([1], 16, 4, 4),
        ([1], 1, 1, 1),
    ],
)
def test_calls_in_flight_are_those_that_there_can_be(
    limits: list[int | None], concurrency: int, workers: int, flight: int, tmp_path: Path
) -> None:
    plan = plan_of(tmp_path, *limits, concurrency=concurrency)
    assert calls_in_flight(plan, workers) == flight
    text = "\n".join(announce(plan, {}, {}, workers))
    assert f", {flight} call{'' if flight == 1 else 's'} in flight at most" in text
    offline = "\n".join(announce(plan_of(tmp_path, *limits, offline=True), {}, {}, workers))
    assert "in flight" not in offline


@pytest.mark.parametrize(
    ("judges", "stored", "said"),
    [
        (1, 0, "; stored on it: none of this judge"),
        (1, 1, "; stored on it: 1 verdict of this judge, whatever the settings"),
        (2, 1500, "; stored on it: 1,500 verdicts of these judges, whatever the settings"),
    ],
)
def test_what_is_stored_is_said_to_be_of_the_store(judges: int, stored: int, said: str, tmp_path: Path) -> None:
    plan = plan_of(tmp_path, *[None] * judges)
    assert any(line.endswith(said) for line in announce(plan, {"landmarks-pairwise": stored}, {}))
    plan = plan_of(tmp_path, None, refresh=True)
    assert any(line.endswith("calls; all asked anew") for line in announce(plan, {}, {}))


@pytest.mark.parametrize(
    ("dist", "tx", "workers"),
    [("no", [], 1), ("load", ["popen"] * 3, 3), ("load", ["3*popen", "popen//python=x"], 4), ("no", ["popen"] * 3, 1)],
)
def test_workers_are_counted_before_there_are_any(dist: str, tx: list[str], workers: int) -> None:
    config = SimpleNamespace(option=SimpleNamespace(tx=tx), getoption=lambda name, default: dist)
    assert _workers(config) == workers
    assert _workers(SimpleNamespace(option=SimpleNamespace(), getoption=lambda name, default: default)) == 1


@pytest.mark.parametrize(
    ("sample", "said"),
    [
        (SampleRange(100, 300), "fewer than --novelty-sample=100..300, so the looks are at 100, "),
        (SampleRange(200, 300), "fewer than --novelty-sample=200..300, and all are asked"),
        (1000, "fewer than --novelty-sample=1000, and all are asked"),
        (20, ""),
        (SampleRange(10, 20), ""),
    ],
)
def test_a_sample_that_a_suite_does_not_have_is_announced(sample: int | SampleRange, said: str, tmp_path: Path) -> None:
    plan = plan_of(tmp_path, None, sample=sample)
    text = "\n".join(announce(plan, {}, {}))
    has = len(plan.suites["landmarks-pairwise"].suite.instances)
    assert (f"novelty: landmarks-pairwise has {has} instances, {said}" in text) if said else "fewer than" not in text
