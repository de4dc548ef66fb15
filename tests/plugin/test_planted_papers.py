"""The same for protocols that compare papers or audit reasons: for every metric a judge that must fail its gate, and one that must
pass it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty import evaluate
from pytest_novelty.model import Axes, Conclusion, Idea, Instance, Request, Suite, Variant
from pytest_novelty.results import Report
from pytest_novelty.verdicts import NOT_SIMILAR, SIMILAR, SUPPORTED, UNSUPPORTED

_N = 60
_KELP = "Kelp burns in the engine of the vessel."
_REASON = "Kelp burns in the engine of each vessel."
_BEYOND = "Both crews were paid twice as much by their harbours."

_Judge = Callable[[Request], dict[str, Any]]


def _paper(number: int, name: str, shared: bool) -> Idea:
    own = f"Number {number}{name} sails from harbour {number} to harbour {ord(name) + number}."
    return Idea(name, f"Vessel {number}{name}", f"{own} {_KELP if shared else 'It has sails of hemp.'}")


def make_suite(protocol: str) -> Suite:
    instances = []
    for number in range(_N):
        yes = number % 2 == 0
        if protocol == "entailment":
            reason = _REASON if yes else _BEYOND
            asked = Conclusion(SIMILAR, (f"{_KELP} It is boat {number}.", _KELP), reason)
            gold = SUPPORTED if yes else UNSUPPORTED
            instances.append(Instance(f"i{number:02}", (), gold, dimension="method", conclusion=asked))
            continue
        names = "ab" if protocol == "similarity" else "abcd"
        papers = tuple(_paper(number, name, yes and name in "ab") for name in names)
        gold = (SIMILAR if yes else NOT_SIMILAR) if protocol == "similarity" else ('[["a","b"]]' if yes else "[]")
        instances.append(Instance(f"i{number:02}", papers, gold, dimension="method"))
    variants = {"reference": Variant("reference", Axes(f"{protocol}/reference", votes=1))}
    return Suite(protocol, "1", protocol, "construction", tuple(instances), variants, "0" * 32, Path("s/suite.yaml"))


def planted(
    joins: Callable[[list[int], int], list[int]], span: Callable[[str], str] = lambda text: _KELP, reason: str = _REASON
) -> _Judge:
    """A judge of papers. ``joins``: of the places of papers that burn kelp and the number of papers, those to be joined."""

    def judge(request: Request) -> dict[str, Any]:
        kelp = [place for place, paper in enumerate(request.papers) if _KELP in paper.text]
        joined = joins(kelp, len(request.papers))
        spans = [span(paper.text) for paper in request.papers]
        if request.protocol == "grouping":
            evidence = {str(place + 1): spans[place] for place in joined}
            group = {"paper_indices": [place + 1 for place in joined], "evidence": evidence, "reason": reason}
            return {"groups": [group] if joined else []}
        cited = {"evidence_a": spans[0], "evidence_b": spans[1], "reason": reason}
        return {"is_similar": bool(joined), **(cited if joined else {})}

    judge.uses_prompt = False  # type: ignore[attr-defined]
    return judge


def _audits(says: Callable[[Request], bool]) -> _Judge:
    def judge(request: Request) -> dict[str, Any]:
        return {"supported": says(request)}

    judge.uses_prompt = False  # type: ignore[attr-defined]
    return judge


JUDGES: dict[str, _Judge] = {
    "perfect": planted(lambda kelp, count: kelp),
    "never": planted(lambda kelp, count: []),
    "always": planted(lambda kelp, count: list(range(count)), span=lambda text: text.split(". ")[0] + "."),
    "invents": planted(lambda kelp, count: kelp, span=lambda text: "Robots paint the hull at night."),
    "mute": planted(lambda kelp, count: kelp, span=lambda text: ""),
    "goes beyond": planted(lambda kelp, count: kelp, reason=_BEYOND),
    "baffles": planted(lambda kelp, count: kelp),
    "no reason": planted(lambda kelp, count: kelp, reason=""),
    "all, sound": planted(
        lambda kelp, count: list(range(count)),
        lambda text: text.split(". ")[0] + ".",
        "It sails from harbour to harbour.",
    ),
    "all, invents": planted(lambda kelp, count: list(range(count)), lambda text: "Robots paint the hull at night."),
    "all, mute": planted(lambda kelp, count: list(range(count)), lambda text: ""),
    "all, no reason": planted(lambda kelp, count: list(range(count)), lambda text: text.split(". ")[0] + ".", ""),
    "audits": _audits(lambda request: request.reason == _REASON),
    "believes all": _audits(lambda request: True),
    "doubts all": _audits(lambda request: False),
}

_BOTH = ("similarity", "grouping")
# gate, protocols, the judges that must pass it, those that must fail it
_GATES: list[tuple[str, tuple[str, ...], list[str], list[str]]] = [
    ("f1>=0.8", ("similarity",), ["perfect", "invents"], ["never", "always"]),
    ("precision>=0.8", ("similarity",), ["perfect"], ["always"]),
    ("recall>=0.8", ("similarity",), ["perfect", "always"], ["never"]),
    ("positive_accuracy>=0.8", ("similarity",), ["perfect", "always"], ["never"]),
    ("negative_accuracy>=0.8", ("similarity",), ["perfect", "never"], ["always"]),
    ("hallucination_rate<=0.2", _BOTH, ["perfect", "mute", "goes beyond"], ["invents"]),
    ("missing_evidence_rate<=0.2", _BOTH, ["perfect", "invents"], ["mute"]),
    ("mismatch_rate<=0.2", _BOTH, ["perfect"], ["goes beyond"]),
    ("grounded_f1>=0.8", _BOTH, ["perfect", "goes beyond"], ["invents", "mute", "never"]),
    ("verified_f1>=0.8", _BOTH, ["perfect"], ["goes beyond"]),
    ("verified_precision>=0.8", _BOTH, ["perfect"], ["goes beyond"]),
    ("verified_recall>=0.8", _BOTH, ["perfect"], ["goes beyond"]),
    ("missing_reason_rate<=0.2", _BOTH, ["perfect", "invents"], ["no reason"]),
    ("retained_share>=0.8", _BOTH, ["perfect"], ["goes beyond", "invents"]),
    ("hallucination_rate_false<=0.2", _BOTH, ["all, sound"], ["all, invents"]),
    ("missing_evidence_rate_false<=0.2", _BOTH, ["all, sound"], ["all, mute"]),
    ("missing_reason_rate_false<=0.2", _BOTH, ["all, sound"], ["all, no reason"]),
    ("mismatch_rate_false<=0.2", _BOTH, ["all, sound"], ["always"]),
    ("hallucination_rate_all<=0.2", _BOTH, ["perfect", "all, sound"], ["invents", "all, invents"]),
    ("missing_evidence_rate_all<=0.2", _BOTH, ["perfect", "all, sound"], ["mute", "all, mute"]),
    ("ungrounded_rate<=0.2", _BOTH, ["perfect", "goes beyond"], ["invents", "mute"]),
    ("ungrounded_rate_all<=0.2", _BOTH, ["perfect", "all, sound"], ["mute", "all, invents"]),
    ("verified_rate>=0.8", _BOTH, ["perfect"], ["goes beyond", "invents", "no reason"]),
    ("verified_rate_all>=0.8", _BOTH, ["perfect", "all, sound"], ["goes beyond", "all, mute"]),
    ("unchecked_rate<=0.2", _BOTH, ["perfect", "goes beyond", "invents"], ["baffles"]),
    ("unchecked_rate_all<=0.2", _BOTH, ["perfect", "all, sound"], ["baffles"]),
    ("missing_reason_rate_all<=0.2", _BOTH, ["perfect", "all, sound"], ["no reason"]),
    ("mismatch_rate_all<=0.2", _BOTH, ["perfect", "all, sound"], ["goes beyond"]),
    ("pair_f1>=0.8", ("grouping",), ["perfect", "invents"], ["never", "always"]),
    ("pair_precision>=0.8", ("grouping",), ["perfect"], ["always"]),
    ("pair_recall>=0.8", ("grouping",), ["perfect", "always"], ["never"]),
    ("adjusted_rand>=0.8", ("grouping",), ["perfect"], ["always", "never"]),
    ("kappa>=0.6", ("entailment",), ["audits"], ["believes all", "doubts all"]),
    ("f1>=0.8", ("entailment",), ["audits"], ["believes all"]),
]

NAMED = {re.split("[<>]", gate)[0] for gate, *_ in _GATES}

_UNDEFINED = [
    ("mismatch_rate<=0.9", "similarity", "invents"),  # nothing is left to audit
    ("precision>=0.1", "similarity", "never"),
    ("hallucination_rate<=0.9", "grouping", "never"),
    *(
        (gate, protocol, "never")
        for gate in ("ungrounded_rate<=0.9", "verified_rate>=0.1", "unchecked_rate<=0.9")
        for protocol in _BOTH
    ),
    ("verified_rate>=0.5", "similarity", "baffles"),
    ("verified_rate_all<=0.5", "grouping", "baffles"),
]

_REPORTS: dict[tuple[str, str], Report] = {}


def _baffled(request: Request) -> dict[str, Any]:
    raise RuntimeError("no idea")


_baffled.uses_prompt = False  # type: ignore[attr-defined]


def _run(judge: str, protocol: str, gates: list[str]) -> Report:
    auditor = _baffled if judge == "baffles" else None
    return evaluate({"planted": JUDGES[judge]}, make_suite(protocol), gates=gates, auditor=auditor)


def _decision(gate: str, protocol: str, judge: str) -> str:
    if (protocol, judge) not in _REPORTS:
        gates = dict.fromkeys(text for text, protocols, *_ in _GATES if protocol in protocols)
        _REPORTS[protocol, judge] = _run(judge, protocol, list(gates))
    found = [row for row in _REPORTS[protocol, judge].gates if row.gate.text == gate]
    if not found:
        found = _run(judge, protocol, [gate]).gates
    return found[0].decision


@pytest.mark.parametrize(
    ("gate", "protocol", "judge", "wanted"),
    [
        pytest.param(gate, protocol, judge, wanted, id=f"{gate}-{protocol}-{judge}-{wanted}")
        for gate, protocols, good, bad in _GATES
        for protocol in protocols
        for judge, wanted in [*((one, "pass") for one in good), *((one, "fail") for one in bad)]
    ],
)
def test_gate(gate: str, protocol: str, judge: str, wanted: str) -> None:
    assert _decision(gate, protocol, judge) == wanted


@pytest.mark.parametrize(("gate", "protocol", "judge"), _UNDEFINED)
def test_what_is_undefined_is_inconclusive(gate: str, protocol: str, judge: str) -> None:
    assert _decision(gate, protocol, judge) == "inconclusive"


def test_a_judge_that_follows_the_order_of_papers_is_seen() -> None:
    first_two = planted(lambda kelp, count: [0, 1], span=lambda text: text.split(". ")[0] + ".")
    report = evaluate({"first": first_two}, make_suite("grouping"))
    assert report.metric("order_inconsistency").value == 1.0
    assert evaluate({"perfect": JUDGES["perfect"]}, make_suite("grouping")).metric("order_inconsistency").value == 0.0
