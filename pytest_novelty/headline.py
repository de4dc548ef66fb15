"""The one sentence that says what a judge is worth: the terminal's first line and the report's ``headline``."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import comb
from typing import TYPE_CHECKING, Final

from pytest_novelty.audits import for_want_of_text
from pytest_novelty.metrics.view import Estimate
from pytest_novelty.model import REFERENCE, Suite
from pytest_novelty.protocols import PROTOCOLS, has_two_labels

if TYPE_CHECKING:
    from pytest_novelty.measuring import VariantResult
    from pytest_novelty.metrics.differences import Change
    from pytest_novelty.metrics.grounded import Grounding
    from pytest_novelty.plan import SuitePlan
    from pytest_novelty.results import Report


def percent(value: float) -> str:
    """A share as a whole percentage; never rounded to 0 or 100 unless it is."""
    whole = round(100 * value)
    if whole == 0 and value > 0:
        return "<1"
    if whole == 100 and value < 1:
        return ">99"
    return str(whole)


def with_interval(estimate: Estimate, unit: str = " %") -> str:
    if estimate.value is None:
        return "undefined"
    text = f"{percent(estimate.value)}{unit}"
    if estimate.low is not None and estimate.high is not None:
        text += f" [{percent(estimate.low)}, {percent(estimate.high)}]"
    return text


def between(lower: float, upper: float) -> str:
    """The bounds of a share of which something is not known, as whole percentages."""
    return f"{percent(lower)} to {percent(upper)} %"


def signed_points(estimate: Estimate) -> str:
    """A difference in points; where something was not checked on a side, what it may be."""
    ends = estimate.bounds or (estimate.value or 0.0,)
    return f"{' to '.join(f'{100 * end:+.0f}' for end in ends)} points"


def coin_accuracy(suite: Suite, votes: int, orders: str) -> float:
    """Strict accuracy of a fair coin: what is left of a half when even splits tie. All votes of an instance are one tally."""
    tally = votes * len(PROTOCOLS[suite.protocol].orders(orders))
    ties = comb(tally, tally // 2) / 2**tally if tally % 2 == 0 else 0.0
    return (1 - ties) / 2


def make_headline(report: Report) -> str:
    """One sentence a judge and suite, then what the labels are and what was not measured."""
    return " ".join(headline_sentences(report))


def headline_sentences(report: Report) -> list[str]:
    """The headline's sentences, for a medium that has lines."""
    if not report.outcomes:
        reasons = {f"{judge} {why}" for (judge, _, variant), why in report.plan.skipped.items() if not variant}
        return [f"Nothing was judged{': ' if reasons else ''}{', '.join(sorted(reasons))}."]
    clauses = []
    for judge in report.plan.judges:
        for planned in report.plan.suites.values():
            if any(row.judge == judge.name and row.suite == planned.suite.name for row in report.metrics):
                clauses.append(_clause(report, judge.name, judge.version, planned))
    kinds = sorted({planned.suite.label_kind for planned in report.plan.suites.values() if planned.suite.labelled})
    labels = f" Labels: {', '.join(kinds)}." if kinds else ""
    own = any(not planned.suite.labelled or _is_users(planned.suite) for planned in report.plan.suites.values())
    one_order = any(
        variant.axes.orders == "ab" and len(PROTOCOLS[planned.suite.protocol].orders("both")) > 1
        for planned in report.plan.suites.values()
        for variant in planned.variants
    )
    grounded = any(row.metric == "hallucination_rate" for row in report.metrics)
    unmeasured = [
        "" if grounded else "grounding",
        "the pull of the order" if one_order else "",
        "" if own else "your own ideas",
    ]
    unmeasured = [name for name in (*unmeasured, "" if kinds else "accuracy") if name]
    missing = f" Not measured: {', '.join(unmeasured)}." if unmeasured else ""
    return [*clauses, *([text] if (text := f"{labels}{missing}".strip()) else [])]


def _is_users(suite: Suite) -> bool:
    from pytest_novelty.data import data_folder

    return not suite.path.resolve().is_relative_to(data_folder("suites").resolve())


