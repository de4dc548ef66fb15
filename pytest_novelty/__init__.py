"""pytest-novelty: is your novelty judge right, stable and grounded?

The public names are imported when first used, so that pytest can load the plugin without paying for them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_novelty.errors import NoveltyError
    from pytest_novelty.evaluation import aevaluate, evaluate
    from pytest_novelty.model import Idea, Instance, Request, ShownIdea, Suite, Verdict, Work
    from pytest_novelty.results import Report
    from pytest_novelty.suites import load_suite

_HOMES = {
    "Idea": "model",
    "Instance": "model",
    "NoveltyError": "errors",
    "Report": "results",
    "Request": "model",
    "ShownIdea": "model",
    "Suite": "model",
    "Verdict": "model",
    "Work": "model",
    "aevaluate": "evaluation",
    "evaluate": "evaluation",
    "load_suite": "suites",
}

__all__ = [
    "Idea",
    "Instance",
    "NoveltyError",
    "Report",
    "Request",
    "ShownIdea",
    "Suite",
    "Verdict",
    "Work",
    "aevaluate",
    "evaluate",
    "load_suite",
]


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"pytest_novelty.{_HOMES[name]}"), name)
    raise AttributeError(f"module 'pytest_novelty' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
