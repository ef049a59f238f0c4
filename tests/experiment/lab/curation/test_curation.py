"""A curator reads a study's test cases, and brings a new version to acceptance."""

import pytest
from django.test import Client

from experiment.models import AuditEvent, Item, Study
from experiment.services.curation import lifecycle
from tests.factories import make_study, make_user

pytestmark = pytest.mark.django_db
PAGE = "/lab/studies/memory/test-cases/"


@pytest.fixture
def study() -> Study:
    return make_study()


@pytest.fixture
def vera(client: Client, study: Study) -> Client:
    user = make_user("vera")
    study.members.add(user, through_defaults={"role": "curator"})
    client.force_login(user)
    return client


def test_the_list_of_studies_leads_a_curator_to_the_test_cases(vera: Client) -> None:
    listed = vera.get("/lab/").content.decode()
    assert f'href="{PAGE}"' in listed
    assert "valid" not in listed  # how many took part is not for curators
    assert "memory-human-1" in vera.get(PAGE).content.decode()


def test_both_wordings_are_read(vera: Client, study: Study) -> None:
    item = study.items.get(key="memory-human-1")
    shown = vera.get(f"{PAGE}{item.pk}/").content.decode()
    assert '<span class="wording-text">rose</span>' in shown
    assert '<span class="wording-text">fell</span>' in shown


def test_a_new_version_is_written_reviewed_and_accepted(vera: Client, study: Study) -> None:
    old = study.items.get(key="memory-human-1")
    place = vera.post(f"{PAGE}{old.pk}/revise/")["Location"]
    draft = Item.objects.get(key=old.key, version=2)
    assert place == f"{PAGE}{draft.pk}/"
    vera.post(f"{place}edit/", {"markup": "Rats\r\n[[slept, ran]] more.", "note": ""})
    for status in ("in_review", "accepted"):
        vera.post(f"{place}move/", {"status": status})
    draft.refresh_from_db()
    assert (draft.status, draft.altered, draft.created_by.username) == (
        "accepted",
        "Rats\nran more.",
        "vera",
    )
    assert study.items.get(key=old.key) == old  # until a researcher chooses the new one


def test_a_faulty_text_is_refused_with_its_place_and_kept_on_the_page(
    vera: Client, study: Study
) -> None:
    old = study.items.get(key="memory-human-1")
    place = vera.post(f"{PAGE}{old.pk}/revise/")["Location"]
    shown = vera.post(f"{place}edit/", {"markup": "Rats [[a, b, c]].", "note": ""}).content.decode()
    assert "line 1, column 6" in shown
    assert "Rats [[a, b, c]]." in shown
    assert Item.objects.get(key=old.key, version=2).markup == old.markup


@pytest.mark.parametrize("status", ["retired", "nonsense", ""])
def test_only_drafts_move_on_and_nothing_is_retired_here(
    vera: Client, study: Study, status: str
) -> None:
    item = study.items.get(key="memory-human-1")
    assert vera.post(f"{PAGE}{item.pk}/move/", {"status": status}).status_code == 404
    vera.post(f"{PAGE}{item.pk}/edit/", {"markup": "Other [[a, b]].", "note": ""})
    vera.post(f"{PAGE}{item.pk}/move/", {"status": "draft"})
    again = Item.objects.get(pk=item.pk)
    assert (again.status, again.markup) == ("accepted", item.markup)


def test_drafts_of_another_study_are_neither_read_nor_moved_here(
    vera: Client, study: Study
) -> None:
    old = study.items.get(key="memory-human-1")
    other = make_study("other")
    other.study_items.create(item=old)
    theirs = lifecycle.revise(old, user=make_user("ada", other), note="THEIRS")
    place = f"{PAGE}{theirs.pk}/"
    assert vera.get(place).status_code == 404
    assert place not in vera.get(PAGE).content.decode()
    for act, sent in (
        ("edit", {"markup": "Rats [[slept, ran]].", "note": ""}),
        ("move", {"status": "accepted"}),
        ("revise", {}),
    ):
        assert vera.post(f"{place}{act}/", sent).status_code == 404
    theirs.refresh_from_db()
    assert (theirs.status, theirs.note) == ("draft", "THEIRS")


def test_a_draft_is_reviewed_by_others_of_the_study(vera: Client, study: Study) -> None:
    old = study.items.get(key="memory-human-1")
    draft = lifecycle.revise(old, user=make_user("ada", study))
    vera.post(f"{PAGE}{draft.pk}/move/", {"status": "accepted"})
    draft.refresh_from_db()
    assert draft.status == "accepted"


def test_what_curators_do_is_in_the_trail(vera: Client, study: Study) -> None:
    old = study.items.get(key="memory-human-1")
    place = vera.post(f"{PAGE}{old.pk}/revise/")["Location"]
    vera.post(f"{place}edit/", {"markup": "no place", "note": ""})  # refused: nothing changed
    vera.post(f"{place}edit/", {"markup": "Rats [[slept, ran]].", "note": ""})
    for _ in range(2):  # the second time nothing changes
        vera.post(f"{place}move/", {"status": "accepted"})
    events = AuditEvent.objects.filter(study="memory", action="items_changed", actor="vera")
    item = {"item": "memory-human-1 v2"}
    assert [event.details for event in events] == [
        item | {"change": "new version"},
        item | {"change": "text"},
        item | {"before": "draft", "after": "accepted"},
    ]
