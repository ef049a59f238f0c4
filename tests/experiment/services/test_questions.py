"""A study draws questions, beside its test cases or alone; its file takes them along, and participants are told of them."""

import json

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management.base import CommandError
from django.db import DatabaseError, transaction
from django.test import Client
from django.urls import reverse

from experiment.models import AuditEvent, Item, QuestionTemplate, ResearchField, Study
from experiment.services.counts import study_duration
from experiment.services.curation.remarks import standing
from experiment.services.file_places import StudyFileError
from experiment.services.item_choice import ItemChoice, choose_items, read_keys, taken
from experiment.services.questions import (
    QuestionChoice,
    choose_questions,
    pin_questions,
    take_questions,
)
from experiment.services.readiness import item_problems, preflight
from experiment.services.study_file import as_bytes, copy_study, create_from_file
from experiment.services.study_setup import change_study, create_study, default_briefing
from scoring.models import ScoringRun
from scoring.services.texts import texts_of
from tests.experiment.asked import make_asking_study
from tests.experiment.lab_client import run
from tests.factories import make_question, make_research_field, make_study, make_user
from tests.forms import Browser

pytestmark = pytest.mark.django_db


MADE = {"table": "a" * 64, "row": 2, "rule": 1, "values": {"a": "b"}, "sha256": "b" * 64}


@pytest.fixture
def field():
    field = make_research_field("matter")
    template = QuestionTemplate.objects.create(field=field, key="t-1")
    for n in range(4):
        made_from = MADE if n == 3 else {}
        make_question(f"q-{n}", field="matter", template=template, made_from=made_from)
    make_question("q-0", version=2, field="matter", expert_answer="Newer.", template=template)
    make_question("draft", field="matter", status="draft")
    return field


def make_reader(field: ResearchField) -> User:
    lena = make_user("lena")
    field.members.add(lena, through_defaults={"role": "reader"})
    return lena


def drawn(study: Study) -> list[str]:
    return [str(item) for item in study.items.filter(kind="question").order_by("key")]


def test_a_study_takes_the_newest_accepted_questions_and_keeps_its_test_cases(field):
    study = make_study()
    before = taken(study).strata
    take_questions(study, field, 3)
    assert drawn(study) == ["q-0 v2", "q-1 v1", "q-2 v1", "q-3 v1"]
    assert Study.objects.get().trial_counts["question"] == 3
    assert taken(study).strata == before | {"question": 4}
    choose_items(study, ItemChoice())
    assert drawn(study) == ["q-0 v2", "q-1 v1", "q-2 v1", "q-3 v1"]
    take_questions(study, field, 50)
    assert Study.objects.get().question_items == 4
    take_questions(study, None, 3)
    assert "question" not in taken(study).strata
    assert taken(study).strata["human"] == before["human"]
    assert Study.objects.get().question_items == 0


def test_a_study_of_questions_alone_names_their_field_until_somebody_takes_part(field):
    of_file = create_study("file", "brainbench")
    pin_questions(of_file, ["q-0", "q-1"], each=2)
    assert (of_file.field, of_file.catch_items, of_file.question_items) == ("matter", 0, 2)
    study, lena = create_study("ask", "brainbench"), make_reader(field)
    take_questions(study, field, 3, by=lena)
    study.refresh_from_db()
    # No abstract can be judged, and so none catches anybody
    assert study.trial_counts == {"human": 0, "machine": 0, "catch": 0, "question": 3}
    assert (study.field, study.tasks) == ("matter", "questions")
    changes = AuditEvent.objects.filter(study="ask", action="study_changed", actor="lena")
    assert ["field"] in [event.details["changed"] for event in changes]
    other = make_research_field("plants")
    make_question("p-1", field="plants")
    take_questions(study, other, 3)
    assert Study.objects.get(slug="ask").field == "plants"
    assert of_questions(study) == []
    Study.objects.filter(pk=study.pk).update(version=1)
    study.refresh_from_db()
    take_questions(study, field, 3, "another field")
    assert Study.objects.get(slug="ask").field == "plants"
    assert len(of_questions(study)) == 1


def test_a_field_of_ones_own_and_that_of_abstracts_stay(field):
    study = create_study("ask", "brainbench", field="elements")
    take_questions(study, field, 3)
    assert Study.objects.get(slug="ask").field == "elements"
    study = make_study()
    take_questions(study, field, 3)
    assert (Study.objects.get(slug=study.slug).field, study.catch_items) == ("neuroscience", 2)
    told = "its questions are about matter, but participants and models are told that the field is neuroscience"
    assert of_questions(study) == [told]


def of_questions(study: Study) -> list[str]:
    """The problems that are named of their field."""
    return [str(each) for each in preflight(study) if str(each).startswith("its questions are")]


def test_another_number_of_the_same_questions_is_in_the_audit_trail(field):
    study, lena = make_study(), make_reader(field)
    take_questions(study, field, 3, by=lena)
    Study.objects.filter(pk=study.pk).update(version=1)
    study.refresh_from_db()
    changes = AuditEvent.objects.filter(study=study.slug, action="study_changed")
    n_before = changes.count()
    take_questions(study, field, 2, by=lena)
    assert Study.objects.get().question_items == 2
    event = changes.latest("pk")
    assert (changes.count(), event.details["changed"]) == (n_before + 1, ["question_items"])
    assert event.actor == "lena"
    # The same once more changes nothing
    take_questions(study, field, 2, by=lena)
    assert changes.count() == n_before + 1


