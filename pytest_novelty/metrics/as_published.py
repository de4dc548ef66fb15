"""A view's figures by the rules of the benchmark's release (``published``), each beside ours.

A sample is a vote of the first order shown: the release shows papers in one order. Ours are over the votes of all orders. Answers
are read by our parsers; what is no valid verdict is a failed sample of the release.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from pytest_novelty.metrics import cascade
from pytest_novelty.metrics.cascade import TRUE, Cascade, Cell
from pytest_novelty.metrics.grounded import counts_of, is_settled, needs_audit
from pytest_novelty.metrics.sampled import Counted, average
from pytest_novelty.metrics.view import View
from pytest_novelty.model import Ground, Instance, Vote
from pytest_novelty.protocols.grouping import groups_of
from pytest_novelty.published import (
    STATUSES,
    Flow,
    Groups,
    PairRecord,
    PositiveRecord,
    Spread,
    flow_of_groups,
    hallucination_rate_of_dimension,
    hallucination_rate_of_groups,
    hallucination_rate_of_samples,
    mean_flow,
    mismatch_rate_of_samples,
    pairs_of,
    score_flow_samples,
    score_grouping_samples,
    score_pair_samples,
    score_pairs,
    spread,
)
from pytest_novelty.verdicts import NOT_SIMILAR, SIMILAR, Released

CORRECTNESS: Final = "correctness"
EVIDENCE: Final = "evidence"
REASONS: Final = "reasons"
VERIFIED: Final = "verified"

NOT_TOLD: Final = "the answers' texts were not kept, so that the release's matcher cannot be asked"

_VERIFIED, _LOST, _MISMATCHED, _UNCHECKED = STATUSES


@dataclass(frozen=True)
class Figure:
    """One figure of the release.

    ``dimension``: None for all together. ``value``: the mean over samples, None where undefined; ``sd``: their sample standard
    deviation, None where there is one sample or the release has none. ``ours``: our figure, of ``metric``; None where undefined.
    ``differs``: the rules that differ, words of ``RULES``.
    """

    stage: str
    name: str
    dimension: str | None
    value: float | None
    sd: float | None
    per_sample: tuple[float | None, ...]
    ours: float | None
    metric: str
    differs: str


@dataclass(frozen=True)
class AsPublished:
    """``samples``: how many; ``order``: the order shown that they are of. ``notes``: what the figures leave out or rest on."""

    samples: int
    order: str | None
    figures: tuple[Figure, ...]
    notes: tuple[str, ...]


def score_as_published(view: View) -> AsPublished:
    """Everything that the release would report of a view."""
    items = [_item(view, place) for place in range(len(view))]
    samples = max((len(item.votes) for item in items), default=0)
    make = _of_groupings if view.suite.protocol == "grouping" else _of_pairs
    is_told = all(item.is_told for item in items)
    figures = tuple(make(view, items, samples))
    if not is_told:
        figures = tuple(figure for figure in figures if figure.stage == CORRECTNESS)
    order = view.orders[0] if view.orders else None
    return AsPublished(samples, order, figures, tuple(_notes(view, items, is_told)))


# --- the release's records --------------------------------------------------------------------------------------


class _Item(NamedTuple):
    instance: Instance
    votes: tuple[Vote, ...]  # of the first order, by sample

    @property
    def survivors(self) -> tuple[Vote, ...]:
        return tuple(vote for vote in self.votes if vote.label is not None)

    @property
    def label(self) -> int | None:
        """Of two papers."""
        return None if self.instance.gold is None else int(self.instance.gold == SIMILAR)

    @property
    def gold(self) -> Groups:
        """Of more; a set that nobody labelled has no groups."""
        return self.places(self.instance.gold or "[]")

    def places(self, label: str) -> list[list[int]]:
        known = {idea.id: place for place, idea in enumerate(self.instance.ideas)}
        return [sorted(known[member] for member in group) for group in groups_of(label)]

    @property
    def is_told(self) -> bool:
        """It is known what the release's matcher says of every statement."""
        return all(released is not None for vote in self.survivors for _, released in _statements(self, vote))

    def at(self, sample: int) -> Vote | None:
        """The vote whose prediction stands for a sample of two papers (``PairRecord.at``): in all stages the same."""
        kept = self.survivors
        return kept[sample] if sample < len(kept) else (kept[0] if kept else None)


