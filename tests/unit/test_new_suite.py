"""``suite new``: a user's own ideas as a suite; what is merged, paired, said and refused."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty.errors import NoveltyError
from pytest_novelty.ideas import RawIdea
from pytest_novelty.model import Suite
from pytest_novelty.new_suite import Wish, make_new_suite
from pytest_novelty.own_ideas import id_of_text, merge_ideas
from pytest_novelty.plan import make_plan
from pytest_novelty.settings import Settings
from pytest_novelty.suites import load_suite

Make = Callable[..., Suite]

IDEAS: list[dict[str, Any]] = [
    {"title": f"Idea {number}", "text": f"Text number {number}.", "area": ("bio", "cs", "eng")[number % 3],
     "system": ("ours", "base")[number // 3 % 2], "metadata": {"team": number % 2}}
    for number in range(24)
]  # fmt: skip


class New:
    """A folder with ideas, suites made of them, and what was said."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.said: list[str] = []

    def ideas(self, rows: Sequence[Any] = IDEAS, name: str = "ideas.jsonl") -> Path:
        path = self.folder / name
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path

    def __call__(self, source: str = "ideas.jsonl", **wish: Any) -> Suite:
        wish.setdefault("out", Path(f"made{len(list(self.folder.iterdir()))}"))
        self.said = make_new_suite(Wish(Path(source), **wish), where=self.folder)
        return load_suite(self.folder / wish["out"])

    def refuse(self, told: str, source: str = "ideas.jsonl", **wish: Any) -> None:
        before = sorted(path.name for path in self.folder.rglob("*"))
        with pytest.raises(NoveltyError) as caught:
            make_new_suite(Wish(Path(source), **wish), where=self.folder)
        assert told in str(caught.value)
        assert sorted(path.name for path in self.folder.rglob("*")) == before


@pytest.fixture
def new(tmp_path: Path) -> New:
    made = New(tmp_path)
    made.ideas()
    return made


def pairs_of(suite: Suite) -> list[tuple[str, str]]:
    return [(instance.ideas[0].id, instance.ideas[1].id) for instance in suite.instances]


def design(suite: Suite) -> Mapping[str, Any]:
    found: Mapping[str, Any] = suite.metadata["design"]
    return found


# --- ideas ----------------------------------------------------------------------------------------------------


def test_ids_come_from_the_text_alone(new: New, tmp_path: Path) -> None:
    one = new(sample=40)
    new.ideas([{**row, "id": f"own {place}", "title": ""} for place, row in enumerate(reversed(IDEAS))], "other.jsonl")
    (tmp_path / "texts").mkdir()
    for place, row in enumerate(IDEAS):
        (tmp_path / "texts" / f"{(place * 7) % 24}.{'md' if place % 2 else 'txt'}").write_text(
            f"# {row['title']}\n\n{row['text']}\n"
        )
    two, three = new("other.jsonl", sample=40), new("texts", sample=40)
    assert [instance.id for instance in one.instances] == [instance.id for instance in two.instances]
    assert [pairs_of(suite) for suite in (one, two, three)] == [pairs_of(one)] * 3
    assert one.instances[0].id == "-".join(sorted(pairs_of(one)[0]))


@pytest.mark.parametrize("text", ["Text  number\n7.", "Text number 7.\n", "\ufeffText number 7.".lstrip("\ufeff")])
def test_white_space_makes_no_other_idea(text: str) -> None:
    assert id_of_text(text) == id_of_text("Text number 7.") != id_of_text("Text number 8.")
    assert id_of_text("caf\u00e9") == id_of_text("cafe\u0301")


def test_identical_texts_are_merged_and_told(new: New) -> None:
    rows = [*IDEAS[:4], {"text": " Text number 1. "}, "Text number  2.", {**IDEAS[3], "id": "again"}]
    new.ideas(rows)
    suite = new()
    assert len(suite.instances) == 6
    assert new.said[0] == "7 ideas read from ideas.jsonl"
    assert new.said[1].startswith("3 duplicates merged: ")
    for told in (
        "ideas.jsonl:7 has the same text as ideas.jsonl:4",
        "(its area, metadata, system, title are dropped)",
    ):
        assert told in new.said[1]
    assert sorted(len(idea.metadata["origin"]) for item in suite.instances for idea in item.ideas) == [1] * 3 + [2] * 9
    assert design(suite)["ideas"] == 4


