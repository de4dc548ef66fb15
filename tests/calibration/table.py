"""Make the published table: coverage and both gate errors over the whole grid, tests at their level, looks, and causes.

    nice python tests/calibration/table.py [--runs 10000] [--resamples 2000] [--seed 0] [--out tests/calibration/TABLE.md]

Takes hours at 10,000 runs a cell. The cells are those of `coverage.py` and, of metrics that compare two views, those below; the
causes are those of `causes.py`. Shares, paired differences of shares and the largest of several shares are enumerated exactly.
"""

from __future__ import annotations

import argparse
import math
import platform
import sys
import time
from collections.abc import Callable, Iterator
from datetime import date
from pathlib import Path

import numpy as np
import scipy

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

import causes
import coverage
from coverage import VOTES, Cell, Pairs, Result, Rng, mean_rows, mixture, ratio, signed_runs, unit_runs

from pytest_novelty.looks import LOOK_LEVEL, LOOKS
from pytest_novelty.metrics.exchange import noise_flips, null_of_excess
from pytest_novelty.metrics.intervals import clopper_pearson, signed_interval
from pytest_novelty.metrics.permutation import swap_test
from pytest_novelty.metrics.resampling import FloatArray, IntArray, Interval, Resampler, Statistic, bca_all
from pytest_novelty.metrics.stability import excess, mean_over_orders

SIZES = (40, 154, 308)


# --- metrics of two views -----------------------------------------------------------------------------------


def tallies(rng: Rng, p: FloatArray) -> IntArray:
    """(..., 5) votes of one run for the first label, the second, and none of the others."""
    first = rng.binomial(VOTES, p)
    none = np.zeros_like(first)
    return np.stack([first, VOTES - first, none, none, none], axis=-1)


