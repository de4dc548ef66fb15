"""What activates the plugin, how names and values resolve, and what a wrong one is told."""

from __future__ import annotations

import textwrap

import pytest

from .making import Lab

_RIGHT = """
    def pytest_novelty_judges():
        return {"judge": lambda request: (log(request), right(request))[1]}
"""


@pytest.fixture
def ready(lab: Lab) -> Lab:
    """A right judge and a suite of six."""
    lab.judges(_RIGHT)
    lab.suite()
    return lab


# --- unknown names ------------------------------------------------------------------------------------------


def test_unknown_judge(ready: Lab, dist: str) -> None:
    ran = ready.judge("jugde", dist=dist)
    assert (ran.ret, ran.calls) == (4, [])
    ran.assert_clean()
    assert "unknown judge 'jugde'. Did you mean 'judge'? Known: chance, judge, lexical" in ran.said
    assert f"conftests read: {ready.path / 'conftest.py'}" in ran.said


def test_unknown_suite(ready: Lab, dist: str) -> None:
    ran = ready.judge("judge", "landmark-pairwise", dist=dist)
    assert (ran.ret, ran.calls) == (4, [])
    ran.assert_clean()
    assert (
        "unknown suite 'landmark-pairwise'. Did you mean 'landmarks-pairwise'? Known: landmarks-entailment, "
        in ran.said
    )


@pytest.mark.parametrize("option", ["--novelty-suite", "--novelty-store", "--novelty-report", "--novelty-baseline"])
def test_names_that_no_file_can_have(ready: Lab, option: str) -> None:
    """The system's words about a path that somebody named, not a traceback."""
    (ready.path / "long.yaml").write_text(f"format: novelty-suite/1\nname: long\nextends: {'x' * 300}\n")
    if option == "--novelty-suite":
        ran = ready.judge("judge", "long.yaml")
    else:
        ran = ready.judge("judge", "landmarks-pairwise", f"{option}={'x' * 300}.json")
    assert (ran.ret, ran.calls) == (4, [])
    ran.assert_clean()
    assert "File name too long" in ran.said


@pytest.mark.parametrize(
    ("judge", "said"),
    [
        ("nowhere:judge", "No module named 'nowhere'"),
        ("planted:oracel", "Did you mean 'oracle'?"),
        ("planted", "module:attribute"),
        ("replay:none.jsonl", "no such file of records"),
        ("broken_module:judge", "ZeroDivisionError"),
        ("planted:__name__", "cannot be called"),
    ],
)
def test_judges_that_cannot_be_had(ready: Lab, judge: str, said: str) -> None:
    ready.planted()
    (ready.path / "broken_module.py").write_text("1 / 0\n")
    ran = ready.judge(judge)
    assert ran.ret == 4
    ran.assert_clean()
    assert said in ran.said


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        ("timeout_s", "0"),
        ("score_range", "(1, 0)"),
        ("protocols", "('pairs',)"),
        ("may_tie", "'no'"),
        ("cost_usd_per_call", "-1"),
    ],
)
def test_a_wrong_declaration(lab: Lab, attribute: str, value: str) -> None:
    lab.suite()
    lab.judges(f"""
        def judge(request):
            return right(request)
        judge.{attribute} = {value}
        def pytest_novelty_judges():
            return {{"judge": judge}}
    """)
    ran = lab.judge()
    assert ran.ret == 4
    ran.assert_clean()
    assert f"'judge' declares {attribute} = " in ran.said


# --- values -------------------------------------------------------------------------------------------------

