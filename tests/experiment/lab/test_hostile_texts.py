"""Pages show any text of people as text: 550 texts that would do something, of which the sweep shows all."""

import pytest
from django.test import Client
from django.urls import reverse

from experiment.lab.routes import ADMIN, PUBLIC, routes
from tests.config.rights_examples import address, arguments
from tests.conftest import SWEEP
from tests.hostile import faults, payloads, shown
from tests.hostile_world import PER_ITEM, World, make_world

pytestmark = pytest.mark.django_db
EVERY = payloads() if SWEEP else payloads()[::3]


@pytest.fixture
def world(client: Client) -> World:
    world = make_world(EVERY)
    client.force_login(world.research_field.members.get())
    return world


def test_every_text_of_an_item_is_shown_as_text(client: Client, world: World) -> None:
    found: dict[str, list[str]] = {}
    unseen = []
    for n, item in enumerate(world.items):
        some = EVERY[n * PER_ITEM : (n + 1) * PER_ITEM]
        pages = [reverse("lab:item", args=["memory", item.pk])]
        if item.status == "draft":
            pages.append(reverse("lab:write_item", args=["memory", item.pk]))
        if item.status == "accepted":
            pages.append(reverse("lab:test_case", args=["memory", item.pk]))
        for url in pages:
            answer = client.get(url)
            assert answer.status_code == 200, url
            page = answer.text
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
        if wrong := list(faults(answer.text)):
            found[url] = wrong
    assert found == {}
    assert n_opened > 40
