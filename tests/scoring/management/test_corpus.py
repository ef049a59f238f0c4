"""`corpus` fetches literature, collects texts, and makes a corpus of them."""

from collections.abc import Iterator
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from scoring.services.training import corpora
from scoring.training.corpus.entrez.client import Client
from tests.factories import make_item
from tests.scoring.commands import called, json_of, refusal
from tests.scoring.training.corpus.made import prose
from tests.scoring.training.stub_entrez import EntrezStub, Paper

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def corpora_dir(settings: Any, tmp_path: Path) -> Path:
    settings.CORPORA_DIR = tmp_path / "corpora"
    return tmp_path / "corpora"


def corpus(*arguments: object) -> str:
    out, _, error = called("corpus", *arguments)
    assert error is None, error
    return out


def papers(tmp_path: Path) -> Path:
    folder = tmp_path / "papers"
    folder.mkdir()
    for n in range(1, 8):
        (folder / f"{n}.txt").write_text(prose(n))
    (folder / "README.md").write_text("About.")
    return folder


def test_a_folder_of_texts_becomes_a_corpus_without_the_test_case_that_it_held(tmp_path: Path) -> None:  # fmt: skip
    make_item("secret", markup=f"{prose(3)} It [[rose, fell]].")
    assert "7 documents" in corpus("add", "--name", "sleep", papers(tmp_path))
    assert "Collected and not built: sleep" in corpus("list")
    said = corpus("build", "--name", "sleep")
    assert "secret: 1" in said
    assert "file:papers/3.txt" in said
    assert "excluded.jsonl" in said
    assert not set(said.split()) & set(prose(3).split())
    found = json_of("corpus", "list")
    assert [one["name"] for one in found["built"]] == ["sleep"]
    assert found["collected"] == []
    assert "sleep" in corpus("list")
    assert "does not contain any test case" in corpus("check", "--name", "sleep")


def test_impossible_requests_are_refused_in_a_sentence(tmp_path: Path) -> None:
    folder = papers(tmp_path)
    for words, *arguments in (
        ("No texts were collected for sleep", "build", "--name", "sleep"),
        ("no corpus “sleep”", "check", "--name", "sleep"),
        ("not a share between 0 and 1", "build", "--name", "sleep", "--holdout", "1.5"),
        ("does not name languages", "build", "--name", "sleep", "--languages", "Klingon"),
        ("absent: is not there", "add", "--name", "sleep", tmp_path / "absent"),
        *(("slug", "add", folder, "--name", name) for name in ("../sleep", "sleep.sources")),
        *(("slug", "build", "--name", name) for name in ("../sleep", "sleep.sources")),
        ("blank", "build", "--name", ""),
    ):
        assert words in refusal("corpus", *arguments)
    corpus("add", "--name", "sleep", folder)
    no_tokenizer = ("--name", "sleep", "--tokenizer", tmp_path)
    assert "not a readable tokenizer" in refusal("corpus", "build", *no_tokenizer)
    corpus("build", "--name", "sleep")
    make_item("new", markup=f"{prose(5)} It [[rose, fell]].")
    said = refusal("corpus", "check", "--name", "sleep")
    assert "1 documents reveal 1 test cases" in said


PAPERS = (
    Paper(1, (date(2019, 3, 1),)),
    Paper(2, (date(2019, 3, 2),), text=""),
    Paper(3, (date(2020, 5, 1),), journal="J Wake"),
)


@pytest.fixture(autouse=True)
def stub(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[EntrezStub]:
    monkeypatch.setattr(corpora, "Client", partial(Client, sleep=lambda s: None))
    with EntrezStub(PAPERS) as server:
        settings.ENTREZ_URL = server.url
        settings.ENTREZ_API_KEY, settings.ENTREZ_EMAIL = "lab-key", "lab@example.org"
        yield server


FETCH = ("corpus", "fetch", "--from", "2019", "--to", "2020")


@pytest.fixture
def journals(tmp_path: Path) -> Path:
    path = tmp_path / "journals.txt"
    path.write_text("J Sleep\nJ Wake\n")
    return path


def test_journals_of_a_file_are_fetched_as_the_settings_say(
    stub: EntrezStub, journals: Path, tmp_path: Path
):
    output = tmp_path / "new" / "literature"
    printed = json_of(*FETCH, "--journals", journals, "--output", output)
    assert printed == {
        "sources": [{"name": "J Sleep", "folder": "j-sleep", "documents": 1}, {"name": "J Wake", "folder": "j-wake", "documents": 1}],
        "documents": 2, "new": 2, "without_text": 1, "books": 0, "problems": [],
    }  # fmt: skip
    assert {(form["api_key"], form["email"]) for form in stub.forms} == {("lab-key", "lab@example.org")}  # fmt: skip
    again = json_of(*FETCH, "--journals", journals, "--output", output)
    assert again == {**printed, "new": 0}


def test_a_failed_fetch_fails_the_command_after_its_report(journals: Path, tmp_path: Path):
    journals.write_text("J Slep\nJ Wake\n")
    said = refusal(*FETCH, "--journals", journals, "--output", tmp_path / "out")
    assert said.startswith("Not everything could be fetched (1 problem). The first: J Slep: ")
    assert (tmp_path / "out" / "j-wake" / "2020-05.jsonl").is_file()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--query", "sleep", "--from", "2021"), "--from is after --to"),
        (("--query", "sleep", "--limit", "0"), "is not a whole number from 1"),
        ((), "one of the arguments --journals --query is required"),
    ],
)
def test_options_that_cannot_be_are_refused_before_anything_is_asked(
    stub: EntrezStub, tmp_path: Path, arguments: tuple[str, ...], expected: str
):
    assert expected in refusal(*FETCH, "--output", tmp_path / "out", *arguments)
    assert stub.forms == []
