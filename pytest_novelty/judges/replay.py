"""Recorded answers as a judge: ``replay:FILE``. The file holds records as ``pytest-novelty export`` writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_novelty.digests import digest_of, opaque_id
from pytest_novelty.errors import JudgeError, SuiteError
from pytest_novelty.jsonl import read_jsonl
from pytest_novelty.model import LATER, OK, Request
from pytest_novelty.validation import explain, load_schema, shipped_check

_Slot = tuple[str, str, str | None, int]


class Replay:
    """Answers each request with what was recorded for its (instance, variant, order, sample); raises LookupError else."""

    uses_prompt = False
    cost_usd_per_call = 0.0
    deterministic = True
    may_tie = True
    may_abstain = True

    def __init__(self, judge: str, version: str, answers: Mapping[_Slot, tuple[str, str, str]], path: Path) -> None:
        self.judge = judge
        self.version = version
        self._answers = answers
        self._path = path

    def __call__(self, request: Request) -> Any:
        slot = (request.instance_id, request.variant, request.order, request.sample)
        if slot not in self._answers:
            raise LookupError(
                f"{self._path} has no answer for this instance: variant {request.variant}, order {request.order}, "
                f"vote {request.sample}"
            )
        status, message, raw = self._answers[slot]
        if status != OK and not raw:
            raise RuntimeError(f"recorded failure ({status}): {message}")
        return json.loads(raw)


def load_replay(path: Path) -> Replay:
    """Read a file of records. Raises JudgeError if it cannot be replayed: unreadable, of two judges, a slot twice."""
    if not path.is_file():
        raise JudgeError(
            "there is no such file of records", path=path, hint="pytest-novelty export writes one from a store"
        )
    fits = shipped_check("record")
    answers: dict[_Slot, tuple[str, str, str]] = {}
    judges: dict[tuple[str, str], int] = {}
    try:
        for line, row in read_jsonl(path, SuiteError):
            if not fits(row):
                sentence, _ = explain(row, load_schema("record")) or ("is not a record", ())
                raise JudgeError(sentence, path=path, line=line)
            judges.setdefault((row["judge"], row["judge_version"]), line)
            if LATER in row.get("key", ""):  # what a probe heard: a run is repeated from what a run reads
                continue
            slot = (opaque_id(row["suite"], row["instance"]), row["variant"], row["order"], row["sample"])
            if slot in answers:
                raise JudgeError(
                    f"has two answers for {row['suite']} {row['instance']}, variant {row['variant']}, order {row['order']}, "
                    f"vote {row['sample']}",
                    path=path,
                    line=line,
                    hint="Export one judge and one version at a time",
                )
            try:
                json.loads(row["raw"] or "null")
            except ValueError as error:
                raise JudgeError(f"raw is not JSON: {error}", path=path, line=line) from None
            # a replay declares ties and abstentions: what the judge had not declared stays the failure it was
            raw = "" if row.get("kind", "").startswith("undeclared") else row["raw"]
            answers[slot] = (row["status"], row["message"], raw)
    except SuiteError as error:
        raise JudgeError(error.message, path=error.path, line=error.line, hint=error.hint) from None
    if len(judges) != 1:
        listed = ", ".join(f"{name} {version}" for name, version in judges) or "nobody"
        raise JudgeError(
            f"holds records of {listed}",
            path=path,
            hint="A replay is of one judge in one version: export it with --judge NAME",
        )
    ((name, version),) = judges
    return Replay(name, f"{version}-{digest_of(sorted(map(repr, answers.items())), 4)}", answers, path)
