"""Make the published table: coverage and both gate errors over the whole grid, tests at their level, looks, and causes.

    nice python tests/calibration/table.py [--runs 10000] [--resamples 2000] [--seed 0] [--workers 2] [--out TABLE.md]
    nice python tests/calibration/table.py --keep [--only "score shift"] --runs 2000

Takes hours at 10,000 runs a cell. The cells are those of `cells.py`, the causes those of `causes.py`. Shares, paired differences of
shares and the largest of several shares are enumerated exactly. With `--keep` only cells are simulated that the table does not have
yet, and those that `--only` names. Exit status 1 if a cell leaves its band.
"""

from __future__ import annotations

import argparse
import math
import platform
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from datetime import date
from functools import cache
from pathlib import Path

import numpy as np
import scipy

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

import causes
import cells as grid
import coverage
from cells import OURS, Cell, Rng, both, mixture, scores_of, tallies
from coverage import Result
from drawn import view_of_scores, view_of_votes

from pytest_novelty.looks import LOOKS, level_of
from pytest_novelty.metrics.causes import find_causes
from pytest_novelty.metrics.claims import differences
from pytest_novelty.metrics.differences import difference
from pytest_novelty.metrics.intervals import clopper_pearson
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.resampling import Interval, Resampler

SIZES = (40, 154, 308)


def enumerate_largest() -> Iterator[tuple[str, int, float, Result]]:
    """The largest flip rate of V independent variants that all are at the truth."""
    for n in SIZES:
        for count in (2, 5, 12):
            for p in (0.02, 0.1, 0.3):
                k = np.arange(n + 1)
                logs = [math.lgamma(n + 1) - math.lgamma(j + 1) - math.lgamma(n - j + 1) for j in k]
                below = np.cumsum(np.exp(logs + k * math.log(p) + (n - k) * math.log1p(-p)))
                law = np.diff(below**count, prepend=0.0)  # of the largest count
                found: list[tuple[Interval | None, float]] = []
                for j, weight in zip(k, law, strict=True):
                    strict, usual = clopper_pearson(int(j), n, 1 - 0.05 / count), clopper_pearson(int(j), n)
                    if strict is not None and usual is not None:
                        found.append((Interval(strict.low, usual.high, ""), float(weight)))
                yield f"largest flip rate of {count}", n, p, coverage.tally(found, p)


# --- tests at their level, and looks ------------------------------------------------------------------------


def test_cells() -> Iterator[tuple[str, int, Callable[[Rng], float | None]]]:
    """(test, n, p of one data set) where nothing differs; by the functions that a user's run calls."""
    for n in SIZES:
        for kind, size in (("same", 0.5), ("same", 0.8), ("same", 0.95), ("beta", 0.5), ("few", 0.2)):
            yield (
                f"exchange test, {kind} {size:g}",
                n,
                lambda rng, a=(n, kind, size): find_causes(twice(rng, *a)).moved,
            )  # type: ignore[misc]
            yield (
                f"swap test of accuracy, {kind} {size:g}",
                n,
                lambda rng, a=(n, kind, size): accuracy_p(twice(rng, *a)),
            )  # type: ignore[misc]
            if n < 308:
                yield (
                    f"claim, pairs won, {kind} {size:g}",
                    n,
                    lambda rng, a=(n, kind, size): pairs_won_p(rng, *a),
                )  # type: ignore[misc]
        for share in (0.02, 0.2):
            yield (
                f"votes lost, {share:g} of them",
                n,
                lambda rng, a=(n, share): find_causes(silent(rng, *a)).silenced,
            )  # type: ignore[misc]
        yield "scores moved", n, lambda rng, n=n: find_causes(scored(rng, n)).moved  # type: ignore[misc]
    yield "claim, novel share", 40, lambda rng: novel_share_p(rng, 40)


@cache
def few(n: int) -> Resampler:
    """Of a test only its p counts, and no bootstrap is in that."""
    return Resampler(n, 50)


def twice(rng: Rng, n: int, kind: str, size: float) -> Pair:
    """The same judge asked twice."""
    p = both(mixture(rng, 1, n, kind, size)[0])
    return Pair(view_of_votes(tallies(rng, p), few(n)), view_of_votes(tallies(rng, p), few(n)))


