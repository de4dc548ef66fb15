"""A partition of papers is read as ``{a b} {c d}`` wherever a report shows an instance."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty import evaluate
from pytest_novelty.model import Axes, Idea, Instance, Request, Suite, Variant
from pytest_novelty.reports.terminal import render
from pytest_novelty.reports.text import name_label

GOLD = '[["ant","bee"],["cod","eel"]]'


def papers(*names: str) -> tuple[Idea, ...]:
    return tuple(Idea(name, f"Of {name}s", f"The {name} is counted by hand. It is slow.") for name in names)


def suite(gold: str | None, votes: int = 1) -> Suite:
    instance = Instance("zoo", papers("ant", "bee", "cod", "eel"), gold, dimension="task")
    variants = {"reference": Variant("reference", Axes("grouping/reference", votes=votes))}
    kind = "none" if gold is None else "experts"
    return Suite("sets", "1", "grouping", kind, (instance,), variants, "0" * 32, Path("s/suite.yaml"))


def joins(*groups: tuple[str, ...]) -> Any:
    """Says that these belong together, whatever the order shown; its last vote in the mixed order fails."""

    def judge(request: Request) -> dict[str, Any]:
        if request.order == "ba" and request.sample == 1:
            raise RuntimeError("down")
        shown = [idea.title.split()[1].rstrip("s") for idea in request.papers]
        return {
            "groups": [
                {"paper_indices": [shown.index(name) + 1 for name in group], "evidence": {}, "reason": ""}
                for group in groups
            ]
        }

    judge.uses_prompt = False  # type: ignore[attr-defined]
    return judge


@pytest.mark.parametrize(
    ("said", "gold", "line"),
    [
        (
            (("ant", "cod"), ("bee", "eel")),
            GOLD,
            "judge says {ant cod} {bee eel} (all 2 votes), gold is {ant bee} {cod eel}",
        ),
        ((("ant", "bee", "eel"),), "[]", "judge says {ant bee eel} (all 2 votes), gold is all apart"),
        ((), GOLD, "judge says all apart (all 2 votes), gold is {ant bee} {cod eel}"),
    ],
)
def test_the_worst(said: tuple[tuple[str, ...], ...], gold: str, line: str) -> None:
    text = render(evaluate({"judge": joins(*said)}, suite(gold)), width=140)
    assert f"  sets zoo: {line}" in text
    assert '[["' not in text


def test_verdicts_without_gold() -> None:
    """Votes that name no partition say what they are."""
    text = render(evaluate({"judge": joins(("ant", "bee"))}, suite(None, votes=2)), width=140)
    assert "  zoo  {ant bee} (3 {ant bee}, 1 error)" in text


def test_ids_that_would_not_read_as_one_word_are_quoted() -> None:
    instance = replace(suite(None).instances[0], ideas=papers("a b", "c}", "d", "tie"))
    assert name_label("grouping", instance, '[["a b","c}"],["d","tie"]]') == '{"a b" "c}"} {d tie}'
    for other in ("tie", "invalid", "abstained", "timeout"):
        assert name_label("grouping", instance, other) == other
    assert name_label("grouping", instance, None) == "no label"
