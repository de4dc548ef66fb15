"""Every option once: its flag, its ini key, its help; and their resolution into one Settings object."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

import pytest

if TYPE_CHECKING:
    from pytest_novelty.settings import Settings

JUDGE_DEST: Final = "novelty_judge"


class Option(NamedTuple):  # not a dataclass: making one takes a millisecond of every pytest run, dormant or not
    """``kind``: text, flag or list (repeatable; in ini one a line). The ini key is the flag with underscores."""

    flag: str
    help: str
    metavar: str = ""
    kind: str = "text"
    ini: bool = True

    @property
    def dest(self) -> str:
        return self.flag.removeprefix("--").replace("-", "_")


OPTIONS: Final = (
    Option(
        "--novelty-judge",
        "The judge to test: a registered name, lexical, chance, module:attribute, openai:MODEL, litellm:PROVIDER/MODEL, a judge "
        "file (.yaml) or replay:FILE. Repeat it to compare judges. "
        "Without it the plugin does nothing.",
        "NAME",
        "list",
        ini=False,
    ),
    Option(
        "--novelty-suite",
        "Suite to run: a name or a path (a suite, an ideas.jsonl, a folder of texts). Default: the embedded suites.",
        "NAME|PATH",
        "list",
    ),
    Option("--novelty-variant", "Variant to run beside the reference, or all.", "NAME", "list"),
    Option("--novelty-votes", "Votes per order. Default: as the suite says (3).", "K"),
    Option(
        "--novelty-orders",
        "both or ab: show pairs in both orders, or only as they are. Default: as the suite says (both).",
        "both|ab",
    ),
    Option(
        "--novelty-sample",
        "Judge only so many instances of each suite, chosen by the seed; samples nest, gates count. N..M: look five times on the "
        "way and stop when all gates are decided (in one process).",
        "N|N..M",
    ),
    Option(
        "--novelty-gate",
        "A gate, such as 'strict_accuracy>=0.80' or 'abs(position_bias)<=0.10', beside the suite's own.",
        "GATE",
        "list",
    ),
    Option(
        "--novelty-decide",
        "interval (default): a gate passes or fails only if the 95 %% interval lies wholly on one side; point: by the value "
        "alone.",
        "interval|point",
    ),
    Option(
        "--novelty-inconclusive",
        "What an inconclusive gate does: warn (default; shown as skipped) or fail.",
        "warn|fail",
    ),
    Option(
        "--novelty-failures",
        "What an instance without a valid verdict counts as: wrong (default), drop or tie.",
        "wrong|drop|tie",
    ),
    Option(
        "--novelty-profile",
        "as-published: the report also has the figures that the rules of the benchmark's release give, on suites of similarity "
        "and grouping; default: ours alone. Default: as the suite says.",
        "default|as-published",
    ),
    Option("--novelty-strict", "Wrong verdicts and ties fail their case.", kind="flag"),
    Option(
        "--novelty-threshold",
        "For judges that only score: the mean score from which an idea counts as novel, or cv to choose it by cross-validation.",
        "X|cv",
    ),
    Option(
        "--novelty-reference",
        "The judge that the other judges are compared with, beside the variants with the reference. Default: each with each.",
        "JUDGE",
    ),
    Option(
        "--novelty-auditor",
        "A judge that is asked whether the reasons of the others follow from their evidence; FAMILY=JUDGE: of the judges of that "
        "family of models, *=JUDGE: of all others. Of several all that are of another "
        "family than the judge are asked: the first one's word counts, and their agreement is told. Default: lexical, which "
        "compares words.",
        "[FAMILY=]JUDGE",
        "list",
    ),
    Option("--novelty-own-family", "A judge may be audited by its own family.", kind="flag"),
    Option(
        "--novelty-probe",
        "Ask so many instances of each suite past the store, always the same ones, and compare with what is recorded: has the "
        "judge drifted?",
        "N",
    ),
    Option("--novelty-max-age", "Say so where verdicts from the store are older than this.", "DAYS"),
    Option(
        "--novelty-report",
        "Write the report to this file; the suffix chooses the format (.json or .md).",
        "PATH",
        "list",
    ),
    Option(
        "--novelty-baseline",
        "Compare with this report of an earlier run: what changed, and whether by more than chance.",
        "REPORT.json",
    ),
    Option(
        "--novelty-dry-run",
        "Show what would be asked, what is stored and what it would cost; ask nothing.",
        kind="flag",
    ),
    Option("--novelty-budget", "Stop before the next call would bring the run's cost above this.", "USD"),
    Option("--novelty-concurrency", "Calls in flight at once, over all workers (16).", "N"),
    Option(
        "--novelty-store",
        "The file that keeps all verdicts (.novelty/verdicts.sqlite); relative paths start at the rootdir. With "
        "--novelty-offline also a cassette (.jsonl).",
        "PATH",
    ),
    Option("--novelty-offline", "Answer from the store only; a verdict that is not there is an error.", kind="flag"),
    Option(
        "--novelty-missing",
        "What a missing verdict does when offline: fail (default) or warn (the case is skipped).",
        "fail|warn",
    ),
    Option("--novelty-refresh", "Ask again although the store has an answer, and replace it.", kind="flag"),
    Option("--novelty-seed", "Seed of the votes, samples and resamples (0).", "N"),
)


_INI_TYPES: Final[dict[str, Literal["bool", "linelist", "string"]]] = {
    "flag": "bool",
    "list": "linelist",
    "text": "string",
}


def add_options(parser: pytest.Parser) -> None:
    group = parser.getgroup("novelty", "pytest-novelty: test a novelty judge")
    for option in OPTIONS:
        if option.kind == "flag":
            group.addoption(option.flag, action="store_true", default=None, help=option.help)
        elif option.kind == "list":
            group.addoption(option.flag, action="append", default=None, metavar=option.metavar, help=option.help)
        else:
            group.addoption(option.flag, default=None, metavar=option.metavar, help=option.help)
        if option.ini:
            parser.addini(option.dest, option.help.replace("%%", "%"), type=_INI_TYPES[option.kind], default=None)


def is_active(config: pytest.Config) -> bool:
    return bool(config.getoption(JUDGE_DEST, None))


class _Given:
    """The values given, command line over ini, and where each came from (for errors)."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config

    def get(self, flag: str) -> tuple[Any, str, bool]:
        """(value or None, name for an error, whether it came from an ini file)."""
        dest = flag.removeprefix("--").replace("-", "_")
        value = self._config.getoption(dest, None)
        if value is not None:
            return value, flag, False
        option = next(item for item in OPTIONS if item.flag == flag)
        value = self._config.getini(dest) if option.ini else None
        return (None if value in (None, "", []) else value), f"{dest} in {self._config.inipath or 'the ini file'}", True


