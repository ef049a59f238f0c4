"""Normalising a text: what goes, what stays, and that once is enough."""

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from scoring.training.corpus.building.near_duplicates import normalise, normalised, words
from tests.scoring.training.corpus.made import document

TEXTS = st.text(
    st.one_of(
        st.sampled_from(" \t\n\r\x0b\x0c\x00\x85\xad\u200b\u2028\u2029\ufeff\ufb01\u00a0\u0301e"),
        st.characters(exclude_categories=["Cs"]),
    )
)


@given(TEXTS)
def test_what_is_normalised_stays_as_it_is(text: str) -> None:
    once = normalise(text)
    assert normalise(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert not {unicodedata.category(char) for char in once.replace("\n", "")} & {"Cc", "Zl", "Zp"}
    assert "  " not in once
    assert "\n\n\n" not in once


@given(TEXTS)
def test_letters_and_digits_stay(text: str) -> None:
    def kept(text: str) -> str:
        joined = "".join(words(text))
        return unicodedata.normalize("NFKD", joined)

    assert kept(normalise(text)) == kept(text)


def test_paragraphs_stay_and_what_typesetters_need_goes() -> None:
    written = "\ufeffAn e\u0301tude.\r\n\r\n\r\n  Of e\ufb00ects\u00a0in\tmem\u00adory.\x00\x0cNew page\u2029Last  line. \n"
    assert normalise(written) == "An étude.\n\nOf effects in memory.\n\nNew page\n\nLast line."


def test_identifiers_have_one_form() -> None:
    one = normalised(document(1, doi="https://doi.org/10.1/AbC", pmid=" PMID: 7 ", pmcid="pmc12", title=" A\n title "))  # fmt: skip
    assert (one.doi, one.pmid, one.pmcid, one.title) == ("10.1/abc", "7", "PMC12", "A title")
