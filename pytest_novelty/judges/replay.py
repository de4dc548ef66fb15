"""Recorded answers as a judge: ``replay:FILE``. The file holds records as ``pytest-novelty export`` writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

from pytest_novelty.answers import MEASURED_KEYS
from pytest_novelty.digests import digest_of, opaque_id
from pytest_novelty.errors import JudgeError, SuiteError
from pytest_novelty.exports import read_rows
from pytest_novelty.jsonl import parse_json
from pytest_novelty.model import ERROR, LATER, OK, TIMEOUT, TRUNCATED, Request
from pytest_novelty.validation import explain, load_schema, shipped_check

_Slot = tuple[str, str, str | None, int]

_NO_ANSWER: Final = (ERROR, TIMEOUT)


class _Recorded(NamedTuple):
    """``settings``: how a model was asked; empty for a judge that is none."""

    status: str
    message: str
    raw: str
    settings: str

    def answer(self) -> Any:
        """The answer without what its call took: this run measures calls of its own. How it was asked for remains."""
        value = json.loads(self.raw)
        if not isinstance(value, dict):
            return value
        told: dict[str, Any] = {"settings": self.settings} if self.settings else {}
        if self.status == TRUNCATED and "is_cut" in value:
            told["is_cut"] = value["is_cut"]
        return {key: item for key, item in value.items() if key not in {*MEASURED_KEYS, "cost_usd"}} | told


class Replay:
    """Answers each request with what was recorded for its (instance, variant, order, sample); raises LookupError else."""

    uses_prompt = False
    cost_usd_per_call = 0.0
    deterministic = True
    may_tie = True
    may_abstain = True
    repeats_records = True

    def __init__(self, judge: str, version: str, answers: Mapping[_Slot, _Recorded], path: Path) -> None:
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
        recorded = self._answers[slot]
        if recorded.status != OK and not recorded.raw:
            raise RuntimeError(f"recorded failure ({recorded.status}): {recorded.message}")
        return recorded.answer()


def load_replay(path: Path) -> Replay:
    """Read a file of records. Raises JudgeError if it cannot be replayed: unreadable, of two judges, a slot twice, no answers."""
    if not path.is_file():
        raise JudgeError(
            "there is no such file of records", path=path, hint="pytest-novelty export writes one from a store"
        )
    fits = shipped_check("record")
    answers: dict[_Slot, _Recorded] = {}
    judges: dict[tuple[str, str], int] = {}
    try:
        for line, row in read_rows(path, SuiteError):
            if not fits(row):
                sentence, _ = explain(row, load_schema("record")) or ("is not a record", ())
                raise JudgeError(sentence, path=path, line=line)
            if not row["raw"] and row["status"] not in _NO_ANSWER:  # a label names an idea, and a request names none
                raise JudgeError(
                    "the answers were left out (export --no-text), so there is nothing to replay",
                    path=path,
                    line=line,
                    hint=f"Export again without --no-text; or repeat the run with the recorded judge, {row['judge']}, and "
                    f"--novelty-offline --novelty-store={path}",
                )
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
                parse_json(row["raw"] or "null")
            except (ValueError, RecursionError) as error:
                raise JudgeError(f"raw is not JSON: {error}", path=path, line=line) from None
            # a replay declares ties and abstentions: what the judge had not declared stays the failure it was
            raw = "" if row.get("kind", "").startswith("undeclared") else row["raw"]
            answers[slot] = _Recorded(row["status"], row["message"], raw, row.get("settings", ""))
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
    content = sorted(repr((slot, tuple(recorded))) for slot, recorded in answers.items())
    return Replay(name, f"{version}-{digest_of(content, 4)}", answers, path)
