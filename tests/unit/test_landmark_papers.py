"""The suites on what landmark papers share: valid, in step with their texts, quoted verbatim, and without a tell.

The figures in the cards of ``landmarks-similarity`` and ``landmarks-entailment`` are measured here; a test fails when a card no
longer says them.
"""

from __future__ import annotations

import json
import re
import runpy
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
import yaml
from jsonschema import Draft202012Validator

from pytest_novelty.data import data_folder
from pytest_novelty.sections import find_introduction, split_sections, without_references
from pytest_novelty.validation import load_schema
from tests.tells import (
    FIRST_PERSON,
    NEGATIONS,
    Fit,
    auc_of,
    count_words,
    cross_validated_auc,
    fit_logistic,
    fit_naive_bayes,
    sentences_of,
    words_of,
)

SUITES: Final = data_folder("suites")
NAMES: Final = ("landmarks-similarity", "landmarks-similarity-full", "landmarks-grouping", "landmarks-entailment")
KINDS: Final = ("moved", "beyond", "misdescribed", "wrong dimension", "too generic")
Row = dict[str, Any]


@lru_cache(maxsize=8)
def rows_of(name: str) -> tuple[Row, ...]:
    file = "papers.jsonl" if name == "landmarks-papers" else "instances.jsonl"
    return tuple(json.loads(line) for line in (SUITES / name / file).read_text(encoding="utf-8").splitlines())


def papers() -> dict[str, Row]:
    return {paper["id"]: paper for paper in rows_of("landmarks-papers")}


def build() -> dict[str, Any]:
    return runpy.run_path(str(SUITES / "landmarks-papers" / "build.py"))


def is_quoted(span: str, text: str) -> bool:
    """Word for word; where an ellipsis stands, the parts in their order."""
    place = 0
    for part in span.split(" ... "):
        place = text.find(part, place)
        if place < 0:
            return False
        place += len(part)
    return True


def labels(name: str) -> np.ndarray:
    return np.array([row["gold"] for row in rows_of(name)])


def groups(name: str, stratum: str) -> np.ndarray:
    found = [row["strata"][stratum] for row in rows_of(name)]
    numbers = {value: number for number, value in enumerate(sorted(set(found)))}
    return np.array([numbers[value] for value in found])


# --- counts and shape ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_instances_fit_the_schema(name: str) -> None:
    protocol = name.split("-")[1]
    schema = load_schema("instance")
    check = Draft202012Validator({"$ref": f"#/$defs/{protocol}", "$defs": schema["$defs"]})
    assert [error.message for row in rows_of(name) for error in check.iter_errors(row)] == []
    ids = [row["id"] for row in rows_of(name)]
    assert ids == sorted(set(ids))
    assert all(re.fullmatch(r"[a-z0-9._-]+", row_id) for row_id in ids)


def test_similarity_has_enough_of_everything() -> None:
    rows = rows_of("landmarks-similarity")
    assert len(rows) >= 120
    both = Counter(row["strata"]["pair"] for row in rows if row["strata"]["landmarks"] == 2)
    assert len(both) >= 60
    counts = Counter((row["dimension"], row["gold"]) for row in rows)
    for dimension in ("task", "problem", "method"):
        assert counts[dimension, False] >= 30
        assert counts[dimension, True] >= 30
        share = counts[dimension, True] / (counts[dimension, True] + counts[dimension, False])
        assert 0.35 <= share <= 0.55, dimension
    assert len({paper["area"] for paper in papers().values()}) >= 20


def test_the_full_suite_asks_in_every_dimension_and_has_the_same_instances() -> None:
    full = rows_of("landmarks-similarity-full")
    assert set(Counter((row["dimension"], row["gold"]) for row in full)) == {
        (dimension, gold) for dimension in ("task", "problem", "method") for gold in (True, False)
    }
    known = {row["id"]: row for row in rows_of("landmarks-similarity")}
    both = [row for row in full if row["id"] in known]
    assert len(both) == 18  # the card says so
    for row in both:
        other = known[row["id"]]
        assert (row["gold"], row["metadata"]) == (other["gold"], other["metadata"])
        assert [paper["abstract"] for paper in row["papers"]] == [paper["abstract"] for paper in other["papers"]]
    assert all("full_text" in paper and "introduction" in paper for row in full for paper in row["papers"])


