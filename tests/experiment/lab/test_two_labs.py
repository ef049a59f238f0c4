"""Two labs on one site: what one lab's field has never reaches the other, by any door of a study, and nothing is written there."""

import json
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client
from django.urls import reverse

from experiment.imports.read.tables import Row
from experiment.imports.read.testcases import PublishedItem
from experiment.imports.reading import items_of
from experiment.imports.store.demo import ensure_demo
from experiment.imports.store.filling import ensure_questions
from experiment.imports.store.item_plans import AS_DRAFTS
from experiment.imports.store.items import store_items
from experiment.imports.store.writing import import_file
from experiment.models import AuditEvent, Item, QuestionTemplate, ResearchField, Study
from experiment.models.studies import DEMO_SLUGS
from experiment.services import fields
from experiment.services.curation import reviews
from experiment.services.curation.writing import create_draft
from experiment.services.file_places import StudyFileError
from experiment.services.item_choice import ItemChoice, choose, ensure_items, read_items
from experiment.services.study_file import copy_study, create_from_file, document
from experiment.services.study_setup import create_study, pin_items
from experiment.services.usable import kept_keys
from lib import name_fields
from tests.experiment.lab_client import browser
from tests.factories import make_item, make_question, make_research_field, make_study, make_user

pytestmark = pytest.mark.django_db
SECRET = "Two thirds of the [[soups, stews]] were eaten cold."


@pytest.fixture
def cooking() -> ResearchField:
    """Ben's and Cora's: an accepted text, a question of a template, and a draft."""
    field = make_research_field("cooking", lead=make_user("ben"), curators=[make_user("cora")])
    template = QuestionTemplate.objects.create(field=field, key="why")
    make_item("soup-1", field="cooking", subfield="broth", markup=SECRET)
    make_question("why-soup", field="cooking", template=template)
    make_item("soup-draft", field="cooking", status="draft")
    return field


@pytest.fixture
def eve(cooking: ResearchField) -> User:
    """May create studies, has one, and is a member of no field; one that she may use has questions."""
    make_research_field("elements")
    make_question("element-1", field="elements", is_demo=True)
    eve = make_user("eve", make_study("hers", human=1, machine=0))
    eve.user_permissions.add(Permission.objects.get(codename="add_study"))
    return eve


@pytest.fixture
def client(eve: User) -> Client:
    return browser("eve")


def url(name: str = "items") -> str:
    return reverse(f"lab:setup_{name}", args=["hers"])


def says(client: Client, address: str, **sent: Any) -> str:
    """The answer of a form that takes nothing."""
    answer = client.post(address, sent)
    assert answer.status_code in (200, 422), answer
    assert not Study.objects.filter(items__field="cooking").exists()
    return answer.text


def test_no_choice_of_a_study_names_counts_or_takes_what_is_foreign(client: Client) -> None:
    for page in (url(), reverse("lab:new_study")):
        assert "cooking" not in client.get(page).text
    assert "cooking" not in client.get(url() + "?field=cooking").text
    for choice in ({"field": "cooking"}, {"field": "cooking", "subfields": ["broth"]}):
        said = says(client, url(), **choice)
        assert "Two thirds" not in said
    says(client, url("questions"), questions_of="cooking", question_items=3)
    new = {"start": "questions", "questions_of": "cooking", "title": "Mine"}
    says(client, reverse("lab:new_study"), **new)
    counted = client.post(url() + "count/", {"field": ""}).context["counted"]
    assert counted.subfields.keys() == {"Behavioural/Cognitive"}
    assert client.post(url(), {"field": ""}).status_code == 302
    assert not Study.objects.filter(items__field="cooking").exists()