_BAD = [
    ("--novelty-votes", "0"),
    ("--novelty-votes", "three"),
    ("--novelty-votes", "1.5"),
    ("--novelty-orders", "ba"),
    ("--novelty-sample", "0"),
    ("--novelty-sample", "some"),
    ("--novelty-decide", "coin"),
    ("--novelty-inconclusive", "ignore"),
    ("--novelty-failures", "right"),
    ("--novelty-threshold", "high"),
    ("--novelty-threshold", "nan"),
    ("--novelty-report", "report.pdf"),
    ("--novelty-report", "small"),
    ("--novelty-budget", "-1"),
    ("--novelty-budget", "much"),
    ("--novelty-concurrency", "0"),
    ("--novelty-missing", "skip"),
    ("--novelty-seed", "-1"),
    ("--novelty-seed", "x"),
]


@pytest.mark.parametrize(("option", "value"), _BAD)
def test_bad_values(ready: Lab, option: str, value: str, dist: str) -> None:
    ran = ready.judge("judge", "small", f"{option}={value}", dist=dist)
    assert (ran.ret, ran.calls) == (4, [])
    ran.assert_clean()
    assert option in ran.said
    assert value in ran.said


@pytest.mark.parametrize(
    ("option", "value", "said"),
    [
        ("--novelty-gate", "accuracy", "cannot read the gate 'accuracy'"),
        ("--novelty-gate", "acuracy>=0.5", "Did you mean 'accuracy'?"),
        ("--novelty-gate", "accuracy>=high", "'high'"),
        ("--novelty-variant", "nope", "unknown variant 'nope'"),
        ("--novelty-store", "small", "small"),
        ("--novelty-judge", "", "judge"),
        ("--novelty-suite", "", "suite"),
    ],
)
def test_bad_names(ready: Lab, option: str, value: str, said: str, dist: str) -> None:
    ran = ready.judge("judge", "small", f"{option}={value}", dist=dist)
    assert (ran.ret, ran.calls) == (4, [])
    ran.assert_clean()
    assert said in ran.said


def test_a_bad_ini_value_names_its_key_and_file(ready: Lab, dist: str) -> None:
    ready.ini("novelty_votes = many")
    ran = ready.judge(dist=dist)
    assert ran.ret == 4
    ran.assert_clean()
    assert f"novelty_votes in {ready.path / 'pytest.ini'} is 'many'" in ran.said


@pytest.mark.parametrize("broken", ["twice", "unlabelled", "empty", "key", "bomb", "long"])
def test_a_broken_suite_stops_before_any_call(ready: Lab, broken: str, dist: str) -> None:
    instances = ready.path / "small" / "instances.jsonl"
    lines = instances.read_text().splitlines()
    said = "instances.jsonl"
    if broken == "twice":
        lines.append(lines[0])
    elif broken == "unlabelled":
        lines[3] = lines[3].replace(', "gold": "novel"', "")
    elif broken == "empty":
        lines[3] = lines[3].replace("Thought 3 of a new thing.", "")
    elif broken == "key":
        lines[3] = lines[3].replace('"gold"', '"golden"')
    elif broken == "long":
        lines[3] = lines[3].replace("Thought", "x" * 9_000_000)
    else:
        said = "suite.yaml"
        anchors = "".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9) if k else 'x'}]\n" for k in range(12))
        (ready.path / "small" / "suite.yaml").write_text(anchors)
    instances.write_text("\n".join(lines) + "\n")
    ran = ready.judge(dist=dist)
    assert (ran.ret, ran.calls) == (4, [])
    ran.assert_clean()
    assert said in ran.said
    if broken not in ("bomb", "long"):
        assert "i003" in ran.said or "i000" in ran.said


# --- where the judge comes from -----------------------------------------------------------------------------


def test_addopts_activate(ready: Lab, dist: str) -> None:
    ready.ini("addopts = --novelty-judge=judge", "novelty_suite = small")
    ran = ready.pytest(dist=dist)
    assert (ran.ret, len(ran.calls)) == (0, 12)


