"""The verdicts of ``lexical`` on the embedded suites are the committed ones: a change of judge, suite or parser shows here."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from pytest_novelty import evaluate
from pytest_novelty.data import data_folder
from pytest_novelty.drifting import SAME, compare, compare_all
from pytest_novelty.golden import make_golden, read_text
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.suites import embedded_suites

SUITES = sorted(embedded_suites())


def golden_file(suite: str) -> Path:
    return data_folder("golden") / f"{suite}.lexical.txt"


@pytest.mark.parametrize("suite", SUITES)
def test_lexical_says_what_it_said(suite: str) -> None:
    report = evaluate("lexical", suite)
    planned, judge = report.plan.suites[suite], report.plan.judges[0]
    protocol = PROTOCOLS[planned.suite.protocol]
    old = read_text(golden_file(suite).read_text(encoding="utf-8"), golden_file(suite), protocol)
    new = make_golden(report.plan, planned, judge, report.outcomes)
    (drift,) = compare_all([compare(report.plan, planned, judge, old, new, "golden")])
    assert (drift.verdict, drift.changes, drift.n) == (SAME, (), len(planned.suite.instances)), drift.sentence


def test_every_suite_has_a_golden_file_and_is_listed() -> None:
    """One that came without is named here: record it with ``pytest --novelty-judge=lexical --snapshot-update``."""
    assert {path.name for path in data_folder("golden").glob("*.txt")} == {golden_file(suite).name for suite in SUITES}
    listed = re.findall(
        r"^\| `([^`]+)`", (data_folder("golden") / "README.md").read_text(encoding="utf-8"), re.MULTILINE
    )
    assert listed == SUITES