@pytest.mark.parametrize("key", ["soup-1", "soup-draft", "why-soup"])
def test_a_key_of_somebody_elses_reads_as_one_that_is_not_there(client: Client, key: str) -> None:
    for address, name, sent in (
        (url(), "form", {}),
        (url() + "count/", "problems", {}),
        (url("questions"), "question_form", {"questions_of": "elements", "question_items": 3}),
    ):
        said, nothing = (
            client.post(address, {**sent, "keys": keys}).context[name] for keys in (key, "nowhere")
        )
        said, nothing = (str(getattr(each, "errors", each)) for each in (said, nothing))
        assert said.replace(key, "nowhere") == nothing
        assert "nowhere" in nothing


def brought(by: User | None, *texts: dict[str, Any], slug: str = "again") -> Study:
    """The study of a file with these texts."""
    data = document(Study.objects.get(slug="hers"))
    data["study"] |= {"slug": slug, "title": slug}
    data["items"] += texts
    return create_from_file(json.dumps(data).encode(), by=by)


NEW = {"key": "new-1", "field": "cooking", "subfield": "broth", "markup": "It [[rose, fell]]."}
QUESTION = {
    "key": "new-2",
    "kind": "question",
    "field": "cooking",
    "markup": "Why?",
    "expert_answer": "So.",
    "template": "theirs",
}


def test_texts_of_a_file_for_a_foreign_field_get_a_field_of_their_own(eve: User) -> None:
    study = brought(eve, NEW, QUESTION, {**NEW, "key": "new-3", "field": "Cooking", "markup": "A [[b, c]]."})  # fmt: skip
    names = set(study.items.filter(key__startswith="new").values_list("field", flat=True))
    assert names == {"cooking (again)", "Cooking (again 2)"}
    for name in names:
        own = ResearchField.objects.get(name=name)
        assert [(m.user, m.role) for m in own.memberships.all()] == [(eve, "lead")]
        assert not own.is_shared
    assert [s.name for s in own.subfields.all()] == ["broth"]
    assert QuestionTemplate.objects.get(key="theirs").field.name == "cooking (again)"
    ben = User.objects.get(username="ben")
    assert {item.key for item in choose(ItemChoice(field="cooking"), ben)} & {"new-1"} == set()
    assert Item.objects.filter(field="cooking").count() == 3


