"""Judges whose fault is known, over many seeds: how often is each attributed to its cause (STATISTICS.md 1 and 4)?

    python tests/calibration/causes.py [--runs 1000] [--instances 120] [--only wording]

A planted judge votes on pairs (on ideas, with scores) under the reference wording and three others, of which only the first does
what its name says. A line is a judge: how often that variant is attributed to each cause, how often one of the two variants
that do nothing is said to move it, and what STATISTICS.md promises.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # runs from a checkout, without installation

from pytest_novelty.attribution import COIN, NOTHING, ORDER, TOGETHER, VARIANT
from pytest_novelty.judges.base import Traits
from pytest_novelty.measuring import VariantResult, measure
from pytest_novelty.metrics.resampling import FloatArray, Resampler
from pytest_novelty.metrics.view import View
from pytest_novelty.model import NOT_NOVEL, NOVEL, Axes, Idea, Instance, Suite, Variant, Vote
from pytest_novelty.outcomes import CaseResult, make_outcome
from pytest_novelty.plan import SuitePlan

VOTES = 3
NAMES = ("reference", "changed", "idle", "idler")
IDLE = NAMES[2:]

Chances = Callable[[np.random.Generator, int], tuple[FloatArray, FloatArray]]
"""(generator, n) -> chances (n, 2 orders) that the first idea gets a vote: under the reference, and under the changed wording."""


@dataclass(frozen=True)
class Planted:
    """``cause``: what must be found of the changed variant; None where several answers are right. ``axis``: what it changes."""

    name: str
    axis: str
    cause: str
    chances: Chances


def both(p: FloatArray) -> FloatArray:
    """The same in both orders."""
    return np.repeat(p[:, None], 2, axis=1)


def follow(p: FloatArray, pull: float) -> FloatArray:
    """In a share ``pull`` of the votes it takes the idea shown first."""
    return np.stack([pull + (1 - pull) * p, (1 - pull) * p], axis=1)


def sure(rng: np.random.Generator, n: int, p: float = 0.9) -> FloatArray:
    """An opinion on every pair, held with probability ``p``."""
    return np.where(rng.random(n) < 0.5, p, 1 - p)


def turned(rng: np.random.Generator, p: FloatArray, share: float) -> FloatArray:
    """A share of the instances the other way round."""
    return np.where(rng.random(len(p)) < share, 1 - p, p)


def _wording(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    p = sure(rng, n)
    return both(p), both(turned(rng, p, 0.25))


def _coin(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    return both(np.full(n, 0.5)), both(np.full(n, 0.5))


def _order(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    p = follow(sure(rng, n), 0.5)
    return p, p


def _together(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    p = sure(rng, n)
    return both(p), follow(p, 0.5)


def _few(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    """Deterministic; the variant turns 4 % of the instances."""
    p = sure(rng, n, 1.0)
    return both(p), both(turned(rng, p, 0.04))


def _steady(rng: np.random.Generator, n: int) -> tuple[FloatArray, FloatArray]:
    p = both(sure(rng, n))
    return p, p


PLANTED = (
    Planted("wording turns a quarter", "prompt", VARIANT, _wording),
    Planted("rendering turns a quarter", "format", VARIANT, _wording),
    Planted("a coin", "prompt", COIN, _coin),
    Planted("half of the votes follow the position", "prompt", ORDER, _order),
    Planted("follows the position under one wording", "prompt", TOGETHER, _together),
    Planted("4 % of the instances inverted", "prompt", VARIANT, _few),
    Planted("opinions, and nothing moves them", "prompt", NOTHING, _steady),
)


def make_suite(protocol: str, n: int, axis: str) -> Suite:
    ideas = (Idea("x", "First", "First."), Idea("y", "Second", "Second."))
    made = [
        Instance(f"i{k:04}", ideas, "xy"[k % 2])
        if protocol == "pairwise"
        else Instance(f"i{k:04}", ideas[:1], (NOVEL, NOT_NOVEL)[k % 2])
        for k in range(n)
    ]
    axes = Axes(prompt="reference", votes=VOTES)
    variants = {name: Variant(name, axes, () if name == "reference" else (axis,)) for name in NAMES}
    return Suite("made", "1", protocol, "construction", tuple(made), variants, "0", Path("made"))


def vote_on_pairs(suite: Suite, chances: dict[str, FloatArray], rng: np.random.Generator, resampler: Resampler
                  ) -> dict[tuple[str, str], View]:  # fmt: skip
    views = {}
    for name, p in chances.items():
        first = rng.random((*p.shape, VOTES)) < p[:, :, None]
        results = []
        for instance, rows in zip(suite.instances, first, strict=True):
            votes = [
                Vote(order, k, label="x" if is_first else "y")
                for order, row in zip(("ab", "ba"), rows, strict=True)
                for k, is_first in enumerate(row)
            ]
            outcome = make_outcome(suite, instance, votes, ("ab", "ba"), Traits())
            results.append(CaseResult("judge", "made", name, instance.id, outcome))
        views[name, "judge"] = View(results, suite, Traits(), resamplers={len(suite.instances): resampler})
    return views


def score_ideas(
    suite: Suite, drift: float, rng: np.random.Generator, resampler: Resampler
) -> dict[tuple[str, str], View]:
    """Scores of 0 to 10, noisy by one; the changed variant adds ``drift``."""
    traits = Traits(score_range=(0.0, 10.0))
    base = rng.uniform(2, 8, len(suite.instances))
    views = {}
    for name in NAMES:
        results = []
        for instance, mean in zip(suite.instances, base + drift * (name == "changed"), strict=True):
            scores = np.clip(rng.normal(mean, 1.0, VOTES), 0, 10)
            votes = [Vote(None, k, score=float(score)) for k, score in enumerate(scores)]
            outcome = make_outcome(suite, instance, votes, (None,), traits)
            results.append(CaseResult("judge", "made", name, instance.id, outcome))
        views[name, "judge"] = View(results, suite, traits, resamplers={len(suite.instances): resampler})
    return views


def attribute_once(planted: Planted, n: int, seed: int, resampler: Resampler) -> dict[str, VariantResult]:
    """One run of a planted judge: what is said of each variant."""
    rng = np.random.default_rng([seed, *planted.name.encode()])
    suite = make_suite("pairwise", n, planted.axis)
    before, after = planted.chances(rng, n)
    chances = {name: after if name == "changed" else before for name in NAMES}
    return _measured(suite, vote_on_pairs(suite, chances, rng, resampler))


def attribute_scores_once(drift: float, n: int, seed: int, resampler: Resampler) -> dict[str, VariantResult]:
    rng = np.random.default_rng([seed, int(100 * drift)])
    suite = make_suite("pointwise", n, "prompt")
    return _measured(suite, score_ideas(suite, drift, rng, resampler))


def _measured(suite: Suite, views: dict[tuple[str, str], View]) -> dict[str, VariantResult]:
    planned = SuitePlan(suite, tuple(suite.variants.values()), suite.instances, ())
    found = measure(planned, views, lambda judge, variant: "")
    return {item.variant: item for item in found.variants}


@dataclass
class Tally:
    """Over many seeds: causes found of the changed variant, and runs in which an idle one is said to move the judge."""

    runs: int
    causes: Counter[str]
    false: int

    def rate(self, cause: str) -> float:
        return self.causes[cause] / self.runs


def tally(runs: int, once: Callable[[int], dict[str, VariantResult]]) -> Tally:
    causes: Counter[str] = Counter()
    false = 0
    for seed in range(runs):
        found = once(seed)
        causes[found["changed"].cause] += 1
        false += any(found[name].moves for name in IDLE)
    return Tally(runs, causes, false)


def all_tallies(runs: int, n: int, only: str = "") -> Iterator[tuple[str, str, Tally]]:
    """(judge, its cause, what was found) of every planted judge."""
    resampler = Resampler(n, 200)
    for item in PLANTED:
        if only in item.name:
            yield item.name, item.cause, tally(runs, lambda seed, item=item: attribute_once(item, n, seed, resampler))  # type: ignore[misc]
    for drift, cause in ((0.5, VARIANT), (0.0, NOTHING)):
        name = f"scores with a drift of {drift:g}"
        if not only or only in name:
            yield (
                name,
                cause,
                tally(
                    runs,
                    lambda seed, drift=drift: attribute_scores_once(drift, n, seed, resampler),  # type: ignore[misc]
                ),
            )


def planted_names() -> list[tuple[str, str]]:
    """(judge, its cause) of every planted judge, in the order of ``all_tallies``."""
    scores = [("scores with a drift of 0.5", VARIANT), ("scores with a drift of 0", NOTHING)]
    return [*((item.name, item.cause) for item in PLANTED), *scores]


def others(found: Tally, cause: str) -> str:
    """What else was found."""
    return ", ".join(
        f"{other} {count / found.runs:.1%}" for other, count in found.causes.most_common() if other != cause
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--instances", type=int, default=120)
    parser.add_argument("--only", default="", help="judges whose name contains this text")
    options = parser.parse_args()
    start = time.perf_counter()
    print(f"{'judge':42} {'cause':>18} {'found':>7} {'idle moved':>11}  others")
    for name, cause, found in all_tallies(options.runs, options.instances, options.only):
        print(
            f"{name:42} {cause:>18} {found.rate(cause):7.1%} {found.false / found.runs:11.1%}  {others(found, cause)}",
            flush=True,
        )
    print(f"{options.runs} runs of {options.instances} instances; {time.perf_counter() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
