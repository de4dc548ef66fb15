"""``pytest-novelty validate | export``: what is done with files, outside a test run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pytest_novelty.errors import NoveltyError, SettingsError


def main(argv: Sequence[str] | None = None) -> int:
    """Run a subcommand. 0: done; 1: something checked is not valid; 2: usage; 4: it could not be done."""
    parser = _make_parser()
    arguments = parser.parse_args(argv)
    try:
        status: int = arguments.run(arguments)
    except NoveltyError as error:
        print(f"pytest-novelty: {error}", file=sys.stderr)
        return 4
    except BrokenPipeError:  # the reader of our output has seen enough
        sys.stderr.close()
        return 0
    return status


def _make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pytest-novelty", description="Suites, prompts and records of novelty judges."
    )
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    validate = commands.add_parser(
        "validate", help="check suites, prompts and judge files", description=validate_paths.__doc__
    )
    validate.add_argument("paths", nargs="+", type=Path, metavar="PATH")
    validate.set_defaults(run=lambda arguments: validate_paths(arguments.paths))
    export = commands.add_parser(
        "export", help="write stored records as JSON lines", description=export_records.__doc__
    )
    export.add_argument("--store", type=Path, default=None, help="the store file (.novelty/verdicts.sqlite)")
    export.add_argument("--out", type=Path, default=None, help="the file to write; default: standard output")
    export.add_argument("--judge", default=None, help="only this judge's records")
    export.add_argument(
        "--no-text", action="store_true", help="leave out answers, reasons and messages: for unpublished ideas"
    )
    export.set_defaults(
        run=lambda arguments: export_records(arguments.store, arguments.out, arguments.judge, arguments.no_text)
    )
    return parser


def validate_paths(paths: Sequence[Path]) -> int:
    """Check suites (folders with suite.yaml, .yaml, .jsonl, folders of texts), prompts and judge files (.yaml); folders are
    searched.
    """
    wrong = checked = 0
    for path in paths:
        targets = _targets(path)
        if not targets:
            print(f"{path}: nothing to check: no suite and no prompt is here")
            wrong += 1
        for target in targets:
            checked += 1
            try:
                print(f"{target}: {_check(target)}")
            except NoveltyError as error:
                print(f"ERROR {error if error.where else f'{target}: {error}'}")
                wrong += 1
    print(f"{checked} checked, {wrong} not valid")
    return 1 if wrong else 0


def _targets(path: Path) -> list[Path]:
    """The suites and prompts at or below a path."""
    if not path.is_dir():
        return [path]
    if (path / "suite.yaml").is_file() or (path / "ideas.jsonl").is_file():
        return [path]
    found = [suite.parent for suite in sorted(path.rglob("suite.yaml"))]
    found += [ideas.parent for ideas in sorted(path.rglob("ideas.jsonl"))]
    found += [file for file in sorted(path.rglob("*.yaml")) if _declared_format(file) in ("prompt", "judge")]
    return found or ([path] if any(file.suffix in (".txt", ".md") for file in path.iterdir()) else [])


def _declared_format(path: Path) -> str:
    """``prompt``, ``judge``, ``suite`` or nothing, by the first ``format:`` of a file; data of other kinds is left alone."""
    try:
        head = path.read_text(encoding="utf-8", errors="replace")[:4000]
    except OSError:
        return ""
    for line in head.splitlines():
        if line.startswith("format:"):
            return next((kind for kind in ("prompt", "judge", "suite") if f"novelty-{kind}/" in line), "")
    return ""


def _check(path: Path) -> str:
    """Validate one file or folder; what it is, in a line. Raises NoveltyError."""
    from pytest_novelty.judges.llm.files import load_judge_file
    from pytest_novelty.prompts import check_prompt, load_prompt, resolve_prompt
    from pytest_novelty.suites import check_variants, load_suite

    if path.is_file() and _declared_format(path) == "prompt":
        prompt = load_prompt(path)
        check_prompt(prompt)
        return f"{prompt.protocol.name} prompt {prompt.name} {prompt.version}"
    if path.is_file() and _declared_format(path) == "judge":
        settings = load_judge_file(path)
        for name in settings.prompts:
            check_prompt(resolve_prompt(settings.prompts[name], settings.folder, name))
        return f"judge {settings.name}, {settings.provider}:{settings.model}"
    suite = load_suite(path)
    check_variants(suite, suite.variants.values())
    for name in sorted({variant.axes.prompt for variant in suite.variants.values()}):
        check_prompt(resolve_prompt(name, suite.folder, suite.protocol))
    labels = f"labels: {suite.label_kind}" if suite.labelled else "no labels"
    return f"{suite.protocol} suite {suite.name} {suite.version}, {len(suite.instances)} instances, {labels}"


def export_records(store: Path | None, out: Path | None, judge: str | None, no_text: bool = False) -> int:
    """Write every record of a store, one JSON object a line, sorted, ASCII: a cassette for --novelty-offline
    --novelty-store FILE, and for --novelty-judge replay:FILE. Two exports of equal records are equal files.
    """
    from pytest_novelty.cassette import without_texts
    from pytest_novelty.digests import canonical_json
    from pytest_novelty.reports.as_dict import write_atomically
    from pytest_novelty.settings import DEFAULT_STORE
    from pytest_novelty.store import SqliteStore, record_to_dict

    path = store or Path(DEFAULT_STORE)
    if not path.is_file():
        raise SettingsError("there is no store", path=path, hint="Name one with --store")
    opened = SqliteStore(path)
    try:
        written = without_texts if no_text else record_to_dict
        lines = (canonical_json(written(record)) for record in opened.records() if judge in (None, record.judge))
        if out is None:
            for line in lines:
                print(line)
            return 0
        records = list(lines)
        write_atomically(out, "".join(f"{line}\n" for line in records))
        print(f"{len(records)} records written to {out}")
        return 0
    finally:
        opened.close()
