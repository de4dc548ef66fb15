"""One idea: is it novel, how novel is it, or both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_novelty.model import NOT_NOVEL, NOVEL, TIE, Failure, Json, Verdict, Vote
from pytest_novelty.protocols.base import (
    Powers,
    describe,
    read_number,
    read_reason,
    violates,
    without_votes,
)


class Pointwise:
    name = "pointwise"
    ideas_per_instance = 1
    nouns = ("idea", "ideas")
    labels = (NOVEL, NOT_NOVEL)
    dimensions = False
    key = "novel"
    score_key = "score"

    def orders(self, choice: str) -> tuple[str | None, ...]:
        return (None,)

    def shown(self, order: str | None, count: int) -> tuple[int, ...]:
        return (0,)

    def gold_labels(self, idea_ids: Sequence[str]) -> tuple[str, ...]:
        return self.labels

    def read_gold(self, value: Json, idea_ids: Sequence[str]) -> str | None:
        return value if value in self.labels else None

    def has_label(self, label: str, idea_ids: Sequence[str]) -> bool:
        return label in self.labels

    def answer_schema(self, powers: Powers) -> dict[str, Json]:
        low, high = powers.score_range or (None, None)
        score: dict[str, Json] = {"type": "number"}
        if low is not None:
            score |= {"minimum": low, "maximum": high}
        return {
            "type": "object",
            "properties": {
                "novel": {"type": ["boolean", "null"] if powers.may_abstain else "boolean"},
                "score": score,
                "reason": {"type": "string"},
            },
            "anyOf": [{"required": ["novel"]}, {"required": ["score"]}],
        }

    def read(self, value: Mapping[str, Json], powers: Powers, shown: int = 0) -> Verdict | Failure:
        score = read_number(value, "score", powers.score_range)
        if isinstance(score, Failure):
            return score
        confidence = read_number(value, "confidence", None)
        if isinstance(confidence, Failure):
            return confidence
        if "novel" not in value:
            if score is None:
                return violates("the answer has neither 'novel' nor 'score'", "missing key")
            return Verdict(None, score, False, read_reason(value), confidence)
        novel = value["novel"]
        if novel is None:
            if not powers.may_abstain:
                return violates(
                    "novel is null, and this judge does not declare may_abstain = True", "undeclared abstention"
                )
            return Verdict(None, score, True, read_reason(value), confidence)
        if novel is not True and novel is not False:
            return violates(f"novel must be true or false, not {describe(novel)}")
        return Verdict(NOVEL if novel else NOT_NOVEL, score, False, read_reason(value), confidence)

    def label_of(self, verdict: Verdict, shown_ids: Sequence[str]) -> str | None:
        return verdict.label

    def aggregate(self, votes: Sequence[Vote], idea_ids: Sequence[str], orders: Sequence[str | None]) -> str | None:
        """The majority of the votes for a label; an even split is a tie; None if the judge only scores."""
        labels = [vote.label for vote in votes if vote.label is not None]
        if not labels:
            scores_only = any(vote.score is not None and not vote.abstained for vote in votes)
            return None if scores_only else without_votes(votes)
        lead = 2 * labels.count(NOVEL) - len(labels)
        return TIE if lead == 0 else NOVEL if lead > 0 else NOT_NOVEL
