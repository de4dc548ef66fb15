"""The lexical baseline, computed on the instances of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pytest_novelty.baseline import lexical_accuracy
from pytest_novelty.model import NOT_NOVEL, NOVEL, Idea, Suite, Work
from pytest_novelty.plan import SuitePlan

EARLIER = (Work("Glass clocks", "clocks made of glass"),)
FAR, NEAR = ("kelp ferries", "ferries that kelp drives"), ("Glass clocks", "clocks made of glass")


def idea(name: str, words: tuple[str, str], works: tuple[Work, ...] = EARLIER) -> Idea:
    return Idea(name, *words, related_work=works)


PAIRS = {
    "right": (idea("x", FAR), idea("y", NEAR)),
    "wrong": (idea("x", NEAR), idea("y", FAR)),
    "tie": (idea("x", NEAR), idea("y", NEAR)),
    "silent": (idea("x", FAR, ()), idea("y", NEAR, ())),
}
IDEAS = {
    "right": (idea("x", FAR), NOVEL),
    "right too": (idea("x", NEAR), NOT_NOVEL),
    "wrong": (idea("x", NEAR), NOVEL),
    "silent": (idea("x", FAR, ()), NOVEL),
}


def planned(suite: Suite, **axes: Any) -> SuitePlan:
    reference = suite.variants["reference"]
    other = replace(reference, name="other", axes=replace(reference.axes, related_work=False))
    shown = replace(reference, axes=replace(reference.axes, **{"related_work": True, **axes}))
    return SuitePlan(suite, (other, shown), suite.instances, ())


@pytest.fixture
def pairs(make_suite: Callable[..., Suite], make_instance: Callable[..., Any]) -> Suite:
    return make_suite("pairwise", *[make_instance("pairwise", name, ideas=ideas) for name, ideas in PAIRS.items()])


@pytest.fixture
def ideas(make_suite: Callable[..., Suite], make_instance: Callable[..., Any]) -> Suite:
    made = [make_instance(name=name, ideas=(one,), gold=gold) for name, (one, gold) in IDEAS.items()]
    return make_suite("pointwise", *made)


@pytest.mark.parametrize(
    ("instances", "accuracy"),
    [
        ({"right"}, 1),
        ({"wrong"}, 0),
        ({"tie"}, 0),
        ({"right", "wrong"}, 1 / 2),
        ({"right", "wrong", "tie"}, 1 / 3),
        ({"right", "wrong", "tie", "silent"}, 1 / 4),
        ({"silent"}, None),
        (set(), None),
    ],
)
@pytest.mark.parametrize("axes", [{}, {"votes": 1, "orders": "ab"}, {"votes": 5}])
def test_share_right_of_pairs(instances: set[str], accuracy: float | None, axes: dict[str, Any], pairs: Suite) -> None:
    assert lexical_accuracy(planned(pairs, **axes), instances) == (
        None if accuracy is None else pytest.approx(accuracy)
    )


@pytest.mark.parametrize(
    ("instances", "accuracy"),
    [({"right", "right too", "wrong"}, 2 / 3), ({"right", "silent"}, 1 / 2), ({"silent"}, None)],
)
def test_share_right_of_ideas(instances: set[str], accuracy: float | None, ideas: Suite) -> None:
    found = lexical_accuracy(planned(ideas), instances)
    assert found == (None if accuracy is None else pytest.approx(accuracy))


def test_params_meant_for_the_judge_do_not_reach_the_baseline(ideas: Suite) -> None:
    assert lexical_accuracy(planned(ideas, params={"threshold": 2}), {"right"}) == 1


def test_it_sees_what_the_reference_shows(pairs: Suite) -> None:
    assert lexical_accuracy(planned(pairs, related_work=False), {"right", "wrong"}) is None


@pytest.mark.parametrize(("n", "computed"), [(2000, True), (2001, False)])
def test_a_large_run_is_not_held_up(n: int, computed: bool, pairs: Suite) -> None:
    names = {"right", *(f"i{k}" for k in range(n - 1))}
    assert (lexical_accuracy(planned(pairs), names) is not None) == computed
