"""Every page, error states included, against WCAG 2.2 A and AA, at any width and size of text."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import Error, Page, expect

from experiment.lab.routes import ADMIN, PUBLIC, Route, routes
from experiment.models import Participant, Study, SurveyAnswer
from scoring.domain.grading.rubric import BIOSCORE
from scoring.models import GradingRun, ScoringRun
from scoring.services.open_model import ensure_language_model
from tests.browser.accessibility import MISFITS, axe_source, faults, look, violations
from tests.browser.visitor import Answer, Visitor, other
from tests.config.rights_examples import address, arguments
from tests.factories import (
    make_channel,
    make_participant,
    make_research_field,
    make_study,
    make_survey,
    make_user,
)
from tests.scoring.lab.rows import published

pytestmark = pytest.mark.django_db(transaction=True)
Visit = Callable[..., Visitor]


def see(visitor: Visitor, heading: str) -> None:
    expect(visitor.heading).to_have_text(heading)
    look(visitor.page)


def see_focus(visitor: Visitor, selector: str) -> None:
    expect(visitor.page.locator(selector)).to_be_focused()
    look(visitor.page)


def test_axe_is_recent_and_sees_what_is_wrong(open_browser: Callable[..., Any]) -> None:
    major, minor = map(int, re.findall(r"axe v(\d+)\.(\d+)", axe_source())[0])
    assert (major, minor) >= (4, 9)
    page = open_browser().new_page()
    page.set_content("<main><input></main>")
    assert any(line.startswith("label:") for line in violations(page))


def test_the_pages_from_consent_to_an_abstract_in_every_state(visit: Visit, demo: Study) -> None:
    visitor = visit(demo)
    visitor.enter()
    see(visitor, demo.title)
    visitor.agree()
    see(visitor, "About you")
    visitor.button("Continue").click()
    see_focus(visitor, "#id_gender-group")
    assert visitor.page.title().startswith("Error: ")
    visitor.fill_demographics()
    visitor.go_on()
    see_focus(visitor, "#side-a")
    visitor.fill(Answer(visitor.wrong_practice_side, 70, 30))
    visitor.go_on()
    see_focus(visitor, "#practice-feedback")
    visitor.driver.choose(other(visitor.wrong_practice_side))
    visitor.go_on()
    expect(visitor.heading).to_have_text("The study starts now")
    visitor.page.locator("#practice-feedback summary").click()
    look(visitor.page)

    visitor.press_unhurried("Show the first abstract")
    visitor.is_at("trial/1")
    visitor.driver.choose("A")
    look(visitor.page)
    visitor.button("only A").click()
    look(visitor.page)
    visitor.button("only B").click()
    look(visitor.page)
    visitor.button("both").click()
    visitor.driver.choose("B")
    visitor.go_on()
    expect(visitor.error("recognised")).not_to_be_empty()
    look(visitor.page)
    visitor.answer_recognised()
    visitor.go_on()
    see_focus(visitor, "#confidence")
    visitor.page.context.set_offline(True)
    visitor.go_on()
    expect(visitor.page.locator("#send-status")).to_contain_text("No connection")
    look(visitor.page)


def test_the_pages_of_survey_questions(visit: Visit, demo: Study) -> None:
    counts = {"human_items": 1, "machine_items": 0, "catch_items": 0}
    Study.objects.filter(pk=demo.pk).update(**counts)
    demo.refresh_from_db()
    make_survey(demo)
    ends = {"points": 11, "low": "not at all " * 7 + "!", "high": "completely " * 7 + "!"}
    make_survey(demo, "scale", name="trust", place="after", parts=ends, required=False)
    visitor = visit(demo)
    page = visitor.page
    visitor.enter()
    visitor.agree()
    visitor.send_demographics()
    see(visitor, "A few questions")
    visitor.button("Continue").click()
    see_focus(visitor, "#id_survey_choice-group")
    for name in ("yes", "7 completely", "blue"):
        page.get_by_role("radio", name=name).check()
    page.get_by_label("Your text?").fill("Two\nlines.")
    page.get_by_label("Your number?").fill("41")
    visitor.button("Continue").click()
    see_focus(visitor, "#id_survey_number")
    page.get_by_label("Your number?").fill("4.50")
    visitor.button("Continue").click()
    visitor.is_at("practice")
    page.go_back()
    visitor.is_at("practice")
    visitor.fill(Answer(other(visitor.wrong_practice_side), 70, 30))
    visitor.go_on()
    visitor.press_unhurried("Show the first abstract")
    visitor.is_at("trial/1")
    visitor.fill(Answer(visitor.trial.original_side, 70, 30))
    visitor.go_on()
    see(visitor, "A few questions")
    page.reload()
    page.get_by_role("radio", name="6").focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    visitor.button("Continue").click()
    expect(visitor.heading).to_have_text("Your results")
    stored = dict(SurveyAnswer.objects.values_list("question__name", "value"))
    of_before = {"choice": "yes", "scale": "7", "number": "4.5", "text": "Two\nlines."}
    assert stored == of_before | {"attention": "blue", "trust": "7"}


def test_the_pages_at_the_end_and_of_withdrawing(visit: Visit, demo: Study) -> None:
    Study.objects.filter(pk=demo.pk).update(human_items=2, machine_items=0, catch_items=0)
    make_channel(demo, completion_url="https://panel.example/done")
    demo.refresh_from_db()
    visitor = visit(demo).start()
    visitor.answer(visitor.trial.original_side)
    visitor.answer(other(visitor.trial.original_side))
    expect(visitor.heading).to_have_text("Your results")
    for result in visitor.page.locator(".result summary").all():
        result.click()
    look(visitor.page)
    visitor.page.evaluate("document.querySelector('#comments').removeAttribute('maxlength')")
    visitor.page.locator("#comments").fill("x" * 5001)
    visitor.finish()
    expect(visitor.page.locator("#comments-error")).to_be_visible()
    see_focus(visitor, "#comments")
    make_channel(demo, completion_url="")
    visitor.page.locator("#comments").fill("")
    visitor.finish()
    see(visitor, "Thank you for taking part")
    make_channel(demo, completion_url="https://panel.example/done")
    visitor.page.reload()
    expect(visitor.link("Complete your participation")).to_be_visible()
    look(visitor.page)

    code = visitor.participant.withdrawal_code
    visitor.page.goto(f"{visitor.home}withdraw/")
    see(visitor, "See or withdraw what is stored about you")
    visitor.page.get_by_label("Your own code").fill("ABCD")
    visitor.button("Show what is stored").click()
    see_focus(visitor, "#code")
    visitor.page.get_by_label("Your own code").fill(code.lower())
    visitor.button("Show what is stored").click()
    see(visitor, "What is stored about you")
    visitor.button("Withdraw my answers").click()
    see(visitor, "Your answers have been withdrawn")
    assert Participant.objects.get().stage == "withdrawn"


def test_the_pages_of_coming_back_and_for_problems(visit: Visit, demo: Study) -> None:
    visitor = visit(demo)
    link = (
        "?PROLIFIC_PID=5f3a9c21e0b7d4a6f8c1b2e3&STUDY_ID=65aa00112233445566778899&SESSION_ID=65bb"
    )
    visitor.enter(link)
    see(visitor, demo.title)  # consent with the ids of the link
    visitor.agree()
    visitor.page.context.clear_cookies()
    visitor.page.goto(f"{visitor.home}practice/")
    see(visitor, "This browser is not recognised")
    visitor.page.get_by_label("Your own code").fill("ABCD")
    visitor.button("Continue with this code").click()
    see_focus(visitor, "#code")
    visitor.enter(link + "guessed")
    see(visitor, "You have been here before")
    visitor.page.context.clear_cookies()
    visitor.enter(link)
    see(visitor, "Have you already started?")
    visitor.button("I started this study and want to continue").click()
    see(visitor, "About you")

    visitor.page.goto(f"{visitor.home}no-such-page/")
    see(visitor, "This page does not exist")
    visitor.page.goto(f"{visitor.home}?id=%00")
    see(visitor, "This page could not be opened")
    visitor.page.context.clear_cookies()
    visitor.enter()
    visitor.page.context.clear_cookies()
    visitor.button("I agree and want to take part").click()
    see(visitor, "The form could not be checked")
    visitor.enter()
    visitor.button("I do not agree").click()
    see(visitor, "Thank you for considering this study")
    make_participant(demo)
    make_channel(demo, screen_out_url="https://panel.example")
    for changes, heading in (
        ({"recruitment": "draft"}, "This study has not started"),
        ({"recruitment": "closed"}, "This study has ended"),
        ({"recruitment": "open", "target_valid": 1}, "This study is full"),
    ):
        Study.objects.filter(pk=demo.pk).update(**changes)
        visitor.enter()
        see(visitor, heading)


def test_the_pages_for_a_participant_who_is_elsewhere_or_too_late(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo).start()
    visitor.fill(Answer("A", 50, 50))
    visitor.page.evaluate("const form = document.forms[0]; form.action = '../2/'; form.submit()")
    see(visitor, "You are at a different step")
    Participant.objects.update(last_seen_at=timezone.now() - timedelta(days=30))
    visitor.enter()
    see(visitor, "It is too late to continue")


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


def test_runs_with_long_names_fit_a_phone(open_as: Callable[..., Page]) -> None:
    study = make_study()
    long = "google/gemini-3.0-flash-preview-thinking-with-a-long-name-2026"
    identity = {"base_url": f"https://models.example/{'v1beta-openai/' * 6}", "sha256": "ab" * 32}
    model = ensure_language_model(long)
    scored = published(study, long)
    identity_of_files = {"files": {f"{'model_results-' * 5}PPL.npy": {"sha256": "ab" * 32}}}
    ScoringRun.objects.filter(pk=scored.pk).update(identity=scored.identity | identity_of_files)
    graded = GradingRun.objects.create(
        study=study,
        generator="chat",
        language_model=model,
        rubric=BIOSCORE.to_json(),
        status="finished",
        identity=identity,
        error=f"{long}: {'x' * 80}",
    )
    make_user("boss", is_superuser=True, is_staff=True)
    page = open_as("boss", "/lab/")
    page.set_viewport_size({"width": 390, "height": 844})
    for address_of in (
        scored.get_absolute_url(),
        graded.get_absolute_url(),
        f"/lab/studies/{study.slug}/grading/",
        reverse("lab:language_model", args=[model.pk]),
    ):
        page.goto(address_of)
        page.evaluate(
            "document.querySelectorAll('main details').forEach((each) => each.open = true)"
        )
        assert page.evaluate(MISFITS) == [], address_of


@pytest.mark.usefixtures("uncomputed")
def test_every_page_of_the_lab(open_as: Callable[..., Page]) -> None:
    study = make_study()
    make_research_field(study.slug)
    for judged in (None, None, 2):  # people at several places
        make_participant(study, judged=judged)
    make_user("boss", is_superuser=True, is_staff=True)
    page = open_as("boss", "/lab/")
    found: dict[str, list[str]] = {}
    opened = 0
    for route in pages():
        url = address(route, arguments(route, study))
        try:
            answer = page.goto(url)
        except Error:  # it is a file, which is downloaded
            continue
        if not (answer and answer.ok and answer.headers["content-type"].startswith("text/html")):
            continue  # a picture, or nobody made it yet
        opened += 1
        # They share their styles: each scheme with every other page
        if wrong := faults(page, ("dark",) if opened % 2 else ("light",)):
            found[url] = wrong
    assert found == {}
    assert opened > 25
