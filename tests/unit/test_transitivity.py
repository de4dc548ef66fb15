"""Closed triads: which are cyclic, by hand, and how often a coin's are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from pytest_novelty.metrics.transitivity import cyclic_triads
from pytest_novelty.metrics.view import View

ViewOf = Callable[..., View]


def of_triads(make_view: ViewOf, outcomes: Sequence[str]) -> View:
    """One word a triad: who wins a-b, a-c, b-c (1 the first idea, 2 the second, t a tie)."""
    ballots = [{"1": "xx xx", "2": "yy yy", "t": "xx yy"}[letter] for word in outcomes for letter in word]
    view = make_view(ballots, gold=None)
    pairs = [
        (number, pair)
        for number, word in enumerate(outcomes)
        for pair, _ in zip(combinations("abc", 2), word, strict=False)
    ]
    made = tuple(
        replace(
            instance,
            strata={"triad": f"t{number}"},
            ideas=tuple(
                replace(idea, title=name, text=f"{name} of {number}")
                for idea, name in zip(instance.ideas, pair, strict=True)
            ),
        )
        for instance, (number, pair) in zip(view.instances, pairs, strict=True)
    )
    return View(view.results, replace(view.suite, instances=made), view.traits)


@pytest.mark.parametrize(
    ("outcomes", "value", "n"),
    [
        (["111", "222", "112", "221"], 0.0, 4),  # a > b > c, c > b > a, a > c > b, c > b ... : all are rankings
        (["121"], 1.0, 1),  # a beats b, c beats a, b beats c
        (["212"], 1.0, 1),  # b beats a, a beats c, c beats b
        (["121", "111", "1t1", "12"], 0.5, 2),  # undecided or open triads do not count
    ],
)
def test_by_hand(outcomes: list[str], value: float, n: int, make_view: ViewOf) -> None:
    estimate = cyclic_triads(of_triads(make_view, outcomes))
    assert (estimate.value, estimate.n) == (value, n)


def test_a_coin_is_cyclic_in_a_quarter(make_view: ViewOf) -> None:
    rng = np.random.default_rng(2)
    estimate = cyclic_triads(of_triads(make_view, ["".join(rng.choice(["1", "2"], 3)) for _ in range(600)]))
    assert estimate.value == pytest.approx(0.25, abs=0.05)
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low < 0.25 < estimate.high


def test_without_triads_it_is_undefined(make_view: ViewOf) -> None:
    assert cyclic_triads(make_view(["xx xx"])).value is None
    assert cyclic_triads(of_triads(make_view, ["1t2"])).note == "no closed triad has three decided pairs"
