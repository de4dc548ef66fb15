"""``prompts list | show | diff``: what differs is said by name and by line; colours are for terminals."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_novelty.cli import main
from pytest_novelty.prompt_views import NEW, OLD, diff_prompts, read_traits
from pytest_novelty.prompts import Prompt, embedded_prompts, load_prompt, resolve_prompt

Said = Callable[..., tuple[int, str, str]]

HEAD = "format: novelty-prompt/1\nname: mine\nversion: '2'\nprotocol: pairwise\n"
OUTPUT = "output: {type: object, properties: {winner: {enum: [A, B]}}, required: [winner]}\n"


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    def write(
        content: str = "{{ ideas[0].text }} or {{ ideas[1].text }}?", more: str = "", output: str = OUTPUT
    ) -> Path:
        path = tmp_path / "mine.yaml"
        path.write_text(f"{HEAD}{more}messages:\n  - {{role: user, content: {content!r}}}\n{output}")
        return path

    return write


def shipped(name: str) -> Prompt:
    return resolve_prompt(name, Path())


# --- list -----------------------------------------------------------------------------------------------------


def test_list(run: Said) -> None:
    status, out, err = run("prompts", "list")
    assert (status, err) == (0, "")
    names = [line.split()[0] for line in out.splitlines() if not line.startswith(" ")]
    assert names == sorted(embedded_prompts())
    assert "pairwise/p4            pairwise/reference with another question: which one is novel?\n" in out
    assert max(map(len, out.splitlines())) <= 100


# --- show -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", embedded_prompts())
def test_show_has_the_whole_template(name: str, run: Said) -> None:
    status, out, _ = run("prompts", "show", name)
    prompt = shipped(name)
    assert status == 0
    assert out.startswith(f"{name} {prompt.version}, {prompt.path}\n")
    assert " ".join(prompt.lineage.split()) in " ".join(out.split())
    for role, source in prompt.sources:
        assert f"[{role}]\n{source}\n" in out


def test_show_rendered(run: Said) -> None:
    _, out, _ = run("prompts", "show", "pointwise/p2", "--rendered")
    assert "relative to what had been published by 2020-12-31." in out
    assert (
        "- Digesters at Sea (2018): Makes gas from kelp on a moored barge.\n- Kelp as Feed (2011)\n</related_work>"
        in out
    )
    assert "{%" not in out


def test_show_a_file_by_path(
    run: Said, write: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write()
    monkeypatch.chdir(tmp_path)
    for name in (path, "mine.yaml"):
        status, out, _ = run("prompts", "show", name)
        assert (status, out.splitlines()[0]) == (0, f"mine 2, {path}")
        assert "The file says nothing of its lineage." in out


def test_traits() -> None:
    assert read_traits(shipped("pairwise/reference")) == {
        "protocol": "pairwise",
        "messages": "system, user",
        "output": "reasoning (optional), winner",
        "earlier works": "shown",
        "date": "shown",
        "tie": "offered",
        "abstention": "offered",
        "score": "not offered",
    }
    bare = read_traits(shipped("pairwise/p3-published"))
    assert (bare["output"], bare["earlier works"], bare["date"]) == ("winner", "not shown", "shown")
    single = read_traits(shipped("pointwise/reference"))
    assert (single["tie"], single["score"]) == ("not offered", "offered")


# --- diff -----------------------------------------------------------------------------------------------------


def test_one_change(run: Said) -> None:
    status, out, err = run("prompts", "diff", "pairwise/reference", "pairwise/p4")
    assert (status, err) == (0, "")
    one, two = shipped("pairwise/reference"), shipped("pairwise/p4")
    plain = " ".join(out.split())
    for sign, prompt in (("---", one), ("+++", two)):
        assert f"{sign} {prompt.name} {prompt.version}, {prompt.path} {' '.join(prompt.lineage.split())}" in plain
    assert "\nOnly the words differ.\n" in out
    changed = [line for line in out.splitlines() if line[:1] in ("-", "+") and line[:3] not in ("---", "+++")]
    assert changed == [
        "-Decide which of the two research ideas below is more novel",
        "+Decide which one of the two research ideas below is novel",
        '-{"reasoning": "<your reasoning in a few sentences>", "winner": <"A" or "B", the more novel idea',
        '+{"reasoning": "<your reasoning in a few sentences>", "winner": <"A" or "B", the novel idea',
    ]


def test_more_than_the_words(run: Said) -> None:
    _, out, _ = run("prompts", "diff", "pairwise/p5", "pairwise/p5-published")
    assert (
        "More than the words differs:\n"
        "  output         reasoning (optional), winner  ->  winner\n"
        "  earlier works  shown                         ->  not shown\n"
        "  the same: protocol pairwise; messages system, user; date shown; "
    ) in out


def test_rendered(run: Said) -> None:
    _, out, _ = run("prompts", "diff", "pointwise/reference", "pointwise/related", "--rendered")
    template, _, messages = out.partition("\nMessages on an example:\n")
    assert "+{%- if as_of %}, all published by {{ as_of }}." in template
    assert (
        "+Decide whether the research idea below is novel relative to the earlier works given with it, all published by 2020-12-31."
    ) in messages
    assert "{" not in messages


def test_no_difference(run: Said) -> None:
    status, out, _ = run("prompts", "diff", "pairwise/p1", "pairwise/p1", "--rendered")
    assert status == 0
    assert (
        "They ask the same in the same words.\n\nTemplate: no difference\n\nMessages on an example: no difference\n"
        in out
    )


def test_a_change_that_the_example_does_not_show(write: Callable[..., Path]) -> None:
    one = load_prompt(write())
    two = load_prompt(write("{{ ideas[0].text }} or {{ ideas[1].text }}?{% if may_tie %} Or neither?{% endif %}"))
    text = "\n".join(line.text for line in diff_prompts(one, two, rendered=True))
    assert "More than the words differs:\n  tie  not offered  ->  offered" in text
    assert text.endswith("Messages on an example: no difference")


def test_roles_are_part_of_the_diff(write: Callable[..., Path], tmp_path: Path) -> None:
    one = load_prompt(write())
    path = tmp_path / "other.yaml"
    path.write_text((tmp_path / "mine.yaml").read_text().replace("role: user", "role: system"))
    lines = list(diff_prompts(one, load_prompt(path)))
    assert [(line.text, line.style) for line in lines if line.style in (OLD, NEW)][-2:] == [
        ("-[user]", OLD),
        ("+[system]", NEW),
    ]


def test_prompts_of_two_protocols(run: Said) -> None:
    status, out, _ = run("prompts", "diff", "pairwise/p1", "pointwise/p1", "--rendered")
    assert status == 0
    assert "  protocol  pairwise" in out


# --- terminals, errors ----------------------------------------------------------------------------------------


def test_plain_where_something_else_reads(run: Said) -> None:
    for command in (["list"], ["show", "pairwise/p1"], ["diff", "pairwise/p1", "pairwise/p2"]):
        assert "\x1b" not in run("prompts", *command)[1]


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("no_colour", [False, True])
def test_colours_on_a_terminal(no_colour: bool, run: Said, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run("prompts", "diff", "pairwise/reference", "pairwise/p1")[1]
    for name in ("NO_COLOR", "FORCE_COLOR", "TERM", "COLORTERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    if no_colour:
        monkeypatch.setenv("NO_COLOR", "1")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main(["prompts", "diff", "pairwise/reference", "pairwise/p1"]) == 0
    shown = terminal.getvalue()
    assert ("\x1b[31m-Keep three guards in mind:" in shown) is not no_colour
    for line in ("[system]", "Only the words differ."):
        assert (line in shown) is (line in plain)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["show", "pairwise/p9"], "unknown prompt 'pairwise/p9'. Did you mean 'pairwise/p"),
        (["diff", "pairwise/p1", "none.yaml"], "unknown prompt 'none.yaml'. Known: entailment/reference, "),
        (["diff", "none.yaml", "pairwise/p1"], "No file "),
    ],
)
def test_unknown_prompts(arguments: list[str], told: str, run: Said) -> None:
    status, out, err = run("prompts", *arguments)
    assert (status, out) == (4, "")
    assert told in err


def test_a_prompt_that_cannot_be_rendered(run: Said, write: Callable[..., Path]) -> None:
    path = write("{{ ideas[0].txt }}")
    status, out, err = run("prompts", "show", path)
    assert (status, out) == (4, "")
    assert err.startswith(f"pytest-novelty: {path}, instance 'example': cannot be rendered")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["prompts"], "COMMAND"),
        (["prompts", "lists"], "invalid choice: 'lists'"),
        (["prompts", "show"], "NAME"),
        (["prompts", "diff", "pairwise/p1"], "required: B"),
        (["suite"], "COMMAND"),
        (["suite", "new"], "--from"),
        (["suite", "new", "--from", "x", "--design", "round"], "invalid choice: 'round'"),
        (["suite", "new", "--from", "x", "--protocol", "listwise"], "invalid choice: 'listwise'"),
        (["suite", "new", "--from", "x", "--sample", "0"], "--sample: '0' is not a whole number of at least 1"),
        (["suite", "new", "--from", "x", "--sample", "many"], "'many' is not a whole number"),
        (["suite", "new", "--from", "x", "--seed", "-1"], "--seed"),
    ],
)
def test_usage(arguments: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as raised:
        main(arguments)
    assert raised.value.code == 2
    assert told in capsys.readouterr().err


def test_suite_new_by_command(run: Said, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ideas").mkdir()
    for number in range(6):
        (tmp_path / "ideas" / f"{number}.txt").write_text(f"Idea number {number}.")
    status, out, err = run(
        "suite", "new", "--from", "ideas", "--design", "triads", "--sample", 12, "--seed", 2, "--name", "ours"
    )
    assert (status, err) == (0, "")
    assert out.startswith("6 ideas read from ideas\n4 triads, 12 pairs of 15 possible, each idea in ")
    assert "\nwritten: ours, without labels\n" in out
    status, out, _ = run("validate", "ours")
    assert (status, out.splitlines()[0]) == (0, "ours: pairwise suite ours 1.0.0, 12 instances, no labels")
    status, out, err = run("suite", "new", "--from", "ideas", "--name", "ours")
    assert (status, out) == (4, "")
    assert "ours exists already" in err


def test_validate_finds_files_that_extend(run: Said, tmp_path: Path) -> None:
    (tmp_path / "more.yaml").write_text(
        "format: novelty-suite/1\nextends: landmarks-pairwise\nvariants: {hot: {temperature: 1}}\n"
    )
    (tmp_path / "broken.yaml").write_text(
        "format: novelty-suite/1\nextends: landmarks-pairwise\nvariants: {v: {votes: 3}}\n"
    )
    status, out, _ = run("validate", tmp_path)
    assert status == 1
    assert f"{tmp_path / 'more.yaml'}: pairwise suite landmarks-pairwise 1.0.0, 132 instances" in out
    assert f"ERROR {tmp_path / 'broken.yaml'}:3: the variant 'v' changes nothing" in out
