"""Judges of papers beside each other, under variants and in two runs: what is measured of one is measured of several."""

from __future__ import annotations

import json
from dataclasses import replace
from random import Random
from typing import Any
from zlib import crc32

import pytest

from pytest_novelty import evaluate
from pytest_novelty.between_runs.changes import compare_reports
from pytest_novelty.between_runs.reading import SavedReport, read_report
from pytest_novelty.errors import SuiteError
from pytest_novelty.headline import headline_sentences
from pytest_novelty.metrics.grounded import ground
from pytest_novelty.model import Axes, Request, Variant
from pytest_novelty.reports.grounding import grounding_blocks
from pytest_novelty.reports.terminal import render

from .test_planted_papers import JUDGES, make_suite, planted

_PAPERS = ("similarity", "grouping", "entailment")


@pytest.mark.parametrize("protocol", _PAPERS)
def test_two_judges_and_a_variant(protocol: str) -> None:
    suite = make_suite(protocol)
    more = Variant("more", Axes(f"{protocol}/reference", votes=2))
    suite = replace(suite, variants={**suite.variants, "more": more})
    names = ("audits", "doubts all") if protocol == "entailment" else ("perfect", "never")
    report = evaluate(
        {name: JUDGES[name] for name in names}, suite, variants=["more"], reference=names[1].replace(" ", "-")
    )
    assert {item.variant for item in report.variants} == {"more"}
    assert report.metric("flip_rate", judge=names[0], variant="more").value == 0.0
    (compared, *_) = report.comparisons
    assert compared.accuracy_difference.value == 0.5
    assert bool(compared.transitions) == (protocol != "grouping")  # partitions are too many for a table


_UNREASONED = planted(lambda kelp, count: kelp, reason=" ")


@pytest.mark.parametrize("protocol", ["similarity", "grouping"])
def test_a_missing_reason_is_never_verified(protocol: str) -> None:
    """Nobody can ever check it: it is open in no bound, and a failing of its own."""
    report = evaluate({"mute": _UNREASONED}, make_suite(protocol))
    rates = report.grounding[0].found.rates
    assert [rates[name].value for name in ("missing_reason_rate", "unchecked_rate", "grounded_f1")] == [1, 0, 1]
    assert (rates["verified_f1"].value, rates["verified_f1"].upper) == (0, 0)
    assert rates["mismatch_rate"].value is None  # nothing is left to ask about
    (block,) = grounding_blocks(report)
    assert any(
        note.startswith("right positives: of ")
        and note.endswith(" 0 hallucinated, 0 without evidence, 60 (100 %) without a reason")
        for note in block.notes
    )


@pytest.mark.parametrize("protocol", ["similarity", "grouping"])
@pytest.mark.parametrize("judge", ["invents", "never"])
def test_where_no_reason_is_left_to_judge_nothing_is_open(protocol: str, judge: str) -> None:
    """None of its positive verdicts is verified, and that is known, not unknown: the gate fails."""
    gates = ["verified_f1>=0.5", "verified_recall>=0.5"]
    report = evaluate({"planted": JUDGES[judge]}, make_suite(protocol), gates=gates, auditor=JUDGES["audits"])
    found = report.grounding[0].found.rates["verified_f1"]
    assert (found.value, found.lower, found.upper) == (0, 0, 0)
    assert [gate.decision for gate in report.gates if gate.gate.text in gates] == ["fail", "fail"]


def test_where_reasons_wait_for_an_auditor_that_says_nothing_all_is_open() -> None:
    def silent(request: Request) -> dict[str, Any]:
        raise RuntimeError("down")

    silent.uses_prompt = False  # type: ignore[attr-defined]
    gates = ["verified_f1>=0.5"]
    report = evaluate({"planted": JUDGES["perfect"]}, make_suite("similarity"), gates=gates, auditor=silent)
    (gate,) = (gate for gate in report.gates if gate.gate.text in gates)
    assert (
        gate.decision,
        "60 statements of its votes not audited; run again to repeat audits that failed (--novelty-refresh: also where an answer was no verdict)"
        in gate.message,
    ) == (
        "inconclusive",
        True,
    )


