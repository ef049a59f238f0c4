"""Texts of people do nothing in a browser, however they are written, and no page grows wider by them."""

from collections.abc import Callable
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from experiment.models import Item
from experiment.services.study_setup import pin_items, set_recruitment
from tests.browser import sites
from tests.browser.visitor import Visitor
from tests.factories import make_item, make_study, make_user
from tests.hostile import payloads
from tests.hostile_world import hostile_text, make_world

pytestmark = pytest.mark.django_db(transaction=True)
Visit = Callable[..., Visitor]
SOME = payloads()[::11]  # one of each kind, and every way to break out
NARROW = {"viewport": {"width": 320, "height": 800}}
WATCH = "window.ran = []; window.pwned = (n) => { window.ran.push(n); };"
# Elements that only a payload brings, and attributes that no page of ours has
FOREIGN = """() => [...document.querySelectorAll("*")].filter((element) =>
  [...element.attributes].some((attribute) => attribute.name.startsWith("on"))
  || ["IFRAME", "OBJECT", "EMBED", "MATH", "MARQUEE", "AUDIO", "VIDEO", "BASE", "X"].includes(element.tagName)
).map((element) => element.outerHTML.slice(0, 200))"""
# What stands out on the right, unless the page is no wider than the window
WIDER = """() => {
  const width = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= width) return [];
  return [...document.querySelectorAll("body *")]
    .filter((element) => element.getBoundingClientRect().right > width + 1)
    .slice(0, 5).map((element) => `wider: ${element.outerHTML.slice(0, 80)}`);
}"""


def wrongs(page: Page) -> list[Any]:
    """The things that ran or came into the page, and those that are wider than the window."""
    page.wait_for_timeout(300)  # what fails to load says so a little later
    return [*page.evaluate("window.ran"), *page.evaluate(FOREIGN), *page.evaluate(WIDER)]


def test_nothing_runs_on_the_pages_of_a_field(open_browser: Callable[..., Any]) -> None:
    world = make_world(SOME)
    (item,) = world.items
    world.research_field.members.add(make_user("rita"), through_defaults={"role": "lead"})
    context = open_browser(**NARROW)
    context.add_init_script(WATCH)
    page = context.new_page()
    sites.sign_in(page, "rita", "/lab/")
    found = {}
    for name, arguments in (
        ("fields", []),
        ("field", ["memory"]),
        ("item", ["memory", item.pk]),
        ("write_item", ["memory", item.pk]),
        ("field_settings", ["memory"]),
        ("new_item", ["memory"]),
    ):
        page.goto(reverse(f"lab:{name}", args=arguments))
        found[name] = wrongs(page)
    assert not any(found.values()), found
    # While it is typed, too
    sites.text_of(page).fill(
        "<img src=x onerror=pwned(1)> [[<script>pwned(2)</script> | \u202e<b>]] \u200b\0 end."
    )
    expect(page.locator("#preview")).to_contain_text("<img src=x onerror=pwned(1)>")
    assert page.locator("#preview img, #preview script, #preview b:not(strong)").count() == 0
    sites.saved(page)
    assert "\ufffd end." in Item.objects.latest("pk").markup
    assert wrongs(page) == []


def test_nothing_runs_in_front_of_a_participant(visit: Visit) -> None:
    study = make_study()
    strata = [{"kind": "test", "source": "human"}, {"kind": "test", "source": "machine"}]
    kinds = [strata[n % 2] for n in range(12)] + [{"kind": "practice"}]
    items = [
        make_item(f"h-{n}", markup=hostile_text(SOME[n % 12 :: 12]), doi=f"10.1234/{n}", **kind)
        for n, kind in enumerate(kinds)
    ]
    study.study_items.exclude(item__kind="catch").delete()
    pin_items(study, items)
    set_recruitment(study, "open")
    visitor = visit(study, **NARROW)
    visitor.page.add_init_script(WATCH)
    visitor.start()
    n_hostile = 0
    for _ in range(4):  # two of them may be catch trials
        assert wrongs(visitor.page) == []
        n_hostile += "pwned(" in visitor.page.locator(".abstract").inner_text()
        visitor.answer("A")
    assert n_hostile >= 2
