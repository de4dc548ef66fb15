"""Suites and test folders that the plugin tests build on the fly, and what came of a run in one."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

PLANTED = Path(__file__).with_name("planted.py")

_QUIET = ("-W", "error", "-p", "no:syrupy", "-p", "no:hypothesispytest")
"""Warnings are errors; plugins that have nothing to do with it stay out, every worker starts the faster."""

PRELUDE = '''
import asyncio, json, os, pathlib, sys, time
HERE = pathlib.Path(__file__).parent

def log(request, judge="judge"):
    """One line a call: judge, instance, variant, order, sample."""
    title = request.ideas[0].title.split()[0]
    line = "\\t".join(map(str, (judge, title, request.variant, request.order, request.sample)))
    with open(HERE / "calls.log", "a", encoding="utf-8") as out:
        out.write(line + "\\n")

def is_new(idea):
    return "a new thing" in idea.text

def right(request):
    if request.protocol == "pairwise":
        return {"winner": "A" if is_new(request.ideas[0]) else "B"}
    return {"novel": is_new(request.idea)}
'''


def _row(protocol: str, number: int) -> dict[str, Any]:
    """The odd ones are novel (pairwise: the second idea is)."""
    name = f"i{number:03d}"
    texts = [f"Thought {number} of {kind}." for kind in ("an old thing", "a new thing")]
    shared = {
        "id": name,
        "as_of": "2016-12-31",
        "strata": {"area": ("bio", "cs")[number % 4 // 2], "group": f"g{number // 2}"},
    }
    if protocol == "pointwise":
        gold = number % 2
        return {**shared, "idea": {"title": f"{name} idea", "text": texts[gold]}, "gold": ("not novel", "novel")[gold]}
    order = (1, 0) if number % 2 else (0, 1)
    ideas = [{"id": f"{name}{'xy'[kind]}", "title": f"{name} {'xy'[kind]}", "text": texts[kind]} for kind in order]
    return {**shared, "ideas": ideas, "gold": f"{name}y"}


def write_suite(
    folder: Path,
    name: str = "small",
    n: int = 6,
    protocol: str = "pointwise",
    gates: Iterable[str] = (),
    *,
    votes: int = 2,
    variants: Mapping[str, Any] | None = None,
    change: Callable[[dict[str, Any]], None] | None = None,
    **head: Any,
) -> Path:
    """A suite of ``n`` instances in ``folder/name``, and its gold in ``folder/gold.json`` (idea text -> is it the novel one).

    ``change`` may edit each row; ``head`` adds to (or, with None, takes from) suite.yaml.
    """
    rows = [_row(protocol, number) for number in range(n)]
    for row in rows:
        if change is not None:
            change(row)
    values = {
        "format": "novelty-suite/1",
        "name": name,
        "version": "1",
        "protocol": protocol,
        "label_kind": "construction",
        "defaults": {"votes": votes},
        "variants": dict(variants or {}),
        "gates": list(gates),
        "instances": "instances.jsonl",
        **head,
    }
    path = folder / name
    path.mkdir(parents=True, exist_ok=True)
    (path / "suite.yaml").write_text(json.dumps({key: value for key, value in values.items() if value is not None}))
    (path / "instances.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    gold_file = folder / "gold.json"
    gold = json.loads(gold_file.read_text()) if gold_file.exists() else {}
    for row in rows:
        if "idea" in row:
            gold[row["idea"]["text"]] = row.get("gold") == "novel"
        else:
            gold.update({idea["text"]: idea["id"] == row.get("gold") for idea in row["ideas"]})
    gold_file.write_text(json.dumps(gold))
    return path


@dataclass
class Ran:
    """One inner run. ``calls``: (judge, instance, variant, order, sample) of the calls that judges logged in it."""

    ret: int
    out: str
    err: str
    calls: list[tuple[str, ...]]
    report: dict[str, Any] = field(default_factory=dict)

    @property
    def said(self) -> str:
        return self.out + self.err

    @property
    def plain(self) -> str:
        """All output with its white space collapsed: the summary wraps its lines."""
        return " ".join(self.said.split())

    def gate(self, name: str, judge: str | None = None) -> dict[str, Any]:
        found = [gate for gate in self.report["gates"] if gate["name"] == name and judge in (None, gate["judge"])]
        assert len(found) == 1, (name, self.report["gates"])
        only: dict[str, Any] = found[0]
        return only

    def decisions(self) -> dict[str, str]:
        return {gate["name"]: gate["decision"] for gate in self.report["gates"]}

    def metric(self, name: str, judge: str | None = None, variant: str = "reference") -> dict[str, Any]:
        found = [
            row
            for row in self.report["metrics"]
            if (row["metric"], row["variant"], row["stratum"]) == (name, variant, None)
            and judge in (None, row["judge"])
        ]
        assert len(found) == 1, (name, len(found))
        only: dict[str, Any] = found[0]
        return only

    def outcomes(self, judge: str | None = None, variant: str = "reference") -> dict[str, str]:
        """Result of every outcome, by instance."""
        return {
            row["instance"]: row["result"]
            for row in self.report["outcomes"]
            if row["variant"] == variant and judge in (None, row["judge"])
        }

    @property
    def seconds(self) -> float:
        """How long pytest says that it took."""
        return float(re.findall(r" in (\d+\.\d+)s", self.out)[-1])

    def counts(self) -> dict[str, int]:
        """The last line of pytest's terminal, as numbers by word."""
        line = next(line for line in reversed(self.out.splitlines()) if re.search(r"\bin \d", line))
        return {
            word.rstrip("s") if word == "errors" else word: int(count)
            for count, word in re.findall(r"(\d+) ([a-z]+)", line)
        }

    def progress(self) -> list[int]:
        return [int(number) for number in re.findall(r"\[\s*(\d+)%\]", self.out)]

    def assert_clean(self) -> None:
        """Nothing of an inner machine shows."""
        for trace in ("Traceback", "INTERNALERROR", "Error: '", "pytest_novelty/"):
            assert trace not in self.said, self.said


