"""``pytest-novelty suite new``: a user's own ideas as a suite without labels, with its pairs chosen by a design."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, islice
from pathlib import Path
from typing import Any, Final

from pytest_novelty.contrast import parse_contrast
from pytest_novelty.designs import (
    COMPLETE,
    RANDOM,
    TRIADS,
    Pair,
    complete_pairs,
    crossed_pairs,
    place_first,
    random_pairs,
    shuffled,
    triads,
)
from pytest_novelty.errors import NoveltyError, SettingsError, SuiteError
from pytest_novelty.ideas import read_ideas
from pytest_novelty.model import REFERENCE, Contrast, Json
from pytest_novelty.own_ideas import (
    OwnIdea,
    count_of,
    group_ideas,
    is_of_neither,
    merge_ideas,
    set_on_sides,
    stratum_of,
)
from pytest_novelty.suites import load_suite, name_of_suite
from pytest_novelty.variants import is_variant_name

DEFAULT_SAMPLE: Final = 60
_MOST_PAIRS: Final = 100_000
_LISTED: Final = 5
_SMALLEST: Final = {RANDOM: 2, COMPLETE: 2, TRIADS: 3}
"""Ideas that a group must have."""
_WORDINGS: Final = {"pairwise": ("p1", "p2", "p3", "p4", "p5"), "pointwise": ("p1", "p2")}


@dataclass(frozen=True, slots=True)
class Wish:
    """What a suite is to be made of. ``sample``: pairs (pointwise: ideas), None for the default; ``out``: None for ./name;
    ``name``: None for that of ``out``, else of the source.
    """

    source: Path
    protocol: str = "pairwise"
    design: str | None = None
    sample: int | None = None
    pair_by: str | None = None
    contrast: str | None = None
    seed: int = 0
    name: str | None = None
    out: Path | None = None


@dataclass(slots=True)
class _Made:
    rows: list[dict[str, Json]]
    design: dict[str, Json]
    said: list[str] = field(default_factory=list)


def make_new_suite(wish: Wish, *, where: Path) -> list[str]:
    """Write the suite; ``where`` is the folder that relative paths start from. What is to be said of it, in lines.

    Raises SettingsError or SuiteError, and then nothing is written.
    """
    if wish.protocol == "pointwise":
        _refuse_designs(wish)
    source = where / wish.source
    if not source.exists():
        raise SettingsError(f"--from is {str(wish.source)!r}, and there is no such file or folder")
    if (source / "suite.yaml").is_file() or source.suffix in (".yaml", ".yml"):
        raise SettingsError(
            f"--from is {str(wish.source)!r}, which is a suite already", hint="Give an ideas.jsonl or a folder of texts"
        )
    if source.is_file() and source.suffix != ".jsonl":
        raise SettingsError(
            f"--from is {str(wish.source)!r}, one file of another kind", hint="Give an ideas.jsonl or a folder of texts"
        )
    name = name_of_suite(wish.name if wish.name is not None else _default_name(source, wish, where))
    if wish.name is not None and name != wish.name:
        raise SettingsError(f"--name is {wish.name!r}", hint=f"A suite may be called {name!r}: lower case, no blanks")
    out = where / (wish.out or name)
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise SettingsError(f"{out} exists already", hint="Name another folder with --out; nothing is overwritten")
    found = read_ideas(source)
    ideas, said = merge_ideas(found)
    if not ideas:
        raise SuiteError("has no ideas: neither an ideas.jsonl nor any .txt or .md file", path=source)
    said.insert(0, f"{count_of(len(found), 'idea')} read from {wish.source}")
    made = _choose_ideas(ideas, wish) if wish.protocol == "pointwise" else _choose_pairs(ideas, wish)
    _write(out, _head(name, wish, made), made.rows)
    shown = os.path.relpath(out, where) if out.is_relative_to(where) else str(out)
    return [*said, *made.said, f"written: {shown}, without labels", *_next_steps(shown)]


def _default_name(source: Path, wish: Wish, where: Path) -> str:
    """The name of the folder to make; the ideas' own with the protocol, where no folder is named."""
    if wish.out is not None:
        return (where / wish.out).resolve().name
    path = source.resolve()
    return f"{path.stem if source.is_file() else path.name}-{wish.protocol}"


