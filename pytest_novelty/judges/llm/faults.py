"""What can go wrong with one request to a server, and what an exception of a client library means.

Both libraries raise the same family of exceptions (litellm's derive from openai's), so one reader of errors serves both.
"""

from __future__ import annotations

import email.utils
import json
import math
import re
import time
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final
from urllib.parse import urlsplit, urlunsplit

from pytest_novelty.masking import shorten

_ADVICE: Final = {
    "auth": "Check the key in the environment.",
    "model": "Check the model's name (litellm wants PROVIDER/MODEL) and api_base.",
    "quota": "The account has no quota left.",
    "connection": "Check api_base and that the server runs.",
    "closed": "Run again then.",
    "redirect": "Put that address into api_base.",
    "timeout": "Check api_base and that the server runs, or raise timeout_s.",
}
_FATAL: Final = frozenset({"auth", "model", "quota", "closed", "redirect"})
UNREACHABLE: Final = "unreachable"
"""The code of a fault: what is sent gets lost, so that every attempt waits as long as it may."""
LONGEST_WAIT_ASKED_S: Final = 120.0
"""A server that asks for more (a daily limit, maintenance) is closed: nobody is left waiting in silence."""
_TRANSIENT: Final = frozenset({"rate", "server", "connection", "timeout", "malformed"})
_NO_CONNECTION: Final = frozenset({"ConnectTimeout", "ConnectError", "ClientConnectorError"})
"""Of httpx and aiohttp. The transport between them says ConnectTimeout of a port that is closed, too."""
_STATUS_OF: Final = {
    "invalid_api_key": 401, "authentication_error": 401, "unauthenticated": 401, "permission_error": 403,
    "permission_denied": 403, "model_not_found": 404, "not_found_error": 404, "not_found": 404, "rate_limit_exceeded": 429,
    "rate_limit_error": 429, "resource_exhausted": 429, "server_error": 500, "api_error": 500, "internal": 500,
    "overloaded_error": 529, "unavailable": 503, "invalid_request_error": 400, "invalid_argument": 400,
}  # fmt: skip
"""Errors that are named in the place of a number, by OpenAI, Anthropic and Google."""
_MAX_SHOWN: Final = 2000
_MODERATION: Final = re.compile(r"flagged|moderation|content[ _-]?policy", re.IGNORECASE)
_LITELLMS: Final = re.compile(r"^(litellm\.)?(\w+(Error|Exception):? (- )?)+")
"""The names of exceptions that litellm puts before a server's own words."""


