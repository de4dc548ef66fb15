"""The shipped test module: one case per judge, suite, variant and instance. pytest collects it as ``novelty-suites``."""

from __future__ import annotations

from pytest_novelty._pytest.cases import NoveltyCase


def test_novelty(novelty_case: NoveltyCase) -> None:
    novelty_case.check()
