"""A wheel built from the sdist, installed into a fresh environment outside the checkout, runs the main job."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "PYTHONPATH", "TOX_"))
}


def run(command: Sequence[str | Path], folder: Path, *, expect: int = 0) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        capture_output=True,
        text=True,
        env=ENVIRONMENT,
        timeout=900,
        check=False,
    )
    assert done.returncode == expect, f"{command}\n{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The python of a fresh environment with the wheel and nothing else."""
    folder = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "build", "--outdir", folder / "dist", ROOT], folder)  # sdist, then the wheel from it
    (wheel,) = (folder / "dist").glob("*.whl")
    assert list((folder / "dist").glob("*.tar.gz"))
    venv.create(folder / "env", with_pip=True)
    python = folder / "env" / ("Scripts" if os.name == "nt" else "bin") / "python"
    run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", f"{wheel}[xdist]"], folder)
    return python


@pytest.mark.parametrize("options", [[], ["-n", "2"]], ids=["alone", "n2"])
def test_main_job(installed: Path, tmp_path: Path, options: list[str]) -> None:
    output = run(
        [installed, "-m", "pytest", "--novelty-judge=lexical", "--novelty-report=report.json", *options], tmp_path
    )
    assert "lexical" in output
    assert "132 pairs" in output
    report = json.loads((tmp_path / "report.json").read_text(encoding="ascii"))
    assert len(report["outcomes"]) == 132 + 198 + 346 + 34 + 62 + 80
    assert {gate["decision"] for gate in report["gates"]} <= {"pass", "inconclusive"}


def test_console_script_and_data(installed: Path, tmp_path: Path) -> None:
    script = installed.with_name("pytest-novelty")
    where = "import pytest_novelty.data as d; print(d.data_folder('suites'))"
    suites = run([installed, "-c", where], tmp_path).strip()
    assert "site-packages" in suites
    assert "0 not valid" in run([script, "validate", suites], tmp_path)


def test_dormant_in_other_projects(installed: Path, tmp_path: Path) -> None:
    (tmp_path / "test_other.py").write_text("def test_other(): pass\n")
    output = run([installed, "-m", "pytest", "-q"], tmp_path)
    assert "1 passed" in output
    assert "novelty" not in output
    assert {path.name for path in tmp_path.iterdir()} <= {"test_other.py", "__pycache__", ".pytest_cache"}
