"""Write the two landmark suites from the texts in ``ideas/``.

``python suites/landmarks/build.py`` writes ``instances.jsonl`` of ``landmarks-pairwise`` (one pair per derivative idea)
and of ``landmarks-pointwise`` (one instance per idea): run it after every edit in ``ideas/``. With ``--check`` it
writes nothing and exits 1 if a committed file differs from what the texts give.

Nothing in an id or in an order follows from the label. What has to be arbitrary (letters, which idea of a pair comes
first) comes from a digest of the landmark's slug and the idea's place in its file, so that a file that is added later,
or a sentence that is mended, leaves every other id and order as it was. Two ideas of one file must not change places.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import yaml

SUITES: Final = Path(__file__).resolve().parents[1]
SALT: Final = "landmarks/94"
"""Of the salts tried, one that spreads the landmarks evenly over letters, positions and id order. Changing it
changes every id: never, once goldens exist."""

FIELDS: Final = {
    "artificial intelligence": (
        "computer vision",
        "information retrieval",
        "machine learning",
        "natural language processing",
    ),
    "computer systems": (
        "computer architecture",
        "databases",
        "distributed systems",
        "networking",
        "programming languages",
        "software engineering",
    ),
    "graphics and interaction": ("computer graphics", "human-computer interaction"),
    "natural sciences": (
        "bioinformatics",
        "cell biology",
        "electrochemistry",
        "geochronology",
        "geophysics",
        "medical imaging",
        "molecular biology",
        "neuroscience",
        "physics",
    ),
    "statistics and economics": ("economics", "signal processing", "statistics"),
    "theory and security": ("algorithms", "complexity theory", "cryptography", "data privacy", "quantum computing"),
}
"""Most areas hold one or two landmarks, too few for a figure of their own; a field holds at least four."""

_FIELD_OF: Final = {area: field for field, areas in FIELDS.items() for area in areas}


def load_landmarks(folder: Path = SUITES / "landmarks" / "ideas") -> list[dict[str, Any]]:
    """The files of ``folder``, by slug. Each holds one landmark idea and two derivative ones."""
    landmarks = [yaml.safe_load(path.read_text(encoding="utf-8")) for path in sorted(folder.glob("*.yaml"))]
    for landmark in landmarks:
        if landmark["area"] not in _FIELD_OF:
            raise SystemExit(
                f"{landmark['landmark']}.yaml: the area {landmark['area']!r} belongs to no field: add it to FIELDS"
            )
    return landmarks


def build_pointwise(landmarks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One instance per idea, ordered by id: ``<slug>.a`` to ``<slug>.c``, the letters shuffled."""
    rows = []
    for landmark in landmarks:
        shuffled = sorted(_ideas(landmark), key=lambda idea: _digest("letter", landmark["landmark"], idea["place"]))
        for letter, idea in zip("abc", shuffled, strict=True):
            gold = "novel" if idea["role"] == "landmark" else "not novel"
            row = {"id": f"{landmark['landmark']}.{letter}", "idea": _render_idea(idea, landmark), "gold": gold}
            rows.append(row | _render_context(landmark))
    return sorted(rows, key=lambda row: str(row["id"]))


def build_pairwise(landmarks: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """One instance per derivative, ordered by id: ``<slug>.1``, ``<slug>.2``; the landmark is first in one of them."""
    rows = []
    for landmark in landmarks:
        slug = landmark["landmark"]
        shuffled = sorted(_ideas(landmark), key=lambda idea: _digest("pair", slug, idea["place"]))
        best = next(idea for idea in shuffled if idea["role"] == "landmark")
        leads = int(_digest("first", slug), 16) % 2
        for number, other in enumerate(idea for idea in shuffled if idea is not best):
            pair = (best, other) if number == leads else (other, best)
            ideas = [_render_idea(idea, landmark) for idea in pair]
            row = {"id": f"{slug}.{number + 1}", "ideas": ideas, "gold": _idea_id(best, landmark)}
            rows.append(row | _render_context(landmark))
    return sorted(rows, key=lambda row: str(row["id"]))


def _ideas(landmark: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The ideas with their place in the file, by which they are known."""
    return (idea | {"place": str(place)} for place, idea in enumerate(landmark["ideas"]))


def _idea_id(idea: dict[str, Any], landmark: dict[str, Any]) -> str:
    """The same in both suites, so that verdicts on one idea can be joined."""
    return "x" + _digest("idea", landmark["landmark"], idea["place"])[:6]


def _digest(*parts: str) -> str:
    return hashlib.blake2b("\n".join((SALT, *parts)).encode(), digest_size=8).hexdigest()


def _render_context(landmark: dict[str, Any]) -> dict[str, Any]:
    year = landmark["year"]
    return {
        "as_of": f"{year - 1}-12-31",
        "strata": {
            "landmark": landmark["landmark"],
            "field": _FIELD_OF[landmark["area"]],
            "area": landmark["area"],
            "decade": f"{year // 10 * 10}s",
        },
    }


def _render_idea(idea: dict[str, Any], landmark: dict[str, Any]) -> dict[str, Any]:
    if idea["role"] == "landmark":
        source = "published"
        published = landmark["published"]
        metadata = {"published_title": published["title"], "authors": published["authors"]}
    else:
        source = "constructed"
        metadata = {"step_from": {key: idea["step_from"][key] for key in ("title", "year", "step")}}
    return {
        "id": _idea_id(idea, landmark),
        "title": idea["title"].strip(),
        "text": idea["text"].strip(),
        "area": landmark["area"],
        "year": landmark["year"],
        "source": source,
        "renderings": {"plan": {part: idea["plan"][part].strip() for part in ("purpose", "mechanism")}},
        "related_work": [
            {"title": work["title"], "year": work["year"], "text": work["text"].strip()}
            for work in idea["related_work"]
        ],
        "metadata": metadata,
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the files, or compare them. Returns the exit code."""
    parser = argparse.ArgumentParser(description="Write the landmark suites from the texts in ideas/.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 if a committed file differs")
    check = parser.parse_args(arguments).check
    landmarks = load_landmarks()
    differ = []
    for name, rows in (
        ("landmarks-pairwise", build_pairwise(landmarks)),
        ("landmarks-pointwise", build_pointwise(landmarks)),
    ):
        path = SUITES / name / "instances.jsonl"
        content = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
        if not check:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(content)
            print(f"{path}: {len(rows)} instances")
        elif not path.is_file() or path.read_bytes() != content:
            differ.append(path)
    for path in differ:
        print(f"{path} is not what the texts give: run python suites/landmarks/build.py", file=sys.stderr)
    return 1 if differ else 0


if __name__ == "__main__":
    raise SystemExit(main())
