"""What the server is to do: plain data, which goes to it as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .behaviours import parse_behaviour
from .verdicts import RULES

Plan = str | Sequence[str]
"""One behaviour for good, or a list of behaviours for the first so many requests, after which nothing is planned."""

PARAMETERS = ("response_format", "temperature", "seed", "max_tokens", "reasoning_effort")


@dataclass(frozen=True)
class Settings:
    """All optional. A chat request is first held against what a real server would refuse (``key``, ``models``,
    ``unsupported``, ``strict_schema``, ``requests_per_minute``). Then the first of these that has something planned for it
    says what happens, else it gets a good answer.

    Attributes
    ----------
    when: by what the prompt contains: text -> plan.
    script: for the first requests that the server receives, in their order.
    each: for the first tries of every distinct request (``["500"]``: each fails once, then works).
    rates: behaviour -> its probability. Drawn from ``seed``, the request's content and how often it came before, so that
        the same requests fare the same in whatever order they arrive.

    verdict: what good answers say: a rule of ``verdicts.RULES``, or text -> whether the idea that has it is novel.
    latency_s: seconds before an answer begins, or (lowest, highest), drawn like ``rates``.
    key: the API key that is required.
    models: the models there are; None: any.
    served: the model that answers name: a name, or a mapping of names to the request (from 0) that is the first they
        serve; None: the one asked for.
    unsupported: parameters (of ``PARAMETERS``) that are refused with 400. A temperature of 1 never is.
    strict_schema: refuse a strict schema that does not require all its keys and forbid others, as the OpenAI API does.
    requests_per_minute, minute_s: the limit that is enforced with 429 over a sliding window of ``minute_s`` seconds; what
        exceeds it is recorded as a violation.
    usage: token counts that answers report instead of counted ones: ``prompt_tokens``, ``completion_tokens``,
        ``cached_tokens``, ``reasoning_tokens``.
    """

    when: Mapping[str, Plan] = field(default_factory=dict)
    script: Sequence[str] = ()
    each: Sequence[str] = ()
    rates: Mapping[str, float] = field(default_factory=dict)
    seed: int = 0
    verdict: str | Mapping[str, bool] = "hash"
    latency_s: float | Sequence[float] = 0.0
    key: str | None = None
    models: Sequence[str] | None = None
    served: str | Mapping[str, int] | None = None
    unsupported: Sequence[str] = ()
    strict_schema: bool = False
    requests_per_minute: int | None = None
    minute_s: float = 60.0
    usage: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """A misspelt behaviour must not make a test pass: raises ValueError."""
        for written in self._behaviours():
            parse_behaviour(written)
        if isinstance(self.verdict, str) and self.verdict not in RULES:
            raise ValueError(f"no verdict rule is called {self.verdict!r}; known: {', '.join(RULES)}")
        if unknown := set(self.unsupported) - set(PARAMETERS):
            raise ValueError(f"{min(unknown)!r} is none of {', '.join(PARAMETERS)}")
        if sum(self.rates.values()) > 1:
            raise ValueError("the rates add up to more than 1")

    def _behaviours(self) -> Iterator[str]:
        for plan in self.when.values():
            yield from [plan] if isinstance(plan, str) else plan
        yield from (*self.script, *self.each, *self.rates)

    def as_json(self) -> dict[str, Any]:
        """What differs from the defaults."""
        return {
            name: getattr(self, name)
            for name, default in _DEFAULTS.items()
            if getattr(self, name) != default
        }  # fmt: skip


_DEFAULTS = {item.name: getattr(Settings(), item.name) for item in dataclasses.fields(Settings)}
