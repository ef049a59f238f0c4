"""Coming to a study: by which link, agreeing or not, once however often one clicks."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session
from django.utils import timezone
from playwright.sync_api import expect

from experiment.models import Participant, Study
from tests.browser.hands import NoScript
from tests.browser.pages import Visitor

Visit = Callable[..., Visitor]


@pytest.mark.parametrize(
    ("query", "stored"),
    [
        (
            "?PROLIFIC_PID=5f3c&STUDY_ID=s-1&SESSION_ID=r-9&other=1",
            ("prolific", "5f3c", "s-1", "r-9"),
        ),
        ("?id=20417", ("sona", "20417", "", "")),
        ("?workerId=A1Z", ("mturk", "A1Z", "", "")),
        ("", ("", "", "", "")),
    ],
)
def test_the_link_of_a_recruitment_site_is_kept_and_the_address_is_clean(
    visit: Visit, demo: Study, query: str, stored: tuple[str, ...]
) -> None:
    visitor = visit(demo)
    visitor.enter(query)
    visitor.is_at("")
    assert "?" not in visitor.page.url
    visitor.agree()
    person = visitor.participant
    assert stored == (
        person.external_source,
        person.external_id,
        person.external_study_id,
        person.external_session_id,
    )


def test_consent_is_stored_with_its_version_hash_and_time(visit: Visit, demo: Study) -> None:
    visitor = visit(demo)
    visitor.enter()
    expect(visitor.page.get_by_text("Taking part is voluntary.")).to_be_visible()
    before = timezone.now()
    visitor.agree()
    person = visitor.participant
    assert person.consent_version == demo.consent
    assert person.consent_hash == demo.consent.sha256
    assert before <= person.consented_at <= timezone.now()


def test_declining_leads_to_a_polite_end_and_stores_nothing(visit: Visit, demo: Study) -> None:
    visitor = visit(demo)
    visitor.enter("?PROLIFIC_PID=5f3c")
    visitor.button("I do not agree").click()
    expect(visitor.heading).to_have_text("Thank you for considering it")
    assert not Participant.objects.exists()
    assert not Session.objects.exists()
    # The link's id stays, for a decision reversed, but only until the browser is closed.
    kept = {c["name"]: c["expires"] for c in visitor.page.context.cookies()}
    kept.pop("csrftoken", None)
    assert kept == {f"bb-entry-{demo.pk}": -1}
    assert visitor.page.evaluate("localStorage.length + sessionStorage.length") == 0


def test_who_declined_is_led_back_to_the_recruitment_site(visit: Visit, demo: Study) -> None:
    Study.objects.filter(pk=demo.pk).update(screen_out_url="https://panel.example/no?x=1")
    visitor = visit(demo)
    visitor.enter()
    visitor.button("I do not agree").click()
    back = visitor.link("Return to where you came from")
    assert back.get_attribute("href") == "https://panel.example/no?x=1"


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


def test_a_consent_text_that_changed_meanwhile_is_read_again(visit: Visit, demo: Study) -> None:
    visitor = visit(demo)
    visitor.enter()
    demo.consent_versions.create(number=2, text="Now we also ask your shoe size.")
    visitor.button("I agree and want to take part").click()
    expect(visitor.heading).to_have_text("Please read again")
    assert not Participant.objects.exists()
    visitor.link("Read again").click()
    expect(visitor.page.get_by_text("shoe size")).to_be_visible()
    visitor.agree()
    assert visitor.participant.consent_version.number == 2


def test_without_cookies_the_visitor_is_told_what_is_wrong(visit: Visit, demo: Study) -> None:
    visitor = visit(demo)
    visitor.enter()
    visitor.page.context.clear_cookies(name="bb-entry-" + str(demo.pk))
    visitor.button("I agree and want to take part").click()
    expect(visitor.heading).to_have_text("Cookies are needed")


def test_mistakes_about_oneself_are_named_and_the_rest_is_kept(visit: Visit, demo: Study) -> None:
    visitor = visit(demo, NoScript, java_script_enabled=False)
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


def test_someone_new_with_another_id_in_the_same_browser_starts_anew(
    visit: Visit, demo: Study
) -> None:
    visitor = visit(demo)
    visitor.enter("?id=1")
    visitor.agree()
    visitor.enter("?id=1")
    visitor.is_at("about-you")
    visitor.enter("?id=2")
    visitor.agree()
    assert list(Participant.objects.values_list("external_id", flat=True)) == ["1", "2"]


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


def test_who_comes_back_after_the_end_sees_the_codes_again(visit: Visit, demo: Study) -> None:
    visitor = visit(demo).start()
    Participant.objects.update(stage="finished", last_seen_at=timezone.now() - timedelta(days=100))
    visitor.enter()
    visitor.is_at("done")
    expect(visitor.page.locator("#completion-code")).to_have_text("DEMO-THANKS")
    code = visitor.participant.withdrawal_code
    expect(visitor.page.locator("#withdrawal-code")).to_have_text(code)
