"""Coverage of the intervals of the grounding cascade (STATISTICS.md 4), items redrawn in every run.

Run `python tests/calibration/grounding.py [--runs 2000]`. A line is a cell: the metric, how many items (or clusters) and samples,
the truth, the share of intervals that cover it, lie above it and below it, the mean width and the share of runs without a value.
`!` marks coverage under 93 % or a side over 6 %.

Items differ: each has its own chances of a positive verdict, of failing evidence and of a supported reason, drawn from beta
distributions (``spread`` is their sum of parameters: small means that an item is nearly always the same). Checks are skipped for
a share of positives; the truth is then the value with everything checked, which bounds must cover.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]  # runs from a checkout

from pytest_novelty.metrics.cascade import COLUMNS, FALSE, FN, TN, TRUE, Cascade, Cell, measure_cascade
from pytest_novelty.metrics.resampling import Resampler
from pytest_novelty.metrics.sampled import Items

METRICS = (
    "f1",
    "grounded_f1",
    "verified_f1",
    "retained_share",
    "hallucination_rate",
    "mismatch_rate",
    "recall",
    "negative_accuracy",
)


@dataclass(frozen=True)
class World:
    """What items are drawn from: shares of gold positives, hits, false alarms, failing spans, supported reasons."""

    items: int
    samples: int = 3
    positive: float = 0.6
    hit: float = 0.8
    alarm: float = 0.2
    failing: float = 0.2
    supported: float = 0.5
    spread: float = 1.0
    unchecked: float = 0.0
    per_cluster: int = 1  # items that share their chances

    @property
    def name(self) -> str:
        clusters = f" in clusters of {self.per_cluster}" if self.per_cluster > 1 else ""
        open_ones = f", {self.unchecked:.0%} unchecked" if self.unchecked else ""
        return f"{self.items}{clusters} x {self.samples}, spread {self.spread:g}{open_ones}, failing {self.failing:g}, supported {self.supported:g}"

    def draw(self, rng: np.random.Generator, items: int) -> Cascade:
        units = items // self.per_cluster
        shape = (items, self.samples)

        def chance(mean: float) -> np.ndarray:
            drawn = rng.beta(mean * self.spread, (1 - mean) * self.spread, size=units)
            return np.repeat(drawn, self.per_cluster)[:, None]

        gold = np.repeat(rng.random(units) < self.positive, self.per_cluster)[:, None]
        said = rng.random(shape) < np.where(gold, chance(self.hit), chance(self.alarm))
        fails = rng.random(shape) < chance(self.failing)
        supported = rng.random(shape) < chance(self.supported)
        is_open = rng.random(shape) < self.unchecked
        cell = np.where(
            fails,
            Cell.HALLUCINATED,
            np.where(is_open, Cell.UNAUDITED, np.where(supported, Cell.VERIFIED, Cell.MISMATCHED)),
        )
        column = np.where(said, np.where(gold, TRUE, FALSE) + cell, np.where(gold, FN, TN))
        counts = np.zeros((*shape, len(COLUMNS)))
        np.put_along_axis(counts, column[..., None], 1.0, axis=2)
        asked = np.ones(shape, dtype=bool)
        return Cascade(tuple(map(str, range(items))), counts, asked, ~asked)

    def truths(self) -> dict[str, float]:
        """From sums of expectations: F1s and rates are ratios of them. Gold, hit and cells are independent given the item."""
        tp, fp = self.positive * self.hit, (1 - self.positive) * self.alarm
        f1 = 2 * tp / (tp + fp + self.positive)
        found = 1 - self.failing
        return {
            "f1": f1,
            "grounded_f1": f1 * found,
            "verified_f1": f1 * found * self.supported,
            "retained_share": found * self.supported,
            "hallucination_rate": self.failing,
            "mismatch_rate": 1 - self.supported,
            "recall": self.hit,
            "negative_accuracy": 1 - self.alarm,
        }


@dataclass(frozen=True)
class Covered:
    coverage: float
    above: float
    below: float
    width: float
    undefined: float


def simulate(
    world: World, runs: int, seed: int = 0, resamples: int = 1_000, *, blind: bool = False
) -> dict[str, Covered]:
    """Of every metric; runs in which one is undefined are counted apart. ``blind``: clusters are not told."""
    rng = np.random.default_rng(seed)
    truths = world.truths()
    resamplers: dict[int, Resampler] = {}
    clusters = None
    if world.per_cluster > 1 and not blind:
        clusters = np.repeat(np.arange(world.items // world.per_cluster), world.per_cluster)
    bounds: dict[str, list[tuple[float, float]]] = {name: [] for name in METRICS}
    for _ in range(runs):
        units = Items(world.items, clusters, resamples=resamples, resamplers=resamplers)
        for name, rate in measure_cascade(units, world.draw(rng, world.items), METRICS).items():
            if rate.estimate.low is not None and rate.estimate.high is not None:
                bounds[name].append((rate.estimate.low, rate.estimate.high))
    return {name: tally(np.array(found).reshape(-1, 2), truths[name], runs) for name, found in bounds.items()}


def tally(bounds: np.ndarray, truth: float, runs: int) -> Covered:
    low, high = bounds.T
    above, below = float((low > truth + 1e-9).mean()), float((high < truth - 1e-9).mean())
    return Covered(1 - above - below, above, below, float((high - low).mean()), 1 - len(bounds) / runs)


def worlds() -> Iterator[World]:
    for items in (40, 120, 300):
        yield World(items)
        yield World(items, samples=1)
        yield World(items, spread=0.2)
        yield World(items, spread=20)
        yield World(items, failing=0.02, supported=0.95)
        yield World(items, failing=0.7, supported=0.2)
        yield World(items, unchecked=0.2)
    yield World(120, per_cluster=4)
    yield World(120, per_cluster=4, failing=0.05, supported=0.9)


def main() -> None:
    parser = argparse.ArgumentParser(description="Coverage of the intervals of the grounding cascade.")
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--resamples", type=int, default=2_000)
    parser.add_argument("--items", type=int, help="only worlds of so many items")
    args = parser.parse_args()
    print(
        f"{'metric':20} {'truth':>6} {'cover':>6} {'above':>6} {'below':>6} {'width':>6} {'undef':>6}   items x samples"
    )
    for place, world in enumerate(worlds()):
        if args.items not in (None, world.items):
            continue
        for name, found in simulate(world, args.runs, place, args.resamples).items():
            off = found.coverage < 0.93 or max(found.above, found.below) > 0.06
            print(
                f"{name:20} {world.truths()[name]:6.3f} {found.coverage:6.3f} {found.above:6.3f} {found.below:6.3f} "
                f"{found.width:6.3f} {found.undefined:6.3f} {'!' if off else ' '} {world.name}",
                flush=True,
            )


if __name__ == "__main__":
    main()
