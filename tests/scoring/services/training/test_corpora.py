"""Corpora are built against every test case that there is, whatever became of it, and looked through again before use."""

import os
import resource
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth import get_user_model

from experiment.models import Item, ItemScratch
from lib import disk
from scoring.models import Corpus, DraftingRun, Training
from scoring.services.training import corpora
from scoring.services.training.corpora import add_source, before_of, build_corpus, open_to_train
from scoring.training.corpus.document import CorpusError, write_documents
from scoring.training.corpus.read.local import Reading
from tests.factories import make_item, make_research_field, make_study
from tests.scoring.training.corpus.made import document, ids, prose

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def corpora_dir(settings: Any, tmp_path: Path) -> Path:
    settings.CORPORA_DIR = tmp_path / "corpora"
    return tmp_path / "corpora"


def collect(tmp_path: Path, *documents: Any) -> None:
    path = tmp_path / "papers.jsonl"
    write_documents(path, documents)
    add_source("sleep", path, Reading(), lambda done: None)


def built(*, replace: bool = False) -> Corpus:
    return build_corpus(
        "sleep",
        holdout=0.2,
        seed=1,
        tokenizer=None,
        replace=replace,
        on_progress=lambda stage, done, total: None,
    )


def item(key: str, n: int, **fields: Any) -> Item:
    return make_item(key, markup=f"{prose(n)} It [[rose, fell]] at night.", **fields)


SOME = [document(n) for n in range(1, 10)]


def test_test_cases_of_all_kinds_and_states_are_left_out(tmp_path: Path) -> None:
    make_study("memory")
    item("used", 1)
    item("retired", 2, status=Item.Status.RETIRED)
    item("catch", 3, kind=Item.Kind.CATCH)
    item("practice", 4, kind=Item.Kind.PRACTICE)
    item("draft", 5, status=Item.Status.DRAFT)
    item("versions", 6, status=Item.Status.RETIRED)
    item("versions", 7, version=2)
    item("by-doi", 100, doi="10.1000/Abc")
    collect(tmp_path, *SOME[:7], document(8, doi="https://doi.org/10.1000/aBC"), document(9), document(10))  # fmt: skip
    corpus = open_to_train(built())
    assert ids(corpus) == {"pmid:9", "pmid:10"}
    left = {one.id: (one.reason, one.of) for one in corpus.excluded()}
    assert left.pop("pmid:8") == ("test case: DOI", "by-doi")
    assert {of for _, of in left.values()} == {"used", "retired", "catch", "practice", "draft", "versions"}  # fmt: skip
    assert corpus.manifest.excluded == {"test case: text": 7, "test case: DOI": 1}


def test_the_altered_version_is_left_out_too(tmp_path: Path) -> None:
    altered = prose(50)
    make_item("long", markup=f"{prose(51)} [[It rose, {altered.replace(',', ' ')}]]")
    collect(tmp_path, document(1, text=altered), document(2), document(3))
    assert ids(open_to_train(built())) == {"pmid:2", "pmid:3"}


def test_a_corpus_that_holds_a_test_case_of_today_is_not_trained_on_until_it_is_built_again(tmp_path: Path) -> None:  # fmt: skip
    collect(tmp_path, *SOME)
    row = built()
    assert len(ids(open_to_train(row))) == 9
    item("new", 4)
    with pytest.raises(CorpusError, match="--replace") as refused:
        open_to_train(row)
    assert "pmid" not in str(
        refused.value
    )  # which paper a test case is from is not everybody's to read
    row = built(replace=True)
    assert "pmid:4" not in ids(open_to_train(row))
    item("of-no-document", 200)
    assert len(ids(open_to_train(row))) == 8


def test_no_text_of_a_test_case_is_in_what_is_written_beside_the_documents(tmp_path: Path) -> None:
    item("secret", 1)
    collect(tmp_path, *SOME)
    row = built()
    for path in row.folder.glob("*.json*"):
        assert not set(path.read_text().split()) & set(prose(1).split())


def test_a_name_that_exists_is_refused_and_its_corpus_stays(tmp_path: Path) -> None:
    collect(tmp_path, *SOME)
    row = built()
    with pytest.raises(CorpusError, match="--replace"):
        built()
    collect(tmp_path, document(20))
    again = built(replace=True)
    assert again.pk == row.pk
    assert again.sha256 != row.sha256
    assert len(ids(open_to_train(again))) == 10


