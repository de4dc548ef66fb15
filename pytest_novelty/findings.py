"""What a reader must be told though no metric says it: a judge that does not discriminate, one that looked up the answer."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_novelty.answers import ODDITIES
from pytest_novelty.audits import Audits
from pytest_novelty.headline import percent
from pytest_novelty.judges.base import Judge
from pytest_novelty.judges.families import family_of
from pytest_novelty.metrics.intervals import clopper_pearson
from pytest_novelty.metrics.view import View
from pytest_novelty.model import EXCEEDED, REFERENCE
from pytest_novelty.outcomes import CaseResult
from pytest_novelty.plan import Plan
from pytest_novelty.printing import plural
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.protocols.grouping import groups_of
from pytest_novelty.routing import is_barred

_NEARLY_ALL: Final = 0.95
_ENOUGH: Final = 10
"""Instances (and votes) from which "nearly all" means anything; votes on one instance are not independent."""
_ENOUGH_PAIRS: Final = 5
"""Pairs: each is shown in both orders, so that one pair already contradicts a judge that follows the position."""

_FEW_CLUSTERS: Final = 20
_HARDLY_ANY: Final = 10
"""Clusters below which what none of them shows may hold of a third of others."""

Views = Mapping[tuple[str, str, str], View]


def find_degenerate(views: Views) -> list[str]:
    """Judges with one label, one position or one score for nearly everything. What holds of several variants is said once."""
    found: dict[
        tuple[str, str, str], list[tuple[str, str]]
    ] = {}  # judge, suite, what it does -> variants, and how often
    for (suite, variant, judge), view in sorted(views.items()):
        if len(view) < (_ENOUGH_PAIRS if view.suite.protocol == "pairwise" else _ENOUGH):
            continue
        if answer := _one_answer(view):
            found.setdefault((judge, suite, answer[0]), []).append((variant, answer[1]))
        scores = Counter(score for row in view.vote_scores for score in row)
        if scores:
            score, count = scores.most_common(1)[0]
            if count >= _NEARLY_ALL * scores.total():
                what = f"gives the score {score:g} to {{}}"
                found.setdefault((judge, suite, what), []).append((variant, f"{count} of {scores.total()} votes"))
    return [_degenerate(*key, shown) for key, shown in found.items()]


def _degenerate(judge: str, suite: str, what: str, shown: Sequence[tuple[str, str]]) -> str:
    """The reference first, or else the first of the variants; the names of the others."""
    ordered = sorted(shown, key=lambda item: item[0] != REFERENCE)
    variant, count = ordered[0]
    place = f"{judge} on {suite}" + ("" if variant == REFERENCE else f", variant {variant}")
    others = [name for name, _ in ordered[1:]]
    also = f"; likewise under {_listed(others)}" if others else ""
    return f"degenerate: {place} {what.format(count)}{also}"


def _one_answer(view: View) -> tuple[str, str] | None:
    """What the judge answers to nearly everything, with a place for how much that is, and how much; None if it does not."""
    if view.suite.protocol == "pairwise":
        first = sum(int(view.counts[:, k, 0 if order == "ab" else 1].sum()) for k, order in enumerate(view.orders))
        total = int(view.counts[:, :, :2].sum())
        for name, count in (("first", first), ("second", total - first)):
            if total >= _ENOUGH and len(view.orders) == 2 and count >= _NEARLY_ALL * total:
                return f"answers by position: {{}} name the idea shown {name}", f"{count} of {total} votes"
        return None
    if view.suite.protocol == "grouping":
        return _one_partition(view)
    labels = PROTOCOLS[view.suite.protocol].labels
    if labels is None:
        return None
    first, total = int(view.counts[:, :, 0].sum()), int(view.counts[:, :, :2].sum())
    gold = [instance.gold == labels[0] for instance in view.instances if instance.gold is not None]
    for name, count, wanted in ((labels[0], first, True), (labels[1], total - first, False)):
        one_sided_gold = bool(gold) and gold.count(wanted) >= _NEARLY_ALL * len(gold)
        if total >= _ENOUGH and count >= _NEARLY_ALL * total and not one_sided_gold:
            return f"says {name} to nearly everything: {{}}", f"{count} of {total} votes"
    return None


def _one_partition(view: View) -> tuple[str, str] | None:
    """The two that need no look at the papers: all apart, and all in one group."""
    said = [
        (label, instance.gold, len(instance.ideas))
        for instance, result in zip(view.instances, view.results, strict=True)
        for label in (vote.label for vote in result.outcome.votes if vote.valid)
    ]

    def is_one(label: str | None, size: int) -> bool:
        return label is not None and list(map(len, groups_of(label))) == [size]

    for what, of in (
        ("puts all papers apart", lambda label, size: label is not None and not groups_of(label)),
        ("puts all papers into one group", is_one),
    ):
        count = sum(of(label, size) for label, _, size in said)
        wanted = sum(of(gold, size) for _, gold, size in said)
        if len(said) >= _ENOUGH and count >= _NEARLY_ALL * len(said) and wanted < _NEARLY_ALL * len(said):
            return f"{what}: {{}}", f"{count} of {len(said)} votes"
    return None


def find_unanswered(views: Views) -> list[str]:
    """Judges that gave hardly a valid verdict, with the kind of failure they gave instead."""
    found = []
    for (suite, variant, judge), view in sorted(views.items()):
        kinds: Counter[str] = Counter()
        for result in view.results:
            kinds.update(result.kinds)
        votes = sum(len(result.outcome.votes) for result in view.results)
        if votes >= _ENOUGH and kinds.total() >= 0.9 * votes:
            kind, count = kinds.most_common(1)[0]
            place = f"{judge} on {suite}" + ("" if variant == "reference" else f", variant {variant}")
            hint = (
                "; does it judge this protocol? A judge that does not declares protocols"
                if kind == "missing key"
                else ""
            )
            found.append(f"{place} gave hardly a valid verdict: {count} of {votes} answers failed as {kind!r}{hint}")
        abstained = sum(vote.abstained for result in view.results for vote in result.outcome.votes)
        if votes >= _ENOUGH and abstained >= 0.9 * votes:
            place = f"{judge} on {suite}" + ("" if variant == "reference" else f", variant {variant}")
            reason = next((result.outcome.reason for result in view.results if result.outcome.reason), "")
            found.append(f"{place} abstained in {abstained} of {votes} answers" + (f": {reason}" if reason else ""))
    return found


def find_looked_up(views: Views) -> list[str]:
    found = []
    for (suite, _, judge), view in sorted(views.items()):
        if view.may_have_looked_up:
            found.append(
                f"{judge} on {suite} retrieves, does not honour as_of and shows no trace: it may have looked up the answer, so "
                "its accuracy is not evaluable"
            )
        leaked = sum(bool(result.trace.leaked) for result in view.results)
        if leaked:
            found.append(
                f"{judge} on {suite} found the very idea in {leaked} of {len(view)} instances: its accuracy there shows a look-up"
            )
    return found


def find_of_calls(outcomes: Sequence[CaseResult]) -> list[str]:
    """What the calls themselves tell: who served them, what was refused."""
    return [
        *find_models(outcomes),
        *find_refused_settings(outcomes),
        *find_exceeded_limits(outcomes),
        *find_filtered(outcomes),
        *find_oddities(outcomes),
    ]


def find_lacking_audits(plan: Plan, outcomes: Sequence[CaseResult]) -> list[str]:
    """Audits that gave no verdict, those that a worker took with it, and those that the budget did not allow."""
    grouped: dict[tuple[str, str], list[Audits]] = {}
    for result in outcomes:
        if result.audits.wanted:
            grouped.setdefault((result.judge, result.suite), []).append(result.audits)
    found = []
    for (judge, suite), audits in sorted(grouped.items()):
        kinds: Counter[str] = Counter()
        for each in audits:
            kinds.update(each.failed)
        names = " and ".join(auditor.name for auditor in plan.panels.get(judge, ()))
        left = _left_by(audits, plan.panels.get(judge, ()))
        if kinds:
            told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
            first = next(each.message for each in audits if each.failed)
            count = f"{kinds.total()} of {sum(each.calls for each in audits)} audits"
            why = f"; the first: {first}" if first else ""
            found.append(f"{count} of {judge} on {suite} by {names} gave no verdict ({told}): {left}{why}")
        if lost := sum(each.lost for each in audits):
            found.append(
                f"{plural(lost, 'statement')} of {judge} on {suite} {'was' if lost == 1 else 'were'} being audited by {names} in "
                "a worker that died, or was stopped, before it told: unchecked, with bounds over them; run again: what was "
                "answered is stored"
            )
        if unpaid := sum(each.unpaid for each in audits):
            found.append(
                f"{unpaid} audits of {judge} on {suite} by {names} were not made, the budget is reached: {left}"
            )
    return found


def _left_by(audits: Sequence[Audits], panel: Sequence[Judge]) -> str:
    """What audits without a verdict leave open: the word of the first auditor counts, and of the others how far they agree."""
    said = [row[0] for each in audits for row in each.opinions]
    if said and None not in said:
        return f"no statement lacks the word of {panel[0].name}, which counts: only how far the auditors agree is not told of all"
    which = f"statements without the word of {panel[0].name}" if len(panel) > 1 else "those statements"
    return f"{which} are unchecked, and verified F1 has bounds over them"


def find_kin(plan: Plan, outcomes: Sequence[CaseResult]) -> list[str]:
    """Judges that were audited by their own family, since that was allowed: what kin find supported is no evidence."""
    return [
        told
        for judge in plan.judges
        for place, auditor in enumerate(plan.panels.get(judge.name, ()))
        if is_barred(judge, auditor) and (told := _of_kin(plan, judge, place, outcomes))
    ]


def _of_kin(plan: Plan, judge: Judge, place: int, outcomes: Sequence[CaseResult]) -> str:
    """What the auditor at a place of the judge's panel said; empty where it judged nothing."""
    panel = plan.panels[judge.name]
    said: Counter[tuple[str, bool]] = Counter()
    for result in outcomes:
        if result.judge == judge.name:
            words = [row[place] for row in result.audits.opinions] if place else _words_that_count(result)
            said.update((result.suite, word) for word in words if word is not None)
    if not said:
        return ""
    auditor, family = panel[place].name, family_of(judge)
    beside = f" beside {panel[0].name}, whose word counts" if place else ""
    what = (
        "different statement" if place else "statement"
    )  # what auditors after the first say is kept of each once a case
    judged = ", ".join(
        f"of {plural(said[suite, True] + said[suite, False], what)} that it judged on {suite} it finds "
        f"{said[suite, True]:,} supported"
        for suite in sorted({suite for suite, _ in said})
    )
    return (
        f"{judge.name} is audited by its own family{f' ({family})' if family else ''}, by "
        f"{'itself' if auditor == judge.name else auditor}{beside} (--novelty-own-family): {judged}. Agreement among kin is no "
        "evidence, for they may share what they get wrong: name an auditor of another family with --novelty-auditor"
    )