def test_all_kinds_of_judges(lab: Lab, dist: str) -> None:
    lab.suite(n=4)
    lab.suite("pairs", n=4, protocol="pairwise")
    lab.judges("""
        import contextlib, functools

        def mark(word):
            with open(HERE / "entered.log", "a") as file:
                file.write(f"{word} {os.getpid()}\\n")

        class Managed:
            def __enter__(self):
                mark("enter")
                return self
            def __exit__(self, *error):
                mark("leave")
            def __call__(self, request):
                return right(request)

        class AsyncManaged:
            async def __aenter__(self):
                mark("aenter")
                self.lock = asyncio.Lock()
                return self
            async def __aexit__(self, *error):
                mark("aleave")
            async def __call__(self, request):
                async with self.lock:
                    await asyncio.sleep(0)
                return right(request)

        class Plain:
            def __call__(self, request):
                return right(request)

        async def awaiting(request):
            await asyncio.sleep(0.001)
            return right(request)

        def told(prefix, request):
            return right(request)

        def pytest_novelty_judges():
            return {
                "a-lambda": lambda request: right(request),
                "text": lambda request: "I think so. " + json.dumps({**right(request), "reasoning": "r"}),
                "octets": lambda request: json.dumps({**right(request), "reasoning": "r"}).encode(),
                "async": awaiting,
                "partial": functools.partial(told, "x"),
                "class": Plain,
                "managed": Managed(),
                "async-managed": AsyncManaged(),
                "Upper Case": lambda request: right(request),
            }
    """)
    (lab.path / "module.py").write_text("from conftest import right\n\nclass Inner:\n    call = staticmethod(right)\n")
    names = ["a-lambda", "text", "octets", "async", "partial", "class", "managed", "async-managed", "module:Inner.call"]
    options = [f"--novelty-judge={name}" for name in (*names, "Upper Case")]
    ran = lab.judge("", "small pairs", *options, dist=dist)
    assert ran.ret == 0, ran.said
    judges = [judge["name"] for judge in ran.report["run"]["judges"]]
    assert judges == [
        "a-lambda",
        "text",
        "octets",
        "async",
        "partial",
        "class",
        "managed",
        "async-managed",
        "call",
        "upper-case",
    ]
    for judge in judges:
        assert set(ran.outcomes(judge).values()) == {"correct"}, judge
    entered = [line.split() for line in (lab.path / "entered.log").read_text().splitlines()]
    processes = {pid for _, pid in entered}
    assert len(processes) == (2 if dist else 1)
    for word in ("enter", "leave", "aenter", "aleave"):
        assert sorted(pid for said, pid in entered if said == word) == sorted(processes), word


def test_a_conftest_in_a_test_folder_is_read(lab: Lab, dist: str) -> None:
    lab.suite()
    lab.judges(_RIGHT)
    (lab.path / "tests").mkdir()
    (lab.path / "conftest.py").rename(lab.path / "tests" / "conftest.py")
    ran = lab.judge(dist=dist)
    assert ran.ret == 0
    assert set(ran.outcomes().values()) == {"correct"}


def test_a_judge_given_twice_runs_once(ready: Lab) -> None:
    assert len(ready.judge("judge judge").calls) == 12


def test_two_judges_of_one_name(ready: Lab, dist: str) -> None:
    for name in ("one", "two"):
        (ready.path / f"{name}.py").write_text("def mine(request):\n    return {'novel': True}\n")
    ran = ready.judge("one:mine two:mine", dist=dist)
    assert ran.ret == 4
    ran.assert_clean()
    assert "'one:mine' and 'two:mine' would both be called 'mine'" in ran.said
    (ready.path / "tests").mkdir()
    (ready.path / "tests" / "conftest.py").write_text(
        "def pytest_novelty_judges():\n    return {'judge': lambda request: ''}\n"
    )
    ran = ready.judge(dist=dist)
    assert ran.ret == 4
    ran.assert_clean()
    assert "two judges are registered as 'judge'" in ran.said


