"""What moves a verdict, in words that follow from the tests (STATISTICS.md 1).

The variant moves it if the exchange test, Holm-adjusted over the variants of the judge on the suite, says so; it does so together
with the order if the order's pull is another under the variant. A judge follows the position if the votes of the two orders are
not exchangeable, under either wording. It is a coin if asked again it changes about half of its votes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pytest_novelty.headline import percent, signed_points
from pytest_novelty.metrics.differences import GROUNDED, Change
from pytest_novelty.metrics.power import Seen
from pytest_novelty.metrics.view import Estimate

LEVEL: Final = 0.05

VARIANT: Final = "variant"
TOGETHER: Final = "order and variant"
ORDER: Final = "order"
COIN: Final = "coin"
SILENCED: Final = "votes lost"
NOTHING: Final = "nothing found"
SAME: Final = "same calls"
UNKNOWN: Final = "cannot be told"

CAUSES: Final = (VARIANT, TOGETHER, SILENCED, ORDER, COIN, NOTHING, SAME, UNKNOWN)

_NOUNS: Final = {
    "prompt": "wording",
    "format": "rendering",
    "related_work": "related work",
    "effort": "effort",
    "params": "parameters",
    "granularity": "granularity",
    "temperature": "temperature",
    "votes": "number of votes",
    "orders": "choice of orders",
}
_COIN_LOW: Final = 1 / 3
"""A coin's votes for a label differ in half of the pairs; the interval must reach that, and exclude a clear majority."""


@dataclass(frozen=True)
class Facts:
    """What the words follow from. Estimates are of one judge, variant and suite; p values are Holm-adjusted.

    reference, variant: single-view estimates of both sides by metric; compared: those of the pair.
    seen: what would have been seen. noise: the share of verdicts that the judge's own
        noise would change. lost: the share of votes that the variant takes away (less than 0: brings), with its p.
    decided: of both sides, how often two votes for a label differ.
    """

    changed: Sequence[str]
    n: int
    reference: Mapping[str, Estimate]
    variant: Mapping[str, Estimate]
    compared: Mapping[str, Estimate]
    same_calls: str = ""
    moved_p: float | None = None
    together_p: float | None = None
    order_p: tuple[float | None, float | None] = (None, None)
    seen: Seen = field(default_factory=Seen)
    noise: float | None = None
    by_scores: bool = False
    lost: tuple[float, float | None] = (0.0, None)
    decided: tuple[Estimate | None, Estimate | None] = (None, None)


def tell_evidence(changes: Sequence[Change]) -> str:
    """What a variant does to the evidence of verdicts, if it is more than chance: it may do so while every verdict stays."""
    found = [f"{change.metric} {_signed_points(change.estimate)}" for change in changes if is_of_evidence(change)]
    return f"the evidence changes: {', '.join(found)}" if found else ""


def is_of_evidence(change: Change) -> bool:
    """It is starred, and tells what became of the evidence of verdicts."""
    return change.starred and change.metric in GROUNDED


def _signed_points(estimate: Estimate) -> str:
    text = signed_points(estimate)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} [{100 * estimate.low:+.0f}, {100 * estimate.high:+.0f}]"


def name_change(changed: Sequence[str]) -> tuple[str, bool]:
    """("the wording", False): what a variant changes, and whether it takes a verb in the plural."""
    nouns = [_NOUNS.get(axis, axis) for axis in changed] or ["variant"]
    plural = len(nouns) > 1 or nouns[0].endswith("s")
    return f"the {' and the '.join(nouns)}", plural


def attribute(facts: Facts) -> tuple[str, str]:
    """(cause, sentence)."""
    if facts.same_calls:
        return SAME, f"{facts.same_calls}{_flips(facts)}"
    lost = _lost(facts)
    if facts.moved_p is None and lost:
        return SILENCED, lost
    if facts.moved_p is None:
        note = next((e.note for e in facts.compared.values() if e.value is None and e.note), "no votes to compare")
        return UNKNOWN, f"cannot be told from noise: {note}{_flips(facts)}"
    if facts.moved_p is not None and facts.moved_p <= LEVEL:
        cause, sentence = _moved(facts)
        return cause, f"{sentence}; {lost}" if lost else sentence
    if lost:
        return SILENCED, f"{lost}; among the rest {_nothing(facts)}"
    if _is_significant(facts.order_p[0]) and _is_significant(facts.order_p[1]):
        pull = facts.reference["excess_order_flip"].value or 0.0
        return ORDER, f"it follows the position ({_points(pull**0.5)} beyond noise); {_nothing(facts)}"
    if _is_coin(facts):
        decided = facts.decided[0]
        retest = 0.5 if decided is None or decided.value is None else decided.value
        return COIN, f"it is a coin (asked again it changes {percent(retest)} % of its votes); {_nothing(facts)}"
    return NOTHING, _nothing(facts)