def _words_that_count(result: CaseResult) -> Iterator[bool | None]:
    """Of each statement, counted in every vote as the cascade does, the word of the first auditor."""
    return (ground.supported for vote in result.outcome.votes for ground in vote.grounds)


def find_oddities(outcomes: Sequence[CaseResult]) -> list[str]:
    """Answers that were read though something about them was strange."""
    found: Counter[tuple[str, str]] = Counter()
    for result in outcomes:
        for kind, count in result.oddities.items():
            found[result.judge, kind] += count
    return [
        f"{judge}: {count} answer{'' if count == 1 else 's'} {ODDITIES.get(kind, kind)} ({kind})"
        for (judge, kind), count in sorted(found.items())
    ]


def find_refused_settings(outcomes: Sequence[CaseResult]) -> list[str]:
    """Parameters that were asked for and that the server did not take: the judge is not the one that was meant."""
    found: dict[str, set[str]] = {}
    for result in outcomes:
        for told in result.usage.settings:
            refused = [part.removesuffix(" (refused)") for part in told.split(", ") if part.endswith(" (refused)")]
            found.setdefault(result.judge, set()).update(refused)
    return [
        f"{judge} was asked without {', '.join(sorted(names))}: the server does not take it"
        for judge, names in sorted(found.items())
        if names
    ]


