"""Judges that misbehave: each costs its own call, says what happened, and leaves every other case unharmed."""

from __future__ import annotations

import re
import time
from pathlib import Path

import pytest

from pytest_novelty.evaluation import evaluate

from .making import Lab, Ran, write_suite

_BAD = "i002"
"""The instance on which the judges below misbehave; they are right on all others."""

_HEAD = """
    def bad(request):
        return request.ideas[0].title.startswith("i002")

    def pytest_novelty_judges():
        return {name.replace("_", "-"): value for name, value in globals().items() if getattr(value, "is_judge", False)}

    def judge(function):
        function.is_judge = True
        return function
"""

_AT_ONCE = (
    _HEAD
    + '''
    class Mean(BaseException):
        def __str__(self):
            raise RuntimeError("no message for you")

    class Odd:
        def __eq__(self, other):
            raise RuntimeError("not comparable")
        def __repr__(self):
            raise RuntimeError("not shown")

    @judge
    def raises(request):
        if bad(request):
            raise ConnectionError("quota exceeded")
        return right(request)

    @judge
    def exits(request):
        if bad(request):
            sys.exit("enough")
        return right(request)

    @judge
    def interrupts(request):
        if bad(request):
            raise KeyboardInterrupt
        return right(request)

    @judge
    def mean(request):
        if bad(request):
            raise Mean
        return right(request)

    @judge
    def nonsense(request):
        return 42 if bad(request) else right(request)

    @judge
    def nothing(request):
        return None if bad(request) else right(request)

    @judge
    def odd(request):
        return Odd() if bad(request) else right(request)

    @judge
    def odd_within(request):
        return {"novel": Odd()} if bad(request) else right(request)

    @judge
    def endless(request):
        answer = {"novel": True}
        answer["self"] = answer
        return answer if bad(request) else right(request)

    @judge
    def no_number(request):
        return {"novel": True, "score": float("nan")} if bad(request) else right(request)

    @judge
    def huge(request):
        return "x" * 9_000_000 if bad(request) else right(request)

    @judge
    def deep(request):
        return "[" * 100_000 if bad(request) else right(request)

    @judge
    def octets(request):
        return b"\\xff\\xfe" if bad(request) else right(request)

    @judge
    def generates(request):
        return (piece for piece in "abc") if bad(request) else right(request)

    @judge
    def escapes(request):
        return "\\x1b[2J\\x00 no verdict" if bad(request) else right(request)

    async def later(request):
        if bad(request):
            raise ValueError("too late")
        await asyncio.sleep(0)
        return right(request)

    @judge
    def returns_coroutine(request):
        return later(request)

    @judge
    async def async_raises(request):
        return await later(request)

    @judge
    async def async_exits(request):
        if bad(request):
            raise SystemExit(3)
        return right(request)

    @judge
    async def cancels(request):
        if bad(request):
            raise asyncio.CancelledError
        return right(request)
    cancels.timeout_s = 0.5

    @judge
    def mutates(request):
        answer = right(request)
        request.messages.clear()
        request.params["x"] = 1
        request.schema.clear()
        if bad(request):
            request.ideas[0].text = "mine now"
        return answer

    @judge
    def forces(request):
        """Gets round the frozen dataclasses; other votes must see what they would have seen."""
        answer = right(request)
        if bad(request) and request.sample == 0:
            object.__setattr__(request, "ideas", ())
            object.__setattr__(request, "sample", 99)
        return answer
'''
)

_SAID = {
    "raises": "ConnectionError: quota exceeded (",
    "exits": "SystemExit: enough",
    "interrupts": "KeyboardInterrupt",
    "mean": "Mean: (its message cannot be shown)",
    "nonsense": "the answer must be a text or a dict, not int 42",
    "nothing": "not NoneType None",
    "odd": "not",
    "odd-within": "not",
    "endless": "not a JSON value",
    "no-number": "not a JSON value",
    "huge": "9,000,0",
    "deep": "the answer has no complete JSON object",
    "octets": "not UTF-8",
    "generates": "not a JSON value",
    "escapes": "the answer has no complete JSON object",
    "returns-coroutine": "ValueError: too late (",
    "async-raises": "ValueError: too late (",
    "async-exits": "SystemExit: 3",
    "cancels": "cancel",
    "mutates": "FrozenInstanceError",
}
"""What the failing case of each judge must say."""


