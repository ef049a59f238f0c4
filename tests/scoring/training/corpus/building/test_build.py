"""A corpus from files to shards: what is in, what is left out and why, and that only the input decides."""

import hashlib
import random
from pathlib import Path

import pytest

from scoring.training.corpus.document import CorpusError
from scoring.training.corpus.manifest import EXCLUDED, MANIFEST, open_corpus
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


def test_what_is_no_date_is_left_off_and_counted(tmp_path: Path) -> None:
    dates = ["12/03/2019", "unknown", "2021-02-30", "2019-13", "", "2010"]
    corpus = build_of(tmp_path / "a", [document(n, published=day) for n, day in enumerate(dates)])
    manifest = corpus.manifest
    assert (manifest.first_published, manifest.last_published) == ("2010", "2010")
    assert (manifest.undated, dict(manifest.years)) == (5, {"2010": 1, "unknown": 5})


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


def test_of_a_paper_the_full_text_stays_with_what_its_abstract_says_of_it(tmp_path: Path) -> None:
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


def test_a_document_more_moves_none_between_the_parts(tmp_path: Path) -> None:
    few = build_of(tmp_path / "a", SOME)
    many = build_of(tmp_path / "b", [*SOME, *map(document, range(50, 80))])
    held_out = {row[0] for row in many.rows("held_out", ["id"])}
    assert {row[0] for row in few.rows("held_out", ["id"])} == held_out & {one.id for one in SOME}


def test_two_documents_are_parted_and_one_is_refused(tmp_path: Path) -> None:
    corpus = build_of(tmp_path / "a", SOME[:2], holdout=0.001)
    assert (corpus.manifest.train.documents, corpus.manifest.held_out.documents) == (1, 1)
    with pytest.raises(CorpusError, match="two are needed"):
        build_of(tmp_path / "b", SOME[:1])
    with pytest.raises(CorpusError, match="no text of 20 words"):
        build_of(tmp_path / "c", [document(1, text="Short.")])
