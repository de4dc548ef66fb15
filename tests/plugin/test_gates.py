"""Gates in a run: decisions and exit status, when they are not enforced, where they may come from."""

from __future__ import annotations

import pytest

from .making import Lab

_JUDGE = """
    def judge(request):
        log(request)
        wrong = int(request.ideas[0].title[1:4]) % 4 == 0
        answer = right(request)
        if wrong:
            answer = {"novel": not answer["novel"]} if "novel" in answer else {"winner": "AB"["BA".index(answer["winner"])]}
        return answer

    def first(request):
        return {"winner": "A"}

    def pytest_novelty_judges():
        return {"judge": judge, "first": first, "good": lambda request: right(request)}
"""
"""Right on three of four instances."""


@pytest.fixture
def ready(lab: Lab) -> Lab:
    lab.judges(_JUDGE)
    return lab


_PASS, _FAIL, _OPEN = "accuracy>=0.5", "tie_rate>=0.5", "accuracy<=0.6"


@pytest.mark.parametrize(
    ("gates", "policy", "ret", "dist"),
    [
        ([_PASS], "warn", 0, ""),
        ([_PASS, _OPEN], "warn", 0, ""),
        ([_PASS, _OPEN], "fail", 1, "-n2"),
        ([_PASS, _OPEN, _FAIL], "warn", 1, ""),
        ([_PASS, _OPEN, _FAIL], "warn", 1, "-n2"),
        ([_FAIL], "fail", 1, ""),
    ],
)
def test_decisions_and_exit_status(ready: Lab, gates: list[str], policy: str, ret: int, dist: str) -> None:
    ready.suite(n=40, votes=1, gates=gates)
    ran = ready.judge("judge", "small", f"--novelty-inconclusive={policy}", "-rfs", dist=dist)
    assert ran.ret == ret
    expected = {_PASS: "pass", _FAIL: "fail", _OPEN: "inconclusive"}
    assert ran.decisions() == {gate: expected[gate] for gate in gates}
    counts = {"passed": 40 + (_PASS in gates)}
    for gate in gates:
        if gate != _PASS:
            word = "failed" if gate == _FAIL or policy == "fail" else "skipped"
            counts[word] = counts.get(word, 0) + 1
    assert ran.counts() == counts
    if _OPEN in gates:
        assert "accuracy is 0.75 [0.588, 0.873], n = 40" in ran.plain
        assert "instances would decide" in ran.plain
    if _FAIL in gates:
        assert "FAILED novelty-suites/small::gate[judge-tie_rate-ge-0.5]" in ran.out
        assert "tie_rate>=0.5: tie_rate is 0 [0, 0.088], n = 40" in ran.plain


def test_not_enforced_under_k(ready: Lab, dist: str) -> None:
    ready.suite(n=40, votes=1, gates=[_FAIL, _PASS])
    ran = ready.judge("judge", "small", "-k", "i00 and not i009", "-rs", "--novelty-inconclusive=fail", dist=dist)
    assert (ran.ret, ran.counts()) == (
        0,
        {"passed": 9, "skipped": 2} if dist else {"passed": 9, "skipped": 2, "deselected": 31},
    )
    assert set(ran.decisions().values()) == {"not enforced"}
    assert "not enforced: 9 of 40 instances ran" in ran.plain


def test_not_enforced_after_x(ready: Lab, dist: str) -> None:
    ready.suite(n=40, votes=1, gates=[_FAIL, _PASS])
    ran = ready.judge("judge", "small", "-x", "--novelty-strict", "-rs", dist=dist)
    assert ran.ret == (2 if dist else 1)
    assert set(ran.decisions().values()) == {"not enforced"}
    assert f"not enforced: {len(ran.outcomes())} of 40 instances ran" in ran.plain
    assert "INTERNALERROR" not in ran.said
    assert "FAILED novelty-suites/small::gate" not in ran.out


def test_a_sample_is_enforced_and_samples_nest(ready: Lab, dist: str) -> None:
    ready.suite(n=40, votes=1, gates=[_FAIL])
    small = ready.judge("judge", "small", "--novelty-sample=12", dist=dist)
    assert small.ret == 1
    assert small.decisions() == {_FAIL: "fail"}
    assert len(small.outcomes()) == 12
    assert "12 instances (a sample of 40)" in small.out
    larger = ready.judge("judge", "small", "--novelty-sample=20")
    assert set(small.outcomes()) < set(larger.outcomes())
    assert len(larger.calls) == 8
    assert (
        len(
            ready.judge("judge", "small", "--novelty-sample=12", "--novelty-seed=1").outcomes().keys()
            - small.outcomes().keys()
        )
        > 0
    )
    assert len(ready.judge("judge", "small", "--novelty-sample=99").outcomes()) == 40


