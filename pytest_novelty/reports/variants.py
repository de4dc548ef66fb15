"""One table a judge and suite: what each variant changes, with the sentence that says why."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pytest_novelty.attribution import LEVEL
from pytest_novelty.claiming import show_difference
from pytest_novelty.metrics.view import Estimate
from pytest_novelty.model import REFERENCE
from pytest_novelty.plan import SuitePlan
from pytest_novelty.printing import clean
from pytest_novelty.reports.tables import Justify, fitted_table, gate_cells, styled
from pytest_novelty.reports.text import list_transitions, show_estimate, show_gate, show_interval

if TYPE_CHECKING:
    from pytest_novelty.measuring import VariantResult
    from pytest_novelty.results import Report

_CITED: Final = (
    ("not shown", "hallucination_rate", False),
    ("beyond", "mismatch_rate", False),
    ("verified", "verified_f1", False),
)
"""What becomes of the evidence: cited though it was not shown, a reason beyond it, the F1 that is left."""
_COLUMNS: Final = {
    "pairwise": (
        ("right", "strict_accuracy", True),
        ("flips", "flip_rate", True),
        ("null flips", "null_flip_rate", False),
        ("vote shift", "vote_shift", True),
        ("to first", "position_bias", False),
        ("ties", "tie_rate", False),
    ),
    "pointwise": (
        ("right", "accuracy", True),
        ("mean F1", "macro_f1", False),
        ("AUROC", "auroc", False),
        ("flips", "flip_rate", True),
        ("null flips", "null_flip_rate", False),
        ("vote shift", "vote_shift", True),
        ("score shift", "score_shift", True),
        ("scores move", "score_rms_shift", True),
        ("ranks turn", "rank_flip", False),
        ("ties", "tie_rate", False),
    ),
    "similarity": (
        ("right", "accuracy", True),
        ("F1", "f1", False),
        ("flips", "flip_rate", True),
        ("null flips", "null_flip_rate", False),
        ("vote shift", "vote_shift", True),
        *_CITED,
        ("ties", "tie_rate", False),
    ),
    "entailment": (
        ("right", "accuracy", True),
        ("F1", "f1", False),
        ("flips", "flip_rate", True),
        ("null flips", "null_flip_rate", False),
        ("vote shift", "vote_shift", True),
        ("ties", "tie_rate", False),
    ),
    "grouping": (("right", "accuracy", True), ("flips", "flip_rate", True), *_CITED, ("ties", "tie_rate", False)),
}
"""(heading, metric, with its interval); columns in which nothing is defined are left out."""
_WIDE: Final = 100
_ONLY_WIDE: Final = (
    *("macro_f1", "auroc", "null_flip_rate", "score_shift", "rank_flip"),
    *("f1", "mismatch_rate", "verified_f1"),
)
"""What a narrower terminal has no room for."""


def variant_lines(report: Report, planned: SuitePlan, judge: str, width: int, colour: bool) -> Iterator[Any]:
    """The table, a sentence a variant, the gates that rest on variants, and the variants that were skipped."""
    found = [item for item in report.variants if (item.judge, item.suite) == (judge, planned.suite.name)]
    skipped: dict[str, list[str]] = {}
    for (name, suite, variant), reason in sorted(report.plan.skipped.items()):
        if (name, suite) == (judge, planned.suite.name) and variant:
            skipped.setdefault(reason, []).append(variant)
    if not found and not skipped:
        return
    yield ""
    if found:
        yield _table(report, planned, judge, found, width, colour)
    alike: dict[Any, list[str]] = {}
    for item in found:
        alike.setdefault(_said(item), []).append(item.variant)
    for item in found:
        names = alike[_said(item)]
        if item.variant != names[0]:  # said with the first of them
            continue
        yield styled(f"  {', '.join(names)} ({', '.join(item.changed)}): {clean(item.sentence, 300)}.")
        if item.moves and (turned := list_transitions(item.transitions)):
            places = ", first and second as the suite has them" if planned.suite.protocol == "pairwise" else ""
            yield styled(f"    verdicts{places}: {turned}", "dim")
    for reason, names in skipped.items():
        counts = "it counts" if len(names) == 1 else "they count"
        yield styled(f"  {', '.join(names)}: skipped, {judge} {reason}; {counts} for nothing.", "dim")
    gates = [
        gate
        for gate in report.gates
        if (gate.judge, gate.suite) == (judge, planned.suite.name) and gate.gate.variant != REFERENCE
    ]
    if gates and found:
        columns: list[tuple[str, Justify]] = [("gate on variants", "left"), ("value", "left"), ("n", "right")]
        rows: list[list[Any]] = []
        for gate in gates:
            name = gate.gate.metric + (
                "" if gate.gate.metric.startswith(("max_", "mean_")) else _where(gate.gate.variant)
            )
            name += "" if gate.gate.stratum is None else f"@{':'.join(gate.gate.stratum)}"
            rows.append([name, show_gate(gate), str(gate.n), *gate_cells(gate)])
        yield fitted_table("", [*columns, ("", "left"), ("", "left")], rows, width=width, colour=colour)


def claim_lines(report: Report, planned: SuitePlan, judge: str, width: int, colour: bool) -> Iterator[Any]:
    """What the suite's contrast comes to under every variant."""
    for claim in report.claims:
        if (claim.judge, claim.suite) != (judge, planned.suite.name):
            continue
        contrast = claim.contrast
        yield ""
        title = f"{judge} on {claim.suite}: {contrast.field} {contrast.ours} less {contrast.base}, {claim.measure}"
        columns: list[tuple[str, Justify]] = [("variant", "left"), ("difference", "left"), ("p (Holm)", "right")]
        rows = [
            (
                held.variant,
                show_difference(claim.measure, held),
                "" if held.p_holm is None else f"{held.p_holm:.2g}",
                str(held.estimate.n),
            )
            for held in claim.held
        ]
        yield fitted_table(title, [*columns, ("n", "right")], rows, width=width, colour=colour)
        yield styled(f"  {clean(claim.sentence, 400)}.")


