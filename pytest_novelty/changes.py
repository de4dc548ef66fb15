"""What changed between two recordings of a judge besides its verdicts: (kind, sentence) of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from pytest_novelty.golden import ALWAYS, Head
from pytest_novelty.judges.base import Judge
from pytest_novelty.model import Json

RENAMED: Final = "judge renamed"
JUDGE: Final = "judge changed"
PROMPT: Final = "prompt changed"
MODEL: Final = "another model asked"
SERVED: Final = "another model served"
INDEX: Final = "index changed"
PARAMETERS: Final = "parameters changed"
SUITE: Final = "suite changed"

_NAMED: Final = 5


def changes_of(before: Head, after: Head, judge: Judge) -> list[tuple[str, str]]:
    """What the heads of two recordings say of the reason, the finer before the coarser."""
    found: list[tuple[str, str]] = []

    def add(kind: str, key: str, words: str) -> None:
        if before.get(key) != after.get(key):
            found.append((kind, f"{words}: {_value(before.get(key))} -> {_value(after.get(key))}"))

    add(RENAMED, "judge", "the judge has another name")
    add(PROMPT, "prompt", "the prompt changed")
    add(MODEL, "model", "another model is asked")
    told = {"judge", "version", "prompt", "model", "served", "index"}
    names = [name for name in (*before, *after) if name not in told and (name in before or name not in ALWAYS)]
    settings = [name for name in dict.fromkeys(names) if before.get(name) != after.get(name)]
    if settings:
        listed = ", ".join(f"{name} {_value(before.get(name))} -> {_value(after.get(name))}" for name in settings)
        found.append((PARAMETERS, f"parameters changed: {listed}"))
    explained = before.get("model") != after.get("model") or any(name.startswith("asked ") for name in settings)
    if not explained:  # a model's version is a digest of how it is asked
        words = "the judge's code was edited (its version is a digest of the file)" if judge.version_is_digest else ""
        add(JUDGE, "version", words or "the judge changed its version")
    served, recorded = set(after.get("served") or ()), set(before.get("served") or ())
    if recorded and served - recorded:
        same = "under the same name" if before.get("model") == after.get("model") else "too"
        found.append(
            (SERVED, f"another model answered, {same}: {', '.join(sorted(recorded))} -> {', '.join(sorted(served))}")
        )
    add(INDEX, "index", "the index that it searches changed")
    return found


def _value(value: Json) -> str:
    return "none" if value is None else value if isinstance(value, str) else str(value)


def suite_sentence(added: Sequence[str], reworded: Sequence[str], removed: Sequence[str]) -> str:
    """Which instances a suite gained, changed and lost."""
    parts = [
        f"{len(names)} {word} ({', '.join(names[:_NAMED])}{', ...' if len(names) > _NAMED else ''})"
        for word, names in (("added", added), ("reworded", reworded), ("removed", removed))
        if names
    ]
    return f"the suite changed: {', '.join(parts)}"