@pytest.mark.parametrize(
    ("hook", "value", "said"),
    [
        ("judges", "['judge']", "pytest_novelty_judges returned list"),
        ("judges", "{'': right}", "pytest_novelty_judges returned the name ''"),
        ("judges", "{1: right}", "pytest_novelty_judges returned the name 1"),
        ("judges", "{'judge': 'gpt'}", "cannot be called"),
        ("judges", "{'judge': None}", "cannot be called"),
        ("judges", "None", "unknown judge 'judge'"),
        ("suites", "'small'", "pytest_novelty_suites returned str"),
        ("suites", "{'mine': 5}", "pytest_novelty_suites"),
        ("suites", "{'mine': None}", "pytest_novelty_suites"),
        ("gates", "'accuracy>=0.5'", "pytest_novelty_gates"),
        ("gates", "5", "pytest_novelty_gates"),
        ("gates", "[0.5]", "pytest_novelty_gates"),
        ("gates", "['acuracy>=0.5']", "Did you mean 'accuracy'?"),
    ],
)
def test_a_hook_that_returns_nonsense(lab: Lab, hook: str, value: str, said: str) -> None:
    lab.suite()
    lab.judges(f"{_RIGHT if hook != 'judges' else ''}\n    def pytest_novelty_{hook}():\n        return {value}\n")
    ran = lab.judge()
    assert (ran.ret, ran.calls) == (4, [])
    ran.assert_clean()
    assert said in ran.said


def test_hooks_give_suites_and_gates(lab: Lab, dist: str) -> None:
    lab.suite("ours", n=40)
    (lab.path / "deep").mkdir()
    (lab.path / "ours").rename(lab.path / "deep" / "ours")
    lab.suite("other", n=4)
    lab.judges(f"""{_RIGHT}
    def pytest_novelty_suites():
        return {{"by-path": HERE / "deep" / "ours", "by-text": "other"}}

    def pytest_novelty_gates():
        return ["accuracy>=0.9", "invalid_rate<=0.2"]
    """)
    ran = lab.judge("judge", "by-path by-text", dist=dist)
    assert ran.ret == 0, ran.said
    gates = {(gate["suite"], gate["name"]): gate["decision"] for gate in ran.report["gates"]}
    assert gates == {
        ("ours", "accuracy>=0.9"): "pass",
        ("ours", "invalid_rate<=0.2"): "pass",
        ("other", "accuracy>=0.9"): "inconclusive",
        ("other", "invalid_rate<=0.2"): "inconclusive",
    }


# --- what runs ----------------------------------------------------------------------------------------------


def test_paths_given(ready: Lab, dist: str) -> None:
    ready.test_file("def test_plain():\n    pass\n")
    ran = ready.judge("judge", "small", "test_own.py", dist=dist)
    assert (ran.ret, ran.calls, ran.counts()) == (0, [], {"passed": 1})
    assert "suites: not run, paths are given" in ran.out
    ran = ready.judge(dist=dist)
    assert ran.counts() == {"passed": 6}
    assert "test_own" not in ran.out
    assert "not run" not in ran.out


def test_testpaths_are_not_paths_given(ready: Lab, dist: str) -> None:
    ready.test_file("def test_plain():\n    pass\n", "checks/test_own.py")
    ready.ini("testpaths = checks")
    ran = ready.judge(dist=dist)
    assert (ran.ret, ran.counts()) == (0, {"passed": 6})


def test_the_command_line_wins_over_ini(ready: Lab, dist: str) -> None:
    ready.suite("other", n=3)
    ready.ini("novelty_votes = 3", "novelty_suite = small", "novelty_gate = accuracy>=0.3", "novelty_seed = 5",
              "novelty_store = a.sqlite",
              "novelty_strict = true", "novelty_report = report.json")  # fmt: skip
    ran = ready.pytest("--novelty-judge=judge", dist=dist)
    assert (ran.ret, len(ran.calls)) == (0, 18)
    assert (ready.path / "a.sqlite").exists()
    assert (ran.report["run"]["seed"], ran.report["run"]["settings"]["strict"]) == (5, True)
    assert ran.decisions() == {"accuracy>=0.3": "pass"}
    ran = ready.pytest("--novelty-judge=judge", "--novelty-votes=1", "--novelty-suite=other", "--novelty-gate=tie_rate<=0.9",
                       "--novelty-seed=0", "--novelty-store=b.sqlite", dist=dist)  # fmt: skip
    assert (ran.ret, len(ran.calls)) == (0, 3)
    assert (ready.path / "b.sqlite").exists()
    assert ran.report["run"]["seed"] == 0
    assert ran.decisions() == {"tie_rate<=0.9": "pass"}


