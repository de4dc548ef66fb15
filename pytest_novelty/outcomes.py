"""From a case's records to its outcome."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from pytest_novelty.answers import split_oddities
from pytest_novelty.audits import Audits
from pytest_novelty.calls import Case
from pytest_novelty.grounding import read_grounds
from pytest_novelty.judges.base import Traits
from pytest_novelty.model import (
    NOT_NOVEL,
    NOVEL,
    OK,
    Document,
    Ground,
    Instance,
    Outcome,
    Record,
    Suite,
    Vote,
)
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.protocols.base import result_of
from pytest_novelty.tally import part_of, sum_told
from pytest_novelty.verdicts import Invented

_MAX_REASON: Final = 400


class Usage(NamedTuple):
    """What the calls of a case took. ``made`` calls were sent in this run, ``reused`` came from the store.

    ``cost_usd`` sums the calls whose cost is known; ``unpriced`` counts the others. Reused calls cost nothing now: ``reused_usd``
    and ``reused_unpriced`` tell what they cost once, ``oldest`` when the first of them was recorded. Tokens in and out
    sum the calls that told theirs; None if none did.
    """

    made: int = 0
    reused: int = 0
    retries: int = 0
    cost_usd: float = 0.0
    unpriced: int = 0
    tokens_in: int | None = 0
    tokens_out: int | None = 0
    latencies_ms: tuple[int, ...] = ()
    models: tuple[str, ...] = ()
    tokens_cached: int = 0
    tokens_reasoning: int = 0
    settings: tuple[str, ...] = ()
    oldest: str = ""
    reused_usd: float = 0.0
    reused_unpriced: int = 0

    def joined(self, other: Usage) -> Usage:
        """Of one case that was asked for twice: what the second found stored is what the first paid for."""
        return Usage(
            self.made + other.made,
            self.reused if self.made else other.reused,
            self.retries + other.retries,
            self.cost_usd + other.cost_usd,
            self.unpriced + other.unpriced,
            sum_told([(self.made, self.tokens_in), (other.made, other.tokens_in)]),
            sum_told([(self.made, self.tokens_out), (other.made, other.tokens_out)]),
            self.latencies_ms + other.latencies_ms,
            tuple(sorted({*self.models, *other.models})),
            self.tokens_cached + other.tokens_cached,
            self.tokens_reasoning + other.tokens_reasoning,
            tuple(sorted({*self.settings, *other.settings})),
            min(filter(None, (self.oldest, other.oldest)), default=""),
            self.reused_usd if self.made else other.reused_usd,
            self.reused_unpriced if self.made else other.reused_unpriced,
        )


class Trace(NamedTuple):
    """What a retrieving judge showed of its look-ups; None where it returned no trace."""

    leaked: bool | None = None
    late: bool | None = None
    overlap: float | None = None


class CaseResult(NamedTuple):
    """Everything the run's end needs of one case. ``kinds`` counts failures, ``oddities`` what was strange but could be read;
    ``audits``: what an auditor that is asked was asked about its statements; ``invented``: the first span of its votes that is
    not in what was shown, for a person to look at.
    """

    judge: str
    suite: str
    variant: str
    instance: str
    outcome: Outcome
    usage: Usage = Usage()
    trace: Trace = Trace()
    kinds: Mapping[str, int] = MappingProxyType({})
    oddities: Mapping[str, int] = MappingProxyType({})
    audits: Audits = Audits()
    invented: Invented | None = None

    @property
    def label(self) -> tuple[str, str, str, str]:
        return (self.judge, self.suite, self.variant, self.instance)


def case_result(
    case: Case,
    records: Sequence[Record],
    fresh: Sequence[Record],
    threshold: float | None = None,
    audited: Mapping[int, tuple[Ground, ...]] = MappingProxyType({}),
) -> CaseResult:
    """Aggregate the records of one case, one a planned call; ``fresh`` are those whose calls were made in this run. ``audited``:
    the grounds of some of them, by place, with what the auditor says.
    """
    votes = tuple(
        [
            Vote(
                record.order,
                record.sample,
                record.status,
                record.kind,
                record.label,
                record.score,
                record.abstained,
                (audited.get(place) or read_grounds(record.grounds)) if record.grounds else (),
            )
            for place, record in enumerate(records)
        ]
    )
    outcome = make_outcome(case.suite, case.instance, votes, case.orders, case.judge.traits, threshold)
    if reason := _reason(outcome.label, records):
        outcome = outcome._replace(reason=reason)
    failed = [record.kind for record in records if record.status != OK]
    odd = [oddity for record in records if record.status == OK for oddity in split_oddities(record.kind)]
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


def with_textless(result: CaseResult, count: int) -> CaseResult:
    """The result with so many statements that were to be audited and have no text. They are unchecked, and known to be."""
    if not count:
        return result
    audits = result.audits
    failed, told = dict(audits.failed), dict(audits.told)  # the result travels as JSON
    known = audits._replace(wanted=audits.wanted + count, textless=count, failed=failed, told=told)
    return result._replace(audits=known)


def with_audits(result: CaseResult, audits: Audits, fresh: Sequence[Record], reused: int) -> CaseResult:
    """The result with what auditing it took among its calls, their cost and their tokens. ``fresh``: the audits of this run."""
    usage, more = result.usage, _usage(fresh, fresh)
    return result._replace(
        audits=audits,
        usage=usage._replace(
            made=usage.made + more.made,
            reused=usage.reused + reused,
            retries=usage.retries + more.retries,
            cost_usd=usage.cost_usd + more.cost_usd,
            unpriced=usage.unpriced + more.unpriced,
            tokens_in=sum_told([(usage.made, usage.tokens_in), (more.made, more.tokens_in)]),
            tokens_out=sum_told([(usage.made, usage.tokens_out), (more.made, more.tokens_out)]),
            tokens_cached=usage.tokens_cached + more.tokens_cached,
            tokens_reasoning=usage.tokens_reasoning + more.tokens_reasoning,
        ),
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
    again = [] if len(fresh) == len(records) else [record for record in records if record not in fresh]
    former = [record.cost_usd for record in again if record.cost_usd is not None]
    reused = Usage(
        reused=len(again),
        models=_models(records),
        settings=_settings(records),
        oldest=_oldest(again),
        reused_usd=sum(former),
        reused_unpriced=len(again) - len(former),
    )
    if not fresh:
        return reused
    costs = [record.cost_usd for record in fresh if record.cost_usd is not None]
    return reused._replace(
        made=len(fresh),
        retries=sum([record.retries for record in fresh]),
        cost_usd=sum(costs),
        unpriced=len(fresh) - len(costs),
        tokens_in=sum_told([(1, record.tokens_in) for record in fresh]),
        tokens_out=sum_told([(1, record.tokens_out) for record in fresh]),
        latencies_ms=tuple([round(record.latency_s * 1000) for record in fresh]),
        tokens_cached=sum([part_of(record.tokens_cached, record.tokens_in) for record in fresh]),
        tokens_reasoning=sum([part_of(record.tokens_reasoning, record.tokens_out) for record in fresh]),
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
