"""Values of environment variables named like a key, a token or a secret never reach a store, a report or a terminal."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache
from typing import Final
from urllib.parse import quote, quote_plus

from pytest_novelty.model import Json

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
    """A function that replaces every secret value of ``environment`` (default: ``os.environ``), and ``secrets``, in a text.

    However it is spelled there: as JSON, URLs, base64 and hexadecimal digits spell it, or several of them in turn.
    """
    source = os.environ if environment is None else environment
    values = {
        value
        for name, value in source.items()
        if _NAMED_LIKE_A_SECRET.search(name) and len(value) >= _MIN_LENGTH and not os.path.exists(value)  # noqa: PTH110 - may hold what Path refuses
    }
    values.update(secret for secret in secrets if secret)  # declared ones, however short
    values |= {word for value in values for word in value.split() if len(word) >= _MIN_LENGTH}  # "Bearer KEY", "KEY "
    if not values:
        return lambda text: text
    long = {value for value in values if len(value) >= _MIN_LENGTH}
    values |= {spelling for value in values for spelling in _encoded(value)}
    values |= {spelling for value in long for spelling in _digits(value)}
    once = {json.dumps(value)[1:-1] for value in values}  # as in a JSON text, and as in a JSON text inside one
    plain = _Spellings({*values, *once, *(json.dumps(value)[1:-1] for value in once)})
    levels = [{spelling for value in long for spelling in (value, *_encoded(value), *_digits(value))}]
    for _ in range(_LEVELS):
        levels.append({_unescaped(spelling) for spelling in levels[-1]})
    escaped = [_Spellings({each for each in level if len(each) >= _MIN_LENGTH}) for level in levels[1:]]

    def mask(text: str) -> str:
        if plain.are_in(text):
            text = plain.pattern.sub(MASK, text)
        return _mask_escaped(text, escaped) if _has_escapes(text) else text

    return mask


def mask_all(value: Json, mask: Callable[[str], str]) -> Json:
    """A value with every text in it masked, and every number that is a secret's."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        return {mask(name): mask_all(item, mask) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [mask_all(item, mask) for item in value]
    if value is None or isinstance(value, bool):
        return value
    masked = mask(repr(value))
    return value if masked == repr(value) else masked


class _Spellings:
    """Texts to find. ``in`` is many times as fast as a pattern, which is made when there is something to replace."""

    def __init__(self, spellings: Iterable[str]) -> None:
        self._spellings = sorted(spellings, key=lambda spelling: (-len(spelling), spelling))

    def are_in(self, text: str) -> bool:
        for spelling in self._spellings:  # noqa: SIM110 - every answer passes here, and a generator takes twice as long
            if spelling in text:
                return True
        return False

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile("|".join(map(re.escape, self._spellings)))


def _encoded(value: str) -> set[str]:
    """As in a URL, and as in a header of basic authorization."""
    plain = value.encode("utf-8", "surrogateescape")
    return {
        quote(plain, safe=""),
        quote_plus(plain),
        base64.b64encode(plain).decode(),
        base64.urlsafe_b64encode(plain).decode(),
    }


def _digits(value: str) -> set[str]:
    """As hexadecimal digits, and as base64 of a longer text that contains it (``user:KEY``, ``Bearer KEY``).

    There it stands in one of three ways; the digits at either end that depend on what is beside it are left out.
    """
    plain = value.encode("utf-8", "surrogateescape")
    found = {plain.hex(), plain.hex().upper()}
    for before in range(3):
        first, end = -(-before * 8 // 6), (before + len(plain)) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            found.add(encode(bytes(before) + plain).decode()[first:end])
    found |= {encode(plain).decode().rstrip("=") for encode in (base64.b64encode, base64.urlsafe_b64encode)}
    return found


_LEVELS: Final = 2
"""Escapes within escapes that are looked through, such as JSON in a URL. Any number of one kind within itself is one level."""

_ESCAPE: Final = re.compile(r"%(?:25)*([0-9A-Fa-f]{2})|\\+(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([\"'/bfnrt]))?")
_SHORT: Final = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


@lru_cache(maxsize=1024)
def _character(escape: str) -> str:
    """What an escape stands for. Bytes of a longer character stay, in one spelling: secrets are read in the same way."""
    found = _ESCAPE.fullmatch(escape)
    byte, wide, narrow, short = found.groups() if found else (None,) * 4
    if byte is not None:
        return chr(int(byte, 16)) if byte < "8" else f"%{byte.upper()}"
    if short is not None:
        return _SHORT.get(short, short)
    code = wide or narrow
    return "\\" if code is None else chr(int(code, 16))


def _unescaped(text: str) -> str:
    return _ESCAPE.sub(lambda found: _character(found[0]), text)


def _has_escapes(text: str) -> bool:
    """Others than an ordinary JSON text's quotation marks and line breaks, which are among the spellings of a secret anyway."""
    return "%" in text or "\\u" in text or "\\/" in text or "\\\\" in text or "\\x" in text


def _mask_escaped(text: str, levels: Sequence[_Spellings]) -> str:
    """Mask what is a secret once the escapes are read, and leave every other escape as it is."""
    seen = text
    for depth, secrets in enumerate(levels, 1):
        read = _unescaped(seen)
        if secrets.are_in(read):
            text = _cut_out(text, depth, secrets.pattern)
            read = text
            for _ in range(depth):
                read = _unescaped(read)
        if not _has_escapes(read):
            break
        seen = read
    return text


def _cut_out(text: str, depth: int, pattern: re.Pattern[str]) -> str:
    seen, spans = text, [(at, at + 1) for at in range(len(text))]
    for _ in range(depth):
        parts: list[str] = []
        placed: list[tuple[int, int]] = []
        done = 0
        for escape in _ESCAPE.finditer(seen):
            character = _character(escape[0])
            parts += [seen[done : escape.start()], character]
            placed += spans[done : escape.start()]
            placed += [(spans[escape.start()][0], spans[escape.end() - 1][1])] * len(character)
            done = escape.end()
        seen, spans = "".join([*parts, seen[done:]]), [*placed, *spans[done:]]
    kept: list[str] = []
    done = 0
    for found in pattern.finditer(seen):
        first, last = spans[found.start()], spans[found.end() - 1]
        kept += [text[done : max(done, first[0])], MASK]
        done = last[1]
    return "".join([*kept, text[done:]])


def shorten(text: str, limit: int) -> str:
    """The beginning of a text that is not masked yet, cut between two words: half a key would not be recognised."""
    if len(text) <= limit:
        return text
    head = text[:limit].rpartition(" ")[0]
    return f"{head}..."
