"""Gates as annotations: their level, their escapes, and no more than a runner shows."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_novelty.reports.annotations import annotation_lines


def gate(decision: str, name: str = "tie_rate<=0.10", message: str = "why", judge: str = "mine") -> dict[str, Any]:
    return {"judge": judge, "suite": "s", "name": name, "decision": decision, "message": message}


def test_what_passes_is_not_told_and_what_fails_comes_first() -> None:
    gates = [gate(decision) for decision in ("not enforced", "pass", "inconclusive", "fail")]
    assert list(annotation_lines(gates)) == [
        "::error title=mine on s%3A tie_rate<=0.10::why",
        "::warning title=mine on s%3A tie_rate<=0.10::why",
        "::notice title=mine on s%3A tie_rate<=0.10::why",
    ]


def test_nothing_in_a_text_is_read_as_a_command() -> None:
    (line,) = annotation_lines([gate("fail", judge="a,b:c%", message="50 %\r\n::set-output name=x::1")])
    assert line == "::error title=a%2Cb%3Cc%25 on s%3A tie_rate<=0.10::50 %25%0D%0A::set-output name=x::1".replace(
        "%3Cc", "%3Ac"
    )


@pytest.mark.parametrize(("count", "lines"), [(10, 10), (11, 10), (40, 10)])
def test_no_more_than_ten_of_a_level(count: int, lines: int) -> None:
    found = list(annotation_lines([gate("fail", name=str(number)) for number in range(count)]))
    assert len(found) == lines
    if count > 10:
        assert found[-1] == f"::error title={count - 9} more gates::see the report"
