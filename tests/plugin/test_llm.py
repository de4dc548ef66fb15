"""A model as a judge under pytest, against a real server: bounds, faults, stops, cassettes, budgets, secrets."""

from __future__ import annotations

import contextlib
import json
import random
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from ..serving import Server, serving
from .making import Lab

PROVIDERS = ["openai:m", "litellm:openai/m"]
SECRET = "sk-planted-0123456789abcdef"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(
        usage={"prompt_tokens": 500, "completion_tokens": 40, "cached_tokens": 100, "reasoning_tokens": 7}
    ) as it:
        yield it


def judge_file(lab: Lab, server: Server, model: str = "openai:m", **more: Any) -> str:
    value = {
        "format": "novelty-judge/1",
        "model": model,
        "name": "model",
        "api_base": server.base_url,
        "price": {"input": 1.0, "cached_input": 0.1, "output": 2.0},
        **more,
    }
    value = {name: item for name, item in value.items() if item is not None}
    (lab.path / "judge.yaml").write_text(json.dumps(value))
    return "judge.yaml"


def run(lab: Lab, *args: str, dist: str = "") -> Any:
    """In a process of its own: clients keep locks and loops."""
    return lab.judge("judge.yaml", "small", *args, dist=dist, apart=True)


def stored(lab: Lab) -> list[tuple[Any, ...]]:
    with sqlite3.connect(lab.path / ".novelty" / "verdicts.sqlite") as connection:
        return connection.execute(
            "SELECT instance, sample, status, kind, model, retries, settings FROM records"
        ).fetchall()


# --- the main job -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", PROVIDERS)
def test_a_model_judges_and_what_it_took_is_told(lab: Lab, server: Server, model: str, dist: str) -> None:
    lab.suite(n=6, votes=2)
    judge_file(lab, server, model, temperature=0)
    ran = run(lab, dist=dist)
    assert "failed" not in ran.counts(), ran.said
    calls = ran.report["calls"]
    assert (calls["made"], calls["reused"], calls["failed"], calls["retried"]) == (12, 0, 0, 0)
    assert (calls["tokens_in"], calls["tokens_cached"], calls["tokens_reasoning"]) == (6000, 1200, 84)
    assert calls["cost_usd"] == pytest.approx(12 * (400e-6 + 10e-6 + 80e-6))
    assert len(server.requests()) == 12
    seeds = {item.body["seed"] for item in server.requests()}
    assert len(seeds) == 12
    assert {row[-1] for row in stored(lab)} == {"schema, temperature=0, seed"}
    again = run(lab, dist=dist)
    assert again.report["calls"]["reused"] == 12
    assert len(server.requests()) == 12


