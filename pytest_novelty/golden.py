"""Golden verdicts: what a judge said of a suite's instances, as a text that is committed and reviewed line by line.

One file a suite and judge. A line has the instance, its label, the votes in each order and a digest of what was shown; the head
says under what they were recorded. Lines that a partial update recorded under something else have a head of their own, so that a
later comparison does not take the one for the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, NamedTuple

from pytest_novelty.calls import shown_digest
from pytest_novelty.digests import canonical_json
from pytest_novelty.errors import GoldenError
from pytest_novelty.judges.base import Judge
from pytest_novelty.model import ERROR, OK, REFERENCE, TIE, TIMEOUT, Instance, Json, Outcome, Suite, Vote
from pytest_novelty.outcomes import CaseResult
from pytest_novelty.plan import Plan, SuitePlan
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.protocols.base import result_of

FORMAT: Final = "novelty-golden/1"

Head = Mapping[str, Json]
"""Under what verdicts were recorded, flat: ``judge``, ``version``, ``prompt``, ``model``, ``served``, and what else was set."""

RENDERED_BY: Final = ("format", "related work", "granularity")
"""What of a head decides which part of an instance is shown."""

ALWAYS: Final = ("votes", "orders", "seed", *RENDERED_BY)
"""What every head has. A head without one was written by a version that did not know it, and says nothing of it."""

_COUNTS: Final = 5
_HEAD: Final = re.compile(r"#(\d+) ([^:]+): (.*)\Z")
_SUITE: Final = re.compile(r"# suite: (\S+) (.+) (\S+) of (\d+) instances\Z")
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:/@+-](?:[ -~]*[!-~])?\Z")
_TALLY: Final = re.compile(r"(?:(\w+) )?(\d+(?::\d+){1,4})\Z")


class Entry(NamedTuple):
    """The verdict on one instance. ``tallies``: (order or None, votes for the first label, the second, ties, abstentions,
    failed calls); ``scores`` in the order of the votes; ``shown``: a digest of what the judge was shown.
    """

    label: str | None
    tallies: tuple[tuple[str | None, tuple[int, ...]], ...]
    scores: tuple[float, ...]
    shown: str
    head: Head


@dataclass(frozen=True)
class Golden:
    """The verdicts of one judge on one suite, by instance. ``digest``: of the suite's files; ``size``: the instances it had."""

    suite: str
    version: str
    digest: str
    size: int
    entries: Mapping[str, Entry]

    @property
    def is_whole(self) -> bool:
        """No instance of the suite was left out."""
        return len(self.entries) >= self.size

    @property
    def judge(self) -> str:
        """Whose verdicts they are; of the first head if they are several judges' (one was renamed)."""
        return next((str(entry.head.get("judge")) for entry in self.entries.values()), "")

    @property
    def is_of_model(self) -> bool:
        return any(entry.head.get("model") is not None for entry in self.entries.values())


# --- from a run ---------------------------------------------------------------------------------------------


def make_golden(plan: Plan, planned: SuitePlan, judge: Judge, results: Iterable[CaseResult]) -> Golden:
    """What a run found of one judge on one suite, under the reference. Instances whose calls failed in transport are left
    out: that is no verdict.
    """
    kept = {
        r.instance: r for r in results if (r.judge, r.suite, r.variant) == (judge.name, planned.suite.name, REFERENCE)
    }
    served = sorted({model for result in kept.values() for model in result.usage.models})
    head = head_of(plan, planned, judge, served)
    entries = {
        name: entry_of(result.outcome, planned, planned.by_id[name], head)
        for name, result in sorted(kept.items())
        if not any(vote.status in (ERROR, TIMEOUT) for vote in result.outcome.votes)
    }
    suite = planned.suite
    version = " ".join(suite.version.split()) or "-"  # one line
    return Golden(suite.name, version, suite.digest, len(suite.instances), entries)


