"""What a reader is told though no metric says it: a judge that does not discriminate, looks things up, or changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from pytest_novelty import evaluate
from pytest_novelty.findings import find_degenerate, find_few_clusters, find_looked_up, find_models, find_unanswered
from pytest_novelty.judges.base import Traits
from pytest_novelty.metrics.view import View
from pytest_novelty.model import ERROR, NOT_NOVEL, NOVEL, OK, TIE, Vote
from pytest_novelty.outcomes import CaseResult, Trace, Usage, make_outcome

LABELS = {"x": "x", "y": "y", "t": TIE, "1": NOVEL, "0": NOT_NOVEL}
ViewOf = Callable[..., View]


@pytest.fixture
def view_of(make_suite: Callable[..., Any], make_instance: Callable[..., Any]) -> ViewOf:
    def build(
        ballots: Sequence[str],
        gold: str = "",
        scores: Sequence[Sequence[float]] = (),
        traces: Sequence[Trace] = (),
        traits: Traits = Traits(),  # noqa: B008
        orders: Sequence[str] = ("ab", "ba"),
        as_of: str | None = "2016",
    ) -> View:
        """Pairs (x y, one word an order, - a failure) unless ``gold`` (1, 0 or . an idea) makes them single ideas."""
        protocol = "pointwise" if gold else "pairwise"
        golds: list[str | None] = [LABELS.get(letter) for letter in gold] or ["x"] * len(ballots)
        made = [make_instance(protocol, f"i{k:03}", gold=label, as_of=as_of) for k, label in enumerate(golds)]
        suite = make_suite(protocol, *made)
        asked: Sequence[str | None] = (None,) if gold else orders
        results = []
        for k, (instance, ballot) in enumerate(zip(made, ballots, strict=True)):
            votes = [
                Vote(order, j, ERROR if letter == "-" else OK, "", LABELS.get(letter), scores[k][j] if scores else None)
                for order, word in zip(asked, ballot.split(), strict=True)
                for j, letter in enumerate(word)
            ]
            outcome = make_outcome(suite, instance, votes, asked, traits)
            trace = traces[k] if traces else Trace()
            results.append(CaseResult("judge", suite.name, "reference", instance.id, outcome, trace=trace))
        return View(results, suite, traits)

    return build


def degenerate(view: View, variant: str = "reference") -> list[str]:
    return find_degenerate({("made", variant, "judge"): view})


# --- one answer for nearly everything -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ballots", "gold", "found"),
    [
        ("1" * 20, "10" * 10, "says novel to nearly everything: 20 of 20 votes"),
        ("1" * 19 + "0", "10" * 10, "says novel to nearly everything: 19 of 20 votes"),
        ("1" * 18 + "00", "10" * 10, ""),
        ("0" * 20, "10" * 10, "says not novel to nearly everything: 20 of 20 votes"),
        ("0" * 19 + "1", "." * 20, "says not novel to nearly everything: 19 of 20 votes"),
        ("1" * 10, "10" * 5, "says novel to nearly everything: 10 of 10 votes"),
        ("1" * 9, "10" * 4 + "1", ""),  # too few
        ("1" * 9 + "-", "10" * 5, ""),
        (["111"] * 9, "10" * 4 + "1", ""),  # votes on one idea are not independent
        (["11"] * 10, "10" * 5, "says novel to nearly everything: 20 of 20 votes"),
        ("1" * 20, "1" * 19 + "0", ""),  # the labels are as one-sided
        ("1" * 20, "1" * 18 + "00", "says novel to nearly everything: 20 of 20 votes"),
        ("1" * 20, "0" * 20, "says novel to nearly everything: 20 of 20 votes"),
        ("0" * 20, "0" * 20, ""),
    ],
)
def test_one_label(ballots: str, gold: str, found: str, view_of: ViewOf) -> None:
    assert degenerate(view_of(ballots, gold)) == ([f"degenerate: judge on made {found}"] if found else [])


@pytest.mark.parametrize(
    ("ballots", "found"),
    [
        (["xx yy"] * 5, "answers by position: 20 of 20 votes name the idea shown first"),
        (["yy xx"] * 5, "answers by position: 20 of 20 votes name the idea shown second"),
        ([*["xx yy"] * 4, "xx yx"], "answers by position: 19 of 20 votes name the idea shown first"),
        ([*["xx yy"] * 4, "xy yx"], ""),
        ([*["xx yy"] * 2, "x- --"], ""),  # nine votes
        (["xx yy"] * 2 + ["x- y-"], ""),  # ten votes, but three pairs
        (["x y"] * 5, "answers by position: 10 of 10 votes name the idea shown first"),
        (["x y"] * 4 + ["x -"], ""),  # nine votes
        (["xx yy"] * 2 + ["x- y-"] * 3, "answers by position: 14 of 14 votes name the idea shown first"),
        (["xxtt yytt"] * 5, "answers by position: 20 of 20 votes name the idea shown first"),  # ties name none
        (["xx xx"] * 5, ""),  # always the same idea, and it is right
        (["tt tt"] * 5, ""),
    ],
)
def test_one_position(ballots: list[str], found: str, view_of: ViewOf) -> None:
    assert degenerate(view_of(ballots)) == ([f"degenerate: judge on made {found}"] if found else [])


def test_with_one_order_position_cannot_be_told_from_the_idea(view_of: ViewOf) -> None:
    assert degenerate(view_of(["xxx"] * 10, orders=("ab",))) == []
    assert degenerate(view_of(["xx yy"] * 10, orders=("ba", "ab")))[0].endswith("shown second")


@pytest.mark.parametrize(
    ("scores", "found"),
    [
        ([7.0] * 20, "gives the score 7 to 20 of 20 votes"),
        ([7.5] * 19 + [1.0], "gives the score 7.5 to 19 of 20 votes"),
        ([7.0] * 18 + [1.0, 2.0], ""),
        ([7.0] * 9, ""),
    ],
)
def test_one_score(scores: list[float], found: str, view_of: ViewOf) -> None:
    rows = [[score] for score in scores]
    view = view_of(["s"] * len(rows), ("10" * 10)[: len(rows)], rows)
    assert degenerate(view) == ([f"degenerate: judge on made {found}"] if found else [])


def test_label_and_score_are_told_each_with_the_variant(view_of: ViewOf) -> None:
    assert degenerate(view_of("1" * 10, "10" * 5, [[3.0]] * 10), "P4") == [
        "degenerate: judge on made, variant P4 says novel to nearly everything: 10 of 10 votes",
        "degenerate: judge on made, variant P4 gives the score 3 to 10 of 10 votes",
    ]


def test_what_several_variants_share_is_said_once(view_of: ViewOf) -> None:
    by_position, sure = view_of(["xx yy"] * 5), view_of(["xx xx"] * 5)
    views = {("made", name, "judge"): by_position for name in ("P1", "P3", "reference")}
    assert find_degenerate(views | {("made", "P2", "judge"): sure}) == [
        "degenerate: judge on made answers by position: 20 of 20 votes name the idea shown first; likewise under P1, P3"
    ]
    assert find_degenerate({("made", name, "judge"): by_position for name in ("P1", "P3")}) == [
        "degenerate: judge on made, variant P1 answers by position: 20 of 20 votes name the idea shown first; likewise under P3"
    ]


# --- no answers ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ballots", "kinds", "found"),
    [
        (["--- ---"] * 2, {"timeout": 6}, "12 of 12 answers failed as 'timeout'"),
        (["-- ---"] * 2, {"timeout": 3, "echo": 2}, "6 of 10 answers failed as 'timeout'"),
        (["-- --x"] * 2, {"not JSON": 4}, ""),  # eight of ten
        (["-" * 10 + " " + "-" * 8 + "xx"], {"not JSON": 18}, "18 of 20 answers failed as 'not JSON'"),
        (["--- ---"], {"timeout": 6}, ""),  # too few
        (["xxx xxx"] * 2, {}, ""),
        (
            ["--- ---"] * 2,
            {"missing key": 6},
            "12 of 12 answers failed as 'missing key'; does it judge this protocol? A judge that does not declares protocols",
        ),
    ],
)
def test_hardly_a_valid_verdict(ballots: list[str], kinds: dict[str, int], found: str, view_of: ViewOf) -> None:
    """``kinds``: of the failures of each instance."""
    view = view_of(ballots)
    failed = View([result._replace(kinds=kinds) for result in view.results], view.suite, view.traits)
    for variant, place in (("reference", "judge on made"), ("P4", "judge on made, variant P4")):
        expected = [f"{place} gave hardly a valid verdict: {found}"] if found else []
        assert find_unanswered({("made", variant, "judge"): failed}) == expected


# --- look-ups -----------------------------------------------------------------------------------------------

HIDDEN = (
    "judge on made retrieves, does not honour as_of and shows no trace: it may have looked up the answer, so its accuracy "
    "is not evaluable"
)
FOUND = "judge on made found the very idea in {} of 3 instances: its accuracy there shows a look-up"


@pytest.mark.parametrize(
    ("traits", "leaked", "as_of", "found"),
    [
        (Traits(retrieves=True), [None, None, None], "2016", [HIDDEN]),
        (Traits(retrieves=True), [None, None, None], None, []),  # undated: nothing to look beyond
        (Traits(retrieves=True), [None, False, None], "2016", []),
        (Traits(retrieves=True, honours_as_of=True), [None, None, None], "2016", []),
        (Traits(), [None, None, None], "2016", []),
        (Traits(retrieves=True), [True, False, None], "2016", [FOUND.format(1)]),
        (Traits(retrieves=True, honours_as_of=True), [True, True, False], None, [FOUND.format(2)]),
    ],
)
def test_look_ups(
    traits: Traits, leaked: list[bool | None], as_of: str | None, found: list[str], view_of: ViewOf
) -> None:
    view = view_of(["xx xx"] * 3, traces=[Trace(leaked=item) for item in leaked], traits=traits, as_of=as_of)
    assert find_looked_up({("made", "reference", "judge"): view}) == found


# --- served models ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("served", "found"),
    [
        ([("a", ("m-1",)), ("a", ("m-1",)), ("b", ("m-2",))], []),
        ([("a", ()), ("a", ("m-1",))], []),
        ([("a", ("m-2",)), ("a", ("m-1",)), ("b", ("m-2",))], ["a was served by 2 models: m-1, m-2"]),
        (
            [("b", ("m", "n")), ("a", ("o", "p", "q"))],
            ["a was served by 3 models: o, p, q", "b was served by 2 models: m, n"],
        ),
    ],
)
def test_two_served_models(served: list[tuple[str, tuple[str, ...]]], found: list[str], view_of: ViewOf) -> None:
    outcome = view_of(["xx xx"]).results[0].outcome
    results = [
        CaseResult(judge, "made", "reference", f"i{k}", outcome, Usage(models=models))
        for k, (judge, models) in enumerate(served)
    ]
    assert find_models(results) == found


# --- few clusters -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("count", "told"), [(19, True), (20, False)])
def test_few_clusters_are_told(count: int, told: bool, make_view: Callable[..., View]) -> None:
    letters = "abcdefghijklmnopqrstuvwxyz"[:count]
    views = {
        ("made", variant, "judge"): make_view(["xx xx"] * count, clusters=letters) for variant in ("reference", "P1")
    }
    found = find_few_clusters(views)
    told_of = "made has 19 clusters: what none of them shows may hold of 18 % of others like them; "
    assert found == ([f"{told_of}with fewer than 20 intervals are wide, and rough"] if told else [])
    assert find_few_clusters({("made", "reference", "judge"): make_view(["xx xx"])}) == []


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (1, "made has 1 cluster: there are no intervals, and gates are decided by their values alone if at all"),
        (2, "2 clusters: what none of them shows may hold of 84 % of others like them; with fewer than 10 hardly a gate can be decided"),
        (5, "5 clusters: what none of them shows may hold of 52 % of others like them; with fewer than 10 hardly a gate can be decided"),
        (9, "9 clusters: what none of them shows may hold of 34 % of others like them; with fewer than 10 hardly a gate can be decided"),
        (10, "10 clusters: what none of them shows may hold of 31 % of others like them; with fewer than 20 intervals are wide, and rough"),
    ],
)  # fmt: skip
def test_so_few_clusters_can_hardly_decide_anything(count: int, said: str, make_view: Callable[..., View]) -> None:
    view = make_view(["xx xx"] * 20, clusters="".join("abcdefghij"[k % count] for k in range(20)))
    (found,) = find_few_clusters({("made", "reference", "judge"): view})
    assert found.endswith(said)


# --- partitions that need no look at the papers -------------------------------------------------------------


def one_group(request: Any) -> dict[str, Any]:
    places = range(1, len(request.papers) + 1)
    evidence = {str(place): request.papers[place - 1].text.split(".")[0] + "." for place in places}
    return {"groups": [{"paper_indices": list(places), "evidence": evidence, "reason": "They share it."}]}


@pytest.mark.parametrize(
    ("judge", "what"),
    [
        (lambda request: {"groups": []}, "puts all papers apart: 72 of 72 votes"),
        (one_group, "puts all papers into one group: 72 of 72 votes"),
        ("lexical", ""),
    ],
)
def test_a_partition_that_needs_no_look_is_degenerate(judge: Any, what: str) -> None:
    report = evaluate({"one": judge} if callable(judge) else judge, "landmarks-grouping", sample=12)
    found = [text for text in report.findings if text.startswith("degenerate")]
    assert found == ([f"degenerate: one on landmarks-grouping {what}"] if what else [])
