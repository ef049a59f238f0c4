"""The adviser of a study: who sets it, whether its advice is frozen, and what is missing before an advised study can open.

What an adviser says of each test case is worked out by analysis/services/advising.py, which knows models and statistics.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext as _

from experiment.models import AdvisedTrial, Adviser, Arm, Item, Study
from experiment.models.items import ItemQuerySet
from experiment.services import audit


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

    Raises:
        ValidationError: the advice is frozen, participants can enter, or real ones have, or the values contradict each other.
    """
    locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    adviser = adviser_of(study) or Adviser(study=study)
    if adviser.frozen_at is not None:
        raise ValidationError(
            _("The advice is frozen. Before a real participant enters, you can unfreeze it.")
        )
    refuse_new_adviser(locked)
    for name, value in values.items():
        setattr(adviser, name, value)
    adviser.full_clean()
    adviser.save()
    audit.record(audit.Action.STUDY_CHANGED, by=by, study=study, changed=["adviser", *values])
    return adviser


def refuse_new_adviser(study: Study) -> None:
    """Advice that began now would leave those before without any. The caller holds the study's row.

    Raises:
        ValidationError: participants can enter, or real ones have.
    """
    if study.version:
        raise ValidationError(
            _(
                "Real participants have entered without this adviser. Copy the study to start again with one."
            )
        )
    if study.has_begun:
        raise ValidationError(_("Close recruitment before you change the adviser."))


@transaction.atomic
def unfreeze(study: Study, *, by: User) -> None:
    """Forget the frozen advice, so that the adviser can be changed.

    Raises:
        ValidationError: participants can enter, or real ones have, who may have seen it.
    """
    locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if locked.version:
        raise ValidationError(_("Real participants have entered, so the advice cannot change."))
    if locked.has_begun:
        raise ValidationError(_("Close recruitment before you unfreeze the advice."))
    adviser = Adviser.objects.get(study=study)
    adviser.frozen_at, adviser.version = None, {}
    adviser.save(update_fields=["frozen_at", "version"])
    adviser.advice.all().delete()
    audit.record(audit.Action.STUDY_CHANGED, by=by, study=study, changed=["advice unfrozen"])
