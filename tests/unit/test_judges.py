"""The judge contract, names of judges, and the judges that ship."""

from __future__ import annotations

import functools
import json
import math
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_novelty.answers import read_answer
from pytest_novelty.cassette import without_texts
from pytest_novelty.errors import JudgeError, UnknownNameError
from pytest_novelty.judges.base import Judge, Traits, bind_judge
from pytest_novelty.judges.chance import Chance
from pytest_novelty.judges.lexical import Lexical
from pytest_novelty.judges.registry import SHIPPED, resolve_judges, slug_of
from pytest_novelty.judges.replay import load_replay
from pytest_novelty.model import TIE, Record, Request, ShownIdea, Verdict, Vote, Work
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.recording import Recorder
from pytest_novelty.store import record_to_dict


def declare(**attributes: Any) -> Callable[[Request], str]:
    def judge(request: Request) -> str:
        return "{}"

    for name, value in attributes.items():
        setattr(judge, name, value)
    return judge


# --- the contract ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("attribute", "value"),
    [
        *(("version", bad) for bad in (1, "", "  ", b"1")),
        *(("protocols", bad) for bad in ("pairwse", (), 5, ("pairwise", "x"), (["pairwise"],))),
        *((name, "no") for name in ("uses_prompt", "may_tie", "may_abstain", "retrieves", "honours_as_of")),
        *(("max_concurrency", bad) for bad in (0, -1, 1.5, True, "4")),
        *(("timeout_s", bad) for bad in (0, -1, True, "60", math.nan)),
        *(("cost_usd_per_call", bad) for bad in (-0.1, math.inf, math.nan, "free", True)),
        *(("score_range", bad) for bad in ((1, 0), (0, 0), (0,), 5, ("a", "b"), (0, math.nan), (0, math.inf))),
        *(("higher_is", bad) for bad in ("better", True, "Novel")),
        *(("threshold", bad) for bad in ("0.5", True, math.nan)),
    ],
)
def test_a_wrong_declaration_is_named(attribute: str, value: Any) -> None:
    with pytest.raises(JudgeError, match=f"'mine' declares {attribute} = ") as caught:
        bind_judge("mine", declare(**{attribute: value}))
    assert "which must" in str(caught.value) or "which has the unknown protocol" in str(caught.value)


def test_a_threshold_outside_the_range() -> None:
    with pytest.raises(JudgeError, match="threshold 2 outside its score_range"):
        bind_judge("mine", declare(threshold=2, score_range=(0, 1)))


def test_declarations_become_traits() -> None:
    judge = bind_judge(
        "mine", declare(version="7", protocols="pairwise", score_range=[0, 5], threshold=3, cost_usd_per_call=0)
    )
    assert judge.traits == Traits("7", ("pairwise",), score_range=(0.0, 5.0), threshold=3, cost_usd_per_call=0)
    assert (judge.version, judge.version_is_digest) == ("7", False)
    assert judge.judges("pairwise")
    assert not judge.judges("pointwise")


def test_nothing_need_be_declared() -> None:
    judge = bind_judge("mine", declare(version=None, threshold=None))
    assert replace(judge.traits, version="") == Traits()
    assert judge.version_is_digest
    assert len(judge.version) == 12
    assert judge.judges("pointwise")
    assert judge.judges("pairwise")


class Sync:
    def __call__(self, request: Request) -> str:
        return "{}"


class Async:
    async def __call__(self, request: Request) -> str:
        return "{}"

    async def method(self, request: Request) -> str:
        return "{}"

    async def __aenter__(self) -> Async:
        return self

    async def __aexit__(self, *error: object) -> None: ...


class NeedsKey:
    def __init__(self, key: str) -> None: ...


@pytest.mark.parametrize(
    ("value", "is_async"),
    [
        (Sync, False),
        (Sync(), False),
        (Async, True),
        (Async().method, True),
        (functools.partial(Async(), model="m"), True),
        (functools.partial(functools.partial(Async().method)), True),
        (lambda request: "", False),
    ],
)
def test_kinds_of_callables(value: Any, is_async: bool) -> None:
    judge = bind_judge("mine", value)
    assert judge.is_async is is_async
    assert callable(judge.function)
    assert not isinstance(judge.function, type)


