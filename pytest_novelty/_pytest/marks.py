"""``@pytest.mark.novelty(suite=..., variants=[...])``: which suites a test asks for."""

from __future__ import annotations

import pytest

from pytest_novelty.errors import SettingsError

MARK = "novelty"


def suites_of(metafunc: pytest.Metafunc) -> list[tuple[str, list[str] | None]] | bool:
    """What the marks of a test name: (suite, variants) pairs; True for all suites of the options (no mark); False if
    the test has nothing to do with us.

    Each mark on the function adds; marks of class and module apply only if the function has none. Raises SettingsError.
    """
    definition = metafunc.definition
    own = [mark for mark in definition.own_markers if mark.name == MARK]
    inherited = definition.get_closest_marker(MARK)
    if "novelty_case" not in metafunc.fixturenames:
        if own:
            raise SettingsError(
                f"{definition.nodeid} has the novelty mark but not the novelty_case fixture",
                hint="Add novelty_case to its arguments",
            )
        return False
    marks = list(reversed(own)) or ([inherited] if inherited is not None else [])
    return [pair for mark in marks for pair in _read(mark, definition.nodeid)] if marks else True


def _read(mark: pytest.Mark, nodeid: str) -> list[tuple[str, list[str] | None]]:
    unknown = set(mark.kwargs) - {"suite", "variants"}
    if unknown or len(mark.args) > 1 or (mark.args and "suite" in mark.kwargs):
        raise SettingsError(f"{nodeid}: the novelty mark takes suite and variants, not {mark.args} {mark.kwargs}")
    suite = mark.args[0] if mark.args else mark.kwargs.get("suite")
    variants = mark.kwargs.get("variants")
    names = [suite] if isinstance(suite, str) else list(suite) if isinstance(suite, (list, tuple)) else []
    if not names or not all(isinstance(name, str) for name in names):
        raise SettingsError(
            f"{nodeid}: the novelty mark needs suite, a name or a path (or a list of these), not {suite!r}"
        )
    if isinstance(variants, str):
        variants = [variants]
    if variants is not None and not (isinstance(variants, (list, tuple)) and all(isinstance(v, str) for v in variants)):
        raise SettingsError(f"{nodeid}: variants is {variants!r}; give a list of names")
    return [(name, None if variants is None else list(variants)) for name in names]
