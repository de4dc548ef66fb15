"""Were reasons audited alike in two runs? What depends on the auditor says nothing of the judge where they were not."""

from __future__ import annotations

from typing import Final

from pytest_novelty.between_runs.reading import Key, SavedReport
from pytest_novelty.metrics.grounded import has_unheard
from pytest_novelty.printing import plural


def compare_auditors(old: SavedReport, new: SavedReport, before: Key, now: Key) -> str:
    """How the audits of one judge, suite and variant differ (its key then, and now); empty where the same one was asked."""
    auditors = old.auditors.get(before, ""), new.auditors.get(now, "")
    unheard = has_unheard(old.views[before]), has_unheard(new.views[now])
    textless = old.textless.get(before, 0), new.textless.get(now, 0)
    if unheard[0] != unheard[1] and textless[unheard.index(True)]:  # whoever was to be asked, then and now
        return _NO_TEXTS.format("then" if unheard[0] else "now")
    if all(auditors):
        if auditors[0] != auditors[1]:
            return f"the auditor changed ({auditors[0]} then, {auditors[1]} now)"
        versions = _version(old, before[2], auditors[0]), _version(new, now[2], auditors[1])
        if all(versions) and versions[0] != versions[1]:
            return f"the auditor {auditors[0]} changed (version {versions[0][:12]} then, {versions[1][:12]} now)"
        if unheard[0] != unheard[1]:
            return f"no reason was audited {'then' if unheard[0] else 'now'}, and all that wait for it are unchecked"
        return ""
    for is_unheard, when, other in zip(unheard, ("then", "now"), reversed(auditors), strict=True):
        if other and is_unheard:
            return _NO_TEXTS.format(when)
    return ""


def tell_textless(old: SavedReport, new: SavedReport, before: Key, now: Key) -> str:
    """What an auditor could not be asked about in either run for want of texts; empty where all texts were there."""
    counts = ((old.textless.get(before, 0), "then"), (new.textless.get(now, 0), "now"))
    told = " and ".join(f"{plural(count, 'statement')} {when}" for count, when in counts if count)
    return f"{told} could not be audited, for want of texts (export --no-text)" if told else ""


_NO_TEXTS: Final = (
    "no reason could be audited {}: the texts of the answers are not in what that run read (export --no-text)"
)


def _version(report: SavedReport, judge: str, auditor: str) -> str:
    """Empty of the weak auditor, which compares words, and of one of an earlier report, which does not tell."""
    for row in report.run["audits"]:
        if row["judge"] == judge:
            return next((each["version"] or "" for each in row["auditors"] if each["name"] == auditor), "")
    return ""
