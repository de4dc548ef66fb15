"""What tokens cost: as the judge file says, else by litellm's table if litellm is installed, else unknown."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

_TABLE: Final = "model_prices_and_context_window_backup.json"
_ENDS_A_NAME: Final = ("-", ":", "@")
"""Not a point: gpt-4.5 is no kind of gpt-4. Not a slash: what stands before it is a provider, and no model."""


class Tokens(NamedTuple):
    """Of one call. ``input`` contains ``cached``, ``output`` contains ``reasoning``; None where the server does not say."""

    input: int | None = None
    output: int | None = None
    cached: int | None = None
    reasoning: int | None = None

    def plus(self, other: Tokens) -> Tokens:
        pairs = zip(self, other, strict=True)
        return Tokens(*(one if two is None else two if one is None else one + two for one, two in pairs))


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars per token."""

    input: float
    output: float
    cached_input: float

    @classmethod
    def per_million(cls, input: float, output: float, cached_input: float | None = None) -> Price:
        return cls(input / 1e6, output / 1e6, (input if cached_input is None else cached_input) / 1e6)

    @property
    def is_free(self) -> bool:
        return self.input == self.output == self.cached_input == 0

    def cost_usd(self, tokens: Tokens) -> float | None:
        """None where the number of tokens is not known."""
        if tokens.input is None or tokens.output is None:
            return 0.0 if self.is_free else None
        cached = min(tokens.cached or 0, tokens.input)
        return (tokens.input - cached) * self.input + cached * self.cached_input + tokens.output * self.output


def find_price(model: str) -> tuple[Price | None, str]:
    """(price, where it is from) of a model: under its exact id, else under the longest name that its id begins with.

    The table lists many models of ``PROVIDER/MODEL`` without their provider; such a name counts only if it is that provider's:
    ``ollama/gpt-4`` costs nothing of what OpenAI asks for gpt-4. A name that is listed without a price is no reason to take the
    price of a shorter one: then it is unknown.
    """
    table = _table()
    if not table:
        return None, "unknown: give price in a judge file, or install litellm for its table"
    provider, _, rest = model.partition("/")
    begun = [(len(name), True, name) for name in table if _begins(model, name)]
    if provider and rest:
        own = (name for name in table if _begins(rest, name) and _is_of(provider, _entry(table, name)))
        begun += [(len(provider) + 1 + len(name), False, name) for name in own]
    if not begun:
        return None, f"unknown: {model} is not in litellm's table; give price in a judge file"
    length, _, name = max(begun)  # of two as long, the one with its provider
    by = name if length == len(model) else f"by its prefix {name}"
    if (price := _price(_entry(table, name))) is None:
        return None, f"unknown: litellm's table has no price for {name}; give price in a judge file"
    return price, f"litellm's table, {by}"


def _begins(model: str, name: str) -> bool:
    """Whether a name is the model's, or that of what the model is a kind of: gpt-4o of gpt-4o-2024, not gpt-4 of gpt-4o."""
    return model.startswith(name) and (len(model) == len(name) or model[len(name)] in _ENDS_A_NAME)


def _entry(table: Mapping[str, Any], name: str) -> Any:
    """What the table has under a name, or under the one that it is an alias of."""
    entry = table[name]
    alias = entry.get("alias_of") if isinstance(entry, Mapping) else None
    return table.get(alias) if isinstance(alias, str) else entry


def _is_of(provider: str, entry: Any) -> bool:
    """``vertex_ai`` has its models under ``vertex_ai-language-models``, ``openai`` some under ``text-completion-openai``."""
    listed = entry.get("litellm_provider") if isinstance(entry, Mapping) else None
    return isinstance(listed, str) and (listed.startswith(provider) or listed.endswith(f"-{provider}"))


def _price(entry: Any) -> Price | None:
    if not isinstance(entry, Mapping):
        return None
    given, made = entry.get("input_cost_per_token"), entry.get("output_cost_per_token")
    if not isinstance(given, (int, float)) or not isinstance(made, (int, float)):
        return None
    if given == made == 0:
        return None  # a placeholder: that something is free, only its owner can say
    cached = entry.get("cache_read_input_token_cost")
    return Price(float(given), float(made), float(cached if isinstance(cached, (int, float)) else given))


@lru_cache(maxsize=1)
def _table() -> Mapping[str, Any]:
    """litellm's table, read from its file: importing litellm for it would take seconds."""
    spec = importlib.util.find_spec("litellm")
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(folder) / _TABLE
        if path.is_file():
            table: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
            return table
    return {}
