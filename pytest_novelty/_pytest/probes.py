"""What a probe says at its end: the comparison with what the store had, and what could not be compared."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from pytest_novelty.cassette import open_store
from pytest_novelty.printing import plural
from pytest_novelty.probing import Probed, read_probed

if TYPE_CHECKING:
    from pytest_novelty.drifting import Drift
    from pytest_novelty.evidence_drift import EvidenceDrift
    from pytest_novelty.judges.base import Judge
    from pytest_novelty.plan import SuitePlan
    from pytest_novelty.results import Report


def compare_with_store(report: Report, planned: SuitePlan, judge: Judge, generation: str) -> Iterator[Drift]:
    """The comparison of a probe with what the store had; what has no counterpart is noted. Raises StoreError."""
    from pytest_novelty.drifting import compare  # numpy: workers never need it
    from pytest_novelty.evidence_drift import compare_evidence

    judged = judged_of(report, planned, judge)
    found = _read(report, planned, judge, generation)
    report.notes += _notes(found, planned.suite.name, judge.name, len(judged))
    if found.before.entries:
        dates = " to ".join(dict.fromkeys((found.first[:10], found.last[:10])))
        against = f"the store ({dates})"
        evidence = compare_evidence(report.plan, planned, judge, *found.results)
        yield compare(
            report.plan, planned, judge, found.before, found.after, against, is_golden=False, evidence=evidence
        )


def evidence_of_probe(report: Report, planned: SuitePlan, judge: Judge, generation: str) -> EvidenceDrift | None:
    """How evidence compares with what the store had, for a probe whose verdicts are compared with golden ones, which have none.
    Raises StoreError.
    """
    from pytest_novelty.evidence_drift import compare_evidence, no_evidence

    if no_evidence(planned) is None:
        return None
    return compare_evidence(report.plan, planned, judge, *_read(report, planned, judge, generation).results)


def _read(report: Report, planned: SuitePlan, judge: Judge, generation: str) -> Probed:
    store = open_store(report.plan.settings.store, offline=False)
    try:
        return read_probed(report.plan, planned, judge, store, generation, judged_of(report, planned, judge))
    finally:
        store.close()


def judged_of(report: Report, planned: SuitePlan, judge: Judge) -> set[str]:
    """The instances that this run judged."""
    return {
        result.instance
        for result in report.outcomes
        if (result.judge, result.suite) == (judge.name, planned.suite.name)
    }


def note_left_out(report: Report, pairs: list[tuple[SuitePlan, Judge]], unpaid: int) -> None:
    """Note how many instances of each suite a probe did not judge. ``unpaid``: cases that the run skipped for its budget."""
    missing = [len(planned.instances) - len(judged_of(report, planned, judge)) for planned, judge in pairs]
    why = "because the budget was reached" if unpaid and unpaid == sum(missing) else "in this run"
    for (planned, judge), count in zip(pairs, missing, strict=True):
        if count:
            report.notes.append(
                f"{count} of the {plural(len(planned.instances), 'instance')} of {planned.suite.name} that {judge.name} is "
                f"probed with were not judged {why}, and are not compared"
            )


def _notes(found: Probed, suite: str, judge: str, judged: int) -> Iterator[str]:
    if found.new:
        yield (
            f"{found.new} of {judged} instances of {suite} had no stored verdicts of {judge}: "
            "this probe's are the first, with which the next is compared"
        )
    if found.unpaired:
        votes, instances = plural(found.unpaired, "vote"), plural(found.touched, "instance")
        rest = f"; no vote of {found.apart} of these was answered both times: left out" if found.apart else ""
        yield (
            f"{votes} of {judge} on {instances} of {suite} not compared: the call failed, or was not made, when it was recorded "
            f"or now{rest}"
        )
