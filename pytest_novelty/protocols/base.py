"""The seam between the run and a protocol: what the rest needs to know of one, and what their readers share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final
from typing import Protocol as Interface

from pytest_novelty.model import (
    ABSTAINED,
    CORRECT,
    INCOMPLETE,
    INVALID,
    SCHEMA_VIOLATION,
    TIE,
    UNLABELLED,
    WRONG,
    Failure,
    Json,
    Verdict,
    Vote,
)


class Powers(Interface):
    """What a judge declares of its answers (``judges.base.Traits`` has these)."""

    @property
    def may_tie(self) -> bool: ...
    @property
    def may_abstain(self) -> bool: ...
    @property
    def score_range(self) -> tuple[float, float] | None: ...


class Protocol(Interface):
    """The shape of one kind of question."""

    @property
    def name(self) -> str: ...
    @property
    def ideas_per_instance(self) -> int:
        """How many ideas or papers an instance has; of a protocol where that varies, how many an example has."""

    @property
    def nouns(self) -> tuple[str, str]:
        """What one instance and several are called."""

    @property
    def labels(self) -> tuple[str, str] | None:
        """The two labels of every instance, the one first that precision, recall and F1 are about; None where labels are of the
        instance (the ids of its ideas, or partitions of them).
        """

    @property
    def dimensions(self) -> bool:
        """An instance has a dimension."""

    @property
    def key(self) -> str:
        """The key of an answer that carries the verdict."""

    @property
    def score_key(self) -> str | None:
        """The key that may carry a score in the verdict's place; None where the protocol knows no scores."""

    def orders(self, choice: str) -> tuple[str | None, ...]:
        """The orders asked, for the axis value ``"both"`` or ``"ab"``; ``(None,)`` where there is no order."""

    def shown(self, order: str | None, count: int) -> tuple[int, ...]:
        """Positions of the instance's ``count`` ideas in the order shown."""

    def gold_labels(self, idea_ids: Sequence[str]) -> tuple[str, ...]:
        """The labels that gold may name; empty where there are too many to list."""

    def read_gold(self, value: Json, idea_ids: Sequence[str]) -> str | None:
        """The label that a suite's ``gold`` stands for; None if it is none that the instance can have."""

    def has_label(self, label: str, idea_ids: Sequence[str]) -> bool:
        """The instance can have this label by votes for it."""

    def answer_schema(self, powers: Powers) -> dict[str, Json]:
        """JSON Schema of an answer given as a dict."""

    def read(self, value: Mapping[str, Json], powers: Powers, shown: int = 0) -> Verdict | Failure:
        """A valid verdict (its label as shown), or why it is none. ``shown``: how many papers the judge was shown."""

    def label_of(self, verdict: Verdict, shown_ids: Sequence[str]) -> str | None:
        """The vote's label: positions become ideas."""

    def aggregate(self, votes: Sequence[Vote], idea_ids: Sequence[str], orders: Sequence[str | None]) -> str | None:
        """The label of an outcome from all its votes."""


LARGEST: Final = 1e20
"""Of numbers that are read, either side of 0: cubes of sums of squares must stay finite."""


def violates(message: str, kind: str = "wrong type") -> Failure:
    return Failure(SCHEMA_VIOLATION, kind, message)


def read_number(value: Mapping[str, Json], key: str, limits: tuple[float, float] | None) -> float | Failure | None:
    """A finite number, None if the key is absent or null, or a Failure."""
    number = value.get(key)
    if number is None:
        return None
    if isinstance(number, bool) or not isinstance(number, (int, float)):
        return violates(f"{key} must be a number, not {describe(number)}")
    try:
        number = float(number)
    except OverflowError:
        return violates(f"{key} is too large for a number", "out of range")
    if number != number or number in (float("inf"), float("-inf")):
        return violates(f"{key} must be finite, not {number}", "out of range")
    if abs(number) > LARGEST:
        return violates(f"{key} {number:g} is too large for a number", "out of range")
    if limits is not None and not limits[0] <= number <= limits[1]:
        return violates(
            f"{key} {number:g} is outside the declared range {limits[0]:g} to {limits[1]:g}", "out of range"
        )
    return number


def lead_over_orders(votes: Sequence[Vote], labels: Sequence[str], orders: Sequence[str | None]) -> str | None:
    """The label with the highest share of votes, averaged *within* each order first: a judge that follows the position ties,
    also when some calls of one order failed. Compared as integers, so that thirds tie exactly.
    """
    tallies = [[vote.label for vote in votes if vote.order == order and vote.label is not None] for order in orders]
    if not any(tallies):
        return without_votes(votes)
    if not all(tallies):
        return INCOMPLETE
    product = 1
    for tally in tallies:
        product *= len(tally)
    shares = {label: sum(tally.count(label) * (product // len(tally)) for tally in tallies) for label in labels}
    best = max(shares.values(), default=0)
    leading = [label for label, share in shares.items() if share == best]
    return leading[0] if len(leading) == 1 else TIE


def read_reason(value: Mapping[str, Json]) -> str:
    """``reason``, else ``reasoning``, if it is a string."""
    for key in ("reason", "reasoning"):
        text = value.get(key)
        if isinstance(text, str):
            return text
    return ""


def describe(value: Json) -> str:
    try:
        text = repr(value)
    except Exception:  # an answer may be any object: too deep, too long a number, any __repr__
        text = "(cannot be shown)"
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:60] + '...'}"


def without_votes(votes: Sequence[Vote]) -> str:
    """The label of an outcome to which no vote for a label came: failures weigh more than abstentions."""
    return ABSTAINED if votes and all(vote.abstained for vote in votes) else INVALID


def result_of(label: str | None, gold: str | None) -> str:
    """What an outcome's label is against the gold label."""
    if gold is None or label is None:
        return UNLABELLED
    if label in (TIE, ABSTAINED, INCOMPLETE, INVALID):
        return label
    return CORRECT if label == gold else WRONG
