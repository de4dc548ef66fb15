"""A report file read back: its estimates, and the votes of each judge, suite and variant as the views of the metrics."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pytest_novelty.auditing import cites
from pytest_novelty.audits import Audits
from pytest_novelty.between_runs.checking import SCORE_ALONE, check_metrics, check_parts, check_view
from pytest_novelty.between_runs.earlier import complete
from pytest_novelty.errors import SettingsError
from pytest_novelty.jsonl import NotFinite, parse_json
from pytest_novelty.judges.base import Traits
from pytest_novelty.metrics.resampling import Resampler
from pytest_novelty.metrics.view import Estimate, View
from pytest_novelty.model import ABSTAINED, OK, Ground, Idea, Instance, Outcome, Suite, Vote
from pytest_novelty.outcomes import CaseResult, Trace
from pytest_novelty.protocols.grouping import name_partition
from pytest_novelty.reports.as_dict import FORMAT
from pytest_novelty.validation import explain, load_schema, shipped_check
from pytest_novelty.verdicts import SIMILAR, TOLD_OF_GROUNDS

_HINT: Final = "Write one with --novelty-report out.json"
_CLUSTER: Final = "cluster"
_CLOSE: Final = 1e-12
_BY_POINT: Final = re.compile(r"@\s*point\s*[@<>]")
Key = tuple[str, str, str]
"""(suite, variant, judge)."""


@dataclass(frozen=True)
class SavedSuite:
    """What two runs must share of a suite. ``digests``: of every instance of the suite, judged or not, by id."""

    name: str
    version: str
    digest: str
    protocol: str
    digests: Mapping[str, str]
    suite: Suite


@dataclass(frozen=True)
class SavedGate:
    """A gate as it is written, what it asks for and how it was decided. ``point``: it says itself that the value decides."""

    text: str
    metric: str
    variant: str
    stratum: str | None
    absolute: bool
    op: str
    threshold: float
    point: bool
    decision: str

    @property
    def upper(self) -> bool:
        return self.op in ("<=", "<")

    @property
    def quantity(self) -> tuple[object, ...]:
        """On what, and in which direction, it sets a threshold."""
        return self.metric, self.variant, self.stratum, self.absolute, self.upper

    @property
    def demand(self) -> tuple[object, ...]:
        """Equal for gates that ask for the same."""
        return *self.quantity, self.op, self.threshold, self.point


@dataclass(frozen=True)
class SavedReport:
    """A report, as far as it can be compared with another.

    Attributes
    ----------
    source: what messages call it: the path, or "this run".
    run: its ``run`` section: settings, judges, profile.
    views: the votes, by (suite, variant, judge). The intervals computed from them are of 95 %.
    estimates: single-view metrics of all instances, by the same keys, then by name; as the report has them.
    changes: of each variant against its reference: (change, starred) by key and metric.
    gates: by (judge, suite), in the order of the report.
    calls: the ``calls`` section.
    auditors: who judged the reasons of an answer, by the same keys as ``views``; empty where nobody did.
    textless: statements, counted in every vote, that nobody could be asked about as their texts were not kept, by the same keys.
    """

    source: str
    headline: str
    run: Mapping[str, Any]
    suites: Mapping[str, SavedSuite]
    views: Mapping[Key, View]
    estimates: Mapping[Key, Mapping[str, Estimate]]
    changes: Mapping[Key, Mapping[str, tuple[float | None, bool]]]
    gates: Mapping[tuple[str, str], Sequence[SavedGate]]
    calls: Mapping[str, Any]
    auditors: Mapping[Key, str]
    textless: Mapping[Key, int]

    @property
    def judges(self) -> dict[str, Mapping[str, Any]]:
        """By name, as the ``run`` section describes them; those that judged something."""
        own = {judge for _, _, judge in self.views}
        return {judge["name"]: judge for judge in self.run["judges"] if judge["name"] in own}


def load_report(path: Path, name: str = "") -> SavedReport:
    """Read a report that ``--novelty-report`` wrote. ``name``: what messages call it, if not by its path.

    Raises SettingsError that says what is wrong with the file.
    """
    return read_report(read_json(path), name or str(path))


def read_json(path: Path) -> dict[str, Any]:
    """A report file as plain data that fits its schema. Raises SettingsError."""
    try:
        data = parse_json(path.read_bytes().decode("utf-8"))
    except OSError as error:
        raise SettingsError(f"cannot be read: {error.strerror}", path=path, hint=_HINT) from None
    except UnicodeDecodeError:
        raise SettingsError("is not a report: it is not UTF-8", path=path, hint=_HINT) from None
    except NotFinite as error:
        raise SettingsError(f"is not a report that can be compared: {error}", path=path, hint=_HINT) from None
    except (ValueError, RecursionError) as error:
        raise SettingsError(f"is not a report: {error}", path=path, hint=_HINT) from None
    found = data.get("format") if isinstance(data, dict) else None
    if found != FORMAT:
        told = f"its format is {found!r}, not {FORMAT!r}" if found else "it has no format"
        raise SettingsError(f"is not a report: {told}", path=path, hint=_HINT)
    complete(data)
    if not shipped_check("report")(data):
        sentence, _ = explain(data, load_schema("report")) or ("it does not fit the schema", ())
        raise SettingsError(
            f"is not a report that can be compared: {sentence}", path=path, hint="Judge again with this version"
        )
    checked: dict[str, Any] = data
    return checked


def read_report(data: Mapping[str, Any], source: str, *, own: bool = False) -> SavedReport:
    """A report as plain data, valid by its schema. Raises SettingsError where its parts contradict each other; ``own``: it is of
    this run, and not looked through.
    """
    if odd := "" if own else next(check_parts(data), ""):
        raise _refused(odd, source)
    suites = _suites(data)
    try:
        views = _views(data, suites)
    except (KeyError, ValueError, IndexError) as error:
        raise _refused(f"an outcome names what it does not describe ({error})", source) from None
    estimates: dict[Key, dict[str, Estimate]] = {}
    bounds = _bounds(data["grounding"])
    for row in data["metrics"]:
        if row["reference"] is None and row["stratum"] is None:
            key, fields = _key(row), {name: row[name] for name in ("value", "low", "high", "n", "method", "note")}
            told = Estimate(**fields, bounds=bounds.get((*key, row["metric"].removeprefix("pair_"))))
            estimates.setdefault(key, {})[row["metric"]] = told
    if odd := "" if own else next(_contradictions(views, estimates, data["run"]["settings"].get("threshold")), ""):
        raise _refused(odd, source)
    return SavedReport(
        source,
        data["headline"],
        data["run"],
        suites,
        views,
        estimates,
        {
            _key(item): {change["metric"]: (change["value"], change["starred"]) for change in item["changes"]}
            for item in data["variants"]
        },
        _gates(data["gates"]),
        data["calls"],
        {_key(item): item["auditor"] or "" for item in data["grounding"]},
        {_key(item): item["textless"] for item in data["grounding"]},
    )


def _key(row: Mapping[str, Any]) -> Key:
    return row["suite"], row["variant"], row["judge"]


def _bounds(grounding: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str, str, str], tuple[float, float]]:
    """Those of the rates, over what was not checked, by suite, variant, judge and rate: only the cascade tells them."""
    return {
        (*_key(item), name): (rate["lower"], rate["upper"])
        for item in grounding
        for name, rate in item["rates"].items()
        if None not in (rate["value"], rate["lower"], rate["upper"]) and rate["upper"] - rate["lower"] > _CLOSE
    }


def _gates(rows: Sequence[Mapping[str, Any]]) -> dict[tuple[str, str], list[SavedGate]]:
    found: dict[tuple[str, str], list[SavedGate]] = {}
    for row in rows:
        told = {name: row[name] for name in ("metric", "variant", "stratum", "absolute", "op", "threshold", "decision")}
        point = _BY_POINT.search(row["name"]) is not None  # the row tells it also where --novelty-decide says so
        found.setdefault((row["judge"], row["suite"]), []).append(SavedGate(row["name"], point=point, **told))
    return found


def _contradictions(
    views: Mapping[Key, View], estimates: Mapping[Key, Mapping[str, Estimate]], threshold: object
) -> Iterator[str]:
    """Outcomes that their votes do not come to, then estimates that their outcomes do not come to."""
    for view in views.values():
        yield from check_view(view, has_threshold=threshold is not None or view.traits.threshold is not None)
    for key, view in views.items():
        yield from check_metrics(view, estimates.get(key, {}))


def _refused(odd: str, source: str) -> SettingsError:
    return SettingsError(
        f"is not a report that can be compared: {odd}", path=source, hint="Take the file as the run wrote it"
    )


def _suites(data: Mapping[str, Any]) -> dict[str, SavedSuite]:
    rows: dict[str, list[Mapping[str, Any]]] = {}
    for row in data["instances"]:
        rows.setdefault(row["suite"], []).append(row)
    found = {}
    for told in data["run"]["suites"]:
        own = rows.get(told["name"], [])
        suite = Suite(
            told["name"],
            told["version"],
            told["protocol"],
            told["label_kind"],
            tuple(map(_instance, own)),
            {},
            told["digest"],
            Path(),
            cluster=None if told["cluster"] is None else _CLUSTER,
            profile=told["profile"],
        )
        digests = {row["instance"]: row["digest"] for row in own}
        found[suite.name] = SavedSuite(suite.name, suite.version, suite.digest, suite.protocol, digests, suite)
    return found


def _instance(row: Mapping[str, Any]) -> Instance:
    """As much of an instance as metrics need: names, label, date, cluster. The texts are not in a report."""
    strata = {} if row["cluster"] is None else {_CLUSTER: row["cluster"]}
    ideas = tuple(Idea(name, "", "") for name in row["ideas"])
    return Instance(row["instance"], ideas, row["gold"], row["as_of"], strata)


def _views(data: Mapping[str, Any], suites: Mapping[str, SavedSuite]) -> dict[Key, View]:
    settings = data["run"]["settings"]
    traits = {judge["name"]: _traits(judge["traits"]) for judge in data["run"]["judges"]}
    gold = {(row["suite"], row["instance"]): row["gold"] for row in data["instances"]}
    results: dict[Key, list[CaseResult]] = {}
    audited = {_key(item) for item in data["grounding"] if item["auditor"]}
    for row in data["outcomes"]:
        outcome = Outcome(
            row["label"],
            row["result"],
            _with_grounds(row, suites[row["suite"]].protocol),
            gold[row["suite"], row["instance"]],
            row["score"],
        )
        trace = Trace() if row["trace"] is None else Trace(**row["trace"])
        result = CaseResult(row["judge"], row["suite"], row["variant"], row["instance"], outcome, trace=trace)
        if (
            _key(row) in audited
        ):  # also where the auditor said nothing: what it left open has bounds, and is not undefined
            with_reason = sum(ground.has_reason for vote in outcome.votes for ground in vote.grounds)
            result = result._replace(audits=Audits(wanted=with_reason))
        results.setdefault(_key(row), []).append(result)
    threshold = settings.get("threshold")
    resamplers: dict[str, dict[int, Resampler]] = {}
    return {
        key: View(
            members,
            suites[key[0]].suite,
            traits[key[2]],
            failures=settings["failures"],
            seed=int(data["run"]["seed"]),
            cross_fitted=threshold == "cv",
            resamplers=resamplers.setdefault(key[0], {}),
            threshold=threshold if isinstance(threshold, float) else None,
        )
        for key, members in results.items()
    }


def _traits(told: Mapping[str, Any]) -> Traits:
    limits = told["score_range"]
    return Traits(**{**told, "score_range": None if limits is None else (limits[0], limits[1])})


def _with_grounds(row: Mapping[str, Any], protocol: str) -> tuple[Vote, ...]:
    """The votes with what became of their evidence. Which of an order came first is told by it of positive ones and of those
    without a verdict; the others take the places that are left (reports of earlier versions do not tell these two apart).
    """
    votes = tuple(_votes(row))
    if row["grounds"] is None or not cites(protocol):
        return votes
    if len(row["grounds"]) != len(votes):
        raise ValueError(f"evidence of {len(row['grounds'])} votes, and there are {len(votes)}")
    left = list(votes)
    placed: list[Vote | None] = []
    for vote, told in zip(votes, row["grounds"], strict=True):
        if told is None:
            lost = next((one for one in left if one.order == vote.order and one.label is None), None)
            if lost is None:
                raise ValueError("no verdict of a vote, and all that are left have one")
            left.remove(lost)
            placed.append(lost._replace(sample=vote.sample))
            continue
        grounds = tuple(Ground(*(_plain(ground[name]) for name in TOLD_OF_GROUNDS)) for ground in told)
        label = (
            "" if not grounds else SIMILAR if protocol == "similarity" else name_partition(g.members for g in grounds)
        )
        own = next((one for one in left if label and (one.order, one.label) == (vote.order, label)), None)
        if label and own is None:
            raise ValueError(f"evidence of a vote for {label}, which nobody gave")
        if own is not None:
            left.remove(own)
        placed.append(None if own is None else own._replace(sample=vote.sample, grounds=grounds))
    found = []
    for vote, made in zip(votes, placed, strict=True):
        if made is None:
            own = next(one for one in left if one.order == vote.order)
            left.remove(own)
            made = own._replace(sample=vote.sample)
        found.append(made)
    return tuple(found)


def _plain(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _votes(row: Mapping[str, Any]) -> Iterator[Vote]:
    """The votes that a tally counts. Which of one order came first is not told, and no metric asks for it."""
    scores = iter(row["scores"] or ())
    for order, kinds in row["tallies"].items():
        sample = 0
        for label, count in kinds["votes"].items():
            abstained = label == ABSTAINED
            for _ in range(int(count)):  # 3.0 is a whole number, too
                score = None if abstained else next(scores, None)
                named = None if abstained or (label == SCORE_ALONE and order == "-") else label
                yield Vote(None if order == "-" else order, sample, OK, "", named, score, abstained)
                sample += 1
        for status, count in kinds["failed"].items():
            for _ in range(int(count)):  # 3.0 is a whole number, too
                yield Vote(None if order == "-" else order, sample, status)
                sample += 1
