"""A new study in pages: from a preset, a copy or a file; and what is said of bad input."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from experiment.models import AuditEvent, Item, Study
from experiment.services.readiness import readiness_problems
from experiment.services.study_file import as_bytes, document
from experiment.services.study_setup import default_briefing
from tests.factories import (
    make_channel,
    make_item,
    make_question,
    make_research_field,
    make_study,
    make_user,
)

pytestmark = pytest.mark.django_db
URL = "/lab/new-study/"


@pytest.fixture
def study() -> Study:
    return make_study()


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


def test_of_what_is_left_empty_title_and_name_are_made_and_never_collide(ruth: Client) -> None:
    for _ in range(3):
        make(ruth)
    made = Study.objects.exclude(slug="memory")
    assert made.count() == 3
    assert len(set(Study.objects.values_list("title", flat=True))) == 4


def test_a_copy_is_set_up_alike_without_people_members_or_codes(ruth: Client, study: Study) -> None:
    Study.objects.update(min_rt_ms=1_234)
    make_channel(study, "prolific", completion_code="SECRET")
    make_user("ada", study)
    make(ruth, start="copy", source="memory", title="Memory again")
    made = Study.objects.get(title="Memory again")
    assert set(made.items.all()) == set(study.items.all())
    [channel] = made.channels.all()
    assert (channel.code, channel.completion_code, made.min_rt_ms) == ("prolific", "", 1_234)
    assert [member.username for member in made.members.all()] == ["ruth"]


def test_questions_alone_are_asked_without_abstracts_catch_trials_or_practice(
    ruth: Client,
) -> None:
    make_research_field("matter")
    for n in range(3):
        make_question(f"q-{n}", field="matter")
    make_question("draft", field="matter", status="draft")
    shown = ruth.get(URL).content.decode()
    assert '<option value="matter">matter (3)</option>' in shown
    response = make(ruth, start="questions", questions_of="matter")
    made = Study.objects.get(slug="questions-about-matter")
    assert response["Location"] == f"/lab/studies/{made.slug}/set-up/"
    assert made.trial_counts == {"human": 0, "machine": 0, "catch": 0, "question": 3}
    assert (made.title, made.field) == ("Questions about matter", "matter")
    assert made.briefing == default_briefing(tasks="questions")
    assert {problem.code for problem in readiness_problems(made)} == {"no_contact"}
    # The next one has another title; a field without accepted questions says so before it opens
    make(ruth, start="questions", questions_of="matter")
    assert Study.objects.filter(title__startswith="Questions about matter (").exists()
    make_research_field("plants")
    make(ruth, start="questions", questions_of="plants", slug="plants", title="Plants")
    made = Study.objects.get(slug="plants")
    assert next(str(problem) for problem in readiness_problems(made)) == (
        "10 questions a participant, but 0 that can be asked"
    )
    assert made.field == "plants"


def test_only_what_one_may_read_can_be_copied(ruth: Client) -> None:
    make_study("theirs")
    assert "source" in errors(make(ruth, start="copy", source="theirs", title="Mine"))
    assert not Study.objects.filter(title="Mine").exists()


def test_a_file_makes_the_same_study_where_its_test_cases_are_not_known(
    ruth: Client, study: Study
) -> None:
    content, told = as_bytes(study), document(study)
    user = study.members.get()
    make_study("other").members.add(user)
    Study.objects.filter(slug="memory").delete()
    Item.objects.filter(key__startswith="memory").delete()
    response = make(ruth, start="file", file=upload(content))
    assert response.status_code == 302
    assert document(Study.objects.get(slug="memory")) == told


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
        (b"[" * 100_000, "not JSON"),
        (b"[]", "object is expected"),
        (b'{"format": "other", "version": 1, "study": {}}', "not the file of a study"),
        (b'{"format": "brainbench-live-study", "version": 9, "study": {}}', "version: This site"),
    ],
)
def test_a_bad_file_is_refused_in_words(ruth: Client, content: bytes, words: str) -> None:
    assert words in " ".join(errors(make(ruth, start="file", file=upload(content)))["file"])


def test_a_bad_value_is_named_by_its_place(ruth: Client, study: Study) -> None:
    data = json.loads(as_bytes(study))
    data["study"]["human_items"] = "six"
    data["items"][3] |= {"key": "new", "markup": "no alternation"}
    data["rules"]["min_rt_clock"] = "sundial"
    file = upload(json.dumps(data).encode())
    found = errors(make(ruth, start="file", file=file, slug="again", title="Again"))["file"]
    assert {text.split(":")[0] for text in found} == {
        "study.human_items",
        "rules.min_rt_clock",
        "items[3].sha256",
        "items[3].markup",
    }
    assert Study.objects.count() == 1


@pytest.mark.parametrize(
    ("values", "field"),
    [
        ({"start": "nothing"}, "start"),
        ({"start": "copy"}, "source"),
        ({"start": "file"}, "file"),
        ({"start": "questions"}, "questions_of"),
        ({"start": "questions", "questions_of": "nothing"}, "questions_of"),
        ({"slug": "memory"}, "slug"),
        ({"slug": "not a slug"}, "slug"),
        ({"title": "x" * 201}, "title"),
    ],
)
def test_what_is_missing_or_taken_is_said_at_its_field(
    ruth: Client, values: dict[str, str], field: str
) -> None:
    assert list(errors(make(ruth, **values))) == [field]


def test_a_title_is_unique_on_the_site(ruth: Client, study: Study) -> None:
    assert "title" in errors(make(ruth, title=study.title))


def test_who_may_create_none_is_refused_and_sees_no_button(client: Client) -> None:
    client.force_login(make_user("new"))
    assert client.get(URL).status_code == 403
    assert URL not in client.get("/lab/").content.decode()


def test_the_list_leads_to_it_for_who_may(ruth: Client) -> None:
    assert URL in ruth.get("/lab/").content.decode()
    assert "Years of experience are asked in" in ruth.get(URL).content.decode()


def test_a_request_larger_than_any_file_is_refused_before_it_is_read(ruth: Client) -> None:
    response = ruth.post(URL, {"start": "file"}, headers={"Content-Length": str(2**40)})
    assert response.status_code == 400
