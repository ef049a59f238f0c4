"""Every page of the lab: accessible, no wider than the window, and within the site's policy of scripts and styles."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Browser, Page

from experiment.lab.routes import ADMIN, PUBLIC, Route, routes
from experiment.models import Study
from tests.browser.accessibility import faults
from tests.config.test_rights import address, arguments
from tests.factories import make_participant, make_research_field, make_study, make_user

pytestmark = pytest.mark.django_db(transaction=True)
# What an address can answer besides a page, by the name of its route
NO_PAGES = ("_live", "_count", "_preview")


def pages() -> list[Route]:
    """Those that a browser opens as a page of its own."""
    return [
        route
        for route in routes()
        if "GET" in route.methods
        and route.access != PUBLIC
        and not route.address.startswith((ADMIN, "api/"))
        and not route.name.endswith(NO_PAGES)
    ]


@pytest.fixture
def page(browser: Browser, live_server: Any) -> Iterator[Page]:
    """A page of a site administrator who has signed in."""
    make_user("boss", is_superuser=True, is_staff=True)
    context = browser.new_context(base_url=live_server.url)
    page = context.new_page()
    page.goto(reverse("lab:sign_in"))
    page.get_by_label("Username").fill("boss")
    page.get_by_label("Password").fill("boss")
    page.get_by_role("button", name="Sign in").click()
    yield page
    context.close()


@pytest.fixture
def study() -> Study:
    """A study with people at several places, and the field of research of its name."""
    study = make_study()
    make_research_field(study.slug)
    for judged in (None, None, 2):
        make_participant(study, judged=judged)
    return study


def test_every_page_is_accessible_and_fits_at_any_width(page: Page, study: Study) -> None:
    troubles: list[str] = []
    page.on("console", lambda m: troubles.append(m.text) if m.type == "error" else None)
    page.on("pageerror", lambda error: troubles.append(str(error)))
    found: dict[str, list[str]] = {}
    opened = 0
    for route in pages():
        url = address(route, arguments(route, study))
        answer = page.request.get(url)
        if not (answer.ok and answer.headers["content-type"].startswith("text/html")):
            continue  # a file or a picture, or nobody made it yet
        page.goto(url)
        opened += 1
        if wrong := [*troubles, *faults(page)]:
            found[url] = wrong
        troubles.clear()
    assert found == {}
    assert opened > 25
