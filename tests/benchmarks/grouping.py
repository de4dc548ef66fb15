"""Measure the scoring of groupings: 85 sets x 3 samples in under 1 s. Not a test: it prints times.

    python tests/benchmarks/grouping.py [--sets 85] [--samples 3] [--rounds 5]

*Counting*: pairs in their cells. *Values*: every metric, pooled and macro, without bootstraps (one
resample). *Everything*: the same with intervals from the 10,000 resamples of a run.
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

from pytest_novelty.metrics.cascade import AUDITS, EVIDENCE, measure_cascade, measure_macro
from pytest_novelty.metrics.partitions import Answer, Group, PaperSet, count_pairs, measure_rand
from pytest_novelty.metrics.sampled import Items


def make(sets: int, samples: int, seed: int = 0) -> tuple[list[Answer], dict[str, PaperSet]]:
    """Sets of three to ten papers, and a judge that puts one paper in five elsewhere."""
    rng = np.random.default_rng(seed)
    answers, golds = [], {}
    for place in range(sets):
        papers = int(rng.integers(3, 11))
        labels = rng.integers(0, 4, size=papers)
        golds[f"s{place:03}"] = PaperSet(papers, members_of(labels))
        for sample in range(samples):
            said = np.where(rng.random(papers) < 0.2, rng.integers(0, 4, size=papers), labels)
            groups = tuple(
                Group(
                    tuple(members),
                    tuple(map(str, rng.choice(EVIDENCE, len(members), p=[0.9, 0.02, 0.03, 0.05]))),
                    str(rng.choice(AUDITS[:3], p=[0.6, 0.3, 0.1])),
                )
                for members in members_of(said)
            )
            answers.append(Answer(f"s{place:03}", sample, groups))
    return answers, golds


def members_of(labels: np.ndarray) -> list[list[int]]:
    """Groups 1 to 3 of at least two; 0 is no group."""
    found = [np.flatnonzero(labels == name).tolist() for name in (1, 2, 3)]
    return [group for group in found if len(group) > 1]


def score(answers: list[Answer], sets: dict[str, PaperSet], resamples: int) -> None:
    pairs = count_pairs(answers, sets)
    units = Items(len(sets), resamples=resamples)
    measure_cascade(units, pairs)
    measure_macro(units, pairs)
    measure_rand(units, pairs, sets)


def median_of(rounds: int, task: Callable[[], object]) -> float:
    task()
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        task()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description="Measure the scoring of groupings.")
    parser.add_argument("--sets", type=int, default=85)
    parser.add_argument("--samples", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    answers, sets = make(args.sets, args.samples)
    for name, task in (
        ("counting", lambda: count_pairs(answers, sets)),
        ("values", lambda: score(answers, sets, 1)),
        ("everything", lambda: score(answers, sets, 10_000)),
    ):
        print(f"{name:12} {median_of(args.rounds, task) * 1000:8.1f} ms  ({args.sets} sets x {args.samples} samples)")


if __name__ == "__main__":
    main()
