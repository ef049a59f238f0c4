"""The lab's pages of a field's questions."""

import re
from html import unescape
from urllib.parse import urlencode

import pytest
from django.conf import settings
from django.core.files.uploadedfile import SimpleUploadedFile
from django.templatetags.static import static
from django.test import Client
from django.urls import reverse

from experiment.models import Item, ItemChange, QuestionTemplate
from tests.experiment.lab_client import browser
from tests.factories import make_item, make_question, make_research_field, make_user
from tests.forms import form_at

pytestmark = pytest.mark.django_db
ROWS = b'key,question,answer,topic_category\nq-1,"What is [[gold]]?",A metal.,Metals; Acids\nq-2,What is tin?,A metal.,\n'


@pytest.fixture(autouse=True)
def field():
    users = [make_user(name) for name in ("lead", "curator")]
    return make_research_field("matter", "Tin", lead=users[0], curators=users[1:])


def url(name, *args):
    return reverse(f"lab:{name}", args=["matter", *args])


def page(client: Client, address: str, status: int = 200) -> str:
    answer = client.get(address)
    assert answer.status_code == status
    return unescape(answer.text)


def sent(client: Client, address: str, data: bytes, **more: str) -> str:
    answer = client.post(address, {"file": SimpleUploadedFile("x.csv", data), **more})
    assert answer.status_code == 302, answer.text
    return answer["Location"]


def pressed(client: Client, address: str, shown: str, **changes: str):
    """Send the hidden fields of a page's last form."""
    fields = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)"', shown))
    return client.post(address, fields | changes)


def test_an_import_stores_the_changes_that_were_shown(field):
    make_question("q-2", field="matter", markup="What is tin?", expert_answer="A gas.")
    make_question("q-3", field="matter")
    client = browser("curator")
    place = sent(client, url("question_import"), ROWS)
    shown = page(client, place)
    assert re.findall(r"<strong>(\d+)</strong>", shown) == ["0", "1", "1", "0", "1"]
    assert "A gas." in page(client, f"{place}?show=update")
    assert "q-3" in page(client, f"{place}?show=gone")
    answer = pressed(client, place + "apply/", shown)
    assert answer.status_code == 302
    rows = Item.objects.order_by("key", "version").values_list("key", "version", "status")
    assert list(rows) == [
        ("q-1", 1, "draft"),
        ("q-2", 1, "accepted"),
        ("q-2", 2, "draft"),
        ("q-3", 1, "accepted"),
    ]
    page(client, place, 410)


def test_later_changes_are_shown_again_and_a_problem_keeps_all_rows_out():
    client = browser("curator")
    shown = page(client, url("question_import"))
    assert static("samples/questions.csv") in shown
    sample = (settings.BASE_DIR / "static" / "samples" / "questions.csv").read_bytes()
    place = sent(client, url("question_import"), sample)
    shown = page(client, place)
    assert re.findall(r"<strong>(\d+)</strong>", shown)[:2] == ["0", "3"]
    make_question("water-1", field="matter")
    assert pressed(client, place + "apply/", shown).status_code == 409
    assert Item.objects.count() == 1
    place = sent(client, url("question_import"), b"question,answer\n<script>alert(1)</script>,\n")
    assert "is empty" in page(client, place)
    assert "<script>alert(1)" not in client.get(place).text
    assert Item.objects.count() == 1


def test_new_subfields_are_added_and_columns_chosen_where_they_are_missed(field):
    client = browser("lead")
    place = sent(
        client, url("question_import"), b"sep=;\nPrompt;Answer;Subfield\nWhat is tin?;A metal.;Ores"
    )
    shown = page(client, place)
    assert 'value="prompt" selected' in shown
    chosen = {"column_question": "prompt", "new_subfields": "on"}
    assert "Add this subfield" in page(
        client, f"{place}?{urlencode(chosen | {'new_subfields': ''})}"
    )
    shown = page(client, f"{place}?{urlencode(chosen)}")
    assert pressed(client, place + "apply/", shown).status_code == 302
    assert (Item.objects.get().markup, Item.objects.get().subfield) == ("What is tin?", "Ores")
    assert field.subfields.filter(name="Ores").exists()


def test_only_a_lead_accepts_without_a_review():
    place = sent(browser("curator"), url("question_import"), ROWS, accept="I say so")
    assert "accept=" not in place
    pressed(browser("curator"), place + "apply/", page(browser("curator"), place), accept="me")
    assert set(Item.objects.values_list("status", flat=True)) == {"draft"}
    place = sent(browser("lead"), url("question_import"), ROWS, accept="Reviewed in print")
    shown = page(browser("lead"), place)
    assert "Reviewed in print" in shown
    pressed(browser("lead"), place.partition("?")[0] + "apply/", shown)
    assert set(Item.objects.values_list("status", flat=True)) == {"accepted"}
    assert ItemChange.objects.filter(reason="Reviewed in print").exists()


