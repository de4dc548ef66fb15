"""Gates: what can be written, how it is decided and explained, and what n it takes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from pytest_novelty.deciding import FAIL, INCONCLUSIVE, PASS, Reach, decide, judge_gate, more_needed
from pytest_novelty.errors import GateSyntaxError, NoveltyError, SuiteError, UnknownNameError
from pytest_novelty.feasibility import cannot_pass, size_of
from pytest_novelty.gates import Gate, check_gate_names, check_option_gates, gates_for, parse_gate
from pytest_novelty.judges.base import Traits
from pytest_novelty.metrics import cascade
from pytest_novelty.metrics.catalogue import CATALOGUE
from pytest_novelty.metrics.families import extreme
from pytest_novelty.metrics.intervals import clopper_pearson, few_cluster_factor, wilson
from pytest_novelty.metrics.sampled import Items
from pytest_novelty.metrics.view import Estimate, View
from pytest_novelty.model import NOT_NOVEL, NOVEL, Ground, Idea, Instance, Suite, Vote
from pytest_novelty.outcomes import CaseResult, make_outcome
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.verdicts import NOT_SIMILAR, SIMILAR

# --- reading ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("tie_rate<=0.10", {}),
        ("  tie_rate <=  0.10 ", {"text": "tie_rate <=  0.10"}),
        ("tie_rate>=.1", {"op": ">=", "threshold": 0.1}),
        ("tie_rate<1e-1", {"op": "<"}),
        ("tie_rate>1", {"op": ">", "threshold": 1.0}),
        ("position_bias>=-0.5", {"metric": "position_bias", "op": ">=", "threshold": -0.5}),
        ("tie_rate[P4]<=0.10", {"variant": "P4"}),
        ("tie_rate [ P4 ] <= 0.10", {"variant": "P4"}),
        ("abs(position_bias)<=0.10", {"metric": "position_bias", "absolute": True}),
        ("abs ( position_bias ) <=0.10", {"metric": "position_bias", "absolute": True}),
        ("abs(position_bias[P4])<=0.10", {"metric": "position_bias", "absolute": True, "variant": "P4"}),
        ("abs(position_bias)[P4]<=0.10", {"metric": "position_bias", "absolute": True, "variant": "P4"}),
        ("tie_rate@area:cs<=0.10", {"stratum": ("area", "cs")}),
        ("tie_rate@area: deep sea <=0.10", {"stratum": ("area", "deep sea")}),
        ("tie_rate@a:b:c<=0.10", {"stratum": ("a", "b:c")}),
        ("tie_rate@point<=0.10", {"point": True}),
        ("tie_rate[P4]@area:cs@point<=0.10", {"variant": "P4", "stratum": ("area", "cs"), "point": True}),
        ("tie_rate@point@area:cs<=0.10", {"stratum": ("area", "cs"), "point": True}),
        ("tie_rate@point:yes<=0.10", {"stratum": ("point", "yes")}),
    ],
)
def test_every_form(text: str, parts: dict[str, Any]) -> None:
    assert parse_gate(text) == replace(Gate(text.strip(), "tie_rate", "<=", 0.1), **{"text": text.strip(), **parts})


@pytest.mark.parametrize(
    "text",
    [
        *["", "tie_rate", "<=0.1", "tie_rate=0.1", "tie_rate==0.1", "tie_rate=<0.1", "tie_rate 0.1"],
        *["abs(position_bias<=0.1", "position_bias)<=0.1", "abs position_bias<=0.1", "abs(abs(position_bias))<=0.1"],
        *["tie_rate[P4][P5]<=0.1", "abs(tie_rate[P4])[P5]<=0.1", "tie_rate[P4<=0.1", "tie-rate<=0.1"],
        *["tie_rate@area<=0.1", "tie_rate@<=0.1", "tie_rate@a:b@c:d<=0.1", "tie_rate@point@c<=0.1"],
        *["tie_rate<=0.1 or so", "tie_rate<=0.1\nx", "0.1>=tie_rate"],
    ],
)
def test_what_cannot_be_read_is_shown_with_the_grammar(text: str) -> None:
    with pytest.raises(
        GateSyntaxError, match=r"cannot read .*A gate reads metric\[variant\]@stratum:value <= number"
    ) as raised:
        parse_gate(text)
    assert repr(text) in raised.value.message


@pytest.mark.parametrize("number", ["ten", "10%", "nan", "inf", "-inf", "1e999", "0,1"])
def test_a_threshold_is_a_finite_number(number: str) -> None:
    with pytest.raises(GateSyntaxError, match=re.escape(f"the threshold {number!r} of the gate")):
        parse_gate(f"tie_rate<={number}")


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("tie_rate<=10", "0 to 1"),
        ("tie_rate>=-0.01", "0 to 1"),
        ("macro_f1>=1.01", "0 to 1"),
        ("macro_f1>=-1", "0 to 1"),
        ("position_bias<=1.01", "-1 to 1"),
        ("position_bias>=-1.01", "-1 to 1"),
    ],
)
def test_a_threshold_lies_in_the_range_of_its_metric(text: str, limits: str) -> None:
    with pytest.raises(GateSyntaxError, match=f"can never be decided: [a-z_0-9]+ runs from {limits}. Write a share as"):
        parse_gate(text)


@pytest.mark.parametrize(
    "text", ["tie_rate<=0", "macro_f1>=1", "position_bias>=-1", "position_bias<=1", "cost_usd<=50"]
)
def test_the_ends_of_a_range_are_thresholds(text: str) -> None:
    assert parse_gate(text).text == text


def test_a_metric_that_does_not_exist() -> None:
    with pytest.raises(UnknownNameError, match=r"unknown metric 'tie_rat'\. Did you mean 'tie_rate'\?"):
        parse_gate("tie_rat<=0.1")


# --- deciding -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "low", "high", "decision"),
    [
        ("tie_rate<=0.10", 0.01, 0.09, PASS),
        ("tie_rate<=0.10", 0.01, 0.10, PASS),  # equality is inside
        ("tie_rate<=0.10", 0.01, 0.10 + 1e-13, PASS),
        ("tie_rate<=0.10", 0.01, 0.1001, INCONCLUSIVE),
        ("tie_rate<=0.10", 0.10, 0.20, INCONCLUSIVE),
        ("tie_rate<=0.10", 0.1001, 0.20, FAIL),
        ("tie_rate<0.10", 0.01, 0.10, INCONCLUSIVE),  # strict: equality is outside
        ("tie_rate<0.10", 0.01, 0.0999, PASS),
        ("tie_rate<0.10", 0.10, 0.20, FAIL),
        ("tie_rate>=0.80", 0.80, 0.95, PASS),
        ("tie_rate>=0.80", 0.79, 0.95, INCONCLUSIVE),
        ("tie_rate>=0.80", 0.50, 0.80, INCONCLUSIVE),
        ("tie_rate>=0.80", 0.50, 0.79, FAIL),
        ("tie_rate>0.80", 0.80, 0.95, INCONCLUSIVE),
        ("tie_rate>0.80", 0.81, 0.95, PASS),
        ("tie_rate>0.80", 0.50, 0.80, FAIL),
        ("abs(position_bias)<=0.10", -0.05, 0.08, PASS),
        ("abs(position_bias)<=0.10", -0.10, 0.10, PASS),
        ("abs(position_bias)<=0.10", -0.05, 0.20, INCONCLUSIVE),
        ("abs(position_bias)<=0.10", -0.20, 0.05, INCONCLUSIVE),
        ("abs(position_bias)<=0.10", -0.30, -0.10, INCONCLUSIVE),
        ("abs(position_bias)<=0.10", -0.30, -0.11, FAIL),
        ("abs(position_bias)<=0.10", 0.11, 0.30, FAIL),
        ("abs(position_bias)<=0.10", -0.50, 0.50, INCONCLUSIVE),
        ("abs(position_bias)>=0.10", -0.30, -0.20, PASS),
        ("abs(position_bias)>=0.10", -0.30, 0.20, INCONCLUSIVE),  # 0 is among it
        ("abs(position_bias)>=0.10", -0.05, 0.09, FAIL),
        ("position_bias<=0.10", -0.90, 0.08, PASS),
        ("position_bias>=-0.10", -0.20, 0.08, INCONCLUSIVE),
    ],
)
def test_decisions(text: str, low: float, high: float, decision: str) -> None:
    assert decide(parse_gate(text), Estimate((low + high) / 2, low, high, 50)) == decision


@pytest.mark.parametrize(
    ("text", "by_point", "decision"),
    [
        ("tie_rate<=0.10", False, INCONCLUSIVE),
        ("tie_rate<=0.10", True, PASS),
        ("tie_rate@point<=0.10", False, PASS),
        ("tie_rate@point<0.10", False, FAIL),
        ("tie_rate@point>=0.11", False, FAIL),
    ],
)
def test_a_point_decides_by_the_value_alone(text: str, by_point: bool, decision: str) -> None:
    for low, high in ((0.0, 0.5), (None, None)):
        estimate = Estimate(0.10, low, high, 9)
        expected = INCONCLUSIVE if decision == PASS and low is None and not by_point and "@" not in text else decision
        assert decide(parse_gate(text), estimate, by_point=by_point) == expected


@pytest.mark.parametrize("text", ["tie_rate<=0.10", "tie_rate>=0.10"])
def test_without_a_value_or_an_interval_nothing_is_decided(text: str) -> None:
    assert decide(parse_gate(text), Estimate.undefined("no instance")) == INCONCLUSIVE
    assert decide(parse_gate(text), Estimate.undefined("no instance"), by_point=True) == INCONCLUSIVE
    assert decide(parse_gate(text), Estimate(0.5, None, None, 1)) == INCONCLUSIVE


@pytest.mark.parametrize(
    ("text", "low", "high", "decision"),
    [
        ("score_shift[v]<=1", 2.0, None, FAIL),
        ("score_shift[v]<=1", 0.5, None, INCONCLUSIVE),
        ("score_shift[v]<=1", None, 0.5, PASS),
        ("score_shift[v]>=1", 2.0, None, PASS),
        ("score_shift[v]>=1", None, 0.5, FAIL),
        ("abs(score_shift[v])<=1", 2.0, None, FAIL),
        ("abs(score_shift[v])<=1", None, 0.5, INCONCLUSIVE),
    ],
)
def test_an_open_side_may_be_anything(text: str, low: float | None, high: float | None, decision: str) -> None:
    assert decide(parse_gate(text), Estimate(1.0, low, high, 9)) == decision


# --- explaining ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "estimate", "by_point", "message"),
    [
        (
            "tie_rate<=0.10",
            Estimate(0.0512, 0.02, 0.0999, 154, note="8 split"),
            False,
            "tie_rate is 0.051 [0.02, 0.1], n = 154 (8 split)",
        ),
        ("tie_rate<=0.10", Estimate(0.5, 0.4, 0.6, 90), False, "tie_rate is 0.5 [0.4, 0.6], n = 90"),
        ("tie_rate<=0.10", Estimate.undefined("no gold"), False, "tie_rate is undefined: no gold"),
        (
            "tie_rate@point<=0.10",
            Estimate(0.5, 0.4, 0.6, 90),
            False,
            "tie_rate is 0.5 [0.4, 0.6], n = 90; decided by the value alone",
        ),
        (
            "tie_rate<=0.6",
            Estimate(0.5, 0.4, 0.7, 90),
            True,
            "tie_rate is 0.5 [0.4, 0.7], n = 90; decided by the value alone",
        ),
        ("cost_usd<=200", Estimate(123.456789, 123.456789, 123.456789, 3), False, "cost_usd is 123.457, n = 3"),
        (
            "tie_rate<=0.10",
            Estimate(0.1, 0.05, 0.2, 90),
            False,
            "tie_rate is 0.1 [0.05, 0.2], n = 90; too close to call",
        ),
        (
            "tie_rate<=0.10",
            Estimate(0.1, None, None, 1, note="one cluster"),
            False,
            "tie_rate is 0.1, n = 1 (one cluster); there is no interval to decide by",
        ),
    ],
)
def test_messages(text: str, estimate: Estimate, by_point: bool, message: str) -> None:
    result = judge_gate(parse_gate(text), estimate, "j", "s", by_point=by_point)
    assert result.message == f"{text}: {message}"
    assert (result.judge, result.suite, result.decision) == ("j", "s", decide(result.gate, estimate, by_point=by_point))
    assert (result.value, result.low, result.high, result.n) == (
        *(estimate.value, estimate.low, estimate.high),
        estimate.n,
    )


def exact(events: float, n: int, *, wider: float = 1.0) -> Estimate:
    """A share with its exact interval, ``wider`` times as wide."""
    interval = clopper_pearson(events, n)
    assert interval is not None
    middle, half = (interval.low + interval.high) / 2, (interval.high - interval.low) / 2 * wider
    return Estimate(events / n, middle - half, middle + half, n)


@pytest.mark.parametrize(
    ("text", "estimate", "n"),
    [
        # (1.96 sqrt(.1 x .9) + .8416 sqrt(.05 x .95))^2 / .05^2 = 238.0
        ("tie_rate<=0.10", exact(5, 100), 239),
        ("tie_rate<=0.10", exact(5, 100, wider=2.0), 953),  # times the design effect 4
        ("tie_rate<=0.10", exact(5, 100, wider=0.5), 239),  # which is at least 1
        ("tie_rate>=0.80", exact(90, 100), 108),  # (1.96 x .4 + .8416 x .3)^2 / .1^2 = 107.4
        ("tie_rate<=0.10", exact(30, 300), None),  # on the threshold
        ("tie_rate<=0.10", exact(0.08 * 170, 170), 1666),
        ("tie_rate<=0.10", exact(0.08 * 160, 160), None),  # 1666 are more than ten times 160
        ("tie_rate<=0.10", exact(8, 100), None),  # 1666 are more than ten times 100
        (
            "tie_rate<=0.10",
            exact(0, 30),
            36,
        ),  # (1.96 x .3)^2 / .1^2 = 34.6, but without an event the exact interval needs 36
        # 2425 by the same formula are more than ten times 30; below 30 instances that is no reason to call it close
        ("tie_rate<=0.10", exact(30 / 12, 30), None),
        ("tie_rate<=0.10", exact(29 / 12, 29), 2425),
        # 7.849 x .5^2 / .1^2 = 196.2
        ("position_bias<=0.15", Estimate(0.05, -0.05, 0.16, 90, sd=0.5), 197),
        ("abs(position_bias)<=0.15", Estimate(-0.05, -0.16, 0.05, 90, sd=0.5), 197),
        ("position_bias<=0.15", Estimate(-0.05, -0.16, 0.16, 90, sd=0.5), 91),  # 49.1, and 90 have not decided
        # no standard deviation: .2 / 3.92 x sqrt(100) = .51, and 7.849 x .51^2 / .1^2 = 204.3
        ("macro_f1>=0.80", Estimate(0.7, 0.6, 0.8, 100), 205),
    ],
)
def test_how_many_would_decide(text: str, estimate: Estimate, n: int | None) -> None:
    said = more_needed(parse_gate(text), estimate)
    if n is None:
        assert said == "too close to call"
        return
    found = re.fullmatch(r"about (\d+) instances would decide", said)
    assert found is not None, said
    assert int(found[1]) == n


@pytest.mark.parametrize(
    ("text", "positives", "n"),
    # own suite, half of it right positives: Wilson's interval needs 35 of them without an event, whatever there were so far
    [("hallucination_rate<=0.10", positives, 70) for positives in (20, 27, 33, 34)]
    # without a right positive that is unreasoned, likewise; and every verdict right
    + [("mismatch_rate<=0.10", 20, 70), ("verified_f1>=0.90", 20, 70)],
)
def test_a_rate_is_planned_by_those_in_its_denominator(text: str, positives: int, n: int) -> None:
    gate = parse_gate(text)
    value = 0.0 if gate.upper else 1.0
    interval = wilson(value, positives)
    assert interval is not None
    said = more_needed(gate, Estimate(value, interval.low, interval.high, positives), reach=Reach(ran=2 * positives))
    assert said == f"about {n} instances would decide"


def test_a_mean_without_an_event_needs_what_its_interval_does() -> None:
    interval = wilson(0.0, 30)
    assert interval is not None
    still = Estimate(0.0, interval.low, interval.high, 30, sd=0.0)
    assert more_needed(parse_gate("retest_flip_rate<=0.10"), still) == "about 35 instances would decide"


UNCHECKED = Estimate(0.08, 0.05, 0.2, 40, bounds=(0.08, 0.157), unaudited=12)


@pytest.mark.parametrize(
    ("text", "decision"),
    [
        ("verified_f1@point>=0.1", "inconclusive"),
        ("verified_f1@point>=0.08", "pass"),
        ("verified_f1@point>=0.16", "fail"),
        ("verified_f1>=0.1", "inconclusive"),
        ("verified_f1@point<=0.1", "inconclusive"),
        ("verified_f1@point<=0.157", "pass"),
    ],
)
def test_what_is_not_checked_leaves_a_gate_on_the_value_open(text: str, decision: str) -> None:
    result = judge_gate(parse_gate(text), UNCHECKED, "j", "s", reach=Reach(impossible=f"{text}: 40 cannot pass it"))
    assert result.decision == decision
    missing = "12 statements of its votes not audited; run again to repeat audits that failed (--novelty-refresh: also where an answer was no verdict)"
    assert result.advice == (missing if decision == "inconclusive" else "")
    assert result.message.endswith(f"; {missing}") == (decision == "inconclusive")
    assert decide(parse_gate(text.replace("@point", "")), UNCHECKED, by_point=True) == decision


def test_the_largest_of_several_is_open_where_one_is() -> None:
    known = replace(UNCHECKED, value=0.12, bounds=None, unaudited=0)
    found = extreme({"one": UNCHECKED, "two": known}, {"one": UNCHECKED, "two": known}, "max")
    assert (found.value, found.bounds, found.unaudited) == (0.12, (0.12, 0.157), 12)
    least = extreme({"one": UNCHECKED, "two": known}, {"one": UNCHECKED, "two": known}, "min")
    assert (least.value, least.bounds) == (0.08, (0.08, 0.12))


# --- what no outcome could pass -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "n", "best"),
    [
        ("tie_rate<=0.10", 36, "without a single event"),
        ("tie_rate<0.10", 36, "without a single event"),
        ("tie_rate<=0.05", 72, "without a single event"),
        ("tie_rate<=0.02", 183, "without a single event"),
        ("strict_accuracy>=0.80", 17, "with every instance right"),
        ("abs(position_bias)<=0.10", 36, "without a single event"),
        ("excess_order_flip<=0.10", 36, "without a single event"),
        # Wilson: z^2 / (n + z^2) <= .1 and n / (n + z^2) >= .8
        ("retest_flip_rate<=0.10", 35, "without a single event"),
        ("macro_f1>=0.80", 16, "with every instance right"),
    ],
)
def test_the_n_that_a_gate_takes(text: str, n: int, best: str) -> None:
    gate = parse_gate(text)
    assert cannot_pass(gate, n, None) is None
    assert cannot_pass(gate, n - 1, None) == f"{text}: {n - 1} instances cannot pass it even {best}; it takes {n}"
    assert cannot_pass(gate, n - 1, None, by_point=True) is None
    assert cannot_pass(replace(gate, point=True), n - 1, None) is None


def test_the_n_that_a_gate_takes_in_clusters() -> None:
    gate = parse_gate("tie_rate<=0.10")
    said = cannot_pass(gate, 154, 12)
    assert said is not None
    assert said.startswith("tie_rate<=0.10: 154 instances in 12 clusters cannot pass it even without a single event; ")
    assert cannot_pass(gate, 154, 154) is None


def test_the_number_of_clusters_that_it_names_is_enough() -> None:
    texts = ("tie_rate<=0.10", "tie_rate<=0.05", "strict_accuracy>=0.80", "macro_f1>=0.80", "excess_order_flip<=0.10")
    for gate in map(parse_gate, texts):
        said = cannot_pass(gate, 500, 5)
        assert said is not None
        named = int(re.findall(r"it takes (\d+) clusters", said)[0])
        assert cannot_pass(gate, 500, named) is None, said
        assert cannot_pass(gate, 500, named - 1) is not None, said


@pytest.mark.parametrize(("text", "clusters"), [("tie_rate<=0.9", 1), ("macro_f1>=0.1", 1), ("macro_f1>=0.80", 16)])
def test_few_clusters_cost_power(text: str, clusters: int) -> None:
    """One has no interval; sixteen are fewer than sixteen instances: n_eff = 16 (1.96 / t_15)^2 = 13.5."""
    assert cannot_pass(parse_gate(text), 500, clusters) is not None


def test_two_clusters_are_worth_little_and_not_nothing() -> None:
    """n_eff = 2 (1.96 / 12.71)^2 = .0476; Wilson's lower bound n_eff / (n_eff + z^2) = .0122."""
    assert cannot_pass(parse_gate("macro_f1>=0.012"), 500, 2) is None
    assert cannot_pass(parse_gate("macro_f1>=0.013"), 500, 2) is not None