def _item(view: View, place: int) -> _Item:
    votes = view.results[place].outcome.votes
    first = view.orders[0]
    own = sorted((vote for vote in votes if vote.order == first), key=lambda vote: vote.sample)
    return _Item(view.instances[place], tuple(own))


def _statements(item: _Item, vote: Vote) -> Iterator[tuple[tuple[int, ...], Released | None]]:
    """The positive statements of a vote, members by place, with what the release makes of their evidence."""
    places = {idea.id: place for place, idea in enumerate(item.instance.ideas)}
    known: dict[tuple[int, ...], Ground] = {
        tuple(sorted(places[member] for member in ground.members)): ground for ground in vote.grounds
    }
    if vote.label in (SIMILAR, NOT_SIMILAR):
        groups = [[0, 1]] if vote.label == SIMILAR else []
    else:
        groups = item.places(vote.label or "[]")
    for members in groups:
        ground = known.get(tuple(members))
        yield tuple(members), None if ground is None else ground.released


def _status(released: Released | None) -> str:
    if released is None:
        return _UNCHECKED
    if PositiveRecord(released.classes).is_hallucinated:
        return _LOST
    return {True: _VERIFIED, False: _MISMATCHED, None: _UNCHECKED}[released.supported]


def _opinion(released: Released | None) -> bool | None:
    return None if released is None or _status(released) == _LOST else released.supported


def _evidence(released: Released | None) -> PositiveRecord:
    return PositiveRecord(released.classes) if released is not None else PositiveRecord((), known=False)


RULES: Final = {
    "failures": "left out (ours: misses)",
    "0/0": "is 0 (ours: undefined, or 1 where both gold and answer are empty)",
    "matcher": "4-grams, of all that the suite has of a paper (ours: aligned, with what was shown)",
    "empty": "a span that is missing passes (ours: a failure of its own)",
    "quotes": "the auditor reads spans as the judge wrote them (ours: as the source has them)",
    "unit": "groups (ours: pairs of papers)",
}
"""What the release does otherwise than we, by the word that a figure has for it."""

# --- figures ----------------------------------------------------------------------------------------------------

_DROPS: Final = "failures, 0/0"


def _of_pairs(view: View, items: Sequence[_Item], samples: int) -> Iterator[Figure]:
    ours = _Ours(view)
    for dimension, own in _by_dimension(items, also_all=True):
        records = [PairRecord(item.label, tuple(_said(vote) for vote in item.votes)) for item in own]
        alone = score_pairs(records)._asdict()
        for name, found in score_pair_samples(records, samples).items():
            told = found if samples > 1 else _alone(alone[name])
            yield _figure(CORRECTNESS, name, dimension, told, ours.of(name, dimension), name, _DROPS)
    positives = {
        side: [list(_positives(items, sample, label)) for sample in range(samples)] for side, label in _LABELS.items()
    }
    for side, label in _LABELS.items():
        name, metric = f"hallucination_{side}", f"hallucination_rate{_SUFFIX[side]}"
        rate = hallucination_rate_of_samples([list(map(_evidence, sample)) for sample in positives[side]])
        yield _figure(EVIDENCE, name, None, rate, ours.of(metric), metric, "matcher, empty")
        for dimension, own in (
            _by_dimension(items) if samples == 1 else ()
        ):  # the release has it of a single sample only
            among = _alone(hallucination_rate_of_dimension(list(map(_evidence, _positives(own, 0, label)))))
            yield _figure(EVIDENCE, name, dimension, among, ours.of(metric, dimension), metric, "matcher, empty")
    yield from _mismatches(positives, ours, grouping=False)
    for dimension, own in _by_dimension(items):
        yield from _flows([_flow_of_pairs(own, sample) for sample in range(samples)], dimension, ours)


