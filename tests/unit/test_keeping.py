"""``pytest-novelty store``: what is told is what is there, merging overwrites nothing, and nothing goes unasked."""

from __future__ import annotations

import datetime as dt
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty import evaluate
from pytest_novelty.cassette import TEXTS, load_cassette
from pytest_novelty.cli import main
from pytest_novelty.digests import canonical_json
from pytest_novelty.errors import JudgeError, StoreError
from pytest_novelty.exports import framed
from pytest_novelty.judges.replay import load_replay
from pytest_novelty.keeping.disposal import Wanted, dispose
from pytest_novelty.keeping.inventory import size_of, take_inventory
from pytest_novelty.keeping.merging import KEPT_CONFLICTS, merge_stores
from pytest_novelty.model import Document, Record, Suite
from pytest_novelty.store import _FORMAT, SqliteStore, record_to_dict

Said = Callable[..., tuple[int, str, str]]
BASE = Record(
    "k", "judge", "1", "suite", "reference", "i1", "ab", 0, 1, "ok", "", "", '"{}"', "x", cost_usd=0.25,
    created="2026-03-01T00:00:00Z",
)  # fmt: skip
FAILED = BASE._replace(status="timeout", kind="timeout", raw="", label=None, cost_usd=None)
NOW = dt.datetime(2026, 3, 31, tzinfo=dt.UTC)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Said:
    def call(*arguments: object) -> tuple[int, str, str]:
        status = main([str(argument) for argument in arguments])
        return status, *capsys.readouterr()

    return call


def made(path: Path, *records: Record) -> Path:
    store = SqliteStore(path)
    store.put(records)
    store.close()
    return path


def held(path: Path) -> dict[str, Record]:
    store = SqliteStore(path)
    found = {record.key: record for record in store.records()}
    store.close()
    return found


def exported(path: Path, *records: Record) -> Path:
    path.write_text("".join(framed(f"{canonical_json(record_to_dict(record))}\n" for record in records)))
    return path


# --- merge --------------------------------------------------------------------------------------------------------


def test_shards_of_one_run_come_to_what_one_run_stores(
    run: Said, tmp_path: Path, make_suite: Callable[..., Suite], make_instance: Callable[..., Any]
) -> None:
    def judge(request: Any) -> Any:
        if request.sample == 1 and request.order == "ba":
            return {"winner": "neither"}
        return {"answer": {"winner": "AB"[request.seed % 2], "reason": "caf\u00e9 \ud800"}, "latency_s": 0.5}

    judge.version = "1"  # type: ignore[attr-defined]
    instances = [make_instance("pairwise", f"i{k}") for k in range(9)]
    whole = make_suite("pairwise", *instances)
    evaluate({"mine": judge}, whole, votes=2, store=tmp_path / "whole.sqlite")
    shards = []
    for number in range(3):
        part = make_suite("pairwise", *instances[number::3])
        evaluate({"mine": judge}, part, votes=2, store=(shard := tmp_path / f"{number}.sqlite"))
        shards.append(shard)

    def rows(path: Path) -> list[dict[str, Any]]:
        _, *lines, _ = run("export", "--store", path)[1].splitlines()
        return [{**json.loads(line), "created": "", "latency_s": 0} for line in lines]

    target = tmp_path / "all.sqlite"
    status, out, _ = run("store", "merge", *shards, "--out", target)
    assert (status, out) == (0, "".join(f"{shard}: 12 records added\n" for shard in shards))
    assert rows(target) == rows(tmp_path / "whole.sqlite")
    assert len(rows(target)) == 36
    first, again = (
        evaluate({"mine": judge}, whole, votes=2, store=path, offline=True)
        for path in (tmp_path / "whole.sqlite", target)
    )
    assert [result.outcome for result in first.outcomes] == [result.outcome for result in again.outcomes]
    status, out, _ = run("store", "merge", target, *shards[:1])
    assert (status, out) == (0, f"{shards[0]}: 0 records added, 12 there already\n")


