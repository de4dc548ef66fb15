"""Those who ask a server: the seam behind which a dialect and a client library are known.

A provider has a ``dialect`` (what a request asks with, and how its response is read) and sends. None may retry: attempts are
counted, paced and judged in one place, ``judge.py``.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
from collections.abc import Mapping
from typing import Any, Final, Protocol

from pytest_novelty.digests import digest_of
from pytest_novelty.errors import JudgeError
from pytest_novelty.garbage import not_collecting
from pytest_novelty.judges.llm.chat import Chat
from pytest_novelty.judges.llm.clients import CONNECT_S, OWN_CLIENTS, bound_body
from pytest_novelty.judges.llm.dialect import Dialect
from pytest_novelty.judges.llm.faults import CallFault, plain_address, read_body, read_fault
from pytest_novelty.judges.llm.files import LlmSettings, address_problem
from pytest_novelty.judges.llm.quick import call_of, has_callbacks

_IMPORT_ATTEMPTS: Final = 5
_READ_BY_CLIENTS: Final = ("OPENAI_ORG_ID", "OPENAI_PROJECT_ID")
"""Sent as headers by the openai library, of its own accord."""


class Provider(Protocol):
    """Sends what its dialect makes of a request. Belongs to one event loop."""

    @property
    def dialect(self) -> Dialect: ...

    @property
    def address(self) -> str:
        """Whom it asks, as far as it is known."""

    async def complete(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """The body of the response. Raises CallFault."""

    async def close(self) -> None: ...


def open_provider(settings: LlmSettings) -> Provider:
    """The provider of a judge. Raises JudgeError: its library is not installed, or the environment lacks what it needs."""
    return OpenAIProvider(settings) if settings.provider == "openai" else LitellmProvider(settings)


def read_headers(settings: LlmSettings) -> dict[str, str]:
    """The judge file's extra headers, with their values from the environment. Raises JudgeError for an unset variable."""
    return {name: _from_environment(variable, settings) for name, variable in settings.headers.items()}


def secret_values(settings: LlmSettings) -> list[str]:
    """What must be masked whatever its variable is called."""
    names = [*settings.headers.values(), *([settings.api_key_env] if settings.api_key_env else [])]
    return [os.environ[name] for name in names if os.environ.get(name)]


def _from_environment(variable: str, settings: LlmSettings) -> str:
    value = os.environ.get(variable)
    if not value:
        raise JudgeError(f"the judge {settings.name!r} needs the environment variable {variable}, which is not set")
    return _checked(variable, value)


def _checked(variable: str, value: str) -> str:
    """A value that can be sent in a header. Client libraries fail on others in words that nobody would trace to the key."""
    if not (value.isascii() and value.isprintable() and value == value.strip()):
        raise JudgeError(
            f"the environment variable {variable} cannot be sent: it has a line break, white space around it, or characters "
            "that are not ASCII",
            hint="Set it again, to the value alone",
        )
    return value


