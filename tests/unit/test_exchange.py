"""Votes pooled and split anew: against every permutation of the votes themselves, and in closed form for a coin."""

from __future__ import annotations

from itertools import combinations, product
from math import comb, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_novelty.metrics import exchange
from pytest_novelty.metrics.exchange import (
    DRAWS,
    SCORE_DRAWS,
    Null,
    noise_flips,
    noise_flips_of_scores,
    null_of_excess,
    outcome_codes,
    score_exchange_p,
    splits,
)
from pytest_novelty.metrics.resampling import FloatArray, IntArray
from pytest_novelty.metrics.stability import excess, mean_over_orders
from pytest_novelty.metrics.view import LABEL_NAMES
from pytest_novelty.model import ERROR, NOT_NOVEL, NOVEL, OK, TIE, Vote
from pytest_novelty.protocols import PROTOCOLS

WORDS = {"x": 0, "y": 1, "t": 2, "a": 3, "-": 4}


def tallies(*ballots: str, labels: int = 5) -> IntArray:
    """(instances, orders, labels) of ballots, one word an order."""
    rows = [
        [np.bincount([WORDS[c] for c in word if WORDS[c] < labels], minlength=labels) for word in b.split()]
        for b in ballots
    ]
    return np.array(rows, dtype=np.int64)


def resplit(one: str, other: str) -> list[tuple[str, str]]:
    """Every way to deal the pooled votes of one order to the two sides, each as often as it occurs."""
    pooled = one + other
    found = []
    for chosen in combinations(range(len(pooled)), len(one)):
        left = "".join(pooled[k] for k in chosen)
        found.append((left, "".join(pooled[k] for k in range(len(pooled)) if k not in chosen)))
    return found


def mean_excess(one: list[str], other: list[str]) -> float:
    values = mean_over_orders(excess(tallies(*one, labels=3), tallies(*other, labels=3)))
    return float(values[np.isfinite(values)].mean())


# --- splits -------------------------------------------------------------------------------------------------


def test_splits_are_hypergeometric() -> None:
    drawn, chances = splits((4, 2, 0), 3)
    assert {tuple(row): round(chance, 12) for row, chance in zip(drawn.tolist(), chances, strict=True)} == {
        (3, 0, 0): round(4 / 20, 12),
        (2, 1, 0): round(12 / 20, 12),
        (1, 2, 0): round(4 / 20, 12),
    }


@settings(deadline=None)
@given(st.lists(st.integers(0, 4), min_size=1, max_size=4), st.data())
def test_splits_are_a_distribution(pooled: list[int], data: st.DataObject) -> None:
    size = data.draw(st.integers(0, sum(pooled)))
    drawn, chances = splits(tuple(pooled), size)
    assert chances.sum() == pytest.approx(1)
    assert (drawn.sum(axis=1) == size).all()
    assert (drawn <= np.array(pooled)).all()
    assert chances @ drawn == pytest.approx(np.array(pooled) * size / max(1, sum(pooled)))


# --- the exchange distribution ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (["xxx yyy"], ["xxy xyy"]),
        (["xx xx", "xy yy"], ["yy xx", "yy xy"]),
        (["xxt", "yyt"], ["xyt", "yyy"]),
        (["xx xxx"], ["xyy y"]),  # the second order has one vote on a side, and does not count
        (["xx", "xxx"], ["xyy", "yy"]),  # unequal numbers of votes
    ],
)
def test_the_null_is_that_of_every_permutation(one: list[str], other: list[str]) -> None:
    """All ways to deal every order's votes anew, one by one."""
    deals = [
        [resplit(first, second) for first, second in zip(a.split(), b.split(), strict=True)]
        for a, b in zip(one, other, strict=True)
    ]
    everything = []
    for way in product(*(order for instance in deals for order in instance)):
        dealt = iter(way)
        parts = [[next(dealt) for _ in instance] for instance in deals]
        left = [" ".join(pair[0] for pair in instance) for instance in parts]
        right = [" ".join(pair[1] for pair in instance) for instance in parts]
        everything.append(mean_excess(left, right))
    null = null_of_excess(tallies(*one, labels=3), tallies(*other, labels=3))
    assert null is not None
    assert null.exact
    for observed in sorted(set(np.round(everything, 12))):
        expected = sum(value >= observed - 1e-9 for value in everything) / len(everything)
        assert null.tail(float(observed)) == pytest.approx(expected, abs=1e-12)
    assert null.sd == pytest.approx(np.std(everything), abs=1e-9)
    assert float(null.values @ null.chances) == pytest.approx(np.mean(everything), abs=1e-12)


