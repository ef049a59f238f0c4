import pytest

from experiment.checks import (
    base_url_is_served,
    codes_open,
    https_is_consistent,
    proxies_are_said,
)
from tests.factories import make_participant, make_study


def test_a_base_url_that_the_site_refuses_is_named(settings):
    settings.ALLOWED_HOSTS = ["lab.example.org"]
    settings.BASE_URL = "https://lab.example.org"
    assert base_url_is_served() == []
    settings.BASE_URL = "https://elsewhere.example.org"
    assert [message.id for message in base_url_is_served()] == ["experiment.W001"]


def test_plain_links_of_an_https_site_are_named(settings):
    settings.HTTPS, settings.BASE_URL = True, "http://lab.example.org"
    assert [message.id for message in https_is_consistent()] == ["experiment.W002"]
    settings.BASE_URL = "https://lab.example.org"
    assert https_is_consistent() == []


@pytest.mark.django_db
def test_a_lost_key_of_participants_codes_is_named(settings):
    study = make_study()
    assert codes_open(databases=["default"]) == []
    for _ in range(5):
        make_participant(study)
    assert codes_open(databases=["default"]) == []
    settings.WITHDRAWAL_KEY = "made anew, since the file was lost"
    make_participant(study)
    assert [message.id for message in codes_open(databases=["default"])] == ["experiment.W003"]
    assert codes_open(databases=None) == []


def test_behind_tls_the_number_of_proxies_is_asked_for_until_it_is_set(settings):
    found = []
    for is_https, is_said in ((False, False), (True, False), (True, True)):
        settings.HTTPS, settings.NUM_PROXIES_IS_SAID = is_https, is_said
        found.append([warning.id for warning in proxies_are_said()])
    assert found == [[], ["experiment.W004"], []]
