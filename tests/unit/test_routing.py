"""Who audits whom: what rows say, which of them counts, and what is refused or announced."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pytest_novelty import evaluate
from pytest_novelty.errors import JudgeError, NoveltyError, SettingsError
from pytest_novelty.judges.families import FAMILIES
from pytest_novelty.judges.llm.files import load_judge_file
from pytest_novelty.judges.registry import resolve_judges
from pytest_novelty.judges.routes import EVERY, read_route
from pytest_novelty.plan import Plan, make_plan
from pytest_novelty.reports.announcement import announce
from pytest_novelty.reports.blocks import render_blocks
from pytest_novelty.reports.grounding import grounding_blocks
from pytest_novelty.reports.terminal import render
from pytest_novelty.settings import Settings
from pytest_novelty.validation import load_schema
from tests.unit.test_auditing import auditor, make_suite, planted

ROOT = Path(__file__).parents[2]


def of_family(family: str | None = None, **traits: Any) -> Any:
    judge = planted("perfect")
    judge.family = family  # type: ignore[attr-defined]
    for name, value in traits.items():
        setattr(judge, name, value)
    return judge


def lenient(family: str | None = None, **traits: Any) -> Any:
    return auditor(lambda request: {"supported": True}, family=family, **traits)


JUDGES = {
    "my-gpt": of_family("GPT"),
    "my-claude": of_family("claude"),
    "ours": of_family("acme"),
    "nobody": of_family(),
    "gem": lenient("gemini"),
    "gpt-5": lenient("gpt"),
    "third": lenient("third"),
    "reasoner": lenient("acme", protocols=("entailment",)),
}


def plan_of(
    judges: str, auditors: tuple[str, ...] = (), of_ini: tuple[str, ...] = (), *, base: Path = Path(), **settings: Any
) -> Plan:
    asked = Settings(
        tuple(judges.split()), base, auditors=auditors, auditors_of_ini=of_ini, ini=base / "pytest.ini", **settings
    )
    return make_plan(asked, JUDGES, {}, with_suites=False)


def panels(plan: Plan) -> dict[str, list[str]]:
    return {judge: [each.name for each in panel] for judge, panel in plan.panels.items()}


def judge_file(folder: Path, name: str, **fields: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.yaml"
    path.write_text(json.dumps({"format": "novelty-judge/1", "name": name, **fields}))
    return path


# --- rows -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "family", "named"),
    [
        ("gem", EVERY, "gem"),
        ("gpt=judges/gemini.yaml", "gpt", "judges/gemini.yaml"),
        (" GPT = openai:gpt-5.2 ", "gpt", "openai:gpt-5.2"),
        ("*=lexical", "*", "lexical"),
        ("gpt=replay:a=b.jsonl", "gpt", "replay:a=b.jsonl"),
        ("replay:a=b.jsonl", EVERY, "replay:a=b.jsonl"),
        ("litellm:azure/deployment=5", EVERY, "litellm:azure/deployment=5"),
        ("runs/t=0.yaml", EVERY, "runs/t=0.yaml"),
        ("t=0.yaml", EVERY, "t=0.yaml"),  # a file that is there
        ("x=1", EVERY, "x=1"),  # a registered name
        ("*=u=0.yaml", "*", "u=0.yaml"),
    ],
)
def test_a_row(tmp_path: Path, text: str, family: str, named: str) -> None:
    (tmp_path / "t=0.yaml").touch()
    route = read_route(text, "--novelty-auditor", tmp_path, {"x=1": None})
    assert (route.family, route.auditor) == (family, named)


@pytest.mark.parametrize("text", ["", "  "])
def test_an_empty_row(text: str) -> None:
    with pytest.raises(SettingsError, match="--novelty-auditor is empty"):
        plan_of("my-gpt", (text,))


@pytest.mark.parametrize(("text", "lacking"), [("gpt=", "no auditor"), ("=gem", "no family"), ("=", "no family")])
def test_a_row_with_one_side(text: str, lacking: str) -> None:
    with pytest.raises(SettingsError, match=f"--novelty-auditor has '{text}', which names {lacking}"):
        plan_of("my-gpt", (text,))


# --- which counts -----------------------------------------------------------------------------------------------


def test_gpt_is_audited_by_gemini_and_all_others_by_gpt() -> None:
    plan = plan_of("my-gpt my-claude nobody", of_ini=("gpt = gem", "* = gpt-5"))
    assert panels(plan) == {"my-gpt": ["gem"], "my-claude": ["gpt-5"], "nobody": ["gpt-5"]}


def test_a_row_without_family_is_for_all() -> None:
    """Beside those of a family, which come first; whoever is of the judge's own family is left out."""
    plan = plan_of("my-gpt my-claude", ("gpt-5", "third", "claude=gem"))
    assert panels(plan) == {"my-gpt": ["third"], "my-claude": ["gem", "gpt-5", "third"]}


