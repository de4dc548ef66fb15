"""The shipped JSON Schemas, a fast yes-or-no check compiled from them, and jsonschema's explanation of a no.

jsonschema takes 80 ms to import and 100 us a row; most rows are valid. :func:`compile_check` turns the subset of JSON Schema
that our files use into plain closures (a few us a row) and refuses a schema that uses anything else, so both always
enforce the same rules (a property test holds them to each other).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.resources import files
from typing import Any, Final

from pytest_novelty.digests import canonical_json
from pytest_novelty.errors import nearest
from pytest_novelty.model import Json

Check = Callable[[Json], bool]

_ANNOTATIONS: Final = frozenset({"$schema", "$id", "$defs", "title", "description", "examples", "default"})


def load_schema(name: str) -> dict[str, Any]:
    """The shipped schema ``schemas/<name>.json``."""
    schema: dict[str, Any] = json.loads(_schema_text(name))
    return schema


@lru_cache(maxsize=32)
def _schema_text(name: str) -> str:
    return (files("pytest_novelty") / "schemas" / f"{name}.json").read_text(encoding="utf-8")


@lru_cache(maxsize=32)
def shipped_check(name: str) -> Check:
    """The compiled check of a shipped schema."""
    schema = load_schema(name)
    return compile_check(schema)


def compile_check(schema: Mapping[str, Any]) -> Check:
    """A function that says whether a JSON value fits ``schema``. Raises ValueError for an unsupported keyword."""
    return _compile(schema, schema)


def _compile(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Check:
    if "$ref" in schema:
        node: Any = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            node = node[part]
        return _compile(node, root)
    if extra := set(schema) - _ANNOTATIONS - set(_KEYWORDS) - {"additionalProperties", "required"}:
        raise ValueError(f"unsupported JSON Schema keywords: {sorted(extra)}")
    checks = [build(schema, root) for keyword, build in _KEYWORDS.items() if keyword in schema]
    if ("required" in schema or "additionalProperties" in schema) and "properties" not in schema:
        checks.append(_properties(schema, root))
    if len(checks) == 1:
        return checks[0]
    if len(checks) == 2:  # most of them
        first, second = checks
        return lambda value: first(value) and second(value)
    return lambda value: all(check(value) for check in checks)


def _type(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Check:
    names = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    single = [_TYPES[name] for name in names]
    return single[0] if len(single) == 1 else lambda value: any(check(value) for check in single)


_TYPES: Final[dict[str, Check]] = {
    "object": lambda value: isinstance(value, dict),
    "array": lambda value: isinstance(value, list),
    "string": lambda value: isinstance(value, str),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool)) or (isinstance(value, float) and value.is_integer())
    ),
}


def _properties(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Check:
    known = {name: _compile(sub, root) for name, sub in schema.get("properties", {}).items()}
    required = frozenset(schema.get("required", ()))
    extra = schema.get("additionalProperties", True)
    other: Check | None = _compile(extra, root) if isinstance(extra, Mapping) else None

    def check(value: Json) -> bool:
        if not isinstance(value, dict):
            return True
        if not required <= value.keys():
            return False
        for name, item in value.items():
            if (single := known.get(name)) is not None:
                if not single(item):
                    return False
            elif other is not None:
                if not other(item):
                    return False
            elif not extra:
                return False
        return True

    return check


def _items(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Check:
    single = _compile(schema["items"], root)
    return lambda value: not isinstance(value, list) or all(map(single, value))


def _enum(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Check:
    allowed = {canonical_json(item) for item in schema["enum"]}
    return lambda value: canonical_json(value) in allowed


def _const(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Check:
    return _enum({"enum": [schema["const"]]}, root)


def _any_of(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Check:
    options = [_compile(option, root) for option in schema["anyOf"]]
    return lambda value: any(option(value) for option in options)


def _pattern(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Check:
    search = re.compile(schema["pattern"]).search
    return lambda value: not isinstance(value, str) or search(value) is not None


def _bound(keyword: str, test: Callable[[Any, Any], bool], kinds: tuple[type, ...]) -> Any:
    def build(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Check:
        limit = schema[keyword]
        return lambda value: not isinstance(value, kinds) or isinstance(value, bool) or test(value, limit)

    return build


_KEYWORDS: Final[dict[str, Callable[[Mapping[str, Any], Mapping[str, Any]], Check]]] = {
    "type": _type,
    "const": _const,
    "enum": _enum,
    "properties": _properties,
    "items": _items,
    "anyOf": _any_of,
    "pattern": _pattern,
    "minLength": _bound("minLength", lambda value, limit: len(value) >= limit, (str,)),
    "minItems": _bound("minItems", lambda value, limit: len(value) >= limit, (list,)),
    "maxItems": _bound("maxItems", lambda value, limit: len(value) <= limit, (list,)),
    "minimum": _bound("minimum", lambda value, limit: value >= limit, (int, float)),
    "maximum": _bound("maximum", lambda value, limit: value <= limit, (int, float)),
}


def explain(value: Json, schema: Mapping[str, Json]) -> tuple[str, tuple[str | int, ...]] | None:
    """Why ``value`` does not fit ``schema``: a sentence and the path to the place; None if it does."""
    import jsonschema

    found = jsonschema.exceptions.best_match(_validator(canonical_json(schema)).iter_errors(value))
    if found is None:
        return None
    unknown = _unknown_keys(found)
    return _placed(_sentence(found, unknown), tuple(found.absolute_path), unknown[:1])


def explain_all(value: Json, schema: Mapping[str, Json]) -> list[tuple[str, tuple[str | int, ...]]]:
    """Every reason why ``value`` does not fit, as :func:`explain` gives one; of alternatives the best match. Empty if it fits."""
    import jsonschema

    told: list[tuple[str, tuple[str | int, ...]]] = []
    for error in _validator(canonical_json(schema)).iter_errors(value):
        found = jsonschema.exceptions.best_match([error])
        path = tuple(found.absolute_path)
        for unknown in [[name] for name in _unknown_keys(found)] or [[]]:
            reason = _placed(_sentence(found, unknown), path, unknown)
            if reason not in told:  # two keys that are missing are two errors and one sentence
                told.append(reason)
    return told


def _placed(sentence: str, path: tuple[str | int, ...], inside: list[str]) -> tuple[str, tuple[str | int, ...]]:
    return (f"{name_of(path)}: {sentence}" if path else sentence), (*path, *inside)


def _unknown_keys(found: Any) -> list[str]:
    if found.validator != "additionalProperties" or not isinstance(found.instance, dict):
        return []
    return [name for name in found.instance if name not in found.schema.get("properties", {})]


def invalid_schema(schema: Mapping[str, Json]) -> str | None:
    """Why ``schema`` is no JSON Schema; None if it is one."""
    import jsonschema

    try:
        jsonschema.Draft202012Validator.check_schema(schema)
    except jsonschema.SchemaError as error:
        return f"{name_of(tuple(error.absolute_path))}: {error.message}"
    return None


def violation(value: Json, schema: Mapping[str, Json]) -> str | None:
    """The sentence of :func:`explain` alone. Fast where nothing is wrong: it is asked of every answer."""
    check = _quick_check(canonical_json(schema))
    if check is not None and check(value):
        return None
    found = explain(value, schema)
    return None if found is None else found[0]


@lru_cache(maxsize=64)
def _quick_check(schema: str) -> Check | None:
    """The compiled check of an answer's schema; None for one that only jsonschema understands."""
    try:
        return compile_check(json.loads(schema))
    except (ValueError, KeyError, TypeError):
        return None


