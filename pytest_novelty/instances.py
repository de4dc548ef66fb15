"""Rows of a suite -> instances: the schema first, then what a schema cannot say."""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pytest_novelty.digests import digest_of
from pytest_novelty.errors import NoveltyError, Problems, SuiteError, nearest
from pytest_novelty.model import ABSTAINED, INCOMPLETE, INVALID, TIE, Conclusion, Idea, Instance, Json, Work
from pytest_novelty.protocols import PROTOCOLS
from pytest_novelty.validation import compile_check, explain_all, load_schema


def load_instances(
    rows: Iterable[tuple[int | None, Json]],
    path: Path,
    protocol: str,
    *,
    labelled: bool,
    problems: Problems | None = None,
) -> tuple[Instance, ...]:
    """Raises SuiteError for whatever is wrong with the rows, beside the ``problems`` of reading them: all of it at once."""
    problems = problems or Problems()
    schema = {"$ref": f"#/$defs/{protocol}", "$defs": load_schema("instance")["$defs"]}
    fits = compile_check(schema)
    instances: list[Instance] = []
    seen: dict[str, int | None] = {}
    for line, row in rows:
        row_id = str(row["id"]) if isinstance(row, dict) and isinstance(row.get("id"), (str, int)) else None
        if not fits(row):
            for sentence, _ in explain_all(row, schema):
                problems.add(SuiteError(sentence, path=path, line=line, instance=row_id))
            continue
        try:
            instance = _instance(row, path, line, protocol, labelled)
        except NoveltyError as error:
            problems.add(error)
            continue
        if instance.id in seen:
            problems.add(
                SuiteError(
                    f"the id {instance.id!r} occurs twice (first in line {seen[instance.id]})",
                    path=path,
                    line=line,
                    instance=instance.id,
                )
            )
        seen.setdefault(instance.id, line)
        instances.append(instance)
    problems.raise_any()
    if not instances:
        raise SuiteError("has no instances", path=path)
    return tuple(instances)


def _instance(row: Mapping[str, Any], path: Path, line: int | None, protocol: str, labelled: bool) -> Instance:
    name = str(row["id"])

    def wrong(message: str, hint: str | None = None) -> SuiteError:
        return SuiteError(message, path=path, line=line, instance=name, hint=hint)

    shared = _works(row.get("related_work", ()))
    raw_ideas = [row["idea"]] if "idea" in row else row.get("ideas") or row.get("papers") or []
    ideas = tuple(_idea(raw, name if len(raw_ideas) == 1 else None, shared) for raw in raw_ideas)
    ids = [idea.id for idea in ideas]
    if "" in ids:
        raise wrong("an idea of a pair has no id", "Give each idea an id: gold names one of them")
    if len(set(ids)) != len(ids):
        twice = next(name for name in ids if ids.count(name) > 1)
        raise wrong(f"two {'papers' if 'papers' in row else 'ideas'} have the id {twice!r}")
    if reserved := {TIE, ABSTAINED, INCOMPLETE, INVALID} & set(ids):
        raise wrong(f"no idea may have the id {min(reserved)!r}, which is the label of an outcome", "Rename the idea")
    given = row.get("gold")
    if given is None and labelled:
        raise wrong("has no gold label", "Add gold, or say label_kind: none in suite.yaml")
    if given is not None and not labelled:
        raise wrong(
            "has a gold label although the suite says label_kind: none", "Say how the labels were made in label_kind"
        )
    gold = None if given is None else PROTOCOLS[protocol].read_gold(given, ids)
    if given is not None and gold is None:
        raise wrong(*_no_label(given, protocol, ids))
    as_of = row.get("as_of")
    if as_of is not None:
        try:
            date = dt.date.fromisoformat(as_of)
        except ValueError:
            raise wrong(f"as_of {as_of!r} is not a date", "Write it as YYYY-MM-DD") from None
        for idea in ideas:
            for work in idea.related_work:
                if work.year is not None and work.year > date.year:
                    raise wrong(f"the earlier work {work.title!r} is of {work.year}, after as_of {as_of}")
    strata = {key: _stratum(value) for key, value in row.get("strata", {}).items()}
    if "dimension" in row:  # the dimension of papers and reasons is a stratum like any that a suite declares
        if "dimension" in strata:
            raise wrong(
                "declares a stratum 'dimension', which every instance of papers has of itself",
                "Give that stratum another name",
            )
        strata["dimension"] = row["dimension"]
    return Instance(
        id=name,
        ideas=ideas,
        gold=gold,
        as_of=as_of,
        strata=strata,
        labels=tuple(row.get("labels", ())),
        metadata=row.get("metadata", {}),
        line=line,
        dimension=row.get("dimension", ""),
        conclusion=_conclusion(row) if "conclusion" in row else None,
    )


