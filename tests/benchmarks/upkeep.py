"""Measure what looking after 100,000 records takes: seconds and peak memory of each command. Not a test: it prints them.

    python tests/benchmarks/upkeep.py [--records 100000]

Each command runs in a process of its own. ``compare`` reads two reports of as many votes, six a pair.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from pytest_novelty import evaluate
from pytest_novelty.model import Axes, Idea, Instance, Record, Suite, Variant
from pytest_novelty.store import SqliteStore

MEASURED = """
import resource, sys
from pytest_novelty.cli import main
status = main(sys.argv[1:])
used = resource.getrusage(resource.RUSAGE_SELF)
print(f"{used.ru_utime + used.ru_stime:.1f} {used.ru_maxrss / 1024:.0f} {status}", file=sys.stderr)
"""
VOTES = 6


def records(count: int, seed: int) -> Iterator[Record]:
    """Answers of a model's usual length; those of two seeds differ in one of ten."""
    draw = random.Random(0)
    other = random.Random(seed)
    words = [f"word{number}" for number in range(500)]
    for number in range(count):
        label = "xy"[draw.random() < 0.5]
        label = "xy"[label == "x"] if other.random() < 0.1 * bool(seed) else label
        reason = " ".join(draw.choices(words, k=60))
        raw = json.dumps(json.dumps({"reasoning": reason, "winner": label}))
        yield Record(
            f"{number:032x}", "model", "3f2a" * 4, "pairs", "reference", f"i{number // VOTES:06}", ("ab", "ba")[number % 2],
            number % VOTES // 2, number, "ok", "", "", raw, label, reason=reason, model="model-2026-01-01", tokens_in=900,
            tokens_out=90, cost_usd=0.0004, latency_s=1.25, parts="judge=1 schema=2", created="2026-03-01T00:00:00Z",
        )  # fmt: skip


def write_store(path: Path, count: int, seed: int, part: slice = slice(None)) -> Path:
    store = SqliteStore(path)
    store.put(list(records(count, seed))[part])
    store.close()
    return path


def write_report(path: Path, count: int, version: str) -> Path:
    """A report of a judge that is right in nine votes of ten."""
    ideas = (Idea("x", "First", "First text."), Idea("y", "Second", "Second text."))
    instances = tuple(Instance(f"i{number:06}", ideas, "x") for number in range(count // VOTES))
    reference = Variant("reference", Axes(prompt="pairwise/reference"))
    suite = Suite(
        "pairs", "1", "pairwise", "construction", instances, {"reference": reference}, "0" * 32, Path("s.yaml")
    )

    def judge(request: object) -> dict[str, str]:
        right = random.Random(f"{version} {request.seed}").random() < 0.9  # type: ignore[attr-defined]
        first = request.ideas[0].title == "First"  # type: ignore[attr-defined]
        return {"winner": "A" if right == first else "B", "reason": "because of the words that it has " * 5}

    judge.version, judge.uses_prompt = version, False  # type: ignore[attr-defined]
    report = evaluate({"mine": judge}, replace(suite), votes=VOTES // 2)
    path.write_text(json.dumps(report.to_dict()))
    return path


def measure(name: str, *arguments: object) -> None:
    begun = time.perf_counter()
    command = [sys.executable, "-c", MEASURED, *map(str, arguments)]
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, check=True)
    cpu_s, megabytes, status = done.stderr.split()[-3:]
    wall_s = time.perf_counter() - begun
    print(f"{name:24} {wall_s:6.1f} s  (CPU {cpu_s:>5} s)  {megabytes:>5} MB  status {status}")


def write_all(here: Path, count: int) -> None:
    write_store(here / "whole.sqlite", count, 0)
    write_store(here / "half.sqlite", count, 0, slice(0, count // 2))
    write_store(here / "other.sqlite", count, 1)
    for name in ("old", "new"):
        write_report(here / f"{name}.json", count, name)


def _apart(function: Callable[[Path, int], None], here: Path, count: int) -> None:
    """In a process of its own: a child's peak memory begins with what its parent holds."""
    process = multiprocessing.get_context("spawn").Process(target=function, args=(here, count))
    process.start()
    process.join()
    if process.exitcode:
        raise SystemExit(process.exitcode)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--records", type=int, default=100_000)
    count = parser.parse_args().records
    with tempfile.TemporaryDirectory() as folder:
        here = Path(folder)
        _apart(write_all, here, count)
        whole, half, other = (here / f"{name}.sqlite" for name in ("whole", "half", "other"))
        reports = [here / f"{name}.json" for name in ("old", "new")]
        print(f"{count:,} records, {whole.stat().st_size / 1e6:.0f} MB")
        measure("store info", "store", "info", "--store", whole)
        measure("store export", "store", "export", "--store", whole, "--out", here / "all.jsonl")
        measure("store import", "store", "import", here / "all.jsonl", "--store", here / "imported.sqlite")
        measure("store merge, new", "store", "merge", whole, half, "--out", here / "merged.sqlite")
        measure("store merge, conflicts", "store", "merge", half, other)
        measure("store gc", "store", "gc", "--store", half, "--older-than", 1, "--yes")
        print(f"two reports of {reports[0].stat().st_size / 1e6:.0f} MB")
        measure("compare", "compare", *reports)


if __name__ == "__main__":
    main()
