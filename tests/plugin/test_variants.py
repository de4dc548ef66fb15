"""Variants under pytest: what is asked under each, what is skipped and says so, and what users add to a suite."""

from __future__ import annotations

from collections import Counter

import pytest

from .making import Lab, Ran

_JUDGES = """
    def judge(request):
        log(request)
        return right(request)

    def own(request):
        log(request, "own")
        return right(request)
    own.uses_prompt = False
    own.ignores = ("effort",)

    def pytest_novelty_judges():
        return {"judge": judge, "own": own}
"""

_VARIANTS = {
    "P2": {"prompt": "pointwise/p2"},
    "low": {"effort": "low"},
    "single-vote": {"votes": 1},
    "many": {"votes": 4},
    "bare": {"related_work": False},
    "plan": {"format": "plan"},
}

_PROMPT = """format: novelty-prompt/1
name: mine
version: "1"
protocol: pointwise
messages: [{role: user, content: "MINE {{ idea.text }}"}]
output: {type: object, properties: {novel: {type: boolean}}, required: [novel]}
"""


@pytest.fixture
def ready(lab: Lab) -> Lab:
    """A suite without earlier works or plans, so that two of its variants show nothing else than the reference."""
    lab.judges(_JUDGES)
    lab.suite(n=4, variants=_VARIANTS, defaults={"votes": 2, "related_work": True}, gates=["accuracy@point>=0.6"])
    return lab


def _asked(ran: Ran, judge: str = "judge") -> dict[str, int]:
    return dict(Counter(variant for name, _, variant, _, _ in ran.calls if name == judge))


def _skipped(ran: Ran) -> dict[tuple[str, str], str]:
    return {(item["judge"], item["variant"]): item["reason"] for item in ran.report["run"]["skipped"]}


_SAME = "would be shown the same as in the reference"
_NO_PLAN = "cannot be shown it (the instance 'i000' has no rendering 'plan')"


def test_only_the_reference_is_asked_unless_more_is_wished(ready: Lab) -> None:
    ran = ready.judge()
    assert (ran.ret, _asked(ran)) == (0, {"reference": 8})
    assert _skipped(ran) == {}


def test_all_variants(ready: Lab, dist: str) -> None:
    ran = ready.judge("judge own", "small", "--novelty-variant=all", dist=dist)
    assert ran.ret == 0, ran.said
    ran.assert_clean()
    assert _asked(ran) == {"reference": 8, "P2": 8, "low": 8, "many": 16}
    assert _asked(ran, "own") == {"reference": 8, "many": 16}
    assert _skipped(ran) == {
        ("judge", "bare"): _SAME,
        ("own", "bare"): _SAME,
        ("judge", "plan"): _NO_PLAN,
        ("own", "plan"): _NO_PLAN,
        ("own", "P2"): "has a prompt of its own",
        ("own", "low"): "ignores effort",
    }
    for told in (
        "own has a prompt of its own, variant P2 of small skipped",
        f"judge {_SAME}, variant bare of small skipped",
    ):
        assert f"novelty: {told}" in ran.plain
    cases = {(row["judge"], row["variant"]) for row in ran.report["outcomes"]}
    assert cases == {("judge", "reference"), ("judge", "P2"), ("judge", "low"), ("judge", "many"), ("own", "reference"), ("own", "many"), ("judge", "single-vote"), ("own", "single-vote")}  # fmt: skip
    assert ran.counts()["passed"] == 4 * 6 + 2


def test_fewer_votes_make_no_cases_and_no_calls(ready: Lab, dist: str) -> None:
    ran = ready.judge("judge", "small", "--novelty-variant=single-vote", dist=dist)
    assert (ran.ret, _asked(ran)) == (0, {"reference": 8})
    assert ran.report["run"]["suites"][0]["variants"] == ["reference", "single-vote"]
    assert ran.report["calls"]["planned"] == 8
    assert ran.counts() == {"passed": 5}


def test_votes_of_an_option_leave_a_variant_its_own(ready: Lab, dist: str) -> None:
    options = ["--novelty-variant=single-vote", "--novelty-variant=many", "--novelty-variant=P2"]
    ran = ready.judge("judge", "small", "--novelty-votes=1", *options, dist=dist)
    assert _asked(ran) == {"reference": 4, "P2": 4, "many": 16}
    assert _skipped(ran) == {("judge", "single-vote"): "would be asked nothing else than in the reference"}


@pytest.mark.parametrize("option", ["--novelty-variant=plan", "--novelty-gate=tie_rate[plan]<=0.5"])
def test_a_named_variant_that_cannot_be_shown_is_an_error(ready: Lab, option: str, dist: str) -> None:
    ran = ready.judge("judge", "small", option, dist=dist)
    assert (ran.ret, ran.calls) == (4, [])
    ran.assert_clean()
    assert "instance 'i000': the idea 'i000' has no rendering 'plan', which the variant 'plan' shows" in ran.plain


