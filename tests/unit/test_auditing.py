"""Planted judges on the cascade: each lands in its cell, in the report's numbers, its JSON and its waterfall."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_novelty import evaluate, grounding
from pytest_novelty.auditing import conclusions_of
from pytest_novelty.audits import Audits
from pytest_novelty.calls import CallPlanner, Case
from pytest_novelty.errors import SettingsError
from pytest_novelty.judges.base import bind_judge
from pytest_novelty.metrics.sampled import Rate
from pytest_novelty.metrics.view import Estimate
from pytest_novelty.model import Axes, Conclusion, Idea, Instance, Request, Suite, Variant
from pytest_novelty.recording import Recorder
from pytest_novelty.reports.announcement import announce
from pytest_novelty.reports.blocks import render_blocks
from pytest_novelty.reports.grounding import _counted, grounding_blocks
from pytest_novelty.reports.markdown import report_to_markdown
from pytest_novelty.reports.terminal import render
from pytest_novelty.results import Report, make_report
from pytest_novelty.validation import load_schema
from pytest_novelty.verdicts import NOT_SIMILAR, SIMILAR, SUPPORTED, UNSUPPORTED
from pytest_novelty.wire import from_wire, to_wire

LIST = "[1] Folding of maps by machines in the navy, 1931, by an admiral."
LINES = {
    "crane": "A jig of brass keeps every crease within a millimetre.",
    "boat": "Each crease lies within a millimetre, since a wooden jig holds the hull.",
    "kite": "Wind tunnels showed that a jig makes creases good to a millimetre.",
    "frog": "The millimetre is the unit in which our jig sets the crease of a leg.",
}
REASON = "In each a jig keeps the crease within a millimetre."


def paper(name: str, noun: str) -> Idea:
    abstract = f"We fold paper {noun} by machine. {LINES[noun]} Two people are not needed for {noun}."
    return Idea(
        name, f"Machines for {noun}", abstract, full_text=f"# Introduction\n\nWe fold.\n\n# References\n\n{LIST}"
    )


def make_suite(protocol: str) -> Suite:
    nouns = ("crane", "boat", "kite", "frog")
    papers = [paper(f"p{place}", noun) for place, noun in enumerate(nouns)]
    instances = []
    for number in range(6):
        if protocol == "similarity":
            gold, held = (SIMILAR if number % 2 == 0 else NOT_SIMILAR), papers[number % 3 : number % 3 + 2]
        else:
            gold, held = ('[["p0","p1"]]' if number % 2 == 0 else "[]"), papers
        strata = {"source": "a" if number < 3 else "b"}
        instances.append(Instance(f"i{number}", tuple(held), gold, dimension="method", strata=strata))
    variants = {"reference": Variant("reference", Axes(f"{protocol}/reference", votes=1))}
    return Suite("made", "1", protocol, "construction", tuple(instances), variants, "0" * 32, Path("made/suite.yaml"))


def own_line(text: str) -> str:
    return text.split(". ")[1] + "."


SPANS: dict[str, tuple[Callable[[str, str], str], str]] = {
    "perfect": (lambda own, other: own_line(own), REASON),
    "fabricated": (lambda own, other: "Robots were taught to fold by watching films.", REASON),
    "beyond": (lambda own, other: own_line(own), "Both teams trained robots on films of Japanese masters."),
    "copies": (lambda own, other: own_line(other), REASON),
    "lists": (lambda own, other: LIST, REASON),
    "mute": (lambda own, other: "", REASON),
    "without reason": (lambda own, other: own_line(own), ""),
}


def planted(name: str) -> Callable[[Request], dict[str, Any]]:
    """Right about everything: says similar, or joins the first two papers, exactly where that is gold."""
    span, reason = SPANS[name]

    def judge(request: Request) -> dict[str, Any]:
        texts = [shown.text for shown in request.papers]
        first = [place for place, text in enumerate(texts) if "crane" in text or "boat" in text]
        if request.protocol == "similarity":
            return {
                "is_similar": True,
                "evidence_a": span(texts[0], texts[1]),
                "evidence_b": span(texts[1], texts[0]),
                "reason": reason,
            }
        one, other = first
        evidence = {str(one + 1): span(texts[one], texts[other]), str(other + 1): span(texts[other], texts[one])}
        return {"groups": [{"paper_indices": [one + 1, other + 1], "evidence": evidence, "reason": reason}]}

    judge.uses_prompt = False  # type: ignore[attr-defined]
    return judge


CELLS = {
    "perfect": {"verified_rate": 1, "hallucination_rate": 0, "missing_evidence_rate": 0, "mismatch_rate": 0},
    "fabricated": {"hallucination_rate": 1, "missing_evidence_rate": 0, "mismatch_rate": None},
    "beyond": {"hallucination_rate": 0, "missing_evidence_rate": 0, "mismatch_rate": 1},
    "copies": {"hallucination_rate": 1, "missing_evidence_rate": 0, "mismatch_rate": None},
    "lists": {"hallucination_rate": 1, "missing_evidence_rate": 0, "mismatch_rate": None},
    "mute": {"hallucination_rate": 0, "missing_evidence_rate": 1, "mismatch_rate": None},
    "without reason": {
        "hallucination_rate": 0,
        "missing_evidence_rate": 0,
        "mismatch_rate": None,
        "missing_reason_rate": 1,
    },
}
FAILURES = {"fabricated": "nowhere", "copies": "other_paper", "lists": "reference_list", "mute": "empty"}


def run(name: str, protocol: str = "similarity") -> Report:
    return evaluate({"planted": planted(name)}, make_suite(protocol))


@pytest.mark.parametrize("protocol", ["similarity", "grouping"])
@pytest.mark.parametrize("name", CELLS)
def test_each_lands_in_its_cell(name: str, protocol: str) -> None:
    report = run(name, protocol)
    (item,) = report.grounding
    rates = item.found.rates
    for rate, value in CELLS[name].items():
        assert (rates[rate].value if rate in rates else None) == value, rate
    assert rates["unchecked_rate"].value == 0
    assert rates["verified_f1"].value == (rates["f1"].value if name == "perfect" else 0)
    assert report.metric("hallucination_rate").value == CELLS[name]["hallucination_rate"]
    if name in FAILURES:
        assert list(item.found.failures) == [FAILURES[name]]
    else:
        assert item.found.failures == {}


def silent(request: Request) -> dict[str, Any]:
    raise RuntimeError("down")


silent.uses_prompt = False  # type: ignore[attr-defined]


def test_where_no_auditor_was_asked_the_cascade_says_so() -> None:
    report = run("perfect")
    bare = [
        result._replace(
            audits=Audits(),
            outcome=result.outcome._replace(
                votes=tuple(
                    vote._replace(grounds=tuple(each._replace(supported=None) for each in vote.grounds))
                    for vote in result.outcome.votes
                )
            ),
        )
        for result in report.outcomes
    ]
    report = make_report(report.plan, bare)
    assert report.grounding[0].found.audited is False
    assert report.metric("verified_f1").value is None
    text = render_blocks(grounding_blocks(report))
    assert "after mismatch       not audited" in text
    assert "unchecked: 100 % of right positives" in text
    assert "its F1 per vote of 67 % is 67 % once evidence is checked;" in report.headline


def test_where_every_audit_failed_bounds_are_told() -> None:
    """Nothing was checked: neither 0 nor what F1 is would be true, in the headline, the block and the table."""
    report = evaluate({"planted": planted("perfect")}, make_suite("similarity"), auditor=silent)
    said = (
        "its F1 per vote of 67 % is between 0 and 67 % once evidence and reasons are checked: 6 of 6 reasons unchecked"
    )
    assert said in report.headline
    assert said in report_to_markdown(report)
    assert "| after mismatch | 0 to 67 % \\[0, 91\\] | ░░░░░░░░░░░░░ | 0.0 |" in report_to_markdown(report)
    assert "| verified_f1 | F1 after mismatch | 0 to 67 % | \\[0, 91\\] |" in report_to_markdown(report)
    text = render_blocks(grounding_blocks(report), width=200)
    assert "after mismatch       0 to 67 % [0, 91]  ░░░░░░░░░░░░░" in text
    assert "F1 that is retained: 0 to 100 % [0, 100]" in text
    assert "by dimension: method 67 % -> 67 % -> 0 to 67 %" in text or "by dimension" not in text
    assert "auditor: silent" in text
    assert "0 to 67 %" in render(report, width=120)


def test_where_some_audits_failed_bounds_are_told() -> None:
    def forgetful(request: Request) -> dict[str, Any]:
        if "hull" in request.evidence_a + request.evidence_b:
            raise RuntimeError("down")
        return {"supported": True}

    forgetful.uses_prompt = False  # type: ignore[attr-defined]
    for protocol, count in (("similarity", "4 of 6 reasons"), ("grouping", "6 of 6 pairs of papers")):
        report = evaluate({"planted": planted("perfect")}, make_suite(protocol), auditor=forgetful)
        assert f" once evidence and reasons are checked: {count} unchecked;" in report.headline


@pytest.mark.parametrize(
    ("metric", "limit", "decision"),
    [("verified_f1", ">=0.5", "inconclusive"), ("verified_f1", ">=0.7", "fail"), ("unchecked_rate", "<=0.9", "fail")],
)
def test_gates_are_decided_on_the_bounds(metric: str, limit: str, decision: str) -> None:
    """Of 67 % all is unchecked, so that it is anything up to that; by points the bounds decide, not what has been verified so far."""
    report = evaluate(
        {"planted": planted("perfect")},
        make_suite("similarity"),
        auditor=silent,
        gates=[f"{metric}{limit}", f"{metric}@point{limit}"],
    )
    whole, point = (result for result in report.gates if result.gate.metric == metric)
    assert (whole.gate.point, point.gate.point, point.decision) == (False, True, decision)
    if decision == "inconclusive":
        assert whole.decision == "inconclusive"
        for result in (whole, point):
            assert (
                "statements of its votes not audited; run again to repeat audits that failed (--novelty-refresh: also where an answer was no verdict)"
                in result.message
            )
    elif metric == "verified_f1":
        assert point.message.endswith("; decided by its bounds alone")


def test_a_point_decides_on_bounds_for_the_whole_run() -> None:
    options: dict[str, Any] = {"auditor": silent, "gates": ["verified_f1>=0.5"], "decide": "point"}
    (gate, *_) = evaluate({"planted": planted("perfect")}, make_suite("similarity"), **options).gates
    assert (gate.gate.metric, gate.decision) == ("verified_f1", "inconclusive")


def test_the_waterfall() -> None:
    lines = [line.rstrip() for line in render_blocks(grounding_blocks(run("beyond")), width=200).splitlines()]
    assert lines[0] == "Grounding of planted on made, in verdicts"
    assert lines[2].startswith("raw                  67 %")
    assert lines[3].startswith("after hallucination  67 %")
    assert lines[4].startswith("after mismatch       0 %")
    (told,) = (line for line in lines if line.startswith("  right positives: of "))
    assert re.search(r"of the rest \((\d+) audited\) \1 \(100 %\) with a reason beyond the evidence$", told)
    assert any("a weak baseline" in line for line in lines)
    markdown = report_to_markdown(run("beyond"))
    assert "<summary>Grounding</summary>" in markdown
    assert "| after mismatch | 0 %" in markdown


def test_the_headline_tells_what_is_left() -> None:
    headline = run("fabricated").headline
    assert "its F1 per vote of 67 % is 0 % once evidence and reasons are checked" in headline
    assert "grounding" not in headline


def test_the_report_has_it_all() -> None:
    report = run("copies")
    written = json.loads(json.dumps(report.to_dict()))
    jsonschema.validate(written, load_schema("report"))
    (item,) = written["grounding"]
    assert item["auditor"] is None  # nothing was left to audit
    assert item["failures"] == {"other_paper": 24}
    assert item["rates"]["hallucination_rate"]["of"] == [3.0, 3.0]
    assert set(item["strata"]) == {"dimension", "source"}
    assert item["strata"]["source"]["a"]["grounded_f1"]["value"] == 0
    ground = written["outcomes"][0]["grounds"][0][0]
    assert ground["failures"] == ["other_paper", "other_paper"]
    assert len(written["outcomes"][0]["grounds"]) == 2


def test_the_auditor_sees_the_sources_own_words() -> None:
    suite = make_suite("similarity")
    bound = bind_judge("planted", planted("perfect"))
    case = Case(bound, suite, suite.variants["reference"], suite.instances[0])
    call = CallPlanner({}).plan(case)[0]
    answer = bound.function(call.request)
    assert isinstance(answer, dict)
    answer["evidence_a"] = answer["evidence_a"].upper().replace("CREASE", "CREA- SE")
    (conclusion,) = conclusions_of(call, Recorder().answered(call, answer, 0.1))
    assert conclusion is not None
    assert conclusion.evidence[0].rstrip(".") == own_line(call.request.papers[0].text).rstrip(".")
    assert conclusion.reason == REASON


def test_what_was_found_is_not_looked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the auditor's questions, and by votes that say the same."""
    import pytest_novelty.evidence as evidence

    looked, check = [], evidence.check_span
    monkeypatch.setattr(
        evidence, "check_span", lambda span, *args, **others: looked.append(span) or check(span, *args, **others)
    )
    grounding._check.cache_clear()
    suite = make_suite("similarity")
    bound = bind_judge("planted", planted("perfect"))
    case = Case(bound, suite, suite.variants["reference"], suite.instances[0])
    call = CallPlanner({}).plan(case)[0]
    answer = bound.function(call.request)
    record = Recorder().answered(call, answer, 0.1)
    assert conclusions_of(call, record) == conclusions_of(call, record) != [None]
    assert sorted(looked) == sorted([answer["evidence_a"], answer["evidence_b"]])


