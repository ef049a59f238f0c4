"""The pages of a study whose own texts hold whatever a person may write, for those who come and those who are under way."""

from collections.abc import Sequence

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from lxml import html

from experiment.lab.recruitment import END_PAGES
from experiment.lab.setup import PREVIEWS
from experiment.models import Participant, Study, StudyText
from experiment.services import study_language, taking_part
from experiment.services.study_language import DATE_FORMATS, participant_texts
from tests.experiment.asked import make_asking_study, open_question, position_of
from tests.experiment.http_client import hidden_fields
from tests.experiment.people import (
    MEASURES,
    PAGES,
    RATED,
    AtPage,
    answer,
    client_of,
    enroll,
    finish,
    open_page,
    start,
)
from tests.factories import (
    make_adviser,
    make_arms,
    make_channel,
    make_study,
    make_survey,
    make_user,
)

pytestmark = pytest.mark.django_db
HOSTILE = (
    "zu 50 % im Recht, 20% off",
    "100%",
    "%s %d % d %i %% {} {0!r} { }",
    "a\nb\u2028c",
    '" onx="1" \u202e \ue000own_code\ue001 \ue000nothing\ue001',
    "%(contact)60000000s %(n)9999999s",
    "{low:60000000} {nobody}",
    "<b onx=1>",
)
LONGEST_PAGE = 3_000_000


def reword(study: Study, more: str) -> None:
    """Store it behind every text, as one may have before texts were checked so."""
    StudyText.objects.filter(study=study).delete()
    StudyText.objects.bulk_create(
        StudyText(
            study=study,
            source=message.key,
            forms=[f"{text} {more}" for text in (message.source, message.plural) if text],
        )
        for message in participant_texts()
        if message.source not in DATE_FORMATS or more.isascii()
    )


def opened(at: AtPage) -> None:
    """The page, the same with everything missing, and the page that follows."""
    shown(at.client, at.address)
    sent = at.client.post(at.address, hidden_fields(at.client.get(at.address).text))
    assert sent.status_code in (200, 303, 400, 403, 409, 422), (at.address, sent.status_code)
    whole(sent.text)
    sent = at.send()
    assert sent.status_code in (200, 303, 409), (at.address, sent.status_code)
    if sent.status_code == 303:
        shown(at.client, sent["Location"])


def shown(client: Client, address: str, *statuses: int) -> None:
    response = client.get(address, follow=True)
    assert response.status_code in (statuses or (200,)), (address, response.status_code)
    whole(response.text)


def held(person: Participant) -> None:
    """Checks the page of all that is stored of this person, as the own code shows it."""
    address = f"{person.study.get_absolute_url()}withdraw/"
    response = Client().post(address, {"code": person.withdrawal_code})
    assert response.status_code == 200
    whole(response.text)


def whole(page: str) -> None:
    assert len(page) < LONGEST_PAGE
    if page.strip():
        found = html.document_fromstring(page).xpath("//*[@onx]")
        assert [html.tostring(each)[:200] for each in found] == []


@pytest.mark.parametrize("more", HOSTILE)
def test_every_page_comes_whatever_the_own_texts_hold(more: str, client: Client) -> None:
    pages_of_taking_part(more)
    pages_of_survey_questions(more)
    pages_with_advice_and_of_links(more, client)


def pages_of_taking_part(more: str) -> None:
    """Checks the pages of those who come now, and of those who were under way when the texts were changed."""
    study = make_study(catch_items=2, recruitment="open", ethics_number="7", ethics_body="Board")
    asking = make_asking_study()
    under_way = [open_page(study, page) for page in PAGES]
    for each in (study, asking):
        reword(each, more)
    for at in under_way:
        opened(at)
    for page in PAGES:
        opened(open_page(study, page))
    shown(client_of(finish(study)), f"{study.get_absolute_url()}done/")
    person = start(asking)
    opened(open_question(answer(person, until=position_of(person, "question") - 1)))
    shown(client_of(finish(asking)), f"{asking.get_absolute_url()}debrief/")
    for each in (study, asking):
        held(finish(each))
    for page in ("withdraw/", "return/", "trial/99/"):
        shown(Client(), study.get_absolute_url() + page, 200, 403, 404)
    shown(Client(), f"{study.get_absolute_url()}?source=none", 200, 404)


def pages_of_survey_questions(more: str) -> None:
    study = make_study("survey", catch_items=0, recruitment="open")
    make_survey(study)
    reword(study, more)
    home = study.get_absolute_url()
    client = client_of(enroll(study))
    for sent in ({}, {"age_number": "7"}, {"age_number": "x", "experience_years_number": "1.23"}):
        whole(refused(client, f"{home}about-you/", sent))
    person = taking_part.save_demographics(enroll(study), {"age": "34"}, timezone.now())
    client = client_of(person)
    shown(client, f"{home}questions-before/")
    for number in ("", "nine", "99", "1.23456", "9" * 40):
        given = {"survey_number": number, "survey_text": "x" * 6_000, "survey_choice": "maybe"}
        whole(refused(client, f"{home}questions-before/", given))


def refused(client: Client, address: str, fields: dict[str, str]) -> str:
    response = client.post(address, fields)
    assert response.status_code == 422
    return response.text


def pages_with_advice_and_of_links(more: str, client: Client) -> None:
    study = make_study("advised", catch_items=0, recruitment="open", withdrawal_policy="anonymise")
    make_arms(study, {"advice": "after"}, {"advice": "before"})
    make_adviser(study, shown_name="the oracle")
    make_channel(study, "prolific", completion_code="C1", screen_out_code="C2")
    reword(study, more)
    for person in (start(study), start(study)):
        here, address = client_of(person), f"{study.get_absolute_url()}trial/1/"
        page = here.get(address)
        assert page.status_code == 200
        fields = hidden_fields(page.text) | MEASURES | {"side": "A", **RATED}
        assert here.post(address, fields).status_code in (200, 303)
        shown(here, address, 200, 409)
        held(person)
    client.force_login(make_user("ruth", study))
    for page in (*PREVIEWS, "advice_after", "advice_before"):
        shown(client, f"/lab/studies/advised/set-up/preview/{page}/")
    for end in END_PAGES:
        shown(client, reverse("lab:link_preview", args=["advised", "prolific", end]))
    shown(client, "/lab/studies/advised/set-up/")
    for given in ("", "PROLIFIC_PID={{%PROLIFIC_PID%}}", "PROLIFIC_PID=" + "x" * 300):
        shown(Client(), f"{study.get_absolute_url()}?{given}", 200, 400)


def test_most_texts_with_a_value_stand_on_these_pages(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others are tried where they stand in their templates (tests/experiment/services/test_any_wording.py)."""
    asked: set[str] = set()
    looked_up = study_language.Catalog._forms

    def forms(catalog: study_language.Catalog, key: str) -> Sequence[str]:
        asked.add(key)
        return looked_up(catalog, key)

    monkeypatch.setattr(study_language.Catalog, "_forms", forms)
    test_every_page_comes_whatever_the_own_texts_hold("100%", client)
    every = {m.key for m in participant_texts() if "%(" in m.source + m.plural}
    assert len(every & asked) > 40
