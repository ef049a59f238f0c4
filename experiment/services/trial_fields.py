"""Judged trials as fields of CSV lines: a participant's and an item's are written once, a trial's own by column.

The columns are those of codebook.py.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import Any

from django.db.models import QuerySet

from experiment.domain import markup
from experiment.domain.codebook import CATCH_TRIAL, TRIAL_COLUMNS
from experiment.domain.exclusion import NOT_FINISHED
from experiment.models import Item, Judgment, Participant, Study
from experiment.models.participants import ParticipantQuerySet
from experiment.models.trials import JudgmentQuerySet, server_ms
from experiment.services.exclusions import Marks, Verdicts
from lib.csv import field, fields

HEADER = tuple(column.name for column in TRIAL_COLUMNS)


def _alike(names: str) -> dict[str, str]:
    return {name: name for name in names.split()}


# Columns, and the fields they are read from
STUDY = {"study": "slug"} | _alike("ethics_number ethics_body ethics_contact")
PERSON = {
    "participant": "public_id",
    "consent_version": "consent_version__number",
    "consent_sha256": "consent_hash",
} | _alike(
    "kind stage external_source external_id external_study_id external_session_id consented_at practice_attempts "
    "started_at finished_at cheated comments policy seed"
)
DEMOGRAPHICS = {"position_held": "position"} | _alike("gender age country experience_years")
ITEM = {
    "item_key": "key",
    "item_version": "version",
    "item_sha256": "sha256",
    "item_source": "source",
} | _alike("generator subfield doi publication_date")
TRIAL = {
    "position": "trial__position",
    "stratum": "trial__stratum",
    "original_side": "trial__original_side",
    "shown_at": "trial__shown_at",
} | _alike(
    "side correct confidence expertise confidence_moved expertise_moved recognised rt_choice_ms rt_final_choice_ms rt_ms "
    "confidence_first_ms confidence_last_ms expertise_first_ms expertise_last_ms changes aid_switches blur_count hidden_ms "
    "reloads viewport_width viewport_height received_at"
)
KEYS = ("trial__participant_id", "trial__item_id", "pk", "excluded_by", "flags")
INCLUSION = ("participant_excluded_by", "trial_excluded_by", "flags", "included", "excluded_by")
ITEMS_KEPT = 4_000  # long texts
PERSON_COLUMNS, ITEM_COLUMNS = (*PERSON, *DEMOGRAPHICS), (*ITEM, "text")
Read = tuple[Any, ...]  # the keys first
Row = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Person:
    """What every row of a participant says."""

    fields: Row
    excluded_by: str
    flags: str


def in_order(judgments: JudgmentQuerySet) -> QuerySet[Judgment, Read]:
    """What is read of each judgment, by participant and position."""
    ordered = judgments.order_by("trial__participant_id", "trial__position")
    return ordered.values_list(*KEYS, *TRIAL.values())


class TrialFields:
    """Writes the rows of one study, some at a time, and keeps what it wrote of items."""

    def __init__(self, study: Study, version: int | None) -> None:
        self._same = {name: field(getattr(study, source)) for name, source in STUDY.items()}
        self._same["rules_version"] = field(version)
        self._items: dict[int, Row] = {}

    def of(
        self, rows: Sequence[Read], people: ParticipantQuerySet, verdicts: Verdicts | None
    ) -> list[Row]:
        """These rows, whose participants `people` are, by what is stored of them or by other verdicts."""
        person_pks, item_pks, pks, excluded_by, flags, *own = zip(*rows, strict=True)
        values = dict(zip(TRIAL, own, strict=True))
        if verdicts is not None:
            excluded_by, flags = _decided(verdicts.judgments, pks, excluded_by, flags)
        persons = _persons(people, verdicts)
        of_rows = [persons[pk] for pk in person_pks]
        about = ([person.excluded_by for person in of_rows], [person.flags for person in of_rows])
        inclusion = map(_inclusion, *about, excluded_by, flags, values["stratum"])
        columns = (
            {name: repeat(value, len(rows)) for name, value in self._same.items()}
            | _columns(PERSON_COLUMNS, (person.fields for person in of_rows))
            | _columns(ITEM_COLUMNS, self._of_items(item_pks))
            | {name: fields(column) for name, column in values.items()}
            | {"server_ms": fields([*map(server_ms, values["shown_at"], values["received_at"])])}
            | _columns(INCLUSION, inclusion)
        )
        return list(zip(*(columns[name] for name in HEADER), strict=True))

    def _of_items(self, pks: Sequence[int]) -> Iterator[Row]:
        if len(self._items) > ITEMS_KEPT:
            self._items.clear()
        missing = set(pks) - self._items.keys()
        if missing:
            names = (*ITEM.values(), "markup")
            for pk, *values, text in Item.objects.filter(pk__in=missing).values_list("pk", *names):
                self._items[pk] = (*map(field, values), field(_unambiguous(text)))
        return (self._items[pk] for pk in pks)


def _columns(names: Sequence[str], rows: Iterable[Row]) -> dict[str, Iterable[str]]:
    return dict(zip(names, zip(*rows, strict=True), strict=True))


def _persons(people: ParticipantQuerySet, verdicts: Verdicts | None) -> dict[int, _Person]:
    read = people.values_list("pk", "excluded_by", "flags", "demographics", *PERSON.values())
    pks, excluded_by, flags, answers, *own = zip(*read, strict=True)
    if verdicts is not None:
        excluded_by, flags = _decided(verdicts.participants, pks, excluded_by, flags)
    stages = own[list(PERSON).index("stage")]
    # Values of several types: an age, or that somebody did not want to tell it
    told = [[field(given.get(name)) for given in answers] for name in DEMOGRAPHICS.values()]
    written = zip(*map(fields, own), *told, strict=True)
    reasons = map(_reasons, excluded_by, stages)
    return dict(zip(pks, map(_Person, written, reasons, flags), strict=True))


def _decided(
    marks: Mapping[int, Marks], pks: Sequence[int], excluded_by: Sequence[str], flags: Sequence[str]
) -> tuple[Row, Row]:
    """What verdicts say of these rows, or where they say nothing what is stored."""
    stored = map(Marks, excluded_by, flags)
    found = list(map(marks.get, pks, stored))
    return tuple(m.excluded_by for m in found), tuple(m.flags for m in found)


def _reasons(excluded_by: str, stage: str) -> str:
    """Rules are applied at the finish: nothing is stored about those under way or gone."""
    is_told = stage == Participant.Stage.FINISHED or NOT_FINISHED.code in excluded_by.split()
    return excluded_by if is_told else " ".join((*excluded_by.split(), NOT_FINISHED.code))


@lru_cache(maxsize=1024)
def _inclusion(
    of_person: str, persons_flags: str, of_trial: str, trials_flags: str, stratum: str
) -> Row:
    about_trial = of_trial.split()
    if stratum == "catch":
        about_trial.append(CATCH_TRIAL.code)
    reasons = (*of_person.split(), *about_trial)
    return (
        field(of_person),
        field(" ".join(about_trial)),
        field(" ".join((*trials_flags.split(), *persons_flags.split()))),
        field(not reasons),
        field(" ".join(reasons)),
    )


def _unambiguous(text: str) -> str:
    return markup.render(markup.parse(text).segments)
