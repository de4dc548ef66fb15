"""What a person reads at the end of a run: the headline, the tables, the worst instances, what to do next."""

from __future__ import annotations

import io
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from pytest_novelty.deciding import INCONCLUSIVE, NOT_ENFORCED
from pytest_novelty.headline import headline_sentences
from pytest_novelty.metrics.catalogue import CATALOGUE
from pytest_novelty.model import CORRECT, REFERENCE, UNLABELLED, WRONG
from pytest_novelty.outcomes import CaseResult
from pytest_novelty.plan import SuitePlan
from pytest_novelty.printing import clean, name_some, plural, show_usd
from pytest_novelty.reports.as_published import published_blocks
from pytest_novelty.reports.auditors import auditor_blocks
from pytest_novelty.reports.blocks import render_blocks
from pytest_novelty.reports.comparisons import comparison_lines
from pytest_novelty.reports.drift import drift_lines
from pytest_novelty.reports.grounding import grounding_blocks
from pytest_novelty.reports.invented import invented_blocks
from pytest_novelty.reports.tables import Justify, fitted_table, gate_cells, left_out, styled
from pytest_novelty.reports.text import failed_calls, made_calls, name_label, short_title, show_estimate, show_interval
from pytest_novelty.reports.variants import claim_lines, variant_lines
from pytest_novelty.textless import undecided_without_text

if TYPE_CHECKING:
    from pytest_novelty.results import Report

_WORST: Final = 5
_LISTED: Final = 25
_NOTED: Final = ("tie_rate", "invalid_rate", "reliability", "score_levels")
"""Metrics whose note is shown although no gate rests on them."""
_BESIDE: Final = ("_false", "_all")
"""Rates over other positives than the right ones: the cascade tells them, and the table where a gate rests on them."""
_WIDE: Final = 100
"""Columns from which the table has room for what the metrics mean beside their names."""


def render(report: Report, *, width: int = 100, colour: bool = False) -> str:
    """The report as text: headline, tables, comparisons, worst instances, what to do next."""
    from rich.console import Console

    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        force_terminal=colour,
        color_system="standard" if colour else None,
        highlight=False,
        legacy_windows=False,
    )
    for sentence in headline_sentences(report):
        console.print(styled(clean(sentence), "bold"))
    explained = width >= _WIDE
    for planned in report.plan.suites.values():
        for judge in report.plan.judges:
            ran = {row.variant for row in report.metrics if (row.judge, row.suite) == (judge.name, planned.suite.name)}
            for variant in planned.variants:
                if variant.name in ran and (variant.name == REFERENCE or REFERENCE not in ran):
                    console.print()
                    console.print(_table(report, planned, judge.name, variant.name, width, colour))
                    if not explained:
                        console.print(left_out(["what metrics mean"], width, "--novelty-report out.md"))
                        explained = True
            for make in (grounding_blocks, invented_blocks, published_blocks):
                if blocks := list(make(report, planned.suite.name, judge.name)):
                    console.print()
                    _print_as_is(console, render_blocks(blocks, width=width, colour=colour))
            for lines in (variant_lines, claim_lines):
                for printable in lines(report, planned, judge.name, width, colour):
                    console.print(printable)
        if audits := list(auditor_blocks(report, planned.suite.name)):
            console.print()
            _print_as_is(console, render_blocks(audits, width=width, colour=colour))
    drift = drift_lines(report, width, colour)
    for printable in (
        *comparison_lines(report, width, colour),
        *drift,
        *_verdicts(report),
        *_worst(report),
        *_closing(report),
    ):
        console.print(printable)
    return stream.getvalue().rstrip("\n")


def _print_as_is(console: Any, text: str) -> None:
    """Lines that have their width already; codes of colours in them are none of it."""
    console.print(text, markup=False, highlight=False, soft_wrap=True)


