"""A study's settings as pages change them, with what is frozen once real participants have entered."""

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils.translation import gettext as _

from experiment.domain.exclusion import Rules
from experiment.models import Study
from experiment.services import audit
from experiment.services.study_setup import fit_briefing
from experiment.services.study_versions import Revision, revise


def withdrawal_problem(study: Study, policy: str) -> str:
    """Why a locked study cannot have this policy: who agreed to deletion is owed it. Empty where it can."""
    promised, keeps = Study.WithdrawalPolicy.DELETE, Study.WithdrawalPolicy.ANONYMISE
    if study.version and study.withdrawal_policy == promised and policy == keeps:
        return _(
            "The study has real participants, who agreed to take part because their answers are deleted when they withdraw."
        )
    return ""


def reader_problem(study: Study, reader: str) -> str:
    """Why a locked study cannot name this reader of answers: who agreed was not told of it. Empty where it can."""
    if study.version and reader not in ("", study.answers_read_by):
        return _(
            "The study has real participants, who agreed to take part without being told of this reader. Copy the study to begin anew with it."
        )
    return ""


@transaction.atomic
def change_study(
    study: Study,
    values: Mapping[str, Any],
    *,
    by: User,
    rules: Rules | None = None,
    consent: str | None = None,
    reason: str = "",
) -> Revision:
    """Set these columns, and revise rules and consent where they are given. `study` is brought up to date.

    Raises:
        ReasonRequiredError: rules or consent of a frozen study would change, and no reason is given.
        ValidationError: another study has the title, or participants were promised another withdrawal or other readers.
    """
    locked = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if problem := withdrawal_problem(locked, values.get("withdrawal_policy", "")):
        raise ValidationError({"withdrawal_policy": problem})
    if problem := reader_problem(locked, values.get("answers_read_by", "")):
        raise ValidationError({"answers_read_by": problem})
    changed = [name for name, value in values.items() if getattr(locked, name) != value]
    language = locked.language
    for name, value in values.items():
        setattr(locked, name, value)
        setattr(study, name, value)
    if changed:
        if fit_briefing(locked, language):
            study.briefing = locked.briefing
            changed.append("briefing")
        try:
            with transaction.atomic():
                locked.save(update_fields=changed)
        except IntegrityError as error:  # somebody else took the title meanwhile
            raise ValidationError({"title": _("Another study of this site has it.")}) from error
        audit.record(audit.Action.STUDY_CHANGED, by=by, study=study, changed=changed)
    return revise(study, rules=rules, consent=consent, reason=reason, by=by)
