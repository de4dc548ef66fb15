"""Two judges on the same instances: paired, so that the instances' difficulty cancels out (STATISTICS.md 1 and 2)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Final

import numpy as np

from pytest_novelty.metrics import variants
from pytest_novelty.metrics.causes import find_move
from pytest_novelty.metrics.deferred import Computed, settle
from pytest_novelty.metrics.differences import STAR, Change, changes_later, difference, settle_changes
from pytest_novelty.metrics.intervals import paired_share_interval
from pytest_novelty.metrics.own_noise import flips_of_two_runs
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.permutation import holm, swap_test
from pytest_novelty.metrics.power import Seen, what_is_seen
from pytest_novelty.metrics.view import Estimate, View

_NOT_RANKED: Final = Estimate.undefined("only against a reference judge")


@dataclass(frozen=True)
class Comparison:
    """``first`` against ``second`` on the ``n`` instances that both judged.

    accuracy_difference: share right of first minus second (None without gold labels), with Tango's interval.
    p, p_holm: exact swap test of that difference, and adjusted over the pairs of judges on this suite, under all variants.
    flip_rate: share of instances with different outcome labels.
    vote_shift: root of the excess flip between the two judges' votes: how far their vote probabilities lie apart (RMS).
    rank_flip: share of pairs of ideas that their scores rank differently; only against a reference judge.
    shift_p, shift_p_holm: exchange test of the votes or, of judges on one scale, the scores, and adjusted likewise;
        ``by_scores``: it is of the scores. ``untested``: why there is none.
    changes: single metrics of first minus second, Holm-adjusted over all of them; only against a reference judge.
    transitions: outcomes of second (outer) that are outcomes of first (inner): counts of instances.
    seen: what the test would have seen with 80 % power. noise: where it saw one, the share of verdicts that the
        two judges' own noise would change.
    needed: about how many instances would decide the difference (80 % power); None if decided or hopeless.
    verified: of judges that cite evidence, verified F1 of first minus second, Holm-adjusted over the pairs of judges; undefined
        where they have other auditors, since one may be stricter than the other. None where nothing is audited.
    sentence, advice: the same in words, and what ``needed`` would cost (made by :mod:`pytest_novelty.comparing`).
    """

    first: str
    second: str
    suite: str
    variant: str
    n: int
    accuracy_difference: Estimate
    flip_rate: Estimate
    vote_shift: Estimate
    rank_flip: Estimate = _NOT_RANKED
    p: float | None = None
    p_holm: float | None = None
    needed: int | None = None
    shift_p: float | None = None
    shift_p_holm: float | None = None
    by_scores: bool = False
    untested: str = ""
    changes: tuple[Change, ...] = ()
    transitions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    seen: Seen = field(default_factory=Seen)
    noise: float | None = None
    sentence: str = ""
    advice: str = ""
    verified: Change | None = None

    @property
    def starred(self) -> bool:
        return self.p_holm is not None and self.p_holm <= STAR

    @property
    def shift_starred(self) -> bool:
        return self.shift_p_holm is not None and self.shift_p_holm <= STAR


Sides = Sequence[tuple[str, View]]
"""Judges and their views of one suite and variant."""


def compare_all(views: Mapping[str, Sides], against: str | None = None) -> list[Comparison]:
    """Under each variant every pair of judges; with ``against`` each other judge and that one. Holm is over all of these."""
    found: list[_Open] = []
    for variant, sides in views.items():
        matched = combinations(sides, 2) if against is None else _with(sides, against)
        found += [_Open(first, second, variant, Pair(one, other)) for (first, one), (second, other) in matched]
    shifts = settle([variants.vote_shift.later(item.pair) for item in found])
    changed = settle_changes([changes_later(item.pair) if against is not None else [] for item in found])
    compared = [_compare(item, shift) for item, shift in zip(found, shifts, strict=True)]
    p, shift_p = holm([item.p for item in compared]), holm([item.shift_p for item in compared])
    differences = _adjusted(changed)
    tested = sum(item.shift_p is not None for item in compared)
    noise: dict[int, float | None] = {}
    for place, item in enumerate(found):
        own_p, null = shift_p[place], item.causes.null
        moved = own_p is not None and own_p <= STAR
        compared[place] = replace(
            compared[place],
            p_holm=p[place],
            shift_p_holm=own_p,
            changes=differences[place],
            seen=what_is_seen(item.pair, null, STAR / max(1, tested), scores=item.pair.one_scale),
            noise=_mean([_own_flips(side, noise) for side in (item.pair.one, item.pair.other)]) if moved else None,
        )
    return compared


def compare_verified(found: Sequence[tuple[Pair, Sequence[str]]]) -> list[Change]:
    """The difference of verified F1 of each pair of judges, with the auditors whose word counts for the two."""
    later: list[tuple[Computed, float | None]] = []
    for pair, auditors in found:
        if len(set(auditors)) > 1:
            later.append((Estimate.undefined(f"other auditors: {' and '.join(auditors)}"), None))
        else:
            later.append(difference("verified_f1", pair, {}, {}))
    estimates = settle([computed for computed, _ in later])
    adjusted = holm([p for _, p in later])
    return [
        Change("verified_f1", estimate, p, own)
        for estimate, (_, p), own in zip(estimates, later, adjusted, strict=True)
    ]


def _adjusted(changed: Sequence[Sequence[Change]]) -> list[tuple[Change, ...]]:
    """Holm over all metrics, pairs and variants at once: a sentence names whichever are starred."""
    ps = iter(holm([change.p for own in changed for change in own]))
    return [tuple(replace(change, p_holm=next(ps)) for change in own) for own in changed]


class _Open:
    """Two judges under a variant, and what moves their votes apart."""

    def __init__(self, first: str, second: str, variant: str, pair: Pair) -> None:
        self.first, self.second, self.variant, self.pair = first, second, variant, pair
        self.causes = find_move(pair, scores=pair.one_scale)


def _with(sides: Sides, against: str) -> Iterable[tuple[tuple[str, View], tuple[str, View]]]:
    reference = next(((name, view) for name, view in sides if name == against), None)
    return [] if reference is None else [((name, view), reference) for name, view in sides if name != against]


def _own_flips(view: View, known: dict[int, float | None]) -> float | None:
    """A judge is compared with several, and its own noise is the same in all of them."""
    if id(view) not in known:
        known[id(view)] = flips_of_two_runs(view)
    return known[id(view)]


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if len(known) == len(values) else None


def _compare(item: _Open, shift: Estimate) -> Comparison:
    pair, causes = item.pair, item.causes
    suite = pair.one.suite.name
    if not len(pair):
        nothing = Estimate.undefined("no instance was judged by both")
        return Comparison(item.first, item.second, suite, item.variant, 0, nothing, nothing, nothing, nothing)
    difference, p, needed = _accuracy_difference(pair.one, pair.other)
    flip = variants.flip_rate(pair)
    if pair.unlabelled_sides:
        flip = Estimate.undefined("needs a label from both judges")
    untested = ""
    if causes.moved is None:
        scored = pair.one.scores_only and pair.other.scores_only and not pair.one_scale
        untested = "their scores are on two scales" if scored else shift.note
    return Comparison(
        item.first,
        item.second,
        suite,
        item.variant,
        len(pair),
        difference,
        flip,
        shift,
        p=p,
        untested=untested,
        needed=needed,
        shift_p=causes.moved,
        by_scores=causes.by_scores,
        transitions=variants.transitions(pair),
    )


def _accuracy_difference(one: View, other: View) -> tuple[Estimate, float | None, int | None]:
    if one.unlabelled or one.scores_only or other.scores_only or one.may_have_looked_up or other.may_have_looked_up:
        return Estimate.undefined("needs gold labels and a label from both judges"), None, None
    kept = one.labelled & other.labelled
    a, b = one.correct[kept], other.correct[kept]
    if not len(a):
        return Estimate.undefined("no labelled instance"), None, None
    clusters = one.clusters_of(kept)
    differences = a.astype(np.int64) - b.astype(np.int64)
    value = float(differences.mean())
    interval = paired_share_interval(a, b, clusters, one.level)
    p = swap_test(differences, clusters)
    note = f"only {one_sided(a, b)} right" if (a != b).any() else f"no difference in {len(a)}"
    low, high = (None, None) if interval is None else (interval.low, interval.high)
    estimate = Estimate(value, low, high, len(a), "Tango", note, float(differences.std()))
    return estimate, p, _needed(differences) if p > 0.05 else None


def one_sided(a: np.ndarray, b: np.ndarray) -> str:
    return f"first {int((a & ~b).sum())}, only second {int((b & ~a).sum())}"


def _needed(differences: np.ndarray) -> int | None:
    from pytest_novelty.metrics.planning import planned_n_mean

    value = float(differences.mean())
    needed = planned_n_mean(float(differences.std()), value, 0.0) if value else None
    return needed if needed is not None and needed <= 10 * len(differences) else None