def test_the_first_store_grows_and_the_second_stays(run: Said, tmp_path: Path) -> None:
    a, b = (
        made(tmp_path / "a", BASE),
        made(tmp_path / "b", other := BASE._replace(key="k2", retrieved=(Document("1"),))),
    )
    assert run("store", "merge", a, b)[0] == 0
    assert held(a) == {"k": BASE, "k2": other}
    assert held(b) == {"k2": other}


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"label": "y"}, "label 'x' here, 'y' there"),
        ({"score": 0.5}, "score None here, 0.5 there"),
        ({"abstained": True}, "abstained False here, True there"),
        ({"model": "other"}, "model None here, 'other' there"),
        ({"raw": '"[]"'}, "the same verdict in other words"),
        ({"status": "refused", "label": None}, "status 'ok' here, 'refused' there; label 'x' here, None there"),
    ],
)
def test_another_answer_is_a_conflict_and_overwrites_nothing(
    change: dict[str, Any], told: str, run: Said, tmp_path: Path
) -> None:
    a = made(tmp_path / "a", BASE)
    b = made(tmp_path / "b", BASE._replace(**change), BASE._replace(key="k2"))
    status, out, _ = run("store", "merge", a, b)
    assert status == 1
    assert out == (
        f"{b}: 1 record added, 1 conflict: another answer is there, and is kept\n"
        f"  judge on suite i1, reference, order ab, vote 1: {told}\n"
    )
    assert held(a)["k"] == BASE
    assert held(b)["k"] == BASE._replace(**change)


def test_the_same_answer_asked_twice_is_no_conflict(run: Said, tmp_path: Path) -> None:
    later = BASE._replace(created="2026-03-09T00:00:00Z", latency_s=9.0, cost_usd=1.0, tokens_in=7, retries=2)
    a, b = made(tmp_path / "a", BASE), made(tmp_path / "b", later)
    status, out, _ = run("store", "merge", a, b)
    assert (status, out) == (0, f"{b}: 0 records added, 1 there already (1 was asked twice, with the same answer)\n")
    assert held(a) == {"k": BASE}


def test_an_answer_takes_the_place_of_a_failed_call_and_never_the_other_way(tmp_path: Path) -> None:
    a = made(tmp_path / "a", FAILED, BASE._replace(key="k2"), FAILED._replace(key="k3"))
    b = made(tmp_path / "b", BASE, FAILED._replace(key="k2"), FAILED._replace(key="k3", created="later"))
    (merged,) = merge_stores(a, [b])
    assert (merged.filled, merged.failed, merged.added, merged.conflicting) == (1, 2, 0, 0)
    assert held(a) == {"k": BASE, "k2": BASE._replace(key="k2"), "k3": FAILED._replace(key="k3")}


def test_failed_calls_of_both_sides_are_there_already(run: Said, tmp_path: Path) -> None:
    a, b = (
        made(tmp_path / "a", BASE, FAILED._replace(key="k2")),
        made(tmp_path / "b", FAILED, FAILED._replace(key="k3")),
    )
    made(b, FAILED._replace(key="k2", created="2026-03-09T00:00:00Z"))
    assert run("store", "merge", a, b)[:2] == (0, f"{b}: 1 record added, 2 there already\n")


def test_an_export_without_texts_differs_in_nothing(tmp_path: Path) -> None:
    a, b = made(tmp_path / "a", BASE), exported(tmp_path / "b.jsonl", BASE._replace(raw=""))
    (merged,) = merge_stores(a, [b])
    assert (merged.same, merged.repeated, merged.conflicting) == (1, 0, 0)
    assert held(a) == {"k": BASE}


def test_texts_that_had_been_left_out_come_back(run: Said, tmp_path: Path) -> None:
    whole = BASE._replace(reason="since", message="so", retrieved=(Document("1"),))
    other = whole._replace(key="k2", created="2026-03-09T00:00:00Z")
    a = made(tmp_path / "a", whole._replace(**TEXTS), other._replace(key="k2", **TEXTS))
    b = made(tmp_path / "b", whole, other._replace(created=whole.created))
    told = "0 records added, the texts of 1, which had been left out, 1 there already (1 was asked twice, with the same answer)"
    assert run("store", "merge", a, b)[:2] == (0, f"{b}: {told}\n")
    assert held(a) == {"k": whole, "k2": other._replace(**TEXTS)}


def test_more_conflicts_than_a_person_reads(run: Said, tmp_path: Path) -> None:
    records = [BASE._replace(key=f"k{number}", sample=number) for number in range(2500)]
    a = made(tmp_path / "a", *records)
    b = made(tmp_path / "b", *(record._replace(label="y") for record in records))
    status, out, _ = run("store", "merge", a, b)
    assert (status, len(out.splitlines())) == (1, 22)
    assert "2,500 conflicts" in out
    assert out.endswith("  ... and 2,480 more\n")
    assert held(a) == {record.key: record for record in records}
    (merged,) = merge_stores(a, [b])
    assert (merged.conflicting, len(merged.conflicts)) == (2500, KEPT_CONFLICTS)


