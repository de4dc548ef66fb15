"""Golden verdicts: what a judge said of a suite's instances, as a text that is committed and reviewed line by line.

One file a suite and judge. A line has the instance, its label, the votes in each order and a digest of what was shown; the head
says under what they were recorded. Lines that a partial update recorded under something else have a head of their own, so that a
later comparison does not take the one for the other.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, NamedTuple

from pytest_novelty.calls import shown_digest
from pytest_novelty.digests import canonical_json
from pytest_novelty.errors import GoldenError
from pytest_novelty.judges.base import Judge
from pytest_novelty.masking import make_mask, mask_all
from pytest_novelty.model import ERROR, OK, REFERENCE, TIE, TIMEOUT, Instance, Json, Outcome, Suite
from pytest_novelty.outcomes import CaseResult
from pytest_novelty.plan import Plan, SuitePlan
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.protocols.base import result_of
from pytest_novelty.tallies import WITHOUT_NAME, Contradiction, check_label, check_votes, votes_of

FORMAT: Final = "novelty-golden/1"

Head = Mapping[str, Json]
"""Under what verdicts were recorded, flat: ``judge``, ``version``, ``prompt``, ``model``, ``served``, and what else was set."""

RENDERED_BY: Final = ("format", "related work", "granularity")
"""What of a head decides which part of an instance is shown."""

ALWAYS: Final = ("votes", "orders", "seed", *RENDERED_BY)
"""What every head has. A head without one was written by a version that did not know it, and says nothing of it."""

_COUNTS: Final = 5
_HEAD: Final = re.compile(r"#(\d+) ([^:]+): (.*)\Z")
_SUITE: Final = re.compile(r"# suite: (\S+) (.+) (\S+) of (\d{1,9}) instances, (\d{1,9}) lines\Z")
_LEFT_OUT: Final = "# left out: "
_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:/@+-](?:[ -~]*[!-~])?\Z")
_TALLY: Final = re.compile(r"(?:(ab|ba) )?(\d{1,9}(?::\d{1,9}){1,4})\Z")
_MOST_VOTES: Final = 100
"""Of an order, in any suite."""


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
    """The verdicts of one judge on one suite, by instance. ``digest``: of the suite's files; ``size``: the instances it had;
    ``left_out``: those of them that no run has recorded. What is in neither was not in the suite. ``lines``: where each entry
    stands in the file that was read.
    """

    suite: str
    version: str
    digest: str
    size: int
    entries: Mapping[str, Entry]
    left_out: frozenset[str] = frozenset()
    lines: Mapping[str, int] = field(default_factory=dict, compare=False)

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
    left_out = frozenset(instance.id for instance in suite.instances) - set(entries)
    return Golden(suite.name, version, suite.digest, len(suite.instances), entries, left_out)


def head_of(plan: Plan, planned: SuitePlan, judge: Judge, served: Iterable[str]) -> Head:
    """Everything that decides a verdict and that the run knows, the instances apart; masked, since it is shown and committed."""
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
    as_read: dict[str, Json] = json.loads(json.dumps(head))  # tuples are lists there
    mask = make_mask(secrets=judge.secrets)
    return {name: mask_all(value, mask) for name, value in as_read.items()}


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
    votes = votes_of(entry.tallies, entry.scores, _labels(suite, instance))
    scores = [vote.score for vote in votes if vote.score is not None]
    mean = sum(scores) / len(scores) if scores else None
    outcome = Outcome(entry.label, result_of(entry.label, instance.gold), tuple(votes), instance.gold, mean)
    return CaseResult(judge, suite.name, REFERENCE, instance.id, outcome)


def fits(entry: Entry, suite: Suite, instance: Instance) -> bool:
    """The entry's label is one that the instance can have."""
    known = {*_labels(suite, instance), None, *WITHOUT_NAME}
    return entry.label in known


def check_against(golden: Golden, planned: SuitePlan, path: Path) -> None:
    """Raise GoldenError for a line that no run on the suite writes. Of a suite that was edited since, ideas may have had other
    names: there only labels that all instances share are checked.
    """
    suite = planned.suite
    orders = PROTOCOLS[suite.protocol].orders("both")
    shared = PROTOCOLS[suite.protocol].ideas_per_instance == 1
    for name, entry in golden.entries.items():
        instance = planned.by_id.get(name)
        if instance is None:
            continue
        try:
            if not {order for order, _ in entry.tallies} <= set(orders):
                raise Contradiction(f"these are no votes on a {suite.protocol} suite")
            if shared or (golden.digest == suite.digest and _is_shown(entry, planned, instance)):
                check_label(entry.label, entry.tallies, entry.scores, _labels(suite, instance))
        except Contradiction as error:
            sentence = f"cannot be: {error} (instance {name})"
            raise GoldenError(sentence, path=path, line=golden.lines.get(name), hint=_AGAIN) from None


