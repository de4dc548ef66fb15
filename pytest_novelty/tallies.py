"""Counted votes: the votes they were, and what no run counts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, TypeAlias

from pytest_novelty.labels_as_text import WITHOUT_NAME, Contradiction, write_label
from pytest_novelty.model import ABSTAINED, ERROR, INVALID, OK, TIE, Vote
from pytest_novelty.protocols import Protocol
from pytest_novelty.protocols.base import LARGEST

Tallies: TypeAlias = Sequence[tuple[str | None, tuple[int, ...]]]
"""(order or None, (votes for each of the names in turn, ties, abstentions, failed calls))."""

_STAND_INS: Final = ("\0first", "\0second")


def votes_of(tallies: Tallies, scores: Sequence[float], names: Sequence[str]) -> list[Vote]:
    """The votes as far as counts tell: which was which is not kept. ``names``: the labels that are counted, in turn."""
    known = (*names, TIE)
    votes: list[Vote] = []
    left = list(scores)
    for order, counts in tallies:
        kinds = [place for place, count in enumerate(counts) for _ in range(count)]
        scores_alone = len(left) if not any(counts[:-1]) and order is None else 0
        for sample, place in enumerate(kinds):
            label = known[place] if place < len(known) else None
            score = left.pop(0) if left and label is not None else None
            abstained, failed = place == len(known), place > len(known)
            votes.append(Vote(order, sample, ERROR if failed else OK, "", label, score, abstained))
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


def check_label(
    label: str | None, tallies: Tallies, scores: Sequence[float], protocol: Protocol, names: Sequence[str] = ()
) -> None:
    """Raise Contradiction for a label that does not follow from the votes. Where only scores were given, a threshold decides, and
    either label may be. ``names``: the labels that are counted, where the protocol has none of its own; without them the two
    that an instance has cannot be told apart.
    """
    orders = [order for order, _ in tallies]
    if not set(orders) <= set(protocol.orders("both")):
        raise Contradiction(f"these are no votes of the protocol {protocol.name}")
    if scores and protocol.score_key is None:
        raise Contradiction(f"it has scores, and the protocol {protocol.name} knows none")
    told = protocol.labels or names or protocol.gold_labels(_STAND_INS)
    if scores and not any(any(counts[:-2]) for _, counts in tallies):
        possible = _by_scores(tallies, len(scores), told)
    else:
        possible = {protocol.aggregate(votes_of(tallies, scores, told), told, orders)}
    if possible <= set(_STAND_INS):
        if label is None or label in WITHOUT_NAME:
            raise Contradiction(f"the label is {write_label(label, protocol)}, and the votes have a winner")
    elif label not in possible:
        said = " or ".join(sorted(write_label(each, protocol) for each in possible))
        raise Contradiction(f"the label is {write_label(label, protocol)}, and the votes say {said}")


def _by_scores(tallies: Tallies, scores: int, names: Sequence[str]) -> set[str | None]:
    """The labels that so many scores without a vote for a label may have. One that abstains may give a score as well."""
    abstained, failed = (sum(counts[place] for _, counts in tallies) for place in (-2, -1))
    possible: set[str | None] = {None, *names}
    if 0 < abstained >= scores:
        possible.add(INVALID if failed else ABSTAINED)
    return possible