def test_a_context_manager_is_its_own_manager() -> None:
    assert bind_judge("mine", Async).manager is not None
    assert bind_judge("mine", Sync).manager is None


@pytest.mark.parametrize(
    ("value", "told"),
    [(5, "int 5"), (None, "NoneType"), ("module:attr", "str"), (NeedsKey, "NeedsKey.*an instance")],
)
def test_what_cannot_be_called_is_refused(value: Any, told: str) -> None:
    with pytest.raises(JudgeError, match=f"'mine' is .*{told}"):
        bind_judge("mine", value)


def test_the_default_version_follows_the_source_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    versions = []
    for text in ("A", "B", "A"):
        (tmp_path / "versioned_judge.py").write_text(f'PROMPT = "{text}"\ndef judge(request):\n    return PROMPT\n')
        monkeypatch.delitem(sys.modules, "versioned_judge", raising=False)
        versions.append(resolve_judges(["versioned_judge:judge"], {}, tmp_path)[0].version)
    monkeypatch.delitem(sys.modules, "versioned_judge")
    assert versions[0] == versions[2] != versions[1]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ('def judge(r): return {"winner": "A"}', 'def judge(r): return {"winner": "B"}'),
        ("def judge(r): return len(r.ideas) + 1", "def judge(r): return len(r.ideas) - 1"),
        ("def judge(r): return (lambda: 1)()", "def judge(r): return (lambda: 2)()"),
        ("def judge(r, model='small'): return model", "def judge(r, model='large'): return model"),
    ],
)
def test_the_default_version_without_a_file_follows_the_code(one: str, other: str) -> None:
    """As typed into a plain interpreter: two judges under one version would answer from each other's store."""

    def version(source: str) -> str:
        space: dict[str, Any] = {}
        exec(source, space)
        return bind_judge("judge", space["judge"]).version

    assert version(one) == version(one)
    assert version(one) != version(other)


# --- names ----------------------------------------------------------------------------------------------------


def resolve(spec: str, base: Path, **registered: Any) -> Judge:
    (judge,) = resolve_judges([spec], registered, base, also="Read: conftest.py")
    return judge


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("chanse", "unknown judge 'chanse'. Did you mean 'chance'. Known: chance, lexical, mine.*Read: conftest.py"),
        ("min", "Did you mean 'mine'"),
        ("", "unknown judge ''"),
        ("math:", "unknown judge"),
        ("x" * 3000, "unknown judge"),
        ("math:sqroot", "unknown attribute in math 'sqroot'. Did you mean 'sqrt'"),
        ("math:sqrt.__self__.nothing", "'nothing'"),
    ],
)
def test_unknown_names(spec: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=told.replace("?", r"\?")):
        resolve(spec, tmp_path, mine=declare())


@pytest.mark.parametrize(
    ("spec", "source", "told"),
    [
        ("no_such_module_here:judge", None, "No module named"),
        ("failing_judge:judge", "raise OSError('no key')", "OSError: no key"),
        ("broken_judge:judge", "def judge(:", "SyntaxError"),
        ("lacking_judge:judge", "import not_installed_at_all", "not_installed_at_all"),
        ("number_judge:judge", "judge = 5", "cannot be called"),
    ],
)
def test_modules_that_cannot_be_used(spec: str, source: str | None, told: str, tmp_path: Path) -> None:
    if source is not None:
        (tmp_path / f"{spec.partition(':')[0]}.py").write_text(source)
    before = list(sys.path)
    with pytest.raises(JudgeError, match=told):
        resolve(spec, tmp_path)
    assert sys.path == before