def test_excess_has_expectation_0_whatever_the_votes() -> None:
    """It is unbiased given the pooled votes, too."""
    for pooled, size in product([(3, 3, 0), (5, 1, 0), (2, 2, 2), (4, 3, 1)], (2, 3, 4)):
        drawn, chances = splits(pooled, size)
        assert chances @ excess(drawn, np.array(pooled) - drawn) == pytest.approx(0, abs=1e-12)


def test_one_whole_turn_of_a_sure_judge() -> None:
    """Three votes an order, both orders: dealt so by chance in (2/20)^2."""
    null = null_of_excess(
        tallies("xxx xxx", *["xxx xxx"] * 30, labels=3), tallies("yyy yyy", *["xxx xxx"] * 30, labels=3)
    )
    assert null is not None
    assert null.tail(1 / 31) == pytest.approx(0.01)
    assert null.critical(0.05) == pytest.approx(1 / 31)
    assert null.critical(0.005) > 1 / 31


def test_nothing_moved() -> None:
    null = null_of_excess(tallies(*["xxx"] * 9, labels=3), tallies(*["xxx"] * 9, labels=3))
    assert null is not None
    assert (null.tail(0.0), null.sd, null.n) == (1.0, 0.0, 9)
    assert null.critical(0.05) > 0


def test_no_two_votes() -> None:
    assert null_of_excess(tallies("x", "y", labels=3), tallies("xxx", "yyy", labels=3)) is None


def test_drawn_where_the_lattice_is_too_fine(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(3)
    one, other = (rng.multinomial(3, [0.6, 0.4, 0.0], size=(60, 2)) for _ in range(2))
    exact = null_of_excess(one, other)
    monkeypatch.setattr(exchange, "_MAX_LATTICE", 16)
    drawn = null_of_excess(one, other)
    assert exact is not None
    assert drawn is not None
    assert (exact.exact, drawn.exact) == (True, False)
    assert drawn.method == "20,000 re-splits, p to 5e-05"
    for observed in (-0.02, 0.0, 0.02, 0.05):
        assert drawn.tail(observed) == pytest.approx(exact.tail(observed), abs=0.015)
    assert drawn.sd == pytest.approx(exact.sd, rel=0.03)
    assert drawn.tail(1.0) == 1 / (DRAWS + 1)
    again = null_of_excess(one, other)
    assert again is not None
    assert (again.values == drawn.values).all()


@pytest.mark.parametrize("p", [0.5, 0.8, 0.97])
def test_the_test_keeps_its_level(p: float) -> None:
    """Two runs of the same judge, 40 instances with chances of their own: p <= .05 in at most 5 %."""
    rng = np.random.default_rng(11)
    runs = 400
    chances = np.clip(rng.normal(p, 0.1, size=(runs, 40, 1)), 0, 1)
    first, second = (rng.binomial(3, np.repeat(chances, 2, axis=2)) for _ in range(2))
    hits = 0
    for one, other in zip(first, second, strict=True):
        a, b = (np.stack([side, 3 - side, 0 * side], axis=-1) for side in (one, other))
        null = null_of_excess(a, b)
        assert null is not None
        hits += null.tail(float(mean_over_orders(excess(a, b)).mean())) <= 0.05
    assert hits / runs <= 0.05 + 2.5 * sqrt(0.05 * 0.95 / runs)


# --- flips by noise -----------------------------------------------------------------------------------------


def outcome(ballot: str, protocol: str = "pairwise") -> str | None:
    orders = ("ab", "ba")[: len(ballot.split())] if protocol == "pairwise" else (None,)
    labels: dict[str, str | None] = (
        {"x": "x", "y": "y", "t": TIE} if protocol == "pairwise" else {"x": NOVEL, "y": NOT_NOVEL}
    )
    votes = [
        Vote(order, k, ERROR if c == "-" else OK, "", labels.get(c), None, c == "a")
        for order, word in zip(orders, ballot.split() or [""], strict=True)
        for k, c in enumerate(word)
    ]
    return PROTOCOLS[protocol].aggregate(votes, ["x", "y"] if protocol == "pairwise" else ["x"], orders)


@settings(deadline=None)
@given(
    st.lists(st.sampled_from("xyta-"), min_size=1, max_size=5),
    st.lists(st.sampled_from("xyta-"), min_size=1, max_size=5),
)
def test_outcomes_of_tallies_are_those_of_the_protocol(forward: list[str], backward: list[str]) -> None:
    names = ("x", "y", *LABEL_NAMES["pairwise"][2:])
    for ballot in ("".join(forward) + " " + "".join(backward), "".join(forward)):
        assert names[int(outcome_codes(tallies(ballot))[0])] == outcome(ballot), ballot
    single = "".join(forward).replace("t", "x")
    assert LABEL_NAMES["pointwise"][int(outcome_codes(tallies(single))[0])] == outcome(single, "pointwise")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("xxx xyy", "xxy yyy"),
        ("xx yy", "xy yy"),
        ("x- yy", "xy --"),
        ("xt yy", "ty yx"),
        ("xa aa", "aa -a"),
        ("xxx", "yyx"),
        ("xxxx yyy", "xy yyyy"),
    ],
)
def test_noise_flips_are_those_of_every_permutation(one: str, other: str) -> None:
    deals = [resplit(a, b) for a, b in zip(one.split(), other.split(), strict=True)]
    ways = list(product(*deals))
    differ = sum(outcome(" ".join(p[0] for p in way)) != outcome(" ".join(p[1] for p in way)) for way in ways)
    assert noise_flips(tallies(one), tallies(other))[0] == pytest.approx(differ / len(ways))


