"""The judge contract: what a user's object may be and declare, checked once and then taken as given."""

from __future__ import annotations

import functools
import hashlib
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, TypeGuard

from pytest_novelty.errors import JudgeError
from pytest_novelty.judges.routes import Route
from pytest_novelty.model import Request, Variant, Verdict

Answer: TypeAlias = str | bytes | Mapping[str, Any] | Verdict
JudgeFunction: TypeAlias = Callable[[Request], Answer | Awaitable[Answer]]
"""A judge: called with a request, it returns (or, if async, resolves to) an answer."""

DEFAULT_TIMEOUT_S: Final = 120.0


@dataclass(frozen=True, slots=True)
class Traits:
    """What a judge declares; every field is an optional attribute of the judge object.

    Attributes
    ----------
    version: part of every store key. Default: a digest of the source file that defines the judge.
    protocols: the protocols it can judge; None means all.
    uses_prompt: False for a judge with a prompt of its own, to which nothing is rendered.
    max_concurrency: calls in flight at once, at most; None means the run's setting.
    timeout_s: seconds after which a call is given up.
    cost_usd_per_call: None means unknown: it is then measured from the answers' ``cost_usd``.
    score_range, higher_is, threshold: for scores: the range, whether the high end is ``"novel"`` or ``"not novel"``, and
        the mean score from which an idea counts as novel (at most which, if the high end is ``"not novel"``).
    may_tie, may_abstain: whether ``winner: "tie"`` and ``novel: null`` / ``winner: null`` are valid answers.
    retrieves, honours_as_of: whether it looks things up, and whether it ignores what appeared after ``request.as_of``.
    index_version: of a judge that retrieves, the state of what it searches (a date, a digest): golden verdicts keep it, no
        store key does.
    family: of a model: judges of one family do not audit each other. Default: by the model's name, where we ask it.
    deterministic: the same request always gets the same answer, so that golden verdicts must be met exactly.
    """

    version: str = ""
    protocols: tuple[str, ...] | None = None
    uses_prompt: bool = True
    max_concurrency: int | None = None
    timeout_s: float = DEFAULT_TIMEOUT_S
    cost_usd_per_call: float | None = None
    score_range: tuple[float, float] | None = None
    higher_is: str = "novel"
    threshold: float | None = None
    may_tie: bool = False
    may_abstain: bool = False
    retrieves: bool = False
    honours_as_of: bool = False
    index_version: str = ""
    family: str = ""
    deterministic: bool = False


class Expected(NamedTuple):
    """What a call will take, known before it is made. ``tokens_out`` and ``bound_usd`` are the most it can be.

    ``price``: has ``cost_usd(tokens)``; None with ``bound_usd`` None where the price is unknown. ``step_s``: by the judge's own
    rates, no other call may be sent for so many seconds.
    """

    tokens_in: int
    tokens_out: int
    price: Any = None
    bound_usd: float | None = None
    step_s: float = 0.0


class Rates(NamedTuple):
    """What may be sent in a minute; None: as much as you like."""

    requests_per_minute: float | None = None
    tokens_per_minute: float | None = None

    def or_else(self, other: Rates) -> Rates:
        """These, and the other's where there are none."""
        return Rates(*(own if own is not None else lent for own, lent in zip(self, other, strict=True)))


class Pace(Protocol):
    """The turns that all processes of a run take with one judge."""

    def take_turn(self, step_s: float) -> float:
        """0 if a call may be sent now, and none after it for ``step_s`` seconds; else after how many seconds to ask again.

        May block shortly.
        """


