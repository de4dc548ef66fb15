"""The evidence of an answer, held against what the judge was shown, and against nothing else."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_novelty.calls import Call
from pytest_novelty.digests import canonical_json
from pytest_novelty.model import Ground, Group, Verdict

if TYPE_CHECKING:
    from pytest_novelty.evidence import Finding, Haystack, Source


def check_grounds(call: Call, verdict: Verdict) -> tuple[Ground, ...]:
    """What became of the evidence of each group of an answer, whose members come in the order of the suite."""
    return tuple(_ground(call, group, findings) for group, findings in find_evidence(call, verdict))


def find_evidence(call: Call, verdict: Verdict) -> list[tuple[Group, list[Finding]]]:
    """Each group of an answer, with a finding for every member's span."""
    if not verdict.groups:
        return []
    ideas = {idea.id: idea for idea in call.case.instance.ideas}
    sources = [
        _source(shown.title, shown.text, ideas[name].full_text)
        for shown, name in zip(call.request.ideas, call.shown_ids, strict=True)
    ]
    instructions = _instructions(_own_words(call))
    found = []
    for group in verdict.groups:
        findings = []
        for member, span in zip(group.members, group.evidence, strict=True):
            others = tuple(source for place, source in enumerate(sources) if place != member)
            findings.append(_check(span, sources[member], others, instructions))
        found.append((group, findings))
    return found


def _ground(call: Call, group: Group, findings: list[Finding]) -> Ground:
    places = {idea.id: place for place, idea in enumerate(call.case.instance.ideas)}
    rows = sorted(
        (places[call.shown_ids[member]], call.shown_ids[member], finding.status, finding.failure)
        for member, finding in zip(group.members, findings, strict=True)
    )
    _, members, found, failures = zip(*rows, strict=True)
    return Ground(members, found, failures, group.auditable)


@lru_cache(
    maxsize=256
)  # the auditor's questions ask again what the answer's check found, and so do votes that say the same
def _check(span: str, source: Source, others: tuple[Source, ...], instructions: Haystack | None) -> Finding:
    from pytest_novelty.evidence import check_span

    return check_span(span, source, others=others, instructions=instructions)


@lru_cache(maxsize=512)  # every vote and order of an instance asks again
def _source(title: str, text: str, full_text: str) -> Source:
    from pytest_novelty.evidence import Source

    return Source.of_paper(title, text, full_text) if full_text else Source(title, text)


def _own_words(call: Call) -> str:
    """The messages without the papers: what an echo of the prompt would be taken from."""
    words = "\n".join(message["content"] for message in call.request.messages)
    for idea in call.request.ideas:
        for text in (idea.text, idea.title):
            words = words.replace(text, "\n") if text else words
    return words


@lru_cache(maxsize=64)
def _instructions(words: str) -> Haystack | None:
    from pytest_novelty.evidence import Haystack

    return Haystack(words) if words else None


# --- as text ------------------------------------------------------------------------------------------------


def write_grounds(grounds: tuple[Ground, ...]) -> str:
    """As a record keeps them; empty where there are none. The auditor's word is no part of it: it is a record of its own."""
    return canonical_json([ground[:4] for ground in grounds]) if grounds else ""


def read_grounds(text: str) -> tuple[Ground, ...]:
    """What :func:`write_grounds` wrote. Raises ValueError for anything else, also for a status or failure that is none."""
    if not text:
        return ()
    try:
        return tuple(_read_ground(*row) for row in json.loads(text))
    except (TypeError, RecursionError):
        raise ValueError("no grounds") from None


def _read_ground(members: list[str], found: list[str], failures: list[str], has_reason: bool) -> Ground:
    if not len(members) == len(found) == len(failures):
        raise ValueError("not as many of each")
    from pytest_novelty.evidence import FAILURES, NEAR, STATUSES, VERBATIM

    for status, failure in zip(found, failures, strict=True):
        if status not in STATUSES:
            raise ValueError(f"a span is one of {', '.join(STATUSES)}, not {str(status)[:30]!r}")
        if (failure not in FAILURES) if status not in (VERBATIM, NEAR) else failure:
            raise ValueError(f"a span that is {status} does not fail as {str(failure)[:30]!r}")
    return Ground(tuple(map(str, members)), tuple(map(str, found)), tuple(map(str, failures)), bool(has_reason))
