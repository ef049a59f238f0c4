"""A test case is written in a browser: changed by key and by button, undone, saved by itself, kept, compared."""

import random
import re
from collections.abc import Callable

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from benchmarks.web.site import wait_until
from experiment.domain import markup
from experiment.domain.joined_lines import joined
from experiment.models import Item, ItemScratch
from tests.browser import engines
from tests.browser.sites import PASTE, change, saved, select, text_of
from tests.factories import FILLER, make_research_field, make_user

pytestmark = pytest.mark.django_db(transaction=True)
NEW = "/lab/fields/cooking/items/new/"
ABSTRACT = f"{FILLER}Sugar made the dough rise faster, and the crust was darker."
TEXT = ABSTRACT.replace("faster", "[[faster | slower]]").replace("darker", "[[darker | paler]]")


@pytest.fixture
def open_page(open_as: Callable[..., Page]) -> Callable[..., Page]:
    """Opens a page as a curator, and waits for its scripts."""
    make_research_field("cooking", "baking", "frying", curators=[make_user("ada")])

    def open_one(path: str) -> Page:
        page = open_as("ada", path)
        expect(page.locator("#tools")).to_be_visible()
        return page

    return open_one


def comes_to_be(**values: str) -> None:
    """The one test case is stored with these values in the end; what its page says may be of those before."""
    wait_until(Item.objects.filter(**values).exists)


@engines.both
def test_words_are_changed_by_a_key_and_every_step_is_undone(
    open_page: Callable[..., Page],
) -> None:
    page = open_page(NEW)
    text_of(page).evaluate(PASTE, ABSTRACT)
    change(page, "faster", "slower")
    one = ABSTRACT.replace("faster", "[[faster | slower]]")
    expect(text_of(page)).to_have_value(one)
    page.keyboard.type("!")  # the caret is behind the change
    expect(text_of(page)).to_have_value(one.replace("slower]]", "slower]]!"))
    page.keyboard.press("Control+z")
    expect(text_of(page)).to_have_value(one)
    change(page, "darker", "pale | grey")
    both = one.replace("darker", r"[[darker | pale \| grey]]")
    expect(text_of(page)).to_have_value(both)
    expect(page.locator("#preview-facts")).to_contain_text("2 alternations")

    # The change at the caret is changed, and taken back
    select(page, "slower", 0)
    page.keyboard.press("Control+e")
    expect(page.get_by_label("Wording of the altered version")).to_have_value("slower")
    page.keyboard.type("not at all")
    page.keyboard.press("Enter")
    expect(text_of(page)).to_have_value(both.replace("slower", "not at all"))
    select(page, "grey", 0)
    page.get_by_role("button", name="Undo this change").click()
    expect(text_of(page)).to_have_value(one.replace("slower", "not at all"))

    for wanted in (both.replace("slower", "not at all"), both, one):
        page.get_by_role("button", name="Undo", exact=True).click()
        expect(text_of(page)).to_have_value(wanted)
    page.get_by_role("button", name="Redo").click()
    expect(text_of(page)).to_have_value(both)
    for _ in range(3):  # the change, and what was typed and pasted before it
        text_of(page).press("Control+z")
    expect(text_of(page)).not_to_have_value(re.compile(r"\[\["))


def test_lines_of_a_pasted_paragraph_are_joined_and_undo_brings_them_back(
    open_page: Callable[..., Page],
) -> None:
    page = open_page(NEW)
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    lines = "Sugar made the \r\ndough rise.\r\n\r\nThe crust\nwas darker."
    page.evaluate("text => navigator.clipboard.writeText(text)", lines)
    text_of(page).fill("One. Two.")
    select(page, " Two", 1)
    page.keyboard.press("Control+v")
    joined = "One.Sugar made the dough rise.\n\nThe crust was darker.Two."
    expect(text_of(page)).to_have_value(joined)
    expect(page.locator("#said")).to_contain_text("Undo restores them")
    page.keyboard.press("Control+z")
    expect(text_of(page)).to_have_value(re.compile("made the ?\ndough"))


def test_a_word_that_a_pdf_divided_is_put_together(open_page: Callable[..., Page]) -> None:
    page = open_page(NEW)
    lines = "Long-\nterm hippo-\ncampal T-\ncell theta-\nlocked, theta-locked"
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page.evaluate("text => navigator.clipboard.writeText(text)", lines)
    text_of(page).press("Control+v")
    expect(text_of(page)).to_have_value(joined(lines)[0])
    assert joined(lines)[0] == "Long-term hippocampal T-cell theta-locked, theta-locked"