def test_two_files_take_the_same_names_in_one_order(
    eve: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each would wait for what the other holds."""
    for name in ("mine", "ours"):
        make_research_field(name, lead=eve)
    held: list[tuple[object, ...]] = []
    monkeypatch.setattr(name_fields, "hold", lambda *name: held.append(name))
    words = ("sleep", "baking", "ours", "mine", "rest")
    texts = [
        {
            "key": f"k-{word}",
            "field": word,
            "subfield": f"s-{word}",
            "markup": f"A {word} [[b, c]].",
        }
        for word in words
    ]
    found = []
    for listed in (texts, texts[::-1]):
        held.clear()
        with transaction.atomic():
            study = brought(eve, *listed)
            rows = study.items.filter(key__startswith="k-").order_by("pk")
            # What is asked for again is held already
            known = (one for one in held if one[0] == "names" and isinstance(one[2], str))
            names = [*dict.fromkeys(known)]
            found.append((names, [*rows.values_list("key", flat=True)]))
            transaction.set_rollback(True)
    assert found[0] == found[1]
    assert found[0][1] == sorted(found[0][1])


def test_a_new_field_from_a_file_is_led_by_its_maker(eve: User) -> None:
    brought(eve, {**NEW, "field": "sleep"}, {**NEW, "key": "new-2", "field": "", "kind": "catch"})
    sleep = ResearchField.objects.get(name="sleep")
    assert list(sleep.members.all()) == [eve]
    assert Item.objects.get(key="new-2").field == "again"
    with pytest.raises(ValidationError, match="has this name"):
        fields.create_field("Sleep", 2, User.objects.get(username="ben"))


def test_nobody_makes_a_field_of_a_name_that_test_cases_have() -> None:
    make_item("of-an-older-site", field="Sleep")
    with pytest.raises(ValidationError, match="has this name"):
        fields.create_field("sleep", 2, make_user("ada"))


@pytest.mark.parametrize("key", ["soup-1", "why-soup", "soup-draft"])
@pytest.mark.parametrize("markup", [SECRET, "Another [[one, two]]."])
def test_a_file_learns_nothing_of_foreign_keys_and_texts(eve: User, key: str, markup: str) -> None:
    text = {"key": key, "field": "sleep", "markup": markup}
    study = brought(eve, text)
    own = study.items.get(field="sleep")
    assert own.key.startswith(f"{key}-")
    assert (own.markup, own.created_by) == (markup, eve)
    # The same file again finds what it brought
    assert brought(eve, text, slug="third").items.filter(pk=own.pk).exists()


def test_a_curators_file_passes_no_review_and_a_leads_says_why(eve: User) -> None:
    ben, cora = (User.objects.get(username=name) for name in ("ben", "cora"))
    by_cora = brought(cora, NEW).items.get(key="new-1")
    assert by_cora.field == "cooking (again)"
    by_ben = brought(ben, NEW | {"key": "new-4"}, slug="bens").items.get(key="new-4")
    assert by_ben.field == "cooking"
    created, accepted = by_ben.changes.order_by("pk")
    assert created.by == accepted.by == ben
    assert "ben, without a review" in accepted.reason
    event = AuditEvent.objects.filter(action="item_accepted", actor="ben").latest("pk")
    assert (event.details["field"], event.reason) == ("cooking", accepted.reason)


def test_an_administrators_file_is_the_sites(eve: User) -> None:
    assert brought(None, NEW).items.get(key="new-1").field == "cooking"
    with pytest.raises(StudyFileError, match="another text under the key"):
        brought(None, {"key": "soup-1", "markup": "A [[b, c]]."}, slug="other")
    draft = Item.objects.get(key="soup-draft")
    with pytest.raises(StudyFileError, match="not accepted"):
        brought(None, {"key": "soup-draft", "markup": draft.markup}, slug="other")


@pytest.mark.parametrize("name", ["field", "template", "subfield"])
def test_a_name_that_is_none_is_refused_at_its_place(eve: User, name: str) -> None:
    with pytest.raises(StudyFileError, match=rf"items\[\d+\]\.{name}: ") as refused:
        brought(eve, {**QUESTION, name: "a\nb"})
    assert len(refused.value.messages) == 1


def test_an_auditor_copies_nothing_and_a_researcher_what_they_may_use(
    eve: User, cooking: ResearchField
) -> None:
    study = create_study("theirs", "brainbench", title="Theirs")
    pin_items(study, Item.objects.filter(key__in=["soup-1", "why-soup"]))
    study.members.add(eve, through_defaults={"role": "auditor"})
    client = browser("eve")
    asked = {"start": "copy", "source": "theirs", "title": "Mine"}
    refused = client.post(reverse("lab:new_study"), asked)
    assert "source" in refused.context["form"].errors
    with pytest.raises(StudyFileError, match="Only researchers"):
        copy_study(study, slug="mine", title="Mine", by=eve)
    study.memberships.update(role="researcher")
    assert "cooking (2)" in client.post(reverse("lab:new_study"), asked).text
    assert not Study.objects.filter(title="Mine").exists()
    cooking.members.add(eve, through_defaults={"role": "reader"})
    assert client.post(reverse("lab:new_study"), asked).status_code == 302
    assert Study.objects.get(title="Mine").items.filter(key="soup-1").exists()


@pytest.mark.parametrize("key", ["soup-1", "soup-draft"])
def test_a_tables_key_of_a_foreign_field_is_replaced_and_one_of_a_known_field_refused(
    cooking: ResearchField, eve: User, key: str
) -> None:
    sleep, file = make_research_field("sleep", lead=eve), f'key,markup\n{key},"A [[b, c]] d."\n'
    plan = AS_DRAFTS.plan(items_of(file.encode()), sleep, by=eve)
    assert ([*plan.problems], [row.record.key for row in plan.rows]) == ([], [""])
    cooking.members.add(eve, through_defaults={"role": "curator"})
    [problem] = AS_DRAFTS.plan(items_of(file.encode()), sleep, by=eve).problems
    assert "is a test case of cooking" in str(problem)


def test_a_table_does_not_come_in_where_somebody_only_reads(
    cooking: ResearchField, eve: User
) -> None:
    cooking.members.add(eve, through_defaults={"role": "reader"})
    file = SimpleUploadedFile("items.csv", b"markup\nA [[b, c]].\n")
    sent = browser("eve").post(reverse("lab:import_send", args=["cooking"]), {"file": file})
    assert sent.status_code == 403


def test_a_field_that_is_shared_with_a_study_is_offered_there_and_nowhere_else(
    client: Client, cooking: ResearchField
) -> None:
    cooking.shared_with.add(Study.objects.get(slug="hers"))
    page = client.get(url()).text
    assert '<option value="cooking">' in page
    assert "cooking (1)" in page
    assert "cooking" not in client.get(reverse("lab:new_study")).text
    assert client.post(url(), {"field": "cooking"}).status_code == 302
    taken = {"questions_of": "cooking", "question_items": 3}
    assert client.post(url("questions"), taken).status_code == 302
    keys = set(Study.objects.get(slug="hers").items.values_list("key", flat=True))
    assert {"soup-1", "why-soup"} <= keys
    assert "soup-draft" not in keys


def test_members_of_a_study_see_no_newer_version_that_it_does_not_draw(
    client: Client, cooking: ResearchField
) -> None:
    study, drawn = Study.objects.get(slug="hers"), Item.objects.get(key="soup-1")
    pin_items(study, [drawn])
    newer = make_item("soup-1", version=2, field="cooking", markup="Newer [[soups, stews]].")
    pages = {item: reverse("lab:test_case", args=["hers", item.pk]) for item in (drawn, newer)}
    assert [client.get(page).status_code for page in pages.values()] == [200, 404]
    cooking.members.add(User.objects.get(username="eve"), through_defaults={"role": "reader"})
    assert client.get(pages[newer]).status_code == 200


def test_a_text_that_was_brought_under_a_built_in_key_does_not_take_its_place(eve: User) -> None:
    entry = next(entry for entry in read_items() if entry["kind"] == "practice")
    text = {name: entry[name] for name in ("key", "kind", "source", "markup")}
    planted = make_item(**text, field=make_research_field("sleep", lead=eve).name, created_by=eve)
    built_in = {item.key: item for item in ensure_items(("practice",))}[entry["key"]]
    assert (built_in.is_demo, built_in.pk != planted.pk) == (True, True)
    # Its field's lead retires it, and the site's stays
    reviews.retire(planted, eve, "Gone.", every_version=True)
    built_in.refresh_from_db()
    assert built_in.status == "accepted"


def import_one(key: str, texts: Item) -> list[str]:
    """The problems of an import whose published set has these texts."""
    row, problems = Row("items.csv", 2, int(key[-3:]) - 1, {}), list[Any]()
    item = PublishedItem(row, "human", "", "broth", texts.markup, texts.original)
    store_items([item], "as-published", problems)
    return list(map(str, problems))


def test_nobodys_text_gets_a_key_of_the_published_set(cooking: ResearchField, eve: User) -> None:
    text = {**NEW, "texts": "as-published"}
    keys = [f"brainbench-human-00{n}" for n in (1, 2, 3)]
    [of_study] = brought(eve, {**text, "key": keys[0]}).items.filter(markup=NEW["markup"])
    cooking.members.add(eve, through_defaults={"role": "curator"})
    file = items_of(f'key,markup\n{keys[1]},"A [[b, c]]."\n'.encode())
    [of_table] = import_file(file, cooking, AS_DRAFTS, by=eve).keys
    for key in keys[:2]:
        assert key not in (of_study.key, of_table)
        assert import_one(key, of_study) == []
    # What an earlier release let in is said
    make_item(keys[2], field="cooking", created_by=eve)
    [problem] = import_one(keys[2], of_study)
    assert "kept for the published set" in problem


def test_every_key_that_comes_with_the_site_is_kept(eve: User) -> None:
    shipped = [item.key for item in (*ensure_items(tuple(Item.Kind.values)), *ensure_questions())]
    assert kept_keys([*shipped, "soup-1"], eve) == set(shipped)
    assert not kept_keys(shipped, None)


def test_a_field_that_others_share_is_drawn_only_by_its_name(
    cooking: ResearchField, eve: User
) -> None:
    """Otherwise a lab that shares its field, unasked, would choose what another lab's study asks."""
    sleep = make_research_field("sleep", lead=eve)
    make_item("sleep-1", field=sleep.name)
    hers = Study.objects.get(slug="hers")
    fields.share_with_study(cooking, "hers", eve)
    fields.share_with_site(cooking, True, eve)
    cooking.members.add(eve, through_defaults={"role": "reader"})

    def drawn(choice: ItemChoice) -> set[str]:
        return {item.field for item in choose(choice, eve, hers) if item.field}

    assert drawn(ItemChoice(source="human")) == {"sleep"}
    assert drawn(ItemChoice(field="cooking")) == {"cooking"}


def test_a_key_in_a_foreign_field_keeps_nobody_from_writing(
    cooking: ResearchField, eve: User
) -> None:
    make_item(f"{cooking.slug}-999999999", field="sleep")
    make_item(f"{cooking.slug}-0001", field="sleep")
    numbers = [create_draft(cooking, "A [[b, c]] d.", by=None).key for _ in range(2)]
    assert numbers == [f"{cooking.slug}-0002", f"{cooking.slug}-0003"]
    file = items_of(b'markup\n"E [[f, g]] h."\n"I [[j, k]] l."\n')
    imported = import_file(file, cooking, AS_DRAFTS, by=None).keys
    assert imported == [f"{cooking.slug}-0004", f"{cooking.slug}-0005"]


@pytest.mark.parametrize("slug", DEMO_SLUGS)
def test_nobodys_file_makes_the_sites_demo(eve: User, slug: str) -> None:
    data = document(Study.objects.get(slug="hers"))
    data["study"] |= {"slug": slug, "title": "Demo"}
    for by in (eve, None):  # a copy of the demo is none either
        with pytest.raises(StudyFileError, match=r"study\.slug"):
            create_from_file(json.dumps(data).encode(), by=by)
    made = create_from_file(json.dumps(data).encode(), slug="other", by=eve)
    assert not made.is_demo
    ensure_demo()
    assert not Study.objects.get(slug=slug).members.exists()


def test_the_numbered_keys_of_a_field_are_for_its_people(cooking: ResearchField, eve: User) -> None:
    key = f"{cooking.slug}-0001"
    study = brought(eve, NEW | {"key": key})
    of_study = study.items.get(markup=NEW["markup"])
    own = make_research_field("sleep", lead=eve)
    [of_table] = import_file(
        items_of(f'key,markup\n{key},"A [[b, c]]."\n'.encode()), own, AS_DRAFTS, by=eve
    ).keys
    assert key not in (of_study.key, of_table)
    ben = User.objects.get(username="ben")
    assert create_draft(cooking, "It [[rose, fell]] at once.", by=ben).key == key
    file = items_of(f'key,markup\n{cooking.slug}-0002,"A [[d, e]]."\n'.encode())
    assert list(import_file(file, cooking, AS_DRAFTS, by=ben).keys) == [f"{cooking.slug}-0002"]
    assert brought(None, NEW | {"key": f"{cooking.slug}-0003"}, slug="of-site").items.filter(
        key=f"{cooking.slug}-0003"
    )