def _clause(report: Report, judge: str, version: str, planned: SuitePlan) -> str:
    suite = planned.suite
    estimates = {
        row.metric: row.estimate
        for row in report.metrics
        if (row.judge, row.suite, row.variant, row.stratum) == (judge, suite.name, REFERENCE, None)
    }
    noun, nouns = PROTOCOLS[suite.protocol].nouns
    accuracy = estimates.get("strict_accuracy" if suite.protocol == "pairwise" else "accuracy")
    ran = sum(
        (result.judge, result.suite, result.variant) == (judge, suite.name, REFERENCE) for result in report.outcomes
    )
    policy = {"drop": ", failures dropped", "tie": ", failures as ties"}.get(report.plan.settings.failures, "")
    sampled = f" (a sample of {len(suite.instances)})" if planned.sampled else ""
    name = f"{judge} {version[:12]}".strip()
    if accuracy is not None and accuracy.value is not None:
        beside = _beside(report, judge, planned)
        parts = [f"{name} is right on {with_interval(accuracy)} of {accuracy.n} {nouns}{sampled}{beside}{policy}"]
    else:
        parts = [f"{name} judged {ran} {nouns if ran != 1 else noun}{sampled} of {suite.name}"]
        if suite.labelled and accuracy is not None and accuracy.note:
            parts.append(
                f"accuracy {accuracy.note}"
                if accuracy.note.startswith("not evaluable")
                else f"no accuracy: {accuracy.note}"
            )
        auroc = estimates.get("auroc")
        if auroc is not None and auroc.value is not None:
            parts.append(f"a novel idea outscores one that is not in {with_interval(auroc)} of cases")
    variants = _variants(report, judge, suite)
    parts += [
        text
        for text in (
            _grounded(report, judge, suite),
            _as_published(report, judge, suite),
            _noise(estimates),
            variants,
            _order(estimates),
            _invalid(estimates),
        )
        if text
    ]
    parts += _gates(report, judge, suite)
    return "; ".join(parts) + "."


def _beside(report: Report, judge: str, planned: SuitePlan) -> str:
    axes = next(variant.axes for variant in planned.variants if variant.name == REFERENCE)
    known = []
    if has_two_labels(planned.suite.protocol):
        known.append(f"coin {percent(coin_accuracy(planned.suite, axes.votes, axes.orders))}")
    known += _constant(planned.suite)
    if planned.suite.name in report.baselines and judge != "lexical":
        known.append(f"lexical {percent(report.baselines[planned.suite.name])}")
    return f" ({', '.join(known)})" if known else ""


def _constant(suite: Suite) -> list[str]:
    """What always the same label would get, where one is more common than the other."""
    labels = PROTOCOLS[suite.protocol].labels
    gold = Counter(instance.gold for instance in suite.instances if instance.gold is not None)
    if labels is None or not gold:
        return []
    ((label, most),) = gold.most_common(1)
    return [f"always {label} {percent(most / gold.total())}"] if 2 * most > gold.total() else []


def _grounded(report: Report, judge: str, suite: Suite) -> str:
    """What is left of F1 when evidence and reasons are checked: like is set against like, all of it per vote. What was not
    checked leaves bounds.
    """
    found = [
        item.found
        for item in report.grounding
        if (item.judge, item.suite, item.variant) == (judge, suite.name, REFERENCE)
    ]
    for grounding in found:
        rates = grounding.rates
        if not grounding.labelled:
            return _invented(grounding)
        raw = rates["f1"].value
        for name, what in (("verified_f1", "evidence and reasons are"), ("grounded_f1", "evidence is")):
            left = rates[name].estimate if name in rates else None
            if raw is None or left is None or left.value is None:
                continue
            told = f"its F1 per vote of {percent(raw)} % is"
            if left.bounds is None:
                return f"{told} {percent(left.value)} % once {what} checked"
            low, high = map(percent, left.bounds)
            return f"{told} between {low} and {high} % once {what} checked: {_unchecked(grounding)}"
    return ""


def _invented(grounding: Grounding) -> str:
    """What can be told of evidence without gold: how much of what positive verdicts cite is not there; empty where none is
    positive.
    """
    lost = grounding.rates["hallucination_rate_all"].estimate
    if lost.value is None:
        return ""
    share = f"{percent(lost.value)} %" if lost.bounds is None else f"between {between(*lost.bounds)}"
    what = "the pairs that it groups" if grounding.is_of_pairs else "its positive verdicts"
    missing = grounding.rates["missing_evidence_rate_all"].value
    none = f", {percent(missing)} % cite none" if missing else ""
    return f"{share} of {what} cite evidence that is not there{none}"


def _unchecked(grounding: Grounding) -> str:
    """How many reasons of right positives nobody has judged, of those that there were to judge, over all votes."""
    unchecked = sum(grounding.rates["unchecked_rate"].events)
    judged = sum(grounding.rates["mismatch_rate"].of) if "mismatch_rate" in grounding.rates else 0.0
    what = "pairs of papers" if grounding.is_of_pairs else "reasons"
    why = for_want_of_text(grounding.unaudited, grounding.textless)
    return f"{unchecked:,.0f} of {unchecked + judged:,.0f} {what} unchecked" + (f", {why}" if why else "")


def _as_published(report: Report, judge: str, suite: Suite) -> str:
    """What a benchmark's release would say, where the suite is scored so, too."""
    for item in report.published if suite.labelled else ():
        if (item.judge, item.suite, item.variant) == (judge, suite.name, REFERENCE):
            for figure in item.found.figures[:6]:  # of correctness, all together or of the only dimension
                if figure.name in ("f1", "macro_f1") and figure.value is not None:
                    name = "F1" if figure.name == "f1" else "macro F1"
                    return f"by the release's rules (as-published) its raw {name} is {percent(figure.value)} %"
    return ""


