"""The one sentence, whole, for small planted runs; and the numbers beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from pytest_novelty.data import data_folder
from pytest_novelty.drifting import Drift
from pytest_novelty.evaluation import evaluate
from pytest_novelty.headline import coin_accuracy, make_headline, percent, with_interval
from pytest_novelty.measuring import VariantResult
from pytest_novelty.metrics.view import Estimate
from pytest_novelty.model import NOT_NOVEL, NOVEL, Idea, Suite, Work
from pytest_novelty.plan import Plan
from pytest_novelty.results import Calls, Report
from pytest_novelty.settings import Settings

Answer = Callable[[Any], Any]


def declares(answer: Answer, **traits: Any) -> Answer:
    """A judge of version 3f2a with a prompt of its own."""

    def judge(request: Any) -> Any:
        return answer(request)

    for name, value in {"version": "3f2a", "uses_prompt": False, **traits}.items():
        setattr(judge, name, value)
    return judge


def number_of(request: Any) -> int:
    return int(request.ideas[0].title.split()[1])


def winner(request: Any, right: bool) -> dict[str, Any]:
    return {"winner": "A" if request.ideas[0].title.startswith("good") == right else "B"}


RIGHT = declares(lambda request: winner(request, True))
FIRST = declares(lambda request: {"winner": "A"})
MOSTLY = declares(lambda request: winner(request, number_of(request) >= 2))
NOISY = declares(lambda request: winner(request, request.sample != 2))
ONCE = declares(
    lambda request: winner(request, number_of(request) > 0 or (request.sample == 2) == (request.order == "ba"))
)
BROKEN = declares(lambda request: winner(request, True) if number_of(request) else "I would rather not say.")
NOVEL_TO_ALL = declares(lambda request: {"novel": True})
SCORES = declares(lambda request: {"score": 9 if request.idea.title.startswith("good") else 2})
HIDES = declares(lambda request: {"novel": True}, retrieves=True)


@pytest.fixture
def suite_of(make_suite: Callable[..., Suite], make_instance: Callable[..., Any]) -> Callable[..., Suite]:
    def build(protocol: str = "pairwise", n: int = 10, name: str = "made", **changes: Any) -> Suite:
        """Good ideas (x) against bad ones; single ideas are good and bad in turn."""
        made = []
        for k in range(n):
            good = Idea("x", f"good {k}", "kelp ferries", related_work=(Work("w", "clocks of glass"),))
            bad = Idea("y", f"bad {k}", "clocks of glass")
            ideas, gold = (
                ((good, bad), "x") if protocol == "pairwise" else ([(good,), (bad,)][k % 2], [NOVEL, NOT_NOVEL][k % 2])
            )
            gold_or_none = None if changes.get("label_kind") == "none" else gold
            made.append(make_instance(protocol, f"i{k:02}", ideas=ideas, gold=gold_or_none, as_of="2016-12-31"))
        return make_suite(protocol, *made, name=name, **changes)

    return build


# --- numbers ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("protocol", "votes", "orders", "value"),
    [
        ("pairwise", 3, "both", 11 / 32),
        ("pairwise", 1, "both", 1 / 4),
        ("pairwise", 2, "both", 5 / 16),
        ("pairwise", 3, "ab", 1 / 2),
        ("pairwise", 2, "ab", 1 / 4),
        ("pointwise", 1, "both", 1 / 2),
        ("pointwise", 3, "both", 1 / 2),
        ("pointwise", 5, "ab", 1 / 2),
        ("pointwise", 2, "both", 1 / 4),
        ("pointwise", 4, "both", 5 / 16),
    ],
)
def test_a_coin(protocol: str, votes: int, orders: str, value: float, make_suite: Callable[..., Suite]) -> None:
    assert coin_accuracy(make_suite(protocol), votes, orders) == pytest.approx(value)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *[(0, "0"), (1e-9, "<1"), (0.0049, "<1"), (0.0051, "1"), (0.01, "1"), (0.344, "34"), (0.346, "35")],
        *[(0.994, "99"), (0.9951, ">99"), (1 - 1e-9, ">99"), (1, "100"), (1.0, "100")],
    ],
)
def test_percent_is_never_rounded_to_none_or_all(value: float, text: str) -> None:
    assert percent(value) == text


@pytest.mark.parametrize(
    ("estimate", "text"),
    [
        (Estimate(0.5, 0.4, 0.996), "50 % [40, >99]"),
        (Estimate(0.5), "50 %"),
        (Estimate(0.5, 0.4, None), "50 %"),
        (Estimate.undefined("why"), "undefined"),
    ],
)
def test_a_share_with_its_interval(estimate: Estimate, text: str) -> None:
    assert with_interval(estimate) == text


# --- the sentence -------------------------------------------------------------------------------------------

END = " Labels: construction. Not measured: grounding."


@pytest.mark.parametrize(
    ("judge", "votes", "sentence"),
    [
        # exact bounds of 10 of 10: .025^(1/10) = .69; of 8 of 10: .44 and .97
        (RIGHT, 3, "mine 3f2a is right on 100 % [69, 100] of 10 pairs (coin 34); 0 % turn with the order."),
        (RIGHT, 1, "mine 3f2a is right on 100 % [69, 100] of 10 pairs (coin 25); 0 % turn with the order."),
        (MOSTLY, 3, "mine 3f2a is right on 80 % [44, 97] of 10 pairs (coin 34); 0 % turn with the order."),
        (
            FIRST,
            3,
            "mine 3f2a is right on 0 % [0, 31] of 10 pairs (coin 34); 100 % turn with the order, and it leans to the idea shown first.",
        ),
        (
            NOISY,
            3,
            "mine 3f2a is right on 100 % [69, 100] of 10 pairs (coin 34); asked again it changes 67 % of votes; 0 % turn with the order.",
        ),
        (
            FIRST,
            1,
            "mine 3f2a is right on 0 % [0, 31] of 10 pairs (coin 25); 100 % turn with the order, and it leans to the idea shown first.",
        ),
        (  # one pair xxy yyx: a tie, and order AB differs from BA by less than each from itself
            ONCE,
            3,
            "mine 3f2a is right on 90 % [55, >99] of 10 pairs (coin 34); asked again it changes 7 % of votes; 10 % turn with the "
            "order, no more than its own noise might.",
        ),
        (
            BROKEN,
            1,
            "mine 3f2a is right on 90 % [55, >99] of 10 pairs (coin 25); 0 % turn with the order (n = 9); 10 % have an invalid answer.",
        ),
        (
            declares(lambda request: winner(request, True), version="0123456789abcdef"),
            3,
            "mine 0123456789ab is right on 100 % [69, 100] of 10 pairs (coin 34); 0 % turn with the order.",
        ),
    ],
)
def test_pairs(judge: Answer, votes: int, sentence: str, suite_of: Callable[..., Suite]) -> None:
    assert evaluate({"mine": judge}, suite_of(), votes=votes).headline == sentence + END


@pytest.mark.parametrize(
    ("judge", "sentence"),
    [
        (NOVEL_TO_ALL, "mine 3f2a is right on 50 % [19, 81] of 10 ideas (coin 50)."),
        (
            SCORES,
            "mine 3f2a judged 10 ideas of made; no accuracy: the judge gives scores and no threshold (declare one, or "
            "--novelty-threshold); a novel idea outscores one that is not in 100 % [57, 100] of cases.",
        ),
        (
            HIDES,
            "mine 3f2a judged 10 ideas of made; accuracy not evaluable: the judge may have looked up the answer (it retrieves, does "
            "not honour as_of, and shows no trace).",
        ),
    ],
)
def test_ideas(judge: Answer, sentence: str, suite_of: Callable[..., Suite]) -> None:
    assert evaluate({"mine": judge}, suite_of("pointwise")).headline == sentence + END


def test_with_one_order_its_pull_is_not_measured(suite_of: Callable[..., Suite]) -> None:
    assert evaluate({"mine": RIGHT}, suite_of(), orders="ab").headline == (
        "mine 3f2a is right on 100 % [69, 100] of 10 pairs (coin 50). Labels: construction. Not measured: grounding, the pull "
        "of the order."
    )
    assert evaluate({"mine": NOVEL_TO_ALL}, suite_of("pointwise"), orders="ab").headline.endswith(END)


@pytest.mark.parametrize(("n", "noun"), [(1, "1 idea"), (3, "3 ideas")])
def test_without_labels_there_is_no_accuracy(n: int, noun: str, suite_of: Callable[..., Suite]) -> None:
    report = evaluate({"mine": NOVEL_TO_ALL}, suite_of("pointwise", n, label_kind="none"))
    assert report.headline == f"mine 3f2a judged {noun} of made. Not measured: grounding, accuracy."


def test_the_words_of_earlier_works_are_the_baseline(suite_of: Callable[..., Suite]) -> None:
    """The bad ideas repeat their earlier work, so the baseline is right; it is not compared with itself."""
    suite = suite_of()
    reference = suite.variants["reference"]
    shown = replace(suite, variants={"reference": replace(reference, axes=replace(reference.axes, related_work=True))})
    mine = "mine 3f2a is right on 80 % [44, 97] of 10 pairs (coin 34, lexical 100); 0 % turn with the order."
    lexical = "lexical 1 is right on 100 % [69, 100] of 10 pairs (coin 34); 0 % turn with the order."
    assert evaluate({"mine": MOSTLY}, shown).headline == mine + END
    assert evaluate("lexical", shown).headline == lexical + END
    assert evaluate([{"mine": MOSTLY}, "lexical"], shown).headline == f"{mine} {lexical}{END}"


def test_every_judge_and_suite_has_its_clause(suite_of: Callable[..., Suite]) -> None:
    suites = [suite_of(n=4, label_kind="experts"), suite_of("pointwise", 2, "other", label_kind="construction")]
    judges = {"b": declares(RIGHT, protocols=("pairwise",)), "a": declares(NOVEL_TO_ALL, protocols=("pointwise",))}
    assert evaluate(judges, suites).headline == (
        "b 3f2a is right on 100 % [40, 100] of 4 pairs (coin 34); 0 % turn with the order. "
        "a 3f2a is right on 50 % [1, 99] of 2 ideas (coin 50). Labels: construction, experts. Not measured: grounding."
    )


@pytest.mark.parametrize(
    ("gates", "said"),
    [
        (["strict_accuracy>=0.60", "tie_rate<=0.40"], "; passes all 2 gates"),
        (["strict_accuracy>=0.60", "strict_accuracy<=0.60"], "; fails strict_accuracy"),
        (["strict_accuracy>=0.80", "tie_rate<=0.40"], "; strict_accuracy undecided"),
        (
            ["tie_rate>=0.5", "invalid_rate<=0.01", "strict_accuracy>=0.9", "invalid_rate>=0.9"],
            "; fails tie_rate, invalid_rate; invalid_rate, strict_accuracy undecided",
        ),
    ],
)
def test_what_became_of_the_gates(gates: list[str], said: str, suite_of: Callable[..., Suite]) -> None:
    sentence = "mine 3f2a is right on 100 % [69, 100] of 10 pairs (coin 34); 0 % turn with the order"
    assert evaluate({"mine": RIGHT}, suite_of(), gates=gates).headline == f"{sentence}{said}.{END}"


def test_gates_that_are_not_enforced_are_not_passed(suite_of: Callable[..., Suite]) -> None:
    dear = declares(lambda request: winner(request, True), cost_usd_per_call=0.01)
    report = evaluate({"mine": dear}, suite_of(), gates=["tie_rate@point<=0.4"], budget_usd=0.30, concurrency=1)
    assert [gate.decision for gate in report.gates] == ["not enforced"]
    assert "of 5 pairs" in report.headline
    assert "gate" not in report.headline


@pytest.mark.parametrize(
    ("is_golden", "decision", "said"),
    [
        (True, "pass", "; passes all 2 gates"),
        (True, "fail", "; fails the comparison with its golden verdicts"),
        (False, "inconclusive", "; the comparison with its stored verdicts undecided"),
        (True, "not enforced", ""),
    ],
)
def test_a_comparison_with_recorded_verdicts_is_a_gate(
    is_golden: bool, decision: str, said: str, suite_of: Callable[..., Suite]
) -> None:
    report = evaluate({"mine": RIGHT}, suite_of(), gates=["strict_accuracy>=0.60"])
    assert report.headline.endswith(f"; passes its gate.{END}")
    report.drifts += [Drift("mine", "made", "that", "", decision, (), is_golden=is_golden)]
    report.drifts += [Drift("other", "made", "that", "", "fail", ()), Drift("mine", "else", "that", "", "fail", ())]
    assert report.headline.endswith(f"0 % turn with the order{said}.{END}")


def test_a_sample_is_called_one(suite_of: Callable[..., Suite]) -> None:
    report = evaluate({"mine": RIGHT}, suite_of(), sample=4)
    assert report.headline == (
        f"mine 3f2a is right on 100 % [40, 100] of 4 pairs (a sample of 10) (coin 34); 0 % turn with the order.{END}"
    )


def test_with_a_shipped_suite_alone_the_users_ideas_are_not_measured(suite_of: Callable[..., Suite]) -> None:
    shipped = suite_of(path=data_folder("suites") / "made" / "suite.yaml")
    assert evaluate({"mine": RIGHT}, shipped).headline.endswith("Not measured: grounding, your own ideas.")
    own = suite_of("pointwise", 2, "own", label_kind="none")
    both = evaluate(
        {"mine": declares(lambda r: {"novel": True} if r.protocol == "pointwise" else winner(r, True))}, [shipped, own]
    )
    assert both.headline.endswith(" Labels: construction. Not measured: grounding.")


def test_nothing_judged() -> None:
    plan = Plan(Settings(("mine",), data_folder("suites")), (), {})
    assert make_headline(Report(plan, [], [], [], [], Calls(), [])) == "Nothing was judged."


# --- the variant that moves it most -------------------------------------------------------------------------


def moving(
    name: str, shift: float | None, lost: float = 0.0, cause: str = "variant", axis: str = "prompt"
) -> VariantResult:
    estimates = {"vote_shift": Estimate(shift) if shift is not None else Estimate.undefined("scores only")}
    return VariantResult("mine", "made", name, (axis,), 10, cause, "", estimates, moved_p=0.001, lost=lost)


@pytest.mark.parametrize(
    ("variants", "said"),
    [
        ([("a", 0.2), ("b", 0.4), ("c", 0.3)], "rewording (b) moves its votes by 40 points beyond noise"),
        ([("a", 0.2), ("b", 0.4, 0.0, "nothing found"), ("c", 0.3)], "rewording (c) moves its votes by 30 points beyond noise"),
        ([("a", 0.3, 0.1), ("b", 0.3, 0.2), ("c", 0.3, 0.1)], "rewording (b) moves its votes by 30 points beyond noise"),  # equal shifts: who costs more votes
        ([("a", 0.3), ("b", 0.3)], "rewording (a) moves its votes by 30 points beyond noise"),  # all equal: the first by name
        ([("a", None), ("b", 0.1)], "rewording (b) moves its votes by 10 points beyond noise"),
        ([("a", 0.0), ("b", 0.0, 0.5, "votes lost")], "rewording (b) takes 50 % of its votes away"),
        ([("a", None)], "rewording (a) moves its scores"),
        ([("a", 0.2, 0.0, "variant", "format"), ("b", 0.1)], "another rendering (a) moves its votes by 20 points beyond noise"),
        ([("a", 0.2, 0.0, "nothing found"), ("b", 0.1, 0.0, "nothing found")], "none of 2 variants is seen to move it"),
    ],
)  # fmt: skip
def test_the_variant_that_moves_it_most(
    variants: list[tuple[Any, ...]], said: str, suite_of: Callable[..., Suite]
) -> None:
    report = evaluate({"mine": RIGHT}, suite_of())
    report = replace(report, variants=[moving(*one) for one in variants])
    assert f"; {said}; " in make_headline(report)


def test_what_one_label_for_everything_would_get_where_labels_are_uneven() -> None:
    def no(request: Any) -> dict[str, Any]:
        return {"is_similar": False, "evidence_a": "", "evidence_b": "", "reason": "no"}

    report = evaluate({"no": no}, "landmarks-similarity-full")
    gold = [instance.gold for instance in report.plan.suites["landmarks-similarity-full"].suite.instances]
    share = round(100 * gold.count("not similar") / len(gold))
    assert f"is right on {share} %" in report.headline
    assert f"(coin 34, always not similar {share}," in report.headline
