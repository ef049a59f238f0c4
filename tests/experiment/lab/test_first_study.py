"""A study of one's own from abstracts that are pasted: with its field and test cases, or nothing of all."""

import re

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client

from experiment.domain.joined_lines import joined
from experiment.imports.read.items import read_items
from experiment.imports.read.pasted import read_pasted
from experiment.lab.first_study import NOT_FREE, OTHERS
from experiment.models import Item, ItemChange, ResearchField, Study
from experiment.services.readiness import item_problems
from tests.factories import make_item, make_research_field, make_user, sound_text

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
        (f"1\t{ROW}\n2\t{ROW.replace('Rats', 'Mice')}", 2),
        ("1. Rats [[slept, ran]].\n2. Mice [[ate, hid]].\n3. Cats [[sat, lay]].", 3),
        ("1. Rats [slept, ran].\n2. Mice [ate, hid].\n3. Cats [sat, lay].", 3),
        ("(1) Rats [[slept, ran]]\nfor 3 days.\n(2) Mice [[ate, hid]].", 2),
        # Points of one abstract
        ("1. Rats are kept. 2. They [[slept, ran]].", 1),
        ("1. Rats are kept.\n2. They [[slept, ran]].", 1),
        ('"Rats slept.\nMice\tran."\t"So ""they"" ran."', 1),
    ],
)
def test_a_spreadsheets_rows_and_paragraphs_of_markup_are_read(text: str, n: int) -> None:
    file = read_items(read_pasted(text).data)
    assert (len(file.records), list(file.problems)) == (n, [])


def test_quotation_marks_of_a_pasted_row_are_those_of_the_text() -> None:
    [record] = read_items(read_pasted('"Sleep" helps "rats".\t"Sleep" harms "rats".').data).records
    assert (record.original, record.altered) == ('"Sleep" helps "rats".', '"Sleep" harms "rats".')


def test_two_wordings_in_single_brackets_are_read_as_an_alternation_and_said() -> None:
    pasted = read_pasted("Recall [rose, fell] [3, 4].\n\nMice [[ate, hid]] and [slept, ran].")
    markups = [record.markup for record in read_items(pasted.data).records]
    # The second one has an alternation, so the checks ask about its single brackets
    assert markups == ["Recall [[rose, fell]] [3, 4].", "Mice [[ate, hid]] and [slept, ran]."]
    assert pasted.said == {1: ["“[rose, fell]” was read as “[[rose, fell]]”"]}


def wrapped(text: str, width: int = 60) -> str:
    """As a PDF breaks lines: words are divided, but not within brackets."""
    lines = [""]
    for word in text.split(" "):
        if len(lines[-1]) + len(word) > width:
            if word.isalpha() and len(word) > 7:
                lines[-1] += f"{word[:4]}-"
                word = word[4:]
            lines.append("")
        lines[-1] += f"{word} "
    return "\n".join(line.rstrip() for line in lines)


def test_lines_that_a_pdf_broke_and_the_numbers_of_a_list_are_undone_and_said() -> None:
    texts = TEN.split("\n\n")
    pasted = read_pasted("\n\n".join(f"{n}. {wrapped(text)}" for n, text in enumerate(texts, 1)))
    assert [record.markup for record in read_items(pasted.data).records] == texts
    first = pasted.said[1]
    assert first[0] == "the list number “1.” was left out"
    assert "lines were joined" in first[1]
    assert len(pasted.said) == 10


