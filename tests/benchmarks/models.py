"""Measure what a model judge costs in time, side by side with the bare client and with other evaluators where they are installed.

    python tests/benchmarks/models.py [--rounds 5] [--calls 400] [--latency 0.2] [--concurrency 64] [--peers PYTHON]
                                      [--promptfoo COMMAND]

The server is the tests' own, a process of its own on this machine, so its CPU competes with the client's. Every figure is of a
whole process, from its start to its end; the CPU of a call is the slope between so many calls and three times as many.
``--peers`` names a Python interpreter that has deepeval or inspect-ai installed, ``--promptfoo`` how promptfoo is called; it is
found on the PATH, or where ``npx`` finds it installed. A peer that is not there is left out. deepeval under pytest is slow, and
so runs once, and with so many calls only.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.benchmarks.speed import write_suite
from tests.serving import Server, serving

_SETTINGS = {
    "DEEPEVAL_TELEMETRY_OPT_OUT": "YES", "OPENAI_API_KEY": "none", "INSPECT_LOG_LEVEL": "error",
    "PROMPTFOO_DISABLE_TELEMETRY": "1", "PROMPTFOO_DISABLE_UPDATE": "1", "PROMPTFOO_CONFIG_DIR": "promptfoo",
}  # fmt: skip
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | _SETTINGS

BARE = """
import asyncio, json, sys
import openai
base, calls, concurrency = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

async def main():
    client = openai.AsyncOpenAI(api_key="none", base_url=base, max_retries=0)
    room = asyncio.Semaphore(concurrency)

    async def call(number):
        async with room:
            answer = await client.chat.completions.create(
                model="m", temperature=0, max_tokens=512, messages=[{"role": "user", "content": f"Idea {number}. " * 200}]
            )
            return answer.choices[0].message.content

    assert all(await asyncio.gather(*map(call, range(calls))))

asyncio.run(main())
"""

SAME_TRANSPORT = BARE.replace("max_retries=0)", "max_retries=0, http_client=openai.DefaultAioHttpClient())").replace(
    """await client.chat.completions.create(
                model="m", temperature=0, max_tokens=512, messages=[{"role": "user", "content": f"Idea {number}. " * 200}]
            )
            return answer.choices[0].message.content""",
    """await client.post("/chat/completions", cast_to=bytes, body=dict(
                model="m", temperature=0, max_tokens=512, messages=[{"role": "user", "content": f"Idea {number}. " * 200}]
            ))
            return json.loads(answer)["choices"][0]["message"]["content"]""",
)
assert SAME_TRANSPORT.count("client.post") == SAME_TRANSPORT.count("DefaultAioHttpClient") == 1

BARE_LITELLM = """
import asyncio, os, sys
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm
base, calls, concurrency = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])

async def main():
    room = asyncio.Semaphore(concurrency)

    async def call(number):
        async with room:
            answer = await litellm.acompletion(
                model="openai/m", api_base=base, api_key="none", max_retries=0, temperature=0, max_tokens=512,
                messages=[{"role": "user", "content": f"Idea {number}. " * 200}],
            )
            return answer.choices[0].message.content

    assert all(await asyncio.gather(*map(call, range(calls))))

asyncio.run(main())
"""

INSPECT = """
import sys
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.model import get_model
from inspect_ai.scorer import includes
from inspect_ai.solver import generate
base, calls, concurrency = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
samples = [Sample(input=f"Idea {number}. " * 200, target="winner") for number in range(calls)]
model = get_model("openai/m", base_url=base, api_key="none", responses_api=False)
logs = eval(
    Task(dataset=samples, solver=generate(), scorer=includes()), model=model, max_connections=concurrency,
    max_samples=concurrency, display="none", log_dir="logs",
)
assert logs[0].status == "success", logs[0].error
assert len(logs[0].samples) == calls
"""

DEEPEVAL = """
import sys
import openai
from deepeval import evaluate
from deepeval.evaluate import AsyncConfig, CacheConfig, DisplayConfig
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase
base, calls, concurrency = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
client = openai.AsyncOpenAI(api_key="none", base_url=base, max_retries=0)

