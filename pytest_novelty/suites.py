"""Find, load and validate suites: folders with ``suite.yaml``, single files, bare ``ideas.jsonl``, folders of texts."""

from __future__ import annotations

import datetime as dt
import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, Final

from pytest_novelty.data import data_folder
from pytest_novelty.digests import canonical_json, digest_of
from pytest_novelty.errors import NoveltyError, SuiteError, UnknownNameError, nearest
from pytest_novelty.model import (
    ABSTAINED,
    INCOMPLETE,
    INVALID,
    REFERENCE,
    TIE,
    Axes,
    Idea,
    Instance,
    Json,
    Suite,
    Variant,
    Work,
)
from pytest_novelty.protocols import PROTOCOLS, get_protocol
from pytest_novelty.schemas import compile_check, explain, load_schema
from pytest_novelty.strict_yaml import Document, read_yaml

MAX_LINE_BYTES: Final = 8_000_000
"""A paper's full text is about 0.1 MB; a longer line is a mistake or an attack."""

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
        content.update(_file_digest(rows_path))
        rows: Iterable[tuple[int | None, Json]] = read_jsonl(rows_path, SuiteError)
    else:
        rows_path = path
        rows = ((document.line_of(("instances", index)), row) for index, row in enumerate(source))
    instances = _load_instances(rows, rows_path, protocol.name, labelled=head["label_kind"] != "none")
    suite = Suite(
        name=head["name"],
        version=head["version"],
        protocol=protocol.name,
        label_kind=head["label_kind"],
        instances=instances,
        variants=_variants(head, document, protocol.name),
        digest=content.hexdigest(),
        path=path,
        title=head.get("title", ""),
        licence=head.get("licence", ""),
        provenance=head.get("provenance", ""),
        gates=tuple(head.get("gates", ())),
        cluster=head.get("cluster"),
        profile=head.get("profile", "default"),
    )
    _check_cluster(suite, document)
    check_variants(suite, suite.variants.values())
    _check_gates(suite, document)
    return suite


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


# --- instances ----------------------------------------------------------------------------------------------


def read_jsonl(path: Path, kind: type[SuiteError]) -> Iterator[tuple[int, Json]]:
    """(line number, value) of every line that is not blank. Raises ``kind`` for a line that is too long or not JSON."""
    try:
        opened = path.open("rb")
    except OSError as error:
        raise kind(f"cannot be read: {error.strerror}", path=path) from None
    with opened as file:
        number = 0
        while line := file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(line) > MAX_LINE_BYTES:
                raise kind(f"is longer than {MAX_LINE_BYTES / 1e6:g} MB", path=path, line=number)
            if not line.strip():
                continue
            try:
                yield (
                    number,
                    json.loads(
                        line.decode("utf-8-sig" if number == 1 else "utf-8"),
                        object_pairs_hook=_unique_keys,
                        parse_constant=_no_constant,
                    ),
                )
            except UnicodeDecodeError:
                raise kind("is not UTF-8", path=path, line=number, hint="Save the file as UTF-8") from None
            except RecursionError:
                raise kind("is nested too deeply", path=path, line=number) from None
            except ValueError as error:
                raise kind(f"is not JSON: {error}", path=path, line=number, hint="One JSON object a line") from None


def _unique_keys(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) != len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} occurs twice")
    return value


def _no_constant(name: str) -> Json:
    raise ValueError(f"{name} is not JSON")


def _file_digest(path: Path) -> bytes:
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).digest()


def _load_instances(
    rows: Iterable[tuple[int | None, Json]], path: Path, protocol: str, *, labelled: bool
) -> tuple[Instance, ...]:
    schema = {"$ref": f"#/$defs/{protocol}", "$defs": load_schema("instance")["$defs"]}
    fits = compile_check(schema)
    instances: list[Instance] = []
    seen: dict[str, int | None] = {}
    for line, row in rows:
        row_id = str(row["id"]) if isinstance(row, dict) and isinstance(row.get("id"), (str, int)) else None
        if not fits(row):
            found = explain(row, schema)
            raise SuiteError(found[0] if found else "does not fit the schema", path=path, line=line, instance=row_id)
        instance = _instance(row, path, line, protocol, labelled)
        if instance.id in seen:
            raise SuiteError(
                f"the id {instance.id!r} occurs twice (first in line {seen[instance.id]})",
                path=path,
                line=line,
                instance=instance.id,
            )
        seen[instance.id] = line
        instances.append(instance)
    if not instances:
        raise SuiteError("has no instances", path=path)
    return tuple(instances)


