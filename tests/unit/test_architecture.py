"""The seams hold: dependencies point down, nothing above the line knows pytest, heavy things are imported where they are used."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import pytest_novelty

PACKAGE = Path(pytest_novelty.__file__).parent

LAYERS = [
    ["errors", "verdicts", "model", "digests", "data", "masking", "profiles"],
    [
        "files",
        "catching",
        "garbage",
        "printing",
        "validation",
        "strict_yaml",
        "jsonl",
        "exports",
        "parsing",
        "looks",
        "settings",
    ],
    ["protocols"],
    ["metrics.catalogue", "metrics.distributions", "metrics.resampling", "metrics.intervals", "metrics.auroc"],
    ["metrics.permutation", "metrics.planning", "gates", "deciding", "feasibility"],
    [
        "section_names",
        "sections",
        "evidence",
        "granularity",
        "instances",
        "ideas",
        "prompts",
        "variants",
        "contrast",
        "published",
        "suites",
        "sampling",
        "judges",
        "answers",
        "tally",
        "pace",
        "processes",
    ],
    ["designs", "own_ideas", "new_suite", "prompt_views"],
    [
        "calls",
        "applicability",
        "grounding",
        "auditing",
        "routing",
        "paying",
        "as_published",
        "audits",
        "outcomes",
        "wire",
        "recording",
        "store",
        "cassette",
        "budget",
        "generations",
    ],
    ["lanes", "tickets", "sync_runner", "async_runner", "engine", "plan", "metrics"],
    [
        "derivation",
        "misses",
        "hearing",
        "sharing",
        "runner",
        "baseline",
        "findings",
        "headline",
        "attribution",
        "measuring",
        "enforcing",
        "claiming",
        "cascades",
        "textless",
        "comparing",
    ],
    [
        "labels_as_text",
        "tallies",
        "golden_rows",
        "golden",
        "relabelling",
        "changes",
        "evidence_drift",
        "drifting",
        "probing",
    ],
    ["reports", "results", "dryrun", "keeping", "between_runs"],
    ["stopping"],
    ["evaluation", "cli", "cli_store", "cli_compare"],
    ["hookspecs", "_pytest", "conformance", "plugin"],
]
"""From the bottom. A module may import its own layer and those before it. The last layer is the pytest shell."""

HEAVY = {"numpy", "scipy", "rich", "jinja2", "litellm", "openai", "jsonschema", "syrupy", "rapidfuzz", "matplotlib"}
"""Imported at module level only where a run cannot do without: the metrics."""


def modules() -> list[str]:
    paths = [path.relative_to(PACKAGE).with_suffix("") for path in PACKAGE.rglob("*.py")]
    names = (".".join(path.parts).removesuffix(".__init__") for path in paths if "_data" not in path.parts)
    return sorted(name for name in names if name != "__init__")


def layer_of(module: str) -> int:
    """The layer of the longest name that covers the module."""
    found = [
        (len(name), index)
        for index, names in enumerate(LAYERS)
        for name in names
        if module == name or module.startswith(f"{name}.")
    ]
    assert found, f"{module} is in no layer"
    return max(found)[1]


def path_of(module: str) -> Path:
    path = PACKAGE.joinpath(*module.split("."))
    return path / "__init__.py" if (path / "__init__.py").is_file() else path.with_suffix(".py")


def source(module: str) -> ast.Module:
    return ast.parse(path_of(module).read_text(encoding="utf-8"))


def top_level(module: str) -> Iterator[str]:
    """What a module imports when it is imported."""
    for node in source(module).body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from imports(ast.Module([node], []))


def imports(tree: ast.AST, *, typing_only: bool = True) -> Iterator[str]:
    """Every imported module, wherever it stands; without those under TYPE_CHECKING if asked."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test) and not typing_only:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            yield from imports(node, typing_only=typing_only)


def own(names: Iterator[str]) -> set[str]:
    known = set(modules())
    return {
        name.removeprefix("pytest_novelty.")
        for name in names
        if name.startswith("pytest_novelty.") and name.removeprefix("pytest_novelty.") in known
    }


@pytest.mark.parametrize("module", modules())
def test_dependencies_point_down(module: str) -> None:
    above = {name for name in own(imports(source(module), typing_only=False)) if layer_of(name) > layer_of(module)}
    assert not above


@pytest.mark.parametrize("module", [name for name in modules() if layer_of(name) < len(LAYERS) - 1])
def test_nothing_above_the_line_knows_pytest(module: str) -> None:
    foreign = {name for name in imports(source(module)) if name.split(".")[0] in ("pytest", "_pytest", "xdist")}
    assert not foreign
    assert not {name for name in own(imports(source(module))) if layer_of(name) == len(LAYERS) - 1}


@pytest.mark.parametrize("module", modules())
def test_heavy_modules_are_imported_where_they_are_used(module: str) -> None:
    allowed = {"numpy"} if module == "results" or module.startswith("metrics") else set()
    assert not {name.split(".")[0] for name in top_level(module)} & (HEAVY - allowed)


@pytest.mark.parametrize("module", modules())
def test_no_module_outgrows_its_purpose(module: str) -> None:
    assert len(path_of(module).read_text(encoding="utf-8").splitlines()) <= 400


def test_no_two_modules_import_each_other() -> None:
    """At module level: what a function imports when it runs may point back."""
    edges = {name: own(top_level(name)) - {name} for name in modules()}
    for start in edges:
        seen, waiting = set[str](), list(edges[start])
        while waiting:
            name = waiting.pop()
            assert name != start, f"{start} imports itself by way of {sorted(seen)}"
            if name not in seen:
                seen.add(name)
                waiting.extend(edges.get(name, ()))


def test_public_names_are_complete_and_sorted() -> None:
    assert pytest_novelty.__all__ == sorted(pytest_novelty.__all__)
    for name in pytest_novelty.__all__:
        value = getattr(pytest_novelty, name)
        assert value.__module__.startswith("pytest_novelty.")
        assert value.__doc__, f"{name} has no docstring"
