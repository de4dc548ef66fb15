"""What a run that ended early does not say of itself: cases that were not judged, calls that no case accounts for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeAlias

from pytest_novelty.audits import Audits, sum_missing
from pytest_novelty.printing import plural, show_usd

if TYPE_CHECKING:
    from pytest_novelty._pytest.session import NoveltySession
    from pytest_novelty.outcomes import CaseResult

Missed: TypeAlias = tuple[bool, int, float | None, bool]
"""Of a case that is not recorded: whether it was skipped, the calls it takes, their cost in USD, whether that is the most."""


def what_is_missing(session: NoveltySession, reported: int, *, cut_short: bool) -> Iterator[str]:
    """``reported``: calls that the cases which ended have made."""
    yield from what_is_unrecorded(session.missed, audited=session.plan.asks_auditors)
    if session.unpaid:
        yield _budget_note(session)
    made = session.made.calls
    if made > reported:  # asked ahead of cases that then did not run
        were = "was" if made == 1 else "were"
        yield (
            f"{plural(made, 'call')} {were} made, ${session.made.known_usd:.4f} in all as far as known: "
            f"{made - reported:,} of them for cases that did not end; what was answered is stored"
        )
    if cut_short and not made and session.config.pluginmanager.has_plugin("dsession"):
        yield "workers were stopped: calls of cases that did not end are stored and not counted here"


def what_is_unrecorded(missed: Sequence[Missed], *, audited: bool) -> Iterator[str]:
    """How many cases are not recorded, and what recording all of them takes. Nobody knows what there will be to audit."""
    if not missed:
        return
    calls = sum(each[1] for each in missed)
    known = [each[2] for each in missed if each[2] is not None]
    cost = "at an unknown cost"
    if known:
        most = "no more than " if any(each[3] for each in missed) else ""
        rest = ", and an unknown amount for the others" if len(known) < len(missed) else ""
        cost = f"at {most}about {show_usd(sum(known))}{rest}"
    yield (
        f"{not_judged(len(missed))}: offline, and {'its' if len(missed) == 1 else 'their'} verdicts are not recorded; recording "
        f"all of them takes {plural(calls, 'call')} {cost}"
        + (", what audits them not counted" if audited else "")
        + ("; -rs tells what changed of each" if any(each[0] for each in missed) else "")
    )


def what_is_unaudited(results: Sequence[CaseResult]) -> Iterator[str]:
    """Audits that are not recorded, of cases whose verdicts are."""
    lacking = sum_missing(result.audits for result in results)
    if lacking.missing:
        most = "no more than " if lacking.is_bound else ""
        cost = "an unknown cost" if lacking.missing_usd is None else f"{most}about {show_usd(lacking.missing_usd)}"
        yield (
            f"{plural(lacking.missing, 'audit')} {'is' if lacking.missing == 1 else 'are'} not recorded: offline, and "
            f"{_left_by(lacking)}; recording them takes {plural(lacking.missing, 'call')} at {cost}"
        )


def _left_by(lacking: Audits) -> str:
    """Of auditors after the first only how far they agree is told."""
    if lacking.unheard == lacking.missing:
        return "what they would check is unchecked"
    if not lacking.unheard:
        return "no statement is unchecked for want of them: only how far the auditors agree is not told"
    return (
        f"what {lacking.unheard:,} of them would check is unchecked (the others only tell how far the auditors agree)"
    )


def not_judged(count: int) -> str:
    return f"{plural(count, 'case')} {'was' if count == 1 else 'were'} not judged"


def _budget_note(session: NoveltySession) -> str:
    if not session.made.calls and not session.received:
        return (
            f"the budget of ${session.plan.settings.budget_usd:g} is less than one call sets aside, so nothing was asked: "
            "--novelty-dry-run says how much that is"
        )
    aside = ""
    if any(judge.price_basis for judge in session.plan.judges):
        aside = ". A model's call sets aside what all of its max_tokens would cost; --novelty-dry-run says how much"
    then = "of one run, and the same command goes on from here"
    if session.generation:
        then = "of one run, and the next probe asks all anew"
    return (
        f"the budget of ${session.plan.settings.budget_usd:g} is reached: {not_judged(session.unpaid)}; a budget is "
        f"{then}{aside}"
    )