def test_which_duplicate_is_kept_does_not_depend_on_the_order() -> None:
    copies = [RawIdea({"text": "t", "area": area, "id": area}, area, Path(f"{area}.jsonl"), 1) for area in "cab"]
    kept = {merge_ideas(order)[0][0].value["area"] for order in (copies, copies[::-1], copies[1:] + copies[:1])}
    assert kept == {"a"}


def test_many_duplicates_are_counted(new: New) -> None:
    new.ideas(["One."] * 9 + ["Two."])
    new()
    assert new.said[1].startswith("8 duplicates merged: ")
    assert new.said[1].endswith("; and 3 more")


def test_what_an_idea_has_is_kept_and_its_origin_added(new: New) -> None:
    full = {"id": "mine", "title": "T", "text": "First.", "area": "a", "year": 2020, "source": "human", "generator": "g",
            "system": "s", "renderings": {"plan": {"purpose": "p", "mechanism": "m"}, "P1": "x", "text": "y", "a b": "z"},
            "related_work": [{"title": "W", "year": 2001}], "metadata": {"team": 1}}  # fmt: skip
    new.ideas([full, {**full, "text": "Second."}])
    suite = new()
    idea = next(idea for idea in suite.instances[0].ideas if idea.text == "First.")
    assert (idea.title, idea.area, idea.year, idea.source, idea.generator, idea.system) == (
        "T",
        "a",
        2020,
        "human",
        "g",
        "s",
    )
    assert idea.metadata == {"team": 1, "origin": ["ideas.jsonl:1"]}
    assert idea.renderings["plan"] == "Purpose: p\n\nMechanism: m"
    assert suite.variants["reference"].axes.related_work is True
    assert list(suite.variants) == [
        "reference",
        "P1",
        "P2",
        "P3",
        "P4",
        "P5",
        "related",
        "no-related",
        "single-vote",
        "plan",
    ]
    assert suite.variants["P1"].axes.prompt == "pairwise/p1"  # not the rendering of that name


# --- designs --------------------------------------------------------------------------------------------------


def test_random_pairs_are_balanced(new: New) -> None:
    suite = new(sample=60, seed=3)
    pairs = pairs_of(suite)
    assert len({frozenset(pair) for pair in pairs}) == 60
    assert {name: count for name, count in Counter(name for pair in pairs for name in pair).items() if count != 5} == {}
    assert design(suite) == {"kind": "random", "ideas": 24, "pairs": 60, "of": 276, "seed": 3}
    assert new.said[1] == "60 pairs of 276 possible, each idea in 5"
    assert (suite.label_kind, suite.cluster, suite.contrast) == ("none", None, None)


def test_the_default_sample(new: New) -> None:
    assert len(new().instances) == 60
    new.ideas(IDEAS[:5])
    assert len(new().instances) == 10


def test_a_small_sample_says_which_ideas_it_leaves_out(new: New) -> None:
    new(sample=5)
    assert new.said[1:3] == [
        "5 pairs of 276 possible, each idea used in 1",
        "14 ideas in no pair: a larger --sample has them",
    ]


def test_seeds_differ_and_samples_nest(new: New) -> None:
    few, more, other = new(sample=20, seed=1), new(sample=50, seed=1), new(sample=20, seed=2)
    ids = [[instance.id for instance in suite.instances] for suite in (few, more, other)]
    assert ids[1][:20] == ids[0]
    assert set(ids[2]) != set(ids[0])
    assert few.instances == more.instances[:20]


def test_triads_are_closed_and_in_strata(new: New) -> None:
    suite = new(design="triads", sample=61)
    by_triad: dict[str, list[tuple[str, str]]] = {}
    for instance in suite.instances:
        by_triad.setdefault(instance.strata["triad"], []).append((instance.ideas[0].id, instance.ideas[1].id))
    assert list(by_triad) == [f"t{number:02}" for number in range(1, 21)]
    for pairs in by_triad.values():
        names = {name for pair in pairs for name in pair}
        assert {frozenset(pair) for pair in pairs} == {frozenset(pair) for pair in combinations(names, 2)}
        assert len(names) == 3
    assert suite.cluster == "triad"
    assert design(suite) == {"kind": "triads", "ideas": 24, "pairs": 60, "of": 276, "seed": 0, "triads": 20}
    assert new.said[1].startswith("20 triads, 60 pairs of 276 possible, each idea in ")