# --- an auditor of one's own ------------------------------------------------------------------------------------


def auditor(says: Callable[[Request], Any], **traits: Any) -> Any:
    """An auditor that keeps what it was asked."""

    def ask(request: Request) -> Any:
        ask.asked.append(request)  # type: ignore[attr-defined]
        return says(request)

    ask.asked = []  # type: ignore[attr-defined]
    ask.uses_prompt = False  # type: ignore[attr-defined]
    for name, value in traits.items():
        setattr(ask, name, value)
    return ask


def test_an_auditor_decides_what_is_verified() -> None:
    strict = auditor(lambda request: {"supported": "hull" in request.evidence_a + request.evidence_b})
    judge = planted("perfect")
    report = evaluate({"planted": judge}, make_suite("similarity"), auditor={"strict": strict})
    (item,) = report.grounding
    assert item.auditor == "strict"
    said = {result.instance: {vote.grounds[0].supported for vote in result.outcome.votes} for result in report.outcomes}
    assert all(len(each) == 1 for each in said.values())
    rates = item.found.rates
    assert rates["verified_rate"].value == pytest.approx(2 / 3)  # i0 and i4, not i2
    assert "strict" in render_blocks(grounding_blocks(report))
    assert report.to_dict()["grounding"][0]["weak_auditor"] is False