def test_module_and_attribute(tmp_path: Path) -> None:
    source = "class Made:\n    class Inner:\n        version = '3'\n        def __call__(self, request): return ''\n"
    (tmp_path / "nested_judge.py").write_text(source)
    before = list(sys.path)
    judge = resolve("nested_judge:Made.Inner", tmp_path)
    assert (judge.name, judge.version) == ("inner", "3")
    assert sys.path == before


def test_registered_names_come_first_and_shipped_ones_are_there(tmp_path: Path) -> None:
    assert resolve("chance", tmp_path, chance=declare(version="mine")).version == "mine"
    assert {resolve(name, tmp_path).name for name in SHIPPED} == {"chance", "lexical"}
    assert len(resolve_judges(["chance", "lexical", "chance"], {}, tmp_path)) == 2


def test_two_judges_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match="'My Judge' and 'my-judge' would both be called 'my-judge'"):
        resolve_judges(["My Judge", "my-judge"], {"My Judge": declare(), "my-judge": declare()}, tmp_path)


@pytest.mark.parametrize(
    ("name", "slug"),
    [("GPT 4/o", "gpt-4-o"), ("a=b::c", "a-b-c"), ("\u4e2d", "judge"), ("x" * 99, "x" * 60), ("..a..", "a")],
)
def test_slugs(name: str, slug: str) -> None:
    assert slug_of(name) == slug


# --- replay ---------------------------------------------------------------------------------------------------

RECORD = Record("k", "orig", "7", "made", "reference", "i1", "ab", 0, 1, "ok", "", "", '{"winner": "A"}', "x")
RECORDED = {
    "an answer": RECORD,
    "a text": RECORD._replace(sample=1, raw=json.dumps('so: {"winner": "B"}')),
    "unparsed": RECORD._replace(sample=2, status="unparsed", kind="not JSON", raw='"no idea"', label=None),
    "an error": RECORD._replace(order="ba", status="error", kind="judge raised", message="401", raw="", label=None),
    "undeclared tie": RECORD._replace(
        order="ba",
        sample=1,
        status="schema violation",
        kind="undeclared tie",
        raw='{"winner": "tie"}',
        label=None,
    ),
    "a declared tie": RECORD._replace(order="ba", sample=2, raw='{"winner": "tie"}', label=TIE),
}


def write_records(path: Path, *rows: Any) -> Path:
    lines = (
        row if isinstance(row, str) else json.dumps(row if isinstance(row, dict) else record_to_dict(row))
        for row in rows
    )
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", RECORDED)
def test_a_replay_answers_as_recorded(
    name: str, tmp_path: Path, make_suite: Any, make_case: Any, plan_calls: Any
) -> None:
    judge = resolve(f"replay:{write_records(tmp_path / 'r.jsonl', *RECORDED.values())}", tmp_path)
    calls = plan_calls(make_case(make_suite("pairwise"), judge))
    record = RECORDED[name]
    (call,) = (c for c in calls if (c.request.order, c.request.sample) == (record.order, record.sample))
    if record.status == "error":
        with pytest.raises(RuntimeError, match=r"recorded failure \(error\): 401"):
            judge.function(call.request)
        return
    try:
        verdict = read_answer(judge.function(call.request), PROTOCOLS["pairwise"], judge.traits, None).verdict
    except RuntimeError:
        verdict = None
    assert isinstance(verdict, Verdict) is (record.status == "ok")


class ClaimsToBeOurs:
    asks_a_server = repeats_records = tells_its_calls = True

    def __call__(self, request: Any) -> dict[str, Any]:
        return {"winner": "A", **CALLED}


CALLED = {"retries": 3, "latency_s": 9.0, "settings": "temperature=0 (refused)"}


@pytest.mark.parametrize("function", [lambda request: {"winner": "A", **CALLED}, ClaimsToBeOurs()])
def test_a_users_judge_cannot_write_what_is_measured(
    function: Any, make_suite: Any, make_case: Any, plan_calls: Any
) -> None:
    call = plan_calls(make_case(make_suite("pairwise"), function))[0]
    record = Recorder().answered(call, function(call.request), 0.5)
    again = Recorder().reread(call, record)
    for each in (record, again):
        assert (each.status, each.retries, each.latency_s, each.settings) == ("ok", 0, 0.5, "")


