"""What auditing a case took, and what of it is lacking: audits that failed, that are not recorded, that were not paid for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple, TypeAlias

from pytest_novelty.model import OK, Record

_MAX_MESSAGE = 200
SHORT_KEY = 16
"""As much of a key as tells the audits of a run apart."""

Places: TypeAlias = tuple[tuple[int, int], ...]
"""Where a case makes a statement: places of votes and of groups in their answers."""

Elsewhere: TypeAlias = tuple[str, int, int | None, Places, Places]
"""An audit that another process makes: its short key, the place of the auditor in the panel, that of the statement among the
case's (None if it is none by our rules), and where the case makes it, by our rules and by those of a release.
"""


class Audits(NamedTuple):
    """Of one case. A statement that several cases make is audited once, and counted with the first of them.

    wanted: statements that an auditor was to be asked about, counted with each case.
    calls: audits made or reused; ``failed`` counts those without a verdict by kind, ``message`` is of the first.
    missing: audits that are not recorded, offline; recording them costs ``missing_usd`` (None: unknown), at most if ``is_bound``.
        ``unheard``: those of them that are of the first auditor, without whose word a statement is unchecked.
    unpaid: audits that the budget did not allow.
    opinions: of each statement, what each of several auditors says; None where one does not answer.
    told: of workers, what was said in the audits that they made for this case, by short key. ``elsewhere``: those that another
        worker makes, which its result tells. ``lost``: those that a worker was to make that ended without telling.
    textless: statements, counted in every vote, that nobody can be asked about, since their text was not kept.
    """

    wanted: int = 0
    calls: int = 0
    failed: Mapping[str, int] = MappingProxyType({})
    message: str = ""
    missing: int = 0
    missing_usd: float | None = 0.0
    is_bound: bool = False
    unpaid: int = 0
    opinions: tuple[tuple[bool | None, ...], ...] = ()
    told: Mapping[str, bool | None] = MappingProxyType({})
    elsewhere: tuple[Elsewhere, ...] = ()
    lost: int = 0
    textless: int = 0
    unheard: int = 0


def for_want_of_text(unaudited: int, textless: int) -> str:
    """Why statements are not audited, as far as it is that their texts were left out of a cassette; empty where it is not."""
    return "" if not textless else "for want of texts" if textless >= unaudited else "in part for want of texts"


def count_audits(wanted: int, records: Sequence[Record], unpaid: int) -> Audits:
    """``records``: the audits that this case accounts for."""
    failed = [record for record in records if record.status != OK]
    kinds = Counter(record.kind or record.status for record in failed)
    message = failed[0].message[:_MAX_MESSAGE] if failed else ""
    return Audits(wanted, len(records), dict(sorted(kinds.items())), message, unpaid=unpaid)


def sum_missing(audits: Iterable[Audits]) -> Audits:
    """What is missing in all of them: the known costs added up, None if none is known."""
    lacking = [each for each in audits if each.missing]
    known = [each.missing_usd for each in lacking if each.missing_usd is not None]
    return Audits(
        missing=sum(each.missing for each in lacking),
        missing_usd=sum(known) if known or not lacking else None,
        is_bound=any(each.is_bound for each in lacking),
        unheard=sum(each.unheard for each in lacking),
    )