def test_the_same_statement_is_audited_once() -> None:
    lenient = auditor(lambda request: {"supported": True})
    report = evaluate({"planted": planted("perfect")}, make_suite("similarity"), auditor={"lenient": lenient})
    asked = [(request.evidence_a, request.evidence_b) for request in lenient.asked]
    assert len(asked) == len(set(asked)) == 6  # three pairs of papers, each in two orders
    assert {request.protocol for request in lenient.asked} == {"entailment"}
    assert report.calls.made == 12 + 6
    assert report.grounding[0].found.rates["verified_f1"].value == report.metric("f1").value


@pytest.mark.parametrize(
    ("mute_first", "said"),
    [
        (
            False,
            "no statement lacks the word of lenient, which counts: only how far the auditors agree is not told of all",
        ),
        (True, "statements without the word of mute are unchecked, and verified F1 has bounds over them"),
    ],
)
def test_the_word_of_the_first_auditor_counts(mute_first: bool, said: str) -> None:
    """What another one does not answer leaves nothing unchecked."""
    both = {"lenient": auditor(lambda request: {"supported": True}), "mute": auditor(lambda request: "no idea")}
    names = ["mute", "lenient"] if mute_first else ["lenient", "mute"]
    auditors = {name: both[name] for name in names}
    report = evaluate({"planted": planted("perfect")}, make_suite("similarity"), auditor=auditors)
    assert (report.grounding[0].found.rates["unchecked_rate"].value == 1) == mute_first
    (finding,) = [text for text in report.findings if "audits" in text]
    assert f"): {said}" in finding