def half_similar(make_suite: Callable[..., Suite], n: int, *, cluster: str | None = None) -> Suite:
    """Every other pair of papers is similar; those that are share clusters of four, each other pair is one of its own."""
    ideas = tuple(Idea(name, name, "Text.") for name in "xy")
    made = [
        Instance(f"i{k}", ideas, NOT_SIMILAR if k % 2 else SIMILAR, strata={"c": f"n{k}" if k % 2 else f"s{k // 8}"})
        for k in range(n)
    ]
    return replace(make_suite("similarity", *made), cluster=cluster)


@pytest.mark.parametrize(
    ("text", "positives", "label"),
    [
        ("hallucination_rate<=0.10", 35, "similar"),
        ("missing_evidence_rate<=0.10", 35, "similar"),
        ("mismatch_rate<=0.10", 35, "similar"),
        ("verified_recall>=0.90", 35, "similar"),
        ("hallucination_rate_false<=0.10", 35, "not similar"),
    ],
)
def test_a_rate_takes_instances_that_its_denominator_can_count(
    text: str, positives: int, label: str, make_suite: Callable[..., Suite]
) -> None:
    gate = parse_gate(text)
    few, enough = (half_similar(make_suite, n) for n in (40, 2 * positives))
    best = "without a single event" if gate.upper else "with every instance right"
    assert cannot_pass(gate, *size_of(gate, few, few.instances)) == (
        f"{text}: 20 instances whose gold label is {label} cannot pass it even {best}; it takes {positives} of these"
    )
    assert cannot_pass(gate, *size_of(gate, enough, enough.instances)) is None