def test_complete(new: New) -> None:
    new.ideas(IDEAS[:7])
    suite = new(design="complete")
    assert len({frozenset(pair) for pair in pairs_of(suite)}) == len(suite.instances) == 21
    assert design(suite)["kind"] == "complete"


@pytest.mark.parametrize("kind", ["random", "triads", "complete"])
@pytest.mark.parametrize(("field", "values"), [("area", {"bio", "cs", "eng"}), ("team", {"0", "1"})])
def test_pair_by(kind: str, field: str, values: set[str], new: New) -> None:
    suite = new(design=kind, pair_by=field)
    assert {instance.strata[field] for instance in suite.instances} == values
    for instance in suite.instances:
        for idea in instance.ideas:
            assert str(idea.area if field == "area" else idea.metadata["team"]) == instance.strata[field]
    assert design(suite)["pair_by"] == field
    assert f"possible within the same {field}" in new.said[1]


def test_contrast_pairs_across_systems(new: New) -> None:
    suite = new(contrast="system=ours/base", pair_by="area", sample=30)
    assert suite.contrast is not None
    for instance in suite.instances:
        assert {idea.system for idea in instance.ideas} == {"ours", "base"}
        assert len({idea.area for idea in instance.ideas}) == 1
    first = Counter(instance.ideas[0].system for instance in suite.instances)
    assert abs(first["ours"] - first["base"]) <= 6
    assert new.said[1] == "30 pairs of 48 possible within the same area, each idea in 2 to 3"


def test_contrast_leaves_out_who_is_on_neither_side(new: New) -> None:
    new.ideas([*IDEAS, {"text": "Nobody's."}, {"text": "Another's.", "system": "third"}])
    suite = new(contrast="system=ours/base", design="complete")
    assert len(suite.instances) == 144
    assert new.said[2] == (
        "2 ideas of neither side are in no pair: ideas.jsonl:26 (system 'third'); ideas.jsonl:25 (without system)"
    )
    new(contrast="system=ours/base", sample=4)
    assert new.said[2] == "16 ideas in no pair: a larger --sample has them"
    assert new.said[3].startswith("2 ideas of neither side are in no pair: ")


def test_single_ideas_of_neither_side_are_named(new: New) -> None:
    new(protocol="pointwise", contrast="system=ours/base")
    assert new.said[1] == "system=ours/base compares 12 ideas of 'ours' with 12 of 'base'"
    assert not [line for line in new.said if "neither" in line]
    new.ideas([*IDEAS, {"text": "Another's.", "system": "third"}, *({"text": f"Nobody's {k}."} for k in range(7))])
    suite = new(protocol="pointwise", contrast="system=ours/base")
    assert len(suite.instances) == 32
    told = new.said[2]
    assert told.startswith(
        "8 ideas of neither side are judged, and left out of the contrast: ideas.jsonl:25 (system 'third'); "
    )
    assert told.endswith(" and 2 more (without system)")
    kept = new(protocol="pointwise", contrast="system=ours/base", sample=9)
    sides = Counter(instance.ideas[0].system for instance in kept.instances)
    assert new.said[2] == f"system=ours/base compares {sides['ours']} ideas of 'ours' with {sides['base']} of 'base'"
    new.ideas([*IDEAS, {"text": "Another's.", "system": "third"}])
    new(protocol="pointwise", contrast="system=ours/base")
    assert (
        new.said[2] == "1 idea of neither side is judged, and left out of the contrast: ideas.jsonl:25 (system 'third')"
    )


def test_a_sample_without_one_side_is_refused(new: New) -> None:
    new.refuse(
        "--contrast needs ideas of both sides, and no idea in the sample is of",
        protocol="pointwise",
        contrast="system=ours/base",
        sample=1,
    )


