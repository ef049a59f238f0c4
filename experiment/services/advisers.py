"""The adviser of a study: who sets it, when its advice is frozen, and what is missing before an advised study can open.

What an adviser says of each test case is worked out by analysis/services/advising.py, which knows models and statistics.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from typing import Any, Protocol

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.module_loading import import_string
from django.utils.translation import gettext as _

from experiment.models import AdvisedTrial, Adviser, Arm, Item, Study
from experiment.models.items import ItemQuerySet
from experiment.services import audit


class WorkedOut(Protocol):
    """What the adviser of a study says of its test cases, not stored yet."""

    def freeze(self, now: datetime, *, by: User | None = None) -> None:
        """Store it; the caller holds the study's row."""


# (study) -> WorkedOut; ValidationError where the adviser cannot say it. Named by the app that knows models and statistics
WORKS_OUT: list[str] = []


def adviser_of(study: Study) -> Adviser | None:
    return Adviser.objects.filter(study=study).first()


def is_advised(study: Study) -> bool:
    """Whether participants of any of its arms see advice."""
    return Arm.objects.filter(study=study).exclude(advice=Arm.Advice.NONE).exists()


def gives_advice(study: Study) -> bool:
    """Whether any arm has advice, or had when somebody was given some."""
    given = AdvisedTrial.objects.filter(trial__participant__study=study)
    return is_advised(study) or given.exists()


def must_be_revealed(study: Study) -> bool:
    """Whether participants see advice that was made up, which a debriefing text must explain."""
    adviser = adviser_of(study)
    return adviser is not None and adviser.is_planted and is_advised(study)


def advisable_items(study: Study) -> ItemQuerySet:
    """The test cases that a participant can be advised on, of both strata; paused ones may be resumed."""
    return study.accepted_items.filter(kind=Item.Kind.TEST)


def unadvised(study: Study, items: ItemQuerySet) -> ItemQuerySet:
    """The test cases among these of which no frozen advice exists."""
    frozen = {"advice__adviser__study": study, "advice__adviser__frozen_at__isnull": False}
    return items.filter(kind=Item.Kind.TEST).exclude(
        pk__in=Item.objects.filter(**frozen).order_by().values("pk")
    )


def items_without_advice(study: Study) -> ItemQuerySet:
    """Those that can be drawn now of which no frozen advice exists."""
    return unadvised(study, study.drawable_items)


def lacks_advice(study: Study, items: Iterable[Item]) -> bool:
    """Whether participants in an advised arm would be given one of these without advice."""
    given = Item.objects.filter(pk__in=[item.pk for item in items])
    return is_advised(study) and unadvised(study, given).exists()


@transaction.atomic
def set_adviser(study: Study, values: Mapping[str, Any], *, by: User | None) -> Adviser:
    """Say who advises in a study and what participants see of it.

    Advice that was frozen for a pilot or a dry run is forgotten.

    Raises:
        ValidationError: participants can enter, or real ones have, or the values contradict each other.
    """
    locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if locked.version:
        raise ValidationError(
            _(
                "Real participants have entered, so the adviser cannot change. Copy the study to start again with another one."
            )
        )
    if locked.has_begun:
        raise ValidationError(_("Close recruitment before you change the adviser."))
    adviser = adviser_of(study) or Adviser(study=study)
    for name, value in values.items():
        setattr(adviser, name, value)
    adviser.frozen_at, adviser.version = None, {}
    adviser.full_clean()
    adviser.save()
    adviser.advice.all().delete()
    audit.record(audit.Action.STUDY_CHANGED, by=by, study=study, changed=["adviser", *values])
    return adviser


def advice_fault(study: Study) -> str:
    """Why opening the study could not freeze its adviser's advice; empty where it could, or where nothing is missing."""
    if study.has_begun and not items_without_advice(study).exists():
        return ""
    try:
        _work_out(study)
    except ValidationError as error:
        return " ".join(error.messages)
    return ""


def freeze_advice(study: Study, now: datetime, *, by: User | None = None) -> None:
    """Store what the adviser says of the study's test cases, where participants see advice. The caller holds the study's row.

    Until a real participant has entered, all of it anew; then only of test cases that have none.

    Raises:
        ValidationError: the adviser cannot say anything of some of them, or not how sure it is.
    """
    if is_advised(study):
        for found in _work_out(study):
            found.freeze(now, by=by)


def _work_out(study: Study) -> list[WorkedOut]:
    return [import_string(path)(study) for path in WORKS_OUT]


def freeze_to_try(study: Study, now: datetime) -> None:
    """Freeze what a pilot or a dry run needs before the study has opened.

    What cannot be frozen keeps nobody from trying the rest: the set-up says what it is.
    """
    if study.has_begun or not is_advised(study) or not items_without_advice(study).exists():
        return
    with suppress(ValidationError), transaction.atomic():
        freeze_advice(Study.objects.select_for_update(no_key=True).get(pk=study.pk), now)