def _noise(estimates: dict[str, Estimate]) -> str:
    retest = _retest(estimates)
    return f"asked again it changes {percent(retest)} % of votes" if retest else ""


def _retest(estimates: dict[str, Estimate]) -> float:
    retest = estimates.get("retest_flip_rate")
    return 0.0 if retest is None or retest.value is None else retest.value


def _order(estimates: dict[str, Estimate]) -> str:
    """How many verdicts turn with the order, and whether the judge's own noise alone would turn as many."""
    order, excess = estimates.get("order_inconsistency"), estimates.get("excess_order_flip")
    if order is None or order.value is None:
        return ""
    text = f"{percent(order.value)} % turn with the order"
    bias = estimates.get("position_bias")
    leans = bias is not None and bias.low is not None and bias.high is not None and not bias.low <= 0 <= bias.high
    if leans and bias is not None and bias.value is not None:
        text += f", and it leans to the idea shown {'first' if bias.value > 0 else 'second'}"
    elif order.value and _retest(estimates) and excess is not None and excess.value is not None and not excess.low:
        text += ", no more than its own noise might"
    accuracy = estimates.get("strict_accuracy")
    return text if accuracy is None or accuracy.n <= order.n else f"{text} (n = {order.n})"


_CHANGES: Final = {
    "prompt": "rewording",
    "format": "another rendering",
    "related_work": "other related work",
    "effort": "another effort",
    "params": "other parameters",
}


def _variants(report: Report, judge: str, suite: Suite) -> str:
    """The variant that moves the judge most, if one does; else how many were tried in vain."""
    own = [item for item in report.variants if (item.judge, item.suite) == (judge, suite.name)]
    moved = [item for item in own if item.moves]
    tried = sum(item.moved_p is not None for item in own)
    swayed = [item for item in own if item.changes_evidence]
    if not moved and swayed:
        return _evidence(swayed)
    if not moved:
        return (
            f"none of {tried} variants is seen to move it"
            if tried > 1
            else "the variant is not seen to move it" * tried
        )
    most = max(moved, key=lambda item: (_size(item.estimates), item.lost))
    what = _CHANGES.get(most.changed[0], "the change") if len(most.changed) == 1 else "the change"
    if most.cause == "votes lost":
        return f"{what} ({most.variant}) takes {percent(most.lost)} % of its votes away"
    shift = most.estimates["vote_shift"]
    size = "" if shift.value is None else f" by {round(100 * shift.value)} points beyond noise"
    return f"{what} ({most.variant}) moves its {'votes' if size else 'scores'}{size}"


def _evidence(swayed: Sequence[VariantResult]) -> str:
    """The variant that changes most what verdicts rest on, where none moves the verdicts."""
    largest = [(max(item.changes_evidence, key=_by), item) for item in swayed]
    change, item = max(largest, key=lambda pair: _by(pair[0]))
    what = _CHANGES.get(item.changed[0], "the change") if len(item.changed) == 1 else "the change"
    points = signed_points(change.estimate)
    return f"{what} ({item.variant}) is not seen to move its verdicts, but changes their evidence: {change.metric} {points}"


def _by(change: Change) -> float:
    return abs(change.estimate.value or 0.0)


def _size(estimates: Mapping[str, Estimate]) -> float:
    return estimates["vote_shift"].value or 0.0


def _invalid(estimates: dict[str, Estimate]) -> str:
    invalid = estimates.get("invalid_rate")
    return f"{percent(invalid.value)} % have an invalid answer" if invalid is not None and invalid.value else ""


def _gates(report: Report, judge: str, suite: Suite) -> list[str]:
    """What the gates came to; a comparison with recorded verdicts is one of them."""
    mine = [gate for gate in report.gates if (gate.judge, gate.suite) == (judge, suite.name)]
    compared = [drift for drift in report.drifts if (drift.judge, drift.suite) == (judge, suite.name)]
    names: dict[str, list[str]] = {}
    for gate in mine:
        where = "" if gate.gate.variant in (REFERENCE, "[max]", "[mean]", "[min]") else f"[{gate.gate.variant}]"
        part = f"@{':'.join(gate.gate.stratum)}" if gate.gate.stratum else ""
        if (name := gate.gate.metric + where + part) not in names.setdefault(gate.decision, []):
            names[gate.decision].append(name)
    for drift in compared:
        recorded = "golden verdicts" if drift.is_golden else "stored verdicts"
        names.setdefault(drift.decision, []).append(f"the comparison with its {recorded}")
    count = len(mine) + len(compared)
    parts = []
    if failed := names.get("fail"):
        parts.append(f"fails {', '.join(failed)}")
    if open_ := names.get("inconclusive"):
        parts.append(f"{', '.join(open_)} undecided")
    if count and not failed and not open_ and not names.get("not enforced"):
        parts.append("passes its gate" if count == 1 else f"passes all {count} gates")
    return parts