def test_several_of_one_family_and_none_twice() -> None:
    plan = plan_of("my-gpt my-claude", ("gpt=gem", "gpt=third", "gpt=gem", "*=gpt-5", "*=third", "third"))
    assert panels(plan) == {"my-gpt": ["gem", "third"], "my-claude": ["gpt-5", "third"]}


def test_who_no_row_is_for_is_audited_by_its_words() -> None:
    plan = plan_of("my-gpt my-claude", ("gpt=gem",))
    assert panels(plan) == {"my-gpt": ["gem"]}
    assert plan.auditors_of("my-claude") == ("lexical",)
    plan.add_suite(make_suite("similarity"))
    lines = [line for line in announce(plan, {}, {}) if line.startswith("novelty auditor")]
    assert lines == [
        "novelty auditor: gem, cost unknown until its answers tell it, audits my-gpt, family gpt (--novelty-auditor: gpt=gem)",
        "novelty auditor: lexical, which only compares words, audits my-claude, family claude: nothing says who else is to",
    ]


def test_the_command_line_counts_before_the_judges_file_before_the_ini(tmp_path: Path) -> None:
    own = judge_file(tmp_path / "judges", "own", model="openai:claude-x", auditor="third")
    other = judge_file(tmp_path / "judges", "other", model="openai:gpt-x", auditors={"claude": "third", "gpt": "gem"})
    plain = judge_file(tmp_path / "judges", "plain", model="openai:claude-y")
    judges, ini = f"{own} {other} {plain} nobody", ("claude=gpt-5", "*=gem")
    assert panels(plan_of(judges, (), ini)) == {
        "own": ["third"], "other": ["gem"], "plain": ["gpt-5"], "nobody": ["gem"],
    }  # fmt: skip
    assert panels(plan_of(judges, ("claude=gem",), ini)) == {
        "own": ["gem"], "other": ["gem"], "plain": ["gem"], "nobody": ["gem"],
    }  # fmt: skip
    assert panels(plan_of(judges, ("third",), ini)) == {name: ["third"] for name in ("own", "other", "plain", "nobody")}
    assert panels(plan_of(judges, ("lexical",), ini)) == {}


def test_paths_begin_where_they_are_written(tmp_path: Path) -> None:
    """And a judge that is reached in three ways is one judge."""
    gpt = judge_file(tmp_path / "judges", "gpt", model="openai:gpt-x", auditor="gemini.yaml")
    judge_file(tmp_path / "judges", "gemini", model="litellm:gemini/gemini-x")
    judges = f"{gpt} {tmp_path / 'judges' / '..' / 'judges' / 'gemini.yaml'}"
    settings = Settings(
        tuple(judges.split()),
        tmp_path / "judges",
        auditors_of_ini=("gemini=judges/gpt.yaml",),
        ini=tmp_path / "pytest.ini",
    )
    plan = make_plan(settings, {}, {}, with_suites=False)
    assert panels(plan) == {"gpt": ["gemini"], "gemini": ["gpt"]}
    assert {id(panel[0]) for panel in plan.panels.values()} == set(map(id, plan.judges))


def test_auditors_of_rows_that_count_for_nobody_are_not_looked_for(tmp_path: Path) -> None:
    assert panels(plan_of("my-gpt", of_ini=("gpt=gem", "llama=nowhere.yaml"), base=tmp_path)) == {"my-gpt": ["gem"]}
    with pytest.raises(NoveltyError, match=r"\(novelty_auditor in pytest.ini names it\)"):
        plan_of("my-gpt", of_ini=("gpt=nowhere.yaml",), base=tmp_path)


