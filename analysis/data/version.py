"""Which report it would be: of which participants, and a short name for the state of the data. Light: every page asks."""

import hashlib
import json
from typing import Any

from django.db.models import Count, F, Max, Q, QuerySet, Sum

from analysis.data.filters import ReportOptions
from experiment.models import Item, Judgment, Participant, Study
from experiment.services.participant_kinds import default_kind, published_elsewhere
from scoring.models import LanguageModel, ModelSetMember, ScoringRun, TrainingCorpus

SCHEMA_VERSION = 2
# To be raised whenever an estimator changes: stored reports are then computed again
ESTIMATORS_VERSION = 3


def participants_kind(study: Study, options: ReportOptions) -> str:
    """The kind of participants a report is about: the one asked for, be there any or not."""
    return options.participants or default_kind(study)


def data_version(study: Study) -> str:
    """A short name for all that a report depends on: data and estimators. Equal ones give equal reports.

    Counted in the database, cheap beside the report itself.
    """
    people = Participant.objects.filter(study=study)
    judgments = Judgment.objects.filter(trial__participant__study=study)
    on_items = ScoringRun.objects.seen_in([study])
    runs = ScoringRun.objects.filter(
        Q(pk__in=on_items.values("pk"))
        | ~Q(corpus="") & Q(language_model__in=on_items.values("language_model"))
    )
    models = LanguageModel.objects.filter(
        Q(scoring_runs__in=runs) | Q(model_sets__study=study)
    ).distinct()
    items = Item.objects.shown_by([study])
    elsewhere = published_elsewhere(study)
    state: list[Any] = [
        f"{SCHEMA_VERSION}.{ESTIMATORS_VERSION}",
        [study.title, study.is_demo, study.version, study.ethics_number, study.ethics_body],
        _grouped(people, "kind", "stage", "excluded_by"),
        # A judgment never changes but for its exclusion, and is deleted with its participant alone
        judgments.aggregate(last=Max("pk"), n=Count("pk")),
        _grouped(judgments.exclude(excluded_by=""), "excluded_by"),
        _grouped(elsewhere, "stage", "excluded_by"),
        _grouped(
            Judgment.objects.filter(trial__participant__in=elsewhere).exclude(excluded_by=""),
            "excluded_by",
        ),
        list(runs.order_by("pk").values_list("pk", "status", "done", "finished_at")),
        list(
            models.order_by("pk").values_list(
                "pk",
                "name",
                "display_name",
                "family",
                "n_parameters",
                "is_chat",
                "base_partner",
                "tuned_from",
                "is_demo",
                "training_cutoff",
                "released",
            )
        ),
        list(
            TrainingCorpus.objects.filter(language_model__in=models)
            .order_by("pk")
            .values_list("language_model", "corpus", "status")
        ),
        list(
            ModelSetMember.objects.filter(model_set__study=study)
            .order_by("position")
            .values_list("language_model", "position")
        ),
        list(
            items.order_by("pk").values_list(
                "pk",
                "key",
                "version",
                "status",
                "texts",
                "subfield",
                "source",
                "publication_date",
                "is_damaged",
                "collection",
            )
        ),
        sorted(study.study_items.values_list("item", flat=True)),
    ]
    return hashlib.sha256(json.dumps(state, default=str).encode()).hexdigest()[:16]


def _grouped(rows: QuerySet[Any], *fields: str) -> list[Any]:
    """Per combination of values how many rows, and the sums of their keys: identifies the rows, nearly surely."""
    groups = rows.order_by().values_list(*fields)
    return sorted(
        groups.annotate(n=Count("pk"), keys=Sum("pk"), squares=Sum(F("pk") * F("pk") % 1_000_003)),
        key=str,
    )
