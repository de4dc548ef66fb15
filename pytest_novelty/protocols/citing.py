"""What answers with evidence share: spans and reasons, and the rules for them that an answer may break and still be read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from pytest_novelty.model import Failure, Json
from pytest_novelty.protocols.base import describe, violates
from pytest_novelty.verdicts import LONGEST_REASON, LONGEST_SPAN

MISSING_SPAN: Final = "missing span"
MISSING_REASON: Final = "missing reason"
LONG_REASON: Final = "long reason"
OVERLONG_SPAN: Final = "overlong span"
OVERLONG_REASON: Final = "overlong reason"
STRAY_SPAN: Final = "stray span"
VIOLATIONS: Final = {
    MISSING_SPAN: "cited no evidence for a paper of a positive verdict",
    MISSING_REASON: "gave no reason for a positive verdict",
    LONG_REASON: "gave a reason of more than two sentences",
    OVERLONG_SPAN: f"cited a span of more than {LONGEST_SPAN:,} characters, which is not looked for",
    OVERLONG_REASON: f"gave a reason of more than {LONGEST_REASON:,} characters, which is not audited",
    STRAY_SPAN: "cited a paper that is no member of the group; that span counts for nothing",
}
"""What an answer may break and still be read: the verdict stands, and its evidence is missing. Counted, never repaired."""

_MOST_SENTENCES: Final = 2
_SENTENCE_END: Final = re.compile(
    r"(?<!\be\.g)(?<!\bi\.e)(?<!\bcf)(?<!\bvs)(?<!\bal)(?<!\bFig)(?<!\bEq)(?<!\bSec)(?<!\b[A-Z])[.!?]+[\"')\]\u201d\u2019]*"
    r"(?=\s+[\"'(\[\u201c\u2018]*[A-Z0-9]|\s*\Z)"
)


def read_span(value: Mapping[str, Json], key: str, where: str = "") -> str | Failure:
    """The text under ``key``; empty where it is left out or null."""
    span = value.get(key)
    if span is None:
        return ""
    if not isinstance(span, str):
        return violates(f"{where}{key} must be a text, not {describe(span)}")
    return span


def broken_rules(spans: tuple[str, ...], reason: str) -> tuple[str, ...]:
    """The violations of a positive statement."""
    broken = []
    if not all(span.strip() for span in spans):
        broken.append(MISSING_SPAN)
    if any(len(span) > LONGEST_SPAN for span in spans):
        broken.append(OVERLONG_SPAN)
    if not reason.strip():
        broken.append(MISSING_REASON)
    elif len(reason) > LONGEST_REASON:  # counting its sentences would take long
        broken.append(OVERLONG_REASON)
    elif count_sentences(reason) > _MOST_SENTENCES:
        broken.append(LONG_REASON)
    return tuple(broken)


def count_sentences(text: str) -> int:
    """About: an end behind an abbreviation or an initial is none, text behind the last end is a sentence."""
    ends = list(_SENTENCE_END.finditer(text))
    rest = text[ends[-1].end() :] if ends else text
    return len(ends) + bool(rest.strip())
