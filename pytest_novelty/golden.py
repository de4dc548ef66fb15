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
from pytest_novelty.golden_rows import Counted, heading, read_votes, write_votes
from pytest_novelty.judges.base import Judge
from pytest_novelty.labels_as_text import WITHOUT_NAME, Contradiction, read_label, read_name, write_label, write_name
from pytest_novelty.masking import make_mask, mask_all, shorten
from pytest_novelty.model import ERROR, OK, REFERENCE, TIE, TIMEOUT, Instance, Json, Outcome, Suite
from pytest_novelty.outcomes import CaseResult
from pytest_novelty.plan import Plan, SuitePlan
from pytest_novelty.protocols import PROTOCOLS, Protocol
from pytest_novelty.protocols.base import result_of
from pytest_novelty.tallies import check_label, check_votes, votes_of

FORMAT: Final = "novelty-golden/1"

Head = Mapping[str, Json]
"""Under what verdicts were recorded, flat: ``judge``, ``version``, ``prompt``, ``model``, ``served``, and what else was set."""

RENDERED_BY: Final = ("format", "related work", "granularity")
"""What of a head decides which part of an instance is shown."""

ALWAYS: Final = ("votes", "orders", "seed", *RENDERED_BY)
"""What every head has. A head without one was written by a version that did not know it, and says nothing of it."""

_HEAD: Final = re.compile(r"#(\d+) ([^:]+): (.*)\Z")
_SUITE: Final = re.compile(r"# suite: (\S+) (.+) (\S+) of (\d{1,9}) instances, (\d{1,9}) lines\Z")
_LEFT_OUT: Final = "# left out: "
_MOST_VOTES: Final = 100
"""Of an order, in any suite."""


class Entry(NamedTuple):
    """The verdict on one instance. ``tallies``: (order or None, (votes for each name, ties, abstentions, failed calls)); the
    names are the two labels that the instance has or, where it has more, ``names``: those that were voted for, sorted.
    ``scores`` in the order of the votes; ``shown``: a digest of what the judge was shown.
    """

    label: str | None
    tallies: tuple[tuple[str | None, tuple[int, ...]], ...]
    scores: tuple[float, ...]
    shown: str
    head: Head
    names: tuple[str, ...] = ()


@dataclass(frozen=True)
class Golden:
    """The verdicts of one judge on one suite, by instance. ``digest``: of the suite's files; ``size``: the instances it had;
    ``left_out``: those of them that no run has recorded. What is in neither was not in the suite. ``lines``: where each entry
    stands in the file that was read.
    """

    suite: str
    protocol: str
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
    return Golden(suite.name, suite.protocol, version, suite.digest, len(suite.instances), entries, left_out)


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
    known = labels_of(planned.suite, instance)
    names = () if known else tuple(sorted({vote.label for vote in outcome.votes if vote.label is not None}))
    columns = {label: place for place, label in enumerate((*(known or names), TIE))}
    tallies: dict[str | None, list[int]] = {}
    for vote in outcome.votes:
        counts = tallies.setdefault(vote.order, [0] * (len(columns) + 2))
        if vote.label is not None:
            counts[columns[vote.label]] += 1
        elif vote.abstained or vote.status != OK:
            counts[-2 if vote.abstained else -1] += 1
    scores = tuple(float(f"{vote.score:.6g}") for vote in outcome.votes if vote.score is not None)
    shown = shown_digest(planned.suite.protocol, instance, planned.reference.axes)
    counted = tuple((order, tuple(counts)) for order, counts in tallies.items())
    return Entry(outcome.label, counted, scores, shown, head, names)


def result_from(entry: Entry, judge: str, suite: Suite, instance: Instance) -> CaseResult:
    """An entry as the result that it was made from, as far as it is kept: which vote was which is not."""
    votes = votes_of(entry.tallies, entry.scores, labels_of(suite, instance) or entry.names)
    scores = [vote.score for vote in votes if vote.score is not None]
    mean = sum(scores) / len(scores) if scores else None
    outcome = Outcome(entry.label, result_of(entry.label, instance.gold), tuple(votes), instance.gold, mean)
    return CaseResult(judge, suite.name, REFERENCE, instance.id, outcome)


def fits(entry: Entry, suite: Suite, instance: Instance) -> bool:
    """The entry's label, and all that it counts votes for, are such as the instance can have."""
    return not _foreign(entry, suite, instance)


