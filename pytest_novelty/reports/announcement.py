"""What a person reads before a run: judges and versions, suites, calls, what is stored, what cannot be decided."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_novelty.auditing import WEAK, cites
from pytest_novelty.gates import DEFAULT_STABILITY_GATE
from pytest_novelty.granularity import CAPS, TOKENIZER
from pytest_novelty.judges.base import Judge
from pytest_novelty.judges.families import family_of
from pytest_novelty.judges.routes import OPTION, Route
from pytest_novelty.looks import SampleRange
from pytest_novelty.plan import Plan, SuitePlan
from pytest_novelty.printing import plural, show_usd
from pytest_novelty.profiles import DEFAULT
from pytest_novelty.protocols import PROTOCOLS, thing_of


def announce(plan: Plan, stored: Mapping[str, int], older: Mapping[str, int], workers: int = 1) -> list[str]:
    """Lines for the header. ``stored``: verdicts of these judge versions in the store, by suite, whatever their settings;
    ``older``: verdicts of other versions, by judge; ``workers``: processes that judge.
    """
    lines = []
    for judge in plan.judges:
        note = " (digest of its source file; edits elsewhere are not seen)" if judge.version_is_digest else ""
        price = _price(judge)
        lines.append(f"novelty judge: {judge.name}, version {judge.version}{note}, {price}")
    lines += [f"novelty: {text}" for text in _accounts(plan.judges)]
    if not plan.suites:
        lines.append("novelty suites: not run, paths are given (tests may name suites by marks)")
        return lines
    lines += [_suite_line(plan, planned, stored.get(planned.suite.name, 0)) for planned in plan.suites.values()]
    lines += [f"novelty auditor: {text}" for text in _auditors(plan)]
    settings = plan.settings
    if settings.probe:
        lines.append(
            "novelty probe: the reference is asked past the store, to be compared with what is recorded; no gates"
        )
    budget = "" if settings.budget_usd is None else f", budget {show_usd(settings.budget_usd)}"
    flight = f"{plural(calls_in_flight(plan, workers), 'call')} in flight at most"
    mode = "offline: answers come from the store only" if settings.offline else f"{flight}{budget}"
    lines.append(f"novelty store: {settings.store}, {mode}")
    lines += [
        f"novelty: {count:,} verdicts of other versions of {judge} are stored and not used; a judge that sets version keeps them"
        for judge, count in older.items()
    ]
    lines += [f"novelty: {judge} {reason}, {what} skipped" for judge, what, reason in _skipped(plan)]
    lines += [
        f"novelty: stability is gated by {DEFAULT_STABILITY_GATE}, as neither {planned.suite.name} nor an option gates it"
        for planned in plan.suites.values()
        if any(gate.text == DEFAULT_STABILITY_GATE for gate in planned.gates)
        and DEFAULT_STABILITY_GATE not in (*planned.suite.gates, *settings.gates)
    ]
    lines += list(_cuts(plan))
    lines += list(_small(plan))
    lines += [f"novelty: no outcome can pass a gate: {text}" for text in plan.announcements()]
    if "all" in plan.settings.variants:
        lines += [
            f"novelty: {name} has no variants; a file that says extends: adds some, and suite new makes a suite with them"
            for name, planned in plan.suites.items()
            if len(planned.suite.variants) == 1
        ]
    lines += [
        f"novelty: {planned.suite.name} is not held to stability: {planned.without_stability_gate}"
        for planned in plan.suites.values()
        if planned.without_stability_gate
    ]
    return lines


def _small(plan: Plan) -> Iterator[str]:
    """Suites that have fewer instances than the sample asks for."""
    sample = plan.settings.sample
    if sample is None:
        return
    wanted = sample.last if isinstance(sample, SampleRange) else sample
    for name, planned in plan.suites.items():
        has = len(planned.suite.instances)
        if has < wanted:
            looks = (
                f", so the looks are at {', '.join(map(str, planned.looks))}"
                if len(planned.looks) > 1
                else ", and all are asked"
            )
            yield f"novelty: {name} has {plural(has, 'instance')}, fewer than --novelty-sample={sample}{looks}"


def _accounts(judges: Sequence[Judge]) -> Iterator[str]:
    """Judges that keep rates together; who has none of its own keeps the account's."""
    shared: dict[str, list[Judge]] = {}
    for judge in judges:
        if judge.account:
            shared.setdefault(judge.account, []).append(judge)
    for group in shared.values():
        if len(group) > 1 and any(any(judge.rates) for judge in group):
            without = [judge.name for judge in group if not any(judge.rates)]
            lent = f"; {' and '.join(without)} without rates too" if without else ""
            yield f"{' and '.join(judge.name for judge in group)} ask one address with one key and keep its rates together{lent}"


