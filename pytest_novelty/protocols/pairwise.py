"""Two ideas, shown as AB and as BA: which is more novel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_novelty.model import AB, BA, TIE, Failure, Json, Verdict, Vote
from pytest_novelty.protocols.base import (
    Powers,
    describe,
    lead_over_orders,
    read_number,
    read_reason,
    violates,
)


class Pairwise:
    name = "pairwise"
    ideas_per_instance = 2
    nouns = ("pair", "pairs")
    labels = None
    dimensions = False
    key = "winner"
    score_key = None

    def orders(self, choice: str) -> tuple[str | None, ...]:
        return (AB,) if choice == "ab" else (AB, BA)

    def shown(self, order: str | None, count: int) -> tuple[int, ...]:
        return (1, 0) if order == BA else (0, 1)

    def gold_labels(self, idea_ids: Sequence[str]) -> tuple[str, ...]:
        return tuple(idea_ids)

    def read_gold(self, value: Json, idea_ids: Sequence[str]) -> str | None:
        return str(value) if str(value) in idea_ids else None

    def has_label(self, label: str, idea_ids: Sequence[str]) -> bool:
        return label == TIE or label in idea_ids

    def answer_schema(self, powers: Powers) -> dict[str, Json]:
        winners: list[Json] = ["A", "B", *(["tie"] if powers.may_tie else []), *([None] if powers.may_abstain else [])]
        return {
            "type": "object",
            "properties": {"winner": {"enum": winners}, "reason": {"type": "string"}},
            "required": ["winner"],
        }

    def read(self, value: Mapping[str, Json], powers: Powers, shown: int = 0) -> Verdict | Failure:
        if "winner" not in value:
            return violates("the answer has no 'winner'", "missing key")
        confidence = read_number(value, "confidence", None)
        if isinstance(confidence, Failure):
            return confidence
        winner = value["winner"]
        if winner == "A" or winner == "B":
            return Verdict(winner, None, False, read_reason(value), confidence)
        if winner is None:
            if not powers.may_abstain:
                return violates(
                    "winner is null, and this judge does not declare may_abstain = True", "undeclared abstention"
                )
            return Verdict(None, None, True, read_reason(value), confidence)
        if winner == "tie":
            if not powers.may_tie:
                return violates("winner is 'tie', and this judge does not declare may_tie = True", "undeclared tie")
            return Verdict(TIE, None, False, read_reason(value), confidence)
        return violates(f"winner must be 'A' or 'B' (of what was shown), not {describe(winner)}")

    def label_of(self, verdict: Verdict, shown_ids: Sequence[str]) -> str | None:
        if verdict.label == "A":
            return shown_ids[0]
        if verdict.label == "B":
            return shown_ids[1]
        return verdict.label

    def aggregate(self, votes: Sequence[Vote], idea_ids: Sequence[str], orders: Sequence[str | None]) -> str | None:
        """The idea with the higher share of votes, averaged within each order first."""
        return lead_over_orders(votes, idea_ids, orders)
