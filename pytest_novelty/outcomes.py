"""From a case's records to its outcome, and the compact form in which an outcome travels between processes."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from pytest_novelty.calls import Case
from pytest_novelty.digests import canonical_json
from pytest_novelty.judges.base import Traits
from pytest_novelty.model import (
    NOT_NOVEL,
    NOVEL,
    OK,
    STATUSES,
    TIE,
    Document,
    Instance,
    Outcome,
    Record,
    Suite,
    Vote,
)
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.protocols.base import result_of

_MAX_REASON: Final = 400
MAX_WIRE_BYTES: Final = 4096


class Usage(NamedTuple):
    """What the calls of a case took. ``made`` calls were sent in this run, ``reused`` came from the store.

    ``cost_usd`` sums the calls whose cost is known; ``unpriced`` counts the others. Reused calls cost nothing now;
    ``oldest``: when the first of them was recorded.
    """

    made: int = 0
    reused: int = 0
    retries: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    latencies_ms: tuple[int, ...] = ()
    models: tuple[str, ...] = ()
    tokens_cached: int = 0
    tokens_reasoning: int = 0
    settings: tuple[str, ...] = ()
    oldest: str = ""

    def joined(self, other: Usage) -> Usage:
        """Of one case that was asked for twice: what the second found stored is what the first paid for."""
        return Usage(
            self.made + other.made,
            self.reused if self.made else other.reused,
            self.retries + other.retries,
            self.cost_usd + other.cost_usd,
            self.unpriced + other.unpriced,
            self.tokens_in + other.tokens_in,
            self.tokens_out + other.tokens_out,
            self.latencies_ms + other.latencies_ms,
            tuple(sorted({*self.models, *other.models})),
            self.tokens_cached + other.tokens_cached,
            self.tokens_reasoning + other.tokens_reasoning,
            tuple(sorted({*self.settings, *other.settings})),
            min(filter(None, (self.oldest, other.oldest)), default=""),
        )


class Trace(NamedTuple):
    """What a retrieving judge showed of its look-ups; None where it returned no trace."""

    leaked: bool | None = None
    late: bool | None = None
    overlap: float | None = None


class CaseResult(NamedTuple):
    """Everything the run's end needs of one case. ``kinds`` counts failures, ``oddities`` what was strange but could be read."""

    judge: str
    suite: str
    variant: str
    instance: str
    outcome: Outcome
    usage: Usage = Usage()
    trace: Trace = Trace()
    kinds: Mapping[str, int] = MappingProxyType({})
    oddities: Mapping[str, int] = MappingProxyType({})

    @property
    def label(self) -> tuple[str, str, str, str]:
        return (self.judge, self.suite, self.variant, self.instance)


def case_result(
    case: Case, records: Sequence[Record], fresh: Sequence[Record], threshold: float | None = None
) -> CaseResult:
    """Aggregate the records of one case, one a planned call; ``fresh`` are those whose calls were made in this run."""
    votes = tuple(
        [
            Vote(record.order, record.sample, record.status, record.kind, record.label, record.score, record.abstained)
            for record in records
        ]
    )
    outcome = make_outcome(case.suite, case.instance, votes, case.orders, case.judge.traits, threshold)
    if reason := _reason(outcome.label, records):
        outcome = outcome._replace(reason=reason)
    failed = [record.kind for record in records if record.status != OK]
    odd = [record.kind for record in records if record.kind and record.status == OK]
    retrieves = [record.retrieved for record in records if record.retrieved is not None]
    judge, suite, variant, instance = case.label
    return CaseResult(
        judge,
        suite,
        variant,
        instance,
        outcome,
        _usage(fresh, records),
        _trace(case, retrieves) if retrieves else Trace(),
        dict(sorted(Counter(failed).items())) if failed else {},
        dict(sorted(Counter(odd).items())) if odd else {},
    )