def null_flip_cell(n: int, kind: str, size: float) -> Cell:
    """Two runs of the same judge. The truth: how often two outcomes differ, from a million instances."""

    def values(rng: Rng, runs: int) -> FloatArray:
        p = np.repeat(mixture(rng, runs, n, kind, size)[:, :, None], 2, axis=2)
        one, other = tallies(rng, p), tallies(rng, p)
        flat = noise_flips(one.reshape(-1, 2, 5), other.reshape(-1, 2, 5))
        return flat.reshape(runs, n)

    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        return unit_runs(mean_rows(values(rng, runs)), ratio, resampler)

    truth = float(values(np.random.default_rng(1), 1_000_000 // n).mean())
    return Cell(f"null flip rate, {kind}", n, truth, run)


def bias_change_cell(n: int, change: float) -> Cell:
    """Coins, of which the variant leans to the first shown in `change` of the votes: a difference of two signed means."""

    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        sides = []
        for lean in (change, 0.0):
            first = rng.binomial(VOTES, np.full((2, runs, n), 0.5 + lean / 2))
            sides.append((2 * first / VOTES - 1).mean(axis=0))
        differences = sides[0] - sides[1]
        stats = [Statistic(rows, ratio) for rows in mean_rows(differences)]
        cores = bca_all(stats, resampler)
        return [
            (signed_interval(s, v, minimum=-2.0, maximum=2.0, resampler=resampler, bootstrap=core), core)
            for s, v, core in zip(stats, differences, cores, strict=True)
        ]

    return Cell("change of position bias", n, change, run)


def few_bias_change_cell(n: int, change: float) -> Cell:
    """A sure judge; in a share of the instances the variant follows the position."""

    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        return signed_runs((rng.random((runs, n)) < change).astype(float), resampler, -2.0, clip=False)

    return Cell("change of position bias, few", n, change, run)


def two_view_cells(sizes: tuple[int, ...]) -> Iterator[Cell]:
    for n in sizes:
        for kind, size in (("same", 0.5), ("same", 0.8), ("same", 0.95), ("beta", 0.5), ("few", 0.04), ("few", 0.2)):
            yield null_flip_cell(n, kind, size)
        for change in (0.0, 0.05, 0.1):
            yield bias_change_cell(n, change)
            yield few_bias_change_cell(n, change)


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


def test_rows(runs: int, seed: int) -> Iterator[tuple[str, int, float]]:
    """(test, n, how often p <= .05) where nothing differs."""
    for n in SIZES:
        rng = np.random.default_rng([seed, n])
        for kind, size in (("same", 0.5), ("same", 0.8), ("same", 0.95), ("beta", 0.5), ("few", 0.2)):
            exchange = swap = 0
            for p in np.repeat(mixture(rng, runs, n, kind, size)[:, :, None], 2, axis=2):
                one, other = tallies(rng, p), tallies(rng, p)
                null = null_of_excess(one[..., :3], other[..., :3])
                assert null is not None
                exchange += null.tail(float(mean_over_orders(excess(one[..., :3], other[..., :3])).mean())) <= 0.05
                swap += swap_test(_right(one).astype(int) - _right(other).astype(int)) <= 0.05
            yield f"exchange test, {kind} {size:g}", n, exchange / runs
            yield f"swap test of accuracy, {kind} {size:g}", n, swap / runs


def _right(votes: IntArray) -> np.ndarray:
    """Outcomes that name the first idea: a lead over both orders."""
    return np.asarray((votes[..., 0] - votes[..., 1]).sum(axis=-1) > 0)


def look_rows(runs: int, seed: int) -> Iterator[tuple[str, float, float, float]]:
    """(looks, truth, P(fails falsely at some look), P(passes falsely at some look)) of a share against its own value."""
    rng = np.random.default_rng([seed, 5])
    for first, last in ((60, 300), (20, 100)):
        sizes = [round(first + (last - first) * k / (LOOKS - 1)) for k in range(LOOKS)]
        for p in (0.02, 0.1, 0.3, 0.5):
            steps = [rng.binomial(size, p, runs) for size in np.diff(sizes, prepend=0)]
            counts = np.cumsum(steps, axis=0)
            failed = np.zeros(runs, dtype=bool)
            passed = np.zeros(runs, dtype=bool)
            for size, row in zip(sizes, counts, strict=True):
                table = [clopper_pearson(k, size, LOOK_LEVEL) for k in range(size + 1)]
                low = np.array([i.low if i is not None else 0.0 for i in table])[row]
                high = np.array([i.high if i is not None else 1.0 for i in table])[row]
                is_open = ~failed & ~passed
                failed |= is_open & (low > p + 1e-12)
                passed |= is_open & (high <= p + 1e-12)
            yield f"{first}..{last}", p, float(failed.mean()), float(passed.mean())


# --- the page -----------------------------------------------------------------------------------------------

_HEAD = """# Calibration

How often the intervals hold what they say, and how often a gate whose true value lies exactly on its threshold is decided wrongly.
Made on {date} by `python tests/calibration/table.py --runs {runs} --resamples {resamples} --seed {seed}` in {minutes:.0f} minutes
(Python {python}, numpy {numpy}, scipy {scipy}).

Instances are redrawn in every run. *same*: every vote of every instance has the same probability; *beta*: Beta(.3, .3) over
instances; *few*: a few bad instances, the rest sure. Three votes an order, both orders. Promised: coverage of at least 93 %, false
failures and false passes of at most 6 %, of shares at most 2.5 %. `!` marks a cell that leaves its band by more than two standard
errors of the simulation. Coverage above 97 % is allowed where few events are expected or the method is exact.

Enumerated exactly, without simulation: {exact}.
"""


def page(sections: list[tuple[str, str, list[str]]], head: str) -> str:
    parts = [head]
    for title, columns, rows in sections:
        names = columns.split("|")
        rule = "|".join("---" if index == 0 else "---:" for index in range(len(names)))
        parts.append(f"## {title}\n\n| {' | '.join(names)} |\n|{rule}|\n" + "\n".join(rows) + "\n")
    return "\n".join(parts)


_COLUMNS = "cell|n|truth|coverage|fails falsely|passes falsely|mean width|BCa alone|"


def row(name: str, n: int, truth: float, result: Result, limit: float, runs: int | None) -> str:
    """One line; ``runs`` None: enumerated."""
    plain = "" if math.isnan(result.plain) else f"{result.plain:.1%}"
    return (
        f"| {name} | {n} | {truth:.4g} | {result.coverage:.1%} | {result.above:.2%} | {result.below:.2%} | {result.width:.3f} | "
        f"{plain} | {'' if holds(result, limit, runs) else '!'} |"
    )


def holds(result: Result, limit: float, runs: int | None) -> bool:
    """The cell is in its band, give or take two standard errors of a simulation of so many runs."""

    def slack(rate: float) -> float:
        return 0.0 if runs is None else 2 * math.sqrt(rate * (1 - rate) / runs)

    return result.coverage >= 0.93 - slack(0.93) and max(result.above, result.below) <= limit + slack(limit) + 1e-9


def exact_rows() -> Iterator[tuple[str, int, float, Result, float]]:
    """Every enumerated cell with its limit."""
    for rows, limit in (
        (coverage.enumerate_shares, 0.025),
        (coverage.enumerate_paired, 0.06),
        (enumerate_largest, 0.025),
    ):
        for name, n, truth, result in rows():
            yield name, n, truth, result, limit


def simulated_rows(
    cells: Iterator[Cell], runs: int, resamples: int, seed: int, say: Callable[[str], None]
) -> list[str]:
    resamplers: dict[int, Resampler] = {}
    found = []
    for cell in cells:
        units = int(cell.name.split()[1]) if "clusters" in cell.name else cell.n
        resampler = resamplers.setdefault(units, Resampler(units, resamples, seed))
        batches = [coverage.simulate(cell, min(1000, runs), [seed, k], resampler) for k in range(max(1, runs // 1000))]
        result = Result(*(float(np.mean([getattr(b, f) for b in batches])) for f in Result.__dataclass_fields__))
        found.append(row(cell.name, cell.n, cell.truth, result, cell.error_limit, runs))
        say(found[-1])
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--resamples", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cause-runs", type=int, default=1_000)
    parser.add_argument("--out", type=Path, default=Path(__file__).with_name("TABLE.md"))
    given = parser.parse_args()
    began = time.perf_counter()

    def say(text: str) -> None:
        print(f"{time.perf_counter() - began:7.0f} s  {text}", flush=True)

    exact = [row(name, n, truth, result, limit, None) for name, n, truth, result, limit in exact_rows()]
    say(f"{len(exact)} cells enumerated")
    grid = [cell for cell in coverage.all_cells(SIZES) if "clusters" not in cell.name]
    clusters = [cell for cell in coverage.all_cells(()) if "clusters" in cell.name]
    sections = [
        ("Enumerated", _COLUMNS, exact),
        ("Simulated", _COLUMNS, simulated_rows(iter([*grid, *two_view_cells(SIZES)]), given.runs, given.resamples, given.seed, say)),
        ("Clusters (beyond what is promised)", _COLUMNS, simulated_rows(iter(clusters), given.runs, given.resamples, given.seed, say)),
    ]  # fmt: skip
    tests = [f"| {name} | {n} | {rate:.2%} |" for name, n, rate in test_rows(given.runs, given.seed)]
    sections.append(("Tests where nothing differs (at most 5 %)", "test|n|p <= .05", tests))
    say("tests")
    looks = [
        f"| {name} | {p:g} | {failed:.2%} | {passed:.2%} |"
        for name, p, failed, passed in look_rows(given.runs, given.seed)
    ]
    sections.append(
        ("Five planned looks at a share on its threshold", "instances|truth|fails falsely|passes falsely", looks)
    )
    named = [
        f"| {name} | {cause} | {found.rate(cause):.1%} | {found.false / found.runs:.1%} | {causes.others(found, cause)} |"
        for name, cause, found in causes.all_tallies(given.cause_runs, 120)
    ]
    sections.append(
        (f"Planted judges: causes found in {given.cause_runs:,} runs of 120 instances", "judge|cause|found|an idle variant blamed|else", named)
    )  # fmt: skip
    head = _HEAD.format(
        date=date.today().isoformat(),  # noqa: DTZ011 - the day where it was made
        runs=given.runs,
        resamples=given.resamples,
        seed=given.seed,
        minutes=(time.perf_counter() - began) / 60,
        python=platform.python_version(),
        numpy=np.__version__,
        scipy=scipy.__version__,
        exact="shares, paired differences of shares, the largest of several shares",
    )
    given.out.write_text(page(sections, head))
    say(f"{given.out} written; {sum(line.endswith('! |') for _, _, rows in sections for line in rows)} cells marked")
    return 0


if __name__ == "__main__":
    sys.exit(main())
