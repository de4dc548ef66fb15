"""What a judge says, and what it cites for it. No I/O, no third-party import."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, NamedTuple

SIMILAR: Final = "similar"
NOT_SIMILAR: Final = "not similar"
SUPPORTED: Final = "supported"
UNSUPPORTED: Final = "unsupported"

LONGEST_SPAN: Final = 2_000
LONGEST_REASON: Final = 1_000
"""Characters. One to three sentences and at most two have less; what is longer is not looked at."""

DIMENSIONS: Final = ("task", "problem", "method")
"""In which papers are compared."""


class Group(NamedTuple):
    """Papers that an answer says belong together, with its evidence. A positive verdict on two papers is a group of two.

    ``members``: positions as shown, from 0. ``evidence``: a span a member, empty where the answer has none.
    """

    members: tuple[int, ...]
    evidence: tuple[str, ...]
    reason: str = ""

    @property
    def auditable(self) -> bool:
        """There is a reason, and one that can be put to an auditor."""
        return len(self.reason) <= LONGEST_REASON and bool(self.reason.strip())


class Released(NamedTuple):
    """What the rules of a benchmark's release make of a group (profile as-published).

    ``classes``: of each member's span, one of ``evidence.published.CLASSES``, None where it is empty. ``supported``: what the
    auditor says of the reason beside the spans as the answer has them; None if it was not asked or did not answer.
    """

    classes: tuple[str | None, ...]
    supported: bool | None = None


class Ground(NamedTuple):
    """What became of the evidence of a group.

    ``members``: ids of papers. ``found``: a member's status, one of ``evidence.STATUSES``. ``failures``: why a span is not
    found, one of ``evidence.FAILURES``; empty where it is. ``has_reason``: whether there is anything to audit. ``supported``:
    what the auditor says of the reason; None if it was not asked or did not answer. ``released``: of suites that are scored
    as published, too; None where that is not known.
    """

    members: tuple[str, ...]
    found: tuple[str, ...]
    failures: tuple[str, ...]
    has_reason: bool
    supported: bool | None = None
    released: Released | None = None

    def told(self) -> dict[str, object]:
        """As a report has it: without what rules that are not ours make of it."""
        return {name: getattr(self, name) for name in TOLD_OF_GROUNDS}


class Invented(NamedTuple):
    """A span that is not in what was shown: of which paper, one of ``evidence.FAILURES``, and how the quotation begins."""

    paper: str
    failure: str
    quotation: str


TOLD_OF_GROUNDS: Final = ("members", "found", "failures", "has_reason", "supported")


@dataclass(frozen=True, slots=True)
class Conclusion:
    """What is to be audited: what was concluded of papers, the spans cited (one a paper, no more of them), and the reason."""

    verdict: str
    evidence: tuple[str, ...]
    reason: str

    def one_of_two(self, place: int) -> str:
        """A span of two. Raises AttributeError where there are more papers, of which two would be the wrong half."""
        if len(self.evidence) != 2:
            raise AttributeError(f"this reason is about {len(self.evidence)} papers: read request.evidence")
        return self.evidence[place]


@dataclass(frozen=True, slots=True)
class Document:
    """One item of an answer's ``retrieved`` list."""

    id: str = ""
    title: str = ""
    date: str | None = None


@dataclass(frozen=True, slots=True)
class Verdict:
    """A valid answer. ``label`` is ``novel``/``not novel`` (pointwise), ``A``/``B``/``tie`` (pairwise, as shown),
    ``similar``/``not similar``, ``supported``/``unsupported``; None with ``abstained`` set, where a pointwise judge gives only a
    score, and of a grouping, whose ``groups`` say it all.

    ``violations``: rules of the answer that it breaks and that leave it readable, such as a span that is missing.
    """

    label: str | None = None
    score: float | None = None
    abstained: bool = False
    reason: str = ""
    confidence: float | None = None
    groups: tuple[Group, ...] = ()
    violations: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """Why an answer is no verdict: the status of the call, the finer kind, and a sentence for a person."""

    status: str
    kind: str
    message: str
