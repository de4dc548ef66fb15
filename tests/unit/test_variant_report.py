"""The report of a run with variants: plain data that fits its schema, lines that a person reads, estimates by name."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import jsonschema
import numpy as np
import pytest

from pytest_novelty.errors import SettingsError, UnknownNameError
from pytest_novelty.evaluation import evaluate
from pytest_novelty.headline import make_headline
from pytest_novelty.model import NOT_NOVEL, NOVEL, Contrast, Suite, Variant
from pytest_novelty.reports.as_dict import report_to_dict
from pytest_novelty.reports.terminal import render
from pytest_novelty.results import Report
from pytest_novelty.validation import load_schema


class Judge:
    """Right in nine of ten votes; under ``turned`` a third of the instances goes the other way; under ``silent`` it says nothing."""

    version, uses_prompt, cost_usd_per_call = "3f2a", False, 0.0

    def __call__(self, request: Any) -> Any:
        if request.params.get("p") == "silent":
            return "nothing"
        rng = np.random.default_rng(request.seed)
        turned = request.params.get("p") == "turned" and int(request.instance_id, 16) % 3 == 0
        right = (rng.random() < 0.9) != turned
        if request.protocol == "pointwise":
            return {"novel": right, "score": 5 + 2 * right + float(rng.random())}
        return {"winner": "A" if request.ideas[0].title.startswith("First") == right else "B"}


@pytest.fixture(scope="module")
def suite(make_suite: Callable[..., Suite], make_instance: Callable[..., Any]) -> Callable[..., Suite]:
    def build(
        protocol: str = "pairwise", n: int = 60, names: tuple[str, ...] = ("turned", "idle"), **changes: Any
    ) -> Suite:
        golds = ("x", "x") if protocol == "pairwise" else (NOVEL, NOT_NOVEL)
        made = []
        for k in range(n):
            instance = make_instance(protocol, f"i{k:03}", gold=golds[k % 2], strata={"area": "ab"[k % 2]})
            systems = ("ours", "base") if k % 3 else ("base", "ours")
            ideas = tuple(replace(idea, system=name) for idea, name in zip(instance.ideas, systems, strict=False))
            made.append(replace(instance, ideas=ideas))
        plain = make_suite(protocol, *made, **changes)
        reference = plain.variants["reference"]
        more = {name: Variant(name, replace(reference.axes, params={"p": name}), ("params",)) for name in names}
        single = Variant("single-vote", replace(reference.axes, votes=1), ("votes",))
        return replace(plain, variants={"reference": reference, **more, "single-vote": single})

    return build


@pytest.fixture(scope="module")
def report(suite: Callable[..., Suite]) -> Report:
    made = suite(contrast=Contrast("system", "ours", "base"))
    gates = ["vote_shift[max]<=0.2", "flip_rate[turned]@area:a<=0.9"]
    return evaluate({"myjudge": Judge()}, made, variants=["all"], gates=gates)


def test_it_fits_its_schema(report: Report) -> None:
    found = json.loads(json.dumps(report_to_dict(report), allow_nan=False))
    jsonschema.Draft202012Validator(load_schema("report")).validate(found)
    assert [item["variant"] for item in found["variants"]] == ["idle", "single-vote", "turned"]
    turned = found["variants"][2]
    assert turned["cause"] == "variant"
    assert turned["own_noise_flip_rate"] < 0.15
    assert turned["changed"] == ["params"]
    assert {change["metric"] for change in turned["changes"]} >= {"strict_accuracy", "position_bias"}
    rows = [row for row in found["metrics"] if row["reference"] is not None]
    assert {row["variant"] for row in rows} == {"idle", "turned", "single-vote", "[max]", "[mean]"}
    assert {row["reference"]["variant"] for row in rows} == {"reference"}
    assert found["claims"][0]["least_favourable"] in {"idle", "turned", "reference", "single-vote"}


def test_numbers_do_not_depend_on_what_else_is_computed(report: Report, suite: Callable[..., Suite]) -> None:
    alone = evaluate({"myjudge": Judge()}, suite(), variants=["turned"])
    for name in ("flip_rate", "vote_shift", "null_flip_rate"):
        assert alone.metric(name, variant="turned") == report.metric(name, variant="turned")


@pytest.mark.parametrize("width", [80, 110, 140])
@pytest.mark.parametrize("colour", [False, True])
def test_what_a_person_reads(width: int, colour: bool, report: Report) -> None:
    text = render(report, width=width, colour=colour)
    flat = " ".join(text.split())
    assert "myjudge on made, variants" in flat
    for told in (
        "turned (params): the parameters move it (vote shift ",
        "verdicts, first and second as the suite has them: ",
        "idle (params): no effect found in n = 60; an effect above ",
        "single-vote (votes): same calls: some of the reference's votes; ",
        "gate on variants",
        "vote_shift[max]",
        "flip_rate[turned]",
        "system ours less base, pairs won",
    ):
        assert told in (flat if not colour else " ".join(_plain(text).split())), told
    told = "(left out at 80 columns: null flips; see --novelty-report out.json)"
    assert (told in " ".join(_plain(text).split())) == (width < 100)
    assert all(len(line) <= width for line in _plain(text).splitlines())


def _plain(text: str) -> str:
    import re

    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_the_headline_names_the_worst(report: Report) -> None:
    assert "; other parameters (turned) moves its votes by " in make_headline(report)
    assert " points beyond noise; " in make_headline(report)


def test_the_headline_of_a_steady_judge(suite: Callable[..., Suite]) -> None:
    quiet = evaluate({"myjudge": Judge()}, suite(names=("idle", "idler")), variants=["all"])
    assert "; none of 2 variants is seen to move it; " in quiet.headline
    one = evaluate({"myjudge": Judge()}, suite(names=("idle",)), variants=["idle"])
    assert "; the variant is not seen to move it; " in one.headline


def test_a_silent_variant(suite: Callable[..., Suite]) -> None:
    found = evaluate({"myjudge": Judge()}, suite(names=("silent", "idle")), variants=["all"])
    (item,) = [item for item in found.variants if item.variant == "silent"]
    assert item.sentence == "the parameters take 100 % of the votes away; 100 % of verdicts change"
    (gate,) = found.gates
    assert (gate.gate.text, gate.decision) == ("vote_shift[max]<=0.25", "inconclusive")
    assert "undefined under" in gate.message


def test_ideas_with_labels_and_scores(suite: Callable[..., Suite]) -> None:
    found = evaluate(
        {"myjudge": Judge()}, suite("pointwise", contrast=Contrast("system", "ours", "base")), variants=["turned"]
    )
    text = " ".join(render(found, width=140).split())
    for heading in ("mean F1", "AUROC", "score shift", "ranks turn"):
        assert heading in text
    assert {claim.measure for claim in found.claims} == {"novel share", "mean score"}
    assert found.metric("score_shift", variant="turned").value is not None


# --- estimates by name --------------------------------------------------------------------------------------


def test_estimates_by_name(report: Report) -> None:
    assert report.metric("flip_rate", variant="turned").value == report.metric("max_flip_rate").value
    assert report.metric("flip_rate", variant="turned", stratum="area:a").n == 30
    assert report.metric("strict_accuracy").value != report.metric("strict_accuracy", variant="turned").value
    with pytest.raises(UnknownNameError, match=r"unknown estimate 'flip_rate\[other\]'"):
        report.metric("flip_rate", variant="other")
    with pytest.raises(UnknownNameError, match=r"unknown estimate 'tie_rate\[max\]'"):
        report.metric("tie_rate", variant="max")
    with pytest.raises(UnknownNameError, match="unknown metric 'flips'"):
        report.metric("flips")


def test_judges_against_a_reference(suite: Callable[..., Suite]) -> None:
    judges = {"one": Judge(), "two": Judge(), "three": Judge()}
    found = evaluate(judges, suite(), reference="one")
    assert [(item.first, item.second) for item in found.comparisons] == [("two", "one"), ("three", "one")]
    estimate = found.metric("vote_shift", judge="two", reference="one")
    assert estimate.value == next(item for item in found.comparisons if item.first == "two").vote_shift.value
    with pytest.raises(SettingsError, match="2 estimates of flip_rate"):
        found.metric("flip_rate", reference="one")
    with pytest.raises(UnknownNameError, match="unknown reference judge 'four'"):
        evaluate(judges, suite(), reference="four")


class Sure(Judge):
    """Right in every vote, except under ``turned``."""

    def __call__(self, request: Any) -> Any:
        right = request.params.get("p") != "turned"
        return {"winner": "A" if request.ideas[0].title.startswith("First") == right else "B"}


def test_variants_of_which_the_same_is_said_are_named_together(suite: Callable[..., Suite]) -> None:
    found = evaluate({"sure": Sure()}, suite(n=20, names=("idle", "turned", "idler")), variants=["all"])
    text = render(found, width=140)
    assert text.count("no effect found in n = 20") == 1
    assert "  idle, idler (params): no effect found in n = 20" in text
    assert "  turned (params): the parameters move it" in text


def test_of_many_comparisons_those_of_the_reference_are_told(suite: Callable[..., Suite]) -> None:
    names = tuple(f"v{k}" for k in range(6))
    made = suite("pairwise", 12, names=names)
    text = render(
        evaluate({"a": Sure(), "b": Sure(), "c": Sure()}, made, variants=list(names), reference="a"), width=140
    )
    assert "  b - a: no difference between their votes" in text
    assert "  c - a: no difference between their votes" in text
    assert "b - a [v0]: " not in text
    assert "(12 sentences more, with what would decide, in --novelty-report)" in text
    few = render(evaluate({"a": Sure(), "b": Sure()}, made, variants=["v0"], reference="a"), width=140)
    assert "  b - a [v0]: no difference between their votes" in few
    assert "sentences more" not in few
