"""The store keeps what was paid for: across processes, against damage, without touching what is not its own."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from pytest_novelty.digests import canonical_json
from pytest_novelty.errors import StoreError
from pytest_novelty.model import Document, Record
from pytest_novelty.store import MemoryStore, SqliteStore, record_to_dict

Change = Callable[[Path], None]

BASE = Record("k", "judge", "1", "suite", "reference", "i1", "ab", 0, 1, "ok", "", "", '"{}"', "x")
RICH = BASE._replace(
    key="rich",
    order=None,
    seed=2**32 - 1,
    score=-0.1,
    abstained=True,
    reason="na\u00efve \u4e2d\u6587 \U0001f92f a\x00b",
    retrieved=(Document("1", "T\u00eate", "2016"), Document()),
    model="m",
    tokens_in=0,
    tokens_out=2**40,
    cost_usd=1e-9,
    latency_s=1.5,
    retries=2,
    parts="judge=1",
    created="2026-01-01T00:00:00Z",
)


@pytest.fixture(params=["memory", "file"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Any:
    made = MemoryStore() if request.param == "memory" else SqliteStore(tmp_path / "sub" / "verdicts.sqlite")
    yield made
    made.close()


@pytest.mark.parametrize(
    "record", [BASE, RICH, BASE._replace(retrieved=()), BASE._replace(instance="\u00e9 \U0001f92f")]
)
def test_round_trip(record: Record, store: Any) -> None:
    store.put([record])
    assert store.get([record.key, "absent"]) == {record.key: record}
    assert store.at_slot(record.judge, record.suite, record.instance) == [record]
    assert json.loads(json.dumps(record_to_dict(record)))["key"] == record.key


def test_an_answer_with_a_lone_surrogate_survives(store: Any) -> None:
    answer = 'a\ud800b\udfff\x00 {"novel": true}'
    store.put([BASE._replace(raw=canonical_json(answer), reason="a\ud800", message="\udfff")])
    found = store.get(["k"])["k"]
    assert json.loads(found.raw) == answer
    assert found.reason.startswith("a")


def test_an_instance_id_with_a_lone_surrogate_is_found_again(store: Any) -> None:
    store.put([BASE._replace(instance="\ud800")])
    assert len(store.at_slot("judge", "suite", "\ud800")) == 1


def test_a_key_that_exists_is_replaced(store: Any) -> None:
    store.put([BASE, BASE._replace(label="y")])
    store.put([BASE._replace(label="z")])
    assert [record.label for record in store.at_slot("judge", "suite", "i1")] == ["z"]


def test_more_keys_than_one_query_holds(store: Any) -> None:
    records = [BASE._replace(key=f"k{number:04}", sample=number) for number in range(1201)]
    store.put(records)
    assert store.get([record.key for record in records]) == {record.key: record for record in records}


def test_slots_are_apart(store: Any) -> None:
    others = [BASE._replace(key=f"{name}", **{name: "other"}) for name in ("judge", "suite", "instance")]
    store.put([BASE, *others])
    assert store.at_slot("judge", "suite", "i1") == [BASE]


def test_records_outlive_the_connection_and_are_seen_by_others(tmp_path: Path) -> None:
    first, second = SqliteStore(tmp_path / "s"), SqliteStore(tmp_path / "s")
    first.put([RICH])
    assert second.get(["rich"]) == {"rich": RICH}
    first.close()
    second.put([BASE])
    second.close()
    third = SqliteStore(tmp_path / "s", check=True)
    assert sorted(third.records(), key=lambda record: record.key) == [BASE, RICH]
    third.close()


def test_exports_of_equal_content_are_equal(tmp_path: Path) -> None:
    records = [BASE._replace(key=str(n), instance=f"i{n % 3}", sample=n) for n in range(9)]
    exports = []
    for name, rows in (("a", records), ("b", records[::-1])):
        made = SqliteStore(tmp_path / name)
        made.put(rows)
        exports.append(list(made.records()))
        made.close()
    assert exports[0] == exports[1]


def test_threads_share_one_store(store: Any) -> None:
    def write(number: int) -> None:
        for sample in range(20):
            store.put([BASE._replace(key=f"{number}-{sample}")])

    threads = [Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.at_slot("judge", "suite", "i1")) == 160


# --- several processes ------------------------------------------------------------------------------------------

WRITER = f"""
import os, sys, time
sys.path[:0] = {sys.path!r}
from dataclasses import replace
from pathlib import Path
from pytest_novelty.model import Record
from pytest_novelty.store import SqliteStore
BASE = Record("k", "judge", "1", "suite", "reference", "i1", "ab", 0, 1, "ok", "", "", '"{{}}"', "x")
path, name = Path(sys.argv[1]), sys.argv[2]
print("ready", flush=True)
sys.stdin.readline()
store = SqliteStore(path)
for number in range(25):
    store.put([BASE._replace(key=f"{{name}}-{{number}}")])
