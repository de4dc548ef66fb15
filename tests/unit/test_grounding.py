"""The evidence of an answer against what was shown: planted judges land where they belong, and nothing is lost on the way."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_novelty import evaluate
from pytest_novelty.auditing import find_invented
from pytest_novelty.calls import CallPlanner, Case
from pytest_novelty.evidence import (
    FAILURES,
    HALLUCINATED,
    MISSING,
    NOWHERE,
    OTHER_PAPER,
    REFERENCE_LIST,
    STATUSES,
    TITLE_ONLY,
    VERBATIM,
)
from pytest_novelty.grounding import read_grounds, write_grounds
from pytest_novelty.judges.base import Traits, bind_judge
from pytest_novelty.metrics.grounded import cascade_of
from pytest_novelty.metrics.view import View
from pytest_novelty.model import SCHEMA_VIOLATION, Axes, Ground, Idea, Instance, Outcome, Request, Suite, Variant, Vote
from pytest_novelty.outcomes import CaseResult
from pytest_novelty.prompts import resolve_prompt
from pytest_novelty.recording import Recorder
from pytest_novelty.reports.invented import invented_blocks
from pytest_novelty.reports.markdown import report_to_markdown
from pytest_novelty.reports.terminal import render
from pytest_novelty.store import SqliteStore
from pytest_novelty.suites import embedded_suites, load_suite
from pytest_novelty.validation import load_schema
from pytest_novelty.verdicts import SIMILAR, Invented
from pytest_novelty.wire import MAX_WIRE_BYTES, from_wire, to_wire

A = "Paper cranes are folded with a jig of brass. The jig keeps every crease within a millimetre. Two people are not needed."
B = "Boats of paper are folded by hand in the dark. A groove in the table guides the crease to within a hair."
REFERENCES = (
    "# Introduction\n\nWe fold.\n\n# References\n\n[1] Folding of maps by machines in the navy, 1931, by an admiral."
)
WITH_B = "A groove in the table guides the crease to within a hair."
WITH_A = "The jig keeps every crease within a millimetre."


def make_suite(*, granularity: str = "abstract") -> Suite:
    papers = (
        Idea("a", "Cranes by Jig of Brass", A, full_text=REFERENCES),
        Idea("b", "Boats in the Dark Room", B, full_text=REFERENCES.replace("We fold", "We fold boats in the harbour")),
    )
    instance = Instance("s1", papers, SIMILAR, dimension="method")
    variants = {"reference": Variant("reference", Axes("similarity/reference", votes=1, granularity=granularity))}
    return Suite("made", "1", "similarity", "construction", (instance,), variants, "0" * 32, Path("made/suite.yaml"))


def answer(span_a: Any, span_b: Any, reason: str = "Both guide the crease.") -> Any:
    """A judge that cites these of the papers, whichever is shown first."""

    def judge(request: Request) -> dict[str, Any]:
        spans = [span_a, span_b] if request.papers[0].text.startswith("Paper") else [span_b, span_a]
        return {"is_similar": True, "evidence_a": spans[0], "evidence_b": spans[1], "reason": reason}

    judge.uses_prompt = False  # type: ignore[attr-defined]
    return judge


def grounds_of(judge: Any, suite: Suite | None = None) -> list[Ground]:
    report = evaluate({"planted": judge}, suite or make_suite())
    return [ground for outcome in report.outcomes for vote in outcome.outcome.votes for ground in vote.grounds]


@pytest.mark.parametrize(
    ("spans", "found", "failures"),
    [
        ((WITH_A, WITH_B), (VERBATIM, VERBATIM), ("", "")),
        ((WITH_A, "A robot was taught to fold boats."), (VERBATIM, HALLUCINATED), ("", NOWHERE)),
        ((WITH_A, WITH_A), (VERBATIM, HALLUCINATED), ("", OTHER_PAPER)),
        ((WITH_B, WITH_A), (HALLUCINATED, HALLUCINATED), (OTHER_PAPER, OTHER_PAPER)),
        ((WITH_A, ""), (VERBATIM, MISSING), ("", "empty")),
        ((None, None), (MISSING, MISSING), ("empty", "empty")),
        (("Cranes by Jig of Brass", WITH_B), (HALLUCINATED, VERBATIM), (TITLE_ONLY, "")),
        (
            (WITH_A, "Folding of maps by machines in the navy, 1931, by an admiral."),
            (VERBATIM, HALLUCINATED),
            ("", REFERENCE_LIST),
        ),
        ((WITH_A.replace("keeps", "never keeps"), WITH_B), (HALLUCINATED, VERBATIM), (NOWHERE, "")),
    ],
)
def test_planted_judges_land_where_they_belong(
    spans: tuple[Any, Any], found: tuple[str, str], failures: tuple[str, str]
) -> None:
    expected = Ground(("a", "b"), found, failures, True)
    grounds = [ground._replace(supported=None) for ground in grounds_of(answer(*spans))]
    assert grounds == [expected, expected]  # in both orders: spans follow the papers


def test_only_what_was_shown_is_searched() -> None:
    """The introduction is in the full text; a judge that was shown the abstract cannot quote it."""
    judge = answer(WITH_A, "We fold boats in the harbour.")
    assert grounds_of(judge)[0].found == (VERBATIM, HALLUCINATED)
    assert grounds_of(judge, make_suite(granularity="full"))[0].found == (VERBATIM, VERBATIM)


def test_a_negative_verdict_has_no_grounds() -> None:
    assert grounds_of(lambda request: {"is_similar": False, "evidence_a": "Made up.", "reason": "None."}) == []


def test_words_of_the_prompt_are_no_evidence() -> None:
    def judge(request: Request) -> dict[str, Any]:
        return {
            "is_similar": True,
            "evidence_a": "quote from each paper the one to three sentences that show it",
            "evidence_b": "<quotation from paper B>",
            "reason": "None.",
        }

    assert {ground.failures for ground in grounds_of(judge)} == {("schema_echo", "schema_echo")}


def test_grounds_are_kept_with_the_record_and_read_again(tmp_path: Path) -> None:
    suite = make_suite()
    bound = bind_judge("planted", answer(WITH_A, "Nothing of the sort."))
    case = Case(bound, suite, suite.variants["reference"], suite.instances[0])
    call = CallPlanner({}).plan(case)[1]
    record = Recorder().answered(call, bound.function(call.request), 0.1)
    store = SqliteStore(tmp_path / "verdicts.sqlite")
    store.put([record])
    held = store.get([record.key])[record.key]
    store.close()
    assert held == record
    assert read_grounds(held.grounds) == (Ground(("a", "b"), (VERBATIM, HALLUCINATED), ("", NOWHERE), True),)
    assert Recorder().reread(call, held) == record._replace(created=held.created)
    without_text = held._replace(raw="", reason="", message="")
    reread = Recorder().reread(call, without_text)
    assert reread.grounds == record.grounds  # an export without texts still tells them
    assert find_invented([call], [record]) == Invented("b", NOWHERE, "Nothing of the sort.")
    assert find_invented([call], [reread]) is None  # and cannot show them


GROUNDS = (
    Ground(("a", "b"), (VERBATIM, MISSING), ("", "empty"), True, None),
    Ground(("a", "b"), (HALLUCINATED, "near-verbatim"), (OTHER_PAPER, ""), False, False),
)


def test_grounds_travel() -> None:
    suite = make_suite()
    votes = (Vote("ab", 0, label=SIMILAR, grounds=GROUNDS), Vote("ba", 0, label=SIMILAR), Vote("ba", 1, "error"))
    result = CaseResult("j", "made", "reference", "s1", Outcome(SIMILAR, "correct", votes, SIMILAR))
    for invented in (None, Invented("b", OTHER_PAPER, "We fold boats.")):
        sent = result._replace(invented=invented)
        assert from_wire(json.loads(to_wire(sent, suite, suite.instances[0])), suite, suite.instances[0]) == sent


def test_a_quotation_that_is_too_long_to_travel_stays_behind() -> None:
    """What a person may look at gives way to what counts."""
    suite = make_suite()
    votes = tuple(Vote("ab", sample, label=SIMILAR, grounds=GROUNDS[:1]) for sample in range(100))
    outcome = Outcome(SIMILAR, "correct", votes, SIMILAR)
    invented = Invented("b", OTHER_PAPER, "\U0001f92f" * 120)
    sent = CaseResult("j", "made", "reference", "s1", outcome, invented=invented)
    text = to_wire(sent, suite, suite.instances[0])
    assert len(text) <= MAX_WIRE_BYTES
    assert from_wire(json.loads(text), suite, suite.instances[0]) == sent._replace(invented=None)


def test_invented_spans_are_shown() -> None:
    invented = "A robot was taught to fold boats, " + "and to fold them again " * 10
    report = evaluate({"planted": answer(WITH_A, invented)}, make_suite())
    (outcome,) = report.to_dict()["outcomes"]
    begins = invented[:120]
    assert outcome["invented"] == {"paper": "b", "failure": "nowhere", "quotation": begins}
    for text in (render(report, width=200), report_to_markdown(report)):
        assert "Evidence that is not in what was shown: planted on made" in text
        assert "found nowhere" in text
        assert invented[:90] in text
        assert invented[:110] not in text
    jsonschema.validate(json.loads(json.dumps(report.to_dict())), load_schema("report"))
    honest = evaluate({"planted": answer(WITH_A, WITH_B)}, make_suite())
    assert honest.to_dict()["outcomes"][0]["invented"] is None
    assert "not in what was shown:" not in render(honest)


def test_a_few_of_many_invented_spans_are_shown() -> None:
    (instance,) = make_suite().instances
    many = tuple(replace(instance, id=f"s{number}") for number in range(7))
    report = evaluate({"planted": answer(WITH_A, "A robot folded this boat.")}, replace(make_suite(), instances=many))
    (block,) = invented_blocks(report)
    assert [row[0] for row in block.rows] == ["s0", "s1", "s2", "s3", "s4"]
    assert block.notes == ("the first of each instance; 2 instances more",)


def test_partitions_travel() -> None:
    ids = [f"p{k}" for k in range(10)]
    labels = [json.dumps([[one, other]], separators=(",", ":")) for one in ids for other in ids if one < other]
    instance = Instance("g1", tuple(Idea(name, name, "Text.") for name in ids), labels[0], dimension="task")
    suite = replace(make_suite(), protocol="grouping", instances=(instance,))
    votes = tuple(Vote("ab", k, label=label) for k, label in enumerate(labels))  # more labels than there are digits
    result = CaseResult("j", "made", "reference", "g1", Outcome("tie", "tie", votes, labels[0]))
    assert from_wire(json.loads(to_wire(result, suite, instance)), suite, instance) == result


def test_written_grounds_are_read_back() -> None:
    plain = tuple(ground._replace(supported=None) for ground in GROUNDS)
    assert read_grounds(write_grounds(GROUNDS)) == plain
    assert write_grounds(()) == ""
    for text in ("[1]", "[[1, 2]]", '[[["a"], [], [], true]]', "[", '[[["a"],["verbatim"],[""],true,1]]'):
        with pytest.raises(ValueError, match="no grounds|not as many|Expecting"):
            read_grounds(text)


@pytest.mark.parametrize(
    ("found", "failure", "told"),
    [
        ("paraphrase", "", "one of verbatim, near-verbatim, hallucinated, missing, not 'paraphrase'"),
        (["verbatim"], "", "not \"\\['verbatim'\\]\""),
        ("hallucinated", "elsewhere", "hallucinated does not fail as 'elsewhere'"),
        ("hallucinated", "", "hallucinated does not fail as ''"),
        ("missing", 0, "missing does not fail as '0'"),
        ("verbatim", "nowhere", "verbatim does not fail as 'nowhere'"),
    ],
)
def test_evidence_told_in_words_that_are_none_is_no_verdict(found: Any, failure: Any, told: str) -> None:
    text = json.dumps([[["a", "b"], ["verbatim", found], ["", failure], True]])
    with pytest.raises(ValueError, match=told):
        read_grounds(text)
    suite = make_suite()
    bound = bind_judge("planted", answer(WITH_A, "Nothing of the sort."))
    call = CallPlanner({}).plan(Case(bound, suite, suite.variants["reference"], suite.instances[0]))[1]
    stored = Recorder().answered(call, bound.function(call.request), 0.1)._replace(grounds=text)
    assert read_grounds(Recorder().reread(call, stored).grounds)  # its answer tells it again
    record = Recorder().reread(call, stored._replace(raw=""))
    assert (record.status, record.label, record.grounds) == (SCHEMA_VIOLATION, None, "")
    assert "does not tell what became of its evidence: a span " in record.message
    failed = stored._replace(raw="", status="refused", label=None)
    assert Recorder().reread(call, failed) == failed._replace(grounds="")


def test_a_status_that_is_none_is_no_verified_one() -> None:
    suite = make_suite()
    ground = Ground(("a", "b"), ("verbatim", "paraphrase"), ("", ""), True)
    outcome = Outcome(SIMILAR, "correct", (Vote("ab", 0, label=SIMILAR, grounds=(ground,)),), SIMILAR)
    view = View([CaseResult("j", "made", "reference", "s1", outcome)], suite, Traits())
    with pytest.raises(KeyError, match="paraphrase"):
        cascade_of(view)


def test_the_schema_of_reports_has_the_words_for_evidence() -> None:
    text = json.dumps(load_schema("report"))
    assert json.dumps({"enum": list(STATUSES)}) in text
    (enum,) = (one for one in re.findall(r'"failures": {"type": "array", "items": {"enum": (\[[^]]*\])', text))
    assert sorted(json.loads(enum)) == sorted(["", *FAILURES])


@pytest.mark.parametrize("name", ["landmarks-similarity-full", "landmarks-grouping", "landmarks-entailment"])
def test_nothing_that_tells_the_label_is_shown(name: str) -> None:
    suite = load_suite(embedded_suites()[name])
    reference = suite.variants["reference"]
    prompts = {reference.axes.prompt: resolve_prompt(reference.axes.prompt, suite.folder)}
    bound = bind_judge("asked", lambda request: "{}")
    planner = CallPlanner(prompts)
    for instance in suite.instances[::5]:
        marked = replace(instance, metadata={"MARK": "MARK"}, strata={"MARK": "MARK"})
        marked = replace(marked, ideas=tuple(replace(idea, metadata={"MARK": "MARK"}) for idea in marked.ideas))
        for call in planner.plan(Case(bound, replace(suite, instances=(marked,)), reference, marked)):
            seen = repr(call.request) + repr(call.request.messages)
            assert "MARK" not in seen
            assert instance.id not in seen
            assert instance.dimension in seen
            assert all(idea.text in seen for idea in call.request.papers)
