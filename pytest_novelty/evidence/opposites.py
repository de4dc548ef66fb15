"""Words that say the opposite of each other: by a list of beginnings, by a prefix, or by an ending."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

_STEMS: Final = (
    ("increas rais rise rising rose grow gain maximi expand", "decreas reduc drop fall fell declin shrink los minimi"),
    ("more greater larger higher bigger longer above most exceed", "less fewer smaller lower shorter below least"),
    (
        "better best improv outperform superior surpass enhanc benefi",
        "worse worst degrad underperform inferior harm hurt impair",
    ),
    ("fast quick", "slow"),
    ("all every each always any", "some sometimes few occasional"),
    ("many much often frequent common", "few little rare uncommon"),
    ("before precede earlier prior", "after follow later subsequent"),
    ("with", "without"),
    ("positive", "negative"),
    ("strong robust", "weak fragile brittle"),
    ("easy easi simple simpl", "hard difficult complex"),
    ("same identical similar equal alike", "different differ distinct unequal dissimilar"),
    ("includ", "exclud omit"),
    ("enabl allow permit", "prevent prohibit preclud forbid"),
    ("accept support confirm agree affirm", "reject refut contradict disagree deny deni"),
    ("true correct right", "false wrong incorrect"),
    ("maximum max upper", "minimum min lower"),
    ("cheap inexpensive", "expensive costly"),
    ("large big high", "small tiny low"),
    ("new novel", "old existing known"),
    ("add", "remov delet"),
    ("open", "close clos shut"),
    ("thick", "thin"),
    ("wet damp moist", "dry dried"),
    ("good", "bad poor"),
    ("success succeed", "fail unsuccess"),
    ("hot warm", "cold cool"),
    ("early", "late"),
    ("start begin began begun", "stop end finish cease"),
    ("wide broad", "narrow"),
    ("deep", "shallow"),
    ("near close", "far distant remote"),
    ("heavy", "light"),
    ("dense", "sparse"),
    ("static", "dynamic"),
    ("left", "right"),
    ("first", "last"),
    ("full", "empty"),
    ("active", "passive"),
    ("safe", "danger hazard"),
    ("present", "absent"),
    ("sufficient adequate enough", "scarce inadequate"),
    ("parallel", "serial sequential"),
    ("train", "test"),
    ("young", "old"),
    ("male", "female"),
    ("creat build", "destroy"),
    ("smooth", "rough"),
    ("dark", "bright light"),
    ("rich", "poor"),
    ("winn win", "los"),
)
"""Beginnings of words that stand for the two poles of an axis."""

PREFIXES: Final = ("un", "in", "im", "il", "ir", "non", "dis", "mis", "de", "anti", "counter")
_PAIRS: Final = (
    ("hyper", "hypo"), ("over", "under"), ("pre", "post"), ("inter", "intra"), ("homo", "hetero"), ("macro", "micro"),
    ("mono", "poly"), ("in", "ex"), ("in", "out"), ("in", "de"), ("up", "down"), ("super", "sub"), ("intro", "extro"),
    ("for", "back"), ("en", "de"), ("con", "di"), ("con", "de"), ("at", "de"), ("as", "de"), ("ac", "de"),
    ("ex", "im"), ("en", "dis"), ("pro", "re"), ("endo", "exo"), ("pro", "anti"), ("maxi", "mini"), ("multi", "uni"),
    ("multi", "single"),
)  # fmt: skip

_ENDINGS: Final = frozenset("s es er est ed ing ly en d e".split())  # noqa: SIM905 - a list of words


def differ_by_affix(one: str, other: str) -> bool:
    """One is the other with an affix that denies, or with the opposite prefix (encoder, decoder)."""
    long, short = (one, other) if len(one) > len(other) else (other, one)
    if len(short) >= 3 and long.endswith(short) and long[: -len(short)] in PREFIXES:
        return True
    if one.endswith(("less", "ful")) and other.endswith(("less", "ful")):
        return one.removesuffix("less").removesuffix("ful") == other.removesuffix("less").removesuffix("ful")
    if len(short) >= 3 and long == f"{short}less":
        return True
    return any(_swapped(one, other, *pair) or _swapped(other, one, *pair) for pair in _PAIRS)


def _swapped(one: str, other: str, left: str, right: str) -> bool:
    return (
        one.startswith(left)
        and other.startswith(right)
        and one[len(left) :] == other[len(right) :]
        and len(one) > len(left) + 2
    )


def are_opposite(one: str, other: str) -> bool:
    """They stand at the two poles of an axis."""
    poles = dict(_poles(one))
    return any(poles.get(axis, pole) != pole for axis, pole in _poles(other))


@lru_cache(maxsize=4096)
def _poles(word: str) -> tuple[tuple[int, int], ...]:
    return tuple(
        (axis, pole)
        for axis, sides in enumerate(_STEMS)
        for pole, stems in enumerate(sides)
        if any(
            word.startswith(stem) if len(stem) > 4 else word == stem or _is_form(word, stem) for stem in stems.split()
        )
    )


def _is_form(word: str, stem: str) -> bool:
    rest = word.removeprefix(stem)
    return word != rest and (rest in _ENDINGS or (rest[:1] == stem[-1] and rest[1:] in _ENDINGS))