def test_audits_that_fail_leave_figures_between_two_and_gates_open() -> None:
    """Some reasons are audited: so much of F1 is verified, and the rest may be. No more instances would tell."""

    def flaky(request: Request) -> dict[str, Any]:
        if int(request.reason.split()[-1].rstrip(".")) % 3 == 0:
            raise RuntimeError("down")
        return {"supported": True}

    def numbered(request: Request) -> dict[str, Any]:
        said = JUDGES["perfect"](request)
        number = crc32("".join(sorted(paper.title + paper.text for paper in request.papers)).encode())
        return {**said, "reason": f"They share number {number}."}

    flaky.uses_prompt = numbered.uses_prompt = False  # type: ignore[attr-defined]
    gates = [
        "verified_f1@point>=0.9",
        "retained_share>=0.9",
        "mismatch_rate@point<=0.1",
        "hallucination_rate@point<=0.1",
    ]
    report = evaluate({"planted": numbered}, make_suite("similarity"), gates=gates, auditor=flaky)
    rates = report.grounding[0].found.rates
    verified = rates["verified_f1"]
    assert verified.lower is not None
    assert 0 < verified.lower < verified.upper == 1
    assert verified.sd == 0  # equal in both votes, to the last digit
    decided = {gate.gate.text: (gate.decision, gate.advice) for gate in report.gates if gate.gate.text in gates}
    missing = round(60 * (1 - verified.lower))
    waiting = (
        "inconclusive",
        f"{missing} statements of its votes not audited; run again to repeat audits that failed (--novelty-refresh: also where an answer was no verdict)",
    )
    assert decided == {**dict.fromkeys(gates[:3], waiting), gates[3]: ("pass", "")}
    (block,) = grounding_blocks(report)
    low = f"{100 * verified.lower:.0f} to 100 %"
    assert block.rows[2][1].startswith(low)
    assert f"F1 that is retained: {low}" in "\n".join(block.notes)
    assert f"of the rest ({60 - missing} audited) 0 to " in "\n".join(block.notes)


def test_what_is_of_all_positives_needs_no_gold_labels() -> None:
    suite = make_suite("similarity")
    bare = replace(suite, label_kind="none", instances=tuple(replace(each, gold=None) for each in suite.instances))
    report = evaluate({"planted": JUDGES["all, invents"]}, bare, gates=["hallucination_rate_all<=0.2"])
    assert [gate.decision for gate in report.gates if gate.gate.metric == "hallucination_rate_all"] == ["fail"]
    with pytest.raises(SuiteError, match="needs gold labels") as refused:
        evaluate({"planted": JUDGES["perfect"]}, bare, gates=["hallucination_rate<=0.2"])
    assert refused.value.hint == "hallucination_rate_all does not: it is of all positive verdicts"


def test_one_number_has_one_interval() -> None:
    """Of the metrics and of the cascade: what has the same name is the same."""
    report = evaluate({"planted": JUDGES["always"]}, make_suite("similarity"))
    rates = report.grounding[0].found.rates
    for name in ("positive_accuracy", "negative_accuracy", "grounded_f1"):
        found, told = report.metric(name), rates[name].estimate
        assert (found.value, found.low, found.high, found.n) == (told.value, told.low, told.high, told.n)


def test_like_is_subtracted_from_like() -> None:
    """A judge that is right in two votes of three: by majority it is right everywhere, and a vote is not."""

    def judge(request: Request) -> dict[str, Any]:
        return JUDGES["perfect" if request.sample else "never"](request)

    judge.uses_prompt = False  # type: ignore[attr-defined]
    report = evaluate({"planted": judge}, make_suite("similarity"), votes=3)
    assert report.metric("macro_f1").value == 1.0
    rates = report.grounding[0].found.rates
    assert rates["f1"].value == rates["verified_f1"].value == report.metric("f1").value == pytest.approx(2 / 3)
    assert "; its F1 per vote of 67 % is 67 % once evidence and reasons are checked" in report.headline
    shown = render(report, width=120)
    assert "F1 per vote" in shown
    assert "right, by majority" in shown