def find_exceeded_limits(outcomes: Sequence[CaseResult]) -> list[str]:
    """Models that answer with more tokens than they were allowed: what a budget sets aside before it is known is too little."""
    found: dict[str, set[str]] = {}
    for result in outcomes:
        told = [part for text in result.usage.settings for part in text.split(", ") if part.endswith(EXCEEDED)]
        found.setdefault(result.judge, set()).update(part.removesuffix(EXCEEDED).strip() for part in told)
    return [
        f"{judge} answers with more tokens than it was allowed ({', '.join(sorted(limits))}): its server ignores the limit, so "
        "the calls in flight may exceed a budget until the first is answered"
        for judge, limits in sorted(found.items())
        if limits
    ]


def find_filtered(outcomes: Sequence[CaseResult]) -> list[str]:
    """Instances that a provider's content filter refuses: no verdict on them says anything about the judge."""
    found: dict[tuple[str, str], list[str]] = {}
    for result in outcomes:
        if result.kinds.get("content filter") and result.instance not in found.get((result.judge, result.suite), ()):
            found.setdefault((result.judge, result.suite), []).append(result.instance)
    return [
        f"a content filter refuses {len(instances)} instances of {suite} for {judge}: {_listed(instances)}; "
        "a suite's blocklist takes them out"
        for (judge, suite), instances in sorted(found.items())
    ]


