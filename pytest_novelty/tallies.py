"""Counted votes: the votes they were, and what no run counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from pytest_novelty.model import ABSTAINED, ERROR, INCOMPLETE, INVALID, NOT_NOVEL, NOVEL, OK, TIE, Vote
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.protocols.base import LARGEST

Tallies: TypeAlias = Sequence[tuple[str | None, tuple[int, ...]]]
"""(order or None, votes for the first label, the second, ties, abstentions, failed calls)."""

WITHOUT_NAME: Final = (TIE, ABSTAINED, INCOMPLETE, INVALID)
"""Labels that name nothing of an instance."""

_STAND_INS: Final = ("\0first", "\0second")


class Contradiction(ValueError):
    """What can be read, and no run writes."""


def votes_of(tallies: Tallies, scores: Sequence[float], names: Sequence[str]) -> list[Vote]:
    """The votes as far as counts tell: which was which is not kept. ``names``: the first label, the second."""
    known = (*names, TIE)
    votes: list[Vote] = []
    left = list(scores)
    for order, counts in tallies:
        kinds = [place for place, count in enumerate(counts) for _ in range(count)]
        scores_alone = len(left) if not any(counts[:4]) and order is None else 0
        for sample, place in enumerate(kinds):
            label = known[place] if place < 3 else None
            score = left.pop(0) if left and place < 3 else None
            votes.append(Vote(order, sample, ERROR if place == 4 else OK, "", label, score, place == 3))
        votes += [Vote(order, len(kinds) + k, OK, "", None, left.pop(0)) for k in range(scores_alone)]
    return votes


def check_votes(tallies: Tallies, scores: Sequence[float], votes: int) -> None:
    """Raise Contradiction for votes that no run under ``votes`` an order counts."""
    if len(dict(tallies)) < len(tallies):
        raise Contradiction("an order is there twice")
    for order, counts in tallies:
        if sum(counts) > votes:
            raise Contradiction(f"{sum(counts)} votes are counted, and {votes} were asked for")
        if not any(counts) and (order is not None or not scores):
            raise Contradiction("no vote is counted")
    if len(scores) > votes * max(len(tallies), 1):
        raise Contradiction(f"{len(scores)} scores of {votes} votes")
    for score in scores:
        if not abs(score) <= LARGEST:
            raise Contradiction(f"the score {score:g} is no number that a judge can give")


def check_label(label: str | None, tallies: Tallies, scores: Sequence[float], names: Sequence[str] = ()) -> None:
    """Raise Contradiction for a label that does not follow from the votes. Where only scores were given, a threshold decides, and
    either label may be. ``names``: the labels that the counts are of; without them the two cannot be told apart.
    """
    if scores and not any(any(counts[:3]) for _, counts in tallies):
        possible = _by_scores(tallies, len(scores))
    else:
        orders = [order for order, _ in tallies]
        protocol = PROTOCOLS["pairwise" if any(orders) else "pointwise"]
        told = names or (_STAND_INS if any(orders) else (NOVEL, NOT_NOVEL))
        possible = {protocol.aggregate(votes_of(tallies, scores, told), told, orders)}
    if possible <= set(_STAND_INS):
        if label is None or label in WITHOUT_NAME:
            raise Contradiction(f"the label is {label or 'null'}, and the votes have a winner")
    elif label not in possible:
        said = " or ".join(sorted(str(each or "null") for each in possible))
        raise Contradiction(f"the label is {label or 'null'}, and the votes say {said}")


def _by_scores(tallies: Tallies, scores: int) -> set[str | None]:
    """The labels that so many scores without a vote for a label may have. One that abstains may give a score as well."""
    abstained, failed = (sum(counts[place] for _, counts in tallies) for place in (3, 4))
    possible: set[str | None] = {None, NOVEL, NOT_NOVEL}
    if 0 < abstained >= scores:
        possible.add(INVALID if failed else ABSTAINED)
    return possible
