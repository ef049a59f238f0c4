"""Abstracts that were fetched from PubMed, as what a model drafts from."""

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError

from experiment.models import ResearchField
from scoring.services.drafting.sources import SourceAbstract, of_fetched
from scoring.training.corpus.document import Document, write_documents
from tests.factories import make_research_field

pytestmark = pytest.mark.django_db
ABSTRACT = Document("pmid:1", "BACKGROUND: Mice sleep.\nRESULTS: Much.", doi="10.1000/a", published="2019-03-07", kind="abstract")  # fmt: skip


@pytest.fixture
def sleep() -> ResearchField:
    return make_research_field("sleep", "Mice")


def test_the_first_abstracts_of_a_folder_are_taken_in_the_order_of_its_files(
    sleep: ResearchField, tmp_path: Path
) -> None:
    for name in ("2019-03", "2019-04"):
        (tmp_path / "j").mkdir(exist_ok=True)
        write_documents(
            tmp_path / "j" / f"{name}.jsonl", [ABSTRACT, replace(ABSTRACT, published=name)]
        )
    (tmp_path / "j" / ".state.json").write_text("{}")
    whole = SourceAbstract(1, "BACKGROUND: Mice sleep. RESULTS: Much.", "10.1000/a", "", date(2019, 3, 7))  # fmt: skip
    assert of_fetched(tmp_path, sleep, limit=2) == [
        whole,
        replace(whole, row=2, publication_date=None),
    ]
    assert len(of_fetched(tmp_path, sleep)) == 4


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"id": "pmcid:PMC1", "text": "All.", "kind": "fulltext"}', "pmcid:PMC1 is no abstract"),
        ('{"id": 1}', "line 1: no document"),
        ("", "There are 0 abstracts"),
    ],
)
def test_what_is_no_abstract_is_refused(
    sleep: ResearchField, tmp_path: Path, line: str, expected: str
) -> None:
    path = tmp_path / "fetched.jsonl"
    path.write_text(line)
    with pytest.raises(ValidationError, match=expected):
        of_fetched(path, sleep)


def test_a_file_that_is_not_there_is_named(sleep: ResearchField, tmp_path: Path) -> None:
    with pytest.raises(ValidationError, match=r"none\.jsonl cannot be read"):
        of_fetched(tmp_path / "none.jsonl", sleep)