def test_wrong_positives_are_in_the_denominator_of_an_f1(make_suite: Callable[..., Suite]) -> None:
    suite = half_similar(make_suite, 40)
    for text in ("verified_f1>=0.90", "precision>=0.90", "hallucination_rate_all<=0.10"):
        assert size_of(parse_gate(text), suite, suite.instances)[:4] == (40, None, None, "")


def test_sets_without_a_gold_group_have_no_right_pair(make_suite: Callable[..., Suite]) -> None:
    ideas = tuple(Idea(name, name, "Text.") for name in "xyz")
    golds = ['[["x","y"]]', "[]", '[["x"],["y","z"]]', '[["x"]]']
    suite = make_suite("grouping", *(Instance(f"i{k}", ideas, gold) for k, gold in enumerate(golds)))
    assert size_of(parse_gate("hallucination_rate<=0.1"), suite, suite.instances)[:2] == (2, None)
    assert size_of(parse_gate("mismatch_rate_false<=0.1"), suite, suite.instances).n == 4


def test_clusters_count_where_they_hold_a_positive(make_suite: Callable[..., Suite]) -> None:
    """What is announced is what the interval does: forty positives in ten clusters beside forty clusters without."""
    gate = parse_gate("hallucination_rate<=0.10")
    suite = half_similar(make_suite, 80, cluster="c")
    size = size_of(gate, suite, suite.instances)
    assert size[:4] == (40, 50, 10, "whose gold label is similar")
    said = cannot_pass(gate, *size)
    assert said is not None
    assert "40 instances whose gold label is similar in 10 clusters cannot pass" in said
    assert said.endswith("clusters with one of these")
    held = cascade.Verdict
    votes = [held(one.id, 0, one.gold == SIMILAR, (cascade.VERIFIED,)) for one in suite.instances]
    counts = cascade.count_verdicts(votes, {one.id: one.gold == SIMILAR for one in suite.instances})
    places = np.unique([one.strata["c"] for one in suite.instances], return_inverse=True)[1]
    found = cascade.measure_cascade(Items(80, places, resamples=200), counts, ["hallucination_rate"])
    wanted = wilson(0.0, 10 * few_cluster_factor(50, 0.95))
    assert wanted is not None
    assert found["hallucination_rate"].estimate.high == pytest.approx(wanted.high)


