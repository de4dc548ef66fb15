"""Coverage of the intervals of kappa, Cohen's of two raters and Fleiss' of three, items redrawn in every run.

Run `python tests/calibration/agreement.py [--runs 2000]`. A line is a cell: raters, items (in clusters), how common the label is, the
truth, the share of intervals that cover it, lie above it and below it, the mean width and the share of runs without a kappa (all
said the same). `!` marks coverage under 93 %.

With chance kappa all raters say of an item what one of them would, else each says something of its own: so kappa is the same for any
number of raters. Items of a cluster share which of the two it is.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

sys.path[:0] = [str(Path(__file__).resolve().parents[2])]  # runs from a checkout

from pytest_novelty.metrics.agreement import agree
from pytest_novelty.metrics.resampling import Resampler
from pytest_novelty.metrics.sampled import Items


@dataclass(frozen=True)
class World:
    """``share``: how common one of the two labels is."""

    items: int
    kappa: float
    share: float = 0.5
    raters: int = 2
    per_cluster: int = 1

    @property
    def name(self) -> str:
        clusters = f" in clusters of {self.per_cluster}" if self.per_cluster > 1 else ""
        return f"{self.raters} raters, {self.items} items{clusters}, {100 * self.share:.0f}/{100 - 100 * self.share:.0f}, kappa {self.kappa:g}"

    def draw(self, rng: np.random.Generator) -> np.ndarray:
        """(raters, items) opinions."""
        alike = np.repeat(rng.random(-(-self.items // self.per_cluster)) < self.kappa, self.per_cluster)[: self.items]
        said = rng.random((self.raters, self.items)) < self.share
        return np.where(alike, said[0], said)


@dataclass
class Found:
    """Over the runs that have a kappa."""

    coverage: float
    above: float
    below: float
    width: float
    undefined: float


def simulate(world: World, runs: int, *, resamples: int = 1000, seed: int = 0) -> Found:
    """Draw the world so often, each time with its interval."""
    rng = np.random.default_rng([seed, world.items, round(100 * world.kappa), round(100 * world.share), world.raters])
    places = np.arange(world.items) // world.per_cluster
    clusters = places if world.per_cluster > 1 else None
    resamplers: dict[int, Resampler] = {}
    ends = []
    for _ in range(runs):
        units = Items(world.items, clusters, resamples=resamples, resamplers=resamplers)
        said = world.draw(rng)
        found = agree(units, {str(k): [bool(opinion) for opinion in row] for k, row in enumerate(said)})
        estimate = found.fleiss if world.raters > 2 else found.kappa["0", "1"]
        if estimate.low is not None and estimate.high is not None:
            ends.append((estimate.low, estimate.high))
    low, high = np.array(ends).T
    above, below = low > world.kappa + 1e-9, high < world.kappa - 1e-9
    covered = float((~above & ~below).mean())
    return Found(covered, float(above.mean()), float(below.mean()), float((high - low).mean()), 1 - len(ends) / runs)


def worlds() -> Iterator[World]:
    for raters, items, share, kappa in product((2, 3), (20, 80, 300), (0.5, 0.9), (0.0, 0.4, 0.9, 1.0)):
        yield World(items, kappa, share, raters)
    for share, kappa in product((0.5, 0.9), (0.0, 0.4, 0.9, 1.0)):
        yield World(120, kappa, share, per_cluster=3)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=2000)
    runs = parser.parse_args().runs
    print(f"{'world':60} {'covers':>7} {'above':>6} {'below':>6} {'width':>6} {'none':>6}")
    for world in worlds():
        found = simulate(world, runs)
        flag = " !" if found.coverage < 0.93 else ""
        print(
            f"{world.name:60} {found.coverage:7.1%} {found.above:6.1%} {found.below:6.1%} {found.width:6.2f} "
            f"{found.undefined:6.1%}{flag}",
            flush=True,
        )


if __name__ == "__main__":
    main()
