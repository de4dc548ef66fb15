"""Variants as data: what each changes, what files that extend a suite add, and what a run's options leave of it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty.errors import SettingsError, SuiteError
from pytest_novelty.model import Axes, Contrast, Suite, Variant
from pytest_novelty.plan import make_plan
from pytest_novelty.settings import Settings
from pytest_novelty.suites import embedded_suites, load_suite
from pytest_novelty.validation import load_schema
from pytest_novelty.variants import changed_axes, find_lacking, with_options

Write = Callable[..., Path]

PROMPT = """format: novelty-prompt/1
name: mine
version: "1"
protocol: pairwise
messages: [{role: user, content: "{{ ideas[0].text }} or {{ ideas[1].text }}?"}]
output: {type: object, properties: {winner: {enum: [A, B]}}, required: [winner]}
"""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A pairwise suite in ``folder/base``; ``head`` is added to its suite.yaml, ``ideas`` to each idea."""

    def write(head: str = "", folder: str = "base", **idea: Any) -> Path:
        path = tmp_path / folder
        path.mkdir(exist_ok=True)
        (path / "suite.yaml").write_text(
            "format: novelty-suite/1\nname: base\nversion: '1'\nprotocol: pairwise\nlabel_kind: experts\n"
            f"instances: rows.jsonl\n{head}\n"
        )
        ideas = [{"id": name, "text": f"Text {name}.", **idea} for name in "xy"]
        (path / "rows.jsonl").write_text(json.dumps({"id": "i1", "ideas": ideas, "gold": "x"}))
        return path

    return write


@pytest.fixture
def extend(tmp_path: Path) -> Callable[..., Path]:
    """A file beside ``base`` that extends it; ``more`` is its text after the first two lines."""

    def extend(more: str = "", name: str = "more.yaml", extends: str = "base") -> Path:
        (tmp_path / name).write_text(f"format: novelty-suite/1\nextends: {extends}\n{more}\n")
        return tmp_path / name

    return extend


def refuse(path: Path, told: str, line: int | None, blamed: Path | None = None) -> None:
    with pytest.raises(SuiteError) as caught:
        load_suite(path)
    assert re.search(told, str(caught.value), re.DOTALL), str(caught.value)
    assert (Path(str(caught.value.path)), caught.value.line) == (blamed or path, line)


# --- what a variant changes -----------------------------------------------------------------------------------

AXES: dict[str, tuple[str, Any]] = {
    "prompt": ("pairwise/p1", "pairwise/p1"),
    "votes": ("5", 5),
    "orders": ("ab", "ab"),
    "related_work": ("2", 2),
    "format": ("plan", "plan"),
    "params": ("{top_k: 3}", {"top_k": 3}),
    "effort": ("high", "high"),
    "temperature": ("0.5", 0.5),
    "granularity": ("full", "full"),
}


def test_every_axis_is_in_the_schema_and_here() -> None:
    names = set(Axes.__dataclass_fields__)
    assert names == set(AXES) == set(load_schema("suite")["$defs"]["axes"]["properties"])


@pytest.mark.parametrize("axis", AXES)
def test_one_axis(axis: str, write: Write) -> None:
    text, value = AXES[axis]
    suite = load_suite(write(f"variants: {{v: {{{axis}: {text}}}}}", renderings={"plan": "p"}))
    variant, reference = suite.variants["v"], suite.variants["reference"]
    assert variant.changed == (axis,)
    assert getattr(variant.axes, axis) == value
    assert replace(variant.axes, **{axis: getattr(reference.axes, axis)}) == reference.axes


def test_several_axes_are_all_named(write: Write) -> None:
    suite = load_suite(write("variants: {v: {temperature: 0, effort: low, votes: 5, orders: both}}"))
    assert suite.variants["v"].changed == ("votes", "effort", "temperature")


def test_null_takes_a_default_away(write: Write) -> None:
    suite = load_suite(write("defaults: {effort: high, temperature: 1}\nvariants: {v: {effort: null, temperature: ~}}"))
    assert suite.variants["v"].changed == ("effort", "temperature")
    assert (suite.variants["v"].axes.effort, suite.variants["v"].axes.temperature) == (None, None)


def test_no_works_and_none_are_one_setting(write: Write) -> None:
    refuse(write("variants: {v: {related_work: 0}}") / "suite.yaml", "changes nothing", 7)
    suite = load_suite(write("defaults: {related_work: true}\nvariants: {v: {related_work: 0}}"))
    assert suite.variants["v"].axes.related_work is False


