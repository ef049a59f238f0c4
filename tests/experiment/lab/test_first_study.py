"""A study of one's own from abstracts that are pasted: with its field and test cases, or nothing of all."""

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from experiment.imports.read.items import read_items
from experiment.imports.read.pasted import pasted_table
from experiment.models import Item, ItemChange, ResearchField, Study
from experiment.services.readiness import item_problems
from tests.factories import make_research_field, make_user, sound_text

pytestmark = pytest.mark.django_db
PAGE = "/lab/new-study/paste/"
TEN = "\n\n".join(sound_text(n) for n in range(1, 11))
ROW = "Rats that slept learned more.\tRats that slept learned less."


@pytest.fixture
def lena(client: Client) -> Client:
    user = make_user("lena", email="lena@example.org")
    user.user_permissions.add(Permission.objects.get(codename="add_study"))
    client.force_login(user)
    return client


@pytest.mark.parametrize(
    ("text", "n"),
    [
        (ROW, 1),
        (f"{ROW}\n{ROW.replace('Rats', 'Mice')}\n", 2),
        (f"Original\tAltered\n{ROW}", 1),
        (f"doi\toriginal\taltered\n10.1234/a\t{ROW}", 1),
        ("Rats [[slept, ran]].\n \n\nMice [[ate,\nhid]].", 2),
        ("Rats [[slept, ran]]\nand mice [[ate, hid]].\nAll was well.", 1),
        (f'"Sleep" helps.\t"Sleep" harms.\n{ROW}', 2),
        ('"Rats slept.\tRats ran.', 1),
        ('"Rats slept.\nMice\tran."\t"So ""they"" ran."', 1),
    ],
)
def test_a_spreadsheets_rows_and_paragraphs_of_markup_are_read(text: str, n: int) -> None:
    file = read_items(pasted_table(text))
    assert (len(file.records), list(file.problems)) == (n, [])


def test_quotation_marks_of_a_pasted_row_are_those_of_the_text() -> None:
    [record] = read_items(pasted_table('"Sleep" helps "rats".\t"Sleep" harms "rats".')).records
    assert (record.original, record.altered) == ('"Sleep" helps "rats".', '"Sleep" harms "rats".')


def test_ten_pasted_abstracts_make_a_study_that_can_be_looked_at(lena: Client) -> None:
    sent = {"field": "Baking", "title": "Which loaf?", "texts": TEN}
    answer = lena.post(PAGE, sent)
    study = Study.objects.get()
    assert answer["Location"] == f"/lab/studies/{study.slug}/set-up/trials/?preview=trial"
    assert (study.title, study.field, study.contact) == (
        "Which loaf?",
        "Baking",
        "lena@example.org",
    )
    assert (study.human_items, study.machine_items, study.recruitment) == (10, 0, "draft")
    assert item_problems(study) == []
    assert ResearchField.objects.get().members.get().username == "lena"
    reasons = ItemChange.objects.filter(item__kind="test").values_list("reason", flat=True)
    assert {*reasons} == {"Pasted by lena with a new study, without a review."}
    page = lena.get(answer["Location"]).text
    assert "Each participant judges 10 test cases" in page
    # Pasted again, the same test cases are in a second study
    lena.post(PAGE, sent | {"title": ""})
    assert [study.items.filter(kind="test").count() for study in Study.objects.all()] == [10, 10]
    assert Item.objects.filter(kind="test").count() == 10


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"texts": f"{TEN}\n\nNothing differs here."}, "row 11"),
        ({"texts": "Rats [[slept."}, "row 1"),
        ({"texts": TEN.replace("\n\n", "\n")}, "Several lines of abstract 1"),
        ({"texts": f"{TEN}\n\n[[A, B]] c.\nD.\n[[E, F]] g."}, "Several lines of abstract 11"),
        ({"texts": ""}, "required"),
        ({"field": "cooking"}, "Somebody else leads this field"),
    ],
)
def test_what_is_wrong_is_said_and_nothing_is_kept(
    lena: Client, sent: dict[str, str], said: str
) -> None:
    make_research_field("cooking")
    answer = lena.post(PAGE, {"field": "Baking", "texts": TEN} | sent)
    assert answer.status_code == 422
    assert said in answer.text
    assert not Study.objects.exists()
    assert not Item.objects.exists()
    assert ResearchField.objects.count() == 1
