"""What a quotation has that its source has not, and what is taken for it."""

from __future__ import annotations

import pytest

from pytest_novelty.evidence import NEAR, VERBATIM, Haystack, Source, check_span
from pytest_novelty.evidence.mending import mend
from pytest_novelty.evidence.wording import LIMIT, NUMBER, SIGN

TEXT = "The old model folds cloth in 12 ways. Version 2 of the model is slow. Accuracy rose by 5 %."


@pytest.mark.parametrize(
    ("span", "mended"),
    [
        ("(iv) The model folds", "The model folds"),
        ("3) The model folds", "The model folds"),
        ("a. the model folds", "the model folds"),
        ("A. Smith folds", "A. Smith folds"),  # an initial
        ("3.5 models fold", "3.5 models fold"),
        ("3. 5 models fold", "3. 5 models fold"),
        ("(12) 5 models fold", "(12) 5 models fold"),
        ("(2019) The model folds", "(2019) The model folds"),
        ("1. 2. 3. The model", "1. 2. 3. The model"),
        ("The o1d m0del", "The o1d model"),  # of three letters too little is left
        ("The mode1 folds c1oth", "The model folds cloth"),
        ("The mode1s fold", "The mode1s fold"),  # a word that the text does not have
        ("The M0DEL folds", "The MoDEL folds"),
        ("Version1 folds", "Version1 folds"),  # the text has no "versionl"
        ("Accuracy rose by five percent.", "Accuracy rose by 5 %."),
        ("Accuracy rose by a percent.", "Accuracy rose by a percent."),
        ("five percent more", "five percent more"),
    ],
)
def test_mending(span: str, mended: str) -> None:
    assert mend(span, Haystack(TEXT)) == mended


def test_a_word_that_the_text_has_with_its_digit_stays() -> None:
    assert mend("The mode1 folds", Haystack(f"{TEXT} It is called Mode1.")) == "The mode1 folds"


def test_a_mended_span_may_have_slips_besides() -> None:
    source = Source("", TEXT)
    assert check_span("(i) The old mode1 folds cloth in 12 ways.", source).status == VERBATIM
    assert check_span("(i) The old mode1 folds clolth in 12 ways.", source).status == NEAR
    assert check_span("(i) The old mode1 folds cloth in 13 ways.", source).reason == NUMBER


@pytest.mark.parametrize(
    ("span", "reason"),
    [
        ("The folder may work on cloth, and the jig on paper of up to 80 grams.", ""),
        ("The folder might work on cloth, and the jig on paper of up to 80 grams.", ""),
        ("The folder works on cloth, and the jig on paper of up to 80 grams.", LIMIT),
        ("The folder may work on cloth, and the jig on paper of 80 grams.", LIMIT),
        ("The folder may work on cloth, and the jig perhaps on paper of up to 80 grams.", LIMIT),
        ("The folder may work on cloth, and only the jig on paper of up to 80 grams.", LIMIT),
        ("The folder may work on cloth, and the jig on all paper of up to 80 grams.", LIMIT),
    ],
)
def test_how_much_is_claimed_may_not_differ(span: str, reason: str) -> None:
    text = "The folder may work on cloth, and the jig on paper of up to 80 grams. It is done."
    assert check_span(span, Source("", text)).reason == reason


@pytest.mark.parametrize(
    ("span", "reason"),
    [
        ("This is true of eveyr fold of the paper, i.e. of each.", ""),  # mistyped
        ("This is true of ever fold of the paper, i.e. of each.", LIMIT),  # another word
        ("This is true of every fold of the paper, of each.", ""),  # "i.e." is no pair of variables
        ("This is true of every fold x of the paper, i.e. of each.", SIGN),
    ],
)
def test_what_looks_like_a_limit_or_a_variable(span: str, reason: str) -> None:
    text = "This is true of every fold of the paper, i.e. of each. It is done."
    assert check_span(span, Source("", text)).reason == reason


@pytest.mark.parametrize(
    ("cited", "found"),
    [
        ("as Moss et al. (2019) found, jigs tear paper, and folders [12] do not.", True),
        ("as Moss et al. [3] found, jigs tear paper, and folders (Tanaka, 2014) do not.", True),
        ("as Moss et al. (2019) found, jigs tear paper, and folders (Tanaka, 2014) do not.", True),
        ("as Moss et al. (2019) found, jigs tear paper (Jones, 2001), and folders do not.", False),  # elsewhere
        ("as Moss et al. [4] found, jigs tear paper, and folders [12] do not.", False),
        ("as Moss et al. [3] found, jigs tear paper, and folders [13] do not.", False),
    ],
)
def test_a_citation_may_be_in_another_style_at_its_place(cited: str, found: bool) -> None:
    text = "For all we know, as Moss et al. [3] found, jigs tear paper, and folders [12] do not. It is done."
    assert check_span(cited, Source("", text)).found is found
