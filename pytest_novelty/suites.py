"""Find, load and validate suites: folders with ``suite.yaml``, single files, bare ``ideas.jsonl``, folders of texts."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from pytest_novelty.data import data_folder
from pytest_novelty.digests import canonical_json, digest_of
from pytest_novelty.errors import NoveltyError, SuiteError, UnknownNameError
from pytest_novelty.instances import load_instances
from pytest_novelty.jsonl import MAX_LINE_BYTES, file_digest, read_jsonl
from pytest_novelty.model import (
    REFERENCE,
    Axes,
    Instance,
    Json,
    Suite,
    Variant,
)
from pytest_novelty.protocols import get_protocol
from pytest_novelty.strict_yaml import Document, read_yaml
from pytest_novelty.validation import compile_check, explain, load_schema

_TEXT_SUFFIXES: Final = (".txt", ".md")
_AXES: Final = tuple(item.name for item in fields(Axes))


def embedded_suites() -> dict[str, Path]:
    """The suites that ship, by name."""
    return {path.parent.name: path.parent for path in sorted(data_folder("suites").glob("*/suite.yaml"))}


def resolve_suite(name: str, known: Mapping[str, Path], base: Path) -> Suite:
    """Load the suite that an option or a mark names: one of ``known``, or a path relative to ``base``.

    Raises SuiteError if it is not valid, UnknownNameError (with the nearest name) if there is none.
    """
    if name in known:
        return load_suite(known[name])
    path = base / name
    try:
        found = path.exists()
    except (OSError, ValueError):  # a name that no file can have
        found = False
    if found:
        return load_suite(path)
    looks_like_path = "/" in name or "\\" in name or Path(name).suffix in (".yaml", ".yml", ".jsonl", *_TEXT_SUFFIXES)
    also = (
        f"No file or folder {path} either"
        if looks_like_path
        else "A path to a suite, an ideas.jsonl or a folder of texts works too"
    )
    raise UnknownNameError("suite", name, known, also=also)


def load_suite(path: Path) -> Suite:
    """Load and validate one suite. Raises SuiteError with file, line where it can be had, and instance id."""
    if path.is_dir():
        if (path / "suite.yaml").is_file():
            return _load_described(path / "suite.yaml")
        if (path / "ideas.jsonl").is_file():
            return _load_bare(path / "ideas.jsonl", path.resolve().name)
        return _load_texts(path)
    if path.suffix in (".yaml", ".yml"):
        return _load_described(path)
    if path.suffix == ".jsonl":
        return _load_bare(path, path.resolve().parent.name if path.stem == "ideas" else path.stem)
    if not path.exists():
        raise SuiteError("there is no such suite", path=path)
    raise SuiteError(
        "is not a suite",
        path=path,
        hint="A suite is a folder with suite.yaml, a .yaml file, a .jsonl file of ideas, or a folder of .txt or .md files",
    )


# --- described suites ---------------------------------------------------------------------------------------


def _load_described(path: Path) -> Suite:
    document = read_yaml(path, SuiteError)
    head: dict[str, Any] = document.value if isinstance(document.value, dict) else {}
    if isinstance(head.get("format"), str) and head["format"] != "novelty-suite/1":
        raise SuiteError(
            f"format is {head['format']!r}, this version reads 'novelty-suite/1'",
            path=path,
            line=document.line_of(("format",)),
        )
    _require(document.value, load_schema("suite"), document, path)
    if head["name"].endswith("\n"):
        raise SuiteError("name ends with a line break", path=path, line=document.line_of(("name",)))
    try:
        protocol = get_protocol(head["protocol"])
    except UnknownNameError as error:
        raise SuiteError(error.message, path=path, line=document.line_of(("protocol",)), hint=error.hint) from None
    content = hashlib.blake2b(path.read_bytes(), digest_size=16)
    source = head["instances"]
    if isinstance(source, str):
        rows_path = path.parent / source
        if not rows_path.is_file():
            raise SuiteError(
                f"the instances file {source!r} does not exist", path=path, line=document.line_of(("instances",))
            )
        content.update(file_digest(rows_path))
        rows: Iterable[tuple[int | None, Json]] = read_jsonl(rows_path, SuiteError)
    else:
        rows_path = path
        rows = ((document.line_of(("instances", index)), row) for index, row in enumerate(source))
    instances = load_instances(rows, rows_path, protocol.name, labelled=head["label_kind"] != "none")
    instances, blocked = _without_blocked(instances, document)
    suite = Suite(
        name=head["name"],
        version=head["version"],
        protocol=protocol.name,
        label_kind=head["label_kind"],
        instances=instances,
        variants=_variants(head, document, protocol.name),
        digest=content.hexdigest(),
        path=path,
        folder=path.parent,
        title=head.get("title", ""),
        licence=head.get("licence", ""),
        provenance=head.get("provenance", ""),
        gates=tuple(head.get("gates", ())),
        cluster=head.get("cluster"),
        blocklist=blocked,
        profile=head.get("profile", "default"),
    )
    _check_cluster(suite, document)
    check_variants(suite, suite.variants.values())
    _check_gates(suite, document)
    return suite


def _without_blocked(
    instances: tuple[Instance, ...], document: Document
) -> tuple[tuple[Instance, ...], dict[str, str]]:
    """The instances without those on the blocklist, and the reasons of these."""
    known = {instance.id for instance in instances}
    blocked: dict[str, str] = {}
    for index, entry in enumerate(document.value.get("blocklist", ())):
        line = document.line_of(("blocklist", index))
        if entry["id"] not in known:
            error = UnknownNameError("instance", entry["id"], known)
            hint = None if error.hint is None else error.hint.partition(" Known:")[0]
            raise SuiteError(f"the blocklist names an {error.message}", path=document.path, line=line, hint=hint)
        if entry["id"] in blocked:
            raise SuiteError(f"the blocklist names {entry['id']!r} twice", path=document.path, line=line)
        blocked[entry["id"]] = entry["reason"]
    if blocked and len(blocked) == len(instances):
        raise SuiteError(
            "every instance is on the blocklist", path=document.path, line=document.line_of(("blocklist",))
        )
    return tuple(instance for instance in instances if instance.id not in blocked), blocked


def _require(value: Json, schema: Mapping[str, Any], document: Document, path: Path) -> None:
    """Raise the explanation of a value that does not fit its schema, with its line."""
    if compile_check(schema)(value):
        return
    found = explain(value, schema)
    if found is not None:
        sentence, place = found
        raise SuiteError(sentence, path=path, line=document.line_of(place))


def _variants(head: Mapping[str, Any], document: Document, protocol: str) -> dict[str, Variant]:
    for place in (("defaults",), *(("variants", name) for name in head.get("variants", {}))):
        axes = head.get("defaults", {}) if len(place) == 1 else head["variants"][place[1]]
        for axis in ("votes", "related_work"):
            if isinstance(axes.get(axis), float):
                line = document.line_of((*place, axis))
                raise SuiteError(f"{axis} must be a whole number, not {axes[axis]}", path=document.path, line=line)
    reference = Axes(**{"prompt": f"{protocol}/reference", **head.get("defaults", {})})
    variants = {REFERENCE: Variant(REFERENCE, reference)}
    for name, changes in head.get("variants", {}).items():
        line = document.line_of(("variants", name))
        if name == REFERENCE:
            raise SuiteError(
                f"a variant may not be called {REFERENCE!r}: that is what defaults describe",
                path=document.path,
                line=line,
            )
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}", name):
            raise SuiteError(
                f"the variant name {name!r} has other characters than letters, digits, '.', '_' and '-', or more than 40",
                path=document.path,
                line=line,
            )
        values = {axis: changes.get(axis, getattr(reference, axis)) for axis in _AXES}
        changed = tuple(
            axis for axis in _AXES if canonical_json(values[axis]) != canonical_json(getattr(reference, axis))
        )
        if not changed:
            raise SuiteError(f"the variant {name!r} changes nothing", path=document.path, line=line)
        variants[name] = Variant(name, Axes(**values), changed)
    return variants


def _check_cluster(suite: Suite, document: Document) -> None:
    if suite.cluster is None:
        return
    for instance in suite.instances:
        if suite.cluster not in instance.strata:
            raise SuiteError(
                f"has no stratum {suite.cluster!r}, by which the suite is clustered",
                path=suite.path,
                line=document.line_of(("cluster",)),
                instance=instance.id,
            )


def check_variants(suite: Suite, variants: Iterable[Variant]) -> None:
    """Every idea has the rendering that a variant's ``format`` names. Raises SuiteError."""
    for variant in variants:
        wanted = variant.axes.format
        if wanted == "text":
            continue
        for instance in suite.instances:
            for idea in instance.ideas:
                if wanted not in idea.renderings:
                    has = ", ".join(("text", *sorted(idea.renderings)))
                    raise SuiteError(
                        f"the idea {idea.id!r} has no rendering {wanted!r}, which the variant {variant.name!r} shows "
                        f"(it has {has})",
                        path=suite.path,
                        line=None if suite.path.suffix in (".yaml", ".yml") else instance.line,
                        instance=instance.id,
                    )


