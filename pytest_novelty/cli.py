"""``pytest-novelty validate | suite new | prompts | export | store``: what is done with files, outside a test run."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_novelty.cli_compare import add_compare
from pytest_novelty.cli_store import add_export, add_store
from pytest_novelty.designs import DESIGNS
from pytest_novelty.errors import NoveltyError, Problems, SettingsError, told_by_system
from pytest_novelty.printing import printable

if TYPE_CHECKING:
    from pytest_novelty.prompt_views import Line


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
    except OSError as error:
        if error.filename is None:  # not about a path that somebody named
            raise
        print(f"pytest-novelty: {told_by_system(error)}", file=sys.stderr)
        return 4
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
    _add_suite(commands)
    _add_prompts(commands)
    add_export(commands)
    add_store(commands)
    add_compare(commands)
    return parser


def _add_suite(commands: Any) -> None:
    suite = commands.add_parser("suite", help="make a suite of your own ideas").add_subparsers(
        required=True, metavar="COMMAND"
    )
    new = suite.add_parser("new", help="a suite without labels", description=new_suite.__doc__)
    new.add_argument(
        "--from",
        dest="source",
        type=Path,
        required=True,
        metavar="IDEAS",
        help="a folder of .txt or .md files, an ideas.jsonl, or a folder that has one",
    )
    new.add_argument("--protocol", choices=("pairwise", "pointwise"), default="pairwise", help="default: pairwise")
    new.add_argument(
        "--design",
        choices=DESIGNS,
        default=None,
        help="random (default): balanced; triads: closed triples a-b, b-c, a-c; complete: all pairs",
    )
    new.add_argument(
        "--sample",
        type=_count,
        default=None,
        metavar="N",
        help="pairs to make (60), or single ideas to take (all); samples of one seed nest",
    )
    new.add_argument(
        "--pair-by",
        default=None,
        metavar="FIELD",
        help="pair only ideas with the same value of this field: area, year, or one of their metadata",
    )
    new.add_argument(
        "--contrast",
        default=None,
        metavar="FIELD=OURS/BASE",
        help="pair ideas of two systems, and have the report compare these: system=ours/base",
    )
    new.add_argument("--seed", type=_seed, default=0, metavar="N", help="which pairs (0)")
    new.add_argument("--out", type=Path, default=None, metavar="DIR", help="the folder to make; default: ./NAME")
    new.add_argument("--name", default=None, help="the suite's name; default: that of --out, else of the ideas")
    new.set_defaults(run=new_suite)


def _add_prompts(commands: Any) -> None:
    prompts = commands.add_parser("prompts", help="list, show and compare prompts").add_subparsers(
        required=True, metavar="COMMAND"
    )
    listed = prompts.add_parser("list", help="the prompts that ship", description=list_all_prompts.__doc__)
    listed.set_defaults(run=lambda arguments: list_all_prompts())
    show = prompts.add_parser("show", help="one prompt", description=show_one_prompt.__doc__)
    show.add_argument("name", metavar="NAME", help="a prompt that ships, or a path")
    show.set_defaults(run=show_one_prompt)
    diff = prompts.add_parser("diff", help="what differs between two prompts", description=diff_two_prompts.__doc__)
    diff.add_argument("first", metavar="A", help="a prompt that ships, or a path")
    diff.add_argument("second", metavar="B", help="a prompt that ships, or a path")
    diff.set_defaults(run=diff_two_prompts)
    show.add_argument("--rendered", action="store_true", help="messages about a small example, not the template")
    diff.add_argument("--rendered", action="store_true", help="compare messages about a small example, too")


def _count(text: str) -> int:
    return _whole_number(text, 1)


def _seed(text: str) -> int:
    return _whole_number(text, 0)


def _whole_number(text: str, lowest: int) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 9 or int(text) < lowest:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of at least {lowest}")
    return int(text)


def new_suite(arguments: argparse.Namespace) -> int:
    """Make a suite without labels of your own ideas: ids come from the texts, pairs from a design; nothing is overwritten."""
    from pytest_novelty.new_suite import Wish, make_new_suite

    names = ("source", "protocol", "design", "sample", "pair_by", "contrast", "seed", "name", "out")
    wish = Wish(**{name: getattr(arguments, name) for name in names})
    for line in make_new_suite(wish, where=Path.cwd()):
        print(line)
    return 0


def list_all_prompts() -> int:
    """The prompts that ship, each with the first sentence of its lineage."""
    from pytest_novelty.prompt_views import list_prompts

    return _print(list_prompts())


def show_one_prompt(arguments: argparse.Namespace) -> int:
    """Lineage, what the prompt shows and asks for, and its messages."""
    from pytest_novelty.prompt_views import show_prompt
    from pytest_novelty.prompts import resolve_prompt

    return _print(show_prompt(resolve_prompt(arguments.name, Path.cwd()), rendered=arguments.rendered))


def diff_two_prompts(arguments: argparse.Namespace) -> int:
    """The lineage of two prompts, in which respects they differ, and the lines that do. The status is 0 also if they differ."""
    from pytest_novelty.prompt_views import diff_prompts
    from pytest_novelty.prompts import resolve_prompt

    first, second = (resolve_prompt(name, Path.cwd()) for name in (arguments.first, arguments.second))
    return _print(diff_prompts(first, second, rendered=arguments.rendered))


def _print(lines: Iterable[Line]) -> int:
    """Lines with their styles on a terminal, plain where something else reads them."""
    found = [line._replace(text=printable(line.text)) for line in lines]
    if not sys.stdout.isatty():
        for line in found:
            print(line.text)
        return 0
    from rich.console import Console
    from rich.text import Text

    console = Console(highlight=False, soft_wrap=True)
    for line in found:
        console.print(Text(line.text, style=line.style))
    return 0


def validate_paths(paths: Sequence[Path]) -> int:
    """Check suites (folders with suite.yaml, .yaml, .jsonl, folders of texts), prompts and judge files (.yaml); folders are
    searched. All errors of a file are shown; what rests on its parts (gates, ideas of pairs) is looked at once they fit.
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
                for each in (error, *error.more):
                    print(f"ERROR {each.text if each.where else f'{target}: {each.text}'}")
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
    for file in sorted(path.rglob("*.yaml")):
        declared = _declared_format(file)
        if declared in ("prompt", "judge") or (declared == "suite" and file.name != "suite.yaml"):
            found.append(file)
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