def test_a_replay_measures_its_own_calls_and_keeps_how_a_model_was_asked(
    tmp_path: Path, make_suite: Any, make_case: Any, plan_calls: Any
) -> None:
    raw = json.dumps({"answer": '{"winner": "A"}', "model": "served", "cost_usd": 2.0, **CALLED})
    cut = json.dumps({"answer": "On the one hand", "is_cut": True})
    rows = [
        RECORD._replace(raw=raw, settings="schema, temperature=0 (refused)", cost_usd=2.0),
        RECORD._replace(raw=raw, sample=1),  # a user's judge: the answer's own settings never counted
        RECORD._replace(raw=cut, sample=2, status="truncated", label=None),
        RECORD._replace(raw=cut, order="ba", status="unparsed", label=None),
    ]
    judge = resolve(f"replay:{write_records(tmp_path / 'r.jsonl', *rows)}", tmp_path)
    calls = {(call.order, call.sample): call for call in plan_calls(make_case(make_suite("pairwise"), judge, votes=3))}
    records = [
        Recorder().answered(call := calls[row.order, row.sample], judge.function(call.request), 0.5) for row in rows
    ]
    assert [(each.retries, each.latency_s, each.cost_usd) for each in records] == [(0, 0.5, 0.0)] * 4
    assert [each.settings for each in records] == ["schema, temperature=0 (refused)", "", "", ""]
    assert [each.status for each in records] == ["ok", "ok", "truncated", "unparsed"]
    assert records[0].model == "served"


@pytest.mark.parametrize("status", ["ok", "unparsed", "refused"])
def test_a_replay_of_an_export_without_texts_is_refused_with_the_way_on(status: str, tmp_path: Path) -> None:
    failed = RECORDED["an error"]._replace(raw="", message="")  # that one had no answer before
    bare = without_texts(RECORDED["a text"]._replace(status=status))
    path = write_records(tmp_path / "bare.jsonl", without_texts(failed), bare)
    with pytest.raises(JudgeError, match=r"export --no-text.*nothing to replay") as caught:
        resolve("replay:bare.jsonl", tmp_path)
    assert (caught.value.path, caught.value.line) == (path, 2)
    assert f"recorded judge, orig, and --novelty-offline --novelty-store={path}" in str(caught.value)


def test_a_replay_has_a_name_and_a_version_that_follows_its_content(tmp_path: Path) -> None:
    one, same, other = (
        load_replay(write_records(tmp_path / f"{n}.jsonl", *rows))
        for n, rows in enumerate(([RECORD, RECORDED["a text"]], [RECORDED["a text"], RECORD], [RECORD]))
    )
    assert one.version == same.version != other.version
    judge = resolve("replay:0.jsonl", tmp_path)
    assert judge.name == "replay-orig"
    assert judge.traits.cost_usd_per_call == 0.0
    assert not judge.traits.uses_prompt


def test_a_replay_says_what_it_lacks(tmp_path: Path, make_suite: Any, make_case: Any, plan_calls: Any) -> None:
    replay = load_replay(write_records(tmp_path / "r.jsonl", RECORD))
    requests = [call.request for call in plan_calls(make_case(make_suite("pairwise"), replay))]
    assert replay(requests[0]) == {"winner": "A"}
    with pytest.raises(LookupError, match="order ba, vote 0"):
        replay(requests[3])


