"""May two reports be compared? Only like with like: the same instances, failure policy and profile; and what differs is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_novelty.between_runs.reading import SavedReport, SavedSuite
from pytest_novelty.errors import SettingsError
from pytest_novelty.printing import name_some

_SETTINGS: Final = ("votes", "orders", "threshold", "decide", "inconclusive", "strict", "missing", "probe")
"""Settings in which comparable runs may differ, among them all that make a run fail or not; that they do is worth a note."""


@dataclass(frozen=True)
class Matched:
    """What of two reports is compared: suites by name, judges as (name in the new report, name in the old one)."""

    suites: tuple[str, ...]
    judges: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]


def match_reports(old: SavedReport, new: SavedReport) -> Matched:
    """Find what two reports have in common.

    Raises SettingsError, with everything that differs, if they have other failure policies, profiles or instances, or if
    nothing is in both.
    """
    check_alike(old, new.source, new.run["settings"]["failures"], new.suites)
    suites = [name for name in new.suites if name in old.suites]
    judges = match_judges(old, new.source, list(new.judges))
    return Matched(tuple(suites), judges, tuple(_notes(old, new, suites, judges)))


def check_alike(old: SavedReport, source: str, failures: str, suites: Mapping[str, SavedSuite]) -> None:
    """Raise SettingsError, with all that differs, where a run (``source``) has another failure policy than a report, another
    profile or other instances in a suite of the same name, or no suite that the report has.
    """
    refused = _differs("the failure policy", old.run["settings"]["failures"], failures)
    common = [name for name in suites if name in old.suites]
    for name in common:
        refused += _differs(f"the profile of {name}", old.suites[name].suite.profile, suites[name].suite.profile)
        refused += differences_of_suites(old.suites[name], suites[name])
    if not common:
        refused.append(f"the suites ({', '.join(old.suites) or 'none'} then, {', '.join(suites) or 'none'} now)")
    if refused:
        raise SettingsError(
            f"{source} cannot be compared with {old.source}, which differs in {'; '.join(refused)}",
            hint="Judge both under the same conditions",
        )


def differences_of_suites(old: SavedSuite, new: SavedSuite) -> list[str]:
    """In which instances two suites of one name differ; empty if these are the same, whatever else differs."""
    if old.protocol != new.protocol:
        return [f"suite {new.name} (protocol {old.protocol} then, {new.protocol} now)"]
    added = [name for name in new.digests if name not in old.digests]
    removed = [name for name in old.digests if name not in new.digests]
    changed = [name for name in new.digests if name in old.digests and new.digests[name] != old.digests[name]]
    told = [
        f"{len(names)} {what} ({name_some(names)})"
        for names, what in ((added, "added"), (removed, "removed"), (changed, "changed"))
        if names
    ]
    return [f"suite {new.name} {old.version} then, {new.version} now (instances: {', '.join(told)})"] if told else []


def _differs(what: str, old: object, new: object) -> list[str]:
    return [] if old == new else [f"{what} ({old} then, {new} now)"]


def match_judges(old: SavedReport, source: str, judges: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """(name now, name then), by name; one judge on each side is compared under whatever name, for models are renamed.

    Raises SettingsError if no judge of ``source`` was there then.
    """
    before = list(old.judges)
    if len(before) == len(judges) == 1:
        return ((judges[0], before[0]),)
    if found := tuple((name, name) for name in judges if name in before):
        return found
    raise SettingsError(
        f"{source} cannot be compared with {old.source}: no judge is in both "
        f"({', '.join(before) or 'none'} then, {', '.join(judges) or 'none'} now)",
        hint="Give the judge the name that it had",
    )


def _notes(old: SavedReport, new: SavedReport, suites: Sequence[str], judges: Sequence[tuple[str, str]]) -> list[str]:
    notes = []
    for name in suites:
        if old.suites[name].digest != new.suites[name].digest:
            notes.append(
                f"{name}: the instances are the same, but its other settings are not (prompts, defaults, gates)"
            )
    for missing, when in (
        ([name for name in old.suites if name not in new.suites], "then"),
        ([name for name in new.suites if name not in old.suites], "now"),
    ):
        if missing:
            notes.append(f"only judged {when}: {', '.join(missing)}")
    matched = ({name for _, name in judges}, {name for name, _ in judges})
    for report, kept, when in ((old, matched[0], "then"), (new, matched[1], "now")):
        if left := [name for name in report.judges if name not in kept]:
            notes.append(f"only there {when}: judge {', '.join(left)}")
    then, now = old.run["settings"], new.run["settings"]
    for setting in _SETTINGS:
        if setting in then and setting in now and then[setting] != now[setting]:
            notes.append(
                f"--novelty-{setting} was {_said(setting, then[setting])} and is {_said(setting, now[setting])}"
            )
    for name, before in judges:
        notes += _notes_on_judge(before, name, old.judges[before], new.judges[name])
    return notes


def _notes_on_judge(before: str, name: str, old: Mapping[str, object], new: Mapping[str, object]) -> list[str]:
    called = name if before == name else f"{before}, now {name}"
    versions = (str(old["version"]), str(new["version"]))
    if versions[0] != versions[1]:
        return [f"{called}: another version ({versions[0][:12]} then, {versions[1][:12]} now)"]
    return [] if before == name else [f"{called}: the same version under another name"]


def _said(setting: str, value: object) -> str:
    if value is None:
        return "as the suite says" if setting in ("votes", "orders") else "not given"
    return ("not given", "given")[value] if isinstance(value, bool) else str(value)
