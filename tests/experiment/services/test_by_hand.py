"""One participant is excluded by hand: kept by the rules, counted, in the trail without words, and taken back."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.utils import timezone

from experiment.domain.exclusion import Rules
from experiment.models import AuditEvent, ExcludedByHand, Participant, Study
from experiment.services import overview, recounting
from experiment.services.by_hand import exclude_by_hand, include_again
from experiment.services.exclusions import verdicts
from experiment.services.study_versions import compare_rules, revise
from experiment.services.withdrawal import withdraw
from tests.experiment import people
from tests.factories import make_participant, make_study, make_user

pytestmark = pytest.mark.django_db
WORDS = "Jo of our lab tried the link."


@pytest.fixture
def study() -> Study:
    return make_study(recruitment="open")


def exclude(study: Study, person: Participant, reason: str = "team", words: str = WORDS) -> None:
    by = User.objects.filter(username="eva").first() or make_user("eva", study)
    exclude_by_hand(study, person.public_id, reason, words, timezone.now(), by)
    person.refresh_from_db()
    assert not recounting.check([study])


def steps(study: Study) -> dict[str, int]:
    flow = overview.flow(study, "real", timezone.now())
    return {step.code: step.n for step in flow.steps}


@pytest.mark.both
def test_an_exclusion_by_hand_is_kept_whatever_the_rules_are_and_can_be_taken_back(
    study: Study,
) -> None:
    person = people.finish(study)
    study.refresh_from_db()
    exclude(study, person)
    assert person.excluded_by == "by_hand"
    assert steps(study) | {"by_hand": 1, "valid": 0} == steps(study)
    assert compare_rules(study, "real", Rules(min_rt_ms=0)).after.participants == 0
    stricter = Rules(min_rt_ms=10**6)
    assert verdicts(study, "real", stricter).participants[person.pk].excluded_by == (
        "mostly_too_fast by_hand"
    )
    for rules in (stricter, Rules()):
        revise(study, rules=rules, reason="A test.")
        person.refresh_from_db()
        assert person.excluded_by.split()[-1] == "by_hand"
    assert not recounting.check([study])
    include_again(study, person.public_id, make_user("tom", study))
    person.refresh_from_db()
    assert person.excluded_by == ""
    assert not ExcludedByHand.objects.exists()
    assert not recounting.check([study])
    assert steps(study)["valid"] == 1
    events = AuditEvent.objects.filter(action__in=("excluded_by_hand", "included_again"))
    told = [(event.actor, event.details["participant"]) for event in events]
    assert told == [("eva", person.pseudonym), ("tom", person.pseudonym)]
    assert WORDS not in "".join(f"{event.details} {event.reason}" for event in events)


def test_only_who_finished_here_is_excluded_once_with_a_reason(study: Study) -> None:
    finished, left = make_participant(study), make_participant(study, judged=2)
    imported = make_participant(study, kind="imported")
    for person in (left, imported):
        with pytest.raises(ValidationError):
            exclude(study, person)
    for reason, words in (("dislike", WORDS), ("bot", " ")):
        with pytest.raises(ValidationError):
            exclude(study, finished, reason, words)
    exclude(study, finished)
    with pytest.raises(ValidationError):
        exclude(study, finished)
    with pytest.raises(ValidationError):
        include_again(study, left.public_id, make_user("tom", study))
    assert ExcludedByHand.objects.count() == 1


@pytest.mark.parametrize("policy", ["delete", "anonymise"])
def test_the_words_go_with_those_of_the_participant(study: Study, policy: str) -> None:
    Study.objects.update(withdrawal_policy=policy)
    study.refresh_from_db()
    person = people.finish(study)
    exclude(study, person)
    withdraw(study, person.withdrawal_code, timezone.now() + timedelta(days=1))
    person.refresh_from_db()
    kept = [(row.reason, row.words) for row in ExcludedByHand.objects.all()]
    assert kept == ([] if policy == "delete" else [("team", "")])
    assert person.excluded_by == ("withdrawn" if policy == "delete" else "by_hand")
    assert not recounting.check([study])
