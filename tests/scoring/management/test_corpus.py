"""`corpus` fetches literature, collects texts, and makes a corpus of them."""

import json
from collections.abc import Iterator
from datetime import date
from functools import partial
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from scoring.services.training import corpora
from scoring.training.corpus.entrez.client import Client
from tests.factories import make_item
from tests.scoring.training.corpus.made import prose
from tests.scoring.training.stub_entrez import EntrezStub, Paper

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def corpora_dir(settings: Any, tmp_path: Path) -> Path:
    settings.CORPORA_DIR = tmp_path / "corpora"
    return tmp_path / "corpora"


def corpus(*arguments: object) -> str:
    out = StringIO()
    call_command("corpus", *map(str, arguments), stdout=out)
    return out.getvalue()


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
    found = json.loads(corpus("list", "--json"))
    assert [one["name"] for one in found["built"]] == ["sleep"]
    assert found["collected"] == []
    assert "sleep" in corpus("list")
    assert "holds no test case" in corpus("check", "--name", "sleep")


def test_check_names_a_document_that_has_become_a_test_case(tmp_path: Path) -> None:
    corpus("add", "--name", "sleep", papers(tmp_path))
    corpus("build", "--name", "sleep")
    make_item("new", markup=f"{prose(5)} It [[rose, fell]].")
    with pytest.raises(CommandError, match="1 documents give 1 test cases away"):
        corpus("check", "--name", "sleep")


def test_what_cannot_be_is_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="Nothing was collected for sleep"):
        corpus("build", "--name", "sleep")
    with pytest.raises(CommandError, match="no corpus sleep"):
        corpus("check", "--name", "sleep")
    with pytest.raises(CommandError, match="no share between 0 and 1"):
        corpus("build", "--name", "sleep", "--holdout", "1.5")
    with pytest.raises(CommandError, match="absent: is not there"):
        corpus("add", "--name", "sleep", tmp_path / "absent")
    folder = papers(tmp_path)
    for name in ("../sleep", "sleep.sources", ""):
        for action in (("add", folder), ("build",)):
            with pytest.raises(CommandError, match=r"slug|blank"):
                corpus(*action, "--name", name)
    corpus("add", "--name", "sleep", folder)
    with pytest.raises(CommandError, match="no tokenizer"):
        corpus("build", "--name", "sleep", "--tokenizer", tmp_path)
    corpus("build", "--name", "sleep")
    with pytest.raises(CommandError, match="--replace"):
        corpus("build", "--name", "sleep")


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


def fetch(*arguments: object) -> str:
    out = StringIO()
    years = ("--from", "2019", "--to", "2020")
    call_command("corpus", "fetch", *years, *map(str, arguments), stdout=out, stderr=StringIO())
    return out.getvalue()


@pytest.fixture
def journals(tmp_path: Path) -> Path:
    path = tmp_path / "journals.txt"
    path.write_text("J Sleep\nJ Wake\n")
    return path


def test_journals_of_a_file_are_fetched_as_the_settings_say(
    stub: EntrezStub, journals: Path, tmp_path: Path
):
    output = tmp_path / "new" / "literature"
    printed = json.loads(fetch("--journals", journals, "--output", output, "--json"))
    assert printed == {
        "sources": [{"name": "J Sleep", "folder": "j-sleep", "documents": 1}, {"name": "J Wake", "folder": "j-wake", "documents": 1}],
        "documents": 2, "new": 2, "without_text": 1, "books": 0, "problems": [],
    }  # fmt: skip
    assert {(form["api_key"], form["email"]) for form in stub.forms} == {("lab-key", "lab@example.org")}  # fmt: skip
    again = json.loads(fetch("--journals", journals, "--output", output, "--json"))
    assert again == {**printed, "new": 0}


def test_what_could_not_be_fetched_fails_the_command_after_its_report(
    journals: Path, tmp_path: Path
):
    journals.write_text("J Slep\nJ Wake\n")
    with pytest.raises(CommandError) as raised:
        fetch("--journals", journals, "--output", tmp_path / "out")
    assert str(raised.value).startswith("1 could not be fetched whole; the first is J Slep: ")
    assert (tmp_path / "out" / "j-wake" / "2020-05.jsonl").is_file()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--query", "sleep", "--from", "2021"), "--from is after --to"),
        (("--query", "sleep", "--limit", "0"), "is no whole number from 1"),
        ((), "one of the arguments --journals --query is required"),
    ],
)
def test_options_that_cannot_be_are_refused_before_anything_is_asked(
    stub: EntrezStub, tmp_path: Path, arguments: tuple[str, ...], expected: str
):
    with pytest.raises(CommandError, match=expected):
        fetch("--output", tmp_path / "out", *arguments)
    assert stub.forms == []
