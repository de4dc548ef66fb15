"""Two reports compared: what is the same is no change, what is planted is found, and what is unlike is refused."""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty import evaluate
from pytest_novelty.between_runs.changes import RunComparison, compare_reports
from pytest_novelty.between_runs.gate_changes import ADDED, ALTERED, LOOSENED, REMOVED, TIGHTENED, GateChange
from pytest_novelty.between_runs.reading import SavedReport, load_report, read_report
from pytest_novelty.cli import main
from pytest_novelty.deciding import FAIL, INCONCLUSIVE, NOT_ENFORCED, PASS
from pytest_novelty.errors import SettingsError
from pytest_novelty.metrics.catalogue import CATALOGUE
from pytest_novelty.model import NOT_NOVEL, NOVEL, Axes, Idea, Instance, Suite, Variant
from pytest_novelty.reports.between_runs import comparison_blocks, comparison_to_dict, metrics_block
from pytest_novelty.reports.blocks import render_blocks
from pytest_novelty.reports.markdown import comparison_to_markdown
from pytest_novelty.results import Report
from pytest_novelty.validation import shipped_check

PARTS = ("value", "low", "high", "n", "method", "sd")
MakeSuite = Callable[..., Suite]
Answer = Callable[[Any, random.Random, random.Random], dict[str, Any]]


def judge_of(answer: Answer, version: str = "1", **traits: Any) -> Any:
    """Draws from two generators: one of the request (and version), one of the instance alone."""

    def judge(request: Any) -> dict[str, Any]:
        vote = random.Random(f"{version} {request.seed}")
        return {"cost_usd": 0.25, **answer(request, vote, random.Random(request.instance_id))}

    for name, value in {"version": version, "uses_prompt": False, **traits}.items():
        setattr(judge, name, value)
    return judge


def picks_first_idea(request: Any, share: float, vote: random.Random) -> dict[str, Any]:
    """The suite's first idea (which is x) with this probability, whatever the order."""
    first = vote.random() < share
    return {"winner": "A" if first == (request.ideas[0].title == "First title") else "B"}


def right(share: float, version: str = "1", **traits: Any) -> Any:
    """Right in this share of the votes, on every pair alike."""
    return judge_of(lambda request, vote, _: picks_first_idea(request, share, vote), version, **traits)