@pytest.mark.parametrize(("text", "n"), [("tie_rate<=0", 10**6), ("strict_accuracy>=1", 10**6)])
def test_some_thresholds_no_n_can_reach(text: str, n: int) -> None:
    said = cannot_pass(parse_gate(text), n, None)
    assert said is not None
    assert said.endswith("no number of instances can; use @point")


@pytest.mark.parametrize("text", ["cost_usd<=0.10", "score_levels>=2", "position_bias>=0.5"])
def test_some_gates_any_n_may_pass(text: str) -> None:
    assert cannot_pass(parse_gate(text), 1, None) is None


@pytest.fixture(scope="module")
def flawless(make_suite: Callable[..., Suite], make_instance: Callable[..., Any]) -> Callable[[str, int], View]:
    @cache
    def build(protocol: str, n: int) -> View:
        """A judge that is right in every vote and scores the same idea the same."""
        golds = {
            "pairwise": ("x", "x"),
            "pointwise": (NOVEL, NOT_NOVEL),
            "grouping": ('[["x","y"]]', "[]"),
        }.get(protocol) or PROTOCOLS[protocol].labels
        assert golds is not None
        shape = "pointwise" if protocol == "pointwise" else "pairwise"
        made = [make_instance(shape, f"i{k:03}", gold=golds[k % 2]) for k in range(n)]
        suite, traits = make_suite(protocol, *made), Traits(may_tie=True, may_abstain=True)
        orders = ("ab", "ba") if protocol == "pairwise" else (None,)
        results = []
        for k, instance in enumerate(made):
            score = 9.0 - k % 2 if protocol == "pointwise" else None
            held = (Ground(("x", "y"), ("verbatim", "verbatim"), ("", ""), True, True),) if k % 2 == 0 else ()
            votes = [
                Vote(order, j, label=instance.gold, score=score, grounds=held) for order in orders for j in range(3)
            ]
            outcome = make_outcome(suite, instance, votes, orders, traits)
            results.append(CaseResult("j", suite.name, "reference", instance.id, outcome))
        return View(results, suite, traits)

    return build


