"""What the command line names: paths of the user's, the virtual file of the suites, a case or a gate in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from pytest_novelty._pytest.ids import VIRTUAL, slug, virtual_part

if TYPE_CHECKING:
    from pytest_novelty.plan import Plan

MODULE: Final = Path(__file__).parents[1] / "conformance" / "test_suites.py"
"""The shipped test module."""


def read_arguments(config: pytest.Config) -> tuple[bool, bool]:
    """(paths beside the virtual file were given, the virtual file was named)."""
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        return False, False
    virtual = [arg for arg in config.args if virtual_part(arg) is not None]
    return len(virtual) < len(config.args), bool(virtual)


def replace_arguments(config: pytest.Config, plan: Plan, *, only_suites: bool) -> None:
    """Put the shipped module in the place of the virtual file, or of everything if no path was given."""
    if only_suites and config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args = [str(MODULE)]
        return
    config.args = list(dict.fromkeys(real_argument(arg, plan) for arg in config.args))


def real_argument(arg: str, plan: Plan) -> str:
    """A path that pytest can collect. A gate leaves the plan its suite only. Raises pytest.UsageError for an unknown one."""
    virtual = virtual_part(arg)
    if virtual is None:
        return arg
    path, separator, rest = virtual.partition("::")
    if path.startswith(f"{VIRTUAL}/"):  # a gate: it rests on its whole suite
        wanted = path.removeprefix(f"{VIRTUAL}/")
        kept = {name: planned for name, planned in plan.suites.items() if slug(name) == wanted}
        if not kept:
            known = ", ".join(plan.suites)
            raise pytest.UsageError(f"pytest-novelty: {arg}: no suite {wanted!r} in this run (it has {known})")
        plan.suites = kept
        return str(MODULE)
    return f"{MODULE}{separator}{rest}"