def _no_label(given: Json, protocol: str, ids: list[str]) -> tuple[str, str | None]:
    """What is wrong with a gold label, and what may have been meant."""
    allowed = PROTOCOLS[protocol].gold_labels(ids)
    if not allowed:
        return (
            f"gold is {given!r:.100}, which is no partition of its papers",
            f"Name papers by id ({', '.join(ids)}), each in one group at most",
        )
    close = nearest(str(given), allowed)
    listed = ", ".join(map(repr, allowed))
    return f"gold is {given!r}, which is none of {listed}", f"Did you mean {close!r}?" if close else None


def _conclusion(row: Mapping[str, Any]) -> Conclusion:
    return Conclusion(row["conclusion"], (row["evidence_a"], row["evidence_b"]), row["reason"])


def _stratum(value: Json) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _idea(raw: Mapping[str, Any], default_id: str | None, shared: tuple[Work, ...]) -> Idea:
    return Idea(
        id=str(raw["id"]) if "id" in raw else default_id or "",
        title=raw.get("title", ""),
        text=raw["text"] if "text" in raw else raw["abstract"],
        area=raw.get("area"),
        year=raw.get("year"),
        source=raw.get("source"),
        generator=raw.get("generator"),
        system=raw.get("system"),
        renderings={name: _rendering(value) for name, value in raw.get("renderings", {}).items()},
        related_work=(*_works(raw.get("related_work", ())), *shared),
        metadata=raw.get("metadata", {}),
        full_text=raw.get("full_text", ""),
        introduction=raw.get("introduction", ""),
    )


def _rendering(value: str | Mapping[str, str]) -> str:
    """A rendering given as named parts becomes paragraphs that name them."""
    if isinstance(value, str):
        return value
    return "\n\n".join(f"{name.capitalize()}: {text}" for name, text in value.items())


def _works(raw: Iterable[Mapping[str, Any]]) -> tuple[Work, ...]:
    return tuple(Work(work["title"], work.get("text", ""), work.get("year")) for work in raw)


def instance_digest(instance: Instance, cluster: str | None) -> str:
    """Of everything of an instance that a verdict or a metric may depend on: ideas, date, gold label, cluster, what is asked."""
    ideas = [
        [
            idea.id,
            idea.title,
            idea.text,
            idea.full_text,
            dict(idea.renderings),
            [[work.title, work.text, work.year] for work in idea.related_work],
            *([idea.introduction] if idea.introduction else []),
        ]
        for idea in instance.ideas
    ]
    asked = asked_of(instance.dimension, instance.conclusion)
    return digest_of([ideas, instance.as_of, instance.gold, cluster, *asked], 8)


def check_pairs(instances: Iterable[Instance], path: Path) -> None:
    """Raise SuiteError for every pair that is there again, in either order, with a gold label that contradicts the first. White
    space aside, a text is the same if its letters are.
    """
    first: dict[tuple[Json, ...], tuple[str, Json]] = {}
    problems = Problems()
    for instance in instances:
        if len(instance.ideas) != 2 or instance.gold is None:
            continue
        texts = [" ".join(unicodedata.normalize("NFC", idea.text).split()) for idea in instance.ideas]
        meant = next(
            (text for idea, text in zip(instance.ideas, texts, strict=True) if idea.id == instance.gold), instance.gold
        )
        asked = digest_of(asked_of(instance.dimension, instance.conclusion))
        # What is concluded from two papers is told of the one and of the other.
        key = (*(sorted(texts) if instance.conclusion is None else texts), instance.as_of, asked)
        name, gold = first.setdefault(key, (instance.id, meant))
        if gold != meant:
            problems.add(
                SuiteError(
                    f"is the pair of {name!r} once more, with a gold label that contradicts it",
                    path=path,
                    instance=instance.id,
                    hint="Keep the label that is right, and leave the other out or put it on the blocklist",
                )
            )
    problems.raise_any()


def asked_of(dimension: str, conclusion: Conclusion | None) -> list[Json]:
    """What an instance asks beside its ideas, as part of a digest; empty where it asks nothing else."""
    if not dimension:
        return []
    audited = [] if conclusion is None else [conclusion.verdict, list(conclusion.evidence), conclusion.reason]
    return [dimension, audited]
