"""Small words that turn a sentence round: a passive for an active, "or" for "and", "from" for "to"."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Final

_AXES: Final = tuple(
    {word: pole for pole, words in enumerate(axis) for word in words.split()}
    for axis in (
        ("under beneath underneath", "over"),
        ("within inside", "beyond outside"),
        ("until till", "since"),
        ("before", "after"),
        ("above", "below"),
        ("and", "or", "if"),
        ("because since", "although though", "if"),
        ("from", "to", "into"),
        ("for", "against"),
        ("with", "against"),
    )
)
"""Small words none of which may stand for one that says another thing."""
_BE: Final = frozenset("is are was were be been being am gets got".split())  # noqa: SIM905 - a list of words
_STEM: Final = 3


def are_exchanged(quoted: Sequence[str], source: Sequence[str]) -> bool:
    """A small word stands where the source has one that says another thing."""
    one, other = Counter(quoted), Counter(source)
    added, lost = one - other, other - one
    return any(
        axis[word] != axis[there] for axis in _AXES for word in added if word in axis for there in lost if there in axis
    )


def are_roles_exchanged(differences: Sequence[tuple[Sequence[str], Sequence[str]]]) -> bool:
    """Of pairs of quoted words and the source's: a passive with "by" on the one side only, so that who does it is done to."""
    agents = helpers = 0
    for quoted, source in differences:
        by = _count_by(quoted) - _count_by(source)
        if by and _inflected(quoted, source):
            return True
        agents += by
        helpers += sum(word in _BE for word in quoted) - sum(word in _BE for word in source)
    return agents * helpers > 0


def _count_by(words: Sequence[str]) -> int:
    return sum(word == "by" for word in words)


def _inflected(quoted: Sequence[str], source: Sequence[str]) -> bool:
    """Both have a verb in another form."""
    return any(
        one != other and len(one) > _STEM < len(other) and one[:_STEM] == other[:_STEM]
        for one in quoted
        for other in source
    )
