"""The pytest plugin. Until ``--novelty-judge`` is given it imports nothing heavy, prints nothing and touches no file."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_novelty import hookspecs
from pytest_novelty._pytest.options import add_options, is_active

_ACTIVE = "novelty-session"


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.add_hookspecs(hookspecs)


def pytest_addoption(parser: pytest.Parser) -> None:
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    if is_active(config) and (config.getoption("novelty_dry_run", None) or config.getini("novelty_dry_run")):
        config.option.numprocesses, config.option.dist, config.option.tx = None, "no", []


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "novelty(suite, variants=None): judge this suite in this test, once per instance (needs novelty_case)",
    )
    if not is_active(config) and any(str(arg).startswith("--novelty-") for arg in config.invocation_params.args):
        raise pytest.UsageError("pytest-novelty: --novelty options do nothing without --novelty-judge=NAME")
    if is_active(config):
        from pytest_novelty._pytest.hooks import ActiveHooks

        config.pluginmanager.register(ActiveHooks(config), _ACTIVE)


@pytest.fixture
def novelty_case(request: pytest.FixtureRequest) -> Any:
    """One judge on one instance: ``.judge .suite .variant .instance`` and ``.outcome()``."""
    active = request.config.pluginmanager.get_plugin(_ACTIVE)
    if active is None:
        pytest.skip("needs --novelty-judge")
    from pytest_novelty._pytest.cases import NoveltyCase

    return NoveltyCase(active.session, active.session.cases[request.param], request.node)
