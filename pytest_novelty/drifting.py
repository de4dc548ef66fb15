"""Is the judge still the one whose verdicts were recorded? What differs, whether by more than its own noise, and what changed.

A judge that is declared deterministic must repeat itself exactly. Any other changes some verdicts whenever it is asked: the
exchange test of both sides' votes tells that from drift (STATISTICS.md 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pytest_novelty.attribution import points_with_interval, signed_with_interval
from pytest_novelty.changes import SUITE, changes_of, suite_sentence
from pytest_novelty.deciding import FAIL, INCONCLUSIVE, NOT_ENFORCED, PASS
from pytest_novelty.evidence_drift import LABELS_ALONE, EvidenceDrift, no_evidence
from pytest_novelty.golden import RENDERED_BY, Entry, Golden, Head, fits, result_from
from pytest_novelty.golden_rows import Counted, write_votes
from pytest_novelty.judges.base import Judge
from pytest_novelty.labels_as_text import write_label
from pytest_novelty.metrics.catalogue import get_metric
from pytest_novelty.metrics.causes import find_causes
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.permutation import holm
from pytest_novelty.metrics.regrouping import find_regrouping, pairs_shift
from pytest_novelty.metrics.view import Estimate, View
from pytest_novelty.plan import Plan, SuitePlan
from pytest_novelty.protocols import PROTOCOLS, Protocol, has_two_labels
from pytest_novelty.relabelling import in_common_names, in_common_orders, orders_of, relabel, same_scores

ALPHA: Final = 0.02
"""Of the alarm, over all comparisons of a run. A nightly test at .05 might cry wolf every third week."""

SAME: Final = "the same"
WITHIN: Final = "different, within its noise"
DRIFTED: Final = "drifted"
UNTOLD: Final = "cannot be told from noise"
NOTHING: Final = "nothing compared"


@dataclass(frozen=True)
class Differing:
    """An instance whose verdict is another: labels and votes of both sides, as text."""

    instance: str
    before: str
    after: str
    label_differs: bool


@dataclass(frozen=True)
class Drift:
    """One comparison of a judge's verdicts on a suite with recorded ones.

    ``against``: what they were recorded in; ``is_golden``: a committed file, else a probe's store. ``parts``: what is said of it,
    clause by clause. ``changes``: (kind, sentence) of what changed besides the verdicts. ``n``: instances
    that were compared. ``p``: of the exchange tests; ``p_holm`` over the comparisons of a run. ``reused``: of ``votes`` those
    that the store had. ``added``, ``reworded``, ``removed``: instances that the suite gained, changed and lost; ``unrecorded``:
    those that a partial recording left out. ``relabelled``: instances whose recorded scores are under another label today, by the
    threshold alone; all else is of the labels that they have today. ``by_setting``: the run was given that threshold; else the
    judge has another of its own. ``probed``: what was heard is a later generation of the store, which a run does not read.
    ``in_orders``: those in which instances were compared of which one side has more; ``apart``: how many instances have no
    order in common, so that they were not. ``wide``: the interval of ``size`` reaches 0. ``recorded``: this run wrote what it
    found into the file, but for the lines of ``unremoved`` instances, which are not the suite's any more. ``evidence``: what
    became of that; None of a protocol whose answers cite nothing.
    """

    judge: str
    suite: str
    against: str
    verdict: str
    decision: str
    parts: tuple[str, ...]
    changes: tuple[tuple[str, str], ...] = ()
    n: int = 0
    flip_rate: Estimate = field(default_factory=lambda: Estimate.undefined(""))
    vote_shift: Estimate = field(default_factory=lambda: Estimate.undefined(""))
    p: float | None = None
    p_holm: float | None = None
    exact: bool = False
    differing: tuple[Differing, ...] = ()
    added: tuple[str, ...] = ()
    reworded: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    unrecorded: tuple[str, ...] = ()
    reused: int = 0
    votes: int = 0
    size: str = ""
    relabelled: tuple[str, ...] = ()
    by_setting: bool = False
    is_golden: bool = True
    probed: bool = False
    in_orders: tuple[str, ...] = ()
    apart: int = 0
    wide: bool = False
    recorded: bool = False
    unremoved: tuple[str, ...] = ()
    evidence: EvidenceDrift | None = None

    @property
    def sentence(self) -> str:
        return "; ".join(self.parts)

    @property
    def all_stored(self) -> bool:
        """The judge was asked nothing."""
        return bool(self.votes) and self.reused == self.votes


def compare_all(drifts: Sequence[Drift]) -> list[Drift]:
    """Decide comparisons that :func:`compare` made, together. What this run ``recorded`` does not fail."""
    adjusted = iter(holm([p for item in drifts for p in (item.p, *(item.evidence.ps if item.evidence else ()))]))
    found = []
    for item in drifts:
        p_holm, evidence = next(adjusted), item.evidence
        if evidence is not None:
            evidence = evidence.decide([next(adjusted) for _ in evidence.moved], ALPHA)
        found.append(_accepted(_decide(replace(item, p_holm=p_holm, evidence=evidence))))
    return found


def compare(
    plan: Plan,
    planned: SuitePlan,
    judge: Judge,
    old: Golden,
    new: Golden,
    against: str,
    reuse: tuple[int, int] = (0, 0),
    *,
    is_golden: bool = True,
    evidence: EvidenceDrift | None = None,
) -> Drift:
    """Set what a run found against what was recorded; not decided yet. ``reuse``: (verdicts from the store, all verdicts).
    ``evidence``: how that compares, if both sides are at hand.
    """
    common, reworded = _comparable(planned, old, new)
    sides: dict[str, tuple[Entry, Entry]] = {}
    relabelled: list[str] = []
    less: set[str] = set()
    for name in common:
        both = in_common_orders(old.entries[name], new.entries[name], planned.suite, planned.by_id[name])
        if both is None:
            continue
        before, after = both
        again = relabel(before, after, judge, plan.settings)
        sides[name] = in_common_names(again, after)
        if again.label != before.label:
            relabelled.append(name)
        if both != (old.entries[name], new.entries[name]):
            less |= {str(order) for order in orders_of(after)}
    present = {instance.id for instance in planned.suite.instances}
    missing = tuple(sorted(set(new.entries) - set(old.entries)))
    added = tuple(name for name in missing if name not in old.left_out)
    unrecorded = tuple(name for name in missing if name in old.left_out)
    drift = Drift(
        judge.name, planned.suite.name, against, NOTHING, NOT_ENFORCED, (), n=len(sides), exact=judge.traits.deterministic,
        added=added, reworded=reworded, removed=tuple(sorted(set(old.entries) - present)), unrecorded=unrecorded,
        reused=reuse[0], votes=reuse[1], relabelled=tuple(relabelled), is_golden=is_golden,
        probed=bool(plan.settings.probe), in_orders=tuple(sorted(less)), apart=len(common) - len(sides),
        evidence=evidence or no_evidence(planned),
    )  # fmt: skip
    heads: list[Head] = []
    for name in common:
        if old.entries[name].head not in heads:
            heads.append(old.entries[name].head)
    present_head = next((entry.head for entry in new.entries.values()), {})
    given = present_head.get("threshold")
    by_setting = all(old.entries[name].head.get("threshold") != given for name in relabelled)
    changes = [change for head in heads for change in changes_of(head, present_head, judge)]
    if added or reworded or drift.removed:
        changes.append((SUITE, suite_sentence(added, reworded, drift.removed)))
    drift = replace(drift, changes=tuple(dict.fromkeys(changes)), by_setting=by_setting)
    if not sides:
        return drift
    protocol = PROTOCOLS[planned.suite.protocol]
    differing = tuple(
        Differing(name, _told(before, protocol), _told(after, protocol), before.label != after.label)
        for name, (before, after) in sides.items()
        if _differ(before, after)
    )
    drift = replace(drift, differing=differing, verdict=WITHIN if differing else SAME)
    return _measured(drift, plan, planned, judge, sides)


def nothing_found(judge: str, suite: str, against: str) -> Drift:
    """Verdicts are recorded, and this run has none that could be compared with them."""
    parts = ("nothing to compare: this run has no verdict of the judge",)
    return Drift(judge, suite, against, NOTHING, NOT_ENFORCED, parts)


def not_recorded(judge: str, suite: str, against: str, other: str) -> Drift:
    """No verdicts of this judge are recorded, and those of another are, of which it may be a new name."""
    parts = (
        f"no verdicts of {judge} are recorded, those of {other} are: if it is the same judge, rename the file",
        "if it is another, record it with --snapshot-update",
    )
    return Drift(judge, suite, against, NOTHING, NOT_ENFORCED, parts)


def _comparable(planned: SuitePlan, old: Golden, new: Golden) -> tuple[list[str], tuple[str, ...]]:
    """(instances that both sides were shown alike, those whose text or idea ids changed)."""
    common: list[str] = []
    reworded: list[str] = []
    for name in sorted(set(old.entries) & set(new.entries)):
        before, after = old.entries[name], new.entries[name]
        otherwise = any(before.head.get(key) != after.head.get(key) for key in RENDERED_BY if key in before.head)
        shown_alike = otherwise or before.shown == after.shown
        kept = shown_alike and fits(before, planned.suite, planned.by_id[name])
        (common if kept else reworded).append(name)
    return common, tuple(reworded)


def _differ(before: Entry, after: Entry) -> bool:
    """By the shares of the votes in each order: fewer votes are no other verdict."""
    votes = dict(after.tallies)
    if any(not _same_shares(counts, votes[order]) for order, counts in before.tallies):
        return True
    if before.label != after.label or (not before.scores) != (not after.scores):
        return True
    return not same_scores(before.scores, after.scores)


def _same_shares(before: Sequence[int], after: Sequence[int]) -> bool:
    sums = sum(before), sum(after)
    return all(one * sums[1] == other * sums[0] for one, other in zip(before, after, strict=True))


def _told(entry: Entry, protocol: Protocol) -> str:
    if not has_two_labels(protocol.name):
        votes = write_votes(entry.label, Counted(entry.tallies, entry.names), protocol)
        return f"{write_label(entry.label, protocol)} ({votes})"
    votes = ", ".join(f"{order} {_counts(counts)}" if order else _counts(counts) for order, counts in entry.tallies)
    score = f", score {sum(entry.scores) / len(entry.scores):.3g}" if entry.scores else ""
    return f"{entry.label or 'no label'} ({votes}{score})"


def _counts(counts: Sequence[int]) -> str:
    return ":".join(map(str, counts if any(counts[2:]) else counts[:2]))


def _measured(
    drift: Drift, plan: Plan, planned: SuitePlan, judge: Judge, sides: Mapping[str, tuple[Entry, Entry]]
) -> Drift:
    views = [
        View(
            [result_from(both[side], judge.name, planned.suite, planned.by_id[name]) for name, both in sides.items()],
            planned.suite,
            judge.traits,
            failures=plan.settings.failures,
            seed=plan.settings.seed,
            threshold=plan.settings.fixed_threshold,
        )
        for side in (1, 0)
    ]
    pair, two = Pair(views[0], views[1]), has_two_labels(planned.suite.protocol)
    vote_shift = get_metric("vote_shift").load()(pair) if two else pairs_shift(pair)
    drift = replace(drift, flip_rate=get_metric("flip_rate").load()(pair), vote_shift=vote_shift)
    if drift.exact or not drift.differing:
        return drift
    causes = find_causes(pair) if two else find_regrouping(pair)
    of_pairs = "" if two else " over pairs of papers"
    size, moved = f"vote shift{of_pairs} {points_with_interval(vote_shift)}", vote_shift
    if causes.by_scores:
        moved = get_metric("score_shift").load()(pair)
        size = f"mean score {signed_with_interval(moved)}"
    tests = holm([causes.moved, causes.silenced])
    if tests[1] is not None and tests[1] <= ALPHA and (tests[0] is None or tests[0] > ALPHA):
        change = "fewer" if pair.lost_share > 0 else "more"
        size, moved = f"{abs(pair.lost_share):.0%} {change} votes are valid", Estimate.undefined("")
    elif tests[0] is None:
        return replace(drift, verdict=UNTOLD, size="one valid vote of a request does not show a judge's noise")
    return replace(drift, p=min(p for p in tests if p is not None), size=size, wide=_reaches_zero(moved))


def _reaches_zero(moved: Estimate) -> bool:
    """As it is shown."""
    return moved.low is not None and moved.high is not None and round(moved.low, 2) <= 0 <= round(moved.high, 2)


# --- the decision -------------------------------------------------------------------------------------------


def _decide(drift: Drift) -> Drift:
    verdict = drift.verdict
    if verdict == WITHIN and (drift.exact or (drift.p_holm is not None and drift.p_holm <= ALPHA)):
        verdict = DRIFTED
    if drift.relabelled and not drift.by_setting:  # the judge says something else, for certain
        verdict = DRIFTED
    if drift.evidence is not None and drift.evidence.is_worse:
        verdict = DRIFTED
    if verdict == DRIFTED or any(kind == SUITE for kind, _ in drift.changes):
        decision = FAIL
    else:
        decision = {UNTOLD: INCONCLUSIVE, NOTHING: NOT_ENFORCED}.get(verdict, PASS)
    drift = replace(drift, verdict=verdict, decision=decision)
    return drift if drift.parts else replace(drift, parts=_parts(drift))


def _accepted(drift: Drift) -> Drift:
    if not drift.recorded:
        return drift
    words = "recorded by this run"
    if drift.unremoved:
        lines = "the line" if len(drift.unremoved) == 1 else "the lines"
        words += f", but for {lines} of what was removed, which only an update of the whole suite takes out"
    return replace(drift, decision=PASS, parts=(*drift.parts, words))


def _parts(drift: Drift) -> tuple[str, ...]:
    """What decided comes first, then the rest of what was found."""
    suite = [sentence for kind, sentence in drift.changes if kind == SUITE]
    changed = [sentence for kind, sentence in drift.changes if kind != SUITE]
    beyond = drift.p_holm is not None and drift.p_holm <= ALPHA
    drifted = drift.verdict == DRIFTED and bool(drift.differing) and (drift.exact or beyond)
    found = _found(drift, beyond)
    unexplained = drifted and not drift.changes and not drift.relabelled
    if unexplained and not drift.all_stored:
        changed = ["nothing changed that shows here, so the judge itself did"]
    own, given = ([], _by_threshold(drift)) if drift.by_setting else (_by_threshold(drift), [])
    evidence = list(drift.evidence.parts(ALPHA)) if drift.evidence and drift.n else []
    worse = evidence if drift.evidence and drift.evidence.is_worse else []
    lead = [*(found if drifted else ()), *worse, *own, *suite]
    asides = [*_asides(drift, unexplained=unexplained), *([LABELS_ALONE] if drift.evidence == EvidenceDrift() else ())]
    return (*lead, *(() if drifted else found), *(() if worse else evidence), *given, *changed, *asides)


def _found(drift: Drift, beyond: bool) -> list[str]:
    """The verdicts, the same or not."""
    differ = f"{len(drift.differing)} of {drift.n} verdicts differ"
    labels = sum(item.label_differs for item in drift.differing)
    differ += f", {labels} in their label" if labels else ", none in its label"
    if drift.relabelled:
        differ += " under one threshold"
    if not drift.n:
        return ["no instance is comparable with what was recorded"]
    if not drift.differing:
        if drift.relabelled:
            return [f"the scores of all {drift.n} instances are the same" if drift.n > 1 else "the score is the same"]
        return [f"all {drift.n} verdicts are the same" if drift.n > 1 else "the verdict is the same"]
    if drift.exact:
        return [f"a deterministic judge says something else: {differ}"]
    if beyond:
        why = (
            ["the test decides: the interval, wider where instances are few, is of the size alone"]
            if drift.wide
            else []
        )
        return [f"drifted beyond its noise: {drift.size} (p {_p(drift.p_holm)})", *why, differ]
    if drift.p_holm is None:
        return [f"{UNTOLD}: {differ}, and {drift.size}"]
    return [f"{WITHIN}: {differ} (p {_p(drift.p_holm)})"]


def _by_threshold(drift: Drift) -> list[str]:
    if not drift.relabelled:
        return []
    whose = "the threshold" if drift.by_setting else "the judge's own threshold, or what it calls novel,"
    labels = f"{len(drift.relabelled)} of {drift.n} labels" if drift.n > 1 else "its label"
    return [f"{labels} changed by {whose} alone"]


def _asides(drift: Drift, *, unexplained: bool) -> list[str]:
    found = []
    if drift.in_orders:
        which = f"the order {drift.in_orders[0]}" if len(drift.in_orders) == 1 else "the orders"
        found.append(f"votes and labels are compared in {which} that both sides have")
    if drift.apart:
        found.append(f"{drift.apart} more were asked in other orders, and are not compared")
    if drift.unrecorded and drift.is_golden:
        found.append(f"{len(drift.unrecorded)} more have no recorded verdict yet")
    if drift.all_stored:
        recording = ", which is another recording than the file's" if unexplained else ""
        found.append(f"nothing was asked: all verdicts come from the store{recording}")
    return found


def _p(value: float | None) -> str:
    return "unknown" if value is None else "< 1e-4" if value < 1e-4 else f"{value:.2g}"