def _moved(facts: Facts) -> tuple[str, str]:
    subject, plural = name_change(facts.changed)
    several = f" ({len(facts.changed)} axes changed at once)" if len(facts.changed) > 1 else ""
    if facts.by_scores:
        parts = [
            f"mean score {signed_with_interval(facts.compared.get('score_shift'))}",
            f"{_number(facts.compared.get('score_rms_shift'))} RMS beyond noise",
        ]
        return VARIANT, f"{subject} {'move' if plural else 'moves'} its scores{several} ({', '.join(parts)})"
    size = f"vote shift {points_with_interval(facts.compared['vote_shift'])}"
    if facts.noise is not None:
        size += f", {percent(facts.noise)} % would flip by its own noise"
    if _is_significant(facts.together_p):
        both = f"order together with {subject}" if several else f"order and {subject.removeprefix('the ')} together"
        return TOGETHER, f"{both}{several}: {_pull(facts)}{size}"
    also = "; it also follows the position" if all(map(_is_significant, facts.order_p)) else ""
    return VARIANT, f"{subject} {'move' if plural else 'moves'} it{several} ({size}){also}"


def _pull(facts: Facts) -> str:
    """What the order does under either wording: the lean to the first shown or, where that changes less, the effect whichever
    way it goes.
    """
    changes = []
    for metric, name, form in (
        ("position_bias", "the lean to the idea shown first", _lean),
        ("excess_order_flip", "what the order does to a vote", lambda value: f"{100 * max(0.0, value) ** 0.5:.0f}"),
    ):
        sides = [side.get(metric) for side in (facts.reference, facts.variant)]
        values = [side.value for side in sides if side is not None and side.value is not None]
        if len(values) == 2:
            told = f"{name} goes from {form(values[0])} to {form(values[1])} points, "
            roots = [abs(value) ** 0.5 if metric == "excess_order_flip" else value for value in values]
            changes.append((abs(roots[1] - roots[0]), told))
    return max(changes)[1] if changes else ""


def _lost(facts: Facts) -> str:
    """What the variant does to the number of valid votes, if it is more than chance."""
    share, p = facts.lost
    if not share or not _is_significant(p):
        return ""
    subject, plural = name_change(facts.changed)
    if share < 0:
        return f"{subject} {'bring' if plural else 'brings'} {percent(-share)} % more valid votes than the reference"
    return f"{subject} {'take' if plural else 'takes'} {percent(share)} % of the votes away{_flips(facts)}"


def _nothing(facts: Facts) -> str:
    rests_on = facts.compared.get("score_shift" if facts.by_scores else "excess_flip")
    n = facts.n if rests_on is None or rests_on.value is None else rests_on.n
    text = f"no effect found in n = {n}"
    return f"{text}; {would_be_seen(facts.seen)}"


def would_be_seen(seen: Seen, effect: str = "an effect") -> str:
    """What a test that found nothing would have found."""
    parts = []
    if seen.shift is not None:
        parts.append(f"{effect} above {_points(seen.shift)}")
    if seen.drift is not None:
        parts.append(f"a drift of the mean score above {seen.drift:.2g}")
    return f"{' or '.join(parts)} would have been seen 4 times in 5" if parts else "so few would not have shown any"


def _flips(facts: Facts) -> str:
    flips = facts.compared.get("flip_rate")
    return "" if flips is None or flips.value is None else f"; {percent(flips.value)} % of verdicts change"


def _is_significant(p: float | None) -> bool:
    return p is not None and p <= LEVEL


def _is_coin(facts: Facts) -> bool:
    return all(
        e is not None and e.low is not None and e.high is not None and e.low >= _COIN_LOW and e.high >= 0.5
        for e in facts.decided
    )


def _points(value: float) -> str:
    points = round(100 * value)
    return f"{points} point" if points == 1 else f"{points} points"


def _lean(value: float) -> str:
    return f"{100 * value:+.0f}"


def points_with_interval(estimate: Estimate) -> str:
    """A share as points from 0 to 100, with its interval."""
    if estimate.value is None:
        return "unknown"
    text = _points(estimate.value)
    if estimate.low is None or estimate.high is None:
        return text
    return f"{text} [{100 * estimate.low:.0f}, {100 * estimate.high:.0f}]"


def signed_with_interval(estimate: Estimate | None) -> str:
    """A difference with its sign and interval."""
    if estimate is None or estimate.value is None:
        return "unknown"
    if estimate.low is None or estimate.high is None:
        return f"{estimate.value:+.2g}"
    return f"{estimate.value:+.2g} [{estimate.low:+.2g}, {estimate.high:+.2g}]"


def _number(estimate: Estimate | None) -> str:
    return "unknown" if estimate is None or estimate.value is None else f"{estimate.value:.2g}"
