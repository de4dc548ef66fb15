"""``pytest-novelty validate`` and ``export``: statuses, messages, files."""

from __future__ import annotations

import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty.cli import main
from pytest_novelty.data import data_folder
from pytest_novelty.errors import JudgeError
from pytest_novelty.evaluation import evaluate
from pytest_novelty.judges.llm.files import load_judge_file
from pytest_novelty.model import Suite

HEAD = """format: novelty-suite/1
name: mine
version: "1"
protocol: pointwise
label_kind: experts
instances: instances.jsonl
"""
ROW = '{"id": "i1", "idea": {"text": "Kelp drives ferries."}, "gold": "novel"}\n'
PROMPT = """format: novelty-prompt/1
name: mine
version: "1"
protocol: pointwise
messages:
  - {role: user, content: "Is this novel? {{ idea.text }}"}
output: {type: object, properties: {novel: {type: boolean}}, required: [novel]}
"""

Said = Callable[..., tuple[int, str, str]]


def write_suite(folder: Path, head: str = HEAD, rows: str = ROW) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "suite.yaml").write_text(head)
    (folder / "instances.jsonl").write_text(rows)
    return folder


def write_prompt(path: Path, text: str = PROMPT) -> Path:
    path.write_text(text)
    return path


# --- validate -----------------------------------------------------------------------------------------------


def test_what_ships_is_valid(run: Said) -> None:
    status, out, err = run("validate", data_folder("suites"), data_folder("prompts"))
    assert (status, err) == (0, "")
    assert out.endswith(" checked, 0 not valid\n")
    assert "pairwise suite landmarks-pairwise" in out
    assert "pointwise prompt pointwise/reference" in out


def test_a_line_says_what_was_checked(run: Said, tmp_path: Path) -> None:
    suite, prompt = write_suite(tmp_path / "s"), write_prompt(tmp_path / "p.yaml")
    ideas = tmp_path / "own" / "ideas.jsonl"
    ideas.parent.mkdir()
    ideas.write_text('"One."\n"Two."\n')
    texts = tmp_path / "texts"
    texts.mkdir()
    (texts / "a.md").write_text("An idea.")
    assert run("validate", suite, suite / "suite.yaml", prompt, ideas, ideas.parent, texts) == (
        0,
        f"{suite}: pointwise suite mine 1, 1 instances, labels: experts\n"
        f"{suite / 'suite.yaml'}: pointwise suite mine 1, 1 instances, labels: experts\n"
        f"{prompt}: pointwise prompt mine 1\n"
        f"{ideas}: pointwise suite own 0, 2 instances, no labels\n"
        f"{ideas.parent}: pointwise suite own 0, 2 instances, no labels\n"
        f"{texts}: pointwise suite texts 0, 1 instances, no labels\n"
        "6 checked, 0 not valid\n",
        "",
    )


def test_folders_are_searched_and_other_yaml_is_left_alone(run: Said, tmp_path: Path) -> None:
    write_suite(tmp_path / "a" / "deep")
    write_suite(tmp_path / "b")
    write_prompt(tmp_path / "a" / "p.yaml")
    (tmp_path / "compose.yaml").write_text("services: {}\n")
    status, out, _ = run("validate", tmp_path)
    assert status == 0
    assert [line.split(":")[0] for line in out.splitlines()] == [
        *[str(tmp_path / "a" / "deep"), str(tmp_path / "b"), str(tmp_path / "a" / "p.yaml")],
        "3 checked, 0 not valid",
    ]


@pytest.mark.parametrize(
    ("head", "rows", "said"),
    [
        (HEAD.replace("experts", "everyone"), ROW, "suite.yaml:5: label_kind: "),
        (HEAD + "colour: blue\n", ROW, "suite.yaml:7: unknown key 'colour'"),
        (HEAD + 'gates: ["strict_accuracy>=0.8"]\n', ROW, "suite.yaml:7: unknown pointwise metric 'strict_accuracy'"),
        (HEAD + "defaults: {prompt: absent}\n", ROW, "unknown prompt 'absent'"),
        (HEAD, ROW * 2, "instances.jsonl:2"),
        (HEAD, ROW + '{"id": "i2", "idea": {"text": "x"}, "gold": "maybe"}\n', "instances.jsonl:2"),
        (HEAD, ROW + "{\n", "instances.jsonl:2: is not JSON"),
    ],
)
def test_a_broken_suite(head: str, rows: str, said: str, run: Said, tmp_path: Path) -> None:
    good, bad = write_suite(tmp_path / "good"), write_suite(tmp_path / "bad", head, rows)
    status, out, err = run("validate", bad, good)
    assert (status, err) == (1, "")
    (line,) = [line for line in out.splitlines() if line.startswith("ERROR ")]
    assert said in line
    assert str(bad) in line
    assert out.endswith("2 checked, 1 not valid\n")
    assert f"{good}: pointwise suite mine" in out  # the others are still checked


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("{{ idea.text }}", "{{ idea.text", "p.yaml"),
        ("{{ idea.text }}", "{{ idea.txt }}", "p.yaml: cannot be rendered"),
        ("protocol: pointwise", "protocol: telepathy", "p.yaml:4: "),
        ("type: boolean", "type: bool", "p.yaml"),
    ],
)
def test_a_broken_prompt(old: str, new: str, said: str, run: Said, tmp_path: Path) -> None:
    path = write_prompt(tmp_path / "p.yaml", PROMPT.replace(old, new))
    status, out, _ = run("validate", path)
    assert status == 1
    assert said in out.splitlines()[0]
    assert out.startswith("ERROR ")
    assert out.endswith("1 checked, 1 not valid\n")