class Judge(BaseMetric):
    threshold, async_mode, include_reason, strict_mode, verbose_mode = 0.5, True, False, False, False

    async def a_measure(self, test_case, *args, **kwargs):
        answer = await client.chat.completions.create(
            model="m", temperature=0, max_tokens=512, messages=[{"role": "user", "content": test_case.input}]
        )
        self.score, self.success, self.reason = 1.0, bool(answer.choices[0].message.content), ""
        return self.score

    def measure(self, test_case, *args, **kwargs):
        raise NotImplementedError

    def is_successful(self):
        return self.success

    @property
    def __name__(self):
        return "Judge"

cases = [LLMTestCase(input=f"Idea {number}. " * 200, actual_output="x") for number in range(calls)]
result = evaluate(
    test_cases=cases, metrics=[Judge()], async_config=AsyncConfig(max_concurrent=concurrency),
    display_config=DisplayConfig(print_results=False, show_indicator=False), cache_config=CacheConfig(write_cache=False),
)
assert len(result.test_results) == calls
"""


DEEPEVAL_UNDER_PYTEST = """
import openai, pytest
from deepeval import assert_test
from deepeval.metrics import BaseMetric
from deepeval.test_case import LLMTestCase
client = openai.OpenAI(api_key="none", base_url=BASE, max_retries=0)

class Judge(BaseMetric):
    threshold, async_mode, include_reason, strict_mode, verbose_mode = 0.5, False, False, False, False

    def measure(self, test_case, *args, **kwargs):
        answer = client.chat.completions.create(
            model="m", temperature=0, max_tokens=512, messages=[{"role": "user", "content": test_case.input}]
        )
        self.score, self.success, self.reason = 1.0, bool(answer.choices[0].message.content), ""
        return self.score

    async def a_measure(self, test_case, *args, **kwargs):
        raise NotImplementedError

    def is_successful(self):
        return self.success

    @property
    def __name__(self):
        return "Judge"

@pytest.mark.parametrize("number", range(CALLS))
def test_idea(number):
    assert_test(LLMTestCase(input=f"Idea {number}. " * 200, actual_output="x"), [Judge()], run_async=False)