def accuracy_p(pair: Pair) -> float | None:
    return difference("strict_accuracy", pair, {}, {})[1]


def pairs_won_p(rng: Rng, n: int, kind: str, size: float) -> float | None:
    """The names of the two systems say nothing."""
    p = mixture(rng, 1, n, kind, size)[0]
    votes = tallies(rng, both(np.where(rng.random(n) < 0.5, p, 1 - p)))
    return differences(view_of_votes(votes, few(n)), OURS)[0].p


def novel_share_p(rng: Rng, n: int) -> float | None:
    return differences(view_of_votes(tallies(rng, rng.beta(0.3, 0.3, n)[:, None]), few(n)), OURS)[0].p


def silent(rng: Rng, n: int, share: float) -> Pair:
    """Calls fail as often on both sides, more of them on some instances than on others."""
    fails = rng.beta(share, 1 - share, (n, 1))
    views = []
    for _ in range(2):
        votes = tallies(rng, np.full((n, 2), 0.7))
        lost = rng.binomial(votes[..., :2], fails[..., None])
        votes[..., :2] -= lost
        votes[..., 4] = lost.sum(axis=-1)
        views.append(view_of_votes(votes))
    return Pair(*views)


def scored(rng: Rng, n: int) -> Pair:
    return Pair(*(view_of_scores(side) for side in scores_of(rng, n, 0.0, 0.0)))


def look_rows(runs: int, seed: int) -> Iterator[tuple[str, float, float, float]]:
    """(looks, truth, P(fails falsely at some look), P(passes falsely at some look)) of a share against its own value."""
    rng = np.random.default_rng([seed, 5])
    for first, last in ((60, 300), (20, 100)):
        sizes = [round(first + (last - first) * k / (LOOKS - 1)) for k in range(LOOKS)]
        level = level_of(tuple(sizes))
        for p in (0.02, 0.1, 0.3, 0.5):
            steps = [rng.binomial(size, p, runs) for size in np.diff(sizes, prepend=0)]
            counts = np.cumsum(steps, axis=0)
            failed = np.zeros(runs, dtype=bool)
            passed = np.zeros(runs, dtype=bool)
            for size, row in zip(sizes, counts, strict=True):
                table = [clopper_pearson(k, size, level) for k in range(size + 1)]
                low = np.array([i.low if i is not None else 0.0 for i in table])[row]
                high = np.array([i.high if i is not None else 1.0 for i in table])[row]
                is_open = ~failed & ~passed
                failed |= is_open & (low > p + 1e-12)
                passed |= is_open & (high <= p + 1e-12)
            yield f"{first}..{last}", p, float(failed.mean()), float(passed.mean())


# --- the page -----------------------------------------------------------------------------------------------

_HEAD = """# Calibration

How often the intervals hold what they say, and how often a gate whose true value lies exactly on its threshold is decided wrongly.
Made on {date} by `python tests/calibration/table.py --runs {runs} --resamples {resamples} --seed {seed}`{how}
(Python {python}, numpy {numpy}, scipy {scipy}).

Instances are redrawn in every run. *same*: every vote of every instance has the same probability; *beta*: Beta(.3, .3) over
instances; *few*: a few bad instances, the rest sure. Three votes an order, both orders. Every estimate is made by the functions that a user's
run calls. Promised: coverage of at least 93 %, false failures and false passes of at most 6 %, of shares at most 2.5 %; tests that fire
and gates that err over all looks in at most 5 %. `!` marks a cell that leaves its band by more than two standard errors of
the simulation. Coverage above 97 % is allowed where few events are expected or the method is exact. *runs*: simulated data sets of the cell;
what was kept from an earlier table has its own number.

Enumerated exactly, without simulation: {exact}.
"""


