"""The cascade under pytest: the same alone and with workers, an auditor by name, and what a wrong one is told."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty.cli import main
from pytest_novelty.data import data_folder

from .making import Lab


def _cascade(report: dict[str, Any]) -> dict[str, Any]:
    (item,) = report["grounding"]
    return {name: (rate["value"], rate["low"], rate["high"]) for name, rate in item["rates"].items()}


def test_the_cascade_of_the_baseline(lab: Lab, dist: str) -> None:
    ran = lab.judge("lexical", "landmarks-grouping", "--novelty-sample=12", dist=dist)
    assert ran.ret == 0
    ran.assert_clean()
    assert "Grounding of lexical on landmarks-grouping, in pairs of papers" in ran.plain
    assert "after mismatch" in ran.plain
    (item,) = ran.report["grounding"]
    assert (item["auditor"], item["weak_auditor"]) == ("lexical", True)
    assert item["rates"]["hallucination_rate"]["value"] == 0  # it quotes what it was shown
    assert ran.metric("pair_f1")["value"] == item["rates"]["f1"]["value"]


def test_numbers_are_the_same_with_workers(lab: Lab) -> None:
    options = ("lexical", "landmarks-similarity", "--novelty-sample=30", "--novelty-auditor=chance")
    alone = lab.judge(*options)
    assert "novelty auditor: chance, free, audits lexical" in alone.out
    together = lab.judge(*options, "--novelty-refresh", dist="-n2")
    assert alone.ret == together.ret == 0
    assert 0 < _cascade(alone.report)["mismatch_rate"][0] < 1
    assert _cascade(together.report) == _cascade(alone.report)
    assert together.report["outcomes"] == alone.report["outcomes"]


def test_a_judge_is_not_audited_by_its_own_family(lab: Lab, dist: str) -> None:
    ran = lab.judge("chance", "landmarks-similarity", "--novelty-auditor=chance", dist=dist)
    assert ran.ret == 4
    ran.assert_clean()
    assert "the judge 'chance' would be audited by its own family" in ran.plain
    told = lab.judge(
        "chance",
        "landmarks-similarity",
        "--novelty-auditor=chance",
        "--novelty-own-family",
        "--novelty-sample=4",
        dist=dist,
    )
    assert told.ret == 0
    assert told.report["grounding"][0]["auditor"] == "chance"


def test_an_unknown_auditor(lab: Lab, dist: str) -> None:
    ran = lab.judge("lexical", "landmarks-similarity", "--novelty-auditor=chanse", dist=dist)
    assert ran.ret == 4
    ran.assert_clean()
    assert "unknown judge 'chanse'. Did you mean 'chance'?" in ran.plain


def test_an_answer_that_breaks_a_rule_is_counted(lab: Lab) -> None:
    lab.judges(
        """
        def judge(request):
            return {"is_similar": True, "evidence_a": "", "evidence_b": None, "reason": "Oh. It is. So."}

        def pytest_novelty_judges():
            return {"judge": judge}
        """
    )
    ran = lab.judge("judge", "landmarks-similarity-full", "--novelty-sample=10")
    assert ran.ret == 0
    assert "judge: 60 answers cited no evidence for a paper of a positive verdict (missing span)" in ran.plain
    assert "judge: 60 answers gave a reason of more than two sentences (long reason)" in ran.plain
    assert ran.metric("missing_evidence_rate")["value"] == 1


BREAKS = """
    import json

    KINDS = ["index out of range", "paper in two groups", "single-member group", "missing span", "long reason", "none"]

    def judge(request):
        kind = KINDS[int(request.instance_id[:6], 16) % 6]
        spans = {{str(place): paper.text.split(". ")[0] + "." for place, paper in enumerate(request.papers, 1)}}
        members = {{"index out of range": [[1, 99]], "paper in two groups": [[1, 2], [2, 3]], "single-member group": [[1]]}}
        groups = []
        for indices in members.get(kind, [[1, 2]]):
            evidence = {{str(index): spans.get(str(index), "") for index in indices}}
            if kind == "missing span":
                del evidence["2"]
            reason = "One. Two. Three." if kind == "long reason" else "Both do."
            groups.append({{"paper_indices": indices, "evidence": evidence, "reason": reason}})
        log(request, kind)
        return {answer}

    def pytest_novelty_judges():
        return {{"judge": judge}}
