"""Find, load and validate suites: folders with ``suite.yaml``, single files, files that extend another suite, and ideas
without a ``suite.yaml``.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from pytest_novelty.contrast import check_contrast, parse_contrast
from pytest_novelty.data import data_folder
from pytest_novelty.digests import digest_of
from pytest_novelty.errors import NoveltyError, Problems, SuiteError, UnknownNameError
from pytest_novelty.ideas import TEXT_SUFFIXES, RawIdea, read_ideas_file, read_texts
from pytest_novelty.instances import load_instances
from pytest_novelty.jsonl import file_digest, read_jsonl
from pytest_novelty.model import (
    REFERENCE,
    Axes,
    Contrast,
    Instance,
    Json,
    Suite,
    Variant,
)
from pytest_novelty.profiles import DEFAULT, check_profile
from pytest_novelty.protocols import get_protocol
from pytest_novelty.strict_yaml import Document, read_yaml
from pytest_novelty.validation import compile_check, explain_all, load_schema
from pytest_novelty.variants import check_content, read_variants

_MOST_EXTENSIONS: Final = 20
"""Files that extend one another: each is read inside the one before."""


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
    looks_like_path = "/" in name or "\\" in name or Path(name).suffix in (".yaml", ".yml", ".jsonl", *TEXT_SUFFIXES)
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


def _load_described(path: Path, extended_by: tuple[Path, ...] = ()) -> Suite:
    document = read_yaml(path, SuiteError)
    head: dict[str, Any] = document.value if isinstance(document.value, dict) else {}
    if isinstance(head.get("format"), str) and head["format"] != "novelty-suite/1":
        raise SuiteError(
            f"format is {head['format']!r}, this version reads 'novelty-suite/1'",
            path=path,
            line=document.line_of(("format",)),
        )
    schema = load_schema("suite")
    if "extends" in head:
        schema = {"$ref": "#/$defs/extension", "$defs": schema["$defs"]}
    _require(document.value, schema, document, path)
    if head.get("name", "").endswith("\n"):
        raise SuiteError("name ends with a line break", path=path, line=document.line_of(("name",)))
    if "extends" in head:
        return _extend(document, extended_by)
    try:
        protocol = get_protocol(head["protocol"])
    except UnknownNameError as error:
        raise SuiteError(error.message, path=path, line=document.line_of(("protocol",)), hint=error.hint) from None
    problems = Problems()
    content = hashlib.blake2b(path.read_bytes(), digest_size=16)
    source = head["instances"]
    if isinstance(source, str):
        rows_path = path.parent / source
        if not rows_path.is_file():
            raise SuiteError(
                f"the instances file {source!r} does not exist", path=path, line=document.line_of(("instances",))
            )
        content.update(file_digest(rows_path))
        rows: Iterable[tuple[int | None, Json]] = read_jsonl(rows_path, SuiteError, problems)
    else:
        rows_path = path
        rows = ((document.line_of(("instances", index)), row) for index, row in enumerate(source))
    labelled = head["label_kind"] != "none"
    instances = load_instances(rows, rows_path, protocol.name, labelled=labelled, problems=problems)
    instances, blocked = _without_blocked(instances, document)
    suite = Suite(
        name=head["name"],
        version=head["version"],
        protocol=protocol.name,
        label_kind=head["label_kind"],
        instances=instances,
        variants=read_variants(document, protocol.name),
        digest=content.hexdigest(),
        path=path,
        folder=path.parent,
        title=head.get("title", ""),
        licence=head.get("licence", ""),
        provenance=head.get("provenance", ""),
        gates=tuple(head.get("gates", ())),
        cluster=head.get("cluster"),
        blocklist=blocked,
        profile=_read_profile(document, protocol.name, DEFAULT),
        metadata=head.get("metadata", {}),
    )
    _check_cluster(suite, document)
    suite = replace(suite, contrast=_read_contrast(suite, document))
    _check(suite, document)
    return suite


def _extend(document: Document, extended_by: tuple[Path, ...]) -> Suite:
    """The suite that ``extends`` names, with this file's defaults, variants and gates added, and what it blocks left out.

    It keeps its name unless the file gives another, so that verdicts on it that are stored serve both.
    """
    path, head = document.path, document.value
    base = _load_extended(document, (*extended_by, path.resolve()))
    instances, blocked = _without_blocked(base.instances, document)
    suite = replace(
        base,
        instances=instances,
        blocklist={**base.blocklist, **blocked},
        name=head.get("name", base.name),
        version=head.get("version", base.version),
        title=head.get("title", base.title),
        variants=read_variants(document, base.protocol, base.variants),
        gates=tuple(head.get("gates", ())),
        profile=_read_profile(document, base.protocol, base.profile),
        digest=hashlib.blake2b(path.read_bytes() + base.digest.encode(), digest_size=16).hexdigest(),
        folder=path.parent,
        extension=path,
    )
    if "contrast" in head:
        suite = replace(suite, contrast=_read_contrast(suite, document))
    _check(suite, document)

    from pytest_novelty.gates import gates_for, parse_gate

    gates = gates_for(replace(suite, gates=base.gates), [parse_gate(text) for text in suite.gates])
    return replace(suite, gates=tuple(gate.text for gate in gates))


def _load_extended(document: Document, extended_by: tuple[Path, ...]) -> Suite:
    name: str = document.value["extends"]
    line = document.line_of(("extends",))
    if len(extended_by) > _MOST_EXTENSIONS:
        raise SuiteError(
            f"{_MOST_EXTENSIONS} files extend one another already: {_chain(extended_by)}",
            path=document.path,
            line=line,
            hint=f"Let {_short(extended_by[0])} extend the suite at the end of the chain, and take over what is between",
        )
    known = embedded_suites()
    path = known.get(name) or document.path.parent / name
    target = path / "suite.yaml" if (path / "suite.yaml").is_file() else path
    if target.resolve() in extended_by:
        itself = target.resolve() == extended_by[-1]
        message = "extends itself" if itself else f"extends {name!r}, which extends it"
        raise SuiteError(message, path=document.path, line=line)
    if not path.exists():
        error = UnknownNameError("suite", name, known, also=f"No file or folder {path} either")
        raise SuiteError(error.message, path=document.path, line=line, hint=error.hint)
    if target.suffix in (".yaml", ".yml") and target.is_file():
        return _load_described(target, extended_by)
    return load_suite(path)


def _chain(files: tuple[Path, ...]) -> str:
    """The first and the last files of a chain."""
    return ", ".join([*map(_short, files[:3]), "...", *map(_short, files[-2:])])


def _short(file: Path) -> str:
    """The name of a suite's file; with its folder where all are called alike."""
    return f"{file.parent.name}/{file.name}" if file.name == "suite.yaml" else file.name


