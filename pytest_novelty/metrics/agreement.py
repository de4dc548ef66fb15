"""Agreement of auditors with each other, and of one auditor with people.

An opinion is true (the reason is supported), false, or missing. Kappa is undefined where chance leaves no room: where both say
the same of everything. What somebody left open is left out and counted in the note.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Final

import numpy as np

from pytest_novelty.metrics.deferred import Computed, Pending, settle
from pytest_novelty.metrics.intervals import effective_share, share_interval, unit_interval, wilson
from pytest_novelty.metrics.resampling import (
    TOLERANCE,
    BoolArray,
    FloatArray,
    Interval,
    Statistic,
    evaluate,
    unit_rows,
)
from pytest_novelty.metrics.sampled import Units
from pytest_novelty.metrics.view import Estimate

Opinions = Sequence[bool | None]
"""What one auditor says of each item; None where it says nothing."""

_NO_ROOM: Final = "undefined: the same is said of everything"


@dataclass(frozen=True)
class AuditorAgreement:
    """Of several auditors. ``agreement`` and ``kappa`` by pair of names, each over the items that both answered; ``all_agree``
    and ``fleiss`` over those that all did. ``strata``: the same of some of the items, by stratum and value.
    """

    agreement: dict[tuple[str, str], Estimate]
    kappa: dict[tuple[str, str], Estimate]
    all_agree: Estimate
    fleiss: Estimate
    strata: Mapping[str, Mapping[str, AuditorAgreement]] = field(default_factory=dict)


@dataclass(frozen=True)
class Validation:
    """One auditor against people, for the class *unsupported*; ``table``: what the auditor says, then what the people say.
    ``strata``: the same of some of the items, by stratum and value.
    """

    agreement: Estimate
    kappa: Estimate
    precision: Estimate
    recall: Estimate
    f1: Estimate
    table: dict[tuple[str, str], int]
    strata: Mapping[str, Mapping[str, Validation]] = field(default_factory=dict)


def cohen_kappa(table: FloatArray) -> FloatArray:
    """Cohen's kappa (1960) of counts (..., K * K), one rater's labels by the other's; nan where undefined."""
    size = round(table.shape[-1] ** 0.5)
    counts = table.reshape(*table.shape[:-1], size, size)
    total = counts.sum(axis=(-2, -1))
    with np.errstate(divide="ignore", invalid="ignore"):
        seen = np.trace(counts, axis1=-2, axis2=-1) / total
        expected = (counts.sum(axis=-1) * counts.sum(axis=-2)).sum(axis=-1) / total**2
        return _beyond(seen, expected)


def fleiss_kappa(counts: FloatArray) -> float:
    """Fleiss' kappa (1971) of (items, labels) counts, the same number of raters (two or more) for each; nan where undefined."""
    counts = np.asarray(counts, dtype=np.float64)
    raters = counts.sum(axis=1)
    if len(counts) and ((raters != raters[0]).any() or raters[0] < 2):
        raise ValueError("Fleiss' kappa needs the same number of raters, two or more, for every item")
    return float(_fleiss(_fleiss_rows(counts).sum(axis=0)))


def _fleiss_rows(counts: FloatArray) -> FloatArray:
    """(items, 2 + labels): the share of the raters' pairs that agree, one, and the shares of the labels."""
    raters = counts.sum(axis=1, keepdims=True)
    agree = (counts * (counts - 1)).sum(axis=1, keepdims=True) / (raters * (raters - 1))
    return np.hstack([agree, np.ones_like(agree), counts / raters])


def _fleiss(sums: FloatArray) -> FloatArray:
    with np.errstate(divide="ignore", invalid="ignore"):
        seen = sums[..., 0] / sums[..., 1]
        expected = np.square(sums[..., 2:] / sums[..., 1, None]).sum(axis=-1)
        return _beyond(seen, expected)


def _beyond(seen: FloatArray, expected: FloatArray) -> FloatArray:
    room = 1.0 - expected
    return np.where(room > TOLERANCE, (seen - expected) / np.where(room > TOLERANCE, room, 1.0), np.nan)


