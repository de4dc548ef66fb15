"""What the stand-in model thinks: the ideas are read out of the prompt, a rule picks the verdict."""

from __future__ import annotations

import hashlib
import json
import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

RULES = ("first", "second", "hash", "coin")
"""``first``: always A, always novel. ``second``: always B, never novel. ``hash``: by the idea's text, whatever the order.
``coin``: by the request's ``seed``. Beside these, a mapping of texts to whether the idea that has the text is novel."""

_IDEAS = (
    re.compile(
        r"<idea_A(?P<mark>[^>]*)>(?P<A>.*?)</idea_A(?P=mark)>.*?<idea_B(?P=mark)>(?P<B>.*?)</idea_B(?P=mark)>", re.S
    ),
    re.compile(r"^Idea A: (?P<A>.*?)^Idea B: (?P<B>.*?)(?:\n\n|\Z)", re.S | re.M),
    re.compile(r"<idea(?P<mark>[^>]*)>(?P<A>.*?)</idea(?P=mark)>", re.S),
)


def read_ideas(prompt: str) -> tuple[str, ...]:
    """The ideas of a prompt in the order shown: two of a pairwise prompt, one of a pointwise or unknown one."""
    for pattern in _IDEAS:
        if found := pattern.search(prompt):
            parts = found.groupdict()
            return tuple(parts[name].strip() for name in ("A", "B") if name in parts)
    return (prompt,)


def decide(
    rule: str | Mapping[str, bool], ideas: Sequence[str], *, schema: Mapping[str, Any], seed: object
) -> dict[str, Any]:
    """The good answer, as the object that the prompts ask for, with the keys of ``schema`` where one was sent."""
    pairwise = len(ideas) == 2
    novel = _first_wins(rule, ideas, seed)
    title = ideas[0].splitlines()[0].removeprefix("Title: ")[:60] if ideas[0] else ""
    answer: dict[str, Any] = {"reasoning": f"A stand-in, after a look at {title!r}."}
    answer |= {"winner": "A" if novel else "B"} if pairwise else {"novel": novel}
    if "score" in schema.get("properties", {}):
        answer["score"] = _share(ideas[0]) * 10
    return answer


def _first_wins(rule: str | Mapping[str, bool], ideas: Sequence[str], seed: object) -> bool:
    """Whether the idea shown first is the more novel one; of a single idea, whether it is novel."""
    if not isinstance(rule, str):
        return any(is_novel for text, is_novel in rule.items() if text in ideas[0])
    if rule == "hash":
        return _share(ideas[0]) < (_share(ideas[1]) if len(ideas) == 2 else 0.5)
    if rule == "coin":
        return random.Random(repr(seed)).random() < 0.5
    return rule == "first"


def _share(text: str) -> float:
    """A number in [0, 1) that depends on the text alone."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:4], "big") / 2**32


def gold_of(suite: Path) -> dict[str, bool]:
    """The mapping that makes the model right about a suite: title of each idea -> whether the label favours it."""
    gold: dict[str, bool] = {}
    for line in (suite / "instances.jsonl").read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if "idea" in row:
            gold[row["idea"]["title"]] = row["gold"] == "novel"
        else:
            gold.update({idea["title"]: idea["id"] == row["gold"] for idea in row["ideas"]})
    return gold