def _refuse_designs(wish: Wish) -> None:
    for option, value in (("--design", wish.design), ("--pair-by", wish.pair_by)):
        if value is not None:
            raise SettingsError(f"{option} chooses pairs, and a pointwise suite has none", hint=f"Leave {option} out")


def _choose_ideas(ideas: Sequence[OwnIdea], wish: Wish) -> _Made:
    by_id = {idea.id: idea for idea in ideas}
    contrast = None if wish.contrast is None else parse_contrast(wish.contrast)
    if contrast is not None:
        set_on_sides({"": list(by_id)}, by_id, contrast, None)
    chosen = shuffled(by_id, wish.seed)
    if wish.sample is not None:
        if wish.sample > len(chosen):
            raise SettingsError(f"--sample is {wish.sample}, and there are {count_of(len(chosen), 'idea')}")
        chosen = chosen[: wish.sample]
    rows = [{"id": name, "idea": by_id[name].as_row()} for name in chosen]
    design = {"kind": "all" if len(chosen) == len(ideas) else "sample", "ideas": len(chosen), "of": len(ideas)}
    said = [] if len(chosen) == len(ideas) else [f"{count_of(len(chosen), 'idea')} of {len(ideas)} chosen"]
    if contrast is not None:
        ((ours, base),) = set_on_sides({"": chosen}, by_id, contrast, None, among="in the sample")
        said.append(
            f"{wish.contrast} compares {count_of(len(ours), 'idea')} of {contrast.ours!r} with {len(base)} of {contrast.base!r}"
        )
        said += _tell_neither([by_id[name] for name in chosen], contrast, "is judged, and left out of the contrast")
    return _Made(rows, {**design, "seed": wish.seed}, said)


# --- pairs --------------------------------------------------------------------------------------------------