"""


@pytest.mark.parametrize("answer", ["json.dumps({'groups': groups})", "{'groups': groups}"])
def test_each_rule_of_groups_is_counted_under_its_own_name(lab: Lab, dist: str, answer: str) -> None:
    lab.judges(BREAKS.format(answer=answer))
    ran = lab.judge("judge", "landmarks-grouping", "--novelty-sample=30", dist=dist)
    made = Counter(call[0] for call in ran.calls)
    assert len(made) == 6
    assert made.total() == 180
    broken = {kind: made[kind] for kind in ("index out of range", "paper in two groups", "single-member group")}
    read = {kind: made[kind] for kind in ("missing span", "long reason")}
    (answers,) = ran.report["answers"]
    assert (answers["calls"], answers["no_verdict"], answers["read_all_the_same"]) == (180, broken, read)
    told = " ".join(ran.plain.split())
    for kind, count in broken.items():
        assert f"{count} {kind}" in told.partition("invalid_rate: ")[2].partition("Grounding")[0]
    for kind, count in read.items():
        assert re.search(rf"Finding: judge: {count} answers [^(]*\({kind}\)", told), kind


def test_reports_of_papers_are_compared(lab: Lab) -> None:
    """A judge that begins to make up evidence is a regression, and the run's own report is written."""
    lab.judges(
        """
        def sentence(paper):
            return paper.text.split(". ")[0] + "."

        def judge(request):
            if request.protocol == "entailment":
                return {"supported": True}
            spans = [sentence(paper) for paper in request.papers]
            if (HERE / "invents").exists():
                spans[0] = "Unicorns gallop over purple meadows at noon."
            return {"is_similar": True, "evidence_a": spans[0], "evidence_b": spans[1], "reason": "Both do."}

        judge.uses_prompt = False

        def pytest_novelty_judges():
            return {"judge": judge}
        """
    )
    options = (
        "judge",
        "landmarks-similarity",
        "--novelty-sample=60",
        "--novelty-auditor=judge",
        "--novelty-own-family",
    )
    (lab.path / "then.json").write_text(json.dumps(lab.judge(*options).report))
    (lab.path / "invents").touch()
    ran = lab.judge(*options, "--novelty-refresh", "--novelty-baseline=then.json")
    ran.assert_clean()
    (change,) = ran.report["against"]["changes"]
    (found,) = (row for row in change["metrics"] if row["metric"] == "hallucination_rate")
    assert (found["then"], found["now"], found["worse"]) == (0, 1, True)
    assert found["difference"]["low"] is not None, found
    assert "verified_f1" in ran.report["against"]["regressions"][0]


AUDITED = """
    def judge(request):
        spans = [paper.text.split(". ")[1] + "." for paper in request.papers]
        similar = {{spans[0][0], spans[1][0]}} != {{"W"}}
        return {{"is_similar": similar, "evidence_a": spans[0], "evidence_b": spans[1], "reason": request.instance_id}}

    def auditor(request):
        return {{"supported": True}}

    judge.version = auditor.version = "1"
    judge.family, auditor.family = "one", "other"
    judge.cost_usd_per_call, auditor.cost_usd_per_call = 0.0, 0.05

    def pytest_novelty_judges():
        return {{"judge": judge, "auditor": auditor}}
"""
"""Says that some of the papers are similar, each time for another reason."""


def test_a_missing_audit_takes_no_verdict_with_it(lab: Lab, dist: str) -> None:
    lab.judges(AUDITED.format())
    args = ("landmarks-similarity-full", "--novelty-sample=12", "--novelty-store=kept.sqlite")
    ran = lab.judge("judge", *args)
    assert ran.ret == 0
    verdicts = ran.report["calls"]["made"]
    args = (*args, "--novelty-auditor=auditor", "--novelty-offline")
    none = lab.judge("judge", args[0], "--novelty-sample=1", "--novelty-store=none.sqlite", *args[3:])
    assert "takes 6 calls at about $0" in none.plain
    assert ", what audits them not counted" in none.plain
    ran = lab.judge("judge", *args, "--novelty-missing=warn", dist=dist)
    assert ran.ret == 0
    assert len(ran.report["outcomes"]) == 12
    audits = re.search(
        r"(\d+) audits are not recorded: .* recording them takes \1 calls at about \$([\d.]+)", ran.plain
    )
    assert audits
    assert float(audits[2]) == pytest.approx(0.05 * int(audits[1]))
    assert ran.report["calls"]["reused"] == verdicts
    assert ran.report["grounding"][0]["rates"]["verified_f1"]["lower"] == 0
    ran = lab.judge("judge", *args, dist=dist)
    assert ran.ret == 1
    assert len(ran.report["outcomes"]) == 12
    assert "of judge by auditor are not recorded: its verdict stands" in ran.plain


