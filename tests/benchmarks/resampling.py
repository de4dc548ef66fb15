"""Measure the bootstrap: all metrics of a large run, and one paired BCa beside scipy's. Not a test: it prints times.

    python tests/benchmarks/resampling.py [--rounds 5] [--judges 6] [--variants 12] [--instances 308] [--resamples 100000]

*All metrics*: every bootstrapped estimate of judges x variants on pairs and on single ideas, from per-instance values to
intervals. *Everything*: the same with the exact intervals, exchange tests, swap tests and words, at the 10,000 resamples of a run.
*Paired BCa*: the interval of a paired difference of soft accuracies, ours and ``scipy.stats.bootstrap`` in turns.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # runs from a checkout, without installation

from pytest_novelty.comparing import compare_judges
from pytest_novelty.deciding import Price
from pytest_novelty.judges.base import Traits
from pytest_novelty.measuring import measure
from pytest_novelty.metrics.catalogue import metrics_for, pair_metrics_for
from pytest_novelty.metrics.deferred import Pending, settle
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.resampling import Resampler, Statistic, bca
from pytest_novelty.metrics.view import View
from pytest_novelty.model import NOT_NOVEL, NOVEL, Axes, Idea, Instance, Suite, Variant, Vote
from pytest_novelty.outcomes import CaseResult, make_outcome
from pytest_novelty.plan import SuitePlan

VOTES = 3


def make_suite(protocol: str, instances: int, variants: int) -> Suite:
    ideas = (Idea("x", "First", "First."), Idea("y", "Second", "Second."))
    made = [
        Instance(f"i{k:04}", ideas, "xy"[k % 2])
        if protocol == "pairwise"
        else Instance(f"i{k:04}", ideas[:1], (NOVEL, NOT_NOVEL)[k % 2])
        for k in range(instances)
    ]
    axes = Axes(prompt="reference")
    known = {"reference": Variant("reference", axes)}
    known |= {f"v{k}": Variant(f"v{k}", Axes(prompt=f"v{k}"), ("prompt",)) for k in range(variants)}
    return Suite("made", "1", protocol, "construction", tuple(made), known, "0", Path("made"))


def make_views(suite: Suite, judges: int, seed: int) -> dict[tuple[str, str], View]:
    """Judges of differing noise, whose wordings turn some of their votes."""
    rng = np.random.default_rng(seed)
    orders = ("ab", "ba") if suite.protocol == "pairwise" else (None,)
    labels = ("x", "y") if suite.protocol == "pairwise" else (NOVEL, NOT_NOVEL)
    views = {}
    resamplers: dict[int, Resampler] = {}
    for judge in range(judges):
        sure = rng.beta(3, 1, len(suite.instances))
        for name in suite.variants:
            chances = np.clip(sure + (name != "reference") * rng.normal(0, 0.15, len(sure)), 0, 1)
            results = []
            for instance, chance in zip(suite.instances, chances, strict=True):
                gold = labels.index(str(instance.gold))
                votes = [
                    Vote(order, k, label=labels[gold if rng.random() < chance else 1 - gold])
                    for order in orders
                    for k in range(VOTES)
                ]
                outcome = make_outcome(suite, instance, votes, orders, Traits())
                results.append(CaseResult(f"j{judge}", "made", name, instance.id, outcome))
            views[name, f"j{judge}"] = View(results, suite, Traits(), resamplers=resamplers)
    return views


def bootstrap_all(views: dict[tuple[str, str], View], suite: Suite, resamples: int) -> tuple[int, float]:
    """(estimates, seconds) of every bootstrapped metric of every view and pair."""
    fresh = {len(suite.instances): Resampler(len(suite.instances), resamples)}
    for view in views.values():
        view._resamplers = fresh
    began = time.perf_counter()
    later = [metric.later(view) for view in views.values() for metric in metrics_for(suite)]
    pairs = [Pair(view, views["reference", judge]) for (name, judge), view in views.items() if name != "reference"]
    later += [metric.later(pair) for pair in pairs for metric in pair_metrics_for(suite)]
    waiting = [item for item in later if isinstance(item, Pending)]
    settle(waiting)
    return len(waiting), time.perf_counter() - began


def measure_all(views: dict[tuple[str, str], View], suite: Suite) -> float:
    for view in views.values():
        view._resamplers = next(iter(views.values()))._resamplers
    planned = SuitePlan(suite, tuple(suite.variants.values()), suite.instances, ())
    began = time.perf_counter()
    rows = measure(planned, views, lambda judge, variant: "").rows
    judges = sorted({judge for _, judge in views})
    free = dict.fromkeys(judges, Price(0.0, "as declared"))
    compare_judges(judges, [variant.name for variant in planned.variants], views, rows, free, None)
    return time.perf_counter() - began


def compare_with_scipy(n: int, resamples: int, rounds: int) -> None:
    from scipy.stats import bootstrap

    rng = np.random.default_rng(1)
    one, other = (rng.integers(0, 3, n) / 2 for _ in range(2))

    def ours() -> tuple[float, float]:
        def difference(sums: np.ndarray) -> np.ndarray:
            return np.asarray((sums[..., 0] - sums[..., 1]) / n)

        found = bca(Statistic(np.column_stack([one, other]), difference), Resampler(n, resamples))
        assert found is not None
        return found.low, found.high

    def theirs() -> tuple[float, float]:
        found = bootstrap(
            (one, other),
            lambda a, b, axis=-1: a.mean(axis=axis) - b.mean(axis=axis),
            paired=True,
            vectorized=True,
            n_resamples=resamples,
            random_state=np.random.default_rng(2),
        ).confidence_interval
        return float(found.low), float(found.high)

    print(f"paired BCa, n = {n}, {resamples:,} resamples: {ours()} and scipy's {theirs()}")
    mine, its = interleave(rounds, ours, theirs)
    print(
        f"paired BCa: {mine * 1000:.0f} ms, scipy.stats.bootstrap {its * 1000:.0f} ms, {its / mine:.1f} times as long"
    )


def interleave(rounds: int, *sides: Callable[[], object]) -> list[float]:
    """Medians of several measurements taken in turns."""
    taken: list[list[float]] = [[] for _ in sides]
    for _ in range(rounds):
        for side, times in zip(sides, taken, strict=True):
            began = time.perf_counter()
            side()
            times.append(time.perf_counter() - began)
    return [statistics.median(times) for times in taken]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--judges", type=int, default=6)
    parser.add_argument("--variants", type=int, default=12)
    parser.add_argument("--instances", type=int, default=308)
    parser.add_argument("--resamples", type=int, default=100_000)
    given = parser.parse_args()
    for protocol in ("pairwise", "pointwise"):
        suite = make_suite(protocol, given.instances, given.variants - 1)
        views = make_views(suite, given.judges, 0)
        for view in views.values():  # the votes as arrays, made once a run whatever is computed of them
            assert view.tallies.any()
        times = []
        for _ in range(given.rounds):
            count, seconds = bootstrap_all(views, suite, given.resamples)
            times.append(seconds)
        print(
            f"all metrics, {protocol}: {given.variants} wordings x {given.judges} judges x {given.instances} instances, {count} "
            f"bootstrapped estimates, {given.resamples:,} resamples: {statistics.median(times):.2f} s"
        )
        print(f"everything, {protocol}: {measure_all(make_views(suite, given.judges, 0), suite):.2f} s")
    compare_with_scipy(given.instances, given.resamples, given.rounds)


if __name__ == "__main__":
    main()
