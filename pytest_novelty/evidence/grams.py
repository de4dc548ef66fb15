"""The set of a text's character 4-grams, built and asked in about the time that it takes to read the text once.

Texts are written in single bytes: ASCII as it is, and up to 126 other characters in the free codes. Four bytes are an integer,
and a table of integers by their hashes is a set. A text with more characters, such as a Chinese one, gets a set of strings.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from pytest_novelty.evidence.folding import encode

if TYPE_CHECKING:
    import numpy as np

    Integers = np.ndarray[Any, np.dtype[Any]]

_BITS: Final = 16
_CHUNK: Final = 1 << 14
_FREE: Final = range(128, 254)
_UNKNOWN: Final = 255
"""Of a character of a piece that the text does not have."""

_SPACES: Final = bytes(code for code in range(128) if chr(code).isspace())
_BLANKED: Final = bytes(32 if code in _SPACES else code for code in range(256))


def is_narrow(text: str) -> bool:
    """The text can be written in single bytes. Not so if it has digits beyond ASCII, or NUL, which marks what is dropped."""
    return "\0" not in text and (text.isascii() or _is_narrow(_foreign(text)))


class NarrowText:
    """A folded text, and the same mended, both without white space.

    mended: the mended text; without it, digits behind letters are taken out of the folded one.
    """

    def __init__(self, folded: str, mended: str | None) -> None:
        self._codes = (
            {}
            if folded.isascii()
            else dict(zip((one for one in _foreign(folded) if not one.isspace()), _FREE, strict=False))
        )
        spaced = self._encode(folded)
        self._spaced = spaced.replace(b"\n", b" ")
        self._is_plain = mended is None
        rest = _blank_glued_digits(spaced) if mended is None else self._encode(mended)
        self._mended = rest.translate(None, _SPACES + b"\0")

    def holds(self, normal: str) -> bool:
        """The text has it; white space in it, single spaces, stands for any."""
        written = self._encode(normal)
        if written in self._spaced:
            return True
        # Mending takes out digits only: without any, what is not in the one is not in the other. This saves most texts the rest.
        undigited = self._is_plain and not any(digit in written for digit in b"0123456789")
        if undigited and written.replace(b" ", b"") not in self._mended:
            return False
        return written in self._normal

    def holds_mended(self, dense: str) -> bool:
        """The mended text has it, white space aside."""
        return self._encode(dense) in self._mended

    def recalls(self, dense: str, share: float) -> bool:
        """At least this share of the 4-grams are in the mended text."""
        needed = share * (len(dense) - 3)
        sure, unsure = self._look_up(self._encode(dense))
        if len(dense) < 4 or sure >= needed or sure + len(unsure) < needed:
            return len(dense) > 3 and sure >= needed
        return sure + sum(gram in self._mended for gram in unsure) >= needed

    def count(self, dense: str) -> int:
        """How many of the 4-grams are in the mended text, each as often as it occurs in ``dense``."""
        sure, unsure = self._look_up(self._encode(dense))
        return sure + sum(gram in self._mended for gram in unsure)

    def _look_up(self, dense: bytes) -> tuple[int, list[bytes]]:
        """How many 4-grams surely are in the text, and those whose place in the table is another's."""
        import numpy as np

        grams = _grams(dense)
        met = self._table[_hash(grams)]
        unsure = np.flatnonzero((met != grams) & (met != 0)).tolist()
        return int((met == grams).sum()), [dense[place : place + 4] for place in unsure]

    @cached_property
    def _normal(self) -> bytes:
        return b" ".join(self._spaced.translate(_BLANKED).split())

    @cached_property
    def _table(self) -> Integers:
        """4-grams by their hashes, of several with the same hash one; 0, which is no 4-gram, where there is none."""
        import numpy as np

        table = np.zeros(1 << _BITS, dtype=np.uint32)
        for start in range(0, len(self._mended), _CHUNK):  # so that nothing leaves the processor's cache
            grams = _grams(self._mended[start : start + _CHUNK + 3])
            table[_hash(grams)] = grams
        return table

    def _encode(self, text: str) -> bytes:
        import numpy as np

        if text.isascii():
            return text.encode("ascii")
        codes = encode(text)
        written = codes.astype(np.uint8)
        foreign = np.flatnonzero(codes > 127)
        met, which = np.unique(codes[foreign], return_inverse=True)
        written[foreign] = np.array([self._code_of(chr(code)) for code in met.tolist()], dtype=np.uint8)[which]
        return written.tobytes()

    def _code_of(self, letter: str) -> int:
        return 32 if letter.isspace() else self._codes.get(letter, _UNKNOWN)


class WideText:
    """A text with more characters than fit: the same with strings, more slowly. ``normal``: with single spaces."""

    def __init__(self, normal: str, mended: str) -> None:
        self._normal = normal
        self._mended = mended

    def holds(self, normal: str) -> bool:
        """The text has it; white space in it, single spaces, stands for any."""
        return normal in self._normal

    def holds_mended(self, dense: str) -> bool:
        """The mended text has it, white space aside."""
        return dense in self._mended

    def recalls(self, dense: str, share: float) -> bool:
        """At least this share of the 4-grams are in the mended text."""
        return len(dense) > 3 and self.count(dense) >= share * (len(dense) - 3)

    def count(self, dense: str) -> int:
        """How many of the 4-grams are in the mended text, each as often as it occurs in ``dense``."""
        return sum(dense[place : place + 4] in self._set for place in range(len(dense) - 3))

    @cached_property
    def _set(self) -> frozenset[str]:
        return frozenset(self._mended[place : place + 4] for place in range(len(self._mended) - 3))


def _foreign(text: str) -> list[str]:
    """The characters of a text beyond ASCII, each once."""
    import numpy as np

    codes = encode(text)
    return [chr(code) for code in np.unique(codes[codes > 127]).tolist()]


def _is_narrow(foreign: list[str]) -> bool:
    return len(foreign) <= len(_FREE) and not any(letter.isdecimal() for letter in foreign)


def _blank_glued_digits(spaced: bytes) -> bytes:
    """NUL for every digit in a run of digits behind a small letter of ASCII; the same object if there is none."""
    import numpy as np

    codes = np.frombuffer(spaced, np.uint8)
    digits = np.flatnonzero((codes - np.uint8(48)) < 10)
    begins = np.diff(digits, prepend=-2) > 1
    firsts = digits[begins]
    glued = (firsts > 0) & ((codes[firsts - 1] - np.uint8(97)) < 26)
    if not glued.any():
        return spaced
    blanked = codes.copy()
    blanked[digits[glued[np.cumsum(begins) - 1]]] = 0
    return blanked.tobytes()


def _grams(dense: bytes) -> Integers:
    """Four bytes at every place, as integers."""
    import numpy as np

    count = max(len(dense) - 3, 0)
    grams = np.empty(count, dtype=np.uint32)
    for offset in range(min(4, count)):
        grams[offset::4] = np.frombuffer(dense, "<u4", count=(len(dense) - offset) // 4, offset=offset)
    return grams


def _hash(grams: Integers) -> Integers:
    import numpy as np

    return ((grams * np.uint32(0x9E3779B1)) >> np.uint32(32 - _BITS)).astype(np.intp)
