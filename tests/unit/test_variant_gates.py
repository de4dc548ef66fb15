"""Gates on variants: what can be written, what they rest on, what they say and what it costs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_novelty.deciding import INCONCLUSIVE, PASS, Price, Reach, decide, judge_gate, more_needed
from pytest_novelty.errors import GateSyntaxError, SuiteError, UnknownNameError
from pytest_novelty.evaluation import evaluate
from pytest_novelty.feasibility import cannot_measure, cannot_pass
from pytest_novelty.gates import (
    DEFAULT_STABILITY_GATE,
    MAX,
    MEAN,
    MIN,
    check_gate_names,
    gates_for,
    gates_stability,
    parse_gate,
)
from pytest_novelty.metrics.catalogue import FAMILIES, METRICS, PAIRED
from pytest_novelty.metrics.intervals import clopper_pearson
from pytest_novelty.metrics.planning import planned_n_share
from pytest_novelty.metrics.view import Estimate
from pytest_novelty.model import Suite, Variant
from pytest_novelty.results import Report
from pytest_novelty.variants import is_variant_name

# --- reading ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "variant", "entry", "slug"),
    [
        ("vote_shift[max]<=0.2", MAX, "vote_shift", "vote_shift-max-le-0.2"),
        ("vote_shift<=0.2", MAX, "vote_shift", "vote_shift-max-le-0.2"),  # no variant is named: every one
        ("flip_rate[ mean ]<=0.2", MEAN, "flip_rate", "flip_rate-mean-le-0.2"),
        ("flip_rate[P4]<=0.2", "P4", "flip_rate", "flip_rate-p4-le-0.2"),
        ("max_flip_rate<=0.2", MAX, "flip_rate", "max_flip_rate-max-le-0.2"),
        ("mean_flip_rate<=0.2", MEAN, "flip_rate", "mean_flip_rate-mean-le-0.2"),
        ("strict_accuracy[min]>=0.7", MIN, "strict_accuracy", "strict_accuracy-min-ge-0.7"),
        ("strict_accuracy>=0.7", "reference", "strict_accuracy", "strict_accuracy-ge-0.7"),
        ("excess_flip>=-0.1", MIN, "excess_flip", "excess_flip-min-ge--0.1"),
        ("abs(score_shift[P4])<=1.5", "P4", "score_shift", "abs-score_shift-p4-le-1.5"),
        ("vote_shift[max]@area:cs@point<=0.2", MAX, "vote_shift", "vote_shift-max-area.cs-point-le-0.2"),
    ],
)
def test_what_it_rests_on(text: str, variant: str, entry: str, slug: str) -> None:
    gate = parse_gate(text)
    assert (gate.variant, gate.entry.name, gate.slug) == (variant, entry, slug)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("flip_rate[reference]<=0.1", "compares a variant with the reference"),
        ("max_flip_rate[P4]<=0.1", "is over all variants, and the gate"),
        ("mean_flip_rate[max]<=0.1", "is over all variants, and the gate"),
        ("macro_f1[mean]>=0.5", "is no mean over instances"),
        ("rank_flip[mean]<=0.1", "is no mean over instances"),
        ("abs(position_bias)[max]<=0.1", "cannot take the max of an absolute value"),
        ("vote_shift<=20", "vote_shift runs from 0 to 1"),
        ("flip_rate<=-0.1", "flip_rate runs from 0 to 1"),
    ],
)
def test_what_makes_no_sense(text: str, said: str) -> None:
    with pytest.raises(GateSyntaxError) as raised:
        parse_gate(text)
    assert said in raised.value.message
    assert raised.value.hint


def test_every_metric_can_be_gated() -> None:
    for name in METRICS:
        assert parse_gate(f"{name}<=0.5").metric == name
    assert {gates_stability(parse_gate(f"{name}<=0.5")) for name in (*PAIRED, *FAMILIES)} == {True}
    assert not gates_stability(parse_gate("retest_flip_rate<=0.5"))


@pytest.fixture
def suite(make_suite: Callable[..., Suite], make_instance: Callable[..., Any]) -> Callable[..., Suite]:
    def build(
        n: int = 60, variants: tuple[str, ...] = ("P4", "P5"), protocol: str = "pairwise", **changes: Any
    ) -> Suite:
        made = [make_instance(protocol, f"i{k:03}", strata={"area": "ab"[k % 2]}) for k in range(n)]
        plain = make_suite(protocol, *made, **changes)
        reference = plain.variants["reference"]
        more = {name: Variant(name, replace(reference.axes, params={"p": name}), ("params",)) for name in variants}
        return replace(plain, variants={"reference": reference, **more})

    return build


SuiteOf = Callable[..., Suite]


def test_names(suite: SuiteOf) -> None:
    check_gate_names(parse_gate("vote_shift[max]<=0.2"), suite())
    with pytest.raises(SuiteError, match="rests on variants, and the suite made has none"):
        check_gate_names(parse_gate("vote_shift[max]<=0.2"), suite(variants=()))
    with pytest.raises(UnknownNameError, match="the gate .* names an unknown variant"):
        check_gate_names(parse_gate("vote_shift[P6]<=0.2"), suite())
    with pytest.raises(UnknownNameError, match="unknown pairwise metric 'score_shift'"):
        check_gate_names(parse_gate("score_shift[P4]<=0.2"), suite())


def test_an_option_replaces_the_same_quantity_however_it_is_written(suite: SuiteOf) -> None:
    made = suite(gates=("flip_rate[max]<=0.2", "flip_rate[mean]<=0.1"))
    assert [gate.text for gate in gates_for(made, [parse_gate("max_flip_rate<=0.3")])] == [
        "flip_rate[mean]<=0.1",
        "max_flip_rate<=0.3",
    ]


# --- what no outcome could decide ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "n"),
    [
        ("flip_rate<=0.10", 36),
        ("flip_rate[P4]<=0.02", 183),
        ("vote_shift<=0.25", 58),  # its square against 1/16
        ("vote_shift<=0.15", 163),
        ("excess_flip<=0.0625", 58),
        ("null_flip_rate<=0.1", 35),  # Wilson, as for all that is no share
        ("flip_rate[mean]<=0.1", 35),
        ("strict_accuracy[min]>=0.8", 17),
    ],
)
def test_the_n_that_it_takes(text: str, n: int) -> None:
    gate = parse_gate(text)
    assert cannot_pass(gate, n, None) is None
    said = cannot_pass(gate, n - 1, None)
    assert said is not None
    assert said.endswith(f"it takes {n}")


def test_a_judge_that_nothing_moves_passes_from_that_n_on(suite: SuiteOf) -> None:
    for n, decision in ((58, PASS), (57, INCONCLUSIVE)):
        report = evaluate({"steady": Steady()}, suite(n), variants=["all"], gates=[DEFAULT_STABILITY_GATE])
        assert [gate.decision for gate in report.gates] == [decision]


@pytest.mark.parametrize("text", ["score_shift[P4]<=1", "score_rms_shift<=1", "vote_shift>=0.1"])
def test_what_cannot_be_told_beforehand(text: str) -> None:
    assert cannot_pass(parse_gate(text), 2, None) is None


def test_too_few_votes_or_orders() -> None:
    assert cannot_measure(parse_gate("vote_shift<=0.2"), 2, True) is None
    assert cannot_measure(parse_gate("vote_shift<=0.2"), 1, True) == (
        "vote_shift<=0.2: vote_shift needs 2 votes of a request, and 1 is asked"
    )
    assert cannot_measure(parse_gate("flip_rate<=0.2"), 1, False) is None
    said = cannot_measure(parse_gate("abs(position_bias)<=0.2"), 3, False)
    assert said is not None
    assert said.endswith("needs pairs shown in both orders, and one is asked")


class Steady:
    version, uses_prompt, cost_usd_per_call = "1", False, 0.0

    def __call__(self, request: Any) -> Any:
        return {"winner": "A" if request.ideas[0].title.startswith("First") else "B"}


class Moved(Steady):
    """Under P5 it turns every third pair; each vote is noise in one of ten."""

    def __call__(self, request: Any) -> Any:
        rng = np.random.default_rng(request.seed)
        turned = request.params.get("p") == "P5" and int(request.instance_id, 16) % 3 == 0
        right = (rng.random() < 0.9) != turned
        return {"winner": "A" if request.ideas[0].title.startswith("First") == right else "B"}


def run(suite: Suite, judge: Any, *gates: str, **options: Any) -> Report:
    return evaluate({"judge": judge}, suite, variants=["all"], gates=gates, **options)


def test_announcements(suite: SuiteOf) -> None:
    made = suite(30, gates=("vote_shift<=0.15", "tie_rate@area:a<=0.2", "flip_rate[P4]<=0.2", "strict_accuracy>=0.8"))
    plan = run(made, Steady()).plan
    assert plan.announcements() == [
        "made: vote_shift<=0.15: 30 instances cannot pass it even without a single event; it takes 163",
        "made: tie_rate@area:a<=0.2: 15 instances cannot pass it even without a single event; it takes 17",
    ]
    once = run(made, Steady(), votes=1).plan.announcements()
    assert "made: vote_shift<=0.15: vote_shift needs 2 votes of a request, and 1 is asked" in once
    alone = evaluate({"judge": Steady()}, made)
    assert "made: vote_shift<=0.15: no variant is asked" in alone.plan.announcements()


# --- the default --------------------------------------------------------------------------------------------


def texts(report: Report) -> list[str]:
    return [gate.gate.text for gate in report.gates]


def test_a_run_with_variants_is_held_to_stability(suite: SuiteOf) -> None:
    assert texts(run(suite(), Steady())) == [DEFAULT_STABILITY_GATE]
    assert texts(evaluate({"judge": Steady()}, suite())) == []  # no variant
    assert texts(run(suite(57), Steady())) == []  # it could not be decided
    assert texts(run(suite(), Steady(), votes=1)) == []
    assert texts(run(suite(), Steady(), "flip_rate[P4]<=0.5")) == ["flip_rate[P4]<=0.5"]
    assert texts(run(suite(gates=("max_flip_rate<=0.5",)), Steady())) == ["max_flip_rate<=0.5"]


# --- deciding -----------------------------------------------------------------------------------------------


def test_decisions_over_variants(suite: SuiteOf) -> None:
    gates = {
        "vote_shift[max]<=0.2": "fail",
        "vote_shift[P4]<=0.3": "pass",
        "flip_rate[mean]<=0.5": "pass",
        "mean_flip_rate<=0.02": "fail",
        "strict_accuracy[min]>=0.9": "fail",
        "strict_accuracy[max]>=0.9": "pass",
        "flip_rate[max]@area:a<=0.9": "pass",
        "reversal_rate[P5]@point<=0.1": "fail",
    }
    report = run(suite(120), Moved(), *gates)
    assert {gate.gate.text: gate.decision for gate in report.gates} == gates
    messages = {gate.gate.text: gate.message for gate in report.gates}
    assert "(most under P5)" in messages["vote_shift[max]<=0.2"]
    assert "(least under P5" in messages["strict_accuracy[min]>=0.9"]
    assert report.metric("vote_shift").value == report.metric("vote_shift", variant="max").value
    assert report.metric("max_flip_rate").value == report.metric("flip_rate", variant="P5").value
    assert report.metric("flip_rate", variant="max", stratum="area:a").n == 60


def test_what_was_not_run_is_not_enforced(suite: SuiteOf) -> None:
    report = evaluate({"judge": Steady()}, suite(gates=("vote_shift<=0.3", "flip_rate[P4]<=0.3")))
    assert {gate.decision for gate in report.gates} == {"not enforced"}
    assert [gate.message for gate in report.gates] == [
        "vote_shift<=0.3: no variant was run: add --novelty-variant=all",
        "flip_rate[P4]<=0.3: the variant P4 was not run",
    ]


def test_skipped_variants_count_for_nothing(suite: SuiteOf) -> None:
    made = suite()
    prompts = {
        name: Variant(name, replace(made.variants["reference"].axes, prompt=f"pairwise/{name.lower()}"), ("prompt",))
        for name in ("P1", "P2")
    }
    own = replace(made, variants={**made.variants, **prompts})
    report = run(own, Steady(), "vote_shift<=0.3", "flip_rate[P1]<=0.3")
    over, named = report.gates
    assert over.decision == "pass"
    assert over.message.endswith("; without P1, P2 (has a prompt of its own)")
    assert (named.decision, named.message) == (
        "not enforced",
        "flip_rate[P1]<=0.3: the variant P1 is skipped: judge has a prompt of its own",
    )
    only = replace(made, variants={"reference": made.variants["reference"], **prompts})
    (none,) = run(only, Steady(), "vote_shift<=0.3").gates
    assert (none.decision, none.message) == (
        "not enforced",
        "vote_shift<=0.3: without P1, P2 (has a prompt of its own)",
    )
    assert {item["variant"] for item in run(only, Steady()).to_dict()["run"]["skipped"]} == {"P1", "P2"}


# --- the n that would decide, and its cost ------------------------------------------------------------------


def test_a_widened_interval_takes_more_than_one_more_instance() -> None:
    """Without any spread 41 ideas reach from 0 to .86 of ten; below a shift of .5 they get with 71."""
    steady = Estimate(0.0, -0.86, 0.86, 41, "BCa (no variation), widened", sd=0.0)
    assert more_needed(parse_gate("score_shift[P1]<=0.5"), steady) == "about 71 instances would decide"


def test_a_root_is_planned_as_its_square() -> None:
    """7.849 x .3^2 / (.15^2 - .2^2)^2 = 2306; and never fewer than a judge that nothing moves would need (91)."""
    gate = parse_gate("vote_shift[P4]<=0.2")
    estimate = Estimate(0.15, 0.05, 0.25, 300, sd=0.3)
    assert more_needed(gate, estimate) == "about 2307 instances would decide"
    steady = Estimate(0.0, 0.0, 0.25, 20, sd=0.0)
    assert more_needed(gate, steady) == "about 91 instances would decide"
    assert decide(gate, steady) == INCONCLUSIVE


@pytest.mark.parametrize(
    ("price", "told"),
    [
        (None, "about 36 instances would decide"),
        (Price(None), "about 36 instances would decide (6 more, cost unknown)"),
        (Price(0.0), "about 36 instances would decide (6 more, free)"),
        (Price(0.0012, "as measured"), "about 36 instances would decide (6 more, about $0.0072, as measured)"),
        (Price(1.5, "as declared"), "about 36 instances would decide (6 more, about $9.00, as declared)"),
    ],
)
def test_what_more_instances_cost(price: Price | None, told: str) -> None:
    interval = clopper_pearson(0, 30)
    assert interval is not None
    estimate = Estimate(0.0, interval.low, interval.high, 30)
    assert more_needed(parse_gate("tie_rate<=0.10"), estimate, price) == told
    assert judge_gate(parse_gate("tie_rate<=0.10"), estimate, "j", "s", price=price).message.endswith(told)


class Paid(Steady):
    cost_usd_per_call = None  # type: ignore[assignment]

    def __call__(self, request: Any) -> Any:
        return {**super().__call__(request), "cost_usd": 0.01}


def test_the_price_of_an_instance_is_of_all_its_calls(suite: SuiteOf) -> None:
    """Six votes under the reference and two variants each: 18 calls; 6 more instances: 108 calls."""
    (measured,) = run(suite(30), Paid(), "tie_rate<=0.10").gates
    assert measured.message.endswith(
        "about 36 instances would decide (6 more, about $1.08, as measured); the suite has 30"
    )
    declared = Steady()
    declared.cost_usd_per_call = 0.02
    (told,) = run(suite(30), declared, "tie_rate<=0.10").gates
    assert told.message.endswith("(6 more, about $2.16, as declared); the suite has 30")
    silent = Steady()
    silent.cost_usd_per_call = None  # type: ignore[assignment]
    (unknown,) = run(suite(30), silent, "tie_rate<=0.10").gates
    assert unknown.message.endswith("(6 more, cost unknown); the suite has 30")


def test_what_was_paid_once_tells_the_price_of_more(suite: SuiteOf, tmp_path: Path) -> None:
    """Asked of the store, six more instances cost what the first thirty did: 108 calls; of a cassette likewise."""
    store = tmp_path / "verdicts.sqlite"
    run(suite(20), Paid(), "tie_rate<=0.10", store=store)
    (partly,) = run(suite(30), Paid(), "tie_rate<=0.10", store=store).gates
    assert partly.message.endswith("(6 more, about $1.08, as measured); the suite has 30")
    (replayed,) = run(suite(30), Paid(), "tie_rate<=0.10", store=store, offline=True).gates
    assert replayed.message.endswith("(6 more, about $1.08, as recorded); the suite has 30")


# --- what would decide --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("level", "over"), [(0.95, ""), (0.984, ""), (0.95, "[max]")])
def test_instances_that_would_decide_do_not_depend_on_how_wide_the_level_makes_the_interval(
    level: float, over: str
) -> None:
    """18 of 200 against .06: the design effect is that of clusters, not of a stricter level or of several variants."""
    low, high = clopper_pearson(18, 200, 1 - 0.05 / 12 if over else level), clopper_pearson(18, 200, level)
    assert low is not None
    assert high is not None
    estimate = Estimate(0.09, low.low, high.high, 200, "Clopper-Pearson", sd=0.29)
    text = more_needed(parse_gate(f"flip_rate[{'max' if over else 'P1'}]<=0.06"), estimate, None, Reach(level))
    plain = planned_n_share(0.09, 0.06, level=level)
    assert text == f"about {plain} instances would decide"


def test_instances_without_votes_are_of_no_use_either() -> None:
    """Of 120 instances 60 could be compared; of further ones half would be."""
    interval = clopper_pearson(6, 60)
    assert interval is not None
    estimate = Estimate(0.1, interval.low, interval.high, 60, "Clopper-Pearson", sd=0.3)
    gate = parse_gate("flip_rate[P1]<=0.2")
    alone = planned_n_share(0.1, 0.2, design_effect=1.0)
    assert alone is not None
    text = more_needed(gate, estimate, None, Reach(ran=120))
    assert text == f"about {max(2 * alone, 121)} instances would decide"
    assert (
        more_needed(gate, replace(estimate, is_open=True)) == "no number of instances would decide, for want of votes"
    )


def test_the_largest_of_an_absolute_value_is_refused_however_it_is_asked_for() -> None:
    for text in ("abs(score_shift)<=1", "abs(score_shift[max])<=1"):
        with pytest.raises(GateSyntaxError, match="absolute value"):
            parse_gate(text)
    assert parse_gate("abs(score_shift[P1])<=1").variant == "P1"


@pytest.mark.parametrize("name", ["max", "min", "mean"])
def test_no_variant_is_called_like_all_of_them(name: str) -> None:
    assert not is_variant_name(name)
    assert is_variant_name(name.upper())