class CallFault(Exception):
    """An attempt came to no answer.

    ``kind``: auth, model, quota, redirect, closed (no other call would fare better now), rate, server, connection, timeout,
    malformed (pass with time), filter (the provider declined the content), request (the server does not take such a request).
    """

    def __init__(
        self,
        kind: str,
        message: str,
        *,
        status: int | None = None,
        code: str = "",
        param: str = "",
        retry_after_s: float | None = None,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.status = status
        self.code = code
        self.param = param
        self.retry_after_s = retry_after_s

    @property
    def is_fatal(self) -> bool:
        return self.kind in _FATAL

    @property
    def is_worth_another(self) -> bool:
        """Transport faults pass. Fatal ones are tried again only so often that the breaker can be sure of them."""
        return self.kind in _TRANSIENT or self.is_fatal

    @property
    def advice(self) -> str:
        return _ADVICE.get(self.kind, "")


def read_body(content: bytes) -> Mapping[str, Any]:
    """The JSON object in a response. Bytes that are not UTF-8 become replacement characters. Raises CallFault."""
    text = content.decode("utf-8", "replace")
    try:
        body = json.loads(text)
    except (ValueError, RecursionError):
        shown = shorten(" ".join(text[: 2 * _MAX_SHOWN].split()), _MAX_SHOWN)
        raise CallFault("malformed", f"the server's response is not JSON: {shown!r}") from None
    if not isinstance(body, Mapping):
        raise CallFault("malformed", "the server's response is no JSON object")
    return body


def read_fault(error: Exception, *, has_key: bool = True) -> CallFault:
    """What an exception of a client library means for the call. ``has_key``: a key was sent, and not a stand-in for one."""
    names = {kind.__name__ for kind in type(error).__mro__}
    status = getattr(error, "status_code", None)
    status = status if isinstance(status, int) else None
    code, message = _code_of(error), _message_of(error)
    chain = list(_chain(error))
    if {type(each).__name__ for each in chain} & _NO_CONNECTION:
        refusals = [each for each in chain if isinstance(each, OSError) and not isinstance(each, TimeoutError)]
        kind, code = "connection", "" if refusals else UNREACHABLE
        message = (
            f"no connection: {(refusals[-1].strerror or refusals[-1]) if refusals else 'nothing came back in time'}"
        )
    elif (location := _redirected(chain)) is not None:
        kind, message = (
            "redirect",
            f"the server redirects to {plain_address(location) if location else 'another address'}",
        )
    else:
        kind = _kind_of(names, status, code, message.lower())
    if kind in ("connection", "timeout") and (address := _asked(chain)):
        message = f"{message.rstrip('.')}, asking {address}"
    if kind == "auth" and not has_key:
        message = f"no key was sent (name the variable that holds it with api_key_env), and the server says: {message}"
    wait = _retry_after(error)
    if kind in ("rate", "server") and wait is not None and wait > LONGEST_WAIT_ASKED_S:
        kind, message = "closed", f"{message.rstrip('.')}; the server asks to wait {_duration(wait)}"
    param = _body_of(error).get("param")
    param = param if isinstance(param, str) else ""
    return CallFault(kind, message, status=status, code=code, param=param, retry_after_s=wait)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """An error and those that led to it; libraries hide the one that knows."""
    for _ in range(20):
        if error is None:
            return
        yield error
        error = error.__cause__ or error.__context__


def _asked(chain: Iterable[BaseException]) -> str:
    """The address that a request went to, by the error of the HTTP library; litellm's own errors name OpenAI's."""
    for error in chain:
        request = getattr(error, "_request", None)
        if request is not None and type(error).__module__.startswith("httpx"):  # and httpx2
            return plain_address(str(request.url))
    return ""


def _redirected(chain: Iterable[BaseException]) -> str | None:
    """Where a response sends the client, empty if it does not say; None if no response is a redirect."""
    found = None
    for error in chain:
        response = getattr(error, "response", None)
        statuses = (getattr(error, "status_code", None), getattr(response, "status_code", None))
        if any(isinstance(status, int) and 300 <= status < 400 for status in statuses):
            found = found or str((getattr(response, "headers", None) or {}).get("location") or "")
    return found


def plain_address(url: str) -> str:
    """Without what may be a secret: user, password, query."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "an address that cannot be read"
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path, "", ""))


def fault_told(told: object, otherwise: str) -> CallFault:
    """What an error in the body of a response with status 200 means, as routers in front of several providers send it.

    Its code is read like the status of a response (or stands for one); an error without either is a garbled response.
    """
    given: Mapping[str, Any] = told if isinstance(told, Mapping) else {"message": told}
    message = given.get("message")
    message = " ".join(message.split()) if isinstance(message, str) and message.strip() else otherwise
    names = [str(given[key]) for key in ("code", "status", "type") if isinstance(given.get(key), (str, int))]
    statuses = [int(name) if name.isdecimal() else _STATUS_OF.get(name.lower(), 0) for name in names]
    status = next((status for status in statuses if 300 <= status < 600), None)
    code = next((name for name in names if not name.isdecimal()), "")
    kind = _kind_of(set(), status, code, message.lower()) if status is not None or code else "malformed"
    param = given.get("param")
    return CallFault(kind, message, status=status, code=code, param=param if isinstance(param, str) else "")


def _duration(seconds: float) -> str:
    if seconds > 10 * 365 * 86_400:
        return "for years"
    for size, unit in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{seconds:.0f} s"


def _kind_of(names: set[str], status: int | None, code: str, message: str) -> str:
    if "ContentPolicyViolationError" in names or "content_filter" in code or "content management policy" in message:
        return "filter"
    if names & {"APITimeoutError", "Timeout"} or status == 408:
        return "timeout"
    if code == "insufficient_quota" or "insufficient_quota" in message or status == 402:
        return "quota"
    if "APIConnectionError" in names or ("InternalServerError" in names and "connection error" in message):
        return "connection"  # litellm says of a server that is down that it failed
    if "invalid response object" in message or "provider returned 'choices'" in message:
        return "malformed"  # litellm says so of a body that it cannot read, with a status of its own
    if "llm provider not provided" in message:
        return "model"
    if status == 403 and _MODERATION.search(message):
        return "filter"
    if status in (401, 403):
        return "auth"
    if status == 404:
        return "model"
    if status == 429:
        return "rate"
    if status is not None and (status >= 500 or status in (409, 425)):
        return "server"
    if status is not None:
        return "request"
    if names & {"TypeError", "ValueError", "KeyError", "AttributeError"}:
        return "request"  # the library refused what it was to send
    return "malformed" if not names or names & {"APIResponseValidationError", "APIError"} else "connection"


def _body_of(error: Exception) -> Mapping[str, Any]:
    body = getattr(error, "body", None)
    if isinstance(body, Mapping):
        inner = body.get("error")
        return inner if isinstance(inner, Mapping) else body
    return {}


def _code_of(error: Exception) -> str:
    code = _body_of(error).get("code") or getattr(error, "code", None)
    return str(code) if isinstance(code, (str, int)) else ""


def _message_of(error: Exception) -> str:
    text = _body_of(error).get("message")
    if not isinstance(text, str) or not text:
        text = str(getattr(error, "message", "") or error)
    cause = error.__cause__
    if cause is not None and "APIConnectionError" in {kind.__name__ for kind in type(error).__mro__}:
        text = f"{text} ({type(cause).__name__}: {cause})" if str(cause) not in text else text
    text = _LITELLMS.sub("", " ".join(text.partition("Traceback (most recent")[0].split())) or type(error).__name__
    return text  # cut only after it was masked: half a key is a leak


def _retry_after(error: Exception) -> float | None:
    """Seconds that the server asks to wait: ``retry-after-ms``, or Retry-After in seconds or as a date."""
    headers = getattr(getattr(error, "response", None), "headers", None)
    own = getattr(error, "litellm_response_headers", None)
    for source in (headers, own):
        if source is None:
            continue
        if (milliseconds := _number(source.get("retry-after-ms"))) is not None:
            return milliseconds / 1000
        text = source.get("retry-after")
        if (seconds := _number(text)) is not None:
            return seconds
        if isinstance(text, str) and (date := email.utils.parsedate_tz(text)) is not None:
            try:
                return max(0.0, email.utils.mktime_tz(date) - time.time())
            except (ValueError, OverflowError):  # a year that no calendar has
                return None
    return None


def _number(value: object) -> float | None:
    if not isinstance(value, (str, int, float)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) and number >= 0 else None
