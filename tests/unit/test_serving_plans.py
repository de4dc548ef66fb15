"""The tests' own server: what decides on a behaviour, what the stand-in model says, the journal, and the process."""

from __future__ import annotations

import http.client
import json
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty.answers import read_answer
from pytest_novelty.calls import Call, CallPlanner, Case
from pytest_novelty.grounding import check_grounds
from pytest_novelty.judges.base import Traits, bind_judge
from pytest_novelty.model import Verdict
from pytest_novelty.prompts import resolve_prompt
from pytest_novelty.suites import embedded_suites, load_suite
from pytest_novelty.verdicts import SUPPORTED, UNSUPPORTED
from tests.serving import Server, Settings, gold_of, read_journal, serving, write_behaviour
from tests.serving.behaviours import parse_behaviour
from tests.serving.raw import PAIR, SINGLE, Answer, chat, last, send
from tests.serving.verdicts import read_ideas

ROOT = Path(__file__).parents[2]


# What decides on a behaviour.


def test_a_script_is_for_the_first_requests(server: Server) -> None:
    server.change(script=["500", "503", "ok"])
    assert [send(server).status for _ in range(5)] == [500, 503, 200, 200, 200]


def test_a_prompt_may_have_a_behaviour_of_its_own(server: Server) -> None:
    server.change(when={"bad": "400-content-filter", "shy": ["429", "500"]}, script=["502"])
    assert [send(server, chat("a bad idea")).status for _ in range(3)] == [400, 400, 400]
    assert [send(server, chat("a shy idea")).status for _ in range(4)] == [429, 500, 502, 200]


def test_each_request_may_fail_at_first(server: Server) -> None:
    server.change(each=["500"])
    bodies = [chat(f"idea {number}", seed=seed) for number in range(2) for seed in range(2)]
    assert [send(server, body).status for body in (*bodies, *bodies)] == [500] * 4 + [200] * 4


def fates(server: Server, order: list[int]) -> dict[int, list[str]]:
    server.change(rates={"429 retry_after=0.1": 0.2, "500": 0.2, "disconnect": 0.2}, seed=5)
    before = len(server.requests())
    for number in order:
        try:
            send(server, chat(f"idea {number}"))
        except http.client.RemoteDisconnected:
            continue
    found: dict[int, list[str]] = {}
    for item in server.requests()[before:]:
        found.setdefault(int(item.prompt.split()[-1]), []).append(item.behaviour)
    return found


def test_a_random_mix_depends_on_the_seed_and_not_on_the_order(server: Server) -> None:
    forward = fates(server, [*range(100), *range(100)])
    counted = Counter(name.split()[0] for names in forward.values() for name in names)
    assert set(counted) == {"429", "500", "disconnect", "ok"}
    assert all(20 <= counted[name] <= 60 for name in ("429", "500", "disconnect"))
    assert any(first != second for first, second in forward.values()), "a retry has a chance of its own"
    assert fates(server, [*reversed(range(100)), *range(100)]) == forward


def test_latency(server: Server) -> None:
    def seconds() -> float:
        began = time.monotonic()
        send(server)
        return time.monotonic() - began

    server.change(latency_s=0.1)
    assert 0.1 <= seconds() < 3
    server.change(latency_s=[0.05, 0.3])
    taken = [seconds() for _ in range(5)]
    assert all(0.05 <= second < 3 for second in taken)
    assert max(taken) - min(taken) > 0.03
    server.change(latency_s=5.0, script=["ok latency_s=0"])
    assert seconds() < 3


# The stand-in model.


def test_the_served_model_may_be_another_and_may_change(server: Server) -> None:
    server.change(served="gpt-test-2026-01-01")
    assert send(server).json["model"] == "gpt-test-2026-01-01"
    server.change(served={"old": 0, "new": 2})
    assert [send(server).json["model"] for _ in range(3)] == ["old", "old", "new"]


def test_usage_adds_up_and_can_be_told(server: Server) -> None:
    usage = send(server).json["usage"]
    assert usage["total_tokens"] == usage["prompt_tokens"] + usage["completion_tokens"]
    assert usage["prompt_tokens_details"]["cached_tokens"] == 0
    server.change(usage={"prompt_tokens": 1000, "cached_tokens": 900, "completion_tokens": 50, "reasoning_tokens": 40})
    usage = send(server).json["usage"]
    assert (usage["prompt_tokens"], usage["completion_tokens"], usage["total_tokens"]) == (1000, 50, 1050)
    assert usage["prompt_tokens_details"]["cached_tokens"] == 900
    assert usage["completion_tokens_details"]["reasoning_tokens"] == 40


