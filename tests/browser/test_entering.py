"""Coming to a study: by which link, agreeing or not, once however often one clicks."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone
from playwright.sync_api import expect

from experiment.models import Participant, Study
from experiment.services.counts import study_duration
from tests.browser.drivers import NoScriptDriver
from tests.browser.visitor import Visitor
from tests.factories import make_channel, recruited

Visit = Callable[..., Visitor]


@pytest.mark.parametrize("has_script", [True, False], ids=["with JavaScript", "without JavaScript"])
def test_agreeing_twice_makes_one_participant(visit: Visit, demo: Study, has_script: bool) -> None:
    visitor = visit(demo, java_script_enabled=has_script)
    visitor.enter()
    visitor.button("I agree and want to take part").dblclick()
    visitor.is_at("about-you")
    visitor.page.go_back()
    visitor.is_at("about-you")
    visitor.enter()
    visitor.is_at("about-you")
    assert Participant.objects.count() == 1


def test_without_cookies_the_visitor_is_told_what_is_wrong(visit: Visit, demo: Study) -> None:
    visitor = visit(demo)
    visitor.enter()
    visitor.page.context.clear_cookies(name="bb-entry-" + str(demo.pk))
    visitor.button("I agree and want to take part").click()
    expect(visitor.heading).to_have_text("Cookies are needed")


def test_consent_says_what_is_stored_how_long_and_gives_the_code(visit: Visit, demo: Study) -> None:
    Study.objects.update(
        ethics_number="EC/7", ethics_body="Board of the lab", ethics_contact="board@lab.example"
    )
    visitor = visit(demo)
    visitor.enter("?PROLIFIC_PID=5f3a&STUDY_ID=s1&SESSION_ID=e1")
    main = visitor.page.get_by_role("main")
    duration = study_duration(demo)
    for said in (
        f"{demo.n_trials} abstracts",
        f"{duration.low} to {duration.high} minutes",
        "If you leave before the end",
        "your comment",
        "Prolific put these ids into your link",
        "5f3a",
        "e1",
        "EC/7",
        "board@lab.example",
    ):
        expect(main).to_contain_text(said)
    until = timezone.now().date() + timedelta(days=demo.external_id_days)
    expect(main).to_contain_text(f"until {until.day} {until:%B %Y}")
    code = visitor.page.locator("#withdrawal-code").inner_text()
    visitor.agree()
    assert visitor.participant.withdrawal_code == code
    expect(visitor.page.get_by_role("contentinfo")).to_contain_text(code)


def test_a_lost_cookie_ends_where_the_way_back_is(visit: Visit, demo: Study) -> None:
    visitor = visit(demo)
    visitor.start()
    Study.objects.update(contact="lab@example.org")
    visitor.page.context.clear_cookies(name=f"bb-participant-{demo.pk}")
    visitor.page.goto(f"{visitor.home}trial/1/")
    expect(visitor.heading).to_have_text("We cannot tell who you are")
    expect(visitor.page.get_by_role("banner")).to_contain_text(demo.title)
    expect(visitor.page.get_by_role("contentinfo")).to_contain_text("lab@example.org")
    expect(visitor.link("To the first page")).to_be_visible()
    visitor.page.get_by_label("Your own code").fill("nonsense")
    visitor.button("Go on with this code").click()
    expect(visitor.page.locator("#code-error")).to_be_visible()
    visitor.page.get_by_label("Your own code").fill(visitor.participant.withdrawal_code.lower())
    visitor.button("Go on with this code").click()
    visitor.is_at("trial/1")


def test_a_link_of_the_same_session_goes_on_in_another_browser(visit: Visit, demo: Study) -> None:
    link = "?PROLIFIC_PID=5f3a&STUDY_ID=s1&SESSION_ID=e1"
    first = visit(demo)
    first.enter(link)
    first.agree()
    second = visit(demo)
    second.enter(link)
    second.is_at("about-you")
    third = visit(demo)
    third.enter("?PROLIFIC_PID=5f3a&STUDY_ID=s1&SESSION_ID=other")
    expect(third.heading).to_have_text("You have been here before")
    assert Participant.objects.count() == 1


def test_mistakes_about_oneself_are_named_and_the_rest_is_kept(visit: Visit, demo: Study) -> None:
    visitor = visit(demo, NoScriptDriver, java_script_enabled=False)
    visitor.enter()
    visitor.agree()
    visitor.page.locator("#id_age_0").fill("7")
    visitor.page.get_by_label("Country where you live").select_option("FR")
    visitor.button("Continue").click()
    # Age is wrong; gender, position and experience are missing.
    expect(visitor.page.locator(".field-error")).to_have_count(4)
    age = visitor.page.get_by_role("group", name="Age in years")
    expect(age.get_by_role("alert")).to_contain_text("Please give a whole number from 18 to 110")
    expect(visitor.page.locator("#id_gender-group")).to_be_focused()
    expect(visitor.page.get_by_label("Country where you live")).to_have_value("FR")
    expect(visitor.page.locator("#id_age_0")).to_have_value("7")
    visitor.page.locator("#id_age_0").fill("")
    visitor.page.locator("#id_age_1").check()
    visitor.page.locator("#id_gender").get_by_label("Prefer not to say").check()
    visitor.page.locator("#id_experience_years_0").fill("2.5")
    visitor.button("Continue").click()
    expect(visitor.page.get_by_label("Current position")).to_be_focused()
    expect(visitor.page.locator(".field-error")).to_have_count(1)
    visitor.page.get_by_label("Current position").select_option("prefer_not_to_say")
    visitor.button("Continue").click()
    visitor.is_at("practice")
    assert visitor.participant.demographics == {
        "gender": "prefer_not_to_say",
        "age": "prefer_not_to_say",
        "country": "FR",
        "position": "prefer_not_to_say",
        "experience_years": "2.5",
    }


def test_at_the_end_the_finisher_is_sent_to_the_completion_page(visit: Visit, demo: Study) -> None:
    make_channel(demo, completion_url="https://panel.example/complete?cc=C0DE&id={external_id}")
    visitor = visit(demo).start()
    Participant.objects.update(stage="debrief")
    recruited(visitor.participant, "a b&c", "sona")
    visitor.page.route(
        "https://panel.example/**",
        lambda route: route.fulfill(body="<h1>Thanks, panel</h1>", content_type="text/html"),
    )
    visitor.enter()
    visitor.page.get_by_label("I looked something up").check()
    visitor.finish()
    expect(visitor.heading).to_have_text("Thanks, panel")
    assert visitor.page.url == "https://panel.example/complete?cc=C0DE&id=a%20b%26c"
    person = visitor.participant
    assert (person.stage, person.cheated) == ("finished", True)
    assert "admitted_cheating" in person.excluded_by.split()
