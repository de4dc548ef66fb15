"""Cassettes that were edited: refused with file and line, or their records failed ones. Nothing of them reaches a number."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty.cassette import load_cassette, without_texts
from pytest_novelty.errors import StoreError
from pytest_novelty.model import OK, SCHEMA_VIOLATION, TIE, Record
from pytest_novelty.outcomes import case_result
from pytest_novelty.recording import Recorder
from pytest_novelty.wire import to_wire

ROW: dict[str, Any] = {
    "key": "k", "judge": "j", "judge_version": "1", "suite": "s", "variant": "reference", "instance": "i", "order": None,
    "sample": 0, "seed": 0, "status": "ok", "kind": "", "message": "", "raw": "", "label": "novel", "latency_s": 1.0,
}  # fmt: skip


def write(folder: Path, *rows: dict[str, Any]) -> Path:
    path = folder / "cassette.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows).replace('"1e400"', "1e400"))
    return path


@pytest.mark.parametrize(
    "change",
    [
        {},
        {"label": None, "score": -1e20},
        {"label": None, "abstained": True},
        {"label": None, "raw": "{}"},
        {"label": None, "status": "refused"},
        {"seed": -5, "tokens_cached": 0, "tokens_reasoning": None, "retries": 3},
    ],
)
def test_what_an_export_can_have_is_read(change: dict[str, Any], tmp_path: Path) -> None:
    assert load_cassette(write(tmp_path, {**ROW, **change})).get(["k"])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        *[({"score": score}, "score is too large for a number") for score in (1e308, -1e21)],
        ({"score": "1e400"}, "score: 1e400 is too large for a number"),
        ({"raw": '{"score": NaN}'}, "raw is not the JSON text of an answer"),
        *[
            ({name: -1}, f"{name} is below 0")
            for name in ("tokens_in", "tokens_out", "tokens_cached", "tokens_reasoning")
        ],
        *[({name: -1}, f"{name} is below 0") for name in ("retries", "cost_usd", "latency_s")],
        *[({name: 2**63}, f"{name} is too large") for name in ("tokens_cached", "retries", "seed", "sample")],
        *[({name: 1e308}, f"{name} is too large") for name in ("cost_usd", "latency_s")],
        ({"label": None}, "status ok, and no answer, label, score or abstention"),
        ({"status": "refused"}, "the status 'refused' and a verdict"),
        (
            {"grounds": '[[["a","b"],["verbatim","paraphrase"],["",""],true]]'},
            "grounds do not tell .* not 'paraphrase'",
        ),
    ],
)
def test_what_no_export_can_have_is_refused(change: dict[str, Any], told: str, tmp_path: Path) -> None:
    path = write(tmp_path, {**ROW, "key": "first"}, {**ROW, **change})
    with pytest.raises(StoreError, match=told) as caught:
        load_cassette(path)
    assert (caught.value.path, caught.value.line) == (path, 2)


@pytest.mark.parametrize(
    ("protocol", "change", "told"),
    [
        ("pairwise", {"label": "nonsense-id"}, "has the label 'nonsense-id', which this instance cannot have"),
        ("pairwise", {"label": "novel"}, "has the label 'novel'"),
        ("pairwise", {"label": None, "score": 3.0}, "has no verdict of a pairwise suite"),
        ("pointwise", {"label": TIE}, "has the label 'tie'"),
        ("pointwise", {"label": "a"}, "has the label 'a'"),
    ],
)
def test_a_verdict_that_is_none_on_its_instance_is_a_failed_one(
    protocol: str, change: dict[str, Any], told: str, make_suite: Any, make_case: Any, plan_calls: Any
) -> None:
    case = make_case(make_suite(protocol))
    call, recorder = plan_calls(case)[0], Recorder()
    stored = recorder.answered(call, {"winner": "A"} if protocol == "pairwise" else {"novel": True}, 0.0)
    assert stored.status == OK
    bare = Record(**{**without_texts(stored), "retrieved": None})
    assert recorder.reread(call, bare) == bare
    record = recorder.reread(call, bare._replace(**change))
    assert (record.status, record.label, record.score) == (SCHEMA_VIOLATION, None, None)
    assert told in record.message
    assert to_wire(case_result(case, [record], []), case.suite, case.instance)


@pytest.mark.parametrize("change", [{"label": TIE}, {"label": None, "abstained": True}])
def test_ties_and_abstentions_without_their_answers_stay(
    change: dict[str, Any], make_suite: Any, make_case: Callable[..., Any], plan_calls: Any
) -> None:
    call, recorder = plan_calls(make_case(make_suite("pairwise")))[0], Recorder()
    stored = recorder.answered(call, {"winner": "A"}, 0.0)._replace(raw="", **change)
    assert recorder.reread(call, stored) == stored
