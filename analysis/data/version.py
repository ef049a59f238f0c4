"""Version of a report: of which participants, and a short name for the state of the data. Light: every page asks."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from django.db.models import Count, Max, Q, QuerySet, Sum, TextField
from django.db.models.functions import Cast

from analysis.data.filters import PARTICIPANTS, SOURCES, ReportOptions
from experiment.models import Adviser, Arm, DataRevision, Item, ItemCount, Participant, Study
from experiment.services import counts
from scoring.models import (
    AnsweringRun,
    ChoiceRun,
    GradingPlan,
    GradingRun,
    LanguageModel,
    ModelChoice,
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


Chosen = Sequence[tuple[ChoiceRun, str]]


def choose_choice_runs(study: Study, items: Collection[int]) -> Chosen:
    """(run, source it is taken for): of each model's finished runs the study's own, then what covers most items, then the newest.

    Where one run is real, none that is simulated.
    """
    finished = ChoiceRun.objects.seen_in([study]).filter(status=ChoiceRun.Status.FINISHED)
    runs = list(finished.select_related("language_model").defer("identity", "items").order_by("pk"))
    if not all(run.is_simulated for run in runs):
        runs = [run for run in runs if not run.is_simulated]
    rows = ModelChoice.objects.filter(run__in=runs, item__in=items).order_by()
    counted = rows.values_list("run", "item__source").annotate(n=Count("item", distinct=True))
    coverage = {(run, source): n for run, source, n in counted}
    best: dict[tuple[int, str], ChoiceRun] = {}
    for source in SOURCES:
        covering = [run for run in runs if (run.pk, source) in coverage]
        own = {run.pk: run.study_id == study.pk for run in covering}
        for run in sorted(covering, key=lambda r: (own[r.pk], coverage[r.pk, source], r.pk)):
            best[run.language_model_id, source] = run
    return [(run, source) for (_, source), run in best.items()]


# (run, source) -> how many test cases it has decided
Coverage = Mapping[tuple[int, str], int]


def choose_scoring_runs(
    study: Study, runs: Sequence[ScoringRun], coverage: Coverage, prefer_imported: bool
) -> Sequence[tuple[ScoringRun, str]]:
    """(run, source it is taken for): one of each model, condition, seed and source, among finished runs that count in the study.

    The published one where the people are imported too (`prefer_imported`); then the study's own, so that nobody else's
    replaces it; what covers most items; one with the prompt that most runs of its condition have; the newest.
    """
    prompts = Counter((run.condition, run.prompt) for run in runs)

    def merit(run: ScoringRun, source: str) -> tuple[bool, bool, int, int, int]:
        published = prefer_imported and run.backend == ScoringRun.Backend.IMPORTED
        n_items = coverage[run.pk, source]
        is_own = run.study_id == study.pk
        return published, is_own, n_items, prompts[run.condition, run.prompt], run.pk

    best: dict[tuple[Any, ...], ScoringRun] = {}
    for source in SOURCES:
        covering = [run for run in runs if (run.pk, source) in coverage]
        for run in sorted(covering, key=lambda run: merit(run, source)):
            best[run.language_model_id, run.condition, run.seed, source] = run
    return [(run, source) for (*_, source), run in best.items()]


def has_choices(study: Study) -> bool:
    """True if a model took the test by choosing."""
    return ChoiceRun.objects.seen_in([study]).filter(status=ChoiceRun.Status.FINISHED).exists()


def has_advice(study: Study) -> bool:
    """True if participants of an arm see advice."""
    return study.arms.exclude(advice=Arm.Advice.NONE).exists()


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
        state.append([arms, _advisers(study)])
    return hashlib.sha256(json.dumps(state, default=str).encode()).hexdigest()[:16]


def _members(study: Study) -> QuerySet[ModelSetMember]:
    return ModelSetMember.objects.filter(model_set__study=study)


def _advisers(study: Study) -> list[Any]:
    """The version of an adviser names its frozen advice."""
    advisers = Adviser.objects.filter(study=study)
    return list(advisers.values_list("shown_name", "shows", "version"))


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