def test_models_are_named_on_the_command_line(lab: Lab, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    lab.suite(n=4, votes=1)
    ran = lab.judge("openai:nobody-knows-this", "small", apart=True)
    assert ran.counts()["passed"] >= 4, ran.said
    assert ran.report["calls"]["cost_usd"] is None
    assert "cost an unknown amount" in ran.plain
    assert {item.authorization for item in server.requests()} == {f"Bearer {SECRET}"}


def test_two_served_models_are_a_finding(lab: Lab) -> None:
    with serving(served={"m-2026-01": 0, "m-2026-06": 5}) as server:
        lab.suite(n=10, votes=1)
        judge_file(lab, server)
        ran = run(lab, "--novelty-concurrency=1")
        assert any("was served by 2 models: m-2026-01, m-2026-06" in text for text in ran.report["findings"])


def test_a_server_without_structured_output_or_temperature(lab: Lab) -> None:
    with serving(unsupported=["response_format", "temperature", "seed"]) as server:
        lab.suite(n=6, votes=1)
        judge_file(lab, server, temperature=0)
        ran = run(lab, "--novelty-concurrency=2")
        assert ran.report["calls"]["failed"] == 0
        assert any("asked without response_format, seed, temperature=0" in text for text in ran.report["findings"]), (
            ran.report["findings"]
        )
        assert "prompt, response_format (refused), temperature=0 (refused), seed (refused)" in {
            row[-1] for row in stored(lab)
        }


# --- faults -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", PROVIDERS)
def test_a_fifth_of_the_calls_fails_and_every_verdict_is_there(lab: Lab, model: str) -> None:
    rates = {"429 retry_after=0.2": 0.07, "500": 0.07, "disconnect": 0.03, "disconnect-body": 0.03}
    with serving(rates=rates, latency_s=0.01) as server:
        lab.suite(n=400, votes=1)
        judge_file(lab, server, model)
        ran = run(lab, "--novelty-concurrency=64")
        assert ran.report["calls"]["failed"] == 0, ran.said
        assert len(ran.outcomes()) == 400
        paid = Counter(item.body["seed"] for item in server.requests() if item.paid)
        assert set(paid.values()) == {1}  # no call is paid for after it had succeeded
        assert len(paid) == 400
        assert ran.report["calls"]["retried"] == len(server.requests()) - 400 > 40


@pytest.mark.parametrize("model", PROVIDERS)
@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"key": "right"}, "Check the key in the environment"),
        ({"models": ["other"]}, "Check the model's name (litellm wants PROVIDER/MODEL) and api_base"),
        ({"rates": {"429-quota": 1.0}}, "The account has no quota left"),
        ({"rates": {"error-in-200 code=401": 1.0}}, "Check the key in the environment"),
    ],
)
def test_a_wrong_key_or_model_ends_the_run_at_once(
    lab: Lab, settings: dict[str, Any], told: str, model: str, dist: str
) -> None:
    if dist and model != "openai:m":
        pytest.skip("told apart by one provider")
    with serving(**settings) as server:
        lab.suite(n=100, votes=3)
        judge_file(lab, server, model)
        ran = run(lab, dist=dist)
        assert ran.ret == 4, ran.said
        assert told in ran.said
        assert "Traceback" not in ran.said
        assert "INTERNALERROR" not in ran.said
        # Three failures end the judge; no call is asked a third time meanwhile. test_llm_judge.py counts the seconds.
        assert len(server.requests()) <= 2 * 16


@pytest.mark.parametrize("model", PROVIDERS)
def test_a_server_that_is_down(lab: Lab, server: Server, model: str, dist: str) -> None:
    if dist and model != "openai:m":
        pytest.skip("told apart by one provider")
    server.stop()
    lab.suite(n=50, votes=3)
    judge_file(lab, server, model)
    ran = run(lab, dist=dist)
    assert ran.ret == 4, ran.said
    assert 1 <= ran.said.count("that the server runs") <= 2
    assert f"asking {server.base_url}/chat/completions" in ran.said
    assert "Traceback" not in ran.said


