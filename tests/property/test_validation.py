"""The compiled checks and jsonschema agree on every shipped schema, for valid rows and for rows with one thing changed."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_novelty.validation import compile_check, explain, load_schema

SHIPPED = sorted(
    path.name.removesuffix(".json")
    for path in (files("pytest_novelty") / "schemas").iterdir()
    if path.name.endswith(".json")
)
INSTANCE = load_schema("instance")
CHECKED: dict[str, dict[str, Any]] = {
    **{name: load_schema(name) for name in ("suite", "prompt", "record")},
    "extension": {"$ref": "#/$defs/extension", "$defs": load_schema("suite")["$defs"]},
    **{name: {"$ref": f"#/$defs/{name}", "$defs": INSTANCE["$defs"]} for name in ("pointwise", "pairwise", "idea")},
}
ATOMS = (None, True, False, 0, 1, -1, 2.0, 0.5, 101, 10**30, "", " ", "a", "novel", "2016-12-31", "\ud800", "true")
junk = st.sampled_from(ATOMS) | st.sampled_from(([], {}, [1], {"a": None}, {"text": "t"}, [{}], [{"title": "t"}])).map(
    copy.deepcopy
)


def rows_of(schema: Mapping[str, Any], root: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Values that fit ``schema``, for the keywords that the shipped schemas use."""
    if "$ref" in schema:
        node: Any = root
        for part in schema["$ref"].removeprefix("#/").split("/"):
            node = node[part]
        return rows_of(node, root)
    if "const" in schema or "enum" in schema:
        return st.sampled_from(schema.get("enum") or [schema["const"]])
    if "anyOf" in schema:
        return st.one_of([rows_of(option, root) for option in schema["anyOf"]])
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return st.one_of([_typed(name, schema, root) for name in types])


def _typed(name: str, schema: Mapping[str, Any], root: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    if name == "object":
        known = {key: rows_of(sub, root) for key, sub in schema.get("properties", {}).items()}
        required = {key: known.pop(key) for key in schema.get("required", ())}
        whole = st.fixed_dictionaries(required, optional=known)
        extra = schema.get("additionalProperties", False)
        if not isinstance(extra, Mapping):
            return whole
        more = st.dictionaries(st.text(min_size=1, max_size=5), rows_of(extra, root), max_size=2)
        return st.builds(lambda added, fixed: {**added, **fixed}, more, whole)
    if name == "array":
        items = rows_of(schema["items"], root)
        return st.lists(items, min_size=schema.get("minItems", 0), max_size=schema.get("maxItems", 3))
    if name == "string":
        if "pattern" in schema:
            return st.from_regex(schema["pattern"], fullmatch=schema["pattern"].startswith("^"))
        return st.text(min_size=schema.get("minLength", 0), max_size=8)
    low, high = schema.get("minimum"), schema.get("maximum")
    return {
        "integer": st.integers(low, high),
        "number": st.floats(low, high, allow_nan=False, allow_infinity=False) | st.integers(low, high),
        "boolean": st.booleans(),
        "null": st.none(),
    }[name]


def mutated(value: Any, data: st.DataObject) -> Any:
    """``value`` with one thing inside it changed, added or taken away."""
    if not isinstance(value, (dict, list)) or not value or data.draw(st.integers(0, 9)) == 0:
        return data.draw(junk)
    place = data.draw(st.sampled_from(sorted(value) if isinstance(value, dict) else range(len(value))))
    change = data.draw(st.sampled_from(["inside", "inside", "drop", "add"]))
    if change == "drop":
        del value[place]
    elif change == "inside":
        value[place] = mutated(value[place], data)
    elif isinstance(value, dict):
        value[data.draw(st.sampled_from(["id", "gold", "typo", "as_of", "variants", "related_work"]))] = data.draw(junk)
    else:
        value.append(data.draw(junk))
    return value


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_schemas_are_json_schemas(name: str) -> None:
    jsonschema.Draft202012Validator.check_schema(load_schema(name))


@pytest.mark.parametrize("name", CHECKED)
@given(st.data())
@settings(max_examples=60)
def test_generated_rows_are_valid(name: str, data: st.DataObject) -> None:
    schema = CHECKED[name]
    row = data.draw(rows_of(schema, schema))
    assert jsonschema.Draft202012Validator(schema).is_valid(row)
    assert compile_check(schema)(row)
    assert explain(row, schema) is None


@pytest.mark.parametrize("name", CHECKED)
@given(st.data())
@settings(max_examples=150)
def test_both_agree_on_changed_rows(name: str, data: st.DataObject) -> None:
    schema = CHECKED[name]
    row = mutated(copy.deepcopy(data.draw(rows_of(schema, schema))), data)
    fits = compile_check(schema)(row)
    assert fits is jsonschema.Draft202012Validator(schema).is_valid(row)
    assert (explain(row, schema) is None) is fits


@pytest.mark.parametrize(
    "schema", [{"minLenght": 1}, {"not": {}}, {"properties": {"a": {"format": "date"}}}, {"allOf": []}]
)
def test_a_schema_outside_the_subset_is_refused(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="unsupported"):
        compile_check(schema)