def _table(report: Report, planned: SuitePlan, judge: str, variant: str, width: int, colour: bool) -> Any:
    from rich.console import Group

    suite = planned.suite
    notes: list[Any] = []
    place = suite.name if variant == REFERENCE else f"{suite.name}, variant {variant}"
    named = width >= _WIDE
    meaning: list[tuple[str, Justify]] = [("", "left")] if named else []
    columns: list[tuple[str, Justify]] = [
        *meaning,
        ("metric", "left"),
        ("value", "right"),
        (f"{100 * planned.level:.3g} % interval", "left"),
        ("n", "right"),
        ("gate", "left"),
        ("", "left"),
    ]
    shown: list[list[Any]] = []
    gates = [
        gate for gate in report.gates if (gate.judge, gate.suite, gate.gate.variant) == (judge, suite.name, variant)
    ]
    rows = [
        row
        for row in report.metrics
        if (row.judge, row.suite, row.variant, row.reference) == (judge, suite.name, variant, None)
    ]
    for row in rows:
        own = [
            g
            for g in gates
            if g.gate.metric == row.metric and (":".join(g.gate.stratum) if g.gate.stratum else None) == row.stratum
        ]
        beside = suite.labelled and row.metric.endswith(_BESIDE)
        if not own and (beside or row.estimate.value is None):
            continue
        name = CATALOGUE[row.metric].title_for(suite.protocol)
        cells = [
            *([styled(name)] if named else []),
            styled(row.metric + (f" ({row.stratum})" if row.stratum else "")),
            styled(show_estimate(row.metric, row.estimate)),
            styled(show_interval(row.metric, row.estimate)),
            styled(str(row.estimate.n)),
        ]
        first = own[0] if own else None
        shown.append([*cells, *gate_cells(first)])
        shown += [[*[""] * len(cells), *gate_cells(more)] for more in own[1:]]
        if row.estimate.note and (row.estimate.value is None or own or row.metric in _NOTED):
            notes.append(styled(f"  {row.metric}: {clean(row.estimate.note, 400)}", "dim"))
    return Group(fitted_table(f"{judge} on {place}", columns, shown, width=width, colour=colour), *notes)


def _verdicts(report: Report) -> Iterator[Any]:
    """The verdicts themselves, where there is no gold to be worse than: a user's own ideas."""
    for planned in report.plan.suites.values():
        if planned.suite.labelled:
            continue
        own = [r for r in report.outcomes if r.suite == planned.suite.name and r.variant == REFERENCE]
        if not own:
            continue
        protocol = planned.suite.protocol
        yield ""
        yield styled(f"Verdicts on {planned.suite.name}", "bold")
        for result in own[:_LISTED]:
            instance = planned.by_id[result.instance]
            votes = ", ".join(
                f"{count} {name_label(protocol, instance, label)}"
                for label, count in sorted(_vote_counts(result).items(), key=lambda pair: -pair[1])
                if label != "score"
            )
            score = "" if result.outcome.score is None else f"score {result.outcome.score:.2f}"
            votes = ", ".join(part for part in (votes, score) if part)
            judge = f"{result.judge}: " if len(report.plan.judges) > 1 else ""
            verdict = f"{judge}{name_label(protocol, instance, result.outcome.label)} ({votes})"
            subject = "" if len(instance.ideas) != 1 else f"  {short_title(instance.ideas[0])}"
            yield styled(f"  {result.instance}  {verdict}{subject}")
        if len(own) > _LISTED:
            yield styled(
                f"  ... and {len(own) - _LISTED} more (all are in the report: --novelty-report out.json)", "dim"
            )


def _vote_counts(result: CaseResult) -> dict[str, int]:
    counts: dict[str, int] = {}
    for order in result.outcome.tallies().values():
        for kind in order.values():
            for name, count in kind.items():
                counts[name] = counts.get(name, 0) + count
    return counts


def _worst(report: Report) -> Iterator[Any]:
    """Wrong with all votes, then with most; then those without a valid verdict."""
    names = [judge.name for judge in report.plan.judges]
    tested = [name for name in names if name not in ("lexical", "chance")] or names  # a baseline's errors teach nothing
    candidates = [
        r
        for r in report.outcomes
        if r.variant == REFERENCE and r.judge in tested and r.outcome.result not in (CORRECT, UNLABELLED)
    ]
    if not candidates:
        return
    candidates.sort(key=lambda r: (r.outcome.result != WRONG, -_decidedness(r), r.label))
    yield ""
    yield styled(
        f"Worst of {plural(len(candidates), 'outcome')} that {'is' if len(candidates) == 1 else 'are'} not right",
        "bold",
    )
    for result in candidates[:_WORST]:
        planned = report.plan.suites[result.suite]
        instance = planned.by_id[result.instance]
        labels = result.outcome.label, result.outcome.gold
        said, gold = (name_label(planned.suite.protocol, instance, label) for label in labels)
        subject = "" if len(instance.ideas) != 1 else f'"{short_title(instance.ideas[0])}": '
        yield styled(
            f"  {result.suite} {result.instance}: {subject}{result.judge} says {said} ({_tally(result)}), gold is {gold}"
        )
        if result.outcome.reason:
            yield styled(f"    {clean(result.outcome.reason, 220)}", "dim")


