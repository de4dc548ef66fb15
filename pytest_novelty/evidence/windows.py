"""Where in a text a piece of a quotation may lie: its 5-grams that the text has vote for the place where it would begin."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from pytest_novelty.evidence.folding import encode

if TYPE_CHECKING:
    import numpy as np

    Hashes = np.ndarray[Any, np.dtype[np.uint16]]

_GRAM: Final = 5
_SEEDS: Final = 48
_VOTES: Final = 0.15
"""The share of a piece's grams that a window must have; with every seventh letter wrong a piece keeps more."""

_WINDOWS: Final = 8
_MARGIN: Final = 8
_CHUNK: Final = 1 << 13


def hash_grams(letters: str) -> Hashes:
    """A 16-bit hash of each 5-gram; collisions cost a vote for a wrong window, no more."""
    import numpy as np

    codes = encode(letters)
    hashes = np.zeros(max(len(codes) - _GRAM + 1, 0), dtype=np.uint16)
    for start in range(0, len(hashes), _CHUNK):  # so that nothing leaves the processor's cache
        part = codes[start : start + _CHUNK + _GRAM - 1].astype(np.uint32)
        count = len(part) - _GRAM + 1
        mixed = part[:count].copy()
        for offset in range(1, _GRAM):
            mixed *= np.uint32(0x01000193)
            mixed ^= part[offset : offset + count]
        mixed *= np.uint32(0x9E3779B1)
        hashes[start : start + count] = mixed >> np.uint32(16)
    return hashes


def find_windows(letters: str, text: Hashes, begin: int) -> Iterator[tuple[int, int]]:
    """Slices of a text's letters, from ``begin`` on, in which a piece with these letters may lie, most votes first. The text is
    given by the hashes of its 5-grams.
    """
    import numpy as np

    size = len(letters)
    grams = hash_grams(letters)
    if not grams.size or not text.size:
        return
    offsets = np.arange(0, len(grams), max(1, len(grams) // _SEEDS))
    table = np.zeros(1 << 16, dtype=np.uint16 if size < 1 << 16 else np.uint32)
    table[grams[offsets]] = offsets + 1
    met = table.take(text[begin:])
    spots = np.flatnonzero(met != 0)
    if not spots.size:
        return
    # Where the piece would begin by each of its grams, moved up so that it is never negative.
    shifts = spots - met[spots].astype(np.int64) + 1 + size
    width = max(16, size // 4)
    votes = np.bincount(shifts // width, minlength=2)
    votes = votes + np.append(votes[1:], 0)
    needed = max(2, _VOTES * len(offsets))
    order = np.argsort(-votes, kind="stable")[: 3 * _WINDOWS]
    taken: list[int] = []
    for bucket in order[votes[order] >= needed].tolist():
        if len(taken) == _WINDOWS:
            return
        if any(abs(bucket - other) < 2 for other in taken):
            continue
        taken.append(bucket)
        own = shifts[(shifts >= bucket * width) & (shifts < (bucket + 2) * width)]
        low, high = int(own.min()) - size + begin, int(own.max()) + begin
        yield max(low - _MARGIN, begin), min(high + _MARGIN, len(text) + _GRAM - 1)
