"""What is told of auditors is told of each dimension and stratum, too: against labels, and among each other."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_novelty import evaluate
from pytest_novelty.between_runs.reading import read_report
from pytest_novelty.metrics.agreement import AuditorAgreement, Validation
from pytest_novelty.metrics.auditors import Auditors
from pytest_novelty.model import Axes, Conclusion, Idea, Instance, Request, Suite, Variant
from pytest_novelty.reports.markdown import report_to_markdown
from pytest_novelty.reports.terminal import render
from pytest_novelty.results import Report
from pytest_novelty.validation import load_schema
from pytest_novelty.verdicts import SIMILAR, SUPPORTED, UNSUPPORTED
from tests.unit.test_auditing import auditor

GOLD = "ssssuuuu" + "ssuuuu"  # eight reasons on tasks, six on methods
ONE = (3, 4, 5, 6, 10)
"""What the auditor called one rejects: of tasks three of four that people reject and one more, of methods one of four."""
TWO = (4, 5, 6, 7, 8, 9, 10, 11, 12, 13)
"""What the other rejects: all that people do of tasks, and every method."""


def reasons(dimensions: tuple[str, str] = ("task", "method")) -> Suite:
    instances = []
    for number, gold in enumerate(GOLD):
        strata = {"source": "ab"[number % 2], "row": f"r{number}", "licence": "CC0"}
        strata |= {"year": "2020"} if number < 4 else {}
        dimension = dimensions[number >= 8]
        asked = Conclusion(SIMILAR, (f"Line {number}.", "Line."), f"Reason {number}.")
        label = SUPPORTED if gold == "s" else UNSUPPORTED
        instances.append(
            Instance(
                f"e{number:02}",
                (),
                label,
                dimension=dimension,
                conclusion=asked,
                strata={**strata, "dimension": dimension},
            )
        )
    variants = {"reference": Variant("reference", Axes("entailment/reference", votes=1))}
    return Suite("reasons", "1", "entailment", "experts", tuple(instances), variants, "0" * 32, Path("r/suite.yaml"))


def rejects(numbers: tuple[int, ...], silent: tuple[int, ...] = ()) -> Any:
    def say(request: Request) -> dict[str, Any] | str:
        number = int(request.reason.split()[1].strip("."))
        return "" if number in silent else {"supported": number not in numbers}

    return auditor(say)


def run(suite: Suite, *names: str, **options: Any) -> Report:
    known = {"one": rejects(ONE), "two": rejects(TWO), "shy": rejects(ONE, silent=(8, 9, 10, 11, 12, 13))}
    return evaluate({name: known[name] for name in names}, suite, **options)


def table(found: Validation) -> tuple[int, int, int, int]:
    """Rejected by both, by the auditor alone, by people alone, by nobody."""
    both = ((UNSUPPORTED, UNSUPPORTED), (UNSUPPORTED, SUPPORTED), (SUPPORTED, UNSUPPORTED), (SUPPORTED, SUPPORTED))
    return tuple(found.table[cell] for cell in both)  # type: ignore[return-value]


def figures(found: Validation) -> list[float | None]:
    return [each.value for each in (found.agreement, found.kappa, found.precision, found.recall, found.f1)]


def test_an_auditor_against_labels_within_strata() -> None:
    (item,) = run(reasons(), "one").auditors
    found = item.validations["one"]
    # 3 + 1 rejected by both, 1 by the auditor alone, 1 + 3 by people alone, 3 + 2 by nobody
    assert table(found) == (4, 1, 4, 5)
    assert figures(found) == pytest.approx(
        [9 / 14, 32 / 102, 4 / 5, 4 / 8, 8 / 13]
    )  # chance: 5/14 * 8/14 + 9/14 * 6/14 = 94/196
    # what is one value, or too many of them, says nothing
    assert {name: list(parts) for name, parts in found.strata.items()} == {
        "dimension": ["method", "task"],
        "source": ["a", "b"],
        "year": ["2020"],
    }
    task, method = found.strata["dimension"]["task"], found.strata["dimension"]["method"]
    assert table(task) == (3, 1, 1, 3)
    assert figures(task) == pytest.approx([6 / 8, 0.5, 3 / 4, 3 / 4, 6 / 8])  # chance: 1/2
    assert (task.agreement.n, task.agreement.method) == (8, "Wilson")
    assert (task.agreement.low, task.agreement.high) == (
        pytest.approx(0.4093, abs=5e-5),
        pytest.approx(0.9285, abs=5e-5),
    )
    assert table(method) == (1, 0, 3, 2)
    assert figures(method) == pytest.approx([3 / 6, 2 / 11, 1, 1 / 4, 2 / 5])  # chance: 1/6 * 4/6 + 5/6 * 2/6 = 7/18
    assert [part.agreement.value for part in found.strata["source"].values()] == pytest.approx([6 / 7, 3 / 7])
    year = found.strata["year"]["2020"]  # people support all four, the auditor three of them
    assert table(year) == (0, 1, 0, 3)
    assert figures(year) == [0.75, 0.0, 0.0, None, 0.0]
    assert year.recall.note == "0 of 0"


def test_an_opinion_that_is_lacking_is_told_where_it_lacks() -> None:
    (item,) = run(reasons(), "shy").auditors
    dimensions = item.validations["shy"].strata["dimension"]
    assert dimensions["task"].agreement.value == 0.75
    assert (dimensions["task"].agreement.note, dimensions["task"].agreement.n) == ("", 8)
    assert (dimensions["method"].agreement.value, dimensions["method"].kappa.value) == (None, None)
    assert dimensions["method"].agreement.note == "6 of 6 items without an opinion of each left out"


def test_a_stratum_has_the_figures_that_a_gate_on_it_has() -> None:
    """Of the same answers the interval is the same, too."""
    gates = [f"{metric}@dimension:method>=0.1" for metric in ("kappa", "precision", "recall", "f1")]
    report = run(reasons(), "one", gates=gates)
    found = report.auditors[0].validations["one"].strata["dimension"]["method"]
    for name in ("kappa", "precision", "recall", "f1"):
        (gate,) = (each for each in report.gates if each.gate.metric == name and each.gate.stratum)
        told = getattr(found, name)
        assert (told.value, told.low, told.high) == pytest.approx((gate.value, gate.low, gate.high)), name


def agreement_of(item: Auditors) -> AuditorAgreement:
    assert item.agreement is not None
    return item.agreement


def test_judges_among_each_other_within_strata() -> None:
    (item,) = run(reasons(), "one", "two").auditors
    found, pair = agreement_of(item), ("one", "two")
    assert found.agreement[pair].value == pytest.approx(7 / 14)
    task, method = found.strata["dimension"]["task"], found.strata["dimension"]["method"]
    # of tasks they differ on e3 and e7, and each rejects a half; Fleiss' chance is that as well
    values = [task.agreement[pair].value, task.kappa[pair].value, task.all_agree.value, task.fleiss.value]
    assert values == pytest.approx([6 / 8, 0.5, 6 / 8, 0.5])
    # of methods one rejects one of six, two all: chance is 1/6, Fleiss' (7/12)^2 + (5/12)^2 = 74/144
    values = [method.agreement[pair].value, method.kappa[pair].value, method.all_agree.value, method.fleiss.value]
    assert values == pytest.approx([1 / 6, 0, 1 / 6, (24 - 74) / (144 - 74)])
    assert item.validations["two"].strata["dimension"]["method"].f1.value == pytest.approx(8 / 10)


def papers_suite() -> Suite:
    instances = []
    for number in range(6):
        pair = tuple(
            Idea(f"p{number}{name}", f"Boat {number}{name}", f"Boat {number}{name} burns kelp. It is slow.")
            for name in "xy"
        )
        strata = {"source": "ab"[number >= 2]}
        instances.append(Instance(f"i{number}", pair, SIMILAR, dimension="method", strata=strata))
    variants = {"reference": Variant("reference", Axes("similarity/reference", votes=1, orders="ab"))}
    return Suite("boats", "1", "similarity", "experts", tuple(instances), variants, "0" * 32, Path("b/suite.yaml"))


def cites(request: Request) -> dict[str, Any]:
    spans = [paper.text.split(". ")[0] + "." for paper in request.papers]
    return {"is_similar": True, "evidence_a": spans[0], "evidence_b": spans[1], "reason": "Each burns kelp."}


cites.uses_prompt = False  # type: ignore[attr-defined]


def panel() -> Report:
    """Two statements of papers of the one source, four of the other; of those the second auditor rejects one."""
    lax = auditor(lambda request: {"supported": True})
    strict = auditor(lambda request: {"supported": "Boat 5" not in request.evidence_a})
    return evaluate({"judge": cites}, papers_suite(), auditor={"lax": lax, "strict": strict})


def test_auditors_of_a_judge_among_each_other_within_strata() -> None:
    (item,) = panel().auditors
    found, pair = agreement_of(item), ("lax", "strict")
    assert (found.agreement[pair].value, found.agreement[pair].n) == (pytest.approx(5 / 6), 6)
    assert {name: list(parts) for name, parts in found.strata.items()} == {
        "dimension": ["method"],
        "source": ["a", "b"],
    }
    a, b = found.strata["source"].values()
    assert (a.agreement[pair].value, a.agreement[pair].n, a.kappa[pair].value) == (1.0, 2, None)
    assert (b.agreement[pair].value, b.agreement[pair].n, b.kappa[pair].value) == (0.75, 4, 0.0)  # chance: 3/4
    assert b.fleiss.value == pytest.approx(-1 / 7)  # chance: (7/8)^2 + (1/8)^2 = 50/64


def test_the_report_in_json_tells_them() -> None:
    for report in (run(reasons(), "one", "two"), run(reasons(), "one"), panel()):
        written = json.loads(json.dumps(report.to_dict(), allow_nan=False))
        jsonschema.Draft202012Validator(load_schema("report")).validate(written)
    (item,) = written["auditors"]
    assert item["strata"]["source"]["b"]["pairs"][0]["judges"] == ["lax", "strict"]
    assert item["strata"]["source"]["b"]["pairs"][0]["agreement"]["value"] == 0.75
    assert item["strata"]["source"]["b"]["all_agree"]["n"] == 4
    both = json.loads(json.dumps(run(reasons(), "one", "two").to_dict()))["auditors"][0]
    assert [validation["judge"] for validation in both["validations"]] == ["one", "two"]
    method = both["validations"][0]["strata"]["dimension"]["method"]
    assert (method["recall"]["value"], method["recall"]["n"]) == (0.25, 4)
    assert method["table"] == {
        "supported": {"supported": 2, "unsupported": 3},
        "unsupported": {"supported": 0, "unsupported": 1},
    }
    assert both["strata"]["dimension"]["task"]["fleiss_kappa"]["value"] == pytest.approx(0.5)
    alone = json.loads(json.dumps(run(reasons(), "one").to_dict()))["auditors"][0]
    assert (alone["strata"], list(alone["validations"][0]["strata"])) == ({}, ["dimension", "source", "year"])


def test_a_report_of_an_earlier_version_is_read() -> None:
    data = json.loads(json.dumps(run(reasons(), "one", "two").to_dict()))
    del data["auditors"][0]["strata"]
    for validation in data["auditors"][0]["validations"]:
        del validation["strata"]
    read_report(data, "then")


def rows_of(report: Report, name: str) -> list[str]:
    block = render(report, width=140).partition(name)[2].partition("\n  precision, recall")[0]
    return [" ".join(line.split()) for line in block.splitlines()[1:]]


def test_a_person_reads_a_line_of_each_dimension() -> None:
    report = run(reasons(), "one", "two")
    heading, *rows = rows_of(report, "against its labels")
    assert heading == "auditor agrees kappa precision recall F1 n"
    assert [row.split(" %")[0] for row in rows] == [
        "one 64",
        "on method 50",
        "on task 75",
        "two 86",
        "on method 67",
        "on task 100",
    ]
    assert rows[2].startswith("on task 75 % [41, 93] 0.50 [")
    assert [row.split()[-1] for row in rows] == ["14", "6", "8"] * 2
    assert "| on method | 50 % " in report_to_markdown(report)


def test_of_one_dimension_the_line_of_all_is_enough() -> None:
    _, *rows = rows_of(run(reasons(("task", "task")), "one"), "against its labels")
    assert [row.split(" %")[0] for row in rows] == ["one 64"]