def head_of(plan: Plan, planned: SuitePlan, judge: Judge, served: Iterable[str]) -> Head:
    """Everything that decides a verdict and that the run knows, the instances apart."""
    axes, protocol = planned.reference.axes, planned.suite.protocol
    prompt = plan.prompts[judge.prompt_of(protocol, planned.reference)] if judge.traits.uses_prompt else None
    asked = dict(judge.asked or {})
    head: dict[str, Json] = {
        "judge": judge.name,
        "version": judge.version,
        "prompt": None if prompt is None else f"{prompt.name} {prompt.version} {prompt.digest}",
        "model": asked.pop("model", None),
        "served": list(served),
        "votes": axes.votes,
        "orders": axes.orders,
        "seed": plan.settings.seed,
        "format": axes.format,
        "related work": axes.related_work,
        "granularity": axes.granularity,
    }
    further: dict[str, Json] = {
        "effort": axes.effort,
        "temperature": axes.temperature,
        "params": dict(axes.params) or None,
        "threshold": plan.settings.threshold,
        "index": judge.traits.index_version or None,
        **{f"asked {name}": value for name, value in asked.items()},
    }
    head |= {name: value for name, value in further.items() if value is not None}
    as_read: Head = json.loads(json.dumps(head))  # tuples are lists there
    return as_read


def entry_of(outcome: Outcome, planned: SuitePlan, instance: Instance, head: Head) -> Entry:
    columns = {label: place for place, label in enumerate(_labels(planned.suite, instance))} | {TIE: 2}
    tallies: dict[str | None, list[int]] = {}
    for vote in outcome.votes:
        counts = tallies.setdefault(vote.order, [0] * _COUNTS)
        if vote.label is not None:
            counts[columns[vote.label]] += 1
        elif vote.abstained or vote.status != OK:
            counts[3 if vote.abstained else 4] += 1
    scores = tuple(float(f"{vote.score:.6g}") for vote in outcome.votes if vote.score is not None)
    shown = shown_digest(planned.suite.protocol, instance, planned.reference.axes)
    return Entry(outcome.label, tuple((order, tuple(counts)) for order, counts in tallies.items()), scores, shown, head)


def result_from(entry: Entry, judge: str, suite: Suite, instance: Instance) -> CaseResult:
    """An entry as the result that it was made from, as far as it is kept: which vote was which is not."""
    names = (*_labels(suite, instance), TIE)
    votes: list[Vote] = []
    left = list(entry.scores)
    for order, counts in entry.tallies:
        kinds = [place for place, count in enumerate(counts) for _ in range(count)]
        scores_alone = len(left) if not any(counts[:4]) and order is None else 0
        for sample, place in enumerate(kinds):
            label = names[place] if place < 3 else None
            score = left.pop(0) if left and place < 3 else None
            votes.append(Vote(order, sample, ERROR if place == 4 else OK, "", label, score, place == 3))
        votes += [Vote(order, len(kinds) + k, OK, "", None, left.pop(0)) for k in range(scores_alone)]
    scores = [vote.score for vote in votes if vote.score is not None]
    mean = sum(scores) / len(scores) if scores else None
    outcome = Outcome(entry.label, result_of(entry.label, instance.gold), tuple(votes), instance.gold, mean)
    return CaseResult(judge, suite.name, REFERENCE, instance.id, outcome)


def fits(entry: Entry, suite: Suite, instance: Instance) -> bool:
    """The entry's label is one that the instance can have."""
    known = {*_labels(suite, instance), None, TIE, "abstained", "incomplete", "invalid"}
    return entry.label in known


def merge(old: Golden | None, new: Golden, suite: Suite) -> Golden:
    """The file after a run: of a run that judged every instance of the suite what it found; else what it found beside all that
    was there, instances that the suite no longer has among it.
    """
    if old is None or set(new.entries) == {instance.id for instance in suite.instances}:
        return new
    return replace(new, entries={**old.entries, **new.entries})


def _labels(suite: Suite, instance: Instance) -> tuple[str, ...]:
    return PROTOCOLS[suite.protocol].gold_labels([idea.id for idea in instance.ideas])


# --- the text -----------------------------------------------------------------------------------------------


