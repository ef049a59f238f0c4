"""`draft_items`: from a CSV file to drafts, on one's own terminal."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from experiment.models import Item, ResearchField
from scoring.models import DraftingRun
from scoring.training.corpus.document import Document, write_documents
from tests.factories import make_research_field, make_study
from tests.scoring.backends.chat.stub import MODEL, ChatStub
from tests.scoring.commands import called, json_of, refusal
from tests.scoring.services.drafting.abstracts import Lessons, abstract, csv_of


@pytest.fixture
def stub() -> Iterator[ChatStub]:
    with ChatStub(Lessons(a2=["changed"])) as stub:
        yield stub


@pytest.fixture
def cooking() -> ResearchField:
    return make_research_field("cooking", "Vegetables")


def arguments(stub: ChatStub, source: Path, *more: str) -> list[str]:
    about = [] if "--study" in more else ["--field", "cooking"]
    model = ["--generator", "chat", "--model", MODEL, "--base_url", stub.url]
    quick = ["--model_args", "timeout=2,retry_seconds=3,concurrency=1,max_tokens=500"]
    return ["--from", str(source), *about, *model, *quick, *more]


def draft(stub: ChatStub, source: Path, *more: str) -> dict[str, Any]:
    return json_of("draft_items", *arguments(stub, source, *more))


@pytest.mark.django_db
class TestTheCommand:
    def test_says_what_became_of_each_abstract_and_what_it_took(
        self, stub: ChatStub, cooking: ResearchField, tmp_path: Path
    ) -> None:
        prices = ("--prompt_price", "2", "--completion_price", "10")
        said = draft(stub, csv_of((1, 2), tmp_path / "a.csv"), *prices)
        assert said["status"] == "finished"
        assert said["states"] == {"drafted": 2}
        assert [d["attempts"] for d in said["drafts"]] == [1, 2]
        assert said["requests"] == len(stub.requests) == 3
        expected = (2 * said["prompt_tokens"] + 10 * said["completion_tokens"]) / 1e6
        assert said["cost"] == pytest.approx(expected)
        item = Item.objects.get(key=said["drafts"][0]["item"])
        assert (item.doi, str(item.publication_date)) == ("10.1234/onion.1", "2025-01-01")

    def test_says_before_it_starts_what_it_costs(
        self, stub: ChatStub, cooking: ResearchField, tmp_path: Path
    ) -> None:
        (told,) = draft(stub, csv_of((1, 2), tmp_path / "a.csv"), "--count-tokens")["runs"]
        assert (told["requests"], told["n_counted"], len(stub.requests)) == (2, 2, 2)
        assert not DraftingRun.objects.exists()

    def test_drafts_from_abstracts_that_were_fetched(
        self, stub: ChatStub, cooking: ResearchField, tmp_path: Path
    ) -> None:
        fetched = [Document(f"pmid:{n}", abstract(n), doi=f"10.1234/{n}", kind="abstract") for n in (1, 3)]  # fmt: skip
        write_documents(tmp_path / "2019-03.jsonl", fetched)
        retracted = replace(fetched[0], id="pmid:2", publication_types="Retracted Publication")
        write_documents(tmp_path / "2019-02.jsonl", [retracted])
        out, said, _ = called("draft_items", *arguments(stub, tmp_path, "--limit", "1"), "--json")
        assert json.loads(out)["states"] == {"drafted": 1}
        assert said == "Abstracts left out: 1 (retracted).\n"
        assert Item.objects.get().doi == "10.1234/1"

    def test_resumed_goes_on_and_says_what_begins(
        self, stub: ChatStub, cooking: ResearchField, tmp_path: Path
    ) -> None:
        two = arguments(stub, csv_of((1, 2), tmp_path / "two.csv"))
        stub.script = ["", "401"]
        refusal("draft_items", *two)
        stood = DraftingRun.objects.get()
        assert "--resume would continue it" in called("draft_items", *two)[1]
        DraftingRun.objects.exclude(pk=stood.pk).delete()
        assert json_of("draft_items", *two, "--resume")["run"] == stood.pk

        # Other abstracts are another run, whatever is left of the first
        DraftingRun.objects.filter(pk=stood.pk).update(status="failed")
        other = arguments(stub, csv_of((3,), tmp_path / "three.csv"), "--resume")
        assert "No earlier run has these settings. Run" in called("draft_items", *other)[1]

    def test_takes_the_field_of_a_study_and_instructions_of_a_file(
        self, stub: ChatStub, cooking: ResearchField, tmp_path: Path
    ) -> None:
        make_study(field="cooking")
        told = tmp_path / "told.txt"
        told.write_text("Alter it: {abstract}")
        stub.text_of = Lessons(a1=["prose"])
        source = csv_of((1,), tmp_path / "a.csv")
        draft(stub, source, "--study", "memory", "--instructions", str(told))
        assert stub.last_words[0].startswith("Alter it: Slow cooking")

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("title\nOnions\n", "no text in “abstract” (columns: title)."),
            ("pmid,title,citation\n1,Onions,J\n", "PubMed's CSV export does not contain abstracts"),
            (
                "abstract,subfield\nOnions rose.,Fruit\n",
                "Row 1, line 2: “Fruit” is not a subfield (Vegetables).",
            ),
            ("abstract\n\nOnions [[rose\n", "Row 1, line 3: the abstract contains [[ or ]]"),
            (
                "abstract,publication_date\nOnions rose.,May 2025\n",
                "Row 1, line 2: “May 2025” is not a date",
            ),
            ("abstract\n", "but no rows"),
            ('abstract\n"Onions rose.\n', "row 1, line 2: cannot be read as CSV"),
            (
                "sep=;\nText;Publication Date;doi\nOnions rose.;May 2025\n",
                "“May 2025” is not a date",
            ),
        ],
    )
    def test_names_what_is_wrong_with_a_file_by_its_row(
        self, stub: ChatStub, cooking: ResearchField, tmp_path: Path, text: str, words: str
    ) -> None:
        source = tmp_path / "a.csv"
        source.write_text(text)
        assert words in refusal("draft_items", *arguments(stub, source))
        assert not stub.requests
        assert not DraftingRun.objects.exists()

    @pytest.mark.parametrize(
        ("more", "words"),
        [
            (("--field", "baking"), "There is no field “baking”. Choose from cooking."),
            (("--prompt_price", "dear"), "“dear” is not an amount."),
        ],
    )
    def test_refuses_what_cannot_be_meant_in_one_sentence(
        self,
        stub: ChatStub,
        cooking: ResearchField,
        tmp_path: Path,
        more: tuple[str, ...],
        words: str,
    ) -> None:
        source = csv_of((1,), tmp_path / "a.csv")
        assert words in refusal("draft_items", *arguments(stub, source, *more))
