"""A suite's variants: from YAML to axes, what each changes, and what is left of that under a run's options."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, Final, NamedTuple

from pytest_novelty.digests import canonical_json
from pytest_novelty.errors import Problems, SuiteError, UnknownNameError
from pytest_novelty.granularity import ABSTRACT, lacks
from pytest_novelty.model import REFERENCE, Axes, Idea, Instance, Suite, Variant
from pytest_novelty.prompts import embedded_prompts
from pytest_novelty.protocols import PROTOCOLS, thing_of
from pytest_novelty.strict_yaml import Document

_AXES: Final = tuple(item.name for item in fields(Axes))
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")

Place = tuple[str | int, ...]


def read_variants(
    document: Document, protocol: str, inherited: Mapping[str, Variant] | None = None
) -> dict[str, Variant]:
    """The reference and the variants that a file's ``defaults`` and ``variants`` describe, beside those it inherits.

    Inherited variants change the same axes to the same values, whatever ``defaults`` make of the others. Prompts that are
    files become absolute paths: what a name in a file means depends on where the file is. Raises SuiteError with the line.
    """
    head: Mapping[str, Any] = document.value
    base = inherited or {}
    start = base[REFERENCE].axes if base else Axes(prompt=f"{protocol}/reference")
    problems = Problems()
    reference = start
    with problems.noted():
        reference = replace(start, **_read_axes(head.get("defaults", {}), document, ("defaults",)))
        _check_granularity(reference, document, ("defaults",))
    is_known = not problems.found
    variants = {REFERENCE: Variant(REFERENCE, reference)}
    for name, variant in base.items():
        if name != REFERENCE:
            axes = replace(reference, **{axis: getattr(variant.axes, axis) for axis in variant.changed})
            variants[name] = Variant(name, axes, changed_axes(axes, reference, protocol))
    for name, changes in head.get("variants", {}).items():
        place = ("variants", name)
        with problems.noted():
            if problem := _name_problem(name, base):
                raise SuiteError(problem, path=document.path, line=document.line_of(place))
            axes = replace(reference, **_read_axes(changes, document, place))
            _check_granularity(axes, document, place)
            changed = changed_axes(axes, reference, protocol)
            if not changed and is_known:
                orders = " (a pointwise suite has no orders)" if "orders" in changes and protocol == "pointwise" else ""
                raise SuiteError(
                    f"the variant {name!r} changes nothing{orders}", path=document.path, line=document.line_of(place)
                )
            variants[name] = Variant(name, axes, changed)
    problems.raise_any()
    return variants


def _name_problem(name: str, inherited: Mapping[str, Variant]) -> str:
    if name == REFERENCE:
        return f"a variant may not be called {REFERENCE!r}: that is what defaults describe"
    if not is_variant_name(name):
        return f"the variant name {name!r} has other characters than letters, digits, '.', '_' and '-', or more than 40"
    return f"the extended suite has a variant {name!r} already: choose another name" if name in inherited else ""


def is_variant_name(text: str) -> bool:
    """``max``, ``min`` and ``mean`` stand for all variants in a gate."""
    return _NAME.fullmatch(text) is not None and text not in ("max", "min", "mean")


def _read_axes(given: Mapping[str, Any], document: Document, place: Place) -> dict[str, Any]:
    """The axes that a mapping sets, checked for what the schema cannot say."""
    axes = dict(given)
    for axis in ("votes", "related_work"):
        if isinstance(axes.get(axis), float):
            raise SuiteError(
                f"{axis} must be a whole number, not {axes[axis]}",
                path=document.path,
                line=document.line_of((*place, axis)),
            )
    if axes.get("related_work") == 0:
        axes["related_work"] = False  # so that 0 works and none are one setting
    if "prompt" in axes:
        axes["prompt"] = _find_prompt(axes["prompt"], document, (*place, "prompt"))
    return axes


def _check_granularity(axes: Axes, document: Document, place: Place) -> None:
    """Renderings other than the text have one length."""
    if axes.granularity != ABSTRACT and axes.format != "text":
        raise SuiteError(
            f"granularity {axes.granularity!r} is of the text, and the format is {axes.format!r}",
            path=document.path,
            line=document.line_of((*place, "granularity")),
            hint="Leave granularity out, or say format: text",
        )


def _find_prompt(name: str, document: Document, place: Place) -> str:
    known = embedded_prompts()
    if name in known:
        return name
    path = Path(document.path).parent / name
    if not path.is_file():
        unknown = UnknownNameError("prompt", name, known, also=f"No file {path} either")
        raise SuiteError(unknown.message, path=document.path, line=document.line_of(place), hint=unknown.hint)
    return str(path.absolute())


def changed_axes(axes: Axes, reference: Axes, protocol: str) -> tuple[str, ...]:
    """The axes in which two settings differ; ``orders`` only where the protocol has orders."""
    shape = PROTOCOLS[protocol]
    idle = {"orders"} if shape.orders("both") == shape.orders("ab") else set()
    return tuple(
        axis
        for axis in _AXES
        if axis not in idle and canonical_json(getattr(axes, axis)) != canonical_json(getattr(reference, axis))
    )


def with_options(suite: Suite, votes: int | None, orders: str | None) -> dict[str, Variant]:
    """The variants with the options' votes and orders in the place of the defaults; a variant that changes one of them
    keeps its own. One that then differs from the reference in nothing has ``changed == ()``.
    """
    given: dict[str, Any] = {axis: value for axis, value in (("votes", votes), ("orders", orders)) if value is not None}
    reference = replace(suite.variants[REFERENCE].axes, **given)
    found = {}
    for name, variant in suite.variants.items():
        axes = replace(variant.axes, **{axis: value for axis, value in given.items() if axis not in variant.changed})
        found[name] = replace(variant, axes=axes, changed=changed_axes(axes, reference, suite.protocol))
    return found


class Lacking(NamedTuple):
    """The first idea that cannot be shown as a variant shows it; ``what`` it lacks."""

    instance: Instance
    idea: Idea
    what: str


def find_lacking(suite: Suite, variant: Variant) -> Lacking | None:
    """None if every idea has what the variant's ``format`` and ``granularity`` show."""
    wanted, granularity = variant.axes.format, variant.axes.granularity
    for instance in suite.instances:
        for idea in instance.ideas:
            if wanted != "text":
                what = "" if wanted in idea.renderings else f"rendering {wanted!r}"
            else:
                what = lacks(idea, granularity)
            if what:
                return Lacking(instance, idea, what)
    return None


def check_content(suite: Suite, variants: Iterable[Variant]) -> None:
    """Every idea can be shown as each of ``variants`` shows it. Raises SuiteError."""
    for variant in variants:
        if found := find_lacking(suite, variant):
            has = ", ".join(("text", *sorted(found.idea.renderings)))
            also = f" (it has {has})" if variant.axes.format != "text" else ""
            raise SuiteError(
                f"the {thing_of(suite.protocol)} {found.idea.id!r} has no {found.what}, "
                f"which the variant {variant.name!r} shows{also}",
                path=suite.path,
                line=None if suite.path.suffix in (".yaml", ".yml") else found.instance.line,
                instance=found.instance.id,
            )