def agree(units: Units, auditors: Mapping[str, Opinions]) -> AuditorAgreement:
    """How far auditors agree on the same items, in the same order. Raises ValueError for fewer than two, or unequal lengths.

    Agreement has Wilson's interval (over clusters that of a share), kappa the wider side of BCa over items (its undefined
    resamples counted) and of what Wilson's interval of the agreement gives where chance is as observed: the bootstrap of one that
    always agrees does not vary, nor does that of one who always says the same.
    """
    if len(auditors) < 2:
        raise ValueError(f"agreement needs two auditors or more, not {len(auditors)}")
    said = {name: _array(units, opinions, name) for name, opinions in auditors.items()}
    pairs = list(combinations(said, 2))
    jobs: list[Computed] = [_cohen(units, said[one], said[other]) for one, other in pairs]
    matrix = np.stack(list(said.values()))
    known = np.asarray(np.isfinite(matrix).all(axis=0))
    found = settle([*jobs, _fleiss_of(units, matrix, known)])
    return AuditorAgreement(
        {pair: _agreement(units, np.stack([said[pair[0]], said[pair[1]]])) for pair in pairs},
        dict(zip(pairs, found, strict=False)),
        _agreement(units, matrix),
        found[-1],
    )


def validate(units: Units, auditor: Opinions, people: Opinions) -> Validation:
    """An auditor's opinions against human labels (as NovGauge, appendix K.1). What either left open is out, and in the note.

    Precision, recall and F1 are those of *unsupported*: of what the auditor rejects, how much people reject, and the reverse.
    """
    said, true = _array(units, auditor, "the auditor"), _array(units, people, "the human labels")
    known = np.isfinite(said) & np.isfinite(true)
    rejects, rejected = (said == 0)[:, None] & known[:, None], (true == 0)[:, None] & known[:, None]
    hits, extra, missed = rejects & rejected, rejects & ~rejected, rejected & ~rejects
    jobs: list[Computed] = [_cohen(units, said, true)]
    jobs += [
        _ratio(units, known, hits, hits + 1.0 * extra, is_share=True),
        _ratio(units, known, hits, hits + 1.0 * missed, is_share=True),
        _ratio(units, known, hits, hits + 0.5 * extra + 0.5 * missed),
    ]
    kappa, precision, recall, f1 = settle(jobs)
    names = {1.0: "supported", 0.0: "unsupported"}
    table = {(names[a], names[b]): int(((said == a) & (true == b)).sum()) for a in (1.0, 0.0) for b in (1.0, 0.0)}
    return Validation(_agreement(units, np.stack([said, true])), kappa, precision, recall, f1, table)


def _array(units: Units, opinions: Opinions, name: str) -> FloatArray:
    if len(opinions) != len(units):
        raise ValueError(f"{name}: expected opinions on {len(units)} items, got {len(opinions)}")
    return np.array([np.nan if opinion is None else float(opinion) for opinion in opinions], dtype=np.float64)


def _left_out(known: BoolArray) -> str:
    missing = int((~known).sum())
    return f"{missing} of {len(known)} items without an opinion of each left out" if missing else ""


def _agreement(units: Units, said: FloatArray) -> Estimate:
    """The share of items of which all, (raters, items), say the same."""
    known = np.asarray(np.isfinite(said).all(axis=0))
    note = _left_out(known)
    if not known.any():
        return Estimate.undefined(note or "no items")
    same = (said[:, known] == said[0, known]).all(axis=0).astype(np.float64)
    clusters = units.clusters_of(known)
    if clusters is None:
        interval = wilson(float(same.mean()), len(same), units.level)
    else:
        interval = share_interval(same > 0, clusters, units.level)
    return _estimate(float(same.mean()), interval, len(same), note)