"""

SLOW = "deepeval under pytest"
"""How the names of sides begin that are measured once."""


def measure(
    command: Sequence[str], folder: Path, server: Server, calls: int, *, succeeds: bool = False
) -> tuple[float, float]:
    """(seconds, CPU seconds) of one process, which must make so many calls and, if it ``succeeds``, end with status 0."""
    for old in folder.glob(".novelty/*"):
        old.unlink()
    before, seen = resource.getrusage(resource.RUSAGE_CHILDREN), len(server.requests())
    began = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    made = len(server.requests()) - seen
    if made != calls or (succeeds and done.returncode):
        told = f"{made} calls were made of {calls}, status {done.returncode}: {' '.join(command)[:200]}"
        sys.exit(f"{told}\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return seconds, after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def judge_file(folder: Path, server: Server, model: str) -> Path:
    path = folder / f"{model.partition(':')[0]}.yaml"
    value = {
        "format": "novelty-judge/1", "model": model, "api_base": server.base_url, "price": {"input": 0, "output": 0}
    }  # fmt: skip
    path.write_text(json.dumps(value))
    return path


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=400)
    parser.add_argument("--latency", type=float, default=0.2)
    parser.add_argument("--concurrency", type=int, default=64)
    parser.add_argument("--peers", default=sys.executable)
    parser.add_argument("--promptfoo", type=shlex.split, default=find_promptfoo(), metavar="COMMAND")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, serving(latency_s=given.latency) as server:
        few = run_all(Path(name) / "few", server, given, given.calls)
        many = run_all(Path(name) / "many", server, given, 3 * given.calls)
    waves = -(-given.calls // given.concurrency)
    print(
        f"{given.calls} calls of {given.latency:g} s, {given.concurrency} in flight (floor {waves * given.latency:.2f} s); medians"
    )
    for side, (seconds, cpu) in few.items():
        bare = few["bare litellm" if "litellm" in side else "bare openai client"][0]
        slope = f", {(many[side][1] - cpu) / (2 * given.calls) * 1000:5.2f} ms a call" if side in many else ""
        print(f"{side:34} {seconds:6.2f} s  ratio {seconds / bare:5.2f}  CPU {cpu:5.2f} s{slope}")


def find_promptfoo() -> list[str]:
    """How promptfoo is called here; empty if it is not installed. Nothing is installed for it."""
    if shutil.which("promptfoo"):
        return ["promptfoo"]
    command = ["npx", "--no-install", "promptfoo"]
    if shutil.which("npx") is None:
        return []
    found = subprocess.run([*command, "--version"], env=ENVIRONMENT, capture_output=True, check=False)
    return command if found.returncode == 0 else []


def write_promptfoo(folder: Path, server: Server, calls: int) -> Path:
    path = folder / "promptfooconfig.json"
    settings = {"apiBaseUrl": server.base_url, "apiKey": "none", "temperature": 0, "max_tokens": 512}
    value = {
        "providers": [{"id": "openai:chat:m", "config": settings}],
        "prompts": ["{{idea}}"],
        "defaultTest": {"assert": [{"type": "contains", "value": "reasoning"}]},
        "tests": [{"vars": {"idea": f"Idea {number}. " * 200}} for number in range(calls)],
    }
    path.write_text(json.dumps(value))
    return path


def has_module(python: str, module: str) -> bool:
    script = f"import importlib.util as i, sys; sys.exit(i.find_spec({module!r}) is None)"
    return subprocess.run([python, "-c", script], check=False).returncode == 0


def run_all(folder: Path, server: Server, given: argparse.Namespace, calls: int) -> dict[str, tuple[float, float]]:
    """(seconds, CPU seconds) of each side, medians."""
    folder.mkdir()
    write_suite(folder, "suite", calls, 1)
    numbers = [server.base_url, str(calls), str(given.concurrency)]
    sides = {
        "bare openai client": [sys.executable, "-c", BARE, *numbers],
        "the same, our way of calling it": [sys.executable, "-c", SAME_TRANSPORT, *numbers],
        "bare litellm": [sys.executable, "-c", BARE_LITELLM, *numbers],
    }
    for model in ("openai:m", "litellm:openai/m"):
        sides[f"pytest-novelty {model}"] = [
            sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider",
            f"--novelty-judge={judge_file(folder, server, model)}", "--novelty-suite=suite",
            f"--novelty-concurrency={given.concurrency}",
        ]  # fmt: skip
    ours = set(sides)
    if has_module(given.peers, "deepeval"):
        sides["deepeval evaluate()"] = [given.peers, "-c", DEEPEVAL, *numbers]
    if has_module(given.peers, "inspect_ai"):
        sides["inspect-ai eval()"] = [given.peers, "-c", INSPECT, *numbers]
    if given.promptfoo:
        sides["promptfoo eval"] = [
            *given.promptfoo, "eval", "-c", str(write_promptfoo(folder, server, calls)), "-j", str(given.concurrency),
            "--no-cache", "--no-write", "--no-table", "--no-progress-bar",
        ]  # fmt: skip
    if calls == given.calls and has_module(given.peers, "deepeval") and has_module(given.peers, "pytest"):
        path = folder / "test_ideas.py"
        path.write_text(f"BASE, CALLS = {server.base_url!r}, {calls}\n{DEEPEVAL_UNDER_PYTEST}")
        command = [given.peers, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(path)]
        sides[SLOW] = command
        if has_module(given.peers, "xdist"):
            sides[f"{SLOW}, -n 16"] = [*command, "-n", "16"]
    taken: dict[str, list[tuple[float, float]]] = {side: [] for side in sides}
    for number in range(given.rounds + 1):
        for side, command in sides.items():
            if side.startswith(SLOW) and number != 1:
                continue
            figures = measure(command, folder, server, calls, succeeds=side not in ours)
            if number:  # the first round warms up
                taken[side].append(figures)
    return {side: (median(row[0] for row in rows), median(row[1] for row in rows)) for side, rows in taken.items()}


if __name__ == "__main__":
    main()
