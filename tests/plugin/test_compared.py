"""A comparison with recorded verdicts is a gate like any other in all that is said of gates, and a probe's header tells what it has."""

from __future__ import annotations

import pytest

from .making import Lab, Ran

_JUDGE = """
    def judge(request):
        log(request)
        return right(request) if not (HERE / "turned").exists() else {"novel": not right(request)["novel"]}
    judge.version = "1"
    judge.deterministic = True
    def pytest_novelty_judges():
        return {"judge": judge}
"""


@pytest.fixture(autouse=True)
def _judge(lab: Lab) -> None:
    lab.judges(_JUDGE)
    lab.suite(n=10, votes=1, gates=["invalid_rate@point<=0"])


def said_of_gates(lab: Lab, ran: Ran) -> tuple[str, str, str]:
    """(the end of the headline's first sentence, the same in Markdown, the line on gates there)."""
    _, _, end = ran.report["headline"].partition(". ")[0].rpartition("; ")
    assert f"; {end}." in " ".join(ran.plain.split())
    lines = (lab.path / "out.md").read_text().splitlines()
    (gates,) = [line for line in lines if line.startswith("**Gates:**")]
    return end, lines[2].rpartition("; ")[2].removesuffix("."), gates


def test_golden_verdicts_count_among_the_gates(lab: Lab, dist: str) -> None:
    markdown = "--novelty-report=out.md"
    recorded = lab.judge("judge", "small", "-p", "syrupy", "--snapshot-update", markdown)
    assert said_of_gates(lab, recorded) == ("passes its gate",) * 2 + ("**Gates:** 1 passes",)
    same = lab.judge("judge", "small", markdown, dist=dist)
    assert said_of_gates(lab, same) == ("passes all 2 gates",) * 2 + ("**Gates:** 2 passes",)
    part = lab.judge("judge", "small", markdown, "-k", "i001")
    assert "Gates: 1 of 2 are not enforced: " in part.plain
    (lab.path / "turned").touch()
    turned = lab.judge("judge", "small", markdown, "--novelty-refresh", dist=dist)
    fails = "fails the comparison with its golden verdicts"
    assert turned.ret == 1
    assert said_of_gates(lab, turned) == (fails, fails, "**Gates:** 1 FAILS, 1 passes")


def test_a_probe_tells_what_is_stored_and_how_it_compares(lab: Lab, dist: str) -> None:
    lab.judge()
    dry = lab.judge("judge", "small", "--novelty-probe=5", "--novelty-dry-run", dist=dist)
    same = lab.judge("judge", "small", "--novelty-probe=5", "--novelty-report=out.md", dist=dist)
    for ran in (dry, same):
        assert "; stored on it: 10 verdicts of this judge, whatever the settings" in " ".join(ran.plain.split())
    assert "judge on small: 5 calls, all asked past the store, " in dry.plain
    assert said_of_gates(lab, same) == ("passes its gate",) * 2 + ("**Gates:** 1 passes",)
    (lab.path / "turned").touch()
    turned = lab.judge("judge", "small", "--novelty-probe=5", "--novelty-report=out.md", dist=dist)
    fails = "fails the comparison with its stored verdicts"
    assert said_of_gates(lab, turned) == (fails, fails, "**Gates:** 1 FAILS")