def _check_gates(suite: Suite, document: Document) -> None:
    from pytest_novelty.gates import check_gate_names, parse_gate

    for index, text in enumerate(suite.gates):
        try:
            check_gate_names(parse_gate(text), suite)
        except NoveltyError as error:
            raise SuiteError(
                error.message, path=suite.path, line=document.line_of(("gates", index)), hint=error.hint
            ) from None


# --- bare ideas ---------------------------------------------------------------------------------------------


def _load_bare(path: Path, name: str) -> Suite:
    """One idea a line, without labels: an object with ``text`` (and whatever an idea may have), or a string."""
    schema = {"$ref": "#/$defs/idea", "$defs": load_schema("instance")["$defs"]}
    fits = compile_check(schema)
    rows: list[tuple[int | None, Json]] = []
    for line, row in read_jsonl(path, SuiteError):
        idea = {"text": row} if isinstance(row, str) else row
        if not fits(idea):
            found = explain(idea, schema)
            hint = (
                "A bare .jsonl holds one idea a line; instances with gold labels need a suite.yaml beside them"
                if isinstance(row, dict) and {"idea", "ideas", "gold"} & set(row)
                else None
            )
            raise SuiteError(found[0] if found else "is not an idea", path=path, line=line, hint=hint)
        name_of_idea = idea["id"] if "id" in idea else digest_of([idea.get("title", ""), idea["text"]], 6)
        rows.append((line, {"id": name_of_idea, "idea": idea}))
    return _bare_suite(rows, path, name, file_digest(path).hex())


