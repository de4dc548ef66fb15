"""Recorded verdicts as today's run would have made them: what a threshold or an order less changes, the judge did not say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_novelty.golden import Entry, labels_of
from pytest_novelty.judges.base import Judge
from pytest_novelty.model import NOT_NOVEL, NOVEL, Instance, Suite
from pytest_novelty.outcomes import label_of_score
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.settings import Settings
from pytest_novelty.tallies import votes_of

_SAME_SCORE: Final = 2e-5
"""Relative; recorded scores have six digits."""


def same_scores(before: Sequence[float], after: Sequence[float]) -> bool:
    """As recorded; of unlike many votes the means count."""
    pairs = list(zip(sorted(before), sorted(after), strict=False))
    if before and after and len(before) != len(after):
        pairs = [(sum(before) / len(before), sum(after) / len(after))]
    return all(abs(one - other) <= _SAME_SCORE * max(abs(one), abs(other)) for one, other in pairs)


def relabel(before: Entry, after: Entry, judge: Judge, settings: Settings) -> Entry:
    """The recorded verdict with the label that its scores have today. Of one whose label does not follow from its scores, and of
    one that ``after`` says no label of that kind about, the verdict as it is.
    """
    if not (_is_by_scores(before) and _is_by_scores(after)):
        return before
    if len(before.scores) == len(after.scores) and same_scores(before.scores, after.scores):
        return before._replace(label=after.label)
    limit = judge.traits.threshold if settings.fixed_threshold is None else settings.fixed_threshold
    if limit is None:
        return before._replace(label=None)
    mean = sum(before.scores) / len(before.scores)
    if before.label is not None and abs(mean - limit) <= _SAME_SCORE * max(map(abs, (*before.scores, limit))):
        return before  # on which side it was, the recorded digits do not tell
    return before._replace(label=label_of_score(mean, limit, judge.traits.higher_is))


def _is_by_scores(entry: Entry) -> bool:
    voted = any(any(counts[:-2]) for _, counts in entry.tallies)
    return bool(entry.scores) and not voted and entry.label in (NOVEL, NOT_NOVEL, None)


def in_common_orders(before: Entry, after: Entry, suite: Suite, instance: Instance) -> tuple[Entry, Entry] | None:
    """Both verdicts by the votes in the orders that both have, with the labels that follow from these; None where they have
    none in common.
    """
    common = orders_of(before) & orders_of(after)
    if orders_of(before) == orders_of(after):
        return before, after
    if not common:
        return None
    known = labels_of(suite, instance)

    def only(entry: Entry) -> Entry:
        names = known or entry.names
        tallies = tuple((order, counts) for order, counts in entry.tallies if order in common)
        votes = votes_of(tallies, (), names)
        label = PROTOCOLS[suite.protocol].aggregate(votes, names, [order for order, _ in tallies])
        return entry._replace(label=label, tallies=tallies, scores=())  # which score was of which order is not kept

    return only(before), only(after)


def in_common_names(before: Entry, after: Entry) -> tuple[Entry, Entry]:
    """Both verdicts with votes counted for the labels that either has, where the instance has more than two."""
    names = tuple(sorted({*before.names, *after.names}))

    def counted(entry: Entry) -> Entry:
        def spread(counts: tuple[int, ...]) -> tuple[int, ...]:
            by_name = dict(zip(entry.names, counts, strict=False))
            return *(by_name.get(name, 0) for name in names), *counts[len(entry.names) :]

        return entry._replace(tallies=tuple((o, spread(counts)) for o, counts in entry.tallies), names=names)

    return (counted(before), counted(after)) if names else (before, after)


def orders_of(entry: Entry) -> set[str | None]:
    return {order for order, _ in entry.tallies}
