"""Which columns a study's trials have: those of questions where it asks any, so that other files stay as they are."""

from experiment.domain.assignment import QUESTION
from experiment.domain.codebook import QUESTION_COLUMNS, TRIAL_COLUMNS, Column
from experiment.models import ItemCount, Study


def asks_questions(study: Study) -> bool:
    """Whether its participants get questions, or anybody did."""
    if study.question_items:
        return True
    return ItemCount.objects.filter(study=study, stratum=QUESTION, assigned__gt=0).exists()


def columns_of(study: Study) -> tuple[Column, ...]:
    return (*TRIAL_COLUMNS, *QUESTION_COLUMNS) if asks_questions(study) else TRIAL_COLUMNS


def names_of(study: Study) -> tuple[str, ...]:
    return tuple(column.name for column in columns_of(study))
