"""Start the local model, judge ten landmark pairs in both orders with it, stop it: python examples/local_llm/run.py.

Arguments go to pytest: --novelty-sample=30, --novelty-report=out.json, ... The model listens where judge.yaml says.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import yaml
from serve import serving

JUDGE = Path(__file__).with_name("judge.yaml")


def main() -> int:
    port = urlsplit(yaml.safe_load(JUDGE.read_text(encoding="utf-8"))["api_base"]).port
    assert port is not None
    command = [sys.executable, "-m", "pytest", f"--novelty-judge={JUDGE}", "--novelty-suite=landmarks-pairwise"]
    # At temperature 0 a second vote would be the first once more.
    command += ["--novelty-sample=10", "--novelty-votes=1", *sys.argv[1:]]
    with serving(port):
        return subprocess.run(command, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