def _instance(row: Mapping[str, Any], path: Path, line: int | None, protocol: str, labelled: bool) -> Instance:
    name = str(row["id"])

    def wrong(message: str, hint: str | None = None) -> SuiteError:
        return SuiteError(message, path=path, line=line, instance=name, hint=hint)

    shared = _works(row.get("related_work", ()))
    raw_ideas = [row["idea"]] if "idea" in row else row["ideas"]
    ideas = tuple(_idea(raw, name if len(raw_ideas) == 1 else None, shared) for raw in raw_ideas)
    ids = [idea.id for idea in ideas]
    if "" in ids:
        raise wrong("an idea of a pair has no id", "Give each idea an id: gold names one of them")
    if len(set(ids)) != len(ids):
        raise wrong(f"two ideas have the id {ids[0]!r}")
    if reserved := {TIE, ABSTAINED, INCOMPLETE, INVALID} & set(ids):
        raise wrong(f"no idea may have the id {min(reserved)!r}, which is the label of an outcome", "Rename the idea")
    gold = row.get("gold")
    gold = str(gold) if isinstance(gold, (int, float)) else gold
    if gold is None and labelled:
        raise wrong("has no gold label", "Add gold, or say label_kind: none in suite.yaml")
    if gold is not None and not labelled:
        raise wrong(
            "has a gold label although the suite says label_kind: none", "Say how the labels were made in label_kind"
        )
    allowed = PROTOCOLS[protocol].gold_labels(ids)
    if gold is not None and gold not in allowed:
        close = nearest(gold, allowed)
        raise wrong(
            f"gold is {gold!r}, which is none of {', '.join(map(repr, allowed))}",
            f"Did you mean {close!r}?" if close else None,
        )
    as_of = row.get("as_of")
    if as_of is not None:
        try:
            date = dt.date.fromisoformat(as_of)
        except ValueError:
            raise wrong(f"as_of {as_of!r} is not a date", "Write it as YYYY-MM-DD") from None
        for idea in ideas:
            for work in idea.related_work:
                if work.year is not None and work.year > date.year:
                    raise wrong(f"the earlier work {work.title!r} is of {work.year}, after as_of {as_of}")
    return Instance(
        id=name,
        ideas=ideas,
        gold=gold,
        as_of=as_of,
        strata={key: _stratum(value) for key, value in row.get("strata", {}).items()},
        labels=tuple(row.get("labels", ())),
        metadata=row.get("metadata", {}),
        line=line,
    )


def _stratum(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _idea(raw: Mapping[str, Any], default_id: str | None, shared: tuple[Work, ...]) -> Idea:
    return Idea(
        id=str(raw["id"]) if "id" in raw else default_id or "",
        title=raw.get("title", ""),
        text=raw["text"],
        area=raw.get("area"),
        year=raw.get("year"),
        source=raw.get("source"),
        generator=raw.get("generator"),
        system=raw.get("system"),
        renderings={name: _rendering(value) for name, value in raw.get("renderings", {}).items()},
        related_work=(*_works(raw.get("related_work", ())), *shared),
        metadata=raw.get("metadata", {}),
    )


def _rendering(value: str | Mapping[str, str]) -> str:
    """A rendering given as named parts becomes paragraphs that name them."""
    if isinstance(value, str):
        return value
    return "\n\n".join(f"{name.capitalize()}: {text}" for name, text in value.items())


def _works(raw: Iterable[Mapping[str, Any]]) -> tuple[Work, ...]:
    return tuple(Work(work["title"], work.get("text", ""), work.get("year")) for work in raw)


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
    return _bare_suite(rows, path, name, _file_digest(path).hex())


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
    instances = _load_instances(rows, path, "pointwise", labelled=False)
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
        title="Unlabelled ideas",
    )


__all__ = [
    "MAX_LINE_BYTES",
    "check_variants",
    "embedded_suites",
    "load_suite",
    "read_jsonl",
    "resolve_suite",
]