def test_audits_of_further_auditors_leave_nothing_unchecked(lab: Lab, dist: str) -> None:
    """The word of the first counts: without that of the others only their agreement is not told."""
    other = AUDITED.format().replace('"auditor": auditor', '"auditor": auditor, "second": second')
    lab.judges(
        other + "\n    def second(request):\n        return {'supported': True}\n\n    second.family = 'third'\n"
    )
    args = ("judge", "landmarks-similarity-full", "--novelty-store=kept.sqlite")
    lab.judge(*args, "--novelty-sample=12")
    online = lab.judge(*args, "--novelty-sample=12", "--novelty-auditor=auditor")
    told = online.report["grounding"][0]["rates"]["verified_f1"]
    args = (*args, "--novelty-sample=12", "--novelty-auditor=auditor", "--novelty-auditor=second", "--novelty-offline")
    ran = lab.judge(*args, "--novelty-missing=warn", dist=dist)
    rate = ran.report["grounding"][0]["rates"]["verified_f1"]
    assert (rate["lower"], rate["value"], rate["upper"]) == (told["lower"], told["value"], told["upper"])
    assert told["lower"] == told["upper"]
    said = "no statement is unchecked for want of them: only how far the auditors agree is not told"
    assert re.search(
        rf"\d+ audits are not recorded: offline, and {said}; recording them takes", " ".join(ran.plain.split())
    )
    failing = lab.judge(*args, dist=dist)
    assert failing.ret == 1
    assert f"of judge by second are not recorded: its verdict stands, and {said}" in " ".join(failing.plain.split())
    assert "these statements are unchecked" not in failing.plain


def test_what_the_first_auditor_lacks_is_told_apart(lab: Lab, dist: str) -> None:
    other = AUDITED.format().replace('"auditor": auditor', '"auditor": auditor, "second": second')
    lab.judges(
        other + "\n    def second(request):\n        return {'supported': True}\n\n    second.family = 'third'\n"
    )
    args = ("judge", "landmarks-similarity-full", "--novelty-sample=12", "--novelty-store=kept.sqlite")
    lab.judge(*args)
    args = (*args, "--novelty-auditor=auditor", "--novelty-auditor=second", "--novelty-offline")
    ran = lab.judge(*args, "--novelty-missing=warn", dist=dist)
    found = re.search(
        r"(\d+) audits are not recorded: offline, and what (\d+) of them would check is unchecked",
        " ".join(ran.plain.split()),
    )
    assert found
    assert int(found[1]) == 2 * int(found[2])
    failing = " ".join(lab.judge(*args, dist=dist).plain.split())
    assert "and the statements that lack the word of auditor, which counts, are unchecked" in failing


def test_the_dry_run_counts_audits(lab: Lab) -> None:
    """At most one of each answer that is to come, exactly those of what is stored."""
    lab.judges(AUDITED.format())
    args = ("landmarks-similarity", "--novelty-sample=12", "--novelty-store=kept.sqlite")
    audited = (*args, "--novelty-auditor=auditor")
    told = lab.judge("judge", *audited, "--novelty-dry-run").plain
    assert "at most 72 audits of verdicts to come" in told
    assert "at most 72 to make, at most $3.60 (as the judge declares)" in told
    assert "in all: at most 144 calls to make, $3.60" in told
    told = lab.judge("judge", *audited, "--novelty-dry-run", "--novelty-budget=1").plain
    assert "the budget of $1.00 may be too small" in told
    lab.judge("judge", *args)
    told = lab.judge("judge", *audited, "--novelty-dry-run").plain
    found = re.search(
        r"auditor auditing judge on landmarks-similarity: (\d+) audits of stored verdicts, 0 stored", told
    )
    assert found
    count = int(found[1])
    assert 0 < count < 72
    assert f"in all: {count} calls to make, ${0.05 * count:.2f}" in told
    ran = lab.judge("judge", *audited)
    assert (ran.report["calls"]["made"], ran.report["calls"]["audits"]) == (count, count)
    assert ran.report["calls"]["cost_usd"] == pytest.approx(0.05 * count)
    told = lab.judge("judge", *audited, "--novelty-dry-run").plain
    assert f"{count} audits of stored verdicts, {count} stored, 0 to make, $0" in told