def test_pointwise(new: New) -> None:
    everything, few, more = (
        new(protocol="pointwise"),
        new(protocol="pointwise", sample=5),
        new(protocol="pointwise", sample=9),
    )
    assert (len(everything.instances), design(everything)["kind"]) == (24, "all")
    assert [instance.id for instance in few.instances] == [instance.id for instance in more.instances[:5]]
    assert design(few) == {"kind": "sample", "ideas": 5, "of": 24, "seed": 0}
    assert few.instances[0].ideas[0].id == few.instances[0].id == id_of_text(few.instances[0].ideas[0].text)
    assert list(few.variants) == ["reference", "P1", "P2", "single-vote"]
    assert new(protocol="pointwise", contrast="system=ours/base").contrast is not None


# --- files and words ------------------------------------------------------------------------------------------


def test_names_and_places(new: New, tmp_path: Path) -> None:
    make_new_suite(Wish(Path("ideas.jsonl")), where=tmp_path)
    assert load_suite(tmp_path / "ideas-pairwise").name == "ideas-pairwise"
    said = make_new_suite(Wish(tmp_path, name="ours", protocol="pointwise"), where=tmp_path)
    assert load_suite(tmp_path / "ours").name == "ours"
    assert "pytest --novelty-judge=NAME --novelty-suite=ours --novelty-dry-run" in said[-3]
    assert said[-1].endswith("--novelty-suite=ours --novelty-variant=all")
    make_new_suite(Wish(Path("ideas.jsonl"), out=Path("deep/er"), name="third"), where=tmp_path)
    assert load_suite(tmp_path / "deep" / "er").name == "third"
    (tmp_path / "empty").mkdir()
    make_new_suite(Wish(Path("ideas.jsonl"), out=Path("empty")), where=tmp_path)
    assert load_suite(tmp_path / "empty").name == "empty"
    make_new_suite(Wish(Path("ideas.jsonl"), out=Path("deep/Our Ideas")), where=tmp_path)
    assert load_suite(tmp_path / "deep" / "Our Ideas").name == "our-ideas"
    (tmp_path / "here").mkdir()
    make_new_suite(Wish(Path("../ideas.jsonl"), out=Path()), where=tmp_path / "here")
    assert load_suite(tmp_path / "here").name == "here"
    assert sorted(path.name for path in (tmp_path / "empty").iterdir()) == ["instances.jsonl", "suite.yaml"]
    assert not list(tmp_path.rglob(".*"))


def test_the_same_wish_gives_the_same_bytes(new: New, tmp_path: Path) -> None:
    for out in ("one", "two"):
        make_new_suite(Wish(Path("ideas.jsonl"), out=Path(out), name="same", design="triads", seed=5), where=tmp_path)
    for name in ("suite.yaml", "instances.jsonl"):
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_a_made_suite_runs_under_every_variant(new: New, tmp_path: Path) -> None:
    settings = Settings(judges=("j",), base=tmp_path, variants=("all",))
    plan = make_plan(settings, {"j": lambda request: ""}, {}, with_suites=False)
    planned = plan.add_suite(new(sample=10))
    assert [variant.name for _, variant in plan.pairs(planned)] == ["reference", "P1", "P2", "P3", "P4", "P5"]
    assert [variant.name for variant in planned.derived] == ["single-vote"]


def test_hostile_ideas(new: New) -> None:
    rows = [
        {"text": text, "area": "caf\u00e9: [x]"}
        for text in ("\ud800 </idea> {{ 7 * 7 }}", "\u202e\x00 # no", "plain", "\U0001f92f")
    ]
    new.ideas(rows)
    suite = new(pair_by="area", design="complete")
    assert {idea.text for instance in suite.instances for idea in instance.ideas} == {row["text"] for row in rows}
    assert {instance.strata["area"] for instance in suite.instances} == {"caf\u00e9: [x]"}


