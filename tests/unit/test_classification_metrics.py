"""Accuracies, F1s, ties and failures on sets small enough to count by hand, and the published figures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_novelty.judges.base import Traits
from pytest_novelty.metrics.classification import (
    LOOKED_UP_NOTE,
    SCORES_ONLY_NOTE,
    UNLABELLED_NOTE,
    abstention_rate,
    accuracy,
    auroc_of_scores,
    declared_tie_rate,
    f1_not_novel,
    f1_novel,
    invalid_rate,
    macro_f1,
    soft_accuracy,
    tie_rate,
)
from pytest_novelty.metrics.view import Estimate, View
from pytest_novelty.model import NOT_NOVEL, NOVEL, OK, TIE, TIMEOUT, UNPARSED, Vote
from pytest_novelty.outcomes import CaseResult, Trace, make_outcome

LABELS = {"x": "x", "y": "y", "t": TIE, "1": NOVEL, "0": NOT_NOVEL}
FAILED = {"-": (TIMEOUT, "timeout"), "!": (UNPARSED, "not JSON")}
Z2 = 1.959964**2

ViewOf = Callable[..., View]
Metric = Callable[[View], Estimate]


def view_of_votes(
    suite: Any, ballots: Sequence[Sequence[Vote]], traits: Traits, orders: Sequence[str | None], options: dict[str, Any]
) -> View:
    results = []
    for instance, votes in zip(suite.instances, ballots, strict=True):
        outcome = make_outcome(suite, instance, votes, orders, traits)
        kinds = Counter(vote.kind for vote in votes if vote.status != OK)
        results.append(CaseResult("judge", suite.name, "reference", instance.id, outcome, trace=Trace(), kinds=kinds))
    return View(results, suite, traits, **options)


def cast(ballot: str, orders: Sequence[str | None]) -> list[Vote]:
    """x y ideas, 1 0 novel or not, t a tie, ? an abstention, - a timeout, ! no JSON; one word an order."""
    return [
        Vote(order, k, *FAILED.get(letter, (OK, "")), LABELS.get(letter), None, letter == "?")
        for order, letters in zip(orders, ballot.split(), strict=True)
        for k, letter in enumerate(letters)
    ]


@pytest.fixture
def pairs(make_suite: Callable[..., Any], make_instance: Callable[..., Any]) -> ViewOf:
    def build(*ballots: str, gold: str | None = "x", orders: Sequence[str] = ("ab", "ba"), **options: Any) -> View:
        """Pairs in which the idea x is the novel one."""
        traits = Traits(may_tie=options.pop("may_tie", False), may_abstain=options.pop("may_abstain", False))
        instances = [make_instance("pairwise", f"i{place:04}", gold=gold) for place in range(len(ballots))]
        suite = make_suite("pairwise", *instances)
        return view_of_votes(suite, [cast(ballot, orders) for ballot in ballots], traits, orders, options)

    return build


@pytest.fixture
def ideas(make_suite: Callable[..., Any], make_instance: Callable[..., Any]) -> ViewOf:
    def build(ballots: Sequence[str], gold: str, traits: Traits = Traits(), **options: Any) -> View:  # noqa: B008
        """One ballot and one letter of gold (1, 0, or . for none) an idea."""
        made = [make_instance(name=f"i{k:04}", gold=LABELS.get(letter), as_of="2016") for k, letter in enumerate(gold)]
        return view_of_votes(
            make_suite("pointwise", *made), [cast(b, (None,)) for b in ballots], traits, (None,), options
        )

    return build


@pytest.fixture
def scored(make_suite: Callable[..., Any], make_instance: Callable[..., Any]) -> ViewOf:
    def build(scores: Sequence[Sequence[float]], gold: str, traits: Traits = Traits(), **options: Any) -> View:  # noqa: B008
        """The scores of each idea's votes (none: the call failed), and one letter of gold an idea."""
        made = [make_instance(name=f"i{k:04}", gold=LABELS.get(letter)) for k, letter in enumerate(gold)]
        votes = [[Vote(None, k, score=s) for k, s in enumerate(row)] or [Vote(None, 0, TIMEOUT)] for row in scores]
        return view_of_votes(make_suite("pointwise", *made), votes, traits, (None,), options)

    return build


