"""What folding keeps, what it drops, what it sets aside, and that places are right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_novelty.evidence.folding import fold


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("e\ufb03cient \ufb02ow", "efficient flow"),
        ("a \u201cquoted\u201d word \u2014 here", 'a "quoted" word -- here'),
        ("per forms well", "performs well"),
        ("spring-\nloaded", "spring-loaded"),
        ("spring-\nloaded", "springloaded"),
        ("spring-\nloaded", "spring loaded"),
        ("spring\u2010loaded spring\u2011loaded", "spring-loaded springloaded"),
        ("ear\u00adlier \u200bwords", "earlier words"),
        ("na\u00efve", "nai\u0308ve"),
        ("na\u00efve", "naive"),
        ("\uff26\uff55\uff4c\uff4c", "Full"),
        ("\U0001d465\u00b2 + \U0001d6fc\u2096", "x2 + \u03b1k"),
        (r"$\alpha_{i} \leq \mathbf{x}$", "\u03b1i \u2264 x"),
        (r"\Omega", "\u03c9"),
        ("10^{-3}", "10\u207b\u00b3"),
        ("10\u22123", "10-3"),
        ("3 \u00d7 5", "3x5"),
        ("1,204 or 1\u2009204", "1204 or 1204"),
        ("\u00bd", "1/2"),
        ("**bold** and *italic*", "bold and italic"),
        ("[a link](https://example.org/x_1)", "a link"),
        ("x<sub>1</sub>", "x1"),
        ("94 \u00b1 3%", "94\u00b13 %"),
        ("Stra\u00dfe", "STRASSE"),
    ],
)
def test_what_conversions_change_is_folded_alike(one: str, other: str) -> None:
    assert fold(one).letters == fold(other).letters


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("3.5", "35"), ("3 5", "35"), ("3.5", "3 5"), ("3:1", "31"), ("1/2", "12"), ("loss of -5", "loss of 5"), ("\u22125", "5"), ("10-3", "103"),
        ("2017-2019", "20172019"), ("a < b", "a > b"), ("a = b", "a \u2260 b"), ("a \u2264 b", "a < b"), ("5%", "5"), ("GPT4", "GPT"),
        ("\u00bd", "12"), ("12,34", "1234"), ("1,2041", "12041"), ("a + b", "a b"), ("3 [4] 5", "35"), ("Llama3 runs", "Llama runs"),
    ],
)  # fmt: skip
def test_what_makes_a_difference_is_kept(one: str, other: str) -> None:
    assert fold(one).letters != fold(other).letters


@pytest.mark.parametrize(
    ("text", "mark"),
    [
        ("on stock [12].", "12"),
        ("on stock [4, 11, 13\u201315].", "4 11 13 15"),
        ("on stock (Smith et al., 2019).", "smith et al 2019"),
        ("on stock (see Smith and Jones 2019a; Lund, 2020).", "see smith and jones 2019a lund 2020"),
        ("on stock [Smith et al., 2019].", "smith et al 2019"),
        ("on stock (2019).", "2019"),
        (
            "on stock (see also Lund et al., 2019, in press; de Vries and van der Berg, 2020).",
            "see also lund et al 2019 in press de vries and van der berg 2020",
        ),
        (
            "on stock (e.g., World Bank of the North, 2019; d\u2019Alembert, 2020, pp. 3\u20135).",
            "e g world bank of the north 2019 d alembert 2020 pp 3 5",
        ),
        ("on stock (see Table 3, left, and Section iv).", "see table 3 left and section iv"),
        ("on stock (cf. Eqs. 3 and 4).", "cf eqs 3 and 4"),
        ("on stock (see Figure 2).", "see figure 2"),
        ("on stock (Table 3b).", "table 3b"),
        ("on stock.12", "12"),
        ("on stock12, as", "12"),
        ("on stock\u00b9\u00b2.", "12"),
        ("on stock<sup>3</sup>.", "sup 3 sup"),
        ("on stock^{3}.", "3"),
        ("on stock[^note].", "note"),
        (r"on stock~\cite{smith2019}.", "cite smith2019"),
        ("on \n17\n stock", "17"),
    ],
)
def test_citations_and_numbers_of_notes_are_set_aside(text: str, mark: str) -> None:
    folded = fold(text)
    assert folded.letters in ("onstock", "onstockas")
    assert [one.content for one in folded.marks] == [mark]


@pytest.mark.parametrize(
    "text",
    [
        "the set [a, b]",
        "about 2019 sheets",
        "x^2 is",
        "f(x)",
        "ResNet50, which",
        "the x2 model",
        "(of 2019 sheets)",
        "all models folded (Only GPT-4 did not, in 2023)",
        "all models folded (Only GPT-4, 2023)",
        "all models folded (GPT-4 didn\u2019t, 2023)",
        "it wins (Table 3 shows that it loses on boats)",
        "it wins (Table 3 excepting boats)",
        "it wins (Table 3: not boats)",
        "it wins (Section leaders win)",
        "it wins (Except on the largest corpus collected in 2019)",
        "it wins [Except on the largest corpus collected in 2019]",
        "it wins (2019; boats were lost)",
    ],
)
def test_what_is_no_citation(text: str) -> None:
    assert fold(text).marks == ()


@given(st.text(st.sampled_from("ab 1-2.,(\n\u2076\u00b0\u00ad\ufb03\u00bd\u00e9\U0001d458\u2260\ud800$\\^")))
def test_every_letter_has_its_place(text: str) -> None:
    folded = fold(text)
    size = len(folded.letters)
    places = folded.places(0, size).tolist()
    assert places == sorted(places) == [folded.place(index) for index in range(size)]
    assert all(0 <= place < len(text) for place in places)
    for letter, place in zip(folded.letters, places, strict=True):
        if letter.isascii() and letter.isalpha():
            assert letter in fold(text[place]).letters


def test_places_far_into_a_long_text() -> None:
    text = "Kelp \ufb01res, 3 5.\n" * 500
    folded = fold(text)
    assert folded.letters == "kelpfires3 5" * 500
    at = 12 * 300 + 4
    assert text[slice(*folded.slice_of(at, at + 5))] == "\ufb01res"
    assert folded.place(at) == folded.place(at + 1) == 16 * 300 + 5
    assert folded.places(at, at).tolist() == []
