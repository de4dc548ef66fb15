"""All estimates of a suite: each judge under each variant, each variant against the reference, each judge against another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial

from pytest_novelty.attribution import (
    LEVEL,
    SILENCED,
    TOGETHER,
    VARIANT,
    Facts,
    attribute,
    is_of_evidence,
    tell_evidence,
)
from pytest_novelty.catching import Net
from pytest_novelty.gates import MAX, Gate
from pytest_novelty.metrics.catalogue import FAMILIES, PAIRED, Entry, PairMetric, metrics_for, pair_metrics_for
from pytest_novelty.metrics.causes import find_causes, order_p
from pytest_novelty.metrics.deferred import Computed, settle
from pytest_novelty.metrics.differences import Change, PendingChange, adjusted, changes_later, settle_changes
from pytest_novelty.metrics.families import Member, later_of, over_variants
from pytest_novelty.metrics.own_noise import own_flip_rate
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.permutation import holm
from pytest_novelty.metrics.power import Seen, what_is_seen
from pytest_novelty.metrics.stability import decided_flip_rate
from pytest_novelty.metrics.variants import transitions
from pytest_novelty.metrics.view import Estimate, View
from pytest_novelty.model import REFERENCE
from pytest_novelty.plan import SuitePlan

Key = tuple[str, str]
"""(variant, judge)."""


@dataclass(frozen=True, slots=True)
class Side:
    """What the other side of a comparison is."""

    judge: str
    variant: str


@dataclass(frozen=True, slots=True)
class MetricRow:
    """One estimate of the report. ``reference``: what the metric compares with; None where it compares with nothing."""

    judge: str
    suite: str
    protocol: str
    variant: str
    metric: str
    estimate: Estimate
    stratum: str | None = None
    reference: Side | None = None

    @property
    def place(self) -> str:
        """As people are told."""
        variant = "" if self.variant == REFERENCE else f", variant {self.variant}"
        stratum = "" if self.stratum is None else f", {self.stratum}"
        return f"{self.metric} of {self.judge} on {self.suite}{variant}{stratum}"


@dataclass(frozen=True)
class VariantResult:
    """What a variant does to a judge on a suite, against the reference.

    ``estimates``: the pair metrics by name. ``changes``: of single-view metrics. ``transitions``: outcomes of the reference that
    became outcomes of the variant. ``moved_p``: exchange test. ``moved_p_holm``, ``order_p_holm`` (of the order shown, under the
    variant), ``together_p`` and ``lost_p`` are adjusted by Holm over the variants of the judge on the suite. ``seen``: what the
    tests see with 80 % power. ``noise``: of a variant that moves votes, the share of verdicts that the judge's own
    noise would change. ``lost``: the share of votes that are valid in the reference and not under the variant.
    """

    judge: str
    suite: str
    variant: str
    changed: tuple[str, ...]
    n: int
    cause: str
    sentence: str
    estimates: Mapping[str, Estimate] = field(default_factory=dict)
    changes: tuple[Change, ...] = ()
    transitions: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    moved_p: float | None = None
    moved_p_holm: float | None = None
    method: str = ""
    order_p_holm: float | None = None
    together_p: float | None = None
    seen: Seen = field(default_factory=Seen)
    noise: float | None = None
    lost: float = 0.0
    lost_p: float | None = None

    @property
    def moves(self) -> bool:
        """The variant is seen to move the judge, alone or together with the order."""
        return self.cause in (VARIANT, TOGETHER, SILENCED)

    @property
    def changes_evidence(self) -> tuple[Change, ...]:
        """The changes beyond chance of what became of the evidence."""
        return tuple(filter(is_of_evidence, self.changes))


@dataclass
class Measured:
    """The rows of a suite, and what each variant does."""

    rows: list[MetricRow] = field(default_factory=list)
    variants: list[VariantResult] = field(default_factory=list)


def measure(
    planned: SuitePlan,
    views: Mapping[Key, View],
    same_calls: Callable[[str, str], str],
    against: str | None = None,
    net: Net | None = None,
) -> Measured:
    """Compute everything of a suite; bootstraps over the same instances are taken together.

    ``same_calls(judge, variant)``: why a variant's answers are the reference's; empty if they are not. ``against``: the judge
    that all others are compared with. ``net``: catches what crashes; what is left is undefined, and says so.
    """
    net = net or Net()
    pairs = {
        (variant, judge): Pair(view, views[REFERENCE, judge], same_calls(judge, variant))
        for (variant, judge), view in sorted(views.items())
        if variant != REFERENCE and (REFERENCE, judge) in views
    }
    judges = {
        (variant, judge): Pair(view, views[variant, against])
        for (variant, judge), view in sorted(views.items())
        if against is not None and judge != against and (variant, against) in views
    }
    suite = planned.suite
    later: list[tuple[MetricRow, Computed]] = []
    nothing = Estimate.undefined("")

    def add(key: Key, entry: Entry, member: Member, other: Side | None = None, stratum: str | None = None) -> None:
        variant, judge = key
        row = MetricRow(judge, suite.name, suite.protocol, variant, entry.name, nothing, stratum, other)
        later.append((row, net.catch(row.place, partial(later_of, entry, member), _crashed)))

    for key, view in sorted(views.items()):
        for metric in metrics_for(suite):
            add(key, metric, view)
    for key, pair in pairs.items():
        for paired in pair_metrics_for(suite):
            add(key, paired, pair, Side(key[1], REFERENCE))
    for key, pair in judges.items():
        for paired in pair_metrics_for(suite):
            add(key, paired, pair, Side(str(against), key[0]))
    for gate in planned.gates:
        if gate.stratum is not None and not gate.over:
            for key, member in _members(gate.entry, views, pairs).items():
                if key[0] == gate.variant:
                    side = Side(key[1], REFERENCE) if isinstance(member, Pair) else None
                    add(key, gate.entry, member.only(*gate.stratum), side, ":".join(gate.stratum))
    measured = Measured()
    for (row, _), estimate in zip(later, _settle(later, net), strict=True):
        measured.rows.append(
            MetricRow(row.judge, row.suite, row.protocol, row.variant, row.metric, estimate, row.stratum, row.reference)
        )
    measured.rows += _family_rows(planned, views, pairs, net)
    for judge in sorted({judge for _, judge in pairs}):
        own = {variant: pair for (variant, name), pair in pairs.items() if name == judge}
        what = f"what variants do to {judge} on {suite.name}"
        make = partial(_variant_results, planned, judge, own, views, measured.rows)
        measured.variants += net.catch(what, make, lambda _: [])
    return measured


def _settle(later: Sequence[tuple[MetricRow, Computed]], net: Net) -> list[Estimate]:
    """All together; if that crashes one by one, so that only those are lost that do."""
    try:
        return settle([computed for _, computed in later])
    except Exception:
        if not net.holds:
            raise
        return [net.catch(row.place, partial(_settle_one, computed), _crashed) for row, computed in later]


def _settle_one(computed: Computed) -> Estimate:
    return settle([computed])[0]


def _crashed(error: str) -> Estimate:
    return Estimate.undefined(f"could not be computed: {error}")


def _members(entry: Entry, views: Mapping[Key, View], pairs: Mapping[Key, Pair]) -> Mapping[Key, Member]:
    return pairs if isinstance(entry, PairMetric) else views


# --- over all variants --------------------------------------------------------------------------------------


def _family_rows(planned: SuitePlan, views: Mapping[Key, View], pairs: Mapping[Key, Pair], net: Net) -> list[MetricRow]:
    """The largest and the mean flip rate, the largest vote shift, and what gates ask for over all variants."""
    wanted: dict[tuple[str, str, tuple[str, str] | None], Entry] = {}
    for family in FAMILIES.values():
        wanted[family.name, f"[{family.over}]", None] = PAIRED[family.of]
    wanted["vote_shift", MAX, None] = PAIRED["vote_shift"]
    for gate in planned.gates:
        if gate.over:
            wanted[gate.metric, gate.variant, gate.stratum] = gate.entry
    suite = planned.suite
    rows = []
    for judge in sorted({judge for _, judge in pairs}):
        for (name, over, stratum), entry in wanted.items():
            members = {
                variant: member
                for (variant, name_), member in _members(entry, views, pairs).items()
                if name_ == judge and not (isinstance(member, Pair) and member.same_calls)
            }
            if not members:  # only the reference's own calls: that is no stability
                continue
            if stratum is not None:
                members = {variant: member.only(*stratum) for variant, member in members.items()}
            side = Side(judge, REFERENCE) if isinstance(entry, PairMetric) else None
            place = ":".join(stratum) if stratum else None
            row = MetricRow(judge, suite.name, suite.protocol, over, name, Estimate.undefined(""), place, side)
            make = partial(over_variants, entry, members, over.strip("[]"))
            rows.append(replace(row, estimate=net.catch(row.place, make, _crashed)))
    return rows


def row_of(gate: Gate, judge: str, rows: Sequence[MetricRow]) -> MetricRow | None:
    """The estimate that a gate of a judge rests on; None if nothing of it ran."""
    stratum = ":".join(gate.stratum) if gate.stratum else None
    compares = isinstance(gate.entry, PairMetric)
    for row in rows:
        if (row.judge, row.variant, row.metric, row.stratum) == (judge, gate.variant, gate.metric, stratum) and (
            row.reference == Side(judge, REFERENCE) if compares else row.reference is None
        ):
            return row
    return None


# --- what each variant does ---------------------------------------------------------------------------------


def _variant_results(
    planned: SuitePlan,
    judge: str,
    pairs: Mapping[str, Pair],
    views: Mapping[Key, View],
    rows: Sequence[MetricRow],
) -> list[VariantResult]:
    """Of one judge: tests adjusted over its variants on the suite, and the words that follow from them."""
    single: dict[str, dict[str, Estimate]] = {}
    compared: dict[str, dict[str, Estimate]] = {}
    for row in rows:
        if row.judge == judge and row.stratum is None:
            if row.reference is None:
                single.setdefault(row.variant, {})[row.metric] = row.estimate
            elif row.reference == Side(judge, REFERENCE):
                compared.setdefault(row.variant, {})[row.metric] = row.estimate
    names = list(pairs)
    causes = {name: find_causes(pair) for name, pair in pairs.items()}
    moved = dict(zip(names, holm([causes[name].moved for name in names]), strict=True))
    tested = sum(p is not None for p in moved.values())
    wordings = [REFERENCE, *(name for name in names if not pairs[name].same_calls)]
    orders = dict(zip(wordings, holm([order_p(views[name, judge]) for name in wordings]), strict=True))
    together = dict(zip(names, holm([causes[name].together for name in names]), strict=True))
    silenced = dict(zip(names, holm([causes[name].silenced for name in names]), strict=True))
    decided = {name: decided_flip_rate(views[name, judge]) for name in (REFERENCE, *names)}
    later = [_changes_later(pair, single, name, judge, views) for name, pair in pairs.items()]
    found = dict(zip(names, adjusted(settle_changes(later)), strict=True))
    variants = {variant.name: variant for variant in planned.variants}
    results = []
    for name, pair in pairs.items():
        p = moved[name]
        noise = own_flip_rate(pair) if p is not None and p <= LEVEL else None
        facts = Facts(
            variants[name].changed,
            len(pair),
            single[REFERENCE],
            single[name],
            compared[name],
            same_calls=pair.same_calls,
            moved_p=p,
            together_p=together[name],
            order_p=(orders[REFERENCE], orders.get(name)),
            # at the first step of Holm's procedure, where the smallest p must reach .05 / V
            seen=Seen() if pair.same_calls else what_is_seen(pair, causes[name].null, LEVEL / max(1, tested)),
            noise=noise,
            by_scores=causes[name].by_scores,
            lost=(pair.lost_share, silenced[name]),
            decided=(decided[REFERENCE], decided[name]),
        )
        cause, sentence = attribute(facts)
        sentence = "; ".join(filter(None, [sentence, tell_evidence(found[name])]))
        results.append(
            VariantResult(
                judge,
                planned.suite.name,
                name,
                variants[name].changed,
                len(pair),
                cause,
                sentence,
                estimates=compared[name],
                changes=found[name],
                transitions=transitions(pair),
                moved_p=causes[name].moved,
                moved_p_holm=p,
                method=causes[name].method,
                order_p_holm=orders.get(name),
                together_p=together[name],
                seen=facts.seen,
                noise=noise,
                lost=pair.lost_share,
                lost_p=silenced[name],
            )
        )
    return results


def _changes_later(
    pair: Pair, single: Mapping[str, Mapping[str, Estimate]], name: str, judge: str, views: Mapping[Key, View]
) -> list[PendingChange]:
    """The changes of single-view metrics; estimates at hand serve where both sides ran on the same instances."""
    whole = len(pair) == len(views[name, judge]) == len(views[REFERENCE, judge])
    return changes_later(pair, single[name], single[REFERENCE]) if whole else changes_later(pair)