def test_grouping_has_enough_of_everything() -> None:
    rows = rows_of("landmarks-grouping")
    assert len(rows) >= 30
    assert {len(row["papers"]) for row in rows} >= {3, 10}
    assert all(3 <= len(row["papers"]) <= 10 for row in rows)
    assert min(Counter(row["dimension"] for row in rows).values()) >= 10
    assert {len(row["gold"]) for row in rows} >= {0, 1, 2, 3}
    several = defaultdict(set)
    for row in rows:
        several[row["strata"]["set"]].add(json.dumps(row["gold"]))
    assert sum(len(golds) > 1 for golds in several.values()) >= 10  # which set it is does not tell its groups


def test_entailment_has_enough_of_everything() -> None:
    rows = rows_of("landmarks-entailment")
    kinds = Counter(row["strata"]["kind"] for row in rows)
    assert len(rows) >= 60
    assert set(kinds) == {"supported", *KINDS}
    assert all(kinds[kind] >= 6 for kind in KINDS)
    assert sum(row["gold"] for row in rows) * 2 == len(rows)
    assert {row["dimension"] for row in rows} == {"task", "problem", "method"}
    for row in rows:
        assert row["gold"] == (row["strata"]["kind"] == "supported")


# --- papers -------------------------------------------------------------------------------------------------


def test_papers_are_told_in_other_words_than_their_titles() -> None:
    assert len(papers()) == len(rows_of("landmarks-papers"))
    for paper in papers().values():
        assert 60 <= len(words_of(paper["abstract"])) <= 160, paper["id"]
        assert 4 <= len(sentences_of(paper["abstract"])) <= 7, paper["id"]
        assert str(paper["year"]) == paper["id"][-4:] or paper["id"] in ("hoare1962",)
        published = words_of(paper["metadata"]["published_title"])
        assert set(words_of(paper["title"])) != set(published), paper["id"]
        assert not (len(published) > 1 and " ".join(published) in " ".join(words_of(paper["abstract"]))), paper["id"]


def test_no_sentence_and_no_long_phrase_is_used_by_two_abstracts() -> None:
    """A label must be found in what the texts say, not in a phrase that was planted in both."""
    users = defaultdict(set)
    for paper in papers().values():
        words = words_of(paper["abstract"])
        for start in range(len(words) - 5):
            users[tuple(words[start : start + 6])].add(paper["id"])
    assert [(" ".join(phrase), ids) for phrase, ids in users.items() if len(ids) > 1] == []


def test_full_texts() -> None:
    full = [paper for paper in papers().values() if "full_text" in paper]
    assert len(full) >= 6
    styles = set()
    sentences: Counter[str] = Counter()
    for paper in full:
        text = paper["full_text"]
        sections = split_sections(text)
        kept = without_references(sections)
        body = "\n".join(section.text for section in kept)
        assert len(words_of(body)) >= 1500, paper["id"]
        assert len(sections) >= 5
        assert len(sections) - len(kept) == 1, paper["id"]  # one list of references, and it is found
        assert paper["introduction"] == find_introduction(sections)
        assert 200 <= len(words_of(paper["introduction"])) <= 700
        assert len(text) < 64_000
        styles.add(next(line for line in text.splitlines() if "ntroduction" in line.lower() or "NTRODUCTION" in line))
        sentences.update(sentence for sentence in sentences_of(body) if len(words_of(sentence)) > 5)
    assert len(styles) == len(full)  # every way in which papers set their headings
    assert [sentence for sentence, times in sentences.items() if times > 1] == []
    assert any(
        "reference model" in section.title.lower() for paper in full for section in split_sections(paper["full_text"])
    )


# --- labels -------------------------------------------------------------------------------------------------


def evidence_maps() -> Iterator[tuple[Row, Mapping[str, str]]]:
    for name in NAMES[:2]:
        yield from ((row, row["metadata"]["evidence"]) for row in rows_of(name) if row["gold"])
    for row in rows_of("landmarks-grouping"):
        yield from ((row, group["evidence"]) for group in row["metadata"]["groups"])


