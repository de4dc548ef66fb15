"""What a run would ask and cost, known before anything is asked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pytest_novelty.calls import CallPlanner, Case
from pytest_novelty.cassette import open_store
from pytest_novelty.judges.base import Expected, Judge
from pytest_novelty.judges.llm.prices import Tokens
from pytest_novelty.looks import SampleRange
from pytest_novelty.plan import Plan
from pytest_novelty.reports.text import plural, show_usd
from pytest_novelty.store import NOT_REUSED, MemoryStore, VerdictStore

_CHARACTERS_A_TOKEN = 4
"""The usual rule of thumb for English; stated wherever an estimate rests on it."""
_TOKENS_OUT = 300
"""Assumed of a model's answer until one is stored: a few sentences of reasoning and the verdict."""
_BATCH = 200


@dataclass
class Estimated:
    """Calls of one judge on one suite under one variant."""

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

    def lines(self) -> list[str]:
        """For a terminal: one line a part, then the sum, then what cannot be decided."""
        lines = [self._line(part) for part in self.parts]
        costs = [part.cost_usd for part in self.parts]
        known = sum(cost for cost in costs if cost is not None)
        total = show_usd(known) if None not in costs else f"{show_usd(known)} and an unknown amount"
        missing = sum(part.missing for part in self.parts)
        most = "at most " if self.may_stop else ""
        lines.append(f"in all: {most}{plural(missing, 'call')} to make, {total}{self._time()}")
        bounds = [part.bound_usd for part in self.parts if part.bound_usd]
        if bounds:
            lines.append(
                f"a budget sets {show_usd(max(bounds))} aside for each call in flight (its prompt and all of max_tokens) and "
                "settles what it cost; a smaller budget judges nothing"
            )
        if self.budget_usd is not None and known > self.budget_usd:
            lines.append(
                f"the budget of {show_usd(self.budget_usd)} is too small: the run would stop within it, with paired data"
            )
        return lines + [f"no outcome can pass a gate: {text}" for text in self.announcements]

    def _line(self, part: Estimated) -> str:
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
    parts: dict[tuple[str, str, str], Estimated] = {}
    try:
        batch: list[Case] = []
        for case in cases:
            batch.append(case)
            if len(batch) == _BATCH:
                _add(parts, batch, planner, store, bool(anew))
                batch = []
        _add(parts, batch, planner, store, bool(anew))
        for part in parts.values():
            _price(part, plan, store)
    finally:
        store.close()
    may_stop = isinstance(settings.sample, SampleRange)
    return DryRun(list(parts.values()), settings.budget_usd, plan.announcements(), may_stop, anew)


def _add(
    parts: dict[tuple[str, str, str], Estimated],
    batch: Sequence[Case],
    planner: CallPlanner,
    store: VerdictStore,
    asks_anew: bool,
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


def _price(part: Estimated, plan: Plan, store: VerdictStore) -> None:
    judge = next(item for item in plan.judges if item.name == part.judge)
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
