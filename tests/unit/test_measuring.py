"""What is adjusted over the variants of a run: every test by Holm, and the effect that would have been seen by their number."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pytest_novelty.measuring import VariantResult, measure
from pytest_novelty.metrics.causes import find_causes, order_p
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.permutation import holm
from pytest_novelty.metrics.power import detectable_shift
from pytest_novelty.metrics.retrieval import sum_usd
from pytest_novelty.metrics.view import View
from pytest_novelty.model import Axes, Variant
from pytest_novelty.plan import SuitePlan

ViewOf = Callable[..., View]
NAMES = ("P1", "P2", "P3", "P4")


def ballots(rng: np.random.Generator, first: float, lean: float, missing: float) -> list[str]:
    """Forty pairs, three votes an order; ``lean``: how often the idea shown first is named whatever it is."""
    rows = []
    for _ in range(40):
        words = []
        for shown in "xy":
            votes = np.where(rng.random(3) < lean, shown, np.where(rng.random(3) < first, "x", "y"))
            words.append("".join(np.where(rng.random(3) < missing, "-", votes)))
        rows.append(" ".join(words))
    return rows


@pytest.fixture
def measured(make_view: ViewOf) -> tuple[dict[str, VariantResult], dict[str, View]]:
    """Variants with a little of everything, so that all p lie between 0 and 1."""
    rng = np.random.default_rng(4)
    kinds = {
        "reference": (0.75, 0.1, 0.0),
        "P1": (0.62, 0.1, 0.02),
        "P2": (0.75, 0.3, 0.05),
        "P3": (0.7, 0.2, 0.1),
        "P4": (0.75, 0.1, 0.0),
    }
    views = {name: make_view(ballots(rng, *kind), variant=name) for name, kind in kinds.items()}
    suite = views["reference"].suite
    variants = tuple(Variant(name, Axes(prompt=name), () if name == "reference" else ("prompt",)) for name in kinds)
    found: Any = measure(
        SuitePlan(suite, variants, suite.instances, ()),
        {(name, "judge"): view for name, view in views.items()},
        lambda judge, variant: "",
    )
    return {item.variant: item for item in found.variants}, views


def test_every_test_is_adjusted_over_the_variants(measured: tuple[dict[str, VariantResult], dict[str, View]]) -> None:
    found, views = measured
    causes = {name: find_causes(Pair(views[name], views["reference"])) for name in NAMES}
    for field, values in {
        "moved_p_holm": [causes[name].moved for name in NAMES],
        "together_p": [causes[name].together for name in NAMES],
        "lost_p": [causes[name].silenced for name in NAMES],
    }.items():
        wanted = holm(values)
        assert [getattr(found[name], field) for name in NAMES] == wanted, field
        assert wanted != values, field  # or this would not tell an adjusted p from a raw one
    orders = [order_p(views[name]) for name in ("reference", *NAMES)]
    assert [found[name].order_p_holm for name in NAMES] == holm(orders)[1:]
    assert holm(orders) != orders
    assert [found[name].moved_p for name in NAMES] == [causes[name].moved for name in NAMES]


def test_what_would_have_been_seen_is_of_the_first_step_of_holm(
    measured: tuple[dict[str, VariantResult], dict[str, View]],
) -> None:
    found, views = measured
    pair = Pair(views["P4"], views["reference"])
    null = find_causes(pair).null
    assert null is not None
    assert found["P4"].seen.shift == detectable_shift(pair, null, 0.05 / 4)
    assert found["P4"].seen.shift != detectable_shift(pair, null, 0.05)


def test_what_moves_a_verdict_is_tested_by_whole_clusters(make_view: Callable[..., View]) -> None:
    """Twelve ideas in three clusters lose a vote each, and drift by one: of two signs a cluster, 2 of 8 are as extreme."""
    clusters = "aaaabbbbcccc"
    for group, p in (("", 2 / 2**12), (clusters, 2 / 2**3)):
        one, other = (make_view([word] * 12, protocol="pointwise", clusters=group) for word in ("xx-", "xxx"))
        assert find_causes(Pair(one, other)).silenced == pytest.approx(p)
        pulls = [make_view([word] * 12, clusters=group) for word in ("xxx yyy", "xxx xxx")]
        assert find_causes(Pair(*pulls)).together == pytest.approx(2 * p)  # the least of two, by Holm


def test_costs_add_up_to_the_same_however_they_are_divided() -> None:
    assert sum([0.01] * 12) != 0.12
    assert sum_usd([0.01] * 12) == sum_usd([sum([0.01] * 5), sum([0.01] * 7)]) == sum_usd([sum([0.01] * 12)]) == 0.12
    assert sum_usd([1e-8] * 3) == 3e-8
