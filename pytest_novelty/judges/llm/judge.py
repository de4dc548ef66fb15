"""A model as a judge: what is sent for a request, how often, and what comes back."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pytest_novelty.answers import read_answer
from pytest_novelty.errors import JudgeError, JudgeStopped, NoveltyError
from pytest_novelty.judges.base import Expected, Pace, Rates
from pytest_novelty.judges.llm.faults import LONGEST_WAIT_ASKED_S, CallFault
from pytest_novelty.judges.llm.files import LlmSettings
from pytest_novelty.judges.llm.prices import Price, Tokens, find_price
from pytest_novelty.judges.llm.providers import Provider, account_of, open_provider, secret_values
from pytest_novelty.judges.llm.replies import Reply
from pytest_novelty.judges.llm.stopping import Breaker
from pytest_novelty.model import (
    ERROR,
    EXCEEDED,
    REFUSED,
    SCHEMA_VIOLATION,
    TIMEOUT,
    TRUNCATED,
    UNPARSED,
    Failure,
    Request,
)
from pytest_novelty.protocols import PROTOCOLS

_FIRST_WAIT_S: Final = 0.5
_LONGEST_WAIT_S: Final = 30.0
_LONGEST_QUEUE_S: Final = 7 * 86_400.0
_WINDOW_S: Final = 61.0
"""A minute, and a second for what is late on its way: so no minute of the server's has more than the limit."""
_MOST_USD: Final = 1e9
"""A call that costs more has a wrong price, which is no reason to lose its verdict."""
_CHARACTERS_A_TOKEN: Final = 4
_FEWEST_BYTES_A_TOKEN: Final = 2.5
"""What is set aside for a call must not be less than it costs: dense text has more tokens than the rule of thumb says."""


class _Heard(NamedTuple):
    """What came of one round of attempts: a reply or a failure, the tries before it, the last one's seconds, how it was asked.

    ``may_be_billed``: a server that was too slow, or whose response was garbled, may have done the work all the same.
    """

    reply: Reply
    retries: int
    seconds: float
    told: str
    may_be_billed: bool = False