def test_auditors_change_no_version(tmp_path: Path) -> None:
    bare = judge_file(tmp_path / "a", "own", model="openai:gpt-x")
    audited = judge_file(tmp_path / "b", "own", model="openai:gpt-x", auditor="lexical", family="ours")
    assert load_judge_file(bare).version == load_judge_file(audited).version


def test_a_judge_file_may_declare_its_family(tmp_path: Path) -> None:
    path = judge_file(tmp_path, "tuned", model="openai:our-7b", family="Llama")
    assert panels(plan_of(f"{path} nobody", ("llama=gem",))) == {"tuned": ["gem"]}


# --- what is refused, and what is announced ---------------------------------------------------------------------


def test_a_row_that_names_an_auditor_of_the_same_family_is_refused(tmp_path: Path) -> None:
    refused = r"the judge 'my-gpt' would be audited by its own family \(gpt\): gpt-5, as gpt=gpt-5 says"
    with pytest.raises(SettingsError, match=refused) as caught:
        plan_of("my-gpt", ("gpt=gem", "gpt=gpt-5")).add_suite("landmarks-similarity")
    assert "--novelty-own-family" in str(caught.value)
    assert panels(plan_of("my-gpt", ("gpt=gem", "gpt=gpt-5"), own_family=True)) == {"my-gpt": ["gem", "gpt-5"]}
    with pytest.raises(SettingsError, match=r"gpt-5, as novelty_auditor in pytest.ini says"):
        plan_of("my-gpt", of_ini=("*=gpt-5",)).add_suite("landmarks-similarity")
    assert panels(plan_of("my-gpt", of_ini=("*=gpt-5", "*=gem"))) == {"my-gpt": ["gem"]}
    path = judge_file(tmp_path, "own", model="openai:gpt-x", auditor=["gem", "gpt-5"])
    with pytest.raises(SettingsError, match=r"own.yaml:1: the judge 'own' .*\(gpt\): gpt-5, as auditor in own.yaml"):
        plan_of(str(path)).add_suite("landmarks-grouping")
    itself = judge_file(tmp_path, "itself", model="openai:gpt-x", auditor="itself.yaml")
    with pytest.raises(SettingsError, match=r"its own family \(gpt\): itself"):
        plan_of(str(itself)).add_suite("landmarks-grouping")


def test_an_auditor_is_validated_where_it_is_the_auditor_of_the_project() -> None:
    """In a suite of reasons there is nothing to audit, and nobody to be refused."""
    plan = plan_of("my-gpt", of_ini=("*=my-gpt",))
    plan.add_suite("landmarks-entailment")
    said = "novelty auditor: nothing is audited: no suite of this run asks for evidence"
    assert [line for line in announce(plan, {}, {}) if "audit" in line] == [said]
    assert (plan.asks_auditors, plan.left_out) == (False, ())
    with pytest.raises(SettingsError, match="its own family"):
        plan.add_suite("landmarks-similarity")


def test_an_auditor_that_cites_nothing_stands_beside_the_judge_that_it_audits() -> None:
    """Only who answers with evidence is audited, and only there somebody may be of the family."""
    plan = plan_of("my-claude reasoner", of_ini=("reasoner",))
    plan.add_suite("landmarks-entailment")
    assert not plan.asks_auditors
    plan.add_suite("landmarks-similarity")
    assert (plan.audited, plan.asks_auditors, plan.left_out) == (("my-claude",), True, ())
    assert any("reasoner, cost unknown" in line and "audits my-claude" in line for line in announce(plan, {}, {}))
    alone = plan_of("reasoner", of_ini=("reasoner",))
    alone.add_suite("landmarks-similarity")
    said = "novelty auditor: nothing is audited: no judge of this run judges similarity"
    assert said in announce(alone, {}, {})


