"""From the names that a user gives to judges ready to run."""

from __future__ import annotations

import importlib
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from pytest_novelty.errors import JudgeError, UnknownNameError
from pytest_novelty.judges.base import Judge, bind_judge
from pytest_novelty.judges.llm import files as llm_files
from pytest_novelty.masking import is_like_a_key

_IMPORT_SPEC: Final = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*\Z")


def _lexical() -> object:
    from pytest_novelty.judges.lexical import Lexical

    return Lexical()


def _chance() -> object:
    from pytest_novelty.judges.chance import Chance

    return Chance()


SHIPPED: Final[Mapping[str, Callable[[], object]]] = {"chance": _chance, "lexical": _lexical}


def resolve_judges(
    specs: Sequence[str], registered: Mapping[str, object], base: Path, *, also: str = ""
) -> tuple[Judge, ...]:
    """The judges that ``specs`` name, in their order.

    A spec is a registered name, a shipped one, ``replay:FILE``, ``openai:MODEL``, ``litellm:PROVIDER/MODEL``, a judge file
    or ``module:attribute``. ``also`` goes into the error for
    an unknown name (which conftests were read). Raises UnknownNameError or JudgeError.
    """
    resolver = Resolver(registered, base, also)
    return tuple({judge.name: judge for judge in map(resolver.resolve, specs)}.values())


class Resolver:
    """Resolves names one by one; a judge that is named twice, if need be from different folders, is one judge."""

    def __init__(self, registered: Mapping[str, object], base: Path, also: str = "") -> None:
        self._registered, self._base, self._also = registered, base, also
        self._held: dict[str, Judge] = {}
        self._specs: dict[str, str] = {}

    @property
    def judges(self) -> tuple[Judge, ...]:
        """All that were resolved, in the order in which they were first named."""
        return tuple(self._held.values())

    def resolve(self, spec: str, base: Path | None = None) -> Judge:
        """The judge of a spec, whose path is relative to ``base``. Raises UnknownNameError, or JudgeError, also where another
        judge would have the same name.
        """
        base = base or self._base
        place = _place_of(spec, self._registered, base)
        if place in self._held:
            return self._held[place]
        judge = _resolve(spec, self._registered, base, self._also)
        if judge.name in self._specs:
            raise JudgeError(
                f"{self._specs[judge.name]!r} and {spec!r} would both be called {judge.name!r} in the report",
                hint="Give one of them another name: in its judge file, or by registering it with pytest_novelty_judges",
            )
        self._held[place], self._specs[judge.name] = judge, spec
        return judge


def _place_of(spec: str, registered: Mapping[str, object], base: Path) -> str:
    """The same text for the same judge: files by their absolute paths."""
    if spec in registered:
        return spec
    if spec.startswith("replay:"):
        return f"replay:{(base / spec.removeprefix('replay:')).resolve()}"
    if spec.startswith(llm_files.PREFIXES) or not llm_files.is_judge_file(spec):
        return spec
    return str((base / spec).resolve())


def is_known_without_conftest(spec: str) -> bool:
    """It is neither a registered name nor something to import."""
    return spec in SHIPPED or spec.startswith(("replay:", *llm_files.PREFIXES)) or llm_files.is_judge_file(spec)


def judge_of(settings: llm_files.LlmSettings) -> Judge:
    """The judge of a judge file."""
    return _model(settings)


def _resolve(spec: str, registered: Mapping[str, object], base: Path, also: str) -> Judge:
    if spec in registered:
        return _named(spec, registered[spec])
    if is_like_a_key(spec):
        raise JudgeError("the name of a judge looks like a key", hint="Keys are in the environment: OPENAI_API_KEY")
    if spec in SHIPPED:
        return _named(spec, SHIPPED[spec]())
    if spec.startswith("replay:"):
        from pytest_novelty.judges.replay import load_replay

        path = base / spec.removeprefix("replay:")
        replay = load_replay(path)
        return _named(f"replay-{replay.judge}", replay)
    if spec.startswith(llm_files.PREFIXES):
        return _model(llm_files.settings_of_name(spec))
    if llm_files.is_judge_file(spec):
        return _model(llm_files.load_judge_file(base / spec))
    if _IMPORT_SPEC.match(spec):
        return _named(spec.partition(":")[2].rpartition(".")[2] or spec, _import(spec, base))
    raise UnknownNameError(
        "judge",
        spec,
        [*registered, *SHIPPED],
        also=f"Or give module:attribute, openai:MODEL, litellm:PROVIDER/MODEL, a judge.yaml or replay:FILE. {also}".strip(),
    )


def _model(settings: llm_files.LlmSettings) -> Judge:
    from pytest_novelty.judges.llm.judge import LlmJudge

    return _named(settings.name, LlmJudge(settings))


def _named(name: str, value: object) -> Judge:
    judge = bind_judge(name, value)
    slug = slug_of(name)
    return judge if judge.name == slug else replace(judge, name=slug)


def slug_of(name: str) -> str:
    """The name in the alphabet of ids: ``[a-z0-9._-]``, at most 60 characters."""
    return re.sub(r"[^a-z0-9._-]+", "-", name.lower()).strip("-.")[:60] or "judge"


def _import(spec: str, base: Path) -> object:
    """Import ``module:attribute``, with ``base`` on the path while it is imported."""
    module_name, _, attribute = spec.partition(":")
    inserted = str(base)
    sys.path.insert(0, inserted)
    try:
        value: object = importlib.import_module(module_name)
    except ImportError as error:
        raise JudgeError(
            f"cannot import the judge {spec!r}: {error}",
            hint=f"Looked in {base} and on sys.path. A model is named openai:MODEL or litellm:PROVIDER/MODEL",
        ) from None
    except Exception as error:
        raise JudgeError(f"importing the judge {spec!r} raised {type(error).__name__}: {error}") from None
    finally:
        if inserted in sys.path:
            sys.path.remove(inserted)
    for part in attribute.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            raise UnknownNameError(f"attribute in {module_name}", part, _public_names(value)) from None
    return value


def _public_names(value: object) -> Iterable[str]:
    return [name for name in dir(value) if not name.startswith("_")]
