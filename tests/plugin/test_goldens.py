"""Golden verdicts under pytest: recorded by the controller in one step, compared in every later run, and the cause told."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

import pytest

from .making import Lab, Ran

_JUDGES = """
    def judge(request):
        log(request)
        return right(request)
    def other(request):
        log(request, "other")
        return {"answer": json.dumps(right(request)), "model": (HERE / "served").read_text() if (HERE / "served").exists() else None}
    judge.version = other.version = "1"
    judge.deterministic = True
    def pytest_novelty_judges():
        return {"judge": judge, "other": other}
"""
_TURNED = "\n    right = lambda request: {'novel': not is_new(request.idea)}\n"
UPDATE = ("-p", "syrupy", "--snapshot-update")


@pytest.fixture(autouse=True)
def _judges(lab: Lab) -> None:
    lab.judges(_JUDGES)
    lab.suite(n=8)


def file_of(lab: Lab, judge: str = "judge", suite: str = "small") -> Path:
    return lab.path / "golden" / f"{suite}.{judge}.txt"


def rows(path: Path) -> dict[str, list[str]]:
    lines = path.read_text().splitlines()
    return {line.split("\t")[0]: line.split("\t")[1:] for line in lines if not line.startswith("#")}


def drift(ran: Ran, judge: str = "judge") -> dict[str, Any]:
    found = [item for item in ran.report["drift"] if item["judge"] == judge]
    assert len(found) == 1, ran.said
    only: dict[str, Any] = found[0]
    return only


def edit(lab: Lab, name: str, before: str, after: str) -> None:
    path = lab.path / name
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))


# --- record and compare -------------------------------------------------------------------------------------


def test_record_then_compare(lab: Lab, dist: str) -> None:
    first = lab.judge("judge other", "small", *UPDATE, dist=dist)
    assert first.ret == 0, first.said
    assert "golden verdicts written: golden/small.judge.txt (8 added)" in first.plain
    assert rows(file_of(lab))["i001"][:2] == ["novel", "2:0"]
    assert len(rows(file_of(lab))) == len(rows(file_of(lab, "other"))) == 8
    again = lab.judge("judge other", dist="" if dist else "-n2")
    assert again.ret == 0, again.said
    assert "novelty golden: compared with golden/small.judge.txt, 8 verdicts" in again.plain
    assert {item["verdict"] for item in again.report["drift"]} == {"the same"}
    assert again.counts() == {"passed": 18}  # 16 cases, and a comparison a judge
    assert max(again.progress(), default=100) == 100
    edit(lab, "golden/small.judge.txt", "i001\tnovel\t2:0", "i001\tnot novel\t0:2")
    changed = lab.judge("judge other", dist=dist)
    assert changed.ret == 1
    assert "FAILED novelty-suites/small::gate[judge-golden]" in changed.out
    assert drift(changed)["differing"] == [
        {"instance": "i001", "before": "not novel (0:2)", "after": "novel (2:0)", "label_differs": True}
    ]
    assert drift(changed, "other")["decision"] == "pass"
    assert "judge on small, compared with golden/small.judge.txt: FAILS" in changed.plain
    changed.assert_clean()
    accepted = lab.judge("judge other", "small", *UPDATE, dist=dist)
    assert "golden/small.judge.txt (1 changed)" in accepted.plain
    assert "golden verdicts unchanged: golden/small.other.txt" in accepted.plain
    edit(lab, "conftest.py", 'judge.version = other.version = "1"', 'judge.version = other.version = "2"')
    assert "golden/small.judge.txt (head only)" in lab.judge("judge", "small", *UPDATE, dist=dist).plain
    assert lab.judge("judge other").ret == 0


def test_an_update_is_no_failure_and_shows_what_it_accepts(lab: Lab) -> None:
    lab.judge("judge", "small", *UPDATE)
    edit(lab, "golden/small.judge.txt", "i001\tnovel\t2:0", "i001\tnot novel\t0:2")
    accepted = lab.judge("judge", "small", *UPDATE)
    assert accepted.ret == 0, accepted.said
    assert drift(accepted)["verdict"] == "drifted"
    assert "i001 not novel (0:2) novel (2:0)" in accepted.plain


def test_without_the_option_nothing_is_written(lab: Lab) -> None:
    assert lab.judge().ret == 0
    assert not (lab.path / "golden").exists()
    assert lab.judge("judge", "small", *UPDATE, "--novelty-dry-run").ret == 0
    assert not (lab.path / "golden").exists()


# --- incomplete runs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("dist", ["", "-n4"])
def test_what_did_not_run_is_kept(lab: Lab, dist: str) -> None:
    lab.judge("judge", "small", *UPDATE)
    whole = rows(file_of(lab))
    edit(
        lab,
        "conftest.py",
        'judge.version = other.version = "1"',
        f'{_TURNED.strip()}\njudge.version = other.version = "2"',
    )
    some = lab.judge("judge", "small", *UPDATE, "-k", "i001 or i002", dist=dist)
    assert "(2 changed)" in some.plain
    found = rows(file_of(lab))
    assert {name for name in found if found[name] != whole[name]} == {"i001", "i002"}
    assert found["i001"] == ["not novel", "0:2", whole["i001"][2], "#2"]
    # The lines of version 1 are compared as such.
    edit(lab, "conftest.py", "right = lambda", "wrong = lambda")
    later = drift(lab.judge("judge", "small", "-k", "i003"))
    assert [change["sentence"] for change in later["changes"]] == ["the judge changed its version: 1 -> 2"]
    assert not drift(lab.judge("judge", "small", "-k", "i001"))["changes"]


def test_a_run_that_stops_keeps_the_rest(lab: Lab, dist: str) -> None:
    lab.judge("judge", "small", *UPDATE)
    lab.test_file("""
        import pytest
        @pytest.mark.novelty(suite="small")
        def test_own(novelty_case):
            novelty_case.outcome()
            assert novelty_case.instance.id != "i003"
    """)
    edit(
        lab,
        "conftest.py",
        'judge.version = other.version = "1"',
        f'{_TURNED.strip()}\njudge.version = other.version = "2"',
    )
    ran = lab.pytest("test_own.py", "--novelty-judge=judge", "-x", *UPDATE, dist=dist)
    assert ran.ret == (2 if dist else 1), ran.said
    found = rows(file_of(lab))
    assert len(found) == 8
    assert found["i000"][0] == "novel"
    if not dist:
        assert found["i007"][0] == "novel"


def test_a_sample_records_and_compares_what_it_judged(lab: Lab) -> None:
    assert lab.judge("judge", "small", *UPDATE, "--novelty-sample=3").ret == 0
    assert len(rows(file_of(lab))) == 3
    whole = lab.judge()
    assert whole.ret == 0
    assert (drift(whole)["n"], len(drift(whole)["unrecorded"]), drift(whole)["changes"]) == (3, 5, [])
    lab.judge("judge", "small", *UPDATE)
    assert len(rows(file_of(lab))) == 8
    lab.judge("judge", "small", *UPDATE, "--novelty-sample=3")
    assert len(rows(file_of(lab))) == 8


def test_calls_that_fail_leave_the_verdict_that_was_recorded(lab: Lab) -> None:
    lab.judge("judge", "small", *UPDATE)
    before = rows(file_of(lab))
    edit(lab, "conftest.py", "log(request)\n", "log(request)\n    assert 'i001' not in request.idea.title\n")
    ran = lab.judge("judge", "small", *UPDATE, "--novelty-refresh")
    assert ran.ret == 1
    assert rows(file_of(lab)) == before


def test_an_interrupted_update_writes_nothing(lab: Lab) -> None:
    edit(lab, "conftest.py", "log(request)\n", "log(request); time.sleep(0.3)\n")
    process = lab.start(*UPDATE, "--novelty-concurrency=1")
    lab.wait_for_calls(4, process)
    ran = lab.signal(process, signal.SIGINT)
    assert "golden verdicts not written: the run was interrupted" in ran.plain
    assert not file_of(lab).exists()


def test_an_interrupted_update_accepts_nothing(lab: Lab) -> None:
    lab.judge("judge", "small", *UPDATE)
    edit(lab, "golden/small.judge.txt", "i000\tnot novel\t0:2", "i000\tnovel\t2:0")
    before = file_of(lab).read_bytes()
    edit(lab, "conftest.py", "log(request)\n", "log(request); time.sleep(0.3)\n")
    lab.forget_calls()
    process = lab.start(*UPDATE, "--novelty-concurrency=1", "--novelty-refresh")
    lab.wait_for_calls(6, process)
    ran = lab.signal(process, signal.SIGINT)
    assert "compared with golden/small.judge.txt: FAILS" in ran.plain
    assert "recorded by this run" not in ran.plain
    assert file_of(lab).read_bytes() == before


@pytest.mark.parametrize("moment", ["fsync", "replace"])
def test_a_kill_during_the_write_leaves_the_old_file(lab: Lab, moment: str) -> None:
    lab.judge("judge other", "small", *UPDATE)
    before = file_of(lab).read_bytes()
    conftest = (lab.path / "conftest.py").read_text()
    killing = {
        "fsync": "os.fsync = lambda handle: os.kill(os.getpid(), 9)",
        "replace": "pathlib.Path.replace = lambda *args: os.kill(os.getpid(), 9)",
    }
    (lab.path / "conftest.py").write_text(
        f'{conftest}\n{_TURNED.strip()}\njudge.version = other.version = "2"\n{killing[moment]}\n'
    )
    killed = lab.judge("judge other", "small", *UPDATE, apart=True)
    assert killed.ret == -signal.SIGKILL, killed.said
    assert file_of(lab).read_bytes() == before
    (lab.path / "conftest.py").write_text(f'{conftest}\n{_TURNED.strip()}\njudge.version = other.version = "2"\n')
    ran = lab.judge("judge other", "small", *UPDATE)
    assert not ran.calls  # what was answered before the kill is stored
    (left,) = (lab.path / "golden").glob(".*")
    os.utime(left, (0, 0))
    edit(lab, "golden/small.judge.txt", 'version: "2"', 'version: "1"')
    lab.judge("judge other", "small", *UPDATE)
    assert not left.exists()
    assert "golden/small.judge.txt (8 changed)" in ran.plain


# --- what changed -------------------------------------------------------------------------------------------


def test_a_suite_that_was_edited(lab: Lab) -> None:
    lab.judge("judge", "small", *UPDATE)
    path = lab.path / "small" / "instances.jsonl"
    kept = [json.loads(line) for line in path.read_text().splitlines()]
    kept[3]["idea"]["text"] = "Another thought of a new thing."
    new = {**kept[5], "id": "i009"}
    path.write_text("".join(json.dumps(row) + "\n" for row in (*kept[1:], new)))
    ran = lab.judge()
    assert ran.ret == 1
    told = "the suite changed: 1 added (i009), 1 reworded (i003), 1 removed (i000)"
    assert f"FAILED novelty-suites/small::gate[judge-golden] - {told[:18]}" in ran.plain
    assert drift(ran)["sentence"] == f"{told}; all 6 verdicts are the same"
    assert drift(ran)["verdict"] == "the same"
    lab.judge("judge", "small", *UPDATE, "-k", "i004")
    assert "the suite changed: 1 added (i009), 1 reworded (i003), 1 removed (i000)" in lab.judge().plain
    part = lab.judge("judge", "small", *UPDATE, "-k", "i009")
    assert "(1 added)" in part.plain
    assert "i000" in rows(file_of(lab))
    assert part.ret == 0
    assert drift(part)["sentence"].endswith(
        "recorded by this run, but for the line of what was removed, which only an update of the whole suite takes out"
    )
    assert "if that is right" not in part.plain
    whole = lab.judge("judge", "small", *UPDATE)
    assert "(1 changed, 1 removed)" in whole.plain
    assert drift(whole)["sentence"].endswith("; recorded by this run")
    assert sorted(rows(file_of(lab))) == [f"i00{k}" for k in (1, 2, 3, 4, 5, 6, 7, 9)]
    assert lab.judge().ret == 0


def test_a_prompt_that_was_edited(lab: Lab) -> None:
    prompt = {
        "format": "novelty-prompt/1", "name": "mine", "version": "1", "protocol": "pointwise",
        "messages": [{"role": "user", "content": "Novel? {{ idea.text }}"}],
        "output": {"type": "object", "properties": {"novel": {"type": "boolean"}}, "required": ["novel"]},
    }  # fmt: skip
    path = lab.suite(n=8, defaults={"votes": 2, "prompt": "mine.yaml"})
    (path / "mine.yaml").write_text(json.dumps(prompt))
    lab.judge("judge", "small", *UPDATE)
    (path / "mine.yaml").write_text(json.dumps({**prompt, "version": "2"}))
    ran = lab.judge()
    assert ran.ret == 0
    assert [change["kind"] for change in drift(ran)["changes"]] == ["prompt changed"]
    assert "the prompt changed: mine 1 " in ran.plain
    assert "-> mine 2 " in ran.plain
    edit(
        lab,
        "conftest.py",
        "return right(request)",
        "return right(request) if 'Is it' not in str(request.messages) else {'novel': True}",
    )
    (path / "mine.yaml").write_text(json.dumps(prompt).replace("Novel?", "Is it novel?"))
    drifted = lab.judge()
    assert drifted.ret == 1
    assert (
        "a deterministic judge says something else: 4 of 8 verdicts differ, 4 in their label; the prompt changed"
        in drifted.plain
    )


def test_a_judge_whose_code_was_edited(lab: Lab) -> None:
    edit(lab, "conftest.py", 'judge.version = other.version = "1"', 'other.version = "1"')
    lab.judge("judge", "small", *UPDATE)
    edit(lab, "conftest.py", "log(request)\n", f"log(request)\n    {_TURNED.strip()}\n")
    ran = lab.judge()
    assert ran.ret == 1
    assert "the judge's code was edited (its version is a digest of the file)" in ran.plain


def test_another_model_under_the_same_name(lab: Lab) -> None:
    lab.suite(n=40, votes=3)
    (lab.path / "served").write_text("m-01")
    lab.judge("other", "small", *UPDATE)
    (lab.path / "served").write_text("m-02")
    same = lab.judge("other", "small", "--novelty-refresh")
    assert same.ret == 0, same.said
    assert "all 40 verdicts are the same another model answered, under the same name: m-01 -> m-02" in same.plain
    edit(lab, "conftest.py", "def judge(request)", f"{_TURNED.strip()}\ndef judge(request)")
    drifted = lab.judge("other", "small", "--novelty-refresh")
    assert drifted.ret == 1
    assert "drifted beyond its noise: vote shift 100 points" in drifted.plain
    assert "another model answered, under the same name: m-01 -> m-02" in drifted.plain


def test_a_model_under_another_name(lab: Lab) -> None:
    model = {"format": "novelty-judge/1", "api_base": "http://127.0.0.1:9/v1"}
    (lab.path / "was.yaml").write_text(json.dumps({**model, "name": "was", "model": "openai:m-5"}))
    (lab.path / "now.yaml").write_text(json.dumps({**model, "name": "now", "model": "openai:m-6"}))
    edit(lab, "conftest.py", "def judge(request)", """
