"""The offline baseline: how far an idea's words are from those of the earlier works that it is shown with, or how many papers
share.

It knows nothing and reads nothing, so it is what a language model has to beat before its price is worth paying.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from pytest_novelty.judges.overlap import judge_entailment, judge_grouping, judge_similarity
from pytest_novelty.judges.wording import nearest, weigh
from pytest_novelty.model import Request, ShownIdea, Work


class Lexical:
    """TF-IDF distance to the nearest earlier work. Parameters come from the variant's ``params`` (defaults in brackets).

    score: 1 - the highest cosine between the idea and an earlier work, in [0, 1].
    pointwise: novel iff the score reaches ``threshold`` (0.80, chosen on the embedded suite).
    pairwise: the idea with the higher score.
    Without earlier works there is nothing to measure: the judge abstains.
    similarity, grouping: papers whose words have a cosine of at least ``threshold`` (0.10, 0.10), their most similar sentences
    as evidence.
    entailment: supported iff ``threshold`` (0.45) of the reason's content words are in the spans.
    """

    version = "1"
    protocols = ("pointwise", "pairwise", "similarity", "grouping", "entailment")
    uses_prompt = False
    ignores = ("effort", "temperature")
    cost_usd_per_call = 0.0
    deterministic = True
    score_range = (0.0, 1.0)
    may_tie = True
    may_abstain = True

    def __call__(self, request: Request) -> dict[str, Any]:
        if request.dimension:
            judge, usual = _OF_PAPERS[request.protocol]
            return judge(request, request.params.get("threshold", usual))
        works = request.related_work
        if not works:
            key = "winner" if request.protocol == "pairwise" else "novel"
            return {key: None, "reason": "No earlier work is shown, so there is nothing to compare words with."}
        vectors = weigh([*map(_idea_text, request.ideas), *map(_work_text, works)])
        found = [nearest(vector, vectors[len(request.ideas) :]) for vector in vectors[: len(request.ideas)]]
        scores = [1.0 - cosine for cosine, _ in found]
        if request.protocol == "pairwise":
            return self._compare(scores, found, works)
        threshold = request.params.get("threshold", 0.80)
        return {
            "novel": scores[0] >= threshold,
            "score": scores[0],
            "reason": f"Word distance {scores[0]:.2f} to the nearest earlier work, "
            f"{_title(works[found[0][1]])}; novel from {threshold:g}.",
        }

    @staticmethod
    def _compare(scores: Sequence[float], found: Sequence[tuple[float, int]], works: Sequence[Work]) -> dict[str, Any]:
        reason = "; ".join(
            f"{letter}: word distance {score:.2f} to {_title(works[index])}"
            for letter, score, (_, index) in zip("AB", scores, found, strict=True)
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


_OF_PAPERS: Final[dict[str, tuple[Callable[[Request, float], dict[str, Any]], float]]] = {
    "similarity": (judge_similarity, 0.10),
    "grouping": (judge_grouping, 0.10),
    "entailment": (judge_entailment, 0.45),
}
"""How each is judged, and the threshold, which was chosen on the embedded suite."""
