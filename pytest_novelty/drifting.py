"""Is the judge still the one whose verdicts were recorded? What differs, whether by more than its own noise, and what changed.

A judge that is declared deterministic must repeat itself exactly. Any other changes some verdicts whenever it is asked: the
exchange test of both sides' votes tells that from drift (STATISTICS.md 1).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from pytest_novelty.attribution import points_with_interval, signed_with_interval
from pytest_novelty.deciding import FAIL, INCONCLUSIVE, NOT_ENFORCED, PASS
from pytest_novelty.golden import ALWAYS, RENDERED_BY, Entry, Golden, Head, fits, result_from
from pytest_novelty.judges.base import Judge
from pytest_novelty.metrics.catalogue import get_metric
from pytest_novelty.metrics.causes import find_causes
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.permutation import holm
from pytest_novelty.metrics.view import Estimate, View
from pytest_novelty.model import Json
from pytest_novelty.plan import Plan, SuitePlan
from pytest_novelty.relabelling import relabel, same_scores

ALPHA: Final = 0.02
"""Of the alarm, over all comparisons of a run. A nightly test at .05 might cry wolf every third week."""

SAME: Final = "the same"
WITHIN: Final = "different, within its noise"
DRIFTED: Final = "drifted"
UNTOLD: Final = "cannot be told from noise"
NOTHING: Final = "nothing compared"

RENAMED: Final = "judge renamed"
JUDGE: Final = "judge changed"
PROMPT: Final = "prompt changed"
MODEL: Final = "another model asked"
SERVED: Final = "another model served"
INDEX: Final = "index changed"
PARAMETERS: Final = "parameters changed"
SUITE: Final = "suite changed"

_NAMED: Final = 5


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

    ``against``: what they were recorded in. ``changes``: (kind, sentence) of what changed besides the verdicts. ``n``: instances
    that were compared. ``p``: of the exchange tests; ``p_holm`` over the comparisons of a run. ``reused``: of ``votes`` those
    that the store had. ``added``, ``reworded``, ``removed``: instances that the suite gained, changed and lost; ``unrecorded``:
    those that a partial recording left out. ``relabelled``: instances whose recorded scores are under another label today, by the
    threshold alone; all else is of the labels that they have today. ``by_setting``: the run was given that threshold; else the
    judge has another of its own.
    """

    judge: str
    suite: str
    against: str
    verdict: str
    decision: str
    sentence: str
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

    @property
    def all_stored(self) -> bool:
        """The judge was asked nothing."""
        return bool(self.votes) and self.reused == self.votes

    @property
    def is_golden(self) -> bool:
        """Compared with a committed file; else a probe with the store."""
        return self.against.startswith("golden/")


def compare_all(drifts: Sequence[Drift], *, accept: bool = False) -> list[Drift]:
    """Decide comparisons that :func:`compare` made, together. ``accept``: this run records what differs, so nothing fails."""
    adjusted = holm([item.p for item in drifts])
    decided = [_decide(replace(item, p_holm=p)) for item, p in zip(drifts, adjusted, strict=True)]
    if not accept:
        return decided
    return [replace(item, decision=PASS, sentence=f"{item.sentence}; recorded by this run") for item in decided]