# --- one idea -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "gold", "acc", "novel", "not_novel", "macro"),
    [
        ("11001", "11100", 0.6, 2 / 3, 1 / 2, 7 / 12),  # FORMATS.md 1.12
        ("1111", "1100", 0.5, 2 / 3, 0, 1 / 3),  # FORMATS.md 1.12: always novel
        ("0000", "1100", 0.5, 0, 2 / 3, 1 / 3),
        ("1100", "1100", 1, 1, 1, 1),
        ("0011", "1100", 0, 0, 0, 0),
        ("1110", "1000", 0.5, 1 / 2, 1 / 2, 1 / 2),
        # NovGauge K.1: 48 supported, 46 of them rightly; 52 unsupported, 41 of them rightly
        ("1" * 48 + "0" * 52, "1" * 46 + "00" + "0" * 41 + "1" * 11, 0.87, 92 / 105, 82 / 95, (92 / 105 + 82 / 95) / 2),
    ],
)
def test_accuracy_and_f1(
    said: str, gold: str, acc: float, novel: float, not_novel: float, macro: float, ideas: ViewOf
) -> None:
    view = ideas(said, gold)
    found = [metric(view).value for metric in (accuracy, f1_novel, f1_not_novel, macro_f1)]
    assert found == pytest.approx([acc, novel, not_novel, macro])
    assert [metric(view).n for metric in (accuracy, f1_novel, f1_not_novel, macro_f1)] == [len(gold)] * 4


@pytest.mark.parametrize(
    ("tp", "fp", "published"),
    [  # Old Ideas, table 5: F1 novel, F1 not novel, macro-F1; counts that give them on its 154 + 145 ideas
        (140, 83, (0.743, 0.561, 0.652)),
        (28, 9, (0.293, 0.668, 0.481)),
        (128, 32, (0.815, 0.796, 0.806)),
    ],
)
def test_macro_f1_is_the_mean_of_the_class_f1s(tp: int, fp: int, published: tuple[float, ...], ideas: ViewOf) -> None:
    view = ideas("1" * tp + "0" * (154 - tp) + "1" * fp + "0" * (145 - fp), "1" * 154 + "0" * 145)
    found = [metric(view).value for metric in (f1_novel, f1_not_novel, macro_f1)]
    assert found == pytest.approx(published, abs=0.0006)


@pytest.mark.parametrize("ballot", ["10", "--", "??"])
def test_no_label_misses_its_class_and_accuses_no_other(ballot: str, ideas: ViewOf) -> None:
    view = ideas(["1", ballot, "0"], "110")
    found = [metric(view).value for metric in (accuracy, f1_novel, f1_not_novel, macro_f1)]
    assert found == pytest.approx([2 / 3, 2 / 3, 1, 5 / 6])


def test_unlabelled_instances_of_a_labelled_suite_do_not_count(ideas: ViewOf) -> None:
    view = ideas("1100", "1.0.")
    for metric in (accuracy, macro_f1, f1_novel, f1_not_novel, soft_accuracy):
        assert (metric(view).value, metric(view).n) == (1, 2)


def test_f1_of_a_class_nobody_has_and_nobody_says_is_undefined(ideas: ViewOf) -> None:
    view = ideas("11", "11")
    assert (f1_novel(view).value, f1_not_novel(view).value, macro_f1(view).value) == (1, None, None)
    assert (f1_not_novel(view).note, f1_not_novel(view).n) == ("0 of 0", 2)


def test_the_interval_of_an_f1_rests_on_the_instances_of_its_class(ideas: ViewOf) -> None:
    """All right: Wilson's lower bound n / (n + z^2), with the instances that an F1 has a denominator from."""
    view = ideas("1" * 3 + "0" * 17, "1" * 3 + "0" * 17)
    assert [metric(view).low for metric in (f1_novel, f1_not_novel, macro_f1)] == pytest.approx(
        [3 / (3 + Z2), 17 / (17 + Z2), 20 / (20 + Z2)], abs=1e-6
    )


# --- pairs --------------------------------------------------------------------------------------------------

RIGHT, WRONG, TIED, INCOMPLETE, INVALID, ABSTAINED = "xxx xxx", "yyy yyy", "xxx yyy", "xxx ---", "--- !!!", "??? ???"


@pytest.mark.parametrize(
    ("ballot", "strict", "soft"),
    [
        (RIGHT, 1, 1),
        (WRONG, 0, 0),
        (TIED, 0, 0.5),
        (INCOMPLETE, 0, 0),
        (INVALID, 0, 0),
        (ABSTAINED, 0, 0),
        ("ttt ttt", 0, 0.5),
    ],
)
def test_what_an_outcome_earns(ballot: str, strict: float, soft: float, pairs: ViewOf) -> None:
    view = pairs(ballot)
    assert (accuracy(view).value, soft_accuracy(view).value) == (strict, soft)


