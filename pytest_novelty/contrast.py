"""``contrast: system=ours/base`` in suite.yaml: the claim that the ideas of one system are more novel than another's."""

from __future__ import annotations

import re
from typing import Final

from pytest_novelty.errors import NoveltyError, SettingsError, UnknownNameError
from pytest_novelty.model import Contrast, Suite

FIELDS: Final = ("system", "generator", "source")
"""The fields of an idea that say where it comes from."""

_CONTRAST: Final = re.compile(r"\s*(?P<field>[^=/]+?)\s*=\s*(?P<ours>[^/]+?)\s*/\s*(?P<base>[^/]+?)\s*\Z")


def parse_contrast(text: str) -> Contrast:
    """Read a contrast. Raises SettingsError, or UnknownNameError for a field that is none of FIELDS."""
    match = _CONTRAST.match(text)
    if match is None:
        raise SettingsError(
            f"cannot read the contrast {text!r}", hint="Write field=ours/base, for example system=ours/base"
        )
    if match["field"] not in FIELDS:
        raise UnknownNameError(f"field in the contrast {text!r}", match["field"], FIELDS)
    if match["ours"] == match["base"]:
        raise SettingsError(f"the contrast {text!r} sets {match['ours']!r} against itself")
    return Contrast(match["field"], match["ours"], match["base"])


def check_contrast(suite: Suite, contrast: Contrast) -> None:
    """A pair holds one idea of each side; single ideas come from both. Raises NoveltyError, with the instance if it is one."""
    named = (getattr(idea, contrast.field) for instance in suite.instances for idea in instance.ideas)
    known = {origin for origin in named if origin is not None}
    for value in (contrast.ours, contrast.base):
        if value not in known:
            raise UnknownNameError(f"{contrast.field} in the contrast", value, known)
    if suite.protocol != "pairwise":
        return
    for instance in suite.instances:
        if {contrast.is_ours(idea) for idea in instance.ideas} != {True, False}:
            origins = [getattr(idea, contrast.field) for idea in instance.ideas]
            found = " and ".join("not given" if origin is None else repr(origin) for origin in origins)
            raise NoveltyError(
                f"the contrast needs an idea of {contrast.ours!r} and one of {contrast.base!r} in every pair; here "
                f"{contrast.field} is {found}",
                instance=instance.id,
            )
