"""A sample that grows: sizes, order, when it stops, and how often five looks are wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_novelty import stopping
from pytest_novelty.deciding import NOT_ENFORCED
from pytest_novelty.errors import SettingsError
from pytest_novelty.evaluation import evaluate
from pytest_novelty.looks import LOOKS, SampleRange, level_of, z_of
from pytest_novelty.metrics.intervals import clopper_pearson
from pytest_novelty.model import NOT_NOVEL, NOVEL, Suite
from pytest_novelty.sampling import grow_sample, sample_instances
from pytest_novelty.settings import read_sample


@pytest.mark.parametrize(
    ("first", "last", "available", "sizes"),
    [
        (60, 300, 400, (60, 120, 180, 240, 300)),
        (60, 300, 200, (60, 95, 130, 165, 200)),
        (60, 300, 50, (50,)),
        (60, 300, 60, (60,)),
        (10, 12, 99, (10, 11, 12)),
        (2, 3, 9, (2, 3)),
    ],
)
def test_sizes(first: int, last: int, available: int, sizes: tuple[int, ...]) -> None:
    found = SampleRange(first, last).sizes(available)
    assert found == sizes


def test_reading() -> None:
    assert read_sample("sample", " 60..300 ") == SampleRange(60, 300)
    assert str(SampleRange(60, 300)) == "60..300"
    assert read_sample("sample", "60") == 60


@pytest.mark.parametrize("text", ["300..60", "60..60", "60..", "..60", "60...300", "a..b", "1..5", "0..9"])
def test_what_cannot_be_read(text: str) -> None:
    with pytest.raises(SettingsError):
        read_sample("--novelty-sample", text)


LOOK_LEVEL = level_of((20, 40, 60, 80, 100))


@pytest.mark.parametrize(("looks", "z"), [(1, 1.960), (2, 2.178), (3, 2.289), (4, 2.361), (5, 2.413)])
def test_equal_steps_have_pococks_z(looks: int, z: float) -> None:
    """Pocock 1977, table 1."""
    assert z_of(tuple(range(60, 60 * looks + 1, 60))) == pytest.approx(z, abs=6e-4)


def test_the_level_of_one_look_is_the_usual_one() -> None:
    assert level_of((50,)) == level_of(()) == 0.95
    assert pytest.approx(0.9842, abs=1e-4) == LOOK_LEVEL


@pytest.mark.parametrize("sizes", [(60, 300), (10, 300), (2, 300), (250, 300), (10, 1000)])
def test_looks_are_wrong_together_in_five_percent_however_they_are_spaced(sizes: tuple[int, int]) -> None:
    looks = SampleRange(*sizes).sizes(10_000)
    assert len(looks) == LOOKS
    rng = np.random.default_rng(1)
    steps = rng.normal(size=(40_000, LOOKS)) * np.sqrt(np.diff(looks, prepend=0))
    at_looks = np.cumsum(steps, axis=1) / np.sqrt(looks)
    rate = float((np.abs(at_looks) > z_of(looks)).any(axis=1).mean())
    assert rate == pytest.approx(0.05, abs=0.0033)  # three standard errors


@pytest.fixture
def suite_of(make_suite: Callable[..., Suite], make_instance: Callable[..., Any]) -> Callable[..., Suite]:
    def build(n: int = 100, **changes: Any) -> Suite:
        made = [
            make_instance("pointwise", f"i{k:03}", gold=(NOVEL, NOT_NOVEL)[k % 2], strata={"area": "ab"[k % 3 > 0]})
            for k in range(n)
        ]
        return make_suite("pointwise", *made, path=Path("made/suite.yaml"), **changes)

    return build


def test_each_look_adds_to_the_one_before(suite_of: Callable[..., Suite]) -> None:
    suite = suite_of()
    grown = grow_sample(suite, (20, 40, 60), seed=3)
    assert len(grown) == len({item.id for item in grown}) == 60
    for size in (20, 40, 60):
        assert {item.id for item in grown[:size]} == {item.id for item in sample_instances(suite, size, 3)}


# --- stopping -----------------------------------------------------------------------------------------------


class Logged:
    """Right with probability ``p``, by the seed of the vote; notes the ideas it saw."""

    version, uses_prompt, cost_usd_per_call = "1", False, 0.0

    def __init__(self, p: float) -> None:
        self.p, self.seen = p, set[str]()

    def __call__(self, request: Any) -> dict[str, Any]:
        self.seen.add(request.instance_id)
        return {"novel": (np.random.default_rng(request.seed).random() < self.p)}


@pytest.mark.parametrize(
    ("gates", "p", "asked", "said"),
    [
        (["tie_rate<=0.3"], 1.0, 20, "all gates of made are decided at look 1 of 5 (20 instances); no more were asked"),
        (["tie_rate<=0.05"], 1.0, 100, "made: 5 looks planned, up to 100 instances; none ended the run early"),
        (["accuracy>=0.5"], 1.0, 100, "made: 5 looks planned, up to 100 instances; none ended the run early"),
        (["tie_rate<=0.3", "auroc>=0.5"], 1.0, 20, "decided at look 1"),  # what is undefined stays so
        ([], 1.0, 100, "made has no gate to decide: all 100 instances were to be asked"),
        (["tie_rate<=0.3", "tie_rate@area:a<=0.5"], 1.0, 40, "decided at look 2 of 5 (40 instances)"),
    ],
)
def test_it_stops_when_every_gate_is_decided(
    gates: list[str], p: float, asked: int, said: str, suite_of: Callable[..., Suite]
) -> None:
    judge = Logged(p)
    report = evaluate({"judge": judge}, suite_of(), gates=gates, sample="20..100")
    assert len(judge.seen) == len(report.outcomes) == asked
    assert said in " | ".join(report.notes), report.notes
    planned = report.plan.suites["made"]
    assert (planned.looks, len(planned.instances)) == ((20, 40, 60, 80, 100), asked)
    assert planned.look == asked // 20
    assert all(gate.decision != "not enforced" for gate in report.gates)


def test_what_is_not_enforced_keeps_no_run_going(suite_of: Callable[..., Suite]) -> None:
    """A gate may have a value and not be enforced (a variant that the judge does not take): no further instance decides it."""
    judge = Logged(0.5)
    seen: list[list[str]] = []
    original = stopping.make_report

    def spied(plan: Any, results: Any) -> Any:
        report = original(plan, results)
        gates = [
            replace(gate, decision=NOT_ENFORCED) if gate.gate.metric == "accuracy" else gate for gate in report.gates
        ]
        seen.append([gate.decision for gate in gates])
        return replace(report, gates=gates)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stopping, "make_report", spied)
        report = evaluate({"judge": judge}, suite_of(), gates=["tie_rate<=0.3", "accuracy>=0.5"], sample="20..100")
    assert seen == [["pass", NOT_ENFORCED]]
    assert len(report.outcomes) == 20


def test_the_interval_is_the_looks(suite_of: Callable[..., Suite]) -> None:
    report = evaluate({"judge": Logged(1.0)}, suite_of(), gates=["tie_rate<=0.3"], sample="20..100")
    estimate, exact = report.metric("tie_rate"), clopper_pearson(0, 20, LOOK_LEVEL)
    assert exact is not None
    assert (estimate.low, estimate.high) == (0.0, pytest.approx(exact.high))
    assert (
        "made: 98.4 % intervals, which hold at 95 % over 5 looks; stars and p values are of this look alone"
        in report.notes
    )


def test_one_look_is_an_ordinary_sample(suite_of: Callable[..., Suite]) -> None:
    report = evaluate({"judge": Logged(1.0)}, suite_of(15), gates=["tie_rate<=0.3"], sample="20..100")
    exact = clopper_pearson(0, 15)
    assert exact is not None
    assert report.metric("tie_rate").high == pytest.approx(exact.high)
    assert len(report.outcomes) == 15


def test_a_budget_that_ends_a_look_leaves_its_gates_open(suite_of: Callable[..., Suite]) -> None:
    judge = Logged(1.0)
    judge.cost_usd_per_call = 0.01
    report = evaluate({"judge": judge}, suite_of(), gates=["tie_rate<=0.05"], sample="20..100", votes=1, budget_usd=0.5)
    assert len(report.outcomes) == 50
    assert [gate.decision for gate in report.gates] == ["not enforced"]
    assert "50 of 100 instances ran" in report.gates[0].message


def test_several_judges_stop_together(suite_of: Callable[..., Suite]) -> None:
    quick, slow = Logged(1.0), Logged(0.5)
    report = evaluate({"quick": quick, "slow": slow}, suite_of(), gates=["retest_flip_rate<=0.3"], sample="20..100")
    assert len(quick.seen) == len(slow.seen)
    assert {gate.decision for gate in report.gates} == {"pass", "fail"}


def test_a_gate_at_its_threshold_is_decided_wrongly_in_five_percent() -> None:
    """The exact intervals of shares: looks at 60, 120 ... 300, a true rate of .1 against <= .10."""
    rng = np.random.default_rng(2)
    events = np.cumsum(rng.binomial(60, 0.1, size=(3000, 5)), axis=1)
    wrong = 0
    for row in events:
        for look, count in enumerate(row, 1):
            interval = clopper_pearson(int(count), 60 * look, LOOK_LEVEL)
            assert interval is not None
            if interval.low > 0.1 or interval.high <= 0.1:
                wrong += 1
                break
    assert wrong / 3000 <= 0.05