_LABELS: Final = {"tp": 1, "fp": 0}
_SUFFIX: Final = {"tp": "", "fp": "_false"}
"""Of our rates."""


def _said(vote: Vote) -> int | None:
    return None if vote.label is None else int(vote.label == SIMILAR)


def _positives(items: Iterable[_Item], sample: int, label: int) -> Iterator[Released | None]:
    for item in items:
        vote = item.at(sample)
        if item.label == label and vote is not None:
            yield from (released for _, released in _statements(item, vote))


def _flow_of_pairs(items: Sequence[_Item], sample: int) -> Flow:
    statuses = [_status(released) for released in _positives(items, sample, 1)]
    said = [(item.label, _said(vote)) for item in items if (vote := item.at(sample)) is not None]
    parts = {status: statuses.count(status) for status in STATUSES}
    return Flow(**parts, fp=said.count((0, 1)), fn=said.count((1, 0)))


def _of_groupings(view: View, items: Sequence[_Item], samples: int) -> Iterator[Figure]:
    ours = _Ours(view)
    for dimension, own in _by_dimension(items, also_all=True):
        records = [[(_predicted(item, sample), item.gold) for item in own] for sample in range(samples)]
        for name, found in score_grouping_samples(records).items():
            kind, _, metric = name.partition("_")
            value = ours.macro(metric, dimension) if kind == "macro" else ours.of(metric, dimension)
            yield _figure(CORRECTNESS, name, dimension, found, value, f"pair_{metric}", _DROPS)
    groups = [[found for item in items for found in _groups(item, sample)] for sample in range(samples)]
    rate = spread(hallucination_rate_of_groups([_evidence(one) for _, one in each]) for each in groups if each)
    metric = "hallucination_rate_all"
    yield _figure(EVIDENCE, "hallucination_groups", None, rate, ours.of(metric), metric, "matcher, unit")
    sides = {
        side: [[one for is_right, one in each if is_right is bool(label)] for each in groups]
        for side, label in _LABELS.items()
    }
    yield from _mismatches(sides, ours, grouping=True)
    for dimension, own in _by_dimension(items):
        flows = [flow_of_groups((_with_status(item, sample), item.gold) for item in own) for sample in range(samples)]
        yield from _flows(flows, dimension, ours)


def _predicted(item: _Item, sample: int) -> Groups | None:
    label = item.votes[sample].label if sample < len(item.votes) else None
    return None if label is None else item.places(label)


def _groups(item: _Item, sample: int) -> Iterator[tuple[bool, Released | None]]:
    """The predicted groups: whether all pairs of one are gold, and its evidence."""
    for members, released in _statements(item, item.votes[sample]) if sample < len(item.votes) else ():
        yield pairs_of([members]) <= pairs_of(item.gold), released


def _with_status(item: _Item, sample: int) -> list[tuple[Sequence[int], str]] | None:
    if _predicted(item, sample) is None:
        return None
    return [(members, _status(released)) for members, released in _statements(item, item.votes[sample])]


def _mismatches(
    sides: Mapping[str, Sequence[Sequence[Released | None]]], ours: _Ours, *, grouping: bool
) -> Iterator[Figure]:
    """``sides``: the statements of each sample, right and wrong ones."""
    differs = "quotes, unit" if grouping else "quotes, 0/0"
    for side, found in sides.items():
        opinions = [[_opinion(one) for one in sample] for sample in found]
        rate, metric = mismatch_rate_of_samples(opinions, grouping=grouping), f"mismatch_rate{_SUFFIX[side]}"
        yield _figure(REASONS, f"mismatch_{side}", None, rate, ours.of(metric), metric, differs)