def test_orders_are_no_axis_where_there_are_none() -> None:
    one, two = Axes("p", orders="ab"), Axes("p", orders="both")
    assert changed_axes(one, two, "pairwise") == ("orders",)
    assert changed_axes(one, two, "pointwise") == ()


# --- prompts by name and by path ------------------------------------------------------------------------------


def test_a_prompt_file_is_found_beside_the_file_that_names_it(write: Write, tmp_path: Path) -> None:
    """Two suites may name two files alike: each means its own."""
    found = []
    for folder in ("one", "two"):
        path = write("variants: {v: {prompt: texts/mine.yaml}}", folder)
        (path / "texts").mkdir()
        (path / "texts" / "mine.yaml").write_text(PROMPT.replace(" or ", f" {folder} "))
        suite = load_suite(path)
        found.append(replace(suite, name=folder))
        assert suite.variants["v"].axes.prompt == str(path / "texts" / "mine.yaml")
    plan = make_plan(_settings(tmp_path, variants=("all",)), {"j": lambda request: ""}, {}, with_suites=False)
    for suite in found:
        plan.add_suite(suite)
    prompts = [plan.prompts[suite.variants["v"].axes.prompt] for suite in found]
    assert [prompt.sources[0][1].split()[3] for prompt in prompts] == ["one", "two"]


def test_a_name_that_ships_wins_over_a_file(write: Write) -> None:
    path = write("variants: {v: {prompt: pairwise/p1}}")
    (path / "pairwise").mkdir()
    (path / "pairwise" / "p1").write_text(PROMPT)
    assert load_suite(path).variants["v"].axes.prompt == "pairwise/p1"


def test_an_unknown_prompt_is_told_with_its_line(write: Write) -> None:
    path = write("variants:\n  v:\n    votes: 1\n    prompt: pairwise/p9")
    refuse(path / "suite.yaml", "unknown prompt 'pairwise/p9'. Did you mean 'pairwise/p.'", 10)
    refuse(write("defaults: {prompt: mine.yaml}") / "suite.yaml", "No file .*base/mine.yaml either", 7)


# --- derived --------------------------------------------------------------------------------------------------


def test_fewer_votes_and_nothing_else_are_derived() -> None:
    reference = Variant("reference", Axes("p", votes=3))

    def derived(changed: tuple[str, ...], **axes: Any) -> bool:
        return Variant("v", replace(reference.axes, **axes), changed).is_derived(reference)

    assert derived(("votes",), votes=1)
    assert derived(("votes",), votes=2)
    assert not derived(("votes",), votes=4)
    assert not derived(("votes", "prompt"), votes=1, prompt="q")
    assert not derived((), votes=3)
    assert not derived(("prompt",), prompt="q")


# --- options --------------------------------------------------------------------------------------------------

VARIED = "variants:\n  one: {votes: 1}\n  five: {votes: 5}\n  P: {prompt: pairwise/p1}\n  P1: {prompt: pairwise/p1, votes: 1}\n  ab: {orders: ab}"


@pytest.mark.parametrize(
    ("votes", "orders", "expected"),
    [
        (None, None, {"one": ("votes",), "five": ("votes",), "P": ("prompt",), "P1": ("prompt", "votes"), "ab": ("orders",)}),
        (5, None, {"one": ("votes",), "five": (), "P": ("prompt",), "P1": ("prompt", "votes"), "ab": ("orders",)}),
        (1, "ab", {"one": (), "five": ("votes",), "P": ("prompt",), "P1": ("prompt",), "ab": ()}),
    ],
)  # fmt: skip
def test_options_move_the_reference_and_leave_what_a_variant_changes(
    votes: int | None, orders: str | None, expected: dict[str, tuple[str, ...]], write: Write
) -> None:
    found = with_options(load_suite(write(VARIED)), votes, orders)
    assert {name: variant.changed for name, variant in found.items()} == {"reference": (), **expected}
    assert found["reference"].axes.votes == (votes or 3)
    assert found["P"].axes.votes == (votes or 3)
    assert (found["one"].axes.votes, found["five"].axes.votes, found["ab"].axes.orders) == (1, 5, "ab")
    assert found["P"].axes.orders == (orders or "both")


def _settings(base: Path, **values: Any) -> Settings:
    return Settings(judges=("j",), base=base, **values)


