"""By which rules a suite is scored: ours, and beside them those of a benchmark's release."""

from __future__ import annotations

import re
from typing import Final

from pytest_novelty.errors import SettingsError

DEFAULT: Final = "default"
AS_PUBLISHED: Final = "as-published"
PROFILES: Final = (DEFAULT, AS_PUBLISHED)
MIXED: Final = "mixed"
"""What a run is called whose suites have several."""

WITH_PUBLISHED_RULES: Final = ("similarity", "grouping")
"""Protocols of which a benchmark has published how it scores them (NovGauge)."""


def check_profile(profile: str, protocol: str) -> None:
    """Raise SettingsError where a protocol has no rules of that profile."""
    if profile == AS_PUBLISHED and protocol not in WITH_PUBLISHED_RULES:
        raise SettingsError(
            f"profile is {profile}, and no published rules are known for {protocol}",
            hint=f"Protocols with published rules: {', '.join(WITH_PUBLISHED_RULES)}; leave the profile out of others",
        )


_FIGURE: Final = re.compile(
    r"(?:as_)?published_(?P<same>\w+)|(?:macro|micro)_(?P<pairs>precision|recall|f1)"
    r"|(?P<rate>hallucination|mismatch)(?:_rate)?_(?:tp|fp|groups)|tp_flow(?:_\w+)?"
)


def gate_instead(figure: str) -> str | None:
    """Our metric in the place of a figure that is the release's alone, by the way it is called; None if it is no such name."""
    match = _FIGURE.fullmatch(figure)
    if match is None:
        return None
    if match["rate"]:
        return f"{match['rate']}_rate"
    return match["same"] or (f"pair_{match['pairs']}" if match["pairs"] else "verified_f1")