def _cohen(units: Units, one: FloatArray, other: FloatArray) -> Computed:
    known = np.isfinite(one) & np.isfinite(other)
    cells = np.stack([(one == a) & (other == b) for a in (0.0, 1.0) for b in (0.0, 1.0)], axis=-1)[known]
    same = (one == other)[known].astype(np.float64)
    shares = [(said[known] == 1).mean() if len(same) else 0.0 for said in (one, other)]
    chance = float(shares[0] * shares[1] + (1 - shares[0]) * (1 - shares[1]))
    return _kappa(
        units, known, Statistic(cells.astype(np.float64), cohen_kappa, units.clusters_of(known)), same, chance
    )


def _fleiss_of(units: Units, said: FloatArray, known: BoolArray) -> Computed:
    counts = np.stack([(said[:, known] == label).sum(axis=0) for label in (0.0, 1.0)], axis=-1).astype(np.float64)
    rows = _fleiss_rows(counts)
    chance = float(np.square(rows[:, 2:].mean(axis=0)).sum()) if len(rows) else 0.0
    return _kappa(units, known, Statistic(rows, _fleiss, units.clusters_of(known)), rows[:, 0], chance)


def _kappa(units: Units, known: BoolArray, stat: Statistic, same: FloatArray, chance: float) -> Computed:
    """``same``: of each item the share of pairs of raters that agree, (items,); ``chance``: how many would by chance."""
    note, n = _left_out(known), int(known.sum())
    if not n:
        return Estimate.undefined(note or "no items")
    value = float(evaluate(stat, stat.rows.sum(axis=0)))
    if not np.isfinite(value):
        return Estimate.undefined("; ".join(filter(None, (note, _NO_ROOM))), n)
    resampler = units.resampler(len(unit_rows(stat)))
    n_eff = effective_share(same, stat.clusters, units.level)
    room = 1.0 - chance

    def finish(core: Interval | None) -> Estimate:
        return _estimate(value, _wider(core, float(same.mean()), room, n_eff, units.level), n, note)

    return Pending(stat, resampler, units.level, finish)


def _wider(core: Interval | None, seen: float, room: float, n_eff: float | None, level: float) -> Interval | None:
    """Both sides' wider bound of the bootstrap and of Wilson's interval of the agreement ``seen``, where chance leaves ``room``.
    None for a single cluster.
    """
    score = None if n_eff is None else wilson(min(1.0, seen), n_eff, level)
    if score is None:
        return None
    low, high = (1 - (1 - bound) / room for bound in (score.low, score.high))
    if core is None:
        return Interval(max(-1.0, low), min(1.0, high), "Wilson")
    return Interval(max(-1.0, min(core.low, low)), min(1.0, max(core.high, high)), f"{core.method}/Wilson")


def _ratio(units: Units, known: BoolArray, events: BoolArray, of: FloatArray, *, is_share: bool = False) -> Computed:
    """Sums of events over sums of the other, (items, 1) each: an F1, or the share of the items in its denominator.
    The interval is that of the metric of this name.
    """
    counted = known & (of[:, 0] > 0)
    among = counted if is_share else known
    rows = np.hstack([events, of]).astype(np.float64)[among]
    stat = Statistic(rows, lambda sums: np.asarray(sums[..., 0] / sums[..., 1]), units.clusters_of(among))
    note, n, cap = _left_out(known), int(counted.sum()), None if is_share else 4 * len(rows)
    if not n:
        return Estimate.undefined("; ".join(filter(None, (note, "0 of 0"))))
    value = float(evaluate(stat, rows.sum(axis=0)))
    resampler = units.resampler(len(unit_rows(stat)))

    def finish(core: Interval | None) -> Estimate:
        interval = unit_interval(stat, denominators=n, cap=cap, resampler=resampler, level=units.level, bootstrap=core)
        return _estimate(value, interval, n, note)

    return Pending(stat, resampler, units.level, finish)


def _estimate(value: float, interval: Interval | None, n: int, note: str) -> Estimate:
    found = Estimate(value, None, None, n, "", note)
    if interval is None:
        return replace(found, note=note or "too few items for an interval")
    return replace(found, low=interval.low, high=interval.high, method=interval.method)