def page(sections: list[tuple[str, str, list[str]]], head: str) -> str:
    parts = [head]
    for title, columns, rows in sections:
        names = columns.split("|")
        rule = "|".join("---" if index == 0 else "---:" for index in range(len(names)))
        parts.append(f"## {title}\n\n| {' | '.join(names)} |\n|{rule}|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


_COLUMNS = "cell|n|truth|coverage|fails falsely|passes falsely|mean width|BCa alone|runs|"
_LOOK_RUNS = 10_000  # they are counts of shares, and take seconds
_PROMISED = 0.05
"""Of tests where nothing differs, of gates over all looks, and of idle variants."""


def row(name: str, n: int, truth: float, result: Result, limit: float, runs: int | None) -> str:
    """One line; ``runs`` None: enumerated."""
    plain = "" if math.isnan(result.plain) else f"{result.plain:.1%}"
    return (
        f"| {name} | {n} | {truth:.4g} | {result.coverage:.1%} | {result.above:.2%} | {result.below:.2%} | {result.width:.3f} | "
        f"{plain} | {'exact' if runs is None else runs} | {'' if holds(result, limit, runs) else '!'} |"
    )


def slack(rate: float, runs: int | None) -> float:
    """Two standard errors of a simulation of so many runs."""
    return 0.0 if runs is None else 2 * math.sqrt(rate * (1 - rate) / runs)


def holds(result: Result, limit: float, runs: int | None) -> bool:
    """The cell is in its band, give or take two standard errors."""
    worst = max(result.above, result.below)
    return result.coverage >= 0.93 - slack(0.93, runs) and worst <= limit + slack(limit, runs) + 1e-9


def mark(rate: float, runs: int) -> str:
    """What stands in the last column of a test or a gate that errs in ``rate`` of so many runs."""
    return "!" if rate > _PROMISED + slack(_PROMISED, runs) + 1e-9 else ""


class Kept:
    """The lines of an earlier table, by their first two and three columns: a cell's name, n and truth, a test's name and n."""

    def __init__(self, text: str, only: list[str]) -> None:
        self._lines: dict[str, str] = {}
        for line in text.splitlines():
            if line.startswith("| ") and not any(name in line for name in only):
                parts = line.split(" | ")
                for width in (2, 3):
                    self._lines.setdefault(" | ".join(parts[:width]), line)

    def find(self, *head: object) -> str | None:
        """The line that begins with these cells, if there is one."""
        return self._lines.get("| " + " | ".join(map(str, head)))


def exact_rows() -> Iterator[tuple[str, int, float, Result, float]]:
    """Every enumerated cell with its limit."""
    for rows, limit in (
        (coverage.enumerate_shares, 0.025),
        (coverage.enumerate_paired, 0.06),
        (enumerate_largest, 0.025),
    ):
        for name, n, truth, result in rows():
            yield name, n, truth, result, limit


@dataclass(frozen=True)
class Line:
    """A line still to be made; it is made by a process of its own, which takes nothing but this."""

    kind: str  # what is drawn: instances, clusters, tests, causes
    head: tuple[object, ...]
    number: int  # among those of its kind


@cache
def cells_of(kind: str) -> list[Cell]:
    return list(grid.all_cells(SIZES) if kind == INSTANCES else grid.cluster_cells())


INSTANCES, CLUSTERS, TESTS, CAUSES = "instances", "clusters", "tests", "causes"


def lines_of(kind: str) -> list[Line]:
    if kind == CAUSES:
        heads: list[tuple[object, ...]] = [(name, cause) for name, cause, _ in causes.planted_judges(120)]
    elif kind == TESTS:
        heads = [(name, n) for name, n, _ in test_cells()]
    else:
        heads = [(cell.name, cell.n, f"{cell.truth:.4g}") for cell in cells_of(kind)]
    return [Line(kind, head, number) for number, head in enumerate(heads)]


def make(line: Line, runs: int, resamples: int, seed: int) -> str:
    """One line of the table. What it says follows from the seed and the cell alone, whoever makes it and when."""
    if line.kind == TESTS:
        name, n, draw = list(test_cells())[line.number]
        rng = np.random.default_rng([seed, n, *name.encode()])
        values = [draw(rng) for _ in range(runs)]
        rate = sum(p is not None and p <= 0.05 for p in values) / runs
        return f"| {name} | {n} | {rate:.2%} | {runs} | {mark(rate, runs)} |"
    if line.kind == CAUSES:
        name, cause, once = causes.planted_judges(120)[line.number]
        tally = causes.tally(runs, once)
        rate = tally.false / tally.runs
        return f"| {name} | {cause} | {tally.rate(cause):.1%} | {rate:.1%} | {causes.others(tally, cause)} | {runs} | {mark(rate, runs)} |"
    cell = cells_of(line.kind)[line.number]
    batch = min(1000, runs)
    resampler = Resampler(cell.units, resamples, seed)
    batches = [coverage.simulate(cell, batch, [seed, k], resampler) for k in range(max(1, runs // 1000))]
    result = Result(*(float(np.mean([getattr(b, f) for b in batches])) for f in Result.__dataclass_fields__))
    return row(cell.name, cell.n, cell.truth, result, cell.error_limit, batch * len(batches))


def made_by(asked: list[tuple[Line, int, int, int]], workers: int) -> Iterator[tuple[Line, str]]:
    """Each line with its text, as they are done."""
    if workers == 1:
        yield from ((one[0], make(*one)) for one in asked)
        return
    with ProcessPoolExecutor(workers) as pool:
        waiting = {pool.submit(make, *one): one[0] for one in asked}
        yield from ((waiting[done], done.result()) for done in as_completed(waiting))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--resamples", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--workers", type=int, default=1, help="processes; they change no figure")
    parser.add_argument("--cause-runs", type=int, default=1_000)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("TABLE.md"))
    parser.add_argument("--keep", action="store_true", help="simulate only what the table at --out does not have")
    parser.add_argument("--only", action="append", default=[], help="with --keep: cells whose line has this text, too")
    given = parser.parse_args()
    if given.only and not given.keep:
        parser.error("--only takes --keep: the other cells come from the table that there is")
    kept = Kept(given.out.read_text() if given.keep and given.out.is_file() else "", given.only)
    began = time.perf_counter()

    def say(text: str) -> None:
        print(f"{time.perf_counter() - began:7.0f} s  {text}", flush=True)

    exact = [row(name, n, truth, result, limit, None) for name, n, truth, result, limit in exact_rows()]
    say(f"{len(exact)} cells enumerated")
    lines = [line for kind in (INSTANCES, CLUSTERS, TESTS, CAUSES) for line in lines_of(kind)]
    made: dict[Line, str] = {line: text for line in lines if (text := kept.find(*line.head)) is not None}
    asked = [
        (line, given.cause_runs if line.kind == CAUSES else given.runs, given.resamples, given.seed)
        for line in lines
        if line not in made
    ]
    for line, text in made_by(asked, given.workers):
        made[line] = text
        say(text)
    of = {kind: [made[line] for line in lines if line.kind == kind] for kind in (INSTANCES, CLUSTERS, TESTS, CAUSES)}
    sections = [
        ("Enumerated", _COLUMNS, exact),
        ("Simulated", _COLUMNS, of[INSTANCES]),
        ("Clusters (beyond what is promised)", _COLUMNS, of[CLUSTERS]),
        ("Tests where nothing differs (at most 5 %)", "test|n|p <= .05|runs|", of[TESTS]),
    ]
    looks = [
        f"| {name} | {p:g} | {failed:.2%} | {passed:.2%} | {_LOOK_RUNS} | {mark(failed + passed, _LOOK_RUNS)} |"
        for name, p, failed, passed in look_rows(_LOOK_RUNS, given.seed)
    ]
    sections.append(
        ("Five planned looks at a share on its threshold", "instances|truth|fails falsely|passes falsely|runs|", looks)
    )
    sections.append(
        ("Planted judges: causes found in runs of 120 instances", "judge|cause|found|an idle variant blamed|else|runs|", of[CAUSES])
    )  # fmt: skip
    head = _HEAD.format(
        date=date.today().isoformat(),  # noqa: DTZ011 - the day where it was made
        runs=given.runs,
        resamples=given.resamples,
        seed=given.seed,
        how=", lines kept from runs before it"
        if given.keep
        else f" in {(time.perf_counter() - began) / 60:.0f} minutes",
        python=platform.python_version(),
        numpy=np.__version__,
        scipy=scipy.__version__,
        exact="shares, paired differences of shares, the largest of several shares",
    )
    given.out.write_text(page(sections, head))
    marked = sum(line.endswith("! |") for _, _, rows in sections for line in rows)
    say(f"{given.out} written; {marked} cells marked")
    return 1 if marked else 0


if __name__ == "__main__":
    sys.exit(main())
