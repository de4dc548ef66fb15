"""What the rules of a benchmark's release make of the evidence of answers (profile as-published), from what records keep.

Where the release differs from our check (``grounding``, ``auditing``): the whole paper is searched and not what was shown of it,
its title is text, an empty span passes, and the auditor reads the spans as the judge wrote them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from pytest_novelty.auditing import audit_case, say_by_words, verdict_in
from pytest_novelty.calls import Call, Case
from pytest_novelty.evidence.published import HALLUCINATION, PublishedText
from pytest_novelty.judges.base import Judge
from pytest_novelty.model import Conclusion, Ground, Group, Record
from pytest_novelty.profiles import AS_PUBLISHED
from pytest_novelty.verdicts import SIMILAR, Released


class Stated(NamedTuple):
    """One positive statement of an answer. ``classes``: of each span, in the order of the suite's papers. ``conclusion``: what
    the release would have audited of it, None where it would not.
    """

    classes: tuple[str | None, ...]
    conclusion: Conclusion | None


Statements = Mapping[int, Sequence[Stated]]
"""By the place of a record; a record whose answer was not kept is not there."""


def read_statements(calls: Sequence[Call], records: Sequence[Record]) -> dict[int, list[Stated]]:
    """The statements of all records of a case; none of a suite that is not scored as published."""
    found = {}
    for place, (call, record) in enumerate(zip(calls, records, strict=True)):
        if call.case.suite.profile == AS_PUBLISHED and (verdict := verdict_in(call, record)) is not None:
            found[place] = [_state(call, group) for group in verdict.groups]
    return found


def _state(call: Call, group: Group) -> Stated:
    ideas = {idea.id: place for place, idea in enumerate(call.case.instance.ideas)}
    rows = []
    for member, span in zip(group.members, group.evidence, strict=True):
        place = ideas[call.shown_ids[member]]
        paper = call.case.instance.ideas[place]
        rendering = "" if call.case.variant.axes.format == "text" else call.request.ideas[member].text
        text = _paper(paper.title, paper.text, paper.introduction, paper.full_text, rendering)
        rows.append((place, text.classify(span) if span.strip() else None))
    classes = tuple(kind for _, kind in sorted(rows, key=lambda row: row[0]))
    # A pair without spans is put to the auditor all the same, a group without any is not.
    has_evidence = call.case.suite.protocol == "similarity" or any(kind is not None for kind in classes)
    if HALLUCINATION in classes or not has_evidence or not group.auditable:
        return Stated(classes, None)
    return Stated(classes, Conclusion(SIMILAR, group.evidence, group.reason.strip()))


@lru_cache(maxsize=512)  # every vote and order of an instance asks again
def _paper(title: str, *parts: str) -> PublishedText:
    """All that the suite has of a paper, however much of it was shown."""
    return PublishedText("\n\n".join(filter(None, parts)), title)


def plan_release(auditor: Judge, calls: Sequence[Call], statements: Statements) -> dict[int, list[Case | None]]:
    """What to ask the auditor of each statement, as ``auditing.plan_audits`` does for ours."""
    return {
        place: [
            None
            if one.conclusion is None
            else audit_case(auditor, calls[place].case.suite.name, calls[place].case.instance.dimension, one.conclusion)
            for one in stated
        ]
        for place, stated in statements.items()
    }


def add_release(
    grounds: Mapping[int, tuple[Ground, ...]], statements: Statements, say: Callable[[int, int], bool | None]
) -> dict[int, tuple[Ground, ...]]:
    """The grounds of records, by place, with the release's rules beside ours. ``say``: what the auditor says of a statement, by
    the place of its record and its own.
    """

    def released(place: int) -> Iterator[Ground]:
        for number, (ground, one) in enumerate(zip(grounds[place], statements[place], strict=True)):
            supported = None if one.conclusion is None else say(place, number)
            yield ground._replace(released=Released(one.classes, supported))

    return {place: tuple(released(place)) if place in statements else own for place, own in grounds.items()}


def release_by_words(
    calls: Sequence[Call], records: Sequence[Record], grounds: Mapping[int, tuple[Ground, ...]]
) -> dict[int, tuple[Ground, ...]]:
    """The same with the word of the weak auditor; nothing is asked of anybody."""
    statements = read_statements(calls, records)

    def say(place: int, number: int) -> bool | None:
        conclusion = statements[place][number].conclusion
        dimension = calls[place].case.instance.dimension
        return None if conclusion is None else say_by_words(dimension, conclusion)

    return add_release(grounds, statements, say)