def _kind_of(path: Path) -> str:
    """What a YAML file is by its format or, where that is missing or mistyped, by the keys that only one kind has."""
    from pytest_novelty.strict_yaml import read_yaml

    if path.suffix not in (".yaml", ".yml"):
        return ""
    try:
        value = read_yaml(path, SettingsError).value
    except NoveltyError:  # whoever reads it next says so
        return _declared_format(path)
    if not isinstance(value, dict):
        return ""
    declared = str(value.get("format"))
    for kind, marks in (("suite", {"instances", "extends"}), ("prompt", {"messages", "output"}), ("judge", {"model"})):
        if f"novelty-{kind}/" in declared or ("novelty-" not in declared and marks & value.keys()):
            return kind
    return ""


def _check(path: Path) -> str:
    """Validate one file or folder; what it is, in a line. Raises NoveltyError."""
    from pytest_novelty.instances import check_pairs
    from pytest_novelty.judges.llm.files import load_judge_file
    from pytest_novelty.judges.registry import Resolver, judge_of
    from pytest_novelty.prompts import check_prompt, load_prompt, resolve_prompt
    from pytest_novelty.routing import check_routes
    from pytest_novelty.suites import load_suite
    from pytest_novelty.variants import check_content

    kind = _kind_of(path) if path.is_file() else ""
    if kind == "prompt":
        prompt = load_prompt(path)
        check_prompt(prompt)
        return f"{prompt.protocol.name} prompt {prompt.name} {prompt.version}"
    if kind == "judge":
        settings = load_judge_file(path)
        problems = Problems()
        for name in settings.prompts:
            with problems.noted():
                check_prompt(resolve_prompt(settings.prompts[name], settings.folder, name))
        judge = judge_of(settings)
        panel: list[str] = []
        with problems.noted():
            panel = check_routes(judge, Resolver({}, path.parent))
        problems.raise_any()
        audited = f", audited by {' and '.join(panel)}" if panel else ""
        return f"judge {settings.name}, {settings.provider}:{settings.model}{audited}"
    suite = load_suite(path)
    check_content(suite, suite.variants.values())
    problems = Problems()
    with problems.noted():
        check_pairs(suite.instances, suite.path)
    for name in sorted({variant.axes.prompt for variant in suite.variants.values()}):
        with problems.noted():
            check_prompt(resolve_prompt(name, suite.folder, suite.protocol))
    problems.raise_any()
    labels = f"labels: {suite.label_kind}" if suite.labelled else "no labels"
    return f"{suite.protocol} suite {suite.name} {suite.version}, {len(suite.instances)} instances, {labels}"