def _choose_pairs(ideas: Sequence[OwnIdea], wish: Wish) -> _Made:
    by_id = {idea.id: idea for idea in ideas}
    kind = wish.design or RANDOM
    groups = group_ideas(ideas, wish.pair_by)
    if wish.contrast is None:
        _check_groups(groups, kind, wish.pair_by)
        possible = sum(len(group) * (len(group) - 1) // 2 for group in groups.values())
        blocks = _choose_blocks(kind, list(groups.values()), wish, _wanted_pairs(kind, wish.sample, possible))
    else:
        if kind == TRIADS:
            raise SettingsError(
                "--contrast pairs ideas of two systems, and of three ideas two are of one system",
                hint="Choose --design random or complete",
            )
        sides = set_on_sides(groups, by_id, parse_contrast(wish.contrast), wish.pair_by)
        possible = sum(len(ours) * len(base) for ours, base in sides)
        blocks = list(islice(crossed_pairs(sides, wish.seed), _wanted_pairs(kind, wish.sample, possible)))
    rows = _pair_rows(blocks, by_id, wish)
    design = {"kind": kind, "ideas": len(ideas), "pairs": len(rows), "of": possible, "seed": wish.seed}
    design |= {"triads": len(blocks)} if kind == TRIADS else {}
    design |= {"pair_by": wish.pair_by} if wish.pair_by else {}
    return _Made(rows, design, _tell_pairs(rows, blocks, ideas, possible, wish))


def _choose_blocks(kind: str, groups: Sequence[Sequence[str]], wish: Wish, wanted: int) -> Sequence[tuple[str, ...]]:
    """The pairs, or the triads that hold them."""
    if kind != TRIADS:
        make = complete_pairs if kind == COMPLETE else random_pairs
        return list(islice(make(groups, wish.seed), wanted))
    found = list(islice(triads(groups, wish.seed), wanted // 3))
    if len(found) < wanted // 3 and wish.sample is not None:
        raise SettingsError(
            f"--sample is {wish.sample}, and {len(found)} triads without a common pair were found",
            hint=f"Ask for --sample {3 * len(found)} at most",
        )
    return found


def _wanted_pairs(kind: str, sample: int | None, possible: int) -> int:
    if kind == COMPLETE:
        if sample is not None:
            raise SettingsError(f"--design complete makes all {possible:,} pairs", hint="Leave --sample out")
        if possible > _MOST_PAIRS:
            raise SettingsError(
                f"--design complete would make {possible:,} pairs", hint="Choose --design random with --sample"
            )
        return possible
    wanted = min(DEFAULT_SAMPLE, possible) if sample is None else sample
    if wanted > possible:
        raise SettingsError(f"--sample is {wanted}, and there are {count_of(possible, 'pair')} only")
    if wanted > _MOST_PAIRS:
        raise SettingsError(f"--sample is {wanted}", hint=f"Choose {_MOST_PAIRS:,} pairs at most")
    if kind == TRIADS and wanted < 3:
        raise SettingsError(f"--sample is {wanted}, and a triad has three pairs")
    return wanted


def _check_groups(groups: Mapping[str, Sequence[str]], kind: str, pair_by: str | None) -> None:
    needed = _SMALLEST[kind]
    small = {name: len(group) for name, group in groups.items() if len(group) < needed}
    if not small:
        return
    what = "a triad takes three ideas" if needed == 3 else "a pair takes two ideas"
    if pair_by is None:
        raise SettingsError(f"{what}, and there {'is one' if len(groups['']) == 1 else 'are two'}")
    listed = ", ".join(f"{name!r} ({count})" for name, count in list(small.items())[:_LISTED])
    more = f" and {len(small) - _LISTED} more" if len(small) > _LISTED else ""
    raise SettingsError(
        f"{what}, and too few have the {pair_by} {listed}{more}",
        hint="Add ideas to these, or leave them out, or pair without --pair-by",
    )


def _pair_rows(blocks: Sequence[tuple[str, ...]], by_id: Mapping[str, OwnIdea], wish: Wish) -> list[dict[str, Json]]:
    strata: dict[frozenset[str], dict[str, Json]] = {}
    pairs: list[Pair] = []
    width = len(str(len(blocks)))
    for number, block in enumerate(blocks, 1):
        for pair in combinations(block, 2):
            own = {wish.pair_by: stratum_of(by_id[pair[0]].get(wish.pair_by))} if wish.pair_by else {}
            strata[frozenset(pair)] = own | ({"triad": f"t{number:0{width}}"} if len(block) == 3 else {})
            pairs.append((pair[0], pair[1]))
    return [
        {
            "id": "-".join(sorted(pair)),
            "ideas": [by_id[name].as_row() for name in pair],
            **({"strata": strata[frozenset(pair)]} if strata[frozenset(pair)] else {}),
        }
        for pair in place_first(pairs, wish.seed)
    ]


def _tell_pairs(
    rows: Sequence[Mapping[str, Any]],
    blocks: Sequence[tuple[str, ...]],
    ideas: Sequence[OwnIdea],
    possible: int,
    wish: Wish,
) -> list[str]:
    count = dict.fromkeys((idea.id for idea in ideas), 0)
    for row in rows:
        for idea in row["ideas"]:
            count[idea["id"]] += 1
    used = [number for number in count.values() if number]
    each = f"{min(used)}" if min(used) == max(used) else f"{min(used)} to {max(used)}"
    what = f"{count_of(len(blocks), 'triad')}, " if wish.design == TRIADS else ""
    within = f" within the same {wish.pair_by}" if wish.pair_by else ""
    unused = len(count) - len(used)
    said = [
        f"{what}{count_of(len(rows), 'pair')} of {possible:,} possible{within}, each idea {'used ' if unused else ''}in {each}"
    ]
    contrast = None if wish.contrast is None else parse_contrast(wish.contrast)
    neither = [] if contrast is None else [idea for idea in ideas if is_of_neither(idea, contrast)]
    if unused > len(neither):
        said.append(f"{count_of(unused - len(neither), 'idea')} in no pair: a larger --sample has them")
    if contrast is not None:
        said += _tell_neither(neither, contrast, "is in no pair")
    return said


def _tell_neither(ideas: Sequence[OwnIdea], contrast: Contrast, what: str) -> list[str]:
    """How many of the ideas are of neither side, what becomes of them, and which they are, by their sides."""
    found: dict[str, list[str]] = {}
    for idea in ideas:
        if is_of_neither(idea, contrast):
            value = idea.value.get(contrast.field)
            own = f"without {contrast.field}" if value is None else f"{contrast.field} {value!r}"
            found.setdefault(own, []).append(idea.origins[0])
    count = sum(map(len, found.values()))
    if not count:
        return []
    listed = [
        f"{', '.join(names[:_LISTED])}{f' and {len(names) - _LISTED} more' if len(names) > _LISTED else ''} ({own})"
        for own, names in sorted(found.items())
    ]
    plural = what.replace("is ", "are ", 1) if count > 1 else what
    return [f"{count_of(count, 'idea')} of neither side {plural}: {'; '.join(listed)}"]


# --- writing ------------------------------------------------------------------------------------------------


def _head(name: str, wish: Wish, made: _Made) -> str:
    """The text of suite.yaml. JSON values are YAML, too."""
    noun = "pairs of ideas" if wish.protocol == "pairwise" else "ideas"
    shown = [idea for row in made.rows for idea in (row["ideas"] if "ideas" in row else [row["idea"]])]
    works = any(idea.get("related_work") for idea in shown)
    variants = _variants(wish.protocol, shown, works)
    defaults = {"votes": 3, **({"orders": "both"} if wish.protocol == "pairwise" else {}), "related_work": works}
    lines = [
        "format: novelty-suite/1",
        f"name: {json.dumps(name)}",
        "version: 1.0.0",
        f"protocol: {wish.protocol}",
        f"title: {len(made.rows)} {noun} without labels",
        "label_kind: none",
        f"defaults: {_flow(defaults)}",
        "variants:",
        *(f"  {variant}: {_flow(changes)}" for variant, changes in variants.items()),
    ]
    if wish.design == TRIADS:
        lines += ["# The pairs of a triad share their ideas.", "cluster: triad"]
    if wish.contrast is not None:
        lines.append(f"contrast: {_flow(wish.contrast)}")
    lines += [f"metadata: {_flow({'design': made.design})}", "instances: instances.jsonl", ""]
    return "\n".join(lines)


def _variants(protocol: str, shown: Sequence[Mapping[str, Json]], works: bool) -> dict[str, Json]:
    """What the ideas can be asked under: each wording, and whatever else they have."""
    variants: dict[str, Json] = {
        wording.upper(): {"prompt": f"{protocol}/{wording}"} for wording in _WORDINGS[protocol]
    }
    if works:
        variants |= {"related": {"prompt": f"{protocol}/related"}, "no-related": {"related_work": False}}
    variants["single-vote"] = {"votes": 1}
    for name in sorted(set.intersection(*(set(idea.get("renderings", {})) for idea in shown))):
        if is_variant_name(name) and name not in (*variants, REFERENCE, "text"):
            variants[name] = {"format": name}
    return variants


def _flow(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)


def _write(out: Path, head: str, rows: Sequence[Mapping[str, Json]]) -> None:
    """Write beside, load what was written, and only then put it in its place."""
    beside = out.with_name(f".{out.name}.new-{os.getpid()}")
    try:
        beside.mkdir(parents=True)
        (beside / "suite.yaml").write_text(head, encoding="utf-8", errors="backslashreplace")
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (beside / "instances.jsonl").write_text(lines, encoding="utf-8")
        load_suite(beside)
        if out.is_dir():
            for file in beside.iterdir():
                file.replace(out / file.name)
        else:
            beside.replace(out)
    except OSError as error:
        raise SuiteError(f"cannot be written: {error.strerror}", path=out) from None
    except NoveltyError as error:  # the file that it names will be gone
        raise SuiteError(error.message, instance=error.instance, hint=error.hint) from None
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _next_steps(shown: str) -> list[str]:
    command = f"pytest --novelty-judge=NAME --novelty-suite={shown}"
    return [
        f"see what it takes: {command} --novelty-dry-run",
        f"judge:             {command}",
        f"and reworded:      {command} --novelty-variant=all",
    ]