class LlmJudge:
    """An async judge over a provider. A context manager: the client opens in the loop in which the calls run.

    Raises JudgeStopped from a call when failures repeat so that no other call could succeed either.
    """

    cost_usd_per_call: float | None
    asks_a_server = True

    def __init__(self, settings: LlmSettings) -> None:
        self.settings = settings
        self.version = settings.version
        self.max_concurrency = settings.concurrency
        self.may_tie, self.may_abstain = settings.may_tie, settings.may_abstain
        self.score_range = None
        self.family = settings.family
        self.routes = settings.auditors
        price, self.price_basis = _price_of(settings)
        self._price: Price | None = price
        self._most_out = settings.max_tokens
        self._input_factor = 1.0
        """Raised to what was seen: a server may ignore the limit, or count words of its own as the prompt's."""
        self.take_rates(self.rates)
        self.cost_usd_per_call = 0.0 if price is not None and price.is_free else None
        self.prompts = {
            protocol: str(path) if (path := settings.folder / name).is_file() else name
            for protocol, name in settings.prompts.items()
        }
        self._provider: Provider | None = None
        self._pace: Pace | None = None
        self._breaker = Breaker(settings.name)
        self._turns = asyncio.Lock()
        self._random = random.Random()  # jitter: two processes must not wait alike

    # --- what is known before a call ------------------------------------------------------------------------

    def keep_pace(self, pace: Pace) -> None:
        """The turns of all processes of the run, which requests and tokens per minute are kept by."""
        self._pace = pace

    @property
    def account(self) -> str:
        """Whom the rates are agreed with: judges that ask one address with one key share its turns."""
        return account_of(self.settings)

    @property
    def rates(self) -> Rates:
        """Its own, as the judge file gives them."""
        return Rates(self.settings.requests_per_minute, self.settings.tokens_per_minute)

    def take_rates(self, rates: Rates) -> None:
        """Keep these rates: its own, or those of its account."""
        self._rates, settings = rates, self.settings
        rounds = 1 + settings.answer_retries
        # Every attempt has a timeout of its own; this one is a safety net, and must not count the wait for a turn.
        waits = _LONGEST_QUEUE_S if any(rates) else 0.0
        self.timeout_s = rounds * (1 + settings.retries) * (settings.timeout_s + LONGEST_WAIT_ASKED_S + waits) + 60.0

    @property
    def asked(self) -> dict[str, Any]:
        """How the model is asked, for the report."""
        return self.settings.asked

    @property
    def secrets(self) -> list[str]:
        return secret_values(self.settings)

    def expect(self, request: Request) -> Expected:
        """Tokens and cost of a call before it is made: about, and at most."""
        most = Tokens(round(_most_tokens_in(request) * self._input_factor), self._most_out)
        one = None if self._price is None else self._price.cost_usd(most)
        # an unreadable answer is paid for, too
        bound = None if one is None else one * (1 + self.settings.answer_retries)
        tokens_in = _tokens_in(request)
        return Expected(tokens_in, self._most_out, self._price, bound, self._step_s(tokens_in + self._most_out))

    def _step_s(self, tokens: int) -> float:
        """The time after a call in which no other may be sent."""
        requests_per_minute, tokens_per_minute = self._rates
        by_requests = _WINDOW_S / requests_per_minute if requests_per_minute else 0.0
        by_tokens = tokens * _WINDOW_S / tokens_per_minute if tokens_per_minute else 0.0
        return max(by_requests, by_tokens)

    # --- a call ---------------------------------------------------------------------------------------------

    async def __aenter__(self) -> LlmJudge:
        self._breaker, self._turns = Breaker(self.settings.name), asyncio.Lock()  # both belong to a loop
        try:
            self._provider = await asyncio.to_thread(open_provider, self.settings)  # importing a client takes a while
        except NoveltyError:
            raise
        except Exception as error:  # a client library's own words, once and not of every call
            raise JudgeError(
                f"the judge {self.settings.name!r} cannot be asked: {type(error).__name__}: {error}",
                hint="Look at its address (api_base, OPENAI_BASE_URL) and at the client library that is installed",
            ) from None
        return self

    async def __aexit__(self, *error: object) -> None:
        provider, self._provider = self._provider, None
        if provider is not None:
            await provider.close()

    async def __call__(self, request: Request) -> dict[str, Any]:
        retries, tokens = 0, Tokens()
        cost: float | None = 0.0
        answer: dict[str, Any] = {}
        for number in range(1 + self.settings.answer_retries):
            try:
                heard = await self._ask(request, number)
            except JudgeStopped:
                if not answer:
                    raise
                return answer  # it is paid for; whatever stops the judge will be met by the next call
            if answer and _is_of_transport(heard.reply):
                return {**answer, "retries": retries + heard.retries + 1}  # it was an answer, and it is paid for
            retries += heard.retries + (number > 0)
            tokens = tokens.plus(heard.reply.tokens)
            more = self._cost_of(heard)
            cost = None if cost is None or more is None else cost + more
            answer = self._answer(heard, retries, tokens, cost)
            if not self._is_worth_another(answer, heard.reply, request):
                break
        return answer

    def _cost_of(self, heard: _Heard) -> float | None:
        if _is_of_transport(heard.reply):
            return None if heard.may_be_billed and self.cost_usd_per_call != 0 else 0.0
        cost = None if self._price is None else self._price.cost_usd(heard.reply.tokens)
        return cost if cost is not None and cost <= _MOST_USD else None

    async def _ask(self, request: Request, number: int) -> _Heard:
        """Ask until there is a response, or a fault that another attempt would not mend."""
        assert self._provider is not None, "entered before it is called"
        dialect = self._provider.dialect
        fields = dialect.fields(request, number)
        step = self._step_s(_tokens_in(request) + self._most_out)
        attempts = 1 + self.settings.retries
        retries, attempt = 0, 0
        on_trial: list[str] = []
        may_be_billed = False
        while True:
            sent = dialect.to_send(fields, on_trial)
            await self._wait_for_turn(step)
            began = time.perf_counter()
            try:
                reply = await self._attempt(self._provider, sent)
            except CallFault as fault:
                if fault.kind == "request" and (name := dialect.without(fault, sent, on_trial)):
                    on_trial.append(name)
                    retries += 1
                    continue
                attempt += 1
                may_be_billed |= fault.kind in ("timeout", "malformed")
                again = fault.is_worth_another and attempt < attempts
                if fault.kind == "filter":
                    self._breaker.succeeded()
                else:
                    self._breaker.failed(fault, of=request.instance_id, attempt=attempt, last=not again)
                if not again:
                    seconds = time.perf_counter() - began
                    return _Heard(
                        Reply("", _failure_of(fault)), retries, seconds, dialect.told(fields, sent), may_be_billed
                    )
                retries += 1
                await self._breaker.pause(self._wait_s(attempt, fault))
            else:
                self._breaker.succeeded()
                if on_trial:
                    dialect.leave_out(on_trial[-1])  # the one that helped; the others come back with the next call
                told = dialect.told(fields, sent) + self._learn(request, reply.tokens)
                return _Heard(reply, retries, time.perf_counter() - began, told)

    def _learn(self, request: Request, tokens: Tokens) -> str:
        """Raise what is set aside for the next calls to what was seen; for the record, that the limit was exceeded."""
        self._input_factor = max(self._input_factor, (tokens.input or 0) / _most_tokens_in(request))
        self._most_out = max(self._most_out, tokens.output or 0)
        limit = self.settings.max_tokens
        return f", max_tokens={limit} {EXCEEDED}" if (tokens.output or 0) > limit else ""

    async def _attempt(self, provider: Provider, fields: Mapping[str, Any]) -> Reply:
        try:
            async with asyncio.timeout(self.settings.timeout_s):  # of the whole: a dribbling server times out, too
                return provider.dialect.read(await provider.complete(fields))
        except TimeoutError:
            of = f" from {provider.address}" if provider.address else ""
            raise CallFault("timeout", f"no answer{of} within {self.settings.timeout_s:g} s") from None

    async def _wait_for_turn(self, step: float) -> None:
        if self._pace is None or step <= 0:
            return
        async with self._turns:  # one call of this process asks, in the order in which they came
            while (wait := await asyncio.to_thread(self._pace.take_turn, step)) > 0:
                await self._breaker.pause(wait)
            self._breaker.check()

    def _wait_s(self, attempt: int, fault: CallFault) -> float:
        """Exponential, with jitter; not less than what the server asks for."""
        if fault.is_fatal:
            return _FIRST_WAIT_S
        wait = min(_LONGEST_WAIT_S, _FIRST_WAIT_S * 2.0 ** (attempt - 1)) * self._random.uniform(0.75, 1.25)
        return max(wait, (fault.retry_after_s or 0.0) * self._random.uniform(1.0, 1.1))

    # --- what is returned -----------------------------------------------------------------------------------

    def _answer(self, heard: _Heard, retries: int, tokens: Tokens, cost: float | None) -> dict[str, Any]:
        reply = heard.reply
        answer: dict[str, Any] = {
            "answer": reply.text,
            "model": reply.model,
            "usage": {
                "prompt_tokens": tokens.input,
                "completion_tokens": tokens.output,
                "cached_tokens": tokens.cached,
                "reasoning_tokens": tokens.reasoning,
            },
            "cost_usd": cost,
            "retries": retries,
            "latency_s": heard.seconds,
            "settings": heard.told,
        }
        if reply.reasoning:
            answer["reasoning"] = reply.reasoning
        if reply.failure is not None:
            failure = reply.failure
            answer["failed"] = {"status": failure.status, "kind": failure.kind, "message": failure.message}
        elif reply.is_cut:
            answer["is_cut"] = True
        return answer

    def _is_worth_another(self, answer: Mapping[str, Any], reply: Reply, request: Request) -> bool:
        """An answer that cannot be read is asked for once more; a refusal is an answer."""
        if _is_of_transport(reply):
            return False
        reading = read_answer(answer, PROTOCOLS[request.protocol], self, request.schema, shown=len(request.ideas))
        verdict = reading.verdict
        return isinstance(verdict, Failure) and verdict.status in (UNPARSED, SCHEMA_VIOLATION, TRUNCATED)


