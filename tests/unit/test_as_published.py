"""The profile as-published in a run: figures computed by hand from planted answers, each beside ours."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from statistics import stdev
from typing import Any

import pytest

from pytest_novelty import evaluate
from pytest_novelty.audits import Audits
from pytest_novelty.errors import GateSyntaxError, SettingsError, SuiteError
from pytest_novelty.evidence.published import ARTIFACT, HALLUCINATION, PARAPHRASE, VERBATIM
from pytest_novelty.gates import parse_gate
from pytest_novelty.metrics.as_published import NOT_TOLD, Figure, score_as_published
from pytest_novelty.metrics.view import View
from pytest_novelty.model import Axes, Ground, Idea, Instance, Request, Suite, Variant
from pytest_novelty.profiles import AS_PUBLISHED, gate_instead
from pytest_novelty.results import Report
from pytest_novelty.suites import load_suite
from pytest_novelty.validation import load_schema, violation
from pytest_novelty.verdicts import NOT_SIMILAR, SIMILAR, Released
from pytest_novelty.wire import from_wire, to_wire

JIG = (
    "We fold paper cranes with a spring-\nloaded jig. The jig keeps every crease within one millimetre3, even on thick stock. "
    "State-of-the-\nart folders need two people."
)
TRUE = "The jig keeps every crease within one millimetre3, even on thick stock."
LIE = "Origami robots were trained with reinforcement learning."
BOATS = "Boats of paper number {} are folded by hand in the dark of the harbour."


def suite_of(instances: list[Instance], *, votes: int = 1, orders: str = "both", **fields: Any) -> Suite:
    protocol = "grouping" if len(instances[0].ideas) > 2 else "similarity"
    variants = {"reference": Variant("reference", Axes(f"{protocol}/reference", votes=votes, orders=orders))}
    made = Suite("made", "1", protocol, "construction", tuple(instances), variants, "0" * 32, Path("made/suite.yaml"))
    return replace(made, **{"profile": AS_PUBLISHED, **fields})


def pair(name: str, gold: bool | None, dimension: str = "method", *, full_text: str = "") -> Instance:
    papers = (
        Idea(f"{name}a", f"Cranes {name}", JIG, full_text=full_text),
        Idea(f"{name}b", f"Boats {name}", BOATS.format(name)),
    )
    label = None if gold is None else SIMILAR if gold else NOT_SIMILAR
    return Instance(name, papers, label, dimension=dimension)


Answers = Mapping[str, list[tuple[str, str]]]
"""By instance, the samples of the order ab: what is said, and the span of the paper on cranes."""


def judge_of(answers: Answers) -> Callable[[Request], Any]:
    """In the other order every verdict is negative: the release has one order."""

    def judge(request: Request) -> Any:
        if request.order == "ba":
            return {"is_similar": False}
        name = request.papers[0].title.split()[1]
        said, span = answers[name][request.sample]
        if said == "x":
            return "no verdict"
        if said == "-":
            return {"is_similar": False}
        return {"is_similar": True, "evidence_a": span, "evidence_b": BOATS.format(name), "reason": said}

    judge.uses_prompt = False  # type: ignore[attr-defined]
    return judge


def audit(request: Request) -> dict[str, Any]:
    return {"supported": request.reason == "ok"}


audit.uses_prompt = False  # type: ignore[attr-defined]


def run(judge: Any, suite: Suite, **options: Any) -> Report:
    return evaluate({"planted": judge}, suite, auditor={"auditor": audit}, **options)


def figures(report: Report) -> dict[tuple[str, str | None], Figure]:
    (published,) = report.published
    return {(figure.name, figure.dimension): figure for figure in published.found.figures}


# --- pairs ------------------------------------------------------------------------------------------------------

SPANS = [
    ("We fold paper cranes with a spring loaded jig.", VERBATIM),
    ("We fold paper cranes with a springloaded jig.", ARTIFACT),
    ("We fold paper cranes with a spring-loaded jig.", PARAPHRASE),
    ("The jig keeps every crease within one millimetre, even on thick stock.", ARTIFACT),
    ("The jig keeps no crease within one millimetre, even on thick stock.", PARAPHRASE),
    ("Kites need wind.", HALLUCINATION),
    (f"Kites need wind. {TRUE}", VERBATIM),
    (LIE, HALLUCINATION),
    ("", None),
]


def test_the_spans_of_the_release_through_a_run() -> None:
    """FORMATS.md 2.8: nine positives, two of them hallucinated; a span on the other side keeps the empty one in the denominator."""
    names = [f"p{number}" for number in range(len(SPANS))]
    answers = {name: [("ok", span)] for name, (span, _) in zip(names, SPANS, strict=True)}
    report = run(judge_of(answers), suite_of([pair(name, True) for name in names]))
    classes = [
        vote.grounds[0].released.classes
        for result in report.outcomes
        for vote in result.outcome.votes
        if vote.grounds and vote.grounds[0].released
    ]
    assert classes == [(kind, VERBATIM) for _, kind in SPANS]
    found = figures(report)
    assert found["hallucination_tp", None].value == pytest.approx(2 / 9)
    assert found["hallucination_tp", "method"].value == pytest.approx(2 / 9)
    # Ours also finds the inverted sentence and the short lie out, and the span that is missing is none that is found.
    assert found["hallucination_tp", None].ours == pytest.approx(4 / 9)
    assert found["tp_flow_verified", "method"].value == pytest.approx(7 / 9)
    assert found["verified_f1", "method"].value == 0.7778


PLANTED: Answers = {
    "p1": [("ok", TRUE), ("x", ""), ("ok", LIE)],
    "p2": [("-", ""), ("beyond", TRUE), ("-", "")],
    "n1": [("ok", TRUE), ("-", ""), ("x", "")],
    "p3": [("x", ""), ("x", ""), ("x", "")],
    "n2": [("-", ""), ("-", ""), ("ok", LIE)],
}
"""Samples as the release counts them: p1 true, lie, true again; p2 no, beyond, no; n1 true, no, true again; p3 dropped."""


@pytest.fixture(scope="module")
def planted() -> Report:
    instances = [
        pair("p1", True),
        pair("p2", True),
        pair("n1", False),
        pair("p3", True, "task"),
        pair("n2", False, "task"),
    ]
    return run(judge_of(PLANTED), suite_of(instances, votes=3))


@pytest.mark.parametrize(
    ("name", "dimension", "samples"),
    [
        ("accuracy", None, (0.5, 1, 0.25)),
        ("precision", None, (0.5, 1, 1 / 3)),
        ("recall", None, (0.5, 1, 0.5)),
        ("f1", None, (0.5, 1, 0.4)),
        ("f1", "method", (0.5, 1, 0.5)),
        ("f1", "task", (0, 0, 0)),
        ("accuracy", "task", (1, 1, 0)),
        ("hallucination_tp", None, (0, 0.5, 0)),
        ("hallucination_fp", None, (0, 0.5)),  # a sample without wrong positives is skipped
        ("mismatch_tp", None, (0, 1, 0)),
        ("mismatch_fp", None, (0, 0, 0)),  # here it is a 0
        ("verified_precision", "method", (0.5, 0, 0.5)),
        ("verified_recall", "method", (0.5, 0, 0.5)),
        ("verified_f1", "method", (0.5, 0, 0.5)),
        ("verified_f1", "task", (0, 0, 0)),
        ("tp_flow_verified", "method", (1, 0, 1)),
        ("tp_flow_hallucinated", "method", (0, 0.5, 0)),
        ("tp_flow_mismatched", "method", (0, 0.5, 0)),
        ("tp_flow_unchecked", "method", (0, 0, 0)),
    ],
)
def test_pairs_by_hand(planted: Report, name: str, dimension: str | None, samples: tuple[float, ...]) -> None:
    figure = figures(planted)[name, dimension]
    assert figure.per_sample == pytest.approx(samples)
    assert figure.value == pytest.approx(sum(samples) / len(samples))
    assert figure.sd == (None if name.startswith("tp_flow") else pytest.approx(stdev(samples)))


def test_several_samples_have_no_hallucination_rate_by_dimension(planted: Report) -> None:
    assert ("hallucination_tp", "method") not in figures(planted)


def test_ours_are_those_of_the_report(planted: Report) -> None:
    (grounded,) = planted.grounding
    for (name, dimension), figure in figures(planted).items():
        rates = grounded.found.rates if dimension is None else grounded.found.strata["dimension"][dimension]
        if figure.metric in rates:
            assert figure.ours == pytest.approx(rates[figure.metric].value), (name, dimension)
    assert figures(planted)["f1", None].ours != pytest.approx(figures(planted)["f1", None].value)


def test_what_is_left_out_is_said(planted: Report) -> None:
    (published,) = planted.published
    notes = " ".join(published.found.notes)
    assert "5 of 15 samples failed: dropped, so that later ones take their place; ours: misses" in notes
    assert "a sample is a vote of the first order shown" in notes
    assert published.found.samples == 3
    assert "by the release's rules (as-published) its raw F1 is 63 %" in planted.headline


def test_a_single_sample_leaves_undefined_what_is() -> None:
    answers = {"p1": [("-", "")], "n1": [("x", "")]}
    found = figures(run(judge_of(answers), suite_of([pair("p1", True), pair("n1", False)])))
    assert [found[name, "method"].value for name in ("accuracy", "precision", "recall", "f1")] == [0, None, 0, 0]
    assert found["accuracy", "method"].sd is None


def test_what_nobody_labelled_stays_in_the_denominator() -> None:
    answers = {"p1": [("ok", TRUE)], "u1": [("-", "")]}
    instances = [pair("p1", True), pair("u1", None)]
    report = run(judge_of(answers), suite_of(instances, orders="ab"))
    assert figures(report)["accuracy", "method"].value == 0.5
    assert figures(report)["accuracy", "method"].ours == 1
    assert "1 without a label are in accuracy's denominator; ours: in none" in report.published[0].found.notes


def test_a_suite_without_labels_has_figures_and_no_headline_of_them() -> None:
    report = run(judge_of({"u1": [("ok", LIE)]}), suite_of([pair("u1", None)], orders="ab", label_kind="none"))
    found = figures(report)
    assert (found["accuracy", "method"].value, found["accuracy", "method"].ours) == (0, None)
    assert found["hallucination_tp", None].value == 0  # neither right nor wrong
    assert "release" not in report.headline


def test_the_whole_paper_is_searched() -> None:
    behind = "Rabbits of silk were tried in the winter and did not hold their shape."
    answers = {"p1": [("ok", behind)]}
    for full_text, value in ((f"# Method\n\n{behind}", 0), ("", 1)):
        report = run(judge_of(answers), suite_of([pair("p1", True, full_text=full_text)], orders="ab"))
        figure = figures(report)["hallucination_tp", None]
        assert (figure.value, figure.ours) == (value, 1)


def test_the_auditor_reads_the_span_as_quoted_and_ours_as_the_source_has_it() -> None:
    """What ours does not find is put to the auditor all the same, where the release finds it."""
    asked: list[str] = []

    def listening(request: Request) -> dict[str, Any]:
        asked.append(request.evidence_a)
        return {"supported": "no crease" not in request.evidence_a}

    listening.uses_prompt = False  # type: ignore[attr-defined]
    inverted, joined = TRUE.replace("every", "no"), "We fold paper cranes with a spring loaded jig."
    judge = judge_of({"p1": [("ok", inverted)], "p2": [("ok", joined)]})
    suite = suite_of([pair("p1", True), pair("p2", True)], orders="ab")
    report = evaluate({"planted": judge}, suite, auditor={"auditor": listening})
    assert sorted(asked) == sorted([inverted, joined, "We fold paper cranes with a spring-\nloaded jig."])
    found = figures(report)
    assert found["tp_flow_mismatched", "method"].value == 0.5
    assert found["tp_flow_verified", "method"].value == 0.5
    assert found["tp_flow_hallucinated", "method"].ours == 0.5
    assert report.calls.audits == 3
    asked.clear()
    evaluate({"planted": judge}, replace(suite, profile="default"), auditor={"auditor": listening})
    assert asked == ["We fold paper cranes with a spring-\nloaded jig."]


def test_what_the_release_does_not_audit_is_not_asked() -> None:
    """A pair without a span is put to the auditor, what is hallucinated is not, and no group without any evidence."""
    asked: list[tuple[str, str]] = []

    def listening(request: Request) -> dict[str, Any]:  # with a prompt, so that one is made of no evidence
        asked.append((request.evidence_a, request.reason))
        return {"supported": False}

    def silent(request: Request) -> dict[str, Any]:
        lies = request.papers[0].title.endswith("p2")
        return {
            "is_similar": True,
            "evidence_a": LIE if lies else "",
            "evidence_b": "",
            "reason": "lies" if lies else "ok",
        }

    silent.uses_prompt = False  # type: ignore[attr-defined]
    suite = suite_of([pair("p1", True), pair("p2", True)], orders="ab")
    report = evaluate({"planted": silent}, suite, auditor={"auditor": listening})
    assert asked == [("", "ok")]
    found = figures(report)
    assert found["tp_flow_mismatched", "method"].value == found["tp_flow_hallucinated", "method"].value == 0.5
    assert found["hallucination_tp", None].value == 1  # the one without any span is in no denominator
    asked.clear()
    report = evaluate({"planted": grouper}, suite_of([set_of("g4", "[]")], orders="ab"), auditor={"auditor": listening})
    assert asked == []
    assert report.published[0].found.figures


def test_of_several_auditors_only_the_first_is_asked_by_the_release() -> None:
    asked: list[str] = []

    def second(request: Request) -> dict[str, Any]:
        asked.append(request.evidence_a)
        return {"supported": True}

    second.uses_prompt = False  # type: ignore[attr-defined]
    judge = judge_of({"p1": [("ok", TRUE.replace("every", "no"))]})
    suite = suite_of([pair("p1", True)], orders="ab")
    report = evaluate({"planted": judge}, suite, auditor={"auditor": audit, "second": second})
    assert asked == []
    assert figures(report)["tp_flow_verified", "method"].value == 1


def view_of(report: Report, **ground: Any) -> View:
    """The votes of a report with something else told of all grounds, and nothing of audits that were asked for."""
    results = [
        result._replace(
            audits=Audits(),
            outcome=result.outcome._replace(
                votes=tuple(
                    vote._replace(grounds=tuple(own._replace(**ground) for own in vote.grounds))
                    for vote in result.outcome.votes
                )
            ),
        )
        for result in report.outcomes
    ]
    return View(results, report.plan.suites["made"].suite, report.plan.judges[0].traits)


def test_without_the_answers_text_there_is_stage_1_only(planted: Report) -> None:
    found = score_as_published(view_of(planted, released=None))
    assert {figure.stage for figure in found.figures} == {"correctness"}
    assert any(NOT_TOLD in note for note in found.notes)


def test_what_ours_leave_undefined_without_an_audit(planted: Report) -> None:
    found = {figure.name: figure.ours for figure in score_as_published(view_of(planted, supported=None)).figures}
    assert [found[name] for name in ("verified_f1", "tp_flow_verified", "tp_flow_mismatched", "mismatch_tp")] == [
        None
    ] * 4
    assert found["hallucination_tp"] is not None


# --- groupings --------------------------------------------------------------------------------------------------


def set_of(name: str, gold: str) -> Instance:
    words = ("cranes", "boats", "kites", "masks")
    papers = tuple(
        Idea(letter, f"{word} {name}", f"Folding {word} of paper number {name} takes a patient hand and time.")
        for letter, word in zip("abcd", words, strict=True)
    )
    return Instance(name, papers, gold, dimension="task")


def group(request: Request, letters: str, reason: str, lie: bool = False, spans: bool = True) -> dict[str, Any]:
    members = ["abcd".index(letter) + 1 for letter in letters]
    cited = {str(member): request.papers[member - 1].text for member in members} if spans else {}
    if lie:
        cited[str(members[0])] = LIE
    return {"paper_indices": members, "evidence": cited, "reason": reason}


def grouper(request: Request) -> Any:
    name = request.papers[0].title.split()[1]
    return {
        "g1": lambda: {"groups": [group(request, "abc", "ok", lie=True)]},
        "g2": lambda: {"groups": [group(request, "ab", "ok"), group(request, "cd", "beyond")]},
        "g3": lambda: {"groups": []},
        "g4": lambda: {"groups": [group(request, "ab", "ok", spans=False)]},
        "g5": lambda: "no verdict",
    }[name]()


grouper.uses_prompt = False  # type: ignore[attr-defined]

GOLD = {"g1": '[["a","b"]]', "g2": '[["a","b","c","d"]]', "g3": "[]", "g4": "[]", "g5": '[["a","b"]]'}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("macro_precision", (0.3333 + 1) / 4),
        ("macro_recall", (1 + 0.3333) / 4),
        ("macro_f1", 0.25),  # both empty is a 0, the failed answer is left out
        ("micro_precision", 0.5),
        ("micro_recall", 0.4286),
        ("micro_f1", 0.4615),
        ("hallucination_groups", 0.25),  # of four groups
        ("mismatch_tp", 0.5),
        ("mismatch_fp", 0),  # none was judged: the lie is none to judge, nor is what has no evidence
        ("verified_precision", 0.1667),  # 1 of 3 true and 3 false pairs
        ("verified_recall", 0.125),  # 1 of 3 found and 5 missed pairs, one of them by the failed answer
        ("verified_f1", 0.1429),
        ("tp_flow_verified", 1 / 3),
        ("tp_flow_hallucinated", 1 / 3),
        ("tp_flow_mismatched", 1 / 3),
        ("tp_flow_unchecked", 0),
    ],
)
def test_groupings_by_hand(name: str, value: float) -> None:
    report = run(grouper, suite_of([set_of(name, gold) for name, gold in GOLD.items()], orders="ab"))
    found = {figure.name: figure for figure in report.published[0].found.figures}
    assert found[name].value == pytest.approx(value)
    assert found["macro_f1"].ours == pytest.approx(0.4)  # both empty is a 1, the failed answer a 0
    assert found["macro_f1"].ours == report.grounding[0].found.macro["f1"].value


def test_a_group_is_right_if_all_of_its_pairs_are() -> None:
    def wide(request: Request) -> Any:
        return {"groups": [group(request, "abc", "beyond")]}

    wide.uses_prompt = False  # type: ignore[attr-defined]
    report = run(wide, suite_of([set_of("g1", GOLD["g1"])], orders="ab"))
    found = {figure.name: figure.value for figure in report.published[0].found.figures}
    assert (found["mismatch_tp"], found["mismatch_fp"]) == (0, 1)
    assert found["tp_flow_mismatched"] == 1  # of its pairs one is right


# --- where it comes from and goes to ----------------------------------------------------------------------------


def test_what_the_release_makes_of_evidence_travels(planted: Report) -> None:
    suite = planted.plan.suites["made"].suite
    for result in planted.outcomes:
        instance = next(item for item in suite.instances if item.id == result.instance)
        back = from_wire(json.loads(to_wire(result, suite, instance)), suite, instance)
        assert [vote.grounds for vote in back.outcome.votes] == [vote.grounds for vote in result.outcome.votes]
    assert any(vote.grounds for result in planted.outcomes for vote in result.outcome.votes)


def test_the_report_names_the_profile_and_fits_its_schema(planted: Report) -> None:
    data = json.loads(json.dumps(planted.to_dict()))
    assert violation(data, load_schema("report")) is None
    assert data["run"]["profile"] == data["run"]["suites"][0]["profile"] == AS_PUBLISHED
    assert data["published"][0]["figures"][0]["name"] == "accuracy"
    grounds = [ground for row in data["outcomes"] for vote in row["grounds"] or () for ground in vote or ()]
    assert grounds
    assert all("released" not in ground for ground in grounds)


def test_nothing_of_it_without_the_profile() -> None:
    suite = suite_of([pair("p1", True)], profile="default")
    report = run(judge_of({"p1": [("ok", TRUE)]}), suite)
    assert report.published == []
    assert all(
        ground == Ground(*ground[:5]) for r in report.outcomes for vote in r.outcome.votes for ground in vote.grounds
    )
    chosen = run(judge_of({"p1": [("ok", TRUE)]}), suite, profile=AS_PUBLISHED)
    assert len(chosen.published) == 1
    assert Released((VERBATIM, VERBATIM), True) in [
        ground.released for r in chosen.outcomes for vote in r.outcome.votes for ground in vote.grounds
    ]


def test_the_argument_wins_over_the_suite_and_is_checked() -> None:
    suite = suite_of([pair("p1", True)])
    assert run(judge_of({"p1": [("ok", TRUE)]}), suite, profile="default").published == []
    with pytest.raises(SettingsError, match="profile is 'as published'"):
        run(judge_of({}), suite, profile="as published")
    with pytest.raises(
        SettingsError,
        match="landmarks-pairwise cannot be scored as-published: .* no published rules are known for pairwise",
    ):
        evaluate("lexical", "landmarks-pairwise", profile=AS_PUBLISHED)


HEAD = "format: novelty-suite/1\nname: mine\nversion: 1.0.0\nprotocol: {}\nlabel_kind: none\n"


def test_a_suite_of_another_protocol_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "suite.yaml"
    path.write_text(
        HEAD.format("pointwise") + "profile: as-published\ninstances: [{id: a, idea: {title: A, text: An idea.}}]\n"
    )
    with pytest.raises(SuiteError) as caught:
        load_suite(path)
    assert str(caught.value).startswith(
        f"{path}:6: profile is as-published, and no published rules are known for pointwise"
    )
    assert "similarity, grouping" in str(caught.value)


def test_an_extension_may_choose_the_profile(tmp_path: Path) -> None:
    path = tmp_path / "released.yaml"
    path.write_text("format: novelty-suite/1\nextends: landmarks-grouping\nprofile: as-published\n")
    assert load_suite(path).profile == AS_PUBLISHED
    path.write_text("format: novelty-suite/1\nextends: landmarks-pairwise\nprofile: as-published\n")
    with pytest.raises(SuiteError, match=r"released\.yaml:3: profile is as-published"):
        load_suite(path)
    path.write_text("format: novelty-suite/1\nextends: landmarks-grouping\nprofile: published\n")
    with pytest.raises(SuiteError, match="profile"):
        load_suite(path)


@pytest.mark.parametrize(
    ("metric", "ours"),
    [
        ("micro_f1", "pair_f1"),
        ("macro_recall", "pair_recall"),
        ("hallucination_tp", "hallucination_rate"),
        ("hallucination_rate_tp", "hallucination_rate"),
        ("hallucination_groups", "hallucination_rate"),
        ("mismatch_fp", "mismatch_rate"),
        ("tp_flow_verified", "verified_f1"),
        ("published_f1", "f1"),
    ],
)
def test_a_gate_on_a_figure_of_the_release_is_refused(metric: str, ours: str) -> None:
    with pytest.raises(GateSyntaxError, match=f"{metric}, a figure of the release .* has no interval") as caught:
        parse_gate(f"{metric}>=0.5")
    assert caught.value.hint == f"Gate ours: {ours}"


def test_other_names_are_none_of_the_release() -> None:
    assert [gate_instead(name) for name in ("f1", "hallucination_rate_al", "macro_f2", "verified_f1")] == [None] * 4