@pytest.mark.parametrize("of_ini", [False, True])
def test_an_unknown_family(of_ini: bool) -> None:
    rows = {"of_ini": ("gtp=gem",)} if of_ini else {"auditors": ("gtp=gem",)}
    with pytest.raises(SettingsError) as caught:
        plan_of("my-gpt ours", **rows)  # type: ignore[arg-type]
    told = str(caught.value)
    assert f"in {'novelty_auditor in pytest.ini' if of_ini else '--novelty-auditor'}: 'gtp'" in told
    assert "Known: acme, claude, command, deepseek, gemini, glm, gpt" in told
    assert "*=JUDGE" in told
    with pytest.raises(SettingsError, match="Did you mean 'gemini'"):
        plan_of("my-gpt", ("gemni=gpt-5",))


def test_a_family_that_a_judge_of_the_run_declares_is_known() -> None:
    assert panels(plan_of("ours my-gpt", ("Acme=gem",))) == {"ours": ["gem"]}
    assert panels(plan_of("my-gpt", ("Acme=gem",))) == {}  # that of a registered judge that is not of this run
    with pytest.raises(SettingsError, match="unknown family"):
        plan_of("my-gpt", ("coins=gem",))


def test_a_table_of_a_project_may_name_a_family_that_no_run_has() -> None:
    plan = plan_of("my-gpt", of_ini=("coins=not-there", "gpt=gem"))
    assert panels(plan) == {"my-gpt": ["gem"]}
    plan.add_suite(make_suite("similarity"))
    row = "novelty_auditor in pytest.ini has coins=not-there, and coins is no known family, nor that of a judge of this run"
    assert [line for line in announce(plan, {}, {}) if "coins" in line] == [f"novelty auditor: {row}"]
    other = plan_of("my-gpt", of_ini=("coins=not-there",))
    other.add_suite("landmarks-pairwise")
    assert not any("coins" in line for line in announce(other, {}, {}))
    for near, told in (("gtp", "gpt"), ("acmee", "acme"), ("tird", "third")):
        with pytest.raises(SettingsError, match=f"Did you mean '{told}'"):
            plan_of("my-gpt", of_ini=(f"{near}=gem",))


def test_the_readme_lists_the_families_that_are_known() -> None:
    text = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())
    listed = text.partition("A family is one that we know (")[2].partition(")")[0]
    assert re.findall(r"`([a-z]+)`", listed) == list(FAMILIES)


def test_an_unknown_family_in_a_judge_file(tmp_path: Path) -> None:
    path = tmp_path / "own.yaml"
    path.write_text("format: novelty-judge/1\nmodel: openai:gpt-x\nauditors:\n  gpt: gem\n  gtp: gem\n")
    with pytest.raises(SettingsError, match=r"own.yaml:5: unknown family of models in auditors in own.yaml: 'gtp'"):
        plan_of(str(path))


def test_what_is_for_no_judge_is_announced(tmp_path: Path) -> None:
    def said(plan: Plan) -> list[str]:
        plan.add_suite(make_suite("similarity"))
        return [line.removeprefix("novelty auditor: ") for line in announce(plan, {}, {}) if "is for no judge" in line]

    known = "(the families of this run's judges: gpt)"
    row = f"--novelty-auditor llama=gem is for no judge of this run {known}"
    assert said(plan_of("my-gpt", ("gpt=gem", "llama=gem"))) == [row]
    assert said(plan_of("my-gpt", ("gpt=gem", "*=third"))) == [
        f"--novelty-auditor *=third is for no judge of this run {known}"
    ]
    assert said(plan_of("my-gpt", of_ini=("gpt=gem", "llama=gem"))) == []  # a table is for many runs
    assert said(plan_of("my-gpt", of_ini=("llama=gem",))) == [
        f"novelty_auditor in pytest.ini is for no judge of this run: llama=gem {known}"
    ]
    assert said(plan_of("my-gpt", ("gpt=third",), ("gpt=gem",))) == []  # it is, and the option counts
    path = judge_file(tmp_path, "own", model="openai:gpt-x", auditors={"llama": "gem"})
    plan = plan_of(str(path))
    plan.add_suite(make_suite("similarity"))
    assert any("auditors in own.yaml is not for own (family gpt): it names llama" in x for x in announce(plan, {}, {}))
    pairwise = plan_of("my-gpt", ("llama=gem",))
    pairwise.add_suite("landmarks-pairwise")
    assert not any("auditor" in line for line in announce(pairwise, {}, {}))