@dataclass(frozen=True)
class Judge:
    """A judge ready to run: its name in ids and tables, its checked traits, and the object to call.

    Beyond the contract for users' judges, a judge object of ours may have ``keep_pace(pace)`` with the ``account`` whose
    turns these are, its ``rates`` and ``take_rates(rates)``, ``expect(request)``, ``asked`` (its settings), ``secrets``
    (values to mask), ``prompts`` (per protocol, in the reference's place), ``routes`` (who audits it) and ``price_basis``.
    """

    name: str
    function: JudgeFunction
    traits: Traits
    version_is_digest: bool = False

    @property
    def version(self) -> str:
        return self.traits.version

    @property
    def manager(self) -> AbstractContextManager[Any] | AbstractAsyncContextManager[Any] | None:
        """The judge itself, if it is a context manager: entered once per process before its first call."""
        if isinstance(self.function, (AbstractAsyncContextManager, AbstractContextManager)):
            return self.function
        return None

    @property
    def prompts(self) -> Mapping[str, str]:
        """Prompts that take the place of the reference's, by protocol."""
        found: Mapping[str, str] = self._own("prompts") or {}
        return found

    def prompt_of(self, protocol: str, variant: Variant) -> str:
        """The prompt that this judge is asked with: its own, unless the variant is about the prompt."""
        given = variant.axes.prompt
        return given if "prompt" in variant.changed else self.prompts.get(protocol, given)

    @property
    def asked(self) -> Mapping[str, Any] | None:
        """How a model is asked; None for a judge that is none."""
        found: Mapping[str, Any] | None = self._own("asked")
        return found

    @property
    def secrets(self) -> list[str]:
        return list(self._own("secrets") or ())

    @property
    def price_basis(self) -> str:
        return str(self._own("price_basis") or "")

    def keep_pace(self, make: Callable[[str], Pace]) -> None:
        if (keep := self._own("keep_pace")) is not None:
            keep(make(self._own("account")))

    @property
    def account(self) -> str:
        """Whom its rates are agreed with; empty for a judge that has none to keep."""
        return str(self._own("account") or "")

    @property
    def routes(self) -> tuple[Route, ...]:
        """What the judge's file says of who audits it."""
        return tuple(self._own("routes") or ())

    @property
    def rates(self) -> Rates:
        found: Rates | None = self._own("rates")
        return found or Rates()

    def with_rates(self, rates: Rates) -> Judge:
        """This judge, keeping these rates."""
        if (take := self._own("take_rates")) is None:
            return self
        take(rates)
        return bind_judge(self.name, self.function)

    def expect(self, request: Request) -> Expected | None:
        """What a call will take, if the judge can tell."""
        expect = self._own("expect")
        return None if expect is None else expect(request)

    @functools.cached_property
    def waits(self) -> bool:
        """Whether most of a call is waiting for a server, so that other work can be done meanwhile."""
        return self._ships_with("asks_a_server")

    @functools.cached_property
    def tells_its_calls(self) -> bool:
        """Whether its answers say how they came about (retries, seconds, settings); of any other judge only we measure that."""
        return self._ships_with("asks_a_server") or self._ships_with("repeats_records")

    def _own(self, name: str) -> Any:
        """An attribute of the judges that ship, and of their subclasses; a user's own object may call anything by these names."""
        return getattr(self.function, name, None) if self._ships_with("asks_a_server") else None

    def _ships_with(self, mark: str) -> bool:
        """Whether the judge is of a class of this package that has the mark; a user's own attribute of that name is none."""
        return any(
            vars(kind).get(mark) is True and kind.__module__.startswith("pytest_novelty.")
            for kind in type(self.function).__mro__
        )

    @property
    def is_async(self) -> bool:
        return is_coroutine_function(self.function)

    def judges(self, protocol: str) -> bool:
        return self.traits.protocols is None or protocol in self.traits.protocols


def share_rates(judges: Iterable[Judge]) -> tuple[Judge, ...]:
    """Judges of one account keep its rates together: who has none of its own is given the strictest of the others'.

    What is agreed with an account holds for all that is sent to it, whichever judge sends it.
    """
    held = list(judges)
    strictest: dict[str, Rates] = {}
    for judge in held:
        known = strictest.get(judge.account, Rates())
        pairs = zip(known, judge.rates, strict=True)
        strictest[judge.account] = Rates(*(min(filter(None, pair), default=None) for pair in pairs))
    return tuple(judge.with_rates(judge.rates.or_else(strictest[judge.account])) for judge in held)


def is_coroutine_function(function: object) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004 - its value is wanted, not whether it is callable


def bind_judge(name: str, value: object) -> Judge:
    """Check what a user registered as ``name``. Raises JudgeError with the attribute that is wrong."""
    if isinstance(value, type):
        try:
            value = value()
        except Exception as error:
            raise JudgeError(
                f"the judge {name!r} is a class that cannot be called without arguments: {type(error).__name__}: {error}",
                hint="Register an instance",
            ) from None
    if not callable(value):
        raise JudgeError(
            f"the judge {name!r} is {type(value).__name__} {value!r:.60}, which cannot be called",
            hint="A judge is a function (or an object with __call__) that takes a request and returns an answer",
        )
    traits = _read_traits(name, value)
    is_digest = not traits.version
    if is_digest:
        traits = _with_version(traits, source_digest(value))
    return Judge(name, value, traits, is_digest)


def _with_version(traits: Traits, version: str) -> Traits:
    values = {field: getattr(traits, field) for field in Traits.__slots__}
    return Traits(**{**values, "version": version})


