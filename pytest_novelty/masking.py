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


_LIKE_A_KEY: Final = re.compile(
    r"(Bearer |Basic )?("
    r"sk[-_].*"
    r"|(?:pk|rk|gsk|xai|hf|r8|pplx|nvapi|ghp|gho|ghs|github_pat|glpat|xox[abp])[-_](?=[\w-]*\d)[\w-]{16,}"
    r"|AIza[\w-]{30,}|AKIA[0-9A-Z]{16}|eyJ[\w-]{10,}\.[\w.-]+"
    r"|[0-9a-f]{32,}|(?=\w*\d)(?=\w*[a-z])(?=\w*[A-Z])[A-Za-z0-9]{24,}"
    r")",
    re.DOTALL,
)


def is_like_a_key(text: str) -> bool:
    """Whether a text is a key written where something else belongs: by the beginnings that services give to theirs, else as a
    long run of letters and digits, which no name is.
    """
    return _LIKE_A_KEY.fullmatch(text.strip()) is not None


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
