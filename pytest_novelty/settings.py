"""A run's settings, resolved once (command line over ini over suite file) and passed on; never read again."""

from __future__ import annotations

import math
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from pytest_novelty.errors import SettingsError
from pytest_novelty.looks import SampleRange

DEFAULT_STORE: Final = ".novelty/verdicts.sqlite"

REPORT_SUFFIXES: Final = (".json", ".md")
"""The report formats that this version writes."""

MOST_DAYS: Final = 99_999
"""Of an age: centuries, and still a date."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything a run was asked for. ``base``: the folder that relative paths start from.

    ``votes`` and ``orders`` None: as each suite says. ``threshold``: a number, ``"cv"``, or None: as the judge says.
    ``reference``: the judge that the others are compared with; None: each with each. ``probe``: so many instances are asked
    past the store. ``max_age_days``: older verdicts from the store are a finding.
    """

    judges: tuple[str, ...]
    base: Path
    suites: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()
    votes: int | None = None
    orders: str | None = None
    concurrency: int = 16
    gates: tuple[str, ...] = ()
    decide: str = "interval"
    inconclusive: str = "warn"
    failures: str = "wrong"
    strict: bool = False
    reports: tuple[Path, ...] = ()
    dry_run: bool = False
    sample: int | SampleRange | None = None
    threshold: float | str | None = None
    reference: str | None = None
    budget_usd: float | None = None
    store: Path = field(default_factory=lambda: Path(DEFAULT_STORE))
    offline: bool = False
    missing: str = "fail"
    refresh: bool = False
    seed: int = 0
    baseline: Path | None = None
    """The report of an earlier run, which this one is compared with."""
    probe: int | None = None
    max_age_days: float | None = None
    auditors: tuple[str, ...] = ()
    """Who is asked whether reasons follow from the evidence: a judge, or ``FAMILY=JUDGE`` for judges of that family."""
    auditors_of_ini: tuple[str, ...] = ()
    """The same, for judges of which neither ``auditors`` nor their own file says anything; relative to ``ini``."""
    ini: Path | None = None
    own_family: bool = False
    """A judge may be audited by its own family."""
    profile: str | None = None
    """By which rules suites are scored; None: as each says."""

    @property
    def by_point(self) -> bool:
        return self.decide == "point"

    @property
    def fixed_threshold(self) -> float | None:
        return self.threshold if isinstance(self.threshold, float) else None


def read_choice(name: str, value: str, choices: Sequence[str]) -> str:
    if value not in choices:
        raise SettingsError(f"{name} is {value!r}", hint=f"Choose one of {', '.join(choices)}")
    return value


def read_count(name: str, value: object, lowest: int = 1, highest: int = 1_000_000) -> int:
    """A whole number, from an option (already an int) or an ini value (a text)."""
    text = str(value).strip()
    if not re.fullmatch(r"[+-]?[0-9]{1,12}", text) or not lowest <= int(text) <= highest:
        raise SettingsError(f"{name} is {text!r}", hint=f"Give a whole number from {lowest} to {highest}")
    return int(text)


def read_dollars(name: str, value: object) -> float:
    text = str(value).strip().removeprefix("$")
    try:
        amount = float(text)
    except ValueError:
        amount = math.nan
    if not (math.isfinite(amount) and amount >= 0):
        raise SettingsError(f"{name} is {str(value)!r}", hint="Give an amount in US dollars, such as 1.50")
    return amount


def read_days(name: str, value: object) -> float:
    text = str(value).strip()
    try:
        days = float(text)
    except ValueError:
        days = math.nan
    if not 0 <= days <= MOST_DAYS:
        raise SettingsError(f"{name} is {text!r}", hint=f"Give a number of days, such as 30, up to {MOST_DAYS}")
    return days


def read_threshold(name: str, value: str) -> float | str:
    text = value.strip()
    if text == "cv":
        return text
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number):
        raise SettingsError(f"{name} is {value!r}", hint="Give a score, or cv to choose it by cross-validation")
    return number


def read_sample(name: str, value: object) -> int | SampleRange:
    """A number of instances, or a range ``N..M`` for planned looks."""
    text = str(value).strip()
    if ".." not in text:
        return read_count(name, text)
    first, _, last = text.partition("..")
    if not (first.strip().isdecimal() and last.strip().isdecimal()):
        raise SettingsError(f"{name} is {text!r}", hint="Write a number of instances, or a range such as 60..300")
    limits = SampleRange(read_count(name, first, 2), read_count(name, last, 2))
    if limits.first >= limits.last:
        raise SettingsError(f"{name} is {text!r}, which does not grow", hint="Give the smaller number first: 60..300")
    return limits


def read_report(name: str, value: str, base: Path) -> Path:
    path = base / value
    if path.suffix not in REPORT_SUFFIXES:
        raise SettingsError(f"{name} is {value!r}", hint=f"The suffix chooses the format: {', '.join(REPORT_SUFFIXES)}")
    if path.is_dir():
        raise SettingsError(f"{name} is {value!r}, which is a folder")
    folder = next(parent for parent in path.parents if parent.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise SettingsError(f"{name} is {value!r}, and nothing can be written in {folder}")
    return path
