"""Every error this package raises for a person to read.

::

    NoveltyError                 message = what is wrong; .where = file, line, instance; .hint = what to do
     +- SettingsError            an option, an ini value or an argument of evaluate()
     |   +- UnknownNameError     a judge, suite, protocol, variant, metric or prompt that does not exist
     |   +- GateSyntaxError      a gate expression that cannot be read
     +- DataError                a file of the user's
     |   +- SuiteError           suite.yaml, instances.jsonl, ideas.jsonl, a folder of texts
     |   +- PromptError          a prompt template, or one that cannot be rendered for an instance
     |   +- GoldenError          a file of golden verdicts
     +- JudgeError               a judge that cannot be loaded or entered (a failing *call* is a status, not an error)
     +- StoreError               the verdict store: corrupt, of another format, not writable
     +- RunError                 something stops a run that had begun
         +- MissingVerdictError  --novelty-offline and the store has no verdict for a request
         +- BudgetReached        the next call would exceed --novelty-budget
         +- JudgeStopped         a model judge fails again and again in the same way: wrong key, unknown model, dead server

The plugin turns the first four into ``pytest.UsageError`` (exit status 4); none of them shows a traceback.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

_LONGEST_NAME = 100


class NoveltyError(Exception):
    """What was wrong, where, and what to do about it.

    Parameters
    ----------
    message: what is wrong, a sentence without its full stop.
    path, line, instance: where, as far as it is known.
    hint: what the reader can do.

    ``more``: what else is wrong with the same file, where all of it is looked for.
    """

    more: tuple[NoveltyError, ...] = ()

    def __init__(
        self,
        message: str,
        *,
        path: Path | str | None = None,
        line: int | None = None,
        instance: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.path = path
        self.line = line
        self.instance = instance
        self.hint = hint

    @property
    def where(self) -> str:
        place = "" if self.path is None else str(self.path)
        if self.line is not None:
            place += f":{self.line}"
        if self.instance is not None:
            place += f"{', ' if place else ''}instance {self.instance!r}"
        return place

    @property
    def text(self) -> str:
        """This error alone."""
        text = f"{self.where}: {self.message}" if self.where else self.message
        return f"{text.removesuffix('.')}. {self.hint}" if self.hint else text

    def __str__(self) -> str:
        if not self.more:
            return self.text
        count = len(self.more)
        others = "1 more error" if count == 1 else f"{count:,} more errors"
        return f"{self.text.removesuffix('.')}. And {others}: pytest-novelty validate shows all"

    def __reduce__(self) -> tuple[object, ...]:  # keyword-only arguments do not survive the default pickling
        return (_rebuild, (type(self), self.__dict__.copy()))


def told_by_system(error: OSError) -> str:
    """What the system says of a file or folder that somebody named: too long a name, no permission, a full disk."""
    name = str(error.filename or "")
    short = name if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]}..."
    return f"{short}: {error.strerror or error}" if short else str(error)


class Problems:
    """What is wrong with a file, found one after the other and raised together: the first error, with the others as ``more``."""

    def __init__(self) -> None:
        self.found: list[NoveltyError] = []

    def add(self, error: NoveltyError) -> None:
        more, error.more = error.more, ()
        self.found += [error, *more]

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Note the NoveltyError that is raised within, and go on."""
        try:
            yield
        except NoveltyError as error:
            self.add(error)

    def raise_any(self) -> None:
        """Raise what was found, in the order of the lines."""
        if self.found:
            first, *others = sorted(self.found, key=lambda error: error.line or 0)
            first.more = tuple(others)
            raise first from None


def _rebuild(kind: type[NoveltyError], state: dict[str, object]) -> NoveltyError:
    error = kind.__new__(kind)
    Exception.__init__(error, state["message"])
    error.__dict__.update(state)
    return error


class SettingsError(NoveltyError):
    """An option, an ini value or an argument has a value that cannot be used."""


_MOST_LISTED: Final = 40
"""Known names beside a near one."""


class UnknownNameError(SettingsError):
    """A name that is not among the known ones; names the nearest match. ``by``: what names it."""

    def __init__(
        self,
        kind: str,
        name: str,
        known: Iterable[str],
        *,
        also: str = "",
        by: str = "",
        path: Path | str | None = None,
        line: int | None = None,
        instance: str | None = None,
    ) -> None:
        names = sorted(set(known))
        close = nearest(name, names)
        asked = f"Did you mean {close!r}?" if close else ""
        listed = "" if asked and len(names) > _MOST_LISTED else f"Known: {', '.join(names) or 'none'}"
        hint = " ".join(filter(None, (asked, listed)))
        if also:
            hint = f"{hint}. {also}"
        said = f"{by} names an unknown {kind} {name!r}" if by else f"unknown {kind} {name!r}"
        super().__init__(said, path=path, line=line, instance=instance, hint=hint)
        self.name = name


class GateSyntaxError(SettingsError):
    """A gate expression that cannot be read."""


class DataError(NoveltyError):
    """A file that the user supplies is not what it should be."""


class SuiteError(DataError):
    """A suite, or one of its instances, is not valid."""


class PromptError(DataError):
    """A prompt template is not valid, or cannot be rendered for an instance."""


class GoldenError(DataError):
    """A file of golden verdicts cannot be read or written."""


class JudgeError(NoveltyError):
    """A judge cannot be loaded, or its context manager cannot be entered."""


class StoreError(NoveltyError):
    """The verdict store cannot be used. It is never overwritten or repaired behind the user's back."""


class RunError(NoveltyError):
    """Stops a run that had begun. What was finished before is in the store."""


class MissingVerdictError(RunError):
    """Offline, and neither the store nor the cassette has the verdict that a request needs.

    ``calls``: how many recording takes; ``cost_usd``: about what they cost, at most if ``is_bound``; None if that is unknown.
    """

    calls: int = 0
    cost_usd: float | None = None
    is_bound: bool = False


class BudgetReached(RunError):
    """The next call would exceed the budget."""


class JudgeStopped(RunError):
    """A judge that asks a server fails in the same way again and again; going on would fail every case."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name closest to ``name``, or None if nothing is close. Two letters that changed places are close in short names,
    too, of which they are most.
    """
    from rapidfuzz import process
    from rapidfuzz.distance import OSA, JaroWinkler

    names = list(known)
    found = process.extractOne(
        name, names, scorer=JaroWinkler.normalized_similarity, processor=str.lower, score_cutoff=0.8
    )
    if found is not None:
        return str(found[0])
    own = name.lower()
    swapped = (one for one in names if sorted(one.lower()) == sorted(own) and OSA.distance(one.lower(), own) == 1)
    return next(swapped, None)
