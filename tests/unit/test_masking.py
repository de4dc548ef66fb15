"""Secrets of the environment reach no record."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, quote_plus

import pytest

from pytest_novelty.digests import canonical_json
from pytest_novelty.masking import MASK, make_mask, mask_all, shorten
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


TRICKY = "sk-pl/anted+0123/456789"


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


SPELLINGS: dict[str, Callable[[str], str]] = {
    "quote": quote,
    "small %xx": lambda key: quote(key, safe="").lower(),
    "every %XX": lambda key: "".join(f"%{ord(each):02X}" for each in key),
    "quoted twice": lambda key: quote(quote(key, safe="")),
    "every %25XX": lambda key: "".join(f"%25{ord(each):02x}" for each in key),
    "every %2525XX": lambda key: "".join(f"%2525{ord(each):02x}" for each in key),
    "escaped slashes": lambda key: key.replace("/", r"\/"),
    "escaped slashes in JSON": lambda key: json.dumps(key.replace("/", r"\/"))[1:-1],
    "every u00XX": lambda key: "".join(f"\\u{ord(each):04x}" for each in key),
    "every u00XX in JSON": lambda key: "".join(f"\\\\u{ord(each):04X}" for each in key),
    "every xXX": lambda key: "".join(f"\\x{ord(each):02x}" for each in key),
    "JSON in a URL": lambda key: quote(key.replace("/", r"\/"), safe=""),
    "hex": lambda key: key.encode().hex(),
    "HEX": lambda key: key.encode().hex().upper(),
    "base64 without =": lambda key: _base64(key).rstrip("="),
    "base64 in a URL": lambda key: quote(_base64(key).rstrip("="), safe=""),
    "base64 in JSON with escaped slashes": lambda key: _base64(key).replace("/", r"\/"),
}


@pytest.mark.parametrize("key", [TRICKY, "sk-planted-0123456789", "12345678"])
@pytest.mark.parametrize("name", SPELLINGS)
def test_a_key_is_masked_however_it_is_spelled(name: str, key: str) -> None:
    masked = make_mask({"API_KEY": key})(f'a \\n%41 "{SPELLINGS[name](key)}" and \\u00e9 %zz')
    assert masked == f'a \\n%41 "{MASK}" and \\u00e9 %zz'


@pytest.mark.parametrize("after", ["", "!", ":x", ":yz"])
@pytest.mark.parametrize("before", ["", "u", "us", "user:", "Bearer "])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_a_key_in_base64_of_a_longer_text_is_masked(encode: Any, before: str, after: str) -> None:
    encoded = encode(f"{before}{TRICKY}{after}".encode()).decode()
    masked = make_mask({"API_KEY": TRICKY})(f"Basic {encoded}.")
    assert MASK in masked
    left = masked.removeprefix("Basic ").removesuffix(".").replace(MASK, "")
    assert len(left) <= len(encode(before.encode())) + len(encode(after.encode())) + 4


@pytest.mark.parametrize("key", ["sk-é中-0123456789", "sk-\U0001f511-0123456789", 'sk"\\\\n\\%41-01234567'])
@pytest.mark.parametrize("name", ["quote", "small %xx", "quoted twice", "escaped slashes in JSON", "hex"])
def test_a_key_of_other_characters_is_masked_too(name: str, key: str) -> None:
    assert make_mask({"API_KEY": key})(f"a {SPELLINGS[name](key)} b") == f"a {MASK} b"


def test_two_keys_in_two_spellings_are_masked_in_one_text() -> None:
    mask = make_mask({"A_KEY": "first/0123456789", "B_KEY": "second/0123456789"})
    text = r"first\/0123456789%5Csecond%5C%2F0123456789, first%2f0123456789 second/0123456789"
    assert mask(text) == f"{MASK}%5C{MASK}, {MASK} {MASK}"


def test_short_secrets_are_masked_as_they_are() -> None:
    mask = make_mask({}, secrets=["abc"])
    assert mask("abc %61bc 616263 YWJj") == f"{MASK} %61bc 616263 {MASK}"


def test_a_long_run_of_escapes_is_read_once() -> None:
    text = "\\" * 200_000 + "%25" * 100_000
    assert make_mask({"API_KEY": TRICKY})(text) == text


def test_every_text_and_number_of_a_value_is_masked() -> None:
    mask = make_mask({"A_KEY": "12345678", "B_TOKEN": "tenant-abcdef"})
    value = {"user": "tenant-abcdef", "more": [12345678, 1, None, True, 0.5], "tenant-abcdef": {}}
    assert mask_all(value, mask) == {"user": MASK, "more": [MASK, 1, None, True, 0.5], MASK: {}}


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