def test_one_click_applies_the_correction_of_a_finding(open_page: Callable[..., Page]) -> None:
    page = open_page(NEW)
    text_of(page).fill("\U0001d4b3 rats [slept, ran] in 3\u00a0days.")
    page.get_by_role("button", name="Write “[[slept, ran]]”").click()
    one = "\U0001d4b3 rats [[slept, ran]] in 3\u00a0days."
    expect(text_of(page)).to_have_value(one)
    text_of(page).fill(one.replace("[[slept, ran]]", "[[na\u00efve, nai\u0308ve]]"))
    page.get_by_role("button", name="Write “na\u00efve”").click()
    expect(text_of(page)).to_have_value(one.replace("[[slept, ran]]", "na\u00efve"))
    page.get_by_role("button", name="Undo", exact=True).click()
    expect(text_of(page)).to_have_value(re.compile("nai\u0308ve"))


def test_the_parser_reads_all_markup_that_the_page_writes(open_page: Callable[..., Page]) -> None:
    page = open_page(NEW)
    draw = random.Random(15)
    write = """async (drawn) => {
      const { alternations, changed, rewritten, wordsAt } = await import("/static/js/editor/markup.js");
      const put = ({ start, end, insert }, text) => text.slice(0, start) + insert + text.slice(end);
      return drawn.map(([text, [start, end], altered]) => {
        const found = wordsAt(text, start, end);
        if (found.reason) return null;
        const made = put(changed(text, found, altered), text);
        const at = alternations(made).find((a) => a.start >= found.start - 1);
        return [made, put(rewritten(made, at, altered + "!"), made), put(rewritten(made, at), made)];
      });
    }"""
    tail = markup.Alternation("tail", "end")
    plains, drawn = [], []
    for _ in range(300):
        plain = (
            "".join(draw.choices("ab ,[]|\\\n\U0001d4b3", k=12))
            + " c"
            + draw.choice(["", "]", "[", "\\"])
        )
        text = markup.render([markup.Plain(plain), tail])
        start = draw.randrange(len(text.split("[[tail")[0]))
        end = start + draw.randrange(6)
        units = [len(text[:at].encode("utf-16-le")) // 2 for at in (start, end)]
        plains.append(plain)
        drawn.append([text, units, "".join(draw.choices("xy,[]|\\", k=3)) + "z"])
    made = page.evaluate(write, drawn)
    tried = [one for one in zip(plains, drawn, made, strict=True) if one[2] is not None]
    assert len(tried) > 100
    for plain, (text, _, altered), texts in tried:
        first, second, third = (markup.parse(one) for one in texts)
        assert first.original == plain + "tail", (text, texts)
        assert first.alternations[0].altered == altered, (text, texts)
        assert second.alternations[0].altered == f"{altered}!", (text, texts)
        assert second.original == plain + "tail", (text, texts)
        assert third.original == plain + "tail", (text, texts)
        assert third.alternations == (tail,), (text, texts)


def test_a_new_test_case_is_saved_by_itself_from_the_first_words_on(
    open_page: Callable[..., Page],
) -> None:
    page = open_page(NEW)
    text_of(page).fill("Half [[a")
    state = page.locator("#save-state")
    expect(state).to_contain_text("Draft kept at")
    assert ItemScratch.objects.get().values["markup"] == "Half [[a"
    assert "?begun=" in page.url
    text_of(page).fill(TEXT)
    page.get_by_label("Subfield").select_option("baking")
    comes_to_be(markup=TEXT, subfield="baking", created_by__username="ada")
    saved(page)
    item = Item.objects.get()
    assert page.url.endswith(reverse("lab:write_item", args=["cooking", item.pk]))
    text_of(page).fill(f"{TEXT} Thus.")  # it is not taken for a copy of itself
    expect(page.locator("#preview")).to_contain_text("Thus.")
    expect(page.locator("#preview .finding", has_text=item.key)).to_have_count(0)
    comes_to_be(markup=f"{TEXT} Thus.")
    text_of(page).fill(TEXT)
    comes_to_be(markup=TEXT)
    page.reload()
    expect(text_of(page)).to_have_value(TEXT)
    page.get_by_label("Note").fill("On leaving")
    page.goto("/lab/fields/")
    comes_to_be(note="On leaving")


def test_without_a_connection_the_text_is_kept_here_and_offered_after_a_crash(
    open_page: Callable[..., Page],
) -> None:
    page = open_page(NEW)
    text_of(page).fill(TEXT)
    saved(page)
    address = page.url
    page.context.set_offline(True)
    text_of(page).fill(TEXT.replace("paler", "softer"))
    expect(page.locator("#save-state")).to_contain_text("kept in this browser")
    assert Item.objects.get().markup == TEXT
    again = page.context.new_page()
    page.close()
    page.context.set_offline(False)
    again.goto(address)
    expect(text_of(again)).to_have_value(TEXT)
    again.get_by_role("button", name="Insert it into the form").click()
    expect(text_of(again)).to_have_value(TEXT.replace("paler", "softer"))
    saved(again)
    assert Item.objects.get().markup == TEXT.replace("paler", "softer")
    again.reload()
    expect(again.get_by_role("button", name="Insert it into the form")).to_have_count(0)