# --- judge files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"auditor": "lexical", "auditors": {"*": "lexical"}}, "auditor and auditors are both given"),
        ({"auditor": []}, "auditor"),
        ({"auditor": 5}, "auditor"),
        ({"auditors": {}}, "auditors"),
        ({"auditors": "lexical"}, "auditors"),
        ({"auditors": {"gpt": ""}}, "auditors"),
        ({"family": ""}, "family"),
    ],
)
def test_a_judge_file_is_checked(tmp_path: Path, fields: dict[str, Any], told: str) -> None:
    path = judge_file(tmp_path, "own", model="openai:gpt-x", **fields)
    with pytest.raises(JudgeError, match=f"own.yaml:1: .*{told}"):
        load_judge_file(path)


Run = Callable[..., tuple[int, str, str]]


def test_validate_looks_at_the_auditors_of_a_judge_file(tmp_path: Path, run: Run) -> None:
    judge_file(tmp_path, "gemini", model="litellm:gemini/gemini-x")
    path = judge_file(tmp_path, "own", model="openai:gpt-x", auditor=["gemini.yaml", "lexical", "registered"])
    status, out, _ = run("validate", path)
    assert (status, out.splitlines()[0].partition(": ")[2]) == (
        0,
        "judge own, openai:gpt-x, audited by gemini and lexical",
    )
    for fields, told in (
        ({"auditor": "gone.yaml"}, "gone.yaml"),
        ({"auditor": "openai:gpt-5"}, "would be audited by its own family (gpt): gpt-5"),
        (
            {"auditors": {"gpt": "gemini.yaml", "gtp": "lexical"}},
            "unknown family of models in auditors in own.yaml: 'gtp'",
        ),
        ({"auditors": {"gpt": "gemini.yaml", "*": "gone.yaml"}}, "gone.yaml"),
    ):
        status, out, _ = run("validate", judge_file(tmp_path, "own", model="openai:gpt-x", **fields))
        assert status == 1, fields
        assert "ERROR" in out
        assert told in out


def test_the_example_is_that_of_the_design(run: Run) -> None:
    """GPT is audited by Gemini, all others by GPT."""
    folder = ROOT / "examples" / "judges"
    status, out, _ = run("validate", folder)
    assert status == 0, out
    files = [str(folder / name) for name in ("openai.yaml", "gemini.yaml", "anthropic.yaml")]
    judges = resolve_judges(files, {}, ROOT)
    assert [judge.name for judge in judges] == ["gpt", "gemini", "claude"]
    plan = make_plan(Settings(tuple(files), ROOT), {}, {}, with_suites=False)
    assert panels(plan) == {"gpt": ["gemini"], "gemini": ["gpt"], "claude": ["gpt"]}


# --- in the report ----------------------------------------------------------------------------------------------


def test_the_report_says_who_audits_whom() -> None:
    gem, gpt, third = lenient("gemini", version="7"), lenient("gpt"), lenient("third")
    report = evaluate(
        {"my-gpt": of_family("gpt"), "nobody": of_family()},
        make_suite("similarity"),
        auditor=[{"gpt=gem": gem}, {"*=gpt-5": gpt, "*=third": third}],
    )
    assert {item.judge: item.auditor for item in report.grounding} == {"my-gpt": "gem", "nobody": "gpt-5"}
    assert (len(gem.asked), len(gpt.asked), len(third.asked)) == (6, 6, 6)
    written = json.loads(json.dumps(report.to_dict()))
    jsonschema.validate(written, load_schema("report"))
    assert written["run"]["audits"] == [
        {
            "judge": "my-gpt",
            "family": "gpt",
            "auditors": [{"name": "gem", "version": "7", "family": "gemini"}],
            "rows": [{"source": "--novelty-auditor", "row": "gpt=gem"}],
        },
        {
            "judge": "nobody",
            "family": None,
            "auditors": [
                {"name": "gpt-5", "version": written["run"]["audits"][1]["auditors"][0]["version"], "family": "gpt"},
                {"name": "third", "version": written["run"]["audits"][1]["auditors"][1]["version"], "family": "third"},
            ],
            "rows": [
                {"source": "--novelty-auditor", "row": "*=gpt-5"},
                {"source": "--novelty-auditor", "row": "*=third"},
            ],
        },
    ]
    assert [item["auditors"] for item in written["grounding"]] == [["gem"], ["gpt-5", "third"]]
    text = render_blocks(grounding_blocks(report), width=200)
    assert "auditor: gem\n" in text.replace(" \n", "\n") + "\n"
    assert "auditor: gpt-5; third is asked the same" in text


