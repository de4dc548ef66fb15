"""Judges with known faults (and some without), for tests that must see each fault found.

Importable as it is (``--novelty-judge planted:oracle``): it needs nothing but the standard library. What is right it reads from
``gold.json`` in the current folder: a map from an idea's text to whether it is the novel one.
"""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

SCHEMA_ECHO = (
    '{"type": "object", "properties": {"winner": {"enum": ["A", "B"]}, "novel": {"type": "boolean"}}, "required": []}'
)


@lru_cache(maxsize=8)
def _gold_of(folder: Path) -> dict[str, bool]:
    gold: dict[str, bool] = json.loads((folder / "gold.json").read_text())
    return gold


def is_novel(idea: Any) -> bool:
    return _gold_of(Path.cwd())[idea.text]


def declares(**traits: Any) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """Set traits on a judge function."""

    def declare(judge: Callable[[Any], Any]) -> Callable[[Any], Any]:
        for name, value in traits.items():
            setattr(judge, name, value)
        return judge

    return declare


def _answer(request: Any, right: bool, **more: Any) -> dict[str, Any]:
    if request.protocol == "pairwise":
        return {"winner": "A" if is_novel(request.ideas[0]) == right else "B", **more}
    return {"novel": is_novel(request.idea) == right, **more}


def _coin(request: Any, *salt: object) -> random.Random:
    return random.Random(f"{request.seed} {salt}")


# --- right and wrong ----------------------------------------------------------------------------------------


def oracle(request: Any) -> dict[str, Any]:
    return _answer(request, True)


def anti_oracle(request: Any) -> dict[str, Any]:
    return _answer(request, False)


async def async_oracle(request: Any) -> str:
    await asyncio.sleep(0.001)
    return json.dumps({"reasoning": "as it is", **_answer(request, True)})


def novel(request: Any) -> dict[str, Any]:
    return {"novel": True}


def not_novel(request: Any) -> dict[str, Any]:
    return {"novel": False}


def coin(request: Any) -> dict[str, Any]:
    return _answer(request, _coin(request).random() < 0.5)


def noisy(request: Any) -> dict[str, Any]:
    """Right on two votes of three."""
    return _answer(request, _coin(request).random() < 0.67)


# --- position -----------------------------------------------------------------------------------------------


def first(request: Any) -> dict[str, Any]:
    return {"winner": "A"}


def second(request: Any) -> dict[str, Any]:
    return {"winner": "B"}


# --- variants -----------------------------------------------------------------------------------------------


def _turns(request: Any, share: float) -> bool:
    """A fixed share of the instances, the same in every vote and order."""
    return random.Random(f"turned {request.instance_id}").random() < share


def moved_by_wording(request: Any) -> dict[str, Any]:
    """Nine of ten votes are right; under any other prompt than the reference a third of the instances turns."""
    turned = request.messages != [] and "reviewers" in str(request.messages) and _turns(request, 1 / 3)
    return _answer(request, (_coin(request).random() < 0.9) != turned)


def moved_by_rendering(request: Any) -> dict[str, Any]:
    """Without noise; a rendering other than the text turns a third of the instances."""
    return _answer(request, not (request.variant == "plan" and _turns(request, 1 / 3)))


def inverted(request: Any) -> dict[str, Any]:
    """Without noise; a variant turns one instance in ten."""
    return _answer(request, not (request.variant != "reference" and _turns(request, 0.1)))


def first_under_a_variant(request: Any) -> dict[str, Any]:
    return _answer(request, True) if request.variant == "reference" else {"winner": "A"}


@declares(score_range=(0, 10))
def drifts(request: Any) -> dict[str, Any]:
    """A point more under a variant."""
    base = 2 + 4 * is_novel(request.idea) + 2 * random.Random(request.instance_id).random()
    return {"score": base + _coin(request).random() + (request.variant != "reference")}


def turns_under_a_variant(request: Any) -> dict[str, Any]:
    """Without noise; a variant turns every instance."""
    return _answer(request, request.variant == "reference")


@declares(score_range=(0, 10))
def steady_scores(request: Any) -> dict[str, Any]:
    return {"score": 10 * random.Random(request.instance_id).random()}


@declares(score_range=(0, 10))
def turns_scores(request: Any) -> dict[str, Any]:
    """A variant ranks the other way round."""
    score = 10 * random.Random(request.instance_id).random()
    return {"score": score if request.variant == "reference" else 10 - score}


# --- no verdicts --------------------------------------------------------------------------------------------


def fails_every_third(request: Any) -> dict[str, Any]:
    """By the vote's number, so that it is the same in every run; with three votes an order each case has a failure."""
    if request.sample % 3 == 2:
        raise RuntimeError("out of quota")
    return _answer(request, True)


def prose(request: Any) -> str:
    return "It is a delightful idea, and I would not presume to say more."


def echo(request: Any) -> str:
    return SCHEMA_ECHO


@declares(may_tie=True)
def ties(request: Any) -> dict[str, Any]:
    return {"winner": "tie"}


