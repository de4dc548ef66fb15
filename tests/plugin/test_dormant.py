"""Installed but not asked: the plugin costs nothing, says nothing, leaves nothing, and tests that need it are skipped."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_novelty._pytest.options import OPTIONS

from .making import Lab

_HEAVY = (
    "numpy",
    "scipy",
    "rich",
    "jinja2",
    "litellm",
    "openai",
    "jsonschema",
    "yaml",
    "syrupy",
    "rapidfuzz",
    "sqlite3",
)

_PROJECT = """
    import pytest

    def test_plain():
        pass

    @pytest.mark.novelty(suite="no such suite")
    def test_marked(novelty_case):
        novelty_case.outcome()

    class TestGroup:
        pytestmark = pytest.mark.novelty("landmarks-pairwise", variants=["plan"])

        def test_inside(self, novelty_case):
            raise AssertionError("not to be run")

        def test_outside(self):
            pass
"""


def _python(code: str, folder: Path) -> str:
    env = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder, env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("more", [[], ["--collect-only"], ["--help"]], ids=["run", "collect", "help"])
def test_nothing_heavy_is_imported(lab: Lab, more: list[str]) -> None:
    lab.test_file(_PROJECT)
    args = ["-q", "-p", "pytest_novelty.plugin", *more]
    code = f"import sys, pytest; pytest.main({args!r}); print('heavy:', sorted(set({_HEAVY!r}) & set(sys.modules)))"
    out = _python(code, lab.path)
    assert "heavy: []" in out
    if not more:
        assert "2 passed, 2 skipped" in out


def test_the_check_of_imports_can_fail(lab: Lab) -> None:
    lab.suite(n=2)
    args = ["-q", "-p", "pytest_novelty.plugin", "--novelty-judge=chance", "--novelty-suite=small"]
    code = f"import sys, pytest; pytest.main({args!r}); print('heavy:', sorted(set({_HEAVY!r}) & set(sys.modules)))"
    assert "numpy" in _python(code, lab.path)


def _files(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if "__pycache__" not in path.parts}


def test_prints_nothing_and_touches_no_file(lab: Lab, dist: str) -> None:
    lab.test_file("def test_plain():\n    pass\n")
    lab.ini(
        "novelty_votes = nonsense",
        "novelty_suite = nowhere",
        "novelty_report = out.json",
        "novelty_store = kept.sqlite",
    )
    before = _files(lab.path)
    told = []
    for without in ((), ("-p", "no:novelty", "-W", "ignore::pytest.PytestConfigWarning")):
        ran = lab.pytest("-p", "no:cacheprovider", *without, dist=dist)
        assert ran.ret == 0
        told.append(
            [re.sub(r"\d+\.\d+s", "", line) for line in ran.out.splitlines() if not line.startswith("plugins:")]
        )
    assert told[0] == told[1]
    assert _files(lab.path) == before


def test_cases_are_skipped_and_the_marker_is_known(lab: Lab, dist: str) -> None:
    lab.test_file(_PROJECT)
    ran = lab.pytest("--strict-markers", "--strict-config", "-rs", dist=dist)
    assert (ran.ret, ran.counts()) == (0, {"passed": 2, "skipped": 2})
    assert "needs --novelty-judge" in ran.out
    assert "@pytest.mark.novelty(" in lab.pytest("--markers").out


def test_help_lists_every_option(lab: Lab) -> None:
    out = lab.pytest("--help").out
    for option in OPTIONS:
        assert option.flag in out
        assert option.help.split()[0] in out
    assert "%%" not in out


@pytest.mark.parametrize(
    "option", [option for option in OPTIONS if option.flag != "--novelty-judge"], ids=lambda option: option.dest
)
def test_every_option_but_the_judge_has_an_ini_key(lab: Lab, option: object) -> None:
    key = option.dest  # type: ignore[attr-defined]
    assert re.search(rf"^  {key} \(", lab.pytest("--help").out, re.MULTILINE)


def test_there_is_no_ini_key_for_the_judge(lab: Lab) -> None:
    lab.ini("novelty_judge = chance")
    lab.test_file("def test_plain():\n    pass\n")
    ran = lab.pytest("--strict-config")
    assert ran.ret == 4
    assert "novelty_judge" in ran.said


def test_without_a_terminal(lab: Lab) -> None:
    lab.test_file(_PROJECT)
    ran = lab.pytest("-p", "no:terminal")
    assert (ran.ret, ran.said) == (0, "")
