"""What the stand-in model thinks: ideas, papers and quotations are read out of the prompt, a rule picks the verdict."""

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
``coin``: by the request's ``seed``. Papers are similar, the first two of a set belong together, and a reason is supported, where a
single idea would be novel; ``hash``: by what the prompt shows, whatever the order. Beside these, a mapping of texts to whether the idea that has the text is novel."""

_IDEAS = (
    re.compile(
        r"<idea_A(?P<mark>[^>]*)>(?P<A>.*?)</idea_A(?P=mark)>.*?<idea_B(?P=mark)>(?P<B>.*?)</idea_B(?P=mark)>", re.S
    ),
    re.compile(r"^Idea A: (?P<A>.*?)^Idea B: (?P<B>.*?)(?:\n\n|\Z)", re.S | re.M),
    re.compile(r"<idea(?P<mark>[^>]*)>(?P<A>.*?)</idea(?P=mark)>", re.S),
)


_PAPER = re.compile(r"<paper_(?P<name>[A-Z]|\d+)(?P<mark>[^>]*)>\n(?P<text>.*?)\n</paper_(?P=name)(?P=mark)>", re.S)
_SPAN = re.compile(r"<span_(?P<name>\d+)(?P<mark>[^>]*)>\n(?P<text>.*?)\n</span_(?P=name)(?P=mark)>", re.S)
VERDICT_KEYS = ("winner", "novel", "is_similar", "groups", "supported")


def decide(rule: str | Mapping[str, bool], prompt: str, *, schema: Mapping[str, Any], seed: object) -> dict[str, Any]:
    """The good answer, as the object that the prompt asks for, with the keys of ``schema`` where one was sent."""
    if papers := {found["name"]: found["text"] for found in _PAPER.finditer(prompt)}:
        return _compare(rule, papers, seed)
    if spans := [found["text"] for found in _SPAN.finditer(prompt)]:
        holds = _first_wins(rule, ["\n".join(sorted(spans))], seed)
        return {"critique": "A stand-in, after a look at the quotations.", "supported": holds}
    return _assess(rule, read_ideas(prompt), schema, seed)


def _compare(rule: str | Mapping[str, bool], papers: Mapping[str, str], seed: object) -> dict[str, Any]:
    """Two papers have letters and are similar or not; those of a set have numbers, and its first two belong together or not."""
    alike = _first_wins(rule, ["\n".join(sorted(papers.values()))], seed)
    spans = {name: _first_sentence(text) for name, text in papers.items()}
    reason = "A stand-in, after a look at both."
    if "A" in papers:
        cited = {"evidence_a": spans["A"], "evidence_b": spans["B"], "reason": reason}
        return {"is_similar": alike, **(cited if alike else dict.fromkeys(cited, ""))}
    chosen = list(papers)[:2]
    group = {"paper_indices": [int(name) for name in chosen], "evidence": {name: spans[name] for name in chosen}}
    return {"groups": [{**group, "reason": reason}] if alike else []}


def _first_sentence(paper: str) -> str:
    """Of what stands below the title."""
    body = paper.partition("\n\n")[2] if paper.startswith("Title: ") else paper
    return body.split(". ")[0].strip().rstrip(".") + "."


def read_ideas(prompt: str) -> tuple[str, ...]:
    """The ideas of a prompt in the order shown: two of a pairwise prompt, one of a pointwise or unknown one."""
    for pattern in _IDEAS:
        if found := pattern.search(prompt):
            parts = found.groupdict()
            return tuple(parts[name].strip() for name in ("A", "B") if name in parts)
    return (prompt,)


def _assess(
    rule: str | Mapping[str, bool], ideas: Sequence[str], schema: Mapping[str, Any], seed: object
) -> dict[str, Any]:
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