JUDGE = """format: novelty-judge/1
model: openai:m
"""
EVERYTHING = {
    "a judge": (
        "j.yaml",
        "model: anthropic:claude\neffort: huge\nmodell: x\nretries: -1\nheaders: {X: ab cd, Y: 5}\nprompts: {pairwize: a}\n"
        "seed: nope\nparameters: {seed: 1, api_key: x}\n",
        [
            *[
                "1: model must begin with openai: or litellm:",
                "1: 'format' is missing. A judge file begins with format:",
            ],
            *["2: effort: 'huge'", "3: unknown key 'modell' (did you mean 'model'?)", "4: retries: -1"],
            *["5: headers.Y: 5", "5: the header 'X' must name", "6: unknown protocol 'pairwize'"],
            "7: seed: 'nope' is not of type boolean or integer",
            *["8: 'seed' is no parameter", "8: 'api_key' is no parameter"],
        ],
    ),
    "a judge of another format": (
        "j.yaml",
        "format: novelty-judge/2\nmodel: gpt-5\n",
        ["1: this is not the format of a judge file", "2: model must begin"],
    ),
    "a judge's prompts": (
        "j.yaml",
        f"{JUDGE}prompts: {{pairwise: p.yaml, pointwise: q.yaml}}\n",
        [": unknown prompt 'p.yaml'", ": unknown prompt 'q.yaml'"],
    ),
    "a suite": (
        "suite.yaml",
        HEAD.replace("experts", "everyone") + "colour: blue\nshape: round\n",
        ["5: label_kind: 'everyone'", "7: unknown key 'colour'", "8: unknown key 'shape'"],
    ),
    "a suite without its format": (
        "suite.yaml",
        HEAD.partition("\n")[2].replace('version: "1"\n', ""),
        ["1: 'format', 'version' are missing. A suite begins with format: novelty-suite/1"],
    ),
    "variants": (
        "suite.yaml",
        HEAD
        + "defaults: {prompt: absent}\nvariants:\n  reference: {votes: 2}\n  same: {votes: 3}\n  b: {prompt: none}\n",
        ["7: unknown prompt 'absent'", "9: a variant may not be called", "11: unknown prompt 'none'"],
    ),
    "gates": (
        "suite.yaml",
        HEAD + "gates:\n  - acuracy>=0.8\n  - accuracy>=0.8\n  - accuracy=>0.8\n",
        ["8: ", "10: "],
    ),
    "a blocklist": (
        "suite.yaml",
        HEAD + "blocklist:\n  - {id: a, reason: r}\n  - {id: i1, reason: r}\n  - {id: i1, reason: r}\n",
        ["8: the blocklist names an unknown instance 'a'", "10: the blocklist names 'i1' twice"],
    ),
    "instances": (
        "instances.jsonl",
        ROW + "{\n" + ROW + '{"id": "i2", "idea": {}, "gold": "novel", "x": 1}\n'
        '{"id": "i3", "idea": {"text": "x"}, "gold": "maybe"}\n\n\xff\n',
        [
            *["2: is not JSON", "3, instance 'i1': the id 'i1' occurs twice (first in line 1)"],
            *["4, instance 'i2': idea: 'text' is missing", "4, instance 'i2': unknown key 'x'"],
            *["5, instance 'i3': gold: 'maybe'", "7: is not UTF-8"],
        ],
    ),
    "ideas": (
        "ideas.jsonl",
        '{"text": ""}\n"Good."\n{"title": "t"}\n[\n{"text": "t", "colour": 1, "year": "x"}\n',
        ["1: text: must not be", "3: 'text' is missing", "4: is not JSON", "5: unknown key 'colour'", "5: year: 'x'"],
    ),
    "a prompt": (
        "p.yaml",
        "version: 1\nprotocol: pointwise\ncolour: blue\nmessages: []\noutput: {}\n",
        [
            *["1: version: 1 is not", "1: 'format', 'name' are missing. A prompt begins with format: novelty-prompt/1"],
            *["3: unknown key 'colour'", "4: messages: []", "5: output: 'type', 'properties', 'required' are missing"],
        ],
    ),
    "a prompt's parts": (
        "p.yaml",
        PROMPT.replace("{{ idea.text }}", "{{ idea.text").replace("protocol: pointwise", "protocol: telepathy"),
        ["4: unknown protocol 'telepathy'", "6: template syntax"],
    ),
}


