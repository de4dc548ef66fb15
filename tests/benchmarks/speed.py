"""Measure what the plugin costs, side by side with pytest itself. Not a test: it prints medians and ratios.

    python tests/benchmarks/speed.py [--rounds 5] [--only throughput,linear,overlap,startup,dormant]

Runs are interleaved, so that a machine that slows down slows both sides.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
BARE = ["-p", "no:cacheprovider", "-q"]

JUDGES = """
import asyncio, os, time
from pathlib import Path

class Instant:
    version = "1"; uses_prompt = False; cost_usd_per_call = 0.0
    def __call__(self, request):
        return {"novel": True}

class Slow:
    version = "1"; uses_prompt = False; cost_usd_per_call = 0.0
    async def __call__(self, request):
        begun = time.time()
        await asyncio.sleep(0.2)
        with open(f"times-{os.getpid()}.txt", "a") as file:
            file.write(f"{begun} {time.time()}\\n")
        return {"novel": True}

instant, slow = Instant(), Slow()
"""

MEASURED = """
import resource, sys, pytest
status = pytest.main(sys.argv[1:])
print('PEAK', resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def write_suite(folder: Path, name: str, instances: int, votes: int) -> None:
    suite = folder / name
    suite.mkdir()
    rows = [
        {
            "id": f"p{i}",
            "idea": {"title": f"Idea {i}", "text": f"Text of idea {i}."},
            "gold": ("novel", "not novel")[i % 2],
        }
        for i in range(instances)
    ]
    (suite / "instances.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (suite / "suite.yaml").write_text(
        f"format: novelty-suite/1\nname: {name}\nversion: '1'\nprotocol: pointwise\nlabel_kind: construction\n"
        f"defaults: {{votes: {votes}}}\ninstances: instances.jsonl\n"
    )


def write_tests(folder: Path, name: str, count: int) -> None:
    (folder / name).write_text(
        f"import pytest\n@pytest.mark.parametrize('i', range({count}))\ndef test_it(i):\n    pass\n"
    )


def run(folder: Path, arguments: Sequence[str]) -> tuple[float, float]:
    """(seconds of the whole process, peak memory in MB) of one pytest run, with an empty store."""
    for old in folder.glob(".novelty/*"):
        old.unlink()
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", MEASURED, *arguments],
        cwd=folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.perf_counter() - began
    if "PEAK" not in done.stdout:
        sys.exit(done.stdout[-3000:] + done.stderr[-3000:])
    return seconds, float(done.stdout.rpartition("PEAK")[2]) / 1024


def interleave(rounds: int, *sides: Callable[[], float]) -> list[float]:
    """Medians of several measurements taken in turns, after one warm-up each."""
    for side in sides:
        side()
    taken = [[side() for side in sides] for _ in range(rounds)]
    return [statistics.median(column) for column in zip(*taken, strict=True)]


def throughput(folder: Path, rounds: int, count: int = 10_000) -> float:
    write_suite(folder, f"suite-{count}", count, 3)
    write_tests(folder, f"test_{count}.py", count)
    peaks = []

    def ours() -> float:
        seconds, peak = run(folder, ["--novelty-judge=judges:instant", f"--novelty-suite=suite-{count}", *BARE])
        peaks.append(peak)
        return seconds

    own, plain = interleave(rounds, ours, lambda: run(folder, [f"test_{count}.py", *BARE])[0])
    print(
        f"throughput: {count:,} instances x 3 votes {own:.2f} s, {count:,} trivial tests {plain:.2f} s, ratio {own / plain:.2f}; "
        f"peak {statistics.median(peaks):.0f} MB"
    )
    return own


def linear(folder: Path, rounds: int) -> None:
    small = throughput(folder, 1, 9_999)
    large = throughput(folder, 1, 99_990)
    print(f"linear: ten times the instances take {large / small:.1f} times as long")


def overlap(folder: Path, rounds: int) -> None:
    write_suite(folder, "suite-400", 400, 1)
    for options in ([], ["-n", "2"]):
        spans = []
        for _ in range(rounds):
            for old in folder.glob("times-*.txt"):
                old.unlink()
            run(
                folder,
                [
                    "--novelty-judge=judges:slow",
                    "--novelty-suite=suite-400",
                    "--novelty-concurrency=64",
                    *options,
                    *BARE,
                ],
            )
            times = [line.split() for path in folder.glob("times-*.txt") for line in path.read_text().splitlines()]
            if len(times) != 400:
                sys.exit(f"{len(times)} calls were made, not 400")
            spans.append(max(float(end) for _, end in times) - min(float(begun) for begun, _ in times))
        name = " ".join(options) or "alone"
        print(
            f"overlap: 400 async calls of 200 ms, 64 in flight, {name}: {statistics.median(spans):.2f} s of judging (floor 1.40)"
        )


def startup(folder: Path, rounds: int) -> None:
    write_suite(folder, "suite-1", 1, 1)
    write_tests(folder, "test_1.py", 1)
    own, plain = interleave(
        3 * rounds,
        lambda: run(folder, ["--novelty-judge=judges:instant", "--novelty-suite=suite-1", *BARE])[0],
        lambda: run(folder, ["test_1.py", *BARE])[0],
    )
    print(f"start-up: one instance {own:.3f} s, one trivial test {plain:.3f} s, difference {own - plain:.3f} s")


def dormant(folder: Path, rounds: int) -> None:
    write_tests(folder, "test_dormant.py", 1)
    with_us, without = interleave(
        6 * rounds,
        lambda: run(folder, ["test_dormant.py", *BARE])[0],
        lambda: run(folder, ["test_dormant.py", "-p", "no:novelty", *BARE])[0],
    )
    print(
        f"dormant: installed {with_us * 1000:.0f} ms, disabled {without * 1000:.0f} ms, "
        f"difference {(with_us - without) * 1000:.1f} ms"
    )


PARTS: dict[str, Callable[[Path, int], object]] = {
    "throughput": throughput,
    "linear": linear,
    "overlap": overlap,
    "startup": startup,
    "dormant": dormant,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default=",".join(PARTS))
    arguments = parser.parse_args()
    for name in arguments.only.split(","):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "judges.py").write_text(JUDGES)
            PARTS[name](Path(folder), arguments.rounds)


if __name__ == "__main__":
    main()
