"""Each wording differs from the one it descends from in exactly the lines it is meant to differ in, and in nothing else."""

from __future__ import annotations

import difflib
import re
from pathlib import Path
from typing import Any, Final, NamedTuple

import jsonschema
import pytest

from pytest_novelty.data import data_folder
from pytest_novelty.errors import PromptError
from pytest_novelty.judges.base import Traits
from pytest_novelty.model import Conclusion, ShownIdea, Work
from pytest_novelty.prompts import Prompt, embedded_prompts, resolve_prompt
from pytest_novelty.strict_yaml import read_yaml
from pytest_novelty.suites import embedded_suites, load_suite

GUARDS: Final = [
    "",
    "Keep three guards in mind:",
    "- Chaining known components one after another, exchanging one component for a known alternative, or moving a known method to a",
    "  neighbouring data set, is not novel by itself, however much detail is given.",
    "- A bold claim without a mechanism that could carry it out is speculation, not novelty.",
    "- No kind of contribution is favoured: a theory, an experiment, a system, an instrument, a data resource or a way of evaluating can each be",
    "  novel or not.",
]
MARKS: Final = [
    "- it introduces something of its own: a concept, mechanism, formulation, phenomenon or question that earlier work does not contain;",
    "- it joins known elements in a way that is not obvious to a specialist and that yields an ability or insight none of them has alone;",
    "- it carries known means into ground that has not been explored and where they could not be expected to work as they are.",
]
RELATIVE_MARKS: Final = [
    "- it introduces something of its own: a concept, mechanism, formulation, phenomenon or question that none of these works contains;",
    "- it joins known elements in a way that these works do not make obvious to a specialist and that yields an ability or insight none of the",
    "  elements has alone;",
    "- it carries known means into ground that these works leave unexplored and where such means could not be expected to work as they are.",
]
CRITERION: Final = {
    "pointwise": "An idea counts as novel if it shows at least one of these marks of originality to a substantial degree:",
    "pairwise": "An idea is novel to the degree that it shows these marks of originality:",
}
DATE: Final = (
    "{%- if as_of %} relative to what had been published by {{ as_of }}. "
    "Disregard anything that appeared after that date{% endif %}."
)
GIVEN: Final = (
    "{%- if as_of %}, all published by {{ as_of }}. Disregard anything that appeared after that date{% endif %}."
)
QUESTION: Final = "Decide which of the two research ideas below is more novel"
REASON: Final = (
    "First reason: for each idea, name the closest earlier work you know of and say what remains once that work is taken away; "
    "then compare the"
)
WEIGH: Final = "two remainders by the marks and guards. Then answer with one JSON object and nothing after it:"
WORKS: Final = [
    "{% if idea.related_work %}",
    "",
    "Earlier works near idea {{ letter }}, as background. The list need not be complete.",
    "{% for work in idea.related_work %}",
    "- {{ work.title }}{% if work.year %} ({{ work.year }}){% endif %}{% if work.text %}: {{ work.text }}{% endif %}",
    "",
    "{% endfor %}",
    "{% endif %}",
]
FINDING: Final = "name the closest earlier work you know of, say what remains of the idea once that work is taken away, and weigh the remainder"


def answer(who: str, reasoning: str = '"reasoning": "<your reasoning in a few sentences>", ') -> str:
    return f'{{{reasoning}"winner": <"A" or "B", {who}'


class Change(NamedTuple):
    """The lines of the template that go and that come."""

    base: str
    gone: list[str]
    new: list[str]


