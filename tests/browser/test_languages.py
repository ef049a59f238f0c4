"""Studies in other languages: German throughout, and one that is read from right to left."""

from collections.abc import Callable

from playwright.sync_api import Page, expect

from experiment.models import Study, StudyText
from experiment.services.study_language import participant_texts
from tests.browser import engines
from tests.browser.accessibility import look
from tests.browser.visitor import Visitor

Visit = Callable[..., Visitor]
ARABIC = {
    "I agree and want to take part": "أوافق وأريد المشاركة",
    "About you": "معلومات عنك",
    "Which version of this abstract is the original?": "أي نسخة من هذا الملخص هي الأصلية؟",
    "lower": "أقل",
    "higher": "أعلى",
}


def is_german(page: Page) -> None:
    """It shows no built-in English text of more than a word."""
    assert page.locator("html").get_attribute("lang") == "de"
    shown = page.locator("body").inner_text()
    texts = (message.source for message in participant_texts() if " " in message.source)
    left = [text for text in texts if "%(" not in text and "<" not in text and text in shown]
    assert left == [], page.url


def test_a_german_study_is_german_on_every_page(visit: Visit, demo: Study) -> None:
    Study.objects.update(
        language="de", briefing="Ziel.", human_items=1, machine_items=0, catch_items=0
    )
    demo.consent.delete()
    demo.consent_versions.create(number=1, text="Freiwillig.")
    demo.refresh_from_db()
    visitor = visit(demo)
    page = visitor.page
    visitor.enter()
    is_german(page)
    page.get_by_role("button", name="Ich stimme zu und möchte teilnehmen").click()
    visitor.is_at("about-you")
    page.locator("#id_age_0").fill("7")
    page.get_by_role("button", name="Weiter").click()
    error = page.locator("#id_age_error")
    expect(error).to_contain_text("Bitte geben Sie eine ganze Zahl von 18 bis 110 an")
    expect(page.locator("#id_country option[value=DE]")).to_have_text("Deutschland")
    is_german(page)
    visitor.skip()
    expect(page.locator("p.abstract")).to_have_attribute("lang", "en")
    page.get_by_role("button", name="Weiter").click()
    expect(page.locator(".field-error").first).to_be_visible()
    is_german(page)
    page.goto(f"{visitor.home}withdraw/")
    is_german(page)
    page.goto(f"{visitor.home}nowhere/")
    is_german(page)


@engines.both
def test_a_study_read_from_right_to_left_is_the_mirror_image(visit: Visit, demo: Study) -> None:
    Study.objects.update(language="ar")
    for source, text in ARABIC.items():
        StudyText.objects.create(study=demo, source=source, forms=[text])
    visitor = visit(demo)
    page = visitor.page
    visitor.enter()
    assert page.locator("html").get_attribute("dir") == "rtl"
    box = page.get_by_role("button", name=ARABIC["I agree and want to take part"]).bounding_box()
    no = page.get_by_role("button", name="I do not agree").bounding_box()
    assert box["x"] > no["x"]  # the first button is the one on the right
    assert page.locator("#withdrawal-code").evaluate("n => getComputedStyle(n).direction") == "ltr"
    look(page)
    page.get_by_role("button", name=ARABIC["I agree and want to take part"]).click()
    visitor.is_at("about-you")
    expect(visitor.heading).to_have_text(ARABIC["About you"])
    look(page)
    visitor.skip()
    abstract = page.locator("p.abstract")
    # The abstract itself is English, and reads from left to right
    assert abstract.evaluate("n => getComputedStyle(n).direction") == "ltr"
    expect(abstract).to_have_attribute("lang", "en")
    look(page)
    # One end of the scale is where the language begins: a rating near the right edge is low
    visitor.driver.choose("A")
    slider = page.locator("#confidence")
    slider.scroll_into_view_if_needed()
    size = slider.bounding_box()
    slider.click(position={"x": size["width"] * 0.9, "y": size["height"] / 2})
    assert int(visitor.rating("confidence")) < 25
