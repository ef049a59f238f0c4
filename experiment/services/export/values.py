"""Judged trials as columns of typed values: a participant's and an item's are read once, a trial's own by column.

The columns are those of export_columns.py, in its order. An empty text is None, as every missing value.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import compress
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from experiment.domain import markup
from experiment.domain.assignment import QUESTION
from experiment.domain.exclusion import NOT_FINISHED
from experiment.domain.export_columns import (
    ADVICE_COLUMNS,
    ARM_COLUMNS,
    CATCH_TRIAL,
    QUESTION_COLUMNS,
    TRIAL_COLUMNS,
    Column,
    survey_column,
)
from experiment.models import Item, ItemCount, Judgment, Participant, Study, SurveyAnswer
from experiment.models.participants import ParticipantQuerySet
from experiment.models.trials import JudgmentQuerySet, server_ms
from experiment.services.advisers import gives_advice
from experiment.services.arms import arms_of
from experiment.services.exclusions import Marks, Verdicts
from experiment.services.survey import survey_questions
from lib.table_files import Block, Values

HEADER = tuple(column.name for column in TRIAL_COLUMNS)


def _alike(names: str) -> dict[str, str]:
    return {name: name for name in names.split()}


# Columns, and the fields they are read from
STUDY = {"study": "slug"} | _alike("ethics_number ethics_body ethics_contact")
PERSON = {
    "participant": "public_id",
    "consent_version": "consent_version__number",
    "consent_sha256": "consent_hash",
    "recruitment_source": "external_source",
} | _alike(
    "kind stage published_id consented_at practice_attempts started_at finished_at cheated policy seed"
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
    "reloads viewport_width viewport_height translated received_at server_ms"
)
WRITTEN = {
    "answer_text": "written_answer__text",
    "abstained": "written_answer__abstained",
    "answer_first_ms": "written_answer__first_ms",
    "answer_last_ms": "written_answer__last_ms",
}
ARM = {"arm": "trial__participant__arm__name"}
ADVISED = {
    "advice_procedure": "trial__advised__procedure",
    "advice_side": "trial__advised__advice_side",
    "advice_confidence": "trial__advised__p_shown",
    "advice_shown_at": "trial__advised__shown_at",
    "advice_viewed_ms": "trial__advised__viewed_ms",
} | {
    name: f"trial__advised__{name}"
    for name in (
        "first_side",
        "first_confidence",
        "first_rt_choice_ms",
        "first_rt_ms",
        "first_changes",
        "first_received_at",
    )
}
READ_AS: dict[str, Callable[[str], Any]] = {"integer": int, "number": float, "text": str}
KEYS = ("trial__participant_id", "trial__item_id", "pk", "excluded_by", "flags")
INCLUSION = ("participant_excluded_by", "trial_excluded_by", "flags", "included", "excluded_by")
EMPTY_TEXTS = ("side", "original_side", "translated", "answer_text", "first_side")
ITEMS_KEPT = 4_000  # long texts
PERSON_COLUMNS, ITEM_COLUMNS = (*PERSON, *DEMOGRAPHICS), (*ITEM, "text")
Read = tuple[Any, ...]  # the keys first
Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class _Person:
    """The values that every row of a participant has."""

    values: Row
    excluded_by: str
    flags: str


class TrialColumns:
    """Fills the columns of one study's rows, some at a time, and keeps what it read of items."""

    def __init__(self, study: Study, version: int | None) -> None:
        self._same = {name: getattr(study, source) or None for name, source in STUDY.items()}
        self._same["rules_version"] = version
        self.header = names_of(study)
        asked = survey_questions(study)
        self._survey = {one.pk: (one.column, READ_AS[one.rules.column]) for one in asked}
        of_all = TRIAL | WRITTEN | ARM | ADVISED
        self._own = {name: path for name, path in of_all.items() if name in self.header}
        self._items: dict[int, Row] = {}

    def in_order(
        self, judgments: JudgmentQuerySet, *, by_pseudonym: bool
    ) -> QuerySet[Judgment, Read]:
        """The columns that are read of each judgment, by participant and position; of participants as they came, or by pseudonym."""
        whose = "trial__participant__public_id" if by_pseudonym else "trial__participant_id"
        ordered = judgments.order_by(whose, "trial__position")
        return ordered.values_list(*KEYS, *self._own.values())

    def of(
        self, rows: Sequence[Read], people: ParticipantQuerySet, verdicts: Verdicts | None
    ) -> Block:
        """These rows, whose participants `people` are, by what is stored of them or by other verdicts."""
        person_pks, item_pks, pks, excluded_by, flags, *own = zip(*rows, strict=True)
        values: dict[str, Values] = dict(zip(self._own, own, strict=True))
        for name in values.keys() & EMPTY_TEXTS:
            values[name] = [text or None for text in values[name]]
        if verdicts is not None:
            excluded_by, flags = _decided(verdicts.judgments, pks, excluded_by, flags)
        persons = _persons(people, verdicts)
        of_rows = [persons[pk] for pk in person_pks]
        about = ([person.excluded_by for person in of_rows], [person.flags for person in of_rows])
        inclusion = map(_inclusion, *about, excluded_by, flags, values["stratum"])
        columns = (
            {name: [value] * len(rows) for name, value in self._same.items()}
            | _columns(PERSON_COLUMNS, (person.values for person in of_rows))
            | _columns(ITEM_COLUMNS, self._of_items(item_pks))
            | values
            | {"server_ms": _on_server(values)}
            | (_of_advice(values) if "advice_side" in values else {})
            | self._of_survey(person_pks)
            | _columns(INCLUSION, inclusion)
        )
        return [columns[name] for name in self.header]

    def _of_survey(self, pks: Sequence[int]) -> dict[str, Values]:
        """These participants' answers to survey questions, by column."""
        if not self._survey:
            return {}
        told: dict[str, dict[int, Any]] = {column: {} for column, _ in self._survey.values()}
        answers = SurveyAnswer.objects.filter(participant__in={*pks}, question__in=self._survey)
        for person, question, value in answers.values_list("participant", "question", "value"):
            column, read_as = self._survey[question]
            told[column][person] = read_as(value)
        return {column: [given.get(pk) for pk in pks] for column, given in told.items()}

    def _of_items(self, pks: Sequence[int]) -> Iterator[Row]:
        if len(self._items) > ITEMS_KEPT:
            self._items.clear()
        missing = set(pks) - self._items.keys()
        if missing:
            names = (*ITEM.values(), "kind", "markup")
            read = Item.objects.filter(pk__in=missing).values_list("pk", *names)
            for pk, *values, kind, text in read:
                is_plain = kind == QUESTION  # of other texts, markup that can be read in one way
                shown = text if is_plain else markup.render(markup.parse(text).segments)
                self._items[pk] = (*(None if value == "" else value for value in values), shown)
        return (self._items[pk] for pk in pks)


