"""Judge files, and the settings of a model that is named on the command line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from pytest_novelty.digests import digest_of
from pytest_novelty.errors import JudgeError, Problems, UnknownNameError
from pytest_novelty.judges.llm.prices import Price
from pytest_novelty.judges.routes import ITSELF, Route
from pytest_novelty.masking import is_like_a_key, is_named_like_a_secret, make_mask
from pytest_novelty.model import Json
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.strict_yaml import Document, read_yaml
from pytest_novelty.validation import explain_all, load_schema, name_of

PREFIXES: Final = ("openai:", "litellm:")
_MAX_TOKENS: Final = 4096


@dataclass(frozen=True, slots=True)
class LlmSettings:
    """How a model is asked. ``schemas/judge.json`` says what each field means; ``folder`` is where prompt paths start."""

    provider: str
    model: str
    name: str
    folder: Path = Path()
    api_base: str | None = None
    api_key_env: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    temperature: float | None = None
    effort: str | None = None
    max_tokens: int = _MAX_TOKENS
    seed: bool | int = True
    parameters: Mapping[str, Json] = field(default_factory=dict)
    structured: str = "auto"
    prompts: Mapping[str, str] = field(default_factory=dict)
    timeout_s: float = 120.0
    retries: int = 5
    answer_retries: int = 1
    concurrency: int | None = None
    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None
    price: Price | None = None
    may_tie: bool = False
    may_abstain: bool = False
    family: str | None = None
    auditors: tuple[Route, ...] = ()

    @property
    def base_url(self) -> str | None:
        """The server, where it is not the provider's own: the judge file's, else for ``openai:`` that of OPENAI_BASE_URL.

        Without the slash at its end, which changes nothing.
        """
        found = self.api_base or (os.environ.get("OPENAI_BASE_URL") if self.provider == "openai" else None)
        return (found or "").strip().rstrip("/") or None

    @property
    def asked(self) -> dict[str, Json]:
        """What can change an answer: the model and how it is asked, not how fast or at what price."""
        found: dict[str, Json] = {
            item.name: getattr(self, item.name) for item in fields(self) if item.name not in _NOT_ASKED
        }
        found |= {"parameters": dict(self.parameters), "api_base": _without_login(self.base_url)}
        return {name: _plain(value) for name, value in found.items()}

    @property
    def version(self) -> str:
        """A digest of what is asked."""
        return digest_of([self.asked], 6)


_NOT_ASKED: Final = frozenset(
    {"name", "folder", "api_key_env", "headers", "prompts", "timeout_s", "retries", "concurrency", "requests_per_minute",
     "tokens_per_minute", "price", "may_tie", "may_abstain", "family", "auditors"}
)  # fmt: skip
"""Settings that change no answer, or whose effect (prompts, ties, abstentions) is in the request itself."""


def _without_login(url: str | None) -> str | None:
    """An address of OPENAI_BASE_URL may hold what a judge file may not: a password, or a query with a key."""
    return None if url is None else re.sub(r"(?<=//)[^/]*@", "", url).partition("?")[0]


def _plain(value: Any) -> Any:
    """A value with one spelling of its numbers: a temperature of 0.0 is one of 0."""
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


_RESERVED: Final = frozenset(
    {"model", "messages", "n", "stream", "timeout", "api_base", "base_url", "max_tokens", "max_completion_tokens",
     "temperature", "reasoning_effort", "seed", "response_format", "extra_body", "num_retries", "max_retries"}
)  # fmt: skip


def is_judge_file(spec: str) -> bool:
    return spec.endswith((".yaml", ".yml"))


def settings_of_name(spec: str) -> LlmSettings:
    """The settings of ``openai:MODEL`` or ``litellm:PROVIDER/MODEL``. Raises JudgeError if no model is named."""
    provider, _, model = spec.partition(":")
    if not model.strip():
        raise JudgeError(f"{spec!r} names no model", hint=f"Write {provider}:MODEL")
    if is_like_a_key(model):
        raise JudgeError(f"the model after {provider}: looks like a key", hint=_KEYS)
    return LlmSettings(provider, model.strip(), name=model.strip())


def load_judge_file(path: Path) -> LlmSettings:
    """Read and check a judge file. Raises JudgeError with file and line of everything that is wrong; no value is repeated that
    may be a key.
    """
    document = read_yaml(path, JudgeError)
    value: Any = document.value
    problems = Problems()
    told = set(_keys_in(value))
    for place in sorted(told, key=str):
        of = f"{name_of(place)}: " if place and not is_like_a_key(name_of(place)) else ""
        problems.add(JudgeError(f"{of}this looks like a key", path=path, line=document.line_of(place), hint=_KEYS))
    for sentence, place in explain_all(value, load_schema("judge")):
        if place not in told:
            told.add(place)
            sentence, hint = _explained(value, sentence, place)
            problems.add(JudgeError(sentence, path=path, line=document.line_of(place), hint=hint))
    if isinstance(value, dict):
        for message, hint, place in (
            *_unknown_protocols(value),
            *_misplaced(value),
            *_unusable(value),
            *_twofold(value),
        ):
            if place not in told:
                told.add(place)
                problems.add(JudgeError(message, path=path, line=document.line_of(place), hint=hint))
    problems.raise_any()
    given = {key: item for key, item in value.items() if key not in ("format", "model", "price", *_AUDITED)}
    for name in ("max_tokens", "seed", "retries", "answer_retries", "concurrency"):
        if isinstance(given.get(name), float):  # 4.0 is an integer to JSON Schema
            given[name] = int(given[name])
    provider, _, model = value["model"].partition(":")
    prices = value.get("price")
    price = None if prices is None else Price.per_million(prices["input"], prices["output"], prices.get("cached_input"))
    return LlmSettings(
        provider,
        model.strip(),
        **{"name": model.strip(), **given},
        folder=path.resolve().parent,
        price=price,
        auditors=tuple(_routes(document, path)),
    )


_AUDITED: Final = ("auditor", "auditors")


def _routes(document: Document, path: Path) -> Iterator[Route]:
    """Who audits the judge of a file that fits its schema."""
    value: Any = document.value
    for family, named in {ITSELF: value.get("auditor"), **value.get("auditors", {})}.items():
        key = ("auditor",) if family == ITSELF else ("auditors", family)
        for auditor in [named] if isinstance(named, str) else named or ():
            source = f"{key[0]} in {path.name}"
            yield Route(
                family.strip().casefold(), auditor.strip(), source, path.resolve().parent, path, document.line_of(key)
            )


def _twofold(value: Mapping[str, Any]) -> Iterator[tuple[str, str, _Place]]:
    if all(name in value for name in _AUDITED):
        hint = "auditor is for this judge whatever it is; auditors tells by family, of which the judge's own counts"
        yield "auditor and auditors are both given", hint, ("auditors",)


_KEYS: Final = (
    "Keys stay out of files and command lines: put it into the environment (OPENAI_API_KEY, or what api_key_env names)"
)
_Place = tuple[str | int, ...]


def _keys_in(value: Any, place: _Place = ()) -> Iterator[_Place]:
    """The places at which a key was written, by mistake."""
    if isinstance(value, str) and is_like_a_key(value.removeprefix("openai:").removeprefix("litellm:")):
        yield place
    elif isinstance(value, dict):
        for name, item in value.items():
            if is_like_a_key(name):
                yield (*place, name)
            else:
                yield from _keys_in(item, (*place, name))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _keys_in(item, (*place, index))


def _explained(value: Any, sentence: str, place: _Place) -> tuple[str, str | None]:
    """(sentence, hint): in the place of the schema's own, where that would repeat a value or say what only a schema means."""
    field = place[0] if place else None
    if field == "api_key_env":
        return "api_key_env must be the name of an environment variable", None
    if field == "api_base":
        return "api_base must be an address like http://127.0.0.1:8000/v1, without user, password or query", None
    if field == "model":
        return _explained_model(value["model"])
    if field == "format" or (field is None and isinstance(value, dict) and "format" not in value):
        return sentence if field is None else "this is not the format of a judge file", _FORMAT
    return make_mask()(sentence), None


