"""What pages promise of a withdrawal is what the study's policy does."""

import pytest
from django.test import Client

from experiment.models import Study
from tests.experiment.people import client_of, finish, open_page
from tests.factories import make_study

pytestmark = pytest.mark.django_db
ERASED = {
    "": ("have your answers erased", "Ihre Antworten <a"),
    "debrief/": ("have your answers deleted", "Ihre Antworten später löschen"),
    "done/": ("have your answers deleted", "Ihre Antworten später löschen"),
}


@pytest.mark.parametrize("page", ERASED)
@pytest.mark.parametrize("language", ["en", "de"])
def test_answers_are_promised_to_be_erased_only_where_they_are(page: str, language: str) -> None:
    study = make_study(recruitment="open", language=language)
    promise = ERASED[page][language == "de"]
    client = at_page(study, page)
    assert promise in shown(client, study, page)
    Study.objects.update(withdrawal_policy="anonymise")
    kept = shown(client, study, page)
    assert promise not in kept
    assert {"en": "later", "de": "später"}[language] in kept


def at_page(study: Study, page: str) -> Client:
    if page == "done/":
        return client_of(finish(study))
    return Client() if page == "" else open_page(study, "debrief").client


def shown(client: Client, study: Study, page: str) -> str:
    return client.get(study.get_absolute_url() + page, follow=True).content.decode()