def make_outcome(
    suite: Suite,
    instance: Instance,
    votes: Sequence[Vote],
    orders: Sequence[str | None],
    traits: Traits,
    threshold: float | None = None,
) -> Outcome:
    """The outcome of an instance's votes. ``threshold`` (else the judge's own) turns a mean score into a label."""
    protocol = PROTOCOLS[suite.protocol]
    label = protocol.aggregate(votes, [idea.id for idea in instance.ideas], orders)
    scores = [vote.score for vote in votes if vote.score is not None]
    score = sum(scores) / len(scores) if scores else None
    limit = traits.threshold if threshold is None else threshold
    if label is None and score is not None and limit is not None:
        label = label_of_score(score, limit, traits.higher_is)
    return Outcome(label, result_of(label, instance.gold), tuple(votes), instance.gold, score)


def label_of_score(score: float, threshold: float, higher_is: str) -> str:
    """Novel iff the score reaches the threshold, from the side that means novel."""
    reaches = score >= threshold if higher_is == NOVEL else score <= threshold
    return NOVEL if reaches else NOT_NOVEL


def _reason(label: str | None, records: Iterable[Record]) -> str:
    """The reason of a vote for the outcome's label, else of any vote, else the message of a failure; shortened."""
    best = ""
    for record in records:
        text = record.reason or record.message
        if text and record.label == label and record.status == OK:
            best = text
            break
        best = best or text
    text = " ".join(best.split())
    return text if len(text) <= _MAX_REASON else f"{text[:_MAX_REASON]}..."


def _usage(fresh: Sequence[Record], records: Sequence[Record]) -> Usage:
    reused = len(records) - len(fresh)
    if not fresh:
        return Usage(reused=reused, models=_models(records), settings=_settings(records), oldest=_oldest(records))
    costs = [record.cost_usd for record in fresh if record.cost_usd is not None]
    return Usage(
        made=len(fresh),
        reused=reused,
        retries=sum([record.retries for record in fresh]),
        cost_usd=sum(costs),
        unpriced=len(fresh) - len(costs),
        tokens_in=sum([record.tokens_in or 0 for record in fresh]),
        tokens_out=sum([record.tokens_out or 0 for record in fresh]),
        latencies_ms=tuple([round(record.latency_s * 1000) for record in fresh]),
        models=_models(records),
        tokens_cached=sum([record.tokens_cached or 0 for record in fresh]),
        tokens_reasoning=sum([record.tokens_reasoning or 0 for record in fresh]),
        settings=_settings(records),
        oldest=_oldest(set(records) - set(fresh)) if reused else "",
    )


def _oldest(records: Iterable[Record]) -> str:
    return min((record.created for record in records if record.created), default="")


def _models(records: Iterable[Record]) -> tuple[str, ...]:
    found = {record.model for record in records if record.model}
    return tuple(sorted(found)) if found else ()


def _settings(records: Iterable[Record]) -> tuple[str, ...]:
    found = {record.settings for record in records if record.settings}
    return tuple(sorted(found)) if found else ()


# --- traces of retrieving judges ----------------------------------------------------------------------------


def _trace(case: Case, traces: Sequence[tuple[Document, ...]]) -> Trace:
    documents = [document for trace in traces for document in trace]
    own = {
        _plain_title(title) for idea in case.instance.ideas for title in (idea.title, *_published(idea.metadata))
    } - {""}
    own_ids = {str(value) for idea in case.instance.ideas for value in _published_ids(idea.metadata)}
    leaked = any(_plain_title(item.title) in own or (item.id and item.id in own_ids) for item in documents)
    late = None
    dates = [date for item in documents if (date := _iso_date(item.date))]
    if case.instance.as_of is not None and dates:
        late = any(_is_after(date, case.instance.as_of) for date in dates)
    return Trace(leaked, late, _overlap(traces))