@pytest.mark.parametrize("answer", ["no idea", {"supported": "yes"}, None])
def test_what_an_auditor_does_not_answer_is_unchecked(answer: Any) -> None:
    def says(request: Request) -> Any:
        if answer is None:
            raise RuntimeError("out of order")
        return answer

    report = evaluate({"planted": planted("perfect")}, make_suite("similarity"), auditor={"mute": auditor(says)})
    (item,) = report.grounding
    assert item.found.rates["unchecked_rate"].value == 1
    assert item.found.audited  # somebody was asked: verified F1 is told, with its bounds
    verified = item.found.rates["verified_f1"]
    assert (verified.lower, verified.upper) == (0, item.found.rates["f1"].value)
    (finding,) = [text for text in report.findings if "audits" in text]
    assert finding.startswith("6 of 6 audits of planted on made by mute gave no verdict (6 ")
    if answer is None:
        assert "(6 judge raised): those statements are unchecked" in finding
        assert "the first: RuntimeError: out of order" in finding
    assert "6 of 6 audits without one" in render(report, width=200)
    written = json.loads(json.dumps(report.to_dict()))
    jsonschema.validate(written, load_schema("report"))
    assert (written["calls"]["audits"], written["calls"]["audits_failed"]) == (6, 6)


def test_only_what_is_grounded_is_audited() -> None:
    asked = auditor(lambda request: {"supported": True})
    evaluate({"planted": planted("fabricated")}, make_suite("grouping"), auditor={"asked": asked})
    assert asked.asked == []


