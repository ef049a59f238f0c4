from experiment.checks import base_url_is_served, https_is_consistent


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