def write_text(golden: Golden) -> str:
    """The file: a head or more, then one line an instance, by id."""
    heads: list[Head] = []
    rows: list[str] = []
    for name, entry in sorted(golden.entries.items()):
        if entry.head not in heads:
            heads.append(entry.head)
        votes = ", ".join(_tally(order, counts) for order, counts in entry.tallies)
        row = [_quoted(name), _quoted(entry.label), votes or "-", entry.shown]
        row += [f"scores {' '.join(f'{score:g}' for score in entry.scores)}"] if entry.scores else []
        number = heads.index(entry.head) + 1
        rows.append("\t".join(row if number == 1 else [*row, f"#{number}"]))
    lines = [
        f"# {FORMAT}: written by --snapshot-update",
        f"# suite: {golden.suite} {golden.version} {golden.digest} of {golden.size} instances",
    ]
    for number, head in enumerate(heads, 1):
        lines += [f"#{number} {key}: {canonical_json(value)}" for key, value in head.items()]
    lines.append(
        "# instance, label, votes for the first label : the second : ties : abstentions : failures, digest of what was shown"
    )
    return "\n".join([*lines, *rows]) + "\n"


def read_text(text: str, path: Path) -> Golden:
    """What :func:`write_text` wrote. Raises GoldenError with file and line."""
    lines = text.splitlines()
    if not lines or not lines[0].startswith(f"# {FORMAT}:"):
        raise GoldenError(f"is no file of golden verdicts ({FORMAT})", path=path, line=1, hint=_AGAIN)
    told = _SUITE.match(lines[1]) if len(lines) > 1 else None
    if told is None:
        raise GoldenError("does not say of which suite it is", path=path, line=2, hint=_AGAIN)
    heads: dict[int, dict[str, Json]] = {}
    entries: dict[str, Entry] = {}
    for number, line in enumerate(lines[2:], 3):
        try:
            if found := _HEAD.match(line):
                heads.setdefault(int(found[1]), {})[found[2]] = json.loads(found[3])
            elif line.strip() and not line.startswith("# "):
                name, entry = _read_row(line, heads)
                if name in entries:
                    raise GoldenError(f"has the instance {name!r} twice", path=path, line=number, hint=_TAKE_ONE)
                entries[name] = entry
        except (ValueError, KeyError, IndexError):
            hint = _TAKE_ONE if line[:7] in ("<<<<<<<", "=======", ">>>>>>>") else _AGAIN
            raise GoldenError(f"cannot be read: {line[:60]!r}", path=path, line=number, hint=hint) from None
    return Golden(told[1], told[2], told[3], int(told[4]), entries)


_AGAIN: Final = "Restore it, or remove it and record it with --snapshot-update"
_TAKE_ONE: Final = "Two versions were merged: take either, then record with --snapshot-update"


def _read_row(line: str, heads: Mapping[int, Head]) -> tuple[str, Entry]:
    name, label, votes, shown, *more = line.split("\t")
    number = 1
    scores: tuple[float, ...] = ()
    for part in more:
        if part.startswith("scores "):
            scores = tuple(map(float, part.split(" ")[1:]))
        else:
            number = int(part.removeprefix("#"))
    tallies = [] if votes == "-" else [_read_tally(part) for part in votes.split(", ")]
    instance = _unquoted(name)
    if instance is None:
        raise ValueError(name)
    return instance, Entry(_unquoted(label), tuple(tallies), scores, shown, heads[number])


def _tally(order: str | None, counts: tuple[int, ...]) -> str:
    kept = list(counts)
    while len(kept) > 2 and kept[-1] == 0:
        kept.pop()
    text = ":".join(map(str, kept))
    return text if order is None else f"{order} {text}"


def _read_tally(text: str) -> tuple[str | None, tuple[int, ...]]:
    found = _TALLY.match(text)
    if found is None:
        raise ValueError(text)
    counts = [int(count) for count in found[2].split(":")]
    return found[1], tuple(counts + [0] * (_COUNTS - len(counts)))


def _quoted(text: str | None) -> str:
    """As it is where that is plain; else JSON. No label: null, so that a label of that name is quoted."""
    return text if text is not None and text != "null" and _PLAIN.match(text) else json.dumps(text)


def _unquoted(text: str) -> str | None:
    value = json.loads(text) if text == "null" or text.startswith('"') else text
    if not isinstance(value, (str, type(None))):
        raise ValueError(text)
    return value