def test_invented_spans_are_shown_with_workers_too(lab: Lab) -> None:
    lab.judges(
        """
        def judge(request):
            return {"is_similar": True, "evidence_a": "Nobody wrote this.", "evidence_b": "Nor this of course.", "reason": "So."}

        judge.version, judge.cost_usd_per_call = "1", 0.0

        def pytest_novelty_judges():
            return {"judge": judge}
        """
    )
    options = ("judge", "landmarks-similarity", "--novelty-sample=8", "--novelty-report=out.md")
    alone, together = lab.judge(*options), lab.judge(*options, "--novelty-refresh", dist="-n2")
    assert alone.report["outcomes"] == together.report["outcomes"]
    assert {outcome["invented"]["failure"] for outcome in together.report["outcomes"]} == {"nowhere"}
    for text in (alone.out, together.out, (lab.path / "out.md").read_text()):
        assert "Evidence that is not in what was shown: judge on landmarks-similarity" in text
        assert "3 instances more" in text
        assert re.search(r"Nobody wrote\s+this|Nor this of\s+course", text)


def test_offline_the_price_is_what_stored_calls_cost(lab: Lab) -> None:
    """Of instances on which nothing is recorded, too: the dry run of the same store says the same."""
    lab.judges(
        """
        def judge(request):
            return {"is_similar": False, "cost_usd": 0.25}

        judge.version = "1"

        def pytest_novelty_judges():
            return {"judge": judge}
        """
    )
    args = ("judge", "landmarks-similarity", "--novelty-votes=1", "--novelty-orders=ab")
    assert lab.judge(*args, "--novelty-sample=3").ret == 0
    told = lab.judge(*args, "--novelty-sample=5", "--novelty-dry-run").plain
    assert "2 to make" in told
    assert "$0.50 (the mean of 3 stored calls)" in told
    told = lab.judge(*args, "--novelty-sample=5", "--novelty-offline", "--novelty-missing=warn").plain
    assert "recording all of them takes 2 calls at about $0.50" in told


def test_a_named_auditor_that_is_left_out_is_announced(lab: Lab) -> None:
    lab.judges(FAMILIES)
    options = ("landmarks-similarity", "--novelty-sample=4", "--novelty-auditor=gem", "--novelty-auditor=five")
    said = "five does not audit judge: of its own family (gpt), which --novelty-own-family would allow"
    ran = lab.judge("judge", *options)
    assert ran.ret == 0
    assert f"novelty auditor: {said}" in ran.plain
    assert f"Note: {said}" in ran.plain
    assert said in ran.report["notes"]
    assert said in lab.judge("judge", *options, "--novelty-dry-run").out.partition("dry run, nothing is asked")[2]
    assert "does not audit" not in lab.judge("judge", *options, "--novelty-own-family").plain
    assert "does not audit" not in lab.judge("other", *options).plain  # it is of another family than both
    assert "does not audit" not in lab.judge("judge", "landmarks-pairwise", *options[1:]).plain  # nobody audits there


FAMILIES = """
    def judge(request):
        spans = [paper.text.split(". ")[1] + "." for paper in request.papers]
        return {"is_similar": True, "evidence_a": spans[0], "evidence_b": spans[1], "reason": "Both do."}

    def other(request):
        return judge(request)

    def gem(request):
        return {"supported": True}

    def five(request):
        return {"supported": False}

    for each, family in ((judge, "gpt"), (other, "acme"), (gem, "gemini"), (five, "gpt")):
        each.version, each.family, each.uses_prompt, each.cost_usd_per_call = "1", family, False, 0.0
    gem.cost_usd_per_call = 0.01
    five.cost_usd_per_call = 0.02

    def pytest_novelty_judges():
        return {"judge": judge, "other": other, "gem": gem, "five": five}
"""
TABLE = '[tool.pytest.ini_options]\nnovelty_auditor = ["gpt = gem", "* = five"]\n'


