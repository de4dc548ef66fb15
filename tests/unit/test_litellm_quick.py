"""litellm's call without what surrounds it: the same answers and errors, and only where nobody listens."""

from __future__ import annotations

import asyncio
import functools
import warnings
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_novelty.judges.llm.quick import CALLBACKS, call_of
from tests.serving import Server, serving


async def inner(**fields: Any) -> dict[str, Any]:
    return fields


@functools.wraps(inner)
async def outer(**fields: Any) -> str:
    return "the whole call"


def made(**more: Any) -> Any:
    """A library of litellm's shape."""
    utils = SimpleNamespace(
        Rules=lambda: "rules", function_setup=lambda name, rules, start, **fields: ("logged", {**fields, "name": name})
    )
    return SimpleNamespace(**{"acompletion": outer, "utils": utils, **more})


def test_the_inner_call_gets_what_the_outer_one_prepares() -> None:
    fields = asyncio.run(call_of(made())(model="m"))
    assert fields.pop("litellm_call_id")
    assert fields == {"model": "m", "name": "acompletion", "litellm_logging_obj": "logged"}


@pytest.mark.parametrize(
    "more",
    [
        {"callbacks": [print]},
        {"success_callback": ["langfuse"]},
        {"failure_callback": [print]},
        {"input_callback": [print]},
        {"post_call_rules": [print]},
        {"cache": object()},
        {"max_budget": 1.0},
        {"acompletion": inner},
        {"utils": SimpleNamespace()},
    ],
)
def test_the_whole_call_is_made_where_somebody_listens_or_there_is_no_other(more: dict[str, Any]) -> None:
    library = made(**more)
    assert call_of(library) is library.acompletion


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with serving() as running:
        yield running


# litellm imports parts of itself when they are first needed, and pydantic warns of some.
pytestmark = pytest.mark.filterwarnings("ignore")


def ask(server: Server, call: Any, **more: Any) -> Any:
    fields: dict[str, Any] = {
        "model": "openai/m", "messages": [{"role": "user", "content": "Which idea is more novel?"}], "max_tokens": 64,
        "api_base": server.base_url, "api_key": "none", "num_retries": 0, "max_retries": 0, "timeout": 10.0,
    }  # fmt: skip
    return asyncio.run(call(**{**fields, **more}))


@pytest.fixture
def litellm(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The installed release, as no other test has left it."""
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        library = pytest.importorskip("litellm")
    for name in CALLBACKS:
        monkeypatch.setattr(library, name, [])
    return library


def test_this_release_lets_the_inner_call_be_reached(litellm: Any) -> None:
    """Else every call costs twice the CPU, and nothing says so."""
    assert call_of(litellm) is not litellm.acompletion


def test_both_calls_answer_alike(litellm: Any, server: Server) -> None:
    told = [ask(server, call).model_dump() for call in (litellm.acompletion, call_of(litellm))]
    for body in told:
        body.pop("id"), body.pop("created")
    assert told[0] == told[1]
    assert told[1]["choices"][0]["message"]["content"]


def test_both_calls_fail_alike(litellm: Any, server: Server) -> None:
    server.change(rates={"429": 1.0})
    try:
        for call in (litellm.acompletion, call_of(litellm)):
            with pytest.raises(litellm.RateLimitError) as caught:
                ask(server, call)
            assert caught.value.status_code == 429
    finally:
        server.change(rates={})
