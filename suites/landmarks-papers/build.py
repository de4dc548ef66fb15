"""Write the suites on what landmark papers share, from the texts in this folder.

``python landmarks-papers/build.py`` writes ``papers.jsonl`` here and the ``instances.jsonl`` of ``landmarks-similarity``,
``landmarks-similarity-full``, ``landmarks-grouping`` and ``landmarks-entailment`` beside it: run it after every edit. With
``--check`` it writes nothing and exits 1 if a committed file differs from what the texts give.

What is arbitrary (which paper of a pair comes first, the order of a set, the ids of the entailment suite) comes from a digest
of what the instance is about, so that a text that is mended or an instance that is added leaves every other id and order as it
was. No label follows from any of them.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any, Final

import yaml

from pytest_novelty.sections import find_introduction, split_sections
from pytest_novelty.verdicts import DIMENSIONS

HERE: Final = Path(__file__).resolve().parent
SUITES: Final = HERE.parent
IDEAS: Final = SUITES / "landmarks" / "ideas"
"""Where the landmarks' years, areas and published titles stand."""

SAME: Final = "same"
SALT: Final = "papers/0"

Paper = dict[str, Any]
Row = dict[str, Any]


@lru_cache(maxsize=32)
def _read(name: str) -> Any:
    return yaml.safe_load((HERE / name).read_text(encoding="utf-8"))


# --- papers -------------------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def load_sentences() -> dict[str, dict[str, str]]:
    """The sentences of each paper's abstract, by their names."""
    return {paper["id"]: paper["says"] for paper in _sources()}


@lru_cache(maxsize=1)
def load_papers() -> dict[str, Paper]:
    """The papers as a suite shows them, by id; a few have an introduction and a full text."""
    papers = {}
    for source in _sources():
        published = _published(source)
        paper = {
            "id": source["id"],
            "title": source["title"],
            "abstract": " ".join(source["says"].values()),
            "year": published["year"],
            "area": published["area"],
            "metadata": {"published_title": published["title"], "authors": published["authors"]},
        }
        text = HERE / "texts" / f"{source['id']}.md"
        if text.is_file():
            full = text.read_text(encoding="utf-8").strip()
            paper |= {"introduction": find_introduction(split_sections(full)), "full_text": full}
        papers[source["id"]] = paper
    return papers


def _sources() -> Iterator[dict[str, Any]]:
    for path in sorted((HERE / "abstracts").glob("*.yaml")):
        yield from _read(f"abstracts/{path.name}")


def _published(source: Mapping[str, Any]) -> dict[str, Any]:
    if "landmark" not in source:
        return {"year": source["year"], "area": source["area"], **source["published"]}
    landmark = yaml.safe_load((IDEAS / f"{source['landmark']}.yaml").read_text(encoding="utf-8"))
    return {"year": landmark["year"], "area": landmark["area"], **landmark["published"]}


def _shown(name: str, *, whole: bool = False) -> Paper:
    left_out = () if whole else ("introduction", "full_text")
    return {key: value for key, value in load_papers()[name].items() if key not in left_out}


def _spans(name: str, keys: str | Sequence[str]) -> str:
    """The sentences that ``keys`` names, in their order; an ellipsis stands where others between them are left out."""
    sentences = load_sentences()[name]
    wanted = _keys(keys)
    places = [list(sentences).index(key) for key in wanted]
    if places != sorted(places):
        raise SystemExit(f"{name}: the sentences {wanted} are not in the order of the abstract")
    span = sentences[wanted[0]]
    for before, place in pairwise(places):
        span += (" " if place == before + 1 else " ... ") + list(sentences.values())[place]
    return span


# --- labels -------------------------------------------------------------------------------------------------


def shared_by(dimension: str, one: str, other: str) -> dict[str, Any] | None:
    """The first entry of shared.yaml that holds both papers; None if none does."""
    for entry in _read("shared.yaml")[dimension]:
        if one in entry["members"] and other in entry["members"]:
            return dict(entry)
    return None


def is_unclear(dimension: str, one: str, other: str) -> bool:
    return {one, other} in [set(pair) for pair in _read("unclear.yaml")[dimension]]


