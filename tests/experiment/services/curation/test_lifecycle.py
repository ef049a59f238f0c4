"""Use cases of curators and of setting a study up, called as pages and commands call them."""

import pytest
from django.core.exceptions import ValidationError

from experiment.models import Item, Study
from experiment.services.curation.lifecycle import NEXT_STATUSES, revise, set_status
from experiment.services.study_setup import (
    pin_items,
    readiness_problems,
    set_recruitment,
    word_consent,
)
from tests.factories import make_item, make_study, make_user

pytestmark = pytest.mark.django_db
STATUSES = Item.Status.values


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("wanted", STATUSES)
def test_an_item_moves_along_its_stations_only(status: str, wanted: str) -> None:
    item = make_item(status=status)
    if wanted == status or wanted in NEXT_STATUSES[status]:
        assert set_status(item, wanted).status == wanted
    else:
        with pytest.raises(ValidationError, match=r"item-1 v1: an item that is .* cannot become"):
            set_status(item, wanted)
    assert Item.objects.get().status in (status, wanted)


def test_a_stale_copy_does_not_bring_a_status_back() -> None:
    stale = make_item(status="in_review")
    set_status(stale, "accepted")
    with pytest.raises(ValidationError, match="cannot become draft"):
        set_status(stale, "draft")


def test_a_revision_carries_the_description_and_starts_as_a_draft() -> None:
    user = make_user("vera")
    item = make_item(
        doi="10.1234/x",
        source="machine",
        generator="GPT-4",
        subfield="Systems/Circuits",
        texts="as-published",
    )
    revision = revise(item, user=user, markup="Rats [[slept, ran]] more.")
    assert (revision.key, revision.version, revision.status) == ("item-1", 2, "draft")
    assert (revision.doi, revision.source, revision.generator) == ("10.1234/x", "machine", "GPT-4")
    assert (revision.created_by, revision.texts, revision.altered) == (
        user,
        "authored",
        "Rats ran more.",
    )
    item.refresh_from_db()
    assert item.status == "accepted"


def test_versions_count_on_from_the_newest() -> None:
    first = make_item()
    revise(first)
    assert revise(first).version == 3


def test_the_latest_versions_are_one_per_key() -> None:
    revise(make_item("a"))
    make_item("b")
    assert set(Item.objects.latest_versions().values_list("key", "version")) == {("a", 2), ("b", 1)}


def test_pinning_a_version_replaces_the_other_one() -> None:
    study = make_study()
    first = study.items.get(key="memory-human-1")
    second = set_status(revise(first), "accepted")
    assert pin_items(study, [second]) == 1
    assert pin_items(study, [second]) == 0
    assert study.items.get(key="memory-human-1") == second


def test_drafts_are_not_pinned() -> None:
    study = make_study()
    with pytest.raises(ValidationError, match="Only accepted items can be used: draft-1 v1"):
        pin_items(study, [make_item("fine"), make_item("draft-1", status="draft")])
    assert not study.items.filter(key="fine").exists()


def test_the_same_consent_text_makes_no_new_version() -> None:
    study = make_study()
    first = study.consent
    assert word_consent(study, first.text) == first
    second = word_consent(study, "Another text.")
    assert (second.number, study.consent) == (2, second)
    # An old wording that comes back is a version of its own: participants keep the one they saw.
    assert word_consent(study, first.text).number == 3


def test_a_study_with_everything_has_no_problems_and_is_opened() -> None:
    study = make_study()
    assert readiness_problems(study) == []
    assert set_recruitment(study, "open").recruitment == "open"


def test_every_gap_is_named_before_a_study_is_opened() -> None:
    study = make_study(human=5, machine=3, catch=1)
    study.study_items.filter(item__kind="practice").delete()
    study.consent_versions.all().delete()
    Study.objects.update(contact=" ")
    with pytest.raises(ValidationError) as raised:
        set_recruitment(study, "open")
    text = " ".join(raised.value.messages)
    for gap in ("6 human", "2 catch", "no practice", "no consent", "no contact"):
        assert gap in text
    assert set_recruitment(study, "closed").recruitment == "closed"