@pytest.mark.parametrize("names", [("a", "absent"), ("absent", "a"), ("a", "a"), ("a", "notes"), ("a", "b", "a")])
def test_what_cannot_be_merged(names: tuple[str, ...], run: Said, tmp_path: Path) -> None:
    made(tmp_path / "a", BASE)
    made(tmp_path / "b", BASE._replace(key="k2"))
    (tmp_path / "notes").write_text("not a database, and long enough to be looked at" * 30)
    status, out, err = run("store", "merge", *(tmp_path / name for name in names))
    assert (status, out) == (4, "")
    bad = {"absent": "there is no", "notes": "is not a verdict store", "a": "is the store to add to"}
    assert err.startswith(f"pytest-novelty: {tmp_path / (set(names) - {'a', 'b'} or {'a'}).pop()}: ")
    assert any(text in err for text in bad.values())
    assert held(tmp_path / "a") == {"k": BASE}
    assert not (tmp_path / "absent").exists()


@pytest.mark.parametrize("out", ["a", "o", "notes"])
def test_out_is_a_new_store(out: str, run: Said, tmp_path: Path) -> None:
    """What is in an older file would stay before the answers of the first store."""
    a, b = made(tmp_path / "a", BASE), made(tmp_path / "b", BASE._replace(key="k2"))
    made(tmp_path / "o", BASE._replace(label="y"))
    (tmp_path / "notes").write_text("")
    before = (tmp_path / out).read_bytes()
    status, said, err = run("store", "merge", a, b, "--out", tmp_path / out)
    assert (status, said, (tmp_path / out).read_bytes()) == (4, "", before)
    assert err == (
        f"pytest-novelty: {tmp_path / out}: --out names a file that exists. To add to it, name it as A and leave --out out\n"
    )
    made(b, BASE._replace(label="z"))
    status, said, _ = run("store", "merge", a, b, "--out", tmp_path / "new")
    assert (status, "label 'x' here, 'z' there" in said) == (1, True)
    assert held(tmp_path / "new")["k"] == BASE


@pytest.mark.parametrize(
    ("command", "hint"),
    [
        (("info", "--store", "S"), "Name another file with --store"),
        (("gc", "--store", "S"), "Name another file with --store"),
        (("export", "--store", "S"), "Name another file with --store"),
        (("merge", "S", "a"), "Name another file"),
        (("merge", "a", "S"), "Name another file"),
        (("import", "e.jsonl", "--store", "S"), "Name another file"),
    ],
)
def test_a_hint_names_the_option_that_the_command_has(
    command: tuple[str, ...], hint: str, run: Said, tmp_path: Path
) -> None:
    made(tmp_path / "S", BASE)
    made(tmp_path / "a", BASE)
    exported(tmp_path / "e.jsonl", BASE)
    with closing(sqlite3.connect(tmp_path / "S")) as connection:
        connection.execute("PRAGMA user_version=99")
    named = [str(tmp_path / part) if part in ("S", "a", "e.jsonl") else part for part in command]
    status, out, err = run("store", *named)
    assert (status, out) == (4, "")
    assert err == f"pytest-novelty: {tmp_path / 'S'}: has store format 99, this version reads {_FORMAT}. {hint}\n"


def test_an_argument_is_no_option(tmp_path: Path, make_suite: Callable[..., Suite]) -> None:
    (tmp_path / "S").write_bytes(made(tmp_path / "a", BASE).read_bytes())
    with closing(sqlite3.connect(tmp_path / "S")) as connection:
        connection.execute("PRAGMA user_version=99")
    with pytest.raises(StoreError, match=r"Name another file in store=$"):
        evaluate({"mine": lambda _: {"novel": True}}, make_suite("pointwise"), store=tmp_path / "S")


# --- import -------------------------------------------------------------------------------------------------------