def test_two_runs_of_a_coin() -> None:
    """STATISTICS.md 6: .6660, as the mean over all that a coin may say in twelve votes."""
    found = total = 0.0
    for a, b in product(range(7), repeat=2):  # votes for x among the six pooled of each order
        weight = comb(6, a) * comb(6, b) / 4**6
        pooled = np.array([[[a, 6 - a, 0, 0, 0], [b, 6 - b, 0, 0, 0]]])
        one = np.minimum(pooled, 3)
        one[..., 1] = 3 - one[..., 0]
        found += weight * noise_flips(one, pooled - one)[0]
        total += weight
    assert total == pytest.approx(1)
    assert found == pytest.approx(0.6660, abs=5e-5)


def test_many_votes_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = tallies("xxxxxy xxxyyy"), tallies("xxyyyy xxxxyy")
    exact = noise_flips(one, other)[0]
    monkeypatch.setattr(exchange, "_MAX_SPLITS", 3)
    exchange._flip_chance.cache_clear()
    assert noise_flips(one, other)[0] == pytest.approx(exact, abs=0.02)
    exchange._flip_chance.cache_clear()


@pytest.mark.parametrize(
    ("one", "other", "chance"),
    [
        # of the six ways to deal 1 2 8 9: {1,2} and {8,9} lie apart; 1+8 and 2+9 do at 5.2, 1+9 and 2+8 tie at 5
        ([1, 2], [8, 9], 2 / 6 + 2 / 6),
        ([6, 7], [8, 9], 0),
        ([1], [9], 1),
        ([], [9], 1),
        ([], [], 0),
    ],
)
def test_noise_flips_of_scores(one: list[float], other: list[float], chance: float) -> None:
    assert noise_flips_of_scores([one], [other], 5.2, 0)[0] == pytest.approx(chance)


def test_many_scores_are_drawn() -> None:
    rng = np.random.default_rng(1)
    one, other = ([list(rng.normal(size=12))] for _ in range(2))
    drawn: FloatArray = noise_flips_of_scores(one, other, 0.1, 0)
    assert 0 <= drawn[0] <= 1
    assert (drawn == noise_flips_of_scores(one, other, 0.1, 0)).all()


@pytest.mark.parametrize(("alpha", "critical"), [(0.25, 1.0), (0.26, 1.0), (0.5, 0.5), (0.24, 1.5), (1.0, 0.0)])
def test_the_critical_excess_has_a_tail_of_at_most_the_level(alpha: float, critical: float) -> None:
    """A tail that equals the level is enough; where none is small enough, one step above the largest value."""
    null = Null(4, np.array([0.0, 0.5, 1.0]), np.array([0.5, 0.25, 0.25]), exact=True)
    assert null.critical(alpha) == critical
    assert (null.tail(critical) <= alpha) or critical > 1


def test_a_mean_score_at_the_threshold_reaches_it() -> None:
    """Of 5, 5, 5 and 4 one side always has the 4: its mean of 4.5 fails, the other's 5 does not."""
    assert noise_flips_of_scores([[5.0, 5.0]], [[5.0, 4.0]], 5.0, 0) == pytest.approx([1.0])


def test_no_p_of_scores_is_smaller_than_its_draws_allow() -> None:
    assert score_exchange_p([[0.0] * 3] * 40, [[10.0] * 3] * 40) == 1 / (SCORE_DRAWS + 1)
    assert score_exchange_p([[5.0] * 3] * 4, [[5.0] * 3] * 4) == 1.0
