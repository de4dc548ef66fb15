"""Small builders that several test folders share (fixtures of session scope, so that hypothesis can use them)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty.calls import Call, CallPlanner, Case
from pytest_novelty.judges.base import Judge, bind_judge
from pytest_novelty.model import Axes, Idea, Instance, Suite, Variant
from pytest_novelty.prompts import Prompt, resolve_prompt


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