def winner(server: Server, one: str, other: str, **more: Any) -> str:
    chosen: str = json.loads(send(server, chat(PAIR.format(one, other), **more)).content)["winner"]
    return chosen


def is_novel(server: Server, title: str, **more: Any) -> bool:
    novel: bool = json.loads(send(server, chat(SINGLE.format(title), **more)).content)["novel"]
    return novel


def test_verdict_rules(server: Server) -> None:
    server.change(verdict="first")
    assert (winner(server, "x", "y"), is_novel(server, "x")) == ("A", True)
    server.change(verdict="second")
    assert (winner(server, "x", "y"), is_novel(server, "x")) == ("B", False)
    server.change(verdict="hash")
    pairs = [(f"x{number}", f"y{number}") for number in range(8)]
    forward = [winner(server, *pair) for pair in pairs]
    assert set(forward) == {"A", "B"}
    assert [winner(server, *reversed(pair)) for pair in pairs] == [{"A": "B", "B": "A"}[one] for one in forward]
    server.change(verdict="coin")
    tossed = [winner(server, "x", "y", seed=seed) for seed in range(16)]
    assert set(tossed) == {"A", "B"}
    assert [winner(server, "x", "y", seed=seed) for seed in range(16)] == tossed
    server.change(verdict={"Title: new": True, "Title: old": False})
    assert [winner(server, "old", "new"), winner(server, "new", "old")] == ["B", "A"]
    assert [is_novel(server, "old"), is_novel(server, "new")] == [False, True]


@pytest.mark.parametrize("suite", ["landmarks-pairwise", "landmarks-pointwise"])
def test_the_model_can_be_right_about_a_suite(suite: str) -> None:
    gold = gold_of(ROOT / "suites" / suite)
    assert set(gold.values()) == {True, False}
    assert sum(gold.values()) == 66


def test_ideas_are_read_in_the_order_shown() -> None:
    assert read_ideas(PAIR.format("x", "y")) == ("Title: x\n\nText.", "Title: y\n\nText.")
    assert read_ideas(SINGLE.format("x")) == ("Title: x\n\nText.",)
    assert read_ideas("Which?\n\nIdea A: one\nmore\n\nIdea B: two\nmore\n\nAnswer.") == ("one\nmore", "two\nmore")
    assert read_ideas("whatever") == ("whatever",)


def asked_about(protocol: str) -> Call:
    """The first call of the protocol's embedded suite."""
    suite = load_suite(embedded_suites()[f"landmarks-{protocol}"])
    prompt = resolve_prompt(f"{protocol}/reference", suite.folder, protocol)
    judge = bind_judge("model", lambda request: "")
    case = Case(judge, suite, suite.variants["reference"], suite.instances[0])
    return CallPlanner({prompt.name: prompt}).plan(case)[0]


@pytest.mark.parametrize("protocol", ["similarity", "grouping", "entailment"])
def test_papers_and_reasons_are_answered(protocol: str, server: Server) -> None:
    """By what the prompt shows: with evidence that is there, and with none where the verdict is negative."""
    call = asked_about(protocol)
    prompt = "\n".join(message["content"] for message in call.request.messages)

    def said(rule: str) -> Verdict:
        server.change(verdict=rule)
        reading = read_answer(
            send(server, chat(prompt)).content, call.case.protocol, Traits(), call.schema, shown=len(call.shown_ids)
        )
        assert isinstance(reading.verdict, Verdict)
        assert reading.extras.oddities == ()
        return reading.verdict

    yes, no = said("first"), said("second")
    if protocol == "entailment":
        assert (yes.label, no.label) == (SUPPORTED, UNSUPPORTED)
        return
    (ground,) = check_grounds(call, yes)
    assert set(ground.found) == {"verbatim"}
    assert ground.has_reason
    assert no.groups == ()


def test_an_answer_has_the_score_that_its_schema_asks_for(server: Server) -> None:
    schema = {"type": "object", "properties": {"score": {"type": "number"}}}
    body = chat(response_format={"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema}})
    assert 0 <= json.loads(send(server, body).content)["score"] <= 10


# The protocol, the journal, the process.


def test_connections_are_kept_and_bodies_may_be_chunked(server: Server) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=5)
    for _ in range(3):
        connection.request("POST", "/v1/chat/completions", iter([json.dumps(chat()).encode()]), encode_chunked=True,
                           headers={"Transfer-Encoding": "chunked"})  # fmt: skip
        assert Answer(connection.getresponse()).status == 200
    connection.close()
    assert len({item.connection for item in server.requests()[-3:]}) == 1


def test_pipelined_requests_are_answered_in_their_order(server: Server) -> None:
    server.change(script=["500 latency_s=0.1", "503"])
    before = len(server.requests())
    data = json.dumps(chat()).encode()
    one = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(data), data)
    with socket.create_connection(("127.0.0.1", server.port)) as client:
        client.sendall(one + one)
        assert [item.status for item in server.wait_for(before + 2, answered=True)[before:]] == [500, 503]
        assert client.recv(1_000_000).count(b"HTTP/1.1 50") == 2