def test_the_noise_of_groupings_is_told_from_the_pull_of_the_order() -> None:
    """Two votes differ where their groups do. A coin groups the two first papers of the suite or none, whatever the order; the
    other judge the two that it is shown first.
    """

    def grouped(request: Request, places: list[int]) -> dict[str, Any]:
        evidence = {str(place + 1): request.papers[place].text.split(". ")[0] + "." for place in places}
        return {"groups": [{"paper_indices": [place + 1 for place in places], "evidence": evidence, "reason": "So."}]}

    def coin(request: Request) -> dict[str, Any]:
        if Random(request.seed).random() < 0.5:
            return {"groups": []}
        return grouped(request, sorted(range(len(request.papers)), key=lambda place: request.papers[place].text)[:2])

    def follows(request: Request) -> dict[str, Any]:
        return grouped(request, [0, 1])

    coin.uses_prompt = follows.uses_prompt = False  # type: ignore[attr-defined]
    report = evaluate({"coin": coin, "follows": follows}, make_suite("grouping"), votes=3)
    retest = report.metric("retest_flip_rate", judge="coin")
    assert retest.value == pytest.approx(0.5, abs=0.1)
    noise = report.metric("excess_order_flip", judge="coin")
    assert noise.low == 0 <= abs(noise.value) < 0.1
    headline = {
        name: line for name in ("coin", "follows") for line in headline_sentences(report) if line.startswith(name)
    }
    assert "% turn with the order, no more than its own noise might" in headline["coin"]
    assert "% of votes" in headline["coin"]
    assert report.metric("retest_flip_rate", judge="follows").value == 0
    assert report.metric("excess_order_flip", judge="follows").value == 1
    assert "100 % turn with the order;" in headline["follows"].replace(".", ";")


def _invents_under_a_variant(request: Request) -> dict[str, Any]:
    return JUDGES["invents" if request.params else "perfect"](request)


def _goes_beyond_under_a_variant(request: Request) -> dict[str, Any]:
    return JUDGES["goes beyond" if request.params else "perfect"](request)


_invents_under_a_variant.uses_prompt = _goes_beyond_under_a_variant.uses_prompt = False  # type: ignore[attr-defined]


@pytest.mark.parametrize("protocol", ["similarity", "grouping"])
@pytest.mark.parametrize(
    ("judge", "moved", "still"),
    [
        (_invents_under_a_variant, "hallucination_rate", "accuracy"),
        (_goes_beyond_under_a_variant, "mismatch_rate", "hallucination_rate"),
    ],
)
def test_a_variant_that_changes_the_evidence_alone_is_seen(protocol: str, judge: Any, moved: str, still: str) -> None:
    suite = make_suite(protocol)
    other = Variant("other", Axes(f"{protocol}/reference", votes=2, params={"p": 1}), ("params",))
    suite = replace(suite, variants={**suite.variants, "other": other})
    report = evaluate({"planted": judge}, suite, variants=["other"], votes=2)
    (item,) = report.variants
    assert item.cause == ("nothing found" if protocol == "similarity" else "cannot be told")  # every label stays
    found = {change.metric: change for change in item.changes}
    for metric, gain in ((moved, 1.0), ("verified_f1", -1.0)):
        change = found[metric]
        assert (change.estimate.value, change.starred) == (gain, True), metric
        assert change.estimate.low is not None
        assert change.estimate.high is not None
        assert change.estimate.low <= gain <= change.estimate.high
    assert (found[still].estimate.value, found[still].starred) == (0.0, False)
    assert f"; the evidence changes: {moved} +100 points [" in item.sentence
    said = "other parameters (other) is not seen to move its verdicts, but changes their evidence: "
    assert said in report.headline
    text = " ".join(render(report, width=120).split())
    assert "not shown" in text
    assert "-100 points" in text
    row = next(line for line in render(report, width=120).splitlines() if line.startswith("other "))
    assert row.count("*") == 2
    (change,) = (row for row in report.to_dict()["variants"][0]["changes"] if row["metric"] == moved)
    assert (change["value"], change["starred"]) == (1.0, True)


@pytest.mark.parametrize("protocol", ["similarity", "grouping"])
def test_a_variant_that_leaves_the_evidence_says_nothing_of_it(protocol: str) -> None:
    suite = make_suite(protocol)
    other = Variant("other", Axes(f"{protocol}/reference", votes=2, params={"p": 1}), ("params",))
    report = evaluate(
        {"planted": JUDGES["invents"]},
        replace(suite, variants={**suite.variants, "other": other}),
        variants=["other"],
        votes=2,
    )
    assert "evidence" not in report.variants[0].sentence
    assert ("the variant is not seen to move it" in report.headline) == (protocol == "similarity")


# --- between runs -------------------------------------------------------------------------------------------------


def _saved(judge: str, protocol: str, **settings: Any) -> SavedReport:
    function = _QUOTES_ALL if judge == "quotes all" else JUDGES[judge]
    data = json.loads(json.dumps(evaluate({"planted": function}, make_suite(protocol), **settings).to_dict()))
    return read_report(data, judge)


_QUOTES_ALL = planted(lambda kelp, count: kelp, span=lambda text: text)
"""Its statements are others in each instance."""


