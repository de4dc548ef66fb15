"""Reports of earlier versions: what they do not tell, since there was no such thing, as today's would say that there is none."""

from __future__ import annotations

from typing import Any


def complete(data: dict[str, Any]) -> None:
    """Add in place what was added to the format later. Data of another shape is left for the schema to refuse."""
    data.setdefault("grounding", [])
    data.setdefault("auditors", [])
    data.setdefault("published", [])
    data.setdefault("answers", [])
    if isinstance(run := data.get("run"), dict):
        run.setdefault("audits", [])
        run.setdefault("granularity", {"tokenizer": "", "caps": {}})
    if isinstance(calls := data.get("calls"), dict):
        calls.setdefault("audits", 0)
        calls.setdefault("audits_failed", 0)
    for row in (*_rows(data, "metrics"), *_rows(data, "gates")):
        row.setdefault("bounds", None)
    for outcome in _rows(data, "outcomes"):
        outcome.setdefault("grounds", None)
        outcome.setdefault("invented", None)
    for item in _rows(data, "drift"):
        item.setdefault("evidence", None)
    for item in _rows(data, "comparisons"):
        item.setdefault("verified_f1", None)
    for item in _rows(data, "grounding"):
        auditor = item.get("auditor")
        item.setdefault("macro_by_dimension", {})
        item.setdefault("textless", 0)
        item.setdefault("auditors", [] if auditor is None else [auditor])
    for item in _rows(data, "auditors"):
        item.setdefault("strata", {})
        for validation in _rows(item, "validations"):
            validation.setdefault("strata", {})


def _rows(data: dict[str, Any], name: str) -> list[dict[str, Any]]:
    rows = data.get(name)
    return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