def groups_of(dimension: str, names: Sequence[str]) -> list[list[str]]:
    """The groups of a set, in its order. SystemExit where a pair is unclear or a paper would belong to two groups."""
    for one, other in combinations(names, 2):
        if is_unclear(dimension, one, other):
            raise SystemExit(f"unclear.yaml has {one} and {other} in {dimension}: no set may hold both")
    groups: list[list[str]] = []
    for name in names:
        group = [other for other in names if other == name or shared_by(dimension, name, other)]
        if len(group) > 1 and group not in groups:
            groups.append(group)
    members = [name for group in groups for name in group]
    if len(members) != len(set(members)):
        raise SystemExit(f"a paper of {', '.join(names)} belongs to two groups in {dimension}: {groups}")
    return groups


def find_chains(dimension: str) -> set[tuple[str, str, str]]:
    """Where similar is not transitive: the paper in the middle between the other two, these in the order of their names.

    The middle paper is similar to both by one and the same sentence and they are not similar to each other; or it is similar to
    one, its case with the other is unclear, and these two are labelled as not similar.
    """
    entries = [entry["members"] for entry in _read("shared.yaml")[dimension]]
    chains = set()
    for one, other in combinations(entries, 2):
        for middle in one.keys() & other.keys():
            if set(_keys(one[middle])) & set(_keys(other[middle])):
                ends = ((a, b) for a in one.keys() - {middle} for b in other.keys() - {middle})
                chains |= {_chain(a, middle, b) for a, b in ends if a != b and not shared_by(dimension, a, b)}
    different = _labelled_different(dimension)
    for unclear in _read("unclear.yaml")[dimension]:
        for middle, other in (unclear, unclear[::-1]):
            near = {name for members in entries if middle in members for name in members} - {middle}
            chains |= {_chain(name, middle, other) for name in near if frozenset((name, other)) in different}
    return chains


def _labelled_different(dimension: str) -> set[frozenset[str]]:
    asked = [pair["of"] for pair in _read("pairs.yaml") if pair.get(dimension, SAME) != SAME]
    for given in _read("sets.yaml"):
        if dimension in given["dimensions"]:
            asked += combinations(given["of"], 2)
    return {frozenset(pair) for pair in asked if not shared_by(dimension, *pair)}


def _chain(one: str, middle: str, other: str) -> tuple[str, str, str]:
    return (min(one, other), middle, max(one, other))


def check_chains() -> None:
    """SystemExit where a chain is not explained in chains.yaml or does not exist, or a pair is both similar and unclear."""
    for dimension in DIMENSIONS:
        for one, other in _read("unclear.yaml")[dimension]:
            if shared_by(dimension, one, other):
                raise SystemExit(
                    f"unclear.yaml has {one} and {other} in {dimension}, and so has an entry of shared.yaml"
                )
        told = {_chain(*given["of"]) for given in _read("chains.yaml")[dimension]}
        for one, middle, other in sorted(find_chains(dimension) ^ told):
            what = "does not exist" if (one, middle, other) in told else "is not explained"
            raise SystemExit(
                f"chains.yaml: the chain from {one} over {middle} to {other} in {dimension} {what}: say there why "
                f"{middle} goes with both and they do not with each other, or mend shared.yaml, unclear.yaml or chains.yaml"
            )


def _keys(keys: str | Sequence[str]) -> list[str]:
    return [keys] if isinstance(keys, str) else list(keys)


# --- suites -------------------------------------------------------------------------------------------------


def build_similarity(*, full: bool = False) -> list[Row]:
    """One instance per pair and dimension asked about; ``full``: the pairs whose papers both have a full text."""
    rows = []
    for pair in _read("pairs.yaml"):
        both_full = all("full_text" in load_papers()[name] for name in pair["of"])
        if both_full if full else "only" not in pair:
            rows += [_similarity(pair, dimension, full) for dimension in DIMENSIONS if dimension in pair]
    return sorted(rows, key=lambda row: str(row["id"]))


def _similarity(pair: Mapping[str, Any], dimension: str, full: bool) -> Row:
    names = sorted(pair["of"])
    first, second = sorted(names, key=lambda name: _digest("order", *names, name))
    entry = shared_by(dimension, first, second)
    same = pair[dimension] == SAME
    if same != (entry is not None) or is_unclear(dimension, first, second):
        raise SystemExit(
            f"pairs.yaml says {pair[dimension]!r} of {first} and {second} in {dimension}: shared.yaml differs"
        )
    if entry is not None:
        evidence = {name: _spans(name, entry["members"][name]) for name in (first, second)}
        why: dict[str, Any] = {"shared": entry["says"], "evidence": evidence}
    else:
        why = _difference(pair["of"], pair[dimension])
    return {
        "id": f"{first}-{second}.{dimension}",
        "papers": [_shown(name, whole=full) for name in (first, second)],
        "dimension": dimension,
        "gold": same,
        "strata": {"pair": "-".join(names), **_strata(names)},
        "metadata": why,
    }


