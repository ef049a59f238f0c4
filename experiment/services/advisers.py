"""The adviser of a study: who sets it, when its advice is frozen, and what is missing before an advised study can open.

What an adviser says of each test case is worked out by the app that knows models and statistics.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import transaction

from experiment.models import AdvisedTrial, Adviser, Arm, Item, Study
from experiment.models.items import ItemQuerySet
from experiment.services import audit


class WorkedOut(Protocol):
    """The advice of a study's adviser about its test cases, not stored yet."""

    def freeze(self, now: datetime, *, by: User | None = None) -> None:
        """Store it."""


@dataclass(frozen=True)
class Advising:
    """Functions of a study and of keys of the test cases whose advice is added to what is frozen, or None: all of it anew.

    They raise ValidationError where the adviser cannot say it. check: only whether it says anything, which costs little.
    """

    work_out: Callable[[Study, set[int] | None], WorkedOut]
    check: Callable[[Study, set[int] | None], None]


ADVISING: list[Advising] = []  # filled by that app as it starts, since imports run one way
# What advice is worked out from, and what is frozen by now
GOES_BY = ("kind", "source", "planted_accuracy", "shows_passages", "frozen_at", "version")


def adviser_of(study: Study) -> Adviser | None:
    return Adviser.objects.filter(study=study).first()


def is_advised(study: Study) -> bool:
    """True if participants of any of its arms see advice."""
    return Arm.objects.filter(study=study).exclude(advice=Arm.Advice.NONE).exists()


def gives_advice(study: Study) -> bool:
    """True if any arm has advice, or had when somebody was given some."""
    given = AdvisedTrial.objects.filter(trial__participant__study=study)
    return is_advised(study) or given.exists()


def must_be_revealed(study: Study) -> bool:
    """True if participants see advice that was made up, which a debriefing text must explain."""
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
    """True if participants in an advised arm would be given one of these without advice."""
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
            "Real participants have entered, so the adviser cannot change. Copy the study to start again with another one."
        )
    if locked.has_begun:
        raise ValidationError("Close recruitment before you change the adviser.")
    adviser = adviser_of(study) or Adviser(study=study)
    changed = [name for name, value in values.items() if getattr(adviser, name) != value]
    for name, value in values.items():
        setattr(adviser, name, value)
    adviser.frozen_at, adviser.version = None, {}
    adviser.full_clean()
    adviser.save()
    adviser.advice.all().delete()
    audit.record(audit.Action.STUDY_CHANGED, by=by, study=study, changed=["adviser", *changed])
    return adviser


def advice_fault(study: Study) -> str:
    """Why opening the study could not freeze its adviser's advice, as far as that is known before it is worked out; empty where it could."""
    try:
        if (to_add := _to_add(study)) != set():
            for advising in ADVISING:
                advising.check(study, to_add)
    except ValidationError as error:
        return " ".join(error.messages)
    return ""


@dataclass(frozen=True)
class Prepared:
    """Advice that was worked out to be frozen."""

    found: Sequence[WorkedOut]
    goes_by: Sequence[Any]

    def freeze(self, study: Study, now: datetime, *, by: User | None = None) -> None:
        """Store it. The caller holds the study's row, and has not changed it yet.

        Raises:
            ValidationError: it was worked out from something else.
        """
        if self.goes_by != _goes_by(study):
            raise ValidationError(
                "The study, its adviser or its test cases were changed while the advice was worked out. Try again."
            )
        for each in self.found:
            each.freeze(now, by=by)


def prepare_advice(study: Study, resumed: Item | None = None) -> Prepared:
    """Work out the advice that is to be frozen as the study opens, or as one test case is resumed, where participants see any.

    Nothing is locked: it can take seconds, and participants finish meanwhile.

    Raises:
        ValidationError: the adviser cannot say anything of some of them, or not how sure it is.
    """
    goes_by = _goes_by(study)
    if not goes_by or (to_add := _to_add(study, resumed)) == set():
        return Prepared((), goes_by)
    return Prepared([advising.work_out(study, to_add) for advising in ADVISING], goes_by)


def _to_add(study: Study, resumed: Item | None = None) -> set[int] | None:
    """Keys of the test cases whose advice is added to what is frozen; None: until a real participant has entered, opening freezes all anew."""
    if resumed is None and not study.version:
        return None
    items = study.drawable_items
    if resumed is not None:
        items = advisable_items(study).filter(pk=resumed.pk)
    return keys_of(unadvised(study, items)) if study.has_begun else set()


def _goes_by(study: Study) -> list[Any]:
    """The settings that advice depends on as far as people make them, and what is frozen; empty where no participant sees any."""
    if not is_advised(study):
        return []
    adviser = Adviser.objects.filter(study=study).values_list(*GOES_BY).first()
    items = [keys_of(advisable_items(study)), keys_of(study.drawable_items)]
    return [study.recruitment, study.version, adviser, *items]


def keys_of(items: ItemQuerySet) -> set[int]:
    return set(items.order_by().values_list("pk", flat=True))


def freeze_to_try(study: Study, now: datetime) -> None:
    """Freeze what a pilot or a dry run needs before the study has opened.

    Raises:
        ValidationError: the adviser cannot say it, so that nobody would see what participants will.
    """
    if study.has_begun or not is_advised(study) or not items_without_advice(study).exists():
        return
    freeze_now(study, now)


def freeze_now(study: Study, now: datetime, *, by: User | None = None) -> None:
    """Freeze the advice of a study that nobody can enter yet; opening does it anew.

    Raises:
        ValidationError: as of `prepare_advice`.
    """
    advice = prepare_advice(study)
    with transaction.atomic():
        locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        advice.freeze(locked, now, by=by)