def test_the_list_is_narrowed_by_words_state_template_and_category(field):
    template = QuestionTemplate.objects.create(field=field, key="t-1")
    make_question("q-1", field="matter", template=template)
    make_question("q-2", field="matter", status="draft", categories={"topic": ["Tin"], "kind": []})
    make_item("pair", field="matter")
    client = browser("curator")

    def listed(**asked):
        shown = client.get(url("questions"), asked).text
        return re.findall(r"q-\d v1|pair v1", shown)

    assert listed() == ["q-1 v1", "q-2 v1"]
    assert listed(template="t-1") == listed(status="accepted") == ["q-1 v1"]
    assert listed(category="topic\x1fTin") == listed(text="[[q-2]]") == ["q-2 v1"]
    assert listed(text="nothing of the kind") == []
    assert client.get(url("questions"), {"category": "none"}).status_code == 422
    of_pairs = client.get(url("field")).text
    assert "pair v1" in of_pairs
    assert "q-1 v1" not in of_pairs


def test_a_question_is_written_and_sent_to_review_like_a_test_case():
    client = browser("curator")
    answer = {"expert_answer": "A metal.", "source": "human"}
    typed = {"markup": "What is [[tin]]?"} | answer
    wrong = client.post(url("new_question"), typed | {"categories": "no dimension"})
    assert wrong.status_code == 422
    client.post(url("new_question"), typed | {"categories": "topic: Tin; Metals\n\nkind: Recall"})
    item = Item.objects.get()
    assert item.categories == {"topic": ["Tin", "Metals"], "kind": ["Recall"]}
    assert (item.kind, item.original, item.key) == ("question", "What is [[tin]]?", "matter-0001")
    shown = page(client, url("item", item.pk))
    assert "What is [[tin]]?" in shown
    assert "A metal." in shown
    assert client.get(url("write_item", item.pk))["Location"] == url("write_question", item.pk)
    assert "kind: Recall" in page(client, url("write_question", item.pk))
    early = form_at(client, url("write_question", item.pk))
    assert early is not None
    client.save(url("write_question", item.pk), expert_answer="A soft metal.")
    assert Item.objects.get().expert_answer == "A soft metal."
    late = early.filled(expert_answer="A hard metal.")
    told = client.post(url("write_question", item.pk), late)
    assert (told.status_code, "Changed by curator" in told.text) == (409, True)
    client.post(url("move_item", item.pk), {"move": "submit"})
    assert Item.objects.get().status == "in_review"


TABLE = "name,n\n" + "".join(f"e{n},{n % 4}\n" for n in range(40))


def test_a_template_is_written_previewed_over_a_table_and_makes_questions():
    client = browser("lead")
    rules = {"rules-TOTAL_FORMS": 3, "rules-INITIAL_FORMS": 0}
    typed = {"key": "counts", "question": "How many has {{ name }}?", "categories": "kind: Counts"}
    rules |= {"rules-0-when": "n > 1", "rules-0-answer": "{{ name }} has {{ n }}."}
    wrong = client.post(url("new_question_template"), typed | rules | {"rules-0-when": "n >"})
    assert "condition of rule 1" in unescape(wrong.text)
    made = client.post(url("new_question_template"), typed | rules)
    template = QuestionTemplate.objects.get()
    assert made["Location"] == url("question_template", template.pk)
    place = sent(client, made["Location"], TABLE.encode())
    assert "20 rows" not in page(client, place)
    bare = place.partition("?")[0]
    shown = page(client, f"{bare}?n=6&strata=n&seed=5")
    assert "40 rows make 20 questions, of which 6 are drawn" in shown
    assert shown.count("no rule matches") == 20
    assert "does not have a column" in page(client, f"{bare}?strata=mass", 422)
    fields = {"n": "6", "strata": "n", "seed": "5", "accept": "Checked"}
    shown = page(client, f"{bare}?{urlencode(fields)}")
    assert "6 questions are new" in shown
    assert pressed(client, bare, shown).status_code == 302
    items = Item.objects.filter(template=template)
    assert sorted(i.made_from["values"]["n"] for i in items) == ["2"] * 3 + ["3"] * 3
    assert {i.status for i in items} == {"accepted"}
    assert "row " in page(client, url("item", items[0].pk))
    assert client.get(url("write_question_template", template.pk)).status_code == 302
    assert "6 questions" in page(client, url("question_template", template.pk))
    page(client, bare, 410)


def test_a_template_of_before_that_cannot_be_filled_is_named_and_no_page_fails(field):
    """It was saved when a number that is too large was let through."""
    rules = [{"when": "", "answer": "{{ name }} has {{ n }}."}]
    template = QuestionTemplate.objects.create(
        field=field, key="t", question="Is {{ 1e400 * n }} {{ name }}?", rules=rules
    )
    client = browser("lead")
    shown = url("question_template", template.pk)
    page(client, shown)
    place = sent(client, shown, TABLE.encode())
    assert "the question: line 1: a number is too large" in page(client, place, 422)
    typed = {"key": "u", "question": template.question, "rules-0-answer": "Yes."}
    rules_form = {"rules-TOTAL_FORMS": 1, "rules-INITIAL_FORMS": 0}
    answer = client.post(url("new_question_template"), typed | rules_form)
    assert (answer.status_code, QuestionTemplate.objects.count()) == (422, 1)
