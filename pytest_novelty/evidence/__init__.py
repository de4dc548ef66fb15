"""Whether a judge's evidence stands in the text that the judge was shown: two matchers, and names for failures."""

from pytest_novelty.evidence.aligned import NEAR, VERBATIM, Haystack
from pytest_novelty.evidence.checking import (
    EMPTY,
    FAILURES,
    HALLUCINATED,
    MISSING,
    NOWHERE,
    OTHER_PAPER,
    REFERENCE_LIST,
    SCHEMA_ECHO,
    STATUSES,
    TITLE_ONLY,
    TOO_LITTLE,
    TOO_LONG,
    TOO_MANY_PARTS,
    Finding,
    Piece,
    Source,
    check_span,
)
from pytest_novelty.evidence.published import PublishedText

__all__ = [
    "EMPTY",
    "FAILURES",
    "HALLUCINATED",
    "MISSING",
    "NEAR",
    "NOWHERE",
    "OTHER_PAPER",
    "REFERENCE_LIST",
    "SCHEMA_ECHO",
    "STATUSES",
    "TITLE_ONLY",
    "TOO_LITTLE",
    "TOO_LONG",
    "TOO_MANY_PARTS",
    "VERBATIM",
    "Finding",
    "Haystack",
    "Piece",
    "PublishedText",
    "Source",
    "check_span",
]
