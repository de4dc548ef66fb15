"""How often an unchanged judge is said to have drifted, and how often one that did: 200 pairs of recordings a cell.

    python tests/calibration/drift.py [RUNS]

Judges are right on seven instances of ten; one vote in ten is the other one; three votes an order. Of six papers the place of each
is drawn anew in one vote of ten, so that votes on a set are seldom alike; an inverted set is grouped otherwise. A few minutes.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Sequence
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2])]

from pytest_novelty.deciding import FAIL
from pytest_novelty.drifting import compare, compare_all
from pytest_novelty.golden import Golden, make_golden
from pytest_novelty.judges.base import bind_judge
from pytest_novelty.metrics.view import View
from pytest_novelty.plan import Plan
from pytest_novelty.settings import Settings
from tests.conftest import _groupings, _view

MINORITY, RIGHT, VOTES = 0.1, 0.7, 3
PROTOCOLS = ("pairwise", "pointwise", "grouping")
JUDGE = bind_judge("judge", lambda request: "{}")


def ballots(rng: random.Random, sides: Sequence[bool], orders: int) -> list[str]:
    def vote(side: bool) -> str:
        return "x" if (rng.random() >= MINORITY) == side else "y"

    return [" ".join("".join(vote(side) for _ in range(VOTES)) for _ in range(orders)) for side in sides]


def partitions(rng: random.Random, sides: Sequence[bool]) -> list[str]:
    """Two groups and two papers alone, or the one that has no pair in common with it."""

    def vote(side: bool) -> str:
        return "".join(rng.choice("abc.") if rng.random() < MINORITY else paper for paper in ("aabb..", "a.ba.b")[side])

    return [" ".join(",".join(vote(side) for _ in range(VOTES)) for _ in range(2)) for side in sides]


def view_of(rng: random.Random, sides: Sequence[bool], protocol: str) -> View:
    if protocol == "grouping":
        return _groupings(partitions(rng, sides))
    return _view(ballots(rng, sides, 2 if protocol == "pairwise" else 1), protocol=protocol)


def alarms(protocol: str, n: int, inverted: float, runs: int) -> float:
    """The share of pairs of recordings that fail, of which the second has a share of the instances turned."""
    found = 0
    for run in range(runs):
        rng = random.Random(f"{protocol} {n} {inverted} {run}")
        right = [rng.random() < RIGHT for _ in range(n)]
        turned = set(rng.sample(range(n), round(inverted * n)))
        sides: list[Golden] = []
        for truth in (right, [side != (k in turned) for k, side in enumerate(right)]):
            view = view_of(rng, truth, protocol)
            plan = Plan(Settings(judges=("judge",), base=Path()), (JUDGE,), {})
            planned = plan.add_suite(view.suite)
            sides.append(make_golden(plan, planned, JUDGE, view.results))
        (drift,) = compare_all([compare(plan, planned, JUDGE, sides[0], sides[1], "golden/")])
        found += drift.decision == FAIL
    return found / runs


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for inverted in (0.0, 0.1):
        cells = [alarms(protocol, n, inverted, runs) for n in (120, 30) for protocol in PROTOCOLS]
        print(f"{inverted:.0%} inverted:", " | ".join(f"{100 * cell:g} %" for cell in cells))


if __name__ == "__main__":
    main()