def _without_blocked(
    instances: tuple[Instance, ...], document: Document
) -> tuple[tuple[Instance, ...], dict[str, str]]:
    """The instances without those on the blocklist, and the reasons of these."""
    known = {instance.id for instance in instances}
    blocked: dict[str, str] = {}
    problems = Problems()
    for index, entry in enumerate(document.value.get("blocklist", ())):
        line = document.line_of(("blocklist", index))
        if entry["id"] not in known:
            error = UnknownNameError("instance", entry["id"], known)
            hint = None if error.hint is None else error.hint.partition(" Known:")[0]
            problems.add(
                SuiteError(f"the blocklist names an {error.message}", path=document.path, line=line, hint=hint)
            )
        elif entry["id"] in blocked:
            problems.add(SuiteError(f"the blocklist names {entry['id']!r} twice", path=document.path, line=line))
        blocked[entry["id"]] = entry["reason"]
    problems.raise_any()
    if blocked and len(blocked) == len(instances):
        raise SuiteError(
            "every instance is on the blocklist", path=document.path, line=document.line_of(("blocklist",))
        )
    return tuple(instance for instance in instances if instance.id not in blocked), blocked


def _require(value: Json, schema: Mapping[str, Any], document: Document, path: Path) -> None:
    """Raise the explanations of a value that does not fit its schema, with their lines."""
    if compile_check(schema)(value):
        return
    problems = Problems()
    axes = set(schema["$defs"]["axes"]["properties"]) - {"format"}  # of a suite: that of the file
    for sentence, place in explain_all(value, schema):
        hint = None
        if len(place) == 1 and place[0] in axes:
            hint = f"Write {place[0]}: under defaults:, which hold for the whole suite, or in a variant"
        if isinstance(value, dict) and "format" not in value and not place:
            hint = "A suite begins with format: novelty-suite/1, a judge with novelty-judge/1, a prompt with novelty-prompt/1"
        problems.add(SuiteError(sentence, path=path, line=document.line_of(place), hint=hint))
    problems.raise_any()


