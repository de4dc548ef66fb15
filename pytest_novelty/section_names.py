"""What the sections of papers are called, in letters alone and without their numbers."""

from __future__ import annotations

from typing import Final


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


REFERENCES: Final = _words(
    "references reference bibliography literature literaturecited referencescited workscited referencelist listofreferences "
    "referencesandnotes referencesnotes notesandreferences selectedreferences citedliterature furtherreading "
    "referencesandfurtherreading"
)
ABSTRACTS: Final = frozenset({"abstract", "summary"})
APPENDED: Final = _words(
    "acknowledgments acknowledgements acknowledgment acknowledgement ethicsstatement appendix appendices"
)
NAMES: Final = (
    REFERENCES
    | ABSTRACTS
    | APPENDED
    | _words(
        "introduction introductionandmotivation background motivation preliminaries relatedwork relatedworks priorwork "
        "method methods methodology approach ourapproach materialsandmethods model experiments experimentalsetup evaluation "
        "results resultsanddiscussion discussion analysis limitations conclusion conclusions conclusionandfuturework "
        "discussionandconclusion futurework"
    )
)
"""What an unnumbered line must say to be a heading, in letters alone."""