@pytest.mark.parametrize("n", [3, 16, 35, 72])
@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_what_a_flawless_judge_passes_is_not_called_impossible(
    name: str, n: int, flawless: Callable[[str, int], View]
) -> None:
    metric = CATALOGUE[name]
    estimate = metric.compute(flawless(metric.protocols[0], n))
    for threshold in ("<=0.10", "<=0.05") if metric.better == "low" else (">=0.80", ">=0.95"):
        gate = parse_gate(f"{name}{threshold}")
        if decide(gate, estimate) == PASS:
            assert cannot_pass(gate, n, None) is None, f"{n} instances do pass it"


# --- gates of a suite and of the options --------------------------------------------------------------------


@pytest.fixture
def suite(make_suite: Callable[..., Suite], make_instance: Callable[..., Any]) -> Suite:
    made = [make_instance("pairwise", f"i{k}", strata={"area": area}) for k, area in enumerate(("cs", "bio"))]
    plain = make_suite("pairwise", *made, gates=("tie_rate<=0.10", "strict_accuracy>=0.80", "abs(position_bias)<=0.10"))
    reference = plain.variants["reference"]
    return replace(plain, variants={"reference": reference, "P4": replace(reference, name="P4")})


@pytest.mark.parametrize(
    ("extra", "gates"),
    [
        ([], ["tie_rate<=0.10", "strict_accuracy>=0.80", "abs(position_bias)<=0.10"]),
        (["tie_rate<=0.30"], ["strict_accuracy>=0.80", "abs(position_bias)<=0.10", "tie_rate<=0.30"]),
        (["tie_rate@point<0.2"], ["strict_accuracy>=0.80", "abs(position_bias)<=0.10", "tie_rate@point<0.2"]),
        *[
            ([other], ["tie_rate<=0.10", "strict_accuracy>=0.80", "abs(position_bias)<=0.10", other])
            for other in ("tie_rate>=0.01", "tie_rate[P4]<=0.30", "tie_rate@area:cs<=0.30", "position_bias<=0.3")
        ],
        (["tie_rate<=0.1", "tie_rate<=0.1"], ["strict_accuracy>=0.80", "abs(position_bias)<=0.10", "tie_rate<=0.1"]),
        (
            ["macro_f1>=0.8", "tie_rate[P5]<=0.1"],
            ["tie_rate<=0.10", "strict_accuracy>=0.80", "abs(position_bias)<=0.10"],
        ),
    ],
)
def test_an_option_replaces_the_suites_gate_on_the_same_quantity(
    extra: list[str], gates: list[str], suite: Suite
) -> None:
    assert [gate.text for gate in gates_for(suite, [parse_gate(text) for text in extra])] == gates


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (
            "macro_f1>=0.8",
            UnknownNameError,
            "unknown pairwise metric 'macro_f1'.*Known: abstention_rate, cost_usd, cyclic_triads, declared_tie",
        ),
        (
            "tie_rate[P5]<=0.1",
            UnknownNameError,
            r"the gate 'tie_rate\[P5\]<=0.1' of made names an unknown variant 'P5'.*P4, reference",
        ),
        ("tie_rate@aera:cs<=0.1", UnknownNameError, "the gate .* names an unknown stratum 'aera'.*Did you mean 'area'"),
        (
            "tie_rate@area:law<=0.1",
            UnknownNameError,
            "the gate .* names an unknown value of the stratum 'area', 'law'.*bio, cs",
        ),
    ],
)
def test_names_that_a_suite_does_not_have(text: str, kind: type[NoveltyError], message: str, suite: Suite) -> None:
    with pytest.raises(kind, match=message):
        check_gate_names(parse_gate(text), suite)
    with pytest.raises(kind, match=message):
        check_option_gates([parse_gate("tie_rate<=0.1"), parse_gate(text)], [suite])


