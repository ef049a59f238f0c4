"""A researcher makes a study in pages alone, and each of these pages fits and is accessible."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from experiment.models import Participant, Study
from tests.browser.accessibility import faults
from tests.factories import make_item, make_research_field, make_study

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def study() -> Study:
    """One that the researcher has, with test cases that others can be made of."""
    study = make_study()
    make_research_field("ecology", "Forests")
    for n in range(8):
        make_item(f"eco-{n}", doi=f"10.1/e{n}", field="ecology", subfield="Forests")
    return study


def test_a_study_is_made_of_the_preset_in_pages_until_nothing_is_missing(
    open_page: Callable[..., Page], study: Study
) -> None:
    page = open_page("/lab/")
    page.get_by_role("link", name="New study").click()
    page.get_by_label("Title").fill("Which forest result is real?")
    expect(page.get_by_label("Short name")).to_have_value("which-forest-result-is-real")
    page.get_by_role("button", name="Make the study").click()
    findings = page.locator(".finding-blocking")
    expect(findings.filter(has_text="no contact")).to_have_count(1)

    findings.filter(has_text="human").get_by_role("link").first.click()
    page.get_by_label("Field of research").select_option("ecology")
    expect(page.locator("#counted")).to_contain_text("8")
    expect(page.locator("#counted")).not_to_contain_text("Machine-created")
    page.get_by_role("button", name="Take these test cases").click()
    expect(page.locator(".notice")).to_contain_text("Saved")

    page.get_by_role("link", name="General").click()
    page.get_by_label("Field of research").fill("ecology")
    page.get_by_label("Contact", exact=True).fill("lab@example.org")
    page.get_by_label("Number of the ethics approval").fill("2026/7")
    page.get_by_label("Who approved").fill("The board")
    page.get_by_role("button", name="Save").click()

    page.get_by_role("link", name="Texts", exact=False).first.click()
    for name in ("preview-phone", "preview-desktop"):
        expect(page.frame_locator(f"[name={name}]").get_by_role("heading", level=1)).to_have_text(
            "Which forest result is real?"
        )
    page.get_by_label("About this study").fill("Please judge 40 abstracts of forests.")
    for name in ("preview-phone", "preview-desktop"):
        expect(page.frame_locator(f"[name={name}]").locator(".prose").first).to_contain_text(
            "40 abstracts of forests"
        )
    page.get_by_role("link", name="Trial", exact=True).click()
    phone = page.frame_locator("[name=preview-phone]")
    expect(phone.get_by_role("heading", level=1)).to_contain_text("Which version")
    expect(page.get_by_label("About this study")).to_have_value(
        "Please judge 40 abstracts of forests."
    )
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Overview").click()
    expect(page.locator(".finding")).to_have_count(1)
    page.locator(".finding").get_by_role("link").click()
    page.get_by_label("About this study").fill("Please judge abstracts of forests.")
    page.get_by_role("button", name="Save").click()
    page.get_by_role("link", name="Overview").click()
    expect(page.get_by_text("Nothing is missing.")).to_be_visible()
    expect(page.locator(".finding")).to_have_count(0)
    assert not Participant.objects.exists()


def test_every_page_fits_and_is_accessible_at_any_width(
    open_page: Callable[..., Page], study: Study
) -> None:
    Study.objects.update(contact="", briefing="You judge 40 abstracts of ecology in 90 minutes.")
    page = open_page("/lab/new-study/")
    page.locator("summary").click()
    found = faults(page)
    page.get_by_label("A copy of a study").check()
    found += faults(page)
    page.get_by_label("Questions alone").check()
    expect(page.get_by_label("Questions of")).to_be_visible()
    expect(page.get_by_label("Study to copy")).to_be_hidden()
    found += faults(page)
    base = "/lab/studies/memory/set-up/"
    for section in ("", "general/", "texts/", "wording/", "items/", "trials/", "rules/", "target/"):
        page.goto(base + section)
        found += faults(page)
    page.goto(f"{base}items/")
    page.locator("summary").click()
    found += faults(page)
    page.goto(f"{base}wording/")
    page.locator(".wordings a").first.click()
    found += faults(page)
    assert "\n".join(found) == ""