@pytest.mark.parametrize("protocol", ["similarity", "grouping", "entailment"])
def test_a_report_against_itself(protocol: str) -> None:
    judge = "audits" if protocol == "entailment" else "always"
    saved = _saved(judge, protocol)
    found = compare_reports(saved, saved)
    (change,) = found.changes
    assert (found.regressions, found.improvements) == ([], [])
    assert {metric.difference.value for metric in change.metrics if metric.metric not in ("cost_usd", "kappa")} == {0.0}


@pytest.mark.parametrize("protocol", ["similarity", "grouping"])
def test_what_is_read_from_a_report_is_what_was_measured(protocol: str) -> None:
    """Votes that differ, those that fail and those that abstain among them."""

    def judge(request: Request) -> dict[str, Any]:
        kinds = ("perfect", "invents", "never", "always", "no reason", "goes beyond")
        place = (int(request.instance_id[:6], 16) + 3 * request.sample + (request.order == "ba")) % 7
        return {} if place == 6 else JUDGES[kinds[place]](request)

    judge.uses_prompt = False  # type: ignore[attr-defined]
    report = evaluate({"planted": judge}, make_suite(protocol), votes=3)
    (view,) = read_report(json.loads(json.dumps(report.to_dict())), "it").views.values()
    rates = ground(view).rates
    assert {name: rate.value for name, rate in rates.items()} == {
        name: pytest.approx(rate.value) for name, rate in report.grounding[0].found.rates.items()
    }


@pytest.mark.parametrize("protocol", ["similarity", "grouping"])
def test_a_judge_that_begins_to_invent_is_a_regression(protocol: str) -> None:
    found = compare_reports(_saved("perfect", protocol), _saved("invents", protocol))
    (change,) = found.changes
    by_name = {metric.metric: metric for metric in change.metrics}
    for name, gain in (("hallucination_rate", 1.0), ("verified_f1", -1.0), ("grounded_f1", -1.0)):
        metric = by_name[name]
        assert (metric.difference.value, metric.worse) == (gain, True), name
        assert metric.difference.low is not None
        assert metric.difference.high is not None
        assert 0.1 < metric.difference.high - metric.difference.low < 0.3  # 30 positives, all alike: no certainty
    assert by_name["accuracy"].difference.value == 0
    assert by_name["mismatch_rate"].difference.note == "undefined for the variant: 0 of 0"
    assert not compare_reports(_saved("invents", protocol), _saved("perfect", protocol)).regressions


def test_a_report_without_evidence_says_why_there_is_no_change() -> None:
    data = json.loads(json.dumps(evaluate({"planted": JUDGES["perfect"]}, make_suite("similarity")).to_dict()))
    for row in data["outcomes"]:
        row["grounds"] = None
    (change,) = compare_reports(read_report(data, "bare"), _saved("perfect", "similarity")).changes
    (metric,) = (metric for metric in change.metrics if metric.metric == "verified_f1")
    assert metric.difference.value is None
    assert "nothing is told of the evidence of its positive verdicts" in metric.difference.note


def test_a_change_that_is_open_is_no_regression() -> None:
    """An auditor that falls silent leaves verified F1 unknown: nothing says that it fell."""

    is_down = False

    def audits(request: Request) -> dict[str, Any]:
        if is_down and int(request.instance_id[:4], 16) % 4:
            raise RuntimeError("down")
        return {"supported": True}

    audits.uses_prompt, audits.version = False, "1"  # type: ignore[attr-defined]
    before = _saved("quotes all", "similarity", auditor=audits)
    is_down = True
    found = compare_reports(before, _saved("quotes all", "similarity", auditor=audits))
    (change,) = found.changes
    (metric,) = (metric for metric in change.metrics if metric.metric == "verified_f1")
    assert metric.difference.value is not None
    assert metric.difference.value < 0
    assert not metric.worse
    assert "over what was not checked" in metric.difference.note
    assert not any("audited by" in note for note in found.notes)


def test_partitions_that_moved_are_told_from_noise() -> None:
    """Of groupings a vote is a partition: what is compared is which papers are together."""
    (change,) = compare_reports(_saved("perfect", "grouping", votes=2), _saved("never", "grouping", votes=2)).changes
    turned = change.turned
    assert (turned.flip_rate.value, turned.starred, change.own_noise) == (0.5, True, None)
    assert (turned.vote_shift.value or 0) > 0.25
    assert turned.vote_shift.note == "over pairs of papers"
    (same,) = compare_reports(_saved("perfect", "grouping", votes=2), _saved("perfect", "grouping", votes=2)).changes
    assert (same.turned.starred, same.turned.vote_shift.value) == (False, 0.0)


