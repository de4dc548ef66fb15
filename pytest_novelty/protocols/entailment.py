"""Spans of papers, and a conclusion drawn from them in one dimension: do the spans alone support the reason that is given?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_novelty.model import Failure, Json, Verdict, Vote
from pytest_novelty.protocols.base import Powers, describe, lead_over_orders, read_number, violates
from pytest_novelty.protocols.citing import read_span
from pytest_novelty.verdicts import SUPPORTED, UNSUPPORTED


class Entailment:
    """A judge of this protocol audits others. ``unsupported`` is what it is there to find, and what its F1 is about."""

    name = "entailment"
    ideas_per_instance = 0
    nouns = ("reason", "reasons")
    labels = (UNSUPPORTED, SUPPORTED)
    dimensions = True
    key = "supported"
    score_key = None

    def orders(self, choice: str) -> tuple[str | None, ...]:
        return (None,)

    def shown(self, order: str | None, count: int) -> tuple[int, ...]:
        return ()

    def gold_labels(self, idea_ids: Sequence[str]) -> tuple[str, ...]:
        return self.labels

    def read_gold(self, value: Json, idea_ids: Sequence[str]) -> str | None:
        return {True: SUPPORTED, False: UNSUPPORTED}[value] if isinstance(value, bool) else None

    def has_label(self, label: str, idea_ids: Sequence[str]) -> bool:
        return label in self.labels

    def answer_schema(self, powers: Powers) -> dict[str, Json]:
        return {
            "type": "object",
            "properties": {
                "supported": {"type": ["boolean", "null"] if powers.may_abstain else "boolean"},
                "critique": {"type": ["string", "null"]},
            },
            "required": ["supported"],
        }

    def read(self, value: Mapping[str, Json], powers: Powers, shown: int = 0) -> Verdict | Failure:
        if "supported" not in value:
            return violates("the answer has no 'supported'", "missing key")
        confidence = read_number(value, "confidence", None)
        if isinstance(confidence, Failure):
            return confidence
        critique = read_span(value, "critique")
        if isinstance(critique, Failure):
            return critique
        supported = value["supported"]
        if supported is None:
            if not powers.may_abstain:
                return violates(
                    "supported is null, and this judge does not declare may_abstain = True", "undeclared abstention"
                )
            return Verdict(None, None, True, critique, confidence)
        if supported is not True and supported is not False:
            return violates(f"supported must be true or false, not {describe(supported)}")
        return Verdict(SUPPORTED if supported else UNSUPPORTED, None, False, critique, confidence)

    def label_of(self, verdict: Verdict, shown_ids: Sequence[str]) -> str | None:
        return verdict.label

    def aggregate(self, votes: Sequence[Vote], idea_ids: Sequence[str], orders: Sequence[str | None]) -> str | None:
        """The majority of the votes; an even split is a tie."""
        return lead_over_orders(votes, self.labels, orders)