def compare(
    plan: Plan,
    planned: SuitePlan,
    judge: Judge,
    old: Golden,
    new: Golden,
    against: str,
    reuse: tuple[int, int] = (0, 0),
) -> Drift:
    """Set what a run found against what was recorded; not decided yet. ``reuse``: (verdicts from the store, all verdicts)."""
    common, reworded = _comparable(planned, old, new)
    again = {name: relabel(old.entries[name], new.entries[name], judge, plan.settings) for name in common}
    relabelled = tuple(name for name in common if again[name].label != old.entries[name].label)
    present = {instance.id for instance in planned.suite.instances}
    missing = tuple(sorted(set(new.entries) - set(old.entries)))
    added = tuple(name for name in missing if name not in old.left_out)
    unrecorded = tuple(name for name in missing if name in old.left_out)
    drift = Drift(
        judge.name, planned.suite.name, against, NOTHING, NOT_ENFORCED, "", n=len(common), exact=judge.traits.deterministic,
        added=added, reworded=reworded, removed=tuple(sorted(set(old.entries) - present)), unrecorded=unrecorded,
        reused=reuse[0], votes=reuse[1], relabelled=relabelled,
    )  # fmt: skip
    heads: list[Head] = []
    for name in common:
        if old.entries[name].head not in heads:
            heads.append(old.entries[name].head)
    present_head = next((entry.head for entry in new.entries.values()), {})
    given = present_head.get("threshold")
    by_setting = all(old.entries[name].head.get("threshold") != given for name in relabelled)
    changes = [change for head in heads for change in _changes_of(head, present_head, judge)]
    if added or reworded or drift.removed:
        changes.append((SUITE, _suite_sentence(drift)))
    drift = replace(drift, changes=tuple(dict.fromkeys(changes)), by_setting=by_setting)
    if not common:
        return drift
    old = replace(old, entries={**old.entries, **again})
    differing = tuple(
        Differing(name, _told(before), _told(after), _alike_orders(before, after) and before.label != after.label)
        for name in common
        if _differ(before := old.entries[name], after := new.entries[name])
    )
    drift = replace(drift, differing=differing, verdict=WITHIN if differing else SAME)
    return _measured(drift, plan, planned, judge, old, new, common)


def nothing_found(judge: str, suite: str, against: str) -> Drift:
    """Verdicts are recorded, and this run has none that could be compared with them."""
    return Drift(
        judge, suite, against, NOTHING, NOT_ENFORCED, "nothing to compare: this run has no verdict of the judge"
    )


def not_recorded(judge: str, suite: str, against: str, other: str) -> Drift:
    """No verdicts of this judge are recorded, and those of another are, of which it may be a new name."""
    sentence = (
        f"no verdicts of {judge} are recorded, those of {other} are: if it is the same judge, rename the file; "
        "if it is another, record it with --snapshot-update"
    )
    return Drift(judge, suite, against, NOTHING, NOT_ENFORCED, sentence)


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
    """By the shares of the votes in each order that both have: fewer votes or orders are no other verdict."""
    first, second = dict(before.tallies), dict(after.tallies)
    if any(not _same_shares(first[order], second[order]) for order in set(first) & set(second)):
        return True
    if not _alike_orders(before, after):  # labels and scores are over all orders
        return not set(first) & set(second)
    if before.label != after.label or (not before.scores) != (not after.scores):
        return True
    return not same_scores(before.scores, after.scores)


def _alike_orders(before: Entry, after: Entry) -> bool:
    return {order for order, _ in before.tallies} == {order for order, _ in after.tallies}


def _same_shares(before: Sequence[int], after: Sequence[int]) -> bool:
    sums = sum(before), sum(after)
    return all(one * sums[1] == other * sums[0] for one, other in zip(before, after, strict=True))


def _told(entry: Entry) -> str:
    votes = ", ".join(f"{order} {_counts(counts)}" if order else _counts(counts) for order, counts in entry.tallies)
    score = f", score {sum(entry.scores) / len(entry.scores):.3g}" if entry.scores else ""
    return f"{entry.label or 'no label'} ({votes}{score})"


def _counts(counts: Sequence[int]) -> str:
    return ":".join(map(str, counts if any(counts[2:]) else counts[:2]))


