"""What a curator does with a test case in the pages: writes it, has it drafted, sends it to review, judges it."""

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.lab_pages import WORK_MS
from tests.scoring.backends.chat.stub import MODEL, ChatHandler, ChatStub

# A field with a lead who may make studies and three curators, for a site of its own: it stores passwords in its own way
COOKING = """
from django.contrib.auth.models import Permission, User
from experiment.models import ResearchField
field = ResearchField.objects.create(slug="cooking", name="cooking")
field.subfields.create(name="Vegetables", purpose="Which steps change the taste.")
field.subfields.create(name="Baking")
for name in ("lena", "ada", "ben", "cleo"):
    user = User.objects.create_user(name, password=name)
    field.members.add(user, through_defaults={"role": "lead" if name == "lena" else "curator"})
User.objects.get(username="lena").user_permissions.add(Permission.objects.get(codename="add_study"))
"""
SELECT = """(field, [words, length]) => {
  const start = field.value.indexOf(words);
  field.focus();
  field.setSelectionRange(start, start + (length ?? words.length));
}"""
PASTE = """(field, text) => {
  field.focus();
  document.execCommand("insertText", false, text);
}"""


def text_of(page: Page) -> Locator:
    return page.get_by_label("Abstract")


def select(page: Page, words: str, length: int | None = None) -> None:
    text_of(page).evaluate(SELECT, [words, length])


def change(page: Page, words: str, altered: str) -> None:
    select(page, words)
    page.keyboard.press("Control+e")
    expect(page.get_by_label("The altered version says")).to_have_value(words)
    page.keyboard.type(altered)
    page.keyboard.press("Enter")


def saved(page: Page) -> None:
    expect(page.locator("#save-state")).to_contain_text("Saved")


class Declining(ChatHandler):
    """Declines the second abstract, however often it is asked."""

    def send_text(
        self, request: dict[str, Any], text: Any, finish: str = "stop", **message: Any
    ) -> None:
        if "In batch 2," in request["messages"][1]["content"]:
            text, message = None, {"refusal": "I would rather not alter this one."}
        super().send_text(request, text, finish, **message)


class DecliningStub(ChatStub):
    def handler(self) -> type[ChatHandler]:
        return Declining


def have_drafted(page: Page, server: str, abstracts: list[str], subfield: str) -> Locator:
    """On the page of drafting; returns the rows of what came, the first of which is the head."""
    form = page.get_by_role("region", name="Draft from abstracts")
    form.get_by_label("Abstracts").fill("\n\n".join(abstracts))
    form.get_by_label("Subfield").select_option(subfield)
    form.get_by_label("Model", exact=True).fill(MODEL)
    form.get_by_label("Address of the chat server").fill(server)
    form.get_by_role("button", name="Have it draft").click()
    n = len(abstracts)
    expect(page.get_by_text(f"finished: {n} of {n} abstracts")).to_be_visible(timeout=WORK_MS)
    return page.get_by_role("table").get_by_role("row")


def send_to_review(page: Page) -> None:
    page.get_by_role("button", name="Send to review").click()
    expect(page.get_by_text("in review").first).to_be_visible()


def accept(page: Page) -> None:
    page.get_by_label("Accept", exact=True).check()
    page.get_by_role("button", name="Give my verdict").click()
    expect(page.get_by_role("button", name="Give my verdict")).to_have_count(0)


def let_two_accept(open_as: Callable[[str, str], Page], names: tuple[str, str], path: str) -> Page:
    """Two people accept it, each in a browser of their own; returns the page as the second sees it then."""
    for name in names:
        page = open_as(name, path)
        accept(page)
    expect(page.get_by_text("Accepted by 2 people who did not write it")).to_be_visible()
    return page