CHANGES: Final = {
    "pointwise/p1": Change(
        "pointwise/reference",
        [*GUARDS, "against the marks and guards. Then answer with one JSON object and nothing after it:"],
        ["against the marks. Then answer with one JSON object and nothing after it:"],
    ),
    "pointwise/p2": Change(
        "pointwise/reference",
        ["", CRITERION["pointwise"], *MARKS, *GUARDS, f"First reason: {FINDING}",
         "against the marks and guards. Then answer with one JSON object and nothing after it:"],
        [f"First reason: {FINDING}.", "Then answer with one JSON object and nothing after it:"],
    ),
    "pointwise/related": Change(
        "pointwise/reference",
        ["Decide whether the research idea below is novel", DATE, CRITERION["pointwise"], *MARKS,
         "Earlier works, as background. The list need not be complete.", f"First reason: {FINDING}"],
        ["Decide whether the research idea below is novel relative to the earlier works given with it", GIVEN,
         "An idea counts as novel if, against the works given with it, it shows at least one of these marks of originality to a substantial degree:",
         *RELATIVE_MARKS, "Earlier works given with the idea, against which it is to be judged:",
         "{% else %}", "", "No earlier works are given with the idea.",
         "First reason: name the closest of the works given, say what remains of the idea once that work is taken away, and weigh the remainder"],
    ),
    "pairwise/p1": Change(
        "pairwise/reference",
        [*GUARDS, WEIGH],
        ["two remainders by the marks. Then answer with one JSON object and nothing after it:"],
    ),
    "pairwise/p2": Change(
        "pairwise/reference",
        ["", CRITERION["pairwise"], *MARKS, *GUARDS, WEIGH],
        ["two remainders. Then answer with one JSON object and nothing after it:"],
    ),
    "pairwise/p3": Change(
        "pairwise/reference",
        [QUESTION, answer("the more novel idea")],
        ["Reviewers at a top venue found exactly one of the two research ideas below novel. Decide which one they found novel",
         answer("the idea that the reviewers found novel")],
    ),
    "pairwise/p4": Change(
        "pairwise/reference",
        [QUESTION, answer("the more novel idea")],
        ["Decide which one of the two research ideas below is novel", answer("the novel idea")],
    ),
    "pairwise/p5": Change(
        "pairwise/reference",
        [QUESTION, answer("the more novel idea")],
        ["Decide which of the two research ideas below was judged more novel", answer("the idea that was judged more novel")],
    ),
    **{
        f"pairwise/{name}-published": Change(
            f"pairwise/{name}",
            ["", CRITERION["pairwise"], *MARKS, *GUARDS, *WORKS, REASON, WEIGH, answer(who)],
            ["Answer with one JSON object and nothing else:", answer(who, "")],
        )
        for name, who in (
            ("p3", "the idea that the reviewers found novel"),
            ("p4", "the novel idea"),
            ("p5", "the idea that was judged more novel"),
        )
    },
    "pairwise/related": Change(
        "pairwise/reference",
        [QUESTION, DATE, CRITERION["pairwise"], *MARKS,
         "Earlier works near idea {{ letter }}, as background. The list need not be complete.", REASON],
        ["Decide which of the two research ideas below is more novel, each relative to the earlier works given with it", GIVEN,
         "An idea is novel to the degree that, against the works given with it, it shows these marks of originality:",
         *RELATIVE_MARKS, "Earlier works given with idea {{ letter }}, against which it is to be judged:",
         "{% else %}", "", "No earlier works are given with idea {{ letter }}.",
         "First reason: for each idea, name the closest of the works given with it and say what remains once that work is taken away; then compare the"],
    ),
}  # fmt: skip
"""By the file that differs."""

PUBLISHED: Final = [name for name in CHANGES if name.endswith("-published")]
NAMES: Final = sorted(embedded_prompts())
OF_IDEAS: Final = [name for name in NAMES if name.startswith(("pairwise/", "pointwise/"))]
OF_PAPERS: Final = [name for name in NAMES if name not in OF_IDEAS]


def whole(name: str) -> dict[str, Any]:
    value: dict[str, Any] = read_yaml(embedded_prompts()[name], PromptError).value
    return value


def shipped(name: str) -> Prompt:
    return resolve_prompt(name, Path())


def render(name: str, as_of: str | None = None, powers: Traits = Traits(), *, works: bool = False) -> str:  # noqa: B008
    prompt = shipped(name)
    given = (Work("Earlier one", "What it did.", 1999),) if works else ()
    ideas = [ShownIdea("First", "First text.", given), ShownIdea("Second", "Second text.")]
    return "\n".join(text for _, text in prompt.render(ideas[: prompt.protocol.ideas_per_instance], as_of, powers))


def test_every_wording_is_compared_with_another() -> None:
    assert set(CHANGES) == {name for name in NAMES if not name.endswith("/reference")}


@pytest.mark.parametrize("name", CHANGES)
def test_exactly_these_lines_differ(name: str) -> None:
    change = CHANGES[name]
    (_, old_system), (_, old) = shipped(change.base).sources
    (_, new_system), (_, new) = shipped(name).sources
    assert new_system == old_system
    gone, added = list[str](), list[str]()
    before, after = old.split("\n"), new.split("\n")
    for kind, i, j, k, m in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            gone += before[i:j]
            added += after[k:m]
    assert sorted(gone) == sorted(change.gone)
    assert sorted(added) == sorted(change.new)


@pytest.mark.parametrize("name", CHANGES)
def test_all_else_is_the_same(name: str) -> None:
    """But for the name, the lineage and, where it is published without reasoning, the reasoning in the output."""
    old, new = whole(CHANGES[name].base), whole(name)
    if name in PUBLISHED:
        del old["output"]["properties"]["reasoning"]
    for key in set(old) - {"name", "lineage", "messages"}:
        assert new[key] == old[key], key
    assert [message["role"] for message in new["messages"]] == [message["role"] for message in old["messages"]]


@pytest.mark.parametrize("name", NAMES)
def test_the_lineage_names_what_it_descends_from(name: str) -> None:
    lineage = shipped(name).lineage
    if name in CHANGES:
        assert CHANGES[name].base in lineage
        assert ("More than one change" in lineage) is (name in PUBLISHED)
        assert ("One change: " in lineage) is (name not in PUBLISHED)
    else:
        assert lineage.startswith("The reference of ")
    assert lineage.endswith(".")