def test_audits_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.sqlite"
    first = auditor(lambda request: {"supported": True}, version="1")
    judge = planted("perfect")
    judge.version = "1"  # type: ignore[attr-defined]
    for asked in (6, 0):
        first.asked.clear()
        report = evaluate({"planted": judge}, make_suite("similarity"), auditor={"first": first}, store=path)
        assert len(first.asked) == asked
        assert report.calls.made + report.calls.reused == 12 + 6
        assert (report.calls.made > 0) is (asked > 0)
        assert report.calls.unfinished == 0


def test_a_model_is_not_audited_by_its_own_family() -> None:
    gpt = auditor(lambda request: {"supported": True}, family="GPT")
    claude = auditor(lambda request: {"supported": True}, family="claude")
    judge = planted("perfect")
    judge.family = "gpt"  # type: ignore[attr-defined]
    suite = make_suite("similarity")
    with pytest.raises(SettingsError, match=r"'planted' would be audited by its own family \(gpt\): gpt-5") as caught:
        evaluate({"planted": judge}, suite, auditor={"gpt-5": gpt})
    assert "--novelty-own-family" in str(caught.value)
    told = evaluate({"planted": judge}, suite, auditor={"gpt-5": gpt}, own_family=True)
    assert told.grounding[0].auditor == "gpt-5"
    (found,) = [text for text in told.findings if "kin" in text]
    assert found.startswith(
        "planted is audited by its own family (gpt), by gpt-5 (--novelty-own-family): of 12 statements that it judged on made it "
        "finds 12 supported. Agreement among kin is no evidence"
    )
    assert found in told.to_dict()["findings"]
    gpt.asked.clear()
    kin = evaluate({"planted": judge}, suite, auditor=[{"gpt-5": gpt}, "lexical"])
    assert (kin.grounding[0].auditor, gpt.asked) == ("lexical", [])
    report = evaluate({"planted": judge}, suite, auditor={"gpt-5": gpt, "claude-5": claude})
    assert report.grounding[0].auditor == "claude-5"
    assert gpt.asked == []
    assert not any("kin" in text for each in (kin, report) for text in each.findings)


