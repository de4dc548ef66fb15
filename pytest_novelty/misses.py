"""Why an offline run has no verdict for a request: what changed since one was recorded, and what recording it again takes."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from pytest_novelty.calls import TOLD, Call, Case, changed_parts
from pytest_novelty.errors import MissingVerdictError
from pytest_novelty.masking import make_mask, shorten
from pytest_novelty.model import Record
from pytest_novelty.store import VerdictStore

_MAX_SHOWN: Final = 200
_KNOWN_AS: Final = {"api_base": "api_base (of the judge file, else OPENAI_BASE_URL)"}


def explain_missing(
    calls: Sequence[Call], stored: Sequence[Record], mean_usd: Callable[[], float | None] = lambda: None
) -> MissingVerdictError:
    """The error of a case whose ``calls`` have no record.

    ``stored``: all records of its judge on its instance. ``mean_usd``: what a stored call of the judge cost on average, for an
    instance on which none is stored.
    """
    first, count, planned = calls[0], len(calls), calls[0].case.planned_calls
    judge = first.case.judge
    known = [record.cost_usd for record in stored if record.cost_usd is not None]
    if not known and judge.traits.cost_usd_per_call is None and (mean := mean_usd()) is not None:
        known = [mean]
    cost, is_bound = _cost_of_recording(calls, known)
    price = _price(cost, is_bound)
    of = f"{count} of {planned} verdicts" if planned > 1 else "the verdict"
    error = MissingVerdictError(
        f"offline, and {of} of {judge.name} {'is' if count == 1 else 'are'} not recorded: {_cause(first, stored, count)}",
        instance=first.case.instance.id,
        hint=f"Recording takes {count} call{'' if count == 1 else 's'} {price}: "
        "run without --novelty-offline (and its cassette), then export again",
    )
    error.calls, error.cost_usd, error.is_bound = count, cost, is_bound
    return error


def explain_missing_audits(
    case: Case, calls: Sequence[Call], unheard: Collection[str], store: VerdictStore
) -> MissingVerdictError:
    """What to tell of a case whose verdict is there and whose audits (``calls``) are not recorded. ``unheard``: keys of those of
    the first auditor, whose word counts; the others only tell how far auditors agree.
    """
    cost, is_bound = cost_of_audits(calls, store)
    names = " and ".join(dict.fromkeys(call.case.judge.name for call in calls))
    count = len(calls)
    audits = "1 audit" if count == 1 else f"{count:,} audits"
    error = MissingVerdictError(
        f"offline, and {audits} of {case.judge.name} by {names} {'is' if count == 1 else 'are'} not recorded: "
        f"its verdict stands, {_left_by(calls, unheard)}",
        instance=case.instance.id,
        hint=f"Recording takes {count:,} call{'' if count == 1 else 's'} {_price(cost, is_bound)}: run without --novelty-offline "
        "(and its cassette), then export again; --novelty-missing=warn goes on without",
    )
    error.calls, error.cost_usd, error.is_bound = count, cost, is_bound
    return error


def _left_by(calls: Sequence[Call], unheard: Collection[str]) -> str:
    if not unheard:
        return "and no statement is unchecked for want of them: only how far the auditors agree is not told"
    if all(call.key in unheard for call in calls):
        return "and these statements are unchecked"
    first = next(call.case.judge.name for call in calls if call.key in unheard)
    return f"and the statements that lack the word of {first}, which counts, are unchecked"


def cost_of_audits(calls: Sequence[Call], store: VerdictStore) -> tuple[float | None, bool]:
    """(USD of recording audits, whether that is the most): as declared, as in stored calls, or the bound of such calls."""
    total, is_bound = 0.0, False
    for auditor in {call.case.judge.name: call.case.judge for call in calls}.values():
        own = [call for call in calls if call.case.judge.name == auditor.name]
        mean = store.means(auditor.name, auditor.version)[0]
        cost, is_most = _cost_of_recording(own, [] if mean is None else [mean])
        if cost is None:
            return None, False
        total, is_bound = total + cost, is_bound or is_most
    return total, is_bound


def _price(cost: float | None, is_bound: bool) -> str:
    return "at an unknown cost" if cost is None else f"at {'no more than' if is_bound else 'about'} ${cost:.4f}"


def _cause(call: Call, stored: Sequence[Record], count: int) -> str:
    slot = (call.case.variant.name, call.order, call.sample)
    same = [record for record in stored if (record.variant, record.order, record.sample) == slot]
    if not same:
        if stored:
            return f"other votes of this instance are recorded, {'this one is' if count == 1 else 'these are'} not"
        return "nothing is recorded for this judge on this instance"
    nearest = min(same, key=lambda record: len(changed_parts(call.parts, record.parts)))
    changed = changed_parts(call.parts, nearest.parts)
    if not changed:
        return "requests are rendered in another way by this version"
    since = f"since {'it was' if count == 1 else 'they were'} recorded"
    mask = make_mask(secrets=call.case.judge.secrets)
    told = [f"{name}{_details(name, call, nearest, mask)}" for name in changed]
    return f"{since}, the {' and the '.join(told)} changed"


def _details(name: str, call: Call, record: Record, mask: Callable[[str], str]) -> str:
    """What of a judge, or of a variant's settings, is another now: each setting from what it was to what it is."""
    if name not in TOLD:
        return ""
    now, before = (_told(parts).get(name) for parts in (call.parts, record.parts))
    if now is not None and before is not None and (found := _changes(before, now, mask)):
        return f" ({'; '.join(found)})"
    if name != "judge":
        return ""
    versions = f"version {record.judge_version} to {call.case.judge.version}"
    if call.case.judge.asked is None or call.case.judge.version == record.judge_version:
        return f" ({versions})"
    if before is None:
        return f" ({versions}; the record does not say how the model was asked)"
    return (
        f" ({versions}; it is asked with the same settings, which this version of pytest-novelty tells apart otherwise)"
    )


def _told(parts: str) -> Mapping[str, Any]:
    text = next((part.removeprefix("told=") for part in parts.split() if part.startswith("told=")), "{}")
    try:
        value = json.loads(text)
    except ValueError:  # a cassette may have been edited
        return {}
    return value if isinstance(value, dict) else {}


def _changes(before: Any, now: Any, mask: Callable[[str], str]) -> list[str]:
    if not isinstance(before, dict) or not isinstance(now, dict):
        return []
    found = []
    for name in sorted({*before, *now}):
        old, new = (_shown(value.get(name), mask) for value in (before, now))
        if old != new:
            found.append(f"{_KNOWN_AS.get(name, name)}: {old} to {new}")
    return found


def _shown(value: Any, mask: Callable[[str], str]) -> str:
    if value is None:
        return "none"
    text = value if isinstance(value, str) else json.dumps(value)
    return shorten(mask(text), _MAX_SHOWN)


def _cost_of_recording(calls: Sequence[Call], known: Sequence[float]) -> tuple[float | None, bool]:
    """(USD, whether that is the most): by the judge's own price, by the mean of what recorded calls cost (``known``), else by the
    most that such a call can cost.
    """
    judge = calls[0].case.judge
    price = judge.traits.cost_usd_per_call
    each = price if price is not None else sum(known) / len(known) if known else None
    if each is not None:
        return each * len(calls), False
    expected = judge.expect(calls[0].request)
    return (None, False) if expected is None or expected.bound_usd is None else (expected.bound_usd * len(calls), True)