def test_import_gives_back_what_export_wrote(run: Said, tmp_path: Path) -> None:
    records = [
        BASE,
        BASE._replace(key="k2", retrieved=(Document("1", "T\u00eate", None),), reason="\U0001f92f"),
        FAILED._replace(key="k3"),
    ]
    a, target = made(tmp_path / "a", *records), tmp_path / "all.jsonl"
    run("store", "export", "--store", a, "--out", target)
    assert run("store", "import", target, "--store", tmp_path / "new" / "b") == (0, f"{target}: 3 records added\n", "")
    assert held(tmp_path / "new" / "b") == held(a)


def test_a_half_readable_export_leaves_no_half_import(run: Said, tmp_path: Path) -> None:
    store = made(tmp_path / "a", BASE)
    lines = [canonical_json(record_to_dict(BASE._replace(key=f"k{n}"))) for n in range(2200)]
    (tmp_path / "bad.jsonl").write_text("\n".join([*lines, '{"judge": 1}']))
    status, _, err = run("store", "import", tmp_path / "bad.jsonl", "--store", store)
    assert status == 4
    assert err.startswith(f"pytest-novelty: {tmp_path / 'bad.jsonl'}:2201: ")
    assert held(store) == {"k": BASE}


def test_an_export_that_was_cut_is_refused_and_leaves_nothing_behind(run: Said, tmp_path: Path) -> None:
    source = made(tmp_path / "a", *(BASE._replace(key=f"k{n}", sample=n) for n in range(5)))
    run("store", "export", "--store", source, "--out", tmp_path / "all.jsonl")
    lines = (tmp_path / "all.jsonl").read_text().splitlines(keepends=True)
    cut, target = tmp_path / "cut.jsonl", tmp_path / "new" / "deep" / "b"
    for kept, line, told in (
        (lines[:4], 4, "was cut: after 3 records the line is missing that counts them"),
        (lines[:2], 2, "was cut: after 1 record the line is missing that counts them"),
        (lines[:1], 1, "was cut: after 0 records the line is missing that counts them"),
        (lines[:3] + lines[4:], 6, "was cut or edited: its last line says 5, and 4 records can be read"),
        (lines[1:4] + lines[5:], 5, "was cut or edited: its last line says 5, and 4 records can be read"),
        (lines[:3] + lines, 4, "was cut: after 2 records the line is missing that counts them"),
        (
            ['{"format": "novelty-records/9"}\n', *lines],
            1,
            "has the format 'novelty-records/9', and this version reads",
        ),
    ):
        cut.write_text("".join(kept))
        status, out, err = run("store", "import", cut, "--store", target)
        assert (status, out) == (4, "")
        assert err.startswith(f"pytest-novelty: {cut}:{line}: {told}")
        assert not (tmp_path / "new").exists()
        with pytest.raises(StoreError, match=told):
            load_cassette(cut)
        with pytest.raises(JudgeError, match=told):
            load_replay(cut)
    cut.write_text("".join(lines * 2))
    assert run("store", "import", cut, "--store", target) == (0, f"{cut}: 5 records added, 5 there already\n", "")


def test_an_error_leaves_what_was_added_before_it(run: Said, tmp_path: Path) -> None:
    good, bad = exported(tmp_path / "good.jsonl", BASE), tmp_path / "bad.jsonl"
    bad.write_text("{}\n")
    assert run("store", "import", good, bad, "--store", tmp_path / "b")[0] == 4
    assert held(tmp_path / "b") == {"k": BASE}
    (tmp_path / "kept").mkdir()
    assert run("store", "import", bad, "--store", tmp_path / "kept" / "b")[0] == 4
    assert list((tmp_path / "kept").iterdir()) == []
    made(tmp_path / "empty")
    assert run("store", "import", bad, "--store", tmp_path / "empty")[0] == 4
    assert held(tmp_path / "empty") == {}


def test_an_export_of_an_earlier_version_is_accepted_with_a_note(run: Said, tmp_path: Path) -> None:
    old = exported(tmp_path / "old.jsonl", BASE)
    old.write_text("".join(old.read_text().splitlines(keepends=True)[1:-1]))
    status, out, _ = run("store", "import", old, "--store", tmp_path / "b")
    assert (status, out.splitlines()) == (
        0,
        [
            f"{old}: 1 record added",
            "  it does not count its records, as exports do: whether all of them are there cannot be told",
        ],
    )


