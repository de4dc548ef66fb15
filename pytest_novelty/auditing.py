"""Does a reason follow from the evidence? The statements of answers as questions of the ``entailment`` protocol.

Only statements whose evidence was found are audited, and the auditor sees the source's own words, not the judge's quotation.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from pytest_novelty.answers import read_raw
from pytest_novelty.calls import Call, Case
from pytest_novelty.digests import digest_of
from pytest_novelty.evidence.aligned import NEAR, VERBATIM
from pytest_novelty.evidence.checking import HALLUCINATED
from pytest_novelty.grounding import find_evidence, read_grounds
from pytest_novelty.instances import asked_of
from pytest_novelty.judges.base import Judge
from pytest_novelty.judges.lexical import Lexical
from pytest_novelty.model import (
    OK,
    REFERENCE,
    Axes,
    Conclusion,
    Ground,
    Instance,
    Record,
    Request,
    Suite,
    Variant,
    Verdict,
)
from pytest_novelty.verdicts import SIMILAR, SUPPORTED, UNSUPPORTED, Invented

WEAK: Final = "lexical"
"""The auditor that is asked where none is named: containment of the reason's words. It is free, and it is weak."""

AUDITED_BY: Final = "entailment"
AUDIT: Final = Variant(REFERENCE, Axes(f"{AUDITED_BY}/reference", votes=1))
"""How an auditor is asked."""

_MAX_QUOTATION: Final = 120
"""Characters of a quotation that travel with a result."""
_CITING: Final = frozenset({"similarity", "grouping"})


def conclusions_of(call: Call, record: Record) -> list[Conclusion | None]:
    """What there is to audit of each group of an answer, in the order of its grounds; None where a span was not found or there is
    no reason.
    """
    verdict = verdict_in(call, record)
    if verdict is None:
        return [None for _ in read_grounds(record.grounds)]
    found: list[Conclusion | None] = []
    for group, findings in find_evidence(call, verdict):
        if not group.auditable or not all(finding.found for finding in findings):
            found.append(None)
            continue
        papers = [call.request.ideas[member] for member in group.members]
        located = [finding.located(paper.text) for finding, paper in zip(findings, papers, strict=True)]
        spans = [own or span for own, span in zip(located, group.evidence, strict=True)]
        found.append(Conclusion(SIMILAR, tuple(spans), group.reason.strip()))
    return found


def verdict_in(call: Call, record: Record) -> Verdict | None:
    """What a record's answer says, with its spans and reasons; None where it makes no statement, or its text was not kept."""
    if record.status != OK or not record.raw or not record.grounds:
        return None
    judge = call.case.judge
    verdict = read_raw(
        record.raw,
        call.case.protocol,
        judge.traits,
        None,
        tells_its_call=judge.tells_its_calls,
        shown=len(call.shown_ids),
    ).verdict
    return verdict if isinstance(verdict, Verdict) else None


def count_textless(records: Sequence[Record]) -> int:
    """Statements with evidence and a reason of answers whose text was left out of a cassette."""
    kept = [record for record in records if record.status == OK and record.grounds and not record.raw]
    grounds = (ground for record in kept for ground in read_grounds(record.grounds))
    return sum(ground.has_reason and set(ground.found) <= {VERBATIM, NEAR} for ground in grounds)


def find_invented(calls: Sequence[Call], records: Sequence[Record]) -> Invented | None:
    """The first span of a case's answers that is not in what was shown; None where there is none, or no text of it was kept."""
    for call, record in zip(calls, records, strict=True):
        if HALLUCINATED not in record.grounds or (verdict := verdict_in(call, record)) is None:
            continue
        for group, ground in zip(verdict.groups, read_grounds(record.grounds), strict=True):
            spans = dict(zip((call.shown_ids[member] for member in group.members), group.evidence, strict=True))
            for paper, status, failure in zip(ground.members, ground.found, ground.failures, strict=True):
                if status == HALLUCINATED:
                    return Invented(paper, failure, " ".join(spans[paper].split())[:_MAX_QUOTATION])
    return None


def audit_by_words(calls: Sequence[Call], records: Sequence[Record]) -> dict[int, tuple[Ground, ...]]:
    """The grounds of each record that has some, by its place, with the word of the weak auditor; nothing is asked of anybody."""
    audited = {}
    for place, (call, record) in enumerate(zip(calls, records, strict=True)):
        if record.grounds:
            dimension = call.case.instance.dimension
            conclusions = conclusions_of(call, record)
            audited[place] = tuple(
                ground if conclusion is None else ground._replace(supported=say_by_words(dimension, conclusion))
                for ground, conclusion in zip(read_grounds(record.grounds), conclusions, strict=True)
            )
    return audited


def is_by_words(auditor: Judge) -> bool:
    """The auditor is the weak one, which is no model and of no family."""
    return isinstance(auditor.function, Lexical)


def plan_audits(auditor: Judge, calls: Sequence[Call], records: Sequence[Record]) -> dict[int, list[Case | None]]:
    """What to ask the auditor of each record that has grounds, by its place: a case for each group, None where there is nothing
    to ask. The same statement is the same case, whoever made it in whichever vote.
    """
    planned: dict[int, list[Case | None]] = {}
    for place, (call, record) in enumerate(zip(calls, records, strict=True)):
        if record.grounds:
            dimension, suite = call.case.instance.dimension, call.case.suite.name
            found = conclusions_of(call, record)
            planned[place] = [
                None if conclusion is None else audit_case(auditor, suite, dimension, conclusion)
                for conclusion in found
            ]
    return planned


def most_statements(case: Case) -> int:
    """How many statements one answer can make: of papers that are grouped, one of every two."""
    return max(1, len(case.instance.ideas) // 2)


def audit_case(auditor: Judge, suite: str, dimension: str, conclusion: Conclusion) -> Case:
    """What an auditor is asked about one statement."""
    name = digest_of(asked_of(dimension, conclusion), 8)
    instance = Instance(name, (), dimension=dimension, conclusion=conclusion)
    whole = Suite(
        f"{suite}.audit", "1", AUDITED_BY, "none", (instance,), {REFERENCE: AUDIT}, "", Path(f"{suite}.audit")
    )
    return Case(auditor, whole, AUDIT, instance)


def hear(record: Record, audits: Sequence[Record | None]) -> tuple[Ground, ...]:
    """A record's grounds with what the auditor said of each; None where it was not asked or did not answer."""
    return tuple(
        ground._replace(supported=opinion_in(audit))
        for ground, audit in zip(read_grounds(record.grounds), audits, strict=True)
    )


def opinion_in(audit: Record | None) -> bool | None:
    """What an auditor said; None if it was not asked or did not answer."""
    return None if audit is None else _SAID.get(audit.label or "")


_SAID: Final = {SUPPORTED: True, UNSUPPORTED: False}


def cites(protocol: str) -> bool:
    """Answers of the protocol make statements with evidence and a reason."""
    return protocol in _CITING


@lru_cache(maxsize=4096)  # the votes of a deterministic judge all say the same
def say_by_words(dimension: str, conclusion: Conclusion) -> bool:
    """What the weak auditor says."""
    request = Request("entailment", "", (), None, "reference", None, 0, 0, dimension=dimension, conclusion=conclusion)
    return bool(Lexical()(request)["supported"])
