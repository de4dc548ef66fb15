"""What changed between two runs, as tables: metrics then and now, verdicts that turned, variants by judge, ranks, gates, cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any, Final

from pytest_novelty.between_runs.changes import Cell, RunChange, RunComparison, VariantTable
from pytest_novelty.between_runs.gate_changes import ADDED, REMOVED, GateChange
from pytest_novelty.metrics.catalogue import METRICS, QUANTITY, SCORE, SHARE
from pytest_novelty.metrics.regression import MetricChange
from pytest_novelty.metrics.view import Estimate
from pytest_novelty.model import REFERENCE
from pytest_novelty.printing import clean, plural, show_usd
from pytest_novelty.reports.blocks import Block
from pytest_novelty.reports.tables import Justify
from pytest_novelty.reports.text import show_estimate, show_value

STARRED: Final = "changes of percentages in points; * Holm-adjusted p <= .05, over all that is compared"


def comparison_blocks(found: RunComparison) -> Iterator[Block]:
    """Everything, the headline first."""
    yield Block(clean(found.headline, 2000), notes=tuple(clean(note, 300) for note in found.notes))
    yield from detail_blocks(found)


def detail_blocks(found: RunComparison) -> Iterator[Block]:
    """Everything but the headline."""
    for change in found.changes:
        yield metrics_block(change)
        if turned := transitions_block(change):
            yield turned
    for table in found.tables:
        yield variant_block(table)
    yield from _ranks(found)
    yield from _gates(found)
    yield cost_block(found)


def metrics_block(change: RunChange, *, starred: bool = False) -> Block:
    """Metrics then and now (``starred``: those alone), and how many verdicts are others."""
    listed = [metric for metric in change.metrics if (metric.starred if starred else _is_shown(metric))]
    headings: tuple[tuple[str, Justify], ...] = (
        ("metric", "left"),
        ("then", "right"),
        ("now", "right"),
        ("change", "left"),
        ("p (Holm)", "right"),
        ("n", "right"),
        ("", "left"),
    )
    rows = [
        (
            metric.metric,
            show_estimate(metric.metric, metric.old),
            show_estimate(metric.metric, metric.new),
            _show_change(metric) + (" *" if metric.starred else ""),
            "" if metric.p_holm is None else f"{metric.p_holm:.2g}",
            str(metric.difference.n or ""),
            "WORSE" if metric.worse else "better" if metric.better else "",
        )
        for metric in listed
    ]
    called = "" if change.before == change.judge else f" (then {change.before})"
    title = f"{clean(change.place, 200)}{called}: {plural(change.n, 'instance')} in both{_of(change)} ({STARRED})"
    return Block(title, headings, tuple(rows), (*_without_interval(listed), *_verdict_notes(change)))


def _of(change: RunChange) -> str:
    """How many each run judged, where that is more."""
    then, now = change.sizes
    return "" if then == now == change.n else f" of {then:,} then and {now:,} now"


def _is_shown(metric: MetricChange) -> bool:
    """What is 0 then and now and always says nothing, unless it is undefined on a side, or might be more."""
    sides = (metric.old, metric.new)
    return metric.moves or any(side.value is None or side.value != 0 or side.bounds is not None for side in sides)


def _show_change(metric: MetricChange) -> str:
    """A side that is undefined, or is not compared as it rests on what was not checked, leaves none."""
    open_ = any(side.value is None or side.bounds is not None for side in (metric.old, metric.new))
    if open_ and metric.difference.value is None:
        return "undefined"
    return show_difference(metric.metric, metric.difference)


def _without_interval(metrics: Iterable[MetricChange]) -> Iterator[str]:
    """Why some changes have no interval, or are none: a line a reason."""
    names: dict[str, list[str]] = {}
    for metric in metrics:
        found = metric.difference
        if found.value is None:
            why = found.note.replace("for the variant", "now", 1).replace("for the reference", "then", 1)
            names.setdefault(f"no change is given: {why or 'it is undefined'}", []).append(metric.metric)
        elif found.low is None or found.high is None:
            why = "only the test is made" if found.note == "no interval" else found.note
            names.setdefault(f"the change has no interval: {why or 'none is defined'}", []).append(metric.metric)
    for reason, own in names.items():
        yield f"{', '.join(own)}: {clean(reason, 200)}"


def _verdict_notes(change: RunChange) -> Iterator[str]:
    turned = change.turned
    if turned.flip_rate.value is not None:
        noise = change.by_noise
        by_noise = "" if noise is None else f" ({100 * noise:.0f} % would be by its own noise)"
        text = f"verdicts: {show_points(turned.flip_rate)} % are others now{by_noise}"
        if turned.vote_shift.value is not None:
            moved = "beyond noise *" if turned.starred and not turned.by_scores else "within noise"
            text += f"; vote shift {show_points(turned.vote_shift)} points, {moved}"
        elif turned.vote_shift.note:
            text += f"; vote shift undefined: {turned.vote_shift.note}"
        yield text
    scores = turned.score_shift
    if scores.value is not None:
        moved = "beyond noise *" if turned.starred and turned.by_scores else "within noise"
        ends = "" if scores.low is None or scores.high is None else f" [{scores.low:+.2g}, {scores.high:+.2g}]"
        yield f"scores: {scores.value:+.2g}{ends} on average, {moved}"


def transitions_block(change: RunChange) -> Block | None:
    """Verdicts then in rows, now in columns; None where none turned."""
    table = change.turned.transitions
    if not any(count for before, row in table.items() for after, count in row.items() if before != after):
        return None
    headings: tuple[tuple[str, Justify], ...] = (("then \\ now", "left"), *((name, "right") for name in table))
    rows = tuple((before, *(str(row[after]) for after in table)) for before, row in table.items())
    places = " (first and second idea as the suite has them)" if "first" in table else ""
    return Block(f"{clean(change.place, 200)}: verdicts then and now{places}", headings, rows)


def show_difference(metric: str, estimate: Estimate) -> str:
    """Signed, with its interval: in points where the metric is shown in percent, else in its own unit. Where something was not
    checked on a side, what it may be.
    """
    if estimate.value is None:
        return ""
    if estimate.bounds is not None:
        return " to ".join(show_difference(metric, Estimate(bound)) for bound in estimate.bounds)
    kind = METRICS[metric].kind
    if kind in (QUANTITY, SCORE):
        return f"{estimate.value:+.3g}"
    if kind == SHARE or show_value(metric, 0.5).endswith("%"):
        return show_points(estimate, signed=True)
    values = [estimate.value, estimate.low, estimate.high]
    first, *bounds = [f"{round(value, 2) + 0:+.2f}" for value in values if value is not None]
    return f"{first} [{', '.join(bounds)}]" if bounds else first


def show_points(estimate: Estimate, *, signed: bool = False) -> str:
    """A share in points, with its interval."""
    assert estimate.value is not None
    form = "{:+.0f}" if signed else "{:.0f}"

    def shown(value: float) -> str:
        return form.format(round(100 * value) + 0)  # + 0: no minus zero

    if estimate.low is None or estimate.high is None:
        return shown(estimate.value)
    return f"{shown(estimate.value)} [{shown(estimate.low)}, {shown(estimate.high)}]"


def variant_block(table: VariantTable) -> Block:
    """Judges in columns, variants in rows: the change against the reference, and the value in brackets."""
    columns = [(judge, when) for judge in table.judges for when in ("then", "now")]
    headings: tuple[tuple[str, Justify], ...] = (
        ("variant", "left"),
        *((f"{judge} {when}", "right") for judge, when in columns),
    )
    rows = tuple(
        (variant, *(_cell(cells.get(column), variant) for column in columns)) for variant, cells in table.cells.items()
    )
    title = f"{table.metric} on {clean(table.suite, 100)}: change against the reference (value), in points; * as each run has it"
    return Block(title, headings, rows)


def _cell(cell: Cell | None, variant: str) -> str:
    if cell is None or cell.value is None:
        return "-"
    value = f"{100 * cell.value:.0f}"
    if variant == REFERENCE or cell.change is None:
        return value if variant == REFERENCE else f"({value})"
    return f"{round(100 * cell.change) + 0:+.0f}{'*' if cell.starred else ''} ({value})"


def _ranks(found: RunComparison) -> Iterator[Block]:
    for suite in dict.fromkeys(rank.suite for rank in found.ranks):
        own = [rank for rank in found.ranks if rank.suite == suite]
        rows = tuple((rank.judge, str(rank.old), str(rank.new), _moved(rank.old - rank.new)) for rank in own)
        headings: tuple[tuple[str, Justify], ...] = (
            ("judge", "left"),
            ("then", "right"),
            ("now", "right"),
            ("", "left"),
        )
        yield Block(f"Rank of the judges by {own[0].metric} on {clean(suite, 100)}", headings, rows)


def _moved(places: int) -> str:
    return "" if not places else f"{'up' if places > 0 else 'down'} {abs(places)}"


def _gates(found: RunComparison) -> Iterator[Block]:
    if found.gates:
        rows = tuple(
            (gate.called, gate.judge, clean(gate.suite, 100), gate.old or "-", gate.new or "-", _of_gate(gate))
            for gate in found.gates
        )
        headings: tuple[tuple[str, Justify], ...] = (
            ("gate", "left"),
            ("judge", "left"),
            ("suite", "left"),
            ("then", "left"),
            ("now", "left"),
            ("", "left"),
        )
        yield Block("Gates that are decided otherwise, or are not the same", headings, rows)


def _of_gate(gate: GateChange) -> str:
    return "WORSE" if gate.worse else gate.how if gate.how in (ADDED, REMOVED) else ""


def cost_block(found: RunComparison) -> Block:
    """What the calls of both runs cost, altogether and by judge."""
    old, new = found.calls
    notes = tuple(
        f"{clean(judge, 100)}: {show_usd(then)} then, {show_usd(now)} now" for judge, then, now in found.costs
    )
    return Block(f"Cost: {_show_cost(old)} then, {_show_cost(new)} now.", notes=notes if len(notes) > 1 else ())


def _show_cost(calls: Mapping[str, Any]) -> str:
    """Without a price per call: over all judges it would move with their shares, though no price did."""
    reused = f" ({calls['reused']:,} more were reused)" if calls["reused"] else ""
    return f"{show_usd(calls['cost_usd'])} for {plural(calls['made'], 'call')}{reused}"


def comparison_to_dict(found: RunComparison) -> dict[str, Any]:
    """Plain data, the section ``against`` of a report."""
    return {
        "old": found.old,
        "headline": found.headline,
        "regressions": found.regressions,
        "notes": list(found.notes),
        "changes": [_change_to_dict(change) for change in found.changes],
        "ranks": [asdict(rank) for rank in found.ranks],
        "gates": [{**asdict(gate), "worse": gate.worse} for gate in found.gates],
    }


def _difference_to_dict(found: Estimate) -> dict[str, Any]:
    """Without a value where there are bounds: nobody knows it."""
    return {**found.to_dict(), "value": found.value if found.bounds is None else None}


def _change_to_dict(change: RunChange) -> dict[str, Any]:
    turned = change.turned
    return {
        "judge": change.judge,
        "before": change.before,
        "suite": change.suite,
        "variant": change.variant,
        "n": change.n,
        "metrics": [
            {
                "metric": metric.metric,
                "then": metric.old.value,
                "then_bounds": metric.old.bounds,
                "now": metric.new.value,
                "now_bounds": metric.new.bounds,
                "difference": _difference_to_dict(metric.difference),
                "difference_bounds": metric.difference.bounds,
                "p": metric.p,
                "p_holm": metric.p_holm,
                "starred": metric.starred,
                "worse": metric.worse,
            }
            for metric in change.metrics
        ],
        "flip_rate": turned.flip_rate.to_dict(),
        "null_flip_rate": turned.null_flip_rate.to_dict(),
        "own_noise_flip_rate": change.own_noise,
        "vote_shift": turned.vote_shift.to_dict(),
        "score_shift": turned.score_shift.to_dict(),
        "by_scores": turned.by_scores,
        "vote_shift_p": turned.p,
        "vote_shift_p_holm": turned.p_holm,
        "transitions": {before: dict(row) for before, row in turned.transitions.items()},
    }
