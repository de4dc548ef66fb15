"""Reading and aggregating verdicts: the published table of cases, with the right behaviour where it names a flaw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jsonschema
import pytest

from pytest_novelty.errors import UnknownNameError
from pytest_novelty.model import (
    ABSTAINED,
    CORRECT,
    INCOMPLETE,
    INVALID,
    NOT_NOVEL,
    NOVEL,
    SCHEMA_VIOLATION,
    TIE,
    UNLABELLED,
    UNPARSED,
    WRONG,
    Failure,
    Verdict,
    Vote,
)
from pytest_novelty.protocols import PROTOCOLS, get_protocol
from pytest_novelty.protocols.base import result_of


@dataclass
class Powers:
    may_tie: bool = False
    may_abstain: bool = False
    score_range: tuple[float, float] | None = None


PLAIN, RICH = Powers(), Powers(may_tie=True, may_abstain=True, score_range=(0.0, 10.0))
LABELS = {"-": None, "?": None, "2": TIE}


def make_votes(order: str | None, letters: str, names: tuple[str, str]) -> list[Vote]:
    """``0``/``1`` the first or second *shown*, ``2`` a declared tie, ``-`` a failed call, ``?`` an abstention."""
    known = {"0": names[0], "1": names[1], **LABELS}
    return [
        Vote(order, sample, UNPARSED if letter == "-" else "ok", "", known[letter], None, letter == "?")
        for sample, letter in enumerate(letters)
    ]


@pytest.mark.parametrize(
    ("forward", "backward", "outcome"),
    [
        ("000", "111", "x"),
        ("111", "000", "y"),
        ("000", "000", TIE),  # always the first shown
        ("001", "100", TIE),
        ("001", "110", "x"),
        ("200", "100", "x"),
        ("000", "0--", TIE),  # the published rule says x: bias leaks in when calls of one order fail
        ("000", "---", INCOMPLETE),
        ("---", "1??", "incomplete"),
        ("---", "---", INVALID),
        ("???", "???", ABSTAINED),
        ("???", "??-", INVALID),
        ("222", "222", TIE),
        ("022", "222", "x"),
        ("0", "11111", "x"),
        ("0", "00111", "x"),
    ],
)
def test_pairwise_outcomes(forward: str, backward: str, outcome: str) -> None:
    votes = [*make_votes("ab", forward, ("x", "y")), *make_votes("ba", backward, ("y", "x"))]
    assert PROTOCOLS["pairwise"].aggregate(votes, ("x", "y"), ("ab", "ba")) == outcome


@pytest.mark.parametrize(
    ("letters", "outcome"),
    [
        ("110", NOVEL),
        ("100", NOT_NOVEL),
        ("1-0", TIE),  # the published rule says not novel
        ("1--", NOVEL),
        ("0??", NOT_NOVEL),
        ("---", INVALID),
        ("??-", INVALID),
        ("???", ABSTAINED),
        ("", INVALID),
    ],
)
def test_pointwise_outcomes(letters: str, outcome: str) -> None:
    votes = make_votes(None, letters, (NOT_NOVEL, NOVEL))
    assert PROTOCOLS["pointwise"].aggregate(votes, ("x",), (None,)) == outcome


def test_a_judge_that_only_scores_has_no_label() -> None:
    votes = [Vote(None, 0, score=0.5), Vote(None, 1, UNPARSED)]
    assert PROTOCOLS["pointwise"].aggregate(votes, ("x",), (None,)) is None


@pytest.mark.parametrize(
    ("protocol", "value", "powers", "expected"),
    [
        ("pairwise", {"winner": "A"}, PLAIN, "A"),
        ("pairwise", {"winner": "B", "reason": "r", "more": 1}, PLAIN, "B"),
        ("pairwise", {"winner": "tie"}, RICH, TIE),
        ("pairwise", {"winner": None}, RICH, None),
        ("pointwise", {"novel": True}, PLAIN, NOVEL),
        ("pointwise", {"novel": False, "score": 3}, PLAIN, NOT_NOVEL),
        ("pointwise", {"novel": None}, RICH, None),
        ("pointwise", {"score": 10}, RICH, None),
    ],
)
def test_valid_answers(protocol: str, value: dict[str, Any], powers: Powers, expected: str | None) -> None:
    verdict = PROTOCOLS[protocol].read(value, powers)
    assert isinstance(verdict, Verdict), verdict
    assert verdict.label == expected
    assert verdict.abstained is (value.get(PROTOCOLS[protocol].key, 0) is None)
    assert verdict.score == value.get("score")
    assert jsonschema.Draft202012Validator(PROTOCOLS[protocol].answer_schema(powers)).is_valid(value)


@pytest.mark.parametrize(
    ("protocol", "value", "powers", "kind"),
    [
        ("pairwise", {}, PLAIN, "missing key"),
        ("pairwise", {"winner": "tie"}, PLAIN, "undeclared tie"),
        ("pairwise", {"winner": None}, PLAIN, "undeclared abstention"),
        *(
            ("pairwise", {"winner": bad}, RICH, "wrong type")
            for bad in ("a", "C", "", 0, 1, True, ["A"], {"A": 1}, "x")
        ),
        ("pointwise", {}, PLAIN, "missing key"),
        ("pointwise", {"score": None}, PLAIN, "missing key"),
        ("pointwise", {"novel": None}, PLAIN, "undeclared abstention"),
        *(("pointwise", {"novel": bad}, RICH, "wrong type") for bad in ("false", "true", 0, 1, 1.0, [], "novel")),
        ("pointwise", {"novel": True, "score": 11}, RICH, "out of range"),
        ("pointwise", {"score": float("nan")}, PLAIN, "out of range"),
        ("pointwise", {"score": 10**400}, PLAIN, "out of range"),
        ("pointwise", {"score": True}, PLAIN, "wrong type"),
        ("pointwise", {"score": "7"}, PLAIN, "wrong type"),
        ("pointwise", {"novel": True, "confidence": "high"}, PLAIN, "wrong type"),
    ],
)
def test_invalid_answers(protocol: str, value: dict[str, Any], powers: Powers, kind: str) -> None:
    failure = PROTOCOLS[protocol].read(value, powers)
    assert isinstance(failure, Failure), failure
    assert (failure.status, failure.kind) == (SCHEMA_VIOLATION, kind)


@pytest.mark.parametrize(("order", "winner"), [("ab", "x"), ("ba", "y")])
def test_a_position_becomes_the_idea_that_was_shown_there(order: str, winner: str) -> None:
    protocol, ids = PROTOCOLS["pairwise"], ("x", "y")
    shown = tuple(ids[position] for position in protocol.shown(order, 2))
    assert protocol.label_of(Verdict("A"), shown) == winner
    assert protocol.label_of(Verdict("B"), shown) == ({*ids} - {winner}).pop()
    assert protocol.label_of(Verdict(TIE), shown) == TIE


def test_orders() -> None:
    assert PROTOCOLS["pairwise"].orders("both") == ("ab", "ba")
    assert PROTOCOLS["pairwise"].orders("ab") == ("ab",)
    assert PROTOCOLS["pointwise"].orders("both") == (None,)


@pytest.mark.parametrize(
    ("label", "gold", "result"),
    [
        ("x", "x", CORRECT),
        ("y", "x", WRONG),
        (TIE, "x", TIE),
        (ABSTAINED, "x", ABSTAINED),
        (INCOMPLETE, "x", INCOMPLETE),
        (INVALID, "x", INVALID),
        (None, "x", UNLABELLED),
        ("x", None, UNLABELLED),
        (INVALID, None, UNLABELLED),
    ],
)
def test_results(label: str | None, gold: str | None, result: str) -> None:
    assert result_of(label, gold) == result


def test_an_unknown_protocol_is_named_with_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'pairwise'"):
        get_protocol("pairwse")