def test_an_export_with_two_answers_to_one_request(run: Said, tmp_path: Path) -> None:
    both = exported(tmp_path / "both.jsonl", BASE, BASE._replace(label="y"), BASE)
    status, out, _ = run("store", "import", both, "--store", tmp_path / "a")
    assert (status, "1 conflict" in out) == (1, True)
    assert held(tmp_path / "a") == {"k": BASE}


def test_a_store_is_not_imported(run: Said, tmp_path: Path) -> None:
    status, _, err = run("store", "import", made(tmp_path / "b", BASE), "--store", tmp_path / "a")
    assert (status, err) == (
        4,
        f"pytest-novelty: {tmp_path / 'b'}: is no export: these end in .jsonl. Stores are added by store merge\n",
    )
    assert not (tmp_path / "a").exists()


# --- export -------------------------------------------------------------------------------------------------------

LATER_ONES = [BASE._replace(key="k~night", label="y"), BASE._replace(key="z~night", judge="zeta")]


def test_an_export_is_of_what_runs_read_unless_more_is_asked_for(run: Said, tmp_path: Path) -> None:
    path, out = made(tmp_path / "a", BASE, BASE._replace(key="z", judge="zeta"), *LATER_ONES), tmp_path / "e.jsonl"
    told = " (2 of later generations left out; --all-generations writes them, too)\n"
    assert run("export", "--store", path, "--out", out) == (0, f"2 records written to {out}{told}", "")
    assert [json.loads(line)["key"] for line in out.read_text().splitlines()[1:-1]] == ["k", "z"]
    assert run("export", "--store", path, "--out", out, "--judge", "zeta")[1].startswith(
        f"1 record written to {out} (1 "
    )
    assert run("export", "--store", path, "--out", out, "--all-generations") == (0, f"4 records written to {out}\n", "")
    run("store", "import", out, "--store", tmp_path / "b")
    assert held(tmp_path / "b") == held(path)


@pytest.mark.parametrize("command", [["export"], ["store", "export"], ["store", "gc"], ["store", "gc", "--yes"]])
def test_a_judge_that_is_not_there_is_an_error(command: list[str], run: Said, tmp_path: Path) -> None:
    path, out = made(tmp_path / "a", BASE, FAILED._replace(key="f", judge="b")), tmp_path / "e.jsonl"
    before = held(path)
    out.write_text("a good one")
    where = ["--out", out] if "export" in command else []
    status, said, err = run(*command, "--store", path, "--judge", "nobody", *where)
    assert (status, said) == (4, "")
    assert err == f"pytest-novelty: {path}: has no record of the judge 'nobody'. It has records of: b, judge\n"
    assert (out.read_text(), held(path)) == ("a good one", before)
    assert run(*command, "--store", made(tmp_path / "none"), "--judge", "judge", *where)[2].endswith(". It is empty\n")


def test_an_export_of_nothing_takes_no_place(run: Said, tmp_path: Path) -> None:
    out = tmp_path / "e.jsonl"
    out.write_text("a good one")
    for path, hint in (
        (made(tmp_path / "empty"), "Judge something first, or name another with --store"),
        (made(tmp_path / "a", *LATER_ONES), "Add --all-generations for those of probes"),
    ):
        status, said, err = run("export", "--store", path, "--out", out)
        assert (status, said, err) == (4, "", f"pytest-novelty: {path}: has no record to export. {hint}\n")
        assert out.read_text() == "a good one"


# --- info ---------------------------------------------------------------------------------------------------------


def test_info_counts_what_is_there(run: Said, tmp_path: Path) -> None:
    path = made(
        tmp_path / "a",
        BASE._replace(model="m-1"),
        BASE._replace(key="2", model="m-2", created="2026-03-05T00:00:00Z", cost_usd=None),
        FAILED._replace(key="3", model="m-2"),
        BASE._replace(key="4", judge_version="2", created="2026-03-09T00:00:00Z"),
        BASE._replace(key="5", judge="zeta", suite="other", status="unparsed", label=None, created=""),
    )
    found = take_inventory(path)
    assert found.records == 5
    assert found.origins == {"judge": 3, "zeta": 1}
    assert found.generations == ()
    second = next(holding for holding in found.holdings if holding.model == "m-2")
    assert (second.records, second.failed, second.unread, second.cost_usd, second.unpriced) == (2, 1, 0, 0, 2)
    assert (second.first, second.last) == ("2026-03-01T00:00:00Z", "2026-03-05T00:00:00Z")
    unread = found.holdings[-1]
    assert (unread.judge, unread.failed, unread.unread, unread.first, unread.last) == ("zeta", 0, 1, "", "")
    status, out, _ = run("store", "info", "--store", path)
    assert status == 0
    lines = out.splitlines()
    assert lines[0].startswith(f"{path}: 5 records, ")
    assert lines[1].split() == [
        "judge",
        "version",
        "suite",
        "served",
        "by",
        "records",
        "failed",
        "unread",
        "later",
        "first",
        "last",
        "cost",
    ]
    assert [line.split()[0] for line in lines[2:6]] == ["judge", "judge", "judge", "zeta"]
    assert lines[6].startswith("judge: 3 versions and served models; ")
    data = json.loads(run("store", "info", "--json", "--store", path)[1])
    assert (data["records"], len(data["holdings"]), data["holdings"][0]["judge"]) == (5, 4, "judge")
    assert data["size_bytes"] == found.size_bytes