def test_a_gate_on_accuracy_needs_gold(suite: Suite) -> None:
    bare = replace(suite, label_kind="none", gates=())
    gate = parse_gate("strict_accuracy>=0.80")
    with pytest.raises(SuiteError, match="needs gold labels, and the suite made has none"):
        check_gate_names(gate, bare)
    check_gate_names(parse_gate("tie_rate<=0.1"), bare)
    check_gate_names(gate, suite)
    check_option_gates([gate], [bare, suite])  # one suite that it fits is enough
    assert gates_for(bare, [gate]) == ()


# --- ids ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "slug"),
    [
        ("tie_rate<=0.10", "tie_rate-le-0.1"),
        ("tie_rate[P4]@area:deep sea@point>0.10", "tie_rate-p4-area.deep-sea-point-gt-0.1"),
        ("abs(position_bias)<0.5", "abs-position_bias-lt-0.5"),
        ("position_bias>=-0.5", "position_bias-ge--0.5"),
    ],
)
def test_slugs(text: str, slug: str) -> None:
    assert parse_gate(text).slug == slug


def test_slugs_are_unique_and_in_the_alphabet_of_ids() -> None:
    texts = [
        f"{metric}{variant}{at}{op}{threshold}"
        for metric, variant, at, op, threshold in product(
            ("tie_rate", "position_bias", "abs(position_bias)"),
            ("", "[P4]", "[plan]"),
            ("", "@point", "@area:cs", "@area:cs@point", "@year:2017"),
            ("<=", "<", ">=", ">"),
            ("0.1", "0.12", "1"),
        )
    ]
    slugs = [parse_gate(text).slug for text in texts]
    assert len(set(slugs)) == len(texts)
    assert all(re.fullmatch("[a-z0-9._-]+", slug) for slug in slugs)


@pytest.mark.parametrize(
    "text",
    [
        "tie_rate[]<=0.1",
        "tie_rate[ ]<=0.1",
        "tie_rate@:cs<=0.1",
        "tie_rate@area:<=0.1",
        "tie_rate<=0_1",
        "abs(position_bias)<=-0.1",
    ],
)
def test_nothing_is_read_into_a_gate(text: str) -> None:
    with pytest.raises(GateSyntaxError):
        parse_gate(text)
