"""``python -m tests.serving --port 8000 --rate 429=0.1 --script 500 --latency 0.2``: the server by hand."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

from .app import run
from .behaviours import BEHAVIOURS
from .settings import Settings


def _settings(arguments: argparse.Namespace) -> dict[str, Any]:
    settings: dict[str, Any] = json.loads(arguments.settings)
    if arguments.rate:
        pairs = (text.rpartition("=") for text in arguments.rate)
        settings["rates"] = {behaviour: float(rate) for behaviour, _, rate in pairs}
    given = {
        "script": arguments.script,
        "latency_s": arguments.latency,
        "verdict": arguments.verdict,
        "key": arguments.key,
        "models": arguments.model,
        "requests_per_minute": arguments.rpm,
        "seed": arguments.seed,
    }
    return settings | {name: value for name, value in given.items() if value is not None}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m tests.serving",
        description="An OpenAI-compatible server for tests, which misbehaves on demand. It listens on loopback only.",
        epilog=f"Behaviours: {', '.join(sorted(BEHAVIOURS))}. Options follow the name: '429 retry_after=2'.",
    )
    parser.add_argument("--port", type=int, default=0, help="default: a free one, which is printed")
    parser.add_argument("--journal", type=Path, help="append what is received and answered to this JSONL file")
    parser.add_argument("--latency", type=float, help="seconds before each answer")
    parser.add_argument("--verdict", help="first, second, hash or coin")
    parser.add_argument("--script", action="append", help="what happens to the first requests; repeat it")
    parser.add_argument("--rate", action="append", help="BEHAVIOUR=PROBABILITY; repeat it")
    parser.add_argument("--seed", type=int, help="of the rates")
    parser.add_argument("--key", help="the API key to require")
    parser.add_argument("--model", action="append", help="a model that exists; repeat it")
    parser.add_argument("--rpm", type=int, help="requests a minute to enforce")
    parser.add_argument("--settings", default="{}", help="all settings as one JSON object")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    try:
        settings = Settings(**(json.loads(sys.stdin.readline()) if arguments.child else _settings(arguments)))
    except (TypeError, ValueError) as error:
        parser.error(str(error))
    journal = arguments.journal or Path(tempfile.gettempdir()) / "serving.jsonl"
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(run(settings, journal, arguments.port, child=arguments.child))


if __name__ == "__main__":
    main()
