"""Whatever way a test case is written into a document, the document is left out, and the test case named."""

from pathlib import Path

import pytest

from scoring.training.corpus.building.near_duplicates import normalised, shingles, word_hashes
from scoring.training.corpus.building.overlap import (
    ItemTexts,
    Overlap,
    Overlaps,
    fingerprint,
    overlaps,
)
from scoring.training.corpus.document import Document
from tests.scoring.training.corpus.made import build_of, document, ids, prose

ABSTRACT = prose(1, 150)
ITEMS = [
    ItemTexts("sleep-1", "10.1000/sleep.1", (ABSTRACT, ABSTRACT.replace(ABSTRACT[:7], "other"))),
    ItemTexts("naps-2", "", (prose(2, 40), prose(3, 40))),
    ItemTexts("short", "", ("Mice that sleep forget less than mice that do not",) * 2),
    ItemTexts("tiny", "", ("It rose", "It fell")),
]
BODY = prose(50, 4000)


def changed(text: str, each: int) -> str:
    """With another word in place of each so-manieth."""
    words = text.split()
    words[::each] = [f"x{k}" for k in range(0, len(words), each)]
    return " ".join(words)


def found(document: Document) -> Overlap | None:
    hashes = word_hashes(document.text)
    return Overlaps(ITEMS).of(document.doi, hashes, shingles(hashes))


LEAKS = {
    "as it is": ABSTRACT,
    "in capitals": ABSTRACT.upper(),
    "without punctuation": ABSTRACT.replace(".", ""),
    "in other spaces": ABSTRACT.replace(" ", " \t\n\u00a0"),
    "with soft hyphens": ABSTRACT.replace("a", "a\u00ad"),
    "in wide letters": "".join(chr(ord(c) + 0xFEE0) if c.isalpha() else c for c in ABSTRACT),
    "with unseen characters in words": ABSTRACT.replace("a", "a\u200c\u2063\u200d"),
    "with combining marks in words": ABSTRACT.replace("a", "a\u034f\u0301"),
    "in tags": "".join(f"<i class='x'>{c}</i>" if c == "a" else c for c in ABSTRACT),
    "in escaped tags": ABSTRACT.replace("a", "&lt;b&gt;a&lt;/b&gt;"),
    "with entities for spaces": ABSTRACT.replace(" ", "&#x2009;"),
    "with words broken at line ends": " ".join(f"{w[:2]}-\n{w[2:]}" for w in ABSTRACT.split()),
    "each seventh word changed": changed(ABSTRACT, 7),
    "each twentieth word changed": changed(ABSTRACT, 20),
    "each tenth word changed": changed(ABSTRACT, 10),
    "its second half": ABSTRACT[len(ABSTRACT) // 2 :],
    "in a full text": f"{BODY}\n\n{ABSTRACT}\n\n{prose(51, 4000)}",
    "a sentence and a half in a full text": f"{BODY} {' '.join(ABSTRACT.split()[25:40])} {prose(51, 4000)}",
}


@pytest.mark.parametrize("text", LEAKS.values(), ids=LEAKS.keys())
def test_a_copy_of_a_test_case_is_named(text: str) -> None:
    assert found(normalised(document(9, text))) == Overlap("test case: text", "sleep-1")


@pytest.mark.parametrize("doi", ["10.1000/sleep.1", "https://doi.org/10.1000/SLEEP.1", "doi:10.1000/Sleep.1", " http://dx.doi.org/10.1000/sleep.1 ", "https://www.doi.org/10.1000/sleep.1", "doi.org/10.1000/sleep.1", "10.1000/sleep.1.", "10.1000%2Fsleep.1,", "doi:https://doi.org/10.1000/sleep.1;"])  # fmt: skip
def test_a_doi_is_the_same_however_it_is_written(doi: str) -> None:
    assert found(document(9, doi=doi)) == Overlap("test case: DOI", "sleep-1")


def test_a_text_of_fewer_than_13_words_is_looked_for_as_a_whole() -> None:
    quoted = "We show that mice that sleep forget LESS than mice that do not, and why. " + prose(9)
    assert found(document(9, quoted)) == Overlap("test case: text", "short")
    assert found(document(9, prose(9) + " Mice that sleep forget more than mice that do not.")) is None  # fmt: skip


def test_what_shares_12_words_in_a_row_or_few_runs_of_five_stays() -> None:
    twelve = " ".join(ABSTRACT.split()[20:32])
    assert found(document(9, f"{BODY} {twelve} {prose(51)}")) is None
    assert found(document(9, f"{BODY} {' '.join(ABSTRACT.split()[20:33])} {prose(51)}"))
    assert found(document(9, BODY, doi="10.1000/sleep.10")) is None
    assert found(document(9, f"It rose. {BODY} It fell.")) is None


def test_copies_and_other_forms_of_what_gives_a_test_case_away_go_too(tmp_path: Path) -> None:
    paper = document(1, BODY, doi="10.1000/SLEEP.1", kind="fulltext")
    preprint = document(2, BODY.replace(BODY.split()[99], "otherwise"), doi="10.2000/preprint")
    by_pmid = document(3, prose(60), pmid="1")
    others = [document(n) for n in (4, 5, 6)]
    corpus = build_of(tmp_path / "a", [paper, preprint, by_pmid, *others], ITEMS)
    assert ids(corpus) == {one.id for one in others}
    left = {one.id: (one.reason, one.of, one.title) for one in corpus.excluded()}
    assert left == {
        "pmid:1": ("test case: DOI", "sleep-1", "Title 1"),
        "pmid:2": ("test case: copy", "sleep-1", "Title 2"),
        "pmid:3": ("test case: copy", "sleep-1", "Title 3"),
    }


def test_a_built_corpus_is_compared_with_test_cases_that_came_later(tmp_path: Path) -> None:
    corpus = build_of(tmp_path / "a", [document(n) for n in range(10, 20)])
    later = [ItemTexts("later", "", (prose(13), prose(14))), ItemTexts("none", "", (prose(99),))]
    seen: list[int] = []
    leaks = sorted(overlaps(corpus, later, seen.append), key=lambda one: one.id)
    assert [(one.id, one.of) for one in leaks] == [("pmid:13", "later"), ("pmid:14", "later")]
    assert seen == list(range(1, 11))


def test_the_fingerprint_tells_test_cases_apart_and_not_their_order() -> None:
    assert fingerprint(ITEMS) == fingerprint(ITEMS[::-1])
    assert fingerprint(ITEMS) != fingerprint(ITEMS[1:])
    edited = ItemTexts("tiny", "", ("It rose", "It sank"))
    assert fingerprint(ITEMS) != fingerprint([*ITEMS[:3], edited])
