"""What a judge returned -> a verdict or a failure, and what the answer says beside the verdict. Never raises."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final, NamedTuple

from pytest_novelty.digests import canonical_json
from pytest_novelty.masking import shorten
from pytest_novelty.model import (
    NOT_NOVEL,
    NOVEL,
    OK,
    SCHEMA_VIOLATION,
    STATUSES,
    TRUNCATED,
    UNPARSED,
    Document,
    Failure,
    Group,
    Json,
    Verdict,
)
from pytest_novelty.parsing import parse_text
from pytest_novelty.protocols.base import Powers, Protocol, describe, read_number, violates
from pytest_novelty.protocols.citing import VIOLATIONS
from pytest_novelty.validation import violation
from pytest_novelty.verdicts import NOT_SIMILAR, SIMILAR, SUPPORTED, UNSUPPORTED

_MAX_RAW: Final = 4_000_000


CONTRADICTION: Final = "contradiction"
NOT_UTF8: Final = "not UTF-8"
ODDITIES: Final = {
    CONTRADICTION: "held several verdicts that disagree; the last one counts",
    NOT_UTF8: "held bytes that are not UTF-8; they were replaced",
    **VIOLATIONS,
}
_BETWEEN: Final = ", "
"""Between the oddities of one answer, where a record keeps them as its kind."""
_REPLACEMENT: Final = "\N{REPLACEMENT CHARACTER}"


def join_oddities(oddities: Iterable[str]) -> str:
    """As a record keeps them."""
    return _BETWEEN.join(dict.fromkeys(oddities))


def split_oddities(kind: str) -> list[str]:
    """The oddities of a record's kind; none of an empty one."""
    return kind.split(_BETWEEN) if kind else []


class Extras(NamedTuple):
    """What an answer may add: the trace of a retrieving judge, what the call cost, which model served it and how it was asked.

    ``oddities`` name what is strange about an answer that was read all the same, each one of ODDITIES.
    """

    retrieved: tuple[Document, ...] | None = None
    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_usd: float | None = None
    oddities: tuple[str, ...] = ()
    tokens_cached: int | None = None
    tokens_reasoning: int | None = None
    retries: int = 0
    latency_s: float | None = None
    settings: str = ""


_NOTHING: Final = Extras()


class Reading(NamedTuple):
    """A read answer. ``raw`` is the answer as ASCII JSON, from which :func:`read_raw` gives the same verdict again."""

    raw: str
    verdict: Verdict | Failure
    extras: Extras = _NOTHING


def read_answer(
    answer: Any,
    protocol: Protocol,
    powers: Powers,
    schema: Mapping[str, Json] | None,
    *,
    tells_its_call: bool = False,
    shown: int = 0,
) -> Reading:
    """Read what a judge returned. ``shown``: how many papers it was shown.

    A string (or UTF-8 bytes) is parsed and held against ``schema``, the one its prompt declares; a dict or a Verdict is
    held against the protocol. A dict with a string under ``answer`` wraps raw text together with ``usage``, ``cost_usd``,
    ``model`` or ``retrieved``; one with ``failed: {status, kind, message}`` says why there is no answer. How the call was made
    (MEASURED_KEYS) is taken from the answer only where ``tells_its_call``, of judges that ship; else these keys mean nothing.
    """
    if isinstance(answer, Verdict):
        answer = _verdict_fields(answer, protocol)
    if isinstance(answer, bytes):
        try:
            answer = answer.decode("utf-8")
        except UnicodeDecodeError as error:
            failure = Failure(UNPARSED, "not UTF-8", f"byte {error.start} of the answer is not UTF-8")
            return Reading(_unread(answer.decode("utf-8", "backslashreplace")), failure)
    if type(answer) is not dict and isinstance(answer, Mapping):
        answer = dict(answer)
    try:
        raw = canonical_json(answer)
    except (TypeError, ValueError, RecursionError) as error:
        told = describe(answer)
        failure = Failure(SCHEMA_VIOLATION, "wrong type", f"the answer is not a JSON value ({error}): {told}")
        return Reading(_unread(told), failure)
    if len(raw) > _MAX_RAW:
        return Reading(_unread(raw), Failure(UNPARSED, "too long", f"the answer has {len(raw):,} characters"))
    return _read(raw, answer, protocol, powers, schema, tells_its_call, shown)