@pytest.mark.parametrize("name", EVERYTHING)
def test_everything_that_is_wrong_with_a_file_is_said_each_with_its_line(name: str, run: Said, tmp_path: Path) -> None:
    file, text, wanted = EVERYTHING[name]
    path = tmp_path / file
    if file in ("suite.yaml", "instances.jsonl"):
        write_suite(tmp_path)
    path.write_bytes(text.encode("latin-1"))
    status, out, err = run("validate", tmp_path if file == "instances.jsonl" else path)
    *errors, last = out.splitlines()
    assert (status, err, last) == (1, "", "1 checked, 1 not valid")
    expected = [f"ERROR {path}{'' if said.startswith(':') else ':'}{said}" for said in wanted]
    assert [line[: len(said)] for line, said in zip(sorted(errors), sorted(expected), strict=True)] == sorted(expected)
    lines = [said.split(":", 2)[1].partition(",")[0] for said in errors]
    assert lines == sorted(lines, key=lambda number: int(number) if number.isdigit() else 0)


def test_a_run_says_the_first_error_and_how_many_there_are(tmp_path: Path) -> None:
    path = tmp_path / "j.yaml"
    path.write_text("format: novelty-judge/1\nmodel: gpt-5\nretries: -1\n")
    with pytest.raises(JudgeError) as caught:
        load_judge_file(path)
    assert str(caught.value).startswith(f"{path}:2: model must begin")
    assert str(caught.value).endswith(". And 1 more error: pytest-novelty validate shows all")
    path.write_text("format: novelty-judge/1\nmodel: openai:m\nretries: -1\n")
    with pytest.raises(JudgeError) as caught:
        load_judge_file(path)
    assert "more" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"format": "novelty-judge/1",\n "model": "openai:m"}\n', "judge m, openai:m"),
        ("format : novelty-judge/1\nmodel: openai:m\n", "judge m, openai:m"),
    ],
)
def test_a_judge_file_is_one_however_it_is_written(text: str, said: str, run: Said, tmp_path: Path) -> None:
    path = tmp_path / "j.yaml"
    path.write_text(text)
    assert run("validate", path) == (0, f"{path}: {said}\n1 checked, 0 not valid\n", "")


def test_a_prompt_that_a_suite_uses_is_checked_with_it(run: Said, tmp_path: Path) -> None:
    suite = write_suite(tmp_path / "s", HEAD + "variants: {v: {prompt: p.yaml}}\n")
    write_prompt(suite / "p.yaml", PROMPT.replace("idea.text", "idea.txt"))
    status, out, _ = run("validate", suite / "suite.yaml")
    assert (status, "p.yaml: cannot be rendered" in out) == (1, True)


def test_a_path_with_nothing(run: Said, tmp_path: Path) -> None:
    absent, empty = tmp_path / "absent", tmp_path / "empty"
    empty.mkdir()
    status, out, _ = run("validate", empty)
    assert (status, out.splitlines()[0]) == (1, f"{empty}: nothing to check: no suite and no prompt is here")
    assert run("validate", empty, empty)[1].endswith("0 checked, 2 not valid\n")
    status, out, _ = run("validate", absent)
    assert (status, out.splitlines()[0]) == (1, f"ERROR {absent}: there is no such suite")


# --- export -------------------------------------------------------------------------------------------------


def judge_of(letter: str) -> Callable[[Any], Any]:
    def judge(request: Any) -> Any:
        if request.sample == 1 and request.order == "ba":
            return {"winner": "neither \u00e9"}  # no verdict
        return {"winner": letter, "reason": "caf\u00e9 \U0001f92f"}

    judge.version = f"v{letter}"  # type: ignore[attr-defined]
    judge.uses_prompt = False  # type: ignore[attr-defined]
    return judge


@pytest.fixture
def suite(make_suite: Callable[..., Suite], make_instance: Callable[..., Any]) -> Suite:
    return make_suite("pairwise", *[make_instance("pairwise", f"i{k}") for k in (3, 1, 2)])