def test_info_tells_later_generations(run: Said, tmp_path: Path) -> None:
    """What probes asked past the store: their keys have the generation's name behind a mark."""
    later = [BASE._replace(key=f"{key}~night{n}", created=f"2026-03-0{n}T00:00:00Z") for key in "kl" for n in (2, 1)]
    path = made(tmp_path / "a", BASE, BASE._replace(key="l"), *later)
    found = take_inventory(path)
    assert [(made.name, made.judge, made.records, made.last[:10]) for made in found.generations] == [
        ("night1", "judge", 2, "2026-03-01"),
        ("night2", "judge", 2, "2026-03-02"),
    ]
    assert [(holding.records, holding.later) for holding in found.holdings] == [(6, 4)]
    assert run("store", "info", "--store", path)[1].splitlines()[3:] == [
        "judge: later generation night1, 2 records, 2026-03-01",
        "judge: later generation night2, 2 records, 2026-03-02",
    ]
    data = json.loads(run("store", "info", "--json", "--store", path)[1])
    assert [row["name"] for row in data["generations"]] == ["night1", "night2"]


def test_the_log_beside_a_store_counts_as_its_size(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 1000)
    assert size_of(tmp_path / "a") == 1000
    (tmp_path / "a-wal").write_bytes(b"x" * 70)
    assert size_of(tmp_path / "a") == 1070


def test_info_on_nothing(run: Said, tmp_path: Path) -> None:
    status, _, err = run("store", "info", "--store", tmp_path / "absent")
    assert (status, err) == (4, f"pytest-novelty: {tmp_path / 'absent'}: there is no store. Name one with --store\n")
    assert list(tmp_path.iterdir()) == []
    assert run("store", "info", "--store", made(tmp_path / "a"))[1].startswith(f"{tmp_path / 'a'}: 0 records, ")


def test_a_name_cannot_write_to_the_terminal(run: Said, tmp_path: Path) -> None:
    out = run("store", "info", "--store", made(tmp_path / "a", BASE._replace(judge="a\x1b[31mb")))[1]
    assert "\x1b" not in out


def test_an_export_with_lone_surrogates_is_kept(run: Said, tmp_path: Path) -> None:
    strange = {
        name: f"{name}\ud800" for name in ("key", "judge", "judge_version", "suite", "instance", "parts", "model")
    }
    file = exported(tmp_path / "a.jsonl", BASE._replace(**strange))
    for status in (0, 0):
        assert run("store", "import", file, "--store", tmp_path / "a")[0] == status
    assert run("store", "info", "--store", tmp_path / "a")[0] == 0


# --- gc -----------------------------------------------------------------------------------------------------------


def versions(path: Path) -> Path:
    return made(
        path,
        *(
            BASE._replace(
                key=f"{judge}{version}", judge=judge, judge_version=version, created=f"2026-03-{day:02}T00:00:00Z"
            )
            for judge in ("a", "b")
            for version, day in (("3", 1), ("1", 10), ("2", 20))
        ),
        FAILED._replace(key="failed", judge="b", judge_version="2", created="2026-03-20T00:00:00Z"),
        BASE._replace(key="undated", judge="a", judge_version="2", created=""),
    )


