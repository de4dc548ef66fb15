"""Judges of papers beside each other, under variants and in two runs: what is measured of one is measured of several."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_novelty import evaluate
from pytest_novelty.model import Axes, Variant

from .test_planted_papers import JUDGES, make_suite

_PAPERS = ("similarity", "grouping", "entailment")


@pytest.mark.parametrize("protocol", _PAPERS)
def test_two_judges_and_a_variant(protocol: str) -> None:
    suite = make_suite(protocol)
    more = Variant("more", Axes(f"{protocol}/reference", votes=2))
    suite = replace(suite, variants={**suite.variants, "more": more})
    names = ("audits", "doubts all") if protocol == "entailment" else ("perfect", "never")
    report = evaluate(
        {name: JUDGES[name] for name in names}, suite, variants=["more"], reference=names[1].replace(" ", "-")
    )
    assert {item.variant for item in report.variants} == {"more"}
    assert report.metric("flip_rate", judge=names[0], variant="more").value == 0.0
    (compared, *_) = report.comparisons
    assert compared.accuracy_difference.value == 0.5
    assert bool(compared.transitions) == (protocol != "grouping")  # partitions are too many for a table