class OpenAIProvider:
    """The openai client, against OpenAI or any server that speaks its protocol."""

    def __init__(self, settings: LlmSettings) -> None:
        try:
            import openai
        except ImportError:
            raise JudgeError(
                f"the judge {settings.name!r} needs the openai client",
                hint="Install it with: pip install openai",
            ) from None
        self.dialect = Chat(settings)
        self._has_key = True
        own_server = settings.base_url is not None
        if "?" in (settings.base_url or ""):
            raise JudgeError(
                f"the judge {settings.name!r} has an address with a query",
                hint="Headers and keys come from the environment",
            )
        if own_server and (problem := address_problem(settings.base_url or "")):
            raise JudgeError(
                f"the judge {settings.name!r} has no address of a server: {problem}",
                hint="Set api_base or OPENAI_BASE_URL to one like http://127.0.0.1:8000/v1",
            )
        if settings.api_key_env is not None:
            key = _from_environment(settings.api_key_env, settings)
        elif settings.api_base is not None:  # OPENAI_API_KEY is for OpenAI: it is not shown to any other server
            key, self._has_key = "", False
        elif own_server:
            key = _checked("OPENAI_API_KEY", os.environ.get("OPENAI_API_KEY") or "")
            self._has_key = bool(key)
        else:
            key = _from_environment("OPENAI_API_KEY", settings)
        for variable in _READ_BY_CLIENTS:
            _checked(variable, os.environ.get(variable, ""))
        # A redirect would show the extra headers to somebody else. Waiting for an answer is bounded by whoever calls.
        options: dict[str, Any] = {
            "timeout": openai.Timeout(None, connect=CONNECT_S),
            "follow_redirects": False,
            "event_hooks": {"response": [bound_body]},
        }
        try:
            http = openai.DefaultAioHttpClient(**options)  # half the time a call of the default transport
        except RuntimeError:  # aiohttp, which the extra brings, is not installed
            http = openai.DefaultAsyncHttpxClient(**options)
        self._client = openai.AsyncOpenAI(
            api_key=key or "none",
            base_url=settings.api_base,
            max_retries=0,
            timeout=options["timeout"],
            default_headers=read_headers(settings),
            http_client=http,
        )
        self.address = plain_address(str(self._client.base_url))

    async def complete(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            # Not chat.completions.create, which walks every field through its types, and knows only OpenAI's own.
            content = await self._client.post("/chat/completions", body=fields, cast_to=bytes)
        except Exception as error:
            raise read_fault(error, has_key=self._has_key) from None
        return read_body(content)

    async def close(self) -> None:
        await self._client.close()


class LitellmProvider:
    """litellm, which reaches every provider by its own protocol."""

    def __init__(self, settings: LlmSettings) -> None:
        self.dialect = Chat(settings)
        self.address = settings.api_base or ""
        self._has_key = True
        self._fixed: dict[str, Any] = {"num_retries": 0, "max_retries": 0, "timeout": settings.timeout_s}
        if settings.api_base is not None:
            self._fixed["api_base"] = settings.api_base
        if settings.api_key_env is not None:
            self._fixed["api_key"] = _from_environment(settings.api_key_env, settings)
        elif settings.api_base is not None and settings.model.startswith("openai/"):
            self._has_key = False
            self._fixed["api_key"] = "none"
        else:
            variable = litellms_variable(settings)
            _checked(variable, os.environ.get(variable, ""))
        if headers := read_headers(settings):
            self._fixed["extra_headers"] = headers
        os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else importing it asks the network
        os.environ.setdefault("LITELLM_LOG", "ERROR")
        try:
            litellm = _import_patiently("litellm")
        except ImportError:
            raise JudgeError(
                f"the judge {settings.name!r} needs litellm",
                hint="Install it with: pip install litellm",
            ) from None
        for logger in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):  # at DEBUG they write headers
            logging.getLogger(logger).setLevel(logging.ERROR)
        litellm.suppress_debug_info = True
        litellm.telemetry = False
        # What litellm would hand to a user's callbacks; where there are none, redacting it takes a quarter of a call's time.
        litellm.turn_off_message_logging = has_callbacks(litellm)
        self._litellm = litellm
        self._call = call_of(litellm)
        OWN_CLIENTS.open(litellm)

    async def complete(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        try:
            response = await self._call(**fields, **self._fixed)
            body = response.model_dump()
        except Exception as error:
            raise read_fault(error, has_key=self._has_key) from None
        if not isinstance(body, Mapping):
            raise CallFault("malformed", "the server's response is no JSON object")
        return body

    async def close(self) -> None:
        await OWN_CLIENTS.close(self._litellm)


def _import_patiently(name: str) -> Any:
    """Import a library that mutes warnings of its own while it is imported.

    It is imported beside tests, and pytest sets the filters anew with each of them: with ``-W error`` a warning that was
    muted becomes an error. What was imported so far stays, so the next attempt comes farther.
    """
    with not_collecting():  # which takes a quarter of litellm's import, and finds nothing
        for _ in range(_IMPORT_ATTEMPTS):
            with contextlib.suppress(Warning):
                return importlib.import_module(name)
        return importlib.import_module(name)


def account_of(settings: LlmSettings) -> str:
    """A digest of the address and the key that a judge asks with: the same through either library."""
    provider, slash, _ = settings.model.partition("/")
    is_openais = settings.provider == "openai" or provider == "openai" or not slash
    address, variable = settings.base_url, settings.api_key_env
    if is_openais and address is None:
        named = (os.environ.get("OPENAI_BASE_URL"), os.environ.get("OPENAI_API_BASE"))
        address = next(filter(None, named), "https://api.openai.com/v1")
    if variable is None and not (is_openais and settings.api_base):
        variable = "OPENAI_API_KEY" if is_openais else litellms_variable(settings)
    key = os.environ.get(variable, "") if variable is not None else ""
    return digest_of([plain_address((address or provider).lower()).rstrip("/"), digest_of([key], 16)], 6)


def litellms_variable(settings: LlmSettings) -> str:
    """The variable in which litellm looks for the key of a model's provider: a name without a provider is OpenAI's."""
    provider, slash, _ = settings.model.partition("/")
    return f"{provider.upper()}_API_KEY" if slash else "OPENAI_API_KEY"
