"""A corpus from files to shards: what is in, what is left out and why, and that only the input decides."""

import hashlib
import random
import subprocess
import sys
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
from scoring.training.corpus.document import CorpusError, Document
from scoring.training.corpus.manifest import EXCLUDED, MANIFEST, open_corpus
from tests.experiment.http_client import ROOT
from tests.scoring.training.corpus.made import build_of, document, ids, prose

SOME = [document(n, published=f"20{n:02}-05", licence="CC BY", journal="Sleep") for n in range(10, 40)]  # fmt: skip


def test_each_document_is_in_one_part_and_the_manifest_counts_them(tmp_path: Path) -> None:
    corpus = build_of(tmp_path / "a", SOME)
    train = {row[0] for row in corpus.rows("train", ["id"])}
    held_out = {row[0] for row in corpus.rows("held_out", ["id"])}
    assert train | held_out == {one.id for one in SOME}
    assert not train & held_out
    manifest = corpus.manifest
    assert (manifest.train.documents, manifest.held_out.documents) == (len(train), len(held_out))
    assert manifest.train.words == 60 * len(train)
    assert manifest.train.tokens == sum(row[0] for row in corpus.rows("train", ["tokens"]))
    assert manifest.train.characters == sum(map(len, corpus.texts("train")))
    assert (manifest.first_published, manifest.last_published) == ("2010-05", "2039-05")
    assert manifest.years["2017"] == 1
    assert manifest.licences == {"CC BY": 30}
    assert manifest.journals == {"Sleep": 30}
    corpus.check()


def test_neither_the_order_of_documents_nor_the_files_change_a_byte_of_the_shards(tmp_path: Path) -> None:  # fmt: skip
    copies = [document(n + 100, text=prose(n) + " Late words.", doi=f"10.1/{n}") for n in range(10, 20)]  # fmt: skip
    documents = [*SOME, *copies]
    one = build_of(tmp_path / "a", documents)
    shuffled = random.Random(5).sample(documents, len(documents))
    other = build_of(tmp_path / "b", shuffled, files=3)
    assert one.manifest.files == other.manifest.files


def test_the_same_input_makes_the_same_corpus_at_another_time(tmp_path: Path) -> None:
    one = build_of(tmp_path / "a", SOME)
    other = build_of(tmp_path / "b", SOME, created="2027-01-01T00:00:00+00:00")
    assert one.sha256 == other.sha256 == open_corpus(one.folder).sha256
    assert one.sha256 != build_of(tmp_path / "c", SOME, seed=2).sha256


def test_the_manifest_has_the_hash_of_every_file_beside_it(tmp_path: Path) -> None:
    corpus = build_of(tmp_path / "a", SOME)
    names = {path.name for path in corpus.folder.iterdir()} - {MANIFEST}
    assert names == set(corpus.manifest.files)
    for name, facts in corpus.manifest.files.items():
        written = (corpus.folder / name).read_bytes()
        assert hashlib.sha256(written).hexdigest() == facts.sha256
    (corpus.folder / EXCLUDED).write_text("{}\n")
    with pytest.raises(CorpusError, match=EXCLUDED):
        corpus.check()


def test_a_papers_full_text_stays_with_the_details_of_its_abstract(tmp_path: Path) -> None:
    abstract = document(1, doi="https://doi.org/10.1/X", journal="Sleep", pmcid="PMC9")
    longer = document(2, text=prose(2, 200), pmid="7")
    full = document(3, kind="fulltext", pmid="", pmcid="9", title="")
    same = document(4, text=prose(4, 90), pmid="7", doi="10.1/Y")
    corpus = build_of(tmp_path / "a", [abstract, longer, full, same, document(5)])
    assert ids(corpus) == {"pmid:2", "pmid:3", "pmid:5"}
    left = {one.id: (one.reason, one.of) for one in corpus.excluded()}
    assert left == {"pmid:1": ("same paper", "pmid:3"), "pmid:4": ("same paper", "pmid:2")}
    assert corpus.manifest.excluded == {"same paper": 2}
    facts = [row for part in ("train", "held_out") for row in corpus.rows(part, ["id", "doi", "pmid", "journal"])]  # fmt: skip
    assert ("pmid:3", "10.1/x", "1", "Sleep") in facts