@pytest.mark.parametrize(
    ("rows", "line", "told"),
    [
        ([RECORD, RECORD], 2, "two answers"),
        ([RECORD, RECORD._replace(judge="other", sample=1)], None, "orig 7, other 7"),
        ([RECORD, RECORD._replace(judge_version="8", sample=1)], None, "orig 7, orig 8"),
        ([], None, "nobody"),
        ([RECORD, "{"], 2, "not JSON"),
        ([RECORD, {**record_to_dict(RECORD), "status": "fine"}], 2, "status"),
        ([RECORD, {**record_to_dict(RECORD), "lable": "x"}], 2, "did you mean 'label'"),
        ([{"judge": "orig"}], 1, "'judge_version'.* missing"),
        ([RECORD._replace(raw="{")], 1, "raw"),
        ([RECORD._replace(raw='{"score": NaN}')], 1, "raw is not JSON: score: NaN is not a number"),
        ([RECORD._replace(raw="[" * 100_000)], 1, "raw is not JSON"),
    ],
)
def test_files_that_cannot_be_replayed(rows: list[Any], line: int | None, told: str, tmp_path: Path) -> None:
    path = write_records(tmp_path / "r.jsonl", *rows)
    with pytest.raises(JudgeError, match=told) as caught:
        load_replay(path)
    assert (caught.value.path, caught.value.line) == (path, line)


def test_a_replay_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(JudgeError, match="no such file"):
        resolve("replay:none.jsonl", tmp_path)


# --- chance: the closed forms -----------------------------------------------------------------------------------


def exact_shares(votes: int) -> dict[str | None, Fraction]:
    """The distribution of outcomes of a pair when each of 2 x ``votes`` votes is a fair coin, by enumeration."""
    outcomes: Counter[str | None] = Counter()
    for winners in product("xy", repeat=2 * votes):
        made = [
            Vote(order, n, label=winners[n + votes * (order == "ba")]) for order in ("ab", "ba") for n in range(votes)
        ]
        outcomes[PROTOCOLS["pairwise"].aggregate(made, ("x", "y"), ("ab", "ba"))] += 1
    return {label: Fraction(count, 4**votes) for label, count in outcomes.items()}


@pytest.mark.parametrize("votes", [1, 2, 3, 4])
def test_ties_of_a_coin(votes: int) -> None:
    assert exact_shares(votes)[TIE] == Fraction(math.comb(2 * votes, votes), 4**votes)


def test_a_coin_with_three_votes_per_order() -> None:
    shares = exact_shares(3)
    assert (shares[TIE], shares["x"], shares["y"]) == (Fraction(5, 16), Fraction(11, 32), Fraction(11, 32))
    assert shares["x"] + shares[TIE] / 2 == Fraction(1, 2)  # soft accuracy
    assert round(float(1 - sum(share**2 for share in shares.values())), 4) == 0.6660  # flip between two runs
    assert round(float(2 * shares["x"] * shares["y"]), 4) == 0.2363  # reversal


def coin_votes(make_suite: Any, make_instance: Any, make_case: Any, plan_calls: Any, size: int) -> list[list[int]]:
    """For each instance the votes of Chance, 3 as AB then 3 as BA: 1 if it named the first shown."""
    chance, judge = Chance(), bind_judge("chance", Chance)
    found = []
    for number in range(size):
        calls = plan_calls(
            make_case(make_suite("pairwise", make_instance("pairwise", f"i{number}")), judge), prompts={}
        )
        found.append([int(chance(call.request)["winner"] == "A") for call in calls])
    return found


def test_chance_is_fair_in_every_place_and_independent_between_places(
    make_suite: Any, make_instance: Any, make_case: Any, plan_calls: Any
) -> None:
    """Seeds are fixed, so this is exact; the bounds are 4.5 standard errors of a fair coin."""
    votes = coin_votes(make_suite, make_instance, make_case, plan_calls, 1500)
    bound = 4.5 * math.sqrt(0.25 / len(votes))
    for place in range(6):
        assert abs(sum(row[place] for row in votes) / len(votes) - 0.5) < bound
        for other in range(place):
            assert abs(sum(row[place] != row[other] for row in votes) / len(votes) - 0.5) < bound
    ties = sum(sum(row[:3]) == sum(row[3:]) for row in votes) / len(votes)
    assert abs(ties - 5 / 16) < 4.5 * math.sqrt(5 / 16 * 11 / 16 / len(votes))
    biases = [sum(row) / 3 - 1 for row in votes]  # 1 always the first shown, -1 always the second
    deviation = math.sqrt(sum(bias**2 for bias in biases) / len(biases))
    assert deviation == pytest.approx(math.sqrt(1 / 6), abs=0.03)