@pytest.fixture
def store(suite: Suite, tmp_path: Path) -> Path:
    """What two judges said of three pairs, two votes an order."""
    path = tmp_path / "verdicts.sqlite"
    for judge in ("zeta", "alpha"):
        evaluate({judge: judge_of("A")}, suite, votes=2, store=path)
    return path


def test_without_a_store(run: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("export") == (
        *(4, ""),
        "pytest-novelty: .novelty/verdicts.sqlite: there is no store. Name one with --store\n",
    )
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_store_is_refused_and_kept(run: Said, tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("not a database, and long enough to be looked at" * 30)
    before = path.read_bytes()
    status, out, err = run("export", "--store", path)
    assert (status, out) == (4, "")
    assert err.startswith(f"pytest-novelty: {path}: is not a verdict store or is damaged")
    assert path.read_bytes() == before


def test_export_is_sorted_ascii_and_whole(run: Said, store: Path, tmp_path: Path) -> None:
    status, out, err = run("export", "--store", store)
    assert (status, err) == (0, "")
    assert out.isascii()
    first, *lines, last = out.splitlines()
    assert (first, last) == ('{"format":"novelty-records/1"}', '{"records":24}')
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 2 * 3 * 4
    slots = [(row["instance"], row["judge"], row["order"], row["sample"]) for row in rows]
    assert slots == sorted(slots)
    assert [row["status"] for row in rows].count("schema violation") == 6
    target = tmp_path / "all.jsonl"
    assert run("export", "--store", store, "--out", target) == (0, f"24 records written to {target}\n", "")
    assert target.read_text() == out


def test_export_of_one_judge(run: Said, store: Path) -> None:
    rows = [json.loads(line) for line in run("export", "--store", store, "--judge", "zeta")[1].splitlines()[1:-1]]
    assert [row["judge"] for row in rows] == ["zeta"] * 12


def test_a_replay_of_an_export_has_the_same_outcomes(run: Said, store: Path, suite: Suite, tmp_path: Path) -> None:
    target = tmp_path / "zeta.jsonl"
    run("export", "--store", store, "--judge", "zeta", "--out", target)
    first = evaluate({"zeta": judge_of("A")}, suite, votes=2, store=store, offline=True)
    again = evaluate(f"replay:{target}", suite, votes=2)
    assert [result.outcome for result in first.outcomes] == [result.outcome for result in again.outcomes]
    assert len(again.outcomes) == 3
    assert first.metric("invalid_rate") == again.metric("invalid_rate")


def test_a_failed_export_leaves_the_old_file_and_nothing_beside_it(
    run: Said, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    target = folder / "all.jsonl"
    target.write_text("old\n")

    def fails(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fails)
    status, _, err = run("export", "--store", store, "--out", target)
    assert (status, err) == (4, f"pytest-novelty: {target}: cannot be written: No space left on device\n")
    assert target.read_text() == "old\n"
    assert [path.name for path in folder.iterdir()] == ["all.jsonl"]


def test_an_export_that_cannot_be_written(run: Said, store: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "folder").mkdir()
    before = sorted(tmp_path.iterdir())
    for target in (tmp_path / "file" / "all.jsonl", tmp_path / "folder"):
        status, _, err = run("export", "--store", store, "--out", target)
        assert status == 4
        assert err.startswith(f"pytest-novelty: {target}: cannot be written: ")
    assert sorted(tmp_path.iterdir()) == before


def test_a_reader_that_has_seen_enough_is_no_error(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """``export | head -1``: no traceback, and no wait for the half-read store."""

    class Closed(io.StringIO):
        def write(self, text: str) -> int:
            if self.tell():
                raise BrokenPipeError
            return super().write(text)

    monkeypatch.setattr(sys, "stdout", Closed())
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert main(["export", "--store", str(store)]) == 0


# --- usage --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["validat"], "invalid choice: 'validat'"),
        (["validate"], "the following arguments are required: PATH"),
        (["export", "--store"], "expected one argument"),
        (["export", "somewhere"], "unrecognized arguments: somewhere"),
    ],
)
def test_usage(arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert raised.value.code == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("command", [["validate"], ["prompts", "diff"], ["store", "info"]])
def test_a_name_that_no_file_can_have(command: list[str], run: Said) -> None:
    option = ["--store"] if command == ["store", "info"] else []
    also = ["P1"] if command == ["prompts", "diff"] else []
    status, _, said = run(*command, *option, "x" * 300, *also)
    assert status == 4
    assert "xxx...: File name too long" in said