def _without_gold(protocol: str) -> Any:
    suite = make_suite(protocol)
    return replace(suite, label_kind="none", instances=tuple(replace(each, gold=None) for each in suite.instances))


@pytest.mark.parametrize(
    ("protocol", "said"),
    [
        ("similarity", "100 % of its positive verdicts cite evidence that is not there"),
        ("grouping", "100 % of the pairs that it groups cite evidence that is not there"),
    ],
)
def test_without_gold_the_shares_of_all_positives_are_told(protocol: str, said: str) -> None:
    report = evaluate({"planted": JUDGES["all, invents"]}, _without_gold(protocol))
    assert said in report.headline
    assert "Not measured: accuracy" in report.headline
    (block,) = grounding_blocks(report)
    rows = {row[0]: row[1:] for row in block.rows}
    share, votes, _ = rows["evidence not in what was shown"]
    assert share.startswith("100 % [")
    assert votes == ("120 of 120" if protocol == "similarity" else "720 of 720")
    assert rows["evidence and reason verified"][0].startswith("0 % [0, ")
    assert "F1" not in " ".join(rows)
    assert "found nowhere" in " ".join(block.notes)
    (told,) = report.to_dict()["grounding"]
    assert {name[-4:] for rates in told["strata"]["dimension"].values() for name in rates} == {"_all"}


def test_positives_have_their_number_beside_them() -> None:
    report = evaluate({"planted": JUDGES["all, invents"]}, make_suite("similarity"))
    (block,) = grounding_blocks(report)
    assert "right positives: of 60 votes 60 (100 %) hallucinated, 0 without evidence" in block.notes
    assert "wrong positives: of 60 votes 60 (100 %) hallucinated, 0 without evidence" in block.notes


def _in_two_dimensions(protocol: str) -> Any:
    """The negatives are of another dimension than the positives."""
    suite = make_suite(protocol)
    none = suite.instances[1].gold
    kept = tuple(replace(each, dimension="task" if each.gold == none else "method") for each in suite.instances)
    return replace(suite, instances=kept)


def test_means_over_sets_are_told_by_dimension() -> None:
    report = evaluate({"planted": JUDGES["never"]}, _in_two_dimensions("grouping"))
    found = report.grounding[0].found
    assert {value: rates["f1"].value for value, rates in found.macro_by_dimension.items()} == {
        "method": 0.0,
        "task": 1.0,
    }
    assert found.macro["f1"].value == 0.5
    (block,) = grounding_blocks(report)
    notes = "\n".join(block.notes)
    assert "mean over sets, by dimension: method 0 % -> 0 % -> 0 %; task 100 % -> 100 % -> 100 %" in notes
    assert "50 % -> 50 % -> 50 % (a set with nothing to find and nothing said is 1)" in notes
    told = report.to_dict()["grounding"][0]["macro_by_dimension"]
    assert told["task"]["verified_f1"]["value"] == 1.0


def test_strata_tell_both_sides_and_wrong_positives() -> None:
    report = evaluate({"planted": JUDGES["all, invents"]}, _in_two_dimensions("similarity"))
    strata = report.to_dict()["grounding"][0]["strata"]["dimension"]
    assert strata["method"]["positive_accuracy"]["value"] == 1.0
    assert strata["task"]["negative_accuracy"]["value"] == 0.0
    assert strata["task"]["hallucination_rate_false"]["value"] == 1.0
    assert strata["method"]["hallucination_rate_false"]["value"] is None


@pytest.mark.parametrize("own_family", [False, True])
def test_it_is_said_where_judge_and_auditor_are_one(own_family: bool) -> None:
    """The baseline audits itself unless told otherwise; what it then finds of mismatches it finds by construction."""
    if own_family:
        options: dict[str, Any] = {"auditor": "chance", "own_family": True}
        report = evaluate("chance", make_suite("similarity"), **options)
        said = "judge and auditor are one here: it was asked about its own reasons"
    else:
        report = evaluate("lexical", make_suite("similarity"))
        said = "judge and auditor are one here: its reasons are made of words of its own evidence"
    assert any(note.startswith(said) for note in next(grounding_blocks(report)).notes)
    other = evaluate({"planted": JUDGES["perfect"]}, make_suite("similarity"))
    assert not any("are one" in note for note in next(grounding_blocks(other)).notes)