def name_of(path: tuple[str | int, ...]) -> str:
    return "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")


def _sentence(found: Any, unknown: list[str]) -> str:
    if unknown:
        known = list(found.schema.get("properties", {}))
        close = nearest(unknown[0], known)
        listed = ", ".join(map(repr, unknown))
        return f"unknown key {listed}" + (f" (did you mean {close!r}?)" if close else f" (known: {', '.join(known)})")
    if found.validator == "minLength" or (found.validator == "pattern" and found.validator_value.startswith("[^\\s")):
        return "must not be empty"
    if found.validator == "required":
        missing = [name for name in found.validator_value if name not in found.instance]
        return f"{', '.join(map(repr, missing))} {'is' if len(missing) == 1 else 'are'} missing"
    if found.validator in ("anyOf", "oneOf") and all(
        isinstance(each.get("type"), str) for each in found.validator_value
    ):
        return f"{found.instance!r:.80} is not of type {' or '.join(each['type'] for each in found.validator_value)}"
    if found.validator in ("minItems", "maxItems") and (found.instance or found.validator_value > 1):
        return f"there are {len(found.instance)}, and {_how_many(found.schema)} are needed"
    message: str = found.message
    return message if len(message) <= 220 else f"{message[:160]} ... {message[-50:]}"


def _how_many(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minItems"), schema.get("maxItems")
    if low == high:
        return f"exactly {low}"
    if low is None or high is None:
        return f"at most {high}" if low is None else f"at least {low}"
    return f"{low} to {high}"


@lru_cache(maxsize=64)
def _validator(schema: str) -> Any:
    import jsonschema

    return jsonschema.Draft202012Validator(json.loads(schema))