def _price_of(settings: LlmSettings) -> tuple[Price | None, str]:
    """(price, where it is from). Another server may call its models as OpenAI calls its own: their price is not known."""
    if settings.price is not None:
        return settings.price, "the judge file"
    if settings.provider == "openai" and settings.base_url is not None:
        return None, "unknown: give price in the judge file, for a server of your own"
    return find_price(settings.model)


def _tokens_in(request: Request) -> int:
    """About."""
    return sum(len(message["content"]) for message in request.messages) // _CHARACTERS_A_TOKEN


def _most_tokens_in(request: Request) -> int:
    size = sum(len(message["content"].encode("utf-8", "replace")) for message in request.messages)
    return int((size + len(json.dumps(request.schema))) / _FEWEST_BYTES_A_TOKEN) + 64


def _is_of_transport(reply: Reply) -> bool:
    return reply.failure is not None and reply.failure.status in (ERROR, TIMEOUT)


def _failure_of(fault: CallFault) -> Failure:
    if fault.kind == "filter":
        return Failure(REFUSED, "content filter", f"the provider declined the request: {fault.message}")
    if fault.kind == "timeout":
        return Failure(TIMEOUT, "timeout", fault.message)
    status = "" if fault.status is None else f" (status {fault.status})"
    return Failure(ERROR, _ERROR_KINDS[fault.kind], f"{fault.message}{status}")


_ERROR_KINDS: Final = {
    "auth": "not authorised",
    "model": "unknown model",
    "quota": "no quota",
    "closed": "closed for now",
    "redirect": "redirect",
    "rate": "rate limit",
    "server": "server error",
    "connection": "connection",
    "malformed": "malformed response",
    "request": "request refused",
}
