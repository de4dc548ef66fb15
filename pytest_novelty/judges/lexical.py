"""The offline baseline: how far an idea's words are from the words of the earlier works that it is shown with.

It knows nothing and reads nothing, so it is what a language model has to beat before its price is worth paying.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from pytest_novelty.model import Request, ShownIdea, Work

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


class Lexical:
    """TF-IDF distance to the nearest earlier work. Parameters come from the variant's ``params`` (defaults in brackets).

    score: 1 - the highest cosine between the idea and an earlier work, in [0, 1].
    pointwise: novel iff the score reaches ``threshold`` (0.80, chosen on the embedded suite).
    pairwise: the idea with the higher score.
    Without earlier works there is nothing to measure: the judge abstains.
    """

    version = "1"
    protocols = ("pointwise", "pairwise")
    uses_prompt = False
    ignores = ("effort", "temperature")
    cost_usd_per_call = 0.0
    deterministic = True
    score_range = (0.0, 1.0)
    may_tie = True
    may_abstain = True

    def __call__(self, request: Request) -> dict[str, Any]:
        works = request.related_work
        if not works:
            key = "winner" if request.protocol == "pairwise" else "novel"
            return {key: None, "reason": "No earlier work is shown, so there is nothing to compare words with."}
        vectors = _vectors([_idea_text(idea) for idea in request.ideas], [_work_text(work) for work in works])
        nearest = [_nearest(vector, vectors[len(request.ideas) :]) for vector in vectors[: len(request.ideas)]]
        scores = [1.0 - cosine for cosine, _ in nearest]
        if request.protocol == "pairwise":
            return self._compare(scores, nearest, works)
        threshold = request.params.get("threshold", 0.80)
        return {
            "novel": scores[0] >= threshold,
            "score": scores[0],
            "reason": f"Word distance {scores[0]:.2f} to the nearest earlier work, "
            f"{_title(works[nearest[0][1]])}; novel from {threshold:g}.",
        }

    @staticmethod
    def _compare(
        scores: Sequence[float], nearest: Sequence[tuple[float, int]], works: Sequence[Work]
    ) -> dict[str, Any]:
        reason = "; ".join(
            f"{letter}: word distance {score:.2f} to {_title(works[index])}"
            for letter, score, (_, index) in zip("AB", scores, nearest, strict=True)
        )
        if abs(scores[0] - scores[1]) < 1e-9:
            return {"winner": "tie", "reason": reason}
        return {"winner": "A" if scores[0] > scores[1] else "B", "reason": reason}


def _idea_text(idea: ShownIdea) -> str:
    return f"{idea.title}\n{idea.text}"


def _work_text(work: Work) -> str:
    return f"{work.title}\n{work.text}"


def _title(work: Work) -> str:
    return f'"{work.title}"' if work.year is None else f'"{work.title}" ({work.year})'


def _vectors(ideas: Sequence[str], works: Sequence[str]) -> list[dict[str, float]]:
    """Unit TF-IDF vectors: sublinear term frequency, smoothed document frequency over the texts of one request.

    Works and ideas are put in a canonical order for the sums, so that the order shown cannot change the last digit.
    """
    counts = [Counter(_terms(text)) for text in (*ideas, *works)]
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


def _terms(text: str) -> list[str]:
    return [_stem(word) for word in _WORD.findall(text.lower()) if word not in _STOP]


def _stem(word: str) -> str:
    """Plural and participle endings off, no more: enough to let 'keys' meet 'key'."""
    for ending in ("ies", "ing", "ed", "es", "s"):
        if word.endswith(ending) and len(word) - len(ending) >= 4 - (ending == "s"):
            return word[: -len(ending)] + ("y" if ending == "ies" else "")
    return word


def _nearest(vector: dict[str, float], others: Sequence[dict[str, float]]) -> tuple[float, int]:
    """(cosine, index) of the most similar vector."""
    cosines = [math.fsum(weight * other.get(term, 0.0) for term, weight in vector.items()) for other in others]
    best = max(range(len(cosines)), key=cosines.__getitem__)
    return min(cosines[best], 1.0), best