def _load_texts(folder: Path) -> Suite:
    """Every .txt and .md file of a folder is one idea; its first line is the title if a blank line or '#' sets it apart."""
    rows: list[tuple[int | None, Json]] = []
    seen: dict[str, str] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix not in _TEXT_SUFFIXES or not path.is_file():
            continue
        if path.stat().st_size > MAX_LINE_BYTES:
            raise SuiteError(f"is longer than {MAX_LINE_BYTES / 1e6:g} MB", path=path)
        try:
            text = path.read_text(encoding="utf-8-sig").strip()
        except UnicodeDecodeError:
            raise SuiteError("is not UTF-8", path=path, hint="Save the file as UTF-8") from None
        head, _, rest = text.partition("\n")
        titled = rest.strip() and (head.startswith("#") or rest.startswith("\n")) and len(head) <= 200
        idea = {"title": head.lstrip("# ").strip(), "text": rest.strip()} if titled else {"text": text}
        if not idea["text"]:
            raise SuiteError("is empty", path=path, instance=path.stem)
        if path.stem in seen:
            raise SuiteError(f"the id {path.stem!r} occurs twice: {seen[path.stem]} and {path.name}", path=path)
        seen[path.stem] = path.name
        rows.append((None, {"id": path.stem, "idea": idea}))
    if not rows:
        raise SuiteError("has neither suite.yaml nor ideas.jsonl nor any .txt or .md file", path=folder)
    return _bare_suite(rows, folder, folder.resolve().name, digest_of(rows))


def _bare_suite(rows: list[tuple[int | None, Json]], path: Path, name: str, content: str) -> Suite:
    instances = load_instances(rows, path, "pointwise", labelled=False)
    shows_work = any(idea.related_work for instance in instances for idea in instance.ideas)
    axes = Axes(prompt="pointwise/reference", related_work=shows_work)
    return Suite(
        name=re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-.")[:60] or "ideas",
        version="0",
        protocol="pointwise",
        label_kind="none",
        instances=instances,
        variants={REFERENCE: Variant(REFERENCE, axes)},
        digest=content,
        path=path,
        folder=path if path.is_dir() else path.parent,
        title="Unlabelled ideas",
    )
