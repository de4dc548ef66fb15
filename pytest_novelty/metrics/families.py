"""The largest, the smallest and the mean of a metric over the variants of a run (STATISTICS.md 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import numpy as np

from pytest_novelty.metrics.catalogue import ROOT, SCORE, SHARE, SIGNED, UNIT, Entry, Metric, PairMetric
from pytest_novelty.metrics.deferred import Computed, settle, then
from pytest_novelty.metrics.estimating import excess_mean, mean_in_unit, root, signed_mean
from pytest_novelty.metrics.pairing import SAME_CALLS, Pair
from pytest_novelty.metrics.score_pairs import score_span
from pytest_novelty.metrics.view import Estimate, View

_ENDS = {SHARE: (0.0, 1.0), UNIT: (0.0, 1.0), ROOT: (0.0, 1.0), SIGNED: (-1.0, 1.0)}
"""Scores have none that all judges share: the interval is then open."""

MAX, MIN, MEAN = "max", "min", "mean"

Member: TypeAlias = View | Pair
"""What the metric is computed from, for one variant."""


def over_variants(entry: Entry, members: Mapping[str, Member], over: str) -> Estimate:
    """``entry`` over ``members`` (by variant): its ``max``, ``min`` or ``mean``, with an interval.

    Variants for which it is undefined are named in the note and left out; undefined if it is for all. Unless one only repeats
    the reference's calls, the interval is then open to the far side.
    """
    if not members:
        return Estimate.undefined("no variant was run")
    if over == MEAN:
        return _mean(entry, members)
    level = next(iter(members.values()))
    base = (level.one if isinstance(level, Pair) else level).level
    strict = 1 - (1 - base) / len(members)
    found = compute_all(entry, list(members.values()))
    known = {name: estimate for name, estimate in zip(members, found, strict=True) if estimate.value is not None}
    if not known:
        return Estimate.undefined(found[0].note)
    again = compute_all(entry, [members[name].at_level(strict) for name in known])
    estimate = extreme(known, dict(zip(known, again, strict=True)), over)
    estimate = replace(estimate, note=_joined(estimate.note, _undefined(members, known)))
    untold = [one for one in found if one.value is None and not one.note.startswith(SAME_CALLS)]
    return _open_ended(estimate, entry, over) if untold else estimate


def _open_ended(estimate: Estimate, entry: Entry, over: str) -> Estimate:
    """Of a variant that gave no estimate (no valid votes, say) anything may be true: no gate may pass for want of it."""
    ends = _ENDS.get(entry.kind)
    if over == MAX:
        return replace(estimate, high=None if ends is None else ends[1], is_open=True)
    return replace(estimate, low=None if ends is None else ends[0], is_open=True)


def extreme(usual: Mapping[str, Estimate], strict: Mapping[str, Estimate], over: str) -> Estimate:
    """The largest of V estimates: its interval is [largest lower bound at level 1 - .05/V, largest upper bound at 95 %].

    A gate that it must stay below passes only if every variant does, which needs no correction; it fails if one does, and
    uncorrected the largest of twelve would fail falsely in 35 %. The smallest: the mirror image.
    """
    largest = over == MAX
    pick = max if largest else min
    name = pick(usual, key=lambda one: usual[one].value or 0.0)
    near = [(strict[one].low if largest else strict[one].high) for one in usual]
    far = [(usual[one].high if largest else usual[one].low) for one in usual]
    chosen = usual[name]
    note = f"{'most' if largest else 'least'} under {name}"
    note = _joined(note, chosen.note)
    bounds = [one.bounds or (one.value or 0.0, one.value or 0.0) for one in usual.values()]
    if any(one.bounds for one in usual.values()):
        ends = pick(low for low, _ in bounds), pick(high for _, high in bounds)
        chosen = replace(chosen, bounds=ends, unaudited=sum(one.unaudited for one in usual.values()))
    if any(bound is None for bound in (*near, *far)):
        return replace(chosen, low=None, high=None, note=note, values=None)
    inner, outer = pick(b for b in near if b is not None), pick(b for b in far if b is not None)
    low, high = (inner, outer) if largest else (outer, inner)
    method = chosen.method if len(usual) == 1 else f"{chosen.method}, {over} of {len(usual)}"
    return replace(chosen, low=low, high=high, method=method, note=note, values=None)


def _mean(entry: Entry, members: Mapping[str, Member]) -> Estimate:
    """Per instance the mean over the variants (those that all variants have judged), then the mean over instances."""
    shared = set.intersection(*({result.instance for result in _view(member).results} for member in members.values()))
    narrowed = {name: _restricted(member, shared) for name, member in members.items()}
    found = compute_all(entry, list(narrowed.values()))
    known = {name: one for name, one in zip(members, found, strict=True) if one.value is not None}
    if not known:
        return Estimate.undefined(found[0].note)
    untold = sum(one.value is None and not one.note.startswith(SAME_CALLS) for one in found)
    values = [one.values for one in known.values() if one.values is not None]
    if len(values) < len(known):
        return Estimate.undefined(f"{entry.name} is no mean over instances")
    table = np.stack(values)
    there = np.isfinite(table)
    with np.errstate(invalid="ignore"):
        means = np.where(there, table, 0.0).sum(axis=0) / there.sum(axis=0)
    note = _joined("" if len(known) == 1 else f"over {len(known)} variants", _undefined(members, known))
    view = _view(next(iter(narrowed.values())))
    computed: Computed
    if entry.kind == ROOT:
        computed = then(excess_mean(view, means, note), root)
    elif entry.kind == SIGNED:
        computed = excess_mean(view, means, note) if entry.is_excess else signed_mean(view, means, note)
    elif entry.kind == SCORE:
        span = max(score_span(member) for member in narrowed.values() if isinstance(member, Pair))
        computed = signed_mean(view, means, note, minimum=-span, maximum=span)
    else:
        computed = mean_in_unit(view, means, note)
    (estimate,) = settle([computed])
    silenced = any(one.is_open for one in known.values())
    return (
        _with_untold(replace(estimate, is_open=silenced), entry, untold, len(known)) if untold or silenced else estimate
    )


def _with_untold(estimate: Estimate, entry: Entry, untold: int, known: int) -> Estimate:
    """A mean of which some members are not known lies between what it is if they are least and if they are most."""
    ends = _ENDS.get(entry.kind)
    if not untold:
        return estimate
    if ends is None or estimate.low is None or estimate.high is None:
        return replace(estimate, low=None, high=None, is_open=True)
    every = known + untold
    low, high = (known * estimate.low + untold * ends[0]) / every, (known * estimate.high + untold * ends[1]) / every
    return replace(estimate, low=low, high=high, is_open=True)


def compute_all(entry: Entry, members: Sequence[Member]) -> list[Estimate]:
    """The metric of every member, their bootstraps taken together."""
    return settle([later_of(entry, member) for member in members])


def later_of(entry: Entry, member: Member) -> Computed:
    """The metric of a member, its bootstrap still to come. Raises TypeError if it takes the other kind of member."""
    if isinstance(entry, PairMetric) and isinstance(member, Pair):
        return entry.later(member)
    if isinstance(entry, Metric) and isinstance(member, View):
        return entry.later(member)
    raise TypeError(f"{entry.name} cannot be computed from a {type(member).__name__}")


def _view(member: Member) -> View:
    return member.one if isinstance(member, Pair) else member


def _restricted(member: Member, ids: set[str]) -> Member:
    if isinstance(member, View):
        return member.restricted(ids)
    return Pair(member.one.restricted(ids), member.other.restricted(ids), member.same_calls)


def _undefined(members: Mapping[str, Member], known: Mapping[str, Estimate]) -> str:
    missing = [name for name in members if name not in known]
    return f"undefined under {', '.join(missing)}" if missing else ""


def _joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
