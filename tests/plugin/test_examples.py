"""What the README shows of an example is what the example prints."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from .making import Lab

_ROOT = Path(__file__).parents[2]
_WIDTH = 110


def test_the_cascade_in_the_readme(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(_WIDTH))
    shutil.copy(_ROOT / "examples" / "grounding" / "conftest.py", lab.path)
    ran = lab.judge("myjudge", "landmarks-similarity")
    assert ran.ret == 0
    printed = [line.rstrip() for line in ran.out.splitlines()]
    readme = (_ROOT / "README.md").read_text(encoding="utf-8").splitlines()
    title = "Grounding of myjudge on landmarks-similarity, in verdicts"
    first, shown = printed.index(title), readme.index(title)
    block = printed[first : printed.index("", first)]
    assert readme[shown : shown + len(block) + 1] == [*block, "```"]
    rates = ran.report["grounding"][0]["rates"]
    assert 0 < rates["verified_f1"]["value"] < rates["grounded_f1"]["value"] < rates["f1"]["value"] == 1
