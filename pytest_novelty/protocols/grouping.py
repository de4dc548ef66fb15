"""Three to ten papers and one dimension: which of them belong together? Shown in the suite's order and in a mixed one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from pytest_novelty.digests import canonical_json
from pytest_novelty.model import AB, BA, Failure, Group, Json, Verdict, Vote
from pytest_novelty.protocols.base import Powers, describe, lead_over_orders, read_number, violates
from pytest_novelty.protocols.citing import STRAY_SPAN, broken_rules, read_span

FEWEST: Final = 3
MOST: Final = 10


class Grouping:
    """Groups have at least two papers, a paper is in at most one, and each member is cited. A label is a partition: its groups
    of two and more by the papers' ids, as JSON, sorted.
    """

    name = "grouping"
    ideas_per_instance = 3
    nouns = ("set and dimension", "sets and dimensions")
    labels = None
    dimensions = True
    key = "groups"
    score_key = None

    def orders(self, choice: str) -> tuple[str | None, ...]:
        return (AB,) if choice == "ab" else (AB, BA)

    def shown(self, order: str | None, count: int) -> tuple[int, ...]:
        """The mixed order: every second paper, then the others, the first last. In the mirror image of an order the outer papers
        stay the outer ones, and neighbours stay neighbours: a judge that goes by places could not be told from one that reads.
        """
        return (*range(1, count, 2), *range(2, count, 2), 0) if order == BA else tuple(range(count))

    def gold_labels(self, idea_ids: Sequence[str]) -> tuple[str, ...]:
        return ()

    def read_gold(self, value: Json, idea_ids: Sequence[str]) -> str | None:
        if not isinstance(value, list) or not all(isinstance(group, list) for group in value):
            return None
        groups = [[str(member) for member in group] for group in value]
        members = [member for group in groups for member in group]
        if len(set(members)) != len(members) or not set(members) <= set(idea_ids):
            return None
        return name_partition(groups)

    def has_label(self, label: str, idea_ids: Sequence[str]) -> bool:
        try:
            groups = json.loads(label)
        except (ValueError, RecursionError):
            return False
        return self.read_gold(groups, idea_ids) == label

    def answer_schema(self, powers: Powers) -> dict[str, Json]:
        return {
            "type": "object",
            "properties": {
                "groups": {
                    "type": ["array", "null"] if powers.may_abstain else "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "paper_indices": {
                                "type": "array",
                                "items": {"type": "integer", "minimum": 1},
                                "minItems": 2,
                            },
                            "evidence": {"type": "object", "additionalProperties": {"type": "string"}},
                            "reason": {"type": "string"},
                        },
                        "required": ["paper_indices"],
                    },
                },
            },
            "required": ["groups"],
        }

    def read(self, value: Mapping[str, Json], powers: Powers, shown: int = 0) -> Verdict | Failure:
        if "groups" not in value:
            return violates("the answer has no 'groups'", "missing key")
        confidence = read_number(value, "confidence", None)
        if isinstance(confidence, Failure):
            return confidence
        given = value["groups"]
        if given is None:
            if not powers.may_abstain:
                return violates(
                    "groups is null, and this judge does not declare may_abstain = True", "undeclared abstention"
                )
            return Verdict(None, None, True, "", confidence)
        if not isinstance(given, (list, tuple)):
            return violates(f"groups must be a list, not {describe(given)}")
        groups: list[Group] = []
        seen: set[int] = set()
        broken: dict[str, None] = {}
        for number, item in enumerate(given, 1):
            read = _read_group(item, f"group {number}: ", shown)
            if isinstance(read, Failure):
                return read
            group, stray = read
            if twice := sorted(seen & set(group.members)):
                return violates(f"paper {twice[0] + 1} is in two groups", "paper in two groups")
            seen.update(group.members)
            groups.append(group)
            broken |= dict.fromkeys((*broken_rules(group.evidence, group.reason), *stray))
        reason = " / ".join(group.reason for group in groups if group.reason)
        return Verdict(None, None, False, reason, confidence, tuple(groups), tuple(broken))

    def label_of(self, verdict: Verdict, shown_ids: Sequence[str]) -> str | None:
        if verdict.abstained:
            return None
        return name_partition([shown_ids[member] for member in group.members] for group in verdict.groups)

    def aggregate(self, votes: Sequence[Vote], idea_ids: Sequence[str], orders: Sequence[str | None]) -> str | None:
        """The partition with the highest share of votes, averaged within each order first; a tie if several have it."""
        labels = dict.fromkeys(vote.label for vote in votes if vote.label is not None)
        return lead_over_orders(votes, tuple(labels), orders)


def _read_group(item: Json, where: str, shown: int) -> tuple[Group, tuple[str, ...]] | Failure:
    if not isinstance(item, Mapping):
        return violates(f"{where}a group must be {{paper_indices, evidence, reason}}, not {describe(item)}")
    if "paper_indices" not in item:
        return violates(f"{where}it has no 'paper_indices'", "missing key")
    indices = item["paper_indices"]
    if not isinstance(indices, (list, tuple)):
        return violates(f"{where}paper_indices must be a list of numbers, not {describe(indices)}")
    for index in indices:
        if isinstance(index, bool) or not isinstance(index, int):
            return violates(f"{where}paper_indices must be whole numbers, not {describe(index)}")
        if not 1 <= index <= shown:
            return violates(f"{where}there is no paper {index}: {shown} are shown, from 1", "index out of range")
    if len(set(indices)) != len(indices):
        return violates(f"{where}it has a paper twice", "paper twice in a group")
    if len(indices) < 2:
        return violates(f"{where}a group has at least two papers", "single-member group")
    reason = read_span(item, "reason", where)
    if isinstance(reason, Failure):
        return reason
    cited = item.get("evidence")
    cited = {} if cited is None else cited
    if not isinstance(cited, Mapping):
        return violates(f"{where}evidence must be {{index: span}}, not {describe(cited)}")
    by_name = {str(key): span for key, span in cited.items()}
    members = sorted(indices)
    spans = []
    for index in members:
        span = read_span(by_name, str(index), f"{where}evidence of paper ")
        if isinstance(span, Failure):
            return span
        spans.append(span)
    stray = (STRAY_SPAN,) if set(by_name) - set(map(str, indices)) else ()
    return Group(tuple(index - 1 for index in members), tuple(spans), reason), stray


def name_partition(groups: Iterable[Iterable[str]]) -> str:
    """The label of a partition. Groups of one paper join nothing, and are left out."""
    return canonical_json(sorted(sorted(group) for group in map(list, groups) if len(group) > 1))


def groups_of(label: str) -> tuple[tuple[str, ...], ...]:
    """The groups that a label names. Raises ValueError for a text that is no partition's."""
    groups = json.loads(label)
    if not isinstance(groups, list) or not all(isinstance(group, list) for group in groups):
        raise ValueError(f"{label!r} names no partition")
    return tuple(map(tuple, groups))