def _flows(flows: Sequence[Flow], dimension: str | None, ours: _Ours) -> Iterator[Figure]:
    for name, found in score_flow_samples(flows).items():
        metric = f"verified_{name}"
        yield _figure(VERIFIED, metric, dimension, found, ours.of(metric, dimension), metric, "matcher, empty")
    for part, mean in mean_flow(flows).items():
        shares = tuple(getattr(flow, part) / flow.tp if flow.tp else 0.0 for flow in flows)
        value, metric = ours.share(part, dimension), _SHARES[part]
        yield Figure(VERIFIED, f"tp_flow_{part}", dimension, mean, None, shares, value, metric, "matcher, 0/0")


_SHARES: Final = {
    "verified": "verified_rate",
    "hallucinated": "hallucination_rate",
    "mismatched": "",  # ours has no metric of this name
    "unchecked": "unchecked_rate",
}


def _alone(value: float | None) -> _Value:
    """Of a single sample, in which the release leaves undefined what is."""
    return _Value(value, None, (value,))


class _Value(NamedTuple):
    mean: float | None
    std: float | None
    per_sample: tuple[float | None, ...]


def _figure(
    stage: str, name: str, dimension: str | None, found: Spread | _Value, ours: float | None, metric: str, differs: str
) -> Figure:
    sd = found.std if len(found.per_sample) > 1 else None
    return Figure(stage, name, dimension, found.mean, sd, found.per_sample, ours, metric, differs)


def _by_dimension(items: Sequence[_Item], *, also_all: bool = False) -> Iterator[tuple[str | None, list[_Item]]]:
    """The items of each dimension, all of them first if asked for; of a suite with one dimension then that alone."""
    found: dict[str, list[_Item]] = {}
    for item in items:
        found.setdefault(item.instance.dimension, []).append(item)
    if also_all and len(found) > 1:
        yield None, list(items)
    for dimension in sorted(found):
        yield dimension, found[dimension]


class _Ours:
    """Our figures without their intervals, which stand in the report already."""

    def __init__(self, view: View) -> None:
        self._counts = counts_of(view)
        self._is_settled = is_settled(view)
        self._dimensions = np.array([instance.dimension for instance in view.instances])

    def of(self, name: str, dimension: str | None = None) -> float | None:
        """Of all items together."""
        if needs_audit(name) and not self._is_settled:
            return None
        return average(cascade.sampled(self._among(dimension), name).value)

    def macro(self, name: str, dimension: str | None = None) -> float | None:
        """As a mean over sets."""
        return average(cascade.sampled_by_item(self._among(dimension), name).value)

    def share(self, part: str, dimension: str | None) -> float | None:
        """Of a part in the true positives."""
        if name := _SHARES[part]:
            return self.of(name, dimension)
        counts = self._among(dimension).counts
        among = counts[..., TRUE : TRUE + len(Cell)].sum(axis=-1)
        return average(Counted(counts[..., TRUE + Cell.MISMATCHED], among)) if self._is_settled else None

    def _among(self, dimension: str | None) -> Cascade:
        return self._counts if dimension is None else self._counts.only(self._dimensions == dimension)


# --- what is to be known of them --------------------------------------------------------------------------------


def _notes(view: View, items: Sequence[_Item], is_told: bool) -> Iterator[str]:
    if len(view.orders) > 1:
        yield "a sample is a vote of the first order shown, for the release has one; ours are over the votes of all orders"
    if failed := sum(len(item.votes) - len(item.survivors) for item in items):
        of = f"{failed} of {sum(len(item.votes) for item in items)} samples failed"
        if view.suite.protocol == "grouping":
            yield f"{of}: left out of precision, recall and F1, and misses in the verified ones; ours: misses in all"
        else:
            yield f"{of}: dropped, so that later ones take their place; ours: misses"
    if unlabelled := sum(item.instance.gold is None for item in items):
        what = "have no groups" if view.suite.protocol == "grouping" else "are in accuracy's denominator"
        yield f"{unlabelled} without a label {what}; ours: in none"
    if not is_told:
        yield f"evidence and reasons are left out: {NOT_TOLD}"
        return
    papers = {(idea.title, idea.text): idea for item in items for idea in item.instance.ideas}
    yield f"{sum(bool(idea.full_text) for idea in papers.values())} of {len(papers)} papers have a full text"