def check_against(golden: Golden, planned: SuitePlan, path: Path) -> None:
    """Raise GoldenError for a line that no run on the suite writes. Of a suite that was edited since, ideas may have had other
    names: there only labels that all instances share are checked.
    """
    suite = planned.suite
    protocol = PROTOCOLS[suite.protocol]
    if protocol.labels is not None or golden.digest != suite.digest:
        return  # all that can be checked was, where the file was read
    for name, entry in golden.entries.items():
        instance = planned.by_id.get(name)
        if instance is None or not _is_shown(entry, planned, instance):
            continue
        try:
            check_label(entry.label, entry.tallies, entry.scores, protocol, labels_of(suite, instance) or entry.names)
            if foreign := _foreign(entry, suite, instance):
                raise Contradiction(
                    f"it has votes for {shorten(write_label(foreign[0], protocol), 60)}, with papers that the instance has not"
                )
        except Contradiction as error:
            sentence = f"cannot be: {error} (instance {name})"
            raise GoldenError(sentence, path=path, line=golden.lines.get(name), hint=_AGAIN) from None


def _foreign(entry: Entry, suite: Suite, instance: Instance) -> list[str]:
    """Labels that the entry has and that are none of the instance's."""
    protocol, ids = PROTOCOLS[suite.protocol], [idea.id for idea in instance.ideas]
    named = [label for label in (entry.label, *entry.names) if label is not None and label not in WITHOUT_NAME]
    return [label for label in named if not protocol.has_label(label, ids)]


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
    if judged_all(new, suite):
        earlier = {} if began is None else began.entries
        added = {name: entry for name, entry in old.entries.items() if name not in earlier} if old != began else {}
        return replace(new, entries={**added, **new.entries})
    entries = {**old.entries, **new.entries}
    if present <= set(entries):
        return replace(new, entries=entries, left_out=frozenset())
    return replace(old, entries=entries, left_out=(old.left_out & present) - set(entries))


def judged_all(new: Golden, suite: Suite) -> bool:
    """A run has a verdict on every instance of the suite, so that a file it writes has no others."""
    return set(new.entries) == {instance.id for instance in suite.instances}


def labels_of(suite: Suite, instance: Instance) -> tuple[str, ...]:
    """The two labels that votes on an instance are counted for; none where it has more of them."""
    return PROTOCOLS[suite.protocol].gold_labels([idea.id for idea in instance.ideas])


# --- the text -----------------------------------------------------------------------------------------------


def write_text(golden: Golden) -> str:
    """The file: a head or more, then one line an instance, by id."""
    protocol = PROTOCOLS[golden.protocol]
    heads: list[Head] = []
    rows: list[str] = []
    for name, entry in sorted(golden.entries.items()):
        if entry.head not in heads:
            heads.append(entry.head)
        votes = write_votes(entry.label, Counted(entry.tallies, entry.names), protocol)
        row = [write_name(name), write_label(entry.label, protocol), votes, entry.shown]
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
    lines += [f"{_LEFT_OUT}{write_name(name)}" for name in sorted(golden.left_out)]
    return "\n".join([*lines, heading(protocol), *rows]) + "\n"


def read_text(text: str, path: Path, protocol: Protocol) -> Golden:
    """What :func:`write_text` wrote of a suite of this protocol. Raises GoldenError with file and line."""
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
                left_out.add(str(read_name(line.removeprefix(_LEFT_OUT))))
            elif line.strip() and not line.startswith("# "):
                name, entry = _read_row(line, heads, protocol)
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
    return Golden(told[1], protocol.name, told[2], told[3], int(told[4]), entries, frozenset(left_out), places)


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


def _read_row(line: str, heads: Mapping[int, Head], protocol: Protocol) -> tuple[str, Entry]:
    name, label, votes, shown, *more = line.split("\t")
    number = 1
    scores: tuple[float, ...] = ()
    for part in more:
        if part.startswith("scores "):
            scores = tuple(map(float, part.split(" ")[1:]))
        else:
            number = int(part.removeprefix("#"))
    own = read_label(label, protocol)
    counted = read_votes(votes, own, protocol)
    instance = read_name(name)
    if instance is None:
        raise ValueError(name)
    head = heads[number]
    votes_an_order = head.get("votes", _MOST_VOTES)
    assert isinstance(votes_an_order, int)
    check_votes(counted.tallies, scores, votes_an_order)
    entry = Entry(own, counted.tallies, scores, shown, head, counted.names)
    check_label(entry.label, entry.tallies, scores, protocol, entry.names)
    return instance, entry