def _measured(
    drift: Drift, plan: Plan, planned: SuitePlan, judge: Judge, old: Golden, new: Golden, common: Sequence[str]
) -> Drift:
    views = [
        View(
            [result_from(side.entries[name], judge.name, planned.suite, planned.by_id[name]) for name in common],
            planned.suite,
            judge.traits,
            failures=plan.settings.failures,
            seed=plan.settings.seed,
            threshold=plan.settings.fixed_threshold,
        )
        for side in (new, old)
    ]
    pair = Pair(views[0], views[1])
    flip_rate, vote_shift = (get_metric(name).load()(pair) for name in ("flip_rate", "vote_shift"))
    drift = replace(drift, flip_rate=flip_rate, vote_shift=vote_shift)
    if drift.exact or not drift.differing:
        return drift
    causes = find_causes(pair)
    size = f"vote shift {points_with_interval(vote_shift)}"
    if causes.by_scores:
        size = f"mean score {signed_with_interval(get_metric('score_shift').load()(pair))}"
    tests = holm([causes.moved, causes.silenced])
    if tests[1] is not None and tests[1] <= ALPHA and (tests[0] is None or tests[0] > ALPHA):
        change = "fewer" if pair.lost_share > 0 else "more"
        size = f"{abs(pair.lost_share):.0%} {change} votes are valid"
    elif tests[0] is None:
        return replace(drift, verdict=UNTOLD, size="one valid vote of a request does not show a judge's noise")
    return replace(drift, p=min(p for p in tests if p is not None), size=size)


# --- what changed -------------------------------------------------------------------------------------------


def _changes_of(before: Head, after: Head, judge: Judge) -> list[tuple[str, str]]:
    """What the heads of two recordings say of the reason, the finer before the coarser."""
    found: list[tuple[str, str]] = []

    def add(kind: str, key: str, words: str) -> None:
        if before.get(key) != after.get(key):
            found.append((kind, f"{words}: {_value(before.get(key))} -> {_value(after.get(key))}"))

    add(RENAMED, "judge", "the judge has another name")
    add(PROMPT, "prompt", "the prompt changed")
    add(MODEL, "model", "another model is asked")
    told = {"judge", "version", "prompt", "model", "served", "index"}
    names = [name for name in (*before, *after) if name not in told and (name in before or name not in ALWAYS)]
    settings = [name for name in dict.fromkeys(names) if before.get(name) != after.get(name)]
    if settings:
        listed = ", ".join(f"{name} {_value(before.get(name))} -> {_value(after.get(name))}" for name in settings)
        found.append((PARAMETERS, f"parameters changed: {listed}"))
    explained = before.get("model") != after.get("model") or any(name.startswith("asked ") for name in settings)
    if not explained:  # a model's version is a digest of how it is asked
        words = "the judge's code was edited (its version is a digest of the file)" if judge.version_is_digest else ""
        add(JUDGE, "version", words or "the judge changed its version")
    served, recorded = set(after.get("served") or ()), set(before.get("served") or ())
    if recorded and served - recorded:
        same = "under the same name" if before.get("model") == after.get("model") else "too"
        found.append(
            (SERVED, f"another model answered, {same}: {', '.join(sorted(recorded))} -> {', '.join(sorted(served))}")
        )
    add(INDEX, "index", "the index that it searches changed")
    return found


def _value(value: Json) -> str:
    return "none" if value is None else value if isinstance(value, str) else str(value)


def _suite_sentence(drift: Drift) -> str:
    parts = [
        f"{len(names)} {word} ({', '.join(names[:_NAMED])}{', ...' if len(names) > _NAMED else ''})"
        for word, names in (("added", drift.added), ("reworded", drift.reworded), ("removed", drift.removed))
        if names
    ]
    return f"the suite changed: {', '.join(parts)}"


# --- the decision -------------------------------------------------------------------------------------------


def _decide(drift: Drift) -> Drift:
    verdict = drift.verdict
    if verdict == WITHIN and (drift.exact or (drift.p_holm is not None and drift.p_holm <= ALPHA)):
        verdict = DRIFTED
    if drift.relabelled and not drift.by_setting:  # the judge says something else, for certain
        verdict = DRIFTED
    if verdict == DRIFTED or any(kind == SUITE for kind, _ in drift.changes):
        decision = FAIL
    else:
        decision = {UNTOLD: INCONCLUSIVE, NOTHING: NOT_ENFORCED}.get(verdict, PASS)
    drift = replace(drift, verdict=verdict, decision=decision)
    return drift if drift.sentence else replace(drift, sentence=_sentence(drift))


