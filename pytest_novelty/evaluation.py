"""The same run without pytest: in a script, in a notebook, in a user's own test."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from pytest_novelty.budget import Ledger, MemoryLedger
from pytest_novelty.errors import BudgetReached, SettingsError
from pytest_novelty.judges.registry import slug_of
from pytest_novelty.judges.routes import read_route
from pytest_novelty.model import Suite
from pytest_novelty.outcomes import CaseResult
from pytest_novelty.plan import Plan, make_plan
from pytest_novelty.profiles import PROFILES
from pytest_novelty.results import Report, make_report
from pytest_novelty.runner import Runner
from pytest_novelty.settings import (
    Settings,
    read_choice,
    read_count,
    read_dollars,
    read_sample,
    read_threshold,
)
from pytest_novelty.stopping import Stopping, segments
from pytest_novelty.store import MemoryStore, SqliteStore, VerdictStore

JudgeLike: TypeAlias = str | Callable[..., Any] | Mapping[str, Any] | Sequence[Any]
SuiteLike: TypeAlias = str | Path | Suite

_STUCK_IN_NOTEBOOK = (
    "evaluate() was called while an event loop was running (a notebook?): a judge that holds a client or lock of that loop "
    "cannot be answered; use await aevaluate(...)"
)


def evaluate(
    judge: JudgeLike,
    suite: SuiteLike | Sequence[SuiteLike],
    *,
    variants: Iterable[str] | None = None,
    votes: int | None = None,
    orders: str | None = None,
    seed: int = 0,
    gates: Iterable[str] = (),
    sample: int | str | None = None,
    concurrency: int = 16,
    threshold: float | str | None = None,
    reference: str | None = None,
    auditor: JudgeLike | None = None,
    own_family: bool = False,
    profile: str | None = None,
    budget_usd: float | None = None,
    store: str | Path | VerdictStore | None = None,
    offline: bool = False,
    refresh: bool = False,
    decide: str = "interval",
    failures: str = "wrong",
) -> Report:
    """Run ``judge`` on ``suite`` and report: the numbers that ``pytest --novelty-judge`` gives.

    Parameters
    ----------
    judge: a callable, a name as for ``--novelty-judge``, a mapping of names to callables, or a list of these.
    suite: a name, a path, a loaded Suite, or a list of these.
    variants: names of variants to run beside the reference, or ``["all"]``.
    votes, orders: votes per order and ``"both"`` or ``"ab"``; default: as the suite says.
    gates: gate expressions beside the suite's own.
    sample: so many instances of each suite, chosen by ``seed``; ``"60..300"``: in up to five planned looks, until every gate
        is decided.
    concurrency: calls in flight at once.
    reference: the judge that the others are compared with, instead of each with each.
    auditor: who is asked whether reasons follow from the evidence; by default only words are compared. A name (also in a
        mapping) may be ``"FAMILY=NAME"``, for judges of that family, or ``"*=NAME"``, for all others. Of several all that
        are of another family than the judge are asked, the first one's word counts, and their agreement is told.
    own_family: a judge may be audited by its own family.
    profile: ``"as-published"``: the report also has the figures that the rules of the benchmark's release give; default: as
        the suite says.
    budget_usd: stop before the next call would exceed it; the report is then of what was judged.
    store: a path of a store file (verdicts are kept and reused), or None: nothing is kept.

    Raises
    ------
    NoveltyError: a name, suite, prompt, judge, gate or setting that cannot be used; a verdict missing offline.
    """
    request = _make_request(locals())
    try:
        asyncio.get_running_loop()
        hint = _STUCK_IN_NOTEBOOK
    except RuntimeError:
        hint = ""
    return _run(*request, loop=None, hint=hint, on_start=lambda runner: None)


async def aevaluate(judge: JudgeLike, suite: SuiteLike | Sequence[SuiteLike], **options: Any) -> Report:
    """Like :func:`evaluate`, with async judges running in the caller's event loop.

    For a judge that holds a client, session or lock of that loop. Takes the same options.
    """
    request = _make_request({"judge": judge, "suite": suite, **_checked_options(options)})
    runners: list[Runner] = []
    work = asyncio.to_thread(_run, *request, loop=asyncio.get_running_loop(), hint="", on_start=runners.append)
    try:
        return await work
    except asyncio.CancelledError:
        for runner in runners:
            runner.cancel()
        raise


def _checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    known = dict(evaluate.__kwdefaults__ or {})
    for name in options:
        if name not in known:
            raise TypeError(f"aevaluate() got an unexpected keyword argument {name!r}")
    return {**known, **options}


def _make_request(given: Mapping[str, Any]) -> tuple[Plan, VerdictStore, Ledger | None, bool]:
    """Check the arguments and resolve everything that they name."""
    registered, specs = _name_judges(given["judge"])
    auditors: list[str] = []
    if given["auditor"] is not None:
        also, auditors = _name_auditors(given["auditor"])
        if twice := sorted(set(also) & set(registered)):
            raise SettingsError(
                f"a judge and an auditor are both called {twice[0]!r}", hint="Give mappings of names to judges"
            )
        registered |= also
    suites = given["suite"] if isinstance(given["suite"], (list, tuple)) else [given["suite"]]
    settings = Settings(
        judges=tuple(specs),
        base=Path.cwd(),
        variants=_texts(given["variants"] or ()),
        votes=None if given["votes"] is None else read_count("votes", given["votes"], 1, 100),
        orders=None if given["orders"] is None else read_choice("orders", given["orders"], ("both", "ab")),
        concurrency=read_count("concurrency", given["concurrency"]),
        gates=_texts(given["gates"]),
        decide=read_choice("decide", given["decide"], ("interval", "point")),
        failures=read_choice("failures", given["failures"], ("wrong", "drop", "tie")),
        sample=None if given["sample"] is None else read_sample("sample", given["sample"]),
        threshold=None if given["threshold"] is None else read_threshold("threshold", str(given["threshold"])),
        reference=given["reference"],
        budget_usd=None if given["budget_usd"] is None else read_dollars("budget_usd", given["budget_usd"]),
        offline=bool(given["offline"]),
        refresh=bool(given["refresh"]),
        seed=read_count("seed", given["seed"], 0, 2**32 - 1),
        auditors=tuple(auditors),
        own_family=bool(given["own_family"]),
        profile=None if given["profile"] is None else read_choice("profile", given["profile"], PROFILES),
    )
    if not suites:
        raise SettingsError("no suite is given")
    plan = make_plan(settings, registered, {}, with_suites=False)
    for suite in suites:
        plan.add_suite(suite if isinstance(suite, Suite) else str(suite))
    plan.check_options()
    store, owned = _open_store(given["store"])
    ledger = None if settings.budget_usd is None else MemoryLedger(settings.budget_usd)
    return plan, store, ledger, owned


def _texts(value: str | Iterable[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _open_store(store: str | Path | VerdictStore | None) -> tuple[VerdictStore, bool]:
    if store is None:
        return MemoryStore(), True
    if isinstance(store, (str, Path)):
        return SqliteStore(Path(store), check=True, elsewhere="Name another file in store="), True
    return store, False


def _name_judges(judge: JudgeLike) -> tuple[dict[str, Any], list[str]]:
    """(objects by name, specs in order) of what the caller gave."""
    registered: dict[str, Any] = {}
    specs: list[str] = []
    for item in judge if isinstance(judge, (list, tuple)) else [judge]:
        if isinstance(item, str):
            specs.append(item)
        elif isinstance(item, Mapping):
            registered.update(item)
            specs.extend(item)
        else:
            name = slug_of(getattr(item, "__name__", type(item).__name__).replace("<lambda>", "judge"))
            if name in registered:
                raise SettingsError(f"two judges would be called {name!r}", hint="Give a mapping of names to judges")
            registered[name] = item
            specs.append(name)
    if not specs:
        raise SettingsError("no judge is given")
    return registered, specs


def _name_auditors(auditor: JudgeLike) -> tuple[dict[str, Any], list[str]]:
    """The same of auditors, whose names may say ``FAMILY=`` before: the object is registered by what comes after."""
    named, specs = _name_judges(auditor)
    return {read_route(name, "auditor", Path.cwd()).auditor: item for name, item in named.items()}, specs


def _run(
    plan: Plan,
    store: VerdictStore,
    ledger: Ledger | None,
    owned: bool,
    *,
    loop: asyncio.AbstractEventLoop | None,
    hint: str,
    on_start: Callable[[Runner], None],
) -> Report:
    runner = Runner(plan, store, ledger=ledger, loop=loop, stuck_hint=hint)
    on_start(runner)
    results: list[CaseResult] = []
    notes: list[str] = []
    unjudged = 0
    stopping = Stopping(plan)
    try:
        cases = list(plan.cases())
        ahead = segments(plan, cases) if stopping.is_active else {}
        runner.expect(cases)
        for case in cases:
            if stopping.is_active and stopping.enter(case, lambda: results, lambda part: runner.expect(ahead[part])):
                continue
            try:
                results.append(runner.result(case))
                if runner.last_missing is not None:
                    raise runner.last_missing
            except BudgetReached:
                unjudged += 1
    finally:
        notes += runner.close()
        if owned:
            store.close()
    notes += stopping.finish()
    if unjudged:
        notes.append(f"the budget is reached: {unjudged} of {len(cases)} cases were not judged")
    is_short = unjudged or any(result.audits.unpaid for result in results)
    return make_report(
        plan, results, unenforced="the budget is reached" if is_short else "", notes=notes, made=runner.made
    )
