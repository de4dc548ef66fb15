"""Canonical JSON and short digests: one encoding for the store, the keys and the wire between processes.

``ensure_ascii`` is deliberate: an answer may contain a lone surrogate, which UTF-8 cannot encode; as ``\\udXXX`` it
survives SQLite, xdist and a digest alike.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

_encode = json.JSONEncoder(
    ensure_ascii=True, sort_keys=True, separators=(",", ":"), allow_nan=False, default=None
).encode


def canonical_json(value: Any) -> str:
    """ASCII JSON with sorted keys and no white space. Raises TypeError or ValueError for what JSON cannot say."""
    return _encode(value)


def digest(text: str, size: int = 16) -> str:
    """Hexadecimal BLAKE2b of ASCII text, ``size`` bytes (``2 * size`` characters)."""
    return hashlib.blake2b(text.encode("ascii", "backslashreplace"), digest_size=size).hexdigest()


def digest_of(value: Any, size: int = 16) -> str:
    """Digest of a JSON value, independent of key order."""
    return digest(canonical_json(value), size)


def seed_source(*parts: object) -> bytes:
    """What seeds derive from: every part counts, nothing else does (not ``random``, not the process)."""
    return "\x1f".join(map(str, parts)).encode("utf-8", "surrogatepass")


def derive_seed(source: bytes, sample: int) -> int:
    """The seed, in [0, 2**32), of the ``sample``-th draw from a source."""
    return int.from_bytes(hashlib.blake2b(b"%b\x1f%d" % (source, sample), digest_size=4).digest(), "big")


def opaque_id(suite: str, instance: str) -> str:
    """The ``Request.instance_id`` of an instance: tells a judge nothing, is the same in every run."""
    return digest_of([suite, instance], 8)
