"""Rules, consent and test cases freeze when the first real participant enters, and change in versions from then on."""

import pytest
from django.db import DatabaseError, IntegrityError, transaction

from experiment.domain.exclusion import Rules
from experiment.models import Participant, Study, StudyVersion
from experiment.services.exclusions import verdicts
from experiment.services.study_setup import pin_items, word_consent
from experiment.services.study_versions import (
    ReasonRequiredError,
    UnknownVersionError,
    revise,
    rules_of,
)
from tests.experiment import people
from tests.factories import make_item, make_participant, make_study, make_user

pytestmark = pytest.mark.django_db
SLOWER = Rules(min_rt_ms=90_000)


@pytest.fixture
def frozen(study: Study) -> Study:
    people.finish(study)
    study.refresh_from_db()
    return study


def test_the_first_real_participant_freezes_the_study_and_others_do_not(study: Study) -> None:
    people.enroll(study, kind=lambda: Participant.Kind.PILOT)
    people.enroll(study, kind=lambda: Participant.Kind.SIMULATED)
    study.refresh_from_db()
    assert (study.version, study.versions.count()) == (0, 0)
    first = people.enroll(study)
    people.enroll(study)
    study.refresh_from_db()
    version = study.versions.get()
    assert (study.version, version.number, version.reason) == (1, 1, "")
    assert version.created_at == first.consented_at
    assert version.exclusion_rules == study.exclusion_rules
    assert version.consent == study.consent
    drawn = [[item.key, item.version, item.sha256] for item in study.items.all()]
    assert version.items == sorted(drawn)


def test_before_it_all_three_change_freely(study: Study) -> None:
    revise(study, rules=SLOWER)
    word_consent(study, "Another text.")
    pin_items(study, [make_item("extra")])
    study.refresh_from_db()
    assert study.exclusion_rules == SLOWER
    assert not study.versions.exists()


def test_a_change_of_a_frozen_study_needs_a_reason_and_changes_nothing_without(
    frozen: Study,
) -> None:
    extra = make_item("extra")
    for change in (
        {"rules": SLOWER},
        {"consent": "Another text."},
        {"items": [*frozen.items.all(), extra]},
        {"items": list(frozen.items.all())[1:]},
    ):
        with pytest.raises(ReasonRequiredError):
            revise(frozen, **change)
        with pytest.raises(ReasonRequiredError):
            revise(frozen, **change, reason="  \n")
    assert frozen.versions.count() == 1
    assert frozen.consent.number == 1
    assert not frozen.items.filter(key="extra").exists()


def test_a_change_is_a_new_version_with_who_when_and_why(frozen: Study) -> None:
    ruth, before = make_user("ruth"), frozen.versions.get()
    made = revise(
        frozen, rules=SLOWER, consent="Another text.", reason="The board asked for it.", by=ruth
    )
    assert made.version is not None
    version = frozen.versions.get(number=2)
    assert (version.reason, version.made_by) == ("The board asked for it.", ruth)
    assert version.created_at > before.created_at
    assert version.exclusion_rules == SLOWER == frozen.exclusion_rules
    assert version.consent.text == "Another text."
    assert version.items == before.items
    assert made.excluded is not None
    assert made.excluded.trials == 11  # 60 s each
    before.refresh_from_db()
    assert before.exclusion_rules == Rules()


def test_the_same_again_makes_no_version_and_needs_no_reason(frozen: Study) -> None:
    same = {"rules": Rules(), "consent": frozen.consent.text, "items": list(frozen.items.all())}
    assert revise(frozen, **same).version is None
    assert frozen.versions.count() == 1


def test_any_version_can_be_applied_again_without_touching_what_is_stored(frozen: Study) -> None:
    revise(frozen, rules=SLOWER, reason="Nobody reads so fast.")
    assert frozen.participants.get().excluded_by == "mostly_too_fast"
    stored = dict(frozen.participants.get().trials.values_list("judgment", "judgment__excluded_by"))
    for number, reason in ((1, ""), (2, "too_fast")):
        found = verdicts(frozen, "real", rules_of(frozen, "real", number).exclusion_rules)
        assert {marks.excluded_by for marks in found.judgments.values()} == {reason}
        assert found.judgments.keys() == stored.keys()
    assert set(stored.values()) == {"too_fast"}


def test_a_request_for_unknown_rules_is_answered_with_the_known_versions(frozen: Study) -> None:
    with pytest.raises(
        UnknownVersionError, match=r"not have version 3 of its rules\. Choose from 1"
    ):
        rules_of(frozen, "real", 3)
    with pytest.raises(UnknownVersionError, match="any versions of its rules yet"):
        rules_of(make_study("young"), "real", 1)
    with pytest.raises(UnknownVersionError, match="Imported participants keep"):
        rules_of(frozen, "imported", 1)


def test_a_published_decision_holds_under_any_rules(study: Study) -> None:
    person = make_participant(
        study, kind="imported", excluded_by="missed_catch", judgment={"rt_ms": 10}
    )
    found = verdicts(study, "imported", Rules())
    assert found.participants[person.pk].excluded_by == "missed_catch"
    assert {marks.excluded_by for marks in found.judgments.values()} == {""}


@pytest.mark.parametrize(
    "change",
    [
        {"min_rt_ms": 1},
        {"min_rt_clock": "choice"},
        {"question_min_rt_ms": 1},
        {"exclude_untouched": "off"},
        {"exclude_cheating": False},
        {"exclude_attention": True},
        {"hidden_flag_ms": 5, "version": 1},
    ],
)
def test_the_database_refuses_other_rules_under_the_same_version(
    frozen: Study, change: dict[str, object]
) -> None:
    with pytest.raises(DatabaseError, match="new version"), transaction.atomic():
        Study.objects.filter(pk=frozen.pk).update(**change)
    Study.objects.filter(pk=frozen.pk).update(title="Another title")


@pytest.mark.parametrize(
    "change", [{"reason": "Another."}, {"rules": {}}, {"items": []}, {"consent": None}]
)
def test_the_database_refuses_to_change_a_version(frozen: Study, change: dict[str, object]) -> None:
    with pytest.raises(DatabaseError, match="never changes"), transaction.atomic():
        StudyVersion.objects.filter(study=frozen).update(**change)


def test_the_author_of_a_version_may_be_deleted(frozen: Study) -> None:
    ruth = make_user("ruth")
    revise(frozen, rules=SLOWER, reason="Nobody reads so fast.", by=ruth)
    ruth.delete()
    assert frozen.versions.get(number=2).made_by is None


def test_the_database_refuses_a_later_version_without_a_reason(frozen: Study) -> None:
    first = frozen.versions.get()
    first.pk, first.number = None, 2
    with pytest.raises(IntegrityError), transaction.atomic():
        first.save(force_insert=True)
