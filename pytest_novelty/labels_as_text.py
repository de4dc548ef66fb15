"""Labels as a person reads them in a file or in a message, on one line: names as they are where they are plain, else as JSON."""

from __future__ import annotations

import json
import re
from typing import Final

from pytest_novelty.masking import shorten
from pytest_novelty.model import ABSTAINED, INCOMPLETE, INVALID, TIE
from pytest_novelty.protocols import Protocol, has_two_labels
from pytest_novelty.protocols.grouping import groups_of, name_partition

WITHOUT_NAME: Final = (TIE, ABSTAINED, INCOMPLETE, INVALID)
"""Labels that name nothing of an instance."""

ALL_APART: Final = "all apart"
"""The partition in which no papers belong together."""

_PLAIN: Final = re.compile(r"[A-Za-z0-9_.:/@+-](?:[ -~]*[!-~])?\Z")
_PLAIN_MEMBER: Final = re.compile(r"[A-Za-z0-9_.:/@+-]+\Z")
_MEMBER: Final = r'(?:"(?:[^"\\]|\\.)*"|[A-Za-z0-9_.:/@+-]+)'
_GROUP: Final = rf"\{{{_MEMBER}(?: {_MEMBER})*\}}"
PARTITION: Final = rf"(?:{ALL_APART}|{_GROUP}(?: {_GROUP})*)"
"""A pattern of what :func:`write_partition` writes, and of some more."""
_MEMBERS: Final = re.compile(_MEMBER)
_GROUPS: Final = re.compile(_GROUP)
_WHOLE: Final = re.compile(rf"{PARTITION}\Z")


class Contradiction(ValueError):
    """What can be read, and no run writes."""


def write_label(label: str | None, protocol: Protocol) -> str:
    """No label: null, so that a label of that name is quoted."""
    if label is None or label in WITHOUT_NAME or has_two_labels(protocol.name):
        return write_name(label)
    return write_partition(label)


def read_label(text: str, protocol: Protocol) -> str | None:
    """What :func:`write_label` wrote. Raises ValueError (Contradiction for what no run writes)."""
    return read_name(text) if has_two_labels(protocol.name) or text in (*WITHOUT_NAME, "null") else read_partition(text)


def write_name(text: str | None) -> str:
    return text if text is not None and text != "null" and _PLAIN.match(text) else json.dumps(text)


def read_name(text: str) -> str | None:
    value = json.loads(text) if text == "null" or text.startswith('"') else text
    if not isinstance(value, (str, type(None))):
        raise ValueError(text)
    return value


def write_partition(label: str) -> str:
    """``{a b} {c d}``: the papers that belong together, in braces."""
    groups = [" ".join(m if _PLAIN_MEMBER.match(m) else json.dumps(m) for m in group) for group in groups_of(label)]
    return " ".join(f"{{{members}}}" for members in groups) or ALL_APART


def read_partition(text: str) -> str:
    """The label. Raises Contradiction for one that no run writes, ValueError for what is no partition."""
    if not _WHOLE.match(text):
        raise ValueError(text)
    groups = [
        [json.loads(member) if member.startswith('"') else member for member in _MEMBERS.findall(group[1:-1])]
        for group in _GROUPS.findall(text)
    ]
    members = [member for group in groups for member in group]
    if any(len(group) < 2 for group in groups):
        raise Contradiction(f"a group of {shorten(text, 60)} has one paper")
    if len(set(members)) < len(members):
        raise Contradiction(f"{shorten(text, 60)} has a paper twice")
    label = name_partition(groups)
    if write_partition(label) != text:
        raise Contradiction(f"{shorten(text, 60)} would be written as {shorten(write_partition(label), 60)}")
    return label