def test_questions_are_never_scored_as_pairs_nor_read_for_brackets(field):
    study = make_study()
    run = ScoringRun(study=study, condition="full")
    n = len(texts_of(run).texts)
    take_questions(study, field, 3)
    assert len(texts_of(run).texts) == n
    item = Item.objects.get(key="q-1")
    assert (item.original, item.altered, item.segments[0].text) == (item.markup, "", item.markup)
    assert standing(item).may_be_reviewed
    item.expert_answer = "unseen\u200b"
    assert not standing(item).may_be_reviewed


def test_a_study_of_questions_alone_is_not_left_without_any(field):
    study = create_study("ask", "brainbench", human_items=0, machine_items=0, question_items=2)
    take_questions(study, field, 2)
    assert not [p for p in item_problems(study) if "question" in str(p)]
    with pytest.raises(ValidationError):
        take_questions(study, None, 2)
    assert len(drawn(study)) == 4


def chosen(field, **choice) -> list[str]:
    return [item.key for item in choose_questions(field, QuestionChoice(**choice), by=None)]


def test_a_study_takes_some_questions_of_a_field(field):
    other = QuestionTemplate.objects.create(field=field, key="t-2")
    for n in range(4, 7):
        topic = {"topic": ["Doing", "Being"]}
        make_question(f"q-{n}", field="matter", template=other, categories=topic)
    assert chosen(field) == [f"q-{n}" for n in range(7)]
    assert chosen(field, templates=["t-2"]) == ["q-4", "q-5", "q-6"]
    both = {"categories": {"topic": ["Being"]}, "templates": ["t-1", "t-2"]}
    assert chosen(field, **both) == ["q-4", "q-5", "q-6"]
    assert chosen(field, keys=read_keys(["q-1", "q-6"], "x")) == ["q-1", "q-6"]
    drawn_ones = [chosen(field, n=4, seed=seed) for seed in (1, 1, *range(2, 9))]
    assert drawn_ones[0] == drawn_ones[1]
    assert len({tuple(keys) for keys in drawn_ones}) > 1
    assert all(sum(key > "q-3" for key in keys) == 2 for keys in drawn_ones)
    unknown = {"keys": read_keys(["draft"], "x"), "templates": ["t-9"], "categories": {"a": ["b"]}}
    with pytest.raises(ValidationError) as refused:
        chosen(field, **unknown)
    assert len(refused.value.messages) == 3
    with pytest.raises(ValidationError, match="matches all criteria"):
        chosen(field, keys=read_keys(["q-1"], "x"), templates=["t-2"])


def test_the_set_up_and_the_command_take_questions_of_a_field(field):
    study = make_study()
    make_research_field("empty")
    client = Browser()
    client.force_login(make_user("boss", is_superuser=True))
    page, address = (reverse(f"lab:setup_{of}", args=[study.slug]) for of in ("items", "questions"))
    offered = client.get(page).context["question_form"].fields["questions_of"].choices
    assert [slug for slug, _ in offered] == ["", "matter"]
    sent = {"questions_of": "matter", "question_items": "2"}
    for choice, n in (({}, 4), ({"keys": "q-1\nq-2 # two"}, 2), ({"n": "3", "seed": "4"}, 3)):
        assert client.post(address, sent | choice).status_code == 302
        assert len(drawn(study)) == n
    for wrong in ({"question_items": "0"}, {"templates": "t-1, t-9"}):
        assert client.post(address, sent | wrong).status_code == 422
    item = study.items.filter(kind="question")[0]
    assert str(item) in client.get(page).content.decode()
    shown = client.get(reverse("lab:test_case", args=[study.slug, item.pk])).content.decode()
    assert item.expert_answer in shown
    asked = ("choose_questions", study.slug, "--field", "matter", "--each", "5", "--json")
    told = json.loads(run(*asked, "--categories", "Topic:Doing", "--items", "q-3"))
    assert (drawn(study), told["trials"]["question"]) == (["q-3 v1"], 1)
    for wrong in (("--categories", "Doing"), ("--templates", "t-9"), ("--n", "0")):
        with pytest.raises(CommandError):
            run(*asked, *wrong)