def _failure_of(ran: Ran, judge: str) -> str:
    """The part of the output that explains the failed case of a judge."""
    title = f"test_novelty[small-{_BAD}-{judge}-reference] _"
    assert title in ran.out, (judge, ran.out[-3000:])
    return " ".join(re.split("\n(?:____|====)", ran.out.partition(title)[2])[0].split())


def test_misbehaviour_at_once(lab: Lab, dist: str) -> None:
    lab.judges(_AT_ONCE)
    lab.suite(n=4)
    ran = lab.judge(" ".join((*_SAID, "forces")), "small", "-rN", "--novelty-concurrency=8", dist=dist, apart=True)
    assert ran.ret == 1
    for judge, said in _SAID.items():
        outcomes = ran.outcomes(judge)
        assert outcomes.pop(_BAD) == "invalid", judge
        assert outcomes == dict.fromkeys(("i000", "i001", "i003"), "correct"), judge
        explained = _failure_of(ran, judge)
        assert f"2 of 2 answers of {judge} are not valid verdicts" in explained
        assert said in explained, (judge, explained)
        assert len(explained) < 8000, judge
    assert set(ran.outcomes("forces").values()) == {"correct"}
    assert ran.counts() == {"failed": len(_SAID), "passed": 3 * len(_SAID) + 4}
    assert "\x1b[2J" not in ran.said
    assert "\x00" not in ran.said
    assert "INTERNALERROR" not in ran.said
    assert "conftest.py:" in _failure_of(ran, "raises")  # where it was raised


_SLOWLY = (
    _HEAD
    + """
    @judge
    def hangs(request):
        if bad(request):
            time.sleep(60)
        return right(request)

    @judge
    async def awaits(request):
        if bad(request):
            await asyncio.Event().wait()
        return right(request)

    @judge
    async def clings(request):
        while bad(request):
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                pass
        return right(request)

    @judge
    async def blocks(request):
        if bad(request):
            time.sleep(60)
        await asyncio.sleep(0)
        return right(request)

    for each in (hangs, awaits, clings, blocks):
        each.timeout_s = 0.3
"""
)


def test_misbehaviour_in_time(lab: Lab, dist: str) -> None:
    lab.judges(_SLOWLY)
    lab.suite(n=4, votes=1)
    began = time.monotonic()
    ran = lab.judge("hangs awaits clings blocks", "small", "-rN", dist=dist, apart=True)
    assert time.monotonic() - began < 40  # no thread keeps the process
    assert ran.ret == 1
    for judge in ("hangs", "awaits", "clings", "blocks"):
        outcomes = ran.outcomes(judge)
        assert outcomes.pop(_BAD) == "invalid", judge
        assert outcomes == dict.fromkeys(("i000", "i001", "i003"), "correct"), judge
        assert "timeout (timeout): no answer within 0.3 s; the call was given up" in _failure_of(ran, judge)
    assert ran.counts() == {"failed": 4, "passed": 12}
    assert any("1 calls that timed out could not be ended" in note for note in ran.report["notes"])


def test_a_hung_judge_costs_only_its_own_slot(lab: Lab) -> None:
    lab.judges("""
        def judge(request):
            log(request)
            if request.ideas[0].title.startswith("i000"):
                time.sleep(60)
            return right(request)
        judge.timeout_s = 0.3
        def pytest_novelty_judges():
            return {"judge": judge}
    """)
    lab.suite(n=12, votes=1)
    ran = lab.judge("judge", "small", "--novelty-concurrency=1", apart=True)
    assert ran.ret == 1
    assert list(ran.outcomes().values()).count("correct") == 11
    assert len(ran.calls) == 12
    assert ran.report["calls"]["failed"] == 1