def test_chance_in_pointwise(make_suite: Any, make_instance: Any, make_case: Any, plan_calls: Any) -> None:
    chance = Chance()
    suites = [make_suite("pointwise", make_instance("pointwise", f"i{number}")) for number in range(300)]
    answers = [chance(plan_calls(make_case(suite, chance), prompts={})[0].request)["novel"] for suite in suites]
    assert set(answers) == {True, False}
    assert abs(sum(answers) / 300 - 0.5) < 4.5 * math.sqrt(0.25 / 300)


# --- lexical --------------------------------------------------------------------------------------------------

LEXICAL = bind_judge("lexical", Lexical)
words = st.lists(
    st.sampled_from(
        ["graph", "neural", "quantum", "protein", "lattice", "keys", "signing", "coding", "sampling", "voting"]
    ),
    min_size=1,
    max_size=8,
)
texts = words.map(" ".join)
works = st.lists(st.builds(Work, texts, texts, st.none()), min_size=1, max_size=3).map(tuple)
ideas = st.builds(ShownIdea, texts, texts, works)


def ask(protocol: str, *shown: ShownIdea, **params: Any) -> dict[str, Any]:
    request = Request(protocol, "0", shown, None, "reference", None, 0, 0, _params=params)
    answer = Lexical()(request)
    verdict = read_answer(answer, PROTOCOLS[protocol], LEXICAL.traits, None).verdict
    assert isinstance(verdict, Verdict), verdict
    assert Lexical()(request) == answer
    return answer


@given(ideas, ideas)
def test_lexical_does_not_depend_on_the_order(one: ShownIdea, other: ShownIdea) -> None:
    exchanged = {"A": "B", "B": "A", "tie": "tie"}
    assert ask("pairwise", other, one)["winner"] == exchanged[ask("pairwise", one, other)["winner"]]
    assert ask("pairwise", one, one)["winner"] == "tie"


@given(ideas)
def test_lexical_scores_are_in_range_and_decide(idea: ShownIdea) -> None:
    answer = ask("pointwise", idea)
    assert 0.0 <= answer["score"] <= 1.0
    assert ask("pointwise", idea, threshold=answer["score"])["novel"] is True
    assert ask("pointwise", idea, threshold=answer["score"] + 1e-9)["novel"] is False
    assert answer["novel"] is (answer["score"] >= float(answer["reason"].rpartition("from ")[2].rstrip(".")))
    backwards = replace(idea, related_work=idea.related_work[::-1])
    assert ask("pointwise", backwards)["score"] == answer["score"]


@pytest.mark.parametrize(("protocol", "key"), [("pointwise", "novel"), ("pairwise", "winner")])
def test_lexical_abstains_without_earlier_work(protocol: str, key: str) -> None:
    bare = ShownIdea("A title", "Some text")
    assert ask(protocol, *[bare] * (1 if protocol == "pointwise" else 2))[key] is None


def test_lexical_finds_the_idea_that_is_farther_from_earlier_work() -> None:
    work = Work("Neural networks for protein folding", "Folding proteins with neural networks.")
    near = ShownIdea("Folding", "Neural networks that fold proteins.", (work,))
    far = ShownIdea("Voting", "Electoral systems with sampled ballots.", (work,))
    assert ask("pairwise", near, far)["winner"] == "B"
    assert ask("pointwise", near)["score"] < ask("pointwise", far)["score"] == 1.0
    assert ask("pointwise", ShownIdea(work.title, work.text, (work,)))["score"] == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("text", ["", "...", "12 34", "\u65b0\u3057\u3044\u8003\u3048", "\ud800", "a b c"])
def test_lexical_takes_any_text(text: str) -> None:
    idea = ShownIdea("", text, (Work(text or "w", text),))
    ask("pointwise", idea)
    ask("pairwise", idea, idea)
