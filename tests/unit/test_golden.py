"""The verdicts of ``lexical`` on the embedded suites are the committed ones: a change of judge, suite or parser shows here."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_novelty import evaluate
from pytest_novelty.data import data_folder
from pytest_novelty.suites import embedded_suites

SUITES = sorted(embedded_suites())


def golden_file(suite: str) -> Path:
    return data_folder("golden") / f"{suite}.lexical.txt"


def verdicts_of(suite: str) -> str:
    report = evaluate("lexical", suite)
    lines = [f"{item.instance}\t{item.outcome.label}\t{item.outcome.result}" for item in report.outcomes]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("suite", SUITES)
def test_lexical_says_what_it_said(suite: str) -> None:
    expected = golden_file(suite).read_text(encoding="utf-8")
    assert verdicts_of(suite) == expected


def test_no_golden_file_is_left_over() -> None:
    assert {path.name for path in data_folder("golden").glob("*.txt")} == {golden_file(suite).name for suite in SUITES}


if __name__ == "__main__":
    for name in SUITES:
        golden_file(name).write_text(verdicts_of(name), encoding="utf-8")