def test_a_table_in_the_ini_file(lab: Lab, dist: str) -> None:
    """GPT is audited by Gemini, all others by GPT; an option counts before it."""
    lab.judges(FAMILIES)
    (lab.path / "pyproject.toml").write_text(TABLE)
    args = ("landmarks-similarity", "--novelty-judge=other", "--novelty-sample=4")
    ran = lab.judge("judge", *args, dist=dist)
    assert ran.ret == 0
    ran.assert_clean()
    said = "novelty auditor: gem, $0.01 a call, audits judge, family gpt (novelty_auditor in pyproject.toml: gpt=gem)"
    assert dist or said in ran.out
    assert {item["judge"]: item["auditor"] for item in ran.report["grounding"]} == {"judge": "gem", "other": "five"}
    assert {item["judge"]: item["rows"][0]["row"] for item in ran.report["run"]["audits"]} == {
        "judge": "gpt=gem",
        "other": "*=five",
    }
    assert "auditor: gem" in ran.plain
    assert "auditor: five" in ran.plain
    ran = lab.judge("judge", *args, "--novelty-auditor=acme=gem", dist=dist)
    assert {item["judge"]: item["auditor"] for item in ran.report["grounding"]} == {"judge": "gem", "other": "gem"}


def test_what_a_table_cannot_say(lab: Lab, dist: str) -> None:
    lab.judges(FAMILIES)
    args = ("landmarks-similarity", "--novelty-sample=2")
    for option, told in (
        ("gpt=five", "the judge 'judge' would be audited by its own family (gpt): five, as gpt=five says"),
        ("gemni=gem", "unknown family of models in --novelty-auditor: 'gemni'. Did you mean 'gemini'? Known:"),
        ("gpt=", "--novelty-auditor has 'gpt=', which names no auditor"),
    ):
        ran = lab.judge("judge", *args, f"--novelty-auditor={option}", dist=dist)
        assert ran.ret == 4
        ran.assert_clean()
        assert told in ran.plain


def test_rows_for_nobody_and_judges_without_a_row_are_announced(lab: Lab) -> None:
    lab.judges(FAMILIES)
    args = ("landmarks-similarity", "--novelty-judge=other", "--novelty-sample=2", "--novelty-auditor=llama=gem")
    told = lab.judge("judge", *args, "--novelty-auditor=gpt=gem", "--novelty-dry-run").plain
    assert (
        "--novelty-auditor llama=gem is for no judge of this run (the families of this run's judges: acme, gpt)" in told
    )
    assert "lexical, which only compares words, audits other, family acme: nothing says who else is to" in told


def test_the_dry_run_sums_the_audits_of_each_auditor(lab: Lab) -> None:
    lab.judges(FAMILIES)
    args = ("landmarks-similarity", "--novelty-judge=other", "--novelty-sample=2", "--novelty-dry-run")
    told = lab.judge("judge", *args, "--novelty-auditor=gem", "--novelty-auditor=acme=five").plain
    assert "gem auditing judge and other, in all: at most 24 audits to make, at most $0.24" in told
    assert "five auditing other on landmarks-similarity: at most 12 audits" in told
    assert "five auditing other, in all" not in told


SHARED = """
    def judge(request):
        spans = [paper.text.split(". ")[1] + "." for paper in request.papers]
        groups = [
            {"paper_indices": [one, one + 1], "evidence": {str(one): spans[one - 1], str(one + 1): spans[one]}, "reason": "Both do."}
            for one in range(1, len(spans), 2)
        ]
        return {"groups": groups}

    def gem(request):
        with open(HERE / "audits.log", "a") as out:
            out.write(request.dimension + request.evidence_a + request.evidence_b + chr(10))
        if len(request.evidence_a) % 5 == 0:
            raise RuntimeError("down")
        return {"supported": len(request.evidence_a) % 2 == 0}

    def five(request):
        return {"supported": len(request.evidence_b) % 2 == 0}

    for each, family in ((judge, "gpt"), (gem, "gemini"), (five, "five")):
        each.version, each.family, each.uses_prompt, each.cost_usd_per_call = "1", family, False, 0.01

    def pytest_novelty_judges():
        return {"judge": judge, "gem": gem, "five": five}
"""
COUNTS = (
    "planned",
    "audits",
    "audits_failed",
    "reused",
    "made",
    "retried",
    "failed",
    "cost_usd",
    "unpriced",
    "unfinished",
)


