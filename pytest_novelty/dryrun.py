"""What a run would ask and cost, known before anything is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_novelty.as_published import plan_release, read_statements
from pytest_novelty.auditing import audit_case, cites, count_textless, most_statements, plan_audits
from pytest_novelty.calls import Call, CallPlanner, Case
from pytest_novelty.cassette import open_store
from pytest_novelty.judges.base import Expected, Judge
from pytest_novelty.judges.llm.prices import Tokens
from pytest_novelty.looks import SampleRange
from pytest_novelty.model import Conclusion, Record
from pytest_novelty.plan import Plan
from pytest_novelty.printing import plural, show_usd
from pytest_novelty.profiles import AS_PUBLISHED
from pytest_novelty.recording import Recorder
from pytest_novelty.store import NOT_REUSED, MemoryStore, VerdictStore
from pytest_novelty.textless import foretell_textless
from pytest_novelty.verdicts import SIMILAR

_CHARACTERS_A_TOKEN = 4
"""The usual rule of thumb for English; stated wherever an estimate rests on it."""
_TOKENS_OUT = 300
"""Assumed of a model's answer until one is stored: a few sentences of reasoning and the verdict."""
_SPAN, _REASON = "x" * 300, "x" * 200
"""Assumed of a statement that is to be audited, until it is made."""
_BATCH = 200


@dataclass
class Estimated:
    """Calls of one judge on one suite under one variant. ``audits``: the judge whose statements it is asked about, if it audits;
    ``at_most``: calls of which nobody knows whether they will be made.
    """

    judge: str
    suite: str
    variant: str
    calls: int = 0
    stored: int = 0
    characters_in: int = 0
    expected: Expected | None = None
    """Of the first call that is to be made; the price and the most output tokens are those of all."""
    tokens_out_a_call: float | None = None
    usd_a_call: float | None = None
    bound_usd: float | None = None
    """The most that a call can cost, which a budget sets aside before it is sent."""
    basis: str = ""
    seconds_a_call: float | None = None
    in_flight: int = 1
    audits: str = ""
    at_most: int = 0

    @property
    def missing(self) -> int:
        return self.calls - self.stored

    @property
    def cost_usd(self) -> float | None:
        return 0.0 if not self.missing else None if self.usd_a_call is None else self.missing * self.usd_a_call

    @property
    def seconds(self) -> float | None:
        """Of the calls to make: as they overlap, and not faster than the judge's own rates; None until a call was timed."""
        if not self.missing:
            return 0.0
        paced = self.missing * (self.expected.step_s if self.expected is not None else 0.0)
        if self.seconds_a_call is None:
            return paced or None
        return max(paced, self.missing * self.seconds_a_call / self.in_flight)


@dataclass
class DryRun:
    """The estimate of a whole run."""

    parts: list[Estimated]
    budget_usd: float | None
    announcements: list[str] = field(default_factory=list)
    may_stop: bool = False
    """The sample grows in looks: fewer calls may do."""
    anew: str = ""
    """Why what is stored is not counted; empty where it is read."""
    left_out: tuple[str, ...] = ()
    """Who is named as an auditor and is not asked."""
    textless: str = ""
    """What of stored verdicts cannot be audited for want of texts."""

    def lines(self) -> list[str]:
        """For a terminal: one line a part, then the sum, then what cannot be decided."""
        lines = [self._line(part) for part in self.parts]
        lines += self._sums_of_auditors()
        lines += [*self.left_out, *filter(None, [self.textless])]
        known, total = _sum_of_costs(self.parts)
        missing = sum(part.missing for part in self.parts)
        most = "at most " if self.may_stop or any(part.at_most for part in self.parts) else ""
        lines.append(f"in all: {most}{plural(missing, 'call')} to make, {total}{self._time()}")
        bounds = [part.bound_usd for part in self.parts if part.bound_usd]
        if bounds:
            lines.append(
                f"a budget sets {show_usd(max(bounds))} aside for each call in flight (its prompt and all of max_tokens) and "
                "settles what it cost; a smaller budget judges nothing"
            )
        if self.budget_usd is not None and known > self.budget_usd:
            verb, stop = ("may be", "might") if any(part.at_most for part in self.parts) else ("is", "would")
            lines.append(
                f"the budget of {show_usd(self.budget_usd)} {verb} too small: the run {stop} stop within it, with paired data"
            )
        return lines + [f"no outcome can pass a gate: {text}" for text in self.announcements]

    def _line(self, part: Estimated) -> str:
        if part.audits:
            return self._line_of_audits(part)
        variant = "" if part.variant == "reference" else f" [{part.variant}]"
        tokens = ""
        if part.characters_in:
            count = part.characters_in // _CHARACTERS_A_TOKEN
            tokens = f", about {count:,} input tokens ({_CHARACTERS_A_TOKEN} characters a token)"
            if part.tokens_out_a_call is not None:
                tokens += f" and {round(part.missing * part.tokens_out_a_call):,} output tokens"
        to_make = self.anew or f"{part.stored:,} stored, {part.missing:,} to make"
        calls = f"{plural(part.calls, 'call')}, {to_make}"
        return f"{part.judge} on {part.suite}{variant}: {calls}{tokens}, {show_usd(part.cost_usd)} ({part.basis}){_time_of(part)}"

    def _line_of_audits(self, part: Estimated) -> str:
        variant = "" if part.variant == "reference" else f" [{part.variant}]"
        known = part.calls - part.at_most
        counts = []
        if known or not part.at_most:
            counts.append(f"{plural(known, 'audit')} of stored verdicts, {part.stored:,} stored")
        if part.at_most:
            what = "only positives whose evidence is found are audited, and no statement twice"
            counts.append(f"at most {plural(part.at_most, 'audit')} of verdicts to come ({what})")
        most = "at most " if part.at_most else ""
        return (
            f"{part.judge} auditing {part.audits} on {part.suite}{variant}: {' and '.join(counts)}, {most}{part.missing:,} to "
            f"make, {most}{show_usd(part.cost_usd)} ({part.basis}){_time_of(part)}"
        )

    def _sums_of_auditors(self) -> Iterator[str]:
        """Of each auditor that audits more than one judge, suite or variant."""
        auditors: dict[str, list[Estimated]] = {}
        for part in self.parts:
            if part.audits:
                auditors.setdefault(part.judge, []).append(part)
        for auditor, parts in auditors.items():
            if len(parts) > 1:
                most = "at most " if any(part.at_most for part in parts) else ""
                judges = " and ".join(dict.fromkeys(part.audits for part in parts))
                calls = plural(sum(part.missing for part in parts), "audit")
                yield f"{auditor} auditing {judges}, in all: {most}{calls} to make, {most}{_sum_of_costs(parts)[1]}"

    def _time(self) -> str:
        seconds = [part.seconds for part in self.parts]
        if None in seconds:
            return ", time unknown until a call was timed"
        total = sum(each for each in seconds if each is not None)
        limits = sorted({part.in_flight for part in self.parts})
        paced = any(part.missing and part.expected is not None and part.expected.step_s for part in self.parts)
        return f", about {total:.0f} s at {' or '.join(map(str, limits))} calls in flight" + (
            " and the judge's own rates" if paced else ""
        )