print("done", flush=True)
sys.stdin.readline()
"""


def start(path: Path, name: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITER, str(path), name]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def say(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    process.stdin.write("go\n")
    process.stdin.flush()


def heard(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def count(path: Path) -> int:
    store = SqliteStore(path, check=True)
    found = len(store.at_slot("judge", "suite", "i1"))
    store.close()
    return found


def test_eight_processes_open_and_write_one_new_file_at_once(tmp_path: Path) -> None:
    path = tmp_path / "new" / "verdicts.sqlite"
    processes = [start(path, f"p{number}") for number in range(8)]
    assert [heard(process) for process in processes] == ["ready"] * 8
    for process in processes:
        say(process)
    errors = [process.communicate("go\n", timeout=120)[1] for process in processes]
    assert errors == [""] * 8
    assert count(path) == 8 * 25


def test_what_was_committed_survives_kill_9(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.sqlite"
    process = start(path, "p")
    assert heard(process) == "ready"
    say(process)
    assert heard(process) == "done"
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    assert count(path) == 25


# --- files that are no store, and damage ------------------------------------------------------------------------


def make_store(path: Path) -> None:
    store = SqliteStore(path)
    store.put([BASE._replace(key=f"{number:06}", reason="r" * 200) for number in range(2000)])
    store.close()


def foreign(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE theirs (a)")
    connection.commit()
    connection.close()


def of_format(version: int) -> Change:
    def change(path: Path) -> None:
        make_store(path)
        connection = sqlite3.connect(path)
        connection.execute(f"PRAGMA user_version={version}")
        connection.close()

    return change


def cut(path: Path) -> None:
    make_store(path)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def overwrite(path: Path) -> None:
    make_store(path)
    data = bytearray(path.read_bytes())
    data[8192:-8192] = b"\xa5" * (len(data) - 16384)
    path.write_bytes(data)


UNUSABLE: dict[str, tuple[Change, str]] = {
    "a short text": (lambda path: path.write_text("hello") and None, "not a verdict store or is damaged"),
    "a long text": (lambda path: path.write_text("hello\n" * 5000) and None, "not a verdict store or is damaged"),
    "a header alone": (lambda path: path.write_bytes(b"SQLite format 3\0" + b"\0" * 200) and None, "damaged"),
    "cut in half": (cut, "damaged"),
    "pages overwritten": (overwrite, "damaged"),
    "another program's": (foreign, "another program"),
    "a later format": (of_format(99), "format 99"),
    "an earlier format": (of_format(0), "format 0"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_what_cannot_be_used_is_left_as_it_is(name: str, tmp_path: Path) -> None:
    make, told = UNUSABLE[name]
    path = tmp_path / "verdicts.sqlite"
    make(path)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=told) as caught:
        SqliteStore(path, check=True)
    assert caught.value.path == path
    assert caught.value.hint
    assert path.read_bytes() == before
    assert [item.name for item in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize(
    "use",
    [
        lambda store: store.get([f"{number:06}" for number in range(2000)]),
        lambda store: list(store.records()),
        lambda store: store.put([BASE._replace(key=f"{number:06}") for number in range(2000)]),
    ],
    ids=["get", "records", "put"],
)
def test_damage_met_later_is_a_store_error(use: Callable[[SqliteStore], object], tmp_path: Path) -> None:
    path = tmp_path / "verdicts.sqlite"
    overwrite(path)
    store = SqliteStore(path)
    with pytest.raises(StoreError, match="cannot be"):
        use(store)
    store.close()


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "verdicts.sqlite"
    path.touch()
    SqliteStore(path).close()
    SqliteStore(path, check=True).close()


@pytest.mark.parametrize("name", ["folder", "file/below/verdicts.sqlite"])
def test_a_place_that_cannot_hold_a_file(name: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match="--novelty-store") as caught:
        SqliteStore(tmp_path / name)
    assert caught.value.path == tmp_path / name


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(StoreError, match="--novelty-store"):
            SqliteStore(tmp_path / "verdicts.sqlite")
    finally:
        tmp_path.chmod(0o700)


def test_a_failed_put_keeps_nothing(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path / "s")
    with pytest.raises((StoreError, OverflowError)):
        store.put([BASE, RICH._replace(tokens_in=2**70)])
    assert store.get(["k", "rich"]) == {}
    store.put([BASE])
    assert store.get(["k"]) == {"k": BASE}
    store.close()


def test_a_store_that_another_run_is_just_creating_is_no_strange_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between our reading of the application id and of the tables, another process finishes creating the store."""
    path = tmp_path / "verdicts.sqlite"
    begun = sqlite3.connect(path)
    begun.execute("PRAGMA journal_mode=WAL")  # as far as the other one has come: the file is there, nothing is in it
    begun.close()
    connect = sqlite3.connect
    finished = []

    class Overtaken(sqlite3.Connection):
        def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
            if sql == "PRAGMA user_version" and not finished:
                finished.append(True)
                SqliteStore(path).close()
            return super().execute(sql, *values)

    def overtaken(*args: Any, **options: Any) -> sqlite3.Connection:
        return connect(*args, **options, factory=Overtaken)

    monkeypatch.setattr(sqlite3, "connect", overtaken)
    SqliteStore(path).close()
    assert finished


@pytest.mark.parametrize(
    ("version", "absent"),
    [(2, ["grounds"]), (1, ["grounds", "settings", "tokens_reasoning", "tokens_cached"])],
)
def test_a_store_of_an_earlier_format_is_brought_up(version: int, absent: list[str], tmp_path: Path) -> None:
    path = tmp_path / "verdicts.sqlite"
    store = SqliteStore(path)
    store.put([BASE, RICH])
    store.close()
    connection = sqlite3.connect(path)
    for column in absent:
        connection.execute(f"ALTER TABLE records DROP COLUMN {column}")
    connection.execute(f"PRAGMA user_version={version}")
    connection.commit()
    connection.close()
    store = SqliteStore(path)
    grounded = BASE._replace(key="new", grounds='[[["a"],["verbatim"],[""],true]]')
    store.put([grounded])
    assert store.get(["k", "rich", "new"]) == {"k": BASE, "rich": RICH, "new": grounded}
    store.close()