def _read_traits(name: str, value: object) -> Traits:
    found: dict[str, Any] = {}
    for attribute, check in _CHECKS.items():
        raw = getattr(value, attribute, None)
        if raw is None:
            continue
        problem = check(raw)
        if problem:
            raise JudgeError(f"the judge {name!r} declares {attribute} = {raw!r:.80}, which {problem}")
        found[attribute] = raw
    if "protocols" in found:
        found["protocols"] = (found["protocols"],) if isinstance(found["protocols"], str) else tuple(found["protocols"])
    if "score_range" in found:
        low, high = found["score_range"]
        found["score_range"] = (float(low), float(high))
    threshold, limits = found.get("threshold"), found.get("score_range")
    if threshold is not None and limits is not None and not limits[0] <= threshold <= limits[1]:
        raise JudgeError(f"the judge {name!r} declares threshold {threshold!r} outside its score_range {limits!r}")
    return Traits(**found)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == value


def _is_finite(value: object) -> bool:
    return _is_number(value) and abs(value) != float("inf")


def _boolean(value: object) -> str:
    return "" if isinstance(value, bool) else "must be True or False"


def _version(value: object) -> str:
    return "" if isinstance(value, str) and value.strip() else "must be a text"


def _protocols(value: object) -> str:
    from pytest_novelty.protocols import PROTOCOLS

    names = (
        [value] if isinstance(value, str) else list(value) if isinstance(value, (list, tuple, set, frozenset)) else []
    )
    if not names:
        return "must be a tuple of protocol names"
    unknown = [item for item in names if not isinstance(item, str) or item not in PROTOCOLS]
    return f"has the unknown protocol {unknown[0]!r} (known: {', '.join(sorted(PROTOCOLS))})" if unknown else ""


def _count(value: object) -> str:
    return (
        ""
        if isinstance(value, int) and not isinstance(value, bool) and value >= 1
        else "must be a whole number of at least 1"
    )


def _seconds(value: object) -> str:
    return "" if _is_number(value) and value > 0 else "must be a number of seconds above 0"


def _cost(value: object) -> str:
    return "" if _is_number(value) and 0 <= value < float("inf") else "must be a number of dollars, 0 or more"


def _range(value: object) -> str:
    fits = isinstance(value, (list, tuple)) and len(value) == 2 and all(map(_is_finite, value)) and value[0] < value[1]
    return "" if fits else "must be (lowest, highest)"


def _direction(value: object) -> str:
    return "" if value in ("novel", "not novel") else "must be 'novel' or 'not novel': what a high score means"


def _number(value: object) -> str:
    return "" if _is_number(value) else "must be a number"


_CHECKS: Final[dict[str, Callable[[object], str]]] = {
    "version": _version,
    "protocols": _protocols,
    "uses_prompt": _boolean,
    "max_concurrency": _count,
    "timeout_s": _seconds,
    "cost_usd_per_call": _cost,
    "score_range": _range,
    "higher_is": _direction,
    "threshold": _number,
    "may_tie": _boolean,
    "may_abstain": _boolean,
    "retrieves": _boolean,
    "honours_as_of": _boolean,
    "index_version": _version,
    "family": _version,
    "deterministic": _boolean,
}


def _code_parts(code: Any) -> Any:
    """What a code object does, without where it is: a nested code object's repr has an address."""
    if not inspect.iscode(code):
        return code
    return (code.co_code, code.co_names, tuple(map(_code_parts, code.co_consts)))


def _settings_of(value: object) -> list[object]:
    """Plain values that an instance or a closure holds: two judges of one class with other settings are two judges."""
    cells = [
        cell.cell_contents for cell in getattr(value, "__closure__", None) or () if cell.cell_contents is not value
    ]
    held = sorted(vars(value).items()) if hasattr(value, "__dict__") and not inspect.isroutine(value) else []
    plain = (str, int, float, bool, bytes, type(None), tuple, list, dict)
    return [item for item in (*cells, *((name, content) for name, content in held)) if isinstance(item, plain)]


def source_digest(value: object) -> str:
    """A digest of the file that defines ``value`` (12 hex digits); of its byte code where there is no file."""
    bound: list[object] = []
    while isinstance(value, functools.partial):
        bound += [value.args, sorted(value.keywords.items())]
        value = value.func
    bound += _settings_of(value)
    target: Any = value if inspect.isroutine(value) else type(value)
    try:
        path = inspect.getsourcefile(target)
        content = Path(path).read_bytes() if path else b""
    except (TypeError, OSError):
        content = b""
    if not content:
        try:
            content = inspect.getsource(target).encode("utf-8", "surrogatepass")
        except (TypeError, OSError):
            defaults = (getattr(target, "__defaults__", None), getattr(target, "__kwdefaults__", None))
            content = repr((target.__qualname__, _code_parts(getattr(target, "__code__", None)), defaults)).encode()
    if bound:  # what a partial fixes is part of the judge; an object's repr may hold its address, so only plain values
        content += repr([item for item in bound if "object at 0x" not in repr(item)]).encode(
            "utf-8", "backslashreplace"
        )
    return hashlib.blake2b(content, digest_size=6).hexdigest()
