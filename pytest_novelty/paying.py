"""What a run may cost, as far as its judges tell before anything is asked: refused where nobody agreed to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

from pytest_novelty.errors import SettingsError
from pytest_novelty.judges.base import Judge
from pytest_novelty.settings import Settings


def check_price(judge: Judge, settings: Settings) -> None:
    """Raises SettingsError where a budget cannot hold what the judge costs, which nobody knows."""
    if settings.budget_usd is not None and not settings.offline and judge.price_basis.startswith("unknown"):
        raise SettingsError(
            f"a budget was given, but the price of judge {judge.name!r} is {judge.price_basis}",
            hint="A server of your own costs price: {input: 0, output: 0}",
        )


def default_suites(judges: Iterable[Judge], settings: Settings, embedded: Mapping[str, Path]) -> tuple[str, ...]:
    """The embedded suites, unless that would spend money nobody agreed to. Raises SettingsError."""
    paid = [judge.name for judge in judges if judge.traits.cost_usd_per_call != 0.0]
    if paid and settings.budget_usd is None and not settings.offline and not settings.dry_run:
        raise SettingsError(
            f"judge {paid[0]!r} may cost money, and no suite is named",
            hint="Name suites with --novelty-suite, or set --novelty-budget, or look first with --novelty-dry-run; "
            "a judge that is free says so with cost_usd_per_call = 0.0",
        )
    return tuple(embedded)