def _where(variant: str) -> str:
    return variant if variant.startswith("[") else f"[{variant}]"


def _said(item: VariantResult) -> tuple[object, ...]:
    """All that is said of a variant below the table: those of which the same is said are named together."""
    return item.changed, item.sentence, list_transitions(item.transitions) if item.moves else ""


def _table(report: Report, planned: SuitePlan, judge: str, found: list[VariantResult], width: int, colour: bool) -> Any:
    suite = planned.suite
    values: dict[str, dict[str, Estimate]] = {}
    for row in report.metrics:
        same = (row.judge, row.suite, row.stratum) == (judge, suite.name, None)
        if same and (row.reference is None or row.reference.judge == judge):
            values.setdefault(row.variant, {})[row.metric] = row.estimate
    names = [REFERENCE, *(item.variant for item in found)]
    defined = [
        column
        for column in _COLUMNS[suite.protocol]
        if any(_is_defined(values.get(name, {}).get(column[1])) for name in names)
    ]
    columns = [column for column in defined if width >= _WIDE or column[1] not in _ONLY_WIDE]
    headings: list[tuple[str, Justify]] = [("variant", "left")]
    headings += [(heading, "left" if wide else "right") for heading, _, wide in columns]
    title = f"{judge} on {suite.name}, variants (* Holm-adjusted p <= .05)"
    rows = []
    starred = {item.variant: _stars(item) for item in found}
    for name in names:
        cells = [
            _cell(metric, values.get(name, {}), wide, starred.get(name, lambda metric: False))
            for _, metric, wide in columns
        ]
        size = next((item.n for item in found if item.variant == name), None)
        rows.append([name, *cells, "" if size is None else str(size)])
    hidden = [column[0] for column in defined if column not in columns]
    return fitted_table(title, [*headings, ("n", "right")], rows, width=width, colour=colour, hidden=hidden)


def _is_defined(estimate: Estimate | None) -> bool:
    return estimate is not None and estimate.value is not None


def _stars(item: VariantResult) -> Callable[[str], bool]:
    """Which cells differ from the reference: vote shift and scores' moves by the exchange tests, metrics of one view by the swap
    test.
    """
    found = {change.metric for change in item.changes if change.starred}
    if item.moved_p_holm is not None and item.moved_p_holm <= LEVEL:
        found.add("vote_shift" if _is_defined(item.estimates.get("vote_shift")) else "score_rms_shift")
    return found.__contains__


def _cell(metric: str, values: Mapping[str, Estimate], wide: bool, is_starred: Callable[[str], bool]) -> str:
    estimate = values.get(metric)
    if estimate is None or estimate.value is None:
        return ""
    text = show_estimate(metric, estimate).removesuffix(" points")
    interval = show_interval(metric, estimate) if wide else ""
    return f"{text} {interval}".strip() + ("*" if is_starred(metric) else "")