def _listed(names: Sequence[str], limit: int = 10) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(sorted(names)[:limit]) + more


def find_few_clusters(views: Views) -> list[str]:
    """Suites whose intervals rest on fewer than twenty clusters, and what so few cannot rule out."""
    counts: dict[str, int] = {}
    for (suite, _, _), view in views.items():
        if view.clusters is not None:
            counts[suite] = max(counts.get(suite, 0), len(set(view.clusters.tolist())))
    return [_of_few_clusters(suite, count) for suite, count in sorted(counts.items()) if count < _FEW_CLUSTERS]


def _of_few_clusters(suite: str, count: int) -> str:
    told = f"{suite} has {count} cluster{'' if count == 1 else 's'}: "
    unseen = clopper_pearson(0, count)
    if count < 2 or unseen is None:
        return f"{told}there are no intervals, and gates are decided by their values alone if at all"
    told += f"what none of them shows may hold of {percent(unseen.high)} % of others like them; "
    if count < _HARDLY_ANY:
        return f"{told}with fewer than {_HARDLY_ANY} hardly a gate can be decided"
    return f"{told}with fewer than {_FEW_CLUSTERS} intervals are wide, and rough"


def find_shared_ideas(views: Views) -> list[str]:
    """Suites of pairs in which ideas recur, unless each idea stays within a cluster."""
    found: dict[str, str] = {}
    for (suite, _, _), view in sorted(views.items()):
        if view.suite.protocol != "pairwise" or suite in found:
            continue
        units = range(len(view)) if view.clusters is None else view.clusters.tolist()
        ideas: dict[tuple[str, str], set[int]] = {}
        for instance, unit in zip(view.instances, units, strict=True):
            for idea in instance.ideas:
                ideas.setdefault((idea.title, idea.text), set()).add(unit)
        if any(len(homes) > 1 for homes in ideas.values()):
            kind = "pairs" if view.clusters is None else "clusters"
            found[suite] = (
                f"{suite} makes {len(view)} pairs of {len(ideas)} ideas: intervals take {kind} "
                "as independent, so they speak of these ideas, not of others like them"
                + (" (those of the contrast are over ideas)" if view.suite.contrast is not None else "")
            )
    return list(found.values())


def find_no_reference(plan: Plan, views: Views) -> list[str]:
    """Suites on which the judge that the others are to be compared with did not run."""
    wanted = plan.settings.reference
    if wanted is None:
        return []
    ran = {suite: {judge for other, _, judge in views if other == suite} for suite, _, _ in views}
    return [
        f"nothing on {suite} is compared with the reference judge {wanted}: it "
        + plan.skipped.get((wanted, suite, ""), "did not run")
        for suite, judges in sorted(ran.items())
        if wanted not in judges
    ]


def find_old(outcomes: Sequence[CaseResult], max_age_days: float | None, now: dt.datetime) -> list[str]:
    """Verdicts from the store that are older than is allowed: the judge may not be what it was."""
    if max_age_days is None:
        return []
    limit = (now - dt.timedelta(days=max_age_days)).strftime("%Y-%m-%dT%H:%M:%SZ")
    found: dict[tuple[str, str], list[str]] = {}
    for result in outcomes:
        if result.usage.oldest and result.usage.oldest < limit:
            found.setdefault((result.judge, result.suite), []).append(result.usage.oldest)
    return [
        f"{len(dates)} outcomes of {judge} on {suite} rest on verdicts of more than {max_age_days:g} days ago (the oldest of "
        f"{min(dates)[:10]}): --novelty-probe=30 tells whether the judge is still the same, --novelty-refresh asks all anew"
        for (judge, suite), dates in sorted(found.items())
    ]


def find_models(outcomes: Sequence[CaseResult]) -> list[str]:
    """Two served models under one judge: a silent update, or a router."""
    served: dict[str, set[str]] = {}
    for result in outcomes:
        served.setdefault(result.judge, set()).update(result.usage.models)
    return [
        f"{judge} was served by {len(models)} models: {', '.join(sorted(models))}"
        for judge, models in sorted(served.items())
        if len(models) > 1
    ]
