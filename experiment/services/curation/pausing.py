"""A test case is left out of a running study for a while, and comes back.

From the next draw on nobody is given a paused test case. Who was given it before still sees it, and their judgments
count: a draw that was made is never rewritten. (Under the paper's policy everything is drawn with the first trial.)
Nothing is done to the counters: draws go on among the others by the same scores, and a test case that is resumed has
the lowest score of its stratum, so that it is drawn first until it has caught up.
"""

from datetime import datetime

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from experiment.models import Item, Participant, Study, StudyItem, Trial
from experiment.services import audit
from experiment.services.study_setup import StudyProblem, item_problems


@transaction.atomic
def pause(study: Study, item: Item, *, by: User, reason: str, now: datetime) -> StudyItem:
    """Draw it no more. Of one that is paused nothing changes.

    Raises:
        ValidationError: no reason is given.
    """
    return _set(study, item, now, "paused", by, reason)


@transaction.atomic
def resume(study: Study, item: Item, *, by: User, reason: str) -> StudyItem:
    """Draw it again. Of one that is not paused nothing changes.

    Raises:
        ValidationError: no reason is given.
    """
    return _set(study, item, None, "resumed", by, reason)


def _set(
    study: Study, item: Item, paused_at: datetime | None, change: str, by: User, reason: str
) -> StudyItem:
    if not reason.strip():
        raise ValidationError(_("Say why: the study's trail keeps it."), code="reason_required")
    row = StudyItem.objects.select_for_update().get(study=study, item=item)
    if (row.paused_at is None) == (paused_at is None):
        return row
    row.paused_at = paused_at
    row.save(update_fields=["paused_at"])
    audit.record(
        audit.Action.ITEMS_CHANGED,
        by=by,
        study=study,
        reason=reason.strip(),
        item=str(item),
        change=change,
    )
    return row


def lacking_without(study: Study, item: Item) -> list[StudyProblem]:
    """What participants would run out of while this one is paused, beyond what they do now.

    Who finds no test case left is told so, and goes on where they were once there is one.
    """
    now = item_problems(study)
    return [problem for problem in item_problems(study, [item.pk]) if problem not in now]


def n_still_shown(study: Study, item: Item, now: datetime) -> int:
    """Participants under way who were given it and have not answered it yet."""
    live = Participant.objects.filter(study=study).live(study, now)
    return Trial.objects.filter(item=item, participant__in=live, judgment=None).count()
