"""A made judge of papers, right in every verdict and not always for a true reason: what the grounding cascade tells apart.

It knows the labels of ``landmarks-similarity`` from the suite's own file, which no honest judge may, so that nothing but its
evidence can be wrong. Of each paper it quotes a sentence that says what the paper is about. Of ten positive verdicts, by the
request's seed, about two cite a sentence that stands in no paper, one cites nothing, and three claim more than their sentences
say; the rest claim what both sentences say, as far as the auditor without a model (``lexical``) can see it.
"""

import random

from pytest_novelty.suites import embedded_suites, load_suite

SIMILAR = {
    (instance.dimension, frozenset(idea.title for idea in instance.ideas))
    for instance in load_suite(embedded_suites()["landmarks-similarity"]).instances
    if instance.gold == "similar"
}
INVENTED = "The experiments were repeated on three further corpora with the same outcome."
BEYOND = "Both teams later extended the approach to distributed clusters of commodity machines, halving energy costs."


def sentence(paper):
    """The longest of its sentences."""
    return max((part.strip().rstrip(".") + "." for part in paper.text.split(". ")), key=len)


def myjudge(request):
    papers = request.papers
    if (request.dimension, frozenset(paper.title for paper in papers)) not in SIMILAR:
        return {"is_similar": False}
    spans = [sentence(paper) for paper in papers]
    reason = f"One says: {spans[0].rstrip('.')}; the other says: {spans[1]}"
    fault = random.Random(request.seed).random()
    if fault < 0.2:
        spans[1] = INVENTED
    elif fault < 0.3:
        spans[1] = ""
    elif fault < 0.6:
        reason = BEYOND
    return {"is_similar": True, "evidence_a": spans[0], "evidence_b": spans[1], "reason": reason}


myjudge.version = "1"
myjudge.uses_prompt = False  # it reads request.papers and request.dimension
myjudge.protocols = ("similarity",)
myjudge.cost_usd_per_call = 0.0


def pytest_novelty_judges():
    return {"myjudge": myjudge}