def test_a_studys_file_takes_its_questions_along(field):
    study = make_study()
    take_questions(study, field, 3)
    again = copy_study(study, slug="again", title="Again")
    assert drawn(again) == drawn(study)
    assert again.question_items == 3
    content = as_bytes(study)
    Study.objects.all().delete()
    Item.objects.filter(kind="question").delete()
    QuestionTemplate.objects.all().delete()
    made = create_from_file(content)
    item = made.items.get(key="q-0")
    assert (item.kind, item.expert_answer) == ("question", "Newer.")
    assert item.categories == {"topic": ["Doing"]}
    assert item.template is not None
    assert item.template.key == "t-1"
    of_two = made.items.filter(key__in=("q-1", "q-3")).order_by("key")
    assert [item.made_from for item in of_two] == [{}, MADE]
    data = json.loads(content)
    for entry in data["items"]:
        if entry["kind"] == "question":
            entry |= {"key": "other", "expert_answer": "Other.", "categories": ["x"]}
            entry["made_from"] = MADE | {"row": "2"}
            break
    data["items"][-1]["categories"] = {"a:b": []}
    with pytest.raises(StudyFileError) as refused:
        create_from_file(json.dumps(data).encode(), slug="third", title="Third")
    places = {m.partition(":")[0].partition(".")[2] for m in refused.value.messages}
    assert places >= {"sha256", "categories", "made_from"}
    assert any("“a:b”" in message for message in refused.value.messages)


def test_the_answer_of_an_accepted_question_never_changes(field):
    with pytest.raises(DatabaseError, match="never changes"), transaction.atomic():
        Item.objects.filter(key="q-1").update(expert_answer="Other.")
    Item.objects.filter(key="draft").update(expert_answer="Other.")


# What participants are told: what they do, how long it takes, and who reads what they write

READER = "Grader 9 of Example Inc."


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_built_in_briefing_follows_what_there_is_to_do(field, language):
    study, lena = make_study(), make_reader(field)
    Study.objects.update(language=language, briefing=default_briefing(language))
    study.refresh_from_db()
    texts = [study.briefing]
    take_questions(study, field, 2, by=lena)
    texts.append(Study.objects.get().briefing)
    change_study(study, {"human_items": 0, "machine_items": 0, "catch_items": 0}, by=lena)
    texts.append(Study.objects.get().briefing)
    assert study.briefing == texts[-1]
    tasks = ("abstracts", "both", "questions")
    assert texts == [default_briefing(language, task) for task in tasks]
    assert len(set(texts)) == 3
    assert "bstract" not in texts[2]


def test_a_briefing_in_ones_own_words_stays(field):
    study, lena = make_study(), make_reader(field)
    change_study(study, {"briefing": "Our own words about abstracts."}, by=lena)
    take_questions(study, field, 2, by=lena)
    assert Study.objects.get().briefing == "Our own words about abstracts."


def test_a_study_made_of_questions_alone_is_told_so(client: Client):
    sizes = {"human_items": 0, "machine_items": 0, "catch_items": 0, "question_items": 5}
    study = create_study("ask", "brainbench", contact="lab@example.org", **sizes)
    assert study.briefing == default_briefing("en", "questions")
    assert "choices" not in study.consent.text
    # Five answers of one to three minutes, and the pages beside them; no practice
    duration = study_duration(study)
    assert (duration.low, duration.high) == (10, 20)
    other = create_study("judge", "brainbench", contact="lab@example.org")
    assert (study_duration(other).low, study_duration(other).high) == (15, 30)
    client.force_login(make_user("ruth", study))
    shown = client.get(reverse("lab:setup_trials", args=["ask"])).content.decode()
    assert "answers 5 questions" in shown
    assert "after a practice abstract" not in shown


def test_the_consent_page_names_who_else_reads_what_is_written(client: Client):
    study = make_asking_study(counts=(0, 0, 0))
    page = client.get(study.get_absolute_url()).content.decode()
    assert "language models that they run" in page
    assert "another server" not in page
    Study.objects.update(answers_read_by=READER)
    page = client.get(study.get_absolute_url()).content.decode()
    assert "another server" in page
    assert READER in page
    # Of a study without questions nothing is read
    plain = make_study("plain", recruitment="open", answers_read_by=READER)
    assert READER not in client.get(plain.get_absolute_url()).content.decode()


def test_a_reader_is_named_before_anybody_takes_part(field):
    study, lena = make_study(), make_user("lena")
    take_questions(study, field, 2)
    change_study(study, {"answers_read_by": READER}, by=lena)
    Study.objects.filter(pk=study.pk).update(version=1)
    change_study(study, {"answers_read_by": READER, "title": "Another"}, by=lena)
    for reader in ("Somebody else", READER + "!"):
        with pytest.raises(ValidationError, match="without information about this reader"):
            change_study(study, {"answers_read_by": reader}, by=lena)
    change_study(study, {"answers_read_by": ""}, by=lena)
    with pytest.raises(ValidationError, match="without information about this reader"):
        change_study(study, {"answers_read_by": READER}, by=lena)


def test_the_set_up_asks_for_a_reader_where_there_are_questions(client: Client, field):
    study = make_study()
    client.force_login(make_user("ruth", study))
    address = reverse("lab:setup_general", args=[study.slug])
    form = client.get(address).context["form"]
    assert "answers_read_by" not in form.fields
    take_questions(study, field, 2)
    form = client.get(address).context["form"]
    sent = {name: form[name].value() or "" for name in form.fields}
    assert client.post(address, sent | {"answers_read_by": READER}).status_code == 302
    assert Study.objects.get().answers_read_by == READER
    rules = client.get(reverse("lab:setup_rules", args=[study.slug])).context["form"]
    assert rules["question_min_rt_ms"].value() == "0"