_FORMAT: Final = "A judge file begins with format: novelty-judge/1"


def _explained_model(model: Any) -> tuple[str, str]:
    ways = "openai:MODEL (OpenAI, or the server of api_base) or litellm:PROVIDER/MODEL"
    if not isinstance(model, str):
        return "model must be a text", f"Write {ways}"
    if model in PREFIXES:
        return f"{model} names no model", f"Write {ways}"
    return f"model must begin with {' or '.join(PREFIXES)}", f"Write {ways}, such as {make_mask()(_suggested(model))}"


def _suggested(model: str) -> str:
    """``anthropic:claude`` and ``anthropic/claude`` name a provider, ``gpt-5`` none."""
    provider, sign, rest = re.fullmatch(r"([A-Za-z_][\w-]*?)(?:([:/])(.*))?|.*", model).groups()  # type: ignore[union-attr]
    if not sign or not rest:
        return f"openai:{model}"
    return f"litellm:{provider.lower()}/{rest.strip()}" if provider.lower() != "openai" else f"openai:{rest.strip()}"


def _unknown_protocols(value: Mapping[str, Any]) -> Iterator[tuple[str, str | None, _Place]]:
    prompts = value.get("prompts")
    for name in prompts if isinstance(prompts, dict) else ():
        if name not in PROTOCOLS:
            error = UnknownNameError("protocol", name, PROTOCOLS)
            yield error.message, error.hint, ("prompts", name)


