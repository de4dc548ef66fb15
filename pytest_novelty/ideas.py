"""Ideas without a ``suite.yaml``: one a line of an ``ideas.jsonl``, or one a file of a folder of texts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

from pytest_novelty.errors import Problems, SuiteError
from pytest_novelty.jsonl import MAX_LINE_BYTES, read_jsonl
from pytest_novelty.validation import compile_check, explain_all, load_schema

TEXT_SUFFIXES: Final = (".txt", ".md")


class RawIdea(NamedTuple):
    """An idea as its file has it: ``value`` fits the schema of an idea, ``name`` is its id there (empty if it has none)."""

    value: dict[str, Any]
    name: str
    path: Path
    line: int | None = None

    @property
    def origin(self) -> str:
        """Where a person finds it, without the folder."""
        return self.path.name if self.line is None else f"{self.path.name}:{self.line}"


def read_ideas(path: Path) -> list[RawIdea]:
    """The ideas of an ``ideas.jsonl``, of a folder that has one, or of a folder of texts. Raises SuiteError."""
    if path.is_dir() and not (path / "ideas.jsonl").is_file():
        return list(read_texts(path))
    return list(read_ideas_file(path / "ideas.jsonl" if path.is_dir() else path))


def read_ideas_file(path: Path) -> Iterator[RawIdea]:
    """An object with ``text`` (and whatever an idea may have) or a string in each line."""
    schema = {"$ref": "#/$defs/idea", "$defs": load_schema("instance")["$defs"]}
    fits = compile_check(schema)
    problems = Problems()
    for line, row in read_jsonl(path, SuiteError, problems):
        idea = {"text": row} if isinstance(row, str) else row
        if not fits(idea):
            hint = (
                "A bare .jsonl holds one idea a line; instances with gold labels need a suite.yaml beside them"
                if isinstance(row, dict) and {"idea", "ideas", "gold"} & set(row)
                else None
            )
            for sentence, _ in explain_all(idea, schema):
                problems.add(SuiteError(sentence, path=path, line=line, hint=hint))
            continue
        yield RawIdea(idea, str(idea.get("id", "")), path, line)
    problems.raise_any()


def read_texts(folder: Path) -> Iterator[RawIdea]:
    """Every .txt and .md file; its first line is the title if a blank line or '#' sets it apart."""
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        raise SuiteError(f"cannot be read: {error.strerror}", path=folder) from None
    for path in paths:
        if path.suffix not in TEXT_SUFFIXES or not path.is_file():
            continue
        if path.stat().st_size > MAX_LINE_BYTES:
            raise SuiteError(f"is longer than {MAX_LINE_BYTES / 1e6:g} MB", path=path)
        try:
            text = path.read_text(encoding="utf-8-sig").strip()
        except UnicodeDecodeError:
            raise SuiteError("is not UTF-8", path=path, hint="Save the file as UTF-8") from None
        except OSError as error:
            raise SuiteError(f"cannot be read: {error.strerror}", path=path) from None
        head, _, rest = text.partition("\n")
        titled = rest.strip() and (head.startswith("#") or rest.startswith("\n")) and len(head) <= 200
        idea = {"title": head.lstrip("# ").strip(), "text": rest.strip()} if titled else {"text": text}
        if not idea["text"]:
            raise SuiteError("is empty", path=path, instance=path.stem)
        yield RawIdea(idea, path.stem, path)
