"""``--novelty-sample N``: nested, balanced, and the same whatever the order of the file."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from pytest_novelty.model import Instance, Suite
from pytest_novelty.sampling import sample_instances


@pytest.fixture
def suite(make_suite: Any, make_instance: Any) -> Suite:
    """60 pointwise instances in unequal cells: 45 novel and 15 not, fields a, b, c; one cluster for three instances."""
    instances = []
    for number in range(60):
        gold = "not novel" if number % 4 == 0 else "novel"
        strata = {"field": "abbccc"[number % 6], "paper": str(number // 3)}
        instances.append(make_instance("pointwise", str(number), gold=gold, strata=strata))
    return make_suite("pointwise", *instances, cluster="paper")


def ids(suite: Suite, size: int | None, seed: int = 0) -> list[str]:
    return [instance.id for instance in sample_instances(suite, size, seed)]


def test_samples_nest(suite: Suite) -> None:
    samples = [set(ids(suite, size)) for size in range(61)]
    assert [len(sample) for sample in samples] == list(range(61))
    assert all(small < large for small, large in pairwise(samples))


@pytest.mark.parametrize("size", [None, 60, 100])
def test_enough_is_everything(size: int | None, suite: Suite) -> None:
    assert sample_instances(suite, size, 0) == suite.instances


def cell(instance: Instance) -> tuple[str | None, str]:
    return instance.gold, instance.strata["field"]


@pytest.mark.parametrize("seed", range(5))
def test_every_prefix_has_about_the_composition_of_the_suite(seed: int, suite: Suite) -> None:
    """A cell has its share rounded, and the shares of all cells are rounded at once: within half of the cells + 1."""
    whole = Counter(map(cell, suite.instances))
    for size in range(61):
        found = Counter(map(cell, sample_instances(suite, size, seed)))
        worst = max(abs(found[name] - size * whole[name] / 60) for name in whole)
        assert worst <= 0.5 + len(whole) / 2 * max(whole.values()) / 60


def test_pairs_are_balanced_by_the_position_of_gold(make_suite: Any, make_instance: Any) -> None:
    instances = [make_instance("pairwise", f"{number:03}", gold="x" if number < 50 else "y") for number in range(100)]
    suite = make_suite("pairwise", *instances)
    for size in range(0, 101, 2):
        golds = Counter(instance.gold for instance in sample_instances(suite, size, 0))
        assert abs(golds["x"] - golds["y"]) <= 2


def test_the_order_of_the_file_does_not_matter(suite: Suite) -> None:
    backwards = replace(suite, instances=suite.instances[::-1])
    for size in (1, 7, 30, 59):
        assert set(ids(suite, size)) == set(ids(backwards, size))
        assert ids(suite, size) == ids(backwards, size)[::-1]  # in the order of the file


def test_seeds_choose_differently_and_again_the_same(suite: Suite) -> None:
    samples = [tuple(ids(suite, 20, seed)) for seed in range(10)]
    assert len(set(samples)) == 10
    assert samples[0] == tuple(ids(suite, 20, 0))


def test_the_first_ids_are_not_favoured(suite: Suite) -> None:
    chosen = Counter(name for seed in range(200) for name in ids(suite, 20, seed))
    assert min(chosen.values()) > 30  # 66.7 expected of 200, standard deviation 6.7
    assert len(chosen) == 60


@pytest.mark.parametrize("size", [0, 1, 3, 8, 30, 59])
def test_triads_stay_whole(size: int, make_suite: Any, make_instance: Any) -> None:
    instances = [make_instance("pairwise", f"{number:02}", strata={"triad": f"t{number % 20}"}) for number in range(60)]
    suite = make_suite("pairwise", *instances, cluster="triad")
    sample = sample_instances(suite, size, 3)
    counts = Counter(instance.strata["triad"] for instance in sample)
    assert len(sample) == size
    assert sorted(counts.values(), reverse=True) == [3] * (size // 3) + [size % 3] * (size % 3 > 0)
    assert set(ids(suite, size, 3)) <= set(ids(suite, size + 1, 3))
    assert set(ids(replace(suite, instances=suite.instances[::-1]), size, 3)) == set(ids(suite, size, 3))
