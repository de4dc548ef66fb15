"""Loading suites: what is wrong is said with file, line, instance and a hint, and nothing else is ever raised."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty.cli import main
from pytest_novelty.errors import SuiteError, UnknownNameError
from pytest_novelty.gates import check_gate_names, parse_gate
from pytest_novelty.instances import check_pairs
from pytest_novelty.suites import embedded_suites, load_suite, resolve_suite
from pytest_novelty.variants import check_content

Write = Callable[..., Path]

ONE = {"id": "a", "idea": {"text": "Text."}, "gold": "novel"}
DATED = {**ONE, "as_of": "2016-12-31"}
X, Y = {"id": "x", "text": "First."}, {"id": "y", "text": "Second."}
TWO = {"id": "a", "ideas": [X, Y], "gold": "x"}
DEEP = b'{"id": ' + b"[" * 100_000


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write suite.yaml (line 1 format, 2 name, 3 version, 4 protocol, 5 label_kind, 6 instances, then ``more``) and its rows."""

    def write(rows: Sequence[Any] | bytes = (ONE,), more: str = "", **values: Any) -> Path:
        head = {"format": "novelty-suite/1", "name": "s", "version": "1", "protocol": "pointwise"}
        head |= {"label_kind": "experts", "instances": "rows.jsonl"} | values
        lines = [f"{key}: {json.dumps(value)}" for key, value in head.items()]
        (tmp_path / "suite.yaml").write_text("\n".join((*lines, more)), encoding="utf-8")
        data = rows if isinstance(rows, bytes) else "\n".join(map(json.dumps, rows)).encode()
        (tmp_path / "rows.jsonl").write_bytes(data)
        return tmp_path

    return write


def refuse(path: Path, told: str) -> SuiteError:
    """The error of loading ``path``; its text is short and matches ``told``."""
    with pytest.raises(SuiteError) as caught:
        load_suite(path)
    text = str(caught.value)
    assert text.startswith(str(path))
    assert re.search(told, text, re.DOTALL), text
    assert len(text) < 1000
    return caught.value