def test_the_journal_has_everything(server: Server) -> None:
    before, began = len(server.requests()), time.monotonic()
    server.change(script=["ok latency_s=0.2"])
    with ThreadPoolExecutor() as pool:
        sent = pool.submit(send, server, chat("hello", seed=3), headers={"X-Mine": "yes"})
        in_flight = server.wait_for(before + 1)[-1]
        assert (in_flight.answered, in_flight.complete, in_flight.status) == (None, None, None)
        sent.result()
    seen = last(server)
    assert (seen.prompt, seen.body["seed"], seen.headers["x-mine"]) == ("hello", 3, "yes")
    assert (seen.status, seen.complete, seen.behaviour) == (200, True, "ok latency_s=0.2")
    assert seen.answered is not None
    assert began < seen.received < seen.answered < time.monotonic()
    assert seen.answered - seen.received >= 0.2
    assert abs(seen.wall - time.time()) < 5
    assert json.loads(seen.reply_text)["id"] == f"chatcmpl-{seen.id}"


def test_400_calls_cost_little_and_overlap() -> None:
    with serving(latency_s=0.2) as server:
        idle = server.cpu_s()
        bodies = [chat(f"{number} " + "words " * 1000) for number in range(400)]
        with ThreadPoolExecutor(64) as pool:
            answers = list(pool.map(lambda body: send(server, body), bodies))
        assert [answer.status for answer in answers] == [200] * 400
        assert server.cpu_s() - idle < 0.5
        assert 32 < server.peak() <= 64
        assert len(server.requests()) == 400


def test_a_second_server_goes_on_with_the_port_and_the_journal(tmp_path: Path) -> None:
    journal = tmp_path / "journal.jsonl"
    with serving(journal=journal) as one:
        assert send(one).status == one.requests()[0].status == 200
        one.kill()
        with pytest.raises(ConnectionRefusedError):
            send(one)
    with serving(journal=journal, port=one.port, script=["500"]) as two:
        assert (two.port, send(two).status) == (one.port, 500)
    assert [item.status for item in read_journal(journal)] == [200, 500]


def test_the_server_ends_with_the_process_that_started_it() -> None:
    source = (
        "import os, signal\nfrom tests.serving import serving\nwith serving() as server:\n"
        "    print(server.port, flush=True)\n    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    done = subprocess.run([sys.executable, "-c", source], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL
    deadline = time.monotonic() + 10
    while _listens(int(done.stdout)):
        assert time.monotonic() < deadline, "it is still there"
        time.sleep(0.02)


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def test_by_hand(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "tests.serving", "--journal", str(tmp_path / "j"), "--script", "500", "--key", "k"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        said = json.loads(process.stdout.readline())
        server = Server(process, Path(said["journal"]), said["port"])
        assert send(server).status == 401
        assert send(server, headers={"Authorization": "Bearer k"}).status == 500
        assert [item.status for item in server.requests()] == [401, 500]
        process.terminate()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"script": ["okay"]}, "no behaviour is called 'okay'"),
        ({"when": {"x": "429 retryafter=1"}}, "'429' has no option 'retryafter'; known: retry_after"),
        ({"each": ["content"]}, "'content' needs the option 'text'"),
        ({"when": {"x": ["429", "5"]}}, "no behaviour is called '5'"),
        ({"rates": {"500": 0.6, "429": 0.6}}, "more than 1"),
        ({"verdict": "right"}, "no verdict rule is called 'right'"),
        ({"unsupported": ["top_p"]}, "'top_p' is none of"),
    ],
)
def test_misspelt_settings_are_refused(server: Server, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Settings(**settings)
    with pytest.raises(ValueError, match=message):
        server.change(**settings)


def test_options_with_quotes_are_written_and_read() -> None:
    written = write_behaviour("content", text='it\'s {"a": "b c"}\n', latency_s=0)
    assert parse_behaviour(written).options == {"text": 'it\'s {"a": "b c"}\n', "latency_s": 0}
