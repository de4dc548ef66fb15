"""The profile as-published under pytest: its block, its option and ini key, what is refused, the same alone and with workers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from .making import Lab, Ran

JIG = "We fold paper cranes with a spring-\nloaded jig. The jig keeps every crease within one millimetre3, even on thick stock."
BOATS = "Boats of paper are folded by hand in the dark of the harbour."

JUDGES = """
    SPANS = ["We fold paper cranes with a spring-loaded jig.", "The jig keeps no crease within one millimetre, even on thick stock.",
             "Origami robots were trained with reinforcement learning.", ""]

    def judge(request):
        cranes = 0 if "Cranes" in request.papers[0].title else 1
        number = int(request.papers[cranes].title.split()[1])
        if number == 4 and request.sample == 0:
            return "no verdict"
        spans = [SPANS[(number + request.sample) % 4], request.papers[1 - cranes].text]
        spans = spans if cranes == 0 else spans[::-1]
        return {"is_similar": number != 3, "evidence_a": spans[0], "evidence_b": spans[1], "reason": "ok" if number else "beyond"}

    def auditor(request):
        return {"supported": request.reason == "ok"}

    judge.uses_prompt = auditor.uses_prompt = False
    judge.family, auditor.family = "one", "other"
    judge.cost_usd_per_call, auditor.cost_usd_per_call = 0.0, 0.5

    def pytest_novelty_judges():
        return {"judge": judge, "auditor": auditor}