def _difference(names: Sequence[str], note: str) -> dict[str, Any]:
    """What either paper has in a dimension, from a note such as ``faces / sequences; why that does not count as similar``."""
    each, _, why = note.partition("; ")
    if each.count(" / ") != 1:
        raise SystemExit(f"pairs.yaml must say what {' and '.join(names)} have, as one / other, and says {note!r}")
    return {"differ": dict(zip(names, each.split(" / "), strict=True))} | ({"why": why} if why else {})


def build_grouping() -> list[Row]:
    """One instance per set and dimension asked about."""
    rows = []
    for given in _read("sets.yaml"):
        names = sorted(given["of"], key=lambda name: _digest("set", given["name"], name))
        for dimension in given["dimensions"]:
            groups = groups_of(dimension, names)
            rows.append(
                {
                    "id": f"{given['name']}.{dimension}",
                    "papers": [_shown(name) for name in names],
                    "dimension": dimension,
                    "gold": groups,
                    "strata": {"set": given["name"], "papers": len(names), "groups": len(groups)},
                    "metadata": {"groups": [_group(dimension, group) for group in groups]},
                }
            )
    return sorted(rows, key=lambda row: str(row["id"]))


def _group(dimension: str, group: Sequence[str]) -> dict[str, Any]:
    entry = next(entry for entry in _read("shared.yaml")[dimension] if set(group) <= set(entry["members"]))
    return {"shared": entry["says"], "evidence": {name: _spans(name, entry["members"][name]) for name in group}}


def build_entailment() -> list[Row]:
    """Two instances per pair of spans: a reason that they support, and one that they do not."""
    rows = []
    for given in _read("reasons.yaml"):
        names = list(given["spans"])
        base = _digest("reason", given["dimension"], *names)
        for kind in (key for key in given if key not in ("spans", "dimension")):
            side = int(_digest("side", base), 16) + (kind == "supported")
            rows.append(
                {
                    "id": f"{base[:6]}.{'ab'[side % 2]}",
                    "dimension": given["dimension"],
                    "conclusion": "similar",
                    "evidence_a": _spans(names[0], given["spans"][names[0]]),
                    "evidence_b": _spans(names[1], given["spans"][names[1]]),
                    "reason": given[kind],
                    "gold": kind == "supported",
                    "strata": {"spans": base[:6], "kind": kind},
                    "metadata": {"papers": names},
                }
            )
    return sorted(rows, key=lambda row: str(row["id"]))


def _strata(names: Iterable[str]) -> dict[str, Any]:
    papers = [load_papers()[name] for name in names]
    landmarks = [source["id"] for source in _sources() if "landmark" in source]
    return {
        "areas": "same" if len({paper["area"] for paper in papers}) == 1 else "different",
        "decade": f"{max(paper['year'] for paper in papers) // 10 * 10}s",
        "landmarks": sum(paper["id"] in landmarks for paper in papers),
    }


def _digest(*parts: str) -> str:
    return hashlib.blake2b("\n".join((SALT, *parts)).encode(), digest_size=8).hexdigest()


# --- files --------------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files, or compare them. Returns the exit code."""
    parser = argparse.ArgumentParser(description="Write the suites on what landmark papers share.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a committed file differs")
    check = parser.parse_args(arguments).check
    files = {
        HERE / "papers.jsonl": sorted(load_papers().values(), key=lambda paper: str(paper["id"])),
        SUITES / "landmarks-similarity" / "instances.jsonl": build_similarity(),
        SUITES / "landmarks-similarity-full" / "instances.jsonl": build_similarity(full=True),
        SUITES / "landmarks-grouping" / "instances.jsonl": build_grouping(),
        SUITES / "landmarks-entailment" / "instances.jsonl": build_entailment(),
    }
    check_chains()
    differ = []
    for path, rows in files.items():
        content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
            print(f"{path}: {len(rows)} lines")
        elif not path.is_file() or path.read_bytes() != content:
            differ.append(path)
    for path in differ:
        print(f"{path} is not what the texts give: run python {HERE.name}/build.py", file=sys.stderr)
    return 1 if differ else 0


if __name__ == "__main__":
    raise SystemExit(main())
