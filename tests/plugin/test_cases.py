"""Cases as pytest items: ids, selection, marks, letters, JUnit, exit status, progress."""

from __future__ import annotations

import re
import shutil
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest

import pytest_novelty

from .making import Lab, Ran

_JUDGES = """
    def judge(request):
        log(request)
        return right(request)

    def only_new(request):
        log(request, "new")
        return {"novel": True} if request.protocol == "pointwise" else {"winner": "A"}

    def prose(request):
        return "no verdict in here"

    def pytest_novelty_judges():
        return {"judge": judge, "new": only_new, "prose": prose}
"""


@pytest.fixture
def ready(lab: Lab) -> Lab:
    lab.judges(_JUDGES)
    lab.suite(gates=["accuracy@point>=0.6"])
    return lab


def _ids(ran: Ran) -> list[str]:
    return [line for line in ran.out.splitlines() if "::" in line and " " not in line]


def _case(name: str, suite: str = "small", judge: str = "judge", variant: str = "reference") -> str:
    return f"novelty-suites::test_novelty[{suite}-{name}-{judge}-{variant}]"


# --- ids ----------------------------------------------------------------------------------------------------

_STRANGE = [
    "A b/c=1",
    "a B/C=1",
    "x::y[z]",
    "ünïcode",
    "n" * 300,
    "n" * 299 + "m",
    "..",
    "-",
    "a\\b",
    "a b",
    "a-b",
    "%s{}",
]


def _rename(row: dict[str, Any]) -> None:
    row["id"] = _STRANGE[int(row["id"][1:])]


