"""What no run writes and the schema of a report cannot say: parts that contradict each other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, Final

from pytest_novelty.metrics.view import Estimate, View
from pytest_novelty.model import ABSTAINED, CORRECT, INCOMPLETE, INVALID, NOT_NOVEL, NOVEL, REFERENCE, STATUSES, TIE
from pytest_novelty.printing import plural
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.protocols.base import LARGEST, result_of
from pytest_novelty.protocols.grouping import FEWEST, MOST

SCORE_ALONE: Final = "score"
"""What a tally calls a vote that is a score and names no label."""
_MOST_VOTES: Final = 100
_CLOSE: Final = 1e-9
_MEASURED: Final = ("tie_rate", "invalid_rate")
"""Beside the share that is right, what a run reports wherever it judged something, if only to say why it is undefined."""


def check_parts(data: Mapping[str, Any]) -> Iterator[str]:
    """What is wrong with a report as plain data, valid by its schema: a sentence each. Nothing is counted out here: a tally
    may claim any number.
    """
    protocols = {suite["name"]: suite["protocol"] for suite in data["run"]["suites"]}
    may_have: dict[tuple[str, str], Callable[[str], bool]] = {}
    gold: dict[tuple[str, str], str | None] = {}
    for row in data["instances"]:
        place = row["suite"], row["instance"]
        if place in gold:
            yield f"the instance {place[1]!r} of {place[0]} is there twice"
        gold[place] = row["gold"]
        if protocols.get(place[0]) in PROTOCOLS:
            may_have[place] = partial(PROTOCOLS[protocols[place[0]]].has_label, idea_ids=row["ideas"])
            if row["gold"] is not None and (row["gold"] == TIE or not may_have[place](row["gold"])):
                yield f"the instance {place[1]!r} of {place[0]} has the gold label {row['gold']!r}"
    yield from _suites(data)
    seen: set[tuple[str, ...]] = set()
    for row in data["outcomes"]:
        told = f"the outcome of {row['judge']} on {row['suite']} {row['instance']}, {row['variant']},"
        key = (row["judge"], row["suite"], row["variant"], row["instance"])
        if key in seen:
            yield f"{told} is there twice"
        seen.add(key)
        place = row["suite"], row["instance"]
        if place not in may_have:
            continue  # said where the outcome is read
        most = data["run"]["settings"].get("votes") if row["variant"] == REFERENCE else None
        for problem in _outcome(row, may_have[place], gold[place], protocols[place[0]], most or _MOST_VOTES):
            yield f"{told} {problem}"


def _suites(data: Mapping[str, Any]) -> Iterator[str]:
    """Whether instances have what their suite says that they have."""
    for suite in data["run"]["suites"]:
        name, rows = suite["name"], [row for row in data["instances"] if row["suite"] == suite["name"]]
        if suite["protocol"] not in PROTOCOLS:
            yield f"the suite {name} has the protocol {suite['protocol']!r}"
        elif odd := [row for row in rows if not _fits(suite["protocol"], len(row["ideas"]))]:
            yield f"the instance {odd[0]['instance']!r} of {name} has {plural(len(odd[0]['ideas']), 'idea')}"
        if len(rows) != suite["instances"]:
            yield f"the suite {name} has {plural(suite['instances'], 'instance')}, and the report tells {len(rows)}"
        for what, is_there in (("gold", suite["label_kind"] != "none"), ("cluster", suite["cluster"] is not None)):
            if odd := [row for row in rows if (row[what] is not None) != is_there]:
                without = "no" if is_there else "a"
                yield f"the instance {odd[0]['instance']!r} of {name} has {without} {what}, unlike its suite"


def _fits(protocol: str, ideas: int) -> bool:
    return FEWEST <= ideas <= MOST if protocol == "grouping" else ideas == PROTOCOLS[protocol].ideas_per_instance


def _outcome(
    row: Mapping[str, Any], may_have: Callable[[str], bool], gold: str | None, protocol: str, most: int
) -> Iterator[str]:
    """What is wrong with an outcome itself; its label against its votes is checked once these are read."""
    others = {TIE, ABSTAINED, *([SCORE_ALONE] if protocol == "pointwise" else [])}
    named = {label for kinds in row["tallies"].values() for label in kinds["votes"]}
    if wrong := [label for label in sorted(named - others) if not may_have(label)]:
        yield f"has the label {wrong[0]!r}, which is none of the instance's"
    if row["label"] not in {None, TIE, ABSTAINED, INCOMPLETE, INVALID} and not may_have(row["label"]):
        yield f"has the label {row['label']!r}, which is none of the instance's"
    if odd := sorted(set(row["tallies"]) - {order or "-" for order in PROTOCOLS[protocol].orders("both")}):
        yield f"has votes in the order {odd[0]!r}"
    answered = 0
    for order, kinds in row["tallies"].items():
        if odd := sorted(set(kinds["failed"]) - set(STATUSES[1:])):
            yield f"has calls that failed as {odd[0]!r}"
        votes = sum(kinds["votes"].values())
        answered += votes
        if not 1 <= votes + sum(kinds["failed"].values()) <= most:
            counted = plural(votes + sum(kinds["failed"].values()), "vote")
            yield f"counts {counted} in the order {order}, of {most} asked for"
    if row["result"] != (result := result_of(row["label"], gold)):
        yield f"is {row['result']!r}, and its label {row['label']!r} against {gold!r} is {result!r}"
    if row["correct"] != (None if gold is None else row["result"] == CORRECT):
        yield f"is {row['result']!r} and has correct = {row['correct']}"
    yield from _scores(row["score"], row["scores"] or [], answered)


def _scores(score: float | None, scores: list[float], answered: int) -> Iterator[str]:
    if len(scores) > answered:
        yield f"has {plural(len(scores), 'score')} of {plural(answered, 'answer')}"
    if any(abs(each) > LARGEST for each in scores):
        yield "has a score that is too large for a number"
    mean = sum(scores) / len(scores) if scores else None
    if (score is None) != (mean is None) or (
        score is not None and mean is not None and not math.isclose(score, mean, rel_tol=_CLOSE, abs_tol=_CLOSE)
    ):
        yield f"has the score {score}, and its votes have the mean {mean}"


def check_view(view: View, *, has_threshold: bool) -> Iterator[str]:
    """What is wrong with outcomes, given the votes that were read. ``has_threshold``: a threshold may turn scores into labels."""
    protocol = PROTOCOLS[view.suite.protocol]
    for result, instance in zip(view.results, view.instances, strict=True):
        votes, label = result.outcome.votes, result.outcome.label
        orders = tuple(dict.fromkeys(vote.order for vote in votes))
        found = protocol.aggregate(votes, [idea.id for idea in instance.ideas], orders)
        from_score = found is None and has_threshold and label in (NOVEL, NOT_NOVEL)
        if label != found and not from_score:
            yield (
                f"the outcome of {result.judge} on {result.suite} {result.instance}, {result.variant}, has the label {label!r}, "
                f"and its votes come to {found!r}"
            )


def check_metrics(view: View, estimates: Mapping[str, Estimate]) -> Iterator[str]:
    """What is wrong with the estimates of a view: those that are missing, and shares that the outcomes do not have."""
    first = view.results[0]
    place = f"of {first.judge} on {first.suite}, {first.variant},"
    right = "strict_accuracy" if view.suite.protocol == "pairwise" else "accuracy"
    if missing := [name for name in (right, *_MEASURED) if name not in estimates]:
        yield f"{missing[0]} {place} is missing from the metrics"
    shares = {
        right: view.correct[view.labelled],
        "tie_rate": view.tied,
        "invalid_rate": view.any_failed_vote,
    }
    for name, events in shares.items():
        told = estimates.get(name, Estimate.undefined("")).value
        if told is not None and not (len(events) and math.isclose(told, float(events.mean()), abs_tol=_CLOSE)):
            what = f"{float(events.mean()):.6g}" if len(events) else "nothing"
            yield f"{name} {place} is {told:.6g}, and its outcomes come to {what}"
