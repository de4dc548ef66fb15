"""How often an unchanged judge is said to have drifted, and how often one that did: 200 pairs of recordings a cell.

    python tests/calibration/drift.py [RUNS]

Judges are right on seven instances of ten; one vote in ten is the other one; three votes an order. A minute or two.
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
from pytest_novelty.plan import Plan
from pytest_novelty.settings import Settings
from tests.conftest import _view

MINORITY, RIGHT, VOTES = 0.1, 0.7, 3
JUDGE = bind_judge("judge", lambda request: "{}")


def ballots(rng: random.Random, sides: Sequence[bool], orders: int) -> list[str]:
    def vote(side: bool) -> str:
        return "x" if (rng.random() >= MINORITY) == side else "y"

    return [" ".join("".join(vote(side) for _ in range(VOTES)) for _ in range(orders)) for side in sides]


def alarms(protocol: str, n: int, inverted: float, runs: int) -> float:
    """The share of pairs of recordings that fail, of which the second has a share of the instances turned."""
    orders, found = (2 if protocol == "pairwise" else 1), 0
    for run in range(runs):
        rng = random.Random(f"{protocol} {n} {inverted} {run}")
        right = [rng.random() < RIGHT for _ in range(n)]
        turned = set(rng.sample(range(n), round(inverted * n)))
        sides: list[Golden] = []
        for truth in (right, [side != (k in turned) for k, side in enumerate(right)]):
            view = _view(ballots(rng, truth, orders), protocol=protocol)
            plan = Plan(Settings(judges=("judge",), base=Path()), (JUDGE,), {})
            planned = plan.add_suite(view.suite)
            sides.append(make_golden(plan, planned, JUDGE, view.results))
        (drift,) = compare_all([compare(plan, planned, JUDGE, sides[0], sides[1], "golden/")])
        found += drift.decision == FAIL
    return found / runs


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for inverted in (0.0, 0.1):
        cells = [alarms(protocol, n, inverted, runs) for n in (120, 30) for protocol in ("pairwise", "pointwise")]
        print(f"{inverted:.0%} inverted:", " | ".join(f"{100 * cell:g} %" for cell in cells))


if __name__ == "__main__":
    main()
