"""For every metric that can be gated: a planted judge that must fail its gate, and one that must pass it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty import evaluate
from pytest_novelty.metrics.catalogue import METRICS
from pytest_novelty.results import Report

from . import planted
from .making import Lab, write_suite
from .test_planted_papers import NAMED

_N = 60
_VOTES = 3

_Judge = Callable[[Any], Any]

# gate, protocol, the judge that must pass it, the judges that must fail it
_GATES: list[tuple[str, str, _Judge, list[_Judge]]] = [
    (
        "strict_accuracy>=0.7",
        "pairwise",
        planted.oracle,
        [
            planted.first,
            planted.second,
            planted.anti_oracle,
            planted.coin,
            planted.prose,
            planted.echo,
            planted.ties,
            planted.abstains,
        ],
    ),
    (
        "soft_accuracy>=0.7",
        "pairwise",
        planted.oracle,
        [planted.first, planted.anti_oracle, planted.coin, planted.prose, planted.ties],
    ),
    (
        "accuracy>=0.7",
        "pointwise",
        planted.oracle,
        [
            planted.novel,
            planted.not_novel,
            planted.anti_oracle,
            planted.coin,
            planted.prose,
            planted.echo,
            planted.abstains,
            planted.one_score,
        ],
    ),
    (
        "macro_f1>=0.7",
        "pointwise",
        planted.async_oracle,
        [planted.novel, planted.anti_oracle, planted.coin, planted.prose, planted.one_score],
    ),
    (
        "f1_novel>=0.8",
        "pointwise",
        planted.oracle,
        [planted.not_novel, planted.anti_oracle, planted.coin, planted.echo],
    ),
    (
        "f1_not_novel>=0.8",
        "pointwise",
        planted.oracle,
        [planted.novel, planted.anti_oracle, planted.coin, planted.echo],
    ),
    ("auroc>=0.75", "pointwise", planted.good_scores, [planted.bad_scores, planted.noise_scores, planted.one_score]),
    ("auroc>=0.75", "pointwise", planted.good_scores_downward, [planted.bad_scores]),
    ("tie_rate<=0.2", "pairwise", planted.oracle, [planted.first, planted.second, planted.ties]),
    ("declared_tie_rate<=0.2", "pairwise", planted.may_tie_but_does_not, [planted.ties]),
    ("abstention_rate<=0.2", "pairwise", planted.may_abstain_but_does_not, [planted.abstains]),
    ("abstention_rate<=0.2", "pointwise", planted.may_abstain_but_does_not, [planted.abstains]),
    ("invalid_rate<=0.1", "pointwise", planted.oracle, [planted.fails_every_third, planted.prose, planted.echo]),
    ("invalid_rate<=0.1", "pairwise", planted.first, [planted.fails_every_third, planted.prose, planted.echo]),
    ("retest_flip_rate<=0.2", "pointwise", planted.anti_oracle, [planted.coin, planted.noisy]),
    ("retest_flip_rate<=0.2", "pairwise", planted.first, [planted.coin, planted.noisy]),
    ("abs(position_bias)<=0.3", "pairwise", planted.anti_oracle, [planted.first, planted.second]),
    ("position_bias<=0.3", "pairwise", planted.second, [planted.first]),
    ("position_bias>=-0.3", "pairwise", planted.first, [planted.second]),
    ("order_inconsistency<=0.2", "pairwise", planted.oracle, [planted.first, planted.second, planted.coin]),
    ("excess_order_flip<=0.2", "pairwise", planted.oracle, [planted.first, planted.second]),
    ("reliability>=0.8", "pointwise", planted.good_scores, [planted.noise_scores]),
    ("score_levels>=10", "pointwise", planted.good_scores, [planted.one_score]),
    ("leak_rate<=0.1", "pairwise", planted.careful, [planted.leaks]),
    ("leak_rate<=0.1", "pointwise", planted.careful, [planted.leaks]),
    ("late_rate<=0.1", "pointwise", planted.careful, [planted.late]),
    ("retrieval_overlap>=0.8", "pointwise", planted.careful, [planted.scattered]),
    ("cost_usd<=1", "pointwise", planted.is_free, [planted.costs_a_cent, planted.tells_its_cost]),
]

_UNDEFINED: list[tuple[str, str, _Judge]] = [
    # what cannot be measured is inconclusive, never a pass
    ("auroc>=0.75", "pointwise", planted.oracle),
    ("accuracy>=0.1", "pointwise", planted.good_scores),
    ("accuracy>=0.1", "pointwise", planted.secretive),
    ("strict_accuracy>=0.1", "pairwise", planted.secretive),
    ("retest_flip_rate<=0.9", "pointwise", planted.prose),
    ("position_bias<=0.9", "pairwise", planted.ties),
    ("reliability>=0.1", "pointwise", planted.one_score),
    ("reliability>=0.1", "pointwise", planted.oracle),
    ("declared_tie_rate<=0.9", "pairwise", planted.oracle),
    ("abstention_rate<=0.9", "pointwise", planted.oracle),
    ("leak_rate<=0.9", "pointwise", planted.secretive),
    ("late_rate<=0.9", "pointwise", planted.oracle),
    ("retrieval_overlap>=0.1", "pointwise", planted.oracle),
    ("cost_usd<=1000", "pointwise", planted.oracle),
]


@pytest.fixture(scope="module")
def suites(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a suite of each protocol and the gold of both."""
    folder = tmp_path_factory.mktemp("planted")
    write_suite(folder, "pointwise", _N, "pointwise", votes=_VOTES)
    write_suite(folder, "pairwise", _N, "pairwise", votes=_VOTES)
    efforts = {"low": {"effort": "low"}, "high": {"effort": "high"}}
    for protocol in ("pointwise", "pairwise"):
        write_suite(folder, f"{protocol}-variants", _N, protocol, votes=_VOTES, variants=efforts)
    return folder


