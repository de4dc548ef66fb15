"""The HTTP clients that litellm makes for our judges: they follow no redirect, and do not wait long for a connection.

litellm makes a client for each provider in its own way and lets only some of them be handed in; all of them go through its
cache. While a judge of ours is open the cache is one of our own, so that a user's own clients stay as they are.
"""

from __future__ import annotations

from typing import Any, Final

CONNECT_S: Final = 2.5
"""For a connection, not for an answer. A server that drops what it is sent is known to be out of reach after two attempts."""


class OwnClients:
    """Counts the judges that are open, all in one event loop."""

    def __init__(self) -> None:
        self._open = 0
        self._former: Any = None

    def open(self, litellm: Any) -> None:
        if self._open == 0:
            self._former = litellm.in_memory_llm_clients_cache
            litellm.in_memory_llm_clients_cache = _own_cache(type(self._former))
        self._open += 1

    async def close(self, litellm: Any) -> None:
        self._open -= 1
        if self._open == 0:
            if (close := getattr(litellm, "close_litellm_async_clients", None)) is not None:
                await close()
            # Held here no longer: at the end of the process clients must go before the modules that they need.
            litellm.in_memory_llm_clients_cache, self._former = self._former, None


def _own_cache(kind: Any) -> Any:
    cache = kind()
    keep = cache.set_cache

    def set_cache(key: str, value: Any, *args: Any, **options: Any) -> Any:
        bound(value)
        return keep(key, value, *args, **options)

    cache.set_cache = set_cache
    return cache


def bound(client: Any) -> None:
    """Bound a client of the openai library, or a handler of litellm's, which may make its own client anew."""
    holders: list[Any] = [client, getattr(client, "_client", None), getattr(client, "client", None)]
    for holder in holders:
        if hasattr(holder, "follow_redirects"):
            holder.follow_redirects = False
        if isinstance(hooks := getattr(holder, "event_hooks", None), dict):  # of an httpx client
            holder.event_hooks = {**hooks, "request": [*hooks.get("request", ()), _bound_connecting]}


async def _bound_connecting(request: Any) -> None:
    limits = request.extensions.get("timeout")
    if isinstance(limits, dict):
        limits["connect"] = min(limits.get("connect") or CONNECT_S, CONNECT_S)


OWN_CLIENTS: Final = OwnClients()
