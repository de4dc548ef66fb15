"""A judge of papers and an auditor of reasons without a model: put yours in the place of words that are compared."""

from itertools import combinations


def words(text):
    return {word.strip(".,").lower() for word in text.split() if len(word) > 4}


def myjudge(
    request,
):  # a paper has .title and .text, what is shown of it; request.dimension: "task", "problem" or "method"
    spans = [paper.text.split(". ")[0].rstrip(".") + "." for paper in request.papers]
    shared = {pair: words(spans[pair[0]]) & words(spans[pair[1]]) for pair in combinations(range(len(spans)), 2)}
    one, other = max(shared, key=lambda pair: len(shared[pair]))
    reason = f"In both the {request.dimension} is about {' and '.join(sorted(shared[one, other]))}."
    if request.protocol == "similarity":
        similar = bool(shared[one, other])
        return {"is_similar": similar, "evidence_a": spans[0], "evidence_b": spans[1], "reason": reason}
    evidence = {str(place + 1): spans[place] for place in (one, other)}  # papers are numbered from 1, as shown
    group = {"paper_indices": [one + 1, other + 1], "evidence": evidence, "reason": reason}
    return {"groups": [group] if shared[one, other] else []}


def myauditor(request):  # request.evidence: a span of each paper that the reason is about, two to ten
    shared = words(request.reason).intersection(*map(words, request.evidence))
    said = "every span has " + ", ".join(sorted(shared)) if shared else "no word of the reason is in every span"
    return {"supported": bool(shared), "critique": said}


myjudge.protocols, myauditor.protocols = ("similarity", "grouping"), ("entailment",)
for judge in (myjudge, myauditor):
    judge.version, judge.uses_prompt, judge.cost_usd_per_call = "1", False, 0.0


def pytest_novelty_judges():
    return {"myjudge": myjudge, "myauditor": myauditor}
