"""Both matchers on the labelled spans: the aligned one is right on all, at every length of the document; the published one is not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pytest_novelty.evidence import Source, check_span
from tests.evidence.labels import LENGTHS, STRANGER, documents, judge_all, labelled_spans
from tests.evidence.mechanical import CHANGES, changed, sentences
from tests.evidence.rates import random_changes, table


def test_the_labelled_set_is_large_and_even() -> None:
    counts = Counter(one.said for one in labelled_spans())
    assert min(counts.values()) >= 100
    assert len({one.span for one in labelled_spans()}) >= 250
    needed = {
        True: "ligature, quotes, dash, soft hyphen, hyphen kept, hyphen dropped, hyphen as space, broken word, ellipsis, citation kept, "
        "citation left out, unicode, math",
        False: "negated, number, glued, shuffled, fabricated beside, unrelated, name, opposite, ellipsis reversed",
    }
    for said, kinds in needed.items():
        assert set(kinds.split(", ")) <= {one.kind for one in labelled_spans() if one.said == said}


@pytest.mark.parametrize("length", LENGTHS)
def test_the_aligned_matcher_is_right_on_every_labelled_span(length: str) -> None:
    wrong = [one.labelled for one in judge_all(length) if one.aligned != one.labelled.said]
    assert not wrong


def test_the_published_matcher_accepts_what_papers_of_100_000_characters_do_not_say() -> None:
    judged = judge_all("100,000")
    strangers = [one.published for one in judged if one.labelled.kind == STRANGER]
    assert sum(strangers) > 0.5 * len(strangers)
    for kind in ("negated", "number", "glued", "fabricated beside"):
        assert all(one.published for one in judged if one.labelled.kind == kind)


def test_slips_and_alterations_made_at_random() -> None:
    """Ninety-five in a hundred slips pass (mistyped names and numbers do not), one in a hundred alterations does."""
    source = Source("", "\n\n".join(sentences()))
    found: dict[str, list[bool]] = {kind: [] for kind in CHANGES}
    for kind, _, span in changed(60):
        found[kind].append(check_span(span, source).found)
    slips = [one for kind, (said, _) in CHANGES.items() if said for one in found[kind]]
    altered = [one for kind, (said, _) in CHANGES.items() if not said for one in found[kind]]
    assert sum(slips) >= 0.95 * len(slips)
    assert sum(altered) <= 0.01 * len(altered)
    assert len(altered) > 300


def test_found_spans_are_located_in_the_text_itself() -> None:
    for one in labelled_spans():
        text = documents()[one.document]["text"]
        finding = check_span(one.span, Source("", text))
        assert all(0 <= piece.start <= piece.end <= len(text) for piece in finding.pieces)
        assert bool(finding.located(text)) == one.said


def test_the_readme_has_the_rates_of_today() -> None:
    """Made by tests/evidence/rates.py."""
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    assert "\n".join(table({name: judge_all(name) for name in LENGTHS})) in readme
    assert "\n".join(random_changes(150)) in readme
    assert f"on {len(labelled_spans())} quotations of eleven short texts" in readme