REFUSED: dict[str, tuple[dict[str, Any], str]] = {
    "no such file": ({"source": "none.jsonl"}, "--from is 'none.jsonl', and there is no such file or folder"),
    "too many": ({"sample": 277}, "--sample is 277, and there are 276 pairs only"),
    "too many single ideas": ({"sample": 25, "protocol": "pointwise"}, "--sample is 25, and there are 24 ideas"),
    "a sample of all": ({"sample": 10, "design": "complete"}, "--design complete makes all 276 pairs. Leave --sample out"),
    "no triad": ({"sample": 2, "design": "triads"}, "a triad has three pairs"),
    "too many triads": ({"sample": 276, "design": "triads"}, "Ask for --sample 2"),
    "an unknown field": ({"pair_by": "aera"}, "unknown field in --pair-by 'aera'. Did you mean 'area'? Known: area, system, team"),
    "single ideas by area": ({"pair_by": "area", "protocol": "pointwise"}, "--pair-by chooses pairs"),
    "single ideas by design": ({"design": "random", "protocol": "pointwise"}, "--design chooses pairs"),
    "groups of one": ({"pair_by": "title"}, "a pair takes two ideas, and too few have the title 'Idea 0' (1), "),
    "a bad name": ({"name": "My Ideas"}, "--name is 'My Ideas'. A suite may be called 'my-ideas'"),
    "a contrast of nobody": ({"contrast": "system=ours/bass"}, "no idea is of 'bass'. Known: base, ours"),
    "a contrast nobody is on": ({"contrast": "generator=a/b"}, "No idea has the key 'generator' beside its text"),
    "a contrast of single ideas": ({"contrast": "system=us/base", "protocol": "pointwise"}, "no idea is of 'us'"),
    "an unreadable contrast": ({"contrast": "ours/base"}, "cannot read the contrast"),
    "a contrast of triads": ({"contrast": "system=ours/base", "design": "triads"}, "Choose --design random or complete"),
    "a contrast within one system": ({"contrast": "system=ours/base", "pair_by": "system"}, "no idea with the system 'base' is of 'ours'"),
    "the ideas' own folder": ({"out": Path()}, "exists already"),
    "a file in the way": ({"out": Path("ideas.jsonl")}, "exists already. Name another folder with --out; nothing is overwritten"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str, new: New) -> None:
    wish, told = REFUSED[name]
    new.refuse(told, **wish)


def test_nothing_is_overwritten(new: New, tmp_path: Path) -> None:
    new(out=Path("made"))
    before = (tmp_path / "made" / "instances.jsonl").read_bytes()
    new.refuse("made exists already", out=Path("made"), seed=9)
    assert (tmp_path / "made" / "instances.jsonl").read_bytes() == before


def test_a_suite_is_no_source(new: New) -> None:
    new(out=Path("made"))
    new.refuse("which is a suite already. Give an ideas.jsonl or a folder of texts", "made")
    new.refuse("which is a suite already", "made/suite.yaml")


@pytest.mark.parametrize(
    ("rows", "wish", "told"),
    [
        (["One."], {}, "a pair takes two ideas, and there is one"),
        (["One.", "One. "], {}, "a pair takes two ideas, and there is one"),
        (["One.", "Two."], {"design": "triads"}, "a triad takes three ideas, and there are two"),
        ([], {}, "has no ideas"),
        ([{"titel": "x"}], {}, "ideas.jsonl:1: "),
        ([{"text": "a", "area": "x"}, {"text": "b"}], {"pair_by": "area"}, "the idea in ideas.jsonl:2 has none. Give every idea the field, a text"),
        ([{"text": "a", "area": "x"}, {"text": "b", "area": " "}], {"pair_by": "area"}, "has none"),
        ([*IDEAS, {"text": "Lone.", "area": "law"}], {"pair_by": "area"}, "too few have the area 'law' (1). Add ideas to these"),
        ([*IDEAS, {"text": "1", "area": "law"}, {"text": "2", "area": "law"}], {"pair_by": "area", "design": "triads"}, "'law' (2)"),
        ([f"{number}" for number in range(500)], {"design": "complete"}, "would make 124,750 pairs. Choose --design random"),
    ],
)  # fmt: skip
def test_ideas_that_do_not_do(rows: list[Any], wish: dict[str, Any], told: str, new: New) -> None:
    new.ideas(rows)
    new.refuse(told, **wish)


def test_another_kind_of_file(new: New, tmp_path: Path) -> None:
    (tmp_path / "one.md").write_text("One idea.")
    new.refuse("--from is 'one.md', one file of another kind. Give an ideas.jsonl or a folder of texts", "one.md")


def test_a_folder_without_texts(new: New, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    new.refuse("has no ideas: neither an ideas.jsonl nor any .txt or .md file", "none")


def test_a_folder_that_cannot_be_written(new: New) -> None:
    new.refuse("cannot be written: ", out=Path("ideas.jsonl/made"))