def test_without_a_word_on_auditors_the_report_says_lexical() -> None:
    written = evaluate({"nobody": of_family()}, make_suite("similarity")).to_dict()
    (item,) = written["run"]["audits"]
    assert item == {
        "judge": "nobody",
        "family": None,
        "auditors": [{"name": "lexical", "version": None, "family": None}],
        "rows": [],
    }
    assert written["grounding"][0]["auditors"] == ["lexical"]


# --- judges against each other ----------------------------------------------------------------------------------


def compared(auditors: Any, **options: Any) -> Any:
    judges = {"good": of_family("gpt"), "beyond": planted("beyond")}
    strict = auditor(lambda request: {"supported": request.reason.startswith("In each")}, family="gemini")
    named = dict.fromkeys(auditors, strict)
    report = evaluate(judges, make_suite("similarity"), auditor=named, **options)
    jsonschema.validate(json.loads(json.dumps(report.to_dict())), load_schema("report"))
    return report


def test_verified_f1_is_compared_between_judges_with_the_same_auditor() -> None:
    report = compared(["strict"])
    (item,) = report.comparisons
    assert item.verified is not None
    assert item.verified.estimate.value == pytest.approx(2 / 3)  # F1 is 2/3; nothing is left of the other's
    assert item.verified.p == item.verified.p_holm
    assert item.verified.p is not None
    assert "whose verified F1 is higher is open (+67 points" in item.sentence
    written = report.to_dict()["comparisons"][0]["verified_f1"]
    assert (written["metric"], written["value"], written["p"]) == (
        "verified_f1",
        item.verified.estimate.value,
        item.verified.p,
    )
    assert "verified F1, difference" in " ".join(render(report, width=200).split())


def test_it_is_a_range_where_the_auditor_did_not_answer() -> None:
    strict = auditor(
        lambda request: {"supported": True} if request.reason.startswith("In each") else "?", family="gemini"
    )
    judges = {"good": of_family("gpt"), "beyond": planted("beyond")}
    (item,) = evaluate(judges, make_suite("similarity"), auditor={"strict": strict}).comparisons
    assert item.verified is not None
    assert item.verified.estimate.bounds == (0, pytest.approx(2 / 3))
    assert "whose verified F1 is higher is open (+0 to +67 points)" in item.sentence


def test_it_is_not_where_the_auditors_differ() -> None:
    report = compared(["gpt=one", "*=two"])
    (item,) = report.comparisons
    assert item.verified is not None
    assert (item.verified.estimate.value, item.verified.p) == (None, None)
    assert item.verified.estimate.note == "other auditors: one and two"
    assert "verified F1 is not compared (other auditors: one and two)" in item.sentence


def test_nor_where_nothing_cites_evidence() -> None:
    judges = {name: auditor(lambda request: {"supported": True}) for name in ("one", "other")}
    (item,) = evaluate(judges, "landmarks-entailment", sample=8).comparisons
    assert item.verified is None
    assert "verified" not in item.sentence


def test_pairs_of_judges_share_the_error_of_verified_f1() -> None:
    """Holm's adjustment is over the pairs that can be compared."""
    judges = {"good": of_family(), "beyond": planted("beyond"), "other": planted("beyond")}
    strict = auditor(lambda request: {"supported": request.reason.startswith("In each")})
    found = evaluate(judges, make_suite("similarity"), auditor={"strict": strict}).comparisons
    changes = {(item.first, item.second): item.verified for item in found}
    assert changes["beyond", "other"].estimate.value == 0
    low = changes["good", "beyond"]
    assert low.p_holm == pytest.approx(min(1, 3 * low.p))
