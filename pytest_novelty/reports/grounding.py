"""The grounding cascade for a person and for a program: F1 as it is, then without what is not grounded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from pytest_novelty.auditing import WEAK
from pytest_novelty.audits import for_want_of_text
from pytest_novelty.headline import between, percent, with_interval
from pytest_novelty.metrics.cascade import WATERFALL
from pytest_novelty.metrics.sampled import Rate
from pytest_novelty.model import REFERENCE
from pytest_novelty.printing import clean, plural
from pytest_novelty.reports.blocks import Block
from pytest_novelty.reports.tables import Justify

if TYPE_CHECKING:
    from pytest_novelty.cascades import Grounded
    from pytest_novelty.results import Report

_STEPS: Final = tuple(zip(("raw", "after hallucination", "after mismatch"), WATERFALL, strict=True))
_ENDS: Final = (
    ("evidence not in what was shown", "hallucination_rate_all"),
    ("no evidence", "missing_evidence_rate_all"),
    ("evidence, and no reason", "missing_reason_rate_all"),
    ("not checked", "unchecked_rate_all"),
    ("evidence and reason verified", "verified_rate_all"),
    ("of what was audited, a reason beyond it", "mismatch_rate_all"),
)
_IF_ANY: Final = ("missing_reason_rate_all", "unchecked_rate_all")
_BAR: Final = 20
_HEADINGS: Final[tuple[tuple[str, Justify], ...]] = (
    ("", "left"),
    ("F1 per vote", "left"),
    ("", "left"),
    ("sd over votes", "right"),
)
_SPARE: Final = ((2, "bars"), (3, "sd over votes"))
MEANT: Final = {
    "nowhere": "found nowhere",
    "schema_echo": "the prompt's own words",
    "other_paper": "of another paper",
    "reference_list": "of a list of references",
    "title_only": "a title or heading only",
    "empty": "no evidence",
    "too_little": "too few words to be evidence",
    "too_long": "too long to be evidence",
    "too_many_parts": "too many parts to be evidence",
}


def grounding_blocks(report: Report, suite: str | None = None, judge: str | None = None) -> Iterator[Block]:
    """A waterfall for each judge and variant, of one suite and judge or of all."""
    for item in report.grounding:
        if suite in (None, item.suite) and judge in (None, item.judge):
            yield _waterfall(item) if item.found.labelled else _shares(item)


def _title(item: Grounded) -> str:
    place = "" if item.variant == REFERENCE else f", variant {item.variant}"
    return f"Grounding of {item.judge} on {clean(item.suite, 100)}{place}, in {_unit(item)}"


def _unit(item: Grounded) -> str:
    return "pairs of papers" if item.found.is_of_pairs else "verdicts"


def _shares(item: Grounded) -> Block:
    """Where all positive votes end: without gold there is nothing to be right about, and so no F1."""
    rates, rows = item.found.rates, []
    for name, metric in _ENDS:
        rate = rates.get(metric)
        if rate is None:
            rows.append((name, "not audited", "", ""))
        elif rate.value or metric not in _IF_ANY:
            sd = "" if rate.sd is None else f"{100 * rate.sd:.1f}"
            rows.append((name, _with_interval(rate), f"{sum(rate.events):,.0f} of {sum(rate.of):,.0f}", sd))
    headings: tuple[tuple[str, Justify], ...] = (
        ("", "left"),
        ("of all positive votes", "left"),
        ("pairs" if item.found.is_of_pairs else "votes", "right"),
        ("sd over votes", "right"),
    )
    return Block(_title(item), headings, tuple(rows), tuple(_notes_of_shares(item)))


def _notes_of_shares(item: Grounded) -> Iterator[str]:
    yield "without gold labels nothing tells right positives from wrong ones, so there is no F1"
    if item.found.rates["unchecked_rate_all"].value:
        why = _for_want_of_text(item)
        told = f"; they are unchecked{why}" if why else ""
        yield f"two figures are the least and the most that unchecked votes may make{told}"
    yield from _notes_of_spans(item)


def _waterfall(item: Grounded) -> Block:
    rates = item.found.rates
    rows = []
    for name, metric in _STEPS:
        rate = rates.get(metric)
        if rate is None:
            rows.append((name, "not audited", "", ""))
        else:
            rows.append((name, _with_interval(rate), _bar(rate), "" if rate.sd is None else f"{100 * rate.sd:.1f}"))
    return Block(_title(item), _HEADINGS, tuple(rows), tuple(_notes(item)), _SPARE)


def _bar(rate: Rate) -> str:
    """As long as the value; what is open is drawn lightly."""
    if rate.value is None:
        return ""
    lower, upper = rate.estimate.bounds or (rate.value, rate.value)
    full = round(_BAR * lower)
    return "\u2588" * full + "\u2591" * (round(_BAR * upper) - full)


def _with_interval(rate: Rate) -> str:
    """The value, or the bounds over what is unchecked, and the interval of either."""
    estimate = rate.estimate
    if estimate.bounds is None or estimate.low is None or estimate.high is None:
        return _share(rate) if estimate.bounds is not None else with_interval(estimate)
    return f"{between(*estimate.bounds)} [{percent(estimate.low)}, {percent(estimate.high)}]"


def _ends(rates: Mapping[str, Rate], suffix: str, thing: str) -> str:
    """Where positive verdicts end, and how many votes (or pairs in votes) that are; empty where there are none."""
    lost, missing = rates[f"hallucination_rate{suffix}"], rates[f"missing_evidence_rate{suffix}"]
    if lost.value is None:
        return ""
    text = (
        f"of {plural(round(sum(lost.of)), thing)} {_counted(lost)} hallucinated, {_counted(missing)} without evidence"
    )
    if (unreasoned := rates[f"missing_reason_rate{suffix}"]).value:
        text += f", {_counted(unreasoned)} without a reason"
    mismatched = rates.get(f"mismatch_rate{suffix}")
    if mismatched is None or mismatched.value is None:
        return text
    return f"{text}; of the rest ({sum(mismatched.of):,.0f} audited) {_counted(mismatched)} with a reason beyond the evidence"


def _counted(rate: Rate) -> str:
    """How many of all votes together, where that is known of each: the mean over votes may be another share."""
    if rate.estimate.bounds is not None:
        return _share(rate)
    count = sum(rate.events)
    return f"{count:,.0f} ({percent(count / sum(rate.of))} %)" if count else "0"


def _notes(item: Grounded) -> Iterator[str]:
    rates, found = item.found.rates, item.found
    for name, suffix in (("right", ""), ("wrong", "_false")):
        if text := _ends(rates, suffix, "pair" if found.is_of_pairs else "vote"):
            yield f"{name} positives: {text}"
    if unchecked := rates["unchecked_rate"].value:
        shown = [rates[metric].estimate for _, metric in _STEPS if metric in rates]
        most = "; two figures are the least and the most that they may make" if any(one.bounds for one in shown) else ""
        yield f"unchecked{_for_want_of_text(item)}: {percent(unchecked)} % of right positives{most}"
    retained = rates.get("retained_share")
    if retained is not None and retained.value is not None:
        yield f"F1 that is retained: {_with_interval(retained)}"
    sides = [(name, rates[name]) for name in ("positive_accuracy", "negative_accuracy") if name in rates]
    if all(rate.value is not None for _, rate in sides):
        yield "right on " + ", ".join(
            f"{with_interval(rate.estimate)} of {name.partition('_')[0]}s" for name, rate in sides
        )
    if found.macro:
        steps = [found.macro[metric] for _, metric in _STEPS if metric in found.macro]
        yield f"mean over sets: {' -> '.join(_share(rate) for rate in steps)} (a set with nothing to find and nothing said is 1)"
    if len(by_value := found.strata.get("dimension", {})) > 1:
        yield "by dimension: " + "; ".join(f"{value} {_steps(rates)}" for value, rates in by_value.items())
    if len(found.macro_by_dimension) > 1:
        told = (f"{value} {_steps(rates)}" for value, rates in found.macro_by_dimension.items())
        yield "mean over sets, by dimension: " + "; ".join(told)
    yield from _notes_of_spans(item)


def _notes_of_spans(item: Grounded) -> Iterator[str]:
    found = item.found
    if found.failures:
        yield "spans that fail: " + ", ".join(f"{count} {MEANT.get(why, why)}" for why, count in found.failures.items())
    if found.textless and not sum(found.rates["mismatch_rate_all"].of):
        yield "auditor: nobody can be asked about reasons whose texts were left out of the cassette (export --no-text)"
    elif found.audited and item.auditor == WEAK:
        yield f"auditor: {WEAK}, which only looks whether a reason's words are in the evidence: a weak baseline"
        if item.judge == WEAK:
            yield (
                "judge and auditor are one here: its reasons are made of words of its own evidence, so that none is found to go "
                "beyond it, by construction"
            )
    elif found.audited:
        others = " and ".join(item.auditors[1:])
        asked = f"; {others} {'is' if len(item.auditors) == 2 else 'are'} asked the same" if others else ""
        yield f"auditor: {item.auditor}{asked}"
        if item.judge == item.auditor:
            yield "judge and auditor are one here: it was asked about its own reasons"


def _for_want_of_text(item: Grounded) -> str:
    why = for_want_of_text(item.found.unaudited, item.found.textless)
    return f" {why}" if why else ""


def _steps(rates: Mapping[str, Rate]) -> str:
    return " -> ".join(_share(rates[metric]) for _, metric in _STEPS if metric in rates)


def _share(rate: Rate) -> str:
    """The value; where something is unchecked, the bounds that it leaves."""
    if rate.estimate.bounds is not None:
        return between(*rate.estimate.bounds)
    return "undefined" if rate.value is None else f"{percent(rate.value)} %"


def grounding_to_dict(item: Grounded) -> dict[str, Any]:
    """As a report in JSON has it."""
    return {
        "judge": item.judge,
        "suite": item.suite,
        "variant": item.variant,
        "auditor": item.auditor if item.found.audited else None,
        "auditors": list(item.auditors) if item.found.audited else [],
        "weak_auditor": item.found.audited and item.auditor == WEAK,
        "rates": _to_dicts(item.found.rates),
        "macro": _to_dicts(item.found.macro),
        "macro_by_dimension": {value: _to_dicts(rates) for value, rates in item.found.macro_by_dimension.items()},
        "strata": {
            name: {value: _to_dicts(rates) for value, rates in values.items()}
            for name, values in item.found.strata.items()
        },
        "failures": dict(item.found.failures),
        "textless": item.found.textless,
    }


def _to_dicts(rates: Mapping[str, Rate]) -> dict[str, Any]:
    return {name: {**rate.estimate.to_dict(), **_beside(rate)} for name, rate in rates.items()}


def _beside(rate: Rate) -> dict[str, Any]:
    told = {name: getattr(rate, name) for name in ("lower", "upper", "sd")}
    return {**told, **{name: list(getattr(rate, name)) for name in ("per_sample", "events", "of")}}