def test_a_gate_on_what_is_skipped_is_not_passed(ready: Lab, dist: str) -> None:
    ran = ready.judge("own", "small", "--novelty-gate=tie_rate[P2]@point<=1", dist=dist)
    gate = ran.gate("tie_rate[P2]@point<=1")
    assert gate["decision"] == "not enforced"
    assert "the variant P2 is skipped: own has a prompt of its own" in gate["message"]


def test_what_a_judge_may_not_ignore(lab: Lab) -> None:
    lab.suite()
    lab.judges("""
        def judge(request):
            return right(request)
        judge.ignores = ("prompt",)
        def pytest_novelty_judges():
            return {"judge": judge}
    """)
    ran = lab.judge()
    assert ran.ret == 4
    ran.assert_clean()
    assert "the judge 'judge' declares ignores = ('prompt',). Name some of effort, temperature, params" in ran.said


# --- what users add -------------------------------------------------------------------------------------------

_EXTENSION = """format: novelty-suite/1
extends: small
variants:
  mine: {prompt: prompts/mine.yaml}
  hot: {temperature: 1}
gates: ["accuracy[mine]@point>=0.6"]
"""


@pytest.fixture
def extended(ready: Lab) -> Lab:
    (ready.path / "prompts").mkdir()
    (ready.path / "prompts" / "mine.yaml").write_text(_PROMPT)
    (ready.path / "more.yaml").write_text(_EXTENSION)
    ready.judges("""
        def judge(request):
            log(request, "mine" if request.messages[-1]["content"].startswith("MINE") else "judge")
            return right(request)

        def pytest_novelty_judges():
            return {"judge": judge}
    """)
    return ready


def test_a_file_adds_variants_to_a_suite(extended: Lab, dist: str) -> None:
    ran = extended.judge("judge", "more.yaml", "--novelty-variant=mine", "--novelty-variant=hot", dist=dist)
    assert ran.ret == 0, ran.said
    assert (_asked(ran), _asked(ran, "mine")) == ({"reference": 8, "hot": 8}, {"mine": 8})
    assert ran.decisions() == {"accuracy@point>=0.6": "pass", "accuracy[mine]@point>=0.6": "pass"}
    assert "novelty-suites::test_novelty[small-i000-judge-mine]" in extended.judge(
        "judge", "more.yaml", "--novelty-variant=mine", "--collect-only", "-q"
    ).out  # fmt: skip
    again = extended.judge("judge", "small", dist=dist)
    assert (again.ret, again.calls) == (0, [])  # the suite's own run finds the verdicts of its reference


def test_a_file_in_ini(extended: Lab, monkeypatch: pytest.MonkeyPatch, dist: str) -> None:
    extended.ini("novelty_suite = more.yaml", "novelty_variant = mine", "novelty_report = report.json")
    (extended.path / "deep").mkdir()
    monkeypatch.chdir(extended.path / "deep")
    ran = extended.pytest("--novelty-judge=judge", dist=dist)
    assert ran.ret == 0, ran.said
    assert set(ran.outcomes(variant="mine").values()) == {"correct"}


def test_a_file_in_a_mark(extended: Lab, dist: str) -> None:
    extended.test_file("""
        import pytest

        @pytest.mark.novelty("more.yaml", variants=["mine", "single-vote"])
        def test_it(novelty_case):
            assert novelty_case.variant.name in ("reference", "mine")
            novelty_case.check()
    """)
    ran = extended.judge("judge", "", "test_own.py", dist=dist)
    assert (ran.ret, ran.counts()) == (0, {"passed": 8 + 2})


def test_a_file_that_is_wrong(extended: Lab, dist: str) -> None:
    (extended.path / "more.yaml").write_text(_EXTENSION.replace("prompts/mine.yaml", "prompts/mine.yml"))
    ran = extended.judge("judge", "more.yaml", dist=dist)
    assert (ran.ret, ran.calls) == (4, [])
    ran.assert_clean()
    assert f"{extended.path / 'more.yaml'}:4: unknown prompt 'prompts/mine.yml'" in ran.plain


# --- own ideas ------------------------------------------------------------------------------------------------


def test_a_suite_of_own_ideas_runs(lab: Lab, dist: str) -> None:
    from pytest_novelty.cli import main

    lab.judges("""
        def judge(request):
            log(request)
            return {"winner": "A"}

        def pytest_novelty_judges():
            return {"judge": judge}
    """)
    (lab.path / "ideas").mkdir()
    for number in range(6):
        (lab.path / "ideas" / f"{number}.md").write_text(f"# Number {number}\n\nIdea number {number}.\n")
    assert main(["suite", "new", "--from", "ideas", "--design", "triads", "--sample", "9"]) == 0
    ran = lab.judge("judge", "ideas-pairwise", "--novelty-variant=all", dist=dist)
    assert ran.ret == 0, ran.said
    ran.assert_clean()
    assert _asked(ran) == dict.fromkeys(("reference", "P1", "P2", "P3", "P4", "P5"), 9 * 6)
    assert len(ran.outcomes(variant="P3")) == 9
    assert set(ran.outcomes().values()) == {"unlabelled"}
    assert ran.metric("tie_rate")["value"] == 1.0
