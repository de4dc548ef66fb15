"""Content words and how they weigh: what the lexical judge knows of a language."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

_WORD: Final = re.compile(r"[^\W\d_]{3,}")
_STOP: Final = frozenset(
    """
    a about above after again all also an and any are as at be because been before being between both but by can could did do
    does doing down during each few for from further had has have having he her here his how if in into is it its itself more
    most no nor not of off on once only or other our out over own same she should so some such than that the their them then
    there these they this those through to too under until up very was we were what when where which while who whom why will
    with would you your may might must using used use one two
    """.split()  # noqa: SIM905 - a hundred quoted words would be harder to read
)


def weigh(texts: Sequence[str]) -> list[dict[str, float]]:
    """Unit TF-IDF vectors: sublinear term frequency, smoothed document frequency over the texts of one request.

    Terms are put in a canonical order for the sums, so that the order shown cannot change the last digit.
    """
    counts = [Counter(terms_of(text)) for text in texts]
    frequency = Counter(term for count in counts for term in count)
    total = len(counts)
    vectors = []
    for count in counts:
        weights = {
            term: (1.0 + math.log(n)) * (math.log((1 + total) / (1 + frequency[term])) + 1.0)
            for term, n in sorted(count.items())
        }
        norm = math.sqrt(math.fsum(weight * weight for weight in weights.values())) or 1.0
        vectors.append({term: weight / norm for term, weight in weights.items()})
    return vectors


def terms_of(text: str) -> list[str]:
    return [stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP]


def stem(word: str) -> str:
    """Plural and participle endings off, no more: enough to let 'keys' meet 'key'."""
    for ending in ("ies", "ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4 - (ending == "s"):
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word


def cosine(one: dict[str, float], other: dict[str, float]) -> float:
    """Of two unit vectors."""
    return min(math.fsum(one[term] * other[term] for term in sorted(one.keys() & other.keys())), 1.0)


def nearest(vector: dict[str, float], others: Sequence[dict[str, float]]) -> tuple[float, int]:
    """(cosine, index) of the most similar vector, the first of several."""
    cosines = [cosine(vector, other) for other in others]
    best = max(range(len(cosines)), key=cosines.__getitem__)
    return cosines[best], best