def address_problem(address: str) -> str | None:
    """Why no server can be asked at an address, without repeating it; None if one can."""
    try:
        parts = urlsplit(address)
        host, port = parts.hostname or "", parts.port
        if ":" in host or re.fullmatch(r"[\d.]+", host):
            ip_address(host)
    except ValueError:
        return "its host or its port is none"
    if parts.scheme not in ("http", "https"):
        return "it does not begin with http:// or https://"
    labels = host.removesuffix(".").split(".")
    if ":" not in host and not all(re.fullmatch(r"[\w-]{1,63}", label) for label in labels):
        return "it names no host"
    if port == 0 or re.search(r"[\s\x00-\x20\x7f]", address):
        return "its port is 0" if port == 0 else "it has a blank or a control character"
    return None


_LONGEST_STEP_MIN: Final = 60.0
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_OF_TRANSPORT: Final = frozenset(
    {"connection", "content-length", "expect", "host", "keep-alive", "proxy-connection", "te", "trailer",
     "transfer-encoding", "upgrade"}
)  # fmt: skip


def _unusable(value: Mapping[str, Any]) -> Iterator[tuple[str, str, _Place]]:
    """Values of the right type with which no call could be made."""
    address, headers = value.get("api_base"), value.get("headers")
    if isinstance(address, str) and (problem := address_problem(address.strip())):
        yield f"api_base is no address of a server: {problem}", "Write one like http://127.0.0.1:8000/v1", ("api_base",)
    for name in headers if isinstance(headers, dict) else ():
        if not _TOKEN.fullmatch(name):
            hint = "Names of headers have letters, digits and hyphens"
            yield f"{name!r} is no name of a header", hint, ("headers", name)
        elif name.lower() in _OF_TRANSPORT:
            yield f"the header {name!r} is set by whoever sends the request", "Remove it", ("headers", name)
    most = value.get("max_tokens", _MAX_TOKENS)
    for name, least in (("requests_per_minute", 1), ("tokens_per_minute", most)):
        rate: Any = value.get(name)
        if _is_number(rate) and _is_number(least) and 0 < rate * _LONGEST_STEP_MIN < least:
            what = "a call" if name == "requests_per_minute" else "a call of max_tokens"
            hint = f"Write {min(least, 1e15) / _LONGEST_STEP_MIN:.3g} or more"
            yield f"{name}: {what} would hold up the next for more than an hour", hint, (name,)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _misplaced(value: Mapping[str, Any]) -> Iterator[tuple[str, str, _Place]]:
    """Parameters that a field of the file is for, or that are keys; and headers that are values and no variables' names."""
    parameters, headers = value.get("parameters"), value.get("headers")
    for name in parameters if isinstance(parameters, dict) else ():
        if name in _RESERVED or "header" in name.lower() or is_named_like_a_secret(name):
            hint = "What the judge file has a field for is set there; keys are in the environment"
            yield f"{name!r} is no parameter of a request", hint, ("parameters", name)
    for name, variable in (headers if isinstance(headers, dict) else {}).items():
        if not isinstance(variable, str) or not re.fullmatch(r"[A-Z_][A-Z0-9_]{0,59}", variable):
            hint = "Keys stay out of files: put the value into the environment and write the variable's name here"
            yield f"the header {name!r} must name an environment variable", hint, ("headers", name)
