"""``pytest-novelty export`` and ``pytest-novelty store info | gc | merge | export | import``."""

from __future__ import annotations

import argparse
import datetime as dt
import json
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pytest_novelty.errors import SettingsError, StoreError
from pytest_novelty.settings import DEFAULT_STORE

if TYPE_CHECKING:
    from pytest_novelty.model import Record

_SQLITE: Final = b"SQLite format 3\0"


def add_export(commands: Any) -> None:
    """``export``, as a command of its own and below ``store``."""
    export = commands.add_parser(
        "export", help="write stored records as JSON lines", description=export_records.__doc__
    )
    _add_place(export)
    export.add_argument("--out", type=Path, default=None, help="the file to write; default: standard output")
    export.add_argument("--judge", default=None, help="only this judge's records")
    export.add_argument(
        "--no-text", action="store_true", help="leave out answers, reasons and messages: for unpublished ideas"
    )
    export.set_defaults(
        run=lambda arguments: export_records(arguments.store, arguments.out, arguments.judge, arguments.no_text)
    )


def add_store(commands: Any) -> None:
    store = commands.add_parser("store", help="look after the store of verdicts").add_subparsers(
        required=True, metavar="COMMAND"
    )
    info = store.add_parser("info", help="what is in it", description=show_info.__doc__)
    _add_place(info)
    info.add_argument("--json", action="store_true", help="the same as one JSON object")
    info.set_defaults(run=show_info)

    gc = store.add_parser("gc", help="take out what no run needs", description=collect_garbage.__doc__)
    _add_place(gc)
    gc.add_argument("--keep-versions", type=_whole, metavar="N", help="all but the N newest versions of each judge")
    gc.add_argument("--older-than", type=_whole, metavar="DAYS", help="answers older than so many days")
    gc.add_argument("--judge", default=None, help="only this judge's records")
    gc.add_argument("--yes", action="store_true", help="do it; without this only what would go is shown")
    gc.set_defaults(run=collect_garbage)

    merge = store.add_parser("merge", help="put stores together", description=merge_into_one.__doc__)
    merge.add_argument("first", type=Path, metavar="A", help="the store that grows, unless --out names another")
    merge.add_argument("others", type=Path, nargs="*", metavar="B", help="stores, or exports in .jsonl")
    merge.add_argument("--out", type=Path, default=None, metavar="STORE", help="a new store to add all of them to")
    merge.set_defaults(run=merge_into_one)
    add_export(store)

    imported = store.add_parser("import", help="read exports back in", description=import_exports.__doc__)
    imported.add_argument("files", type=Path, nargs="+", metavar="FILE", help="what export wrote (.jsonl)")
    _add_place(imported)
    imported.set_defaults(run=import_exports)