def _sum_of_costs(parts: Sequence[Estimated]) -> tuple[float, str]:
    """(the known part, in words)."""
    costs = [part.cost_usd for part in parts]
    known = sum(cost for cost in costs if cost is not None)
    return known, show_usd(known) if None not in costs else f"{show_usd(known)} and an unknown amount"


def _time_of(part: Estimated) -> str:
    if not part.missing:
        return ""
    if part.seconds is None:
        return ", time unknown until a call was timed"
    paced = part.expected is not None and part.expected.step_s > 0
    timed = (
        "" if part.seconds_a_call is None else f"{part.seconds_a_call:.2g} s a stored call, {part.in_flight} in flight"
    )
    basis = ", ".join(filter(None, [timed, "the judge's own rates" if paced else ""]))
    return f", about {part.seconds:.0f} s ({basis})"


def estimate_run(plan: Plan, cases: Iterable[Case]) -> DryRun:
    """Plan every call, look which are stored, price the rest. Asks no judge and writes nothing."""
    settings = plan.settings
    anew = "all asked past the store" if settings.probe else "all asked anew" if settings.refresh else ""
    store: VerdictStore = MemoryStore()
    if settings.store.exists():
        store = open_store(settings.store, offline=True)
    planner = CallPlanner(plan.prompts, settings.seed)
    parts: dict[tuple[str, ...], Estimated] = {}
    audits = _Audits(plan, planner, store, bool(anew))
    try:
        batch: list[Case] = []
        for case in cases:
            batch.append(case)
            if len(batch) == _BATCH:
                _add(parts, batch, planner, store, bool(anew), audits)
                batch = []
        _add(parts, batch, planner, store, bool(anew), audits)
        parts |= audits.parts
        for part in parts.values():
            _price(part, plan, store)
    finally:
        store.close()
    may_stop = isinstance(settings.sample, SampleRange)
    gates = [gate for _, suite in sorted(audits.textless) for gate in plan.suites[suite].gates]
    textless = foretell_textless(settings, audits.textless, gates)
    return DryRun(
        list(parts.values()), settings.budget_usd, plan.announcements(), may_stop, anew, plan.left_out, textless
    )


def _add(
    parts: dict[tuple[str, ...], Estimated],
    batch: Sequence[Case],
    planner: CallPlanner,
    store: VerdictStore,
    asks_anew: bool,
    audits: _Audits,
) -> None:
    planned = [(case, planner.plan(case)) for case in batch]
    stored = {} if asks_anew else store.get([call.key for _, calls in planned for call in calls])
    for case, calls in planned:
        key = (case.judge.name, case.suite.name, case.variant.name)
        part = parts.setdefault(key, Estimated(*key))
        part.calls += len(calls)
        for call in calls:
            if call.key in stored and stored[call.key].status not in NOT_REUSED:
                part.stored += 1
            else:
                part.characters_in += sum(len(message["content"]) for message in call.request.messages)
                if part.expected is None:
                    part.expected = case.judge.expect(call.request)
        audits.add(case, calls, stored)