# --- what each can do -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OF_IDEAS)
def test_every_prompt_has_every_power(name: str) -> None:
    pairwise = name.startswith("pairwise/")
    plain = render(name)
    for word in ("1999-12-31", '"tie"', "null", '"score"', "None", "that date"):
        assert word not in plain
    assert "published by 1999-12-31" in render(name, "1999-12-31")
    assert ('"tie"' in render(name, powers=Traits(may_tie=True))) is pairwise
    assert "null if you cannot tell" in render(name, powers=Traits(may_abstain=True))
    assert (
        '"score": <a number from 0 to 10; the higher, the more novel>}'
        in render(name, powers=Traits(score_range=(0, 10)))
    ) is (not pairwise)
    assert ("Earlier one (1999)" in render(name, works=True)) is (name not in PUBLISHED)
    assert ('"reasoning"' in plain) is (name not in PUBLISHED)


@pytest.mark.parametrize("name", OF_IDEAS)
def test_the_schema_is_what_is_asked_for(name: str) -> None:
    pairwise = name.startswith("pairwise/")
    key = "winner" if pairwise else "novel"
    for score_range in (None, (0.0, 10.0)):
        schema = shipped(name).schema(Traits(score_range=score_range))
        asked = {key} | ({"score"} if score_range and not pairwise else set())
        assert set(schema["required"]) == asked
        assert set(schema["properties"]) == asked | (set() if name in PUBLISHED else {"reasoning"})
        jsonschema.Draft202012Validator.check_schema(schema)
    if not pairwise:
        validator = jsonschema.Draft202012Validator(shipped(name).schema(Traits(score_range=(0, 10))))
        assert validator.is_valid({"novel": True, "score": 7})
        assert not validator.is_valid({"novel": True, "score": 11})


def render_papers(name: str, dimension: str, powers: Traits = Traits()) -> str:  # noqa: B008
    papers = [ShownIdea(f"Title {k}", f"Text {k}.") for k in range(3)]
    prompt = shipped(name)
    audited = Conclusion("similar", ("Span 1.", "Span 2."), "The reason.") if name.startswith("entailment/") else None
    shown = papers[: prompt.protocol.ideas_per_instance]
    return "\n".join(text for _, text in prompt.render(shown, None, powers, dimension=dimension, conclusion=audited))


@pytest.mark.parametrize("name", OF_PAPERS)
def test_each_dimension_is_asked_about_by_its_own_definition(name: str) -> None:
    marks = {"task": "under one sub-topic", "problem": "concrete obstacle", "method": "specific mechanism"}
    shown = ["Span 2.", "The reason."] if name.startswith("entailment/") else ["Title 0", "Text 1."]
    for dimension in marks:
        text = " ".join(render_papers(name, dimension).split())
        assert [own for own, words in marks.items() if words in text] == [dimension]
        assert "null" not in text
        assert "is null" in render_papers(name, dimension, Traits(may_abstain=True))
        assert all(words in text for words in shown)


@pytest.mark.parametrize("name", OF_PAPERS)
def test_what_papers_are_judged_by_is_asked_for(name: str) -> None:
    prompt = shipped(name)
    for traits in (Traits(), Traits(may_abstain=True)):
        schema = prompt.schema(traits)
        assert schema["required"] == [prompt.protocol.key]
        told = re.search(r"\{.*", render_papers(name, "task", traits).rpartition("nothing after it:")[2], re.DOTALL)
        assert told is not None
        assert [key for key in schema["properties"] if f'"{key}"' in told[0]] == list(schema["properties"])


def test_a_low_score_may_mean_novel() -> None:
    powers = Traits(score_range=(0.5, 1), higher_is="not novel")
    assert "a number from 0.5 to 1; the higher, the less novel>" in render("pointwise/p1", powers=powers)


@pytest.mark.parametrize("protocol", ["pointwise", "pairwise"])
def test_related_says_so_where_no_works_are_given(protocol: str) -> None:
    for works in (False, True):
        text = render(f"{protocol}/related", works=works)
        missing = text.count("No earlier works are given with")
        assert missing == (0 if works else 1) + (protocol == "pairwise")
        assert text.count("against which it is to be judged:") == works


@pytest.mark.parametrize("protocol", ["pointwise", "pairwise"])
def test_the_landmark_suites_have_every_wording(protocol: str) -> None:
    suite = load_suite(embedded_suites()[f"landmarks-{protocol}"])
    prompts = {variant.axes.prompt for variant in suite.variants.values()}
    assert prompts == {name for name in NAMES if name.startswith(f"{protocol}/")}
    for variant in suite.variants.values():
        assert len(variant.changed) == (variant.name != "reference"), variant
    assert suite.variants["single-vote"].is_derived(suite.variants["reference"])
    wordings = {"P1", "P2", "related", "plan", "no-related", "single-vote", "reference"}
    if protocol == "pairwise":
        wordings |= {f"P{number}{more}" for number in (3, 4, 5) for more in ("", "-published")}
    assert set(suite.variants) == wordings


def test_no_prompt_has_trailing_blanks_or_tabs() -> None:
    for path in data_folder("prompts").glob("*/*.yaml"):
        for line in path.read_text(encoding="utf-8").splitlines():
            assert line == line.rstrip()
            assert "\t" not in line
