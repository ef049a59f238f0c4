"""Coming to a study: by which link, agreeing or not, once however often one clicks."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from experiment.models import Participant, Study
from tests.browser.drivers import NoScriptDriver
from tests.browser.visitor import Visitor

Visit = Callable[..., Visitor]


@pytest.mark.parametrize("has_script", [True, False], ids=["with JavaScript", "without JavaScript"])
def test_agreeing_twice_makes_one_participant(visit: Visit, demo: Study, has_script: bool) -> None:
    visitor = visit(demo, java_script_enabled=has_script)
    visitor.enter()
    visitor.button("I agree and want to take part").dblclick()
    visitor.is_at("about-you")
    visitor.page.go_back()
    visitor.enter()
    visitor.is_at("about-you")
    assert Participant.objects.count() == 1


def test_without_cookies_the_visitor_is_told_what_is_wrong(visit: Visit, demo: Study) -> None:
    visitor = visit(demo)
    visitor.enter()
    visitor.page.context.clear_cookies(name="bb-entry-" + str(demo.pk))
    visitor.button("I agree and want to take part").click()
    expect(visitor.heading).to_have_text("Cookies are needed")


def test_mistakes_about_oneself_are_named_and_the_rest_is_kept(visit: Visit, demo: Study) -> None:
    visitor = visit(demo, NoScriptDriver, java_script_enabled=False)
    visitor.enter()
    visitor.agree()
    visitor.page.locator("#id_age_0").fill("7")
    visitor.page.get_by_label("Country where you live").select_option("FR")
    visitor.button("Continue").click()
    summary = visitor.page.locator("#error-summary")
    # Age is wrong; gender, position and experience are missing.
    expect(summary.get_by_role("listitem")).to_have_count(4)
    expect(visitor.page.get_by_label("Country where you live")).to_have_value("FR")
    expect(visitor.page.locator("#id_age_0")).to_have_value("7")
    visitor.page.locator("#id_age_0").fill("")
    visitor.page.locator("#id_age_1").check()
    visitor.page.locator("#id_gender").get_by_label("Prefer not to say").check()
    visitor.page.get_by_label("Current position").select_option("prefer_not_to_say")
    visitor.page.locator("#id_experience_years_0").fill("2.5")
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
    Study.objects.filter(pk=demo.pk).update(
        completion_url="https://panel.example/complete?cc=C0DE&id={external_id}"
    )
    visitor = visit(demo).start()
    Participant.objects.update(stage="debrief", external_source="sona", external_id="a b&c")
    visitor.page.route(
        "https://panel.example/**",
        lambda route: route.fulfill(body="<h1>Thanks, panel</h1>", content_type="text/html"),
    )
    visitor.enter()
    visitor.page.get_by_label("I looked something up").check()
    visitor.button("Finish").click()
    expect(visitor.heading).to_have_text("Thanks, panel")
    assert visitor.page.url == "https://panel.example/complete?cc=C0DE&id=a%20b%26c"
    person = visitor.participant
    assert (person.stage, person.cheated) == ("finished", True)
    assert "admitted_cheating" in person.excluded_by.split()
