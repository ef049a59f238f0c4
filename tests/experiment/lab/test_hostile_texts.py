"""Whatever people write, pages show it as text: 550 texts that would do something, wherever a page shows one."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse
from lxml import html

from experiment.lab.routes import ADMIN, PUBLIC, routes
from experiment.models import Item
from tests.config.test_rights import address, arguments
from tests.factories import make_research_field, make_user
from tests.hostile import faults, payloads, shown
from tests.hostile_world import PER_ITEM, World, make_world

pytestmark = pytest.mark.django_db


@pytest.fixture
def world(client: Client) -> World:
    world = make_world(payloads())
    client.force_login(world.research_field.members.get())
    return world


def test_every_text_of_an_item_is_shown_as_text(client: Client, world: World) -> None:
    found: dict[str, list[str]] = {}
    unseen = []
    for n, item in enumerate(world.items):
        some = payloads()[n * PER_ITEM : (n + 1) * PER_ITEM]
        pages = [reverse("lab:item", args=["memory", item.pk])]
        if item.status == "draft":
            pages.append(reverse("lab:write_item", args=["memory", item.pk]))
        if item.status == "accepted":
            pages.append(reverse("lab:test_case", args=["memory", item.pk]))
        for url in pages:
            answer = client.get(url)
            assert answer.status_code == 200, url
            page = answer.content.decode()
            found[url] = list(faults(page))
            text = shown(page)
            unseen += [(url, p) for p in some if " ".join(p.split()) not in text]
    assert {url: wrong for url, wrong in found.items() if wrong} == {}
    assert unseen == []


@pytest.mark.sweep
def test_no_page_of_the_lab_takes_one_for_its_own(client: Client, world: World) -> None:
    found: dict[str, list[str]] = {}
    n_opened = 0
    for route in routes():
        if "GET" not in route.methods or route.access == PUBLIC:
            continue
        if route.address.startswith((ADMIN, "api/")):
            continue
        url = address(route, arguments(route, world.study))
        answer = client.get(url)
        if answer.status_code != 200 or "html" not in answer["Content-Type"]:
            for close in answer._resource_closers:  # a file; the connection stays open
                close()
            continue
        n_opened += 1
        if wrong := list(faults(answer.content.decode())):
            found[url] = wrong
    assert found == {}
    assert n_opened > 40


def form_at(client: Client, url: str, **filled: Any) -> dict[str, Any]:
    """What a browser would send from there, the fields filled in."""
    document = html.document_fromstring(client.get(url).content.decode())
    (form,) = [form for form in document.forms if "markup" in form.fields]
    return {name: value or "" for name, value in form.fields.items()} | filled


class TestTextsThatNoPageCanShow:
    """NUL, 100 kB, brackets without end, characters that turn the line round."""

    HOSTILE = {
        "nul": "Rats\n[[sle\x00pt, ran]] more.",
        "half": "Rats\n[[slept, ran]] \x80 more.",
        "bidi": "Rats\n\u202e[[slept, ran]] more.",
        "zero width": "Rats\n[[sl\u200bept, ran]] more.",
        "100 kB": "Rats [[slept, ran]].\n" + "x" * 100_000,
        "open": "Rats\n" + "[[" * 5_000,
        "closed": "Rats\n" + "]]" * 5_000,
        "many": "Rats\n" + "[[a, b]] " * 2_000,
    }

    @pytest.fixture
    def ada(self, client: Client) -> Client:
        user = make_user("ada")
        make_research_field("cooking", curators=[user])
        client.force_login(user)
        return client

    @pytest.mark.parametrize("name", HOSTILE)
    def test_are_refused_or_shown_with_the_place(self, ada: Client, name: str) -> None:
        new = "/lab/fields/cooking/items/new/"
        sent = form_at(ada, new, markup=self.HOSTILE[name])
        for url in ("/lab/fields/cooking/items/preview/", new):
            answer = ada.post(url, sent)
            if name == "nul":  # no form of a browser sends it: refused before any page reads it
                assert answer.status_code == 400
                continue
            assert answer.status_code in (200, 302, 422), url
            if answer.status_code != 302 and name != "many":
                told = shown(answer.content.decode())
                assert "line " in told or "characters" in told
        for item in Item.objects.all():
            page = ada.get(f"/lab/fields/cooking/items/{item.pk}/")
            assert page.status_code == 200
            assert "\u202e" not in page.content.decode() or "U+202E" in page.content.decode()
            if name in ("bidi", "zero width", "half"):
                assert "line 2, column" in shown(page.content.decode())
        assert name in ("bidi", "zero width", "half", "many") or not Item.objects.exists()