from pytest_novelty.judges.llm.judge import LlmJudge
async def answer(self, request): return right(request)
LlmJudge.__call__ = answer
def judge(request)""")  # fmt: skip
    lab.judge("was.yaml", "small", *UPDATE, apart=True)
    ran = lab.judge("now.yaml", "small", apart=True)
    assert ran.ret == 0, ran.said
    assert drift(ran, "now")["decision"] == "not enforced"
    assert "no verdicts of now are recorded, those of was are: if it is the same judge, rename the file" in ran.plain
    assert ran.counts() == {"passed": 8, "skipped": 1}
    assert lab.judge("judge", apart=True).counts() == {"passed": 8}  # no model, so not one of another name
    file_of(lab, "was").rename(file_of(lab, "now"))
    renamed = lab.judge("now.yaml", "small", apart=True)
    assert renamed.ret == 0
    kinds = [change["kind"] for change in drift(renamed, "now")["changes"]]
    assert kinds == ["judge renamed", "another model asked"]  # its version is a digest of how it is asked


def test_a_function_under_another_name(lab: Lab) -> None:
    lab.judge("judge", "small", *UPDATE)
    edit(lab, "conftest.py", '{"judge": judge,', '{"new": judge, "lone": judge,')
    ran = lab.judge("new")
    assert ran.counts() == {"passed": 8, "skipped": 1}
    assert "no verdicts of new are recorded, those of judge are: if it is the same judge, rename the file" in ran.plain
    assert lab.judge("lexical").counts() == {"passed": 8}  # ships under its name
    file_of(lab).rename(file_of(lab, "new"))
    renamed = lab.judge("new")
    assert renamed.ret == 0
    assert [change["kind"] for change in drift(renamed, "new")["changes"]] == ["judge renamed"]
    assert lab.judge("other").counts() == {"passed": 8, "skipped": 1}
    lab.judge("new", "small", *UPDATE)
    assert lab.judge("other").counts() == {"passed": 8}  # new is there still


# --- what a person is told ----------------------------------------------------------------------------------


def test_a_file_that_cannot_be_read_costs_no_call(lab: Lab, dist: str) -> None:
    lab.judge("judge", "small", *UPDATE)
    edit(lab, "golden/small.judge.txt", "i001\tnovel", "<<<<<<< HEAD\ni001\tnovel")
    lab.forget_calls()
    ran = lab.judge("judge", "small", "--novelty-refresh", dist=dist)
    assert ran.ret == 4
    assert "golden/small.judge.txt:" in ran.said
    assert "Two versions were merged: take either, then record with --snapshot-update" in ran.plain
    assert not lab.logged()
    ran.assert_clean()


@pytest.mark.parametrize(
    ("protocol", "before", "after", "words"),
    [
        ("pairwise", "i001\ti001y\t", "i001\ti001x\t", "the label is i001x, and the votes say i001y"),
        ("pairwise", "i001\ti001y\t", "i001\tnobody\t", "the label is nobody, and the votes say i001y"),
        ("pairwise", "ab 0:2, ba 0:2", "0:2", "these are no votes of the protocol pairwise"),
        ("pointwise", "i001\tnovel\t", "i001\tnot novel\t", "the label is not novel, and the votes say novel"),
        ("pointwise", "i001\tnovel\t2:0", "i001\tnovel\tab 2:0", "these are no votes of the protocol pointwise"),
    ],
)
def test_labels_that_contradict_their_votes_cost_no_call(
    lab: Lab, protocol: str, before: str, after: str, words: str
) -> None:
    lab.suite(n=8, protocol=protocol)
    lab.judge("judge", "small", *UPDATE)
    lab.forget_calls()
    edit(lab, "golden/small.judge.txt", before, after)
    ran = lab.judge("judge", "small", "--novelty-refresh")
    assert ran.ret == 4, ran.said
    assert words in ran.plain
    assert not lab.logged()
    ran.assert_clean()


def test_golden_verdicts_need_syrupy(lab: Lab) -> None:
    lab.judge("judge", "small", *UPDATE)
    edit(
        lab,
        "conftest.py",
        "import asyncio",
        "import sys; sys.modules['syrupy.extensions.single_file'] = None\nimport asyncio",
    )
    ran = lab.judge("judge", "small", apart=True)
    assert ran.ret == 4
    assert (
        "syrupy, which reads them, is not installed. Install the extra: pip install 'pytest-novelty[golden]'"
        in ran.plain
    )
    file_of(lab).unlink()
    assert lab.judge("judge", "small", apart=True).ret == 0


def test_nothing_is_written_into_an_installation(lab: Lab) -> None:
    folder = lab.path / "lib" / "site-packages" / "them"
    folder.mkdir(parents=True)
    ran = lab.judge("lexical", "small", *UPDATE, f"--rootdir={folder}")
    assert ran.ret == 4
    assert "golden verdicts would be written into an installation" in ran.plain
    assert not list(folder.rglob("golden"))


@pytest.mark.skipif(sys.platform != "linux", reason="has no folder that nobody can write into")
@pytest.mark.parametrize("kind", ["file", "not writable", "leads nowhere"])
def test_a_folder_that_cannot_be_written_costs_no_call(lab: Lab, kind: str, dist: str) -> None:
    if kind == "file":
        (lab.path / "golden").write_text("a file in its place")
    else:
        (lab.path / "golden").symlink_to("/proc/sys" if kind == "not writable" else lab.path / "nowhere")
    ran = lab.judge("judge", "small", *UPDATE, dist=dist)
    assert ran.ret == 4, ran.said
    assert (
        "is no folder, and golden verdicts are written there" if kind == "file" else "cannot be written"
    ) in ran.plain
    assert not lab.logged()
    ran.assert_clean()
    assert lab.judge("judge", "small").ret == 0


@pytest.mark.skipif(sys.platform == "win32", reason="folders have no such mode")
def test_a_folder_that_cannot_be_written_any_more_fails_the_run(lab: Lab) -> None:
    edit(
        lab,
        "conftest.py",
        "log(request)\n    return right",
        "log(request)\n    (HERE / 'golden').write_text('a file')\n    return right",
    )
    ran = lab.judge("judge", "small", *UPDATE)
    assert ran.ret == 1
    assert "ERROR: " in ran.plain
    assert "cannot be written" in ran.plain
    ran.assert_clean()


def test_keys_are_masked(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THEIR_API_KEY", "sesame-open-now")
    edit(lab, "conftest.py", 'judge.version = other.version = "1"', 'judge.version = other.version = "sesame-open-now"')
    lab.judge("judge", "small", *UPDATE)
    assert "sesame" not in file_of(lab).read_text()
    again = lab.judge("judge", "small")
    assert drift(again)["changes"] == []
    assert "changed" not in drift(again)["sentence"]


# --- what would be lost or passed over ------------------------------------------------------------------------


@pytest.mark.parametrize("recorded", [True, False])
def test_what_another_run_records_meanwhile_stays(lab: Lab, recorded: bool) -> None:
    lab.judge("judge", "small", *UPDATE, *([] if recorded else ["-k", "i005"]))
    theirs = file_of(lab).read_text().replace("i005\tnovel\t2:0", "i005\ttie\t1:1")
    assert "1:1" in theirs
    (lab.path / "theirs.txt").write_text(theirs)
    if not recorded:
        file_of(lab).unlink()
    writing = "(HERE / 'golden/small.judge.txt').write_text((HERE / 'theirs.txt').read_text())"
    edit(lab, "conftest.py", "log(request)\n    return right", f"log(request)\n    {writing}\n    return right")
    ran = lab.judge("judge", "small", *UPDATE, "-k", "i001", "--novelty-refresh")
    assert ran.ret == 0, ran.said
    found = rows(file_of(lab))
    assert found["i005"][:2] == ["tie", "1:1"]
    assert found["i001"][:2] == ["novel", "2:0"]
    assert len(found) == (8 if recorded else 2)


def test_two_judges_never_share_a_file(lab: Lab) -> None:
    edit(lab, "conftest.py", '{"judge": judge,', '{"v1.mine": judge, "mine": judge,')
    for suite in ("ours", "ours.v1"):
        lab.suite(suite, n=4)
    lab.judge("v1.mine", "ours", *UPDATE)
    before = file_of(lab, "mine", "ours.v1").read_bytes()
    lab.forget_calls()
    for more in ((), UPDATE):
        ran = lab.judge("mine", "ours.v1", *more)
        assert ran.ret == 4
        assert "has verdicts on the suite 'ours', and is the file of 'mine' on 'ours.v1'" in ran.plain
    assert not lab.logged()
    assert file_of(lab, "mine", "ours.v1").read_bytes() == before
    file_of(lab, "mine", "ours.v1").unlink()
    both = lab.judge("mine v1.mine", "ours ours.v1", *UPDATE)
    assert both.ret == 4
    assert "would be one file, golden/ours.v1.mine.txt" in both.plain


def test_a_file_that_became_anothers_meanwhile_is_not_written(lab: Lab) -> None:
    lab.judge("judge", "small", *UPDATE)
    theirs = file_of(lab).read_text().replace("# suite: small ", "# suite: else ")
    (lab.path / "theirs.txt").write_text(theirs)
    writing = "(HERE / 'golden/small.judge.txt').write_text((HERE / 'theirs.txt').read_text())"
    edit(lab, "conftest.py", "log(request)\n    return right", f"log(request)\n    {writing}\n    return right")
    ran = lab.judge("judge", "small", *UPDATE, "--novelty-refresh")
    assert ran.ret == 1
    assert "has verdicts on the suite 'else', and is the file of 'judge' on 'small'" in ran.plain
    assert file_of(lab).read_text() == theirs


@pytest.mark.parametrize("more", [(), UPDATE])
def test_a_comparison_that_cannot_take_place_is_shown(lab: Lab, more: tuple[str, ...]) -> None:
    lab.judge("judge", "small", *UPDATE)
    edit(lab, "conftest.py", "log(request)\n", "log(request)\n    raise OSError('gone')\n")
    ran = lab.judge("judge", "small", "--novelty-refresh", *more)
    assert drift(ran)["decision"] == "not enforced"
    assert drift(ran)["sentence"] == "nothing to compare: this run has no verdict of the judge"


def test_an_undecided_comparison_fails_where_that_is_asked_for(lab: Lab) -> None:
    lab.suite(n=8, votes=1)
    lab.judge("other", "small", *UPDATE)
    edit(lab, "golden/small.other.txt", "i001\tnovel\t1:0", "i001\tnot novel\t0:1")
    ran = lab.judge("other")
    assert (ran.ret, drift(ran, "other")["decision"]) == (0, "inconclusive")
    assert "if that is right, record it with --snapshot-update, and have the file reviewed as any change" in ran.plain
    failing = lab.judge("other", "small", "--novelty-inconclusive=fail")
    assert (failing.ret, drift(failing, "other")["decision"]) == (1, "inconclusive")
    assert "FAILED novelty-suites/small::gate[other-golden]" in failing.out


def test_what_was_asked_is_counted_of_the_reference(lab: Lab) -> None:
    lab.suite(n=8, votes=2, variants={"Q": {"params": {"top": 1}}})
    lab.judge("judge", "small", *UPDATE)
    ran = lab.judge("judge", "small", "--novelty-variant=all")
    assert len(ran.calls) == 16  # of the variant
    assert (drift(ran)["reused"], drift(ran)["votes"]) == (16, 16)
    assert "nothing was asked: all verdicts come from the store" in drift(ran)["sentence"]


def test_a_folder_in_the_place_of_a_file_costs_no_call(lab: Lab) -> None:
    file_of(lab).mkdir(parents=True)
    ran = lab.judge()
    assert ran.ret == 4
    assert "golden/small.judge.txt: is no file, and has the name of golden verdicts. Move it away" in ran.plain
    assert not lab.logged()
    ran.assert_clean()
