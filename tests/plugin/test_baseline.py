"""``--novelty-baseline`` and the Markdown report, alone and with workers."""

from __future__ import annotations

import pytest

from .making import Lab

JUDGES = """
def good(request):
    log(request)
    return right(request)
def bad(request):
    log(request)
    return {"novel": not right(request)["novel"]} if request.sample >= 0 else {}
for judge in (good, bad):
    judge.version, judge.uses_prompt, judge.cost_usd_per_call = judge.__name__, False, 0.5
def pytest_novelty_judges():
    return {"mine": good if (HERE / "good").exists() else bad}
"""


@pytest.fixture
def before(lab: Lab) -> Lab:
    """A folder with a report of a good judge, where the judge is a bad one now."""
    lab.suite(n=20)
    lab.judges(JUDGES)
    (lab.path / "good").write_text("")
    assert lab.judge("mine", "small", "--novelty-report=old.json").ret == 0
    (lab.path / "good").unlink()
    lab.forget_calls()
    return lab


def test_what_changed_is_shown_and_written(before: Lab, dist: str) -> None:
    ran = before.judge("mine", "small", "--novelty-baseline=old.json", "--novelty-report=new.md", dist=dist)
    assert ran.ret == 0
    assert "Worse than old.json: mine on small: accuracy" in ran.plain
    against = ran.report["against"]
    assert against["old"] == "old.json"
    assert against["regressions"][0].startswith("mine on small: accuracy")
    assert against["notes"] == ["mine: another version (good then, bad now)"]
    assert "#### What changed since old.json" in (before.path / "new.md").read_text()


def test_without_a_baseline_nothing_is_said(before: Lab) -> None:
    ran = before.judge("mine")
    assert ran.report["against"] is None
    assert "changed since" not in ran.plain


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--novelty-baseline=absent.json"], "absent.json: cannot be read: No such file or directory"),
        (["--novelty-baseline=small/suite.yaml"], "suite.yaml: is not a report"),
        (["--novelty-baseline=old.json", "--novelty-failures=drop"], "the failure policy (wrong then, drop now)"),
        (["--novelty-baseline=old.json", "--novelty-suite=landmarks-pairwise"], None),
    ],
)
def test_a_baseline_that_cannot_be_is_refused_before_anything_is_asked(
    options: list[str], told: str | None, before: Lab, dist: str
) -> None:
    if told is None:  # another suite of the same name: one instance less
        rows = (before.path / "small" / "instances.jsonl").read_text().splitlines()
        (before.path / "small" / "instances.jsonl").write_text("\n".join(rows[1:]))
        options, told = options[:1], "suite small 1 then, 1 now (instances: 1 removed (i000))"
    ran = before.judge("mine", "small", *options, dist=dist)
    assert ran.ret == 4
    assert told in ran.said
    assert before.calls_made() == 0


def test_suites_of_marks_are_compared_at_the_end(before: Lab) -> None:
    """They are known late: what was judged is reported, and the run fails because what was asked for is missing."""
    before.suite("late", n=6)
    before.test_file(
        """
        import pytest
        @pytest.mark.novelty(suite="late")
        def test_own(novelty_case):
            novelty_case.outcome()
        """
    )
    ran = before.pytest(
        "test_own.py", "--novelty-judge=mine", "--novelty-baseline=old.json", "--novelty-report=report.json"
    )
    assert ran.ret == 1
    assert (
        "ERROR: this run cannot be compared with old.json, which differs in the suites (small then, late now)"
        in ran.plain
    )
    assert ran.report["against"] is None


def test_a_dry_run_needs_no_comparison(before: Lab) -> None:
    assert before.judge("mine", "small", "--novelty-baseline=old.json", "--novelty-dry-run").ret == 0
