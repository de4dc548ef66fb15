"""Audits that several processes of a run need: who asks, and how the others are told."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty import evaluate
from pytest_novelty.findings import find_lacking_audits
from pytest_novelty.outcomes import CaseResult
from pytest_novelty.plan import Plan
from pytest_novelty.settings import Settings
from pytest_novelty.sharing import SharedAudits, tell_audits
from pytest_novelty.store import SqliteStore
from pytest_novelty.verdicts import Released
from pytest_novelty.wire import from_wire, to_wire
from tests.unit.test_auditing import auditor, make_suite, planted


@pytest.fixture
def pids(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Says which process this is."""

    def become(pid: int) -> None:
        monkeypatch.setattr(os, "getpid", lambda: pid)

    return become


def test_the_first_process_asks(tmp_path: Path, pids: Any) -> None:
    store = SqliteStore(tmp_path / "store.sqlite")
    own, parent = os.getpid(), os.getppid()
    assert SharedAudits(store, "run").take(["a", "b"]) == {"a", "b"}
    pids(parent)
    other = SharedAudits(store, "run")
    assert other.take(["a", "b", "c"]) == {"c"}
    assert other.take([]) == set()
    assert SharedAudits(store, "another run").take(["a"]) == {"a"}
    pids(own)
    assert SharedAudits(store, "run").take(["a", "c"]) == {"a"}
    many = [f"k{number}" for number in range(1200)]
    assert SharedAudits(store, "run").take(many) == set(many)
    store.close()


def test_what_a_process_leaves_behind_is_asked_by_another(tmp_path: Path, pids: Any) -> None:
    store, own = SqliteStore(tmp_path / "store.sqlite"), os.getpid()
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    pids(ended.pid)
    assert SharedAudits(store, "run").take(["a"]) == {"a"}
    pids(own)
    assert SharedAudits(store, "run").take(["a"]) == {"a"}
    pids(os.getppid())
    assert SharedAudits(store, "run").take(["a"]) == set()
    store.close()


def test_runs_of_long_ago_are_forgotten(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "store.sqlite")
    SharedAudits(store, "then").take(["a", "b"])
    SharedAudits(store, "now").take(["a"])
    store.update("UPDATE audited SET since = since - 8 * 86400 WHERE run = ?", ("then",))
    SharedAudits(store, "now")
    assert store.rows("SELECT run, key FROM audited") == [("now", "a")]
    store.close()


def divided(panel: int = 1) -> tuple[list[CaseResult], list[CaseResult]]:
    """(a run's results, the same as if the second of two processes were told nothing of what the first asked)."""
    strict = auditor(lambda request: {"supported": "hull" in request.evidence_a + request.evidence_b})
    lax = auditor(lambda request: {"supported": True})
    auditors = dict(list({"strict": strict, "lax": lax}.items())[:panel])
    whole = evaluate({"planted": planted("perfect")}, make_suite("similarity"), auditor=auditors).outcomes
    first, second = whole[0], whole[3]  # the same two papers under two names
    assert [vote.grounds for vote in first.outcome.votes] == [vote.grounds for vote in second.outcome.votes]
    said = {
        f"{place}{number}": row[place] for number, row in enumerate(first.audits.opinions) for place in range(panel)
    }
    if panel == 1:
        said = {f"0{number}": vote.grounds[0].supported for number, vote in enumerate(first.outcome.votes)}
    places = {number: ((number, 0),) for number in range(len(second.outcome.votes))}
    votes = tuple(
        vote._replace(grounds=tuple(ground._replace(supported=None) for ground in vote.grounds))
        for vote in second.outcome.votes
    )
    audits = second.audits._replace(
        opinions=tuple(tuple(None for _ in row) for row in second.audits.opinions),
        elsewhere=tuple(
            (f"{place}{number}", place, number, places[number], ()) for place in range(panel) for number in places
        ),
    )
    told = first._replace(audits=first.audits._replace(told=said))
    return [first, second], [told, second._replace(outcome=second.outcome._replace(votes=votes), audits=audits)]


