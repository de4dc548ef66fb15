"""The evidence check: what is copied is found where it stands, whatever typesetting does to it, and nothing makes it stumble."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_novelty.evidence import FAILURES, STATUSES, VERBATIM, Haystack, Source, check_span
from pytest_novelty.evidence.aligned import Located

WORDS = [
    "kelp",
    "burns",
    "badly",
    "when",
    "it",
    "is",
    "wet",
    "and",
    "we",
    "dry",
    "the",
    "stalks",
    "over",
    "a",
    "slow",
    "fire",
    "until",
    "they",
    "weigh",
    "half",
    "of",
    "what",
    "they",
    "did",
    "efficient",
    "flow",
    "of",
    "naïve",
    "Müller",
    "air-dried",
    "fibres",
    "3.5",
    "grams",
    "per",
    "12",
    "stalks",
]
SIGNS = "ab AB12.,;:!?\"'()[]{}<>-\u2013\u2026\n\t\\^_$*&#/%=≤≠½\ufb01\u00ad\u200b\u0301\u4e2d\ud800\U0001d458"
texts = st.lists(st.sampled_from(WORDS), min_size=30, max_size=80)


def typeset(text: str, breaks: list[int]) -> str:
    """Ligatures, typographic hyphens, soft hyphens and broken lines, at some places."""
    text = text.replace("ffi", "\ufb03").replace("fl", "\ufb02")
    for number, place in enumerate(sorted(breaks, reverse=True)):
        at = place % len(text)
        if text[at - 1 : at + 1].isalpha() and at:
            text = text[:at] + ("-\n", "\u00ad", "\u00ad\n")[number % 3] + text[at:]
    return text.replace(" it ", "\nit ")


@settings(max_examples=150, deadline=None)
@given(texts, st.data())
def test_copies_are_verbatim_and_located(words: list[str], data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(words) - 12))
    span = " ".join(words[start : start + data.draw(st.integers(6, 12))])
    text = typeset(" ".join(words), data.draw(st.lists(st.integers(0, 400), max_size=20)))
    finding = check_span(span, Source("", text))
    assert finding.status == VERBATIM
    assert check_span(finding.located(text), Source("", span)).status == VERBATIM


@settings(max_examples=300, deadline=None)
@given(st.text(SIGNS, max_size=120), st.text(SIGNS, max_size=120), st.text(SIGNS, max_size=12), st.integers(0, 100))
def test_nothing_makes_it_stumble(text: str, other: str, title: str, place: int) -> None:
    span = text[place : place + 40] + other[:30] + text[: place // 2]
    finding = check_span(span, Source(title, text, other), others=[Source(title, other)], instructions=Haystack(other))
    assert finding.status in STATUSES
    assert finding.found == (finding.failure not in FAILURES)
    assert all(0 <= piece.start <= piece.end <= len(text) for piece in finding.pieces)
    assert finding.score is None or 0 <= finding.score <= 1


HOSTILE = [" ... ", "\u2026", "[...] ", "a ", "the ", "of ", "e g ", "i e g ", "up to ", "only ", "- ", "-\n", "1 ", "3.5", "5 % ", "[3] ", "(2019) ", ". ", "e\u0301",
    "\u0301", "{", "$x_i$ ", "in ", "\u2208 ", "mode1 ", "(i) ", "five per cent "]  # fmt: skip


class Counting(Haystack):
    """A text that counts how often something is compared with a place in it."""

    looks = 0

    def _differs_at(self, *args: Any) -> str:
        self.looks += 1
        return super()._differs_at(*args)

    def _align(self, *args: Any) -> Located:
        self.looks += 5
        return super()._align(*args)


HAYSTACKS = {
    text: Counting((text * 60_000)[:60_000])
    for text in ("the of to a is 1 ", "a. ", "th-\ne o-\nf a-\n", "w \u2208 R, x_i 5 % [3] i.e. only e.g. up to model ")
}


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.lists(st.sampled_from(HOSTILE), max_size=200), st.sampled_from(sorted(HAYSTACKS)))
def test_hostile_spans_make_little_work(pieces: list[str], text: str) -> None:
    """Comparisons with a text of 60,000 characters, one of many letters counted five times."""
    haystack = HAYSTACKS[text]
    haystack.looks = 0
    source = Source("", haystack.text)
    source.__dict__["body"] = haystack  # folded once
    assert check_span("".join(pieces), source).status in STATUSES
    assert haystack.looks <= 10_000


def test_degenerate_answers_take_no_time_to_speak_of() -> None:
    """A judge that repeats itself until its tokens are used up; each of these takes minutes where a pattern backtracks."""
    text = "We dry kelp. " * 5_000
    for span in (
        "." * 60_000,
        f"kelp{chr(33) * 60_000}dries",
        "?! " * 20_000,
        " " * 60_000 + "x",
        "a. " * 20_000,
        "(" * 60_000,
        "[A " * 20_000,
        "\n" * 60_000 + "1",
        "dry kelp " * 8_000,
    ):
        assert check_span(span, Source("", text)).status in STATUSES
        assert check_span("We dry kelp over a slow fire.", Source("", span)).failure == "nowhere"
