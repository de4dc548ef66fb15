"""From what came of a call to the record that is kept: read, masked, priced."""

from __future__ import annotations

import datetime as dt
import time
import traceback
from collections.abc import Iterable
from typing import Any, Final

from pytest_novelty.answers import ODDITIES, Reading, join_oddities, read_answer, read_raw, split_oddities
from pytest_novelty.calls import Call
from pytest_novelty.grounding import check_grounds, read_grounds, write_grounds
from pytest_novelty.masking import make_mask
from pytest_novelty.model import ERROR, OK, SCHEMA_VIOLATION, TIMEOUT, Failure, Record

_MAX_MESSAGE: Final = 2000


class Recorder:
    """Makes the record of a call. Safe to use from any thread."""

    def __init__(self, stuck_hint: str = "", secrets: Iterable[str] = ()) -> None:
        self.mask = make_mask(secrets=secrets)
        self._stuck_hint = stuck_hint
        self._second = 0
        self._created = ""

    def answered(self, call: Call, answer: Any, latency_s: float) -> Record:
        """The judge returned ``answer`` after ``latency_s`` seconds. Never raises."""
        try:
            judge = call.case.judge
            reading = read_answer(
                answer,
                call.case.protocol,
                judge.traits,
                call.schema,
                tells_its_call=judge.tells_its_calls,
                shown=len(call.shown_ids),
            )
            masked = self.mask(reading.raw)
            if masked != reading.raw:  # read what is kept, so that no part of the record has the secret
                reading = self._read_kept(call, masked)
        except Exception as error:  # an answer may be any object, with any __eq__ or __repr__
            return self.failed(call, error, latency_s)
        return self._record(call, reading, latency_s)

    def failed(self, call: Call, error: BaseException, latency_s: float) -> Record:
        """The judge raised."""
        frames = traceback.extract_tb(error.__traceback__)
        place = f" ({frames[-1].filename}:{frames[-1].lineno})" if frames else ""
        return self._empty(call, ERROR, "judge raised", f"{type(error).__name__}: {_text_of(error)}{place}", latency_s)

    def timed_out(self, call: Call) -> Record:
        """The judge did not answer within its timeout."""
        limit = call.case.judge.traits.timeout_s
        message = f"no answer within {limit:g} s; the call was given up"
        if self._stuck_hint:
            message = f"{message}. {self._stuck_hint}"
        return self._empty(call, TIMEOUT, "timeout", message, limit)

    def reread(self, call: Call, stored: Record) -> Record:
        """A stored answer, read again under the present rules and declarations."""
        if not stored.raw or (stored.status != OK and stored.raw.startswith("[")):
            return _held_against(
                call, stored
            )  # its text was left out of a cassette, or could not even be kept as it was
        reading = self._read_kept(call, stored.raw)
        fresh = self._record(call, reading, stored.latency_s)
        return fresh._replace(
            created=stored.created, retries=stored.retries, cost_usd=stored.cost_usd, model=stored.model
        )

    def _read_kept(self, call: Call, raw: str) -> Reading:
        judge = call.case.judge
        return read_raw(
            raw,
            call.case.protocol,
            judge.traits,
            call.schema,
            tells_its_call=judge.tells_its_calls,
            shown=len(call.shown_ids),
        )

    def _record(self, call: Call, reading: Reading, latency_s: float) -> Record:
        case, verdict, extras, mask = call.case, reading.verdict, reading.extras, self.mask
        status, kind, message, label, score, abstained, reason = OK, "", "", None, None, False, ""
        grounds = ""
        if isinstance(verdict, Failure):
            status, kind, message = verdict.status, verdict.kind, mask(verdict.message)[:_MAX_MESSAGE]
        else:
            label = case.protocol.label_of(verdict, call.shown_ids)
            score, abstained, reason = verdict.score, verdict.abstained, mask(verdict.reason)
            grounds = write_grounds(check_grounds(call, verdict))
            if extras.oddities:
                kind = join_oddities(extras.oddities)
                message = f"the answer {' and '.join(ODDITIES[oddity] for oddity in split_oddities(kind))}"
        cost = case.judge.traits.cost_usd_per_call if extras.cost_usd is None else extras.cost_usd
        return Record(
            call.key,
            case.judge.name,
            case.judge.version,
            case.suite.name,
            case.variant.name,
            case.instance.id,
            call.order,
            call.sample,
            call.seed,
            status,
            kind,
            message,
            mask(reading.raw),
            label,
            score,
            abstained,
            reason,
            extras.retrieved,
            extras.model,
            extras.tokens_in,
            extras.tokens_out,
            cost,
            latency_s if extras.latency_s is None else extras.latency_s,
            extras.retries,
            mask(call.parts),
            self._now(),
            extras.tokens_cached,
            extras.tokens_reasoning,
            mask(extras.settings),
            grounds,
        )

    def _empty(self, call: Call, status: str, kind: str, message: str, latency_s: float) -> Record:
        reading = Reading("", Failure(status, kind, message))
        return self._record(call, reading, latency_s)

    def _now(self) -> str:
        second = int(time.time())
        if second != self._second:
            self._created = dt.datetime.fromtimestamp(second, dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            self._second = second
        return self._created


def _held_against(call: Call, stored: Record) -> Record:
    """A record without its answer; a failed one if its verdict is none on this instance, or its evidence is told in words
    that are none: the file was edited.
    """
    ideas, protocol = call.case.instance.ideas, call.case.protocol
    unread = _unread(stored)
    if stored.status != OK or (not unread and protocol.has_label(stored.label or "", [idea.id for idea in ideas])):
        return stored._replace(grounds="") if unread else stored
    if unread:
        problem = f"does not tell what became of its evidence: {unread}"
    elif stored.label is not None:
        problem = f"has the label {stored.label[:60]!r}, which this instance cannot have"
    elif stored.abstained or (stored.score is not None and protocol.score_key is not None):
        return stored
    else:
        problem = f"has no verdict of a {protocol.name} suite"
    message = f"the stored record {stored.key} {problem}; its answer was left out, so that it cannot be read again"
    return stored._replace(
        status=SCHEMA_VIOLATION,
        kind="stored verdict",
        message=message,
        label=None,
        score=None,
        abstained=False,
        grounds="",
    )


def _unread(stored: Record) -> str:
    """What is wrong with how a record tells of its evidence."""
    try:
        read_grounds(stored.grounds)
    except ValueError as error:
        return str(error)
    return ""


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(its message cannot be shown)"
