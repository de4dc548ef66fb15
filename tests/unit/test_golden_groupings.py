"""Golden verdicts of groupings: a line that a person reviews, what is refused of it, and what is said when partitions change."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty.deciding import FAIL, INCONCLUSIVE, PASS
from pytest_novelty.drifting import DRIFTED, SAME, UNTOLD, WITHIN, Drift, compare, compare_all
from pytest_novelty.errors import GoldenError
from pytest_novelty.evidence_drift import LABELS_ALONE
from pytest_novelty.golden import Golden, check_against, fits, make_golden, merge, read_text, result_from, write_text
from pytest_novelty.judges.base import Judge, bind_judge
from pytest_novelty.metrics.view import View
from pytest_novelty.model import ERROR, UNPARSED, Idea
from pytest_novelty.plan import Plan, SuitePlan
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.protocols.grouping import name_partition
from pytest_novelty.settings import Settings

GROUPING = PROTOCOLS["grouping"]
Taken = tuple[Plan, SuitePlan, Judge, Golden]


def a_judge(request: object) -> str:
    return "{}"


def exact_judge(request: object) -> str:
    return "{}"


exact_judge.deterministic = True  # type: ignore[attr-defined]


@pytest.fixture
def take(make_groupings: Callable[..., View]) -> Callable[..., Taken]:
    def build(ballots: Sequence[str], judge: Any = a_judge, **options: Any) -> Taken:
        bound = bind_judge("judge", judge)
        view = make_groupings(ballots, **options)
        plan = Plan(Settings(judges=("judge",), base=Path()), (bound,), {})
        planned = plan.add_suite(view.suite)
        return plan, planned, bound, make_golden(plan, planned, bound, view.results)

    return build


def drift_of(before: Taken, after: Taken) -> Drift:
    (drift,) = compare_all([compare(*after[:3], before[3], after[3], "golden/made.judge.txt")])
    return drift


def rows(golden: Golden) -> list[str]:
    return [line for line in write_text(golden).splitlines() if not line.startswith("#")]


# --- the text -----------------------------------------------------------------------------------------------


BALLOTS = ["aabb.,aabb.,aa... aabb.,aabb.,-", "...,...,... ...,aa.,?", "aa.,aa. .aa,.aa", "aa. -", "- -"]


def test_the_line_is_made_for_review(take: Callable[..., Taken]) -> None:
    golden = take(BALLOTS)[3]
    assert [row.split("\t")[:3] for row in rows(golden)] == [
        ["i0001", "all apart", "ab 3, ba 1, ba 1 {a b}, ba 1 abstained"],
        ["i0002", "tie", "ab 2 {a b}, ba 2 {b c}"],
    ]  # calls that failed in transport are no verdict
    text = write_text(golden)
    assert "# instance, partition, in each order the votes for it, for others, abstained and failed ones" in text
    assert read_text(text, Path(), GROUPING) == golden


def test_failures_that_are_the_judges_own_are_written(
    take: Callable[..., Taken], make_groupings: Callable[..., View]
) -> None:
    results = []
    for result in make_groupings(BALLOTS).results:
        votes = tuple(v._replace(status=UNPARSED) if v.status == ERROR else v for v in result.outcome.votes)
        results.append(result._replace(outcome=result.outcome._replace(votes=votes)))
    unparsed = make_golden(*take(BALLOTS)[:3], results)
    assert [row.split("\t")[1:3] for row in rows(unparsed)] == [
        ["{a b} {c d}", "ab 2, ab 1 {a b}, ba 2, ba 1 failed"],
        ["all apart", "ab 3, ba 1, ba 1 {a b}, ba 1 abstained"],
        ["tie", "ab 2 {a b}, ba 2 {b c}"],
        ["incomplete", "ab 1 {a b}, ba 1 failed"],
        ["invalid", "ab 1 failed, ba 1 failed"],
    ]
    assert read_text(write_text(unparsed), Path(), GROUPING) == unparsed


def test_votes_come_back_as_they_were_counted(take: Callable[..., Taken]) -> None:
    _, planned, _, golden = take(["aabb.,aabb.,aa... aabb.,aa...,?"])
    result = result_from(golden.entries["i0000"], "judge", planned.suite, planned.suite.instances[0])
    said = [(vote.order, vote.label, vote.abstained) for vote in result.outcome.votes]
    both, one = '[["a","b"],["c","d"]]', '[["a","b"]]'
    assert sorted(said, key=str) == sorted(
        [("ab", both, False)] * 2 + [("ab", one, False), ("ba", both, False), ("ba", one, False), ("ba", None, True)],
        key=str,
    )


def test_names_that_are_not_plain_are_quoted(take: Callable[..., Taken]) -> None:
    golden = take(["aa.,aa. aa.,aa."])[3]
    odd = name_partition([['x} ab 9 {"\t\n\u2028\xe9', "b"]])
    entry = golden.entries["i0000"]._replace(label=odd, names=(odd,))
    changed = replace(golden, entries={"i0000": entry})
    (row,) = rows(changed)
    assert row.split("\t")[1] == r'{b "x} ab 9 {\"\t\n\u2028\u00e9"}'
    assert read_text(write_text(changed), Path(), GROUPING) == changed


@pytest.mark.parametrize(
    ("before", "after", "words"),
    [
        ("ab 2, ab 1 {a b}, ba 2", "ab 1 {a b}, ba 2 {a b}", "the label is {a b} {c d}, and the votes say {a b}"),
        ("{a b} {c d}\t", "{a b}\t", "{a b} is the partition of the line, and is named again beside votes"),
        ("{a b} {c d}\t", "tie\t", "votes are counted for no partition"),
        ("ab 1 {a b}", "ab 0 {a b}", "votes are counted 0 times: ab 0 {a b}"),
        ("ab 1 {a b}", "ab 2 {a b}", "4 votes are counted, and 3 were asked for"),
        ("ab 1 {a b}", "ab 1", "votes are counted twice: ab 1"),
        ("ba 2", "ba 2, ab 1 {b e}", "an order is there twice"),
        ("ab 1 {a b}", "ab 1 {a}", "a group of {a} has one paper"),
        ("ab 1 {a b}", "ab 1 {a b} {b c}", "{a b} {b c} has a paper twice"),
        ("ab 1 {a b}", "ab 1 {b a}", "{b a} would be written as {a b}"),
        ("ab 1 {a b}", "ab 1 {c d} {a b}", "{c d} {a b} would be written as {a b} {c d}"),
        ("ab 1 {a b}", 'ab 1 {"a" b}', '{"a" b} would be written as {a b}'),
        ("ab 1 {a b}", "ab 1 {a b", "cannot be read"),
        ("ab 1 {a b}", "ab one {a b}", "cannot be read"),
        ("ab 1 {a b}", "1 {a b}", "cannot be read"),
        ("ab 1 {a b}", "ab 1 tie", "cannot be read"),
        ("ba 2,", "ba 2,,", "cannot be read"),
        ("ab 2, ab 1 {a b}, ba 2, ba 1 abstained", "2:1", "cannot be read"),
        ("{a b} {c d}\t", "{a b}{c d}\t", "cannot be read"),
        ("{a b} {c d}\t", "novel\t", "cannot be read"),
        ("abstained\t", "abstained, \t", "cannot be read"),
        ("abstained\t", "abstained\tscores 1\t", "cannot be"),
    ],
)
def test_a_line_that_contradicts_itself_is_refused(
    take: Callable[..., Taken], before: str, after: str, words: str
) -> None:
    text = write_text(take(["aabb.,aabb.,aa... aabb.,aabb.,?"])[3])
    assert before in text
    with pytest.raises(GoldenError) as caught:
        read_text(text.replace(before, after), Path("golden/made.judge.txt"), GROUPING)
    assert caught.value.line == len(text.splitlines())
    assert words in str(caught.value)


def test_papers_that_the_set_has_not(take: Callable[..., Taken]) -> None:
    _, planned, _, golden = take(["aa.,aa. aa.,aa."])
    text = write_text(golden)
    odd = read_text(text.replace("{a b}", "{a z}"), Path(), GROUPING)
    with pytest.raises(GoldenError, match="it has votes for {a z}, with papers that the instance has not") as caught:
        check_against(odd, planned, Path("golden/made.judge.txt"))
    assert caught.value.line == len(text.splitlines())
    entry = odd.entries["i0000"]
    assert not fits(entry, planned.suite, planned.suite.instances[0])
    check_against(replace(odd, digest="1" * 32), planned, Path())  # of a suite that was edited since


# --- drift --------------------------------------------------------------------------------------------------


def noisy(rng: random.Random, truths: Sequence[str], minority: float = 0.15) -> list[str]:
    """Every paper's place is another one's in some votes."""

    def vote(truth: str) -> str:
        return "".join(rng.choice("abc.") if rng.random() < minority else c for c in truth)

    return [" ".join(",".join(vote(truth) for _ in range(3)) for _ in range(2)) for truth in truths]


TRUTHS = ("aabb..", "aaa...", "aabbcc", "......")


def test_alarm_rates(take: Callable[..., Taken]) -> None:
    """The same noisy judge twice, and one that groups a tenth of the sets otherwise (tests/calibration/drift.py does 200)."""
    false, true, runs = 0, 0, 12
    for seed in range(runs):
        rng = random.Random(seed)
        truths = [rng.choice(TRUTHS) for _ in range(62)]
        moved = [
            truth if k >= 7 else "".join(reversed("a.a.bb" if truth != "a.a.bb" else truth))
            for k, truth in enumerate(truths)
        ]
        before, again, other = (take(noisy(rng, side)) for side in (truths, truths, moved))
        false += drift_of(before, again).decision != PASS
        true += drift_of(before, other).decision == FAIL
    assert (false, true >= 0.9 * runs) == (0, True), (false, true)


def test_the_same(take: Callable[..., Taken]) -> None:
    drift = drift_of(take(BALLOTS[1:3]), take(BALLOTS[1:3]))
    assert (drift.verdict, drift.decision) == (SAME, PASS)
    assert drift.sentence == f"all 2 verdicts are the same; {LABELS_ALONE}"


def test_within_its_noise(take: Callable[..., Taken]) -> None:
    rng = random.Random(1)
    drift = drift_of(take(noisy(rng, ["aabb.."] * 30)), take(noisy(rng, ["aabb.."] * 30)))
    assert (drift.verdict, drift.decision) == (WITHIN, PASS)
    assert drift.sentence.startswith("different, within its noise: ")


def test_drifted(take: Callable[..., Taken]) -> None:
    steady = ["aabb.,aabb. aabb.,aabb."] * 20
    turned = ["aa...,aa... aa...,aa..."] * 5 + steady[5:]
    drift = drift_of(take(steady), take(turned))
    assert (drift.verdict, drift.decision) == (DRIFTED, FAIL)
    assert drift.sentence.startswith("drifted beyond its noise: vote shift over pairs of papers 16 points [")
    assert "5 of 20 verdicts differ, 5 in their label; nothing changed that shows here" in drift.sentence
    assert (drift.differing[0].before, drift.differing[0].after) == ("{a b} {c d} (ab 2, ba 2)", "{a b} (ab 2, ba 2)")
    assert drift.flip_rate.value == 0.25


def test_a_deterministic_judge_must_repeat_itself(take: Callable[..., Taken]) -> None:
    steady, once = ["aa.,aa. aa.,aa."] * 20, ["aa.,aa. aa.,..."] + ["aa.,aa. aa.,aa."] * 19
    drift = drift_of(take(steady, exact_judge), take(once, exact_judge))
    assert (drift.verdict, drift.decision) == (DRIFTED, FAIL)
    assert "1 of 20 verdicts differ, none in its label" in drift.sentence
    assert drift.differing[0].after == "{a b} (ab 2, ba 1, ba 1 all apart)"
    fewer = drift_of(take(steady, exact_judge), take(["aa. aa."] * 20, exact_judge))
    assert (fewer.verdict, fewer.decision) == (SAME, PASS)  # fewer votes are no other verdict


def test_fewer_orders_are_compared_in_those_that_both_have(take: Callable[..., Taken]) -> None:
    before = take(["aa.,aa.,aa. .aa,.aa,.aa"] * 20)
    drift = drift_of(before, take(["aa.,aa.,aa."] * 20, orders=("ab",)))
    assert (drift.verdict, drift.in_orders) == (SAME, ("ab",))
    other = drift_of(before, take([".aa,.aa,.aa"] * 20, orders=("ab",)))
    assert (other.verdict, other.differing[0].before) == (DRIFTED, "{a b} (ab 3)")


def test_one_vote_does_not_show_noise(take: Callable[..., Taken]) -> None:
    drift = drift_of(take(["aa. aa."] * 20), take(["... aa."] + ["aa. aa."] * 19))
    assert (drift.verdict, drift.decision) == (UNTOLD, INCONCLUSIVE)


def test_votes_that_are_lost_are_drift(take: Callable[..., Taken]) -> None:
    drift = drift_of(take(["aa.,aa. aa.,aa."] * 40), take(["?,aa. aa.,?"] * 40))
    assert (drift.verdict, drift.decision) == (DRIFTED, FAIL)
    assert "50% fewer votes are valid" in drift.sentence


def test_a_set_whose_papers_changed_is_reworded(take: Callable[..., Taken]) -> None:
    plan, planned, judge, golden = take(["aa.,aa. aa.,aa."] * 3)
    first = planned.suite.instances[0]
    renamed = replace(first, ideas=(Idea("z", "Paper a", "Text."), *first.ideas[1:]), gold=None)
    suite = replace(planned.suite, instances=(renamed, *planned.suite.instances[1:]), digest="1" * 32)
    after = Plan(plan.settings, (judge,), {})
    again = after.add_suite(suite)
    drift = drift_of((plan, planned, judge, golden), (after, again, judge, replace(golden, digest="1" * 32)))
    assert (drift.reworded, drift.n) == (("i0000",), 2)


def test_a_partial_recording_keeps_the_rest(take: Callable[..., Taken]) -> None:
    _, planned, _, golden = take(["aa.,aa. aa.,aa."] * 3)
    new = take(["...,... ...,..."] * 3)[3]
    part = replace(new, entries={"i0001": new.entries["i0001"]}, left_out=frozenset({"i0000", "i0002"}))
    merged = merge(golden, part, planned.suite, golden)
    assert [row.split("\t")[1] for row in rows(merged)] == ["{a b}", "all apart", "{a b}"]
    assert read_text(write_text(merged), Path(), GROUPING) == merged