def _unread(text: str) -> str:
    """What is kept of an answer that cannot be read: a list, which reads as no answer in every later run too."""
    return canonical_json([shorten(text, 200)])


def read_raw(
    raw: str,
    protocol: Protocol,
    powers: Powers,
    schema: Mapping[str, Json] | None,
    *,
    tells_its_call: bool = False,
    shown: int = 0,
) -> Reading:
    """Read a stored answer again: with the present parser and the judge's present declarations."""
    return _read(raw, json.loads(raw), protocol, powers, schema, tells_its_call, shown)


def _read(
    raw: str,
    value: Any,
    protocol: Protocol,
    powers: Powers,
    schema: Mapping[str, Json] | None,
    tells_its_call: bool,
    shown: int,
) -> Reading:
    if isinstance(value, str):
        verdict, oddities = _read_text(value, protocol, powers, schema, shown)
        return Reading(raw, verdict, Extras(oddities=oddities) if oddities else _NOTHING)
    if not isinstance(value, dict):
        return Reading(raw, violates(f"the answer must be a text or a dict, not {describe(value)}"))
    extras = _read_extras(value, tells_its_call)
    if isinstance(extras, Failure):
        return Reading(raw, extras)
    if (failed := _read_failed(value.get("failed"))) is not None:
        return Reading(raw, failed, extras)
    if "answer" in value and isinstance(value["answer"], str) and protocol.key not in value:
        verdict, oddities = _read_text(value["answer"], protocol, powers, schema, shown)
        is_cut = tells_its_call and value.get("is_cut") is True
        if is_cut and isinstance(verdict, Failure) and verdict.status == UNPARSED:
            verdict = Failure(TRUNCATED, "truncated answer", "the token limit was reached before the verdict")
        return Reading(raw, verdict, extras._replace(oddities=oddities) if oddities else extras)
    read = protocol.read(value, powers, shown)
    if isinstance(read, Verdict) and read.violations:
        extras = extras._replace(oddities=read.violations)
    return Reading(raw, read, extras)


def _read_text(
    text: str, protocol: Protocol, powers: Powers, schema: Mapping[str, Json] | None, shown: int
) -> tuple[Verdict | Failure, tuple[str, ...]]:
    """(the verdict or failure, the oddities of a text that was read)."""
    parsed = parse_text(text, protocol.key)
    if isinstance(parsed, Failure) and protocol.score_key is not None:
        scored = parse_text(text, protocol.score_key)
        parsed = parsed if isinstance(scored, Failure) else scored
    if isinstance(parsed, Failure):
        return parsed, ()
    verdict = protocol.read(parsed.value, powers, shown)
    if isinstance(verdict, Verdict) and schema and (problem := violation(parsed.value, schema)):
        return Failure(SCHEMA_VIOLATION, "schema", f"the answer does not fit its schema: {problem}"), ()
    if isinstance(verdict, Failure):
        return verdict, ()
    odd = (CONTRADICTION,) * parsed.contradicted + (NOT_UTF8,) * (_REPLACEMENT in text)
    return verdict, (*odd, *verdict.violations)


def _verdict_fields(verdict: Verdict, protocol: Protocol) -> dict[str, Json]:
    """The dict form of a Verdict object."""
    fields: dict[str, Json] = {"critique" if protocol.key == "supported" else "reason": verdict.reason}
    if verdict.score is not None:
        fields["score"] = verdict.score
    if verdict.confidence is not None:
        fields["confidence"] = verdict.confidence
    if protocol.key == "groups":
        fields["groups"] = None if verdict.abstained else [_group_fields(group) for group in verdict.groups]
    elif verdict.label is not None or verdict.abstained:
        label = verdict.label
        fields[protocol.key] = _AS_BOOLEAN.get((protocol.key, label), label) if isinstance(label, str) else label
    if protocol.key == "is_similar" and verdict.groups:
        fields |= dict(zip(("evidence_a", "evidence_b"), verdict.groups[0].evidence, strict=False))
    return fields


