"""The landmark suites: valid, in step with their texts, and without a tell of style.

The figures in ``suites/landmarks-pairwise/CARD.md`` are measured here; a test fails when the card no longer says them.
"""

from __future__ import annotations

import re
import runpy
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Final

import numpy as np
import pytest

from pytest_novelty.data import data_folder
from pytest_novelty.model import Idea, Suite
from pytest_novelty.suites import load_suite
from tests.tells import (
    FIRST_PERSON,
    HYPE,
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


def year_of(idea: Idea) -> int:
    assert idea.year is not None
    return idea.year


def work_years(idea: Idea) -> list[int]:
    return [work.year for work in idea.related_work if work.year is not None]


FEATURES: Final[dict[str, Callable[[Idea], float]]] = {
    "words": lambda idea: len(words_of(idea.text)),
    "characters": lambda idea: len(idea.text),
    "sentences": lambda idea: len(sentences_of(idea.text)),
    "words per sentence": lambda idea: len(words_of(idea.text)) / len(sentences_of(idea.text)),
    "commas": lambda idea: idea.text.count(","),
    "semicolons": lambda idea: idea.text.count(";"),
    "colons": lambda idea: idea.text.count(":"),
    "hyphens": lambda idea: idea.text.count("-"),
    "brackets": lambda idea: sum(map(idea.text.count, "()[]")),
    "quotation marks": lambda idea: sum(map(idea.text.count, "\"'")),
    "question marks": lambda idea: idea.text.count("?"),
    "type-token ratio": lambda idea: len(set(words_of(idea.text))) / len(words_of(idea.text)),
    "word length": lambda idea: sum(map(len, words_of(idea.text))) / len(words_of(idea.text)),
    "digits": lambda idea: sum(map(str.isdigit, idea.text)),
    "first-person words": lambda idea: len(FIRST_PERSON.findall(idea.text)),
    "negations": lambda idea: len(NEGATIONS.findall(idea.text)),
    "hype words": lambda idea: len(HYPE.findall(f"{idea.title}\n{idea.text}")),
    "title words": lambda idea: len(words_of(idea.title)),
    "title characters": lambda idea: len(idea.title),
    "earlier works": lambda idea: len(idea.related_work),
    "words per earlier work": lambda idea: (
        sum(len(words_of(work.text)) for work in idea.related_work) / len(idea.related_work)
    ),
    "mean age of earlier works": lambda idea: year_of(idea) - sum(work_years(idea)) / len(work_years(idea)),
    "age of latest earlier work": lambda idea: year_of(idea) - max(work_years(idea)),
    "plan words": lambda idea: len(words_of(idea.renderings["plan"])),
}
"""Everything about an idea that a judge could count without reading it."""


# --- measuring a tell ---------------------------------------------------------------------------------------


class Measured:
    """The ideas of the pointwise suite with their features, labels and landmarks."""

    def __init__(self, suite: Suite) -> None:
        self.ideas = [instance.ideas[0] for instance in suite.instances]
        self.novel = np.array([instance.gold == "novel" for instance in suite.instances])
        slugs = sorted({instance.strata["landmark"] for instance in suite.instances})
        self.groups = np.array([slugs.index(instance.strata["landmark"]) for instance in suite.instances])
        self.features = np.array([[feature(idea) for feature in FEATURES.values()] for idea in self.ideas], dtype=float)

    def figures(self) -> dict[str, float]:
        """What the card's table says, by row."""
        rows = {name: auc_of(self.features[:, column], self.novel) for column, name in enumerate(FEATURES)}
        rows["all of these, logistic regression"] = self.cross_validated(fit_logistic, self.features)
        rows["words of the text, naive Bayes"] = self.cross_validated(
            fit_naive_bayes, count_words([idea.text for idea in self.ideas])
        )
        rows["words of the title, naive Bayes"] = self.cross_validated(
            fit_naive_bayes, count_words([idea.title for idea in self.ideas])
        )
        rows["words of the plan, naive Bayes"] = self.cross_validated(
            fit_naive_bayes, count_words([idea.renderings["plan"] for idea in self.ideas])
        )
        return rows

    def cross_validated(self, fit: Fit, data: np.ndarray) -> float:
        return cross_validated_auc(fit, data, self.novel, self.groups)


@pytest.fixture(scope="module")
def pairwise() -> Suite:
    return load_suite(SUITES / "landmarks-pairwise")


@pytest.fixture(scope="module")
def pointwise() -> Suite:
    return load_suite(SUITES / "landmarks-pointwise")


@pytest.fixture(scope="module")
def measured(pointwise: Suite) -> Measured:
    return Measured(pointwise)


@pytest.fixture(scope="module")
def figures(measured: Measured) -> dict[str, float]:
    return measured.figures()


# --- the suites ---------------------------------------------------------------------------------------------


def test_size(pairwise: Suite, pointwise: Suite) -> None:
    landmarks = Counter(instance.strata["landmark"] for instance in pairwise.instances)
    assert len(landmarks) >= 60
    assert set(landmarks.values()) == {2}
    assert len(pairwise.instances) >= 120
    assert len({instance.strata["area"] for instance in pairwise.instances}) >= 10
    assert min(Counter(instance.strata["field"] for instance in pairwise.instances).values()) >= 8
    assert Counter(instance.strata["landmark"] for instance in pointwise.instances) == dict.fromkeys(landmarks, 3)
    assert sum(instance.gold == "novel" for instance in pointwise.instances) == len(landmarks)


def test_every_idea_is_complete(pairwise: Suite, pointwise: Suite) -> None:
    for instance in (*pairwise.instances, *pointwise.instances):
        for idea in instance.ideas:
            assert 80 <= len(words_of(idea.text)) <= 150, instance.id
            assert 3 <= len(idea.related_work) <= 6, instance.id
            assert len(work_years(idea)) == len(idea.related_work), instance.id
            assert max(work_years(idea)) < year_of(idea), instance.id
            assert instance.as_of == f"{year_of(idea) - 1}-12-31"
            assert idea.renderings["plan"].startswith("Purpose: ")
            assert "\n\nMechanism: " in idea.renderings["plan"]
            assert idea.source in ("published", "constructed")
            wanted = {"published_title", "authors"} if idea.source == "published" else {"step_from"}
            assert set(idea.metadata) == wanted, instance.id


def test_label_and_source_coincide(pairwise: Suite, pointwise: Suite) -> None:
    for pair in pairwise.instances:
        assert {idea.source: idea.id == pair.gold for idea in pair.ideas} == {"published": True, "constructed": False}
    for instance in pointwise.instances:
        assert (instance.gold == "novel") == (instance.ideas[0].source == "published")


def test_both_suites_hold_the_same_ideas(pairwise: Suite, pointwise: Suite) -> None:
    in_pairs = {idea.id: idea for instance in pairwise.instances for idea in instance.ideas}
    assert {instance.ideas[0].id: instance.ideas[0] for instance in pointwise.instances} == in_pairs
    assert len(in_pairs) == len(pointwise.instances)


def test_no_sentence_is_used_twice(pointwise: Suite) -> None:
    sentences = Counter(
        " ".join(words_of(sentence))
        for instance in pointwise.instances
        for sentence in sentences_of(instance.ideas[0].text)
    )
    assert [sentence for sentence, times in sentences.items() if times > 1] == []


def test_neither_position_nor_an_id_tells_the_label(pairwise: Suite, pointwise: Suite) -> None:
    first = [pair.gold == pair.ideas[0].id for pair in pairwise.instances]
    assert sum(first) * 2 == len(first)
    by_landmark: dict[str, set[bool]] = {}
    for pair, landmark_first in zip(pairwise.instances, first, strict=True):
        by_landmark.setdefault(pair.strata["landmark"], set()).add(landmark_first)
        assert re.fullmatch(rf"{pair.strata['landmark']}\.[12]", pair.id)
        assert all(re.fullmatch(r"x[0-9a-f]{6}", idea.id) for idea in pair.ideas)
    assert set(map(frozenset, by_landmark.values())) == {frozenset({True, False})}
    assert 0.4 < np.mean([f for pair, f in zip(pairwise.instances, first, strict=True) if pair.id.endswith("1")]) < 0.6
    assert 0.4 < np.mean([pair.gold == min(idea.id for idea in pair.ideas) for pair in pairwise.instances]) < 0.6
    letters = Counter(instance.id[-1] for instance in pointwise.instances if instance.gold == "novel")
    assert all(0.25 < letters[letter] / letters.total() < 0.42 for letter in "abc")
    for suite in (pairwise, pointwise):
        ids = [instance.id for instance in suite.instances]
        assert ids == sorted(ids)


# --- the build ----------------------------------------------------------------------------------------------


def run_check(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(folder / "landmarks" / "build.py"), "--check"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_committed_files_are_what_the_texts_give() -> None:
    done = run_check(SUITES)
    assert (done.returncode, done.stderr) == (0, "")


def test_check_finds_a_file_that_differs(tmp_path: Path) -> None:
    for name in ("landmarks", "landmarks-pairwise", "landmarks-pointwise"):
        shutil.copytree(SUITES / name, tmp_path / name)
    changed = tmp_path / "landmarks-pairwise" / "instances.jsonl"
    changed.write_bytes(changed.read_bytes().replace(b'"gold": "x', b'"gold": "y', 1))
    done = run_check(tmp_path)
    assert done.returncode == 1
    assert str(changed) in done.stderr
    assert "landmarks-pointwise" not in done.stderr


def test_a_file_more_changes_no_other_instance() -> None:
    build = runpy.run_path(str(SUITES / "landmarks" / "build.py"))
    landmarks = build["load_landmarks"]()
    for make in (build["build_pairwise"], build["build_pointwise"]):
        missing = {row["id"]: row for row in make(landmarks[::2])}
        whole = {row["id"]: row for row in make(landmarks)}
        assert missing.items() <= whole.items()


# --- style --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", FEATURES)
def test_no_feature_tells_the_label(name: str, figures: dict[str, float]) -> None:
    assert 0.40 < figures[name] < 0.60


def test_all_features_together_hardly_tell_it(figures: dict[str, float]) -> None:
    assert figures["all of these, logistic regression"] <= 0.65


def test_the_measures_find_a_tell(measured: Measured) -> None:
    rng = np.random.default_rng(0)
    planted = measured.novel + rng.normal(0, 0.5, len(measured.novel))
    assert measured.cross_validated(fit_logistic, np.column_stack([measured.features, planted])) > 0.8
    texts = [
        idea.text + " could any" * 3 * int(label) for idea, label in zip(measured.ideas, measured.novel, strict=True)
    ]
    assert measured.cross_validated(fit_naive_bayes, count_words(texts)) > 0.8


def test_the_card_says_what_is_measured(figures: dict[str, float]) -> None:
    card = (SUITES / "landmarks-pairwise" / "CARD.md").read_text(encoding="utf-8")
    said = {name.strip(): float(value) for name, value in re.findall(r"(?m)^\| ([^|]+) \| (0\.\d\d) \|$", card)}
    assert said == pytest.approx(figures, abs=0.0051)
