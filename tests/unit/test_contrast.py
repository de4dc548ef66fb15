"""``contrast: system=ours/base``: read, and checked against the ideas."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_novelty.contrast import parse_contrast
from pytest_novelty.errors import NoveltyError, SuiteError
from pytest_novelty.model import Contrast, Idea
from pytest_novelty.suites import load_suite

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """A suite without labels whose instances hold ideas of the ``systems`` given (None: no system); contrast in line 7."""

    def write(contrast: str, *systems: Any, protocol: str = "pairwise") -> Path:
        def idea(name: str, system: str | None) -> dict[str, Any]:
            return {"id": name, "text": f"Text {name}.", **({"system": system} if system else {})}

        rows = []
        for number, system in enumerate(systems):
            if protocol == "pairwise":
                rows.append(
                    {
                        "id": f"i{number}",
                        "ideas": [idea(f"{number}{side}", one) for side, one in zip("xy", system, strict=True)],
                    }
                )
            else:
                rows.append({"id": f"i{number}", "idea": idea(f"i{number}", system)})
        (tmp_path / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
        (tmp_path / "suite.yaml").write_text(
            f"format: novelty-suite/1\nname: s\nversion: '1'\nprotocol: {protocol}\nlabel_kind: none\n"
            f"instances: rows.jsonl\ncontrast: {contrast}\n"
        )
        return tmp_path

    return write


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("system=ours/base", Contrast("system", "ours", "base")),
        (" generator = model 5.1 / model 4 ", Contrast("generator", "model 5.1", "model 4")),
        ("source=human/generated", Contrast("source", "human", "generated")),
        ("system=a=b/c", Contrast("system", "a=b", "c")),
    ],
)
def test_reading(text: str, expected: Contrast) -> None:
    assert parse_contrast(text) == expected


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("ours/base", "cannot read the contrast 'ours/base'. Write field=ours/base"),
        ("system=ours", "cannot read"),
        ("system=/base", "cannot read"),
        ("system=a/b/c", "cannot read"),
        ("", "cannot read"),
        ("sistem=ours/base", "unknown field in the contrast 'sistem=ours/base' 'sistem'. Did you mean 'system'"),
        ("text=a/b", "Known: generator, source, system"),
        ("system=a/a", "sets 'a' against itself"),
    ],
)
def test_what_cannot_be_read(text: str, told: str) -> None:
    with pytest.raises(NoveltyError) as caught:
        parse_contrast(text)
    assert told in str(caught.value)


def test_sides() -> None:
    contrast = Contrast("system", "ours", "base")
    assert [contrast.is_ours(Idea("x", "", "t", system=name)) for name in ("ours", "base", "other", None)] == [
        *(True, False, None, None)
    ]


def test_a_suite_with_a_contrast(write: Write) -> None:
    suite = load_suite(write("system=ours/base", ("ours", "base"), ("base", "ours")))
    assert suite.contrast == Contrast("system", "ours", "base")
    single = load_suite(write("system=ours/base", "ours", "base", "other", None, protocol="pointwise"))
    assert single.contrast == Contrast("system", "ours", "base")


@pytest.mark.parametrize(
    ("contrast", "systems", "instance", "told"),
    [
        ("system=ours/base", [("ours", "base"), ("ours", "ours")], "i1", "in every pair; here system is 'ours' and 'ours'"),
        ("system=ours/base", [("ours", None), ("ours", "base")], "i0", "here system is 'ours' and not given"),
        ("system=ours/base", [("ours", "base"), ("ours", "other")], "i1", "here system is 'ours' and 'other'"),
        ("system=ours/bass", [("ours", "base")], None, "unknown system in the contrast 'bass'. Did you mean 'base'"),
        ("system=ours/base", [(None, None)], None, "unknown system in the contrast 'ours'. Known: none"),
        ("generator=ours/base", [("ours", "base")], None, "unknown generator in the contrast 'ours'. Known: none"),
        ("sistem=ours/base", [("ours", "base")], None, "Did you mean 'system'"),
        ("ours", [("ours", "base")], None, "cannot read the contrast"),
    ],
)  # fmt: skip
def test_pairs_that_cannot_be_contrasted(
    contrast: str, systems: Any, instance: str | None, told: str, write: Write
) -> None:
    with pytest.raises(SuiteError) as caught:
        load_suite(write(contrast, *systems))
    assert told in str(caught.value)
    assert (Path(str(caught.value.path)).name, caught.value.line, caught.value.instance) == ("suite.yaml", 7, instance)


def test_single_ideas_must_come_from_both(write: Write) -> None:
    with pytest.raises(SuiteError, match="unknown system in the contrast 'base'. Known: other, ours"):
        load_suite(write("system=ours/base", "ours", "other", protocol="pointwise"))