@pytest.mark.parametrize(
    ("wanted", "gone"),
    [
        (Wanted(), {"failed"}),
        (Wanted(judge="a"), set()),
        (Wanted(keep_versions=1), {"failed", "a3", "a1", "b3", "b1"}),
        (Wanted(keep_versions=2), {"failed", "a3", "b3"}),
        (Wanted(keep_versions=1, judge="b"), {"failed", "b3", "b1"}),
        (Wanted(older_than_days=21), {"failed", "a3", "b3"}),
        (Wanted(older_than_days=25, keep_versions=2, judge="a"), {"a3"}),
        (Wanted(older_than_days=3650), {"failed"}),
        (Wanted(older_than_days=3650, judge="a"), set()),
        (Wanted(older_than_days=21, judge="b"), {"failed", "b3"}),
        (Wanted(later=True), {"failed"}),
    ],
)
def test_what_goes(wanted: Wanted, gone: set[str], tmp_path: Path) -> None:
    path = versions(tmp_path / "a")
    before = held(path)
    shown = dispose(path, wanted, now=NOW, remove=False)
    assert held(path) == before
    assert (shown.records, shown.freed_bytes) == (len(gone), None)
    assert shown.cost_usd == 0.25 * len(gone - {"failed"})
    assert shown.unpriced == len(gone & {"failed"})
    removed = dispose(path, wanted, now=NOW, remove=True)
    assert removed.records == len(gone)
    assert held(path) == {key: record for key, record in before.items() if key not in gone}


def test_gc_asks_before_it_removes(run: Said, tmp_path: Path) -> None:
    path = versions(tmp_path / "a")
    before = held(path)
    status, out, _ = run("store", "gc", "--keep-versions", "1", "--store", path)
    assert (status, held(path)) == (0, before)
    assert out == (
        f"{path}: would remove 5 records (1 failed, 4 of older versions); they cost $1.00 and 1 call of unknown cost\n"
        "Nothing is removed yet: add --yes to remove it for good\n"
    )
    assert run("store", "gc", "--keep-versions", "1", "--yes", "--store", path)[1].startswith(
        f"{path}: removed 5 records"
    )
    assert len(held(path)) == 3
    assert "nothing to remove" in run("store", "gc", "--yes", "--store", path)[1]


def test_gc_gives_space_back_unless_another_run_holds_the_file(run: Said, tmp_path: Path) -> None:
    records = [FAILED._replace(key=f"k{n}", message="x" * 2000) for n in range(500)]
    for name, is_held in (("a", False), ("b", True)):
        path = made(tmp_path / name, *records, BASE)
        size = path.stat().st_size
        other = sqlite3.connect(path, isolation_level=None)
        if is_held:
            other.execute("BEGIN")
            other.execute("SELECT count(*) FROM records").fetchone()
        status, out, _ = run("store", "gc", "--yes", "--store", path)
        assert status == 0
        assert ("freed" in out) != is_held
        assert ("another run may hold it" in out) == is_held
        other.close()
        assert held(path) == {"k": BASE}
        assert is_held or path.stat().st_size < size / 5


