"""The compact form in which a case's result travels between processes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from pytest_novelty.audits import Audits, Places
from pytest_novelty.digests import canonical_json
from pytest_novelty.evidence.checking import FAILURES
from pytest_novelty.evidence.checking import STATUSES as FOUND
from pytest_novelty.evidence.published import CLASSES
from pytest_novelty.model import OK, STATUSES, TIE, Ground, Instance, Outcome, Suite, Vote
from pytest_novelty.outcomes import CaseResult, Trace, Usage
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.protocols.base import result_of
from pytest_novelty.verdicts import Invented, Released

MAX_WIRE_BYTES: Final = 4096

_FAILED: Final = dict(zip(STATUSES[1:], "USRTOE", strict=True))
_STATUS: Final = {letter: status for status, letter in _FAILED.items()}
_BEYOND_DIGITS: Final = 0x100


def to_wire(result: CaseResult, suite: Suite, instance: Instance) -> str:
    """One ASCII JSON text (at most 4 KB in all but absurd cases: reason, latencies and a quotation go first).

    A vote is a letter: ``0``/``1`` the first or second label, ``t`` a declared tie, ``-`` an abstention, ``s`` a score alone,
    a capital letter the status of a failure. Where labels are not known beforehand, ``labels`` has those of the votes, and a
    letter is a place in it.
    """
    usage, outcome = result.usage, result.outcome
    known = _vote_labels(suite, instance)
    labels = known or tuple(sorted({vote.label for vote in outcome.votes if vote.label is not None}))
    votes: dict[str, str] = {}
    scores = []
    for vote in outcome.votes:
        order = vote.order or ""
        votes[order] = votes.get(order, "") + _letter(vote, labels)
        scores.append(vote.score)
    value: dict[str, Any] = {"id": list(result.label), "votes": votes, "why": outcome.reason, "label": outcome.label}
    if any(score is not None for score in scores):
        value["scores"] = scores
    if labels and not known:
        value["labels"] = list(labels)
    if any(vote.grounds for vote in outcome.votes):
        places = {idea.id: place for place, idea in enumerate(instance.ideas)}
        value["grounds"] = [[_pack(ground, places) for ground in vote.grounds] for vote in outcome.votes]
    if result.kinds:
        value["kinds"] = dict(result.kinds)
    if result.oddities:
        value["odd"] = dict(result.oddities)
    if result.audits != Audits():
        value["audits"] = list(result.audits)
    if result.invented is not None:
        value["said"] = list(result.invented)
    if result.trace != Trace():
        value["trace"] = [result.trace.leaked, result.trace.late, result.trace.overlap]
    value["use"] = [
        usage.made,
        usage.reused,
        usage.retries,
        usage.cost_usd,
        usage.unpriced,
        usage.tokens_in,
        usage.tokens_out,
        usage.tokens_cached,
        usage.tokens_reasoning,
    ]
    if usage.latencies_ms:
        value["ms"] = list(usage.latencies_ms)
    if usage.models:
        value["models"] = list(usage.models)
    if usage.settings:
        value["settings"] = list(usage.settings)
    if usage.oldest:
        value["old"] = usage.oldest
    if usage.reused_usd or usage.reused_unpriced:
        value["was"] = [usage.reused_usd, usage.reused_unpriced]
    text = canonical_json(value)
    if len(text) > MAX_WIRE_BYTES:
        value["why"] = value["why"][:60]
        value.pop("ms", None)
        value.pop("said", None)
        text = canonical_json(value)
    return text


def from_wire(value: Mapping[str, Any], suite: Suite, instance: Instance) -> CaseResult:
    """The result that :func:`to_wire` wrote, from its parsed JSON."""
    labels = tuple(value.get("labels") or _vote_labels(suite, instance))
    scores = value.get("scores")
    if scores is None:  # the same votes recur in thousands of instances
        votes = _same_votes(tuple(value["votes"].items()), labels)
    else:
        given = iter(scores)
        votes = tuple(
            _vote(letter, order or None, sample, next(given, None), labels)
            for order, letters in value["votes"].items()
            for sample, letter in enumerate(letters)
        )
    if "grounds" in value:
        names = [idea.id for idea in instance.ideas]
        votes = tuple(
            vote._replace(grounds=tuple(_unpack(packed, names) for packed in grounds)) if grounds else vote
            for vote, grounds in zip(votes, value["grounds"], strict=True)
        )
    label = value["label"]
    outcome = Outcome(label, result_of(label, instance.gold), votes, instance.gold, _mean_score(votes), value["why"])
    made, reused, retries, cost, unpriced, tokens_in, tokens_out, cached, reasoning = value["use"]
    judge, suite_name, variant, instance_id = value["id"]
    return CaseResult(
        judge,
        suite_name,
        variant,
        instance_id,
        outcome=outcome,
        usage=Usage(
            made, reused, retries, cost, unpriced, tokens_in, tokens_out,
            tuple(value.get("ms", ())), tuple(value.get("models", ())), cached, reasoning, tuple(value.get("settings", ())),
            value.get("old", ""), *value.get("was", ()),
        ),
        trace=Trace(*value["trace"]) if "trace" in value else Trace(),
        kinds=value.get("kinds", {}),
        oddities=value.get("odd", {}),
        audits=_audits(value["audits"]) if "audits" in value else Audits(),
        invented=Invented(*value["said"]) if "said" in value else None,
    )  # fmt: skip


def _audits(value: Sequence[Any]) -> Audits:
    audits = Audits(*value)
    elsewhere = tuple(
        (key, auditor, statement, _pairs(ours), _pairs(released))
        for key, auditor, statement, ours, released in audits.elsewhere
    )
    return audits._replace(opinions=tuple(map(tuple, audits.opinions)), elsewhere=elsewhere)


def _pairs(places: Sequence[Sequence[int]]) -> Places:
    return tuple((vote, group) for vote, group in places)


@lru_cache(maxsize=4096)
def _same_votes(letters_by_order: tuple[tuple[str, str], ...], labels: tuple[str, ...]) -> tuple[Vote, ...]:
    return tuple(
        _vote(letter, order or None, sample, None, labels)
        for order, letters in letters_by_order
        for sample, letter in enumerate(letters)
    )


def _mean_score(votes: Iterable[Vote]) -> float | None:
    scores = [vote.score for vote in votes if vote.score is not None]
    return sum(scores) / len(scores) if scores else None


def _vote_labels(suite: Suite, instance: Instance) -> tuple[str, ...]:
    return PROTOCOLS[suite.protocol].gold_labels([idea.id for idea in instance.ideas])


def _letter(vote: Vote, labels: Sequence[str]) -> str:
    if vote.status != OK:
        return _FAILED[vote.status]
    if vote.abstained:
        return "-"
    if vote.label is None:
        return "s"
    if vote.label == TIE:
        return "t"
    place = labels.index(vote.label)
    return str(place) if place < 10 else chr(_BEYOND_DIGITS + place)


def _vote(letter: str, order: str | None, sample: int, score: float | None, labels: Sequence[str]) -> Vote:
    if letter in _STATUS:
        return Vote(order, sample, _STATUS[letter])
    label = {"t": TIE, "-": None, "s": None}.get(letter) if letter in "t-s" else labels[_place(letter)]
    return Vote(order, sample, OK, "", label, score, letter == "-")


def _place(letter: str) -> int:
    return int(letter) if letter.isascii() else ord(letter) - _BEYOND_DIGITS


def _pack(ground: Ground, places: Mapping[str, int]) -> list[Any]:
    """Members by place, statuses and failures as digits (a failure from 1; 0 is none), the reason and what the auditor said; then
    what a release's rules make of it, classes as digits from 1.
    """
    released = ground.released
    return [
        [places[member] for member in ground.members],
        "".join(str(FOUND.index(status)) for status in ground.found),
        "".join(str(FAILURES.index(failure) + 1 if failure else 0) for failure in ground.failures),
        ground.has_reason,
        ground.supported,
        *(() if released is None else ("".join(map(_digit, released.classes)), released.supported)),
    ]


def _digit(kind: str | None) -> str:
    return "0" if kind is None else str(CLASSES.index(kind) + 1)


def _unpack(packed: Sequence[Any], names: Sequence[str]) -> Ground:
    members, found, failures, has_reason, supported, *rest = packed
    classes = tuple(CLASSES[int(digit) - 1] if digit != "0" else None for digit in rest[0]) if rest else ()
    return Ground(
        tuple(names[place] for place in members),
        tuple(FOUND[int(digit)] for digit in found),
        tuple(FAILURES[int(digit) - 1] if digit != "0" else "" for digit in failures),
        has_reason,
        supported,
        Released(classes, rest[1]) if rest else None,
    )
