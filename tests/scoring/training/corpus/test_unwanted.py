"""Titles that say that a text is retracted or a notice, and titles that only begin like one."""

import pytest

from scoring.training.corpus.unwanted import why_unwanted
from tests.scoring.training.corpus.made import document, prose


@pytest.mark.parametrize(
    ("title", "source", "words", "expected"),
    [
        ("[Retracted] MicroRNA-1 promotes sleep", "pmc", 200, "retracted"),
        ("RETRACTED ARTICLE: sleep of mice", "pmc", 200, "retracted"),
        ("[WITHDRAWN: sleep of mice].", "pubmed", 200, "retracted"),
        ("WITHDRAWN: sleep of mice", "pubmed", 200, "retracted"),
        ("Withdrawn mice sleep less", "pmc", 200, ""),
        ("Correction: sleep of mice", "pmc", 30, "notice"),
        ("Correction to “Sleep of mice”", "pmc", 30, "notice"),
        ("Correction: an algorithm for drift correction in MRI", "pmc", 150, ""),
        ("Correction for multiple tests in maps of sleep", "pmc", 150, ""),
        ("Correction for multiple tests in maps of sleep", "pubmed", 30, ""),
        ("Corrections to the clock", "pmc", 30, ""),
        ("Author Correction: sleep of mice", "pmc", 150, "notice"),
    ],
)
def test_a_title_says_what_no_corpus_takes(
    title: str, source: str, words: int, expected: str
) -> None:
    types = "Journal Article" if source == "pubmed" else ""
    found = document(1, prose(1, words), title=title, source=source, publication_types=types)
    assert why_unwanted(found) == expected