"""


def write(lab: Lab, *, gates: tuple[str, ...] = (), **head: Any) -> None:
    """Six instances of the jig in two dimensions; the judge is written, too."""
    rows = [
        {
            "id": f"s{number}",
            "papers": [
                {"id": "a", "title": f"Cranes {number}", "abstract": JIG},
                {"id": "b", "title": f"Boats {number}", "abstract": BOATS},
            ],
            "dimension": ("method", "task")[number % 2],
            "gold": number not in (3, 5),
        }
        for number in range(6)
    ]
    suite = {
        "format": "novelty-suite/1",
        "name": "jig",
        "version": "1",
        "protocol": "similarity",
        "label_kind": "construction",
        "gates": list(gates),
        "instances": rows,
        **head,
    }
    folder = lab.path / "jig"
    folder.mkdir(exist_ok=True)
    (folder / "suite.yaml").write_text(json.dumps(suite, indent=1))
    lab.judges(JUDGES)


def block(ran: Ran) -> list[str]:
    """The lines of the block."""
    lines = ran.out.splitlines()
    start = next(place for place, line in enumerate(lines) if line.startswith("By the release's rules, not ours"))
    end = next((place for place, line in enumerate(lines[start:], start) if not line.strip()), len(lines))
    return lines[start:end]


def test_the_block_stands_by_itself_and_says_what_differs(lab: Lab, dist: str) -> None:
    write(lab, profile="as-published")
    ran = lab.judge("judge", "jig", "--novelty-auditor=auditor", "--novelty-report=out.md", dist=dist)
    assert ran.ret == 1  # an answer that is no verdict
    ran.assert_clean()
    lines = block(ran)
    assert lines[0] == "By the release's rules, not ours (profile as-published): judge on jig"
    assert lines[1].split() == ["as", "published", "of", "%", "sd", "per", "sample", "ours", "%", "differs", "in"]
    (found,) = (line.split() for line in lines if line.startswith("hallucination_tp"))
    # By the release one of four spans is made up, and the empty one has another beside it.
    assert (found[1], found[2], found[-2:]) == ("all", "33.3", ["matcher,", "empty"])
    assert "  matcher: 4-grams, of all that the suite has of a paper (ours: aligned, with" in lines
    rows = {(row["name"], row["dimension"]): row for row in ran.report["published"][0]["figures"]}
    assert rows["hallucination_tp", None]["per_sample"] == [0.25, 0.5, 0.25]
    assert rows["f1", "method"]["value"] == 1
    assert "nothing is gated on its figures" in lines[-1]
    assert "jig 1, 6 instances, profile as-published, 36 calls" in ran.out
    assert "by the release's rules (as-published) its raw F1 is" in " ".join(ran.plain.split())
    assert ran.report["run"]["profile"] == "as-published"
    written = (lab.path / "out.md").read_text()
    assert "<summary>By the release's rules (profile as-published), not ours</summary>" in written
    assert "hallucination_tp" in written


def test_figures_are_the_same_with_workers(lab: Lab) -> None:
    write(lab, profile="as-published")
    alone = lab.judge("judge", "jig", "--novelty-auditor=auditor")
    together = lab.judge("judge", "jig", "--novelty-auditor=auditor", "--novelty-refresh", dist="-n2")
    assert together.report["published"] == alone.report["published"]
    assert block(together) == block(alone)
    assert len(alone.report["published"][0]["figures"]) > 20


def test_the_option_wins_over_the_ini_file_and_that_over_the_suite(lab: Lab) -> None:
    write(lab)
    assert lab.judge("judge", "jig").report["published"] == []
    assert len(lab.judge("judge", "jig", "--novelty-profile=as-published").report["published"]) == 1
    lab.ini("novelty_profile = as-published")
    assert lab.judge("judge", "jig").report["run"]["profile"] == "as-published"
    told = lab.judge("judge", "jig", "--novelty-profile=default")
    assert (told.report["published"], told.report["run"]["profile"]) == ([], "default")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--novelty-profile=published",), "--novelty-profile is 'published'. Choose one of default, as-published"),
        (
            ("--novelty-profile=as-published", "--novelty-suite=landmarks-pairwise"),
            "the suite landmarks-pairwise cannot be scored as-published: profile is as-published, and no published rules are known "
            "for pairwise. Protocols with published rules: similarity, grouping",
        ),
        (
            ("--novelty-profile=as-published", "--novelty-gate=micro_f1>=0.5"),
            "the gate 'micro_f1>=0.5' rests on micro_f1, a figure of the release (profile as-published), which has no interval. "
            "Gate ours: pair_f1",
        ),
    ],
)
def test_what_cannot_be_is_refused(lab: Lab, dist: str, options: tuple[str, ...], said: str) -> None:
    write(lab)
    ran = lab.judge("judge", "jig", *options, dist=dist)
    assert ran.ret == 4
    ran.assert_clean()
    assert said in " ".join(ran.plain.split())


def test_a_suite_of_another_protocol_is_refused_with_its_line(lab: Lab, dist: str) -> None:
    lab.suite("small", n=2, profile="as-published")
    lab.judges(JUDGES)
    ran = lab.judge("judge", "small", dist=dist)
    assert ran.ret == 4
    ran.assert_clean()
    assert "small/suite.yaml:1: profile is as-published, and no published rules are known for pointwise" in ran.plain


def test_reports_of_different_profiles_are_not_compared(lab: Lab, dist: str) -> None:
    write(lab)
    (lab.path / "then.json").write_text(json.dumps(lab.judge("judge", "jig").report))
    ran = lab.judge("judge", "jig", "--novelty-profile=as-published", "--novelty-baseline=then.json", dist=dist)
    assert ran.ret == 4
    ran.assert_clean()
    assert "the profile of jig (default then, as-published now)" in " ".join(ran.plain.split())


def test_the_dry_run_counts_what_the_release_has_audited(lab: Lab) -> None:
    """Of verdicts to come a statement with the spans as the source has them, and one with them as they are quoted."""
    write(lab)
    audited = ("jig", "--novelty-auditor=auditor", "--novelty-dry-run")
    told = lab.judge("judge", *audited).plain
    assert "at most 36 audits of verdicts to come" in told, told
    told = lab.judge("judge", *audited, "--novelty-profile=as-published").plain
    assert "at most 72 audits of verdicts to come" in told, told
    lab.judge("judge", "jig")
    told = lab.judge("judge", *audited, "--novelty-profile=as-published").plain
    ran = lab.judge("judge", *audited[:2], "--novelty-profile=as-published")
    assert f"{ran.report['calls']['audits']} audits of stored verdicts, 0 stored" in told
    assert ran.report["calls"]["audits"] > lab.judge("judge", *audited[:2]).report["calls"]["audits"] > 0