class _Audits:
    """What auditors will be asked: of stored verdicts what they state, of others at most what they can state."""

    def __init__(self, plan: Plan, planner: CallPlanner, store: VerdictStore, asks_anew: bool) -> None:
        self.parts: dict[tuple[str, ...], Estimated] = {}
        self.textless: Counter[tuple[str, str]] = Counter()
        """Statements of stored verdicts that nobody can be asked about, by judge and suite."""
        self._plan, self._planner, self._store, self._asks_anew = plan, planner, store, asks_anew
        self._recorder = Recorder()
        self._seen: set[str] = set()
        self._assumed: dict[tuple[str, str, str], Call] = {}

    def add(self, case: Case, calls: Sequence[Call], stored: Mapping[str, Record]) -> None:
        """The audits of one case, by each auditor of its judge."""
        if not cites(case.suite.protocol):
            return
        known = [call for call in calls if call.key in stored and stored[call.key].status not in NOT_REUSED]
        without = [self._recorder.reread(call, stored[call.key]) for call in known if not stored[call.key].raw]
        if count := count_textless(without):
            self.textless[case.judge.name, case.suite.name] += count
        if case.judge.name not in self._plan.panels:
            return
        records = [self._recorder.reread(call, stored[call.key]) for call in known]
        to_come = (len(calls) - len(known)) * most_statements(case)
        for auditor in self._plan.panels[case.judge.name]:
            key = ("audits", auditor.name, case.judge.name, case.suite.name, case.variant.name)
            part = self.parts.setdefault(
                key, Estimated(auditor.name, case.suite.name, case.variant.name, audits=case.judge.name)
            )
            rows = [*plan_audits(auditor, known, records).values()]
            times = 1
            if case.suite.profile == AS_PUBLISHED and auditor is self._plan.panels[case.judge.name][0]:
                rows += plan_release(auditor, known, read_statements(known, records)).values()
                times = 2  # the same reason beside the spans as they are in the source, and as the judge wrote them
            planned = {one.instance.id: one for row in rows for one in row if one is not None}
            self._add_known(part, [self._planner.plan(one)[0] for one in planned.values()])
            if to_come:
                self._count(part, self._example(auditor, case), times * to_come)
                part.calls += times * to_come
                part.at_most += times * to_come

    def _add_known(self, part: Estimated, calls: Sequence[Call]) -> None:
        new = {call.key: call for call in calls if call.key not in self._seen}
        self._seen.update(new)
        stored = {} if self._asks_anew else self._store.get(list(new))
        part.calls += len(new)
        for call in new.values():
            if call.key in stored and stored[call.key].status not in NOT_REUSED:
                part.stored += 1
            else:
                self._count(part, call, 1)

    def _count(self, part: Estimated, call: Call, times: int) -> None:
        part.characters_in += times * sum(len(message["content"]) for message in call.request.messages)
        if part.expected is None:
            part.expected = call.case.judge.expect(call.request)

    def _example(self, auditor: Judge, case: Case) -> Call:
        key = (auditor.name, case.suite.name, case.instance.dimension)
        if key not in self._assumed:
            assumed = Conclusion(SIMILAR, (_SPAN, _SPAN), _REASON)
            self._assumed[key] = self._planner.plan(
                audit_case(auditor, case.suite.name, case.instance.dimension, assumed)
            )[0]
        return self._assumed[key]


def _price(part: Estimated, plan: Plan, store: VerdictStore) -> None:
    judge = next(item for item in (*plan.judges, *plan.all_auditors) if item.name == part.judge)
    cost, seconds, count = store.means(judge.name, judge.version)
    part.seconds_a_call = seconds
    part.in_flight = min(plan.settings.concurrency, judge.traits.max_concurrency or plan.settings.concurrency)
    if part.expected is not None:
        _price_tokens(part, part.expected, judge, store)
    elif judge.traits.cost_usd_per_call is not None:
        part.usd_a_call, part.basis = judge.traits.cost_usd_per_call, "as the judge declares"
    elif cost is not None:
        part.usd_a_call, part.basis = cost, f"the mean of {plural(count, 'stored call')}"
    else:
        part.basis = "the judge declares no cost; the first five calls would measure it"


def _price_tokens(part: Estimated, expected: Expected, judge: Judge, store: VerdictStore) -> None:
    """A model's calls: input tokens by the rule of thumb, output tokens as in stored calls, else assumed."""
    stored = store.mean_tokens_out(judge.name, judge.version)
    out = min(_TOKENS_OUT, expected.tokens_out) if stored is None else stored
    part.tokens_out_a_call = out
    basis = f"output tokens {'assumed' if stored is None else 'as in stored calls'}: {out:.0f} a call"
    part.bound_usd = expected.bound_usd
    if expected.price is None:
        part.basis = f"price {judge.price_basis}; {basis}"
        return
    tokens_in = part.characters_in / _CHARACTERS_A_TOKEN / part.missing
    part.usd_a_call = expected.price.cost_usd(Tokens(round(tokens_in), round(out)))
    part.basis = f"price from {judge.price_basis}; {basis}"