def _auditors(plan: Plan) -> Iterator[str]:
    """Who audits whom, and where nobody can tell whether the two are of one family."""
    citing = {planned.suite.protocol for planned in plan.suites.values() if cites(planned.suite.protocol)}
    if not plan.audited:
        if plan.routed:
            why = f"no judge of this run judges {' or '.join(sorted(citing))}" if citing else ""
            yield f"nothing is audited: {why or 'no suite of this run asks for evidence'}"
        return
    for judge in plan.judges:
        if judge.name not in plan.audited:
            continue
        family = family_of(judge)
        told = f"family {family}" if family else "whose family is not known (it may declare family)"
        if judge.name in plan.panels:
            auditor, *others = plan.panels[judge.name]
            yield f"{auditor.name}, {_price(auditor)}, audits {judge.name}, {told}{_says(plan.routed[judge.name])}"
            if others:
                named = ", ".join(f"{other.name} ({_price(other)})" for other in others)
                yield f"{named} audit the same for their agreement with {auditor.name}, whose word counts"
        elif judge.name in plan.routed:
            yield f"{WEAK}, which only compares words, audits {judge.name}, {told}{_says(plan.routed[judge.name])}"
        elif plan.routed or plan.idle:
            yield f"{WEAK}, which only compares words, audits {judge.name}, {told}: nothing says who else is to"
    yield from plan.left_out
    yield from plan.idle


def _says(routes: Sequence[Route]) -> str:
    """What says so, unless an option names the auditors of all judges."""
    named = [route for route in routes if route.family or route.source != OPTION]
    places = {source: [route for route in named if route.source == source] for source in {r.source for r in named}}
    told = [f"{source}: {', '.join(route.text for route in rows)}" for source, rows in sorted(places.items())]
    return f" ({'; '.join(told)})" if told else ""


def calls_in_flight(plan: Plan, workers: int) -> int:
    """How many calls there can be at once: the run's setting is shared by the workers, and judges may allow fewer."""
    each = max(1, plan.settings.concurrency // workers)
    allowed = sum(min(each, judge.traits.max_concurrency or each) for judge in plan.judges)
    return min(each, allowed) * workers


def _price(judge: Judge) -> str:
    cost = judge.traits.cost_usd_per_call
    if cost is None and judge.price_basis:
        return f"price {'' if judge.price_basis.startswith('unknown') else 'from '}{judge.price_basis}"
    if cost is None:
        return "cost unknown until its answers tell it"
    return "free" if cost == 0 else f"${cost:g} a call"


def _suite_line(plan: Plan, planned: SuitePlan, stored: int) -> str:
    suite = planned.suite
    pairs = list(plan.pairs(planned))
    calls = sum(
        len(planned.instances) * variant.axes.votes * len(PROTOCOLS[suite.protocol].orders(variant.axes.orders))
        for _, variant in pairs
    )
    size = plural(len(planned.instances), "instance")
    if planned.looks:
        looks = ", ".join(map(str, planned.looks))
        size = f"{looks} instances in {plural(len(planned.looks), 'look')}, until all gates are decided"
    elif planned.sampled:
        size += f" (a sample of {len(suite.instances)})"
    if suite.blocklist:
        size += f" ({len(suite.blocklist)} more are on its blocklist)"
    variants = f", {plural(len(planned.variants), 'variant')}" if len(planned.variants) > 1 else ""
    profile = "" if suite.profile == DEFAULT else f", profile {suite.profile}"
    whose = "this judge" if len(plan.judges) == 1 else "these judges"
    kept = f"{plural(stored, 'verdict')} of {whose}, whatever the settings" if stored else f"none of {whose}"
    kept = "all asked anew" if plan.settings.refresh else f"stored on it: {kept}"
    return f"novelty suite: {suite.name} {suite.version}, {size}{variants}{profile}, {plural(calls, 'call')}; {kept}"


def _cuts(plan: Plan) -> Iterator[str]:
    """What judges are not shown of long texts."""
    for name, planned in plan.suites.items():
        for variant in planned.variants:
            if cut := planned.content[variant.name].cut:
                granularity, thing = variant.axes.granularity, thing_of(planned.suite.protocol)
                yield (
                    f"novelty: {variant.name} of {name} shows {plural(cut, thing)} only up to {CAPS[granularity]:,} tokens "
                    f"({TOKENIZER}), as granularity {granularity} has it"
                )


def _skipped(plan: Plan) -> Iterator[tuple[str, str, str]]:
    for planned in plan.suites.values():
        list(plan.pairs(planned))
    for (judge, suite, variant), reason in sorted(plan.skipped.items()):
        yield judge, f"variant {variant} of {suite}" if variant else suite, reason
