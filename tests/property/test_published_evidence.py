"""The published matcher is the naive one, whatever the text is made of."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_novelty.evidence import PublishedText
from tests.evidence import naive

SIGNS = (
    *"abcABC 123.!?\"'([-\n\t\r*)\x00\x1c\x7f",
    "\u00a0", "\u2003", "\u3000", "\u2028", "\u00ad", "\ufb01", "\ufb06", "\u2013", "\u2014", "\u2018", "\u201d", "\u2026", "...", "![a](b)", "*(c)*",
    "\u00e9", "\u0130", "\u212a", "\u0661", "\u4e2d", "\U0001d458", "\U0001f41d", "\ud800", "spring-\nloaded ", "The jig keeps ", "millimetre3, ",
)  # fmt: skip
texts = st.lists(st.sampled_from(SIGNS), max_size=60).map("".join)
wide = st.text(st.characters(min_codepoint=0x4E00, max_codepoint=0x4FFF), min_size=150, max_size=300)


@st.composite
def quotations(draw: st.DrawFn) -> tuple[str, str]:
    """A text and a span that is made of its slices and of something else."""
    text = draw(texts | st.tuples(texts, wide, texts).map("".join))
    pieces = []
    for _ in range(draw(st.integers(0, 3))):
        start = draw(st.integers(0, len(text)))
        pieces.append(text[start : start + draw(st.integers(0, 60))])
        pieces.append(draw(st.sampled_from(("", " ", ". ", "x", "\U0001f41d", "9"))))
    return text, "".join(pieces)


@settings(max_examples=400, deadline=None)
@given(quotations())
@example(("a\u212a3 and more text of this kind", "a\u212a3 and more text of this kind"))
@example(("o\ufb013 on thick stock today, o\ufb013", "ofi on thick stock today, ofi"))
@example(("so\u00ad3 on thick stock today, so", "so on thick stock today, so"))
@example(("\U0001d458" * 40, "\U0001d458" * 30 + "\U0001d459"))
def test_published_and_naive_are_the_same(quotation: tuple[str, str]) -> None:
    text, span = quotation
    known = PublishedText(text)
    assert known.classify(span) == naive.classify(span, text)
    assert known.recall(span) == naive.recall(span, text)


@settings(max_examples=100, deadline=None)
@given(quotations(), st.sampled_from(("", "The jig", "\ufb01")))
def test_the_title_is_a_line_in_front(quotation: tuple[str, str], title: str) -> None:
    text, span = quotation
    whole = f"{title}\n{text}" if title else text
    assert PublishedText(text, title).classify(span) == naive.classify(span, whole)