class Lab:
    """A folder with suites and judges, and runs of pytest in it."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.path = pytester.path

    def suite(
        self, name: str = "small", n: int = 6, protocol: str = "pointwise", gates: Iterable[str] = (), **more: Any
    ) -> Path:
        return write_suite(self.path, name, n, protocol, gates, **more)

    def judges(self, source: str) -> None:
        """Write conftest.py; ``source`` may use ``log``, ``is_new`` and ``right``."""
        (self.path / "conftest.py").write_text(PRELUDE + textwrap.dedent(source))

    def planted(self) -> None:
        """Make the planted judges importable: ``--novelty-judge planted:first``."""
        (self.path / "planted.py").write_text(PLANTED.read_text())

    def test_file(self, source: str, name: str = "test_own.py") -> Path:
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(source))
        return path

    def ini(self, *lines: str) -> None:
        (self.path / "pytest.ini").write_text("\n".join(("[pytest]", *lines)) + "\n")

    def logged(self) -> list[tuple[str, ...]]:
        """Every call that judges logged."""
        log = self.path / "calls.log"
        lines = log.read_text(encoding="utf-8").split("\n") if log.exists() else []
        return [tuple(line.split("\t")) for line in lines if line.count("\t") == 4]

    def pytest(self, *args: str, dist: str = "", apart: bool = False) -> Ran:
        """Run pytest here, warnings being errors; ``apart`` in a process of its own."""
        before = len(self.logged())
        report = self.path / "report.json"
        report.unlink(missing_ok=True)
        given = (*_QUIET, *dist.split(), *args)
        run = self.pytester.runpytest_subprocess if apart else self.pytester.runpytest_inprocess
        result = run(*given)
        return Ran(int(result.ret), result.stdout.str(), result.stderr.str(), self.logged()[before:], _load(report))

    def judge(
        self, judges: str = "judge", suites: str = "small", *args: str, dist: str = "", apart: bool = False
    ) -> Ran:
        """Run judges on suites (names separated by blanks), with a report."""
        options = [f"--novelty-judge={name}" for name in judges.split()]
        options += [f"--novelty-suite={name}" for name in suites.split()]
        return self.pytest(*options, "--novelty-report=report.json", *args, dist=dist, apart=apart)

    def start(self, *args: str) -> subprocess.Popen[str]:
        """Begin a run of ``judge`` on ``small`` in a process group of its own, to be signalled."""
        command = [sys.executable, "-m", "pytest", *_QUIET, "--novelty-judge=judge", "--novelty-suite=small"]
        return subprocess.Popen(
            [*command, "--novelty-report=report.json", *args],
            cwd=self.path, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # a shell's background jobs ignore it
        )  # fmt: skip

    def wait_for_calls(self, count: int, process: subprocess.Popen[str], timeout_s: float = 60.0) -> None:
        """Until the judges logged ``count`` calls."""
        deadline = time.monotonic() + timeout_s
        while len(self.logged()) < count:
            assert process.poll() is None, process.communicate()[0]
            assert time.monotonic() < deadline, "the judge was not called"
            time.sleep(0.005)

    def signal(self, process: subprocess.Popen[str], number: int) -> Ran:
        """Send a signal to the whole group (as a terminal does) and wait."""
        os.killpg(process.pid, number)
        try:
            out = process.communicate(timeout=60)[0]
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return Ran(process.returncode, out, "", self.logged(), _load(self.path / "report.json"))

    def calls_made(self) -> int:
        """Calls that judges logged so far, over all runs."""
        return len(self.logged())

    def forget_calls(self) -> None:
        (self.path / "calls.log").unlink(missing_ok=True)


def _load(path: Path) -> dict[str, Any]:
    return json.loads(path.read_text()) if path.exists() else {}
