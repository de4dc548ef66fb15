"""What the README shows of an example is what the example prints."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pytest_novelty.cli import main

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


def test_papers_of_ones_own(lab: Lab) -> None:
    """What the README shows is what lies there, and it validates and runs."""
    example = _ROOT / "examples" / "papers"
    shutil.copytree(example, lab.path, dirs_exist_ok=True)
    readme = (_ROOT / "README.md").read_text(encoding="utf-8")
    code = (example / "conftest.py").read_text(encoding="utf-8").split('"""', 2)[2].lstrip("\n")
    assert f"```python\n{code}```" in readme
    for language, name in (("yaml", "suite.yaml"), ("json", "instances.jsonl")):
        assert f"```{language}\n{(example / 'pairs' / name).read_text(encoding='utf-8')}```" in readme
    assert main(["validate", "pairs", "sets"]) == 0
    ran = lab.judge("myjudge", "pairs sets", "--novelty-auditor=myauditor")
    assert ran.ret == 0
    assert {item["auditor"] for item in ran.report["grounding"]} == {"myauditor"}
    for item in ran.report["grounding"]:
        assert [item["rates"][name]["value"] for name in ("f1", "grounded_f1", "verified_f1")] == [1, 1, 1]
        assert sum(item["rates"]["mismatch_rate"]["of"]) == 2  # both orders were audited