def test_near_copies_are_left_out_and_short_texts_counted(tmp_path: Path) -> None:
    changed = prose(1).replace(".", ";").upper().replace(prose(1).split()[30].upper(), "OTHER")
    documents = [document(1), document(2, text=changed), document(3, text="Too short."), document(4, text=" \n"), document(5)]  # fmt: skip
    corpus = build_of(tmp_path / "a", documents)
    assert len(ids(corpus)) == 2
    assert corpus.manifest.excluded == {"empty": 1, "near copy": 1, "too short": 1}


RETRACTED = "Journal Article; Retracted Publication"


def test_retracted_papers_notices_and_other_languages_are_left_out_by_name(
    tmp_path: Path,
) -> None:
    documents = [
        document(1, publication_types=RETRACTED, doi="10.1/x", source="pubmed"),
        document(2, kind="fulltext", pmid="", doi="10.1/X", source="pmc"),  # another form of it
        document(3, text=prose(1), pmid="3"),  # a near copy, and a paper of its own
        document(4, publication_types="Published Erratum", source="pubmed"),
        document(5, language="spa"),
        document(6, language="en"),
        document(7, text="", publication_types="Deleted Citation"),
        document(7, kind="fulltext", doi="10.1/y"),
        document(70, doi="10.1/Y"),  # the number under which PubMed keeps the paper
        document(8),
        document(9, title="Erratum to: sleep"),
    ]
    corpus = build_of(tmp_path / "a", documents)
    assert ids(corpus) == {"pmid:3", "pmid:6", "pmid:8", "pmid:70"}
    left = {(one.id, one.reason, one.of) for one in corpus.excluded()}
    assert ("pmid:2", "retracted", "pmid:1") in left
    assert corpus.manifest.excluded == {
        "deleted from PubMed": 2, "notice": 2, "retracted": 2, "another language": 1,
    }  # fmt: skip
    assert corpus.manifest.languages == ["eng"]
    with pytest.raises(CorpusError, match=r"only 0 documents .* Left out: 2 \(another language\)"):
        build_of(tmp_path / "c", [document(n, language="ger") for n in (1, 2)])
    every = build_of(tmp_path / "b", documents, languages=())
    assert ids(every) - ids(corpus) == {"pmid:5"}
    assert every.sha256 != corpus.sha256


def test_a_document_more_moves_none_between_the_parts(tmp_path: Path) -> None:
    few = build_of(tmp_path / "a", SOME)
    many = build_of(tmp_path / "b", [*SOME, *map(document, range(50, 80))])
    held_out = {row[0] for row in many.rows("held_out", ["id"])}
    assert {row[0] for row in few.rows("held_out", ["id"])} == held_out & {one.id for one in SOME}


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
    "with combining marks in words": ABSTRACT.replace("a", "a\u034f\u0301"),
    "in tags": "".join(f"<i class='x'>{c}</i>" if c == "a" else c for c in ABSTRACT),
    "with entities for spaces": ABSTRACT.replace(" ", "&#x2009;"),
    "with words broken at line ends": " ".join(f"{w[:2]}-\n{w[2:]}" for w in ABSTRACT.split()),
    "each seventh word changed": changed(ABSTRACT, 7),
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


def test_a_document_that_shares_12_words_in_a_row_or_few_runs_of_five_stays() -> None:
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


def peak_mib(folder: Path, documents: int) -> int:
    folder.mkdir()
    module = "tests.scoring.training.corpus.building.peak_memory"
    command = [sys.executable, "-m", module, str(folder), str(documents)]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return int(ran.stdout)


@pytest.mark.sweep  # up to a minute
def test_the_texts_of_a_corpus_are_never_in_memory_together(tmp_path: Path) -> None:
    few, many = (peak_mib(tmp_path / str(n), n) for n in (2_000, 12_000))
    sizes = [(tmp_path / str(n) / "source.jsonl").stat().st_size for n in (2_000, 12_000)]
    assert many - few < (sizes[1] - sizes[0]) / 2**20 * 0.7