def test_evidence_is_verbatim() -> None:
    for row, evidence in evidence_maps():
        shown = {paper["id"]: paper["abstract"] for paper in row["papers"]}
        assert len(evidence) >= 2
        for name, span in evidence.items():
            assert is_quoted(span, shown[name]), row["id"]
            assert len(words_of(span)) >= 5, row["id"]
            others = [text for other, text in shown.items() if other != name]
            assert not any(is_quoted(span, text) for text in others), row["id"]


def test_every_label_says_why() -> None:
    for name in NAMES[:2]:
        for row in rows_of(name):
            assert set(row["metadata"]) - {"why"} == ({"shared", "evidence"} if row["gold"] else {"differ"})
            if not row["gold"]:
                assert set(row["metadata"]["differ"]) == {paper["id"] for paper in row["papers"]}
    for row in rows_of("landmarks-grouping"):
        assert [sorted(group["evidence"]) for group in row["metadata"]["groups"]] == [
            sorted(group) for group in row["gold"]
        ]


def test_groups_are_a_partition_and_agree_with_the_pairs() -> None:
    known = {(frozenset(row["strata"]["pair"].split("-")), row["dimension"]): row["gold"] for row in rows_of(NAMES[0])}
    compared = 0
    for row in rows_of("landmarks-grouping"):
        ids = [paper["id"] for paper in row["papers"]]
        members = [member for group in row["gold"] for member in group]
        assert len(members) == len(set(members))
        assert set(members) <= set(ids)
        assert all(len(group) >= 2 for group in row["gold"])
        for pair in combinations(ids, 2):
            together = any(set(pair) <= set(group) for group in row["gold"])
            if (frozenset(pair), row["dimension"]) in known:
                compared += 1
                assert together == known[frozenset(pair), row["dimension"]], (row["id"], pair)
    assert compared > 100


def test_no_unclear_pair_is_labelled() -> None:
    made = build()
    for name in (*NAMES[:2], "landmarks-grouping"):
        for row in rows_of(name):
            for one, other in combinations([paper["id"] for paper in row["papers"]], 2):
                assert not made["is_unclear"](row["dimension"], one, other), row["id"]


def test_the_card_says_how_many_pairs_are_unclear_and_how_many_chains_are_explained() -> None:
    folder = SUITES / "landmarks-papers"
    unclear, chains = (yaml.safe_load((folder / f"{name}.yaml").read_text("utf-8")) for name in ("unclear", "chains"))
    for dimension in ("task", "problem", "method"):
        assert all(len(chain["why"].split()) >= 8 for chain in chains[dimension])
        assert len({frozenset(pair) for pair in unclear[dimension]}) == len(unclear[dimension])
    card = " ".join((SUITES / "landmarks-similarity" / "CARD.md").read_text(encoding="utf-8").split())
    assert f"lists {sum(map(len, unclear.values()))} such cases" in card
    assert f"explains all {sum(map(len, chains.values()))}" in card


def test_entailment_quotes_and_pairs_its_reasons() -> None:
    by_spans = defaultdict(list)
    for row in rows_of("landmarks-entailment"):
        by_spans[row["strata"]["spans"]].append(row)
        for side, name in zip("ab", row["metadata"]["papers"], strict=True):
            assert is_quoted(row[f"evidence_{side}"], papers()[name]["abstract"]), row["id"]
        assert len(sentences_of(row["reason"])) <= 2
        assert 20 <= len(words_of(row["reason"])) <= 45, row["id"]
    for pair in by_spans.values():
        assert sorted(row["gold"] for row in pair) == [False, True]
        assert len({(row["dimension"], row["evidence_a"], row["evidence_b"]) for row in pair}) == 1


def test_neither_position_nor_an_id_tells_the_label() -> None:
    rows = rows_of("landmarks-similarity")
    gold = labels("landmarks-similarity")
    for said in (
        [row["papers"][0]["id"] < row["papers"][1]["id"] for row in rows],
        [row["papers"][0]["year"] < row["papers"][1]["year"] for row in rows],
    ):
        assert 0.4 < auc_of(np.array(said, dtype=float), gold) < 0.6
        assert 0.35 < np.mean(said) < 0.65
    ends = [row["id"].endswith("a") for row in rows_of("landmarks-entailment")]
    assert 0.4 < auc_of(np.array(ends, dtype=float), labels("landmarks-entailment")) < 0.6
    places = [
        [paper["id"] for paper in row["papers"]].index(group[0]) / (len(row["papers"]) - 1)
        for row in rows_of("landmarks-grouping")
        for group in row["gold"]
    ]
    assert 0.2 < np.mean(places) < 0.5  # of the first member of a group: below one half in any order