@pytest.mark.parametrize("option", ["--keep-versions", "--older-than"])
@pytest.mark.parametrize("given", ["0", "-1", "1.5", "\u0663", "100000", ""])
def test_gc_wants_whole_numbers(
    option: str, given: str, run: Said, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = versions(tmp_path / "a")
    before = held(path)
    with pytest.raises(SystemExit, match="2"):
        run("store", "gc", f"{option}={given}", "--yes", "--store", path)
    assert f"argument {option}: {given!r} is not a whole number from 1 to 99999" in capsys.readouterr().err
    assert held(path) == before


def recent(days: int) -> str:
    """The time so many days and an hour ago."""
    return (dt.datetime.now(dt.UTC) - dt.timedelta(days=days, hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_gc_leaves_other_judges_and_what_is_younger(run: Said, tmp_path: Path) -> None:
    """Each destructive option by the command, with what must stay."""
    ages = {"old": recent(30), "new": recent(9), "undated": ""}
    records = [
        BASE._replace(key=f"{judge} {name}", judge=judge, created=created)
        for judge in ("a", "b")
        for name, created in ages.items()
    ]
    records += [FAILED._replace(key=f"{judge} failed", judge=judge, created=recent(0)) for judge in ("a", "b")]
    records += [BASE._replace(key=f"{judge} new~night", judge=judge, created=recent(1)) for judge in ("a", "b")]
    every = {record.key for record in records}
    for number, (options, gone) in enumerate(
        [
            (["--judge", "a"], {"a failed"}),
            (["--older-than", "10"], {"a failed", "b failed", "a old", "b old"}),
            (["--older-than", "9", "--judge", "a"], {"a failed", "a old", "a new", "a new~night"}),
            (["--older-than", "31", "--judge", "b"], {"b failed"}),
            (["--later-generations"], {"a failed", "b failed", "a new~night", "b new~night"}),
            (["--later-generations", "--judge", "b"], {"b failed", "b new~night"}),
        ]
    ):
        path = made(tmp_path / str(number), *records)
        assert run("store", "gc", *options, "--store", path)[0] == 0
        assert set(held(path)) == every
        assert run("store", "gc", *options, "--yes", "--store", path)[1].startswith(f"{path}: removed ")
        assert set(held(path)) == every - gone, options
    said = run("store", "gc", "--later-generations", "--store", made(tmp_path / "all", *records))[1]
    assert "would remove 4 records (2 failed, 2 later answers to the same questions)" in said


def test_later_answers_go_with_the_first(run: Said, tmp_path: Path) -> None:
    young = BASE._replace(created="2026-03-30T00:00:00Z")
    records = [BASE, young._replace(key="k~night"), young._replace(key="k2"), young._replace(key="k2~night")]
    path = made(tmp_path / "a", *records)
    wanted = Wanted(older_than_days=21)
    shown = dispose(path, wanted, now=NOW, remove=False)
    assert (shown.old_answers, shown.later, shown.records, shown.cost_usd) == (1, 1, 2, 0.5)
    assert dispose(path, wanted, now=NOW, remove=True).records == 2
    assert sorted(held(path)) == ["k2", "k2~night"]
    made(tmp_path / "b", BASE, young._replace(key="k~night", judge_version="2"))
    said = run("store", "gc", "--keep-versions", "1", "--store", tmp_path / "b")[1]
    assert "would remove 2 records (1 of older versions, 1 later answer to the same questions)" in said


# --- export and import: what would be lost ------------------------------------------------------------------------


@pytest.mark.parametrize("out", ["a.sqlite", "link", "other.db"])
def test_an_export_never_takes_the_place_of_a_database(out: str, run: Said, tmp_path: Path) -> None:
    path = made(tmp_path / "a.sqlite", BASE)
    (tmp_path / "link").symlink_to(path)
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE theirs (x)")
    before = (tmp_path / out).read_bytes()
    for command in (["export"], ["store", "export"]):
        status, _, err = run(*command, "--store", path, "--out", tmp_path / out)
        assert status == 4
        assert "is a database, a store perhaps: an export would take its place" in err
    assert (tmp_path / out).read_bytes() == before
    assert held(path) == {"k": BASE}
    assert run("export", "--store", path, "--out", tmp_path / "out.jsonl")[0] == 0
    assert run("export", "--store", path, "--out", tmp_path / "out.jsonl")[0] == 0  # an export may be written anew


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("cost_usd", "1e999", "cost_usd: 1e999 is too large for a number"),
        ("score", "-1e999", "score: -1e999 is too large for a number"),
        ("sample", "99999999999999999999999", "sample is too large for a number"),
        ("created", '"yesterday"', "created is 'yesterday', which is no time such as 2026-03-01T12:00:00Z"),
    ],
)
def test_import_refuses_what_a_store_cannot_hold(name: str, value: str, told: str, run: Said, tmp_path: Path) -> None:
    path = exported(tmp_path / "a.jsonl", BASE, BASE._replace(key="k2", **{name: None}))
    _, first, second, _ = path.read_text().splitlines()
    path.write_text(first + "\n" + second.replace(f'"{name}":null', f'"{name}":{value}') + "\n")
    status, _, err = run("store", "import", path, "--store", tmp_path / "new.sqlite")
    assert (status, f"{path}:2" in err, told in err) == (4, True, True), err
    assert not (tmp_path / "new.sqlite").exists()


def test_a_store_that_has_an_infinite_cost_is_named(run: Said, tmp_path: Path) -> None:
    path = made(tmp_path / "a", BASE._replace(cost_usd=float("inf")))
    status, _, err = run("export", "--store", path, "--out", tmp_path / "out.jsonl")
    assert status == 4
    assert "the record of judge on suite i1 has the cost_usd inf, which no export can hold" in err
    assert not (tmp_path / "out.jsonl").exists()