def _check(suite: Suite, document: Document) -> None:
    """What rests on several parts of a suite. What a variant cannot show is an error only where one is asked for it."""
    check_content(suite, [suite.variants[REFERENCE]])
    _check_gates(suite, document)


def _read_profile(document: Document, protocol: str, otherwise: str) -> str:
    profile: str = document.value.get("profile", otherwise)
    try:
        check_profile(profile, protocol)
    except NoveltyError as error:
        line = document.line_of(("profile",))
        raise SuiteError(error.message, path=document.path, line=line, hint=error.hint) from None
    return profile


def _read_contrast(suite: Suite, document: Document) -> Contrast | None:
    text = document.value.get("contrast")
    if text is None:
        return None
    try:
        contrast = parse_contrast(text)
        check_contrast(suite, contrast)
    except NoveltyError as error:
        raise SuiteError(
            error.message,
            path=document.path,
            line=document.line_of(("contrast",)),
            instance=error.instance,
            hint=error.hint,
        ) from None
    return contrast


def _check_cluster(suite: Suite, document: Document) -> None:
    if suite.cluster is None:
        return
    problems = Problems()
    for instance in suite.instances:
        if suite.cluster not in instance.strata:
            problems.add(
                SuiteError(
                    f"has no stratum {suite.cluster!r}, by which the suite is clustered",
                    path=suite.path,
                    line=document.line_of(("cluster",)),
                    instance=instance.id,
                )
            )
    problems.raise_any()


def _check_gates(suite: Suite, document: Document) -> None:
    from pytest_novelty.gates import check_gate_names, parse_gate

    problems = Problems()
    for index, text in enumerate(suite.gates):
        try:
            check_gate_names(parse_gate(text), suite)
        except NoveltyError as error:
            line = document.line_of(("gates", index))
            problems.add(SuiteError(error.message, path=document.path, line=line, hint=error.hint))
    problems.raise_any()


# --- bare ideas ---------------------------------------------------------------------------------------------


def _load_bare(path: Path, name: str) -> Suite:
    """One idea a line, without labels."""
    rows = [
        (
            idea.line,
            {"id": idea.name or digest_of([idea.value.get("title", ""), idea.value["text"]], 6), "idea": idea.value},
        )
        for idea in read_ideas_file(path)
    ]
    return _bare_suite(rows, path, name, file_digest(path).hex())


def _load_texts(folder: Path) -> Suite:
    """Every text of a folder is one idea, known by the name of its file."""
    seen: dict[str, RawIdea] = {}
    rows: list[tuple[int | None, Json]] = []
    for idea in read_texts(folder):
        if idea.name in seen:
            first = seen[idea.name].path.name
            raise SuiteError(f"the id {idea.name!r} occurs twice: {first} and {idea.path.name}", path=idea.path)
        seen[idea.name] = idea
        rows.append((None, {"id": idea.name, "idea": idea.value}))
    if not rows:
        raise SuiteError("has neither suite.yaml nor ideas.jsonl nor any .txt or .md file", path=folder)
    return _bare_suite(rows, folder, folder.resolve().name, digest_of(rows))


def _bare_suite(rows: list[tuple[int | None, Json]], path: Path, name: str, content: str) -> Suite:
    instances = load_instances(rows, path, "pointwise", labelled=False)
    shows_work = any(idea.related_work for instance in instances for idea in instance.ideas)
    axes = Axes(prompt="pointwise/reference", related_work=shows_work)
    return Suite(
        name=name_of_suite(name),
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


def name_of_suite(text: str) -> str:
    """A text as a suite may be called."""
    return re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-.")[:60] or "ideas"
