"""Errors say what, where and what to do, and survive the way between processes."""

from __future__ import annotations

import copy
import pickle
import re
from pathlib import Path

import pytest

from pytest_novelty import errors
from pytest_novelty.errors import NoveltyError, SuiteError, UnknownNameError, nearest


def tree(kind: type[NoveltyError]) -> list[type[NoveltyError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in tree(child))]


KINDS = [kind for kind in tree(NoveltyError) if kind.__module__ == errors.__name__]


def make(kind: type[NoveltyError]) -> NoveltyError:
    if issubclass(kind, UnknownNameError):
        return kind(
            "suite", "nme", ["name", "other"], also="Or a path", path=Path("a/suite.yaml"), line=3, instance="i"
        )
    return kind("is wrong", path=Path("a/suite.yaml"), line=3, instance="i", hint="Mend it")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("carry", [lambda error: pickle.loads(pickle.dumps(error)), copy.copy, copy.deepcopy])
def test_errors_survive_pickling_and_copying(carry: object, kind: type[NoveltyError]) -> None:
    error = make(kind)
    again = carry(error)  # type: ignore[operator]
    assert type(again) is kind
    assert str(again) == str(error)
    assert vars(again) == vars(error)
    assert again.args == error.args


@pytest.mark.parametrize("kind", KINDS)
def test_the_text_has_place_message_and_hint(kind: type[NoveltyError]) -> None:
    error = make(kind)
    assert str(error) == f"a/suite.yaml:3, instance 'i': {error.message}. {error.hint}"


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ({}, "is wrong"),
        ({"hint": "Mend it"}, "is wrong. Mend it"),
        ({"path": "f"}, "f: is wrong"),
        ({"path": "f", "line": 0}, "f:0: is wrong"),
        ({"instance": "i"}, "instance 'i': is wrong"),
        ({"path": "f", "instance": ""}, "f, instance '': is wrong"),
    ],
)
def test_parts_that_are_unknown_are_left_out(place: dict[str, object], text: str) -> None:
    assert str(SuiteError("is wrong", **place)) == text  # type: ignore[arg-type]


def test_a_message_of_others_with_a_full_stop_gets_no_second_one() -> None:
    assert str(SuiteError("the library says no.", hint="Mend it")) == "the library says no. Mend it"


def test_an_unknown_name_lists_what_is_known() -> None:
    error = UnknownNameError("judge", "Chanse", ["lexical", "chance", "chance"], also="Or module:attribute.")
    assert error.name == "Chanse"
    assert str(error) == "unknown judge 'Chanse'. Did you mean 'chance'? Known: chance, lexical. Or module:attribute."
    assert str(UnknownNameError("judge", "x", [])) == "unknown judge 'x'. Known: none"


@pytest.mark.parametrize(
    ("name", "found"), [("PairWise", "pairwise"), ("pairwse", "pairwise"), ("zzz", None), ("", None)]
)
def test_nearest(name: str, found: str | None) -> None:
    assert nearest(name, ["pairwise", "pointwise"]) == found


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = re.findall(r"^    ( [ |]*\+- |)(\w+)  +\S", errors.__doc__ or "", re.MULTILINE)
    assert [(len(lead) // 4, name) for lead, name in drawn] == [
        (len(kind.__mro__) - 4, kind.__name__) for kind in KINDS
    ]
    raised = {name for name, value in vars(errors).items() if isinstance(value, type) and issubclass(value, Exception)}
    assert raised == {name for _, name in drawn}