@pytest.mark.parametrize(
    ("failures", "strict", "soft", "n"),
    [("wrong", 2 / 5, 2.5 / 5, 5), ("drop", 2 / 3, 2.5 / 3, 3), ("tie", 2 / 5, 3.5 / 5, 5)],
)
def test_what_failures_count_as(failures: str, strict: float, soft: float, n: int, pairs: ViewOf) -> None:
    view = pairs(RIGHT, RIGHT, TIED, INVALID, INCOMPLETE, failures=failures)
    assert (accuracy(view).value, accuracy(view).n) == (pytest.approx(strict), n)
    assert (soft_accuracy(view).value, soft_accuracy(view).n) == (pytest.approx(soft), n)
    assert tie_rate(view).value == 1 / 5  # never a failure


@pytest.mark.parametrize(
    ("failures", "value"), [("wrong", (2 / 3 + 4 / 5) / 2), ("drop", 1), ("tie", (2 / 3 + 4 / 5) / 2)]
)
def test_what_failures_count_as_in_an_f1(failures: str, value: float, ideas: ViewOf) -> None:
    assert macro_f1(ideas(["1", "-", "0", "0", "!"], "11000", failures=failures)).value == pytest.approx(value)


def test_support_names_what_is_no_plain_label(pairs: ViewOf) -> None:
    view = pairs(RIGHT, WRONG, TIED, TIED, ABSTAINED, INCOMPLETE, INVALID)
    note = "2 tie, 1 abstained, 1 incomplete, 1 invalid"
    assert (accuracy(view).note, soft_accuracy(view).note) == (note, note)
    assert accuracy(pairs(RIGHT, WRONG)).note == ""
    assert accuracy(pairs(RIGHT, TIED, INVALID, failures="drop")).note == "1 tie"


@pytest.mark.parametrize(
    ("ties", "percent"),
    [  # Old Ideas, table 6: ties in % of 154 pairs
        *[(19, 12.3), (7, 4.5), (1, 0.6), (10, 6.5), (5, 3.2)],
        *[(54, 35.1), (28, 18.2), (11, 7.1), (4, 2.6), (8, 5.2)],
    ],
)
def test_published_tie_rates(ties: int, percent: float, pairs: ViewOf) -> None:
    estimate = tie_rate(pairs(*[TIED] * ties, *[RIGHT] * (154 - ties)))
    assert estimate.value is not None
    assert (round(100 * estimate.value, 1), estimate.n, estimate.method) == (percent, 154, "Clopper-Pearson")


@pytest.mark.parametrize(
    ("ballot", "kind"),
    [
        ("ttt ttt", "declared"),
        ("ttx tty", "declared"),
        ("tx ty", "split"),  # half of the votes are not most
        ("xxx yyy", "position"),
        ("yyy xxx", "position"),
        ("x-- yy-", "position"),
        ("xxt yyt", "split"),
        ("yyt xxt", "split"),
        ("xxy yyx", "split"),
        ("xy xy", "split"),
    ],
)
def test_kinds_of_ties(ballot: str, kind: str, pairs: ViewOf) -> None:
    view = pairs(ballot, RIGHT, may_tie=True)
    assert (tie_rate(view).value, tie_rate(view).note) == (0.5, f"1 {kind}")
    assert declared_tie_rate(view).value == (0.5 if kind == "declared" else 0)


def test_an_even_split_about_one_idea_is_a_split_tie(ideas: ViewOf) -> None:
    assert (tie_rate(ideas(["10", "11"], "11")).value, tie_rate(ideas(["10", "11"], "11")).note) == (0.5, "1 split")


def test_kinds_are_counted(pairs: ViewOf) -> None:
    view = pairs("xxx yyy", "ttt ttt", "xxy yyx", "ttt ttt", WRONG, INVALID, may_tie=True)
    assert (tie_rate(view).value, tie_rate(view).note) == (pytest.approx(4 / 6), "2 declared, 1 position, 1 split")
    assert (declared_tie_rate(view).value, declared_tie_rate(view).n) == (pytest.approx(2 / 6), 6)


# --- answers that are none ----------------------------------------------------------------------------------


def test_abstention_is_of_every_vote_and_votes_are_counted_beside(pairs: ViewOf) -> None:
    view = pairs(ABSTAINED, "??x xxx", RIGHT, "??- ???", may_abstain=True)
    estimate = abstention_rate(view)
    assert (estimate.value, estimate.n, estimate.note) == (0.25, 4, "13 of 24 votes")
    assert abstention_rate(pairs(RIGHT, may_abstain=True)).note == ""


@pytest.mark.parametrize(
    ("ballots", "value", "note"),
    [
        ([RIGHT, WRONG, TIED], 0, ""),
        ([RIGHT, INVALID], 1 / 2, "6 of 12 calls: 3 timeout, 3 not JSON"),
        (["xx- xxx", "!xx x!!", RIGHT, ABSTAINED], 1 / 2, "4 of 24 calls: 3 not JSON, 1 timeout"),
    ],
)
def test_invalid_rate_counts_instances_and_notes_calls_by_kind(
    ballots: list[str], value: float, note: str, pairs: ViewOf
) -> None:
    estimate = invalid_rate(pairs(*ballots))
    assert (estimate.value, estimate.n, estimate.note) == (value, len(ballots), note)