BAD_POINTWISE_ROWS = {
    "duplicate id": ([ONE, ONE], 2, "a", "twice .*line 1"),
    "duplicate id after a cast": ([{**ONE, "id": 7}, {**ONE, "id": "7"}], 2, "7", "twice .*line 1"),
    "missing gold": ([{"id": "a", "idea": X}], 1, "a", "no gold.* label_kind: none"),
    "gold is no label": ([{**ONE, "gold": "nvel"}], 1, "a", "'nvel' .*'novel'"),
    "gold true": ([{**ONE, "gold": True}], 1, "a", "gold.*'novel'"),
    "gold NaN": (b'{"id": "a", "idea": {"text": "t"}, "gold": NaN}', 1, None, "NaN"),
    "NaN in metadata": (b'{"id": "a", "idea": {"text": "t"}, "gold": "novel", "metadata": {"x": NaN}}', 1, None, "NaN"),
    "empty text": ([{**ONE, "idea": {"text": ""}}], 1, "a", "idea.text.* empty"),
    "unseen text": ([{**ONE, "idea": {"text": "\u200b\ufeff \u2060"}}], 1, "a", "idea.text.* empty"),
    "blank text": ([{**ONE, "idea": {"text": " \n"}}], 1, "a", "idea.text.* empty"),
    "no text": ([{**ONE, "idea": {"title": "t"}}], 1, "a", "idea.*'text' is missing"),
    "no id": ([{"idea": {"text": "t"}, "gold": "novel"}], 1, None, "'id' is missing"),
    "no idea": ([{"id": "a", "gold": "novel"}], 1, "a", "'idea' is missing"),
    "unknown key": ([{**ONE, "golds": "novel"}], 1, "a", "golds.*did you mean 'gold'"),
    "unknown key of an idea": ([ONE, {**ONE, "id": "b", "idea": {"text": "t", "titel": "t"}}], 2, "b", "did you mean 'title'"),
    "not UTF-8": (json.dumps(ONE).encode() + b'\n{"id": "\xff"}', 2, None, "UTF-8"),
    "UTF-16": (json.dumps(ONE).encode("utf-16"), 1, None, "UTF-8"),
    "a line of 50 MB": (json.dumps(ONE).encode() + b"\n" + b'"' + b"x" * 50_000_000, 2, None, "longer than 8 MB"),
    "not JSON": (json.dumps(ONE).encode() + b"\n\n{'id': 1}", 3, None, "not JSON.*One JSON object a line"),
    "duplicate JSON key": (b'{"id": "a", "id": "b", "idea": {"text": "t"}}', 1, None, "'id' occurs twice"),
    "duplicate nested key": (b'{"id": "a", "idea": {"text": "t", "text": "u"}}', 1, None, "'text' occurs twice"),
    "deep nesting": (DEEP, 1, None, "nested too deeply"),
    "a huge number": (b'{"id": ' + b"1" * 5000 + b"}", 1, None, "not JSON"),
    "a list": ([[1]], 1, None, "object"),
    "null": ([None], 1, None, "object"),
    "empty": (b"", None, None, "no instances"),
    "blank lines only": (b"\n \n\n", None, None, "no instances"),
    "bad as_of": ([{**ONE, "as_of": "2016-13-01"}], 1, "a", "not a date.*YYYY-MM-DD"),
    "as_of of another shape": ([{**ONE, "as_of": "31.12.2016"}], 1, "a", "as_of"),
    "as_of with a line break": ([{**ONE, "as_of": "2016-12-31\n"}], 1, "a", "date"),
    "later related work": ([{**DATED, "related_work": [{"title": "W", "year": 2017}]}], 1, "a", "'W' is of 2017"),
    "later work of an idea": (
        [{**DATED, "idea": {**X, "related_work": [{"title": "W", "year": 2017}]}}], 1, "a", "2017"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_POINTWISE_ROWS)
def test_bad_rows(name: str, write: Write) -> None:
    rows, line, instance, told = BAD_POINTWISE_ROWS[name]
    error = refuse(write(rows), told)
    assert (Path(str(error.path)).name, error.line, error.instance) == ("rows.jsonl", line, instance)


BAD_PAIRS = {
    "two ideas with one id": ({**TWO, "ideas": [X, X]}, "'x'"),
    "one id after a cast": ({**TWO, "ideas": [{**X, "id": 1}, {**Y, "id": "1"}], "gold": "1"}, "'1'"),
    "ideas without ids": ({**TWO, "ideas": [{"text": "t"}, {"text": "u"}]}, "no id.*Give each idea an id"),
    "one idea without an id": ({**TWO, "ideas": [X, {"text": "u"}]}, "no id.*Give each idea an id"),
    "gold is no idea": ({**TWO, "gold": "xx"}, "none of 'x', 'y'.*Did you mean 'x'"),
    "gold is a position": ({**TWO, "gold": 0}, "none of 'x', 'y'"),
    "gold is a float": ({**TWO, "gold": 1.0}, "none of 'x', 'y'"),
    "one idea": ({**TWO, "ideas": [X]}, "ideas"),
    "three ideas": ({**TWO, "ideas": [X, Y, {"id": "z", "text": "t"}]}, "ideas"),
    "pointwise row": (ONE, "idea"),
    **{
        f"an idea called {word}": ({**TWO, "ideas": [{**X, "id": word}, Y], "gold": word}, word)
        for word in ("tie", "invalid", "incomplete", "abstained")  # labels of outcomes: the idea could never win
    },
}


@pytest.mark.parametrize("name", BAD_PAIRS)
def test_bad_pairs(name: str, write: Write) -> None:
    row, told = BAD_PAIRS[name]
    error = refuse(write([row], protocol="pairwise"), told)
    assert (Path(str(error.path)).name, error.line, error.instance) == ("rows.jsonl", 1, "a")


BAD_HEADS = {
    "another format": ({"format": "novelty-suite/2"}, "", 1, "novelty-suite/1"),
    "upper case name": ({"name": "S"}, "", 2, "name"),
    "name with a line break": ({"name": "s\n"}, "", 2, "name"),
    "version a number": ({"version": 1}, "", 3, "version.*string"),
    "unknown protocol": ({"protocol": "pairwse"}, "", 4, "Did you mean 'pairwise'"),
    "unknown label kind": ({"label_kind": "expert"}, "", 5, "label_kind.*experts"),
    "no instances file": ({"instances": "none.jsonl"}, "", 6, "'none.jsonl' does not exist"),
    "instances a folder": ({"instances": "."}, "", 6, "does not exist"),
    "instances a number": ({"instances": 3}, "", 6, "instances"),
    "empty instances": ({"instances": []}, "", None, "no instances"),
    "unknown key": ({}, "defualts: {}", 7, "did you mean 'defaults'"),
    "a prompt at the top": ({}, "prompt: mine.yaml", 7, "unknown key 'prompt'.*Write prompt: under defaults:"),
    "votes at the top": ({}, "votes: 3", 7, "unknown key 'votes'.*Write votes: under defaults:.*or in a variant"),
    "unknown axis": ({}, "variants:\n  p: {promt: x}", 8, "did you mean 'prompt'"),
    "a variant that changes nothing": ({}, "variants:\n  p: {votes: 3}", 8, "changes nothing"),
    "a variant called reference": ({}, "variants:\n  reference: {votes: 1}", 8, "'reference'"),
    "a variant with a blank": ({}, 'variants:\n  "a b": {votes: 1}', 8, "'a b'"),
    "no votes": ({}, "defaults: {votes: 0}", 7, "votes"),
    "votes a fraction": ({}, "defaults: {votes: 3.0}", 7, "votes"),
    "related_work a fraction": ({}, "defaults: {related_work: 2.0}", 7, "related_work"),
    "orders of single ideas": ({}, "variants: {p: {orders: ab}}", 7, "changes nothing.*no orders"),
    "an unknown prompt": (
        {},
        "variants:\n  p:\n    prompt: pointwise/referenc",
        9,
        "Did you mean 'pointwise/reference'.*No file",
    ),
    "a variant that is a list": ({}, "variants: {p: [1]}", 7, "variants.p.*object"),
    "an effort of another kind": ({}, "variants: {p: {effort: highest}}", 7, "variants.p.effort.*'high'"),
    "metadata that is no map": ({}, "metadata: 3", 7, "metadata.*object"),
    "votes a word": ({}, "defaults: {votes: no}", 7, "votes.*'no'"),
    "infinite temperature": ({}, "defaults: {temperature: 1e999}", 7, "temperature"),
    "cluster is no stratum": ({}, "cluster: landmark", 7, "no stratum 'landmark'"),
    "an alias": ({}, "defaults: &d {votes: 3}\nvariants: {p: *d}", 7, "aliases"),
    "an alias bomb": ({}, "a: &a [x, x]\nb: &b [*a, *a, *a]\nc: [*b, *b, *b]", 7, "aliases"),
    "a duplicate key": ({}, "title: a\ntitle: b", 8, "'title' occurs twice"),
    "a duplicate key inside": ({}, "defaults:\n  votes: 1\n  votes: 3", 9, "'votes' occurs twice"),
    "a tag": ({}, "title: !!python/name:os.system x", 7, "tags are not allowed"),
    "a standard tag": ({}, "title: !!str x", 7, "tags are not allowed"),
    "deep nesting": ({}, f"defaults: {{params: {{a: {'[' * 100_000}", 7, "nest"),
    "somewhat deep nesting": ({}, f"defaults: {{params: {{a: {'[' * 50}", 7, "nested more than 40 levels"),
    "a key that is a list": ({}, "defaults: {[a]: 1}", 7, "plain string"),
    "no YAML": ({}, "title: [a", None, "not valid YAML"),
    "two documents": ({}, "---\na: b", None, "not valid YAML"),
    "a control character": ({}, "title: \x07", None, "not valid YAML"),
    "a gate that cannot be read": ({}, "gates:\n  - accuracy >= 0.8\n  - accuracy is high", 9, "accuracy is high"),
    "a gate on an unknown metric": ({}, 'gates: ["acuracy>=0.8"]', 7, "Did you mean 'accuracy'"),
}


@pytest.mark.parametrize("name", BAD_HEADS)
def test_bad_heads(name: str, write: Write) -> None:
    values, more, line, told = BAD_HEADS[name]
    error = refuse(write(more=more, **values), told)
    assert Path(str(error.path)).name == "suite.yaml"
    if line is not None:
        assert error.line == line


@pytest.mark.parametrize(
    "data", [b"", b"# nothing\n", b"a string", b"[1, 2]", b"\xff\xfe\x00", b"format: \xe9\n", b"\x00" * 9]
)
def test_files_that_are_no_suite(data: bytes, tmp_path: Path) -> None:
    (tmp_path / "suite.yaml").write_bytes(data)
    refuse(tmp_path, "suite.yaml")


def test_a_missing_rendering_names_idea_variant_and_what_there_is(write: Write) -> None:
    """Of the reference; what a variant shows is asked of the ideas when the variant is."""
    row = {**ONE, "idea": {"text": "t", "renderings": {"rewrite": "r"}}}
    error = refuse(write([row], more="defaults: {format: plan}"), "'plan'.*'reference'.*text, rewrite")
    assert error.instance == "a"
    suite = load_suite(write([row], more="variants: {P: {format: plan}}"))
    with pytest.raises(SuiteError, match=r"instance 'a': .*'plan'.*'P'.*text, rewrite"):
        check_content(suite, suite.variants.values())


def test_gold_is_refused_where_there_are_no_labels(write: Write) -> None:
    error = refuse(write(label_kind="none"), "label_kind")
    assert (error.line, error.instance) == (1, "a")


def test_an_inline_instance_has_its_line(write: Write) -> None:
    path = write(more="title: t", instances=[ONE, {**ONE, "id": "b", "gold": "nope"}])
    text = (path / "suite.yaml").read_text()
    (path / "suite.yaml").write_text(text.replace('}, {"id": "b"', '},\n  {"id": "b"'))
    assert refuse(path, "nope").line == 7


@pytest.mark.parametrize("name", ["none", "none.yaml", "none.jsonl", "none.txt"])
def test_a_path_that_is_not_there(name: str, tmp_path: Path) -> None:
    refuse(tmp_path / name, name)
    with pytest.raises(UnknownNameError, match=name):
        resolve_suite(name, {}, tmp_path)


@pytest.mark.parametrize("name", ["landmark-pairwise", "landmarks-pairwise/", "x" * 5000, "a\0b", "\ud800"])
def test_an_unknown_name_is_an_unknown_name(name: str, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="unknown suite") as caught:
        resolve_suite(name, {"landmarks-pairwise": tmp_path}, tmp_path)
    assert "landmarks-pairwise" in str(caught.value)


PAPERS = [{"id": name, "title": f"On {name}", "abstract": f"We fold {name}."} for name in "abcd"]
SET = {"id": "g1", "papers": PAPERS, "dimension": "task", "gold": [["a", "b"]]}


def test_the_dimension_is_a_stratum(write: Write) -> None:
    """Of gates, samples and reports, with nothing declared."""
    rows = [SET, {**SET, "id": "g2", "dimension": "method", "strata": {"era": 1}}]
    more = "gates: ['pair_f1@dimension:method>=0.1']\ncluster: dimension"
    suite = load_suite(write(rows, more, protocol="grouping"))
    assert [instance.strata for instance in suite.instances] == [
        {"dimension": "task"},
        {"dimension": "method", "era": "1"},
    ]
    gate = parse_gate("hallucination_rate@dimension:tusk<=0.1")
    with pytest.raises(UnknownNameError) as caught:
        check_gate_names(gate, suite)
    assert str(caught.value) == (
        "the gate 'hallucination_rate@dimension:tusk<=0.1' of s names an unknown value of the stratum 'dimension', 'tusk'. "
        "Did you mean 'task'? Known: method, task"
    )
    reason = {"id": "e", "dimension": "problem", "conclusion": "similar", "gold": False}
    reason |= dict.fromkeys(("evidence_a", "evidence_b", "reason"), "We fold.")
    (instance,) = load_suite(write([reason], protocol="entailment")).instances
    assert instance.strata == {"dimension": "problem"}


def test_no_suite_declares_the_dimension_again(write: Write) -> None:
    with pytest.raises(SuiteError, match=r"rows.jsonl:1, instance 'g1': declares a stratum 'dimension'"):
        load_suite(write([{**SET, "strata": {"dimension": "other"}}], protocol="grouping"))
    declared = load_suite(write([{**ONE, "strata": {"dimension": "other"}}]))  # ideas have none of their own
    assert declared.instances[0].strata == {"dimension": "other"}


@pytest.mark.parametrize(
    ("protocol", "papers", "said"),
    [
        ("grouping", 2, "papers: there are 2, and 3 to 10 are needed"),
        ("similarity", 3, "papers: there are 3, and exactly 2 are needed"),
    ],
)
def test_a_wrong_number_of_papers_is_told_by_number(protocol: str, papers: int, said: str, write: Write) -> None:
    row = {**SET, "papers": PAPERS[:papers], "gold": [] if protocol == "grouping" else True}
    with pytest.raises(SuiteError) as caught:
        load_suite(write([row], protocol=protocol))
    assert str(caught.value).endswith(f"rows.jsonl:1, instance 'g1': {said}")


# --- what is accepted -----------------------------------------------------------------------------------------


def test_a_suite(write: Write) -> None:
    row = {**ONE, "id": 1, "strata": {"year": 2017, "open": True}, "as_of": "2017-01-01"}
    row["related_work"] = [{"title": "W", "year": 2017}]
    more = "defaults: {votes: 5}\nvariants: {few: {votes: 1, effort: low}}\ngates: ['accuracy>=0.8']\ncluster: year"
    suite = load_suite(write([row], more))
    (instance,) = suite.instances
    assert (instance.id, instance.gold, instance.line) == ("1", "novel", 1)
    assert instance.strata == {"year": "2017", "open": "true"}
    assert [work.title for work in instance.ideas[0].related_work] == ["W"]
    assert suite.variants["few"].changed == ("votes", "effort")
    assert (suite.variants["reference"].axes.votes, suite.variants["few"].axes.votes) == (5, 1)
    assert (suite.gates, suite.cluster, suite.labelled) == (("accuracy>=0.8",), "year", True)


@pytest.mark.parametrize(
    ("default", "changed"), [("related_work: true", "related_work: 1"), ("params: {a: true}", "params: {a: 1}")]
)
def test_one_and_true_are_not_the_same_setting(default: str, changed: str, write: Write) -> None:
    suite = load_suite(write(more=f"defaults: {{{default}}}\nvariants: {{v: {{{changed}}}}}"))
    assert suite.variants["v"].changed == (default.partition(":")[0],)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b"\n", b"\r\n"),
        lambda data: b"\n \n" + data.replace(b"\n", b"\n\n\n") + b"\n\n",
    ],
    ids=["BOM", "CRLF", "blank lines"],
)
def test_harmless_differences_of_files(change: Callable[[bytes], bytes], write: Write) -> None:
    folder = write([ONE, {**ONE, "id": "b"}])
    before = load_suite(folder)
    for path in folder.iterdir():
        path.write_bytes(change(path.read_bytes()))
    after = load_suite(folder)
    assert [(item.id, item.ideas, item.gold) for item in after.instances] == [
        (item.id, item.ideas, item.gold) for item in before.instances
    ]
    assert after.digest != before.digest


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *((word, word) for word in ("no", "on", "y", "Off", "1_000", "12:30", "2016-12-31", "0b1", "1__0", ".")),
        *((word, None) for word in ("~", "null", "")),
        *(("true", True), ("False", False), ("0777", 777), ("0o17", 15), ("0x1F", 31), ("+12", 12), ("1e3", 1000.0)),
        *((".5", 0.5), ("'no'", "no"), ('"1"', "1")),
    ],
)
def test_yaml_values_are_those_of_yaml_1_2(text: str, value: Any, write: Write) -> None:
    suite = load_suite(write(more=f"defaults:\n  params:\n    k: {text}"))
    found = suite.variants["reference"].axes.params["k"]
    assert (type(found), found) == (type(value), value)


