"""Coverage and gate error rates of every interval rule (STATISTICS.md 4).

Run `python tests/calibration/coverage.py`; `table.py` makes the published table of it; the cells are in `cells.py`. Instances are redrawn in every run. Shares and paired differences
are enumerated exactly (whatever the mixture of instances, a redrawn 0/1 outcome is Bernoulli), the rest is
simulated. A line is a cell: coverage, how often a gate `<=` at the truth fails falsely (the whole interval lies
above) and passes falsely (it lies below, or touches), the mean width, and the coverage of BCa alone. `!` marks
coverage under 93 % or an error rate over 6 % (shares: 2.5 %).
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]  # runs from a checkout

from cells import Cell, all_cells, cluster_cells

from pytest_novelty.metrics.intervals import clopper_pearson, tango
from pytest_novelty.metrics.resampling import Interval, Resampler


@dataclass(frozen=True)
class Result:
    coverage: float
    above: float  # the whole interval above the truth: a gate `<=` there fails
    below: float  # below it, or touching: the gate passes
    width: float
    plain: float = math.nan  # coverage of BCa alone
    undefined: float = 0.0


def tally(intervals: list[tuple[Interval | None, float]], truth: float) -> Result:
    """Weighted coverage; an undefined interval covers nothing and is counted apart."""
    total = sum(weight for _, weight in intervals)
    known = [(i, w) for i, w in intervals if i is not None]
    mass = sum(w for _, w in known) or 1.0
    above = sum(w for i, w in known if i.low > truth + 1e-9) / mass
    missed = above + sum(w for i, w in known if i.high < truth - 1e-9) / mass
    below = sum(w for i, w in known if i.high <= truth + 1e-12) / mass
    width = sum(w * (i.high - i.low) for i, w in known) / mass
    return Result(1 - missed, above, below, width, undefined=1 - mass / total)


def enumerate_shares() -> Iterator[tuple[str, int, float, Result]]:
    for n in (40, 154, 308):
        for p in (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5):
            k = np.arange(n + 1)
            logs = [math.lgamma(n + 1) - math.lgamma(j + 1) - math.lgamma(n - j + 1) for j in k]
            pmf = np.exp(logs + k * math.log(p) + (n - k) * math.log1p(-p))
            yield "share", n, p, tally([(clopper_pearson(int(j), n), float(pmf[j])) for j in k], p)


def enumerate_paired() -> Iterator[tuple[str, int, float, Result]]:
    for n in (40, 154, 308):
        for gain, loss in ((0.01, 0.01), (0.05, 0.05), (0.15, 0.15), (0.03, 0.01), (0.05, 0.0), (0.1, 0.05),
                           (0.1, 0.0), (0.15, 0.05)):  # fmt: skip
            cells = []
            for b in range(n + 1):
                for c in range(n + 1 - b):
                    log = math.lgamma(n + 1) - math.lgamma(b + 1) - math.lgamma(c + 1) - math.lgamma(n - b - c + 1)
                    if (b and not gain) or (c and not loss):
                        continue
                    log += b * math.log(gain) + (c * math.log(loss) if c else 0)
                    weight = math.exp(log + (n - b - c) * math.log1p(-gain - loss))
                    if weight > 1e-7:
                        cells.append((tango(b, c, n), weight))
            yield f"paired difference ({gain:g}, {loss:g})", n, gain - loss, tally(cells, gain - loss)


def simulate(cell: Cell, runs: int, seed: int | list[int], resampler: Resampler) -> Result:
    first = [seed] if isinstance(seed, int) else seed
    rng = np.random.default_rng([*first, cell.n, *cell.name.encode(), int(cell.truth * 1e6)])
    pairs = cell.run(rng, min(runs, cell.most), resampler)
    result = tally([(interval, 1.0) for interval, _ in pairs], cell.truth)
    cores: list[tuple[Interval | None, float]] = [(core, 1.0) for _, core in pairs if core is not None]
    plain = tally(cores, cell.truth).coverage if cores else math.nan
    return Result(result.coverage, result.above, result.below, result.width, plain, result.undefined)


def line(name: str, n: int, truth: float, result: Result, error_limit: float) -> str:
    plain = "-" if math.isnan(result.plain) else f"{result.plain:.1%}"
    bad = result.coverage < 0.93 or max(result.above, result.below) > error_limit
    return (
        f"{'!' if bad else ' '} {name:48} {n:5d} {truth:7.4f} {result.coverage:9.3%} {result.above:8.2%} "
        f"{result.below:8.2%} {result.width:7.3f} {plain:>9} {result.undefined:6.1%}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=10_000, help="simulated data sets a cell (default 10000)")
    parser.add_argument("--resamples", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--fast", action="store_true", help="n = 40 only, 300 runs, no paired enumeration")
    parser.add_argument("--only", default="", help="cells whose name contains this text")
    options = parser.parse_args()
    runs = min(options.runs, 300) if options.fast else options.runs
    start = time.perf_counter()
    print(f"  {'cell':48} {'n':>5} {'truth':>7} {'coverage':>9} {'above':>8} {'below':>8} {'width':>7}"
          f" {'plain BCa':>9} {'undef.':>6}")  # fmt: skip
    bad = 0
    exact = [("share", enumerate_shares, 0.025)]
    if not options.fast:
        exact.append(("paired difference", enumerate_paired, 0.06))
    for label, rows, limit in exact:
        if options.only in label:
            for name, n, truth, result in rows():
                print(text := line(name, n, truth, result, limit), flush=True)
                bad += text.startswith("!")
    resamplers: dict[int, Resampler] = {}
    for cell in (*all_cells((40,) if options.fast else (40, 154, 308)), *cluster_cells()):
        if options.only not in cell.name:
            continue
        resampler = resamplers.setdefault(cell.units, Resampler(cell.units, options.resamples, options.seed))
        result = simulate(cell, runs, options.seed, resampler)
        print(text := line(cell.name, cell.n, cell.truth, result, cell.error_limit), flush=True)
        bad += text.startswith("!")
    print(f"{bad} cells marked; {runs} runs of {options.resamples} resamples; {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
