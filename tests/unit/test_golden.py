"""The verdicts of ``lexical`` on the embedded suites are the committed ones: a change of judge, suite or parser shows here."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_novelty import evaluate
from pytest_novelty.data import data_folder
from pytest_novelty.drifting import SAME, compare, compare_all
from pytest_novelty.golden import make_golden, read_text
from pytest_novelty.protocols import has_two_labels
from pytest_novelty.suites import embedded_suites, load_suite

SUITES = sorted(name for name, path in embedded_suites().items() if has_two_labels(load_suite(path).protocol))


def golden_file(suite: str) -> Path:
    return data_folder("golden") / f"{suite}.lexical.txt"


@pytest.mark.parametrize("suite", SUITES)
def test_lexical_says_what_it_said(suite: str) -> None:
    report = evaluate("lexical", suite)
    planned, judge = report.plan.suites[suite], report.plan.judges[0]
    old = read_text(golden_file(suite).read_text(encoding="utf-8"), golden_file(suite))
    new = make_golden(report.plan, planned, judge, report.outcomes)
    (drift,) = compare_all([compare(report.plan, planned, judge, old, new, "golden")])
    assert (drift.verdict, drift.changes, drift.n) == (SAME, (), len(planned.suite.instances)), drift.sentence


def test_no_golden_file_is_left_over() -> None:
    assert {path.name for path in data_folder("golden").glob("*.txt")} == {golden_file(suite).name for suite in SUITES}