# --- the build ----------------------------------------------------------------------------------------------


def run_check(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(folder / "landmarks-papers" / "build.py"), "--check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_committed_files_are_what_the_texts_give() -> None:
    done = run_check(SUITES)
    assert (done.returncode, done.stderr) == (0, "")


def test_check_finds_a_file_that_differs(tmp_path: Path) -> None:
    for name in ("landmarks-papers", *NAMES):
        shutil.copytree(SUITES / name, tmp_path / name)
    shutil.copytree(data_folder("suites") / "landmarks", tmp_path / "landmarks", dirs_exist_ok=True)
    changed = tmp_path / "landmarks-grouping" / "instances.jsonl"
    changed.write_bytes(changed.read_bytes().replace(b'"gold": [[', b'"gold": [["x", ', 1))
    done = run_check(tmp_path)
    assert done.returncode == 1
    assert str(changed) in done.stderr
    assert "similarity" not in done.stderr


@pytest.mark.parametrize(
    ("file", "old", "new", "said"),
    [
        ("unclear.yaml", "task:\n", "task:\n- [brown1990, vaswani2017]\n", "brown1990"),
        (
            "pairs.yaml",
            "task: same, problem: same, method: same}",
            "task: same, problem: other, method: same}",
            "shared.yaml differs",
        ),
        ("pairs.yaml", 'task: "rating of translations / rating of summaries"', "task: same", "shared.yaml differs"),
        ("shared.yaml", "{selinger1979: t, wong1976: t}", "{selinger1979: t, wong1976: t, hoare1962: t}", "two groups"),
        (
            "shared.yaml",
            "method:\n",
            'method:\n- {says: "Both search.", members: {selinger1979: m, levoy1988: m}}\n',
            "chain from mildenhall2020 over levoy1988 to selinger1979 in method is not explained",
        ),
        (
            "shared.yaml",
            "method:\n",
            'method:\n- {says: "Both withhold.", members: {breiman2001: m2, srivastava2014: m}}\n',
            "unclear.yaml has breiman2001 and srivastava2014 in method, and so has an entry of shared.yaml",
        ),
        (
            "unclear.yaml",
            "- [breiman2001, srivastava2014]\n",
            "- [breiman2001, chen1998]\n",
            "chain from breiman1996 over breiman2001 to chen1998 in method is not explained",
        ),
        (
            "chains.yaml",
            "[perlin1985, mildenhall2020, whitted1980]",
            "[peachey1985, mildenhall2020, whitted1980]",
            "chain from peachey1985 over mildenhall2020 to whitted1980 in method does not exist",
        ),
    ],
)
def test_the_build_refuses_labels_that_contradict_each_other(
    file: str, old: str, new: str, said: str, tmp_path: Path
) -> None:
    for name in ("landmarks-papers", *NAMES):
        shutil.copytree(SUITES / name, tmp_path / name)
    shutil.copytree(data_folder("suites") / "landmarks", tmp_path / "landmarks", dirs_exist_ok=True)
    path = tmp_path / "landmarks-papers" / file
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    done = run_check(tmp_path)
    assert done.returncode == 1
    assert said in done.stderr


# --- tells --------------------------------------------------------------------------------------------------

OF_PAPER: Final[dict[str, Callable[[Row], float]]] = {
    "words": lambda paper: len(words_of(paper["abstract"])),
    "characters": lambda paper: len(paper["abstract"]),
    "sentences": lambda paper: len(sentences_of(paper["abstract"])),
    "commas": lambda paper: paper["abstract"].count(","),
    "semicolons": lambda paper: paper["abstract"].count(";"),
    "digits": lambda paper: sum(map(str.isdigit, paper["abstract"])),
    "type-token ratio": lambda paper: len(set(words_of(paper["abstract"]))) / len(words_of(paper["abstract"])),
    "first-person words": lambda paper: len(FIRST_PERSON.findall(paper["abstract"])),
    "negations": lambda paper: len(NEGATIONS.findall(paper["abstract"])),
    "title words": lambda paper: len(words_of(paper["title"])),
    "year": lambda paper: paper["year"],
}
"""Counted in each paper; a pair has their sum."""

OF_REASON: Final[dict[str, Callable[[str], float]]] = {
    "words": lambda text: len(words_of(text)),
    "characters": len,
    "word length": lambda text: float(np.mean([len(word) for word in words_of(text)])),
    "commas": lambda text: text.count(","),
    "sentences": lambda text: len(sentences_of(text)),
    "digits": lambda text: sum(map(str.isdigit, text)),
    "negations": lambda text: len(NEGATIONS.findall(text)),
    "type-token ratio": lambda text: len(set(words_of(text))) / len(words_of(text)),
}

FUNCTION_WORDS: Final = frozenset(
    words_of(
        "a an and are as at be both by each for from in into is it its not of on one or other that the their these they this "
        "those to what which while with"
    )
)


def validated(name: str, stratum: str, fit: Fit, data: np.ndarray) -> float:
    return cross_validated_auc(fit, data, labels(name), groups(name, stratum))


@lru_cache(maxsize=1)
def similarity_figures() -> dict[str, float]:
    """The rows of the card's table of tells."""
    rows, gold = rows_of("landmarks-similarity"), labels("landmarks-similarity")
    sums = np.array([[sum(map(count, row["papers"])) for count in OF_PAPER.values()] for row in rows], dtype=float)
    found = {name: auc_of(sums[:, column], gold) for column, name in enumerate(OF_PAPER)}

    def by_words(texts: list[str]) -> float:
        return validated("landmarks-similarity", "pair", fit_naive_bayes, count_words(texts))

    found["all of these, logistic regression"] = validated("landmarks-similarity", "pair", fit_logistic, sums)
    for place, name in enumerate(("first", "second")):
        found[f"words of the {name} paper, naive Bayes"] = by_words([row["papers"][place]["abstract"] for row in rows])
    found["words of both, naive Bayes"] = by_words(
        [" ".join(paper["abstract"] for paper in row["papers"]) for row in rows]
    )
    found["words of both and the dimension, naive Bayes"] = by_words(
        [
            " ".join(f"{word}-{row['dimension']}" for paper in row["papers"] for word in words_of(paper["abstract"]))
            for row in rows
        ]
    )
    found["words of both titles, naive Bayes"] = by_words(
        [" ".join(paper["title"] for paper in row["papers"]) for row in rows]
    )
    return found


@lru_cache(maxsize=1)
def overlap_figures() -> dict[str, float]:
    """What the words that two papers share tell of the label: content, and so allowed."""
    rows, gold = rows_of("landmarks-similarity"), labels("landmarks-similarity")
    names = sorted(papers())
    counts = count_words([papers()[name]["abstract"] for name in names])
    weights = np.log1p(counts) * np.log(len(names) / (counts > 0).sum(axis=0))
    weights /= np.linalg.norm(weights, axis=1, keepdims=True)
    cosine = np.array(
        [float(np.prod([weights[names.index(paper["id"])] for paper in row["papers"]], axis=0).sum()) for row in rows]
    )
    found = {"all": auc_of(cosine, gold)}
    for dimension in ("task", "problem", "method"):
        mask = np.array([row["dimension"] == dimension for row in rows])
        found[dimension] = auc_of(cosine[mask], gold[mask])
    return found


@lru_cache(maxsize=1)
def entailment_figures() -> dict[str, float]:
    """The rows of the card's table of tells."""
    reasons, gold = [row["reason"] for row in rows_of("landmarks-entailment")], labels("landmarks-entailment")
    counts = np.array([[count(text) for count in OF_REASON.values()] for text in reasons], dtype=float)
    found = {name: auc_of(counts[:, column], gold) for column, name in enumerate(OF_REASON)}
    found["all of these, logistic regression"] = validated("landmarks-entailment", "spans", fit_logistic, counts)
    found["words of the reason, naive Bayes"] = validated(
        "landmarks-entailment", "spans", fit_naive_bayes, count_words(reasons)
    )
    pairs = [" ".join(map("-".join, zip(words_of(text), words_of(text)[1:], strict=False))) for text in reasons]
    found["pairs of words, naive Bayes"] = validated(
        "landmarks-entailment", "spans", fit_naive_bayes, count_words(pairs)
    )
    return found


@lru_cache(maxsize=1)
def containment_figures() -> dict[str, float]:
    """The share of a reason's content words that occur in the spans: AUC, over all and against each kind of fault."""
    rows, gold = rows_of("landmarks-entailment"), labels("landmarks-entailment")

    def share(row: Row) -> float:
        content = set(words_of(row["reason"])) - FUNCTION_WORDS
        return len(content & set(words_of(f"{row['evidence_a']} {row['evidence_b']}"))) / len(content)

    shares = np.array([share(row) for row in rows])
    found = {"all": auc_of(shares, gold)}
    for kind in KINDS:
        spans = {row["strata"]["spans"] for row in rows if row["strata"]["kind"] == kind}
        mask = np.array([row["strata"]["spans"] in spans for row in rows])
        found[kind] = auc_of(shares[mask], gold[mask])
    return found


@pytest.mark.parametrize("name", OF_PAPER)
def test_no_count_tells_whether_papers_are_similar(name: str) -> None:
    assert 0.40 < similarity_figures()[name] < 0.60


@pytest.mark.parametrize("name", OF_REASON)
def test_no_count_tells_whether_a_reason_is_supported(name: str) -> None:
    assert 0.40 < entailment_figures()[name] < 0.60


def test_no_classifier_tells_a_label_from_style_or_vocabulary() -> None:
    for figures in (similarity_figures(), entailment_figures()):
        classifiers = {
            name: value for name, value in figures.items() if name.endswith(("naive Bayes", "logistic regression"))
        }
        assert len(classifiers) >= 3
        assert all(value <= 0.60 for value in classifiers.values()), classifiers


def test_the_measures_find_a_tell() -> None:
    for name, stratum, texts in (
        ("landmarks-similarity", "pair", [row["papers"][0]["abstract"] for row in rows_of("landmarks-similarity")]),
        ("landmarks-entailment", "spans", [row["reason"] for row in rows_of("landmarks-entailment")]),
    ):
        planted = [text + " could any" * 9 * int(gold) for text, gold in zip(texts, labels(name), strict=True)]
        assert validated(name, stratum, fit_naive_bayes, count_words(planted)) > 0.75


@pytest.mark.parametrize(
    ("name", "heading", "figures"),
    [
        ("landmarks-similarity", "Can style alone tell the label?", similarity_figures),
        ("landmarks-similarity", "What word overlap alone can do", overlap_figures),
        ("landmarks-entailment", "Can style alone tell the label?", entailment_figures),
        ("landmarks-entailment", "What containment alone can do", containment_figures),
    ],
)
def test_the_card_says_what_is_measured(name: str, heading: str, figures: Callable[[], dict[str, float]]) -> None:
    card = (SUITES / name / "CARD.md").read_text(encoding="utf-8")
    section = card.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    said = {row.strip(): float(value) for row, value in re.findall(r"(?m)^\| ([^|]+) \| ([01]\.\d\d) \|$", section)}
    assert said == pytest.approx(figures(), abs=0.0051)


@pytest.mark.parametrize("name", NAMES)
def test_the_card_says_how_many(name: str) -> None:
    folder = SUITES / ("landmarks-similarity" if name.endswith("-full") else name)
    card = (folder / "CARD.md").read_text(encoding="utf-8")
    assert re.search(rf"\b{len(rows_of(name))}\b", card)


def test_the_card_of_grouping_says_how_many_pairs_belong_together() -> None:
    rows = rows_of("landmarks-grouping")
    pairs = sum(len(row["papers"]) * (len(row["papers"]) - 1) // 2 for row in rows)
    together = sum(len(group) * (len(group) - 1) // 2 for row in rows for group in row["gold"])
    card = (SUITES / "landmarks-grouping" / "CARD.md").read_text(encoding="utf-8")
    assert f"{together} of {pairs} pairs" in " ".join(card.split())