def test_a_suite_in_ini_is_relative_to_the_file(ready: Lab, monkeypatch: pytest.MonkeyPatch, dist: str) -> None:
    ready.ini("novelty_suite = small", "novelty_report = report.json")
    (ready.path / "deep").mkdir()
    monkeypatch.chdir(ready.path / "deep")
    ran = ready.pytest("--novelty-judge=judge", dist=dist)
    assert ran.ret == 0, ran.said
    assert len(ran.outcomes()) == 6
    assert (ready.path / ".novelty" / "verdicts.sqlite").exists()
    assert [path.name for path in (ready.path / "deep").iterdir()] == []


def test_default_suites_of_a_free_judge(lab: Lab) -> None:
    ran = lab.pytest("--novelty-judge=chance", "--collect-only")
    assert ran.ret == 0
    assert "novelty suite: landmarks-pairwise" in ran.out
    assert "novelty suite: landmarks-pointwise" in ran.out
    assert "free" in ran.out


def test_a_judge_that_may_cost_money_needs_a_word(ready: Lab, dist: str) -> None:
    ran = ready.pytest("--novelty-judge=chance", "--novelty-judge=judge", dist=dist)
    assert ran.ret == 4
    ran.assert_clean()
    for word in ("'judge'", "--novelty-suite", "--novelty-budget", "--novelty-dry-run", "cost_usd_per_call = 0.0"):
        assert word in ran.said
    assert ready.pytest("--novelty-judge=judge", "--novelty-budget=1", "--collect-only", "-q").ret == 0
    assert ready.calls_made() == 0


def test_dist_each_is_refused(ready: Lab) -> None:
    ran = ready.judge("judge", "small", "--dist=each", dist="-n2")
    assert (ran.ret, ran.calls) == (4, [])
    ran.assert_clean()
    assert "--dist each" in ran.said


@pytest.mark.parametrize("mode", ["loadscope", "loadfile", "worksteal", "loadgroup"])
def test_other_ways_of_distributing(ready: Lab, mode: str) -> None:
    ran = ready.judge("judge", "small", f"--dist={mode}", dist="-n2")
    assert (ran.ret, len(ran.calls)) == (0, 12)
    assert set(ran.outcomes().values()) == {"correct"}
    assert "workers look ahead by one case only" in ran.out


HEAVY = ("numpy", "rich", "scipy", "rapidfuzz", "pytest_novelty.results", "pytest_novelty.reports.text")


def test_what_only_a_report_needs_is_not_imported_before_the_first_case(ready: Lab, dist: str) -> None:
    """A server would be asked that much later, and no worker needs it at all."""
    path = ready.path / "seen.txt"
    source = f"""
        import os, sys

        def note():
            with open({str(path)!r}, "a") as file:
                file.write(" ".join(name for name in {HEAVY!r} if name in sys.modules) + "\\n")

        def pytest_collection_finish(session):
            note()

        def pytest_unconfigure(config):
            if hasattr(config, "workerinput"):
                note()
    """
    (ready.path / "conftest.py").write_text(textwrap.dedent(source) + (ready.path / "conftest.py").read_text())
    ran = ready.judge(dist=dist, apart=True)
    assert ran.ret == 0, ran.said
    assert path.read_text().split("\n") == [""] * (5 if dist else 2)