def test_what_a_run_makes_of_them(write: Write, tmp_path: Path) -> None:
    plan = make_plan(_settings(tmp_path, variants=("all",)), {"j": lambda request: ""}, {}, with_suites=False)
    planned = plan.add_suite(str(write(VARIED)))
    assert [variant.name for variant in planned.variants] == ["reference", "one", "five", "P", "P1", "ab"]
    assert [variant.name for variant in planned.derived] == ["one", "ab"]
    assert [variant.name for _, variant in plan.pairs(planned)] == ["reference", "five", "P", "P1"]
    assert plan.skipped == {}
    calls = {case.variant.name: case.planned_calls for case in plan.cases()}
    assert calls == {"reference": 6, "five": 10, "P": 6, "P1": 2}


def test_what_votes_of_an_option_make_of_them(write: Write, tmp_path: Path) -> None:
    settings = _settings(tmp_path, variants=("all",), votes=5)
    plan = make_plan(settings, {"j": lambda request: ""}, {}, with_suites=False)
    planned = plan.add_suite(str(write(VARIED)))
    assert [variant.name for variant in planned.derived] == ["one", "ab"]
    assert [variant.name for _, variant in plan.pairs(planned)] == ["reference", "P", "P1"]
    assert plan.skipped == {("j", "base", "five"): "would be asked nothing else than in the reference"}


def test_nothing_but_the_reference_runs_unasked(tmp_path: Path) -> None:
    plan = make_plan(_settings(tmp_path), {"j": lambda request: ""}, {}, with_suites=False)
    for name in embedded_suites():
        planned = plan.add_suite(name)
        assert [variant.name for variant in planned.variants] == ["reference"]
        assert [variant.name for _, variant in plan.pairs(planned)] == ["reference"]


def test_a_gate_on_votes_that_are_the_reference_s_own(write: Write, tmp_path: Path) -> None:
    """Fewer votes flip outcomes, and that can be gated; they do not move votes."""
    path = write("variants: {single: {votes: 1}}\ngates: ['vote_shift[single]<=0.9', 'flip_rate[single]<=0.9']")
    plan = make_plan(_settings(tmp_path, variants=("single",)), {"j": lambda request: ""}, {}, with_suites=False)
    plan.add_suite(str(path))
    told = [text for text in plan.announcements() if "own" in text]
    assert told == [
        "base: vote_shift[single]<=0.9: the votes of single are the reference's own, there is no noise between them"
    ]


# --- renderings that ideas lack -------------------------------------------------------------------------------


def test_a_rendering_that_an_idea_lacks(write: Write, tmp_path: Path) -> None:
    """Named it is an error, for a gate may rest on it; among all variants it is skipped with the reason."""
    path = write("variants: {plan: {format: plan}}")
    suite = load_suite(path)
    found = find_lacking(suite, suite.variants["plan"])
    assert found is not None
    assert (found.instance.id, found.idea.id) == ("i1", "x")
    for named in ({"variants": ("plan",)}, {"gates": ("tie_rate[plan]<=0.5",)}):
        plan = make_plan(_settings(tmp_path, **named), {"j": lambda request: ""}, {}, with_suites=False)
        with pytest.raises(SuiteError, match=r"instance 'i1': the idea 'x' has no rendering 'plan'"):
            plan.add_suite(str(path))
    plan = make_plan(_settings(tmp_path, variants=("all",)), {"j": lambda request: ""}, {}, with_suites=False)
    with pytest.raises(SuiteError, match="'plan'"):
        plan.add_suite(str(path), ["plan"])
    planned = plan.add_suite(str(path))
    assert [variant.name for _, variant in plan.pairs(planned)] == ["reference"]
    assert plan.skipped == {("j", "base", "plan"): "cannot be shown it (the instance 'i1' has no rendering 'plan')"}


# --- files that extend a suite --------------------------------------------------------------------------------


def test_an_extension_adds_variants_to_a_suite_that_ships(tmp_path: Path, extend: Callable[..., Path]) -> None:
    (tmp_path / "mine.yaml").write_text(PROMPT)
    path = extend("variants:\n  mine: {prompt: mine.yaml}\n  hot: {temperature: 1}", extends="landmarks-pairwise")
    base, suite = load_suite(embedded_suites()["landmarks-pairwise"]), load_suite(path)
    assert list(suite.variants) == [*base.variants, "mine", "hot"]
    assert suite.variants["mine"].axes.prompt == str(tmp_path / "mine.yaml")
    assert {name: suite.variants[name] for name in base.variants} == base.variants
    assert suite.digest != base.digest
    assert (suite.folder, suite.extension) == (tmp_path, path)
    for field in (
        "name",
        "version",
        "protocol",
        "label_kind",
        "instances",
        "gates",
        "cluster",
        "path",
        "title",
        "licence",
    ):
        assert getattr(suite, field) == getattr(base, field), field


