"""Similarity, grouping and entailment: what an answer must say, which rules it may break and still be read, and what it means."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jsonschema
import pytest

from pytest_novelty.answers import ODDITIES, read_answer
from pytest_novelty.judges.base import Traits
from pytest_novelty.model import ABSTAINED, INCOMPLETE, INVALID, SCHEMA_VIOLATION, TIE, Failure, Group, Verdict, Vote
from pytest_novelty.prompts import resolve_prompt
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.protocols.citing import count_sentences
from pytest_novelty.protocols.grouping import groups_of, name_partition
from pytest_novelty.verdicts import NOT_SIMILAR, SIMILAR, SUPPORTED, UNSUPPORTED

SIMILARITY, GROUPING, ENTAILMENT = PROTOCOLS["similarity"], PROTOCOLS["grouping"], PROTOCOLS["entailment"]
MAY_ABSTAIN = Traits(may_abstain=True)
PROVED = {"is_similar": True, "evidence_a": "One.", "evidence_b": "Two.", "reason": "Both count."}


def group(*indices: Any, **changes: Any) -> dict[str, Any]:
    spans = {str(index): f"Span {index}." for index in indices}
    return {"paper_indices": list(indices), "evidence": spans, "reason": "They count.", **changes}


def read(name: str, value: dict[str, Any], traits: Traits = Traits(), shown: int = 4) -> Verdict | Failure:  # noqa: B008
    return PROTOCOLS[name].read(value, traits, shown)


# --- similarity -----------------------------------------------------------------------------------------------


def test_a_positive_verdict_is_a_group_of_two() -> None:
    found = read("similarity", PROVED)
    assert found == Verdict(
        SIMILAR, None, False, "Both count.", None, (Group((0, 1), ("One.", "Two."), "Both count."),)
    )
    assert read("similarity", {"is_similar": False}) == Verdict(NOT_SIMILAR)


@pytest.mark.parametrize(
    ("changes", "violations"),
    [
        ({"evidence_b": ""}, ("missing span",)),
        ({"evidence_a": " \n"}, ("missing span",)),
        ({"evidence_a": None, "reason": None}, ("missing span", "missing reason")),
        ({"reason": "One. Two. Three."}, ("long reason",)),
        ({"reason": "One. Two."}, ()),
        ({"reason": "x" * 1_000}, ()),
        ({"reason": "Hm. " * 300_000}, ("overlong reason",)),
        ({"evidence_a": "x" * 2_000}, ()),
        (
            {"evidence_a": "x" * 2_001, "evidence_b": "", "reason": ""},
            ("missing span", "overlong span", "missing reason"),
        ),
    ],
)
def test_a_rule_broken_by_a_positive_verdict_is_told(changes: dict[str, Any], violations: tuple[str, ...]) -> None:
    found = read("similarity", {**PROVED, **changes})
    assert isinstance(found, Verdict)
    assert (found.label, found.violations) == (SIMILAR, violations)
    assert read_answer({**PROVED, **changes}, SIMILARITY, Traits(), None, shown=2).extras.oddities == violations
    assert set(violations) <= set(ODDITIES)


def test_a_negative_verdict_needs_neither_spans_nor_a_reason() -> None:
    found = read(
        "similarity", {"is_similar": False, "evidence_a": "", "evidence_b": None, "reason": "One. Two. Three."}
    )
    assert isinstance(found, Verdict)
    assert (found.groups, found.violations) == ((), ())


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({}, "missing key"),
        ({"is_similar": "false"}, "wrong type"),
        ({"is_similar": 1}, "wrong type"),
        ({"is_similar": None}, "undeclared abstention"),
        ({**PROVED, "evidence_a": 3}, "wrong type"),
        ({**PROVED, "evidence_b": ["Two."]}, "wrong type"),
        ({**PROVED, "reason": {"text": "Both count."}}, "wrong type"),
        ({**PROVED, "confidence": "high"}, "wrong type"),
    ],
)
def test_what_is_no_verdict_on_similarity(value: dict[str, Any], kind: str) -> None:
    found = read("similarity", value)
    assert isinstance(found, Failure)
    assert (found.status, found.kind) == (SCHEMA_VIOLATION, kind)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("", 0),
        ("Both count", 1),
        ("Both count, e.g. Bloom filters. Neither sorts!", 2),
        ("A. Turing and J. Smith et al. agree (see Fig. 3).", 1),
        ("One rate is 0.5 and one 1.5 per cent. The other, too. And more", 3),
        ('"It counts." It says so.', 2),
    ],
)
def test_sentences_of_a_reason(text: str, count: int) -> None:
    assert count_sentences(text) == count


# --- grouping -------------------------------------------------------------------------------------------------


def test_groups_are_named_by_the_papers_that_were_shown() -> None:
    found = read("grouping", {"groups": [group(4, 1), group(3, 2)]})
    assert isinstance(found, Verdict)
    assert found.groups[0] == Group((0, 3), ("Span 1.", "Span 4."), "They count.")
    assert GROUPING.label_of(found, ("d", "c", "b", "a")) == '[["a","d"],["b","c"]]'
    assert GROUPING.label_of(Verdict(), ("a", "b")) == "[]"
    assert GROUPING.shown("ab", 4) == (0, 1, 2, 3)
    assert GROUPING.shown("ba", 4) == (1, 3, 2, 0)


@pytest.mark.parametrize("count", range(3, 11))
@pytest.mark.parametrize(
    "places",
    [
        lambda n: {0, n - 1},
        lambda n: {0, 1},
        lambda n: {n - 2, n - 1},
        lambda n: set(range(0, n, 2)),
        lambda n: set(range(n // 2)) if n > 3 else {0, 1},
    ],
    ids=["outer", "first", "last", "every second", "half"],
)
def test_who_goes_by_places_says_something_else_in_the_other_order(
    count: int, places: Callable[[int], set[int]]
) -> None:
    mixed = GROUPING.shown("ba", count)
    assert sorted(mixed) == list(range(count))
    assert {mixed[place] for place in places(count)} != places(count)


@pytest.mark.parametrize(
    ("groups", "kind"),
    [
        ([group(1, 5)], "index out of range"),
        ([group(0, 1)], "index out of range"),
        ([group(1, 2), group(2, 3)], "paper in two groups"),
        ([group(1)], "single-member group"),
        ([group()], "single-member group"),
        ([group(2, 2)], "paper twice in a group"),
        ([group(True, 2)], "wrong type"),
        ([group("1", 2)], "wrong type"),
        ([group(1.0, 2)], "wrong type"),
        ([[1, 2]], "wrong type"),
        ({"1": [1, 2]}, "wrong type"),
        ([{"evidence": {}}], "missing key"),
        ([group(1, 2, paper_indices=None)], "wrong type"),
        ([group(1, 2, evidence=["Span."])], "wrong type"),
        ([group(1, 2, evidence={"1": 7})], "wrong type"),
        ([group(1, 2, reason=7)], "wrong type"),
        (None, "undeclared abstention"),
    ],
)
def test_what_is_no_grouping(groups: Any, kind: str) -> None:
    found = read("grouping", {"groups": groups})
    assert isinstance(found, Failure)
    assert (found.status, found.kind) == (SCHEMA_VIOLATION, kind)


@pytest.mark.parametrize(
    ("changes", "violations"),
    [
        ({"evidence": {"1": "Span 1."}}, ("missing span",)),
        ({"evidence": None}, ("missing span",)),
        ({"evidence": {"1": "Span 1.", "2": "Span 2.", "3": "Span 3."}}, ("stray span",)),
        ({"evidence": {1: "Span 1.", 2: "Span 2."}}, ()),
        ({"reason": None}, ("missing reason",)),
    ],
)
def test_a_rule_broken_by_a_group_is_told(changes: dict[str, Any], violations: tuple[str, ...]) -> None:
    found = read("grouping", {"groups": [group(1, 2, **changes)]})
    assert isinstance(found, Verdict)
    assert found.violations == violations


@pytest.mark.parametrize(
    ("gold", "label"),
    [
        ([["b", "a"]], '[["a","b"]]'),
        ([["c"], ["b", "a"]], '[["a","b"]]'),
        ([], "[]"),
        ([["a", "e"]], None),
        ([["a", "b"], ["b", "c"]], None),
        (["a", "b"], None),
        ("[]", None),
    ],
)
def test_a_gold_partition(gold: Any, label: str | None) -> None:
    assert GROUPING.read_gold(gold, ("a", "b", "c")) == label


@pytest.mark.parametrize("label", ["", "null", "[[", '[["a","z"]]', '[["b","a"]]', '[["a"]]', "7", "[[1,2]]", "novel"])
def test_a_label_that_a_set_cannot_have(label: str) -> None:
    assert not GROUPING.has_label(label, ("a", "b", "c"))
    assert GROUPING.has_label('[["a","b"]]', ("a", "b", "c"))


def test_names_of_partitions_are_read_back() -> None:
    groups = (("a", "c"), ("b", "d"))
    assert groups_of(name_partition([("d", "b"), ("c", "a"), ("e",)])) == groups


# --- entailment -----------------------------------------------------------------------------------------------


def test_an_audit() -> None:
    assert read("entailment", {"supported": True, "critique": "Holds."}) == Verdict(SUPPORTED, reason="Holds.")
    assert read("entailment", {"supported": False}) == Verdict(UNSUPPORTED)
    assert read("entailment", {"supported": None}, MAY_ABSTAIN) == Verdict(abstained=True)
    for value in (
        {"supported": "false"},
        {"supported": 0},
        {},
        {"supported": None},
        {"supported": True, "critique": 1},
    ):
        assert isinstance(read("entailment", value), Failure)


# --- all of them ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("similarity", PROVED),
        ("similarity", {"is_similar": False}),
        ("grouping", {"groups": [group(1, 2), group(3, 4)]}),
        ("grouping", {"groups": []}),
        ("entailment", {"supported": False, "critique": "No."}),
    ],
)
def test_the_schemas_take_what_is_read(name: str, value: dict[str, Any]) -> None:
    jsonschema.validate(value, PROTOCOLS[name].answer_schema(Traits()))
    from pathlib import Path

    jsonschema.validate(value, resolve_prompt(f"{name}/reference", Path()).schema(Traits()))
    null = dict.fromkeys(value, None)
    jsonschema.validate(
        {PROTOCOLS[name].key: null.get(PROTOCOLS[name].key)}, PROTOCOLS[name].answer_schema(MAY_ABSTAIN)
    )


@pytest.mark.parametrize(
    ("ab", "ba", "outcome"),
    [
        ("111", "111", SIMILAR),
        ("111", "000", TIE),
        ("110", "100", TIE),
        ("110", "110", SIMILAR),
        ("000", "001", NOT_SIMILAR),
        ("111", "0--", TIE),
        ("111", "---", INCOMPLETE),
        ("???", "???", ABSTAINED),
        ("---", "---", INVALID),
    ],
)
def test_outcomes_of_similarity_weigh_both_orders_alike(ab: str, ba: str, outcome: str) -> None:
    labels = {"1": SIMILAR, "0": NOT_SIMILAR}
    votes = [
        Vote(order, sample, "unparsed" if letter == "-" else "ok", "", labels.get(letter), None, letter == "?")
        for order, letters in (("ab", ab), ("ba", ba))
        for sample, letter in enumerate(letters)
    ]
    assert SIMILARITY.aggregate(votes, ("x", "y"), ("ab", "ba")) == outcome


def test_the_partition_with_most_votes_is_the_outcome() -> None:
    one, other, third = '[["a","b"]]', "[]", '[["b","c"]]'
    votes = [Vote("ab", k, label=label) for k, label in enumerate((one, one, other))]
    votes += [Vote("ba", k, label=label) for k, label in enumerate((third, one, other))]
    assert GROUPING.aggregate(votes, ("a", "b", "c"), ("ab", "ba")) == one
    assert GROUPING.aggregate(votes[2:], ("a", "b", "c"), ("ab", "ba")) == other
    assert GROUPING.aggregate([votes[0], votes[3]], ("a", "b", "c"), ("ab", "ba")) == TIE


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("similarity", PROVED),
        ("similarity", {"is_similar": False, "reason": "No."}),
        ("grouping", {"groups": [group(1, 2), group(3, 4)]}),
        ("grouping", {"groups": []}),
        ("entailment", {"supported": False, "critique": "No."}),
        ("entailment", {"supported": True, "critique": ""}),
    ],
)
def test_a_verdict_object_says_what_its_dict_says(name: str, value: dict[str, Any]) -> None:
    verdict = read(name, value)
    assert isinstance(verdict, Verdict)
    again = read_answer(verdict, PROTOCOLS[name], Traits(), None, shown=4).verdict
    assert isinstance(again, Verdict)
    assert (again.label, again.groups, again.violations) == (verdict.label, verdict.groups, verdict.violations)
    abstained = read_answer(Verdict(abstained=True), PROTOCOLS[name], MAY_ABSTAIN, None, shown=4).verdict
    assert isinstance(abstained, Verdict)
    assert abstained.abstained
