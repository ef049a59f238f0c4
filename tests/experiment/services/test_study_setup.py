"""Setting a study up, called as pages and commands call it."""

import pytest
from django.core.exceptions import ValidationError

from experiment.models import Study
from experiment.services.curation.reviews import revise
from experiment.services.readiness import readiness_problems
from experiment.services.study_setup import (
    create_study,
    pin_items,
    set_recruitment,
    unused_slug,
    word_consent,
)
from tests.factories import accepted, make_item, make_study

pytestmark = pytest.mark.django_db


def test_pinning_a_version_replaces_the_other_one() -> None:
    study = make_study()
    first = study.items.get(key="memory-human-1")
    second = accepted(revise(first))
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


def test_every_gap_is_named_before_a_study_is_opened() -> None:
    whole = make_study("whole")
    assert readiness_problems(whole) == []
    assert set_recruitment(whole, "open").recruitment == "open"
    study = make_study(human=5, machine=3, catch=1)
    study.study_items.filter(item__kind="practice").delete()
    study.consent_versions.all().delete()
    Study.objects.filter(pk=study.pk).update(contact=" ")
    with pytest.raises(ValidationError) as raised:
        set_recruitment(study, "open")
    text = " ".join(raised.value.messages)
    for gap in ("6 human", "2 catch", "no practice", "no consent", "no contact"):
        assert gap in text
    assert set_recruitment(study, "closed").recruitment == "closed"


def test_only_the_demo_gets_its_short_names() -> None:
    assert (unused_slug("Demo"), unused_slug("Demo questions")) == ("demo-2", "demo-questions-2")
    with pytest.raises(ValidationError, match="reserved for the built-in demo"):
        create_study("demo", "brainbench")
    assert create_study("demo", "brainbench", is_demo=True).slug == "demo"
