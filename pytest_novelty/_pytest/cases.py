"""``novelty_case``: what a test gets, and when it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_novelty.errors import MissingVerdictError, NoveltyError
from pytest_novelty.labels_as_text import write_label
from pytest_novelty.model import ERROR, OK, TIE, TIMEOUT, WRONG, Instance, Outcome, Record, Suite, Variant, Vote
from pytest_novelty.protocols import has_two_labels

if TYPE_CHECKING:
    from pytest_novelty._pytest.session import NoveltySession
    from pytest_novelty.calls import Case
    from pytest_novelty.judges.base import Judge

_MAX_SHOWN = 1500


class NoveltyCase:
    """A judge on an instance. ``outcome()`` asks the judge (or the store) and waits."""

    def __init__(self, session: NoveltySession, case: Case, item: pytest.Item) -> None:
        self._session = session
        self._case = case
        self._item = item
        self._outcome: Outcome | None = None
        self._failed: list[Record] = []

    def __repr__(self) -> str:
        return f"<NoveltyCase {' '.join(self._case.label)}>"

    @property
    def judge(self) -> Judge:
        return self._case.judge

    @property
    def suite(self) -> Suite:
        return self._case.suite

    @property
    def variant(self) -> Variant:
        return self._case.variant

    @property
    def instance(self) -> Instance:
        return self._case.instance

    def outcome(self) -> Outcome:
        """The aggregate over the instance's votes; waits for them. Called again it is the same."""
        if self._outcome is None:
            self._outcome, self._failed = self._session.judge_case(self._case, self._item)
        return self._outcome

    def check(self) -> None:
        """Fail unless every planned vote came back as a valid verdict (and, with ``--novelty-strict``, the right one).

        An invalid answer fails no case whose suite is gated on ``invalid_rate``; a judge that raised or hung always does.
        """
        __tracebackhide__ = True
        outcome = self.outcome()
        broken = [vote for vote in outcome.failures if vote.status in (ERROR, TIMEOUT)]
        if broken or (outcome.failures and not self._session.gates_invalid_rate(self._case)):
            pytest.fail(self._describe(broken or list(outcome.failures)), pytrace=False)
        if self._session.strict and outcome.result in (WRONG, TIE):
            said, gold = (self._name(label) for label in (outcome.label, outcome.gold))
            said = f"{self._case.judge.name} says {said}, gold is {gold}"
            pytest.fail(plain(f"{outcome.result}: {said}. {outcome.reason}"), pytrace=False)

    def _name(self, label: str | None) -> str:
        """A partition of papers as ``{a b} {c d}``, as everywhere; a label of any other protocol in quotes."""
        protocol = self._case.protocol
        return repr(label) if has_two_labels(protocol.name) else write_label(label, protocol)

    def _describe(self, failures: list[Vote]) -> str:
        planned = self._case.planned_calls
        head = f"{len(failures)} of {planned} answers of {self._case.judge.name} are not valid verdicts"
        lines = [head]
        for record in self._failed[:3]:
            order = "" if record.order is None else f"order {record.order}, "
            lines.append(f"  {order}vote {record.sample + 1}: {record.status} ({record.kind}): {record.message}")
            if record.raw:
                lines.append(f"    answer: {record.raw[:_MAX_SHOWN]}{'...' if len(record.raw) > _MAX_SHOWN else ''}")
        return plain("\n".join(lines))


def plain(text: str) -> str:
    """A text that any terminal, JUnit file or xdist channel takes: lone surrogates become escapes."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


LETTERS = {
    "correct": "c",
    "wrong": "w",
    "tie": "t",
    "abstained": "a",
    "invalid": "i",
    "incomplete": "i",
    "unlabelled": "u",
}
"""What an outcome is, in one letter of the report attribute."""


def letter_of(outcome: Outcome) -> str:
    return "i" if any(vote.status != OK for vote in outcome.votes) else LETTERS[outcome.result]


class SaidOnce:
    """What stops a judge is the same for every case that is left: the first says it, the others name the first."""

    def __init__(self) -> None:
        self._first: dict[str, str] = {}

    def tell(self, problem: NoveltyError, who: str) -> str:
        text = plain(str(problem))
        if isinstance(problem, MissingVerdictError):  # of one case, though it may read alike
            return text
        first = self._first.setdefault(text, who)
        return text if first == who else f"not judged, for the same reason as {first}"
