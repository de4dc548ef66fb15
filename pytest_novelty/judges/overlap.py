"""The lexical baseline where papers are compared: words in common decide, and the most similar sentences are the evidence.

It cannot tell one dimension from another, and quotes whatever is alike: what a judge that reads has to beat.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import Any, Final

from pytest_novelty.evidence.splitting import split_sentences
from pytest_novelty.judges.wording import cosine, terms_of, weigh
from pytest_novelty.model import Request, ShownIdea

_MOST_WORDS: Final = 4
"""In a reason."""
_SAID_OF_PAPERS: Final = frozenset(
    terms_of("papers paper authors work works approach share shares same similar common speak name")
)
"""What reasons say whatever they are about."""

Vector = dict[str, float]


def judge_similarity(request: Request, threshold: float) -> dict[str, Any]:
    """Similar iff the cosine of the two papers' content words reaches the threshold."""
    vectors = weigh([_text(paper) for paper in request.papers])
    found = cosine(*vectors)
    if found < threshold:
        return {"is_similar": False, "reason": f"Their words have a cosine of {found:.2f}; similar from {threshold:g}."}
    sentences = _closest(request.papers)
    return {
        "is_similar": True,
        "evidence_a": sentences[0],
        "evidence_b": sentences[1],
        "reason": _reason(sentences),
    }


def judge_grouping(request: Request, threshold: float) -> dict[str, Any]:
    """Papers are joined, the most alike first, as long as two groups' papers have a mean cosine that reaches the threshold.

    Which papers come first makes no difference.
    """
    vectors = weigh([_text(paper) for paper in request.papers])
    cosines = {(one, two): cosine(vectors[one], vectors[two]) for one, two in combinations(range(len(vectors)), 2)}
    groups = [[place] for place in sorted(range(len(vectors)), key=lambda place: _text(request.papers[place]))]
    while len(groups) > 1:
        means = {
            (one, two): math.fsum(cosines[min(a, b), max(a, b)] for a in groups[one] for b in groups[two])
            / (len(groups[one]) * len(groups[two]))
            for one, two in combinations(range(len(groups)), 2)
        }
        one, two = max(means, key=means.__getitem__)
        if means[one, two] < threshold:
            break
        groups[one] += groups.pop(two)
    answers = []
    for members in sorted(sorted(group) for group in groups if len(group) > 1):
        sentences = _closest([request.papers[member] for member in members])
        evidence = {str(member + 1): sentence for member, sentence in zip(members, sentences, strict=True)}
        answers.append(
            {"paper_indices": [member + 1 for member in members], "evidence": evidence, "reason": _reason(sentences)}
        )
    return {"groups": answers}


def judge_entailment(request: Request, threshold: float) -> dict[str, Any]:
    """Supported iff enough of the reason's content words are in the spans."""
    assert request.conclusion is not None
    said = sorted(set(terms_of(request.conclusion.reason)) - _SAID_OF_PAPERS)
    quoted = {term for span in request.conclusion.evidence for term in terms_of(span)}
    absent = [term for term in said if term not in quoted]
    if not said:
        return {"supported": False, "critique": "The reason has no content word that could be looked for."}
    share = 1.0 - len(absent) / len(said)
    told = f": not {', '.join(absent[:_MOST_WORDS])}" if absent else ""
    critique = f"{share:.0%} of the reason's words are in the quotations{told}; supported from {threshold:.0%}."
    return {"supported": share >= threshold, "critique": critique}


def _text(paper: ShownIdea) -> str:
    return f"{paper.title}\n{paper.text}"


def _closest(papers: Sequence[ShownIdea]) -> list[str]:
    """Of each paper the sentence that is most like some sentence of the others: of two papers the most similar pair."""
    sentences = [split_sentences(paper.text) or [paper.text] for paper in papers]
    vectors = weigh([sentence for own in sentences for sentence in own])
    split: list[list[Vector]] = []
    for own in sentences:
        split.append(vectors[: len(own)])
        vectors = vectors[len(own) :]
    if len(papers) == 2:
        pairs = {(a, b): cosine(one, two) for a, one in enumerate(split[0]) for b, two in enumerate(split[1])}
        best = max(pairs, key=lambda pair: (pairs[pair], sentences[0][pair[0]], sentences[1][pair[1]]))
        return [sentences[0][best[0]], sentences[1][best[1]]]
    chosen = []
    for place, own in enumerate(sentences):
        others = [vector for other, rest in enumerate(split) if other != place for vector in rest]
        scores = [max(cosine(vector, other) for other in others) for vector in split[place]]
        chosen.append(max(zip(scores, own, strict=True))[1])
    return chosen


def _reason(sentences: Sequence[str]) -> str:
    """The content words that the sentences have in common, those first that all of them have."""
    terms = [set(terms_of(sentence)) for sentence in sentences]
    counts = {term: sum(term in own for own in terms) for term in set().union(*terms)}
    shared = sorted((term for term, count in counts.items() if count > 1), key=lambda term: (-counts[term], term))
    words = shared[:_MOST_WORDS]
    return f"They speak of {', '.join(words)}." if words else "Their words are alike on the whole."