def test_of_kin_it_is_told_how_much_they_judged() -> None:
    """With another word that counts beside theirs, of themselves, and not where they said nothing."""
    strict = auditor(lambda request: {"supported": "hull" in request.evidence_a + request.evidence_b}, family="gpt")
    other = auditor(lambda request: {"supported": True}, family="claude")
    judge = planted("perfect")
    judge.family = "gpt"  # type: ignore[attr-defined]
    suite = make_suite("similarity")

    def findings(auditors: dict[str, Any]) -> list[str]:
        report = evaluate({"planted": judge}, suite, auditor=auditors, own_family=True)
        return [text for text in report.findings if "kin" in text]

    (found,) = findings({"claude-5": other, "gpt-5": strict})
    assert (
        "by gpt-5 beside claude-5, whose word counts (--novelty-own-family): of 12 different statements that it judged on made"
        in found
    )
    assert "it finds 8 supported" in found
    assert findings({"gpt-5": auditor(lambda request: "", family="gpt")}) == []
    assert findings({"claude-5": other}) == []
    report = evaluate("chance", suite, auditor="chance", own_family=True)
    assert any(text.startswith("chance is audited by its own family, by itself (") for text in report.findings)
    assert not any("kin" in text for text in evaluate("lexical", suite, auditor="lexical").findings)


def test_several_auditors_are_held_against_each_other() -> None:
    """All are asked the same; the first one's word counts."""
    lax = auditor(lambda request: {"supported": True})
    strict = auditor(lambda request: {"supported": "hull" in request.evidence_a + request.evidence_b})
    mute = auditor(lambda request: "")
    judge = planted("perfect")
    report = evaluate(
        {"planted": judge}, make_suite("similarity"), auditor={"lax": lax, "strict": strict, "mute": mute}
    )
    assert len(lax.asked) == len(strict.asked) == len(mute.asked) == 6
    assert report.grounding[0].auditor == "lax"
    assert report.grounding[0].found.rates["verified_f1"].value == report.metric("f1").value
    (item,) = report.auditors
    assert item.agreement is not None
    assert item.agreement.agreement["lax", "strict"].value == pytest.approx(2 / 3)
    assert item.agreement.agreement["lax", "mute"].value is None
    assert "Auditors on made, among each other" in render(report, width=120)
    jsonschema.validate(json.loads(json.dumps(report.to_dict())), load_schema("report"))
    lines = [line for line in announce(report.plan, {}, {}) if line.startswith("novelty auditor")]
    assert "strict (" in lines[1]
    assert lines[1].endswith("audit the same for their agreement with lax, whose word counts")


def test_what_auditors_say_travels() -> None:
    lax = auditor(lambda request: {"supported": True})
    strict = auditor(lambda request: {"supported": "hull" in request.evidence_a + request.evidence_b})
    suite = make_suite("grouping")
    report = evaluate({"planted": planted("perfect")}, suite, auditor={"lax": lax, "strict": strict})
    instances = {instance.id: instance for instance in suite.instances}
    assert any(result.audits.opinions for result in report.outcomes)
    for result in report.outcomes:
        instance = instances[result.instance]
        assert from_wire(json.loads(to_wire(result, suite, instance)), suite, instance).audits == result.audits


def test_an_audit_that_is_not_paid_for_takes_no_verdict_with_it() -> None:
    """Else the cases that are left would be those without a positive verdict."""
    dear = auditor(lambda request: {"supported": True}, cost_usd_per_call=0.05)
    judge = planted("perfect")
    judge.cost_usd_per_call = 0.0  # type: ignore[attr-defined]
    report = evaluate({"planted": judge}, make_suite("similarity"), auditor={"dear": dear}, budget_usd=0.1)
    assert len(dear.asked) == 2
    judged = [result for result in report.outcomes if result.audits.wanted]
    assert judged
    assert any(
        "audits of planted on made by dear were not made, the budget is reached" in one for one in report.findings
    )


def test_an_auditor_has_to_judge_reasons() -> None:
    with pytest.raises(SettingsError, match="the auditor 'other' does not judge entailment"):
        evaluate(
            {"planted": planted("perfect")},
            make_suite("similarity"),
            auditor={"other": auditor(lambda request: {}, protocols=("pairwise",))},
        )


