"""What a run that ended early does not say of itself: cases that were not judged, calls that no case accounts for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_novelty._pytest.session import NoveltySession


def what_is_missing(session: NoveltySession, reported: int, *, cut_short: bool) -> Iterator[str]:
    """``reported``: calls that the cases which ended have made."""
    if session.unrecorded:
        yield f"{session.unrecorded} cases were not judged: offline, and their verdicts are not recorded"
    if session.unpaid:
        yield _budget_note(session)
    if session.made > reported:  # asked ahead of cases that then did not run
        yield (
            f"{session.made:,} calls were made, ${session.cost_usd:.4f} in all as far as known: "
            f"{session.made - reported:,} of them for cases that did not end; what was answered is stored"
        )
    if cut_short and not session.made and session.config.pluginmanager.has_plugin("dsession"):
        yield "workers were stopped: calls of cases that did not end are stored and not counted here"


def _budget_note(session: NoveltySession) -> str:
    if not session.made and not session.received:
        return (
            f"the budget of ${session.plan.settings.budget_usd:g} is less than one call sets aside, so nothing was asked: "
            "--novelty-dry-run says how much that is"
        )
    aside = ""
    if any(judge.price_basis for judge in session.plan.judges):
        aside = ". A model's call sets aside what all of its max_tokens would cost; --novelty-dry-run says how much"
    return (
        f"the budget of ${session.plan.settings.budget_usd:g} is reached: {session.unpaid} cases were not judged; a budget is "
        f"of one run, and the same command goes on from here{aside}"
    )
