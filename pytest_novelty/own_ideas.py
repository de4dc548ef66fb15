"""A user's own ideas, known by their texts: merged where they are the same, grouped by a field, set on sides by a contrast."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_novelty.digests import canonical_json, digest_of
from pytest_novelty.errors import SettingsError, UnknownNameError
from pytest_novelty.ideas import RawIdea
from pytest_novelty.model import Contrast, Json

_LISTED: Final = 5


@dataclass(frozen=True, slots=True)
class OwnIdea:
    """An idea under the id that its text has, with where it was found (more than once if it is there more than once)."""

    id: str
    value: Mapping[str, Json]
    origins: tuple[str, ...]

    def get(self, name: str) -> Json:
        """A field of the idea, else of its metadata; None if it has neither."""
        return self.value.get(name, self.value.get("metadata", {}).get(name))

    def as_row(self) -> dict[str, Json]:
        """The idea as instances.jsonl has it. Its origin is there for a person to find it by; no judge sees it."""
        return {
            "id": self.id,
            **self.value,
            "metadata": {"origin": list(self.origins), **self.value.get("metadata", {})},
        }


def id_of_text(text: str) -> str:
    """The id of an idea: of its words alone, so that it survives other file names, orders, titles and line breaks."""
    return "i" + digest_of([_plain(text)], 6)


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def merge_ideas(found: Iterable[RawIdea]) -> tuple[list[OwnIdea], list[str]]:
    """The ideas by id, each text once, and what was merged. Of ideas with one text but other fields, that one is kept whose
    JSON sorts first: the order of the files is nothing to go by.
    """
    same: dict[str, list[RawIdea]] = {}
    for idea in found:
        same.setdefault(id_of_text(idea.value["text"]), []).append(idea)
    ideas, merged = [], []
    for name, copies in sorted(same.items()):
        copies.sort(key=lambda idea: (canonical_json(_without_id(idea)), idea.origin))
        kept = _without_id(copies[0])
        ideas.append(OwnIdea(name, kept, tuple(idea.origin for idea in copies)))
        for other in copies[1:]:
            differing = sorted(
                key
                for key in {*kept, *other.value} - {"id", "text"}
                if canonical_json(kept.get(key)) != canonical_json(other.value.get(key))
            )
            lost = (
                f" (its {', '.join(differing)} {'is' if len(differing) == 1 else 'are'} dropped)" if differing else ""
            )
            merged.append(f"{other.origin} has the same text as {copies[0].origin}{lost}")
    said = [f"{count_of(len(merged), 'duplicate')} merged: {'; '.join(merged[:_LISTED])}"] if merged else []
    if len(merged) > _LISTED:
        said[0] += f"; and {len(merged) - _LISTED} more"
    return ideas, said


def _without_id(idea: RawIdea) -> dict[str, Json]:
    return {key: value for key, value in idea.value.items() if key != "id"}


def group_ideas(ideas: Sequence[OwnIdea], pair_by: str | None) -> dict[str, list[str]]:
    """Ids by the value of the field that pairs must share. Raises SettingsError for an idea without it."""
    if pair_by is None:
        return {"": [idea.id for idea in ideas]}
    groups: dict[str, list[str]] = {}
    for idea in ideas:
        value = idea.get(pair_by)
        if not isinstance(value, (str, int)) or not str(value).strip():
            if not any(other.get(pair_by) for other in ideas):
                known = {key for other in ideas for key in (*other.value, *other.value.get("metadata", {}))}
                raise UnknownNameError("field in --pair-by", pair_by, known - {"text", "title", "metadata"})
            raise SettingsError(
                f"--pair-by is {pair_by!r}, and the idea in {idea.origins[0]} has none",
                hint="Give every idea the field, a text or a whole number",
            )
        groups.setdefault(stratum_of(value), []).append(idea.id)
    return dict(sorted(groups.items()))


def stratum_of(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def is_of_neither(idea: OwnIdea, contrast: Contrast) -> bool:
    """The idea is of neither side of the contrast."""
    return idea.value.get(contrast.field) not in (contrast.ours, contrast.base)


def set_on_sides(
    groups: Mapping[str, Sequence[str]],
    by_id: Mapping[str, OwnIdea],
    contrast: Contrast,
    pair_by: str | None,
    among: str = "",
) -> list[tuple[list[str], list[str]]]:
    """Per group, the ids of both sides of a contrast; ideas of neither side are left out. ``among``: where these ideas are, in
    words. Raises SettingsError where a side has none.
    """
    sides = []
    for name, group in groups.items():
        values = {identity: by_id[identity].value.get(contrast.field) for identity in group}
        pair = tuple([i for i in group if values[i] == side] for side in (contrast.ours, contrast.base))
        if not all(pair):
            missing = contrast.base if pair[0] else contrast.ours
            place = f" with the {pair_by} {name!r}" if pair_by else f" {among}".rstrip()
            known = {str(value) for value in values.values() if value is not None}
            listed = (
                f"Known: {', '.join(sorted(known))}"
                if known
                else f"No idea has the key {contrast.field!r} beside its text"
            )
            raise SettingsError(
                f"--contrast needs ideas of both sides, and no idea{place} is of {missing!r}", hint=listed
            )
        sides.append((pair[0], pair[1]))
    return sides


def count_of(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
