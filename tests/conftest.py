"""Small builders that several test folders share (fixtures of session scope, so that hypothesis can use them)."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty.calls import Call, CallPlanner, Case
from pytest_novelty.judges.base import Judge, Traits, bind_judge
from pytest_novelty.metrics.view import View
from pytest_novelty.model import ERROR, NOT_NOVEL, NOVEL, OK, TIE, Axes, Idea, Instance, Suite, Variant, Vote
from pytest_novelty.outcomes import CaseResult, make_outcome
from pytest_novelty.prompts import Prompt, resolve_prompt
from pytest_novelty.protocols.grouping import name_partition

with contextlib.suppress(ImportError):  # the main job runs in a checkout, too, without what tests need
    from hypothesis import settings

    settings.register_profile("novelty", deadline=None)  # a slow machine is no fault
    settings.load_profile("novelty")


def _instance(protocol: str = "pointwise", name: str = "i1", **changes: Any) -> Instance:
    ideas = (Idea("x", "First title", "First text."), Idea("y", "Second title", "Second text."))
    if protocol == "pointwise":
        return replace(Instance(name, ideas[:1], "novel"), **changes)
    return replace(Instance(name, ideas, "x"), **changes)


def _suite(protocol: str = "pointwise", *instances: Instance, **changes: Any) -> Suite:
    suite = Suite(
        name="made",
        version="1",
        protocol=protocol,
        label_kind="construction",
        instances=instances or (_instance(protocol),),
        variants={"reference": Variant("reference", Axes(prompt=f"{protocol}/reference"))},
        digest="0" * 32,
        path=Path("made/suite.yaml"),
    )
    return replace(suite, **changes)


def _case(suite: Suite, judge: object = None, **axes: Any) -> Case:
    """The first instance of ``suite`` under its reference variant with ``axes`` changed."""
    bound = judge if isinstance(judge, Judge) else bind_judge("judge", judge or (lambda request: "{}"))
    reference = suite.variants["reference"]
    return Case(bound, suite, replace(reference, axes=replace(reference.axes, **axes)), suite.instances[0])


def _plan(case: Case, *, seed: int = 0, prompts: Mapping[str, Prompt] | None = None) -> list[Call]:
    """The case's calls, with the shipped reference prompts unless others are given."""
    return CallPlanner(_shipped_prompts() if prompts is None else prompts, seed).plan(case)


@cache
def _shipped_prompts() -> dict[str, Prompt]:
    return {name: resolve_prompt(name, Path()) for name in ("pointwise/reference", "pairwise/reference")}


def _view(
    ballots: Sequence[str | None],
    *,
    protocol: str = "pairwise",
    gold: Sequence[str | None] | str | None = "x",
    clusters: str = "",
    area: str = "",
    orders: Sequence[str] = ("ab", "ba"),
    scores: Sequence[Sequence[float]] = (),
    traits: Traits = Traits(),  # noqa: B008
    variant: str = "reference",
    judge: str = "judge",
    **options: Any,
) -> View:
    """A view of ballots, one an instance, one word an order: x and y are votes for the first label and the second, t a
    declared tie, a an abstention, - a failed call, . a score alone. None: not judged. One letter of ``clusters`` (of ``area``)
    each.
    """
    golds = [gold] * len(ballots) if gold is None or isinstance(gold, str) else list(gold)
    names: dict[str, str | None] = {"x": "x", "y": "y"} if protocol == "pairwise" else {"x": NOVEL, "y": NOT_NOVEL}
    made = [
        _instance(
            protocol, f"i{k:04}", gold=names.get(golds[k] or "", golds[k]),
            strata={"group": (clusters or "." * len(ballots))[k], "area": (area or "." * len(ballots))[k]},
        )
        for k in range(len(ballots))
    ]  # fmt: skip
    suite = _suite(protocol, *made, cluster="group" if clusters else None)
    asked: Sequence[str | None] = orders if protocol == "pairwise" else (None,)
    results = []
    for number, (instance, ballot) in enumerate(zip(made, ballots, strict=True)):
        if ballot is None:
            continue
        given = iter(scores[number]) if scores else iter(())
        votes = [
            Vote(
                order, k, ERROR if c == "-" else OK, "", {**names, "t": TIE}.get(c), None if c == "-" else next(given, None),
                c == "a",
            )
            for order, word in zip(asked, ballot.split(), strict=True)
            for k, c in enumerate(word)
        ]  # fmt: skip
        outcome = make_outcome(suite, instance, votes, asked, traits, options.get("threshold"))
        results.append(CaseResult(judge, suite.name, variant, instance.id, outcome))
    return View(results, suite, traits, **options)


def _groupings(
    ballots: Sequence[str], *, judge: str = "judge", orders: Sequence[str] = ("ab", "ba"), variant: str = "reference"
) -> View:
    """A view of groupings, one ballot a set, one word an order, votes after commas. A vote has a letter a paper (a, b, c ...):
    papers with the same letter are together, one with a dot is alone. ``?`` is an abstention, ``-`` a failed call.
    """

    def vote(order: str, sample: int, said: str) -> Vote:
        if said in "?-":
            return Vote(order, sample, ERROR if said == "-" else OK, "", None, None, said == "?")
        kinds = set(said) - {"."}
        return Vote(
            order, sample, OK, "", name_partition([ids[k] for k, c in enumerate(said) if c == kind] for kind in kinds)
        )

    made, results = [], []
    for number, ballot in enumerate(ballots):
        papers = max(map(len, ballot.replace(",", " ").split()))
        ids = "abcdefghij"[: max(3, papers)]
        ideas = tuple(Idea(name, f"Paper {name}", "Text.") for name in ids)
        made.append(Instance(f"i{number:04}", ideas, name_partition([ids[:2]]), dimension="task"))
    suite = _suite("grouping", *made)
    for instance, ballot in zip(made, ballots, strict=True):
        ids = "".join(idea.id for idea in instance.ideas)
        votes = [
            vote(order, k, said)
            for order, word in zip(orders, ballot.split(), strict=True)
            for k, said in enumerate(word.split(","))
        ]
        outcome = make_outcome(suite, instance, votes, orders, Traits(), None)
        results.append(CaseResult(judge, suite.name, variant, instance.id, outcome))
    return View(results, suite, Traits())


@pytest.fixture(scope="session")
def make_groupings() -> Callable[..., View]:
    return _groupings


@pytest.fixture(scope="session")
def make_view() -> Callable[..., View]:
    return _view


@pytest.fixture(scope="session")
def make_instance() -> Callable[..., Instance]:
    return _instance


@pytest.fixture(scope="session")
def make_suite() -> Callable[..., Suite]:
    return _suite


@pytest.fixture(scope="session")
def make_case() -> Callable[..., Case]:
    return _case


@pytest.fixture(scope="session")
def plan_calls() -> Callable[..., list[Call]]:
    return _plan
