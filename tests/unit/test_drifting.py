"""What is said of a judge that is asked again: planted histories, each told apart by its sentence and its decision."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty import drifting
from pytest_novelty.changes import INDEX, JUDGE, MODEL, PARAMETERS, PROMPT, RENAMED, SERVED, SUITE
from pytest_novelty.deciding import FAIL, INCONCLUSIVE, NOT_ENFORCED, PASS
from pytest_novelty.drifting import (
    DRIFTED,
    NOTHING,
    SAME,
    UNTOLD,
    WITHIN,
    Drift,
    compare,
    compare_all,
    nothing_found,
)
from pytest_novelty.golden import Golden, make_golden, read_text, write_text
from pytest_novelty.judges.base import Judge, bind_judge
from pytest_novelty.metrics.causes import Causes
from pytest_novelty.metrics.view import View
from pytest_novelty.model import Suite
from pytest_novelty.outcomes import Usage
from pytest_novelty.plan import Plan, SuitePlan
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.reports.drift import drift_to_dict
from pytest_novelty.settings import Settings
from pytest_novelty.validation import compile_check, load_schema

Taken = tuple[Plan, SuitePlan, Judge, Golden]


def a_judge(request: object) -> str:
    return "{}"


@pytest.fixture
def take(make_view: Callable[..., View]) -> Callable[..., Taken]:
    """A recording of ballots (as ``make_view`` reads them), and what it takes to compare with it."""

    def build(
        ballots: Sequence[str],
        *,
        judge: object = None,
        name: str = "judge",
        suite: Callable[[Suite], Suite] = lambda suite: suite,
        models: Sequence[str] = (),
        settings: dict[str, Any] | None = None,
        **options: Any,
    ) -> Taken:
        bound = bind_judge(name, judge or a_judge)
        view = make_view(ballots, judge=name, **options)
        plan = Plan(Settings(judges=(name,), base=Path(), **(settings or {})), (bound,), {})
        planned = plan.add_suite(suite(view.suite))
        known = {instance.id for instance in planned.suite.instances}
        results = [item._replace(usage=Usage(models=tuple(models))) for item in view.results if item.instance in known]
        return plan, planned, bound, make_golden(plan, planned, bound, results)

    return build


def drift_of(before: Taken, after: Taken) -> Drift:
    (drift,) = compare_all([compare(*after[:3], before[3], after[3], "golden/made.judge.txt")])
    assert compile_check(
        load_schema("report")["properties"]["drift"]["items"] | {"$defs": load_schema("report")["$defs"]}
    )(drift_to_dict(drift))
    return drift


def kinds(drift: Drift) -> list[str]:
    return [kind for kind, _ in drift.changes]


def vote(rng: random.Random, right: bool, minority: float) -> str:
    return "x" if (rng.random() >= minority) == right else "y"


def noisy(rng: random.Random, right: Sequence[bool], minority: float = 0.1, orders: int = 2) -> list[str]:
    return [" ".join("".join(vote(rng, side, minority) for _ in range(3)) for _ in range(orders)) for side in right]


STEADY = ["xxx xxx", "yyy yyy"] * 20
TURNED = ["yyy yyy" if k < 6 else ballot for k, ballot in enumerate(STEADY)]


# --- beyond noise, or not -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("protocol", "orders"), [("pairwise", 2), ("pointwise", 1)])
def test_alarm_rates(take: Callable[..., Taken], protocol: str, orders: int) -> None:
    """The same noisy judge twice, and one of which a tenth of the instances turned (tests/calibration/drift.py does 200)."""
    false, true, runs = 0, 0, 20
    for seed in range(runs):
        rng = random.Random(seed)
        right = [rng.random() < 0.7 for _ in range(120)]
        turned = set(rng.sample(range(120), 12))
        before, again, other = (
            take(noisy(rng, sides, orders=orders), protocol=protocol)
            for sides in (right, right, [side != (k in turned) for k, side in enumerate(right)])
        )
        false += drift_of(before, again).decision != PASS
        true += drift_of(before, other).decision == FAIL
    assert (false, true >= 0.9 * runs) == (0, True), (false, true)


def test_an_unchanged_judge_differs_within_its_noise(take: Callable[..., Taken]) -> None:
    rng = random.Random(1)
    right = [True] * 60
    drift = drift_of(take(noisy(rng, right)), take(noisy(rng, right)))
    assert (drift.verdict, drift.decision) == (WITHIN, PASS)
    assert drift.sentence.startswith("different, within its noise: ")
    assert not drift.changes


def test_drift_without_a_cause(take: Callable[..., Taken]) -> None:
    drift = drift_of(take(STEADY), take(TURNED))
    assert (drift.verdict, drift.decision, kinds(drift)) == (DRIFTED, FAIL, [])
    assert drift.sentence.startswith("drifted beyond its noise: vote shift 27 points [")
    assert (
        "3 of 40 verdicts differ, 3 in their label; nothing changed that shows here, so the judge itself did"
        in drift.sentence
    )
    assert [item.instance for item in drift.differing] == ["i0000", "i0002", "i0004"]
    assert (drift.differing[0].before, drift.differing[0].after) == ("x (ab 3:0, ba 3:0)", "y (ab 0:3, ba 0:3)")


def test_the_same_verdicts(take: Callable[..., Taken]) -> None:
    drift = drift_of(take(STEADY), take(STEADY))
    assert (drift.verdict, drift.decision, drift.sentence) == (SAME, PASS, "all 40 verdicts are the same")


def test_votes_that_are_lost_are_drift(take: Callable[..., Taken]) -> None:
    drift = drift_of(take(["xxx xxx"] * 30), take(["xxx xxx", "aaa aaa"] * 15))
    assert (drift.verdict, drift.decision) == (DRIFTED, FAIL)
    assert "50% fewer votes are valid" in drift.sentence


def test_one_vote_does_not_show_noise(take: Callable[..., Taken]) -> None:
    same = drift_of(take(["x x"] * 30), take(["x x"] * 30))
    drift = drift_of(take(["x x"] * 30), take(["x x"] * 20 + ["y y"] * 10))
    assert (same.verdict, same.decision) == (SAME, PASS)
    assert (drift.verdict, drift.decision) == (UNTOLD, INCONCLUSIVE)
    assert "one valid vote of a request does not show a judge's noise" in drift.sentence


def test_scores_drift(take: Callable[..., Taken]) -> None:
    low = [[k % 7, k % 7 + 0.5, k % 7 + 0.2] for k in range(30)]
    high = [[score + 1 for score in row] for row in low]
    taken = [take(["..."] * 30, protocol="pointwise", gold="novel", scores=scores) for scores in (low, low, high)]
    assert drift_of(taken[0], taken[1]).verdict == SAME
    drift = drift_of(taken[0], taken[2])
    assert (drift.verdict, drift.decision) == (DRIFTED, FAIL)
    assert "mean score +1" in drift.sentence


def test_comparisons_of_one_run_are_adjusted_together(take: Callable[..., Taken]) -> None:
    before, after = take(STEADY), take(TURNED)
    raw = compare(*after[:3], before[3], after[3], "golden")
    alone, *many = compare_all([raw])[0], *compare_all([raw] * 30)
    assert alone.p_holm is not None
    assert many[0].p_holm == pytest.approx(30 * alone.p_holm)


# --- exact --------------------------------------------------------------------------------------------------


def exact_judge(request: object) -> str:
    return "{}"


exact_judge.deterministic = True  # type: ignore[attr-defined]


def test_a_deterministic_judge_must_repeat_itself(take: Callable[..., Taken]) -> None:
    one_vote = ["xxy xxx", *STEADY[1:]]
    assert drift_of(take(STEADY, judge=exact_judge), take(STEADY, judge=exact_judge)).decision == PASS
    drift = drift_of(take(STEADY, judge=exact_judge), take(one_vote, judge=exact_judge))
    assert (drift.verdict, drift.decision) == (DRIFTED, FAIL)
    assert "a deterministic judge says something else: 1 of 40 verdicts differ, none in its label" in drift.sentence
    assert drift_of(take(STEADY), take(one_vote)).decision == PASS  # of any other judge that is noise


def one_order(taken: Taken) -> Taken:
    """The same under ``--novelty-orders=ab``."""
    plan, planned, judge, golden = taken
    entries = {
        name: entry._replace(tallies=entry.tallies[:1], label="x" if entry.tallies[0][1][0] else "y")
        for name, entry in golden.entries.items()
    }
    return plan, planned, judge, replace(golden, entries=entries)


@pytest.mark.parametrize("ballot", ["xxx xxx", "xxx yyy"])
def test_fewer_votes_or_orders_are_no_other_verdict(take: Callable[..., Taken], ballot: str) -> None:
    whole, turned = (take([made] * 10, judge=exact_judge) for made in (ballot, "yyy yyy"))
    one_vote = take([" ".join(word[0] for word in ballot.split())] * 10, judge=exact_judge)
    for less in (one_vote, one_order(whole), one_order(one_vote)):
        for before, after in ((whole, less), (less, whole)):
            drift = drift_of(before, after)
            assert (drift.verdict, drift.decision, drift.differing) == (SAME, PASS, ())
        other = drift_of(turned, less)
        assert (other.decision, len(other.differing)) == (FAIL, 10)


def test_fewer_votes_of_one_score_are_the_same(take: Callable[..., Taken]) -> None:
    many, one, other = (
        take([ballot], protocol="pointwise", gold="novel", scores=[scores], judge=exact_judge)
        for ballot, scores in (("...", [4.5] * 3), (".", [4.5]), (".", [5.0]))
    )
    assert drift_of(many, one).verdict == SAME
    assert drift_of(many, other).verdict == DRIFTED


def test_recorded_scores_have_six_digits(take: Callable[..., Taken]) -> None:
    taken = [
        take(["..."], protocol="pointwise", gold="novel", scores=[[score] * 3], judge=exact_judge)
        for score in (0.123456789, 0.1234567, 0.1236)
    ]
    assert drift_of(taken[0], taken[1]).verdict == SAME
    assert drift_of(taken[0], taken[2]).verdict == DRIFTED


# --- what changed -------------------------------------------------------------------------------------------


def edit_suite(suite: Suite) -> Suite:
    first, second, *rest = suite.instances
    reworded = replace(second, ideas=(replace(second.ideas[0], text="Other words."), *second.ideas[1:]))
    return replace(suite, instances=(reworded, *rest, replace(first, id="new")), digest="1" * 32)


def test_suite_edited(take: Callable[..., Taken]) -> None:
    before = take(STEADY)
    plan, planned, judge, after = take(STEADY, suite=edit_suite)
    new = {**after.entries, "new": after.entries["i0002"]}
    drift = drift_of(before, (plan, planned, judge, replace(after, entries=new)))
    assert (drift.added, drift.reworded, drift.removed) == (("new",), ("i0001",), ("i0000",))
    assert (kinds(drift), drift.decision, drift.verdict, drift.n) == ([SUITE], FAIL, SAME, 38)
    assert "the suite changed: 1 added (new), 1 reworded (i0001), 1 removed (i0000)" in drift.sentence


def test_a_suite_whose_labels_alone_changed_is_the_same(take: Callable[..., Taken]) -> None:
    def relabel(suite: Suite) -> Suite:
        instances = tuple(replace(instance, gold="y") for instance in suite.instances)
        return replace(suite, instances=instances, digest="1" * 32)

    drift = drift_of(take(STEADY), take(STEADY, suite=relabel))
    assert (drift.verdict, drift.decision, drift.changes) == (SAME, PASS, ())


def test_ideas_of_another_name_are_no_label_of_the_old_one(take: Callable[..., Taken]) -> None:
    def rename(suite: Suite) -> Suite:
        first = suite.instances[0]
        ideas = (replace(first.ideas[0], id="z"), first.ideas[1])
        return replace(suite, instances=(replace(first, ideas=ideas, gold="z"), *suite.instances[1:]))

    plan, planned, judge, after = take(STEADY[1:], suite=rename)
    old = take(STEADY)
    new = replace(after, entries={**after.entries, "i0000": old[3].entries["i0000"]._replace(label="z", shown="0")})
    assert drift_of(old, (plan, planned, judge, new)).reworded == ("i0000",)


def with_votes(suite: Suite) -> Suite:
    reference = suite.variants["reference"]
    return replace(suite, variants={"reference": replace(reference, axes=replace(reference.axes, temperature=1.0))})


def with_prompt(suite: Suite) -> Suite:
    reference = suite.variants["reference"]
    return replace(
        suite, variants={"reference": replace(reference, axes=replace(reference.axes, prompt="pairwise/p3"))}
    )


def versioned(version: str, **traits: Any) -> Any:
    def judge(request: object) -> str:
        return "{}"

    for name, value in {"version": version, **traits}.items():
        setattr(judge, name, value)
    return judge


@pytest.mark.parametrize("ballots", [STEADY, TURNED], ids=["same", "drifted"])
@pytest.mark.parametrize(
    ("before", "after", "kind", "words"),
    [
        ({}, {"suite": with_prompt}, PROMPT, "the prompt changed: pairwise/reference 1.0.0 "),
        ({"judge": versioned("1")}, {"judge": versioned("2")}, JUDGE, "the judge changed its version: 1 -> 2"),
        ({"judge": versioned("1")}, {}, JUDGE, "the judge's code was edited (its version is a digest of the file): 1 -> "),
        ({}, {"suite": with_votes}, PARAMETERS, "parameters changed: temperature none -> 1"),
        ({}, {"settings": {"seed": 7}}, PARAMETERS, "parameters changed: seed 0 -> 7"),
        ({"name": "old"}, {"name": "new"}, RENAMED, "the judge has another name: old -> new"),
        (
            {"models": ["m-01"]}, {"models": ["m-02"]}, SERVED,
            "another model answered, under the same name: m-01 -> m-02",
        ),
        (
            {"judge": versioned("1", index_version="May")}, {"judge": versioned("1", index_version="June")}, INDEX,
            "the index that it searches changed: May -> June",
        ),
    ],
)  # fmt: skip
def test_the_cause_is_told(
    take: Callable[..., Taken],
    before: dict[str, Any],
    after: dict[str, Any],
    kind: str,
    words: str,
    ballots: list[str],
) -> None:
    drift = drift_of(take(STEADY, **before), take(ballots, **after))
    assert kinds(drift) == [kind]
    assert words in drift.sentence
    assert "nothing changed" not in drift.sentence
    assert (drift.verdict, drift.decision) == ((SAME, PASS) if ballots is STEADY else (DRIFTED, FAIL))


def test_a_model_is_told_by_its_name_and_settings(take: Callable[..., Taken], tmp_path: Path) -> None:
    from pytest_novelty.judges.llm.files import LlmSettings
    from pytest_novelty.judges.llm.judge import LlmJudge

    def model(**changes: Any) -> LlmJudge:
        return LlmJudge(LlmSettings(name="judge", folder=tmp_path, provider="openai", **{"model": "m-5", **changes}))

    first = take(STEADY, judge=model())
    renamed = drift_of(first, take(STEADY, judge=model(model="m-6")))
    hotter = drift_of(first, take(STEADY, judge=model(temperature=1.0)))
    assert kinds(renamed) == [MODEL]
    assert "another model is asked: m-5 -> m-6" in renamed.sentence
    assert kinds(hotter) == [PARAMETERS]
    assert "parameters changed: asked temperature none -> 1" in hotter.sentence


def test_a_secret_in_a_models_parameters_is_compared_as_it_is_written(
    take: Callable[..., Taken], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pytest_novelty.judges.llm.files import LlmSettings
    from pytest_novelty.judges.llm.judge import LlmJudge

    monkeypatch.setenv("TENANT_TOKEN", "tenant-abcdef-12345")
    monkeypatch.setenv("PIN_TOKEN", "1234567890")
    parameters: dict[str, Any] = {"user": "tenant-abcdef-12345", "pin": 1234567890}
    settings = LlmSettings("openai", "m-5", name="judge", folder=tmp_path, parameters=parameters)
    taken = take(STEADY, judge=LlmJudge(settings))
    text = write_text(taken[3])
    assert "tenant-abcdef" not in text
    assert "1234567890" not in text
    again = drift_of((*taken[:3], read_text(text, tmp_path / "golden.txt", PROTOCOLS[taken[1].suite.protocol])), taken)
    assert (again.verdict, again.changes) == (SAME, ())
    other = drift_of(take(STEADY, judge=LlmJudge(replace(settings, parameters={}))), taken)
    assert "parameters changed" in other.sentence
    assert "tenant-abcdef" not in other.sentence


def test_a_head_of_an_earlier_version_says_nothing_of_what_it_did_not_know(take: Callable[..., Taken]) -> None:
    plan, planned, judge, taken = take(STEADY)
    entries = {
        name: entry._replace(head={key: value for key, value in entry.head.items() if key != "granularity"})
        for name, entry in taken.entries.items()
    }
    drift = drift_of((plan, planned, judge, replace(taken, entries=entries)), (plan, planned, judge, taken))
    assert (drift.verdict, drift.changes, drift.n) == (SAME, (), 40)


def test_what_is_rendered_otherwise_is_compared_all_the_same(take: Callable[..., Taken]) -> None:
    def bare(suite: Suite) -> Suite:
        reference = suite.variants["reference"]
        return replace(
            suite, variants={"reference": replace(reference, axes=replace(reference.axes, related_work=True))}
        )

    plan, planned, judge, taken = take(STEADY, suite=bare)
    entries = {name: entry._replace(shown="0" * 8) for name, entry in taken.entries.items()}
    drift = drift_of(take(STEADY), (plan, planned, judge, replace(taken, entries=entries)))
    assert (kinds(drift), drift.n, drift.reworded) == ([PARAMETERS], 40, ())


def test_models_that_served_before_are_no_news(take: Callable[..., Taken]) -> None:
    assert not drift_of(take(STEADY, models=["a", "b"]), take(STEADY, models=["a"])).changes
    assert not drift_of(take(STEADY), take(STEADY, models=["a"])).changes


def test_a_partial_recording_is_no_change_of_the_suite(take: Callable[..., Taken]) -> None:
    plan, planned, judge, whole = take(STEADY)
    names = list(whole.entries)
    half = replace(whole, entries={name: whole.entries[name] for name in names[:20]}, left_out=frozenset(names[20:]))
    drift = drift_of((plan, planned, judge, half), (plan, planned, judge, whole))
    assert (drift.n, drift.decision, drift.changes, len(drift.unrecorded)) == (20, PASS, (), 20)
    assert "20 more have no recorded verdict yet" in drift.sentence
    edited = drift_of((plan, planned, judge, replace(half, digest="1" * 32)), (plan, planned, judge, whole))
    assert (edited.decision, edited.added, len(edited.unrecorded)) == (PASS, (), 20)
    grown = drift_of(
        (plan, planned, judge, replace(half, left_out=frozenset(names[21:]))), (plan, planned, judge, whole)
    )
    assert (grown.decision, grown.added, len(grown.unrecorded)) == (FAIL, (names[20],), 19)
    nothing = replace(whole, entries={}, left_out=frozenset(names))
    none = drift_of((plan, planned, judge, nothing), (plan, planned, judge, whole))
    assert (none.verdict, none.decision) == (NOTHING, NOT_ENFORCED)


def test_a_run_that_only_read_the_store_says_so(take: Callable[..., Taken]) -> None:
    plan, planned, judge, taken = take(STEADY)
    (reused,) = compare_all([compare(plan, planned, judge, taken, taken, "golden", (240, 240))])
    (asked,) = compare_all([compare(plan, planned, judge, taken, taken, "golden", (239, 240))])
    assert "nothing was asked: all verdicts come from the store" in reused.sentence
    assert "another recording" not in reused.sentence
    assert "nothing was asked" not in asked.sentence


def test_a_judge_that_was_not_asked_did_not_change(take: Callable[..., Taken]) -> None:
    before, after = take(STEADY), take(TURNED)
    (stored,) = compare_all([compare(*after[:3], before[3], after[3], "golden", (240, 240))])
    assert (stored.verdict, stored.decision) == (DRIFTED, FAIL)
    assert "the judge itself" not in stored.sentence
    assert "all verdicts come from the store, which is another recording than the file's" in stored.sentence


# --- thresholds ---------------------------------------------------------------------------------------------


def scorer(threshold: float | None, *, exact: bool = False, higher_is: str = "novel") -> Any:
    return versioned("1", threshold=threshold, deterministic=exact, higher_is=higher_is, score_range=(-9, 99))


@pytest.fixture
def take_scores(take: Callable[..., Taken]) -> Callable[..., Taken]:
    def build(
        threshold: float | None, setting: float | None = None, *, moved: float = 0.0, seed: int = 0, **how: Any
    ) -> Taken:
        rng = random.Random(seed)
        scores = [[k % 10 + moved + rng.random() / 10 for _ in range(3)] for k in range(40)]
        judge = scorer(threshold, **how)
        return take(
            ["..."] * 40, protocol="pointwise", gold="novel", scores=scores, judge=judge,
            traits=bind_judge("judge", judge).traits, settings={"threshold": setting},
            **({} if setting is None else {"threshold": setting}),
        )  # fmt: skip

    return build


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize(("own", "setting", "count"), [(5.0, 7.0, 8), (None, 7.0, 40), (5.0, 2.0, 12)])
def test_a_threshold_that_was_set_is_no_noise_and_no_drift(
    take_scores: Callable[..., Taken], own: float | None, setting: float, count: int, exact: bool
) -> None:
    plain, other = take_scores(own, exact=exact), take_scores(own, setting, exact=exact)
    for before, after in ((plain, other), (other, plain)):
        drift = drift_of(before, after)
        assert (drift.verdict, drift.decision, len(drift.relabelled)) == (SAME, PASS, count)
        assert not drift.differing
        assert drift.flip_rate.value in (0.0, None)
        assert drift.sentence.startswith(
            f"the scores of all 40 instances are the same; {count} of 40 labels changed by the threshold alone; parameters changed: "
        )
        assert kinds(drift) == [PARAMETERS]


@pytest.mark.parametrize("exact", [True, False])
@pytest.mark.parametrize("after", [{"threshold": 7.0}, {"threshold": 5.0, "higher_is": "not novel"}])
def test_another_threshold_of_the_judge_is_drift(
    take_scores: Callable[..., Taken], after: dict[str, Any], exact: bool
) -> None:
    drift = drift_of(take_scores(5.0, exact=exact), take_scores(**after, exact=exact))
    assert (drift.verdict, drift.decision) == (DRIFTED, FAIL)
    assert "the scores of all 40 instances are the same" in drift.sentence
    assert " of 40 labels changed by the judge's own threshold, or what it calls novel, alone" in drift.sentence
    assert "noise" not in drift.sentence
    assert "itself" not in drift.sentence


def test_beside_another_threshold_scores_are_compared_all_the_same(take_scores: Callable[..., Taken]) -> None:
    before = take_scores(5.0)
    noisy_again = drift_of(before, take_scores(5.0, 7.0, seed=1))
    assert (noisy_again.verdict, noisy_again.decision) == (WITHIN, PASS)
    assert "within its noise: 40 of 40 verdicts differ, none in its label under one threshold" in noisy_again.sentence
    assert "8 of 40 labels changed by the threshold alone" in noisy_again.sentence
    moved = drift_of(before, take_scores(5.0, 7.0, moved=2.0))
    assert (moved.verdict, moved.decision, len(moved.relabelled)) == (DRIFTED, FAIL, 8)
    own = drift_of(before, take_scores(7.0, seed=1))
    assert (own.verdict, own.decision) == (DRIFTED, FAIL)
    assert "8 of 40 labels changed by the judge's own threshold, or what it calls novel, alone" in own.sentence
    unchanged = drift_of(before, take_scores(5.0, seed=1))
    assert (unchanged.decision, unchanged.relabelled) == (PASS, ())


def test_a_score_at_the_threshold_keeps_its_label(take: Callable[..., Taken]) -> None:
    judge = scorer(0.0)
    traits = bind_judge("judge", judge).traits
    before, after = (
        take(["..."], protocol="pointwise", gold="novel", scores=[scores], judge=judge, traits=traits)
        for scores in ([1.2345674, -1.2345678, 0.0], [2.0, 2.0, 2.0])
    )
    assert before[3].entries["i0000"].label == "not novel"
    assert not drift_of(before, after).relabelled


# --- what decided comes first ---------------------------------------------------------------------------------


def reword_second(suite: Suite) -> Suite:
    first, second, *rest = suite.instances
    reworded = replace(second, ideas=(replace(second.ideas[0], text="Other words."), *second.ideas[1:]))
    return replace(suite, instances=(first, reworded, *rest), digest="1" * 32)


def test_a_suite_that_changed_leads_where_the_verdicts_did_not(take: Callable[..., Taken]) -> None:
    words = "the suite changed: 1 reworded (i0001)"
    same = drift_of(take(STEADY), take(STEADY, suite=reword_second, settings={"seed": 7}))
    assert (same.verdict, same.decision, kinds(same)) == (SAME, FAIL, [PARAMETERS, SUITE])
    assert same.parts == (words, "all 39 verdicts are the same", "parameters changed: seed 0 -> 7")
    noise = drift_of(take(STEADY), take(["xxy xxx", *STEADY[1:]], suite=reword_second))
    assert (noise.verdict, noise.decision, noise.parts[0]) == (WITHIN, FAIL, words)
    untold = drift_of(take(["x x"] * 30), take(["y y", *["x x"] * 29], suite=reword_second))
    assert (untold.verdict, untold.decision, untold.parts[0]) == (UNTOLD, FAIL, words)
    nothing = drift_of(take(["xxx xxx"] * 2), take(["xxx xxx"] * 2, suite=reword_all))
    assert nothing.parts == ("the suite changed: 2 reworded (i0000, i0001)", NO_INSTANCE)
    both = drift_of(take(STEADY), take(TURNED, suite=reword_second))
    assert both.parts[0].startswith("drifted beyond its noise: ")
    assert both.parts[-2:] == ("3 of 39 verdicts differ, 3 in their label", words)


NO_INSTANCE = "no instance is comparable with what was recorded"


def reword_all(suite: Suite) -> Suite:
    return replace(
        suite,
        instances=tuple(
            replace(each, ideas=(replace(each.ideas[0], text="Other words."), *each.ideas[1:]))
            for each in suite.instances
        ),
    )


def test_a_threshold_of_the_judge_leads_where_the_scores_are_the_same(take_scores: Callable[..., Taken]) -> None:
    before = take_scores(5.0)
    words = "8 of 40 labels changed by the judge's own threshold, or what it calls novel, alone"
    assert drift_of(before, take_scores(7.0)).parts[:2] == (words, "the scores of all 40 instances are the same")
    assert drift_of(before, take_scores(7.0, seed=1)).parts[0] == words
    assert drift_of(before, take_scores(7.0, moved=2.0)).parts[0].startswith("drifted beyond its noise: ")


def test_an_interval_that_reaches_0_beside_a_drift_is_explained(take: Callable[..., Taken]) -> None:
    why = "the test decides: the interval, wider where instances are few, is of the size alone"
    few = drift_of(take(["xxx xxx"] * 24), take(["yyy yyy"] * 4 + ["xxx xxx"] * 20))
    assert (few.verdict, few.vote_shift.low) == (DRIFTED, pytest.approx(0.0, abs=0.005))
    assert few.parts[1] == why
    clear = drift_of(take(STEADY), take(["yyy yyy", "xxx xxx"] * 20))
    assert (clear.verdict, why in clear.sentence) == (DRIFTED, False)
    noise = drift_of(take(STEADY), take(["xxy xxx", *STEADY[1:]]))
    assert (noise.verdict, why in noise.sentence) == (WITHIN, False)


# --- orders that one side has not -------------------------------------------------------------------------------


def only_order(taken: Taken, order: str) -> Taken:
    plan, planned, judge, golden = taken
    entries = {
        name: entry._replace(tallies=tuple(tally for tally in entry.tallies if tally[0] == order))
        for name, entry in golden.entries.items()
    }
    entries = {
        name: entry._replace(label="x" if entry.tallies[0][1][0] > entry.tallies[0][1][1] else "y")
        for name, entry in entries.items()
    }
    return plan, planned, judge, replace(golden, entries=entries)


def test_labels_are_counted_over_the_orders_that_both_sides_have(take: Callable[..., Taken]) -> None:
    whole = take(["xxx yyy"] * 20)  # ties; x in the order ab
    turned = only_order(take(["yyy yyy"] * 4 + ["xxx yyy"] * 16), "ab")
    for before, after in ((whole, turned), (turned, whole)):
        drift = drift_of(before, after)
        assert (drift.verdict, drift.n, len(drift.differing)) == (DRIFTED, 20, 4)
        assert "4 of 20 verdicts differ, 4 in their label" in drift.parts
        assert "votes and labels are compared in the order ab that both sides have" in drift.parts
        assert drift.flip_rate.value == 0.2
    assert drift_of(whole, only_order(whole, "ba")).verdict == SAME
    assert "that both sides have" not in drift_of(whole, whole).sentence


def test_other_orders_have_nothing_to_compare(take: Callable[..., Taken]) -> None:
    whole = take(["xxx yyy"] * 20, judge=exact_judge)
    drift = drift_of(only_order(whole, "ab"), only_order(whole, "ba"))
    assert (drift.verdict, drift.decision, drift.n) == (NOTHING, NOT_ENFORCED, 0)
    assert drift.parts == (NO_INSTANCE, "20 more were asked in other orders, and are not compared")


# --- recorded by this run ---------------------------------------------------------------------------------------


def test_what_a_run_recorded_passes_and_says_what_it_left(take: Callable[..., Taken]) -> None:
    raw = compare(*take(TURNED)[:3], take(STEADY)[3], take(TURNED)[3], "golden/made.judge.txt")
    (all_of_it,) = compare_all([replace(raw, recorded=True)])
    assert (all_of_it.verdict, all_of_it.decision) == (DRIFTED, PASS)
    assert all_of_it.parts[-1] == "recorded by this run"
    (part,) = compare_all([replace(raw, recorded=True, unremoved=("gone",))])
    assert part.parts[-1] == (
        "recorded by this run, but for the line of what was removed, which only an update of the whole suite takes out"
    )
    (plain,) = compare_all([raw])
    assert (plain.decision, "recorded by" in plain.sentence) == (FAIL, False)
    (nothing,) = compare_all([nothing_found("judge", "made", "golden/made.judge.txt")])
    assert (nothing.decision, "recorded by this run" in nothing.sentence) == (NOT_ENFORCED, False)


# --- the parts by themselves ------------------------------------------------------------------------------------


def test_the_level_is_of_all_comparisons_together(take: Callable[..., Taken]) -> None:
    raw = compare(*take(TURNED)[:3], take(STEADY)[3], take(TURNED)[3], "golden/made.judge.txt")
    decided = [compare_all([replace(raw, p=p)])[0].verdict for p in (0.02, 0.021, 0.05)]
    assert decided == [DRIFTED, WITHIN, WITHIN]
    two = compare_all([replace(raw, p=0.015), replace(raw, p=0.5)])
    assert (two[0].verdict, two[0].p_holm) == (WITHIN, pytest.approx(0.03))
    told = drift_to_dict(two[0])
    assert (told["p"], told["p_holm"]) == (0.015, pytest.approx(0.03))


def test_two_tests_of_one_comparison_are_adjusted(take: Callable[..., Taken], monkeypatch: pytest.MonkeyPatch) -> None:
    def size_and_p(**causes: float) -> tuple[str, float | None]:
        monkeypatch.setattr(drifting, "find_causes", lambda pair: Causes(**causes))
        after = take(["aaa aaa"] * 3 + STEADY[3:])
        drift = compare(*after[:3], take(STEADY)[3], after[3], "golden/made.judge.txt")
        return drift.size.split(" ")[0], drift.p

    assert size_and_p(moved=0.015, silenced=0.5) == ("vote", pytest.approx(0.03))
    assert size_and_p(moved=0.5, silenced=0.015) == ("vote", pytest.approx(0.03))  # beyond the level once adjusted
    assert size_and_p(moved=0.5, silenced=0.005) == ("8%", pytest.approx(0.01))
    assert size_and_p(moved=0.001, silenced=0.001) == ("vote", pytest.approx(0.002))


def test_votes_that_came_back_are_drift_too(take: Callable[..., Taken]) -> None:
    drift = drift_of(take(["xxx xxx", "aaa aaa"] * 15), take(["xxx xxx"] * 30))
    assert "50% more votes are valid" in drift.sentence


def test_views_are_made_under_the_settings_of_the_run(
    take: Callable[..., Taken], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[dict[str, Any]] = []

    def view(*args: Any, **options: Any) -> View:
        seen.append(options)
        return View(*args, **options)

    monkeypatch.setattr(drifting, "View", view)
    settings = {"failures": "exclude", "threshold": 5.0, "seed": 3}
    taken = take(STEADY, settings=settings)
    drift_of(taken, taken)
    assert seen == [settings, settings]


def test_a_recording_is_of_the_reference_alone(take: Callable[..., Taken], make_view: Callable[..., View]) -> None:
    plan, planned, judge, golden = take(STEADY)
    views = [make_view(STEADY), make_view(["yyy yyy"] * 40, variant="P1")]
    for order in (views, views[::-1]):
        assert make_golden(plan, planned, judge, [row for view in order for row in view.results]) == golden


def test_what_a_recording_says_of_votes_and_settings(take: Callable[..., Taken]) -> None:
    def with_params(suite: Suite) -> Suite:
        reference = suite.variants["reference"]
        return replace(
            suite, variants={"reference": replace(reference, axes=replace(reference.axes, params={"top": 1}))}
        )

    golden = take(["xxa taa"], suite=with_params, settings={"threshold": 5.0})[3]
    (entry,) = golden.entries.values()
    assert entry.tallies == (("ab", (2, 0, 0, 1, 0)), ("ba", (0, 0, 1, 2, 0)))
    assert (entry.head["threshold"], entry.head["params"]) == (5.0, {"top": 1})
    assert not {"threshold", "params"} & set(take(["xxa taa"])[3].entries["i0000"].head)


def test_another_model_that_was_asked_for_answered_too(take: Callable[..., Taken], tmp_path: Path) -> None:
    from pytest_novelty.judges.llm.files import LlmSettings
    from pytest_novelty.judges.llm.judge import LlmJudge

    sides = [
        take(
            STEADY, judge=LlmJudge(LlmSettings("openai", model, name="judge", folder=tmp_path)), models=[f"{model}-01"]
        )
        for model in ("m-5", "m-6")
    ]
    assert drift_of(*sides).parts[1:] == (
        "another model is asked: m-5 -> m-6",
        "another model answered, too: m-5-01 -> m-6-01",
    )


def test_scores_on_one_side_only_are_a_difference(take: Callable[..., Taken]) -> None:
    with_scores, without = (
        take(["xxx"] * 3, protocol="pointwise", gold="novel", judge=exact_judge, scores=scores)
        for scores in ([[1.0, 2.0, 3.0]] * 3, ())
    )
    for before, after in ((with_scores, without), (without, with_scores)):
        drift = drift_of(before, after)
        assert (drift.decision, len(drift.differing)) == (FAIL, 3)
        assert "3 of 3 verdicts differ, none in its label" in drift.sentence


def test_what_was_shown_is_compared_by_what_both_heads_know(take: Callable[..., Taken]) -> None:
    plan, planned, judge, taken = take(STEADY)
    entries = {
        name: entry._replace(
            head={key: value for key, value in entry.head.items() if key != "granularity"}, shown="0" * 8
        )
        for name, entry in taken.entries.items()
    }
    old = replace(taken, entries=entries)
    assert len(drift_of((plan, planned, judge, old), (plan, planned, judge, taken)).reworded) == 40
    renamed = {  # rendered otherwise, so that what was shown says nothing: the label does
        name: entry._replace(head={**entry.head, "format": "json"}, shown="0" * 8, label="former")
        for name, entry in taken.entries.items()
    }
    other = drift_of((plan, planned, judge, replace(taken, entries=renamed)), (plan, planned, judge, taken))
    assert (other.n, len(other.reworded)) == (0, 40)