_AS_BOOLEAN: Final = {
    ("novel", NOVEL): True,
    ("novel", NOT_NOVEL): False,
    ("is_similar", SIMILAR): True,
    ("is_similar", NOT_SIMILAR): False,
    ("supported", SUPPORTED): True,
    ("supported", UNSUPPORTED): False,
}


def _group_fields(group: Group) -> dict[str, Json]:
    spans = {str(member + 1): span for member, span in zip(group.members, group.evidence, strict=False)}
    return {"paper_indices": [member + 1 for member in group.members], "evidence": spans, "reason": group.reason}


def _read_failed(value: Any) -> Failure | None:
    """The failure that an answer states itself; a ``failed`` of another shape is a key of the user's."""
    if not isinstance(value, Mapping) or "status" not in value:
        return None
    status = value["status"]
    if status not in STATUSES or status == OK:
        known = ", ".join(STATUSES[1:])
        return violates(f"failed must be {{status, kind, message}} with a status of {known}, not {describe(value)}")
    return Failure(status, _name(str(value.get("kind") or status)), str(value.get("message") or ""))


MEASURED_KEYS: Final = frozenset({"retries", "latency_s", "settings", "is_cut"})
"""What a judge that makes its calls itself tells of them. In any other judge's answer they are keys of its own."""
_EXTRA_KEYS: Final = frozenset({"retrieved", "model", "usage", "cost_usd"}) | MEASURED_KEYS
_MAX_NAME: Final = 200


def _read_extras(value: Mapping[str, Any], tells_its_call: bool) -> Extras | Failure:
    if _EXTRA_KEYS.isdisjoint(value):
        return _NOTHING
    cost = read_number(value, "cost_usd", (0.0, float("inf")))
    if isinstance(cost, Failure):
        return cost
    measured = {key: value.get(key) for key in MEASURED_KEYS} if tells_its_call else {}
    latency = read_number(measured, "latency_s", (0.0, float("inf")))
    latency = None if isinstance(latency, Failure) else latency
    settings = measured.get("settings")
    retrieved = _read_retrieved(value["retrieved"]) if value.get("retrieved") is not None else None
    if isinstance(retrieved, Failure):
        return retrieved
    model = value.get("model")
    usage = value.get("usage")
    return Extras(
        retrieved,
        _name(model) if isinstance(model, str) else None,
        _tokens(usage, "prompt_tokens", "input_tokens"),
        _tokens(usage, "completion_tokens", "output_tokens"),
        cost,
        (),
        _tokens(usage, "cached_tokens"),
        _tokens(usage, "reasoning_tokens"),
        _tokens(measured, "retries") or 0,
        latency,
        settings if isinstance(settings, str) else "",
    )


def _read_retrieved(value: Any) -> tuple[Document, ...] | Failure:
    if not isinstance(value, (list, tuple)):
        return violates(f"retrieved must be a list of {{id, title, date}}, not {describe(value)}")
    found = []
    for item in value:
        if isinstance(item, str):
            found.append(Document(id=item))
            continue
        if not isinstance(item, Mapping) or not {"id", "title"} & item.keys():
            return violates(f"each retrieved item must have an id or a title, not {describe(item)}")
        date = item.get("date")
        if date is not None and not isinstance(date, (str, int)):
            return violates(f"the date of a retrieved item must be a text, not {describe(date)}")
        found.append(Document(_text(item, "id"), _text(item, "title"), None if date is None else str(date)))
    return tuple(found)


def _name(name: str) -> str:
    """A server's own name for its model, or a judge's for a failure, which goes into reports as it is."""
    name = name[:_MAX_NAME]
    return name if name.isprintable() else "".join(sign if sign.isprintable() else "?" for sign in name)


def _text(item: Mapping[str, Any], key: str) -> str:
    value = item.get(key)
    return "" if value is None else str(value)


def _tokens(usage: Any, *names: str) -> int | None:
    if isinstance(usage, Mapping):
        for name in names:
            count = usage.get(name)
            if isinstance(count, int) and not isinstance(count, bool) and 0 <= count < 2**63:
                return count
    return None
