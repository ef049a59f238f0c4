"""What a study's whole data set has of questions: these, what models answered, and what judges and people gave."""

import hashlib
import json
from collections.abc import Iterator, Sequence

from django.db.models import Q
from django.utils.translation import gettext

from experiment.domain.codebook import Column
from experiment.domain.export_form import Form
from experiment.domain.trial_query import TrialQuery
from experiment.models import Item, Study
from experiment.services.export.added import MoreTables
from experiment.services.export.tables import Held, Table
from lib.table_files import in_blocks
from scoring.models import Answer, JudgeGrade
from scoring.services.data_set import rows
from scoring.services.data_set.columns import (
    ANSWERS,
    JUDGES,
    OF_GRADERS,
    PEOPLE,
    QUESTIONS,
    QUOTING,
)
from scoring.services.grading.plans import grades_of, plan_of


def more_tables(study: Study, query: TrialQuery, form: Form) -> MoreTables:
    """Of the questions that the query's test cases may be; of participants' answers, those that are among the trials.

    For the public they have nothing that may quote a participant, unless `form` asks for words, and nothing of when people graded.
    """
    return lambda held: _tables(study, query, held, form)


def state(study: Study) -> str:
    """Equal names, equal tables."""
    of_run = ("pk", "status", "done", "finished_at", "is_simulated", "language_model__name")
    questions = Item.objects.filter(_asked_in(study))
    parts = [
        *(list(runs.order_by("pk").values_list(*of_run)) for runs in (study.answering_runs, study.grading_runs)),
        list(grades_of(study).order_by("pk").values_list("pk", "points", "level", "deductions", "note")),
        plan_of(study).rubric,
        list(questions.order_by("pk").values_list("pk", "edits", "template__key")),
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()


def _tables(study: Study, query: TrialQuery, held: Held, form: Form) -> Iterator[Table]:
    wanted = {"source": query.source, "subfield": query.subfields, "key": query.items}
    asked = {f"{name}__in": values for name, values in wanted.items() if values}
    questions = Item.objects.filter(_asked_in(study), **asked)
    keys = set(questions.values_list("key", "version"))
    if keys:
        about = gettext("the questions, with what an expert answers")
        yield Table("questions", about, QUESTIONS, in_blocks(rows.of_questions(questions)))
    answers = Answer.objects.filter(item__in=questions.values("pk"), run__study=study)
    if answers.exists():
        about = gettext("what language models answered to questions")
        yield Table("modelanswers", about, ANSWERS, in_blocks(rows.of_answers(answers)))
    without = () if not form.k or form.words else QUOTING
    grades = JudgeGrade.objects.filter(run__study=study)
    if grades.exists():
        about = gettext("what judges gave these answers, and what participants wrote")
        found = _of(rows.of_judges(grades), JUDGES, keys, held)
        yield _table("judgegrades", about, JUDGES, found, without)
    if grades_of(study).exists():
        about = gettext("what people gave of these, not knowing whose they were")
        found = _of(rows.of_people(study), PEOPLE, keys, held)
        dropped = (*without, *OF_GRADERS) if form.k else ()
        yield _table("persongrades", about, PEOPLE, found, dropped)


def _of(
    read: Iterator[rows.Row], columns: Sequence[Column], keys: set[tuple[str, int]], held: Held
) -> Iterator[rows.Row]:
    """Grades of models' answers to these questions, and of what participants wrote in these trials."""
    names = [column.name for column in columns]
    person, key, version = map(names.index, ("participant", "item_key", "item_version"))
    for row in read:
        if row[person] is None:
            is_held = (row[key], row[version]) in keys
        else:
            is_held = held.has([row[person]], row[key])
        if is_held:
            yield row


def _table(
    name: str,
    about: str,
    columns: Sequence[Column],
    read: Iterator[rows.Row],
    dropped: Sequence[str],
) -> Table:
    kept = [place for place, column in enumerate(columns) if column.name not in dropped]
    blocks = ([block[place] for place in kept] for block in in_blocks(read))
    return Table(name, about, [columns[place] for place in kept], blocks, dropped)


def _asked_in(study: Study) -> Q:
    """Questions that the study draws from or gave, and those that a model answered in it."""
    shown = Item.objects.shown_by([study]).filter(kind=Item.Kind.QUESTION)
    answered = Answer.objects.filter(run__study=study)
    return Q(pk__in=shown.values("pk")) | Q(pk__in=answered.values("item"))
