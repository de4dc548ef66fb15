"""Secrets of the environment reach no record."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from pytest_novelty.digests import canonical_json
from pytest_novelty.masking import MASK, make_mask, shorten
from pytest_novelty.recording import Recorder

SECRET = 's3cr3t-"quoted"\\and\\slashed'
LONG = "sk-" + "0123456789abcdef" * 10
"""Longer than what a message quotes of an answer: half a key is a leak too."""


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "hf_token", "DB_PASSWORD", "MY_SECRET", "AWS_CREDENTIALS", "BASIC_AUTH"]
)
def test_values_named_like_a_secret_are_masked(name: str) -> None:
    mask = make_mask({name: SECRET, "HOME": "/home/user"})
    assert mask(f"a {SECRET} b {SECRET}/home/user") == f"a {MASK} b {MASK}/home/user"


@pytest.mark.parametrize(
    "encode",
    [
        lambda text: quote(text, safe=""),
        quote_plus,
        lambda text: base64.b64encode(text.encode()).decode(),
        lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
        lambda text: json.dumps(quote(text, safe="")),
    ],
)
def test_a_secret_in_a_url_or_a_header_is_masked(encode: Callable[[str], str]) -> None:
    secret = "s3cr3t key/with+all?of~it\xff\xff>"
    masked = make_mask({"API_KEY": secret})(f"GET /v1?key={encode(secret)} failed")
    assert encode(secret).strip('"') not in masked
    assert MASK in masked


@pytest.mark.parametrize("value", ["Bearer sk-planted-0123456789", "sk-planted-0123456789 ", "sk-planted-0123456789\n"])
def test_a_key_is_masked_without_its_scheme_and_blanks(value: str) -> None:
    assert make_mask({"GATEWAY_AUTH": value})("bad credential sk-planted-0123456789!") == "bad credential [masked]!"


def test_what_is_not_masked_yet_is_cut_between_words() -> None:
    key = "sk-" + "0123456789" * 5
    assert shorten(f"{'word ' * 30}{key}", 170) == f"{('word ' * 30).rstrip()}..."
    assert shorten("x" * 300, 200) == "..."
    assert shorten("short", 200) == "short"


def test_a_secret_inside_json_is_masked_and_the_json_stays_json() -> None:
    mask = make_mask({"API_KEY": SECRET})
    masked = mask(canonical_json({"reason": f"the key is {SECRET}!"}))
    assert json.loads(masked) == {"reason": f"the key is {MASK}!"}


@pytest.mark.parametrize(
    "environment",
    [{}, {"API_KEY": ""}, {"API_KEY": "1"}, {"TOKENIZERS_PARALLELISM": "false"}, {"EDITOR": "ordinary words"}],
)
def test_ordinary_words_stay(environment: dict[str, str]) -> None:
    text = "1 false ordinary words and a 'secret' key"
    assert make_mask(environment)(text) == text


def test_a_path_that_exists_is_no_secret(tmp_path: Any) -> None:
    mask = make_mask({"GOOGLE_CREDENTIALS": str(tmp_path), "API_KEY": "a\0" + "b" * 9})
    assert mask(f"in {tmp_path} and a\0bbbbbbbbb") == f"in {tmp_path} and {MASK}"


def test_the_longest_secret_wins() -> None:
    assert make_mask({"A_KEY": "12345678", "B_KEY": "1234567890"})("1234567890") == MASK


def test_values_are_no_patterns() -> None:
    assert make_mask({"A_KEY": ".*.*.*.*"})("ordinary .*.*.*.* words") == f"ordinary {MASK} words"


ANSWERS: dict[str, Callable[[str], Any]] = {
    "text": lambda secret: f"the key {secret}",
    "JSON": lambda secret: f'{{"novel": true, "reasoning": {json.dumps(secret)}}}',
    "reason": lambda secret: {"novel": True, "reason": secret},
    "wrong type": lambda secret: {"novel": secret},
    "wrapped": lambda secret: {"answer": secret, "more": [secret]},
    "model": lambda secret: {"novel": True, "model": secret},
    "trace": lambda secret: {"novel": True, "retrieved": [{"id": secret, "title": secret, "date": secret}]},
    "exception": lambda secret: RuntimeError(f"401 for {secret}"),
    "long exception": lambda secret: RuntimeError("x" * (2000 - len("RuntimeError: ") - 20) + secret),
}


@pytest.mark.parametrize("secret", [SECRET, LONG], ids=["quoted", "long"])
@pytest.mark.parametrize("name", ANSWERS)
def test_no_part_of_a_record_has_a_secret(
    name: str, secret: str, monkeypatch: pytest.MonkeyPatch, make_suite: Any, make_case: Any, plan_calls: Any
) -> None:
    monkeypatch.setenv("JUDGE_API_KEY", secret)
    call, recorder, answer = plan_calls(make_case(make_suite()))[0], Recorder(), ANSWERS[name](secret)
    record = (
        recorder.failed(call, answer, 0.0) if isinstance(answer, Exception) else recorder.answered(call, answer, 0.0)
    )
    assert secret[:12] not in repr(record)
    assert record.raw == "" or json.loads(record.raw) is not None
