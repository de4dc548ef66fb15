"""litellm's call without what litellm does around it for those who listen: prices, log payloads, hooks, a cache.

That is half of the CPU of a call, and of no use to a judge: cost, retries and limits are kept here, and nobody listens.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Any, Final

CALLBACKS: Final = ("callbacks", "input_callback", "success_callback", "failure_callback")
_OTHERS: Final = ("pre_call_rules", "post_call_rules", "cache", "max_budget", "set_verbose")

Call = Callable[..., Awaitable[Any]]


def has_callbacks(litellm: Any) -> bool:
    """Whether somebody in this process is told of calls."""
    return any(getattr(litellm, name, None) for name in CALLBACKS)


def call_of(litellm: Any) -> Call:
    """``litellm.acompletion``; or the function inside it, where this release lets it be reached and nobody has asked for more.

    Its arguments, what it returns and what it raises are the same.
    """
    whole: Call = litellm.acompletion
    if has_callbacks(litellm) or any(getattr(litellm, name, None) for name in _OTHERS):
        return whole
    inner = whole
    while (within := getattr(inner, "__wrapped__", None)) is not None:
        inner = within
    utils = getattr(litellm, "utils", None)
    set_up, rules = getattr(utils, "function_setup", None), getattr(utils, "Rules", None)
    if inner is whole or set_up is None or rules is None:
        return whole

    async def quick(**fields: Any) -> Any:
        named = {"litellm_call_id": str(uuid.uuid4()), **fields}
        logged, prepared = set_up("acompletion", rules(), datetime.now(), **named)  # noqa: DTZ005 - litellm's own are naive
        return await inner(**{**prepared, "litellm_logging_obj": logged})

    return quick