def _published(metadata: Mapping[str, Any]) -> list[str]:
    """Titles under which the idea itself was published, kept in its metadata and never shown."""
    value = metadata.get("published_title")
    return [item for item in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(item, str)]


def _published_ids(metadata: Mapping[str, Any]) -> list[Any]:
    value = metadata.get("published_id")
    return [item for item in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(item, (str, int))]


def _plain_title(title: str) -> str:
    return re.sub(r"\W+", " ", unicodedata.normalize("NFKC", title).casefold()).strip()


_ISO_DATE: Final = re.compile(r"(\d{4})(?:-?(\d{2})(?:-?(\d{2}))?)?(?![\d-])")


def _iso_date(text: str | None) -> str:
    """The date at the beginning of ``text`` as YYYY, YYYY-MM or YYYY-MM-DD; empty if it is none."""
    found = _ISO_DATE.match(text or "")
    return "-".join(part for part in found.groups() if part) if found else ""


def _is_after(date: str, as_of: str) -> bool:
    """Compare ISO dates of any precision; a bare year is late only if it is a later year."""
    return date[: len(as_of)] > as_of[: len(date)]


def _overlap(traces: Sequence[tuple[Document, ...]]) -> float | None:
    """Mean Jaccard similarity of what pairs of votes retrieved; two empty lists agree."""
    sets = [{item.id or _plain_title(item.title) for item in trace} for trace in traces]
    pairs = [(one, other) for index, one in enumerate(sets) for other in sets[index + 1 :]]
    if not pairs:
        return None
    return sum(len(one & other) / len(one | other) if one | other else 1.0 for one, other in pairs) / len(pairs)


# --- the wire form ------------------------------------------------------------------------------------------

_FAILED: Final = dict(zip(STATUSES[1:], "USRTOE", strict=True))
_STATUS: Final = {letter: status for status, letter in _FAILED.items()}


def to_wire(result: CaseResult, suite: Suite, instance: Instance) -> str:
    """One ASCII JSON text (at most 4 KB in all but absurd cases: reason and latencies go first).

    A vote is a letter: ``0``/``1`` the first or second label, ``t`` a declared tie, ``-`` an abstention, ``s`` a score alone,
    a capital letter the status of a failure.
    """
    labels = _vote_labels(suite, instance)
    usage, outcome = result.usage, result.outcome
    votes: dict[str, str] = {}
    scores = []
    for vote in outcome.votes:
        order = vote.order or ""
        votes[order] = votes.get(order, "") + _letter(vote, labels)
        scores.append(vote.score)
    value: dict[str, Any] = {"id": list(result.label), "votes": votes, "why": outcome.reason, "label": outcome.label}
    if any(score is not None for score in scores):
        value["scores"] = scores
    if result.kinds:
        value["kinds"] = dict(result.kinds)
    if result.oddities:
        value["odd"] = dict(result.oddities)
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
    text = canonical_json(value)
    if len(text) > MAX_WIRE_BYTES:
        value["why"] = value["why"][:60]
        value.pop("ms", None)
        text = canonical_json(value)
    return text


def from_wire(value: Mapping[str, Any], suite: Suite, instance: Instance) -> CaseResult:
    """The result that :func:`to_wire` wrote, from its parsed JSON."""
    labels = _vote_labels(suite, instance)
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
            value.get("old", ""),
        ),
        trace=Trace(*value["trace"]) if "trace" in value else Trace(),
        kinds=value.get("kinds", {}),
        oddities=value.get("odd", {}),
    )  # fmt: skip


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
    return "t" if vote.label == TIE else str(labels.index(vote.label))


def _vote(letter: str, order: str | None, sample: int, score: float | None, labels: Sequence[str]) -> Vote:
    if letter in _STATUS:
        return Vote(order, sample, _STATUS[letter])
    label = {"t": TIE, "-": None, "s": None}.get(letter) if letter in "t-s" else labels[int(letter)]
    return Vote(order, sample, OK, "", label, score, letter == "-")
