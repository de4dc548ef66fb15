"""YAML read strictly: YAML 1.2 values (``no`` is a string), no aliases (so no bombs), no tags, no double keys, line numbers."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import yaml

from pytest_novelty.errors import NoveltyError
from pytest_novelty.model import Json

_MAX_BYTES: Final = 5_000_000
_MAX_DEPTH: Final = 40

_NULL: Final = re.compile(r"(?:~|null|Null|NULL|)\Z")
_BOOL: Final = re.compile(r"(?:true|True|TRUE|false|False|FALSE)\Z")
_INT: Final = re.compile(r"[-+]?[0-9]+\Z")
_BASED: Final = re.compile(r"0o[0-7]+\Z|0x[0-9a-fA-F]+\Z")
_FLOAT: Final = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")


@dataclass(frozen=True, slots=True)
class Document:
    """A YAML document and where its parts stand: ``lines`` maps a path of keys and indices to a 1-based line."""

    value: Json
    path: Path
    lines: dict[tuple[str | int, ...], int] = field(default_factory=dict)
    blocks: set[tuple[str | int, ...]] = field(default_factory=set)

    def line_within(self, path: tuple[str | int, ...], offset: int) -> int:
        """The line of the ``offset``-th line (1-based) of a text: known in a block scalar, else the line of its key."""
        return (self.line_of(path) or 1) + (offset if path in self.blocks else 0)

    def line_of(self, path: tuple[str | int, ...]) -> int | None:
        """The line of ``path`` or, where it has none, of the nearest part that contains it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path)


def read_yaml(path: Path, kind: type[NoveltyError]) -> Document:
    """Read one document. Raises ``kind`` with file and line for anything that is not plain data."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise kind(f"cannot be read: {error.strerror}", path=path) from None
    if len(data) > _MAX_BYTES:
        raise kind(f"is {len(data):,} bytes long, more than {_MAX_BYTES:,}", path=path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise kind("is not UTF-8", path=path, line=line, hint="Save the file as UTF-8") from None
    loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _refuse_tricks(text, loader, path, kind)
        node = yaml.compose(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise kind(
            f"is not valid YAML: {error.problem}", path=path, line=None if mark is None else mark.line + 1
        ) from None
    except yaml.YAMLError as error:
        raise kind(f"is not valid YAML: {error}", path=path) from None
    if node is None:
        raise kind("is empty", path=path)
    document = Document(None, path)
    return replace(document, value=_build(node, (), document, kind))


def _refuse_tricks(text: str, loader: Any, path: Path, kind: type[NoveltyError]) -> None:
    depth = 0
    event: Any
    for event in yaml.parse(text, Loader=loader):
        line = event.start_mark.line + 1
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise kind("YAML anchors and aliases are not allowed", path=path, line=line, hint="Write the value out")
        if getattr(event, "tag", None) is not None and event.tag != "!":
            raise kind(f"YAML tags are not allowed ({event.tag})", path=path, line=line)
        if isinstance(event, (yaml.MappingStartEvent, yaml.SequenceStartEvent)):
            depth += 1
            if depth > _MAX_DEPTH:
                raise kind(f"is nested more than {_MAX_DEPTH} levels deep", path=path, line=line)
        elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
            depth -= 1


def _build(node: Any, at: tuple[str | int, ...], document: Document, kind: type[NoveltyError]) -> Json:
    """The value of a node; notes the lines of its parts in ``document``."""
    lines = document.lines
    lines.setdefault(at, node.start_mark.line + 1)
    if isinstance(node, yaml.SequenceNode):
        return [_build(item, (*at, index), document, kind) for index, item in enumerate(node.value)]
    if isinstance(node, yaml.MappingNode):
        mapping: dict[str, Json] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise kind("a key must be a plain string", path=document.path, line=line)
            key = key_node.value
            if key in mapping:
                raise kind(f"the key {key!r} occurs twice", path=document.path, line=line)
            lines[(*at, key)] = line
            mapping[key] = _build(value_node, (*at, key), document, kind)
        return mapping
    if node.style in ("|", ">"):
        document.blocks.add(at)
    return node.value if node.style else _scalar(node.value)  # quoted or block text is always a string


def _scalar(text: str) -> Json:
    if _NULL.match(text):
        return None
    if _BOOL.match(text):
        return text.lower() == "true"
    if _INT.match(text):
        return int(text) if len(text) < 300 else text
    if _BASED.match(text):
        return int(text, 0)
    return number if _FLOAT.match(text) and math.isfinite(number := float(text)) else text
