"""Values of environment variables named like a key, a token or a secret never reach a store, a report or a terminal."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Final
from urllib.parse import quote, quote_plus

_NAMED_LIKE_A_SECRET: Final = re.compile(r"key|token|secret|passw|credential|(?<![a-z])auth(?!or)", re.IGNORECASE)
_MIN_LENGTH: Final = 8
"""Shorter values ("1", "true", "dev") would mask ordinary words."""

MASK: Final = "[masked]"


def is_named_like_a_secret(name: str) -> bool:
    """``api_key``, ``apiKey``, ``azure_ad_token``; not ``max_tokens``, which counts."""
    return _NAMED_LIKE_A_SECRET.search(name) is not None and not name.endswith("tokens")


def make_mask(environment: Mapping[str, str] | None = None, secrets: Iterable[str] = ()) -> Callable[[str], str]:
    """A function that replaces every secret value of ``environment`` (default: ``os.environ``), and ``secrets``, in a text."""
    source = os.environ if environment is None else environment
    values = {
        value
        for name, value in source.items()
        if _NAMED_LIKE_A_SECRET.search(name) and len(value) >= _MIN_LENGTH and not os.path.exists(value)  # noqa: PTH110 - may hold what Path refuses
    }
    values.update(secret for secret in secrets if secret)  # declared ones, however short
    values |= {word for value in values for word in value.split() if len(word) >= _MIN_LENGTH}  # "Bearer KEY", "KEY "
    values |= {spelling for value in values for spelling in _encoded(value)}
    once = {json.dumps(value)[1:-1] for value in values}  # as in a JSON text, and as in a JSON text inside one
    spellings = {*values, *once, *(json.dumps(value)[1:-1] for value in once)}
    if not spellings:
        return lambda text: text
    pattern = re.compile("|".join(sorted(map(re.escape, spellings), key=len, reverse=True)))
    return lambda text: pattern.sub(MASK, text) if pattern.search(text) else text


def _encoded(value: str) -> set[str]:
    """As in a URL, and as in a header of basic authorization."""
    plain = value.encode("utf-8", "surrogateescape")
    return {
        quote(plain, safe=""),
        quote_plus(plain),
        base64.b64encode(plain).decode(),
        base64.urlsafe_b64encode(plain).decode(),
    }


def shorten(text: str, limit: int) -> str:
    """The beginning of a text that is not masked yet, cut between two words: half a key would not be recognised."""
    if len(text) <= limit:
        return text
    head = text[:limit].rpartition(" ")[0]
    return f"{head}..."