@pytest.mark.parametrize(
    ("text", "line", "said"),
    [
        ("The hippo-\ncampus [[rose, fell]].", "The hippocampus [[rose, fell]].", "hippocampus"),
        ("Long-\nterm sleep [[rose, fell]].", "Long-term sleep [[rose, fell]].", "Long-term"),
        ("A T-\ncell [[rose, fell]].", "A T-cell [[rose, fell]].", "T-cell"),
        ("Theta-\nlocked and theta-locked.", "Theta-locked and theta-locked.", "Theta-locked"),
        ("Non-\nlinear and nonlinear.", "Nonlinear and nonlinear.", "Nonlinear"),
        ("The hippo\u00ad\ncampus.", "The hippocampus.", "hippocampus"),
    ],
)
def test_a_word_divided_at_a_lines_end_is_put_together_and_named(
    text: str, line: str, said: str
) -> None:
    found, (_, words) = joined(text)
    assert found == line
    assert words.endswith(f": {said}")


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
    assert "Each participant judges 12 abstracts: 10 of yours, and 2 built-in ones" in page
    assert "2 of them are catch trials" in page
    # Pasted again, the same test cases are in a second study
    lena.post(PAGE, sent | {"title": ""})
    assert [study.items.filter(kind="test").count() for study in Study.objects.all()] == [10, 10]
    assert Item.objects.filter(kind="test").count() == 10


def test_changes_and_warnings_are_shown_before_anything_is_stored(
    lena: Client,
) -> None:
    text = sound_text(1)
    pasted = f"1. {wrapped(text)}\n\n2. {sound_text(2)} It was [higher, lower] then."
    sent = {"field": "Baking", "texts": f"{pasted}\n\n{sound_text(3)}"}
    page = lena.post(PAGE, sent)
    assert page.status_code == 200
    assert not Item.objects.exists()
    assert not ResearchField.objects.exists()
    for said in (
        "3 abstracts",
        "list number “1.”",
        "lines were joined",
        "[[higher, lower]]",
        "1 other",
    ):
        assert said in page.text, said
    # What was shown is no longer what is sent
    shown = page.context["form"].fingerprint
    assert lena.post(PAGE, sent | {"shown": shown, "texts": pasted}).status_code == 200
    assert lena.post(PAGE, sent | {"shown": shown}).status_code == 302
    assert Item.objects.filter(kind="test").count() == 3


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"texts": f"{TEN}\n\nNothing differs here."}, "Abstract 11: no [[original, altered]]"),
        ({"texts": "Rats [[slept."}, "Abstract 1: [[ is never closed"),
        ({"texts": f"{TEN}\n\n{TEN[:60]}"}, "Abstract 11"),
        ({"texts": f"{TEN}\n\n{TEN}"}, "the same text is already in abstract 1"),
        ({"texts": f"{ROW}\nMice slept."}, "Abstract 2 has 1 text"),
        ({"texts": ROW.replace("less", "more")}, "Abstract 1, altered version"),
        ({"texts": "\n".join(wrapped(text) for text in TEN.split("\n\n"))}, "Several lines"),
        ({"texts": TEN.replace("\n\n", "\n")}, "Several lines of abstract 1"),
        ({"texts": f"{TEN}\n\n[[A, B]] c.\nD.\n[[E, F]] g."}, "Several lines of abstract 11"),
        ({"texts": ""}, "required"),
    ],
)
def test_problems_are_reported_and_nothing_is_stored(
    lena: Client, sent: dict[str, str], said: str
) -> None:
    make_research_field("cooking")
    answer = lena.post(PAGE, {"field": "Baking", "texts": TEN} | sent)
    assert answer.status_code == 422
    assert said in answer.text
    assert not re.search(r"\b(?:row|column|line) \d|\bcell\b", answer.text)
    assert not Study.objects.exists()
    assert not Item.objects.exists()
    assert ResearchField.objects.count() == 1


def test_names_that_cannot_be_had_are_refused_alike_unless_the_field_is_known(lena: Client) -> None:
    cooking = make_research_field("cooking")
    make_item("of-an-older-site", field="Sleep")
    # Another lab's, one that looks like it, one that texts have, and one that the site keeps
    for name in ("cooking", "COOKING", "c\u043e\u043eking", "sleep", "neuroscience"):
        answer = lena.post(PAGE, {"field": name, "texts": TEN})
        assert answer.status_code == 422
        assert answer.context["form"].errors == {"field": [NOT_FREE]}, name
    cooking.members.add(User.objects.get(username="lena"), through_defaults={"role": "reader"})
    answer = lena.post(PAGE, {"field": "cooking", "texts": TEN})
    assert answer.context["form"].errors == {"field": [OTHERS]}