@pytest.mark.parametrize("model", [*PROVIDERS, "litellm:groq/m"])
def test_a_server_that_drops_what_it_is_sent(
    lab: Lab, server: Server, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A listener whose queue is full answers no further connection."""
    monkeypatch.setenv("GROQ_API_KEY", SECRET)
    lab.suite(n=50, votes=3)
    with socket.socket() as listener, contextlib.ExitStack() as queued:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        address = listener.getsockname()
        for _ in range(3):
            filler = queued.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(address)
        base = f"http://127.0.0.1:{address[1]}/v1"
        judge_file(lab, server, model, api_base=base)
        ran = run(lab)
    assert ran.ret == 4, ran.said
    assert f"no connection: nothing came back in time, asking {base}/chat/completions" in ran.said


def test_a_key_with_a_line_break_is_named_and_not_shown(
    lab: Lab, server: Server, monkeypatch: pytest.MonkeyPatch, dist: str
) -> None:
    monkeypatch.setenv("MY_KEY", f"{SECRET}\n")
    lab.suite(n=10, votes=1)
    judge_file(lab, server, api_key_env="MY_KEY")
    ran = run(lab, dist=dist)
    assert ran.ret == 4, ran.said
    assert "the environment variable MY_KEY cannot be sent: it has a line break" in ran.said
    assert SECRET not in ran.said
    assert "Traceback" not in ran.said
    assert server.requests() == []


def test_a_judge_that_broke_ends_the_run_soon_and_what_the_other_answers_meanwhile_is_kept(
    lab: Lab, server: Server, dist: str
) -> None:
    """Cases come judge by judge for each instance, so that the run meets the broken judge at once."""
    lab.suite(n=200, votes=1)
    with serving(
        latency_s=1.0, rates={"401": 1.0}
    ) as refusing:  # the other has answered by then, on a busy machine too
        judge_file(lab, refusing, name="broken")
        (lab.path / "judge.yaml").rename(lab.path / "broken.yaml")
        judge_file(lab, server, name="sound")
        server.change(latency_s=0.2)
        ran = lab.judge("broken.yaml judge.yaml", "small", "--novelty-concurrency=16", dist=dist, apart=True)
        assert ran.ret == 4, ran.said
        assert "the judge 'broken' cannot go on" in ran.said
        assert "Traceback" not in ran.said
        assert len(refusing.requests()) <= 2 * 16
    paid = len([item for item in server.requests() if item.paid])
    assert 0 < paid < (100 if dist else 200)  # it was asked beside the other, and not all that it could be
    assert_all_were_kept(lab, server, paid)


def assert_all_were_kept(lab: Lab, server: Server, paid: int) -> None:
    kept = [row[2] for row in stored(lab)]
    assert set(kept) == {"ok"}
    assert len(kept) == paid
    ran = run(lab)
    assert ran.report["calls"]["reused"] == paid
    assert len([item for item in server.requests() if item.paid]) == 200


INTERRUPTED_WORKERS = """
import os, signal, threading, time
import pytest

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish():
    if os.environ.get("PYTEST_XDIST_WORKER"):
        def interrupt():
            time.sleep(0.5)
            os.kill(os.getpid(), signal.SIGINT)
        threading.Thread(target=interrupt, daemon=True).start()
    return (yield)
"""


def test_a_worker_that_is_interrupted_while_it_closes_keeps_what_is_on_its_way(lab: Lab, server: Server) -> None:
    """As xdist does five seconds after the controller ended."""
    lab.suite(n=200, votes=1)
    (lab.path / "conftest.py").write_text(INTERRUPTED_WORKERS)
    with serving(latency_s=1.0, rates={"401": 1.0}) as refusing:
        judge_file(lab, refusing, name="broken")
        (lab.path / "judge.yaml").rename(lab.path / "broken.yaml")
        judge_file(lab, server, name="sound")
        server.change(latency_s=2.5)
        ran = lab.judge("broken.yaml judge.yaml", "small", "--novelty-concurrency=16", dist="-n2", apart=True)
        assert ran.ret == 4, ran.said
    server.change(latency_s=0.0)
    (lab.path / "conftest.py").unlink()
    assert_all_were_kept(lab, server, len([item for item in server.requests() if item.paid]))


def test_what_was_answered_before_a_stop_is_kept_and_not_paid_for_again(lab: Lab, server: Server, dist: str) -> None:
    lab.suite(n=30, votes=1)
    judge_file(lab, server)
    server.change(script=["ok"] * 20, rates={"401": 1.0})
    ran = run(lab, "--novelty-concurrency=4", dist=dist)
    assert ran.ret == 4, ran.said
    assert len(stored(lab)) == 20
    told = " ".join(ran.report["notes"])
    assert ran.report["calls"]["made"] == 20 or "they are stored" in told or "are stored and not counted here" in told
    server.change(script=[], rates={})
    ran = run(lab)
    assert ran.report["calls"]["reused"] == 20
    assert len([item for item in server.requests() if item.paid]) == 30


def test_a_missing_key_and_a_missing_client_are_one_sentence(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    lab.suite(n=20)
    ran = lab.judge("openai:m", "small", apart=True)
    assert ran.ret == 4
    assert "needs the environment variable OPENAI_API_KEY, which is not set" in ran.said
    (lab.path / "openai.py").write_text("raise ImportError\n")
    monkeypatch.setenv("PYTHONPATH", str(lab.path))
    ran = lab.judge("openai:m", "small", apart=True)
    assert ran.ret == 4
    assert "pip install openai" in ran.said


BEHAVIOURS = {
    "prose": ("unparsed", "not JSON"),
    "schema-echo": ("unparsed", "schema echo"),
    "refusal": ("refused", "refusal"),
    "refusal-prose": ("refused", "refusal"),
    "length": ("truncated", "truncated answer"),
    "length-reasoning": ("truncated", "truncated reasoning"),
    "length-think": ("truncated", "truncated reasoning"),
    "empty-content": ("unparsed", "empty"),
    "null-content": ("unparsed", "empty"),
    "finish-content-filter": ("refused", "content filter"),
    "400-content-filter": ("refused", "content filter"),
    "tool-call": ("unparsed", "tool call"),
    "wrong-type": ("schema violation", "wrong type"),
    "contradiction": ("ok", "contradiction"),
    "fenced": ("ok", ""),
    "think": ("ok", ""),
    "reasoning": ("ok", ""),
    "surrogate": ("ok", ""),
    "non-utf8-content": ("ok", "not UTF-8"),
}


def test_every_kind_of_answer_is_told_apart(lab: Lab) -> None:
    plans = {f"Idea number {number:03}.": name for number, name in enumerate(BEHAVIOURS)}

    def change(row: dict[str, Any]) -> None:
        row["idea"]["text"] = f"Idea number {int(row['id'].strip('i')):03}."

    lab.suite(n=len(BEHAVIOURS), votes=1, change=change)
    with serving(when=plans) as server:
        judge_file(lab, server, answer_retries=0)
        ran = run(lab)
    assert (
        "model: 1 answer held several verdicts that disagree; the last one counts (contradiction)"
        in ran.report["findings"]
    )
    assert "model: 1 answer held bytes that are not UTF-8; they were replaced (not UTF-8)" in ran.report["findings"]
    found = {int(row[0].strip("i")): row[2:4] for row in stored(lab)}
    assert {name: found[number] for number, name in enumerate(BEHAVIOURS)} == BEHAVIOURS


def test_a_setting_that_the_server_does_not_take_makes_no_variant(lab: Lab) -> None:
    with serving(unsupported=["temperature"]) as server:
        lab.suite(n=10, votes=2, variants={"hot": {"temperature": 0.7}})
        judge_file(lab, server, temperature=0.0)
        ran = run(lab, "--novelty-variant=hot", "--novelty-gate=flip_rate[hot]<=1", "--novelty-gate=vote_shift[max]<=1")
    (item,) = ran.report["variants"]
    assert (item["cause"], item["attribution"].split(";")[0]) == (
        "same calls",
        "same calls: the server does not take temperature",
    )
    assert set(ran.decisions().values()) == {"not enforced"}
    assert "is seen to move it" not in ran.report["headline"]


@pytest.mark.parametrize("behaviour", ["prose", "tool-call"])
def test_a_run_without_a_readable_answer_fails(lab: Lab, behaviour: str) -> None:
    with serving(rates={behaviour: 1.0}) as server:
        lab.suite(n=3, votes=1, gates=["invalid_rate@point<=1"])
        judge_file(lab, server)
        ran = run(lab)
    assert ran.ret == 1
    assert "gave hardly a valid verdict" not in ran.report["headline"]
    assert ran.report["calls"]["failed"] == 3


def test_a_budget_below_one_call_is_said_to_be(lab: Lab, server: Server) -> None:
    lab.suite(n=3, votes=1)
    judge_file(lab, server)
    ran = run(lab, "--novelty-budget=0.0001")
    assert "is less than one call sets aside, so nothing was asked" in ran.plain
    assert "goes on from here" not in ran.plain
    assert server.requests() == []


def test_a_key_that_was_pasted_into_a_judge_file_is_not_repeated(lab: Lab, server: Server) -> None:
    lab.suite(n=1, votes=1)
    judge_file(lab, server, api_key_env="sk-this-is-the-key-itself")
    ran = run(lab)
    assert ran.ret == 4
    assert "Keys stay out of files and command lines: put it into the environment" in ran.said
    assert "sk-this" not in ran.said


@pytest.mark.parametrize("model", [*PROVIDERS, "litellm:groq/m", "litellm:anthropic/m"])
def test_a_redirect_shows_no_key_to_anybody_else(
    lab: Lab, server: Server, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """litellm makes a client in three ways for the three it is asked for here."""

    class Elsewhere(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(307)
            self.send_header("Location", server.base_url + "/chat/completions")
            self.end_headers()

        def log_message(self, *args: object) -> None: ...

    monkeypatch.setenv("GATEWAY_KEY", SECRET)
    lab.suite(n=5, votes=1)
    with ThreadingHTTPServer(("127.0.0.1", 0), Elsewhere) as other:
        threading.Thread(target=other.serve_forever, daemon=True).start()
        base = f"http://127.0.0.1:{other.server_port}/v1"
        judge_file(lab, server, model, api_base=base, api_key_env="GATEWAY_KEY", headers={"X-Gate": "GATEWAY_KEY"})
        ran = run(lab)
        other.shutdown()
    assert ran.ret == 4
    assert f"the server redirects to {server.base_url}/chat/completions. Put that address into api_base" in ran.said
    assert server.requests() == []


def test_faulty_bodies_are_tried_again(lab: Lab) -> None:
    script = ["malformed-json", "html", "empty-body", "error-in-200", "no-choices"]
    with serving(script=script) as server:
        lab.suite(n=5, votes=1)
        judge_file(lab, server)
        ran = run(lab, "--novelty-concurrency=5")
        assert ran.report["calls"]["failed"] == 0
        assert ran.report["calls"]["retried"] == 5


@pytest.mark.parametrize("behaviour", ["hang", "hang-body", "dribble pieces=50 pause_s=0.2"])
def test_a_server_that_never_ends_its_answer_times_out(lab: Lab, behaviour: str) -> None:
    with serving(each=[behaviour]) as server:
        lab.suite(n=4, votes=1)
        judge_file(lab, server, timeout_s=0.5)
        ran = run(lab)
        assert ran.report["calls"]["failed"] == 0, ran.said
        assert ran.report["calls"]["retried"] == 4


def test_filtered_instances_are_listed_and_a_blocklist_takes_them_out(lab: Lab) -> None:
    plans = {"Idea number 003.": "400-content-filter"}

    def change(row: dict[str, Any]) -> None:
        row["idea"]["text"] = f"Idea number {int(row['id'].strip('i')):03}."

    lab.suite(n=6, votes=1, change=change)
    with serving(when=plans) as server:
        judge_file(lab, server)
        ran = run(lab)
        (finding,) = [text for text in ran.report["findings"] if "content filter" in text]
        (refused,) = [name for name, result in ran.outcomes().items() if result == "invalid"]
        assert refused in finding
        suite = lab.path / "small" / "suite.yaml"
        blocked = [{"id": refused, "reason": "the filter of m refuses it"}]
        suite.write_text(json.dumps({**json.loads(suite.read_text()), "blocklist": blocked}))
        ran = run(lab)
        assert refused not in ran.outcomes()
        assert len(ran.outcomes()) == 5
        assert ran.report["run"]["suites"][0]["blocklist"] == {refused: "the filter of m refuses it"}
        assert "1 more are on its blocklist" in ran.plain


# --- rates and budgets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("dist", ["", "-n4"])
def test_requests_per_minute_are_kept_over_all_workers(lab: Lab, server: Server, dist: str) -> None:
    """A limit of 600 a minute is one call each 0.1 s, whoever sends it."""
    lab.suite(n=50, votes=1)
    judge_file(lab, server, requests_per_minute=600)
    ran = run(lab, "--novelty-concurrency=16", dist=dist)
    assert ran.report["calls"]["failed"] == 0, ran.said
    times = sorted(item.received for item in server.requests())
    assert len(times) == 50
    # The first calls may be late on their way, so that the others seem to come sooner; tests/unit/test_pace.py is exact.
    assert times[-1] - times[0] >= 0.8 * 49 * 0.1


@pytest.mark.parametrize("other", [{"requests_per_minute": 600}, {"model": "litellm:openai/n"}])
def test_two_judges_of_one_account_share_its_rate(lab: Lab, server: Server, other: dict[str, Any]) -> None:
    """Also through the other library, as another model, and where only one of them names a rate."""
    lab.suite(n=16, votes=1)
    judge_file(lab, server, **{"name": "warm", "temperature": 1, **other})
    (lab.path / "judge.yaml").rename(lab.path / "warm.yaml")
    judge_file(lab, server, requests_per_minute=600)
    ran = lab.judge("judge.yaml warm.yaml", "small", "--novelty-concurrency=16", apart=True)
    assert ran.report["calls"]["made"] == 32, ran.said
    assert "ask one address with one key and keep its rates together" in ran.plain
    assert ("; warm without rates too" in ran.plain) == ("model" in other)
    times = sorted(item.received for item in server.requests())
    assert times[-1] - times[0] >= 0.8 * 31 * 0.1


def test_tokens_per_minute_are_kept(lab: Lab, server: Server) -> None:
    lab.suite(n=5, votes=1)
    judge_file(lab, server, tokens_per_minute=600_000, max_tokens=4000)
    run(lab)
    times = sorted(item.received for item in server.requests())
    assert times[-1] - times[0] >= 1.0


@pytest.mark.parametrize("dist", ["", "-n2"])
def test_a_budget_is_never_exceeded_and_a_later_run_goes_on(lab: Lab, server: Server, dist: str) -> None:
    each = 400e-6 + 10e-6 + 80e-6
    lab.suite(n=40, votes=1)
    judge_file(lab, server, max_tokens=1000)
    ran = run(lab, "--novelty-budget=0.012", dist=dist)
    paid = len([item for item in server.requests() if item.paid])
    assert paid >= 5
    assert paid * each <= 0.012
    assert "the budget of $0.012 is reached" in ran.plain, ran.said
    ran = run(lab, "--novelty-budget=1", dist=dist)
    assert ran.report["calls"]["reused"] >= paid
    assert len([item for item in server.requests() if item.paid]) == 40


def test_a_server_that_ignores_the_token_limit_exceeds_a_budget_only_by_what_was_in_flight(lab: Lab, dist: str) -> None:
    each, budget = 500e-6 + 4000 * 2e-6, 0.05
    with serving(usage={"prompt_tokens": 500, "completion_tokens": 4000}) as server:
        lab.suite(n=40, votes=1)
        judge_file(lab, server, max_tokens=100)
        ran = run(lab, f"--novelty-budget={budget}", "--novelty-concurrency=4", dist=dist)
        paid = len([item for item in server.requests() if item.paid])
    assert paid >= 4
    # Four in flight cost less; they would be eight if the bound stayed. A worker learns it of its own first two.
    assert paid * each <= budget + (2 * each if dist else 0)
    (finding,) = [text for text in ran.report["findings"] if "more tokens than it was allowed" in text]
    assert finding.startswith("model answers with more tokens than it was allowed (max_tokens=100): ")


def test_a_budget_without_a_price_is_refused_before_anything_is_asked(lab: Lab, server: Server) -> None:
    lab.suite(n=4, votes=1)
    judge_file(lab, server, price=None)
    ran = run(lab, "--novelty-budget=1")
    assert ran.ret == 4
    assert "the price of judge 'model' is unknown" in ran.said
    assert server.requests() == []


def test_a_dry_run_needs_no_key_and_asks_nothing(lab: Lab, server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    lab.suite(n=10, votes=2)
    judge_file(lab, server, api_key_env="NOT_SET")
    ran = run(lab, "--novelty-dry-run")
    assert ran.ret == 0, ran.said
    assert "20 calls, 0 stored, 20 to make" in ran.plain
    assert "6,000 output tokens" in ran.plain
    assert "price from the judge file; output tokens assumed: 300 a call" in ran.plain
    assert server.requests() == []
    judge_file(lab, server)
    run(lab, "-k", "i001 or i002")
    ran = run(lab, "--novelty-dry-run")
    assert "4 stored, 16 to make" in ran.plain
    assert "output tokens as in stored calls: 40 a call" in ran.plain


# --- cassettes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("options", [[], ["--no-text"]], ids=["whole", "no-text"])
def test_a_cassette_repeats_a_run_without_a_server(lab: Lab, server: Server, options: list[str], dist: str) -> None:
    lab.suite(n=8, votes=2)
    judge_file(lab, server)
    first = run(lab)
    assert cli(lab, "export", "--out", "cassette.jsonl", *options) == "16 records written to cassette.jsonl"
    text = (lab.path / "cassette.jsonl").read_text()
    assert text.isascii()
    assert ("because" in text or 'reason":""' not in text) == (not options)
    server.stop()
    ran = run(lab, "--novelty-offline", "--novelty-store=cassette.jsonl", dist=dist)
    assert ran.outcomes() == first.outcomes()
    assert ran.report["metrics"] == first.report["metrics"] or _values(ran) == _values(first)
    assert ran.report["calls"]["made"] == 0
    assert (lab.path / "cassette.jsonl").read_text() == text


def _values(ran: Any) -> list[Any]:
    return [(row["metric"], row["value"]) for row in ran.report["metrics"] if row["metric"] != "cost_usd"]


def test_a_cassette_of_another_request_is_a_miss_with_its_cause(lab: Lab, server: Server) -> None:
    lab.suite(n=3, votes=1)
    judge_file(lab, server)
    run(lab)
    cli(lab, "export", "--out", "cassette.jsonl")
    judge_file(lab, server, temperature=1)
    ran = run(lab, "--novelty-offline", "--novelty-store=cassette.jsonl")
    assert ran.ret == 1
    assert (
        "the verdict of model is not recorded: since it was recorded, the judge (temperature: none to 1) changed"
        in ran.plain
    )
    assert "Recording takes 1 call at about $0.0005" in ran.plain
    assert "recording all of them takes 3 calls at about $0.0015" in ran.plain
    judge_file(lab, server, api_base=f"{server.base_url}/")
    ran = run(lab, "--novelty-offline", "--novelty-store=cassette.jsonl")
    assert ran.ret == 0, ran.plain  # a slash at the end changes nothing
    judge_file(lab, server, api_base="http://127.0.0.1:9/v1")
    ran = run(lab, "--novelty-offline", "--novelty-store=cassette.jsonl")
    assert f"OPENAI_BASE_URL): {server.base_url} to http://127.0.0.1:9/v1) changed" in ran.plain
    lab.suite(n=4, votes=1)
    judge_file(lab, server)
    ran = run(lab, "--novelty-offline", "--novelty-store=cassette.jsonl")
    assert "nothing is recorded for this judge on this instance" in ran.plain
    assert "Recording takes 1 call at about $0.0005" in ran.plain  # the mean of those that are recorded
    ran = run(lab, "--novelty-offline", "--novelty-refresh", "--novelty-store=cassette.jsonl")
    assert (ran.ret, "Leave one of them out" in ran.said) == (4, True)
    judge_file(lab, server, temperature=1)
    ran = run(lab, "--novelty-offline", "--novelty-store=cassette.jsonl", "--novelty-missing=warn")
    assert ran.counts()["skipped"] >= 3
    ran = run(lab, "--novelty-store=cassette.jsonl")
    assert ran.ret == 4
    assert "only read from" in ran.said


def test_two_exports_of_the_same_records_are_equal(lab: Lab, server: Server) -> None:
    lab.suite(n=8, votes=2)
    judge_file(lab, server)
    run(lab, "--novelty-concurrency=3")
    cli(lab, "export", "--out", "one.jsonl")
    run(lab, dist="-n2")
    cli(lab, "export", "--out", "two.jsonl")
    assert (lab.path / "one.jsonl").read_bytes() == (lab.path / "two.jsonl").read_bytes()


def cli(lab: Lab, *args: str) -> str:
    done = subprocess.run(
        [Path(sys.executable).with_name("pytest-novelty"), *args],
        cwd=lab.path,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


# --- cut off, and secrets -----------------------------------------------------------------------------------


def test_kill_9_ten_times_and_nothing_stored_is_asked_again(lab: Lab) -> None:
    with serving(latency_s=0.05) as server:
        lab.suite(n=200, votes=1)
        judge_file(lab, server)
        command = [
            sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", "--novelty-judge=judge.yaml",
            "--novelty-suite=small", "--novelty-concurrency=4",
        ]  # fmt: skip
        answered: set[int] = set()
        seed = random.SystemRandom().randrange(10**6)
        print(f"the moments are those of the seed {seed}")
        moments = random.Random(seed)
        for _ in range(10):
            seen = len(server.requests())
            process = subprocess.Popen(command, cwd=lab.path, stdout=subprocess.DEVNULL, start_new_session=True)
            server.wait_for(seen + moments.randint(1, 10))
            time.sleep(moments.uniform(0, 0.06))  # at any moment of a call, of 50 ms, or of its keeping
            process.send_signal(signal.SIGKILL)
            process.wait()
            asked = [item.body["seed"] for item in server.requests()[seen:]]
            assert not answered & set(asked)
            answered = _stored_seeds(lab.path)
        seen = len(server.requests())
        ran = run(lab, "--novelty-concurrency=4")
        assert ran.report["calls"]["failed"] == 0
        assert not answered & {item.body["seed"] for item in server.requests()[seen:]}
        assert ran.report["calls"]["reused"] == len(answered) > 0


def _stored_seeds(path: Path) -> set[int]:
    with sqlite3.connect(path / ".novelty" / "verdicts.sqlite") as connection:
        return {row[0] % 2**31 for row in connection.execute("SELECT seed FROM records")}


def test_no_key_is_ever_written(lab: Lab, monkeypatch: pytest.MonkeyPatch, dist: str) -> None:
    """The server knows the key and says it in everything it can: errors, models, answers."""
    gateway = "gateway-value-0123456789"
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    monkeypatch.setenv("MY_GATEWAY", gateway)
    lab.suite(n=8, votes=1)
    leak = f"{SECRET} and {gateway}"
    plans = {"number": f'content text=\'{{"novel": true, "reason": "{leak}"}}\''}
    for settings in ({"when": plans, "served": SECRET}, {"key": "other"}, {"when": {"": f"content text='{leak}'"}}):
        with serving(**settings) as server:
            judge_file(lab, server, headers={"X-Gateway": "MY_GATEWAY"})
            ran = run(lab, "-rA", "--junit-xml=junit.xml", dist=dist)
            assert server.requests()[0].headers["x-gateway"] == gateway
            texts = [ran.said, json.dumps(ran.report)]
            for path in lab.path.rglob("*"):
                if path.is_file():
                    texts.append(path.read_bytes().decode("utf-8", "replace"))
            assert not [text for text in texts if SECRET in text or gateway in text]