def _sentence(drift: Drift) -> str:
    changed = [sentence for _, sentence in drift.changes]
    noise_explains = drift.p_holm is None or drift.p_holm > ALPHA
    differ = f"{len(drift.differing)} of {drift.n} verdicts differ"
    labels = sum(item.label_differs for item in drift.differing)
    differ += f", {labels} in their label" if labels else ", none in its label"
    if drift.relabelled and drift.differing:
        differ += " under one threshold"
    if drift.verdict == NOTHING:
        found = "no instance is comparable with what was recorded"
    elif drift.relabelled and not drift.differing:
        found = f"the scores of all {drift.n} instances are the same" if drift.n > 1 else "the score is the same"
    elif drift.verdict == SAME:
        found = f"all {drift.n} verdicts are the same" if drift.n > 1 else "the verdict is the same"
    elif drift.verdict == DRIFTED and drift.exact:
        found = f"a deterministic judge says something else: {differ}"
    elif drift.verdict == DRIFTED and not noise_explains:
        found = f"drifted beyond its noise: {drift.size} (p {_p(drift.p_holm)}); {differ}"
    elif drift.verdict == UNTOLD or drift.p_holm is None:
        found = f"{UNTOLD}: {differ}, and {drift.size}"
    else:
        found = f"{WITHIN}: {differ} (p {_p(drift.p_holm)})"
    unexplained = drift.verdict == DRIFTED and not changed and not drift.relabelled
    if unexplained and not drift.all_stored:
        changed = ["nothing changed that shows here, so the judge itself did"]
    return "; ".join([found, *_by_threshold(drift), *changed, *_asides(drift, unexplained=unexplained)])


def _by_threshold(drift: Drift) -> list[str]:
    if not drift.relabelled:
        return []
    whose = "the threshold" if drift.by_setting else "the judge's own threshold, or what it calls novel,"
    labels = f"{len(drift.relabelled)} of {drift.n} labels" if drift.n > 1 else "its label"
    return [f"{labels} changed by {whose} alone"]


def _asides(drift: Drift, *, unexplained: bool) -> list[str]:
    found = []
    if drift.unrecorded and drift.is_golden:
        found.append(f"{len(drift.unrecorded)} more have no recorded verdict yet")
    if drift.all_stored:
        recording = ", which is another recording than the file's" if unexplained else ""
        found.append(f"nothing was asked: all verdicts come from the store{recording}")
    return found


def _p(value: float | None) -> str:
    return "unknown" if value is None else "< 1e-4" if value < 1e-4 else f"{value:.2g}"


def drift_to_dict(drift: Drift) -> Mapping[str, Json]:
    """As it stands in the report."""
    return {
        "judge": drift.judge,
        "suite": drift.suite,
        "against": drift.against,
        "verdict": drift.verdict,
        "decision": drift.decision,
        "sentence": drift.sentence,
        "changes": [{"kind": kind, "sentence": sentence} for kind, sentence in drift.changes],
        "n": drift.n,
        "exact": drift.exact,
        "flip_rate": drift.flip_rate.to_dict(),
        "vote_shift": drift.vote_shift.to_dict(),
        "p": drift.p,
        "p_holm": drift.p_holm,
        "differing": [
            {"instance": item.instance, "before": item.before, "after": item.after, "label_differs": item.label_differs}
            for item in drift.differing
        ],
        "added": list(drift.added),
        "reworded": list(drift.reworded),
        "removed": list(drift.removed),
        "unrecorded": list(drift.unrecorded),
        "relabelled": list(drift.relabelled),
        "reused": drift.reused,
        "votes": drift.votes,
    }
