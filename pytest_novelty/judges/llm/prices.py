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
_ENDS_A_NAME: Final = ("-", ":", "@", "/")
"""Not a point: gpt-4.5 is no kind of gpt-4."""


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
    """(price, where it is from) of a model: under its exact id, else under the longest name that its id begins with."""
    table = _table()
    if not table:
        return None, "unknown: give price in a judge file, or install litellm for its table"
    names = [model, model.partition("/")[2]] if "/" in model else [model]
    for name in names:
        if (price := _price(table.get(name))) is not None:
            return price, f"litellm's table, {name}"
    for name in names:
        begun = [key for key in table if name.startswith(key) and name[len(key) :].startswith(_ENDS_A_NAME)]
        if priced := [key for key in begun if _price(table[key]) is not None]:
            longest = max(priced, key=len)
            return _price(table[longest]), f"litellm's table, by its prefix {longest}"
    return None, f"unknown: {model} is not in litellm's table; give price in a judge file"


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
