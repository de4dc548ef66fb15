"""Comparisons with recorded verdicts in a terminal: lines that nothing breaks, and how to accept what is right."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_novelty.changes import PROMPT, SERVED, SUITE
from pytest_novelty.deciding import FAIL, INCONCLUSIVE, NOT_ENFORCED, PASS
from pytest_novelty.drifting import DRIFTED, SAME, UNTOLD, WITHIN, Differing, Drift
from pytest_novelty.reports.drift import drift_lines, how_to_accept


def drift(verdict: str = DRIFTED, decision: str = FAIL, **more: Any) -> Drift:
    return Drift("mine", "made", "golden/made.mine.txt", verdict, decision, ("found; as said",), **more)


def shown(item: Drift, width: int = 80, colour: bool = False) -> list[str]:
    from rich.console import Console

    stream = io.StringIO()
    console = Console(file=stream, width=width, highlight=False, legacy_windows=False)
    report: Any = SimpleNamespace(drifts=[item])
    for line in drift_lines(report, width, colour):
        console.print(line)
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_rows_stand_below_their_headings_and_labels_first() -> None:
    differing = [Differing(f"i{k:02}", "x (3:0)", "x (2:1)", False) for k in range(16)]
    differing[9] = Differing("i09", "x (3:0)", "y (1:2)", True)
    lines = shown(drift(differing=tuple(differing)), width=100)
    assert lines[1:3] == ["mine on made, compared with golden/made.mine.txt: FAILS", "  found; as said"]
    assert lines[3].startswith("  instance  before   after")
    assert lines[4:6] == ["  i09       x (3:0)  y (1:2)", "  i00       x (3:0)  x (2:1)"]
    assert lines[-2] == "  ... and 1 verdict more"
    assert len(lines) == 4 + 15 + 2
    assert not any("more" in line for line in shown(drift(differing=tuple(differing[:15])), width=100))
    advised = shown(drift(differing=tuple(differing[:1])), width=60)[-2:]
    assert [line[:3] for line in advised] == ["  i", "  h"]  # all of its lines are indented


@pytest.mark.parametrize("colour", [False, True])
@pytest.mark.parametrize("width", [60, 80])
def test_long_ids_and_labels_are_not_broken(width: int, colour: bool) -> None:
    name = "agreement-game-piunlimited-computation-on-ciphertexts.2"
    sides = ("xaecb04 (ab 3:0, ba 3:0)", "x47acd2 (ab 0:3, ba 0:3)")
    lines = shown(drift(differing=(Differing(name, *sides, True),)), width, colour)
    assert lines[3:6] == [f"  {name}", f"    before {sides[0]}", f"    after  {sides[1]}"]


def test_of_long_partitions_the_end_is_shown() -> None:
    sides = [
        " ".join(f"{{surname{k}1999 {last if k == 4 else 'other'}{k}2001}}" for k in range(5))
        for last in ("one", "two")
    ]
    lines = shown(drift(differing=(Differing("i1", f"{sides[0]} (ab 3)", f"{sides[1]} (ab 3)", True),)), width=200)
    assert lines[-3:-1] == [f"    before {sides[0]} (ab 3)", f"    after  {sides[1]} (ab 3)"]


RECORD = "if that is right, record it with {}, and have the file reviewed as any change"
BOTH = RECORD.format("--novelty-refresh --snapshot-update, without --novelty-probe")
UPDATE = RECORD.format("--snapshot-update")
PROBED_SUITE = RECORD.format("--snapshot-update, without --novelty-probe")
STORE = "if that is right, ask all anew for the store: --novelty-refresh, without --novelty-probe"


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (drift(), UPDATE),
        (drift(UNTOLD, INCONCLUSIVE), UPDATE),
        (drift(SAME, PASS, changes=((PROMPT, "the prompt changed"),)), UPDATE),
        (drift(SAME, PASS, unrecorded=("i1",)), UPDATE),
        (drift(WITHIN, PASS), ""),
        (drift("nothing compared", NOT_ENFORCED), ""),
        (drift(SAME, PASS, changes=((PROMPT, "the prompt changed"),), recorded=True), ""),
        (drift(probed=True), BOTH),
        (drift(UNTOLD, INCONCLUSIVE, probed=True), BOTH),
        (drift(SAME, PASS, changes=((SERVED, "another model answered"),), probed=True), BOTH),
        (drift(SAME, FAIL, changes=((SUITE, "the suite changed"),), probed=True), PROBED_SUITE),
        (drift(probed=True, is_golden=False), STORE),
        (drift(UNTOLD, INCONCLUSIVE, probed=True, is_golden=False), STORE),
        (drift(SAME, PASS, changes=((SERVED, "another model answered"),), probed=True, is_golden=False), STORE),
        (drift(WITHIN, PASS, probed=True, is_golden=False), ""),
    ],
)
def test_what_accepts_a_change_is_named(item: Drift, said: str) -> None:
    assert how_to_accept(item) == said
    assert shown(item, 200)[2:] == ["  found; as said", *([f"  {said}"] if said else [])]
