"""The hooks that this plugin asks for: implement them in a ``conftest.py`` or in a plugin of your own."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pluggy

hookspec = pluggy.HookspecMarker("pytest")

# A spec only declares: pluggy calls implementations and never these functions, so they return nothing whatever their type says.


@hookspec
def pytest_novelty_judges() -> Mapping[str, Any]:  # type: ignore[empty-body]
    """Judges by name, for ``--novelty-judge NAME``.

    A judge is a callable, sync or async: it gets a request and returns an answer. This is a whole registration, ready to paste
    into a ``conftest.py``; replace the two lines of ``my_llm`` by your own call::

        def my_llm(messages):
            # messages: [{"role": "system", "content": "..."}, {"role": "user", "content": "..."}]
            return '{"reasoning": "always the first", "winner": "A"}'

        def pytest_novelty_judges():
            return {"myjudge": lambda request: my_llm(request.messages)}

    The prompt is rendered and the answer parsed for you. ``{"answer": text, "cost_usd": 0.002}`` says what a call cost.
    A judge with a prompt of its own declares ``uses_prompt = False``
    and reads ``request.ideas``, ``request.related_work``, ``request.as_of`` and ``request.params``. See
    ``pytest_novelty.judges.base.Traits`` for all that a judge may declare (``timeout_s``, ``cost_usd_per_call``, ...).
    """


@hookspec
def pytest_novelty_suites() -> Mapping[str, str | Path]:  # type: ignore[empty-body]
    """Suites by name, for ``--novelty-suite NAME``::

    def pytest_novelty_suites():
        return {"ours": Path(__file__).parent / "suites" / "ours"}
    """


@hookspec
def pytest_novelty_gates() -> list[str]:  # type: ignore[empty-body]
    """Gates beside those of the suites and of ``--novelty-gate``::

    def pytest_novelty_gates():
        return ["invalid_rate<=0.05", "abs(position_bias)<=0.10"]
    """