@pytest.fixture
def pairs(make_suite: MakeSuite, make_instance: Callable[..., Any]) -> Suite:
    made = [make_instance("pairwise", f"i{k:03}", strata={"group": str(k // 2)}) for k in range(60)]
    reference = Variant("reference", Axes(prompt="pairwise/reference"))
    warm = Variant("warm", Axes(prompt="pairwise/reference", temperature=1.0), ("temperature",))
    return make_suite("pairwise", *made, variants={"reference": reference, "warm": warm})


@pytest.fixture
def ideas(make_suite: MakeSuite, make_instance: Callable[..., Any]) -> Suite:
    idea = make_instance().ideas[0]
    made = [
        make_instance(
            name=f"i{k:03}", ideas=(replace(idea, title=str(k)),), gold=(NOVEL, NOT_NOVEL)[k % 2], as_of="2016"
        )
        for k in range(40)
    ]
    return make_suite("pointwise", *made)


def saved(report: Report, name: str = "now") -> SavedReport:
    """As it comes back from a file."""
    return read_report(json.loads(json.dumps(report.to_dict())), name)


def compared(old: Report, new: Report) -> RunComparison:
    return compare_reports(saved(old, "then"), saved(new, "now"))


def shown(found: RunComparison) -> str:
    return render_blocks(comparison_blocks(found), width=160)


# --- read back ------------------------------------------------------------------------------------------------


def strange(request: Any, vote: random.Random, _: random.Random) -> dict[str, Any]:
    """Every kind of answer: a winner, a tie, an abstention, nonsense, an exception."""
    kind = vote.randrange(8)
    if kind == 0:
        raise RuntimeError("no")
    return {"winner": ("A", "B", "A", "tie", None, "neither", "B")[kind - 1]}


def scored(request: Any, vote: random.Random, instance: random.Random) -> dict[str, Any]:
    if vote.random() < 0.1:
        return {"novel": "perhaps"}
    score = instance.random() * 5 + vote.random() * 5
    return {"score": round(score, 2), "retrieved": [{"id": str(vote.randrange(3)), "title": "T", "date": "2017-01-01"}]}


@pytest.mark.parametrize("cluster", [None, "group"])
@pytest.mark.parametrize("failures", ["wrong", "drop", "tie"])
def test_a_report_read_back_has_the_votes_that_its_numbers_come_from(
    failures: str, cluster: str | None, pairs: Suite
) -> None:
    judges = {"strange": judge_of(strange, may_tie=True, may_abstain=True), "sure": right(1.0)}
    report = evaluate(judges, replace(pairs, cluster=cluster), votes=3, failures=failures, variants=["warm"])
    _check_numbers(report, 4)


def test_scores_and_traces_are_read_back(ideas: Suite) -> None:
    judges = {
        "scored": judge_of(scored, score_range=(0.0, 10.0), retrieves=True),
        "turned": judge_of(scored, threshold=5.0, higher_is="not novel", retrieves=True, honours_as_of=True),
    }
    _check_numbers(evaluate(judges, ideas, votes=3), 2)
    _check_numbers(evaluate(judges, ideas, votes=3, threshold="cv"), 2)
    _check_numbers(evaluate(judges, ideas, votes=3, threshold=4.0), 2)


def _check_numbers(report: Report, places: int) -> None:
    """Every metric computed anew from what was read is the metric that the report tells."""
    found = saved(report)
    assert len(found.views) == places
    checked = 0
    for (suite, variant, judge), view in found.views.items():
        for row in report.metrics:
            own = (row.suite, row.variant, row.judge) == (suite, variant, judge)
            if own and row.reference is None and row.metric not in ("cost_usd", "cyclic_triads"):
                anew = CATALOGUE[row.metric].compute(view)
                assert [getattr(anew, name) for name in PARTS] == [getattr(row.estimate, name) for name in PARTS], row
                checked += row.estimate.value is not None
        assert found.estimates[suite, variant, judge]["invalid_rate"].value is not None
    assert checked > 5 * places


# --- what changed ---------------------------------------------------------------------------------------------


def test_the_same_run_twice_has_not_changed(pairs: Suite) -> None:
    report = evaluate({"mine": right(0.7)}, pairs, votes=3, variants=["warm"])
    found = compared(report, report)
    assert (found.regressions, found.improvements, found.notes) == ([], [], ())
    assert found.headline == "No metric differs from then by more than chance."
    assert [change.variant for change in found.changes] == ["reference", "warm"]
    assert {metric.difference.value for change in found.changes for metric in change.metrics} == {0}
    assert [change.turned.flip_rate.value for change in found.changes] == [0, 0]


def test_a_judge_that_got_worse_is_worse(pairs: Suite) -> None:
    old = evaluate({"mine": right(0.95)}, pairs, votes=3)
    new = evaluate({"mine": right(0.3, "2")}, pairs, votes=3)
    found = compared(old, new)
    (change,) = found.changes
    accuracy = next(metric for metric in change.metrics if metric.metric == "strict_accuracy")
    rows = [old.metric("strict_accuracy"), new.metric("strict_accuracy")]
    assert [accuracy.old.value, accuracy.new.value] == [row.value for row in rows]
    assert accuracy.difference.value == pytest.approx((rows[1].value or 0) - (rows[0].value or 0))
    assert accuracy.difference.high is not None
    assert accuracy.difference.high < -0.3
    assert accuracy.worse
    assert not accuracy.better
    assert change.turned.starred
    assert found.regressions[0].startswith("mine on made: strict_accuracy")
    assert "mine: another version (1 then, 2 now)" in found.notes
    back = compared(new, old)
    assert (back.regressions, back.improvements) == ([], list(found.regressions))
    for text in (
        "mine on made: 60 instances in both",
        "WORSE",
        "then \\ now",
        "beyond noise *",
        "mine: another version",
    ):
        assert text in shown(found)


def test_the_same_judge_asked_again_is_hardly_ever_worse(pairs: Suite) -> None:
    """Sixteen pairs of runs of a judge with 10 % minority votes: its verdicts differ, and it is not worse."""
    runs = [evaluate({"mine": right(0.9, str(number))}, pairs, votes=3) for number in range(17)]
    found = [compared(old, new) for old, new in pairwise(runs)]
    assert sum(bool(item.regressions or item.changes[0].turned.starred) for item in found) <= 2
    assert sum(bool(item.changes[0].turned.flip_rate.value) for item in found) > 12


def test_what_noise_would_turn_is_of_each_run_by_itself_where_votes_moved(pairs: Suite) -> None:
    """Every instance's vote turned: pooled votes would say that noise turns half of the verdicts of a judge without any."""
    old, new, same = (evaluate({"mine": right(*how)}, pairs, votes=3) for how in ((1.0,), (0.0, "2"), (1.0, "3")))
    found = compared(old, new)
    (change,) = found.changes
    assert change.turned.starred
    assert (change.turned.null_flip_rate.value or 0) > 0.3
    assert change.by_noise == pytest.approx(0, abs=0.01)
    assert "verdicts: 100 [94, 100] % are others now (0 % would be by its own noise)" in shown(found)
    assert comparison_to_dict(found)["changes"][0]["own_noise_flip_rate"] == change.own_noise
    (still,) = compared(old, same).changes
    assert (still.own_noise, still.by_noise) == (None, still.turned.null_flip_rate.value)


def test_one_family_over_all_that_is_tested(pairs: Suite) -> None:
    """The p of two judges and two variants are adjusted together; what differs nowhere is no test."""
    judges = {"a": right(0.9), "b": right(0.6), "c": right(1.0)}
    old = evaluate(judges, pairs, votes=3, variants=["warm"])
    new = evaluate({"a": right(0.8, "2"), "b": right(0.5, "2"), "c": right(1.0)}, pairs, votes=3, variants=["warm"])
    metrics = [metric for change in compared(old, new).changes for metric in change.metrics]
    tested = [metric for metric in metrics if metric.moves]
    least = min(tested, key=lambda metric: metric.p or 0)
    assert least.p_holm == pytest.approx(min(1, (least.p or 0) * len(tested)))
    assert {metric.p_holm for metric in metrics if not metric.moves} == {None}
    assert 10 < len(tested) < len(metrics)
    turned = [change.turned for change in compared(old, new).changes]
    shifts = sorted(item.p for item in turned if item.p is not None)
    assert len(shifts) > 2
    first = next(item for item in turned if item.p == shifts[0])
    assert first.p_holm == pytest.approx(min(1, shifts[0] * len(shifts)))
    assert first.p_holm > shifts[0]


def test_only_common_instances_count(pairs: Suite) -> None:
    old, new = evaluate({"mine": right(0.9)}, pairs, sample=20), evaluate({"mine": right(0.2, "2")}, pairs, sample=50)
    found = compared(old, new)
    (change,) = found.changes
    assert (change.n, change.sizes) == (20, (20, 50))
    metrics = {metric.metric: metric for metric in change.metrics}
    assert {metrics[name].difference.n for name in ("strict_accuracy", "tie_rate")} == {20}
    for metric in metrics.values():
        if metric.difference.value is not None:
            assert metric.difference.value == pytest.approx((metric.new.value or 0) - (metric.old.value or 0))
    assert metrics["strict_accuracy"].new != new.metric("strict_accuracy")
    assert "mine on made: 20 instances in both of 20 then and 50 now" in shown(found)


def test_scores_that_do_not_move_are_no_test(ideas: Suite) -> None:
    report = evaluate({"mine": judge_of(scored, threshold=5.0)}, ideas, votes=3)
    assert {metric.p_holm for metric in compared(report, report).changes[0].metrics} == {None}


def test_scores_that_all_move(ideas: Suite) -> None:
    """A judge that only scores has no verdicts to turn; that it scores four higher is told all the same."""

    def lifted(lift: float) -> Answer:
        return lambda request, vote, instance: {"score": lift + instance.random() + vote.random()}

    old, new, again = (
        evaluate({"mine": judge_of(lifted(lift), version, score_range=(0.0, 10.0))}, ideas, votes=3)
        for lift, version in ((2.0, "1"), (6.0, "2"), (2.0, "3"))
    )
    found = compared(old, new)
    (change,) = found.changes
    assert change.turned.by_scores
    assert change.turned.starred
    assert change.turned.score_shift.value == pytest.approx(4.0, abs=0.3)
    assert "Votes or scores moved beyond noise: mine on made." in found.headline
    assert "scores: +4" in shown(found)
    (same,) = compared(old, again).changes
    assert not same.turned.starred


def test_scores_that_move_do_not_make_votes_move(ideas: Suite) -> None:
    """The labels stay, the scores rise by four: one of the two lines says so; and the other way round."""

    def labelled(lift: float, share: float = 0.5) -> Answer:
        return lambda request, vote, instance: {
            "novel": instance.random() < share,
            "score": lift + instance.random() + vote.random(),
        }

    def notes(*how: tuple[float, float]) -> list[str]:
        reports = [
            evaluate({"mine": judge_of(labelled(*each), str(each), score_range=(0.0, 10.0))}, ideas, votes=3)
            for each in how
        ]
        (change,) = compared(*reports).changes
        assert change.turned.starred
        return [note for note in metrics_block(change).notes if note.startswith(("verdicts: ", "scores: "))]

    votes, scores = notes((2.0, 0.5), (6.0, 0.5))
    assert (votes.endswith("points, within noise"), scores.endswith("beyond noise *")) == (True, True)
    votes, scores = notes((2.0, 0.0), (2.0, 1.0))
    assert (votes.endswith("points, beyond noise *"), scores.endswith("within noise")) == (True, True)


def test_a_renamed_judge_is_compared_under_its_new_name(pairs: Suite) -> None:
    old, new = (evaluate({name: right(0.9)}, pairs) for name in ("mine", "yours"))
    found = compared(old, new)
    assert (found.changes[0].judge, found.changes[0].before) == ("yours", "mine")
    assert "mine, now yours: the same version under another name" in found.notes
    assert "yours on made (then mine)" in shown(found)


def test_judges_and_settings_of_one_side_are_told(pairs: Suite) -> None:
    old = evaluate({"a": right(0.9), "gone": right(0.8)}, pairs, votes=2)
    new = evaluate({"a": right(0.9), "come": right(0.8)}, pairs, votes=3, orders="ab", variants=["warm"])
    found = compared(old, new)
    assert [change.judge for change in found.changes] == ["a"]
    assert found.notes == (
        "only there then: judge gone",
        "only there now: judge come",
        "--novelty-votes was 2 and is 3",
        "--novelty-orders was as the suite says and is ab",
        "made: gate added: vote_shift[max]<=0.25",
        "nothing to compare a on made, variant warm, with",
    )
    assert found.changes[0].turned.vote_shift.note == "the two were asked in different orders"


def test_ranks_move_and_equal_judges_share_one(pairs: Suite) -> None:
    def at(*shares: float) -> Report:
        return evaluate({name: right(share, str(share)) for name, share in zip("abc", shares, strict=True)}, pairs)

    found = compared(at(1.0, 0.5, 0.0), at(0.5, 1.0, 1.0))
    assert [(rank.judge, rank.old, rank.new) for rank in found.ranks] == [("b", 2, 1), ("c", 3, 1), ("a", 1, 3)]
    assert {rank.metric for rank in found.ranks} == {"strict_accuracy"}
    assert "down 2" in shown(found)


def test_judges_are_ranked_by_one_metric_only(ideas: Suite) -> None:
    """One that names labels and one that only scores, then or now, have no common measure."""
    labels = judge_of(lambda request, vote, instance: {"novel": vote.random() < 0.6})
    scores = judge_of(lambda request, vote, instance: {"score": vote.random()}, score_range=(0.0, 1.0))
    mixed, both = (evaluate({"a": labels, "b": other}, ideas) for other in (scores, labels))
    only = evaluate({"a": scores, "b": scores}, ideas)
    assert [compared(*pair).ranks for pair in ((mixed, mixed), (mixed, both), (both, only), (only, mixed))] == [()] * 4
    for report, metric in ((both, "accuracy"), (only, "auroc")):
        assert {rank.metric for rank in compared(report, report).ranks} == {metric}


def test_suites_of_one_side_are_told_with_their_side(pairs: Suite) -> None:
    first, second, third = (replace(pairs, name=name) for name in ("one", "two", "three"))
    old, new = (evaluate({"mine": right(0.9)}, suites, votes=1) for suites in ([first, second], [second, third]))
    found = compared(old, new)
    assert found.notes == ("only judged then: one", "only judged now: three")
    assert {change.suite for change in found.changes} == {"two"}


def test_a_gate_that_passed_and_fails_is_a_regression(pairs: Suite) -> None:
    suite = replace(pairs, gates=("strict_accuracy>=0.80", "tie_rate<=0.9", "soft_accuracy>=0.9"))
    old, new = evaluate({"mine": right(1.0)}, suite), evaluate({"mine": right(0.6, "2")}, suite)
    found = compared(old, new)
    turned = {gate.gate: (gate.old, gate.new, gate.how, gate.worse) for gate in found.gates}
    assert turned["strict_accuracy>=0.80"] == ("pass", "fail", "", True)
    assert "tie_rate<=0.9" not in turned
    assert "gates are not the same" not in found.headline
    assert "mine on made: strict_accuracy>=0.80 passed and fails now" in found.regressions
    assert not [gate for gate in compared(new, old).gates if gate.worse]


@pytest.mark.parametrize("new", [PASS, FAIL, INCONCLUSIVE, NOT_ENFORCED, None])
@pytest.mark.parametrize("old", [PASS, FAIL, INCONCLUSIVE, NOT_ENFORCED, None])
def test_which_gates_are_worse(old: str | None, new: str | None) -> None:
    """It fails now and passed, or nobody asked: what was undecided may fail by chance, and what failed is no worse."""
    assert GateChange("mine", "made", "g", "g", old, new).worse == (new == FAIL and old in (PASS, None))


def gated(suite: Suite, *gates: str, share: float = 0.7, **options: Any) -> Report:
    return evaluate({"mine": right(share)}, suite, gates=gates, **options)


@pytest.mark.parametrize(
    ("old", "new", "how", "note"),
    [
        ("strict_accuracy>=0.9", "strict_accuracy>=0.1", LOOSENED, "gate loosened: {old}, now {new}"),
        ("strict_accuracy>=0.1", "strict_accuracy>=0.9", TIGHTENED, "gate tightened: {old}, now {new}"),
        ("invalid_rate<=0.1", "invalid_rate<=0.5", LOOSENED, "gate loosened: {old}, now {new}"),
        ("invalid_rate<=0.5", "invalid_rate<=0.1", TIGHTENED, "gate tightened: {old}, now {new}"),
        ("strict_accuracy>=0.5", "strict_accuracy>0.5", TIGHTENED, "gate tightened: {old}, now {new}"),
        ("invalid_rate<0.5", "invalid_rate<=0.5", LOOSENED, "gate loosened: {old}, now {new}"),
        ("strict_accuracy>0.5", "strict_accuracy>=0.5", LOOSENED, "gate loosened: {old}, now {new}"),
        ("invalid_rate<=0.5", "invalid_rate<0.5", TIGHTENED, "gate tightened: {old}, now {new}"),
        ("tie_rate<=0.5", "tie_rate@point<=0.5", ALTERED, "gate decided another way: {old}, now {new}"),
        ("tie_rate@ point <=0.5", "tie_rate<=0.5", ALTERED, "gate decided another way: {old}, now {new}"),
        ("", "tie_rate<=0.5", ADDED, "gate added: {new}"),
        ("tie_rate<=0.5", "", REMOVED, "gate removed: {old}"),
    ],
)
def test_gates_that_are_not_the_same_are_told(old: str, new: str, how: str, note: str, pairs: Suite) -> None:
    """By option, with the very same verdicts."""
    reports = [gated(pairs, *filter(None, [gate, "soft_accuracy>=0.2"])) for gate in (old, new)]
    found = compared(*reports)
    (change,) = found.gates
    assert (change.before, change.gate, change.how) == (old, new, how)
    assert found.notes == (f"made: {note.format(old=old, new=new)}",)
    assert found.headline.endswith(f"The gates are not the same: 1 {how}.")
    text = shown(found)
    assert "Gates that are decided otherwise, or are not the same" in text
    assert (f"{new} ({how}, {old} then)" if old and new else f"{old or new} ") in text
    assert f"- made: gate {how}: " in comparison_to_markdown(found)
    row = comparison_to_dict(found)["gates"][0]
    assert (row["before"], row["gate"], row["how"], row["worse"]) == (old, new, how, change.worse)
    fits(found, reports[1])


def fits(found: RunComparison, report: Report) -> None:
    """The section fits the schema of reports."""
    report.against = found
    assert shipped_check("report")(json.loads(json.dumps(report.to_dict())))
    report.against = None


def test_a_gate_is_the_same_however_it_is_written(pairs: Suite) -> None:
    found = compared(gated(pairs, "strict_accuracy>=0.50"), gated(pairs, " strict_accuracy >= .5"))
    assert (found.gates, found.notes) == ((), ())
    lowest, same, respelled, highest = (f"strict_accuracy>={number}" for number in ("0.1", "0.50", ".5", "0.7"))
    found = compared(gated(pairs, lowest, same), gated(pairs, respelled, highest))
    assert [(change.before, change.gate) for change in found.gates] == [(lowest, highest)]


def test_a_gate_of_a_stratum_or_variant_is_another_one(pairs: Suite) -> None:
    gates = ("strict_accuracy>=0.5", "strict_accuracy[warm]>=0.4", "strict_accuracy@group:1>=0.3")
    old, new = gated(pairs, *gates, variants=["warm"]), gated(pairs, gates[0], variants=["warm"])
    removed = [change.before for change in compared(old, new).gates if change.how == REMOVED]
    assert removed == list(gates[:0:-1])
    assert {change.how for change in compared(old, new).gates} == {REMOVED}
    assert {change.how for change in compared(new, old).gates} == {ADDED}
    for other in gates[1:]:
        found = compared(new, gated(pairs, other, variants=["warm"]))
        assert [(change.before, change.gate, change.how) for change in found.gates] == [
            ("", other, ADDED),
            (gates[0], "", REMOVED),
        ]


def test_several_gates_on_one_metric_are_paired_by_their_thresholds(pairs: Suite) -> None:
    names = [f"strict_accuracy>=0.{digit}" for digit in "12345"]
    found = compared(gated(pairs, *names[:3]), gated(pairs, names[1], names[4]))
    assert [(change.before, change.gate, change.how) for change in found.gates] == [
        (names[0], names[4], TIGHTENED),
        (names[2], "", REMOVED),
    ]


def test_a_gate_that_is_new_and_fails_is_a_regression(
    pairs: Suite, run: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    without, low, high = (gated(pairs, *gates) for gates in ((), ("strict_accuracy>=0.1",), ("strict_accuracy>=0.9",)))
    for then, now, told in (
        (without, high, "mine on made: strict_accuracy>=0.9 is new and fails"),
        (low, high, "mine on made: strict_accuracy>=0.9 (tightened, strict_accuracy>=0.1 then) passed and fails now"),
        (high, low, ""),
        (high, without, ""),
        (without, low, ""),
    ):
        assert compared(then, now).regressions == ([told] if told else [])
        paths = write(tmp_path / "then.json", then), write(tmp_path / "now.json", now)
        assert run(*paths, "--fail-on-regression")[0] == bool(told)


def test_judges_whose_gates_differ_are_named(pairs: Suite) -> None:
    """A gate of a variant that one judge takes alone."""
    judges = {"a": right(0.7), "b": right(0.7)}
    old, new = evaluate(judges, pairs), evaluate(judges, pairs, gates=["strict_accuracy>=0.1"])
    assert compared(old, new).notes == ("made: gate added: strict_accuracy>=0.1",)
    data = new.to_dict()
    data["gates"] = [gate for gate in data["gates"] if gate["judge"] == "a"]
    found = compare_reports(saved(old, "then"), read_report(data, "now"))
    assert found.notes == ("a on made: gate added: strict_accuracy>=0.1",)


def test_settings_that_make_a_run_fail_are_told(pairs: Suite) -> None:
    old = gated(pairs, "strict_accuracy>=0.9")
    data = gated(pairs, "strict_accuracy>=0.9", decide="point").to_dict()
    data["run"]["settings"].update(inconclusive="fail", strict=True)
    new = read_report(data, "now")
    found = compare_reports(saved(old, "then"), new)
    assert found.notes == (
        "--novelty-decide was interval and is point",
        "--novelty-inconclusive was warn and is fail",
        "--novelty-strict was not given and is given",
    )
    assert {change.how for change in found.gates} <= {""}
    data = json.loads(json.dumps(data))
    data["run"]["settings"].update(missing="warn", probe=30)
    found = compare_reports(new, read_report(data, "now"))
    assert found.notes == ("--novelty-missing was fail and is warn", "--novelty-probe was not given and is 30")
    for name in ("decide", "inconclusive", "strict", "missing", "probe"):
        del data["run"]["settings"][name]  # as an earlier version wrote it
    assert compare_reports(read_report(data, "then"), new).notes == ()


def test_variants_by_judge(pairs: Suite) -> None:
    """Judges in columns, variants in rows: the change against the reference, and the value in brackets."""

    def by_heat(cold: float, warm: float, version: str) -> Any:
        return judge_of(
            lambda request, vote, _: picks_first_idea(request, warm if request.temperature else cold, vote), version
        )

    old = evaluate({"a": by_heat(1.0, 0.0, "1"), "b": right(1.0)}, pairs, variants=["warm"])
    new = evaluate({"a": by_heat(1.0, 1.0, "2"), "b": right(1.0)}, pairs, variants=["warm"])
    (table,) = compared(old, new).tables
    cells = {(variant, *key): cell for variant, row in table.cells.items() for key, cell in row.items()}
    assert (cells["warm", "a", "then"].change, cells["warm", "a", "then"].starred) == (-1, True)
    assert (cells["warm", "a", "now"].value, cells["warm", "a", "now"].change) == (1, 0)
    text = shown(compared(old, new))
    assert [line.split() for line in text.splitlines() if line.startswith(("variant ", "reference ", "warm "))] == [
        ["variant", "a", "then", "a", "now", "b", "then", "b", "now"],
        ["reference", "100", "100", "100", "100"],
        ["warm", "-100*", "(0)", "+0", "(100)", "+0", "(100)", "+0", "(100)"],
    ]


def test_what_is_over_all_variants_is_none_of_them(pairs: Suite) -> None:
    report = evaluate({"mine": right(0.9)}, pairs, votes=1, variants=["warm"])
    data = report.to_dict()
    row = next(row for row in data["metrics"] if row["metric"] == "strict_accuracy")
    data["metrics"].append({**row, "variant": "[min]"})
    found = read_report(data, "now")
    assert ("made", "[min]", "mine") in found.estimates
    (table,) = compare_reports(found, found).tables
    assert list(table.cells) == ["reference", "warm"]


def test_a_cost_that_is_known_in_part_is_unknown(pairs: Suite) -> None:
    def half(request: Any, vote: random.Random, _: random.Random) -> dict[str, Any]:
        return {"winner": "A", "cost_usd": None if request.temperature else 0.25}

    known, unknown = (
        evaluate({"mine": judge}, pairs, votes=3, variants=["warm"]) for judge in (right(0.9), judge_of(half, "2"))
    )
    assert compared(known, unknown).costs == (("mine", 180.0, None),)
    assert compared(unknown, known).costs == (("mine", None, 180.0),)


def test_cost_then_and_now(pairs: Suite) -> None:
    old = evaluate({"mine": right(0.9)}, pairs, votes=1)
    dear = judge_of(lambda request, vote, _: {"winner": "A", "cost_usd": 0.5}, "2")
    assert "Cost: $30.00 for 120 calls then, $60.00 for 120 calls now." in shown(
        compared(old, evaluate({"mine": dear}, pairs, votes=1))
    )
    unknown = judge_of(lambda request, vote, _: {"winner": "A", "cost_usd": None}, "2")
    assert "an unknown amount for 120 calls now" in shown(compared(old, evaluate({"mine": unknown}, pairs, votes=1)))


def test_cost_is_not_averaged_over_a_free_judge_and_a_paid_one(pairs: Suite) -> None:
    free = right(0.9, "free")
    judges = {"paid": right(0.9), "free": judge_of(lambda r, vote, _: {"winner": "A", "cost_usd": 0.0}, "2"), "b": free}
    old, new = (
        evaluate(judges, pairs, votes=1),
        evaluate({name: judges[name] for name in ("paid", "b")}, pairs, votes=1),
    )
    text = shown(compared(old, new))
    assert "Cost: $60.00 for 360 calls then, $60.00 for 240 calls now." in text
    assert "paid: $30.00 then, $30.00 now" in text
    assert " each" not in text.partition("Cost: ")[2]


def test_why_a_change_has_no_interval_is_said(ideas: Suite, make_suite: MakeSuite, make_instance: Any) -> None:
    old, new = (evaluate({"mine": judge_of(scored, version, threshold=5.0)}, ideas, votes=3) for version in "12")
    lines = [line.strip() for line in shown(compared(old, new)).splitlines()]
    assert "reliability, score_levels: no change is given: no mean over instances, so no paired difference" in lines
    assert "auroc: the change has no interval: only the test is made" in lines
    found = compared(old, new)
    text = comparison_to_markdown(found)
    assert (
        "- reliability, score_levels: no change" not in text.partition("<details>")[0]
    )  # nor is any of them in the table
    assert "- reliability, score_levels: no change" in text

    first, second = make_instance("pairwise").ideas
    told = {letter: f"a text on {letter}" for letter in "abc"}
    made = [
        make_instance(
            "pairwise",
            f"t{k}{one}{two}",
            strata={"triad": f"t{k}"},
            ideas=(
                replace(first, title=one, text=f"{told[one]} {k}"),
                replace(second, title=two, text=f"{told[two]} {k}"),
            ),
        )
        for k in range(6)
        for one, two in ("ab", "bc", "ca")
    ]
    in_triads = make_suite("pairwise", *made)
    ranks = judge_of(lambda r, *_: {"winner": "A" if r.ideas[0].title < r.ideas[1].title else "B"})
    circles = judge_of(
        lambda r, *_: {"winner": "A" if r.ideas[0].title + r.ideas[1].title in ("ab", "bc", "ca") else "B"}, "2"
    )
    found = compared(*(evaluate({"mine": judge}, in_triads, votes=1) for judge in (ranks, circles)))
    lines = [line.strip() for line in shown(found).splitlines()]
    assert "cyclic_triads: no change is given: no mean over instances, so no paired difference" in lines


def test_scores_have_no_difference_where_none_can_be_paired(ideas: Suite) -> None:
    old, new = (evaluate({"mine": judge_of(scored, version, threshold=5.0)}, ideas, votes=3) for version in "12")
    metrics = {metric.metric: metric for metric in compared(old, new).changes[0].metrics}
    assert metrics["auroc"].p is not None
    assert (metrics["reliability"].difference.value, metrics["reliability"].p) == (None, None)
    for name in ("macro_f1", "f1_novel", "f1_not_novel"):
        assert metrics[name].difference.value == pytest.approx(
            (metrics[name].new.value or 0) - (metrics[name].old.value or 0)
        )
        assert metrics[name].p is not None
        assert metrics[name].difference.low is not None


def test_the_section_of_a_report(pairs: Suite) -> None:
    old, new = evaluate({"mine": right(0.95)}, pairs), evaluate({"mine": right(0.3, "2")}, pairs)
    new.against = compared(old, new)
    data = new.to_dict()
    assert data["against"] == json.loads(json.dumps(comparison_to_dict(new.against)))
    assert read_report(data, "now").headline == new.headline
    assert data["against"]["regressions"] == new.against.regressions
    assert data["against"]["changes"][0]["metrics"][0]["worse"] is True


# --- refused --------------------------------------------------------------------------------------------------


def _edited(suite: Suite, **by_id: Any) -> Suite:
    """Instances replaced, or with None removed, by id."""
    kept = [by_id.get(instance.id, instance) for instance in suite.instances]
    return replace(suite, digest="1" * 32, instances=tuple(item for item in kept if item is not None))


def test_another_suite_is_refused_and_what_differs_is_said(pairs: Suite) -> None:
    first = pairs.instances[0]
    reworded = replace(first, ideas=(replace(first.ideas[0], text="Other words."), first.ideas[1]))
    changed = _edited(pairs, i000=reworded, i001=None, i002=replace(pairs.instances[2], id="j1"))
    old, new = evaluate({"mine": right(0.9)}, pairs), evaluate({"mine": right(0.9)}, changed)
    with pytest.raises(SettingsError) as caught:
        compared(old, new)
    assert str(caught.value) == (
        "now cannot be compared with then, which differs in suite made 1 then, 1 now "
        "(instances: 1 added (j1), 2 removed (i001, i002), 1 changed (i000)). Judge both under the same conditions"
    )


def test_of_many_instances_five_are_named(pairs: Suite) -> None:
    edited = _edited(pairs, **{f"i{k:03}": None for k in range(6)})
    old, new = evaluate({"mine": right(0.9)}, pairs), evaluate({"mine": right(0.9)}, edited)
    with pytest.raises(SettingsError, match=r"6 removed \(i000, i001, i002, i003, i004, \.\.\.\)"):
        compared(old, new)
    with pytest.raises(SettingsError, match=r"6 added \(i000, i001, i002, i003, i004, \.\.\.\)"):
        compared(new, old)


@pytest.mark.parametrize("change", [{"gold": "y"}, {"as_of": "2020"}, {"strata": {"group": "9"}}])
def test_what_a_metric_depends_on_is_part_of_an_instance(change: dict[str, Any], pairs: Suite) -> None:
    suite = replace(pairs, cluster="group")
    edited = _edited(suite, i000=replace(suite.instances[0], **change))
    with pytest.raises(SettingsError, match=r"1 changed \(i000\)"):
        compared(evaluate({"mine": right(0.9)}, suite), evaluate({"mine": right(0.9)}, edited))


def test_other_settings_of_a_suite_are_a_note(pairs: Suite) -> None:
    found = compared(evaluate({"mine": right(0.9)}, pairs), evaluate({"mine": right(0.9)}, _edited(pairs)))
    assert found.notes == (
        "made: the instances are the same, but its other settings are not (prompts, defaults, gates)",
    )


def test_everything_that_differs_is_said_at_once(pairs: Suite, ideas: Suite) -> None:
    old = evaluate({"mine": right(0.9)}, pairs, failures="drop")
    new = evaluate({"mine": right(0.9)}, replace(pairs, name="others"))
    with pytest.raises(
        SettingsError,
        match=r"differs in the failure policy \(drop then, wrong now\); the suites \(made then, others now\)",
    ):
        compared(old, new)
    data = old.to_dict()
    data["run"]["suites"][0]["profile"] = "as-published"
    with pytest.raises(SettingsError, match=r"the profile of made \(as-published then, default now\)"):
        compare_reports(read_report(data, "then"), saved(old))


def test_judges_without_a_common_name_are_refused(pairs: Suite) -> None:
    old = evaluate({"a": right(0.9), "b": right(0.8)}, pairs)
    with pytest.raises(SettingsError, match=r"no judge is in both \(a, b then, c now\)"):
        compared(old, evaluate({"c": right(0.9)}, pairs))


# --- the command ----------------------------------------------------------------------------------------------


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    def call(*arguments: object) -> tuple[int, str, str]:
        status = main(["compare", *map(str, arguments)])
        return status, *capsys.readouterr()

    return call


def write(path: Path, report: Report) -> Path:
    path.write_text(json.dumps(report.to_dict()))
    return path


def test_the_command(run: Callable[..., tuple[int, str, str]], pairs: Suite, tmp_path: Path) -> None:
    old = write(tmp_path / "old.json", evaluate({"mine": right(0.95)}, pairs))
    new = write(tmp_path / "new.json", evaluate({"mine": right(0.3, "2")}, pairs))
    status, out, err = run(old, new, "--markdown", tmp_path / "out.md")
    assert (status, err) == (0, "")
    assert out.startswith(f"Worse than {old}: mine on made: strict_accuracy")
    assert (tmp_path / "out.md").read_text().startswith("### Novelty judges, then and now\n")
    assert run(old, new, "--fail-on-regression")[0] == 1
    assert run(new, old, "--fail-on-regression")[0] == 0
    assert run(old, old, "--fail-on-regression")[0] == 0


@pytest.mark.parametrize("name", ["old.json", "new.json", "linked.md", "other.txt"])
def test_markdown_never_takes_the_place_of_a_report(
    name: str, run: Callable[..., tuple[int, str, str]], pairs: Suite, tmp_path: Path
) -> None:
    old, new = (write(tmp_path / f"{when}.json", evaluate({"mine": right(0.9)}, pairs)) for when in ("old", "new"))
    (tmp_path / "linked.md").symlink_to(old)
    before = old.read_bytes()
    status, out, err = run(old, new, "--markdown", tmp_path / name)
    assert (status, out, old.read_bytes()) == (4, "", before)
    assert ("names a report that is compared" if name == "linked.md" else "Name a file that ends in .md") in err
    assert not (tmp_path / "other.txt").exists()


def _broken(report: dict[str, Any]) -> Sequence[tuple[bytes, str]]:
    old, odd = {**report}, json.loads(json.dumps(report))
    del old["instances"]
    odd["outcomes"][0]["instance"] = "nowhere"
    twice, label, vote, again = (json.loads(json.dumps(report)) for _ in range(4))
    twice["outcomes"].append(twice["outcomes"][0])
    label["outcomes"][0]["label"] = "none of them"
    tallies = next(iter(vote["outcomes"][0]["tallies"].values()))
    tallies["votes"] = {"none of them": 1}
    again["instances"].append(again["instances"][0])
    return [
        (b"", "is not a report: Expecting value"),
        (b"\xff", "is not a report: it is not UTF-8"),
        (b"[" * 100_000, "is not a report: "),
        (b"[]", "is not a report: it has no format"),
        (b'{"format": "novelty-suite/1"}', "its format is 'novelty-suite/1', not 'novelty-report/1'"),
        (json.dumps(old).encode(), "is not a report that can be compared: 'instances' is missing"),
        (json.dumps(odd).encode(), "an outcome names what it does not describe"),
        (json.dumps(twice).encode(), "reference, is there twice"),
        (json.dumps(label).encode(), "has the label 'none of them', which is none of the instance's"),
        (json.dumps(vote).encode(), "has the label 'none of them', which is none of the instance's"),
        (json.dumps(again).encode(), " of made is there twice"),
    ]


def _set(*path: Any) -> Callable[[Any], None]:
    """Set the value at a path; the last of ``path`` is the value."""

    def change(data: Any) -> None:
        *places, last, value = path
        for place in places:
            data = data[place]
        data[last] = value

    return change


def _each(section: str, name: str, value: Any) -> Callable[[Any], None]:
    return lambda data: [row.update({name: value}) for row in data[section]] and None


def _lowered(data: Any, name: str) -> None:
    row = next(row for row in data["metrics"] if row["metric"] == name)
    row["value"] = 0.123


NOT_FINITE = [
    (_set("metrics", 0, "value", math.nan), "metrics[0].value: NaN is not a number of JSON"),
    (_set("metrics", 0, "low", math.inf), "metrics[0].low: Infinity is not a number of JSON"),
    (_set("outcomes", 0, "score", math.nan), "outcomes[0].score: NaN is not a number of JSON"),
    (_set("calls", "known_usd", -math.inf), "calls.known_usd: -Infinity is not a number of JSON"),
    (_set("run", "seed", -5), "seed: "),
    (_set("run", "seed", 2**32), "seed: "),
]
CONTRADICTIONS = [
    (_set("outcomes", 0, "tallies", "ab", "votes", {"i000x": 10**9}), "outcomes[0].tallies.ab.votes.i000x: "),
    (_set("outcomes", 0, "tallies", "ab", "votes", {"i000x": -3}), "outcomes[0].tallies.ab.votes.i000x: "),
    (_set("outcomes", 0, "tallies", "ab", "failed", {"error": 10**9}), "outcomes[0].tallies.ab.failed.error: "),
    (_set("outcomes", 0, "tallies", "ab", "failed", {"error": 3}), "counts 6 votes in the order ab, of 3 asked for"),
    (_set("outcomes", 0, "tallies", "ab", "failed", {"lost": 1}), "has calls that failed as 'lost'"),
    (_set("outcomes", 0, "tallies", "-", {"votes": {}, "failed": {"error": 1}}), "has votes in the order '-'"),
    (_set("outcomes", 0, "result", "tie"), "is 'tie', and its label 'i000x' against 'i000x' is 'correct'"),
    (_set("outcomes", 0, "correct", False), "is 'correct' and has correct = False"),
    (_set("outcomes", 0, "score", 0.5), "has the score 0.5, and its votes have the mean None"),
    (_set("outcomes", 0, "scores", [0.5] * 7), "has 7 scores of 6 answers"),
    (_each("outcomes", "label", "tie"), "its label 'tie' against 'i000x' is 'tie'"),
    (
        lambda data: [_each("outcomes", *item)(data) for item in (("label", "tie"), ("result", "tie"), ("correct", False))],
        "has the label 'tie', and its votes come to 'i000x'",
    ),
    (_set("metrics", []), "strict_accuracy of mine on made, reference, is missing from the metrics"),
    (lambda data: _lowered(data, "strict_accuracy"), "strict_accuracy of mine on made, reference, is 0.123, and its"),
    (lambda data: _lowered(data, "invalid_rate"), "invalid_rate of mine on made, reference, is 0.123, and its"),
    (lambda data: _lowered(data, "tie_rate"), "tie_rate of mine on made, reference, is 0.123, and its outcomes come to 0"),
    (_set("run", "settings", "votes", "x"), "settings.votes: "),
    (_set("run", "settings", "failures", None), "settings.failures: "),
    (_set("run", "settings", "orders", "ba"), "settings.orders: "),
    (_set("instances", 0, "gold", None), "the instance 'i000' of made has no gold, unlike its suite"),
    (_set("instances", 0, "gold", "nobody"), "the instance 'i000' of made has the gold label 'nobody'"),
    (_set("instances", 0, "cluster", "1"), "the instance 'i000' of made has a cluster, unlike its suite"),
    (_set("instances", 0, "ideas", ["i000x"]), "the instance 'i000' of made has 1 idea"),
    (lambda data: data["instances"].pop(), "the suite made has 60 instances, and the report tells 59"),
    (_set("run", "suites", 0, "protocol", "triple"), "the suite made has the protocol 'triple'"),
]  # fmt: skip


@pytest.fixture(scope="module")
def good_report() -> dict[str, Any]:
    """Of a judge that is always right."""
    ideas = {name: Idea(name, f"{name} title", "Text.") for k in range(60) for name in (f"i{k:03}x", f"i{k:03}y")}
    made = tuple(Instance(f"i{k:03}", (ideas[f"i{k:03}x"], ideas[f"i{k:03}y"]), f"i{k:03}x") for k in range(60))
    suite = Suite(
        "made", "1", "pairwise", "planted", made, {"reference": Variant("reference", Axes(prompt="pairwise/reference"))},
        "0" * 32, Path(),
    )  # fmt: skip
    judge = judge_of(lambda request, *_: {"winner": "A" if request.ideas[0].title[4] == "x" else "B"})
    return dict(evaluate({"mine": judge}, suite, votes=3).to_dict())


@pytest.mark.parametrize(("change", "told"), [*NOT_FINITE, *CONTRADICTIONS], ids=map(str, range(31)))
def test_what_no_run_writes_is_refused_and_the_place_is_said(
    change: Callable[[Any], None],
    told: str,
    run: Callable[..., tuple[int, str, str]],
    good_report: dict[str, Any],
    tmp_path: Path,
) -> None:
    good, bad = tmp_path / "good.json", tmp_path / "bad.json"
    good.write_text(json.dumps(good_report))
    data = json.loads(json.dumps(good_report))
    change(data)
    bad.write_text(json.dumps(data))
    for pair in ((good, bad), (bad, good)):
        status, out, err = run(*pair)
        assert (status, out) == (4, "")
        assert err.startswith(f"pytest-novelty: {bad}: is not a report that can be compared: ")
        assert told in err


def test_counts_may_be_written_as_numbers_with_a_point(good_report: dict[str, Any]) -> None:
    data = json.loads(json.dumps(good_report))
    data["run"]["seed"] = float(data["run"]["seed"])
    data["outcomes"][0]["tallies"]["ab"]["votes"] = {"i000x": 3.0}
    key = ("made", "reference", "mine")
    assert (read_report(data, "now").views[key].counts == read_report(good_report, "now").views[key].counts).all()


def test_what_is_no_report(run: Callable[..., tuple[int, str, str]], pairs: Suite, tmp_path: Path) -> None:
    good = evaluate({"mine": right(0.9)}, pairs)
    path, broken = write(tmp_path / "good.json", good), tmp_path / "broken.json"
    for content, told in _broken(good.to_dict()):
        broken.write_bytes(content)
        for pair in ((path, broken), (broken, path)):
            status, out, err = run(*pair)
            assert (status, out) == (4, "")
            assert err.startswith(f"pytest-novelty: {broken}: ")
            assert told in err
    assert run(path, tmp_path / "absent.json")[0] == 4
    assert load_report(path).source == str(path)


def test_reports_from_before_there_were_audits_are_read(pairs: Suite, tmp_path: Path) -> None:
    """What was added to the format later is none there; anything else that lacks is refused."""
    report = evaluate({"judge": right(0.8), "other": right(0.7)}, pairs).to_dict()
    today, before = tmp_path / "today.json", tmp_path / "before.json"
    today.write_text(json.dumps(report))
    for name in ("grounding", "auditors"):
        del report[name]
    del report["run"]["audits"]
    for name in ("audits", "audits_failed"):
        del report["calls"][name]
    for name, part in (("outcomes", "grounds"), ("comparisons", "verified_f1")):
        for row in report[name]:
            del row[part]
    before.write_text(json.dumps(report))
    read = load_report(before)
    assert (read.calls["audits"], read.calls["audits_failed"], read.auditors) == (0, 0, {})
    assert not compare_reports(read, load_report(today)).regressions
    assert main(["compare", str(before), str(today)]) == 0
    del report["calls"]["made"]
    before.write_text(json.dumps(report))
    with pytest.raises(SettingsError, match="made"):
        load_report(before)