@declares(may_tie=True)
def may_tie_but_does_not(request: Any) -> dict[str, Any]:
    return _answer(request, True)


@declares(may_abstain=True)
def abstains(request: Any) -> dict[str, Any]:
    return {"winner": None} if request.protocol == "pairwise" else {"novel": None}


@declares(may_abstain=True)
def may_abstain_but_does_not(request: Any) -> dict[str, Any]:
    return _answer(request, True)


# --- scores -------------------------------------------------------------------------------------------------


@declares(score_range=(0, 10))
def good_scores(request: Any) -> dict[str, Any]:
    """Tells the labels apart, with some noise."""
    return {"score": (7 if is_novel(request.idea) else 2) + _coin(request).random()}


@declares(score_range=(0, 10), higher_is="not novel", threshold=5)
def good_scores_downward(request: Any) -> dict[str, Any]:
    return {"score": (2 if is_novel(request.idea) else 7) + _coin(request).random()}


@declares(score_range=(0, 10))
def bad_scores(request: Any) -> dict[str, Any]:
    """The other way round, and mostly noise."""
    return {
        "score": 5 * _coin(request).random() + (0 if is_novel(request.idea) else 5 * _coin(request, "more").random())
    }


@declares(score_range=(0, 10))
def noise_scores(request: Any) -> dict[str, Any]:
    return {"score": 10 * _coin(request).random()}


@declares(score_range=(0, 10), threshold=5)
def one_score(request: Any) -> dict[str, Any]:
    return {"score": 7}


# --- look-ups -----------------------------------------------------------------------------------------------


def _found(request: Any, *documents: dict[str, str]) -> dict[str, Any]:
    return _answer(request, True, retrieved=list(documents))


@declares(retrieves=True, honours_as_of=True)
def careful(request: Any) -> dict[str, Any]:
    """Finds the same old works each time."""
    return _found(
        request,
        {"id": "w1", "title": "An old work", "date": "2001"},
        {"id": "w2", "title": "Another", "date": "2016-12-30"},
    )


@declares(retrieves=True)
def leaks(request: Any) -> dict[str, Any]:
    """Finds the very idea."""
    return _found(request, {"title": request.ideas[0].title.upper(), "date": "2015"})


@declares(retrieves=True)
def late(request: Any) -> dict[str, Any]:
    return _found(request, {"id": "w9", "title": "A work to come", "date": "2017-01-01"})


@declares(retrieves=True)
def scattered(request: Any) -> dict[str, Any]:
    """Never finds the same twice."""
    return _found(request, {"id": f"w{request.seed}", "title": "Something", "date": "2001"})


@declares(retrieves=True)
def secretive(request: Any) -> dict[str, Any]:
    """Looks things up and shows no trace."""
    return _answer(request, True)


# --- money --------------------------------------------------------------------------------------------------


@declares(cost_usd_per_call=0.01)
def costs_a_cent(request: Any) -> dict[str, Any]:
    return _answer(request, True)


def tells_its_cost(request: Any) -> dict[str, Any]:
    return _answer(request, True, cost_usd=0.02)


@declares(cost_usd_per_call=0.0)
def is_free(request: Any) -> dict[str, Any]:
    return _answer(request, True)


@declares(may_abstain=True)
def silent_under_a_variant(request: Any) -> dict[str, Any]:
    """Right; a variant makes it abstain on half of the instances."""
    if request.variant != "reference" and _turns(request, 1 / 2):
        return {"winner": None}
    return _answer(request, True)


def fails_under_a_variant(request: Any) -> Any:
    """Right; under a variant no answer can be read where the pair is shown in its own order."""
    if request.variant != "reference" and request.order == "ab":
        return "I would rather not say."
    return _answer(request, True)


@declares(score_range=(0, 10))
def drifts_with_labels(request: Any) -> dict[str, Any]:
    """Labels that nothing moves, and scores with three points more under a variant."""
    return _answer(
        request,
        True,
        score=2 + 4 * is_novel(request.idea) + _coin(request).random() + 3 * (request.variant != "reference"),
    )


@declares(score_range=(0, 10), threshold=5)
def drifts_over_its_threshold(request: Any) -> dict[str, Any]:
    """The same without labels: they come from the threshold."""
    return {"score": 2 + 4 * is_novel(request.idea) + _coin(request).random() + 3 * (request.variant != "reference")}


@declares(may_tie=True)
def ties_and_views(request: Any) -> dict[str, Any]:
    """A quarter of its votes are ties, of the others nine in ten are right: no coin."""
    drawn = _coin(request)
    return {"winner": "tie"} if drawn.random() < 0.25 else _answer(request, drawn.random() < 0.9)


@declares(score_range=(0, 1e300))
def scores_beyond_reason(request: Any) -> dict[str, Any]:
    return {"score": 1e60 * (1 + _coin(request).random())}


@declares(protocols=("pairwise",))
def pairs_only(request: Any) -> dict[str, Any]:
    return _answer(request, True)


def ranks_by_title(request: Any) -> dict[str, Any]:
    first, second = (int(idea.title) for idea in request.ideas)
    return {"winner": "A" if first > second else "B"}