def _is_shown(entry: Entry, planned: SuitePlan, instance: Instance) -> bool:
    return entry.shown == shown_digest(planned.suite.protocol, instance, planned.reference.axes)


def merge(old: Golden | None, new: Golden, suite: Suite, began: Golden | None) -> Golden:
    """The file after a run: of a run that judged every instance of the suite what it found; else what it found beside all that
    was there, instances that the suite no longer has among it. ``began``: the file as it was when the run began; what another
    run added to it since is kept.

    The suite stays as it was recorded until all of it is: an instance that came since is told until it has a verdict.
    """
    if old is None:
        return new
    present = {instance.id for instance in suite.instances}
    if set(new.entries) == present:
        earlier = {} if began is None else began.entries
        added = {name: entry for name, entry in old.entries.items() if name not in earlier} if old != began else {}
        return replace(new, entries={**added, **new.entries})
    entries = {**old.entries, **new.entries}
    if present <= set(entries):
        return replace(new, entries=entries, left_out=frozenset())
    return replace(old, entries=entries, left_out=(old.left_out & present) - set(entries))


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
        f"# suite: {golden.suite} {golden.version} {golden.digest} of {golden.size} instances, "
        f"{len(rows) + len(golden.left_out)} lines",
    ]
    for number, head in enumerate(heads, 1):
        lines += [f"#{number} {key}: {canonical_json(value)}" for key, value in head.items()]
    lines += [f"{_LEFT_OUT}{_quoted(name)}" for name in sorted(golden.left_out)]
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
    places: dict[str, int] = {}
    left_out: set[str] = set()
    for number, line in enumerate(lines[2:], 3):
        try:
            if found := _HEAD.match(line):
                heads.setdefault(int(found[1]), {})[found[2]] = _read_value(found[2], found[3])
            elif line.startswith(_LEFT_OUT):
                left_out.add(str(_unquoted(line.removeprefix(_LEFT_OUT))))
            elif line.strip() and not line.startswith("# "):
                name, entry = _read_row(line, heads)
                if name in entries:
                    raise GoldenError(f"has the instance {name!r} twice", path=path, line=number, hint=_TAKE_ONE)
                entries[name], places[name] = entry, number
        except Contradiction as error:
            raise GoldenError(f"cannot be: {error}", path=path, line=number, hint=_AGAIN) from None
        except (ValueError, KeyError, IndexError, RecursionError):
            hint = _TAKE_ONE if line[:7] in ("<<<<<<<", "=======", ">>>>>>>") else _AGAIN
            raise GoldenError(f"cannot be read: {line[:60]!r}", path=path, line=number, hint=hint) from None
    if len(entries) + len(left_out) < int(told[5]):
        sentence = f"has {len(entries) + len(left_out)} lines of instances and says that it has {told[5]}: it was cut"
        raise GoldenError(sentence, path=path, line=2, hint=_AGAIN)
    return Golden(told[1], told[2], told[3], int(told[4]), entries, frozenset(left_out), places)


_AGAIN: Final = "Restore it, or remove it and record it with --snapshot-update"
_TAKE_ONE: Final = "Two versions were merged: take either, then record with --snapshot-update"


def _read_value(name: str, text: str) -> Json:
    value: Json = json.loads(text)
    if name == "served":
        fits = isinstance(value, list) and all(isinstance(model, str) for model in value)
    elif name == "votes":
        fits = type(value) is int and 1 <= value <= _MOST_VOTES
    else:
        fits = name != "judge" or isinstance(value, str)
    if not fits:
        raise Contradiction(f"{name} is {text[:60]}")
    return value


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
    head = heads[number]
    votes_an_order = head.get("votes", _MOST_VOTES)
    assert isinstance(votes_an_order, int)
    check_votes(tallies, scores, votes_an_order)
    entry = Entry(_unquoted(label), tuple(tallies), scores, shown, head)
    check_label(entry.label, tallies, scores)
    return instance, entry


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