def read_settings(config: pytest.Config, extra_gates: Sequence[str] = ()) -> Settings:
    """Resolve all options. Raises SettingsError that names the option or ini key with the wrong value."""
    from pytest_novelty.profiles import PROFILES
    from pytest_novelty.settings import (
        DEFAULT_STORE,
        Settings,
        read_choice,
        read_count,
        read_days,
        read_dollars,
        read_report,
        read_sample,
        read_threshold,
    )

    given = _Given(config)
    base = config.invocation_params.dir

    def choice(flag: str, *choices: str) -> str | None:
        value, name, _ = given.get(flag)
        return None if value is None else read_choice(name, value, choices)

    def count(flag: str, lowest: int = 1, highest: int = 1_000_000) -> int | None:
        value, name, _ = given.get(flag)
        return None if value is None else read_count(name, value, lowest, highest)

    def texts(flag: str) -> tuple[str, ...]:
        value, _, _ = given.get(flag)
        return tuple(dict.fromkeys(value or ()))

    def flag(name: str) -> bool:
        return bool(given.get(name)[0])

    probe = count("--novelty-probe")
    sample, sample_name, sample_from_ini = given.get("--novelty-sample")
    if probe:
        refuse_with_probe(config, given, sampled=sample is not None and not sample_from_ini)
        sample = probe
    age, age_name, _ = given.get("--novelty-max-age")
    budget, budget_name, _ = given.get("--novelty-budget")
    threshold, threshold_name, _ = given.get("--novelty-threshold")
    store, _, _ = given.get("--novelty-store")
    reports, reports_name, reports_from_ini = given.get("--novelty-report")
    report_base = config.rootpath if reports_from_ini else base
    baseline, _, baseline_from_ini = given.get("--novelty-baseline")
    return Settings(
        judges=texts("--novelty-judge"),
        base=base,
        suites=_suites(config, given),
        variants=() if probe else texts("--novelty-variant"),
        votes=count("--novelty-votes", highest=100),
        orders=choice("--novelty-orders", "both", "ab"),
        concurrency=count("--novelty-concurrency", highest=4096) or 16,
        gates=() if probe else tuple(dict.fromkeys((*extra_gates, *texts("--novelty-gate")))),
        decide=choice("--novelty-decide", "interval", "point") or "interval",
        inconclusive=choice("--novelty-inconclusive", "warn", "fail") or "warn",
        failures=choice("--novelty-failures", "wrong", "drop", "tie") or "wrong",
        strict=flag("--novelty-strict"),
        reports=tuple(read_report(reports_name, path, report_base) for path in dict.fromkeys(reports or ())),
        dry_run=flag("--novelty-dry-run"),
        sample=None if sample is None else read_sample(sample_name, sample),
        threshold=None if threshold is None else read_threshold(threshold_name, threshold),
        reference=given.get("--novelty-reference")[0],
        budget_usd=None if budget is None else read_dollars(budget_name, budget),
        store=config.rootpath / (store or DEFAULT_STORE),
        offline=flag("--novelty-offline"),
        missing=choice("--novelty-missing", "fail", "warn") or "fail",
        refresh=flag("--novelty-refresh"),
        seed=count("--novelty-seed", 0, 2**32 - 1) or 0,
        baseline=None if baseline is None else (config.rootpath if baseline_from_ini else base) / baseline,
        probe=probe,
        max_age_days=None if age is None else read_days(age_name, age),
        auditors=tuple(dict.fromkeys(config.getoption("novelty_auditor", None) or ())),
        auditors_of_ini=tuple(dict.fromkeys(config.getini("novelty_auditor") or ())),
        ini=config.inipath,
        own_family=flag("--novelty-own-family"),
        profile=choice("--novelty-profile", *PROFILES),
    )


def refuse_with_probe(config: pytest.Config, given: _Given, *, sampled: bool) -> None:
    """Raises SettingsError for an option that a probe cannot go with."""
    from pytest_novelty.errors import SettingsError

    reasons = {
        "--novelty-sample": (sampled, "a probe is a sample of its own"),
        "--novelty-offline": (given.get("--novelty-offline")[0], "a probe asks the judge"),
        "--novelty-refresh": (given.get("--novelty-refresh")[0], "a probe keeps what is recorded, to compare with it"),
        "--snapshot-update": (
            config.getoption("update_snapshots", False),
            "a probe compares; a run without it records",
        ),
    }
    for flag, (is_given, reason) in reasons.items():
        if is_given:
            raise SettingsError(f"--novelty-probe does not go with {flag}: {reason}", hint="Leave one of them out")


def _suites(config: pytest.Config, given: _Given) -> tuple[str, ...]:
    """Suites as named; a path of an ini file is relative to that file."""
    value, _, from_ini = given.get("--novelty-suite")
    names = dict.fromkeys(value or ())
    folder = config.inipath.parent if from_ini and config.inipath else None
    if folder is None:
        return tuple(names)
    return tuple(str(folder / name) if Path(folder / name).exists() else name for name in names)