def test_statements_of_several_workers_are_audited_and_counted_once(lab: Lab) -> None:
    """A set of papers that is there under two names makes the same statements in two workers."""
    lab.judges(SHARED)
    twice_as_grouping(lab.path)
    log = lab.path / "audits.log"

    def run(*options: str) -> tuple[Any, dict[str, Any], list[str]]:
        log.unlink(missing_ok=True)
        args = ("--novelty-auditor=gem", "--novelty-auditor=five", *options)
        ran = lab.judge("judge", "twice", *args)
        assert ran.ret == 0
        ran.assert_clean()
        counts = {name: round(ran.report["calls"][name], 9) for name in COUNTS}
        return ran.report, counts, sorted(log.read_text().splitlines()) if log.exists() else []

    def parts(report: dict[str, Any]) -> list[Any]:
        return [report[name] for name in ("outcomes", "grounding", "auditors", "findings")]

    alone, counts, asked = run("--novelty-store=alone.sqlite")
    assert len(asked) == len(set(asked)) > 4
    assert 0 < counts["audits_failed"] < counts["audits"] == 2 * len(asked)
    together, *rest = run("--novelty-store=both.sqlite", "-n2")
    assert rest == [counts, asked]
    assert parts(together) == parts(alone)
    for options in ([], ["--novelty-refresh"], ["--novelty-offline", "--novelty-missing=warn"]):
        alone, *expected = run("--novelty-store=alone.sqlite", *options)
        together, *rest = run("--novelty-store=both.sqlite", "-n2", *options)
        assert rest == expected, options
        assert parts(together)[:3] == parts(alone)[:3]
        assert [len(text) for text in together["findings"]] == [len(text) for text in alone["findings"]]