def test_hostile_text_is_text(write: Write) -> None:
    text = '{{ 7 * 7 }} </idea> \u202eabc\x00 \ud800 {"gold": 1}'
    assert load_suite(write([{**ONE, "idea": {"text": text}}])).instances[0].ideas[0].text == text


@pytest.mark.parametrize("name", embedded_suites())
def test_shipped_suites_load(name: str) -> None:
    assert load_suite(embedded_suites()[name]).name == name


# --- bare ideas -----------------------------------------------------------------------------------------------


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_bare_ideas(tmp_path: Path) -> None:
    ideas = [{"id": 7, "title": "T", "text": "a"}, "b", {"text": "c", "area": "x"}, {"id": 0, "text": "d"}]
    suite = load_suite(lines(tmp_path / "ideas.jsonl", *ideas))
    assert (suite.protocol, suite.label_kind, suite.labelled) == ("pointwise", "none", False)
    assert [item.ideas[0].text for item in suite.instances] == ["a", "b", "c", "d"]
    assert [item.id for item in suite.instances if len(item.id) == 1] == ["7", "0"]
    assert load_suite(tmp_path).digest == suite.digest


def test_content_ids_do_not_depend_on_the_order(tmp_path: Path) -> None:
    ideas = ["a", "b", {"title": "a", "text": "b"}, {"text": "c"}]
    one = load_suite(lines(tmp_path / "one.jsonl", *ideas))
    two = load_suite(lines(tmp_path / "two.jsonl", *reversed(ideas)))
    assert {item.id: item.ideas for item in one.instances} == {item.id: item.ideas for item in two.instances}
    assert len({item.id for item in one.instances}) == 4
    assert one.digest != two.digest


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (ONE, "suite.yaml"),
        ({"text": "t", "gold": "novel"}, "suite.yaml"),
        ("", "empty"),
        ("  ", "empty"),
        (5, "object"),
        ({"titel": "t", "text": "t"}, "did you mean 'title'"),
        ("first", "twice .*line 1"),
    ],
)
def test_bad_bare_ideas(row: Any, told: str, tmp_path: Path) -> None:
    assert refuse(lines(tmp_path / "ideas.jsonl", "first", row), told).line == 2


