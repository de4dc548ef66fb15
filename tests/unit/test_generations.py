"""What a probe asks past the store: whole instances, and only those that have an answer."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any

from pytest_novelty.calls import Call, Case
from pytest_novelty.generations import later_key, past_store
from pytest_novelty.model import ERROR, OK, TIMEOUT, UNPARSED, Suite


class Held:
    """A store that has a record of each status under a key."""

    def __init__(self, statuses: dict[str, str]) -> None:
        self._statuses = statuses

    def get(self, keys: Iterable[str]) -> dict[str, Any]:
        return {key: SimpleNamespace(status=self._statuses[key]) for key in keys if key in self._statuses}


def test_an_instance_with_an_answer_is_asked_whole_and_one_without_as_in_any_run(
    make_suite: Callable[..., Suite], make_case: Callable[..., Case], plan_calls: Callable[..., list[Call]]
) -> None:
    (call, *_) = plan_calls(make_case(make_suite()))

    def row(name: str) -> list[Call]:
        return [call._replace(key=f"{name}{sample}", sample=sample) for sample in range(3)]

    rows = [row("some"), row("none"), row("failed"), row("odd")]
    store: Any = Held(
        {
            "some1": OK,
            **dict(zip((each.key for each in row("failed")), (ERROR, TIMEOUT, ERROR), strict=True)),
            "odd0": UNPARSED,
        }
    )
    begun: set[str] = set()
    found = past_store(rows, store, "g", begun)
    assert [[each.key for each in calls] for calls in found] == [
        [later_key(f"some{sample}", "g") for sample in range(3)],
        ["none0", "none1", "none2"],
        ["failed0", "failed1", "failed2"],
        [later_key(f"odd{sample}", "g") for sample in range(3)],
    ]
    assert begun == {each.key for name in ("none", "failed") for each in row(name)}
    store = Held({"none0": OK})  # an answer of this run
    assert past_store([rows[1]], store, "g", begun) == [rows[1]]