# --- scores -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("higher_is", "value"), [(NOVEL, 3.5 / 4), (NOT_NOVEL, 0.5 / 4)])
def test_auroc_counts_ties_half_and_knows_the_direction(higher_is: str, value: float, scored: ViewOf) -> None:
    estimate = auroc_of_scores(scored([[3], [2], [2], [1]], "1100", Traits(higher_is=higher_is)))
    assert (estimate.value, estimate.n, estimate.note) == (value, 4, "")


def test_auroc_is_of_the_mean_score_and_of_labelled_instances(scored: ViewOf) -> None:
    estimate = auroc_of_scores(scored([[9, 0], [5], [4, 4, 4], [], [100]], "1100."))
    assert (estimate.value, estimate.n) == (1, 3)  # 4.5 and 5 against 4
    assert estimate.note == "1 without a score left out"


@pytest.mark.parametrize(
    ("scores", "gold", "note", "n"),
    [
        ([[1], [2]], "11", "needs instances of both labels", 2),
        ([[], []], "10", "the judge gives no scores", 0),
        ([[1], [2]], "..", UNLABELLED_NOTE, 0),
    ],
)
def test_auroc_may_be_undefined(scores: list[list[float]], gold: str, note: str, n: int, scored: ViewOf) -> None:
    estimate = auroc_of_scores(scored(scores, gold))
    assert (estimate.value, estimate.n, estimate.note) == (None, n, note)


def test_auroc_of_one_cluster_has_no_interval(make_suite: Any, scored: ViewOf) -> None:
    view = scored([[3], [1]], "10")
    made = [replace(instance, strata={"group": "g"}) for instance in view.instances]
    estimate = auroc_of_scores(View(view.results, make_suite("pointwise", *made, cluster="group"), Traits()))
    assert (estimate.value, estimate.low, estimate.high, estimate.method) == (1, None, None, "")


@pytest.mark.parametrize(
    ("higher_is", "said"), [(NOVEL, [NOVEL, NOVEL, NOT_NOVEL]), (NOT_NOVEL, [NOT_NOVEL, NOVEL, NOVEL])]
)
def test_a_threshold_gives_labels_from_its_side(higher_is: str, said: list[str], scored: ViewOf) -> None:
    view = scored([[7], [4, 6], [3]], "111", Traits(higher_is=higher_is, threshold=5))
    assert view.outcome_labels == said
    assert accuracy(view).value == pytest.approx(2 / 3)


# --- undefined, and why -------------------------------------------------------------------------------------

NEED_LABELS: list[Metric] = [accuracy, soft_accuracy, macro_f1, f1_novel, f1_not_novel]
HIDES = Traits(retrieves=True)


@pytest.mark.parametrize("metric", NEED_LABELS)
def test_what_label_metrics_need(metric: Metric, ideas: ViewOf, scored: ViewOf) -> None:
    assert (metric(ideas("11", "..")).value, metric(ideas("11", "..")).note) == (None, UNLABELLED_NOTE)
    assert metric(ideas("11", "10", HIDES)).note == LOOKED_UP_NOTE
    assert metric(ideas("11", "10", Traits(retrieves=True, honours_as_of=True))).value is not None
    assert metric(scored([[1], [2]], "10")).note == SCORES_ONLY_NOTE


def test_what_other_metrics_need(pairs: ViewOf, ideas: ViewOf, scored: ViewOf) -> None:
    assert auroc_of_scores(ideas("11", "10", HIDES)).note == LOOKED_UP_NOTE
    assert tie_rate(scored([[1], [2]], "10")).note == SCORES_ONLY_NOTE
    assert declared_tie_rate(pairs("ttt ttt")).note == "the judge does not declare ties"
    assert abstention_rate(pairs(ABSTAINED)).note == "the judge does not declare abstention"
    assert tie_rate(ideas("11", "10", HIDES)).value == 0


def test_a_stratum_is_measured_alone(make_suite: Any, make_instance: Any) -> None:
    made = [make_instance(name=f"i{k}", strata={"area": area}) for k, area in enumerate(["cs", "bio", "cs", "bio"])]
    view = view_of_votes(make_suite("pointwise", *made), [cast(b, (None,)) for b in "1001"], Traits(), (None,), {})
    assert accuracy(view.only("area", "cs")).value == 0.5
    assert accuracy(view.only("area", "bio")).n == 2
    assert accuracy(view.only("area", "law")).value is None