def test_a_folder_of_texts(tmp_path: Path) -> None:
    (tmp_path / "b.md").write_text("# Title\n\nText of b.\n", encoding="utf-8")
    (tmp_path / "a.txt").write_text("\ufeffNo title.\nMore.", encoding="utf-8")
    (tmp_path / "c.json").write_text("not read")
    suite = load_suite(tmp_path)
    assert [(item.id, item.ideas[0].title, item.ideas[0].text) for item in suite.instances] == [
        ("a", "", "No title.\nMore."),
        ("b", "Title", "Text of b."),
    ]


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, "neither suite.yaml"),
        ({"a.txt": b" \n"}, "a.txt.*empty"),
        ({"a.txt": b"\xff"}, "a.txt.*UTF-8"),
        ({"a.txt": b"x", "a.md": b"y"}, "twice.*a.md.*a.txt|twice.*a.txt.*a.md|a.txt.*twice"),
        ({"a.txt": b"x" * 9_000_000}, "a.txt.*longer"),
    ],
    ids=["nothing", "empty", "not UTF-8", "one stem twice", "too long"],
)
def test_bad_folders(files: dict[str, bytes], told: str, tmp_path: Path) -> None:
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)
    error = refuse(tmp_path, told)
    assert "None" not in str(error)


BESIDE = [{"id": name, "title": name, "abstract": f"Of {name}."} for name in ("kites", "boats")]
KITES_AND_BOATS = {"id": "a", "papers": BESIDE, "dimension": "task", "gold": True}


