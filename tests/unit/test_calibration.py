"""The fast part of the calibration: a cell that leaves its band, or a planted judge that gets another cause, fails.

The whole grid, at 10,000 runs a cell: tests/calibration/table.py makes TABLE.md beside it. Seeds are fixed; a simulated cell may
miss its band by two standard errors, an enumerated one by nothing.
"""

from __future__ import annotations

import sys
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from math import sqrt
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pytest_novelty.attribution import COIN, NOTHING, ORDER, TOGETHER, VARIANT
from pytest_novelty.metrics.resampling import Resampler

FOLDER = Path(__file__).parents[1] / "calibration"
RUNS = 400


def load(name: str) -> ModuleType:
    """A script of the folder, under a name that no package has."""
    known = f"calibration_{name}"
    if known not in sys.modules:
        spec = spec_from_file_location(known, FOLDER / f"{name}.py")
        assert spec is not None
        assert spec.loader is not None
        sys.modules[known] = module = module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[known]


COVERAGE, CAUSES = load("coverage"), load("causes")


@cache
def resampler_of(units: int) -> Resampler:
    return Resampler(units, 1_000)


def slack(rate: float) -> float:
    return 2 * sqrt(rate * (1 - rate) / RUNS)


# --- intervals ----------------------------------------------------------------------------------------------

GRID = [
    cell
    for cell in COVERAGE.all_cells((40, 154))
    if "clusters" not in cell.name and "AUROC" not in cell.name and (cell.n == 40 or "macro" not in cell.name)
]
CLUSTERS = [cell for cell in COVERAGE.all_cells(()) if "20 clusters" in cell.name and "icc 0.3" in cell.name]


@pytest.mark.parametrize("cell", [*GRID, *CLUSTERS], ids=lambda cell: f"{cell.name}-{cell.n}-{cell.truth:g}")
def test_a_simulated_cell(cell: Any) -> None:
    """Coverage of at least 93 %, false failures and false passes of a gate at the truth of at most 6 %."""
    units = int(cell.name.split()[1]) if "clusters" in cell.name else cell.n
    result = COVERAGE.simulate(cell, RUNS, 0, resampler_of(units))
    assert result.coverage >= 0.93 - slack(0.93)
    assert result.above <= cell.error_limit + slack(cell.error_limit)
    assert result.below <= cell.error_limit + slack(cell.error_limit)


def test_areas() -> None:
    for cell in COVERAGE.all_cells((40,)):
        if "AUROC" in cell.name:
            result = COVERAGE.simulate(cell, 100, 0, resampler_of(40))
            assert result.coverage >= 0.93 - 2 * sqrt(0.93 * 0.07 / 100)


def test_shares_by_enumeration() -> None:
    """Whatever the mixture of instances, a redrawn 0/1 outcome is Bernoulli: both gate errors are at most 2.5 %."""
    rows = list(COVERAGE.enumerate_shares())
    assert len(rows) == 21
    for name, n, truth, result in rows:
        assert result.coverage >= 0.95 - 1e-9, (name, n, truth)
        assert max(result.above, result.below) <= 0.025 + 1e-9, (name, n, truth)


# --- causes -------------------------------------------------------------------------------------------------

SEEDS = 12


@pytest.mark.parametrize("planted", CAUSES.PLANTED, ids=lambda item: item.name)
def test_a_planted_judge_gets_its_cause(planted: Any) -> None:
    """In at least ten of twelve runs; and an idle variant is blamed in at most three (5 % are promised)."""
    resampler = Resampler(120, 200)
    found = CAUSES.tally(SEEDS, lambda seed: CAUSES.attribute_once(planted, 120, seed, resampler))
    assert found.causes[planted.cause] >= 10, found.causes
    assert found.false <= 3


@pytest.mark.parametrize(("drift", "cause"), [(0.5, VARIANT), (0.0, NOTHING)])
def test_scores_that_drift(drift: float, cause: str) -> None:
    resampler = Resampler(120, 200)
    found = CAUSES.tally(SEEDS, lambda seed: CAUSES.attribute_scores_once(drift, 120, seed, resampler))
    assert found.causes[cause] >= 10, found.causes
    assert found.false <= 3


def test_every_cause_is_planted() -> None:
    assert {item.cause for item in CAUSES.PLANTED} == {VARIANT, TOGETHER, ORDER, COIN, NOTHING}


# --- the page -----------------------------------------------------------------------------------------------


def test_the_published_table_has_no_marked_cell() -> None:
    page = (FOLDER / "TABLE.md").read_text()
    assert "Made on 20" in page
    assert "--seed 0" in page
    cells = [line for line in page.splitlines() if line.startswith("| ")]
    assert len(cells) > 250
    assert not [line for line in cells if line.endswith("| ! |")]