def kept(block: Block, wanted: Sequence[bool]) -> Block:
    """The rows of a block that are wanted."""
    return [list(compress(column, wanted)) for column in block]


def rows_of(block: Block) -> Iterator[Row]:
    return zip(*block, strict=True)


def _columns(names: Sequence[str], rows: Iterable[Row]) -> dict[str, Values]:
    return dict(zip(names, zip(*rows, strict=True), strict=True))


def _persons(people: ParticipantQuerySet, verdicts: Verdicts | None) -> dict[int, _Person]:
    read = people.values_list("pk", "excluded_by", "flags", "demographics", *PERSON.values())
    pks, excluded_by, flags, answers, *own = zip(*read, strict=True)
    if verdicts is not None:
        excluded_by, flags = _decided(verdicts.participants, pks, excluded_by, flags)
    stages = own[list(PERSON).index("stage")]
    of_people = zip(
        *map(_texts, own), *map(partial(_told, answers), DEMOGRAPHICS.values()), strict=True
    )
    reasons = map(reasons_of, excluded_by, stages)
    return dict(zip(pks, map(_Person, of_people, reasons, flags), strict=True))


def _texts(column: Sequence[Any]) -> Values:
    """Ids as texts, and nothing in the place of empty texts."""
    return [
        str(value) if isinstance(value, UUID) else None if value == "" else value
        for value in column
    ]


def _told(answers: Sequence[Mapping[str, Any]], name: str) -> Values:
    """Answers of several types as texts: an age, or that somebody did not want to tell it."""
    return [str(told) if (told := given.get(name)) not in (None, "") else None for given in answers]


def answers_of(people: ParticipantQuerySet, columns: Sequence[str]) -> dict[str, Row]:
    """The participants' answers about themselves in these columns, by pseudonym."""
    pairs = list(people.values_list("public_id", "demographics"))
    answers = [given for _, given in pairs]
    told = zip(*(_told(answers, DEMOGRAPHICS[name]) for name in columns), strict=True)
    return dict(zip((str(name) for name, _ in pairs), told, strict=True))


def _on_server(values: Mapping[str, Values]) -> Values:
    """As it was stored; of answers before it was, from the times that are kept of them."""
    kept = map(server_ms, values["shown_at"], values["received_at"])
    return [now if ms is None else ms for ms, now in zip(values["server_ms"], kept, strict=True)]


def _decided(
    marks: Mapping[int, Marks], pks: Sequence[int], excluded_by: Sequence[str], flags: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The verdicts on these rows, or where there are none what is stored."""
    stored = map(Marks, excluded_by, flags)
    found = list(map(marks.get, pks, stored))
    return tuple(m.excluded_by for m in found), tuple(m.flags for m in found)


def reasons_of(excluded_by: str, stage: str) -> str:
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
        of_person or None,
        " ".join(about_trial) or None,
        " ".join((*trials_flags.split(), *persons_flags.split())) or None,
        not reasons,
        " ".join(reasons) or None,
    )


def _of_advice(values: Mapping[str, Values]) -> dict[str, Values]:
    """Values that follow from the sides and confidences before and after advice."""
    originals, advice, first = (
        values[name] for name in ("original_side", "advice_side", "first_side")
    )
    after = zip(values["side"], values["confidence"], strict=True)
    before = zip(first, values["first_confidence"], strict=True)
    return {
        "advice_correct": list(map(_is_equal, advice, originals)),
        "first_correct": list(map(_is_equal, first, originals)),
        "revised": [
            None if one[0] is None else one != other
            for one, other in zip(before, after, strict=True)
        ],
    }


def _is_equal(side: str | None, original: str | None) -> bool | None:
    return None if side is None else side == original


def asks_questions(study: Study) -> bool:
    """True if its participants get questions, or anybody did."""
    if study.question_items:
        return True
    return ItemCount.objects.filter(study=study, stratum=QUESTION, assigned__gt=0).exists()


def columns_of(study: Study) -> tuple[Column, ...]:
    of_questions = QUESTION_COLUMNS if asks_questions(study) else ()
    of_arms = ARM_COLUMNS if arms_of(study) else ()
    of_advice = ADVICE_COLUMNS if of_arms and gives_advice(study) else ()
    asked = survey_questions(study)
    of_survey = [survey_column(q.name, q.text, q.place, q.kind, q.parts) for q in asked]
    return (*TRIAL_COLUMNS, *of_questions, *of_arms, *of_advice, *of_survey)


def names_of(study: Study) -> tuple[str, ...]:
    return tuple(column.name for column in columns_of(study))
