"""A new study in pages: from a preset, a copy or a file; and what is said of bad input."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from experiment.models import AuditEvent, Item, Study
from experiment.services.study_file import document
from tests.factories import (
    make_item,
    make_study,
)

pytestmark = pytest.mark.django_db
URL = "/lab/new-study/"


def make(client: Client, **values: Any) -> Any:
    return client.post(URL, {"start": "brainbench", "title": "", "slug": "", **values})


def upload(content: bytes, name: str = "study.json") -> SimpleUploadedFile:
    return SimpleUploadedFile(name, content, "application/json")


def errors(response: Any) -> dict[str, list[str]]:
    assert response.status_code == 422
    return dict(response.context["form"].errors)


def test_a_preset_becomes_a_draft_whose_maker_is_its_researcher(ruth: Client) -> None:
    make_item("bb-1", collection="brainbench")
    response = make(ruth, start="brainbench-strict", title="Which result is real?")
    made = Study.objects.get(slug="which-result-is-real")
    assert response["Location"] == f"/lab/studies/{made.slug}/set-up/"
    assert (made.recruitment, made.policy, made.title) == (
        "draft",
        "paper",
        "Which result is real?",
    )
    assert made.items.filter(key="bb-1").exists()
    member = made.memberships.get()
    assert (member.user.username, member.role) == ("ruth", "researcher")
    event = AuditEvent.objects.get(action="study_created", study=made.slug)
    assert event.actor == "ruth"


def test_an_empty_title_and_name_are_filled_in_and_never_collide(ruth: Client) -> None:
    for _ in range(3):
        make(ruth)
    made = Study.objects.exclude(slug="memory")
    assert made.count() == 3
    assert len(set(Study.objects.values_list("title", flat=True))) == 4


def test_only_what_one_may_read_can_be_copied(ruth: Client) -> None:
    make_study("theirs")
    assert "source" in errors(make(ruth, start="copy", source="theirs", title="Mine"))
    assert not Study.objects.filter(title="Mine").exists()


@pytest.mark.parametrize("is_superuser", [False, True])
def test_only_a_site_administrators_file_adds_to_what_is_published(
    ruth: Client, study: Study, is_superuser: bool
) -> None:
    User.objects.filter(username="ruth").update(is_superuser=is_superuser)
    data = document(study)
    data["study"] |= {"slug": "again", "title": "Again"}
    mark = {"collection": "brainbench", "collection_row": 7, "is_demo": True}
    data["items"].append({"key": "new", "markup": "It [[rose, fell]].", **mark})
    make(ruth, start="file", file=upload(json.dumps(data).encode()))
    item = Item.objects.get(key="new")
    found = (item.collection, item.collection_row, item.is_demo)
    assert found == (("brainbench", 7, True) if is_superuser else ("", None, False))
    events = AuditEvent.objects.filter(study="again", action="items_changed", actor="ruth")
    assert [e.details["n_added_to_site"] for e in events if "n_added_to_site" in e.details] == [1]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"\xff\xfe", "not UTF-8"),
        (b"{", "not JSON"),
        (b"[]", "object is expected"),
        (b'{"format": "brainbench-live-study", "version": 9, "study": {}}', "version: This site"),
    ],
)
def test_a_bad_file_is_refused_in_words(ruth: Client, content: bytes, words: str) -> None:
    assert words in " ".join(errors(make(ruth, start="file", file=upload(content)))["file"])


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"start": "nothing"}, "start"),
        ({"start": "copy"}, "source"),
        ({"start": "file"}, "file"),
        ({"start": "questions", "questions_of": "nothing"}, "questions_of"),
        ({"slug": "memory"}, "slug"),
        ({"slug": "demo-questions"}, "__all__"),  # kept for the demo
        ({"title": "x" * 201}, "title"),
    ],
)
def test_missing_and_taken_values_are_reported_at_their_field(
    ruth: Client, values: dict[str, str], field: str
) -> None:
    assert list(errors(make(ruth, **values))) == [field]
