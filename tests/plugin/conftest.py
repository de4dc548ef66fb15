"""Fixtures of the plugin tests: each builds a folder on the fly and runs pytest in it."""

from __future__ import annotations

# Inner runs share this process and forget the modules they import; numpy and its kin do not bear being imported twice.
import jinja2.sandbox  # noqa: F401
import jsonschema  # noqa: F401
import numpy  # noqa: F401
import openai  # noqa: F401
import pytest
import rich.console
import rich.table  # noqa: F401
import scipy.special  # noqa: F401
import xdist.scheduler  # noqa: F401
import yaml  # noqa: F401

import pytest_novelty.evaluation  # noqa: F401

from .making import Lab


def pytest_configure(config: pytest.Config) -> None:
    """Only a top-level conftest may name plugins; this works wherever the run begins."""
    if not config.pluginmanager.has_plugin("pytester"):
        config.option.runpytest, config.option.lsof = "inprocess", False
        config.pluginmanager.import_plugin("pytester")


@pytest.fixture(params=["", "-n2"], ids=["alone", "n2"])
def dist(request: pytest.FixtureRequest) -> str:
    """Every option works alone and under xdist."""
    value: str = request.param
    return value


@pytest.fixture
def lab(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Lab:
    for name in (
        "PYTEST_ADDOPTS",
        "PYTEST_XDIST_WORKER",
        "PYTEST_XDIST_WORKER_COUNT",
        "PYTEST_XDIST_TESTRUNUID",
        "COLUMNS",
    ):
        monkeypatch.delenv(name, raising=False)
    return Lab(pytester)