def test_decided_by_the_value(ready: Lab, dist: str) -> None:
    ready.suite(n=8, votes=1, gates=["accuracy>=0.75", "macro_f1<=0.6"])
    ran = ready.judge("judge", "small", "-rf", dist=dist)
    assert (ran.ret, set(ran.decisions().values())) == (0, {"inconclusive"})
    ran = ready.judge("judge", "small", "--novelty-decide=point", "-rf", dist=dist)
    assert ran.ret == 1
    assert ran.decisions() == {"accuracy>=0.75": "pass", "macro_f1<=0.6": "fail"}
    assert "decided by the value alone" in ran.plain
    ran = ready.judge("judge", "small", "--novelty-gate=accuracy@point>=0.75")
    assert (ran.ret, ran.gate("accuracy@point>=0.75")["decision"]) == (0, "pass")


def test_gates_that_cannot_be_decided_are_announced(ready: Lab, dist: str) -> None:
    ready.suite(
        n=12, gates=["accuracy>=0.8", "tie_rate<=0.05", "invalid_rate<=0.5", "cost_usd<=1", "macro_f1@point>=0.999"]
    )
    ran = ready.judge("good", "small", "--collect-only")
    announced = [line for line in ran.out.splitlines() if "no outcome can pass a gate" in line]
    assert len(announced) == 2
    assert (
        "small: accuracy>=0.8: 12 instances cannot pass it even with every instance right; it takes 17" in announced[0]
    )
    assert "small: tie_rate<=0.05: 12 instances cannot pass it even without a single event; it takes 72" in announced[1]
    ran = ready.judge("good", "small", dist=dist)
    assert ran.out.count("no outcome can pass a gate") == 2
    assert ran.out.index("no outcome can pass") < ran.out.index("100%")
    assert "no outcome can pass" not in ready.judge("good", "small", "--novelty-decide=point", "--collect-only").out


def test_strata_variants_and_absolute_values(ready: Lab, dist: str) -> None:
    gates = [
        "accuracy@area:bio@point>=0.7",
        "accuracy@area:cs@point>=0.9",
        "accuracy[Q]@point>=0.7",
        "accuracy[R]@point>=0.7",
    ]
    ready.suite(n=40, votes=1, gates=gates, variants={"Q": {"effort": "low"}, "R": {"effort": "high"}})
    ready.suite(
        "pairs",
        n=40,
        protocol="pairwise",
        votes=1,
        gates=["abs(position_bias)<=0.1", "position_bias<=0.1", "position_bias>=-0.1"],
    )
    ran = ready.judge("judge", "small", "--novelty-variant=Q", "-rs", dist=dist)
    # the wrong ones, i000, i004, ..., are all "bio": half of those 20
    assert ran.decisions() == dict(zip(gates, ["fail", "pass", "pass", "not enforced"], strict=True))
    assert (ran.gate(gates[0])["value"], ran.gate(gates[0])["n"]) == (0.5, 20)
    assert "the variant R was not run" in ran.plain
    assert ran.ret == 1
    ran = ready.judge("good first", "pairs")
    assert {(gate["judge"], gate["name"]): gate["decision"] for gate in ran.report["gates"]} == {
        ("good", "abs(position_bias)<=0.1"): "pass",
        ("good", "position_bias<=0.1"): "pass",
        ("good", "position_bias>=-0.1"): "pass",
        ("first", "abs(position_bias)<=0.1"): "fail",
        ("first", "position_bias<=0.1"): "fail",
        ("first", "position_bias>=-0.1"): "pass",
    }


def test_an_option_replaces_the_gate_on_the_same_quantity(ready: Lab, dist: str) -> None:
    ready.suite(n=40, votes=1, gates=["accuracy>=0.99", "accuracy<=0.9", "tie_rate<=0.2"])
    options = [
        "--novelty-gate=accuracy>=0.5",
        "--novelty-gate=accuracy@point>=0.7",
        "--novelty-gate=accuracy@area:cs>=0.5",
    ]
    ran = ready.judge("judge", "small", *options, dist=dist)
    assert ran.ret == 0, ran.said
    assert set(ran.decisions().values()) == {"pass"}
    assert "accuracy>=0.99" not in ran.decisions()
    assert {"accuracy<=0.9", "tie_rate<=0.2", "accuracy@area:cs>=0.5"} < set(ran.decisions())


