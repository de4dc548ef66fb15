"""Coverage and gate error rates of every interval rule (STATISTICS.md 4).

Run `python tests/calibration/coverage.py`; `table.py` makes the published table of it. Instances are redrawn in every run. Shares and paired differences
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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import NormalDist

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # runs from a checkout, without installation

from pytest_novelty.metrics.auroc import auroc_interval
from pytest_novelty.metrics.intervals import (
    clopper_pearson,
    paired_share_interval,
    share_interval,
    signed_interval,
    tango,
    unit_interval,
)
from pytest_novelty.metrics.resampling import FloatArray, IntArray, Interval, Resampler, Statistic, bca_all

VOTES = 3  # per order, as the k = 3 x 2 of the papers
Rng = np.random.Generator
Pairs = list[tuple[Interval | None, Interval | None]]


@dataclass(frozen=True)
class Cell:
    """One line of the table; `run` gives an interval and plain BCa for each of `runs` data sets."""

    name: str
    n: int
    truth: float
    run: Callable[[Rng, int, Resampler], Pairs]
    error_limit: float = 0.06


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


def mixture(rng: Rng, runs: int, n: int, kind: str, size: float) -> FloatArray:
    """Vote probabilities of (runs, n) instances: all `size`, Beta(.3, .3), or `size` of them coins, else sure."""
    if kind == "same":
        return np.full((runs, n), size)
    if kind == "beta":
        return rng.beta(0.3, 0.3, size=(runs, n))
    return np.where(rng.random((runs, n)) < size, 0.5, 1.0)


def ratio(sums: FloatArray) -> FloatArray:
    return np.asarray(sums[..., 0] / sums[..., 1])


def macro_f1(sums: FloatArray) -> FloatArray:
    tp, fp, fn, tn = (sums[..., j] for j in range(4))
    return np.asarray((2 * tp / (2 * tp + fp + fn) + 2 * tn / (2 * tn + fp + fn)) / 2)


def unit_runs(tables: list[FloatArray], estimate: Callable[[FloatArray], FloatArray], resampler: Resampler,
              clusters: IntArray | None = None) -> Pairs:  # fmt: skip
    stats = [Statistic(rows, estimate, clusters) for rows in tables]
    cores = bca_all(stats, resampler)
    mean = estimate is ratio
    return [
        (
            unit_interval(
                stat,
                cap=4 * len(stat.rows),
                resampler=resampler,
                bootstrap=core,
                values=stat.rows[:, 0] if mean else None,
            ),
            core,
        )
        for stat, core in zip(stats, cores, strict=True)
    ]


def mean_rows(values: FloatArray) -> list[FloatArray]:
    return [np.column_stack([row, np.ones(len(row))]) for row in values]


def macro_f1_cell(n: int, error: float, prevalence: float) -> Cell:
    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        gold = rng.random((runs, n)) < prevalence
        said = gold ^ (rng.random((runs, n)) < error)
        tables = np.stack([gold & said, ~gold & said, gold & ~said, ~gold & ~said], axis=2).astype(float)
        return unit_runs(list(tables), macro_f1, resampler)

    q, e = prevalence, error
    truth = float(macro_f1(np.array([q * (1 - e), (1 - q) * e, q * e, (1 - q) * (1 - e)])))
    return Cell(f"macro-F1, {q:.0%} positive", n, truth, run)


def soft_cell(n: int, kind: str, size: float) -> Cell:
    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        p = mixture(rng, runs, n, kind, size)
        return unit_runs(mean_rows(rng.binomial(2 * VOTES, p) / (2 * VOTES)), ratio, resampler)

    return Cell(f"soft accuracy, {kind}", n, {"same": size, "beta": 0.5, "few": 1 - size / 2}[kind], run)


def retest_cell(n: int, kind: str, truth: float) -> Cell:
    size = {"same": (1 - math.sqrt(1 - 2 * truth)) / 2, "beta": 0.0, "few": 2 * truth}[kind]

    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        p = mixture(rng, runs, n, kind, size)
        votes = rng.binomial(VOTES, np.stack([p, p]))
        return unit_runs(mean_rows(retest(votes).mean(axis=0)), ratio, resampler)

    return Cell(f"retest, {kind}", n, truth, run)


def retest(votes: IntArray) -> FloatArray:
    return np.asarray(2 * votes * (VOTES - votes) / (VOTES * (VOTES - 1)))


def signed_runs(values: FloatArray, resampler: Resampler, minimum: float, clip: bool
                ) -> Pairs:  # fmt: skip
    stats = [Statistic(rows, ratio) for rows in mean_rows(values)]
    cores = bca_all(stats, resampler)
    return [
        (
            signed_interval(
                s, v, minimum=minimum, clip_at_zero=clip, few_large=clip, resampler=resampler, bootstrap=core
            ),
            core,
        )
        for s, v, core in zip(stats, values, cores, strict=True)
    ]


def bias_cell(n: int, kind: str, bias: float) -> Cell:
    """`same`: coins; `beta`: instances with a view of their own; both pick the first idea with chance `bias`.
    `few`: a share `bias` of the instances always picks the first idea, the rest one idea in both orders."""

    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        if kind == "few":
            values = (rng.random((runs, n)) < bias).astype(float)
        else:
            p = mixture(rng, runs, n, kind, 0.5)
            first = rng.binomial(VOTES, bias + (1 - bias) * np.stack([p, 1 - p]))
            values = (2 * first / VOTES - 1).mean(axis=0)
        return signed_runs(values, resampler, -1.0, clip=False)

    return Cell(f"position bias, {kind}", n, bias, run)


def excess_cell(n: int, kind: str, excess: float) -> Cell:
    """`same`: coins moved by sqrt(excess); `beta`: a share of instances turns round; `few`: one of sure ones does."""

    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        if kind == "few":
            reference = np.ones((runs, n))
            moved = np.where(rng.random((runs, n)) < excess, 0.0, 1.0)
        elif kind == "beta":  # turning one instance moves its votes by (1 - 2 p)^2, on average 4 Var(p) = 5/8
            reference = mixture(rng, runs, n, kind, 0.5)
            moved = np.where(rng.random((runs, n)) < excess / 0.625, 1 - reference, reference)
        else:
            reference = mixture(rng, runs, n, kind, 0.5)
            moved = np.clip(reference + math.sqrt(excess), 0, 1)
        v, r = (rng.binomial(VOTES, np.stack([p, p])) for p in (moved, reference))
        same = (v * r + (VOTES - v) * (VOTES - r)) / VOTES**2
        values = (1 - same - (retest(v) + retest(r)) / 2).mean(axis=0)
        return signed_runs(values, resampler, -0.5, clip=True)

    return Cell(f"excess flip, {kind}", n, excess, run)


def auroc_cell(n: int, area: float) -> Cell:
    shift = math.sqrt(2) * NormalDist().inv_cdf(area)

    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        result: Pairs = []
        for _ in range(runs):
            positive = rng.random(n) < 0.5
            scores = rng.normal(shift * positive, 1)
            result.append((auroc_interval(scores, positive, resampler=resampler), None))
        return result

    return Cell("AUROC, half positive", n, area, run)


def cluster_cell(kind: str, count: int, size: int, rate: float, icc: float) -> Cell:
    """Clusters of equal size with Beta(rate) means: intra-cluster correlation `icc` (1: all alike)."""
    n = count * size
    index = np.repeat(np.arange(count), size)

    def draw(rng: Rng, runs: int) -> FloatArray:
        if icc == 0:
            means = np.full((runs, count), rate)
        elif icc == 1:
            means = (rng.random((runs, count)) < rate).astype(float)
        else:
            strength = (1 - icc) / icc
            means = rng.beta(rate * strength, (1 - rate) * strength, size=(runs, count))
        return means[:, index]

    def run(rng: Rng, runs: int, resampler: Resampler) -> Pairs:
        p = draw(rng, runs)
        first = rng.random((runs, n)) < p
        if kind == "share":
            return [(share_interval(row, index), None) for row in first]
        if kind == "paired":
            second = rng.random((runs, n)) < draw(rng, runs)
            return [(paired_share_interval(a, b, index), None) for a, b in zip(first, second, strict=True)]
        values = rng.binomial(2 * VOTES, p) / (2 * VOTES)
        return unit_runs(mean_rows(values), ratio, resampler, index)

    truth = 0.0 if kind == "paired" else rate
    return Cell(f"{kind}, {count} clusters of {size}, icc {icc:g}, rate {rate:g}", n, truth, run)


def all_cells(sizes: tuple[int, ...]) -> Iterator[Cell]:
    for n in sizes:
        for error in (0.36, 0.2, 0.1, 0.05, 0.02, 0.01):
            yield macro_f1_cell(n, error, 0.5)
        for error in (0.2, 0.05):
            yield macro_f1_cell(n, error, 0.3)
        for kind, size in (("same", 0.5), ("same", 0.8), ("same", 0.95), ("same", 0.99), ("beta", 0.5),
                           ("few", 0.04), ("few", 0.2)):  # fmt: skip
            yield soft_cell(n, kind, size)
        for kind, truth in (("same", 0.01), ("same", 0.05), ("same", 0.2), ("same", 0.5), ("beta", 0.1875),
                            ("few", 0.01), ("few", 0.05), ("few", 0.2)):  # fmt: skip
            yield retest_cell(n, kind, truth)
        for kind in ("same", "beta", "few"):
            for bias in (0.0, 0.02, 0.1, 0.3, 0.7, 0.95):
                yield bias_cell(n, kind, bias)
        for kind, excess in (("same", 0.0), ("same", 0.01), ("same", 0.05), ("same", 0.25), ("beta", 0.0),
                             ("beta", 0.02), ("beta", 0.05), ("beta", 0.25), ("few", 0.0), ("few", 0.02), ("few", 0.05), ("few", 0.25)):  # fmt: skip
            yield excess_cell(n, kind, excess)
        for area in (0.5, 0.75, 0.9, 0.97, 0.99):
            yield auroc_cell(n, area)
    for count, size in ((10, 4), (20, 5), (40, 5)):
        for kind in ("share", "paired", "mean"):
            for rate in (0.05, 0.2, 0.5):
                for icc in (0.0, 0.3, 1.0):
                    yield cluster_cell(kind, count, size, rate, icc)


def simulate(cell: Cell, runs: int, seed: int | list[int], resampler: Resampler) -> Result:
    first = [seed] if isinstance(seed, int) else seed
    rng = np.random.default_rng([*first, cell.n, *cell.name.encode(), int(cell.truth * 1e6)])
    pairs = cell.run(rng, runs, resampler)
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
    for cell in all_cells((40,) if options.fast else (40, 154, 308)):
        if options.only not in cell.name:
            continue
        units = int(cell.name.split()[1]) if "clusters" in cell.name else cell.n
        resampler = resamplers.setdefault(units, Resampler(units, options.resamples, options.seed))
        result = simulate(cell, runs, options.seed, resampler)
        print(text := line(cell.name, cell.n, cell.truth, result, cell.error_limit), flush=True)
        bad += text.startswith("!")
    print(f"{bad} cells marked; {runs} runs of {options.resamples} resamples; {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