@pytest.mark.parametrize(
    ("protocol", "rows"),
    [
        ("pairwise", [TWO, {**TWO, "id": "b", "gold": "y"}]),
        ("pairwise", [TWO, {**TWO, "id": "b", "ideas": [Y, X], "gold": "y"}]),
        ("pairwise", [TWO, {"id": "b", "ideas": [{**Y, "id": "v"}, {"id": "w", "text": "First. \n"}], "gold": "v"}]),
        ("similarity", [KITES_AND_BOATS, {**KITES_AND_BOATS, "id": "b", "papers": BESIDE[::-1], "gold": False}]),
    ],
)
def test_a_pair_whose_labels_contradict_each_other_is_named(protocol: str, rows: list[Any], write: Write) -> None:
    suite = load_suite(write(rows, protocol=protocol))
    with pytest.raises(SuiteError, match="the pair of 'a' once more.*contradicts") as caught:
        check_pairs(suite.instances, suite.path)
    assert caught.value.instance == "b"
    assert main(["validate", str(suite.folder)]) == 1


@pytest.mark.parametrize(
    ("protocol", "rows"),
    [
        ("pairwise", [TWO, {**TWO, "id": "b", "ideas": [Y, X]}]),
        ("pairwise", [TWO, {**TWO, "id": "b", "ideas": [{**Y, "text": "Third."}, X], "gold": "y"}]),
        ("pairwise", [TWO, {"id": "b", "ideas": [{**X, "id": "y"}, {**Y, "id": "x"}], "gold": "y"}]),
        ("similarity", [KITES_AND_BOATS, {**KITES_AND_BOATS, "id": "b", "dimension": "method", "gold": False}]),
    ],
)
def test_a_pair_that_is_there_again_with_the_same_label_is_not(protocol: str, rows: list[Any], write: Write) -> None:
    suite = load_suite(write(rows, protocol=protocol))
    check_pairs(suite.instances, suite.path)
