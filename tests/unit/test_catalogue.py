"""Every entry of the catalogue is computed for a view of its protocol, under a name that DESIGN section 12 has."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty.errors import UnknownNameError
from pytest_novelty.judges.base import Traits
from pytest_novelty.metrics.catalogue import (
    CATALOGUE,
    FAMILIES,
    METRICS,
    PAIRED,
    QUANTITY,
    SHARE,
    SIGNED,
    UNIT,
    get_metric,
    metrics_for,
)
from pytest_novelty.metrics.differences import changes
from pytest_novelty.metrics.grounded import ground
from pytest_novelty.metrics.pairing import Pair
from pytest_novelty.metrics.view import Estimate, View
from pytest_novelty.model import ERROR, NOT_NOVEL, NOVEL, OK, Ground, Vote
from pytest_novelty.outcomes import CaseResult, Trace, Usage, make_outcome
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.verdicts import NOT_SIMILAR, SIMILAR, SUPPORTED, UNSUPPORTED

DESIGNED = set(
    """
    accuracy strict_accuracy soft_accuracy macro_f1 f1_novel f1_not_novel precision recall f1 auroc positive_accuracy
    negative_accuracy tie_rate declared_tie_rate invalid_rate abstention_rate position_bias order_inconsistency excess_order_flip
    flip_rate null_flip_rate reversal_rate retest_flip_rate excess_flip vote_shift max_flip_rate mean_flip_rate score_shift
    rank_flip topk_churn reliability hallucination_rate missing_evidence_rate mismatch_rate verified_precision verified_recall
    verified_f1 pair_precision pair_recall pair_f1 adjusted_rand win_rate lose_rate one_to_one_rate mirage overlap_at_n
    violation_rate kappa alpha spearman leak_rate late_rate retrieval_overlap cost_usd
    """.split()  # noqa: SIM905 - as the page has them
)
_KINDS = ("hallucination_rate", "missing_evidence_rate", "mismatch_rate")
_SHARES = ("ungrounded_rate", "verified_rate", "unchecked_rate")
ADDED = {
    *("score_levels", "score_rms_shift", "cyclic_triads", "grounded_f1", "retained_share", "missing_reason_rate"),
    *(f"{name}{suffix}" for name in (*_KINDS, "missing_reason_rate") for suffix in ("_false", "_all")),
    *(f"{name}{suffix}" for name in _SHARES for suffix in ("", "_all")),
}
"""Beside those of the page: STATISTICS.md 1 asks for the number of levels used and for the scatter of scores, and the design of
triads for what they are made for (its tests: test_transitivity.py). ``grounded_f1`` is the middle step of the cascade, ``retained_share`` what
its last leaves of the first; rates are of true, of false and of all positives.
"""

PLANTED: dict[str, dict[str, tuple[float, int]]] = {
    "pairwise": {
        "strict_accuracy": (1 / 4, 4),
        "soft_accuracy": (1.5 / 4, 4),
        "tie_rate": (1 / 4, 4),
        "declared_tie_rate": (0, 4),
        "abstention_rate": (0, 4),
        "invalid_rate": (1 / 4, 4),
        "retest_flip_rate": (0, 3),
        "position_bias": (1 / 3, 3),
        "order_inconsistency": (1 / 3, 3),
        "excess_order_flip": (1 / 3, 3),
        "leak_rate": (1 / 2, 2),
        "late_rate": (1, 1),
        "retrieval_overlap": (3 / 4, 2),
        "cost_usd": (0.04, 4),
    },
    "pointwise": {
        "accuracy": (3 / 4, 4),
        "macro_f1": (1 / 2 * (4 / 5 + 2 / 3), 4),
        "f1_novel": (4 / 5, 4),
        "f1_not_novel": (2 / 3, 4),
        "auroc": (1, 4),
        "tie_rate": (0, 4),
        "abstention_rate": (0, 4),
        "invalid_rate": (0, 4),
        "retest_flip_rate": (0, 4),
        "reliability": (1, 4),
        "score_levels": (4, 4),
        "leak_rate": (1 / 2, 2),
        "late_rate": (1, 1),
        "retrieval_overlap": (3 / 4, 2),
        "cost_usd": (0.04, 4),
    },
    "similarity": {
        "accuracy": (1 / 4, 4),
        "macro_f1": (1 / 2 * (2 / 3 + 0), 4),
        "f1": (7 / 12, 3),
        "precision": (3 / 4, 2),
        "recall": (1 / 2, 2),
        "positive_accuracy": (1 / 2, 2),
        "negative_accuracy": (1 / 4, 2),  # of votes: those of a tie count one by one
        "hallucination_rate": (0, 1),
        "missing_evidence_rate": (0, 1),
        "mismatch_rate": (0, 1),
        "missing_reason_rate": (0, 1),
        "ungrounded_rate": (0, 1),
        "verified_rate": (1, 1),
        "unchecked_rate": (0, 1),
        "ungrounded_rate_all": (0, 2),
        "verified_rate_all": (1, 2),
        "unchecked_rate_all": (0, 2),
        "retained_share": (1, 3),
        **dict.fromkeys((f"{name}_false" for name in (*_KINDS, "missing_reason_rate")), (0, 1)),
        **dict.fromkeys((f"{name}_all" for name in (*_KINDS, "missing_reason_rate")), (0, 2)),
        "grounded_f1": (7 / 12, 3),
        "verified_f1": (7 / 12, 3),
        "verified_precision": (3 / 4, 2),
        "verified_recall": (1 / 2, 2),
        "tie_rate": (1 / 4, 4),
        "abstention_rate": (0, 4),
        "invalid_rate": (1 / 4, 4),
        "retest_flip_rate": (0, 3),
        "order_inconsistency": (1 / 3, 3),
        "excess_order_flip": (1 / 3, 3),
        "leak_rate": (1 / 2, 2),
        "late_rate": (1, 1),
        "retrieval_overlap": (3 / 4, 2),
        "cost_usd": (0.04, 4),
    },
    "entailment": {
        "accuracy": (3 / 4, 4),
        "macro_f1": (1 / 2 * (4 / 5 + 2 / 3), 4),
        "f1": (4 / 5, 4),
        "kappa": (1 / 2, 4),
        "precision": (2 / 3, 3),
        "recall": (1, 2),
        "tie_rate": (0, 4),
        "abstention_rate": (0, 4),
        "invalid_rate": (0, 4),
        "retest_flip_rate": (0, 4),
        "leak_rate": (1 / 2, 2),
        "late_rate": (1, 1),
        "retrieval_overlap": (3 / 4, 2),
        "cost_usd": (0.04, 4),
    },
    "grouping": {
        "accuracy": (1 / 4, 4),
        "hallucination_rate": (0, 1),
        "missing_evidence_rate": (0, 1),
        "mismatch_rate": (0, 1),
        "missing_reason_rate": (0, 1),
        "ungrounded_rate": (0, 1),
        "verified_rate": (1, 1),
        "unchecked_rate": (0, 1),
        "ungrounded_rate_all": (0, 2),
        "verified_rate_all": (1, 2),
        "unchecked_rate_all": (0, 2),
        "retained_share": (1, 3),
        **dict.fromkeys((f"{name}_false" for name in (*_KINDS, "missing_reason_rate")), (0, 1)),
        **dict.fromkeys((f"{name}_all" for name in (*_KINDS, "missing_reason_rate")), (0, 2)),
        "grounded_f1": (7 / 12, 3),
        "verified_f1": (7 / 12, 3),
        "verified_precision": (3 / 4, 2),
        "verified_recall": (1 / 2, 2),
        "pair_f1": (7 / 12, 3),
        "pair_precision": (3 / 4, 2),
        "pair_recall": (1 / 2, 2),
        "adjusted_rand": (3 / 8, 4),
        "retest_flip_rate": (0, 3),
        "order_inconsistency": (1 / 3, 3),
        "excess_order_flip": (1 / 3, 3),
        "tie_rate": (1 / 4, 4),
        "abstention_rate": (0, 4),
        "invalid_rate": (1 / 4, 4),
        "leak_rate": (1 / 2, 2),
        "late_rate": (1, 1),
        "retrieval_overlap": (3 / 4, 2),
        "cost_usd": (0.04, 4),
    },
}
"""(value, n) of the planted views below."""

NAMES: dict[str, tuple[str, str]] = {
    "pairwise": ("x", "y"),
    "pointwise": (NOVEL, NOT_NOVEL),
    "similarity": (SIMILAR, NOT_SIMILAR),
    "entailment": (UNSUPPORTED, SUPPORTED),
    "grouping": ('[["x","y"]]', "[]"),
}
"""Two labels of each protocol, x and y below."""
HELD = (Ground(("x", "y"), ("verbatim", "verbatim"), ("", ""), True, True),)


@pytest.fixture
def planted(make_suite: Callable[..., Any], make_instance: Callable[..., Any]) -> Callable[[str], View]:
    def build(protocol: str) -> View:
        """In two orders: right, wrong, by position, failed. In none: right, wrong, right, right, with scores in the right order
        where there are scores.
        """
        in_orders, scores = protocol not in ("pointwise", "entailment"), protocol == "pointwise"
        x, y = NAMES[protocol]
        golds = {"pairwise": [x] * 4, "pointwise": [x, y, y, x], "entailment": [x, y, y, x]}.get(protocol, [x, x, y, y])
        words = ["xxxx", "yyyy", "xxyy", "----"] if in_orders else ["xx", "xx", "yy", "xx"]
        said = [[{"x": x, "y": y, "-": "-"}[letter] for letter in word] for word in words]
        traces = [Trace(True, True, 1.0), Trace(False, None, 0.5), Trace(), Trace()]
        made = [
            make_instance("pointwise" if scores else "pairwise", f"i{k}", gold=gold) for k, gold in enumerate(golds)
        ]
        suite, traits = make_suite(protocol, *made), Traits(may_tie=True, may_abstain=True)
        orders = ("ab", "ba") if in_orders else (None,)
        results = []
        for k, instance in enumerate(made):
            votes = [
                Vote(
                    orders[j // 2], j % 2, ERROR if label == "-" else OK, "",
                    None if label == "-" else label, (9.0, 2.0, 1.0, 8.0)[k] if scores else None, grounds=HELD if label == x and in_orders else (),
                )
                for j, label in enumerate(said[k])
            ]  # fmt: skip
            outcome = make_outcome(suite, instance, votes, orders, traits)
            usage = Usage(made=1, cost_usd=0.01)
            results.append(CaseResult("judge", suite.name, "reference", instance.id, outcome, usage, traces[k]))
        return View(results, suite, traits)

    return build


@pytest.mark.parametrize(
    ("protocol", "name"), [(protocol, name) for protocol, values in PLANTED.items() for name in values]
)
def test_every_metric_of_a_planted_view(protocol: str, name: str, planted: Callable[[str], View]) -> None:
    estimate = get_metric(name).compute(planted(protocol))
    assert isinstance(estimate, Estimate)
    value, n = PLANTED[protocol][name]
    assert (estimate.value, estimate.n) == (pytest.approx(value, abs=1e-12), n)
    assert estimate.low is not None
    assert estimate.high is not None
    assert estimate.low - 1e-12 <= value <= estimate.high + 1e-12


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_the_metrics_of_a_protocol_are_those_tested_above(protocol: str, planted: Callable[[str], View]) -> None:
    assert [metric.name for metric in metrics_for(planted(protocol).suite)] == [
        name for name, metric in CATALOGUE.items() if protocol in metric.protocols
    ]
    elsewhere = {"cyclic_triads"}
    assert {metric.name for metric in metrics_for(planted(protocol).suite)} - elsewhere == PLANTED[protocol].keys()


def test_the_names_are_those_of_the_design() -> None:
    assert METRICS.keys() - DESIGNED == ADDED
    assert METRICS.keys() == CATALOGUE.keys() | PAIRED.keys() | FAMILIES.keys()


@pytest.mark.parametrize("name", sorted(CATALOGUE))
def test_every_entry_is_well_formed(name: str) -> None:
    metric = CATALOGUE[name]
    assert metric.name == name
    assert metric.title.strip()
    assert metric.kind in {SHARE, UNIT, SIGNED, QUANTITY}
    assert metric.better in {"high", "low", ""}
    assert metric.protocols
    assert set(metric.protocols) <= PROTOCOLS.keys()
    assert get_metric(name) is metric


@pytest.mark.parametrize(("protocol", "name"), [(p, n) for p, values in PLANTED.items() for n in values])
def test_those_that_need_gold_say_so(protocol: str, name: str, planted: Callable[[str], View]) -> None:
    view = planted(protocol)
    instances = tuple(replace(instance, gold=None) for instance in view.instances)
    suite = replace(view.suite, instances=instances, label_kind="none")
    bare = View(view.results, suite, view.traits)
    assert (get_metric(name).compute(bare).value is None) == get_metric(name).labelled


def test_what_traces_and_prices_leave_out_is_said(planted: Callable[[str], View]) -> None:
    view = planted("pairwise")
    notes = {
        name: get_metric(name).compute(view).note
        for name in ("leak_rate", "late_rate", "retrieval_overlap", "cost_usd")
    }
    assert notes == {
        "leak_rate": "2 instances without a trace left out", "late_rate": "3 instances without a trace left out",
        "retrieval_overlap": "", "cost_usd": "4 calls made in this run",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("usage", "note"),
    [
        (Usage(made=2, unpriced=1, cost_usd=0.25), "the cost of 4 of 8 calls is unknown; the others cost $1.0000"),
        (Usage(made=2, unpriced=2), "the cost of 8 of 8 calls is unknown"),
    ],
)
def test_an_unknown_price_is_not_nothing(usage: Usage, note: str, planted: Callable[[str], View]) -> None:
    view = planted("pairwise")
    dear = View([r._replace(usage=usage, trace=Trace()) for r in view.results], view.suite, view.traits)
    assert (get_metric("cost_usd").compute(dear).value, get_metric("cost_usd").compute(dear).note) == (None, note)
    overlap = get_metric("retrieval_overlap").compute(dear)
    assert (overlap.value, overlap.note) == (None, "no answer lists what was retrieved")
    every = View([r._replace(trace=Trace(leaked=False)) for r in view.results], view.suite, view.traits)
    assert get_metric("leak_rate").compute(every).note == ""


def test_an_unknown_metric() -> None:
    with pytest.raises(UnknownNameError, match="unknown metric 'acuracy'. Did you mean 'accuracy'"):
        get_metric("acuracy")


def test_titles_tell_the_metrics_of_a_protocol_apart(planted: Callable[[str], View]) -> None:
    for protocol in PLANTED:
        titles = [metric.title_for(protocol) for metric in metrics_for(planted(protocol).suite)]
        assert len(set(titles)) == len(titles)


@pytest.mark.parametrize(("protocol", "prefix"), [("similarity", ""), ("grouping", "pair_")])
def test_what_the_cascade_begins_with_is_per_vote_as_its_steps_are(
    protocol: str, prefix: str, planted: Callable[[str], View]
) -> None:
    """Else more would be found and verified than found: a majority loses the votes of a tie."""
    view = planted(protocol)
    for name in ("precision", "recall", "f1"):
        found, verified = (get_metric(full).compute(view).value for full in (prefix + name, f"verified_{name}"))
        assert found is not None
        assert verified is not None
        assert found >= verified
        assert found == ground(view).rates[name].value
        assert "vote" in CATALOGUE[prefix + name].title_for(protocol)
    assert CATALOGUE["accuracy"].title_for(protocol) == "right, by majority"
    assert CATALOGUE["accuracy"].title_for("pointwise") == "right"


def test_changes_are_of_the_same_f1(planted: Callable[[str], View]) -> None:
    """The tie (two votes of four) became four wrong ones, which a majority sees too, and differently."""
    view = planted("similarity")
    better = view.results[0]._replace(instance=view.results[2].instance)
    one = View([view.results[0], view.results[1], better, view.results[3]], view.suite, view.traits)
    change = {item.metric: item.estimate.value for item in changes(Pair(one, view))}["f1"]
    f1s = [get_metric("f1").compute(side).value for side in (one, view)]
    assert None not in f1s
    assert change == pytest.approx(f1s[0] - f1s[1])


def test_what_may_have_been_looked_up_has_no_f1_of_votes(planted: Callable[[str], View]) -> None:
    view = planted("similarity")
    instances = tuple(replace(instance, as_of=date(2020, 1, 1)) for instance in view.instances)
    blind = View(
        [result._replace(trace=Trace()) for result in view.results],
        replace(view.suite, instances=instances),
        Traits(retrieves=True),
    )
    assert get_metric("f1").compute(blind).note.startswith("not evaluable")


def test_the_readme_lists_the_metrics_of_grounding_that_exist() -> None:
    """A name in a row of the table, with the suffixes that the row offers, is a metric, and each of them is in one."""
    readme = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")
    table = readme.partition("## How to read the table")[2].partition("\n## ")[0]
    listed: set[str] = set()
    for row in re.findall(r"^\| (.*) \| (.*) \|$", table, re.M):
        names = re.findall(r"`([a-z0-9_]+)`", row[0])
        suffixes = [suffix for suffix in ("_false", "_all") if f"`{suffix}`" in row[1]]
        listed |= {name + suffix for name in names for suffix in ("", *suffixes)}
    assert listed <= METRICS.keys()
    of_evidence = {
        name
        for name, metric in CATALOGUE.items()
        if "grouping" in metric.protocols and metric.function.startswith("grounded:")
    }
    assert of_evidence <= listed