def test_a_corpus_that_is_being_trained_on_is_not_replaced(tmp_path: Path) -> None:
    collect(tmp_path, *SOME)
    row = built()
    training = Training.objects.create(name="m", corpus=row, mode="scratch")
    with pytest.raises(CorpusError, match="is being trained on"):
        built(replace=True)
    training.status = Training.Status.FINISHED
    training.save()
    built(replace=True)


def test_a_build_that_fails_leaves_nothing_and_the_corpus_before_it(
    tmp_path: Path, corpora_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collect(tmp_path, *SOME)
    row = built()
    before = {path: path.read_bytes() for path in row.folder.iterdir()}

    def interrupted(*args: Any, **options: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("scoring.training.corpus.building.build.write_manifest", interrupted)
    with pytest.raises(KeyboardInterrupt):
        built(replace=True)
    assert {path: path.read_bytes() for path in row.folder.iterdir()} == before
    assert {path.name for path in corpora_dir.iterdir() if path.is_dir()} == {"sleep", "sleep.sources"}  # fmt: skip


def test_a_corpus_is_there_again_when_the_one_in_its_place_never_came(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collect(tmp_path, *SOME)
    row = built()
    row.folder.rename(before_of(row.folder))  # killed here
    with pytest.raises(CorpusError, match="--replace"):
        built()
    assert len(ids(open_to_train(row))) == 9


def test_leftovers_of_a_killed_build_are_cleared_away(tmp_path: Path, corpora_dir: Path) -> None:
    collect(tmp_path, *SOME)
    left = corpora_dir / ".sleep.abc123" / "sleep"
    left.mkdir(parents=True)
    other = corpora_dir / ".sleepless.abc123"
    other.mkdir()
    built()
    assert not left.parent.exists()
    assert other.exists()


def test_two_builds_of_one_name_do_not_run_at_once(tmp_path: Path) -> None:
    collect(tmp_path, *SOME)
    with corpora._alone("sleep"), pytest.raises(CorpusError, match="being built already"):
        built()


def test_a_corpus_whose_files_were_changed_is_not_trained_on(tmp_path: Path) -> None:
    collect(tmp_path, *SOME)
    row = built()
    shard = row.folder / "train-00000.parquet"
    shard.write_bytes(shard.read_bytes() + b"\0")
    with pytest.raises(CorpusError, match=shard.name):
        open_to_train(row)


def test_the_same_texts_are_added_once(tmp_path: Path, corpora_dir: Path) -> None:
    path = tmp_path / "papers.jsonl"
    write_documents(path, SOME)
    first = add_source("sleep", path, Reading(), lambda done: None)
    second = add_source("sleep", path, Reading(), lambda done: None)
    assert (first.was_there, second.was_there) == (False, True)
    assert os.listdir(corpora_dir / "sleep.sources") == [first.name]


def test_drafts_of_models_and_of_people_are_left_out_too(tmp_path: Path) -> None:
    research_field = make_research_field("cooking")
    user = get_user_model().objects.create(username="ada")
    run = DraftingRun.objects.create(field=research_field, generator="hf")
    run.drafts.create(row=1, abstract=prose(1), doi="10.1/draft")
    run.drafts.create(row=2, abstract="Short.", markup=f"{prose(2)} [[It rose, It fell]].")
    ItemScratch.objects.create(field=research_field, user=user, values={"markup": prose(3)})
    ItemScratch.objects.create(field=research_field, user=user, values={"doi": "10.1/begun"})
    collect(tmp_path, *SOME[:3], document(4, doi="10.1/begun"), document(5, doi="10.1/draft"), *SOME[5:])  # fmt: skip
    corpus = open_to_train(built())
    assert ids(corpus) == {f"pmid:{n}" for n in range(6, 10)}
    assert corpus.manifest.excluded == {"test case: text": 3, "test case: DOI": 2}


def test_a_full_disk_ends_in_a_sentence_and_leaves_nothing(
    tmp_path: Path, corpora_dir: Path
) -> None:
    collect(tmp_path, *map(document, range(100, 400)))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2**17, before[1]))
    try:
        with pytest.raises(OSError, match="too large") as raised:
            built()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert disk.sentence(raised.value).startswith(f"{corpora_dir} cannot be used: file too large")
    assert [path.name for path in corpora_dir.iterdir() if path.is_dir()] == ["sleep.sources"]
    built()