def test_two_gates_of_a_suite_on_one_quantity_are_both_there(ready: Lab) -> None:
    """Or refused; but none may vanish without a word."""
    ready.suite(n=8, votes=1, gates=["accuracy@point>=0.9", "accuracy>=0.1"])
    ran = ready.judge()
    if ran.ret == 4:
        assert "accuracy" in ran.said
    else:
        assert ran.decisions() == {"accuracy@point>=0.9": "fail", "accuracy>=0.1": "pass"}


_UNKNOWN = {
    "acuracy>=0.5": "Did you mean 'accuracy'?",
    "strict_accuracy>=0.5": "unknown pointwise metric 'strict_accuracy'",
    "accuracy[Z]>=0.5": "unknown variant",
    "accuracy@era:old>=0.5": "unknown stratum",
    "accuracy@area:bix>=0.5": "Did you mean 'bio'?",
    "accuracy@area>=0.5": "@area",
    "abs(accuracy>=0.5": "cannot read the gate",
    "accuracy==0.5": "cannot read the gate",
}


@pytest.mark.parametrize("gate", _UNKNOWN)
def test_gates_that_name_what_there_is_not(ready: Lab, gate: str) -> None:
    ready.suite()
    ran = ready.judge("judge", "small", f"--novelty-gate={gate}")
    assert (ran.ret, ran.calls) == (4, [])
    ran.assert_clean()
    assert _UNKNOWN[gate] in ran.said
    ready.suite(gates=[gate])
    ran = ready.judge("judge", "small")
    assert (ran.ret, ran.calls) == (4, [])
    ran.assert_clean()
    assert "suite.yaml" in ran.said
    assert _UNKNOWN[gate] in ran.said


def test_a_gate_of_the_options_applies_where_it_fits(ready: Lab, dist: str) -> None:
    ready.suite(n=8, votes=1)
    ready.suite("pairs", n=8, protocol="pairwise", votes=1)
    options = [
        "--novelty-gate=accuracy@point>=0.7",
        "--novelty-gate=strict_accuracy@point>=0.7",
        "--novelty-gate=tie_rate@point<=0.1",
    ]
    ran = ready.judge("judge", "small pairs", *options, dist=dist)
    assert ran.ret == 0, ran.said
    assert [(gate["suite"], gate["metric"], gate["decision"]) for gate in ran.report["gates"]] == [
        ("small", "accuracy", "pass"),
        ("small", "tie_rate", "pass"),
        ("pairs", "strict_accuracy", "pass"),
        ("pairs", "tie_rate", "pass"),
    ]


def test_gates_of_suites_that_marks_name(ready: Lab, dist: str) -> None:
    ready.suite(n=8, votes=1, gates=["accuracy@point>=0.9"])
    ready.test_file("""
        import pytest

        @pytest.mark.novelty("small")
        def test_it(novelty_case):
            novelty_case.outcome()
    """)
    ran = ready.judge("judge", "", "test_own.py", "-rf", dist=dist)
    assert ran.ret == 1
    assert ran.decisions() == {"accuracy@point>=0.9": "fail"}
    assert "FAILED novelty-suites/small::gate[judge-accuracy-point-ge-0.9]" in ran.out


def test_failures_count_as_told(lab: Lab, dist: str) -> None:
    lab.judges("""
        def judge(request):
            return "prose" if request.idea.title < "i002" else right(request)
        def pytest_novelty_judges():
            return {"judge": judge}
    """)
    lab.suite(n=8, votes=1, gates=["invalid_rate@point<=1"])
    for policy, accuracy, n in (("wrong", 0.75, 8), ("drop", 1.0, 6), ("tie", 0.75, 8)):
        ran = lab.judge("judge", "small", f"--novelty-failures={policy}", dist=dist if policy == "drop" else "")
        assert ran.ret == 0
        assert (ran.metric("accuracy")["value"], ran.metric("accuracy")["n"]) == (accuracy, n)


def test_a_threshold_turns_scores_into_labels(lab: Lab, dist: str) -> None:
    lab.judges("""
        def judge(request):
            return {"score": 0.6 if is_new(request.idea) else 0.3}
        judge.score_range = (0, 1)
        def pytest_novelty_judges():
            return {"judge": judge}
    """)
    lab.suite(n=8, votes=1)
    assert lab.judge("judge").metric("accuracy")["value"] is None
    ran = lab.judge("judge", "small", "--novelty-threshold=0.5", dist=dist)
    assert ran.metric("accuracy")["value"] == 1.0
    assert lab.judge("judge", "small", "--novelty-threshold=0.2").metric("accuracy")["value"] == 0.5
    assert lab.judge("judge", "small", "--novelty-threshold=cv").metric("accuracy")["value"] == 1.0