def _tally(result: CaseResult) -> str:
    votes = sorted(_vote_counts(result).values(), reverse=True)
    return ":".join(map(str, votes)) if len(votes) > 1 else f"all {votes[0]} votes" if votes else "no votes"


def _decidedness(result: CaseResult) -> float:
    counts = [vote.label for vote in result.outcome.votes if vote.valid]
    return counts.count(result.outcome.label) / len(counts) if counts else 0.0


def _closing(report: Report) -> Iterator[Any]:
    yield ""
    idle = [gate for gate in report.gates if gate.decision == NOT_ENFORCED]
    if idle:  # of a comparison with recorded verdicts its own lines say why it is not
        count = len(report.gates) + len(report.drifts)
        why = clean(idle[0].message.partition("; ")[0].removeprefix("not enforced: "), 160)
        yield styled(f"Gates: {len(idle)} of {count} are not enforced: {why}.")
    for finding in report.findings:
        yield styled(f"Finding: {clean(finding)}", "yellow")
    for note in report.notes:
        yield styled(f"Note: {clean(note)}")
    calls = report.calls
    spent = f"cost {show_usd(calls.cost_usd)}"
    if calls.unpriced:
        known = f"{show_usd(calls.known_usd)} and " if calls.known_usd else ""
        spent = f"cost {known}an unknown amount ({plural(calls.unpriced, 'call')} of unknown cost)"
    speed = (
        f", median {calls.latency_s['p50']:.2g} s, p99 {calls.latency_s['p99']:.2g} s"
        if calls.latency_s.get("max", 0) > 0
        else ""
    )
    tokens = ""
    if calls.tokens_in or calls.tokens_out:
        cached = f" ({calls.tokens_cached:,} of them cached)" if calls.tokens_cached else ""
        reasoned = f" ({calls.tokens_reasoning:,} of them reasoning)" if calls.tokens_reasoning else ""
        taken, given = ("an unknown number of" if n is None else f"{n:,}" for n in (calls.tokens_in, calls.tokens_out))
        tokens = f", {taken} tokens in{cached} and {given.removesuffix(' of')} out{reasoned}"
    retried = f", {plural(calls.retried, 'retry', 'retries')}" if calls.retried else ""
    yield styled(
        f"Calls: {made_calls(calls)}, {calls.reused:,} reused, {failed_calls(calls)}{retried}; {spent}{tokens}{speed}."
    )
    steps = list(_next_steps(report))
    for index, step in enumerate(steps):
        yield styled(("Next: " if index == 0 else "      ") + step)


def _next_steps(report: Report) -> Iterator[str]:
    textless = undecided_without_text(report.gates, report.outcomes)
    open_gates = [
        gate
        for gate in report.gates
        if gate.decision == INCONCLUSIVE and gate.value is not None and gate not in textless
    ]
    if textless:
        named = name_some(list(dict.fromkeys(gate.gate.text for gate in textless)))
        yield f"judge from a store or an export with texts, without which {named} cannot be decided (see the finding)."
    if open_gates:
        first = open_gates[0]
        yield f"{first.gate.text} is undecided for {first.judge}: {first.advice or 'there is no interval to decide by'}."
    if report.calls.failed:
        yield "see raw answers of invalid verdicts: run again with -rA, or read the store with pytest-novelty export."
    judges = [judge.name for judge in report.plan.judges]
    if "lexical" not in judges and report.baselines:
        yield "compare with the baseline, paired: add --novelty-judge=lexical."
    elif judges == ["lexical"]:
        yield "this is the baseline. Test your own judge: pytest --novelty-judge=module:function (see README, Your own judge)."
    if not report.plan.settings.reports:
        yield "keep the numbers: --novelty-report out.json."
