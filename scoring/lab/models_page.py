"""What the template of a study's models shows."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Count, Q, QuerySet

from experiment.models import Study
from lib.jobs import leases, presence
from scoring.domain.perplexity import CHANCE, Accuracy
from scoring.lab.comparison import (
    SOURCES,
    RunRow,
    compare,
    progress_percent,
    source_label,
)
from scoring.models import ModelSet, ModelSetMember, ScoringRun
from scoring.services.summary import Counted, count_by_run

RUNS_PER_PAGE = 50
NOTHING = Counted(Accuracy(0, 0), 0)
Condition = ScoringRun.Condition
Status = ScoringRun.Status


@dataclass(frozen=True, slots=True)
class Choice:
    """A link that narrows what is shown."""

    value: str
    label: str
    n: int | None
    is_current: bool


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A run that is not over; `is_stale` where its worker is gone."""

    run: ScoringRun
    is_stale: bool
    progress_percent: float


def models_context(
    study: Study, condition: str, source: str, now: datetime, page: int | str = 1
) -> dict[str, Any]:
    """A study's models under a condition, judged by the test cases of a source (or by all)."""
    places = places_in_set(study)
    rows = _rows(study, condition, source, places)
    groups, scale = compare(rows, places, _set_name(study))
    n_runs = _n_by_condition(study, source)
    shown = Paginator(rows, RUNS_PER_PAGE).get_page(page)
    return {
        "study": study,
        "part": "models",
        "condition": condition,
        "condition_label": Condition(condition).label,
        "source": source,
        "conditions": [
            Choice(value, label, n_runs.get(value, 0), value == condition)
            for value, label in Condition.choices
        ],
        "sources": [Choice(value, source_label(value), None, value == source) for value in SOURCES],
        "groups": groups,
        "ticks": [
            (scale.percent(tick), f"{tick:.0%}") for tick in scale.ticks if tick in (CHANCE, 1.0)
        ],
        "chance_at": scale.percent(CHANCE),
        "shown": shown,
        "page_numbers": shown.paginator.page_range,
        "n_runs": sum(n_runs.values()),
        "open_runs": open_runs(study),
        "is_taken": presence.is_taken(ScoringRun),
        "updated_at": now,
    }


def places_in_set(study: Study) -> dict[int, int]:
    """Number of a model of the study's set -> its place."""
    members = ModelSetMember.objects.filter(model_set__study=study)
    return dict(members.values_list("language_model_id", "position"))


def open_runs(study: Study) -> list[OpenRun]:
    """Runs that wait or are scored now, the oldest first."""
    runs = list(_light(study).filter(status__in=ScoringRun.OPEN_STATUSES).order_by("pk"))
    running = any(run.status == Status.RUNNING for run in runs)
    stale = set(leases.stale(_light(study)).values_list("pk", flat=True)) if running else set()
    return [OpenRun(run, run.pk in stale, progress_percent(run)) for run in runs]


def _light(study: Study) -> "QuerySet[ScoringRun]":
    # A plan and a list of files may be longer than all else on the page
    runs = ScoringRun.objects.seen_in([study]).defer("plan", "identity")
    return runs.select_related("language_model")


def _set_name(study: Study) -> str:
    name = ModelSet.objects.filter(study=study).values_list("name", flat=True).first()
    return name or ""


def _of_source(source: str) -> Q:
    """Runs that hold test cases of a source."""
    return Q(source__in=("", source)) if source else Q()


def _n_by_condition(study: Study, source: str) -> dict[str, int]:
    runs = ScoringRun.objects.seen_in([study]).filter(_of_source(source)).order_by()
    return dict(runs.values_list("condition").annotate(Count("pk")))


def _rows(study: Study, condition: str, source: str, places: dict[int, int]) -> list[RunRow]:
    counted = count_by_run(study, condition, source)
    runs = _light(study).filter(_of_source(source), condition=condition)
    rows = [RunRow(run, counted.get(run.pk, NOTHING)) for run in runs]
    return sorted(rows, key=lambda row: _order(row, places))


def _order(row: RunRow, places: dict[int, int]) -> tuple[Any, ...]:
    """The study's set in its order, then others by family and size, demonstrations last; of a model the newest first."""
    model, last = row.model, len(places) + 1
    about = (model.is_demo, model.family or "~", model.n_parameters or 0, model.pk)
    return (places.get(model.pk, last), *about, -row.run.pk)
