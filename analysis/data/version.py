"""Version of a report: of which participants, and a short name for the state of the data. Light: every page asks."""

import hashlib
import json
from typing import Any

from django.db.models import Count, Max, Q, QuerySet, Sum, TextField
from django.db.models.functions import Cast

from analysis.data.filters import PARTICIPANTS, ReportOptions
from experiment.models import Adviser, DataRevision, Item, ItemCount, Participant, Study
from experiment.services import counts
from scoring.models import (
    AnsweringRun,
    ChoiceRun,
    GradingPlan,
    GradingRun,
    LanguageModel,
    ModelSetMember,
    PersonGrade,
    ScoringRun,
    TrainingCorpus,
)

SCHEMA_VERSION = 10
MODEL_FIELDS = ("pk", "name", "display_name", "family", "n_parameters", "is_chat", "base_partner", "tuned_from", "is_demo", "training_cutoff", "released", "training", "training__tokens", "training__finished_at")  # fmt: skip
ITEM_FIELDS = ("pk", "key", "version", "status", "texts", "subfield", "source", "publication_date", "is_damaged", "collection")  # fmt: skip


def usual_kind(study: Study) -> str:
    """The kind of participants that results are about where none is asked for: as elsewhere, but never pilots."""
    return counts.default_kind(study, PARTICIPANTS)


def participants_kind(study: Study, options: ReportOptions) -> str:
    """The kind of participants a report is about: the one asked for, be there any or not."""
    return options.participants or usual_kind(study)


def data_version(study: Study) -> str:
    """A short name for the data that a report depends on. Equal ones give equal reports, by the same code.

    Costs the same at any number of participants: their rows are named by the number of their last change.
    """
    runs = ScoringRun.objects.seen_in([study]).order_by()
    choosing = ChoiceRun.objects.seen_in([study]).order_by()
    corpus_runs = ScoringRun.objects.exclude(corpus="").filter(
        language_model__in=runs.values("language_model")
    )
    models = LanguageModel.objects.filter(
        Q(pk__in=runs.values("language_model"))
        | Q(pk__in=_members(study).values("language_model"))
        | Q(pk__in=choosing.values("language_model"))
    )
    shown = Item.objects.shown_by([study])
    items = shown.exclude(kind=Item.Kind.QUESTION)
    state: list[Any] = [
        SCHEMA_VERSION,
        [study.title, study.is_demo, study.version, study.ethics_number, study.ethics_body],
        study.pay.sentences(),
        # Reports on all trials, and the flow, hold people under way
        counts.data_state(study, *Participant.Kind.values, with_live=True),
        _elsewhere(study, items),
        sorted(
            {
                *runs.values_list("pk", "status", "done", "finished_at"),
                *corpus_runs.values_list("pk", "status", "done", "finished_at"),
            }
        ),
        sorted(choosing.values_list("pk", "status", "done", "finished_at", "is_simulated")),
        list(models.order_by("pk").values_list(*MODEL_FIELDS)),
        list(
            TrainingCorpus.objects.filter(language_model__in=models.values("pk"))
            .order_by("pk")
            .values_list("language_model", "corpus", "status")
        ),
        list(_members(study).order_by("position").values_list("language_model", "position")),
        list(items.order_by("pk").values_list(*ITEM_FIELDS)),
        sorted(study.study_items.values_list("item", flat=True)),
        _graded(study, shown.filter(kind=Item.Kind.QUESTION)),
    ]
    if arms := list(study.arms.order_by("number").values_list("number", "name", "advice")):
        # The version of an adviser names its frozen advice
        advisers = Adviser.objects.filter(study=study)
        state.append([arms, list(advisers.values_list("shown_name", "shows", "version"))])
    return hashlib.sha256(json.dumps(state, default=str).encode()).hexdigest()[:16]


def _members(study: Study) -> QuerySet[ModelSetMember]:
    return ModelSetMember.objects.filter(model_set__study=study)


def _graded(study: Study, questions: QuerySet[Item]) -> list[Any]:
    """The last changes of questions, answers and grades; [] where the study has none."""
    # Categories as text: nothing of them is needed but whether they are the same
    categories = Cast("categories", TextField())
    items = list(
        questions.order_by("pk").values_list("pk", "edits", "status", "template", categories)
    )
    if not items:
        return []
    of_run = ("pk", "status", "done", "finished_at", "is_simulated", "language_model")
    runs = AnsweringRun.objects.filter(study=study)
    gradings = GradingRun.objects.filter(study=study)
    elsewhere = sorted(
        {str(pk) for several in gradings.values_list("runs", flat=True) for pk in several}
    )
    people = PersonGrade.objects.filter(
        Q(answer__item__in=questions.values("pk")) | Q(judgment__trial__participant__study=study)
    )
    models = LanguageModel.objects.filter(answering_runs__in=runs)
    return [
        items,
        sorted(runs.values_list(*of_run)),
        sorted(gradings.values_list(*of_run[:-1])),
        elsewhere,
        people.aggregate(n=Count("pk"), last=Max("pk"), points=Sum("points")),
        list(GradingPlan.objects.filter(study=study).values_list("rubric", flat=True)),
        sorted(models.values_list("pk", "name", "display_name", "family")),
    ]


def _elsewhere(study: Study, shown: QuerySet[Item]) -> list[Any]:
    """The last changes of imported people of other studies that judged what this one shows."""
    imported = Participant.Kind.IMPORTED.value
    judged = ItemCount.objects.filter(kind=imported, item__in=shown.values("pk"), judged__gt=0)
    studies = set(judged.exclude(study=study).order_by().values_list("study", flat=True))
    revisions = DataRevision.objects.filter(kind=imported, study__in=studies)
    return sorted(revisions.values_list("study", "number"))
