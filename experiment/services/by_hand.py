"""One participant is excluded by hand, or included again: with a reason, in the counters and in the audit trail."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from uuid import UUID

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction

from experiment.domain.exclusion import BY_HAND, HAND_REASONS
from experiment.models import ExcludedByHand, Participant, Study
from experiment.services import audit
from experiment.services.audit import Action
from experiment.services.counting import Difference, judged_by
from experiment.services.exclusions import is_by_hand
from lib.locks import hold_shared


def can_be_excluded(person: Participant) -> bool:
    """True of those who finished here: others are in no analysis, and a publication has decided about those whom it brought."""
    is_finished = person.stage == Participant.Stage.FINISHED
    return is_finished and person.kind != Participant.Kind.IMPORTED


def exclude_by_hand(
    study: Study, public_id: UUID, reason: str, words: str, now: datetime, by: User
) -> None:
    """Exclude a finished participant, whatever the rules are.

    Raises:
        ValidationError: the participant has not finished, is imported or excluded by hand already, or there is no reason.
    """
    if reason not in HAND_REASONS or not words.strip():
        raise ValidationError("Choose a reason, and say in your own words what happened.")
    with _counted_again(study, public_id) as person:
        if not can_be_excluded(person):
            raise ValidationError("Only participants who have finished can be excluded by hand.")
        if is_by_hand(person.excluded_by):
            raise ValidationError("This participant is excluded by hand already.")
        person.excluded_by = f"{person.excluded_by} {BY_HAND.code}".strip()
        ExcludedByHand.objects.create(
            participant=person, reason=reason, words=words.strip(), made_by=by, created_at=now
        )
        # The trail is for ever: it holds no words about somebody
        told = {"participant": person.pseudonym, "why": HAND_REASONS[reason]}
        audit.record(Action.EXCLUDED_BY_HAND, by=by, study=study, **told)


def include_again(study: Study, public_id: UUID, by: User) -> None:
    """Take back an exclusion by hand; the rules decide alone again.

    Raises:
        ValidationError: nobody has excluded the participant by hand.
    """
    with _counted_again(study, public_id) as person:
        if not is_by_hand(person.excluded_by):
            raise ValidationError("This participant is not excluded by hand.")
        codes = (code for code in person.excluded_by.split() if code != BY_HAND.code)
        person.excluded_by = " ".join(codes)
        ExcludedByHand.objects.filter(participant=person).delete()
        audit.record(Action.INCLUDED_AGAIN, by=by, study=study, participant=person.pseudonym)


@contextmanager
def _counted_again(study: Study, public_id: UUID) -> Iterator[Participant]:
    """The locked participant, out of the counters; afterwards saved, and in them as they are then."""
    with transaction.atomic():
        hold_shared(study)  # its counters count under one time until the end
        limit_ms = Study.objects.get(pk=study.pk).fast_limit_ms
        locked = Participant.objects.select_for_update(of=("self",), no_key=True)
        person = locked.select_related("arm").get(study=study, public_id=public_id)
        judgments = judged_by([person])
        counts = Difference()
        counts.add(person, judgments, limit_ms, sign=-1)
        yield person
        person.save(update_fields=["excluded_by"])
        counts.add(person, judgments, limit_ms)
        counts.write(study, person.kind)
