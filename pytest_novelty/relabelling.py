"""Recorded scores under today's threshold: what a threshold changes is no change of what the judge said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_novelty.golden import Entry
from pytest_novelty.judges.base import Judge
from pytest_novelty.model import NOT_NOVEL, NOVEL
from pytest_novelty.outcomes import label_of_score
from pytest_novelty.settings import Settings

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
    voted = any(any(counts[:3]) for _, counts in entry.tallies)
    return bool(entry.scores) and not voted and entry.label in (NOVEL, NOT_NOVEL, None)
