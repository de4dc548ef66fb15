"""A metric that crashes: what was judged is paid for, so the rest is reported, and nobody takes the run for a good one."""

from __future__ import annotations

import re

import pytest

from pytest_novelty import evaluate
from pytest_novelty.catching import Net

from .making import Lab
from .test_planted_papers import JUDGES, make_suite

JUDGE = """
    from pytest_novelty.metrics import {module}

    def crash(*args, **kwargs):
        return 1 // 0

    {module}.{name} = crash

    def judge(request):
        log(request)
        return right(request)

    def pytest_novelty_judges():
        return {{"judge": judge}}
"""


def test_one_metric_is_lost_and_the_rest_is_there(lab: Lab, dist: str) -> None:
    lab.suite()
    lab.judges(JUDGE.format(module="classification", name="tie_rate"))
    gates = ("--novelty-gate=tie_rate<=0.5", "--novelty-gate=invalid_rate<=0.9")
    ran = lab.judge("judge", "small", *gates, "--novelty-report=report.md", dist=dist, apart=True)
    assert ran.ret == 1
    ran.assert_clean()
    error = "tie_rate of judge on small could not be computed: ZeroDivisionError: integer division or modulo by zero (conftest.py, line "
    assert f"novelty: ERROR: {error}" in ran.plain
    assert "-vv shows tracebacks, and asks nothing again" in ran.plain
    assert "Traceback (most recent call last)" not in ran.said
    assert ran.metric("tie_rate")["value"] is None
    assert ran.metric("tie_rate")["note"].startswith("could not be computed: ZeroDivisionError")
    assert ran.metric("invalid_rate")["value"] == 0
    assert ran.metric("retest_flip_rate")["low"] == 0
    assert ran.decisions() == {"tie_rate<=0.5": "inconclusive", "invalid_rate<=0.9": "pass"}
    assert any(note.startswith(error) for note in ran.report["notes"])
    assert len(ran.report["outcomes"]) == len(ran.report["instances"])
    assert "**Error:** tie_rate of judge on small could not be computed" in (lab.path / "report.md").read_text()
    again = lab.judge("judge", "small", *gates, "-vv", dist=dist, apart=True)
    assert again.ret == 1
    assert again.calls == []  # nothing is asked again
    assert "Traceback (most recent call last)" in again.said
    assert "in crash" in again.said


def test_a_bootstrap_that_crashes_takes_no_other_with_it(lab: Lab) -> None:
    lab.suite()
    lab.judges(
        """
        from pytest_novelty.metrics import catalogue, deferred, stability
        from dataclasses import replace

        def crash(core):
            return 1 // 0

        later = stability.retest_flip_rate.later
        stability.retest_flip_rate.later = lambda view: replace(later(view), finish=crash)

        def judge(request):
            return right(request)

        def pytest_novelty_judges():
            return {"judge": judge}
        """
    )
    ran = lab.judge("judge", "small", apart=True)  # what is crashed here stays so in its process
    assert ran.ret == 1
    assert "ERROR: retest_flip_rate of judge on small could not be computed: ZeroDivisionError" in ran.plain
    assert (ran.metric("accuracy")["value"], ran.metric("macro_f1")["value"]) == (1, 1)
    assert ran.metric("macro_f1")["low"] > 0


@pytest.mark.parametrize(
    ("module", "what"),
    [
        ("decide_gates", "gates on small"),
        ("compare_judges", "the comparison of judges on small"),
        ("find_degenerate", "what is to be found beside the metrics"),
    ],
)
def test_a_section_is_lost_and_the_rest_is_there(lab: Lab, module: str, what: str) -> None:
    lab.suite()
    lab.judges(
        f"""
        from pytest_novelty import results

        def crash(*args, **kwargs):
            raise ValueError("odd\\x1b[31m numbers")

        results.{module} = crash

        def judge(request):
            return right(request)

        def pytest_novelty_judges():
            return {{"judge": judge}}
        """
    )
    ran = lab.judge("judge", "small", apart=True)  # what is crashed here stays so in its process
    assert ran.ret == 1
    ran.assert_clean()
    assert f"ERROR: {what} could not be computed: ValueError: odd" in ran.plain
    assert "\x1b[31m" not in ran.out
    assert ran.metric("accuracy")["value"] == 1


def test_in_a_program_the_exception_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody reads a terminal there, and a debugger wants the place."""

    def crash(*args: object) -> None:
        raise ZeroDivisionError("by hand")

    monkeypatch.setattr("pytest_novelty.metrics.classification.tie_rate", crash)
    with pytest.raises(ZeroDivisionError, match="by hand"):
        evaluate({"planted": JUDGES["perfect"]}, make_suite("similarity"))


def test_an_interrupt_is_no_crash() -> None:
    def stop() -> None:
        raise KeyboardInterrupt

    net = Net(holds=True)
    with pytest.raises(KeyboardInterrupt):
        net.catch("it", stop, lambda error: None)
    assert net.crashes == []
    assert net.lines(tracebacks=False) == []
    assert net.catch("it", lambda: [1][1], lambda error: 0) == 0
    (line, hint) = net.lines(tracebacks=False)
    assert re.fullmatch(
        r"ERROR: it could not be computed: IndexError: list index out of range \(test_crashes.py, line \d+\)", line
    )
    assert "-vv" in hint
