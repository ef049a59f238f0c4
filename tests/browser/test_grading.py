"""People grade with the keyboard alone; where two differ, a third settles it. Every page is accessible on the way."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import BrowserContext, Page, expect

from experiment.domain.roles import Role
from scoring.domain.grading.rubric import BIOSCORE
from scoring.models import PersonGrade
from scoring.services.asking.settings import Asked
from scoring.services.grading import plans, runs
from tests.browser.accessibility import faults
from tests.factories import make_user
from tests.scoring.services.grading.rows import grading, make_answers, make_empty_study

pytestmark = pytest.mark.django_db(transaction=True)
PEOPLE = "/lab/studies/genes/grading/people/"


def test_two_people_grade_by_keys_and_a_third_settles_what_differs(
    open_browser: Callable[..., BrowserContext], live_server: Any
) -> None:
    study = make_empty_study()
    plans.change(study, rubric=BIOSCORE, people_share=1, double_share=1, tolerance=0.5, seed=1)
    make_answers(study, ["It is gene 1, and my grandmother had it too."])
    errors: list[str] = []

    def page_of(name: str, role: Role, address: str) -> Page:
        user = make_user(name)
        study.memberships.create(user=user, role=role)
        client = Client()
        client.force_login(user)
        context = open_browser()
        value = client.cookies["sessionid"].value
        context.add_cookies([{"name": "sessionid", "value": value, "url": live_server.url}])
        page = context.new_page()
        page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(address)
        return page

    ada = page_of("ada", Role.CURATOR, PEOPLE)
    expect(ada.locator("#shortcuts")).to_be_visible()
    found = faults(ada)
    ada.keyboard.press("3")
    expect(ada.get_by_label("3: exact")).to_be_checked()
    ada.keyboard.press("q")
    expect(ada.get_by_label("minus 0.5")).to_be_checked()
    ada.locator("summary").click()
    ada.get_by_label("Note").fill("a 0")  # letters and digits of a note choose nothing
    expect(ada.get_by_label("3: exact")).to_be_checked()
    ada.get_by_label("minus 0.5").focus()
    ada.keyboard.press("Enter")
    expect(ada.get_by_text("Nothing is left for you to grade.")).to_be_visible()
    ada.get_by_role("link", name="Change my last grade").click()
    expect(ada.get_by_label("3: exact")).to_be_checked()

    ben = page_of("ben", Role.CURATOR, PEOPLE)
    ben.get_by_role("switch").uncheck()
    ben.get_by_label("3: exact").focus()
    ben.keyboard.press("0")
    expect(ben.get_by_label("0: wrong")).not_to_be_checked()
    ben.get_by_role("switch").check()
    ben.get_by_label("3: exact").focus()
    ben.keyboard.press("a")
    expect(ben.get_by_label("Abstains")).to_be_checked()
    ben.keyboard.press("Enter")
    expect(ben.get_by_text("Nothing is left for you to grade.")).to_be_visible()
    expect(ben.get_by_text("to settle")).to_have_count(0)  # one grade is his own

    cleo = page_of("cleo", Role.RESEARCHER, f"{PEOPLE}adjudicate/")
    expect(cleo.get_by_text("2.5 points: 3, less harmless additions")).to_be_visible()
    found += faults(cleo)
    cleo.keyboard.press("2")
    cleo.keyboard.press("Enter")
    expect(cleo.get_by_text("Nothing is left for you to settle.")).to_be_visible()

    run = runs.run(grading(study, Asked("exact", {})))
    for address in ("/lab/studies/genes/grading/", run.get_absolute_url()):
        cleo.goto(address)
        found += faults(cleo)
    assert found == []
    assert errors == []
    grades = PersonGrade.objects.order_by("pk").values_list("points", "is_adjudication")
    assert list(grades) == [(2.5, False), (-1.0, False), (2.0, True)]
