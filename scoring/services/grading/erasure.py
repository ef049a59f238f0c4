"""Grades of participants who are anonymous keep their points, and no text: a judge or a person may have quoted the answer."""

from typing import Any

from experiment.models import Study
from scoring.models import JudgeGrade, PersonGrade
from scoring.services.grading.targets import is_settled


def forget_words(study: Study, **_: Any) -> None:
    """Empty what was written beside the grades of a study's anonymous participants, in the transaction that made them so."""
    of_anonymous = {
        "judgment__trial__participant__study": study,
        "judgment__trial__participant__is_anonymous": True,
    }
    judged = JudgeGrade.objects.filter(**of_anonymous)
    # What would be asked for once more: there is nothing left to ask about
    judged.exclude(is_settled()).delete()
    judged.update(text="", first_text="", messages=[], detail="")
    PersonGrade.objects.filter(**of_anonymous).exclude(note="").update(note="")
