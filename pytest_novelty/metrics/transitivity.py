"""Does a judge contradict itself over three ideas? Only for pairs that were designed as closed triads."""

from __future__ import annotations

from pytest_novelty.metrics.intervals import clopper_pearson
from pytest_novelty.metrics.view import Estimate, View

STRATUM = "triad"
_FIRST, _SECOND = 0, 1


def cyclic_triads(view: View) -> Estimate:
    """Share of the triads whose three pairs are decided in which each idea beats one of the others; ``n``: such triads.

    0 for a judge that ranks ideas, 1/4 for a coin. Clopper-Pearson, triads taken as independent. Triads are the values of the
    stratum ``triad``; one that lacks a pair in this run, or a verdict, is left out.
    """
    winners: dict[str, list[tuple[str, str]]] = {}
    ideas: dict[str, set[tuple[str, str]]] = {}
    for instance, code in zip(view.instances, view.label_codes, strict=True):
        name = instance.strata.get(STRATUM)
        if name is None:
            continue
        first, second = ((idea.title, idea.text) for idea in instance.ideas)
        ideas.setdefault(name, set()).update((first, second))
        won = winners.setdefault(name, [])
        if code in (_FIRST, _SECOND):
            won.append(first if code == _FIRST else second)
    decided = [won for name, won in winners.items() if len(won) == len(ideas[name]) == 3]
    if not decided:
        return Estimate.undefined("no closed triad has three decided pairs")
    cyclic = sum(len(set(won)) == 3 for won in decided)
    left_out = len(winners) - len(decided)
    note = "a coin's are 25 %" + (f"; {left_out} triads with an undecided pair left out" if left_out else "")
    interval = clopper_pearson(cyclic, len(decided), view.level)
    assert interval is not None
    return Estimate(cyclic / len(decided), interval.low, interval.high, len(decided), interval.method, note)