def test_ids_in_every_process(ready: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    ready.suite("strange", n=len(_STRANGE), change=_rename, variants={"P": {"votes": 5}})
    found = []
    for hash_seed, apart in (("1", True), ("2", True), ("0", False)):
        monkeypatch.setenv("PYTHONHASHSEED", hash_seed)
        options = ("--novelty-variant=all", "--novelty-judge=chance", "--collect-only", "-q")
        found.append(_ids(ready.judge("judge", "strange small", *options, apart=apart)))
    assert found[0] == found[1] == found[2]
    assert len(found[0]) == len(set(found[0])) == (2 * len(_STRANGE) + 6) * 2
    for nodeid in found[0]:
        assert re.fullmatch(r"novelty-suites::test_novelty\[[a-z0-9._-]+\]", nodeid), nodeid
        assert len(nodeid) < 300
    assert str(ready.path) not in "".join(found[0])


def test_strange_ids_run_and_one_can_be_pasted(ready: Lab, dist: str) -> None:
    ready.suite("strange", n=len(_STRANGE), change=_rename)
    ran = ready.judge("judge", "strange", "-v", dist=dist)
    assert ran.ret == 0
    assert set(ran.outcomes()) == set(_STRANGE)
    ids = _ids(ready.judge("judge", "strange", "--collect-only", "-q"))
    for nodeid in (ids[0], ids[4], ids[7]):
        ran = ready.judge("judge", "strange", nodeid, dist=dist if nodeid == ids[0] else "")
        assert ran.ret == 0
        assert set(ran.outcomes()) == {_STRANGE[ids.index(nodeid)]}


def test_a_pasted_gate_runs_its_suite(ready: Lab, dist: str) -> None:
    ready.suite("other", gates=["accuracy@point>=0.6"])
    gate = "novelty-suites/small::gate[judge-accuracy-point-ge-0.6]"
    ran = ready.judge("judge", "small other", "-rA", dist=dist)
    assert f"PASSED {gate}" in ran.out
    assert "PASSED novelty-suites/other::gate[" in ran.out
    ran = ready.judge("judge", "small other", "-rA", gate, dist=dist)
    assert ran.ret == 0
    assert f"PASSED {gate}" in ran.out
    assert "other" not in {row["suite"] for row in ran.report["outcomes"]}
    assert len(ran.outcomes()) == 6


def test_a_pasted_gate_of_an_unknown_suite(ready: Lab, dist: str) -> None:
    ran = ready.judge("judge", "small", "novelty-suites/smell::gate[judge-x]", dist=dist)
    assert ran.ret == 4
    ran.assert_clean()
    assert "'smell'" in ran.said


def test_the_virtual_file_beside_paths(ready: Lab, dist: str) -> None:
    ready.test_file("def test_plain():\n    pass\n")
    ran = ready.judge("judge", "small", "novelty-suites", "test_own.py", dist=dist)
    assert (ran.ret, ran.counts()) == (0, {"passed": 8})
    assert "not run" not in ran.out
    ran = ready.judge("judge", "small", "test_own.py", _case("i001"), dist=dist)
    assert ran.ret == 0
    assert set(ran.outcomes()) == {"i001"}


def test_naming_rules_of_the_project_do_not_matter(ready: Lab, dist: str) -> None:
    ready.ini("python_functions = check_*", "python_files = check_*.py", "python_classes = Check*", "norecursedirs = *")
    ran = ready.judge(dist=dist)
    assert (ran.ret, ran.counts()) == (0, {"passed": 7})


@pytest.mark.parametrize("mode", ["prepend", "append", "importlib"])
def test_import_modes(ready: Lab, mode: str) -> None:
    ran = ready.judge("judge", "small", f"--import-mode={mode}", apart=True)
    assert (ran.ret, ran.counts()) == (0, {"passed": 7})


# --- selecting ----------------------------------------------------------------------------------------------


def test_k_m_and_deselect(ready: Lab, dist: str) -> None:
    ran = ready.judge("judge", "small", "-k", "i001 or i004", dist=dist)
    assert ran.ret == 0
    assert set(ran.outcomes()) == {"i001", "i004"}
    assert "not enforced: 2 of 6 instances ran" in ran.gate("accuracy@point>=0.6")["message"]
    ran = ready.judge("new", "small", "--deselect", _case("i001", judge="new"), "-m", "not slow", dist=dist)
    assert ran.ret == 0  # its gate would fail, were it enforced
    assert set(ran.outcomes()) == {"i000", "i002", "i003", "i004", "i005"}
    assert ran.decisions() == {"accuracy@point>=0.6": "not enforced"}


@pytest.mark.parametrize("options", [["-k", "nothing"], ["-m", "slow"]], ids=" ".join)
def test_nothing_ran(ready: Lab, options: list[str], dist: str) -> None:
    ran = ready.judge("judge", "small", "-rA", *options, dist=dist)
    assert (ran.ret, ran.calls, ran.report) == (5, [], {})
    assert "gate[" not in ran.out
    assert "1 of" not in ran.out


def test_x_stops(ready: Lab, dist: str) -> None:
    ready.suite("long", n=40, gates=["accuracy@point>=0.1"])
    ran = ready.judge("prose", "long", "-x", "--novelty-concurrency=2", dist=dist)
    assert ran.ret == (2 if dist else 1)
    assert ran.report["gates"][0]["decision"] == "not enforced"
    done = len(ran.outcomes())
    assert 0 < done < 40
    assert f"not enforced: {done} of 40 instances ran" in ran.gate("accuracy@point>=0.1")["message"]
    assert ran.seconds < 60  # closing waits for nobody: not for the calls of 40 instances


def test_last_failed(ready: Lab, dist: str) -> None:
    strict = ("--novelty-strict", "--novelty-gate=accuracy@point>=0.1", "--novelty-gate=tie_rate@point>=0.5")
    ran = ready.judge("new", "small", *strict, dist=dist)
    assert (ran.ret, ran.counts()) == (1, {"failed": 4, "passed": 4})
    ran = ready.judge("new", "small", *strict, "--lf", dist=dist)
    assert ran.ret == 1
    assert set(ran.outcomes()) == {"i000", "i002", "i004"}
    assert set(ran.decisions().values()) == {"not enforced"}


@pytest.mark.parametrize("option", ["--collect-only", "--setup-plan"])
def test_looking_asks_nothing(ready: Lab, option: str, dist: str) -> None:
    ran = ready.judge("judge", "small", option, dist=dist)
    assert (ran.ret, ran.calls, ran.report) == (0, [], {})
    assert "gate[" not in ran.out
    if not dist or option == "--collect-only":  # workers' plans are not shown
        assert "i003" in ran.out


def test_setup_show_runs(ready: Lab, dist: str) -> None:
    ran = ready.judge("judge", "small", "--setup-show", dist=dist)
    assert (ran.ret, len(ran.calls)) == (0, 12)


# --- what is shown ------------------------------------------------------------------------------------------


def test_letters_and_words(ready: Lab, dist: str) -> None:
    ready.suite("pairs", n=2, protocol="pairwise")
    ready.suite("gated", n=2, gates=["invalid_rate@point<=1"])
    ran = ready.judge("new", "small pairs", dist=dist)
    assert ran.ret == 1  # the accuracy gate
    shown = "".join(re.findall(r"^(?:novelty-suites\S* )?([.wtiF]+) +\[", ran.out, re.MULTILINE))
    assert sorted(shown) == sorted("w.w.w.ttF")
    if not dist:
        assert shown == "w.w.w.ttF"
    ran = ready.judge("prose", "small gated", "-v", dist=dist)
    assert ran.ret == 1
    assert len(re.findall(r" INVALID", ran.out)) == 8
    assert ran.counts()["failed"] == 7  # six cases and the accuracy gate; the gated suite's cases pass
    ran = ready.judge("new", "small pairs", "-v", dist=dist)
    assert len(re.findall(r" WRONG", ran.out)) == 3
    assert len(re.findall(r" TIE", ran.out)) == 2
    assert ran.counts() == {"passed": 8, "failed": 1}


def test_strict(ready: Lab, dist: str) -> None:
    ready.suite("pairs", n=2, protocol="pairwise")
    ran = ready.judge("new", "small pairs", "--novelty-strict", "--novelty-gate=accuracy@point>=0.1", dist=dist)
    assert (ran.ret, ran.counts()) == (1, {"passed": 4, "failed": 5})
    assert "wrong: new says 'novel', gold is 'not novel'" in ran.out
    assert "tie: new says 'tie', gold is 'i000y'" in ran.out


def test_strict_names_the_papers_of_a_partition(ready: Lab, dist: str) -> None:
    ran = ready.judge("lexical", "landmarks-grouping", "--novelty-strict", "-k", "agreement.problem", dist=dist)
    assert ran.ret == 1
    gold = "{lamport1978 nakamoto2008} {lamport1998 oki1988}"
    assert f"wrong: lexical says {{lamport1998 oki1988}}, gold is {gold}. " in ran.out


@pytest.mark.parametrize(
    "selection", [[], ["-k", "i001 or i002"], ["-x", "--novelty-strict"], ["-v"]], ids=lambda s: " ".join(s) or "all"
)
def test_progress_stays_within_100_percent(ready: Lab, selection: list[str], dist: str) -> None:
    ready.suite("more", n=3, gates=["tie_rate<=0.5", "accuracy>=0.1", "invalid_rate<=0.5"])
    ran = ready.judge("new prose", "small more", *selection, dist=dist)
    figures = ran.progress()
    assert max(figures, default=0) <= 100
    if "-x" not in selection:
        assert max(figures) == 100


def test_progress_with_suites_of_marks(ready: Lab, dist: str) -> None:
    ready.suite("more", n=3, gates=["tie_rate<=0.5", "accuracy>=0.1", "invalid_rate<=0.5"])
    ready.test_file("""
        import pytest

        @pytest.mark.novelty("small")
        def test_one(novelty_case):
            novelty_case.check()

        @pytest.mark.novelty(suite="more")
        def test_two(novelty_case):
            novelty_case.check()
    """)
    ran = ready.pytest("--novelty-judge=judge", "test_own.py", "-v", dist=dist)
    assert ran.ret == 0
    assert ran.out.count("::gate[") == 4
    assert max(ran.progress()) == 100


def test_without_a_terminal(ready: Lab, dist: str) -> None:
    for judge, ret in (("judge", 0), ("new", 1)):
        ran = ready.judge(judge, "small", "-p", "no:terminal", dist=dist)
        assert (ran.ret, ran.out) == (ret, "")
        assert ran.err == "" or dist
        assert ran.report["gates"][0]["decision"] == ("pass" if ret == 0 else "fail")


def test_short_summary(ready: Lab, dist: str) -> None:
    ran = ready.judge("judge new", "small", "-rA", dist=dist)
    assert f"PASSED {_case('i000')}" in ran.out
    assert "PASSED novelty-suites/small::gate[judge-accuracy-point-ge-0.6]" in ran.out
    assert "FAILED novelty-suites/small::gate[new-accuracy-point-ge-0.6]" in ran.out
    assert "accuracy@point>=0.6: accuracy is 0.5 [" in ran.plain


def test_junit(ready: Lab, dist: str) -> None:
    ready.suite("gated", n=3, gates=["invalid_rate@point<=0.5", "tie_rate<=0.1"])
    ran = ready.judge("judge new prose", "small gated", "--junit-xml=junit.xml", dist=dist)
    assert ran.ret == 1
    (suite,) = ElementTree.parse(ready.path / "junit.xml").getroot()
    cases = {f"{case.get('classname')}::{case.get('name')}": case for case in suite}
    assert int(suite.get("tests", 0)) == len(cases) == 3 * 6 + 3 * 3 + 3 + 6

    def kinds(fragment: str) -> set[str]:
        found = [case for name, case in cases.items() if fragment in name]
        assert found, (fragment, sorted(cases))
        return {child.tag for case in found for child in case if child.tag != "properties"}

    assert kinds("gate[judge-accuracy-point-ge-0.6]") == set()
    assert kinds("gate[new-accuracy-point-ge-0.6]") == {"failure"}
    assert kinds("gate[prose-invalid_rate-point-le-0.5]") == {"failure"}
    assert kinds("gate[judge-tie_rate-le-0.1]") == {"skipped"}
    assert kinds("test_novelty[gated-") == set()
    assert kinds("test_novelty[small-i001-prose-") == {"failure"}
    assert int(suite.get("failures", 0)) == 6 + 2 + 1
    assert int(suite.get("skipped", 0)) == 3
    case = next(case for name, case in cases.items() if "test_novelty[small-i000-new-" in name)
    assert {(one.get("name"), one.get("value")) for one in case.iter("property")} == {
        ("novelty_result", "wrong"),
        ("novelty_label", "novel"),
    }


# --- marks --------------------------------------------------------------------------------------------------

_MARKED = """
    import pytest

    @pytest.mark.novelty(suite="small")
    @pytest.mark.novelty(suite="other", variants=["P"])
    def test_both(novelty_case):
        novelty_case.check()

    @pytest.mark.novelty("small")
    class TestGroup:
        def test_inherits(self, novelty_case):
            outcome = novelty_case.outcome()
            assert outcome is novelty_case.outcome()
            assert outcome.result == "correct"
            assert len(outcome.votes) == 2
            assert (novelty_case.judge.name, novelty_case.suite.name) == ("judge", "small")
            assert novelty_case.variant.name == "reference"
            assert novelty_case.instance.gold == outcome.label

        @pytest.mark.novelty(suite="other")
        def test_own_mark_only(self, novelty_case):
            novelty_case.check()
"""


def test_marks(ready: Lab, dist: str) -> None:
    ready.suite("other", n=2, gates=["tie_rate@point<=0"], variants={"P": {"effort": "low"}, "Q": {"effort": "high"}})
    ready.test_file(_MARKED)
    ran = ready.judge("judge", "", "test_own.py", "-v", dist=dist)
    assert ran.ret == 0, ran.said
    asked = {
        (test, suite, variant) for test, suite, variant in re.findall(r"(test_\w+)\[(\w+)-i00\d-judge-(\w+)", ran.out)
    }
    assert asked == {
        ("test_both", "small", "reference"),
        ("test_both", "other", "reference"),
        ("test_both", "other", "p"),
        ("test_inherits", "small", "reference"),
        ("test_own_mark_only", "other", "reference"),  # that another test names a variant is nothing to this one
    }
    assert ran.counts() == {"passed": (6 + 4) + 6 + 2 + 2}
    assert [gate["suite"] for gate in ran.report["gates"]] == ["small", "other"]
    assert set(ran.decisions().values()) == {"pass"}
    assert {(row["suite"], row["variant"]) for row in ran.report["outcomes"]} == {
        ("small", "reference"),
        ("other", "reference"),
        ("other", "P"),
    }


def test_a_case_that_two_tests_ask_for(ready: Lab, dist: str) -> None:
    ready.test_file("""
        import pytest

        @pytest.mark.novelty("small")
        def test_one(novelty_case):
            novelty_case.check()

        @pytest.mark.novelty("small")
        def test_two(novelty_case):
            novelty_case.check()
    """)
    ran = ready.judge("judge", "", "test_own.py", dist=dist)
    assert (ran.ret, ran.counts()) == (0, {"passed": 13})
    if not dist:
        assert len(ran.calls) == 12
    assert ran.report["calls"]["made"] == len(ran.calls)
    assert ran.report["calls"]["cost_usd"] is None  # nobody told what they cost, so it is not 0


def test_a_mark_wins_over_the_option(ready: Lab, dist: str) -> None:
    ready.suite("other", n=2)
    ready.test_file("""
        import pytest

        @pytest.mark.novelty("other")
        def test_marked(novelty_case):
            novelty_case.check()

        def test_unmarked(novelty_case):
            novelty_case.check()
    """)
    ran = ready.judge("judge", "small", "test_own.py", "-v", dist=dist)
    assert ran.ret == 0, ran.said
    assert set(re.findall(r"(test_\w+)\[(\w+)-i00\d-judge", ran.out)) == {
        ("test_marked", "other"),
        ("test_unmarked", "small"),
    }
    assert {(row["suite"], row["instance"]) for row in ran.report["outcomes"]} == {
        *(("small", f"i00{k}") for k in range(6)), ("other", "i000"), ("other", "i001"),
    }  # fmt: skip


def test_the_shipped_module_keeps_to_the_option(ready: Lab, dist: str) -> None:
    ready.suite("other", n=2)
    ready.test_file("""
        import pytest

        @pytest.mark.novelty("other")
        def test_marked(novelty_case):
            novelty_case.check()
    """)
    ran = ready.judge("judge", "small", "test_own.py", "novelty-suites", "-v", dist=dist)
    assert ran.ret == 0, ran.said
    assert set(re.findall(r"(test_\w+)\[(\w+)-i00\d-judge", ran.out)) == {
        ("test_marked", "other"),
        ("test_novelty", "small"),
    }


_WRONG_MARKS = {
    "no fixture": ('@pytest.mark.novelty("small")\ndef test_it():\n    pass', "not the novelty_case fixture"),
    "unknown suite": ('@pytest.mark.novelty("smal")\ndef test_it(novelty_case):\n    pass', "unknown suite 'smal'"),
    "unknown variant": ('@pytest.mark.novelty("small", variants=["X"])\ndef test_it(novelty_case):\n    pass', "'X'"),
    "no suite": ("@pytest.mark.novelty()\ndef test_it(novelty_case):\n    pass", "needs suite"),
    "other argument": ('@pytest.mark.novelty("small", votes=3)\ndef test_it(novelty_case):\n    pass', "votes"),
    "wrong type": ("@pytest.mark.novelty(suite=5)\ndef test_it(novelty_case):\n    pass", "not 5"),
}


@pytest.mark.parametrize("wrong", _WRONG_MARKS)
def test_wrong_marks_are_collection_errors(ready: Lab, wrong: str, dist: str) -> None:
    source, said = _WRONG_MARKS[wrong]
    (ready.path / "test_own.py").write_text(f"import pytest\n\n{source}\n")
    ran = ready.judge("judge", "", "test_own.py", dist=dist)
    assert ran.ret == (1 if dist else 2)
    ran.assert_clean()
    assert "error" in ran.out
    assert said in ran.plain
    assert ran.calls == []


def test_no_suite_at_all(ready: Lab, dist: str) -> None:
    ready.test_file("def test_it(novelty_case):\n    pass\n")
    ran = ready.judge("judge", "", "test_own.py", dist=dist)
    assert ran.ret == (1 if dist else 2)
    ran.assert_clean()
    assert "names no suite" in ran.plain


def test_skipped_items_are_never_asked_ahead(ready: Lab, dist: str) -> None:
    ready.suite("other", n=2)
    ready.suite("third", n=2)
    ready.test_file("""
        import pytest

        @pytest.mark.novelty("small")
        def test_runs(novelty_case):
            novelty_case.check()

        @pytest.mark.skip(reason="not now")
        @pytest.mark.novelty("other")
        def test_skipped(novelty_case):
            novelty_case.check()

        @pytest.mark.xfail(run=False, reason="never")
        @pytest.mark.novelty("third")
        def test_expected(novelty_case):
            novelty_case.check()
    """)
    ran = ready.judge("judge", "", "test_own.py", "--novelty-concurrency=64", dist=dist)
    assert ran.ret == 0, ran.said
    assert len(ran.calls) == 12
    assert {row["suite"] for row in ran.report["outcomes"]} == {"small"}


def test_a_test_that_never_asks_costs_nothing(ready: Lab, dist: str) -> None:
    ready.test_file("""
        import pytest

        @pytest.mark.novelty("small")
        def test_looks(novelty_case):
            assert novelty_case.instance.ideas[0].text
    """)
    ran = ready.judge("judge", "", "test_own.py", dist=dist)
    assert (ran.ret, ran.calls, ran.report) == (0, [], {})
    assert ran.counts() == {"passed": 6}


def test_other_parameters_beside_the_case(ready: Lab, dist: str) -> None:
    ready.test_file("""
        import pytest

        @pytest.mark.parametrize("limit", [1, 2])
        @pytest.mark.novelty("small")
        def test_it(novelty_case, limit):
            assert len(novelty_case.outcome().votes) >= limit

        def test_plain():
            pass
    """)
    ran = ready.judge("judge", "", "test_own.py", dist=dist)
    assert ran.ret == 0, ran.said
    assert ran.counts() == {"passed": 14}
    assert len(ran.outcomes()) == 6


def test_a_virtual_environment_within_the_project(ready: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids stay as they are wherever the package lies, and pytest's reluctance to look into environments does not matter."""
    checkout = Path(pytest_novelty.__file__).parents[1]
    site = ready.path / ".venv" / "lib" / "site-packages"
    shutil.copytree(checkout / "pytest_novelty", site / "pytest_novelty", ignore=shutil.ignore_patterns("__pycache__"))
    for kind in ("suites", "prompts"):
        shutil.copytree(checkout / kind, site / "pytest_novelty" / "_data" / kind)
    (ready.path / ".venv" / "pyvenv.cfg").write_text("home = /usr/bin\n")
    monkeypatch.setenv("PYTHONPATH", str(site))
    ran = ready.judge("judge", "small", "-v", apart=True)
    assert (ran.ret, ran.counts()) == (0, {"passed": 7})
    assert f"{_case('i000')} PASSED" in ran.out
    ran = ready.judge("judge", "small", _case("i004"), apart=True)
    assert set(ran.outcomes()) == {"i004"}