def test_the_header_says_who_audits_whom() -> None:
    gpt = auditor(lambda request: {"supported": True}, family="gpt", cost_usd_per_call=0.01)
    report = evaluate({"planted": planted("perfect")}, make_suite("similarity"), auditor={"gpt-5": gpt})
    lines = [line for line in announce(report.plan, {}, {}) if line.startswith("novelty auditor")]
    assert lines == [
        "novelty auditor: gpt-5, $0.01 a call, audits planted, whose family is not known (it may declare family)"
    ]
    assert report.calls.cost_usd is None  # the judge's own calls have no price
    free = planted("perfect")
    free.cost_usd_per_call = 0.0  # type: ignore[attr-defined]
    report = evaluate({"planted": free}, make_suite("similarity"), auditor={"gpt-5": gpt})
    assert report.calls.cost_usd == pytest.approx(0.06)


# --- how good auditors are --------------------------------------------------------------------------------------


def reasons() -> Suite:
    instances = [
        Instance(
            f"e{number}", (), SUPPORTED if number < 6 else UNSUPPORTED, dimension="task",
            conclusion=Conclusion(SIMILAR, (f"Line {number}.", "Line."), f"Reason {number}."),
        )
        for number in range(10)
    ]  # fmt: skip
    variants = {"reference": Variant("reference", Axes("entailment/reference", votes=1))}
    return Suite("reasons", "1", "entailment", "experts", tuple(instances), variants, "0" * 32, Path("r/suite.yaml"))


def rejects(*numbers: int) -> Any:
    return auditor(lambda request: {"supported": int(request.reason.split()[1].strip(".")) not in numbers})


def test_auditors_are_held_against_labels_and_each_other() -> None:
    judges = {"right": rejects(6, 7, 8, 9), "lax": rejects(6, 7), "strict": rejects(5, 6, 7, 8, 9)}
    report = evaluate(judges, reasons())
    (item,) = report.auditors
    lax = item.validations["lax"]
    assert (lax.agreement.value, lax.agreement.method.startswith("Wilson")) == (0.8, True)
    assert (lax.precision.value, lax.recall.value) == (1.0, 0.5)
    assert lax.table == {
        ("supported", "supported"): 6,
        ("supported", "unsupported"): 2,
        ("unsupported", "supported"): 0,
        ("unsupported", "unsupported"): 2,
    }
    assert item.validations["right"].kappa.value == 1.0
    assert item.agreement is not None
    assert item.agreement.agreement["right", "strict"].value == 0.9
    assert item.agreement.all_agree.value == 0.7
    written = json.loads(json.dumps(report.to_dict()))
    jsonschema.validate(written, load_schema("report"))
    assert [pair["judges"] for pair in written["auditors"][0]["pairs"]] == [
        ["right", "lax"],
        ["right", "strict"],
        ["lax", "strict"],
    ]
    text = render(report, width=120)
    assert "Auditors on reasons, against its labels" in text
    assert "right and strict  90 %" in text
    assert "(Fleiss)" in text
    assert "<summary>Auditors</summary>" in report_to_markdown(report)


def test_one_auditor_agrees_with_nobody() -> None:
    (item,) = evaluate({"right": rejects(6, 7, 8, 9)}, reasons()).auditors
    assert item.agreement is None
    assert list(item.validations) == ["right"]


@pytest.mark.parametrize("reason", ["\U0001f642", "N/A", "x", "It is so.", "Both use it."])
def test_a_reason_that_says_nothing_is_not_supported(reason: str) -> None:
    perfect = planted("perfect")

    def judge(request: Request) -> dict[str, Any]:
        return {**perfect(request), "reason": reason}

    rates = evaluate({"p": judge}, make_suite("similarity")).grounding[0].found.rates
    assert (rates["mismatch_rate"].value, rates["verified_f1"].value) == (1, 0)


def test_counts_of_all_votes_and_not_the_mean_of_their_shares() -> None:
    """0 of 3 in one vote and 2 of 2 in the other are 40 % of all, and 50 % on average."""
    rate = Rate(Estimate(0.5, 0.1, 0.9, 5), 0.5, 0.5, (0.0, 1.0), 0.7, (0.0, 2.0), (3.0, 2.0))
    assert _counted(rate) == "2 (40 %)"
