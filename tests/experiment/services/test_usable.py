"""The rights to a field's texts: two labs with a field each, and the texts that each may read and take into studies."""

from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.core.management import call_command

from experiment.domain.roles import FieldRole
from experiment.models import Item, ResearchField, Study
from experiment.services import members
from experiment.services.rights import fields_of
from experiment.services.study_setup import pin_items
from experiment.services.usable import usable_fields, usable_items
from tests.factories import make_item, make_research_field, make_study, make_user

pytestmark = pytest.mark.django_db
BEFORE = "0001_release"  # fields were open


def keys(user: Any, study: Study | None = None) -> set[str]:
    return set(usable_items(user, study).values_list("key", flat=True))


@pytest.fixture
def labs() -> tuple[ResearchField, ResearchField]:
    """Cooking is Ada's and Cora's, sleep is Ben's; each has an accepted text, a draft and a retired one."""
    ada, ben, cora = map(make_user, ("ada", "ben", "cora"))
    fields = (
        make_research_field("cooking", lead=ada, curators=[cora]),
        make_research_field("sleep", lead=ben),
    )
    for field in fields:
        make_item(f"{field}-1", field=field.name)
        make_item(f"{field}-draft", field=field.name, status="draft")
        make_item(f"{field}-old", field=field.name, status="retired")
    return fields


def test_a_fields_accepted_texts_are_its_members_alone(labs: Any) -> None:
    ada, ben, cora = (make_member(name) for name in ("ada", "ben", "cora"))
    assert keys(ada) == keys(cora) == {"cooking-1"}
    assert keys(ben) == {"sleep-1"}
    assert keys(make_user("eve")) == keys(AnonymousUser()) == set()
    admin = make_user("root", is_superuser=True)
    assert keys(None) == keys(admin) == {"cooking-1", "sleep-1"}


def make_member(name: str) -> Any:
    return ResearchField.objects.get(members__username=name).members.get(username=name)


def test_a_user_who_is_not_active_uses_nothing(labs: Any) -> None:
    make_item("built-in", is_demo=True)
    for user in (make_member("ada"), make_user("root", is_superuser=True)):
        user.is_active = False
        user.save()
        assert keys(user) == set()
        assert not usable_fields(user)


def test_the_published_set_built_in_texts_and_those_of_no_field_are_the_sites(labs: Any) -> None:
    make_item("published", field="cooking", collection="brainbench")
    make_item("built-in", field="sleep", is_demo=True)
    make_item("catch", kind="catch")
    assert keys(make_user("eve")) == {"published", "built-in", "catch"}


def test_a_reader_takes_what_is_accepted_and_curates_nothing(labs: Any) -> None:
    cooking, ada, eve = labs[0], make_member("ada"), make_user("eve")
    reader = members.add_to_field(cooking, "eve", FieldRole.READER, ada)
    assert keys(eve) == set()
    members.answer(reader, agrees=True)
    assert keys(eve) == {"cooking-1"}
    assert list(usable_fields(eve)) == [cooking]
    assert not fields_of(eve)
    members.remove_member(reader, ada)
    assert keys(eve) == set()


def test_a_lead_shares_a_field_with_the_site(labs: Any) -> None:
    labs[0].is_shared = True
    labs[0].save()
    assert keys(make_user("eve")) == {"cooking-1"}


def test_a_field_that_is_shared_with_a_study_is_for_those_who_set_it_up(labs: Any) -> None:
    study, other = make_study("soup", human=0), make_study("stew", human=0)
    eve = make_user("eve", study, other)
    mallory, auditor = make_user("mallory", other), make_user("auditor")
    study.members.add(auditor, through_defaults={"role": "auditor"})
    labs[0].shared_with.add(study)
    assert "cooking-1" in keys(eve, study)
    for user, where in ((eve, other), (eve, None), (mallory, study), (auditor, study)):
        assert "cooking-1" not in keys(user, where)


def test_a_study_keeps_what_it_draws_from(labs: Any) -> None:
    study = make_study("soup", human=0)
    pin_items(study, usable_items(None).filter(key="cooking-1"))
    eve = make_user("eve", study)
    assert "cooking-1" in keys(eve, study)
    assert "cooking-1" not in keys(eve)


def test_nothing_foreign_enters_a_study_by_any_way(labs: Any) -> None:
    study = make_study("soup", human=0)
    eve = make_user("eve", study)
    foreign = list(usable_items(None).filter(key="cooking-1"))
    with pytest.raises(ValidationError, match="cooking-1 v1"):
        pin_items(study, foreign, by=eve)
    assert not study.items.filter(key="cooking-1").exists()
    assert pin_items(study, foreign, by=make_user("root", is_superuser=True)) == 1


@pytest.mark.both
@pytest.mark.django_db(transaction=True)
def test_after_an_upgrade_studies_keep_their_fields_and_every_text_has_one(labs: Any) -> None:
    study, eve = make_study("soup", human=0), make_user("eve")
    root = make_user("root", is_superuser=True)
    make_item("published", field="sleep", collection="brainbench")
    make_item("by-file", field="planted", subfield="roots", created_by=eve)
    make_item("of-none", created_by=eve)
    make_item("of-site", created_by=root)
    pin_items(study, usable_items(None).filter(key__in=["cooking-1", "published", "by-file"]))
    call_command("migrate", "experiment", BEFORE, verbosity=0)
    call_command("migrate", verbosity=0)
    assert list(study.shared_fields.values_list("name", flat=True)) == ["cooking", "planted"]
    assert keys(eve) - keys(make_user("mallory")) == {"by-file", "of-none"}
    assert Item.objects.get(key="of-site").field == ""
    planted = ResearchField.objects.get(name="planted")
    assert [s.name for s in planted.subfields.all()] == ["roots"]
    assert not labs[1].shared_with.exists()
    assert study.items.filter(key="by-file").exists()
