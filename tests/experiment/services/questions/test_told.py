"""What participants are told where a study asks questions: what they do, how long it takes, and who reads what they write."""

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.urls import reverse

from experiment.models import Study
from experiment.services.counts import study_duration
from experiment.services.questions import take_questions
from experiment.services.study_setup import change_study, create_study, default_briefing
from tests.experiment.asked import make_asking_study
from tests.factories import make_question, make_research_field, make_study, make_user

pytestmark = pytest.mark.django_db
READER = "Grader 9 of Example Inc."


@pytest.fixture
def field():
    field = make_research_field("matter")
    for n in range(4):
        make_question(f"q-{n}", field="matter")
    return field


@pytest.mark.parametrize("language", ["en", "de"])
def test_the_built_in_briefing_follows_what_there_is_to_do(field, language):
    study, lena = make_study(), make_user("lena")
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
    study, lena = make_study(), make_user("lena")
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
    assert "after one for practice" not in shown


def test_the_consent_page_names_who_else_reads_what_is_written(client: Client):
    study = make_asking_study(counts=(0, 0, 0))
    page = client.get(study.get_absolute_url()).content.decode()
    assert "people of this study" in page
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
        with pytest.raises(ValidationError, match="without being told of this reader"):
            change_study(study, {"answers_read_by": reader}, by=lena)
    change_study(study, {"answers_read_by": ""}, by=lena)
    with pytest.raises(ValidationError, match="without being told of this reader"):
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
