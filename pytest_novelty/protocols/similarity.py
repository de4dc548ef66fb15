"""Two papers and one dimension (task, problem or method): are they similar in it? Shown as AB and as BA."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pytest_novelty.model import AB, BA, Failure, Group, Json, Verdict, Vote
from pytest_novelty.protocols.base import Powers, describe, lead_over_orders, read_number, violates
from pytest_novelty.protocols.citing import broken_rules, read_span
from pytest_novelty.verdicts import NOT_SIMILAR, SIMILAR


class Similarity:
    """A positive verdict cites a span of each paper, word for word, and gives a reason of at most two sentences."""

    name = "similarity"
    ideas_per_instance = 2
    nouns = ("pair and dimension", "pairs and dimensions")
    labels = (SIMILAR, NOT_SIMILAR)
    dimensions = True
    key = "is_similar"
    score_key = None

    def orders(self, choice: str) -> tuple[str | None, ...]:
        return (AB,) if choice == "ab" else (AB, BA)

    def shown(self, order: str | None, count: int) -> tuple[int, ...]:
        return (1, 0) if order == BA else (0, 1)

    def gold_labels(self, idea_ids: Sequence[str]) -> tuple[str, ...]:
        return self.labels

    def read_gold(self, value: Json, idea_ids: Sequence[str]) -> str | None:
        return {True: SIMILAR, False: NOT_SIMILAR}[value] if isinstance(value, bool) else None

    def has_label(self, label: str, idea_ids: Sequence[str]) -> bool:
        return label in self.labels

    def answer_schema(self, powers: Powers) -> dict[str, Json]:
        return {
            "type": "object",
            "properties": {
                "is_similar": {"type": ["boolean", "null"] if powers.may_abstain else "boolean"},
                "evidence_a": {"type": ["string", "null"]},
                "evidence_b": {"type": ["string", "null"]},
                "reason": {"type": ["string", "null"]},
            },
            "required": ["is_similar"],
        }

    def read(self, value: Mapping[str, Json], powers: Powers, shown: int = 0) -> Verdict | Failure:
        if "is_similar" not in value:
            return violates("the answer has no 'is_similar'", "missing key")
        confidence = read_number(value, "confidence", None)
        if isinstance(confidence, Failure):
            return confidence
        texts = []
        for key in ("evidence_a", "evidence_b", "reason"):
            text = read_span(value, key)
            if isinstance(text, Failure):
                return text
            texts.append(text)
        *spans, reason = texts
        similar = value["is_similar"]
        if similar is None:
            if not powers.may_abstain:
                return violates(
                    "is_similar is null, and this judge does not declare may_abstain = True", "undeclared abstention"
                )
            return Verdict(None, None, True, reason, confidence)
        if similar is not True and similar is not False:
            return violates(f"is_similar must be true or false, not {describe(similar)}")
        if not similar:
            return Verdict(NOT_SIMILAR, None, False, reason, confidence)
        group = Group((0, 1), tuple(spans), reason)
        return Verdict(SIMILAR, None, False, reason, confidence, (group,), broken_rules(group.evidence, reason))

    def label_of(self, verdict: Verdict, shown_ids: Sequence[str]) -> str | None:
        return verdict.label

    def aggregate(self, votes: Sequence[Vote], idea_ids: Sequence[str], orders: Sequence[str | None]) -> str | None:
        """The label with the higher share of votes, averaged within each order first."""
        return lead_over_orders(votes, self.labels, orders)
