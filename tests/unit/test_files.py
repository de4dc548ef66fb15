"""What is written in one step: the old file or the new one, the same bytes everywhere, and nothing beside it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty.errors import GoldenError, SettingsError
from pytest_novelty.files import write_atomically


def names(folder: Path) -> list[str]:
    return sorted(item.name for item in folder.iterdir())


def test_a_text_or_its_parts(tmp_path: Path) -> None:
    path = tmp_path / "new" / "a.txt"
    assert write_atomically(path, "one\ntwo\n") == 1
    assert write_atomically(path, iter(["\u00e9\n", "two\n", ""]), "utf-8") == 3
    assert path.read_bytes() == b"\xc3\xa9\ntwo\n"
    assert names(path.parent) == ["a.txt"]


def test_line_ends_are_those_of_the_text_on_every_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a system would make of them is built into its Python: as on Windows where nothing is said of them."""
    as_it_was = open

    def on_windows(file: Any, mode: str, *, newline: str | None = None, **more: Any) -> Any:
        return as_it_was(file, mode, newline="\r\n" if newline is None else newline, **more)

    monkeypatch.setattr("builtins.open", on_windows)
    write_atomically(tmp_path / "a.txt", "one\r\ntwo\n")
    assert (tmp_path / "a.txt").read_bytes() == b"one\r\ntwo\n"


def test_it_is_on_the_disk_before_it_takes_the_old_ones_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, seen = tmp_path / "a.txt", []
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", lambda _: seen.append((path.read_text(), len(names(tmp_path)))))
    write_atomically(path, "new")
    assert (seen, path.read_text()) == ([("old", 2)], "new")


def test_the_mode_is_that_of_a_new_file(tmp_path: Path) -> None:
    (tmp_path / "b").touch()
    write_atomically(tmp_path / "a", "x")
    assert (tmp_path / "a").stat().st_mode == (tmp_path / "b").stat().st_mode


@pytest.mark.parametrize("kind", [SettingsError, GoldenError])
def test_the_error_is_of_the_kind_that_was_asked_for(
    kind: type[SettingsError], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.txt"
    path.write_text("old")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(kind, match=r"a\.txt: cannot be written: No space left on device$") as caught:
        write_atomically(path, "new", kind=kind)
    assert type(caught.value) is kind
    assert (path.read_text(), names(tmp_path)) == ("old", ["a.txt"])


def test_what_the_parts_raise_is_raised(tmp_path: Path) -> None:
    def parts() -> Iterator[str]:
        yield "one"
        raise KeyError("two")

    with pytest.raises(KeyError, match="two"):
        write_atomically(tmp_path / "a.txt", parts())
    assert names(tmp_path) == []


def test_leftovers_of_killed_writers_are_taken_away_and_nothing_else(tmp_path: Path) -> None:
    """Not those of one that writes now, of another file (a pattern in a name is no pattern) or of an editor."""
    old = [
        ".a[b].txt.12345678.writing",
        ".a[b].txt.swp",
        ".a[b].txt.~",
        ".ab.txt.12345678.writing",
        ".a[b].txt2.x.writing",
    ]
    for name in (*old, ".a[b].txt.87654321.writing"):
        (tmp_path / name).touch()
    for name in old:
        os.utime(tmp_path / name, (0, 0))
    write_atomically(tmp_path / "a[b].txt", "new")
    assert names(tmp_path) == sorted({*old[1:], ".a[b].txt.87654321.writing", "a[b].txt"})