def _add_place(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--store", type=Path, default=None, help=f"the store file ({DEFAULT_STORE})")


def _whole(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 5 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 to 99999")
    return int(text)


def export_records(store: Path | None, out: Path | None, judge: str | None, no_text: bool = False) -> int:
    """Write every record of a store, one JSON object a line, sorted, ASCII: a cassette for --novelty-offline
    --novelty-store FILE, and for --novelty-judge replay:FILE. Two exports of equal records are equal files. The first line says
    what the file is, the last one counts its records: a file that was cut is refused.
    """
    from pytest_novelty.cassette import without_texts
    from pytest_novelty.digests import canonical_json
    from pytest_novelty.exports import FRAME, framed
    from pytest_novelty.keeping.inventory import BY_OPTION
    from pytest_novelty.reports.as_dict import write_atomically
    from pytest_novelty.store import SqliteStore, record_to_dict

    path = store or Path(DEFAULT_STORE)
    if not path.is_file():
        raise SettingsError("there is no store", path=path, hint="Name one with --store")
    if out is not None and _is_database(out):
        raise SettingsError(
            "is a database, a store perhaps: an export would take its place", path=out, hint="Give --out another name"
        )
    opened = SqliteStore(path, elsewhere=BY_OPTION)
    try:
        written = without_texts if no_text else record_to_dict

        def line_of(record: Record) -> str:
            try:
                return f"{canonical_json(written(record))}\n"
            except ValueError:
                _refuse_number(record, path)
                raise

        lines = framed(line_of(record) for record in opened.records() if judge in (None, record.judge))
        if out is None:
            sys.stdout.writelines(lines)
            return 0
        count = write_atomically(out, lines) - FRAME
        print(f"{count} records written to {out}")
        return 0
    finally:
        opened.close()


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError:  # not there, or a folder: said where it is written
        return False


def _refuse_number(record: Record, path: Path) -> None:
    """Raise StoreError for a number that JSON cannot say."""
    for name, value in record._asdict().items():
        if isinstance(value, float) and not math.isfinite(value):
            raise StoreError(
                f"the record of {record.judge} on {record.suite} {record.instance} has the {name} {value}, which no export "
                f"can hold",
                path=path,
                hint=f"Set {name} of the record with the key {record.key!r} to what it was, or NULL, with sqlite3",
            ) from None


def show_info(arguments: argparse.Namespace) -> int:
    """Size, judges with their versions, suites, served models, ages and what it cost."""
    from pytest_novelty.keeping.inventory import show_inventory, take_inventory

    found = take_inventory(arguments.store or Path(DEFAULT_STORE))
    if arguments.json:
        print(json.dumps(found.to_dict(), indent=1))
    else:
        _print(show_inventory(found))
    return 0


def collect_garbage(arguments: argparse.Namespace) -> int:
    """Find failed calls (any run asks them again), and what the options name beside them; with --yes remove it for good.
    Other answers are never touched: they were paid for.
    """
    from pytest_novelty.keeping.disposal import Wanted, dispose, show_disposal

    path = arguments.store or Path(DEFAULT_STORE)
    wanted = Wanted(arguments.keep_versions, arguments.older_than, arguments.judge)
    _print(show_disposal(path, dispose(path, wanted, now=dt.datetime.now(dt.UTC), remove=arguments.yes)))
    return 0


def merge_into_one(arguments: argparse.Namespace) -> int:
    """Add to A what it lacks of the others: stores of several machines or CI shards. No answer is ever overwritten. Where two
    differ, that of A stays, the difference is shown, and the status is 1. A file that exists is no --out: its answers would stay.
    """
    if arguments.out is not None:
        if arguments.out.exists():
            raise SettingsError(
                "--out names a file that exists",
                path=arguments.out,
                hint="To add to it, name it as A and leave --out out",
            )
        return _merge(arguments.out, [arguments.first, *arguments.others])
    if not arguments.others:
        raise SettingsError("there is nothing to add", path=arguments.first, hint="Name another store, or --out")
    if not arguments.first.is_file():
        raise SettingsError("there is no store", path=arguments.first, hint="A new one is made by --out")
    return _merge(arguments.first, arguments.others)


def import_exports(arguments: argparse.Namespace) -> int:
    """Add the records of exports to a store, which is made if it is not there. No answer is ever overwritten. Where two differ,
    that of the store stays, the difference is shown, and the status is 1.
    """
    from pytest_novelty.cassette import SUFFIX

    for file in arguments.files:
        if file.suffix != SUFFIX:
            raise SettingsError(
                f"is no export: these end in {SUFFIX}", path=file, hint="Stores are added by store merge"
            )
    return _merge(arguments.store or Path(DEFAULT_STORE), arguments.files)


def _merge(target: Path, sources: list[Path]) -> int:
    from pytest_novelty.keeping.merging import merge_stores, show_merged

    conflicting = 0
    for merged in merge_stores(target, sources):
        _print(show_merged(merged))
        conflicting += merged.conflicting
    return 1 if conflicting else 0


def _print(lines: Any) -> None:
    for line in lines:
        print(line.encode("utf-8", "backslashreplace").decode())