def test_an_extension_may_change_defaults_and_variants_stay_what_they_are(
    write: Write, extend: Callable[..., Path]
) -> None:
    write(
        "defaults: {votes: 5, related_work: true}\nvariants: {one: {votes: 1}, bare: {related_work: false}, hot: {temperature: 1}}"
    )
    suite = load_suite(
        extend("name: ours\ndefaults: {votes: 1, prompt: pairwise/p1}\nvariants: {P2: {prompt: pairwise/p2}}")
    )
    assert suite.name == "ours"
    reference = suite.variants["reference"].axes
    assert (reference.prompt, reference.votes, reference.related_work) == ("pairwise/p1", 1, True)
    assert {name: variant.changed for name, variant in suite.variants.items()} == {
        "reference": (),
        "one": (),  # the reference has one vote now: it is skipped when it is asked for
        "bare": ("related_work",),
        "hot": ("temperature",),
        "P2": ("prompt",),
    }
    assert {suite.variants[name].axes.prompt for name in ("one", "bare", "hot")} == {"pairwise/p1"}


def test_gates_of_an_extension_replace_those_on_the_same_quantity(write: Write, extend: Callable[..., Path]) -> None:
    write('gates: ["tie_rate<=0.2", "strict_accuracy>=0.5"]')
    suite = load_suite(extend('variants: {hot: {temperature: 1}}\ngates: ["tie_rate<=0.1", "tie_rate[hot]<=0.3"]'))
    assert suite.gates == ("strict_accuracy>=0.5", "tie_rate<=0.1", "tie_rate[hot]<=0.3")


def test_an_extension_may_leave_instances_out(write: Write, extend: Callable[..., Path]) -> None:
    base = write("blocklist: [{id: i2, reason: doubtful}]")
    rows = (base / "rows.jsonl").read_text()
    (base / "rows.jsonl").write_text("\n".join(rows.replace('"i1"', f'"i{number}"') for number in (1, 2, 3)))
    suite = load_suite(extend("blocklist: [{id: i3, reason: refused}]"))
    assert [instance.id for instance in suite.instances] == ["i1"]
    assert suite.blocklist == {"i2": "doubtful", "i3": "refused"}
    refuse(extend("blocklist: [{id: i9, reason: x}]"), "the blocklist names an unknown instance 'i9'", 3)


def test_an_extension_may_state_a_contrast(write: Write, extend: Callable[..., Path]) -> None:
    base = write()
    rows = (base / "rows.jsonl").read_text()
    (base / "rows.jsonl").write_text(
        rows.replace('"Text x."', '"Text x.", "system": "ours"').replace('"Text y."', '"Text y.", "system": "base"')
    )
    assert load_suite(base).contrast is None
    assert load_suite(extend("contrast: system=ours/base")).contrast == Contrast("system", "ours", "base")


def test_an_extension_of_an_extension(write: Write, extend: Callable[..., Path]) -> None:
    write()
    extend("variants: {hot: {temperature: 1}}", "one.yaml")
    suite = load_suite(extend("variants: {cold: {temperature: 0}}", "two.yaml", "one.yaml"))
    assert list(suite.variants) == ["reference", "hot", "cold"]


@pytest.mark.parametrize("kind", ["file", "folder", "texts"])
def test_an_extension_gives_variants_to_bare_ideas(kind: str, tmp_path: Path, extend: Callable[..., Path]) -> None:
    (tmp_path / "own").mkdir()
    if kind == "texts":
        (tmp_path / "own" / "a.md").write_text("An idea.")
    else:
        (tmp_path / "own" / "ideas.jsonl").write_text('"An idea."\n')
    suite = load_suite(
        extend("variants: {P2: {prompt: pointwise/p2}}", extends="own/ideas.jsonl" if kind == "file" else "own")
    )
    assert (suite.name, suite.labelled, list(suite.variants)) == ("own", False, ["reference", "P2"])


