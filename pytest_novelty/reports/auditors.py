"""Auditors against labels and among each other, for a person and for a program."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pytest_novelty.auditing import WEAK
from pytest_novelty.headline import with_interval
from pytest_novelty.judges.families import family_of
from pytest_novelty.metrics.agreement import AuditorAgreement, Validation
from pytest_novelty.metrics.auditors import Auditors
from pytest_novelty.metrics.strata import DIMENSION
from pytest_novelty.metrics.view import Estimate
from pytest_novelty.model import REFERENCE
from pytest_novelty.printing import clean
from pytest_novelty.reports.blocks import Block
from pytest_novelty.reports.tables import Justify

if TYPE_CHECKING:
    from pytest_novelty.plan import Plan
    from pytest_novelty.results import Report

T = TypeVar("T")

_SAYS: Final = ("supported", "unsupported")
_VALIDATED: Final[tuple[tuple[str, Justify], ...]] = (
    ("auditor", "left"),
    ("agrees", "left"),
    ("kappa", "left"),
    ("precision", "left"),
    ("recall", "left"),
    ("F1", "left"),
    ("n", "right"),
)
_AGREED: Final[tuple[tuple[str, Justify], ...]] = (("auditors", "left"), ("agree", "left"), ("kappa", "left"))


def auditor_blocks(report: Report, suite: str | None = None) -> Iterator[Block]:
    """Per variant of the suites of reasons, of one or of all: how auditors fare."""
    for item in report.auditors:
        if suite in (None, item.suite):
            yield from _blocks(item)


def _blocks(item: Auditors) -> Iterator[Block]:
    place = clean(item.suite, 100) + ("" if item.variant == REFERENCE else f", variant {item.variant}")
    if item.validations:
        rows = tuple(row for judge, found in item.validations.items() for row in _rows(judge, found))
        notes = [
            "precision, recall and F1 are those of unsupported; agreement has Wilson's interval, or a share's over clusters"
        ]
        notes += [
            f"{judge}: {clean(found.agreement.note)}"
            for judge, found in item.validations.items()
            if found.agreement.note
        ]
        yield Block(f"Auditors on {place}, against its labels", _VALIDATED, rows, tuple(notes))
    if item.agreement is not None:
        found = item.agreement
        pairs = [
            (" and ".join(names), with_interval(estimate), _kappa(found.kappa[names]))
            for names, estimate in found.agreement.items()
        ]
        if len(pairs) > 1:
            pairs.append(("all", with_interval(found.all_agree), f"{_kappa(found.fleiss)} (Fleiss)"))
        yield Block(f"Auditors on {place}, among each other", _AGREED, tuple(pairs))


def _rows(judge: str, found: Validation) -> Iterator[tuple[str, ...]]:
    """The auditor as a whole, and then on each dimension if there are several."""
    yield _row(judge, found)
    dimensions = found.strata.get(DIMENSION, {})
    if len(dimensions) > 1:
        for dimension, part in dimensions.items():
            yield _row(f"on {clean(dimension, 60)}", part)


def _row(name: str, found: Validation) -> tuple[str, ...]:
    return (
        name,
        with_interval(found.agreement),
        _kappa(found.kappa),
        with_interval(found.precision),
        with_interval(found.recall),
        with_interval(found.f1),
        str(found.agreement.n),
    )


def _kappa(estimate: Estimate) -> str:
    if estimate.value is None:
        return "undefined"
    text = _signed(estimate.value)
    ends = estimate.low, estimate.high
    return text if ends[0] is None or ends[1] is None else f"{text} [{_signed(ends[0])}, {_signed(ends[1])}]"


def _signed(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}"  # no -0.00


def routing_to_dicts(plan: Plan) -> list[dict[str, Any]]:
    """Who audits whom, of the judges that cite evidence in this run."""
    return [
        {
            "judge": judge.name,
            "family": family_of(judge) or None,
            "auditors": [
                {"name": auditor.name, "version": auditor.version, "family": family_of(auditor) or None}
                for auditor in plan.panels.get(judge.name, ())
            ]
            or [{"name": WEAK, "version": None, "family": None}],
            "rows": [{"source": route.source, "row": route.text} for route in plan.routed.get(judge.name, ())],
        }
        for judge in plan.judges
        if judge.name in plan.audited
    ]


def auditors_to_dict(item: Auditors) -> dict[str, Any]:
    """As a report in JSON has it."""
    agreement = item.agreement
    return {
        "suite": item.suite,
        "variant": item.variant,
        "validations": [
            {"judge": judge, **_validation(found), "strata": _by_value(found.strata, _validation)}
            for judge, found in item.validations.items()
        ],
        **({"pairs": [], "all_agree": None, "fleiss_kappa": None} if agreement is None else _agreement(agreement)),
        "strata": {} if agreement is None else _by_value(agreement.strata, _agreement),
    }


def _validation(found: Validation) -> dict[str, Any]:
    return {
        **{name: getattr(found, name).to_dict() for name in ("agreement", "kappa", "precision", "recall", "f1")},
        "table": {said: {true: found.table[said, true] for true in _SAYS} for said in _SAYS},
    }


def _agreement(found: AuditorAgreement) -> dict[str, Any]:
    return {
        "pairs": [
            {"judges": list(names), "agreement": estimate.to_dict(), "kappa": found.kappa[names].to_dict()}
            for names, estimate in found.agreement.items()
        ],
        "all_agree": found.all_agree.to_dict(),
        "fleiss_kappa": found.fleiss.to_dict(),
    }


def _by_value(strata: Mapping[str, Mapping[str, T]], tell: Callable[[T], dict[str, Any]]) -> dict[str, Any]:
    return {name: {value: tell(part) for value, part in parts.items()} for name, parts in strata.items()}