@pytest.fixture(autouse=True)
def _in_the_folder(suites: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(suites)


_REPORTS: dict[tuple[str, str], Report] = {}


def _report(judge: _Judge, protocol: str) -> Report:
    """All gates of the protocol at once, one run a judge."""
    name = judge.__name__
    if (name, protocol) not in _REPORTS:
        gates = dict.fromkeys(gate for gate, of, *_ in (*_GATES, *_UNDEFINED) if of == protocol)
        _REPORTS[name, protocol] = evaluate(judge, protocol, gates=gates)
    return _REPORTS[name, protocol]


def _decision(report: Report, text: str, protocol: str, judge: _Judge) -> str:
    found = [gate for gate in report.gates if gate.gate.text == text]
    if not found:  # another threshold on the same quantity took its place
        found = evaluate(judge, protocol, gates=[text]).gates
    assert len(found) == 1
    return found[0].decision


@pytest.mark.parametrize(
    ("gate", "protocol", "judge", "wanted"),
    [
        pytest.param(gate, protocol, judge, wanted, id=f"{gate}-{protocol}-{judge.__name__}-{wanted}")
        for gate, protocol, good, bad in _GATES
        for judge, wanted in [(good, "pass"), *((one, "fail") for one in bad)]
    ]
    + [
        pytest.param(gate, protocol, judge, "inconclusive", id=f"{gate}-{protocol}-{judge.__name__}-undefined")
        for gate, protocol, judge in _UNDEFINED
    ],
)
def test_gate(gate: str, protocol: str, judge: _Judge, wanted: str) -> None:
    report = _report(judge, protocol)
    assert _decision(report, gate, protocol, judge) == wanted, [row.message for row in report.gates]
    if wanted == "inconclusive":
        decided = [row for row in report.gates if row.gate.text == gate]
        assert all("is undefined: " in row.message for row in decided)


# What compares variants with the reference: gate, protocol, judges that must pass and that must fail it.
_OVER_VARIANTS: list[tuple[str, str, list[_Judge], list[_Judge]]] = [
    ("flip_rate<=0.2", "pairwise", [planted.oracle, planted.first], [planted.coin, planted.first_under_a_variant]),
    ("max_flip_rate<=0.2", "pairwise", [planted.oracle], [planted.coin]),
    ("mean_flip_rate<=0.2", "pairwise", [planted.oracle], [planted.first_under_a_variant]),
    ("reversal_rate<=0.1", "pairwise", [planted.oracle, planted.first_under_a_variant], [planted.coin]),
    ("null_flip_rate<=0.2", "pairwise", [planted.oracle], [planted.coin]),
    ("excess_flip<=0.25", "pairwise", [planted.oracle, planted.coin, planted.first], [planted.first_under_a_variant]),
    ("vote_shift<=0.5", "pairwise", [planted.oracle, planted.coin, planted.second], [planted.first_under_a_variant]),
    ("flip_rate<=0.2", "pointwise", [planted.anti_oracle], [planted.coin]),
    ("vote_shift<=0.35", "pointwise", [planted.anti_oracle], [planted.turns_under_a_variant]),
    ("abs(score_shift[low])<=0.5", "pointwise", [planted.good_scores], [planted.drifts]),
    ("score_rms_shift<=2.5", "pointwise", [planted.good_scores], []),  # one idea in sixty may move by the whole scale
    ("score_rms_shift<=0.5", "pointwise", [], [planted.drifts]),
    ("rank_flip<=0.45", "pointwise", [planted.good_scores], [planted.turns_scores]),
    ("topk_churn<=0.5", "pointwise", [planted.steady_scores], [planted.turns_scores]),
]


@pytest.mark.parametrize(
    ("gate", "protocol", "judge", "wanted"),
    [
        pytest.param(gate, protocol, judge, wanted, id=f"{gate}-{protocol}-{judge.__name__}-{wanted}")
        for gate, protocol, good, bad in _OVER_VARIANTS
        for judge, wanted in [*((one, "pass") for one in good), *((one, "fail") for one in bad)]
    ],
)
def test_gate_over_variants(gate: str, protocol: str, judge: _Judge, wanted: str) -> None:
    (decided,) = [row for row in _over_variants(judge, protocol).gates if row.gate.text == gate]
    assert decided.decision == wanted, decided.message


def _over_variants(judge: _Judge, protocol: str) -> Report:
    """All gates of the protocol at once, under two efforts."""
    name = judge.__name__
    if (name, f"{protocol} variants") not in _REPORTS:
        gates = [gate for gate, of, *_ in _OVER_VARIANTS if of == protocol]
        report = evaluate(judge, f"{protocol}-variants", variants=["all"], gates=gates)
        _REPORTS[name, f"{protocol} variants"] = report
    return _REPORTS[name, f"{protocol} variants"]


def test_every_metric_has_its_judges() -> None:
    named = {
        re.split("[<>[]", gate.removeprefix("abs("))[0].removesuffix(")") for gate, *_ in (*_GATES, *_OVER_VARIANTS)
    }
    elsewhere = {"cyclic_triads", *NAMED}  # needs closed triads: test_stability.py; of papers: test_planted_papers.py
    assert named == set(METRICS) - elsewhere


# --- what each is like --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("judge", "sign"), [(planted.first, 1.0), (planted.second, -1.0)], ids=["first", "second"])
def test_following_the_position(judge: _Judge, sign: float) -> None:
    report = _report(judge, "pairwise")
    values = {
        name: report.metric(name).value for name in ("position_bias", "strict_accuracy", "soft_accuracy", "tie_rate")
    }
    assert values == {"position_bias": sign, "strict_accuracy": 0.0, "soft_accuracy": 0.5, "tie_rate": 1.0}
    assert report.metric("tie_rate").note == f"{_N} position"
    assert report.metric("order_inconsistency").value == report.metric("excess_order_flip").value == 1.0
    assert report.metric("retest_flip_rate").value == 0.0
    word = "first" if sign > 0 else "second"
    assert (
        f"degenerate: {judge.__name__} on pairwise answers by position: 360 of 360 votes name the idea shown {word}"
        in report.findings
    )


def test_the_coin() -> None:
    """STATISTICS.md 4, three votes an order: ties 5/16, right 11/32, soft 1/2, retest 1/2, no excess, no bias."""
    report = _report(planted.coin, "pairwise")
    closed = {
        "tie_rate": 5 / 16, "strict_accuracy": 11 / 32, "soft_accuracy": 1 / 2, "retest_flip_rate": 1 / 2,
        "excess_order_flip": 0.0, "position_bias": 0.0, "order_inconsistency": 1 / 2,
    }  # fmt: skip
    for name, value in closed.items():
        estimate = report.metric(name)
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.low <= value <= estimate.high, (name, estimate)
    assert report.findings == []


@pytest.mark.parametrize(
    ("judge", "protocol", "said"),
    [
        (planted.novel, "pointwise", "says novel to nearly everything: 180 of 180 votes"),
        (planted.not_novel, "pointwise", "says not novel to nearly everything: 180 of 180 votes"),
        (planted.one_score, "pointwise", "gives the score 7 to 180 of 180 votes"),
        (planted.leaks, "pointwise", "found the very idea in 60 of 60 instances"),
        (planted.secretive, "pointwise", "may have looked up the answer"),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_degenerate_judges_are_named(judge: _Judge, protocol: str, said: str) -> None:
    assert any(said in finding for finding in _report(judge, protocol).findings)


@pytest.mark.parametrize(
    "judge", [planted.oracle, planted.anti_oracle, planted.good_scores, planted.careful], ids=lambda j: j.__name__
)
def test_others_are_not(judge: _Judge) -> None:
    assert _report(judge, "pointwise").findings == []


def test_kinds_of_failures() -> None:
    for judge, kind in (
        (planted.prose, "not JSON"),
        (planted.echo, "schema echo"),
        (planted.fails_every_third, "judge raised"),
    ):
        calls = 60 if judge is planted.fails_every_third else 180
        note = _report(judge, "pointwise").metric("invalid_rate").note
        assert note == f"{calls} of 180 calls: {calls} {kind}"
    assert _report(planted.prose, "pointwise").metric("accuracy").note == f"{_N} invalid"
    assert (
        _report(planted.fails_every_third, "pairwise").metric("strict_accuracy").value == 1.0
    )  # the other votes decide
    assert _report(planted.ties, "pairwise").metric("tie_rate").note == f"{_N} declared"
    assert _report(planted.abstains, "pointwise").metric("accuracy").note == f"{_N} abstained"


def test_money() -> None:
    assert _report(planted.costs_a_cent, "pointwise").metric("cost_usd").value == pytest.approx(1.8)
    assert _report(planted.tells_its_cost, "pointwise").metric("cost_usd").value == pytest.approx(3.6)
    assert _report(planted.is_free, "pointwise").metric("cost_usd").value == 0.0
    assert _report(planted.oracle, "pointwise").calls.cost_usd is None


def test_under_pytest(lab: Lab, dist: str) -> None:
    """The same with everything around it: decisions, exit status, findings on the terminal."""
    lab.planted()
    lab.suite(
        "pairs",
        n=40,
        protocol="pairwise",
        gates=["strict_accuracy>=0.7", "tie_rate<=0.2", "abs(position_bias)<=0.3", "invalid_rate<=0.1"],
    )
    judges = {
        "oracle": ["pass", "pass", "pass", "pass"],
        "anti_oracle": ["fail", "pass", "pass", "pass"],
        "first": ["fail", "fail", "fail", "pass"],
        "prose": ["fail", "pass", "inconclusive", "fail"],
    }
    ran = lab.judge(" ".join(f"planted:{name}" for name in judges), "pairs", dist=dist)
    assert ran.ret == 1
    for name, wanted in judges.items():
        own = [gate["decision"] for gate in ran.report["gates"] if gate["judge"] == name]
        assert own == wanted, name
    assert "Finding: degenerate: first on pairs answers by position" in ran.plain
    good = lab.judge("planted:oracle", "pairs", dist="" if dist else "-n2")
    assert (good.ret, good.counts()) == (0, {"passed": 44})
