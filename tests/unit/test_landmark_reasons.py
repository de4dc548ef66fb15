"""The reasons of ``landmarks-entailment``: what can be told without reading of whether each has the fault of its kind and no other.

Whether a reason follows from its spans has to be read. What is tested here are slips that readers found in earlier wordings.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import lru_cache
from types import SimpleNamespace
from typing import Any, Final, cast

import numpy as np
import pytest

from pytest_novelty.data import data_folder
from pytest_novelty.judges.overlap import judge_entailment
from tests.tells import words_of

KINDS: Final = ("moved", "beyond", "misdescribed", "wrong dimension", "too generic")
TIME: Final = re.compile(
    r"\b(earlier|later|older|newer|recent\w*|previous\w*|today|nowadays|[12]\d{3})\b", re.IGNORECASE
)
"""No span has a date, and the prompt forbids knowledge of the papers: which one came first cannot be said."""
MERIT: Final = re.compile(
    r"\b(good|better|simpler|faster|easier|convenient|improv\w+|efficient\w*|novel|new|accura\w+|robust\w*)\b",
    re.IGNORECASE,
)
NUMBER: Final = re.compile(
    r"\b(\d[\d.,]*|three|four|five|six|seven|eight|nine|ten|twenty|hundreds?|thousands?|millions?|half|quarters?)\b",
    re.IGNORECASE,
)
Row = dict[str, Any]


@lru_cache(maxsize=1)
def rows() -> tuple[Row, ...]:
    path = data_folder("suites") / "landmarks-entailment" / "instances.jsonl"
    return tuple(json.loads(line) for line in path.read_text(encoding="utf-8").splitlines())


@lru_cache(maxsize=1)
def pairs() -> dict[str, dict[str, Row]]:
    """By the spans: the reasons that they support as ``supported``, and the others by their kind."""
    found: dict[str, dict[str, Row]] = {}
    for row in rows():
        found.setdefault(row["strata"]["spans"], {})[row["strata"]["kind"]] = row
    return found


def of_kind(kind: str) -> list[tuple[Row, Row]]:
    """The supported reason and the other, on each pair of spans with this fault."""
    return [(pair["supported"], pair[kind]) for pair in pairs().values() if kind in pair]


def spans_of(row: Row) -> str:
    return f"{row['evidence_a']} {row['evidence_b']}".lower()


def unquoted(pattern: re.Pattern[str], row: Row) -> list[str]:
    """What the pattern finds in the reason and what is no word of the spans."""
    quoted = set(words_of(spans_of(row)))
    return [found for found in pattern.findall(row["reason"]) if found.lower() not in quoted]


def test_the_kinds_are_balanced() -> None:
    kinds = Counter(row["strata"]["kind"] for row in rows())
    assert kinds == {"supported": 40} | dict.fromkeys(KINDS, 8)
    assert Counter(pair["supported"]["dimension"] for pair in pairs().values()) == {
        "method": 20,
        "problem": 12,
        "task": 8,
    }
    for kind in KINDS:
        assert len({row["dimension"] for _, row in of_kind(kind)}) >= 2, kind


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_is_as_long_as_what_is_supported(kind: str) -> None:
    longer = [len(words_of(other["reason"])) - len(words_of(fine["reason"])) for fine, other in of_kind(kind)]
    assert abs(np.mean(longer)) <= 2
    assert max(map(abs, longer)) <= 7


def test_no_reason_says_which_paper_came_first() -> None:
    assert [(row["id"], TIME.findall(row["reason"])) for row in rows() if TIME.search(row["reason"])] == []


@pytest.mark.parametrize("pattern", [MERIT, NUMBER])
def test_only_claims_beyond_the_spans_have_merits_and_numbers_that_are_not_quoted(pattern: re.Pattern[str]) -> None:
    found = {row["id"]: unquoted(pattern, row) for row in rows() if row["strata"]["kind"] != "beyond"}
    assert {name: words for name, words in found.items() if words} == {}


def added(fine: Row, other: Row) -> set[str]:
    """The words that the other reason has and the supported one has not."""
    return set(words_of(other["reason"])) - set(words_of(fine["reason"]))


def test_what_is_moved_stands_in_one_span_alone() -> None:
    for fine, moved in of_kind("moved"):
        one, other = (set(words_of(moved[f"evidence_{side}"])) for side in "ab")
        words = added(fine, moved)
        assert max(len(words & (one - other)), len(words & (other - one))) >= 3, moved["id"]


def test_what_is_beyond_the_spans_is_not_moved() -> None:
    for fine, beyond in of_kind("beyond"):
        words = added(fine, beyond)
        assert len(words - set(words_of(spans_of(beyond)))) > len(words) / 2, beyond["id"]


def test_a_fault_is_not_that_words_are_missing() -> None:
    """The weakest of auditors, which counts the words that are in the spans, is hardly better than a coin."""
    assert np.mean([auditor_says(row) == row["gold"] for row in rows()]) <= 0.62


def auditor_says(row: Row) -> bool:
    conclusion = SimpleNamespace(reason=row["reason"], evidence=[row["evidence_a"], row["evidence_b"]])
    return bool(judge_entailment(cast(Any, SimpleNamespace(conclusion=conclusion)), 0.45)["supported"])
