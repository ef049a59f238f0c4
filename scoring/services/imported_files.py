"""Imports of what models gave elsewhere: a file becomes one run, once, or what is wrong with it is said."""

import hashlib
from collections.abc import Callable, Iterable
from itertools import islice
from typing import TypeVar

from django.db import transaction
from django.utils import timezone

from experiment.models import Study
from scoring.domain.backend import ScoringError
from scoring.models import AnsweringRun, ChoiceRun
from scoring.models.answers import Kind, ModelAnswer
from scoring.services.open_model import language_model

MOST_PROBLEMS = 20
BATCH = 500
R = TypeVar("R", AnsweringRun, ChoiceRun)


class AnswersError(ScoringError):
    """The problems of a file: a sentence for each, with its place."""

    def __init__(self, problems: list[str], n: int) -> None:
        more = [f"… and {n - len(problems):,} more."] if n > len(problems) else []
        self.problems = [*problems, *more]
        super().__init__("\n".join(self.problems))


def import_once(
    study: Study, draft: R, name: str, told: str, rows_of: Callable[[R], Iterable[ModelAnswer]]
) -> tuple[R, bool]:
    """Store a run that is over, with its rows. A file that was imported before under this name is the run that it was.

    Args:
        draft: of this study, not stored; its `identity` has the file's hash and, where one was named, its sheet.
        name: of the model.
        told: what the model was told, as whoever imports the file says it: told otherwise, it is another run.
        rows_of: of the stored run.
    Returns:
        The run, and whether it is new.
    Raises:
        ScoringError: no model can have the name.
    """
    about = [str(study.pk), name, draft.identity["sha256"], told]
    if "sheet" in draft.identity:
        about.append(draft.identity["sheet"])
    known = "\n".join(about)
    draft.generator, draft.fingerprint = Kind.IMPORTED, hashlib.sha256(known.encode()).hexdigest()
    draft.done, draft.status, draft.finished_at = draft.total, draft.Status.FINISHED, timezone.now()
    with transaction.atomic():
        # Of the same import twice at once, the second one finds what the first one has stored
        Study.objects.select_for_update().get(pk=study.pk)
        stored = type(draft)._default_manager.filter(
            generator=Kind.IMPORTED, fingerprint=draft.fingerprint
        )
        if (same := stored.first()) is not None:
            return same, False
        draft.language_model = language_model(Kind.IMPORTED, name)
        draft.save()
        rows = iter(rows_of(draft))
        while batch := list(islice(rows, BATCH)):
            type(batch[0])._default_manager.bulk_create(batch)
    return draft, True