@pytest.mark.parametrize("gated", [False, True], ids=["ungated", "gated"])
def test_invalid_answers(lab: Lab, gated: bool, dist: str) -> None:
    lab.judges("""
        def judge(request):
            if request.ideas[0].title.startswith("i001"):
                return "The answer is: novel, without doubt."
            if request.ideas[0].title.startswith("i002") and request.sample:
                raise OSError("gone")
            return right(request)
        def pytest_novelty_judges():
            return {"judge": judge}
    """)
    lab.suite(n=4, gates=["tie_rate@point<=0.5"])
    options = ["--novelty-gate=invalid_rate@point<=0.6"] if gated else []
    ran = lab.judge("judge", "small", "-v", *options, dist=dist)
    assert ran.ret == 1
    assert ran.outcomes() == {"i000": "correct", "i001": "invalid", "i002": "correct", "i003": "correct"}
    failed = 1 if gated else 2  # a judge that raised fails its case whatever is gated
    assert ran.counts() == {"failed": failed, "passed": 4 - failed + 1 + gated}
    assert ran.out.count(" INVALID") == 2
    assert "OSError: gone" in ran.plain
    if not gated:
        assert "unparsed (not JSON): the answer has no complete JSON object" in ran.plain
        assert 'answer: "The answer is: novel, without doubt."' in ran.plain
    assert ran.metric("invalid_rate")["value"] == 0.5
    assert "2 not JSON" in ran.metric("invalid_rate")["note"]


def test_a_judge_that_cannot_be_entered(lab: Lab, dist: str) -> None:
    lab.judges("""
        class Closed:
            def __enter__(self):
                raise PermissionError("no key")
            def __exit__(self, *error):
                (HERE / "left.log").write_text("left")
            def __call__(self, request):
                log(request)
                return right(request)

        class Slow(Closed):
            timeout_s = 0.3
            async def __aenter__(self):
                await asyncio.sleep(60)
            async def __aexit__(self, *error):
                pass

        class Stuck(Closed):
            def __enter__(self):
                return self
            def __exit__(self, *error):
                raise RuntimeError("cannot close")

        def pytest_novelty_judges():
            return {"closed": Closed(), "slow": Slow(), "stuck": Stuck(), "good": lambda request: right(request)}
    """)
    lab.suite(n=4)
    ran = lab.judge("closed slow stuck good", "small", "-rN", dist=dist, apart=True)
    assert ran.ret == 1
    assert set(ran.outcomes("good").values()) == set(ran.outcomes("stuck").values()) == {"correct"}
    assert ran.outcomes("closed") == {}
    assert {call[0] for call in ran.calls} == {"judge"}
    assert len(ran.calls) == 8
    assert ran.counts() == {"failed": 8, "passed": 8}
    told = " ".join(ran.plain.split())  # by the first case of a process; the others name it
    assert "the judge 'closed' could not be entered: PermissionError: no key" in told
    assert "the judge 'slow' could not be entered: TimeoutError" in told
    assert "not judged, for the same reason as test_novelty[small-i00" in told or dist
    assert "INTERNALERROR" not in ran.said
    assert not (lab.path / "left.log").exists()
    if not dist:
        assert any("RuntimeError: cannot close" in note for note in ran.report["notes"])


def test_answers_with_more_than_a_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Other keys are ignored, known ones are checked; secrets are masked in what is kept."""
    monkeypatch.setenv("MY_API_KEY", "sk-very-secret-1234")
    suite = write_suite(tmp_path, n=4, votes=1)

    def judge(request: object) -> dict[str, object]:
        title = request.idea.title  # type: ignore[attr-defined]
        if title.startswith("i000"):
            raise RuntimeError("401: the key sk-very-secret-1234 is wrong")
        wrong = {"i001": {"cost_usd": -1}, "i002": {"retrieved": "w1"}}.get(title.split()[0], {})
        return {
            "novel": True,
            "mood": "fine",
            "usage": {"prompt_tokens": 3, "completion_tokens": 2},
            "model": "m-1",
            **wrong,
        }

    report = evaluate(judge, suite)
    results = {result.instance: result for result in report.outcomes}
    assert [results[name].outcome.result for name in ("i000", "i001", "i002", "i003")] == [
        "invalid",
        "invalid",
        "invalid",
        "correct",
    ]
    assert "sk-very-secret-1234" not in str(report.to_dict())
    assert (report.calls.tokens_in, report.calls.tokens_out) == (3, 2)