def twice_as_grouping(folder: Path) -> None:
    """A suite whose second half is the first under other names."""
    shipped = data_folder("suites") / "landmarks-grouping"
    rows = [json.loads(line) for line in (shipped / "instances.jsonl").read_text().splitlines()][:6]
    rows += [{**row, "id": f"{row['id']}-again"} for row in rows]
    made = folder / "twice"
    made.mkdir()
    (made / "instances.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (made / "suite.yaml").write_text((shipped / "suite.yaml").read_text().replace("landmarks-grouping", "twice"))


MORTAL = """
    import os, signal

    def judge(request):
        spans = [paper.text.split(". ")[0] + "." for paper in request.papers]
        evidence = {"1": spans[0], "2": spans[1]}
        return {"groups": [{"paper_indices": [1, 2], "evidence": evidence, "reason": "Both do."}]}

    def auditor(request):
        flag = HERE / "died"
        if os.environ.get("PYTEST_XDIST_WORKER") and not flag.exists():
            flag.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return {"supported": True}

    judge.version = auditor.version = "1"
    judge.uses_prompt = auditor.uses_prompt = False
    judge.family, auditor.family = "one", "other"

    def pytest_novelty_judges():
        return {"judge": judge, "auditor": auditor}
"""


def test_a_worker_that_dies_in_an_audit_leaves_nothing_unsaid(lab: Lab) -> None:
    """Others ask about what it was to ask; what none of them does is told."""
    lab.judges(MORTAL)
    twice_as_grouping(lab.path)
    ran = lab.judge("judge", "twice", "--novelty-auditor=auditor", dist="-n2")
    assert (lab.path / "died").exists()
    assert ran.ret == 1  # xdist fails the case that was being judged
    judged = ran.report["outcomes"]
    assert len(judged) == 11
    grounds = [ground for row in judged for vote in row["grounds"] for ground in vote]
    open_ones = [ground for ground in grounds if ground["supported"] is None]
    told = [text for text in ran.report["findings"] if "worker that died" in text]
    assert bool(open_ones) == bool(told), (len(open_ones), told)
    assert len(open_ones) < len(grounds) / 2


BEYOND = """
    def judge(request):
        spans = [paper.text.split(". ")[0] + "." for paper in request.papers]
        return {"is_similar": True, "evidence_a": spans[0], "evidence_b": spans[1], "reason": "Robots paint hulls nightly."}

    judge.version, judge.uses_prompt, judge.family = "1", False, "one"

    def pytest_novelty_judges():
        return {"judge": judge}
"""


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("auditor", [(), ("--novelty-auditor=chance",)], ids=["by words", "asked"])
def test_what_a_cassette_without_texts_cannot_tell_passes_no_gate(
    auditor: tuple[str, ...], lab: Lab, dist: str
) -> None:
    """Labels and evidence are in it; what an auditor would say of a reason is not, and the run does not pass for want of it."""
    lab.judges(BEYOND)
    options = ("judge", "landmarks-similarity", "--novelty-sample=30", "--novelty-gate=macro_f1@point>=0", *auditor)
    whole = lab.judge(*options, dist=dist)
    after = [whole.metric(name)["value"] for name in ("verified_f1", "grounded_f1")]
    assert after[0] < after[1]
    audited, evident = f"verified_f1@point>={sum(after) / 2:.2f}", "hallucination_rate@point<=0.9"
    gates = (f"--novelty-gate={audited}", f"--novelty-gate={evident}")
    assert lab.judge(*options, *gates, dist=dist).decisions()[audited] == "fail"
    store = str(lab.path / ".novelty" / "verdicts.sqlite")
    assert main(["export", "--store", store, "--no-text", "--out", str(lab.path / "c.jsonl")]) == 0
    offline = ("--novelty-offline", "--novelty-store=c.jsonl")
    ran = lab.judge(*options, *gates, *offline, dist=dist)
    assert ran.ret == 1
    ran.assert_clean()
    assert (ran.decisions()[audited], ran.decisions()[evident]) == ("inconclusive", "pass")
    (found,) = [text for text in ran.report["findings"] if "export --no-text" in text]
    statements = [ground for row in ran.report["outcomes"] for vote in row["grounds"] for ground in vote]
    assert int(found.split()[0]) == len(statements) > 0
    said = flat(ran.plain)
    assert said.count("cannot be audited, as the cassette c.jsonl has no texts of them (export --no-text)") == 1
    remedy = "Export again without --no-text, or say --novelty-missing=warn"
    assert f"{audited} is undecided for want of texts, for which pytest fails. {remedy}" in said
    assert f"without which {audited} cannot be decided" in said
    assert "run again" not in said
    foretold = flat(lab.judge(*options, *gates, *offline, "--novelty-dry-run", dist=dist).plain)
    assert f"{' '.join(found.split()[:6])} cannot be audited, as the cassette c.jsonl has no texts of them" in foretold
    assert f"{audited} rests on it; pytest fails where that leaves one undecided. {remedy}" in foretold
    whole_store = lab.judge(*options, *gates, "--novelty-dry-run", dist=dist).plain
    assert "cannot be audited" not in whole_store
    rate = ran.report["grounding"][0]["rates"]["verified_f1"]
    assert (rate["lower"], rate["upper"]) == (0, pytest.approx(after[1]))
    assert ran.metric("accuracy")["value"] == whole.metric("accuracy")["value"]
    assert lab.judge(*options, gates[1], *offline, dist=dist).ret == 0  # what rests on labels and evidence is decided
    warned = lab.judge(*options, *gates, *offline, "--novelty-missing=warn", dist=dist)
    assert warned.ret == 0
    assert f"{audited} is undecided for want of texts. Export again without --no-text Calls:" in flat(warned.plain)


def test_a_gate_fails_the_run_while_its_auditor_is_down(lab: Lab, dist: str) -> None:
    lab.judges(
        """
        def down(request):
            raise ConnectionError("no route")

        down.version, down.protocols, down.family, down.cost_usd_per_call = "1", ("entailment",), "qwen", 0.0

        def pytest_novelty_judges():
            return {"down": down}
        """
    )
    options = ("lexical", "landmarks-similarity", "--novelty-sample=20", "--novelty-auditor=down")
    ran = lab.judge(*options, "--novelty-gate=mismatch_rate<=0.2", dist=dist)
    assert ran.ret == 1
    ran.assert_clean()
    assert "ERROR: undecided, since no auditor gave a verdict on any reason: mismatch_rate<=0.2" in ran.plain
    assert "no route" in ran.plain
    assert lab.judge(*options, "--novelty-gate=recall@point>=0", dist=dist).ret == 0
