"""Partitions of two sides: how far apart they are beyond each side's own noise, and the exchange of whole partitions."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from pytest_novelty.metrics import exchange
from pytest_novelty.metrics.exchange import Request, excess_of_takes, null_of_excess, null_of_requests
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.regrouping import TOO_FEW_VOTES_NOTE, find_regrouping, pairs_shift
from pytest_novelty.metrics.stability import excess
from pytest_novelty.metrics.view import View


def pair_of(make_groupings: Callable[..., View], after: Sequence[str], before: Sequence[str]) -> Pair:
    return Pair(make_groupings(after), make_groupings(before))


def two_labels(votes: str, other: str) -> Request:
    said = votes + other
    return Request(np.array([[float(a != b) for b in said] for a in said]), len(votes), 1)


@pytest.mark.parametrize(("votes", "other"), [("xxy", "yyy"), ("xyxy", "xx"), ("xxx", "xxx"), ("xy", "xyy")])
def test_with_labels_alone_it_is_the_excess_flip(votes: str, other: str) -> None:
    counts = [np.array([side.count("x"), side.count("y")]) for side in (votes, other)]
    request = two_labels(votes, other)
    first = np.arange(len(votes + other))[None] < len(votes)
    assert excess_of_takes(request.distances, first) == pytest.approx(float(excess(*counts)))


def test_with_labels_alone_it_is_the_exchange_test() -> None:
    rng = random.Random(3)
    sides = [["".join(rng.choice("xxy") for _ in range(3)) for _ in range(12)] for _ in range(2)]
    counts = [np.array([[[word.count("x"), word.count("y"), 0]] for word in side]) for side in sides]
    exact, drawn = null_of_excess(*counts), null_of_requests(list(map(two_labels, *sides)), 12)
    assert exact is not None
    assert drawn is not None
    assert (exact.exact, drawn.exact, drawn.n) == (True, False, 12)
    for observed in (-0.1, 0.0, 0.05, 0.1):
        assert drawn.tail(observed) == pytest.approx(exact.tail(observed), abs=0.02)


def test_the_shift_is_of_pairs_of_papers(make_groupings: Callable[..., View]) -> None:
    """One paper of four leaves a group of three: two of six pairs come apart, always."""
    pair = pair_of(make_groupings, ["aa..,aa.. aa..,aa.."] * 12, ["aaa.,aaa. aaa.,aaa."] * 12)
    shift = pairs_shift(pair)
    assert shift.value == pytest.approx((2 / 6) ** 0.5)
    causes = find_regrouping(pair)
    assert causes.moved is not None
    assert causes.moved < 1e-4
    assert causes.silenced == 1.0


def test_all_alike_is_no_evidence(make_groupings: Callable[..., View]) -> None:
    causes = find_regrouping(pair_of(make_groupings, ["aa.,aa. aa.,aa."] * 9, ["aa.,aa. aa.,aa."] * 9))
    assert (causes.moved, causes.method) == (1.0, "exact")


def test_a_judge_that_never_repeats_itself_is_still_told_apart(make_groupings: Callable[..., View]) -> None:
    """No two votes on a set are the same partition: what counts are the pairs."""
    before = ["aaabb...,aaab.b..,aaab..b. aaabb...,aaab.b..,aaab..b."] * 6
    after = ["bb...aaa,b.b..aaa,b..b.aaa bb...aaa,b.b..aaa,b..b.aaa"] * 6
    assert (find_regrouping(pair_of(make_groupings, after, before)).moved or 1.0) < 0.001
    assert (find_regrouping(pair_of(make_groupings, before, before)).moved or 0.0) > 0.2


def test_one_vote_says_nothing_of_noise(make_groupings: Callable[..., View]) -> None:
    pair = pair_of(make_groupings, ["aa. ..."] * 3, ["... aa."] * 3)
    assert (pairs_shift(pair).value, pairs_shift(pair).note) == (None, TOO_FEW_VOTES_NOTE)
    assert find_regrouping(pair).moved is None
    partly = pair_of(make_groupings, ["aa. ...", "aa.,aa. aa.,-"], ["... aa.", "aa.,aa. aa.,aa."])
    left_out = "1 instances with fewer than two valid votes of a request left out"
    assert pairs_shift(partly).note == f"over pairs of papers; {left_out}"


def test_votes_that_fail_are_lost(make_groupings: Callable[..., View]) -> None:
    pair = pair_of(make_groupings, ["aa.,- aa.,?"] * 9, ["aa.,aa. aa.,aa."] * 9)
    assert pair.lost_share == 0.5
    assert (find_regrouping(pair).silenced or 1.0) < 0.01


def test_of_many_requests_there_are_fewer_re_splits(monkeypatch: pytest.MonkeyPatch) -> None:
    requests = [two_labels("xxy", "yyx"), two_labels("xxy", "yyyx")]
    full = null_of_requests(requests, 2)
    monkeypatch.setattr(exchange, "_MOST_DRAWN", 5_000)
    fewer = null_of_requests(requests, 2)
    assert full is not None
    assert fewer is not None
    assert (full.method, fewer.method) == ("20,000 re-splits, p to 5e-05", "2,500 re-splits, p to 4e-04")
    assert fewer.tail(2.0) == 1 / 2_501  # beyond all that was drawn