@pytest.mark.parametrize("panel", [1, 2])
def test_the_controller_tells_what_another_process_was_told(panel: int) -> None:
    whole, parts = divided(panel)
    assert parts[1].outcome != whole[1].outcome
    told = tell_audits(parts[::-1])
    assert [result.outcome for result in told] == [result.outcome for result in whole[::-1]]
    assert [result.audits.opinions for result in told] == [result.audits.opinions for result in whole[::-1]]


def test_what_a_release_would_have_audited_is_told_beside_ours() -> None:
    """A statement that only the release puts to the auditor has no place among ours."""
    _, (first, second) = divided()
    released = Released(("verbatim", None))
    votes = tuple(
        vote._replace(grounds=tuple(ground._replace(released=released) for ground in vote.grounds))
        for vote in second.outcome.votes
    )
    audits = second.audits._replace(elsewhere=(("aaaa", 0, None, (), ((0, 0),)),))
    second = second._replace(outcome=second.outcome._replace(votes=votes), audits=audits)
    _, told = tell_audits([first._replace(audits=first.audits._replace(told={"aaaa": True})), second])
    words = [(vote.grounds[0].supported, vote.grounds[0].released) for vote in told.outcome.votes]
    assert words[0] == (None, released._replace(supported=True))
    assert set(words[1:]) == {(None, released)}


def test_what_nobody_tells_is_unchecked() -> None:
    _, parts = divided()
    (told,) = tell_audits(parts[1:])
    assert {ground.supported for vote in told.outcome.votes for ground in vote.grounds} == {None}


def test_it_travels() -> None:
    suite = make_suite("similarity")
    instances = {instance.id: instance for instance in suite.instances}
    _, parts = divided(2)
    for result in parts:
        instance = instances[result.instance]
        assert from_wire(json.loads(to_wire(result, suite, instance)), suite, instance).audits == result.audits


def test_a_statement_is_asked_once_also_when_all_is_asked_anew() -> None:
    asked = auditor(lambda request: {"supported": True})
    report = evaluate({"planted": planted("perfect")}, make_suite("similarity"), auditor={"asked": asked}, refresh=True)
    assert len(asked.asked) == 6
    assert (report.calls.made, report.calls.audits, report.calls.unfinished) == (18, 6, 0)


def test_what_a_killed_process_left_is_taken_over_before_its_parent_takes_note(tmp_path: Path, pids: Any) -> None:
    """A dead child keeps its number until then."""
    store, own = SqliteStore(tmp_path / "store.sqlite"), os.getpid()
    killed = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()"], stdin=subprocess.PIPE)
    pids(killed.pid)
    assert SharedAudits(store, "run").take(["a", "b"]) == {"a", "b"}
    pids(own)
    shared = SharedAudits(store, "run")
    assert shared.take(["a", "c"]) == {"c"}
    assert shared.inherit(["a", "c", "unknown"]) == set()
    killed.kill()
    os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
    assert shared.inherit(["a", "c", "unknown"]) == {"a"}
    assert shared.inherit(["a"]) == set()  # it is its own now
    assert shared.take(["b"]) == {"b"}
    killed.communicate()
    store.close()


def test_what_a_worker_takes_with_it_is_told_once() -> None:
    _, parts = divided()
    keys = {key for key, *_ in parts[1].audits.elsewhere}
    told = tell_audits([parts[1], parts[1]])
    assert [result.audits.lost for result in told] == [len(keys), 0]
    (found,) = find_lacking_audits(Plan(Settings(("planted",), Path()), (), {}), told)
    assert found.startswith(f"{len(keys)} statements of planted on made were being audited by ")
    assert "worker that died, or was stopped, before it told" in found
    assert "run again" in found
    whole = tell_audits(parts)
    assert [result.audits.lost for result in whole] == [0, 0]


def test_an_audit_that_nobody_was_to_pay_for_is_not_lost() -> None:
    _, parts = divided()
    keys = dict.fromkeys((key for key, *_ in parts[1].audits.elsewhere), None)
    unpaid = parts[0]._replace(audits=parts[0].audits._replace(told=keys, unpaid=len(keys)))
    assert [result.audits.lost for result in tell_audits([unpaid, parts[1]])] == [0, 0]
    both = tell_audits([parts[0], unpaid, parts[1]])  # one case was answered, another one of it was not
    assert both[2].outcome == tell_audits(parts)[1].outcome
