"""The command `corpus`, from files to a corpus that was built: what it prints, and what it refuses."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from scoring.models import Corpus
from scoring.training.corpus.read.local import MOST_PROBLEMS
from tests.factories import make_item
from tests.scoring.training.corpus.made import prose

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


def test_json_tells_what_was_added_and_built(tmp_path: Path) -> None:
    (added,) = json.loads(corpus("add", "--name", "sleep", papers(tmp_path), "--json"))["added"]
    assert added["documents"] == 7
    assert added["skipped"] == ["papers/README.md"]
    found = json.loads(corpus("build", "--name", "sleep", "--seed", "4", "--json"))
    row = Corpus.objects.get(slug="sleep")
    assert found["sha256"] == row.sha256
    assert found["manifest"] == row.manifest
    assert found["manifest"]["seed"] == 4
    assert found["manifest"]["sources"].popitem()[1]["rows"] == 7
    assert found["test_cases"] == []


def test_dates_that_are_none_are_named_up_to_a_number_and_counted(tmp_path: Path) -> None:
    rows = [{"text": prose(n), "published": "12/03/2019"} for n in range(MOST_PROBLEMS + 1)]
    path = tmp_path / "notes.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    said = corpus("add", "--name", "sleep", path)
    assert f"2019-08-12): {len(rows)}." in said
    assert f"notes.jsonl, line {MOST_PROBLEMS}: “12/03/2019”\n…" in said


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
