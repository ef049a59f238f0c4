"""Bring the published items and trials into the database, all or nothing; again changes nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import translation
from django_countries import countries

from experiment.imports.read.brainbench import Published
from experiment.imports.read.tables import Problem
from experiment.imports.store.items import pin_published, store_items
from experiment.imports.store.trials import store_participants
from experiment.models import Item, Participant, Study
from experiment.services.study_setup import create_study

ANOTHER_STUDY = (
    "this study has participants, or is the demo. Name another study, which the import creates."
)


class ImportRefusedError(Exception):
    """Nothing was written; `problems` says why."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = problems
        super().__init__(f"{len(problems)} problems")


@dataclass(frozen=True, slots=True)
class Created:
    """Rows that were written; `pins` are the study's items."""

    studies: int = 0
    items: int = 0
    participants: int = 0
    trials: int = 0
    pins: int = 0


@dataclass(frozen=True)
class Imported:
    """The written rows, and the row that takes the place of each damaged one, by key."""

    study: Study
    created: Created
    successors: Mapping[str, Item]
    notes: list[str] = field(default_factory=list)
    trials_stored: bool = True


@cache
def country_codes() -> Mapping[str, str]:
    """The ISO 3166 alpha-2 code of each country by its English names, in lower case."""
    codes: dict[str, str] = {}
    with translation.override("en"):
        for code, known in countries.countries.items():
            names = known.get("names", [known.get("name")]) if isinstance(known, dict) else [known]
            for name in (*names, *countries.shadowed_names.get(code, ())):
                codes.setdefault(str(name).lower(), code)
    return codes


def import_published(data: Published, slug: str, texts: str) -> Imported:
    """Store what was read, for the study of this name, which is made if there is none.

    Raises:
        ImportRefusedError: the data have problems, disagree with what the database holds, or no study can
            have this name.
    """
    problems = list(data.problems)
    with transaction.atomic():
        # The database's objections are collected even if the files' are known: all are shown together.
        study = Study.objects.filter(slug=slug).first()
        n_studies = int(study is None)
        if study is None:
            try:
                study = create_study(slug, "brainbench")
            except ValidationError as error:
                problems.append(Problem(f"study {slug}", " ".join(error.messages)))
                raise ImportRefusedError(problems) from error
        else:
            # Published trials and items would change a study under participants of its own
            kinds = set(study.participants.values_list("kind", flat=True))
            mixed = study.is_demo or kinds & {Participant.Kind.REAL, Participant.Kind.PILOT}
            if mixed and Participant.Kind.IMPORTED not in kinds:
                problems.append(Problem(f"study {slug}", ANOTHER_STUDY))
                raise ImportRefusedError(problems)
        stored = store_items(data.items, texts, problems)
        people = store_participants(data, study, problems)
        if problems:
            raise ImportRefusedError(problems)
        n_pinned, notes = pin_published(study, data.items, stored, texts)
    created = Created(n_studies, stored.n_created, people.participants, people.trials, n_pinned)
    return Imported(study, created, stored.successors, [*people.notes, *notes], not people.skipped)