BAD_EXTENSIONS = {
    "unknown suite": (
        "",
        "landmarks-pairwis",
        2,
        "unknown suite 'landmarks-pairwis'. Did you mean 'landmarks-pairwise'",
    ),
    "a name that is taken": (
        "variants:\n  P1: {votes: 1}",
        "base",
        4,
        "has a variant 'P1' already: choose another name",
    ),
    "instances": ("instances: rows.jsonl", "base", 3, "unknown key 'instances'"),
    "labels": ("label_kind: experts", "base", 3, "unknown key 'label_kind'"),
    "a prompt at the top": ("prompt: mine.yaml", "base", 3, "Write prompt: under defaults:"),
    "an unknown axis": ("variants: {v: {promt: x}}", "base", 3, "did you mean 'prompt'"),
    "an unknown prompt": ("variants: {v: {prompt: mine.yaml}}", "base", 3, "unknown prompt 'mine.yaml'"),
    "nothing changes": ("variants: {v: {votes: 3}}", "base", 3, "'v' changes nothing"),
    "an unknown gate": ('gates: ["tie_rate[v]<=0.1"]', "base", 3, "unknown variant"),
    "no rendering": ("defaults: {format: plan}", "base", None, "has no rendering 'plan'"),
    "itself": ("", "more.yaml", 2, "extends itself"),
    "a bad name": ("name: Ours", "base", 3, "name"),
    "a contrast": ("contrast: system=a/b", "base", 3, "unknown system in the contrast 'a'"),
}


@pytest.mark.parametrize("name", BAD_EXTENSIONS)
def test_bad_extensions(name: str, write: Write, extend: Callable[..., Path]) -> None:
    more, extends, line, told = BAD_EXTENSIONS[name]
    base = write("variants: {P1: {prompt: pairwise/p1}}")
    blamed = base / "suite.yaml" if line is None else None  # the ideas are there
    refuse(extend(more, extends=extends), told, line, blamed)


def test_extensions_that_extend_each_other(extend: Callable[..., Path]) -> None:
    one, two = extend("", "one.yaml", "two.yaml"), extend("", "two.yaml", "one.yaml")
    with pytest.raises(SuiteError, match="extends 'one.yaml', which extends it") as caught:
        load_suite(one)
    assert caught.value.path == two


@pytest.mark.parametrize("files", [20, 21, 2_500])
def test_a_chain_of_extensions(files: int, write: Write, extend: Callable[..., Path]) -> None:
    write()
    extends = "base"
    for number in range(files - 1, -1, -1):
        first = extend("", f"e{number}.yaml", extends)
        extends = first.name
    if files == 20:
        assert load_suite(first).extension == first
        return
    refuse(
        first,
        r"20 files extend one another already: e0\.yaml, e1\.yaml, e2\.yaml, \.\.\., e19\.yaml, e20\.yaml\. Let e0\.yaml extend",
        2,
        first.with_name("e20.yaml"),
    )


def test_two_suites_of_one_name_are_told_apart(write: Write, extend: Callable[..., Path], tmp_path: Path) -> None:
    write()
    path = extend("variants: {hot: {temperature: 1}}")
    plan = make_plan(_settings(tmp_path), {"j": lambda request: ""}, {}, with_suites=False)
    plan.add_suite("base")
    with pytest.raises(
        SettingsError, match=r"two suites are called 'base': .*suite\.yaml and .*more\.yaml\. Give more\.yaml a name"
    ):
        plan.add_suite(str(path))
    extend("name: ours\nvariants: {hot: {temperature: 1}}")
    assert plan.add_suite(str(path)).suite.name == "ours"


def test_verdicts_of_the_extended_suite_serve_the_extension(
    write: Write, extend: Callable[..., Path], tmp_path: Path
) -> None:
    """What is asked under the reference has the same keys, unless the extension has a name of its own."""
    from pytest_novelty.calls import CallPlanner

    def keys(suite: Suite) -> list[str]:
        plan = make_plan(_settings(tmp_path), {"j": lambda request: ""}, {}, with_suites=False)
        planned = plan.add_suite(suite)
        planner = CallPlanner(plan.prompts)
        return [call.key for case in plan.cases_of(planned) for call in planner.plan(case)]

    base = load_suite(write())
    assert keys(load_suite(extend("variants: {hot: {temperature: 1}}"))) == keys(base)
    assert set(keys(load_suite(extend("name: ours")))).isdisjoint(keys(base))
