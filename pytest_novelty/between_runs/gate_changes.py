"""What became of the gates: decided otherwise, loosened or tightened, there then only or now only."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_novelty.between_runs.reading import SavedGate, SavedReport
from pytest_novelty.deciding import FAIL, PASS
from pytest_novelty.metrics.grounded import hears_auditor
from pytest_novelty.printing import name_some

LOOSENED: Final = "loosened"
TIGHTENED: Final = "tightened"
ALTERED: Final = "decided another way"
"""By the value alone, or by the interval again: this is neither more nor less to ask."""
REMOVED: Final = "removed"
ADDED: Final = "added"
HOW: Final = (LOOSENED, REMOVED, ALTERED, TIGHTENED, ADDED)


@dataclass(frozen=True)
class GateChange:
    """A gate that is another one now, or whose decision is.

    ``gate``, ``before``: as it is written now and was written then, one of them empty where it is on one side only. ``old``,
    ``new``: its decisions, None where it is not there. ``how``: one of ``HOW``, or empty for the same gate.
    ``audited_otherwise``: it is on what an auditor says, and the two runs did not have the same one.
    """

    judge: str
    suite: str
    gate: str
    before: str
    old: str | None
    new: str | None
    how: str = ""
    audited_otherwise: bool = False

    @property
    def worse(self) -> bool:
        """It fails, and passed or was not asked for. One that was undecided and fails may be so by chance; one that another
        auditor decides says nothing of the judge then.
        """
        return not self.audited_otherwise and self.new == FAIL and self.old in (PASS, None)

    @property
    def called(self) -> str:
        """With what it was where it is another one."""
        if not (self.gate and self.before) or not self.how:
            return self.gate or self.before
        return f"{self.gate} ({self.how}, {self.before} then)"

    @property
    def clause(self) -> str:
        """What a regression is called."""
        what = "is new and fails" if self.old is None else "passed and fails now"
        return f"{self.judge} on {self.suite}: {self.called} {what}"


def gate_changes(
    old: SavedReport,
    new: SavedReport,
    suites: Sequence[str],
    judges: Iterable[tuple[str, str]],
    audited_otherwise: Container[tuple[str, str]] = (),
) -> list[GateChange]:
    """Of the suites and the judges (now, then) that are in both reports, as the new report has its gates, what is gone last.
    ``audited_otherwise``: (judge now, suite) whose auditors are not the same.
    """
    found: list[GateChange] = []
    for judge, before in judges:
        for suite in suites:
            then, now = old.gates.get((before, suite), ()), new.gates.get((judge, suite), ())
            for one, other in _pairs(then, now):
                how = _how(one, other)
                if how or (one and other and one.decision != other.decision):
                    found.append(
                        GateChange(
                            judge,
                            suite,
                            other.text if other else "",
                            one.text if one else "",
                            one.decision if one else None,
                            other.decision if other else None,
                            how,
                            (judge, suite) in audited_otherwise
                            and any(hears_auditor(gate.metric) for gate in (one, other) if gate),
                        )
                    )
    return found


def _pairs(
    then: Iterable[SavedGate], now: Iterable[SavedGate]
) -> Iterator[tuple[SavedGate | None, SavedGate] | tuple[SavedGate, None]]:
    """Each gate with itself, however it is written; then with the one on the same quantity that is nearest in the order of
    thresholds; then alone.
    """
    left = list(then)
    unpaired: list[SavedGate] = []
    for gate in now:
        same = next((one for one in left if one.demand == gate.demand), None)
        if same is None:
            unpaired.append(gate)
        else:
            left.remove(same)
            yield same, gate
    by_quantity: dict[tuple[object, ...], list[SavedGate]] = {}
    for gate in sorted(left, key=lambda one: one.threshold):
        by_quantity.setdefault(gate.quantity, []).append(gate)
    for gate in sorted(unpaired, key=lambda one: one.threshold):
        own = by_quantity.get(gate.quantity)
        yield (own.pop(0) if own else None), gate
    for own in by_quantity.values():
        yield from ((gate, None) for gate in own)


def _how(then: SavedGate | None, now: SavedGate | None) -> str:
    if then is None or now is None:
        return ADDED if then is None else REMOVED
    if then.threshold != now.threshold:
        return LOOSENED if (now.threshold > then.threshold) == now.upper else TIGHTENED
    if then.op != now.op:
        return TIGHTENED if now.op in ("<", ">") else LOOSENED
    return ALTERED if then.point != now.point else ""


def gate_notes(found: Sequence[GateChange], judges: int) -> Iterator[str]:
    """Which gates are not the same: a line a suite and kind; judges are named where it is not so with all of the ``judges``."""
    grouped: dict[tuple[str, str, str], list[str]] = {}
    for change in found:
        if change.how:
            text = f"{change.before}, now {change.gate}" if change.gate and change.before else change.called
            own = grouped.setdefault((change.suite, change.how, text), [])
            own += [change.judge] if change.judge not in own else []
    lines: dict[tuple[str, str], list[str]] = {}
    for (suite, how, text), own in grouped.items():
        place = suite if len(own) == judges else f"{', '.join(own)} on {suite}"
        lines.setdefault((place, how), []).append(text)
    for (place, how), texts in lines.items():
        yield f"{place}: {'gate' if len(texts) == 1 else 'gates'} {how}: {name_some(texts, '; ')}"


def count_changed(found: Iterable[GateChange]) -> str:
    """A sentence for the headline, of gates that are not the same; empty if all are."""
    places: Mapping[str, set[tuple[str, str, str]]] = {how: set() for how in HOW}
    for change in found:
        if change.how:
            places[change.how].add((change.suite, change.gate, change.before))
    told = [f"{len(own)} {how}" for how, own in places.items() if own]
    return f"The gates are not the same: {', '.join(told)}." if told else ""
